"""A sweep: its table from its runs, its means and intervals from its table, its report from these."""

from __future__ import annotations

import csv
import itertools
import math
import re
import statistics
import tomllib
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from .. import _units
from . import hashed
from .facts import Damaged, footer, read_json, regular, stated, whole
from .ledger import Verification, same
from .page import Element, Page
from .words import time

UNITS = {"_bps": _units.rate, "_bytes": _units.size, "_ps": _units.time}
#: Columns whose names do not say their unit.
NAMED = {"ingress_bytes_max": _units.size, "egress_bytes_max": _units.size, "deadlock_seconds": lambda s: _units.time(s * 1e12), "simulated_seconds": lambda s: _units.time(s * 1e12)}
NO_RUN: dict[str, Any] = {}
#: Failed runs that are listed.
LISTED = 100
COUNTED = {"lost_frames": "frames", "dropped_frames": "frames", "frame_hops": "frames", "pauses": "times"}
OWN = ("run", "seed", "status", "error")
#: Letters of a folder's name.
LONGEST = 240
METHOD = "Intervals are 95 %: Student's t over the seeds for means, Wilson's for shares. Differences to the first combination are taken seed by seed."


class Interval:
    """A mean or a share with its 95 % interval."""

    def __init__(self, values: list[float], share: bool, one: bool) -> None:
        if one and all(v == values[0] for v in values):
            values = values[:1]
        n = self.n = len(values)
        self.value = math.fsum(values) / n
        self.low = self.high = self.value
        if n < 2:
            return
        if share:
            yes, z = sum(1 for v in values if v), statistics.NormalDist().inv_cdf(0.975)
            self.value = p = yes / n
            half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
            middle, scale = p + z * z / (2 * n), 1 + z * z / n
            self.low = 0.0 if yes == 0 else (middle - half) / scale
            self.high = 1.0 if yes == n else (middle + half) / scale
        else:
            half = student(n - 1) * statistics.stdev(values, self.value) / math.sqrt(n)
            self.low, self.high = self.value - half, self.value + half


def student(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's t, by halving of its distribution; up to 20 degrees as printed tables have it."""

    def below(t: float) -> float:
        # Abramowitz and Stegun 26.7.3 and 26.7.4.
        angle = math.atan(t / math.sqrt(degrees))
        cos, term, total = math.cos(angle), 1.0, 0.0
        for k in range(degrees // 2) if degrees % 2 == 0 else range((degrees - 1) // 2):
            total += term
            term *= cos * cos * ((2 * k + 1) / (2 * k + 2) if degrees % 2 == 0 else (2 * k + 2) / (2 * k + 3))
        if degrees % 2 == 0:
            return math.sin(angle) * total
        return 2 / math.pi * (angle + math.sin(angle) * cos * total)

    low, high = 1.0, 20.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.95 else (low, middle)
    return round(low, 3) if degrees <= 20 else low


def check(folder: Path, m: dict[str, Any], ledger: Verification) -> None:
    """Compares a sweep."""
    for name in ("runs.parquet", "table.csv", "index.html"):
        regular(folder / name)
    try:
        data = (folder / "runs.parquet").read_bytes()
        runs = pl.read_parquet(data)
    except (OSError, pl.exceptions.PolarsError) as e:
        raise Damaged(f"{folder / 'runs.parquet'}: {e}") from None

    def equal(path: str, printed: Any, derived: Any) -> None:
        ledger.equal(f"manifest.json: {path}", printed, derived, "runs.parquet")

    hashed.compare(ledger, "manifest.json: runs_hash", m["runs_hash"], lambda: hashed.of_file(data), "runs.parquet")
    equal("xoff_version", m["xoff_version"], stated(data, "xoff_version"))
    equal("plan", m["plan"], m["plan"] if m["plan"].encode() + b"\0" in footer(data) else None)
    equal("title", m["title"], tomllib.loads(m["plan"]).get("title", ""))
    equal("parameters", m["parameters"], runs.columns[1 : runs.columns.index("seed")])
    shards(folder, runs, m, ledger)
    means = Means(runs, m["parameters"], m["seeds"])
    means.rows(ledger)
    counts(m, runs, means, ledger)
    means.table(folder / "table.csv", ledger)
    page(folder, m, means, ledger)


def shards(folder: Path, runs: pl.DataFrame, m: dict[str, Any], ledger: Verification) -> None:
    """The runs, each in a file of its own, and copies of their rows and tables in folders."""
    kept: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for path in sorted((folder / "finished").glob("*/*.json"), key=lambda p: p.stat().st_mtime):
        shard = read_json(path)
        kept.setdefault(shard["cell"], []).append((path, shard))
    tables = tomllib.loads(m["plan"]).get("tables", [])
    copies: dict[Path, list[dict[str, Any]]] = {}
    seconds: float | None = 0.0
    for row in runs.iter_rows(named=True):
        cell = ", ".join([f"{p}={text(row[p])}" for p in m["parameters"] if row[p] is not None] + [f"seed={row['seed']}"])
        place = f"runs.parquet: run {row['run']}"
        # Those of an earlier plan may have the same words.
        of = kept.get(cell, [])
        path, shard = max(reversed(of), key=lambda s: sum(same(row.get(k), v) for k, v in s[1].get("values", [])), default=(folder, NO_RUN))
        ledger.equal(f"{place}, status", row["status"], shard.get("status"), "finished")
        ledger.equal(f"{place}, error", row["error"], shard.get("error"), "finished")
        values = dict(shard.get("values", []))
        seconds = None if seconds is None or len(of) > 1 else seconds + shard.get("wall_seconds", 0.0)
        for column in runs.columns:
            if column not in OWN and column not in m["parameters"]:
                ledger.equal(f"{place}, {column}", row[column], values.get(column), "finished")
        if path.is_file():
            begin, _, end = path.read_bytes().rpartition(b',"hash":"')
            hashed.compare(ledger, str(path.relative_to(folder)), end.decode().removesuffix('"}\n'), partial(hashed.of_file, begin), "its bytes")
        names = [f"{escaped(p)}={'__HIVE_DEFAULT_PARTITION__' if row[p] is None else escaped(text(row[p]))}" for p in m["parameters"]]
        if any(len(n) > LONGEST for n in names):
            ledger.skip("runs and tables in folders", "a name that is too long")
            continue
        copies.setdefault(folder.joinpath("runs", *names, "runs.parquet"), []).append({k: v for k, v in row.items() if k not in m["parameters"]})
        for name, known in shard.get("tables", []):
            # Frames of a caller have no copy.
            copy = [folder.joinpath(name, *names, f"seed={row['seed']}", f"{name}.parquet")] if name in tables else []
            for file in (path.with_suffix(f".{name}.parquet"), *copy):
                hashed.compare(ledger, str(file.relative_to(folder)), known, partial(hash_of, file), "its bytes")
    for file, rows in copies.items():
        found = pl.read_parquet(file, hive_partitioning=False).to_dicts() if file.exists() else None
        ledger.equal(str(file.relative_to(folder)), found, rows, "runs.parquet")
    if seconds is None:
        ledger.skip("manifest.json: run_seconds", "a clock")
    else:
        ledger.equal("manifest.json: run_seconds", m["run_seconds"], seconds, "finished")


def hash_of(file: Path) -> str:
    return hashed.of_file(file.read_bytes()) if file.exists() else "no file"


def escaped(name: str) -> str:
    """A name or value as a part of a folder's name."""
    return quote(name, safe="+").replace("~", "%7E")


def text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) and not value.is_integer() else str(int(value)) if isinstance(value, float) else str(value)


def counts(m: dict[str, Any], runs: pl.DataFrame, means: Means, ledger: Verification) -> None:
    def equal(path: str, printed: Any, derived: Any) -> None:
        ledger.equal(f"manifest.json: {path}", printed, derived, "runs.parquet")

    done, failed = (whole((runs["status"] == s).sum()) for s in ("done", "failed"))
    total = m["combinations"] * len(m["seeds"])
    equal("runs.total", m["runs"]["total"], total)
    equal("runs.done", m["runs"]["done"], done)
    equal("runs.failed", m["runs"]["failed"], failed)
    equal("runs.missing", m["runs"]["missing"], total - done - failed)
    equal("headline", m["headline"], headline(total, done, failed))
    if len(runs) == total:
        equal("combinations", m["combinations"], len(means.combinations))
        equal("seeds", m["seeds"], runs["seed"].unique(maintain_order=True).to_list())
    else:
        ledger.skip("manifest.json: combinations, seeds", "runs that are missing", 1 + len(m["seeds"]))
    one, every = sum(1 for c in means.combinations if c["one"]), len(means.combinations)
    counted = " all seeds give the same result, nothing is drawn at random: they count once, without an interval."
    equal("intervals", m["intervals"], METHOD + (f" In {one} of {every} combinations{counted}" if 0 < one < every else counted.replace(" all", " All") if one else ""))


def headline(total: int, done: int, failed: int) -> str:
    missing = total - done - failed
    return ", ".join([f"{done} of {total} runs done", *([f"{failed} failed"] if failed else []), *([f"{missing} missing"] if missing else [])])


class Means:
    """Means over the seeds of each combination."""

    def __init__(self, runs: pl.DataFrame, parameters: list[str], seeds: list[int]) -> None:
        self.runs, self.parameters = runs, parameters
        self.columns = [c for c in runs.columns if c not in parameters and c not in OWN and runs[c].dtype != pl.String]
        self.combinations: list[dict[str, Any]] = []
        every = list(runs.iter_rows(named=True))
        for _, own in itertools.groupby(every, key=lambda r: r["run"] // max(len(seeds), 1)):
            rows = list(own)
            done = [r for r in rows if r["status"] == "done"]
            hashes = {r["result_hash"] for r in done}
            self.combinations.append({"values": [rows[0][p] for p in parameters], "done": done, "one": len(done) > 1 and len(hashes) == 1 and None not in hashes})

    def rows(self, ledger: Verification) -> None:
        """Columns of a run that follow from each other."""
        for r in self.runs.iter_rows(named=True):
            place = f"runs.parquet: run {r['run']}"
            if r["status"] != "done":
                continue
            if r["simulated_seconds"]:
                ledger.equal(f"{place}, throughput_bps", r["throughput_bps"], r["delivered_bytes"] * 8 / r["simulated_seconds"], "runs.parquet")
            lost = re.search(r"([\d,]+) frames? lost", r["headline"])
            if lost:
                ledger.equal(f"{place}, headline", lost[1], f"{r['lost_frames']:,}", "runs.parquet")
            if r["deadlock_seconds"] is not None:
                found = re.search(r"deadlock at (\S+ \S+),", r["headline"])
                ledger.equal(f"{place}, headline", found[1] if found else None, time(round(r["deadlock_seconds"] * 1e12)), "runs.parquet")
            ledger.equal(f"{place}, deadlock", bool(r["deadlock"]), r["deadlock_ports"] is not None, "runs.parquet")

    def of(self, c: dict[str, Any], column: str) -> Interval | None:
        values = [float(r[column]) for r in c["done"] if r[column] is not None and math.isfinite(r[column])]
        return Interval(values, self.runs[column].dtype == pl.Boolean, c["one"]) if values else None

    def difference(self, c: dict[str, Any], column: str) -> Interval | None:
        first = self.combinations[0]
        other = {r["seed"]: r[column] for r in first["done"]}
        pairs = [(r[column], other.get(r["seed"])) for r in c["done"]]
        values = [float(a) - float(b) for a, b in pairs if a is not None and b is not None]
        return Interval(values, False, c["one"] and first["one"]) if values else None

    def table(self, path: Path, ledger: Verification) -> None:
        """``table.csv``: a line for each combination and column."""
        try:
            with path.open(encoding="utf-8", newline="") as file:
                lines = list(csv.DictReader(file))
        except (OSError, csv.Error) as e:
            raise Damaged(f"{path}: {e}") from None
        derived = []
        for c in self.combinations:
            for column in self.columns:
                at = self.of(c, column)
                if at is None:
                    continue
                d = self.difference(c, column)
                kind = "share" if self.runs[column].dtype == pl.Boolean else "mean"
                own, other = ((x.low, x.high) if x and x.n > 1 else (None, None) for x in (at, d))
                derived.append(([text(v) for v in c["values"]], kind, (column, at.n, at.value, *own, d.value if d else None, *other)))
        ledger.equal("table.csv: lines", len(lines), len(derived), "runs.parquet")
        keys = ("column", "n", "value", "low", "high", "difference", "difference_low", "difference_high")
        for n, (line, (named, kind, values)) in enumerate(zip(lines, derived, strict=False)):
            # A text that a spreadsheet would take for a formula begins with an apostrophe.
            for key, value in zip((*self.parameters, "kind"), (*named, kind), strict=True):
                ledger.equal(f"table.csv: line {n + 2}, {key}", line[key].removeprefix("'"), value.removeprefix("'"), "runs.parquet")
            for key, value in zip(keys, values, strict=True):
                printed: Any = line[key].removeprefix("'") if key == "column" else float(line[key]) if line[key] else None
                close(ledger, f"table.csv: line {n + 2}, {key}", printed, value, values)


def close(ledger: Verification, place: str, printed: Any, derived: Any, scale: tuple[Any, ...]) -> None:
    """A difference of nearly equal means, and the end of an interval, have the digits of the numbers that they come from."""
    widest = max((abs(v) for v in scale[2:] if isinstance(v, float)), default=0.0)
    # The expansion of Student's t beyond 20 degrees is exact to 2e-6.
    digits = 2e-6 if scale[1] > 21 and place.endswith(("low", "high")) else 1e-12
    if isinstance(printed, float) and isinstance(derived, float) and abs(printed - derived) <= digits * widest:
        derived = printed
    ledger.equal(place, printed, derived, "runs.parquet")


def page(folder: Path, m: dict[str, Any], means: Means, ledger: Verification) -> None:
    try:
        body = Page((folder / "index.html").read_text(encoding="utf-8")).body
    except OSError:
        ledger.skip("index.html", "the folder has none")
        return

    def equal(place: str, printed: Any, derived: Any) -> None:
        ledger.equal(f"index.html: {place}", printed, derived, "runs.parquet")

    for tag, cls, derived in (("h1", "", m["title"] or "Sweep"), ("title", "", m["title"] or "Sweep"), ("p", "lead", m["headline"])):
        found = body.first(tag, cls)
        equal(cls or tag, found.text if found else None, derived)
    known = {"Runs done": (str(m["runs"]["done"]), f"of {m['runs']['total']}"), "Combinations": (str(len(means.combinations)), ""), "Seeds each": (str(len(m["seeds"])), "")}
    for card in body.all("div", "card"):
        label, *printed = ((e.text if (e := card.first("div", c)) else "") for c in ("label", "value", "note"))
        equal(label, tuple(printed), known.get(label))
    shown = m["shown"]
    code = [c.text for d in body.all("details") for c in d.all("code")]
    equal("plan", code, [m["plan"]])
    footer_ = body.first("footer")
    provenance = [d.text for d in footer_.all("dd")] if footer_ else []
    equal("footer", provenance, [m["xoff_version"], m["runs_hash"]])
    titles = ["Results"] + ["Differences"] * (len(means.combinations) > 1 and len(m["seeds"]) > 1) + ["Failed runs"] * (m["runs"]["failed"] > 0)
    equal("sections", [re.sub(r"\s*\(?[\d,]+\)?$", "", h.text) for s in body.all("section") for h in s.all("h2")], titles)
    for caption in body.all("figcaption"):
        equal("figcaption", caption.text, f"Seeds for each combination: {len(m['seeds'])}. Error bars are 95 % intervals.")
    for section in body.all("section"):
        title = (section.first("h2") or Element("", {})).text
        differences = title == "Differences"
        if title.startswith("Failed runs"):
            failed = [[str(r["run"]), r["error"]] for r in means.runs.filter(pl.col("status") == "failed").iter_rows(named=True)]
            listed = [[c.text for c in r.all("td")] for r in section.all("tr")]
            equal(title, [[r[0], r[-1]] for r in listed if r], failed[:LISTED])
        if title != "Results" and not differences:
            continue
        heads = [h.text for h in section.all("th")]
        equal(f"{title}, columns", heads, [*means.parameters, *([] if differences else ["runs"]), *(heading(c) for c in shown)])
        for caption in section.all("caption"):
            equal(f"{title}, caption", caption.text, m["intervals"])
        if differences and (to := section.first("p")):
            first = ", ".join(text(v) for v in means.combinations[0]["values"] if v is not None) or "all"
            equal(f"{title}, to", to.text, f"To {first}, seed by seed.")
        rows = [[c.text for c in r.all("td")] for t in section.all("table") for r in t.all("tr")]
        rows = [r for r in rows if r]
        own = means.combinations[1 if differences else 0 :]
        for n, (row, c) in enumerate(zip(rows, own, strict=False)):
            cells = row[-len(shown) :] if shown else []
            for p, printed_, value in zip(means.parameters, row, c["values"], strict=False):
                equal(f"{title}, row {n}, {p}", printed_, text(value))
            if not differences:
                equal(f"{title}, row {n}, runs", row[len(means.parameters)], str(len(c["done"])))
            for column, cell in zip(shown, cells, strict=True):
                at = means.difference(c, column) if differences else means.of(c, column)
                equal(f"{title}, row {n}, {column}", cell, in_words(column, at, means.runs[column].dtype == pl.Boolean))
    for svg in body.all("svg"):
        ledger.skip("index.html: figure", "the drawing", sum(1 for _ in svg.all("text")))


def heading(column: str) -> str:
    """``Throughput`` of ``throughput_bps``."""
    name = re.sub(r"_(bps|seconds|bytes|ps)", "", column).replace("_", " ")
    return name[:1].upper() + name[1:]


def unit(column: str, flag: bool) -> Any:
    if flag:
        return lambda v: f"{_units.short(v * 100)} %"
    if column in NAMED:
        return NAMED[column]
    if column in COUNTED:
        return lambda v: f"{_units.short(v)} {COUNTED[column]}"
    return next((f for suffix, f in UNITS.items() if column.endswith(suffix)), _units.short)


def in_words(column: str, at: Interval | None, flag: bool) -> str:
    """``5.06 (5.031 to 5.088) Gb/s``."""
    if at is None:
        return "-"
    value, low, high = (unit(column, flag)(v) for v in (at.value, at.low, at.high))
    if at.n < 2 or low == value == high:
        return str(value)
    parts = [v.split(" ", 1) for v in (value, low, high)]
    if all(len(p) == 2 for p in parts) and len({p[1] for p in parts}) == 1:
        return f"{parts[0][0]} ({parts[1][0]} to {parts[2][0]}) {parts[0][1]}"
    return f"{value} ({low} to {high})"


def is_one(m: dict[str, Any]) -> bool:
    return "plan" in m and "combinations" in m

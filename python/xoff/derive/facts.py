"""What the tables of a run say: sums, largest values, times. Reads the tables and the scenario of the run, never its answer."""

from __future__ import annotations

import json
import math
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from . import words
from .ledger import Verification

UNLIMITED = 2**64 - 1
FORMATS = ("parquet", "csv")
#: Causes of the time of a rank, without the last one.
PATH = ("compute", "overhead", "peer", "serialisation", "propagation", "pause", "rate_limit")


#: Columns of text in CSV.
TEXTS = set("port src dst label kind source direction message cause next_port state mark action job host collective work switch pool side load".split())


def kind_of(column: str) -> type[pl.DataType]:
    """Type of a column of numbers in CSV."""
    if column in ("slowdown", "q_off", "q_delta") or column.startswith(("jain", "max_over")) or column.endswith("_mean"):
        return pl.Float64
    return pl.UInt64


class Damaged(Exception):
    """The folder holds no results that can be read."""


def whole(value: Any) -> int:
    """The sum or the largest value of a column; 0 of nothing."""
    return int(value or 0)


class Tables:
    """The tables of a folder, read when they are asked for."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder
        self.files = {n.rsplit(".", 1)[0]: n for n in names if n.rsplit(".", 1)[-1] in FORMATS}
        self._read: dict[str, pl.DataFrame] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            path = self.folder / self.files[name]
            regular(path)
            try:
                if path.suffix == ".parquet":
                    frame = pl.read_parquet(path)
                    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
                else:
                    frame = pl.read_csv(path, infer_schema=False)
                    texts = [c for c in frame.columns if c in TEXTS]
                    # A text that a spreadsheet would take for a formula begins with an apostrophe.
                    frame = frame.with_columns(pl.col(texts).str.strip_prefix("'"), *(pl.col(c).replace("", None).cast(kind_of(c)) for c in frame.columns if c not in TEXTS))
            except (OSError, pl.exceptions.PolarsError) as e:
                raise Damaged(f"{path}: {e}") from None
            self._read[name] = frame
        return self._read[name]

    def stated(self, key: str) -> str | None:
        """What the Parquet files state about their run; None: there are none."""
        found = set()
        for file in self.files.values():
            if file.endswith(".parquet"):
                regular(self.folder / file)
                try:
                    found.add(stated((self.folder / file).read_bytes(), f"xoff.{key}"))
                except OSError as e:
                    raise Damaged(f"{self.folder / file}: {e.strerror}") from None
        return ", ".join(sorted(found)) or None

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Another table in the place of this one, for tests."""
        self._read[name] = frame


def footer(parquet: bytes) -> bytes:
    return parquet[-8 - int.from_bytes(parquet[-8:-4], "little") :]


def stated(parquet: bytes, key: str) -> str:
    """A word in the footer of a Parquet file."""
    pair = re.search(re.escape(key.encode()) + rb"\x18.([\w.+-]*)\0", footer(parquet), re.DOTALL)
    return pair[1].decode() if pair else "none"


def quantile(ordered: list[float], share: float) -> float:
    """The smallest value with at least this share of the values up to it."""
    return ordered[min(max(math.ceil(share * len(ordered)), 1), len(ordered)) - 1]


def ends(port: str) -> tuple[str, str]:
    """Nodes of ``S1->S2#3``."""
    a, _, b = port.partition("->")
    return a, re.sub(r"#\d+$", "", b)


class Facts:
    """Derived numbers of a run of a network."""

    def __init__(self, tables: Tables, scenario: str) -> None:
        self.tables = tables
        try:
            self.scenario: dict[str, Any] = tomllib.loads(scenario)
        except tomllib.TOMLDecodeError as e:
            raise Damaged(f"{tables.folder}: the scenario of the manifest: {e}") from None

    def param(self, *path: str) -> Any:
        at: Any = self.scenario
        for key in path:
            at = at.get(key) if isinstance(at, dict) else None
        return at

    # Flows.

    @cached_property
    def flows(self) -> pl.DataFrame:
        return self.tables["flows"]

    @cached_property
    def unfinished(self) -> pl.DataFrame:
        """Flows with a size that did not end."""
        return self.flows.filter(pl.col("end_ps").is_null() & (pl.col("size_bytes") != UNLIMITED))

    @cached_property
    def completed(self) -> int:
        return len(self.flows) - self.flows["end_ps"].null_count()

    @cached_property
    def duration(self) -> int:
        return words.read_time(self.param("run", "duration"))

    @cached_property
    def last_end(self) -> int:
        """Time at which the last flow or rank of a job ended, acknowledgements included."""
        ends = [self.flows[c].max() for c in ("end_ps", "acked_ps")] + [self.tables["ranks"]["end_ps"].max()]
        return max(whole(e) for e in ends)

    @cached_property
    def latest(self) -> tuple[int, str]:
        """Time of the latest row of any table, and the table."""
        best = (0, "flows")
        for name in self.tables.files:
            for column in ("time_ps", "start_ps", "end_ps", "acked_ps", "detected_ps", "all_started_ps"):
                frame = self.tables[name]
                if column in frame.columns and (last := frame[column].max()) is not None:
                    best = max(best, (whole(last), name))
        return best

    def slowdowns(self, end: int) -> list[tuple[int, float, bool]]:
        """Size, slowdown and whether it is a lower bound, of every flow with an ideal time."""
        found = self.flows.filter(pl.col("ideal_fct_ps") > 0).select("size_bytes", "start_ps", "fct_ps", "ideal_fct_ps")
        return [(s, f / i, False) if f is not None else (s, max((end - b) / i, 1.0), True) for s, b, f, i in found.iter_rows()]

    def slowdown(self, end: int) -> dict[str, float] | None:
        of = self.slowdowns(end)
        if not of:
            return None
        ordered = sorted(s[1] for s in of)
        return {
            "flows": len(of),
            "censored": sum(s[2] for s in of),
            "mean": math.fsum(ordered) / len(ordered),
            "median": quantile(ordered, 0.5),
            "p99": quantile(ordered, 0.99),
        }

    def delivered_frames(self) -> int | None:
        """Frames of flows that arrived; None: sizes of frames do not decide it."""
        payload = self.payload
        if payload is None:
            return None
        total = 0
        rows = self.flows.select("size_bytes", "bytes_delivered", "bytes_arrived", "end_ps", "frames_ahead")
        for size, delivered, arrived, end, ahead in rows.iter_rows():
            # Frames that are kept ahead of a gap have no bytes yet, and of a repeated last frame nobody knows how often it came.
            if (ahead and end is None) or (arrived != delivered and (arrived % payload or (size != UNLIMITED and size % payload))):
                return None
            total += -(-arrived // payload)
        return total

    @cached_property
    def only_data(self) -> bool:
        """No acknowledgements, no messages of a rate control, and none of ConWeave between switches: every frame has data."""
        kinds = [self.param(*key) for key in (("transport", "kind"), ("host", "acks"), ("rate_control", "kind"), ("detection", "kind"))]
        return all(k in ("none", None) for k in kinds) and self.param("load_balancing", "kind") != "conweave"

    @cached_property
    def payload(self) -> int | None:
        """Payload of a full frame."""
        if self.param("transport", "kind") not in ("none", None):
            return None
        sizes = [self.param("host", k) for k in ("frame_max", "header")]
        if not all(isinstance(s, str) and s.endswith("B") and s[:-1].isdigit() for s in sizes):
            return None
        return int(sizes[0][:-1]) - int(sizes[1][:-1])

    # Ports.

    @cached_property
    def ports(self) -> pl.DataFrame:
        return self.tables["ports"]

    def sum(self, column: str) -> int:
        return whole(self.ports[column].sum())

    def most(self, column: str) -> int:
        return whole(self.ports[column].max())

    def port(self, name: str) -> dict[str, Any] | None:
        return self._by_port.get(name)

    @cached_property
    def _by_port(self) -> dict[str, dict[str, Any]]:
        return {r["port"]: r for r in self.ports.iter_rows(named=True)}

    @cached_property
    def order(self) -> dict[str, int]:
        """Place of each port in the order of the network."""
        return {name: i for i, name in enumerate(self.ports["port"])}

    @cached_property
    def _parallel(self) -> dict[tuple[str, str], list[str]]:
        """The ports from a node to another one, in order."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in self.order:
            found.setdefault(ends(name), []).append(name)
        return found

    def reverse(self, port: str) -> str:
        """The port at the other end of its link."""
        a, b = ends(port)
        there, back = self._parallel[a, b], self._parallel.get((b, a), [])
        return back[there.index(port)] if len(there) == len(back) else port

    @cached_property
    def hosts(self) -> set[str]:
        """Nodes that are known to be hosts: ends of flows and ranks, and nodes with a fault of hosts."""
        known = set(self.flows["src"]) | set(self.flows["dst"]) | set(self.tables["ranks"]["host"])
        for section in ("pause_storm", "slow_receiver"):
            known |= {f.get("host") for f in self.param(section) or [] if isinstance(f, dict)}
        return known

    @cached_property
    def fullest_ingress(self) -> tuple[str, int] | None:
        """The port that leads to the fullest ingress of a switch; of equal ones the first in the order of the receiving end."""
        best: tuple[int, int, str] | None = None
        for row in self.ports.select("port", "ingress_bytes_max").iter_rows():
            name, most = row
            if ends(name)[1] in self.hosts:
                continue
            key = (most, -self.order.get(self.reverse(name), 0), name)
            best = key if best is None else max(best, key)
        return (best[2], best[0]) if best else None

    # Deadlocks.

    @cached_property
    def deadlock(self) -> tuple[int, list[str]] | None:
        """Start and ports of the first deadlock."""
        first = self.tables["deadlocks"].filter(pl.col("cycle") == 0).sort("position")
        return (int(first["start_ps"][0]), list(first["port"])) if len(first) else None

    # Jobs.

    def paused(self, port: str, priority: int, start: int, end: int) -> int:
        """Time in which a port was not allowed to transmit between two times."""
        rows = self.tables["pauses"].filter((pl.col("port") == port) & (pl.col("priority") == priority))
        reached, total = start, 0
        for a, b in rows.select("start_ps", "end_ps").sort("start_ps").iter_rows():
            a, b = max(a, reached), min(end if b is None else b, end)
            if b > a:
                total, reached = total + b - a, b
        return total


def consistent(facts: Facts, ledger: Verification) -> None:
    """Columns of a row that follow from each other."""
    rules: dict[str, dict[str, pl.Expr]] = {
        "flows": {
            "fct_ps": pl.col("end_ps") - pl.col("start_ps"),
            "slowdown": pl.when(pl.col("ideal_fct_ps") > 0).then(pl.col("fct_ps") / pl.col("ideal_fct_ps")),
            # What ended was delivered.
            "bytes_delivered": pl.when(pl.col("end_ps").is_null()).then(pl.col("bytes_delivered")).otherwise(pl.col("size_bytes")),
        },
        "ranks": {
            "idle_ps": pl.col("end_ps") - pl.col("start_ps") - pl.col("compute_ps") - pl.col("exposed_ps"),
            "path_queueing_ps": pl.col("end_ps") - pl.col("start_ps") - sum(pl.col(f"path_{c}_ps") for c in PATH),
        },
    }
    for table, columns in rules.items():
        frame = facts.tables[table]
        if table == "ranks":
            frame = frame.filter(pl.col("end_ps").is_not_null())
        derived = frame.select(**columns)
        for column in columns:
            a, b = frame[column].cast(pl.Float64).fill_null(-1.0), derived[column].cast(pl.Float64).fill_null(-1.0)
            wrong = ((a - b).abs() > 1e-12 * b.abs()).arg_true()
            ledger.compared += len(a) - len(wrong)
            for i in wrong[:20]:
                ledger.equal(f"{facts.tables.files[table]}: row {i}, {column}", frame[column][i], derived[column][i], table)
            ledger.compared += max(len(wrong) - 20, 0)


def regular(path: Path) -> None:
    """Reading from anything else may wait forever."""
    if path.exists() and not path.is_file():
        raise Damaged(f"{path}: not a regular file")


def read_json(path: Path) -> dict[str, Any]:
    regular(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise Damaged(f"{path}: {e}") from None
    if not isinstance(found, dict):
        raise Damaged(f"{path}: expected a JSON object")
    return found

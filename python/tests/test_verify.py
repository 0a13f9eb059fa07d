"""``xoff verify``: a second implementation of every number that a run prints. Each number, changed by one unit, and each word is found in each of its places."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xoff
from conftest import ROOT
from xoff.derive import Verification, hashed, manifest, page, printed
from xoff.derive.facts import Damaged, consistent
from xoff.derive.ledger import shown
from xoff.derive.words import NUMBER

XOFF = ROOT / "target" / "release" / "xoff"

#: A job next to an incast, with pauses. A deadlock. Flows that end, marks, and links that lose frames.
SCENARIOS: dict[str, tuple[Path, list[str]]] = {
    "job": (ROOT / "scenarios" / "training" / "all-reduce.toml", ["job[0].iterations=2"]),
    "deadlock": (ROOT / "scenarios" / "tutorial" / "ring.toml", ["run.duration=5ms"]),
    "loss": (ROOT / "scenarios" / "operation" / "lossy.toml", []),
}

#: Numbers and words of these runs that the tables do not decide. A new one belongs here or is derived.
NOT_DERIVED = {
    "manifest.json: " + place
    for place in (
        "active[]",
        "cpu_seconds",
        "data_frame_hops",
        "delivered_frames",
        "engine",
        "engine_because",
        "events",
        "fast_forward.because",
        "fast_forward.events_skipped",
        "fast_forward.longest_ps",
        "fast_forward.periods",
        "fast_forward.repeated",
        "fast_forward.skipped_ps",
        "fingerprint",
        "flow_collisions",
        "inputs_digest",
        "jobs[].iterations[].straggler.paused_port",
        "jobs[].stuck",
        "load_balance.jain_sampled",
        "load_balance.max_over_mean_sampled",
        "parameters[].origin",
        "parameters[].path",
        "parameters[].source",
        "parameters[].value",
        "processes",
        "scenario_folder",
        "started",
        "threads",
        "verdict.losses.control_frames",
        "verdict.not_kept",
        "wall_seconds",
        "warnings[]",
        "xoff_commit",
    )
} | {
    "report.html: " + place
    for place in (
        "charts",
        "data.course.egress",
        "data.course.ingress",
        "data.course.limit",
        "data.course.stopped",
        "data.course.times",
        "data.course.waiters",
        "data.deadlocks[].stuck",
        "data.folder",
        "data.live",
        "data.nodes",
        "data.ports.rate",
        "data.real",
        "data.served",
        "data.tiers",
        "what it shows[]",
    )
}


class Made:
    """A run with all that it printed."""

    def __init__(self, folder: Path, scenario: Path, settings: list[str]) -> None:
        self.folder = folder
        words = [str(XOFF), "run", str(scenario), "--out", str(folder), "--verbose"]
        words += [w for s in settings for w in ("--set", s)]
        said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env={"COLUMNS": "160", "LC_ALL": "C.UTF-8"})
        assert said.returncode in (0, 1), said.stderr
        self.text = said.stdout
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.html = (folder / "report.html").read_text()
        self.run = manifest.Run(folder, self.manifest)

    def check(self, m: dict[str, Any] | None = None, html: page.Page | None = None, text: str | None = None, file: str = "manifest.json") -> Verification:
        """One part of it, changed."""
        ledger = Verification([str(self.folder)])
        if m is not None:
            manifest.check(self.run, ledger, m, file)
        if html is not None:
            page.check(self.run, html, ledger)
        if text is not None:
            printed.check(self.run, text, ledger)
        return ledger


@pytest.fixture(scope="module", params=SCENARIOS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("verify") / request.param, *SCENARIOS[request.param])


def test_all_numbers_of_a_run_follow_from_its_tables(made: Made) -> None:
    found = xoff.verify(made.folder, answer=made.manifest, printed=made.text)
    assert found.ok, found.differences[:5]
    assert found.compared > 300
    places = {p for p, _ in found.not_derived if not p.startswith(("printed", "answer"))}
    assert not any("not known" in why for _, why in found.not_derived)
    assert places <= NOT_DERIVED, places - NOT_DERIVED


def noticed(found: Verification) -> bool:
    """A difference, or a text that no run prints."""
    return not found.ok or any("known" in why for _, why in found.not_derived)


def changed(text: str, at: re.Match[str]) -> str:
    """A text with a number that is one unit of its last digit larger."""
    # A hash may have an exponent too.
    digits, e, exponent = at[0].replace(",", "").partition("e")
    step = 10 ** -len(digits.partition(".")[2]) if "." in digits else 1
    places = len(digits.partition(".")[2])
    value = f"{float(digits) + step:.{places}f}" if places else str(int(digits) + 1)
    return text[: at.start()] + value + e + exponent + text[at.end() :]


def put(tree: Any, path: str, value: Any) -> None:
    keys = re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)
    for key, index in keys[:-1]:
        tree = tree[int(index)] if index else tree[key]
    key, index = keys[-1]
    tree[int(index) if index else key] = value


def mutants(tree: Any) -> Iterator[tuple[str, Any]]:
    """Paths of all numbers, those in texts too, with the value one unit larger."""
    for path, value in manifest.leaves(tree):
        if isinstance(value, str):
            yield from ((path, changed(value, at)) for at in NUMBER.finditer(value))
        elif value is not None and not isinstance(value, bool):
            yield path, value + 1 if isinstance(value, int) else value * (1 + 1e-9) if value else 1e-9


def skipped(found: Verification, path: str) -> bool:
    """The place is one of those that cannot be derived."""
    general = re.sub(r"\[\d+\]", "[]", path)
    return any(p.partition(": ")[2] == general for p, _ in found.not_derived)


def reworded(tree: Any) -> Iterator[tuple[str, Any]]:
    """Paths of all texts, flags and nulls, with another value."""
    for path, value in manifest.leaves(tree):
        if isinstance(value, bool) or value is None:
            yield path, value is None or not value
        elif isinstance(value, str):
            yield from ((path, "x" + value), (path, value + "x"))


def notices(check: Callable[[], Verification]) -> bool:
    """A difference, or no results at all."""
    try:
        return noticed(check())
    except (Damaged, xoff.ScenarioError):
        return True


def missed(whole: Verification, tree: dict[str, Any], check: Callable[[dict[str, Any]], Verification], most: int = 6) -> list[str]:
    """Changes of the tree, at most so many in a list, that nobody notices although their place is not listed."""
    found, kinds = [], Counter[str]()
    derived = {f"parameters[{n}]" for n, p in enumerate(tree.get("parameters", [])) if isinstance(p, dict) and p["origin"].startswith("derived")}
    for path, value in [*mutants(tree), *reworded(tree)]:
        general = re.sub(r"\[\d+\]", "[]", path)
        kinds[general] += 1
        sentence = re.match(r"(in)?active\[", path)
        listed = skipped(whole, path) and not sentence and not re.search(r"parameters.*(path|value)$", path)
        # Numbers of sentences have their own test.
        if kinds[general] > most or listed or path.partition(".")[0] in derived or (sentence and "x" not in (value[0], value[-1])):
            continue
        other = copy.deepcopy(tree)
        put(other, path, value)
        if not notices(partial(check, other)):
            found.append(f"{path}: {shown(value)}")
    assert sum(kinds.values()) > 30
    return found


def test_every_number_and_word_of_the_manifest_is_found_when_it_changes(made: Made) -> None:
    whole = made.check(made.manifest)
    assert whole.ok
    assert not missed(whole, made.manifest, made.check)
    assert not missed(made.check(made.manifest, file="answer"), made.manifest, lambda m: made.check(m, file="answer"))


def test_the_scenario_is_that_of_each_table(made: Made, tmp_path: Path) -> None:
    """Even if the resolved scenario of the folder changes with it."""
    shutil.copytree(made.folder, tmp_path / "run")
    resolved = tmp_path / "run" / "resolved.toml"
    m = {**made.manifest, "scenario": made.manifest["scenario"].replace('title = "', 'title = "A ', 1)}
    assert m["scenario"] != made.manifest["scenario"]
    resolved.write_text(m["scenario"])
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(m))
    assert "manifest.json: scenario, hash" in [d.place for d in xoff.verify(tmp_path / "run").differences]


def test_the_result_hash_is_that_of_the_rows(made: Made) -> None:
    """Another hash is found, and another value in a table or in a name."""
    m = copy.deepcopy(made.manifest)
    m["result_hash"] = m["result_hash"][::-1]
    assert [d.place for d in made.check(m).differences] == ["manifest.json: result_hash"]
    derived = hashed.of_network(made.run.facts)
    for name in ("flows", "ports", "pauses", "ranks"):
        frame = made.run.tables[name]
        # The list of ports is that of the names.
        for column in (c for c in frame.columns if (name, c) != ("ports", "port")):
            if not len(frame) or frame[column].null_count() == len(frame):
                continue
            value = frame[column].drop_nulls()[-1]
            run = manifest.Run(made.folder, made.manifest)
            other = frame[column].drop_nulls()[0] if isinstance(value, str) else value + 1 if value < 255 else value - 1
            if other == value:
                continue
            run.tables.put(name, frame.with_columns(pl.when(pl.col(column) == value).then(pl.lit(other)).otherwise(pl.col(column)).alias(column)))
            assert hashed.of_network(run.facts) != derived, f"{name}.{column}"


def test_every_number_of_a_sentence_is_found_when_it_changes(made: Made) -> None:
    for key in ("active", "inactive"):
        for nth, text in enumerate(made.manifest[key]):
            for at in NUMBER.finditer(text):
                m = copy.deepcopy(made.manifest)
                m[key][nth] = changed(text, at)
                found = made.check(m)
                assert noticed(found) or undecided(text, at), m[key][nth]


def undecided(text: str, at: re.Match[str]) -> bool:
    """Numbers in sentences that no table has: sharers, stuck ports, changes of rates, timers; and the priorities of a scenario."""
    before, after = text[: at.start()], text[at.end() :]
    return bool(re.search(r"it shared \S+\s+with\s+$|changed flow rates\s+$|timers expired\s+$|priorit[iesy]+ \(?$", before) or re.match(r"\s+ports\s+are\s+stuck", after))


def test_every_number_of_the_summary_is_found_when_it_changes(made: Made) -> None:
    assert made.check(text=made.text).ok, made.check(text=made.text).differences
    # Clocks, the engine's own words, and the rows below them.
    known, _, _ = made.text.partition(" Speed")
    tried = 0
    for at in NUMBER.finditer(known):
        before = known[: at.start()].rpartition("\n")[2]
        if re.match(r" (Report|Tables)\b", before) or undecided(known, at):
            continue
        found = made.check(text=changed(known, at) + made.text[len(known) :])
        tried += 1
        assert noticed(found), known[at.start() - 60 : at.end() + 20]
    assert tried > 10


def test_every_number_and_word_of_the_report_is_found_when_it_changes(made: Made) -> None:
    whole = page.Page(made.html)
    base = made.check(html=whole)
    assert base.ok, base.differences[:5]
    data = whole.data
    assert data is not None
    tried = 0
    # Numbers of the data: those of drawings, samples and names of columns are not results.
    skip = re.compile(r"nodes|ports|totals|course|folder|tiers|live|real|served|packed|jobs\[\d+\]\.(first|from|to|state|path|ranks|shown|hosts|causes|begin|name)|deadlocks\[\d+\]\.stuck|flows\.list\[\d{2,}\]|jobs\[\d+\]\.iterations\[\d+\]\.straggler\.port")
    kinds: Counter[str] = Counter()
    for path, value in [*mutants(data), *reworded(data)]:
        general = re.sub(r"\d+", "", path)
        kinds[general] += 1
        # The first few of a list.
        if skip.match(path) or kinds[general] > 3:
            continue
        other = copy.copy(whole)
        other.data = copy.deepcopy(data)
        put(other.data, path, value)
        found = made.check(html=other)
        tried += 1
        assert noticed(found), f"{path}: {value}"
    assert tried > 25
    # Numbers of columns, one of each.
    columns = [c for part in ("totals", "course") for c in (data[part] or {}).items() if isinstance(c[1], dict)]
    columns += [c for j in data["jobs"] for c in j["path"].items()] + [(k, j[k]) for j in data["jobs"] for k in ("from", "to")]
    for name, column in columns:
        if name in ("stopped", "limit", "egress", "ingress") or not column["n"]:
            continue
        kind = {"u16": "<H", "u32": "<I", "f64": "<d"}[column["c"]]
        other = copy.copy(whole)
        blob = bytearray(whole.blob)
        at = column["o"] + struct.calcsize(kind) * (column["n"] // 2)
        struct.pack_into(kind, blob, at, struct.unpack_from(kind, blob, at)[0] + 1)
        other.blob = bytes(blob)
        assert not made.check(html=other).ok, name
    # Numbers of the page as it is read: its heading, its numbers at the top, its lists.
    head, mark, rest = made.html.partition("<main>")
    parts = [(head[: head.index("<header>")], head[head.index("<header>") :], mark + rest)]
    about = made.html.index('id="about"')
    parts.append((made.html[:about], made.html[about : made.html.index("<details>", about)], made.html[made.html.index("<details>", about) :]))
    if (balance := made.html.find('id="balance"')) > 0:
        end = made.html.index("</section>", balance)
        parts.append((made.html[:balance], made.html[balance:end], made.html[end:]))
    for before, part, after in parts:
        for at_ in re.finditer(r"<(?:h1|p|div|li|dd|code|td)\b(?! class=\"text)[^<>]*>([^<>]+)<", part):
            found = made.check(html=page.Page(before + part[: at_.end(1)] + "x" + part[at_.end(1) :] + after))
            assert noticed(found) or "data.left_out" in str(found) or "Scripts draw" in at_[1], at_[0]
        for at_ in NUMBER.finditer(part):
            if part[: at_.start()].rfind("<") > part[: at_.start()].rfind(">") or 'class="text"' in part[: at_.start()].rpartition("<td")[2]:
                continue  # of an attribute, or of an explanation
            shown_ = part[max(at_.start() - 60, 0) : at_.end() + 30]
            found = made.check(html=page.Page(before + changed(part, at_) + after))
            assert noticed(found) or part[: at_.start()].rpartition("<tag")[2].endswith("x") or "h1" in shown_, shown_


def test_altered_tables_are_found(made: Made, tmp_path: Path) -> None:
    """A row less, and a value of each kind one larger, in the tables that numbers come from."""
    for name in ("flows", "ports", "pauses", "deadlocks", "ranks", "critical_path", "operations", "collectives", "uplinks", "pools", "storms"):
        frame = made.run.tables[name]
        if not len(frame):
            continue
        run = manifest.Run(made.folder, made.manifest)
        run.tables.put(name, frame.head(len(frame) - 1))
        ledger = Verification([str(made.folder)])
        manifest.check(run, ledger)
        assert by_a_number(ledger), name
    columns = {
        "flows": ("size_bytes", "end_ps", "fct_ps", "bytes_delivered", "start_ps"),
        "ports": ("tx_bytes", "tx_frames", "messages", "pauses", "paused_ps", "blocks", "blocked_ps", "dropped", "ingress_bytes_max", "marked", "lost"),
        "deadlocks": ("time_ps", "start_ps", "frames", "bytes", "blocked_start_ps"),
        "ranks": ("end_ps", "exposed_ps", "ideal_ps"),
        "critical_path": ("start_ps", "end_ps"),
    }
    for name, of in columns.items():
        frame = made.run.tables[name]
        for column in of:
            places = frame[column].arg_max()
            if places is None or frame[column][places] is None:
                continue
            run = manifest.Run(made.folder, made.manifest)
            larger = pl.when(pl.int_range(pl.len()) == places).then(pl.col(column) + 1).otherwise(pl.col(column)).alias(column)
            run.tables.put(name, frame.with_columns(larger))
            ledger = Verification([str(made.folder)])
            consistent(run.facts, ledger)
            manifest.check(run, ledger)
            page.check(run, page.Page(made.html), ledger)
            assert by_a_number(ledger), f"{name}.{column}"


def by_a_number(found: Verification) -> bool:
    """A difference other than that of the hash, which every change has."""
    return any("result_hash" not in d.place for d in found.differences)


def test_the_command_answers_and_its_exit_code_is_the_answer(tmp_path: Path, ring: Path) -> None:
    out = tmp_path / "ring"
    xoff.run(ring, run__duration="3ms", out=out)
    good = command(out, "--json")
    answer = json.loads(good.stdout)
    assert (good.returncode, answer["answer"], answer["differences"]) == (0, "yes", [])
    assert answer["compared"] > 50 and answer["not_derived"]
    m = json.loads((out / "manifest.json").read_text())
    m["frame_hops"] += 1
    (out / "manifest.json").write_text(json.dumps(m))
    bad = command(out)
    assert bad.returncode == 1
    assert f"manifest.json: frame_hops: printed {m['frame_hops']}, derived {m['frame_hops'] - 1} from ports" in " ".join(bad.stdout.split())
    none = command(tmp_path)
    assert none.returncode == 2 and "manifest.json" in none.stderr
    assert command(out, tmp_path / "nothing").returncode == 2
    with pytest.raises(xoff.ScenarioError, match=r"manifest\.json"):
        xoff.verify(tmp_path)


def test_parts_that_are_missing_are_noticed(tmp_path: Path, ring: Path) -> None:
    """A summary that is cut, an answer that is none, a file that never ends, a time that no run has; a report may go."""
    made = Made(tmp_path / "made", *SCENARIOS["deadlock"])
    lines = made.text.splitlines()
    for text in ("\n".join(lines[:n]) for n in (1, 5, 12)):
        assert not made.check(text=text).ok, text
    folder = made.folder
    with pytest.raises(xoff.ScenarioError, match="no JSON object"):
        xoff.verify(folder, answer="null")
    (folder / "report.html").unlink()
    found = xoff.verify(folder)
    assert found.ok and ("report.html", "the folder has none") in found.not_derived
    with pytest.raises(xoff.ScenarioError, match="OverflowError"):
        (folder / "manifest.json").write_text(json.dumps({**made.manifest, "simulated_seconds": 1e308}))
        xoff.verify(folder)
    (folder / "manifest.json").write_text(json.dumps(made.manifest))
    for name in ("flows.parquet", "manifest.json"):
        (folder / name).rename(tmp_path / name)
        os.mkfifo(folder / name)
        with pytest.raises(xoff.ScenarioError, match="not a regular file"):
            xoff.verify(folder)
        (folder / name).unlink()
        (tmp_path / name).rename(folder / name)


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "xoff", "verify", *map(str, words)], capture_output=True, text=True, check=False)


def test_csv_is_verified_like_parquet(tmp_path: Path, ring: Path) -> None:
    counts = []
    for form in ("parquet", "csv"):
        out = tmp_path / form
        xoff.run(ring, run__duration="3ms", out=out, format=form)
        found = xoff.verify(out)
        assert found.ok, found.differences
        counts.append(found.compared)
    # Parquet files state their version, that of the program, and the hash of the scenario.
    assert counts[0] == counts[1] + 3


PLAN = """
title = "Ring"
scenario = "{ring}"
seeds = 3
tables = ["flows"]
[set]
control_delay.processing_jitter = "5us"
run.duration = "3ms"
[grid]
flow_control = ["pfc", "gfc-buffer"]
"""


def other_cell(text: str) -> str:
    """A number that is one unit larger, or a text with another letter."""
    at = re.fullmatch(NUMBER, text)
    # The last digit of a fraction is not a result.
    return changed(text, at) if at and len(text) < 12 else "9" + text if at else text + "x"


def test_a_sweep_again_in_its_folder(tmp_path: Path, ring: Path) -> None:
    """Finished runs of the earlier plan stay there; their values have the same words."""
    plan, out = tmp_path / "plan.toml", tmp_path / "sweep"
    for duration in ("1ms", "2ms", "1ms"):
        plan.write_text(PLAN.format(ring=ring).replace("3ms", duration))
        xoff.sweep(plan, out=out, force=True)
        found = xoff.verify(out)
        assert found.ok, found.differences[:5]
    assert len(list(out.glob("finished/*/*.json"))) == 12


def test_every_number_and_word_of_a_sweep_is_found_when_it_changes(tmp_path: Path, ring: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "sweep"
    plan.write_text(PLAN.format(ring=ring))
    xoff.sweep(plan, out=out)
    whole = xoff.verify(out)
    assert whole.ok, whole.differences[:5]
    assert whole.compared > 200
    m = json.loads((out / "manifest.json").read_text())

    def check(other: dict[str, Any]) -> Verification:
        (out / "manifest.json").write_text(json.dumps(other))
        return xoff.verify(out)

    assert not missed(whole, m, check)
    assert check(m).ok
    csv = (out / "table.csv").read_text()
    cells = list(re.finditer(r"[^,\n]+", csv))
    for at in [*cells[:12], *cells[12::9]]:
        (out / "table.csv").write_text(csv[: at.start()] + other_cell(at[0]) + csv[at.end() :])
        assert notices(lambda: xoff.verify(out)), csv[at.start() - 40 : at.end()]
    (out / "table.csv").write_text(csv)
    html = (out / "index.html").read_text()
    texts = list(re.finditer(r"<(?:h1|h2|p|div|caption|figcaption|th|td|code)\b[^<>]*>([^<>]+)<", html))
    assert len(texts) > 40
    for at in [t for t in texts if t[1] != "Plan"]:
        (out / "index.html").write_text(html[: at.start(1)] + other_cell(at[1]) + html[at.end(1) :])
        assert notices(lambda: xoff.verify(out)), at[0]
    (out / "index.html").write_text(html)
    # What each run left, and copies of it in folders.
    for file in (*out.glob("finished/*/*"), *out.glob("flows/**/*.parquet")):
        data = file.read_bytes()
        file.write_bytes(data.replace(b"wall_seconds", b"wall_minutes") if file.suffix == ".json" else data + b" ")
        assert not xoff.verify(out).ok, file
        file.write_bytes(data)
    copy_ = next(out.glob("runs/*/runs.parquet"))
    kept = pl.read_parquet(copy_, hive_partitioning=False)
    kept.with_columns(pl.col("pauses") + 1).write_parquet(copy_)
    assert not xoff.verify(out).ok
    kept.write_parquet(copy_)
    assert xoff.verify(out).ok
    runs = pl.read_parquet(out / "runs.parquet")
    runs.with_columns(pl.col("lost_frames") + (pl.col("run") == 1).cast(pl.Int64)).write_parquet(out / "runs.parquet")
    assert not xoff.verify(out).ok


def test_a_row_of_a_sweep_is_that_of_the_run(tmp_path: Path, ring: Path) -> None:
    """A sweep keeps no tables: one of its runs, made again, has the same numbers in its tables."""
    run = xoff.run(ring, run__duration="3ms", out=tmp_path / "run")
    row = xoff.sweep({"scenario": str(ring), "set": {"run.duration": "3ms"}, "seeds": 1}, out=tmp_path / "sweep").runs.row(0, named=True)
    ports, flows, deadlocks = run.ports, run.flows, run.deadlocks
    assert row["delivered_bytes"] == flows["bytes_delivered"].sum()
    assert row["throughput_bps"] == pytest.approx(row["delivered_bytes"] * 8 / 0.003)
    assert (row["pauses"], row["paused_ps"]) == (ports["pauses"].sum(), ports["paused_ps"].sum())
    assert (row["ingress_bytes_max"], row["egress_bytes_max"]) == (ports["ingress_bytes_max"].max(), ports["egress_bytes_max"].max())
    assert row["deadlock_seconds"] == pytest.approx(float(str(deadlocks["start_ps"].min())) * 1e-12)
    assert row["frame_hops"] == ports["tx_frames"].sum()




JOB = """
[run]
duration = "20ms"
[topology]
kind = "star"
hosts = 4
[[job]]
[[collective]]
size = "400KB"
"""


def test_storms_of_one_pause_are_told_apart(tmp_path: Path) -> None:
    """The watchdog alerts, and finds the same pause again."""
    scenario = tmp_path / "storm.toml"
    scenario.write_text(
        '[run]\nduration = "200us"\nstop_when_done = false\n[topology]\nkind = "star"\nhosts = 2\nrate = "100Gbps"\ndelay = "100ns"\n'
        '[flow_control]\nkind = "gfc-time"\nperiod = "4us"\nb0 = "60KB"\n[[flow]]\nsrc = "H0"\ndst = "H1"\n'
        '[watchdog]\nkind = "status"\ndetect = "18us"\nrestore = "21us"\npoll = "4us"\naction = "alert"\n'
        '[[pause_storm]]\nhost = "H1"\npriority = 0\nstart = "5us"\nstop = "92us"\ninterval = "4487ns"\n'
    )
    run = xoff.run(scenario, out=tmp_path / "run")
    assert run.frame("storms")["start_ps"].to_list() == [5_105_120] * 3
    found = xoff.verify(tmp_path / "run")
    assert found.ok, found.differences[:5]
    text = (tmp_path / "run" / "manifest.json").read_text()
    (tmp_path / "run" / "manifest.json").write_text(text.replace("(priority 0, from 5 us)", "(priority 0, from 6 us)"))
    assert any("active" in d.place for d in xoff.verify(tmp_path / "run").differences)


def test_messages_that_a_job_never_sent_have_nothing(tmp_path: Path) -> None:
    """Their rows in the summary are not in the table of flows."""
    (tmp_path / "job.toml").write_text(JOB.replace("hosts = 4", "hosts = 2").replace("[[job]]", "[[job]]\niterations = 2"))
    made = Made(tmp_path / "run", tmp_path / "job.toml", ["run.duration=300us"])
    assert made.check(text=made.text).ok
    changed_ = made.text.replace("0 b/s", "9 b/s", 1)
    assert changed_ != made.text
    assert not made.check(text=changed_).ok


def test_messages_of_conweave_are_no_data(tmp_path: Path) -> None:
    """They cross the same ports as data, without any acknowledgement."""
    scenario = tmp_path / "paths.toml"
    scenario.write_text(
        '[topology]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = "40Gbps"\ndelay = "1us"\n'
        '[load_balancing]\nkind = "conweave"\nreply = "4us"\n[[workload]]\nkind = "permutation"\nsize = "300KB"\ndifferent_rack = true\n'
    )
    run = xoff.run(scenario, out=tmp_path / "run")
    assert run.manifest["data_frame_hops"] < run.manifest["frame_hops"]
    found = xoff.verify(tmp_path / "run")
    assert found.ok, found.differences[:5]


def test_a_job_without_a_whole_iteration_is_verified(tmp_path: Path) -> None:
    """Its critical path has no row."""
    (tmp_path / "job.toml").write_text(JOB)
    run = xoff.run(tmp_path / "job.toml", {"run.duration": "2us"}, out=tmp_path / "run")
    assert run.frame("critical_path").is_empty()
    found = xoff.verify(tmp_path / "run")
    assert found.ok, found.differences[:5]


def test_messages_that_a_program_hands_in_are_verified(tmp_path: Path) -> None:
    """Their flows have names that no section has."""
    (tmp_path / "star.toml").write_text(JOB.partition("[[job]]")[0])
    net = xoff.Network(tmp_path / "star.toml", priorities=[3])
    net.send("H0", "H1", 100_000, queue_pair=0)
    net.send("H1", "H2", 5_000)
    assert len(list(net)) > 2
    net.finish(tmp_path / "run")
    found = xoff.verify(tmp_path / "run")
    assert found.ok, found.differences[:5]
    assert not any("result_hash" in place for place, _ in found.not_derived)


def test_collectives_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """None has a name: those of one kind differ in their order only."""
    one, other = '[[collective]]\nsize = "64KB"\n', '[[collective]]\nkind = "all-gather"\nsize = "64KB"\n'
    (tmp_path / "job.toml").write_text(JOB.replace("[[job]]", "[[job]]\niterations = 3") + one + other + one + other)
    for duration in ("20ms", "150us", "2us"):
        run = xoff.run(tmp_path / "job.toml", run__duration=duration, out=tmp_path / duration)
        found = xoff.verify(tmp_path / duration)
        assert found.ok, found.differences[:5]
        if duration == "20ms":
            names = run.frame("collectives")["collective"]
            assert (len(names), names.n_unique()) == (15, 2)
            assert not any("result_hash" in place for place, _ in found.not_derived)


def test_a_sweep_counts_the_messages_of_streamed_jobs(tmp_path: Path) -> None:
    """Their flows are in no list of the run."""
    (tmp_path / "job.toml").write_text(JOB)
    runs = xoff.sweep({"scenario": str(tmp_path / "job.toml"), "grid": {"job[0].stream": [True, False]}, "seeds": 1}, out=tmp_path / "sweep").runs
    assert runs["delivered_bytes"][0] == runs["delivered_bytes"][1] > 0
    assert runs["throughput_bps"].n_unique() == 1


@pytest.mark.parametrize("name", ["hotspots", "qcn-at-inputs", "reassembly-deadlock"])
def test_a_fabric_is_verified(name: str, tmp_path: Path) -> None:
    """The deadlock's last event is before the end."""
    words = [str(XOFF), "run", str(ROOT / "scenarios" / "fabric" / f"{name}.toml"), "--out", str(tmp_path / "out"), "--json", "--set", "run.duration=100us"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode in (0, 1), said.stderr
    found = xoff.verify(tmp_path / "out", answer=said.stdout)
    assert found.ok, found.differences
    m = json.loads((tmp_path / "out" / "manifest.json").read_text())

    def check(other: dict[str, Any]) -> Verification:
        (tmp_path / "out" / "manifest.json").write_text(json.dumps(other))
        return xoff.verify(tmp_path / "out")

    # Sentences of fabrics are listed, but their numbers are derived.
    assert not [place for place in missed(check(m), m, check) if not place.startswith(("active", "inactive"))]
    assert json.loads(said.stdout)["simulated_seconds"] == pytest.approx(1e-4, rel=1e-12)
    assert found.compared > 50

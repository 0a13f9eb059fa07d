"""The other subcommands: the same numbers as the command's JSON, as objects."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import xoff
from conftest import ROOT, interrupt_soon

SAMPLES = ROOT / "crates" / "scenario" / "tests" / "import"


def command(*args: object) -> tuple[dict[str, Any], str, int]:
    """JSON, text without the commands that lead on, and exit code of the command ``xoff``, as installed."""
    def done(*more: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "COLUMNS": "120"}
        return subprocess.run([sys.executable, "-m", "xoff", *map(str, args), *more], capture_output=True, text=True, env=environ)

    answer, text = done("--json"), done()
    assert answer.returncode in (0, 1), answer.stderr
    return json.loads(answer.stdout), text.stdout.split("\n\nNext: ")[0], answer.returncode


def as_json(value: object) -> Any:
    """An object as the JSON that it is from; fields without a value are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {f.name.rstrip("_"): as_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {k: v for k, v in shown.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [as_json(v) for v in value]
    if isinstance(value, dict):
        return {k: as_json(v) for k, v in value.items() if v is not None}
    return value


def flat(value: Any) -> Any:
    """JSON as the objects have it: without nulls."""
    if isinstance(value, dict):
        return {k: flat(v) for k, v in value.items() if v is not None}
    return [flat(v) for v in value] if isinstance(value, list) else value


RING5 = f"ibnetdiscover:{SAMPLES}/ib/ring5-minhop/ibnetdiscover.topo,{SAMPLES}/ib/ring5-minhop/opensm.fdbs"

CASES: list[tuple[Any, list[object]]] = [
    (lambda: xoff.check("fat-tree:k=4", fail_any=1), ["check", "fat-tree:k=4", "--fail-any", 1]),
    (lambda: xoff.check("fat-tree:k=4", fail=["A1-C1", "E2-A2"], routing="up-down"), ["check", "fat-tree:k=4", "--fail", "A1-C1,E2-A2", "--routing", "up-down"]),
    (lambda: xoff.check("fat-tree:k=4", fail_any=2, sets_max=50), ["check", "fat-tree:k=4", "--fail-any", 2, "--sets-max", 50]),
    (lambda: xoff.check(ROOT / "scenarios/tutorial/ring.toml"), ["check", ROOT / "scenarios/tutorial/ring.toml"]),
    (
        lambda: xoff.check(RING5, all_pairs=True),
        ["check", RING5, "--all-pairs"],
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")
def test_a_check_is_the_commands(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ask, args = CASES[case]
    answer = ask()
    expected, text, code = command(*args)
    assert answer.json == expected
    assert str(answer) == text.rstrip()
    assert bool(answer) == (code == 0) and (answer.answer == "yes") == (code == 0)
    got = as_json(answer)
    del got["json"], got["text"]
    for key, value in flat(expected).items():
        have = got[key]
        if key == "remedies":  # fields that JSON leaves out are empty
            have = [{k: v for k, v in r.items() if v or k in ("kind", "classes")} for r in have]
        assert have == value, key
    assert set(flat(expected)) >= set(got), "every field is from the JSON"


def test_a_cycle_has_its_flows_and_remedies(ring: Path) -> None:
    answer = xoff.check(ring)
    assert (answer.answer, answer.verdict, bool(answer)) == ("no", "cyclic", False)
    assert answer.headline.startswith("A cycle of 3 buffers")
    assert answer.cycle is not None and len(answer.cycle.links) == 3
    assert {c.from_ for c in answer.cycle.closed_by} == set(answer.cycle.links)
    assert answer.remedies and all(r.proof for r in answer.remedies)
    html = answer._repr_html_()
    assert "A cycle of 3 buffers" in html and "A shortest cycle" in html and answer.remedies[0].change.split()[0] in html


@pytest.mark.parametrize(
    ("mechanism", "inputs", "args"),
    [
        (None, {"rate": "100Gbps", "length": "300m", "mtu": 9216}, ["--rate", "100Gbps", "--length", "300m", "--mtu", 9216]),
        (None, {"flow_control": "gfc-buffer", "rate": "10Gbps", "buffer": "300KB"}, ["--flow-control", "gfc-buffer", "--rate", "10Gbps", "--buffer", "300KB"]),
        (
            "tcd",
            {"rate": "40Gbps", "mtu": 1000, "t_w": "4us", "t_r": "0us", "xoff": "320KB", "xon": "318KB"},
            ["--rate", "40Gbps", "--mtu", 1000, "--t-w", "4us", "--t-r", "0us", "--xoff", "320KB", "--xon", "318KB"],
        ),
    ],
)
def test_a_plan_is_the_commands(mechanism: str | None, inputs: dict[str, Any], args: list[object]) -> None:
    plan = xoff.plan(mechanism, **inputs)
    expected, _, _ = command("plan", *([] if mechanism is None else [mechanism]), *args)
    assert plan.json == expected
    for name in ("rows", "tables", "warnings", "evidence"):
        assert as_json(getattr(plan, name)) == flat(expected.get(name, [])), name
    for name in ("set", "why", "check", "apply"):
        assert as_json(getattr(plan, name)) == flat(expected["answer"].get(name, [])), name
    for row in expected["rows"]:
        assert any(q.symbol == row["symbol"] and q.value_exact == row["value_exact"] for q in plan.rows)
    assert plan.frame.height == len(expected["rows"])
    assert plan.set[0].symbol in plan._repr_html_()


def test_a_plan_answers_by_symbol() -> None:
    plan = xoff.plan(rate="100Gbps", length="300m", mtu=9216)
    assert (plan["XOFF"], plan["H"], plan["C"]) == (111_928, 111_992, 100_000_000_000)
    assert plan.headline == "pfc: set XOFF = 111.928 KB, XON = 93.496 KB, H = 111.992 KB, B = 223.92 KB"
    with pytest.raises(KeyError, match="no quantity has the symbol 'XOF'"):
        plan["XOF"]


def test_a_plan_of_a_fabric_is_the_commands() -> None:
    network = f"sonic:{SAMPLES}/sonic/fabric,length=40m"
    plan = xoff.plan(network=network, sonic=True)
    expected, text, code = command("plan", "--network", network, "--format", "sonic")
    assert plan.json == expected and plan.text.rstrip() == text.rstrip()
    assert (bool(plan), plan.headline, plan.answer) == (code == 0, expected["headline"], expected["answer"])
    assert [as_json(p) for p in plan.ports] == flat(expected["ports"])
    assert plan.frame.height == len(expected["ports"]) and plan.sonic == expected["sonic"]
    assert plan.ports[0].switch in plan._repr_html_()


def test_an_explanation_is_the_commands(ring: Path, pfc: xoff.Run, tmp_path: Path) -> None:
    expected, _, _ = command("explain", ring, "S1:S2", "2.9ms")
    written = xoff.run(ring, out=tmp_path / "run")
    for answer in (
        xoff.explain(ring, "S1:S2", "2.9ms"),
        pfc.explain("S1->S2", 2_900_000_000),
        written.explain("S1:S2", "2900us"),
        xoff.explain(tmp_path / "run", "S1:S2", "2.9ms", priority=0),
    ):
        assert answer.json == expected
        assert (answer.root, len(answer.steps), answer.cycle_from_step) == (expected["root"], len(expected["steps"]), expected["cycle_from_step"])
    assert [f.bytes for s in answer.steps for f in s.flows] == [f[3] for s in expected["steps"] for f in s["flows"]]
    assert answer.headline == "deadlock: S1->S2 waits for S2->S3 waits for S3->S1"
    assert "S2-&gt;S3" in answer._repr_html_()
    # A run in memory explains itself, overrides included.
    late = xoff.run(ring, flow_control="gfc-buffer", run__duration="5ms")
    assert late.explain("H1->S1", "4ms").steps[0].restraint == "slowed"


def test_a_tree_is_the_commands(tmp_path: Path) -> None:
    tcd = ROOT / "scenarios" / "mechanisms" / "tcd.toml"
    expected, text, _ = command("tree", tcd, "500us")
    tree = xoff.tree(tcd, "500us", svg=tmp_path / "tree.svg")
    assert tree.json == expected and str(tree).split() == text.split()  # wrapped at another width
    assert [as_json(m) for m in tree.culprits + tree.victims] == expected["culprits"] + expected["victims"]
    assert [b.port for b in tree.branches] == [b["port"] for b in expected["branches"]]
    assert (tmp_path / "tree.svg").read_text().startswith("<svg")
    assert xoff.run(tcd).tree(500_000_000).json == expected
    assert tree.pauses_only is None
    pauses = xoff.tree(ROOT / "scenarios" / "tutorial" / "ring.toml", "15ms")
    assert (pauses.pauses_only, {b.role for b in pauses.branches}) == ("none", {"paused", "paused host"})
    assert "victim" in tree._repr_html_()


def test_a_scheduled_fabric_has_answers_of_its_own(tmp_path: Path) -> None:
    hotspots = ROOT / "scenarios" / "fabric" / "hotspots.toml"
    waits = xoff.waits(hotspots, "20us")
    assert waits.json == command("tree", hotspots, "20us")[0]
    port = waits.outputs[0].port
    assert xoff.waits(hotspots, 20_000_000, port).outputs == waits.outputs[:1]
    assert waits.outputs[0].grants_wait_for == "fabric slots" and port in waits._repr_html_()
    checked = xoff.check_fabric(hotspots)
    assert checked.json == command("check", hotspots)[0]
    assert checked and checked.limits[0].key == "input" and "No deadlock" in checked._repr_html_()
    assert not xoff.check_fabric(ROOT / "scenarios" / "fabric" / "reassembly-deadlock.toml")
    for wrong in (lambda: xoff.tree(hotspots, "20us"), lambda: xoff.explain(hotspots, "P8", "20us"), lambda: xoff.check(hotspots)):
        with pytest.raises(TypeError, match="scheduled fabric"):
            wrong()
    ring = ROOT / "scenarios" / "tutorial" / "ring.toml"
    with pytest.raises(TypeError, match="this is a network; use xoff.tree"):
        xoff.waits(ring, "15ms")
    with pytest.raises(TypeError, match="this is a network; use xoff.check"):
        xoff.check_fabric(ring)


def test_a_network_is_imported_as_by_the_command(tmp_path: Path) -> None:
    files = SAMPLES / "graph" / "leafspine.graphml"
    options = ["--rate", "100Gbps", "--length", "5m"]
    expected, _, _ = command("import", "graphml", files, "--out", tmp_path / "a.toml", "--force", *options)
    with pytest.MonkeyPatch.context() as m:
        m.chdir(tmp_path)
        imported = xoff.import_network("graphml", files, out=tmp_path / "b.toml", rate="100Gbps", length="5m")
    same = {k: v for k, v in expected.items() if k != "out"}
    assert {k: v for k, v in imported.json.items() if k != "out"} == same
    assert (imported.hosts, imported.switches, imported.links) == (expected["hosts"], expected["switches"], expected["links"])
    assert (tmp_path / "a.toml").read_text() == (tmp_path / "b.toml").read_text()
    assert imported.headline in imported._repr_html_()
    with pytest.raises(xoff.RunError, match="already exists.*force"):
        xoff.import_network("graphml", files, out=tmp_path / "b.toml", rate="100Gbps", length="5m")


@pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")
def test_broken_samples_have_file_line_and_column(tmp_path: Path) -> None:
    broken = sorted(p for folder in SAMPLES.rglob("broken") for p in folder.iterdir() if p.suffix in (".json", ".yml", ".yaml", ".graphml", ".topo", ".cm") or p.name.endswith("_H100"))
    assert len(broken) > 10
    formats = {"sonic": "sonic", "containerlab": "containerlab", "htsim": "htsim", "ib": "ibnetdiscover", "infragraph": "infragraph", "routing": "frr", "simai": "simai"}
    placed = 0
    for file in broken:
        form = formats.get(file.parents[1].name) or ("graphml" if file.suffix == ".graphml" else "networkx")
        try:
            xoff.import_network(form, file, out=tmp_path / "x.toml", rate="100Gbps", length="5m", force=True)
        except xoff.ScenarioError as e:
            placed += e.file == str(file) and (e.line or 0) >= 1 and (e.column or 0) >= 1 and bool(e.message)
            assert str(e.problems[0]) == str(e).splitlines()[0]
    assert placed > len(broken) // 2


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: xoff.check("fat-tre:k=4"), "did you mean 'fat-tree'"),
        (lambda: xoff.check("fat-tree:k=5"), "k"),
        (lambda: xoff.check("fat-tree", routing="best"), "possible values: all-paths"),
        (lambda: xoff.check("fat-tree", fail="A1-C99"), "A1-C99"),
        (lambda: xoff.check("--help"), "neither a file nor a fabric"),
        (lambda: xoff.plan(rate="100"), "'100' has no unit (expected a rate"),
        (lambda: xoff.plan(rate="100Gbps", lenght="5m"), "a similar argument exists: '--length'"),
        (lambda: xoff.plan("red"), "red"),
        (lambda: xoff.explain(ROOT / "scenarios/tutorial/ring.toml", "S1:S9", "1ms"), "S9"),
        (lambda: xoff.explain(ROOT / "scenarios/tutorial/ring.toml", "S1:S2", "1"), "has no unit"),
        (lambda: xoff.explain("nowhere", "S1:S2", "1ms"), "there is no folder or file 'nowhere'"),
        (lambda: xoff.tree(ROOT / "scenarios/tutorial/ring.toml", "1"), "has no unit"),
        (lambda: xoff.import_network("sonik", "x", out="y"), "a similar value exists: 'sonic'"),
    ],
)
def test_bad_input_is_refused_with_a_hint(ask: Any, text: str) -> None:
    with pytest.raises(xoff.ScenarioError) as e:
        ask()
    assert text in str(e.value)
    assert e.value.problems and e.value.problems[0].message in str(e.value)


def test_a_mistake_in_a_file_has_line_column_and_hint(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[topology]\nkind = "ring"\nrate = "10 parsec"\n[switch]\nbufer = "1MB"\n')
    for ask in (lambda: xoff.run(file), lambda: xoff.check(file), lambda: xoff.explain(file, "S1:S2", "1ms")):
        with pytest.raises(xoff.ScenarioError) as e:
            ask()
        assert (e.value.file, e.value.line, e.value.column) == (str(file), 3, 8)
        assert "parsec" in e.value.message
    file.write_text('[topology]\nkind = "ring"\n[host]\nframe_maxu = "3KB"\n[switch]\nbufer = "1MB"\n')
    with pytest.raises(xoff.ScenarioError) as e:
        xoff.run(file)
    assert [(p.line, p.column) for p in e.value.problems] == [(1, 1), (4, 1), (6, 1)]
    assert e.value.problems[2].hint == "did you mean 'buffer'?"
    # Across processes, as executors send it.
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.line, again.problems, str(again)) == (1, e.value.problems, str(e.value))
    with pytest.raises(xoff.ScenarioError) as s:
        xoff.run(ROOT / "scenarios/tutorial/ring.toml", switch__buffer=5)
    assert (s.value.file, s.value.problems[0].setting) == (None, "keyword switch.buffer=5")


def test_results_that_cannot_be_written_are_an_error_of_their_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine.svg"
    mine.write_text("mine")
    tcd = ROOT / "scenarios" / "mechanisms" / "tcd.toml"
    with pytest.raises(xoff.RunError, match="mine.svg"):
        xoff.tree(tcd, "100us", svg=mine)
    assert mine.read_text() == "mine"
    with pytest.raises(xoff.RunError, match="expected a folder that a run wrote|no manifest|did not finish"):
        xoff.explain(tmp_path, "S1:S2", "1ms")
    with pytest.raises(xoff.RunError, match="y.toml"):
        xoff.import_network("graphml", SAMPLES / "graph/leafspine.graphml", out=mine / "y.toml")


def test_a_warning_of_the_command_is_a_warning_here(ring: Path) -> None:
    with pytest.warns(xoff.ScenarioWarning, match="xoff skips --fail-any") as caught:
        xoff.check(ring, fail_any=1)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("what", ["check", "explain"])
def test_an_interrupt_stops_an_answer(what: str, ring: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        if what == "check":
            xoff.check("fat-tree:k=16", fail_any=3, sets_max=10**9, routing="per-edge")
        else:
            long = tmp_path / "long.toml"
            long.write_text(ring.read_text().replace('duration = "20ms"', 'duration = "1000s"').replace('kind = "pfc"', 'kind = "none"', 1))
            xoff.explain(long, "S1:S2", "999s")
    assert time.monotonic() - started < 20
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the interpreter's handler stays"


@pytest.mark.parametrize("nth", range(1, 31))
def test_an_interrupt_at_any_line_is_an_interrupt(nth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt in the wait for the work, or in Python code below it. An interrupt in a line of threading.Event came out as
    RuntimeError("release unlocked lock")."""
    from xoff import _ask

    monkeypatch.setattr(_ask, "LOOK", 1e-3)
    looks: list[bool] = []
    stopped: list[bool] = []
    lines = 0

    def interrupt(frame: FrameType, event: str, _: object) -> object:
        nonlocal lines
        if looks and event == "line" and not stopped:
            lines += 1
            if lines == nth:
                raise KeyboardInterrupt
        return interrupt

    def work() -> None:
        while not stopped:
            time.sleep(1e-3)

    trace: Any = lambda frame, event, arg: interrupt if frame.f_code.co_filename in (_ask.__file__, threading.__file__) else None
    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            _ask.aside(work, lambda: stopped.append(True), lambda: looks.append(True))
    finally:
        sys.settrace(None)
    assert lines == nth


def test_a_second_interrupt_does_not_wait() -> None:
    """Of work that looks for none, such as the search for a remedy."""
    from xoff._ask import aside

    interrupt_soon()
    interrupt_soon(0.8)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        aside(lambda: time.sleep(30), lambda: None)
    assert 0.5 < time.monotonic() - started < 15


def test_answers_beside_each_other() -> None:
    """Two at a time: one is stopped, the other is not."""
    done: list[xoff.Check] = []
    other = threading.Thread(target=lambda: done.append(xoff.check("fat-tree:k=8", fail_any=1)))
    other.start()

    def enough(_: xoff.Step) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        xoff.check("fat-tree:k=16", fail_any=3, sets_max=10**9, routing="per-edge", progress=enough)
    other.join()
    assert done[0].answer == "yes" and done[0].failures is not None and not done[0].failures.interrupted

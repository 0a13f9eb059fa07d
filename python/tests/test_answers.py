"""Every JSON answer is what `xoff schema answers` says: each kind of answer, as the command prints it, with no field that the schema lacks."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from conftest import ROOT
from test_page import missing

SAMPLES = ROOT / "crates" / "scenario" / "tests" / "import"
RING5 = f"ibnetdiscover:{SAMPLES}/ib/ring5-minhop/ibnetdiscover.topo,{SAMPLES}/ib/ring5-minhop/opensm.fdbs"
SONIC = f"sonic:{SAMPLES}/sonic/fabric"
SLOW = "[topology]\nkind = 'star'\nhosts = 3\nrate = '10Gbps'\n[[workload]]\nkind = 'poisson'\nload = 0.5\ncdf = 'websearch'\nduration = '10s'\n[run]\nduration = '10s'\n"


def closed(schema: Any) -> Any:
    """The schema with objects that take no other field: a new field has to be in the published schema."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {k: closed(v) for k, v in schema.items()}
    return {**inner, "additionalProperties": False} if isinstance(inner.get("properties"), dict) and "type" in inner else inner


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    whole: dict[str, Any] = ask("schema", "answers", folder=ROOT)
    return whole


def check(schema: dict[str, Any], name: str, answer: Any) -> None:
    strict = closed(schema)
    jsonschema.Draft202012Validator({"$defs": strict["$defs"], **strict["answers"][name]}).validate(answer)
    SEEN.add(name)


SEEN: set[str] = set()


def ask(*args: object, folder: Path) -> Any:
    command = [sys.executable, "-m", "xoff", *map(str, args), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": ""}, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs that others take."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    return folder


def test_runs(schema: dict[str, Any], runs: Path) -> None:
    check(schema, "run", ask("run", "scenarios/tutorial/ring.toml", "--out", "pfc", folder=runs))
    check(schema, "run", ask("run", "scenarios/mechanisms/gfc-buffer.toml", "--out", "gfc", "--no-report", folder=runs))
    check(schema, "run", ask("run", "scenarios/mechanisms/tcd.toml", "--out", "tcd", folder=runs))
    fabric = ("--set", "run.duration=60us", "--set", "run.warm_up=10us")
    check(schema, "run-fabric", ask("run", "scenarios/fabric/hotspots.toml", "--out", "fabric", *fabric, folder=runs))
    case = ROOT / "crates/run/tests/hpcc/m4_star_2to1_dcqcnstep/config.txt"
    check(schema, "hpcc", ask("hpcc", case, "--out", "hpcc", folder=runs))


def test_what_is_asked_of_runs(schema: dict[str, Any], runs: Path) -> None:
    check(schema, "explain", ask("explain", "scenarios/tutorial/ring.toml", "H1:S1", "15ms", folder=runs))
    check(schema, "explain", ask("explain", "scenarios/tutorial/ring.toml", "H1:S1", "1us", folder=runs))
    check(schema, "tree", ask("tree", "scenarios/mechanisms/tcd.toml", "500us", folder=runs))
    hotspots = "scenarios/fabric/hotspots.toml"
    check(schema, "waits-fabric", ask("tree", hotspots, "20us", folder=runs))
    check(schema, "waits-fabric", ask("explain", hotspots, "P8", "20us", folder=runs))
    check(schema, "check-fabric", ask("check", hotspots, folder=runs))
    for name, setting in (("a", "pfc"), ("b", "gfc-buffer")):
        ask("run", "scenarios/tutorial/ring.toml", "--out", name, "--set", f"flow_control={setting}", folder=runs)
    check(schema, "compare", ask("compare", "a", "b", folder=runs))
    check(schema, "verify", ask("verify", "a", "b", folder=runs))
    check(schema, "figure", ask("figure", "a", "--of", "cycle", "--format", "svg", "--out", "cycle", folder=runs))
    for data in (("--of", "cycle"), ("--of", "port", "--port", "S1:S2"), ("--of", "slowdown")):
        check(schema, "figure", ask("figure", "a", *data, "--data", folder=runs))
    all_three = ("--perfetto", "a.pftrace", "--csv", "csv", "--pcapng", "a.pcapng", "--link", "S1:S2")
    check(schema, "export", ask("export", "a", *all_three, folder=runs))
    check(schema, "export", ask("export", "a", "--csv", "csv2", folder=runs))
    with subprocess.Popen(
        [sys.executable, "-m", "xoff", "view", "a", "--no-browser", "--json"], cwd=runs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as view:
        assert view.stderr is not None and " is at " in view.stderr.readline()
        view.send_signal(signal.SIGINT)
        check(schema, "view", json.loads(view.communicate()[0]))


def test_networks(schema: dict[str, Any], runs: Path) -> None:
    check(schema, "new", ask("new", "ring", folder=runs))
    check(schema, "import", ask("import", "sonic", SAMPLES / "sonic/fabric", "--out", "sonic.toml", folder=runs))
    check(schema, "check", ask("check", "fat-tree:k=4", "--fail-any", 1, folder=runs))
    check(schema, "check", ask("check", "scenarios/tutorial/ring.toml", folder=runs))
    check(schema, "check", ask("check", RING5, "--fail-any", 1, folder=runs))
    check(schema, "plan", ask("plan", "--rate", "100Gbps", "--length", "100m", "--mtu", "1500B", folder=runs))
    check(schema, "plan", ask("plan", "gfc-buffer", "--rate", "10Gbps", "--buffer", "1MB", "--mtu", "1500B", folder=runs))
    check(schema, "plan-fabric", ask("plan", SONIC, folder=runs))
    check(schema, "plan-fabric", ask("plan", SONIC, "--format", "sonic", folder=runs))


def test_a_benchmark(schema: dict[str, Any], runs: Path) -> None:
    scenario = "scenarios/mechanisms/flowlet.toml"
    for only in ("incast,convergence", "deadlock"):
        check(schema, "bench-fabric", ask("bench-fabric", scenario, "--out", "bench", "--only", only, "--seeds", 2, folder=runs))


def test_papers_and_sweeps(schema: dict[str, Any], runs: Path) -> None:
    check(schema, "reproduce-list", ask("reproduce", ROOT / "papers/gfc", "--list", folder=runs))
    check(schema, "reproduce", ask("reproduce", ROOT / "papers/gfc", "sec4.2", "thm5.1", "--out", "paper", folder=runs))
    (runs / "sweep.toml").write_text("scenario = 'scenarios/mechanisms/pfc.toml'\nseeds = 2\n[grid]\nflow_control = ['pfc', 'gfc-buffer']\n")
    check(schema, "sweep-list", ask("sweep", "sweep.toml", "--list", folder=runs))
    check(schema, "sweep-index", ask("sweep", "sweep.toml", "--out", "array", "--index", "0,3", folder=runs))
    check(schema, "sweep", ask("sweep", "sweep.toml", "--out", "swept", folder=runs))
    (runs / "slow.toml").write_text(SLOW)
    (runs / "long.toml").write_text("scenario = 'slow.toml'\nseeds = 4\n")
    with subprocess.Popen([sys.executable, "-m", "xoff", "sweep", "long.toml", "--out", "long", "--json"], cwd=runs, stdout=subprocess.PIPE, text=True) as sweep:
        while not (runs / "long").exists():
            assert sweep.poll() is None
        sweep.send_signal(signal.SIGINT)
        answer = json.loads(sweep.communicate()[0])
    assert (sweep.returncode, answer["answer"]) == (130, "interrupted")
    check(schema, "sweep-interrupted", answer)


def test_what_installs(schema: dict[str, Any], runs: Path) -> None:
    check(schema, "completions", ask("completions", "fish", folder=runs))
    check(schema, "man", ask("man", "--out", "man1", folder=runs))
    check(schema, "man", ask("man", folder=runs))


def test_real_frames(schema: dict[str, Any], runs: Path) -> None:
    scenario = ("testbed", ROOT / "scenarios/testbed/ring-pfc.toml", "--set", "run.duration=300ms")
    try:
        check(schema, "testbed", ask(*scenario, "--out", "real", "--compare", "--capture", "real.pcapng", folder=runs))
    except AssertionError as e:
        if "namespace" not in str(e):
            raise
        missing("namespaces", str(e))
    check(schema, "replay", ask("replay", "real.pcapng", folder=runs))
    processes = ask(*scenario, "--out", "processes", "--processes", folder=runs)
    check(schema, "testbed-processes", processes)
    check(schema, "node", processes["nodes"][0]["answer"])


def test_every_answer_was_seen(schema: dict[str, Any]) -> None:
    real = {"testbed", "testbed-processes", "node", "replay"}
    assert set(schema["answers"]) - SEEN <= (set() if SEEN & real else real)


def test_a_missing_field_and_one_too_many_are_found(schema: dict[str, Any], runs: Path) -> None:
    answer = ask("check", "fat-tree:k=4", folder=runs)
    more, fewer, other = copy.deepcopy(answer), copy.deepcopy(answer), copy.deepcopy(answer)
    more["more"] = 1
    del fewer["verdict"]
    other["hosts"] = "sixteen"
    for wrong in (more, fewer, other):
        with pytest.raises(jsonschema.ValidationError):
            check(schema, "check", wrong)

"""Claims with real Ethernet frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from test_page import missing
from xoff import RunError
from xoff.lab import Claim, ClaimError, Paper
from xoff.lab.runs import Runner

CLAIM = """
title = "A ring with real frames"
paper = "PFC pauses ports."
band = "No loss."
measured = "{machine}"

[[run]]
scenario = "SCENARIO"
testbed = TESTBED
measure = "outcome"
seeds = 2
case = { PFC = { "run.duration" = "200ms" } }

[[check]]
what = "{cell}: frames lost, {made[{cell}]} runs"
value = "lost[{cell}]"
each = { cell = "cells" }
unit = "frames"
none = true
"""
METRICS = """
from xoff.lab.real import CAPTURE, cells, lost, machine, made, mean, stopped

def outcome(run):
    return {"captured": (run.folder / CAPTURE).stat().st_size, "end": run.manifest["simulated_seconds"]}
"""


def claim(folder: Path, testbed: str) -> Claim:
    text = CLAIM.replace("SCENARIO", str(ROOT / "scenarios/testbed/ring-pfc.toml")).replace("TESTBED", testbed)
    for name, content in {"paper.toml": 'title = "Mine"\nclaims = ["ring"]\n', "ring.toml": text, "metrics.py": METRICS}.items():
        (folder / name).write_text(content)
    return Claim(Paper.read(folder), "ring")


def runner(folder: Path) -> Runner:
    # As a reproduction marks its folder.
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / ".xoff").touch()
    return Runner(folder, folder / "out", None, None, False, None)


def test_what_a_testbed_refuses_ends_the_claim_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"(?m)--observe: no port S1->S9 \(name a port of the network, such as H1->S1\)$"):
        claim(tmp_path, '{ observe = "S1->S9" }').measure(runner(tmp_path), "quick", 1)
    assert len(list((tmp_path / "out/functions").glob("*.json"))) == 1
    with pytest.raises(ClaimError, match="unknown key 'watch' .expected one of capture, ip, observe, run"):
        claim(tmp_path, '{ watch = "S1->S2" }')


def test_runs_with_real_frames_have_what_only_these_show(tmp_path: Path) -> None:
    ring = claim(tmp_path, "{ capture = true }")
    try:
        cells = ring.measure(runner(tmp_path), "quick", 1)
    except RunError as e:
        missing("namespaces", str(e))
    [(_, found)] = cells
    assert [row["seed"] for row in found.runs] == [1, 2]
    for row in found.runs:
        assert row["captured"] > 1000 and row["end"] == pytest.approx(0.2, abs=0.05) and 1 <= row["tries"] <= 3 and 0 <= row["left_out"] < 1, dict(row.values_)
    judged = ring.judge(cells)
    assert judged.checks[0].what == "PFC: frames lost, 2 runs" and judged.measured.endswith("runs stayed inconclusive.")
    # Kept: the same call runs nothing.
    [(_, again)] = ring.measure(runner(tmp_path), "quick", 1)
    assert again.runs.column("left_out") == found.runs.column("left_out")

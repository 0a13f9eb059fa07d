"""Runs, their overrides and their tables."""

import concurrent.futures
import copy
import json
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xoff
from polars.testing import assert_frame_equal

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")


# A type checker does not see that dotted names hit none of the other parameters.
DOTTED: dict[str, Any] = {"switch.discipline": "round-robin"}


def command(*args: object) -> subprocess.CompletedProcess[str]:
    """The command ``xoff``, as installed."""
    return subprocess.run([sys.executable, "-m", "xoff", *map(str, args)], capture_output=True, text=True)


def parameters(run: xoff.Run) -> dict[str, str]:
    return dict(zip(run.parameters["path"], run.parameters["value"], strict=True))


def test_the_ring_deadlocks_under_pfc(pfc: xoff.Run) -> None:
    assert pfc.deadlock == ["S1->S2", "S2->S3", "S3->S1"]
    assert pfc.deadlocks["port"].to_list() == pfc.deadlock
    assert (pfc.lost_frames, pfc.dropped_frames) == (0, 0)
    assert any(line.startswith("deadlock: S1->S2") for line in pfc.summary.active)
    assert str(pfc.summary).startswith("Stopped at 20 ms (run.duration).\nResult: deadlock at ")
    assert "deadlock S1->S2 S2->S3 S3->S1" in repr(pfc)


def test_a_verdict_states_what_was_checked(ring: Path, pfc: xoff.Run) -> None:
    v = pfc.verdict
    assert (v.answer, v.deadlock, v.promises, v.lost_frames, v.losses, v.why) == ("no", "found", "kept", 0, {}, [])
    assert not v and v.headline.endswith(", 0 frames lost")
    short: dict[str, Any] = {"run__duration": "1ms"}
    assert xoff.run(ring, **short).verdict
    blind = xoff.run(ring, run={"duration": "1ms", "deadlock_interval": "0us", "checks": False}).verdict
    assert (blind.deadlock, blind.promises) == ("not-watched", "not-checked")
    assert blind.why == ["run.deadlock_interval is 0us", "run.checks is false"]
    assert blind.headline == "deadlock not checked, 0 frames lost, invariants not checked"
    late = {"flow_control.xoff": "999KB", "flow_control.xon": "990KB", "run.duration": "3ms"}
    lossy = xoff.run(ring, late)
    assert lossy.lost_frames == lossy.dropped_frames == sum(lossy.verdict.losses.values()) > 0
    assert (lossy.verdict.answer, lossy.verdict.promises, lossy.verdict.violations >= lossy.lost_frames) == ("no", "violated", True)
    with pytest.warns(xoff.ScenarioWarning, match="xoff simulates nothing"):
        nothing = xoff.run(ring, run__duration="0us").verdict
    assert nothing.nothing_ran is not None and "no deadlock" not in nothing.headline


def test_unfinished_flows_count_in_the_slowdown(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    flow = '[[flow]]\nsrc = "{}"\ndst = "H1"\nsize = "{}"\n'
    file.write_text('[topology]\nkind = "star"\nhosts = 3\n[run]\nduration = "100us"\n' + flow.format("H0", "1500B") + flow.format("H2", "1GB"))
    run = xoff.run(file)
    together = run.summary.slowdown
    assert together is not None and (together.flows, together.censored) == (2, 1)
    assert str(together).startswith("at least: mean ")
    assert (run.verdict.incomplete, run.summary.incomplete) == (1, "1 of 2 flows")
    assert "Incomplete: 1 of 2 flows." in str(run.summary)
    assert run.flows["slowdown"].null_count() == 1


def test_keywords_replace_the_files_values(ring: Path) -> None:
    run = xoff.run(ring, flow_control="gfc-buffer", seed=2, out=None, **DOTTED)
    assert run.deadlock is None
    p = parameters(run)
    assert (p["flow_control.kind"], p["switch.discipline"], p["run.seed"]) == ("gfc-buffer", "round-robin", "2")
    # 5 Gb/s for each flow, once the queues have settled.
    rates = run.rates.filter(pl.col("flow").is_not_null() & (pl.col("time_ps") > 10e9))
    mean = rates.group_by("flow").agg(pl.col("rate_bps").mean())["rate_bps"]
    assert mean.to_list() == pytest.approx([5e9] * 3, rel=0.02)


def test_every_spelling_of_an_override_means_the_same(ring: Path) -> None:
    short: dict[str, Any] = {"run__duration": "1ms"}
    hashes = {
        xoff.run(ring, switch__discipline="round-robin", **short).result_hash,
        xoff.run(ring, **DOTTED, **short).result_hash,
        xoff.run(ring, {"switch.discipline": "round-robin"}, **short).result_hash,
        xoff.run(ring, switch={"discipline": "round-robin"}, flow_control=None, **short).result_hash,
    }
    assert len(hashes) == 1


def test_either_engine_gives_the_same_result(ring: Path) -> None:
    short: dict[str, Any] = {"run__duration": "1ms"}
    windows, events = xoff.run(ring, engine="windows", **short), xoff.run(ring, engine="events", **short)
    assert windows.manifest["engine"] == "windows"
    assert (events.manifest["engine"], windows.manifest["engine_because"]) == ("events", None)
    assert windows.result_hash == events.result_hash
    with pytest.raises(ValueError, match="there is no 'window' .expected 'auto', 'windows' or 'events'"):
        xoff.run(ring, engine="window")  # type: ignore[arg-type]


def test_an_empty_mapping_is_refused(ring: Path) -> None:
    """No key of it could be misspelt."""
    with pytest.raises(ValueError, match="switch.bufferr: an empty mapping sets nothing"):
        xoff.run(ring, {"switch.bufferr": {}})


def test_numbers_flags_and_lists_are_pythons_own(ring: Path) -> None:
    run = xoff.run(ring, topology__switches=3, run={"duration": "1ms", "checks": False}, probes__queues=["S1->S2"])
    assert parameters(run)["run.checks"] == "false"
    assert set(run.queues["port"].to_list()) == {"S1->S2", "S2->S1"}


def test_a_kind_may_be_set_where_the_file_has_no_such_section(ring: Path) -> None:
    run = xoff.run(ring, detection="none", run__duration="1ms")
    assert parameters(run)["detection.kind"] == "none"


def test_columns_and_types(pfc: xoff.Run) -> None:
    name = pl.Categorical()
    queues = {"time_ps": pl.UInt64, "port": name, "kind": name, "priority": pl.UInt8, "bytes": pl.UInt64}
    assert dict(pfc.queues.schema) == queues
    rates = {"priority": pl.UInt8, "flow": pl.UInt64, "rate_bps": pl.UInt64, "source": name}
    assert dict(pfc.rates.schema) == {"time_ps": pl.UInt64, "port": name, **rates}
    assert pfc.flows.schema["slowdown"] == pl.Float64
    assert pfc.pauses.columns == ["port", "priority", "start_ps", "end_ps", "cause"]
    assert pfc.control.columns == ["time_ps", "port", "priority", "direction", "message", "value"]
    assert (pfc.flows.height, pfc.ports.height) == (3, 12)
    assert pfc.queues.height > 1000 and pfc.rates.height > 1000 and pfc.control.height > 100
    assert pfc.parameters.columns == ["path", "value", "origin", "source"]
    with pytest.raises(ValueError, match="there is no table 'queue'"):
        pfc.frame("queue")


def test_frames_share_the_memory_of_the_run(pfc: xoff.Run) -> None:
    def addresses(frame: pl.DataFrame, column: str) -> list[int]:
        chunks = frame[column].get_chunks()
        return [c.to_numpy(allow_copy=False).__array_interface__["data"][0] for c in chunks]

    # Two frames from two streams: had either been copied, they would not lie at the same place.
    one, two = pfc.frame("rates"), pfc.frame("rates")
    assert addresses(one, "rate_bps") == addresses(two, "rate_bps")
    assert addresses(one, "time_ps") == addresses(two, "time_ps")


def test_frames_outlive_their_run(ring: Path) -> None:
    queues = xoff.run(ring, run__duration="1ms").queues
    assert queues["time_ps"].max() == 1_000_000_000


def test_a_folder_gives_the_same_run(ring: Path, tmp_path: Path, pfc: xoff.Run) -> None:
    written = xoff.run(ring, out=tmp_path / "ring")
    read = xoff.open(tmp_path / "ring")
    assert written.result_hash == read.result_hash == pfc.result_hash
    assert read.manifest == written.manifest
    assert (read.deadlock, read.summary) == (pfc.deadlock, pfc.summary)
    for table in ("flows", "queues", "rates", "control", "deadlocks", "pauses", "ports", "causes", "states", "marks", "cnms", "storms", "ranks"):
        assert_frame_equal(read.frame(table), pfc.frame(table))
    peak = read.scan("queues").filter(pl.col("kind") == "ingress").select(pl.col("bytes").max()).collect().item()
    assert peak == pfc.queues.filter(pl.col("kind") == "ingress")["bytes"].max()


def test_states_and_marks_of_ports() -> None:
    tcd = Path(__file__).parents[2] / "scenarios" / "mechanisms" / "tcd.toml"
    run = xoff.run(tcd, probes__states=["S2->H6", "S1->S2"], probes__marks=["S2->H6", "S1->S2"])
    between = run.states.filter(pl.col("port") == "S1->S2").sort("time_ps")
    assert between["state"].to_list() == ["congestion", "undetermined"]  # 50 Gb/s over 40 Gb/s, until the first pause
    paused = (pl.col("port") == "S1->S2") & (pl.col("time_ps") >= between["time_ps"][1])
    assert run.marks.filter(paused)["mark"].unique().to_list() == ["ue"]
    marks = run.marks["mark"].cast(pl.String)
    assert ((marks == "ce").sum(), (marks == "ue").sum()) == (run.ports["marked"].sum(), run.ports["marked_ue"].sum())


def test_the_command_line_gives_the_same_result(ring: Path, tmp_path: Path) -> None:
    done = command("run", ring, "--out", tmp_path, "--set", "flow_control=cbfc", "--seed", 7, "--json")
    assert done.returncode == 0, done.stderr
    run = xoff.run(ring, flow_control="cbfc", seed=7)
    assert json.loads(done.stdout)["result_hash"] == run.result_hash
    assert_frame_equal(xoff.open(tmp_path).queues, run.queues)


def test_the_command_has_the_same_exit_codes(ring: Path, tmp_path: Path) -> None:
    assert command("--version").stdout.strip().split(" (")[0] == f"xoff {xoff.__version__}"
    assert command("run", tmp_path / "none.toml", "--out", tmp_path).returncode == 2
    assert command("nonsense").returncode == 2
    assert command("run", ring, "--out", tmp_path / "pfc").returncode == 1, "a deadlock"
    assert command("run", ring, "--out", tmp_path / "pfc", "--allow", "deadlock").returncode == 0


def test_a_condition_that_does_not_hold_is_a_warning(ring: Path) -> None:
    with pytest.warns(xoff.ScenarioWarning, match=r"B_m \+ 2 MTU <= buffer") as caught:
        run = xoff.run(ring, flow_control={"kind": "gfc-buffer", "bm": "1MB"}, run__duration="100us")
    assert caught[0].filename == __file__
    assert any("B_m + 2 MTU" in warning for warning in run.summary.warnings)


def test_a_scheduled_fabric_runs_as_a_network_does() -> None:
    hotspots = Path(__file__).parents[2] / "scenarios" / "fabric" / "hotspots.toml"
    run = xoff.run(hotspots, run__duration="40us", run__warm_up="10us", admission="implicit")
    assert parameters(run)["admission.kind"] == "implicit"
    hot = run.fabric_ports.filter(pl.col("load") == "hotspot")
    assert hot["port"].cast(str).to_list() == [f"P{i}" for i in range(8, 16)]
    assert run.windows["cold_bytes"].sum() > 0 and run.deadlock is None
    with pytest.raises(xoff.RunError, match="no table 'flows'"):
        _ = run.flows


def test_an_old_key_is_warned_of(ring: Path) -> None:
    with pytest.warns(xoff.ScenarioWarning, match="write 'deadlock_interval' instead of 'watch'"):
        run = xoff.run(ring, run={"duration": "1ms", "watch": "0us"})
    assert run.verdict.deadlock == "not-watched"


def test_a_run_goes_to_other_processes(ring: Path) -> None:
    run = xoff.run(ring, run__duration="3ms")
    assert run.flows.height == 3
    for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert other.verdict.headline == run.verdict.headline and other.tables == run.tables and other.deadlock == run.deadlock
        for name in run.tables:
            assert other.frame(name).equals(run.frame(name)), name
        assert other.explain("S1->S2", "2.9ms").headline == run.explain("S1->S2", "2.9ms").headline
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        assert processes.submit(xoff.run, ring, run__duration="3ms").result().result_hash == run.result_hash

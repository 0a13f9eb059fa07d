"""Sweeps: one row for each run."""

import time
from pathlib import Path

import polars as pl
import pytest
import xoff
from conftest import interrupt_soon
from polars.testing import assert_frame_equal

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")


def test_one_row_for_each_combination(ring: Path, pfc: xoff.Run) -> None:
    frame = xoff.sweep(ring, {"flow_control": ["pfc", "gfc-buffer"], "seed": range(2)})
    assert frame.select("flow_control", "seed").rows() == [("pfc", 0), ("pfc", 1), ("gfc-buffer", 0), ("gfc-buffer", 1)]
    assert frame["dropped_frames"].to_list() == frame["lost_frames"].to_list() == [0] * 4
    assert frame["answer"].to_list() == ["no", "no", "yes", "yes"]
    assert frame.schema["deadlock"] == pl.List(pl.String)
    assert frame["deadlock"][1].to_list() == pfc.deadlock
    assert frame["deadlock"].is_null().to_list()[2:] == [True, True]
    assert frame["result_hash"][1] == pfc.result_hash


def test_workers_change_no_result_and_measures_are_columns(ring: Path, tmp_path: Path) -> None:
    grid = {"switch.discipline": ["fifo", "round-robin"], "flow_control": ["pfc", "cbfc"]}

    def peak(run: xoff.Run) -> dict[str, object]:
        return {"queue_bytes_max": run.ports["ingress_bytes_max"].max()}

    one = xoff.sweep(ring, grid, measure=peak, run__duration="2ms")
    two = xoff.sweep(ring, grid, measure=peak, run__duration="2ms", workers=2, out=tmp_path)
    assert_frame_equal(one.drop("wall_seconds"), two.drop("wall_seconds"))
    assert one["queue_bytes_max"].min() > 0  # type: ignore[operator]
    assert xoff.open(tmp_path / "0003").result_hash == one["result_hash"][3]


def test_a_wrong_value_names_its_run(ring: Path) -> None:
    with pytest.raises(xoff.ScenarioError, match="unknown kind 'pfcc'") as e:
        xoff.sweep(ring, {"flow_control": ["pfc", "pfcc"], "seed": [1]}, run__duration="100us")
    assert e.value.__notes__ == ["in the run with flow_control='pfcc', seed=1"]
    with pytest.raises(TypeError, match=r"expected a list of values, such as \['pfc'\]"):
        xoff.sweep(ring, {"flow_control": "pfc"})


def test_an_interrupt_ends_the_sweep(ring: Path) -> None:
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        xoff.sweep(ring, {"seed": range(100)}, flow_control="none", run__duration="1000s", probes__interval="1ms", workers=2)
    assert time.monotonic() - started < 20

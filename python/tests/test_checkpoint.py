"""Runs that are stopped and go on, and copies that go on with other settings."""

from pathlib import Path

import pytest

import xoff

RING = {"run.duration": "300ms", "flow_control": "gfc-buffer", "switch.discipline": "round-robin", "run.fast_forward": "off", "run.checkpoint": "10ms"}


class Enough(Exception):
    """Ends a run from its progress function."""


def stop(progress: xoff.Progress) -> None:
    raise Enough


def test_a_run_that_was_stopped_goes_on_to_the_same_hash(ring: Path, tmp_path: Path) -> None:
    out = tmp_path / "ring"
    whole = xoff.run(ring, RING, progress=False)
    with pytest.raises(Enough):
        xoff.run(ring, RING, out=out, progress=stop)
    assert xoff.open(out).verdict.answer == "interrupted"
    again = xoff.resume(out, progress=False)
    assert (again.result_hash, again.folder) == (whole.result_hash, out)
    assert again.queues.equals(whole.queues) and again.flows.equals(whole.flows)
    with pytest.raises(xoff.ScenarioError, match="is complete: there is nothing to resume"):
        xoff.resume(out)


def test_a_fork_is_a_run_with_the_change_from_its_start(ring: Path, tmp_path: Path) -> None:
    change = {"failure[0].link": "S1-S2", "failure[0].at": "20ms"}
    base = xoff.run(ring, RING, out=tmp_path / "base", progress=False)
    fork = xoff.fork(base, "20ms", change, out=tmp_path / "fork", progress=False)
    assert fork.result_hash == xoff.run(ring, {**RING, **change}, progress=False).result_hash != base.result_hash
    with pytest.raises(xoff.ScenarioError, match="never reached 9 s: it ended at"):
        xoff.fork(base, "9s", out=tmp_path / "late")
    with pytest.raises(xoff.ScenarioError, match="flow_control.kind cannot change at 20 ms"):
        xoff.fork(base, 20_000_000_000, flow_control="cbfc", out=tmp_path / "other")
    with pytest.raises(ValueError, match="no checkpoints"):
        xoff.fork(xoff.run(ring, RING, progress=False), "20ms", out=tmp_path / "memory")

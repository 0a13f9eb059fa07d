"""Numbers are taken as they are or rejected: never cut off, rounded, or taken for something else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xoff
from xoff import lab
from xoff._numbers import shown

HUGE = 10**5000
"""Python does not write it as digits."""


@pytest.mark.parametrize("value", [2.7, -0.5, True, float("nan"), float("inf"), "1", -1, 2**64, HUGE, [1]], ids=shown)
@pytest.mark.parametrize(
    "call",
    [
        lambda ring, n: xoff.run(ring, seed=n),
        lambda ring, n: xoff.run(ring, threads=n),
        lambda ring, n: xoff.check("ring", seed=n),
        lambda ring, n: xoff.check("ring", fail_any=n),
        lambda ring, n: xoff.check("ring", sets_max=n),
        lambda ring, n: xoff.fork("out", "1ms", out="forked", threads=n),
        lambda ring, n: xoff.explain(ring, "S1->S2", "1ms", priority=n),
        lambda ring, n: xoff.import_network("networkx", "net.json", out="net.toml", hosts_per_node=n),
        lambda ring, n: xoff.sweep({"scenario": str(ring)}, workers=n),
    ],
)
def test_a_number_that_is_none_is_rejected(ring: Path, call: Callable[[Path, Any], object], value: object) -> None:
    # Before: seed 2.7 ran seed 2, and seed -0.5 seed 0.
    with pytest.raises((TypeError, ValueError), match=r"expected (a whole number|[\d,]+ to [\d,]+), not ") as e:
        call(ring, value)
    assert len(str(e.value)) < 200


@pytest.mark.parametrize("value", [float("nan"), float("inf"), HUGE], ids=shown)
def test_a_setting_is_finite(ring: Path, value: float) -> None:
    with pytest.raises(ValueError, match="finite|too large"):
        xoff.run(ring, switch__buffer=value)


@pytest.mark.parametrize("bins", [0, -1, 10**9, 2.5, True, [0, 2.5], [True], range(2000)])
def test_bins_are_whole_and_few(pfc: xoff.Run, bins: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="bins: expected "):
        pfc.slowdown(bins)


def test_statistics_are_those_of_sweeps() -> None:
    # 30 degrees of freedom: 2.042, not the 2.086 of 20.
    mean = lab.Mean.of([0.0, 1.0] * 15 + [0.5])
    half = 2.0423 * (sum((v - 0.5) ** 2 for v in [0.0, 1.0] * 15) / 30 / 31) ** 0.5
    assert mean.high - mean.mean == pytest.approx(half, rel=1e-4)
    assert lab.Share(3, 3).interval() == (pytest.approx(0.4385, abs=1e-3), 1.0)
    assert lab.quantile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_no_failure_at_all_is_no_number_of_failures() -> None:
    with pytest.raises(ValueError, match="fail_any: expected 1 to"):
        xoff.check("fat-tree", fail_any=0)

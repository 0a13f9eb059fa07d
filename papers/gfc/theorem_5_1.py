"""Theorem 5.1: time-based GFC, a fluid that is sampled once per period."""

from typing import Any

from xoff.lab import Results, theory

CASES = {
    "10 Gb/s, CEE": (10, 7_400, 52_400),
    "10 Gb/s, InfiniBand": (10, 11_400, 52_400),
    "40 Gb/s, InfiniBand": (40, 6_600, 13_100),
    "100 Gb/s, InfiniBand": (100, 5_640, 5_243),
    "the testbed": (10, 90_000, 52_400),
}
"""Link rate [Gb/s], tau [ns], T [ns]."""
DRAWN = (0.2, 0.5, 0.8, 1.0, 1.3, 1.72, 2.0, 2.4)
"""tau/T at which the figure shows the onset."""


def at(r: Results) -> dict[str, dict[str, float]]:
    """The paper's bound on B_m - B_0, the overshoot with it, the exact bound, and where 1 KB of overshoot begins [bytes]."""

    def of(gbps: int, tau: int, period: int) -> dict[str, float]:
        loop = gbps * 10**9, tau * 1000, period * 1000
        printed, exact = theory.gfc_time_bounds(*loop)
        over, visible = theory.gfc_time_overshoot(*loop, printed), theory.gfc_time_critical(*loop, 1e3)
        # The bound rounds up to a byte: what is below half a byte is rounding.
        return {"ratio": tau / period, "printed": printed, "over": over, "exact": exact, "visible": visible}

    return {name: of(*case) for name, case in CASES.items()}


def onset(d: float) -> float:
    """Buffer at which the sampled fluid begins to exceed B_m, by bisection [C T]; ``d``: tau/T."""
    low, high = 0.5, 12.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if theory.gfc_time_smallest_gap(middle, d, 0.0) < 0 else (low, middle)
    return high


def onsets(r: Results) -> dict[float, float]:
    return {d: onset(d) for d in DRAWN}


def needed_by_fluid(r: Results) -> float:
    return onset(90.0 / 52.4) * 10e9 / 8.0 * 52.4e-6


def over_508_kb(r: Results) -> float:
    return theory.gfc_time_overshoot(10**10, 90_000_000, 52_400_000, 508_000)


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Where": name,
            "tau/T": f"{of['ratio']:.3f}",
            "The paper's bound": of["printed"],
            "Overshoot at it": of["over"],
            "Exact bound": of["exact"],
            "1 KB of overshoot at": of["visible"],
        }
        for name, of in r.value("at").items()
    ]

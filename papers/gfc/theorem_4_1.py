"""Theorem 4.1: the delay equation of conceptual GFC, in units of C tau."""

from xoff.lab import Results, theory

DRAINS = (0.0, 0.1, 0.25, 0.5)
expected = {"2.5": 0.002, "2": 0.083, "1.5": 0.265, "1": 0.5}
"""Queue beyond B_m by (B_m - B_0) / (C tau)."""


def smallest_safe_gap(r: Results) -> float:
    return min(theory.gfc_smallest_gap(l, drain / 10) for drain in range(10) for l in (4.0, 4.5, 5.0))


def onset(r: Results) -> float:
    return theory.gfc_onset()


def overshoots(r: Results) -> dict[str, float]:
    return {l: theory.gfc_overshoot(float(l), 0.0) for l in expected}

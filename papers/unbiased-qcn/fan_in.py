"""Fig. 2: a fan-in with PAUSE only, with QCN at outputs, at inputs, and at both."""

from typing import Any

from xoff.lab import Mean, Results, Row, Runs, Share, units

from .scenes import (
    F5, PHASES, SETTLED, UNFAIR, cnms, fair, of_seeds, off_fair, overflows, phase_name, rate, rates, shares, spread, spreads, staggered,
    stuck, unfair, windows,
)  # fmt: skip

__all__ = ["UNFAIR", "overflows", "staggered", "stuck", "windows"]

FAIR = 1.05 / 0.95
"""Largest ratio of fastest to slowest flow if each is within 5 % of the fair share, the limit of Fig. 2c."""
NUMBERS = list(range(len(PHASES)))


def phases(r: Results) -> list[dict[str, Any]]:
    """Of the three phases."""
    return [
        {
            "whole": f"{start} to {stop} ms",
            "name": phase_name(p),
            "fair": fair(p),
            "farthest": _farthest([s / fair(p) for row in r.runs for s in shares(row, p)]) * fair(p),
            "variation": min(_variation(row, f, start + SETTLED, stop) for row in r.runs for f in range(flows)),
            "mean": Mean.of(s for row in r.runs for s in shares(row, p)).mean,
            "spread": Mean.of(spread(shares(row, p)) for row in r.runs),
            "unfair": unfair(r.runs, p),
            "within": Mean.of(_within(row, p) for row in r.runs).mean,
        }
        for p, (start, stop, flows) in enumerate(PHASES)
    ]


def _farthest(ratios: list[float]) -> float:
    worst = 1.0
    for ratio in ratios:
        worst = ratio if abs(ratio - 1) > abs(worst - 1) else worst
    return worst


def _variation(row: Row, flow: int, start: float, stop: float) -> float:
    """Standard deviation of the rate in windows of 0.5 ms, as a part of the mean."""
    points = rates(row, flow)
    of = points.filter((points["time_ps"] > start * 1e9) & (points["time_ps"] <= stop * 1e9))["y"].to_list()
    mean = sum(of) / len(of)
    return float((sum((v - mean) * (v - mean) for v in of) / len(of)) ** 0.5 / mean)


def _within(row: Row, phase: int) -> float:
    """The first stretch of 5 ms after a change from which on every flow stays within 5 % of its fair share [ms]."""
    start, stop, flows = PHASES[phase]
    bad = [any(abs(rate(row, f, at, at + 5) / fair(phase) - 1) > 0.05 for f in range(flows)) for at in range(start, stop, 5)]
    return max((5.0 * (i + 1) for i, is_bad in enumerate(bad) if is_bad), default=0.0)


# ---- sums over the seeds --------------------------------------------------------------------------------------------------------


def seeds(r: Results) -> int:
    return len(r.runs)


def stops(r: Results) -> dict[str, float]:
    """Mean of each ``[[run]]``."""
    return {name: of_seeds(runs, lambda row: row["stops"]).mean for name, runs in r.named.items()}


def mean_spread(r: Results) -> dict[str, Mean]:
    return {name: Mean.of(spreads(runs)) for name, runs in r.named.items()}


def most_spread(r: Results) -> float:
    return max(spreads(r.runs))


def over_inputs(r: Results) -> float:
    return mean_spread(r)[""].mean / mean_spread(r)["inputs"].mean


def over_outputs(r: Results) -> Mean:
    return mean_spread(r)[""].over(mean_spread(r)["outputs"])


def slowest_flows(r: Results) -> int:
    """Flows that are the slowest of the first phase in some seed."""
    of = [shares(row, 0) for row in r.runs]
    return len({s.index(min(s)) for s in of})


def all_cnms(r: Results) -> dict[str, float]:
    return {name: of_seeds(runs, lambda row: sum(cnms(row, f) for f in range(5))).mean for name, runs in r.named.items()}


# ---- f5 -------------------------------------------------------------------------------------------------------------------------


def f5_soon(r: Results) -> Mean:
    return of_seeds(r.runs, lambda row: rate(row, F5, 110, 120))


def f5_over_slowest(r: Results) -> Mean:
    return Mean.of(_f5_over_slowest(r.runs))


def f5_most(r: Results) -> float:
    return max(_f5_over_slowest(r.runs))


def _f5_over_slowest(runs: Runs) -> list[float]:
    of = [shares(row, 1) for row in runs]
    return [s[F5] / min(s[:F5]) for s in of]


def apart(r: Results) -> str:
    """Seeds and phases that are unfair, by the distance between the starts of flows."""
    of = {case: spreads(r["apart"].where(case=case)) for case in dict.fromkeys(r["apart"].column("case"))}
    return ", ".join(f"within {case} {Share(sum(s >= UNFAIR for s in all_), len(all_))}" for case, all_ in of.items())


# ---- QCN at inputs ----------------------------------------------------------------------------------------------------------------


def off(r: Results) -> float:
    return off_fair(r.runs)


def pause_time(r: Results) -> float:
    """Of hosts, relative to PAUSE only."""
    own, paused = (of_seeds(runs, lambda row: row["stopped_ps"]).mean for runs in (r.runs, r["paused"]))
    return own / paused


# ---- table ----------------------------------------------------------------------------------------------------------------------


def table(r: Results) -> list[dict[str, Any]]:
    """Shares of each phase, a row for each seed."""
    return [_row(row, p) for row in r.runs[:10] for p in NUMBERS]


def table_of_first(r: Results) -> list[dict[str, Any]]:
    return [_row(r.runs[0], p) for p in NUMBERS]


def _row(row: Row, phase: int) -> dict[str, Any]:
    of = shares(row, phase)
    return {
        "Seed": str(row["seed"]),
        "Phase": phase_name(phase),
        **{f"f{f + 1}": units.rate(of[f]) if f < len(of) else "" for f in range(5)},
        "Fastest over slowest": f"{spread(of):.2f}",
        "STOPs": str(row["stops"]) if phase == 0 else "",
    }

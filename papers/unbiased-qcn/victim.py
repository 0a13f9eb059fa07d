"""Figs. 4 and 5: f1 and a victim share an input."""

from collections.abc import Callable
from typing import Any

from xoff.lab import Mean, Results, Row, Runs, units

from .scenes import F1, F6, PHASES, SETTLED, cnms, fair, mean, of_seeds, overflows, phase_name, rate, settled, staggered, stuck, windows

__all__ = ["overflows", "staggered", "stuck", "windows"]

OFFERED = 7e9
"""Offered rate of the victim [bit/s]."""
NUMBERS = list(range(len(PHASES)))


def seeds(r: Results) -> dict[str, int]:
    return {name: len(runs) for name, runs in r.named.items()}


# ---- Fig. 4 ---------------------------------------------------------------------------------------------------------------------

SAMPLINGS = {"arrival": "arrival", "random": "random occupancy", "largest": "largest occupancy"}


def fast(r: Results) -> dict[str, dict[str, float]]:
    """The fast flow without a backlog, by sampling: its share of arrivals, of the buffer, and of CNMs, from 20 ms on."""
    return {case: _fast(r.runs.where(case=case)) for case in SAMPLINGS}


def _fast(runs: Runs) -> dict[str, float]:
    def total(question: Callable[[Row, int], float], flow: int) -> float:
        return sum(question(row, flow) for row in runs)

    def held(row: Row, flow: int) -> float:
        return mean(row, f"held_{flow}", 20, 300)

    def arrived(row: Row, flow: int) -> float:
        return rate(row, flow, 20, 300)

    def notices(row: Row, flow: int) -> float:
        return cnms(row, flow, 20, 300)

    arrivals, occupied, notified = (total(of, F6) / (total(of, F6) + total(of, F1)) for of in (arrived, held, notices))
    return {
        "arrivals": arrivals,
        "occupied": occupied,
        "notified": notified,
        "off_arrivals": notified - arrivals,
        "off_occupied": notified - occupied,
        "cnms": total(notices, F6) + total(notices, F1),
    }


def fast_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Sampling": SAMPLINGS[case],
            "f2's share of arrivals": of["arrivals"],
            "of the buffer": of["occupied"],
            "of CNMs": of["notified"],
            "CNMs": f"{of['cnms']:.0f}",
        }
        for case, of in fast(r).items()
    ]


# ---- Fig. 5 ---------------------------------------------------------------------------------------------------------------------


def ratio(runs: Runs, phase: int) -> Mean:
    """Of f6 to f1 in a phase."""
    return of_seeds(runs, lambda row: settled(row, F6, phase) / settled(row, F1, phase))


def of_flow(runs: Runs, flow: int, phase: int) -> Mean:
    return of_seeds(runs, lambda row: settled(row, flow, phase))


def phases(r: Results) -> dict[str, list[dict[str, Any]]]:
    """Of each ``[[run]]``."""
    return {name: [_phase(runs, p) for p in NUMBERS] for name, runs in r.named.items()}


def _phase(runs: Runs, p: int) -> dict[str, Any]:
    f6 = [settled(row, F6, p) for row in runs]
    return {
        "name": phase_name(p),
        "f1": of_flow(runs, F1, p).mean,
        "f6": of_flow(runs, F6, p),
        "f6_least": min(f6),
        "f6_most": max(f6),
        "ratio": ratio(runs, p),
        "in_proportion": fair(p) * 7 / 3,
    }


def _farthest(runs: Runs, flow: int, expected: Callable[[int], float]) -> tuple[float, float]:
    """Rate of a flow that is farthest from its expected value, over all seeds and phases, and that value."""
    worst = (1.0, 1.0)
    for row in runs:
        for p in NUMBERS:
            one = (settled(row, flow, p), expected(p))
            worst = one if abs(one[0] / one[1] - 1) > abs(worst[0] / worst[1] - 1) else worst
    return worst


def victim_farthest(r: Results) -> dict[str, float]:
    return {name: _farthest(runs, F6, lambda _: OFFERED)[0] for name, runs in r.named.items()}


def culprit_farthest(r: Results) -> dict[str, float]:
    """Over its fair share."""
    of = {name: _farthest(runs, F1, fair) for name, runs in r.named.items()}
    return {name: rate / expected for name, (rate, expected) in of.items()}


def proportion_farthest(r: Results) -> float:
    rate, expected = _farthest(r.runs, F6, lambda p: fair(p) * 7 / 3)
    return rate / expected


def bias(runs: Runs) -> float:
    """CNMs per frame of f6 over those of f1, once settled: 1 if they go by arrivals."""
    sums = {F1: [0.0, 0.0], F6: [0.0, 0.0]}
    for row in runs:
        for start, stop, _ in PHASES:
            for f, of in sums.items():
                of[0] += cnms(row, f, start + SETTLED, stop)
                of[1] += rate(row, f, start + SETTLED, stop) * (stop - start - SETTLED)
    return (sums[F6][0] / sums[F6][1]) / (sums[F1][0] / sums[F1][1])


def biases(r: Results) -> dict[str, float]:
    return {name: bias(runs) for name, runs in r.named.items()}


def rows(runs: dict[str, Runs], first: str) -> list[dict[str, Any]]:
    return [_table_row(name, of, p, first) for name, of in runs.items() for p in NUMBERS]


def _table_row(name: str, runs: Runs, p: int, first: str) -> dict[str, Any]:
    start, stop, _ = PHASES[p]
    f1, f6 = of_flow(runs, F1, p).mean, of_flow(runs, F6, p).mean

    def notified(flow: int) -> str:
        return f"{of_seeds(runs, lambda row: cnms(row, flow, start + SETTLED, stop)).mean:.1f}"

    return {
        first: name,
        "Phase": phase_name(p),
        "f1": f1,
        "f6": f6,
        "f6/f1": f"{f6 / f1:.2f}",
        "CNMs to f1": notified(F1),
        "to f6": notified(F6),
        "STOPs of the input": f"{of_seeds(runs, lambda row: row[f'stops_{F1}']).mean:.0f}" if p == 0 else "",
    }


def table(r: Results) -> list[dict[str, Any]]:
    return rows({name or "PAUSE only": runs for name, runs in r.named.items()}, "Sampling")


# ---- Fig. 5(a) --------------------------------------------------------------------------------------------------------------------

VARIANTS: dict[str, dict[str, Any]] = {
    **{f"frames of {n} B": {"hosts.frame": f"{n}B"} for n in (200, 500, 1_000, 1_522, 4_000)},
    "gaps of 0 to twice their length, at random": {"hosts.gap_jitter": 1.0},
    "the same, and frames of 200 B": {"hosts.gap_jitter": 1.0, "hosts.frame": "200B"},
    "f1 and f6 offer 10 Gb/s each": {"host_flow[0].rate": "10Gbps", "host_flow[5].rate": "10Gbps"},
    "f1 and f6 offer 5 Gb/s each": {"host_flow[0].rate": "5Gbps", "host_flow[5].rate": "5Gbps"},
    "intervals that do not shrink": {"congestion_points.shrinking": False},
    "T = 15 ms": {"reaction_point.timer": "15ms"},
}
"""Of the scene under arrival sampling, to find what the victim's rate depends on."""


def variant_cases(r: Results) -> dict[str, dict[str, Any]]:
    return VARIANTS


def variant(r: Results) -> dict[str, dict[str, str]]:
    """Ratio of f6 to f1 in the second phase, and in brackets that of their CNMs per byte, on both fabrics."""

    def words(runs: Runs) -> str:
        return f"{ratio(runs, 1).mean:.2f} ({bias(runs):.2f})"

    return {name: {fabric: words(r[f"variants, {fabric}"].where(case=name)) for fabric in ("ideal", "rack")} for name in VARIANTS}


def variants_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Fabric": fabric,
            "Variant": name,
            "f6/f1, first phase": ratio(runs, 0).words("{:.2f}".format),
            "second": ratio(runs, 1).words("{:.2f}".format),
            "third": ratio(runs, 2).words("{:.2f}".format),
            "CNMs per byte of f6, relative to f1": f"{bias(runs):.2f}",
        }
        for fabric, of in (("ideal switch", "variants, ideal"), ("Fig. 1", "variants, rack"))
        for name in VARIANTS
        for runs in [r[of].where(case=name)]
    ]


def fabrics_table(r: Results) -> list[dict[str, Any]]:
    others = r["others on the rack"]
    all_ = {"ideal switch, arrival": r["ideal"], "fabric of Fig. 1, arrival": r["rack"]}
    return rows(all_ | {f"fabric of Fig. 1, {case}": others.where(case=case) for case in ("PAUSE only", "random", "largest")}, "Fabric, sampling")


# ---- Fig. 5(d) --------------------------------------------------------------------------------------------------------------------


def notified(r: Results) -> dict[str, dict[str, int]]:
    """CNMs of all seeds."""
    return {name: {f"f{f + 1}": sum(cnms(row, f, 0, 300) for row in runs) for f in (F1, F6)} for name, runs in r.named.items()}


def victims_share(r: Results) -> float:
    """Of the CNMs of its input under random sampling."""
    of = notified(r)["random"]
    return of["f6"] / (of["f1"] + of["f6"])


def limited(r: Results) -> dict[str, int]:
    """Windows at whose end f6 has a limiter."""
    return {name: sum(len(_limits(row)) for row in runs) for name, runs in r.named.items()}


def limited_share(r: Results) -> float:
    return limited(r)["random"] / sum(len(row["windows"]) for row in r["random"])


def lowest_limit(r: Results) -> int | None:
    return min((limit for row in r["random"] for limit in _limits(row)), default=None)


def _limits(row: Row) -> list[int]:
    return [limit for limit in row["windows"][f"limit_{F6}"] if limit]


def rate_words(r: Results) -> dict[str, dict[str, str]]:
    """Mean rates of the three phases."""

    def of(runs: Runs, flow: int) -> str:
        return ", ".join(units.rate(of_flow(runs, flow, p).mean) for p in NUMBERS)

    return {name: {"f1": of(runs, F1), "f6": of(runs, F6)} for name, runs in r.named.items()}

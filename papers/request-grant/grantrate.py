"""Section 2.3, Fig. 5: the rate of grants under implicit rate regulation."""

from __future__ import annotations

from xoff.lab import Mean, Results, Runs

from .metrics import largest, mean, outcome, queues, quick, ratio, values, words

__all__ = ["outcome", "quick"]

WORKLOADS = ("40 B, bursty", "9000 B")
RATES = {"100Gbps": 1.0, "105Gbps": 1.05, "109Gbps": 1.09, "110Gbps": 1.1}
"""L_G over L."""


def at(r: Results, workload: str, rate: str) -> Runs:
    return r[workload].where({"admission.grant_rate": rate})


def more(r: Results) -> dict[str, dict[str, Mean]]:
    """Throughput of hotspots beyond that at L_G = L, seed by seed."""

    def less(workload: str, rate: str) -> Mean:
        of, slowest = (values(at(r, workload, one), "hot") for one in (rate, "100Gbps"))
        return Mean.of(a - b for a, b in zip(of, slowest, strict=True))

    return {workload: {rate: less(workload, rate) for rate in RATES} for workload in WORKLOADS}


def slower(r: Results) -> dict[str, dict[str, Mean]]:
    """Mean delay of the others over that at L_G = L."""
    return {workload: {rate: ratio(at(r, workload, rate), at(r, workload, "100Gbps"), "delay") for rate in RATES} for workload in WORKLOADS}


def in_words(r: Results) -> str:
    def one(workload: str, rate: str, of: float) -> str:
        runs = at(r, workload, rate)
        return f"{mean(runs, 'hot').mean:.3f} and {mean(runs, 'delay').mean:.0f} t_min at {of:g} L"

    return ". ".join(f"{workload}: " + ", ".join(one(workload, rate, of) for rate, of in RATES.items()) for workload in WORKLOADS)


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Workload": workload,
            "L_G/L": f"{of:g}",
            "Hotspots": words(mean(runs, "hot"), 3),
            "Others": words(mean(runs, "carried"), 3),
            "Mean delay": words(mean(runs, "delay"), 0),
            "99th percentile": f"{mean(runs, 'delay_p99').mean:.0f}",
            "Most grants held": f"{largest(runs, 'grants_max'):.0f}",
            "Longest queue by stage": queues(runs),
        }
        for workload in WORKLOADS
        for rate, of in RATES.items()
        for runs in [at(r, workload, rate)]
    ]

"""Hosts that know priorities only, as the network cards of the slides: what a switch holds of one flow, they hold of all."""

from typing import Any

from xoff.lab import Mean, Results, units

from .metrics import broken, seeds
from .mice import mean_time, mice

__all__ = ["broken", "mice", "seeds"]

ELEPHANTS = {"H2": "at H2, mice at H1", "H1": "at H1, like the mice"}
"""Source of the first elephant."""
BY_FLOW = "PFFC, by flow"
HOSTS = ["PFC", BY_FLOW, "PFFC, by priority"]


def by_seed(r: Results) -> dict[str, dict[str, list[float]]]:

    def of(src: str, case: str) -> list[float]:
        return [mean_time(row, "all") for row in r.runs.where({"flow[0].src": src}, case=case)]

    return {src: {case: of(src, case) for case in HOSTS} for src in ELEPHANTS}


def mean(r: Results) -> dict[str, dict[str, float]]:
    return {src: {case: Mean.of(times).mean for case, times in of.items()} for src, of in r.value("by_seed").items()}


def slower(r: Results) -> dict[str, dict[str, Mean]]:
    """Relative to hosts that pause flows."""
    return {src: {case: Mean.ratio(times, of[BY_FLOW]) for case, times in of.items()} for src, of in r.value("by_seed").items()}


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Elephant": ELEPHANTS[src],
            "Flow control, hosts": case,
            "Mean of all mice": Mean.of(times).words(units.time),
            "Over PFFC by flow": slower(r)[src][case].words("{:.2f}".format),
        }
        for src, of in r.value("by_seed").items()
        for case, times in of.items()
    ]

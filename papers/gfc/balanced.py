"""GFC in a network whose load balancing chooses for each frame: rates of a permutation next to an incast."""

from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, Runs, observe, units
from xoff.lab.observe import MS

from .metrics import NAMES, lost

__all__ = ["lost"]

FLOWS = 16
"""Flows of the permutation: the first ones."""
LAWS = {
    "ecmp": "ECMP",
    "spray-random": "random spraying",
    "spray-round-robin": "spraying in turn",
    "drill": "DRILL",
    "adaptive": "adaptive",
}
SCHEMES = ["pfc", "gfc-buffer", "gfc-time"]


def permutation(run: Run) -> dict[str, Any]:
    """Rates over the last 10 ms."""
    rates = observe.rates_at_end(run, 10 * MS)
    return {
        "mean": sum(rates[:FLOWS]) / FLOWS,
        "slowest": min(rates[:FLOWS]),
        "incast": sum(rates[FLOWS:]),
        "peak": max(run.ports["ingress_bytes_max"]),
        "messages": observe.total(run, "messages"),
        "deadlocks": observe.deadlocks(run),
        "lost": observe.lost(run),
    }


INCAST, NONE = "1GB", "1KB"
"""Bytes of each flow of the incast: for the whole run, or over at once."""


def of(r: Results, scheme: str, law: str, incast: str = INCAST) -> Runs:
    where = {"flow_control": scheme, "load_balancing": law, "workload[1].size": incast}
    return r.runs.where(**where)


def rate(r: Results) -> dict[str, dict[str, Mean]]:
    """Mean rate of a flow of the permutation, by flow control and law."""
    return {s: {law: Mean.of(of(r, s, law).column("mean")) for law in LAWS} for s in SCHEMES}


def gains(r: Results) -> dict[str, dict[str, dict[str, Mean]]]:
    """The same over that of ECMP, seed by seed, without the incast and next to it."""

    def gain(s: str, law: str, incast: str) -> Mean:
        pairs = zip(of(r, s, law, incast).column("mean"), of(r, s, "ecmp", incast).column("mean"), strict=True)
        return Mean.of([a / b for a, b in pairs])

    return {name: {s: {law: gain(s, law, incast) for law in LAWS} for s in SCHEMES} for name, incast in {"alone": NONE, "incast": INCAST}.items()}


def deadlocks(r: Results) -> int:
    return sum(r.runs.column("deadlocks"))


def seeds(r: Results) -> int:
    return len(set(r.runs.column("seed")))


def words(r: Results) -> str:
    def of_flow_control(s: str) -> str:
        parts = [f"{LAWS[law]} {gains(r)['alone'][s][law].words('{:.2f}x'.format)} alone, {gains(r)['incast'][s][law].words('{:.2f}x'.format)} next to the incast" for law in LAWS if law != "ecmp"]
        return f"{NAMES[s]}: {', '.join(parts)}"

    return "; ".join(of_flow_control(s) for s in SCHEMES)


def table(r: Results) -> list[dict[str, Any]]:
    def row(s: str, law: str) -> dict[str, Any]:
        runs, alone = of(r, s, law), of(r, s, law, NONE).column("mean")

        def mean(column: str) -> float:
            return float(sum(runs.column(column))) / len(runs)

        return {
            "Flow control": NAMES[s],
            "Load balancing": LAWS[law],
            "Without the incast": sum(alone) / len(alone),
            "Mean of a flow": mean("mean"),
            "Slowest flow": min(runs.column("slowest")),
            "Incast, all flows": mean("incast"),
            "Largest ingress": max(runs.column("peak")),
            "Control frames": f"{mean('messages'):.0f}",
        }

    return [row(s, law) for s in SCHEMES for law in LAWS]

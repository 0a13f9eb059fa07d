"""Fig. 7: an input-generated hotspot at 100 Gb/s."""

from typing import Any

from xoff.lab import Mean, Results, Runs, units

from .scenes import cnms, mean, of_seeds, overflows, rate, staggered, stuck, windows

__all__ = ["overflows", "staggered", "stuck", "windows"]

HOT = 6
"""Flows to the hotspot in the text: 100/6 = 16.6. The victim is the flow after them."""
VICTIM = HOT
SETTLED, END = 30, 60
"""From when on a run is settled, and its end [ms]."""
SIXTH = 100e9 / HOT
"""The share of a flow [bit/s]."""
KINDS: dict[str, dict[str, Any]] = {
    "PAUSE only": {"congestion_points": "none"},
    "arrival at inputs": {"congestion_points.placement": "input"},
    "random at inputs": {"congestion_points.placement": "input", "congestion_points.sampling": "random"},
    "random at inputs, keep-alive": {
        "congestion_points.placement": "input",
        "congestion_points.sampling": "random",
        "congestion_points.keep_alive": True,
    },
    "largest at inputs": {"congestion_points.placement": "input", "congestion_points.sampling": "largest"},
    "arrival at outputs": {"congestion_points.placement": "output"},
}
ARRIVAL = "arrival at inputs"


def cases(r: Results) -> dict[str, dict[str, Any]]:
    return KINDS


def other_cases(r: Results) -> dict[str, dict[str, Any]]:
    """In full runs arrival sampling has more seeds."""
    return {kind: own for kind, own in KINDS.items() if kind != ARRIVAL}


def of_kind(r: Results, fabric: str, kind: str) -> Runs:
    named = r["arrival"] if (fabric, kind) == ("rack", ARRIVAL) else r[fabric]
    return Runs([row for row in named if row["case"] == kind])


def settled(runs: Runs, flow: int) -> Mean:
    """Rate of a flow once settled, over all seeds [bit/s]."""
    return of_seeds(runs, lambda row: rate(row, flow, SETTLED, END))


def held(runs: Runs, series: str) -> float:
    """Mean of a buffer of the first flow, once settled [bytes]."""
    return of_seeds(runs, lambda row: mean(row, series, SETTLED, END)).mean


def victim(r: Results) -> dict[str, dict[str, Any]]:
    """Rate of the victim, by fabric and kind."""
    return {fabric: {kind: _victim(of_kind(r, fabric, kind)) for kind in KINDS} for fabric in ("rack", "ideal")}


def _victim(runs: Runs) -> dict[str, Any]:
    all_, over = [rate(row, VICTIM, SETTLED, END) for row in runs], settled(runs, VICTIM)
    return {"rate": over, "least": min(all_), "most": max(all_), "more": over.mean / SIXTH - 1}


def farthest(r: Results) -> Mean:
    """The flow to the hotspot that is farthest from its share, under random sampling."""
    runs = of_kind(r, "rack", "random at inputs")
    return max((settled(runs, f) for f in range(VICTIM)), key=lambda m: abs(m.mean - SIXTH))


def buffers(r: Results) -> dict[str, dict[str, float]]:
    """Means on the rack."""
    of = {name: of_kind(r, "rack", kind) for name, kind in (("inputs", "random at inputs"), ("outputs", "arrival at outputs"))}
    return {name: {"input": held(runs, "input_0"), "output": held(runs, "output_0")} for name, runs in of.items()}


def of_five(r: Results) -> float:
    return settled(r["five flows"], HOT - 1).mean


def table(r: Results) -> list[dict[str, Any]]:
    return [_row(name, kind, of_kind(r, fabric, kind)) for kind in KINDS for fabric, name in (("rack", "Fig. 1"), ("ideal", "ideal switch"))]


def _row(fabric: str, kind: str, runs: Runs) -> dict[str, Any]:
    each = [[rate(row, f, SETTLED, END) for f in range(VICTIM)] for row in runs]
    return {
        "Fabric": fabric,
        "QCN": kind,
        "f7": settled(runs, VICTIM).words(units.rate),
        "Slowest of f1 to f6": Mean.of(min(rates) for rates in each).mean,
        "Fastest": Mean.of(max(rates) for rates in each).mean,
        "Input of f1": held(runs, "input_0"),
        "Output": held(runs, "output_0"),
        "STOPs": f"{of_seeds(runs, lambda row: row['stops']).mean:.0f}",
        "CNMs to f7": f"{of_seeds(runs, lambda row: cnms(row, VICTIM)).mean:.1f}",
    }

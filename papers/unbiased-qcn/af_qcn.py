"""Beyond the paper: AF-QCN, which it sets itself apart from, in its scenes."""

from typing import Any

from xoff.lab import Mean, Results, Row, units

from .scenes import F1, F6, PHASES, cnms, of_seeds, overflows, settled, spreads, staggered, stuck, unfair, windows

__all__ = ["overflows", "staggered", "stuck", "windows"]

PLACES: dict[str, dict[str, str]] = {
    "outputs": {"congestion_points.placement": "output"},
    "inputs, arrival": {"congestion_points.placement": "input"},
    "inputs, random": {"congestion_points.placement": "input", "congestion_points.sampling": "random"},
}
# A kind takes no key that the scenario gives to another kind.
AF_QCN = {"congestion_points": "af-qcn", "congestion_points.setpoint": "60KB"}
KINDS = {f"{kind}, {place}": own | more for place, own in PLACES.items() for kind, more in (("QCN", {}), ("AF-QCN", AF_QCN))}


def cases(r: Results) -> dict[str, dict[str, str]]:
    return KINDS


def seeds(r: Results) -> int:
    return len(r["fan-in"].where(case="QCN, outputs"))


def spread(r: Results) -> dict[str, Mean]:
    """Ratio of fastest to slowest flow, by kind."""
    return {kind: Mean.of(spreads(r["fan-in"].where(case=kind))) for kind in KINDS}


def over(r: Results) -> dict[str, Mean]:
    """AF-QCN at outputs, relative to QCN."""
    of = r.value("spread")
    return {place: of["AF-QCN, outputs"].over(of[f"QCN, {place}"]) for place in PLACES}


def victim(r: Results) -> dict[str, Mean]:
    """Rate of the victim, mean of the phases."""

    def rate(row: Row) -> float:
        return sum(settled(row, F6, p) for p in range(len(PHASES))) / len(PHASES)

    return {kind: of_seeds(r["victim"].where(case=kind), rate) for kind in KINDS}


def table(r: Results) -> list[dict[str, Any]]:

    def notified(kind: str, flow: int) -> float:
        return of_seeds(r["victim"].where(case=kind), lambda row: cnms(row, flow, 0, 300)).mean

    return [
        {
            "Scheme": kind,
            "Fastest over slowest": of.words("{:.2f}".format),
            "Seeds at 1.3 and more, by phase": ", ".join(str(unfair(r["fan-in"].where(case=kind), p).of) for p in range(len(PHASES))),
            "STOPs": f"{of_seeds(r['fan-in'].where(case=kind), lambda row: row['stops']).mean:.0f}",
            "Victim": r.value("victim")[kind].words(units.rate),
            "CNMs to f1": f"{notified(kind, F1):.0f}",
            "to the victim": f"{notified(kind, F6):.1f}",
        }
        for kind, of in r.value("spread").items()
    ]

"""Exploration of Xoff_s and Xon_s: how much a flow must be allowed to leave in a switch for its link to be used."""

from typing import Any

from xoff.lab import Results, units

from .metrics import HOP, broken, outcome, port

__all__ = ["broken", "outcome"]

XOFF = [1_500, 3_000, 4_500, 6_000, 9_000, 12_000, 15_000, 18_500, 25_000, 37_000, 74_000, 120_000, 200_000]
"""Of the first exploration [bytes]."""
XOFF_OF_XON = 37_000
"""Of the second, and its Xon_s."""
XON = [0, 1_500, 3_000, 4_500, 6_000, 9_250, 12_000, 18_500, 27_750, 34_000, 35_500, 37_000]
QUICK_XON = [0, 3_000, 9_250, 18_500, 35_500, 37_000]
LINKS = {"one flow": 5e9, "two flows": 10e9}
"""Who sends, and the link of the receiver [bit/s]. What is checked is the first; two flows fill each other's gaps."""
SOURCES = {"none": "UDP", "tcp": "TCP"}
"""Sources that receive no feedback, and connections with a congestion window (CUBIC)."""


def xoff_cases(r: Results) -> dict[str, dict[str, str]]:
    return dict(_case(x, x // 2) for x in (XOFF if r.full else XOFF[::3]))


def xon_cases(r: Results) -> dict[str, dict[str, str]]:
    return dict(_case(XOFF_OF_XON, x) for x in (XON if r.full else QUICK_XON))


def _case(xoff: int, xon: int) -> tuple[str, dict[str, str]]:
    return f"{xoff} {xon}", {"flow_control.pffc.xoff_s": f"{xoff}B", "flow_control.pffc.xon_s": f"{xon}B"}


def explored(r: Results) -> list[dict[str, Any]]:
    """Every run: throughput at the receiver, highest fill of S2 behind S1, control frames from S2 to S1 in a second."""
    return [
        {
            "scene": scene,
            "source": source,
            "xoff": int(row["case"].split()[0]),
            "xon": int(row["case"].split()[1]),
            "share": row["total"] / link,
            "fill": port(row, "S1->S2", "ingress_bytes_max"),
            "frames": port(row, "S1->S2", "messages_sent") / row["simulated_seconds"],
        }
        for scene, link in LINKS.items()
        for kind, source in SOURCES.items()
        for row in r[scene].where(transport__kind=kind)
    ]


def _of_one_flow(r: Results, source: str) -> list[dict[str, Any]]:
    return [e for e in r.value("explored") if (e["scene"], e["source"]) == ("one flow", source)]


def by_xoff(r: Results) -> dict[str, dict[str, Any]]:
    found = {}
    for source in SOURCES.values():
        of = _of_one_flow(r, source)
        wide = [e for e in of if e["xoff"] >= 2 * HOP]
        found[source] = {
            "first": of[0],
            "last": of[-1],
            "least": min(e["share"] for e in wide),
            "slope": (wide[-1]["fill"] - wide[0]["fill"]) / (wide[-1]["xoff"] - wide[0]["xoff"]),
            "full": next((units.bytes(e["xoff"]) for e in of if e["share"] >= 0.99), "nowhere"),
        }
    return found


def by_xon(r: Results) -> dict[str, dict[str, Any]]:
    found = {}
    for source in SOURCES.values():
        of = {e["xon"]: e for e in _of_one_flow(r, source)}
        half, whole = of[XOFF_OF_XON // 2], of[XOFF_OF_XON]
        plateau = min(e["share"] for xon, e in of.items() if 2 * xon >= HOP)
        found[source] = {"zero": of[0], "half": half, "whole": whole, "plateau": plateau, "more": whole["frames"] / half["frames"]}
    return found


def least_of_two(r: Results) -> float:
    return float(min(e["share"] for e in r.value("explored") if e["scene"] == "two flows"))


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "": e["scene"],
            "Sources": e["source"],
            "Xoff_s": e["xoff"],
            "Xon_s": e["xon"],
            "Share of the link": e["share"],
            "Largest fill of S2 behind S1": e["fill"],
            "Control frames per second": f"{e['frames']:.0f}",
        }
        for e in r.value("explored")
    ]

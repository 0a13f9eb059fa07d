"""What a lossless network without deadlocks costs: PFC, both kinds of GFC, PFFC and BFC on the same switches."""

from typing import Any

from xoff.lab import Results, Row, units

from .metrics import broken, outcome, peak
from .metrics import messages as control_frames

__all__ = ["broken", "outcome"]

SCHEMES: dict[str, dict[str, Any]] = {
    "PFC": {"flow_control": "pfc"},
    "GFC, buffer-based": {"flow_control": "gfc-buffer"},
    "GFC, time-based": {"flow_control": "gfc-time"},
    "GFC, buffer-based, in turn": {"flow_control": "gfc-buffer", "switch.discipline": "round-robin"},
    "GFC, time-based, in turn": {"flow_control": "gfc-time", "switch.discipline": "round-robin"},
    "PFFC, 7 queues": {"flow_control": "pffc", "flow_control.queues": 7},
    "BFC": {"flow_control": "bfc"},
}
FLOWS = range(4)
"""Flows of the ring."""
STAGGERS = [0, 1, 5, 20, 50, 100, 200]
"""Flow i starts i times this later [us]."""
DATA = 1500
"""Length of a frame of data [bytes]."""
MESSAGE = 64
"""Length of a control frame [bytes]."""


def staggers(r: Results) -> list[int]:
    return STAGGERS if r.full else [0, 20]


def ring_cases(r: Results) -> dict[str, dict[str, Any]]:
    return {f"{name} / {us}": s | {f"flow[{i}].start": f"{i * us}us" for i in FLOWS} for name, s in SCHEMES.items() for us in staggers(r)}


def victim_cases(r: Results) -> dict[str, dict[str, Any]]:
    return SCHEMES


def _control(rows: list[Row]) -> float:
    """Bytes of control frames for each byte of data delivered."""
    data = sum(int(row["delivered"]) for row in rows) * DATA
    return sum(control_frames(row) for row in rows) * MESSAGE / data


def cost(r: Results) -> dict[str, dict[str, Any]]:
    """By scheme."""
    found = {}
    for name in SCHEMES:
        ring = [row for row in r["ring"] if row["case"].startswith(f"{name} /")]
        victim = r["victim"].row(case=name)
        found[name] = {
            "deadlocks": sum(row["deadlocks"] > 0 for row in ring),
            "starved": sum(row["deadlocks"] == 0 and row["slowest"] == 0 for row in ring),
            "slowest": min(row["slowest"] for row in ring),
            "mean": sum(row["total"] for row in ring) / len(ring) / len(FLOWS),
            "peak": max(peak(row) for row in ring),
            "control": _control(ring),
            "victim": victim["rate_2"],
            "victim_peak": peak(victim),
            "victim_control": _control([victim]),
        }
    return found


def runs_of_each(r: Results) -> int:
    return len(staggers(r))


def slowest(r: Results) -> str:
    return ", ".join(f"{name} {units.rate(of['slowest'])}" for name, of in cost(r).items())


def victims(r: Results) -> str:
    return ", ".join(f"{name} {units.rate(of['victim'])}" for name, of in cost(r).items())


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": name,
            "Deadlocks": str(of["deadlocks"]),
            "No deadlock, but a flow starves": str(of["starved"]),
            "Ring: slowest flow": of["slowest"],
            "Ring: mean of a flow": of["mean"],
            "Ring: largest ingress": of["peak"],
            "Ring: control per byte of data": of["control"],
            "Victim": of["victim"],
            "Victim: largest ingress": of["victim_peak"],
            "Victim: control per byte of data": of["victim_control"],
        }
        for name, of in cost(r).items()
    ]

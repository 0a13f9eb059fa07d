"""Section 5.2.1: what becomes 1.2? A: the initial alpha; B: the factor before alpha in a cut."""

from typing import Any

from xoff.lab import Results, Row, units

from .fig2 import LINE
from .fig2 import seen as measured

LOADS: list[dict[str, str]] = [{"run": "one", "name": "one congestion point"}, {"run": "two", "name": "two congestion points"}]
READINGS: list[dict[str, Any]] = [
    # B: 1 - 1.2 x 0.502 with ns3-rdma's initial alpha, raised before the cut.
    {"name": "A", "left": 0.4, "assume": "reading-a"},
    {"name": "B", "left": 1 - 1.2 * (0.5 + 0.5 / 256), "assume": "reading-b"},
]
DISCIPLINES = {"round-robin": "one", "fifo": "fifo", "input-fifo": "input-fifo"}
"""Runs by the order in which an egress serves its ingresses."""


def cuts(r: Results) -> dict[str, dict[str, float]]:
    """F1's first cut over its rate before, and over that with unchanged DCQCN; CE on the victims F0 and F2 at P2: ``one A``."""
    return {
        f"{load['run']} {reading['name']}": {
            "left": _run(r, load["run"], reading["name"])["first_cut"] / LINE,
            "against": _run(r, load["run"], reading["name"])["first_cut"] / _run(r, load["run"], "unchanged")["first_cut"],
            "wrong": wrong(_run(r, load["run"], reading["name"])),
        }
        for load in LOADS
        for reading in READINGS
    }


def _run(r: Results, load: str, name: str) -> Row:
    """The run ``TCD, A``."""
    row: Row = r[load][f"TCD, {name}"]
    return row


def wrong(row: Row) -> int:
    """CE that P2 puts on the two victims."""
    return int(row["ce_P2_F0"] + row["ce_P2_F2"])


def paused(r: Results) -> dict[str, dict[str, str]]:
    """Until when P2 is paused, in words."""
    return {name: {row["case"].removeprefix("TCD, "): _until(row["last_off"]) for row in runs} for name, runs in r.named.items()}


def _until(time: float | None) -> str:
    return "never" if time is None else f"until {units.time(time)}"


def loads_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Scenario": load["name"],
            "Marks and rate control": row["case"],
            "F1 after its first cut": units.rate(row["first_cut"]),
            "F1's lowest rate": units.rate(row["lowest"]),
            "P2 paused until": units.time(row["last_off"]),
            "P3's queue, highest": units.bytes(row["top_P3"]),
            "F1 delivered": units.bytes(row["delivered"]),
            "CE on F0 and F2 at P2": wrong(row),
        }
        for load in LOADS
        for row in r[load["run"]]
    ]


def disciplines_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Egress": discipline,
            "Marks and rate control": row["case"],
            "P2 paused until": units.time(row["last_off"]),
            "UE of P2": row["ue_P2"],
            "Highest queue of P2": units.bytes(row["top_P2"]),
        }
        for discipline, name in DISCIPLINES.items()
        for row in r[name]
    ]

"""Flows that share a slot of the table: how often, and what it costs."""

from collections.abc import Mapping
from typing import Any

from xoff.lab import Results, Row, theory

from .metrics import outcome

__all__ = ["outcome"]

SLOTS = [64, 256, 1024, 4096, 65_536]
"""Sizes of the table."""
FLOWS = [8, 32, 128, 512]
"""Concurrent flows."""
DRAWN = 1 << 20
"""Flows that are drawn for each pair of sizes, in blocks that are concurrent."""


def sizes(slots: int) -> dict[str, float]:
    """Share of flows that meet another one of their block in their slot, by the size of the block."""
    return {str(flows): theory.pffc_share_a_slot(flows, slots, DRAWN) for flows in FLOWS}


def counted(r: Results) -> dict[int, dict[int, float]]:
    return {row["slots"]: {flows: row[str(flows)] for flows in FLOWS} for row in r["slots"]}


def expected(r: Results) -> dict[int, dict[int, float]]:
    return {slots: {flows: theory.pffc_meets_another(flows, slots) for flows in FLOWS} for slots in SLOTS}


def enough(r: Results) -> dict[int, dict[int, bool]]:
    """Below a hundred expected ones the count itself scatters by more than that."""
    return {slots: {flows: share * DRAWN > 1_000 for flows, share in of.items()} for slots, of in expected(r).items()}


def victim(r: Results) -> Mapping[str, Row]:
    return {row["case"]: row for row in r["victim"]}


def relative(r: Results) -> float:
    return float(victim(r)["PFFC, one slot"]["rate_2"] / victim(r)["PFC"]["rate_2"])


def slots_table(r: Results) -> list[dict[str, Any]]:
    here, law = counted(r), expected(r)
    return [
        {"Slots": str(s), "Flows": str(f), "Share a slot": here[s][f], "1 - (1 - 1/slots)^(flows - 1)": law[s][f]} for s in SLOTS for f in FLOWS
    ]


def victim_table(r: Results) -> list[dict[str, Any]]:
    return [
        {"": case, "Flow 1": row["rate_1"], "Flow 2": row["rate_2"], "Frames counted for another flow": str(row["collisions"])}
        for case, row in victim(r).items()
    ]

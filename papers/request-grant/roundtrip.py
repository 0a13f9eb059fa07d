"""Section 3.4: how many segments a flow may have requested, against the scheduling round trip."""

from __future__ import annotations

from typing import Any

from xoff.lab import Results, Row

from .metrics import outcome, quick

__all__ = ["outcome", "quick"]

SEGMENT, CONTROL = 256, 20
"""Largest segment, and a control segment [bytes]."""
LINKS = 4 * 6.75
"""Of a path [t_min]."""
ROUND_TRIP = 2 * LINKS + (SEGMENT + CONTROL) / 40
"""From a request, in the header of a largest segment, to the grant, which travels alone [t_min]."""
RTT = 55
"""The same with a request alone, as the paper has it [t_min]."""
SIZES: dict[int, tuple[int, ...]] = {256: (1, 2, 4, 8, 9, 10), 512: (2, 4, 8, 11), 1_500: (6, 11, 12, 15), 9_000: (36, 45)}
"""Values of G by size of a packet; the last one of each is that of the paper's rule."""
POINTS = [{"size": size, "g": g} for size, of in SIZES.items() for g in of]


def cases(r: Results) -> dict[str, dict[str, Any]]:
    return {f"{p['size']} B, {p['g']}": {"traffic.size": f"{p['size']}B", "admission.requests_max": p["g"]} for p in POINTS}


def points(r: Results) -> list[dict[str, int]]:
    return POINTS


def rule(size: int) -> int:
    """The paper's G: a largest packet, and a round trip of largest segments."""
    return -(-size // SEGMENT) - (-RTT * 40 // SEGMENT)


def ruled(r: Results) -> list[dict[str, int]]:
    return [{"size": size, "g": rule(size)} for size in SIZES]


def expected(r: Results) -> dict[int, dict[int, float]]:
    """By size and G: whole packets are requested, as many as have no more than G segments together, once in a round trip."""
    return {size: {g: min(1.0, (g * SEGMENT // size) * size / 40 / ROUND_TRIP) for g in of} for size, of in SIZES.items()}


def carried(r: Results) -> dict[int, dict[int, float]]:
    """Share of the output's line."""

    def of(size: int, g: int) -> float:
        row: Row = r.runs.row(case=f"{size} B, {g}")
        return float(row["hot"])

    return {size: {g: of(size, g) for g in all_} for size, all_ in SIZES.items()}


def in_words(r: Results) -> dict[str, str]:
    return {f"{size} B, {g}": f"{carried(r)[size][g]:.3f}" for size, of in SIZES.items() for g in of} | {"round trip": f"{ROUND_TRIP:.1f}"}


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Packets": f"{size} B",
            "G": f"{g}",
            "Throughput": f"{carried(r)[size][g]:.4f}",
            "Closed form": f"{expected(r)[size][g]:.4f}",
        }
        for size, of in SIZES.items()
        for g in of
    ]

"""Lemma 1 in packets: one switch, one output, round trips that differ by input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xoff.lab import Results, Row, units

from .metrics import largest, mean, outcome, quick, stuck

__all__ = ["outcome", "quick", "stuck"]

INPUTS = 63
ORDERS: dict[str, Callable[[int], int]] = {"falling": lambda i: INPUTS - 1 - i, "rising": lambda i: i, "mixed": lambda i: i * 10 % INPUTS}
"""Place of an input among the round trips, along the round robin of the output."""
PACKETS = (256, 2_560)
"""Sizes of a packet, which is one request [bytes]."""
SLACK = 512
"""The segment on the line and one that is whole in the queue while it still goes out [bytes]."""


def spreads(r: Results) -> list[int]:
    """Differences of round trips [t_min]."""
    return [0, 20, 40, 60, 80, 100, 150, 200] if r.full else [0, 40, 100]


def series(r: Results) -> dict[str, dict[str, Any]]:
    """Every order, difference and size of a packet."""
    return {
        f"{order}, {packet} B, {spread} t_min": {
            "stream[0].size": f"{packet}B",
            "admission.requests_max": -(-packet // 256),
            "scheduled_fabric.port_delays": [f"{spread * 3200 * place(i) // (INPUTS - 1)}ps" for i in range(INPUTS)],
        }
        for packet in PACKETS
        for order, place in ORDERS.items()
        for spread in spreads(r)
    }


def of(r: Results) -> dict[tuple[str, int, int], list[Row]]:
    """The runs by order, size and difference."""
    keys = [(order, packet, spread) for packet in PACKETS for order in ORDERS for spread in spreads(r)]
    return {(order, packet, spread): list(r.runs.where(case=f"{order}, {packet} B, {spread} t_min")) for order, packet, spread in keys}


def backlogs(r: Results) -> dict[tuple[str, int, int], float]:
    """Longest backlog of a series [bytes]."""
    return {key: largest(rows, "queue_0") for key, rows in of(r).items()}


def excess(r: Results) -> float:
    """Largest backlog beyond the bound [bytes]."""
    return max(backlog - spread * 40.0 for (_, _, spread), backlog in backlogs(r).items())


def least(r: Results) -> float:
    """Smallest backlog over the bound where round trips fall, by 40 t_min or more."""
    return min((b / (spread * 40.0) for (order, _, spread), b in backlogs(r).items() if order == "falling" and spread >= 40), default=math.inf)


def closest(r: Results) -> float:
    return max(b / (spread * 40.0) for (order, _, spread), b in backlogs(r).items() if order == "falling" and spread > 0)


def number(r: Results) -> int:
    return len(of(r))


def bound(r: Results) -> float:
    return 400e-9 * 100e9 / 8.0


def curves(r: Results) -> dict[tuple[str, int], dict[int, float]]:
    """Longest backlog by difference, for each order and size."""
    of_all = backlogs(r)
    return {(order, packet): {spread: of_all[order, packet, spread] for spread in spreads(r)} for packet in PACKETS for order in ORDERS}


def table(r: Results) -> list[dict[str, str]]:
    of_all = backlogs(r)
    return [
        {
            "Order of round trips": order,
            "Grant": f"{packet} B",
            "Difference of round trips": f"{spread} t_min",
            "Longest backlog": f"{of_all[order, packet, spread]:.0f} B",
            "Of the bound": units.share(of_all[order, packet, spread] / (spread * 40.0)) if spread else "",
            "Throughput of the output": f"{mean(rows, lambda row: row['ports']['by_output'][INPUTS]).mean:.3f}",
        }
        for (order, packet, spread), rows in of(r).items()
    ]

"""Deadlock cases of PFC in a sample of the networks of Table 1, over two of its readings: the order at the egress, and the start of the next flow."""

from itertools import islice
from typing import Any

from xoff.lab import Results, Share

from .large_scale import Settings, outcome, scan, scanned, settings
from .searches import PAPER

__all__ = ["outcome", "scan", "scanned"]

ORDERS: dict[str, Settings] = {
    "FIFO": {"switch__discipline": "fifo"},
    "round robin": {"switch__discipline": "round-robin"},
    "input FIFO": {"switch__discipline": "input-fifo"},
    "random, 8 frames": {"switch__discipline": "random", "switch__batch": 8},
}
NEXT = {"when the last one has arrived": "delivery", "as soon as it is sent": "sent"}
"""Start of the next flow of a host."""
K = 4
CYCLIC = 115
"""Networks with a cycle among 10,000 (tab1)."""
SIZE = {"quick": (4, 1), "full": (30, 5)}
"""Networks of the sample, and repetitions of each."""


def first_networks(r: Results) -> dict[str, Settings]:
    """Enough of them to find those with a cycle."""
    return {f"k = {K}, networks from {first}": {"k": K, "first": first, "past": first + 500} for first in range(0, 3_000 if r.full else 500, 500)}


def sample(r: Results) -> list[int]:
    """The first networks with a cycle."""
    return list(islice(r.value("scanned")[K]["lowest-id"], SIZE[r.mode][0]))


def grid(r: Results) -> dict[str, Settings]:
    return {
        f"{order}, {start}: network {number}, repetition {nth}": settings(K, number, "pfc", r.seed * 1000 + nth, **order_of, **{"workload[0]__next_after": value})
        for order, order_of in ORDERS.items()
        for start, value in NEXT.items()
        for number in sample(r)
        for nth in range(SIZE[r.mode][1])
    }


def cases(r: Results) -> dict[str, dict[str, Share]]:
    """Share of the networks that deadlock in any repetition, by order and start."""
    found: dict[str, set[str]] = {}
    for row in r["search"]:
        cell, _, network = row["case"].partition(": ")
        found.setdefault(cell, set())
        if row["deadlock_ps"] is not None:
            found[cell].add(network.partition(",")[0])
    of = len(sample(r))
    return {order: {start: Share(len(found[f"{order}, {start}"]), of) for start in NEXT} for order in ORDERS}


def table(r: Results) -> list[dict[str, str]]:
    def words(share: Share) -> str:
        low, high = (CYCLIC * end for end in share.interval())
        return f"{share.of} of {share.n}: {CYCLIC * share.value:.0f} ({low:.0f} to {high:.0f})"

    return [{"Order": order, **{f"Next flow {start}": words(share) for start, share in of.items()}} for order, of in cases(r).items()]


def in_words(r: Results) -> str:
    return "; ".join(f"{order}: {', '.join(f'{share.of} {start}' for start, share in of.items())}" for order, of in cases(r).items())


def within(r: Results) -> int:
    """Combinations whose interval contains the paper's count."""
    return len([f"{order}, next flow {start}" for order, of in cases(r).items() for start, share in of.items() if share.interval()[0] <= PAPER[K] / CYCLIC <= share.interval()[1]])

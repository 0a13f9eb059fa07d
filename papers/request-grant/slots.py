"""Figs. 2 and 3: outputs that regulate rates implicitly, slot by slot."""

import itertools
from dataclasses import dataclass
from typing import Any

from xoff.lab import Results, theory

RTT = 4
"""Round trip where all have the same [segment times]."""
FALLING = (20, 19, 17, 16)
"""Round trips of Fig. 3, in the order of the grants [segment times]."""
GRANT = 4
"""Segments of a grant in Fig. 3, so that each is on the line for at least as long as the next one catches up."""
DIFFERENCE = FALLING[0] - FALLING[-1]
ASKS = [(0, 0, 1, 5), (2, 1, 1, 4)]
"""Fig. 2: input 2 asks for four segments while the grant of five to input 1 lasts. Output 1 is the paper's output 3."""


@dataclass(frozen=True)
class Seen:
    grants: list[tuple[int, int, int, int]]
    """Slot, output, input, segments."""
    arrivals: list[tuple[int, int, int]]
    """Slot, input, output."""
    backlog: list[list[int]]
    """By output and slot."""


def seen(rtts: list[int], outputs: int, requests: list[tuple[int, int, int, int]], slots: int) -> Seen:
    return Seen(*theory.granters_in_slots(rtts, outputs, requests, slots))


# ---- Fig. 2 -----------------------------------------------------------------------------------------------------------------------


def alone(r: Results) -> Seen:
    return seen([RTT, RTT], 2, ASKS, 40)


def both(r: Results) -> Seen:
    """Another output grants to input 1 too."""
    return seen([RTT, RTT], 2, [*ASKS, (0, 0, 0, 5)], 40)


def granted(r: Results) -> list[int]:
    return [g[3] for g in alone(r).grants]


def idle(r: Results) -> int:
    return alone(r).grants[1][0] - alone(r).grants[0][0]


def backlogs(r: Results) -> dict[str, int]:
    """Longest backlog at output 3: as scheduled, with round trips that differ by 2, with a contended input."""
    near = seen([RTT + 2, RTT], 2, ASKS, 40)
    return {"alone": max(alone(r).backlog[1]), "near": max(near.backlog[1]), "both": max(both(r).backlog[1])}


def late(r: Results) -> int:
    """How much later the last segment of input 1 reaches output 3."""
    last = [max(slot for slot, i, o in s.arrivals if (i, o) == (0, 1)) for s in (alone(r), both(r))]
    return last[1] - last[0]


# ---- Fig. 3 -----------------------------------------------------------------------------------------------------------------------


def in_order(rtts: tuple[int, ...]) -> Seen:
    return seen(list(rtts), 1, [(0, i, 0, GRANT) for i in range(len(rtts))], 60)


def longest(r: Results) -> dict[str, int]:
    return {"falling": max(in_order(FALLING).backlog[0]), "rising": max(in_order(FALLING[::-1]).backlog[0]), "worst": orders(r)[0][0]}


def orders(r: Results) -> list[tuple[int, tuple[int, ...]]]:
    """Longest backlog of every order, the largest first."""
    return sorted(((max(in_order(p).backlog[0]), p) for p in itertools.permutations(FALLING)), reverse=True)


def orders_table(r: Results) -> list[dict[str, Any]]:
    return [{"Round trips in the order of the grants": ", ".join(map(str, p)), "Longest backlog": n} for n, p in orders(r)[:8]]

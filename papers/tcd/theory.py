"""The ON-OFF model of section 4.2, without a simulator: how long a port sends between two pauses. Times are ps, sizes bytes, rates bit/s.

    queue behind the link  B_1 |- - -.- - - - -.- -       OFF at B_1, ON at B_0, each in force tau later
                               |   /   \\     /            while ON the queue rises with R_i - R_d = epsilon C
                           B_0 |-/- - - -\\-/- - - -
    port                       | ON | OFF | ON | ...
"""

import math
from itertools import pairwise

from xoff.lab import Results, units
from xoff.lab.observe import US

C, TAU, RANGE = 40e9, 8 * US, 2000
"""Fig. 8: the line, tau, and B_1 - B_0, the 2 MTU that section 4.2 recommends."""
SHARES = [0.1, 0.2, 0.3, 0.4, 0.5]
"""R_d/C."""
DEGREES = [{"epsilon": e, "ps": us * US} for e, us in zip((0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5), (448, 228, 464 / 3, 96, 52, 30, 16.8), strict=True)]
"""Congestion degrees of the figure, with T_on recomputed by Eq. (2) at R_d = C/2."""
GRID = [i / 100 for i in range(1, 51)]


def ton_by_queue(line: float, range_: float, share: float, tau: float, epsilon: float) -> float:
    """Eq. (2), to the nearest ps: (B_1 - B_0 + tau R_d)/(epsilon C) + tau, with R_d = ``share`` C."""
    return math.floor((range_ * 8e12 / line + tau * share) / epsilon + tau + 0.5)


def max_ton_by_queue(line: float, range_: float, tau: float, epsilon: float) -> float:
    """Eq. (3), the longest of Eq. (2): R_d = C/2, since a congested flow shares its bottleneck with at least one other."""
    return ton_by_queue(line, range_, 0.5, tau, epsilon)


def ton_by_period(period: float, share: float, epsilon: float) -> float:
    """Eq. (4), to the nearest ps: R_d T_c/(R_d + epsilon C), if credits arrive once per ``period`` T_c."""
    return math.floor(period * share / (share + epsilon) + 0.5)


# ---- Fig. 8 ---------------------------------------------------------------------------------------------------------------------


def ton(share: float, epsilon: float) -> float:
    return ton_by_queue(C, RANGE, share, TAU, epsilon)


def at_half(r: Results) -> dict[str, float]:
    """T_on at R_d = C/2 by epsilon."""
    return {str(d["epsilon"]): ton(0.5, d["epsilon"]) for d in DEGREES}


def all_at_half(r: Results) -> list[float]:
    return list(at_half(r).values())


def degrees(r: Results) -> str:
    return ", ".join(at_half(r))


def plane(r: Results) -> float:
    return max_ton_by_queue(C, RANGE, TAU, 0.05)


def no_fall(r: Results) -> int:
    return sum(any(ton(s, a) <= ton(s, b) for s in SHARES) for a, b in pairwise(GRID))


def no_rise(r: Results) -> int:
    return sum(any(ton(a, d["epsilon"]) >= ton(b, d["epsilon"]) for d in DEGREES) for a, b in pairwise(GRID))


def above_plane(r: Results) -> int:
    return sum(e >= 0.05 and ton(0.5, e) > plane(r) for e in GRID)


def alone(r: Results) -> float:
    """T_on of a flow that has the whole link."""
    return ton(1.0, 0.05)


# ---- section 4.3 ----------------------------------------------------------------------------------------------------------------

MTU = 1000
"""Frames of the paper's simulations."""


def tau(line: float, t_p: float) -> float:
    """2 MTU/C + 2 t_p."""
    return 2 * MTU * 8e12 / line + 2 * t_p


def example(gbps: float, t_p: float) -> float:
    """max(T_on) of the paper's example: XOFF - XON = 2 MTU, epsilon 0.05."""
    return max_ton_by_queue(gbps * 1e9, 2 * MTU, tau(gbps * 1e9, t_p), 0.05)


LINKS = [{"gbps": gbps, "ps": us * US} for gbps, us in ((40, 34.4), (100, 26.96), (200, 24.48))]
"""The paper's three links of 1 us, with their max(T_on)."""


def max_tons(r: Results) -> dict[str, float]:
    """By rate [Gb/s]; that of the simulations' links of 4 us, and that of the testbed."""
    testbed = max_ton_by_queue(10e9, 30e3, 20 * US, 0.04)
    return {**{str(link["gbps"]): example(link["gbps"], US) for link in LINKS}, "simulated": example(40, 4 * US), "testbed": testbed}


def max_tons_table(r: Results) -> list[dict[str, str]]:
    near = [(f"{link['gbps']} Gb/s", "1 us", "2 KB", "0.05", tau(link["gbps"] * 1e9, US), str(link["gbps"]), units.time(link["ps"])) for link in LINKS]
    far = ("40 Gb/s", "4 us", "2 KB", "0.05", tau(40e9, 4 * US), "simulated", "not stated")
    testbed = ("10 Gb/s", "testbed", "30 KB", "0.04", 20 * US, "testbed", "not stated")
    heads = ["Rate", "Delay of a link", "XOFF - XON", "epsilon", "tau", "max(T_on)", "Paper"]
    return [dict(zip(heads, (*given, units.time(t), units.time(max_tons(r)[key]), paper), strict=True)) for *given, t, key, paper in [*near, far, testbed]]

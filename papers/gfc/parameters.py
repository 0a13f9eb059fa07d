"""Sections 4.2, 5.3 and 5.4: bandwidth of the messages, tau, thresholds and stages."""

import math
from typing import Any

from xoff.lab import Results, theory, units

PS = 10**12
C = 10**10
RATES = (10, 40, 100)
"""[Gb/s]"""
CEE, INFINIBAND = 1500, 4000
"""Frames as section 5.4 counts them [bytes]."""


def tau(gbps: int, mtu: int) -> int:
    """2 MTU/C + 2 t_w + t_r with t_w = 1 us and t_r = 3 us [ps]."""
    return time_for(gbps, 2 * mtu) + 5_000_000


def time_for(gbps: int, size: int) -> int:
    return size * 8 * PS // (gbps * 10**9)


def c_tau(rate: float, tau_ps: int) -> int:
    """Bytes that arrive during tau, rounded up."""
    return math.ceil(rate * tau_ps / (8 * PS))


def stage_count(width: int) -> int:
    """Smallest N with (B_m - B_1) / 2^(N-1) <= 1 byte."""
    return (width - 1).bit_length() + 1


def stages(b_m: int, b_1: int) -> list[tuple[int, int]]:
    """B_k and R_k of all stages of a link of 10 Gb/s."""
    return [(b_m - -((b_1 - b_m) // 2**n), C >> (n + 1)) for n in range(stage_count(b_m - b_1))]


# ---- section 4.2: messages of 64 B ------------------------------------------------------------------------------------------------

TAU = tau(10, CEE)
WORST, STEADY, PRINTED = (64 * 8 * PS // (n * TAU) for n in (1, 2, 8))
"""m/tau, m/(2 tau) and m/(8 tau) [bit/s]."""
WORST_SHARE, PRINTED_SHARE = WORST / C, PRINTED / C
DRAINS = [int(C / 2 * (1 + n / 40)) for n in range(1, 40)]
"""Draining rates between stage 0 and stage 1."""


def simulated(r: Results) -> list[int]:
    """Rate of the messages by a fluid that is simulated for 5 ms, for each draining rate."""
    return [theory.gfc_limit_cycle(TAU, C, C // 2, drain, 5 * 10**9) for drain in DRAINS]


def by_formula(r: Results) -> list[int]:
    """The same by two messages per period tau (u + d)^2 / (u d)."""
    return [2 * 64 * 8 * PS // (TAU * (C // 2) ** 2 // ((C - drain) * (drain - C // 2))) for drain in DRAINS]


def steady(r: Results) -> dict[str, float]:
    worst = max(r.value("simulated"))
    return {"worst": worst, "share": worst / C}


# ---- section 5.4: parameters ------------------------------------------------------------------------------------------------------

taus = {mtu: {gbps: tau(gbps, mtu) for gbps in RATES} for mtu in (CEE, INFINIBAND)}
ranges = {gbps: c_tau(gbps * 1e9, 2 * tau(gbps, CEE)) for gbps in RATES}
"""2 C tau [bytes]."""
SIMULATIONS = stages(300_000, 281_000)
DELAY = 100 * 5_000
"""Of 100 m at 5 ns a metre [ps]."""
LARGEST_B_1 = 1_000_000 - c_tau(C, 2 * 90_000_000)
LIMITERS = {priorities: 24 * priorities for priorities in (8, 3)}


def bounds(r: Results) -> dict[int, int]:
    """Theorem 5.1 with InfiniBand's tau [bytes]."""
    return {gbps: theory.gfc_time_bounds(gbps * 10**9, tau(gbps, INFINIBAND), time_for(gbps, 65_535))[0] for gbps in RATES}


def stage_lengths(r: Results) -> dict[int, int]:
    return {k: SIMULATIONS[k][0] - SIMULATIONS[k - 1][0] for k in (1, 2, 3)}


def smallest_stage(r: Results) -> float:
    """Eq. (1) with B_m - B_1 = 2 C tau: length of a stage over R_{k-1} tau."""
    tight = stages(300_000, 300_000 - ranges[10])
    return min((tight[n + 1][0] - tight[n][0]) / ((C >> n) * TAU // (8 * PS)) for n in range(8))


def largest_b_0(r: Results) -> int:
    return 1_000_000 - theory.gfc_time_bounds(C, 90_000_000, 52_400_000)[1]


def limiter_error(r: Results) -> float:
    """Largest relative deviation of the long-run rate of a limiter."""
    limits = (8_000, 64_000, 152_588, 1_000_000, 1_250_000_000, 2_500_000_000, 5_000_000_000, 9_999_999_999, 10_000_000_000)
    return max(abs(theory.gfc_limited_rate(C, limit, CEE, 1_000) / limit - 1) for limit in limits)


def in_words(r: Results) -> dict[str, str]:
    return {
        "tau": " / ".join(units.time(t) for t in taus[CEE].values()),
        "range": " / ".join(units.bytes(b) for b in ranges.values()),
        "bound": " / ".join(units.bytes(b) for b in r.value("bounds").values()),
    }


def stages_of_the_simulations(r: Results) -> list[dict[str, Any]]:
    return [{"Stage k": k, "B_k": start, "R_k": rate} for k, (start, rate) in enumerate(SIMULATIONS, 1)]


def mappings(r: Results) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """B_m, B_1 and stages of testbed and simulations."""
    return [(b_m, b_1, stages(b_m, b_1)) for b_m, b_1 in ((1_000_000, 750_000), (300_000, 281_000))]


# ---- section 5.4: number of stages ------------------------------------------------------------------------------------------------

counts = {gbps: stage_count(width) for gbps, width in ranges.items()}
counts_in_words = " / ".join(str(n) for n in counts.values())
scaled = " / ".join(f"{counts[10] + math.log2(gbps / 10):.1f}" for gbps in RATES)
grown = {gbps: width / ranges[10] for gbps, width in ranges.items()}


def counts_table(r: Results) -> list[dict[str, Any]]:
    """N counts halvings of the range: a unit of 2^u bytes takes u stages less."""
    found = []
    for gbps, paper in zip(RATES, (16, 18, 20), strict=True):
        for mtu in (CEE, INFINIBAND):
            width = c_tau(gbps * 1e9, 2 * tau(gbps, mtu))
            n = stage_count(width)
            of = {"N for 1 bit": n + 3, "N for 1 byte": n, "N for 8 bytes": n - 3, "N for 64 bytes": n - 6, "Paper": paper}
            found.append({"Link rate": gbps * 1e9, "Frame": mtu, "2 C tau": width, **of})
    return found

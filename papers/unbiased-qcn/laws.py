"""The laws by themselves: which flow a congestion point notifies, six bits of feedback, a rate limiter after a cut."""

from collections.abc import Sequence
from typing import Any

from xoff.lab import Results, theory, units

LINE = 10e9
DRAWS = 20_000
"""Samples of a law."""
CHI_LIMIT = 16.27
"""Chi-square with three degrees of freedom: a fair law exceeds it once in a thousand times. With one degree it is 10.83."""
FRAME = 1_522
ARRIVALS, FRAMES = [0.1, 0.2, 0.3, 0.4], [40, 30, 20, 10]
"""Share of the arrivals of four flows, and their frames in the buffer."""


# ---- sampling laws ----------------------------------------------------------------------------------------------------------------


def chi_square(seen: Sequence[int], weights: Sequence[float]) -> float:
    """Sum of (seen - expected)^2/expected."""
    n, total = sum(seen), sum(weights)
    return sum((s - n * w / total) ** 2 / (n * w / total) for s, w in zip(seen, weights, strict=True))


def notified(r: Results) -> dict[str, list[int]]:
    """CNMs of the four flows, by sampling."""
    flows = [(share, frames, FRAME) for share, frames in zip(ARRIVALS, FRAMES, strict=True)]
    return {law: theory.qcn_notified(law, flows, DRAWS, r.seed) for law in ("arrival", "random", "largest")}


def fairness(r: Results) -> dict[str, dict[str, float]]:
    weights: dict[str, list[float]] = {"arrival": ARRIVALS, "random": [float(n) for n in FRAMES]}
    of = r.value("notified")
    return {law: {"chi": chi_square(of[law], w), "samples": sum(of[law])} for law, w in weights.items()}


def lengths(r: Results) -> float:
    """Chi-square of frames of different lengths: whole units of 256 B."""
    seen = theory.qcn_notified("random", [(0.0, 60, 64), (1.0, 10, FRAME)], DRAWS, r.seed, stream=10, mixed=False)
    return chi_square(seen, [60, 60])


def sampling_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Sampling": law,
            "Flow": str(f + 1),
            "Share of arrivals": ARRIVALS[f],
            "Share of the buffer": FRAMES[f] / 100,
            "Share of CNMs": n / DRAWS,
        }
        for law in ("arrival", "random")
        for f, n in enumerate(r.value("notified")[law])
    ]


# ---- feedback ---------------------------------------------------------------------------------------------------------------------

CLASSES = [{"k": k, "first": 8 * k, "last": 8 * k + 7, "bytes": 150_000 // (k + 1)} for k in range(8)]
"""Values of the feedback with the same interval to the next sample."""
QUEUES = [80, 100, 90]
"""Queues that are sampled one after the other [KB]."""


def feedback(f_b: int) -> int:
    return theory.qcn_feedback([f_b])[0]


def cut(of: int) -> float:
    """By a CNM, as a part of the rate."""
    limiter = theory.QcnLimiter()
    limiter.cnm(of)
    return 1 - limiter.rate / LINE


def quantised(r: Results) -> dict[str, Any]:
    rising = theory.qcn_feedback(range(300_001))
    return {
        "range": theory.qcn_feedback_range(),
        "levels": len(set(theory.qcn_feedback(range(-400_000, 400_001, 100)))),
        "below": feedback(299_999),
        "from": feedback(300_000),
        "largest": feedback((2**63 - 1) // 2),
        "not_positive": max(feedback(0), feedback(-1)),
        "falls": sum(b < a for a, b in zip(rising, rising[1:], strict=False)),
        # A buffer of 150 KB: Q_off = 90 KB, Q_delta = 150 KB or 0.
        "filled": feedback(90_000 + 2 * 150_000),
        "stays": feedback(90_000),
    }


def sampled(r: Results) -> dict[int, dict[str, int]]:
    """F_b = Q_off + w Q_delta of the queues."""
    seen = theory.qcn_sampled([1_000 * q for q in QUEUES])
    f_b = [(q - 60) * 1_000 + 2 * (q - before) * 1_000 for q, before in zip(QUEUES, [0, *QUEUES], strict=False)]
    return {q: {"seen": s, "expected": feedback(f)} for q, s, f in zip(QUEUES, seen, f_b, strict=True)}


def cuts(r: Results) -> dict[str, float]:
    return {"largest": cut(63), "smallest": cut(1), "largest_expected": 63 / 128, "smallest_expected": 1 / 128}


def cuts_to_a_tenth(r: Results) -> int:
    """Of 63, from 10 to below 1 Gb/s."""
    return next(n for n in range(1, 100) if 10 * (1 - cut(63)) ** n < 1)


def intervals(r: Results) -> list[int]:
    return [theory.qcn_interval(8 * k) for k in range(8)]


def feedback_table(r: Results) -> list[dict[str, Any]]:
    rising = theory.qcn_feedback(range(300_001))
    return [
        {
            "Feedback": str(q),
            "F_b from": units.bytes(rising.index(q) if q in rising else None),
            "Cut": cut(q) if q else 0.0,
            "Next sample after": theory.qcn_interval(q),
        }
        for q in (0, 1, 8, 16, 18, 24, 32, 40, 48, 56, 63)
    ]


# ---- a rate limiter after a cut -----------------------------------------------------------------------------------------------------

CYCLES = [1, 2, 3, 4, 5]
OF_HALF = ["0.75", "0.875", "0.9375", "0.96875", "0.984375"]
"""Parts of the old rate after five cycles, from half of it."""


def byte_cycles(r: Results) -> dict[str, Any]:
    """Five byte cycles after a cut. 64/128 is beyond six bits: a cut to half takes two CNMs that multiply to it, so the cycles are checked
    against the cut rate."""
    limiter = theory.QcnLimiter()
    limiter.cnm(63)
    after, rates = limiter.rate, []
    for _ in CYCLES:
        limiter.sends(150_000)
        rates.append(limiter.rate)
    gaps = [(LINE - rate) / (LINE - after) for rate in rates]
    # One frame less than a cycle raises nothing.
    short = theory.QcnLimiter()
    short.cnm(63)
    short.sends(150_000 - 1_500)
    return {
        "cut": after,
        "rates": rates,
        "gap": dict(zip(CYCLES, gaps, strict=True)),
        "expected": {n: 0.5**n for n in CYCLES},
        "of_half": dict(zip(OF_HALF, [1 - (1 - (rate - after) / (LINE - after)) / 2 for rate in rates], strict=True)),
        "short": short.rate,
    }


def of_half_words(r: Results) -> str:
    return ", ".join(f"{v:.6f}" for v in byte_cycles(r)["of_half"].values())


def timer(r: Results) -> dict[str, Any]:
    """The timer alone: cycles of 10 ms, of 5 ms after fast recovery; then additive increase."""
    limiter = theory.QcnLimiter()
    limiter.cnm(63)
    took = [limiter.waits() or 0 for _ in range(6)]
    return {"first": took[0], "after": took[5], "first_ms": took[0] / 1e9, "after_ms": took[5] / 1e9, "target": limiter.target}


def increases(r: Results) -> dict[str, float]:
    """One counter beyond fast recovery, then both: active and hyper increase."""
    limiter = theory.QcnLimiter()
    limiter.cnm(63)
    limiter.sends(150_000)  # a cycle, so that the next cut begins from here and the target stays below the line
    limiter.cnm(63)
    for _ in range(5):
        limiter.waits()
    limiter.sends(150_000 * 5)
    before = limiter.target
    limiter.waits()
    active = limiter.target
    limiter.sends(75_000)
    return {"active": active - before, "hyper": limiter.target - active}


def extra(r: Results) -> dict[str, float]:
    """Extra fast recovery: more than ten times below the target."""
    limiter = theory.QcnLimiter()
    for _ in range(4):
        limiter.cnm(63)
    low = limiter.rate
    limiter.sends(150_000)
    return {"target": limiter.target, "rate": limiter.rate, "half_way": (low + 1.25e9) / 2}


def two_limiters(r: Results) -> dict[str, list[tuple[float, float]]]:
    """Rates after the same cut [ms, bit/s], the first from twice the rate: both counters of bytes run by what each sends."""
    return {"the faster": _steps(4e9), "the slower": _steps(2e9)}


def _steps(start: float) -> list[tuple[float, float]]:
    limiter = theory.QcnLimiter()
    while limiter.rate > start:
        limiter.cnm(20)
        limiter.sends(150_000)  # a cycle, so that the next cut begins from here
    limiter.cnm(20)
    points = [(0.0, limiter.rate)]
    while points[-1][0] < 20:
        at = points[-1][0] + 150e3 * 8e3 / limiter.rate
        limiter.sends(75_000 if len(points) > 5 else 150_000)
        points.append((at, limiter.rate))
    return points


def gain(r: Results) -> float:
    of = [points[-1][1] - points[0][1] for points in two_limiters(r).values()]
    return of[0] / of[1]

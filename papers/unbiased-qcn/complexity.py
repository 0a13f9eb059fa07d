"""Section VI: what occupancy sampling costs, counted in the implementation that all claims run."""

from typing import Any

from xoff.lab import Mean, Results, theory

WORDS = 12 << 10
"""Buffer units of a port, each with a word (section VI: 12K)."""
WORD_BITS, READ_BITS = 20, 320
"""Bits of a word, and of the SRAM's width (section VI)."""
CLOCK = 454e6
"""Of the chips (section II-A) [Hz]."""
REACTION = 2.4e6
"""Latency of the rate limiters (Table I) [ps]."""
SETPOINT = 60_000
"""Set point: the buffer of a congested priority holds as much (Table I) [bytes]."""
FRAME = 1_522
SEARCHES = 20_000
"""Searches of which a mean is taken."""
FLOWS = [1, 4, 13, 39]
"""Flows in the buffer."""
OVERHEAD = WORD_BITS / (theory.CULPRIT_UNIT * 8)
"""A word over the payload of its unit."""
UNITS_IN_READ = READ_BITS / WORD_BITS
ROW = theory.CULPRIT_ROW
WORST = theory.CULPRIT_TRIES + WORDS / ROW
"""Reads if all addresses that are tried fail, and the only frame lies in the last row."""
STATE = WORDS * WORD_BITS / 8
"""State of random sampling [bytes]."""
BUFFER = WORDS * theory.CULPRIT_UNIT
TABLE_1 = 8 * 150e3
UNITS = theory.culprit_units(FRAME)


def searches(flows: int, at_once: int, seed: int) -> dict[str, float]:
    """Searches an array in which frames of so many flows lie one after the other, up to the set point. ``at_once``: words that a random
    read considers."""
    reads, in_sequence = theory.culprit_reads([n % flows for n in range(SETPOINT // FRAME)], FRAME, WORDS, at_once, SEARCHES, seed)
    mean = Mean.of(reads)
    return {"mean": mean.mean, "low": mean.low, "high": mean.high, "most": max(reads), "in_sequence": in_sequence / len(reads)}


def cases(r: Results) -> dict[str, dict[str, int]]:
    return {f"{flows} / {at_once}": {"flows": flows, "at_once": at_once} for flows in FLOWS for at_once in (ROW, 1)}


def by_row(r: Results) -> dict[int, Mean]:
    """Reads of a search, by flows."""
    return {row["flows"]: Mean(row["mean"], row["low"], row["high"]) for row in r.runs.where(at_once=ROW)}


def more_with_flows(r: Results) -> Mean:
    return by_row(r)[FLOWS[-1]].over(by_row(r)[FLOWS[0]])


def counters_per_unit(r: Results) -> float:
    """Of deterministic sampling, if each buffer unit has another flow."""
    return theory.culprit_counters(WORDS) / WORDS


def longest(r: Results) -> int:
    return int(max(row["most"] for row in r.runs))


def longest_ps(r: Results) -> float:
    return longest(r) / CLOCK * 1e12


def worst_ps(r: Results) -> float:
    return WORST / CLOCK * 1e12


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flows in the buffer": str(flows),
            "Random, 16 units per read: mean reads": f"{row['mean']:.2f}",
            "most": str(row["most"]),
            "Random, one unit per read: mean reads": f"{word['mean']:.1f}",
            "most, one unit": str(word["most"]),
            "found row by row": word["in_sequence"],
            "Deterministic: counters, and comparisons per sample": str(theory.culprit_counters(flows)),
        }
        for flows in FLOWS
        for row, word in [[r.runs.row(flows=flows, at_once=n) for n in (ROW, 1)]]
    ]

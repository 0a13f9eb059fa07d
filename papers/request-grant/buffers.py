"""Sections 3.3 and 3.4: a reassembly buffer for a few packets, and who gets its slots."""

from __future__ import annotations

from typing import Any

import polars as pl
from xoff.lab import Mean, Results, Row, Runs, Share

from .metrics import largest, mean, outcome, quick, stuck, values, words

__all__ = ["outcome", "quick", "stuck"]

SLOTS = (48, 64, 96, 192, 2_048)
"""Buffers in which packets are put together [segments]."""
G = 50
BUFFER = 4 * 2**20 / 8
"""4 Mbit [bytes]."""


# ---- reassembly -------------------------------------------------------------------------------------------------------------------------


def buffers(r: Results) -> dict[str, dict[str, Any]]:
    """Every size, with partial grants and with whole requests. The rule that G slots must be free would prevent deadlocks too, as long as
    G covers a packet: it is for whole requests only."""
    return {
        f"{name}, {slots}": {"admission.output_slots": slots, "admission.whole_requests": whole, "admission.fair": whole and slots >= G}
        for slots in SLOTS
        for name, whole in (("partial", False), ("whole", True))
    }


def small(r: Results, grants: str, slots: int) -> Runs:
    return r["small buffers"].where(case=f"{grants}, {slots}")


def deadlocks(r: Results) -> dict[str, dict[int, Share]]:
    """Runs that deadlock, by grants and slots."""

    def share(runs: Runs) -> Share:
        return Share(sum(row["stuck"] != "" for row in runs), len(runs))

    return {grants: {slots: share(small(r, grants, slots)) for slots in SLOTS} for grants in ("partial", "whole")}


def stuck_with(r: Results) -> dict[str, int]:
    """Deadlocks with a buffer of 4 Mbit, with whole requests in any buffer, and with partial grants in the smallest."""
    return {
        "4 Mbit": sum(row["stuck"] != "" for row in _paper(r)),
        "whole": sum(share.of for share in deadlocks(r)["whole"].values()),
        "partial": deadlocks(r)["partial"][SLOTS[0]].of,
    }


def seeds(r: Results) -> int:
    return len(small(r, "whole", SLOTS[0]))


def _paper(r: Results) -> list[Row]:
    return [row for name in ("8 hotspots", "uniform") for row in r[name]]


def packets(r: Results) -> int:
    return sum(row["packets_out"] for row in _paper(r))


def packets_wanted(r: Results) -> float:
    return 1e6 if r.full else 2e4


def relative_size(r: Results) -> float:
    """The buffer over one for a packet of 9000 B of each of 64 inputs."""
    return BUFFER / (64 * 9_000)


def held(r: Results) -> float:
    return largest(_paper(r), "reassembly_max")


def a_deadlock(r: Results) -> str:
    """The report of the first run that deadlocks."""
    return next((row["stuck"] for slots in SLOTS for row in small(r, "partial", slots) if row["stuck"]), "")


def last_departure(row: Row) -> float:
    """When the last packet left [t_min]."""
    left = row["stretches"].filter(pl.col("hot_bytes") > 0)["end"]
    return left[-1] if len(left) else 0.0


def reassembly_table(r: Results) -> list[dict[str, str]]:
    def row(slots: int, grants: str, words_of: str) -> dict[str, str]:
        runs = small(r, grants, slots)
        last = [last_departure(row) for row in runs if row["stuck"]]
        return {
            "Buffer": f"{slots} segments",
            "Grants": words_of,
            "Runs that deadlock": f"{deadlocks(r)[grants][slots].of} of {len(runs)}",
            "Last departure": f"{min(last):.0f}" if last else "",
            "Packets out": f"{mean(runs, 'packets_out').mean:.0f}",
            "Throughput of the output": f"{mean(runs, _of_the_output).mean:.3f}",
        }

    return [row(slots, *of) for slots in SLOTS for of in (("partial", "partial grants"), ("whole", "whole requests"))]


def until(r: Results) -> int:
    """Length of a run [t_min]."""
    return round(small(r, "whole", SLOTS[0])[0]["stretches"]["end"][-1])


def _of_the_output(row: Row) -> float:
    return float(row["ports"]["by_output"][63])


# ---- fairness -----------------------------------------------------------------------------------------------------------------------------


def _large(row: Row) -> float:
    return float(row["ports"]["by_input"][0])


def _small(row: Row) -> float:
    """Mean of the 23 inputs that request one segment at a time."""
    return sum(row["ports"]["by_input"][1:24].to_list()) / 23


def shares(r: Results) -> dict[str, dict[str, Mean]]:
    """Share of the line of the large requester and of a small one, and their ratio, by arbiter."""
    of = {"large": _large, "small": _small, "ratio": lambda row: _large(row) / _small(row), "output": _of_the_output}
    cases = dict.fromkeys(row["case"] for row in r.runs)
    return {case: {name: mean(r.runs.where(case=case), value) for name, value in of.items()} for case in cases}


def least_throughput(r: Results) -> float:
    return min(values(r.runs.where(case="rule, by segments"), _of_the_output))


def ratio_in_words(r: Results) -> dict[str, dict[str, str]]:
    return {case: {"2": f"{of['ratio'].mean:.2f}", "3": f"{of['ratio'].mean:.3f}"} for case, of in shares(r).items()}


def fairness_table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Arbiter": case,
            "Large requester": words(of["large"], 4),
            "A small requester": words(of["small"], 4),
            "Ratio": f"{of['ratio'].mean:.2f}",
            "Output": f"{of['output'].mean:.3f}",
        }
        for case, of in shares(r).items()
    ]


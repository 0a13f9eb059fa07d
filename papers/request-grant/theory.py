"""Lemma 1 and Theorem 1 without packets, by the exact solvers of xoff's analysis."""

from typing import Any

import polars as pl
from xoff.lab import Results, Row, theory

B = 6
"""b of the trials [segments]."""
HOT_AND_SEED = ((0, 1), (3, 2), (6, 3), (8, 4), (8, 5))
"""Random admissions: eighths of the choices that go to the hotspot, and a seed."""


# ---- Lemma 1 ------------------------------------------------------------------------------------------------------------------------


def random_outputs(outputs: int, seed: int) -> dict[str, Any]:
    """Random outputs with random grants, and with the longest round trip granted just before the shortest."""
    seen = [theory.lemma_1_random(seed - 1 + n) for n in range(outputs)]
    return {
        "above": sum(backlog > bound for backlog, bound, *_ in seen),
        "reached": sum(longest_first == bound for _, bound, longest_first, *_ in seen),
        "beyond_a_segment": sum(whole > segments + 1 for *_, whole, segments in seen),
        "ratios": pl.DataFrame({"ratio": [backlog / max(bound, 1) for backlog, bound, *_ in seen]}),
    }


def shared_inputs(groups: int) -> dict[str, Any]:
    """Outputs that share their inputs in groups of four."""
    seen = [one for n in range(groups) for one in theory.lemma_1_sharing(n)]
    return {"outputs": len(seen), "above": sum(backlog > bound for backlog, bound in seen)}


def random(r: Results) -> Row:
    return r["random"][0]


def sharing(r: Results) -> Row:
    return r["sharing"][0]


def figures_2_and_3(r: Results) -> dict[str, int]:
    return {"3": theory.lemma_1_figures(4)[0], "2b": theory.lemma_1_figures(5)[1]}


def bytes_in_400_ns(r: Results) -> float:
    return 400e-9 * 100e9 / 8


# ---- Theorem 1 ----------------------------------------------------------------------------------------------------------------------


def levels(m: int, stages: int, epochs: int) -> dict[str, Any]:
    """Highest levels over b in a network: with all premises, without (iv), with a single route."""

    def trials(epochs: int, limited: bool) -> list[tuple[float, float, bool, bool, bool]]:
        return [theory.theorem_1_trial(m, stages, B, hot, seed, epochs, limited) for hot, seed in HOT_AND_SEED]

    kept, free = trials(epochs, True), trials(min(epochs, 60), False)
    tight = [level for stage in range(1, stages + 1) if (level := theory.theorem_1_example("tight", B, m, stages, stage)) is not None]
    return {
        "trials": len(kept),
        "over": sum(not holds for _, _, holds, _, _ in kept),
        "queued": sum(not never for _, _, _, never, _ in kept),
        "activated": sum(not quiet for *_, quiet in kept),
        "highest": max(level for level, *_ in kept),
        "distribution": max(distribution for _, distribution, *_ in kept),
        "routing_stages": len(tight),
        "reached": sum(level == 1 for level in tight),
        "free": max(level for level, *_ in free),
        "single": theory.theorem_1_example("single-route", B, m, stages),
        "routes": m ** ((stages - 1) // 2),
    }


def network(r: Results) -> dict[str, Row]:
    return {row["case"]: row for row in r.runs}


def networks(r: Results) -> list[str]:
    return r.runs.column("case")


def total(r: Results) -> dict[str, int]:
    return {name: sum(r.runs.column(name)) for name in ("trials", "over", "queued", "activated")}


def stages_not_reached(r: Results) -> int:
    return sum(row["routing_stages"] - row["reached"] for row in r.runs)


def without_iv(r: Results) -> float:
    return min(r.runs.column("free"))


def example(r: Results) -> dict[str, float | None]:
    return {name: theory.theorem_1_example(name, B) for name in ("unlike-service", "unequal-links", "envelope-only")}


FOUR_THIRDS = 4 / 3


def theorem_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Switches": f"{row['m']} x {row['m']}",
            "Stages": f"{row['stages']}",
            "N": f"{row['m'] * row['routes']}",
            "Routing, highest": f"{row['highest']:.2f}",
            "Distribution, highest": f"{row['distribution']:.2f}",
            "Reached in every routing stage": f"{row['reached']} of {row['routing_stages']}",
            "Without (iv)": f"{row['free']:.1f}",
            "Without (v)": f"{row['single']:.0f}",
            "g": f"{row['routes']}",
        }
        for row in r.runs
    ]

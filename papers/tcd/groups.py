"""Flows that are examined together, and their means over seeds."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Runs, observe, quantile

EVER = 2**64
"""More than any flow has [bytes]."""
Group = tuple[str, int, int]
"""First letters of the senders' names, smallest payload, first payload that is too large."""
PERCENTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}


# ---- of every run -------------------------------------------------------------------------------------------------------------


def examined(run: Run, groups: Mapping[str, Group]) -> dict[str, Any]:
    """Of each group of flows: ``victims fct``, ``victims p99`` (of the slowdown), ...; and totals of the network."""
    found = [(f"{name} {what}", value) for name, group in groups.items() for what, value in _of(run.flows, *group).items()]
    return {**dict(found), **totals(run)}


def _of(flows: pl.DataFrame, start: str, low: int, high: int) -> dict[str, Any]:
    of = flows.filter(pl.col("src").cast(pl.String).str.starts_with(start), pl.col("size_bytes") >= low, pl.col("size_bytes").cast(pl.Float64) < high)
    complete = of.filter(pl.col("slowdown").is_not_null())
    times, n = float(complete["fct_ps"].sum()), complete.height
    return {
        "flows": of.height,
        "fct": times / n if n else None,
        **{name: quantile(complete["slowdown"].to_list(), share) for name, share in PERCENTILES.items()},
        "rate": float(complete["size_bytes"].sum()) * 8e12 / times if n else None,
        "ce": (of["ce_frames"] > 0).sum() / of.height if of.height else None,
        "ue": (of["ue_frames"] > 0).sum() / of.height if of.height else None,
    }


def totals(run: Run) -> dict[str, Any]:
    """Loss, what did not end, broken promises; pauses of all ports and messages of flow control; CE of P0 and P2, where the network has them."""
    marked = {str(port): int(n) for port, n in run.ports.select(pl.col("port").cast(pl.String), "marked").rows()}
    return {
        "lost": observe.lost(run),
        "incomplete": run.flows["end_ps"].null_count(),
        "violations": observe.violations(run),
        "stops": observe.total(run, "pauses"),
        "stopped_ps": float((run.ports["paused_ps"] // 1000).sum()) * 1e3,
        "messages": observe.total(run, "messages_sent"),
        "inside_P0": marked.get("T0->L0", 0),
        "inside_P2": marked.get("L0->T2", 0),
    }


# ---- over seeds -----------------------------------------------------------------------------------------------------------------


def mean(runs: Runs, column: str) -> Mean:
    """Mean over seeds of a column."""
    return Mean.of(runs.column(column))


def ratio(over: Runs, under: Runs, column: str) -> Mean:
    """Mean ratio of a column, seed by seed."""
    both = (runs.column(column) for runs in (over, under))
    return Mean.ratio(*([math.nan if v is None else v for v in values] for values in both))


def times(value: float) -> str:
    """A ratio in words."""
    return f"{value:.2f}x"


def names(runs: Iterable[Any]) -> list[str]:
    """The cases of some runs, in their order."""
    return list(dict.fromkeys(row["case"] for row in runs))


# ---- metrics of every claim -------------------------------------------------------------------------------------------------------


SOUND = [
    {"key": "lost", "what": "frames lost in all runs", "unit": "frames"},
    {"key": "incomplete", "what": "flows that were not complete at the end", "unit": "flows"},
    {"key": "violations", "what": "violated invariants (order, conservation, credits)", "unit": "violations"},
]
"""What must not be in any run."""


def seeds(r: Results) -> int:
    """Number of seeds of the first runs."""
    return len({row["seed"] for row in r.runs})


def quick(r: Results) -> bool:
    return not r.full


def unsound(r: Results) -> dict[str, int]:
    return {s["key"]: sum(sum(runs.column(s["key"])) for runs in r.named.values()) for s in SOUND}

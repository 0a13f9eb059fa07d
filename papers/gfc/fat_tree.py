"""Figs. 12 to 14: the fat-tree with three failed links."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe, units
from xoff.lab.observe import MS

from .metrics import NAMES, deadlock_in_words, lost, middle, outcome, port

__all__ = ["NAMES", "deadlock_in_words", "lost", "port"]

CYCLE = ("C1->A3", "A3->C2", "C2->A7", "A7->C1")
"""The links of the cycle, each filling the buffer that the previous one waits for."""


def throughput(run: Run) -> dict[str, Any]:
    """The outcome, two queues at the end, and curves of 20 ms."""
    stop = observe.end(run)
    queues = {"h0": observe.queue(run, "H0->E1"), "c1": observe.queue(run, "C1->A3")}
    of_flows = run.rates.filter(pl.col("flow").is_not_null() & (pl.col("source").cast(pl.String) == "measured") & (pl.col("time_ps") <= 20 * MS))
    return {
        **outcome(run),
        **{f"behind_{name}": observe.mean(queue, stop - 10 * MS, stop) for name, queue in queues.items()},
        **{f"queue_{name}": queue.filter(pl.col("time_ps") <= 20 * MS) for name, queue in queues.items()},
        "throughput": of_flows.select("time_ps", "flow", y=pl.col("rate_bps").cast(pl.Float64)),
    }


def on_cycle(r: Results) -> dict[str, int]:
    """How many links of the paper's cycle are in the deadlock."""
    return {name: sum(link in row["cycle"].split(", ") for link in CYCLE) for name, row in _first(r).items()}


def _first(r: Results) -> dict[str, Row]:
    """The first seed of each case."""
    return {row["case"]: row for row in reversed(r.runs)}


def rates(r: Results) -> dict[str, list[float]]:
    return {name: [middle(row[f"rate_{flow}"]) for flow in (1, 2, 3, 4)] for name, row in port(r).items()}


def victims(r: Results) -> str:
    return ", ".join(f"{NAMES[case]} {units.rate(middle(of['rate_5']))}" for case, of in port(r).items())

"""Figs. 12 to 14: the fat-tree with three failed links."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, Runs, observe, units
from xoff.lab.observe import MS

from .metrics import NAMES, lost, outcome, port, ring

__all__ = ["NAMES", "lost", "port"]

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


def tree(r: Results) -> Mapping[str, Row]:
    return ring(r)


def on_cycle(r: Results) -> dict[str, int]:
    """How many links of the paper's cycle are in the deadlock."""
    return {name: sum(link in row["cycle"].split(", ") for link in CYCLE) for name, row in tree(r).items()}


def rates(r: Results) -> dict[str, list[float]]:
    return {name: [row[f"rate_{flow}"] for flow in (1, 2, 3, 4)] for name, row in tree(r).items()}


def victims(r: Results) -> str:
    return _victims(r.runs)


def victims_of_one_switch(r: Results) -> str:
    return _victims(r["one switch"])


def one_switch(r: Results) -> dict[str, float]:
    """Rate of F5 under GFC in the switch in which PFC deadlocks."""
    return {row["case"]: row["rate_5"] for row in r["one switch"]}


def _victims(runs: Runs) -> str:
    return ", ".join(f"{NAMES[row['case']]} {units.rate(row['rate_5'])}" for row in runs)

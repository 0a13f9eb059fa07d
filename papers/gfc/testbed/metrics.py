"""Metrics of GFC's claims with real frames: the port behind H1, which queue and rate it has, and whether the ring stops."""

from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, observe, units
from xoff.lab.observe import MS
from xoff.lab.real import (
    capture_table,
    captured_by,
    cells,
    counted,
    counting,
    enough,
    first,
    lost_in_all,
    machine,
    made,
    mean,
    nearly_all,
    stopped,
    stopping,
)

__all__ = ["capture_table", "captured_by", "cells", "counting", "enough", "first", "lost_in_all", "machine", "made", "mean", "nearly_all", "stopped", "stopping"]

PORT = "H1->S1"
"""The port whose queue and input rate the figures show."""
PARKED = 750e3 + 5e9 / 8.0 * 90e-6
"""B_1 + (C - R_d) tau with tau = 90 us: where the queue of a port parks [bytes]."""
END = 500 * MS
"""Steady end of a run: a hundred times that of the simulation, within reason."""


def port_of_h1(run: Run) -> dict[str, Any]:
    """Rates and queue over the end of the run, deadlocks, and the curves of the port."""
    queue, stop = observe.queue(run, PORT), observe.end(run)
    rates = observe.rates_at_end(run, END)
    return {
        **{f"rate_{n}": rate for n, rate in enumerate(rates, 1)},
        "mean_rate": sum(rates) / len(rates),
        "slowest_flow": min(rates),
        "rest": observe.mean(queue, stop - END, stop),
        "peak": observe.of_port(run, PORT, "ingress_bytes_max"),
        "allowed_min": observe.of_port(run, PORT, "allowed_bps_min"),
        "messages": observe.total(run, "messages_sent"),
        "deadlocks": observe.deadlocks(run),
        "deadlock_ps": observe.deadlock_ps(run),
        "end": stop,
        "queue": queue,
        "rate": observe.port_rate(run, PORT),
    }


def disagreeing(r: Results) -> dict[str, int]:
    """Runs in which capture and deadlock detector disagree."""
    return {cell: sum(row["stopped"] != (row["deadlocks"] > 0) for row in runs) for cell, runs in counted(r).items()}


def slowest(r: Results) -> dict[str, float]:
    """Rate of the slowest flow of all runs."""
    return {cell: min(runs.column("slowest_flow"), default=float("nan")) for cell, runs in counted(r).items()}


def of_repaired(r: Results) -> Mean:
    """Slowest flow by the paper's rule, relative to that with entry ports."""
    paper, repaired = (mean(r)[cell]["slowest_flow"] for cell in cells(r))
    return paper.over(repaired)


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Cell": cell,
            "Stopped": str(stopped(r)[cell]),
            "Closed at": of["deadlock_ps"].mean if of["deadlock_ps"].n else "",
            "Mean rate of a flow": of["mean_rate"].words(units.rate),
            "Steady-state queue": of["rest"].words(units.bytes),
            "Highest queue": of["peak"].words(units.bytes),
            "Control frames": f"{of['messages'].mean:.0f}",
        }
        for cell, of in mean(r).items()
    ]

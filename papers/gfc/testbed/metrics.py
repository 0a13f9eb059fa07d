"""Metrics of GFC's claims with real frames: the port behind H1, which queue and rate it has, and whether the ring stops."""

from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, Row, Runs, Share, observe, units
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
NAMES = {"fifo": "FIFO", "round-robin": "round robin", "input-fifo": "input FIFO", "8.56ms": "90 us", "8.06ms": "85 us", "0us": "together", "300ms": "H3 later"}
"""Settings in the words of the readings."""
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


def overshoot(r: Results) -> Mean:
    """Highest queue minus that in steady state, under GFC."""
    return Mean.of([row["peak"] - row["rest"] for row in counted(r)["GFC"]])


def cell_in_words(r: Results) -> str:
    """The readings, such as ``egress: input FIFO, loop: 85 us``."""
    return ", ".join(f"{name}: {value}" for name, value in r.cell.items())


def _row(cell: str, runs: Runs) -> dict[str, Any]:
    """Means of these runs."""

    def of(name: str) -> Mean:
        return Mean.of(runs.column(name))

    return {
        "Cell": cell,
        "Stopped": str(Share(sum(runs.column("stopped")), len(runs))),
        "Closed at": of("deadlock_ps").mean if of("deadlock_ps").n else "",
        "Mean rate of a flow": of("mean_rate").words(units.rate),
        "Steady-state queue": of("rest").words(units.bytes),
        "Highest queue": of("peak").words(units.bytes),
        "Control frames": f"{of('messages').mean:.0f}",
    }


def table(r: Results) -> list[dict[str, Any]]:
    """A row for each flow control and reading, or for each case."""
    if "all" not in r.named:
        return [_row(cell, runs) for cell, runs in counted(r).items()]
    found: dict[str, list[Row]] = {}
    for row in r["all"]:
        if row["counts"]:
            settings = [row.get(name) for name in ("switch.discipline", "control_delay.processing", "flow[2].start")]
            found.setdefault(", ".join([row["case"], *(NAMES.get(s, s) for s in settings if s not in (None, ""))]), []).append(row)
    return [_row(cell, Runs(rows)) for cell, rows in found.items()]

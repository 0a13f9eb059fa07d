"""Section 7: GFC together with DCQCN (Fig. 20), a routing loop, and several priorities."""

import math
from bisect import bisect_right
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe, units
from xoff.lab.observe import MS

from .metrics import NAMES, lost, port

__all__ = ["NAMES", "lost", "port"]

LINE = 10e9


# ---- Fig. 20 ----------------------------------------------------------------------------------------------------------------------


def hand_over(run: Run) -> dict[str, Any]:
    """When GFC limits H1, and when DCQCN takes over."""
    allowed = observe.port_rate(run, "H0->S1", "flow_control")
    dcqcn, queue = observe.flow_rate(run, 0, "rate_control"), observe.queue(run, "H0->S1")
    changes = allowed.filter((pl.col("y") != pl.col("y").shift()).fill_null(True))
    limited = changes.filter(pl.col("y") < LINE)
    # From the first stage to the last return to line rate, GFC is in charge or stands by.
    released = max(changes.filter(pl.col("y") >= LINE)["time_ps"].to_list(), default=math.nan)
    rates = observe.rates_at_end(run, 10 * MS)
    return {
        "reached": limited["time_ps"].min(),
        "released": released,
        "quiet": observe.end(run) - released,
        "lowest": changes["y"].min(),
        **{f"step_{n}": y for n, y in enumerate(limited["y"].head(3), 1)},
        "handed": _below_for_good(dcqcn, changes),
        "mean_rate": sum(rates) / len(rates),
        "highest": queue["y"].max(),
        "peak": observe.of_port(run, "H0->S1", "ingress_bytes_max"),
        "slowest": observe.of_port(run, "H0->S1", "allowed_bps_min"),
        "lost": observe.lost(run),
        **{name: points.filter(pl.col("time_ps") <= 10 * MS) for name, points in (("queue", queue), ("allowed", allowed), ("dcqcn", dcqcn))},
    }


def _below_for_good(a: pl.DataFrame, b: pl.DataFrame) -> float | None:
    """From when on ``a`` stays below ``b``, after having been above it; both are steps."""
    starts, levels = b["time_ps"].to_list(), b["y"].to_list()

    def at(time: float) -> float:
        nth = bisect_right(starts, time)
        return levels[nth - 1] if nth else float("inf")

    points = a.rows()
    above = [nth for nth, (time, y) in enumerate(points) if y > at(time)]
    return float(points[above[-1] + 1][0]) if above and above[-1] + 1 < len(points) else None


def h1(r: Results) -> Row:
    return r.runs.row(case="ingress")


def literal(r: Results) -> Row:
    return r.runs.row(case="egress")


def literal_slowest(r: Results) -> str:
    slowest = literal(r)["slowest"]
    return "line rate" if slowest is None else units.rate(slowest)


def descent(r: Results) -> str:
    return ", ".join(units.rate(h1(r)[f"step_{n}"]) for n in (1, 2, 3) if f"step_{n}" in h1(r))


# ---- a routing loop ---------------------------------------------------------------------------------------------------------------


def source(run: Run) -> dict[str, Any]:
    """The rate that flow control allows the source of the loop."""
    allowed, stop = observe.port_rate(run, "H1->S1", "flow_control"), observe.end(run)
    # How often a later sample allows more than the one before.
    rises = allowed.filter((pl.col("y") > pl.col("y").shift()) & (pl.col("time_ps").shift() > 5 * MS))
    return {
        "deadlocks": observe.deadlocks(run),
        "deadlock_ps": observe.deadlock_ps(run),
        "last": observe.mean(allowed, stop - MS, stop),
        "end": stop,
        "rises": rises.height,
        "samples": allowed.height,
        "lost": observe.lost(run),
        "delivered": int(run.flows["bytes_delivered"].sum()),
        "allowed": allowed,
    }


def share_of_the_source(r: Results) -> dict[str, float | None]:
    return {row["case"]: row["last"] and row["last"] / LINE for row in r.runs}


def few_rises(r: Results) -> dict[str, float]:
    """5 % of the samples."""
    return {row["case"]: 0.05 * row["samples"] for row in r.runs}


def delivered(r: Results) -> int:
    return sum(r.runs.column("delivered"))


# ---- priorities -------------------------------------------------------------------------------------------------------------------


def two_priorities(run: Run) -> dict[str, Any]:
    """Rates of the two flows, and what the host of the low priority sends."""
    stop = observe.end(run)
    high, low = observe.rates_at_end(run, 5 * MS)
    sent = observe.mean(observe.port_rate(run, "H1->S1"), stop - 5 * MS, stop)
    curves = {"high_over_time": observe.flow_rate(run, 0), "low_over_time": observe.flow_rate(run, 1)}
    return {"high": high, "low": low, "input": sent, "lost": observe.lost(run), **curves}


def priorities(r: Results) -> dict[str, Row]:
    return {f"{row['case']}, {row['switch.scheduler']}": row for row in r.runs}


def priorities_in_words(r: Results) -> str:
    return "; ".join(f"{name}: {units.rate(row['high'])} and {units.rate(row['low'])}" for name, row in priorities(r).items())

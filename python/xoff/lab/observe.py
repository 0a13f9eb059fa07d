"""Questions about a run that several claims ask, for functions that measure. Times are picoseconds, rates bit/s, sizes bytes."""

from __future__ import annotations

import math
from typing import Literal

import polars as pl

from .._run import Run

MS = 1e9
"""A millisecond [ps]."""
US = 1e6
"""A microsecond [ps]."""


def end(run: Run) -> float:
    """Simulated time reached [ps]."""
    return float(round(run.manifest["simulated_seconds"] * 1e12))


def queue(run: Run, port: str, kind: Literal["ingress", "egress"] = "ingress") -> pl.DataFrame:
    """Occupancy of a buffer over time: ``time_ps``, ``y`` [bytes], in the order of the table. It needs the probe ``queues``."""
    of = run.queues.filter((pl.col("port").cast(pl.String) == port) & (pl.col("kind").cast(pl.String) == kind))
    return of.select("time_ps", y=pl.col("bytes").cast(pl.Float64))


def port_rate(run: Run, port: str, source: str = "measured") -> pl.DataFrame:
    """Rate of a port over time: ``measured``, or the limit of ``flow_control``. It needs the probe ``rates``."""
    return _rate(run, (pl.col("port").cast(pl.String) == port) & pl.col("flow").is_null(), source)


def flow_rate(run: Run, flow: int, source: str = "measured") -> pl.DataFrame:
    """Rate of a flow over time: payload that arrived, or the limit of ``rate_control``. It needs ``probes.flow_rates``."""
    return _rate(run, pl.col("flow") == flow, source)


def _rate(run: Run, which: pl.Expr, source: str) -> pl.DataFrame:
    of = run.rates.filter(which & (pl.col("source").cast(pl.String) == source))
    return of.select("time_ps", y=pl.col("rate_bps").cast(pl.Float64))


def states(run: Run, port: str) -> pl.DataFrame:
    """States of a port: ``time_ps`` since when, ``state`` which. All begin without congestion. It needs the probe ``states``."""
    of = run.states.filter(pl.col("port").cast(pl.String) == port).select("time_ps", pl.col("state").cast(pl.String))
    return pl.concat([pl.DataFrame({"time_ps": [0], "state": ["non_congestion"]}, schema=of.schema), of])


def pauses(run: Run, port: str) -> pl.DataFrame:
    """Pauses of a port: ``start_ps``, ``end_ps``; one that lasts ends with the run. It needs the probe ``pauses``."""
    of = run.pauses.filter(pl.col("port").cast(pl.String) == port).sort("start_ps")
    return of.select(pl.col("start_ps").cast(pl.Float64), pl.col("end_ps").cast(pl.Float64).fill_null(end(run)))


def first_of(run: Run, host: str) -> int:
    """Number of the first flow that a host sends."""
    return int(run.flows.filter(pl.col("src").cast(pl.String) == host)["flow"][0])


def between(points: pl.DataFrame, start: float, stop: float) -> pl.Series:
    """The values after ``start`` up to ``stop``."""
    return points.filter((pl.col("time_ps") > start) & (pl.col("time_ps") <= stop))["y"]


def mean(points: pl.DataFrame, start: float, stop: float) -> float:
    """Mean of the samples after ``start`` up to ``stop``; NaN without any."""
    inside = between(points, start, stop)
    return math.nan if inside.is_empty() else float(inside.sum()) / len(inside)


def rates_at_end(run: Run, span: float) -> list[float]:
    """Mean rate of every flow over the last ``span`` [ps] of the run, from the sampled arrivals."""
    stop = end(run)
    of = run.rates.filter(pl.col("flow").is_not_null() & (pl.col("source").cast(pl.String) == "measured"))
    of = of.filter((pl.col("time_ps") > stop - span) & (pl.col("time_ps") <= stop))
    sums = {flow: total / n for flow, total, n in of.group_by("flow").agg(pl.col("rate_bps").cast(pl.Float64).sum(), n=pl.len()).rows()}
    return [sums.get(flow, math.nan) for flow in run.flows["flow"].to_list()]


def standing_still(run: Run, at_least: float = MS) -> int:
    """Flows that stop: begun, not complete, and without a byte in the last ``at_least`` [ps]. Unlike a deadlock this can happen under any
    flow control. It needs ``probes.flow_rates`` with samples closer than ``at_least``."""
    since = end(run) - at_least
    late = (pl.col("time_ps") > since) & (pl.col("rate_bps") > 0) & (pl.col("source").cast(pl.String) == "measured")
    moved = run.rates.filter(late & pl.col("flow").is_not_null())["flow"].unique()
    waits = (pl.col("start_ps") < since) & pl.col("end_ps").is_null() & ~pl.col("flow").is_in(moved.implode())
    return run.flows.filter(waits).height


def deadlocks(run: Run) -> int:
    """Number of deadlocks."""
    return run.deadlocks["cycle"].n_unique()


def deadlock_ps(run: Run) -> float | None:
    """Time at which the cycle of the first deadlock closed; ``None``: no deadlock."""
    first = run.deadlocks.filter(pl.col("cycle") == 0)["start_ps"]
    return None if first.is_empty() else float(first[0])


def deadlock_ports(run: Run) -> str:
    """The ports of its cycle, the first one again at the end: ``S1->S2, S2->S3, S3->S1, S1->S2``."""
    ports = run.deadlocks.filter(pl.col("cycle") == 0).sort("position")["port"].cast(pl.String).to_list()
    return ", ".join([*ports, *ports[:1]])


def of_port(run: Run, port: str, column: str) -> float | None:
    """A counter of a port from the table ``ports``."""
    (value,) = run.ports.filter(pl.col("port").cast(pl.String) == port)[column].to_list()
    return None if value is None else float(value)


def total(run: Run, column: str) -> int:
    """A counter of the table ``ports``, summed over them."""
    return int(run.ports[column].sum())


def lost(run: Run) -> int:
    """Frames that did not arrive, of all causes."""
    return int(run.manifest["lost_frames"])


def violations(run: Run) -> int:
    """Promises that the run broke: order, conservation, accounting."""
    return int(run.manifest["verdict"]["promises"].get("violations", 0))

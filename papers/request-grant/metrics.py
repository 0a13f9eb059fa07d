"""What is measured of a run of a fabric, values over the seeds of a series, and their words in tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row

LINE = 100e9
"""External lines [bit/s]."""
T_MIN = 3_200.0
"""A packet of 40 B on a line [ps]."""
HOT = ["56-63"]
"""The outputs of the last-stage switch whose outputs are hotspots."""

Value = str | Callable[[Row], Any]


# ---- of every run -------------------------------------------------------------------------------------------------------------


def outcome(run: Run) -> dict[str, Any]:
    """Throughput and delays [t_min] of outputs that are no hotspots, queues by stage, control, and the course of the run."""
    totals = run.manifest["fabric"]
    is_hot = run.fabric_ports["load"].cast(pl.String) == "hotspot"
    cold, hot = run.fabric_ports.filter(~is_hot), run.fabric_ports.filter(is_hot)
    per_port = LINE * totals["measured_ps"]
    carried, offered = (int(cold[c].sum()) * 8e12 / (per_port * max(cold.height, 1)) for c in ("delivered_bytes", "offered_bytes"))
    course = stretches(run, cold.height)
    return {
        "cold": carried,
        "carried": carried / offered if offered else None,
        "hot": int(hot["delivered_bytes"].sum()) * 8e12 / (per_port * max(hot.height, 1)),
        "delay": totals["cold"]["mean_ps"] / T_MIN,
        "delay_p99": totals["cold"]["p99_ps"] / T_MIN,
        "packets_out": run.manifest["flows_completed"],
        "reassembly_max": totals["reassembly_bytes_max"],
        "unsolicited": totals["unsolicited"] / max(totals["segments"], 1),
        "overtaken": totals["out_of_order"] / max(totals["segments"], 1),
        "control": totals["control_bytes"] / max(totals["control_bytes"] + totals["segment_bytes"], 1),
        "stuck": totals["stuck"] or "",
        "grants_max": max([0, *course["grants_max"]]),
        "stages": len(totals["queue_bytes_max"]),
        **{f"queue_{n}": q for n, q in enumerate(totals["queue_bytes_max"])},
        "last_queue": totals["queue_bytes_max"][-1],
        **{f"waits_{n}": w for n, w in enumerate(totals["waits"])},
        **{f"waiting_{n}": 1e3 * w / max(totals["segments"], 1) for n, w in enumerate(totals["waits"])},
        "ports": run.fabric_ports.select(
            by_input=pl.col("sent_bytes") * 8e12 / per_port,
            by_output=pl.col("delivered_bytes") * 8e12 / per_port,
        ),
        "stretches": course,
    }


def stretches(run: Run, cold_ports: int) -> pl.DataFrame:
    """The course of a run: throughput and mean delay [t_min] of outputs that are no hotspots, queues of hotspots, grants held by inputs."""
    w = run.windows
    in_window = LINE / 8e12 * float(w["time_ps"][0]) * cold_ports
    return w.select(
        end=pl.col("time_ps") / T_MIN,
        cold=pl.col("cold_bytes") / in_window,
        hot_bytes="hot_bytes",
        delay=pl.when(pl.col("cold_packets") > 0).then(pl.col("cold_delay_sum_ps") / pl.col("cold_packets") / T_MIN),
        hot_queue_max="hot_queue_bytes_max",
        hot_queue_mean="hot_queue_bytes_mean",
        grants_max="grants_held_max",
        grants_mean="grants_held_mean",
    )


# ---- over the seeds of a series -------------------------------------------------------------------------------------------------


def values(rows: Sequence[Row], value: Value) -> list[Any]:
    return [row[value] if isinstance(value, str) else value(row) for row in rows]


def mean(rows: Sequence[Row], value: Value) -> Mean:
    return Mean.of(values(rows, value))


def ratio(rows: Sequence[Row], others: Sequence[Row], value: Value) -> Mean:
    """Seed by seed."""
    return Mean.ratio(values(rows, value), values(others, value))


def largest(rows: Sequence[Row], value: Value) -> float:
    return max(values(rows, value))


def lowest(means: Sequence[Mean]) -> Mean:
    """The mean whose interval reaches the lowest."""
    return min(means, key=lambda m: m.low)


def stuck(r: Results) -> int:
    """Runs of the claim with a reassembly deadlock."""
    return sum(row["stuck"] != "" for runs in r.named.values() for row in runs)


# ---- in words -------------------------------------------------------------------------------------------------------------------


def words(m: Mean, digits: int) -> str:
    """A mean and its interval with so many decimals."""
    return m.words(lambda v: f"{v:.{digits}f}")


def queues(rows: Sequence[Row]) -> str:
    """Longest queue of each stage: ``640 / 2176 / 5120``."""
    return " / ".join(f"{largest(rows, f'queue_{n}')}" for n in range(rows[0]["stages"]))


def waits(rows: Sequence[Row]) -> str:
    """Waits per 1000 segments by stage, the links of the adapters first."""
    return " / ".join(f"{mean(rows, f'waiting_{n}').mean:.1f}" for n in range(rows[0]["stages"] + 1))


def quick(r: Results) -> bool:
    return not r.full

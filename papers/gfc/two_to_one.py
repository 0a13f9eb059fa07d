"""Fig. 5: PFC and conceptual GFC at a port with two inputs, packets and the fluid."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe
from xoff.lab.observe import MS

from .metrics import lost

__all__ = ["lost"]

PORT = "H0->S1"
STEADY = (0.4 * MS, 5 * MS)

_ARRIVE = 5e9 / 8 * 25 / 1e6
"""(C - R_d) tau, and R_d tau as well: tau is 25 us [bytes]."""
_SWING = 80e3 - 77e3 + 2 * _ARRIVE
FLUID = {"lowest": 77e3 - _ARRIVE, "highest": 80e3 + _ARRIVE, "off": _SWING * 8 / 5e9 * 1e12, "on": _SWING * 8 / 5e9 * 1e12}
"""Steady swing of PFC: XON - R_d tau and XOFF + (C - R_d) tau [bytes], time at zero and at full rate per period [ps]."""


def port(run: Run) -> dict[str, Any]:
    """Queue, rates and pauses of the port, from 0.4 ms on where it is steady."""
    queue = observe.queue(run, PORT)
    steady = observe.between(queue, *STEADY)
    pauses = run.pauses.filter(pl.col("port").cast(pl.String) == PORT).sort("start_ps")
    pauses = pauses.select("start_ps", "end_ps", next=pl.col("start_ps").shift(-1))
    of = {"off": ("start_ps", "end_ps"), "on": ("end_ps", "next")}
    return {
        "lowest": steady.min(),
        "highest": steady.max(),
        "peak": queue["y"].max(),
        **{name: pauses.filter(pl.col(a) > STEADY[0]).select(pl.col(b) - pl.col(a)).to_series().mean() for name, (a, b) in of.items()},
        "rate": observe.mean(observe.port_rate(run, PORT), *STEADY),
        "slowest": observe.of_port(run, PORT, "allowed_bps_min"),
        "lost": observe.lost(run),
        "warning": next((w for w in run.manifest["warnings"] if "4.1" in w), ""),
        "queue": queue.filter(pl.col("time_ps") <= MS),
        "allowed": observe.port_rate(run, PORT, "flow_control").filter(pl.col("time_ps") <= MS),
        "paused": observe.pauses(run, PORT).filter(pl.col("start_ps") <= MS),
    }


def pfc(r: Results) -> Row:
    return r.runs.row(case="pfc")


def gfc(r: Results) -> Row:
    return r.runs.row(case="gfc")


def on_over_off(r: Results) -> float:
    return float(pfc(r)["on"] / pfc(r)["off"])


def warning(r: Results) -> str:
    return gfc(r)["warning"] or "The loader gave no warning about Theorem 4.1."

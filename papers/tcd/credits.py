"""Eq. (4): how long a port is ON if credits arrive once per period."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, observe, units
from xoff.lab.observe import MS, US

from . import theory
from .fig2 import PORTS

CASES: list[dict[str, Any]] = [{"us": us, "rivals": rivals, "name": f"T_c {us} us, R_d = C/{rivals + 1}"} for us in (20, 40) for rivals in (1, 2, 3, 7)]
"""Periods T_c, and numbers of hosts that share P3 with the traffic through P2."""


def cases(r: Results) -> dict[str, dict[str, Any]]:
    """Each of the hosts sends to R1 forever, as the scenario's A0 does."""
    return {c["name"]: {"topology.burst_hosts": c["rivals"], "flow_control.period": f"{c['us']}us", **_flows(c["rivals"])} for c in CASES}


def _flows(rivals: int) -> dict[str, str]:
    return {f"flow[{n + 1}].{end}": host for n in range(1, rivals) for end, host in (("src", f"A{n}"), ("dst", "R1"))}


def on_periods(run: Run) -> dict[str, Any]:
    """ON periods of P2 between two pauses, from 2 ms on, when the queues behind it are full."""
    pauses = observe.pauses(run, PORTS["P2"]).filter(pl.col("start_ps") > 2 * MS)
    on = (pauses["start_ps"].shift(-1) - pauses["end_ps"]).drop_nulls()
    return {"number": len(on), "mean": on.sum() / len(on), "longest": on.max()}


def ton(r: Results) -> dict[str, dict[str, float]]:
    """Measured, and by Eq. (4). R_i is the line rate, since the port always has a backlog here."""
    found = {}
    for c in CASES:
        row, share = r.runs[c["name"]], 1 / (c["rivals"] + 1)
        expected = theory.ton_by_period(c["us"] * US, share, 1 - share)
        found[c["name"]] = {"expected": expected, "mean": row["mean"], "longest": row["longest"], "of_period": row["longest"] / (c["us"] * US), "number": row["number"], "share": share}
    return found


def words(r: Results) -> str:
    return ", ".join(f"{units.time(t['mean'])} for {units.time(t['expected'])}" for t in ton(r).values())


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "T_c": f"{c['us']} us",
            "R_d": f"C/{c['rivals'] + 1}",
            "ON periods": str(t["number"]),
            "T_on by Eq. (4)": units.time(t["expected"]),
            "Mean T_on": units.time(t["mean"]),
            "Longest T_on": units.time(t["longest"]),
        }
        for c, t in zip(CASES, ton(r).values(), strict=True)
    ]

"""The network of Fig. 2: its ports and flows by the paper's names, and what is measured of a run of it.

    S0 S1      S2                     R0 R1 A0 .. A14      F0  S0 -> R0
      T0       T1                          T2              F1  S1 -> R1
       +--P0----+--P1---- L0 ---P2---------+ P3 = T2->R1   F2  S2 -> R0
"""

import math
from collections.abc import Iterable
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Row, observe
from xoff.lab.observe import MS, US

from . import theory

PORTS = {"P0": "T0->L0", "P1": "T1->L0", "P2": "L0->T2", "P3": "T2->R1"}
"""P0: shared by F0 and F1; P1: F2 alone; P2: all three; P3: F1 and the bursts, the root of the first congestion tree."""
SOURCES = {"F0": "S0", "F1": "S1", "F2": "S2"}
LINE = 40e9
"""Rate of every link [bit/s]."""


# ---- of every run -------------------------------------------------------------------------------------------------------------


def seen(run: Run) -> dict[str, Any]:
    """Everything that the claims ask of a run: P2's queue, rate and pauses, the states and marks of all four ports, F1's rate."""
    flows = {name: observe.first_of(run, host) for name, host in SOURCES.items()}
    marks = _marks(run, flows)
    states = pl.concat([observe.states(run, port).with_columns(port=pl.lit(name)) for name, port in PORTS.items()])
    queues = pl.concat([observe.queue(run, port, "egress").with_columns(port=pl.lit(name)) for name, port in PORTS.items()])
    offs = pl.concat([observe.pauses(run, port).with_columns(port=pl.lit(name)) for name, port in PORTS.items()])
    control = observe.flow_rate(run, flows["F1"], "rate_control")
    measured = {
        "end": observe.end(run),
        "lost": observe.lost(run),
        "queue": queues,
        "states": states,
        "marks": marks,
        "offs": offs,
        "rate": observe.port_rate(run, PORTS["P2"]),
        "control": control,
        "first_cut": _first(control.filter(pl.col("y") < LINE)["y"]),
        "lowest": control["y"].min(),
        "delivered": run.flows["bytes_delivered"][flows["F1"]],
        "root_rate": observe.mean(observe.port_rate(run, PORTS["P3"]), 0.5 * MS, 3 * MS),
        "root_marked": _root_marked(run, marks, flows),
        **_counts(marks),
        **{f"top_{name}": observe.of_port(run, port, "egress_bytes_max") for name, port in PORTS.items()},
        **{f"ce_{name}": int(observe.of_port(run, port, "marked") or 0) for name, port in PORTS.items()},
        **{f"ue_{name}": int(observe.of_port(run, port, "marked_ue") or 0) for name, port in PORTS.items()},
        **{f"last_{name}": states.filter(port=name)["state"][-1] for name in PORTS},
    }
    return {**measured, **_after(run, measured, flows)}


def _marks(run: Run, flows: dict[str, int]) -> pl.DataFrame:
    """Every mark, with the paper's names: ``bursts`` for the flows without one."""
    ports, named = {v: k for k, v in PORTS.items()}, {v: k for k, v in flows.items()}
    return run.marks.select(
        "time_ps",
        port=pl.col("port").cast(pl.String).replace(ports),
        flow=pl.col("flow").replace_strict(named, default="bursts", return_dtype=pl.String),
        mark=pl.col("mark").cast(pl.String),
    )


def _counts(marks: pl.DataFrame) -> dict[str, int]:
    """Frames by mark, port and flow: ``ce_P2_F0``."""
    found = {(mark, port, flow): n for mark, port, flow, n in marks.group_by("mark", "port", "flow").len().rows()}
    return {f"{m}_{p}_{f}": found.get((m, p, f), 0) for m in ("ce", "ue") for p in PORTS for f in [*SOURCES, "bursts"]}


def _root_marked(run: Run, marks: pl.DataFrame, flows: dict[str, int]) -> float:
    """Share of F1's frames that P3 marks CE while bursts come: from 0.2 ms, when the queue has passed the threshold, to 3 ms."""
    start, stop = 0.2 * MS, 3 * MS
    inside = (pl.col("time_ps") > start) & (pl.col("time_ps") <= stop)
    ce = marks.filter(inside, port="P3", flow="F1", mark="ce").height
    # Frames of 1000 B without a header.
    return ce / (observe.mean(observe.flow_rate(run, flows["F1"]), start, stop) * (stop - start) / 1e12 / 8e3)


def _after(run: Run, measured: dict[str, Any], flows: dict[str, int]) -> dict[str, Any]:
    """What follows P2's last pause."""
    queue = measured["queue"].filter(port="P2")
    off = _last(measured["offs"].filter(port="P2")["end_ps"])
    since = math.nan if off is None else off
    # The queue has drained at the first sample below 5 KB; if there is none, at the pause's end.
    drained = _first(queue.filter((pl.col("time_ps") > since) & (pl.col("y") < 5e3))["time_ps"]) if off is not None else None
    begin = float(since if drained is None else drained)
    rate = observe.mean(measured["rate"], begin, begin + MS)
    others = sum(observe.mean(observe.flow_rate(run, flows[f]), begin, begin + MS) for f in ("F0", "F2"))
    after = observe.between(queue, begin, measured["end"])
    of_p2 = measured["marks"].filter(port="P2")
    last_ue = _last(of_p2.filter(mark="ue")["time_ps"])
    state = measured["states"].filter(port="P2")
    return {
        "last_off": off,
        "rate_after": rate,
        "f1_after": max(rate - others, 0.0),
        "low_after": after.min(),
        "high_after": after.max(),
        "first_ce": _first(of_p2.filter(mark="ce")["time_ps"]),
        "last_ue": last_ue,
        "left": None if last_ue is None else _first(queue.filter(pl.col("time_ps") >= last_ue)["y"]),
        "released": None if state["state"][-1] == "undetermined" else float(state["time_ps"][-1]),
    }


def _first(values: pl.Series) -> float | None:
    return None if values.is_empty() else float(values[0])


def _last(values: pl.Series) -> float | None:
    return None if values.is_empty() else float(values[-1])


# ---- for metrics --------------------------------------------------------------------------------------------------------------


def share(row: Row, port: str, state: str, start: float | None, stop: float) -> float:
    """Share of a stretch of time in which a port is in a state."""
    if start is None:
        return math.nan
    states = row["states"].filter(port=port)
    ends = [*states["time_ps"].to_list()[1:], row["end"]]
    spans = zip(states["time_ps"].to_list(), ends, states["state"].to_list(), strict=True)
    return float(sum(max(min(end, stop) - max(begin, start), 0.0) for begin, end, s in spans if s == state)) / (stop - start)


def marked(row: Row, flow: str, mark: str, start: float | None, stop: float, port: str = "") -> int:
    """Marks on a flow in a stretch of time, of one port or of all."""
    if start is None:
        return 0
    inside = (pl.col("time_ps") >= start) & (pl.col("time_ps") < stop)
    of: pl.DataFrame = row["marks"].filter(inside, pl.col("flow") == flow, pl.col("mark") == mark, pl.col("port") == port if port else True)
    return of.height


def marks_table(runs: Iterable[Row]) -> list[dict[str, Any]]:
    """Frames that each port marked, by run, port, mark and flow."""
    flows = {**{f: f for f in SOURCES}, "bursts": "bursts"}
    return [
        {"Run": row["case"], "Port": port, **{f"{mark} on {name}": row[f"{mark.lower()}_{port}_{f}"] for mark in ("CE", "UE") for f, name in flows.items()}}
        for row in runs
        for port in PORTS
    ]


def max_ton(fabric: str) -> float:
    """max(T_on) of the links of the scenario: Eq. (3) under PFC, the credit period with credits [ps]."""
    return theory.example(40, 4 * US) if fabric == "CEE" else 46 * US

"""Fig. 20: four flows that pass the undetermined port P2, and their shares."""

import math
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, Runs, observe, units
from xoff.lab.observe import MS

from .second_reading import second_reading, under_fifo

FLOWS = ["B0", "B1", "B2", "B3"]
LANES = {"P2": "L0->T2", "P3": "T2->R1"}
WINDOW = 0.5 * MS
"""Over which rates are compared: some ten periods of PFC, and enough frames to distinguish rates."""


def shares_of(run: Run) -> dict[str, Any]:
    """When P2 is released, and what B0 to B3 had until then and after it."""
    flows = {name: observe.first_of(run, name) for name in FLOWS}
    end = observe.end(run)
    measured = {name: observe.flow_rate(run, flow) for name, flow in {**flows, "F1": observe.first_of(run, "S1")}.items()}
    control = {name: observe.flow_rate(run, flow, "rate_control") for name, flow in flows.items()}
    states = pl.concat([observe.states(run, port).with_columns(port=pl.lit(name)) for name, port in LANES.items()])
    marks = run.marks.filter(pl.col("port").cast(pl.String) == LANES["P2"]).with_columns(pl.col("mark").cast(pl.String))
    # P2 is held until its last UE while the bursts last.
    until = max([float(t) for t in marks.filter(pl.col("time_ps") < 6 * MS, mark="ue")["time_ps"]], default=-math.inf)
    pauses = observe.pauses(run, LANES["P2"])["end_ps"]
    before = {name: points.filter(pl.col("time_ps") <= until) for name, points in control.items()}
    jain = _jain([windows(measured[name], end) for name in FLOWS])
    return {
        "end": end,
        "lost": observe.lost(run),
        "released": until,
        "undetermined": _share(states.filter(port="P2"), end, float(pauses[0]), until) if len(pauses) and until > 0 else math.nan,
        "early_ce": marks.filter(pl.col("time_ps") <= until, pl.col("flow").is_in(list(flows.values())), mark="ce").height,
        "changes": sum(points.height for points in before.values()),
        "lowest": min([40e9, *(y for points in before.values() for y in points["y"])]),
        "jain_held": min((j for t, j in jain if t <= until), default=None),
        "jain_after": min((j for t, j in jain if t > until > 0), default=None),
        **{f"rate_{name}": observe.mean(points, end - 40 * MS, end) for name, points in measured.items()},
        "rates": _named(measured),
        "control": _named(control),
        "states": states,
    }


def _named(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([points.with_columns(flow=pl.lit(name)) for name, points in frames.items()])


def windows(points: pl.DataFrame, until: float) -> list[tuple[float, float]]:
    """Means over the windows: end, mean."""
    ends = (n * WINDOW for n in range(1, int(until // WINDOW) + 1))
    means = ((end, observe.mean(points, end - WINDOW, end)) for end in ends)
    return [(end, mean) for end, mean in means if not math.isnan(mean)]


def jain_index(rates: list[float]) -> float:
    """1: all are equal; 1/n: one has everything; NaN: all are zero."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else math.nan


def _jain(of_flows: list[list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """By window in which something moves. The first one has the start in it."""
    all = [(rates[0][0], jain_index([rate for _, rate in rates])) for rates in list(zip(*of_flows, strict=False))[1:]]
    return [(time, index) for time, index in all if not math.isnan(index)]


def _share(states: pl.DataFrame, end: float, start: float, stop: float) -> float:
    ends = [*states["time_ps"].to_list()[1:], end]
    spans = zip(states["time_ps"].to_list(), ends, states["state"].to_list(), strict=True)
    return float(sum(max(min(to, stop) - max(since, start), 0.0) for since, to, s in spans if s == "undetermined")) / (stop - start)


# ---- for checks and sentences -----------------------------------------------------------------------------------------------------


def main(r: Results) -> Row:
    """The run of the claim."""
    row: Row = r.runs[0]
    return row


def seen(r: Results) -> Runs:
    return r["others"]


def last_index(r: Results) -> float:
    return jain_index(last_rates(r))


def last_rates(r: Results) -> list[float]:
    return [main(r)[f"rate_{name}"] for name in FLOWS]


def held(r: Results) -> dict[str, str]:
    """Until when P2 is undetermined, in words."""
    return {row["case"]: "never" if row["released"] is None else f"until {units.time(row['released'])}" for row in r["others"]}


def dcqcn(r: Results) -> list[dict[str, Any]]:
    return _table("DCQCN", r)


def timely(r: Results) -> list[dict[str, Any]]:
    return _table("TIMELY", r)


def _number(index: float | None) -> str:
    return "n/a" if index is None else f"{index:.4f}"


def _table(first: str, r: Results) -> list[dict[str, Any]]:
    return [
        {
            first: row["case"],
            "P2 undetermined until": units.time(row["released"]),
            "CE until then": row["early_ce"],
            "Rate changes until then": row["changes"],
            "Lowest rate until then": units.rate(row["lowest"]),
            "Jain's index until then": _number(row["jain_held"]),
            "After it": _number(row["jain_after"]),
            **{name: units.rate(row[f"rate_{name}"]) for name in [*FLOWS, "F1"]},
        }
        for row in [*r.runs, *r["others"]]
    ]

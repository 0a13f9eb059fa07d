"""Fig. 11: the testbed experiment, simulated. What is marked in each 100 ms, the interval of the paper's figure."""

import math
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe, units

P0, ROOT = "T0->T2", "T2->R1"
"""The port that A0 makes undetermined, and the receiver's port, which is congested."""
F0, F1, A0 = 0, 1, 2
STEP = 1e11
"""Interval of the paper's figure [ps]."""
NAMES = ["PFC", "Credits"]


def per_interval(run: Run) -> dict[str, Any]:
    """Marked shares of F0 and F1 by interval. F0 meets no congested port, F1 meets P0 before the receiver's: what P0 puts on F0, and R1's port on F1,
    is what arrives."""
    start, stop = float(run.flows["start_ps"][A0]), run.flows["end_ps"][A0]
    end = observe.end(run)
    states = observe.states(run, P0)
    ends = [*states["time_ps"].to_list()[1:], end]
    undetermined = sum(
        max(min(to, stop) - max(since, start), 0.0)
        for since, to, s in zip(states["time_ps"].to_list(), ends, states["state"].to_list(), strict=True)
        if s == "undetermined"
    )
    shares = {"f0_ue": (F0, "ue", P0), "f0_ce": (F0, "ce", P0), "f1_ue": (F1, "ue", P0), "f1_ce": (F1, "ce", ROOT)}
    times = observe.flow_rate(run, F0).select("time_ps")
    return {
        "start": start,
        "stop": stop,
        "end": end,
        "undetermined": undetermined / (stop - start),
        "lost": observe.lost(run),
        "marked": times.with_columns(**{name: _shares(run, *of) for name, of in shares.items()}),
    }


def _shares(run: Run, flow: int, mark: str, port: str) -> pl.Series:
    """Share of the frames of a flow that arrive in each interval with this mark of this port."""
    of = run.marks.filter(pl.col("flow") == flow, pl.col("mark").cast(pl.String) == mark, pl.col("port").cast(pl.String) == port)["time_ps"].to_numpy()
    found = []
    for end, rate in observe.flow_rate(run, flow).rows():
        # Frames of 1000 B without a header.
        frames = rate * STEP / 1e12 / 8e3
        found.append(int(((of > end - STEP) & (of <= end)).sum()) / frames if frames else math.nan)
    return pl.Series(found)


def shares(r: Results) -> dict[str, dict[str, float]]:
    """Smallest share during whole intervals of A0's time, largest outside it: one more interval after its end is left for the port to be released."""
    found = {}
    for row in r.runs:
        during = (pl.col("time_ps") - STEP >= row["start"]) & (pl.col("time_ps") <= row["stop"])
        outside = (pl.col("time_ps") <= row["start"]) | (pl.col("time_ps") - 2 * STEP >= row["stop"])
        inside, rest = row["marked"].filter(during), row["marked"].filter(outside)
        found[row["case"]] = {
            "ue_during": inside["f0_ue"].min(),
            "ue_outside": rest["f0_ue"].max(),
            "ce": row["marked"]["f0_ce"].max(),
            "f1_during": inside["f1_ce"].min(),
            "f1_outside": rest["f1_ce"].max(),
            "undetermined": row["undetermined"],
            "lost": row["lost"],
        }
    return found


def words(r: Results) -> str:
    """A sentence a flow control."""
    return " ".join(_words(row, shares(r)[row["case"]]) for row in r.runs)


def _words(row: Row, s: dict[str, float]) -> str:
    return (
        f"{row['case']}: A0 sends from {units.time(row['start'])} to {units.time(row['stop'])}. Within that time at least {units.share(s['ue_during'])} of F0 is UE, "
        f"outside at most {units.share(s['ue_outside'])}; within it at least {units.share(s['f1_during'])} of F1 is CE."
    )


def table(r: Results) -> list[dict[str, str]]:
    return [
        {"Flow control": row["case"], "Interval": f"to {units.time(m['time_ps'])}"}
        | {head: units.share(m[name]) for head, name in (("F0 UE", "f0_ue"), ("F0 CE", "f0_ce"), ("F1 UE", "f1_ue"), ("F1 CE", "f1_ce"))}
        for row in r.runs
        for m in row["marked"].iter_rows(named=True)
    ]

"""Figures of TCD's claims."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Results, Row, draw
from xoff.lab.observe import MS

STATES = {"non_congestion": "#009e73", "undetermined": "#e69f00", "congestion": "#d55e00"}
"""Colours of the states of a port."""
MARKS = {"ue": "#56b4e9", "ce": "#cc79a7"}
"""Colours of the marks."""
PORTS = ["P0", "P1", "P2", "P3"]
FLOWS = ["F0", "F1", "F2"]


def _queue(axes: Axes, row: Row, port: str, label: str, **more: Any) -> None:
    draw.line(axes, row["queue"].filter(port=port), label, y=1e3, **more)


def _states(axes: Axes, row: Row, title: str = "State of the port") -> None:
    """A lane a port."""
    for y, port in enumerate(PORTS):
        states = row["states"].filter(port=port)
        ends = [*states["time_ps"].to_list()[1:], row["end"]]
        for begin, end, state in zip(states["time_ps"].to_list(), ends, states["state"].to_list(), strict=True):
            axes.broken_barh([(begin / MS, (end - begin) / MS)], (y - 0.4, 0.8), color=STATES[state])
    _lanes(axes, row, PORTS, STATES, title)


def _marks(axes: Axes, row: Row, by: str, lanes: list[str], title: str, port: str = "") -> None:
    """A lane a port or a flow, with a dash for each marked frame."""
    for y, lane in enumerate(lanes):
        for mark, colour in MARKS.items():
            of = row["marks"].filter(pl.col(by) == lane, pl.col("mark") == mark, pl.col("port") == port if port else True)
            times = of["time_ps"].to_numpy() / MS
            axes.vlines(times, y - 0.4, y + 0.4, colors=colour, linewidth=0.2, rasterized=len(times) > 2000)
    _lanes(axes, row, lanes, MARKS, title)


def _lanes(axes: Axes, row: Row, lanes: list[str], colours: dict[str, str], title: str) -> None:
    for name, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=5, label=name.replace("_", "-") if "_" in name or len(name) > 2 else name.upper())
    axes.set(yticks=range(len(lanes)), yticklabels=lanes, ylim=(len(lanes) - 0.5, -0.5), xlim=(0, row["end"] / MS))
    draw.label(axes, "Time [ms]", "", title)


def ordinary(r: Results) -> Figure:
    """Queue, rate and marks of P2, a column a fabric."""
    figure, axes = draw.panels(3, 2)
    names = {"CEE": "CEE: PFC and ECN", "InfiniBand": "InfiniBand: credits and FECN"}
    for fabric, (queue, rate, marks) in zip(r.value("FABRICS"), axes.T, strict=True):
        row = r.runs[fabric["name"]]
        _queue(queue, row, "P2", "queue of P2")
        draw.instant(queue, fabric["until"] / MS, "paper: end of ON and OFF")
        draw.level(queue, 500, "paper: over 500 KB")
        draw.label(queue, "", "Queue of P2 [KB]", names[row["case"]])
        draw.line(rate, row["rate"], y=1e9)
        draw.label(rate, "", "Rate of P2 [Gb/s]")
        _marks(marks, row, "flow", FLOWS, "Marks of P2", "P2")
    return figure


def same_evolution(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    for one, w in zip(axes.flat, r.value("WINDOWS"), strict=True):
        one.axvspan(w["first"], w["last"], color="0.92", label="paper: the same evolution")
        _queue(one, r.runs[f"{w['name']} one"], "P2", "one congestion point")
        _queue(one, r.runs[f"{w['name']} two"], "P2", "two congestion points")
        draw.label(one, "Time [ms]", "Queue of P2 [KB]", w["name"])
    return figure

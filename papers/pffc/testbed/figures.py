"""Figures of PFFC's claims with real frames."""

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Results, draw
from xoff.lab.observe import MS


def _bars(axes: Axes, names: Sequence[str], values: Sequence[float], color: str | None = None) -> None:
    axes.bar(range(len(names)), values, 0.5, color=color)
    axes.set_xticks(range(len(names)), [n.replace(", ", ",\n") for n in names], fontsize=7)


def hops(r: Results) -> Figure:
    figure, axes = draw.panels()
    axes.plot([1, 2, 3, 4], [rate / 1e6 for rate in r.value("throughputs")], "o-", label="PFFC", color=draw.color("pffc", 0))
    draw.level(axes, 50, "half the line")
    axes.set(ylim=(0, 105), xticks=[1, 2, 3, 4])
    draw.label(axes, "Switches", "Mean throughput [Mb/s]")
    return figure


def loss(r: Results) -> Figure:
    figure, axes = draw.panels()
    _bars(axes, [cell.replace(" of the buffer", "") for cell in r.value("cells")], [100 * of["share"].mean for of in r.value("mean").values()])
    draw.label(axes, "", "Frames lost [%]")
    return figure


def table3(r: Results) -> Figure:
    figure, axes = draw.panels()
    _bars(axes, r.value("cells"), [100 * of.mean for of in r.value("share").values()])
    for nth, paper in enumerate(r.value("PAPER").values()):
        axes.hlines(100 * paper, nth - 0.3, nth + 0.3, color="0.2", label="paper" if nth == 0 else "")
    draw.label(axes, "", "Share of the link [%]")
    return figure


def spreading(r: Results) -> Figure:
    return _throughput(r, 35)


def deadlock(r: Results) -> Figure:
    return _throughput(r, 105)


def _throughput(r: Results, high: float) -> Figure:
    """Throughput of each flow over time, one panel a cell."""
    cells, first = r.value("cells"), r.value("first")
    figure, (axes,) = draw.panels(1, len(cells))
    for cell, at in zip(cells, axes, strict=True):
        curves = first[cell]["rates"].group_by("flow", maintain_order=True) if cell in first else []
        for (flow,), of in curves:
            draw.line(at, of.select("time_ps", "y"), f"flow {flow + 1}", x=MS, y=1e6)
        at.set_ylim(0, high)
        draw.label(at, "Time [ms]", "Throughput [Mb/s]", cell)
    return figure


def mice(r: Results) -> Figure:
    """Mean completion times as groups of bars, and how those of all mice next to the first kind of elephants are distributed."""
    names, times = {"pfc": "PFC", "pffc": "PFFC"}, r.value("times")
    figure, ((left, right),) = draw.panels(1, 2)
    first = next(iter(r.named))
    for nth, (scheme, name) in enumerate(names.items()):
        color = draw.color(scheme, 0)
        left.bar([i - 0.2 + 0.4 * nth for i in range(len(times))], [of[scheme]["all"].mean / MS for of in times.values()], 0.4, label=name, color=color)
        runs = r[first].where(flow_control=scheme, counts=True)
        if runs:
            all_ = pl.concat([row["mice"] for row in runs])["time"].sort().to_numpy()
            right.plot(all_ / MS, [(i + 1) / len(all_) for i in range(len(all_))], label=name, color=color)
    left.set_xticks(range(len(times)), list(times))
    right.set_xscale("log")
    draw.label(left, "", "Completion time [ms]", "Mean completion time")
    draw.label(right, "Time [ms]", "Share of mice", f"Distribution, {first}")
    return figure

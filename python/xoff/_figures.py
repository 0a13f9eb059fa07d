"""Figures that need no probes: slowdown by size, throughput, a fabric's windows, runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ._palette import COLORS, DEADLOCK, color
from ._plot import RunFigure, time_unit, title
from ._run import Run
from ._slowdown import EDGES, by_size, edges, sized
from ._units import size

if TYPE_CHECKING:
    from ._compare import Comparison

BARS_MAX = 24
"""Bars of a panel: more cannot be read."""
POINTS_MAX = 20_000
"""Flows that are drawn one by one: more are drawn as every n-th."""


def _axes(axes: Axes, label: str) -> None:
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6, axis="y")
    axes.set_axisbelow(True)


def _by_factor(axes: Axes, room: float = 1.1) -> None:
    """Axis of a slowdown: logarithmic from 1, with plain numbers and ``room`` above."""
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.9)
    _, top = axes.get_ylim()
    axes.set_ylim(top=max(top * room, 2.2))
    ticks = [t for t in (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000) if t <= axes.get_ylim()[1]]
    axes.set_yticks(ticks[:: max(1, len(ticks) // 7)])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _sizes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: size(v)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def slowdown(run: Run) -> Figure:
    """Every flow, and percentiles by size."""
    flows = sized(run)
    figure = RunFigure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    _axes(axes, "Slowdown (completion time / ideal)")
    axes.set_title(title(run), fontsize=10, loc="left")
    if flows.is_empty():
        axes.text(0.5, 0.5, "no flow has a size and a route", transform=axes.transAxes, ha="center", va="center", color="0.35")
        return figure
    done, late = flows.filter(pl.col("slowdown").is_not_null()), flows.filter(pl.col("slowdown").is_null())
    step = flows.height // POINTS_MAX + 1
    axes.scatter(done["size_bytes"][::step], done["slowdown"][::step], s=9, color="0.6", linewidths=0, label=f"finished flows: {done.height:,}")
    if late.height:
        label = f"unfinished, at least: {late.height:,}"
        axes.scatter(late["size_bytes"][::step], late["at_least"][::step], s=22, marker="^", color=DEADLOCK, linewidths=0, label=label)
    distinct = flows["size_bytes"].n_unique()
    # Of a whole distribution of sizes, bins with as many flows each show most; of few sizes, the sizes.
    starts = edges(flows["size_bytes"], 8) if flows.height >= 80 and distinct > 20 else list(EDGES)
    table = by_size(flows, starts).filter(pl.col("p50").is_not_null())
    if done.height >= 8:
        middles = [_middle(flows, row["from_bytes"], row["to_bytes"]) for row in table.rows(named=True)]
        # Bounds mean little where most flows are unfinished.
        counts = [n - late if 2 * late <= n else 0 for n, late in table.select("flows", "unfinished").rows()]
        lines = (("p50", 1, "median", COLORS[0], "-"), ("p95", 20, "95th percentile", COLORS[4], "--"), ("p99", 100, "99th percentile", COLORS[1], "-"))
        for p, least, name, color, style in lines:
            # A 99th percentile of fewer flows than 100 is their largest value.
            points = [(x, y) for x, y, n in zip(middles, table[p].to_list(), counts, strict=True) if n >= least]
            if points:
                axes.plot(*zip(*points, strict=True), linestyle=style, color=color, marker="o", markersize=4, label=name)
    _sizes(axes)
    _by_factor(axes, room=1.8)
    if distinct == 1:
        only = float(flows["size_bytes"][0])
        axes.set_xlim(only / 3, only * 3)
    axes.set_xlabel("Size of flow")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def _middle(flows: pl.DataFrame, begin: int, end: int | None) -> float:
    inside = flows.filter((pl.col("size_bytes") >= begin) & ((pl.col("size_bytes") < end) if end is not None else pl.lit(True)))
    return float(inside["size_bytes"].median() or 1.0)  # type: ignore[arg-type]


def throughput(run: Run) -> Figure:
    """Throughput of the flows over the run, and the fullest ingress buffers."""
    figure = RunFigure(figsize=(8, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1)
    end = max(run.manifest["simulated_seconds"], 1e-12)
    took = pl.when(pl.col("end_ps").is_null()).then(end * 1e12 - pl.col("start_ps")).otherwise(pl.col("fct_ps")).clip(1.0)
    flows = run.flows.select(
        (pl.lit("flow ") + pl.col("flow").cast(pl.String) + pl.lit(": ") + pl.col("src").cast(pl.String) + pl.lit(" to ") + pl.col("dst").cast(pl.String)).alias("name"),
        (pl.col("bytes_delivered") * 8 / took * 1e12 / 1e9).alias("y"),
        pl.col("end_ps").is_null().alias("open"),
    )
    _bars(above, flows, "Goodput of flow [Gb/s]", "there are no flows", ["fastest", "slowest"])
    ports = run.ports.select(pl.col("port").cast(pl.String).alias("name"), (pl.col("ingress_bytes_max") / 1e3).alias("y"), pl.lit(False).alias("open"))
    _bars(below, ports.filter(pl.col("y") > 0), "Fullest ingress [KB]", "every ingress buffer stayed empty", ["fullest", None])
    above.set_title(title(run), fontsize=10, loc="left")
    deadlock = run.deadlock
    if deadlock:
        above.set_title(f"deadlock: {' '.join(deadlock[:4])}{' ...' if len(deadlock) > 4 else ''}", fontsize=9, loc="right", color=DEADLOCK)
    return figure


def _bars(axes: Axes, rows: pl.DataFrame, label: str, missing: str, ends: list[str | None]) -> None:
    _axes(axes, label)
    if rows.is_empty():
        axes.text(0.5, 0.5, missing, transform=axes.transAxes, ha="center", va="center", color="0.35")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    if rows.height > BARS_MAX:
        ordered = rows.sort(["y", "name"], descending=[True, False])
        half = BARS_MAX // 2 if ends[1] else BARS_MAX
        rows = pl.concat([ordered.head(half), ordered.tail(half)]) if ends[1] else ordered.head(half)
        words = f"{half} {ends[0]}" + (f" and {half} {ends[1]}" if ends[1] else "")
        axes.text(1, 1.0, f"{words} of {ordered.height:,}", transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color="0.35")
    colors = [COLORS[4] if late else COLORS[0] for late in rows["open"]]
    axes.bar(range(rows.height), rows["y"], color=colors, width=0.7)
    if rows["open"].any() and not rows["open"].all():
        axes.text(0, 1.0, "orange: unfinished, up to the end", transform=axes.transAxes, ha="left", va="bottom", fontsize=8, color="0.35")
    long = max(map(len, rows["name"])) * rows.height > 90
    axes.set_xticks(range(rows.height), rows["name"].to_list(), fontsize=7, rotation=90 if rows.height > 12 else 30 if long else 0, ha="right" if long and rows.height <= 12 else "center")
    axes.set_xlim(-0.6, rows.height - 0.4)


def windows(run: Run) -> Figure:
    """A scheduled fabric, stretch by stretch."""
    frame = run.windows
    figure = RunFigure(figsize=(8, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    unit, scale = time_unit(float(frame["time_ps"].max() or 1))  # type: ignore[arg-type]
    times = frame["time_ps"] / scale
    spans = frame["time_ps"].diff().fill_null(frame["time_ps"][0] if frame.height else 1).cast(pl.Float64).clip(1.0)
    for name, column, color in (("other outputs", "cold_bytes", COLORS[0]), ("hotspots", "hot_bytes", COLORS[1])):
        rate = frame[column].cast(pl.Float64) * 8 / spans * 1e12 / 1e9
        if float(rate.sum()) > 0:
            above.plot(times, rate, color=color, label=name)
    below.plot(times, frame["hot_queue_bytes_max"].cast(pl.Float64) / 1e3, color=COLORS[1], label="fullest hotspot queue")
    for axes, label in ((above, "Throughput [Gb/s]"), (below, "Queue [KB]")):
        _axes(axes, label)
        axes.set_ylim(bottom=0)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    below.set_xlabel(f"Time [{unit}]")
    above.set_title(title(run), fontsize=10, loc="left")
    return figure


def compared(c: Comparison) -> Figure:
    """Median and 99th percentile of the slowdown by size, side by side."""
    figure = RunFigure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    table = c.slowdown
    bins = table["size"].unique(maintain_order=True).to_list()
    width = 0.8 / max(len(c.names), 1)
    for axes, p, heading in zip(panels, ("p50", "p99"), ("Median", "99th percentile"), strict=True):
        _axes(axes, "Slowdown" if p == "p50" else "")
        for i, name in enumerate(c.names):
            rows = table.filter((pl.col("side") == name) & pl.col(p).is_not_null())
            x = [bins.index(b) + (i - (len(c.names) - 1) / 2) * width for b in rows["size"]]
            axes.bar(x, rows[p], width * 0.9, color=color(name, i), label=name)
            low, high = rows[f"{p}_low"], rows[f"{p}_high"]
            if rows.height and not low.is_null().any():
                errors = [(rows[p] - low).to_list(), (high - rows[p]).to_list()]
                axes.errorbar(x, rows[p], errors, fmt="none", ecolor="0.2", elinewidth=1, capsize=2)
        axes.set_xticks(range(len(bins)), bins, fontsize=8, rotation=20 if len(bins) > 2 else 0, ha="right" if len(bins) > 2 else "center")
        axes.set_title(heading, fontsize=10, loc="left")
        if not bins:
            axes.text(0.5, 0.5, "no flow has a size and a route", transform=axes.transAxes, ha="center", va="center", color="0.35")
    if bins:
        _by_factor(panels[0])
        panels[1].legend(frameon=False, fontsize=8)
    late = int(table["unfinished"].sum())
    figure.suptitle(" / ".join(c.names) + (f" ({late:,} unfinished flows count with their age)" if late else ""), fontsize=10)
    return figure

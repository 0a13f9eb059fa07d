"""A run as a figure."""

from __future__ import annotations

import difflib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ._palette import COLORS, DEADLOCK
from ._run import Run

LINES_MAX = 8
"""Largest number of lines in a panel, unless ports are named."""
STYLES = ("-", "--", ":", "-.")

if TYPE_CHECKING:
    Line = tuple[str, pl.DataFrame]


class RunFigure(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def plot(run: Run, ports: str | Sequence[str] | None, kind: str | None) -> Figure:
    """The figure of a kind; by default the most informative one."""
    from . import _figures

    kind = _kind(run, ports) if kind is None else kind
    fabric = "flows" not in run.tables
    kinds = {"windows": _figures.windows} if fabric else {"time": lambda r: over_time(r, ports), "slowdown": _figures.slowdown, "throughput": _figures.throughput}
    if kind not in kinds:
        what = "a run of a scheduled fabric" if fabric else "a run of a network"
        raise ValueError(f"{what} has no figure '{kind}' (expected one of {', '.join(kinds)})")
    if ports is not None and kind != "time":
        raise ValueError(f"ports: the figure '{kind}' has none to choose (kind='time' has)")
    return kinds[kind](run)


def _kind(run: Run, ports: object) -> str:
    if "flows" not in run.tables:
        return "windows"
    if ports is not None or not run.queues.is_empty() or not run.rates.is_empty():
        return "time"
    return "slowdown" if not run.slowdown().is_empty() else "throughput"


def over_time(run: Run, ports: str | Sequence[str] | None) -> Figure:
    """Queues above, rates below, over the same time."""
    chosen = _chosen(run, ports)
    end_ps = run.manifest["simulated_seconds"] * 1e12
    unit, scale = time_unit(end_ps)
    figure = RunFigure(figsize=(8, 5.4), layout="constrained")
    queues, rates = figure.subplots(2, 1, sharex=True)
    _panel(queues, _queues(run, chosen), scale, 1e3, "Ingress queue [KB]", _no_queues(run))
    lines, label = _rates(run, chosen)
    _panel(rates, lines, scale, 1e9, label, _no_rates(run))
    if end_ps > 0:
        rates.set_xlim(0, end_ps / scale)
    rates.set_xlabel(f"Time [{unit}]")
    queues.set_title(title(run), fontsize=10, loc="left")
    _deadlocks(run, (queues, rates), scale, unit)
    return figure


def _chosen(run: Run, ports: str | Sequence[str] | None) -> list[str] | None:
    if ports is None:
        return None
    names = [ports] if isinstance(ports, str) else list(ports)
    known = run.ports["port"].cast(pl.String).to_list()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"ports: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
            raise ValueError(f"there is no port '{name}' ({hint})")
    return names


def _of(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.filter(pl.col("port") == name)


def _queues(run: Run, chosen: list[str] | None) -> list[Line]:
    # All priorities of a port together: one buffer behind one link.
    ingress = run.queues.filter(pl.col("kind") == "ingress")
    together = ingress.group_by("time_ps", "port").agg(pl.col("bytes").sum().alias("y")).sort("time_ps")
    if chosen is None:
        fullest = together.group_by("port").agg(pl.col("y").max()).filter(pl.col("y") > 0)
        fullest = fullest.with_columns(pl.col("port").cast(pl.String)).sort(["y", "port"], descending=[True, False])
        chosen = fullest["port"].to_list()
    return [(name, _of(together, name)) for name in chosen]


def _rates(run: Run, chosen: list[str] | None) -> tuple[list[Line], str]:
    """Rates of the chosen ports, else of the flows, else of the busiest ports."""
    measured = run.rates.filter(pl.col("source") == "measured").rename({"rate_bps": "y"})
    of_flows = measured.filter(pl.col("flow").is_not_null())
    of_ports = measured.filter(pl.col("flow").is_null()).sort("time_ps")
    if chosen is not None:
        return [(name, _of(of_ports, name)) for name in chosen], "Rate of port [Gb/s]"
    if not of_flows.is_empty():
        hosts = run.flows.with_columns(pl.col("src", "dst").cast(pl.String))
        ends = {flow: f"flow {flow}: {src} to {dst}" for flow, src, dst in hosts.select("flow", "src", "dst").rows()}
        parts = of_flows.sort("flow", "time_ps").partition_by("flow", maintain_order=True)
        return [(ends[part["flow"][0]], part) for part in parts], "Rate of flow [Gb/s]"
    busiest = of_ports.group_by("port").agg(pl.col("y").mean()).filter(pl.col("y") > 0)
    busiest = busiest.with_columns(pl.col("port").cast(pl.String)).sort(["y", "port"], descending=[True, False])
    return [(name, _of(of_ports, name)) for name in busiest["port"].to_list()], "Rate of port [Gb/s]"


def _panel(axes: Axes, lines: list[Line], scale: float, unit: float, label: str, missing: str) -> None:
    drawn = _merged([(name, line) for name, line in lines if not line.is_empty()])
    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.spines[["top", "right"]].set_visible(False)
    if not drawn:
        axes.text(0.5, 0.5, missing, transform=axes.transAxes, ha="center", va="center", color="0.35")
        axes.set_yticks([])
        return
    axes.grid(color="0.9", linewidth=0.6)
    top = 0.0
    # Lines that almost lie on each other stay visible: wide ones below, narrow ones above.
    count = min(len(drawn), LINES_MAX)
    for i, (name, line) in enumerate(drawn[:LINES_MAX]):
        y = line["y"].to_numpy() / unit
        top = max(top, float(y.max()))
        width = 1.2 + min(1.1, 5 / count) * (count - 1 - i)
        style = STYLES[i // len(COLORS) % len(STYLES)]
        axes.plot(line["time_ps"].to_numpy() / scale, y, style, color=COLORS[i % len(COLORS)], linewidth=width, label=name)
    axes.set_ylim(0, top * 1.05 if top > 0 else 1)
    more = f"{LINES_MAX} of {len(drawn)}; choose with ports=" if len(drawn) > LINES_MAX else None
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, title=more, title_fontsize=7)


def _merged(lines: list[Line]) -> list[Line]:
    """Equal lines, as in a symmetric ring, become one line with all names."""
    same: list[tuple[list[str], pl.DataFrame]] = []
    for name, line in lines:
        points = line.select("time_ps", "y")
        names = next((names for names, other in same if other.equals(points)), None)
        if names is None:
            same.append(([name], points))
        else:
            names.append(name)
    return [("\n".join(names[:4] + [f"and {len(names) - 4} more"] * (len(names) > 4)), line) for names, line in same]


def _no_queues(run: Run) -> str:
    if run.queues.is_empty():
        return 'no queues were recorded: probes.interval = "10us", probes.queues = ["all"]'
    return "these queues stayed empty" if run.queues["bytes"].max() == 0 else "these queues were not recorded"


def _no_rates(run: Run) -> str:
    if run.rates.is_empty():
        return 'no rates were recorded: probes.interval = "10us", probes.rates = ["all"]'
    return "these rates were not recorded"


def time_unit(end_ps: float) -> tuple[str, float]:
    for unit, scale in (("s", 1e12), ("ms", 1e9), ("us", 1e6)):
        if end_ps >= scale:
            return unit, scale
    return "ns", 1e3


def title(run: Run) -> str:
    values = dict(zip(run.parameters["path"], run.parameters["value"], strict=True))
    parts = [values.get("run.title"), values.get("flow_control.kind"), values.get("switch.discipline")]
    return ", ".join(p for p in parts if p)


def _deadlocks(run: Run, panels: Sequence[Axes], scale: float, unit: str) -> None:
    first = run.deadlocks.filter(pl.col("cycle") == 0).sort("position")
    if first.is_empty():
        return
    at = first["start_ps"][0] / scale
    cycle = first["port"].cast(pl.String).to_list()
    names = " ".join(cycle) if len(cycle) <= 4 else f"{' '.join(cycle[:4])} ... ({len(cycle)} ports)"
    for axes in panels:
        axes.axvline(at, color=DEADLOCK, linewidth=1.2, linestyle="--")
    right = at > 0.5 * panels[0].get_xlim()[1]
    panels[-1].annotate(
        f"deadlock at {at:.4g} {unit}\n{names}",
        xy=(at, 0.95),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if right else 6, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=DEADLOCK,
        fontsize=8,
    )

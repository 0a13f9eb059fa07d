"""Figures of the random fat-trees."""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Results, draw
from xoff.lab.observe import MS

_COLOURS = {scheme: draw.color(scheme, n) for n, scheme in enumerate(("pfc", "cbfc", "gfc-buffer", "gfc-time"))} | {"entry-ports": "tab:purple"}


def fig15(r: Results) -> Figure:
    figure, axes = draw.panels()
    for name, label, style in (("POINTS", "as published", "-"), ("CAPPED_POINTS", "as run, at most 30 MB", "--")):
        sizes, percent = zip(*r.value(name), strict=True)
        axes.plot([max(size, 1) for size in sizes], [p / 100 for p in percent], label=label, linestyle=style)
    axes.set(xscale="log", ylim=(0, 1))
    draw.label(axes, "Flow size [B]", "Share of the flows")
    return figure


def _bars(axes: Axes, r: Results, part: str, height: Callable[[Any], float], error: Callable[[Any], float] | None = None) -> None:
    """A group for each size, a bar for each flow control."""
    titles, sizes = r.value("TITLES"), r.value("parts")[part]
    for n, (scheme, title) in enumerate(titles.items()):
        at = [nth + (n - 2) * 0.16 for nth in range(len(sizes))]
        errors = [error(of[scheme]) for of in sizes.values()] if error else None
        axes.bar(at, [height(of[scheme]) for of in sizes.values()], 0.15, yerr=errors, label=title, color=_COLOURS[scheme])
    axes.set_xticks(range(len(sizes)), [f"k = {k}" for k in sizes])


def fig16(r: Results) -> Figure:
    figure, axes = draw.panels(1, 3)
    panels = (("(a) No cycle", "free"), ("(b) Deadlock cases", "stuck"), ("(c) Like (b), round robin", "round robin"))
    for one, (title, part) in zip(axes.flat, panels, strict=True):
        if part == "free":
            _bars(one, r, part, lambda p: p.mean / 1e9, lambda p: p.deviation / 1e9)
        else:
            _bars(one, r, part, lambda p: p.tail / 1e9)
        draw.label(one, "", "Throughput per server [Gb/s]", title)
        one.set_ylim(bottom=0)
    return figure


def fig17(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    smallest = {id(p): min(q.slowdown for q in of.values()) for of in r.value("parts")["free"].values() for p in of.values()}
    _bars(axes.flat[0], r, "free", lambda p: p.slowdown / smallest[id(p)])
    _bars(axes.flat[1], r, "stuck", lambda p: p.total("complete") / p.total("flows"))
    draw.label(axes.flat[0], "", "Mean slowdown over the smallest", "(a) No cycle")
    draw.label(axes.flat[1], "", "Share of the flows started", "(b) Deadlock cases: flows completed")
    return figure


def fig18(r: Results) -> Figure:
    figure, axes = draw.panels(2)
    for one, title, of in ((axes[0, 0], "FIFO", r.value("case")), (axes[1, 0], "Round robin", r.value("with_turns"))):
        for scheme in ("pfc", "gfc-buffer"):
            draw.line(one, of[scheme]["windows"], r.value("TITLES")[scheme], scheme, x=MS, y=1e9, drawstyle="steps-pre")
        if title == "FIFO":
            draw.instant(one, r.value("shown")["closed"] / MS, "cycle closes (PFC)")
        draw.label(one, "Time [ms]", "Throughput per server [Gb/s]", title)
    return figure


def fig19(r: Results) -> Figure:
    figure, axes = draw.panels()
    bound = 100 * r.value("BOUND")
    for m in r.value("measured"):
        shares, parts = zip(*m.distribution, strict=True)
        style = "--" if m.rule == "neither" else "-"
        axes.plot([100 * share for share in shares], parts, label=f"k = {m.k}, {m.rule}", drawstyle="steps-post", linestyle=style)
    for x, label in ((0.21, "paper: mean 0.21 %"), (0.49, "paper: largest 0.49 %"), (bound, "m / tau")):
        draw.instant(axes, x, label)
    axes.set(xlim=(0, 1.5 * bound), ylim=(0.9, 1.0))
    draw.label(axes, "Bandwidth taken by messages [%]", "Share of ports and windows")
    return figure

"""Figures of claims: Matplotlib with the style of xoff's figures for papers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.patches
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._figure import STYLE
from .._palette import COLORS, DEADLOCK, color
from .._plot import RunFigure

STYLE_OF_CLAIMS: Any = {**STYLE, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "0.9", "legend.frameon": False}


def panels(rows: int = 1, columns: int = 1, *, width: float = 7.0, height: float = 2.4) -> tuple[Figure, Any]:
    """A figure and its axes: ``axes`` for one panel, else an array as of ``Figure.subplots``. ``height``: inches of a row."""
    figure = RunFigure(figsize=(width, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=rows * columns == 1)


def line(axes: Axes, points: pl.DataFrame, label: str = "", scheme: str = "", *, x: float = 1e9, y: float = 1.0, **more: Any) -> None:
    """A curve of ``time_ps`` (or the first column) and ``y``, divided by ``x`` and ``y``; ``scheme``: a mechanism, whose colour it gets."""
    names = points.columns
    first = "time_ps" if "time_ps" in names else names[0]
    values = points["y" if "y" in names else names[1]].to_numpy() / y
    if scheme:
        more["color"] = color(scheme, len(axes.lines))
    axes.plot(points[first].to_numpy() / x, values, label=label, **more)


def level(axes: Axes, y: float, label: str = "") -> None:
    """A horizontal line, such as a number of the paper."""
    axes.axhline(y, color="0.4", linewidth=0.8, linestyle=":", label=label)


def instant(axes: Axes, x: float, label: str = "") -> None:
    """A vertical line, such as the time of a deadlock."""
    axes.axvline(x, color=DEADLOCK if label == "deadlock" else "0.4", linewidth=0.9, linestyle="--", label=label)


def label(axes: Axes | Sequence[Axes], x: str, y: str, title: str = "") -> None:
    """Names of the axes, and a legend if a curve has a label."""
    for one in [axes] if isinstance(axes, Axes) else axes:
        one.set(xlabel=x, ylabel=y)
        one.set_title(title, loc="left", fontsize=8)
        if one.get_legend_handles_labels()[1]:
            one.legend()


def heat(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[tuple[float, str]]]) -> Figure:
    """A map of shares with a text in each cell; cells of 1 have a frame."""
    figure, axes = panels(width=2.4 + 0.9 * len(columns), height=0.9 + 0.45 * len(rows))
    axes.imshow([[share for share, _ in row] for row in cells], vmin=0, vmax=1, cmap="Greens", aspect="auto")
    for y, row in enumerate(cells):
        for x, (share, text) in enumerate(row):
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if share > 0.6 else "black")
            if share == 1:
                axes.add_patch(mpl.patches.Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, fill=False, edgecolor="black", linewidth=1.4))
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [c.replace(", ", "\n") for c in columns], fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    return figure


def svg(figure: Figure) -> bytes:
    """As SVG, with the same bytes for the same figure."""
    file = io.BytesIO()
    with mpl.rc_context(STYLE_OF_CLAIMS):
        figure.savefig(file, format="svg", metadata={"Creator": "xoff", "Date": None})
    return file.getvalue()


__all__ = ["COLORS", "STYLE_OF_CLAIMS", "color", "heat", "instant", "label", "level", "line", "panels", "svg"]

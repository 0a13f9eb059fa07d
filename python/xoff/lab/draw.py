"""Figures of claims: Matplotlib with the style of xoff's figures for papers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
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


def svg(figure: Figure) -> bytes:
    """As SVG, with the same bytes for the same figure."""
    file = io.BytesIO()
    with mpl.rc_context(STYLE_OF_CLAIMS):
        figure.savefig(file, format="svg", metadata={"Creator": "xoff", "Date": None})
    return file.getvalue()


__all__ = ["COLORS", "STYLE_OF_CLAIMS", "color", "instant", "label", "level", "line", "panels", "svg"]

"""A sweep as a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._palette import color
from ._plot import RunFigure

if TYPE_CHECKING:
    from ._sweep import Sweep

UNITS = {"_bps": (1e9, "Gb/s"), "_bytes": (1e3, "KB"), "_bytes_max": (1e3, "KB"), "_seconds": (1e-3, "ms"), "_ps": (1e9, "ms")}
"""Format of columns, by the end of their name."""


def plot(sweep: Sweep, columns: Sequence[str]) -> Figure:
    """A panel for each column: colours for the first parameter, places for the others."""
    known = sweep.table["column"].unique(maintain_order=True).to_list()
    for name in columns:
        if name not in known:
            raise ValueError(f"there is no column {name!r}: expected one of {', '.join(known)}")
    names = list(columns) or sweep.manifest["shown"] or known[:1]
    figure = RunFigure(figsize=(8, 0.6 + 2.2 * max(len(names), 1)), layout="constrained")
    if not names:
        figure.suptitle(sweep.headline, fontsize=10)
        return figure
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        _panel(axes, sweep, name)
    parameters = sweep.manifest["parameters"]
    panels[-1].set_xlabel(", ".join(parameters[1:] or parameters))
    panels[0].set_title(f"{sweep.manifest['title'] or 'Sweep'}: {sweep.headline}, 95 % intervals", fontsize=10, loc="left")
    if len(parameters) > 1:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=4, fontsize=8, title=parameters[0])
    return figure


def _panel(axes: Axes, sweep: Sweep, name: str) -> None:
    rows = sweep.table.filter(pl.col("column") == name)
    parameters: list[str] = sweep.manifest["parameters"]
    groups = _unique(rows, parameters[:1]) if len(parameters) > 1 else [()]
    places = _unique(rows, parameters[1:] if len(parameters) > 1 else parameters)
    scale, unit = next((u for end, u in UNITS.items() if name.endswith(end)), (1.0, ""))
    if rows["kind"][0] == "share" if len(rows) else False:
        scale, unit = 0.01, "%"
    width = 0.8 / max(len(groups), 1)
    for i, group in enumerate(groups):
        xs, values, errors = [], [], ([], [])  # type: ignore[var-annotated]
        for row in rows.iter_rows(named=True):
            own = tuple(row[p] for p in parameters)
            if len(parameters) > 1 and own[:1] != group:
                continue
            xs.append(places.index(own[1:] if len(parameters) > 1 else own) + (i - (len(groups) - 1) / 2) * width)
            values.append(row["value"] / scale)
            for ends, end in zip(errors, ("low", "high"), strict=True):
                ends.append(0.0 if row[end] is None else abs(row["value"] - row[end]) / scale)
        label = str(group[0]) if group else name
        axes.bar(xs, values, width * 0.92, yerr=errors, capsize=2, color=color(label, i), label=label, error_kw={"lw": 1})
    quantity = re.sub("_(bps|bytes|seconds|ps)(?![a-z])", "", name).replace("_", " ")
    axes.set_ylabel(quantity[:1].upper() + quantity[1:] + (f" [{unit}]" if unit else ""), fontsize=9)
    axes.set_xticks(range(len(places)), [", ".join("" if v is None else str(v) for v in p) or "all" for p in places])
    if len(places) > 12:
        axes.tick_params(axis="x", labelrotation=90, labelsize=7)
    axes.grid(axis="y", alpha=0.3)


def _unique(rows: pl.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return [()] if not columns else rows.select(columns).unique(maintain_order=True).rows()

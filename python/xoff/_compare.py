"""Comparison of runs: different parameters, and different results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from . import _core, _html
from ._run import Run
from ._run import open as open_run
from ._slowdown import Bins, checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Side = Run | str | PathLike[str] | Sequence[Run | str | PathLike[str]]
"""A run, its folder, or several of them: the same scenario with several seeds."""


@dataclass(frozen=True)
class Comparison:
    """Runs side by side. Intervals are those of 95 % (Student's t) over the runs of a side; null if a side is a single run."""

    names: list[str]
    """The sides."""
    runs: list[list[Run]]
    """Their runs."""
    parameters: pl.DataFrame
    """What differs: ``path`` and a column for each side; null: it has no such key. Seeds and titles are left out."""
    measures: pl.DataFrame
    """``measure``, ``unit``, ``side``, ``mean``, ``low``, ``high``, ``runs``, ``at_least`` (true: a lower bound, because flows are unfinished),
    and the difference to the first side: ``difference``, ``difference_low``, ``difference_high`` (run by run where both sides have the same
    seeds, else without an interval; null where the first side is a lower bound)."""
    slowdown: pl.DataFrame
    """Slowdown by size: ``size``, ``from_bytes``, ``to_bytes``, ``side``, ``flows`` and ``unfinished`` of all runs, ``p50``, ``p95``, ``p99``
    (means over the runs; lower bounds where ``unfinished`` is above 0) with ``p50_low``, ``p50_high``, ..."""
    victims: pl.DataFrame
    """Flows that every side has (same seed, number, ends and size), those that the last side slows down most first: ``seed``, ``flow``, ``src``,
    ``dst``, ``size_bytes``, the slowdown on each side (null: unfinished) and ``factor``, last side over first (null: unfinished on one)."""
    pauses: pl.DataFrame
    """By port, the largest change first: ``port``, ``pauses``, ``paused_ps`` and ``blocked_ps`` by side (means over the runs)."""
    headline: str = ""
    """The change in one line."""
    notes: list[str] = field(default_factory=list)
    """Warnings about the numbers: an interrupted run, another version of xoff, equal results."""
    _starts: list[int] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        parts = [self.headline, *(f"Note: {note}." for note in self.notes)]
        with pl.Config(tbl_rows=12, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=40):
            for heading, frame in self._shown():
                if not frame.is_empty():
                    parts.append(f"{heading}\n{frame.head(12)}")
        return "\n".join(parts)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [
            ("Measures", self.measures.select("measure", "unit", "side", "mean", "low", "high", "at_least", "difference")),
            ("Slowdown by size", self.slowdown.select("size", "side", "flows", "unfinished", "p50", "p95", "p99", "p99_low", "p99_high")),
            ("Flows that the last side slows down most", self.victims.head(10)),
            ("Pauses by port", self.pauses.head(10)),
            ("Parameters that differ", self.parameters),
        ]

    def _repr_html_(self) -> str:
        tables = [_html.table(f.columns, f.rows(), heading) for heading, f in self._shown()]
        return _html.headline(self.headline) + "".join(tables)

    def plot(self) -> Figure:
        """Slowdown by size, side by side: medians and 99th percentiles, with their intervals."""
        from ._figures import compared

        return compared(self)


def compare(*sides: Side, names: Sequence[str] | None = None, bins: Bins | None = None) -> Comparison:
    """Compares runs: what differs in their parameters, slowdown by size, victims and pauses. The numbers are those of ``xoff compare``.

        pfc, gfc = (xoff.run("ring.toml", flow_control=kind) for kind in ("pfc", "gfc-buffer"))
        print(xoff.compare(pfc, gfc))
        xoff.compare([run(seed) for seed in range(5)], [other(seed) for seed in range(5)])      # with intervals

    A side is a run, a folder, or a list of these: seeds of one scenario. ``names``: of the sides; default: the parameter that differs.
    ``bins``: as of :meth:`xoff.Run.slowdown`; they are the same for all sides.
    """
    if len(sides) < 2:
        raise TypeError(f"compare: expected two runs or more, not {len(sides)}")
    runs = [_runs(side) for side in sides]
    for of in runs:
        for run in of:
            if "flows" not in run.tables:
                raise TypeError("compare: a run of a scheduled fabric has other tables; compare its windows and fabric_ports")
    given = [[_given(run) for run in of] for of in runs]
    answer = json.loads(_core.compare(given, None if names is None else list(names), checked(bins)))
    chosen = [side["name"] for side in answer["sides"]]
    return Comparison(
        chosen,
        runs,
        _parameters(chosen, answer["parameters"]),
        _measures(answer["measures"]),
        _slowdown(answer["slowdown"]),
        _victims(chosen, answer["victims"]),
        _pauses(chosen, answer["pauses"]),
        answer["headline"],
        answer["notes"],
        answer["bins"],
    )


def _runs(side: Side) -> list[Run]:
    if isinstance(side, Run):
        return [side]
    if isinstance(side, (str, PathLike)):
        return [open_run(side)]
    return [run if isinstance(run, Run) else open_run(run) for run in side]


def _given(run: Run) -> str | tuple[str, tuple[list[_core.Flow], list[_core.Port]] | None]:
    """A run as the extension takes it: its folder, or its rows."""
    if run.folder is not None:
        return str(run.folder)
    flows = run.flows.select(
        "flow", pl.col("src", "dst").cast(pl.String), "size_bytes", "start_ps", "ideal_fct_ps", "slowdown", "bytes_delivered", "ce_frames", "ue_frames"
    )
    ports = run.ports.select(pl.col("port").cast(pl.String), "pauses", "paused_ps", "blocked_ps", "ingress_bytes_max", "marked")
    return json.dumps(run.manifest), (flows.rows(), ports.rows())


def _parameters(names: list[str], rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([[r["path"], *r["values"]] for r in rows], schema=dict.fromkeys(["path", *names], pl.String), orient="row")


def _measures(rows: list[dict[str, Any]]) -> pl.DataFrame:
    texts, ends = dict.fromkeys(("measure", "unit", "side"), pl.String), ("mean", "low", "high")
    schema = {**texts, **dict.fromkeys(ends, pl.Float64), "runs": pl.UInt32, "at_least": pl.Boolean}
    differences = {"difference": "mean", "difference_low": "low", "difference_high": "high"}
    values = [[r[c] for c in schema] + [(r["difference"] or {}).get(end) for end in differences.values()] for r in rows]
    return pl.DataFrame(values, schema={**schema, **dict.fromkeys(differences, pl.Float64)}, orient="row")


def _slowdown(rows: list[dict[str, Any]]) -> pl.DataFrame:
    heads = {"size": pl.String, "from_bytes": pl.UInt64, "to_bytes": pl.UInt64, "side": pl.String, "flows": pl.UInt64, "unfinished": pl.UInt64}
    ends = {"": "mean", "_low": "low", "_high": "high"}
    floats = {f"{p}{end}": pl.Float64 for p in ("p50", "p95", "p99") for end in ends}
    values = [[r[c] for c in heads] + [r[p][end] for p in ("p50", "p95", "p99") for end in ends.values()] for r in rows]
    return pl.DataFrame(values, schema={**heads, **floats}, orient="row")


def _victims(names: list[str], rows: list[dict[str, Any]]) -> pl.DataFrame:
    heads = {"seed": pl.UInt64, "flow": pl.UInt64, "src": pl.String, "dst": pl.String, "size_bytes": pl.UInt64}
    values = [[r[c] for c in heads] + r["slowdowns"] + [r["factor"]] for r in rows]
    return pl.DataFrame(values, schema=heads | dict.fromkeys([*names, "factor"], pl.Float64), orient="row")


def _pauses(names: list[str], rows: list[dict[str, Any]]) -> pl.DataFrame:
    kinds = ("pauses", "paused_ps", "blocked_ps")
    schema = {"port": pl.String} | {f"{kind}, {name}": pl.Float64 for kind in kinds for name in names}
    return pl.DataFrame([[r["port"], *(v for kind in kinds for v in r[kind])] for r in rows], schema=schema, orient="row")

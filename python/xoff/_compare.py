"""Runs side by side: what differs in their parameters, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from . import _core, _html
from ._run import Run
from ._run import open as open_run
from ._slowdown import Bins, by_size, edges, percentile, size, sized

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Side = Run | str | PathLike[str] | Sequence[Run | str | PathLike[str]]
"""A run, its folder, or several of them: the same scenario with several seeds."""

NOT_COMPARED = ("run.seed", "run.title")


@dataclass(frozen=True)
class Comparison:
    """Runs side by side. Intervals are those of 95 % (Student's t) over the runs of a side; null where a side is a single run."""

    names: list[str]
    """The sides."""
    runs: list[list[Run]]
    """Their runs."""
    parameters: pl.DataFrame
    """What differs: ``path`` and a column for each side; null: it has no such key. Seeds and titles are left out."""
    measures: pl.DataFrame
    """``measure``, ``unit``, ``side``, ``mean``, ``low``, ``high``, ``runs``, and the difference to the first side: ``difference``,
    ``difference_low``, ``difference_high`` (run by run where both sides have the same seeds, else without an interval)."""
    slowdown: pl.DataFrame
    """Slowdown by size: ``size``, ``from_bytes``, ``to_bytes``, ``side``, ``flows`` and ``unfinished`` of all runs, ``p50``, ``p95``, ``p99`` of
    finished flows (means over the runs) with ``p50_low``, ``p50_high``, ..."""
    victims: pl.DataFrame
    """Flows that every side has (same seed, number, ends and size), those that the last side slows down most first: ``seed``, ``flow``, ``src``,
    ``dst``, ``size_bytes``, the slowdown on each side (null: unfinished) and ``factor``, last side over first (null: unfinished on one)."""
    pauses: pl.DataFrame
    """By port, the largest change first: ``port``, ``pauses`` and ``pause_ps`` by side (means over the runs), credit stalls as ``hold_ps``."""
    headline: str = ""
    """What changed, in a line."""
    _starts: list[int] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        parts = [self.headline]
        with pl.Config(tbl_rows=12, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=40):
            for heading, frame in self._shown():
                if not frame.is_empty():
                    parts.append(f"{heading}\n{frame.head(12)}")
        return "\n".join(parts)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [
            ("Parameters that differ", self.parameters),
            ("Measures", self.measures.select("measure", "unit", "side", "mean", "low", "high", "difference")),
            ("Slowdown by size", self.slowdown.select("size", "side", "flows", "unfinished", "p50", "p95", "p99", "p99_low", "p99_high")),
            ("Flows that the last side slows down most", self.victims.head(10)),
            ("Pauses by port", self.pauses.head(10)),
        ]

    def _repr_html_(self) -> str:
        tables = [_html.table(f.columns, f.rows(), heading) for heading, f in self._shown()]
        return _html.headline(self.headline) + "".join(tables)

    def plot(self) -> Figure:
        """Slowdown by size, side by side: medians and 99th percentiles, with their intervals."""
        from ._figures import compared

        return compared(self)


def compare(*sides: Side, names: Sequence[str] | None = None, bins: Bins | None = None) -> Comparison:
    """Compares runs: what differs in their parameters, slowdown by size, victims and pauses.

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
    parameters = [_parameters(of) for of in runs]
    chosen = _names(names, parameters)
    differing = _differing(chosen, parameters)
    all_flows = [[sized(run) for run in of] for of in runs]
    starts = edges(pl.concat([f["size_bytes"] for of in all_flows for f in of]), bins)
    measures = _measures(chosen, runs, all_flows)
    slowdown = _slowdown(chosen, all_flows, starts)
    pauses = _pauses(chosen, runs)
    headline = _headline(chosen, runs, measures)
    return Comparison(chosen, runs, differing, measures, slowdown, _victims(chosen, runs, all_flows), pauses, headline, starts)


def _runs(side: Side) -> list[Run]:
    if isinstance(side, Run):
        return [side]
    if isinstance(side, (str, PathLike)):
        return [open_run(side)]
    runs = [run if isinstance(run, Run) else open_run(run) for run in side]
    if not runs:
        raise ValueError("compare: a side has no runs")
    seeds = [run.manifest["seed"] for run in runs]
    if len(runs) > 1 and len(set(seeds)) != len(seeds):
        raise ValueError(f"compare: runs of one side need different seeds, not {', '.join(map(str, seeds))}: the same one gives the same run again")
    return runs


def _parameters(of: list[Run]) -> dict[str, str]:
    """Of a side; values that differ among its runs stand together."""
    found: dict[str, list[str]] = {}
    for run in of:
        for path, value in zip(run.parameters["path"], run.parameters["value"], strict=True):
            if path not in NOT_COMPARED and value not in found.setdefault(path, []):
                found[path].append(value)
    return {path: " | ".join(values) for path, values in found.items()}


def _names(names: Sequence[str] | None, parameters: list[dict[str, str]]) -> list[str]:
    if names is not None:
        if len(names) != len(parameters) or len(set(names)) != len(names):
            raise ValueError(f"names: expected {len(parameters)} different names, not {list(names)}")
        return list(names)
    paths = list(dict.fromkeys(path for p in parameters for path in p))
    # Kinds of mechanisms name a side best.
    for path in sorted(paths, key=lambda p: not p.endswith(".kind")):
        values = [p.get(path) for p in parameters]
        if None not in values and len(set(values)) == len(values):
            return [v if path.endswith(".kind") else f"{path.rsplit('.', 1)[-1]} {v}" for v in values if v is not None]
    return [chr(ord("A") + i) if i < 26 else f"side {i}" for i in range(len(parameters))]


def _differing(names: list[str], parameters: list[dict[str, str]]) -> pl.DataFrame:
    paths = list(dict.fromkeys(path for p in parameters for path in p))
    rows = [[path, *(p.get(path) for p in parameters)] for path in paths if len({p.get(path) for p in parameters}) > 1]
    return pl.DataFrame(rows, schema=dict.fromkeys(["path", *names], pl.String), orient="row")


def _measured(run: Run, flows: pl.DataFrame) -> list[tuple[str, str, float | None]]:
    done = sorted(flows["slowdown"].drop_nulls().to_list())
    ports = run.ports
    seconds = run.manifest["simulated_seconds"]
    delivered = float(run.flows["bytes_delivered"].sum())
    victims = run.flows.filter((pl.col("ue_frames") > 0) & (pl.col("ce_frames") == 0)).height if int(run.flows["ue_frames"].sum()) else 0
    return [
        ("deadlocks", "share of runs", float(run.deadlock is not None)),
        ("lost frames", "frames", float(run.lost_frames)),
        ("flows unfinished", "flows", float(run.verdict.incomplete)),
        ("slowdown, mean", "", sum(done) / len(done) if done else None),
        ("slowdown, median", "", percentile(done, 50)),
        ("slowdown, 99th percentile", "", percentile(done, 99)),
        ("goodput of all flows", "bit/s", delivered * 8 / seconds if seconds else None),
        ("pauses", "", float(ports["pauses"].sum())),
        ("time paused, all ports", "us", float(ports["pause_ps_total"].sum()) / 1e6),
        ("time held, all ports", "us", float(ports["hold_ps_total"].sum()) / 1e6),
        ("fullest ingress", "bytes", float(ports["ingress_bytes_max"].max() or 0)),  # type: ignore[arg-type]
        ("marked frames", "frames", float(ports["marked"].sum())),
        ("flows marked UE alone", "flows", float(victims)),
    ]


def _mean(values: list[float]) -> tuple[float | None, float | None, float | None]:
    """Mean and interval; no interval of a single value."""
    if not values:
        return None, None, None
    mean, low, high, n = _core.mean(values)
    return (mean, low, high) if n > 1 else (mean, None, None)


def _measures(names: list[str], runs: list[list[Run]], flows: list[list[pl.DataFrame]]) -> pl.DataFrame:
    sides = [{run.manifest["seed"]: _measured(run, f) for run, f in zip(of, fs, strict=True)} for of, fs in zip(runs, flows, strict=True)]
    rows: list[list[object]] = []
    for i, (measure, unit, _) in enumerate(next(iter(sides[0].values()))):
        of = [{seed: m[i][2] for seed, m in side.items()} for side in sides]
        if all(v in (None, 0.0) for values in of for v in values.values()) and measure not in ("deadlocks", "lost frames"):
            continue
        for name, values in zip(names, of, strict=True):
            here = [v for v in values.values() if v is not None]
            mean, low, high = _mean(here)
            rows.append([measure, unit, name, mean, low, high, len(here), *_difference(of[0], values)])
    floats = dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64)
    heads = {"measure": pl.String, "unit": pl.String, "side": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "runs": pl.UInt32}
    return pl.DataFrame(rows, schema={**heads, **floats}, orient="row")


def _difference(first: dict[Any, float | None], other: dict[Any, float | None]) -> list[float | None]:
    if first is other:
        return [None, None, None]
    if set(first) == set(other):
        pairs = [(a, b) for a, b in ((first[seed], other[seed]) for seed in first) if a is not None and b is not None]
        return list(_mean([b - a for a, b in pairs]))
    means = [_mean([v for v in side.values() if v is not None])[0] for side in (first, other)]
    return [None if None in means else means[1] - means[0], None, None]  # type: ignore[operator]


def _slowdown(names: list[str], flows: list[list[pl.DataFrame]], starts: list[int]) -> pl.DataFrame:
    percentiles = ("p50", "p95", "p99")
    rows: list[dict[str, object]] = []
    frames = [[by_size(f, starts) for f in of] for of in flows]
    for begin in starts:
        for name, of in zip(names, frames, strict=True):
            here = [row for frame in of for row in frame.filter(pl.col("from_bytes") == begin).rows(named=True)]
            if not here:
                continue
            row: dict[str, object] = {k: here[0][k] for k in ("size", "from_bytes", "to_bytes")} | {"side": name}
            row |= {k: sum(r[k] for r in here) for k in ("flows", "unfinished")}
            for p in percentiles:
                row[p], row[f"{p}_low"], row[f"{p}_high"] = _mean([r[p] for r in here if r[p] is not None])
            rows.append(row)
    whole = dict.fromkeys(("flows", "unfinished"), pl.UInt64)
    floats = {f"{p}{end}": pl.Float64 for p in percentiles for end in ("", "_low", "_high")}
    heads = {"size": pl.String, "from_bytes": pl.UInt64, "to_bytes": pl.UInt64, "side": pl.String}
    return pl.DataFrame(rows, schema={**heads, **whole, **floats})


def _victims(names: list[str], runs: list[list[Run]], flows: list[list[pl.DataFrame]]) -> pl.DataFrame:
    """The same flow on every side: only seeds that all sides have draw the same traffic."""
    key = ["flow", "src", "dst", "size_bytes"]
    empty = pl.DataFrame(schema={"seed": pl.UInt64, "flow": pl.UInt64, "src": pl.String, "dst": pl.String, "size_bytes": pl.UInt64} | dict.fromkeys([*names, "factor"], pl.Float64))
    seeds = [[run.manifest["seed"] for run in of] for of in runs]
    common = [s for s in seeds[0] if all(s in other for other in seeds)]
    found = []
    for seed in common:
        one: pl.DataFrame | None = None
        for name, of, fs in zip(names, seeds, flows, strict=True):
            side = fs[of.index(seed)].select(*key, pl.col("slowdown").alias(name))
            one = side if one is None else one.join(side, on=key, how="inner")
        if one is not None:
            found.append(one.select(pl.lit(seed, pl.UInt64).alias("seed"), pl.all()))
    if not found:
        return empty
    factor = pl.concat(found).with_columns((pl.col(names[-1]) / pl.col(names[0])).alias("factor"))
    # Unfinished only on the last side: the worst of all. Unfinished on every side: no victim of the change.
    factor = factor.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in names))
    worst = pl.when(pl.col(names[-1]).is_null()).then(float("inf")).when(pl.col(names[0]).is_null()).then(0.0).otherwise(pl.col("factor"))
    return factor.sort([worst, pl.col("seed"), pl.col("flow")], descending=[True, False, False])


def _pauses(names: list[str], runs: list[list[Run]]) -> pl.DataFrame:
    columns = {"pauses": "pauses", "pause_ps_total": "pause_ps", "hold_ps_total": "hold_ps"}
    merged: pl.DataFrame | None = None
    for name, of in zip(names, runs, strict=True):
        all_ports = pl.concat([run.ports.select(pl.col("port").cast(pl.String), *columns).lazy().collect() for run in of])
        means = all_ports.group_by("port").agg(pl.col(c).cast(pl.Float64).sum() / len(of) for c in columns)
        side = means.rename({c: f"{short}, {name}" for c, short in columns.items()})
        merged = side if merged is None else merged.join(side, on="port", how="full", coalesce=True)
    assert merged is not None
    shown = merged.select("port", *(f"{short}, {name}" for short in columns.values() for name in names)).fill_null(0.0)
    numbers = [c for c in shown.columns if c != "port"]
    shown = shown.filter(pl.any_horizontal(pl.col(c) > 0 for c in numbers))
    change = (pl.col(f"hold_ps, {names[-1]}") - pl.col(f"hold_ps, {names[0]}")).abs()
    paused = (pl.col(f"pause_ps, {names[-1]}") - pl.col(f"pause_ps, {names[0]}")).abs()
    return shown.with_columns((change + paused).alias("change")).sort(["change", "port"], descending=[True, False]).drop("change")


def _headline(names: list[str], runs: list[list[Run]], measures: pl.DataFrame) -> str:
    parts: list[str] = []
    locked = [sum(run.deadlock is not None for run in of) for of in runs]
    if len(set(locked)) > 1 or any(locked):
        parts.append("deadlock in " + ", ".join(f"{n} of {len(of)} ({name})" for n, of, name in zip(locked, runs, names, strict=True)))
    for measure, words in (("lost frames", "frames lost"), ("slowdown, 99th percentile", "99th percentile of slowdown"), ("time paused, all ports", "time paused"), ("fullest ingress", "fullest ingress")):
        rows = measures.filter(pl.col("measure") == measure).rows(named=True)
        values = [r["mean"] for r in rows]
        if len(rows) < len(names) or None in values or len(set(values)) == 1:
            continue
        shown = [_words(r["mean"], r["unit"]) for r in rows]
        last = rows[-1]
        apart = last["difference_low"] is not None and (last["difference_low"] > 0 or last["difference_high"] < 0)
        sure = "" if last["difference_low"] is None else " (beyond chance at 95 %)" if apart else " (within chance at 95 %)"
        parts.append(f"{words} {' -> '.join(shown)}{sure}")
    head = " -> ".join(names)
    return f"{head}: {'; '.join(parts) if parts else 'no difference in deadlocks, losses, slowdown, pauses and queues'}"


def _words(value: float, unit: str) -> str:
    if unit == "bytes":
        return size(value)
    return f"{value:,.4g}{' ' + unit if unit else ''}"

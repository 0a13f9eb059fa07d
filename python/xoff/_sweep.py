"""Many runs of one scenario, one row each."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._progress import Line, Progress
from ._run import Run, start
from ._settings import settings, text

if TYPE_CHECKING:
    import polars as pl


class _Stop(Exception):
    """Another run failed, or the user has seen enough."""


def sweep(
    scenario: str | PathLike[str],
    grid: Mapping[str, Iterable[Any]],
    /,
    *,
    measure: Callable[[Run], Mapping[str, Any]] | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    workers: int = 1,
    progress: bool = True,
    **overrides: Any,
) -> pl.DataFrame:
    """Runs a scenario with every combination of ``grid`` and returns a Polars frame, one row each, in the grid's order.

        xoff.sweep("ring.toml", {"flow_control": ["pfc", "gfc-buffer"], "seed": range(3)})

    Names are those of :func:`xoff.run`'s overrides, and ``seed``; the last one changes fastest. The columns: one for each
    name of the grid, then ``result_hash``, ``deadlock`` (ports of the cycle, or null), ``simulated_seconds``, ``events``,
    ``frame_hops``, ``dropped_frames``, ``lost_frames``, ``flows_completed``, ``flows_total``, ``ended_because``,
    ``wall_seconds``, ``answer`` and ``headline`` (of :class:`xoff.Verdict`); then what
    ``measure`` makes of each run: ``measure=lambda run: {"queue_bytes_max": run.ports["ingress_bytes_max"].max()}``.

    ``out``: folder for the runs, ``0000``, ``0001``, ...; without it and without ``measure`` no tables are kept. It is refused
    and, with ``force``, used as by :func:`xoff.run`.
    ``workers``: runs at a time; it changes no result. ``overrides`` hold for every run.

    A run that fails ends the sweep; its combination is noted on the exception.
    """
    import polars as pl

    values = {name: list(of) for name, of in grid.items()}
    for name, of in grid.items():
        if isinstance(of, str):
            raise TypeError(f"{name}: expected a list of values, such as [{of!r}]")
    combinations = [dict(zip(values, c, strict=True)) for c in itertools.product(*values.values())]
    line, stop = Line(), threading.Event()
    output = None if out is None else _core.Output(out, "sweep", force)

    def check(_: Progress) -> None:
        if stop.is_set():
            raise _Stop

    def one(index: int, combination: dict[str, Any]) -> dict[str, Any]:
        if stop.is_set():
            raise _Stop
        folder = None if output is None else output.own(f"{index:04}")
        named = {"run.seed" if name == "seed" else name: value for name, value in combination.items()}
        try:
            keep = measure is not None
            threads = None if workers == 1 else 1  # the cores are busy with other runs
            run = start(scenario, settings(overrides, named), out=folder, force=force, keep=keep, threads=threads, progress=check, stacklevel=5)
            measured = {} if measure is None else dict(measure(run))
        except _Stop:
            raise
        except Exception as e:
            e.add_note(f"in the run with {_words(combination)}")
            raise
        return {**{name: _cell(v) for name, v in combination.items()}, **_row(run), **measured}

    rows: dict[int, dict[str, Any]] = {}
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            futures: dict[Future[dict[str, Any]], int] = {
                pool.submit(one, i, c): i for i, c in enumerate(combinations)
            }
            waiting = set(futures)
            while waiting:
                if progress:
                    line.write(f"{Path(scenario).name}: {len(rows)} of {len(combinations)} runs")
                # Not for ever: on some systems a waiting thread receives no Ctrl-C.
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    rows[futures[future]] = future.result()
        finally:
            # After an interrupt runs under way end at their next progress callback, and the others do not start.
            stop.set()
            line.clear()
    if output is not None:
        output.settle()
    return pl.DataFrame([rows[i] for i in range(len(rows))], infer_schema_length=None, schema_overrides={"deadlock": pl.List(pl.String)})


def _row(run: Run) -> dict[str, Any]:
    columns = (
        "result_hash",
        "deadlock",
        "simulated_seconds",
        "events",
        "frame_hops",
        "dropped_frames",
        "lost_frames",
        "flows_completed",
        "flows_total",
        "ended_because",
        "wall_seconds",
    )
    verdict = {"answer": run.verdict.answer, "headline": run.verdict.headline}
    return {name: run.manifest[name] for name in columns} | verdict


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value) if isinstance(value, Mapping) else text(value)


def _words(combination: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in combination.items())

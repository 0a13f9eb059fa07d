"""Many runs of one scenario: a plan, any executor, one table."""

from __future__ import annotations

import functools
import io
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from . import _core, _html
from ._ask import aside
from ._errors import Problem, RunError, ScenarioWarning
from ._identity import identity
from ._numbers import perhaps
from ._progress import Line, Step, StepCallback
from ._run import Run
from ._settings import quoted, text

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Measure = Callable[[Run], Mapping[str, Any]]
Returned = tuple[str, list[tuple[str, bytes]]]

LOOK = 0.2
"""Interval between two checks of executors [s]."""
TRIES = 3
"""Number of attempts for a run whose worker died."""


class Executor(Protocol):
    """Interface of an executor for :func:`sweep`: ``submit``, and futures with ``done`` and ``result``."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep."""

    runs: pl.DataFrame
    """A row for each run that ended: ``run``, the parameters, ``seed``, ``status``, what was measured, ``error``."""
    table: pl.DataFrame
    """A row for each combination and column: mean or share over the seeds with its 95 % interval, and the difference to the first
    combination, seed by seed."""
    manifest: dict[str, Any]
    """All about it: ``runs`` (``total``, ``done``, ``failed``, ``missing``), ``parameters``, ``seeds``, ``runs_hash``, ..."""
    folder: Path | None
    """Folder of the results; ``None``: in memory only."""
    page: str
    """The report as HTML; the file ``index.html`` of the folder."""

    @property
    def headline(self) -> str:
        """Number of completed runs, in words."""
        return cast(str, self.manifest["headline"])

    @property
    def complete(self) -> bool:
        """Whether every run has a result."""
        runs = self.manifest["runs"]
        return cast(bool, runs["done"] == runs["total"])

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The runs that failed: ``run``, ``values``, ``error``."""
        return cast("list[dict[str, Any]]", self.manifest["failed"])

    @property
    def missing(self) -> list[int]:
        """Numbers of the missing runs."""
        return cast("list[int]", self.manifest["missing"])

    @property
    def report(self) -> Path | None:
        """The report, to be opened in a browser."""
        return None if self.folder is None else self.folder / "index.html"

    def plot(self, *columns: str) -> Figure:
        """A panel for each column (default: those of the report), with 95 % intervals.

        The first parameter gives the colours, the others the places. Returns a figure and shows nothing:
        ``sweep.plot("throughput_bps").savefig("sweep.pdf")``.
        """
        from ._plot_sweep import plot

        return plot(self, columns)

    def __repr__(self) -> str:
        title = self.manifest["title"]
        return f"<xoff.Sweep {title + ': ' if title else ''}{self.headline}, {self.manifest['combinations']} combinations>"

    def _repr_html_(self) -> str:
        shown = self.table.filter(self.table["column"].is_in(self.manifest["shown"]))
        heads = [*self.manifest["parameters"], "column", "n", "value", "low", "high"]
        rows = shown.select(heads).rows()
        return _html.headline(self.headline, "yes" if self.complete else "no") + _html.table(heads, rows, self.manifest["intervals"])


def sweep(
    plan: str | PathLike[str] | Mapping[str, Any],
    executor: Executor | None = None,
    *,
    out: str | PathLike[str] | None = None,
    measure: Measure | None = None,
    workers: int | None = None,
    force: bool = False,
    progress: bool | StepCallback = True,
) -> Sweep:
    """Runs a scenario with every combination of values and every seed.

        xoff.sweep({
            "scenario": "ring.toml",
            "grid": {"flow_control": ["pfc", "gfc-buffer"], "switch.discipline": ["fifo", "round-robin"]},
            "seeds": 10,
        }).plot()

    ``plan``: a plan file, as for ``xoff sweep``, or a mapping with the same keys: ``scenario`` (or ``study``), ``seeds`` (their number,
    or a list), ``grid``, ``point`` (a list of mappings), ``set``, ``show``, ``tables``, ``title``. Every combination has the same seeds.

    ``executor``: any ``concurrent.futures.Executor``, Dask's client, MPI's ``MPIPoolExecutor``, submitit's ``AutoExecutor``; by default
    all cores of this machine, ``workers`` at a time. A worker needs xoff of the same version and no folder: it receives plan and
    scenario, and returns its row; only files that the scenario names itself must be there too. A run whose worker died is submitted
    again, twice at most.

    ``out``: folder of the results, as that of ``xoff sweep``. Every finished run is kept there at once, and the same call continues where
    a killed one stopped. Without ``out`` the results are only in the returned value. ``force``: use a folder that holds something else.

    ``measure``: further columns, ``measure=lambda run: {"queue": run.queues["bytes"].mean()}``; a Polars frame is kept with the run. Where other processes execute the runs it
    must be a function that they can import.

    ``progress``: a line on stderr if that is a terminal; or a function that is called with :class:`xoff.Step`.

    A run that fails is a row with its error, and a warning. Raises :class:`xoff.ScenarioError` if the plan is wrong, with file, line,
    column and hint; :class:`xoff.RunError` if results cannot be kept, or runs did not come back: what did is in its attribute
    ``partial``, and kept.
    """
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"an executor has a method submit; {type(executor).__name__} has none")
    workers = perhaps("workers", workers, least=1)
    core = _core.Sweep(*_given(plan), "" if measure is None else f"measure {identity(measure)}")
    for fields in core.warnings():
        warnings.warn(str(Problem(*fields)), ScenarioWarning, stacklevel=2)
    if out is not None:
        return _sweep(core, executor, Path(out), True, measure, workers, force, progress)
    with tempfile.TemporaryDirectory(prefix="xoff-sweep-") as folder:
        return _sweep(core, executor, Path(folder), False, measure, workers, force, progress)


def _sweep(
    core: _core.Sweep,
    executor: Executor | None,
    folder: Path,
    stays: bool,
    measure: Measure | None,
    workers: int | None,
    force: bool,
    progress: bool | StepCallback,
) -> Sweep:
    core.claim(folder, force)
    line = Line()
    report = progress if callable(progress) else line.step("sweep") if progress and line.shown else None
    try:
        lost = drive(core, executor, measure, workers, report)
        line.clear()
        result = _collected(core, folder, stays)
    finally:
        line.clear()
        core.release()
    if lost:
        error = not_returned(core, lost, f" (finished runs are kept in {folder}; the same call continues)" if stays else "")
        error.partial = result  # type: ignore[attr-defined]
        raise error from min(lost.items(), key=lambda item: item[0])[1]
    if result.failed:
        first = result.failed[0]
        what = f"{len(result.failed)} of {len(core)} runs failed; run {first['run']} ({first['values']}): {first['error']}"
        warnings.warn(what, ScenarioWarning, stacklevel=3)
    return result


def drive(core: Any, executor: Executor | None, measure: Measure | None, workers: int | None, report: StepCallback | None) -> dict[int, BaseException]:
    """Executes the runs without a result, each kept as soon as it is finished; returns the runs that failed to return, with reasons."""
    if executor is None and measure is None and isinstance(core, _core.Sweep):
        aside(lambda: core.run(workers), core.stop, None if report is None else lambda: report(_step(core)))
        return {}
    if executor is not None:
        # Dask's client is no executor itself.
        return _drive(core, executor.get_executor() if hasattr(executor, "get_executor") else executor, measure, report)
    # A measure is Python; the runs are not, and hold no lock.
    with ThreadPoolExecutor(workers or _cores()) as threads:
        try:
            return _drive(core, threads, measure, report)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def not_returned(core: Any, lost: Mapping[int, BaseException], more: str = "") -> RunError:
    """The error about runs that did not return."""
    index, why = min(lost.items(), key=lambda item: item[0])
    return RunError(f"{len(lost)} of {len(core)} runs did not come back; run {index} ({core.words(index)}): {type(why).__name__}: {why}{more}")


def _step(core: _core.Sweep) -> Step:
    done, what, left = core.step()
    return Step(done, what if left is None else f"{what}, {left:.0f} s left")


def cell(plan: str | _core.Sweep, index: int, measure: Measure | None) -> Returned:
    """Task of a worker: one run of a plan, which is frozen in another process."""
    run = functools.partial(_core.sweep_cell, plan) if isinstance(plan, str) else plan.cell
    kept, tables, ended = run(index, measure is not None)
    if measure is None or ended is None:
        return kept, tables
    shard = json.loads(kept)
    # Its words are the parameters: ``flow_control=pfc, seed=3``.
    taken = {"run", "status", "error"} | {name for name, _ in shard["values"]} | {w.partition("=")[0] for w in shard["cell"].split(", ")}
    try:
        values, frames = split(measure(Run(json.loads(ended.manifest), dict(ended.tables()), None)))
        for name, _ in values:
            if name in taken:
                raise ValueError(f"'{name}' is a column of the results already; choose another name")
        shard["values"] += values
        tables = [*tables, *frames]
    except Exception as e:  # noqa: BLE001 - it is the run's
        own = "" if isinstance(e, RunError) else f"{type(e).__name__}: "
        shard |= {"status": "failed", "error": f"measure: {own}{e}", "values": []}
    return json.dumps(shard) + "\n", tables


def split(measured: Mapping[str, Any]) -> tuple[list[list[Any]], list[tuple[str, bytes]]]:
    """What was measured: columns, and frames as Parquet."""
    import polars as pl

    values, frames = [], []
    for name, value in dict(measured).items():
        if isinstance(value, pl.DataFrame):
            buffer = io.BytesIO()
            value.write_parquet(buffer)
            frames.append((str(name), buffer.getvalue()))
        else:
            values.append([str(name), _plain(name, value)])
    return values, frames


def _drive(core: Any, executor: Executor, measure: Measure | None, report: StepCallback | None) -> dict[int, BaseException]:
    """Submits the runs without a result to an executor; returns the runs that failed to return, with reasons."""
    todo = core.unfinished()
    if isinstance(core, _core.Sweep):
        plan = core if isinstance(executor, ThreadPoolExecutor) else core.freeze()
        task: Callable[[int], tuple[Any, ...]] = lambda index: (cell, plan, index, measure)
    else:
        task = core.task
    kept, ended, failed, begun = len(core) - len(todo), 0, 0, time.monotonic()
    tries: dict[int, int] = dict.fromkeys(todo, 1)
    lost: dict[int, BaseException] = {}
    pending: dict[Any, int] = {}

    def submit(index: int) -> None:
        try:
            pending[executor.submit(*task(index))] = index
        except Exception as e:  # noqa: BLE001 - an executor that is shut down, or broken
            lost[index] = e

    try:
        for index in todo:
            submit(index)
        while pending:
            for future in _ended(list(pending)):
                index = pending.pop(future)
                try:
                    shard, tables = future.result()
                except Exception as e:  # noqa: BLE001 - whatever became of a worker
                    if tries[index] < TRIES and not isinstance(e, BrokenExecutor):
                        tries[index] += 1
                        submit(index)
                    else:
                        lost[index] = e
                    continue
                try:
                    failed += not core.put(index, shard, tables)
                    ended += 1
                except (TypeError, ValueError) as e:  # no row of this run: another version, another function
                    lost[index] = e
            if report is not None:
                left = (time.monotonic() - begun) * (len(todo) - ended) / ended if ended else 0.0
                what = f"{kept + ended} of {len(core)} runs{f', {failed} failed' if failed else ''}, {left:.0f} s left"
                report(Step((kept + ended) / len(core), what))
    except BaseException:
        for future in pending:
            if hasattr(future, "cancel"):
                future.cancel()
        raise
    return lost


def _ended(futures: Sequence[Any]) -> list[Any]:
    """Completed futures; waits for a short time if there are none. Not forever: a waiting thread may receive no Ctrl-C."""
    if all(isinstance(f, Future) for f in futures):
        return list(wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED").done)
    done = [f for f in futures if f.done()]
    if not done:
        time.sleep(LOOK)
    return done


def _collected(core: _core.Sweep, folder: Path, stays: bool) -> Sweep:
    import polars as pl

    manifest, runs = core.collect()
    given = json.loads(manifest)
    # Parameters are texts here, whatever they look like in the file, and ends of intervals numbers where there are none.
    types = dict.fromkeys(given["parameters"], pl.String) | dict.fromkeys(_ENDS, pl.Float64)
    table = pl.read_csv(folder / "table.csv", schema_overrides=types)
    # An apostrophe keeps spreadsheets from reading a formula.
    table = table.with_columns(pl.col("column", *given["parameters"]).str.strip_prefix("'"))
    page = (folder / "index.html").read_text(encoding="utf-8")
    return Sweep(pl.DataFrame(runs), table, given, folder if stays else None, page)


_ENDS = ("low", "high", "difference_low", "difference_high")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(name: object, value: Any) -> bool | int | float | str | None:
    """A value of a column."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        number = float(value)
        return number if number - number == 0 else None
    raise TypeError(f"{name}: a measure is a number, a text, a bool or None, not {type(value).__name__}")


def _given(plan: str | PathLike[str] | Mapping[str, Any]) -> tuple[str, str | None]:
    """A file; or the folder in which its scenario is looked up, and the text of a plan."""
    if not isinstance(plan, Mapping):
        return fspath(plan), None
    top, sections = [], []
    for key, value in plan.items():
        if value is None:
            continue
        if key == "point":
            if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
                raise TypeError(f"point: expected a list of mappings, not {type(value).__name__}")
            sections += ["[[point]]\n" + _pairs("point", point) for point in value]
        elif isinstance(value, Mapping):
            sections.append(f"[{_key(key)}]\n" + _pairs(key, value))
        else:
            top.append(f"{_key(key)} = {_toml(value)}\n")
    return "", "".join(top) + "\n" + "\n".join(sections)


def _pairs(section: str, values: object) -> str:
    if not isinstance(values, Mapping):
        raise TypeError(f"{section}: expected a mapping from keys to values, not {type(values).__name__}")
    return "".join(f"{_key(path)} = {_toml(value)}\n" for name, inner in values.items() for path, value in _flat(section, name, inner))


def _flat(section: str, path: object, value: Any) -> Iterator[tuple[object, Any]]:
    """The keys below a name that stands for a section; ``None`` leaves what the file says."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(section, f"{path}.{name}", inner)
    elif section != "grid":
        yield from () if value is None else [(path, value)]
    elif isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{path}: expected a list of values, such as [{value!r}]")
    else:
        yield path, list(value)


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{name!r}: a key is a text, not {type(name).__name__}")
    return quoted(name.replace("__", "."))


def _toml(value: Any) -> str:
    if isinstance(value, (str, PathLike)):
        return quoted(str(value))
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return text(value)

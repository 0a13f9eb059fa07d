"""One run: started here, or read back from its folder."""

from __future__ import annotations

import functools
import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from . import _core
from ._ask import aside
from ._errors import RunError, ScenarioWarning
from ._numbers import perhaps
from ._progress import Callback, Line, Progress, StepCallback
from ._settings import settings

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ._compare import Comparison, Side
    from ._figure import PaperFigure
    from ._laws import FlowControl, FlowFacts, LoadBalancing, RateControl
    from ._slowdown import Bins
    from ._waiting import CongestionTree, Explanation

TABLES = tuple(_core.tables())
"""The tables of a run: of a network, and of a scheduled fabric; docs/tables.md has their columns."""
LAWS = ("flow_control", "rate_control", "load_balancing")
"""The sections whose law may be written in Python."""


@dataclass(frozen=True)
class Slowdown:
    """Completion time of the flows over the shortest possible one.

    An unfinished flow has no completion time (``slowdown`` is null in :attr:`Run.flows`). It is counted here with its age at the end,
    a lower bound; leaving it out would make a network that does not finish its largest flows appear fast.
    """

    flows: int
    """Number of flows with a size and a route."""
    censored: int
    """Unfinished flows among them. Above 0: all values are lower bounds."""
    mean: float
    median: float
    p99: float
    """99th percentile."""

    def __str__(self) -> str:
        values = f"mean {self.mean:.2f}, median {self.median:.2f}, 99th percentile {self.p99:.2f}"
        if self.censored == 0:
            return f"{values} (flows: {self.flows})"
        return f"at least: {values} (flows: {self.flows}; unfinished and counted with their age: {self.censored})"


@dataclass(frozen=True)
class Verdict:
    """The verdict of a run: the answer in the headline, the manifest and the exit code of ``xoff run``."""

    answer: Literal["yes", "no", "interrupted"]
    """``no``: a deadlock, lost frames or a violated check. Exit code 0, 1 or 130."""
    headline: str
    """One line: ``no deadlock, 0 frames lost``."""
    lost_frames: int
    """All frames that did not arrive: dropped by nodes, lost between them, or rejected."""
    losses: dict[str, int]
    """Those frames by cause, such as ``buffer-full`` or ``on-failed-link``."""
    lost_control_frames: int
    """Acknowledgements, CNPs, CNMs and control frames among them."""
    deadlock: Literal["none", "found", "not-watched"]
    """``not-watched``: the deadlock detector was off, see :attr:`why`."""
    promises: Literal["kept", "violated", "not-checked", "not-made"]
    """Loss, order, conservation and accounting; ``not-checked``: ``run.checks`` is false."""
    violations: int
    """Checks violated."""
    incomplete: int
    """Flows with a size that did not complete."""
    nothing_ran: str | None
    """Reason if the run simulated nothing."""
    not_kept: str | None
    """Files that could not be written, such as checkpoints; no result depends on them."""
    why: list[str]
    """Reasons for skipped checks."""

    @classmethod
    def _of(cls, v: dict[str, Any]) -> Self:
        deadlock, promises = v["deadlock"], v["promises"]
        return cls(
            answer=v["answer"],
            headline=v["headline"],
            lost_frames=v["lost_frames"],
            losses=v["losses"]["by_cause"],
            lost_control_frames=v["losses"]["control_frames"],
            deadlock=deadlock["state"],
            promises=promises["state"],
            violations=promises.get("violations", 0),
            incomplete=v["work"]["incomplete"],
            nothing_ran=v["nothing_ran"],
            not_kept=v.get("not_kept"),
            why=[part["why"] for part in (deadlock, promises) if "why" in part],
        )

    def __bool__(self) -> bool:
        """True if the answer is ``yes``: use ``assert run.verdict`` in tests."""
        return self.answer == "yes"


@dataclass(frozen=True)
class Summary:
    """A run in words."""

    ended: str
    """When and why it ended: ``stopped at 20 ms (run.duration)``."""
    active: list[str]
    """Active mechanisms and their effects, one sentence each."""
    inactive: list[str]
    """Mechanisms that were configured and never triggered, one sentence each."""
    warnings: list[str]
    """Warnings about the scenario, one sentence each."""
    headline: str = ""
    """The outcome in one line: ``no deadlock, 0 frames lost``."""
    incomplete: str | None = None
    """Unfinished flows and jobs: ``4 of 4 flows``; ``None``: none."""
    slowdown: Slowdown | None = None
    """Slowdown of the flows, unfinished ones counted."""

    def __str__(self) -> str:
        parts = [f"{self.ended[:1].upper()}{self.ended[1:]}."]
        if self.headline:
            parts.append(f"Result: {self.headline}.")
        if self.incomplete:
            parts.append(f"Incomplete: {self.incomplete}.")
        if self.slowdown:
            parts.append(f"Slowdown {self.slowdown}.")
        for heading, lines in [
            ("Active:", self.active),
            ("Inactive:", self.inactive),
            ("Warnings:", self.warnings),
        ]:
            if lines:
                parts += [heading, *(f"  {line}" for line in lines)]
        return "\n".join(parts)


class Run:
    """Results of a run.

    The tables are Polars frames. Times are in picoseconds since the start (``*_ps``), sizes in bytes (``*bytes*``), rates
    in bit/s (``rate_bps``); a port ``H1->S1`` is H1's egress towards S1, and as an ingress S1's buffer for what H1
    sends. Texts that repeat, such as ports, are categorical.
    """

    manifest: dict[str, Any]
    """Everything about the run except its tables: the contents of ``manifest.json``."""
    folder: Path | None
    """Folder of its files; ``None``: in memory only."""

    def __init__(self, manifest: dict[str, Any], memory: Mapping[str, _core.Table | pl.DataFrame], folder: Path | None) -> None:
        """Made by :func:`xoff.run` and :func:`xoff.open`."""
        self.manifest = manifest
        self.folder = folder
        self._memory = memory

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Any], dict[str, pl.DataFrame], Path | None]]:
        import polars as pl

        # For pickle and copy: to another process, or into a file.
        return type(self), (self.manifest, {name: pl.DataFrame(table) for name, table in self._memory.items()}, self.folder)

    @classmethod
    def _read(cls, path: str | PathLike[str]) -> Self:
        folder = Path(path)
        return cls(json.loads(_core.manifest(folder)), {}, folder)

    def frame(self, table: str) -> pl.DataFrame:
        """A table by name.

        In memory it shares its columns with the run (Arrow's C stream interface, nothing is copied but the keys of
        categories); from a folder it is read.
        """
        import polars as pl

        if table not in TABLES:
            raise ValueError(f"there is no table '{table}' (expected one of {', '.join(TABLES)})")
        if self.folder is not None:
            return self.scan(table).collect()
        if table not in self._memory:
            raise RunError(f"the run has no table '{table}' (it has {', '.join(self._memory)})")
        return pl.DataFrame(self._memory[table])

    def scan(self, table: str) -> pl.LazyFrame:
        """A table by name, lazily: from a Parquet file only the rows and columns that a query needs are read."""
        import polars as pl

        if self.folder is None:
            return self.frame(table).lazy()
        path = self.folder / f"{table}.parquet"
        if path.is_file():
            return pl.scan_parquet(path)
        if not any(self.folder.glob(f"{table}.*")):
            raise RunError(f"cannot read {path}: the run has no such table (expected one of {', '.join(TABLES)})")
        return pl.DataFrame(_core.read_table(self.folder, table)).lazy()

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row for each flow. ``size_bytes`` 2**64 - 1: unlimited.

        ``end_ps`` is the delivery: the last byte arrived at the destination. ``acked_ps`` is the sender's completion: the last
        acknowledgement came back (null without acknowledgements). ``fct_ps`` and ``slowdown`` count to the delivery.
        ``ideal_fct_ps`` is the completion time of the same flow alone in the network, with frames of ``host.frame_max`` minus
        ``host.header`` bytes of payload, at the rate of its application; ``slowdown`` is never below 1.
        ``bytes_delivered`` counts bytes in order, without a gap from the first byte on; ``bytes_arrived`` counts bytes in any order,
        repetitions included. They differ where frames were lost.

        Unfinished flows have no end, completion time and slowdown: percentiles over the column leave them out. :meth:`slowdown` counts them apart.
        """
        return self.frame("flows")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Occupancy of buffers: as often as ``probes.interval``, or at every change."""
        return self.frame("queues")

    @cached_property
    def rates(self) -> pl.DataFrame:
        """Rates of ports and of flows, measured or set by flow control and rate control (``source``)."""
        return self.frame("rates")

    @cached_property
    def control(self) -> pl.DataFrame:
        """Flow control messages."""
        return self.frame("control")

    @cached_property
    def deadlocks(self) -> pl.DataFrame:
        """The ports of every deadlock's cycle, each waiting for the next."""
        return self.frame("deadlocks")

    @cached_property
    def pauses(self) -> pl.DataFrame:
        """Stretches during which a port was not allowed to send; ``end_ps`` null: still at the end.

        ``cause``: ``pause`` (a message, whether a frame waits or not), ``credits`` (a frame waits without credits) or ``flows``
        (only frames of paused flows wait).
        """
        return self.frame("pauses")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """Counters and extremes of every port over the whole run; available without probes."""
        return self.frame("ports")

    @cached_property
    def causes(self) -> pl.DataFrame:
        """Flows that filled a buffer when it paused its upstream neighbour."""
        return self.frame("causes")

    @cached_property
    def states(self) -> pl.DataFrame:
        """Changes of the ternary state of ports (detection ``tcd``, probe ``states``); every port begins without congestion."""
        return self.frame("states")

    @cached_property
    def marks(self) -> pl.DataFrame:
        """Every congestion mark that the ports of probe ``marks`` put on a frame."""
        return self.frame("marks")

    @cached_property
    def windows(self) -> pl.DataFrame:
        """Stretches of a run of a scheduled fabric: throughput, delay, queues and grants held."""
        return self.frame("windows")

    @cached_property
    def fabric_ports(self) -> pl.DataFrame:
        """Counters of the ports of a scheduled fabric, from the end of the warm-up on."""
        return self.frame("fabric_ports")

    @cached_property
    def host_flows(self) -> pl.DataFrame:
        """Flows of hosts in front of a scheduled fabric: rate, limiter and buffers, stretch by stretch."""
        return self.frame("host_flows")

    @cached_property
    def cnms(self) -> pl.DataFrame:
        """Every CNM that buffers of the ports of probe ``cnms`` sent to a source (detection ``qcn``)."""
        return self.frame("cnms")

    @cached_property
    def storms(self) -> pl.DataFrame:
        """Every queue that the watchdog of a switch released, or reported, because its peer paused it for too long."""
        return self.frame("storms")

    @cached_property
    def uplinks(self) -> pl.DataFrame:
        """Every group of uplinks of a switch: how evenly they were loaded, and the flows that collided on them."""
        return self.frame("uplinks")

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """Every iteration of every rank of a job: where its time went."""
        return self.frame("ranks")

    @cached_property
    def collectives(self) -> pl.DataFrame:
        """Every collective of every iteration of a job, with its bandwidths."""
        return self.frame("collectives")

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """The critical path of every iteration of a job, stretch by stretch, each with its cause."""
        return self.frame("critical_path")

    @cached_property
    def operations(self) -> pl.DataFrame:
        """Every operation of the ranks of a job, with its start and end."""
        return self.frame("operations")

    @cached_property
    def parameters(self) -> pl.DataFrame:
        """Every parameter as resolved: its path, its value with its unit, who set it, where a default comes from."""
        import polars as pl

        schema = {name: pl.String for name in ("path", "value", "origin", "source")}
        return pl.DataFrame(self.manifest["parameters"], schema=schema)

    @property
    def result_hash(self) -> str:
        """Hash of all rows: the same for the same scenario and seed, on every machine."""
        return cast(str, self.manifest["result_hash"])

    @property
    def deadlock(self) -> list[str] | None:
        """The ports of the first deadlock's cycle, each waiting for the next; ``None``: none was found.

        Whether the deadlock detector ran is in :attr:`verdict`.
        """
        return cast("list[str] | None", self.manifest["deadlock"])

    @property
    def verdict(self) -> Verdict:
        """The verdict: deadlock, lost frames, violated checks, and skipped checks."""
        verdict = self.manifest.get("verdict")
        if verdict is None:
            raise RunError("the manifest has no verdict: it was written by an earlier version")
        return Verdict._of(verdict)

    @property
    def lost_frames(self) -> int:
        """All frames that did not arrive: dropped by nodes, lost between them, or rejected."""
        return self.verdict.lost_frames

    @property
    def dropped_frames(self) -> int:
        """Frames dropped by nodes; among :attr:`lost_frames`."""
        return cast(int, self.manifest["dropped_frames"])

    def slowdown(self, bins: Bins | None = None) -> pl.DataFrame:
        """Slowdown by size of flow: completion time over the shortest possible one, 1 at best.

        A row for each bin that has flows: ``size`` (``"10 KB to 100 KB"``), ``from_bytes``, ``to_bytes`` (null: no end), ``flows``,
        ``unfinished`` among them, ``mean``, ``p50``, ``p95``, ``p99`` (the smallest value that 99 of 100 do not exceed) and ``max``.
        Unfinished flows have no completion time yet and count with their age at the end, which it will exceed: where ``unfinished`` is above 0,
        all values are lower bounds, as in :attr:`summary` and in the report.

        ``bins``: sizes in bytes at which bins begin (default: 0, 10 KB, 100 KB, 1 MB, 10 MB, 100 MB); or a number of bins with as many flows each.
        """
        from ._slowdown import by_size, edges, sized

        flows = sized(self)
        return by_size(flows, edges(flows["size_bytes"], bins))

    def compare(self, *others: Side, names: Sequence[str] | None = None, bins: Bins | None = None) -> Comparison:
        """Comparison with other runs: :func:`xoff.compare`."""
        from ._compare import compare

        return compare(self, *others, names=names, bins=bins)

    @property
    def tables(self) -> list[str]:
        """Its tables, by name."""
        if self.folder is None:
            return [t for t in TABLES if t in self._memory]
        return [t for t in TABLES if any(self.folder.glob(f"{t}.*"))]

    @property
    def interrupted(self) -> bool:
        """True if the run was interrupted; the tables contain the results until then."""
        return cast(bool, self.manifest["interrupted"])

    @property
    def summary(self) -> Summary:
        """Active and inactive mechanisms, and why the run ended."""
        m = self.manifest
        texts = (m["ended_because"], m["active"], m["inactive"], m["warnings"])
        if m.get("verdict") is None:
            return Summary(*texts)
        work = m["verdict"]["work"]
        incomplete = f"{work['incomplete']} of {work['total']} {work['unit']}" if work["incomplete"] else None
        slowdown = None if m.get("slowdown") is None else Slowdown(**m["slowdown"])
        return Summary(*texts, m["verdict"]["headline"], incomplete, slowdown)

    def explain(
        self, port: str, at: str | int, *, priority: int | None = None, progress: bool | StepCallback = True
    ) -> Explanation:
        """Why did this port not transmit? :func:`xoff.explain` of this run."""
        from ._commands import explain

        return explain(self, port, at, priority=priority, progress=progress, stacklevel=4)

    def tree(
        self,
        at: str | int,
        *,
        svg: str | PathLike[str] | None = None,
        force: bool = False,
        progress: bool | StepCallback = True,
    ) -> CongestionTree:
        """The congestion tree at a time: :func:`xoff.tree` of this run."""
        from ._commands import tree

        return tree(self, at, svg=svg, force=force, progress=progress, stacklevel=4)

    def _refuse_outside(self, verb: str) -> None:
        """A run with a law written in Python cannot be repeated from its scenario alone."""
        values = self.parameters.filter(self.parameters["path"].is_in([f"{section}.kind" for section in LAWS]))["value"]
        outside = [v for v in values if v.startswith("python:")]
        if outside:
            raise ValueError(f"cannot {verb} this run: {', '.join(outside)} is written in Python and not part of its scenario (probes.causes = true notes who filled what)")

    def plot(
        self,
        ports: str | Sequence[str] | None = None,
        *,
        kind: Literal["time", "slowdown", "throughput", "windows"] | None = None,
    ) -> Figure:
        """A figure of the run.

        ``kind="time"``: queues and rates over time, with the time of a deadlock; it needs probes (``probes.interval = "10us"``).
        ``kind="slowdown"``: slowdown over size, every flow and percentiles. ``kind="throughput"``: of every flow, and the fullest
        buffers. ``kind="windows"``: a scheduled fabric's throughput and queues. Default: over time where there were probes or ``ports`` are given,
        else slowdown where flows have sizes, else throughput.

        ``ports``: names such as ``"S1->S2"``; else those with the fullest ingress buffers, and the rates of the flows.
        Returns a figure and shows nothing: ``run.plot().savefig("ring.pdf")``.
        """
        from ._plot import plot

        return plot(self, ports, kind)

    def figure(
        self,
        of: Literal["cycle", "port", "slowdown", "network"],
        *,
        port: str | None = None,
        width: Literal["column", "page"] = "column",
        progress: bool | StepCallback = True,
    ) -> PaperFigure:
        """A figure for a paper, with its caption and its provenance.

            run.figure("cycle").save("ring", formats=("pdf", "png"))

        ``of="cycle"``: the cycle of a deadlock in its network. ``"network"``: each link in the colour of its share of paused time.
        ``"port"``: rate, buffers and pauses of ``port``, such as ``"S1->S2"``, over time; this repeats the run. ``"slowdown"``: slowdown of flows
        over their size. ``width``: one column (3.35 inches) or the page (7 inches).
        """
        from ._figure import figure

        return figure(self, of, port=port, width=width, progress=progress)

    def _repr_html_(self) -> str:
        from ._page import page

        return page(self)

    def __repr__(self) -> str:
        m = self.manifest
        ports = f", deadlock {' '.join(self.deadlock)}" if self.deadlock else ""
        verdict = m.get("verdict")
        return (
            f"<xoff.Run {self.result_hash}: {m['simulated_seconds'] * 1e3:.6g} ms, {m['events']} events, "
            f"{m['flows_completed']} of {m['flows_total']} flows completed{ports}, "
            f"{verdict['headline'] if verdict else 'without a verdict'}>"
        )


def run(
    scenario: str | PathLike[str],
    settings_: Mapping[str, Any] | None = None,
    /,
    *,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    format: str = "parquet",
    seed: int | None = None,
    threads: int | None = None,
    engine: Literal["auto", "windows", "events"] = "auto",
    progress: bool | Callback = True,
    flow_control: str | Mapping[str, Any] | FlowControl | type[FlowControl] | None = None,
    rate_control: str | Mapping[str, Any] | Callable[[FlowFacts], RateControl] | None = None,
    load_balancing: str | Mapping[str, Any] | Callable[[str], LoadBalancing] | None = None,
    **overrides: Any,
) -> Run:
    """Runs a scenario file.

    Overrides replace values of the file. ``switch__discipline="round-robin"`` and, in a mapping,
    ``{"switch.discipline": "round-robin"}`` set a key; ``flow_control="gfc-buffer"`` sets the kind of a section. Quantities
    are texts with their unit (``"10Gbps"``, ``"1us"``, ``"300KB"``); counts, factors and flags may be Python's own.

    ``out``: folder for the tables and ``manifest.json``; else the tables stay in memory. ``format``: of the tables in that folder,
    ``"parquet"`` or another that ``xoff run --help`` names. A folder may hold results of
    an earlier run, which are replaced when the new ones are complete. xoff rejects a folder with other files, unless ``force`` is given;
    files that xoff did not write are never replaced.
    ``seed``: of every random stream. ``threads``: by default as many as the machine has and the network keeps busy, one for a scheduled fabric; they
    never change a result. ``engine``: ``"auto"``, node after node and window by window where that is possible and pays (the manifest's
    ``engine`` and ``engine_because`` say what was done, and why not); ``"windows"``, wherever it is possible; or ``"events"``, the
    reference: all events in one order. The result is the same.
    ``progress``: a line on stderr if that is a terminal; or a function that is called with :class:`xoff.Progress`.
    ``flow_control``, ``rate_control``, ``load_balancing``: the name of a built-in mechanism, a mapping with ``kind`` and its keys, or a class
    written in Python (:class:`xoff.FlowControl`, :class:`xoff.RateControl`, :class:`xoff.LoadBalancing`), which replaces that of the file. Such a run has one thread and is slow; an exception of a
    hook ends it and is raised here, with its traceback and the simulated time, and there is no result.

    Raises :class:`xoff.ScenarioError` if something is wrong with the scenario, :class:`xoff.RunError` if tables cannot be
    written. An interrupt (Ctrl-C), or any exception of a progress function, stops the run cleanly; what was computed
    until then is in the exception's attribute ``partial``, a :class:`xoff.Run`.
    """
    mechanisms: dict[str, Any] = dict(zip(LAWS, (flow_control, rate_control, load_balancing), strict=True))
    laws = {name: law for name, law in mechanisms.items() if _is_law(law)}
    given = settings(settings_ or {}, overrides, {n: v for n, v in mechanisms.items() if n not in laws})
    return start(scenario, given, out=out, force=force, format=format, seed=seed, threads=threads, engine=engine, progress=progress, laws=laws)


def _is_law(value: object) -> bool:
    """True for a law written in Python, false for the name of a built-in one or its keys."""
    return value is not None and not isinstance(value, (str, Mapping))


def _law(section: str, law: Any) -> tuple[str, object]:
    """Its name in manifest and summary, and the object."""
    named = law.func if isinstance(law, functools.partial) else law
    name = f"python:{named.__name__ if hasattr(named, '__name__') else type(named).__name__}"
    return name, law() if section == "flow_control" and isinstance(law, type) else law


def start(
    scenario: str | PathLike[str],
    given: list[tuple[str, str]],
    *,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    format: str = "parquet",
    keep: bool = True,
    seed: int | None = None,
    threads: int | None = None,
    engine: Literal["auto", "windows", "events"] = "auto",
    progress: bool | Callback = True,
    stacklevel: int = 3,
    laws: Mapping[str, object] | None = None,
) -> Run:
    """Runs it, with settings as texts. ``keep``: tables in memory are wanted. ``laws``: those written in Python, by section."""
    threads = perhaps("threads", threads, least=1)
    if (seed := perhaps("seed", seed)) is not None:
        given = [*given, ("run.seed", str(seed))]
    line = Line()
    callback: Callback | None = None
    if callable(progress):
        callback = progress
    elif progress and line.shown:
        callback = line.run(Path(scenario).name)
    report = None if callback is None else lambda *numbers: callback(Progress(*numbers))
    written = {section: _law(section, law) for section, law in (laws or {}).items()}
    if written and threads is not None and threads > 1:
        names = " and ".join(name for name, _ in written.values())
        text = f"one thread instead of {threads}: {names} runs in Python's interpreter, which does one thing at a time, and its objects may share state"
        warnings.warn(text, ScenarioWarning, stacklevel=stacklevel)

    def work(report: Callable[[int, int, int, int], object] | None) -> _core.Finished:
        return _core.run(
            fspath(scenario),
            given,
            out=out,
            force=force,
            format=format,
            keep=keep,
            threads=1 if written else threads,
            engine=engine,
            progress=report,
            flow_control=written.get("flow_control"),
            rate_control=written.get("rate_control"),
            load_balancing=written.get("load_balancing"),
        )

    try:
        # A hook that Ctrl-C interrupts would leave its object half changed: hooks run on a thread that gets no signals.
        if written:
            finished, stopped = _aside(work, report)
        else:
            finished = work(report)
            stopped = finished.stopped_by
    finally:
        line.clear()
    result = Run(json.loads(finished.manifest), dict(finished.tables()), None if out is None else Path(out))
    if stopped is not None:
        stopped.partial = result  # type: ignore[attr-defined]
        raise stopped
    for warning in result.manifest["warnings"]:
        warnings.warn(warning, ScenarioWarning, stacklevel=stacklevel)
    return result


class _Stop(Exception):
    """Ends the run on the other thread."""


def _aside(work: Callable[[Callable[[int, int, int, int], object]], _core.Finished], report: Callable[[int, int, int, int], object] | None) -> tuple[_core.Finished, BaseException | None]:
    """The run on another thread, and what stopped it: Ctrl-C is raised here, not there."""
    stop = threading.Event()
    done: list[_core.Finished] = []

    def look(*numbers: int) -> None:
        if stop.is_set():
            raise _Stop
        if report is not None:
            report(*numbers)

    try:
        finished = aside(lambda: work(look), stop.set, results=done)
        return finished, finished.stopped_by
    except KeyboardInterrupt as interrupt:
        if not done:
            raise
        return done[0], interrupt


def open(path: str | PathLike[str]) -> Run:
    """Reads a run back from the folder that ``xoff run --out`` or ``xoff.run(..., out=...)`` wrote."""
    return Run._read(path)

"""The subcommands except ``run``, as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal, overload

from ._ask import ask, instant, option
from ._bench import FabricBenchmark
from ._check import Check
from ._fabric import FabricCheck, FabricWaits, fabric, network
from ._imported import Imported
from ._numbers import perhaps
from ._plan import NetworkPlan, Plan
from ._progress import StepCallback
from ._run import Run, open
from ._settings import settings
from ._waiting import CongestionTree, Explanation

Names = str | Sequence[str]


def _list(names: Names | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [str(n) for n in names]


def check(
    topology: str | PathLike[str],
    *,
    fail: Names | None = None,
    fail_any: int | None = None,
    routing: str | None = None,
    flows: str | PathLike[str] | None = None,
    all_pairs: bool = False,
    seed: int | None = None,
    sets_max: int | None = None,
    progress: bool | StepCallback = True,
) -> Check:
    """Can these routes deadlock?

    ``topology``: a scenario or topology file, a fabric such as ``"fat-tree:k=4"``, or files of another program such as
    ``"sonic:configs/"`` or ``"ibnetdiscover:fabric.topo,lfts.dump"``.
    ``fail``: nodes and links (``"A1-C1"``) that fail first. ``fail_any=2``: then every set of 1 and 2 links between switches, at most
    ``sets_max`` of a size (default: 100,000). ``routing``: the rule; default: the scenario's, else ``"all-paths"``. ``flows``: a file of
    the flows that count; ``all_pairs``: any host may send to any other, also where a scenario lists its flows. ``seed``: of hashes and
    of drawn sets (default: 1). ``progress``: a line on stderr if that is a terminal; or a function that is called with :class:`xoff.Step`.

    Raises :class:`xoff.ScenarioError` with file, line, column and hint. Ctrl-C stops the search. Of a scheduled fabric:
    :func:`check_fabric`.
    """
    fail_any, seed = perhaps("fail_any", fail_any, least=1), perhaps("seed", seed)
    sets_max = perhaps("sets_max", sets_max, least=1)
    args = ["check"]
    args += [o for name in _list(fail) for o in option("fail", name)]
    args += option("fail_any", fail_any) + option("routing", routing) + option("flows", flows) + option("all_pairs", all_pairs)
    args += option("seed", seed) + option("sets_max", sets_max)
    return Check._of(*network(ask([*args, "--", str(fspath(topology))], progress=progress), "check", "check_fabric"))


@overload
def plan(mechanism: str | None = None, /, *, network: None = None, sonic: bool = False, **inputs: object) -> Plan: ...
@overload
def plan(mechanism: str | None = None, /, *, network: str, sonic: bool = False, **inputs: object) -> NetworkPlan: ...


def plan(mechanism: str | None = None, /, *, network: str | None = None, sonic: bool = False, **inputs: object) -> Plan | NetworkPlan:
    """What to set on a lossless link, why, and what to check.

        xoff.plan(rate="100Gbps", length="300m", mtu=9216)["XOFF"]     # bytes
        xoff.plan("tcd", rate="40Gbps", mtu=1000, t_w="4us", t_r="0us", xoff="320KB", xon="318KB")
        xoff.plan(network="sonic:configs/")                            # a whole fabric, port by port

    ``inputs`` are the options of ``xoff plan --help`` with ``_`` for ``-``: texts with their unit; sizes may be whole numbers of bytes.
    ``sonic``: rows of ``pg_profile_lookup.ini`` in :attr:`~xoff.Plan.text`, and with ``network`` the tables of ``config_db.json`` in
    :attr:`~xoff.NetworkPlan.sonic`.

    Raises :class:`xoff.ScenarioError` if an input is wrong, or does not work with the others.
    """
    args = ["plan", *option("network", network), *option("format", "sonic" if sonic else None)]
    args += [o for name, value in inputs.items() for o in option(name, value)]
    text, json = ask([*args, *([] if mechanism is None else ["--", mechanism])], progress=False)
    return Plan._of(text, json) if network is None else NetworkPlan._of(text, json)


def _of(run: Run | str | PathLike[str]) -> tuple[str, tuple[str, str] | None]:
    """The argument RUN, and the scenario that stands for it where a run is in memory."""
    if not isinstance(run, Run):
        return str(fspath(run)), None
    run._refuse_outside("repeat")
    if run.folder is not None:
        return str(run.folder), None
    return "a run in memory", (str(run.manifest["scenario"]), str(run.manifest["scenario_folder"]))


def resume(folder: str | PathLike[str], *, progress: bool | StepCallback = True) -> Run:
    """Continues the run in this folder, which was killed or interrupted, from its last checkpoint: same rows, same hash.

        xoff.run("web.toml", out="out/web", run__checkpoint="10min")   # killed after hours
        xoff.resume("out/web")

    Scenario, settings, seed, format, threads and engine are those of the run. Its folder then holds what it would have held if it had never stopped.

    Raises :class:`xoff.ScenarioError`, and changes nothing, if the run came to its end, was written by another build of xoff, or its scenario was
    changed since; see docs/checkpoints.md. Ctrl-C writes a checkpoint more.
    """
    ask(["run", *option("resume", folder)], progress=progress)
    return open(folder)


def fork(
    run: Run | str | PathLike[str],
    at: str | int,
    settings_: Mapping[str, Any] | None = None,
    /,
    *,
    out: str | PathLike[str],
    force: bool = False,
    format: str = "parquet",
    threads: int | None = None,
    progress: bool | StepCallback = True,
    **overrides: Any,
) -> Run:
    """Continues a copy of a run from a time with other settings: what if this link failed here?

        xoff.fork("out/web", "3.2ms", {"failure[0].link": "A1-C1", "failure[0].at": "3.2ms"}, out="out/web-failed")

    ``run``: a run in a folder, or the folder. It is computed from its newest checkpoint before ``at``, or from 0 if it has none; the result is that of the
    scenario with these settings from its start. ``settings_`` and ``overrides`` are those of :func:`xoff.run`; such may change that change nothing before
    ``at``: failures, flows and workloads that begin later, ``run.duration``. ``out``: folder of the copy.

    Raises :class:`xoff.ScenarioError` for any other setting, and for a time that the run never reached.
    """
    folder = run.folder if isinstance(run, Run) else run
    if folder is None:
        raise ValueError("a run in memory has no checkpoints; give out=... to xoff.run")
    threads = perhaps("threads", threads, least=1)
    args = ["run", *option("from", folder), *option("at", instant(at)), *option("out", out), *option("force", force)]
    args += [*option("format", format), *option("threads", threads), "--no-report"]
    args += [o for name, value in settings(settings_ or {}, overrides, {}) for o in option("set", f"{name}={value}")]
    ask(args, progress=progress)
    return open(out)


def explain(
    run: Run | str | PathLike[str],
    port: str,
    at: str | int,
    *,
    priority: int | None = None,
    progress: bool | StepCallback = True,
    **_stack: Any,
) -> Explanation:
    """Why did this port not transmit? From the pause back to its root.

    ``run``: a run, its folder, or a scenario file; it is repeated up to ``at``. ``port``: ``"S1->S2"`` or ``"S1:S2"``. ``at``: a time such as
    ``"2.9ms"``, or whole picoseconds. ``priority``: 0 to 7; default: the lowest one that waited.
    Of a scheduled fabric: :func:`waits`.
    """
    where, scenario = _of(run)
    args = ["explain", *option("priority", perhaps("priority", priority, most=7)), "--", where, port, instant(at)]
    return Explanation._of(*network(ask(args, progress=progress, scenario=scenario, **_stack), "explain", "waits"))


def tree(
    run: Run | str | PathLike[str],
    at: str | int,
    *,
    svg: str | PathLike[str] | None = None,
    force: bool = False,
    progress: bool | StepCallback = True,
    **_stack: Any,
) -> CongestionTree:
    """The congestion tree at a time: congested ports, ports that wait for them, flows that cause it and flows that suffer.

    Its states are those of ternary congestion detection: the run needs ``detection="tcd"``. ``run`` and ``at`` are those of
    :func:`explain`. ``svg``: also draw it into this file; ``force``: even if xoff did not draw the file that is there.
    Of a scheduled fabric: :func:`waits`.
    """
    where, scenario = _of(run)
    args = ["tree", *option("svg", svg), *option("force", force), "--", where, instant(at)]
    return CongestionTree._of(*network(ask(args, progress=progress, scenario=scenario, **_stack), "tree", "waits"))


def waits(run: Run | str | PathLike[str], at: str | int, port: str | None = None, *, progress: bool | StepCallback = True, **_stack: Any) -> FabricWaits:
    """What waits in a scheduled fabric at a time, and for what: at one port (``"P3"``), or in all of it.

    ``run`` and ``at`` are those of :func:`explain`.
    """
    where, scenario = _of(run)
    args = ["tree", "--", where, instant(at)] if port is None else ["explain", "--", where, port, instant(at)]
    answer = ask(args, progress=progress, scenario=scenario, **_stack)
    return FabricWaits._of(*fabric(answer, "waits", "tree"))


def check_fabric(scenario: str | PathLike[str], *, progress: bool | StepCallback = True) -> FabricCheck:
    """Can packets of a scheduled fabric deadlock, and how much can an output carry? Without a run."""
    answer = ask(["check", "--", str(fspath(scenario))], progress=progress)
    return FabricCheck._of(*fabric(answer, "check_fabric", "check"))


def bench_fabric(
    scenario: str | PathLike[str],
    settings_: Mapping[str, Any] | None = None,
    /,
    *,
    out: str | PathLike[str],
    only: Names | None = None,
    seeds: int | None = None,
    force: bool = False,
    threads: int | None = None,
    progress: bool | StepCallback = True,
    **overrides: Any,
) -> FabricBenchmark:
    """The tests of the IETF draft on AI fabrics, for the fabric of a scenario; docs/bench-fabric.md defines them.

        bench = xoff.bench_fabric("fabric.toml", out="out/bench", only=["incast", "deadlock"])
        bench["incast"].rows
        bench.values                   # a Polars frame

    ``scenario``: its topology, flow control, switches and hosts count, its traffic is replaced; ``settings_`` and ``overrides`` are those of
    :func:`xoff.run`. ``only``: names of tests (default: all). ``seeds``: how many of each case (default: 3). ``out``: folder of report, scenarios
    and finished runs, with which the same call continues; ``force``: use a folder that holds something else.

    Raises :class:`xoff.ScenarioError` with file, line, column and hint. Ctrl-C keeps the finished runs.
    """
    args = ["bench-fabric", *option("out", out), *option("force", force), *option("seeds", seeds), *option("threads", threads)]
    args += [o for name in _list(only) for o in option("only", name)]
    args += [o for name, value in settings(settings_ or {}, overrides, {}) for o in option("set", f"{name}={value}")]
    return FabricBenchmark._of(*ask([*args, "--", str(fspath(scenario))], progress=progress))


def import_network(
    format: str,
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    /,
    *,
    out: str | PathLike[str],
    force: bool = False,
    rate: str | None = None,
    length: str | None = None,
    delay: str | None = None,
    unit: str | None = None,
    hosts_per_node: int | None = None,
    start_unit: Literal["us", "ps"] | None = None,
) -> Imported:
    """Writes a scenario from the files of a real network.

        xoff.import_network("sonic", "configs/", out="network.toml")
        xoff.run("network.toml", run__duration="1ms")

    ``format``: ``sonic``, ``containerlab``, ``networkx``, ``graphml``, ``ibnetdiscover``, ``frr``, ``htsim``, ``simai``, ``infragraph`` and what docs/imports.md lists.
    ``files``: one, several, or a folder. ``out``: the scenario; a table of many links is written next to it. ``force``: replace it.
    ``rate`` (``"100Gbps"``), ``length`` (``"5m"``; a metre is 5 ns) or ``delay`` (``"100ns"``): of links without one. networkx and
    GraphML: ``unit`` of rates written without one, ``hosts_per_node``. htsim: ``start_unit`` (default: us).

    Raises :class:`xoff.ScenarioError` with file, line and column; nothing is guessed.
    """
    paths = [files] if isinstance(files, (str, PathLike)) else list(files)
    options: dict[str, object] = {"rate": rate, "length": length, "delay": delay, "unit": unit, "hosts_per_node": perhaps("hosts_per_node", hosts_per_node), "start_unit": start_unit}
    args = ["import", *option("out", out), *option("force", force)]
    args += [o for name, value in options.items() for o in option(name, value)]
    return Imported._of(*ask([*args, "--", format, *(str(fspath(p)) for p in paths)], progress=False))

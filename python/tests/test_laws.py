"""Flow control, rate control and load balancing written in Python."""

from __future__ import annotations

import functools
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import laws
import polars as pl
import pytest
import xoff
from conftest import ROOT, interrupt_soon

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")

DCQCN = ROOT / "scenarios" / "mechanisms" / "dcqcn.toml"
DRILL = ROOT / "scenarios" / "mechanisms" / "drill.toml"
EVERYTHING = ("flows", "queues", "rates", "control", "pauses", "ports", "deadlocks")


def assert_same(one: xoff.Run, other: xoff.Run) -> None:
    for table in EVERYTHING:
        assert one.frame(table).equals(other.frame(table)), table
    assert one.result_hash == other.result_hash


@pytest.mark.parametrize("engine", ["windows", "events"])
@pytest.mark.parametrize("discipline", ["fifo", "round-robin"])
def test_pfc_in_python_is_the_built_in_one(ring: Path, discipline: str, engine: Any) -> None:
    ours = xoff.run(ring, switch__discipline=discipline, flow_control=laws.Pfc, engine=engine)
    assert_same(ours, xoff.run(ring, switch__discipline=discipline, flow_control="pfc"))
    assert (ours.deadlock is None) == (discipline == "round-robin")
    assert ours.control.height > 100 and ours.manifest["engine"] == engine


def test_a_pause_until_resumed_is_the_built_in_one(ring: Path) -> None:
    sticky: dict[str, Any] = {"flow_control.pfc.pause": "sticky", "flow_control.pfc.xoff": "500KB", "flow_control.pfc.xon": "400KB"}
    ours = xoff.run(ring, flow_control=laws.Pfc(500_000, 400_000, quanta=None))
    assert_same(ours, xoff.run(ring, sticky, flow_control="pfc"))


def test_a_window_in_python_is_the_hosts() -> None:
    acks: dict[str, Any] = {"host.acks": "per-frame", "detection": "none"}
    ours = xoff.run(DCQCN, acks, rate_control=laws.FixedWindow)
    assert_same(ours, xoff.run(DCQCN, {**acks, "host.window": "15KB"}, rate_control="none"))


def test_dcqcn_in_python_is_the_built_in_one() -> None:
    reference = xoff.run(DCQCN)
    assert_same(xoff.run(DCQCN, rate_control=laws.Dcqcn), reference)
    both = xoff.run(DCQCN, rate_control=laws.Dcqcn, flow_control=laws.Pfc(280_000, 277_000))
    assert_same(both, reference)
    assert both.rates.filter(pl.col("source") == "rate_control").height > 100


def test_a_dctcp_in_python_keeps_the_queue_short() -> None:
    acks: dict[str, Any] = {"host.acks": "per-frame"}
    ours, line = (xoff.run(DCQCN, acks, rate_control=law) for law in (laws.Dctcp, "none"))
    assert ours.flows["end_ps"].null_count() == 0
    assert 2 * ours.queues["bytes"].max() < line.queues["bytes"].max()  # type: ignore[operator]
    assert ours.ports["pauses"].sum() == 0 < line.ports["pauses"].sum()


@pytest.mark.parametrize("engine", ["windows", "events"])
@pytest.mark.parametrize(
    ("law", "kind"),
    [
        (functools.partial(laws.Drill, 2, 1), {"kind": "drill", "choices": 2, "memory": 1}),
        (functools.partial(laws.Drill, 3, 0), {"kind": "drill", "choices": 3, "memory": 0}),
        (laws.SprayRoundRobin, "spray-round-robin"),
        (laws.Hash, "ecmp"),
    ],
)
def test_a_load_balancing_in_python_is_the_built_in_one(law: Any, kind: Any, engine: Any) -> None:
    ours, reference = xoff.run(DRILL, load_balancing=law, engine=engine), xoff.run(DRILL, load_balancing=kind)
    assert_same(ours, reference)
    assert (ours.flows["frames_ahead"].sum() > 0) == isinstance(law, functools.partial), "of these DRILL alone reorders here"
    assert ours.parameters.filter(pl.col("path").str.starts_with("load_balancing.")).rows() == [("load_balancing.kind", f"python:{getattr(law, 'func', law).__name__}", "from outside", "")]


def test_a_switch_knows_its_name_its_pauses_and_capacities() -> None:
    seen: dict[str, tuple[Any, ...]] = {}

    class Look(xoff.LoadBalancing):
        capacities = True

        def __init__(self, switch: str) -> None:
            self.switch = switch

        def pick(self, now_ps: int, frame: xoff.Arrival, hops: xoff.NextHops) -> int:
            seen.setdefault(self.switch, (now_ps, frame.flow, frame.frame_bytes, len(hops), hops.waiting_bytes, hops.paused, hops.capacity_bps))
            return 0

    xoff.run(DRILL, load_balancing=Look)
    assert set(seen) <= {"L1", "L2"} and seen
    now, flow, size, n, waiting, paused, capacity = seen["L1"]
    assert now == 1_000_000 + size * 80 and flow < 8 and n == 4
    assert (waiting, paused, capacity) == ((0,) * 4, (False,) * 4, (100_000_000_000,) * 4)


def picks(pick: Any, **members: Any) -> type:
    """A load balancing with this choice."""
    return type("Law", (xoff.LoadBalancing,), {"pick": pick, **members})


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (picks(lambda self, now, frame, hops: 4), "pick: 4 is not a next hop: a whole number from 0 to 3"),
        (picks(lambda self, now, frame, hops: -1), "pick: -1 is not a next hop"),
        (picks(lambda self, now, frame, hops: True), "pick: True is not a next hop"),
        (picks(lambda self, now, frame, hops: None), "pick: None is not a next hop"),
        (picks(lambda self, now, frame, hops: 1 // (now < 2_000_000)), "division"),
        (picks(lambda self: 0), "positional argument"),
        (picks(lambda self, now, frame, hops: 0, __init__=lambda self, switch: 1 / 0), "division by zero"),
    ],
)
def test_a_wrong_load_balancing_ends_the_run(law: type, text: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError, ZeroDivisionError)) as e:
        xoff.run(DRILL, load_balancing=law, out=tmp_path / "run")
    assert text in str(e.value) and e.value.__notes__[0].startswith("in python:Law of L1")
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_messages_may_be_numbers(ring: Path) -> None:
    run = xoff.run(ring, flow_control=laws.Credits, switch__discipline="round-robin")
    assert run.verdict and run.lost_frames == 0
    assert run.control["message"].cast(str).unique().to_list() == ["custom"]
    assert run.pauses["cause"].cast(str).unique().to_list() == ["credits"]
    assert run.result_hash == xoff.run(ring, flow_control=laws.Credits(), switch__discipline="round-robin").result_hash


def test_what_is_written_in_python_is_named(ring: Path, tmp_path: Path) -> None:
    run = xoff.run(ring, flow_control=laws.Pfc, run__duration="1ms", out=tmp_path / "run")
    kind = run.parameters.filter(pl.col("path") == "flow_control.kind").row(0)
    assert kind == ("flow_control.kind", "python:Pfc", "from outside", "")
    assert any(line.startswith("python:Pfc ") for line in run.summary.active + run.summary.inactive)
    assert run.parameters.filter(pl.col("path").str.starts_with("flow_control.")).height == 1, "no key of the law that it replaces"
    for refused in (lambda: run.explain("H1->S1", "0.5ms"), lambda: xoff.open(tmp_path / "run").tree("1ms")):
        with pytest.raises(ValueError, match="cannot repeat this run: python:Pfc is written in Python"):
            refused()
    # The folder does not pass for another run.
    for args in (["run", tmp_path / "run" / "resolved.toml", "--out", tmp_path / "again"], ["explain", tmp_path / "run", "H1:S1", "1ms"]):
        done = subprocess.run([sys.executable, "-m", "xoff", *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 2 and "unknown kind 'python:Pfc'" in done.stderr.replace("\n", " "), done.stderr
    assert xoff.compare(run, xoff.run(ring, run__duration="1ms")).names == ["python:Pfc", "pfc"]


def test_it_has_one_thread_and_warns_of_more(ring: Path) -> None:
    with pytest.warns(xoff.ScenarioWarning, match="one thread instead of 4: python:Pfc runs in Python's interpreter") as caught:
        run = xoff.run(ring, flow_control=laws.Pfc, run__duration="1ms", threads=4)
    assert run.manifest["threads"] == 1 and caught[0].filename == __file__


class Breaks(Exception):
    pass


def breaking(half: str, hook: str, result: Any = Breaks) -> Any:
    """PFC where one hook raises or returns something wrong after a millisecond."""
    base = laws.PfcReceiver if half == "receiver" else laws.PfcSender
    before = getattr(base, hook, None) or getattr(xoff.Sender, hook)

    def broken(self: Any, *args: Any) -> Any:
        if args[0] < 10**9:
            return before(self, *args)
        if result is Breaks:
            raise Breaks(hook)
        return result

    def never(self: Any, *args: Any) -> Any:
        if result is Breaks:
            raise Breaks(hook)
        return result

    cls = type("Broken", (base,), {hook: never if hook in ("next_wake", "holds") else broken})

    class Law(laws.Pfc):
        def receiver(self, link: xoff.Link) -> Any:
            return cls(link, *self.thresholds) if half == "receiver" else super().receiver(link)

        def sender(self, link: xoff.Link) -> Any:
            return cls(link) if half == "sender" else super().sender(link)

    return Law


HOOKS = [
    ("receiver", "on_arrival"), ("receiver", "on_departure"), ("receiver", "on_wake"), ("receiver", "next_wake"), ("receiver", "holds"),
    ("sender", "gate"), ("sender", "on_sent"), ("sender", "on_message"), ("sender", "held"), ("sender", "rate"),
]


@pytest.mark.parametrize(("half", "hook"), HOOKS)
def test_an_exception_of_a_hook_ends_the_run(half: str, hook: str, ring: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    before = xoff.run(ring, run__duration="1ms", out=out)
    started = time.monotonic()
    with pytest.raises(Breaks, match=hook) as e:
        xoff.run(ring, flow_control=breaking(half, hook), run__duration="500ms", out=out)
    assert time.monotonic() - started < 20
    assert any(frame.name in ("broken", "never") and frame.filename == __file__ for frame in traceback.extract_tb(e.tb)), "its own traceback"
    (note,) = e.value.__notes__
    assert note.startswith(f"in Broken, {half} of python:Law, at ") and note.endswith("of simulated time")
    assert not hasattr(e.value, "partial"), "what came after it is no result"
    assert xoff.open(out).result_hash == before.result_hash, "the results of before stay"
    assert not list(out.glob("*.partial"))


@pytest.mark.parametrize(
    ("half", "hook", "result", "text"),
    [
        ("receiver", "on_arrival", "stop", "on_arrival: 'stop' is not a message"),
        ("receiver", "on_arrival", -1, "on_arrival: -1 is not a message"),
        ("receiver", "on_arrival", 2**64, "is not a message"),
        ("receiver", "on_arrival", True, "on_arrival: True is not a message"),
        ("receiver", "next_wake", 1.5, "next_wake: 1.5 is not a time in whole picoseconds"),
        ("receiver", "next_wake", 0, "next_wake: still 0 ps after on_wake at that time, again and again"),
        ("receiver", "holds", None, "holds: None is not True or False"),
        ("sender", "gate", None, "gate: None is not True, False, or a time"),
        ("sender", "gate", 10, "gate: 10 ps lies before now"),
        ("sender", "held", 3, "held: 3 is not True or False"),
        ("sender", "rate", -1, "rate: -1 is not a rate in bit/s"),
        ("sender", "rate", float("nan"), "rate: nan is not a rate in bit/s"),
    ],
)
def test_a_wrong_answer_of_a_hook_is_refused(half: str, hook: str, result: Any, text: str, ring: Path) -> None:
    with pytest.raises(ValueError) as e:
        xoff.run(ring, flow_control=breaking(half, hook, result), run__duration="30ms")
    assert text in str(e.value)


def rates(**hooks: Any) -> type:
    """A rate control with these hooks."""
    return type("Law", (xoff.RateControl,), {"rate": lambda self: 10**9, **hooks})


@pytest.mark.parametrize(
    ("hooks", "text"),
    [
        ({"rate": lambda self: 0}, "rate: 0 is not a rate of 1 bit/s or more"),
        ({"rate": lambda self: "10Gbps"}, "rate: '10Gbps' is not a rate"),
        ({"window": lambda self: 0}, "window: 0 is not a window of 1 byte or more"),
        ({"on_sent": lambda self, now, n, timers: timers.arm(0, now - (now > 0))}, "lies before now"),
        ({"on_sent": lambda self, now, n, timers: [timers.arm(i, now + 1) for i in range(5)]}, "a hook may arm 4 timers"),
        # Before: OverflowError, 1 bit/s, 1 byte.
        ({"on_sent": lambda self, now, n, timers: timers.arm(10**6, now + 1)}, "arm: 1000000 is not the number of a timer, 0 to 255"),
        ({"on_sent": lambda self, now, n, timers: timers.arm(True, now + 1)}, "arm: True is not the number of a timer"),
        ({"on_sent": lambda self, now, n, timers: timers.arm(0, 10**5000)}, "arm: this value is not a time in whole picoseconds"),
        ({"rate": lambda self: True}, "rate: True is not a rate of 1 bit/s or more"),
        ({"window": lambda self: True}, "window: True is not a window"),
        ({"on_ack": lambda self, now, ack, timers: ack.nothing}, "has no attribute 'nothing'"),
        ({"on_ack": lambda self: None}, "positional argument"),
        ({"__init__": lambda self, flow: 1 / 0}, "division by zero"),
        ({"on_cnp": lambda self, now, mark, timers: int(mark), "rate": lambda self: 10**10}, "invalid literal"),
        ({"on_wake": lambda self, now, timer, timers: 1 / 0, "on_sent": lambda self, now, n, timers: timers.arm(7, now + 5)}, "division by zero"),
    ],
)
def test_a_wrong_rate_control_ends_the_run(hooks: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, AttributeError, TypeError, ZeroDivisionError)) as e:
        xoff.run(DCQCN, {"host.acks": "per-frame"}, rate_control=rates(**hooks))
    assert text in str(e.value) and "python:Law" in e.value.__notes__[0]


def test_what_is_no_law_is_refused(ring: Path, tmp_path: Path) -> None:
    hotspots = ROOT / "scenarios" / "fabric" / "hotspots.toml"
    cases: list[tuple[type[Exception], str, Any]] = [
        (TypeError, "python:int is no flow control: it has no method 'receiver", lambda: xoff.run(ring, flow_control=int)),  # type: ignore[arg-type]
        (TypeError, "python:object is no rate control: it has no method 'rate", lambda: xoff.run(ring, rate_control=object)),  # type: ignore[arg-type]
        (TypeError, "expected a class", lambda: xoff.run(ring, rate_control=3)),  # type: ignore[arg-type]
        (TypeError, "python:object is no load balancing: expected a class with a method 'pick", lambda: xoff.run(DRILL, load_balancing=object)),  # type: ignore[arg-type]
        (TypeError, "python:LoadBalancing is no load balancing", lambda: xoff.run(DRILL, load_balancing=xoff.LoadBalancing)),
        (ValueError, "reorders: 1.5 is not True or False", lambda: xoff.run(DRILL, load_balancing=picks(lambda self, now, frame, hops: 0, reorders=1.5))),
        (xoff.ScenarioError, "xoff cannot save", lambda: xoff.run(DRILL, {"run.checkpoint": "1h"}, load_balancing=laws.Hash, out=tmp_path / "run")),
        (xoff.ScenarioError, "gives each destination one path", lambda: xoff.run(DRILL, {"routing.kind": "lowest-id"}, load_balancing=laws.Hash)),
        (xoff.ScenarioError, "a scheduled fabric has no flow control, rate control or load balancing", lambda: xoff.run(hotspots, load_balancing=laws.Hash)),
        (xoff.ScenarioError, "reacts to acknowledgements, but hosts send none", lambda: xoff.run(DCQCN, rate_control=laws.FixedWindow)),
        (xoff.ScenarioError, "a scheduled fabric has no flow control", lambda: xoff.run(hotspots, flow_control=laws.Pfc)),
    ]
    for kind, text, ask in cases:
        with pytest.raises(kind, match=text):
            ask()
    with pytest.raises(ValueError, match="quanta: 65536 is not a whole number from 0 to 65535"):
        xoff.Pause(65_536)
    assert (xoff.Pause(0), hash(xoff.Pause(1)), repr(xoff.Pause(None))) == (xoff.Pause(0), hash(xoff.Pause(1)), "Pause(None)")


def test_an_interrupt_keeps_what_there_is(ring: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt) as e:
        xoff.run(ring, flow_control=laws.Pfc, switch__discipline="round-robin", run__duration="1000s", probes__interval="1ms", out=tmp_path / "run")
    assert time.monotonic() - started < 20
    partial = e.value.partial  # type: ignore[attr-defined]
    assert partial.interrupted and partial.manifest["events"] > 0
    assert xoff.open(tmp_path / "run").result_hash == partial.result_hash
    # As a run of that length: nothing was cut in the middle of a hook.
    assert partial.lost_frames == 0 and partial.verdict.promises == "kept"


def test_a_progress_function_may_stop_it(ring: Path) -> None:
    seen: list[xoff.Progress] = []

    def enough(p: xoff.Progress) -> None:
        seen.append(p)
        if len(seen) == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough") as e:
        xoff.run(ring, flow_control=laws.Pfc, switch__discipline="round-robin", run__duration="1000s", probes__interval="1ms", progress=enough)
    assert e.value.partial.interrupted and seen[1].now_ps > seen[0].now_ps  # type: ignore[attr-defined]


def test_parameters_come_with_partial_and_objects() -> None:
    class Paced(xoff.RateControl):
        def __init__(self, share: float, flow: xoff.FlowFacts) -> None:
            self.bps = flow.line_bps * share

        def rate(self) -> float:
            return self.bps

    for share in (0.1, 0.2):
        run = xoff.run(DCQCN, rate_control=functools.partial(Paced, share))
        mean = 8e6 / (run.flows["fct_ps"].mean() / 1e12)  # type: ignore[operator]
        assert mean == pytest.approx(share * 10e9, rel=0.01)
        assert run.parameters.filter(pl.col("path") == "rate_control.kind")["value"][0].endswith("Paced")


def test_no_objects_are_left_behind(ring: Path) -> None:
    import gc
    import weakref

    left: list[weakref.ref[Any]] = []

    class Law(laws.Pfc):
        def receiver(self, link: xoff.Link) -> laws.PfcReceiver:
            half = super().receiver(link)
            left.append(weakref.ref(half))
            return half

    xoff.run(ring, flow_control=Law, run__duration="1ms")
    gc.collect()
    assert left and not [ref for ref in left if ref() is not None]

"""A network that Python drives."""

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xoff
from conftest import interrupt_soon

STAR = """[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"
[host]
frame_max = "1048B"
header = "48B"
[flow_control]
kind = "pfc"
"""
TX, CABLE = 83_840, 1_000_000


@pytest.fixture
def star(tmp_path: Path) -> Path:
    path = tmp_path / "star.toml"
    path.write_text(STAR)
    return path


def test_a_ring_all_reduce_takes_the_closed_form(star: Path, tmp_path: Path) -> None:
    """14 steps of 100 frames, as in the examples of the C library."""
    net = xoff.Network(star, priorities=[3])
    ranks = net.hosts
    following = {rank: ranks[(i + 1) % len(ranks)] for i, rank in enumerate(ranks)}
    for rank in ranks:
        net.send(rank, following[rank], 100_000, queue_pair=0, tag=ranks.index(rank))
        net.receive(following[rank], rank, 100_000, tag=ranks.index(rank), token=ranks.index(following[rank]))
    steps = dict.fromkeys(ranks, 0)
    end = 0
    for event in net:
        if event.what != "received":
            continue
        rank, end = ranks[event.tag], event.time_ps
        steps[rank] += 1
        if steps[rank] < 14:
            net.send(rank, following[rank], 100_000, queue_pair=0, tag=event.tag)
            net.receive(following[rank], rank, 100_000, tag=event.tag, token=ranks.index(following[rank]))
    assert set(steps.values()) == {14}
    assert end == net.now_ps == 14 * (101 * TX + 2 * CABLE)
    run = net.finish(tmp_path / "out")
    assert (len(run.flows), run.flows["end_ps"].max(), net.lost_frames) == (8 * 14, end, 0)


def test_timers_links_and_limits(star: Path) -> None:
    net = xoff.Network(star, priorities=[3], flow_control="cbfc")
    assert net.schedule(500, tag=9) == 0
    assert net.next() == ("timer", 500, 0, 9)
    assert net.next(1_000) is None
    assert net.now_ps == 1_000
    assert net.host_rate_bps("H0") == 100_000_000_000
    net.set_rate("H0-S1", 50_000_000_000)
    assert net.send("H0", "H1", 1_000) == 0
    assert [(e.what, e.time_ps) for e in net] == [("sent", 1_000), ("delivered", 1_000 + 3 * TX + 2 * CABLE)]
    net.fail_link("H0-S1")
    assert net.host_rate_bps("H0") == 0
    with pytest.raises(ValueError, match="no route"):
        net.send("H0", "H1", 1)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda n: n.send("H0", "H9", 1), "dst: there is no host 'H9'"),
        (lambda n: n.send("H0", "H1", 2**64 - 1), "bytes"),
        (lambda n: n.send("H0", "H1", 1, priority=4), "priority 4"),
        (lambda n: n.host_rate_bps("S1"), "there is no host 'S1'"),
        (lambda n: n.schedule(2**63), "after_ps"),
        (lambda n: n.next(2**63), "until_ps"),
        (lambda n: n.fail_link("H0-H1"), "are not linked"),
        (lambda n: n.set_rate("H0-S1", 0), "more than 0"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_happens(star: Path, call: object, expected: str) -> None:
    net = xoff.Network(star, priorities=[3])
    with pytest.raises(ValueError, match=expected):
        call(net)  # type: ignore[operator]
    assert net.next() is None
    assert net.now_ps == 0


@pytest.mark.parametrize("wrong", [True, 1.0, float("nan"), "1", None])
def test_a_number_is_a_whole_number(star: Path, wrong: Any) -> None:
    """Python takes True for 1: a rate of 1 bit/s, a limit of 1 ps."""
    net = xoff.Network(star)
    calls: list[Callable[[], object]] = [
        lambda: xoff.Network(star, priorities=[wrong]),
        lambda: net.send("H0", "H1", wrong),
        lambda: net.send("H0", "H1", 1, tag=wrong),
        lambda: net.receive("H1", "H0", wrong),
        lambda: net.receive("H1", "H0", 1, tag=wrong),
        lambda: net.receive("H1", "H0", 1, token=wrong),
        lambda: net.schedule(wrong),
        lambda: net.schedule(1, tag=wrong),
        lambda: net.set_rate("S1-H0", wrong),
    ]
    if wrong is not None:
        calls += [lambda: net.send("H0", "H1", 1, priority=wrong), lambda: net.send("H0", "H1", 1, queue_pair=wrong), lambda: net.next(wrong)]
    for call in calls:
        with pytest.raises(TypeError, match="expected a whole number"):
            call()
    assert net.now_ps == 0


def test_a_network_that_cannot_be_is_refused(star: Path, tmp_path: Path) -> None:
    with pytest.raises(xoff.ScenarioError, match="stra"):
        xoff.Network(star, topology__kind="stra")
    with pytest.raises(xoff.ScenarioError, match="expected one or more from 0 to 7"):
        xoff.Network(star, priorities=[8])
    with pytest.raises(ValueError, match=r"host\.acks"):
        xoff.Network(star, acknowledged=True)
    with pytest.raises(xoff.RunError, match="no message has begun"):
        xoff.Network(star).finish(tmp_path / "out")


def test_ctrl_c_ends_a_wait_and_the_network_continues(star: Path, tmp_path: Path) -> None:
    """Before: a message of 100 s of simulated time kept Ctrl-C waiting for hours."""
    net = xoff.Network(star, priorities=[3])
    net.send("H0", "H1", 10**12, tag=5)
    interrupt_soon()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        net.next()
    assert time.monotonic() - began < 5
    reached = net.now_ps
    assert reached > 0
    net.send("H2", "H3", 1_000, tag=6)
    assert [net.next(), net.next()] == [("sent", reached, 1, 6), ("delivered", reached + 2 * TX + 2 * CABLE, 1, 6)]
    assert net.next(reached + 10**9) is None
    assert len(net.finish(tmp_path / "out").flows) == 2


def test_ctrl_c_ends_a_wait_that_has_no_end(star: Path) -> None:
    net = xoff.Network(star, priorities=[3], flow_control="cbfc")
    net.send("H0", "H1", 1_000_000)
    assert net.next(1_000_000) is None
    net.fail_link("H1-S1")
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        list(net)
    assert net.lost_frames > 0


def test_ctrl_c_ends_the_second_run_of_the_messages(star: Path, tmp_path: Path) -> None:
    until = 100 * 10**9  # finish() takes 1.4 s for it, and the interrupt comes after 0.3 s
    net = xoff.Network(star, priorities=[3])
    for host in range(8):
        net.send(f"H{host}", f"H{(host + 3) % 8}", 10**12)
    assert net.next(until) is None
    interrupt_soon()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        net.finish(tmp_path / "out")
    took = time.monotonic() - began
    assert took < 5
    assert net.next(until + 5) is None
    assert net.now_ps == until + 5


LEAVES = """[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "100Gbps"
delay = "1us"
[flow_control]
kind = "pfc"
"""


def by_the_clock(net: xoff.Network, rounds: int, *, saved: Path | None = None) -> tuple[list[xoff.Happened], xoff.Network]:
    """Each host sends to the next one at each multiple of 5 us."""
    events: list[xoff.Happened] = []
    for nth in range(rounds + 1):
        # What is under way after the last round arrives.
        for i, host in enumerate(net.hosts if nth < rounds else []):
            net.send(host, net.hosts[(i + 1) % 4], 10_000 + 3_000 * i, tag=nth, queue_pair=i % 2)
        net.schedule(2_500_000, tag=99)
        net.advance(net.now_ps + 5_000_000)
        if saved:
            net.save(saved)
            net = xoff.Network.load(saved)
        while event := net.next(0):
            events.append(event)
    return events, net


def test_running_ahead_and_loading_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "leaves.toml"
    path.write_text(LEAVES)
    one, net = by_the_clock(xoff.Network(path), 20)
    assert len(one) == 20 * (4 * 2 + 1) + 1
    assert [e for e in one if e.what == "timer"][:2] == [("timer", 2_500_000, 0, 99), ("timer", 7_500_000, 1, 99)]
    assert [e.time_ps for e in one] == sorted(e.time_ps for e in one)
    assert net.threads == 1
    first = net.finish(tmp_path / "one")
    # Two leaves and two spines are two parts at most.
    for threads in (2, 3):
        several = xoff.Network(path, threads=threads)
        assert several.threads == 2
        events, several = by_the_clock(several, 20, saved=tmp_path / "state")
        assert events == one
        assert several.threads == 2
        assert several.finish(tmp_path / f"of{threads}").result_hash == first.result_hash
    # A loaded network has the priority of the other one.
    net = xoff.Network(path, priorities=[3])
    net.save(tmp_path / "state")
    assert xoff.Network.load(tmp_path / "state").send("H0", "H1", 1) == 0


def test_a_checkpoint_that_cannot_be_is_refused(star: Path, tmp_path: Path) -> None:
    net = xoff.Network(star)
    net.send("H0", "H1", 1_000_000)
    net.advance(5_000_000)
    state = tmp_path / "state"
    net.save(state)
    whole = state.read_bytes()
    state.write_bytes(whole[:-20])
    with pytest.raises(xoff.RunError, match="truncated"):
        xoff.Network.load(state)
    with pytest.raises(xoff.RunError, match="not a checkpoint"):
        xoff.Network.load(star)
    with pytest.raises(xoff.RunError, match="No such file"):
        xoff.Network.load(tmp_path / "none")
    # As on a full disk: the file stays as it was, and so does the network.
    state.write_bytes(whole)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(xoff.RunError, match="cannot write"):
            net.save(state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert state.read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("state")] == ["state"]
    assert list(xoff.Network.load(state)) == list(net)


def test_ctrl_c_ends_a_run_ahead(tmp_path: Path) -> None:
    path = tmp_path / "leaves.toml"
    path.write_text(LEAVES)
    net = xoff.Network(path, threads=2)
    for i, host in enumerate(net.hosts):
        net.send(host, net.hosts[(i + 2) % 4], 10**12)
    interrupt_soon()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        net.advance(10**14)
    assert time.monotonic() - began < 5
    reached = net.now_ps
    assert 0 < reached < 10**14
    assert net.next(reached + 1_000) is None
    assert net.now_ps == reached + 1_000


def test_threads_are_a_number(star: Path) -> None:
    assert xoff.Network(star, threads=4).threads == 1
    with pytest.raises(ValueError, match="threads: expected 1 to"):
        xoff.Network(star, threads=0)
    with pytest.raises(ValueError, match="until_ps"):
        xoff.Network(star).advance(2**63)

"""The extension module, written in Rust (crates/py)."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from types import CapsuleType  # type: ignore[attr-defined, unused-ignore]
from typing import Literal

VERSION: str

def palette() -> str:
    """The colours of figures, as JSON."""

class Table:
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

class Finished:
    @property
    def manifest(self) -> str: ...
    @property
    def stopped_by(self) -> BaseException | None: ...
    def tables(self) -> list[tuple[str, Table]]: ...

class Link:
    """Facts of one direction of a link."""

    @property
    def rate_bps(self) -> int:
        """Line rate [bit/s]."""
    @property
    def delay_ps(self) -> int:
        """One-way propagation delay [ps]."""
    @property
    def mtu_bytes(self) -> int:
        """Longest frame that flow control holds back [bytes]."""
    @property
    def mtu_other_bytes(self) -> int:
        """Longest frame of any class [bytes]."""
    @property
    def buffer_bytes(self) -> int:
        """Buffer behind the link, for one ingress and one priority [bytes]."""
    @property
    def processing_ps(self) -> int:
        """Longest time that a control message spends inside the two nodes [ps]."""
    @property
    def jitter_ps(self) -> int:
        """The part of it that varies [ps]."""
    @property
    def control_ahead(self) -> int:
        """Control frames that may be sent before a message."""
    def time_for(self, bytes: int) -> int:
        """Time that so many bytes take on the wire [ps], rounded up."""

class Occupancy:
    """An ingress buffer, for one ingress port and one priority."""

    @property
    def bytes(self) -> int:
        """Everything held [bytes]."""
    @property
    def shared_bytes(self) -> int:
        """The part that counts against a shared pool [bytes]."""
    @property
    def headroom_bytes(self) -> int:
        """The part in headroom [bytes]."""
    @property
    def limit_bytes(self) -> int:
        """Current limit of the shared part [bytes]."""

class Pause:
    """A PAUSE of 802.1Q: a time in quanta of 512 bit times, 0 to 65535; 0 resumes, ``None`` holds until resumed."""

    def __init__(self, quanta: int | None) -> None: ...
    @property
    def quanta(self) -> int | None: ...
    def __hash__(self) -> int: ...

class FlowFacts:
    """What is known of a flow when it begins."""

    @property
    def line_bps(self) -> int:
        """Line rate of its host [bit/s]."""
    @property
    def window_bytes(self) -> int | None:
        """``host.window`` [bytes]."""
    @property
    def base_rtt_ps(self) -> int | None:
        """Round trip in the empty network, where it is known [ps]."""
    @property
    def seed(self) -> int:
        """A random number of its own: ``random.Random(flow.seed)``."""

class Ack:
    """An acknowledgement."""

    @property
    def acked_bytes(self) -> int:
        """Payload received in order [bytes]."""
    @property
    def sent_bytes(self) -> int:
        """First byte not sent yet [bytes]."""
    @property
    def rtt_ps(self) -> int:
        """From the first bit of the acknowledged frame to this acknowledgement [ps]."""
    @property
    def frame_bytes(self) -> int:
        """Length of that frame on the wire; 0: unknown [bytes]."""
    @property
    def mark(self) -> Literal["none", "ce", "ue"]:
        """Its mark."""

class Arrival:
    """A frame that has several next hops."""

    @property
    def flow(self) -> int:
        """Number of its flow."""
    @property
    def frame_bytes(self) -> int:
        """Length on the wire [bytes]."""
    @property
    def hop_set(self) -> int:
        """Number of the set of its next hops: destinations with the same next hops share it."""

class NextHops:
    """The next hops of a frame, numbered from 0, as its switch sees them."""

    def __len__(self) -> int: ...
    @property
    def waiting_bytes(self) -> tuple[int, ...]:
        """Bytes of the frame's priority that wait at each; the frame on the wire no longer does [bytes]."""
    @property
    def paused(self) -> tuple[bool, ...]:
        """True where the peer's flow control lets no frame of the priority go now."""
    @property
    def capacity_bps(self) -> tuple[int, ...]:
        """Rate at which the network can carry traffic to the destination through each, alone; empty unless the class has ``capacities = True`` [bit/s]."""
    @property
    def hashed(self) -> int:
        """The next hop that ECMP takes: that of the flow's hash."""
    def draw(self) -> float:
        """The next random number in [0, 1) of this switch."""

class Timers:
    """The timers of a flow, within one hook."""

    def arm(self, timer: int, at_ps: int) -> None:
        """Asks for ``on_wake`` with this number, 0 to 255, at a time [ps]; four times in one hook at most."""
    def move_next_frame(self) -> None:
        """The frame that waits goes when it would have gone at the new rate."""

def run(
    path: str | PathLike[str],
    settings: list[tuple[str, str]],
    *,
    out: str | PathLike[str] | None,
    force: bool,
    format: str,
    keep: bool,
    threads: int | None,
    engine: str,
    progress: Callable[[int, int, int, int], object] | None,
    flow_control: tuple[str, object] | None = None,
    rate_control: tuple[str, object] | None = None,
    load_balancing: tuple[str, object] | None = None,
) -> Finished: ...

Fields = tuple[str, str, str | None, int | None, int | None, str | None]

class Caller:
    def __init__(self, scenario: tuple[str, str] | None = None) -> None: ...
    def stop(self) -> None: ...
    def step(self) -> tuple[float, str]: ...
    def warnings(self) -> list[Fields]: ...

def ask(args: list[str], caller: Caller) -> tuple[str, str, int]: ...

Flow = tuple[int, str, str, int, int, int | None, float | None, int, int, int]
Port = tuple[str, int, int, int, int, int]

def compare(
    sides: list[list[str | tuple[str, tuple[list[Flow], list[Port]] | None]]], names: list[str] | None, bins: int | list[int] | None
) -> str: ...

class Folder:
    def __init__(self, path: str | PathLike[str], command: str, force: bool) -> None: ...
    def own(self, name: str) -> Path: ...
    def write(self, name: str, content: bytes) -> Path: ...
    def release(self) -> None: ...

class Sweep:
    def __init__(self, path: str | PathLike[str], text: str | None, more: str) -> None: ...
    def __len__(self) -> int: ...
    def warnings(self) -> list[Fields]: ...
    def words(self, index: int) -> str: ...
    def claim(self, folder: str | PathLike[str], force: bool) -> None: ...
    def release(self) -> None: ...
    def unfinished(self) -> list[int]: ...
    def freeze(self) -> str: ...
    def run(self, threads: int | None) -> bool: ...
    def stop(self) -> None: ...
    def step(self) -> tuple[float, str, float | None]: ...
    def put(self, index: int, shard: str, tables: list[tuple[str, bytes]]) -> bool: ...
    def cell(self, index: int, wants_run: bool) -> tuple[str, list[tuple[str, bytes]], Finished | None]: ...
    def kept(self, index: int) -> str | None: ...
    def kept_table(self, index: int, name: str) -> bytes | None: ...
    def collect(self) -> tuple[str, Table]: ...

def mean_of(values: Sequence[float]) -> tuple[float, float, float, int]: ...
def share_interval(of: int, n: int) -> tuple[float, float]: ...
def quantile(values: Sequence[float], share: float) -> float: ...
def sweep_cell(plan: str, index: int, wants_run: bool) -> tuple[str, list[tuple[str, bytes]], Finished | None]: ...
def gfc_smallest_gap(l: float, drain: float) -> float: ...
def gfc_overshoot(l: float, drain: float) -> float: ...
def gfc_onset() -> float: ...
def gfc_time_bounds(rate: int, tau_ps: int, period_ps: int) -> tuple[int, int]: ...
def gfc_time_critical_ratio(d: float) -> float: ...
def gfc_time_smallest_gap(l: float, d: float, drain: float) -> float: ...
def gfc_time_overshoot(rate: int, tau_ps: int, period_ps: int, span: int) -> float: ...
def gfc_time_critical(rate: int, tau_ps: int, period_ps: int, tolerance: float) -> int: ...
def gfc_limit_cycle(tau_ps: int, upper: int, lower: int, drain: int, until_ps: int) -> int: ...
def gfc_fig_5(until_ps: int) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]: ...
def gfc_limited_rate(line: int, limit: int, frame_bytes: int, frames: int) -> int: ...
def fat_tree_failures(k: int, probability: float, seed: int) -> list[str]: ...
def fat_trees_with_cycles(
    k: int, probability: float, first_seed: int, past_seed: int
) -> tuple[list[int], list[int], list[int], list[int]]: ...
def flow_sizes(name: str, at_most: int | None = None) -> tuple[list[tuple[int, float]], float, float]: ...
def lemma_1_random(seed: int) -> tuple[int, int, int, int, int]: ...
def lemma_1_sharing(seed: int) -> list[tuple[int, int]]: ...
def lemma_1_figures(segments: int) -> tuple[int, int]: ...
def granters_in_slots(
    rtts: list[int], outputs: int, requests: list[tuple[int, int, int, int]], slots: int
) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int, int]], list[list[int]]]: ...
def theorem_1_trial(
    m: int, stages: int, b: int, hot_eighths: int, seed: int, epochs: int, limited: bool
) -> tuple[float, float, bool, bool, bool]: ...
def theorem_1_example(name: str, b: int, m: int = 2, stages: int = 3, stage: int = 1) -> float | None: ...
def pffc_slot(flow: int, slots: int) -> int: ...
def pffc_meets_another(flows: int, slots: int) -> float: ...
def pffc_share_a_slot(flows: int, slots: int, drawn: int) -> float: ...
def qcn_notified(
    sampling: str, flows: Sequence[tuple[float, int, int]], draws: int, seed: int, stream: int = 9, mixed: bool = True
) -> list[int]: ...
def qcn_feedback(f_b: Sequence[int]) -> list[int]: ...
def qcn_feedback_range() -> int: ...
def qcn_interval(feedback: int) -> int: ...
def qcn_sampled(queues: Sequence[int]) -> list[int]: ...

class QcnLimiter:
    """Rate limiter of 10 Gb/s on its own, without jitter: it sends at its rate, or not at all."""

    def __init__(self) -> None: ...
    def cnm(self, feedback: int) -> None: ...
    def sends(self, bytes: int) -> None: ...
    def waits(self) -> int | None: ...
    @property
    def rate(self) -> float: ...
    @property
    def target(self) -> float: ...

CULPRIT_ROW: int
CULPRIT_TRIES: int
CULPRIT_UNIT: int

def culprit_reads(frames: Sequence[int], length: int, words: int, at_once: int, searches: int, seed: int) -> tuple[list[int], int]: ...
def culprit_units(length: int) -> int: ...
def culprit_counters(flows: int) -> int: ...
def random_below(seed: int, subject: int, purpose: int, below: int) -> int: ...
def tables() -> list[str]: ...
def read_table(folder: str | PathLike[str], name: str) -> Table: ...
def manifest(folder: str | PathLike[str]) -> str: ...
def command(args: list[str], started_by: list[str]) -> int: ...

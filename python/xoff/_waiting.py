"""The answers of ``xoff explain`` and ``xoff tree``: blocked ports, the reasons, and the flows that fill the buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import _html
from ._answer import Answer


@dataclass(frozen=True)
class Waiting:
    """A port for which another one waits."""

    port: str
    """The port."""
    bytes: int
    """Bytes that wait for it."""


@dataclass(frozen=True)
class Share:
    """A flow in a buffer."""

    flow: int
    """Its number."""
    src: str
    """Its source."""
    dst: str
    """Its destination."""
    bytes: int
    """Its bytes in the buffer."""


@dataclass(frozen=True)
class ExplainedPort:
    """A paused or slowed port."""

    port: str
    """The port, ``S1->S2``."""
    priority: int
    """The priority."""
    start_ps: int
    """Start of the pause [ps]."""
    restraint: Literal["stopped", "slowed"]
    """The action of its peer."""
    allowed_bps: int
    """Its allowed rate [bit/s]; 0: paused."""
    held_bytes: int
    """The buffer of its peer then [bytes]."""
    waiting_for: list[Waiting]
    """The egress ports for which that buffer waited."""
    flows: list[Share]
    """The flows that filled it, the largest first."""


@dataclass(frozen=True, kw_only=True)
class Explanation(Answer):
    """The chain from a paused or slowed port back to its root."""

    at_ps: int
    """The time [ps]."""
    steps: list[ExplainedPort]
    """The chain, the requested port first."""
    root: Literal["not held", "deadlock", "bottleneck", "far end"]
    """The kind of its root."""
    root_port: str | None
    """The port of a bottleneck."""
    cycle_from_step: int | None
    """Of a deadlock: the step to which the last one leads back, from 0."""

    @property
    def headline(self) -> str:
        """The chain in a line."""
        return f"{self.root}{f' at {self.root_port}' if self.root_port else ''}: " + (" waits for ".join(s.port for s in self.steps) or "no port waited")

    def _repr_html_(self) -> str:
        heads = ["Port", "Priority", "Since [ps]", "Restraint", "Held [bytes]", "Waits for", "Filled by"]
        rows = [
            (s.port, s.priority, s.start_ps, s.restraint, s.held_bytes, " ".join(w.port for w in s.waiting_for),
             ", ".join(f"{f.src} to {f.dst}" for f in s.flows[:4]))
            for s in self.steps
        ]
        return _html.headline(self.headline) + _html.table(heads, rows)


@dataclass(frozen=True)
class Branch:
    """A port of a congestion tree."""

    port: str
    """The port."""
    priority: int
    """The priority."""
    role: str
    """``congested``, ``undetermined`` or ``paused host``; without a detector of congestion ``paused``, ``paused host`` or ``free to send``."""
    queue_bytes: int
    """Its queued bytes."""
    held: bool
    """True if its peer pauses it."""
    parent: int | None
    """The branch towards the root, by its place in the list."""
    waits_for: list[tuple[int, int]]
    """Branches and the bytes that wait for them."""


@dataclass(frozen=True)
class Member:
    """A flow in a congestion tree."""

    flow: int
    """Its number."""
    src: str
    """Its source."""
    dst: str
    """Its destination."""
    ce_frames: int
    """Frames that arrived marked CE."""
    ue_frames: int
    """Frames that arrived marked UE."""


@dataclass(frozen=True, kw_only=True)
class CongestionTree(Answer):
    """Congested ports, the ports that wait for them, flows that cause it and flows that suffer."""

    at_ps: int
    """The time [ps]."""
    branches: list[Branch]
    """The ports."""
    culprits: list[Member]
    """Flows through a congested port."""
    victims: list[Member]
    """Flows through undetermined ports only."""
    pauses_only: str | None = None
    """Detection of the run, which does not tell congested from undetermined ports; ``None``: it does."""

    @property
    def headline(self) -> str:
        """The tree in a line."""
        return f"{len(self.branches)} ports, {len(self.culprits)} culprits, {len(self.victims)} victims"

    def _repr_html_(self) -> str:
        ports = [(b.port, b.role, b.queue_bytes, "held" if b.held else "", self.branches[b.parent].port if b.parent is not None else "") for b in self.branches]
        flows = [(kind, m.flow, m.src, m.dst, m.ce_frames, m.ue_frames) for kind, ms in (("culprit", self.culprits), ("victim", self.victims)) for m in ms]
        return (
            _html.headline(self.headline)
            + _html.table(["Port", "Role", "Queue [bytes]", "", "Waits for"], ports)
            + _html.table(["", "Flow", "From", "To", "CE frames", "UE frames"], flows)
        )

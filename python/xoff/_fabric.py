"""The answers of ``xoff check``, ``explain`` and ``tree`` about a scheduled fabric."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from . import _html
from ._answer import Answer


@dataclass(frozen=True)
class Limit:
    """An upper bound on the throughput of an output."""

    key: str
    """Key that sets it."""
    share: float
    """The bound, as a share of the line."""
    load: float
    """Load of an output, as a share of its line."""
    formula: str
    """Formula and numbers."""
    hint: str
    """Remedy if the bound is below the load."""


@dataclass(frozen=True, kw_only=True)
class FabricCheck(Answer):
    """Deadlocks and limits of a scheduled fabric. True if no deadlock can form."""

    headline: str
    """The answer in a line."""
    ports: int
    """Inputs and outputs."""
    verdict: Literal["deadlock-free", "can-deadlock"]
    """Whether packets can wait for each other forever."""
    because: str
    """Condition that holds, or the one that fails, with its numbers."""
    limits: list[Limit]
    """Upper bounds on the throughput of an output."""

    def __bool__(self) -> bool:
        return self.verdict == "deadlock-free"

    def _repr_html_(self) -> str:
        rows = [(limit.key, limit.share, limit.load, limit.formula) for limit in self.limits]
        return _html.headline(f"{self.headline} {self.because}") + _html.table(["Limit", "Share of the line", "Load", "Formula"], rows)


@dataclass(frozen=True)
class WaitingBytes:
    """Bytes that wait for a port, or at a port."""

    port: str
    """The port."""
    bytes: int
    """The bytes."""


@dataclass(frozen=True)
class FabricOutput:
    """Packets for one output."""

    port: str
    """The output."""
    bytes: int
    """Bytes that have not been sent into the fabric."""
    flows: int
    """Flows with such bytes."""
    granted: int
    """Flows of those that hold a grant."""
    inputs: list[WaitingBytes]
    """These bytes by input, most first."""
    requested: int
    """Requested and not granted [segments]."""
    grants_wait_for: Literal["no request", "rate", "output slots", "fabric slots"]
    """Reason why the output grants nothing now."""
    free: int | None
    """Free slots of those; ``None``: it does not wait for slots [segments]."""
    needed: int | None
    """Slots that the next grant needs [segments]."""
    held_bytes: int
    """Bytes in its reorder and reassembly buffer."""
    complete: int
    """Complete packets in it, which wait for the line."""
    blocked_until_ps: int | None
    """Its receiver takes nothing until then; ``None``: it takes what comes [ps]."""


@dataclass(frozen=True)
class FabricInput:
    """Packets at one input."""

    port: str
    """The input."""
    paused_since_ps: int | None
    """Start of the pause of its host; ``None``: it may send, or there are no hosts [ps]."""
    held_bytes: int
    """Bytes in its input buffer; in its VOQs where there are no hosts."""
    outputs: list[WaitingBytes]
    """Bytes that have not been sent into the fabric by output, most first."""


@dataclass(frozen=True, kw_only=True)
class FabricWaits(Answer):
    """What waits in a scheduled fabric at a time, and for what."""

    at_ps: int
    """The time [ps]."""
    outputs: list[FabricOutput]
    """Outputs for which packets wait, most bytes first."""
    inputs: list[FabricInput]
    """Inputs with packets, most bytes first."""
    deadlock: str | None
    """A reassembly deadlock; ``None``: there is none."""

    @property
    def headline(self) -> str:
        """The answer in a line."""
        return self.deadlock or f"{sum(o.bytes for o in self.outputs)} B wait for {len(self.outputs)} outputs"

    def _repr_html_(self) -> str:
        rows = [(o.port, o.bytes, o.flows, o.granted, o.grants_wait_for, o.held_bytes) for o in self.outputs]
        return _html.headline(self.headline) + _html.table(["Output", "Bytes", "Flows", "Granted", "Grants wait for", "Held [bytes]"], rows)


def _of_fabric(answer: tuple[str, str]) -> bool:
    value = json.loads(answer[1])
    return "outputs" in value or value.get("verdict") in ("deadlock-free", "can-deadlock")


def network(answer: tuple[str, str], asked: str, instead: str) -> tuple[str, str]:
    """The answer, unless it is about a scheduled fabric: that has another type."""
    if _of_fabric(answer):
        raise TypeError(f"{asked}: this is a scheduled fabric; use xoff.{instead}")
    return answer


def fabric(answer: tuple[str, str], asked: str, instead: str) -> tuple[str, str]:
    """The answer, unless it is about a network: that has another type."""
    if not _of_fabric(answer):
        raise TypeError(f"{asked}: this is a network; use xoff.{instead}")
    return answer

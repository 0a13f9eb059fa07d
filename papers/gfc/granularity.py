"""Section 7: a target rate below the smallest that a limiter can hold."""

from pathlib import Path
from typing import Any

import polars as pl
import xoff
from xoff import Link, Message, Occupancy, Receiver, Run, Sender
from xoff.lab import Results, Row, observe, units
from xoff.lab.observe import MS

SCENARIO = "scenarios/sec7-granularity.toml"
PORT = "H0->S1"
B_M, B_1, HYSTERESIS = 300_000, 281_000, 3_000
"""Thresholds of the simulations [bytes]."""


class Stages:
    """Stage k from B_k = B_m - (B_m - B_1) / 2^(k-1) on has the rate C / 2^k."""

    def __init__(self, line: int) -> None:
        self.line = line
        width = B_M - B_1
        self.starts = [B_M - -(-width >> k) for k in range(63) if k == 0 or width > 1 << (k - 1)]

    def stage(self, queue: int) -> int:
        return sum(start <= queue for start in self.starts)

    def rate(self, stage: int) -> int:
        return self.line >> stage


class CoarseReceiver(Receiver):
    """Announces stages, as buffer-based GFC."""

    def __init__(self, line: int, unit: int) -> None:
        self.stages, self.unit, self.announced = Stages(line), unit, 0

    def on_arrival(self, now_ps: int, occupancy: Occupancy, frame_bytes: int) -> Message | None:
        stage = self.stages.stage(occupancy.bytes)
        return self._announce(stage) if stage > self.announced else None

    def on_departure(self, now_ps: int, occupancy: Occupancy, frame_bytes: int) -> Message | None:
        stage = self.stages.stage(occupancy.bytes + HYSTERESIS)
        return self._announce(stage) if stage < self.announced else None

    def _announce(self, stage: int) -> int:
        self.announced = stage
        return stage

    def holds(self, occupancy: Occupancy, stuck_bytes: int, frame_bytes: int) -> bool:
        return self.stages.rate(self.stages.stage(stuck_bytes)) < self.unit


class CoarseSender(Sender):
    """Its limiter cannot hold less than the unit: targets below it become zero."""

    def __init__(self, line: int, unit: int) -> None:
        self.stages, self.unit, self.target = Stages(line), unit, line
        self.limit = line
        self.frame_ps = self.sent_ps = self.free_ps = 0

    def gate(self, now_ps: int, frame_bytes: int) -> bool | int:
        if self.target < self.unit:
            return False
        return True if now_ps >= self.free_ps else self.free_ps

    def on_sent(self, now_ps: int, frame_bytes: int, duration_ps: int) -> None:
        self.frame_ps, self.sent_ps = duration_ps, now_ps + duration_ps
        self.free_ps = self.sent_ps + self._gap()

    def on_message(self, now_ps: int, message: Message) -> None:
        assert isinstance(message, int)
        self.target, old = self.stages.rate(message), self.limit
        self.limit = max(self.target, self.unit)
        if now_ps < self.sent_ps:
            self.free_ps = self.sent_ps + self._gap()
        elif now_ps < self.free_ps:
            # What remains of the gap is scaled.
            self.free_ps = now_ps + -(-(self.free_ps - now_ps) * old // self.limit)

    def _gap(self) -> int:
        """(C - R) / R of the frame's time, rounded up."""
        return -(-self.frame_ps * (self.stages.line - self.limit) // self.limit)

    def rate(self, now_ps: int) -> float:
        return 0 if self.target < self.unit else self.limit


class Coarse:
    """Buffer-based GFC with a limiter that turns a rate below its unit into zero."""

    message_bytes = 64

    def __init__(self, unit: int) -> None:
        self.unit = unit

    def receiver(self, link: Link) -> CoarseReceiver:
        return CoarseReceiver(link.rate_bps, self.unit)

    def sender(self, link: Link) -> CoarseSender:
        return CoarseSender(link.rate_bps, self.unit)


def incast(unit: int) -> dict[str, Any]:
    """16 senders, one receiver: how long a sender is at rate zero, and its mean rate, from 5 ms on."""
    run: Run = xoff.run(Path(__file__).parent / SCENARIO, flow_control=Coarse(unit))
    allowed = observe.port_rate(run, PORT, "flow_control").filter(pl.col("time_ps") > 5 * MS)
    return {
        "zero": allowed.filter(pl.col("y") == 0).height / allowed.height,
        "mean": observe.mean(observe.port_rate(run, PORT), 5 * MS, observe.end(run)),
        "lost": observe.lost(run),
        "allowed": allowed.filter(pl.col("time_ps") < 6 * MS),
    }


def sender(r: Results) -> dict[str, Row]:
    return {units.rate(row["unit"]): row for row in r.runs}


def lost(r: Results) -> int:
    return sum(r.runs.column("lost"))


def shares(r: Results) -> dict[int, dict[int, int]]:
    """Share of a link of so many Gb/s after cascaded incasts of 16 to 1, cut off to whole bit/s after each."""
    return {gbps: {incasts: gbps * 10**9 // 16**incasts for incasts in (5, 6)} for gbps in (10, 40, 100)}


def after_six(r: Results) -> list[float]:
    return [of[6] for of in shares(r).values()]

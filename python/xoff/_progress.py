"""Progress of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TextIO


class Progress(NamedTuple):
    """Argument of a progress callback, which is called about twenty times a second."""

    now_ps: int
    """Simulated time reached [ps]."""
    until_ps: int
    """Simulated time to reach [ps]."""
    events: int
    """Events handled."""
    deadlocks: int
    """Deadlocks found."""

    @property
    def done(self) -> float:
        """Completed part of the simulated time, 0 to 1."""
        return self.now_ps / self.until_ps if self.until_ps else 1.0


class Step(NamedTuple):
    """Argument of a progress callback of :func:`xoff.check`, :func:`xoff.explain`, :func:`xoff.tree` and :func:`xoff.reproduce`."""

    done: float
    """Completed part of the work, 0 to 1; 0 if the amount is unknown."""
    what: str
    """Description of the work."""


Callback = Callable[[Progress], object]
StepCallback = Callable[[Step], object]


class Line:
    """A status line of a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream is not None and self.stream.isatty()
        self.started = time.monotonic()
        self.dirty = False

    def write(self, text: str) -> None:
        if self.shown:
            self.dirty = True
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()

    def clear(self) -> None:
        if self.dirty:
            self.dirty = False
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def step(self, title: str) -> StepCallback:
        """A callback that shows one piece of work."""
        return lambda s: self.write(f"{title} [{('#' * round(20 * s.done)).ljust(20)}] {s.what}"[:110])

    def run(self, title: str) -> Callback:
        """A callback that shows one run."""

        def show(p: Progress) -> None:
            seconds = time.monotonic() - self.started
            left = seconds / p.done - seconds if p.done > 0 else 0.0
            bar = ("#" * round(20 * p.done)).ljust(20)
            deadlock = ", deadlock" if p.deadlocks else ""
            ms = f"{p.now_ps / 1e9:.3g} of {p.until_ps / 1e9:.3g} ms"
            self.write(f"{title} [{bar}] {ms}, {p.events / 1e6:.1f} M events, {left:.0f} s left{deadlock}")

        return show

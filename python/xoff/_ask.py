"""Work on a thread of its own, so that Ctrl-C reaches it whatever it does; the answers of the subcommands."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from os import PathLike, fspath
from typing import TypeVar

from . import _core
from ._errors import Problem, ScenarioWarning
from ._numbers import whole
from ._progress import Line, Step, StepCallback

T = TypeVar("T")

LOOK = 0.05
"""Interval between two checks of signals and progress [s]."""


def aside(work: Callable[[], T], stop: Callable[[], object], look: Callable[[], object] | None = None, results: list[T] | None = None) -> T:
    """Run ``work`` on another thread. An exception here, such as :class:`KeyboardInterrupt`, stops the work, waits for it, and
    propagates. The value that the work then returned is in ``results``."""
    results = [] if results is None else results
    failures: list[BaseException] = []
    # Not Thread.join: an interrupt in it makes a running thread pass for one that has ended (Python 3.11). Nor an Event, which is written in
    # Python: an interrupt between two of its lines leaves it as RuntimeError("release unlocked lock"). The lock is held during the work
    # and only waited for; the state is in the list, because an interrupt may come between getting the lock and the next line.
    ended: list[bool] = []
    over = threading.Lock()
    over.acquire()

    def target() -> None:
        try:
            results.append(work())
        except BaseException as e:  # noqa: BLE001 - raised again below
            failures.append(e)
        finally:
            ended.append(True)
            over.release()

    # A daemon, so that a second Ctrl-C ends the process whatever the work does.
    threading.Thread(target=target, name="xoff", daemon=True).start()
    try:
        while not ended:
            if not over.acquire(timeout=LOOK) and look is not None:
                look()
    except BaseException:
        stop()
        while not ended:
            over.acquire(timeout=LOOK)
        raise
    if failures:
        raise failures[0]
    return results[0]


def ask(
    args: list[str],
    *,
    progress: bool | StepCallback,
    scenario: tuple[str, str] | None = None,
    stacklevel: int = 3,
) -> tuple[str, str]:
    """Text and JSON of a subcommand's answer. Its warnings become :class:`xoff.ScenarioWarning`."""
    caller = _core.Caller(scenario)
    line = Line()
    given = progress if callable(progress) else line.step(args[0]) if progress and line.shown else None
    seen: list[Step] = []

    def look() -> None:
        step = Step(*caller.step())
        if given is not None and seen != [step]:
            seen[:] = [step]
            given(step)

    try:
        text, json, _ = aside(lambda: _core.ask(["xoff", *args], caller), caller.stop, look)
    finally:
        line.clear()
    for fields in caller.warnings():
        warnings.warn(str(Problem(*fields)), ScenarioWarning, stacklevel=stacklevel)
    return text, json


def option(name: str, value: object) -> list[str]:
    """``--name=value``; nothing for ``None`` and ``False``."""
    if value is None or value is False:
        return []
    flag = f"--{name.replace('_', '-')}"
    return [flag] if value is True else [f"{flag}={written(value)}"]


def written(value: object) -> str:
    """A value as the command line takes it."""
    if isinstance(value, PathLike):
        return str(fspath(value))
    return str(value)


def instant(at: str | int) -> str:
    """A time: a text with a unit, or a number of picoseconds."""
    if isinstance(at, str):
        return at
    return f"{whole('a time in picoseconds, or a text such as 2.9ms', at)}ps"

"""Exceptions and warnings. The texts are those of the command line: ``file:line:column: message (hint)``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A problem of an input, and its position."""

    message: str
    """The problem."""
    hint: str = ""
    """A hint; may be empty."""
    file: str | None = None
    """The file, as it was named; ``None``: no file is concerned."""
    line: int | None = None
    """Line in the file, from 1."""
    column: int | None = None
    """Column in the line, from 1, in characters."""
    setting: str | None = None
    """The keyword or option that is wrong, as it was given."""

    def __str__(self) -> str:
        place = self.setting if self.file is None else f"{self.file}:{self.line}:{self.column}"
        return (f"{place}: " if place else "") + self.message + (f" ({self.hint})" if self.hint else "")


class ScenarioError(ValueError):
    """A scenario, a topology or a setting is wrong: one line for each problem, the first ten of them.

    ``file``, ``line``, ``column``, ``hint`` and ``message`` are those of the first problem; :attr:`problems` has all.
    """

    _fields: list[tuple[str, str, str | None, int | None, int | None, str | None]]

    @property
    def problems(self) -> list[Problem]:
        """All problems, in the order in which xoff found them."""
        return [Problem(*f) for f in getattr(self, "_fields", [])] or [Problem(str(self))]

    @property
    def message(self) -> str:
        """The first problem."""
        return self.problems[0].message

    @property
    def hint(self) -> str:
        """A hint; may be empty."""
        return self.problems[0].hint

    @property
    def file(self) -> str | None:
        """The file; ``None``: no file is concerned."""
        return self.problems[0].file

    @property
    def line(self) -> int | None:
        """Line in the file, from 1."""
        return self.problems[0].line

    @property
    def column(self) -> int | None:
        """Column in the line, from 1, in characters."""
        return self.problems[0].column


class ScenarioNotFoundError(ScenarioError, FileNotFoundError):
    """There is no such file."""


class RunError(RuntimeError):
    """Results cannot be written or read: a full disk, a folder that another process writes or that holds something else, a folder without a run."""


class ScenarioWarning(UserWarning):
    """A warning about a valid scenario, such as a theorem's condition that does not hold."""

"""A measured value, the band in which it must lie, the source of the band, and a value that would fail it.

    possible[0]        low        high        possible[1]
      possible  |----------------[==========]----------------|     all that the quantity can be in this setting
                 fails here ---'              '--- or here         neither: the check says nothing, and is void
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .._reproduction import JudgedCheck
from . import units

SOURCES = {
    "paper": "paper",
    "around": "chosen around the paper's number",
    "recomputed": "recomputed",
    "closed form": "closed form",
    "words": "chosen for the paper's words",
    "chosen": "chosen",
}
"""Sources of a band, and their text for people.

``paper``: the paper's number, or words that leave no number open. ``around``: chosen around a number that has no tolerance.
``recomputed``: from the paper's formulas and parameters. ``closed form``: arithmetic or a proved law. ``words``: chosen for words of the
paper without a number. ``chosen``: from no other source, for a result that the paper does not claim.
"""

CANNOT_FAIL = "cannot fail"
"""Text for a check that no value fails."""

Verdict = Literal["reproduced", "reproduced under assumption", "not reproduced", "extension"]


@dataclass(frozen=True)
class Check:
    """A measured value and the band in which it must lie."""

    what: str
    """Name of the measured quantity."""
    value: float
    """Measured value, base unit."""
    low: float
    """Smallest accepted value."""
    high: float
    """Largest accepted value."""
    unit: str = ""
    """Unit of the value: one of :data:`units.BASE`, ``fraction``, or a word."""
    interval: tuple[float, float] | None = None
    """The 95 % interval of a mean: all of it must lie in the band."""
    possible: tuple[float, float] | None = None
    """All that the quantity can be in this setting; by default what its unit allows."""
    paper: float | None = None
    """The paper's value."""
    source: str = "chosen"
    """Source of the band, a key of :data:`SOURCES`."""
    assumption: str = ""
    """Assumption that the paper does not state."""

    @property
    def holds(self) -> bool:
        """True if the value, and the whole interval of a mean, is in the band. NaN and infinity are in no band."""
        return all(math.isfinite(v) and self.low <= v <= self.high for v in (self.value, *(self._ends() or ())))

    @property
    def failing_example(self) -> float | None:
        """A value that the quantity can have and that fails the check; ``None``: it cannot fail, and says nothing."""
        if self._is_count():
            step = 1.0
        elif self.low == 0:
            step = 0.5 * abs(self.high) if math.isfinite(self.high) else 1.0
        else:
            step = 0.5 * abs(self.low)
        bottom, top = self.possible or _possible(self.unit, self.low, self.high)
        below = min(max(self.low - step, bottom), top)
        above = self.high + 1.0 if self._is_count() or self.high == 0 else self.high + 0.5 * abs(self.high)
        above = max(min(above, top), bottom)
        return next((v for v in (below, above) if math.isfinite(v) and bottom <= v <= top and not self.low <= v <= self.high), None)

    @property
    def passes(self) -> bool:
        """True if it holds and could have failed."""
        return self.holds and self.failing_example is not None

    def _ends(self) -> tuple[float, float] | None:
        """The interval, cut at what the unit allows: no share is below zero."""
        if self.interval is None:
            return None
        bottom, top = _possible(self.unit, self.low, self.high)
        return max(self.interval[0], bottom), min(self.interval[1], top)

    def _is_count(self) -> bool:
        counted = self.unit not in units.BASE and self.unit not in ("", "fraction")
        return counted and all(math.isinf(v) or v == math.trunc(v) for v in (self.low, self.high))

    def words(self, value: float | None) -> str:
        """A value with the unit of the check."""
        return units.words(value, self.unit)

    @property
    def measured(self) -> str:
        """The measured value in words, a mean with its interval."""
        ends = self._ends()
        return self.words(self.value) if ends is None else f"{self.words(self.value)} ({self.words(ends[0])} to {self.words(ends[1])})"

    @property
    def range(self) -> str:
        """The accepted range in words."""
        if self.low == self.high:
            return self.words(self.low)
        if math.isfinite(self.low):
            return f"{self.words(self.low)} to {self.words(self.high)}" if math.isfinite(self.high) else f"{self.words(self.low)} or more"
        return f"{self.words(self.high)} or less" if math.isfinite(self.high) else "any"

    @property
    def sentence(self) -> str:
        """Value, band and the paper's value."""
        paper = "" if self.paper is None else f", paper {self.words(self.paper)}"
        return f"{self.what}: {self.measured}, expected {self.range}{paper}"

    def judged(self) -> JudgedCheck:
        """The check in words, with its result."""
        example = self.failing_example
        return JudgedCheck(
            what=self.what,
            measured=self.measured,
            expected=self.range,
            paper="" if self.paper is None else self.words(self.paper),
            source=SOURCES[self.source],
            assumption=self.assumption,
            fails_at=CANNOT_FAIL if example is None else self.words(example),
            holds=self.holds,
        )


def claimed(check: Check) -> Check:
    """The paper claims it in words. The band is the paper's if it needs no chosen number: 0, 1 and open ends."""
    in_words = all(v in (0, 1) or math.isinf(v) for v in (check.low, check.high))
    return replace(check, source="paper" if in_words else "words")


def around(check: Check, paper: float) -> Check:
    """With the paper's value, which is the source if it is an end of the band; else the width of the band is chosen."""
    return replace(check, paper=paper, source="paper" if paper in (check.low, check.high) else "around")


def verdict(checks: Sequence[Check], extension: bool = False) -> Verdict:
    """What follows from the checks: no check failed, each could have; none needed an assumption."""
    if extension:
        return "extension"
    if not checks or not all(c.passes for c in checks):
        return "not reproduced"
    return "reproduced under assumption" if assumed(checks) else "reproduced"


def assumed(checks: Iterable[Check]) -> list[str]:
    """The assumptions that checks needed, each once."""
    return list(dict.fromkeys(c.assumption for c in checks if c.assumption))


def reasons(checks: Iterable[Check]) -> list[str]:
    """Sentences about the checks that do not hold, or that no value fails."""
    return [f"{CANNOT_FAIL if c.failing_example is None else 'failed'}: {c.sentence}" for c in checks if not c.passes]


def _possible(unit: str, low: float, high: float) -> tuple[float, float]:
    """Possible values by the unit alone: not negative unless the band is, and a share at most 1 unless the band is larger."""
    one = unit == "fraction" and (high <= 1 or (math.isinf(high) and low <= 0))
    return (-math.inf if low < 0 else 0.0), (1.0 if one else math.inf)

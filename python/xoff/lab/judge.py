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
paper without a number. ``chosen``: from no other source, for a result that the paper does not claim; it counts for no verdict.
"""

_OURS = ("around", "words", "chosen")
"""Sources with a number of ours. A value outside of such a band contradicts nothing."""

CANNOT_FAIL = "cannot fail"
"""Text for a check that no value fails."""

Verdict = Literal["confirmed", "confirmed under a stated reading", "undecided", "contradicted", "erratum", "extension"]
Result = Literal["holds", "undecided", "contradicts", "erratum", "fails"]
Prints = Literal["mean", "run"]
RESULTS: tuple[Result, ...] = ("contradicts", "undecided", "erratum", "fails", "holds")
"""Results of a check, the one that decides first."""
_FAR = 3
"""Factor from which on a value is far from the paper's."""


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
    single: tuple[float, float] | None = None
    """The 95 % prediction interval of a single run."""
    prints: Prints = "mean"
    """What the paper's value is: a mean, or one run, which must lie in the interval of single runs."""
    possible: tuple[float, float] | None = None
    """All that the quantity can be in this setting; by default what its unit allows."""
    paper: float | None = None
    """The paper's value."""
    source: str = "chosen"
    """Source of the band, a key of :data:`SOURCES`."""
    assumption: str = ""
    """Assumption that the paper does not state: a reading of ours."""
    tried: str = ""
    """Other readings under which the check fails too; without them a reading of ours contradicts nothing."""
    right: tuple[float, float] | None = None
    """Band around the number that the paper should have printed, if its own formulas give another one."""

    @property
    def holds(self) -> bool:
        """True if the value, and the whole interval of a mean, is in the band. NaN and infinity are in no band.

        One run of the paper may also lie in the prediction interval of single runs, unless that is wider than the number itself.
        """
        if self.prints == "run" and self.single is not None and self.paper is not None:
            low, high = self.single
            if low <= self.paper <= high and (high - low) / 2 < abs(self.paper):
                return True
        return self._within(self.low, self.high)

    @property
    def result(self) -> Result:
        """What follows for the paper. ``contradicts``: all of the interval is outside of a band that is not ours, or the paper's number is
        outside of the interval; and no reading of ours can be the cause. ``fails``: a finding of which the paper says nothing."""
        if self.failing_example is None:
            return "undecided"
        if self.holds:
            return "holds"
        if not self.counts:
            return "fails"
        if self.right is not None and self._within(*self.right):
            return "erratum"
        return "contradicts" if self._excluded and (self.tried or not self.assumption) else "undecided"

    @property
    def counts(self) -> bool:
        """True if the verdict depends on it: it is about something that the paper claims."""
        return self.source != "chosen"

    def _within(self, low: float, high: float) -> bool:
        return all(math.isfinite(v) and low <= v <= high for v in (self.value, *(self._ends() or ())))

    @property
    def _excluded(self) -> bool:
        low, high = self._ends() or (self.value, self.value)
        if not (high < self.low or low > self.high):
            return False
        if self.source not in _OURS:
            return True
        # The width of the band is ours. Whether the paper's number can be one of these values is not.
        found = self.single if self.prints == "run" else self.interval
        return self.source == "around" and self.paper is not None and found is not None and not found[0] <= self.paper <= found[1]

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
        if ends is None:
            return self.words(self.value)
        runs = f"; single runs {self.words(self.single[0])} to {self.words(self.single[1])}" if self.prints == "run" and self.single else ""
        return f"{self.words(self.value)} ({self.words(ends[0])} to {self.words(ends[1])}{runs})"

    @property
    def distance(self) -> str:
        """How far the value is from the paper's, or from the nearest end of the band: ``-0.7 %``, ``1.44x``, ``far: 98x``. Empty if the paper
        has no number and the value is in the band, or the number is a limit that is kept."""
        to = self._to
        if to is None or not math.isfinite(self.value) or self.words(self.value) == self.words(to):
            return ""
        ratio = self.value / to if to else math.nan
        if not ratio >= 0:
            return f"{'+' if self.value > to else ''}{self.words(self.value - to)}"
        if 0.9 < ratio < 1.1:
            return f"{(ratio - 1) * 100:+.2g} %"
        return f"{'' if 1 / _FAR <= ratio <= _FAR or self._reaches(to) else 'far: '}{ratio:.3g}x"

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

    @property
    def _to(self) -> float | None:
        """The number that the distance is to."""
        if self.paper is not None and not (self.holds and self.paper in (self.low, self.high) and self.low != self.high):
            return self.paper
        return None if self.low <= self.value <= self.high else min((self.low, self.high), key=lambda end: abs(self.value - end))

    def _reaches(self, value: float) -> bool:
        ends = self._ends()
        return ends is not None and ends[0] <= value <= ends[1]

    @property
    def off(self) -> float:
        """The distance as a number, to compare it with others: zero if the interval reaches so far, infinite from or to zero."""
        to = self._to
        if to is None or self._reaches(to):
            return 0.0
        ratio = self.value / to if to else math.nan
        return abs(math.log(ratio)) if ratio > 0 else math.inf

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
            tried=self.tried,
            fails_at=CANNOT_FAIL if example is None else self.words(example),
            result=self.result,
            distance=self.distance,
        )


def claimed(check: Check) -> Check:
    """The paper claims it in words. The band is the paper's if it needs no chosen number: 0, 1 and open ends."""
    in_words = all(v in (0, 1) or math.isinf(v) for v in (check.low, check.high))
    return replace(check, source="paper" if in_words else "words")


def around(check: Check, paper: float) -> Check:
    """With the paper's value, which is the source if it is an end of the band; else the width of the band is chosen."""
    return replace(check, paper=paper, source="paper" if paper in (check.low, check.high) else "around")


def verdict(checks: Sequence[Check], extension: bool = False) -> Verdict:
    """What follows from the checks that count: the worst of their results."""
    if extension:
        return "extension"
    counted = [c for c in checks if c.counts]
    results = {c.result for c in counted}
    if "contradicts" in results:
        return "contradicted"
    if "undecided" in results or not counted:
        return "undecided"
    if "erratum" in results:
        return "erratum"
    return "confirmed under a stated reading" if assumed(counted) else "confirmed"


def distance(checks: Iterable[Check]) -> str:
    """That of the check that decides the verdict: of those with the worst result, the one farthest from a number of the paper, if one has it."""
    counted = [c for c in checks if c.counts]
    return min(counted, key=lambda c: (RESULTS.index(c.result), c.paper is None, -c.off, not c.distance)).distance if counted else ""


def assumed(checks: Iterable[Check]) -> list[str]:
    """The assumptions that checks needed, each once."""
    return list(dict.fromkeys(c.assumption for c in checks if c.assumption))


def reasons(checks: Iterable[Check]) -> list[str]:
    """Sentences about the checks that do not hold, or that no value fails."""
    return [f"{CANNOT_FAIL if c.failing_example is None else c.result}: {c.sentence}" for c in checks if c.result != "holds"]


def _possible(unit: str, low: float, high: float) -> tuple[float, float]:
    """Possible values by the unit alone: not negative unless the band is, and a share at most 1 unless the band is larger."""
    one = unit == "fraction" and (high <= 1 or (math.isinf(high) and low <= 0))
    return (-math.inf if low < 0 else 0.0), (1.0 if one else math.inf)

"""Means over seeds with their intervals: those of sweeps and comparisons, in Rust."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from .. import _core

@dataclass(frozen=True)
class Mean:
    """A mean over seeds. A check with it is judged by the whole interval; one value has none."""

    mean: float
    """The mean; NaN of nothing."""
    low: float
    """Lower end of the 95 % interval; the mean itself where one value is all there is."""
    high: float
    """Upper end."""
    n: int = 2
    """Number of values."""
    single: tuple[float, float] | None = field(default=None, compare=False)
    """95 % prediction interval of one more value, such as the one run of a paper; ``None`` where the values themselves are not known."""

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Mean:
        """Mean of independent values. NaN and ``None`` (no flow of that size) do not count."""
        kept = [float(v) for v in values if v is not None and math.isfinite(v)]
        mean, low, high, n = _core.mean_of(kept)
        # A mean scatters by s/sqrt(n), the difference between it and a new value by s sqrt(1 + 1/n).
        wider = math.sqrt(n + 1)
        return cls(mean, low, high, n, None if n < 2 else (mean - (mean - low) * wider, mean + (high - mean) * wider))

    @classmethod
    def ratio(cls, over: Sequence[float], under: Sequence[float]) -> Mean:
        """Geometric mean of the ratios of values that belong together: the same traffic under two schemes."""
        logs = cls.of(math.log(a / b) if a > 0 and b > 0 else math.nan for a, b in zip(over, under, strict=False))
        single = None if logs.single is None else (math.exp(logs.single[0]), math.exp(logs.single[1]))
        return cls(math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.n, single)

    def plus(self, more: float) -> Mean:
        """The mean of the values, each with ``more`` added."""
        single = None if self.single is None else (self.single[0] + more, self.single[1] + more)
        return replace(self, mean=self.mean + more, low=self.low + more, high=self.high + more, single=single)

    def within(self, low: float, high: float) -> Mean:
        """With an interval that ends where the quantity does."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))

    def over(self, other: Mean) -> Mean:
        """Ratio to a mean of other values: from the smallest that both intervals allow to the largest."""
        return Mean(self.mean / other.mean, self.low / other.high, self.high / other.low, min(self.n, other.n))

    def less(self, other: Mean) -> Mean:
        """Difference to a mean of other values: from the smallest that both intervals allow to the largest."""
        return Mean(self.mean - other.mean, self.low - other.high, self.high - other.low, min(self.n, other.n))

    def words(self, one: Callable[[float], str]) -> str:
        """The value and its interval, each formatted by ``one``."""
        return one(self.mean) if self.n < 2 else f"{one(self.mean)} ({one(self.low)} to {one(self.high)})"


@dataclass(frozen=True)
class Share:
    """Share of some runs."""

    of: int
    """Runs for which something is true."""
    n: int
    """All runs."""

    @property
    def value(self) -> float:
        """The share itself; NaN of nothing."""
        return self.of / self.n if self.n else math.nan

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson: 3 of 3 are 44 % or more."""
        return _core.share_interval(self.of, self.n)

    def mean(self) -> Mean:
        """Share and interval, for a check."""
        low, high = self.interval()
        return Mean(self.value, low, high, 2)

    def __str__(self) -> str:
        if not self.n:
            return "no run counts"
        low, high = self.interval()
        return f"{self.of} of {self.n} (95 %: {low * 100:.0f} to {high * 100:.0f} %)"


def quantile(values: Iterable[float], share: float) -> float:
    """The smallest value with at least ``share`` of the values up to it; NaN of nothing."""
    return _core.quantile(list(values), share)

"""Means over seeds with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
    2.086,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's t for 1, 2, 3 ... degrees of freedom."""


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

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Mean:
        """Mean of independent values. NaN and ``None`` (no flow of that size) do not count."""
        kept = [float(v) for v in values if v is not None and math.isfinite(v)]
        n = len(kept)
        if n == 0:
            return cls(math.nan, math.nan, math.nan, 0)
        # One after the other, as everywhere in xoff: sum() adds more exactly in newer versions of Python.
        mean = _sum(kept) / n
        half = 0.0
        if n > 1:
            variance = _sum([(v - mean) * (v - mean) for v in kept]) / (n - 1)
            half = _T[min(n - 2, len(_T) - 1)] * math.sqrt(variance / n)
        return cls(mean, mean - half, mean + half, n)

    @classmethod
    def ratio(cls, over: Sequence[float], under: Sequence[float]) -> Mean:
        """Geometric mean of the ratios of values that belong together: the same traffic under two schemes."""
        logs = cls.of(math.log(a / b) if a > 0 and b > 0 else math.nan for a, b in zip(over, under, strict=False))
        return cls(math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.n)

    def plus(self, more: float) -> Mean:
        """The mean of the values, each with ``more`` added."""
        return replace(self, mean=self.mean + more, low=self.low + more, high=self.high + more)

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

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """The 95 % interval of Wilson: 3 of 3 are 44 % or more."""
        if not self.n:
            return 0.0, 1.0
        p, n = self.value, self.n
        middle, scale = p + z * z / (2 * n), 1 + z * z / n
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max((middle - half) / scale, 0.0), min((middle + half) / scale, 1.0)

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
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1] if ordered else math.nan


def _sum(values: Iterable[float]) -> float:
    total = 0.0
    for v in values:
        total += v
    return total

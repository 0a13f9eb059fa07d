"""The answer of ``xoff bench-fabric``: the tests of the IETF draft on AI fabrics, for the fabric of a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from . import _html
from ._answer import Answer

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class BenchKpi:
    """A performance indicator."""

    name: str
    """Its name."""
    label: str
    """Its name in tables."""
    unit: str
    """Unit of its values; empty: none."""
    definition: str
    """Its definition."""


@dataclass(frozen=True)
class BenchValue:
    """A mean over seeds."""

    mean: float
    """The mean."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end."""
    n: int
    """Seeds with a value."""
    cv: float | None = None
    """Coefficient of variation; None: one seed, or a mean of 0."""


@dataclass(frozen=True)
class BenchRow:
    """The values of a case."""

    case: list[str]
    """What differs, in the order of :attr:`BenchTest.labels`."""
    values: list[BenchValue | None]
    """Values in the order of :attr:`BenchTest.kpis`; None: none."""


@dataclass(frozen=True)
class BenchFinding:
    """What speaks against the fabric."""

    kind: Literal["deadlock", "loss", "check", "unfinished", "failed"]
    """Its kind."""
    what: str
    """In words."""


@dataclass(frozen=True)
class BenchTest:
    """The result of a test."""

    test: str
    """Its name, as ``only`` takes it."""
    sections: str
    """Sections of the draft."""
    title: str
    """Its title."""
    definition: str
    """What is measured, and how."""
    state: Literal["done", "incomplete", "not-applicable"]
    """Whether it ran."""
    labels: list[str]
    """Names of what differs between rows."""
    kpis: list[BenchKpi]
    """Indicators, the primary one first."""
    rows: list[BenchRow]
    """A row for each case."""
    findings: list[BenchFinding]
    """What speaks against the fabric."""
    notes: list[str]
    """Notes, one sentence each."""
    scenarios: list[str]
    """Scenarios of its cases, below :attr:`FabricBenchmark.out`."""
    why: str | None = None
    """Why it does not apply; None: it does."""


@dataclass(frozen=True, kw_only=True)
class FabricBenchmark(Answer):
    """Results of the tests of draft-calabria-bmwg-ai-fabric-training-bench-02."""

    answer: Literal["yes", "no", "interrupted"]
    """``no``: a deadlock, lost frames, a violated check, work that did not end, or a run that failed."""
    headline: str
    """The answer in one line."""
    scenario: str
    """File of the scenario."""
    seeds: list[int]
    """The seeds of each case."""
    tests: list[BenchTest] = field(default_factory=list)
    """The tests, in the order of the draft."""
    deviations: list[str] = field(default_factory=list)
    """What differs from the draft, one sentence each."""
    out: str
    """Folder of the results."""

    def __getitem__(self, test: str) -> BenchTest:
        """A test by its name, such as ``"incast"``."""
        for found in self.tests:
            if found.test == test:
                return found
        raise KeyError(f"no test {test!r}; this benchmark has {', '.join(t.test for t in self.tests)}")

    @property
    def values(self) -> pl.DataFrame:
        """A row for each value: sections, test, case, kpi, unit, mean, low, high, cv, n."""
        import polars as pl

        rows = [
            (t.sections, t.test, " ".join(r.case), k.name, k.unit, v.mean, v.low, v.high, v.cv, v.n)
            for t in self.tests
            for r in t.rows
            for k, v in zip(t.kpis, r.values, strict=True)
            if v is not None
        ]
        schema = {"sections": pl.String, "test": pl.String, "case": pl.String, "kpi": pl.String, "unit": pl.String}
        numbers = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "cv": pl.Float64, "n": pl.Int64}
        return pl.DataFrame(rows, schema={**schema, **numbers}, orient="row")

    def _repr_html_(self) -> str:
        parts = [_html.headline(self.headline, self.answer)]
        for t in self.tests:
            rows = [[*r.case, *("" if v is None else f"{v.mean:.6g}" for v in r.values)] for r in t.rows]
            heads = [*t.labels, *(f"{k.label} [{k.unit}]" if k.unit else k.label for k in t.kpis)]
            parts.append(_html.table(heads, rows, f"{t.sections} {t.title}"))
        return "".join(parts)

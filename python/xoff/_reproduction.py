"""The answer of ``xoff reproduce``: claims of a paper with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from . import _html
from ._answer import Answer


@dataclass(frozen=True)
class JudgedCheck:
    """A measured value against its band."""

    what: str
    """The compared quantity."""
    measured: str
    """The measured value, with its unit."""
    expected: str
    """The accepted range."""
    paper: str
    """The value of the paper."""
    source: str
    """Where the band is from: the paper, recomputed, a closed form, or a choice of xoff."""
    assumption: str
    """Assumptions that the paper does not state; may be empty."""
    fails_at: str
    """A value that would fail."""
    holds: bool
    """True if the value is in the range."""


@dataclass(frozen=True)
class Claim:
    """A figure, table or claim of a paper; after a run, judged."""

    id: str
    """Its name."""
    title: str
    """Its subject."""
    paper: str
    """The claim of the paper."""
    band: str
    """When it counts as reproduced."""
    measured: str = ""
    """The measurement."""
    verdict: Literal["", "reproduced", "reproduced under assumption", "not reproduced", "extension"] = ""
    """Computed from :attr:`checks`, or ``extension``: no claim of the paper; empty if only listed."""
    assumptions: list[str] = field(default_factory=list)
    """Assumptions of the claim."""
    changes: list[str] = field(default_factory=list)
    """Changes of bands after data were seen, each with date and reason."""
    figure: str | None = None
    """Its figure, relative to the folder."""
    checks: list[JudgedCheck] = field(default_factory=list)
    """Every value that was compared."""
    why: list[str] = field(default_factory=list)
    """Why it is not reproduced."""
    notes: list[str] = field(default_factory=list)
    """Notes."""


@dataclass(frozen=True, kw_only=True)
class Reproduction(Answer):
    """Figures and tables of a paper, run and judged. True if all are reproduced."""

    paper: str
    """The paper."""
    mode: Literal["quick", "full"]
    """Short runs or full ones."""
    seed: int
    """Seed of every random stream."""
    complete: bool
    """True if it was not interrupted."""
    answer: Literal["yes", "no", "interrupted"]
    """Exit codes 0, 1 and 130."""
    claims: list[Claim]
    """Every claim that was run."""

    @property
    def headline(self) -> str:
        """The verdicts in a line."""
        names = ("reproduced", "reproduced under assumption", "not reproduced", "extension")
        count = {v: sum(e.verdict == v for e in self.claims) for v in names}
        return f"{self.paper}: " + ", ".join(f"{n} {v}" for v, n in count.items() if n or v != "extension")

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def _repr_html_(self) -> str:
        rows = [(e.id, e.verdict, e.paper, e.measured) for e in self.claims]
        return _html.headline(self.headline, self.answer) + _html.table(["Claim", "Verdict", "Paper", "Measured"], rows)

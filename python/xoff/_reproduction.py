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
    tried: str
    """Other readings under which it fails too; may be empty."""
    fails_at: str
    """A value that would fail."""
    result: Literal["holds", "undecided", "contradicts", "erratum", "fails"]
    """What follows for the paper; ``fails``: a finding outside of its range, which counts for no verdict."""
    distance: str
    """How far the value is from the paper's, such as ``1.44x``; may be empty."""


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
    """When it counts as confirmed."""
    measured: str = ""
    """The measurement."""
    verdict: Literal["", "confirmed", "confirmed under a stated reading", "undecided", "contradicted", "erratum", "extension"] = ""
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
    """Why it is not confirmed."""
    notes: list[str] = field(default_factory=list)
    """Notes."""
    distance: str = ""
    """How far the value that decides is from the paper's; may be empty."""
    cause: str = ""
    """Its main cause in a few words; may be empty."""


@dataclass(frozen=True, kw_only=True)
class Reproduction(Answer):
    """Figures and tables of a paper, run and judged. True if no claim is undecided or contradicted."""

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
        names = ("confirmed", "confirmed under a stated reading", "undecided", "contradicted", "erratum", "extension")
        count = {v: sum(e.verdict == v for e in self.claims) for v in names}
        return f"{self.paper}: " + ", ".join(f"{n} {v}" for v, n in count.items() if n or v == "confirmed")

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def _repr_html_(self) -> str:
        rows = [(e.id, e.verdict, e.distance, e.paper, e.measured) for e in self.claims]
        return _html.headline(self.headline, self.answer) + _html.table(["Claim", "Verdict", "Distance", "Paper", "Measured"], rows)

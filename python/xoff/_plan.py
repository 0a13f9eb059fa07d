"""The answers of ``xoff plan``: settings of a link, or of every lossless port of a fabric."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from . import _html
from ._answer import Answer

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Quantity:
    """A planned quantity."""

    name: str
    """Its description."""
    symbol: str
    """Its symbol, such as ``XOFF``."""
    value: str
    """Its value with a unit, for reading."""
    value_exact: int | float | str
    """The number in :attr:`unit`."""
    unit: str
    """``bytes``, ``ps``, ``bit/s``, or empty."""
    formula: str
    """Its formula."""
    source: str
    """Its source: a paper or standard."""


@dataclass(frozen=True)
class Evidence(Quantity):
    """The headroom by one of several rules."""

    choice: str
    """The name with which ``headroom=`` chooses it; empty: it cannot be chosen."""
    chosen: bool
    """True for the rule in use."""
    difference: int
    """Bytes above (+) or below (-) the rule in use."""
    counts: str
    """Components that it counts."""
    leaves_out: str
    """Components that it leaves out."""


@dataclass(frozen=True)
class PlanWarning:
    """A condition that does not hold."""

    condition: str
    """The condition."""
    text: str
    """What follows."""
    source: str
    """Its source."""


@dataclass(frozen=True)
class Column:
    """A column of a plan's table."""

    name: str
    """Its name."""
    unit: str
    """Its unit."""


@dataclass(frozen=True)
class PlanTable:
    """A table of a plan, such as thresholds by stage."""

    name: str
    """Its contents."""
    columns: list[Column]
    """Its columns."""
    rows: list[list[int]]
    """Its rows."""
    formula: str
    """Its formula."""
    source: str
    """Its source."""


@dataclass(frozen=True, kw_only=True)
class Plan(Answer):
    """Settings of one link direction for one priority. ``plan["XOFF"]`` is the exact number of a symbol."""

    flow_control: str
    """The planned flow control."""
    detection: str | None = None
    """The detection that is planned with it."""
    set: list[Quantity]
    """Settings of each lossless priority of a port."""
    why: list[str]
    """Why."""
    check: list[str]
    """Assumptions to check."""
    rows: list[Quantity]
    """Every quantity, inputs first."""
    apply: list[str] = field(default_factory=list)
    """The same values in the keys of xoff scenarios and of SONiC."""
    evidence: list[Evidence] = field(default_factory=list)
    """The headroom by every rule."""
    tables: list[PlanTable]
    """Tables, such as thresholds by stage."""
    warnings: list[PlanWarning]
    """Conditions that do not hold."""

    @classmethod
    def _flat(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {**value, **value["answer"]}

    def __getitem__(self, symbol: str) -> int | float | str:
        for q in (*self.set, *self.rows, *self.evidence):
            if q.symbol == symbol:
                return q.value_exact
        known = ", ".join(dict.fromkeys(q.symbol for q in (*self.set, *self.rows, *self.evidence)))
        raise KeyError(f"no quantity has the symbol '{symbol}' (symbols: {known})")

    @property
    def headline(self) -> str:
        """The settings in one line."""
        return f"{self.flow_control}: set " + ", ".join(f"{q.symbol} = {q.value}" for q in self.set)

    @property
    def frame(self) -> pl.DataFrame:
        """Every quantity as a Polars frame: name, symbol, value, value_exact, unit, formula, source. Exact values are floats there."""
        import polars as pl

        names = [f.name for f in fields(Quantity)]
        rows = [[getattr(q, n) for n in names] for q in self.rows]
        frame = pl.DataFrame(rows, schema={n: pl.Float64 if n == "value_exact" else pl.String for n in names}, orient="row", strict=False)
        return frame

    def _repr_html_(self) -> str:
        return "".join([
            _html.headline(self.headline, "no" if self.warnings else "yes"),
            _html.table(["Set", "Symbol", "Value", "Formula"], [(q.name, q.symbol, q.value, q.formula) for q in self.set]),
            _html.lines("Does not hold", [f"{w.condition}: {w.text} [{w.source}]" for w in self.warnings]),
            _html.lines("Why", self.why),
            _html.lines("Check", self.check),
        ])


@dataclass(frozen=True)
class PortPlan:
    """A lossless port of a fabric against its settings of today."""

    switch: str
    """The switch."""
    port: str
    """Its port."""
    peer: str
    """The node behind it."""
    rate_bps: int
    """Its rate [bit/s]."""
    cable: str
    """Its cable, as written, or the delay."""
    priorities: list[int]
    """Its lossless priorities."""
    mtu_bytes: int
    """The longest frame [bytes]."""
    headroom_bytes: int
    """Planned headroom of each priority [bytes]."""
    lossless_bytes: int
    """Headroom below which frames are lost in the worst case [bytes]."""
    headroom_today_bytes: int | None
    """The least of today's profiles [bytes]; ``None``: the files have none."""
    xon_bytes: int
    """Arrivals in a feedback latency [bytes]."""
    verdict: Literal["enough", "below-standard", "loses-frames", "not-set", "unknown"]
    """Assessment of today's setting."""


@dataclass(frozen=True, kw_only=True)
class NetworkPlan(Answer):
    """Every lossless port of a fabric. True if today's settings lose no frame."""

    headline: str
    """The answer in a line."""
    answer: Literal["yes", "no"]
    """``no``: frames are lost in the worst case, or there is not enough memory."""
    set: str
    """Settings."""
    why: str
    """Why."""
    check: list[str]
    """Assumptions to check."""
    warnings: list[str]
    """Ports that lose frames, and switches without enough memory."""
    ports: list[PortPlan]
    """Every lossless port."""
    sonic: dict[str, Any] | None = None
    """``sonic=True``: tables of ``config_db.json`` for each switch."""

    def __bool__(self) -> bool:
        return self.answer == "yes"

    @property
    def frame(self) -> pl.DataFrame:
        """The ports as a Polars frame."""
        import polars as pl

        return pl.DataFrame([{f.name: getattr(p, f.name) for f in fields(p)} for p in self.ports])

    def _repr_html_(self) -> str:
        heads = ["Switch", "Port", "Peer", "Rate [bit/s]", "Cable", "Headroom needed [bytes]", "Today [bytes]", "Today's is"]
        rows = [(p.switch, p.port, p.peer, p.rate_bps, p.cable, p.headroom_bytes, p.headroom_today_bytes, p.verdict) for p in self.ports]
        return _html.headline(self.headline, self.answer) + _html.lines("Warnings", self.warnings) + _html.table(heads, rows)

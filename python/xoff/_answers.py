"""The answers of the subcommands as objects: the numbers and words of ``--json``, with types.

Sizes are bytes, times picoseconds (``*_ps``), rates bit/s (``*_bps``, ``bits_per_second``), unless a field has a unit beside it.
"""

from __future__ import annotations

import json as _json
import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from . import _html

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


def _built(kind: Any, value: Any) -> Any:
    """``value`` of JSON as the type says."""
    if value is None:
        return None
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _built(next(k for k in typing.get_args(kind) if k is not type(None)), value)
    if origin is list:
        (inner,) = typing.get_args(kind)
        return [_built(inner, v) for v in value]
    if origin is tuple:
        return tuple(value)
    if isinstance(kind, type) and is_dataclass(kind):
        if isinstance(value, list):
            return kind(*value)
        return kind(**_fields(kind, value))
    return value


def _fields(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: _built(hints[f.name], value[f.name]) for f in fields(kind) if f.name in value}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a subcommand answers."""

    json: dict[str, Any] = field(repr=False)
    """All of it, as ``--json`` prints it."""
    text: str = field(repr=False)
    """All of it, as a terminal shows it."""

    @classmethod
    def _of(cls, text: str, json: str) -> Self:
        value = _json.loads(json)
        return cls(json=value, text=text, **_fields(cls, cls._flat(value)))

    @classmethod
    def _flat(cls, value: dict[str, Any]) -> dict[str, Any]:
        """The fields of this class, where JSON has them below others."""
        return value

    def __str__(self) -> str:
        return self.text.rstrip()


@dataclass(frozen=True)
class Closing:
    """Why one buffer of a cycle waits for the next."""

    from_: str
    """The link in front of the buffer that waits, ``S1->S2``."""
    to: str
    """The link for whose buffer it waits."""
    flow: str
    """A flow that takes both, ``H1->H3``."""
    path: list[str]
    """Its nodes."""


@dataclass(frozen=True)
class Cycle:
    """A shortest cycle of buffers that wait for each other."""

    links: list[str]
    """The links in front of the buffers, each waiting for the next, the last for the first."""
    closed_by: list[Closing]
    """A flow for each of them."""


@dataclass(frozen=True)
class Remedy:
    """A change after which no deadlock can form, proved by searching again."""

    kind: str
    """``up-down``, ``forbid-links`` or ``second-class``."""
    change: str
    """What to change."""
    proof: str
    """What was proved."""
    classes: int
    """Lossless classes that it needs."""
    links: list[str] = field(default_factory=list)
    """``forbid-links``: those to keep out."""
    turns: list[tuple[str, str]] = field(default_factory=list)
    """``second-class``: where the priority changes, from one link to the next; empty: at every bounce."""


@dataclass(frozen=True)
class FailureSet:
    """Links whose failure creates a cycle."""

    links: list[str]
    """The links that fail."""
    disconnects: bool
    """It separates hosts too."""
    cycle: Cycle
    """The cycle that it creates."""


@dataclass(frozen=True)
class OfSize:
    """Sets of one number of failures."""

    failures: int
    """Links that fail at once."""
    sets_total: int
    """Such sets."""
    sets_checked: int
    """Those examined."""
    cyclic: int
    """Those of them that create a cycle."""


@dataclass(frozen=True)
class FailureStudy:
    """Which failures create a cycle."""

    links: int
    """Links between switches that may fail."""
    by_size: list[OfSize]
    """The answer by number of failures."""
    sets_total: int
    """Sets of every size."""
    sets_checked: int
    """Those examined."""
    sampled: bool
    """Some sizes were drawn at random, because there are more sets than ``sets_max``."""
    interrupted: bool
    """It was stopped before its end."""
    cyclic_total: int
    """Sets that create a cycle."""
    cyclic: list[FailureSet]
    """Those that contain no smaller one."""
    disconnecting: list[list[str]]
    """Sets that separate hosts."""


@dataclass(frozen=True)
class Hole:
    """A switch without an entry for a destination that it is sent frames for."""

    switch: str
    """The switch."""
    destination: str
    """The destination."""


@dataclass(frozen=True)
class ForwardingLoop:
    """Entries that lead in a circle."""

    destination: str
    """The destination."""
    links: list[str]
    """The links of the circle."""


@dataclass(frozen=True)
class InstalledTables:
    """What is known of routes that are installed."""

    service_levels: bool
    """Service levels separated the virtual lanes."""
    findings: list[str]
    """Black holes and loops in the files, each with the place of its entry."""
    holes: list[Hole]
    """Black holes, the first of them."""
    holes_total: int
    """All black holes."""
    loops: list[ForwardingLoop]
    """Forwarding loops, the first of them."""
    loops_total: int
    """All forwarding loops."""


@dataclass(frozen=True, kw_only=True)
class Check(Answer):
    """Whether routes can deadlock. It is true where the answer is ``yes``: ``assert xoff.check("fat-tree:k=4")``."""

    headline: str
    """The answer in a line."""
    answer: Literal["yes", "no", "interrupted"]
    """``no``: a cycle, at once or after a failure, or broken tables. Exit codes 0, 1, 130."""
    verdict: Literal["cycle-free", "cyclic", "cyclic-after-failures"]
    """The same for programs."""
    verdict_without_failures: Literal["cycle-free", "cyclic"]
    """Before any further failure."""
    remedies: list[Remedy]
    """What would help, the smallest change first."""
    topology: str
    """What was checked, as it was named."""
    hosts: int
    """Hosts."""
    switches: int
    """Switches."""
    links: int
    """Links."""
    failed_links: list[str]
    """Links that were failed first."""
    routing: str
    """The routing rule."""
    flows: int | None
    """Flows that count; ``None``: all pairs of hosts."""
    buffers: int
    """Buffers between switches."""
    dependencies: int
    """Pairs of buffers of which one can wait for the other."""
    cyclic_components: int
    """Sets of buffers that all depend on each other."""
    cyclic_buffers: int
    """Buffers in them."""
    unrouted: int
    """Pairs or flows without a route."""
    cycle: Cycle | None
    """A shortest cycle."""
    failures: FailureStudy | None
    """With ``fail_any``, unless there is a cycle already."""
    tables: InstalledTables | None = None
    """Where the routes are installed tables."""

    @classmethod
    def _flat(cls, value: dict[str, Any]) -> dict[str, Any]:
        def cycle(c: dict[str, Any] | None) -> dict[str, Any] | None:
            # ``from`` is a word of Python's.
            return None if c is None else {**c, "closed_by": [{("from_" if k == "from" else k): v for k, v in x.items()} for x in c["closed_by"]]}

        study = value["failures"]
        if study is not None:
            study = {**study, "cyclic": [{**s, "cycle": cycle(s["cycle"])} for s in study["cyclic"]]}
        return {**value, "cycle": cycle(value["cycle"]), "failures": study}

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def _repr_html_(self) -> str:
        size = f"{self.hosts:,} hosts, {self.switches:,} switches, {self.links:,} links"
        parts = [
            _html.headline(self.headline, self.answer),
            _html.table(["Remedy", "Proved"], [(r.change, r.proof) for r in self.remedies]),
            _html.pairs([
                ("Topology", f"{self.topology}: {size}"),
                ("Failed", ", ".join(self.failed_links)),
                ("Routing", self.routing),
                ("Traffic", "all pairs of hosts" if self.flows is None else f"{self.flows:,} flows"),
                ("Findings", "; ".join(self.tables.findings[:5]) if self.tables else ""),
            ]),
        ]
        if self.cycle is not None:
            rows = [(c.from_, c.to, c.flow, " ".join(c.path)) for c in self.cycle.closed_by]
            parts.append(_html.table(["The buffer behind", "waits for", "because of", "on its way"], rows, "A shortest cycle"))
        if self.failures is not None:
            rows_of = [(" + ".join(s.links), " ".join(s.cycle.links)) for s in self.failures.cyclic]
            parts.append(_html.table(["When these fail", "there is the cycle"], rows_of))
        return "".join(parts)


@dataclass(frozen=True)
class Quantity:
    """A planned quantity."""

    name: str
    """What it is."""
    symbol: str
    """Its symbol, such as ``XOFF``."""
    value: str
    """Its value with a unit, for reading."""
    value_exact: int | float | str
    """The number in :attr:`unit`."""
    unit: str
    """``bytes``, ``ps``, ``bit/s``, or empty."""
    formula: str
    """How it follows."""
    source: str
    """The paper or standard that it is from."""


@dataclass(frozen=True)
class Evidence(Quantity):
    """The headroom of another rule, beside the one that is set."""

    choice: str
    """The name with which ``headroom=`` chooses it; empty: it cannot be chosen."""
    chosen: bool
    """It is the one that is set."""
    difference: int
    """Bytes that it is above (+) or below (-) what is set."""
    counts: str
    """What it counts."""
    leaves_out: str
    """What it leaves out."""


@dataclass(frozen=True)
class PlanWarning:
    """A condition that does not hold."""

    condition: str
    """The condition."""
    text: str
    """What follows."""
    source: str
    """Where it is from."""


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
    """What it lists."""
    columns: list[Column]
    """Its columns."""
    rows: list[list[int]]
    """Its rows."""
    formula: str
    """How it follows."""
    source: str
    """Where it is from."""


@dataclass(frozen=True, kw_only=True)
class Plan(Answer):
    """What to set on one direction of a link for one priority. ``plan["XOFF"]`` is the exact number of a symbol."""

    flow_control: str
    """What is planned."""
    detection: str | None = None
    """The detection that is planned beside it."""
    set: list[Quantity]
    """What to set for each lossless priority of a port."""
    why: list[str]
    """Why."""
    check: list[str]
    """What to check."""
    rows: list[Quantity]
    """Every quantity, inputs first."""
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
        """What to set, in a line."""
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
    """What the plan sets for each priority [bytes]."""
    lossless_bytes: int
    """Below it frames are lost in the worst case [bytes]."""
    headroom_today_bytes: int | None
    """The least of today's profiles [bytes]; ``None``: the files have none."""
    xon_bytes: int
    """Arrivals in a feedback latency [bytes]."""
    verdict: Literal["enough", "below-standard", "loses-frames", "not-set", "unknown"]
    """What today's setting comes to."""


@dataclass(frozen=True, kw_only=True)
class NetworkPlan(Answer):
    """Every lossless port of a fabric. It is true where today's settings lose no frame."""

    headline: str
    """The answer in a line."""
    answer: Literal["yes", "no"]
    """``no``: frames are lost in the worst case, or memory does not suffice."""
    set: str
    """What to set."""
    why: str
    """Why."""
    check: list[str]
    """What to check."""
    warnings: list[str]
    """Ports that lose frames and switches whose memory does not suffice."""
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


@dataclass(frozen=True)
class Waiting:
    """A port for which another one waits."""

    port: str
    """The port."""
    bytes: int
    """What waits for it [bytes]."""


@dataclass(frozen=True)
class Share:
    """A flow in a buffer."""

    flow: int
    """Its number."""
    src: str
    """Its source."""
    dst: str
    """Its destination."""
    bytes: int
    """What it had in the buffer [bytes]."""


@dataclass(frozen=True)
class ExplainedPort:
    """A port that could not transmit as it wished."""

    port: str
    """The port, ``S1->S2``."""
    priority: int
    """The priority."""
    since_ps: int
    """Since when [ps]."""
    restraint: Literal["stopped", "slowed"]
    """What its peer did."""
    allowed_bits_per_second: int
    """The rate that it was allowed [bit/s]; 0: stopped."""
    held_bytes: int
    """The buffer of its peer then [bytes]."""
    waiting_for: list[Waiting]
    """The egress ports for which that buffer waited."""
    flows: list[Share]
    """The flows that filled it, the largest first."""


@dataclass(frozen=True, kw_only=True)
class Explanation(Answer):
    """The chain from a held or slowed port back to its root."""

    at_ps: int
    """The time [ps]."""
    steps: list[ExplainedPort]
    """The chain, the port that was asked for first."""
    root: Literal["not held", "deadlock", "bottleneck", "far end"]
    """What it ends in."""
    root_port: str | None
    """The port of a bottleneck."""
    cycle_from_step: int | None
    """Of a deadlock: the step to which the last one leads back, from 0."""

    @property
    def headline(self) -> str:
        """The chain in a line."""
        return f"{self.root}{f' at {self.root_port}' if self.root_port else ''}: " + (" waits for ".join(s.port for s in self.steps) or "no port waited")

    def _repr_html_(self) -> str:
        heads = ["Port", "Priority", "Since [ps]", "Restraint", "Held [bytes]", "Waits for", "Filled by"]
        rows = [
            (s.port, s.priority, s.since_ps, s.restraint, s.held_bytes, " ".join(w.port for w in s.waiting_for),
             ", ".join(f"{f.src} to {f.dst}" for f in s.flows[:4]))
            for s in self.steps
        ]
        return _html.headline(self.headline) + _html.table(heads, rows)


@dataclass(frozen=True)
class Branch:
    """A port of a congestion tree."""

    port: str
    """The port."""
    priority: int
    """The priority."""
    role: str
    """``root``, ``leaf`` or a host's."""
    queue_bytes: int
    """What waits in it [bytes]."""
    held: bool
    """Its peer holds it."""
    parent: int | None
    """The branch towards the root, by its place in the list."""
    waits_for: list[tuple[int, int]]
    """Branches and the bytes that wait for them."""


@dataclass(frozen=True)
class Member:
    """A flow in a congestion tree."""

    flow: int
    """Its number."""
    src: str
    """Its source."""
    dst: str
    """Its destination."""
    ce_frames: int
    """Frames that arrived marked CE."""
    ue_frames: int
    """Frames that arrived marked UE."""


@dataclass(frozen=True, kw_only=True)
class CongestionTree(Answer):
    """Congested ports, the ports that wait for them, flows that cause it and flows that suffer."""

    at_ps: int
    """The time [ps]."""
    branches: list[Branch]
    """The ports."""
    culprits: list[Member]
    """Flows through a congested port."""
    victims: list[Member]
    """Flows through undetermined ports only."""

    @property
    def headline(self) -> str:
        """The tree in a line."""
        return f"{len(self.branches)} ports, {len(self.culprits)} culprits, {len(self.victims)} victims"

    def _repr_html_(self) -> str:
        ports = [(b.port, b.role, b.queue_bytes, "held" if b.held else "", self.branches[b.parent].port if b.parent is not None else "") for b in self.branches]
        flows = [(kind, m.flow, m.src, m.dst, m.ce_frames, m.ue_frames) for kind, ms in (("culprit", self.culprits), ("victim", self.victims)) for m in ms]
        return (
            _html.headline(self.headline)
            + _html.table(["Port", "Role", "Queue [bytes]", "", "Waits for"], ports)
            + _html.table(["", "Flow", "From", "To", "CE frames", "UE frames"], flows)
        )


@dataclass(frozen=True, kw_only=True)
class Imported(Answer):
    """A network that was read from files of another program."""

    format: str
    """The format."""
    out: str | None
    """The scenario that was written."""
    links_file: str | None
    """The table of links beside it, where there are many."""
    hosts: int
    """Hosts."""
    switches: int
    """Switches."""
    links: int
    """Links."""
    flows: int
    """Flows."""
    destinations: int | None
    """Destinations of installed tables."""
    left_out: list[str]
    """What was understood and not taken over."""
    findings: list[str]
    """Black holes and forwarding loops of the tables."""
    warnings: list[str]
    """What was not understood, with file and place."""

    @property
    def headline(self) -> str:
        """What was read, in a line."""
        return f"{self.format}: {self.hosts:,} hosts, {self.switches:,} switches, {self.links:,} links"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("Scenario", self.out), ("Links", self.links_file), ("Flows", self.flows), ("Destinations", self.destinations)]
        texts = _html.lines("Not taken over", self.left_out) + _html.lines("Findings", self.findings) + _html.lines("Warnings", self.warnings)
        return _html.headline(self.headline) + _html.pairs(rows) + texts


@dataclass(frozen=True)
class JudgedCheck:
    """A measured value against its band."""

    what: str
    """What is compared."""
    measured: str
    """What was measured, with its unit."""
    expected: str
    """The band that it has to lie in."""
    paper: str
    """What the paper has."""
    source: str
    """Where the band is from."""
    holds: bool
    """It lies in it."""


@dataclass(frozen=True)
class Entry:
    """A figure, table or claim of a paper; after a run, judged."""

    id: str
    """Its name."""
    title: str
    """What it shows."""
    paper: str
    """What the paper says."""
    band: str
    """When it counts as reproduced."""
    measured: str = ""
    """What was measured."""
    verdict: Literal["", "reproduced", "reproduced under assumption", "not reproduced"] = ""
    """Computed from :attr:`checks`; empty: it was only listed."""
    assumptions: list[str] = field(default_factory=list)
    """Assumptions that it needs."""
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
    """A paper's figures and tables, run and judged. It is true where all are reproduced."""

    paper: str
    """The paper."""
    mode: Literal["quick", "full"]
    """Short runs or full ones."""
    seed: int
    """Seed of every random stream."""
    complete: bool
    """It was not interrupted."""
    answer: Literal["yes", "no", "interrupted"]
    """Exit codes 0, 1 and 130."""
    entries: list[Entry]
    """Every entry that was run."""

    @property
    def headline(self) -> str:
        """The verdicts in a line."""
        names = ("reproduced", "reproduced under assumption", "not reproduced")
        return f"{self.paper}: " + ", ".join(f"{sum(e.verdict == v for e in self.entries)} {v}" for v in names)

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def _repr_html_(self) -> str:
        rows = [(e.id, e.verdict, e.paper, e.measured) for e in self.entries]
        return _html.headline(self.headline, self.answer) + _html.table(["Entry", "Verdict", "Paper", "Measured"], rows)

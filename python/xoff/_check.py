"""The answer of ``xoff check``: whether routes can deadlock, and remedies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from . import _html
from ._answer import Answer


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
    """The change."""
    proof: str
    """The proof."""
    classes: int
    """Number of lossless classes needed."""
    links: list[str] = field(default_factory=list)
    """``forbid-links``: links to remove from the routes."""
    turns: list[tuple[str, str]] = field(default_factory=list)
    """``second-class``: where the priority changes, from one link to the next; empty: at every bounce."""


@dataclass(frozen=True)
class FailureSet:
    """Links whose failure creates a cycle."""

    links: list[str]
    """The links that fail."""
    disconnects: bool
    """True if the failure also separates hosts."""
    cycle: Cycle
    """The cycle after the failure."""


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
    """Number of sets that create a cycle."""


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
    """True if some sizes were drawn at random, because there are more sets than ``sets_max``."""
    interrupted: bool
    """True if the search was interrupted."""
    cyclic_total: int
    """Sets that create a cycle."""
    cyclic: list[FailureSet]
    """Sets that contain no smaller set with a cycle."""
    disconnecting: list[list[str]]
    """Sets that separate hosts."""


@dataclass(frozen=True)
class Hole:
    """A switch without an entry for the destination of frames that it receives."""

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
    """Facts about installed routes."""

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
    """Whether routes can deadlock. True if the answer is ``yes``: ``assert xoff.check("fat-tree:k=4")``."""

    headline: str
    """The answer in a line."""
    answer: Literal["yes", "no", "interrupted"]
    """``no``: a cycle, at once or after a failure, broken tables, or not all was examined. Exit codes 0, 1, 130."""
    verdict: Literal["cycle-free", "cyclic", "cyclic-after-failures", "not-checked"]
    """The same for programs. ``not-checked``: no cycle found, and not all pairs, flows and sets of failures examined."""
    verdict_without_failures: Literal["cycle-free", "cyclic"]
    """Before any further failure."""
    remedies: list[Remedy]
    """Remedies, the smallest change first."""
    topology: str
    """The checked network, as given."""
    hosts: int
    """Hosts."""
    switches: int
    """Switches."""
    links: int
    """Links."""
    failed_links: list[str]
    """Links that fail before the check."""
    routing: str
    """The routing rule."""
    flows: int | None
    """Flows that count; ``None``: all pairs of hosts."""
    buffers: int
    """Buffers between switches."""
    dependencies: int
    """Pairs of buffers in which one can wait for the other."""
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

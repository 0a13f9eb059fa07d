"""The answer of ``xoff import``: a network from the files of another program."""

from __future__ import annotations

from dataclasses import dataclass

from . import _html
from ._answer import Answer


@dataclass(frozen=True, kw_only=True)
class Imported(Answer):
    """A network that was read from files of another program."""

    format: str
    """The format."""
    out: str | None
    """The scenario that was written."""
    links_file: str | None
    """The table of links next to it, if there are many."""
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
    """Parts that xoff read but did not import."""
    findings: list[str]
    """Black holes and forwarding loops of the tables."""
    warnings: list[str]
    """Warnings, with file and position."""

    @property
    def headline(self) -> str:
        """The network in one line."""
        return f"{self.format}: {self.hosts:,} hosts, {self.switches:,} switches, {self.links:,} links"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("Scenario", self.out), ("Links", self.links_file), ("Flows", self.flows), ("Destinations", self.destinations)]
        texts = _html.lines("Not taken over", self.left_out) + _html.lines("Findings", self.findings) + _html.lines("Warnings", self.warnings)
        return _html.headline(self.headline) + _html.pairs(rows) + texts

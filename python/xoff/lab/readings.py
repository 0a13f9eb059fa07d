"""Readings of what a paper leaves open: dimensions with values, whose combinations are cells. Every cell has runs and checks of its own.

    egress \\ clocks   equal       +- 10 ppm
    FIFO              6 of 8      6 of 8
    input FIFO        all         5 of 8        holds in one cell: confirmed under this reading
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import judge
from .judge import Check

KINDS = ("paper", "code", "standard", "ours")
"""Sources of a value, the best one first. ``code``: of the simulator or the testbed that the paper names."""
Cell = Mapping[str, str]
"""A value for each reading, by its name."""


@dataclass(frozen=True)
class Reading:
    """What a paper leaves open, and the values that it can have."""

    name: str
    values: Mapping[str, Mapping[str, Any]]
    """Settings of each value."""
    sources: Mapping[str, str]
    """Source of each value: one of :data:`KINDS`, with details after a colon."""

    def rank(self, value: str) -> int:
        """Place of the source of a value: 0 is the best one."""
        return KINDS.index(self.sources[value].partition(":")[0])


class Grid:
    """The cells of a claim with the checks of each, in the order of the file."""

    def __init__(self, readings: Sequence[Reading], checks: Sequence[tuple[Cell, list[Check]]]) -> None:
        self.readings = readings
        self.checks = [[c for c in of if c.counts] for _, of in checks]
        self.cells = [cell for cell, _ in checks]
        self._all = [of for _, of in checks]
        self.held = [nth for nth, of in enumerate(self.checks) if all(c.result == "holds" for c in of)]
        # Of the cells that hold, the one with the best sources; else that in which the fewest checks fail.
        self.shown = min(self.held or range(len(self.cells)), key=self._order)

    def _order(self, nth: int) -> tuple[int, int, int]:
        failed = sum(c.result != "holds" for c in self.checks[nth])
        return failed, sum(r.rank(self.cells[nth][r.name]) for r in self.readings), nth

    @property
    def contradicted(self) -> bool:
        """True if no cell holds, and each of them has a check that contradicts the paper."""
        return not self.held and all(any(c.result == "contradicts" for c in of) for of in self.checks)

    def judged(self) -> list[Check]:
        """The checks of the shown cell. A check that fails in another cell assumes the readings of this one; if the grid contradicts the
        paper, the other cells were tried."""
        decided = {c.what for of in self.checks for c in of if c.result != "holds"}
        tried = f"all {len(self.cells)} combinations of {', '.join(r.name for r in self.readings)}" if self.contradicted else ""

        def one(check: Check) -> Check:
            if not self.readings or len(self.held) == len(self.cells) or check.what not in decided:
                return check
            own = "; ".join(text for text in (check.assumption, self.words) if text)
            return replace(check, assumption=own, tried=check.tried or ("" if check.assumption else tried))

        return [one(c) for c in self._all[self.shown]]

    @property
    def words(self) -> str:
        """The shown cell, with the source of each reading that matters."""
        cell = self.cells[self.shown]
        others = [self.cells[n] for n in self.held]

        def one(reading: Reading) -> str:
            value = cell[reading.name]
            source = reading.sources[value]
            if self.held and len({c[reading.name] for c in others}) == len(reading.values):
                source = "any other holds too"
            elif self.held and reading.rank(value) == len(KINDS) - 1:
                source += ", chosen because it gives the paper's result"
            return f"{reading.name}: {value} ({source})"

        return f"{'; '.join(map(one, self.readings))}; holds in {len(self.held)} of {len(self.cells)} readings"

    def table(self) -> dict[str, Any]:
        """A row for each cell, as in ``claims.json``."""
        rows = [[*cell.values(), f"{len(of) - len(failed)} of {len(of)}", f"{failed[0].result}: {failed[0].sentence}" if failed else "holds"] for cell, of, failed in self._failed()]
        sources = "; ".join(f"{r.name}: " + ", ".join(f"{value} ({source})" for value, source in r.sources.items()) for r in self.readings)
        caption = f"Readings, and the checks that hold under each combination. {sources}."
        return {"caption": caption, "columns": [*(r.name for r in self.readings), "Checks that hold", "First that does not"], "right": [], "rows": rows}

    def _failed(self) -> Iterator[tuple[Cell, list[Check], list[Check]]]:
        for cell, of in zip(self.cells, self.checks, strict=True):
            failed = sorted((c for c in of if c.result != "holds"), key=lambda c: (judge.RESULTS.index(c.result), -c.off))
            yield cell, of, failed

    def heat(self) -> tuple[list[str], list[str], list[list[tuple[float, str]]]]:
        """Rows, columns, and the share of checks that hold in each cell, with a text. The last readings are the columns."""
        first = max(1, len(self.readings) // 2)
        names = [r.name for r in self.readings]

        def along(part: Sequence[str]) -> list[tuple[str, ...]]:
            return list(dict.fromkeys(tuple(cell[n] for n in part) for cell in self.cells))

        at = {tuple(cell.values()): (1 - len(failed) / len(of), f"{len(of) - len(failed)}/{len(of)}" + (f"\n{failed[0].distance}" if failed else "")) for cell, of, failed in self._failed()}
        rows, columns = along(names[:first]), along(names[first:])
        return [", ".join(r) for r in rows], [", ".join(c) for c in columns], [[at[r + c] for c in columns] for r in rows]


def cells(readings: Sequence[Reading]) -> list[Cell]:
    """All combinations; one without any reading."""
    return [dict(zip((r.name for r in readings), values, strict=True)) for values in itertools.product(*(r.values for r in readings))]


def settings(spec: Mapping[str, Any], readings: Sequence[Reading], cell: Cell) -> dict[str, Any]:
    """Settings of a ``[[run]]`` in a cell, over its own: those of the readings that it names."""
    found: dict[str, Any] = {}
    for reading in readings:
        if reading.name in spec.get("readings", []):
            found |= reading.values[cell[reading.name]]
    return found


__all__ = ["KINDS", "Cell", "Grid", "Reading", "cells", "settings"]

"""What was compared, what differs, and what could not be derived."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from os.path import commonprefix
from typing import Any

# Fractions: sums in another order differ in their last digits.
DIGITS = 1e-12
#: Letters of a difference.
LONG = 300


@dataclass(frozen=True)
class Difference:
    """A number or a word that does not follow from the tables."""

    run: str
    #: File and place in it.
    place: str
    printed: str
    derived: str
    #: The table that it was derived from.
    table: str


@dataclass
class Verification:
    """Numbers of one or more folders, derived again from their tables."""

    folders: list[str] = field(default_factory=list)
    #: Numbers that were derived and compared.
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    #: Numbers that the tables do not decide, by place and reason.
    not_derived: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def ok(self) -> bool:
        """Every number that could be derived is equal."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """As ``xoff verify --json``."""
        return {
            "folders": self.folders,
            "compared": self.compared,
            "differences": [asdict(d) for d in self.differences],
            "not_derived": [{"place": p, "why": w, "numbers": n} for (p, w), n in sorted(self.not_derived.items())],
        }

    def equal(self, place: str, printed: Any, derived: Any, table: str) -> bool:
        """Compares one number."""
        self.compared += 1
        if same(printed, derived):
            return True
        a, b = shown(printed), shown(derived)
        # Of long texts, the part that differs.
        start = max(len(commonprefix([a, b])) - 20, 0) if max(len(a), len(b)) > LONG else 0
        self.differences.append(Difference(self.folders[-1], place, a[start : start + LONG], b[start : start + LONG], table))
        return False

    def skip(self, place: str, why: str, numbers: int = 1) -> None:
        """Counts numbers that cannot be derived; places that differ by an index only are one."""
        if numbers:
            self.not_derived[re.sub(r"\[\d+\]", "[]", place), why] += numbers

    def add(self, other: Verification) -> None:
        self.folders += other.folders
        self.compared += other.compared
        self.differences += other.differences
        self.not_derived += other.not_derived


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, int):
        return math.isclose(a, b, rel_tol=DIGITS, abs_tol=0.0)
    return bool(a == b)


def shown(value: Any) -> str:
    return "none" if value is None else str(value)

"""Numbers in words: ``{value:bytes}`` in a sentence, ``units.bytes(value)`` in a metric."""

from __future__ import annotations

import math

from .. import _units

BASE = {"bytes": _units.SIZES, "bit/s": _units.RATES, "ps": _units.TIMES, "s": tuple((u, s * 1e-12) for u, s in _units.TIMES)}
"""Units of checks whose numbers get a prefix. Others: ``fraction`` (shown in per cent), none, or a word such as ``frames``."""


def words(value: float | None, unit: str = "") -> str:
    """``12.5 KB``: four significant digits, with the prefix that fits."""
    if value is None or not math.isfinite(value):
        return "n/a"
    if unit == "fraction":
        return f"{_units.short(value / 0.01)} %"
    if unit in ("ps", "s") and value == 0:
        return "0 s"
    if unit in BASE:
        name, scale = next(((u, s) for u, s in BASE[unit] if abs(value) >= s * 0.99995), BASE[unit][-1])
        return f"{_units.short(value / scale)} {name}"
    return f"{_units.short(value)} {unit}".rstrip()


def bytes(value: float | None) -> str:
    """A size."""
    return words(value, "bytes")


def rate(value: float | None) -> str:
    """A rate [bit/s]."""
    return words(value, "bit/s")


def time(value: float | None) -> str:
    """A time [ps]."""
    return words(value, "ps")


def share(value: float | None) -> str:
    """A share of 1, in per cent."""
    return words(value, "fraction")


SPECS = {"bytes": "bytes", "rate": "bit/s", "time": "ps", "seconds": "s", "share": "fraction", "number": ""}
"""Format specifications of sentences, by unit."""

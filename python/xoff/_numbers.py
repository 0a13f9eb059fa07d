"""Numbers from callers: rejected unless they are what they should be, never rounded or cut off."""

from __future__ import annotations

from operator import index
from typing import Any

MOST = 2**64 - 1


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number of any library; a bool, a float and a text are none."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected a whole number, not {value}")
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, not {shown(value)}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: expected {least:,} to {most:,}, not {shown(number)}")
    return number


def perhaps(name: str, value: Any, least: int = 0, most: int = MOST) -> int | None:
    """As :func:`whole`; ``None`` stays."""
    return None if value is None else whole(name, value, least, most)


def shown(value: object) -> str:
    """A value in a message, however long it is."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write an int of thousands of digits
        return f"a {type(value).__name__} of {value.bit_length()} bits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]}..."

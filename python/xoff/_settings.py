"""From keyword arguments to settings, in the text form of ``--set path=value``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from ._numbers import shown

Setting = tuple[str, str]


def settings(*groups: Mapping[str, Any]) -> list[Setting]:
    """The settings of all groups, in order; a later one wins.

    ``switch__discipline`` is ``switch.discipline``; a mapping stands for the keys below its name; ``None`` leaves what
    the file says.
    """
    return [s for group in groups for name, value in group.items() for s in _flat(name.replace("__", "."), value)]


def _flat(path: str, value: Any) -> Iterable[Setting]:
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{path}: an empty mapping sets nothing")
        # A section's kind comes first: it decides which keys the section has.
        for key, inner in sorted(value.items(), key=lambda item: item[0] != "kind"):
            yield from _flat(f"{path}.{key}", inner)
    elif value is not None:
        yield path, text(value)


def text(value: Any) -> str:
    """A value as the scenario format writes it; a text stands as it is, as on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, PathLike):
        return str(fspath(value))
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(quoted(v) if isinstance(v, str) else text(v) for v in value) + "]"
    # An array of another library.
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0:
        return text(value.tolist())
    # Whole numbers of any library, then floats; both write the shortest form that reads back the same.
    if hasattr(value, "__index__"):
        try:
            return repr(int(value))
        except ValueError:  # Python does not write an int of thousands of digits
            raise ValueError(f"{shown(value)} is too large for a setting") from None
    if hasattr(value, "__float__"):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"a setting is a finite number, not {number}")
        return repr(number)
    raise TypeError(f"a setting is a text, a number, a bool, a list or a mapping, not {type(value).__name__}")


def quoted(value: str) -> str:
    """A text in TOML: its strings escape like JSON's, but surrogate pairs are no characters there, and DEL is a control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

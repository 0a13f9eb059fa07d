"""Common base of all answers: the numbers and words of ``--json`` as an object, with types.

Sizes are bytes, times picoseconds (``*_ps``), rates bit/s (``*_bps``, ``rate_bps``), unless a field has a unit next to it.
"""

from __future__ import annotations

import json as _json
import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self


def built(kind: Any, value: Any) -> Any:
    """``value`` of JSON as the type says."""
    if value is None:
        return None
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return built(next(k for k in typing.get_args(kind) if k is not type(None)), value)
    if origin is list:
        (inner,) = typing.get_args(kind)
        return [built(inner, v) for v in value]
    if origin is tuple:
        return tuple(value)
    if isinstance(kind, type) and is_dataclass(kind):
        if isinstance(value, list):
            return kind(*value)
        return kind(**_fields(kind, value))
    return value


def _fields(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: built(hints[f.name], value[f.name]) for f in fields(kind) if f.name in value}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer of a subcommand."""

    json: dict[str, Any] = field(repr=False)
    """The whole answer, as ``--json`` prints it."""
    text: str = field(repr=False)
    """The whole answer, as a terminal shows it."""

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

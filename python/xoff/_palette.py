"""Colours of lines, mechanisms and deadlocks: those of the report and of the papers' figures (crates/report/src/mechanism.rs)."""

from __future__ import annotations

import json

from . import _core

_ALL = json.loads(_core.palette())
COLORS: tuple[str, ...] = tuple(_ALL["lines"])
DEADLOCK: str = _ALL["deadlock"]
PAUSED = COLORS[4]
NAMES: dict[str, str] = {kind: name for kind, (name, _) in {**_ALL["rate_control"], **_ALL["flow_control"]}.items()}
_MECHANISMS: dict[str, str] = {kind: color for kind, (_, color) in {**_ALL["rate_control"], **_ALL["flow_control"]}.items()}


def color(name: str, index: int) -> str:
    """The colour of a mechanism; for another name that of the line with this number."""
    return _MECHANISMS.get(name, COLORS[index % len(COLORS)])

"""Data frames whose columns also answer to their earlier names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Frame(pl.DataFrame):
    """A frame with renamed columns: ``frame["old"]`` and ``frame.get_column("old")`` give the new one, with a warning.

    Expressions (``pl.col``) have the new names only.
    """

    _old_names: Mapping[str, str] = {}

    def _now(self, name: object) -> object:
        if isinstance(name, str) and name in self._old_names and name not in self.columns:
            new = self._old_names[name]
            warnings.warn(f"use column '{new}' instead of '{name}', its old name", DeprecationWarning, stacklevel=3)
            return new
        return name

    def __getitem__(self, key: Any) -> Any:
        """As in Polars."""
        return super().__getitem__(self._now(key))  # type: ignore[call-overload, unused-ignore]

    def get_column(self, name: str, **more: Any) -> Any:
        """As in Polars."""
        return super().get_column(str(self._now(name)), **more)


def with_old_names(frame: pl.DataFrame, old_names: Mapping[str, str]) -> pl.DataFrame:
    """The same columns, which also answer to ``old_names`` (old to new)."""
    named = _Frame(frame)
    named._old_names = old_names
    return named

"""Docstrings name things as Sphinx does (``:class:`xoff.Run```); here they become links of mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|meth|func|attr|data|exc|mod):`~?(?P<path>[\w.]+)`")


class Roles(griffe.Extension):
    """Rewrites the docstrings of all objects."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda m: f"`{m['path'].removeprefix('xoff.')}`", obj.docstring.value)

"""Python files of a paper's folder: ``metrics.py``, ``figures.py`` and their siblings, loaded as one package."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def package(folder: Path) -> str:
    """Makes the folder importable; returns the name of its package. Files that have changed since are loaded again."""
    folder = folder.resolve()
    texts = _texts(folder)
    name = f"xoff_paper_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    known = sys.modules.get(name)
    if known is None or known.__dict__["texts"] != texts:
        for old in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            del sys.modules[old]
        importlib.invalidate_caches()
        made = types.ModuleType(name)
        made.__path__ = [str(folder)]
        made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        made.__dict__["texts"] = texts
        sys.modules[name] = made
    return name


def module(folder: Path, name: str) -> types.ModuleType:
    """A file of the folder by its name without ``.py``."""
    return importlib.import_module(f"{package(folder)}.{name}")


def reads(folder: Path, name: str) -> str:
    """Hash of what a module of the folder can read beside its own text: the modules that it imports from there, wherever it does, theirs
    in turn, and all files of data."""
    folder = folder.resolve()
    todo, known = [folder / f"{name}.py"], set[Path]()
    while todo:
        file = todo.pop()
        if file in known or not file.is_file():
            continue
        known.add(file)
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.level:
                place = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                todo += [place.with_suffix(".py"), *place.glob("*.py")] if node.module else []
                todo += [p for a in node.names for p in ((place / f"{a.name}.py"), *(place / a.name).glob("*.py"))]
    # A user may keep results there too; they are no input.
    results = {record.parent for record in folder.rglob(".xoff")}
    data = [f for f in folder.rglob("*") if f.is_file() and f.suffix in _DATA and f.parent != folder and results.isdisjoint(f.parents)]
    texts = [(str(f.relative_to(folder)), hashlib.sha256(f.read_bytes()).hexdigest()) for f in sorted({*known, *data} - {folder / f"{name}.py"})]
    return hashlib.sha256(repr(texts).encode()).hexdigest()


_DATA = {".toml", ".txt", ".csv", ".cdf", ".json", ".parquet", ".py"}
"""Files below the folder that functions read, such as scenarios; those beside the claims are claims, texts and results."""


class Function:
    """A function of a paper's folder that another machine can call: it takes the Python files of the folder along."""

    def __init__(self, folder: Path, module_name: str, name: str) -> None:
        self.folder, self.module_name, self.name = folder, module_name, name
        self.function: Callable[..., Any] = getattr(module(folder, module_name), name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def __reduce__(self) -> tuple[Callable[..., Function], tuple[dict[str, str], str, str]]:
        return _unpacked, (_texts(self.folder), self.module_name, self.name)


def _texts(folder: Path) -> dict[str, str]:
    return {f.name: f.read_text(encoding="utf-8") for f in sorted(folder.glob("*.py"))}


_places: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _unpacked(texts: dict[str, str], module_name: str, name: str) -> Function:
    key = hashlib.sha256(repr(texts).encode()).hexdigest()
    if key not in _places:
        place = tempfile.TemporaryDirectory(prefix="xoff-paper-")
        for file, text in texts.items():
            Path(place.name, file).write_text(text, encoding="utf-8")
        _places[key] = place
    return Function(Path(_places[key].name), module_name, name)

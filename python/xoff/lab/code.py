"""Python files of a paper's folder: ``metrics.py``, ``figures.py`` and their siblings, loaded as one package."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.machinery
import os
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import _sweep
from .._errors import RunError, ScenarioError
from .given import shown


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


def files(folder: Path, texts: Iterable[str | Path]) -> dict[str, str]:
    """Hashes, by name, of all that these Python and TOML files of the folder can read: themselves; what they import from there, wherever
    they do it, and so on; other files that a text in quotes names (a folder: if it begins with ``../``); and every file of data in the
    folder."""
    folder = folder.resolve()
    data = {f.resolve() for f in _data(folder)}
    todo, known = [*(folder / f for f in texts), *(f for f in data if f.suffix == ".toml")], set[Path]()
    while todo:
        file = todo.pop().resolve()
        if file in known or not file.is_file():
            continue
        known.add(file)
        if file.suffix == ".py":
            imports, names = _said(file.read_bytes())
            todo += [p for node in imports for p in _imported(file, node)]
        else:
            names = [m[2] for m in _QUOTED.finditer(file.read_text(encoding="utf-8", errors="replace"))] if file.suffix == ".toml" else []
        for name in names:
            named = file.parent / name
            if 0 < len(name) < 200 and name.isprintable() and folder not in named.resolve().parents:
                todo += _walked(named) if re.match(r"(\.\./)+\w", name) and named.is_dir() else [named]
    found = {f: hashlib.sha256(f.read_bytes()).hexdigest() for f in known | data}
    return {os.path.relpath(f, folder): found[f] for f in sorted(found)}


@functools.lru_cache(256)
def _said(source: bytes) -> tuple[list[ast.ImportFrom], list[str]]:
    """Relative imports and texts of a Python file. A claim that searches asks for the same file before each of its runs."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.level]
    return imports, [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


_QUOTED = re.compile(r"""(?=(["'])(.+?)\1)""")


def reads(folder: Path, name: str) -> str:
    """Hash of what a module of the folder can read beside its own text."""
    found = files(folder, [f"{name}.py"])
    found.pop(f"{name}.py", None)
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _imported(file: Path, node: ast.ImportFrom) -> Iterator[Path]:
    place = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
    if node.module:
        yield from (place.with_suffix(".py"), *place.glob("*.py"))
    for alias in node.names:
        yield from (place / f"{alias.name}.py", *(place / alias.name).glob("*.py"))


def _data(folder: Path) -> Iterator[Path]:
    """Files of a folder of claims that their functions can read: not those that xoff writes, and beside claims no claims and no Python files."""
    for file in _walked(folder):
        beside = (file.parent / "paper.toml").is_file()
        claim = file.suffix == ".toml" and (file.name == "paper.toml" or re.search(rb"^measured\s*=", file.read_bytes(), re.MULTILINE))
        if file.suffix not in (".md", ".svg") and not (beside and (claim or file.suffix == ".py" or file.name == "results.json")):
            yield file


def _walked(folder: Path) -> Iterator[Path]:
    """Files below a folder, without hidden ones, and without results that a user keeps there."""
    for place, below, names in os.walk(folder, followlinks=True):
        here = Path(place)
        above = {here.resolve(), *here.resolve().parents}
        below[:] = sorted(d for d in below if not d.startswith((".", "__pycache__")) and not (here / d / ".xoff").exists() and (here / d).resolve() not in above)
        yield from (here / name for name in names if not name.startswith(".") and (here / name).is_file())


def raised(error: BaseException, folder: Path) -> str:
    """``metrics.py:12: ``, where a file of the folder raised it."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((f"{os.path.relpath(f.filename, folder.resolve())}:{f.lineno}: " for f in frames if folder.resolve() in Path(f.filename).parents), "")


def defined(folder: Path, function: Any) -> str:
    """``metrics.py:10: ``, where a function of the folder begins."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{os.path.relpath(code.co_filename, folder.resolve())}:{code.co_firstlineno}: "


class Function:
    """A function of a paper's folder that another machine can call: it takes the Python files of the folder along."""

    def __init__(self, folder: Path, module_name: str, name: str) -> None:
        self.folder, self.module_name, self.name = folder, module_name, name
        self.function: Callable[..., Any] = getattr(module(folder, module_name), name)

    def __call__(self, *args: Any, **named: Any) -> Mapping[str, Any]:
        """What it measured; an error names its place."""
        try:
            found = self.function(*args, **named)
            if not isinstance(found, Mapping):
                raise TypeError(f"{self.name} returned {shown(found)} (expected a mapping from names to numbers, texts and frames)")
            for key, value in found.items():
                if not hasattr(value, "write_parquet"):
                    _sweep._plain(key, value)
        except Exception as e:
            own = "" if isinstance(e, (RunError, ScenarioError)) else f"{type(e).__name__}: "
            raise RunError(f"{raised(e, self.folder) or defined(self.folder, self.function)}{own}{e}") from None
        return found

    def __reduce__(self) -> tuple[Callable[..., Function], tuple[dict[str, bytes], str, str]]:
        return _unpacked, (_texts(self.folder), self.module_name, self.name)


def _texts(folder: Path) -> dict[str, bytes]:
    return {os.path.relpath(f, folder): f.read_bytes() for f in sorted(_walked(folder)) if f.suffix == ".py"}


_places: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _unpacked(texts: dict[str, bytes], module_name: str, name: str) -> Function:
    key = hashlib.sha256(repr(texts).encode()).hexdigest()
    if key not in _places:
        there = tempfile.TemporaryDirectory(prefix="xoff-paper-")
        for file, text in texts.items():
            Path(there.name, file).parent.mkdir(parents=True, exist_ok=True)
            Path(there.name, file).write_bytes(text)
        _places[key] = there
    return Function(Path(_places[key].name), module_name, name)

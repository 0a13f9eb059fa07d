"""Identity of a function: a hash of everything that its results can depend on."""

from __future__ import annotations

import functools
import hashlib
import sys
import types
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def identity(function: Any) -> str:
    """The same for the same function in another process, and another one when its code, its defaults, what it encloses or binds, or the
    globals that it reads change. What belongs to other packages stands by its name and their version, or by the text of its file where
    they have none. A function that holds what cannot be examined, such as an open file, is never the same."""
    try:
        return hashlib.sha256(repr(_Walk(_package(function)).of(function)).encode()).hexdigest()
    except Exception:  # noqa: BLE001 - whatever such an object does when it is taken apart
        return uuid.uuid4().hex


def _package(value: Any) -> str:
    while isinstance(value, functools.partial):
        value = value.func
    of = value if isinstance(getattr(value, "__module__", None), str) else type(value)
    return str(of.__module__).partition(".")[0]


class _Walk:
    """From a value to texts, depth first."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.known: dict[int, int] = {}
        self.held: list[Any] = []

    def of(self, value: Any) -> Any:
        if value is None or value is Ellipsis or (isinstance(value, (bool, int, float, complex, str, bytes)) and _builtin(value)):
            return type(value).__name__, repr(value)
        if id(value) in self.known:
            return "known", self.known[id(value)]
        self.known[id(value)] = len(self.known)
        self.held.append(value)
        parts = type(value).__name__, *self.parts(value)
        # Equal tuples may be one object or two; a function is one. Others are known as long as they are open: an object may hold itself.
        if not isinstance(value, (type, types.FunctionType, types.ModuleType)):
            del self.known[id(value)]
        return parts

    def parts(self, value: Any) -> Iterator[Any]:
        if isinstance(value, (tuple, list)) and _builtin(value):
            yield from map(self.of, value)
        elif isinstance(value, (set, frozenset)) and _builtin(value):
            # Each process has an order of its own.
            yield from sorted(repr(_Walk(self.package).of(v)) for v in value)
        elif isinstance(value, dict) and _builtin(value):
            yield from ((self.of(k), self.of(v)) for k, v in value.items())
        elif isinstance(value, types.CodeType):
            yield value.co_code.hex()
            yield from map(self.of, (value.co_consts, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars))
        elif isinstance(value, types.ModuleType):
            yield _module(value.__name__)
        elif isinstance(value, types.MethodType):
            yield from map(self.of, (value.__func__, value.__self__))
        elif isinstance(value, types.BuiltinFunctionType):
            yield f"{value.__module__}.{value.__qualname__}"
            yield self.of(value.__self__)
        elif isinstance(value, (type, types.FunctionType)):
            yield from self.named(value)
        else:
            # As pickle takes it apart.
            reduced = value.__reduce_ex__(4)
            reduced = (reduced,) if isinstance(reduced, str) else reduced
            yield self.of(type(value))
            yield from (self.of(list(part) if isinstance(part, Iterator) else part) for part in reduced)

    def named(self, value: Any) -> Iterator[Any]:
        """A class or a function: all that is in it, if it belongs to the package of the function."""
        yield f"{value.__module__}.{value.__qualname__}"
        if str(value.__module__).partition(".")[0] != self.package:
            yield _module(value.__module__)
        elif isinstance(value, type):
            yield from map(self.of, value.__bases__)
            own = {k: v for k, v in vars(value).items() if not k.startswith(_OF_CLASSES)}
            yield from ((k, self.of(getattr(v, "__func__", getattr(v, "fget", v)))) for k, v in own.items())
        else:
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            read = {name: value.__globals__[name] for name in sorted(set(_names(value.__code__))) if name in value.__globals__}
            yield from map(self.of, (value.__code__, value.__defaults__, value.__kwdefaults__, cells, read))


_OF_CLASSES = ("__dict__", "__weakref__", "__module__", "__annotations__", "__firstlineno__", "_abc_")


def _builtin(value: object) -> bool:
    return type(value).__module__ == "builtins"


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


@functools.cache
def _module(name: str) -> str:
    top, module = sys.modules.get(name.partition(".")[0]), sys.modules.get(name)
    version = getattr(top, "__version__", None)
    file = getattr(module, "__file__", None)
    if version is None and file is not None and Path(file).is_file():
        version = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return f"{name} {version}"

"""The extension module, written in Rust (crates/py)."""

from collections.abc import Callable
from os import PathLike
from types import CapsuleType  # type: ignore[attr-defined, unused-ignore]

VERSION: str

class Table:
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType: ...

class Finished:
    @property
    def manifest(self) -> str: ...
    @property
    def stopped_by(self) -> BaseException | None: ...
    def tables(self) -> list[tuple[str, Table]]: ...

def run(
    path: str | PathLike[str],
    settings: list[tuple[str, str]],
    *,
    out: str | PathLike[str] | None,
    force: bool,
    keep: bool,
    threads: int | None,
    progress: Callable[[int, int, int, int], object] | None,
) -> Finished: ...

class Output:
    def __init__(self, folder: str | PathLike[str], command: str, force: bool) -> None: ...
    def own(self, name: str) -> str | PathLike[str]: ...
    def settle(self) -> None: ...

def manifest(folder: str | PathLike[str]) -> str: ...
def command(args: list[str]) -> int: ...

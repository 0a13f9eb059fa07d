"""The command ``xoff`` of an installed package: the same program as ``target/release/xoff``."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs it with the arguments of this process; returns the exit code."""
    from . import _core

    return _core.command(["xoff", *sys.argv[1:]], [sys.executable, "-m", "xoff"])

"""``python -m xoff.lab PAPER [CLAIM ...]``: what ``xoff reproduce`` starts. The answer, or why there is none, is JSON on stdout."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import traceback
import warnings
from dataclasses import asdict
from typing import Any

from .._errors import RunError, ScenarioError
from . import Reproducing, claims, results


def main(args: list[str] | None = None) -> int:
    """Exit code 0: there is an answer, maybe of a part; 2: there is none."""
    # What a claim prints is no part of the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    parser = argparse.ArgumentParser(prog="python -m xoff.lab")
    parser.add_argument("paper")
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--testbed", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(args)
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        found, code = _answer(given), 0
    except (ScenarioError, RunError, OSError) as e:
        found, code = {"refused": str(e)}, 2
    except Exception as e:  # noqa: BLE001 - of a file of the paper, or a mistake here
        at = traceback.extract_tb(e.__traceback__)[-1]
        found, code = {"refused": f"{given.paper}: {type(e).__name__}: {e} ({at.filename}:{at.lineno})"}, 2
    # An answer that is there is given.
    _ignore_signals()
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        out.write(json.dumps(found))
    return code


def _stop(_number: int, _frame: Any) -> None:
    """Stops the work, once: Ctrl-C in a terminal arrives from there and from ``xoff``."""
    _ignore_signals()
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _answer(given: argparse.Namespace) -> Any:
    if given.list:
        return [{k: asdict(c)[k] for k in ("id", "title", "paper", "band")} for c in claims(given.paper, testbed=given.testbed)]
    chosen = given.claims or None
    work = Reproducing(given.paper, chosen, given.full, given.out, given.seed, given.testbed, given.force, given.markdown, given.record)
    try:
        work.run(None, given.threads, True)
    except KeyboardInterrupt:
        pass
    if given.record:
        results.record(work.paper.folder, work.json)
    return {**work.json, "title": work.paper.title, "page": str(work.out / "index.html")}


if __name__ == "__main__":
    sys.exit(main())

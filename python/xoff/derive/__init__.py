"""A second implementation of every number that a run prints: from its tables, to compare. ``xoff verify`` starts it.

It shares no code with the program that makes the numbers: sums, percentiles, sentences and units are written again, from the documentation.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from .._errors import ScenarioError
from . import fabric, manifest, page, printed, sweep
from .facts import Damaged, consistent, read_json, regular
from .ledger import Difference, Verification

__all__ = ["Difference", "Verification", "verify"]


def verify(
    *folders: str | PathLike[str],
    answer: str | dict[str, Any] | None = None,
    printed: str | None = None,
) -> Verification:
    """Derives every number of runs and sweeps from their tables, and compares it with what they print.

    ``answer`` and ``printed`` are what ``xoff run`` of the one folder printed with and without ``--json``.
    """
    if (answer is not None or printed is not None) and len(folders) != 1:
        raise ValueError("answer and printed belong to one folder")
    found = Verification()
    try:
        for folder in folders:
            given = json.loads(answer) if isinstance(answer, str) else answer
            if answer is not None and not isinstance(given, dict):
                raise Damaged("the answer is no JSON object")
            found.add(_folder(Path(folder), given, printed))
    except (Damaged, json.JSONDecodeError) as e:
        raise ScenarioError(str(e)) from None
    return found


def _folder(folder: Path, answer: dict[str, Any] | None, text: str | None) -> Verification:
    ledger = Verification([str(folder)])
    m = read_json(folder / "manifest.json")
    try:
        if sweep.is_one(m):
            sweep.check(folder, m, ledger)
            return ledger
        report = folder / page.FILE
        regular(report)
        if not report.exists():
            ledger.skip(page.FILE, "the folder has none")
        html = page.read(report.read_text(encoding="utf-8"), str(report)) if report.exists() else None
        if fabric.is_one(m):
            fabric.check(folder, m, ledger, html, answer)
            return ledger
        run = manifest.Run(folder, m)
        consistent(run.facts, ledger)
        manifest.check(run, ledger)
        if html:
            page.check(run, html, ledger)
        if answer is not None:
            manifest.check(run, ledger, answer, "answer")
        if text is not None:
            printed.check(run, text, ledger)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as e:
        raise Damaged(f"{folder}: not the results of a run or a sweep of this version ({type(e).__name__}: {e})") from e
    return ledger

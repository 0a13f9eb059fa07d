"""Keeps measured values of claims in the folder of their paper: ``results.json``, and the table of ``README.md``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import page
from .._errors import RunError
from .claim import Claim, Mode, Paper
from .runs import write

_OF_A_CLAIM = ("id", "mode", "seed", "inputs", "earlier", "verdict", "distance", "measured", "why", "notes", "checks", "tables")
"""What is kept. Texts that no run changes are in the file of the claim."""
_OF_A_CHECK = ("what", "measured", "expected", "paper", "source", "assumption", "tried", "fails_at", "result", "distance")


_STALE = "its files have changed since"


def may_record(folder: Path, claims: Iterable[str], mode: Mode) -> None:
    """Refuses to replace values of full runs by those of quick ones."""
    full = [c["id"] for c in _known(folder).values() if mode == "quick" and c["id"] in claims and c["mode"] == "full"]
    if full:
        raise RunError(f"{folder / page.RESULTS}: {', '.join(full)}: recorded of full runs, which quick ones do not replace (add --full, or delete the claim there first)")


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    file = folder / page.RESULTS
    try:
        return {c["id"]: c for c in json.loads(file.read_text(encoding="utf-8"))["claims"] if c["mode"]} if file.is_file() else {}
    except (ValueError, KeyError, TypeError) as e:
        raise RunError(f"{file}: {type(e).__name__}: {e} (expected what --record writes; restore it, or delete it)") from None


def record(folder: Path, answer: Mapping[str, Any]) -> None:
    """Keeps the claims of an answer, as ``claims.json`` has them, in the place of the same claims of an earlier one."""
    paper = Paper.read(folder)
    names = {text: name for name, text in paper.assumptions.items()}
    file, known = folder / page.RESULTS, _known(folder)
    for claim in answer["claims"]:
        given = {"mode": answer["mode"], "seed": answer["seed"], **claim}
        said = page.failures(claim["checks"])
        own = {"why": [w for w in claim["why"] if w not in said], "checks": [_check(c, names) for c in claim["checks"]]}
        known[claim["id"]] = {k: given[k] for k in _OF_A_CLAIM if k in given} | own
    for id, claim in known.items():
        # Without a hash: recorded by an earlier version.
        if "inputs" in claim and id in paper.claims:
            claim.pop("earlier", None)
            if Claim.inputs(Claim(paper, id).files()) != claim["inputs"]:
                claim["earlier"] = _STALE
    write(file, _dumped([known[id] for id in paper.claims if id in known]).encode())
    # Those of real frames are in a folder of their paper's, and papers in one with a page of its own.
    for place in (folder.resolve(), *folder.resolve().parents[:2]):
        readme = place / page.README
        if readme.is_file() and page.SUMMARY in (text := readme.read_text(encoding="utf-8")):
            write(readme, page.with_summary(text, place).encode())


def _check(check: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Without what is empty; an assumption by its name in ``paper.toml``, if it has one."""
    own = {k: check[k] for k in _OF_A_CHECK if check[k] != ""}
    return own | ({"assumption": names.get(own["assumption"], own["assumption"])} if "assumption" in own else {})


def _dumped(claims: Iterable[Mapping[str, Any]]) -> str:
    """JSON with a line for each sentence, check and row, so that a difference is readable."""

    def one(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines(values: Iterable[str]) -> str:
        found = ",\n".join(values)
        return f"[\n{found}\n]" if found else "[]"

    def table(t: Mapping[str, Any]) -> str:
        head = ", ".join(f'"{k}": {one(t[k])}' for k in ("caption", "columns", "right"))
        return f'{{{head}, "rows": {lines(one(r) for r in t["rows"])}}}'

    def value(key: str, found: Any) -> str:
        if key == "tables":
            return lines(table(t) for t in found)
        return lines(one(v) for v in found) if isinstance(found, list) else one(found)

    def claim(c: Mapping[str, Any]) -> str:
        return "{\n" + ",\n".join(f'"{k}": {value(k, c[k])}' for k in _OF_A_CLAIM if k in c) + "\n}"

    return '{"claims": ' + lines(map(claim, claims)) + "}\n"

"""Claims of a paper as data: a folder with a file for each claim, metrics in Python, figures in Matplotlib.

    papers/gfc/paper.toml         title, the claims in the order of the paper
               fig09.toml         the paper's words, runs, checks
               metrics.py         functions of a few lines on Polars frames
               figures.py         functions that draw
               scenarios/*.toml

    xoff.reproduce("papers/gfc", ["fig09"])

A verdict is never written down: it follows from the checks, and a check that no value fails is void. Every finished run is kept, so that
the same call continues where a stopped one ended, and changed metrics run nothing again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._reproduction import Claim as ClaimResult
from .._reproduction import JudgedCheck, Reproduction
from . import draw, judge, observe, page, theory, units
from .claim import Claim, ClaimError, Paper, Results, as_json
from .code import module
from .judge import Check
from .runs import Row, Runner, Runs
from .stats import Mean, Share, quantile

if TYPE_CHECKING:
    from .._progress import StepCallback
    from .._sweep import Executor

CLAIMS = "claims.json"
"""All results, in the folder of a reproduction."""


def reproduce(
    folder: str | PathLike[str],
    claims: str | Sequence[str] | None = None,
    *,
    mode: Literal["quick", "full"] = "quick",
    out: str | PathLike[str] | None = None,
    seed: int = 1,
    executor: Executor | None = None,
    workers: int | None = None,
    force: bool = False,
    progress: bool | StepCallback = True,
) -> Reproduction:
    """Runs the claims of a paper and judges them.

    ``folder``: the folder of the paper, such as ``papers/gfc``, or one of your own. ``claims``: which of them; default: all. ``mode``:
    ``"full"`` runs as in the documentation. ``out``: folder of the results (default: ``out/paper-`` and the name of the folder): a page,
    figures, ``claims.json``, and every finished run, so that the same call continues. ``executor``, ``workers``, ``force``: as for
    :func:`xoff.sweep`. ``progress``: a line on stderr if that is a terminal; or a function that is called with :class:`xoff.Step`.
    """
    from .._progress import Line, Step

    paper = Paper.read(Path(folder))
    wanted = paper.claims if claims is None else [claims] if isinstance(claims, str) else list(claims)
    chosen = [Claim(paper, id) for id in wanted]
    place = Path("out", f"paper-{paper.name}") if out is None else Path(out)
    line = Line()
    show = progress if callable(progress) else line.step("reproduce") if progress and line.shown else None
    judged: list[dict[str, Any]] = []
    try:
        for nth, claim in enumerate(chosen):

            def report(step: Step, nth: int = nth, id: str = claim.id) -> None:
                if show is not None:
                    show(Step((nth + step.done) / len(chosen), f"{id}: {step.what}"))

            runner = Runner(paper.folder, place, executor, workers, force, report)
            found = claim.measure(runner, mode, seed)
            judged.append(as_json(claim.judge(found, functools.partial(_drawn, place))))
            _write(paper, mode, seed, judged, place, complete=nth + 1 == len(chosen))
    finally:
        line.clear()
    return _answer(paper, mode, seed, judged, place)


def _drawn(place: Path, claim: Claim, results: Results, figure: dict[str, Any], nth: int) -> str:
    import matplotlib as mpl

    file = f"figures/{claim.id}.svg" if nth == 0 else f"figures/{claim.id}-{nth + 1}.svg"
    (place / "figures").mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(draw.STYLE_OF_CLAIMS):
        draw.save(getattr(module(claim.paper.folder, "figures"), figure["draw"])(results), place / file)
    return file


def _json(paper: Paper, mode: str, seed: int, judged: list[dict[str, Any]], complete: bool) -> dict[str, Any]:
    return {"paper": paper.name, "mode": mode, "seed": seed, "complete": complete, "claims": judged}


def _write(paper: Paper, mode: str, seed: int, judged: list[dict[str, Any]], place: Path, complete: bool) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / CLAIMS).write_text(json.dumps(_json(paper, mode, seed, judged, complete), indent=1) + "\n", encoding="utf-8")
    (place / f"{paper.name}.md").write_text(page.markdown(paper.title, mode, seed, judged), encoding="utf-8")


def _answer(paper: Paper, mode: Literal["quick", "full"], seed: int, judged: list[dict[str, Any]], place: Path) -> Reproduction:
    def of(kind: type, given: dict[str, Any]) -> Any:
        return kind(**{f.name: given[f.name] for f in fields(kind) if f.name in given})

    claims = [of(ClaimResult, {**j, "checks": [of(JudgedCheck, c) for c in j["checks"]]}) for j in judged]
    answer: Literal["yes", "no"] = "no" if any(c.verdict == "not reproduced" for c in claims) else "yes"
    lines = [f"{c.id:<18} {c.verdict}: {c.measured}" for c in claims]
    result = Reproduction(
        json={**_json(paper, mode, seed, judged, True), "answer": answer},
        text="\n".join([*lines, "", f"Page: {place / f'{paper.name}.md'}"]),
        paper=paper.name,
        mode=mode,
        seed=seed,
        complete=True,
        answer=answer,
        claims=claims,
    )
    return result


__all__ = [
    "Check",
    "Claim",
    "ClaimError",
    "Mean",
    "Paper",
    "Results",
    "Row",
    "Runs",
    "Share",
    "draw",
    "judge",
    "observe",
    "quantile",
    "reproduce",
    "theory",
    "units",
]

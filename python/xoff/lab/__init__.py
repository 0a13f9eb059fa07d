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

import contextlib
import functools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import RunError, ScenarioError
from .._reproduction import Claim as ClaimResult
from .._reproduction import JudgedCheck, Reproduction
from . import draw, html, judge, observe, page, results, theory, units
from .claim import PAPER, Claim, ClaimError, Mode, Paper, Results, as_json
from .code import defined, module, raised
from .given import shown
from .judge import Check
from .runs import Row, Runner, Runs, write
from .stats import Mean, Share, quantile

if TYPE_CHECKING:
    from .._progress import StepCallback
    from .._sweep import Executor

CLAIMS = "claims.json"
"""All results, in the folder of a reproduction."""


def claims(paper: str | PathLike[str], *, testbed: bool = False) -> list[ClaimResult]:
    """The claims of a paper in its order, not run. Arguments as for :func:`reproduce`."""
    read = Paper.read(_folder(paper, testbed))
    return [ClaimResult(id=c.id, title=c.given["title"], paper=c.given["paper"], band=c.given["band"]) for c in (Claim(read, id) for id in read.claims)]


def reproduce(
    paper: str | PathLike[str],
    claims: str | Sequence[str] | None = None,
    *,
    full: bool = False,
    out: str | PathLike[str] | None = None,
    seed: int = 1,
    testbed: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    force: bool = False,
    markdown: str | PathLike[str] | None = None,
    record: bool = False,
    progress: bool | StepCallback = True,
) -> Reproduction:
    """Runs the claims of a paper and judges them.

        xoff.reproduce("papers/gfc", ["ring", "fig05"])

    ``paper``: the folder of the paper, such as ``papers/gfc``, or one of your own. ``claims``: names of some of them; default: all.
    ``full``: full runs, hours for large networks; default: quick ones. ``out``: folder of the results (default: ``out/paper-`` and the
    name of the folder): ``index.html``, figures, ``claims.json``, and every finished run, so that the same call continues where a stopped
    one ended. The page keeps the claims of earlier calls and marks them. ``seed``: of every random stream. ``testbed``: the claims with real Ethernet frames, in the folder ``testbed`` of the paper.
    ``executor``, ``workers``, ``force``: as for :func:`xoff.sweep`. ``markdown``: also writes the page as this file, with its figures in a
    folder next to it. ``record``: keeps the measured values in the folder of the paper, as ``results.json`` and in its ``README.md``.
    ``progress``: a line on stderr if that is a terminal; or a function that is called with :class:`xoff.Step`.

    Raises :class:`ClaimError` if a file of the folder is wrong, :class:`xoff.ScenarioError` if a scenario is, and :class:`xoff.RunError` if
    results cannot be written. Ctrl-C stops it; finished claims are in the folder.
    """
    work = Reproducing(paper, claims, full, out, seed, testbed, force, markdown, record)
    work.run(executor, workers, progress)
    if record:
        results.record(work.paper.folder, work.json)
    return work.answer


class Reproducing:
    """A reproduction: what is judged so far, also after an exception."""

    def __init__(
        self,
        paper: str | PathLike[str],
        claims: str | Sequence[str] | None,
        full: bool,
        out: str | PathLike[str] | None,
        seed: int,
        testbed: bool,
        force: bool,
        markdown: str | PathLike[str] | None,
        record: bool,
    ) -> None:
        self.paper = Paper.read(_folder(paper, testbed))
        wanted = self.paper.claims if claims is None else [claims] if isinstance(claims, str) else list(claims)
        self.mode: Mode = "full" if full else "quick"
        self.chosen = [Claim(self.paper, id) for id in dict.fromkeys(wanted)]
        for claim in self.chosen:
            with _named(claim):
                claim.resolve(self.mode)
        self.seed, self.force = seed, force
        if record:
            results.may_record(self.paper.folder, wanted, self.mode)
        self.out = Path("out", f"paper-{self.paper.name}") if out is None else Path(out)
        self.markdown = None if markdown is None else Path(markdown)
        self.judged: list[dict[str, Any]] = []
        self.earlier: list[dict[str, Any]] = []
        """Claims that earlier calls judged in the same folder."""
        if self.markdown is not None:
            self._may_write(self.markdown)

    def _may_write(self, page: Path) -> None:
        """Refuses a place for the page that holds something else."""
        beside = page.with_suffix("")
        if not page.parent.is_dir():
            raise RunError(f"{page}: the folder {page.parent} does not exist (create it first)")
        if page.suffix != ".md" or page.is_dir():
            raise RunError(f"{page} (expected the name of a file that ends in .md)")
        if beside.exists() and not beside.is_dir():
            raise RunError(f"{page}: its figures belong into {beside}, but it is a file, not a folder (choose another name)")
        if self.out.resolve() in page.resolve().parents:
            raise RunError(f"{page} is in the folder of the results, which has a page already (choose another place)")
        ours = page.is_file() and page.read_bytes().startswith(self._page().splitlines()[0].encode())
        if not ours and not self.force and (page.exists() or (beside.is_dir() and any(beside.iterdir()))):
            raise RunError(f"{page} or its folder of figures is there already, and it is not a page of this paper (choose another name, or --force)")

    def _page(self) -> str:
        return page.markdown(self.paper.title, self.mode, self.seed, self._shown())

    def _shown(self) -> list[dict[str, Any]]:
        """The claims of the page, in the order of the paper."""
        place = {id: nth for nth, id in enumerate(self.paper.claims)}
        return sorted([*self.judged, *self._not_again()], key=lambda c: place.get(c["id"], len(place)))

    def _not_again(self) -> list[dict[str, Any]]:
        now = {c["id"] for c in self.judged}
        return [c for c in self.earlier if c["id"] not in now]

    def _of_earlier_calls(self) -> list[dict[str, Any]]:
        """Claims that earlier calls have judged in the folder, each with a note."""
        try:
            kept = json.loads((self.out / CLAIMS).read_text(encoding="utf-8"))
            # Without a distance: judged by an earlier version, in other words.
            found = {c["id"]: c for c in [*kept["earlier"], *kept["claims"]] if kept["paper"] == self.paper.name and "distance" in c}
        except (OSError, ValueError, KeyError, TypeError):
            return []
        there = [c for c in found.values() if (self.paper.folder / f"{c['id']}.toml").is_file() and all((self.out / f["file"]).is_file() for f in c["figures"])]
        return [{**c, "earlier": f"not run now: {c['mode']}, seed {c['seed']}{self._changes(c)}"} for c in there]

    def _changes(self, judged: dict[str, Any]) -> str:
        try:
            same = Claim.inputs(Claim(self.paper, judged["id"]).files()) == judged["inputs"]
        except (ClaimError, OSError, SyntaxError):
            same = False
        return "" if same else "; its files have changed since"

    def run(self, executor: Executor | None, workers: int | None, progress: bool | StepCallback) -> None:
        """Runs and judges one claim after the other; the pages are complete after each."""
        from .. import _core
        from .._progress import Line, Step

        line = Line()
        show = progress if callable(progress) else line.step("reproduce") if progress and line.shown else None
        folder = _core.Folder(self.out, f"reproduce {self.paper.name}", self.force)
        try:
            folder.own("runs/")
            folder.own("functions/")
            self.earlier = self._of_earlier_calls()
            self._write(folder)
            changed: list[str] = []
            for nth, chosen in enumerate(self.chosen):

                def report(step: Step, nth: int = nth, id: str = chosen.id) -> None:
                    if show is not None:
                        show(Step((nth + step.done) / len(self.chosen), f"{id}: {step.what}"))

                report(Step(0, "starts"))
                with _named(chosen):
                    before = chosen.files()
                    claim = Claim(self.paper, chosen.id)
                    found = claim.measure(Runner(self.paper.folder, self.out, executor, workers, self.force, report), self.mode, self.seed)
                    judged = as_json(claim.judge(found, functools.partial(_drawn, folder)))
                    after = claim.files()
                if before == after:
                    self.judged.append({**judged, "mode": self.mode, "seed": self.seed, "inputs": Claim.inputs(before)})
                    self._write(folder)
                else:
                    changed += [f"{claim.file}: {', '.join(sorted({k for k, _ in before.items() ^ after.items()}))} changed while it ran, so its result is not kept"]
            if changed:
                raise RunError("\n".join(changed) + f" (start it again: other results are in {self.out}; a function keeps files of its own in another folder)")
        finally:
            line.clear()
            folder.release()

    def _write(self, folder: Any) -> None:
        folder.write(CLAIMS, (json.dumps({**self.json, "earlier": self._not_again()}, indent=1) + "\n").encode())
        text = self._page()
        folder.write(f"{self.paper.name}.md", text.encode())
        shown = self._shown()
        drawn = {f["file"]: (self.out / f["file"]).read_text(encoding="utf-8") for c in shown for f in c["figures"]}
        folder.write("index.html", html.page(self.paper.title, {**self.json, "claims": shown}, drawn).encode())
        if self.markdown is not None and self.judged:
            beside = self.markdown.with_suffix("")
            for file, svg in drawn.items():
                beside.mkdir(exist_ok=True)
                write(beside / Path(file).name, svg.encode())
            write(self.markdown, text.replace("](figures/", f"]({beside.name}/").encode())

    @property
    def json(self) -> dict[str, Any]:
        """The answer so far; ``claims.json`` also has the claims of earlier calls."""
        complete = len(self.judged) == len(self.chosen)
        failed = any(c["verdict"] in ("undecided", "contradicted") for c in self.judged)
        answer = ("no" if failed else "yes") if complete else "interrupted"
        return {"paper": self.paper.name, "mode": self.mode, "seed": self.seed, "complete": complete, "claims": self.judged, "answer": answer}

    @property
    def answer(self) -> Reproduction:
        """The answer so far."""
        given = self.json
        judged = [_built(ClaimResult, {**c, "checks": [_built(JudgedCheck, k) for k in c["checks"]]}) for c in self.judged]
        text = "\n".join([*(f"{c.id:<18} {c.verdict}{c.distance and f' ({c.distance})'}: {c.measured}" for c in judged), "", f"Report: {self.out / 'index.html'}"])
        return Reproduction(**{**given, "claims": judged}, json=given, text=text)


@contextlib.contextmanager
def _named(claim: Claim) -> Iterator[None]:
    """An error in a claim names its file and the part of it, and one in a Python file of the folder its place there."""
    try:
        yield
    except (Exception, SystemExit) as e:
        if str(e).startswith((f"{claim.file}:", f"{claim.file} ")):
            raise
        parts = "".join(f"{note}: " for note in reversed(getattr(e, "__notes__", [])))
        known = isinstance(e, (ScenarioError, RunError))
        own = "" if known else f"sys.exit({e.code}) ends nothing here (raise an error instead)" if isinstance(e, SystemExit) else f"{type(e).__name__}: {e}"
        key = re.match(r'"([^"]+)": ', str(e))
        at = [nth for nth, line in enumerate(claim.file.read_text(encoding="utf-8").splitlines(), 1) if key is not None and key[1] in line]
        text = f"{claim.file}{f':{at[0]}' if at else ''}: {parts}{raised(e, claim.paper.folder)}{own or e}"
        raise (type(e) if known else ClaimError)(text) from e


def _built(kind: type, given: dict[str, Any]) -> Any:
    return kind(**{f.name: given[f.name] for f in fields(kind) if f.name in given})


def _folder(paper: str | PathLike[str], testbed: bool) -> Path:
    """The folder of a paper. One of xoff's own may be named without its folder: it is in a checkout or installed with the package."""
    named = Path(paper)
    places = (named, Path("papers", paper), Path(sys.prefix, "share", "xoff", "papers", paper))
    folder = next((p for p in places if (p / PAPER).is_file()), named)
    return folder / "testbed" if testbed else folder


def _drawn(folder: Any, claim: Claim, results: Results, figure: dict[str, Any], nth: int) -> str:
    import matplotlib as mpl

    file = f"figures/{claim.id}.svg" if nth == 0 else f"figures/{claim.id}-{nth + 1}.svg"
    with mpl.rc_context(draw.STYLE_OF_CLAIMS):
        function = figure["draw"] if callable(figure["draw"]) else getattr(module(claim.paper.folder, "figures"), figure["draw"])
        made = function(results)
        if not hasattr(made, "savefig"):
            raise ClaimError(f"{defined(claim.paper.folder, function)}{figure['draw']} returned {shown(made)} (expected a Matplotlib figure)")
        folder.write(file, draw.svg(made))
    return file


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
    "claims",
    "draw",
    "judge",
    "observe",
    "quantile",
    "reproduce",
    "theory",
    "units",
]

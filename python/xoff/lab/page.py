"""Pages of claims as Markdown: of a reproduction, and of the results that are kept in a paper's folder.

The site is built where xoff is not installed, so this file imports nothing of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = "results.json"
"""Measured values of the claims, in the folder of a paper: what ``--record`` writes."""
README = "README.md"
TESTBED = "testbed"
"""Folder of the claims with real frames, in that of their paper."""
SUMMARY = "<!-- claims: written by --record -->"
"""First line of the part of ``README.md`` that ``--record`` writes; :data:`END` is its last."""
END = "<!-- end of the claims -->"
_TABLE = re.compile(f"{re.escape(SUMMARY)}.*?{re.escape(END)}", re.DOTALL)


def markdown(title: str, mode: str, seed: int, claims: Sequence[Mapping[str, Any]]) -> str:
    """Every claim with its verdict, checks, tables and figures; ``claims`` as in ``claims.json``."""
    lines = [f"# {_plain(title)}", "", f"Runs: {mode}, seed {seed}. The verdict on each claim follows from its checks.", ""]
    rows = ([f"`{c['id']}`", *(_plain(c[k]) for k in ("title", "paper", "measured")), verdict(c)] for c in claims)
    lines += _table(["Claim", "Title", "Paper", "Measured", "Verdict"], rows)
    for claim in claims:
        lines += ["", *section(claim)]
    return "\n".join(lines) + "\n"


def verdict(c: Mapping[str, Any]) -> str:
    """The verdict; with a note if an earlier call judged the claim."""
    return f"{c['verdict']} ({c['earlier']})" if "earlier" in c else str(c["verdict"])


def section(c: Mapping[str, Any], level: str = "##") -> list[str]:
    """A claim with all that is known of it."""
    lines = [f"{level} {c['id']}: {_plain(c['title'])}", "", ", ".join([f"**{verdict(c)}**", *(_plain(c[key]) for key in ("distance", "cause") if c[key])])]
    lines += ["", *(f"- {key}: {_plain(c[of])}" for key, of in (("paper", "paper"), ("measured", "measured"), ("expected", "band")))]
    lines += _list("Why", c["why"])
    for figure in c["figures"]:
        lines += ["", f"![{_plain(figure['title'])}]({figure['file']})", "", _plain(figure["caption"])]
    for table in c["tables"]:
        rows = ([_plain(cell) for cell in row] for row in table["rows"])
        lines += ["", _plain(table["caption"]), "", *_table(table["columns"], rows, table["right"])]
    for heading, key in (("Notes", "notes"), ("Assumptions", "assumptions"), ("Bands changed after the data were seen", "changes")):
        lines += _list(heading, c[key])
    heads = ["Check", "Measured", "Expected", "Paper", "Distance", "Range from", "Would fail at", "Result"]
    texts = ([k["what"], k["measured"], k["expected"], k["paper"], k["distance"], source(k), k["fails_at"], k["result"]] for k in c["checks"])
    lines += ["", "Findings:" if c["verdict"] == "extension" else "Checks:", ""]
    return [*lines, *_table(heads, ([_plain(t) for t in row] for row in texts), heads[1:4])]


# ---- what is kept in a folder -----------------------------------------------------------------------------------------------------


def kept(folder: Path) -> list[dict[str, Any]]:
    """The claims of ``results.json`` as in ``claims.json``, without figures; texts that no run changes are those of the claim's file."""
    names = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8")).get("assumptions", {})
    return [_whole(folder, names, claim) for claim in json.loads((folder / RESULTS).read_text(encoding="utf-8"))["claims"]]


def _whole(folder: Path, names: Mapping[str, str], claim: Mapping[str, Any]) -> dict[str, Any]:
    own = tomllib.loads((folder / f"{claim['id']}.toml").read_text(encoding="utf-8"))
    checks = [{"paper": "", "distance": "", "tried": "", **c, "assumption": names.get(c.get("assumption", ""), c.get("assumption", ""))} for c in claim["checks"]]
    assumed = [*own.get("assumptions", []), *(c["assumption"] for c in checks if c["assumption"])]
    of_file = {"title": own["title"], "paper": own["paper"], "band": own["band"], "cause": own.get("cause", ""), "changes": own.get("changes", [])}
    why = [*failures(checks), *claim["why"]]
    return {**claim, **of_file, "checks": checks, "assumptions": list(dict.fromkeys(assumed)), "why": why, "figures": []}


def failures(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What :func:`xoff.lab.judge.reasons` says about these checks."""

    def sentence(c: Mapping[str, Any]) -> str:
        paper = f", paper {c['paper']}" if c["paper"] else ""
        return f"{c['what']}: {c['measured']}, expected {c['expected']}{paper}"

    void = "cannot fail"
    return [f"{void if c['fails_at'] == void else c['result']}: {sentence(c)}" for c in checks if c["result"] != "holds"]


def with_summary(text: str, folder: Path) -> str:
    """A page with a table between :data:`SUMMARY` and :data:`END`: of the kept claims of a paper, or of a folder of papers the verdicts."""
    lines = counts(folder)
    if (folder / RESULTS).is_file():
        lines = summary(kept(folder))
        if (folder / TESTBED / RESULTS).is_file():
            lines += ["", "With real frames:", "", *summary(kept(folder / TESTBED), f"{TESTBED}/")]
    return _TABLE.sub(lambda _: "\n".join([SUMMARY, "", *lines, "", END]), text)


def counts(papers: Path) -> list[str]:
    """A row for each paper with kept claims: how many have which verdict."""
    names = ("confirmed", "confirmed under a stated reading", "undecided", "contradicted", "erratum", "extension")
    rows = []
    for file in sorted([*papers.glob(f"*/{RESULTS}"), *papers.glob(f"*/{TESTBED}/{RESULTS}")]):
        verdicts = [c["verdict"] for c in json.loads(file.read_text(encoding="utf-8"))["claims"]]
        paper = file.relative_to(papers).parts[0]
        rows.append((f"[{paper}]({paper}/{README})" + (", real frames" if file.parent.name == TESTBED else ""), *(verdicts.count(n) for n in names)))
    rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    heads = ["Paper", "Confirmed", "Under a stated reading", "Undecided", "Contradicted", "Erratum", "Extension"]
    return _table(heads, ([str(cell) for cell in row] for row in rows), heads[1:])


def summary(claims: Iterable[Mapping[str, Any]], place: str = "") -> list[str]:
    """A row for each claim: the paper's number and the measured one, the distance, the verdict, and its main cause. ``place``: where its file is."""
    rows = ([f"[{c['id']}]({place}{c['id']}.toml): {_plain(c['title'])}", *map(_plain, _words(c))] for c in claims)
    return _table(["Claim", "Paper", "Here", "Distance", "Verdict", "Main cause"], rows)


def _words(c: Mapping[str, Any]) -> list[str]:
    """The paper, the measured value, the verdict and the cause: of one check, among those that fail if some do; or short sentences."""
    worst = {"contradicted": "contradicts", "undecided": "undecided", "erratum": "erratum"}.get(c["verdict"])
    failed = [k for k in c["checks"] if k["result"] == worst and k["source"] != "chosen"]
    # The one of the distance. What the paper claims comes first: a number, then words.
    main = min(failed or c["checks"], key=lambda k: (c["distance"] != k["distance"], 0 if k["paper"] else 1 if "paper" in k["source"] else 2))
    paper = main["paper"] or (c["paper"] if len(c["paper"]) <= _SENTENCE else "")
    here = f"{main['what']}: {main['measured']}"
    if not main["paper"]:
        here = c["measured"] if not failed and len(c["measured"]) <= 1.5 * _SENTENCE else f"{here}, expected {main['expected']}"
    assumed = [k["assumption"] for k in c["checks"] if k["assumption"]] if c["verdict"] == "confirmed under a stated reading" else []
    shown = verdict(c) + (" (quick runs)" if c["mode"] == "quick" else "")
    return [paper, here, c["distance"], shown, c["cause"] or (f"assumes: {_short(assumed[0])}" if assumed else "")]


_SENTENCE = 160
"""Longest sentence of a cell."""


def _short(text: str) -> str:
    """The first statement of a text."""
    return re.split(r"; |\. (?=[A-Z])", re.sub(r" \([^)]*\)", "", text), maxsplit=1)[0].rstrip(".")


def source(check: Mapping[str, Any]) -> str:
    """The source of the band, with what it assumes and what else was tried."""
    return "".join([check["source"], *(f", {name}: {check[key]}" for name, key in (("assuming", "assumption"), ("also tried", "tried")) if check[key])])


def _plain(text: str) -> str:
    """Text in which Markdown and HTML see nothing to act upon."""
    return re.sub(r"([*_\[\]|~])", r"\\\1", " ".join(text.split()).replace("<", "&lt;").replace(">", "&gt;"))


def _list(heading: str, texts: Sequence[str]) -> list[str]:
    return ["", f"{heading}:", "", *(f"- {_plain(t)}" for t in texts)] if texts else []


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    def cells(texts: Sequence[str]) -> str:
        return f"| {' | '.join(texts)} |"

    return [cells([_plain(h) for h in heads]), cells(["---:" if h in right else "---" for h in heads]), *map(cells, rows)]

"""The page of a reproduction, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def markdown(title: str, mode: str, seed: int, claims: Sequence[dict[str, Any]]) -> str:
    """Every claim with its verdict, checks, tables and figures; ``claims`` as in ``claims.json``."""
    lines = [f"# {title}", "", f"Runs: {mode}, seed {seed}. The verdict on each claim follows from its checks.", ""]
    lines += _table(["Claim", "Title", "Paper", "Measured", "Verdict"], ([f"`{c['id']}`", c["title"], c["paper"], c["measured"], c["verdict"]] for c in claims))
    for claim in claims:
        lines += ["", *_section(claim)]
    return "\n".join(lines) + "\n"


def _section(c: dict[str, Any]) -> list[str]:
    lines = [f"## {c['id']}: {c['title']}", "", f"**{c['verdict']}**", ""]
    lines += [f"- paper: {c['paper']}", f"- measured: {c['measured']}", f"- expected: {c['band']}"]
    lines += _list("Why", c["why"])
    for figure in c["figures"]:
        lines += ["", f"![{figure['title']}]({figure['file']})", "", figure["caption"]]
    for table in c["tables"]:
        lines += ["", table["caption"], "", *_table(table["columns"], table["rows"], table["right"])]
    for heading, key in (("Notes", "notes"), ("Assumptions", "assumptions"), ("Bands changed after the data were seen", "changes")):
        lines += _list(heading, c[key])
    heads = ["Check", "Measured", "Expected", "Paper", "Range from", "Would fail at", "Holds"]
    rows = ([k["what"], k["measured"], k["expected"], k["paper"], _source(k), k["fails_at"], "yes" if k["holds"] else "no"] for k in c["checks"])
    return [*lines, "", "Findings:" if c["verdict"] == "extension" else "Checks:", "", *_table(heads, rows, heads[1:4])]


def _source(check: dict[str, Any]) -> str:
    return f"{check['source']}, assuming: {check['assumption']}" if check["assumption"] else str(check["source"])


def _list(heading: str, texts: Sequence[str]) -> list[str]:
    return ["", f"{heading}:", "", *(f"- {t}" for t in texts)] if texts else []


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    def cells(texts: Sequence[str]) -> str:
        return "| " + " | ".join(str(t).replace("|", "\\|").replace("\n", " ") for t in texts) + " |"

    return [cells(heads), cells(["---:" if h in right else "---" for h in heads]), *map(cells, rows)]

"""The report of a reproduction: one HTML file that opens offline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .page import source, verdict

_TONES = {
    "confirmed": "good", "confirmed under a stated reading": "good", "undecided": "caution", "contradicted": "bad", "erratum": "info", "extension": "info",
    "holds": "good", "contradicts": "bad", "fails": "caution",
}  # fmt: skip
"""Colours of verdicts, and of results of checks."""
_STYLE = """
:root { color-scheme: light dark; --good: #00703c; --caution: #8a6100; --bad: #b00020; --info: #1f5fa8; --line: #8885; --back: #fff; }
@media (prefers-color-scheme: dark) { :root { --good: #55c98a; --caution: #e0b040; --bad: #ff7a85; --info: #7ab8ff; --back: #16181c; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; background: var(--back); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .9rem; margin: 1rem 0; }
caption { text-align: left; } th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
.right { text-align: right; } .good { color: var(--good); } .caution { color: var(--caution); } .bad { color: var(--bad); } .info { color: var(--info); }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; background: #fff; border-radius: 4px; } figcaption { font-size: .9rem; }
"""


def page(title: str, answer: Mapping[str, Any], drawn: Mapping[str, str]) -> str:
    """``answer`` as in ``claims.json``; ``drawn``: SVG of each figure by its file."""
    claims = answer["claims"]
    counts = [(sum(c["verdict"] == v for c in claims), v) for v in _TONES]
    headline = ", ".join(f'<b class="{_TONES[v]}">{n} {v}</b>' for n, v in counts if n)
    lead = f"{'Full' if answer['mode'] == 'full' else 'Quick'} runs, seed {answer['seed']}. The verdict on each claim follows from its checks."
    if answer["mode"] == "quick":
        lead += " A quick run has fewer seeds and networks than a full one."
    if not answer["complete"]:
        lead += " Not all claims are judged yet: repeat the command to continue."
    rows = ([f'<a href="#{_id(c)}">{escape(c["id"])}</a>', *map(escape, (c["title"], c["paper"], c["measured"])), _verdict(c)] for c in claims)
    body = [f"<h1>{escape(title)}</h1><p>{headline}</p><p>{lead}</p>", _table(["Claim", "Title", "Paper", "Measured", "Verdict"], rows)]
    body += [_section(c, drawn) for c in claims]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _section(c: Mapping[str, Any], drawn: Mapping[str, str]) -> str:
    def texts(*named: tuple[str, str]) -> list[str]:
        lists = [(name, c[key] if isinstance(c[key], list) else [c[key]]) for name, key in named]
        return [f"<p><b>{name}:</b> {escape(text)}</p>" for name, all_ in lists for text in all_]

    parts = [f'<h2 id="{_id(c)}">{escape(c["id"])}: {escape(c["title"])}</h2><p>{_verdict(c)}</p>']
    parts += texts(("Paper", "paper"), ("Measured", "measured"), ("Expected", "band"), ("Why", "why"))
    for f in c["figures"]:
        svg = drawn[f["file"]]
        parts.append(f"<figure>{svg[svg.index('<svg') :]}<figcaption>{escape(f['caption'])}</figcaption></figure>")
    for t in c["tables"]:
        parts.append(_table(t["columns"], (map(escape, row) for row in t["rows"]), t["right"], t["caption"]))
    parts += texts(("Note", "notes"), ("Assumption", "assumptions"), ("Changed", "changes"))
    heads = ["Check", "Measured", "Expected", "Paper", "Distance", "Range from", "Would fail at", "Result"]
    rows = ([*map(escape, (k["what"], k["measured"], k["expected"], k["paper"], k["distance"], source(k), k["fails_at"])), _toned(k["result"])] for k in c["checks"])
    name = "Findings" if c["verdict"] == "extension" else "Checks"
    return "".join(parts) + f"<details><summary>{name}: {len(c['checks'])}</summary>{_table(heads, rows, heads[1:4])}</details>"


def _id(c: Mapping[str, Any]) -> str:
    return escape(f"claim-{c['id']}", quote=True)


def _verdict(c: Mapping[str, Any]) -> str:
    shown = f'<b class="{_TONES[c["verdict"]]}">{verdict(c)}</b>'
    return shown + "".join(f", {escape(c[key])}" for key in ("distance", "cause") if c[key])


def _toned(result: str) -> str:
    return f'<b class="{_TONES[result]}">{result}</b>'


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]], right: Sequence[str] = (), caption: str = "") -> str:
    """Cells are HTML; heads and caption are texts."""
    tags = [' class="right"' if h in right else "" for h in heads]
    top = "".join(f"<th{tag}>{escape(h)}</th>" for tag, h in zip(tags, heads, strict=True))
    body = "".join(f"<tr>{''.join(f'<td{tag}>{cell}</td>' for tag, cell in zip(tags, row, strict=True))}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

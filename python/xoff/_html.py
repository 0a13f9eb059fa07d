"""Display in notebooks: a coloured headline and tables, without scripts, style sheets and external files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

COLORS = {"yes": "#00703C", "no": "#B00020", "interrupted": "#8A6100"}
ROWS_MAX = 20
"""Rows of a table; the objects have all."""


def headline(text: str, answer: str | None = None) -> str:
    """The headline, coloured by the answer."""
    color = f' style="color:{COLORS[answer]}"' if answer in COLORS else ""
    return f"<p><b{color}>{escape(text)}</b></p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; numbers to the right."""
    all_rows = list(rows)
    if not all_rows:
        return ""

    def cell(value: object) -> str:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = "" if value is None else f"{value:,}" if isinstance(value, int) and number else f"{value:.4g}" if number else str(value)
        return f'<td style="text-align:{"right" if number else "left"}">{escape(text)}</td>'

    head = "".join(f'<th style="text-align:left">{escape(h)}</th>' for h in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in all_rows[:ROWS_MAX])
    more = f"<p>... and {len(all_rows) - ROWS_MAX} more rows</p>" if len(all_rows) > ROWS_MAX else ""
    top = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, without empty values."""
    kept = [(name, value) for name, value in rows if value not in (None, "", [], {})]
    cells = "".join(f'<tr><th style="text-align:left">{escape(n)}</th><td style="text-align:left">{escape(str(v))}</td></tr>' for n, v in kept)
    return f"<table><tbody>{cells}</tbody></table>" if kept else ""


def lines(heading: str, texts: Sequence[str]) -> str:
    """A list with a heading."""
    items = "".join(f"<li>{escape(t)}</li>" for t in texts)
    return f"<p>{escape(heading)}</p><ul>{items}</ul>" if texts else ""

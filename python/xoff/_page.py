"""A run as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _html

if TYPE_CHECKING:
    from ._run import Run


def page(run: Run) -> str:
    """Headline, scenario, slowdown by size, active mechanisms."""
    m, summary = run.manifest, run.summary
    values = dict(zip(run.parameters["path"], run.parameters["value"], strict=True))
    answer = run.verdict.answer if m.get("verdict") else None
    kinds = [f"{name}: {values[path]}" for name, path in (
        ("flow control", "flow_control.kind"),
        ("detection", "detection.kind"),
        ("rate control", "rate_control.kind"),
        ("fabric", "scheduled_fabric.kind"),
    ) if values.get(path, "none") != "none"]
    parts = [
        _html.headline(f"{values.get('run.title') or 'Run'}: {summary.headline or 'without a verdict'}", answer),
        _html.pairs([
            ("Ended", summary.ended),
            ("Mechanisms", ", ".join(kinds)),
            ("Deadlock", " ".join(run.deadlock or [])),
            ("Incomplete", summary.incomplete),
            ("Slowdown", summary.slowdown),
            ("Simulated", f"{m['simulated_seconds'] * 1e3:.6g} ms, {m['events']:,} events in {m['wall_seconds']:.3g} s"),
            ("Result", f"{run.result_hash}, seed {m['seed']}" + (f", in {run.folder}" if run.folder else "")),
        ]),
    ]
    if "flows" in run.tables:
        table = run.slowdown()
        parts.append(_html.table(["Size of flow", "Flows", "Unfinished", "Mean", "Median", "95 %", "99 %"], [
            (r["size"], r["flows"], r["unfinished"], r["mean"], r["p50"], r["p95"], r["p99"]) for r in table.rows(named=True)
        ], "Slowdown"))
    parts += [
        _html.lines("Active:", summary.active),
        _html.lines("Inactive:", summary.inactive),
        _html.lines("Warnings:", summary.warnings),
    ]
    return "".join(parts)

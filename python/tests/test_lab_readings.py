"""A claim whose checks are taken under another reading: the same checks on other runs."""

from pathlib import Path

import xoff.lab

METRICS = """
import xoff.lab


def rate(share):
    return {"rate": share * 40}


def rates(r):
    return {"a": None, "b": None} | {row["case"]: row["rate"] for row in r.runs}


def both(r):
    return [{"Check": a.what, "First": a.holds, "Other": b.holds} for a, b in zip(r.checks(), r.checks("other"), strict=True)]


def alone(r):
    only = xoff.lab.Runs([row for row in r["other"] if row["case"] == "a"])
    return [{"Rate": c.measured} for c in r.checks(only)]
"""
CLAIM = """
title = "Rates"
paper = "20 each."
band = "20 each."
measured = "{rates[a]} and {rates[b]}"

[[run]]
function = "rate"
case = { a = { share = 0.5 }, b = { share = 0.5 } }

[[run]]
name = "other"
function = "rate"
case = { a = { share = 0.25 }, b = { share = 0.5 } }

[[check]]
what = "rate of {name}"
value = "rates[{name}]"
each = { name = ["a", "b"] }
exactly = 20

[[table]]
rows = "both"

[[table]]
rows = "alone"
"""


def test_the_same_checks_on_other_runs(tmp_path: Path) -> None:
    folder = tmp_path / "fair"
    folder.mkdir()
    (folder / "paper.toml").write_text('title = "Fair"\nclaims = ["rates"]\n', encoding="utf-8")
    (folder / "metrics.py").write_text(METRICS, encoding="utf-8")
    (folder / "rates.toml").write_text(CLAIM, encoding="utf-8")
    done = xoff.lab.reproduce(folder, out=tmp_path / "out", progress=False)
    both, alone = done.json["claims"][0]["tables"]
    assert done.claims[0].verdict == "confirmed"
    assert both["rows"] == [["rate of a", "True", "False"], ["rate of b", "True", "True"]]
    assert alone["rows"] == [["10"], ["n/a"]]

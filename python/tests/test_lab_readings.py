"""A claim whose checks are taken under another reading: the same checks on other runs."""

import re
from pathlib import Path

import pytest
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


GRID = """
title = "Rates"
paper = "20 each."
band = "20 each."
measured = "{rates[a]} and {rates[b]}"

[[reading]]
name = "share"
values = { quarter = { share = 0.25 }, half = { share = 0.5 }, most = { share = 0.9 } }
source = { quarter = "paper", half = "ours", most = "code: its simulator" }

[[reading]]
name = "scale"
values = { plain = { scale = 1 }, tenfold = { scale = 10 } }
source = { plain = "ours", tenfold = "ours" }
quick = ["plain", "tenfold"]

[[run]]
function = "scaled"
readings = ["share", "scale"]
case = { a = { share = 0 }, b = { share = 0 } }

[[check]]
what = "rate of {name}"
value = "rates[{name}]"
each = { name = ["a", "b"] }
exactly = 20

[[check]]
what = "runs"
value = "runs"
exactly = 2
"""
SCALED = """

def scaled(share, scale):
    return {"rate": share * 40 * scale}


def runs(r):
    return len(r.runs)
"""


def judged(folder: Path, text: str, **changed: str) -> xoff.Reproduction:
    folder.mkdir()
    (folder / "paper.toml").write_text('title = "Fair"\nclaims = ["rates"]\n', encoding="utf-8")
    (folder / "metrics.py").write_text(METRICS + SCALED, encoding="utf-8")
    for old, new in changed.values():
        assert old in text
        text = text.replace(old, new)
    (folder / "rates.toml").write_text(text, encoding="utf-8")
    return xoff.lab.reproduce(folder, out=folder / "out", progress=False)


def test_a_claim_is_confirmed_under_the_reading_that_holds(tmp_path: Path) -> None:
    done = judged(tmp_path / "fair", GRID)
    claim = done.claims[0]
    assert claim.verdict == "confirmed under a stated reading"
    rates, runs = claim.checks[0], claim.checks[2]
    assert rates.assumption == (
        "share: half (ours, chosen because it gives the paper's result); scale: plain (ours, chosen because it gives the paper's result); holds in 1 of 6 readings"
    )
    assert runs.assumption == "", "it holds in every cell"
    assert claim.measured == "20.0 and 20.0"
    table = done.json["claims"][0]["tables"][0]
    assert [row[:3] for row in table["rows"]] == [
        ["quarter", "plain", "1 of 3"],
        ["quarter", "tenfold", "1 of 3"],
        ["half", "plain", "3 of 3"],
        ["half", "tenfold", "1 of 3"],
        ["most", "plain", "1 of 3"],
        ["most", "tenfold", "1 of 3"],
    ]
    assert table["rows"][0][3] == "contradicts: rate of a: 10, expected 20"
    assert (tmp_path / "fair" / "out" / done.json["claims"][0]["figures"][-1]["file"]).read_text(encoding="utf-8").startswith("<?xml")


def test_a_reading_that_another_source_supports_comes_first(tmp_path: Path) -> None:
    claim = judged(tmp_path / "fair", GRID, band=("exactly = 20\n", "low = 0\nhigh = 40\nsource = \"paper\"\n")).claims[0]
    # 0.25 is the paper's and 0.9 of its code; tenfold gives more than 40.
    assert claim.checks[0].assumption == "share: quarter (any other holds too); scale: plain (ours, chosen because it gives the paper's result); holds in 3 of 6 readings"


def test_readings_that_do_not_matter_assume_nothing(tmp_path: Path) -> None:
    claim = judged(tmp_path / "fair", GRID, band=("exactly = 20\n", "low = 1\nsource = \"paper\"\n")).claims[0]
    assert (claim.verdict, claim.assumptions) == ("confirmed", [])


def test_only_a_grid_without_a_cell_that_holds_contradicts(tmp_path: Path) -> None:
    claim = judged(tmp_path / "none", GRID, value=("exactly = 20", "exactly = 21")).claims[0]
    assert claim.verdict == "contradicted"
    assert claim.checks[0].tried == "all 6 combinations of share, scale"
    # A claim without readings assumes nothing and has tried nothing.
    plain = GRID[: GRID.index("[[reading]]")] + GRID[GRID.index("[[run]]") :].replace('readings = ["share", "scale"]\n', "").replace("{ share = 0 }", "{ share = 0, scale = 1 }")
    alone = judged(tmp_path / "alone", plain).claims[0]
    assert (alone.verdict, alone.assumptions, alone.checks[0].tried) == ("contradicted", [], "")
    # With a reading of its own a check contradicts nothing, whatever the grid says.
    own = judged(tmp_path / "own", GRID, value=("exactly = 20", 'exactly = 21\nassuming = "a rate of its own"')).claims[0]
    assert own.verdict == "undecided"
    assert own.checks[0].assumption.startswith("a rate of its own; share: ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('half = "ours"', 'half = "a guess"', "source of half is 'a guess' (expected paper, code, standard, ours, with details after a colon)"),
        (', most = "code: its simulator"', "", "source has quarter, half (expected a source for each value"),
        ('readings = ["share", "scale"]', 'readings = ["share"]', "[[reading]] scale: no [[run]] has it"),
        ('readings = ["share", "scale"]', 'readings = ["share", "scale", "size"]', "readings has 'size' (expected names of [[reading]]: share, scale)"),
        ('quick = ["plain", "tenfold"]', 'quick = ["twice"]', "quick has 'twice' (expected some of plain, tenfold)"),
        ('name = "scale"', 'name = "share"', "2 readings have this name"),
        ('title = "Rates"', 'title = "Rates"\nkind = "extension"', "an extension has no [[reading]]"),
    ],
)
def test_mistakes_in_readings_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(xoff.ScenarioError, match=re.escape(message)):
        judged(tmp_path / "wrong", GRID, wrong=(old, new))

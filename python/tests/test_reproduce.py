"""``xoff reproduce``: the same answer as command and as function, its folder, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import xoff
from conftest import ROOT, interrupt_soon
from xoff.lab import Claim, Paper, page

GFC = str(ROOT / "papers" / "gfc")


def command(*args: object) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "COLUMNS": "120"}
    return subprocess.run([sys.executable, "-m", "xoff", "reproduce", *map(str, args)], capture_output=True, text=True, env=environ)


def test_command_and_function_answer_alike(tmp_path: Path) -> None:
    seen: list[xoff.Step] = []
    result = xoff.reproduce(GFC, "thm4.1", out=tmp_path / "a", progress=seen.append)
    done = command(GFC, "thm4.1", "--out", tmp_path / "b", "--json")
    assert done.returncode == 0, done.stderr
    given: dict[str, Any] = json.loads(done.stdout)
    claim = given["claims"][0]
    # The command shows checks in words.
    of_python = {k: v for k, v in result.json["claims"][0].items() if k in claim}
    of_python["checks"] = [{k: check[k] for k in claim["checks"][0]} for check in of_python["checks"]]
    assert claim == of_python and len(claim["checks"]) == len(result.claims[0].checks) > 2
    assert given | {"claims": 0} == result.json | {"claims": 0} and result
    assert result.headline == "gfc: 1 confirmed"
    assert "thm4.1" in result._repr_html_() and seen[-1].done <= 1
    text = command(GFC, "thm4.1", "--out", tmp_path / "b").stdout
    assert "\n1 confirmed\n" in text and "index.html" in text
    for name in ("index.html", "claims.json", "gfc.md"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_claims_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = xoff.claims(GFC)
    monkeypatch.chdir(ROOT)
    assert xoff.claims("gfc") == listed
    assert listed[0].id == "ring" and len(listed) > 20 and not listed[0].verdict
    rows = json.loads(command(GFC, "--list", "--json").stdout)
    assert [r["id"] for r in rows] == [c.id for c in listed]
    text = command(GFC, "--list").stdout
    assert max(map(len, text.splitlines())) <= 120 and "thm5.1" in text


def test_the_page_shows_figures_and_escapes_texts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = xoff.reproduce(GFC, "fig05", out=out, markdown=tmp_path / "page.md", progress=False)
    page = (out / "index.html").read_text()
    assert page.count("<svg") == 1 and "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace("http://creativecommons.org", "")
    assert result.claims[0].figure == "figures/fig05.svg" and (tmp_path / "page" / "fig05.svg").read_text() == (out / "figures/fig05.svg").read_text()
    assert "](page/fig05.svg)" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("paper", "claims", "text"),
    [
        ("nowhere", None, "nowhere is not the folder of a paper: there is no paper.toml (expected a folder such as papers/gfc)"),
        (GFC, "fig99", "has no claim 'fig99' (expected one of ring"),
    ],
)
def test_bad_input_is_refused(paper: str, claims: str | None, text: str, tmp_path: Path) -> None:
    with pytest.raises(xoff.ScenarioError) as e:
        xoff.reproduce(paper, claims, out=tmp_path / "out")
    assert text in str(e.value)
    done = command(paper, *([claims] if claims else []), "--out", tmp_path / "out")
    assert done.returncode == 2 and not done.stdout and text in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_folder_belongs_to_one_paper(tmp_path: Path) -> None:
    (tmp_path / "mine.svg").write_text("mine")
    with pytest.raises(xoff.RunError, match="did not write: 'mine.svg'"):
        xoff.reproduce(GFC, "thm4.1", out=tmp_path)
    out = tmp_path / "out"
    xoff.reproduce(GFC, "thm4.1", out=out, progress=False)
    with pytest.raises(xoff.RunError, match="contains results of 'xoff reproduce gfc'"):
        xoff.reproduce(ROOT / "papers" / "tcd", "eq4", out=out)
    with pytest.raises(xoff.RunError, match="contains results of 'xoff reproduce gfc'"):
        xoff.run(ROOT / "scenarios/tutorial/ring.toml", out=out)
    xoff.reproduce(GFC, "thm4.1", out=out, progress=False)
    for page, text in (("no/such.md", "does not exist"), ("mine.md", "it is a file, not a folder")):
        (tmp_path / "mine").write_text("")
        with pytest.raises(xoff.RunError, match=text):
            xoff.reproduce(GFC, "thm4.1", out=out, markdown=tmp_path / page)


@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGTERM, False)])
def test_an_interrupt_leaves_what_was_judged(tmp_path: Path, number: signal.Signals, group: bool) -> None:
    out = tmp_path / "out"
    args = [sys.executable, "-m", "xoff", "reproduce", GFC, "thm4.1", "tab1", "--full", "--out", str(out), "--json"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as busy:
        while busy.poll() is None and not ((out / "claims.json").exists() and "thm4.1" in (out / "claims.json").read_text()):
            time.sleep(0.05)
        with pytest.raises(xoff.RunError, match="is in use by process"):
            xoff.reproduce(GFC, "thm4.1", out=out)
        time.sleep(0.5)
        # A terminal signals every process of the group, kill only one.
        (os.killpg if group else os.kill)(busy.pid, number)
        try:
            answer, error = busy.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(busy.pid, signal.SIGKILL)
            raise
    assert busy.returncode == 130, error
    given = json.loads(answer)
    assert (given["answer"], given["complete"], [c["id"] for c in given["claims"]]) == ("interrupted", False, ["thm4.1"])
    assert not json.loads((out / "claims.json").read_text())["complete"]


def test_an_interrupt_stops_the_function(tmp_path: Path) -> None:
    out = tmp_path / "out"
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        xoff.reproduce(GFC, "tab1", full=True, out=out)
    assert time.monotonic() - started < 20


PAPER = 'title = "<script>alert(1)</script>"\nclaims = ["one"]\n'
CLAIM = """
title = "One"
paper = "It is three."
band = "Three."
measured = "{three:.0f}"

[[run]]
function = "count"

[[check]]
what = "the value"
value = "three"
near = 3
within = 0.1
"""
METRICS = """
from pathlib import Path
from . import beside

def count(**given):
    print("counting")
    return {"three": int(Path(beside.__file__).with_name("data").joinpath("n.txt").read_text()) + beside.more()}

def three(r):
    return r.runs[0]["three"]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "data").mkdir(parents=True)
    files = {"paper.toml": PAPER, "one.toml": CLAIM, "metrics.py": METRICS, "beside.py": "from .below import more\n", "below.py": "def more():\n    return 0\n"}
    for name, text in {**files, "data/n.txt": "3"}.items():
        (folder / name).write_text(text)
    return folder


def test_what_a_claim_prints_is_no_part_of_the_answer(mine: Path, tmp_path: Path) -> None:
    done = command(mine, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["claims"][0]["measured"] == "3"
    assert "counting" in done.stderr
    assert "<script>alert" not in (tmp_path / "out" / "mine.md").read_text() + (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize(("file", "text"), [("data/n.txt", "4"), ("below.py", "def more():\n    return 1\n")])
def test_a_function_runs_again_if_what_it_reads_has_changed(mine: Path, tmp_path: Path, file: str, text: str) -> None:
    out = tmp_path / "out"
    assert xoff.reproduce(mine, out=out, progress=False)
    (mine / file).write_text(text)
    assert xoff.reproduce(mine, out=out, progress=False).claims[0].measured == "4"


def test_results_below_the_folder_are_no_input(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert xoff.reproduce(mine, out=mine / "out" / "results", progress=False)
    monkeypatch.setattr("xoff.lab.runs._call", lambda *_: pytest.fail("a function was called again"))
    assert xoff.reproduce(mine, out=mine / "out" / "results", progress=False)


@pytest.mark.parametrize(
    ("file", "old", "new", "texts"),
    [
        ("one.toml", "[[run]]\n", "[[run]]\nset = { three = 9 }\n", ["one.toml", "returns 'three'"]),
        ("metrics.py", "def three(r):\n", "def three(r):\n    return 1 / 0\n", ["one.toml", "metrics.py:", "division by zero"]),
        ("metrics.py", "def count", "def kount", ["one.toml", "count"]),
        ("metrics.py", "def three", "def three(", ["one.toml", "SyntaxError"]),
        ("one.toml", 'what = "the value"', "", ["one.toml", "what"]),
        ("one.toml", "within = 0.1", "", ["one.toml", "within"]),
        ("one.toml", "[[check]]", "[[check", ["one.toml", "line 10"]),
        ("paper.toml", PAPER, "", ["paper.toml", "title"]),
        ("paper.toml", '"one"', '"one", "one"', ["paper.toml", "each once"]),
        ("paper.toml", "claims", 'name = "../x"\nclaims', ["paper.toml", "name '../x'"]),
        ("paper.toml", '["one"]', '["../mine/one"]', ["paper.toml", "claim '../mine/one'"]),
    ],
)
def test_a_mistake_in_a_folder_is_named_without_a_traceback(mine: Path, tmp_path: Path, file: str, old: str, new: str, texts: list[str]) -> None:
    given = (mine / file).read_text()
    assert old in given
    (mine / file).write_text(given.replace(old, new, 1))
    done = command(mine, "--out", tmp_path / "out")
    shown = "".join(c for c in done.stderr.replace("counting", "") if c not in "│|\n ")
    assert done.returncode == 2 and "Traceback" not in done.stderr and "pipinstall" not in shown, done.stderr
    assert all(text.replace(" ", "") in shown for text in texts), done.stderr


def test_infinity_is_in_no_band(mine: Path, tmp_path: Path) -> None:
    (mine / "metrics.py").write_text(METRICS.replace('return r.runs[0]["three"]', "return float('inf')"))
    (mine / "one.toml").write_text(CLAIM.replace("near = 3\nwithin = 0.1", "low = 1"))
    assert xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0].verdict == "undecided"


def test_markdown_replaces_nothing_but_its_own_page(mine: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "out").mkdir()
    for taken in (mine / "one.toml", tmp_path / "out" / "page.md"):
        with pytest.raises(xoff.RunError, match=r"ends in \.md|has a page already"):
            xoff.reproduce(mine, out=tmp_path / "out", markdown=taken, progress=False)
    page.write_text("mine")
    with pytest.raises(xoff.RunError, match="not a page of this paper"):
        xoff.reproduce(mine, out=tmp_path / "out", markdown=page, progress=False)
    assert page.read_text() == "mine" and (mine / "one.toml").read_text() == CLAIM
    page.unlink()
    for _ in range(2):
        xoff.reproduce(mine, out=tmp_path / "out", markdown=page, progress=False)


def test_modules_of_the_present_folder_are_not_ours(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    args = [str(Path(sys.executable).with_name("xoff")), "reproduce", str(mine), "--list"]
    assert subprocess.run(args, cwd=tmp_path, env=environ, capture_output=True, check=False).returncode == 0


RUN = '[[run]]\nfunction = "count"\n'
CHECK = 'what = "the value"\n'


@pytest.mark.parametrize(
    ("file", "old", "new", "texts"),
    [
        ("one.toml", CHECK, f'{CHECK}unit = "Gb/s"\n', ["the check 'the value': unknown unit 'Gb/s' (expected bytes, bit/s, ps, s, fraction, or a word", "'bit/s' is meant"]),
        ("one.toml", CHECK, f'{CHECK}unit = "KB"\n', ["unknown unit 'KB'", "'bytes' is meant"]),
        ("one.toml", CHECK, f'{CHECK}unit = "%"\n', ["unknown unit '%'", "values are shares of 1"]),
        ("one.toml", "near = 3\n", "", ["within without near (expected near"]),
        ("one.toml", "within = 0.1", "within = 0.1\noff = 1", ["near needs within (a share of it) or off (a distance), and not both"]),
        ("one.toml", "near = 3\nwithin = 0.1", "low = 4\nhigh = 3", ["low 4 is above high 3"]),
        ("one.toml", "near = 3\nwithin = 0.1", "none = false", ["none is false (expected true, or no such key)"]),
        ("one.toml", "within = 0.1", "within = -0.1", ["within is -0.1 (expected 0 or more)"]),
        ("one.toml", "near = 3", "near = true", ["near is true (expected a finite number, or the name of a metric)"]),
        ("one.toml", "near = 3", 'near = "tree"', ["metrics.py has no metric 'tree' (did you mean three?)"]),
        ("one.toml", "within = 0.1", 'within = 0.1\nsource = "mine"', ["source is 'mine' (expected one of paper, around"]),
        ("one.toml", "within = 0.1", "within = 0.1\npossible = 3", ["possible is 3 (expected two numbers"]),
        ("one.toml", "within = 0.1", 'within = 0.1\nwhen = "nothing"', ["has no metric 'nothing'"]),
        ("one.toml", 'value = "three"', 'value = "four"', ["the check 'the value': metrics.py has no metric 'four'"]),
        ("one.toml", 'value = "three"', 'value = "three of"', ["'three of' (expected the name of a metric, with keys in brackets)"]),
        ("one.toml", 'value = "three"', 'each = { n = [3] }\nvalue = "of_{n}"', ["has no metric 'of_3'"]),
        ("one.toml", "{three:.0f}", "{tree:.0f}", ["measured: metrics.py has no metric 'tree'"]),
        ("one.toml", "{three:.0f}", "{three:byte}", ["unknown format 'byte' (expected bytes, rate, time"]),
        ("one.toml", "{three:.0f}", "{three", ["measured:", "expected '}'"]),
        ("one.toml", 'title = "One"', "title = 1", ["title is 1 (expected a text)"]),
        ("one.toml", 'title = "One"', 'title = "One"\nnotes = "one"', ["notes is 'one' (expected a list of texts"]),
        ("one.toml", 'title = "One"', 'title = "One"\nmodule = "metric"', ["one.toml: there is no", "mine/metric.py (expected a Python file"]),
        ("one.toml", "[[run]]", "[run]", ["run is {'function': 'count'} (expected sections [[run]])"]),
        ("one.toml", RUN, f"{RUN}seeds = 0\n", ["seeds is 0 (expected a number of 1 or more, or a list of numbers)"]),
        ("one.toml", RUN, f'{RUN}grid = {{ "n" = 3 }}\n', ["grid is {'n': 3} (expected a table of lists)"]),
        ("one.toml", RUN, f"{RUN}full = {{ sets = 1 }}\n", ["full has an unknown key 'sets'"]),
        ("one.toml", RUN, f'{RUN}scenario = "ring.toml"\n', ["needs scenario or function, and not both"]),
        ("one.toml", RUN, '[[run]]\nscenario = "ring.toml"\n', ["there is no scenario", "mine/ring.toml (expected a file, relative to the folder)"]),
        ("one.toml", RUN, '[[run]]\nfunction = "kount"\n', ["function: metrics.py has no function 'kount' (did you mean count?)"]),
        ("one.toml", RUN, f"{RUN}{RUN}name = ''\n", ["2 sections [[run]] have the name ''"]),
        ("one.toml", RUN, f'{RUN}cases = "three_of"\n', ["cases: metrics.py has no function 'three_of'"]),
        ("one.toml", RUN, '[[run]]\nfunction = "three"\n', ["function: three in metrics.py: missing a required argument: 'r' (expected a function of no arguments)"]),
        ("metrics.py", "def three(r)", "def three()", ["three in metrics.py: too many positional arguments (expected a function of results)"]),
        ("metrics.py", "from . import beside", "from . import aside", ["metrics.py:3", "ImportError"]),
        ("one.toml", "within = 0.1", 'within = 0.1\n[[figure]]\ndraw = "fig"', ["one.toml: there is no", "mine/figures.py (expected a Python file"]),
        ("one.toml", "within = 0.1", 'within = 0.1\n[[figure]]\ntitle = "a"', ["[[figure]] 1: missing text 'draw'"]),
        ("one.toml", "within = 0.1", 'within = 0.1\n[[table]]\nrows = "rows"', ["[[table]]: metrics.py has no metric 'rows'"]),
        ("one.toml", "near = 3\nwithin = 0.1", "low = inf", ["low is inf (expected a finite number"]),
        ("one.toml", "near = 3\nwithin = 0.1", "high = nan", ["high is nan (expected a finite number"]),
        ("one.toml", "near = 3", "near = inf", ["near is inf (expected a finite number"]),
        ("one.toml", "near = 3", 'near = "1e999"', ["'1e999' (expected a finite number"]),
        ("one.toml", "near = 3", 'near = "1.2.3"', ["'1.2.3' (expected the name of a metric"]),
        ("one.toml", "within = 0.1", "within = inf", ["within is inf (expected a finite number"]),
        ("one.toml", "within = 0.1", 'within = 0.1\nprints = "run"', ["prints without paper"]),
        ("one.toml", "within = 0.1", "within = 0.1\nerratum = 4", ["erratum without paper"]),
        ("one.toml", "near = 3\nwithin = 0.1", "low = 1\npaper = 3\nerratum = 4", ["erratum without near or exactly"]),
        ("one.toml", "within = 0.1", 'within = 0.1\ntried = "fifo"', ["tried without assuming"]),
        ("one.toml", "within = 0.1", 'within = 0.1\npaper = 3\nprints = "median"', ["prints is 'median' (expected mean or run)"]),
        ("one.toml", "within = 0.1", "within = 0.1\npaper = inf", ["paper is inf (expected a finite number"]),
        ("one.toml", "within = 0.1", "within = 0.1\npossible = [100, 1]", ["possible: 100 is above 1 (expected the smallest value"]),
        ("one.toml", "within = 0.1", "within = 0.1\npossible = [nan, 1]", ["possible is [nan, 1] (expected two numbers"]),
        ("one.toml", "within = 0.1", 'within = 0.1\nassuming = "lien"', ["assuming is 'lien', which is no name in the assumptions of paper.toml"]),
        ("one.toml", CHECK, f'{CHECK}unit = "Gbit"\n', ["unknown unit 'Gbit'", "'bytes' is meant"]),
        ("one.toml", CHECK, f'{CHECK}unit = "{{u}}"\neach = {{ u = ["Mb/s"] }}\n', ["unknown unit 'Mb/s'"]),
        ("one.toml", "near = 3\nwithin = 0.1", "near = 1e6\nwithin = 1.5\npaper = 50", ["near is 1e+06, but paper is 50 (expected a number of that size"]),
        ("one.toml", "near = 3\nwithin = 0.1", "low = 4\npaper = 3", ["paper is 3, which is not in the band from 4 to inf"]),
        ("paper.toml", '"one"', '"one", "six"', ["paper.toml: claims: 'six': there is no", "mine/six.toml (expected a file for each claim)"]),
        ("one.toml", CLAIM[CLAIM.index("[[check]]") :], "", ["has no [[check]]"]),
        ("paper.toml", "claims =", "assumptions = 3\nclaims =", ["assumptions is 3 (expected a table of texts)"]),
    ],
)  # fmt: skip
def test_a_claim_that_is_known_to_be_wrong_runs_nothing(mine: Path, tmp_path: Path, file: str, old: str, new: str, texts: list[str]) -> None:
    # The claim is the second one: the first one must not run either.
    (mine / "zero.toml").write_text(CLAIM.replace("count", "calls").replace("three", "of_zero"))
    (mine / "paper.toml").write_text(PAPER.replace('["one"]', '["zero", "one"]'))
    given = (mine / file).read_text()
    assert old in given
    (mine / file).write_text(given.replace(old, new, 1))
    with (mine / "metrics.py").open("a") as metrics:
        metrics.write("\ndef calls(**given):\n    Path(__file__).with_name('ran').touch()\n    return {'three': 3}\ndef of_zero(r):\n    return 3\n")
    with pytest.raises(xoff.ScenarioError) as e:
        xoff.reproduce(mine, out=tmp_path / "out", progress=False)
    assert str(mine) in str(e.value) and all(text in str(e.value) for text in texts), str(e.value)
    assert not (mine / "ran").exists() and not (tmp_path / "out").exists()


def test_the_page_keeps_the_claims_of_earlier_calls(mine: Path, tmp_path: Path) -> None:
    (mine / "two.toml").write_text(CLAIM.replace('title = "One"', 'title = "Two"') + '[[figure]]\ndraw = "fig"\n')
    (mine / "three.toml").write_text(CLAIM)
    (mine / "figures.py").write_text("from xoff.lab import draw\n\ndef fig(r):\n    return draw.panels()[0]\n")
    (mine / "paper.toml").write_text(PAPER.replace('["one"]', '["one", "two", "three"]'))
    out, page = tmp_path / "out", tmp_path / "page.md"

    def pages(claims: str, **more: Any) -> tuple[list[str], str]:
        answer = xoff.reproduce(mine, claims, out=out, markdown=page, progress=False, **more)
        assert [c.id for c in answer.claims] == [claims] and answer.complete
        texts = [(out / "mine.md").read_text(), page.read_text(), (out / "index.html").read_text()]
        assert len({text.count("not run now") for text in texts}) == 1 and texts[2].count("<svg") == texts[0].count("](figures/two.svg)") == 1
        return [line.split("`")[1] for line in texts[0].splitlines() if line.startswith("| `")], texts[0]

    shown, text = pages("two")
    assert shown == ["two"] and "not run now" not in text
    # In the order of the paper.
    shown, text = pages("one", seed=7)
    assert shown == ["one", "two"] and "## two: Two\n\n**confirmed (not run now: quick, seed 1)**" in text
    shown, text = pages("one")
    assert shown == ["one", "two"] and text.count("not run now") == 2 and (tmp_path / "page" / "two.svg").exists()
    (mine / "below.py").write_text("def more():\n    return 0  # the same\n")
    shown, text = pages("one")
    assert shown == ["one", "two"] and "(not run now: quick, seed 1; its files have changed since)" in text
    # A claim whose file is gone leaves the page, and so does one whose figure is gone.
    xoff.reproduce(mine, "three", out=out, progress=False)
    (mine / "three.toml").unlink()
    (out / "figures" / "two.svg").unlink()
    xoff.reproduce(mine, "one", out=out, progress=False)
    assert json.loads((out / "claims.json").read_text())["earlier"] == []


READS = """
from pathlib import Path

def count():
    return {{"three": int((Path(__file__).parent / {path}).read_text())}}

def three(r):
    return r.runs[0]["three"]
"""


@pytest.mark.parametrize(("path", "file"), [('"factor.csv"', "factor.csv"), ('"data/n.dat"', "data/n.dat"), ('"data" / "link" / "n"', "../linked/n"), ('"other.toml"', "other.toml"),
    ('"../shared.csv"', "../shared.csv"), ('"../shared" / "n.csv"', "../shared/n.csv"), ('"data/n.py"', "data/n.py")])  # fmt: skip
def test_every_file_of_data_is_an_input(mine: Path, tmp_path: Path, path: str, file: str) -> None:
    for below in ("linked", "shared"):
        (tmp_path / below).mkdir()
    (mine / "data" / "link").symlink_to(tmp_path / "linked")
    (mine / "metrics.py").write_text(READS.format(path=path))
    for text in ("3", "4"):
        (mine / file).write_text(text)
        claim = xoff.reproduce(mine, out=mine / "out", markdown=mine / "page.md", progress=False).claims[0]
        assert claim.measured == text
    assert len(list((mine / "out" / "functions").iterdir())) == 2


def test_a_changed_module_of_a_subfolder_is_loaded_again(mine: Path, tmp_path: Path) -> None:
    (mine / "metrics.py").write_text("from .data.n import N\n\ndef count():\n    return {'three': N}\n" + METRICS[METRICS.index("\ndef three") :])
    for n in (3, 42):
        (mine / "data" / "n.py").write_text(f"N = {n}\n")
        assert xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0].measured == str(n)


def test_scenarios_are_files_of_a_claim(mine: Path, tmp_path: Path) -> None:
    (mine / "one.toml").write_text(CLAIM.replace(RUN, f'{RUN}[[run]]\nname = "a"\nonly = "full"\nscenario = "../a.toml"\n[[run]]\nname = "b"\nonly = "full"\nscenario = "b.toml"\n'))
    (tmp_path / "a.toml").write_text('trace = "c.csv"')
    (tmp_path / "c.csv").write_text("")
    (mine / "b.toml").write_text("")
    files = Claim(Paper.read(mine), "one").files()
    assert {"../a.toml", "../c.csv", "b.toml", "one.toml", "below.py", "data/n.txt"} <= files.keys()


def test_a_result_of_files_that_changed_meanwhile_is_not_kept(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine / "metrics.py").write_text(METRICS.replace("    print(", "    import os\n    if 'CHANGE' in os.environ: Path(beside.__file__).with_name('data').joinpath('n.txt').write_text('4')\n    print("))
    monkeypatch.setenv("CHANGE", "1")
    with pytest.raises(xoff.RunError, match="data/n.txt changed while it ran, so its result is not kept"):
        xoff.reproduce(mine, out=tmp_path / "out", progress=False)
    assert not list((tmp_path / "out" / "functions").iterdir()) and not json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]
    monkeypatch.delenv("CHANGE")
    (mine / "data" / "n.txt").write_text("3")
    assert xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0].measured == "3"


@pytest.mark.parametrize("text", ["", '{"status": "do', "[]", '{"status": "done", "values": [], "tables": [["no", ""]]}'])
def test_a_kept_result_that_cannot_be_read_is_made_again(mine: Path, tmp_path: Path, text: str) -> None:
    xoff.reproduce(mine, out=tmp_path / "out", progress=False)
    (kept,) = (tmp_path / "out" / "functions").iterdir()
    kept.write_text(text)
    with pytest.warns(xoff.ScenarioWarning, match=f"{kept.name} cannot be read; the function is called again"):
        assert xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0].measured == "3"


def test_a_recorded_verdict_says_its_mode_and_that_it_is_old(mine: Path, tmp_path: Path) -> None:
    (mine / "two.toml").write_text(CLAIM)
    (mine / "paper.toml").write_text(PAPER.replace('["one"]', '["one", "two"]'))
    (mine / "README.md").write_text(f"{page.SUMMARY}\n{page.END}\n")

    def rows(claim: str) -> list[str]:
        xoff.reproduce(mine, claim, out=tmp_path / "out", record=True, progress=False)
        return [line for line in (mine / "README.md").read_text().splitlines() if line.startswith("| [")]

    rows("one")
    assert ["| confirmed (quick runs) |" in row for row in rows("two")] == [True, True]
    (mine / "one.toml").write_text(CLAIM.replace("near = 3", "near = 5"))
    one, two = rows("two")
    assert "confirmed (its files have changed since)" in one and "changed" not in two
    one, two = rows("one")
    assert "contradicted (quick runs)" in one and "changed" not in one + two


def test_quick_values_do_not_replace_recorded_full_ones(mine: Path, tmp_path: Path) -> None:
    xoff.reproduce(mine, out=tmp_path / "out", full=True, record=True, progress=False)
    kept = (mine / "results.json").read_text()
    done = command(mine, "--out", tmp_path / "other", "--record")
    shown = " ".join(done.stderr.replace("│", "").split())
    assert done.returncode == 2 and "one: recorded of full runs" in shown and "add --full" in shown, shown
    assert (mine / "results.json").read_text() == kept and not (tmp_path / "other").exists()
    (mine / "results.json").write_text(kept[:99])
    with pytest.raises(xoff.RunError, match=r"results.json: .*restore it, or delete it"):
        xoff.reproduce(mine, out=tmp_path / "out", record=True, progress=False)


def test_a_full_disk_leaves_no_part(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, to: Path) -> None:
        raise OSError(28, "No space left on device")

    xoff.reproduce(mine, out=tmp_path / "out", progress=False)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(xoff.RunError, match=r"results.json cannot be written: No space left on device \(make room"):
        xoff.reproduce(mine, out=tmp_path / "out", record=True, progress=False)
    assert not list(mine.glob("*.part"))


FIGURE = '[[figure]]\ndraw = "fig"\n'
THREE = 'return r.runs[0]["three"]'


@pytest.mark.parametrize(
    ("file", "old", "new", "texts"),
    [
        ("metrics.py", THREE, "return 1 / 0", ["the check 'the value': metrics.py:10: ZeroDivisionError"]),
        ("metrics.py", THREE, "return 'many'", ["the check 'the value': metrics.py:9: three is 'many', of type str (expected a number, a Mean or a Share)"]),
        ("metrics.py", THREE, "return [3]", ["the check 'the value': metrics.py:9: three is [3], of type list (expected a number"]),
        ("metrics.py", THREE, 'raise SystemExit(3)', ["metrics.py:10: sys.exit(3)"]),
        ("metrics.py", "from . import beside", "from . import beside\nraise SystemExit(3)", ["metrics.py:4: sys.exit(3)"]),
        ("metrics.py", THREE, 'return r.runs[0]["three"] * 2', ["the check 'the value': metrics.py:10: TypeError", "'three' of the run seed 1 is None", "infinite"]),
        ("metrics.py", "    print(", "    return 3\n    print(", ["[[run]]: a run failed", "metrics.py:5: TypeError: count returned 3 (expected a mapping from names"]),
        ("metrics.py", "    print(", "    return {'three': [3]}\n    print(", ["[[run]]: a run failed", "metrics.py:5: TypeError: three: a measure is a number"]),
        ("metrics.py", "    print(", "    {}['x']\n    print(", ["[[run]]: a run failed", "metrics.py:6: KeyError: 'x'"]),
        ("one.toml", "within = 0.1\n", 'within = 0.1\n[[table]]\nrows = "three"\n', ["[[table]] three: metrics.py:9: three is 3 (expected a Polars frame, or a list of mappings)"]),
        ("one.toml", "within = 0.1\n", f"within = 0.1\n{FIGURE}", ["[[figure]] fig: figures.py:1: fig returned 3 (expected a Matplotlib figure)"]),
        ("one.toml", CHECK, f'{CHECK}each = {{ n = "three" }}\n', ["the check 'the value': each: metrics.py:9: three is 3 (expected a list)"]),
        ("one.toml", RUN, f'{RUN}cases = "three_of"\n', ["[[run]]: metrics.py:12: three_of returned 3 (expected a mapping from names to settings)"]),
        ("one.toml", "{three:.0f}", "{text:.0f}", ["measured: 'many' in the format '.0f'"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["mine", "e"])
def test_an_error_of_a_function_has_file_part_and_line(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str, old: str, new: str, texts: list[str]) -> None:
    (mine / "figures.py").write_text("def fig(r):\n    return 3\n")
    given = (mine / file).read_text()
    assert old in given
    (mine / file).write_text(given.replace(old, new, 1))
    if "* 2" in new:
        (mine / "metrics.py").write_text((mine / "metrics.py").read_text().replace('"three": int(', '"three": float("inf") + int('))
    with (mine / "metrics.py").open("a") as metrics:
        metrics.write("\ndef three_of(r):\n    return 3\n\ndef text(r):\n    return 'many'\n")
    mine.rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((xoff.ScenarioError, xoff.RunError)) as e:
        xoff.reproduce(name, out=tmp_path / "out", progress=False)
    assert str(e.value).startswith(f"{name}/one.toml: ") and all(text in str(e.value) for text in texts), str(e.value)


@pytest.mark.parametrize("given", ['set = { "flow_contrl" = "pfc" }', 'grid = { "flow_contrl" = ["pfc"] }'])
def test_an_error_in_settings_names_the_claim(mine: Path, tmp_path: Path, ring: Path, given: str) -> None:
    (mine / "one.toml").write_text(CLAIM.replace(RUN, f'[[run]]\nscenario = "{ring}"\n{given}\n'))
    with pytest.raises(xoff.ScenarioError) as e:
        xoff.reproduce(mine, out=tmp_path / "out", progress=False)
    assert "plan:" not in str(e.value) and f"{mine}/one.toml:9: [[run]]: \"flow_contrl\": " in str(e.value), str(e.value)


def test_keys_of_a_check_reach_the_verdict(mine: Path, tmp_path: Path) -> None:
    """The paper prints 30 where its formula gives 3; a reading of ours, with and without others that were tried."""

    def verdict(keys: str) -> tuple[str, str]:
        (mine / "one.toml").write_text(CLAIM.replace("near = 3\nwithin = 0.1\n", keys))
        claim = xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0]
        return claim.verdict, claim.distance

    printed = "exactly = 30\npaper = 30\n"
    assert verdict(printed) == ("contradicted", "far: 0.1x")
    assert verdict(f"{printed}erratum = 3\n") == ("erratum", "far: 0.1x")
    assert verdict(f"{printed}erratum = 4\n")[0] == "contradicted"
    assert verdict(f'{printed}assuming = "a reading"\n')[0] == "undecided"
    assert verdict(f'{printed}assuming = "a reading"\ntried = "another"\n')[0] == "contradicted"
    assert verdict('near = 3\nwithin = 0.1\npaper = 3\nprints = "run"\n') == ("confirmed", "")

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
    assert result.headline == "gfc: 1 reproduced, 0 reproduced under assumption, 0 not reproduced"
    assert "thm4.1" in result._repr_html_() and seen[-1].done <= 1
    text = command(GFC, "thm4.1", "--out", tmp_path / "b").stdout
    assert "1 reproduced, 0 reproduced under assumption, 0 not reproduced" in text and "index.html" in text
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


def test_an_interrupt_leaves_what_was_judged(tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = [sys.executable, "-m", "xoff", "reproduce", GFC, "thm4.1", "tab1", "--full", "--out", str(out), "--json"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as busy:
        while busy.poll() is None and not ((out / "claims.json").exists() and "thm4.1" in (out / "claims.json").read_text()):
            time.sleep(0.05)
        with pytest.raises(xoff.RunError, match="is in use by process"):
            xoff.reproduce(GFC, "thm4.1", out=out)
        time.sleep(0.5)
        # As a terminal does: to every process of the group.
        os.killpg(busy.pid, signal.SIGINT)
        answer, error = busy.communicate(timeout=60)
    assert busy.returncode == 130, error
    given = json.loads(answer)
    assert (given["answer"], given["complete"], [c["id"] for c in given["claims"]]) == ("interrupted", False, ["thm4.1"])
    assert not json.loads((out / "claims.json").read_text())["complete"]
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
    assert xoff.reproduce(mine, out=tmp_path / "out", progress=False).claims[0].verdict == "not reproduced"


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

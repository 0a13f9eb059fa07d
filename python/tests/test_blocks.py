"""Blocks of Python and TOML in README and the pages run as they are printed, each page in a folder of its own.

Commands are run by crates/cli/tests/examples.rs, the pages of the tutorials by test_tutorials.py, docs/python.md by test_docs.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xoff
from conftest import ROOT

BLOCK = re.compile(r"^```(?P<kind>python|toml)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
# Run by other tests.
ELSEWHERE = {"docs/python.md", "docs/tutorials/operator.md", "docs/tutorials/researcher.md", "docs/tutorials/teacher.md"}
# By their first line: why they do not run here.
NOT_RUN = {
    "from dask.distributed import Client                        # pip install 'xoff[dask]'": "needs clusters; test_sweep.py has Dask on this machine",
    'xoff.run("web.toml", out="out/web", run__checkpoint="10min")     # killed': "a run that is killed; test_checkpoint.py has one",
    "import pandas as pd": "needs pandas, which neither xoff nor its tests install",
}
PAGES = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if BLOCK.search(p.read_text())]


def command(*args: str) -> None:
    """The command with a file of the page; an answer "no" is an answer."""
    done = subprocess.run([sys.executable, "-m", "xoff", *args], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr


def run_toml(code: str, folder: Path) -> None:
    """A plan of a sweep, a scenario, or a topology to which others add their traffic."""
    file = folder / "scenarios" / "sweeps" / "block.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    if "scenario = " in code:
        command("sweep", str(file), "--list")
    elif "[[flow]]" in code or "[[job]]" in code:
        command("run", str(file), "--out", "block")
    else:
        command("check", str(file))


@pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")
@pytest.mark.parametrize("page", [p for p in PAGES if str(p.relative_to(ROOT)) not in ELSEWHERE], ids=lambda p: p.stem)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tutorial", "fabric", "mechanisms", "testbed"):
        (tmp_path / "scenarios").mkdir(exist_ok=True)
        (tmp_path / "scenarios" / name).symlink_to(ROOT / "scenarios" / name)
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, Any] = {"__name__": page.name}
    for block in BLOCK.finditer(text):
        code, line = block["code"], text[: block.start("code")].count("\n")
        if why := NOT_RUN.get(code.splitlines()[0]):
            print(f"not run: {page.name}:{line + 1}: {why}")
        elif block["kind"] == "toml":
            run_toml(code, tmp_path)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), names)
    if page.name == "README.md":
        # What its comments promise.
        run, fixed = names["run"], names["fixed"]
        assert isinstance(run, xoff.Run) and run.deadlock == ["S1->S2", "S2->S3", "S3->S1"]
        assert run.verdict.headline == "deadlock at 2.795 ms, 0 frames lost"
        assert fixed.verdict.headline == "no deadlock, 0 frames lost" and fixed.flows.height == 3


def test_no_page_is_missed() -> None:
    names = {str(p.relative_to(ROOT)) for p in PAGES}
    assert names >= {"README.md", "docs/sweeps.md", "docs/imports.md"}
    first = {b["code"].splitlines()[0] for p in PAGES for b in BLOCK.finditer(p.read_text())}
    assert set(NOT_RUN) <= first
    for page in (p for p in PAGES if str(p.relative_to(ROOT)) not in ELSEWHERE):
        assert len(BLOCK.findall(page.read_text())) == len(re.findall(r"^```(?:python|toml)\b", page.read_text(), re.MULTILINE)), page

"""README and docs/tutorials: every step runs in the order of the page, in a folder like a checkout, and prints the output that the page shows.

A `sh` block is a shell script, a `python` block continues the previous one, and a `text` block after either is its output. A line `...` stands
for any lines: timings, or rows that a reader does not need. README has `console` blocks instead: each line `$ COMMAND` is a step, and the lines
up to the next one are its output. In the tutorials a `console` block is shown, not run: the installation, which other tests cover.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
STEP = re.compile(r"^```(?P<kind>sh|python)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
# README: a command behind `$ `, and its output.
CONSOLE = re.compile(r"^```console\n(?P<block>.*?)^```\n", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (?P<code>(?:.*\\\n)*.*\n)(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
# An answer "no" ends with 1; anything above is a mistake.
SHELL = "trap 'code=$?; [ $code -le 1 ] || exit $code' ERR\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A folder from which steps see the scenarios and do not write into them; the environment of its shell."""
    for name in ("scenarios", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "120", "NO_COLOR": "1"}


def matches(shown: str, printed: str) -> bool:
    """Whether a block is what was printed; a line ``...`` stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), printed) is not None


def test_a_block_with_dots_is_compared_line_by_line() -> None:
    printed = "a\nb\nc\n"
    assert all(matches(shown, printed) for shown in ("a\nb\nc\n", "a\n...\n", "...\nc\n", "a\n...\nc\n", "...\n", "...\na\nb\nc\n"))
    assert not any(matches(shown, printed) for shown in ("a\n", "...\nb\n", "b\n...\n", "", "a\n...\nb\n"))


@pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")
@pytest.mark.parametrize("page", PAGES, ids=[p.stem for p in PAGES])
def test_every_step_runs_as_printed(page: Path, checkout: dict[str, str]) -> None:
    text = page.read_text()
    steps = list(STEP.finditer(text))
    assert len(steps) >= 5 and text.count("\n```sh\n") + text.count("\n```python\n") == len(steps), "a block that is not read"
    names: dict[str, Any] = {"__name__": page.name}
    wrong, blessed = [], text
    for step in steps:
        line = text[: step.start("code")].count("\n") + 1
        if step["kind"] == "sh":
            done = subprocess.run(["bash", "-c", SHELL + step["code"]], env=checkout, capture_output=True, text=True, timeout=300)
            assert done.returncode in (0, 1), f"{page.name}:{line}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
            printed = done.stdout
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * (line - 1) + step["code"], str(page), "exec"), names)
            printed = out.getvalue()
        printed = "".join(f"{row.rstrip()}\n" for row in printed.splitlines())
        shown = step["printed"]
        if shown is not None and not matches(shown, printed):
            wrong.append(f"{page.name}:{line}: expected\n{shown}\nprinted\n{printed}")
            # What has dots is chosen by hand.
            if not re.search(r"^\.\.\.$", shown, re.MULTILINE):
                blessed = blessed.replace(step[0], step[0].replace(f"```text\n{shown}```", f"```text\n{printed}```"))
    if os.environ.get("XOFF_TEST_BLESS"):
        page.write_text(blessed)
    assert not wrong, "\n".join(wrong)


def differences(page: str, environment: dict[str, str]) -> list[str]:
    """The commands of a page's console blocks whose output is not the one shown."""
    wrong = []
    for block in CONSOLE.finditer(page):
        for step in COMMAND.finditer(block["block"]):
            done = subprocess.run(["bash", "-c", step["code"]], env=environment, capture_output=True, text=True, timeout=300)
            assert done.returncode in (0, 1), f"{step['code']}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
            printed = "".join(f"{row.rstrip()}\n" for row in done.stdout.splitlines())
            if not matches(step["printed"], printed):
                wrong.append(f"{step['code']}expected\n{step['printed']}printed\n{printed}")
    return wrong


def test_readme_shows_what_its_commands_print(checkout: dict[str, str]) -> None:
    readme = (ROOT / "README.md").read_text()
    commands = [step["code"] for block in CONSOLE.finditer(readme) for step in COMMAND.finditer(block["block"])]
    assert len(commands) >= 6 and readme.count("\n$ ") == len(commands), commands
    wrong = differences(readme, {**checkout, "COLUMNS": "100"})
    assert not wrong, "\n".join(wrong)


def test_a_changed_digit_in_readme_is_found(checkout: dict[str, str]) -> None:
    block = "```console\n$ echo 12 lossless ports\n12 lossless ports\n```\n"
    assert differences(block, checkout) == []
    assert len(differences(block.replace("\n12", "\n13"), checkout)) == 1


def test_the_pages_are_these() -> None:
    assert [p.stem for p in PAGES] == ["operator", "paper", "researcher", "teacher"]

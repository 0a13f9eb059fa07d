"""docs/python.md: every example runs and prints the output below it; the page has every public name."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xoff
from conftest import ROOT

PAGE = ROOT / "docs" / "python.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```\n)?", re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which examples see the checkout and do not write into it."""
    for name in ("scenarios", "crates", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")
def test_every_example_prints_what_stands_below_it(checkout: Path) -> None:
    text = PAGE.read_text()
    examples = list(EXAMPLE.finditer(text))
    assert len(examples) >= 10 and text.count("```python") == len(examples)
    names: dict[str, Any] = {"__name__": "python.md"}
    bless = os.environ.get("XOFF_TEST_BLESS")
    blessed = text
    for example in examples:
        code, printed = example["code"], example["printed"]
        line = text[: example.start("code")].count("\n") + 1
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), names)
        if bless and printed is not None:
            blessed = blessed.replace(example[0], example[0].replace(f"```text\n{printed}```", f"```text\n{out.getvalue()}```"))
        else:
            assert out.getvalue() == (printed or ""), f"{PAGE}:{line}"
    if bless:
        PAGE.write_text(blessed)
    assert {p.name for p in checkout.glob("*.png")} == {"ring.png", "websearch.png", "compared.png"}


def test_every_public_name_is_described() -> None:
    text = PAGE.read_text()
    missing = [name for name in xoff.__all__ if not re.search(rf"\b{re.escape(name)}\b", text) and name not in WITHOUT_A_PLACE]
    assert not missing, f"docs/python.md does not mention {missing}"
    for name in xoff.__all__:
        assert name == "__version__" or name == "Message" or getattr(xoff, name).__doc__, f"xoff.{name} has no docstring"
    hooks = [n for p in (xoff.Receiver, xoff.Sender, xoff.RateControl, xoff.LoadBalancing) for n, v in vars(p).items() if callable(v) and not n.startswith("_")]
    assert len(hooks) >= 15 and all(f"`{h}" in text or f"def {h}(" in text for h in hooks)


WITHOUT_A_PLACE = ("__version__", "Answer", "Slowdown", "Summary", "ScenarioNotFoundError", "Problem")


USER = '''
import functools
import random

import polars as pl
import xoff


class Gate(xoff.Sender):
    """Lets three of four frames go at once."""

    def __init__(self, link: xoff.Link) -> None:
        self.link = link

    def gate(self, now_ps: int, frame_bytes: int) -> bool | int:
        return True

    def on_message(self, now_ps: int, message: xoff.Message) -> None:
        reveal: int | xoff.Pause = message


class Buffer(xoff.Receiver):
    def on_arrival(self, now_ps: int, occupancy: xoff.Occupancy, frame_bytes: int) -> xoff.Message | None:
        return xoff.Pause(65_535) if occupancy.bytes > 1000 else None


class Law:
    def receiver(self, link: xoff.Link) -> xoff.Receiver:
        return Buffer()

    def sender(self, link: xoff.Link) -> xoff.Sender:
        return Gate(link)


class Window(xoff.RateControl):
    def __init__(self, share: float, flow: xoff.FlowFacts) -> None:
        self.random = random.Random(flow.seed)
        self.bps = flow.line_bps * share

    def rate(self) -> float:
        return self.bps

    def on_ack(self, now_ps: int, ack: xoff.Ack, timers: xoff.Timers) -> None:
        timers.arm(0, now_ps + ack.rtt_ps)


class Shortest(xoff.LoadBalancing):
    def pick(self, now_ps: int, frame: xoff.Arrival, hops: xoff.NextHops) -> int:
        return min(range(len(hops)), key=lambda hop: hops.waiting_bytes[hop])


def user(path: str) -> None:
    run: xoff.Run = xoff.run(path, flow_control=Law, load_balancing=Shortest, rate_control=functools.partial(Window, 0.5), seed=3, switch__discipline="fifo")
    other = xoff.run(path, {"run.seed": 3}, flow_control="pfc", rate_control={"kind": "dcqcn"})
    frame: pl.DataFrame = run.compare(other).measures
    table: pl.DataFrame = run.slowdown([0, 1000])
    headline: str = xoff.check("fat-tree:k=4", fail=["A1-C1"]).headline
    exact: int | float | str = xoff.plan(rate="100Gbps", length="5m")["XOFF"]
    ports: list[str] = [p.switch for p in xoff.plan(network="sonic:configs/").ports]
    held: int = run.explain("S1->S2", "1ms").steps[0].held_bytes
    victims: list[str] = [v.src for v in xoff.tree(path, 1_000_000).victims]
    judged: bool = bool(xoff.reproduce("papers/gfc", out="x"))
    titles: list[str] = [e.title for e in xoff.claims("papers/gfc")]
    try:
        xoff.import_network("sonic", ["a", "b"], out="n.toml")
    except xoff.ScenarioError as e:
        place: tuple[str | None, int | None, int | None, str] = (e.file, e.line, e.column, e.hint)
'''

WRONG = '''
import xoff

xoff.check("fat-tree", fail_any="two")
xoff.run("a.toml", engine="fast")
xoff.run("a.toml").plot(kind="pie")
xoff.plan(rate="1Gbps").ports
'''


def test_the_package_and_a_users_program_pass_mypy_strict(tmp_path: Path) -> None:
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(USER)
    wrong.write_text(WRONG)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")

    environ = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    options = ["--cache-dir", str(tmp_path / "cache"), "--config-file", str(tmp_path / "mypy.ini")]
    # One call for the package and both: most of its time goes into reading Polars.
    files = [str(ROOT / "python" / "xoff"), str(good), str(wrong)]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, *files], capture_output=True, text=True, env=environ, cwd=ROOT)
    assert re.findall(r"(\w+)\.py:(\d+): error", done.stdout) == [("wrong", str(n)) for n in (4, 5, 6, 7)], done.stdout

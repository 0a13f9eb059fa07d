"""Errors have the command line's words."""

import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import xoff
from conftest import ROOT, interrupt_soon


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({"flow_control": "gfc"}, "unknown kind 'gfc' (did you mean 'gfc-buffer'? known: none, pfc, cbfc, "),
        ({"switch__buffr": "1MB"}, "keyword switch.buffr=1MB: unknown key 'buffr' in [switch] (did you mean 'buffer'?)"),
        ({"switch__buffer": 5}, "keyword switch.buffer=5: buffer: '5' has no unit (expected a size with a unit, "),
        ({"probes__queues": ["S1->S9"]}, "queues: there is no node 'S9' (in port 'S1->S9') (name a port by its two ends, such as S1:S2 or \"S1->S2\")"),
        ({"flow_control.xoff": "100KB", "flow_control.xon": "200KB"}, "xon"),
    ],
)
def test_a_wrong_setting(ring: Path, overrides: dict[str, Any], text: str) -> None:
    with pytest.raises(xoff.ScenarioError) as e:
        xoff.run(ring, **overrides)
    assert text in str(e.value)


def test_a_mistake_in_a_file_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[topology]\nkind = "ring"\nrate = "10 parsec"\n')
    with pytest.raises(ValueError) as e:
        xoff.run(file)
    assert str(e.value).startswith(f"{file}:3:8: ")


@pytest.mark.parametrize("words", [["run", "{file}"], ["run", "{ring}", "--set", "run.title=\x1b[31m"], ["view", "no\x1b[31m"]])
def test_no_byte_of_an_input_commands_the_terminal(ring: Path, tmp_path: Path, words: list[str]) -> None:
    """In a comment that is drawn next to the mistake, in the name of the file, in a setting."""
    file = tmp_path / "\x1b]0;a.toml"
    file.write_text('# \x1b[31m \x9b2J \u2028 \u202e\n[run]\nfoo = 1 \n', encoding="utf-8")
    words = [w.format(file=file, ring=ring) for w in words]
    said = subprocess.run([ROOT / "target" / "release" / "xoff", *words], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", said.stderr), repr(said.stderr)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file; check the path") as e:
        xoff.run(tmp_path / "none.toml")
    assert isinstance(e.value, xoff.ScenarioError)
    with pytest.raises(xoff.RunError, match="no such folder; check the path"):
        xoff.open(tmp_path / "none")
    with pytest.raises(xoff.RunError, match="expected a folder that a run wrote"):
        xoff.open(tmp_path)


def test_a_folder_that_cannot_be_written(ring: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(xoff.RunError, match="cannot create"):
        xoff.run(ring, out=file / "below")


def test_a_value_that_is_no_setting(ring: Path) -> None:
    with pytest.raises(TypeError, match="not object"):
        xoff.run(ring, switch__buffer=object())


@pytest.mark.parametrize("folder", [None, "out"])
def test_an_interrupt_stops_the_run_and_keeps_what_there_is(ring: Path, tmp_path: Path, folder: str | None) -> None:
    out = None if folder is None else tmp_path / folder
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt) as e:
        xoff.run(ring, flow_control="none", run__duration="1000s", probes__interval="1ms", out=out)
    assert time.monotonic() - started < 20
    partial = e.value.partial  # type: ignore[attr-defined]
    assert partial.interrupted
    assert partial.summary.ended.startswith("interrupted at ")
    assert partial.flows.height == 3
    if out is not None:
        assert not list(out.glob("*.partial"))
        assert xoff.open(out).result_hash == partial.result_hash


def test_a_progress_function_is_called_and_may_stop_the_run(ring: Path) -> None:
    seen: list[xoff.Progress] = []

    def interrupt(p: xoff.Progress) -> None:
        seen.append(p)
        if len(seen) == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as e:
        xoff.run(ring, flow_control="none", run__duration="1000s", probes__interval="1ms", progress=interrupt)
    assert e.value.partial.interrupted  # type: ignore[attr-defined]
    assert 0 < seen[0].now_ps < seen[1].now_ps < seen[2].now_ps < seen[2].until_ps == 10**15
    assert 0 < seen[2].done < 1


def test_threads_run_beside_each_other(ring: Path) -> None:
    ticks = 0
    running = threading.Thread(
        target=xoff.run, args=(ring,), kwargs={"run__duration": "300ms", "flow_control": "none", "probes__interval": "1ms"}
    )
    running.start()
    while running.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 20, "the run held the interpreter"

"""Folders of results: owned by one command, complete or absent."""

from __future__ import annotations

from pathlib import Path

import pytest
import xoff

SHORT = {"run.duration": "1ms"}


def names(folder: Path) -> set[str]:
    return {f.name for f in folder.iterdir()}


def test_a_folder_with_files_of_others_is_refused(ring: Path, tmp_path: Path) -> None:
    mine = tmp_path / "scenario.toml"
    mine.write_text("mine")
    with pytest.raises(xoff.RunError, match="did not write: 'scenario.toml'.*--force"):
        xoff.run(ring, SHORT, out=tmp_path)
    assert names(tmp_path) == {"scenario.toml"}
    run = xoff.run(ring, SHORT, out=tmp_path, force=True)
    assert mine.read_text() == "mine"
    assert xoff.open(tmp_path).result_hash == run.result_hash


def test_a_second_run_replaces_the_first(ring: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    xoff.run(ring, SHORT, out=out)
    before = names(out)
    second = xoff.run(ring, {"run.duration": "2ms"}, out=out)
    assert names(out) == before
    assert xoff.open(out).result_hash == second.result_hash


def test_tables_of_another_run_are_refused(ring: Path, tmp_path: Path) -> None:
    xoff.run(ring, SHORT, out=tmp_path)
    (tmp_path / "queues.parquet").write_bytes(b"other")
    with pytest.raises(xoff.RunError, match="it has 5 bytes, and manifest.json lists it with"):
        xoff.open(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(xoff.RunError, match="'xoff run' did not finish in this folder"):
        xoff.open(tmp_path)


def test_a_folder_of_a_sweep_is_no_folder_of_a_run(ring: Path, tmp_path: Path) -> None:
    xoff.sweep({"scenario": str(ring), "seeds": 1, "set": SHORT}, out=tmp_path)
    assert names(tmp_path) >= {".xoff", "finished", "index.html", "manifest.json", "runs.parquet", "table.csv"}
    with pytest.raises(xoff.RunError, match="contains results of 'xoff sweep'"):
        xoff.run(ring, SHORT, out=tmp_path)

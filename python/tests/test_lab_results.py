"""Kept results of claims: the pages of the papers follow from them, and a record of the same claims changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from xoff.lab import page, results

PAPERS = [file.parent for file in sorted(ROOT.glob(f"papers/**/{page.RESULTS}"))]


@pytest.mark.parametrize("readme", [ROOT / "papers/README.md", *(p / "README.md" for p in PAPERS if p.name != page.TESTBED)], ids=lambda file: file.parent.name)
def test_the_table_of_a_page_is_that_of_its_results(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    assert page.SUMMARY in text and text == page.with_summary(text, readme.parent)
    assert len(text.splitlines()) <= 150


@pytest.mark.parametrize("paper", PAPERS, ids=lambda folder: folder.name)
def test_a_record_replaces_what_it_contains(paper: Path, tmp_path: Path) -> None:
    shutil.copytree(paper, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(page.README))
    kept = page.kept(paper)
    results.record(tmp_path, {"mode": "full", "seed": 1, "claims": kept[-2:]})
    assert (tmp_path / page.RESULTS).read_bytes() == (paper / page.RESULTS).read_bytes()
    results.record(tmp_path, {"mode": "full", "seed": 1, "claims": [{**kept[0], "measured": "other", "why": [*page.failures(kept[0]["checks"]), "because"]}]})
    before, after = ((folder / page.RESULTS).read_text(encoding="utf-8").splitlines() for folder in (paper, tmp_path))
    assert '"measured": "other",' in after and '"because"' in after and after[-20:] == before[-20:]

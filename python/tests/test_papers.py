"""Claims of the papers: quick runs have the verdicts that are kept of the full ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import xoff
from conftest import ROOT
from xoff.lab import page

# Left out: claims whose quick runs take more than two seconds. The verdicts of some of them need the full runs.
LONG = {
    "gfc": "ring fig09 fig10 fig12 fig13 fig14 matrix repair tab1 tab1-orders fig16 fig17 fig18 fig19 balanced",
    "tcd": "fig11 tab3 fig14 fig15a fig15b fig16a fig16b fig17a fig17b fig18a fig18b fig19a fig19b fig20a fig20b load abstract fig16-gfc combined matrix",
    "request-grant": "fig04 fig06 fig08 buffered-crossbars fig11 fig12 fig13 fig14 unbalanced-worst implicit-speedup fig15abc fig15def "
    "control-beside grant-rate elements stages spray path-orders compare-incast compare-hotspots",
    "unbiased-qcn": "fig2b fig2c fig2d fig5a fig5c fig5d fig6 fig7 setpoint af-qcn rack",
    "pffc": "cost",
    "hardware": "loss loss-random ecmp",
}


@pytest.mark.parametrize("paper", LONG)
def test_quick_runs_have_the_verdicts_of_full_ones(paper: str, tmp_path: Path) -> None:
    kept = {c["id"]: c["verdict"] for c in page.kept(ROOT / "papers" / paper) if c["id"] not in LONG[paper].split()}
    # Hardware has seven claims in all, three of them long.
    assert len(kept) > (3 if paper == "hardware" else 7)
    answer = xoff.reproduce(ROOT / "papers" / paper, list(kept), out=tmp_path / "out", progress=False, workers=1)
    assert {c.id: c.verdict for c in answer.claims} == kept


def test_readme_has_the_count() -> None:
    verdicts = [c["verdict"] for file in ROOT.glob(f"papers/**/{page.RESULTS}") for c in page.kept(file.parent)]
    names = ("confirmed", "confirmed under a stated reading", "undecided", "contradicted", "erratum")
    held, read, undecided, contradicted, misprints = (verdicts.count(v) for v in names)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    judged = held + read + undecided + contradicted
    assert f"Of {judged} claims, {held} are confirmed, {read} under a reading that the page states, {undecided} are undecided" in readme
    assert f"and {contradicted} are contradicted; {misprints} more are misprints" in readme

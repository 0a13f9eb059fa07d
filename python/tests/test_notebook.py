"""In a real Jupyter kernel: what a notebook shows for each answer."""

from __future__ import annotations

import pytest
from conftest import ROOT

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    "import warnings, xoff; warnings.simplefilter('ignore'); run = xoff.run('scenarios/tutorial/ring.toml'); run",
    "run.plot()",
    "xoff.check('fat-tree:k=4', fail_any=1)",
    "xoff.plan(rate='100Gbps', length='300m', mtu=9216)",
    "run.compare(xoff.run('scenarios/tutorial/ring.toml', flow_control='gfc-buffer'))",
    "run.explain('S1->S2', '2.9ms')",
    "run.queues.head(2)",
]
SHOWN = ["Three-switch ring: deadlock at", None, "Single failures: 0 of 32", "XOFF", "Parameters that differ", "deadlock: S1-&gt;S2", "time_ps"]


def test_a_notebook_shows_answers_as_tables_and_figures() -> None:
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell, words in zip(notebook.cells, SHOWN, strict=True):
        (output,) = [o for o in cell.outputs if o.output_type == "execute_result"]
        if words is None:
            assert output.data["image/png"].startswith("iVBORw0KGgo")
        else:
            assert words in output.data["text/html"], cell.source
        assert not [o for o in cell.outputs if o.output_type == "stream"], "a progress line in a notebook"

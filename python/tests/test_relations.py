"""Changed copies of a scenario whose results must be the same: docs/relations.md. The farm has more of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "farm" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


copies = load("copies")
relations = load("relations")

CHAIN = """
[run]
duration = "2ms"
[topology]
kind = "chain"
switches = 3
hosts_per_switch = 2
[switch]
buffer = "200KB"
[flow_control]
kind = "pfc"
xoff = "60KB"
xon = "50KB"
[[workload]]
kind = "incast"
receiver = "H6"
size = "150KB"
[[flow]]
src = "H5"
dst = "H1"
size = "40KB"
priority = 3
"""

JOB = """
[run]
duration = "20ms"
[topology]
kind = "star"
hosts = 4
[flow_control]
kind = "cbfc"
[[job]]
iterations = 2
[[collective]]
size = "100KB"
compute = "3us"
"""


@pytest.fixture(scope="module", params=["chain", "job"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("relations") / f"{request.param}.toml"
    path.write_text({"chain": CHAIN, "job": JOB}[request.param])
    return copies.Case(path, path.parent, seed=1)


#: Relations that say nothing about a job, or about flows of one priority.
OF_FLOWS = {"second component with traffic", "unused priority", "order of flows", "mirror"}


@pytest.mark.parametrize("name", relations.RELATIONS)
def test_a_relation_holds(case: Any, name: str) -> None:
    try:
        assert relations.RELATIONS[name](case) == []
    except copies.Unfit:
        assert name in OF_FLOWS and case.path.stem == "job"


def test_a_copy_that_differs_is_found(case: Any) -> None:
    """A cable that is 1 ps longer; then each table with a value that differs."""
    s, made = case.spread()
    link = s["topology"]["link"][0]
    longer = {**s, "topology": {**s["topology"], "link": [{**link, "delay": f"{copies.delay(link['delay']) + 1}ps"}, *s["topology"]["link"][1:]]}}
    assert copies.differences(made, case.run(longer), copies.Same(ordered=False))
    tables = made.read()
    for name, frame in tables.items():
        for column in frame.columns:
            # Numbers of flows may differ, if all tables agree about them.
            if not len(frame) or not frame[column].dtype.is_integer() or (name, column) == ("flows", "flow"):
                continue
            other = copies.Run(made.folder, made.hash, made.ended, made.scenario, {**tables, name: frame.with_columns(pl.col(column).fill_null(0) + 1)})
            assert copies.differences(made, other, copies.Same(ordered=False)), f"{name}.{column}"


def test_names_and_values() -> None:
    assert copies.renamed("S1->H2#3", {"S1": "a", "H2": "b"}) == "a->b#3"
    assert [copies.read(t, copies.PS) for t in ("1.5us", "2ms", "0.1ps", "3KB")] == [1_500_000, 2_000_000_000, None, None]
    assert Path(copies.XOFF).name == "xoff"

"""Numbers and units in Python are those of the command and of the report's script."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import ROOT
from xoff import _units

EXAMPLES = [line.split(" ", 2) for line in (ROOT / "crates" / "units" / "examples.txt").read_text().splitlines()]


def test_python_agrees() -> None:
    for kind, value, text in EXAMPLES:
        assert getattr(_units, kind)(float(value)) == text


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_report_agrees() -> None:
    base = (ROOT / "crates" / "report" / "assets" / "base.js").read_text()
    numbers = base[base.index("  // The same texts") : base.index("  const percent")]
    calls = ", ".join(f"{'bytes' if kind == 'size' else kind}({value})" for kind, value, _ in EXAMPLES)
    done = subprocess.run(["node", "-e", f'{numbers}; console.log([{calls}].join("\\n"))'], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [text for _, _, text in EXAMPLES]

"""An sdist installs on a machine without the repository: it has every file that its crates are built from."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

INCLUDED = re.compile(r"include_(?:str|bytes)!\(\s*\"(?P<path>[^\"]+)\"")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder to which a source distribution unpacks."""
    out = tmp_path_factory.mktemp("sdist")
    done = subprocess.run([sys.executable, "-m", "maturin", "sdist", "--out", str(out)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = out.glob("xoff-*.tar.gz")
    shutil.unpack_archive(archive, out)
    (folder,) = (p for p in out.iterdir() if p.is_dir())
    return folder


def test_an_sdist_has_what_its_crates_include(sdist: Path) -> None:
    found = 0
    for source in sdist.glob("crates/*/src/**/*.rs"):
        for match in INCLUDED.finditer(source.read_text()):
            found += 1
            assert (source.parent / match["path"]).resolve().is_file(), f"{source.relative_to(sdist)} includes {match['path']}"
    assert found >= 10, found


def test_an_sdist_is_a_workspace_with_its_lock(sdist: Path) -> None:
    done = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=sdist, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (sdist / "Cargo.lock").is_file() and (sdist / "python" / "xoff" / "py.typed").is_file()
    assert (sdist / "scenarios" / "tutorial" / "ring.toml").is_file()

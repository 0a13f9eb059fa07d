"""Figures for papers: from Python, and by the command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import xoff

ROOT = Path(__file__).parents[2]
RING = "scenarios/tutorial/ring.toml"


def command(*args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "xoff", *args], capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("figure") / "ring"
    xoff.run(ROOT / RING, out=out)
    return out


@pytest.mark.parametrize("of", ["cycle", "network", "port"])
@pytest.mark.parametrize("width", ["column", "page"])
def test_a_figure_has_its_width_caption_and_provenance(ring: Path, of: str, width: str) -> None:
    run = xoff.open(ring)
    figure = run.figure(of, port="S1->S2" if of == "port" else None, width=width)  # type: ignore[arg-type]
    assert figure.figure.get_size_inches()[0] == {"column": 3.35, "page": 7.0}[width]
    assert "Three-switch ring, PFC, seed 1." in figure.caption
    assert run.result_hash in figure.provenance and f"xoff {xoff.__version__}" in figure.provenance
    assert figure.to_bytes("pdf").startswith(b"%PDF") and figure.to_bytes("png").startswith(b"\x89PNG")
    # The same bytes every time, also after another format.
    assert figure.to_bytes("svg") == figure.to_bytes("svg")


def test_the_cycle_is_that_of_the_run(ring: Path) -> None:
    run = xoff.open(ring)
    figure = run.figure("cycle")
    (axes,) = figure.figure.axes
    words = [t.get_text() for t in axes.texts]
    assert {"S1", "S2", "S3", "H1", "H2", "H3"} <= set(words)
    bytes_ = run.deadlocks.sort("position")["bytes"].to_list()
    assert words.count(f"{bytes_[0] / 1e6:.4g} MB") == len(bytes_) == 3
    assert "S1->S2, S2->S3 and S3->S1 wait for each other from 2.795 ms on" in figure.caption


def test_a_port_is_that_of_the_run(ring: Path) -> None:
    """Sums of the repeated run are those of the tables."""
    ports = {row["port"]: row for row in xoff.open(ring).ports.rows(named=True)}
    answer = command("figure", str(ring), "--of", "port", "--port", "S1:S2", "--data")
    assert answer.returncode == 0, answer.stderr
    port = json.loads(answer.stdout)["port"]
    assert port["port"] == "S1->S2" and port["peer"] == "S2" and not port["host"]
    assert sum(port["sent_bytes"]) == ports["S1->S2"]["tx_bytes"]
    assert port["time_ps"][-1] == 20_000_000_000


def test_the_command_writes_files_and_keeps_those_of_others(ring: Path, tmp_path: Path) -> None:
    first = command("figure", str(ring), "--of", "cycle", "--format", "pdf,svg,png", "--out", str(tmp_path / "cycle"))
    assert first.returncode == 0, first.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cycle.pdf", "cycle.png", "cycle.svg", "cycle.txt"]
    run = xoff.open(ring)
    for name in ("cycle.svg", "cycle.txt"):
        assert run.result_hash in (tmp_path / name).read_text()
    assert run.result_hash.encode() in (tmp_path / "cycle.png").read_bytes()
    # Its own files are replaced, a user's file is not.
    again = command("figure", str(ring), "--of", "cycle", "--out", str(tmp_path / "cycle.pdf"))
    assert again.returncode == 0, again.stderr
    (tmp_path / "mine.pdf").write_bytes(b"%PDF mine")
    refused = command("figure", str(ring), "--of", "cycle", "--out", str(tmp_path / "mine"))
    assert refused.returncode == 2 and "xoff did not draw it" in refused.stderr.replace("\n  │", "")
    assert (tmp_path / "mine.pdf").read_bytes() == b"%PDF mine"


def test_a_full_disk_leaves_no_part_of_a_figure(ring: Path, tmp_path: Path) -> None:
    """No file may grow beyond 4,096 B: the error names the file, and the figure before it stays whole."""
    xoff.open(ring).figure("cycle").save(tmp_path / "f")
    before = (tmp_path / "f.pdf").read_bytes()
    code = f"""
import resource, signal, xoff
figure = xoff.open({str(ring)!r}).figure("cycle")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
figure.save({str(tmp_path / "f")!r})
"""
    full = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert full.returncode == 1 and str(tmp_path / "f.pdf") in full.stderr, full.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.pdf", "f.txt"]
    assert (tmp_path / "f.pdf").read_bytes() == before


def test_a_run_without_a_deadlock_has_no_cycle(tmp_path: Path) -> None:
    out = tmp_path / "gfc"
    run = xoff.run(ROOT / RING, out=out, flow_control="gfc-buffer", switch__discipline="round-robin")
    assert not run.deadlock
    with pytest.raises(ValueError, match="the run has no deadlock"):
        run.figure("cycle")
    refused = command("figure", str(out), "--of", "cycle", "--out", str(tmp_path / "x"))
    assert refused.returncode == 2 and "the run has no deadlock" in refused.stderr and "--of network" in refused.stderr
    assert "No port was paused" in run.figure("network").caption


def test_a_run_in_memory_has_figures(tmp_path: Path) -> None:
    figure = xoff.run(ROOT / RING).figure("network")
    assert [p.suffix for p in figure.save(tmp_path / "net", formats=("png",))] == [".png", ".txt"]


def test_colours_are_those_of_the_reports() -> None:
    """Matplotlib has the colours of the table that reports and papers use."""
    from xoff._palette import COLORS, DEADLOCK, NAMES, color

    source = (ROOT / "crates/report/src/figure/palette.rs").read_text()
    assert all(f'"{c}"' in source for c in (*COLORS, DEADLOCK))
    assert NAMES["gfc-buffer"] == "Buffer-based GFC"
    assert color("pfc", 3) == color("pfc", 0) == "#d55e00" and color("run A", 3) == COLORS[3]

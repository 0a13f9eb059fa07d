"""Adapters in `clients`, where a checkout of their simulator is named by a variable."""

import json
import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
NANOSECOND = 10**9


@pytest.fixture(scope="session")
def astra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapter, built (XOFF_TEST_ASTRA: its build folder) beside a checkout of astra-sim (ASTRA_SIM)."""
    built, checkout = os.environ.get("XOFF_TEST_ASTRA"), os.environ.get("ASTRA_SIM")
    if not built or not checkout:
        pytest.skip("ASTRA_SIM and XOFF_TEST_ASTRA name no checkout of astra-sim and no build of clients/astra-sim")
    return Path(built) / "xoff-astra"


def finished(program: Path, collective: str, ranks: int, system: Path, network: Path, *more: str) -> Fraction:
    examples = Path(os.environ["ASTRA_SIM"]) / "examples"
    done = subprocess.run(
        [
            program,
            f"--workload-configuration={examples}/workload/microbenchmarks/{collective}/{ranks}npus_1MB/{collective}",
            f"--remote-memory-configuration={examples}/remote_memory/analytical/no_memory_expansion.json",
            f"--system-configuration={system}",
            f"--network-configuration={network}",
            *more,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=network.parent,
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    said = re.search(r"^finished at ([0-9.]+) ns: .* 0 frames lost$", done.stdout, re.MULTILINE)
    assert said, done.stdout[-500:]
    return Fraction(said[1])


def network(folder: Path, ranks: int) -> Path:
    path = folder / f"star{ranks}.toml"
    path.write_text(f'[topology]\nkind = "star"\nhosts = {ranks}\nrate = "400Gbps"\ndelay = "500ns"\n[flow_control]\nkind = "pfc"\n')
    return path


def message(size: int) -> Fraction:
    """A message alone over a switch, in frames of 1500 B at 400 Gb/s, over two cables of 500 ns [ns]."""
    frames = -(-size // 1500)
    time = [Fraction(8 * min(1500, size - 1500 * n), 400) for n in range(frames)]
    at_switch = free = Fraction(0)
    for t in time:
        at_switch += t
        free = max(free, at_switch) + t
    return free + 2 * 500


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_astra_sim_rings_take_the_closed_form(astra: Path, tmp_path: Path, ranks: int) -> None:
    """One chunk at a time: each step is a message, an endpoint delay, and for a reduction three passes over memory."""
    system = json.loads((Path(os.environ["ASTRA_SIM"]) / "examples/system/native_collectives/Ring_4chunks.json").read_text())
    system |= {"preferred-dataset-splits": 1, "active-chunks-per-dimension": 1}
    (tmp_path / "ring.json").write_text(json.dumps(system))
    delay, steps, size = 10, ranks - 1, 1 << 20
    part = size // ranks
    reduce = 3 * (part * NANOSECOND // int(system["local-mem-bw"] * 10**9))
    wanted = {
        "all_gather": steps * (message(size) + delay) + delay,
        "reduce_scatter": steps * (message(part) + delay + reduce) + delay,
        "all_reduce": 2 * steps * (message(part) + delay) + steps * reduce + delay,
    }
    for collective, time in wanted.items():
        assert finished(astra, collective, ranks, tmp_path / "ring.json", network(tmp_path, ranks)) == time, collective


@pytest.mark.parametrize("ranks", [4, 8, 16])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_astra_sim_examples_finish_the_same_twice_and_leave_results(astra: Path, tmp_path: Path, collective: str, ranks: int) -> None:
    system = Path(os.environ["ASTRA_SIM"]) / "examples/system/native_collectives/Ring_4chunks.json"
    path = network(tmp_path, ranks)
    first = finished(astra, collective, ranks, system, path)
    assert finished(astra, collective, ranks, system, path, f"--results={tmp_path / 'out'}") == first
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["flows_completed"] == manifest["flows_total"] > 0
    # The last message ends an endpoint delay before the last rank.
    assert abs(Fraction(manifest["simulated_seconds"]).limit_denominator(10**12) * NANOSECOND - first) <= 200

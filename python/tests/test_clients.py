"""Adapters in `clients`, where a checkout of their simulator is named by a variable."""

import json
import os
import re
import subprocess
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
import xoff

COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
NANOSECOND = 10**9


def built(client: str, program: str) -> Path:
    """The adapter in its build folder (XOFF_TEST_ASTRA ...), where the checkout of its simulator is named too (ASTRA_SIM ...)."""
    checkout, folder = os.environ.get(client), os.environ.get(f"XOFF_TEST_{client.removesuffix('_SIM')}")
    if not folder or not checkout:
        pytest.skip(f"{client} and XOFF_TEST_{client.removesuffix('_SIM')} name no checkout and no build of its adapter in clients")
    return Path(folder) / program


@pytest.fixture(scope="session")
def astra() -> Path:
    return built("ASTRA_SIM", "xoff-astra")


@pytest.fixture(scope="session")
def atlahs() -> Path:
    return built("ATLAHS", "xoff-atlahs")


@pytest.fixture(scope="session")
def simai() -> Path:
    return built("SIMAI", "xoff-simai")


@pytest.fixture(scope="session")
def llmservingsim() -> Path:
    return built("LLMSERVINGSIM", "xoff-llmservingsim")


def run(folder: Path, program: Path, *arguments: str | Path, code: int = 0, stdin: str = "", **variables: str) -> str:
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=120, cwd=folder, input=stdin, env=os.environ | variables
    )
    assert done.returncode == code, done.stdout[-500:] + done.stderr
    return done.stdout + done.stderr


def end_of(said: str) -> Fraction:
    """When all was finished [ns]."""
    end = re.search(r"^finished at ([0-9.]+) ns: .* 0 frames lost$", said, re.MULTILINE)
    assert end, said[-500:]
    return Fraction(end[1])


def run_astra(program: Path, collective: str, ranks: int, system: Path, network: Path, *more: str, code: int = 0) -> str:
    examples = Path(os.environ["ASTRA_SIM"]) / "examples"
    return run(
        network.parent,
        program,
        f"--workload-configuration={examples}/workload/microbenchmarks/{collective}/{ranks}npus_1MB/{collective}",
        f"--remote-memory-configuration={examples}/remote_memory/analytical/no_memory_expansion.json",
        f"--system-configuration={system}",
        f"--network-configuration={network}",
        *more,
        code=code,
    )


def finished(program: Path, collective: str, ranks: int, system: Path, network: Path, *more: str) -> Fraction:
    return end_of(run_astra(program, collective, ranks, system, network, *more))


def network(folder: Path, ranks: int, rate: int = 400, delay: int = 500) -> Path:
    path = folder / f"star{ranks}.toml"
    path.write_text(f'[topology]\nkind = "star"\nhosts = {ranks}\nrate = "{rate}Gbps"\ndelay = "{delay}ns"\n[flow_control]\nkind = "pfc"\n')
    return path


def cut(path: Path) -> Path:
    """The same network, whose first host loses its link after 20 us."""
    path.write_text(path.read_text() + '[[failure]]\nlink = "H0-S1"\nat = "20us"\n')
    return path


LOST = re.compile(r"^not finished at [0-9.]+ ns: .*, [1-9][0-9]* frames lost$", re.MULTILINE)


def message(size: int, rate: int = 400) -> Fraction:
    """A message alone over a switch, in frames of 1500 B, over two cables of 500 ns [ns]."""
    frames = -(-size // 1500)
    time = [Fraction(8 * min(1500, size - 1500 * n), rate) for n in range(frames)]
    at_switch = free = Fraction(0)
    for t in time:
        at_switch += t
        free = max(free, at_switch) + t
    return free + 2 * 500


def ring_times(ranks: int, memory: float) -> dict[str, Fraction]:
    """Collectives of 1 MiB in one chunk: each step is a message, an endpoint delay, and for a reduction three passes over memory (GB/s)."""
    delay, steps, size = 10, ranks - 1, 1 << 20
    part = size // ranks
    reduce = 3 * (part * NANOSECOND // int(memory * 10**9))
    return {
        "all_gather": steps * (message(size) + delay) + delay,
        "reduce_scatter": steps * (message(part) + delay + reduce) + delay,
        "all_reduce": 2 * steps * (message(part) + delay) + steps * reduce + delay,
    }


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_astra_sim_rings_take_the_closed_form(astra: Path, tmp_path: Path, ranks: int) -> None:
    system = json.loads((Path(os.environ["ASTRA_SIM"]) / "examples/system/native_collectives/Ring_4chunks.json").read_text())
    system |= {"preferred-dataset-splits": 1, "active-chunks-per-dimension": 1}
    (tmp_path / "ring.json").write_text(json.dumps(system))
    for collective, time in ring_times(ranks, system["local-mem-bw"]).items():
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


def test_astra_sim_after_a_failure_has_not_finished(astra: Path, tmp_path: Path) -> None:
    system = Path(os.environ["ASTRA_SIM"]) / "examples/system/native_collectives/Ring_4chunks.json"
    said = run_astra(astra, "all_reduce", 8, system, cut(network(tmp_path, 8)), code=1)
    assert LOST.search(said) and "8 of 8 ranks have not finished" in said


def messages_fit(collective: str, ranks: int) -> int:
    """Smallest number of chunks, at least 4, of a collective of 1 MiB with which every message fits in one frame."""
    size, splits = 1 << 20, 4
    while (size // ranks if collective in ("all_reduce", "reduce_scatter") else size) // splits > 65535:
        splits *= 2
    return splits


@pytest.mark.parametrize("ranks", [4, 8, 16])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_astra_sim_agrees_with_its_analytical_back_end_under_its_assumptions(astra: Path, tmp_path: Path, collective: str, ranks: int) -> None:
    """One frame a message, GB of 2^30 B, and times of messages in whole ns: with 64 B/ns equal, with 50 GB/s (53.7 B/ns) within 0.1 %."""
    analytical = os.environ.get("XOFF_TEST_ASTRA_ANALYTICAL")
    if not analytical:
        pytest.skip("XOFF_TEST_ASTRA_ANALYTICAL names no AstraSim_Analytical_Congestion_Aware")
    checkout = Path(os.environ["ASTRA_SIM"])
    system = json.loads((checkout / "examples/system/native_collectives/Ring_4chunks.json").read_text())
    (tmp_path / "ring.json").write_text(json.dumps(system | {"preferred-dataset-splits": messages_fit(collective, ranks)}))
    for rate, limit in ((Fraction(64 * NANOSECOND, 1 << 30), 0), (Fraction(50), Fraction(1, 1000))):
        path = network(tmp_path, ranks)
        bits = rate * 8 * (1 << 30)
        path.write_text(
            path.read_text().replace("400Gbps", f"{int(bits)}bps") + '[switch]\nbuffer = "1GB"\n[host]\nframe_max = "65535B"\n',
        )
        theirs = tmp_path / "switch.yml"
        theirs.write_text(f"topology: [ Switch ]\nnpus_count: [ {ranks} ]\nbandwidth: [ {float(rate)!r} ]\nlatency: [ 500.0 ]\n")
        said = run_astra(Path(analytical), collective, ranks, tmp_path / "ring.json", theirs)
        wanted = max(int(cycles) for cycles in re.findall(r"finished, (\d+) cycles", said))
        assert abs(finished(astra, collective, ranks, tmp_path / "ring.json", path) - wanted) <= limit * wanted


def goal(program: Path, folder: Path, ranks: list[list[str]]) -> Path:
    """A schedule from the lines of each rank, in the binary form that ATLAHS reads."""
    blocks = ["rank {} {{\n{}\n}}\n".format(n, "\n".join(lines)) for n, lines in enumerate(ranks)]
    (folder / "schedule.goal").write_text(f"num_ranks {len(ranks)}\n\n" + "\n".join(blocks))
    run(folder, program.parent / "txt2bin", "-i", "schedule.goal", "-o", "schedule.bin")
    return folder / "schedule.bin"


def ring(ranks: int, size: int, steps: int, calc: int) -> list[list[str]]:
    """Each rank passes on what it has received, after computing."""
    lines: list[list[str]] = []
    for rank in range(ranks):
        mine: list[str] = []
        for step in range(steps):
            send, recv, work = (f"l{3 * step + n}" for n in (1, 2, 3))
            mine += [f"{send}: send {size}b to {(rank + 1) % ranks} tag {step}", f"{recv}: recv {size}b from {(rank - 1) % ranks} tag {step}"]
            mine += [f"{work}: calc {calc}", f"{work} requires {recv}"]
            if step:
                mine.append(f"{send} requires l{3 * step}")
        lines.append(mine)
    return lines


def own_reader(schedule: Path, path: Path) -> Fraction:
    """When `xoff run` of the same file has finished [ns]."""
    ranks = re.search(r"hosts = (\d+)", path.read_text())
    assert ranks
    job = path.with_name("job.toml")
    hosts = ", ".join(f'"H{n}"' for n in range(int(ranks[1])))
    job.write_text(f'[run]\nduration = "1s"\n{path.read_text()}[[job]]\nname = "goal"\ngoal = "{schedule.name}"\nhosts = [{hosts}]\n')
    manifest = xoff.run(job, progress=False).manifest
    assert manifest["flows_completed"] == manifest["flows_total"] > 0
    return Fraction(round(manifest["simulated_seconds"] * 10**12), 1000)


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_atlahs_rings_take_the_closed_form_and_the_time_of_xoffs_reader(atlahs: Path, tmp_path: Path, ranks: int) -> None:
    size, steps, calc, path = 1 << 18, 2 * (ranks - 1), 1234, network(tmp_path, ranks, rate=200)
    schedule = goal(atlahs, tmp_path, ring(ranks, size, steps, calc))
    said = run(tmp_path, atlahs, f"--goal={schedule}", f"--network={path}", f"--results={tmp_path / 'out'}")
    assert f" {ranks * steps} messages, " in said
    assert end_of(said) == steps * (message(size, 200) + calc) == own_reader(schedule, path)
    assert end_of(run(tmp_path, atlahs, f"--goal={schedule}", f"--network={path}")) == end_of(said)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["flows_completed"] == manifest["flows_total"] == ranks * steps


def test_atlahs_leaves_its_gap_between_messages_of_a_rank(atlahs: Path, tmp_path: Path) -> None:
    """A gap of LogGP's G = 0.04 ns/B for a message in frames of 4,160 B and one more: where xoff's reader differs."""
    size, others, path = 1 << 20, 7, network(tmp_path, 8, rate=200)
    sends = [f"l{n}: send {size}b to {n} tag 0" for n in range(1, others + 1)]
    schedule = goal(atlahs, tmp_path, [sends] + [[f"l1: recv {size}b from 0 tag 0"]] * others)
    gap = (-(-size // 4096) + 1) * 4160 * 4 // 100
    end = end_of(run(tmp_path, atlahs, f"--goal={schedule}", f"--network={path}"))
    assert abs(end - ((others - 1) * gap + message(size, 200))) <= 1
    assert own_reader(schedule, path) < end


def test_atlahs_schedules_that_cannot_finish_are_told(atlahs: Path, tmp_path: Path) -> None:
    path = network(tmp_path, 2, rate=200)
    schedule = goal(atlahs, tmp_path, [["l1: send 100b to 1 tag 0"], ["l1: recv 100b from 0 tag 0", "l2: recv 100b from 0 tag 0"]])
    said = run(tmp_path, atlahs, f"--goal={schedule}", f"--network={path}", code=2)
    assert "1 sends and 2 receives" in said
    waits = [[f"l1: recv 100b from {1 - n} tag 0", f"l2: send 100b to {1 - n} tag 0", "l2 requires l1"] for n in (0, 1)]
    said = run(tmp_path, atlahs, f"--goal={goal(atlahs, tmp_path, waits)}", f"--network={path}", code=1)
    assert "not finished at 0 ns: 0 messages" in said
    schedule = goal(atlahs, tmp_path, ring(4, 1 << 18, 6, 0))
    assert LOST.search(run(tmp_path, atlahs, f"--goal={schedule}", f"--network={cut(network(tmp_path, 4, rate=200))}", code=1))


def test_simai_example_takes_the_closed_form_and_a_failure_is_told(simai: Path, tmp_path: Path) -> None:
    """Each all-reduce of 8 GPUs fills the links: 2 (n - 1) / n of its size, a frame more at the switch, cables, latency, 10 ns of SimAI's."""
    workload, path = Path(os.environ["SIMAI"]) / "example" / "microAllReduce.txt", network(tmp_path, 8, rate=2400, delay=25)
    for latency in (6000, 0):
        said = run(tmp_path, simai, f"--workload={workload}", f"--network={path}", f"--send-latency={latency}", "--results=out")
        times = [int(t) for t in re.findall(r"spent on fwd pass comm: (\d+)", said)]
        sizes = [int(line.split()[4]) for line in workload.read_text().splitlines()[2:]]
        assert times == [ceil(Fraction(14, 8) * size * 8 / 2400 + Fraction(12000, 2400) + 50 + latency + 10) for size in sizes]
        again = run(tmp_path, simai, f"--workload={workload}", f"--network={path}", f"--send-latency={latency}")
        assert end_of(again) == end_of(said)
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert manifest["flows_completed"] == manifest["flows_total"] == 2 * 8 * 14 * 8
    assert LOST.search(run(tmp_path, simai, f"--workload={workload}", f"--network={cut(path)}", code=1))


def chakra(name: str, collective: int, size: int) -> bytes:
    """A trace of one collective, in the numbers of LLMServingSim's schema: node type 8, all-reduce 0, all-gather 2, reduce-scatter 7."""

    def field(number: int, value: bytes | int) -> bytes:
        def varint(n: int) -> bytes:
            return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        return varint(number << 3 | 2) + varint(len(value)) + value

    attributes = [field(1, b"is_cpu_op") + field(27, 0), field(1, b"comm_type") + field(9, collective), field(1, b"comm_size") + field(9, size)]
    node = field(2, name.encode()) + field(3, 8) + b"".join(field(10, a) for a in attributes)
    return b"".join(field(0, m)[1:] for m in (field(1, b"0.0.4"), node))


@pytest.mark.parametrize("ranks", [4, 8])
def test_llmservingsim_rings_take_the_closed_form(llmservingsim: Path, tmp_path: Path, ranks: int) -> None:
    inputs = Path(os.environ["LLMSERVINGSIM"]) / "astra-sim/inputs"
    system = json.loads((inputs / "system/system.json").read_text())
    network(tmp_path, ranks)
    (tmp_path / "network.yml").write_text(f"topology:\n- Switch\nnpus_count:\n- {ranks}\nbandwidth:\n- 16.0\nlatency:\n- 20000.0\n")
    times = ring_times(ranks, system["local-mem-bw"])
    for collective, number in (("all_reduce", 0), ("all_gather", 2), ("reduce_scatter", 7)):
        for rank in range(ranks):
            (tmp_path / f"{collective}.{rank}.et").write_bytes(chakra(collective, number, 1 << 20))
        arguments = (
            f"--workload-configuration={tmp_path / collective}",
            f"--system-configuration={inputs / 'system/system.json'}",
            f"--memory-configuration={inputs / 'memory/memory_expansion.json'}",
            "--network-configuration=network.yml",
            "--start-npu-ids=0,",
            f"--end-npu-ids={ranks - 1},",
        )
        said = run(
            tmp_path, llmservingsim, *arguments, stdin="exit\n" * ranks, XOFF_SCENARIO=f"star{ranks}.toml", XOFF_RESULTS=str(tmp_path / collective)
        )
        end = re.search(r"^xoff: ([0-9.]+) ns: (\d+) messages, .* 0 frames lost$", said, re.MULTILINE)
        assert end, said[-500:]
        assert Fraction(end[1]) == times[collective]
        manifest = json.loads((tmp_path / collective / "manifest.json").read_text())
        assert manifest["flows_completed"] == manifest["flows_total"] == int(end[2]) > 0
        lost = run(tmp_path, llmservingsim, *arguments, code=1, XOFF_SCENARIO=str(cut(network(tmp_path, ranks))))
        assert "nothing more happens, but messages or timers wait" in lost
        network(tmp_path, ranks)
        assert f"{ranks} NPUs, but the scenario has 2 hosts" in run(tmp_path, llmservingsim, *arguments, code=2, XOFF_SCENARIO=str(network(tmp_path, 2)))

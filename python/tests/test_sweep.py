"""Sweeps: a plan, any executor, one table with the same bytes."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xoff
from conftest import interrupt_soon
from xoff._identity import identity

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")


FACTOR = 1
"""That a measure reads."""


def plan(ring: Path, seeds: int = 2, **more: Any) -> dict[str, Any]:
    grid = {"flow_control": ["pfc", "gfc-buffer"], "switch.discipline": ["fifo", "round-robin"]}
    fixed = {"run.duration": "4ms", "control_delay.processing_jitter": "5us"}
    return {"title": "Ring", "scenario": str(ring), "seeds": seeds, "set": fixed, "grid": grid} | more


def queue(run: xoff.Run) -> dict[str, object]:
    """A measure that other processes can import."""
    return {"queue_bytes_max": run.ports["ingress_bytes_max"].max()}


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "runs.parquet").read_bytes()).hexdigest()


def test_one_row_for_each_run(ring: Path) -> None:
    sweep = xoff.sweep(plan(ring))
    assert sweep.complete and sweep.headline == "8 of 8 runs done" and sweep.folder is None
    rows = sweep.runs.select("run", "flow_control", "switch.discipline", "seed").rows()
    assert rows[:3] == [(0, "pfc", "fifo", 1), (1, "pfc", "fifo", 2), (2, "pfc", "round-robin", 1)] and len(rows) == 8
    run = xoff.run(ring, plan(ring)["set"], seed=2, flow_control="pfc", switch__discipline="fifo")
    assert sweep.runs["result_hash"][1] == run.result_hash
    assert sweep.runs["deadlock"].to_list() == [True, True] + [False] * 6
    assert sweep.runs["deadlock_ports"][1] == " ".join(run.deadlock or [])
    assert sweep.runs["ingress_bytes_max"][1] == run.ports["ingress_bytes_max"].max()
    assert sweep.runs["delivered_bytes"][1] == run.flows["bytes_delivered"].sum()
    assert sweep.runs["paused_ps"][1] == run.ports["paused_ps"].sum()
    assert "deadlock" in sweep._repr_html_() and "<svg" in sweep.page
    assert len(sweep.plot("deadlock", "throughput_bps").axes) == 2
    with pytest.raises(ValueError, match="there is no column 'x'"):
        sweep.plot("x")


def test_intervals_are_those_of_the_formulas(ring: Path) -> None:
    sweep = xoff.sweep(plan(ring, seeds=5, grid={"switch.discipline": ["fifo", "input-fifo"]}))
    runs = sweep.runs.filter(pl.col("switch.discipline") == "fifo")["paused_ps"]
    row = sweep.table.filter((pl.col("column") == "paused_ps") & (pl.col("switch.discipline") == "fifo"))
    # Student's t, 4 degrees of freedom, 97.5 %.
    values: list[float] = runs.to_list()
    half = 2.776 * float(statistics.stdev(values)) / 5**0.5
    assert row["value"][0] == pytest.approx(statistics.mean(values)) and row["high"][0] - row["value"][0] == pytest.approx(half)
    share = sweep.table.filter((pl.col("column") == "deadlock") & (pl.col("switch.discipline") == "fifo"))
    # Wilson: 5 of 5 are at least 1 / (1 + z^2 / n).
    assert share["value"][0] == 1.0 and share["low"][0] == pytest.approx(1 / (1 + 1.959963984540054**2 / 5))
    other = sweep.runs.filter(pl.col("switch.discipline") == "input-fifo")["paused_ps"]
    paired = sweep.table.filter((pl.col("column") == "paused_ps") & (pl.col("switch.discipline") == "input-fifo"))
    assert paired["difference"][0] == pytest.approx(statistics.mean(a - b for a, b in zip(other, values, strict=True)))


def test_every_executor_gives_the_same_bytes(ring: Path, tmp_path: Path) -> None:
    xoff.sweep(plan(ring), out=tmp_path / "local")
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        xoff.sweep(plan(ring), threads, out=tmp_path / "threads")
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        xoff.sweep(plan(ring), processes, out=tmp_path / "processes")
    assert len({digest(tmp_path / name) for name in ("local", "threads", "processes")}) == 1
    # A Hive dataset: the parameters are names of folders.
    dataset = pl.scan_parquet(tmp_path / "local" / "runs" / "**" / "*.parquet", hive_partitioning=True).collect().sort("run")
    whole = pl.read_parquet(tmp_path / "local" / "runs.parquet")
    assert dataset.select(whole.columns).equals(whole)


def test_an_executor_that_is_none_of_the_standard_library(ring: Path, tmp_path: Path) -> None:
    class Job:
        """As submitit's: no concurrent.futures.Future."""

        def __init__(self, work: Any) -> None:
            self.work = work

        def done(self) -> bool:
            return True

        def result(self) -> Any:
            return self.work()

    class Submit:
        def submit(self, fn: Any, /, *args: Any) -> Job:
            return Job(lambda: fn(*args))

    xoff.sweep(plan(ring), out=tmp_path / "a")
    assert xoff.sweep(plan(ring), Submit(), out=tmp_path / "b").complete
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_measures_are_columns(ring: Path, tmp_path: Path) -> None:
    here = xoff.sweep(plan(ring), measure=queue)
    assert here.runs["queue_bytes_max"].to_list() == here.runs["ingress_bytes_max"].to_list()
    assert "queue_bytes_max" in here.table["column"].to_list() and here.manifest["shown"][0] == "queue_bytes_max"

    def wrong(run: xoff.Run) -> dict[str, object]:
        raise KeyError(run.result_hash)

    failed = xoff.sweep(plan(ring), measure=wrong, out=tmp_path)
    assert len(failed.failed) == 8 and "measure: KeyError" in failed.failed[0]["error"]
    # Another measure: the runs are repeated.
    assert xoff.sweep(plan(ring), measure=queue, out=tmp_path).complete


def test_a_measure_that_changes_measures_again(ring: Path, tmp_path: Path) -> None:
    """In whatever way it differs: the columns are those of the measure that was given."""

    class Bound:
        def __init__(self, n: int) -> None:
            self.n = n

        def __call__(self, run: xoff.Run) -> dict[str, object]:
            return {"x": self.n}

    def of(n: object, run: xoff.Run) -> dict[str, object]:
        return {"x": n}

    def closure(n: int) -> Any:
        return lambda run: {"x": n}

    def changing(run: xoff.Run) -> dict[str, object]:
        return {"x": FACTOR * run.flows.height}

    pairs: dict[str, tuple[Any, Any]] = {
        "attribute": (lambda run: {"x": run.flows.height}, lambda run: {"x": run.ports.height}),
        "default": (lambda run, n=1: {"x": n}, lambda run, n=2: {"x": n}),
        "closure": (closure(1), closure(2)),
        "inner function": (lambda run: {"x": (lambda: 1)()}, lambda run: {"x": (lambda: 2)()}),
        "partial": (functools.partial(of, 1), functools.partial(of, 2)),
        "object": (Bound(1), Bound(2)),
        "method": (Bound(1).__call__, Bound(2).__call__),
    }
    small = plan(ring, seeds=1, grid={}, set={"run.duration": "100us"})
    for name, both in pairs.items():
        first, second = (xoff.sweep(small, measure=f, out=tmp_path / name).runs["x"][0] for f in both)
        assert first != second, name
    assert identity(pairs["partial"][0]) == identity(functools.partial(of, 1)) != identity(pairs["partial"][1])

    global FACTOR
    before = identity(changing)
    FACTOR = 2
    assert identity(changing) != before
    # What cannot be examined is measured again.
    with open(ring) as file:
        assert identity(functools.partial(of, file)) != identity(functools.partial(of, file))


def test_a_measure_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Whatever order its sets have there, and whether its module was compiled before or just now."""
    (tmp_path / "mine.py").write_text(
        "import statistics\nimport polars as pl\nimport numpy as np\nWORDS = {'a', 'b', 'c', 'dd'}\n"
        "class Help:\n    def of(self, x):\n        return statistics.mean(x), np.mean(x), WORDS\n"
        "def again(n):\n    return again(n - 1) if n else Help()\n"
        "def measure(run, by=pl.col('bytes'), table=np.arange(3)):\n"
        "    return {'x': again(2).of([1]), 'y': 'a' in {'a', 'b', 'ccc'}, 'z': [by for _ in table]}\n"
    )
    script = "from xoff._identity import identity; import mine; print(identity(mine.measure))"
    names = set()
    for seed in "123":
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        names.add(subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout)
    assert len(names) == 1


def test_a_measure_has_columns_of_its_own(ring: Path) -> None:
    for name in ("seed", "run", "status", "deadlock", "flow_control"):
        sweep = xoff.sweep(plan(ring, seeds=1, set={"run.duration": "100us"}), measure=lambda run, name=name: {name: 3})  # type: ignore[misc]
        assert len(sweep.failed) == 4 and f"'{name}' is a column of the results already" in sweep.failed[0]["error"]


def test_a_plan_is_any_mapping(ring: Path) -> None:
    """Sections nest, None leaves what the file says, arrays are lists, and every character of a text or a key is kept."""
    np = pytest.importorskip("numpy")
    flat = plan(ring, set={"run.duration": "100us", "run.title": "x", "flow_control.pfc.xoff": "700KB", "flow_control.pfc.xon": "600KB"})
    nested = plan(
        ring,
        set={"run": {"duration": np.str_("100us"), "title": "x"}, "flow_control__pfc": {"xoff": "700KB", "xon": "600KB"}, "host.frame_max": None},
        grid={"flow_control": np.array(["pfc", "gfc-buffer"]), "switch": {"discipline": ("fifo", "round-robin")}},
        seeds=np.array([1, 2]),
        title=None,
        point=None,
    )
    assert xoff.sweep(nested).runs.equals(xoff.sweep(flat).runs)
    points = xoff.sweep(plan(ring, grid={}, set={}, point=[{"run": {"duration": "100us"}}, {"run.duration": "200us", "host.frame_max": None}]))
    assert points.runs["run.duration"].to_list() == ["100us", "100us", "200us", "200us"]
    title = "\U0001f980 \x7f\t\n \"quoted\" 'single' \\ / = 100 %"
    assert xoff.sweep(plan(ring, seeds=1, title=title, grid={}, set={"run.duration": "100us"})).manifest["title"] == title
    whats: list[dict[str, Any]] = [{"grid": {"\U0001f980": ["a"]}}, {"set": {"probes.queues": ["\U0001f980"]}}]
    for what in whats:
        with pytest.raises(xoff.ScenarioError, match="\U0001f980"):
            xoff.sweep(plan(ring, **what))
    with pytest.raises(xoff.ScenarioError, match="\U0001f980"):
        xoff.run(ring, {"probes.queues": ["\U0001f980"]})
    for wrong, words in (({"grid": {1: ["a"]}}, "a key is a text"), ({"point": {"a": 1}}, "a list of mappings"), ({"point": ["a"]}, "a mapping")):
        with pytest.raises(TypeError, match=words):
            xoff.sweep(plan(ring, **wrong))


def test_executors_that_are_none(ring: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="has a method submit; int has none"):
        xoff.sweep(plan(ring), 3)  # type: ignore[arg-type]

    class Returns:
        """What another version may return for some runs."""

        def submit(self, fn: Any, plan: str, index: int, measure: Any) -> concurrent.futures.Future[Any]:
            future: concurrent.futures.Future[Any] = concurrent.futures.Future()
            future.set_result({3: None, 4: ("x", []), 5: ("{}", []), 6: 3}.get(index) if index in (3, 4, 5, 6) else fn(plan, index, measure))
            return future

    with pytest.raises(xoff.RunError, match="4 of 8 runs did not come back; run 3 ") as e:
        xoff.sweep(plan(ring), Returns(), out=tmp_path)
    assert e.value.partial.missing == [3, 4, 5, 6]  # type: ignore[attr-defined]
    assert xoff.sweep(plan(ring), out=tmp_path).complete


def test_one_seed_has_no_interval(ring: Path) -> None:
    sweep = xoff.sweep(plan(ring, seeds=1))
    assert sweep.table.schema["low"] == sweep.table.schema["difference_high"] == pl.Float64
    none = sweep.table.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    assert len(dataclasses.replace(sweep, table=none).plot("throughput_bps").axes) == 1


def test_a_failing_run_is_a_row(ring: Path, tmp_path: Path) -> None:
    # Alone both are right; together the buffer is smaller than the threshold needs.
    grid = {"switch.buffer": ["1MB", "100KB"], "flow_control": ["none", "pfc"]}
    with pytest.warns(xoff.ScenarioWarning, match="1 of 4 runs failed"):
        sweep = xoff.sweep({"scenario": str(ring), "grid": grid, "set": {"run.duration": "1ms"}, "seeds": 1}, out=tmp_path)
    assert sweep.runs["status"].to_list() == ["done", "done", "done", "failed"]
    assert "xoff" in sweep.failed[0]["error"] and not sweep.complete
    assert sweep.failed[0]["error"].split("\n")[0] in (tmp_path / "index.html").read_text().replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")


def test_wrong_plans_have_a_place(ring: Path, tmp_path: Path) -> None:
    with pytest.raises(xoff.ScenarioError, match="unknown kind 'pfcc'") as e:
        xoff.sweep(plan(ring, grid={"flow_control": ["pfc", "pfcc"]}))
    assert (e.value.file, e.value.line) == ("plan", 10) and "did you mean 'pfc'" in e.value.hint
    with pytest.raises(xoff.ScenarioError, match="unknown key 'gird'"):
        xoff.sweep({"scenario": str(ring), "gird": {}})
    with pytest.raises(TypeError, match=r"flow_control: expected a list of values, such as \['pfc'\]"):
        xoff.sweep(plan(ring, grid={"flow_control": "pfc"}))
    with pytest.raises(xoff.ScenarioNotFoundError):
        xoff.sweep(tmp_path / "none.toml")
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(xoff.RunError, match="did not write: 'mine.txt'"):
        xoff.sweep(plan(ring), out=tmp_path)


def test_an_interrupt_keeps_what_is_finished(ring: Path, tmp_path: Path) -> None:
    long = plan(ring, seeds=400, set={"run.duration": "20ms", "control_delay.processing_jitter": "5us"})
    started = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        xoff.sweep(long, out=tmp_path)
    assert time.monotonic() - started < 20
    kept = len(list(tmp_path.glob("finished/*/*.json")))
    assert 0 < kept < 1600
    # The folder is free, and a smaller plan of the same runs keeps what it has.
    small = xoff.sweep(long | {"seeds": 3}, out=tmp_path)
    assert small.complete and len(list(tmp_path.glob("finished/*/*.json"))) < kept + 12


def test_a_plan_that_grows_keeps_its_cells(ring: Path, tmp_path: Path) -> None:
    xoff.sweep(plan(ring, seeds=1), out=tmp_path / "a")
    before = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "a").glob("finished/*/*.json")}
    xoff.sweep(plan(ring, seeds=2), out=tmp_path / "a")
    after = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "a").glob("finished/*/*.json")}
    assert len(before) == 4 and len(after) == 8 and before.items() <= after.items()
    xoff.sweep(plan(ring, seeds=2), out=tmp_path / "b")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def die_once(flag: str) -> None:
    """Ends the process the first time."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_dead_workers_lose_nothing(ring: Path, tmp_path: Path) -> None:
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        with pytest.raises(concurrent.futures.process.BrokenProcessPool):
            processes.submit(die_once, str(tmp_path / "flag")).result()
        with pytest.raises(xoff.RunError, match="8 of 8 runs did not come back.*the same call continues") as e:
            xoff.sweep(plan(ring), processes, out=tmp_path / "a")
    assert getattr(e.value, "partial").missing == list(range(8))  # noqa: B009
    assert xoff.sweep(plan(ring), out=tmp_path / "a").complete


CLIENT = """
import sys, xoff
from distributed import Client

if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        print(xoff.sweep(sys.argv[2], client, out=sys.argv[3], progress=False).headline)
"""


def test_dask_killed_twice_and_a_worker_in_the_middle(ring: Path, tmp_path: Path, full: bool) -> None:
    """200 runs, or a thousand with --full, by a scheduler and two workers, processes on the loopback address. The client is killed
    twice, a worker once."""
    pytest.importorskip("distributed")
    seeds = 250 if full else 50
    file = tmp_path / "plan.toml"
    grid = 'flow_control = ["pfc", "gfc-buffer"]\nswitch.discipline = ["fifo", "round-robin"]'
    jitter = 'control_delay.processing_jitter = "5us"'
    file.write_text(f'scenario = "{ring}"\nseeds = {seeds}\n[set]\nrun.duration = "200us"\n{jitter}\n[grid]\n{grid}\n')
    xoff.sweep(file, out=tmp_path / "local")
    (tmp_path / "client.py").write_text(CLIENT)
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> subprocess.Popen[str]:
        quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "cwd": tmp_path}
        started.append(subprocess.Popen([sys.executable, *args], **quiet))
        return started[-1]

    def kept() -> int:
        return len(list(tmp_path.glob("dask/finished/*/*.json")))

    def kill_at(process: subprocess.Popen[str], cells: int) -> None:
        until = time.monotonic() + 90
        while kept() < cells and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        assert process.poll() is None and kept() >= cells
        process.kill()
        process.wait()

    try:
        described = tmp_path / "scheduler.json"
        scheduler = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(described)]
        start("-m", "distributed.cli.dask_scheduler", *scheduler)
        while not described.exists() or not described.read_text():
            time.sleep(0.05)
        address = json.loads(described.read_text())["address"]
        worker = ["-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard"]
        workers = [start(*worker), start(*worker)]
        sweep = ["client.py", address, str(file), str(tmp_path / "dask")]
        kill_at(start(*sweep), seeds // 2)
        kill_at(start(*sweep), seeds)
        last = start(*sweep)
        kill_at(workers[0], 2 * seeds)
        assert last.communicate(timeout=120)[0] == f"{4 * seeds} of {4 * seeds} runs done\n"
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert digest(tmp_path / "local") == digest(tmp_path / "dask")


def test_a_point_may_have_a_seed_of_its_own(ring: Path, tmp_path: Path) -> None:
    points = [{"run.duration": "3ms", "run.seed": 2}, {"run.duration": "4ms", "run.seed": 5}, {"run.duration": "4ms"}]
    own = xoff.sweep({"scenario": ring, "point": points}, out=tmp_path, progress=False)
    assert own.runs["seed"].to_list() == [2, 5, 1]
    kept = sorted((tmp_path / "finished").rglob("*.json"))
    # The same runs as those of plans with these seeds.
    for point, seeds in (("3ms", [2]), ("4ms", [5, 1])):
        xoff.sweep({"scenario": ring, "point": [{"run.duration": point}], "seeds": seeds}, out=tmp_path, progress=False)
    assert sorted((tmp_path / "finished").rglob("*.json")) == kept
    with pytest.raises(xoff.ScenarioError, match=r"'run.seed' is no parameter"):
        xoff.sweep({"scenario": ring, "point": points, "seeds": 2})
    with pytest.raises(xoff.ScenarioError, match="expected a whole number, 0 or more"):
        xoff.sweep({"scenario": ring, "point": [{"run.seed": "two"}]})


def test_frames_are_kept_with_their_run(ring: Path, tmp_path: Path) -> None:
    plan = {"scenario": ring, "set": {"run.duration": "3ms"}, "grid": {"flow_control": ["pfc", "gfc-buffer"]}}
    swept = xoff.sweep(plan, out=tmp_path, measure=ports_of, progress=False)
    assert swept.runs["ports"].to_list() == [12, 12]
    files = list((tmp_path / "finished").rglob("*.names.parquet"))
    assert len(files) == 2 and all("H1->S1" in pl.read_parquet(f)["port"].to_list() for f in files)


def ports_of(run: xoff.Run) -> dict[str, object]:
    return {"ports": run.ports.height, "names": run.ports.select(pl.col("port").cast(pl.String))}

"""Load balancers side by side: runs the study of docs/load-balancers.md and writes its tables and figures.

    python scenarios/balancing/study.py            # quick: 4 seeds
    python scenarios/balancing/study.py --full     # 10 seeds, 1 ms of random traffic
    python scenarios/balancing/study.py --record   # also writes the tables into the page

Results are in out/balancing. A run that has finished is kept, and the same call continues.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import xoff

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "load-balancers.md"
START, END = "<!-- measured by scenarios/balancing/study.py -->", "<!-- end of the measured part -->"

LAWS: dict[str, dict[str, Any]] = {
    "ecmp": {"load_balancing.kind": "ecmp"},
    "wcmp": {"load_balancing.kind": "wcmp"},
    "flowlet": {"load_balancing.kind": "flowlet"},
    "conga": {"load_balancing.kind": "conga"},
    "conweave": {"load_balancing.kind": "conweave"},
    "drill": {"load_balancing.kind": "drill"},
    "spray-random": {"load_balancing.kind": "spray-random"},
    "spray-round-robin": {"load_balancing.kind": "spray-round-robin"},
    "adaptive": {"load_balancing.kind": "adaptive"},
    "adaptive, takes paused ports": {"load_balancing.kind": "adaptive", "load_balancing.adaptive.paused": "take"},
}
FLOW_CONTROLS: dict[str, dict[str, Any]] = {
    "PFC": {"flow_control.kind": "pfc"},
    "CBFC": {"flow_control.kind": "cbfc"},
    "UEC credits": {"flow_control.kind": "uec-cbfc"},
    "lossy": {"flow_control.kind": "pfc", "flow_control.lossy": ["0"], "host.recovery": "selective", "host.rto": "100us"},
}
# Loads are those of the uplinks: a leaf has 16 hosts and 8 uplinks, and 112 of 127 destinations are beyond it.
UPLINK = 0.5 * 127 / 112
RANDOM: dict[str, dict[str, Any]] = {
    "leaf-spine, 50 %": {"workload[0].load": 0.5 * UPLINK},
    "leaf-spine, 80 %": {"workload[0].load": 0.8 * UPLINK},
    "80 %, a link failed": {"workload[0].load": 0.8 * UPLINK, "failure[0].link": "L1-S1", "failure[0].at": "0us"},
    "80 %, a link at half rate": {"workload[0].load": 0.8 * UPLINK, "topology.kind": "file", "topology.path": "half-rate.toml"},
    "fat-tree, 50 %": {"topology.kind": "fat-tree", "topology.k": 8, "topology.rate": "100Gbps", "workload[0].duration": "150us", "workload[0].load": 0.5},
    "fat-tree, 80 %": {"topology.kind": "fat-tree", "topology.k": 8, "topology.rate": "100Gbps", "workload[0].duration": "150us", "workload[0].load": 0.8},
}
JOBS: dict[str, dict[str, Any]] = {
    "all-to-all": {"collective[0].kind": "all-to-all", "collective[0].size": "1016KB"},
    "ring all-reduce": {"collective[0].kind": "all-reduce", "collective[0].size": "1280KB"},
}

FAULTY_JOBS: dict[str, dict[str, Any]] = {
    f"{name}, a link {fault}": {**job, **change}
    for name, job in JOBS.items()
    for fault, change in {
        "failed": {"failure[0].link": "L1-S1", "failure[0].at": "0us"},
        "at half rate": {"topology.kind": "file", "topology.path": "half-rate.toml"},
    }.items()
}

Point = tuple[str, str, str]


def points(situations: dict[str, dict[str, Any]], controls: Iterable[str], more: dict[str, Any]) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Every law under each of these flow controls in every situation; CONGA and ConWeave need two tiers."""
    for situation, a in situations.items():
        for control in controls:
            b = FLOW_CONTROLS[control]
            for law, c in LAWS.items():
                if not (law in ("conga", "conweave") and "fat-tree" in situation):
                    yield (situation, control, law), {**a, **b, **c, **more}


def measure(run: xoff.Run) -> dict[str, float | int | None]:
    """Numbers of a run that a sweep does not have."""
    flows, ports, uplinks = run.flows, run.ports, run.uplinks
    payload = int(flows["size_bytes"].sum())
    pauses = run.pauses.select(pl.col("port").cast(pl.String), "start_ps", pl.col("end_ps").fill_null(pl.col("start_ps").max()))
    found: dict[str, float | int | None] = {
        "last_us": max(flows["end_ps"].max() or 0, 0) / 1e6,
        "ahead": int(flows["frames_ahead"].fill_null(0).sum()) / max(payload / 1000, 1),
        "jain": uplinks["jain"].mean() if len(uplinks) else None,
        "lost_share": run.lost_frames / max(payload / 1000, 1),
        "paused_us": int((pauses["end_ps"] - pauses["start_ps"]).sum()) / 1e6,
        "paused_hosts": pauses.filter(pl.col("port").str.starts_with("H"))["port"].n_unique(),
        "paused_links": pauses.filter(~pl.col("port").str.starts_with("H"))["port"].n_unique(),
        "at_once": 0,
        "roots": 0,
        "depth": 0,
        "widest": 0,
    }
    if len(pauses):
        # The instant at which most ports are paused, and the pause trees then.
        steps = pl.concat([pauses.select(t="start_ps", d=pl.lit(1, pl.Int64)), pauses.select(t="end_ps", d=pl.lit(-1, pl.Int64))]).sort("t", "d")
        steps = steps.with_columns(n=pl.col("d").cum_sum())
        peak = steps.row(int(steps["n"].arg_max() or 0), named=True)
        found["at_once"] = int(peak["n"])
        branches = run.tree(int(peak["t"]), progress=False).branches
        parents = [b.parent for b in branches]

        def up(at: int) -> list[int]:
            way = [at]
            while (parent := parents[way[-1]]) is not None and parent not in way:
                way.append(parent)
            return way

        ways = [up(at) for at in range(len(branches))]
        below: dict[int, int] = {}
        for way in ways:
            below[way[-1]] = below.get(way[-1], 0) + 1
        found["roots"] = len(below)
        found["widest"] = max(below.values(), default=1) - 1
        found["depth"] = max((len(way) for way in ways), default=1) - 1
    return found


def sweep(
    name: str, scenario: str, situations: dict[str, dict[str, Any]], full: bool, controls: Iterable[str] = FLOW_CONTROLS, more: dict[str, Any] | None = None
) -> pl.DataFrame:
    """A row for each run, with its situation, flow control and law."""
    named = list(points(situations, controls, more or {}))
    seeds = 10 if full else 4
    plan = {"title": "Load balancers", "scenario": str(HERE / scenario), "seeds": seeds, "point": [values for _, values in named]}
    out = ROOT / "out" / "balancing" / ("full" if full else "quick") / name
    # One process would run the measures one by one; a fork after Polars has its threads would hang.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as executor:
        result = xoff.sweep(plan, executor, out=out, measure=measure)
    names = pl.DataFrame([p for p, _ in named], schema=["situation", "control", "law"], orient="row").with_row_index("point")
    return result.runs.with_columns((pl.col("run") // seeds).cast(pl.UInt32).alias("point")).join(names, on="point")


def roots(folder: Path) -> dict[str, list[int]]:
    """Under each law and flow control: how many ports waited for an uplink, for a link from a spine to a leaf, for a link to a host.

    Leaf-spine at 80 %, seed 1, at twelve instants at which a port was paused.
    """
    file = folder / "roots.json"
    found: dict[str, list[int]] = json.loads(file.read_text()) if file.exists() else {}
    for control in ("PFC", "CBFC"):
        for law in LAWS:
            name = f"{law}, {control}"
            if name in found:
                continue
            settings = {**RANDOM["leaf-spine, 80 %"], **FLOW_CONTROLS[control], **LAWS[law]}
            run = xoff.run(HERE / "fabric.toml", settings, seed=1, progress=False)
            starts = sorted(run.pauses["start_ps"].to_list())
            counts = [0, 0, 0]
            for at in starts[:: max(1, len(starts) // 12)][:12]:
                branches = run.tree(at, progress=False).branches
                for nth in range(len(branches)):
                    root, seen = nth, {nth}
                    while (parent := branches[root].parent) is not None and parent not in seen:
                        root = parent
                        seen.add(root)
                    if root != nth:
                        port = branches[root].port
                        counts[2 if "->H" in port else 0 if port.startswith("L") else 1] += 1
            found[name] = counts
            file.write_text(json.dumps(found))
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 95 % interval (Student's t)."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, 0.0
    quantile = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)[n - 2]  # 2 to 10 seeds
    return mean, quantile * math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)


class Results:
    """All runs, by situation, flow control and law; seeds in order."""

    def __init__(self, runs: pl.DataFrame) -> None:
        self.runs = runs.sort("seed")

    def values(self, situation: str, control: str, law: str, column: str) -> list[float]:
        of = self.runs.filter((pl.col("situation") == situation) & (pl.col("control") == control) & (pl.col("law") == law))
        return [float(v) for v in of[column].to_list() if v is not None]

    def mean(self, situation: str, control: str, law: str, column: str) -> float | None:
        values = self.values(situation, control, law, column)
        return sum(values) / len(values) if values else None

    def against_ecmp(self, situation: str, control: str, law: str, column: str) -> str:
        """The mean; for a law other than ECMP also the change, seed by seed, with its interval."""
        values = self.values(situation, control, law, column)
        if not values:
            return "-"
        mean = sum(values) / len(values)
        text = f"{mean:.0f}" if mean >= 100 else f"{mean:.2f}"
        if law == "ecmp":
            return text
        ratios = [math.log(v / e) for v, e in zip(values, self.values(situation, control, "ecmp", column), strict=True)]
        if not any(ratios):
            return f"{text} (the same)"
        change, half = interval(ratios)
        low, high = (100 * (math.exp(x) - 1) for x in (change - half, change + half))
        return f"{text} ({100 * (math.exp(change) - 1):+.0f} %: {low:+.0f} to {high:+.0f})"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def tables(r: Results, waits: dict[str, list[int]]) -> str:
    """The measured part of the page."""
    def cell(situation: str, control: str, law: str, column: str, form: str, scale: float = 1) -> str:
        mean = r.mean(situation, control, law, column)
        return "-" if mean is None else format(mean * scale, form)

    out = [f"Measured with xoff {xoff.__version__}, {r.runs.height:,} runs, seeds {r.runs['seed'].min()} to {r.runs['seed'].max()}.\n"]
    for control in FLOW_CONTROLS:
        out.append(f"### Slowdown under {control}\n\n99th percentile over the flows:\n")
        out.append(table(["law", *RANDOM], [[law, *(r.against_ecmp(s, control, law, "slowdown_p99") for s in RANDOM)] for law in LAWS]))
    out.append("### Collectives\n\nTime of one iteration [us]:\n")
    for job in JOBS:
        out.append(table([job, *FLOW_CONTROLS], [[law, *(r.against_ecmp(job, c, law, "last_us") for c in FLOW_CONTROLS)] for law in LAWS]))
    out.append("With a fault, under PFC [us]:\n")
    out.append(table(["law", *FAULTY_JOBS], [[law, *(r.against_ecmp(s, "PFC", law, "last_us") for s in FAULTY_JOBS)] for law in LAWS]))
    out.append("### How far a pause spreads\n")
    heads = ["law", "port-time paused [us]", "hosts paused", "links between switches paused", "paused at once", "widest tree", "depth"]
    columns = [("paused_us", ".0f"), ("paused_hosts", ".1f"), ("paused_links", ".1f"), ("at_once", ".1f"), ("widest", ".1f"), ("depth", ".1f")]
    for situation, control in [("leaf-spine, 80 %", c) for c in ("PFC", "CBFC", "UEC credits")] + [(s, "PFC") for s in ("80 %, a link failed", "80 %, a link at half rate", "fat-tree, 80 %", "all-to-all")]:
        out.append(f"{situation}, {control}:\n")
        out.append(table(heads, [[law, *(cell(situation, control, law, c, f) for c, f in columns)] for law in LAWS if r.values(situation, control, law, "at_once")]))
    out.append("Ports that wait, by the link at the root of their tree (leaf-spine, 80 %, seed 1, twelve instants):\n")
    kinds = ["an uplink", "spine to leaf", "leaf to host"]
    rows = [[law, *(str(n) for c in ("PFC", "CBFC") for n in waits[f"{law}, {c}"])] for law in LAWS]
    out.append(table(["law", *(f"{kind}, {c}" for c in ("PFC", "CBFC") for kind in kinds)], rows))
    out.append("### What a law does to the order of frames and to the uplinks\n\nLeaf-spine at 80 %, PFC, and for lost frames the lossy network:\n")
    rows = [
        [law, cell("leaf-spine, 80 %", "PFC", law, "jain", ".3f"), cell("leaf-spine, 80 %", "PFC", law, "ahead", ".1f", 100)]
        + [cell(s, "lossy", law, "lost_share", ".2f", 100) for s in ("leaf-spine, 80 %", "80 %, a link failed", "80 %, a link at half rate")]
        for law in LAWS
    ]
    out.append(table(["law", "Jain's index of the uplinks", "frames that overtook [%]", "lost [%]", "lost, a link failed [%]", "lost, half rate [%]"], rows))
    return "\n".join(out)


def figure(r: Results, path: Path) -> None:
    """Slowdown and paused ports of each law under PFC."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    situations = ["leaf-spine, 50 %", "leaf-spine, 80 %", "80 %, a link failed", "80 %, a link at half rate", "fat-tree, 80 %"]
    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    laws = list(LAWS)[::-1]
    colours = ["#56B4E9", "#0072B2", "#D55E00", "#E69F00", "#009E73"]
    for nth, (situation, colour) in enumerate(zip(situations, colours, strict=True)):
        for axis, column in ((left, "slowdown_p99"), (right, "at_once")):
            places, means, halves = [], [], []
            for at, law in enumerate(laws):
                values = r.values(situation, "PFC", law, column)
                if values:
                    mean, half = interval(values)
                    places.append(at + 0.3 - 0.15 * nth)
                    means.append(mean)
                    halves.append(half)
            axis.errorbar(means, places, xerr=halves, fmt="o", ms=4, lw=1, color=colour, label=situation)
    left.set_yticks(range(len(laws)), laws)
    left.set_xlabel("slowdown, 99th percentile of the flows")
    right.set_xlabel("ports paused at once, at the worst instant")
    for axis in (left, right):
        axis.set_xlim(left=0)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
    left.legend(fontsize=8, loc="lower right")
    fig.suptitle("Load balancers under PFC: means and 95 % intervals over the seeds", fontsize=11)
    fig.tight_layout()
    fig.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10 seeds, 1 ms of random traffic")
    parser.add_argument("--record", action="store_true", help="write the tables into docs/load-balancers.md")
    args = parser.parse_args()
    longer = {"workload[0].duration": "1ms"} if args.full else None
    runs = pl.concat(
        [
            sweep("random", "fabric.toml", RANDOM, args.full, more=longer),
            sweep("jobs", "collectives.toml", JOBS, args.full),
            sweep("faulty-jobs", "collectives.toml", FAULTY_JOBS, args.full, ["PFC"]),
        ],
        how="diagonal_relaxed",
    )
    results, out = Results(runs), ROOT / "out" / "balancing" / ("full" if args.full else "quick")
    measured = tables(results, roots(out))
    (out / "tables.md").write_text(measured)
    figure(results, out / "load-balancers.png")
    print(f"{out / 'tables.md'}\n{out / 'load-balancers.png'}")
    if args.record:
        page = PAGE.read_text()
        before, rest = page.split(START)
        PAGE.write_text(f"{before}{START}\n\n{measured}\n{END}{rest.split(END)[1]}")
        figure(results, PAGE.with_suffix(".png"))


if __name__ == "__main__":
    main()

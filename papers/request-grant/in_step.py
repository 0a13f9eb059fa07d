"""Fig. 14, and which traffic is worst: headers that cost nothing, paths round robin, and the pair i to i."""

from __future__ import annotations

from typing import Any

import polars as pl
from xoff.lab import Mean, Results, Row, Runs, units

from .metrics import lowest, mean, outcome, queues, quick, words
from .unbalanced import WORKLOADS, series

__all__ = ["outcome", "quick"]

SHARES = {(64, False): [0.0, 0.5, 1.0], (256, False): [0.5], (64, True): [0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0], (256, True): [0.0, 0.25, 0.5, 0.75, 1.0]}
"""Shares w of an input's load that go to the output of its number, by ports and mode."""


# ---- runs -------------------------------------------------------------------------------------------------------------------------


def during(start: int, stop: int) -> dict[str, Any]:
    """Measured from and to these times, in twenty stretches [t_min]."""
    return {"run.warm_up": f"{start * 3200}ps", "run.duration": f"{stop * 3200}ps", "run.window": f"{stop * 160}ps"}


def _settings(r: Results, ports: int, workload: str, w: float) -> dict[str, Any]:
    packets, longer = WORKLOADS[workload]
    start, stop = (6_000, 20_000) if r.full else (3_000, 10_000)
    if ports == 256:
        start, stop = (6_000, 20_000) if r.full else (4_000, 9_000)
        longer = min(longer, 5 if r.full else 3)
    return packets | {"scheduled_fabric.radix": 8 if ports == 64 else 16, "traffic.w": w} | during(start * longer, stop * longer)


def _cases(r: Results, ports: int) -> dict[str, dict[str, Any]]:
    return {f"{workload} at {w}": _settings(r, ports, workload, w) for workload in WORKLOADS for w in SHARES[ports, r.full]}


def of_64(r: Results) -> dict[str, dict[str, Any]]:
    return _cases(r, 64)


def of_256(r: Results) -> dict[str, dict[str, Any]]:
    return _cases(r, 256)


def at_random(r: Results) -> dict[str, dict[str, Any]]:
    """The workload that falls short, with the segments of a flow on paths at random."""
    return {f"40 B, smooth at {w}": _settings(r, 256, "40 B, smooth", w) | {"scheduled_fabric.spray": "random"} for w in SHARES[256, r.full]}


def long(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets of 40 B at w = 0.5, for longer; and with nothing sent unasked."""
    of = {"N = 64": (64, True), "N = 256": (256, True), "N = 256, nothing unsolicited": (256, False)}
    return {
        name: _settings(r, ports, "40 B, smooth", 0.5) | {"scheduled_fabric.unsolicited": unsolicited} | during(UNTIL[r.full] // 4, UNTIL[r.full])
        for name, (ports, unsolicited) in of.items()
    }


UNTIL = {False: 10_000, True: 60_000}


# ---- throughput ---------------------------------------------------------------------------------------------------------------------


def throughput(runs: Runs) -> dict[str, dict[float, Mean]]:
    return {workload: {w: mean(rows, "cold") for w, rows in of.items()} for workload, of in series(runs).items()}


def _lowest(runs: Runs) -> dict[str, tuple[Mean, float]]:
    """Lowest mean throughput of a workload, and its w."""
    return {workload: min(((m, w) for w, m in of.items()), key=lambda one: one[0].mean) for workload, of in throughput(runs).items()}


def workloads(r: Results) -> list[str]:
    return list(WORKLOADS)


def lowest_of(r: Results) -> dict[str, Mean]:
    return {workload: m for workload, (m, _) in _lowest(r["throughput"]).items()}


def lowest_of_all(r: Results) -> Mean:
    return lowest(list(lowest_of(r).values()))


def lowest_in_words(r: Results) -> str:
    return ", ".join(f"{workload} {m.mean:.3f} (at w = {w:g})" for workload, (m, w) in _lowest(r["throughput"]).items())


def stuck(r: Results) -> int:
    """Runs with a reassembly deadlock."""
    return sum(row["stuck"] != "" for row in r["throughput"])


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Workload": workload,
            "w": f"{w:.2f}",
            "Throughput": words(mean(rows, "cold"), 3),
            "Mean delay": f"{mean(rows, 'delay').mean:.0f}",
            "Control": units.share(mean(rows, "control").mean),
            "Unsolicited": units.share(mean(rows, "unsolicited").mean),
            "Overtaken": units.share(mean(rows, "overtaken").mean),
            "Longest queue by stage": queues(rows),
        }
        for workload, of in series(r["throughput"]).items()
        for w, rows in of.items()
    ]


def random_lowest(r: Results) -> Mean:
    return lowest(list(throughput(r["random"])["40 B, smooth"].values()))


def random_in_words(r: Results) -> dict[str, str]:
    by_w = throughput(r["random"])["40 B, smooth"]
    return {"lowest": f"{random_lowest(r).mean:.3f}", "by_w": ", ".join(f"{m.mean:.3f} at w = {w:g}" for w, m in by_w.items())}


# ---- which traffic is worst -----------------------------------------------------------------------------------------------------------


def smooth(r: Results) -> dict[str, tuple[Mean, float]]:
    return {ports: _lowest(r[ports])["40 B, smooth"] for ports in ("64", "256")}


def smooth_w(r: Results) -> float:
    return smooth(r)["256"][1]


def _others(r: Results, ports: str) -> Mean:
    return lowest([m for workload, (m, _) in _lowest(r[ports]).items() if workload != "40 B, smooth"])


def less(r: Results) -> dict[str, Mean]:
    """Lowest throughput of smooth packets of 40 B minus that of the others, by ports."""
    return {ports: smooth(r)[ports][0].less(_others(r, ports)) for ports in ("64", "256")}


def control(r: Results) -> dict[str, dict[str, float]]:
    """Share of all bytes that are stand-alone control segments at the w in the middle, by ports and workload."""

    def middle(of: dict[float, list[Row]]) -> list[Row]:
        return list(of.values())[len(of) // 2]

    return {ports: {workload: mean(middle(of), "control").mean for workload, of in series(r[ports]).items()} for ports in ("64", "256")}


def worst_in_words(r: Results) -> dict[str, str]:
    numbers = {f"smooth_{ports}": smooth(r)[ports][0].mean for ports in ("64", "256")} | {f"others_{p}": _others(r, p).mean for p in ("64", "256")}
    ends = {row["case"]: sum(row["stretches"]["cold"][-5:].reverse()) / 5 for row in r["long"]}
    return {name: f"{value:.3f}" for name, value in (numbers | ends).items()} | {"w": f"{smooth_w(r):g}", "until": f"{UNTIL[r.full]}"}


def course_of_256(r: Results) -> dict[str, str]:
    row = r["long"]["N = 256"]
    low = row["stretches"].filter(pl.col("cold") < 0.88)["end"]
    return {
        "falls": f"is below 0.88 from {low[0]:.0f} t_min on" if len(low) else "stays above 0.88",
        "queues": str([row[f"queue_{n}"] for n in range(row["stages"])]),
        "waits": str([row[f"waits_{n}"] for n in range(row["stages"] + 1)]),
        "unsolicited": units.share(row["unsolicited"]),
    }

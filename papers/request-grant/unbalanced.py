"""Fig. 13: throughput under unbalanced traffic, N = 64."""

from __future__ import annotations

from typing import Any

from xoff.lab import Mean, Results, Row, Runs, units

from .metrics import lowest, mean, outcome, queues, quick, words

__all__ = ["outcome", "quick"]

SMOOTH = "40 B, smooth"
WORKLOADS: dict[str, tuple[dict[str, Any], int]] = {
    SMOOTH: ({"traffic.size": "40B"}, 1),
    "40 B, bursty": ({"traffic.size": "40B", "traffic.burst": 36}, 2),
    "bimodal": ({"traffic.size": "40B", "traffic.large": "9000B"}, 4),
    "9000 B": ({"traffic.size": "9000B"}, 8),
}
"""Packets, and how much longer a run is: VOQs of large packets take longer to fill."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares w of an input's load that go to one output."""
WINDOWS = {"3,000 to 10,000": (3, 10), "5,000 to 15,000": (5, 15)}
"""Times in which throughput is measured, for smooth packets [1000 t_min]. There is no steady state."""


# ---- runs -------------------------------------------------------------------------------------------------------------------------


def during(start: int, stop: int, stretch: int) -> dict[str, Any]:
    """Delays from and to these times, stretches so long [t_min]."""
    return {"run.warm_up": f"{start * 3200}ps", "run.duration": f"{stop * 3200}ps", "run.window": f"{stretch * 3200}ps"}


def _settings(r: Results, workload: str, w: float) -> dict[str, Any]:
    packets, longer = WORKLOADS[workload]
    times = during(3_000 * longer, (15_000 if r.full else 10_000) * longer, 1_000 * longer)
    return packets | {"scheduled_fabric.radix": 8, "traffic.w": w} | times


def of_64(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets at every w; the others, which lose less, in between."""
    points = [(workload, w) for workload in WORKLOADS for w in SHARES if 0 < w < 1 or workload == SMOOTH]
    return {f"{workload} at {w}": _settings(r, workload, w) for workload, w in points if r.full or w in (0.5, 0.75)}


def one_to_one(r: Results) -> dict[str, dict[str, Any]]:
    """Jumbo frames at w = 1; a segment that is cut through holds the crossbar or not."""
    return {name: _settings(r, "9000 B", 1.0) | own for name, own in (("shared", {}), ("held", {"element.holds": True}))}


# ---- throughput ---------------------------------------------------------------------------------------------------------------------


def series(runs: Runs) -> dict[str, dict[float, list[Row]]]:
    """The runs by workload and w."""
    found: dict[str, dict[float, list[Row]]] = {}
    for row in runs:
        found.setdefault(row["case"].rpartition(" at ")[0], {}).setdefault(row["traffic.w"], []).append(row)
    return found


def between(row: Row, window: str) -> float:
    """Throughput of a run in a window."""
    first, last = WINDOWS[window]
    cold = row["stretches"]["cold"][first:last]
    return float(cold.sum()) / len(cold)


def in_window(rows: list[Row], window: str) -> Mean:
    return mean(rows, lambda row: between(row, window))


def throughput(r: Results) -> dict[str, dict[float, Mean]]:
    """In the window that is judged."""
    return {workload: {w: in_window(rows, r.cell["window"]) for w, rows in of.items()} for workload, of in series(r["throughput"]).items()}


def _lowest(r: Results) -> dict[str, tuple[Mean, float]]:
    """Lowest mean throughput of a workload, and its w."""
    return {workload: min(((m, w) for w, m in of.items()), key=lambda one: one[0].mean) for workload, of in throughput(r).items()}


def workloads(r: Results) -> list[str]:
    return list(WORKLOADS)


def lowest_of(r: Results) -> dict[str, Mean]:
    return {workload: m for workload, (m, _) in _lowest(r).items()}


def lowest_of_all(r: Results) -> Mean:
    return lowest(list(lowest_of(r).values()))


def lowest_in_words(r: Results) -> str:
    return ", ".join(f"{workload} {m.mean:.3f} (at w = {w:g})" for workload, (m, w) in _lowest(r).items())


def stuck(r: Results) -> int:
    """Runs with a reassembly deadlock."""
    return sum(row["stuck"] != "" for row in r["throughput"])


def course(r: Results) -> dict[str, dict[str, str]]:
    """Throughput of smooth packets by w, in its third stretch and in its last one."""
    of = series(r["throughput"])[SMOOTH]
    return {f"{w:g}": {"third": _stretch(rows, 2), "last": _stretch(rows, -1)} for w, rows in of.items()}


def _stretch(rows: list[Row], nth: int) -> str:
    return f"{mean(rows, lambda row: row['stretches']['cold'][nth]).mean:.2f}"


def table(r: Results) -> list[dict[str, str]]:
    windows = list(WINDOWS) if r.full else [r.cell["window"]]
    return [
        {
            "Workload": workload,
            "w": f"{w:.2f}",
            **{window: words(in_window(rows, window), 3) for window in windows},
            "Mean delay": f"{mean(rows, 'delay').mean:.0f}",
            "Control": units.share(mean(rows, "control").mean),
            "Unsolicited": units.share(mean(rows, "unsolicited").mean),
            "Overtaken": units.share(mean(rows, "overtaken").mean),
            "Longest queue by stage": queues(rows),
        }
        for workload, of in series(r["throughput"]).items()
        for w, rows in of.items()
    ]


def one_to_one_throughput(r: Results) -> dict[str, str]:
    return {name: f"{mean(r['one to one'].where(case=name), 'cold').mean:.3f}" for name in ("shared", "held")}

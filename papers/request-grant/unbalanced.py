"""Figs. 13 and 14: throughput under unbalanced traffic, N = 64 and N = 256."""

from __future__ import annotations

from typing import Any

import polars as pl
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


def _settings(r: Results, ports: int, workload: str, w: float) -> dict[str, Any]:
    packets, longer = WORKLOADS[workload]
    times = during(3_000 * longer, (15_000 if r.full else 10_000) * longer, 1_000 * longer)
    return packets | {"scheduled_fabric.radix": 8 if ports == 64 else 16, "traffic.w": w} | times


def of_64(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets at every w; the others, which lose less, in between."""
    points = [(workload, w) for workload in WORKLOADS for w in SHARES if 0 < w < 1 or workload == SMOOTH]
    return {f"{workload} at {w}": _settings(r, 64, workload, w) for workload, w in points if r.full or w in (0.5, 0.75)}


def of_256(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets at the w where they lose most; a run takes a quarter of a minute."""
    return {f"{SMOOTH} at {w}": _settings(r, 256, SMOOTH, w) for w in ((0.0, 0.25, 0.5) if r.full else (0.25, 0.5))}


def others_of_256(r: Results) -> dict[str, dict[str, Any]]:
    return {f"{workload} at 0.5": _settings(r, 256, workload, 0.5) for workload in WORKLOADS if workload != SMOOTH}


def with_header(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets at 256 ports, with the header that Fig. 13 needs."""
    return {f"{SMOOTH} at 0.5": _settings(r, 256, SMOOTH, 0.5) | {"scheduled_fabric.header": "10B"}}


def one_to_one(r: Results) -> dict[str, dict[str, Any]]:
    """Jumbo frames at w = 1; a segment that is cut through holds the crossbar or not."""
    return {name: _settings(r, 64, "9000 B", 1.0) | own for name, own in (("shared", {}), ("held", {"element.holds": True}))}


def long(r: Results) -> dict[str, dict[str, Any]]:
    """Smooth packets of 40 B and 64 ports at w = 0.5, for longer."""
    header = {"scheduled_fabric.header": "10B"}
    times = during(3_000, 40_000 if r.full else 10_000, 1_000)
    return {name: _settings(r, 64, SMOOTH, 0.5) | times | own for name, own in {"no header": {}, "header of 10 B": header}.items()}


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


def judged(r: Results, *names: str) -> dict[str, dict[float, list[Row]]]:
    """The runs of some ``[[run]]`` by workload and w."""
    return {workload: of for name in names for workload, of in series(r[name]).items()}


def throughput(r: Results, *names: str) -> dict[str, dict[float, Mean]]:
    """In the window that is judged."""
    return {workload: {w: in_window(rows, r.cell["window"]) for w, rows in of.items()} for workload, of in judged(r, *names).items()}


def _lowest(r: Results, *names: str) -> dict[str, tuple[Mean, float]]:
    """Lowest mean throughput of a workload, and its w."""
    return {workload: min(((m, w) for w, m in of.items()), key=lambda one: one[0].mean) for workload, of in throughput(r, *names).items()}


def of_claim(r: Results) -> list[str]:
    """The ``[[run]]`` with the workloads of Fig. 13 or 14."""
    return [name for name in ("throughput", "others") if name in r.named]


def workloads(r: Results) -> list[str]:
    return list(judged(r, *of_claim(r)))


def lowest_of(r: Results) -> dict[str, Mean]:
    return {workload: m for workload, (m, _) in _lowest(r, *of_claim(r)).items()}


def lowest_of_all(r: Results) -> Mean:
    return lowest(list(lowest_of(r).values()))


def lowest_in_words(r: Results) -> str:
    return ", ".join(f"{workload} {m.mean:.3f} (at w = {w:g})" for workload, (m, w) in _lowest(r, *of_claim(r)).items())


def header_lowest(r: Results) -> Mean:
    return lowest([m for m, _ in _lowest(r, "header").values()])


def stuck(r: Results) -> int:
    """Runs with a reassembly deadlock."""
    return sum(row["stuck"] != "" for name in of_claim(r) for row in r[name])


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
        for workload, of in judged(r, *of_claim(r)).items()
        for w, rows in of.items()
    ]


def one_to_one_throughput(r: Results) -> dict[str, str]:
    return {name: f"{mean(r['one to one'].where(case=name), 'cold').mean:.3f}" for name in ("shared", "held")}


# ---- which traffic is worst -----------------------------------------------------------------------------------------------------------

PORTS = {"64": ("64",), "256": ("256", "256, others")}
"""``[[run]]`` by number of ports."""


def smooth(r: Results) -> dict[str, tuple[Mean, float]]:
    return {ports: _lowest(r, *names)[SMOOTH] for ports, names in PORTS.items()}


def smooth_w(r: Results) -> dict[str, float]:
    return {ports: w for ports, (_, w) in smooth(r).items()}


def _others(r: Results, ports: str) -> Mean:
    return lowest([m for workload, (m, _) in _lowest(r, *PORTS[ports]).items() if workload != SMOOTH])


def less(r: Results) -> dict[str, Mean]:
    """Lowest throughput of smooth packets of 40 B minus that of the others, by ports."""
    return {ports: smooth(r)[ports][0].less(_others(r, ports)) for ports in PORTS}


def control(r: Results) -> dict[str, dict[str, float]]:
    """Share of all bytes that are stand-alone control segments at w = 0.5, by ports and workload."""
    return {ports: {workload: mean(of[0.5], "control").mean for workload, of in judged(r, *names).items()} for ports, names in PORTS.items()}


def worst_in_words(r: Results) -> dict[str, str]:
    numbers = {f"smooth_{ports}": smooth(r)[ports][0].mean for ports in PORTS} | {f"others_{p}": _others(r, p).mean for p in PORTS}
    return {name: f"{value:.3f}" for name, value in numbers.items()}


def ends(r: Results) -> str:
    """Throughput in the last five stretches of each long run."""

    def end(row: Row) -> float:
        last: pl.Series = row["stretches"]["cold"][-5:]
        return float(last.sum()) / len(last)

    return "; ".join(f"{row['case']}: {end(row):.3f}" for row in r["long"])


def until(r: Results) -> str:
    return f"{r['long'][0]['stretches']['end'][-1]:,.0f}"

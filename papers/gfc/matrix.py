"""Which settings make PFC and CBFC deadlock on the ring, and let GFC hold 5 Gb/s?"""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from xoff import Run
from xoff.lab import Results, Row, observe
from xoff.lab.observe import MS

from .metrics import NAMES

__all__ = ["NAMES"]

SETS: dict[str, tuple[str, dict[str, str]]] = {
    "testbed": ("1003KB", {}),
    "simulations": (
        "303KB",
        {
            "switch.buffer": "300KB",
            "control_delay.processing": "3us",
            "flow_control.pfc.xoff": "280KB",
            "flow_control.pfc.xon": "277KB",
            "flow_control.gfc-buffer.bm": "300KB",
            "flow_control.gfc-buffer.b1": "281KB",
            "flow_control.gfc-time.bm": "300KB",
            "flow_control.gfc-time.b0": "159KB",
        },
    ),
    # PFC pauses far below C tau = 112.5 KB, so that it under-runs; GFC as in the testbed.
    "testbed, XOFF 30 KB": ("1003KB", {"flow_control.pfc.xoff": "30KB", "flow_control.pfc.xon": "27KB"}),
}
"""Thresholds: buffer of GFC (B_m + 2 MTU), settings."""
DISCIPLINES = ("fifo", "round-robin", "drr", "input-fifo")
"""Input FIFO: an input is read one frame at a time, so that a frame that may not go holds up those behind it."""
SCHEMES = ("pfc", "cbfc", "gfc-buffer", "gfc-time")
OFFSETS = (0, 100, 3000)
"""Host i starts i times this later [us]."""
GROUPS = {"fair": ("round-robin", "drr"), "input-fifo": ("input-fifo",)}

Setting = tuple[str, str, int, int]
"""Thresholds, discipline, uniform addition to the processing delay [us], offset."""


def jitters(r: Results) -> tuple[int, ...]:
    return (0, 10, 40) if r.full else (0, 40)


def all_settings(r: Results) -> list[Setting]:
    return list(itertools.product(SETS, DISCIPLINES, jitters(r), OFFSETS))


def on_the_ring(setting: Setting, scheme: str) -> dict[str, Any]:
    """Settings of the scenario."""
    thresholds, discipline, jitter, offset = setting
    slack, given = SETS[thresholds]
    own = {"flow_control": scheme, "switch.discipline": discipline} | ({"switch.buffer": slack} if scheme.startswith("gfc") else {})
    starts = {"flow[1].start": f"{offset}us", "flow[2].start": f"{2 * offset}us"}
    return given | own | starts | {"control_delay.processing_jitter": f"{jitter}us"}


def _name(setting: Setting, scheme: str) -> str:
    return ", ".join(map(str, (*setting, scheme)))


def grid(r: Results) -> dict[str, dict[str, Any]]:
    """Every setting; without jitter nothing is random, and one run is enough."""
    return {
        f"{_name(setting, scheme)}, {seed}": on_the_ring(setting, scheme) | {"run.seed": seed}
        for setting in all_settings(r)
        for scheme in SCHEMES
        for seed in range(r.seed, r.seed + (6 if r.full and setting[2] else 1))
    }


def at_the_end(run: Run) -> dict[str, Any]:
    """Deadlock, slowest and fastest flow of the last 10 ms, loss."""
    rates = [rate for rate in observe.rates_at_end(run, 10 * MS) if not math.isnan(rate)]
    slowest, fastest = min(rates, default=math.inf), max(rates, default=0.0)
    return {"stuck": bool(observe.deadlocks(run)), "slowest": slowest, "fastest": fastest, "lost": observe.lost(run)}


def by_setting(r: Results) -> Mapping[str, list[Row]]:
    """The runs of each setting and scheme."""
    found: dict[str, list[Row]] = {}
    for row in r.runs:
        found.setdefault(row["case"].rpartition(", ")[0], []).append(row)
    return found


def runs_of(r: Results, setting: Setting, scheme: str) -> list[Row]:
    found: list[Row] = r.value("by_setting")[_name(setting, scheme)]
    return found


def holds(row: Row) -> bool:
    return not row["stuck"] and row["slowest"] >= 4.9e9 and row["fastest"] <= 5.1e9


def _share(found: Iterable[bool]) -> float:
    all_ = list(found)
    return sum(all_) / len(all_)


def _along(r: Results, thresholds: str, discipline: str, scheme: str) -> list[Row]:
    """Every jitter and start."""
    return [row for s in all_settings(r) if s[:2] == (thresholds, discipline) for row in runs_of(r, s, scheme)]


def stuck(r: Results) -> dict[str, dict[str, float]]:
    """Share of the runs that deadlock."""
    return {s: {f"{d} {scheme}": _share(row["stuck"] for row in _along(r, s, d, scheme)) for d in DISCIPLINES for scheme in SCHEMES} for s in SETS}


def held(r: Results) -> dict[str, dict[str, float]]:
    """Share of the runs that hold 5 Gb/s."""
    return {s: {f"{d} {scheme}": _share(map(holds, _along(r, s, d, scheme))) for d in DISCIPLINES for scheme in SCHEMES} for s in SETS}


def fifo(r: Results) -> dict[str, float]:
    """With the thresholds of testbed and simulations."""
    of = {scheme: [row for s in ("testbed", "simulations") for row in _along(r, s, "fifo", scheme)] for scheme in SCHEMES}
    best = max(row["slowest"] for scheme in ("gfc-buffer", "gfc-time") for row in of[scheme])
    return {scheme: _share(row["stuck"] for row in of[scheme]) for scheme in ("pfc", "cbfc")} | {"best": best}


def lossless(r: Results) -> dict[str, dict[str, float]]:
    """Runs without loss with these thresholds."""

    def of(disciplines: tuple[str, ...], schemes: tuple[str, ...]) -> list[Row]:
        rows = [row for s in ("testbed", "simulations") for d in disciplines for scheme in schemes for row in _along(r, s, d, scheme)]
        return [row for row in rows if not row["lost"]]

    found = {}
    for name, disciplines in GROUPS.items():
        stops, gentle = of(disciplines, SCHEMES[:2]), of(disciplines, SCHEMES[2:])
        slowest = [row["slowest"] for row in gentle]
        found[name] = {
            "stuck": sum(row["stuck"] for row in stops),
            "runs": len(stops),
            "holds": _share(map(holds, gentle)),
            "least": min(slowest),
            "best": max(slowest),
        }
    return found


def _as_shown(r: Results, setting: Setting) -> dict[str, bool]:
    """For each scheme: does every run show what the paper shows?"""
    of = {scheme: runs_of(r, setting, scheme) for scheme in SCHEMES}
    return {s: all(row["stuck"] if s in ("pfc", "cbfc") else holds(row) and not row["lost"] for row in rows) for s, rows in of.items()}


def _both(shown: Mapping[str, bool], first: str, second: str) -> bool:
    return shown[first] and shown[second]


def settings(r: Results) -> int:
    return len(all_settings(r))


def whole(r: Results) -> int:
    """Settings with the paper's whole pair."""
    return sum(all(_as_shown(r, setting).values()) for setting in all_settings(r))


def testbed(r: Results) -> dict[str, int]:
    """Settings with its thresholds, counted."""
    shown = [(s[1], _as_shown(r, s)) for s in all_settings(r) if s[0] == "testbed"]
    return {
        "settings": len(shown),
        "stops": sum(_both(of, "pfc", "cbfc") for _, of in shown),
        "stops_in_order": sum(_both(of, "pfc", "cbfc") for discipline, of in shown if discipline == "fifo"),
        "holds": sum(_both(of, "gfc-buffer", "gfc-time") for _, of in shown),
    }


def words(rows: list[Row]) -> str:
    """Some runs of one setting. After a loss a rate says nothing: the frame is not sent again."""
    deadlocks, lost = sum(row["stuck"] for row in rows), any(row["lost"] for row in rows)
    if deadlocks == len(rows):
        return "deadlock, loss" if lost else "deadlock"
    part = f"{deadlocks}/{len(rows)} stuck, " if deadlocks else ""
    if lost:
        return f"{part}loss"
    return f"{part}{min(row['slowest'] for row in rows if not row['stuck']) / 1e9:.2f} G"


def parts_table(r: Results) -> list[dict[str, str]]:
    found = []
    for setting in all_settings(r):
        shown = _as_shown(r, setting)
        if (shown["pfc"] or shown["cbfc"]) and (shown["gfc-buffer"] or shown["gfc-time"]):
            thresholds, discipline, jitter, offset = setting
            of = {"Thresholds": thresholds, "Egress": discipline, "Jitter": f"{jitter} us", "Offset": f"{offset} us"}
            found.append(of | {NAMES[scheme]: words(runs_of(r, setting, scheme)) for scheme in SCHEMES})
    return found


def parts(r: Results) -> int:
    return len(parts_table(r))


def losses(r: Results) -> dict[str, int]:
    lost = r.runs.column("lost")
    return {"lossy": sum(n > 0 for n in lost), "runs": len(lost), "lost": sum(lost)}


def fields(r: Results) -> dict[str, list[list[tuple[float, str]]]]:
    """For the figure, by thresholds: share of the runs that show what the paper shows, and words, a row for each discipline and offset."""

    def field(setting: Setting, scheme: str) -> tuple[float, str]:
        rows = runs_of(r, setting, scheme)
        shown = _share(row["stuck"] if scheme in ("pfc", "cbfc") else holds(row) and not row["lost"] for row in rows)
        return shown, words(rows)

    columns = [(scheme, jitter) for scheme in SCHEMES for jitter in jitters(r)]
    return {s: [[field((s, d, j, offset), scheme) for scheme, j in columns] for d in DISCIPLINES for offset in OFFSETS] for s in SETS}

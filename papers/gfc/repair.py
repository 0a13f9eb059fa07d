"""Buffer-based GFC whose entry ports slow down before the others, where the paper's rule decays."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe, units
from xoff.lab.observe import MS

from .large_scale import ENTRY_PORTS, blocks, outcome, performance, scan, scanned, scheme_of
from .searches import count, headline, search, stuck

__all__ = ["blocks", "headline", "outcome", "performance", "scan", "scanned", "search", "stuck"]

KEPT = 4.5e9
"""Required rate of a flow of the ring [bit/s]."""
REPAIRED = {
    "ring, fifo, GFC with entry ports": KEPT,
    "ring, fifo, thresholds of the simulations, GFC with entry ports": KEPT,
    "two hosts, fifo, GFC with entry ports": KEPT / 2,
    "two hosts, round-robin, GFC with entry ports": KEPT / 2,
}
"""Required rate by run [bit/s]."""
LINE = 10e9
MESSAGE_BITS = 512.0
ONE_PER_TAU = MESSAGE_BITS / 7.4e-6 / LINE
"""Share of a link that messages take, one per tau of the links of section 6.2.2."""


def _rates(run: Run) -> list[float]:
    return [rate for rate in observe.rates_at_end(run, 20 * MS) if not math.isnan(rate)]


def ends(run: Run) -> dict[str, Any]:
    """How the flows of a ring end: rates of the last 20 ms, and what the messages of a port take of its link at most."""
    rates = _rates(run)
    return {
        "slowest": min(rates),
        "fastest": max([0.0, *rates]),
        "stopped": observe.standing_still(run),
        "deadlocks": observe.deadlocks(run),
        "lost": observe.lost(run),
        "end": observe.end(run),
        "highest": run.ports["ingress_bytes_max"].max(),
        "messages": max(run.ports["messages_sent"].to_list()) * MESSAGE_BITS / (observe.end(run) * 1e-12) / LINE,
        "rate_of_flow_1": observe.flow_rate(run, 0).filter(pl.col("y") > 0),
    }


def slowest_at_the_end(run: Run) -> dict[str, Any]:
    return {"slowest": min(_rates(run)), "lost": observe.lost(run)}


def job(r: Results) -> Mapping[str, Row]:
    return {row["case"]: row for name in ("ring", "thresholds of the simulations", "two hosts") for row in r[name]}


def deadlocks_and_lost(r: Results) -> dict[str, int]:
    return {name: row["deadlocks"] + row["lost"] for name, row in job(r).items()}


def milliseconds(r: Results) -> str:
    return f"{r['ring'][0]['end'] / MS:.0f}"


def two_hosts(r: Results) -> str:
    return "; ".join(f"{units.rate(row['slowest'])} in {row['case']}" for row in r["two hosts"])


def jobs_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Run": name,
            "Length": row["end"],
            "Slowest flow": row["slowest"],
            "Fastest flow": row["fastest"],
            "Highest ingress queue": row["highest"],
            "Messages of a port, most": row["messages"],
            "Frames lost": row["lost"],
        }
        for name, row in job(r).items()
    ]


# ---- the settings of the matrix: thresholds x discipline x jitter x start ---------------------------------------------------------

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
}
"""Thresholds: buffer of GFC (B_m + 2 MTU), settings."""
DISCIPLINES = ("fifo", "round-robin", "drr", "input-fifo")
"""Input FIFO: an input is read one frame at a time, so that a frame that may not go holds up those behind it."""
OFFSETS = (0, 100, 3000)
"""Host i starts i times this later [us]."""

Setting = tuple[str, str, int, int]
"""Thresholds, discipline, uniform addition to the processing delay [us], offset."""


def on_the_ring(setting: Setting, scheme: str) -> dict[str, Any]:
    """Settings of the scenario."""
    thresholds, discipline, jitter, offset = setting
    slack, given = SETS[thresholds]
    own = {"flow_control": scheme, "switch.discipline": discipline} | ({"switch.buffer": slack} if scheme.startswith("gfc") else {})
    starts = {"flow[1].start": f"{offset}us", "flow[2].start": f"{2 * offset}us"}
    return given | own | starts | {"control_delay.processing_jitter": f"{jitter}us"}


def of_the_matrix() -> dict[str, Setting]:
    """Those whose thresholds absorb the jitter: with the simulations' ones 40 us is more than 20 KB absorb."""
    return {
        ", ".join(map(str, (thresholds, discipline, jitter, offset))): (thresholds, discipline, jitter, offset)
        for thresholds, jitters in (("testbed", (0, 40)), ("simulations", (0,)))
        for discipline in DISCIPLINES
        for jitter in jitters
        for offset in OFFSETS
    }


def ring_settings(r: Results) -> dict[str, dict[str, Any]]:
    return {name: on_the_ring(setting, "gfc-buffer") for name, setting in of_the_matrix().items()}


def kept(r: Results) -> dict[str, float]:
    """Share of the settings in which every flow keeps its rate."""
    found: dict[str, list[bool]] = {"by arrival": [], "input-fifo": []}
    for name, setting in of_the_matrix().items():
        found["input-fifo" if setting[1] == "input-fifo" else "by arrival"].append(r["settings of the matrix"][name]["slowest"] >= KEPT)
    return {group: sum(all_) / len(all_) for group, all_ in found.items()}


def settings_table(r: Results) -> list[dict[str, Any]]:
    found = []
    for name, (thresholds, discipline, jitter, offset) in of_the_matrix().items():
        row = r["settings of the matrix"][name]
        of = {"Thresholds": thresholds, "Egress": discipline, "Jitter": f"{jitter} us", "Offset": f"{offset} us"}
        found.append(of | {"Slowest flow": row["slowest"], "Frames lost": row["lost"]})
    return found


# ---- the networks of Table 1 ------------------------------------------------------------------------------------------------------


def networks(r: Results) -> dict[int, dict[str, int]]:
    """Networks in which flows stop, by k: with entry ports and without."""
    found = {}
    for of_size in r.value("headline"):
        repaired, plain = count(of_size, ENTRY_PORTS), count(of_size, "gfc-buffer")
        found[of_size.search.k] = {
            "all": repaired.simulated,
            "stop": repaired.standstill,
            "stop without": plain.standstill,
            "for good": repaired.for_good,
            "for good without": plain.for_good,
            "lost": sum(run["lost"] for of in of_size.cases.values() for run in of[ENTRY_PORTS].runs),
        }
    return found


def sizes(r: Results) -> list[int]:
    return [k for k, of in networks(r).items() if of["all"]]


def where_pfc_deadlocks(r: Results) -> dict[str, Any]:
    """Rate of a server in the last 5 ms, with entry ports and without, and the networks in which flows are stopped."""
    found: dict[str, Any] = {}
    for scheme, words in ((ENTRY_PORTS, ""), ("gfc-buffer", " without")):
        rows = [row for row in r["stuck"] if scheme_of(row) == scheme]
        rates = [row["windows"]["y"].tail(50).mean() for row in rows]
        found["networks"] = len(rows)
        found[f"rate{words}"] = sum(rates) / len(rates) if rates else None
        found[f"stopped{words}"] = sum(row["still"] > 0 for row in rows)
    return found

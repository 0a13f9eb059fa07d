"""Figs. 5, 12 and 13: TCD with one and with two congestion points; how long a covered root stays hidden."""

import math
from typing import Any

import polars as pl
from xoff.lab import Results, Row, Runs, observe, units
from xoff.lab.observe import MS, US

from . import fig2
from .fig2 import PORTS, marked, max_ton, share
from .fig2 import seen as measured

FABRICS: list[dict[str, Any]] = [
    # Above the threshold an ordinary port marks everything: Kmax, or FECN's threshold.
    {"name": "CEE", "threshold": 200e3, "period": max_ton("CEE"), "assume": "rounds"},
    {"name": "InfiniBand", "threshold": 50e3, "period": max_ton("InfiniBand"), "assume": "full-rate"},
]


def seen(r: Results) -> Runs:
    return r.runs


def marks(r: Results) -> list[dict[str, Any]]:
    return fig2.marks_table(r.runs)


def congested_root(r: Results) -> dict[str, float]:
    """Share of 0.2 to 3 ms in which P3 is in congestion."""
    return {row["case"]: share(row, "P3", "congestion", 0.2 * MS, 3 * MS) for row in r.runs}


# ---- Fig. 12 --------------------------------------------------------------------------------------------------------------------


def undecided(r: Results) -> dict[str, int]:
    """Ports P0 to P2 that do not end in non-congestion."""
    return {row["case"]: sum(row[f"last_{p}"] != "non_congestion" for p in ("P0", "P1", "P2")) for row in r.runs}


def single_point(r: Results) -> str:
    """A sentence a fabric."""
    return " ".join(
        f"{row['case']}: CE of P0/P1/P2: {row['ce_P0']}/{row['ce_P1']}/{row['ce_P2']}; UE {row['ue_P0']}/{row['ue_P1']}/{row['ue_P2']}. P2 is paused until "
        f"{units.time(row['last_off'])} and undetermined until {units.time(row['last_ue'])}, with {units.bytes(row['left'])} waiting at the end of UE, "
        f"decided at {units.time(row['released'])}."
        for row in r.runs
    )


def starved(r: Results) -> dict[str, float]:
    """InfiniBand with the paper's credit period."""
    (row,) = r["starved"]
    return {"undetermined": share(row, "P3", "undetermined", 0.2 * MS, 3 * MS), "ue": row["ue_P3_F1"], "ce": row["ce_P3_F1"]}


# ---- Fig. 13 --------------------------------------------------------------------------------------------------------------------


def late(row: Row) -> float:
    """From the last OFF before it to the first CE of P2 [ps]; NaN: none."""
    return math.nan if row["first_ce"] is None or row["last_off"] is None else row["first_ce"] - row["last_off"]


def two_points(r: Results) -> dict[str, dict[str, float]]:
    return {
        row["case"]: {
            "early": int(row["marks"].filter(pl.col("time_ps") < (row["last_off"] or 0), port="P2", mark="ce").height),
            "late": late(row),
            "congested": share(row, "P2", "congestion", row["first_ce"], row["end"]),
            "other_P1": int(row["last_P1"] != "undetermined"),
            "other_P2": int(row["last_P2"] != "congestion"),
        }
        for row in r.runs
    }


# ---- Fig. 5 ---------------------------------------------------------------------------------------------------------------------

ROLES = {"root": "congestion", "leaf": "undetermined", "not in a tree": "non_congestion"}


def stands(r: Results) -> dict[str, tuple[float, float | None]]:
    """When each tree stands. That of P3 has grown to P0 and P1 after 0.5 ms and stands until P2 emerges with its first CE; from then on that of P2."""
    (row,) = r.runs
    return {"P3": (0.5 * MS, row["first_ce"]), "P2": (row["first_ce"], row["end"])}


def roles(r: Results) -> dict[str, dict[str, tuple[str, float]]]:
    """Role of each port in each tree, by its state during 90 % of that time or more, and that share."""
    (row,) = r.runs
    return {tree: {port: _role(row, port, *when) for port in PORTS} for tree, when in stands(r).items()}


def _role(row: Row, port: str, start: float | None, stop: float | None) -> tuple[str, float]:
    shares = {role: share(row, port, state, start, math.nan if stop is None else stop) for role, state in ROLES.items()}
    most = max(shares, key=lambda role: shares[role])
    return (most if shares[most] >= 0.9 else "changing"), shares[most]


def part(r: Results) -> dict[str, float]:
    """Share of the time in which a port has a role in a tree, 0 if it mostly has another one: ``P3 P0 leaf``."""
    return {f"{tree} {port} {role}": value if of == role else 0.0 for tree, all in roles(r).items() for port, (of, value) in all.items() for role in ROLES}


def carried(r: Results) -> dict[str, int]:
    """Marks on a flow before and after P2 emerges: ``ce before F0``."""
    (row,) = r.runs
    emerges, end = row["first_ce"], row["end"]
    times = {"before": (0.0, end if emerges is None else min(emerges, end)), "after": (emerges, end)}
    return {f"{mark} {when} {flow}": marked(row, flow, mark, *span) for mark in ("ce", "ue") for when, span in times.items() for flow in fig2.SOURCES}


def trees(r: Results) -> dict[str, str]:
    """The roles in words."""
    return {tree: ", ".join(f"{port} {role} ({units.share(value)})" for port, (role, value) in all.items()) for tree, all in roles(r).items()}


def emerges(r: Results) -> dict[str, float]:
    (row,) = r.runs
    return {"late": late(row), "earliest": 2 * max_ton("CEE")}


# ---- beyond the paper: the covered root -------------------------------------------------------------------------------------------

ROOTS = {"CEE": "CEE", "CEE, round robin": "CEE", "InfiniBand": "InfiniBand"}
"""Fabric of each run."""
PERIODS = {"CEE": "periods", "CEE, round robin": "periods, round robin"}
"""Name of the runs with other periods T."""


def hidden(r: Results) -> dict[str, dict[str, float]]:
    """From the last OFF to the first CE [ps]; periods T from the release of P2, which is max(T_on) after that OFF."""
    return {name: {"late": late(r.runs[name]), "periods": late(r.runs[name]) / max_ton(fabric) - 1} for name, fabric in ROOTS.items()}


def swing(r: Results) -> dict[str, dict[str, float]]:
    """P2's queue from its release to its first CE, and the distance of P0's pauses, with which it swings."""
    found = {}
    for name in PERIODS:
        row, period = r.runs[name], max_ton("CEE")
        release = row["last_off"] + period
        queue = observe.between(row["queue"].filter(port="P2"), release, row["first_ce"])
        starts = row["offs"].filter(pl.col("start_ps") > release, port="P0")["start_ps"]
        distance = (starts[-1] - starts[0]) / (len(starts) - 1)
        found[name] = {"low": min(queue), "high": max(queue), "distance": distance, "period": period, "swings": period / distance}
    return found


def delays(r: Results) -> dict[str, dict[float, float]]:
    """From the last OFF to the first CE by the period T [ps]."""
    return {name: {float(row["detection.tcd.period"].removesuffix("us")) * US: late(row) for row in r[runs]} for name, runs in PERIODS.items()}


def in_time(t: float, delay: float) -> bool:
    """True if the first CE comes within max(T_on) + 2 T."""
    return delay <= max_ton("CEE") + 2 * t


def other_periods(r: Results) -> dict[str, dict[str, Any]]:
    return {
        name: {"within": sum(in_time(t, d) for t, d in of.items()), "of": len(of), "longest": max(d for d in of.values() if not math.isnan(d)), "never": sum(map(math.isnan, of.values()))}
        for name, of in delays(r).items()
    }


def periods_table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "T": units.time(t),
            **{
                head: text
                for name, of in delays(r).items()
                for head, text in ((f"{name}: first CE after the last OFF", units.time(of[t])), (f"{name}: within max(T_on) + 2 T", "yes" if in_time(t, of[t]) else "no"))
            },
        }
        for t in delays(r)["CEE"]
    ]


def earliest(r: Results) -> dict[str, float]:
    """From the last OFF to the first CE at least: the release, and one period [ps]."""
    return {f["name"]: 2 * f["period"] for f in FABRICS}

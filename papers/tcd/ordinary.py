"""Figs. 3 and 4: P2 under ECN and FECN, with one and with two congestion points; section 3.1.3 compares the two."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from xoff.lab import Results, Row, Runs, observe, units
from xoff.lab.observe import MS

from . import fig2
from .fig2 import seen as measured

FABRICS: list[dict[str, Any]] = [
    # CEE: one CNP of F1 more or less is 0.4 to 0.8 ms. InfiniBand in Fig. 4 has its full rate, for which credits must be frequent.
    {"name": "CEE", "until": 1.6 * MS, "first": 1.1 * MS, "last": 2.1 * MS, "assume": "read", "at_rate": "read"},
    {"name": "InfiniBand", "until": 4 * MS, "first": 2 * MS, "last": 5 * MS, "assume": "becn", "at_rate": "full-rate"},
]


def seen(r: Results) -> Runs:
    return r.runs


# ---- Figs. 3 and 4 --------------------------------------------------------------------------------------------------------------


def summary(r: Results) -> dict[str, str]:
    """A sentence a fabric."""
    return {
        row["case"]: f"{row['case']}: up to {units.bytes(row['top_P2'])} at P2, ON and OFF until {units.time(row['last_off'])}, then "
        f"{units.rate(row['rate_after'])} (F1: {units.rate(row['f1_after'])}) and a queue of {units.bytes(row['low_after'])} to "
        f"{units.bytes(row['high_after'])}. CE of P2: {row['ce_P2_F0']} on F0, {row['ce_P2_F1']} on F1, {row['ce_P2_F2']} on F2."
        for row in r.runs
    }


def sent_before_slowdown(r: Results) -> float:
    """What F1 has sent by then, at its share of P3 [bytes]."""
    return float(r.runs["CEE"]["last_off"]) / 1e12 * 2.5e9 / 8


def _names(r: Results) -> dict[str, dict[str, Row]]:
    """The runs of other readings, by table and reading."""
    of_cee = {f"{row['switch.discipline']}, {row['rate_control.dcqcn.variant']}, {row['rate_control.dcqcn.cnp']}": row for row in r["by reading"]}
    return {"reading": of_cee, "credit": {row["case"]: row for row in r["by credit"]}}


def last_offs(r: Results) -> dict[str, str]:
    """End of P2's last pause by reading, in words."""
    return {table: "; ".join(f"{name}: {units.time(row['last_off'])}" for name, row in rows.items()) for table, rows in _names(r).items()}


def by_reading(r: Results) -> list[dict[str, Any]]:
    return _table("CEE: egress, DCQCN, CNPs", _names(r)["reading"])


def by_credit(r: Results) -> list[dict[str, Any]]:
    return _table("InfiniBand: credit period, link, egress, BECNs", _names(r)["credit"])


def _table(first: str, rows: Mapping[str, Row]) -> list[dict[str, Any]]:
    return [
        {
            first: name,
            "Highest queue of P2": units.bytes(row["top_P2"]),
            "Last OFF of P2": units.time(row["last_off"]),
            "Rate of P2 after": units.rate(row["rate_after"]),
            "Queue after": f"{units.bytes(row['low_after'])} to {units.bytes(row['high_after'])}",
            "CE of P2 on F0": row["ce_P2_F0"],
            "on F1": row["ce_P2_F1"],
            "CE of P1 on F2": row["ce_P1_F2"],
        }
        for name, row in rows.items()
    ]


def marks(r: Results) -> list[dict[str, Any]]:
    return fig2.marks_table(r.runs)


# ---- section 3.1.3: the two compared ----------------------------------------------------------------------------------------------

WINDOWS: list[dict[str, Any]] = [
    {"name": "CEE", "first": 1, "last": 1.5, "assume": "read"},
    {"name": "InfiniBand", "first": 2.6, "last": 4, "assume": "becn"},
]
"""The paper's windows, in which the two queues evolve in the same way [ms]."""


def ends(r: Results) -> dict[str, dict[str, float]]:
    """End of P2's last pause, by fabric and number of congestion points [ps]."""
    return {w["name"]: {n: r.runs[f"{w['name']} {n}"]["last_off"] for n in ("one", "two")} for w in WINDOWS}


def evolution(r: Results) -> dict[str, dict[str, Any]]:
    """The two queues in the paper's windows, and in the last third of the time in which P2 alternates in both runs."""
    found = {}
    for w in WINDOWS:
        end = min(ends(r)[w["name"]].values())
        for what, start, stop in (("paper's", w["first"] * MS, w["last"] * MS), ("last third", end * 2 / 3, end)):
            pair = [r.runs[f"{w['name']} {n}"]["queue"].filter(port="P2") for n in ("one", "two")]
            found[f"{w['name']} {what}"] = {"start": start, "stop": stop, **_compared(pair, start, stop)}
    return found


def _compared(pair: list[pl.DataFrame], start: float, stop: float) -> dict[str, float]:
    """Means, correlation and mean distance of two queues at the same times."""
    a, b = (observe.between(queue, start, stop).to_numpy() for queue in pair)
    one, two = float(a.mean()), float(b.mean())
    covariance, variances = float(((a - one) * (b - two)).mean()), float(a.var()) * float(b.var())
    return {"one": one, "two": two, "correlation": covariance / math.sqrt(variances), "difference": float(abs(a - b).mean()) / ((one + two) / 2)}


def compared(r: Results) -> list[str]:
    """A sentence a fabric."""
    of = {w["name"]: evolution(r)[f"{w['name']} paper's"] for w in WINDOWS}
    return [
        f"{w['name']}, {w['first']:g} to {w['last']:g} ms: correlation {of[w['name']]['correlation']:.3f}, mean difference {units.share(of[w['name']]['difference'])}"
        for w in WINDOWS
    ]


def evolution_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Fabric": name.split()[0],
            "Window": f"{name.partition(' ')[2]}: {units.time(c['start'])} to {units.time(c['stop'])}",
            "Mean queue, one point": units.bytes(c["one"]),
            "Mean queue, two points": units.bytes(c["two"]),
            "Correlation": f"{c['correlation']:.3f}",
            "Mean difference": units.share(c["difference"]),
        }
        for name, c in evolution(r).items()
    ]

"""An incast and eight hotspots with their victims under every scheme: networks with reactive schemes, and the fabric of the paper with the
same links and arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row, observe, quantile, units

from .metrics import mean, quick, values

__all__ = ["quick"]

MESSAGE = 1_500
"""Payload of a message of a victim [bytes]; hot flows are longer."""
BEGIN = 50e6
"""When the hot flows begin, and from when on is measured [ps]."""
FEEDBACK = 64
"""Feedback of networks on the wire [bytes]."""
MESSAGES = {"bfc": 146}
"""Flow control messages on the wire; others: 64 [bytes]."""
REFERENCE = "RG, reserved, 1.1 L"


# ---- of every run -------------------------------------------------------------------------------------------------------------------------


def jain(shares: Sequence[float]) -> float:
    """Jain's index."""
    return sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))


def hot_share(run: Run, of_bytes: float, outputs: int) -> float:
    """Part of the links of the hot outputs, of 100 Gb/s, that so many bytes fill."""
    return of_bytes / ((observe.end(run) - BEGIN) * 100e9 / 8e12 * outputs)


def network(run: Run) -> dict[str, Any]:
    """Of a network: hot flows and their senders, victims (what is not complete counts with its age), control, buffers."""
    hot = run.flows.filter(pl.col("size_bytes") > MESSAGE)
    by_sender = hot.group_by("src").agg(pl.col("bytes_delivered").sum())["bytes_delivered"].to_list()
    victims = run.flows.filter((pl.col("size_bytes") <= MESSAGE) & (pl.col("start_ps") >= BEGIN))
    times = (victims["end_ps"].fill_null(int(observe.end(run))) - victims["start_ps"]).cast(pl.Float64).to_list()
    scheme = next(p["value"] for p in run.manifest["parameters"] if p["path"] == "flow_control.kind")
    messages = observe.total(run, "messages_sent") * MESSAGES.get(scheme, 64)
    feedback = (run.manifest["frame_hops"] - run.manifest["data_frame_hops"]) * FEEDBACK
    return {
        "hot": hot_share(run, sum(by_sender), hot["dst"].n_unique()),
        "fairness": jain([float(b) for b in by_sender if b > 0]),
        "done": victims["end_ps"].count() / victims.height,
        "mean": sum(times) / len(times),
        "p99": quantile(times, 0.99),
        "control": (messages + feedback) / (observe.total(run, "tx_bytes") + messages),
        "buffer": max(run.ports["ingress_bytes_max"]),
        "stops": observe.total(run, "pauses"),
        "lost": observe.lost(run),
        "deadlocks": observe.deadlocks(run),
    }


def fabric(run: Run) -> dict[str, Any]:
    """The same of a fabric."""
    totals = run.manifest["fabric"]
    is_hot = run.fabric_ports["load"].cast(pl.String) == "hotspot"
    hot, cold = run.fabric_ports.filter(is_hot), run.fabric_ports.filter(~is_hot)
    return {
        "hot": hot_share(run, int(hot["delivered_bytes"].sum()), hot.height),
        "fairness": jain([float(b) for b in totals["hot_bytes_by_input"] if b > 0]),
        "done": totals["cold"]["packets"] / (int(cold["offered_bytes"].sum()) / MESSAGE),
        "mean": totals["cold"]["mean_ps"],
        "p99": float(totals["cold"]["p99_ps"]),
        "control": totals["control_bytes"] / max(totals["control_bytes"] + totals["segment_bytes"], 1),
        "buffer": max(totals["queue_bytes_max"]),
        "stops": 0,
        "lost": 0,
        "deadlocks": int(totals["stuck"] is not None),
    }


# ---- over seeds -----------------------------------------------------------------------------------------------------------------------------


def series(r: Results) -> dict[str, list[Row]]:
    """The runs of every scheme."""
    found: dict[str, list[Row]] = {}
    for runs in r.named.values():
        for row in runs:
            found.setdefault(row["case"], []).append(row)
    return found


def means(r: Results) -> dict[str, dict[str, Mean]]:
    columns = ("hot", "fairness", "done", "mean", "p99", "control", "buffer", "stops")
    return {scheme: {column: mean(rows, column) for column in columns} for scheme, rows in series(r).items()}


def slower(r: Results) -> dict[str, Mean]:
    """99th percentile of victims relative to that of the reference, seed by seed: all schemes have the same traffic."""
    return {scheme: Mean.ratio(values(rows, "p99"), values(series(r)[REFERENCE], "p99")) for scheme, rows in series(r).items()}


def reactive(r: Results) -> list[str]:
    return [scheme for scheme in series(r) if not scheme.startswith("RG")]


def total(r: Results) -> dict[str, int]:
    return {name: sum(row[name] for rows in series(r).values() for row in rows) for name in ("lost", "deadlocks")}


def seeds(r: Results) -> int:
    return len(series(r)[REFERENCE])


def duration(r: Results) -> int:
    return 5_000 if r.full else 500


def losers(r: Results) -> list[dict[str, Any]]:
    """Schemes that lose frames."""
    lost = {scheme: sum(values(rows, "lost")) for scheme, rows in series(r).items()}
    return [{"name": scheme, "lost": n, "buffer": units.bytes(means(r)[scheme]["buffer"].mean)} for scheme, n in lost.items() if n > 0]


def in_words(r: Results) -> str:
    return "; ".join(f"{scheme} {units.time(of['p99'].mean)} and {of['hot'].mean:.2f}" for scheme, of in means(r).items())


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Scheme": scheme,
            "Hot throughput": f"{of['hot'].mean:.3f}",
            "Jain": f"{of['fairness'].mean:.3f}",
            "Victims done": units.share(of["done"].mean),
            "Victims' mean": units.time(of["mean"].mean),
            "99th percentile": units.time(of["p99"].mean),
            "Control": units.share(of["control"].mean),
            "Largest buffer": units.bytes(of["buffer"].mean),
            "Stops": f"{of['stops'].mean:.0f}",
        }
        for scheme, of in means(r).items()
    ]

"""Metrics of PFFC's claims: what is measured of every run, and what the checks and sentences of small claims take from it."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, Runs, observe, units
from xoff.lab.observe import MS

LINE = 10e9
"""Line rate of the scenarios [bit/s]."""
HOP = 9250
"""C tau [bytes]: tau of GFC Eq. (6) is 2 frames of 1500 B, 2 links of 1 us, 3 us of processing."""
END = 10 * MS
"""Stretch at the end of a run over which rates are taken."""
NAMES = {"pfc": "PFC", "pffc": "PFFC"}
NUMBERS = [1, 2, 3, 4]


# ---- of every run -------------------------------------------------------------------------------------------------------------


def counters(run: Run) -> dict[str, Any]:
    """Losses and broken promises, and the counters of all ports."""
    lost, promises = observe.lost(run), run.manifest["verdict"]["promises"]
    return {
        "lost": lost,
        "violations": promises.get("violations", 0),
        "violations_not_of_loss": promises.get("violations", 0) - promises.get("of_loss", 0),
        "delivered": run.manifest["delivered_frames"],
        "collisions": run.manifest["flow_collisions"],
        "ports": run.ports,
    }


def outcome(run: Run) -> dict[str, Any]:
    """The same, deadlocks, and the rates of flows. It needs ``probes.flow_rates``."""
    rates = observe.rates_at_end(run, END)
    return {
        **counters(run),
        "deadlocks": observe.deadlocks(run),
        "deadlock_ps": observe.deadlock_ps(run),
        "total": sum(rates),
        "slowest": min(rates),
        "fastest": max(rates),
        **{f"rate_{n}": rate for n, rate in enumerate(rates, 1)},
        "rates": run.rates.filter(pl.col("flow").is_not_null()).select("time_ps", "flow", y=pl.col("rate_bps").cast(pl.Float64)),
    }


def port(row: Row, name: str, column: str) -> int:
    """A counter of a port."""
    return int(row["ports"].filter(pl.col("port").cast(pl.String) == name)[column].item())


def messages(row: Row) -> int:
    """Control frames, those on the way at the end included."""
    return int(row["ports"]["messages_sent"].sum())


def peak(row: Row) -> int:
    """Highest fill of any ingress buffer [bytes]."""
    return int(row["ports"]["ingress_bytes_max"].max())


def broken(r: Results) -> int:
    """Frames that were lost, or that arrived out of order."""
    return sum(row["lost"] + row["violations"] for runs in r.named.values() for row in runs)


def schemes(r: Results) -> Mapping[str, Row]:
    return {row["flow_control"]: row for row in r.runs}


# ---- hops ---------------------------------------------------------------------------------------------------------------------


def means(r: Results) -> dict[str, dict[str, float]]:
    """Of two connections, by scheme and number of switches."""
    return {s: {n: r.runs.row(case=n, flow_control=s)["total"] / 2 for n in "1234"} for s in NAMES}


def over_one(r: Results) -> dict[str, float]:
    return {n: mean / means(r)["pffc"]["1"] for n, mean in means(r)["pffc"].items()}


def pauses_before_last(r: Results) -> dict[str, int]:
    return {n: port(r.runs.row(case=n, flow_control="pffc"), f"S{int(n) - 1}->S{n}", "blocks") for n in "234"}


def pffc_means(r: Results) -> list[float]:
    return list(means(r)["pffc"].values())


def hops_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": NAMES[s],
            "Switches": n,
            "Mean throughput": means(r)[s][n],
            "Largest ingress": peak(row),
            "Control frames": str(messages(row)),
        }
        for s in NAMES
        for n in "1234"
        for row in r.runs.where(case=n, flow_control=s)
    ]


# ---- spreading and deadlock ------------------------------------------------------------------------------------------------------


def spreading_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": NAMES[s],
            "Flow 1": row["rate_1"],
            "Flow 2": row["rate_2"],
            "Largest fill of S2 behind S1": port(row, "S1->S2", "ingress_bytes_max"),
            "Stops of S1->S2": str(port(row, "S1->S2", "blocks")),
            "Control frames": str(messages(row)),
        }
        for s, row in schemes(r).items()
    ]


def closed(r: Results) -> str:
    at = schemes(r)["pfc"]["deadlock_ps"]
    return "never" if at is None else units.time(at)


def deadlock_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": NAMES[s],
            "Deadlock": "deadlock" if row["deadlocks"] else "none",
            "Closed at": row["deadlock_ps"],
            **{f"Flow {n}": row[f"rate_{n}"] for n in (1, 2, 3)},
            "Largest ingress": peak(row),
        }
        for s, row in schemes(r).items()
    ]


# ---- order --------------------------------------------------------------------------------------------------------------------

def order(r: Results) -> list[dict[str, Any]]:
    """Sums by size of the tables."""
    return [_summed(r.runs.where(case=case)) for case in dict.fromkeys(r.runs.column("case"))]


def summed(r: Results) -> dict[str, int]:
    return _summed(r.runs)


def _summed(runs: Runs) -> dict[str, int]:
    return {
        "disordered": sum(runs.column("violations_not_of_loss")),
        "violations": sum(runs.column("violations")),
        "lost": sum(runs.column("lost")),
        "delivered": sum(runs.column("delivered")),
        "messages": sum(messages(row) for row in runs),
        "collisions": sum(runs.column("collisions")),
    }


def seeds(r: Results) -> int:
    return len(set(r.runs.column("seed")))


def order_table(r: Results) -> list[dict[str, Any]]:
    cases = {row["case"]: row for row in r.runs}
    return [
        {
            "Pause queues": str(row["flow_control.queues"]),
            "Slots": str(row["flow_control.slots"]),
            "Frames delivered": str(of["delivered"]),
            "Control frames": str(of["messages"]),
            "Counted for another flow": str(of["collisions"]),
            "Out of order": str(of["disordered"]),
        }
        for row, of in zip(cases.values(), order(r), strict=True)
    ]

"""Metrics of GFC's claims: what is measured of a run, and what the checks and sentences take from it."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row, Runs, observe, units
from xoff.lab.observe import MS

PORT = "H1->S1"
"""The port whose queue and input rate Figs. 9 and 10 show."""
PARKED = 750e3 + 5e9 / 8.0 * 90e-6
"""B_1 + (C - R_d) tau with tau = 90 us: where the queue of a port parks [bytes]."""
BY_OCCUPANCY = 1e6 - 508e3 / 2
"""(B_m + B_0) / 2: steady queue of time-based GFC at half rate if the message carries the occupancy [bytes]."""
BY_CREDIT = (BY_OCCUPANCY - 5e9 / 8.0 * 90e-6) * 1500 / 1536
"""The same with FCCL - FCTBS: R_d tau lower, and a frame of 1500 B counts as 24 credit blocks of 64 B [bytes]."""
NAMES = {"pfc": "PFC", "cbfc": "CBFC", "gfc-buffer": "Buffer-based GFC", "gfc-time": "Time-based GFC"}


# ---- of every run -------------------------------------------------------------------------------------------------------------


def outcome(run: Run) -> dict[str, Any]:
    """Deadlock, rates at the end, loss."""
    rates = observe.rates_at_end(run, 10 * MS)
    return {
        "deadlocks": observe.deadlocks(run),
        "deadlock_ps": observe.deadlock_ps(run),
        "cycle": observe.deadlock_ports(run),
        "stopped": observe.standing_still(run),
        "lost": observe.lost(run),
        "flows": run.flows.height,
        "messages": observe.total(run, "messages"),
        "highest": max(run.ports["ingress_bytes_max"]),
        "fastest": max([0.0, *rates]),
        "slowest_flow": min(rates, default=None),
        "slowest_2ms": _slowest_window(run, 2 * MS),
        "mean_rate": sum(rates) / len(rates),
        **{f"rate_{n}": rate for n, rate in enumerate(rates, 1)},
        "queue": observe.queue(run, PORT),
        "rate_of_flow_1": observe.flow_rate(run, 0),
    }


def _slowest_window(run: Run, window: float) -> Any:
    """Rate of the slowest flow in the slowest window."""
    of_flows = run.rates.filter(pl.col("flow").is_not_null() & (pl.col("source").cast(pl.String) == "measured"))
    whole = of_flows.filter(pl.col("time_ps") <= observe.end(run) // window * window)
    nth = ((pl.col("time_ps") - 1) // int(window)).alias("window")
    return whole.group_by("flow", nth).agg(pl.col("rate_bps").cast(pl.Float64).mean())["rate_bps"].min()


def port_of_h1(run: Run) -> dict[str, Any]:
    """The same, and the port of S1 behind H1: its highest, mean and swing of the fill over the last 10 ms, its smallest allowed rate."""
    queue, stop = observe.queue(run, PORT), observe.end(run)
    settled = observe.between(queue, stop - 10 * MS, stop).to_list()
    return {
        **outcome(run),
        "peak": observe.of_port(run, PORT, "ingress_bytes_max"),
        "rest": observe.mean(queue, stop - 10 * MS, stop),
        "swing": max(settled) - min(settled),
        "slowest": observe.of_port(run, PORT, "allowed_bps_min"),
        "rate": observe.port_rate(run, PORT),
    }


def ring_link(run: Run) -> dict[str, Any]:
    """The same, and the rate that flow control allows on a link of the ring."""
    return {**outcome(run), "allowed": observe.port_rate(run, "S1->S2", "flow_control")}


# ---- the ring -----------------------------------------------------------------------------------------------------------------


def ring_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": NAMES[row["flow_control"]],
            "Seed": str(row["seed"]),
            "Deadlock": "deadlock" if row["deadlocks"] else "none",
            "Closed at": row["deadlock_ps"],
            "Through": row["cycle"],
            **{f"Flow {n}": row[f"rate_{n}"] for n in (1, 2, 3)},
            "Peak ingress queue": row["highest"],
            "Messages": row["messages"],
            "Frames lost": row["lost"],
        }
        for row in r.runs
    ]


# ---- Figs. 9 and 10 -------------------------------------------------------------------------------------------------------------


WORST = {"deadlocks": min, "stopped": max, "fastest": max, "lost": max, "slowest": min}
"""The seed that is farthest from the paper."""


def port(r: Results) -> dict[str, dict[str, Any]]:
    """What was measured, by case: the worst of all seeds, the last deadlock, and means."""
    cases = dict.fromkeys(row["case"] for row in r.runs)
    return {case: {key: _of_seeds(key, r.runs.where(case=case)) for key in r.runs.where(case=case)[0].values_} for case in cases}


def middle(value: float | Mean) -> float:
    """Without its interval."""
    return value.mean if isinstance(value, Mean) else value


def _of_seeds(key: str, rows: Runs) -> Any:
    values = rows.column(key)
    if key in WORST:
        return WORST[key](values)
    if key == "deadlock_ps":
        return None if None in values else max(values)
    # Without a draw all seeds are alike, and there is no interval.
    return Mean.of(values) if isinstance(values[0], float) and len({*values}) > 1 else values[0]


def credits(r: Results) -> Row:
    """Time-based GFC with the remaining buffer of section 5.2."""
    return r["credits"].row(case="")


def stopped_gently(r: Results) -> int:
    return sum(row["stopped"] for row in r.runs if row["flow_control"].startswith("gfc"))


def deadlock_in_words(r: Results) -> dict[str, str]:
    """Of each case, of its first seed."""
    first = {row["case"]: row for row in reversed(r.runs)}
    return {case: f"deadlocks at {units.time(row['deadlock_ps'])} through {row['cycle']}" if row["deadlocks"] else "does not deadlock" for case, row in first.items()}


def lost(r: Results) -> int:
    return sum(r.runs.column("lost"))


def overshoot(r: Results) -> float:
    return middle(port(r)["gfc"]["peak"]) - middle(port(r)["gfc"]["rest"])


def disturbed(r: Results) -> Mapping[str, Row]:
    return {row["case"]: row for row in r["disturbed"]}


def disturbances(r: Results) -> int:
    return len(r["disturbed"])


def disturbances_table(r: Results) -> pl.DataFrame:
    return r["disturbed"].frame().select(
        pl.col("case").alias("Disturbance"),
        pl.col("peak").alias("Highest queue"),
        pl.col("rest").alias("Steady-state queue"),
        pl.col("slowest").alias("Smallest rate of H1"),
    )


# ---- two hosts per switch -------------------------------------------------------------------------------------------------------


def share_of_the_line(r: Results) -> dict[str, float]:
    return {row["case"]: row["slowest_flow"] / 10e9 for row in r.runs}


def hosts_in_words(r: Results) -> str:
    def words(row: Row) -> str:
        if not row["case"].startswith("gfc"):
            return f"deadlock at {'none' if row['deadlock_ps'] is None else units.time(row['deadlock_ps'])}"
        return f"{row['stopped']} of {row['flows']} flows stop, and the slowest has {units.rate(row['slowest_flow'])} in the last 10 ms"

    return "; ".join(f"{NAMES[row['case']]}: {words(row)}" for row in r.runs)


def any_fails(r: Results) -> bool:
    return any(check.result != "holds" for check in r.checks())

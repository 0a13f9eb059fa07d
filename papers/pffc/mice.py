"""Completion times of mice next to elephants."""

from collections.abc import Callable
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row, observe, quantile, units
from xoff.lab.observe import MS

from .metrics import NAMES, broken, counters, port

__all__ = ["broken"]

SIZES = {"10 KB": 10_000, "100 KB": 100_000, "all": None}
"""Mice by size; the last is all of them."""


def mice(run: Run) -> dict[str, Any]:
    """Completion times of the mice that start after elephants have filled the buffers; what is not complete counts with its age."""
    of = run.flows.filter(pl.col("size_bytes").is_in([10_000, 100_000]) & (pl.col("start_ps") >= 2 * MS))
    time = pl.col("end_ps").fill_null(int(observe.end(run))) - pl.col("start_ps")
    return {**counters(run), "mice": of.select(size="size_bytes", time=time.cast(pl.Float64)).sort("time")}


def times(row: Row, size: str) -> list[float]:
    all_: pl.DataFrame = row["mice"]
    return (all_ if SIZES[size] is None else all_.filter(pl.col("size") == SIZES[size]))["time"].to_list()


def mean_time(row: Row, size: str) -> float:
    return Mean.of(times(row, size)).mean


def p99(row: Row, size: str) -> float:
    return quantile(times(row, size), 0.99)


def by_seed(r: Results, elephants: str, scheme: str, value: Callable[[Row, str], float], size: str) -> list[float]:
    return [value(row, size) for row in r.runs.where(case=elephants, flow_control=scheme)]


def elephants(r: Results) -> list[str]:
    return list(dict.fromkeys(r.runs.column("case")))


def seeds(r: Results) -> int:
    return len(set(r.runs.column("seed")))


def ratio(r: Results) -> dict[str, dict[str, Mean]]:
    """PFC relative to PFFC, by elephants and size."""

    def of(e: str, size: str) -> Mean:
        return Mean.ratio(*(by_seed(r, e, s, mean_time, size) for s in NAMES))

    return {e: {size: of(e, size) for size in SIZES} for e in elephants(r)}


def sooner_under_pfc(r: Results) -> dict[str, bool]:
    return {e: of["all"].mean < 1 for e, of in r.value("ratio").items()}


def inverse(r: Results) -> dict[str, float]:
    return {e: 1 / of["all"].mean for e, of in r.value("ratio").items()}


def stops(r: Results) -> dict[str, dict[str, float]]:
    """Of S1->S2, by elephants and scheme."""

    def stopped(row: Row, _: str) -> float:
        return port(row, "S1->S2", "blocks")

    return {e: {s: Mean.of(by_seed(r, e, s, stopped, "all")).mean for s in NAMES} for e in elephants(r)}


def words(r: Results) -> str:

    def time(e: str, s: str) -> str:
        return units.time(Mean.of(by_seed(r, e, s, mean_time, "all")).mean)

    return ". ".join(
        f"{e}: PFC {time(e, 'pfc')}, PFFC {time(e, 'pffc')}, ratio {of['all'].words('{:.2f}'.format)}" for e, of in r.value("ratio").items()
    )


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Elephants": e,
            "Flow control": NAMES[s],
            "Mice": size,
            "Mean": Mean.of(by_seed(r, e, s, mean_time, size)).words(units.time),
            "99th percentile": Mean.of(by_seed(r, e, s, p99, size)).words(units.time),
            "PFC relative to PFFC": r.value("ratio")[e][size].words("{:.2f}".format) if s == "pffc" else "",
            "Stops of S1->S2": f"{r.value('stops')[e][s]:.0f}",
        }
        for e in elephants(r)
        for s in NAMES
        for size in SIZES
    ]

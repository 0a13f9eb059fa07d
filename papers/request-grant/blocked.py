"""Fig. 15: hosts suddenly stop accepting data, from 30,000 to 50,000 t_min."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from xoff.lab import Mean, Results, Row

from .metrics import largest, mean, outcome, queues, quick, values, words

__all__ = ["outcome", "quick"]

FROM, TO = 30_000, 50_000
"""Departures are blocked from here to there [t_min]."""
RECOVERY = 20_000
"""A recovery that is as long as the blocking [t_min]."""
SCHEMES = ("reserve", "implicit")


def over(row: Row, start: float, stop: float) -> tuple[float, float | None]:
    """Mean throughput and delay of the others over stretches that end in a span of time."""
    inside = row["stretches"].filter((pl.col("end") > start + 0.5) & (pl.col("end") <= stop + 0.5))
    delays = inside["delay"].drop_nulls().to_list()
    return sum(inside["cold"].to_list()) / inside.height, sum(delays) / len(delays) if delays else None


def kept(row: Row) -> float:
    """Throughput while blocked over that before."""
    return over(row, FROM + 5_000, TO)[0] / over(row, FROM / 2, FROM)[0]


def slower(row: Row) -> float | None:
    """Delay while blocked over that before."""
    while_blocked, before = over(row, FROM + 2_000, TO)[1], over(row, FROM / 2, FROM)[1]
    return None if while_blocked is None or before is None else while_blocked / before


def rise(row: Row) -> float:
    """Largest delay of a stretch after the end, over the mean before."""
    top = row["stretches"].filter(pl.col("end") > TO)["delay"].drop_nulls().to_list()
    return max([0.0, *top]) / (over(row, FROM / 2, FROM)[1] or 1.0)


def recovery(row: Row) -> float:
    """How long after the end of the blocking the delay is back within half as much again as before, for good; to the end of the run if
    never [t_min]."""
    before = over(row, FROM / 2, FROM)[1] or 0.0
    late = row["stretches"].filter(pl.col("delay").is_null() | (pl.col("delay") > 1.5 * before))["end"]
    return max(late[-1] - TO, 0.0) if len(late) else 0.0


MEASURES = {"kept": kept, "slower": slower, "rise": rise, "recovery": recovery}


def seen(r: Results) -> dict[str, dict[str, Mean]]:
    """By scheme, at the load of the figure."""
    return _seen(r, "seen")


def peak(r: Results) -> dict[str, dict[str, Mean]]:
    """By scheme, at the peak possible load."""
    return _seen(r, "peak")


def _seen(r: Results, name: str) -> dict[str, dict[str, Mean]]:
    return {scheme: {what: mean(r[name].where(case=scheme), of) for what, of in MEASURES.items()} for scheme in SCHEMES}


def beside(r: Results) -> dict[str, Mean]:
    """Implicit rates relative to reserving, seed by seed."""
    of = {**MEASURES, "recovery": lambda row: max(recovery(row), 1_000.0)}

    def ratios(value: Any) -> Mean:
        implicit, reserve = (values(r["seen"].where(case=scheme), value) for scheme in ("implicit", "reserve"))
        return Mean.of(a / b for a, b in zip(implicit, reserve, strict=True))

    return {what: ratios(of[what]) for what in ("kept", "rise", "recovery")}


def beside_data(r: Results) -> dict[str, Mean]:
    """Throughput of the others while hosts are blocked over that before, by the way of control."""
    return {case: mean(r.runs.where(case=case), kept) for case in ("in band", "beside")}


def last_queue(r: Results) -> float:
    return largest(r["seen"].where(case="reserve"), "queue_2")


def stuck(r: Results) -> int:
    """Runs with a reassembly deadlock."""
    return sum(row["stuck"] != "" for row in r["seen"])


def in_words(r: Results) -> dict[str, str]:
    def one(of: dict[str, Mean], scheme: str) -> str:
        return (
            f"{scheme}: throughput of the others is {of['kept'].mean:.2f} times the earlier value while blocked; delay {of['slower'].mean:.2f} times, "
            f"up to {of['rise'].mean:.1f} times afterwards, and back to normal after {of['recovery'].mean:.0f} t_min"
        )

    return {name: "; ".join(one(_seen(r, name)[scheme], scheme) for scheme in SCHEMES) for name in ("seen", "peak")}


def table(r: Results) -> dict[str, list[dict[str, str]]]:
    until = round(r["seen"][0]["stretches"]["end"][-1])
    spans = {"before": (FROM / 2, FROM), "while blocked": (FROM + 5_000, TO), "after": (TO, until)}

    def delay(m: Mean) -> str:
        return words(m, 0) if m.n else "no packet"

    def part_of(span: tuple[float, float], which: int) -> Callable[[Row], Any]:
        return lambda row: over(row, *span)[which]

    def row(rows: Any, scheme: str) -> dict[str, str]:
        carried = [words(mean(rows, part_of(span, 0)), 3) for span in spans.values()]
        delays = [delay(mean(rows, part_of(span, 1))) for span in spans.values()]
        return {
            "Scheme": scheme,
            "Throughput before": carried[0],
            "while blocked": carried[1],
            "after": carried[2],
            "Delay before": delays[0],
            "delay while blocked": delays[1],
            "delay after": delays[2],
            "Longest queue by stage": queues(rows),
        }

    return {name: [row(r[name].where(case=scheme), scheme) for scheme in SCHEMES] for name in ("seen", "peak")}


def inputs(r: Results) -> dict[str, str]:
    """Share of the line that inputs send in the second half of the blocking: those beside the hotspots, the others, and what they are offered."""

    def sent(hot: bool) -> Callable[[Row], Any]:
        ports = [p for p in range(64) if (p // 8 == 7) == hot]
        return lambda row: sum(row["ports"]["by_input"][p] for p in ports) / len(ports)

    rows = r["alone"]
    return {
        "hot": f"{mean(rows, sent(True)).mean:.3f}",
        "others": f"{mean(rows, sent(False)).mean:.3f}",
        "offered": f"{rows[0]['traffic.load'] * 56 / 64:.3f}",
    }


def why(r: Results) -> dict[str, str]:
    """Numbers of the sentences, with few digits."""
    reserve, at_peak = seen(r)["reserve"], peak(r)["reserve"]
    return {
        "kept": f"{reserve['kept'].mean:.2f}",
        "rise": f"{reserve['rise'].mean:.1f}",
        "recovery": f"{reserve['recovery'].mean:.0f}",
        "peak_rise": f"{at_peak['rise'].mean:.1f}",
        "peak_recovery": f"{at_peak['recovery'].mean:.0f}",
    }

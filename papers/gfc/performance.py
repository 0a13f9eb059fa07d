"""Figs. 16 to 18: throughput and slowdown without a cycle and in the deadlock cases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from xoff.lab import Mean, Results, Row, observe, units
from xoff.lab.observe import MS

from .large_scale import (
    FOUR,
    TITLES,
    Settings,
    all_schemes,
    blocks,
    first_without_cycle,
    outcome,
    performance,
    scan,
    scanned,
    scheme_of,
)
from .searches import headline, search, stuck, stuck_round_robin

__all__ = ["TITLES", "blocks", "headline", "outcome", "performance", "scan", "scanned", "search", "stuck", "stuck_round_robin"]

FREE = {"quick": {4: 8, 8: 1}, "full": {4: 100, 8: 100, 16: 100}}
"""Networks without a cycle by size."""
FREE_MORE = {"quick": {4: 4}, "full": {4: 100, 8: 100, 16: 40}}
"""The same under another choice of path or of the time at which flows start."""
OTHER = {"gfc-buffer": "pfc", "gfc-time": "cbfc"}
"""With which of the other flow controls a kind of GFC is compared."""
NAMES = {"free": "No cycle", "stuck": "Deadlock cases", "round robin": "Deadlock cases, round robin", "ecmp": "No cycle, ECMP", "sent": "No cycle, next flow starts when sent"}
TAIL = 50
"""Windows at the end of a run that show what is left: 5 ms."""


def free(r: Results) -> dict[str, Settings]:
    return all_schemes(first_without_cycle(r, FREE[r.mode]), routing__kind="lowest-id")


def free_ecmp(r: Results) -> dict[str, Settings]:
    return all_schemes(first_without_cycle(r, FREE_MORE[r.mode]), routing__kind="ecmp")


def free_sent(r: Results) -> dict[str, Settings]:
    return all_schemes(first_without_cycle(r, FREE_MORE[r.mode]), routing__kind="lowest-id", **{"workload[0]__next_after": "sent"})


# ---- runs of a size under a flow control ------------------------------------------------------------------------------------------


def mean_rate(row: Row) -> float:
    """Per server [bit/s]."""
    return float(row["rate_sum"] / row["rates"])


def mean_slowdown(row: Row) -> float:
    return float(row["slowdown_sum"] / row["complete"]) if row["complete"] else math.nan


def tail(row: Row) -> float:
    """Rate of a server in the last 5 ms [bit/s]."""
    last = row["windows"]["y"].tail(TAIL)
    return float(last.sum()) / len(last)


@dataclass(frozen=True)
class Pooled:
    """Runs of a size under a flow control, over the same networks and traffic as the other ones."""

    rows: Sequence[Row]

    def total(self, column: str) -> float:
        return sum(row[column] for row in self.rows)

    @property
    def mean(self) -> float:
        """Rate of a server, over all of them and all windows."""
        return self.total("rate_sum") / self.total("rates")

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self.total("rate_squares") / self.total("rates") - self.mean**2, 0.0))

    @property
    def tail(self) -> float:
        return sum(tail(row) for row in self.rows) / len(self.rows)

    @property
    def dead(self) -> list[Row]:
        return [row for row in self.rows if row["deadlock_ps"] is not None]

    @property
    def slowdown(self) -> float:
        return self.total("slowdown_sum") / self.total("complete")

    @property
    def fill(self) -> float:
        """Of ingress buffers in use [bytes]."""
        return self.total("filled_sum") / self.total("filled") if self.total("filled") else math.nan

    @property
    def standstill(self) -> int:
        """Runs in which a port stops."""
        return sum(row["stopped_ports"] > 0 for row in self.rows)

    @property
    def complete_per_ms(self) -> list[float]:
        return [row["complete"] / (row["windows"].height * 0.1) for row in self.rows]


BySize = dict[int, dict[str, Pooled]]


def by_size(r: Results, name: str) -> BySize:
    """The runs of a part by size and flow control."""
    sizes = dict.fromkeys(row["topology.k"] for row in r[name])
    return {k: {s: Pooled([row for row in r[name] if row["topology.k"] == k and scheme_of(row) == s]) for s in TITLES} for k in sizes}


def parts(r: Results) -> dict[str, BySize]:
    return {name: by_size(r, name) for name in NAMES}


def _part(r: Results, name: str) -> BySize:
    found: BySize = r.value("parts")[name]
    return found


def _spread(r: Results, name: str, values: Any) -> dict[int, Mean]:
    """The paper's four: the one with the largest mean over the one with the smallest, network by network, minus one."""
    found = {}
    for k, of in _part(r, name).items():
        all_ = sorted(([values(row) for row in of[s].rows] for s in FOUR), key=lambda v: Mean.of(v).mean)
        found[k] = Mean.ratio(all_[-1], all_[0]).plus(-1.0)
    return found


def sizes(r: Results) -> dict[str, list[dict[str, int]]]:
    """Sizes of a part, with the number of networks."""
    return {name: [{"k": k, "networks": len(of["pfc"].rows)} for k, of in _part(r, name).items()] for name in NAMES}


def free_sizes(r: Results) -> list[dict[str, int]]:
    return sizes(r)["free"]


def ecmp_sizes(r: Results) -> list[dict[str, int]]:
    return sizes(r)["ecmp"]


def spread_of_rates(r: Results) -> dict[str, dict[int, Mean]]:
    return {name: _spread(r, name, mean_rate) for name in ("free", "ecmp")}


def spread_of_slowdowns(r: Results) -> dict[str, dict[int, Mean]]:
    return {name: _spread(r, name, mean_slowdown) for name in ("free", "ecmp")}


def deviation_ratio(r: Results) -> dict[int, dict[str, float]]:
    return {k: {gentle: of[gentle].deviation / of[other].deviation for gentle, other in OTHER.items()} for k, of in _part(r, "free").items()}


# ---- deadlock cases ---------------------------------------------------------------------------------------------------------------


def stuck_gentle(r: Results) -> list[dict[str, Any]]:
    """Deadlock cases of a size of which there are also networks without a cycle, under both kinds of GFC."""
    return [{"k": k, "runs": len(of[s].rows), "scheme": s, "title": TITLES[s]} for k, of in _compared(r).items() for s in OTHER]


def stuck_dead(r: Results) -> list[dict[str, Any]]:
    """The same under PFC and CBFC, of which some deadlock."""
    return [
        {"k": k, "runs": len(of[s].rows), "dead": len(of[s].dead), "scheme": s, "title": TITLES[s]}
        for k, of in _compared(r).items()
        for s in OTHER.values()
        if of[s].dead
    ]


def _compared(r: Results) -> BySize:
    return {k: of for k, of in _part(r, "stuck").items() if k in _part(r, "free")}


def kept(r: Results) -> dict[int, dict[str, Mean]]:
    """Throughput of deadlock cases, relative to networks without a cycle."""
    free = _part(r, "free")
    return {k: {s: Mean.of(mean_rate(row) / free[k][s].mean for row in of[s].rows) for s in OTHER} for k, of in _compared(r).items()}


def left(r: Results) -> dict[int, dict[str, Mean]]:
    """Throughput in the last 5 ms of the runs that deadlock, relative to networks without a cycle."""
    free = _part(r, "free")
    return {k: {s: Mean.of(tail(row) / free[k][s].mean for row in of[s].dead) for s in OTHER.values()} for k, of in _compared(r).items()}


def completed(r: Results) -> dict[int, dict[str, Mean]]:
    """Flows completed per ms in deadlock cases, relative to networks without a cycle."""
    free = _part(r, "free")
    return {k: {s: Mean.of(of[s].complete_per_ms).over(Mean.of(free[k][s].complete_per_ms)) for s in OTHER} for k, of in _compared(r).items()}


# ---- words ------------------------------------------------------------------------------------------------------------------------


def throughput_in_words(r: Results) -> str:
    named = {"free": "No cycle", "stuck": "Deadlock cases, FIFO", "round robin": "The same networks and traffic, round robin"}
    return ". ".join(
        f"{title}, k = {k}: {', '.join(units.rate(p.mean) for p in of.values())}" for name, title in named.items() for k, of in _part(r, name).items()
    )


def slowdown_in_words(r: Results) -> str:
    means = {k: [Mean.of(mean_slowdown(row) for row in p.rows).mean for p in of.values()] for k, of in _part(r, "free").items()}
    return "; ".join(f"k = {k}: {', '.join(f'{mean:.1f}' for mean in of)}" for k, of in means.items())


def fills(r: Results) -> list[dict[str, Any]]:
    return [{"k": k, "fill": ", ".join(units.bytes(p.fill) for p in of.values())} for k, of in _part(r, "free").items()]


def standstills(r: Results) -> list[dict[str, Any]]:
    """How deadlock cases end, under FIFO and with round robin."""
    found = []
    for k, of in _part(r, "stuck").items():
        entry: dict[str, Any] = {"k": k, "runs": len(of["pfc"].rows)}
        for name, pooled in (("fifo", of), ("turns", _part(r, "round robin")[k])):
            for s in ("pfc", *OTHER):
                key = f"{name}_{s.removeprefix('gfc-')}"
                entry |= {key: pooled[s].standstill, f"{key}_rate": units.rate(pooled[s].tail), f"{key}_dead": len(pooled[s].dead)}
        found.append(entry)
    return found


def coincidences(r: Results) -> list[dict[str, Any]]:
    """In how many of the runs that deadlock under PFC each kind of GFC stops, and what it delivers at the end."""
    found = []
    for name, title in (("stuck", "FIFO"), ("round robin", "round robin")):
        dead = {row["failures.seed"] for row in r[name] if scheme_of(row) == "pfc" and row["deadlock_ps"] is not None}
        of = {s: Pooled([row for row in r[name] if row["failures.seed"] in dead and scheme_of(row) == s]) for s in OTHER}
        entry: dict[str, Any] = {"name": title, "dead": len(dead), "runs": len(r[name]) // len(TITLES)}
        if dead:
            found.append(entry | {k: v for s, p in of.items() for k, v in ((s[4:], p.standstill), (f"{s[4:]}_rate", units.rate(p.tail)))})
    return found


def _rows(r: Results, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "Networks": f"{NAMES[name]}, k = {k} ({len(p.rows)})",
            "Flow control": TITLES[scheme],
            "Throughput": Mean.of(mean_rate(row) for row in p.rows).words(units.rate),
            "Standard deviation": units.rate(p.deviation),
            "Last 5 ms": units.rate(p.tail),
            "Slowdown": Mean.of(mean_slowdown(row) for row in p.rows).words(lambda v: f"{v:.1f}"),
            "Total time over ideal": f"{p.total('fct_sum') / p.total('ideal_sum'):.2f}",
            "Mean fill": units.bytes(p.fill),
            "Deadlocks": str(len(p.dead)),
            "Ports at a standstill": str(p.standstill),
            "Flows without a byte for 1 ms and 5 ms": f"{sum(row['waiting'] > 0 for row in p.rows)} and {sum(row['still'] > 0 for row in p.rows)}",
        }
        for name in names
        for k, of in _part(r, name).items()
        for scheme, p in of.items()
    ]


def throughput_table(r: Results) -> list[dict[str, Any]]:
    return _rows(r, ["free", "stuck", "round robin", "ecmp", "sent"])


def slowdown_table(r: Results) -> list[dict[str, Any]]:
    return _rows(r, ["free", "stuck", "ecmp", "sent"])


# ---- Fig. 18 ----------------------------------------------------------------------------------------------------------------------


def collapse(row: Row, share: float) -> tuple[float, float] | None:
    """Rate in the 2 ms before the cycle closed, and how long after it the rate stayed above a share of it [ps]."""
    closed, windows = row["deadlock_ps"], row["windows"]
    if closed is None:
        return None
    before = observe.mean(windows, closed - 2 * MS, closed)
    last = windows.filter(pl.col("y") >= share * before)["time_ps"].max()
    return None if last is None else (before, max(last - closed, 0.0))


def case(r: Results) -> dict[str, Row] | None:
    """Of the largest fabric with a deadlock case, the case that collapses fastest shows what the paper shows."""
    found = [cases for cases in _cases(r) if collapse(cases["pfc"], 0.1)] or _cases(r)
    return min(found, key=lambda of: (collapse(of["pfc"], 0.1) or (0.0, math.inf))[1]) if found else None


def _cases(r: Results, name: str = "stuck") -> list[dict[str, Row]]:
    """By network: its runs by flow control."""
    k = max((row["topology.k"] for row in r["stuck"]), default=0)
    found: dict[int, dict[str, Row]] = {}
    for row in r[name]:
        if row["topology.k"] == k:
            found.setdefault(row["failures.seed"], {})[scheme_of(row)] = row
    return list(found.values())


def with_turns(r: Results) -> dict[str, Row]:
    """The same network with round robin."""
    of = case(r)
    return next(runs for runs in _cases(r, "round robin") if of is not None and runs["pfc"]["failures.seed"] == of["pfc"]["failures.seed"])


def any_case(r: Results) -> bool:
    return case(r) is not None


def shown(r: Results) -> dict[str, Any]:
    """Numbers of the case."""
    of = case(r)
    if of is None:
        return {}
    pfc, gentle = of["pfc"], of["gfc-buffer"]
    before, took = collapse(pfc, 0.1) or (math.nan, math.nan)
    times = {share: sorted(c[1] for runs in _cases(r) if (c := collapse(runs["pfc"], share))) for share in (0.1, 0.5)}
    k = pfc["topology.k"]
    return {
        "k": k,
        "network": pfc["failures.seed"] % 1_000_000,
        "closed": pfc["deadlock_ps"],
        "cycle": pfc["cycle"],
        "before": before,
        "took": took,
        "end": tail(pfc),
        "end_share": tail(pfc) / before,
        "kept": tail(gentle),
        "kept_share": tail(gentle) / before,
        "cases": len(times[0.1]),
        "half": _middle(times[0.5]),
        "tenth": _middle(times[0.1]),
        "servers": k**3 // 4,
        "stopped_ports": gentle["stopped_ports"],
        "stopped_ms": int((gentle["stopped_ps"] or 0) // MS),
    }


def _middle(times: list[float]) -> float:
    return times[len(times) // 2] if times else math.nan


def any_stopped_port(r: Results) -> bool:
    return shown(r).get("stopped_ports", 0) > 0


def case_in_words(r: Results) -> str:
    s = shown(r)
    if not s:
        return "No network of the sample deadlocks."
    return (
        f"k = {s['k']}, network {s['network']}: the cycle closes at {units.time(s['closed'])} through {s['cycle']}. PFC drops from "
        f"{units.rate(s['before'])} per server to below a tenth within {units.time(s['took'])} and ends at {units.rate(s['end'])}; "
        f"buffer-based GFC ends at {units.rate(s['kept'])}."
    )

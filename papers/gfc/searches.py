"""Table 1: how many random fat-trees deadlock under which flow control."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from xoff.lab import Results, Row, Share
from xoff.lab.observe import MS

from .large_scale import (
    FOUR,
    GENTLE,
    LONG,
    RULES,
    TITLES,
    Settings,
    all_schemes,
    blocks,
    examined,
    outcome,
    performance,
    scan,
    scanned,
    scheme_of,
    settings,
    whole,
)

__all__ = ["TITLES", "blocks", "outcome", "performance", "scan", "scanned"]

PAPER = {4: 32, 8: 12, 16: 2}
"""Deadlock cases of PFC and of CBFC among 10,000 networks, by ports of a switch."""
ALL = 10**9
UNTIL = ", until 60 ms"


@dataclass(frozen=True)
class Search:
    """A search for deadlocks in the first networks with a cycle."""

    k: int
    networks: int
    """Networks that are simulated, at most."""
    repetitions: int
    """Under PFC and CBFC."""
    gentle: int
    """Under GFC, of all kinds."""
    rule: str = "lowest-id"
    discipline: str = "fifo"
    next_after: str = "delivery"

    @property
    def title(self) -> str:
        """Its row in the table."""
        egress = "FIFO" if self.discipline == "fifo" else "round robin"
        loops = ", next flow starts when sent" if self.next_after == "sent" else ""
        return f"k = {self.k}, {self.rule}, {egress}{loops}, 20 ms"

    def repetitions_of(self, scheme: str) -> int:
        return self.gentle if scheme in GENTLE else self.repetitions

    def numbers(self, r: Results) -> list[int]:
        """The networks that are simulated."""
        return self.cyclic(r)[: self.networks]

    def cyclic(self, r: Results) -> list[int]:
        """All with a cycle."""
        return r.value("scanned")[self.k][self.rule]

    def name(self, number: int, scheme: str, nth: int) -> str:
        return f"{self.title}: network {number}, {TITLES[scheme]}, repetition {nth}"

    def settings(self, r: Results, number: int, scheme: str, nth: int, **more: Any) -> Settings:
        own = {"routing__kind": self.rule, "switch__discipline": self.discipline, "workload[0]__next_after": self.next_after}
        return settings(self.k, number, scheme, first_repetition(r) + nth, **own, **more)


HEADLINE = {
    "quick": [Search(4, ALL, 5, 5), Search(8, 2, 1, 1), Search(16, 1, 1, 0)],
    "full": [Search(4, ALL, 100, 100), Search(8, ALL, 100, 10), Search(16, ALL, 100, 10)],
}
_FOUR = Search(4, 30, 5, 5)
FURTHER = {
    "quick": [],
    "full": [
        replace(_FOUR, next_after="sent"),
        replace(_FOUR, discipline="round-robin"),
        replace(_FOUR, rule="per-edge"),
        Search(4, 20, 5, 5, "ecmp"),
        Search(8, 10, 25, 5, "per-edge"),
        Search(8, 10, 10, 2, "ecmp"),
        Search(16, ALL, 100, 10, "per-edge"),
    ],
}
STUCK = {"quick": 4, "full": 12}
"""Deadlock cases of a size whose performance is looked at, at most."""


def first_repetition(r: Results) -> int:
    return r.seed % 1_000_000 * 1000


# ---- runs -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """The repetitions of a network under a flow control so far; a deadlock, or a flow that stops permanently, ends them."""

    runs: list[Row]
    later: list[Row | None]
    """A repetition under GFC in which flows stop runs until 60 ms: do they still when it is over?"""

    @property
    def deadlock(self) -> Row | None:
        return next((run for run in self.runs if run["deadlock_ps"] is not None), None)

    @property
    def stands_still(self) -> bool:
        return any(run["deadlock_ps"] is None and run["still"] > 0 for run in self.runs)

    @property
    def for_good(self) -> bool:
        return any(run is not None and run["for_good"] > 0 for run in self.later)


def series(done: Mapping[str, Row], search: Search, number: int, scheme: str) -> Series:
    names = [search.name(number, scheme, nth) for nth in range(search.repetitions_of(scheme))]
    runs = [(done[name], done.get(name + UNTIL)) for name in names if name in done]
    return Series([run for run, _ in runs], [later for _, later in runs])


def goes_on(r: Results, searches: list[Search], name: str) -> dict[str, Settings]:
    """The runs that follow from those of a search so far."""
    done = {row["case"]: row for row in r[name]}
    return dict(
        following
        for search in searches
        for number in search.numbers(r)
        for scheme in TITLES
        for following in _next(r, search, number, scheme, series(done, search, number, scheme))
    )


def _next(r: Results, search: Search, number: int, scheme: str, so_far: Series) -> Iterator[tuple[str, Settings]]:
    nth = len(so_far.runs)
    if scheme in GENTLE and so_far.runs and so_far.runs[-1]["still"] > 0 and so_far.later[-1] is None:
        own = search.settings(r, number, scheme, nth - 1, run__duration=LONG, run__stop_on_deadlock=False)
        yield search.name(number, scheme, nth - 1) + UNTIL, own
    elif nth < search.repetitions_of(scheme) and so_far.deadlock is None and not so_far.for_good:
        yield search.name(number, scheme, nth), search.settings(r, number, scheme, nth)


def search(r: Results) -> dict[str, Settings]:
    return goes_on(r, HEADLINE[r.mode], "search")


def further_search(r: Results) -> dict[str, Settings]:
    return goes_on(r, FURTHER[r.mode], "further")


@dataclass(frozen=True)
class Found:
    """A search with its results, by network and flow control."""

    search: Search
    cyclic: int
    cases: dict[int, dict[str, Series]]


def found_by(r: Results, searches: list[Search], name: str) -> list[Found]:
    done = {row["case"]: row for row in r[name]}
    return [Found(s, len(s.cyclic(r)), {n: {scheme: series(done, s, n, scheme) for scheme in TITLES} for n in s.numbers(r)}) for s in searches]


def headline(r: Results) -> list[Found]:
    """The searches of the paper, one a size."""
    return found_by(r, HEADLINE[r.mode], "search")


def further(r: Results) -> list[Found]:
    """Searches under other rules."""
    return found_by(r, FURTHER[r.mode], "further")


def searches(r: Results) -> list[Found]:
    return [*r.value("headline"), *r.value("further")]


def deadlock_cases(r: Results) -> list[tuple[int, int, int]]:
    """The first deadlock cases of each size: k, network and the repetition in which PFC deadlocks."""
    cases = []
    for found in r.value("headline"):
        deadlocks = [(found.search.k, n, of["pfc"].deadlock["seed"] % 10**9) for n, of in found.cases.items() if of["pfc"].deadlock is not None]
        cases += deadlocks[: STUCK[r.mode]]
    return cases


def stuck(r: Results) -> dict[str, Settings]:
    """Performance where PFC deadlocks."""
    return all_schemes(deadlock_cases(r), run__duration=LONG, routing__kind="lowest-id", switch__discipline="fifo")


def stuck_round_robin(r: Results) -> dict[str, Settings]:
    """The same networks and traffic with round robin at every egress."""
    return all_schemes(deadlock_cases(r), run__duration=LONG, routing__kind="lowest-id", switch__discipline="round-robin")


# ---- counts -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """Networks of a search under a flow control."""

    simulated: int
    cases: int
    """With a deadlock."""
    standstill: int
    """With flows that stop in a run without a deadlock."""
    for_good: int
    """With flows that stop permanently."""
    runs: int


def count(found: Found, scheme: str) -> Count:
    done = [of[scheme] for of in found.cases.values() if of[scheme].runs]
    return Count(
        len(done),
        sum(s.deadlock is not None for s in done),
        sum(s.stands_still for s in done),
        sum(s.for_good for s in done),
        sum(len(s.runs) for s in done),
    )


def wilson(cases: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    return Share(cases, of).interval()


def per_10_000(r: Results, found: Found, scheme: str) -> tuple[float, float, float]:
    """Cases expected among 10,000 networks, with the 95 % interval: what was simulated stands for all with a cycle."""
    n, networks = count(found, scheme), examined(r, found.search.k)
    of, scale = (networks, 1e4) if n.simulated == found.cyclic else (n.simulated, found.cyclic / networks * 1e4)
    low, high = wilson(n.cases, of)
    return (n.cases / of * scale if of else math.nan), low * scale, high * scale


def _of_size(r: Results) -> dict[int, Found]:
    return {found.search.k: found for found in r.value("headline")}


def expected(r: Results) -> dict[int, tuple[float, float, float]]:
    return {k: per_10_000(r, found, "pfc") for k, found in _of_size(r).items()}


def is_known(r: Results) -> dict[int, bool]:
    return {k: math.isfinite(n) for k, (n, _, _) in expected(r).items()}


def with_cycle(r: Results) -> dict[int, float]:
    """Networks with a cycle per 10,000: no more can deadlock."""
    return {k: found.cyclic / examined(r, k) * 1e4 for k, found in _of_size(r).items()}


def larger(r: Results) -> dict[int, dict[str, float]]:
    """Cases per 10,000 of a size minus those of the size before."""
    found = {}
    for small, large in ((4, 8), (8, 16)):
        a, b = (expected(r)[k][0] for k in (small, large))
        # Where no network has a cycle none can deadlock: nothing to compare.
        known = math.isfinite(a) and math.isfinite(b) and with_cycle(r)[large] > 0
        found[large] = {"known": known, "more": b - a, "least": -a, "most": with_cycle(r)[large] - a}
    return found


def _sums(r: Results, of: str) -> dict[str, int]:
    return {scheme: sum(getattr(count(found, scheme), of) for found in r.value("headline")) for scheme in GENTLE}


def stopped(r: Results) -> dict[str, int]:
    """Of the paper's own searches: the others, of which the table has each, are of the same networks."""
    return _sums(r, "standstill")


def for_good(r: Results) -> dict[str, int]:
    return _sums(r, "for_good")


def _all_runs(r: Results) -> list[Row]:
    searched = [run for found in searches(r) for of in found.cases.values() for scheme in FOUR for run in of[scheme].runs]
    return searched + [row for row in r["stuck"] if scheme_of(row) in FOUR]


def lost(r: Results) -> int:
    return sum(run["lost"] for run in _all_runs(r))


def violations(r: Results) -> int:
    return sum(run["violations"] for run in _all_runs(r))


def in_common(r: Results) -> dict[str, int]:
    """Deadlock cases of both PFC and CBFC, and of only one."""
    both = [[of[s].deadlock is not None for s in ("pfc", "cbfc")] for f in r.value("headline") for of in f.cases.values() if of["pfc"].runs and of["cbfc"].runs]
    return {"both": both.count([True, True]), "pfc": both.count([True, False]), "cbfc": both.count([False, True])}


def share_in_common(r: Results) -> tuple[float, float, float]:
    n = in_common(r)
    share = Share(n["both"], sum(n.values()))
    return share.value, *wilson(share.of, share.n)


# ---- words ------------------------------------------------------------------------------------------------------------------------


def in_words(r: Results) -> str:
    return "; ".join(_search_in_words(r, found) for found in r.value("headline"))


def _search_in_words(r: Results, found: Found) -> str:
    s, n = found.search, {scheme: count(found, scheme) for scheme in TITLES}
    stops = ", ".join(f"{n[g].standstill} and {n[g].for_good} of {n[g].simulated} ({TITLES[g]})" for g in GENTLE)
    return (
        f"k = {s.k}: {examined(r, s.k)} networks, {found.cyclic} with a cycle, {n['pfc'].simulated} simulated up to {s.repetitions} times. "
        f"Deadlock cases: PFC {n['pfc'].cases}, CBFC {n['cbfc'].cases} of {n['cbfc'].simulated}. "
        f"Networks in which flows stop for 5 ms, and permanently: {stops}"
    )


def stands_still(r: Results) -> dict[str, int]:
    """Deadlock cases in which flows are stopped at the end of 60 ms."""
    of = {scheme: [row for row in r["stuck"] if scheme_of(row) == scheme] for scheme in GENTLE}
    return {"cases": len(of["gfc-buffer"])} | {scheme.replace("-", "_"): sum(row["still"] > 0 for row in rows) for scheme, rows in of.items()}


def any_stuck(r: Results) -> bool:
    return len(r["stuck"]) > 0


def waits(r: Results) -> dict[str, int]:
    """Networks in which flows wait under PFC and CBFC, without a deadlock."""
    return {scheme: sum(count(found, scheme).standstill for found in searches(r)) for scheme in ("pfc", "cbfc")}


def stops_in_words(r: Results) -> str:
    return ", ".join(f"{TITLES[g]} {sum(count(found, g).for_good for found in searches(r))}" for g in GENTLE)


def largest(r: Results) -> dict[str, Any]:
    """Cycles of k = 16 under any choice among shortest paths."""
    cyclic, networks = len(r.value("scanned")[16]["ecmp"]), examined(r, 16)
    low, high = wilson(cyclic, networks)
    return {"cyclic": cyclic, "networks": networks, "low": low * 1e4, "high": high * 1e4}


def eight(r: Results) -> dict[str, int]:
    found = _of_size(r)[8]
    n = count(found, "pfc")
    return {"simulated": n.simulated, "cases": n.cases, "repetitions": found.search.repetitions}


def closes(r: Results) -> dict[str, float]:
    """Median time at which the cycle of a case closes [ms]."""
    found: dict[str, float] = {}
    for scheme in ("pfc", "cbfc"):
        times = sorted(of[scheme].deadlock["deadlock_ps"] for f in r.value("headline") for of in f.cases.values() if of[scheme].deadlock is not None)
        found |= {scheme: times[len(times) // 2] / MS} if times else {}
    return found


def both_close(r: Results) -> bool:
    return len(closes(r)) == 2


def round_robin(r: Results) -> dict[str, int]:
    """The search of k = 4 with round robin."""
    found = [f for f in r.value("further") if f.search.k == 4 and f.search.discipline == "round-robin"]
    n = {scheme: count(found[0], scheme) for scheme in ("pfc", "cbfc")} if found else {}
    return {"simulated": n["pfc"].simulated, "pfc": n["pfc"].cases, "cbfc": n["cbfc"].cases} if n else {"simulated": 0}


def any_round_robin(r: Results) -> bool:
    return round_robin(r)["simulated"] > 0


# ---- tables -----------------------------------------------------------------------------------------------------------------------


def search_table(r: Results) -> list[dict[str, Any]]:
    return [_search_row(r, found) for found in searches(r)]


def _search_row(r: Results, found: Found) -> dict[str, Any]:
    s, n = found.search, {scheme: count(found, scheme) for scheme in TITLES}
    average, low, high = per_10_000(r, found, "pfc")
    row: dict[str, Any] = {
        "Search": s.title,
        "With a cycle": str(found.cyclic),
        "Simulated": "not done" if n["pfc"].simulated == 0 < found.cyclic else str(n["pfc"].simulated),
        "Runs each": f"{s.repetitions} / {s.gentle}",
    }
    for scheme in ("pfc", "cbfc"):
        row[TITLES[scheme]] = f"{n[scheme].cases} of {n[scheme].simulated}, {n[scheme].runs} runs" if n[scheme].simulated else "not run"
    row["Per 10,000 (95 %)"] = "n/a" if math.isnan(average) else f"{average:.0f} ({low:.0f} to {high:.0f})"
    row["Paper"] = f"{PAPER[s.k]} of 10,000"
    for g in GENTLE:
        words = f"{n[g].standstill} of {n[g].simulated}, permanently {n[g].for_good}, {n[g].runs} runs"
        row[f"{TITLES[g]} with stopped flows"] = words if n[g].simulated else "not run"
    return row


def scan_table(r: Results) -> list[dict[str, Any]]:
    return [
        {"k": str(k), "Networks": whole(examined(r, k)), "Left out: hosts disconnected": whole(len(found["disconnected"]))}
        | {f"Cycle under {rule}": whole(len(found[rule])) for rule in RULES}
        for k, found in r.value("scanned").items()
    ]

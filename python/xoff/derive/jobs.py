"""Jobs of a run, from the tables ranks, critical_path, operations, flows and pauses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from . import words
from .facts import Facts, whole

CAUSES = ("compute", "overhead", "peer", "serialisation", "propagation", "pause", "rate_limit", "queueing")
#: Words of the causes in sentences.
IN_WORDS = {"compute": "computing", "peer": "peers", "rate_limit": "rate limit"}


@dataclass
class OnPath:
    """A message of a critical path."""

    flow: int
    start: int
    end: int
    lost: dict[str, int]


@dataclass
class Iteration:
    """An iteration that all ranks have done."""

    time: int
    end: int
    exposed: int
    ideal: int
    last_rank: int
    path: dict[str, int]
    straggler: OnPath | None
    #: The rank that computed longest on the critical path.
    computed: int | None


class Job:
    """A job, by its place in the scenario."""

    def __init__(self, facts: Facts, nth: int) -> None:
        self.facts, self.nth = facts, nth
        self.section: dict[str, Any] = (facts.param("job") or [])[nth]
        self.name = str(self.section.get("name", f"job{nth}"))
        label = f"job[{nth}] {self.name}"
        self.ranks, self.path, self.operations, self.collectives = (
            facts.tables[t].filter(pl.col("job") == label) for t in ("ranks", "critical_path", "operations", "collectives")
        )

    @property
    def planned(self) -> int:
        return int(self.section["iterations"])

    @cached_property
    def hosts(self) -> dict[int, str]:
        return dict(self.ranks.select("rank", "host").iter_rows())

    @cached_property
    def begun(self) -> int:
        last = self.ranks["iteration"].max()
        return 0 if last is None else whole(last) + 1

    @cached_property
    def iterations(self) -> list[Iteration]:
        since, found = words.read_time(self.section.get("start", "0us")), []
        paths = {k[0]: v for k, v in self.path.partition_by("iteration", as_dict=True).items()}
        for (nth,), ranks in sorted(self.ranks.partition_by("iteration", as_dict=True).items()):
            if ranks["end_ps"].null_count() or len(ranks) < len(self.hosts):
                break
            last = ranks.sort(["end_ps", "rank"], descending=[True, False]).row(0, named=True)
            path = paths.get(nth, self.path.clear()).sort("position")
            found.append(
                Iteration(
                    time=last["end_ps"] - since,
                    end=last["end_ps"],
                    exposed=whole(ranks["exposed_ps"].max()),
                    ideal=whole(ranks["ideal_ps"].max()),
                    last_rank=last["rank"],
                    path=by_cause(path),
                    straggler=straggler(path),
                    computed=computed(path),
                )
            )
            since = last["end_ps"]
        return found

    @cached_property
    def longest(self) -> Iteration | None:
        """The longest iteration, of equal ones the first."""
        return max(self.iterations, key=lambda i: i.time, default=None)

    @property
    def time(self) -> int:
        return sum(i.time for i in self.iterations)

    @property
    def ideal(self) -> int:
        return sum(i.ideal for i in self.iterations)

    @cached_property
    def never_sent(self) -> int | None:
        """Messages that it never sent; None: without a complete iteration they are in no table."""
        if not self.iterations:
            return None
        first = self.operations.filter((pl.col("iteration") == 0) & (pl.col("work") == "send"))
        label = f"job[{self.nth}] {self.name}"
        return int(first["flow"].drop_nulls().n_unique()) * self.planned - len(self.facts.flows.filter(pl.col("label") == label))

    def ends_of(self, flow: int) -> tuple[int | None, int | None]:
        """Ranks that sent and received a message."""
        rows = self.operations.filter(pl.col("flow") == flow)
        sender, receiver = (rows.filter(pl.col("work") == work)["rank"] for work in ("send", "receive"))
        return int(sender[0]) if len(sender) else None, int(receiver[0]) if len(receiver) else None

    @cached_property
    def mismatches(self) -> int:
        """Receives whose message has another size; messages within a node are not in the tables."""
        sent = self.operations.filter((pl.col("work") == "send") & pl.col("flow").is_not_null()).select("flow", sent="bytes")
        received = self.operations.filter(pl.col("work") == "receive").join(sent, on="flow")
        return len(received.filter(pl.col("bytes") != pl.col("sent")))

    @cached_property
    def bus(self) -> dict[str, tuple[int, int]]:
        """Lowest and highest bus bandwidth of each collective."""
        rows = self.collectives.filter(pl.col("bus_bps").is_not_null())
        found = rows.group_by("collective").agg(pl.col("bus_bps").min().alias("low"), pl.col("bus_bps").max().alias("high"))
        return {name.removeprefix(f"{self.name} "): (low, high) for name, low, high in found.iter_rows()}


def by_cause(path: pl.DataFrame) -> dict[str, int]:
    sums = dict(path.group_by("cause").agg((pl.col("end_ps") - pl.col("start_ps")).sum()).iter_rows())
    return {c: int(sums.get(c, 0)) for c in CAUSES}


def computed(path: pl.DataFrame) -> int | None:
    """The rank that computed longest, of equal ones the first."""
    rows = path.filter(pl.col("cause") == "compute").group_by("rank").agg((pl.col("end_ps") - pl.col("start_ps")).sum().alias("ps"))
    return int(rows.sort(["ps", "rank"], descending=[True, False])["rank"][0]) if len(rows) else None


def straggler(path: pl.DataFrame) -> OnPath | None:
    """The message that lost most to pauses, rate limits and queues; where none lost any, the last one."""
    found: list[OnPath] = []
    for flow, start, end, cause in path.select("flow", "start_ps", "end_ps", "cause").iter_rows():
        if flow is None:
            continue
        if not found or found[-1].flow != flow:
            found.append(OnPath(flow, start, end, dict.fromkeys(("pause", "rate_limit", "queueing"), 0)))
        at = found[-1]
        at.start, at.end = min(at.start, start), max(at.end, end)
        if cause in at.lost:
            at.lost[cause] += end - start
    return max(found, key=lambda m: (sum(m.lost.values()), m.end, m.flow), default=None)


def jobs(facts: Facts) -> list[Job]:
    return [Job(facts, n) for n in range(len(facts.param("job") or []))]

"""Sentences of a run, number by number: a pattern for each, and what the tables say in the place of its groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from . import words
from .facts import Facts, whole
from .jobs import CAUSES, IN_WORDS, Job
from .ledger import Verification
from .words import count, rate, size, time

N = r"([\d,]+)"  # a count
Q = r"([\d.]+ [a-zA-Z/]+)"  # a quantity with its unit
P = r"(\S+->\S+?)"  # a port
PEAK = rf"\({N} messages; fullest ingress {P}, {Q}\)"

#: Not decided by the tables.
UNKNOWN = object()


@dataclass(frozen=True)
class Said:
    """What a sentence depends on besides the tables."""

    facts: Facts
    #: End of the run.
    end: int
    jobs: list[Job]
    #: Frames lost by cause, checked before.
    losses: dict[str, int]
    #: Numbers of the manifest that tables do not have.
    given: dict[str, Any]

    @property
    def never_sent(self) -> int | None:
        """Messages of jobs that were never sent; None: no table has them."""
        if " complete" in str(self.given.get("ended_because")):
            return 0
        left = [j.never_sent for j in self.jobs]
        return None if None in left else sum(n for n in left if n is not None)

    @property
    def flows(self) -> int | None:
        """Flows that began, and all messages of jobs."""
        return None if self.never_sent is None else len(self.facts.flows) + self.never_sent

    @property
    def unfinished(self) -> int | None:
        """Flows with a size that did not end, those among them that never began too."""
        return None if self.never_sent is None else len(self.facts.unfinished) + self.never_sent


Derive = Callable[[Said, "re.Match[str]"], Iterable[Any]]
RULES: list[tuple[re.Pattern[str], str, Derive]] = []


def rule(pattern: str, table: str) -> Callable[[Derive], Derive]:
    def add(derive: Derive) -> Derive:
        RULES.append((re.compile(pattern, re.DOTALL), table, derive))
        return derive

    return add


#: How a sentence begins whose first word is a mechanism.
MECHANISM = r"\S+ "
#: Sentences that no table decides.
UNDECIDED = (
    r"\S+ changed no rate(?:: no (?:mark reached a receiver|CNM was sent))?",
    r"no retransmission timer expired",
    r"no link corrupted a frame",
    r"links resent no frame",
    r"\S+ changed flow rates .* times",
    r"retransmission timers expired .* times",
    r"links resent .* frames .* lost signals",
    r"\S+ never pauses: .*",
    r"job .+: (?:the application waits for itself|a receive took a message of another size).*",
)


def compare(ledger: Verification, place: str, text: str, said: Said, why: str = "no table counts it") -> None:
    """Compares the numbers of a sentence, and its mechanism."""
    first = text.partition(" ")[0]

    def mechanism(pattern: str) -> None:
        if pattern.startswith(MECHANISM):
            used = [said.facts.param(section, "kind") for section in ("flow_control", "detection", "rate_control")]
            ledger.equal(place, first, first if first in used else None, "the scenario")

    for pattern, table, derive in RULES:
        if match := pattern.fullmatch(text):
            mechanism(pattern.pattern)
            groups = [(g, d) for g, d in zip(match.groups(), derive(said, match), strict=True) if g is not None]
            for printed, derived in groups:
                if derived is UNKNOWN:
                    ledger.skip(place, why, words.numbers(printed))
                else:
                    ledger.equal(place, printed, derived, table)
            return
    known = next((p for p in UNDECIDED if re.fullmatch(p, text, re.DOTALL)), None)
    mechanism(known or "")
    ledger.skip(place, why if known else "a sentence that is not known", max(words.numbers(text), 1))


def peak(s: Said, m: re.Match[str]) -> list[Any]:
    found = s.facts.fullest_ingress
    if found and found[1] == 0 and (named := s.facts.port(m[m.re.groups - 1])) and named["ingress_bytes_max"] == 0:
        found = (named["port"], 0)  # nothing arrived anywhere, and which nodes are hosts is not known without flows
    return [count(s.facts.sum("messages"))] + ([found[0], size(found[1])] if found else [None, None])


@rule(rf"\S+ paused ports {N} times, one of them for {Q} in total {PEAK}", "ports")
def _paused(s: Said, m: re.Match[str]) -> list[Any]:
    return [count(s.facts.sum("pauses")), time(s.facts.most("paused_ps")), *peak(s, m)]


@rule(rf"\S+ blocked frames {N} times, at one port for {Q} in total {PEAK}", "ports")
def _blocked(s: Said, m: re.Match[str]) -> list[Any]:
    return [count(s.facts.sum("blocks")), time(s.facts.most("blocked_ps")), *peak(s, m)]


@rule(rf"\S+ slowed ports down to {Q} {PEAK}", "ports")
def _slowed(s: Said, m: re.Match[str]) -> list[Any]:
    # Each port is compared with its own line, which no table has: the rate is one of those allowed.
    allowed = {rate(r) for r in s.facts.ports["allowed_bps_min"].drop_nulls()}
    lowest = s.facts.ports["allowed_bps_min"].min()
    return [m[1] if m[1] in allowed else rate(whole(lowest)), *peak(s, m)]


@rule(rf"\S+ (?:paused single flows, and no whole port|paused nothing) {PEAK}", "ports")
def _nothing(s: Said, m: re.Match[str]) -> list[Any]:
    return peak(s, m)


@rule(rf"\S+ marked {N} frames as congested \(CE\), {N} as undetermined \(UE\)", "ports")
def _marked_ue(s: Said, _: Any) -> list[Any]:
    return [count(s.facts.sum(c)) for c in ("marked", "marked_ue")]


@rule(rf"\S+ marked {N} frames", "ports")
def _marked(s: Said, _: Any) -> list[Any]:
    return [count(s.facts.sum("marked"))]


@rule(rf"\S+ marked no frame: the longest egress queue was {Q}", "ports")
def _unmarked(s: Said, _: Any) -> list[Any]:
    return [size(s.facts.most("egress_bytes_max"))]


@rule(rf"\S+ sent {N} CNMs, from {N} ingress buffers and {N} egress queues; {N} flows received any, at most {N} each", "ports, flows")
def _cnms(s: Said, _: Any) -> list[Any]:
    at = [s.facts.ports[c] for c in ("cnms_ingress", "cnms_egress")]
    got = s.facts.flows["cnms"]
    total = sum(whole(c.sum()) for c in at)
    return [count(total), *(str(whole((c > 0).sum())) for c in at), count(whole((got > 0).sum())), count(whole(got.max()))]


@rule(rf"\S+ sent no CNM: the fullest ingress buffer had {Q}, the longest egress queue {Q}", "ports")
def _no_cnm(s: Said, _: Any) -> list[Any]:
    return [size(s.facts.most(c)) for c in ("ingress_bytes_max", "egress_bytes_max")]


@rule(rf"watchdog \((\w+)\): {P}, priority {N}, paused since {Q}, found at {Q}, (?:restored at {Q}|(not restored before the end))(?:, {N} frames discarded)?", "storms")
def _storm(s: Said, m: re.Match[str]) -> list[Any]:
    storms = s.facts.tables["storms"].iter_rows(named=True)
    # The sentence names its row by port, priority and time.
    known = [r for r in storms if (r["port"], str(r["priority"]), time(r["start_ps"])) == m.group(2, 3, 4)]
    if not known:
        return [None] * 8
    # A pause may be found again after an alert.
    r = next((r for r in known if time(r["detected_ps"]) == m[5]), known[0])
    lost, over = r["discarded_data"] + r["discarded_control"], r["end_ps"]
    return [
        r["action"],
        r["port"],
        str(r["priority"]),
        time(r["start_ps"]),
        time(r["detected_ps"]),
        None if over is None else time(over),
        "not restored before the end" if over is None else None,
        count(lost) if lost else None,
    ]


@rule(rf"watchdog: {N} more storms, in the table storms", "storms")
def _storms(s: Said, _: Any) -> list[Any]:
    return [str(len(s.facts.tables["storms"]) - 4)]


@rule(rf"the watchdog found no storm: no queue was paused for {Q} \(polls every {Q}\)", "the scenario")
def _no_storm(s: Said, _: Any) -> list[Any]:
    return [time(words.read_time(s.facts.param("watchdog", key))) for key in ("detect", "poll")]


@rule(rf"deadlock: (.+), at {Q}; {N} ports are stuck", "deadlocks")
def _deadlock(s: Said, m: re.Match[str]) -> list[Any]:
    cycles = s.facts.tables["deadlocks"].sort("cycle", "position").partition_by("cycle", maintain_order=True)
    named = {" waits for ".join(c["port"]): time(int(c["start_ps"][0])) for c in cycles}
    known = m[1] in named
    return [m[1] if known else None, named.get(m[1]), UNKNOWN]


@rule(r"(no deadlock)", "deadlocks")
def _no_deadlock(s: Said, _: Any) -> list[Any]:
    return [None if s.facts.deadlock else "no deadlock"]


@rule(rf"no deadlock, but slow progress: {P} was slowed down to {Q}", "ports")
def _slow_progress(s: Said, _: Any) -> list[Any]:
    rows = s.facts.ports.filter(pl.col("allowed_bps_min") > 0).sort("allowed_bps_min", maintain_order=True)
    return [rows["port"][0], rate(int(rows["allowed_bps_min"][0]))]


@rule(rf"\S+ treated {N} frames as those of another flow, because their numbers collide", "manifest.json, flow_collisions")
def _collisions(s: Said, _: Any) -> list[Any]:
    return [count(s.given["flow_collisions"])]


@rule(rf"{N} checks were violated, the first: (.*)", "manifest.json, verdict")
def _violated(s: Said, _: Any) -> list[Any]:
    promises = s.given["verdict"]["promises"]
    return [count(promises.get("violations", 0)), promises.get("first")]


def lossy(s: Said) -> str:
    """The lossy priorities."""
    found: list[str] = []
    for part in s.facts.param("flow_control", "lossy") or []:
        low, _, high = str(part).partition("-")
        found += [str(p) for p in range(int(low), int(high or low) + 1)]
    return ", ".join(sorted(set(found)))


@rule(rf"{N} frames of lossy priorities \(([\d, ]+)\) were dropped: {N} at full egress queues(?:, {N} of them at {P})?; {N} at full ingress buffers", "ports")
def _lossy(s: Said, m: re.Match[str]) -> list[Any]:
    at = [s.losses.get(f"lossy-{side}", 0) for side in ("egress", "ingress")]
    worst = s.facts.most("tail_dropped")
    port = s.facts.ports.filter(pl.col("tail_dropped") == worst)["port"][0]
    return [count(sum(at)), lossy(s), count(at[0]), count(worst) if worst else None, port if worst else None, count(at[1])]


@rule(r"no frame of lossy priorities \(([\d, ]+)\) was dropped", "the scenario")
def _no_lossy(s: Said, _: Any) -> list[Any]:
    return [lossy(s)]


@rule(rf"pool (.+) \((ingress|egress)\): (\S+) used at most {Q} of its shared part of {Q}(?:, and {Q} of its headroom of {Q})?", "pools")
def _pool(s: Said, m: re.Match[str]) -> list[Any]:
    best: dict[str, Any] | None = None
    for row in s.facts.tables["pools"].filter((pl.col("pool") == m[1]) & (pl.col("side") == m[2])).iter_rows(named=True):
        key = (row["shared_bytes_max"], row["headroom_bytes_max"])
        if best is None or key > (best["shared_bytes_max"], best["headroom_bytes_max"]):
            best = row
    if best is None:
        return [None] * 7
    room = [size(best[c]) if best["headroom_bytes"] else None for c in ("headroom_bytes_max", "headroom_bytes")]
    return [best["pool"], best["side"], best["switch"], size(best["shared_bytes_max"]), size(best["shared_bytes"]), *room]


FAULT = r"((?:pause storm of \S+ \(.*?\)|slow receiver \S+ \(.*?\))(?: and (?:pause storm of \S+ \(.*?\)|slow receiver \S+ \(.*?\)))*)"
BLOCKS = rf"blocked frames (once|{N[1:-1]} times)(?:, for {Q} in total)?"


def fault(s: Said, text: str) -> str | None:
    """Hosts with a fault, with their parameters and fullest queues."""
    parts = re.split(r" and (?=pause storm|slow receiver)", text)
    storms = [f"pause storm of {x['host']} (priority {x['priority']}, from {time(words.read_time(x['start']))})" for x in s.facts.param("pause_storm") or []]
    found = []
    for part in parts:
        if m := re.fullmatch(r"slow receiver (\S+) \((.*), at most .* queued\)", part):
            to = s.facts.ports.filter(pl.col("port").str.contains(f"->{re.escape(m[1])}(#\\d+)?$"))
            found.append(f"slow receiver {m[1]} ({m[2]}, at most {size(whole(to['ingress_bytes_max'].max()))} queued)")
        else:
            found.append(part if part in storms else "no storm of the scenario")
    return " and ".join(found)


def times(n: int) -> str:
    return "once" if n == 1 else f"{count(n)} times"


@rule(rf"{FAULT}: {P} was paused (once|{N[1:-1]} times), for {Q} in total(?:, (?:while (no) frame waited|until the (watchdog) released it|and {BLOCKS}))?", "ports")
def _fault_paused(s: Said, m: re.Match[str]) -> list[Any]:
    row = s.facts.port(m[2])
    if row is None:
        return [fault(s, m[1]), None, None, None, None, None, None, None]
    blocks = [times(row["blocks"]), time(row["blocked_ps"])] if m[7] is not None else [None, None]
    none = "no" if row["blocks"] == 0 else None
    return [fault(s, m[1]), m[2], times(row["pauses"]), time(row["paused_ps"]), none, m[6], *blocks]


@rule(rf"{FAULT}: {P} {BLOCKS}(?:, until the watchdog released it)?", "ports")
def _fault_blocked(s: Said, m: re.Match[str]) -> list[Any]:
    row = s.facts.port(m[2]) or {"blocks": 0, "blocked_ps": 0}
    return [fault(s, m[1]), m[2], times(row["blocks"]), time(row["blocked_ps"])]


@rule(rf"{FAULT}: {P} was slowed down to {Q}", "ports")
def _fault_slowed(s: Said, m: re.Match[str]) -> list[Any]:
    row = s.facts.port(m[2])
    return [fault(s, m[1]), m[2], rate(row["allowed_bps_min"] or 0) if row else None]


@rule(rf"{FAULT} paused nothing: no frame waited for it at {P}", "ports")
def _fault_nothing(s: Said, m: re.Match[str]) -> list[Any]:
    row = s.facts.port(m[2])
    idle = row is not None and row["pauses"] + row["blocks"] == 0
    return [fault(s, m[1]), m[2] if idle else None]


# The end of a run.


def ended(s: Said) -> str:
    return time(s.end)


@rule(rf"(?:stopped at {Q} \(run\.duration\)|ended at {Q}: no event was left|stopped at {Q}: (deadlock) \(run\.stop_on_deadlock\))", "flows, ranks, deadlocks, the scenario")
def _ended(s: Said, _: Any) -> list[Any]:
    return [ended(s)] * 3 + ["deadlock" if s.facts.deadlock and s.facts.param("run", "stop_on_deadlock") else None]


@rule(rf"ended at {Q}: (?:the flow|all {N} flows)(?: and the job| and all jobs)? (?:is|are) complete", "flows")
def _complete(s: Said, m: re.Match[str]) -> list[Any]:
    return [ended(s) if s.facts.unfinished.is_empty() else None, count(s.facts.completed) if m[2] else None]


@rule(rf"interrupted at {Q} of {Q}", "the scenario")
def _interrupted(s: Said, _: Any) -> list[Any]:
    return [ended(s), time(s.facts.duration)]


@rule(rf"none of {N} flows started in {Q}", "flows, the scenario")
def _none_started(s: Said, _: Any) -> list[Any]:
    return [UNKNOWN, ended(s) if s.facts.flows.is_empty() else None]


@rule(rf"no frame was transmitted in {Q}", "ports, the scenario")
def _no_frame(s: Said, _: Any) -> list[Any]:
    return [None if s.facts.sum("tx_frames") else ended(s)]


@rule(r"(the run simulated no time)", "the scenario")
def _no_time(s: Said, m: re.Match[str]) -> list[Any]:
    return [None if s.end else m[1]]


# Slowdown.


@rule(r"(at least: )?mean (\S+), median (\S+), 99th percentile (\S+) \(flows: (\d+)(?:; unfinished and counted with their age: (\d+))?\)", "flows")
def _slowdown(s: Said, _: Any) -> list[Any]:
    found = s.facts.slowdown(s.end)
    if not found:
        return [None] * 6
    open_ = found["censored"]
    values = [f"{found[k]:.2f}" for k in ("mean", "median", "p99")]
    return ["at least: " if open_ else None, *values, str(found["flows"]), str(open_) if open_ else None]


# Jobs.


def job(s: Said, name: str) -> Job | None:
    return next((j for j in s.jobs if j.name == name), None)


def span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return time(low) if low == high else f"{time(low)} to {time(high)}"


RANGE = r"([\d.]+ \w+(?: to [\d.]+ \w+)?)"


@rule(rf"job (.+): {N}(?: of {N})? iterations? of {N} ranks in {Q}, {RANGE} each; exposed communication {RANGE} at the rank with the most", "ranks")
def _job(s: Said, m: re.Match[str]) -> list[Any]:
    j = job(s, m[1])
    if j is None or not j.iterations:
        return [None] * 7
    done = len(j.iterations)
    return [
        j.name,
        str(done),
        None if done == j.planned else str(j.planned),
        str(len(j.hosts)),
        time(j.time),
        span([i.time for i in j.iterations]),
        span([i.exposed for i in j.iterations]),
    ]


@rule(r"job (.+): critical path of the longest iteration: (.*)", "critical_path")
def _critical(s: Said, m: re.Match[str]) -> list[Any]:
    j = job(s, m[1])
    if j is None or j.longest is None:
        return [None, None]
    total = max(sum(j.longest.path.values()), 1)
    parts = []
    for cause in CAUSES:
        if ps := j.longest.path[cause]:
            rank = j.longest.computed if cause == "compute" else None
            most = "" if rank is None else f", most at rank {rank} on {j.hosts[rank]}"
            parts.append(f"{IN_WORDS.get(cause, cause)} {time(ps)} ({ps * 100.0 / total:.1f} %{most})")
    return [j.name, ", ".join(parts)]


@rule(
    rf"job (.+): the message waited for longest there is flow {N}, rank {N} on (\S+) to rank {N} on (\S+), under way from {Q} to {Q}"
    rf"(?:; nothing delayed it|, (.+?) of it)(?:; {P} was not allowed to transmit for {Q})?(?:; it shared {P} with {N} flows? of other hosts)?(?:\. Why: xoff explain DIR --straggler)?",
    "critical_path",
)
def _straggler(s: Said, m: re.Match[str]) -> list[Any]:
    j = job(s, m[1])
    if j is None or j.longest is None or j.longest.straggler is None:
        return [None] * 13
    x = j.longest.straggler
    sender, receiver = j.ends_of(x.flow)
    lost = ", ".join(f"{IN_WORDS.get(c, c)} {time(ps)}" for c, ps in x.lost.items() if ps)
    priority = int(j.section.get("priority", 0))
    paused = s.facts.paused(m[10], priority, x.start, x.end) if m[10] else None
    ends = [(str(r), j.hosts[r]) if r is not None else (UNKNOWN, UNKNOWN) for r in (sender, receiver)]
    return [j.name, str(x.flow), *ends[0], *ends[1], time(x.start), time(x.end), lost or None, m[10], time(paused) if paused else None, UNKNOWN, UNKNOWN]


@rule(r"job (.+): (.+) at a bus bandwidth of ([\d.]+) Gbps(?: to ([\d.]+) Gbps)?", "collectives")
def _bus(s: Said, m: re.Match[str]) -> list[Any]:
    j = job(s, m[1])
    if j is None or m[2] not in j.bus:
        return [m[1] if j else None, None, None, None]
    low, high = j.bus[m[2]]
    return [j.name, m[2], f"{low / 1e9:.3f}", None if low == high else f"{high / 1e9:.3f}"]


@rule(rf"job (.+): no iteration of {N} completed", "ranks")
def _no_iteration(s: Said, m: re.Match[str]) -> list[Any]:
    j = job(s, m[1])
    return [j.name if j else None, str(j.planned) if j and not j.iterations else None]

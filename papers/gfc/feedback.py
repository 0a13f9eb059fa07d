"""Fig. 19: bandwidth that the messages of buffer-based GFC take."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from xoff.lab import Results, units

from .large_scale import Settings, first_without_cycle, messages, scan, scanned, settings, whole

__all__ = ["messages", "scan", "scanned"]

MESSAGE_BITS = 512.0
"""Section 5.4: m = 64 B."""
LINE = 10e9
TAU = 7.4e-6
"""Of Eq. (6) with the parameters of section 6.2.2 [s]."""
BOUND = MESSAGE_BITS / TAU / LINE
"""m / tau as a share of the line."""
WINDOW = 500e-6
RULES = {"one message per tau": ("0B", "7400ns"), "hysteresis of 2 MTU": ("3000B", "0ns"), "neither": ("0B", "0ns")}
"""Rule that keeps single frames around a threshold from sending a message each: hysteresis, and least time between two messages."""
JUDGED = "one message per tau"
RUNS = {"quick": {8: (1, "10ms")}, "full": {8: (5, "20ms"), 16: (3, "5ms")}}
"""Networks, and length of a run, by size."""
OTHERS = 2
"""Networks of k = 8 under a rule that is not judged."""


def first_networks(r: Results) -> dict[str, Settings]:
    """Enough of them to find those without a cycle."""
    return {f"k = {k}": {"k": k, "first": 0, "past": 20} for k in RUNS[r.mode]}


def chatter(r: Results) -> dict[str, Settings]:
    return {
        f"k = {k}, {rule}, network {number}": settings(
            k,
            number,
            "gfc-buffer",
            repetition,
            routing__kind="ecmp",
            run__duration=duration,
            run__stop_on_deadlock=False,
            **{"flow_control.gfc-buffer.hysteresis": hysteresis, "flow_control.gfc-buffer.spacing": spacing},
        )
        for k, (count, duration) in RUNS[r.mode].items()
        for rule, (hysteresis, spacing) in RULES.items()
        for k, number, repetition in first_without_cycle(r, {k: count if rule == JUDGED else min(count, OTHERS) * (k == 8)})
    }


@dataclass(frozen=True)
class Messages:
    """Pairs of a port and a window by the number of messages, over the runs of a size under a rule."""

    k: int
    rule: str
    runs: int
    windows: dict[int, int]

    @property
    def total(self) -> int:
        return sum(self.windows.values())

    @property
    def quiet(self) -> float:
        """Share without a message."""
        return self.windows[0] / self.total

    def mean(self, busy: bool) -> float:
        """Share of the line, over all or only those with a message."""
        count = sum(n * windows for n, windows in self.windows.items())
        return share(count / (self.total - self.windows[0] if busy else self.total))

    def quantile(self, part: float) -> float:
        below = 0
        for n, windows in sorted(self.windows.items()):
            below += windows
            if below >= part * self.total:
                return share(n)
        return share(0)

    @property
    def largest(self) -> float:
        return share(max(self.windows))

    @property
    def distribution(self) -> list[tuple[float, float]]:
        """Share of the line, and share of ports and windows up to it."""
        ordered = sorted(self.windows.items())
        return [(share(n), below / self.total) for (n, _), below in zip(ordered, accumulate(windows for _, windows in ordered), strict=True)]


def share(messages: float) -> float:
    """Bandwidth of so many in a window."""
    return messages * MESSAGE_BITS / WINDOW / LINE


def measured(r: Results) -> list[Messages]:
    found = []
    for k in RUNS[r.mode]:
        for rule, (hysteresis, spacing) in RULES.items():
            settings = {"topology.k": k, "flow_control.gfc-buffer.hysteresis": hysteresis, "flow_control.gfc-buffer.spacing": spacing}
            runs, windows = r["messages"].where(settings), dict[int, int]()
            for row in runs:
                for n, count in row["counts"].rows():
                    windows[n] = windows.get(n, 0) + count
            if runs:
                found.append(Messages(k, rule, len(runs), windows))
    return found


def numbers(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "k": m.k,
            "rule": m.rule,
            "mean": m.mean(False),
            "busy": m.mean(True),
            "most": m.quantile(0.99),
            "largest": m.largest,
            "quiet": m.quiet,
        }
        for m in r.value("measured")
    ]


def judged(r: Results) -> dict[int, dict[str, Any]]:
    """The numbers under the judged rule; ``shown``: the mean of the reading."""
    of = "busy" if r.cell["mean over"] == "ports with messages" else "mean"
    return {n["k"]: n | {"shown": n[of]} for n in numbers(r) if n["rule"] == JUDGED}


def sizes(r: Results) -> list[int]:
    return list(RUNS[r.mode])


def in_words(r: Results) -> str:
    p = units.share
    return "; ".join(
        f"k = {n['k']}, {n['rule']}: mean {p(n['mean'])} ({p(n['busy'])} of those with a message), 99 % below {p(n['most'])}, largest {p(n['largest'])}"
        for n in numbers(r)
    )


def by_rule(r: Results) -> list[dict[str, Any]]:
    """Every size and rule, with numbers in words and which sentence it takes."""
    words = ("mean", "busy", "most", "largest", "quiet")
    return [n | {w: units.share(n[w]) for w in words} for n in numbers(r)]


def sentence(r: Results) -> dict[str, dict[str, bool]]:
    """Which of the sentences a rule has."""
    return {rule: {other: rule == other for other in RULES} for rule in RULES}


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "k": str(m.k),
            "Extra rule": m.rule,
            "Runs": str(m.runs),
            "Ports x windows": whole(m.total),
            "Mean": units.share(m.mean(False)),
            "Mean where any": units.share(m.mean(True)),
            "99 %": units.share(m.quantile(0.99)),
            "Largest": units.share(m.largest),
        }
        for m in r.value("measured")
    ]

"""Fig. 17(b): MPI and I/O messages on a fat-tree of InfiniBand switches."""

from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, Runs, units

from .groups import EVER, Group, SOUND, examined, mean, quick, ratio, times, unsound

BINS: dict[str, Group] = {
    "all": ("", 0, EVER),
    "MPI": ("", 0, 100_000),
    "I/O 512 KB": ("", 100_000, 1_000_000),
    "I/O 1 MB": ("", 1_000_000, 2_000_000),
    "I/O 2 MB": ("", 2_000_000, 4_000_000),
    "I/O 4 MB": ("", 4_000_000, EVER),
}
READINGS = ["one connection per message", "130 % load of the I/O clients", "an index that falls every 20 us", "a BECN for every marked packet"]
"""Other readings of the paper's network."""
PAPER = {"all": 1.22, "I/O 512 KB": 1.5}


def message_groups(run: Run) -> dict[str, Any]:
    return examined(run, BINS)


def by_case(r: Results) -> dict[str, Runs]:
    """Without and with TCD."""
    return {name: r.runs.where(case=name) for name in ("IB CC", "IB CC + TCD")}


def gain(r: Results) -> dict[str, Mean]:
    """How many times longer messages take without TCD, by size."""
    without, with_ = by_case(r).values()
    return {name: ratio(without, with_, f"{name} fct") for name in BINS}


def gains(r: Results) -> str:
    return ", ".join(f"{name} {g.words(times)}" for name, g in gain(r).items())


def other(r: Results) -> dict[str, dict[str, str]]:
    """Gains under another reading, and of TCD with another index against IB CC, on fewer hosts (first seed)."""

    def of(case: str) -> Runs:
        return r["small"].where(case=case)

    pairs = {name: (of(f"{name}: IB CC"), of(f"{name}: IB CC + TCD")) for name in READINGS}
    pairs |= {name: (of("IB CC"), of(case)) for name, case in {"small": "IB CC + TCD", "literal": "literal", "gentle": "gentle"}.items()}
    return {name: {group: ratio(*pair, f"{group} fct").words(times) for group in PAPER} for name, pair in pairs.items()}


def small_size(r: Results) -> str:
    row = r["small"][0]
    return f"{row['topology.k'] ** 3 // 4} hosts, {row['workload[0].messages']} messages, one seed"


def marked(r: Results) -> dict[str, float]:
    """Share of the I/O messages of 512 KB with a mark."""
    without, with_ = by_case(r).values()
    wanted = {"without ce": (without, "ce"), "with ce": (with_, "ce"), "with ue": (with_, "ue")}
    return {name: mean(runs, f"I/O 512 KB {mark}").mean for name, (runs, mark) in wanted.items()}


def size(r: Results) -> dict[str, int]:
    row = r.runs[0]
    return {"k": row["topology.k"], "hosts": row["topology.k"] ** 3 // 4, "messages": row["workload[0].messages"]}


def seeds(r: Results) -> int:
    return len(by_case(r)["IB CC"])


def table(r: Results) -> list[dict[str, str]]:
    without, with_ = by_case(r).values()

    def time(runs: Runs, name: str) -> str:
        return units.time(mean(runs, f"{name} fct").mean)

    def share(runs: Runs, name: str, mark: str) -> str:
        return units.share(mean(runs, f"{name} {mark}").mean)

    return [
        {
            "Messages": name,
            "Number": units.words(sum(without.column(f"{name} flows"))),
            "IB CC": time(without, name),
            "IB CC + TCD": time(with_, name),
            "Gain": gain(r)[name].words(times),
            "Marked CE without": share(without, name, "ce"),
            "Marked CE with TCD": share(with_, name, "ce"),
            "Marked UE with TCD": share(with_, name, "ue"),
        }
        for name in BINS
    ]

"""Four flow controls on eight switches: which of them make PFC and CBFC deadlock on the ring, and let GFC hold 5 Gb/s for a second?"""

from collections.abc import Iterator
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe
from xoff.lab.observe import MS

from .metrics import NAMES

__all__ = ["NAMES"]

SWITCHES: dict[str, dict[str, Any]] = {
    "FIFO": {"switch.discipline": "fifo"},
    "round robin": {"switch.discipline": "round-robin"},
    "deficit round robin": {"switch.discipline": "drr"},
    "input FIFO": {"switch.discipline": "input-fifo"},
    **{f"random, {batch} {'frame' if batch == 1 else 'frames'}": {"switch.discipline": "random", "switch.batch": batch} for batch in (1, 4, 8, 32)},
}
"""Order in which an egress serves its inputs. Random: an input is drawn for so many frames, fairly."""
CLOCKS = {"equal": 0, "+- 10 ppm": 10}
"""Links differ by so many parts in a million."""
SCHEMES: dict[str, dict[str, Any]] = {"pfc": {}, "cbfc": {}, "gfc-buffer": {"switch.buffer": "1003KB"}, "gfc-time": {"switch.buffer": "1003KB"}}
"""GFC has B_m + 2 MTU."""
EARLY = (50 * MS, 60 * MS)


def grid(r: Results) -> dict[str, dict[str, Any]]:
    """Every cell; several seeds where something is drawn."""
    return {
        f"{switch}, {clocks}, {scheme}, {seed}": {"flow_control": scheme, "clocks.ppm": ppm, "run.seed": seed, "run.duration": "1s" if r.full else "200ms"} | order | own
        for switch, order in SWITCHES.items()
        for clocks, ppm in CLOCKS.items()
        for scheme, own in SCHEMES.items()
        for seed in range(r.seed, r.seed + (3 if r.full and (ppm or "random" in switch) else 1))
    }


def at_the_end(run: Run) -> dict[str, Any]:
    """Deadlock; slowest and fastest flow in the last tenth, and the slowest early on; loss."""
    rates = observe.rates_at_end(run, observe.end(run) / 10)
    return {
        "deadlock_ps": observe.deadlock_ps(run),
        "slowest": min(rates),
        "fastest": max(rates),
        "early": min(observe.mean(observe.flow_rate(run, flow), *EARLY) for flow in run.flows["flow"].to_list()),
        "lost": observe.lost(run),
    }


def cells(r: Results) -> Iterator[tuple[str, str, str, list[Row]]]:
    """Switch, clocks, flow control and runs."""
    runs: dict[str, list[Row]] = {}
    for row in r.runs:
        runs.setdefault(row["case"].rpartition(", ")[0], []).append(row)
    for switch in SWITCHES:
        for clocks in CLOCKS:
            for scheme in SCHEMES:
                yield switch, clocks, scheme, runs[f"{switch}, {clocks}, {scheme}"]


def as_in_the_paper(scheme: str, row: Row) -> bool:
    """A deadlock, or 5 Gb/s +- 2 % at the end and no loss."""
    if scheme in ("pfc", "cbfc"):
        return row["deadlock_ps"] is not None
    return not row["lost"] and row["slowest"] >= 4.9e9 and row["fastest"] <= 5.1e9


def words(scheme: str, rows: list[Row]) -> str:
    """Time of the deadlock [ms], or rate of the slowest flow [Gb/s]: of all seeds, the smallest and the largest. Under GFC, early and at the end."""
    stuck = [row["deadlock_ps"] / MS for row in rows if row["deadlock_ps"] is not None]
    late = _range([row["slowest"] / 1e9 for row in rows if row["deadlock_ps"] is None], ".2f")
    if stuck:
        rest = f"\n{len(rows) - len(stuck)} of {len(rows)}: none" if len(stuck) < len(rows) else ""
        return f"deadlock\n{_range(stuck, '.3g')} ms{rest}"
    if scheme in ("pfc", "cbfc"):
        return f"none\n{late}"
    early = _range([row["early"] / 1e9 for row in rows], ".2f")
    return late if early == late else f"{early}\nthen {late}"


def _range(values: list[float], form: str) -> str:
    if not values:
        return ""
    low, high = (format(of(values), form) for of in (min, max))
    return low if low == high else f"{low}-{high}"


def share(scheme: str, rows: list[Row]) -> float:
    return sum(as_in_the_paper(scheme, row) for row in rows) / len(rows)


def field(r: Results) -> list[list[tuple[float, str]]]:
    """For the figure, a row a switch: share of the seeds that show what the paper shows, and words."""
    found = [(share(scheme, rows), words(scheme, rows)) for _, _, scheme, rows in sorted(cells(r), key=lambda c: (list(SWITCHES).index(c[0]), list(SCHEMES).index(c[2])))]
    width = len(SCHEMES) * len(CLOCKS)
    return [found[n : n + width] for n in range(0, len(found), width)]


def columns(r: Results) -> list[str]:
    return [f"{NAMES[scheme].replace('-based', '')}\n{clocks}" for scheme in SCHEMES for clocks in CLOCKS]


def whole(r: Results) -> dict[str, int]:
    """Switches on which every seed of all four shows what the paper shows, by clocks."""
    return {clocks: len(switches) for clocks, switches in _whole(r).items()}


def _whole(r: Results) -> dict[str, list[str]]:
    held = {(switch, clocks, scheme): share(scheme, rows) == 1 for switch, clocks, scheme, rows in cells(r)}
    return {clocks: [s for s in SWITCHES if all(held[s, clocks, scheme] for scheme in SCHEMES)] for clocks in CLOCKS}


def names(r: Results) -> dict[str, str]:
    return {clocks: ", ".join(switches) or "none" for clocks, switches in _whole(r).items()}


def cell(r: Results) -> dict[str, str]:
    """Words of a cell: ``input FIFO equal pfc``."""
    return {f"{switch} {clocks} {scheme}": words(scheme, rows).replace("\n", " ") for switch, clocks, scheme, rows in cells(r)}


def stuck(r: Results) -> dict[str, int]:
    """Switches on which PFC deadlocks with every seed, and on which it does and a flow of buffer-based GFC falls below 0.1 Gb/s with some seed."""
    of = {(switch, clocks, scheme): rows for switch, clocks, scheme, rows in cells(r)}
    where = [s for s in SWITCHES if all(row["deadlock_ps"] is not None for row in of[s, "+- 10 ppm", "pfc"])]
    return {"pfc": len(where), "decays": sum(min(row["slowest"] for row in of[s, "+- 10 ppm", "gfc-buffer"]) < 0.1e9 for s in where)}


def losses(r: Results) -> int:
    return sum(r.runs.column("lost"))


def table(r: Results) -> pl.DataFrame:
    rows = [
        {"Switch": switch, "Clocks": clocks} | {NAMES[scheme]: words(scheme, of).replace("\n", ", ") for s, c, scheme, of in cells(r) if (s, c) == (switch, clocks)}
        for switch in SWITCHES
        for clocks in CLOCKS
    ]
    return pl.DataFrame(rows)

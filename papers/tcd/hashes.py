"""Figs. 16a and 19a with the hash of ns3-rdma, and Fig. 19a with all of TIMELY's snippet: a run each."""

from itertools import product
from typing import Any

from xoff.lab import Results, Runs

from .groups import SOUND, times, unsound
from .readings import BASE
from .workloads import DCQCN, FIGURES, LEVELS, TIMELY, WHICH, Pair, Settings, hadoop, number

__all__ = ["SOUND", "hadoop", "unsound"]

HASHES = {"xoff": "ecmp-polarised", "ns3-rdma": "ecmp-ns3-rdma"}
"""Of all switches alike."""
TIMELYS = {"its paper": "paper", "the snippet": "snippet"}


def _cases(r: Results, schemes: Settings, **more: Any) -> Settings:
    k = 10 if r.full else 4
    size = {"topology.k": k, "workload[0].flows": 40_000 if r.full else 4_000, "workload[0].cdf": "hadoop", **BASE.settings(k)}
    return {name: {**size, **own, **more} for name, own in schemes.items()}


def dcqcn(r: Results) -> Settings:
    return {f"{hash}: {name}": of for hash, kind in HASHES.items() for name, of in _cases(r, DCQCN, **{"routing.kind": kind}).items()}


def timely(r: Results) -> Settings:
    return {
        f"{hash}, {variant}: {name}": of
        for (hash, kind), (variant, value) in product(HASHES.items(), TIMELYS.items())
        for name, of in _cases(r, TIMELY, **{"routing.kind": kind, "rate_control.timely.variant": value}).items()
    }


def rows(r: Results) -> list[dict[str, Any]]:
    """Of each figure, variant of TIMELY and hash: the slowdowns that the paper prints, here."""
    found = []
    for figure in ("16a", "19a"):
        ((group, which, paper),) = LEVELS[FIGURES[figure]]
        for variant, hash in product(TIMELYS if figure == "19a" else [""], HASHES):
            name = f"{hash}, {variant}" if variant else hash
            pair = Pair.of(Runs([row for row in r[figure] if row["case"].rpartition(": ")[0] == name]))
            here = [v.mean for v in pair.value(group, WHICH[which])]
            found.append({"figure": figure, "variant": variant, "hash": hash, "group": group, "which": which, "paper": paper, "here": here, "pair": pair})
    return found


def changed(r: Results) -> dict[str, float]:
    """How far a hash moves one of the slowdowns that the paper prints, as a factor."""
    found = {}
    of = {(row["figure"], row["variant"], row["hash"]): row["here"] for row in r.value("rows")}
    for figure, variant in dict.fromkeys(key[:2] for key in of):
        both = zip(*(of[figure, variant, hash] for hash in HASHES), strict=True)
        found[f"{figure}, {variant}".removesuffix(", ")] = max(max(a / b, b / a) for a, b in both)
    return found


def compared(r: Results) -> list[str]:
    return list(changed(r))


def in_words(r: Results) -> str:
    return "; ".join(
        f"Fig. {', '.join(filter(None, (row['figure'], row['variant'], 'hash of ' + row['hash'])))}: {number(row['here'][0])} and {number(row['here'][1])}"
        f" (paper {row['paper'][0]} and {row['paper'][1]})"
        for row in r.value("rows")
    )


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Figure": row["figure"],
            "TIMELY": row["variant"] or "-",
            "Hash": row["hash"],
            "Sizes": f"{row['group']}, {row['which']}",
            "Paper, without and with TCD": " and ".join(map(str, row["paper"])),
            "Here": " and ".join(map(number, row["here"])),
            "Gain": times(row["here"][0] / row["here"][1]),
            "< 80 KB, median, gain": times(row["pair"].gain("< 80 KB", "median").mean),
            "< 50 KB, 99th percentile, gain": times(row["pair"].gain("< 50 KB", "p99").mean),
            "> 100 KB, median, gain": times(row["pair"].gain("> 100 KB", "median").mean),
        }
        for row in r.value("rows")
    ]

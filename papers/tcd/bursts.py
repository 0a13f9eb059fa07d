"""Figs. 15(b) and 18(b): victims of bursts of one size."""

from typing import Any

from xoff.lab import Mean, Results, Runs, units

from .groups import SOUND, mean, names, quick, ratio, seeds, times, unsound
from .victims import burst_load, flow_groups

GAP_US = 722
"""Mean time between bursts: with it, 250 KB overload P3, as the paper says [us]."""


def sizes(r: Results) -> list[int]:
    """[KB]"""
    return [int(size.removesuffix("KB")) for size in dict.fromkeys(r.runs.column("workload[2].size"))]


def _of(r: Results, size: int) -> tuple[Runs, Runs]:
    """Without and with TCD."""
    runs = r.runs.where({"workload[2].size": f"{size}KB"})
    without, with_ = (runs.where(case=name) for name in names(runs))
    return without, with_


def gain(r: Results) -> dict[int, Mean]:
    """How many times longer victims take without TCD, by size."""
    return {size: ratio(*_of(r, size), "victims fct") for size in sizes(r)}


def ue(r: Results) -> dict[int, Mean]:
    """Share of the victims that are marked UE."""
    return {size: mean(_of(r, size)[1], "victims ue") for size in sizes(r)}


def ce(r: Results) -> dict[int, float]:
    """Share of the victims that TCD marks CE."""
    return {size: mean(_of(r, size)[1], "victims ce").mean for size in sizes(r)}


def falls(r: Results) -> int:
    """Steps of the size at which that share falls. A fall within the intervals is noise."""
    shares = list(ue(r).values())
    return sum(b.high < a.low for a, b in zip(shares, shares[1:], strict=False))


def rise(r: Results) -> Mean:
    """From the smallest to the largest bursts."""
    return ue(r)[sizes(r)[-1]].less(ue(r)[sizes(r)[0]])


def best(r: Results) -> tuple[int, Mean]:
    """The size with the largest gain, the last of equals."""
    return max(reversed(gain(r).items()), key=lambda g: g[1].mean)


def largest_gain(r: Results) -> Mean:
    return best(r)[1]


def smallest_gain(r: Results) -> Mean:
    return min(gain(r).values(), key=lambda g: g.mean)


def words(r: Results) -> dict[str, Any]:
    first, last, most = sizes(r)[0], sizes(r)[-1], best(r)[0]
    return {
        "first": first,
        "last": last,
        "best": most,
        "ue_first": ue(r)[first].words(units.share),
        "ue_last": ue(r)[last].words(units.share),
        "gain_best": gain(r)[most].words(times),
        "gain_last": gain(r)[last].words(times),
    }


def most_ce(r: Results) -> dict[str, float]:
    """The largest share of the victims that TCD marks CE, and the size at which it does."""
    size = max(sizes(r), key=lambda s: ce(r)[s])
    return {"size": size if ce(r)[size] > 0 else 0, "ce": ce(r)[size], "ue": ue(r)[size].mean}


def number_of_sizes(r: Results) -> int:
    return len(sizes(r))


def table(r: Results) -> list[dict[str, str]]:
    without, with_ = names(r.runs)
    return [
        {
            "Burst": f"{size} KB",
            "Load of P3": units.share(burst_load(size * 1e3, GAP_US)),
            without: units.time(mean(a, "victims fct").mean),
            with_: units.time(mean(b, "victims fct").mean),
            "Gain": gain(r)[size].words(times),
            "Marked CE without": units.share(mean(a, "victims ce").mean),
            "Marked CE with TCD": units.share(mean(b, "victims ce").mean),
            "Marked UE with TCD": ue(r)[size].words(units.share),
            "Paused without": units.time(mean(a, "stopped_ps").mean),
            "with TCD": units.time(mean(b, "stopped_ps").mean),
        }
        for size, (a, b) in ((size, _of(r, size)) for size in sizes(r))
    ]

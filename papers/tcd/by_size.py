"""Figs. 15(a), 17(a) and 18(a): completion times of victims by size. The first case is without TCD, the second with it, the others are shown next to."""

from xoff.lab import Mean, Results, Runs, units

from .groups import SOUND, mean, names, quick, ratio, seeds, times, unsound
from .victims import FLOWS, MESSAGES, flow_groups, message_groups

ONLY_MARKS = "TCD marks"
"""Begin of the name of a variant in which no source cuts deeper than without TCD."""


def bins(r: Results) -> list[str]:
    """The size groups of the scenario."""
    return list(FLOWS if "> 1 MB fct" in r.runs[0] else MESSAGES)


def by_case(r: Results) -> dict[str, Runs]:
    return {name: r.runs.where(case=name) for name in names(r.runs)}


def pair(r: Results) -> tuple[Runs, Runs]:
    """Without and with TCD."""
    without, with_, *_ = by_case(r).values()
    return without, with_


def gain(r: Results) -> dict[str, Mean]:
    """How many times longer a flow takes without TCD, by group."""
    return {group: ratio(*pair(r), f"{group} fct") for group in ["victims", "S1", "all", *bins(r)]}


def gains(r: Results) -> dict[str, str]:
    """The same in words; ``bins``: of all sizes."""
    words = {group: g.words(times) for group, g in gain(r).items()}
    return words | {"bins": ", ".join(f"{name} {words[name]}" for name in bins(r))}


def ce(r: Results) -> tuple[float, float]:
    """Share of the victims that are marked CE, without and with TCD."""
    without, with_ = (mean(runs, "victims ce").mean for runs in pair(r))
    return without, with_


def stopped(r: Results) -> tuple[float, float]:
    """Pause time of all ports, without and with TCD."""
    without, with_ = (mean(runs, "stopped_ps").mean for runs in pair(r))
    return without, with_


def only_marks(r: Results) -> str:
    """The gains of the marks alone."""
    (runs,) = (runs for name, runs in by_case(r).items() if name.startswith(ONLY_MARKS))
    return ", ".join(f"{name} {ratio(pair(r)[0], runs, f'{name} fct').words(times)}" for name in bins(r))


def variants(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Variant": name,
            "Marked CE": units.share(mean(runs, "victims ce").mean),
            "Marked UE": units.share(mean(runs, "victims ue").mean),
            "Pause time": units.time(mean(runs, "stopped_ps").mean),
            **{group: units.time(mean(runs, f"{group} fct").mean) for group in bins(r)},
            "All victims": units.time(mean(runs, "victims fct").mean),
            "S1's flows": units.time(mean(runs, "S1 fct").mean),
        }
        for name, runs in by_case(r).items()
    ]


def by_reading(r: Results) -> list[dict[str, str]]:
    """Gains under each reading of the rate control: the runs of ``each``, whose cases are ``NAME: without`` and ``NAME: with``."""
    runs = r["each"]

    def words(name: str, group: str) -> str:
        return ratio(*(runs.where(case=f"{name}: {tcd}") for tcd in ("without", "with")), f"{group} fct").words(times)

    found = dict.fromkeys(case.rpartition(": ")[0] for case in names(runs))
    return [{"Reading": name, **{group: words(name, group) for group in bins(r)}, "All victims": words(name, "victims")} for name in found]

"""Figs. 4, 6, 8, 11 and 12: delay and throughput over the load, one curve a workload."""

from __future__ import annotations

from typing import Any

import polars as pl
from xoff.lab import Mean, Results, Row, Runs, units

from .metrics import HOT, largest, lowest, mean, outcome, queues, quick, ratio, stuck, values, words

__all__ = ["outcome", "quick", "stuck"]

CURVES = {"uniform": 0, "1 hotspot": 1, "8 hotspots": 8}
"""Curves and their numbers of hotspots."""
BESIDE = "8 hotspots, on top of the rest"
Settings = dict[str, Any]


# ---- runs -----------------------------------------------------------------------------------------------------------------------


def traffic(hot: int, load: float) -> Settings:
    """Traffic to all outputs alike, or to hotspots and the others."""
    if hot == 0:
        return {"traffic": "uniform", "traffic.load": load}
    return {"traffic": "hotspots", "traffic.outputs": HOT if hot == 8 else ["56"], "traffic.load": load}


def loads(r: Results, hot: int) -> list[float]:
    """Of 64 outputs with so many hotspots of 2.5, the others can be loaded up to (64 - 2.5 hot)/(64 - hot)."""
    if hot == 8:
        return [0.1, 0.3, 0.5, 0.6, 0.7, 0.78] if r.full else [0.3, 0.5, 0.7, 0.78]
    every = [0.1, 0.3, 0.5, 0.6, 0.7, 0.78, 0.9, 0.97] if r.full else [0.5, 0.7, 0.9, 0.97]
    return [load for load in every if load < (64 - 2.5 * hot) / (64 - hot)]


def _cases(points: dict[str, list[tuple[int, float]]]) -> dict[str, Settings]:
    return {f"{curve} at {load}": traffic(hot, load) for curve, of in points.items() for hot, load in of}


def _beside(r: Results) -> dict[str, Settings]:
    every = [0.78, 0.9, 0.95] if r.full else [0.9]
    return {f"{BESIDE} at {load}": traffic(8, load) | {"traffic.beside": True} for load in every}


def curves(r: Results) -> dict[str, Settings]:
    return _cases({name: [(hot, load) for load in loads(r, hot)] for name, hot in CURVES.items()}) | _beside(r)


def curves_near_the_peak(r: Results) -> dict[str, Settings]:
    return _cases({name: [(hot, load) for load in loads(r, hot) if load > 0.69] for name, hot in CURVES.items()})


def curves_from_low_loads(r: Results) -> dict[str, Settings]:
    return _cases({name: [(hot, load) for load in [0.05, *loads(r, hot)]] for name, hot in CURVES.items() if hot != 1}) | _beside(r)


def at_half_load(r: Results) -> dict[str, Settings]:
    return _cases({name: [(hot, 0.5)] for name, hot in CURVES.items() if hot != 1})


# ---- curves -----------------------------------------------------------------------------------------------------------------------


def points(runs: Runs) -> dict[str, dict[float, list[Row]]]:
    """The runs of every point, by curve and load."""
    found: dict[str, dict[float, list[Row]]] = {}
    for row in runs:
        found.setdefault(row["case"].rpartition(" at ")[0], {}).setdefault(row["traffic.load"], []).append(row)
    return found


def nearest(of: dict[float, list[Row]], load: float) -> list[Row]:
    """The runs at the load that is nearest."""
    return of[min(of, key=lambda one: int(abs(one - load) * 1e6))]


def sweep(r: Results) -> dict[str, dict[str, dict[float, list[Row]]]]:
    """By name of the sweep, curve and load."""
    return {name: points(runs) for name, runs in r.named.items()}


def _each(r: Results, value: Any) -> dict[str, dict[str, Any]]:
    """A value of every point; the key is curve and load: ``uniform, 0.5``."""
    return {name: {f"{curve}, {load}": value(rows) for curve, at in of.items() for load, rows in at.items()} for name, of in sweep(r).items()}


def carried(r: Results) -> dict[str, dict[str, Mean]]:
    return _each(r, lambda rows: mean(rows, "carried"))


def delay(r: Results) -> dict[str, dict[str, Mean]]:
    return _each(r, lambda rows: mean(rows, "delay"))


def unsolicited(r: Results) -> dict[str, dict[str, float]]:
    return _each(r, lambda rows: mean(rows, "unsolicited").mean)


def middle_queue(r: Results) -> dict[str, dict[str, float]]:
    return _each(r, lambda rows: largest(rows, "queue_1"))


def slower(r: Results) -> dict[str, dict[str, Mean]]:
    """Delay relative to uniform traffic at the same load."""
    return {
        name: {f"{curve}, {load}": ratio(rows, of["uniform"][load], "delay") for curve, at in of.items() for load, rows in at.items() if load in of["uniform"]}
        for name, of in sweep(r).items()
    }


def _up_to(most: float, of: dict[float, list[Row]]) -> dict[float, list[Row]]:
    return {load: rows for load, rows in of.items() if load <= most + 1e-9}


def _least(r: Results, most: float) -> dict[str, dict[str, Mean]]:
    return {
        name: {curve: lowest([mean(rows, "carried") for rows in _up_to(most, at).values()]) for curve, at in of.items()} for name, of in sweep(r).items()
    }


def least(r: Results) -> dict[str, dict[str, Mean]]:
    """The smallest share carried: that whose interval reaches the lowest."""
    return _least(r, 1.0)


def least_to_90(r: Results) -> dict[str, dict[str, Mean]]:
    return _least(r, 0.9)


def _worst(r: Results) -> dict[str, dict[str, tuple[Mean, float]]]:
    """The largest delay relative to uniform traffic at loads up to 0.9 that both have: that whose interval reaches the highest, and where."""

    def of_curve(of: dict[str, dict[float, list[Row]]], curve: str) -> tuple[Mean, float]:
        # A load of 0.78 is compared with one of 0.78 only, and one of 0.9 likewise.
        both = [(ratio(rows, of["uniform"][load], "delay"), load) for load, rows in _up_to(0.9, of[curve]).items() if load in of["uniform"]]
        # Of equal ones the last.
        return max(reversed(both), key=lambda one: one[0].high)

    return {name: {curve: of_curve(of, curve) for curve in of if CURVES.get(curve)} for name, of in sweep(r).items() if "uniform" in of}


def worst(r: Results) -> dict[str, dict[str, Mean]]:
    return {name: {curve: m for curve, (m, _) in of.items()} for name, of in _worst(r).items()}


def last_load(r: Results) -> dict[str, dict[str, float]]:
    return {name: {curve: max(at) for curve, at in of.items()} for name, of in sweep(r).items()}


def last_load_to_90(r: Results) -> dict[str, dict[str, float]]:
    return {name: {curve: min(max(at), 0.9) for curve, at in of.items()} for name, of in sweep(r).items()}


def table(r: Results) -> dict[str, list[dict[str, str]]]:
    """All points, each with its interval."""
    return {
        name: [
            {
                "Workload": curve,
                "Load": f"{load:.2f}",
                "Mean delay": words(mean(rows, "delay"), 1),
                "99th percentile": f"{mean(rows, 'delay_p99').mean:.0f}",
                "Carried": words(mean(rows, "carried"), 3),
                "Hotspots": f"{mean(rows, 'hot').mean:.3f}",
                "Longest queue by stage": queues(rows),
                "Most grants held": f"{largest(rows, 'grants_max'):.0f}",
            }
            for curve, at in of.items()
            for load, rows in at.items()
        ]
        for name, of in sweep(r).items()
    }


COLUMNS = (
    "Delays in t_min, mean over seeds with its 95 % interval. Carried: share of the load offered to outputs that are no hotspots. "
    "Hotspots: their throughput. Queues in bytes and grants in segments: the largest of all seeds."
)


# ---- Figs. 6 and 8 ------------------------------------------------------------------------------------------------------------------


def at_the_last_load(r: Results) -> dict[str, str]:
    """Fig. 6 in a sentence: what each curve carries, and its delay, at its highest load."""

    def words_of(name: str, curve: str) -> str:
        at = f"{curve}, {last_load(r)[name][curve]}"
        return f"{curve} {carried(r)[name][at].mean:.3f} carried and {delay(r)[name][at].mean:.0f} t_min at load {last_load(r)[name][curve]:.2f}"

    return {name: ", ".join(words_of(name, curve) for curve in CURVES) for name in r.named}


def on_top(r: Results) -> dict[str, str]:
    """Results of the other reading of the load."""
    return {
        name: ", ".join(f"{mean(rows, 'carried').mean:.3f} carried and {mean(rows, 'delay').mean:.0f} t_min at {load:.2f}" for load, rows in of[BESIDE].items())
        for name, of in sweep(r).items()
        if BESIDE in of
    }


def up_to_the_last_load(r: Results) -> dict[str, str]:
    """Fig. 8 in a sentence."""
    return {
        curve: f"{curve} {least(r)['36 KB'][curve].mean:.3f} carried, delay up to {m.mean:.2f} times that of uniform traffic (at load {load:.2f})"
        for curve, (m, load) in _worst(r)["36 KB"].items()
    }


def uniform_carried(r: Results) -> str:
    return f"{least(r)['36 KB']['uniform'].mean:.3f}"


def difference_of_sizes(r: Results) -> str:
    """Largest difference between the delays of both sizes at load 0.78, or the nearest one [per cent]."""

    def delay_near(of: dict[float, list[Row]]) -> float:
        return mean(nearest(of, 0.78), "delay").mean

    of = sweep(r)
    return f"{100 * max(abs(delay_near(of['32 KB'][c]) / delay_near(of['36 KB'][c]) - 1) for c in CURVES):.1f}"


def busy_near_the_peak(r: Results) -> dict[str, dict[str, float]]:
    """Smallest throughput of hotspots at load 0.78, or the nearest one."""
    return {
        name: {curve: min(values(nearest(at, 0.78), "hot")) for curve, at in of.items()}
        for name, of in sweep(r).items()
    }


# ---- Figs. 11 and 12 ----------------------------------------------------------------------------------------------------------------


def added(r: Results, name: str) -> list[float]:
    """What hotspots add to the delay at load 0.05, seed by seed."""
    of = sweep(r)[name]
    return [hot - uniform for hot, uniform in zip(values(of["8 hotspots"][0.05], "delay"), values(of["uniform"][0.05], "delay"), strict=True)]


def added_by_bursts(r: Results) -> Mean:
    return Mean.ratio(added(r, "bursty"), added(r, "smooth"))


def rounded_delay(r: Results) -> dict[str, dict[str, str]]:
    return {name: {at: f"{m.mean:.0f}" for at, m in of.items()} for name, of in delay(r).items()}


LONGEST_POSSIBLE = 83 / 29


def beyond(r: Results) -> dict[str, dict[str, Mean]]:
    """Part by which 8 hotspots lengthen the delay, by load; relative to uniform traffic at the nearest load."""

    def of_load(of: dict[str, dict[float, list[Row]]], load: float) -> Mean:
        return ratio(of["8 hotspots"][load], nearest(of["uniform"], load), "delay").plus(-1.0)

    return {name: {f"{load}": of_load(of, load) for load in of["8 hotspots"]} for name, of in sweep(r).items()}


def longer_by(r: Results) -> dict[str, str]:
    return {name: ", ".join(f"{units.share(beyond(r)[name][load].mean)} at {load}" for load in ("0.05", "0.5", "0.7", "0.78")) for name in ("bimodal", "jumbo")}


def share_beyond(r: Results) -> dict[str, str]:
    return {name: units.share(of["0.5"].mean) for name, of in beyond(r).items()}


def discernible(r: Results) -> dict[str, tuple[float, float, float]]:
    """Delay that 8 hotspots add, relative to that of packets of 40 B."""
    of = {(name, small): beyond(r)[name]["0.5"].over(beyond(r)[small]["0.5"]) for name in ("bimodal", "jumbo") for small in ("smooth", "bursty")}
    return {f"{name}, {small}": (m.mean, m.low, m.high) for (name, small), m in of.items()}


# ---- Fig. 4 -------------------------------------------------------------------------------------------------------------------------


def held(row: Row, start: float, stop: float) -> float:
    """Mean number of grants held by an input in a part of a run [segments]."""
    course = row["stretches"]
    end = course["end"][-1]
    inside = course.filter((pl.col("end") > start * end) & (pl.col("end") <= stop * end))["grants_mean"]
    return sum(inside) / len(inside)


def grants(r: Results) -> dict[str, dict[str, Any]]:
    """By links: most grants of an input in any run and in all, held at the end, growth, what is carried, fullest hotspot's buffer."""
    return {
        name: {
            "least": min(values(rows, "grants_max")),
            "most": f"{largest(rows, 'grants_max'):.0f}",
            "at_end": mean(rows, lambda row: held(row, 0.75, 1.0)),
            "grown": mean(rows, lambda row: held(row, 0.75, 1.0) / held(row, 0.25, 0.5)),
            "carried": mean(rows, "carried"),
            "fullest": min(values(rows, "last_queue")),
        }
        for name, rows in ((name, r.runs.where(case=name)) for name in ("no speed-up", "1.2 times"))
    }


def grants_in_words(r: Results) -> dict[str, str]:
    return {
        name: f"up to {of['most']} grants at one input, {of['at_end'].mean:.0f} on average at the end, other outputs carry {of['carried'].mean:.3f} of "
        f"their load, throughput of hotspots {mean(r.runs.where(case=name), 'hot').mean:.3f}"
        for name, of in grants(r).items()
    }


def order_of_events(r: Results) -> list[dict[str, str]]:
    def first(row: Row, event: pl.Expr) -> str:
        found = row["stretches"][4:].filter(event)["end"]
        return f"{found[0]:.0f}" if len(found) else "never"

    return [
        {
            "Seed": f"{nth}",
            "An input holds over 128": first(row, pl.col("grants_max") > 128),
            "over 256": first(row, pl.col("grants_max") > 256),
            "A hotspot's buffer holds over 3900 B": first(row, pl.col("hot_queue_max") > 3_900),
            "Throughput of the others below 0.74": first(row, pl.col("cold") < 0.74),
        }
        for nth, row in enumerate(r.runs.where(case="no speed-up"), 1)
    ]

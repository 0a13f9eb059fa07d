"""Figs. 16 and 19: slowdown by flow size, without and with TCD, and Fig. 16 with GFC in place of PFC; the abstract's largest gains."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, Runs, units

from .groups import EVER, Group, SOUND, examined, mean, quick, ratio, seeds, times, unsound
from .readings import BASE, READINGS, Reading
from .victims import crossings

Settings = dict[str, dict[str, Any]]
EDGES = {
    "hadoop": [100, 500, 1_000, 7_000, 30_000, 50_000, 80_000, 120_000, 300_000, 1_000_000, 10_000_000],
    "websearch": [1_000, 10_000, 20_000, 30_000, 50_000, 80_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 30_000_000],
}
"""Of the bins of the figures [bytes]. The largest size belongs to the last bin."""
RANGES: dict[str, dict[str, Group]] = {
    "hadoop": {"all": ("", 0, EVER), "< 80 KB": ("", 0, 80_000), "< 50 KB": ("", 0, 50_000), "> 100 KB": ("", 100_000, EVER)},
    "websearch": {"all": ("", 0, EVER), "< 500 KB": ("", 0, 500_000), "< 50 KB": ("", 0, 50_000), "> 1 MB": ("", 1_000_000, EVER)},
}
"""Ranges that the paper speaks of."""
BINS = {
    cdf: {f"{units.bytes(a)} - {units.bytes(b)}": ("", a, EVER if b == edges[-1] else b) for a, b in pairwise(edges)} for cdf, edges in EDGES.items()
}
TITLES = {"hadoop": "Hadoop", "websearch": "WebSearch"}
WHICH = {"median": "median", "95th percentile": "p95", "99th percentile": "p99"}
"""Percentiles of the slowdown, and their columns."""
SHORTER = 12_000
"""Flows of WebSearch in shorter runs."""
DCQCN: Settings = {"DCQCN": {}, "DCQCN + TCD": {"detection": "tcd", "rate_control.dcqcn.tcd": True}}
READING_B: Settings = {"DCQCN + TCD, reading B": {"detection": "tcd", "rate_control.dcqcn.tcd": True, "rate_control.dcqcn.tcd_cut": "factor"}}
TIMELY: Settings = {
    "TIMELY": {"detection": "none", "rate_control": "timely", "host.acks": "per-frame"},
    "TIMELY + TCD": {"detection": "tcd", "rate_control": "timely", "rate_control.timely.tcd": True, "host.acks": "per-frame"},
}
RATIOS = {"10.8 / 3.6": 10.8 / 3.6, "4.6 / 2.5": 4.6 / 2.5, "50.3 / 36.6": 50.3 / 36.6}
"""Gains by the slowdowns that the paper prints."""


# ---- runs -----------------------------------------------------------------------------------------------------------------------


def hadoop(run: Run) -> dict[str, Any]:
    return examined(run, BINS["hadoop"] | RANGES["hadoop"])


def websearch(run: Run) -> dict[str, Any]:
    return examined(run, BINS["websearch"] | RANGES["websearch"])


def _flows(r: Results, cdf: str, timely: bool = False) -> int:
    """A run with all of the paper's flows takes minutes, and half as long again under TIMELY."""
    if not r.full:
        return {"hadoop": 4_000, "websearch": 600}[cdf]
    return SHORTER if timely and cdf == "websearch" else 40_000


def _cases(r: Results, cdf: str, schemes: Settings, reading: Reading = BASE, flows: int | None = None, **more: Any) -> Settings:
    k = 10 if r.full else 4
    size = {"topology.k": k, "workload[0].flows": flows or _flows(r, cdf, schemes is TIMELY), "workload[0].cdf": cdf, **reading.settings(k)}
    return {name: {**size, **own, **more} for name, own in schemes.items()}


def hadoop_dcqcn(r: Results) -> Settings:
    return _cases(r, "hadoop", DCQCN)


def hadoop_reading_b(r: Results) -> Settings:
    return _cases(r, "hadoop", READING_B)


def hadoop_timely(r: Results) -> Settings:
    return _cases(r, "hadoop", TIMELY)


def websearch_dcqcn(r: Results) -> Settings:
    return _cases(r, "websearch", DCQCN)


def websearch_timely(r: Results) -> Settings:
    return _cases(r, "websearch", TIMELY)


def websearch_shorter(r: Results) -> Settings:
    """With fewer flows, on any scale."""
    return _cases(r, "websearch", DCQCN, flows=min(SHORTER, _flows(r, "websearch")))


def hadoop_gfc(r: Results) -> Settings:
    return _cases(r, "hadoop", DCQCN, flow_control="gfc-buffer")


def websearch_gfc(r: Results) -> Settings:
    return _cases(r, "websearch", DCQCN, flows=min(SHORTER, _flows(r, "websearch")), flow_control="gfc-buffer")


def dcqcn_readings(r: Results) -> Settings:
    """Every other reading of hash and load, and of the switch."""
    found = {f"{reading.name}: {name}": of for reading in READINGS for name, of in _cases(r, "hadoop", DCQCN, reading).items()}
    more: dict[str, Any] = {"switch.discipline": "round-robin"}
    in_turn = _cases(r, "hadoop", DCQCN, **more)
    return found | {f"{BASE.name}; ingresses served round robin: {name}": of for name, of in in_turn.items()}


def timely_readings(r: Results) -> Settings:
    """Two of them, since a run takes twice as long."""
    return {f"{reading.name}: {name}": of for reading in (READINGS[3], READINGS[5]) for name, of in _cases(r, "hadoop", TIMELY, reading).items()}


LOADS = (0.29, 0.31, 0.33)
"""Loads of the hosts, around those at which Figs. 16a and 19a have the paper's slowdowns."""
MIDDLE = LOADS[1:2]
"""Of Fig. 16b, whose runs take ten times as long."""


def _at_loads(r: Results, cdf: str, schemes: Settings, loads: tuple[float, ...] = LOADS) -> Settings:
    readings = {load: Reading(BASE.hash, load) for load in loads}
    return {f"{load:g}: {name}": of for load, reading in readings.items() for name, of in _cases(r, cdf, schemes, reading, flows=40_000 if r.full else None).items()}


def hadoop_dcqcn_loads(r: Results) -> Settings:
    return _at_loads(r, "hadoop", DCQCN)


def websearch_dcqcn_loads(r: Results) -> Settings:
    return _at_loads(r, "websearch", DCQCN, MIDDLE)


def hadoop_timely_loads(r: Results) -> Settings:
    return _at_loads(r, "hadoop", TIMELY)


# ---- a pair without and with TCD ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """The same traffic without and with TCD."""

    without: Runs
    with_: Runs

    @classmethod
    def of(cls, runs: Runs) -> "Pair":
        """Of runs that have no other cases."""
        tcd = runs.where(detection="tcd")
        return cls(Runs([row for row in runs if row.get("detection") != "tcd"]), tcd)

    @property
    def cdf(self) -> str:
        """Its distribution of sizes."""
        return str(self.without[0]["workload[0].cdf"])

    @property
    def size(self) -> str:
        """In words."""
        row = self.without[0]
        return f"k = {row['topology.k']}, {row['topology.k'] ** 3 // 4} hosts, {row['workload[0].flows']} flows, {len(self.without)} seeds"

    @property
    def names(self) -> list[str]:
        return [self.without[0]["case"], self.with_[0]["case"]]

    def gain(self, group: str, which: str) -> Mean:
        """Ratio of a percentile without TCD to that with it."""
        return ratio(self.without, self.with_, f"{group} {which}")

    def value(self, group: str, which: str) -> list[Mean]:
        """A percentile without and with TCD."""
        return [mean(runs, f"{group} {which}") for runs in (self.without, self.with_)]

    def words(self) -> str:
        """Title, size and gains."""
        of = [f"{name} {self.gain(name, 'median').words(times)} and {self.gain(name, 'p99').words(times)}" for name in RANGES[self.cdf]]
        return (
            f"{TITLES[self.cdf]}, {self.size}. Slowdown is smaller with TCD at the median and at the 99th percentile by (mean over seeds, 95 % interval): "
            f"{'; '.join(of)}."
        )

    def table(self) -> list[dict[str, str]]:
        return [
            {
                "Flow size": group,
                "Flows": units.words(sum(self.without.column(f"{group} flows"))),
                **{head: text for name, which in WHICH.items() for head, text in self._percentile(group, name, which).items()},
                "Marked CE without": units.share(mean(self.without, f"{group} ce").mean),
                "CE with TCD": units.share(mean(self.with_, f"{group} ce").mean),
                "UE with TCD": units.share(mean(self.with_, f"{group} ue").mean),
            }
            for group in [*BINS[self.cdf], *RANGES[self.cdf]]
        ]

    def _percentile(self, group: str, name: str, which: str) -> dict[str, str]:
        values = {f"{name}, {case}": f"{value.mean:.2f}" for case, value in zip(self.names, self.value(group, which), strict=True)}
        return values | {f"{name}, gain": self.gain(group, which).words(number)}

    def best(self, which: str) -> tuple[str, Mean]:
        """The largest gain over the bins of a figure that hold at least 50 flows: its bin, the gain."""
        bins = [b for b in BINS[self.cdf] if sum(self.without.column(f"{b} flows")) >= 50]
        return max(((b, self.gain(b, which)) for b in bins), key=lambda g: g[1].mean)


def number(value: float) -> str:
    return f"{value:.2f}"


# ---- Figs. 16 and 19 --------------------------------------------------------------------------------------------------------------


def pair(r: Results) -> Pair:
    return Pair.of(r.runs)


def words(r: Results) -> str:
    return pair(r).words()


def size(r: Results) -> str:
    return pair(r).size


def scaled(r: Results) -> bool:
    """Smaller than the paper's."""
    row = pair(r).without[0]
    return bool(row["topology.k"] != 10 or row["workload[0].flows"] != 40_000)


def gain(r: Results) -> dict[str, dict[str, Mean]]:
    return {group: {which: pair(r).gain(group, which) for which in WHICH.values()} for group in RANGES[pair(r).cdf]}


def tail_of_large(r: Results) -> str:
    return pair(r).gain("> 100 KB", "p99").words(times)


def reading_b(r: Results) -> dict[str, str]:
    """Gains of the other reading of alpha."""
    b = Pair(pair(r).without, r["reading b"])
    return {f"{group} {which}": b.gain(group, which).words(times) for group in RANGES["hadoop"] for which in ("median", "p99")}


def table(r: Results) -> list[dict[str, str]]:
    return pair(r).table()


def shorter(r: Results) -> dict[str, str]:
    """The median without and with TCD, with all flows and with fewer; the core is overloaded in the full mode."""
    less = Pair.of(r["shorter"])
    whole, part = ([v.words(number) for v in p.value("< 500 KB", "median")] for p in (pair(r), less))
    return {"without": whole[0], "with": whole[1], "less_without": part[0], "less_with": part[1], "flows": str(less.without[0]["workload[0].flows"])}


LEVELS: dict[tuple[str, bool], list[tuple[str, str, tuple[float, float]]]] = {
    ("hadoop", False): [("< 80 KB", "median", (10.8, 3.6))],
    ("websearch", False): [("< 500 KB", "median", (4.6, 2.5))],
    ("hadoop", True): [("< 50 KB", "99th percentile", (50.3, 36.6))],
}
"""Slowdowns that the paper prints, without and with TCD, by workload and whether the rate control is TIMELY."""


def levels(r: Results) -> list[dict[str, Any]]:
    """The same with bands of a factor of 1.5, the value here, and the load at which it is the paper's."""
    timely = pair(r).without[0].get("rate_control") == "timely"
    return [
        {
            "paper": paper,
            "low": paper / 1.5,
            "high": paper * 1.5,
            "range": group,
            "which": which,
            "with": ("without", "with")[nth],
            "key": f"{group} {which} {nth}",
        }
        for group, which, both in LEVELS[pair(r).cdf, timely]
        for nth, paper in enumerate(both)
    ]


def level(r: Results) -> dict[str, Mean]:
    return {one["key"]: _printed(pair(r), one) for one in levels(r)}


def _printed(p: Pair, one: dict[str, Any]) -> Mean:
    """A slowdown that the paper prints, here."""
    without, with_ = p.value(one["range"], WHICH[one["which"]])
    return with_ if one["with"] == "with" else without


def found(r: Results) -> dict[str, str]:
    """The loads of the hosts at which a slowdown is the paper's, where all switches have one hash."""
    words = {}
    for one in levels(r):
        polarised = [(reading, p) for name, reading, p, _ in _readings(r) if reading.hash == "ecmp-polarised" and ";" not in name]
        curve = sorted((reading.host_load(_k(r)), _printed(p, one).mean) for reading, p in polarised)
        at = " and ".join(units.share(v) for v in crossings(curve, one["paper"]))
        words[one["key"]] = f"if hosts offer {at}" if at else "at none of these loads"
    return words


def judged_load(r: Results) -> float:
    return BASE.host_load(_k(r))


def _k(r: Results) -> int:
    return int(pair(r).without[0]["topology.k"])


def _readings(r: Results) -> list[tuple[str, Reading, Pair, Runs]]:
    """Name, reading and runs: the judged one first, the variants of the switch last."""
    by_name = {reading.name: reading for reading in [BASE, *READINGS]}
    all = [(f"{BASE.name} (judged)", BASE, pair(r), r.runs)]
    for name in dict.fromkeys(case.rpartition(": ")[0] for case in r["readings"].column("case")):
        runs = Runs([row for row in r["readings"] if row["case"].rpartition(": ")[0] == name])
        all.append((name, by_name[name.partition(";")[0]], Pair.of(runs), runs))
    return all


def readings_table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Reading": name,
            **{tier: f"{100 * load * reading.host_load(_k(r)):.0f} %" for tier, load in zip(("Hosts", "Edge", "Core"), reading.tiers(_k(r)), strict=True)},
            **_values(p, "< 80 KB", "median", "< 80 KB, median"),
            **_values(p, "< 50 KB", "p99", "< 50 KB, 99th"),
            "> 100 KB, median, gain": p.gain("> 100 KB", "median").words(number),
            "Checks that hold": _holding(r, runs),
        }
        for name, reading, p, runs in _readings(r)
    ]


def _values(p: Pair, group: str, which: str, head: str) -> dict[str, str]:
    without, with_ = (v.words(number) for v in p.value(group, which))
    return {f"{head}, without": without, f"{head}, with TCD": with_, f"{head}, gain": p.gain(group, which).words(number)}


def _holding(r: Results, runs: Runs) -> str:
    """Of the claim's checks of slowdowns."""
    checks = [c for c in r.checks(runs) if "slowdown" in c.what]
    return f"{sum(c.holds for c in checks)} of {len(checks)}"


# ---- one load for Figs. 16 and 19 ---------------------------------------------------------------------------------------------------

FIGURES = {"16a": ("hadoop", False), "16b": ("websearch", False), "19a": ("hadoop", True)}
"""Workload, and whether the rate control is TIMELY, as in ``LEVELS``."""


def at_load(r: Results) -> list[dict[str, Any]]:
    """Of each figure and load: the slowdowns that the paper prints, here, and how far the farther one is from the paper's as a factor."""
    found = []
    for figure, key in FIGURES.items():
        ((group, which, paper),) = LEVELS[key]
        for load in dict.fromkeys(r[figure].column("workload[0].load")):
            pair = Pair.of(r[figure].where({"workload[0].load": load}))
            here = [v.mean for v in pair.value(group, WHICH[which])]
            off = max(max(a / b, b / a) for a, b in zip(here, paper, strict=True))
            found.append({"figure": figure, "load": load, "group": group, "which": which, "paper": paper, "here": here, "off": off, "pair": pair})
    return found


def farthest(r: Results) -> dict[float, float]:
    """By load: the largest factor between a printed slowdown of these figures and ours."""
    return {load: max(of["off"] for of in r.value("at_load") if of["load"] == load) for load in (of["load"] for of in r.value("at_load"))}


def load_table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Figure": of["figure"],
            "Hosts offer": units.share(of["load"]),
            "Sizes": f"{of['group']}, {of['which']}",
            "Paper, without and with TCD": " and ".join(map(str, of["paper"])),
            "Here": " and ".join(map(number, of["here"])),
            "Gain": times(of["here"][0] / of["here"][1]),
            "Farther one": times(of["off"]),
            "99th percentile, gain": times(of["pair"].gain(of["group"], "p99").mean),
            "Large flows, median, gain": times(of["pair"].gain("> 1 MB" if of["figure"] == "16b" else "> 100 KB", "median").mean),
        }
        for of in r.value("at_load")
    ]


def load_words(r: Results) -> str:
    return "; ".join(f"Fig. {of['figure']}, {units.share(of['load'])}: {number(of['here'][0])} and {number(of['here'][1])} (paper {of['paper'][0]} and {of['paper'][1]})" for of in r.value("at_load"))


def loads_within(r: Results) -> int:
    """Loads with all three figures at which every printed slowdown is within a factor of 1.5."""
    return sum(farthest(r)[load] <= 1.5 for load in MIDDLE)


# ---- the abstract ---------------------------------------------------------------------------------------------------------------


def largest(r: Results) -> dict[str, dict[str, Any]]:
    """The largest gain at the median and at the 99th percentile, over all rate controls and workloads."""
    found = {}
    for which in ("median", "p99"):
        name, (sizes, best) = max(((name, Pair.of(runs).best(which)) for name, runs in r.named.items()), key=lambda b: b[1][1].mean)
        found[which] = {"gain": best, "words": best.words(times), "at": f"{name}, {sizes}"}
    return found


def largest_table(r: Results) -> list[dict[str, str]]:
    rows = []
    for name, runs in r.named.items():
        (at, median), (tail_at, tail) = (Pair.of(runs).best(which) for which in ("median", "p99"))
        rows.append({
            "Rate control and workload": name,
            "Largest gain, median": median.words(times),
            "Sizes": at,
            "Largest gain, 99th percentile": tail.words(times),
            "Sizes at the 99th percentile": tail_at,
        })
    return rows


# ---- Fig. 16 with GFC -------------------------------------------------------------------------------------------------------------

GFC = [{"title": "Hadoop", "range": "< 80 KB"}, {"title": "WebSearch", "range": "< 500 KB"}]
CONTROLS = ["PFC", "GFC"]


def pairs(r: Results) -> dict[str, Pair]:
    """``Hadoop on GFC``, ``Hadoop on PFC``, ..."""
    return {name: Pair.of(runs) for name, runs in r.named.items()}


def gfc_gain(r: Results) -> dict[str, dict[str, Mean]]:
    return {g["title"]: {which: pairs(r)[f"{g['title']} on GFC"].gain(g["range"], which) for which in ("median", "p99")} for g in GFC}


def gfc_unsound(r: Results) -> dict[str, dict[str, int]]:
    """Of the runs with GFC."""
    return {g["title"]: {s["key"]: sum(r[f"{g['title']} on GFC"].column(s["key"])) for s in SOUND} for g in GFC}


def gfc_words(r: Results) -> str:
    return " ".join(pairs(r)[f"{g['title']} on GFC"].words() for g in GFC)


def gfc_sizes(r: Results) -> dict[str, str]:
    return {g["title"]: pairs(r)[f"{g['title']} on GFC"].size for g in GFC}


def on(r: Results) -> dict[str, str]:
    """Percentiles and messages of flow control, without and with TCD."""
    found = {}
    for g in GFC:
        for control in CONTROLS:
            p = pairs(r)[f"{g['title']} on {control}"]
            (median, median_with), (tail, tail_with) = ([v.mean for v in p.value(g["range"], which)] for which in ("median", "p99"))
            sent = [mean(runs, "messages").mean for runs in (p.without, p.with_)]
            found[f"{g['title']} on {control}"] = (
                f"median {median:.2f} without TCD, {median_with:.2f} with it; 99th percentile {tail:.1f} and {tail_with:.1f}. "
                f"Flow control sent {sent[0]:.0f} and {sent[1]:.0f} messages."
            )
    return found


def hadoop_table(r: Results) -> list[dict[str, str]]:
    return pairs(r)["Hadoop on GFC"].table()


def websearch_table(r: Results) -> list[dict[str, str]]:
    return pairs(r)["WebSearch on GFC"].table()


def gfc_scaled(r: Results) -> dict[str, bool]:
    rows = {g["title"]: pairs(r)[f"{g['title']} on GFC"].without[0] for g in GFC}
    return {title: bool(row["topology.k"] != 10 or row["workload[0].flows"] != 40_000) for title, row in rows.items()}


def full(r: Results) -> bool:
    return r.full

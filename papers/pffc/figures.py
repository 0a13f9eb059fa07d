"""Figures of PFFC's claims."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Mean, Results, draw
from xoff.lab.observe import MS

NAMES = {"pfc": "PFC", "pffc": "PFFC"}


def bars(axes: Axes, names: Sequence[str], groups: dict[str, list[float]], colors: Sequence[str | None], y: float = 1.0) -> None:
    """A group of bars for each name, one bar of each group."""
    width = 0.8 / len(groups)
    for nth, ((group, values), color) in enumerate(zip(groups.items(), colors, strict=True)):
        axes.bar([i - 0.4 + (nth + 0.5) * width for i in range(len(names))], [v / y for v in values], width, label=group, color=color)
    axes.set_xticks(range(len(names)), [n.replace(", ", ",\n") for n in names], fontsize=7)


def _schemes() -> list[str | None]:
    return [draw.color(s, 0) for s in NAMES]


def _explored(r: Results, x: str, name: str, second: tuple[str, str, float], log: bool) -> Figure:
    """Share of the link, and something else next to it, over a threshold."""
    key, what, scale = second
    figure, (axes,) = draw.panels(1, 2)
    for at, (y, unit, title) in zip(axes, (("share", 0.01, "Share of the link [%]"), (key, scale, what)), strict=True):
        for n, scene in enumerate(("one flow", "two flows")):
            for source, style in (("UDP", "-"), ("TCP", "o")):
                of = [e for e in r.value("explored") if (e["scene"], e["source"]) == (scene, source)]
                at.plot([e[x] / 1e3 for e in of], [e[y] / unit for e in of], style, color=f"C{n}", markersize=3, label=f"{scene}, {source}")
        draw.instant(at, 9.25, "C tau")
        if log:
            at.set_xscale("log")
        draw.label(at, f"{name} [KB]", title)
    axes[0].set_ylim(80, 101)
    if log:
        axes[1].set_yscale("log")
    return figure


def xoff(r: Results) -> Figure:
    return _explored(r, "xoff", "Xoff_s", ("fill", "Largest fill [KB]", 1e3), log=True)


def xon(r: Results) -> Figure:
    return _explored(r, "xon", "Xon_s", ("frames", "Control frames [1000/s]", 1e3), log=False)


def hops(r: Results) -> Figure:
    figure, axes = draw.panels()
    bars(axes, "1234", {NAMES[s]: list(of.values()) for s, of in r.value("means").items()}, _schemes(), 1e9)
    draw.level(axes, 5, "half the line")
    draw.label(axes, "Switches", "Mean throughput [Gb/s]")
    return figure


def loss(r: Results) -> Figure:
    figure, (axes,) = draw.panels(1, 2)
    titles = {"pfc": "PFC, one flow per sender", "pffc": "PFFC, Xoff_s = 18.5 KB"}
    for at, (scheme, title) in zip(axes, titles.items(), strict=True):
        of = r.runs.where(flow_control=scheme)
        lost = [100 * row["lost"] / (row["lost"] + row["delivered"]) for row in of]
        bars(at, [c.replace(" of the buffer", "").replace("XOFFs ", "XOFFs\n") for c in of.column("case")], {NAMES[scheme]: lost}, [draw.color(scheme, 0)])
        draw.label(at, "", "Frames lost [%]", title)
    return figure


def mice(r: Results) -> Figure:
    """Mean completion times as groups of bars, and how those of all mice next to the first kind of elephants are distributed."""
    from .mice import SIZES, by_seed, elephants, mean_time

    figure, ((left, right),) = draw.panels(1, 2)
    kinds = elephants(r)
    # Of one kind of elephants every size, of several all mice next to each.
    drawn = [(kinds[0], size, size) for size in SIZES] if len(kinds) == 1 else [(e, "all", e) for e in kinds]
    means = {NAMES[s]: [Mean.of(by_seed(r, e, s, mean_time, size)).mean for e, size, _ in drawn] for s in NAMES}
    bars(left, [name for *_, name in drawn], means, _schemes(), 1e6)
    draw.label(left, "", "Completion time [us]", "Mean completion time")
    for scheme, name in NAMES.items():
        all_ = pl.concat([row["mice"] for row in r.runs.where(case=kinds[0], flow_control=scheme)])["time"].sort().to_numpy()
        right.plot(all_ / 1e6, [(i + 1) / len(all_) for i in range(len(all_))], label=name, color=draw.color(scheme, 0))
    right.set_xscale("log")
    draw.label(right, "Time [us]", "Share of mice", f"Distribution, {kinds[0]}")
    return figure


def _flows(axes: Axes, rates: pl.DataFrame, until: float | None = None) -> None:
    for (flow,), of in rates.group_by("flow", maintain_order=True):
        shown = of if until is None else of.filter(pl.col("time_ps") <= until)
        draw.line(axes, shown.select("time_ps", "y"), f"flow {int(str(flow)) + 1}", x=MS, y=1e9)


def spreading(r: Results) -> Figure:
    figure, (axes,) = draw.panels(1, 2)
    for at, (scheme, row) in zip(axes, r.value("schemes").items(), strict=True):
        _flows(at, row["rates"])
        draw.level(at, 3, "offered: 3 Gb/s")
        at.set_ylim(0, 3.5)
        draw.label(at, "Time [ms]", "Throughput [Gb/s]", NAMES[scheme])
    return figure


def _ring(axes: Axes, row: Any, title: str) -> None:
    _flows(axes, row["rates"], 5 * MS)
    if row["deadlock_ps"] is not None:
        draw.instant(axes, row["deadlock_ps"] / MS, "deadlock")
    axes.set(xlim=(0, 5), ylim=(0, 10.5))
    draw.label(axes, "Time [ms]", "Throughput [Gb/s]", title)


def deadlock(r: Results) -> Figure:
    figure, (axes,) = draw.panels(1, 2)
    for at, (scheme, row) in zip(axes, r.value("schemes").items(), strict=True):
        _ring(at, row, NAMES[scheme])
    return figure


def shared_queues(r: Results) -> Figure:
    ring = r.value("ring")
    figure, axes = draw.panels(3, 2)
    for at, (name, of) in zip(axes.flat, ring.items(), strict=False):
        _ring(at, min(of["runs"], key=lambda row: row["slowest"]), name)
    axes.flat[-1].set_axis_off()
    return figure


def table3(r: Results) -> Figure:
    figure, axes = draw.panels()
    for scheme, parts in r.value("part").items():
        overhead = 100 * r.value("OVERHEAD")[scheme]
        axes.plot([gap / 1e3 for gap in parts], [100 * p for p in parts.values()], label=NAMES[scheme], color=draw.color(scheme, 0))
        draw.level(axes, overhead, f"paper, {NAMES[scheme]}: {overhead:.2f} %")
    draw.label(axes, "Distance of the thresholds [KB]", "Share of the link [%]")
    return figure


def table3_bytes(r: Results) -> Figure:
    figure, axes = draw.panels()
    counted, printed = r.value("BYTES").values(), r.value("PRINTED_BYTES").values()
    groups = {"frames x 64 B": list(counted), "printed": list(printed), "printed / 10": [b / 10 for b in printed]}
    bars(axes, list(NAMES.values()), groups, [None] * 3, 1e6)
    draw.label(axes, "", "Bytes [MB]")
    return figure


def order(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("order")
    groups = {"control frames": "messages", "counted for another flow": "collisions", "out of order": "disordered"}
    bars(axes, list(dict.fromkeys(r.runs.column("case"))), {name: [o[key] for o in of] for name, key in groups.items()}, [None] * 3, 1e3)
    draw.label(axes, "", "Frames [1000]")
    return figure


def collisions(r: Results) -> Figure:
    figure, ((left, right),) = draw.panels(1, 2)
    counted, expected, slots = r.value("counted"), r.value("expected"), r.value("SLOTS")
    for n, flows in enumerate(r.value("FLOWS")):
        left.plot(slots, [counted[s][flows] for s in slots], "o", color=f"C{n}", markersize=3, label=f"{flows} flows, counted")
        left.plot(slots, [expected[s][flows] for s in slots], "--", color=f"C{n}", label=f"{flows} flows, formula")
    left.set(xscale="log", yscale="log")
    draw.label(left, "Slots", "Share of flows", "Flows that share a slot")
    victim = r.value("victim")
    bars(right, list(victim), {"flow 2": [row["rate_2"] for row in victim.values()]}, [None], 1e9)
    draw.label(right, "", "Throughput [Gb/s]", "Rate of flow 2")
    return figure


def hosts(r: Results) -> Figure:
    figure, axes = draw.panels()
    mean = r.value("mean")
    names = [r.value("ELEPHANTS")[src] for src in mean]
    bars(axes, names, {case: [of[case] / 1e6 for of in mean.values()] for case in r.value("HOSTS")}, [*_schemes(), None])
    draw.label(axes, "First elephant", "Mean completion time [us]")
    return figure


def cost(r: Results) -> Figure:
    of = r.value("cost")
    figure, ((left, right),) = draw.panels(1, 2)
    bars(left, list(of), {"ring, slowest flow": [c["slowest"] for c in of.values()], "victim": [c["victim"] for c in of.values()]}, [None] * 2, 1e9)
    draw.level(left, 3, "offered by the victim: 3 Gb/s")
    draw.label(left, "", "Throughput [Gb/s]")
    bars(right, list(of), {"ring": [c["peak"] for c in of.values()], "victim": [c["victim_peak"] for c in of.values()]}, [None] * 2, 1e3)
    draw.level(right, 300, "buffer")
    draw.label(right, "", "Largest ingress [KB]")
    return figure

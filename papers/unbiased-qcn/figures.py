"""Figures of Unbiased QCN's claims."""

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Mean, Results, Row, draw, theory
from xoff.lab.observe import MS

from . import scenes


def rows(n: int, height: float = 2.4) -> tuple[Figure, list[Axes]]:
    """Panels one below the other."""
    figure, axes = draw.panels(n, height=height)
    return figure, list(axes.flat)


def throughput(axes: Axes, title: str, row: Row, flows: int, over: int, gbps: float = 10.5) -> None:
    """Throughputs over time, as the paper draws them: the mean of ``over`` windows at a time."""
    for f in range(flows):
        points = scenes.rates(row, f, over)
        if gbps < 20 and f == scenes.F5:
            # f5 is there for 100 ms only: no line along zero.
            points = points.filter((points["time_ps"] > 100 * MS) & (points["time_ps"] <= 200 * MS))
        draw.line(axes, points, f"f{f + 1}", x=MS, y=1e9, linewidth=0.8)
    axes.set_ylim(0, gbps)
    draw.label(axes, "Time [ms]", "Throughput [Gb/s]", title)


def limits(axes: Axes, title: str, named: dict[str, tuple[Row, int]]) -> None:
    """Rate limits; a gap while a flow has no limiter."""
    for name, (row, flow) in named.items():
        points = scenes.points(row, f"limit_{flow}").with_columns(pl.col("y").cast(pl.Float64))
        draw.line(axes, points, name, x=MS, y=1e9, drawstyle="steps-post", linewidth=0.8)
    axes.set_ylim(0, 10.5)
    draw.label(axes, "Time [ms]", "Rate limit [Gb/s]", title)


def buffers(axes: Axes, title: str, named: dict[str, tuple[Row, str]], levels: Sequence[float] = ()) -> None:
    for name, (row, series) in named.items():
        draw.line(axes, scenes.points(row, series), name, x=MS, y=1e3, drawstyle="steps-post", linewidth=0.8)
    for level in levels:
        draw.level(axes, level)
    axes.set_ylim(0, 155)
    draw.label(axes, "Time [ms]", "Buffer [KB]", title)


def bars(axes: Axes, names: Sequence[str], groups: dict[str, list[float]]) -> None:
    """A group of bars for each name, one bar of each group."""
    width = 0.8 / len(groups)
    for nth, (group, values) in enumerate(groups.items()):
        axes.bar([i - 0.4 + (nth + 0.5) * width for i in range(len(names))], values, width, label=group)
    axes.set_xticks(range(len(names)), [n.replace(", ", ",\n") for n in names], fontsize=6)


# ---- Fig. 2 -----------------------------------------------------------------------------------------------------------------------


def fig2a(r: Results) -> Figure:
    figure, (above, below) = rows(2)
    throughput(above, "The first seed", r.runs[0], 5, 2)
    throughput(below, "f1, 0.5 ms", r.runs[0], 1, 1)
    return figure


def fig2_one_seed(r: Results) -> Figure:
    figure, axes = draw.panels()
    throughput(axes, "The first seed", r.runs[0], 5, 2)
    return figure


def fig2_two_seeds(r: Results) -> Figure:
    figure, axes = rows(2)
    for at, title, row in zip(axes, ("The first seed", "The second seed"), r.runs, strict=False):
        throughput(at, title, row, 5, 2)
    return figure


# ---- Figs. 4 and 5 ------------------------------------------------------------------------------------------------------------------


def fig4(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("fast").values()
    parts = {"of arrivals": "arrivals", "of the buffer": "occupied", "of CNMs": "notified"}
    bars(axes, list(r.value("SAMPLINGS").values()), {name: [o[key] for o in of] for name, key in parts.items()})
    axes.set_ylim(0, 1)
    draw.label(axes, "", "f2's share")
    return figure


def fig5a(r: Results) -> Figure:
    figure, axes = rows(3)
    rack = r["rack"][0]
    throughput(axes[0], "Fabric of Fig. 1, the first seed", rack, 6, 2)
    throughput(axes[1], "Ideal switch, the first seed", r["ideal"][0], 6, 2)
    limits(axes[2], "Rate limits, fabric of Fig. 1, the first seed", {"f1": (rack, 0), "f6": (rack, 5)})
    return figure


def fig5b(r: Results) -> Figure:
    figure, axes = draw.panels()
    throughput(axes, "The first seed", r.runs[0], 6, 4)
    return figure


def fig5c(r: Results) -> Figure:
    figure, axes = rows(2)
    for at, title, name in zip(axes, ("Random", "Deterministic"), ("random", "largest"), strict=True):
        throughput(at, title, r[name][0], 6, 2)
    return figure


def fig5d(r: Results) -> Figure:
    figure, axes = rows(2)
    for at, title, name in zip(axes, ("Random", "Deterministic"), ("random", "largest"), strict=True):
        limits(at, title, {"f1": (r[name][0], 0), "f6": (r[name][0], 5)})
    return figure


# ---- Figs. 6 and 7 ------------------------------------------------------------------------------------------------------------------


def fig6(r: Results) -> Figure:
    figure, axes = rows(3)
    first = {kind: r.runs.where(case=kind)[0] for kind in r.value("DRAWN")}
    limits(axes[0], "(a) Rate limit", {kind: (row, 0) for kind, row in first.items()})
    draw.level(axes[0], 1, "output")
    draw.instant(axes[0], 10)
    axes[0].set_xlim(0, 120)
    buffers(axes[1], "(b) Input buffer", {kind: (first[kind], "input_0") for kind in ("inputs", "inputs, keep-alive")}, (110, 44))
    buffers(axes[2], "(c) Output buffer", {kind: (first[kind], "output_0") for kind in ("outputs", "outputs, reliable delivery")})
    for at in axes[1:]:
        at.set_xlim(8, 48)
    return figure


def fig7(r: Results) -> Figure:
    first = {kind: r["rack"].where(case=kind)[0] for kind in ("PAUSE only", "random at inputs, keep-alive", "arrival at outputs")}
    figure, axes = rows(5)
    throughput(axes[0], "(a) PAUSE only", first["PAUSE only"], 7, 10, 105)
    throughput(axes[1], "(a) Arrival sampling at inputs", r["arrival"][0], 7, 10, 105)
    throughput(axes[2], "(b) Random occupancy sampling at inputs, keep-alive", first["random at inputs, keep-alive"], 7, 10, 105)
    kinds = {"random at inputs, keep-alive": "random at inputs, keep-alive", "QCN at outputs": "arrival at outputs"}
    buffers(axes[3], "(c) Input of f1 and f7", {name: (first[kind], "input_0") for name, kind in kinds.items()}, (60,))
    buffers(axes[4], "(d) Congested output", {name: (first[kind], "output_0") for name, kind in kinds.items()}, (60,))
    return figure


# ---- laws ---------------------------------------------------------------------------------------------------------------------------


def sampling(r: Results) -> Figure:
    figure, axes = draw.panels()
    draws = r.value("DRAWS")
    seen = {f"{law} sampling": [n / draws for n in r.value("notified")[law]] for law in ("arrival", "random")}
    expected = {"share of arrivals": r.value("ARRIVALS"), "share of the buffer": [n / 100 for n in r.value("FRAMES")]}
    bars(axes, [f"flow {n}" for n in range(1, 5)], {**seen, **expected})
    draw.label(axes, "", "Share of CNMs")
    return figure


def qfb(r: Results) -> Figure:
    figure, (above, below) = rows(2, height=1.8)
    values = range(0, 400_001, 1_000)
    feedback = theory.qcn_feedback(values)
    above.step([v / 1e3 for v in values], feedback, where="post")
    below.step([v / 1e3 for v in values], [theory.qcn_interval(q) / 1e3 for q in feedback], where="post")
    draw.label(above, "F_b [KB]", "Feedback")
    draw.label(below, "F_b [KB]", "Next sample after [KB]")
    return figure


def reaction_point(r: Results) -> Figure:
    figure, (above, below) = rows(2)
    cycles = r.value("byte_cycles")
    above.step([0, 0, *r.value("CYCLES")], [10, *(v / 1e9 for v in (cycles["cut"], *cycles["rates"]))], where="post")
    draw.label(above, "Byte cycle", "Rate [Gb/s]", "Byte cycles after one CNM")
    for name, points in r.value("two_limiters").items():
        below.step([ms for ms, _ in points], [rate / 1e9 for _, rate in points], where="post", label=name)
    below.set_xlim(0, 20)
    draw.label(below, "Time [ms]", "Rate [Gb/s]", "Two limiters after a cut")
    return figure


def complexity(r: Results) -> Figure:
    figure, axes = draw.panels()
    flows = r.value("FLOWS")
    for label, at_once in (("random, 16 units per read", theory.CULPRIT_ROW), ("random, one unit per read", 1)):
        axes.plot(flows, [r.runs.row(flows=f, at_once=at_once)["mean"] for f in flows], label=label)
    axes.plot(flows, [theory.culprit_counters(f) for f in flows], label="deterministic: counters compared")
    axes.set_yscale("log")
    draw.label(axes, "Flows in the buffer", "Steps of a sample")
    return figure


# ---- others -------------------------------------------------------------------------------------------------------------------------


def multicast(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("found")
    bars(axes, ["fan-out 2", "fan-out 3"], {f"QCN at {at}": [of[f"{n}, {at}"]["sampled"]["ratio"] for n in (2, 3)] for at in ("inputs", "outputs")})
    for level in (1, 2, 3):
        draw.level(axes, level)
    draw.label(axes, "", "Multicast over unicast")
    return figure


def setpoint(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("found")
    bars(axes, list(of), {at: [o[at] for o in of.values()] for at in ("outputs", "inputs")})
    draw.label(axes, "", "Time [ms]", "Fig. 6: until the flow is throttled")
    return figure


def af_qcn(r: Results) -> Figure:
    figure, axes = rows(3)
    for at, values, scale, name, title in (
        (axes[0], r.value("spread"), 1.0, "Times", "Fan-in: ratio of fastest to slowest flow"),
        (axes[1], r.value("victim"), 1e9, "Rate [Gb/s]", "Victim"),
    ):
        _with_intervals(at, values, scale)
        draw.label(at, "", name, title)
    draw.level(axes[1], 7, "offered")
    throughput(axes[2], "AF-QCN at outputs, the first seed", r["fan-in"].where(case="AF-QCN, outputs")[0], 5, 2)
    return figure


def _with_intervals(axes: Axes, values: dict[str, Mean], scale: float) -> None:
    means = [m.mean / scale for m in values.values()]
    ends = [[(m.mean - m.low) / scale for m in values.values()], [(m.high - m.mean) / scale for m in values.values()]]
    axes.bar(range(len(means)), means, yerr=ends)
    axes.set_xticks(range(len(means)), [n.replace(", ", ",\n") for n in values], fontsize=6)


def rack(r: Results) -> Figure:
    figure, axes = rows(4)
    random = {fabric: r[fabric].row(case="random at inputs") for fabric in ("rack", "ideal")}
    throughput(axes[0], "Rack, PAUSE only", r["rack"].row(case="PAUSE only"), 7, 5, 105)
    throughput(axes[1], "Rack, random occupancy sampling at inputs", random["rack"], 7, 5, 105)
    throughput(axes[2], "Ideal switch, random occupancy sampling at inputs", random["ideal"], 7, 5, 105)
    buffers(axes[3], "Output of the hotspot", {fabric: (row, "output_0") for fabric, row in random.items()})
    return figure

"""Figures of TCD's claims."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from xoff.lab import Mean, Results, Row, Runs, draw
from xoff.lab.observe import MS

from . import theory, victims
from .fairness import windows
from .groups import mean
from .matrix import group_gain
from .workloads import BINS, EDGES, WHICH, Pair

STATES = {"non_congestion": "#009e73", "undetermined": "#e69f00", "congestion": "#d55e00"}
"""Colours of the states of a port."""
MARKS = {"ue": "#56b4e9", "ce": "#cc79a7"}
"""Colours of the marks."""
PORTS = ["P0", "P1", "P2", "P3"]
FLOWS = ["F0", "F1", "F2"]


def _queue(axes: Axes, row: Row, port: str, label: str, **more: Any) -> None:
    draw.line(axes, row["queue"].filter(port=port), label, y=1e3, **more)


def _states(axes: Axes, row: Row, ports: list[str] = PORTS) -> None:
    """A lane a port."""
    for y, port in enumerate(ports):
        states = row["states"].filter(port=port)
        ends = [*states["time_ps"].to_list()[1:], row["end"]]
        for begin, end, state in zip(states["time_ps"].to_list(), ends, states["state"].to_list(), strict=True):
            axes.broken_barh([(begin / MS, (end - begin) / MS)], (y - 0.4, 0.8), color=STATES[state])
    _lanes(axes, row, ports, STATES, "State of the port")


def _marks(axes: Axes, row: Row, by: str, lanes: list[str], title: str, port: str = "") -> None:
    """A lane a port or a flow, with a dash where frames are marked."""
    for y, lane in enumerate(lanes):
        for mark, colour in MARKS.items():
            of = row["marks"].filter(pl.col(by) == lane, pl.col("mark") == mark, pl.col("port") == port if port else True)
            axes.broken_barh(_stretches(of["time_ps"].to_list(), row["end"]), (y - 0.4, 0.8), color=colour, linewidth=0)
    _lanes(axes, row, lanes, MARKS, title)


def _stretches(times: list[int], end: float) -> list[tuple[float, float]]:
    """Begin and length [ms] of the times in which marks follow each other closely: no drawing shows a thousandth of the run."""
    found: list[list[float]] = []
    for time in times:
        if found and time - found[-1][1] < end / 1000:
            found[-1][1] = time
        else:
            found.append([time, time])
    return [(begin / MS, (last - begin + end / 2000) / MS) for begin, last in found]


def _lanes(axes: Axes, row: Row, lanes: list[str], colours: dict[str, str], title: str) -> None:
    for name, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=5, label=name.replace("_", "-") if "_" in name or len(name) > 2 else name.upper())
    axes.set(yticks=range(len(lanes)), yticklabels=lanes, ylim=(len(lanes) - 0.5, -0.5), xlim=(0, row["end"] / MS))
    axes.set_axisbelow(True)
    draw.label(axes, "Time [ms]", "")
    axes.set_title(title, loc="left", fontsize=8, pad=12)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=len(colours), borderaxespad=0.0, fontsize=6, handlelength=1.0, columnspacing=0.8)


def ordinary(r: Results) -> Figure:
    """Queue, rate and marks of P2, a column a fabric."""
    figure, axes = draw.panels(3, 2)
    names = {"CEE": "CEE: PFC and ECN", "InfiniBand": "InfiniBand: credits and FECN"}
    for fabric, (queue, rate, marks) in zip(r.value("FABRICS"), axes.T, strict=True):
        row = r.runs[fabric["name"]]
        _queue(queue, row, "P2", "queue of P2")
        draw.instant(queue, fabric["until"] / MS, "paper: end of ON and OFF")
        draw.level(queue, 500, "paper: over 500 KB")
        draw.label(queue, "", "Queue of P2 [KB]", names[row["case"]])
        draw.line(rate, row["rate"], y=1e9)
        draw.label(rate, "", "Rate of P2 [Gb/s]")
        _marks(marks, row, "flow", FLOWS, "Marks of P2", "P2")
    return figure


def same_evolution(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    for one, w in zip(axes.flat, r.value("WINDOWS"), strict=True):
        one.axvspan(w["first"], w["last"], color="0.92", label="paper: the same evolution")
        _queue(one, r.runs[f"{w['name']} one"], "P2", "one congestion point")
        _queue(one, r.runs[f"{w['name']} two"], "P2", "two congestion points")
        draw.label(one, "Time [ms]", "Queue of P2 [KB]", w["name"])
    return figure


def ternary(r: Results) -> Figure:
    """Queues of P2 and P1, states and marks of all ports, a column a fabric."""
    figure, axes = draw.panels(3, 2)
    for fabric, (queue, states, marks) in zip(r.value("FABRICS"), axes.T, strict=True):
        row = r.runs[fabric["name"]]
        _queue(queue, row, "P2", "P2")
        _queue(queue, row, "P1", "P1")
        draw.level(queue, fabric["threshold"] / 1e3, f"threshold {fabric['threshold'] / 1e3:g} KB")
        draw.label(queue, "", "Queue [KB]", fabric["name"])
        _states(states, row)
        _marks(marks, row, "port", PORTS, "Marks of the port")
    return figure


def covered_tree(r: Results) -> Figure:
    """States of the ports and marks over time, with the times at which P2 is released and emerges."""
    (row,) = r.runs
    figure, axes = draw.panels(4, 1, height=1.8)
    states, marks, flows, queues = axes.flat
    _states(states, row)
    _marks(marks, row, "port", PORTS, "Marks of the port")
    _marks(flows, row, "flow", FLOWS, "Marks on each flow, at any port")
    for port in ("P2", "P3"):
        _queue(queues, row, port, port)
    for one in axes.flat:
        draw.instant(one, row["last_off"] / MS, "P2 is released")
        if row["first_ce"] is not None:
            draw.instant(one, row["first_ce"] / MS, "P2 emerges")
    queues.set_xlim(0, row["end"] / MS)
    draw.label(queues, "Time [ms]", "Queue [KB]", "Queues")
    return figure


TONES = {"root": "#f4b8a0", "leaf": "#fbe3a6", "not in a tree": "#b6e2cf", "changing": "0.9"}
"""Colours of a port's roles in a tree."""


def roles(r: Results) -> Figure:
    """The ports in the order in which frames meet them, a row a tree: role, and marks by flow."""
    (row,) = r.runs
    figure, axes = draw.panels(height=2.2)
    names = ["P0 = T0 to L0", "P1 = T1 to L0", "P2 = L0 to T2", "P3 = T2 to R1"]
    trees = r.value("roles")
    for y, (tree, (start, stop)) in enumerate(r.value("stands").items()):
        inside = row["marks"].filter(pl.col("time_ps") >= (start or row["end"]), pl.col("time_ps") < (stop or 0), pl.col("flow") != "bursts")
        for x, port in enumerate(PORTS):
            role, share = trees[tree][port]
            axes.add_patch(Rectangle((x, y), 0.97, 0.94, color=TONES[role]))
            lines = [f"{role} {share * 100:.3g} %"]
            for mark in ("ce", "ue"):
                on = sorted(inside.filter(port=port, mark=mark)["flow"].unique())
                lines += [f"{mark.upper()} on {', '.join(on)}"] if on else []
            axes.text(x + 0.48, y + 0.47, "\n".join(lines), ha="center", va="center", fontsize=7)
    axes.set(xlim=(0, 4), ylim=(2, 0), xticks=[x + 0.5 for x in range(4)], xticklabels=names, yticks=[0.5, 1.5], yticklabels=[f"tree of {t}" for t in trees])
    axes.grid(visible=False)
    return figure


def covered_root(r: Results) -> Figure:
    """P2's queue around its release under each order, and the delay by the period T."""
    figure, axes = draw.panels(3, 1)
    *above, below = axes.flat
    for (name, swing), one in zip(r.value("swing").items(), above, strict=True):
        row, period = r.runs[name], swing["period"]
        queue = row["queue"].filter(port="P2").filter(pl.col("time_ps").is_between(row["last_off"] - 0.1 * MS, row["first_ce"] + 0.15 * MS))
        draw.line(one, queue, "queue of P2", y=1e3)
        times = [row["last_off"] + n * period for n in range(1, 99) if row["last_off"] + n * period < row["first_ce"] + 0.15 * MS]
        one.plot([t / MS for t in times], [queue.filter(pl.col("time_ps") >= t)["y"][0] / 1e3 for t in times], "o", markersize=3, label="samples")
        draw.instant(one, row["last_off"] / MS, "last OFF")
        draw.instant(one, row["first_ce"] / MS, "first CE")
        draw.label(one, "Time [ms]", "Queue of P2 [KB]", name if "," in name else f"{name}, FIFO")
    for name, delays in r.value("delays").items():
        below.plot([t / 1e6 for t in delays], [d / MS for d in delays.values()], "o", markersize=3, label=name if "," in name else f"{name}, FIFO")
    below.plot([t / 1e6 for t in delays], [(period + 2 * t) / MS for t in delays], label="max(T_on) + 2 T")
    draw.label(below, "Period T [us]", "Delay [ms]", "First CE after the last OFF")
    return figure


def fig08(r: Results) -> Figure:
    """T_on over epsilon, a curve for each R_d; and as a surface."""
    figure, axes = draw.panels(2, 1, height=2.8)
    curves, surface = axes.flat
    epsilons = [0.01 * 1.04**n for n in range(101)]
    for share in r.value("SHARES"):
        curves.plot(epsilons, [theory.ton(share, e) / 1e6 for e in epsilons], label=f"R_d = {share * 40:.0f} Gb/s")
    draw.level(curves, r.value("plane") / 1e6, "plane at epsilon = 0.05")
    curves.set(xscale="log", ylim=(0, 460))
    draw.label(curves, "Congestion degree epsilon", "T_on [us]", "T_on over the congestion degree")
    degrees, shares = [d["epsilon"] for d in r.value("DEGREES")], r.value("SHARES")
    _heat(surface, [[theory.ton(s, e) / 1e6 for e in degrees] for s in shares], [f"R_d {s * 40:.0f} Gb/s" for s in shares], [f"{e:g}" for e in degrees])
    draw.label(surface, "Congestion degree epsilon", "", "The surface [us]")
    return figure


def _heat(axes: Axes, values: list[list[float]], rows: list[str], columns: list[str]) -> None:
    """Numbers on a colour that grows with their root."""
    largest = max(v for row in values for v in row)
    axes.imshow([[(v / largest) ** 0.5 for v in row] for row in values], cmap="Blues", aspect="auto", vmin=0, vmax=1.6)
    for y, row in enumerate(values):
        for x, v in enumerate(row):
            axes.text(x, y, f"{v:.4g}", ha="center", va="center", fontsize=7)
    axes.set(xticks=range(len(columns)), xticklabels=columns, yticks=range(len(rows)), yticklabels=rows)
    axes.grid(visible=False)


def eq4(r: Results) -> Figure:
    figure, axes = draw.panels()
    for us in (20, 40):
        of = sorted((t["share"], t["expected"] / 1e6, t["mean"] / 1e6) for c, t in zip(r.value("CASES"), r.value("ton").values(), strict=True) if c["us"] == us)
        (line,) = axes.plot([s for s, *_ in of], [e for _, e, _ in of], label=f"Eq. (4), T_c {us} us")
        axes.plot([s for s, *_ in of], [m for *_, m in of], "o", markersize=4, color=line.get_color(), label="measured")
    draw.label(axes, "R_d/C", "T_on [us]")
    return figure


def alpha(r: Results) -> Figure:
    """F1's rate at its rate control and P2's queue, a column a load."""
    figure, axes = draw.panels(2, 2)
    for load, (rates, queues) in zip(r.value("LOADS"), axes.T, strict=True):
        for row in r[load["run"]]:
            style = "--" if row["case"] in ("ECN", "TCD, B") else "-"
            control = row["control"]
            times, values = [0.0, *control["time_ps"].to_list(), row["end"]], [40e9, *control["y"].to_list()]
            rates.step([t / MS for t in times], [v / 1e9 for v in [*values, values[-1]]], where="post", linestyle=style, label=row["case"])
            _queue(queues, row, "P2", row["case"], linestyle=style)
        rates.set(yscale="log", ylim=(0.05, 50))
        draw.label(rates, "", "Rate of F1 [Gb/s]", load["name"])
        draw.label(queues, "Time [ms]", "Queue of P2 [KB]")
    return figure


def fig14(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    for one, (name, title) in zip(axes.flat, (("rules", "TCD's rules"), ("unchanged", "Unchanged DCQCN")), strict=True):
        of = r.value("marks")[name]
        one.plot([float(e) for e in of], [m["ce"] for m in of.values()], "o-", markersize=3)
        draw.instant(one, 0.1, "paper: from here on")
        one.set_xscale("log")
        draw.label(one, "epsilon", "Victims' frames with CE", title)
    return figure


def fig11(r: Results) -> Figure:
    """Marked shares of F0 and F1; an interval's value holds from its beginning."""
    figure, axes = draw.panels(1, 2)
    for one, row in zip(axes.flat, r.runs, strict=True):
        one.axvspan(row["start"] / MS, row["stop"] / MS, color="0.92", label="A0 sends")
        for name, label, style in (("f0_ue", "F0, UE", "-"), ("f1_ce", "F1, CE", "--")):
            values = row["marked"][name].to_list()
            one.step([0, *(row["marked"]["time_ps"] / MS)], [*values, values[-1]], where="post", linestyle=style, label=label)
        one.set_ylim(0, 1.05)
        draw.label(one, "Time [ms]", "Marked frames", row["case"])
    return figure


def fairness(r: Results) -> Figure:
    """Throughput, rates of rate control and states: the first 6 ms, and the whole run in means over 0.5 ms."""
    figure, axes = draw.panels(3, 2)
    row = r.value("main")
    for (until, title), (throughput, control, states) in zip(((6 * MS, "During the bursts"), (row["end"], "After them")), axes.T, strict=True):
        for name in [*r.value("FLOWS"), "F1"]:
            points = row["rates"].filter(pl.col("time_ps") <= until, flow=name).select("time_ps", "y")
            means = points if until < row["end"] else pl.DataFrame(windows(points, until), schema=["time_ps", "y"], orient="row")
            draw.line(throughput, means, name, y=1e9, linestyle="--" if name == "F1" else "-")
            of = row["control"].filter(pl.col("time_ps") <= until, flow=name)
            if name != "F1":
                values = [40.0, *(of["y"] / 1e9)]
                control.step([0.2, *(of["time_ps"] / MS), until / MS], [*values, values[-1]], where="post", label=name)
        draw.level(throughput, 8, "paper: 8 Gb/s")
        throughput.set(ylim=(0, 14), xlim=(0, until / MS))
        control.set(ylim=(0, 42), xlim=(0, until / MS))
        draw.label(throughput, "", "Throughput [Gb/s]", title)
        draw.label(control, "", "Rate of rate control [Gb/s]")
        _states(states, row, ports=["P2", "P3"])
        states.set_xlim(0, until / MS)
    return figure


def _bars(axes: Axes, labels: list[str], groups: dict[str, list[Mean]], paper: list[float | None] | None = None) -> None:
    """Bars with their intervals, a group of bars a label; the paper's numbers as marks."""
    width = 0.8 / len(groups)
    for n, (name, means) in enumerate(groups.items()):
        x = [i + (n - (len(groups) - 1) / 2) * width for i in range(len(labels))]
        middle = [m.mean for m in means]
        ends = [[max(m.mean - max(m.low, 0.0), 0.0) for m in means], [max(m.high - m.mean, 0.0) for m in means]]
        axes.bar(x, middle, width, yerr=ends, label=name, error_kw={"linewidth": 0.8, "capsize": 2})
    for i, value in enumerate(paper or []):
        if value is not None:
            first = value == next(v for v in paper or [] if v is not None)
            axes.hlines(value, i - 0.45, i + 0.45, color="0.2", linestyle=":", label="paper" if first else "")
    axes.set(xticks=range(len(labels)), xticklabels=labels)


def _scaled(m: Mean, by: float) -> Mean:
    return Mean(m.mean * by, m.low * by, m.high * by, m.n)


def tab3(r: Results) -> Figure:
    """Shares at the loads of the scenarios, and over the load of the bursts."""
    senders, bursts = r.value("loads")
    detectors = [*r.value("ETHERNET"), *r.value("INFINIBAND")]
    figure, axes = draw.panels(1 + len(senders), 1)
    first, *others = axes.flat
    paper = [None if (v := r.value("PAPER").get(name)) is None else 100 * v for name in detectors]
    _bars(first, [name.replace(" (", "\n(") for name in detectors], {"here": [_scaled(r.value("ce")[name], 100) for name in detectors]}, paper)
    draw.label(first, "", "Victims marked CE [%]")
    for one, sender in zip(others, senders, strict=True):
        for name in detectors:
            one.plot([100 * b for b in bursts], [100 * mean(victims.at_loads(r, name, sender, b), "victims ce").mean for b in bursts], label=name)
        draw.level(one, 26.6, "paper, ECN: 26.6 %")
        draw.level(one, 13.5, "paper, FECN: 13.5 %")
        draw.label(one, "Load of P3 by bursts [%]", "Victims marked CE [%]", f"S0 and S1 at {100 * sender:g} %")
    return figure


def by_size(r: Results) -> Figure:
    """Completion times without and with TCD by size, and their ratio."""
    return _times(r.value("bins"), r.value("by_case"), r.value("gain"))


def _times(bins: list[str], cases: Mapping[str, Runs], gain: Mapping[str, Mean], paper: list[float | None] | None = None) -> Figure:
    figure, (above, below) = draw.panels(2, 1)
    _bars(above[0], bins, {name: [_scaled(mean(runs, f"{b} fct"), 1e-6) for b in bins] for name, runs in list(cases.items())[:2]})
    above[0].set_yscale("log")
    draw.label(above[0], "", "Completion time [us]")
    _bars(below[0], bins, {"here": [gain[b] for b in bins]}, paper)
    draw.level(below[0], 1)
    draw.label(below[0], "", "Time without over with TCD")
    return figure


def bursts(r: Results) -> Figure:
    """Completion time and marks of victims over the size of the bursts."""
    figure, axes = draw.panels(2, 1)
    times, shares = axes.flat
    sizes = r.value("sizes")

    def of(case: str, column: str) -> list[float]:
        return [mean(r.runs.where({"case": case, "workload[2].size": f"{s}KB"}), column).mean for s in sizes]

    without, with_ = dict.fromkeys(r.runs.column("case"))
    for case in (without, with_):
        times.plot(sizes, [t / 1e6 for t in of(case, "victims fct")], label=case)
    times.set_yscale("log")
    for case, mark, style in ((without, "ce", "-"), (with_, "ue", "-"), (with_, "ce", "--")):
        shares.plot(sizes, [100 * s for s in of(case, f"victims {mark}")], style, label=f"marked {mark.upper()}, {case}")
    draw.label(times, "", "Mean completion time [us]", "All victims")
    draw.label(shares, "Burst of each sender [KB]", "Share of the victims [%]")
    return figure


def matrix(r: Results) -> Figure:
    """Ratios of completion times by flow control, rate control and size."""
    figure, axes = draw.panels(height=3.2)
    rows, groups = [c["name"] for c in r.value("CONTROLS")], {"all": "victims", "< 10 KB": "< 10 KB", "> 1 MB": "> 1 MB"}
    columns = [(rate, name) for rate in r.value("RATES") for name in groups]
    for y, control in enumerate(rows):
        for x, (rate, name) in enumerate(columns):
            ratio, shares = group_gain(r, control, rate, groups[name]).mean, [100 * r.value("ce")[f"{rate}{tcd} on {control}"].mean for tcd in ("", " + TCD")]
            colour = TONES["not in a tree"] if ratio >= 1.05 else TONES["root"] if ratio <= 0.95 else TONES["changing"]
            axes.add_patch(Rectangle((x, y), 0.97, 0.94, color=colour))
            detail = f"\nCE {shares[0]:.1f} to {shares[1]:.1f} %" if name == "all" else ""
            axes.text(x + 0.48, y + 0.47, f"{ratio:.2f}x{detail}", ha="center", va="center", fontsize=5)
    labels = [f"{rate},\n{name}" for rate, name in columns]
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), xticks=[x + 0.5 for x in range(len(columns))], yticks=[y + 0.5 for y in range(len(rows))], yticklabels=rows)
    axes.set_xticklabels(labels, fontsize=6)
    axes.grid(visible=False)
    return figure


def mpi_io(r: Results) -> Figure:
    """As Fig. 17(a), of all messages."""
    bins = list(r.value("BINS"))
    return _times(bins, r.value("by_case"), r.value("gain"), [r.value("PAPER").get(b) for b in bins])


def slowdown(r: Results) -> Figure:
    return _slowdown(r.value("pair"), r["reading b"] if "reading b" in r.named else None)


def hadoop_gfc(r: Results) -> Figure:
    return _slowdown(r.value("pairs")["Hadoop on GFC"])


def websearch_gfc(r: Results) -> Figure:
    return _slowdown(r.value("pairs")["WebSearch on GFC"])


def _slowdown(pair: Pair, other: Runs | None = None) -> Figure:
    """Percentiles of the slowdown over the size, each bin at its geometric middle."""
    figure, axes = draw.panels(1, 3)
    edges = EDGES[pair.cdf]
    middles = [(a * b) ** 0.5 / 1e3 for a, b in pairwise(edges)]
    lines = [(pair.without, "-"), (pair.with_, "-"), *([(other, "--")] if other is not None else [])]
    for one, (title, which) in zip(axes.flat, WHICH.items(), strict=True):
        for runs, style in lines:
            one.plot(middles, [mean(runs, f"{name} {which}").mean for name in BINS[pair.cdf]], style, label=runs[0]["case"])
        one.set(xscale="log", yscale="log")
        draw.label(one, "Flow size [KB]", "Slowdown", title)
    return figure

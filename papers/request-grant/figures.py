"""Figures of request-grant's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from xoff.lab import Mean, Results, Row, draw

from . import slots
from .metrics import mean
from .roundtrip import rule
from .unbalanced import SMOOTH, WINDOWS, of_claim, series, throughput

LOAD = "Load of an output that is no hotspot"


def bars(axes: Axes, names: Sequence[str], groups: Mapping[str, Sequence[float | Mean]]) -> None:
    """A group of bars by name, with intervals."""
    width = 0.8 / len(groups)
    for nth, (group, values) in enumerate(groups.items()):
        means = [v if isinstance(v, Mean) else Mean(v, v, v, 1) for v in values]
        at = [i - 0.4 + width * (nth + 0.5) for i in range(len(means))]
        errors = [[m.mean - m.low for m in means], [m.high - m.mean for m in means]]
        axes.bar(at, [m.mean for m in means], width, yerr=errors if any(m.n > 1 for m in means) else None, label=group, error_kw={"linewidth": 0.7})
    axes.set_xticks(range(len(names)), names)


def course(axes: Axes, row: Row, column: str, label: str, **more: Any) -> None:
    """A column of the stretches of a run."""
    of = row["stretches"]
    axes.plot(of["end"].to_numpy(), of[column].cast(pl.Float64).to_numpy(), label=label, **more)


# ---- slots --------------------------------------------------------------------------------------------------------------------------


def fig2(r: Results) -> Figure:
    figure, axes = draw.panels(2, height=2.0)
    rtt = r.value("RTT")
    lanes = ["Grants to input 1", "Grants to input 2", "Input 1", "Input 2", "From 1 at output 3", "From 2 at output 3"]
    titles = {"alone": "(a) As scheduled", "both": "(b) Grants of two outputs collide at input 1"}
    for one, (name, title) in zip(axes.flat, titles.items(), strict=True):
        seen = r.value(name)
        spans: dict[str, list[tuple[int, float, int]]] = {
            "granted by output 3": [(i, slot, n) for slot, o, i, n in seen.grants if o == 1],
            "sent to output 3": [(2 + i, slot - rtt, 1) for slot, i, o in seen.arrivals if o == 1],
            "sent to another output": [(2 + i, slot - rtt, 1) for slot, i, o in seen.arrivals if o == 0],
            "arrives before output 3": [(4 + i, slot, 1) for slot, i, o in seen.arrivals if o == 1],
        }
        for nth, (label, of) in enumerate(spans.items()):
            for lane in range(6):
                drawn = [(start, length) for at, start, length in of if at == lane]
                one.broken_barh(drawn, (lane - 0.35, 0.7), facecolors=f"C{nth}", edgecolor="white", label=label if lane == 0 else "_")
        one.set_yticks(range(6), lanes)
        one.invert_yaxis()
        one.set_xlim(0, 20)
        draw.label(one, "Time [segment times]", "", title)
    return figure


def fig3(r: Results) -> Figure:
    figure, axes = draw.panels()
    falling = r.value("FALLING")
    for label, rtts, style in (("round trips fall", falling, "-"), ("round trips rise", falling[::-1], "--")):
        axes.step(range(60), slots.in_order(rtts).backlog[0], style, where="post", label=label)
    draw.level(axes, r.value("DIFFERENCE"), "one difference of round trips")
    axes.set_xlim(10, 50)
    draw.label(axes, "Time [segment times]", "Backlog [segments]")
    return figure


# ---- without packets ----------------------------------------------------------------------------------------------------------------


def lemma_1(r: Results) -> Figure:
    figure, axes = draw.panels()
    axes.ecdf(r.value("random")["ratios"]["ratio"].to_numpy(), label="random grants")
    draw.instant(axes, 1.0, "Lemma 1")
    draw.label(axes, "Longest backlog / bound", "Share of outputs")
    return figure


def theorem_1(r: Results) -> Figure:
    figure, axes = draw.panels()
    groups = {"all premises": "highest", "without (iv)": "free", "a single route": "single"}
    bars(axes, r.value("networks"), {label: r.runs.column(name) for label, name in groups.items()})
    axes.tick_params(axis="x", labelsize=6)
    draw.label(axes, "", "Highest level / b")
    return figure


def lemma_packets(r: Results) -> Figure:
    figure, axes = draw.panels(height=3.0)
    for (order, packet), points in r.value("curves").items():
        axes.plot(list(points), list(points.values()), label=f"{order}, grants of {packet} B")
    end = max(r.value("spreads"))
    axes.plot([0, end], [0, end * 40], "--", color="0.4", label="Lemma 1")
    draw.label(axes, "Difference of round trips [t_min]", "Longest backlog [B]")
    return figure


# ---- delay and throughput over the load ---------------------------------------------------------------------------------------------


def _sweeps(r: Results, titles: Mapping[str, str]) -> Figure:
    figure, axes = draw.panels(len(titles), 2)
    for (name, title), (left, right) in zip(titles.items(), axes.reshape(-1, 2), strict=True):
        for curve, at in r.value("sweep")[name].items():
            style = "--" if "on top" in curve else "-"
            left.plot(list(at), [mean(rows, "delay").mean for rows in at.values()], style, marker=".", label=curve)
            right.plot(list(at), [mean(rows, "carried").mean for rows in at.values()], style, marker=".", label=curve)
        left.set_yscale("log")
        for one, what, unit in ((left, "mean delay", "Mean delay [t_min]"), (right, "throughput", "Carried share")):
            one.set_xlim(0, 1)
            draw.label(one, LOAD, unit, f"{title}: {what}" if title else what)
    return figure


def fig06(r: Results) -> Figure:
    return _sweeps(r, {"no speed-up": "no speed-up", "1.2 times": "1.2 times"})


def fig08(r: Results) -> Figure:
    return _sweeps(r, {"36 KB": ""})


def fig11(r: Results) -> Figure:
    return _sweeps(r, {"smooth": "smooth", "bursty": "bursty"})


def fig12(r: Results) -> Figure:
    return _sweeps(r, {"bimodal": "bimodal", "jumbo": "jumbo"})


def fig04(r: Results) -> Figure:
    figure, axes = draw.panels(2, 2)
    slow, fast = (r.runs.where(case=name)[0] for name in ("no speed-up", "1.2 times"))
    (a, b), (c, d) = axes
    course(a, slow, "hot_queue_max", "fullest of eight")
    course(a, slow, "hot_queue_mean", "mean")
    draw.level(a, 4_000, "4000 B")
    for one, column in ((b, "grants_max"), (c, "grants_mean"), (d, "cold")):
        course(one, slow, column, "no speed-up")
        course(one, fast, column, "1.2 times")
    b.set_yscale("log")
    draw.level(b, 128, "128: one output's")
    draw.label(a, "Time [t_min]", "Fill [B]", "(a) Hotspots' buffers, no speed-up")
    draw.label(b, "Time [t_min]", "Grants [segments]", "(b) Grants at the input with the most grants")
    draw.label(c, "Time [t_min]", "Grants [segments]", "(c, d) Grants held by an input, mean")
    draw.label(d, "Time [t_min]", "Share of a link", "Throughput of the other outputs")
    return figure


def implicit_speedup(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    speedups = r.value("SPEEDUPS")
    for one, workload in zip(axes.flat, r.value("WORKLOADS"), strict=True):
        runs = r[workload]
        one.semilogy([float(s) for s in speedups], [mean(runs.where(case=s), "delay").mean for s in speedups], label="implicit")
        one.semilogy([1.1], [mean(runs.where(case="reserve"), "delay").mean], "o", label="reserve")
        draw.label(one, "L_F / L", "Mean delay [t_min]", workload)
    return figure


# ---- unbalanced traffic -------------------------------------------------------------------------------------------------------------


def unbalanced(r: Results) -> Figure:
    """Throughput over w, and that of smooth packets over time."""
    figure, axes = draw.panels(1, 2, height=2.8)
    left, right = axes.flat
    for workload, at in throughput(r, *of_claim(r)).items():
        left.plot(list(at), [m.mean for m in at.values()], marker=".", label=workload)
    for w, rows in series(r["throughput"])[SMOOTH].items():
        course(right, rows[0], "cold", f"w = {w:g}")
    first, last = WINDOWS[r.cell["window"]]
    right.axvspan(first * 1_000, last * 1_000, color="0.93")
    for one in (left, right):
        draw.level(one, 0.9, "paper: worst")
        one.set_ylim(0.6, 1.01)
    left.set_xlim(-0.02, 1.02)
    draw.label(left, "w", "Throughput", "judged window")
    draw.label(right, "Time [t_min]", "Throughput", "40 B, smooth, over time")
    return figure


def over_time(r: Results) -> Figure:
    figure, axes = draw.panels()
    for row in r["long"]:
        course(axes, row, "cold", row["case"])
    draw.level(axes, 0.9, "paper: about 90 %")
    axes.set_ylim(0.5, 1.01)
    draw.label(axes, "Time [t_min]", "Throughput")
    return figure


def path_orders(r: Results) -> Figure:
    ports = [name for name in r.named if name.endswith("w = 0")]
    figure, axes = draw.panels(1, 2)
    for one, name in zip(axes.flat, ports, strict=False):
        for order in r.value("ORDERS"):
            course(one, r[name].where(case=order)[0], "cold", order)
        draw.level(one, 0.9, "paper: worst of all w")
        one.set_ylim(0.5, 1.01)
        draw.label(one, "Time [t_min]", "Throughput", name)
    for one in axes.flat[len(ports) :]:
        one.set_visible(False)
    return figure


# ---- hosts that stop ----------------------------------------------------------------------------------------------------------------


def _blocked(r: Results, letters: str) -> Figure:
    figure, axes = draw.panels(3, height=2.0)
    panels = {
        "hot_queue_mean": ("Mean fill of the hotspots' fabric-output buffers", "Fill [B]"),
        "delay": ("Delay of packets to the other outputs", "Mean delay [t_min]"),
        "cold": ("Throughput of the other outputs", "Share of a link"),
    }
    for one, letter, (column, (title, unit)) in zip(axes.flat, letters, panels.items(), strict=True):
        one.axvspan(30_000, 50_000, color="0.9", label="blocked")
        for scheme in r.value("SCHEMES"):
            course(one, r["seen"].where(case=scheme)[0], column, scheme)
        if column == "delay":
            one.set_yscale("log")
        draw.label(one, "Time [t_min]", unit, f"({letter}) {title}")
    return figure


def fig15abc(r: Results) -> Figure:
    return _blocked(r, "abc")


def fig15def(r: Results) -> Figure:
    return _blocked(r, "def")


def control_beside(r: Results) -> Figure:
    figure, axes = draw.panels()
    axes.axvspan(30_000, 50_000, color="0.93", label="blocked")
    for case in ("in band", "beside"):
        course(axes, r.runs.where(case=case)[0], "cold", f"control {case}")
    draw.label(axes, "Time [t_min]", "Share of a link")
    return figure


def grant_rate(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    for one, (value, unit) in zip(axes.flat, {"hot": "Throughput of hotspots", "delay": "Mean delay of the others [t_min]"}.items(), strict=True):
        for workload in r.value("WORKLOADS"):
            points = {of: mean(r[workload].where({"admission.grant_rate": rate}), value).mean for rate, of in r.value("RATES").items()}
            one.plot(list(points), list(points.values()), marker=".", label=workload)
        draw.label(one, "L_G / L", unit)
    return figure


# ---- variants and buffers -----------------------------------------------------------------------------------------------------------


def variants(r: Results) -> Figure:
    """Carried load, a group of bars a variant."""
    figure, axes = draw.panels(height=3.0)
    of = r.value("carried")
    loads = list(of)
    bars(axes, loads, {variant: [of[load][variant] for load in loads] for variant in of[loads[0]]})
    axes.set_ylim(0, 1.3)
    axes.tick_params(axis="x", labelsize=6)
    draw.label(axes, "", "Carried")
    axes.legend(ncols=3, fontsize=6)
    return figure


def reassembly(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("deadlocks")
    slots = r.value("SLOTS")
    groups = {"partial grants": "partial", "whole requests": "whole"}
    bars(axes, [f"{s} slots" for s in slots], {label: [of[name][s].value for s in slots] for label, name in groups.items()})
    draw.label(axes, "Reassembly buffer", "Runs that deadlock")
    return figure


def fairness(r: Results) -> Figure:
    figure, axes = draw.panels()
    of = r.value("shares")
    bars(axes, list(of), {"large requester": [s["large"] for s in of.values()], "a small requester": [s["small"] for s in of.values()]})
    draw.level(axes, 1 / 24, "one in 24")
    draw.label(axes, "", "Share of the line")
    return figure


def round_trip(r: Results) -> Figure:
    figure, axes = draw.panels()
    for nth, (size, at) in enumerate(r.value("carried").items()):
        axes.plot(list(at), list(at.values()), marker=".", color=f"C{nth}", label=f"packets of {size} B")
        axes.plot([rule(size)], [1.0], "o", color=f"C{nth}", fillstyle="none")
    axes.set_ylim(0, 1.05)
    draw.label(axes, "G [segments]", "Share of the line")
    return figure


def compare(r: Results) -> Figure:
    figure, axes = draw.panels(2, height=2.6)
    of: Mapping[str, Mapping[str, Mean]] = r.value("means")
    panels: dict[str, tuple[str, str, Callable[[float], float]]] = {
        "p99": ("99th percentile of victims", "Completion time [us]", lambda v: v / 1e6),
        "hot": ("Throughput of the hot outputs", "Share of their links", lambda v: v),
    }
    for one, (value, (title, unit, scale)) in zip(axes.flat, panels.items(), strict=True):
        bars(one, list(of), {title: [scale(means[value].mean) for means in of.values()]})
        one.tick_params(axis="x", labelrotation=25, labelsize=6)
        draw.label(one, "", unit, title)
    axes.flat[0].set_yscale("log")
    return figure

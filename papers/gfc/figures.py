"""Figures of GFC's claims."""

import polars as pl
from matplotlib.figure import Figure
from xoff.lab import Results, draw, theory
from xoff.lab.observe import MS

from .figures_large import fig15, fig16, fig17, fig18, fig19

__all__ = ["fig15", "fig16", "fig17", "fig18", "fig19"]

_REPAIR = {"Buffer-based GFC": draw.color("gfc-buffer", 0), "Time-based GFC": draw.color("gfc-time", 0), "GFC with entry ports": "tab:purple"}
"""Colours of the flow controls that the repair compares."""

def ring(r: Results) -> Figure:
    figure, axes = draw.panels(2)
    above, below = axes.flat
    for row in r.runs.where(seed=1):
        scheme = row["flow_control"]
        draw.line(above, row["queue"], r.value("NAMES")[scheme], scheme, x=MS, y=1e3)
        draw.line(below, row["rate_of_flow_1"], "", scheme, x=MS, y=1e9)
    draw.label(above, "", "Queue length [KB]", "Ingress queue of H1's port")
    draw.label(below, "Time [ms]", "Rate [Gb/s]", "Rate of flow 1")
    return figure


def fig09(r: Results) -> Figure:
    return _port_of_h1(r, [("PFC", "pfc", []), ("Buffer-based GFC", "gfc", [884, 840])])


def _port_of_h1(r: Results, runs: list[tuple[str, str, list[float]]], until: float = 10) -> Figure:
    """Queue above, input rate below, one column a run; the paper's queue lengths as lines. ``until``: end [ms]."""
    figure, axes = draw.panels(2, len(runs))
    for (title, case, levels), (above, below) in zip(runs, axes.T, strict=True):
        row = r.runs.row(case=case, seed=1)
        draw.line(above, row["queue"], scheme=row["flow_control"], x=MS, y=1e3)
        draw.line(below, row["rate"], scheme=row["flow_control"], x=MS, y=1e9)
        for level in levels:
            draw.level(above, level, f"paper: {level} KB")
        if row["deadlock_ps"] is not None:
            draw.instant(above, row["deadlock_ps"] / MS, "deadlock")
        draw.label(above, "", "Queue length [KB]", title)
        draw.label(below, "Time [ms]", "Input rate [Gb/s]")
        above.set(xlim=(0, until), ylim=(0, 1000))
        below.set(xlim=(0, until), ylim=(0, 10.5))
    return figure


def thm4_1(r: Results) -> Figure:
    figure, axes = draw.panels()
    ls = [i / 20 for i in range(20, 101)]
    for drain in r.value("DRAINS"):
        axes.plot(ls, [max(-theory.gfc_smallest_gap(l, drain), 0.0) for l in ls], label=f"R_d = {drain} C")
    draw.instant(axes, 2.718281828459045, "onset e")
    draw.instant(axes, 4.0, "paper: 4")
    draw.label(axes, "(B_m - B_0) / (C tau)", "Queue beyond B_m [C tau]")
    return figure


def fig05(r: Results) -> Figure:
    figure, axes = draw.panels(2, 2)
    fluids = theory.gfc_fig_5(int(MS))
    for (case, name), fluid, (above, below) in zip((("pfc", "PFC"), ("gfc", "Conceptual GFC")), fluids, axes.T, strict=True):
        row, points = r.runs[case], pl.DataFrame(fluid, schema=["time_ps", "queue", "rate"], orient="row")
        draw.line(above, row["queue"], "packets", x=MS, y=1e3)
        draw.line(above, points.select("time_ps", y="queue"), "fluid", x=MS, y=1e3, linestyle="--")
        draw.line(below, _pauses_as_rate(row["paused"]) if case == "pfc" else row["allowed"], "packets", x=MS, y=1e9, drawstyle="steps-post")
        style = "steps-post" if case == "pfc" else "default"
        draw.line(below, points.select("time_ps", y="rate"), "fluid", x=MS, y=1e9, linestyle="--", drawstyle=style)
        for level, what in [(80, "XOFF"), (77, "XON")] if case == "pfc" else [(75, "paper: 75 KB")]:
            draw.level(above, level, what)
        draw.label(above, "", "Queue length [KB]", f"{name}: ingress queue")
        draw.label(below, "Time [ms]", "Rate [Gb/s]", f"{name}: allowed rate")
    return figure


def _pauses_as_rate(pauses: pl.DataFrame) -> pl.DataFrame:
    steps = [(0.0, 10e9)] + [step for start, end in pauses.rows() for step in ((start, 0.0), (end, 10e9))]
    return pl.DataFrame(steps, schema=["time_ps", "y"], orient="row").filter(pl.col("time_ps") <= MS)


def fig10(r: Results) -> Figure:
    return _port_of_h1(r, [("CBFC", "cbfc", []), ("Time-based GFC", "gfc", [745])], 25)


def ring_hosts(r: Results) -> Figure:
    figure, axes = draw.panels()
    for scheme in ("gfc-buffer", "gfc-time"):
        draw.line(axes, r.runs[scheme]["allowed"], r.value("NAMES")[scheme], scheme, x=MS, y=1e9, drawstyle="steps-post")
    axes.set_yscale("log")
    draw.label(axes, "Time [ms]", "Rate allowed to S1->S2 [Gb/s]")
    return figure


def fig12(r: Results) -> Figure:
    return _fat_tree(r, "pfc", "gfc-buffer")


def fig13(r: Results) -> Figure:
    return _fat_tree(r, "cbfc", "gfc-time")


def _fat_tree(r: Results, stops: str, gentle: str) -> Figure:
    """Throughput of the flows, one column a run; queue of two ports below."""
    figure, axes = draw.panels(2, 2)
    names = r.value("NAMES")
    runs = (stops, names[stops]), (gentle, names[gentle])
    for (run, title), (above, below) in zip(runs, axes.T, strict=True):
        row = r.runs.row(case=run, seed=1)
        for flow in range(4):
            draw.line(above, row["throughput"].filter(pl.col("flow") == flow).select("time_ps", "y"), f"F{flow + 1}", x=MS, y=1e9)
        draw.level(above, 5, "paper, GFC: 5 Gb/s")
        above.set_ylim(0, 10.5)
        draw.line(below, row["queue_h0"], "H0->E1", x=MS, y=1e3)
        draw.line(below, row["queue_c1"], "C1->A3", x=MS, y=1e3)
        draw.label(above, "", "Throughput [Gb/s]", title)
        draw.label(below, "Time [ms]", "Ingress queue [KB]")
    return figure


def fig14(r: Results) -> Figure:
    figure, axes = draw.panels()
    for row in r.runs.where(seed=1):
        of_f5 = row["throughput"].filter(pl.col("flow") == 4).select("time_ps", "y")
        draw.line(axes, of_f5, r.value("NAMES")[row["case"]], row["case"], x=MS, y=1e9)
    draw.level(axes, 5, "paper, GFC: 5 Gb/s")
    draw.label(axes, "Time [ms]", "Throughput of F5 [Gb/s]")
    return figure


def fig20(r: Results) -> Figure:
    figure, axes = draw.panels(2)
    above, below = axes.flat
    row = r.runs["ingress"]
    draw.line(above, row["queue"], "queue", x=MS, y=1e3)
    draw.level(above, 281, "B_1")
    draw.line(below, row["allowed"], "GFC rate", x=MS, y=1e9, drawstyle="steps-post")
    draw.line(below, row["dcqcn"], "DCQCN rate", x=MS, y=1e9, drawstyle="steps-post")
    draw.level(below, 1.25, "paper: 1.25 Gb/s")
    draw.label(above, "", "Queue length [KB]", "Ingress queue of H1's port")
    draw.label(below, "Time [ms]", "Rate [Gb/s]", "Rates of H1")
    return figure


def sec7_priorities(r: Results) -> Figure:
    figure, axes = draw.panels(2, 2)
    for (name, row), panel in zip(r.value("priorities").items(), axes.flat, strict=True):
        for flow in ("high", "low"):
            draw.line(panel, row[f"{flow}_over_time"], f"{flow} priority", x=MS, y=1e9)
        draw.label(panel, "Time [ms]", "Throughput [Gb/s]", name.replace("drr", "weights 3:1"))
    return figure


def sec7_loop(r: Results) -> Figure:
    figure, axes = draw.panels()
    for scheme in ("gfc-buffer", "gfc-time"):
        draw.line(axes, r.runs[scheme]["allowed"], f"{r.value('NAMES')[scheme]}, allowed", scheme, x=MS, y=1e9, drawstyle="steps-post")
    if r.runs["pfc"]["deadlock_ps"] is not None:
        draw.instant(axes, r.runs["pfc"]["deadlock_ps"] / MS, "PFC: deadlock")
    axes.set_yscale("log")
    draw.label(axes, "Time [ms]", "Rate of the source's port [Gb/s]")
    return figure


def sec7_granularity(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    for (unit, row), panel in zip(r.value("sender").items(), axes.flat, strict=True):
        draw.line(panel, row["allowed"], "allowed", x=MS, y=1e9, drawstyle="steps-post")
        draw.level(panel, 0.625, "share")
        draw.label(panel, "Time [ms]", "Rate of one sender [Gb/s]", f"unit {unit}")
    return figure


def sec4_2_steady(r: Results) -> Figure:
    figure, axes = draw.panels()
    drains, formula, simulated = (r.value(name) for name in ("DRAINS", "by_formula", "simulated"))
    axes.plot([d / 1e9 for d in drains], [v / 1e6 for v in formula], label="limit cycle, formula")
    axes.plot([d / 1e9 for d in drains][::3], [v / 1e6 for v in simulated][::3], "o", label="limit cycle, fluid simulation")
    draw.level(axes, r.value("STEADY") / 1e6, "m/(2 tau)")
    draw.level(axes, r.value("PRINTED") / 1e6, "paper: m/(8 tau)")
    draw.label(axes, "Draining rate [Gb/s]", "Message rate [Mb/s]")
    return figure


def sec5_4(r: Results) -> Figure:
    figure, axes = draw.panels(1, 2)
    titles = "Testbed: B 1 MB, B_1 750 KB", "Simulations: B 300 KB, B_1 281 KB"
    for title, (b_m, b_1, steps), panel in zip(titles, r.value("mappings"), axes.flat, strict=True):
        points = [(b_1 - 0.3 * (b_m - b_1), 10**10), *steps, (b_m, 0)]
        draw.line(panel, pl.DataFrame(points, schema=["queue", "y"], orient="row"), "R_k = C/2^k", x=1e3, y=1e9, drawstyle="steps-post")
        draw.label(panel, "Ingress queue [KB]", "Allowed rate [Gb/s]", title)
    return figure


def thm5_1(r: Results) -> Figure:
    figure, axes = draw.panels()
    ds = [n / 20 for n in range(1, 53)]
    axes.plot(ds, [theory.gfc_time_critical_ratio(d) for d in ds], label="exact")
    axes.plot(ds, [(d**0.5 + 1) ** 2 for d in ds], "--", label="paper: (sqrt(tau/T) + 1)^2")
    axes.plot(*zip(*r.value("onsets").items(), strict=True), "o", label="sampled fluid, onset")
    draw.instant(axes, 90.0 / 52.4, "testbed")
    draw.label(axes, "tau / T", "(B_m - B_0) / (C T)")
    return figure


def matrix(r: Results) -> Figure:
    return draw.heat(list(r.value("SWITCHES")), r.value("columns"), r.value("field"))


def repair(r: Results) -> Figure:
    figure, axes = draw.panels(1, 3, width=9.0)
    titles = "Ring, FIFO", "Two hosts per switch, FIFO", "Two hosts per switch, round robin"
    for start, title, panel in zip(("ring, fifo, ", "two hosts, fifo, ", "two hosts, round-robin, "), titles, axes.flat, strict=True):
        for name, row in r.value("job").items():
            scheme = name.removeprefix(start)
            if name.startswith(start) and "thresholds" not in scheme:
                draw.line(panel, row["rate_of_flow_1"], scheme, x=MS, y=1e9, color=_REPAIR[scheme])
        panel.set_yscale("log")
        draw.label(panel, "Time [ms]", "Rate of flow 1 [Gb/s]", title)
    return figure

"""Figures of GFC's claims."""

from matplotlib.figure import Figure
from xoff.lab import Results, draw, theory
from xoff.lab.observe import MS


def ring(r: Results) -> Figure:
    figure, axes = draw.panels(2, 2)
    for (discipline, title), (above, below) in zip((("fifo", "FIFO"), ("round-robin", "round robin")), axes.T, strict=True):
        for row in r.runs.where(switch__discipline=discipline):
            scheme = row["flow_control"]
            draw.line(above, row["queue"], r.value("NAMES")[scheme], scheme, x=MS, y=1e3)
            draw.line(below, row["rate_of_flow_1"], "", scheme, x=MS, y=1e9)
        draw.label(above, "", "Queue length [KB]", f"Ingress queue of H1's port, {title}")
        draw.label(below, "Time [ms]", "Rate [Gb/s]", f"Rate of flow 1, {title}")
    return figure


def fig09(r: Results) -> Figure:
    return _port_of_h1(r, [("PFC, FIFO", "pfc", []), ("GFC, H3 3 ms later", "late", [884, 840]), ("GFC, all at once", "sync", [])])


def _port_of_h1(r: Results, runs: list[tuple[str, str, list[float]]]) -> Figure:
    """Queue above, input rate below, one column a run; the paper's queue lengths as lines."""
    figure, axes = draw.panels(2, len(runs))
    for (title, case, levels), (above, below) in zip(runs, axes.T, strict=True):
        row = r.runs[case]
        draw.line(above, row["queue"], scheme=row["flow_control"], x=MS, y=1e3)
        draw.line(below, row["rate"], scheme=row["flow_control"], x=MS, y=1e9)
        for level in levels:
            draw.level(above, level, f"paper: {level} KB")
        if row["deadlock_ps"] is not None:
            draw.instant(above, row["deadlock_ps"] / MS, "deadlock")
        draw.label(above, "", "Queue length [KB]", title)
        draw.label(below, "Time [ms]", "Input rate [Gb/s]")
        above.set(xlim=(0, 10), ylim=(0, 1000))
        below.set(xlim=(0, 10), ylim=(0, 10.5))
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

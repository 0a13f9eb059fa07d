"""Figures of GFC's claims with real frames."""

from matplotlib.figure import Figure
from xoff.lab import Results, draw
from xoff.lab.observe import MS


def fig09(r: Results) -> Figure:
    return _port_of_h1(r, {"PFC": [], "GFC": [884, 840]})


def fig10(r: Results) -> Figure:
    return _port_of_h1(r, {"CBFC": [], "GFC": [745]})


def repair(r: Results) -> Figure:
    return _port_of_h1(r, {"Buffer-based GFC, FIFO": [], "GFC with entry ports, FIFO": []})


def _port_of_h1(r: Results, shown: dict[str, list[float]]) -> Figure:
    """Queue above, input rate below, one column a cell; the paper's queue lengths [KB] as lines."""
    figure, axes = draw.panels(2, len(shown))
    for (cell, levels), (above, below) in zip(shown.items(), axes.T, strict=True):
        simulated, real = r["simulated"][cell], r.value("first").get(cell)
        color = "tab:purple" if "entry ports" in cell else draw.color(simulated["flow_control"], 0)
        for curve, panel, y in (("queue", above, 1e3), ("rate", below, 1e6)):
            if real is not None:
                draw.line(panel, real[curve], "real frames", x=MS, y=y, color=color)
            draw.line(panel, simulated[curve], "simulated", x=MS, y=y, color="0.5", linestyle="--")
            panel.set_xlim(0, simulated["end"] / MS)
        for level in levels:
            draw.level(above, level, f"paper: {level} KB")
        above.set_ylim(0, 1050)
        below.set_ylim(0, 105)
        draw.label(above, "", "Queue length [KB]", cell.replace("Buffer-based ", "").replace("Time-based ", ""))
        draw.label(below, "Time [ms]", "Input rate [Mb/s]")
    return figure

"""The figure."""

from matplotlib.figure import Figure
from xoff.lab import Results, draw

SECOND = 1e12


def fig1(r: Results) -> Figure:
    figure, axes = draw.panels(height=2.6)
    draw.line(axes, r["tcp"][0]["queue"], "TCP", x=SECOND, y=1500, color="tab:red")
    draw.line(axes, r["dctcp"][0]["queue"], "DCTCP", x=SECOND, y=1500, color="tab:blue")
    draw.level(axes, 22, "paper: K + N = 22")
    axes.set_ylim(0, 600)
    draw.label(axes, "Time [s]", "Queue length [packets]")
    return figure

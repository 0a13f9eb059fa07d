"""The figure of TCD's claim with real frames."""

from matplotlib.figure import Figure
from xoff.lab import Results, draw
from xoff.lab.observe import MS


def fig11(r: Results) -> Figure:
    """Marked shares of F0 and F1; the value of an interval holds from its start."""
    figure, (axes,) = draw.panels(1, 2)
    for one, (cell, row) in zip(axes, r.value("first").items(), strict=False):
        one.axvspan(row["start"] / MS, row["stop"] / MS, color="0.92", label="A0 sends")
        for name, label, style in (("f0_ue", "F0, UE", "-"), ("f1_ce", "F1, CE", "--")):
            one.step(row["marked"]["time_ps"] / MS, row["marked"][name].to_list(), where="post", linestyle=style, label=label)
        one.set(xlim=(0, row["end"] / MS), ylim=(0, 1.05))
        draw.label(one, "Time [ms]", "Marked frames", cell)
    return figure

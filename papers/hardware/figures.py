"""The figure."""

from matplotlib.figure import Figure
from xoff.lab import Results, draw


def nccl(r: Results) -> Figure:
    figure, ((above,), (below,)) = draw.panels(2)
    rows = r.value("curve")
    sizes = [v["size"] for v in rows]
    above.plot(sizes, [v["xoff"] for v in rows], color="tab:blue", label="xoff")
    below.fill_between(sizes, [100 * v["low"] for v in rows], [100 * v["high"] for v in rows], color="lightgray", step="mid")
    for half, fill in (("fit", "black"), ("judged", "white")):
        some = [v for v in rows if v["half"] == half]
        dots = {"linestyle": "", "marker": "o", "markersize": 4, "color": "black", "markerfacecolor": fill}
        above.plot([v["size"] for v in some], [v["us"] for v in some], label=f"measured, {half} half", **dots)
        below.plot([v["size"] for v in some], [100 * v["error"] for v in some], **dots)
    below.axhline(0, color="tab:blue", linewidth=0.8)
    for axes in (above, below):
        axes.set_xscale("log", base=2)
    above.set_yscale("log")
    draw.label(above, "", "Time [us]")
    draw.label(below, "Size [bytes]", "Error of xoff [%]")
    above.legend()
    return figure

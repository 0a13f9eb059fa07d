"""Figures for papers: the size of a column or a page, with caption and provenance. ``python -m xoff._figure`` draws for ``xoff figure``."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import _figures, _units
from ._ask import ask, option
from ._commands import _of
from ._palette import COLORS, DEADLOCK, NAMES, PAUSED
from ._plot import RunFigure, time_unit
from ._progress import StepCallback
from ._run import Run, open

WIDTHS = {"column": 3.35, "page": 7.0}
"""Widths of figures [inches]."""
STYLE: Any = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7,
    "axes.linewidth": 0.6, "lines.linewidth": 1.2, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    # Fonts as outlines that programs can edit and search; files with the same bytes every time.
    "pdf.fonttype": 42, "svg.hashsalt": "xoff", "savefig.dpi": 300,
}
NAMED_MAX = 40
"""In larger networks only the nodes of the cycle have names."""
LINK = "#c9d2da"
INK = "#1f2933"
FORMATS = ("pdf", "svg", "png")


class NoFigureError(ValueError):
    """The run has nothing to draw; ``hint`` says what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what} ({hint})")
        self.what, self.hint = what, hint


def _write(path: Path, data: bytes) -> None:
    """Writes all of a file, or nothing under its name."""
    part = path.with_name(f"{path.name}.partial")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as e:
        part.unlink(missing_ok=True)
        raise OSError(e.errno, e.strerror, str(path)) from e


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a run with its caption."""

    figure: Figure
    """Matplotlib's figure."""
    caption: str
    """Caption, one or two sentences."""
    provenance: str
    """Scenario, flow control, seed, version and result hash in one line."""

    def save(self, path: str | PathLike[str], formats: Sequence[str] = ("pdf",)) -> list[Path]:
        """Writes ``path`` with the ending of each format, and ``path.txt`` with caption and provenance."""
        stem = fspath(path)
        files = []
        for name in formats:
            files.append(Path(f"{stem}.{name}"))
            _write(files[-1], self.to_bytes(name))
        files.append(Path(f"{stem}.txt"))
        _write(files[-1], self.text.encode())
        return files

    @property
    def text(self) -> str:
        """Caption and provenance, as the text file next to the figure has them."""
        from . import __version__

        return f"Figure by xoff {__version__}\n\n{self.caption}\n\n{self.provenance}\n"

    def to_bytes(self, format: str) -> bytes:
        """The file of a format: ``"pdf"``, ``"svg"`` or ``"png"``."""
        if format not in FORMATS:
            raise ValueError(f"there is no format '{format}' (expected one of {', '.join(FORMATS)})")
        from . import __version__

        words = {
            "pdf": {"Title": self.caption, "Subject": self.provenance, "Creator": f"xoff {__version__}", "CreationDate": None},
            "svg": {"Title": self.caption, "Description": self.provenance, "Creator": f"xoff {__version__}", "Date": None},
            "png": {"Title": self.caption, "Description": self.provenance, "Software": f"xoff {__version__}"},
        }
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format=format, metadata=words[format])
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.to_bytes("png")


def figure(
    run: Run,
    of: Literal["cycle", "port", "slowdown", "network"],
    *,
    port: str | None = None,
    width: Literal["column", "page"] = "column",
    progress: bool | StepCallback = True,
) -> PaperFigure:
    """See :meth:`xoff.Run.figure`."""
    if width not in WIDTHS:
        raise ValueError(f"there is no width '{width}' (expected one of {', '.join(WIDTHS)})")
    if of not in ("cycle", "port", "slowdown", "network"):
        raise ValueError(f"there is no figure '{of}' (expected one of cycle, port, slowdown, network)")
    if (port is not None) != (of == "port"):
        raise ValueError("port: a figure of a port needs one, such as port='S1->S2'; the others have none")
    name, scenario = _of(run)
    _, answer = ask(["figure", *option("of", of), *option("port", port), "--data", "--", name], progress=progress, scenario=scenario)
    return drawn(run, of, width, json.loads(answer)["data"])


def drawn(run: Run, of: str, width: str, data: dict[str, Any]) -> PaperFigure:
    """The figure from its data."""
    inches = WIDTHS[width]
    with mpl.rc_context(STYLE):
        if of == "slowdown":
            result, caption = _slowdown(run, inches)
        elif of == "port":
            result, caption = _port(data["port"], inches)
        else:
            result, caption = (_cycle if of == "cycle" else _network)(run, data["network"], inches)
        # Settled now, so that all formats have the same layout.
        for _ in range(2):
            result.draw_without_rendering()
        result.set_layout_engine("none")
    return PaperFigure(result, f"{caption} {_subject(run)}", _provenance(run))


def _values(run: Run) -> dict[str, str]:
    return dict(zip(run.parameters["path"], run.parameters["value"], strict=True))


def _mechanisms(run: Run) -> str:
    values = _values(run)
    kinds = [values.get(f"{section}.kind", "none") for section in ("flow_control", "rate_control")]
    return " and ".join(NAMES.get(k, k) for k in kinds if k != "none") or "no flow control"


def _subject(run: Run) -> str:
    title = _values(run).get("run.title") or "Run"
    return f"{title}, {_mechanisms(run)}, seed {run.manifest['seed']}."


def _provenance(run: Run) -> str:
    m = run.manifest
    commit = f" ({m['xoff_commit']})" if m.get("xoff_commit") else ""
    return f"{_subject(run)[:-1]}; xoff {m['xoff_version']}{commit}; result hash {m['result_hash']}."


# ---- the network ----------------------------------------------------------------------------------------------------------------


def _canvas(net: dict[str, Any], inches: float, more: float = 0.0) -> tuple[Figure, Axes]:
    height = 0.62 * inches if net["tiers"] else 0.86 * inches
    result = RunFigure(figsize=(inches, height + more), layout="constrained")
    axes = result.subplots()
    axes.set_axis_off()
    axes.set_aspect("auto" if net["tiers"] else "equal")
    axes.margins(0.08, 0.1)
    return result, axes


def _nodes(axes: Axes, net: dict[str, Any], named: set[int]) -> None:
    many = len(net["name"]) > NAMED_MAX
    middle = sum(net["y"]) / max(len(net["y"]), 1)
    hosts = [i for i, host in enumerate(net["host"]) if host]
    axes.scatter([net["x"][i] for i in hosts], [-net["y"][i] for i in hosts], s=4 if many else 16, color="#52606d", linewidths=0, zorder=4)
    for i, name in enumerate(net["name"]):
        x, y = net["x"][i], -net["y"][i]
        if many and i not in named:
            if not net["host"][i]:
                axes.scatter([x], [y], s=10, marker="s", color="white", edgecolors="#52606d", linewidths=0.5, zorder=4)
        elif net["host"][i]:
            below = net["tiers"] or net["y"][i] > middle
            axes.annotate(name, (x, y), xytext=(0, -5 if below else 5), textcoords="offset points", ha="center", va="top" if below else "bottom", fontsize=7, color=INK, zorder=5)
        else:
            axes.text(x, y, name, ha="center", va="center", fontsize=7, color=INK, zorder=5, bbox={"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#8a96a3", "linewidth": 0.6})


def _ends(net: dict[str, Any], ports: list[str]) -> list[tuple[int, int]]:
    at = {name: i for i, name in enumerate(net["name"])}
    return [(at[a], at[b.split("#")[0]]) for a, b in (port.split("->", 1) for port in ports)]


def _cycle(run: Run, net: dict[str, Any], inches: float) -> tuple[Figure, str]:
    rows = run.deadlocks.filter(pl.col("cycle") == 0).sort("position")
    if rows.is_empty():
        raise NoFigureError("the run has no deadlock", "draw the network: --of network")
    ports = rows["port"].cast(pl.String).to_list()
    result, axes = _canvas(net, inches)
    lines = [[(net["x"][i], -net["y"][i]) for i in link] for link in net["links"]]
    axes.add_collection(LineCollection(lines, colors=LINK, linewidths=0.5 if len(lines) > 200 else 1.4, zorder=1))
    ends = _ends(net, ports)
    centre = (sum(net["x"]) / len(net["x"]), -sum(net["y"]) / len(net["y"]))
    for (a, b), bytes_ in zip(ends, rows["bytes"].to_list(), strict=True):
        start, end = (net["x"][a], -net["y"][a]), (net["x"][b], -net["y"][b])
        arrow = {"arrowstyle": "-|>", "color": DEADLOCK, "linewidth": 1.8, "mutation_scale": 9, "shrinkA": 8, "shrinkB": 8}
        axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=3)
        if len(ends) <= 8:
            x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            dx, dy = x - centre[0], y - centre[1]
            length = (dx * dx + dy * dy) ** 0.5 or 1.0
            # Outside of the cycle, so that labels of opposite links keep apart.
            axes.annotate(_units.size(bytes_), (x, y), xytext=(22 * dx / length, 10 * dy / length), textcoords="offset points", ha="center", va="center", fontsize=7, color=DEADLOCK, zorder=6)
    _nodes(axes, net, {i for end in ends for i in end})
    names = f"{', '.join(ports[:-1])} and {ports[-1]}" if 1 < len(ports) <= 6 else f"{len(ports)} ports"
    labels = " Labels: bytes that are blocked." if len(ends) <= 8 else ""
    return result, f"Deadlock: {names} wait for each other from {_units.time(rows['start_ps'][0])} on.{labels}"


def _network(run: Run, net: dict[str, Any], inches: float) -> tuple[Figure, str]:
    frame = run.ports
    end = max(run.manifest["simulated_seconds"] * 1e12, 1.0)
    rows = frame.select(pl.col("port").cast(pl.String), (pl.max_horizontal("paused_ps", "blocked_ps") / end).clip(0, 1).alias("share")).sort("share")
    result, axes = _canvas(net, inches, 0.25)
    ends = _ends(net, rows["port"].to_list())
    span = max(max(net["x"]) - min(net["x"]), max(net["y"]) - min(net["y"]), 1e-9)
    segments = []
    for a, b in ends:
        (ax, ay), (bx, by) = (net["x"][a], -net["y"][a]), (net["x"][b], -net["y"][b])
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5 or 1.0
        # Each direction on the right of its path; in a large network on it, the direction that was paused longer on top.
        off = 0.007 * span / length if len(net["name"]) <= NAMED_MAX else 0.0
        ox, oy = (by - ay) * off, -(bx - ax) * off
        segments.append([(ax + ox, ay + oy), (bx + ox, by + oy)])
    colors = LinearSegmentedColormap.from_list("paused", [LINK, PAUSED, "#8a3b00"])
    lines = LineCollection(segments, cmap=colors, linewidths=0.6 if len(segments) > 400 else 1.5, zorder=1)
    lines.set_array(rows["share"].to_numpy() * 100)
    lines.set_clim(0, 100)
    axes.add_collection(lines)
    worst = rows["port"][-1] if rows.height else None
    _nodes(axes, net, set(_ends(net, [worst])[0]) if worst else set())
    bar = result.colorbar(lines, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, aspect=30, shrink=0.7)
    bar.set_label("Paused [% of the run]")
    bar.outline.set_linewidth(0.4)
    most = f" {worst} was paused longest, {rows['share'][-1] * 100:.3g} % of the run." if worst and rows["share"][-1] > 0 else " No port was paused."
    which = "each direction of each link" if len(net["name"]) <= NAMED_MAX else "each link, in the direction that was paused longer"
    return result, f"Share of the run for which flow control paused {which}.{most}"


# ---- over time, over size -------------------------------------------------------------------------------------------------------


def _panel(axes: Axes, label: str) -> None:
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)


def _legend(axes: Axes) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0.1, handlelength=1.6, columnspacing=1.2)


def _port(port: dict[str, Any], inches: float) -> tuple[Figure, str]:
    ps = port["time_ps"]
    unit, scale = time_unit(ps[-1])
    spans = [b - a for a, b in zip(ps, ps[1:], strict=False)]
    times = [t / scale for t in ps]
    rate = [8e12 * n / s / 1e9 if s else 0.0 for n, s in zip(port["sent_bytes"][1:], spans, strict=True)]
    paused = [100 * n / s if s else 0.0 for n, s in zip(port["paused_ps"][1:], spans, strict=True)]
    line = port["line_bps"] / 1e9
    most = max(*port["egress_bytes"], *port["ingress_bytes"], 1)
    factor, size = (1e6, "MB") if most >= 1e6 else (1e3, "KB")
    result = RunFigure(figsize=(inches, 0.95 * min(inches, 4.2)), layout="constrained")
    above, middle, below = result.subplots(3, 1, sharex=True, height_ratios=[3, 3, 1.6])
    _panel(above, "Rate [Gb/s]")
    above.stairs(rate, times, color=COLORS[0], baseline=None, label="sent")
    above.step(times, [a * line for a in port["allowed_share"]], where="post", color=COLORS[1], linestyle="--", label="allowed by flow control")
    above.set_ylim(0, line * 1.08)
    _panel(middle, f"Buffer [{size}]")
    if not port["host"]:
        middle.plot(times, [b / factor for b in port["egress_bytes"]], color=COLORS[2], label="egress queue")
    middle.plot(times, [b / factor for b in port["ingress_bytes"]], color=COLORS[3], linestyle="--", label=f"ingress buffer of {port['peer']}")
    middle.set_ylim(0, most / factor * 1.08)
    _panel(below, "Paused [%]")
    below.stairs(paused, times, fill=True, color=PAUSED)
    below.set_ylim(0, 105)
    below.set_yticks([0, 100])
    below.set_xlim(0, times[-1])
    below.set_xlabel(f"Time [{unit}]")
    below.xaxis.set_major_locator(MaxNLocator(5))
    _legend(above)
    _legend(middle)
    result.align_ylabels()
    queue = "" if port["host"] else "its egress queue, "
    text = f"its rate, the rate that flow control allows, {queue}the ingress buffer of {port['peer']}, and its paused time"
    return result, f"Port {port['port']} over time: {text}."


def _slowdown(run: Run, inches: float) -> tuple[Figure, str]:
    if run.slowdown().is_empty():
        raise NoFigureError("no flow of the run has a size and a route", "draw the network: --of network")
    result = _figures.slowdown(run)
    result.set_size_inches(inches, 0.7 * min(inches, 5.0))
    (axes,) = result.axes
    axes.set_title("", loc="left")
    axes.set_ylabel("Slowdown")
    axes.set_xlabel("Flow size")
    axes.legend(frameon=False, loc="upper left", fontsize=6.5, labelspacing=0.25, handlelength=1.6)
    late = int(run.slowdown()["unfinished"].sum())
    open_ = f" {late:,} unfinished flows count with their age (triangles)." if late else ""
    return result, f"Slowdown of flows over their size: completion time divided by that of the same flow alone in the network.{open_}"


# ---- for the command ------------------------------------------------------------------------------------------------------------


def main() -> None:
    """Reads a request of ``xoff figure`` from stdin and writes the files to stdout, as JSON."""
    asked = json.load(sys.stdin)
    reply: dict[str, Any]
    try:
        done = drawn(open(asked["run"]), asked["of"], asked["width"], asked["data"])
        files = {name: base64.b64encode(done.to_bytes(name)).decode() for name in asked["formats"]}
        reply = {"files": files, "caption": done.caption, "provenance": done.provenance, "text": done.text}
    except NoFigureError as e:
        reply = {"refused": [e.what, e.hint]}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()

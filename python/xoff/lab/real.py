"""Runs with real Ethernet frames: ``xoff testbed``, one run at a time, and what several of them show together.

    [[run]]
    scenario = "scenarios/ring.toml"
    testbed = { observe = "S1->S2" }      # observe, ip, run: as of xoff testbed; capture = true: all frames in frames.pcapng
    measure = "port_of_h1"
    seeds = 10

No run is like another. A run in which the machine did something else for too long proves nothing: it is repeated, and if that does not
help, it does not count. A run has the columns of its measure and these: ``counts``, ``tries``, ``left_out`` (share of the time in which the
virtual clock stopped), ``gap_longest_us``, ``lost``, ``dropped`` (by nodes, among ``lost``); with ``observe`` ``captured_by``, ``stopped``
(the link was blocked in the last second), ``missed`` by the capture, ``data``, ``pfc``, ``local``, ``other`` (frames of the last second),
``whole_data``, ``whole_control``.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import RunError
from .._run import Run, open
from .._settings import settings
from . import units
from .stats import Mean, Share

if TYPE_CHECKING:
    from .claim import Results
    from .runs import Row, Runs

LEFT_OUT = 0.1
"""A run proves nothing if its clock stopped for more than this share of the time. Next to work that kept both processors busy for 25 to
28 % of it, TCD marked a flow CE under credits, while its queue drained, in ten of ten runs, and below 1 % in none."""
TRIES = 3
"""Tries of a run."""
CAPTURE = "frames.pcapng"
SNAP = 64
"""Bytes of a frame in the capture: all headers."""


def run(scenario: Path, options: Mapping[str, Any], measure: Callable[[Run], Mapping[str, Any]], seed: int, **given: Any) -> dict[str, Any]:
    """A run, with its tries."""
    least = math.inf
    for tries in range(1, TRIES + 1):
        with tempfile.TemporaryDirectory(prefix="xoff-testbed-") as folder:
            found = _once(scenario, options, measure, seed, given, Path(folder, "run"))
        least = min(least, found["left_out"])
        if found["counts"]:
            break
    return {**found, "tries": tries, "left_out": least}


def _once(scenario: Path, options: Mapping[str, Any], measure: Callable[[Run], Mapping[str, Any]], seed: int, given: Mapping[str, Any], out: Path) -> dict[str, Any]:
    # A process of its own: it enters namespaces, which it cannot do once it has threads.
    command = [sys.executable, "-m", "xoff", "testbed", str(scenario), "--out", str(out), "--seed", str(seed), "--json"]
    command += [o for path, value in settings(given) for o in ("--set", f"{path}={value}")]
    command += ["--observe", options["observe"]] if "observe" in options else []
    command += ["--capture", str(out / CAPTURE), "--snap", str(SNAP)] if options.get("capture") else []
    command += ["--ip", ",".join(options["ip"])] if "ip" in options else []
    command += [o for one in options.get("run", []) for o in ("--run", one.format(folder=scenario.parent.parent, seed=seed))]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise RunError(f"xoff testbed {scenario}: {_problem(ended.stderr) or f'exit code {ended.returncode}'}")
    answer = json.loads(ended.stdout)
    if answer["verdict"]["failures"]:
        raise RunError(f"xoff testbed {scenario}: {'; '.join(answer['verdict']['failures'])}")
    left_out = answer["real"]["left_out_seconds"] / max(answer["real"]["wall_seconds"], 1e-9)
    found = {
        "counts": left_out <= LEFT_OUT,
        "left_out": left_out,
        "gap_longest_us": answer["real"]["gap_longest_us"],
        "lost": answer["lost_frames"],
        "dropped": answer["dropped_frames"],
    }
    if "observed" in answer:
        link = answer["observed"]
        whole = link["whole_run"]
        found |= {"captured_by": link["by"], "stopped": link["stopped"], "missed": link["missed"]}
        found |= link["last_second"] | {"whole_data": whole["data"], "whole_control": whole["pfc"] + whole["local"]}
    return found | dict(measure(open(out)))


def _problem(stderr: str) -> str:
    """The last problem as a terminal shows it, in one line; its help in parentheses."""
    what, _, help = " ".join(w for w in stderr.rpartition("×")[2].split() if w != "│").partition(" help: ")
    return f"{what} ({help})" if help else what


# ---- metrics that claims with real frames have in common; they are imported by the module of a claim --------------------------------


def cells(r: Results) -> list[str]:
    """The cases."""
    return list(dict.fromkeys(r.runs.column("case")))


def counted(r: Results) -> dict[str, Runs]:
    """The runs of each case that count."""
    return {cell: r.runs.where(case=cell, counts=True) for cell in cells(r)}


def made(r: Results) -> dict[str, int]:
    return {cell: len(r.runs.where(case=cell)) for cell in cells(r)}


def counting(r: Results) -> dict[str, int]:
    return {cell: len(runs) for cell, runs in counted(r).items()}


def enough(r: Results) -> dict[str, int]:
    """Runs that have to count: two of three."""
    return {cell: round(n * 2 / 3) for cell, n in made(r).items()}


def stopping(r: Results) -> dict[str, int]:
    return {cell: sum(runs.column("stopped")) for cell, runs in counted(r).items()}


def nearly_all(r: Results) -> dict[str, int]:
    """All but one of ten, which may have been disturbed."""
    return {cell: n - n // 10 for cell, n in counting(r).items()}


def stopped(r: Results) -> dict[str, Share]:
    return {cell: Share(n, counting(r)[cell]) for cell, n in stopping(r).items()}


def mean(r: Results) -> dict[str, dict[str, Mean]]:
    """Mean of every number over the runs that count, by case and column; NaN if none counts."""
    names = [n for n, v in r.runs[0].values_.items() if n != "keys" and not isinstance(v, str)]
    return {cell: {name: Mean.of(runs.column(name)) for name in names} for cell, runs in counted(r).items()}


def first(r: Results) -> dict[str, Row]:
    """The first run that counts."""
    return {cell: runs[0] for cell, runs in counted(r).items() if runs}


def lost(r: Results) -> dict[str, int]:
    """Frames that did not arrive: dropped by nodes, lost on wires or in the kernel, rejected."""
    return {cell: sum(runs.column("lost")) for cell, runs in counted(r).items()}


def lost_in_all(r: Results) -> int:
    return sum(lost(r).values())


def machine(r: Results) -> str:
    """A note on the machine's disturbances."""
    return note(list(r.runs))


def note(rows: Sequence[Row], more: str = "") -> str:
    """The same of these runs; ``more`` stands after the share of the stopped clock."""
    kept = [row for row in rows if row["counts"]]
    worst, gap = (max([0.0, *(row[name] for row in kept)]) for name in ("left_out", "gap_longest_us"))
    return (
        f"{sum(row['tries'] for row in rows)} runs were made, and {len(kept)} count. If the loop of a run did not serve the ports for more than "
        f"{units.share(LEFT_OUT)} of the time, the run is repeated, at most {TRIES} times. In runs that count, the virtual clock stopped for up to "
        f"{units.share(worst)} of the time, {more}and the longest interruption of the loop was {units.time(gap * 1e6)}. "
        f"{len(rows) - len(kept)} runs stayed inconclusive."
    )


def capture_table(r: Results) -> list[dict[str, Any]]:
    """A row for each run: the frames of the capture."""
    return [
        {
            "Cell": cell,
            "Run": nth,
            "Stops": "yes" if row["stopped"] else "no",
            "Data frames, last second": str(row["data"]),
            "PFC frames": str(row["pfc"]),
            "Other control": str(row["local"]),
            "Other frames": str(row["other"]),
            "Data frames, whole run": str(row["whole_data"]),
            "Missed by the capture": str(row["missed"]),
            "Frames lost": str(row["lost"]),
            "Clock stopped": row["left_out"],
        }
        for cell, runs in counted(r).items()
        for nth, row in enumerate(runs, 1)
    ]


def captured_by(r: Results) -> str:
    return " and ".join(dict.fromkeys(row["captured_by"] for runs in counted(r).values() for row in runs)) or "none"

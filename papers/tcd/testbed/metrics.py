"""Fig. 11 with real frames: how the frames of F0 and F1 are marked where they arrive."""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, observe, units
from xoff.lab.observe import MS
from xoff.lab.real import CAPTURE, cells, counting, enough, first, lost, machine, made, mean

__all__ = ["cells", "counting", "enough", "first", "lost", "machine", "made", "mean"]

RECEIVERS = {"R0->T2", "R1->T2"}
F0, F1, A0 = 0, 1, 2
STEP = 500 * MS
"""Interval of the figure; the paper's 100 ms would be 10 s."""
UE, CE = 2, 3
"""Marks of a test frame: the bits of ECN as TCD reads them."""


def arrivals(capture: Path) -> Iterator[tuple[int, int, int]]:
    """Time [ps], flow and mark of the test frames that arrive at the receivers (pcapng; crates/real/src/wire/test_frame.rs)."""
    data, at, ports = capture.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:  # an interface; its first option is its name
            size = struct.unpack_from("<H", data, at + 18)[0]
            ports.append(data[at + 20 : at + 20 + size].decode() in RECEIVERS)
        elif kind == 6:
            port, high, low, kept = struct.unpack_from("<IIII", data, at + 8)
            frame = data[at + 28 : at + 28 + kept]
            inbound = data[at + 28 + (kept + 3) // 4 * 4 + 4] & 3 == 1  # its first option: flags
            # EtherType 0x88B5, magic, version 1, test frame.
            if ports[port] and inbound and frame[12:18] == b"\x88\xb5xo\x01\x05":
                yield (high << 32 | low) * 1000, int.from_bytes(frame[22:26]), frame[19] >> 3 & 3
        at += length


def per_interval(run: Run) -> dict[str, Any]:
    """Shares of marked frames by interval: the least and the most while A0 sends, and before and after."""
    counts: dict[int, dict[tuple[int, int], int]] = {}
    for time, flow, mark in arrivals(run.folder / CAPTURE) if run.folder else ():
        of = counts.setdefault(int(time // STEP), {})
        of[flow, mark] = of.get((flow, mark), 0) + 1

    def share(nth: int, flow: int, mark: int) -> float:
        of = counts.get(nth, {})
        all_ = sum(n for (f, _), n in of.items() if f == flow)
        return of.get((flow, mark), 0) / all_ if all_ else math.nan

    bins = range(max(counts, default=-1) + 1)
    columns = {"f0_ue": (F0, UE), "f0_ce": (F0, CE), "f1_ue": (F1, UE), "f1_ce": (F1, CE)}
    marked = pl.DataFrame({"time_ps": [nth * STEP for nth in bins]} | {name: [share(nth, *of) for nth in bins] for name, of in columns.items()})
    start, stop = float(run.flows["start_ps"][A0]), float(run.flows["end_ps"][A0] or math.nan)
    # The last interval may have been cut off.
    whole, begin, end = marked.head(-1).fill_nan(None), pl.col("time_ps"), pl.col("time_ps") + STEP
    inside = whole.filter((begin >= start + STEP) & (end <= stop))
    outside = whole.filter((end <= start) | (begin >= stop + STEP))
    return {
        "ue_during": inside["f0_ue"].min(),
        "ue_outside": outside["f0_ue"].max(),
        "ce": whole["f0_ce"].max(),
        "f1_during": inside["f1_ce"].min(),
        "f1_outside": outside["f1_ce"].max(),
        "start": start,
        "stop": stop,
        "end": observe.end(run),
        "marked": marked,
    }


def words(r: Results) -> str:
    """A sentence for each flow control."""
    return " ".join(
        f"{cell}, {counting(r)[cell]} runs: F0 UE at least {units.share(of['ue_during'].mean)} while A0 sends, at most {units.share(of['ue_outside'].mean)} "
        f"outside; F1 CE at least {units.share(of['f1_during'].mean)} while A0 sends."
        for cell, of in mean(r).items()
    )


def table(r: Results) -> list[dict[str, Any]]:
    heads = {"F0 UE": "f0_ue", "F0 CE": "f0_ce", "F1 UE": "f1_ue", "F1 CE": "f1_ce"}
    return [
        {"Flow control": cell, "Interval": f"to {units.time(m['time_ps'] + STEP)}"} | {head: m[name] for head, name in heads.items()}
        for cell, row in first(r).items()
        for m in row["marked"].iter_rows(named=True)
    ]

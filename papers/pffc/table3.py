"""Table 3: what control frames take of the link."""

from typing import Any

from xoff.lab import Results, units

from .metrics import HOP, LINE, NAMES, broken, counters, port

__all__ = ["NAMES", "broken", "counters"]

FRAMES = {"pfc": 156_461, "pffc": 211_010}
OVERHEAD = {"pfc": 0.0040, "pffc": 0.0054}
"""Share of the link that is printed next to them."""
PRINTED_BYTES = {"pfc": 100e6, "pffc": 135e6}
A_TENTH = {scheme: printed / 10 for scheme, printed in PRINTED_BYTES.items()}
PRINTED = FRAMES["pffc"] / FRAMES["pfc"]
FRAME = 64
"""The smallest Ethernet frame [bytes]."""
LASTED = 2.0
"""Duration of the measurement, by both rows [s]."""
BYTES = {s: frames * FRAME for s, frames in FRAMES.items()}
XOFF = 2 * HOP
GAPS = [500, 1_500, 2_000, 3_000, 3_500, 4_000, 4_500, 5_000, 6_000, 7_500, 9_250, 12_000, 15_000, 18_500]
"""Distance of XON from XOFF, of Xon_s from Xoff_s [bytes]. The paper names none; half of Xoff_s is PFFC's default."""
STOP = {"pfc": 2.0, "pffc": 4.0}
"""Frames of a stop."""


def cases(r: Results) -> dict[str, dict[str, str]]:
    keys = {"pfc": ("pfc.xoff", "pfc.xon"), "pffc": ("pffc.xoff_s", "pffc.xon_s")}
    return {
        f"{s} {gap}": {"flow_control": s, f"flow_control.{off}": f"{XOFF}B", f"flow_control.{on}": f"{XOFF - gap}B"}
        for s, (off, on) in keys.items()
        for gap in GAPS
    }


def seconds(r: Results) -> float:
    return float(r.runs[0]["simulated_seconds"])


def share(frames: float, lasted: float) -> float:
    """Share of the link that frames of 64 B take in so many seconds."""
    return frames * FRAME * 8 / (LINE * lasted)


def printed_share(r: Results) -> dict[str, float]:
    return {s: share(frames, LASTED) for s, frames in FRAMES.items()}


def printed_low(r: Results) -> dict[str, float]:
    return {s: overhead - 0.00005 for s, overhead in OVERHEAD.items()}


def printed_high(r: Results) -> dict[str, float]:
    return {s: overhead + 0.00005 for s, overhead in OVERHEAD.items()}


def frames(r: Results) -> dict[str, dict[int, int]]:
    """Control frames from S2 to S1, by scheme and distance."""
    return {s: {gap: port(r.runs[f"{s} {gap}"], "S1->S2", "messages_sent") for gap in GAPS} for s in NAMES}


def part(r: Results) -> dict[str, dict[int, float]]:
    return {s: {gap: share(n, seconds(r)) for gap, n in of.items()} for s, of in r.value("frames").items()}


def ratio(r: Results) -> dict[int, float]:
    of = r.value("frames")
    return {gap: of["pffc"][gap] / of["pfc"][gap] for gap in GAPS}


def ratios(r: Results) -> tuple[float, float]:
    return min(ratio(r).values()), max(ratio(r).values())


def closest(r: Results) -> dict[str, int]:
    """Where a scheme comes closest to its share of the paper."""
    return {s: min(GAPS, key=lambda gap: abs(r.value("part")[s][gap] - OVERHEAD[s])) for s in NAMES}


def closest_share(r: Results) -> dict[str, float]:
    return {s: r.value("part")[s][gap] for s, gap in closest(r).items()}


def stop_every(r: Results) -> dict[str, float]:
    """Time between two stops, by the paper's frames [ps]."""
    return {s: 1e12 * LASTED * STOP[s] / FRAMES[s] for s in NAMES}


def table(r: Results) -> list[dict[str, Any]]:
    def row(first: str, frames: dict[str, int], shares: dict[str, float], over: float) -> dict[str, Any]:
        cells = [first, *(c for s in NAMES for c in (str(frames[s]), units.share(shares[s]))), f"{over:.3f}"]
        return dict(zip(["Xoff - Xon", "PFC frames", "PFC's share of the link", "PFFC frames", "PFFC's share of the link", "PFFC over PFC"], cells, strict=True))

    of, parts = r.value("frames"), r.value("part")
    rows = [row(units.bytes(g), {s: of[s][g] for s in NAMES}, {s: parts[s][g] for s in NAMES}, ratio(r)[g]) for g in GAPS]
    return [*rows, row("paper, 2 s", FRAMES, OVERHEAD, PRINTED)]


def of_printed(r: Results) -> dict[str, float]:
    return {s: BYTES[s] / PRINTED_BYTES[s] for s in NAMES}


def share_of_printed(r: Results) -> dict[str, float]:
    return {s: PRINTED_BYTES[s] * 8 / (LINE * LASTED) for s in NAMES}


def bytes_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": NAMES[s],
            "Frames": str(FRAMES[s]),
            "x 64 B": BYTES[s],
            "Printed": PRINTED_BYTES[s],
            "Printed / 10": PRINTED_BYTES[s] / 10,
        }
        for s in NAMES
    ]

"""An egress buffer that the thresholds of the ingresses oversubscribe: PFC loses, PFFC does not, until its flows do the same."""

from typing import Any

from xoff.lab import Results, Row

from .metrics import HOP, NAMES, counters, port

__all__ = ["counters"]

SENDERS, MEMORY, MTU = 4, 160_000, 1_500
"""Hosts that send, what they get of the memory together [bytes], a frame [bytes]."""
RATIOS = [7, 8, 9, 20, 40]
"""Sum of the ingresses' XOFF over the memory, in tenths. At 7 the headroom of all fits next to it: 4 x (28 + 9.25 + 1.5) KB."""
FLOWS = [4, 8, 16, 32]
"""Flows of PFFC, in all."""
NEED_OF_FOUR = SENDERS * (3 * HOP + MTU + 256)


def cases(r: Results) -> dict[str, dict[str, str]]:
    pfc = {f"XOFFs {t // 10}.{t % 10} of the buffer": _xoff(t) | _flows(SENDERS) for t in RATIOS}
    return pfc | {f"{n} flows": {"flow_control": "pffc"} | _flows(n) for n in FLOWS}


def _xoff(tenths: int) -> dict[str, str]:
    xoff = MEMORY * tenths // 10 // SENDERS
    return {"flow_control": "pfc", "flow_control.pfc.xoff": f"{xoff}B", "flow_control.pfc.xon": f"{xoff - 3_000}B"}


def _flows(n: int) -> dict[str, str]:
    """Flows to H5, from one sender after the other."""
    ends = [(f"flow[{i}].src", f"H{i % SENDERS + 1}") for i in range(n)] + [(f"flow[{i}].dst", "H5") for i in range(n)]
    return dict(ends)


def lost(r: Results) -> dict[str, int]:
    return {row["case"]: row["lost"] for row in r.runs}


def words(r: Results) -> dict[str, str]:
    """Frames lost of every run, by scheme."""
    return {s: ", ".join(f"{row['case']}: {row['lost']}" for row in r.runs.where(flow_control=s)) for s in NAMES}


def share(row: Row) -> float:
    return float(row["lost"] / (row["delivered"] + row["lost"]))


def queue_of_four(r: Results) -> int:
    return port(r.runs["4 flows"], "S1->H5", "egress_bytes_max")


def table(r: Results) -> list[dict[str, Any]]:
    needs = [SENDERS * (MEMORY * t // 10 // SENDERS + HOP + MTU) for t in RATIOS]
    needs += [n * (2 * HOP + HOP + MTU + 256 * n // SENDERS) for n in FLOWS]
    return [
        {
            "Flow control": NAMES[row["flow_control"]],
            "": row["case"],
            "Frames lost": str(row["lost"]) if row["lost"] else "none",
            "Share": share(row),
            "Largest egress queue": port(row, "S1->H5", "egress_bytes_max"),
            "Need at most": need,
        }
        for row, need in zip(r.runs, needs, strict=True)
    ]

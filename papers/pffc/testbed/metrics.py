"""Metrics of PFFC's claims with real frames: rates, losses, and what control frames take of a link."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, observe, units
from xoff.lab.observe import MS
from xoff.lab.real import (
    capture_table,
    captured_by,
    cells,
    counted,
    counting,
    enough,
    first,
    lost,
    machine,
    made,
    mean,
    nearly_all,
    stopped,
    stopping,
)

__all__ = ["capture_table", "captured_by", "cells", "counting", "enough", "first", "lost", "machine", "made", "mean", "nearly_all", "stopped", "stopping"]

LINE = 100e6
"""Line rate [bit/s]."""
END = 500 * MS
"""Stretch at the end of a run over which rates are taken."""


# ---- of every run -------------------------------------------------------------------------------------------------------------


def outcome(run: Run) -> dict[str, Any]:
    """Rates of the flows and the counters of all ports."""
    rates = observe.rates_at_end(run, END)
    return {
        **overhead(run),
        **{f"rate_{n}": rate for n, rate in enumerate(rates, 1)},
        "mean_rate": sum(rates) / len(rates),
        "peak": run.ports["ingress_bytes_max"].max(),
        "messages": observe.total(run, "messages_sent"),
        "ports": run.ports,
        "rates": run.rates.filter(pl.col("flow").is_not_null()).select("time_ps", "flow", y=pl.col("rate_bps").cast(pl.Float64)),
    }


def overhead(run: Run) -> dict[str, Any]:
    return {"violations": observe.violations(run), "end": observe.end(run)}


def overflow(run: Run) -> dict[str, Any]:
    """Share of the frames that nodes dropped, and the queue that overflows."""
    dropped, delivered = run.manifest["dropped_frames"], run.manifest["delivered_frames"]
    return {"share": dropped / (delivered + dropped), "queue": observe.of_port(run, "S1->H5", "egress_bytes_max")}


def broken(r: Results) -> int:
    """Frames that were lost, or that arrived out of order."""
    return sum(row["lost"] + row["violations"] for runs in counted(r).values() for row in runs)


def _port(r: Results, cell: str, port: str, column: str) -> list[int]:
    """A counter of a port, of each run."""
    return [int(row["ports"].filter(pl.col("port").cast(pl.String) == port)[column].item()) for row in counted(r)[cell]]


# ---- hops ---------------------------------------------------------------------------------------------------------------------


def throughputs(r: Results) -> list[float]:
    return [of["mean_rate"].mean for of in mean(r).values()]


def over_one(r: Results) -> dict[str, Mean]:
    one = mean(r)["PFFC, N = 1"]["mean_rate"]
    return {cell: of["mean_rate"].over(one) for cell, of in mean(r).items()}


def pauses_before_last(r: Results) -> dict[str, int]:
    return {f"PFFC, N = {n}": min(_port(r, f"PFFC, N = {n}", f"S{n - 1}->S{n}", "blocks"), default=0) for n in (2, 3, 4)}


def hops_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Cell": cell,
            "Runs": counting(r)[cell],
            "Mean throughput": of["mean_rate"].words(units.rate),
            "Largest ingress": of["peak"].mean,
            "Control frames": of["messages"].words("{:.0f}".format),
            "Clock stopped": of["left_out"].mean,
        }
        for cell, of in mean(r).items()
    ]


# ---- spreading and deadlock ------------------------------------------------------------------------------------------------------


def rates(r: Results) -> dict[str, list[float]]:
    return {cell: [of[f"rate_{n}"].mean for n in (1, 2, 3)] for cell, of in mean(r).items()}


def spreading_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": cell,
            "Runs": counting(r)[cell],
            "Flow 1": of["rate_1"].words(units.rate),
            "Flow 2": of["rate_2"].words(units.rate),
            "Largest fill of S2 behind S1": Mean.of(_port(r, cell, "S1->S2", "ingress_bytes_max")).mean,
            "Control frames": f"{of['messages'].mean:.0f}",
        }
        for cell, of in mean(r).items()
    ]


# ---- loss ---------------------------------------------------------------------------------------------------------------------

SENDERS, MEMORY = 4, 800_000
"""Hosts that send, and the buffer of the egress [bytes]."""
MANY = 64
"""Flows that need more than the memory: each needs Xoff_s, 18.5 KB, besides its headroom."""


def loss_cases(r: Results) -> dict[str, dict[str, Any]]:
    xoffs = {tenths: MEMORY * tenths // 10 // SENDERS for tenths in (3, 20, 40)}
    pfc = {
        f"PFC, XOFFs {tenths // 10}.{tenths % 10} of the buffer": {
            "flow_control": "pfc",
            "flow_control.pfc.xoff": f"{min(xoff, MEMORY)}B",
            "flow_control.pfc.xon": f"{min(xoff, MEMORY) - 3_000}B",
        }
        for tenths, xoff in xoffs.items()
    }
    flows = ", ".join(f'{{src="H{i % SENDERS + 1}", dst="H5"}}' for i in range(MANY))
    return {**pfc, "PFFC, one flow per sender": {"flow_control": "pffc"}, f"PFFC, {MANY} flows": {"flow_control": "pffc", "flow": f"[{flows}]"}}


def fewest(r: Results) -> dict[str, int | None]:
    """Frames that nodes dropped, smallest of the runs."""
    return {cell: min(runs.column("dropped"), default=None) for cell, runs in counted(r).items()}


def lost_outside(r: Results) -> int:
    return sum(row["lost"] - row["dropped"] for runs in counted(r).values() for row in runs)


def losses(r: Results) -> str:
    return "; ".join(f"{cell}: {of['dropped'].mean:.0f}" for cell, of in mean(r).items())


def loss_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Cell": cell,
            "Runs": counting(r)[cell],
            "Frames lost in a run": of["dropped"].words("{:.0f}".format),
            "Share": of["share"].mean,
            "Largest egress queue": of["queue"].mean,
        }
        for cell, of in mean(r).items()
    ]


# ---- Table 3 ------------------------------------------------------------------------------------------------------------------

PAPER = {"PFC": 0.0040, "PFFC": 0.0054}
"""Share of the link, printed next to the frames."""
PRINTED = 211_010 / 156_461
"""Frames of PFFC over those of PFC."""
FRAME = 64
"""The smallest Ethernet frame, as the paper counts [bytes]."""


def ratio(r: Results) -> Mean:
    """Runs have no partner: a ratio of means."""
    return mean(r)["PFFC"]["whole_control"].over(mean(r)["PFC"]["whole_control"])


def share(r: Results) -> dict[str, Mean]:
    """Share of the link that control frames take."""
    return {cell: Mean.of(row["whole_control"] * FRAME * 8 / (LINE * row["end"] * 1e-12) for row in runs) for cell, runs in counted(r).items()}


def overhead_table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": cell,
            "Runs": counting(r)[cell],
            "Control frames in 2 s": of["whole_control"].words("{:.0f}".format),
            "Share of the link": share(r)[cell].words(units.share),
            "Paper": PAPER[cell],
        }
        for cell, of in mean(r).items()
    ]

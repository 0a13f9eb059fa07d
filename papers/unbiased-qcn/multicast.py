"""Section III-A: a multicast frame can be sampled once at its input, and at each of its outputs."""

from typing import Any

from xoff.lab import Results, Row, Runs

from .scenes import cnms, overflows, staggered, stuck, windows

__all__ = ["overflows", "stuck", "windows"]

LINE_FRAME = 1_542
"""A frame with the overhead on the line [bytes]."""
PLACES = {"inputs": "input", "outputs": "output"}


def sampled(settings: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    """``every_frame``: each is a sample, and every sample finds congestion; flows send half as much."""
    if settings.pop("every_frame", False):
        settings |= {f"host_flow[{n}].rate": "2Gbps" for n in range(len(scenario["host_flow"]))}
    return staggered(settings, scenario)


def found(r: Results) -> dict[str, dict[str, dict[str, float]]]:
    """CNMs per frame, by fan-out and place, with every frame sampled and as the paper samples."""
    return {
        f"{fanout}, {place}": {
            "exact": _per_frame(r[f"{fanout}, every frame"].where({"congestion_points.placement": kind}), fanout),
            "sampled": _per_frame(r[f"{fanout}"].where({"congestion_points.placement": kind}), fanout),
        }
        for fanout in (2, 3)
        for place, kind in PLACES.items()
    }


def _per_frame(runs: Runs, fanout: int) -> dict[str, float]:
    multi = sum(_of_flow(row, 0) for row in runs) / len(runs)
    unicast = range(1, 2 * fanout + 1)
    single = sum(sum(_of_flow(row, f) for f in unicast) / (2 * fanout) for row in runs) / len(runs)
    return {"multi": multi, "single": single, "ratio": multi / single}


def _of_flow(row: Row, flow: int) -> float:
    return cnms(row, flow) / (int(row["windows"][f"arrived_{flow}"].sum()) // LINE_FRAME)


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Fan-out": case.split(", ")[0],
            "QCN at": case.split(", ")[1],
            "Samples": "every frame" if samples == "exact" else "every 150 KB and less",
            "CNMs per multicast frame": f"{of['multi']:.4f}",
            "per unicast frame": f"{of['single']:.4f}",
            "Ratio": f"{of['ratio']:.2f}",
        }
        for case, both in found(r).items()
        for samples, of in both.items()
    ]

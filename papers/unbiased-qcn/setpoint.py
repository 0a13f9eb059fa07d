"""Table I prints Q_eq = 60 without a unit, and I_s as a base: what the readings give in the paper's scenes."""

from typing import Any

from xoff.lab import Results

from .drop import time
from .scenes import F6, PHASES, mean, of_seeds, off_fair, overflows, settled, staggered, stuck, windows

__all__ = ["overflows", "staggered", "stuck", "windows"]

READINGS: dict[str, dict[str, Any]] = {
    "60 KB": {},
    "60 frames, 91.3 KB": {"congestion_points.setpoint": "91320B"},
    "60 units of 256 B, 15.4 KB": {"congestion_points.setpoint": "15360B"},
    "60 KB, every interval I_s": {"congestion_points.shrinking": False},
    "91.3 KB, every interval I_s": {"congestion_points.setpoint": "91320B", "congestion_points.shrinking": False},
}
SENDING = 4 * 300 + 100
"""Time of all senders of Fig. 2(c) [ms]."""


def readings(r: Results) -> dict[str, dict[str, Any]]:
    return READINGS


def found(r: Results) -> dict[str, dict[str, float]]:
    """By reading."""
    return {reading: _of(r, reading) for reading in READINGS}


def _of(r: Results, reading: str) -> dict[str, float]:
    runs = {name: of.where(case=reading) for name, of in r.named.items()}

    def held(name: str, series: str) -> float:
        return of_seeds(runs[name], lambda row: mean(row, series, 25, 40)).mean

    outputs, inputs = (of_seeds(runs[f"drop, {at}"], time).mean for at in ("outputs", "inputs"))
    queues = held("hotspot, inputs", "input_0"), held("hotspot, outputs", "output_0")
    return {
        "off": off_fair(runs["fan-in"]),
        "stopped": of_seeds(runs["fan-in"], lambda row: row["stopped_ps"] / (1e9 * SENDING)).mean,
        "victim": of_seeds(runs["victim"], lambda row: sum(settled(row, F6, p) for p in range(len(PHASES))) / len(PHASES)).mean,
        "outputs": outputs,
        "outputs_ps": outputs * 1e9,
        "inputs": inputs,
        "ratio": inputs / outputs,
        "distance": max(outputs / 15, 15 / outputs),
        "input": queues[0],
        "output": queues[1],
        "input_over": queues[0] / 60e3,
        "output_over": queues[1] / 60e3,
    }


def farther(r: Results) -> dict[str, float]:
    """How much farther from the paper's 15 ms of outputs a reading is than 60 KB."""
    of = r.value("found")
    readings = {"91.3 KB": "60 frames, 91.3 KB", "15.4 KB": "60 units of 256 B, 15.4 KB"}
    return {name: of[reading]["distance"] / of["60 KB"]["distance"] for name, reading in readings.items()}


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Q_eq": reading,
            "Fig. 2c: off fair by at most": of["off"],
            "hosts paused": of["stopped"],
            "Fig. 5c: victim": of["victim"],
            "Fig. 6: outputs": f"{of['outputs']:.1f} ms",
            "inputs": f"{of['inputs']:.1f} ms",
            "ratio": f"{of['ratio']:.1f}",
            "Fig. 7: input": of["input"],
            "output": of["output"],
        }
        for reading, of in r.value("found").items()
    ]

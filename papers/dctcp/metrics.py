"""What is measured of a run."""

from pathlib import Path
from typing import Any

import xoff
from xoff.lab import Results, observe

from .dctcp import Dctcp

SCENARIO = Path(__file__).parent / "scenarios/two-to-one.toml"
FRAME = 1500


def port(run: xoff.Run) -> dict[str, Any]:
    """The queue of the port in the second half of a run, and the rate of both flows."""
    queue, end = observe.queue(run, "S1->H2", "egress"), observe.end(run)
    late = observe.between(queue, end / 2, end)
    return {"queue": queue, "mean": late.mean(), "swing": late.max() - late.min(), "rate": sum(observe.rates_at_end(run, end / 2))}


def with_dctcp(duration: str) -> dict[str, Any]:
    """A run with DCTCP: K is 20 packets (section 3.5), here frames of 1500 B."""
    marking = {"detection.kind": "red", "detection.kmin": "30KB", "detection.kmax": "30KB", "detection.pmax": 1}
    return port(xoff.run(SCENARIO, {"run.duration": duration, "host.acks": "per-frame", **marking}, rate_control=Dctcp))


# ---- values of the checks -------------------------------------------------------------------------------------------------------


def dctcp_frames(r: Results) -> float:
    return r["dctcp"][0]["mean"] / FRAME


def times_as_long(r: Results) -> float:
    return r["tcp"][0]["mean"] / r["dctcp"][0]["mean"]


def swing(r: Results) -> float:
    return r["tcp"][0]["swing"] / r["tcp"][0]["mean"]


def rate(r: Results) -> dict[str, float]:
    return {scheme: r[scheme][0]["rate"] for scheme in ("tcp", "dctcp")}

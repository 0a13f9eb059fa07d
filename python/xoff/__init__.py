"""xoff, a laboratory for lossless networks.

    import xoff

    run = xoff.run("scenarios/tutorial/ring.toml", flow_control="gfc-buffer", switch__discipline="round-robin")
    print(run.summary)
    run.queues          # a Polars frame: time_ps, port, kind, priority, bytes
    run.plot().savefig("ring.pdf")

Units are in the names: times are picoseconds (``*_ps``), sizes bytes, rates bit/s.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import VERSION as __version__

if TYPE_CHECKING:
    from ._answer import Answer
    from ._bench import FabricBenchmark
    from ._check import Check
    from ._commands import bench_fabric, check, check_fabric, explain, fork, import_network, plan, resume, tree, waits
    from ._compare import Comparison, compare
    from ._errors import Problem, RunError, ScenarioError, ScenarioNotFoundError, ScenarioWarning
    from ._fabric import FabricCheck, FabricWaits
    from ._figure import PaperFigure
    from ._imported import Imported
    from ._laws import Ack, Arrival, FlowControl, FlowFacts, Link, LoadBalancing, Message, NextHops, Occupancy, Pause, RateControl, Receiver, Sender, Timers
    from ._network import Happened, Network
    from ._plan import NetworkPlan, Plan
    from ._progress import Progress, Step
    from ._reproduction import Claim, Reproduction
    from ._run import Run, Slowdown, Summary, Verdict, open, run
    from ._serving import Model, Request, Served, poisson_requests, serve
    from ._sweep import Sweep, sweep
    from ._waiting import CongestionTree, Explanation
    from .derive import Difference, Verification, verify
    from .lab import claims, reproduce

# Loaded when they are asked for: Polars starts threads, and a command that enters namespaces of its own has to do so before there are any.
_PLACES = {
    "_answer": ("Answer",),
    "_bench": ("FabricBenchmark",),
    "_check": ("Check",),
    "_commands": ("bench_fabric", "check", "check_fabric", "explain", "fork", "import_network", "plan", "resume", "tree", "waits"),
    "_compare": ("Comparison", "compare"),
    "_errors": ("Problem", "RunError", "ScenarioError", "ScenarioNotFoundError", "ScenarioWarning"),
    "_fabric": ("FabricCheck", "FabricWaits"),
    "_figure": ("PaperFigure",),
    "_imported": ("Imported",),
    "_laws": ("Ack", "Arrival", "FlowControl", "FlowFacts", "Link", "LoadBalancing", "Message", "NextHops", "Occupancy", "Pause", "RateControl", "Receiver", "Sender", "Timers"),
    "_network": ("Happened", "Network"),
    "_plan": ("NetworkPlan", "Plan"),
    "_progress": ("Progress", "Step"),
    "_reproduction": ("Claim", "Reproduction"),
    "_run": ("Run", "Slowdown", "Summary", "Verdict", "open", "run"),
    "_serving": ("Model", "Request", "Served", "poisson_requests", "serve"),
    "_sweep": ("Sweep", "sweep"),
    "_waiting": ("CongestionTree", "Explanation"),
    "derive": ("Difference", "Verification", "verify"),
    "lab": ("claims", "reproduce"),
}


def __getattr__(name: str) -> Any:
    for place, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(f".{place}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Ack",
    "Answer",
    "Arrival",
    "Check",
    "Claim",
    "Comparison",
    "CongestionTree",
    "Difference",
    "Explanation",
    "FabricBenchmark",
    "FabricCheck",
    "FabricWaits",
    "FlowControl",
    "FlowFacts",
    "Happened",
    "Imported",
    "Link",
    "LoadBalancing",
    "Message",
    "Model",
    "Network",
    "NetworkPlan",
    "NextHops",
    "Occupancy",
    "PaperFigure",
    "Pause",
    "Plan",
    "Problem",
    "Progress",
    "RateControl",
    "Receiver",
    "Reproduction",
    "Request",
    "Run",
    "RunError",
    "ScenarioError",
    "ScenarioNotFoundError",
    "ScenarioWarning",
    "Sender",
    "Served",
    "Slowdown",
    "Step",
    "Summary",
    "Sweep",
    "Timers",
    "Verdict",
    "Verification",
    "__version__",
    "bench_fabric",
    "check",
    "check_fabric",
    "claims",
    "compare",
    "explain",
    "fork",
    "import_network",
    "open",
    "plan",
    "poisson_requests",
    "reproduce",
    "resume",
    "run",
    "serve",
    "sweep",
    "tree",
    "verify",
    "waits",
]

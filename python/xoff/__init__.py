"""xoff, a laboratory for lossless networks.

    import xoff

    run = xoff.run("scenarios/tutorial/ring.toml", flow_control="gfc-buffer", switch__discipline="round-robin")
    print(run.summary)
    run.queues          # a Polars frame: time_ps, port, kind, priority, bytes
    run.plot().savefig("ring.pdf")

Units are in the names: times are picoseconds (``*_ps``), sizes bytes, rates bit/s.
"""

from ._core import VERSION as __version__
from ._answers import (
    Answer,
    Check,
    CongestionTree,
    Entry,
    Explanation,
    Imported,
    NetworkPlan,
    Plan,
    Reproduction,
)
from ._compare import Comparison, compare
from ._commands import check, explain, import_network, plan, reproduce, tree
from ._errors import Problem, RunError, ScenarioError, ScenarioNotFoundError, ScenarioWarning
from ._laws import Ack, FlowControl, FlowFacts, Link, Message, Occupancy, Pause, RateControl, Receiver, Sender, Timers
from ._progress import Progress, Step
from ._run import Run, Slowdown, Summary, Verdict, open, run
from ._sweep import Sweep, sweep

__all__ = [
    "Ack",
    "Answer",
    "Check",
    "Comparison",
    "CongestionTree",
    "Entry",
    "Explanation",
    "FlowControl",
    "FlowFacts",
    "Imported",
    "Link",
    "Message",
    "NetworkPlan",
    "Occupancy",
    "Pause",
    "Plan",
    "Problem",
    "Progress",
    "RateControl",
    "Receiver",
    "Reproduction",
    "Run",
    "RunError",
    "ScenarioError",
    "ScenarioNotFoundError",
    "ScenarioWarning",
    "Sender",
    "Slowdown",
    "Step",
    "Summary",
    "Sweep",
    "Timers",
    "Verdict",
    "__version__",
    "check",
    "compare",
    "explain",
    "import_network",
    "open",
    "plan",
    "reproduce",
    "run",
    "sweep",
    "tree",
]

"""xoff, a laboratory for lossless networks.

    import xoff

    run = xoff.run("scenarios/tutorial/ring.toml", flow_control="gfc-buffer", switch__discipline="round-robin")
    print(run.summary)
    run.queues          # a Polars frame: time_ps, port, kind, priority, bytes
    run.plot().savefig("ring.pdf")

Units are in the names: times are picoseconds (``*_ps``), sizes bytes, rates bit/s.
"""

from ._core import VERSION as __version__
from ._errors import RunError, ScenarioError, ScenarioNotFoundError, ScenarioWarning
from ._progress import Progress
from ._run import Run, Slowdown, Summary, Verdict, open, run
from ._sweep import sweep

__all__ = [
    "Progress",
    "Run",
    "RunError",
    "ScenarioError",
    "ScenarioNotFoundError",
    "ScenarioWarning",
    "Slowdown",
    "Summary",
    "Verdict",
    "__version__",
    "open",
    "run",
    "sweep",
]

"""Flows that share a pause queue depend on each other: the cycle of buffers that separate queues cut is closed again."""

from typing import Any

from xoff.lab import Results, theory

from .metrics import broken, outcome

__all__ = ["broken", "outcome"]

FLOWS = range(4)
"""Flows of the scenario."""
QUEUES = [1, 2, 6, 7]
"""Pause queues: fewer than flows, the default, in which two of the flows meet, and a number that keeps all of them apart."""
PFFC = [f"PFFC, {q} pause queue{'s' if q > 1 else ''}" for q in QUEUES]
STAGGERS = [0, 1, 5, 20, 50, 100, 200]
"""Flow i starts i times this later [us]."""


def staggers(r: Results) -> list[int]:
    return STAGGERS if r.full else [0, 20]


def cases(r: Results) -> dict[str, dict[str, Any]]:
    schemes: dict[str, dict[str, Any]] = {"PFC": {"flow_control": "pfc"}}
    schemes |= {name: {"flow_control": "pffc", "flow_control.queues": q} for name, q in zip(PFFC, QUEUES, strict=True)}
    starts = {us: {f"flow[{i}].start": f"{i * us}us" for i in FLOWS} for us in staggers(r)}
    return {f"{name} / {us}": settings | starts[us] for name, settings in schemes.items() for us in staggers(r)}


def sharing(queues: int) -> int:
    """Pairs of the flows that share a pause queue."""
    at = [theory.pffc_slot(f, 4096) % queues for f in FLOWS]
    return sum(at[a] == at[b] for a in FLOWS for b in range(a))


def ring(r: Results) -> dict[str, dict[str, Any]]:
    """By scheme."""
    found = {}
    for name in ["PFC", *PFFC]:
        runs = [row for row in r.runs if row["case"].startswith(f"{name} /")]
        found[name] = {
            "runs": runs,
            "sharing": sharing(QUEUES[PFFC.index(name)]) if name in PFFC else None,
            "deadlocks": sum(row["deadlocks"] > 0 for row in runs),
            "starved": sum(row["deadlocks"] == 0 and row["slowest"] == 0 for row in runs),
            "first": min((row["deadlock_ps"] for row in runs if row["deadlock_ps"] is not None), default=None),
            "slowest": min(row["slowest"] for row in runs),
            "fastest": max(row["fastest"] for row in runs),
        }
    return found


def runs_of_each(r: Results) -> int:
    return len(staggers(r))


def largest_stagger(r: Results) -> int:
    return staggers(r)[-1]


def words(r: Results) -> str:
    return ", ".join(f"{name}: {of['deadlocks']} of {runs_of_each(r)}" for name, of in r.value("ring").items())


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control": name,
            "Pairs that share": of["sharing"],
            "Runs": len(of["runs"]),
            "Deadlocks": of["deadlocks"],
            "No deadlock, but a flow starves": of["starved"],
            "First closed at": of["first"],
            "Slowest flow": of["slowest"],
            "Fastest flow": of["fastest"],
        }
        for name, of in r.value("ring").items()
    ]

"""Fig. 14: how many packets of victims are marked CE, over epsilon."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Runs, units
from xoff.lab.observe import US

from . import theory
from .fig2 import PORTS
from .fig2 import seen as measured



def victims(run: Run) -> dict[str, int]:
    """Marked frames that arrived, of all flows of S0."""
    of = run.flows.filter(pl.col("src").cast(pl.String) == "S0")
    return {"ce": int(of["ce_frames"].sum()), "ue": int(of["ue_frames"].sum())}


def marks(r: Results) -> dict[str, dict[str, dict[str, int]]]:
    """Marked frames, and runs with any CE, by epsilon: with TCD's rules, with unchanged DCQCN, and at constant rates as in Fig. 12."""
    return {"rules": _by_epsilon(r.runs), "unchanged": _by_epsilon(r["unchanged"]), "bursts": {_key(row): _victims_of_fig12(row) for row in r["bursts"]}}


def _key(row: Any) -> str:
    return f"{row.get('detection.epsilon', row.get('detection.tcd.epsilon')):g}"


def _by_epsilon(runs: Runs) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in runs:
        of = found.setdefault(_key(row), {"ce": 0, "ue": 0, "runs": 0})
        of["ce"], of["ue"], of["runs"] = of["ce"] + row["ce"], of["ue"] + row["ue"], of["runs"] + (row["ce"] > 0)
    return found


def _victims_of_fig12(row: Any) -> dict[str, int]:
    """Of the ports on F0 and F2."""
    return {mark: sum(row[f"{mark}_{port}_{flow}"] for port in PORTS for flow in ("F0", "F2")) for mark in ("ce", "ue")}


def rise(r: Results) -> float:
    """CE per epsilon: mean over 0.3 to 1, minus mean over 0.07 to 0.15 [frames]."""

    def mean(low: float, high: float) -> float:
        inside = [m["ce"] for e, m in marks(r)["rules"].items() if low <= float(e) <= high]
        return sum(inside) / len(inside)

    return mean(0.3, 1) - mean(0.07, 0.15)


def seeds(r: Results) -> int:
    return len({row["seed"] for row in r.runs})


def first(r: Results) -> str:
    return next((f"epsilon {e}" for e, m in marks(r)["rules"].items() if m["ce"]), "no epsilon")


def quick(r: Results) -> bool:
    return not r.full


def max_ton(epsilon: float) -> float:
    """max(T_on) of the simulations' links by Eq. (3) [ps]."""
    return theory.max_ton_by_queue(40e9, 2000, 8.4 * US, epsilon)


def longest_on(r: Results) -> float:
    return max_ton(1.0)


def table(r: Results) -> list[dict[str, Any]]:
    heads = {"rules": ("TCD's rules: CE", "TCD's rules: UE"), "unchanged": ("unchanged DCQCN: CE", "unchanged DCQCN: UE"), "bursts": ("Fixed bursts: CE", "Fixed bursts: UE")}
    empty: dict[str, Any] = {"ce": "", "ue": ""}
    return [
        {"epsilon": e, "max(T_on)": units.time(max_ton(float(e)))} | {head: marks(r)[s].get(e, empty)[mark] for s, two in heads.items() for head, mark in zip(two, ("ce", "ue"), strict=True)}
        for e in marks(r)["rules"]
    ]

"""Section 4: how much speed-up implicit rate regulation needs, with the parameters of Figs. 11 and 12."""

from __future__ import annotations

from typing import Any

from xoff.lab import Mean, Results, Runs, units

from .metrics import largest, mean, outcome, queues, quick, ratio, stuck, words

__all__ = ["outcome", "quick", "stuck"]

WORKLOADS = ("40 B, bursty", "9000 B")
SPEEDUPS = ("1", "1.1", "1.2", "1.4")
UNBALANCED = ("0.25", "0.5", "0.75")
"""Shares w of unbalanced traffic (Figs. 13 and 14, after which the paper's sentence follows)."""


def of(r: Results, workload: int, scheme: str) -> Runs:
    """The runs of a workload; ``scheme``: ``reserve``, or the speed-up of implicit rates."""
    return r[WORKLOADS[workload]].where(case=scheme)


def carried(r: Results) -> dict[str, dict[str, Mean]]:
    return {workload: {s: mean(of(r, w, s), "carried") for s in SPEEDUPS} for w, workload in enumerate(WORKLOADS)}


def relative(r: Results) -> dict[str, dict[str, Mean]]:
    """Implicit at 1.1 relative to reserving at 1.1."""
    return {workload: {v: ratio(of(r, w, "1.1"), of(r, w, "reserve"), v) for v in ("delay", "delay_p99", "hot")} for w, workload in enumerate(WORKLOADS)}


def unbalanced(r: Results) -> dict[str, Mean]:
    """Throughput of implicit over that of reserving at 1.1 under unbalanced traffic, by w."""
    implicit, reserve = (r["unbalanced"].where(case=scheme) for scheme in ("implicit", "reserve"))
    return {w: ratio(implicit.where({"traffic.w": float(w)}), reserve.where({"traffic.w": float(w)}), "cold") for w in UNBALANCED}


def fullest(r: Results) -> dict[str, float]:
    """Fullest fabric-output buffer of 32 KB by speed-up [bytes]."""
    return {s: largest(r["small"].where(case=s), "queue_2") for s in SPEEDUPS}


def in_words(r: Results) -> dict[str, str]:
    delays = {
        workload: ", ".join(f"{words(ratio(of(r, w, s), of(r, w, 'reserve'), 'delay'), 2)} at {s}" for s in SPEEDUPS) for w, workload in enumerate(WORKLOADS)
    }
    return delays | {"unbalanced": ", ".join(f"{words(m, 3)} at w = {w}" for w, m in unbalanced(r).items())}


def why(r: Results) -> dict[str, dict[str, str]]:
    """By workload: fullest queue of the middle stage, throughput of hotspots, the 99th percentile relative to reserving."""
    return {
        workload: {
            "reserve_queue": units.bytes(largest(of(r, w, "reserve"), "queue_1")),
            "implicit_queue": units.bytes(largest(of(r, w, "1.1"), "queue_1")),
            "reserve_hot": f"{mean(of(r, w, 'reserve'), 'hot').mean:.3f}",
            "implicit_hot": f"{mean(of(r, w, '1.1'), 'hot').mean:.3f}",
            "p99": words(relative(r)[workload]["delay_p99"], 2),
        }
        for w, workload in enumerate(WORKLOADS)
    }


def table(r: Results) -> list[dict[str, Any]]:
    def row(workload: str, scheme: str, speedup: str, rows: Runs) -> dict[str, Any]:
        return {
            "Workload": workload,
            "Scheme": scheme,
            "L_F/L": speedup,
            "Carried": words(mean(rows, "carried"), 3),
            "Mean delay": words(mean(rows, "delay"), 0),
            "99th percentile": f"{mean(rows, 'delay_p99').mean:.0f}",
            "Most grants held": f"{largest(rows, 'grants_max'):.0f}",
            "Longest queue by stage": queues(rows),
        }

    found = []
    for w, workload in enumerate(WORKLOADS):
        found.append(row(workload, "reserve", "1.1", of(r, w, "reserve")))
        found += [row(workload, "implicit", s, of(r, w, s)) for s in SPEEDUPS]
    return found + [row("9000 B, 32 KB buffers, uniform, load 1", "implicit", s, r["small"].where(case=s)) for s in SPEEDUPS]

"""Victim flows: S0 sends to R0 and waits behind what goes to R1 (sections 5.1.3 and 5.2, Fig. 2). Table 3."""

from itertools import pairwise
from typing import Any

from xoff import Run
from xoff.lab import Mean, Results, Runs, units

from .groups import EVER, Group, SOUND, examined, mean, names, quick, seeds, unsound

ALL: dict[str, Group] = {"victims": ("S0", 0, EVER), "S1": ("S1", 0, EVER), "all": ("", 0, EVER)}
FLOWS: dict[str, Group] = {
    "< 10 KB": ("S0", 0, 10_000),
    "10 - 100 KB": ("S0", 10_000, 100_000),
    "100 KB - 1 MB": ("S0", 100_000, 1_000_000),
    "> 1 MB": ("S0", 1_000_000, EVER),
}
"""Size groups of the Hadoop flows."""
MESSAGES: dict[str, Group] = {
    "MPI 2 KB": ("S0", 0, 4_096),
    "MPI 4 - 32 KB": ("S0", 4_096, 100_000),
    "I/O 512 KB": ("S0", 100_000, 1_000_000),
    "I/O 1 MB": ("S0", 1_000_000, 2_000_000),
    "I/O 2 MB": ("S0", 2_000_000, 4_000_000),
    "I/O 4 MB": ("S0", 4_000_000, EVER),
}
"""Size groups of the MPI and I/O messages."""


def flow_groups(run: Run) -> dict[str, Any]:
    return examined(run, ALL | FLOWS)


def message_groups(run: Run) -> dict[str, Any]:
    return examined(run, ALL | MESSAGES)


# ---- Table 3 --------------------------------------------------------------------------------------------------------------------

ETHERNET: dict[str, dict[str, Any]] = {
    "ECN (Ethernet)": {},
    "NP-ECN (Ethernet)": {"detection": "np-ecn"},
    "TCD (Ethernet)": {"detection": "tcd", "rate_control.dcqcn.tcd": True},
}
INFINIBAND: dict[str, dict[str, Any]] = {"FECN (InfiniBand)": {}, "TCD (InfiniBand)": {"detection": "tcd", "rate_control.ib-cc.tcd": True}}
PAPER = {"ECN (Ethernet)": 0.266, "TCD (Ethernet)": 0.0, "FECN (InfiniBand)": 0.135, "TCD (InfiniBand)": 0.0}
MEAN_SIZE = {"ethernet loads": 120_421, "infiniband loads": 201_364}
"""Of a Hadoop flow, and of an MPI or I/O message [bytes]."""


def loads(r: Results) -> tuple[list[float], list[float]]:
    """The loads that are tried: senders, bursts."""
    return ([0.2, 0.4, 0.6], [0.2, 0.5, 0.8, 1.0, 1.2, 1.4]) if r.full else ([0.4], [0.5, 1.0, 1.4])


def ethernet_loads(r: Results) -> dict[str, dict[str, Any]]:
    return _loads(r, ETHERNET, MEAN_SIZE["ethernet loads"])


def infiniband_loads(r: Results) -> dict[str, dict[str, Any]]:
    return _loads(r, INFINIBAND, MEAN_SIZE["infiniband loads"])


def _loads(r: Results, detectors: dict[str, dict[str, Any]], size: float) -> dict[str, dict[str, Any]]:
    senders, bursts = loads(r)
    gaps = {b: f"{15 * size * 8 / (b * 40e9) * 1e9:.0f}ns" for b in bursts}
    return {f"{name} {s} {b}": {**own, "workload[0].load": s, "workload[1].load": s, "workload[2].gap": gaps[b]} for name, own in detectors.items() for s in senders for b in bursts}


def burst_load(size: float, us: float) -> float:
    """Load of P3 by bursts of 15 hosts that come every ``us`` on average."""
    return 15 * size * 8 / (us * 1e-6 * 40e9)


def there(r: Results) -> dict[str, Runs]:
    """Runs at the loads of the scenario, by detector."""
    return {name: r[run].where(case=name) for run in ("ethernet", "infiniband") for name in names(r[run])}


def ce(r: Results) -> dict[str, Mean]:
    """Share of the victims that are marked CE."""
    return {name: mean(runs, "victims ce") for name, runs in there(r).items()}


def ce_words(r: Results) -> str:
    return ", ".join(f"{name} {ce(r)[name].words(units.share)}" for name in [*ETHERNET, *INFINIBAND])


def inside(r: Results) -> dict[str, str]:
    """CE of P0 and P2."""
    return {name: f"{mean(runs, 'inside_P0').mean:.0f} frames at P0 and {mean(runs, 'inside_P2').mean:.0f} at P2 in a run" for name, runs in there(r).items()}


def at_loads(r: Results, name: str, sender: float, burst: float) -> Runs:
    return r["ethernet loads" if name in ETHERNET else "infiniband loads"].where(case=f"{name} {sender} {burst}")


def where_found(r: Results) -> dict[str, str]:
    """The loads at which a detector marks what the paper says."""
    senders, bursts = loads(r)
    found = {}
    for name in ("ECN (Ethernet)", "FECN (InfiniBand)"):
        words = []
        for sender in senders:
            curve = [(b, mean(at_loads(r, name, sender, b), "victims ce").mean) for b in bursts]
            at = " and ".join(units.share(v) for v in crossings(curve, PAPER[name]))
            none = f"at none ({units.share(min(y for _, y in curve))} to {units.share(max(y for _, y in curve))})"
            words.append(f"senders at {units.share(sender)}: {f'at {at}' if at else none}")
        found[name] = "; ".join(words)
    return found


def crossings(curve: list[tuple[float, float]], level: float) -> list[float]:
    """Where a curve crosses a level, linear between its points."""
    return [x0 + (level - y0) / (y1 - y0) * (x1 - x0) for (x0, y0), (x1, y1) in pairwise(curve) if (y0 < level) != (y1 < level)]


def worst(r: Results) -> dict[str, str]:
    """The load at which TCD marks most."""
    senders, bursts = loads(r)
    found = {}
    for name in ("TCD (Ethernet)", "TCD (InfiniBand)"):
        share, s, b = max(((mean(at_loads(r, name, s, b), "victims ce").mean, s, b) for s in senders for b in bursts), key=lambda v: v[0])
        most = f"the largest share at any load is {units.share(share)}, with senders at {units.share(s)} and bursts at {units.share(b)}."
        found[name] = most if share > 0 else "no victim is marked CE at any of these loads."
    return found


def loads_table(r: Results) -> list[dict[str, Any]]:
    senders, bursts = loads(r)
    of = [(name, s, b, at_loads(r, name, s, b)) for name in [*ETHERNET, *INFINIBAND] for s in senders for b in bursts]
    return [
        {
            "Detector": name,
            "Senders": units.share(s),
            "Bursts": units.share(b),
            "Victims": sum(runs.column("victims flows")),
            "Marked CE": mean(runs, "victims ce").words(units.share),
            "Marked UE": mean(runs, "victims ue").words(units.share),
            "Mean completion time of victims": units.time(mean(runs, "victims fct").mean),
            "Stops of ports": f"{mean(runs, 'stops').mean:.0f}",
        }
        for name, s, b, runs in of
    ]

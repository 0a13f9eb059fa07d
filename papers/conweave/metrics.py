"""Slowdowns of flows as the paper's simulator reckons them, and ratios of laws seed by seed."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row, observe, quantile

LAWS = {"ecmp": "ECMP", "flowlet": "LetFlow", "conga": "CONGA", "drill": "DRILL", "conweave": "ConWeave"}
LOADS = {"50 %": 0.25, "80 %": 0.4}
"""Load of the uplinks, and of a host: the leaves are oversubscribed 2 to 1."""
BASELINES = [law for law in LAWS if law != "conweave"]
PAPERS = ["ecmp", "flowlet", "conga"]
"""Laws that the published script runs next to ConWeave."""
WARM_UP = 0.2
"""Part of the time in which flows start that is not examined."""
PER_LEAF, HOP_NS, FRAME, HEADER = 16, 1_000, 1_000, 48


# ---- of every run -------------------------------------------------------------------------------------------------------------


def slowdowns(run: Run) -> list[float]:
    """Until the last acknowledgement, over propagation both ways, a frame at each link and the flow's bytes at line rate; at least 1."""
    last = run.flows["start_ps"].max()
    flows = run.flows.filter(pl.col("start_ps") >= WARM_UP * float(last))  # type: ignore[arg-type]
    leaf = [flows[end].cast(pl.String).str.slice(1).cast(pl.Int64) // PER_LEAF for end in ("src", "dst")]
    links = pl.Series([2 if same else 4 for same in leaf[0] == leaf[1]])
    base = links * 2 * HOP_NS + links * (FRAME * 8 / 100)
    wire = flows["size_bytes"] + (flows["size_bytes"] + FRAME - 1) // FRAME * HEADER
    alone = base + (wire * 8 / 100)
    took = (flows["acked_ps"] - flows["start_ps"]) / 1_000
    return (took / alone).clip(lower_bound=1.0).to_list()


def measured(run: Run) -> dict[str, Any]:
    """Mean and 99th percentile of the slowdown, and what explains them."""
    all_of_them = slowdowns(run)
    balance = run.manifest["load_balance"]
    return {
        "mean": sum(all_of_them) / len(all_of_them),
        "p99": quantile(all_of_them, 0.99),
        "ahead": balance["frames_ahead"],
        "flow_paths": balance["paths_mean"],
        "uplink_jain": balance["jain"],
        "stops": observe.total(run, "pauses"),
        "lost": observe.lost(run),
        "incomplete": run.flows["acked_ps"].null_count(),
    }


def cases(r: Results) -> dict[str, dict[str, Any]]:
    """Every law at both loads."""
    return {f"{law} {load}": {"load_balancing.kind": law, "workload[0].load": of_host} for load, of_host in LOADS.items() for law in LAWS}


def hadoop(r: Results) -> dict[str, dict[str, Any]]:
    """The same with the Hadoop workload."""
    return {name: {**of, "workload[0].cdf": "hadoop"} for name, of in cases(r).items()}


# ---- over seeds ---------------------------------------------------------------------------------------------------------------


def rows(r: Results, name: str, case: str) -> list[Row]:
    return [row for row in r[name] if row["case"] == case]


def column(r: Results, name: str, case: str, key: str) -> list[float]:
    return [math.nan if row[key] is None else float(row[key]) for row in rows(r, name, case)]


def _ratios(r: Results, name: str) -> dict[str, dict[str, dict[str, Mean]]]:
    def one(load: str, law: str, key: str) -> Mean:
        return Mean.ratio(column(r, name, f"conweave {load}", key), column(r, name, f"{law} {load}", key))

    return {load: {law: {key: one(load, law, key) for key in ("mean", "p99")} for law in BASELINES} for load in LOADS}


def ratio(r: Results) -> dict[str, dict[str, dict[str, dict[str, Mean]]]]:
    """ConWeave's slowdown over that of another law under the same traffic, by run, load and law."""
    return {name: _ratios(r, name) for name in r.named}


def _best(r: Results, key: str) -> Mean:
    """The largest gain over the laws of the published script."""
    found = [of[load][law][key] for of in ratio(r).values() for load in LOADS for law in PAPERS]
    best = min(found, key=lambda mean: mean.mean)
    return Mean(1 - best.mean, 1 - best.high, 1 - best.low, best.n)


def gain(r: Results) -> dict[str, Mean]:
    return {key: _best(r, key) for key in ("mean", "p99")}


def total(r: Results) -> dict[str, int]:
    of_all = [row for name in r.named for row in r[name]]
    return {key: sum(row[key] for row in of_all) for key in ("lost", "incomplete")}


def seeds(r: Results) -> int:
    return len(rows(r, next(iter(r.named)), "ecmp 50 %"))


def in_words(r: Results) -> str:
    """Mean and 99th percentile of each law."""

    def one(name: str, load: str, law: str) -> str:
        mean, p99 = (Mean.of(column(r, name, f"{law} {load}", key)).mean for key in ("mean", "p99"))
        return f"{LAWS[law]} {mean:.2f} and {p99:.1f}"

    name = next(iter(r.named))
    return "; ".join(f"{load}: " + ", ".join(one(name, load, law) for law in LAWS) for load in LOADS)


def _words(values: Sequence[float], digits: int) -> str:
    return Mean.of(values).words(lambda v: f"{v:.{digits}f}")


def table(r: Results) -> list[dict[str, str]]:
    name = next(iter(r.named))

    def of(load: str, law: str) -> dict[str, str]:
        case = f"{law} {load}"

        def mean(key: str, digits: int) -> str:
            return f"{Mean.of(column(r, name, case, key)).mean:.{digits}f}"

        against = ratio(r)[name][load].get(law)
        relative = {what: against[key].words(lambda v: f"{v:.3f}") if against else "" for what, key in (("mean", "mean"), ("p99", "p99"))}
        return {
            "Load": load,
            "Law": LAWS[law],
            "Mean": _words(column(r, name, case, "mean"), 2),
            "99th percentile": _words(column(r, name, case, "p99"), 1),
            "ConWeave's mean over it": relative["mean"],
            "ConWeave's p99 over it": relative["p99"],
            "Frames ahead": mean("ahead", 0),
            "Paths of a flow": mean("flow_paths", 2),
            "Jain": mean("uplink_jain", 3),
            "Pauses": mean("stops", 0),
        }

    return [of(load, law) for load in LOADS for law in LAWS]


def span(r: Results) -> int:
    """Time during which flows start [ms]."""
    return 5 if r.full else 1

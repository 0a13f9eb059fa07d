"""Beyond the paper: the rack fabric itself (leaf switches, spines, segments, reassembly) against one ideal switch."""

from collections.abc import Sequence
from typing import Any

from xoff.lab import Mean, Results, Row, units

from .scenes import LEAF_PORTS, LEAVES, mean, overflows, rate, staggered, stuck, windows

__all__ = ["overflows", "stuck", "windows"]

VICTIM, SECOND = 6, range(7, 11)
"""Flows, by index: f1 to f6 to the hotspot, the victim f7, then four to another output."""
SETTLED = 20
"""From when on shares are settled [ms]."""
KINDS: dict[str, dict[str, str]] = {
    "PAUSE only": {"congestion_points": "none"},
    "random at inputs": {"congestion_points.placement": "input", "congestion_points.sampling": "random"},
    "arrival at inputs": {"congestion_points.placement": "input"},
    "arrival at outputs": {"congestion_points.placement": "output"},
}
RANDOM = "random at inputs"
SMALL_PORTS = LEAVES * LEAF_PORTS
"""Ports of the small size: what one seed leaves open is asked with several."""
FAIR = (100e9 * (1 - 0.1 * 1_542 / 1_522)) / 6
"""Share of the hotspot: 10 % of the line carry the background [bit/s]."""


def kinds(r: Results) -> list[str]:
    """The last two in full runs only."""
    return list(KINDS)[: 4 if r.full else 2]


def cases(r: Results) -> dict[str, dict[str, str]]:
    return {kind: KINDS[kind] for kind in kinds(r)}


def placed(settings: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    """``fabric``: rack or ideal; ``leaves``: more of them than in the scenario, with the outputs on the last leaf."""
    fabric, leaves = settings.pop("fabric"), settings.pop("leaves", LEAVES)
    settings = staggered(settings, scenario) | ({"scheduled_fabric": "rack"} if fabric == "rack" else {})
    if leaves != LEAVES:
        settings |= {"scheduled_fabric.rack.edges": leaves} if fabric == "rack" else {"scheduled_fabric.ideal.ports": leaves * LEAF_PORTS}
        for n, flow in enumerate(scenario["host_flow"]):
            settings[f"host_flow[{n}].destinations"] = [str(int(d) + (leaves - LEAVES) * LEAF_PORTS) for d in flow["destinations"]]
    return settings


# ---- compared quantities ----------------------------------------------------------------------------------------------------------


def end(row: Row) -> float:
    """[ms]."""
    return float(round(row["simulated_seconds"] * 1e3))


def seen(row: Row) -> dict[str, Any]:
    stop = end(row)

    def flows(which: range) -> dict[str, float]:
        return _ends([rate(row, f, SETTLED, stop) for f in which])

    return {
        "victim": rate(row, VICTIM, SETTLED, stop),
        "hot": flows(range(VICTIM)),
        "second": flows(SECOND),
        "input": mean(row, "input_0", SETTLED, stop),
        "output": mean(row, "output_0", SETTLED, stop),
        "stops": row["stops"],
        "background": row["background_mean"],
        "background_p99": row["background_p99"],
        "victim_delay": row[f"delay_{VICTIM}"],
        "frames": row["flows_completed"],
        "hops": row["hops"],
        "out_of_order": row["out_of_order"],
        "queue_max": row["queue_max"],
    }


def _ends(rates: Sequence[float]) -> dict[str, float]:
    return {"slowest": min(rates), "mean": sum(rates) / len(rates), "fastest": max(rates)}


def both(r: Results) -> dict[str, dict[str, dict[str, Any]]]:
    """By kind and fabric."""
    return {kind: {fabric: seen(r[fabric].row(case=kind)) for fabric in ("rack", "ideal")} for kind in kinds(r)}


def compared(r: Results) -> dict[str, dict[str, Any]]:
    """Rack relative to ideal switch. What arrival sampling leaves the victim, and who gains at outputs, depends on the seed: not compared
    (Figs. 5a, 2b)."""
    found = {}
    for kind, of in r.value("both").items():
        rack, ideal = of["rack"], of["ideal"]
        found[kind] = {
            **{key: rack[key] / ideal[key] for key in ("victim", "input", "output", "stops")},
            "hot": rack["hot"]["mean"] / ideal["hot"]["mean"],
            "slowest": rack["hot"]["slowest"] / ideal["hot"]["slowest"],
            "second": rack["second"]["mean"] / ideal["second"]["mean"],
            "later": rack["background"] - ideal["background"],
            "not_by_seed": not kind.startswith("arrival"),
        }
    return found


# ---- the input of f1 by seeds -------------------------------------------------------------------------------------------------------
# It swings by tens of KB over milliseconds: one seed says little about its mean.


def seeds(r: Results) -> int:
    return len(r["small rack"])


def inputs(r: Results) -> dict[str, list[float]]:
    return {fabric: [seen(row)["input"] for row in r[f"small {fabric}"]] for fabric in ("rack", "ideal")}


def small(r: Results) -> dict[str, Mean]:
    means = {fabric: Mean.of(of) for fabric, of in r.value("inputs").items()}
    return means | {"ratio": means["rack"].over(means["ideal"])}


def scatter(r: Results) -> float:
    """Standard deviation of rack minus ideal."""

    def variance(of: Sequence[float]) -> float:
        mean = Mean.of(of).mean
        return sum((v - mean) ** 2 for v in of) / (len(of) - 1)

    return float(sum(variance(of) for of in r.value("inputs").values()) ** 0.5)


def off(r: Results) -> float:
    """Rack less ideal of the runs shown."""
    of = r.value("both")[RANDOM]
    return float(of["rack"]["input"] - of["ideal"]["input"])


def off_scatters(r: Results) -> float:
    return off(r) / scatter(r)


# ---- words --------------------------------------------------------------------------------------------------------------------------


def ports(r: Results) -> int:
    return 128 * LEAF_PORTS if r.full else SMALL_PORTS


def ends(r: Results) -> str:
    return units.words(end(r["rack"][0]))


def quick(r: Results) -> bool:
    return not r.full


def table(r: Results) -> list[dict[str, Any]]:

    def span(of: dict[str, float]) -> str:
        return f"{units.rate(of['slowest'])} to {units.rate(of['fastest'])}"

    return [
        {
            "QCN": kind,
            "Fabric": fabric,
            "Victim f7": s["victim"],
            "f1 to f6": span(s["hot"]),
            "Second fan-in": span(s["second"]),
            "Input of f1": s["input"],
            "Hot output": s["output"],
            "STOPs": f"{s['stops']:.0f}",
            "Background: mean delay": s["background"],
            "99 %": s["background_p99"],
            "Victim: mean delay": s["victim_delay"],
        }
        for kind, of in r.value("both").items()
        for fabric, s in of.items()
    ]

"""Beyond the paper: does ternary marking still help where nothing is ever paused? Three rate controls on four flow controls."""

from typing import Any

from xoff.lab import Mean, Results, Runs, units

from .groups import SOUND, mean, quick, ratio, seeds, times, unsound
from .victims import flow_groups

CONTROLS: list[dict[str, Any]] = [{"kind": None, "name": "PFC"}, {"kind": "gfc-buffer", "name": "Buffer-based GFC"}, {"kind": "gfc-time", "name": "Time-based GFC"}, {"kind": "cbfc", "name": "CBFC"}]
"""Flow controls. PFC is that of the scenario, so that these runs are those of Fig. 15(a) and Fig. 18(a)."""
RATES = ["DCQCN", "TIMELY", "HPCC"]


def of(r: Results, flow_control: str, case: str) -> Runs:
    """The runs of a flow control and of a case: ``DCQCN``, ``DCQCN + TCD``."""
    (kind,) = (c["kind"] for c in CONTROLS if c["name"] == flow_control)
    return (r.runs if kind is None else r["others"]).where(flow_control=kind, case=case)


def gain(r: Results) -> dict[str, Mean]:
    """How many times longer victims (with HPCC: all flows) take without TCD: ``DCQCN on PFC``."""
    return {f"{rate} on {c['name']}": group_gain(r, c["name"], rate, "all" if rate == "HPCC" else "victims") for c in CONTROLS for rate in RATES}


def group_gain(r: Results, flow_control: str, rate: str, group: str) -> Mean:
    return ratio(of(r, flow_control, rate), of(r, flow_control, f"{rate} + TCD"), f"{group} fct")


def ce(r: Results) -> dict[str, Mean]:
    """Share of the victims that are marked CE: ``DCQCN + TCD on PFC``."""
    return {f"{rate}{tcd} on {c['name']}": mean(of(r, c["name"], rate + tcd), "victims ce").within(0, 1) for c in CONTROLS for rate in RATES for tcd in ("", " + TCD")}


def gains(r: Results) -> dict[str, str]:
    """By rate control, in words."""
    return {rate: ", ".join(f"{c['name']} {group_gain(r, c['name'], rate, 'victims').words(times)}" for c in CONTROLS) for rate in RATES}


def longer_period(r: Results) -> str:
    """CE on victims with T = max(T_on) and with T = 1 ms."""
    shares = {case: [units.share(mean(of(r, c["name"], case), "victims ce").mean) for c in CONTROLS] for case in ("DCQCN + TCD", "patient")}
    return "; ".join(f"{c['name']} {usual} and {longer}" for c, usual, longer in zip(CONTROLS, *shares.values(), strict=True))


def hpcc(r: Results) -> dict[str, float]:
    """HPCC on PFC next to DCQCN."""
    wanted = {"hpcc": ("HPCC", "victims fct"), "dcqcn": ("DCQCN + TCD", "victims fct"), "stops_hpcc": ("HPCC", "stops"), "stops_dcqcn": ("DCQCN", "stops")}
    return {name: mean(of(r, "PFC", case), column).mean for name, (case, column) in wanted.items()}


def table(r: Results) -> list[dict[str, str]]:
    return [
        {"Flow control": c["name"], "Rate control": rate + tcd} | _row(of(r, c["name"], rate + tcd)) for c in CONTROLS for rate in RATES for tcd in ("", " + TCD")
    ]


def _row(runs: Runs) -> dict[str, str]:
    def value(column: str) -> float:
        return mean(runs, column).mean

    return {
        "Victims' mean time": units.time(value("victims fct")),
        "< 10 KB": units.time(value("< 10 KB fct")),
        "> 1 MB": units.time(value("> 1 MB fct")),
        "Slowdown, median": f"{value('victims median'):.2f}",
        "99th percentile": f"{value('victims p99'):.1f}",
        "Marked CE": units.share(value("victims ce")),
        "Marked UE": units.share(value("victims ue")),
        "Victims' rate": units.rate(value("victims rate")),
        "S1's rate": units.rate(value("S1 rate")),
        "Stops": f"{value('stops'):.0f}",
        "Pause time": units.time(value("stopped_ps")),
        "Messages": f"{value('messages'):.0f}",
    }

"""Common parts of the simulations: when flows start, what is measured of a run, and questions about it. Stretches of time are in ms."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Row, Runs, Share, quantile, theory
from xoff.lab.observe import MS, US

START = 3_001
"""Purpose of the random stream of the starts."""
SERIES = ["arrived", "cnms", "limit", "held", "input", "output"]
"""Of each flow over the windows: bytes that arrived at its input, CNMs that reached it, its rate limit at the end [bit/s], its own bytes in
its input buffer then, the buffers of its input and of its first output [bytes]."""
PHASES = [(0, 100, 4), (100, 200, 5), (200, 300, 4)]
"""The phases of Figs. 2 and 5 [ms], and how many flows share the output in them."""
SETTLED = 30
"""After a change the shares are examined from here on [ms]."""
UNFAIR = 1.3
"""From here on an allocation counts as unfair: ratio of fastest to slowest flow. The paper's f2 has 1.5 times the rate of f3."""
F1, F5, F6 = 0, 4, 5
"""Indices of flows; f6 is the victim."""
LEAVES, LEAF_PORTS = 8, 5
"""Leaf switches of a small fabric of Fig. 1, and ports of each."""


# ---- settings and measurement ---------------------------------------------------------------------------------------------------


def ps(text: str) -> int:
    """A time of a scenario."""
    unit = next(u for u in ("ns", "us", "ms") if text.endswith(u))
    return int(text.removesuffix(unit)) * {"ns": 1_000, "us": int(US), "ms": int(MS)}[unit]


def staggered(settings: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    """Flows do not start in the same picosecond: each up to ``within`` later, by its number and the seed. ``fabric = "rack"``: the scene is
    on the fabric of Fig. 1, its hosts on a leaf switch each as far as those go. The links of that fabric have 25 Gb/s for servers of any
    rate."""
    within, rack = ps(settings.pop("within")), settings.pop("fabric", "ideal") == "rack"
    for n, flow in enumerate(scenario["host_flow"]):
        late = theory.random_below(settings["run.seed"], n, START, within)
        settings[f"host_flow[{n}].start"] = f"{ps(flow.get('start', '0ms')) + late}ps"
        if rack:
            settings[f"host_flow[{n}].source"] = _on_leaf(flow["source"])
            settings[f"host_flow[{n}].destinations"] = [str(_on_leaf(int(d))) for d in flow["destinations"]]
    if not rack:
        return settings
    for n, change in enumerate(scenario.get("line_change", [])):
        settings[f"line_change[{n}].port"] = _on_leaf(change["port"])
    return {"scheduled_fabric": "rack", "scheduled_fabric.rack.edges": LEAVES, "scheduled_fabric.links": "25Gbps"} | settings


def _on_leaf(port: int) -> int:
    return port % LEAVES * LEAF_PORTS + port // LEAVES


def windows(run: Run) -> dict[str, Any]:
    """Series of every flow by window, and totals."""
    table, ports, fabric = run.host_flows, run.fabric_ports, run.manifest["fabric"]
    hosts = fabric["hosts"]
    per_flow = table.partition_by("flow", maintain_order=True)
    ends = per_flow[0]["time_ps"].cast(pl.Int64)
    spans = ends - ends.shift(1, fill_value=0)
    series: dict[str, pl.Series] = {}
    for n, of in enumerate(per_flow):
        arrived = (of["rate_bps"].cast(pl.Float64) * spans / 8e12).round().cast(pl.Int64)
        columns = [arrived, of["cnms"], of["limit_bps"], of["held_bytes"], of["input_bytes"], of["output_bytes"]]
        series |= {f"{name}_{n}": column for name, column in zip(SERIES, columns, strict=True)}
    by_port = {p: (stops, paused) for p, stops, paused in ports.select(pl.col("port").cast(pl.String), "pauses", "paused_ps").rows()}
    sources = [str(of["source"][0]) for of in per_flow]
    return {
        "window": float(ends[0]),
        "overflows": hosts["overflows"],
        "stuck": fabric["stuck"] is not None,
        "stops": int(ports["pauses"].sum()),
        "stopped_ps": int(ports["paused_ps"].sum()),
        **{f"stops_{n}": by_port[p][0] for n, p in enumerate(sources)},
        **{f"stopped_ps_{n}": by_port[p][1] for n, p in enumerate(sources)},
        **{f"delay_{n}": d["mean_ps"] for n, d in enumerate(hosts["delays"])},
        "background_mean": hosts["background"]["mean_ps"],
        "background_p99": hosts["background"]["p99_ps"],
        "hops": fabric["hops"],
        "out_of_order": fabric["out_of_order"],
        "queue_max": max(fabric["queue_bytes_max"], default=0),
        "windows": pl.DataFrame(series),
    }


# ---- questions about a run ------------------------------------------------------------------------------------------------------


def between(row: Row, series: str, start: float, stop: float) -> pl.Series:
    """The windows of a series within a stretch of time."""
    whole: pl.Series = row["windows"][series]
    first, last = (min(round(ms * MS / row["window"]), len(whole)) for ms in (start, stop))
    return whole[first:last]


def rate(row: Row, flow: int, start: float, stop: float) -> float:
    """Mean rate of a flow at its input buffer, as the paper counts it: with the overhead [bit/s]."""
    arrived = between(row, f"arrived_{flow}", start, stop)
    return float(int(arrived.sum()) * 8e12 / (len(arrived) * row["window"]))


def cnms(row: Row, flow: int, start: float = 0, stop: float = 1e6) -> int:
    """CNMs to a flow."""
    return int(between(row, f"cnms_{flow}", start, stop).sum())


def mean(row: Row, series: str, start: float, stop: float) -> float:
    of = between(row, series, start, stop)
    return int(of.sum()) / len(of)


def part(row: Row, series: str, start: float, stop: float, share: float) -> float:
    """A quantile of a series."""
    return float(quantile(between(row, series, start, stop).to_list(), share))


def rates(row: Row, flow: int, over: int = 1) -> pl.DataFrame:
    """Rates of a flow, the mean of ``over`` windows at a time, at their ends."""
    arrived, span = row["windows"][f"arrived_{flow}"], over * row["window"]
    sums = [int(arrived[i : i + over].sum()) for i in range(0, len(arrived) // over * over, over)]
    return pl.DataFrame({"time_ps": [(i + 1) * span for i in range(len(sums))], "y": [s * 8e12 / span for s in sums]})


def points(row: Row, series: str) -> pl.DataFrame:
    """A series over time."""
    of = row["windows"][series]
    return pl.DataFrame({"time_ps": [(i + 1) * row["window"] for i in range(len(of))], "y": of})


def limited_to(row: Row, flow: int, most: float, start: float) -> float | None:
    """When the limit of a flow first is at or below a rate [ms]."""
    first = round(start * MS / row["window"])
    limits = row["windows"][f"limit_{flow}"][first:].to_list()
    at = next((n for n, limit in enumerate(limits) if limit is not None and limit <= most), None)
    return None if at is None else (first + at + 1) * row["window"] / MS


# ---- questions about several -----------------------------------------------------------------------------------------------------


def of_seeds(runs: Runs, value: Callable[[Row], float | None]) -> Mean:
    """Mean over the runs."""
    return Mean.of(value(row) for row in runs)


def overflows(r: Results) -> int:
    """Of all runs."""
    return sum(row["overflows"] for runs in r.named.values() for row in runs)


def stuck(r: Results) -> int:
    return sum(row["stuck"] for runs in r.named.values() for row in runs)


def fair(phase: int) -> float:
    """The fair share in a phase [bit/s]."""
    return 10e9 / PHASES[phase][2]


def settled(row: Row, flow: int, phase: int) -> float:
    """Rate of a flow in a phase, once it has settled [bit/s]."""
    start, stop, _ = PHASES[phase]
    return rate(row, flow, start + SETTLED, stop)


def shares(row: Row, phase: int) -> list[float]:
    """Rates of the flows that share the output in a phase, once it has settled [bit/s]."""
    return [settled(row, f, phase) for f in range(PHASES[phase][2])]


def spread(values: Sequence[float]) -> float:
    """Ratio of fastest to slowest flow."""
    return max(values) / min(values)


def spreads(runs: Iterable[Row]) -> list[float]:
    """Of all seeds and phases."""
    return [spread(shares(row, p)) for row in runs for p in range(len(PHASES))]


def unfair(runs: Runs, phase: int) -> Share:
    """Seeds that are unfair in a phase."""
    return Share(sum(spread(shares(row, phase)) >= UNFAIR for row in runs), len(runs))


def off_fair(runs: Runs) -> float:
    """Largest distance of a flow from the fair share, as a part of it, over all runs and phases."""
    return max(abs(s / fair(p) - 1) for row in runs for p in range(len(PHASES)) for s in shares(row, p))


def phase_name(phase: int) -> str:
    return f"{PHASES[phase][0] + SETTLED} to {PHASES[phase][1]} ms"

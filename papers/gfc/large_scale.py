"""Random fat-trees (section 6.2.3): the networks, the settings of their runs, and what is measured of a run.

networks --scan--> with a cycle ----> searches for deadlocks --> deadlock cases --> performance (Figs. 16b, 17b, 18)
    |                                 (Table 1)
    +------------> without a cycle -> performance (Figs. 16a, 17a), messages (Fig. 19)

Failures and routes follow from the network, the traffic from the network and the repetition: cases of different networks are independent.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Results, Row, observe, theory
from xoff.lab.observe import MS, US

Settings = dict[str, Any]

FAILURES = 0.05
"""Probability with which a link between switches is down."""
ENTRY_PORTS = "entry-ports"
"""Buffer-based GFC whose entry ports slow down first: an xoff extension."""
TITLES = {
    "pfc": "PFC",
    "cbfc": "CBFC",
    "gfc-buffer": "Buffer-based GFC",
    "gfc-time": "Time-based GFC",
    ENTRY_PORTS: "GFC with entry ports",
}
FOUR = ("pfc", "cbfc", "gfc-buffer", "gfc-time")
"""Flow controls of the paper."""
GENTLE = ("gfc-buffer", "gfc-time", ENTRY_PORTS)
"""Those that slow ports down and never pause them."""
RULES = {"lowest-id": "lowest-id", "per-edge": "per-edge", "ecmp": "all-paths"}
"""Routing of a run, and whose cycles are looked for: under ECMP a flow may take any of the shortest paths."""
NETWORKS = {"quick": {4: 1000, 8: 1000, 16: 200}, "full": {4: 10_000, 8: 10_000, 16: 10_000}}
"""Random networks by ports of a switch."""
BLOCK = 500
"""Networks of a call of ``scan``."""
LONG = "60ms"
"""Length of runs that show performance after a deadlock: flows of 30 MB that miss it take 24 ms at line rate."""

WINDOW = 100 * US
"""Window of the throughput (the paper: "counting sent bytes every 100 us")."""
WARM_UP = MS
"""What begins with empty buffers does not count."""
STANDSTILL_RATE = 2_400_000
"""A port stops when this rate lets no frame of 1500 B out within 5 ms [bit/s]."""
STANDSTILL = 5 * MS
"""How long a flow of these networks has had no byte when it stops. Not 1 ms, as in the other claims: behind a hotspot flows wait that long
under PFC too, without any cycle (Fig. 16 counts them)."""


# ---- networks ---------------------------------------------------------------------------------------------------------------------


def seed_of(k: int, number: int) -> int:
    """Seed of the failures of a network, and of the hashes of its routing."""
    return k * 1_000_000 + number


def blocks(r: Results) -> dict[str, Settings]:
    return {
        f"k = {k}, networks from {first}": {"k": k, "first": first, "past": min(first + BLOCK, networks)}
        for k, networks in NETWORKS[r.mode].items()
        for first in range(0, networks, BLOCK)
    }


def scan(k: int, first: int, past: int) -> dict[str, Any]:
    """Networks with a cycle, by the rule under which they have it; those that fall apart are left out."""
    found = theory.fat_trees_with_cycles(k, FAILURES, seed_of(k, first), seed_of(k, past))
    rows = [(rule, seed - seed_of(k, 0)) for rule, seeds in zip(("disconnected", *RULES), found, strict=True) for seed in seeds]
    return {"networks": past - first, "found": pl.DataFrame(rows, schema={"rule": pl.String, "number": pl.Int64}, orient="row")}


def scanned(r: Results) -> dict[int, dict[str, list[int]]]:
    """Numbers of the networks by size: disconnected ones, and those with a cycle by rule."""
    found: dict[int, dict[str, list[int]]] = {}
    for row in r["scan"]:
        of = found.setdefault(row["k"], {rule: [] for rule in ("disconnected", *RULES)})
        for rule, number in row["found"].rows():
            of[rule].append(number)
    return found


def examined(r: Results, k: int) -> int:
    """Networks of a size."""
    return sum(row["networks"] for row in r["scan"] if row["k"] == k)


def without_cycle(r: Results, k: int) -> Iterator[int]:
    """The networks in which no routing rule has a cycle."""
    found = r.value("scanned")[k]
    other = {*found["disconnected"], *found["ecmp"]}
    return (number for number in range(examined(r, k)) if number not in other)


def whole(n: int) -> str:
    """A number in a table."""
    return f"{n:,}" if n >= 10_000 else str(n)


# ---- settings of runs -------------------------------------------------------------------------------------------------------------


def settings(k: int, number: int, scheme: str, repetition: int, **more: Any) -> Settings:
    """A network under a flow control. Every network has traffic of its own, or all would meet the same few traffics; flow controls share it."""
    seed = seed_of(k, number)
    own = {"flow_control.gfc-buffer.entry_ports": k // 2} if scheme == ENTRY_PORTS else {}
    return {
        "topology.k": k,
        "failures.seed": seed,
        "routing.seed": seed,
        "flow_control": "gfc-buffer" if scheme == ENTRY_PORTS else scheme,
        "run.seed": seed * 1_000_000_000 + repetition,
        **own,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def scheme_of(row: Row) -> str:
    return ENTRY_PORTS if "flow_control.gfc-buffer.entry_ports" in row else str(row["flow_control"])


def all_schemes(networks: list[tuple[int, int, int]], **more: Any) -> dict[str, Settings]:
    """Networks (k, number, repetition) under every flow control, each run to its end."""
    return {
        f"k = {k}, network {number}, {title}": settings(k, number, scheme, repetition, run__stop_on_deadlock=False, **more)
        for k, number, repetition in networks
        for scheme, title in TITLES.items()
    }


def first_without_cycle(r: Results, count: dict[int, int]) -> list[tuple[int, int, int]]:
    return [(k, number, number) for k, n in count.items() for number in islice(without_cycle(r, k), n)]


# ---- measurements -----------------------------------------------------------------------------------------------------------------


def outcome(run: Run) -> dict[str, Any]:
    """Does it deadlock, or do flows stop?"""
    return {
        "deadlock_ps": run.deadlocks["start_ps"].min(),
        "still": observe.standing_still(run, STANDSTILL),
        # Of a repetition that runs until 60 ms: flows that stopped in the first 20 ms, and since.
        "for_good": observe.standing_still(run, STANDSTILL + 40 * MS),
        "lost": observe.lost(run),
        "violations": observe.violations(run),
    }


def performance(run: Run) -> dict[str, Any]:
    """Throughput, slowdown, queues, and whether ports or flows stop."""
    delivered, complete = _delivered(run), run.flows.filter(pl.col("fct_ps").is_not_null())
    windows = _windows(run, delivered)
    late = delivered.filter(pl.col("time_ps") > WARM_UP)["rate_bps"]
    filled = run.queues.filter((pl.col("kind").cast(pl.String) == "ingress") & (pl.col("bytes") > 0) & (pl.col("time_ps") > WARM_UP))["bytes"]
    stopped = _stopped_ports(run)
    first = run.deadlocks.filter(pl.col("start_ps") == pl.col("start_ps").min()).sort("cycle", "position")
    return outcome(run) | {
        "waiting": observe.standing_still(run, MS),
        "cycle": ", ".join(first.filter(pl.col("cycle") == pl.col("cycle").first())["port"].cast(pl.String)),
        # A network that came to a stop delivers nothing up to the planned end.
        "rates": _hosts(run) * (windows.height - int(WARM_UP / WINDOW)),
        "rate_sum": int(late.sum()),
        "rate_squares": float((late.cast(pl.Float64) ** 2).sum()),
        "flows": run.flows.height,
        "complete": complete.height,
        "slowdown_sum": float((complete["fct_ps"] / complete["ideal_fct_ps"]).sum()),
        "fct_sum": float(complete["fct_ps"].cast(pl.Float64).sum()),
        "ideal_sum": float(complete["ideal_fct_ps"].cast(pl.Float64).sum()),
        "filled": len(filled),
        "filled_sum": int(filled.sum()),
        "stopped_ports": stopped.height,
        "stopped_ps": stopped["time_ps"].min(),
        "windows": windows,
    }


def messages(run: Run) -> dict[str, Any]:
    """How many ports with a working link receive 0, 1, 2 ... messages in a window of 500 us."""
    window, stop = 500 * US, observe.end(run)
    at = (pl.col("time_ps") // int(window)).alias("window")
    received = run.control.filter(pl.col("direction").cast(pl.String) == "received").group_by("port", at).agg(messages=pl.len())
    whole = received.filter(pl.col("window") < int(stop // window))
    counts = whole.group_by("messages").agg(windows=pl.len()).sort("messages").cast(pl.Int64)
    quiet = _up(run).height * int(stop // window) - whole.height
    return {"counts": pl.concat([pl.DataFrame({"messages": [0], "windows": [quiet]}, schema=counts.schema), counts])}


def _hosts(run: Run) -> int:
    return int(run.flows["src"].n_unique())


def _delivered(run: Run) -> pl.DataFrame:
    """Rates of the ports that deliver to a server."""
    of = pl.col("flow").is_null() & (pl.col("source").cast(pl.String) == "measured") & pl.col("port").cast(pl.String).str.contains("->H")
    return run.rates.filter(of)


def _windows(run: Run, delivered: pl.DataFrame) -> pl.DataFrame:
    """Mean rate of a server in each window of 100 us [whole kbit/s, as bit/s]."""
    hosts = _hosts(run)
    sums = dict(delivered.group_by("time_ps").agg(pl.col("rate_bps").sum()).rows())
    ends = range(int(WINDOW), int(_planned_end(run)) + 1, int(WINDOW))
    return pl.DataFrame({"time_ps": list(ends), "y": [float(sums.get(end, 0) // hosts // 1000 * 1000) for end in ends]})


def _planned_end(run: Run) -> float:
    return float(_given(run, "run.duration").removesuffix("ms")) * MS


def _given(run: Run, path: str) -> str:
    return next(str(p["value"]) for p in run.manifest["parameters"] if p["path"] == path)


def _up(run: Run) -> pl.DataFrame:
    """The ports with a working link."""
    down = theory.fat_tree_failures(int(_given(run, "topology.k")), FAILURES, int(_given(run, "failures.seed")))
    ends = [link.split("-") for link in down]
    names = [f"{a}->{b}" for a, b in ends] + [f"{b}->{a}" for a, b in ends]
    return run.ports.select(pl.col("port").cast(pl.String)).filter(~pl.col("port").is_in(names))


def _stopped_ports(run: Run) -> pl.DataFrame:
    """Ports with a working link that were allowed less than a frame in 5 ms for 5 ms, and when this was first so."""
    rates = run.rates.filter(pl.col("source").cast(pl.String) == "flow_control").select("time_ps", pl.col("port").cast(pl.String), slow=pl.col("rate_bps") <= STANDSTILL_RATE)
    rates = rates.join(_up(run), on="port").sort("port", "time_ps").with_columns(stretch=pl.struct("port", "slow").rle_id()).filter("slow")
    long = rates.filter(pl.col("time_ps") >= pl.col("time_ps").min().over("stretch") + int(STANDSTILL))
    return long.group_by("port").agg(pl.col("time_ps").min())

"""Errors of a model against public measurements."""

import csv
import random
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, observe, quantile

HERE = Path(__file__).parent
US = 1e6
CHUNK, FRAME, PAYLOAD = 8 << 20, 4160, 4096


# ---- of every run -----------------------------------------------------------------------------------------------------------------


def took(run: Run) -> dict[str, float]:
    """Time until everything has ended [us]."""
    return {"us": observe.end(run) / US}


def chunks(run: Run) -> dict[str, float]:
    """Rate of each stack and of all, until its last chunk [bit/s]."""
    sent = run.flows.filter(pl.col("size_bytes") == CHUNK).group_by(pl.col("src").cast(pl.String)).agg(pl.len(), pl.col("end_ps").max())
    rates = {src: n * CHUNK * 8 / end * 1e12 for src, n, end in sent.rows()}
    return rates | {"all": sum(rates.values())}


def arrived(run: Run) -> dict[str, float]:
    """Fewest and most bytes that arrived of a flow."""
    got = run.flows["bytes_arrived"].to_list()
    return {"least": min(got), "most": max(got)}


def random_loss(run: Run) -> dict[str, float]:
    """Smallest, largest and mean loss of the senders [share of what each sent]."""
    by_sender = run.flows.group_by(pl.col("src").cast(pl.String)).agg(pl.col("bytes_arrived").sum(), pl.col("size_bytes").sum())
    lost = [1 - got / sent for _, got, sent in by_sender.rows()]
    return {"least": min(lost), "most": max(lost), "mean": sum(lost) / len(lost)}


def connections(run: Run) -> dict[str, float]:
    """First and last acknowledged connection [us]."""
    acked = run.flows["acked_ps"] / US
    return {"first": float(acked.min()), "last": float(acked.max())}  # type: ignore[arg-type]


# ---- NCCL on eight A100 -------------------------------------------------------------------------------------------------------------


@cache
def nccl() -> dict[int, tuple[float, str]]:
    """Time [us] and half of each size [bytes]."""
    lines = [line for line in (HERE / "nccl.csv").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {int(row["bytes"]): (float(row["us"]), row["half"]) for row in csv.DictReader(lines)}


@cache
def frozen() -> list[dict[str, Any]]:
    expected: list[dict[str, Any]] = tomllib.loads((HERE / "frozen.toml").read_text(encoding="utf-8"))["expected"]
    return expected


def sizes(r: Results) -> dict[str, dict[str, Any]]:
    return {str(size): {"collective[0].size": f"{size}B"} for size in nccl()}


def _expected(size: int) -> dict[str, Any]:
    return next(e for e in frozen() if size <= e["to"])


def _errors(r: Results) -> dict[int, float]:
    return {size: r.runs[str(size)]["us"] / us - 1 for size, (us, _) in nccl().items()}


def words(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 and size % (1 << 20) == 0 else f"{size >> 10} KiB" if size >= 1 << 10 else f"{size} B"


def judged(r: Results) -> list[dict[str, Any]]:
    return [{"of": str(size), "name": words(size), "region": _expected(size)["region"]} for size, (_, half) in nccl().items() if half == "judged"]


def model(r: Results) -> dict[str, float]:
    """Time in xoff [s]."""
    return {str(size): r.runs[str(size)]["us"] / US for size in nccl()}


def measured_s(r: Results) -> dict[str, float]:
    return {str(size): us / US for size, (us, _) in nccl().items()}


def low(r: Results) -> dict[str, float]:
    return {str(size): us / US * (1 + _expected(size)["low"]) for size, (us, _) in nccl().items()}


def high(r: Results) -> dict[str, float]:
    return {str(size): us / US * (1 + _expected(size)["high"]) for size, (us, _) in nccl().items()}


def worst(r: Results) -> str:
    size, error = max(((s, e) for s, e in _errors(r).items() if nccl()[s][1] == "judged"), key=lambda of: abs(of[1]))
    return f"{words(size)}, {100 * error:+.0f} %"


def mean_large(r: Results) -> dict[str, float]:
    """Mean absolute error from 1 MiB on, in each half."""
    errors = _errors(r)
    halves = {half: [abs(errors[s]) for s, (_, of) in nccl().items() if of == half and _expected(s)["region"] == "large"] for half in ("fit", "judged")}
    return {half: sum(all_) / len(all_) for half, all_ in halves.items()}


def inside(r: Results) -> int:
    errors = _errors(r)
    return sum(_expected(s)["low"] <= errors[s] <= _expected(s)["high"] for s, (_, half) in nccl().items() if half == "judged")


def curve(r: Results) -> list[dict[str, Any]]:
    """All sizes, for the table and the figure."""
    errors = _errors(r)
    keys = ("low", "high")
    return [{"size": s, "half": half, "us": us, "xoff": r.runs[str(s)]["us"], "error": errors[s]} | {k: _expected(s)[k] for k in keys} for s, (us, half) in nccl().items()]


def by_size(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Size": words(v["size"]),
            "Half": v["half"],
            "Measured [us]": f"{v['us']:.1f}",
            "xoff [us]": f"{v['xoff']:.1f}",
            "Error": f"{100 * v['error']:+.1f} %",
            "Expected": f"{100 * v['low']:+.0f} to {100 * v['high']:+.0f} %",
        }
        for v in curve(r)
    ]


# ---- shared egress ------------------------------------------------------------------------------------------------------------------


def egress(r: Results) -> dict[str, float]:
    return {case: r.runs[case]["all"] for case in ("own", "solo")}


def egress_error(r: Results) -> dict[str, float]:
    return {case: rate / 88.7616e9 - 1 for case, rate in egress(r).items()}


# ---- loss at a tail-drop queue --------------------------------------------------------------------------------------------------------


def clocks(settings: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    """Each sender's clock is up to 100 ppm slower than the switch's."""
    noise = random.Random(settings["run.seed"])
    return settings | {f"topology.link[{i}].rate": f"{100e9 * (1 - noise.uniform(0, 1e-4)):.0f}bps" for i in range(2)}


def streams(r: Results) -> dict[str, float]:
    """Largest less smallest loss of eight streams [share of what a stream sends in 100 ms]."""
    sent = 13.7175e9 / 8 * 0.1 * PAYLOAD / FRAME
    return {case: (r["streams"][case]["most"] - r["streams"][case]["least"]) / sent for case in ("equal", "late")}


def random_streams(r: Results) -> Mean:
    return Mean.of([row["most"] - row["least"] for row in r["random"]])


def lost(r: Results) -> Mean:
    """Loss of all eight streams."""
    return Mean.of(r["random"].column("mean"))


def share(r: Results) -> dict[str, Mean]:
    """Share of the sender with more bytes."""
    return {name: Mean.of([row["most"] / (row["most"] + row["least"]) for row in r[name]]) for name in ("one-clock", "own-clocks")}


def typical(r: Results) -> float:
    return quantile([row["most"] / (row["most"] + row["least"]) for row in r["own-clocks"]], 0.5)


# ---- H100 -----------------------------------------------------------------------------------------------------------------------------


def bus(r: Results) -> dict[str, float]:
    """Bus bandwidth [bit/s] of 2, 4 and 8 GPUs."""
    return {n: 2 * (int(n) - 1) / int(n) * (256 << 20) * 8 / r.runs[n]["us"] * US for n in ("2", "4", "8")}


def bus_error(r: Results) -> dict[str, float]:
    return {n: rate / 2965.36e9 - 1 for n, rate in bus(r).items()}


# ---- ECMP -----------------------------------------------------------------------------------------------------------------------------


def servers(settings: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    """64 hosts, four leaves, two spines, eight links from each leaf to each spine."""
    links = [f"H{h} L{h // 16}" for h in range(64)] + [f"L{leaf} S{spine}" for leaf in range(4) for spine in range(2) for _ in range(8)]
    return settings | {"topology.hosts": [f"H{h}" for h in range(64)], "topology.links": links}


def kept(r: Results) -> dict[str, list[float]]:
    """Bus bandwidth under ECMP relative to that without collisions, of each seed, by queue pairs of a NIC and peer."""
    return {str(q): [r["planned"].row(case=str(q))["us"] / row["us"] for row in [*r["ecmp"], *r["more"]] if row["case"] == str(q)] for q in (1, 2, 4, 8)}


def middle(r: Results) -> dict[str, float]:
    return {q: quantile(all_, 0.5) for q, all_ in kept(r).items()}


def luck(r: Results) -> list[dict[str, Any]]:
    def at(all_: list[float], p: float) -> str:
        return f"{quantile(all_, p):.3f}"

    return [
        {"Queue pairs": q, "5 %": at(v, 0.05), "Median": at(v, 0.5), "95 %": at(v, 0.95), "Seeds": len(v), "at 0.815 or more": f"{100 * sum(x >= 0.8146 for x in v) / len(v):.1f} %"}
        for q, v in kept(r).items()
    ]


# ---- htsim ------------------------------------------------------------------------------------------------------------------------------


HTSIM = {"one": 176.2, "incast-15": 2478.53, "incast-127": 21029.3}
"""Last completion with NSCC [us] (validate_uec_sender.out)."""


def htsim(r: Results) -> dict[str, float]:
    """Last completion relative to that of htsim."""
    return {case: r.runs[case]["last"] / us for case, us in HTSIM.items()}


def spread(r: Results) -> float:
    return float(r["permutation"][0]["last"]) / 212.794


def is_full(r: Results) -> bool:
    return r.full


def permuted(r: Results) -> str:
    return f", permutation of 1,024 {spread(r):.3f}" if r.full else ""

"""In which order a flow takes its paths, and which path its control takes, where smooth packets of many flows fall short."""

from __future__ import annotations

from xoff.lab import Mean, Results, Runs, units

from .metrics import mean, outcome, queues, quick, stuck, values, waits, words

__all__ = ["outcome", "quick", "stuck"]

ORDERS = ("round robin", "round robin, separate control", "a separate order", "a separate order, separate control", "at random")


def settings(r: Results) -> list[str]:
    return list(r.named)


def throughput(r: Results) -> dict[str, dict[str, Mean]]:
    return {name: {order: mean(runs.where(case=order), "cold") for order in ORDERS} for name, runs in r.named.items()}


def more(r: Results) -> dict[str, dict[str, Mean]]:
    """Throughput beyond that of round robin, seed by seed."""

    def less(runs: Runs, order: str) -> Mean:
        of, turn = (values(runs.where(case=one), "cold") for one in (order, "round robin"))
        return Mean.of(a - b for a, b in zip(of, turn, strict=True))

    return {name: {order: less(runs, order) for order in ORDERS} for name, runs in r.named.items()}


def in_words(r: Results) -> str:
    return ". ".join(f"{name}: {', '.join(f'{order} {m.mean:.3f}' for order, m in of.items())}" for name, of in throughput(r).items())


def table(r: Results) -> list[dict[str, str]]:
    def row(name: str, order: str, rows: Runs) -> dict[str, str]:
        ports, w = name.removeprefix("N = ").split(", w = ")
        return {
            "N": ports,
            "w": w,
            "Paths of a flow": order,
            "Throughput": words(mean(rows, "cold"), 3),
            "Control": units.share(mean(rows, "control").mean),
            "Overtaken": units.share(mean(rows, "overtaken").mean),
            "Longest queue by stage": queues(rows),
            "Waits by stage": waits(rows),
        }

    return [row(name, order, runs.where(case=order)) for name, runs in r.named.items() for order in ORDERS]

"""Variants of the elements, of the network and of its paths under several loads: a ``[[run]]`` is a load, its cases are the variants."""

from __future__ import annotations

from typing import Any

from xoff.lab import Mean, Results, Row, units

from .metrics import largest, mean, outcome, queues, quick, ratio, stuck, values, waits, words

__all__ = ["outcome", "quick", "stuck"]

FEWER = ", fewer seeds"
"""End of the name of a ``[[run]]`` with more variants of the load of that name."""


def series(r: Results) -> dict[str, dict[str, list[Row]]]:
    """The runs by load and variant."""
    found: dict[str, dict[str, list[Row]]] = {}
    for name, runs in r.named.items():
        for row in runs:
            found.setdefault(name.removesuffix(FEWER), {}).setdefault(row["case"], []).append(row)
    return found


def loads(r: Results) -> list[str]:
    return list(series(r))


def variants(r: Results) -> list[str]:
    return list(series(r)[loads(r)[0]])


def _each(r: Results, value: Any) -> dict[str, dict[str, Any]]:
    return {load: {variant: value(rows) for variant, rows in of.items()} for load, of in series(r).items()}


def carried(r: Results) -> dict[str, dict[str, Mean]]:
    return _each(r, lambda rows: mean(rows, "carried"))


def last_queue(r: Results) -> dict[str, dict[str, float]]:
    return _each(r, lambda rows: largest(rows, "last_queue"))


def table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Load": load,
            "Variant": variant,
            "Carried": words(mean(rows, "carried"), 3),
            "Mean delay": words(mean(rows, "delay"), 0),
            "99th percentile": f"{mean(rows, 'delay_p99').mean:.0f}",
            "Overtaken": units.share(mean(rows, "overtaken").mean),
            "Longest queue by stage": queues(rows),
            "Waits by stage": waits(rows),
        }
        for load, of in series(r).items()
        for variant, rows in of.items()
    ]


def carried_and_delay(r: Results) -> str:
    """Every load and variant in a sentence."""
    of = _each(r, lambda rows: f"{mean(rows, 'carried').mean:.3f} in {mean(rows, 'delay').mean:.0f} t_min")
    return "; ".join(f"{load}: {', '.join(f'{variant} {text}' for variant, text in by.items())}" for load, by in of.items())


# ---- buffered crossbars -----------------------------------------------------------------------------------------------------------------


def crossbars(r: Results) -> dict[str, dict[str, Mean]]:
    """Buffered crossbars relative to elements with queues."""
    return {load: {v: ratio(of["buffered crossbar"], of["input and output queues"], v) for v in ("carried", "delay")} for load, of in series(r).items()}


def crossbars_in_words(r: Results) -> str:
    def one(load: str, of: dict[str, Mean]) -> str:
        # At load 1 queues grow as long as a run lasts.
        delay = "" if load.startswith("unbalanced") else f", delay {words(of['delay'], 3)}"
        return f"{load}: carried {words(of['carried'], 3)}{delay}"

    return "; ".join(one(load, of) for load, of in crossbars(r).items())


# ---- elements -----------------------------------------------------------------------------------------------------------------------------


def spread(r: Results) -> dict[str, float]:
    """Largest difference of oldest first and iSLIP to round robin."""
    return {load: max(abs(of[v].mean - of["round robin"].mean) for v in ("oldest first", "iSLIP")) for load, of in carried(r).items()}


# ---- paths ----------------------------------------------------------------------------------------------------------------------------------


def less(r: Results) -> dict[str, Mean]:
    """Throughput of one path per flow minus that of round robin, seed by seed."""

    def of_load(of: dict[str, list[Row]]) -> Mean:
        one, turn = (values(of[variant], "carried") for variant in ("one path per flow", "round robin"))
        return Mean.of(a - b for a, b in zip(one, turn, strict=True))

    return {load: of_load(of) for load, of in series(r).items()}


def spray_in_words(r: Results) -> str:
    return "; ".join(f"{load}: carried {', '.join(f'{m.mean:.3f} {variant}' for variant, m in of.items())}" for load, of in carried(r).items())


def collapse(r: Results) -> str:
    return words(carried(r)["one to one, load 0.9"]["one path per flow"], 3)

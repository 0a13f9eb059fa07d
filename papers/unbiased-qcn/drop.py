"""Fig. 6: one flow, whose output drops to 1 Gb/s; how soon it is throttled, and what the buffers hold meanwhile."""

from collections.abc import Callable
from typing import Any

from xoff.lab import Mean, Results, Row, Runs
from xoff.lab.observe import MS

from .scenes import cnms, limited_to, of_seeds, overflows, part, staggered, stuck, windows

__all__ = ["overflows", "staggered", "stuck", "windows"]

THROTTLED = 1.2e9
"""The flow counts as throttled when its limit is at this rate for the first time [bit/s]."""
DROP, END = 10, 210
"""When the output slows down, and when a run ends [ms]."""
INPUT = {"congestion_points.placement": "input", "congestion_points.sampling": "random"}
KEEP_ALIVE = INPUT | {"congestion_points.keep_alive": True}
RELIABLE = {"hosts.reliable": True}
OUTPUT = {"congestion_points.placement": "output"}
KINDS: dict[str, dict[str, Any]] = {
    "outputs": OUTPUT,
    "inputs": INPUT,
    "inputs, keep-alive": KEEP_ALIVE,
    "outputs, reliable delivery": OUTPUT | RELIABLE,
    "inputs, reliable delivery": INPUT | RELIABLE,
    "inputs, keep-alive, reliable delivery": KEEP_ALIVE | RELIABLE,
}
"""Kinds that the paper draws, then the others."""
DRAWN = list(KINDS)[:4]
VARIANTS: dict[str, dict[str, Any]] = {
    "shrinking": {},
    "every interval I_s = 150 KB": {"congestion_points.shrinking": False},
    "every interval 75 KB": {"congestion_points.shrinking": False, "congestion_points.sample_base": "75KB"},
    "Q_eq 50 KB": {"congestion_points.setpoint": "50KB"},
    "Q_eq 70 KB": {"congestion_points.setpoint": "70KB"},
    "w = 4": {"congestion_points.weight": 4},
    "w = 1": {"congestion_points.weight": 1},
    "byte counter of 300 KB": {"reaction_point.byte_limit": "300KB"},
    "T = 15 ms": {"reaction_point.timer": "15ms"},
    "5 us of link delay instead of 0.5 us": {"hosts.delay": "5us"},
}
"""Other settings of what the paper leaves open."""


def drawn_cases(r: Results) -> dict[str, dict[str, Any]]:
    return {kind: KINDS[kind] for kind in DRAWN}


def other_cases(r: Results) -> dict[str, dict[str, Any]]:
    return {kind: own for kind, own in KINDS.items() if kind not in DRAWN}


def variant_cases(r: Results) -> dict[str, dict[str, Any]]:
    """Of outputs and inputs."""
    return {f"{name} / {kind}": KINDS[kind] | own for name, own in VARIANTS.items() for kind in DRAWN[:2]}


def of_kind(r: Results, kind: str) -> Runs:
    named: Runs = r.runs if kind in DRAWN else r["others"]
    return named.where(case=kind)


def time(row: Row) -> float:
    """Time until the flow is throttled; one that never is counts as the whole run [ms]."""
    at = limited_to(row, 0, THROTTLED, DROP)
    return END - DROP if at is None else at - DROP


def ms(m: Mean) -> str:
    return m.words(lambda v: f"{v:.1f} ms")


def seeds(r: Results) -> int:
    return len(r.runs.where(case="outputs"))


def times(r: Results) -> dict[str, Mean]:
    """By kind."""
    return {kind: of_seeds(of_kind(r, kind), time) for kind in KINDS}


def variant_times(r: Results) -> dict[str, dict[str, Mean]]:
    """By variant and kind."""
    runs = r["variants"]
    return {name: {kind: of_seeds(runs.where(case=f"{name} / {kind}"), time) for kind in DRAWN[:2]} for name in VARIANTS}


def ratios(r: Results) -> dict[str, str]:
    """Inputs over outputs, by variant."""
    return {name: f"{kinds['inputs'].mean / kinds['outputs'].mean:.1f}" for name, kinds in variant_times(r).items()}


def outputs(r: Results) -> Mean:
    """[ps]."""
    m = times(r)["outputs"]
    return Mean(m.mean * MS, m.low * MS, m.high * MS, m.n)


def over_outputs(r: Results) -> dict[str, Mean]:
    """Seeds belong to nothing in common here: pairs of them are as good as any."""
    of = {kind: [time(row) for row in of_kind(r, kind)] for kind in DRAWN}
    return {kind: Mean.ratio(times, of["outputs"]) for kind, times in of.items()}


def sentence(r: Results) -> str:
    return "; ".join(f"{kind} {ms(times(r)[kind])}" for kind in DRAWN)


# ---- buffers --------------------------------------------------------------------------------------------------------------------


def buffer(r: Results) -> dict[str, dict[str, float]]:
    """Quantiles while PAUSE acts: from two milliseconds after the drop until the output flow would have been throttled."""

    def of(kind: str, series: str, share: float) -> float:
        return of_seeds(r.runs.where(case=kind), lambda row: part(row, series, DROP + 2, DROP + 10, share)).mean

    return {
        "inputs": {"low": of("inputs", "input_0", 0.1), "high": of("inputs", "input_0", 0.9)},
        "outputs": {"low": of("outputs", "output_0", 0.1)},
        "reliable": {"low": of("outputs, reliable delivery", "output_0", 0.1)},
    }


def nine_tenths(r: Results) -> float:
    """Of the output buffer [bytes]."""
    return 0.9e3 * float(r.cell["output buffer"].removesuffix(" KB"))


def more_at_output(r: Results) -> int:
    """Windows that end with more bytes at the output than at the input, with reliable delivery."""
    all_ = [row["windows"] for row in r.runs.where(case="outputs, reliable delivery")]
    return sum(int((of["output_0"] > of["input_0"]).sum()) for of in all_)


# ---- tables ---------------------------------------------------------------------------------------------------------------------


def table(r: Results) -> list[dict[str, Any]]:
    def row(kind: str, runs: Runs) -> dict[str, Any]:
        mean: Callable[[Callable[[Row], float]], float] = lambda of: of_seeds(runs, of).mean
        return {
            "QCN at": kind,
            "Throttled after": ms(times(r)[kind]),
            "over outputs": f"{times(r)[kind].mean / times(r)['outputs'].mean:.2f}",
            "STOPs": f"{mean(lambda row: row['stops_0']):.0f}",
            "Time paused": f"{mean(lambda row: row['stopped_ps_0'] / MS):.1f} ms",
            "CNMs": f"{mean(lambda row: cnms(row, 0)):.0f}",
        }

    return [row(kind, of_kind(r, kind)) for kind in KINDS]


def open_table(r: Results) -> list[dict[str, Any]]:
    return [
        {"What the paper leaves open": name, "Outputs": ms(of["outputs"]), "Inputs": ms(of["inputs"]), "Inputs over outputs": ratios(r)[name]}
        for name, of in variant_times(r).items()
    ]

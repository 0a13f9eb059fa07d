"""Section 4: the numbers that it derives from its parameters, and delays in an empty network."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from xoff.lab import Results, units

from .metrics import T_MIN, outcome

__all__ = ["outcome"]

SCENARIO = "scenarios/section-4.toml"
"""The configuration that the other claims run."""


def parameters() -> dict[str, Any]:
    """The keys of its sections."""
    text = (Path(__file__).parent / SCENARIO).read_text(encoding="utf-8")
    return {f"{section}.{key}": value for section, of in tomllib.loads(text).items() for key, value in of.items()}


def _number(text: str) -> float:
    """Of a size in bytes, of a time in picoseconds."""
    unit = text.lstrip("0123456789.")
    return float(text.removesuffix(unit)) * {"B": 1, "KiB": 1024, "ns": 1e3}[unit]


# ---- derived values ---------------------------------------------------------------------------------------------------------------------


def sizes(r: Results) -> dict[str, float]:
    p = parameters()
    keys = {"input": "element.input", "output": "element.output", "segment": "scheduled_fabric.segment_max", "control": "scheduled_fabric.control_size"}
    return {name: _number(p[key]) for name, key in keys.items()} | {"slots": p["admission.output_slots"], "grant": p["admission.requests_max"]}


def derived(r: Results) -> dict[str, float]:
    s = sizes(r)
    in_output = s["output"] / s["segment"]
    return {
        "input queue": s["input"] / s["segment"],
        "output queue": in_output,
        "reassembly": s["slots"],
        "grants of a queue": in_output / s["grant"],
        "grants of a buffer": s["slots"] / s["grant"],
        "control messages": s["output"] / s["control"],
        "of 2K each": s["output"] / 2048,
    }


PRINTED: list[dict[str, Any]] = [
    {"what": "segments in the input queue of an element", "rule": "8 KiB / max_s", "name": "input queue", "printed": 240, "right": 32, "share": 0},
    {"what": "segments in its output queue", "rule": "60 KiB / max_s", "name": "output queue", "printed": 32, "right": 240, "share": 0},
    {"what": "segments in the reassembly buffer", "rule": "4 Mbit / max_s", "name": "reassembly", "printed": 2048, "right": 2048, "share": 0},
    {"what": "grants of G segments that reserve an output queue", "rule": "60 KiB / (G max_s)", "name": "grants of a queue", "printed": 5, "right": 4.8, "share": 0.1},
    {"what": "grants of G segments that reserve a reassembly buffer", "rule": "4 Mbit / (G max_s)", "name": "grants of a buffer", "printed": 40, "right": 40.96, "share": 0.1},
    {"what": "control messages that fill an output queue", "rule": "60 KiB / 20 B", "name": "control messages", "printed": 2048, "right": 3072, "share": 0.1},
]
"""What, how it is computed, the printed number, that of the rule, and how close a number printed like that must be."""


def wrong(r: Results) -> int:
    """Printed numbers that do not follow; that of unsolicited segments, more than 200, does if the queue has more."""
    return sum(abs(derived(r)[p["name"]] - p["printed"]) > p["share"] * p["printed"] for p in PRINTED) + (derived(r)["output queue"] < 200)


def derived_table(r: Results) -> list[dict[str, str]]:
    rows = [(p["what"], p["rule"], derived(r)[p["name"]], units.words(p["printed"])) for p in PRINTED]
    rows.append(("unsolicited segments that fill an output queue", "60 KiB / max_s", derived(r)["output queue"], "more than 200"))
    return [{"What": what, "From": rule, "Here": units.words(here), "Printed": printed} for what, rule, here, printed in rows]


def whole(r: Results) -> dict[str, str]:
    return {name: f"{value:g}" for name, value in (derived(r) | sizes(r)).items()}


# ---- delays ---------------------------------------------------------------------------------------------------------------------------------


def delay(r: Results) -> dict[str, float]:
    """Of one packet [t_min]."""
    return {row["case"]: row["delay"] for row in r.runs}


def less_transfer(r: Results) -> dict[str, float]:
    """Less the transfer of a packet of 40 or 256 B on a link of the line's rate."""
    return {name: of - (1 if name.startswith("40 B") else 256 / 40) for name, of in delay(r).items() if not name.startswith("9000 B")}


def transfer(r: Results) -> float:
    return delay(r)["256 B, L"] - delay(r)["40 B, L"] + 1


def round_trip(r: Results) -> float:
    """Four links and a control segment, there and back [t_min]."""
    p = parameters()
    link, control = _number(p["scheduled_fabric.link_delay"]), _number(p["scheduled_fabric.control_size"]) / 40 * T_MIN
    return (4 * link + control) * 2 / T_MIN


def in_words(r: Results) -> dict[str, str]:
    return {name: f"{value:.1f}" for name, value in (delay(r) | {f"{n}, less": v for n, v in less_transfer(r).items()}).items()}


FORMULA = 1.5 * 55 + 225
"""3/2 of a scheduling round trip and max_p/min_p."""
FORMS = {
    "40 B, L": "4 links + adapter + transfer",
    "40 B, L, requested": "one scheduling round trip more",
    "9000 B, L": "the request rides on the first segment; the other segments follow a round trip later",
}
"""Closed forms; others are the same as the one before."""


def delays_table(r: Results) -> list[dict[str, str]]:
    return [
        {
            "Packet": row["case"].partition(",")[0],
            "Fabric links": f"{float(row['scheduled_fabric.links'].removesuffix('Gbps')) / 100:g} L",
            "How": "first segment unsolicited" if row["scheduled_fabric.unsolicited"] else "all requested",
            "Delay": f"{row['delay']:.1f}",
            "Closed form": FORMS.get(row["case"], "the same"),
        }
        for row in r.runs
    ]

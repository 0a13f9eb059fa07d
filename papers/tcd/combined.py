"""Ternary detection over flow controls that the paper does not combine it with: UEC credits, and GFC's rate limits."""

from typing import Any

from xoff.lab import Results

from .fig2 import seen as measured

__all__ = ["measured"]

FLOW_CONTROLS: dict[str, dict[str, Any]] = {
    "PFC": {"flow_control": "pfc"},
    "CBFC": {"flow_control": "cbfc"},
    "UEC credits": {"flow_control": "uec-cbfc"},
    "GFC, buffer-based": {"flow_control": "gfc-buffer"},
    "GFC, time-based": {"flow_control": "gfc-time"},
}
DETECTORS: dict[str, dict[str, Any]] = {"ECN": {"detection": "red"}, "TCD": {"detection": "tcd"}}
MAX_TON = ["5us", "10us", "20us", "52.4us", "100.4us"]
"""Longer ones than the least time between two updates, 1.28 us; 52.4 us: the longest time, 262,144 B; 100.4 us: that of PFC here."""
VICTIMS = ("F0", "F2")


def cases(r: Results) -> dict[str, dict[str, Any]]:
    all = {f"{name} / {d}": fc | detection for name, fc in FLOW_CONTROLS.items() for d, detection in DETECTORS.items()}
    longest = {f"UEC credits / TCD, max(T_on) {t}": FLOW_CONTROLS["UEC credits"] | DETECTORS["TCD"] | {"detection.tcd.max_ton": t} for t in MAX_TON}
    return all | longest


def marks(r: Results) -> dict[str, dict[str, int]]:
    """Marks on the victims, and marks of the root on F1, by case."""
    return {
        row["case"]: {
            "ce": sum(row[f"ce_{port}_{flow}"] for port in ("P0", "P1", "P2") for flow in VICTIMS),
            "ue": sum(row[f"ue_{port}_{flow}"] for port in ("P0", "P1", "P2") for flow in VICTIMS),
            "root": row["ce_P3_F1"],
            "undecided": sum(row[f"last_{port}"] == "undetermined" for port in ("P0", "P1", "P2")),
            "lost": row["lost"],
        }
        for row in r.runs
    }


def lost(r: Results) -> int:
    return sum(of["lost"] for of in marks(r).values())


def words(r: Results) -> str:
    all = marks(r)
    return "; ".join(f"{name}: {all[f'{name} / ECN']['ce']} CE by ECN, {all[f'{name} / TCD']['ce']} CE and {all[f'{name} / TCD']['ue']} UE by TCD" for name in FLOW_CONTROLS)


def longer(r: Results) -> str:
    """UEC credits with other values of max(T_on)."""
    all = marks(r)
    return ", ".join(f"{t}: {all[f'UEC credits / TCD, max(T_on) {t}']['ce']}" for t in MAX_TON)


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Flow control / detection": row["case"],
            "CE on victims": str(of["ce"]),
            "UE on victims": str(of["ue"]),
            "CE of the root on F1": str(of["root"]),
            "Ports P0 to P2 undetermined at the end": str(of["undecided"]),
            "Largest queue of P2": row["top_P2"],
            "P2 is last stopped at": row["last_off"],
        }
        for row in r.runs
        for of in [marks(r)[row["case"]]]
    ]

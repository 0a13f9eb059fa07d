"""Numbers in words, as a run prints them, and back: written from the documentation of the formats, not from the program's code."""

from __future__ import annotations

import re

TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
RATES = ((10**12, "Tb/s"), (10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "b/s"))
# A number in a text: not a digit of a name such as H0 or S1.
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")


def exact(value: int, units: tuple[tuple[int, str], ...], zero: str) -> str:
    """In the largest unit that it reaches, exact or with three decimals."""
    if value == 0:
        return f"0 {zero}"
    size, unit = next((u for u in units if value >= u[0]), units[-1])
    whole, rest = divmod(value, size)
    number = str(whole) if rest == 0 else f"{value / size:.3f}".rstrip("0").rstrip(".")
    return f"{number} {unit}"


def time(ps: int) -> str:
    return exact(ps, TIMES, "s")


def size(value: int) -> str:
    return exact(value, SIZES, "B")


def rate(bps: int) -> str:
    return exact(bps, RATES, "b/s")


def count(n: int) -> str:
    return f"{n:,}"


def read_time(text: str) -> int:
    """``936.25ns`` of a scenario, in ps."""
    found = re.fullmatch(r"([\d.]+)\s*(min|s|ms|us|ns|ps)", text)
    if not found:
        raise ValueError(f"no time: {text}")
    scale = {"min": 60 * 10**12, **{unit: size for size, unit in TIMES}}[found[2]]
    whole, _, part = found[1].partition(".")
    return int(whole or 0) * scale + (int(part) * scale // 10 ** len(part) if part else 0)


def numbers(text: str) -> int:
    """Numbers in a text."""
    return len(NUMBER.findall(text))

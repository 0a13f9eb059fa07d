"""Numbers with their units, as the command prints them: four significant digits, all digits of a whole number."""

from __future__ import annotations

TIMES = (("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3), ("ps", 1.0))
SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0))
RATES = (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0))


def time(ps: float) -> str:
    """``2.795 ms``."""
    return _in_units(ps, TIMES) if ps else "0 s"


def size(value: float) -> str:
    """``892.5 KB``."""
    return _in_units(value, SIZES)


def rate(bps: float) -> str:
    """``4.999 Gb/s``."""
    return _in_units(bps, RATES)


def _in_units(value: float, units: tuple[tuple[str, float], ...]) -> str:
    unit, scale = next(((u, s) for u, s in units if abs(value) >= s * 0.99995), units[-1])
    return f"{short(value / scale)} {unit}"


def short(value: float) -> str:
    """``7.5``, ``1234``, ``12,345``, ``2.5e9``."""
    if not value:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    decimals = max(3 - int(f"{value:.16e}".split("e")[1]), 0)
    text = f"{value:,.{decimals}f}" if abs(value) >= 9999.5 else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

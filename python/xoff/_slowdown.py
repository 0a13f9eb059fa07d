"""Slowdown by size of flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _core
from ._errors import RunError
from ._numbers import whole
from ._units import size

if TYPE_CHECKING:
    import polars as pl

    from ._run import Run

UNLIMITED = 2**64 - 1
"""Size of a flow without an end."""
EDGES = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
"""Sizes at which a bin begins, unless they are given [bytes]."""
BINS_MAX = 1_000
"""Largest number of bins."""
PERCENTILES = (50, 95, 99)

Bins = Sequence[int] | int


def sized(run: Run) -> pl.DataFrame:
    """The flows with a size and a route: ``size_bytes``, ``slowdown`` (null: unfinished), ``at_least`` (age over the ideal time)."""
    import polars as pl

    if "windows" in run.tables and "flows" not in run.tables:
        raise RunError("a scheduled fabric has no flows with a size: run.windows, run.fabric_ports and run.host_flows have what it did")
    end = round(run.manifest["simulated_seconds"] * 1e12)
    age = (pl.lit(end, pl.Int64) - pl.col("start_ps").cast(pl.Int64)).clip(0)
    return (
        run.flows.lazy()
        .filter((pl.col("size_bytes") != UNLIMITED) & (pl.col("ideal_fct_ps") > 0))
        .select(
            "flow",
            pl.col("src", "dst").cast(pl.String),
            "size_bytes",
            "slowdown",
            pl.when(pl.col("slowdown").is_null()).then((age / pl.col("ideal_fct_ps")).clip(1.0)).alias("at_least"),
        )
        .collect()
    )


def checked(bins: Bins | None) -> int | list[int] | None:
    """A number of bins, or sizes at which they begin; ``None``: the usual ones."""
    if bins is None:
        return None
    if isinstance(bins, str):
        raise TypeError(f"bins: expected sizes in whole bytes, such as [0, 10_000, 1_000_000], not {bins!r}")
    if isinstance(bins, Sequence) or hasattr(bins, "__iter__"):
        given = [whole("bins", b) for b in bins]
        if len(given) > BINS_MAX:
            raise ValueError(f"bins: expected {BINS_MAX:,} or fewer, not {len(given):,}")
        if not given or given != sorted(set(given)) or given[0] < 0:
            raise ValueError(f"bins: expected sizes in bytes that grow, such as [0, 10_000, 1_000_000], not {list(bins)}")
        return given if given[0] == 0 else [0, *given]
    return whole("bins", bins, 1, BINS_MAX)


def edges(sizes: pl.Series, bins: Bins | None) -> list[int]:
    """Sizes at which bins begin."""
    given = checked(bins)
    if given is None:
        return list(EDGES)
    if not isinstance(given, int):
        return given
    ordered = sizes.sort().to_list()
    return sorted({0, *(ordered[len(ordered) * i // given] for i in range(1, given))}) if ordered else [0]


def percentile(ordered: list[float], percent: float) -> float | None:
    """Percentile: the smallest value that so many per cent of the values do not exceed, as in the manifest; ``None`` without values."""
    return _core.quantile(ordered, percent / 100) if ordered else None


def by_size(flows: pl.DataFrame, starts: list[int]) -> pl.DataFrame:
    """A row for each bin with flows."""
    import polars as pl

    rows: list[dict[str, object]] = []
    for begin, end in zip(starts, [*starts[1:], None], strict=True):
        inside = flows.filter((pl.col("size_bytes") >= begin) & (pl.col("size_bytes") < (UNLIMITED if end is None else end)))
        if inside.is_empty():
            continue
        # As in the manifest and the report: an unfinished flow counts with its age, a lower bound.
        late = sorted(inside["at_least"].drop_nulls().to_list())
        known = sorted(inside["slowdown"].drop_nulls().to_list() + late)
        rows.append(
            {"size": label(begin, end), "from_bytes": begin, "to_bytes": end, "flows": inside.height, "unfinished": len(late)}
            | {"mean": sum(known) / len(known)}
            | {f"p{p}": percentile(known, p) for p in PERCENTILES}
            | {"max": known[-1]}
        )
    numbers = dict.fromkeys(("mean", *(f"p{p}" for p in PERCENTILES), "max"), pl.Float64)
    whole = dict.fromkeys(("from_bytes", "to_bytes", "flows", "unfinished"), pl.UInt64)
    return pl.DataFrame(rows, schema={"size": pl.String, **whole, **numbers})


def label(begin: int, end: int | None) -> str:
    """``10 KB to 100 KB``."""
    if end is None:
        return f"{size(begin)} and more"
    return f"below {size(end)}" if begin == 0 else f"{size(begin)} to {size(end)}"

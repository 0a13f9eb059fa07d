"""Completion times of mice over the kernel's TCP, next to elephants."""

from typing import Any

import polars as pl
from xoff import Run
from xoff.lab import Mean, Results, Runs, observe, units
from xoff.lab.real import note

NAMES = {"pfc": "PFC", "pffc": "PFFC"}
SIZES = {"10 KB": 10_000, "100 KB": 100_000}


def completions(run: Run) -> dict[str, Any]:
    """What the program of the mice at H1 printed: a line for each mouse, then their numbers."""
    text = (run.folder / "H1.txt").read_text(encoding="utf-8") if run.folder else ""
    lines = [line.split() for line in text.splitlines()]
    begun = next((int(line[1]) for line in lines if line[0] == "begun"), None)
    if begun is None:
        raise RuntimeError(f"the program of the mice at H1 ended with: {text.strip().rpartition(chr(10))[2] or 'nothing'}")
    done = [(int(size), float(took) * 1e12) for size, _, took in (line for line in lines if len(line) == 3)]
    mice = pl.DataFrame(done, schema={"size": pl.Int64, "time": pl.Float64}, orient="row")
    return {
        "begun": begun,
        "done": len(done),
        "stops": observe.of_port(run, "S1->S2", "blocks"),
        "all": mice["time"].mean(),
        **{name: mice.filter(pl.col("size") == size)["time"].mean() for name, size in SIZES.items()},
        "mice": mice,
    }


def elephants(r: Results) -> list[str]:
    return list(r.named)


def of(r: Results) -> dict[str, dict[str, Runs]]:
    """The runs that count, by elephants and flow control."""
    return {e: {s: runs.where(flow_control=s, counts=True) for s in NAMES} for e, runs in r.named.items()}


def counting(r: Results) -> dict[str, dict[str, int]]:
    return {e: {s: len(runs) for s, runs in schemes.items()} for e, schemes in of(r).items()}


def made(r: Results) -> dict[str, int]:
    """Runs of a flow control."""
    return {e: len(runs) // len(NAMES) for e, runs in r.named.items()}


def enough(r: Results) -> dict[str, int]:
    """Runs that have to count: two of three."""
    return {e: round(n * 2 / 3) for e, n in made(r).items()}


def times(r: Results) -> dict[str, dict[str, dict[str, Mean]]]:
    """Mean completion times, by elephants, flow control and size."""
    return {e: {s: {size: Mean.of(runs.column(size)) for size in [*SIZES, "all"]} for s, runs in schemes.items()} for e, schemes in of(r).items()}


def ratio(r: Results) -> dict[str, Mean]:
    """PFC relative to PFFC, of the runs of the same mice that both count."""
    found = {}
    for e, schemes in of(r).items():
        pffc = {row["seed"]: row["all"] for row in schemes["pffc"]}
        pairs = [(row["all"], pffc[row["seed"]]) for row in schemes["pfc"] if row["seed"] in pffc]
        found[e] = Mean.ratio([pfc for pfc, _ in pairs], [other for _, other in pairs])
    return found


def _all(r: Results) -> list[Any]:
    return [row for schemes in of(r).values() for runs in schemes.values() for row in runs]


def unfinished(r: Results) -> int:
    return sum(row["begun"] - row["done"] for row in _all(r))


def lost(r: Results) -> int:
    return sum(row["lost"] for row in _all(r))


def machine(r: Results) -> str:
    return note([row for runs in r.named.values() for row in runs], "which the programs' clock includes, ")


def words(r: Results) -> str:
    def one(e: str, schemes: dict[str, dict[str, Mean]]) -> str:
        pfc, pffc = (schemes[s]["all"].words(units.time) for s in NAMES)
        return f"{e}: PFC {pfc}, PFFC {pffc}, ratio {ratio(r)[e].words('{:.2f}'.format)}"

    return ". ".join(one(e, schemes) for e, schemes in times(r).items())


def table(r: Results) -> list[dict[str, Any]]:
    return [
        {
            "Elephants": e,
            "Flow control": NAMES[s],
            "Runs": counting(r)[e][s],
            "10 KB": mean["10 KB"].words(units.time),
            "100 KB": mean["100 KB"].words(units.time),
            "All mice": mean["all"].words(units.time),
            "PFC relative to PFFC": ratio(r)[e].words("{:.2f}".format) if s == "pffc" else "",
            "Stops of S1->S2": f"{Mean.of(of(r)[e][s].column('stops')).mean:.0f}",
        }
        for e, schemes in times(r).items()
        for s, mean in schemes.items()
    ]

"""The result hash of a run, from the rows of its tables.

A row is the bytes of its cells, little-endian: a name is its place in the list of names, a word its place in the list of words, and a cell that
may be null has a byte before it. The hash of a run is the XXH3 of its names, then of the rows of each table.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl

from .facts import Facts, Tables
from .ledger import Verification

try:
    from xxhash import xxh3_128 as xxh3
except ImportError:
    xxh3 = None  # type: ignore[assignment,misc,unused-ignore]

VERSION = 2
NUMBERS = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i64": "<q", "f64": "<d"}
#: Columns of names, by the list that they are in: nodes, ports, labels.
LISTS = ({"src", "dst", "switch", "host", "source"}, {"port", "next_port"}, {"label", "job", "pool"})
#: More rows than a second is enough for.
MOST = 300_000
#: The place of a name that no list has.
NOWHERE = 2**32 - 1
NO_HASH = "a hash; the package xxhash is not installed"


class Unknown(Exception):
    """No table has what enters the hash; the text is the reason."""


@cache
def declared() -> dict[str, list[dict[str, Any]]]:
    """The tables in their order, with their columns, from ``xoff schema tables``."""
    said = subprocess.run([sys.executable, "-m", "xoff", "schema", "tables"], capture_output=True, text=True, check=True)
    found: dict[str, list[dict[str, Any]]] = json.loads(said.stdout)
    return found


def compare(ledger: Verification, place: str, printed: Any, derive: Callable[[], str], table: str = "every table") -> None:
    """Compares a hash, if it can be derived."""
    try:
        ledger.equal(place, printed, derive(), table)
    except Unknown as e:
        ledger.skip(place, str(e))


def of_network(facts: Facts) -> str:
    ports = list(facts.ports["port"])
    topology = facts.scenario["topology"]
    nodes = list(dict.fromkeys(p.partition("->")[0] for p in ports))
    if topology["kind"] == "custom" and "node" in topology and not {"hosts", "switches", "links", "links_file"} & topology.keys():
        nodes = [n["name"] for n in topology["node"]]
    elif topology["kind"] in ("custom", "file"):
        raise Unknown("nodes without a link are in no table")
    texts, of = labels(facts)
    return derived(facts.tables, "network", (nodes, ports, texts), collectives(facts.tables["collectives"], of))


def of_scenario(text: str) -> str:
    """The hash of a scenario, as each Parquet file has it."""
    data = text.encode()
    return combined([("scenario", 1, struct.pack("<Q", len(data)) + data)])


def of_file(data: bytes) -> str:
    if xxh3 is None:
        raise Unknown(NO_HASH)
    return str(xxh3(data).hexdigest())


def of_fabric(tables: Tables) -> str:
    return derived(tables, "fabric", (list(tables["fabric_ports"]["port"]), [], []))


Places = dict[tuple[str, str], list[int]]


def labels(facts: Facts) -> tuple[list[str], Places]:
    """Names of flows, workloads, jobs with their collectives, and pools, in the order of the scenario; and the places of each collective, whose names may repeat."""
    s = facts.scenario
    of: Places = {}
    found = [f"flow[{n}]" for n, _ in enumerate(s.get("flow", []))]
    found += [f"workload[{n}] {w['kind']}" for n, w in enumerate(s.get("workload", []))]
    found += ["messages", "messages of queue pairs"] if "messages" in s else []
    for nth, job in enumerate(s.get("job", [])):
        label = f"job[{nth}] {job.get('name', f'job{nth}')}"
        first = facts.tables["ranks"].filter((pl.col("job") == label) & (pl.col("iteration") == 0))
        if not len(first) or first["end_ps"].null_count():
            raise Unknown("collectives that a job never began are in no table")
        found.append(label)
        for name in facts.tables["collectives"].filter((pl.col("job") == label) & (pl.col("iteration") == 0))["collective"]:
            of.setdefault((label, name), []).append(len(found))
            found.append(name)
    return found + sorted({p["name"] for p in s.get("buffer_pool", [])}), of


def collectives(frame: pl.DataFrame, of: Places) -> pl.Series:
    """The place of each collective: in an iteration, those of one name have their order."""
    found: list[int] = []
    seen: Counter[tuple[str, int, str]] = Counter()
    for job, iteration, name in frame.select("job", "iteration", "collective").iter_rows():
        places = of.get((job, name), [])
        nth = seen[job, iteration, name]
        seen[job, iteration, name] += 1
        found.append(places[nth] if nth < len(places) else NOWHERE)
    if any(n < len(of.get((job, name), [])) for (job, _, name), n in seen.items()):
        raise Unknown("which one of the collectives of a name has not begun is in no table")
    return pl.Series(found, dtype=pl.UInt32)


def derived(tables: Tables, kind: str, names: tuple[list[str], list[str], list[str]], collective: pl.Series | None = None) -> str:
    specs = declared()[kind]
    if sum(len(tables[t["name"]]) for t in specs) > MOST:
        raise Unknown("many rows")
    texts = [t.encode() for of in names for t in [str(len(of)), *of]]
    parts = [("names", len(texts), b"".join(struct.pack("<Q", len(t)) + t for t in texts))]
    for t in specs:
        frame = tables[t["name"]]
        if collective is not None and t["name"] == "collectives":
            frame = frame.with_columns(collective.alias("collective"))
        parts.append((t["name"], len(frame), rows(frame, t["columns"], names)))
    return combined(parts)


def combined(parts: list[tuple[str, int, bytes]]) -> str:
    """The hash of parts: name, rows and bytes of each."""
    if xxh3 is None:
        raise Unknown(NO_HASH)
    whole = bytes([VERSION])
    for name, many, data in parts:
        # Python's digest is big-endian.
        whole += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<Q", many) + xxh3(data).digest()[::-1]
    return of_file(whole)


def rows(frame: pl.DataFrame, columns: list[dict[str, Any]], names: tuple[list[str], list[str], list[str]]) -> bytes:
    cells = [column(frame[c["name"]], c, names) for c in columns]
    return b"".join(b"".join(row) for row in zip(*cells, strict=True))


def column(values: pl.Series, c: dict[str, Any], names: tuple[list[str], list[str], list[str]]) -> list[bytes]:
    cell = packer(c, names)
    if c["null"]:
        return [b"\0" if v is None else b"\1" + cell(v) for v in values]
    return [cell(v) for v in values]


def packer(c: dict[str, Any], names: tuple[list[str], list[str], list[str]]) -> Callable[[Any], bytes]:
    if c["name"] == "collective":
        return struct.Struct("<I").pack
    if c["type"] in NUMBERS:
        return struct.Struct(NUMBERS[c["type"]]).pack
    if c["words"]:
        return places(c["words"], "<B")
    for of, known in zip(LISTS, names, strict=True):
        if c["name"] in of:
            # Ports of a fabric are its nodes.
            return places(known or names[0], "<I")
    return lambda text: struct.pack("<I", len(text)) + text.encode()


def places(of: list[str], form: str) -> Callable[[Any], bytes]:
    """Places in a list; a name that is not in it has none."""
    found = {name: struct.pack(form, n) for n, name in enumerate(of)}
    return lambda name: found.get(name, b"?")

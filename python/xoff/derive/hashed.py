"""The result hash of a run, from the rows of its tables.

A row is the bytes of its cells, little-endian: a name is its place in the list of names, a word its place in the list of words, and a cell that
may be null has a byte before it. The hash of a run is the XXH3 of its names, then of the rows of each table.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
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
LISTS = ({"src", "dst", "switch", "host", "source"}, {"port", "next_port"}, {"label", "job", "collective", "pool"})
#: More rows than a second is enough for.
MOST = 300_000


class Unknown(Exception):
    """No table has what enters the hash; the text is the reason."""


@cache
def declared() -> dict[str, list[dict[str, Any]]]:
    """The tables in their order, with their columns, from ``xoff schema tables``."""
    said = subprocess.run([sys.executable, "-m", "xoff", "schema", "tables"], capture_output=True, text=True, check=True)
    found: dict[str, list[dict[str, Any]]] = json.loads(said.stdout)
    return found


def compare(ledger: Verification, file: str, printed: Any, derive: Callable[[], str]) -> None:
    """Compares the hash in a manifest or an answer."""
    try:
        ledger.equal(f"{file}: result_hash", printed, derive(), "every table")
    except Unknown as e:
        ledger.skip(f"{file}: result_hash", str(e))


def of_network(facts: Facts) -> str:
    ports = list(facts.ports["port"])
    topology = facts.scenario["topology"]
    nodes = list(dict.fromkeys(p.partition("->")[0] for p in ports))
    if topology["kind"] == "custom" and "node" in topology and not {"hosts", "switches", "links", "links_file"} & topology.keys():
        nodes = [n["name"] for n in topology["node"]]
    elif topology["kind"] in ("custom", "file"):
        raise Unknown("nodes without a link are in no table")
    return derived(facts.tables, "network", (nodes, ports, labels(facts)))


def of_fabric(tables: Tables) -> str:
    return derived(tables, "fabric", (list(tables["fabric_ports"]["port"]), [], []))


def labels(facts: Facts) -> list[str]:
    """Names of flows, workloads, jobs with their collectives, and pools, in the order of the scenario."""
    s = facts.scenario
    found = [f"flow[{n}]" for n, _ in enumerate(s.get("flow", []))]
    found += [f"workload[{n}] {w['kind']}" for n, w in enumerate(s.get("workload", []))]
    for nth, job in enumerate(s.get("job", [])):
        label = f"job[{nth}] {job.get('name', f'job{nth}')}"
        first = facts.tables["ranks"].filter((pl.col("job") == label) & (pl.col("iteration") == 0))
        if not len(first) or first["end_ps"].null_count():
            raise Unknown("collectives that a job never began are in no table")
        found += [label, *facts.tables["collectives"].filter(pl.col("job") == label)["collective"].unique(maintain_order=True)]
    return found + sorted({p["name"] for p in s.get("buffer_pool", [])})


def derived(tables: Tables, kind: str, names: tuple[list[str], list[str], list[str]]) -> str:
    if xxh3 is None:
        raise Unknown("a hash; the package xxhash is not installed")
    specs = declared()[kind]
    if sum(len(tables[t["name"]]) for t in specs) > MOST:
        raise Unknown("many rows")
    texts = [t.encode() for of in names for t in [str(len(of)), *of]]
    whole = bytes([VERSION])
    parts = [("names", len(texts), b"".join(struct.pack("<Q", len(t)) + t for t in texts))]
    parts += [(t["name"], len(tables[t["name"]]), rows(tables[t["name"]], t["columns"], names)) for t in specs]
    for name, many, data in parts:
        # Python's digest is big-endian.
        whole += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<Q", many) + xxh3(data).digest()[::-1]
    return str(xxh3(whole).hexdigest())


def rows(frame: pl.DataFrame, columns: list[dict[str, Any]], names: tuple[list[str], list[str], list[str]]) -> bytes:
    cells = [column(frame[c["name"]], c, names) for c in columns]
    return b"".join(b"".join(row) for row in zip(*cells, strict=True))


def column(values: pl.Series, c: dict[str, Any], names: tuple[list[str], list[str], list[str]]) -> list[bytes]:
    cell = packer(c, names)
    if c["null"]:
        return [b"\0" if v is None else b"\1" + cell(v) for v in values]
    return [cell(v) for v in values]


def packer(c: dict[str, Any], names: tuple[list[str], list[str], list[str]]) -> Callable[[Any], bytes]:
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

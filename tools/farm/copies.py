"""Scenarios and their runs, copies of scenarios in other forms, and the comparison of their tables: for relations.py."""

from __future__ import annotations

import copy
import json
import random
import re
import subprocess
import tomllib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).parents[2]
XOFF = ROOT / "target" / "release" / "xoff"
UNLIMITED = 2**64 - 1

Scenario = dict[str, Any]
Tables = dict[str, pl.DataFrame]


class Rejected(Exception):
    """xoff rejects the scenario."""


class Unfit(Exception):
    """The relation says nothing about this scenario; the text is the reason."""


# Values of a scenario.

PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
BPS = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
QUANTITY = re.compile(r"([0-9.]+)(ps|ns|us|ms|s|bps|kbps|Mbps|Gbps|Tbps|B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)")
#: Texts that are no values.
TEXTS = {"title", "name", "checkpoint", "src", "dst", "path", "file", "cdf"}


def read(text: str, units: dict[str, int]) -> int | None:
    """The value of ``12.5us`` in the smallest unit."""
    at = QUANTITY.fullmatch(text)
    if not at or at[2] not in units:
        return None
    whole, _, part = at[1].partition(".")
    value = int((whole + part) or "0") * units[at[2]]
    return value // 10 ** len(part) if value % 10 ** len(part) == 0 else None


def each_text(tree: Any, change: Callable[[str], str], key: str = "") -> Any:
    """A copy with every value that is a text changed."""
    if isinstance(tree, dict):
        return {k: each_text(v, change, k) for k, v in tree.items()}
    if isinstance(tree, list):
        return [each_text(v, change, key) for v in tree]
    return change(tree) if isinstance(tree, str) and key not in TEXTS else tree


def written(s: Scenario) -> str:
    """The scenario as TOML."""
    lines: list[str] = []

    def section(path: str, of: Scenario, header: str) -> None:
        if header:
            lines.append(header)
        inner = {k: v for k, v in of.items() if isinstance(v, dict) or (isinstance(v, list) and v and isinstance(v[0], dict))}
        lines.extend(f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in of.items() if k not in inner)
        for k, v in inner.items():
            name = f"{path}.{k}" if path else k
            for one in v if isinstance(v, list) else [v]:
                section(name, one, f"[[{name}]]" if isinstance(v, list) else f"[{name}]")

    section("", s, "")
    return "\n".join(lines) + "\n"


# Runs.


@dataclass
class Run:
    """A run with its tables."""

    folder: Path
    hash: str
    ended: str
    scenario: Scenario
    tables: Tables = field(default_factory=dict)

    def read(self) -> Tables:
        if not self.tables:
            for path in sorted(self.folder.glob("*.parquet")):
                self.tables[path.stem] = pl.read_parquet(path).with_columns(pl.col(pl.Categorical).cast(pl.String))
        return self.tables


def run(path: Path, out: Path, *options: str, cwd: Path | None = None) -> Run:
    return ran(out, [str(path), "--out", str(out), "--no-report", "--force", *options], cwd or path.parent)


def resume(out: Path) -> Run:
    return ran(out, ["--resume", str(out)], out.parent)


def ran(out: Path, words: list[str], cwd: Path) -> Run:
    done = subprocess.run([str(XOFF), "run", *words], capture_output=True, text=True, check=False, timeout=300, cwd=cwd)
    if done.returncode not in (0, 1):
        raise Rejected("; ".join(t.strip() for t in done.stderr.splitlines() if "×" in t)[:300])
    m = json.loads((out / "manifest.json").read_text())
    return Run(out, m["result_hash"], m["ended_because"], tomllib.loads(m["scenario"]))


class Case:
    """A scenario, its run, and the forms that several relations start from."""

    def __init__(self, path: Path, work: Path, seed: int) -> None:
        self.path, self.work, self.dice = path, work, random.Random(seed)
        self.base = run(path, work / "base")
        self.nth = 0

    def run(self, s: Scenario, *options: str) -> Run:
        """Runs a changed copy."""
        self.nth += 1
        name = f"copy{self.nth}"
        path = self.path.parent / f"{name}.toml"
        path.write_text(written(s))
        return run(path, self.work / name, *options)

    @property
    def fabric(self) -> bool:
        return "scheduled_fabric" in self.base.scenario

    _listed: tuple[Scenario, Run] | None = None
    _quiet: tuple[Scenario, Run] | None = None
    _spread: tuple[Scenario, Run] | None = None

    def listed(self) -> tuple[Scenario, Run]:
        """Nodes, links and flows as lists, and the run of that."""
        if self._listed is None:
            s = with_flows(with_lists(self.base), self.base)
            self._listed = s, self.run(s)
        return self._listed

    def quiet(self) -> tuple[Scenario, Run]:
        """The same without draws of ports and switches."""
        if self._quiet is None:
            s = without_draws(self.listed()[0])
            self._quiet = s, self.run(s)
        return self._quiet

    def spread(self) -> tuple[Scenario, Run]:
        """The same with delays and starts of which no two are equal, and one path for each flow."""
        if self._spread is None:
            s = without_ties(self.quiet()[0], self.dice)
            self._spread = s, self.run(s)
        return self._spread


# Forms.


def with_lists(base: Run) -> Scenario:
    """The topology as lists of nodes and links, in the same order."""
    s = copy.deepcopy(base.scenario)
    t = s.get("topology")
    if t is None:
        raise Unfit("a scheduled fabric")
    if t["kind"] == "custom" and "node" in t and not {"hosts", "links", "links_file", "switches"} & t.keys():
        return s
    if t["kind"] in ("file", "custom"):
        raise Unfit("a topology in another form")
    ports = [(a, re.sub(r"#\d+$", "", b)) for a, _, b in (p.partition("->") for p in base.read()["ports"]["port"])]
    names = list(dict.fromkeys(a for a, _ in ports))
    hosts = host_names(t["kind"], names)
    nodes = [{"name": n, "kind": "host" if n in hosts else "switch", **({"level": 0} if n.startswith("NV") else {})} for n in names]
    s["topology"] = {"kind": "custom", "node": nodes, "link": [{"a": a, "b": b, **wire(t, a, b, hosts)} for a, b in in_port_order(ports)]}
    return s


def host_names(kind: str, names: list[str]) -> set[str]:
    first = {"tcd-fig2": ("A", "B", "F", "R", "S", "H"), "rail": ("G",), "hpn": ("G",), "nvl": ("G",)}.get(kind, ("H",))
    return {n for n in names if n.startswith(first)}


def wire(t: Scenario, a: str, b: str, hosts: set[str]) -> Scenario:
    """Rate and delay of a link of a built-in topology."""
    prefix = ""
    if a in hosts or b in hosts:
        prefix = "scale_up_" if "NV" in a[:2] + b[:2] else "host_"
    elif t["kind"] in ("leaf-spine", "dual-tor", "multi-plane", "hpn", "nvl", "rail"):
        prefix = "uplink_"
    return {k: t.get(prefix + k, t[k]) for k in ("rate", "delay")}


def in_port_order(ports: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Links in an order that gives each node its ports in order."""
    queues: dict[str, deque[str]] = {}
    for a, b in ports:
        queues.setdefault(a, deque()).append(b)
    links, ready = [], deque(queues)
    while ready:
        a = ready.popleft()
        while queues[a] and queues[queues[a][0]] and queues[queues[a][0]][0] == a:
            b = queues[a].popleft()
            queues[b].popleft()
            links.append((a, b))
            ready.append(b)
    if any(queues.values()):
        raise Unfit("parallel links")
    return links


#: Workloads whose flows are known before the run.
LISTED = ("incast", "permutation", "poisson", "bursts", "constant-rate", "mpi-io")


def with_flows(s: Scenario, base: Run) -> Scenario:
    """Every flow of a workload as a section of its own."""
    s = copy.deepcopy(s)
    flows = base.read()["flows"]
    if any(w["kind"] == "closed-loop" for w in s.get("workload", [])):
        if len(s.get("workload", [])) + len(s.get("flow", [])) > 1:
            raise Unfit("a closed loop next to other flows")
        s["workload"][0].setdefault("hosts", [n["name"] for n in s["topology"]["node"] if n["kind"] == "host"])
        return s
    if not len(flows):
        raise Unfit("no flows")
    if s.get("job") or s.get("collective"):
        if s.get("workload") or s.get("flow"):
            raise Unfit("a job next to other flows")
        for job in s["job"]:
            # Hosts that are added do not take part.
            if not {"hosts", "ranks"} & job.keys() and job["placement"] == "in-order":
                job["hosts"] = [n["name"] for n in s["topology"]["node"] if n["kind"] == "host"]
        return s
    made = []
    for f in flows.iter_rows(named=True):
        kind, nth = re.fullmatch(r"(flow|workload)\[(\d+)\].*", f["label"]).groups()  # type: ignore[union-attr]
        of = s[kind][int(nth)]
        kept = {k: of[k] for k in ("rate", "rate_control", "path", "loop") if k in of}
        one = {"src": f["src"], "dst": f["dst"], "start": f"{f['start_ps']}ps", "priority": f["priority"], **kept}
        if f["size_bytes"] != UNLIMITED:
            one["size"] = f"{f['size_bytes']}B"
        one |= {"src_port": f["src_port"], "dst_port": f["dst_port"]}
        made.append(one)
    s.pop("workload", None)
    s["flow"] = made
    return s


def neighbours(t: Scenario) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {n["name"]: [] for n in t["node"]}
    for link in t["link"]:
        found[link["a"]].append(link["b"])
        found[link["b"]].append(link["a"])
    return found


def without_ties(s: Scenario, dice: random.Random) -> Scenario:
    """Delays and starts that differ by random picoseconds, and one path for each flow."""
    s = copy.deepcopy(s)
    t = s["topology"]
    for link in t["link"]:
        link["delay"] = f"{delay(link.get('delay', t.get('delay'))) + dice.randrange(1, 20_000)}ps"
    near, hosts = neighbours(t), {n["name"] for n in t["node"] if n["kind"] == "host"}
    for f in s.get("flow", []):
        f["start"] = f"{delay(f['start']) + dice.randrange(1, 100_000)}ps"
        if "path" not in f and not s.get("failure"):
            f["path"] = a_path(near, hosts, f["src"], f["dst"], dice)
    return s


def without_draws(s: Scenario) -> Scenario:
    """Nothing draws random numbers in the stream of a port or switch, which goes by its number."""
    s = copy.deepcopy(s)
    s.get("control_delay", {}).update(processing_jitter="0us", generation_jitter="0us")
    detection = s.get("detection", {})
    if "kmax" in detection:
        detection["kmax"] = detection["kmin"]
    for of in (detection, s.get("rate_control", {})):
        if "jitter" in of:
            of["jitter"] = False
        if of.get("sampling") == "random":
            of["sampling"] = "largest"
    why = {
        "entropy": s.get("host", {}).get("entropy", "flow") != "flow",
        "errors of links": any(e.get("kind") != "nth" for e in s.get("link_errors", [])),
        "load balancing": s.get("load_balancing", {}).get("kind", "ecmp") not in ("ecmp", "wcmp"),
        "failed links": s.get("failures", {}).get("probability", 0) > 0,
    }
    if any(why.values()):
        raise Unfit("random numbers by number: " + ", ".join(k for k, does in why.items() if does))
    return s


def delay(text: str) -> int:
    value = read(text, PS)
    if value is None:
        raise Unfit(f"{text} is no whole number of picoseconds")
    return value


def one_way(t: Scenario) -> bool:
    """There is one shortest path at most between two hosts."""
    near, hosts = neighbours(t), {n["name"] for n in t["node"] if n["kind"] == "host"}
    for src in hosts:
        ways, distance, todo = Counter({src: 1}), {src: 0}, deque([src])
        while todo:
            n = todo.popleft()
            for m in near[n] if n == src or n not in hosts else ():
                if m not in distance:
                    distance[m] = distance[n] + 1
                    todo.append(m)
                if distance[m] == distance[n] + 1:
                    ways[m] += ways[n]
        if any(ways[h] > 1 for h in hosts):
            return False
    return True


def a_path(near: dict[str, list[str]], hosts: set[str], src: str, dst: str, dice: random.Random) -> list[str]:
    distance, todo = {dst: 0}, deque([dst])
    while todo:
        n = todo.popleft()
        for m in near[n] if n == dst or n not in hosts else ():
            if m not in distance:
                distance[m] = distance[n] + 1
                todo.append(m)
    if src not in distance:
        raise Unfit("a flow without a route")
    path = [src]
    while path[-1] != dst:
        path.append(dice.choice([m for m in near[path[-1]] if distance.get(m, -1) == distance[path[-1]] - 1 and (m == dst or m not in hosts)]))
    return path


# Comparison.


@dataclass
class Same:
    """How the tables of a copy become those of its original."""

    names: dict[str, str] = field(default_factory=dict)
    #: By which times and rates were multiplied.
    times: int = 1
    #: The order of rows and numbers of flows count.
    ordered: bool = True
    #: Columns and tables that the relation says nothing about.
    without: tuple[str, ...] = ()
    #: Rows of these nodes only.
    nodes: frozenset[str] | None = None


NODES = ("src", "dst", "switch", "host", "source")


def back(tables: Tables, same: Same) -> Tables:
    found = {}
    ids = numbers(tables, same) if not same.ordered else None
    for name, frame in tables.items():
        if name in same.without:
            continue
        frame = frame.drop([c for c in same.without if c in frame.columns])
        text = [c for c in frame.columns if frame[c].dtype == pl.String]
        frame = frame.with_columns(pl.col(text).map_elements(lambda v: renamed(v, same.names), return_dtype=pl.String, skip_nulls=True)) if same.names and text else frame
        if same.times != 1:
            frame = frame.with_columns(
                *(pl.col(c) // same.times for c in frame.columns if "_ps" in c),
                *(pl.col(c) * same.times for c in frame.columns if c.endswith("_bps") or c == "allowed_bps_min"),
            )
        if same.nodes is not None:
            for c in (*NODES, "port"):
                if c in frame.columns and frame[c].dtype == pl.String:
                    frame = frame.filter(pl.col(c).str.replace(r"#\d+$", "").str.split("->").list.eval(pl.element().is_in(list(same.nodes))).list.all())
        if ids is not None:
            frame = frame.with_columns(pl.col("flow").replace_strict(ids, default=None, return_dtype=pl.String)) if "flow" in frame.columns and name != "uplinks" else frame
            frame = frame.sort(frame.columns, nulls_last=True)
        found[name] = frame
    return found


def numbers(tables: Tables, same: Same) -> dict[int, str]:
    """Names of flows that do not depend on their numbers."""
    f = tables["flows"]
    columns = [c for c in ("src", "dst", "src_port", "dst_port", "priority", "start_ps", "size_bytes") if c in f.columns]
    return {n: " ".join(renamed(str(v), same.names) for v in rest) for n, *rest in f.select("flow", *columns).iter_rows()}


def renamed(text: str, names: dict[str, str]) -> str:
    a, arrow, b = text.partition("->")
    b, number, n = b.partition("#")
    return names.get(a, a) + arrow + names.get(b, b) + number + n


def differences(a: Run, b: Run, same: Same) -> list[str]:
    """Tables that differ, with the first row that does."""
    wrong = []
    left, right = back(a.read(), Same(ordered=same.ordered, without=same.without, nodes=same.nodes)), back(b.read(), same)
    for name, one in left.items():
        other = right[name]
        if one.equals(other):
            continue
        if one.shape != other.shape:
            wrong.append(f"{name}: {len(one)} and {len(other)} rows")
            continue
        for n, (x, y) in enumerate(zip(one.iter_rows(named=True), other.iter_rows(named=True), strict=True)):
            if x != y:
                wrong.append(f"{name}: row {n}: " + ", ".join(f"{k} {x[k]} and {y[k]}" for k in x if x[k] != y[k]))
                break
    return wrong

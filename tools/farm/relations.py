"""Runs scenarios, and changed copies of them whose results must be the same: docs/relations.md.

    .venv/bin/python tools/farm/relations.py --cases 40                # of each family, and the scenarios of the repository
    .venv/bin/python tools/farm/relations.py --only tiny --cases 200 --relation "other names"

A copy that differs stays in the folder `--out`, next to its original.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).parents[2]
XOFF = ROOT / "target" / "release" / "xoff"
FAMILIES = ("smallest", "tiny", "small", "infiniband", "by-flow", "lossy", "engines")
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
    words = [str(XOFF), "run", str(path), "--out", str(out), "--no-report", "--force", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=cwd or path.parent)
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


# Relations.

Result = list[str]


def equal_hash(a: Run, b: Run) -> Result:
    if a.hash == b.hash:
        return []
    return [f"hash {a.hash} and {b.hash}", *differences(a, b, Same())]


def defaults(c: Case) -> Result:
    return equal_hash(c.base, c.run(c.base.scenario))


def spelling(c: Case) -> Result:
    def other(text: str) -> str:
        def one(at: re.Match[str]) -> str:
            for units in (PS, BPS, BYTES):
                value = read(at[0], units)
                if value is not None:
                    smaller = [u for u, n in units.items() if value % n == 0 and value // n < 2**53]
                    u = c.dice.choice(smaller)
                    n = value // units[u]
                    return c.dice.choice([f"{n} {u}", f"{n}{u}", f"{n:_} {u}", f"{n}.0{u}"])
            return at[0]

        return QUANTITY.sub(one, text) if QUANTITY.fullmatch(text) else text

    return equal_hash(c.base, c.run(each_text(c.base.scenario, other)))


def order_of_keys(c: Case) -> Result:
    def other(tree: Any) -> Any:
        if isinstance(tree, dict):
            keys = list(tree)
            c.dice.shuffle(keys)
            return {k: other(tree[k]) for k in keys}
        return [other(v) for v in tree] if isinstance(tree, list) and tree and isinstance(tree[0], dict) else tree

    return equal_hash(c.base, c.run(other(c.base.scenario)))


def elsewhere(c: Case) -> Result:
    return equal_hash(c.base, run(c.path, c.work / "elsewhere", cwd=Path("/")))


def engines(c: Case) -> Result:
    if c.fabric:
        raise Unfit("a scheduled fabric has one engine")
    wrong = []
    for options in (("--engine", "events", "--threads", "1"), ("--engine", "windows", "--threads", "2"), ("--engine", "windows", "--threads", "3")):
        wrong += [f"{' '.join(options)}: {w}" for w in equal_hash(c.base, run(c.path, c.work / "engine", *options))]
    return wrong


def longer(c: Case) -> Result:
    if c.fabric or "duration" in c.base.ended or "run.duration" in c.base.ended:
        raise Unfit("flows are not complete at the end")
    s = copy.deepcopy(c.base.scenario)
    s["run"]["duration"] = f"{2 * delay(s['run']['duration'])}ps"
    return equal_hash(c.base, c.run(s))


RECORDED = ("queues", "rates", "control", "pauses", "causes", "states", "marks", "cnms", "jain_sampled", "max_over_mean_sampled", "samples")


def probes(c: Case) -> Result:
    if c.fabric:
        raise Unfit("a scheduled fabric has no probes")
    s = copy.deepcopy(c.base.scenario)
    s["probes"] = {"interval": "7us", "flow_rates": True, "causes": True} | {p: ["all"] for p in ("queues", "queue_changes", "rates", "rate_changes", "control", "pauses", "states", "marks", "cnms")}
    every = c.run(s)
    s["probes"] = {}
    none = c.run(s)
    same = Same(without=RECORDED)
    return [f"all: {w}" for w in differences(c.base, every, same)] + [f"none: {w}" for w in differences(c.base, none, same)]


def lists(c: Case) -> Result:
    return equal_hash(c.base, c.run(with_lists(c.base)))


def flows_listed(c: Case) -> Result:
    return differences(c.base, c.listed()[1], Same(without=("label",)))


def rename(s: Scenario, names: dict[str, str]) -> Scenario:
    """Every name of a node, alone or in the name of a port or link."""
    separators = re.compile(r"(->|:|-)")

    def one(text: str) -> str:
        if text in names:
            return names[text]
        for at in separators.finditer(text):
            a, b = text[: at.start()], text[at.end() :]
            end, number, n = b.partition("#")
            if a in names and end in names:
                return names[a] + "->" + names[end] + number + n
        return text

    def walk(tree: Any, key: str = "") -> Any:
        if isinstance(tree, dict):
            return {k: walk(v, k) for k, v in tree.items()}
        if isinstance(tree, list):
            return [walk(v, key) for v in tree]
        return one(tree) if isinstance(tree, str) and key not in ("title", "kind") else tree

    renamed_: Scenario = walk(s)
    for n in renamed_["topology"]["node"]:
        n["name"] = names.get(n["name"], n["name"])
    return renamed_


def other_names(c: Case) -> Result:
    s, made = c.listed()
    old = [n["name"] for n in s["topology"]["node"]]
    new = [f"n{k:x}" for k in c.dice.sample(range(16**3), len(old))]
    names = dict(zip(old, new, strict=True))
    if any(w.get("placement") == "random" for w in s.get("job", [])) or s.get("workload"):
        raise Unfit("random numbers by the names of hosts")
    return differences(made, c.run(rename(s, names)), Same(names={v: k for k, v in names.items()}))


#: Times and rates of variants, which are in no key unless it is given.
VARIANTS: dict[tuple[str, str], Scenario] = {
    ("dcqcn", "paper"): {"alpha_timer": "55us", "cnp_interval": "50us", "increase_timer": "55us", "min_rate": "100Mbps", "rate_ai": "40Mbps", "rate_hai": "200Mbps"},
    ("dcqcn", "ns3-rdma"): {"alpha_timer": "55us", "cnp_interval": "50us", "increase_timer": "60us", "min_rate": "100Mbps", "rate_ai": "40Mbps", "rate_hai": "200Mbps"},
    ("dcqcn", "hpcc"): {"alpha_timer": "1us", "decrease_interval": "4us", "increase_timer": "300us", "min_rate": "1Gbps", "rate_ai": "20Mbps", "rate_hai": "200Mbps"},
    ("timely", "paper"): {"delta": "10Mbps", "min_rate": "100Mbps"},
    ("timely", "hpcc"): {"delta": "100Mbps", "min_rate": "1Gbps"},
}


def rounds(s: Scenario) -> bool:
    """Rates other than those of links decide when frames leave: they are whole bit/s, and times whole picoseconds."""
    laws = (s.get("rate_control", {}).get("kind"), s.get("flow_control", {}).get("kind", ""), s.get("transport", {}).get("kind"))
    links = [s["topology"], *s["topology"]["link"]]
    if any(8 * 10**12 % (read(of["rate"], BPS) or 1) for of in links if "rate" in of):
        return True
    return laws[0] != "none" or laws[1].startswith("gfc") or laws[2] != "none" or any("rate" in f for f in s.get("flow", [])) or bool(s.get("slow_receiver"))


def near(a: Run, b: Run) -> Result:
    """Delivered bytes, where rounding moves single frames."""
    x, y = (sum(r.read()["flows"]["bytes_delivered"]) for r in (a, b))
    return [] if abs(x - y) <= 0.01 * x + 20_000 else [f"{x} and {y} bytes delivered"]


def scaled(k: int) -> Callable[[Case], Result]:
    def scale(c: Case) -> Result:
        def slower(text: str) -> str:
            def one(at: re.Match[str]) -> str:
                time, rate = read(at[0], PS), read(at[0], BPS)
                if time is not None:
                    return f"{time * k}ps"
                if rate is not None:
                    if rate % k:
                        raise Unfit("a rate that cannot be divided")
                    return f"{rate // k}bps"
                return at[0]

            return QUANTITY.sub(one, text) if QUANTITY.match(text) else text

        if c.fabric:
            raise Unfit("a scheduled fabric draws times of arrivals")
        s = copy.deepcopy(c.quiet()[0])
        if any(p.get("kind") == "abm" for p in s.get("buffer_profile", [])):
            raise Unfit("ABM measures over 25 us")
        # The end is looked for at whole microseconds, and counters count until then.
        s["run"]["stop_when_done"] = False
        made = c.run(s)
        law = s.get("rate_control", {})
        for key, value in VARIANTS.get((law.get("kind"), law.get("variant")), {}).items():
            law.setdefault(key, value)
        s = each_text(s, slower)
        for r in s.get("slow_receiver", []):
            if "message_rate" in r:
                r["message_rate"] //= k
        while True:
            try:
                other = c.run(s)
                return near(made, other) if rounds(s) else differences(made, other, Same(times=k, without=("algorithm_bps", "bus_bps")))
            except Rejected as e:
                # A default that nothing reads may be written out, another value may not.
                unread = re.match(r"× ?(\w+): the key has no effect", str(e))
                if not unread:
                    raise
                s = without_key(s, unread[1])

    return scale


def without_key(tree: Any, key: str) -> Any:
    if isinstance(tree, dict):
        return {k: without_key(v, key) for k, v in tree.items() if k != key}
    return [without_key(v, key) for v in tree] if isinstance(tree, list) else tree


def not_placed(s: Scenario) -> None:
    if any(j["placement"] == "random" for j in s.get("job", [])):
        raise Unfit("ranks are placed at random among all hosts")


def idle(c: Case, s: Scenario, made: Run) -> Result:
    not_placed(s)
    s = copy.deepcopy(s)
    if s["switch"]["memory"] == "pools":
        raise Unfit("each port reserves memory of a pool")
    if s["detection"]["kind"] in ("qcn", "af-qcn") and not {"xoff", "xoff_s", "b0", "b1"} & s["flow_control"].keys():
        raise Unfit("default thresholds have room for CNMs of every port")
    level1 = [n["name"] for n in s["topology"]["node"] if n["kind"] == "switch"]
    hosts = {n["name"] for n in s["topology"]["node"] if n["kind"] == "host"}
    near = neighbours(s["topology"])
    at = c.dice.choice([n for n in level1 if hosts & set(near[n])])
    s["topology"]["node"].append({"name": "idle", "kind": "host"})
    s["topology"]["link"].append({"a": "idle", "b": at, **{k: s["topology"]["link"][0][k] for k in ("rate", "delay") if k in s["topology"]["link"][0]}})
    known = frozenset(n["name"] for n in s["topology"]["node"] if n["name"] != "idle")
    return differences(made, c.run(s), Same(nodes=known))


def idle_host(c: Case) -> Result:
    return idle(c, *c.quiet())


def second(traffic: bool, priority: int | None = None) -> Callable[[Case], Result]:
    def component(c: Case) -> Result:
        s, made = c.quiet()
        not_placed(s)
        if s["routing"]["kind"] == "d-mod-k":
            raise Unfit("d-mod-k needs a tree")
        s = copy.deepcopy(s)
        known = frozenset(n["name"] for n in s["topology"]["node"])
        s["topology"]["node"] += [{"name": "Xa", "kind": "host"}, {"name": "Xb", "kind": "host"}, {"name": "Xs", "kind": "switch"}]
        own = {"rate": "10Gbps", "delay": "1us"}
        s["topology"]["link"] += [{"a": "Xa", "b": "Xs", **own}, {"a": "Xb", "b": "Xs", **own}]
        if traffic:
            if not s.get("flow"):
                raise Unfit("a job or closed loop next to other flows")
            used = {f["priority"] for f in s["flow"]}
            if priority is not None and priority in used:
                raise Unfit("the priority is in use")
            if priority is not None and (s["switch"]["memory"] == "pools" or s["switch"]["scheduler"] == "vl-arbitration"):
                raise Unfit("each priority needs a profile or a virtual lane")
            if priority is not None and s["flow_control"]["kind"] in ("cbfc", "gfc-time", "uec-cbfc"):
                raise Unfit("credits of each priority take their share of links")
            if priority is not None and s["flow_control"]["kind"] != "none" and not {"xoff", "xoff_s", "b0", "b1"} & s["flow_control"].keys():
                raise Unfit("default thresholds have room for messages of every priority")
            last = max(delay(f["start"]) for f in s["flow"])
            s["flow"].append({"src": "Xa", "dst": "Xb", "size": "3KB", "start": f"{last + 1}ps", "priority": min(used) if priority is None else priority})
        other = c.run(s)
        flows = other.read()["flows"]
        other.tables["flows"] = flows.filter(pl.col("src") != "Xa")
        # Samples have a row for each priority in use.
        return differences(made, other, Same(nodes=known, without=("queues",) if priority is not None else ()))

    return component


def permuted(nodes: bool = False, links: bool = False, flows: bool = False, reverse: bool = False) -> Callable[[Case], Result]:
    def permute(c: Case) -> Result:
        s, made = c.spread()
        if (nodes or links) and not one_way(s["topology"]):
            raise Unfit("several paths: hashes go by numbers of nodes")
        if nodes and s.get("workload"):
            raise Unfit("a closed loop draws destinations by number")
        if links and s["switch"]["discipline"] != "fifo":
            raise Unfit("ingresses are served in the order of ports")
        s = copy.deepcopy(s)

        def order(of: list[Any]) -> None:
            if reverse:
                of.reverse()
            else:
                c.dice.shuffle(of)

        t = s["topology"]
        if nodes:
            order(t["node"])
        if links:
            order(t["link"])
            for link in t["link"]:
                if reverse or c.dice.random() < 0.5:
                    link["a"], link["b"] = link["b"], link["a"]
        if flows:
            if len(s.get("flow", [])) < 2:
                raise Unfit("fewer than two flows")
            order(s["flow"])
        return differences(made, c.run(s), Same(ordered=False, without=("label", "group", "cycle", "position")))

    return permute


RELATIONS: dict[str, Callable[[Case], Result]] = {
    "defaults written out": defaults,
    "units": spelling,
    "order of keys": order_of_keys,
    "another folder": elsewhere,
    "threads and engines": engines,
    "longer duration": longer,
    "probes": probes,
    "nodes and links listed": lists,
    "flows listed": flows_listed,
    "other names": other_names,
    "times x 2, rates / 2": scaled(2),
    "times x 5, rates / 5": scaled(5),
    "idle host": idle_host,
    "second component": second(traffic=False),
    "second component with traffic": second(traffic=True),
    "unused priority": second(traffic=True, priority=7),
    "order of nodes": permuted(nodes=True),
    "order of links": permuted(links=True),
    "order of flows": permuted(flows=True),
    "mirror": permuted(nodes=True, links=True, flows=True, reverse=True),
}


# Features of a scenario.

KEYS = {"routing": ("kind",), "host": ("recovery", "order", "port", "entropy", "connections", "obeys", "pacing", "acks"), "switch": ("discipline", "scheduler", "memory")}
KINDS = ("topology", "flow_control", "detection", "rate_control", "load_balancing", "transport", "watchdog", "link_retry", "link_errors", "workload", "collective")
PRESENT = ("failure", "slow_receiver", "pause_storm", "job", "buffer_pool", "scheduled_fabric")


def features(s: Scenario) -> Iterator[str]:
    for section in KINDS:
        of = s.get(section, [])
        for one in of if isinstance(of, list) else [of]:
            if "kind" in one:
                yield f"{section} {one['kind']}"
            if "algorithm" in one:
                yield f"{section} {one['algorithm']}"
    for section, keys in KEYS.items():
        for key in keys:
            if key in s.get(section, {}):
                yield f"{section}.{key} {s[section][key]}"
    if "cut_through" in s.get("switch", {}):
        yield "switch.cut_through"
    if s.get("failures", {}).get("probability", 0) > 0 or s.get("failures", {}).get("links"):
        yield "failures"
    yield from (p for p in PRESENT if s.get(p))


# The command.


@dataclass
class Tally:
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    held: Counter[tuple[str, str]] = field(default_factory=Counter)
    unfit: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.tried += other.tried
        self.held += other.held
        self.unfit += other.unfit
        self.wrong += other.wrong


def one(name: str, text: str | None, path: Path | None, relations: list[str], out: Path, limit: float) -> Tally:
    """All relations of a scenario."""
    tally = Tally()
    work = Path(tempfile.mkdtemp(prefix="xoff-relations-"))
    try:
        if path is None:
            path = work / f"{name}.toml"
            path.write_text(text or "")
        else:
            # With the files that it names.
            path = Path(shutil.copytree(path.parent, work / "files")) / path.name
        try:
            begun = time.monotonic()
            case = Case(path, work, seed=sum(name.encode()))
            if time.monotonic() - begun > limit:
                tally.unfit["base", f"takes more than {limit} s"] += 1
                return tally
        except (Rejected, subprocess.TimeoutExpired) as e:
            tally.unfit["base", str(e)[:80]] += 1
            return tally
        found = ["all", *dict.fromkeys(features(case.base.scenario))]
        for relation in relations:
            try:
                wrong = RELATIONS[relation](case)
            except Unfit as e:
                tally.unfit[relation, str(e)] += 1
                continue
            except (Rejected, subprocess.TimeoutExpired) as e:
                wrong = [f"rejected: {e}"]
            tally.tried.update((relation, f) for f in found)
            if wrong:
                tally.wrong.append(f"{name}: {relation}: {'; '.join(wrong)}")
                shutil.copytree(work, out / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.parquet"))
            else:
                tally.held.update((relation, f) for f in found)
        return tally
    finally:
        shutil.rmtree(work, ignore_errors=True)


def registered() -> Iterator[tuple[str, str]]:
    """A scenario for each entry of the registries that the families draw seldom, by name."""
    schema = json.loads(subprocess.run([XOFF, "schema"], capture_output=True, text=True, check=True).stdout)["properties"]
    run = '[run]\nduration = "60us"\n[flow_control]\nkind = "pfc"\n'
    flows = '[[workload]]\nkind = "permutation"\nsize = "20KB"\n'
    for one in schema["topology"]["oneOf"]:
        kind = one["properties"]["kind"]["const"]
        if kind not in ("custom", "file"):
            yield f"topology-{kind}", f'{run}{flows}[topology]\nkind = "{kind}"\n'
    spine = '[topology]\nkind = "leaf-spine"\n'
    for one in schema["load_balancing"]["oneOf"]:
        kind = one["properties"]["kind"]["const"]
        yield f"load-balancing-{kind}", f'{run}{flows}{spine}[load_balancing]\nkind = "{kind}"\n'
    planes = '[topology]\nkind = "multi-plane"\n'
    for key in ("port", "entropy", "recovery"):
        for value in schema["host"]["properties"][key]["enum"]:
            yield f"host-{key}-{value}", f'{run}{flows}{planes}[host]\nacks = "per-frame"\n{key} = "{value}"\n'
    for kind in schema["routing"]["properties"]["kind"]["enum"]:
        yield f"routing-{kind}", f'{run}{flows}{spine}[routing]\nkind = "{kind}"\n'
    collective = schema["collective"].get("items", schema["collective"])["properties"]
    job = run.replace("60us", "5ms") + '[topology]\nkind = "star"\nhosts = 4\n[[job]]\n[[collective]]\n'
    for kind in collective["kind"]["enum"]:
        yield f"collective-{kind}", job + f'kind = "{kind}"\n' + ('size = "40KB"\n' if kind != "barrier" else "")
    for algorithm in collective["algorithm"]["enum"]:
        yield f"algorithm-{algorithm}", job + f'algorithm = "{algorithm}"\nsize = "40KB"\n'


def cases(families: list[str], begin: int, many: int) -> Iterator[tuple[str, str | None, Path | None]]:
    for number in range(begin, begin + many):
        for family in families:
            if family in ("scenarios", "kinds"):
                continue
            shown = subprocess.run([XOFF.parent / "xoff-farm", "show", family, str(number)], capture_output=True, text=True, check=True)
            yield f"{family}-{number}", shown.stdout, None
    if "kinds" in families:
        yield from ((name, text, None) for name, text in registered())
    if "scenarios" in families:
        for path in sorted((ROOT / "scenarios").rglob("*.toml")):
            if path.parent.name not in ("sweeps", "testbed", "bench") and path.stem not in ("thousand", "study"):
                yield path.stem, None, path


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs scenarios and changed copies whose results must be the same.")
    parser.add_argument("--cases", type=int, default=20, help="cases of each family")
    parser.add_argument("--begin", type=int, default=0, help="first case")
    parser.add_argument("--only", action="append", choices=(*FAMILIES, "kinds", "scenarios"))
    parser.add_argument("--relation", action="append", choices=tuple(RELATIONS))
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "relations")
    parser.add_argument("--limit", type=float, default=10.0, help="no scenario that runs longer, in seconds")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    relations = given.relation or list(RELATIONS)
    total = Tally()
    with ProcessPoolExecutor(given.jobs) as pool:
        work = [pool.submit(one, *case, relations, given.out, given.limit) for case in cases(given.only or [*FAMILIES, "kinds", "scenarios"], given.begin, given.cases)]
        for done in work:
            tally = done.result()
            total.add(tally)
            for w in tally.wrong:
                print(w[:600], flush=True)
    found = sorted({f for _, f in total.tried}, key=lambda f: (f != "all", f))
    print("\n| feature | " + " | ".join(relations) + " |\n|---|" + "---|" * len(relations))
    for f in found:
        cells = [f"{total.held[r, f]}" + (f" of {total.tried[r, f]}" if total.held[r, f] != total.tried[r, f] else "") for r in relations]
        print(f"| {f} | " + " | ".join(cells) + " |")
    for (relation, why), n in sorted(total.unfit.items()):
        print(f"not tried: {relation}: {why}: {n}")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs scenarios, and changed copies of them whose results must be the same: docs/relations.md.

    .venv/bin/python tools/farm/relations.py --cases 40                # of each family, and the scenarios of the repository
    .venv/bin/python tools/farm/relations.py --only tiny --cases 200 --relation "other names"

A copy that differs stays in the folder `--out`, next to its original.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from copies import BPS, BYTES, PS, QUANTITY, ROOT, XOFF, Case, Rejected, Run, Same, Scenario, Unfit, delay, differences, each_text, neighbours, one_way, read, resume, run, with_lists, written

FAMILIES = ("smallest", "tiny", "small", "infiniband", "by-flow", "lossy", "engines")


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


def resumed(c: Case) -> Result:
    """Killed behind a checkpoint, and resumed. Checkpoints come between stretches of 65,536 events, so the run has 300,000 samples of one port."""
    if c.fabric:
        raise Unfit("a scheduled fabric has no checkpoints")
    s = copy.deepcopy(c.base.scenario)
    ends, ports = c.base.read()["flows"]["end_ps"], c.base.read()["ports"]["port"]
    end = delay(s["run"]["duration"]) if ends.null_count() or not len(ends) else max(ends)
    s["probes"] = {"interval": f"{max(1, end // 300_000)}ps", "rates": [ports[0]]}
    made = c.run(s)
    folder, path = c.work / "killed", c.path.parent / "killed.toml"
    path.write_text(written(s))
    words = [str(XOFF), "run", str(path), "--out", str(folder), "--no-report", "--force", "--checkpoint", "10ms"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=path.parent)
    while process.poll() is None and not any(folder.glob("checkpoints/*.checkpoint")):
        time.sleep(0.001)
    time.sleep(c.dice.random() * 0.02)
    process.kill()
    process.wait()
    if process.returncode in (0, 1) or not any(folder.glob("checkpoints/*.checkpoint")):
        raise Unfit("the run ends before its first checkpoint")
    return equal_hash(made, resume(folder))


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
    "killed and resumed": resumed,
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

"""The manifest of a run of a network, and its JSON answer: each number and word compared with what the tables say."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from . import hashed, sentences, words
from .facts import Damaged, Facts, Tables, read_json, whole
from .jobs import CAUSES, Job, jobs
from .ledger import Verification
from .sentences import Said
from .words import count

#: Causes of lost frames, by the counter that has them: frames dropped by nodes, and frames lost on links.
DROPPED = ("buffer-full", "no-route", "cut-off", "failed-port", "watchdog", "lossy-ingress", "lossy-egress")
ON_LINKS = ("on-failed-link", "on-faulty-link", "given-up")
#: What a run prints after a number of lost frames.
LOSS_WORDS = {
    "buffer-full": "dropped at full buffers",
    "no-route": "dropped without a route",
    "cut-off": "dropped without a route after a link failed",
    "failed-port": "dropped at ports whose link failed",
    "on-failed-link": "on links that failed",
    "on-faulty-link": "to errors on links",
    "given-up": "given up by links after too many retries",
    "on-wire": "on wires",
    "kernel-ring": "in the kernel's receive rings",
    "kernel-refused": "rejected by the kernel",
    "unsent": "not sent by the kernel before the end",
    "watchdog": "dropped by the watchdog",
    "too-long": "rejected: longer than the MTU",
    "malformed": "rejected: malformed",
    "unexpected": "control frames rejected: not configured",
    "stale": "control frames rejected: older than a previous one",
    "impossible": "control frames rejected: impossible",
    "unknown-flow": "rejected: unknown flow",
    "unknown-address": "rejected: unknown address",
    "lossy-ingress": "of lossy priorities at full ingress buffers",
    "lossy-egress": "of lossy priorities at full egress queues",
}

CLOCK, MACHINE, INPUT, COUNTER = "a clock", "how the run was made", "what the user gave", "no table counts it"
#: What a node of a testbed says.
REAL, ELSEWHERE = "its frames go through real ports", "the other switches run in other processes"
#: Why numbers and words of the manifest cannot be derived.
WHY = (
    (r"wall_seconds|cpu_seconds|started", CLOCK),
    (r"threads|processes|fast_forward\..*|engine.*", MACHINE),
    (r"scenario_folder|parameters.*|allowed.*|out", INPUT),
    (r"xoff_.*|schema_version|fingerprint", "the program"),
    (r"inputs_digest", "a hash of files that are not in the folder"),
    (r"verdict\.not_kept", "files without results"),
    (r"warnings.*", "the analysis before the run"),
    (r"flows_total|verdict\.work\..*", "messages that a job never sent are in no table"),
    (r"jobs\[\]\.(stuck|mismatch)(\..*)?", "the plan of the job"),
    (r"jobs\[\].*\.paused_port", "the path of a message is in no table"),
)


class Run:
    """A folder of a run of a network."""

    def __init__(self, folder: Path, manifest: dict[str, Any] | None = None, tables: Tables | None = None) -> None:
        self.folder = folder
        self.manifest = manifest or read_json(folder / "manifest.json")
        try:
            self.tables = tables or Tables(folder, [f["name"] for f in self.manifest["files"]])
            self.facts = Facts(self.tables, self.manifest["scenario"])
            self.printed_end = round(float(self.manifest["simulated_seconds"]) * 1e12)
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise Damaged(f"{folder / 'manifest.json'}: {type(e).__name__}: {e}") from None
        if self.manifest.get("engine_because") == REAL and (self.verdict["deadlock"].get("why") == ELSEWHERE or self.verdict["work"]["total"] != self.manifest["flows_total"]):
            raise Damaged(f"{folder}: the results of a node with real ports, which has the tables of its own ports only")
        if missing := [t for t in ("flows", "ports", "deadlocks", "ranks") if t not in self.tables]:
            raise Damaged(f"{folder}: no table {missing[0]}")

    @cached_property
    def jobs(self) -> list[Job]:
        return jobs(self.facts)

    @cached_property
    def end(self) -> tuple[int | None, str]:
        """The end of the run, and where it comes from; None: no table has it."""
        why = str(self.manifest.get("ended_because", ""))
        if " complete" in why:
            return self.facts.last_end, "flows, ranks"
        if "(run.duration)" in why:
            return self.facts.duration, "the scenario"
        return None, ""

    @cached_property
    def losses(self) -> dict[str, int]:
        by_cause = self.verdict.get("losses", {}).get("by_cause", {})
        return {k: v for k, v in by_cause.items() if isinstance(v, int)}

    @cached_property
    def hash(self) -> str:
        return hashed.of_network(self.facts)

    @property
    def verdict(self) -> dict[str, Any]:
        return self.manifest.get("verdict") or {}

    @cached_property
    def said(self) -> Said:
        end = self.end[0]
        return Said(self.facts, self.printed_end if end is None else end, self.jobs, self.losses, self.manifest)


def check(run: Run, ledger: Verification, found: dict[str, Any] | None = None, file: str = "manifest.json") -> None:
    """Compares a manifest, or the JSON answer of the same run."""
    m = run.manifest if found is None else found
    checks = _Checks(run, ledger, m, file)
    checks.all()


class _Checks:
    def __init__(self, run: Run, ledger: Verification, manifest: dict[str, Any], file: str) -> None:
        self.run, self.ledger, self.m, self.file = run, ledger, manifest, file
        self.facts, self.said = run.facts, run.said
        self.seen: set[str] = set()

    def number(self, path: str, derived: Any, table: str) -> None:
        """Compares the number at a path."""
        self.seen.add(path)
        self.ledger.equal(f"{self.file}: {path}", at(self.m, path), derived, table)

    def text(self, path: str, why: str = COUNTER) -> None:
        self.seen.add(path)
        sentences.compare(self.ledger, f"{self.file}: {path}", str(at(self.m, path) or ""), self.said, why)

    def all(self) -> None:
        inputs(self.m, self.file, self.run.tables, self.facts, self.number, self.ledger)
        self.totals()
        self.verdict()
        self.slowdown()
        self.balance()
        for nth in range(len(self.m.get("jobs") or [])):
            self.job(nth)
        self.texts()
        self.files()
        self.seen.add("result_hash")
        hashed.compare(self.ledger, f"{self.file}: result_hash", self.m["result_hash"], lambda: self.run.hash)
        self.rest()

    def totals(self) -> None:
        facts, m = self.facts, self.m
        end, table = self.run.end
        if end is not None:
            self.number("simulated_seconds", end * 1e-12, table)
        elif "simulated_seconds" in m:
            # Nothing happens after the end, and no table has what happened last.
            last, table = facts.latest
            self.seen.add("simulated_seconds")
            printed = round(float(m["simulated_seconds"]) * 1e12)
            if last > printed:
                self.ledger.equal(f"{self.file}: simulated_seconds", printed * 1e-12, f"at least {last * 1e-12}", table)
            else:
                self.ledger.skip(f"{self.file}: simulated_seconds", "the last event is in no table; no row is later")
        last, table = facts.latest
        if end is not None and last > end:
            self.ledger.equal(f"{self.file}: simulated_seconds", end, f"at least {last}", table)
        if self.said.flows is not None:
            self.number("flows_total", self.said.flows, "flows")
        self.number("flows_completed", facts.completed, "flows")
        self.number("seed", facts.param("run", "seed"), "the scenario")
        self.number("frame_hops", facts.sum("tx_frames"), "ports")
        if facts.only_data:
            self.number("data_frame_hops", facts.sum("tx_frames"), "ports")
        frames = facts.delivered_frames()
        if frames is not None:
            self.number("delivered_frames", frames, "flows")
        found = facts.deadlock
        self.number("deadlock", found[1] if found else None, "deadlocks")
        if "violations" in m:
            promises = (m.get("verdict") or {}).get("promises", {})
            self.number("violations", promises.get("violations", 0), f"{self.file}, verdict")

    def verdict(self) -> None:
        if not self.m.get("verdict"):
            return
        facts, v = self.facts, self.m["verdict"]
        by_cause = {k: n for k, n in v["losses"]["by_cause"].items() if isinstance(n, int)}
        dropped = facts.sum("dropped")
        storms = facts.tables["storms"]
        on_links = facts.sum("lost")
        self.number("dropped_frames", dropped, "ports")
        known: dict[str, int] = {"watchdog": whole(storms["discarded_data"].sum()) + whole(storms["discarded_control"].sum())}
        for causes, total in ((DROPPED, dropped), (ON_LINKS, on_links)):
            # Counters have the sum of several causes: what one of them has follows from the others.
            for cause in (c for c in by_cause if c in causes):
                others = sum(n for c, n in by_cause.items() if c in causes and c != cause)
                self.number(f"verdict.losses.by_cause.{cause}", known.get(cause, total - others), "ports")
        elsewhere = {c: n for c, n in by_cause.items() if c not in DROPPED + ON_LINKS}
        lost = dropped + on_links + sum(elsewhere.values())
        self.number("lost_frames", lost, "ports")
        self.number("verdict.lost_frames", lost, "ports")
        control = v["losses"]["control_frames"]
        if lost == 0:
            self.number("verdict.losses.control_frames", 0, "ports")
        self.number("verdict.work.complete", facts.completed, "flows")
        if self.said.flows is not None:
            self.number("verdict.work.total", self.said.flows, "flows")
            self.number("verdict.work.incomplete", self.said.unfinished, "flows")
        found = facts.deadlock
        if v["deadlock"]["state"] == "found" or found:
            self.number("verdict.deadlock.what", f"deadlock at {words.time(found[0])}" if found else None, "deadlocks")
            self.number("verdict.deadlock.ports", found[1] if found else None, "deadlocks")
        unchecked = None
        if not found and not words.read_time(facts.param("run", "deadlock_interval")):
            unchecked = "run.deadlock_interval is 0us"
        self.number("verdict.deadlock.state", "found" if found else "not-watched" if unchecked else "none", "deadlocks, the scenario")
        if unchecked:
            self.number("verdict.deadlock.why", unchecked, "the scenario")
        checks = facts.param("run", "checks")
        self.number("verdict.promises.state", "not-checked" if not checks else broken(v), "the scenario, violations")
        if not checks:
            self.number("verdict.promises.why", "run.checks is false", "the scenario")
        self.number("verdict.work.unit", "flows", "the scenario")
        stopped = str(self.m["ended_because"]).startswith("interrupted")
        for path in ("interrupted", "verdict.interrupted"):
            self.number(path, stopped, f"{self.file}, ended_because")
        self.number("verdict.answer", answer(v), f"{self.file}, verdict")
        if v["nothing_ran"]:
            self.text("verdict.nothing_ran")
        else:
            ran = facts.sum("tx_frames") + lost + whole(facts.flows["bytes_arrived"].sum()) + whole(facts.tables["operations"]["end_ps"].count())
            self.number("verdict.nothing_ran", None if ran or not facts.tables["ranks"].is_empty() else "no frame", "ports, flows, operations")
        done = [f"job {j.name}: {len(j.iterations)} of {j.planned} iterations complete" for j in self.run.jobs if len(j.iterations) < j.planned]
        waits = any((j or {}).get("stuck") for j in self.m.get("jobs") or [])
        left = v["work"]["incomplete"] if self.said.unfinished is None else self.said.unfinished
        if not waits:
            self.number("verdict.unfinished", done if done and not left else None, "ranks")
        for nth, _ in enumerate(v.get("unfinished") or []):
            self.number(f"verdict.unfinished[{nth}]", done[nth] if nth < len(done) else None, "ranks")
        self.number("verdict.headline", self.headline(v, by_cause, lost, control), "ports, flows, deadlocks")

    def headline(self, v: dict[str, Any], by_cause: dict[str, int], lost: int, control: int) -> str:
        """The headline, from numbers of tables, and what only the checks know."""
        facts, promises, found = self.facts, v["promises"], self.facts.deadlock
        said = ["interrupted; partial results kept"] if v["interrupted"] else []
        if promises["state"] == "violated":
            n = promises["violations"]
            said.append(f"{count(n)} check{'' if n == 1 else 's'} violated")
        said += v["failures"] + ([v["not_kept"]] if v.get("not_kept") else [])
        if v.get("nothing_ran"):
            said.append(f"nothing ran: {v['nothing_ran']}")
            if lost == 0 and not found:
                return ", ".join(said)
        said.append(f"deadlock at {words.time(found[0])}" if found else "no deadlock" if v["deadlock"]["state"] == "none" else "deadlock not checked")
        total = f"{count(lost)} frame{'' if lost == 1 else 's'} lost" + (f", {count(control)} of them control" if control else "")
        order = [c for c in LOSS_WORDS if c in by_cause]
        causes = [LOSS_WORDS[c] if len(order) == 1 else f"{count(by_cause[c])} {LOSS_WORDS[c]}" for c in order]
        said.append(f"{total} ({'; '.join(causes)})" if causes else total)
        if promises["state"] == "not-checked":
            said.append("invariants not checked")
        work = v["work"]
        left, total_ = (work[k] if own is None else own for k, own in (("incomplete", self.said.unfinished), ("total", self.said.flows)))
        if left:
            said.append(f"{count(left)} of {count(total_)} flows incomplete")
        return ", ".join(said + (v.get("unfinished") or []))

    def slowdown(self) -> None:
        found = self.facts.slowdown(self.said.end)
        if found is None or not self.m.get("slowdown"):
            self.number("slowdown", found, "flows")
            return
        for key, value in found.items():
            self.number(f"slowdown.{key}", value, "flows")

    def balance(self) -> None:
        if "load_balance" in self.m:
            for key, (value, table) in load_balance(self.run).items():
                self.number(f"load_balance.{key}", value, table)

    def job(self, nth: int) -> None:
        j, at_ = self.run.jobs[nth], f"jobs[{nth}]"
        self.number(f"{at_}.name", j.name, "the scenario")
        self.number(f"{at_}.ranks", len(j.hosts), "ranks")
        self.number(f"{at_}.iterations_planned", j.planned, "the scenario")
        self.number(f"{at_}.time_ps", j.time, "ranks")
        self.number(f"{at_}.ideal_ps", j.ideal, "ranks")
        self.number(f"{at_}.time_over_ideal", j.time / j.ideal if j.ideal else None, "ranks")
        self.number(f"{at_}.mismatches", j.mismatches, "operations")
        if not j.mismatches:
            self.number(f"{at_}.mismatch", None, "operations")
        printed = self.m["jobs"][nth]["iterations"]
        self.number(f"{at_}.iterations", printed if len(printed) == len(j.iterations) else f"{len(j.iterations)} iterations", "ranks")
        for i, it in enumerate(j.iterations[: len(printed)]):
            one = f"{at_}.iterations[{i}]"
            for key, value in (("time_ps", it.time), ("end_ps", it.end), ("exposed_ps", it.exposed), ("last_rank", it.last_rank)):
                self.number(f"{one}.{key}", value, "ranks")
            for cause in CAUSES:
                if cause != "peer":
                    self.number(f"{one}.critical_path.{cause}_ps", it.path[cause], "critical_path")
            x = it.straggler
            if x is None or not printed[i]["straggler"]:
                self.number(f"{one}.straggler", None if x is None else f"flow {x.flow}", "critical_path")
                continue
            sender, receiver = j.ends_of(x.flow)
            values: dict[str, Any] = {"flow": x.flow, "start_ps": x.start, "end_ps": x.end, **{f"{c}_ps": n for c, n in x.lost.items()}}
            for key, value in values.items():
                self.number(f"{one}.straggler.{key}", value, "critical_path")
            for key, rank in (("from", sender), ("to", receiver)):
                if rank is not None:
                    self.number(f"{one}.straggler.{key}_rank", rank, "operations")
                    self.number(f"{one}.straggler.{key}_host", j.hosts[rank], "ranks")
            port = printed[i]["straggler"]["paused_port"]
            if port is None:
                self.number(f"{one}.straggler.paused_port_ps", 0, "pauses")
            else:
                paused = self.facts.paused(port, int(j.section.get("priority", 0)), x.start, x.end)
                self.number(f"{one}.straggler.paused_port_ps", paused, "pauses")

    def texts(self) -> None:
        self.text("ended_because")
        for key in ("active", "inactive"):
            for nth in range(len(self.m.get(key) or [])):
                self.text(f"{key}[{nth}]")

    def files(self) -> None:
        names = {f["name"]: (n, f) for n, f in enumerate(self.m.get("files") or [])}
        for name, (nth, _) in names.items():
            path = self.run.folder / name
            if self.file == "manifest.json":
                self.seen.add(f"files[{nth}].name")  # a file of another name cannot be read
            table = name.rsplit(".", 1)[0]
            if name == "report.html" and not path.exists():
                continue  # it may go: it is drawn from the results
            if self.file != "manifest.json" and not table_like(name):
                self.ledger.skip(f"{self.file}: files[{nth}]", "the report of another run", 2)
                self.seen |= {f"files[{nth}].rows", f"files[{nth}].bytes"}
                continue
            try:
                self.number(f"files[{nth}].bytes", path.stat().st_size, name)
                rows = len(self.run.tables[table]) if table_like(name) else path.read_bytes().count(b"\n")
            except OSError as e:
                raise Damaged(f"{path}: {e.strerror}") from None
            self.number(f"files[{nth}].rows", rows, name)

    def rest(self) -> None:
        """Numbers and words that nothing above compared."""
        for path, value in leaves(self.m):
            if path in self.seen or any(path.startswith((f"{s}[", f"{s}.")) for s in ("verdict.deadlock.ports", "deadlock") if s in self.seen):
                continue
            general = re.sub(r"\[\d+\]", "[]", path)
            why = next((w for pattern, w in WHY if re.fullmatch(pattern, general)), COUNTER)
            if self.m is not self.run.manifest and why not in (CLOCK, MACHINE, INPUT):
                # The same number in two places.
                self.number(path, at(self.run.manifest, path), "manifest.json")
            else:
                self.ledger.skip(f"{self.file}: {path}", why, numbers(value))


def inputs(m: dict[str, Any], file: str, tables: Tables, facts: Facts, number: Callable[[str, Any, str], None], ledger: Verification) -> None:
    """The scenario of a run of any kind, each parameter as it has it, and the program, as the other files of the folder have them."""
    resolved = tables.folder / "resolved.toml"
    number("scenario", resolved.read_text(encoding="utf-8") if resolved.exists() else None, resolved.name)
    if known := tables.stated("scenario_hash"):
        hashed.compare(ledger, f"{file}: scenario, hash", known, lambda: hashed.of_scenario(m["scenario"]), "the tables")
    for path, key, kind in (("xoff_version", "version", str), ("schema_version", "schema_version", int)):
        if known := tables.stated(key):
            number(path, kind(known), "the tables")
    paths = {p["path"] for p in m["parameters"]}
    for nth, p in enumerate(m["parameters"]):
        value = at(facts.scenario, p["path"])
        if value is not None and not holds(value):
            number(f"parameters[{nth}].path", p["path"], "the scenario")
            number(f"parameters[{nth}].value", text_of(value), "the scenario")
    for path, value in leaves(facts.scenario):
        ledger.equal(f"{file}: parameters", re.sub(r"(\[\d+\])+$", "", path) in paths, True, f"the scenario, {path}")


def holds(value: Any) -> bool:
    """Whether it is a table, or a list of tables or lists."""
    return isinstance(value, dict) or isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value)


def text_of(value: Any) -> str:
    """A value of a scenario, as a parameter has it."""
    if isinstance(value, list):
        return "\n".join(text_of(v) for v in value)
    if isinstance(value, bool):
        return str(value).lower()
    # Exponents have no plus and no zero before.
    return re.sub(r"e([+-])0*(\d)", lambda e: f"e{e[1].strip('+')}{e[2]}", str(value)) if isinstance(value, float) else str(value)


def broken(v: dict[str, Any]) -> str:
    """Whether checks failed, by their number."""
    return "violated" if v["promises"].get("violations") else "kept"


def answer(v: dict[str, Any]) -> str:
    """The answer of a run, from the other parts of its verdict: losses of lossy classes are results."""
    lost = any(n for cause, n in v["losses"]["by_cause"].items() if not cause.startswith("lossy-"))
    bad = lost or v["deadlock"]["state"] == "found" or v["promises"]["state"] == "violated" or v["failures"]
    return "interrupted" if v["interrupted"] else "no" if bad else "yes"


def load_balance(run: Run) -> dict[str, tuple[Any, str]]:
    """Balance of load of the whole run, with the table of each number."""
    flows, up = run.facts.flows, run.tables["uplinks"]
    chose = flows.filter(pl.col("collided").is_not_null())
    found: dict[str, tuple[Any, str]] = {
        "groups": (len(up), "uplinks"),
        "flows": (whole(up["flows"].sum()), "uplinks"),
        "collided": (whole(up["collided"].sum()), "uplinks"),
        "paths_mean": (whole(chose["paths"].sum()) / len(chose) if len(chose) else None, "flows"),
        "frames_ahead": (whole(flows["frames_ahead"].sum()), "flows"),
        "ahead_bytes_max": (whole(flows["ahead_bytes_max"].max()), "flows"),
        "ahead_ps_max": (whole(flows["ahead_ps_max"].max()), "flows"),
    }
    for key in ("jain", "max_over_mean", "jain_sampled", "max_over_mean_sampled"):
        rows = up.filter(pl.col(key).is_not_null())
        if len(rows) < 2:
            found[key] = (rows[key][0] if len(rows) else None, "uplinks")
        elif one_speed(run) and not key.endswith("sampled"):
            # The load of a group is then its bytes.
            found[key] = (float((rows[key] * rows["tx_bytes"]).sum()) / whole(rows["tx_bytes"].sum()), "uplinks")
    return found


def one_speed(run: Run) -> bool:
    """All links have one rate, and none fails."""
    s = run.facts.scenario
    topology = s.get("topology") or {}
    fails = s.get("failure") or float((s.get("failures") or {}).get("probability") or 0) > 0
    listed = any(isinstance(v, (list, dict)) or k == "file" for k, v in topology.items())
    return not fails and not listed and len({v for k, v in topology.items() if "rate" in k}) == 1


def table_like(name: str) -> bool:
    return name.endswith((".parquet", ".csv"))


def at(tree: Any, path: str) -> Any:
    """The value at ``jobs[0].time_ps``; None where there is none."""
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            tree = tree[int(index)] if index else tree[key]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def numbers(value: Any) -> int:
    """Numbers of a leaf; a text without any counts as one."""
    return max(words.numbers(value), 1) if isinstance(value, str) else 1


def leaves(tree: Any, path: str = "") -> list[tuple[str, Any]]:
    """Numbers, texts, flags and nulls with their paths."""
    if isinstance(tree, dict):
        return [x for k, v in tree.items() for x in leaves(v, f"{path}.{k}" if path else k)]
    if isinstance(tree, list):
        return [x for n, v in enumerate(tree) for x in leaves(v, f"{path}[{n}]")]
    return [(path, tree)]

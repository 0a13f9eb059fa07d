"""The report of a run: its heading, numbers at the top, lists, tables and the data of its drawings."""

from __future__ import annotations

import array
import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import polars as pl

from .. import _units
from . import sentences, words
from .facts import UNLIMITED, Damaged, quantile
from .jobs import CAUSES, IN_WORDS, Job
from .ledger import Verification
from .manifest import Run, load_balance, numbers
from .words import count, time

FILE = "report.html"
#: Tags without an end.
VOID = {"meta", "link", "br", "img", "input", "hr"}
#: Numbers of a kind that are listed as differences one by one.
LISTED = 20
#: Mechanisms, as readers see them.
NAMES = {k: k.upper() for k in ("pfc", "cbfc", "pffc", "bfc", "dcqcn", "timely", "hpcc", "qcn")} | {"uec-cbfc": "Ultra Ethernet CBFC", "ib-cc": "IB CC"}
NAMES |= {f"gfc-{k}": f"{w} GFC" for k, w in (("conceptual", "Conceptual"), ("buffer", "Buffer-based"), ("time", "Time-based"))}
SAMPLES, DRAWING = "a sample that no table has", "the drawing"
NEVER_SENT = "messages that a job never sent are in no table"


@dataclass
class Element:
    """An element of the page."""

    tag: str
    attributes: dict[str, str | None]
    parts: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(p if isinstance(p, str) else p.text for p in self.parts)

    def all(self, tag: str = "", cls: str = "", ident: str = "") -> Iterator[Element]:
        """Elements below it with this tag, class and name."""
        for p in self.parts:
            if isinstance(p, Element):
                classes = (p.attributes.get("class") or "").split()
                if (not tag or p.tag == tag) and (not cls or cls in classes) and (not ident or p.attributes.get("id") == ident):
                    yield p
                yield from p.all(tag, cls, ident)

    def first(self, tag: str = "", cls: str = "", ident: str = "") -> Element | None:
        return next(self.all(tag, cls, ident), None)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        new = Element(tag, dict(attrs))
        self.open[-1].parts.append(new)
        if tag not in VOID:
            self.open.append(new)

    def handle_endtag(self, tag: str) -> None:
        if any(e.tag == tag for e in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


class Page:
    """A report in parts: the elements of its body, its data and the columns of numbers beside them."""

    def __init__(self, html: str) -> None:
        # The program and its library, most of the file, begin behind the data.
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
        packed = re.search(r'<script type="text/plain" id="packed">(.*?)</script>', html, re.DOTALL)
        reader = _Reader()
        reader.feed(html[: data.start()] if data else html.partition("<script")[0])
        self.body = reader.open[0]
        self.data: dict[str, Any] | None = json.loads(data[1]) if data else None
        self.blob = zlib.decompress(base64.b64decode(packed[1])) if packed else b""

    def column(self, c: dict[str, Any]) -> pl.Series:
        """Numbers of a column."""
        kind, dtype = {"u16": ("H", pl.UInt16), "u32": ("I", pl.UInt32), "f64": ("d", pl.Float64)}[c["c"]]
        numbers = array.array(kind)
        numbers.frombytes(self.blob[c["o"] : c["o"] + c["n"] * numbers.itemsize])
        found = pl.Series(numbers, dtype=dtype)
        return found.cast(pl.UInt64) if kind != "d" or ((found.floor() == found) & (found >= 0)).all() else found


def short(value: float | None) -> str:
    return "-" if value is None else _units.short(value)


def perhaps(n: int | None) -> str:
    return "-" if n is None else count(n)


def read(html: str, name: str) -> Page:
    try:
        return Page(html)
    except (ValueError, KeyError, zlib.error, EOFError) as e:
        raise Damaged(f"{name}: {e}") from None


def check(run: Run, page: Page, ledger: Verification) -> None:
    _Checks(run, page, ledger).all()


class _Checks:
    def __init__(self, run: Run, page: Page, ledger: Verification) -> None:
        self.run, self.page, self.ledger = run, page, ledger
        self.facts, self.said, self.m = run.facts, run.said, run.manifest

    def equal(self, place: str, printed: Any, derived: Any, table: str) -> None:
        self.ledger.equal(f"{FILE}: {place}", printed, derived, table)

    def column(self, place: str, printed: pl.Series, derived: pl.Series, table: str) -> None:
        """Compares many numbers."""
        if len(printed) != len(derived):
            self.equal(place, f"{len(printed)} numbers", f"{len(derived)} numbers", table)
            return
        a, b = printed.fill_null(0), derived.fill_null(0)
        wrong = (a.cast(pl.Float64) != b.cast(pl.Float64)).arg_true()
        self.ledger.compared += len(a) - len(wrong)
        for nth, i in enumerate(wrong):
            if nth < LISTED:
                self.equal(f"{place}[{i}]", a[i], b[i], table)
            else:
                self.ledger.compared += 1

    def all(self) -> None:
        self.head()
        self.lists()
        self.balance()
        self.foot()
        if self.page.data is not None:
            self.data(self.page.data)

    # The body.

    def head(self) -> None:
        body, verdict = self.page.body, self.m["verdict"]
        h1, subject = body.first("h1"), body.first("p", "subject")
        # The headline of the manifest is compared with the tables.
        self.equal("heading", h1.text if h1 else None, verdict["headline"], "manifest.json, verdict")
        self.subject("subject", subject.text if subject else "")
        for card in body.all("div", "card"):
            label, value, note = ((e.text if (e := card.first("div", c)) else "") for c in ("label", "value", "note"))
            self.card(f"'{label}'", label, value, note)

    def subject(self, place: str, text: str) -> None:
        """``Ring · GFC (buffer) · seed 1``: title, mechanisms, seed."""
        kinds = [k for k in (self.facts.param(s, "kind") for s in ("flow_control", "rate_control")) if k not in ("none", None)]
        title, *names, seed = text.rsplit(" · ", len(kinds) + 1)
        self.equal(place, title, self.facts.param("run", "title") or "Run", "the scenario")
        self.equal(place, [NAMES.get(k, k) for k in kinds], names, "the scenario")
        self.equal(place, seed, f"seed {self.facts.param('run', 'seed')}", "the scenario")

    def card(self, place: str, label: str, value: str, note: str) -> None:
        facts, table, why = self.facts, "flows", ""
        derived: tuple[str, str]
        if label == "Simulated time":
            derived, table = (time(self.said.end), note), "flows, the scenario"
            sentences.compare(self.ledger, f"{FILE}: {place}", note, self.said)
        elif label == "Flows complete":
            total, done, left = self.said.flows, facts.completed, self.said.unfinished
            if total is None or left is None:
                self.ledger.skip(f"{FILE}: {place}", NEVER_SENT, words.numbers(value) + words.numbers(note))
                return
            words_ = f"{count(left)} unfinished" if left else f"{count(total - done)} of unlimited size" if total > done else ""
            derived = (f"{count(done)} of {count(total)}", words_)
        elif label == "Slowdown, 99th percentile":
            found = facts.slowdown(self.said.end)
            at_least = "≥ " if found and found["censored"] else ""
            derived = (f"{at_least}{found['p99']:.2f}", f"median {at_least}{found['median']:.2f}") if found else ("", "")
        elif label == "Pauses":
            held = len(facts.ports.filter(pl.col("pauses") + pl.col("blocks") > 0))
            derived = (count(facts.sum("pauses")), f"{count(held)} port{'' if held == 1 else 's'} paused or blocked at least once")
            table = "ports"
        elif label == "Frames lost":
            derived, table = (count(self.m["verdict"]["lost_frames"]), ""), "manifest.json, verdict"
        elif label == "Deadlock":
            found_ = facts.deadlock
            table = "deadlocks"
            if found_:
                derived = (f"at {time(found_[0])}", f"{len(found_[1])} ports in the cycle")
            else:
                state = self.m["verdict"]["deadlock"]["state"]
                derived = ("none", "checked during the whole run") if state == "none" else ("not checked", self.m["verdict"]["deadlock"]["why"])
        else:
            why = "no such number is known"
            derived = (value, note)
        if why:
            self.ledger.skip(f"{FILE}: {place}", why, 2)
            return
        self.equal(place, value, derived[0], table)
        if label != "Simulated time" and (note or derived[1]):
            self.equal(f"{place}, note", note, derived[1], table)

    def lists(self) -> None:
        about = self.page.body.first("section", ident="about")
        if about is None:
            return
        title, known = "", ("Active", "Inactive", "Warnings")
        self.texts("lists", [e.text for e in about.all("h3") if e.text in known], [k for k in known if self.m[k.lower()]])
        for e in about.all():
            if e.tag == "h3":
                title = e.text
            elif e.tag == "ul":
                items = [i.text for i in e.all("li")]
                if title in known:
                    # Those of the manifest are compared with the tables.
                    self.texts(title, items, self.m[title.lower()])
                else:
                    self.left_out(items)
            elif e.tag == "summary" and "Parameters" in e.text:
                self.equal("parameters", e.text, f"Parameters, with where each came from ({len(self.m['parameters'])})", "manifest.json")
        rows = [[c.text for c in r.all("td")] for r in about.all("tr")]
        rows = [r for r in rows if len(r) == 4]
        for n, key in enumerate(("path", "value", "origin", "source")):
            self.texts(f"parameters, {key}", [r[n] for r in rows], [p[key] for p in self.m["parameters"]])

    def texts(self, place: str, printed: list[str], derived: list[str]) -> None:
        for n in range(max(len(printed), len(derived))):
            a, b = (x[n] if n < len(x) else None for x in (printed, derived))
            self.equal(f"{place}[{n}]", a, b, "manifest.json")

    def left_out(self, items: list[str]) -> None:
        data = self.page.data or {}
        course = data.get("course")
        for n, text in enumerate(items):
            place = f"what it shows[{n}]"
            if m := re.match(r"(\d+) samples over time, at most (\S+ \S+) apart", text):
                times = course["times"] if course else [0]
                longest = max((b - a for a, b in zip(times, times[1:], strict=False)), default=0)
                self.equal(place, m[1], str(len(times) - 1), "its samples")
                self.equal(place, m[2], time(longest), "its samples")
            elif m := re.match(r"The state recurred after (\S+ \S+)\. Fast-forward skipped (\S+ \S+) of the run", text):
                skipped = self.m["fast_forward"]
                for group, key in ((m[1], "longest_ps"), (m[2], "skipped_ps")):
                    self.equal(place, group, time(skipped[key]), "manifest.json")
            elif m := re.match(r"(\d+) of (\d+) (flows are listed|deadlocks are shown)", text):
                flows = m[3].startswith("flows")
                total = self.said.flows if flows else self.facts.tables["deadlocks"]["cycle"].n_unique()
                self.equal(place, m[1], str(len(data["flows"]["list"] if flows else data["deadlocks"])), "its data")
                if total is None:
                    self.ledger.skip(f"{FILE}: {place}", NEVER_SENT)
                else:
                    self.equal(place, m[2], str(total), "flows" if flows else "deadlocks")
            else:
                self.ledger.skip(f"{FILE}: what it shows[]", "what it leaves out", numbers(text))

    def balance(self) -> None:
        section = self.page.body.first("section", ident="balance")
        if section is None:
            return
        b = {**(self.m.get("load_balance") or {}), **{k: v for k, (v, _) in load_balance(self.run).items()}}
        known = {
            "Uplinks, Jain's index": short(b["jain"]),
            "Uplinks, largest over mean": short(b["max_over_mean"]),
            "Uplinks over time, Jain's index": short(b["jain_sampled"]),
            "Uplinks over time, largest over mean": short(b["max_over_mean_sampled"]),
            "Flows that collided": f"{count(b['collided'])} of {count(b['flows'])}",
            "Paths of a flow, mean": short(b["paths_mean"]),
            "Frames out of order": f"{count(b['frames_ahead'])} of {count(self.facts.delivered_frames() or self.m['delivered_frames'])}",
            "Largest reorder buffer": _units.size(b["ahead_bytes_max"]),
            "Longest wait for order": _units.time(b["ahead_ps_max"]),
        }
        known |= {f"Time of job {j.name}, over the ideal": short(j.time / j.ideal) for j in self.run.jobs if j.ideal}
        rows = [[c.text for c in r.all("td")] for r in section.all("tr")]
        for row in rows:
            if len(row) == 3:
                self.equal(f"load balance, {row[0]}", row[1], known.get(row[0]), "uplinks, flows, ranks")
        groups = [r for r in rows if len(r) == 9]
        up = self.facts.tables["uplinks"].filter(pl.col("max_over_mean").is_not_null())
        if summary := section.first("summary"):
            self.equal("load balance, groups", summary.text.rpartition("(")[2].rstrip(")"), str(len(up)), "uplinks")
        up = up.sort("max_over_mean", descending=True, maintain_order=True)
        for n, (row, u) in enumerate(zip(groups, up.iter_rows(named=True), strict=False)):
            derived = [u["switch"], str(u["ports"]), str(u["used"]), _units.size(u["tx_bytes"])]
            derived += [short(u[k]) for k in ("jain", "max_over_mean", "jain_sampled")] + [perhaps(u[k]) for k in ("flows", "collided")]
            for c, (printed, value) in enumerate(zip(row, derived, strict=True)):
                self.equal(f"load balance, group {n}, column {c}", printed, value, "uplinks")

    def foot(self) -> None:
        footer = self.page.body.first("footer")
        for row in footer.all("div") if footer else []:
            name, value = ((e.text if (e := row.first(t)) else "") for t in ("dt", "dd"))
            commit = self.m["xoff_commit"]
            given = {"seed": str(self.facts.param("run", "seed")), "result hash": self.m["result_hash"], "started": self.m["started"]}
            given["xoff"] = self.m["xoff_version"] + (f" ({commit})" if commit else "")
            if name == "charts":
                self.ledger.skip(f"{FILE}: {name}", DRAWING, numbers(value))
            else:
                self.equal(name, value, given.get(name), "manifest.json")

    # The data.

    def data(self, d: dict[str, Any]) -> None:
        facts = self.facts
        self.subject("data.subject", d["subject"])
        self.equal("data.end_ps", d["end_ps"], self.said.end, "flows, the scenario")
        cards = [((e.attributes.get("class") or "").split()[-1], *e.parts) for e in self.page.body.all("div", "card")]
        shown = [(f["tone"], *(f[k] for k in ("label", "value", "note") if f[k])) for f in d["facts"]]
        self.equal("data.facts", shown, [tuple(p if isinstance(p, str) else p.text for p in c) for c in cards], "its numbers at the top")
        shown_lists = [i.text for e in self.page.body.all("ul", "left-out") for i in e.all("li")]
        self.equal("data.left_out", d["left_out"], shown_lists[len(shown_lists) - len(d["left_out"]) :], "its lists")
        for key in ("folder", "tiers", "live", "real", "served"):
            self.ledger.skip(f"{FILE}: data.{key}", DRAWING)
        self.ledger.skip(f"{FILE}: data.nodes", DRAWING, 2 * len(d["nodes"]["x"]))
        self.ports(d)
        for key, column in (("tx", "tx_bytes"), ("egress_max", "egress_bytes_max"), ("ingress_max", "ingress_bytes_max")):
            self.column(f"data.totals.{key}", self.page.column(d["totals"][key]), facts.ports[column], "ports")
        for key in ("pauses", "paused_ps", "blocks", "blocked_ps", "marked", "marked_ue", "dropped"):
            self.column(f"data.totals.{key}", self.page.column(d["totals"][key]), facts.ports[key], "ports")
        if d["course"]:
            self.course(d["course"])
        self.flows(d["flows"], d["nodes"]["name"])
        self.deadlocks(d["deadlocks"])
        for view, job in zip(d["jobs"], self.run.jobs, strict=False):
            self.job(view, job, d)

    def ports(self, d: dict[str, Any]) -> None:
        names, p = d["nodes"]["name"], d["ports"]
        suffix = {int(k): v for k, v in p["suffix"].items()}
        ends = [self.page.column(p[k]) for k in ("node", "peer")]
        # The peer is a port, whose node is the far end.
        node = ends[0].to_list()
        far = [node[i] for i in ends[1]]
        found = [f"{names[a]}->{names[b]}{suffix.get(i, '')}" for i, (a, b) in enumerate(zip(node, far, strict=True))]
        self.texts("data.ports", found, list(self.facts.ports["port"]))
        self.ledger.skip(f"{FILE}: data.ports.rate", "an input", p["rate"]["n"])

    def course(self, c: dict[str, Any]) -> None:
        times, ports = c["times"], self.facts.ports
        self.equal("data.course.times", times[-1], self.said.end, "flows, the scenario")
        self.ledger.skip(f"{FILE}: data.course.times", SAMPLES, len(times) - 1)
        sums = {}
        for key in ("sent", "marked"):
            cells = self.page.column(c[key]).to_frame("v").with_row_index("i")
            by_port = cells.group_by(pl.col("i") // len(times)).agg(pl.col("v").sum()).sort("i")
            sums[key] = by_port["v"]
        self.column("data.course.sent, by port", sums["sent"], ports["tx_bytes"], "ports")
        self.column("data.course.marked, by port", sums["marked"], ports["marked"] + ports["marked_ue"], "ports")
        waiting = sum(1 + (w[2] is not None) + len(w[3]) * 2 for look in c["waiters"] for w in look or [])
        for key in ("stopped", "limit", "egress", "ingress"):
            self.ledger.skip(f"{FILE}: data.course.{key}", SAMPLES, c[key]["n"])
        self.ledger.skip(f"{FILE}: data.course.waiters", SAMPLES, waiting)

    def flows(self, v: dict[str, Any], names: list[str]) -> None:
        flows = self.facts.flows
        sized = flows.filter(pl.col("size_bytes") != UNLIMITED)
        never = self.said.never_sent
        if never is None:
            self.ledger.skip(f"{FILE}: data.flows", NEVER_SENT, 3)
        else:
            for key, n in (("total", len(flows)), ("sized", len(sized)), ("unfinished", len(self.facts.unfinished))):
                self.equal(f"data.flows.{key}", v[key], n + never, "flows")
        slowdowns = self.facts.slowdowns(self.said.end)
        self.curve("fct", v["fct"], sorted(sized["fct_ps"].drop_nulls()), v["sized"] if never is None else len(sized) + never)
        self.curve("slowdown", v["slowdown"], sorted(s for _, s, bound in slowdowns if not bound), len(slowdowns))
        self.equal("data.flows.sizes, flows", sum(g["flows"] for g in v["sizes"]), len(slowdowns), "flows")
        for n, g in enumerate(v["sizes"]):
            own = [s for s in slowdowns if g["from"] <= s[0] <= g["to"]]
            ordered = sorted(s[1] for s in own) or [0.0]
            sizes = [s[0] for s in own] or [0]
            derived = {"from": min(sizes), "to": max(sizes), "mean": sum(sizes) / len(sizes), "flows": len(own)}
            derived |= {"unfinished": sum(s[2] for s in own), **{f"p{p}": quantile(ordered, p / 100) for p in (50, 95, 99)}}
            for key, value in derived.items():
                self.equal(f"data.flows.sizes[{n}].{key}", g[key], value, "flows")
        wanted = ("flow", "src", "dst", "size_bytes", "bytes_delivered", "start_ps", "fct_ps", "slowdown")
        rows = {r[0]: r for r in flows.select(wanted).iter_rows()}
        for n, r in enumerate(v["list"]):
            own_row = rows.get(r[0])
            printed = [r[0], names[r[1]], names[r[2]], UNLIMITED if r[3] is None else r[3], *r[4:]]
            for key, a, b in zip(wanted, printed, own_row or [None] * len(wanted), strict=True):
                self.equal(f"data.flows.list[{n}].{key}", a, b, "flows")
        for flow, (src, dst) in v["ends"].items():
            own_row = rows.get(int(flow))
            self.equal(f"data.flows.ends[{flow}]", (names[src], names[dst]), own_row[1:3] if own_row else None, "flows")

    def curve(self, name: str, c: dict[str, Any], ordered: list[float], total: int) -> None:
        """Each point is a value and the share of flows up to it."""
        for n, (x, y) in enumerate(zip(c["x"], c["y"], strict=True)):
            place = round(y * total) - 1
            inside = 0 <= place < len(ordered)
            self.equal(f"data.flows.{name}.x[{n}]", x, ordered[place] if inside else None, "flows")
            self.equal(f"data.flows.{name}.y[{n}]", y, (place + 1) / total if total else None, "flows")
        if ordered:
            self.equal(f"data.flows.{name}, ends", (c["x"][0], c["x"][-1]), (ordered[0], ordered[-1]), "flows")

    def deadlocks(self, found: list[dict[str, Any]]) -> None:
        cycles = self.facts.tables["deadlocks"].sort("cycle", "position").partition_by("cycle", maintain_order=True)
        self.equal("data.deadlocks", len(found), min(len(cycles), 16), "deadlocks")
        for n, (d, c) in enumerate(zip(found, cycles, strict=False)):
            self.equal(f"data.deadlocks[{n}].start_ps", d["start_ps"], c["start_ps"][0], "deadlocks")
            self.equal(f"data.deadlocks[{n}].seen_ps", d["seen_ps"], c["time_ps"][0], "deadlocks")
            self.ledger.skip(f"{FILE}: data.deadlocks[].stuck", "no table counts it")
            names = list(self.facts.order)
            for i, (p, row) in enumerate(zip(d["ports"], c.iter_rows(named=True), strict=False)):
                printed = (names[p["port"]], p["priority"], p["frames"], p["bytes"], p["start_ps"])
                keys = ("port", "priority", "frames", "bytes", "blocked_start_ps")
                for key, value in zip(keys, printed, strict=True):
                    self.equal(f"data.deadlocks[{n}].ports[{i}].{key}", value, row[key], "deadlocks")

    def job(self, v: dict[str, Any], job: Job, d: dict[str, Any]) -> None:
        names, place = d["nodes"]["name"], f"data.jobs[{job.nth}]"
        self.equal(f"{place}.name", v["name"], job.name, "the scenario")
        self.equal(f"{place}.causes", v["causes"], [IN_WORDS.get(c, c) for c in CAUSES], "critical_path")
        hosts = [job.hosts[r] for r in sorted(job.hosts)]
        self.equal(f"{place}.hosts", [names[h] for h in v["hosts"]], hosts, "ranks")
        self.equal(f"{place}.total", v["total"], job.begun, "ranks")
        done, begin = job.iterations, v["begin"]
        longest = done.index(job.longest) - begin if job.longest else None
        self.equal(f"{place}.longest", v["longest"], longest, "ranks")
        ports = list(self.facts.order)
        for n, view in enumerate(v["iterations"]):
            nth, at = begin + n, f"{place}.iterations[{n}]"
            ranks = job.ranks.filter(pl.col("iteration") == nth)
            self.equal(f"{at}.start_ps", view["start_ps"], ranks["start_ps"].min(), "ranks")
            if nth >= len(done):
                continue
            it = done[nth]
            for key, value in (("end_ps", it.end), ("time_ps", it.time), ("exposed_ps", it.exposed)):
                self.equal(f"{at}.{key}", view[key], value, "ranks")
            for i, cause in enumerate(CAUSES):
                self.equal(f"{at}.path_ps[{i}]", view["path_ps"][i], it.path[cause], "critical_path")
            x, s = it.straggler, view["straggler"]
            self.equal(f"{at}.straggler", s is None, x is None, "critical_path")
            if s and x:
                derived = {"flow": x.flow, "start_ps": x.start, "end_ps": x.end, **{f"{c}_ps": p for c, p in x.lost.items()}}
                derived |= {k: r for k, r in zip(("from_rank", "to_rank"), job.ends_of(x.flow), strict=True) if r is not None}
                for key, value in derived.items():
                    self.equal(f"{at}.straggler.{key}", s[key], value, "critical_path")
                if s["port"]:
                    paused = self.facts.paused(ports[s["port"][0]], int(job.section.get("priority", 0)), x.start, x.end)
                    self.equal(f"{at}.straggler.port", s["port"][1], paused, "pauses")
        path = job.path.filter(pl.col("iteration") == done.index(job.longest)).sort("position") if job.longest else job.path.clear()
        path = path.tail(v["path"]["from"]["n"])
        for key, column in (("from", "start_ps"), ("to", "end_ps"), ("rank", "rank")):
            self.column(f"{place}.path.{key}", self.page.column(v["path"][key]), path[column], "critical_path")
        causes = pl.Series([CAUSES.index(c) for c in path["cause"]], dtype=pl.UInt64)
        self.column(f"{place}.path.cause", self.page.column(v["path"]["cause"]), causes, "critical_path")
        self.states(v, job, place)

    def states(self, v: dict[str, Any], job: Job, place: str) -> None:
        """Times in which a rank computed and had messages in flight, added up from its stretches."""
        first, start, end, state = (self.page.column(v[k]).to_list() for k in ("first", "from", "to", "state"))
        rows = {(r["rank"], r["iteration"]): r for r in job.ranks.iter_rows(named=True)}
        several = len(v["iterations"])
        # Behind those of a rank is the end of its last ones.
        per_rank = several + 1 if len(first) == len(v["ranks"]) * (several + 1) else several
        for r, rank in enumerate(v["ranks"]):
            for n in range(several):
                row = rows.get((rank, v["begin"] + n))
                at = r * per_rank + n
                if row is None or row["end_ps"] is None:
                    continue
                last = first[at + 1] if at + 1 < len(first) else len(start)
                sums = [0, 0, 0]
                for i in range(first[at], last):
                    sums[int(state[i])] += end[i] - start[i]
                derived = {"compute_ps": sums[0] + sums[1], "comm_ps": sums[1] + sums[2], "exposed_ps": sums[2]}
                for key, value in derived.items():
                    self.equal(f"{place}.ranks[{r}], iteration {n}, {key}", value, row[key], "ranks")

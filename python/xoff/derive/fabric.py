"""A run of a scheduled fabric: its totals, its answer and its report, from windows, fabric_ports and host_flows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from . import hashed, manifest, words
from .facts import Damaged, Facts, Tables, whole
from .ledger import Verification
from .manifest import COUNTER, at, leaves
from .page import FILE as PAGE
from .page import Page
from .words import count, time


def is_one(m: dict[str, Any]) -> bool:
    return bool(m.get("fabric"))


def check(folder: Path, m: dict[str, Any], ledger: Verification, page: Page | None, answer: dict[str, Any] | None) -> None:
    """Compares a run of a fabric."""
    try:
        tables = Tables(folder, [f["name"] for f in m["files"]])
        facts = Facts(tables, m["scenario"])
        windows, ports = tables["windows"], tables["fabric_ports"]
    except KeyError as e:
        raise Damaged(f"{folder / 'manifest.json'}: no {e}") from None
    totals(folder, m, "manifest.json", facts, ledger)
    if answer is not None:
        totals(folder, answer, "answer", facts, ledger)
    if page is not None:
        report(page, m, windows, ports, ledger)


def totals(folder: Path, m: dict[str, Any], file: str, facts: Facts, ledger: Verification) -> None:
    tables = facts.tables
    ports = tables["fabric_ports"]
    seen: set[str] = set()

    def number(path: str, derived: Any, table: str) -> None:
        seen.add(path)
        ledger.equal(f"{file}: {path}", at(m, path), derived, table)

    manifest.inputs(m, file, tables, facts, number, ledger)
    seen.add("result_hash")
    hashed.compare(ledger, f"{file}: result_hash", m["result_hash"], lambda: hashed.of_fabric(tables))
    end = facts.duration
    if "(run.duration)" in m["ended_because"]:
        number("simulated_seconds", end * 1e-12, "the scenario")
        stuck = m["fabric"]["stuck"]
        number("ended_because", f"stopped at {time(end)} (run.duration)" + (f"; {stuck}" if stuck else ""), "the scenario")
    number("seed", facts.param("run", "seed"), "the scenario")
    for key in ("dropped_frames", "lost_frames", "verdict.lost_frames", "verdict.work.incomplete", "verdict.losses.control_frames"):
        number(key, 0, "an adapter drops nothing")
    v = m["verdict"]
    stopped = m["ended_because"].startswith("interrupted")
    for path in ("interrupted", "verdict.interrupted"):
        number(path, stopped, f"{file}, ended_because")
    stuck = m["fabric"]["stuck"]
    number("verdict.deadlock.state", "found" if stuck else "none", f"{file}, fabric")
    if stuck:
        number("verdict.deadlock.what", stuck, f"{file}, fabric")
        number("deadlock", v["deadlock"]["ports"], f"{file}, verdict")
    else:
        number("deadlock", None, f"{file}, fabric")
    number("verdict.promises.state", manifest.broken(v), f"{file}, verdict")
    number("verdict.work.unit", "packets", "the scenario")
    number("verdict.answer", manifest.answer(v), f"{file}, verdict")
    number("verdict.headline", headline(v), f"{file}, verdict")
    number("verdict.work.total", m["flows_total"], f"{file}, flows_total")
    number("verdict.work.complete", m["flows_completed"], f"{file}, flows_completed")
    for load in ("normal", "hotspot"):
        lines = ports.filter(pl.col("load") == load)
        delivered = whole(lines["delivered_bytes"].sum())
        if "throughput" in m:
            name = "throughput" if load == "normal" else "hotspot_throughput"
            line = rate_of(facts)
            measured = m["fabric"]["measured_ps"]
            if line is None:
                ledger.skip(f"{file}: {name}", "the rate of a line is in no table")
                seen.add(name)
            else:
                time_ = line * measured * len(lines)
                share = delivered * 8e12 / time_ if time_ else 0.0 if load == "normal" and not len(lines) else None
                number(name, share, "fabric_ports")
    if m["fabric"]["hot_bytes_by_input"]:
        total = whole(ports.filter(pl.col("load") == "hotspot")["delivered_bytes"].sum())
        ledger.equal(f"{file}: fabric.hot_bytes_by_input, sum", sum(m["fabric"]["hot_bytes_by_input"]), total, "fabric_ports")
        seen |= {f"fabric.hot_bytes_by_input[{n}]" for n in range(len(m["fabric"]["hot_bytes_by_input"]))}
    pauses = whole(ports["pauses"].sum())
    for n, text in enumerate(m["active"]):
        if found := re.fullmatch(r"PAUSE: ([\d,]+) times", text):
            seen.add(f"active[{n}]")
            ledger.equal(f"{file}: active[{n}]", found[1], count(pauses), "fabric_ports")
        elif found := re.fullmatch(r"CNMs: ([\d,]+)", text):
            seen.add(f"active[{n}]")
            ledger.equal(f"{file}: active[{n}]", found[1], count(whole(tables["host_flows"]["cnms"].sum())), "host_flows")
        elif found := re.fullmatch(r"request-grant: ([\d,]+) segments, ([\d,]+) of them unsolicited; ([\d,]+) control messages alone \(([\d.]+) % of the bytes\)", text):
            f = m["fabric"]
            share = 100.0 * f["control_bytes"] / max(f["control_bytes"] + f["segment_bytes"], 1)
            seen.add(f"active[{n}]")
            for a, b in zip(found.groups(), (*(count(f[k]) for k in ("segments", "unsolicited", "control")), f"{share:.2f}"), strict=True):
                ledger.equal(f"{file}: active[{n}]", a, b, f"{file}, fabric")
        elif found := re.fullmatch(r"resequencing: ([\d,]+) segments overtook an earlier segment of their flow", text):
            seen.add(f"active[{n}]")
            ledger.equal(f"{file}: active[{n}]", found[1], count(m["fabric"]["out_of_order"]), f"{file}, fabric")
    if "control_share" in m:
        f = m["fabric"]
        number("control_share", f["control_bytes"] / max(f["control_bytes"] + f["segment_bytes"], 1), f"{file}, fabric")
        for key in ("queue_bytes_max", "reassembly_bytes_max"):
            number(key, f[key], f"{file}, fabric")
        for key, of in (("delay_ps", "cold"), ("hotspot_delay_ps", "hot")):
            if m[key]:
                for name, other in (("packets", "packets"), ("mean", "mean_ps"), ("p99", "p99_ps"), ("max", "max_ps")):
                    number(f"{key}.{name}", f[of][other], f"{file}, fabric")
    if file == "manifest.json":
        seen |= {f"files[{nth}].name" for nth, _ in enumerate(m["files"])}  # a file of another name cannot be read
        for nth, f in enumerate(m["files"]):
            path = folder / f["name"]
            if path.exists():
                number(f"files[{nth}].bytes", path.stat().st_size, f["name"])
                rows = len(tables[f["name"].rsplit(".", 1)[0]]) if manifest.table_like(f["name"]) else path.read_bytes().count(b"\n")
                number(f"files[{nth}].rows", rows, f["name"])
    else:
        seen |= {f"files[{nth}].{k}" for nth, _ in enumerate(m["files"]) for k in ("rows", "bytes")}
    for path, value in leaves(m):
        general = re.sub(r"\[\d+\]", "[]", path)
        why = next((w for pattern, w in manifest.WHY if re.fullmatch(pattern, general)), COUNTER)
        if path not in seen and not any(path.startswith(f"{s}[") for s in seen):
            ledger.skip(f"{file}: {path}", why, manifest.numbers(value))


def headline(v: dict[str, Any]) -> str:
    said = ["interrupted; partial results kept"] if v["interrupted"] else []
    if n := v["promises"].get("violations", 0):
        said.append(f"{count(n)} check{'' if n == 1 else 's'} violated")
    if v["nothing_ran"]:
        said.append(f"nothing ran: {v['nothing_ran']}")
        if not v["deadlock"].get("what"):
            return ", ".join(said)
    return ", ".join([*said, v["deadlock"].get("what", "no deadlock"), "0 frames lost"])


def rate_of(facts: Facts) -> int | None:
    """Rate of a line [bit/s]."""
    text = facts.param("scheduled_fabric", "line")
    found = re.fullmatch(r"(\d+)Gbps", text) if isinstance(text, str) else None
    return int(found[1]) * 10**9 if found else None


def report(page: Page, m: dict[str, Any], windows: pl.DataFrame, ports: pl.DataFrame, ledger: Verification) -> None:
    def equal(place: str, printed: Any, derived: Any, table: str) -> None:
        ledger.equal(f"{PAGE}: {place}", printed, derived, table)

    h1 = page.body.first("h1")
    equal("heading", h1.text if h1 else None, m["verdict"]["headline"], "manifest.json, verdict")
    known = {"Simulated time": time(round(m["simulated_seconds"] * 1e12)), "Packets delivered": f"{m['flows_completed']} of {m['flows_total']}", "Frames lost": str(m["lost_frames"])}
    for card in page.body.all("div", "card"):
        label, value = ((e.text if (e := card.first("div", c)) else "") for c in ("label", "value"))
        equal(f"'{label}'", value, known.get(label), "manifest.json")
    d = page.data
    if d is None:
        return
    equal("data.end_ps", d["end_ps"], round(m["simulated_seconds"] * 1e12), "manifest.json")
    for n, (o, row) in enumerate(zip(d["outputs"], ports.iter_rows(named=True), strict=False)):
        equal(f"data.outputs[{n}]", o, [row["port"], row["load"] == "hotspot", row["offered_bytes"], row["delivered_bytes"]], "fabric_ports")
        ledger.compared += 1  # two numbers each
    join = max(-(-len(windows) // 2000), 1)
    start = 0
    for n, w in enumerate(d["windows"]):
        own = windows.slice(n * join, join)
        end = int(own["time_ps"][-1])
        packets, lasted = whole(own["cold_packets"].sum()), end - start
        derived: dict[str, Any] = {"end_ps": end, "delay_ps": whole(own["cold_delay_sum_ps"].sum()) / packets if packets else None}
        derived |= {k: whole(own[f"{k}_bytes"].sum()) * 8e12 / lasted if lasted else 0.0 for k in ("cold", "hot")}
        derived |= {"queue_max": own["hot_queue_bytes_max"].max(), "queue_mean": own["hot_queue_bytes_mean"][-1]}
        derived |= {"grants_max": own["grants_held_max"].max(), "grants_mean": own["grants_held_mean"][-1]}
        for key, value in derived.items():
            equal(f"data.windows[{n}].{key}", w[key], value, "windows")
        start = end
    ledger.skip(f"{PAGE}: data.flows", "host_flows, not compared", sum(len(f["rate"]) + len(f["input"]) for f in d["flows"]))

"""What ``xoff run`` printed: headline, flows, and a row for each fact."""

from __future__ import annotations

import re
from typing import Any

from . import sentences, words
from .facts import UNLIMITED
from .ledger import Verification
from .manifest import CLOCK, COUNTER, MACHINE, Run
from .words import count, rate, size, time

FILE = "printed"
LABELS = ("Run", "Flows", "Not checked", "Active", "Inactive", "Slowdown", "Report", "Tables", "Frame-hops", "Speed", "Engine", "Processes", "Fast-forward", "Time taken", "Result hash", "Packets")
#: Flows up to which they are listed.
LISTED = 20


def check(run: Run, text: str, ledger: Verification) -> None:
    """Compares the printed summary of a run."""
    facts, said, m = run.facts, run.said, run.manifest

    def equal(place: str, printed: Any, derived: Any, table: str) -> None:
        ledger.equal(f"{FILE}: {place}", printed, derived, table)

    head, rows, flows = parts(text)
    title = str(facts.param("run", "title") or "Run")
    headline = m["verdict"]["headline"]
    # Names of --allow follow the headline.
    equal("headline", head.removeprefix(f"{title}: ")[: len(headline)], headline, "manifest.json, verdict")
    # The last row is that of the tables.
    equal("rows", [label for label in ("Run", "Tables") if label in dict(rows)], ["Run", "Tables"], "the summary of a run")
    if m["flows_total"] <= LISTED:
        equal("flows", len(flows), m["flows_total"], "manifest.json, flows_total")
    for label, value in rows:
        place = label.lower()
        if label == "Run":
            sentences.compare(ledger, f"{FILE}: {place}", value, said)
        elif label == "Flows":
            total = m["flows_total"] if said.flows is None else said.flows
            equal(place, value, f"{count(facts.completed)} of {count(total)} complete", "flows")
        elif label in ("Active", "Inactive", "Slowdown"):
            if label != "Slowdown":
                equal(place, value, value if value in m[label.lower()] else None, f"manifest.json, {label.lower()}")
            sentences.compare(ledger, f"{FILE}: {place}", value, said, COUNTER)
        elif label == "":
            shown = sum(1 for one, _ in rows if one == "Active")
            active = [a for a in m["active"] if not a.startswith("deadlock: ")]
            equal("active", value, f"{len(active) - shown} more: --verbose or the report", "manifest.json, active")
        elif label == "Tables":
            full = [name for name in run.tables.files if len(run.tables[name])]
            equal(place, value.rpartition(": ")[2], ", ".join(full), "the tables")
        elif label == "Frame-hops":
            equal(place, value, f"{count(m['frame_hops'])} ({count(m['data_frame_hops'])} data)", "manifest.json")
        elif label == "Result hash":
            equal(place, value, m["result_hash"], "manifest.json")
        elif label == "Speed":
            found = re.match(r"([\d,]+) events, ", value)
            equal(place, found[1] if found else value, count(m["events"]), "manifest.json")
            ledger.skip(f"{FILE}: {place}", CLOCK)
        elif label == "Fast-forward" and (found := re.match(r"(\S+ \S+) of (\S+ \S+) simulated and ([\d,]+) of ([\d,]+) events skipped; (.*)", value)):
            f = m["fast_forward"]
            state = [f"the state recurred after {time(f['longest_ps'])}"] if f["periods"] else []
            state += [f"the same flows started {count(f['repeated'])} times in a known state"] if f["repeated"] else []
            derived = (time(f["skipped_ps"]), time(said.end), count(f["events_skipped"]), count(m["events"]), "; ".join(state))
            for a, b in zip(found.groups(), derived, strict=True):
                equal(place, a, b, "manifest.json")
        else:
            why = CLOCK if label == "Time taken" else MACHINE if label in ("Engine", "Processes", "Fast-forward") else COUNTER
            ledger.skip(f"{FILE}: {place}", why, words.numbers(value) if label not in ("Report",) else 0)
    if m.get("deadlock") and (cycle := re.search(r"^Cycle: (.*?)\n\s*\n", text, re.DOTALL | re.MULTILINE)):
        found_ = facts.deadlock
        ports = found_[1] if found_ else []
        equal("cycle", " ".join(cycle[1].split()), " waits for ".join([*ports, *ports[:1]]), "deadlocks")
    begun = {str(f["flow"]): f for f in facts.flows.head(LISTED).iter_rows(named=True)} if flows else {}
    for nth, row in enumerate(flows):
        f = begun.get(str(nth))
        if f is None:
            equal(f"flow {nth}", row[0], str(nth), "flows")
            equal(f"flow {nth}", row[4:], ["0 B", "0 b/s", "-"] if len(row) == 7 else row[4:], "flows")
            ledger.skip(f"{FILE}: flows", "a message that was never sent is in no table", sum(words.numbers(c) for c in row[1:4]))
            continue
        own = (said.end if f["end_ps"] is None else f["end_ps"]) - f["start_ps"]
        mean = f["bytes_delivered"] * 8 * 10**12 // own if own else 0
        derived_ = [str(f["flow"]), f["src"], f["dst"], "unlimited" if f["size_bytes"] == UNLIMITED else size(f["size_bytes"])]
        derived_ += [size(f["bytes_delivered"]), rate(mean), "-" if f["fct_ps"] is None else time(f["fct_ps"])]
        if len(row) != len(derived_):
            ledger.skip(f"{FILE}: flows", "the terminal was too narrow", sum(words.numbers(c) for c in row))
            continue
        for column, a, b in zip(("flow", "from", "to", "size", "delivered", "mean rate", "completion time"), row, derived_, strict=True):
            equal(f"flow {f['flow']}, {column}", a, b, "flows")
    if (next_ := re.search(r"xoff explain .* (\S+:\S+) (\S+)$", text, re.MULTILINE)) and (found_ := facts.deadlock):
        equal("next", next_[1].strip("'"), found_[1][0].replace("->", ":", 1), "deadlocks")
        equal("next", words.read_time(next_[2]), rounded_up(found_[0], said.end), "deadlocks")


def rounded_up(ps: int, end: int) -> int:
    """The next time with two digits, if the run reached it."""
    step = 10 ** max(len(str(ps)) - 2, 0)
    up = -(-ps // step) * step
    return up if up <= end else ps


def parts(text: str) -> tuple[str, list[tuple[str, str]], list[list[str]]]:
    """Headline, rows of labels and values, and rows of the table of flows."""
    lines = text.splitlines()
    head = lines[0] if lines else ""
    rows: list[tuple[str, str]] = []
    flows: list[list[str]] = []
    in_flows = False
    at = 0
    for line in lines[1:]:
        if re.match(r" Flow\s+From", line):
            in_flows = True
        elif not line.strip():
            in_flows = in_flows and not flows
        elif in_flows:
            if re.match(r" \d+\s", line):
                flows.append(re.split(r"\s{2,}", line.strip()))
        elif label := next((x for x in LABELS if re.match(rf" {re.escape(x)}\s{{2,}}\S", line)), None):
            value = line[1 + len(label) :].strip()
            at = line.index(value, 1 + len(label))
            rows.append((label, value))
        elif line.startswith(" ") and rows:
            # The value continues on this line, or has no label.
            value = line.strip()
            if re.fullmatch(r"[\d,]+ more: --verbose or the report", value):
                rows.append(("", value))
            elif at and not line[:at].strip():
                rows[-1] = (rows[-1][0], f"{rows[-1][1]} {value}")
    return head, rows, flows

"""Slowdown by size, runs side by side, figures without probes, and what notebooks show."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xoff
from conftest import ROOT
from matplotlib.figure import Figure

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")

WEBSEARCH = ROOT / "scenarios" / "bench" / "gate-websearch.toml"


@pytest.fixture(scope="module")
def websearch() -> list[xoff.Run]:
    """Three seeds."""
    return [xoff.run(WEBSEARCH, seed=seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def without() -> list[xoff.Run]:
    """The same without rate control."""
    return [xoff.run(WEBSEARCH, seed=seed, rate_control="none") for seed in (1, 2, 3)]


def well_formed(html: str) -> str:
    """The text of a page whose elements are closed in order."""

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.text: list[str] = []

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

        def handle_data(self, data: str) -> None:
            self.text.append(data)

    reader = Reader()
    reader.feed(html)
    assert not reader.open
    return " ".join(reader.text)


def texts(figure: Figure) -> str:
    found = [t.get_text() for axes in figure.axes for t in [*axes.texts, axes.title, *axes.get_xticklabels()]]
    legends = [axes.get_legend() for axes in figure.axes]
    return "\n".join(found + [t.get_text() for legend in legends if legend is not None for t in legend.get_texts()])


def test_slowdown_by_size_is_that_of_the_flows(websearch: list[xoff.Run]) -> None:
    run = websearch[0]
    table = run.slowdown()
    assert table.columns == ["size", "from_bytes", "to_bytes", "flows", "unfinished", "mean", "p50", "p95", "p99", "max"]
    assert int(table["flows"].sum()) == run.flows.height and int(table["unfinished"].sum()) == 0
    for row in table.rows(named=True):
        # A second way: ceil(p n)-th of the sorted values.
        end = row["to_bytes"] or math.inf
        values = sorted(s for size, s in run.flows.select("size_bytes", "slowdown").rows() if row["from_bytes"] <= size < end)
        assert len(values) == row["flows"]
        assert [values[math.ceil(p * len(values) / 100) - 1] for p in (50, 95, 99)] == [row["p50"], row["p95"], row["p99"]]
        assert (row["mean"], row["max"]) == (pytest.approx(statistics.fmean(values)), values[-1])
    whole, together = run.slowdown([0]), run.summary.slowdown
    assert together is not None
    assert (whole["p50"][0], whole["p99"][0], whole["mean"][0]) == (together.median, together.p99, pytest.approx(together.mean))
    assert whole["size"].to_list() == ["0 B and more"]


def test_bins_may_be_chosen(websearch: list[xoff.Run]) -> None:
    run = websearch[0]
    assert run.slowdown([50_000])["from_bytes"].to_list() == [0, 50_000]
    assert run.slowdown(3)["flows"].to_list() == [11, 11, 11]
    assert int(run.slowdown(1000)["flows"].sum()) == run.flows.height
    with pytest.raises(TypeError, match="expected sizes in whole bytes"):
        run.slowdown("10KB")  # type: ignore[arg-type]
    for wrong in ([5, 3], [], [-1], 0, [1, 1]):
        with pytest.raises(ValueError, match="bins: expected"):
            run.slowdown(wrong)


def test_unfinished_flows_count_with_their_age_wherever_slowdowns_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    flow = '[[flow]]\nsrc = "{}"\ndst = "H1"\nsize = "{}"\n'
    file.write_text('[topology]\nkind = "star"\nhosts = 4\n[run]\nduration = "100us"\n' + flow.format("H0", "1500B") + flow.format("H2", "1GB") + flow.format("H3", "2GB"))
    run = xoff.run(file)
    small, large = run.slowdown().rows(named=True)
    assert (small["flows"], small["unfinished"], large["flows"], large["unfinished"]) == (1, 0, 2, 2)
    assert (large["p99"], large["mean"]) == (1.0, 1.0) and small["p99"] >= 1, "an age below the ideal time is a bound of 1"
    # One rule: the summary, a row for all sizes, and a comparison have the same median.
    together, whole = run.summary.slowdown, run.slowdown([0]).row(0, named=True)
    assert together is not None and (together.censored, together.median, together.p99) == (2, whole["p50"], whole["p99"])
    compared = xoff.compare(run, run, names=["a", "b"], bins=[0])
    medians = compared.measures.filter(pl.col("measure") == "slowdown, median")
    assert medians.select("mean", "at_least", "difference").rows() == [(together.median, True, None)] * 2
    assert compared.slowdown["p50"].to_list() == [together.median] * 2
    assert "unfinished, at least: 2" in texts(run.plot())
    assert "2" in well_formed(run._repr_html_())


def test_runs_of_several_seeds_have_intervals(websearch: list[xoff.Run], without: list[xoff.Run]) -> None:
    c = xoff.compare(websearch, without)
    assert c.names == ["dcqcn", "none"]
    assert c.parameters.filter(pl.col("path") == "rate_control.kind").row(0) == ("rate_control.kind", "dcqcn", "none")
    assert "run.seed" not in c.parameters["path"].to_list()
    p99 = c.measures.filter(pl.col("measure") == "slowdown, 99th percentile")
    assert p99["runs"].to_list() == [3, 3]

    def of(run: xoff.Run) -> float:
        return float(run.slowdown([0])["p99"][0])

    # By hand: t of 2 degrees of freedom at 95 %, two-sided.
    ours, theirs = [of(r) for r in websearch], [of(r) for r in without]
    half = 4.303 * statistics.stdev(ours) / math.sqrt(3)
    assert p99.row(0)[3:6] == (pytest.approx(statistics.fmean(ours)), pytest.approx(statistics.fmean(ours) - half), pytest.approx(statistics.fmean(ours) + half))
    pairs = [b - a for a, b in zip(ours, theirs, strict=True)]
    assert p99["difference"][1] == pytest.approx(statistics.fmean(pairs))
    assert p99["difference_high"][1] == pytest.approx(statistics.fmean(pairs) + 4.303 * statistics.stdev(pairs) / math.sqrt(3))
    assert int(c.slowdown.filter(pl.col("side") == "none")["flows"].sum()) == sum(r.flows.height for r in without)
    assert c.slowdown["p99_low"].null_count() < c.slowdown.height
    # Run by run, the same traffic.
    worst = c.victims.row(0, named=True)
    run = without[worst["seed"] - 1]
    assert run.flows.filter(pl.col("flow") == worst["flow"])["slowdown"][0] == worst["none"]
    assert worst["factor"] == max(worst["none"] / worst["dcqcn"], worst["factor"]) == c.victims["factor"].max()
    paused = c.pauses.filter(pl.col("port") == "H2->E2").row(0, named=True)
    assert paused["pauses, none"] == pytest.approx(sum(r.ports.filter(pl.col("port") == "H2->E2")["pauses"][0] for r in without) / 3)
    assert c.headline.startswith("dcqcn -> none: 99th percentile of slowdown ") and "at 95 %)" in c.headline
    page = well_formed(c._repr_html_())
    assert c.headline in page and "rate_control.kind" in page and "Pauses by port" in page
    assert c.headline in str(c)
    assert "dcqcn" in texts(c.plot())


def test_two_runs_have_no_intervals(ring: Path, pfc: xoff.Run, tmp_path: Path) -> None:
    other = xoff.run(ring, flow_control="gfc-buffer", out=tmp_path / "gfc")
    c = pfc.compare(tmp_path / "gfc")
    assert c.headline.startswith("pfc -> gfc-buffer: deadlock in 1 of 1 (pfc), 0 of 1 (gfc-buffer); time paused ")
    assert c.runs[1][0].result_hash == other.result_hash
    assert c.measures["low"].null_count() == c.measures.height
    assert c.slowdown.is_empty() and c.victims.is_empty(), "no flow has a size"
    row = c.pauses.filter(pl.col("port") == "S1->S2").row(0, named=True)
    assert row["paused_ps, pfc"] == pfc.ports.filter(pl.col("port") == "S1->S2")["paused_ps"][0] and row["paused_ps, gfc-buffer"] == 0
    assert isinstance(c.plot(), Figure)
    same = xoff.compare(pfc, pfc, names=["a", "b"])
    assert same.headline == "a -> b: deadlock in 1 of 1 (a), 1 of 1 (b)" and same.parameters.is_empty()
    assert same.measures["difference"].fill_null(0.0).to_list() == [0.0] * same.measures.height
    third = xoff.run(ring, flow_control="cbfc", run__duration="3ms")
    three = xoff.compare(pfc, other, third)
    assert three.names == ["pfc", "gfc-buffer", "cbfc"] and three.parameters.width == 4


def test_a_comparison_refuses_what_cannot_be_compared(pfc: xoff.Run, websearch: list[xoff.Run], tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected two runs or more, not 1"):
        xoff.compare(pfc)
    with pytest.raises(ValueError, match="expected 2 different names"):
        xoff.compare(pfc, pfc, names=["a"])
    with pytest.raises(ValueError, match="need different seeds, not 1, 1"):
        xoff.compare([pfc, pfc], pfc)
    with pytest.raises(ValueError, match="a side has no runs"):
        xoff.compare([], pfc)
    with pytest.raises(xoff.RunError, match="no such folder"):
        xoff.compare(pfc, tmp_path / "none")
    fabric = xoff.run(ROOT / "scenarios/fabric/hotspots.toml", run__duration="20us", run__warm_up="10us")
    with pytest.raises(TypeError, match="scheduled fabric"):
        xoff.compare(fabric, fabric)
    with pytest.raises(xoff.RunError, match="run.windows"):
        fabric.slowdown()
    assert set(fabric.tables) == {"windows", "fabric_ports", "host_flows"}


def test_a_run_without_probes_has_a_figure(ring: Path, websearch: list[xoff.Run]) -> None:
    nothing = {"interval": "0us", "queues": [], "rates": [], "flow_rates": False}
    run = xoff.run(ring, probes=nothing)
    shown = texts(run.plot())
    assert "flow 0: H1 to H3" in shown and "S3->S1" in shown
    assert run.plot().axes[0].get_ylabel() == "Goodput of flow [Gb/s]"
    heights = [p.get_height() for p in run.plot().axes[0].patches]  # type: ignore[attr-defined]
    assert heights == pytest.approx([b * 8 / 20e-3 / 1e9 for b in run.flows["bytes_delivered"].to_list()])
    over = websearch[0].plot()
    assert over.axes[0].get_ylabel() == "Slowdown (completion time / ideal)"
    assert "finished flows: 33" in texts(over) and "median" in texts(over)
    fabric = xoff.run(ROOT / "scenarios/fabric/hotspots.toml", run__duration="40us", run__warm_up="10us")
    assert fabric.plot().axes[0].get_ylabel() == "Throughput [Gb/s]"
    with pytest.raises(ValueError, match=r"has no figure 'slowdown' \(expected one of windows\)"):
        fabric.plot(kind="slowdown")
    with pytest.raises(ValueError, match="ports: the figure 'slowdown' has none to choose"):
        websearch[0].plot("H0->E0", kind="slowdown")
    for kind in ("time", "throughput", "slowdown"):
        assert isinstance(run.plot(kind=kind), Figure)


def test_notebooks_show_runs(pfc: xoff.Run, websearch: list[xoff.Run]) -> None:
    page = well_formed(pfc._repr_html_())
    assert "Three-switch ring: deadlock at" in page and "S1->S2 S2->S3 S3->S1" in page and "Active:" in page
    assert "Slowdown" in well_formed(websearch[0]._repr_html_())
    blunt = xoff.run(ROOT / "scenarios/tutorial/ring.toml", run={"duration": "1ms", "title": "<b>&"})
    assert "&lt;b&gt;&amp;" in blunt._repr_html_()


def test_the_command_gives_the_same_numbers(websearch: list[xoff.Run], without: list[xoff.Run], tmp_path: Path) -> None:
    """Rows in memory and tables in folders are compared by one implementation."""
    for name, runs in (("dcqcn", websearch), ("none", without)):
        for run in runs:
            xoff.run(WEBSEARCH, seed=run.manifest["seed"], out=tmp_path / name / str(run.manifest["seed"]), rate_control=name)
    done = subprocess.run([sys.executable, "-m", "xoff", "--json", "compare", "dcqcn", "none"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer, c = json.loads(done.stdout), xoff.compare(websearch, without)
    opened = [f"{name} contains 3 runs, taken as one side" for name in ("dcqcn", "none")]
    assert (answer["headline"], answer["notes"]) == (c.headline, opened + c.notes)
    assert [(m["measure"], m["side"], m["mean"], m["low"], m["high"]) for m in answer["measures"]] == c.measures.select("measure", "side", "mean", "low", "high").rows()
    assert [(b["size"], b["side"], b["p99"]["mean"], b["p99"]["low"]) for b in answer["slowdown"]] == c.slowdown.select("size", "side", "p99", "p99_low").rows()
    assert [(v["seed"], v["flow"], v["factor"]) for v in answer["victims"]] == c.victims.select("seed", "flow", "factor").rows()
    assert [(p["port"], *p["pauses"]) for p in answer["pauses"]] == c.pauses.select("port", "pauses, dcqcn", "pauses, none").rows()


def test_the_balance_of_load_is_the_same_everywhere(tmp_path: Path) -> None:
    drill = ROOT / "scenarios" / "mechanisms" / "drill.toml"
    probes = {"probes.interval": "2us", "probes.rates": '["uplinks"]'}
    runs = [xoff.run(drill, probes, load_balancing=kind) for kind in ("ecmp", "spray-round-robin")]
    for run in runs:
        uplinks, flows, b = run.uplinks, run.flows, run.manifest["load_balance"]
        assert uplinks["switch"].cast(str).to_list() == ["L1", "L2"] and (uplinks["ports"] == 4).all()
        # Jain's index by hand, from the counters of the ports.
        for switch, jain, sent in uplinks.select(pl.col("switch").cast(str), "jain", "tx_bytes").rows():
            loads = run.ports.filter(pl.col("port").cast(str).str.starts_with(f"{switch}->S"))["tx_bytes"]
            assert jain == pytest.approx(loads.sum() ** 2 / (4 * (loads.cast(pl.Float64) ** 2).sum())) and sent == loads.sum()
        # The same for each sample, each weighted with its load.
        rates = run.rates.filter((pl.col("source").cast(str) == "measured") & (pl.col("rate_bps") > 0)).with_columns(pl.col("port").cast(str).str.slice(0, 2).alias("at"), pl.col("rate_bps").cast(pl.Float64))
        samples = rates.group_by("at", "time_ps").agg((pl.col("rate_bps").sum() ** 2 / (4 * (pl.col("rate_bps") ** 2).sum())).alias("jain"), pl.col("rate_bps").sum().alias("load"))
        assert b["jain_sampled"] == pytest.approx((samples["jain"] * samples["load"]).sum() / samples["load"].sum())
        assert uplinks["samples"].sum() == samples.height
        assert b["collided"] == flows["collided"].sum() == uplinks["collided"].sum() and b["flows"] == uplinks["flows"].sum()
        assert b["paths_mean"] == flows.filter(pl.col("collided").is_not_null())["paths"].mean()
        assert b["frames_ahead"] == flows["frames_ahead"].sum()
    ecmp, spray = (run.manifest["load_balance"] for run in runs)
    assert ecmp["paths_mean"] == 1 and ecmp["collided"] > 0 == spray["collided"] and spray["jain"] > 0.99 > ecmp["jain"]
    measures = xoff.compare(*runs).measures
    both = measures.filter(pl.col("measure") == "uplinks over time, Jain's index")["mean"].to_list()
    assert both == [ecmp["jain_sampled"], spray["jain_sampled"]]
    # The report says the same.
    done = subprocess.run([sys.executable, "-m", "xoff", "run", str(drill), "--out", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    balance = xoff.open(tmp_path / "run").manifest["load_balance"]
    section = well_formed(page[page.index('<section class="wide" id="balance">') :].split("</section>")[0] + "</section>")
    assert "Load balance" in section and f"{balance['collided']} of {balance['flows']}" in section

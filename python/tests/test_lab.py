"""Claims of a paper: judging, and a folder of one's own."""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
import xoff
from xoff.lab import Check, ClaimError, Mean, Share, judge, quantile, units

INF = math.inf


def check(value: float, low: float, high: float, unit: str = "", **more: object) -> Check:
    return Check("x", value, low, high, unit, **more)  # type: ignore[arg-type]


# ---- judging --------------------------------------------------------------------------------------------------------------------


def test_bands_include_their_ends_and_no_nan() -> None:
    held = [check(v, 1, 2).holds for v in (1, 2, 1.5, 0.999, 2.001, math.nan)]
    assert held == [True, True, True, False, False, False]
    assert check(4, 1, INF, "deadlocks").holds and not check(0, 1, INF, "deadlocks").holds


def test_a_check_reads_as_a_sentence() -> None:
    c = judge.around(Check("queue", 806e3, 750e3, 875e3, "bytes"), 840e3)
    assert c.sentence == "queue: 806 KB, expected 750 KB to 875 KB, paper 840 KB"
    assert check(3, 0, 0, "frames").range == "0 frames" and check(3, -INF, 2, "ps").range == "2 ps or less"


def test_a_mean_holds_with_all_of_its_interval() -> None:
    def of(low: float, high: float) -> Check:
        return check(1.5, 1, 2, interval=(low, high))

    assert of(1, 2).holds and not of(0.9, 2).holds and not of(1, 2.1).holds
    assert of(1.25, 1.75).measured == "1.5 (1.25 to 1.75)"
    # No share is below zero or above one.
    share = check(0.01, 0, 0.05, "fraction", interval=(-0.01, 0.03))
    assert share.holds and share.measured == "1 % (0 % to 3 %)"
    assert not check(0.01, 0.005, 0.05, interval=(-0.01, 0.03)).holds
    assert not check(0.01, -1, 0.05, interval=(-2, 0.03)).holds


def test_each_kind_of_band_has_a_value_that_fails_it() -> None:
    cases = [
        (check(0, 0, 0, "frames"), 1.0),
        (check(1, 1, INF, "frames"), 0.0),
        (check(0, 0, 0, "bit/s"), 1.0),
        (check(5e9, 2e9, 6e9, "bit/s"), 1e9),
        (check(1.5, 1, INF), 0.5),
        (check(1.5, -INF, 0), 1.0),
        (check(0.1, 0, 0.05, "fraction"), 0.05 + 0.025),
        (check(0.1, 0.8, 1, "fraction"), 0.4),
        # At k = 16 no network has a cycle: zero is all there can be, and fails a band that begins above it.
        (check(0, 0.2, 20, "cases", possible=(0, 0)), 0.0),
    ]
    for c, example in cases:
        assert c.failing_example is not None and c.failing_example == pytest.approx(example, rel=1e-15), c
        assert not replace(c, value=c.failing_example).holds


@pytest.mark.parametrize(
    "void",
    [
        check(0.5, 0, 1, "fraction"),
        check(0.5, 0, INF, "fraction"),
        check(1.5, 0, INF),
        check(1.5, -INF, INF),
        # Of 93 networks with a cycle no more than 93 can deadlock.
        check(0, 0, 120, "cases", possible=(0, 93)),
        check(0, 0, 20, "cases", possible=(0, 0)),
        # A flow control that never pauses a port is in no deadlock.
        check(0, 0, 0, "deadlocks", possible=(0, 0)),
    ],
)
def test_a_band_with_all_that_is_possible_cannot_fail(void: Check) -> None:
    assert void.failing_example is None and void.judged().fails_at == judge.CANNOT_FAIL
    assert judge.verdict([replace(void, source="paper")]) == "undecided" and judge.reasons([void])[0].startswith("cannot fail: ")


def test_a_claim_in_words_is_the_papers_only_without_a_number_of_ours() -> None:
    assert judge.claimed(check(0, 0, 0, "frames")).source == "paper"
    assert judge.claimed(check(1.5, 1, INF)).source == "paper"
    assert judge.claimed(check(1.5, 0.95, 1.05)).source == "words"
    # The width of a band around a number of the paper is chosen; an end that is that number is the paper's.
    assert judge.around(check(1, 0.95, 1.05), 1).source == "around"
    assert judge.around(check(1, 1, 1.05), 1).source == "paper"


GOOD, BAD = check(5.05, 4.9, 5.1, source="paper"), check(3, 0, 0, "frames", source="paper")
FINDING = check(3, 0, 0, "frames")
WIDE = check(5, 4.9, 5.1, source="paper", interval=(4.8, 5.2))
MISPRINT = judge.around(check(307, 270, 290, right=(300, 315)), 280)


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([GOOD], "confirmed"),
        ([GOOD, replace(GOOD, assumption="fifo")], "confirmed under a stated reading"),
        # The data do not separate, or a reading of ours may be the cause.
        ([GOOD, WIDE], "undecided"),
        ([GOOD, replace(BAD, assumption="fifo")], "undecided"),
        ([], "undecided"),
        ([GOOD, WIDE, BAD], "contradicted"),
        ([replace(BAD, assumption="fifo", tried="round robin")], "contradicted"),
        ([GOOD, MISPRINT], "erratum"),
        # Neither the printed number nor the right one.
        ([GOOD, replace(MISPRINT, value=330)], "undecided"),
        ([MISPRINT, WIDE], "undecided"),
        # What the paper does not claim counts for nothing, whether it holds or not.
        ([GOOD, FINDING], "confirmed"),
        ([FINDING], "undecided"),
    ],
)
def test_the_verdict_follows_from_the_checks(checks: list[Check], verdict: str) -> None:
    assert judge.verdict(checks) == verdict
    assert judge.verdict(checks, extension=True) == "extension"


def test_reasons_and_assumptions_are_said_once() -> None:
    assert judge.assumed([replace(GOOD, assumption=a) for a in "aba"]) == ["a", "b"]
    assert judge.reasons([GOOD, BAD, FINDING]) == ["contradicts: x: 3 frames, expected 0 frames", "fails: x: 3 frames, expected 0 frames"]


def test_a_band_of_ours_contradicts_nothing() -> None:
    """Its width is ours. That the paper's number is outside of the interval of a mean is measured."""
    for source in ("around", "words"):
        assert replace(BAD, source=source).result == "undecided"
    for source in ("paper", "recomputed", "closed form"):
        assert replace(BAD, source=source).result == "contradicts"
    off = check(0.86, 1.05, 1.6, source="around", paper=1.22)
    assert off.result == "undecided", "one run has no interval"
    assert replace(off, interval=(0.85, 0.87)).result == "contradicts"
    assert replace(off, interval=(0.4, 1.3)).result == "undecided", "the paper's number may be the mean"
    assert replace(off, interval=(0.85, 0.87), source="words").result == "undecided"


def test_one_run_of_a_paper_is_judged_by_the_interval_of_single_runs() -> None:
    # Ten runs with mean 18 and standard deviation 4.69; the paper prints one of 16.6.
    m = Mean.of([11, 13, 15, 16, 17, 18, 19, 21, 24, 26])
    half = 2.262 * 22**0.5 * (1 + 1 / 10) ** 0.5
    assert m.single is not None and m.single == pytest.approx((18 - half, 18 + half), rel=1e-4)
    given = judge.around(check(m.mean, 15.8, 17.4, interval=(m.low, m.high), single=m.single), 16.6)
    assert given.result == "undecided", "as a mean, its interval reaches beyond the band"
    run = replace(given, prints="run")
    assert run.result == "holds" and "; single runs 6." in run.measured
    # A run that they exclude, and one of which they say nothing.
    far = replace(run, paper=50, low=47, high=53)
    assert far.result == "contradicts" and replace(far, interval=(10, 60), single=(9, 61)).result == "holds"
    assert replace(run, single=(-10, 60), interval=(10, 26)).result == "undecided"
    assert Mean.of([5]).single is None
    ratios = Mean.ratio([2, 3, 5], [1, 1, 1])
    assert ratios.single is not None and ratios.single[0] < ratios.low < ratios.high < ratios.single[1]


@pytest.mark.parametrize(
    ("value", "paper", "distance"),
    [(3.1, 3.0, "+3.3 %"), (2.98, 3.0, "-0.67 %"), (1.23, 1.0, "1.23x"), (19.6, 0.2, "far: 98x"), (0, 5, "far: 0x"), (887, 0, "+887"), (3, 0.0, "+3"), (-0.17, 0.9, "-1.07"), (5, 5.0, "")],
)
def test_a_distance_is_signed_and_says_far(value: float, paper: float, distance: str) -> None:
    assert check(value, paper, paper, source="paper", paper=paper).distance == distance


def test_a_distance_is_to_the_nearest_end_if_there_is_no_number() -> None:
    assert check(2.0, 0, 1).distance == "2x" and check(0.5, 0, 1).distance == ""
    # A limit that is kept is no deviation.
    assert check(18.6, 10, INF, paper=10, source="paper").distance == "" and check(5.8, 10, INF, paper=10, source="paper").distance == "0.58x"
    assert judge.distance([GOOD, replace(WIDE, paper=6), replace(BAD, paper=None)]) == "+3 frames", "of the worst result"
    assert judge.distance([GOOD, replace(GOOD, source="around", paper=5)]) == "+1 %" and judge.distance([]) == ""
    # Of three that do not decide, the farthest whose interval does not reach the number.
    reaching = judge.around(check(3, 1, 7, interval=(2.9, 6.5)), 6)
    assert judge.distance([judge.around(check(5, 4, 7, interval=(4.8, 5.2)), 6), reaching, judge.around(check(5.9, 5, 7, interval=(5.8, 5.95)), 6)]) == "0.833x"


def test_an_interval_of_three_values() -> None:
    # Mean 2, standard deviation 1: half = 4.303 / sqrt 3.
    m = Mean.of([1, 2, 3, math.nan, None])
    assert (m.mean, m.n) == (2, 3) and m.high - 2 == pytest.approx(2.4843, abs=1e-4) == 2 - m.low
    assert Mean.of([5]) == Mean(5, 5, 5, 1) and math.isnan(Mean.of([]).mean)


def test_few_runs_give_wide_intervals() -> None:
    assert Share(3, 3).interval() == pytest.approx((0.4385, 1), abs=1e-4)
    assert Share(0, 10).interval() == pytest.approx((0, 0.2775), abs=1e-4)
    assert str(Share(1, 2)) == "1 of 2 (95 %: 9 to 91 %)" and str(Share(0, 0)) == "no run counts"


def test_ratios_are_taken_pair_by_pair() -> None:
    m = Mean.ratio([2, 40, 6], [1, 20, 3])
    assert m.mean == pytest.approx(2) and m.high == pytest.approx(m.low)
    a, b = Mean(6, 4, 8, 3), Mean(2, 1, 4, 5)
    assert a.over(b) == Mean(3, 1, 8, 3) and a.less(b) == Mean(4, 0, 7, 3) and a.within(5, 7) == Mean(6, 5, 7, 3)
    assert a.plus(-1) == Mean(5, 3, 7, 3)


def test_quantiles_are_values() -> None:
    assert [quantile(range(1, 101), s) for s in (0.5, 0.99, 1, 0)] == [50, 99, 100, 1]
    assert math.isnan(quantile([], 0.5)) and quantile([3], 0.99) == 3


def test_numbers_in_words() -> None:
    assert [units.bytes(12.5e3), units.rate(4.9994e9), units.time(0), units.share(0.005), units.words(3, "frames")] == [
        "12.5 KB",
        "4.999 Gb/s",
        "0 s",
        "0.5 %",
        "3 frames",
    ]
    assert units.rate(math.nan) == units.rate(None) == "n/a"


# ---- a folder -------------------------------------------------------------------------------------------------------------------

PAPER = """
title = "A ring"
claims = ["ring"]
[assumptions]
fifo = "FIFO across ingresses"
"""
CLAIM = """
title = "PFC on a ring"
paper = "PFC deadlocks."
band = "A deadlock, and no loss."
measured = "{deadlocks[pfc]} deadlocks under PFC at {closed:time}, {deadlocks[gfc-buffer]} under GFC; {draws:.1f}."
why = [{ text = "{kind} lost {lost} frames.", each = { kind = ["pfc"] } }, { text = "never", when = "nothing" }]

[[run]]
scenario = "ring.toml"
measure = "outcome"
set = { "run.duration" = "5ms" }
[run.case]
pfc = { flow_control = "pfc" }
gfc = { flow_control = "gfc-buffer", "run.seed" = 7 }

[[run]]
name = "draws"
function = "draw"
grid = { n = [2, 3] }
seeds = 2

[[run]]
name = "search"
function = "draw"
cases = "larger"

[[check]]
what = "{kind}: deadlocks"
value = "deadlocks[{kind}]"
each = { kind = ["pfc"] }
unit = "deadlocks"
some = true
claimed = true
assuming = "fifo"

[[check]]
what = "drawn"
value = "mean_drawn"
near = 2.5
off = 2

[[table]]
rows = "table"
units = { Closed = "ps" }

[[figure]]
draw = "ring"
title = "Ring"
"""
METRICS = '''
import polars as pl
from xoff.lab import Mean, observe

nothing = None

def outcome(run):
    return {"deadlocks": observe.deadlocks(run), "closed": observe.deadlock_ps(run), "lost": observe.lost(run), "queue": observe.queue(run, "H1->S1")}

def draw(n, seed):
    return {"value": n + seed / 10, "list": pl.DataFrame({"i": range(n)})}

def larger(r):
    done = len(r["search"])
    return {} if done == 3 else {f"step {done}": {"n": 10 + done}}

def deadlocks(r):
    return {row["flow_control"]: row["deadlocks"] for row in r.runs}

def closed(r):
    return r.runs["pfc"]["closed"]

def lost(r):
    return r.runs.where(flow_control="pfc")[0]["lost"]

def draws(r):
    return sum(r["search"].column("n"))

def mean_drawn(r):
    return Mean.of(r["draws"].column("value"))

def table(r):
    assert r["draws"].frame("list").height == 2 * (2 + 3)
    return r.runs.frame().select(Case="case", Closed="closed", Seed="seed")
'''
FIGURES = """
from xoff.lab import draw

def ring(r):
    figure, axes = draw.panels()
    draw.line(axes, r.runs["pfc"]["queue"], "PFC", "pfc", y=1e3)
    draw.label(axes, "Time [ms]", "Queue [KB]")
    return figure
"""


@pytest.fixture
def paper(tmp_path: Path, ring: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    texts = {"paper.toml": PAPER, "ring.toml": CLAIM.replace("ring.toml", str(ring)), "metrics.py": METRICS, "figures.py": FIGURES}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def test_a_folder_of_ones_own(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = xoff.lab.reproduce(paper, out=out, progress=False)
    (claim,) = answer.claims
    assert claim.verdict == "confirmed under a stated reading" and answer
    assert claim.measured == "1 deadlocks under PFC at 2.795 ms, 0 under GFC; 33.0."
    assert claim.why == ["pfc lost 0 frames."]
    assert claim.assumptions == ["FIFO across ingresses"]
    assert [c.measured for c in claim.checks][0] == "1 deadlocks" and "(" in claim.checks[1].measured
    kept = json.loads((out / "claims.json").read_text())
    assert kept["complete"] and kept["claims"][0]["tables"][0]["columns"] == ["Case", "Closed", "Seed"]
    assert [row[2] for row in kept["claims"][0]["tables"][0]["rows"]] == ["1", "7"]
    assert "<svg" in (out / "figures/ring.svg").read_text() and "# A ring" in (out / "mine.md").read_text()


def test_finished_runs_are_not_executed_again(paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    xoff.lab.reproduce(paper, out=out, progress=False)
    before = json.loads((out / "claims.json").read_text())
    monkeypatch.setattr("xoff._sweep.cell", lambda *_: pytest.fail("a run was executed again"))
    monkeypatch.setattr("xoff.lab.runs._call", lambda *_: pytest.fail("a function was called again"))
    # Other metrics, the same measure.
    metrics = paper / "metrics.py"
    metrics.write_text(metrics.read_text() + "\ndef more(r):\n    return 1\n")
    xoff.lab.reproduce(paper, out=out, progress=False)
    after = json.loads((out / "claims.json").read_text())
    # The files of the claim have changed, its results have not.
    assert before["claims"][0].pop("inputs") != after["claims"][0].pop("inputs") and after == before


def test_other_processes_give_the_same(paper: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        xoff.lab.reproduce(paper, out=tmp_path / "a", executor=processes, progress=False)
    xoff.lab.reproduce(paper, out=tmp_path / "b", progress=False)
    assert (tmp_path / "a/claims.json").read_text() == (tmp_path / "b/claims.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("closed:time", "closd:time", "metrics.py has no metric 'closd'"),
        ("some = true", "", "has no band"),
        ('unit = "deadlocks"', "units = 1", "unknown key 'units'"),
        ("deadlocks[{kind}]", "deadlocks[{kind}x]", "there is no 'pfcx'"),
        ('paper = "PFC deadlocks."', "", "missing text 'paper'"),
    ],
)
def test_a_mistake_is_named(paper: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    file = paper / "ring.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(ClaimError, match=message.replace("[", r"\[")):
        xoff.lab.reproduce(paper, out=tmp_path / "out", progress=False)


STARTS = """
kind = "extension"
title = "Starts"
paper = "Flows start at random."
band = "Flow 12 starts last."
measured = "{starts:.0f} us; {starts[mean]:.0f}, {late[of]} of {late[n]}; {last:time}"

[[run]]
scenario = "ring.toml"
measure = "outcome"
settings = "spread"
set = { within = 20, "run.duration" = "1ms" }
seeds = 2
"""
STARTS_METRICS = """
from xoff.lab import Mean, Share

def spread(settings, scenario):
    first, late = len(scenario["flow"]), settings.pop("within") + settings["run.seed"]
    for n in range(first, 13):
        settings |= {f"flow[{n}].src": "H1", f"flow[{n}].dst": "H2", f"flow[{n}].start": f"{late + n}us"}
    return settings

def outcome(run):
    return {"last": run.flows["start_ps"].max()}

def starts(r):
    assert r.runs.column("within") == [20, 20] and "flow[12].start" not in r.runs[0]
    return Mean.of(last / 1e6 for last in r.runs.column("last"))

def late(r):
    return Share(sum(last > 33e6 for last in r.runs.column("last")), len(r.runs))

def last(r):
    return max(r.runs.column("last"))
"""


def test_settings_may_be_computed_from_the_seed_and_the_scenario(paper: Path, tmp_path: Path, ring: Path) -> None:
    (paper / "starts.toml").write_text(STARTS.replace("ring.toml", str(ring)))
    (paper / "metrics.py").write_text(STARTS_METRICS)
    (claim,) = xoff.lab.reproduce(paper, "starts", out=tmp_path / "out", progress=False).claims
    # Flow 12 starts at 20 + 12 us, and one or two later by the seed.
    assert claim.measured == "34 (27 to 40) us; 34, 1 of 2; 34 us"

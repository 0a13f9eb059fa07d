//! `docs/training-study.md`: which flow control and which rate control help training, computed from `scenarios/training/study.toml`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xoff_lab::stats::Mean;
use xoff_record::Sink;
use xoff_report::{Axis, Bar, BarGroup, Figure, Mark, Panel, Unit};
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;

const FILE: &str = "scenarios/training/study.toml";

/// What is compared: its name, and what is set.
const SCHEMES: [(&str, &[&str]); 9] = [
    ("PFC", &[]),
    ("CBFC", &["flow_control=cbfc"]),
    ("GFC, buffer-based", &["flow_control=gfc-buffer"]),
    ("GFC, time-based", &["flow_control=gfc-time"]),
    ("PFFC", &["flow_control=pffc"]),
    ("PFC, DCQCN", &["detection=red", "rate_control=dcqcn"]),
    (
        "PFC, DCQCN for 100 Gb/s",
        &[
            "detection.kind=red",
            "detection.kmin=400KB",
            "detection.kmax=1600KB",
            "detection.pmax=0.2",
            "rate_control.kind=dcqcn",
            "rate_control.variant=hpcc",
            "host.acks=per-frame",
        ],
    ),
    ("PFC, TCD + DCQCN", &["detection=tcd", "rate_control.kind=dcqcn", "rate_control.tcd=true"]),
    ("PFC, HPCC", &["rate_control=hpcc", "host.acks=per-frame"]),
];

/// Under what: its name, and what is set.
const SITUATIONS: [(&str, &[&str]); 4] = [
    ("nothing else", &[]),
    ("straggler", &["job[0].slow_by=3"]),
    ("slow receiver", &["slow_receiver[0].host=H1", "slow_receiver[0].rate=25Gbps"]),
    ("failed link", &["failures.links=L1-S1"]),
];

/// Every seed draws the places of the ranks anew, and with them the paths of their messages.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// What a run came to.
#[derive(Clone, Debug)]
struct Cell {
    /// Mean iteration of each job [s].
    time: [f64; 2],
    /// Mean of the exposed communication of the large job, of the rank with the most [s].
    exposed: f64,
    /// Parts of the critical paths of the large job: pause, rate limit, queueing.
    parts: [f64; 3],
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `Err`: the scheme cannot be in this situation, and why.
fn run(scheme: usize, situation: usize, seed: u64) -> Result<Cell, String> {
    let seed = format!("run.seed={seed}");
    let all = SCHEMES[scheme].1.iter().chain(SITUATIONS[situation].1).copied().chain([seed.as_str()]);
    let settings: Vec<Override> = all.map(|s| Override::set(s).unwrap()).collect();
    let s = NetworkScenario::load(&root().join(FILE), &settings).map_err(|e| e.to_string())?;
    let f = s.run(Sink::Nothing).map_err(|e| e.to_string())?;
    assert_eq!(f.outcome.violations, []);
    assert_eq!(f.outcome.deadlocks, []);
    let done = |at: usize| {
        let j = &f.jobs[at];
        assert_eq!(j.iterations.len(), j.planned as usize, "{} {} {}", SCHEMES[scheme].0, SITUATIONS[situation].0, j.name);
        // The first begins with queue pairs at line rate.
        &j.iterations[1..]
    };
    let mean = |at: usize| done(at).iter().map(|i| i.time_ps as f64).sum::<f64>() / done(at).len() as f64 / 1e12;
    let path: u64 = done(0).iter().flat_map(|i| i.path_ps).sum();
    let part = |cause: usize| done(0).iter().map(|i| i.path_ps[cause]).sum::<u64>() as f64 / path as f64;
    Ok(Cell {
        time: [mean(0), mean(1)],
        exposed: done(0).iter().map(|i| i.exposed_ps as f64).sum::<f64>() / done(0).len() as f64 / 1e12,
        parts: [part(5), part(6), part(7)],
    })
}

/// All cells, by scheme and situation: a cell for each seed.
type Cells = Vec<Vec<Result<Vec<Cell>, String>>>;

fn all() -> Cells {
    let seeds = SEEDS.count();
    let total = SCHEMES.len() * SITUATIONS.len() * seeds;
    let found = Mutex::new(vec![None; total]);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= total {
                return;
            }
            let cell = run(at / seeds / SITUATIONS.len(), at / seeds % SITUATIONS.len(), SEEDS.start() + (at % seeds) as u64);
            found.lock().unwrap()[at] = Some(cell);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get().min(8)) {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap().into_iter().map(|c| c.expect("every cell was run"));
    let mut of = || (0..seeds).map(|_| found.next().expect("a cell")).collect::<Vec<_>>().into_iter().collect();
    (0..SCHEMES.len()).map(|_| (0..SITUATIONS.len()).map(|_| of()).collect()).collect()
}

fn values(cells: &[Cell], of: impl Fn(&Cell) -> f64) -> Vec<f64> {
    cells.iter().map(of).collect()
}

/// A change in percent with its interval, in bold where the interval does not hold 0.
fn change(m: &Mean) -> String {
    let percent = |x: f64| format!("{:+.1}", (x - 1.0) * 100.0);
    let words = format!("{} % ({} to {})", percent(m.mean), percent(m.low), percent(m.high));
    if m.low > 1.0 || m.high < 1.0 { format!("**{words}**") } else { words }
}

const DASH: &str = "-";

/// A row for each scheme that has one.
fn table(page: &mut String, heads: &[&str], row: impl Fn(usize) -> Option<Vec<String>>) {
    let _ = writeln!(page, "\n| | {} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()));
    for (at, (name, _)) in SCHEMES.iter().enumerate() {
        row(at).into_iter().for_each(|row| _ = writeln!(page, "| {name} | {} |", row.join(" | ")));
    }
}

/// Against PFC, over the same seeds.
fn against_pfc(cells: &Cells, scheme: usize, situation: usize, of: impl Fn(&Cell) -> f64 + Copy) -> Option<Mean> {
    let (own, pfc) = (cells[scheme][situation].as_ref().ok()?, cells[0][situation].as_ref().ok()?);
    Some(Mean::ratio(&values(own, of), &values(pfc, of)))
}

/// A cell of the page as it stands there, without the others: whoever changes what a job does sees it here first.
#[test]
fn a_cell_of_the_page_is_what_its_scenario_gives() {
    let cells: Vec<Cell> = SEEDS.map(|seed| run(0, 0, seed).unwrap_or_else(|e| panic!("{e}"))).collect();
    let page = std::fs::read_to_string(root().join("docs/training-study.md")).unwrap();
    let cell = Mean::of(values(&cells, |c| c.time[0])).words(ms);
    assert!(page.contains(&format!("\n| PFC | {cell} | ")), "{cell}: run the whole with XOFF_TEST_BLESS=1 and --include-ignored");
}

/// In milliseconds.
fn ms(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e3)
}

#[test]
#[ignore = "175 runs take minutes"]
fn the_page_about_training_is_what_its_scenario_gives() {
    let cells = all();
    let heads: Vec<&str> = SITUATIONS.iter().map(|s| s.0).collect();
    let mut p = String::from(HEAD);

    p += "\n## In short\n\n";
    for (what, schemes) in [("Another flow control (CBFC, GFC, PFFC)", 1..5), ("Rate control on top of PFC", 5..SCHEMES.len())] {
        let range = |job: usize| {
            let all = schemes.clone().flat_map(|at| (0..SITUATIONS.len()).map(move |s| (at, s)));
            let means: Vec<f64> =
                all.filter_map(|(at, s)| Some((against_pfc(&cells, at, s, |c| c.time[job])?.mean - 1.0) * 100.0)).collect();
            format!(
                "{:+.1} to {:+.1} %",
                means.iter().copied().fold(f64::INFINITY, f64::min),
                means.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            )
        };
        let _ = writeln!(
            p,
            "- {what} changes an iteration of the large job by {}, of the small one by {}, over all situations.",
            range(0),
            range(1)
        );
    }
    p += "\n## How long an iteration takes\n\nThe large job, ms:\n";
    let each = |scheme: usize, of: &dyn Fn(&[Cell]) -> String| {
        Some(cells[scheme].iter().map(|c| c.as_ref().map_or(DASH.into(), |c| of(c))).collect::<Vec<_>>())
    };
    table(&mut p, &heads, |at| each(at, &|c| Mean::of(values(c, |c| c.time[0])).words(ms)));
    p += "\nOf it exposed communication, of the rank with the most, ms:\n";
    table(&mut p, &heads, |at| each(at, &|c| Mean::of(values(c, |c| c.exposed)).words(ms)));
    p += "\nThe small job, which has no slow rank, no slow receiver, and two of its eight hosts at the leaf with the failed link, ms:\n";
    table(&mut p, &heads, |at| each(at, &|c| Mean::of(values(c, |c| c.time[1])).words(ms)));

    p += "\n## Which mechanism helps, and how much\n\nIteration of the large job against that under PFC, seed by seed; bold where the interval does not hold 0:\n";
    let changes = |job: usize| {
        let cells = &cells;
        move |scheme: usize| {
            let one = |s: usize| against_pfc(cells, scheme, s, |c| c.time[job]).map_or(DASH.into(), |m| change(&m));
            // PFC is what the others are compared with.
            (scheme > 0).then(|| (0..SITUATIONS.len()).map(one).collect::<Vec<String>>())
        }
    };
    table(&mut p, &heads, changes(0));
    p += "\nThe small job:\n";
    table(&mut p, &heads, changes(1));
    p += "\n![Iteration of both jobs against PFC](training-study/against-pfc.svg)\n\n";
    for (s, name) in heads.iter().enumerate() {
        let _ = writeln!(p, "- {name}: {}.", verdict(&cells, s));
    }

    p += "\n## Victims\n\nIteration of the small job against its own under the same mechanism with nothing else the matter:\n";
    table(&mut p, &heads[1..], |at| {
        let Ok(calm) = &cells[at][0] else { return None };
        let one = |s: usize| {
            let own = cells[at][s].as_ref().ok()?;
            Some(change(&Mean::ratio(&values(own, |c| c.time[1]), &values(calm, |c| c.time[1]))))
        };
        Some((1..SITUATIONS.len()).map(|s| one(s).unwrap_or(DASH.into())).collect())
    });

    p += "\n## Where the time goes\n\nParts of the critical paths of the large job, means: pause, rate limit, queueing, %:\n";
    table(&mut p, &heads, |at| {
        each(at, &|c| {
            let part = |k: usize| format!("{:.1}", 100.0 * Mean::of(values(c, |c| c.parts[k])).mean);
            format!("{}, {}, {}", part(0), part(1), part(2))
        })
    });
    let mut refused = Vec::new();
    for (scheme, row) in SCHEMES.iter().zip(&cells) {
        for (situation, why) in heads.iter().zip(row).filter_map(|(s, c)| Some((s, c.as_ref().err()?))) {
            let line = why.lines().find_map(|l| Some(l.split_once("host: ")?.1)).unwrap_or(why);
            let line = line.split_once(" (").map_or(line, |x| x.0);
            let _ = writeln!(p, "\n{DASH}: {} with a {situation} is refused: {line}.", scheme.0);
            refused.push((scheme.0, *situation));
        }
    }
    assert_eq!(refused, [("PFFC", "slow receiver")]);
    p += FOOT;

    let bars = |job: usize, name: &str| {
        let one = |scheme: usize, s: usize| {
            let m = against_pfc(&cells, scheme, s, |c| c.time[job]);
            m.map_or(Bar::new(f64::NAN), |m| Bar::with_interval(m.mean, m.low, m.high))
        };
        let groups = (1..SCHEMES.len()).map(|at| BarGroup::new(SCHEMES[at].0, (0..SITUATIONS.len()).map(|s| one(at, s))));
        Panel::new(name, Axis::new("", Unit::None), Axis::new("Iteration, PFC = 1", Unit::None))
            .mark(Mark::bars(heads.clone(), groups))
            .mark(Mark::hline(1.0, "PFC"))
    };
    let figure = Figure::new("Iterations against those under PFC")
        .caption("Means over five seeds with 95 % intervals.")
        .panel(bars(0, "Large job"))
        .panel(bars(1, "Small job"));
    std::fs::create_dir_all(root().join("docs/training-study")).unwrap();
    xoff_testing::golden(&root().join("docs/training-study/against-pfc.svg"), &figure.to_svg());
    xoff_testing::golden(&root().join("docs/training-study.md"), &p);
}

/// Which schemes have a shorter or longer iteration of either job than PFC.
fn verdict(cells: &Cells, situation: usize) -> String {
    let mut parts = Vec::new();
    for (job, name) in ["large", "small"].into_iter().enumerate() {
        let all: Vec<(usize, Mean)> =
            (1..SCHEMES.len()).filter_map(|at| Some((at, against_pfc(cells, at, situation, |c| c.time[job])?))).collect();
        let list = |which: &dyn Fn(&Mean) -> bool| {
            let mut some: Vec<&(usize, Mean)> = all.iter().filter(|m| which(&m.1)).collect();
            some.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let names: Vec<&str> = some.iter().map(|m| SCHEMES[m.0].0).collect();
            if names.is_empty() { "none".to_owned() } else { names.join("; ") }
        };
        parts.push(format!("{name} job shorter with {}, longer with {}", list(&|m| m.high < 1.0), list(&|m| m.low > 1.0)));
    }
    parts.join(". ").replace(". small", ". Small")
}

const HEAD: &str = "\
# Training on lossless fabrics: which mechanism helps

For those who run training and choose a flow control or a rate control for it: how long an iteration takes, how much of its communication is exposed, and what a second
job beside it suffers. `crates/lab/tests/training_study.rs` makes this page from `scenarios/training/study.toml`.

    xoff run scenarios/training/study.toml --out out/study
    xoff explain scenarios/training/study.toml --straggler
    xoff run scenarios/training/study.toml --set slow_receiver[0].host=H1 --set slow_receiver[0].rate=25Gbps --out out/study-slow
    xoff compare out/study out/study-slow

## What is compared

Four leaves of six hosts under four spines, 100 Gb/s, 500 ns a cable, ECMP: three hosts to two uplinks. The large job has 16 ranks, four at each leaf: an all-reduce of 4 MB by two rings, which
overlaps with 50 us of computing, then an all-to-all of 3.2 MB. The small job has the other eight hosts: an all-reduce of 4 MB after 100 us of computing. Sizes and durations are scaled down from real training by
some two orders of magnitude, so that a run takes a second; what is compared is who waits for what, not how long a model trains.

- Straggler: one host of the large job computes three times as long.
- Slow receiver: one host of the large job takes frames in at 25 Gb/s, and stops its leaf as a switch would.
- Failed link: one uplink of one leaf is down from the start.

All parameters are their defaults with 1 MB of buffer for each port and priority; thresholds follow from it. DCQCN and TCD have the parameters of their papers, which were chosen for 40 Gb/s; DCQCN for 100 Gb/s
has those of the HPCC simulator (marks from 400 KB to 1,600 KB), HPCC its own, both with an acknowledgement for each frame. Five seeds place the ranks, and with them the paths of all messages. Iterations after the first count. Values are means with 95 % intervals over the seeds (Student's t), and
comparisons are made seed by seed (geometric means of ratios). With five seeds a difference of a few per cent may stay hidden.
";

const FOOT: &str = "
## What this does not show

An iteration is measured from the beginning of the first rank to the end of the last. Ranks drift apart, so iterations overlap, and where a mechanism changes how far they do, its iterations get longer or shorter
without the job doing so. Beside a slow receiver, HPCC and TCD + DCQCN have shorter iterations here and yet a longer job. The small job ends before the large one, which then runs alone. What acknowledgements cost is
counted as rate control.

One fabric, one pair of jobs, one size of messages: another ratio of computing to communication moves every number here. Rate control is judged with defaults; whoever tunes it for a fabric gets another answer. No frame is
lost, so nothing here tests recovery. The watchdog is off. Reductions take no time.
";

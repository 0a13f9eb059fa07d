//! `docs/training-study.md`: which flow control and which rate control help training. Its tables
//! are those that are computed here from `scenarios/training/study.toml`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xoff_lab::stats::Mean;
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;

const FILE: &str = "scenarios/training/study.toml";

/// Compared schemes: name, and settings.
const SCHEMES: [(&str, &[&str]); 10] = [
    ("PFC", &[]),
    ("CBFC", &["flow_control=cbfc"]),
    ("GFC, buffer-based", &["flow_control=gfc-buffer"]),
    ("GFC, time-based", &["flow_control=gfc-time"]),
    ("PFFC", &["flow_control=pffc"]),
    ("PFC, acknowledgements", &["host.acks=per-frame"]),
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

/// PFC with acknowledgements, against which those are judged that need them; others against PFC
/// alone.
const ACKS: usize = 5;

/// Baseline of a scheme.
fn baseline(scheme: usize) -> usize {
    if scheme != ACKS && SCHEMES[scheme].1.contains(&"host.acks=per-frame") { ACKS } else { 0 }
}

/// Situations: name, and settings.
const SITUATIONS: [(&str, &[&str]); 4] = [
    ("nothing else", &[]),
    ("straggler", &["job[0].slow_by=3"]),
    ("slow receiver", &["slow_receiver[0].host=H1", "slow_receiver[0].rate=25Gbps"]),
    ("failed link", &["failures.links=L1-S1"]),
];

/// Every seed draws the places of the ranks again, and with them the paths of their messages.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Outcome of a run.
#[derive(Clone, Debug)]
struct Cell {
    /// Time of the whole large job over its iterations; of the small one up to the last iteration
    /// that ended while the large one was at work [s].
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
    let all =
        SCHEMES[scheme].1.iter().chain(SITUATIONS[situation].1).copied().chain([seed.as_str()]);
    let settings: Vec<Override> = all.map(|s| Override::set(s).unwrap()).collect();
    let s = NetworkScenario::load(&root().join(FILE), &settings).map_err(|e| e.to_string())?;
    let f = s.run(Sink::Nothing).map_err(|e| e.to_string())?;
    assert_eq!(f.outcome.violations, []);
    assert_eq!(f.outcome.deadlocks, []);
    let done = |at: usize| {
        let j = &f.jobs[at];
        assert_eq!(
            j.iterations.len(),
            j.planned as usize,
            "{} {} {}",
            SCHEMES[scheme].0,
            SITUATIONS[situation].0,
            j.name
        );
        &j.iterations[..]
    };
    let until = done(0).last().map_or(0, |i| i.end_ps);
    let both = |at: usize| done(at).iter().filter(|i| i.end_ps <= until).collect::<Vec<_>>();
    assert!(
        both(1).len() < done(1).len(),
        "{} {}: the small job ends before the large one",
        SCHEMES[scheme].0,
        SITUATIONS[situation].0
    );
    let mean = |at: usize| {
        both(at).iter().map(|i| i.time_ps as f64).sum::<f64>() / both(at).len() as f64 / 1e12
    };
    let path: u64 = done(0).iter().flat_map(|i| i.path_ps).sum();
    let part =
        |cause: usize| done(0).iter().map(|i| i.path_ps[cause]).sum::<u64>() as f64 / path as f64;
    Ok(Cell {
        time: [mean(0), mean(1)],
        exposed: done(0).iter().map(|i| i.exposed_ps as f64).sum::<f64>()
            / done(0).len() as f64
            / 1e12,
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
            let cell = run(
                at / seeds / SITUATIONS.len(),
                at / seeds % SITUATIONS.len(),
                SEEDS.start() + (at % seeds) as u64,
            );
            found.lock().unwrap()[at] = Some(cell);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get().min(8)) {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap().into_iter().map(|c| c.expect("every cell was run"));
    let mut of = || {
        (0..seeds).map(|_| found.next().expect("a cell")).collect::<Vec<_>>().into_iter().collect()
    };
    (0..SCHEMES.len()).map(|_| (0..SITUATIONS.len()).map(|_| of()).collect()).collect()
}

fn values(cells: &[Cell], of: impl Fn(&Cell) -> f64) -> Vec<f64> {
    cells.iter().map(of).collect()
}

/// A change in percent with its interval, in bold where it is beyond chance.
fn change(m: &Mean, sure: bool) -> String {
    let percent = |x: f64| format!("{:+.1}", (x - 1.0) * 100.0);
    let words = format!("{} % ({} to {})", percent(m.mean), percent(m.low), percent(m.high));
    if sure { format!("**{words}**") } else { words }
}

/// How likely a mean ratio at least as far from 1 is by chance: Student's t with four degrees of
/// freedom, two-sided, in closed form.
fn by_chance(m: &Mean) -> f64 {
    assert_eq!(m.n, 5);
    let half = (m.high / m.low).ln() / 2.0;
    let t = 2.776 * m.mean.ln().abs() / half;
    let angle = (t / 2.0).atan();
    1.0 - angle.sin() * (1.0 + angle.cos() * angle.cos() / 2.0)
}

/// Which of several comparisons are beyond chance at 5 % together: Holm's correction.
fn beyond_chance(all: &[Option<Mean>]) -> Vec<bool> {
    let mut order: Vec<(f64, usize)> =
        all.iter().enumerate().filter_map(|(at, m)| Some((by_chance(m.as_ref()?), at))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sure, n) = (vec![false; all.len()], order.len());
    for (nth, (p, at)) in order.into_iter().enumerate() {
        if p > 0.05 / (n - nth) as f64 {
            break;
        }
        sure[at] = true;
    }
    sure
}

#[test]
fn many_comparisons_are_corrected() {
    let of = |mean: f64, half: f64| Mean {
        mean: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        n: 5,
    };
    // At the ends of the interval a chance of 5 %; twice as far, t = 5.552, 0.52 %.
    assert!((by_chance(&of(0.1, 0.1)) - 0.05).abs() < 1e-4, "{}", by_chance(&of(0.1, 0.1)));
    assert!((by_chance(&of(-0.2, 0.1)) - 0.00515).abs() < 1e-4, "{}", by_chance(&of(-0.2, 0.1)));
    let edge = Some(of(0.11, 0.1));
    assert_eq!(beyond_chance(&[edge]), [true]);
    assert_eq!(beyond_chance(&[edge, Some(of(0.0, 0.1)), None]), [false, false, false]);
    assert_eq!(
        beyond_chance(&[edge, Some(of(0.5, 0.1))]),
        [true, true],
        "the second first, and the first alone then"
    );
}

const DASH: &str = "-";

/// The page has a row for each scheme that has one.
fn table(row: impl Fn(usize) -> Option<Vec<String>>) {
    let mut rows = String::new();
    for (at, (name, _)) in SCHEMES.iter().enumerate() {
        row(at).into_iter().for_each(|row| _ = writeln!(rows, "| {name} | {} |", row.join(" | ")));
    }
    page_has(&rows);
}

fn page_has(computed: &str) {
    xoff_testing::page_has(&root().join("docs/training-study.md"), computed);
}

/// Against what the scheme is judged by, over the same seeds.
fn against(
    cells: &Cells,
    scheme: usize,
    situation: usize,
    of: impl Fn(&Cell) -> f64 + Copy,
) -> Option<Mean> {
    let (own, base) = (
        cells[scheme][situation].as_ref().ok()?,
        cells[baseline(scheme)][situation].as_ref().ok()?,
    );
    Some(Mean::ratio(&values(own, of), &values(base, of)))
}

/// Of every scheme but the first and every situation, in that order: the change of a job, and
/// whether it is beyond chance.
fn changes(cells: &Cells, job: usize) -> Changes {
    let all: Vec<Option<Mean>> = (1..SCHEMES.len())
        .flat_map(|at| (0..SITUATIONS.len()).map(move |s| (at, s)))
        .map(|(at, s)| against(cells, at, s, |c| c.time[job]))
        .collect();
    let sure = beyond_chance(&all);
    all.into_iter()
        .zip(sure)
        .collect::<Vec<_>>()
        .chunks(SITUATIONS.len())
        .map(<[_]>::to_vec)
        .collect()
}

/// A cell of the page as it stands there, without the others: whoever changes what a job does sees
/// it here first.
#[test]
fn a_cell_of_the_page_is_what_its_scenario_gives() {
    let cells: Vec<Cell> =
        SEEDS.map(|seed| run(0, 0, seed).unwrap_or_else(|e| panic!("{e}"))).collect();
    page_has(&format!("\n| PFC | {} | ", Mean::of(values(&cells, |c| c.time[0])).words(ms)));
}

/// In milliseconds.
fn ms(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e3)
}

#[test]
#[ignore = "195 runs take a quarter of an hour"]
fn the_page_about_training_is_what_its_scenario_gives() {
    let cells = all();
    let heads: Vec<&str> = SITUATIONS.iter().map(|s| s.0).collect();
    let of_jobs = [changes(&cells, 0), changes(&cells, 1)];
    for (what, schemes, over) in [
        ("CBFC or GFC instead of PFC", 1..4, "over all situations"),
        ("PFFC instead of PFC", 4..5, "over the situations that it supports"),
        ("An acknowledgement for each frame", ACKS..ACKS + 1, "over all situations"),
        (
            "Rate control on top of PFC, with these acknowledgements if it needs them,",
            ACKS + 1..SCHEMES.len(),
            "over all situations",
        ),
    ] {
        let range = |job: usize| {
            let all = of_jobs[job][schemes.start - 1..schemes.end - 1].iter().flatten();
            let means: Vec<f64> =
                all.filter_map(|(m, _)| Some((m.as_ref()?.mean - 1.0) * 100.0)).collect();
            format!(
                "{:+.1} to {:+.1} %",
                means.iter().copied().fold(f64::INFINITY, f64::min),
                means.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            )
        };
        page_has(&format!(
            "- {what} changes an iteration of the large job by {}, of the small one by {}, {over}.\n",
            range(0),
            range(1)
        ));
    }
    let each = |scheme: usize, of: &dyn Fn(&[Cell]) -> String| {
        Some(
            cells[scheme]
                .iter()
                .map(|c| c.as_ref().map_or(DASH.into(), |c| of(c)))
                .collect::<Vec<_>>(),
        )
    };
    table(|at| each(at, &|c| Mean::of(values(c, |c| c.time[0])).words(ms)));
    table(|at| each(at, &|c| Mean::of(values(c, |c| c.exposed)).words(ms)));
    table(|at| each(at, &|c| Mean::of(values(c, |c| c.time[1])).words(ms)));

    let comparisons = of_jobs[0].iter().flatten().filter(|(m, _)| m.is_some()).count();
    assert_eq!(comparisons, 35, "the number is in a sentence of the page");
    let rows = |job: usize| {
        let all = &of_jobs[job];
        move |scheme: usize| {
            let one = |(m, sure): &(Option<Mean>, bool)| {
                m.as_ref().map_or(DASH.into(), |m| change(m, *sure))
            };
            // PFC is what the others are compared with.
            (scheme > 0).then(|| all[scheme - 1].iter().map(one).collect::<Vec<String>>())
        }
    };
    table(rows(0));
    table(rows(1));
    for (s, name) in heads.iter().enumerate() {
        page_has(&format!("- {name}: {}.\n", verdict(&of_jobs, s)));
    }

    let victim = |at: usize, s: usize| {
        let (own, calm) = (cells[at][s].as_ref().ok()?, cells[at][0].as_ref().ok()?);
        Some(Mean::ratio(&values(own, |c| c.time[1]), &values(calm, |c| c.time[1])))
    };
    let victims: Vec<Option<Mean>> = (0..SCHEMES.len())
        .flat_map(|at| (1..SITUATIONS.len()).map(move |s| (at, s)))
        .map(|(at, s)| victim(at, s))
        .collect();
    let sure = beyond_chance(&victims);
    table(|at| {
        let cells = (at * (SITUATIONS.len() - 1)..).take(SITUATIONS.len() - 1);
        Some(
            cells
                .map(|i| victims[i].as_ref().map_or(DASH.into(), |m| change(m, sure[i])))
                .collect(),
        )
    });

    table(|at| {
        each(at, &|c| {
            let part =
                |k: usize| format!("{:.1}", 100.0 * Mean::of(values(c, |c| c.parts[k])).mean);
            format!("{}, {}, {}", part(0), part(1), part(2))
        })
    });
    let refused: Vec<_> = (SCHEMES.iter().zip(&cells))
        .flat_map(|(scheme, row)| {
            heads
                .iter()
                .zip(row)
                .filter(|(_, c)| c.is_err())
                .map(|(situation, _)| (scheme.0, *situation))
        })
        .collect();
    assert_eq!(refused, [("PFFC", "slow receiver")]);
}

/// By scheme and situation: change of the time, and whether it is beyond chance.
type Changes = Vec<Vec<(Option<Mean>, bool)>>;

/// Which schemes have a shorter or longer iteration of either job, beyond chance.
fn verdict(of_jobs: &[Changes; 2], situation: usize) -> String {
    let mut parts = Vec::new();
    for (job, name) in ["large", "small"].into_iter().enumerate() {
        let all = (1..).zip(&of_jobs[job]).map(|(at, row)| (at, row[situation]));
        let all: Vec<(usize, Mean)> =
            all.filter_map(|(at, (m, sure))| Some((at, m.filter(|_| sure)?))).collect();
        let list = |which: &dyn Fn(&Mean) -> bool| {
            let mut some: Vec<&(usize, Mean)> = all.iter().filter(|m| which(&m.1)).collect();
            some.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let names: Vec<String> = some.iter().map(|m| format!("*{}*", SCHEMES[m.0].0)).collect();
            if names.is_empty() { "none".to_owned() } else { names.join("; ") }
        };
        parts.push(format!(
            "{name} job shorter with {}, longer with {}",
            list(&|m| m.mean < 1.0),
            list(&|m| m.mean > 1.0)
        ));
    }
    parts.join(". ").replace(". small", ". Small")
}

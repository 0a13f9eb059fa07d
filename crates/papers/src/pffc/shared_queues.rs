//! Flows that share a pause queue depend on each other: the cycle of buffers that separate queues cut is closed again.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Tone, Unit};
use xoff_sim::RateSource;

use super::run::{END, PFC, PFFC, Scheme, broken, run};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "ring-4.toml");
/// Flows of the scenario.
const FLOWS: u32 = 4;
/// Pause queues: fewer than flows, the default, in which two of the flows meet, and a number that keeps all of them apart.
const QUEUES: [u16; 4] = [1, 2, 6, 7];

struct Job {
    name: String,
    scheme: Scheme,
    queues: Option<u16>,
    /// Flow i starts i times this later [us].
    stagger: u64,
}

fn jobs(staggers: &[u64]) -> Vec<Job> {
    let with = |name: String, scheme, queues| staggers.iter().map(move |&stagger| Job { name: name.clone(), scheme, queues, stagger });
    let pffc = QUEUES.into_iter().flat_map(|q| with(format!("PFFC, {q} pause queue{}", if q == 1 { "" } else { "s" }), PFFC, Some(q)));
    with("PFC".into(), PFC, None).chain(pffc).collect()
}

/// Pairs of the flows that share a pause queue.
fn sharing(queues: u16) -> usize {
    let at = |f: u32| xoff_mech::flow_control::pffc::slot(f, 4096) % queues;
    (0..FLOWS).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| at(a) == at(b)).count()
}

/// The entry.
pub fn run_ring(cx: &Context) -> Result<Findings, ReproduceError> {
    let staggers: Vec<u64> = cx.mode.pick(vec![0, 20], vec![0, 1, 5, 20, 50, 100, 200]);
    let jobs = jobs(&staggers);
    let runs = cx.parallel(&jobs, |j| {
        let mut settings: Vec<String> = (0..FLOWS).map(|i| format!("flow[{i}].start={}us", u64::from(i) * j.stagger)).collect();
        settings.extend(j.queues.map(|q| format!("flow_control.queues={q}")));
        run(cx, SCENARIO, j.scheme, &settings)
    })?;
    let of = |name: &str| jobs.iter().zip(&runs).filter(|(j, _)| j.name == name).map(|(_, r)| r).collect::<Vec<&Observed>>();
    let names: Vec<String> = (0..=QUEUES.len()).map(|i| jobs[i * staggers.len()].name.clone()).collect();
    let stuck = |r: &&&Observed| !r.outcome.deadlocks.is_empty();
    let deadlocks = |i: usize| of(&names[i]).iter().filter(stuck).count() as u64;
    let slowest = |i: usize| of(&names[i]).iter().flat_map(|r| r.rates_at_end(END)).fold(f64::INFINITY, f64::min);
    let last = QUEUES.len();
    let checks = vec![
        Check::none("pairs of flows that share one of 7 pause queues", "pairs", sharing(QUEUES[last - 1]) as u64),
        Check::none("7 pause queues: runs that deadlock", "runs", deadlocks(last)).claimed(),
        Check::new("7 pause queues: slowest flow of all runs", Unit::BitsPerSecond, slowest(last), 1e9, 10e9),
        Check::some("1 pause queue: runs that deadlock", "runs", deadlocks(1)),
        Check::some("PFC: runs that deadlock", "runs", deadlocks(0)),
        Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()),
    ];
    let starved = |i: usize| {
        let still = |r: &&Observed| r.outcome.deadlocks.is_empty() && r.rates_at_end(END).contains(&0.0);
        of(&names[i]).iter().copied().filter(still).count()
    };
    let mut table = Table::new([
        "Flow control",
        "Pairs that share",
        "Runs",
        "Deadlocks",
        "No deadlock, but a flow starves",
        "First closed at",
        "Slowest flow",
        "Fastest flow",
    ])
    .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    for (i, name) in names.iter().enumerate() {
        let runs = of(name);
        let first = runs.iter().filter_map(|r| r.deadlock()).map(|d| lab::ps(d.closed)).fold(f64::INFINITY, f64::min);
        let fastest = runs.iter().flat_map(|r| r.rates_at_end(END)).fold(0.0, f64::max);
        let tone = if deadlocks(i) == 0 { Tone::Good } else { Tone::Bad };
        table.push([
            Cell::from(name.clone()),
            if i == 0 { "".into() } else { sharing(QUEUES[i - 1]).to_string().into() },
            runs.len().to_string().into(),
            Cell::badge(tone, deadlocks(i).to_string()),
            starved(i).to_string().into(),
            if first.is_finite() { lab::time(first) } else { String::new() }.into(),
            lab::rate(slowest(i)).into(),
            lab::rate(fastest).into(),
        ]);
    }
    let figure = figure(&names, of);
    let mut notes = vec![
        "A pause queue resumes only with the last of its flows, so that its frames wait for unrelated flows. With one \
        queue that is enough for a cycle, as with PFC."
            .to_owned(),
    ];
    for i in (1..names.len()).filter(|&i| starved(i) > 0) {
        notes.push(format!(
            "{}: in {} of {} runs a flow gets nothing for the last 10 ms, although no port waits forever. Frames released by RESUME \
             have priority over the default queue. Two flows that are paused alternately then take the whole link ({} at most for one). \
             A flow in the default queue starves, together with all flows that share its pause queue upstream.",
            names[i],
            starved(i),
            staggers.len(),
            lab::rate(of(&names[i]).iter().flat_map(|r| r.rates_at_end(END)).fold(0.0, f64::max))
        ));
    }
    let words: Vec<String> = names.iter().enumerate().map(|(i, n)| format!("{n}: {} of {}", deadlocks(i), staggers.len())).collect();
    let table = table.caption(format!("Starts are 0 to {} us apart. Rates cover the last 10 ms of 40 ms.", staggers[staggers.len() - 1]));
    Ok(Findings {
        measured: format!("Runs that deadlock. {}.", words.join(", ")),
        checks,
        figures: vec![figure],
        tables: vec![table],
        notes,
        ..Findings::default()
    })
}

/// The worst run of each name.
fn figure<'a>(names: &[String], of: impl Fn(&str) -> Vec<&'a Observed>) -> Figure {
    let mut figure = Figure::new("Four flows around a ring of four, three links each")
        .caption("The worst run of each. With one pause queue a flow waits for flows that are unrelated to its path.")
        .columns(2);
    let until = lab::ms(5.0);
    for name in names {
        // The worst of its runs, the first of equals.
        let worst = |r: &&Observed| r.rates_at_end(END).into_iter().fold(f64::INFINITY, f64::min);
        let run = of(name).into_iter().min_by(|a, b| worst(a).total_cmp(&worst(b))).expect("there are runs");
        let axis = Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 10.5e9);
        let mut panel = Panel::new(name.clone(), Axis::new("Time", Unit::Picoseconds).range(0.0, until), axis);
        for flow in 0..FLOWS {
            let points = run.flow_rate(flow, RateSource::Measured).into_iter().filter(|p| p.0 <= until);
            panel = panel.mark(Mark::line(format!("flow {}", flow + 1), points));
        }
        if let Some(d) = run.deadlock() {
            panel = panel.mark(Mark::vline(lab::ps(d.closed), "deadlock"));
        }
        figure = figure.panel(panel);
    }
    figure
}

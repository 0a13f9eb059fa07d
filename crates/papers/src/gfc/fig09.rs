//! Fig. 9: PFC and buffer-based GFC on the ring, the port behind H1.

use xoff_report::{Align, Cell, Table, Unit};

use super::h1::{self, END, Job, LATER, LATER_SETTING, Seen, settings};
use super::schemes::{FIFO, GFC_BUFFER, PARKED, PFC, ROUND_ROBIN, SLACK, standstill};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Possible disturbances of the testbed: name, settings.
fn disturbances() -> Vec<(String, Vec<String>)> {
    let mut all = vec![("all start at once, tau 90 us".into(), vec![])];
    for tau in [150.0, 190.0, 214.0] {
        all.push((format!("all at once, tau {tau} us"), settings([format!("control_delay.processing={}us", tau - 4.4)])));
    }
    for seed in 1..=3 {
        all.push((
            format!("all at once, jitter 0 to 40 us, seed {seed}"),
            settings(["control_delay.processing_jitter=40us".to_owned(), format!("run.seed={seed}")]),
        ));
    }
    for ms in ["1", "2", "2.2", "2.4", "2.6", "3", "5"] {
        all.push((format!("H3 {ms} ms later"), settings([format!("flow[2].start={ms}ms")])));
    }
    all.push(("H2 3 ms later".into(), settings(["flow[1].start=3ms"])));
    all.push(("H1 3 ms later".into(), settings(["flow[0].start=3ms"])));
    all.push(("H3 3 ms later, tau 85 us".into(), settings([LATER_SETTING, "control_delay.processing=80.6us"])));
    all.push(("H3 3 ms later, tau 80 us".into(), settings([LATER_SETTING, "control_delay.processing=75.6us"])));
    all
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut jobs: Vec<Job> =
        vec![(PFC, "fifo", vec![]), (GFC_BUFFER, "round-robin", settings([LATER_SETTING])), (GFC_BUFFER, "round-robin", vec![])];
    let disturbances = disturbances();
    let shorter = |s: &Vec<String>| settings(s.iter().cloned().chain(["run.duration=20ms".to_owned()]));
    jobs.extend(disturbances.iter().map(|(_, s)| (GFC_BUFFER, "round-robin", shorter(s))));
    let runs = h1::observe(cx, &jobs)?;
    let (pfc, late, sync) = (&runs[0], &runs[1], &runs[2]);
    let (late_seen, sync_seen) = (h1::look(late), h1::look(sync));

    let mut checks = deadlock(pfc, "PFC", 20.0);
    for (flow, rate) in sync_seen.rates.iter().enumerate() {
        checks.push(
            Check::near(format!("GFC, all at once: rate of flow {}", flow + 1), Unit::BitsPerSecond, *rate, 5e9, 0.02)
                .paper(5e9)
                .assuming(ROUND_ROBIN),
        );
    }
    checks.extend([
        Check::new("GFC, all at once: steady-state queue", Unit::Bytes, sync_seen.rest, PARKED - 4500.0, PARKED + 4500.0)
            .beside(840e3)
            .assuming(ROUND_ROBIN),
        Check::new("GFC, all at once: steady-state swing", Unit::Bytes, sync_seen.swing, 0.0, 3000.0).claimed(),
        Check::new("GFC, all at once: messages in 60 ms", Unit::Other("messages".into()), sync.messages() as f64, 1.0, 20.0),
        Check::near("GFC, H3 later: highest queue", Unit::Bytes, late_seen.peak, 884e3, 0.02).paper(884e3).assuming(LATER),
        Check::near("GFC, H3 later: steady-state queue", Unit::Bytes, late_seen.rest, 840e3, 0.02).paper(840e3).assuming(LATER),
        Check::exact("GFC, H3 later: smallest rate of H1", Unit::BitsPerSecond, late_seen.slowest, 2.5e9).paper(2.5e9).assuming(LATER),
        standstill("GFC, both runs", &[late, sync]).assuming(ROUND_ROBIN),
        Check::none("frames lost", "frames", pfc.lost() + late.lost() + sync.lost()).assuming(SLACK),
    ]);

    let seen: Vec<Seen> = runs[3..].iter().map(h1::look).collect();
    let table = table(&disturbances, &seen);
    let of = |name: &str| disturbances.iter().position(|(n, _)| n == name).map(|i| &seen[i]).expect("a disturbance");
    let long = of("all at once, tau 214 us");
    let shorter = of("H3 3 ms later, tau 85 us");
    let why = vec![
        format!(
            "If all hosts start at once, the queue rises to B_1 + (C - R_d) tau and stays there: {}. H1 never goes below {}. The \
             paper's 884 KB, 840 KB and 2.5 Gb/s need a second disturbance.",
            lab::bytes(sync_seen.peak),
            lab::rate(sync_seen.slowest)
        ),
        format!(
            "A loop of 214 us gives the peak ({}) but not the settled value ({}): the way down takes as long as the way up.",
            lab::bytes(long.peak),
            lab::bytes(long.rest)
        ),
        format!(
            "A start of H3 3 ms later, after H1 and H2 have settled, gives all three values; it was chosen among the {} disturbances of \
             the table. The transit traffic of H3 takes half of H1's rate. The queue passes B_2 = 875 KB, H1 drops to 2.5 Gb/s, and the \
             queue settles at {} after a peak of {}. With tau 85 us, within the paper's worst case of 90 us: {} and {}.",
            disturbances.len(),
            lab::bytes(late_seen.rest),
            lab::bytes(late_seen.peak),
            lab::bytes(shorter.peak),
            lab::bytes(shorter.rest)
        ),
    ];
    let measured = format!(
        "PFC (FIFO) deadlocks at {}. GFC (round robin): {} per flow. If all hosts start at once, the queue settles at {}. With H3 3 ms \
         later it peaks at {}, H1 drops to {}, and the queue settles at {}.",
        closed(pfc),
        lab::rate(mean(&sync_seen.rates)),
        lab::bytes(sync_seen.rest),
        lab::bytes(late_seen.peak),
        lab::rate(late_seen.slowest),
        lab::bytes(late_seen.rest)
    );
    let figure = h1::figure(
        "PFC and buffer-based GFC: queue and input rate of the port of H1 (paper: Fig. 9)",
        "PFC with a FIFO egress, GFC under round robin. The paper: under PFC the queue fills and the rate drops to zero. Under GFC the \
         queue climbs to 884 KB, H1 briefly sends at 2.5 Gb/s, then 840 KB and 5 Gb/s.",
        &[
            ("PFC, FIFO", PFC, pfc, &[]),
            ("GFC, H3 3 ms later", GFC_BUFFER, late, &[884e3, 840e3]),
            ("GFC, all at once", GFC_BUFFER, sync, &[]),
        ],
        lab::ms(10.0),
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}

/// A row a disturbance.
fn table(disturbances: &[(String, Vec<String>)], seen: &[Seen]) -> Table {
    let mut table = Table::new(["Disturbance", "Highest queue", "Steady-state queue", "Smallest rate of H1"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right])
        .caption(
            "Which disturbance gives buffer-based GFC the paper's 884 KB, then 840 KB, with a transient of 2.5 Gb/s? Round robin, \
            20 ms.",
        );
    for ((name, _), s) in disturbances.iter().zip(seen) {
        table.push([name.clone(), lab::bytes(s.peak), lab::bytes(s.rest), lab::rate(s.slowest)].map(Cell::from));
    }
    table
}

/// Checks of a permanent standstill.
pub(super) fn deadlock(run: &Observed, name: &str, latest_ms: f64) -> Vec<Check> {
    let closed = run.deadlock().map_or(f64::NAN, |d| lab::ps(d.closed));
    let fastest = run.rates_at_end(END).into_iter().fold(0.0, f64::max);
    vec![
        Check::some(format!("{name}: deadlocks"), "deadlocks", run.outcome.deadlocks.len() as u64).claimed().assuming(FIFO),
        Check::new(format!("{name}: the cycle closed at"), Unit::Picoseconds, closed, 0.0, lab::ms(latest_ms)).assuming(FIFO),
        Check::exact(format!("{name}: fastest flow in the last 10 ms"), Unit::BitsPerSecond, fastest, 0.0).claimed().assuming(FIFO),
    ]
}

/// When the first deadlock closed, in words.
pub(super) fn closed(run: &Observed) -> String {
    run.deadlock().map_or("no time at all".into(), |d| lab::time(lab::ps(d.closed)))
}

/// Mean of some rates.
pub(super) fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

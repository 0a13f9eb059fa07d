//! Section 3.1: buffered crossbars in place of elements with input and output queues.

use xoff_report::Unit;
use xoff_sim::scheduled::{Config, Pattern, Traffic};
use xoff_units::Bytes;

use super::run::{Plan, soundness};
use super::setups::{self, BURST, MAX_P, MIN_P};
use super::spray::{bars, table};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// The elements: name, and the buffer of a crosspoint.
const ELEMENTS: [(&str, Option<Bytes>); 2] = [("input and output queues", None), ("buffered crossbar", Some(Bytes(8 << 10)))];

/// Assumption about a buffered crossbar.
const SIZE: &str = "8 KiB at each crosspoint, with its own credits. An 8 x 8 element then has 512 KiB, one of queues 544 KiB, and the \
    reservation of an output (60 KiB) fits its column.";

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let bursty = |hot, load| setups::traffic(hot, load, setups::fixed(MIN_P), BURST);
    let unbalanced = |sizes| Traffic { pattern: Pattern::Unbalanced { w: 0.5 }, load: 1.0, sizes, burst_packets: 1.0 };
    // Name, traffic, whether delays say something: at load 1 queues grow as long as a run lasts.
    let loads = [
        ("uniform, 40 B in bursts, 0.5", bursty(0, 0.5), true),
        ("uniform, 40 B in bursts, 0.95", bursty(0, 0.95), true),
        ("8 hotspots, the others at 0.78", bursty(8, 0.78), true),
        ("unbalanced, w = 0.5, 40 B smooth", unbalanced(setups::fixed(MIN_P)), false),
        ("unbalanced, w = 0.5, 9000 B", unbalanced(setups::fixed(MAX_P)), false),
    ];
    let seeds = cx.mode.pick(2, 5);
    let mut plan = Plan::default();
    let all: Vec<Vec<Series>> = loads
        .iter()
        .map(|(_, traffic, _)| {
            let of = |crosspoint| {
                let mut c: Config = setups::section_4(traffic.clone(), 1.1);
                c.element.crosspoint = crosspoint;
                setups::measured(cx, c, if traffic.load == 1.0 { 2 } else { 1 })
            };
            ELEMENTS.iter().map(|&(_, crosspoint)| plan.series(cx, seeds, &of(crosspoint))).collect()
        })
        .collect();
    let results = plan.run(cx)?;
    let mut f = Findings::default();
    let mut sentences = Vec::new();
    for ((name, _, delays), of) in loads.iter().zip(&all) {
        let carried = results.ratio(of[1], of[0], |r| r.carried());
        f.checks.push(
            Check::mean(format!("{name}: carried, crossbars relative to queues"), Unit::Other("times".into()), carried, 0.98, 1.02)
                .claimed(),
        );
        let mut text = format!("carried {}", carried.words(|v| format!("{v:.3}")));
        if *delays {
            let delay = results.ratio(of[1], of[0], |r| r.delay.mean);
            f.checks.push(
                Check::mean(format!("{name}: mean delay, crossbars relative to queues"), Unit::Other("times".into()), delay, 0.8, 1.2)
                    .claimed(),
            );
            text.push_str(&format!(", delay {}", delay.words(|v| format!("{v:.3}"))));
        }
        sentences.push(format!("{name}: {text}"));
    }
    setups::assuming(&mut f.checks, SIZE);
    f.checks.push(soundness(&results));
    f.measured = format!("Buffered crossbars relative to queues: {}.", sentences.join("; "));
    let names: Vec<&str> = loads.iter().map(|l| l.0).collect();
    f.tables.push(table(&results, &names, &ELEMENTS.map(|e| e.0), &all).caption(
        "Reserved buffers, L_F = 1.1 L, control in band. Longest queue: for a crossbar, all crosspoints of an output together. Waits: \
         how often a free link with a segment found no space at its far end, per 1000 segments, by stage from the adapters on; a \
         crossbar requests one segment after the other.",
    ));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(bars(
        &results,
        "Elements with queues and buffered crossbars (section 3.1)",
        "Carried share of the offered load, with 95 % intervals over seeds.",
        &["uniform 0.5", "uniform 0.95", "8 hotspots", "unbalanced, 40 B", "unbalanced, 9000 B"],
        &ELEMENTS.map(|e| e.0),
        &all,
    ));
    Ok(f)
}

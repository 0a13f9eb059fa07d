//! Section 4: how much speed-up implicit rate regulation needs, with the parameters of Figs. 11 and 12.

use xoff_report::{Align, Axis, Cell, Mark, Panel, Table, Unit};

use super::run::{Plan, soundness};
use super::setups::{self, BURST, MAX_P, MIN_P, t_min};
use super::sweep::{figure, grants_max};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Speed-ups of implicit rate regulation.
const SPEEDUPS: [f64; 4] = [1.0, 1.1, 1.2, 1.4];

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let workloads = [("40 B, bursty", setups::fixed(MIN_P), BURST, 1), ("9000 B", setups::fixed(MAX_P), 1.0, 2)];
    let load = 0.78;
    let seeds = cx.mode.pick(2, 5);
    let mut plan = Plan::default();
    let all: Vec<(Vec<Series>, Series)> = workloads
        .iter()
        .map(|&(_, sizes, burst, longer)| {
            let c = |speedup| setups::measured(cx, setups::section_4(setups::traffic(8, load, sizes, burst), speedup), longer);
            let implicit = SPEEDUPS.iter().map(|&s| plan.series(cx, seeds, &setups::implicit(c(s)))).collect();
            (implicit, plan.series(cx, seeds, &c(1.1)))
        })
        .collect();
    // The buffers of 32 KB under many jumbo packets, in which the paper saw them fill up.
    let small = SPEEDUPS.map(|s| {
        let heavy = setups::traffic(0, 1.0, setups::fixed(MAX_P), 1.0);
        let mut c = setups::implicit(setups::section_4(heavy, s));
        c.element.output = xoff_units::Bytes(32 << 10);
        plan.series(cx, seeds, &setups::measured(cx, c, 8))
    });
    let results = plan.run(cx)?;
    let mut f = Findings::default();
    let mut table = Table::new([
        "Workload",
        "Scheme",
        "L_F/L",
        "Carried",
        "Mean delay",
        "99th percentile",
        "Most grants held",
        "Longest queue by stage",
    ])
    .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 6]))
    .caption(
        "8 hotspots, the others at load 0.78, control in band. Means over seeds with 95 % intervals; delays in t_min, queues in bytes.",
    );
    let mut row = |workload: &str, scheme: &str, speedup: f64, s: Series| {
        let queues: Vec<String> = (0..3).map(|stage| results.max(s, |r| f64::from(r.queue_max[stage])).to_string()).collect();
        table.push([
            Cell::from(workload),
            scheme.into(),
            format!("{speedup}").into(),
            results.mean(s, |r| r.carried()).words(|v| format!("{v:.3}")).into(),
            results.mean(s, |r| r.delay.mean).words(|v| format!("{v:.0}")).into(),
            format!("{:.0}", results.mean(s, |r| r.delay.p99).mean).into(),
            format!("{:.0}", results.max(s, grants_max)).into(),
            queues.join(" / ").into(),
        ]);
    };
    let mut said = Vec::new();
    let mut panels = Vec::new();
    for ((name, ..), (implicit, reserve)) in workloads.iter().zip(&all) {
        row(name, "reserve", 1.1, *reserve);
        SPEEDUPS.iter().zip(implicit).for_each(|(s, series)| row(name, "implicit", *s, *series));
        let ratio = |i: usize| results.ratio(implicit[i], *reserve, |r| r.delay.mean);
        for (i, speedup) in SPEEDUPS.iter().enumerate().skip(2) {
            let carried = results.mean(implicit[i], |r| r.carried()).mean;
            f.checks.push(Check::new(format!("{name}: implicit at {speedup}: carried"), Unit::Fraction, carried, 0.97, 1.03).claimed());
        }
        let p99 = results.ratio(implicit[1], *reserve, |r| r.delay.p99).mean;
        let hot = |s: Series| results.mean(s, |r| r.hot).mean;
        for (what, value, low, high) in [
            ("mean delay of implicit over reserve", ratio(1).mean, 1.0, f64::INFINITY),
            ("99th percentile of implicit over reserve", p99, 1.0, f64::INFINITY),
            ("throughput of hotspots, implicit less reserve", hot(implicit[1]) - hot(*reserve), -1.0, -0.001),
        ] {
            f.checks.push(Check::new(format!("{name}, both at 1.1: {what}"), Unit::None, value, low, high).claimed());
        }
        let words: Vec<String> =
            SPEEDUPS.iter().enumerate().map(|(i, s)| format!("{} at {s}", ratio(i).words(|v| format!("{v:.2}")))).collect();
        said.push(format!("{name}: delay of implicit over that of reserve at 1.1: {}", words.join(", ")));
        let line = |what: &str, value: fn(&super::run::Run) -> f64| {
            Mark::line(what, SPEEDUPS.iter().zip(implicit).map(|(x, s)| (*x, results.mean(*s, value).mean)).collect::<Vec<_>>())
        };
        panels.push(
            Panel::new(*name, Axis::new("L_F / L", Unit::None).range(0.98, 1.42), Axis::new("Mean delay", t_min()).log())
                .mark(line("implicit", |r| r.delay.mean))
                .mark(Mark::points("reserve", [(1.1, results.mean(*reserve, |r| r.delay.mean).mean)])),
        );
    }
    let full = small.map(|s| results.max(s, |r| f64::from(r.queue_max[2])));
    for (speedup, s) in SPEEDUPS.iter().zip(small) {
        row("9000 B, 32 KB buffers, uniform, load 1", "implicit", *speedup, s);
    }
    f.checks.push(
        Check::new("9000 B, 32 KB buffers, implicit at 1.1: fullest fabric-output buffer", Unit::Bytes, full[1], 31e3, 32768.0).claimed(),
    );
    f.checks.push(soundness(&results));
    setups::assuming(&mut f.checks, setups::LOAD);
    f.measured = said.join(". ") + ".";
    let [(_, small_reserve), (_, large_reserve)] = [&all[0], &all[1]];
    let middle = |s: Series| Unit::Bytes.format(results.max(s, |r| f64::from(r.queue_max[1])));
    let hot = |s: Series| results.mean(s, |r| r.hot).mean;
    let tail = |i: usize| results.ratio(all[i].0[1], all[i].1, |r| r.delay.p99).words(|v| format!("{v:.2}"));
    f.why.push(format!(
        "Reserving has a price for the mean at 1.1: every hotspot may have its 240 slots in the fabric at once, and with eight of them in one switch they wait before the last stage too, up to {} in a queue of the middle stage (implicit {}; with 9000 B {} and {}). Implicit rate regulation grants hotspots at L and keeps those queues short as long as inputs answer in time. What it loses is throughput of the hotspots, {:.3} and {:.3} instead of {:.3} and {:.3}; the 99th percentile is {} times that of reserving with 40 B in bursts and {} times with 9000 B.",
        middle(*small_reserve),
        middle(all[0].0[1]),
        middle(*large_reserve),
        middle(all[1].0[1]),
        hot(all[0].0[1]),
        hot(all[1].0[1]),
        hot(*small_reserve),
        hot(*large_reserve),
        tail(0),
        tail(1)
    ));
    f.notes.push(format!(
        "Fabric-output buffers of 32 KB hold up to {} at 1.1 and {} at 1.4 under uniform 9000 B packets at load 1 (the paper has seen them fill up \"under a heavy workload\").",
        Unit::Bytes.format(full[1]),
        Unit::Bytes.format(full[3])
    ));
    f.tables.push(table);
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "How much speed-up implicit rate regulation needs (section 4)",
        "8 hotspots, other outputs at the peak possible load, control in band: mean delay of packets to the others.",
        panels,
    ));
    Ok(f)
}

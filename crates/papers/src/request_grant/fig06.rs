//! Figs. 6 and 8: implicit rate regulation and reserving fabric-buffers under 0, 1 and 8 hotspots.

use xoff_report::Unit;

use super::run::{Plan, Results, soundness};
use super::setups::{self, BURST, MIN_P};
use super::sweep::{Curve, Sweep, figure};
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// What 8 hotspots look like next to the rest, for the reading in which inputs may receive more than a line carries.
pub const BESIDE: &str = "8 hotspots, on top of the rest";

/// Names of the curves and numbers of hotspots.
pub const CURVES: [(&str, u32); 3] = [("uniform", 0), ("1 hotspot", 1), ("8 hotspots", 8)];

/// Loads of a curve.
pub fn loads(mode: Mode, hot: u32) -> Vec<f64> {
    let all: &[f64] = match (mode, hot) {
        (Mode::Quick, 8) => &[0.3, 0.5, 0.7, 0.78],
        (Mode::Quick, _) => &[0.5, 0.7, 0.9, 0.97],
        (Mode::Full, 8) => &[0.1, 0.3, 0.5, 0.6, 0.7, 0.78],
        (Mode::Full, _) => &[0.1, 0.3, 0.5, 0.6, 0.7, 0.78, 0.9, 0.97],
    };
    all.iter().copied().filter(|&l| l < setups::load_max(hot)).collect()
}

/// Loads that only hotspots next to the rest leave room for.
pub fn loads_beside(mode: Mode) -> &'static [f64] {
    mode.pick(&[0.9], &[0.78, 0.9, 0.95])
}

fn bursty(hot: u32, load: f64) -> xoff_sim::scheduled::Traffic {
    setups::traffic(hot, load, setups::fixed(MIN_P), BURST)
}

/// Fig. 6.
pub fn run_fig06(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut plan = Plan::default();
    // Congestion trees take a while to come back.
    let longer = cx.mode.pick(2, 1);
    let sweeps: Vec<Sweep> = [1.0, 1.2]
        .iter()
        .map(|&speedup| {
            let mut sweep = Sweep::default();
            for (name, hot) in CURVES {
                sweep.curve(cx, &mut plan, name, &loads(cx.mode, hot), longer, |l| setups::section_2_3(bursty(hot, l), speedup));
            }
            let config = |l| setups::section_2_3(setups::beside(&bursty(8, l)), speedup);
            sweep.curve(cx, &mut plan, BESIDE, loads_beside(cx.mode), longer, config).dashed();
            sweep
        })
        .collect();
    let results = plan.run(cx)?;
    let [slow, fast] = [&sweeps[0], &sweeps[1]];
    let carried = |s: &Sweep, name: &str, load: f64| results.mean(s.get(name).at(load), |r| r.carried());
    let delay = |s: &Sweep, name: &str, load: f64| s.get(name).delay(&results, load).mean;
    let slower = |name: &str, load: f64| results.ratio(slow.get(name).at(load), slow.get("uniform").at(load), |r| r.delay.mean);
    let mut checks = vec![
        Check::mean("no speed-up, 8 hotspots: carried at load 0.78", Unit::Fraction, carried(slow, "8 hotspots", 0.78), 0.0, 0.95)
            .claimed(),
        Check::mean(
            "no speed-up: delay at load 0.5 with 8 hotspots, relative to uniform traffic",
            Unit::None,
            slower("8 hotspots", 0.5),
            2.0,
            f64::INFINITY,
        )
        .claimed(),
        Check::mean("no speed-up, uniform: carried at load 0.97", Unit::Fraction, carried(slow, "uniform", 0.97), 0.0, 0.97).claimed(),
        Check::mean(
            "no speed-up: delay at load 0.7 with 1 hotspot, relative to uniform traffic",
            Unit::None,
            slower("1 hotspot", 0.7),
            0.5,
            1.5,
        )
        .claimed(),
    ];
    checks.extend(with_speedup(fast, &results));
    checks.push(soundness(&results));
    setups::assuming(&mut checks, setups::LOAD);
    let describe = |s: &Sweep| {
        CURVES
            .iter()
            .map(|(name, _)| {
                let curve = s.get(name);
                let last = curve.loads().last().unwrap_or(0.0);
                format!("{name} {:.3} carried and {:.0} t_min at load {last:.2}", carried(s, name, last).mean, delay(s, name, last))
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut f = Findings {
        measured: format!("No speed-up: {}. At 1.2 times: {}.", describe(slow), describe(fast)),
        checks,
        tables: vec![slow.table(&results).caption("No speed-up. Columns as below."), fast.table(&results)],
        ..Findings::default()
    };
    f.notes.push(beside_note(&results, fast.get(BESIDE), "1.2 times"));
    f.notes.push(beside_note(&results, slow.get(BESIDE), "no speed-up"));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "Implicit rate regulation (paper: Fig. 6)",
        "Delay and carried share of packets to outputs that are no hotspots. Without speed-up eight hotspots in one last-stage switch \
         degrade both; with links of 1.2 times the line rate they do not. Dashed: the packets for hotspots are added on top of the \
         rest, more than a link could bring.",
        slow.panels("no speed-up", &results).into_iter().chain(fast.panels("1.2 times", &results)),
    ));
    Ok(f)
}

/// With links of 1.2 times the line: what is carried, and delay next to that of uniform traffic.
fn with_speedup(fast: &Sweep, results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, hot) in CURVES {
        let curve = fast.get(name);
        let last = curve.loads().last().unwrap_or(0.0);
        let low = curve.carried_min(results, 1.0);
        checks.push(
            Check::mean(format!("1.2 times, {name}: smallest share carried up to load {last:.2}"), Unit::Fraction, low, 0.96, 1.03)
                .claimed(),
        );
        if hot > 0 {
            let (ratio, _) = curve.worst_ratio(fast.get("uniform"), results, 0.9);
            checks.push(
                Check::mean(format!("1.2 times, {name}: largest delay, relative to uniform traffic"), Unit::None, ratio, 0.0, 2.0)
                    .claimed(),
            );
        }
    }
    checks
}

/// Results of the other reading of the load.
fn beside_note(results: &Results, curve: &Curve, what: &str) -> String {
    let points: Vec<String> = curve
        .up_to(1.0)
        .map(|(l, s)| {
            format!(
                "{:.3} carried and {:.0} t_min at {l:.2}",
                results.mean(s, |r| r.carried()).mean,
                results.mean(s, |r| r.delay.mean).mean
            )
        })
        .collect();
    format!("Hotspots on top of the rest, so that the others can be loaded up to 1 ({what}): {}.", points.join(", "))
}

/// Fig. 8.
pub fn run_fig08(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut plan = Plan::default();
    let mut sweep = Sweep::default();
    for (name, hot) in CURVES {
        sweep.curve(cx, &mut plan, name, &loads(cx.mode, hot), 1, |l| setups::section_2_4(bursty(hot, l), 36));
    }
    let config = |l| setups::section_2_4(setups::beside(&bursty(8, l)), 36);
    sweep.curve(cx, &mut plan, BESIDE, loads_beside(cx.mode), 1, config).dashed();
    let mut of_32 = Sweep::default();
    for (name, hot) in CURVES {
        let loads: Vec<f64> = loads(cx.mode, hot).into_iter().filter(|l| *l > 0.69).collect();
        of_32.curve(cx, &mut plan, name, &loads, 1, |l| setups::section_2_4(bursty(hot, l), 32));
    }
    let results = plan.run(cx)?;
    let mut checks = Vec::new();
    for (kib, s) in [(36, &sweep), (32, &of_32)] {
        for (name, hot) in CURVES {
            let curve = s.get(name);
            let last = curve.loads().last().unwrap_or(0.0);
            let low = curve.carried_min(&results, 1.0);
            checks.push(
                Check::mean(format!("{kib} KB, {name}: smallest share carried up to load {last:.2}"), Unit::Fraction, low, 0.97, 1.03)
                    .paper(1.0),
            );
            if hot > 0 {
                let (ratio, _) = curve.worst_ratio(s.get("uniform"), &results, 0.9);
                checks.push(
                    Check::mean(format!("{kib} KB, {name}: largest delay, relative to uniform traffic"), Unit::None, ratio, 0.0, 2.0)
                        .claimed(),
                );
                let busy = results.min(curve.at(0.78), |r| r.hot);
                checks.push(Check::new(format!("{kib} KB, {name}: throughput of hotspots"), Unit::Fraction, busy, 0.98, 1.01).claimed());
            }
        }
    }
    checks.push(soundness(&results));
    setups::assuming(&mut checks, setups::LOAD);
    let describe = |s: &Sweep, name: &str| {
        let curve = s.get(name);
        let (ratio, at) = curve.worst_ratio(s.get("uniform"), &results, 0.9);
        format!(
            "{name} {:.3} carried, delay up to {:.2} times that of uniform traffic (at load {at:.2})",
            curve.carried_min(&results, 1.0).mean,
            ratio.mean
        )
    };
    let mut f = Findings {
        measured: format!(
            "uniform {:.3} carried up to load 0.97; {}; {}; with 32 KB the same within {:.1} %",
            sweep.get("uniform").carried_min(&results, 1.0).mean,
            describe(&sweep, "1 hotspot"),
            describe(&sweep, "8 hotspots"),
            100.0
                * CURVES
                    .iter()
                    .map(|(n, _)| (of_32.get(n).delay(&results, 0.78).mean / sweep.get(n).delay(&results, 0.78).mean - 1.0).abs())
                    .fold(0.0, f64::max)
        ),
        checks,
        tables: vec![sweep.table(&results), of_32.table(&results).caption("Fabric-output buffers of 32 KB, as in the caption of Fig. 8.")],
        ..Findings::default()
    };
    f.notes.push(beside_note(&results, sweep.get(BESIDE), "36 KB"));
    setups::quick_note(cx, &mut f.notes);
    f.figures.push(figure(
        "Reserving fabric-buffers, no speed-up (paper: Fig. 8)",
        "Fabric-output buffers of 36 KB, from which each grant reserves space. Hotspots hardly change the throughput or delay of the \
         others, without any speed-up. Dashed: hotspots on top of the rest, so that the others can be loaded beyond the peak possible \
         0.786.",
        sweep.panels("", &results),
    ));
    Ok(f)
}

//! Throughput over one to four hops.

use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};

use super::run::{LINE, PFC, PFFC, SHAPE, broken, run, total};
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = super::scenario!("hops.toml");
const HOPS: u32 = 4;

/// The entry.
pub fn run_all(cx: &Context) -> Result<Findings, ReproduceError> {
    let schemes = [PFC, PFFC];
    let jobs: Vec<_> = schemes.iter().flat_map(|s| (1..=HOPS).map(|n| (*s, n))).collect();
    let runs = cx.parallel(&jobs, |(scheme, n)| {
        let last = format!("H{}", 3 * n);
        run(cx, SCENARIO, *scheme, &[format!("topology.switches={n}"), format!("flow[0].dst={last}"), format!("flow[1].dst={last}")])
    })?;
    // Of two connections.
    let mean = |i: usize| total(&runs[i]) / 2.0;
    let half = LINE.as_f64() / 2.0;
    let mut checks = Vec::new();
    for n in 0..HOPS as usize {
        let what = format!("PFFC, N = {}: mean throughput of a connection", n + 1);
        checks.push(Check::near(what, Unit::BitsPerSecond, mean(HOPS as usize + n), half, 0.03).assuming(SHAPE));
        let what = format!("PFFC, N = {} over N = 1", n + 1);
        checks.push(Check::near(what, Unit::None, mean(HOPS as usize + n) / mean(HOPS as usize), 1.0, 0.03).claimed());
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Flow control", "Switches", "Mean throughput", "Largest ingress", "Control frames"]).align([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let mut panel = Panel::new(
        "",
        Axis::new("Switches", Unit::None).range(1.0, HOPS as f64),
        Axis::new("Mean throughput", Unit::BitsPerSecond).range(0.0, 10.5e9),
    );
    for (s, scheme) in schemes.iter().enumerate() {
        let at = |n: usize| s * HOPS as usize + n;
        panel = panel.mark(Mark::line(scheme.title, (0..HOPS as usize).map(|n| ((n + 1) as f64, mean(at(n))))).colour(scheme.colour));
        for n in 0..HOPS as usize {
            let r = &runs[at(n)];
            table.push([
                scheme.title.to_owned(),
                (n + 1).to_string(),
                lab::rate(mean(at(n))),
                lab::bytes(r.peak()),
                r.messages().to_string(),
            ]);
        }
    }
    let figure = Figure::new("Two connections over one to four hops")
        .caption("The slides: PFFC is scalable on multi-hop networks. Half the line is all that two connections can have.")
        .panel(panel.mark(Mark::hline(half, "half the line")));
    let words: Vec<String> = (0..HOPS as usize).map(|n| lab::rate(mean(HOPS as usize + n))).collect();
    let measured = format!("PFFC, N = 1 to 4: {} for a connection.", words.join(", "));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}

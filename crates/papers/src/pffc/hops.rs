//! Throughput over one to four hops.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::run::{LINE, PFC, PFFC, SHAPE, broken, run, total};
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "hops.toml");
const HOPS: u32 = 4;

/// The entry.
pub fn run_all(cx: &Context) -> Result<Findings, ReproduceError> {
    let schemes = [PFC, PFFC];
    let jobs: Vec<_> = schemes.iter().flat_map(|s| (1..=HOPS).map(|n| (*s, n))).collect();
    let runs = cx.parallel(&jobs, |(scheme, n)| {
        // Three hosts a switch: the second sender sits at the last one, where both meet.
        let (last, beside) = (format!("H{}", 3 * n), format!("H{}", 3 * n - 1));
        let settings = [
            format!("topology.switches={n}"),
            format!("flow[0].dst={last}"),
            format!("flow[1].src={beside}"),
            format!("flow[1].dst={last}"),
        ];
        run(cx, SCENARIO, *scheme, &settings)
    })?;
    // Of two connections.
    let mean = |i: usize| total(&runs[i]) / 2.0;
    let half = LINE.as_f64() / 2.0;
    let mut checks = Vec::new();
    for n in 0..HOPS as usize {
        let what = format!("PFFC, N = {}: mean throughput of a connection", n + 1);
        checks.push(Check::near(what, Unit::BitsPerSecond, mean(HOPS as usize + n), half, 0.03).assuming(SHAPE));
        if n > 0 {
            let what = format!("PFFC, N = {} over N = 1", n + 1);
            checks.push(Check::near(what, Unit::None, mean(HOPS as usize + n) / mean(HOPS as usize), 1.0, 0.03).claimed());
        }
    }
    // Else the hops would take no part in it.
    for n in 1..HOPS as usize {
        let held = runs[HOPS as usize + n].totals(&format!("S{n}->S{}", n + 1)).blocks;
        checks.push(Check::some(
            format!("PFFC, N = {}: times that the last switch pauses a flow at the previous one", n + 1),
            "times",
            held,
        ));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Flow control", "Switches", "Mean throughput", "Largest ingress", "Control frames"]).align([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    for (s, scheme) in schemes.iter().enumerate() {
        let at = |n: usize| s * HOPS as usize + n;
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
    let bars = schemes.iter().enumerate().map(|(s, scheme)| {
        let rates = (0..HOPS as usize).map(|n| Bar::new(mean(s * HOPS as usize + n)).reference(half));
        BarGroup::new(scheme.title, rates).colour(scheme.colour)
    });
    let axis = Axis::new("Mean throughput", Unit::BitsPerSecond).range(0.0, 6e9);
    let panel = Panel::new("", Axis::new("Switches", Unit::None), axis)
        .mark(Mark::bars((1..=HOPS).map(|n| n.to_string()), bars).bar_reference("half the line"));
    let figure = Figure::new("Two connections over one to four hops")
        .caption(
            "One connection comes from the first switch, one from the last. The slides: PFFC scales to multi-hop networks. Two \
            connections can have at most half the line rate each.",
        )
        .panel(panel);
    let words: Vec<String> = (0..HOPS as usize).map(|n| lab::rate(mean(HOPS as usize + n))).collect();
    let measured = format!("PFFC, N = 1 to 4: {} per connection.", words.join(", "));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}

//! Figs. 2 and 3: what implicit rate regulation schedules, and what contention and round trips make of it.

use xoff_analysis::scheduled::slots::{self, Seen};
use xoff_report::{Align, Axis, Cell, Figure, LaneGroup, Mark, Panel, Table, Unit};

use crate::{Check, Context, Findings, ReproduceError};

/// Round trip where all have the same [segment times].
const RTT: u64 = 4;
/// Round trips of Fig. 3, in the order of the grants: they fall from 20 to 16 [segment times].
const FALLING: [u64; 4] = [20, 19, 17, 16];
/// Segments of a grant in Fig. 3, so that each is on the line for at least as long as the next one catches up.
const GRANT: u32 = 4;

fn slots_unit() -> Unit {
    Unit::Other("segment times".into())
}
fn segments() -> Unit {
    Unit::Other("segments".into())
}

/// Fig. 2. Inputs 0 and 1 of the model are the paper's 1 and 2, output 1 its output 3, output 0 another one.
pub fn run_fig2(_: &Context) -> Result<Findings, ReproduceError> {
    // Input 2 asks for four while the grant of five to input 1 lasts.
    let asks = [(0, 0, 1, 5), (2, 1, 1, 4)];
    let alone = slots::run(&[RTT; 2], 2, &asks, 40);
    let both = slots::run(&[RTT; 2], 2, &[asks[0], asks[1], (0, 0, 0, 5)], 40);
    let near = slots::run(&[RTT + 2, RTT], 2, &asks, 40);
    let late = |s: &Seen| s.arrives(0, 1).1 - alone.arrives(0, 1).1;
    let checks = vec![
        Check::exact("(a) output 3 grants input 1", segments(), f64::from(alone.grants[0].3), 5.0).paper(5.0),
        Check::exact("(a) then is idle for", slots_unit(), (alone.grants[1].0 - alone.grants[0].0) as f64, 5.0).paper(5.0),
        Check::exact("(a) and grants input 2", segments(), f64::from(alone.grants[1].3), 4.0).paper(4.0),
        Check::exact("(a) longest backlog", segments(), alone.backlog_max(1) as f64, 0.0).claimed(),
        Check::exact("(a) longest backlog if the round trips differ by 2", segments(), near.backlog_max(1) as f64, 2.0),
        Check::new(
            "(b) input 1, granted by two outputs, sends its last segment to output 3 later by",
            slots_unit(),
            late(&both) as f64,
            1.0,
            5.0,
        )
        .claimed(),
        Check::new("(b) longest backlog at output 3", segments(), both.backlog_max(1) as f64, 1.0, 9.0).claimed(),
    ];
    let panel = |title: &str, s: &Seen| {
        let grants = s.grants.iter().filter(|g| g.1 == 1).map(|g| (g.2, g.0 as f64, (g.0 + u64::from(g.3)) as f64));
        let grants: Vec<_> = grants.collect();
        let injected = |input: usize, output: usize, row: usize| {
            let of = s.arrivals.iter().filter(move |a| a.1 == input && a.2 == output);
            of.map(move |a| (row, (a.0 - RTT) as f64, (a.0 - RTT + 1) as f64)).collect::<Vec<_>>()
        };
        let arriving = |input: usize| {
            let of = s.arrivals.iter().filter(move |a| a.1 == input && a.2 == 1);
            of.map(move |a| (4 + input, a.0 as f64, (a.0 + 1) as f64)).collect::<Vec<_>>()
        };
        let groups = [
            LaneGroup::new("granted by output 3", grants),
            LaneGroup::new("sent to output 3", [injected(0, 1, 2), injected(1, 1, 3)].concat()),
            LaneGroup::new("sent to another output", injected(0, 0, 2)),
            LaneGroup::new("arrives before output 3", [arriving(0), arriving(1)].concat()),
        ];
        let names = ["Grants to input 1", "Grants to input 2", "Input 1", "Input 2", "From 1 at output 3", "From 2 at output 3"];
        Panel::new(title, Axis::new("Time", slots_unit()).range(0.0, 20.0), Axis::new("", Unit::None)).mark(Mark::lanes(names, groups))
    };
    let figure = Figure::new("Implicit rate regulation (paper: Fig. 2)")
        .caption(
            "(a) Output 3 grants five segments to input 1, is idle for five segment times, then grants four to input 2: they \
            arrive one after the other. (b) Input 1 also has grants of another output, and serves both round robin: half of its \
            segments for output 3 arrive together with those of input 2.",
        )
        .panel(panel("(a) As scheduled", &alone))
        .panel(panel("(b) Grants of two outputs collide at input 1", &both));
    let measured = format!(
        "(a) grants of 5 and 4 segments, {} segment times apart, no backlog. (b) The last segment of input 1 is {} segment times late, \
         and {} segments wait before output 3",
        alone.grants[1].0 - alone.grants[0].0,
        late(&both),
        both.backlog_max(1)
    );
    Ok(Findings { measured, checks, figures: vec![figure], ..Findings::default() })
}

/// Fig. 3.
pub fn run_fig3(_: &Context) -> Result<Findings, ReproduceError> {
    let order = |rtts: &[u64]| {
        let asks: Vec<_> = (0..rtts.len()).map(|i| (0, i, 0, GRANT)).collect();
        slots::run(rtts, 1, &asks, 60)
    };
    let mut rising = FALLING;
    rising.reverse();
    let [falls, rises] = [order(&FALLING), order(&rising)];
    let delta = FALLING[0] - FALLING[3];
    let names = FALLING.map(|r| r.to_string()).join(", ");
    // Every order of the four round trips.
    let mut table = Table::new(["Round trips in the order of the grants", "Longest backlog"])
        .align([Align::Left, Align::Right])
        .caption("All orders of the four round trips [segment times], the largest backlogs first [segments].");
    let mut all: Vec<(u64, Vec<u64>)> = permutations(&FALLING).into_iter().map(|p| (order(&p).backlog_max(0), p)).collect();
    all.sort_by(|a, b| b.cmp(a));
    let worst = all.first().map_or(0, |a| a.0);
    for (backlog, p) in all.iter().take(8) {
        let text: Vec<String> = p.iter().map(u64::to_string).collect();
        table.push([Cell::from(text.join(", ")), Cell::from(*backlog)]);
    }
    let checks = vec![
        Check::exact(format!("longest backlog, round trips {names}"), segments(), falls.backlog_max(0) as f64, delta as f64).paper(4.0),
        Check::exact("longest backlog in the reverse order", segments(), rises.backlog_max(0) as f64, 0.0),
        Check::new("longest backlog in any of the 24 orders", segments(), worst as f64, 0.0, delta as f64).claimed(),
    ];
    let x = || Axis::new("Time", slots_unit()).range(10.0, 50.0);
    let line = |s: &Seen| s.backlog[0].iter().enumerate().map(|(t, b)| (t as f64, *b as f64)).collect::<Vec<_>>();
    let figure = Figure::new("Implicit rate regulation under different round trips (paper: Fig. 3)")
        .caption(
            "Backlog in the fabric-output buffer. Grants in the order of decreasing round trips move their arrivals closer \
            together, by at most the difference of the round trips. In increasing order they move them apart.",
        )
        .panel(
            Panel::new("", x(), Axis::new("Backlog", segments()))
                .mark(Mark::steps("round trips fall", line(&falls)))
                .mark(Mark::steps("round trips rise", line(&rises)).dashed())
                .mark(Mark::hline(delta as f64, "one difference of round trips")),
        );
    let measured = format!(
        "{} segments wait at most when round trips decrease ({names}), none when they increase, {worst} in the worst of all orders",
        falls.backlog_max(0)
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}

fn permutations(of: &[u64]) -> Vec<Vec<u64>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let without = |i: usize| of.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, v)| *v).collect::<Vec<_>>();
    (0..of.len()).flat_map(|i| permutations(&without(i)).into_iter().map(move |rest| [vec![of[i]], rest].concat())).collect()
}

//! Section 5.2.1: what becomes 1.2? The initial alpha, or the factor before alpha in a cut.

use xoff_mech::detection::Mark as Marking;
use xoff_mech::detection::Mark as CodePoint;
use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;

use super::fig2::{self, DISCIPLINES, Detection, Fabric, Flows, Load, P2, P3, READING, Setup};
use crate::lab::{self, Observed, Points};
use crate::{Check, Context, Findings, ReproduceError};

/// Assumption behind A.
const A: &str = "reading A: the 1.2 is the initial value of the state alpha, whose default in ns3-rdma is 0.5";
/// Assumption behind B.
const B: &str = "reading B: the 1.2 replaces the factor 1/2 before alpha, and the floor of 100 Mb/s applies when a cut goes below zero";

/// In which order the runs are drawn: what lies on another line is dashed and comes after it.
const ORDER: [usize; 4] = [1, 0, 2, 3];

/// See [`ORDER`].
fn shown(run: usize, mark: Mark) -> Mark {
    if run == 0 || run == 3 { mark.dashed() } else { mark }
}

const NAMES: [&str; 4] = ["ECN", "TCD, unchanged", "TCD, A", "TCD, B"];
const LOADS: [(&str, Load); 2] = [("one congestion point", Load::Single), ("two congestion points", Load::Multiple)];

/// Results in the order of [`NAMES`].
fn setups(load: Load) -> [Setup; 4] {
    let tcd = Setup::new(Fabric::Cee, Detection::Tcd, load);
    let cut = |cut: &str| tcd.clone().with(["rate_control.dcqcn.tcd=true".to_owned(), format!("rate_control.dcqcn.tcd_cut={cut}")]);
    [Setup::new(Fabric::Cee, Detection::Own, load), tcd.clone(), cut("alpha"), cut("factor")]
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut all: Vec<Setup> = LOADS.iter().flat_map(|(_, l)| setups(*l)).collect();
    let main = all.len();
    for discipline in &DISCIPLINES[1..] {
        all.extend(setups(Load::Single).map(|s| s.read(discipline, READING.variant)));
    }
    let mut runs = fig2::observe(cx, &all)?;
    let others = runs.split_off(main);
    let groups = || LOADS.iter().zip(runs.chunks(NAMES.len()));
    let sentences: Vec<String> = groups()
        .map(|((scenario, _), group)| {
            format!(
                "{scenario}: P2 paused {} (ECN), {} (TCD, unchanged DCQCN), {} (A), {} (B)",
                stopped(&group[0]),
                stopped(&group[1]),
                stopped(&group[2]),
                stopped(&group[3])
            )
        })
        .collect();
    let why = vec![format!(
        "With 1.2, one congestion point and ingresses served round robin, P2 is paused as follows: {} under A and {} under B ({} and {} under FIFO, \
         {} and {} with one queue per ingress). With unchanged DCQCN it is paused {}: F1 is below its share before its backlog reaches \
         L0. Figs. 12 and 13 show P2 paused as in section 3.1, so that fig12 and fig13 use unchanged DCQCN.",
        stopped(&runs[2]),
        stopped(&runs[3]),
        stopped(&others[2]),
        stopped(&others[3]),
        stopped(&others[6]),
        stopped(&others[7]),
        stopped(&runs[1])
    )];
    Ok(Findings {
        measured: sentences.join("; "),
        checks: groups().flat_map(|((scenario, load), group)| checks(scenario, *load, group)).collect(),
        figures: vec![figure(&runs)],
        tables: vec![table(&runs), readings(&runs, &others)],
        why,
        ..Findings::default()
    })
}

fn stopped(run: &Observed) -> String {
    match fig2::last_off(run, P2) {
        t if t.is_finite() => format!("until {}", lab::time(t)),
        _ => "never".to_owned(),
    }
}

fn checks(scenario: &str, load: Load, group: &[Observed]) -> Vec<Check> {
    let mut checks = Vec::new();
    let plain = &group[1];
    // 1 - 1.2 x 0.502 with ns3-rdma's initial alpha, raised before the cut.
    let left_by_b = 1.0 - 1.2 * (0.5 + 0.5 / 256.0);
    for (run, reading, what, left) in [(&group[2], A, "A", 0.4), (&group[3], B, "B", left_by_b)] {
        let part = format!("{scenario}, {what}: part of the rate that the first cut leaves");
        checks.push(Check::near(part, Unit::Fraction, first_cut(run) / 40e9, left, 0.005).assuming(reading));
        let against = format!("{scenario}, {what}: first cut, relative to unchanged DCQCN");
        checks.push(Check::new(against, Unit::None, first_cut(run) / first_cut(plain), 0.0, 0.999).claimed().assuming(reading));
        if load == Load::Single {
            checks.push(fig2::none(format!("{scenario}, {what}: CE on F0 and F2 at P2"), wrong(run)).assuming(reading));
        }
    }
    checks
}

fn table(runs: &[Observed]) -> Table {
    let mut table = Table::new([
        "Scenario",
        "Marks and rate control",
        "F1 after its first cut",
        "F1's lowest rate",
        "P2 paused until",
        "P3's queue, highest",
        "F1 delivered",
        "CE on F0 and F2 at P2",
    ])
    .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 6]));
    for ((scenario, _), group) in LOADS.iter().zip(runs.chunks(NAMES.len())) {
        for (name, run) in NAMES.iter().zip(group) {
            table.push([
                Cell::from(*scenario),
                (*name).into(),
                lab::rate(first_cut(run)).into(),
                lab::rate(lowest(run)).into(),
                lab::time(fig2::last_off(run, P2)).into(),
                lab::bytes(run.totals(P3).egress_bytes_max as f64).into(),
                lab::bytes(run.outcome.flows[Flows::of(run).f1 as usize].delivered as f64).into(),
                wrong(run).into(),
            ]);
        }
    }
    table.caption("F1 starts at 40 Gb/s. CE at P2 is wrong with one congestion point, and right with two after the release of P2.")
}

fn figure(runs: &[Observed]) -> Figure {
    let until = lab::ms(6.0);
    let mut figure = Figure::new("F1 and P2 under the two readings of alpha 1.2")
        .caption(
            "F1's rate at its rate control, and P2's queue. A and B cut F1 deeper than unchanged DCQCN; left one congestion point, \
            right two.",
        )
        .columns(2);
    for ((scenario, _), group) in LOADS.iter().zip(runs.chunks(NAMES.len())) {
        let mut panel = Panel::new(*scenario, fig2::time(until), Axis::new("Rate of F1", Unit::BitsPerSecond).log().range(5e7, 5e10));
        for i in ORDER {
            let run = &group[i];
            let start = [(0.0, 40e9)].into_iter();
            let all: Points = start.chain(fig2::first(run.flow_rate(Flows::of(run).f1, RateSource::RateControl), until)).collect();
            let end = all.last().map(|p| (until, p.1));
            panel = panel.mark(shown(i, Mark::steps(NAMES[i], all.into_iter().chain(end))));
        }
        figure = figure.panel(panel);
    }
    for group in runs.chunks(NAMES.len()) {
        let mut panel = Panel::new("", fig2::time(until), Axis::new("Queue of P2", Unit::Bytes));
        for i in ORDER {
            panel = panel.mark(shown(i, Mark::line(NAMES[i], fig2::first(group[i].egress(P2), until))));
        }
        figure = figure.panel(panel);
    }
    figure
}

/// Table by discipline: `runs` with one congestion point, then `others`.
fn readings(runs: &[Observed], others: &[Observed]) -> Table {
    let mut readings = Table::new(["Egress", "Marks and rate control", "P2 paused until", "UE of P2", "Highest queue of P2"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right])
        .caption("One congestion point, by the order in which an egress serves its ingresses.");
    let in_turn = runs[..NAMES.len()].iter().zip(NAMES).map(|(r, n)| (READING.discipline, n, r));
    let rest = others.chunks(NAMES.len()).zip(&DISCIPLINES[1..]).flat_map(|(g, d)| g.iter().zip(NAMES).map(|(r, n)| (*d, n, r)));
    for (discipline, name, run) in in_turn.chain(rest) {
        let queue = lab::bytes(run.totals(P2).egress_bytes_max as f64);
        readings.push([
            Cell::code(discipline),
            name.into(),
            lab::time(fig2::last_off(run, P2)).into(),
            run.totals(P2).marked.of(CodePoint::Ue).into(),
            queue.into(),
        ]);
    }
    readings
}

/// F1's rate after the first change of its rate control [bit/s].
fn first_cut(run: &Observed) -> f64 {
    run.flow_rate(Flows::of(run).f1, RateSource::RateControl).iter().find(|p| p.1 < 40e9).map_or(f64::NAN, |p| p.1)
}

/// F1's lowest rate [bit/s].
fn lowest(run: &Observed) -> f64 {
    run.flow_rate(Flows::of(run).f1, RateSource::RateControl).iter().map(|p| p.1).fold(f64::INFINITY, f64::min)
}

/// CE that P2 puts on the two victims.
fn wrong(run: &Observed) -> u64 {
    let flows = Flows::of(run);
    fig2::count(run, P2, flows.f0, Marking::Ce) + fig2::count(run, P2, flows.f2, Marking::Ce)
}

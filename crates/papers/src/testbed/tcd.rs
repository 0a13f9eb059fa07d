//! TCD, Fig. 11 with real frames: how the frames of F0 and F1 are marked where they arrive.

use std::cell::RefCell;
use std::rc::Rc;

use xoff_real::switchd::Tap;
use xoff_real::wire::ecn::Ecn;
use xoff_real::wire::ethernet;
use xoff_real::wire::local::{self, Message};
use xoff_report::{Align, Axis, Colour, Figure, Mark, Panel, Table, Unit};
use xoff_units::Time;

use super::repeat::{Cell, Runs, all_with, machine};
use crate::lab;
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("tcd/testbed", "testbed.toml");
/// Flows in the order of the scenario.
const F0: usize = 0;
const F1: usize = 1;
const A0: usize = 2;
/// Interval of the figure [ps]; the paper's 100 ms would be 10 s.
const STEP: f64 = 5e11;
/// Assumption behind it all.
const SLOWER: &str = "a hundred times slower: rates are a hundredth of the paper's and times a hundred times as long, so that sizes are \
    the same; intervals of 500 ms";

/// Frames of F0 and F1 that arrived in an interval: all, marked CE, marked UE.
type Counts = Vec<[[u32; 3]; 2]>;
/// Counts that a run fills during its run.
type Filling = Rc<RefCell<Counts>>;

/// Reads what passes the ports of the two receivers: frames as they are on the wire, at the time when they come in.
fn meter(links: &[usize; 2], into: Filling) -> Tap<'static> {
    let links = *links;
    Box::new(move |at: Time, link, inbound, bytes| {
        if !inbound || !links.contains(&link) {
            return Ok(());
        }
        let Ok(frame) = ethernet::Frame::new(bytes) else { return Ok(()) };
        if let Ok(Message::Test(t)) = local::Message::parse(frame.payload())
            && (t.flow as usize) < 2
        {
            let (mut all, bin) = (into.borrow_mut(), (lab::ps(at) / STEP) as usize);
            let bins = all.len().max(bin + 1);
            all.resize(bins, Default::default());
            let n = &mut all[bin][t.flow as usize];
            n[0] += 1;
            n[1] += u32::from(t.mark == Ecn::CE);
            n[2] += u32::from(t.mark == Ecn::UE);
        }
        Ok(())
    })
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let cells = [Cell::new("PFC", SCENARIO, &[]), Cell::new("Credits", SCENARIO, &["flow_control=cbfc", "switch.buffer=800KB"])];
    let topology = cells[0].load(cx)?.topology.clone();
    // Links are numbered as the ports of all nodes are, node by node.
    let first = |host: &str| {
        let node = topology.find(host).unwrap_or_else(|| panic!("no host '{host}'")) as usize;
        topology.nodes[..node].iter().map(|n| n.ports.len()).sum::<usize>()
    };
    let receivers = [first("R0"), first("R1")];
    // The last try of a run is the one that counts, if any does.
    let made: RefCell<Vec<(usize, Filling)>> = RefCell::default();
    let all = all_with(cx, &[&cells[0], &cells[1]], &mut |cell| {
        let counts = Filling::default();
        made.borrow_mut().push((cell, counts.clone()));
        Some(meter(&receivers, counts))
    })?;
    let made = made.borrow();
    let mut found = Findings::default();
    let mut sentences = Vec::new();
    let mut figure = Figure::new("Real frames: how F0 and F1 are marked per 500 ms (paper: Fig. 11)")
        .caption(
            "At the receivers, first run that counts. The paper shows F0: UE while A0 sends, no mark before and after. F1 is the \
            inverse: CE while A0 sends.",
        )
        .columns(2);
    let mut table = Table::new(["Flow control", "Interval", "F0 UE", "F0 CE", "F1 UE", "F1 CE"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption("Share of the frames that arrive in each 500 ms with a mark, first run that counts. A0 sends from 1.5 s on.");
    for (which, runs) in all.iter().enumerate() {
        let tries: Vec<&Filling> = made.iter().filter(|m| m.0 == which).map(|m| &m.1).collect();
        let counts: Vec<Counts> = runs.tries_that_count.iter().map(|&t| tries[t].borrow().clone()).collect();
        judge(runs, &counts, &mut found, &mut sentences);
        if let (Some(r), Some(c)) = (runs.runs.first(), counts.first()) {
            let (from, to) = sends(r);
            let series = |flow: usize, mark: usize| -> Vec<f64> { c.iter().map(|n| share(n[flow], mark)).collect() };
            let (ue, f1_ce) = (series(F0, 2), series(F1, 1));
            let steps = |v: &[f64]| v.iter().enumerate().map(|(i, s)| (i as f64 * STEP, *s)).collect::<Vec<_>>();
            let axis = Axis::new("Time", Unit::Picoseconds).range(0.0, lab::ps(r.seen.outcome.now));
            figure = figure.panel(
                Panel::new(runs.name.as_str(), axis, Axis::new("Marked frames", Unit::Fraction).range(0.0, 1.05))
                    .mark(Mark::vband(from, to, "A0 sends"))
                    .mark(Mark::steps("F0, UE", steps(&ue)).colour(Colour::Blue))
                    .mark(Mark::steps("F1, CE", steps(&f1_ce)).colour(Colour::Vermilion).dashed()),
            );
            for (i, n) in c.iter().enumerate() {
                let words = |flow: usize, mark: usize| Unit::Fraction.format(share(n[flow], mark));
                let end = format!("to {}", lab::time((i + 1) as f64 * STEP));
                table.push([runs.name.clone(), end, words(F0, 2), words(F0, 1), words(F1, 2), words(F1, 1)]);
            }
        }
    }
    found.measured = sentences.join(" ");
    found.figures.push(figure);
    found.tables.push(table);
    found.notes.push(machine(&all));
    found.notes.push(
        "Marks are read from the bytes of the frames that arrive at R0 and R1. Two intervals count as neither inside nor outside. \
         The buffer behind P0 fills in the first 500 ms of A0, and F1's backlog leaves in the 500 ms after its end."
            .into(),
    );
    Ok(found)
}

/// Share of the frames with a mark; NaN of none.
fn share(n: [u32; 3], mark: usize) -> f64 {
    f64::from(n[mark]) / f64::from(n[0])
}

/// From when to when A0 sends [ps].
fn sends(r: &super::repeat::Real) -> (f64, f64) {
    let a0 = &r.seen.outcome.flows[A0];
    (lab::ps(a0.flow.start), a0.received.map_or(f64::NAN, lab::ps))
}

/// The checks of a flow control, over all of its runs.
fn judge(runs: &Runs, counts: &[Counts], found: &mut Findings, sentences: &mut Vec<String>) {
    let name = &runs.name;
    // Means over the runs of the least or the most in a run.
    let over = |flow: usize, mark: usize, inside: Option<bool>, least: bool| {
        let one = |(r, c): (&super::repeat::Real, &Counts)| {
            let (from, to) = sends(r);
            let keep = |i: usize| {
                let (begin, end) = (i as f64 * STEP, (i + 1) as f64 * STEP);
                match inside {
                    Some(true) => begin >= from + STEP && end <= to,
                    Some(false) => end <= from || begin >= to + STEP,
                    None => true,
                }
            };
            // The last interval may have been cut off.
            let whole = c.len().saturating_sub(1);
            let shares = c[..whole].iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, n)| share(n[flow], mark));
            if least { shares.fold(f64::INFINITY, f64::min) } else { shares.fold(0.0, f64::max) }
        };
        Mean::of(runs.runs.iter().zip(counts).map(one))
    };
    let check = |what: &str, mean: Mean, low: f64, high: f64| {
        let what = format!("{name}: {what} per 500 ms, mean of the runs");
        Check::mean(what, Unit::Fraction, mean, low, high).claimed().assuming(SLOWER)
    };
    let (ue, outside) = (over(F0, 2, Some(true), true), over(F0, 2, Some(false), false));
    let f1_ce = over(F1, 1, Some(true), true);
    found.checks.extend([
        check("F0 marked UE while A0 sends, smallest", ue, 0.95, 1.0),
        check("F0 marked UE before and after, largest", outside, 0.0, 0.01),
        check("F0 marked CE, largest", over(F0, 1, None, false), 0.0, 0.0),
        check("F1 marked CE while A0 sends, smallest", f1_ce, 0.95, 1.0),
        check("F1 marked CE before and after, largest", over(F1, 1, Some(false), false), 0.0, 0.01),
        Check::none(format!("{name}: frames lost in all runs"), "frames", runs.lost()),
        runs.enough(),
    ]);
    sentences.push(format!(
        "{name}, {} runs: F0 UE at least {} while A0 sends, at most {} outside; F1 CE at least {} while A0 sends.",
        runs.runs.len(),
        Unit::Fraction.format(ue.mean),
        Unit::Fraction.format(outside.mean),
        Unit::Fraction.format(f1_ce.mean)
    ));
}

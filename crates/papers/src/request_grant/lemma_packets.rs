//! Lemma 1 in packets: one switch, one output, round trips that differ by input.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, Core, Pattern, Shape, Stream, Traffic};
use xoff_units::{Bytes, Span};

use super::run::{Plan, soundness};
use super::setups::{self, t_min};
use crate::study::Series;
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// Inputs of the switch; the last port is the output.
const INPUTS: u32 = 63;
/// A segment [bytes].
const SEGMENT: u64 = 256;

/// Order of round trips along the round robin of the output.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Falling,
    Rising,
    Mixed,
}

/// All inputs ask one output for more than it carries; grants of `packet` bytes, round trips that differ by up to
/// `spread` [t_min].
fn config(order: Order, spread: u64, packet: u64) -> Config {
    let streams = (0..INPUTS).map(|input| Stream { input, output: INPUTS, load: 0.05, size: Bytes(packet) }).collect();
    let traffic = Traffic { pattern: Pattern::Streams(streams), load: 0.0, sizes: setups::fixed(Bytes(packet)), burst_packets: 1.0 };
    let mut c = setups::implicit(setups::out_of_band(setups::section_4(traffic, 1.0)));
    c.core = Core::Network(Shape::benes(INPUTS + 1, 1));
    c.unsolicited = false;
    c.service = xoff_mech::scheduled::request_grant::Service::RoundRobin;
    // A request is one packet.
    c.requests_max = packet.div_ceil(SEGMENT) as u32;
    c.element.output = Bytes(1 << 20);
    // Granted segments never wait at an input of the switch for want of credits.
    c.element.input = Bytes(1 << 20);
    let t = c.t_min().0;
    let place = |i: u64| match order {
        Order::Falling => u64::from(INPUTS) - 1 - i,
        Order::Rising => i,
        Order::Mixed => i * 10 % u64::from(INPUTS),
    };
    c.port_delays = (0..u64::from(INPUTS)).map(|i| Span(spread * t * place(i) / (u64::from(INPUTS) - 1))).collect();
    c
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let spreads: &[u64] = if cx.mode == Mode::Quick { &[0, 40, 100] } else { &[0, 20, 40, 60, 80, 100, 150, 200] };
    let orders = [("falling", Order::Falling), ("rising", Order::Rising), ("mixed", Order::Mixed)];
    let packets = [256, 2_560];
    let (from, to) = cx.mode.pick((1_000, 20_000), (1_000, 60_000));
    let mut plan = Plan::default();
    let mut all: Vec<(&str, u64, u64, Series)> = Vec::new();
    for packet in packets {
        for (name, order) in orders {
            for &spread in spreads {
                let series = plan.series(cx, setups::seeds(cx, setups::PORTS), &setups::during(config(order, spread, packet), from, to));
                all.push((name, packet, spread, series));
            }
        }
    }
    let results = plan.run(cx)?;
    let backlog = |s: Series| results.max(s, |r| f64::from(r.queue_max[0]));
    // The segment on the line and one that is whole in the queue while it still goes out.
    let slack = 2.0 * SEGMENT as f64;
    let mut f = Findings::default();
    let mut table = Table::new([
        "Order of round trips",
        "Grant",
        "Difference of round trips",
        "Longest backlog",
        "Of the bound",
        "Throughput of the output",
    ])
    .align([Align::Left].into_iter().chain([Align::Right; 5]))
    .caption("One 64 x 64 switch; 63 inputs request one output at three times its capacity. Bound: difference of round trips times L.");
    let (mut excess, mut closest) = (f64::NEG_INFINITY, 0.0f64);
    for &(name, packet, spread, s) in &all {
        let bound = spread as f64 * 40.0;
        excess = excess.max(backlog(s) - bound);
        if name == "falling" && spread > 0 {
            closest = closest.max(backlog(s) / bound);
        }
        let of = if spread > 0 { Unit::Fraction.format(backlog(s) / bound) } else { String::new() };
        table.push([
            Cell::from(name),
            format!("{packet} B").into(),
            format!("{spread} t_min").into(),
            format!("{:.0} B", backlog(s)).into(),
            of.into(),
            format!("{:.3}", results.mean(s, |r| r.by_output[INPUTS as usize]).mean).into(),
        ]);
    }
    let least = |name: &str| {
        let of = all.iter().filter(|a| a.0 == name && a.2 >= 40);
        of.map(|a| backlog(a.3) / (a.2 as f64 * 40.0)).fold(f64::INFINITY, f64::min)
    };
    f.checks.push(Check::new("largest backlog beyond the bound, all runs", Unit::Bytes, excess, -1e9, slack).claimed());
    f.checks.push(Check::new(
        "round trips decrease, 40 t_min or more: smallest backlog over the bound",
        Unit::None,
        least("falling"),
        0.8,
        1.4,
    ));
    f.checks.push(
        Check::exact("link rate of 100 Gb/s, difference of 400 ns: bound", Unit::Bytes, 400e-9 * 100e9 / 8.0, 5_000.0).paper(5_000.0),
    );
    f.checks.push(soundness(&results));
    f.measured = format!(
        "the backlog is at most {excess:.0} B beyond the difference of round trips times L in all {} series, and {:.2} of the bound or \
         more if round trips decrease along the round robin",
        all.len(),
        least("falling")
    );
    f.notes.push(format!(
        "Segments are whole: the excess is the segment on the link plus the next one, {slack:.0} B at most. Closest to \
        the bound: {closest:.2} times."
    ));
    let drawn = packets.into_iter().flat_map(|packet| orders.map(|(name, _)| (packet, name)));
    let lines = drawn.map(|(packet, name)| {
        let points = all.iter().filter(|a| (a.0, a.1) == (name, packet)).map(|a| (a.2 as f64, backlog(a.3))).collect();
        (format!("{name}, grants of {packet} B"), points)
    });
    f.figures.push(figure(lines, *spreads.last().expect("some") as f64));
    f.tables.push(table);
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

/// Longest backlog [bytes] over the difference of round trips [t_min], which goes to `end`.
fn figure(lines: impl Iterator<Item = (String, Vec<(f64, f64)>)>, end: f64) -> Figure {
    let mut panel = Panel::new("", Axis::new("Difference of round trips", t_min()), Axis::new("Longest backlog", Unit::Bytes));
    for (name, points) in lines {
        panel = panel.mark(Mark::line(name, points));
    }
    panel = panel.mark(Mark::line("Lemma 1", [(0.0, 0.0), (end, end * 40.0)]).dashed());
    Figure::new("Lemma 1 in packets")
        .caption(
            "Backlog of a fabric-output buffer under implicit rate regulation with inputs of different round trips. It never \
            exceeds the difference (plus a segment), and reaches it if the output grants in the order of decreasing round trips.",
        )
        .panel(panel)
}

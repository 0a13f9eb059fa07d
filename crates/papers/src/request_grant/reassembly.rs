//! Sections 3.3 and 3.4: a reassembly buffer for a few packets, and who gets its slots.

use xoff_mech::scheduled::request_grant::Service;
use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Config, Pattern, Sizes, Stream, Traffic};
use xoff_units::Bytes;

use super::run::{Plan, Run, soundness};
use super::setups::{self, MAX_P};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Buffers in which packets are put together [segments].
const SLOTS: [u32; 5] = [48, 64, 96, 192, 2_048];

/// Inputs that send to one output.
const SENDERS: u32 = 32;

/// Jumbo frames and smaller ones from many inputs to one output, out of a buffer of `slots`.
fn incast(slots: u32, whole: bool) -> Config {
    let sizes = Sizes::Bimodal { small: Bytes(3_000), large: MAX_P, small_share: 0.5 };
    let pattern = Pattern::Incast { inputs: (0..SENDERS).collect(), output: setups::PORTS - 1 };
    let mut c = setups::section_4(Traffic { pattern, load: 0.5, sizes, burst_packets: 1.0 }, 1.1);
    c.output_slots = slots;
    c.whole_requests = whole;
    // The rule of section 3.3 alone would prevent it too, as long as G covers a packet.
    c.fair = whole && slots >= c.requests_max;
    c.unsolicited = false;
    c
}

/// When the last packet left [t_min].
fn last_departure(run: &Run) -> f64 {
    run.stretches.iter().rev().find(|s| s.hot_bytes > 0).map_or(0.0, |s| s.end)
}

/// Slots, whether whole packets are requested, and the runs.
type Seen = (u32, bool, Series);

/// The entry `reassembly`.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut plan = Plan::default();
    let long = cx.mode.pick(60_000, 2_100_000);
    let paper = [("jumbo frames, 8 hotspots", 8, 0.78), ("jumbo frames, uniform", 0, 0.95)].map(|(name, hot, load)| {
        let c = setups::section_4(setups::traffic(hot, load, setups::fixed(MAX_P), 1.0), 1.1);
        (name, plan.series(cx, 1, &setups::during(c, 10_000, long)))
    });
    let until = cx.mode.pick(60_000, 400_000);
    let seeds = cx.mode.pick(3, 10);
    let seen: Vec<Seen> = SLOTS
        .iter()
        .flat_map(|&s| [false, true].map(|whole| (s, whole)))
        .map(|(s, whole)| (s, whole, plan.series(cx, seeds, &setups::during(incast(s, whole), 0, until))))
        .collect();
    let results = plan.run(cx)?;
    let stuck = |s: Series| results.of(s).iter().filter(|r| r.stuck.is_some()).count() as u64;
    let packets: u64 = paper.iter().flat_map(|(_, s)| results.of(*s)).map(|r| r.packets_out).sum();
    let mut f = Findings::default();
    let needed = f64::from(setups::PORTS) * MAX_P.0 as f64;
    let buffer = (4 << 20) as f64 / 8.0;
    f.checks.push(Check::new("reassembly buffer over N packets of 9000 B", Unit::None, buffer / needed, 0.0, 0.999).claimed());
    f.checks.push(Check::new(
        "reassembled packets of 9000 B",
        Unit::Other("packets".into()),
        packets as f64,
        cx.mode.pick(2e4, 1e6),
        f64::INFINITY,
    ));
    f.checks.push(Check::none("whole requests, 4 Mbit: deadlocks", "deadlocks", paper.iter().map(|(_, s)| stuck(*s)).sum()).claimed());
    let (whole, partial): (Vec<Seen>, Vec<Seen>) = seen.iter().copied().partition(|s| s.1);
    f.checks.push(
        Check::none(
            "whole requests, one output, buffers of 48 to 2048 segments: deadlocks",
            "deadlocks",
            whole.iter().map(|s| stuck(s.2)).sum(),
        )
        .claimed(),
    );
    f.checks.push(Check::exact(
        "partial grants, buffer of 48 segments: runs that deadlock",
        Unit::Other("runs".into()),
        stuck(partial[0].2) as f64,
        seeds as f64,
    ));
    let mut table = Table::new(["Buffer", "Grants", "Runs that deadlock", "Last departure", "Packets out", "Throughput of the output"])
        .align([Align::Right, Align::Left].into_iter().chain([Align::Right; 4]))
        .caption(format!(
            "{SENDERS} inputs send packets of 3000 and 9000 B to one output, {:.0} times its capacity; {seeds} seeds, \
            {until} t_min. Last departure: earliest of the runs that deadlock [t_min]. G = 50.",
            0.5 * f64::from(SENDERS)
        ));
    for &(slots, whole, s) in &seen {
        let last = results.of(s).iter().filter(|r| r.stuck.is_some()).map(last_departure).fold(f64::INFINITY, f64::min);
        table.push([
            Cell::from(format!("{slots} segments")),
            if whole { "whole requests" } else { "partial grants" }.into(),
            format!("{} of {seeds}", stuck(s)).into(),
            if last.is_finite() { format!("{last:.0}") } else { String::new() }.into(),
            format!("{:.0}", results.mean(s, |r| r.packets_out as f64).mean).into(),
            format!("{:.3}", results.mean(s, |r| r.by_output[setups::PORTS as usize - 1]).mean).into(),
        ]);
    }
    f.tables.push(table);
    if let Some(text) = partial.iter().flat_map(|s| results.of(s.2)).find_map(|r| r.stuck.clone()) {
        f.notes.push(format!("The run's report of a deadlock: {text}."));
    }
    let held = paper.iter().map(|(_, s)| results.max(*s, |r| r.reassembly_max as f64)).fold(0.0, f64::max);
    f.measured = format!(
        "{packets} packets of 9000 B without deadlock in a buffer of {} for {} packets ({} of it used at most). With partial grants a \
         buffer of 48 segments deadlocks in {} of {seeds} runs, with whole requests in none",
        Unit::Bytes.format(buffer),
        setups::PORTS,
        Unit::Bytes.format(held),
        stuck(partial[0].2)
    );
    f.notes.push("N = 10,000 and 9 KB: 720 Mbit, as the paper says.".into());
    f.figures.push(draw(
        &partial.iter().map(|s| (s.0, stuck(s.2) as f64 / seeds as f64)).collect::<Vec<_>>(),
        &whole.iter().map(|s| (s.0, stuck(s.2) as f64 / seeds as f64)).collect::<Vec<_>>(),
    ));
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

fn draw(partial: &[(u32, f64)], whole: &[(u32, f64)]) -> Figure {
    let group = |name: &str, of: &[(u32, f64)]| BarGroup::new(name, of.iter().map(|p| Bar::new(p.1)));
    let names = partial.iter().map(|p| format!("{} slots", p.0));
    Figure::new("Reassembly deadlocks by the size of the buffer")
        .caption(
            "Share of runs that deadlock: 32 inputs send packets of up to 36 segments to one output. With partial grants the \
            buffer can fill with parts of packets, so that no packet can be completed.",
        )
        .panel(
            Panel::new("", Axis::new("Reassembly buffer", Unit::None), Axis::new("Runs that deadlock", Unit::Fraction).range(0.0, 1.15))
                .mark(Mark::bars(names, [group("partial grants", partial), group("whole requests", whole)])),
        )
}

/// Inputs that ask for one segment at a time; one more asks for as many as it may, all for one output.
const SMALL: u32 = 23;

/// See [`SMALL`]. All packets are one segment, so that slots come free one by one.
fn large_and_small(fair: bool, service: Service) -> Config {
    let stream = |input, load| Stream { input, output: setups::PORTS - 1, load, size: Bytes(256) };
    // Always something to ask for; and the others, together all that the output carries but for 0.002, and each more than
    // the 24th that is its share.
    let mut streams = vec![stream(0, 1.0)];
    streams.extend((1..=SMALL).map(|i| stream(i, 0.0434)));
    let traffic = Traffic { pattern: Pattern::Streams(streams), load: 0.0, sizes: setups::fixed(MAX_P), burst_packets: 1.0 };
    let mut c = setups::section_4(traffic, 1.1);
    c.unsolicited = false;
    c.output_slots = 64;
    c.fair = fair;
    c.service = service;
    c
}

/// The entry `fairness`.
pub fn run_fairness(cx: &Context) -> Result<Findings, ReproduceError> {
    let cases = [
        ("rule, by segments", true, Service::BySegments),
        ("no rule, by segments", false, Service::BySegments),
        ("rule, round robin", true, Service::RoundRobin),
        ("no rule, round robin", false, Service::RoundRobin),
    ];
    let seeds = cx.mode.pick(3, 10);
    let (from, to) = cx.mode.pick((20_000, 400_000), (20_000, 1_000_000));
    let mut plan = Plan::default();
    let series = cases.map(|(_, fair, service)| plan.series(cx, seeds, &setups::during(large_and_small(fair, service), from, to)));
    let results = plan.run(cx)?;
    let large = |s: Series| results.mean(s, |r| r.by_input[0]);
    let of_small = |r: &Run| r.by_input[1..=SMALL as usize].iter().sum::<f64>() / f64::from(SMALL);
    let small = |s: Series| results.mean(s, of_small);
    let ratios = |s: Series| results.mean(s, |r| r.by_input[0] / of_small(r));
    let ratio = |s: Series| ratios(s).mean;
    let checks = vec![
        Check::mean("rule, by segments: bytes of the large requester, relative to a small one", Unit::None, ratios(series[0]), 0.95, 1.05)
            .claimed(),
        // The paper: inputs that request little may starve it.
        Check::mean("no rule, by segments: the same", Unit::None, ratios(series[1]), 0.0, 1.0).claimed(),
        Check::new("rule, by segments: throughput of the output", Unit::Fraction, results.min(series[0], |r| r.by_output[63]), 0.9, 1.01),
        soundness(&results),
    ];
    let mut table = Table::new(["Arbiter", "Large requester", "A small requester", "Ratio", "Output"])
        .align([Align::Left].into_iter().chain([Align::Right; 4]))
        .caption(
            "Throughput as a share of the line rate, mean over seeds with 95 % intervals. One input requests up to 50 segments at \
            a time, 23 request one; reassembly buffer of 64 segments, G = 50.",
        );
    for ((name, ..), s) in cases.iter().zip(series) {
        table.push([
            Cell::from(*name),
            large(s).words(|v| format!("{v:.4}")).into(),
            small(s).words(|v| format!("{v:.4}")).into(),
            format!("{:.2}", ratio(s)).into(),
            format!("{:.3}", results.mean(s, |r| r.by_output[63]).mean).into(),
        ]);
    }
    let bar = |m: crate::stats::Mean| Bar::with_interval(m.mean, m.low, m.high);
    let groups = [
        BarGroup::new("large requester", series.map(|s| bar(large(s)))),
        BarGroup::new("a small requester", series.map(|s| bar(small(s)))),
    ];
    let figure = Figure::new("Share of each requester")
        .caption(
            "One input requests up to 50 segments at a time, 23 request one, all for the same output. Without the rule that no \
            grant is issued while fewer than G slots are free, the large requester never finds enough free slots.",
        )
        .panel(
            Panel::new("", Axis::new("", Unit::None), Axis::new("Share of the line", Unit::Fraction))
                .mark(Mark::bars(cases.map(|c| c.0), groups))
                .mark(Mark::hline(1.0 / 24.0, "one in 24")),
        );
    let measured = format!(
        "large relative to small requester: {:.3} with the rule and service by segments, {:.3} without the rule; round robin {:.2} and {:.2}",
        ratio(series[0]),
        ratio(series[1]),
        ratio(series[2]),
        ratio(series[3])
    );
    let mut f = Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() };
    f.notes.push(
        "The small requesters use nearly all of the output's capacity. With less demand than the remaining capacity they would \
        starve no one. With more, their VOQs would grow until they request as much as the large one."
            .into(),
    );
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

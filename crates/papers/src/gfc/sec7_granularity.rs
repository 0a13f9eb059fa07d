//! Section 7: what happens when the target rate is below the smallest rate a limiter can hold.

use std::sync::Arc;

use xoff_analysis::plan::gfc_buffer::cascaded_share;
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::gfc_buffer::{Params, Stage, StageReceiver, StageSender, StageTable};
use xoff_mech::flow_control::{Custom, FlowControl, Gate, Message, Occupancy, Receiver, Sender};
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_sim::{PerLink, RateSource};
use xoff_units::{Bytes, Rate, Span, Time};

use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("gfc", "sec7-granularity.toml");
const PORT: &str = "H0->S1";
/// Units: that of commodity switches, and one above the share of 10 Gb/s / 16 = 625 Mb/s.
const UNITS: [u64; 2] = [8_000, 1_000_000_000];
/// Reading of the limiter of section 7.
const READING: &str = "a target below the unit becomes zero; therefore a queue alternates between zero and a stage above the unit";

/// Buffer-based GFC whose limiter cannot hold less than its unit: targets below it become zero.
#[derive(Debug)]
struct Coarse(Params);

struct CoarseSender {
    inner: StageSender,
    table: StageTable,
    unit: Rate,
    target: Rate,
}

impl Sender for CoarseSender {
    fn gate(&self, now: Time, len: Bytes) -> Gate {
        if self.target < self.unit { Gate::Blocked } else { self.inner.gate(now, len) }
    }
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        self.inner.on_sent(now, len, tx);
    }
    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Stage(Stage(k)) = message {
            self.target = self.table.rate(k);
        }
        self.inner.on_message(now, message);
    }
    fn restart(&mut self, now: Time) {
        self.target = self.table.rate(0);
        self.inner.restart(now);
    }
    fn held(&self, _now: Time, _len: Bytes) -> bool {
        self.target < self.unit
    }
    fn rate(&self, now: Time) -> Rate {
        if self.target < self.unit { Rate::ZERO } else { self.inner.rate(now) }
    }
}

/// The receiver, and from which fill on it holds its peer.
struct CoarseReceiver(StageReceiver, StageTable, Rate);

impl Receiver for CoarseReceiver {
    fn on_arrival(&mut self, now: Time, fill: &Occupancy, len: Bytes) -> Option<Message> {
        self.0.on_arrival(now, fill, len)
    }
    fn on_departure(&mut self, now: Time, fill: &Occupancy, len: Bytes) -> Option<Message> {
        self.0.on_departure(now, fill, len)
    }
    fn on_wake(&mut self, now: Time, fill: &Occupancy) -> Option<Message> {
        self.0.on_wake(now, fill)
    }
    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake()
    }
    fn holds(&self, _fill: &Occupancy, stuck: Bytes, _len: Bytes) -> bool {
        self.1.rate(self.1.stage(stuck)) < self.2
    }
}

impl Custom for Coarse {
    fn halves(&self, link: &LinkFacts) -> (Box<dyn Receiver + Send + Sync>, Box<dyn Sender + Send + Sync>) {
        let (p, c) = (&self.0, link.rate);
        let table = || StageTable::new(p.bm, p.b1, c);
        let receiver = CoarseReceiver(StageReceiver::new(p, c), table(), p.rate_unit);
        (Box::new(receiver), Box::new(CoarseSender { inner: StageSender::new(p, c), table: table(), unit: p.rate_unit, target: c }))
    }
    fn message_len(&self) -> Bytes {
        Bytes(64)
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut checks = Vec::new();
    for (gbps, paper) in [(10, 590.0), (40, 2380.0), (100, 5960.0)] {
        let share = cascaded_share(Rate::from_gbps(gbps), 16, 6).as_f64();
        checks.push(Check::near(format!("{gbps} Gb/s after 6 incasts of 16 to 1"), Unit::BitsPerSecond, share, paper, 0.015).paper(paper));
        let before = cascaded_share(Rate::from_gbps(gbps), 16, 5).as_f64();
        checks.push(
            Check::new(format!("{gbps} Gb/s after 5 (the unit is 8 kb/s)"), Unit::BitsPerSecond, before, 8e3, f64::INFINITY).claimed(),
        );
    }
    let scenario = lab::load::<&str>(SCENARIO.0, SCENARIO.1, &[])?;
    let runs = cx.parallel(&UNITS, |unit| {
        lab::observe_with(cx, &scenario, |model| {
            let p = Params {
                bm: Bytes::from_kb(300),
                b1: Bytes::from_kb(281),
                hysteresis: Bytes(3000),
                rate_unit: Rate(*unit),
                repeat: Span::ZERO,
                spacing: Span::ZERO,
                entry: None,
            };
            model.flow_control = PerLink::All(FlowControl::Custom(Arc::new(Coarse(p.clone()))));
        })
    })?;
    let (from, to) = (lab::ms(5.0), lab::ps(runs[0].outcome.now));
    for (unit, run) in UNITS.iter().zip(&runs) {
        let name = lab::rate(*unit as f64);
        let allowed = run.port_rate(PORT, RateSource::FlowControl);
        let zero =
            allowed.iter().filter(|p| p.0 > from && p.1 == 0.0).count() as f64 / allowed.iter().filter(|p| p.0 > from).count() as f64;
        let what = format!("unit {name}: share of the time at rate zero");
        checks.push(if *unit > 625_000_000 {
            Check::new(what, Unit::Fraction, zero, 0.05, 0.95).claimed().assuming(READING)
        } else {
            Check::exact(what, Unit::Fraction, zero, 0.0).claimed()
        });
        let mean = lab::mean(&run.port_rate(PORT, RateSource::Measured), from, to);
        checks.push(Check::near(format!("unit {name}: mean rate of a sender"), Unit::BitsPerSecond, mean, 625e6, 0.1).claimed());
    }
    checks.push(Check::none("frames lost", "frames", runs.iter().map(Observed::lost).sum()));
    let mut figure = Figure::new("Target rate above and below the unit of the limiter (section 7)")
        .caption(
            "16 senders, one receiver: a share of 625 Mb/s. With a unit of 8 kb/s the sender keeps sending. With a unit of 1 Gb/s \
            it alternates between zero and a rate above its share: hold and wait returns.",
        )
        .columns(2);
    for (unit, run) in UNITS.iter().zip(&runs) {
        let first = |p: lab::Points| p.into_iter().filter(move |p| p.0 > from && p.0 < from + lab::ms(1.0));
        let panel = Panel::new(
            format!("unit {}", lab::rate(*unit as f64)),
            Axis::new("Time", Unit::Picoseconds),
            Axis::new("Rate of one sender", Unit::BitsPerSecond),
        );
        figure = figure.panel(
            panel.mark(Mark::steps("allowed", first(run.port_rate(PORT, RateSource::FlowControl)))).mark(Mark::hline(625e6, "share")),
        );
    }
    let measured = format!(
        "shares {} after six 16:1 incasts at 10/40/100 Gb/s. With a unit of 1 Gb/s and a share of 625 Mb/s the sender is at zero for {} \
         of the time",
        [0, 2, 4].map(|i| lab::rate(checks[i].value)).join(", "),
        Unit::Fraction.format(checks[8].value)
    );
    Ok(Findings { measured, checks, figures: vec![figure], ..Findings::default() })
}

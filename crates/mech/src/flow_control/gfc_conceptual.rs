//! Conceptual Gentle Flow Control (GFC section 4.1, Figs. 4 and 5): continuous feedback, linear
//! mapping.
//!
//!   R(q) = C                            q <= B_0
//!   R(q) = C (B_m - q) / (B_m - B_0)    B_0 < q < B_m
//!
//! Every change of the queue is reported to the sender. The messages occupy no bandwidth (the paper
//! assumes them away too), so this is the ideal against which the two practical designs are
//! measured.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::law::{Law, Signal};
use super::on_off::Stop;
use super::standstill::{self, Standstill};
use super::{Countdown, Gate, Message, Occupancy, RateLimiter, Receiver, Sender, rate_limiter};
use crate::{ControlLoop, LinkFacts};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "bm",
        Kind::Bytes,
        "occupancy B_m at which the rate reaches zero; default: buffer - 2 MTU",
        "GFC section 4.1 has B_m = B for a fluid; 2 MTU for whole frames, measured",
    ),
    ParamSpec::optional(
        "b0",
        Kind::Bytes,
        "occupancy B_0 above which the rate falls; default: B_m - 4 C tau",
        "GFC Theorem 4.1",
    ),
    ParamSpec::new(
        "rate_unit",
        Kind::Rate,
        "8kbps",
        "smallest rate the limiter can hold",
        "GFC section 7",
    ),
    rate_limiter::COUNTDOWN,
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// B_m [bytes].
    pub bm: Bytes,
    /// B_0 [bytes].
    pub b0: Bytes,
    /// Smallest rate [bit/s].
    pub rate_unit: Rate,
    /// How a new rate changes the gap before the next frame.
    pub countdown: Countdown,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let l = link.control_loop(Bytes::ZERO);
        let bm = b_m(&l, v.bytes_opt("bm")?);
        let b0 = v.bytes_opt("b0")?.unwrap_or(bm.saturating_sub(range(&l)));
        let p = Params { bm, b0, rate_unit: v.rate("rate_unit")?, countdown: Countdown::read(v)? };
        mapping_is_possible(p.bm, p.b0, p.rate_unit, link)?;
        Ok(p)
    }
}

impl Law for Params {
    type Receiver = LevelReceiver;
    type Sender = Box<LevelSender>;

    fn halves(&self, link: &LinkFacts) -> (LevelReceiver, Box<LevelSender>) {
        (LevelReceiver::new(self), Box::new(LevelSender::new(self, link.rate)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![("bm", self.bm.compact()), ("b0", self.b0.compact())]
    }
    fn opening(&self) -> Vec<Message> {
        vec![Message::Level(Level(Bytes::ZERO)); 3]
    }
    /// The conceptual design's messages are ideal.
    fn message_len(&self) -> Bytes {
        Bytes::ZERO
    }
    /// Not in the paper: it sets in and ends at B_0, so TCD Eq. (3) with 0.
    fn stop(&self) -> Option<Stop> {
        Some(Stop::Queue(Bytes::ZERO))
    }
    fn standstill(&self, link: &LinkFacts) -> Option<Standstill> {
        Some(standstill::conceptual(self.bm, self.rate_unit, link.rate, link.mtu))
    }
}

/// The occupancy of the buffer, as the receiver reports it [bytes].
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Level(pub Bytes);

impl Signal for Level {
    fn to_words(self) -> (u64, u64) {
        (self.0.0, 0)
    }
    fn from_words(a: u64, _: u64) -> Level {
        Level(Bytes(a))
    }
    fn describe(self) -> (&'static str, u64) {
        ("level", self.0.0)
    }
    fn release(self) -> Option<Level> {
        Some(Level(Bytes::ZERO))
    }
    fn is_state(self) -> bool {
        true
    }
}

/// Room between B_m and the buffer for whole frames: 2 MTU. The theorems are about fluids; a frame
/// that starts just below B_m is admitted as a whole, and another one may follow before the lowest
/// rate has been assigned.
pub fn packet_slack(mtu: Bytes) -> Bytes {
    mtu * 2
}

/// B_m of every kind of GFC, if it is not given.
pub fn b_m(l: &ControlLoop, given: Option<Bytes>) -> Bytes {
    given.unwrap_or(l.buffer.saturating_sub(packet_slack(l.mtu)))
}

/// Sufficient B_m - B_0: 4 C tau, rounded up (Theorem 4.1).
pub fn range(l: &ControlLoop) -> Bytes {
    l.arrivals(4)
}

/// B_0 < B_m <= buffer; shared with time-based GFC, which has the same mapping.
pub(super) fn mapping_is_possible(
    bm: Bytes,
    b0: Bytes,
    rate_unit: Rate,
    link: &LinkFacts,
) -> Result<(), ParamError> {
    if rate_unit.0 == 0 {
        return Err(ParamError::new(
            "rate_unit",
            "a rate unit of 0",
            "commodity switches hold 8 kb/s",
        ));
    }
    if bm > link.buffer {
        return Err(ParamError::new(
            "bm",
            format!("B_m {bm} is above the buffer of {}", link.buffer),
            "choose B_m <= buffer",
        ));
    }
    if b0 >= bm {
        return Err(ParamError::new(
            "b0",
            format!("B_0 {b0} must be below B_m {bm}"),
            "see `xoff plan` for the bound of the theorem",
        ));
    }
    Ok(())
}

/// The linear mapping, cut off to whole bit/s.
pub(super) fn mapped_rate(q: Bytes, b0: Bytes, bm: Bytes, line: Rate) -> Rate {
    if q <= b0 {
        line
    } else {
        let room = bm.saturating_sub(q).0 as u128;
        Rate((line.0 as u128 * room / (bm.0 - b0.0) as u128) as u64)
    }
}

/// The receiver half: reports every change above B_0.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct LevelReceiver {
    b0: Bytes,
    /// True if the last report was above B_0. Below it nothing depends on the exact value.
    above: bool,
}

impl LevelReceiver {
    /// A receiver for an empty buffer.
    pub fn new(p: &Params) -> Self {
        LevelReceiver { b0: p.b0, above: false }
    }

    fn report(&mut self, occupancy: &Occupancy) -> Option<Message> {
        let above = occupancy.bytes > self.b0;
        let was_above = std::mem::replace(&mut self.above, above);
        (above || was_above).then_some(Message::Level(Level(occupancy.bytes)))
    }
}

impl Receiver for LevelReceiver {
    fn on_arrival(&mut self, _now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        self.report(occupancy)
    }
    fn on_departure(&mut self, _now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        self.report(occupancy)
    }
    fn on_wake(&mut self, _now: Time, _occupancy: &Occupancy) -> Option<Message> {
        None
    }
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// A queue beyond any B_m.
    fn hold(&self) -> Option<Message> {
        Some(Message::Level(Level(Bytes(u64::MAX))))
    }
    fn holds(&self, _occupancy: &Occupancy, _stuck: Bytes, _len: Bytes) -> bool {
        false
    }
}

/// The sender half.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct LevelSender {
    #[state(built)] // constant
    p: Params,
    line: Rate,
    limiter: RateLimiter,
}

impl LevelSender {
    /// A sender at line rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        let limiter = RateLimiter::new(line, p.rate_unit, p.countdown);
        LevelSender { p: p.clone(), line, limiter }
    }
}

impl Sender for LevelSender {
    fn gate(&self, now: Time, _len: Bytes) -> Gate {
        self.limiter.gate(now)
    }
    fn on_sent(&mut self, now: Time, _len: Bytes, tx: Span) {
        self.limiter.on_sent(now, tx);
    }
    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Level(Level(q)) = message {
            self.limiter.set_rate(now, mapped_rate(q, self.p.b0, self.p.bm, self.line));
        }
    }
    fn restart(&mut self, now: Time) {
        self.limiter.set_rate(now, self.line);
    }
    fn rate(&self, _now: Time) -> Rate {
        self.limiter.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(10);

    /// GFC Fig. 5: B_0 50 KB, B_m 100 KB; the steady state of a 5 Gb/s drain is B_s = 75 KB.
    #[test]
    fn the_mapping_of_figure_5() {
        let rate = |kb| mapped_rate(Bytes::from_kb(kb), Bytes::from_kb(50), Bytes::from_kb(100), C);
        assert_eq!(
            [rate(0), rate(50), rate(75), rate(100), rate(120)],
            [C, C, Rate::from_gbps(5), Rate::ZERO, Rate::ZERO]
        );
    }

    #[test]
    fn levels_below_b0_are_not_worth_a_message() {
        let p = Params {
            bm: Bytes::from_kb(100),
            b0: Bytes::from_kb(50),
            rate_unit: Rate(8000),
            countdown: Countdown::Scaled,
        };
        let mut r = LevelReceiver::new(&p);
        let at = |bytes| Occupancy { bytes: Bytes(bytes), ..Occupancy::default() };
        assert_eq!(r.on_arrival(Time(1), &at(49_000), Bytes(1500)), None);
        assert_eq!(
            r.on_arrival(Time(2), &at(50_500), Bytes(1500)),
            Some(Message::Level(Level(Bytes(50_500))))
        );
        assert_eq!(
            r.on_departure(Time(3), &at(49_000), Bytes(1500)),
            Some(Message::Level(Level(Bytes(49_000)))),
            "back to line rate"
        );
        assert_eq!(r.on_departure(Time(4), &at(47_500), Bytes(1500)), None);
    }
}

//! Buffer-based Gentle Flow Control (GFC sections 4.2, 5.1, 5.4).
//!
//!   rate   C |------.                    stage k covers [B_k, B_k+1):  R_k = C / 2^k
//!        C/2 |      '---.                B_k = B_m - (B_m - B_1) / 2^(k-1)
//!        C/4 |          '-.              a message carries the stage, whenever it changes
//!            +------+---+-+--> occupancy
//!            0     B_1 B_2 B_m
//!
//! Deviation: the paper names no hysteresis between stages. Without any, single frames around a
//! threshold multiply messages by ten to twenty; a falling crossing is therefore reported
//! `hysteresis` bytes late (default 2 MTU, 0 for literal runs). A rising crossing is never delayed:
//! Eq. (1) needs it in time. Messages must arrive in order. With `repeat` the stage is sent again
//! each interval: on a link with errors a lost one would hold until the next change.
//!
//! With `entry_ports` the ports by which traffic enters the network slow down before the others
//! ([`entry`]). That is ours.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::gfc_conceptual::b_m;
use super::law::{Law, Signal};
use super::on_off::Stop;
use super::repeat::{self, Repeat};
use super::standstill::{self, Standstill};
use super::{
    Countdown, Gate, MESSAGE_LEN, Message, Occupancy, RateLimiter, Receiver, Sender, Waiting,
    rate_limiter,
};
use crate::{ControlLoop, LinkFacts, Unmet};

mod entry;

pub use entry::{EntryTable, entry_range, entry_stages};

use entry::Entry;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "bm",
        Kind::Bytes,
        "occupancy B_m at which the rate would reach zero; default: buffer - 2 MTU",
        "GFC section 5.4 has B_m = B for a fluid; 2 MTU for whole frames, measured",
    ),
    ParamSpec::optional(
        "b1",
        Kind::Bytes,
        "start B_1 of stage 1; default: B_m - 2 C tau",
        "GFC section 5.4: B_1 <= B_m - 2 C tau",
    ),
    ParamSpec::optional(
        "hysteresis",
        Kind::Bytes,
        "how far the occupancy must fall below a threshold before the lower stage is announced; default: 2 MTU",
        "not in the paper; see the page gfc-buffer",
    ),
    ParamSpec::new(
        "rate_unit",
        Kind::Rate,
        "8kbps",
        "smallest rate the limiter can hold",
        "GFC section 7",
    ),
    rate_limiter::COUNTDOWN,
    ParamSpec::new(
        "spacing",
        Kind::Span,
        "0us",
        "shortest time between two messages of a port; the latest stage is sent after it; 0: a message whenever the stage changes",
        "tau is a reading of GFC section 4.2: at most one message per tau",
    ),
    ParamSpec::new(
        "entry_ports",
        Kind::Count,
        "0",
        "entry ports of a switch that share an egress: ports to hosts, or to switches nearer to hosts; they slow down before the others; 0: all ports alike",
        "xoff extension; see docs/theory/gfc-repair.md",
    ),
    ParamSpec::optional(
        "entry_b1",
        Kind::Bytes,
        "queue at an egress at which entry ports slow down first; default: B_1 - 2 n C tau, n entry ports",
        "xoff extension; see docs/theory/gfc-repair.md",
    ),
    repeat::PARAM,
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// B_m [bytes].
    pub bm: Bytes,
    /// B_1 [bytes].
    pub b1: Bytes,
    /// Delay of falling crossings [bytes].
    pub hysteresis: Bytes,
    /// Smallest rate [bit/s].
    pub rate_unit: Rate,
    /// How a new rate changes the gap before the next frame.
    pub countdown: Countdown,
    /// Time after which the stage is sent again; zero: never [ps].
    pub repeat: Span,
    /// Least time between two messages; zero: none [ps].
    pub spacing: Span,
    /// Number of entry ports that share an egress, and the egress queue from which they slow down
    /// [bytes]; none: all ports are alike.
    pub entry: Option<(u64, Bytes)>,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let repeat = repeat::read(v, link)?;
        let l = repeat::with_one_lost(link.control_loop(MESSAGE_LEN), repeat);
        let bm = b_m(&l, v.bytes_opt("bm")?);
        let b1 = v.bytes_opt("b1")?.unwrap_or(bm.saturating_sub(range(&l)));
        let hysteresis = v.bytes_opt("hysteresis")?.unwrap_or(link.mtu * 2);
        let entry = entry::read(v, &l, b1)?;
        let p = Params {
            bm,
            b1,
            hysteresis,
            rate_unit: v.rate("rate_unit")?,
            countdown: Countdown::read(v)?,
            repeat,
            spacing: v.span("spacing")?,
            entry,
        };
        p.validate(link)?;
        Ok(p)
    }

    /// Rejects parameters without a stage; a violated bound of section 5.4 is a warning of the
    /// planner, not an error here.
    pub fn validate(&self, link: &LinkFacts) -> Result<(), ParamError> {
        if self.bm > link.buffer {
            return Err(ParamError::new(
                "bm",
                format!("B_m {} is above the buffer of {}", self.bm, link.buffer),
                "choose B_m <= buffer - 2 MTU",
            ));
        }
        if self.b1 >= self.bm || self.b1.0 == 0 {
            return Err(ParamError::new(
                "b1",
                format!("B_1 {} must be between 0 and B_m {}", self.b1, self.bm),
                "use a larger buffer or a shorter link; section 5.4 requires B_1 <= B_m - 2 C tau",
            ));
        }
        if self.rate_unit.0 == 0 {
            return Err(ParamError::new(
                "rate_unit",
                "a rate unit of 0",
                "commodity switches hold 8 kb/s",
            ));
        }
        Ok(())
    }
}

impl Law for Params {
    type Receiver = Box<StageReceiver>;
    type Sender = Box<StageSender>;

    fn halves(&self, link: &LinkFacts) -> (Box<StageReceiver>, Box<StageSender>) {
        let mut receiver = StageReceiver::new(self, link.rate);
        receiver.entry = self
            .entry
            .filter(|_| link.peer_tier.is_lt())
            .map(|(n, e_1)| Entry::new(EntryTable::new(n, e_1, self.b1)));
        (Box::new(receiver), Box::new(StageSender::new(self, link.rate)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("bm", self.bm.compact()),
            ("b1", self.b1.compact()),
            ("hysteresis", self.hysteresis.compact()),
        ];
        all.extend(self.entry.map(|(_, e_1)| ("entry_b1", e_1.compact())));
        all
    }
    fn entry_ports(&self) -> u64 {
        self.entry.map_or(0, |(ports, _)| ports)
    }
    fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
        entry::unmet(self, &self.control_loop(link))
    }
    fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
        repeat::with_one_lost(link.control_loop(MESSAGE_LEN), self.repeat)
    }
    fn opening(&self) -> Vec<Message> {
        vec![Message::Stage(Stage(0)); 3]
    }
    /// Not in the paper: the limiter sets in at B_1 and ends `hysteresis` below it, so TCD Eq. (3)
    /// with the hysteresis.
    fn stop(&self) -> Option<Stop> {
        Some(Stop::Queue(self.hysteresis))
    }
    fn standstill(&self, link: &LinkFacts) -> Option<Standstill> {
        Some(standstill::staged((self.bm, self.b1), self.rate_unit, link.rate, link.mtu))
    }
}

/// The number of a stage; 0: line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Stage(pub u16);

impl Signal for Stage {
    fn to_words(self) -> (u64, u64) {
        (self.0 as u64, 0)
    }
    fn from_words(a: u64, _: u64) -> Stage {
        Stage(a as u16)
    }
    fn describe(self) -> (&'static str, u64) {
        ("stage", self.0 as u64)
    }
    fn release(self) -> Option<Stage> {
        Some(Stage(0))
    }
    fn is_state(self) -> bool {
        true
    }
}

/// Smallest B_m - B_1: 2 C tau, rounded up (GFC section 5.4).
pub fn range(l: &ControlLoop) -> Bytes {
    l.arrivals(2)
}

/// Thresholds B_1 ..= B_N and the rates of the stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageTable {
    line: Rate,
    /// `starts[k-1]` = B_k [bytes].
    starts: Vec<u64>,
}

impl StageTable {
    /// The table of section 5.4. N is the first stage with B_N - B_(N-1) <= 8 bit; thresholds are
    /// whole bytes, rounded down so that a stage never begins late.
    pub fn new(bm: Bytes, b1: Bytes, line: Rate) -> Self {
        let width = bm.0 - b1.0;
        // Stage k is kept while the step into stage k-1 was above one byte: the first step <= 8 bit
        // is the last.
        let keep = |halvings: &u32| *halvings == 0 || width > 1 << (halvings - 1);
        // B_m - ceil(width / 2^(k-1)) is B_k rounded down.
        let starts =
            (0..63).take_while(keep).map(|halvings| bm.0 - width.div_ceil(1 << halvings)).collect();
        StageTable { line, starts }
    }

    /// Number of stages N.
    pub fn len(&self) -> usize {
        self.starts.len()
    }
    /// A table always has at least stage 1.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
    /// B_k for k >= 1 [bytes].
    pub fn start(&self, k: u16) -> Bytes {
        Bytes(self.starts[k as usize - 1])
    }
    /// R_k = C / 2^k; stage 0 is line rate.
    pub fn rate(&self, k: u16) -> Rate {
        Rate(self.line.0 >> k.min(63))
    }
    /// The stage of an occupancy: the last k with B_k <= q, 0 below B_1.
    pub fn stage(&self, q: Bytes) -> u16 {
        self.starts.partition_point(|&b| b <= q.0) as u16
    }
}

/// The receiver half: the Message Generator.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct StageReceiver {
    #[state(built)] // constant
    table: StageTable,
    hysteresis: Bytes,
    stage: u16,
    /// Announced last; the other one where messages keep a distance.
    announced: u16,
    /// Earliest time of the next message, if messages keep a distance, and [`Receiver::on_wake`]
    /// has not been called since.
    free_at: Time,
    spacing: Span,
    repeat: Repeat,
    /// State of an entry port, where such ports slow down first.
    #[state(each)]
    entry: Option<Entry>,
}

impl StageReceiver {
    /// A receiver in stage 0.
    pub fn new(p: &Params, line: Rate) -> Self {
        StageReceiver {
            table: StageTable::new(p.bm, p.b1, line),
            hysteresis: p.hysteresis,
            stage: 0,
            announced: 0,
            free_at: Time::NEVER,
            spacing: p.spacing,
            repeat: Repeat::new(p.repeat),
            entry: None,
        }
    }

    fn announce(&mut self, now: Time, stage: u16) -> Option<Message> {
        self.stage = stage;
        if self.free_at != Time::NEVER && now < self.free_at {
            return None;
        }
        self.send(now)
    }

    fn send(&mut self, now: Time) -> Option<Message> {
        self.announced = self.stage;
        if self.spacing.0 > 0 {
            self.free_at = now + self.spacing;
        }
        self.repeat.sent(now);
        Some(Message::Stage(Stage(self.stage)))
    }
}

impl Receiver for StageReceiver {
    fn on_arrival(&mut self, now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        // Only a frame can raise the stage; several thresholds crossed at once give one message
        // with the last.
        let stage = self.table.stage(occupancy.bytes);
        if stage > self.stage { self.announce(now, stage) } else { None }
    }

    fn on_departure(&mut self, now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        let stage = self.table.stage(occupancy.bytes + self.hysteresis);
        if stage < self.stage { self.announce(now, stage) } else { None }
    }

    fn wants_egress(&self) -> bool {
        self.entry.is_some()
    }

    fn on_arrival_to(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        let Some(entry) = &mut self.entry else { return self.on_arrival(now, occupancy, len) };
        // A buffer that was empty before holds nothing for another egress.
        let stage = entry.joined(
            &self.table,
            occupancy.bytes,
            egress,
            self.hysteresis,
            occupancy.bytes == len,
        );
        if stage != self.stage { self.announce(now, stage) } else { None }
    }

    fn on_departure_from(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        let Some(entry) = &mut self.entry else { return self.on_departure(now, occupancy, len) };
        let stage = entry.left(&self.table, occupancy.bytes, egress, self.hysteresis);
        if stage != self.stage { self.announce(now, stage) } else { None }
    }

    fn on_wake(&mut self, now: Time, _occupancy: &Occupancy) -> Option<Message> {
        // A change back to the announced stage needs no message.
        let waited = self.free_at <= now;
        if waited {
            self.free_at = Time::NEVER;
        }
        if waited && self.stage != self.announced || self.repeat.is_due(now) {
            self.send(now)
        } else {
            None
        }
    }
    /// Whenever a message is sent this is asked for: the end of the distance is a wake-up, whether
    /// a stage waits or not.
    fn next_wake(&self) -> Option<Time> {
        let free = (self.free_at != Time::NEVER).then_some(self.free_at);
        self.repeat.next().into_iter().chain(free).min()
    }
    /// The last stage.
    fn hold(&self) -> Option<Message> {
        Some(Message::Stage(Stage(self.table.len() as u16)))
    }
    fn holds(&self, _occupancy: &Occupancy, _stuck: Bytes, _len: Bytes) -> bool {
        false // every stage has a positive rate
    }
}

/// The sender half: the Rate Adjuster with its limiter.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct StageSender {
    #[state(built)] // constant
    table: StageTable,
    limiter: RateLimiter,
}

impl StageSender {
    /// A sender at line rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        StageSender {
            table: StageTable::new(p.bm, p.b1, line),
            limiter: RateLimiter::new(line, p.rate_unit, p.countdown),
        }
    }
}

impl Sender for StageSender {
    fn gate(&self, now: Time, _len: Bytes) -> Gate {
        self.limiter.gate(now)
    }
    fn on_sent(&mut self, now: Time, _len: Bytes, tx: Span) {
        self.limiter.on_sent(now, tx);
    }
    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Stage(Stage(k)) = message {
            self.limiter.set_rate(now, self.table.rate(k));
        }
    }
    /// A stage that the table does not have still slows this sender down: it is the safe side.
    fn is_possible(&self, message: Message) -> bool {
        !matches!(message, Message::Stage(Stage(k)) if k as usize > self.table.len())
    }
    fn restart(&mut self, now: Time) {
        self.limiter.set_rate(now, self.table.rate(0));
    }
    fn rate(&self, _now: Time) -> Rate {
        self.limiter.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(10);

    fn occupancy(bytes: u64) -> Occupancy {
        Occupancy { bytes: Bytes(bytes), ..Occupancy::default() }
    }

    /// GFC section 6.2.2, without anything of ours.
    fn plain() -> Params {
        let (bm, b1) = (Bytes::from_kb(300), Bytes::from_kb(281));
        Params {
            bm,
            b1,
            hysteresis: Bytes::ZERO,
            rate_unit: Rate(8000),
            countdown: Countdown::Scaled,
            repeat: Span::ZERO,
            spacing: Span::ZERO,
            entry: None,
        }
    }

    /// GFC section 6.2.2: B 300 KB, B_1 281 KB, steps of 19 KB / 2^n.
    #[test]
    fn stage_table_of_the_simulations() {
        let t = StageTable::new(Bytes::from_kb(300), Bytes::from_kb(281), C);
        assert_eq!(t.start(1), Bytes(281_000));
        assert_eq!(t.start(2), Bytes(290_500));
        assert_eq!(t.start(3), Bytes(295_250));
        assert_eq!(t.start(4), Bytes(297_625));
        assert_eq!((t.rate(0), t.rate(1), t.rate(2)), (C, Rate::from_gbps(5), Rate(2_500_000_000)));
        assert_eq!(t.stage(Bytes(280_999)), 0);
        assert_eq!(t.stage(Bytes(281_000)), 1);
        assert_eq!(t.stage(Bytes(290_500)), 2);
        assert_eq!(t.stage(Bytes(300_000)) as usize, t.len());
    }

    /// N from B_N - B_(N-1) <= 8 bit with B_m - B_1 = 2 C tau: 16, 17, 18 at 10, 40, 100G. The
    /// paper prints 16, 18, 20.
    #[test]
    fn number_of_stages() {
        for (two_c_tau, n) in [(18_500, 16), (56_000, 17), (131_000, 18)] {
            let t = StageTable::new(Bytes(1_000_000), Bytes(1_000_000 - two_c_tau), C);
            assert_eq!(t.len(), n, "{two_c_tau}");
        }
    }

    #[test]
    fn rising_is_immediate_and_falling_waits_for_the_hysteresis() {
        let p = Params { hysteresis: Bytes(3000), ..plain() };
        let mut r = StageReceiver::new(&p, C);
        let len = Bytes(1500);
        assert_eq!(r.on_arrival(Time(1), &occupancy(280_500), len), None);
        assert_eq!(r.on_arrival(Time(2), &occupancy(282_000), len), Some(Message::Stage(Stage(1))));
        assert_eq!(r.on_departure(Time(3), &occupancy(280_500), len), None);
        assert_eq!(r.on_arrival(Time(4), &occupancy(282_000), len), None, "still stage 1");
        assert_eq!(
            r.on_departure(Time(5), &occupancy(278_000), len),
            None,
            "278000 + 3000 reaches B_1"
        );
        assert_eq!(
            r.on_departure(Time(6), &occupancy(277_500), len),
            Some(Message::Stage(Stage(0)))
        );
        assert_eq!(
            r.on_arrival(Time(7), &occupancy(295_300), len),
            Some(Message::Stage(Stage(3))),
            "three thresholds, one message"
        );
    }

    #[test]
    fn without_hysteresis_both_directions_are_literal() {
        let p = plain();
        let mut r = StageReceiver::new(&p, C);
        assert_eq!(
            r.on_arrival(Time(1), &occupancy(281_000), Bytes(1500)),
            Some(Message::Stage(Stage(1)))
        );
        assert_eq!(
            r.on_departure(Time(2), &occupancy(280_999), Bytes(1500)),
            Some(Message::Stage(Stage(0)))
        );
    }

    /// A lost stage, or a lost end of it, comes again after the interval.
    #[test]
    fn the_stage_is_repeated_at_intervals() {
        let p = Params { repeat: Span::from_us(5), ..plain() };
        let (mut r, us) = (StageReceiver::new(&p, C), Time::from_us);
        assert_eq!(r.next_wake(), None, "both ends begin at stage 0");
        assert_eq!(
            r.on_arrival(us(1), &occupancy(282_000), Bytes(1500)),
            Some(Message::Stage(Stage(1)))
        );
        assert_eq!(r.on_wake(us(5), &occupancy(282_000)), None, "early");
        assert_eq!(r.on_wake(us(6), &occupancy(282_000)), Some(Message::Stage(Stage(1))));
        assert_eq!(
            r.on_departure(us(8), &occupancy(280_500), Bytes(1500)),
            Some(Message::Stage(Stage(0)))
        );
        assert_eq!(
            (r.next_wake(), r.on_wake(us(13), &occupancy(0))),
            (Some(us(13)), Some(Message::Stage(Stage(0))))
        );
        assert_eq!(r.next_wake(), Some(us(18)));
    }

    /// At most one message per 7 us: the stage that holds when the time is over is sent, none if it
    /// is the announced one.
    #[test]
    fn messages_keep_a_distance_and_the_latest_stage_wins() {
        let p = Params { spacing: Span::from_us(7), ..plain() };
        let (mut r, us, len) = (StageReceiver::new(&p, C), Time::from_us, Bytes(1500));
        let stage = |k| Some(Message::Stage(Stage(k)));
        assert_eq!(r.on_arrival(us(1), &occupancy(282_000), len), stage(1));
        assert_eq!(r.next_wake(), Some(us(8)));
        assert_eq!(r.on_departure(us(2), &occupancy(280_500), len), None);
        assert_eq!(r.on_arrival(us(3), &occupancy(290_600), len), None);
        assert_eq!(r.on_wake(us(5), &occupancy(290_600)), None, "early");
        assert_eq!(
            (r.on_wake(us(8), &occupancy(290_600)), r.next_wake()),
            (stage(2), Some(us(15)))
        );
        assert_eq!(r.on_departure(us(9), &occupancy(290_000), len), None);
        assert_eq!(r.on_arrival(us(10), &occupancy(290_600), len), None);
        assert_eq!(
            (r.on_wake(us(15), &occupancy(290_600)), r.next_wake()),
            (None, None),
            "nothing has changed"
        );
        assert_eq!(r.on_departure(us(20), &occupancy(280_000), len), stage(0), "at once");
    }

    #[test]
    fn the_sender_obeys_the_stage() {
        let p = plain();
        let mut s = StageSender::new(&p, C);
        s.on_message(Time::ZERO, Message::Stage(Stage(1)));
        assert_eq!(s.rate(Time::ZERO), Rate::from_gbps(5));
        let tx = C.time_for(Bytes(1500));
        s.on_sent(Time::ZERO, Bytes(1500), tx);
        assert_eq!(s.gate(Time::ZERO, Bytes(1500)), Gate::Until(Time(tx.0 * 2)));
    }
}

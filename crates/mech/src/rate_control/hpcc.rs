//! HPCC, reaction point (SIGCOMM'19, Algorithm 1), with the arithmetic of its simulator.
//!
//! ```text
//!   acknowledgement with records ---> per hop   u = bytes sent / (time x line rate) + min(queue, queue before) / (line rate x T)
//!                                     largest u, averaged over T  ---> U
//!
//!     U >= eta, or max_stage increases made     R = R_c / (U/eta) + R_AI, stage 0            W = R T
//!     otherwise                                 R = R_c + R_AI,           stage + 1
//! ```
//!
//! Every acknowledgement sets R from the reference R_c; R_c and the stage move once per round trip,
//! when the bytes that were sent at the last move is acknowledged. The paper keeps W and computes R
//! = W/T, the simulator keeps R and computes W: the same except for rounding. Here the simulator's
//! order is kept to the last bit, so that a replay is exact.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Ack, Feedback, FlowFacts, HOPS_MAX, Hop, Law, RateControl, RecordFormat, Wakes};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("eta", Kind::Float, "0.95", "target utilisation", "SIGCOMM'19 section 5.1"),
    ParamSpec::new(
        "max_stage",
        Kind::Count,
        "5",
        "increases after which the rate is set by utilisation again",
        "SIGCOMM'19 section 5.1; sample configuration: 0",
    ),
    ParamSpec::new(
        "rate_ai",
        Kind::Rate,
        "50Mbps",
        "additive step; W_AI = rate_ai x base_rtt, 81 bytes at 13 us",
        "HPCC simulator, sample configuration",
    ),
    ParamSpec::optional(
        "base_rtt",
        Kind::Span,
        "T, a little above the round-trip time without load; default: the value of the flow if known, or 13 us",
        "SIGCOMM'19 section 5.1",
    ),
    ParamSpec::optional(
        "window",
        Kind::Bytes,
        "window at line rate; default: the value of the flow, or line rate x base_rtt",
        "SIGCOMM'19 section 3.3",
    ),
    ParamSpec::new("min_rate", Kind::Rate, "100Mbps", "floor of the rate", "HPCC simulator"),
    ParamSpec::new(
        "fast_react",
        Kind::Flag,
        "true",
        "every acknowledgement changes the rate, not one per round trip",
        "SIGCOMM'19 section 3.2",
    ),
    ParamSpec::new(
        "multi_rate",
        Kind::Flag,
        "false",
        "one reference rate per hop; the smallest counts",
        "HPCC simulator MULTI_RATE",
    ),
    ParamSpec::new(
        "sample_feedback",
        Kind::Flag,
        "false",
        "within a round trip only hops with a queue count",
        "HPCC simulator SAMPLE_FEEDBACK",
    ),
    ParamSpec::optional(
        "int_multi",
        Kind::Count,
        "records lose digits as in the HPCC simulator, in units of this number; absent: exact records",
        "HPCC simulator INT_MULTI",
    ),
];

/// T where nothing else is known: the paper's simulation, whose longest round trip is 12 us.
const BASE_RTT: Span = Span::from_us(13);

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Utilisation aimed at.
    pub eta: f64,
    /// Increases in a row before the rate is set by utilisation again.
    pub max_stage: u32,
    /// Additive step [bit/s].
    pub rate_ai: Rate,
    /// T; `None`: that of the flow [ps].
    pub base_rtt: Option<Span>,
    /// Window at line rate; `None`: that of the flow [bytes].
    pub window: Option<Bytes>,
    /// The window shrinks with the rate; off only in replays (`VAR_WIN 0`).
    pub window_follows_rate: bool,
    /// Lowest rate of a flow [bit/s].
    pub min_rate: Rate,
    /// Every acknowledgement changes the rate.
    pub fast_react: bool,
    /// A reference rate per hop.
    pub multi_rate: bool,
    /// Within a round trip only hops with a queue count.
    pub sample_feedback: bool,
    /// Format of records.
    pub int: RecordFormat,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            eta: 0.95,
            max_stage: 5,
            rate_ai: Rate(50_000_000),
            base_rtt: None,
            window: None,
            window_follows_rate: true,
            min_rate: Rate(100_000_000),
            fast_react: true,
            multi_rate: false,
            sample_feedback: false,
            int: RecordFormat::Exact,
        }
    }
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let small = |key: &str, n: u64| {
            u32::try_from(n).map_err(|_| {
                ParamError::new(
                    key,
                    format!("{n} is too large"),
                    "expected a number of at most 32 bits",
                )
            })
        };
        let int = match v.count_opt("int_multi")? {
            None => RecordFormat::Exact,
            Some(n) => RecordFormat::Packed { multi: small("int_multi", n)? },
        };
        let p = Params {
            eta: v.float("eta")?,
            max_stage: small("max_stage", v.count("max_stage")?)?,
            rate_ai: v.rate("rate_ai")?,
            base_rtt: v.span_opt("base_rtt")?,
            window: v.bytes_opt("window")?,
            window_follows_rate: true,
            min_rate: v.rate("min_rate")?,
            fast_react: v.flag("fast_react")?,
            multi_rate: v.flag("multi_rate")?,
            sample_feedback: v.flag("sample_feedback")?,
            int,
        };
        p.validate()?;
        Ok(p)
    }

    /// Rejects parameters that cannot work.
    pub fn validate(&self) -> Result<(), ParamError> {
        if !(self.eta > 0.0 && self.eta <= 1.0) {
            return Err(ParamError::new(
                "eta",
                format!("{} is not a utilisation", self.eta),
                "expected above 0, at most 1",
            ));
        }
        if self.base_rtt.is_some_and(|t| t < self.int.tick()) {
            return Err(ParamError::new(
                "base_rtt",
                "a round trip of 0",
                "expected a time above zero",
            ));
        }
        if self.window == Some(Bytes(0)) {
            return Err(ParamError::new(
                "window",
                "the window is 0: hosts can send nothing",
                "expected a size above zero",
            ));
        }
        if self.min_rate.0 == 0 {
            return Err(ParamError::new(
                "min_rate",
                "a floor of 0",
                "expected a rate above 0: a flow at rate 0 never speeds up",
            ));
        }
        if let RecordFormat::Packed { multi } = self.int
            && !(1..=1024).contains(&multi)
        {
            return Err(ParamError::new(
                "int_multi",
                format!("{multi} is not a unit"),
                "expected 1 to 1024",
            ));
        }
        Ok(())
    }
}

impl Law for Params {
    type ReactionPoint = Hpcc;

    fn reaction_point(&self, flow: &FlowFacts) -> Hpcc {
        Hpcc::new(self, flow)
    }
    #[inline]
    fn wants_acks(&self) -> bool {
        true
    }
    #[inline]
    fn telemetry(&self) -> Option<RecordFormat> {
        Some(self.int)
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        let rtt = self
            .base_rtt
            .map_or(format!("that of the flow where it is known, or {BASE_RTT}"), |t| t.compact());
        let window =
            self.window.map_or("that of the flow, or line rate x base_rtt".into(), |w| w.compact());
        let int = if self.int == RecordFormat::Exact { "exact records" } else { "as given" };
        vec![("base_rtt", rtt), ("window", window), ("int_multi", int.into())]
    }
}

/// State that is tracked for the path as a whole, or for each hop.
#[derive(Clone, Copy, Debug, PartialEq, State)]
struct Track {
    /// U: utilisation, averaged over T.
    utilisation: f64,
    /// R_c [bit/s].
    reference: Rate,
    /// Increases since the rate was last set by utilisation.
    stage: u32,
}

impl Track {
    /// U moves towards `u`, by as much as `elapsed` is of `period`.
    fn average(&mut self, u: f64, elapsed: u64, period: u64) {
        let elapsed = elapsed.min(period);
        self.utilisation =
            (self.utilisation * (period - elapsed) as f64 + u * elapsed as f64) / period as f64;
    }

    /// The rate that follows from U, and the stage with it.
    fn next(&self, p: &Params, line: Rate) -> (Rate, u32) {
        let over = self.utilisation / p.eta;
        let (rate, stage) = if over >= 1.0 || self.stage >= p.max_stage {
            let quotient = self.reference.as_f64() / over;
            let rate = match p.int {
                // A way without any use, which packed records can claim: there the conversion runs
                // over to zero.
                RecordFormat::Packed { .. } if quotient >= u64::MAX as f64 => Rate::ZERO,
                _ => Rate::from_f64(quotient.min(line.as_f64())),
            };
            (rate + p.rate_ai, 0)
        } else {
            (self.reference + p.rate_ai, self.stage + 1)
        };
        (rate.max(p.min_rate).min(line), stage)
    }
}

/// The reaction point of one flow.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Hpcc {
    #[state(built)] // constant
    p: Params,
    /// Line rate of the NIC [bit/s] -- constant.
    line: Rate,
    /// T [ticks of the records] -- constant.
    base_rtt: u64,
    /// Window at line rate [bytes] -- constant.
    window_max: u64,
    rate: Rate,
    /// Window at this rate [bytes].
    window: u64,
    way: Track,
    /// With a reference per hop.
    per_hop: Option<Box<[Track; HOPS_MAX]>>,
    /// Bytes sent when R_c last moved; 0: before the first round trip.
    #[state(sequence)]
    round_ends: u64,
    /// Hops of the records below.
    hops_len: u8,
    /// Records of the last acknowledgement.
    #[state(unwritten = "telemetry of paths")] // they differ each time
    hops: [Hop; HOPS_MAX],
}

impl Hpcc {
    /// A flow at line rate, on a way thought to be full.
    pub fn new(p: &Params, flow: &FlowFacts) -> Self {
        let base_rtt = p.base_rtt.or(flow.base_rtt).unwrap_or(BASE_RTT);
        let window_max = p
            .window
            .map(|w| w.0)
            .or(flow.window)
            .unwrap_or_else(|| flow.line.bytes_in(base_rtt).0)
            .max(1);
        let track = Track { utilisation: 1.0, reference: flow.line, stage: 0 };
        let mut hpcc = Hpcc {
            line: flow.line,
            base_rtt: (base_rtt.0 / p.int.tick().0).max(1),
            window_max,
            rate: flow.line,
            window: window_max,
            way: track,
            per_hop: p.multi_rate.then(|| Box::new([track; HOPS_MAX])),
            round_ends: 0,
            hops_len: 0,
            hops: [Hop::default(); HOPS_MAX],
            p: p.clone(),
        };
        if p.window_follows_rate {
            hpcc.window = hpcc.window_at(flow.line);
        }
        hpcc
    }

    fn window_at(&self, rate: Rate) -> u64 {
        let window = match self.p.int {
            RecordFormat::Exact => {
                (self.window_max as u128 * rate.0 as u128 / self.line.0 as u128) as u64
            }
            // In 64 bits there, and a product beyond them wraps: at 400 Gb/s above a round-trip
            // time of 0.9 ms.
            RecordFormat::Packed { .. } => self.window_max.wrapping_mul(rate.0) / self.line.0,
        };
        window.max(1)
    }

    fn remember(&mut self, hops: &[Hop]) {
        let max = self.p.int.hops_max();
        if hops.len() > max && self.p.int == RecordFormat::Exact {
            return;
        }
        // Packed records: those that find no room lie over the first ones. Paths are shorter, but
        // for a frame that a failed link makes turn back.
        for (i, hop) in hops.iter().enumerate() {
            self.hops[i % max] = *hop;
        }
        self.hops_len = hops.len().min(max) as u8;
    }

    /// The records belong to another way than the last ones: another number of hops, another line
    /// rate, or counters that run backwards. Packed records do not contain it, and their simulator
    /// does not check.
    fn another_way(&self, hops: &[Hop]) -> bool {
        let last = &self.hops[..self.hops_len as usize];
        let differs = |(a, b): (&Hop, &Hop)| a.rate != b.rate || self.p.int.since(a, b).is_none();
        self.p.int == RecordFormat::Exact
            && (hops.len() != last.len() || last.iter().zip(hops).any(differs))
    }

    /// Utilisation of one hop since its last record, and the time between the two [ticks].
    fn utilisation(&self, last: &Hop, hop: &Hop) -> (f64, u64) {
        let (ticks, bytes) = self.p.int.since(last, hop).unwrap_or_default();
        let seconds = ticks as f64 * self.p.int.tick_seconds();
        let sent = bytes.wrapping_mul(8) as f64 / seconds;
        let queue = hop.queue.min(last.queue).0 as f64;
        // Multiplied and divided in this order there.
        (
            sent / hop.rate.as_f64()
                + queue * self.line.as_f64() / hop.rate.as_f64() / self.window_max as f64,
            ticks,
        )
    }

    /// Sets the rate from the records; with `full` the reference moves too. Returns whether the
    /// rate was set, be it to the same.
    fn react(&mut self, hops: &[Hop], full: bool) -> bool {
        if hops.len() > self.p.int.hops_max() {
            return false;
        }
        if self.another_way(hops) {
            self.remember(hops);
            return false;
        }
        // A hop counts if time has passed, and when sampling within a round trip, if it has a
        // queue.
        let mut counted = [false; HOPS_MAX];
        let (mut largest, mut elapsed) = (0.0, 0);
        for (i, hop) in hops.iter().enumerate() {
            let skipped = self.p.sample_feedback && hop.queue.0 == 0 && !full;
            if skipped || (self.p.int == RecordFormat::Exact && hop.at == self.hops[i].at) {
                continue;
            }
            counted[i] = true;
            let (u, ticks) = self.utilisation(&self.hops[i], hop);
            match &mut self.per_hop {
                None if u > largest => (largest, elapsed) = (u, ticks),
                None => {}
                Some(tracks) => tracks[i].average(u, ticks, self.base_rtt),
            }
            self.hops[i] = *hop;
        }
        self.hops_len = self.hops_len.max(hops.len() as u8);
        if !counted.contains(&true) {
            return false;
        }
        let rate = match &mut self.per_hop {
            None => {
                self.way.average(largest, elapsed, self.base_rtt);
                let (rate, stage) = self.way.next(&self.p, self.line);
                if full {
                    self.way = Track { reference: rate, stage, ..self.way };
                }
                rate
            }
            Some(tracks) => {
                let mut least = self.line;
                for (track, counted) in tracks[..hops.len()].iter_mut().zip(counted) {
                    if !counted {
                        least = least.min(track.reference);
                        continue;
                    }
                    let (rate, stage) = track.next(&self.p, self.line);
                    least = least.min(rate);
                    if full {
                        *track = Track { reference: rate, stage, ..*track };
                    }
                }
                least
            }
        };
        self.rate = rate;
        if self.p.window_follows_rate {
            self.window = self.window_at(rate);
        }
        true
    }

    /// Returns whether the rate was set, be it to the same.
    fn on_ack(&mut self, ack: &Ack<'_>) -> bool {
        let full = ack.acked > self.round_ends;
        if !full && !self.p.fast_react {
            return false;
        }
        if self.round_ends == 0 {
            // Nothing to compare with yet.
            self.round_ends = ack.sent;
            self.remember(ack.hops);
            return false;
        }
        let set = self.react(ack.hops, full);
        if full {
            self.round_ends = self.round_ends.max(ack.sent);
        }
        set
    }
}

impl RateControl for Hpcc {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some(self.window)
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, _len: Bytes, _wakes: &mut Wakes) {}

    fn on_feedback(&mut self, _now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        if let Feedback::Ack(ack) = feedback
            && self.on_ack(&ack)
        {
            wakes.move_next_frame();
        }
    }

    fn on_wake(&mut self, _now: Time, _which: u8, _wakes: &mut Wakes) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::Mark;
    use xoff_units::params::Defaults;

    const C: Rate = Rate::from_gbps(100);
    /// T = 10 us, so that the window at line rate is 125,000 bytes.
    const T: Span = Span::from_us(10);

    /// A flow, and the ports on its way as its frames find them.
    struct Bench {
        flow: Hpcc,
        ports: Vec<Hop>,
    }

    impl Bench {
        fn new(p: Params, ports: usize) -> Bench {
            let facts = FlowFacts { line: C, window: None, base_rtt: Some(T), seed: 0 };
            Bench {
                flow: Hpcc::new(&p, &facts),
                ports: vec![Hop { rate: C, ..Hop::default() }; ports],
            }
        }

        /// Time passes, each port sends a number of bytes and has a queue afterwards; then a frame
        /// is acknowledged.
        fn ack(&mut self, ns: u64, ports: &[(u64, u64)], acked: u64, sent: u64) -> Rate {
            for (hop, (tx, queue)) in self.ports.iter_mut().zip(ports) {
                *hop = Hop {
                    at: hop.at + Span::from_ns(ns),
                    tx_bytes: hop.tx_bytes + tx,
                    queue: Bytes(*queue),
                    ..*hop
                };
            }
            let int = self.flow.p.int;
            let hops: Vec<Hop> =
                self.ports.iter().map(|h| int.record(h.at, h.tx_bytes, h.queue, h.rate)).collect();
            let ack = Ack { acked, sent, rtt: T, len: Bytes(1048), mark: Mark::None, hops: &hops };
            self.flow.on_feedback(Time::ZERO, Feedback::Ack(ack), &mut Wakes::default());
            self.flow.rate()
        }

        /// A round after a whole T and a whole round trip: U is u, and the reference moves.
        fn round(&mut self, ports: &[(u64, u64)]) -> Rate {
            let end = self.flow.round_ends;
            self.ack(10_000, ports, end + 1, end + 100_000)
        }
    }

    fn near(got: Rate, bps: u64) {
        assert!(got.0.abs_diff(bps) <= 2, "{got} is not {}", Rate(bps));
    }

    /// Algorithm 1, MeasureInflight. 1 us and 12,500 bytes between the records: 100 Gb/s, and
    /// min(25,000, 12,500) bytes of a window of 125,000: u = 1.1. U = (9 x 1 + 1 x 1.1)/10 = 1.01,
    /// R = 100 Gb/s x 0.95/1.01 + 50 Mb/s. The second hop, half idle, does not count.
    #[test]
    fn utilisation_over_two_acknowledgements() {
        let mut b = Bench::new(Params::default(), 2);
        assert_eq!(b.ack(0, &[(0, 25_000), (0, 0)], 1_000, 50_000), C);
        assert_eq!(b.flow.window(), Some(125_000));
        near(b.ack(1_000, &[(12_500, 12_500), (6_250, 0)], 2_000, 51_000), 94_109_405_940);
        assert!((b.flow.way.utilisation - 1.01).abs() < 1e-12);
        assert_eq!(b.flow.window(), Some(117_636), "125,000 x 0.941094, cut off");
    }

    /// Section 3.2: every acknowledgement sets the rate, but from a reference that moves once per
    /// round trip. Three times u = 1.1 for 1 us: U = 1.01, 1.019, 1.0271. The first two set 100
    /// Gb/s x 0.95/U + 50 Mb/s and leave the reference; the third acknowledges what was sent after
    /// the first one.
    #[test]
    fn the_reference_moves_once_per_round_trip() {
        let mut b = Bench::new(Params::default(), 1);
        let busy = [(12_500, 12_500)];
        b.ack(0, &busy, 1_000, 50_000);
        near(b.ack(1_000, &busy, 2_000, 60_000), 94_109_405_940);
        near(b.ack(1_000, &busy, 50_000, 90_000), 93_278_655_544);
        assert_eq!((b.flow.way.reference, b.flow.round_ends), (C, 50_000));
        near(b.ack(1_000, &busy, 50_001, 120_000), 92_543_428_098);
        assert_eq!((b.flow.way.reference, b.flow.round_ends), (b.flow.rate, 120_000));
        // Without fast reaction, acknowledgements in between change nothing.
        let mut b = Bench::new(Params { fast_react: false, ..Params::default() }, 1);
        b.ack(0, &busy, 1_000, 50_000);
        assert_eq!(b.ack(1_000, &busy, 50_000, 90_000), C);
        assert_eq!(b.flow.hops[0].at, Time::ZERO);
    }

    /// Algorithm 1, ComputeWind. u = 1 + 1 = 2 for a whole T: 100 Gb/s x 0.95/2 + 50 Mb/s. Then
    /// half idle: five steps of 50 Mb/s (max_stage), and the sixth divides by 0.5/0.95: 47.8 Gb/s x
    /// 1.9 + 50 Mb/s. With max_stage 0 the first does.
    #[test]
    fn stages_of_increase() {
        let (full, half) = ([(125_000, 125_000)], [(62_500, 0)]);
        for (max_stage, rates) in
            [(5, [47_600, 47_650, 47_700, 47_750, 47_800, 90_870, 90_920]), (0, [90_395; 7])]
        {
            let mut b = Bench::new(Params { max_stage, ..Params::default() }, 1);
            b.ack(0, &full, 1_000, 50_000);
            near(b.round(&full), 47_550_000_000);
            for mbps in &rates[..if max_stage == 0 { 1 } else { 7 }] {
                near(b.round(&half), mbps * 1_000_000);
            }
        }
    }

    /// 2000 windows of queue: 95 Gb/s / 2001 + 50 Mb/s = 97.5 Mb/s, below the floor. An idle way:
    /// the line.
    #[test]
    fn floor_and_line_hold() {
        let mut b = Bench::new(Params::default(), 1);
        let flood = [(125_000, 250_000_000)];
        b.ack(0, &flood, 1_000, 50_000);
        assert_eq!((b.round(&flood), b.flow.window()), (Rate(100_000_000), Some(125)));
        let mut b = Bench::new(Params { max_stage: 0, ..Params::default() }, 1);
        b.ack(0, &[(0, 0)], 1_000, 50_000);
        assert_eq!(b.round(&[(1_000, 0)]), C);
    }

    /// A reference per hop. First hop u = 2: 47.55 Gb/s, then 1/2 twice: 47.6, 47.65. Second hop u
    /// = 1/2: the line; then a queue that was not there before, u = 1 + 0: 95.05 Gb/s; then it
    /// stayed, u = 2: 95.05 x 0.475 + 0.05. The least counts.
    #[test]
    fn a_reference_per_hop() {
        let mut b = Bench::new(Params { multi_rate: true, ..Params::default() }, 2);
        let (busy, half) = ((125_000, 125_000), (62_500, 0));
        b.ack(0, &[busy, half], 1_000, 50_000);
        near(b.round(&[busy, half]), 47_550_000_000);
        near(b.round(&[half, busy]), 47_600_000_000);
        near(b.flow.per_hop.as_ref().unwrap()[1].reference, 95_050_000_000);
        near(b.round(&[half, busy]), 45_198_750_000);
        near(b.flow.per_hop.as_ref().unwrap()[0].reference, 47_650_000_000);
    }

    /// Within a round trip a hop without a queue is passed over; at its end it counts.
    #[test]
    fn sampled_feedback() {
        let mut b =
            Bench::new(Params { sample_feedback: true, max_stage: 0, ..Params::default() }, 1);
        b.ack(0, &[(0, 0)], 1_000, 50_000);
        assert_eq!(b.ack(1_000, &[(12_500, 0)], 2_000, 60_000), C);
        assert_eq!(b.flow.hops[0].at, Time::ZERO);
        b.ack(1_000, &[(12_500, 0)], 50_001, 60_000);
        assert_eq!(b.flow.hops[0].at, Time::from_us(2));
    }

    /// Section 4.1: the records of another way cannot be compared with. They are stored, and the
    /// next ones count.
    #[test]
    fn another_way_begins_anew() {
        let mut b = Bench::new(Params::default(), 1);
        let busy = [(125_000, 125_000); 2];
        b.ack(0, &busy, 1_000, 50_000);
        b.ports.push(b.ports[0]);
        assert_eq!(b.round(&busy), C);
        near(b.round(&busy), 47_550_000_000);
        b.ports[1].tx_bytes = 5; // counts from elsewhere
        near(b.round(&busy), 47_550_000_000);
        let nine = vec![Hop::default(); 9];
        let (acked, sent) = (b.flow.round_ends + 1, b.flow.round_ends + 2);
        let ack = Ack { acked, sent, rtt: T, len: Bytes(0), mark: Mark::None, hops: &nine };
        b.flow.on_feedback(Time::ZERO, Feedback::Ack(ack), &mut Wakes::default());
        assert_eq!((b.flow.round_ends, b.flow.hops_len), (sent, 2), "too many hops: no reaction");
    }

    /// Records as the simulator packs them, multi 4. 12,500 bytes are 24 x 512 = 12,288, and a
    /// queue of 12,500 is 39 x 320 = 12,480: u = 0.98304 + 0.09984 = 1.08288, U = 1.008288.
    #[test]
    fn packed_records() {
        let p =
            Params::read(&mut Defaults::of(PARAMS).with("int_multi", "4").with("max_stage", "0"))
                .unwrap();
        let mut b = Bench::new(p, 1);
        b.ack(0, &[(0, 25_000)], 1_000, 50_000);
        near(b.ack(1_000, &[(12_500, 12_500)], 2_000, 51_000), 94_269_111_999);
        // The same after the clock of the record has run over.
        let mut b = Bench::new(b.flow.p.clone(), 1);
        b.ack((1 << 24) - 500, &[(0, 25_000)], 1_000, 50_000);
        near(b.ack(1_000, &[(12_500, 12_500)], 2_000, 51_000), 94_269_111_999);
    }

    /// Six and seven records where five have room: the last ones are over the first. What comes
    /// later is compared with those.
    #[test]
    fn packed_records_without_room_lie_over_the_first() {
        for (ports, expected) in [(5, [0, 1, 2, 3, 4]), (6, [5, 1, 2, 3, 4]), (7, [5, 6, 2, 3, 4])]
        {
            let mut b = Bench::new(
                Params { int: RecordFormat::Packed { multi: 1 }, ..Params::default() },
                ports,
            );
            let queues: Vec<_> = (0..7).map(|i| (125_000, i * 80)).collect();
            b.ack(0, &queues, 1_000, 50_000);
            assert_eq!(
                (b.flow.hops_len, b.flow.hops.map(|h| h.queue.0 / 80)[..5] == expected),
                (5, true)
            );
            assert_eq!(
                b.round(&queues) == C,
                ports > 5,
                "and a frame with more than five changes nothing"
            );
        }
    }

    /// Between two packed records less than a unit may be sent: a utilisation of 0, if the whole T
    /// is between them. There the rate, divided by it, runs over to 0, and the floor remains. With
    /// exact records the way is free.
    #[test]
    fn a_way_without_any_use() {
        for (int, rate) in
            [(RecordFormat::Packed { multi: 4 }, Rate(100_000_000)), (RecordFormat::Exact, C)]
        {
            let mut b =
                Bench::new(Params { multi_rate: true, max_stage: 0, int, ..Params::default() }, 1);
            b.ack(0, &[(0, 0)], 1_000, 50_000);
            assert_eq!(b.round(&[(511, 0)]), rate);
        }
    }

    /// 2,000,000,000 bytes x 100 Gb/s is 10 x 2^64 + 15,532,559,262,904,483,840; divided by the
    /// line 155,325,592.
    #[test]
    fn a_large_window_wraps_in_a_replay() {
        let facts = FlowFacts { line: C, window: Some(2_000_000_000), base_rtt: Some(T), seed: 0 };
        for (int, window) in
            [(RecordFormat::Packed { multi: 1 }, 155_325_592), (RecordFormat::Exact, 2_000_000_000)]
        {
            assert_eq!(
                Hpcc::new(&Params { int, ..Params::default() }, &facts).window(),
                Some(window)
            );
        }
    }

    #[test]
    fn window_and_round_trip_come_from_the_flow_or_the_parameters() {
        let facts = FlowFacts { line: C, window: Some(99_000), base_rtt: None, seed: 0 };
        let flow = Hpcc::new(&Params::default(), &facts);
        assert_eq!((flow.window(), flow.base_rtt), (Some(99_000), BASE_RTT.0));
        let p = Params {
            window: Some(Bytes(77_000)),
            base_rtt: Some(T),
            int: RecordFormat::Packed { multi: 1 },
            ..Params::default()
        };
        let flow = Hpcc::new(&p, &facts);
        assert_eq!((flow.window(), flow.base_rtt), (Some(77_000), 10_000));
        let fixed = Params { window_follows_rate: false, ..Params::default() };
        let mut b = Bench::new(fixed, 1);
        b.ack(0, &[(125_000, 125_000)], 1_000, 50_000);
        b.round(&[(125_000, 125_000)]);
        assert_eq!(b.flow.window(), Some(125_000));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert_eq!(Params::read(&mut Defaults::of(PARAMS)).unwrap(), Params::default());
        for (k, v) in [
            ("eta", "0"),
            ("eta", "1.1"),
            ("base_rtt", "0us"),
            ("window", "0B"),
            ("min_rate", "0bps"),
            ("int_multi", "0"),
        ] {
            assert_eq!(Params::read(&mut Defaults::of(PARAMS).with(k, v)).unwrap_err().key, k);
        }
    }
}

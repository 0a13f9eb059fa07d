//! Quantized congestion notification: the reaction point (IEEE 802.1Qau, now 802.1Q clauses 30 to
//! 33).
//!
//! ```text
//!   CNM with feedback q:  CR = CR (1 - q/128), at most by half; TR = previous CR, if a byte cycle had been completed
//!
//!   rate  line |--.                                    .- removed at line rate
//!              |  | cut                        .-------    hyper increase: TR += i R_HAI   both counters beyond 5, i = min - 5
//!           TR |- - - - - - - - - .-----------'            active increase: TR += R_AI     one of them beyond 5
//!              |  |      .---'                             fast recovery: TR stays         5 cycles
//!              |  '--'
//!              +--^---> time        after every cycle  CR = (CR + TR)/2;  a cycle: 150 KB sent, or T; half of it beyond 5
//! ```
//!
//! Two counters run side by side, one of bytes and one of time; either one completes cycles. A
//! limiter that has reached line rate is removed: nothing counts until the next CNM.
//!
//! Rates are whole bit/s, cut off after every operation.

use std::collections::VecDeque;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Feedback, FlowFacts, Law, RateControl, Wakes};
use crate::detection::qcn::FEEDBACK_MAX;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "timer",
        Kind::Span,
        "15ms",
        "cycle T of the time counter",
        "802.1Q MIB, rpgTimeReset; RZ 3880: 10 ms at 10 Gb/s, 2 ms at 100 Gb/s",
    ),
    ParamSpec::new(
        "byte_limit",
        Kind::Bytes,
        "150KB",
        "cycle of the byte counter",
        "802.1Q MIB, rpgByteReset",
    ),
    ParamSpec::new(
        "fast_recovery",
        Kind::Count,
        "5",
        "cycles of fast recovery",
        "802.1Q MIB, rpgThreshold",
    ),
    ParamSpec::new(
        "rate_ai",
        Kind::Rate,
        "5Mbps",
        "step R_AI of active increase",
        "802.1Q MIB, rpgAiRate; RZ 3880: 15 Mb/s at 100 Gb/s",
    ),
    ParamSpec::new(
        "rate_hai",
        Kind::Rate,
        "50Mbps",
        "step R_HAI of hyper increase",
        "802.1Q MIB, rpgHaiRate; RZ 3880: 250 Mb/s at 100 Gb/s",
    ),
    ParamSpec::new("gd", Kind::Count, "7", "gain: feedback q cuts by q/2^gd", "802.1Q MIB, rpgGd"),
    ParamSpec::new(
        "min_dec_fac",
        Kind::Count,
        "50",
        "least that a cut leaves, in percent",
        "802.1Q MIB, rpgMinDecFac",
    ),
    ParamSpec::new("min_rate", Kind::Rate, "5Mbps", "floor of the rate", "802.1Q MIB, rpgMinRate"),
    ParamSpec::new(
        "jitter",
        Kind::Flag,
        "true",
        "each cycle is stretched by a random 0.85 to 1.15",
        "QCN pseudo-code 2.2",
    ),
    ParamSpec::new(
        "reaction",
        Kind::Span,
        "2.4us",
        "from the arrival of a CNM to the new rate",
        "RZ 3880 Table I",
    ),
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// T [ps].
    pub timer: Span,
    /// Cycle of the byte counter [bytes].
    pub byte_limit: Bytes,
    /// Cycles of fast recovery.
    pub fast_recovery: u32,
    /// R_AI [bit/s].
    pub rate_ai: Rate,
    /// R_HAI [bit/s].
    pub rate_hai: Rate,
    /// A cut is by q/2^gd.
    pub gd: u32,
    /// Least that a cut leaves [percent].
    pub min_dec_fac: u32,
    /// Lowest rate of a flow [bit/s].
    pub min_rate: Rate,
    /// Cycles are stretched by 0.85 to 1.15.
    pub jitter: bool,
    /// From the arrival of a CNM to the new rate [ps].
    pub reaction: Span,
}

impl Params {
    /// The managed objects' defaults, with the reaction time of RZ 3880.
    pub fn standard() -> Params {
        Params {
            timer: Span::from_ms(15),
            byte_limit: Bytes::from_kb(150),
            fast_recovery: 5,
            rate_ai: Rate(5_000_000),
            rate_hai: Rate(50_000_000),
            gd: 7,
            min_dec_fac: 50,
            min_rate: Rate(5_000_000),
            jitter: true,
            reaction: Span::from_ns(2_400),
        }
    }
    /// RZ 3880, sections II to IV: 10 Gb/s.
    pub fn unbiased_qcn_10g() -> Params {
        Params { timer: Span::from_ms(10), ..Params::standard() }
    }
    /// RZ 3880, section V: 100 Gb/s.
    pub fn unbiased_qcn_100g() -> Params {
        Params {
            timer: Span::from_ms(2),
            rate_ai: Rate(15_000_000),
            rate_hai: Rate(250_000_000),
            ..Params::standard()
        }
    }

    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let mut narrow = |key: &str, least: u64, most: u64| match v.count(key)? {
            n if (least..=most).contains(&n) => Ok(n as u32),
            n => Err(ParamError::new(
                key,
                format!("{n} is out of range"),
                format!("expected {least} to {most}"),
            )),
        };
        let (fast_recovery, gd) = (narrow("fast_recovery", 1, 1_000)?, narrow("gd", 6, 32)?);
        let min_dec_fac = narrow("min_dec_fac", 1, 100)?;
        let p = Params {
            timer: v.span("timer")?,
            byte_limit: v.bytes("byte_limit")?,
            fast_recovery,
            rate_ai: v.rate("rate_ai")?,
            rate_hai: v.rate("rate_hai")?,
            gd,
            min_dec_fac,
            min_rate: v.rate("min_rate")?,
            jitter: v.flag("jitter")?,
            reaction: v.span("reaction")?,
        };
        for (key, zero, what) in [
            ("timer", p.timer.0 == 0, "a timer of 0"),
            ("byte_limit", p.byte_limit.0 == 0, "a byte counter of 0"),
        ] {
            if zero {
                return Err(ParamError::new(key, what, "expected a cycle above zero"));
            }
        }
        if p.min_rate.0 == 0 {
            return Err(ParamError::new(
                "min_rate",
                "a floor of 0",
                "expected a rate above 0: a flow at rate 0 never speeds up",
            ));
        }
        Ok(p)
    }
}

impl Law for Params {
    type ReactionPoint = Qcn;

    fn reaction_point(&self, flow: &FlowFacts) -> Qcn {
        Qcn::new(self, flow.line, flow.seed)
    }
    fn wants_quantized(&self) -> bool {
        true
    }
    #[inline]
    fn draws(&self) -> bool {
        self.jitter
    }
}

const TIMER: u8 = 0;
const REACTION: u8 = 1;

/// The rate limiter of one flow.
#[derive(Clone, Debug, PartialEq, State)]
#[state(in_place)]
pub struct Qcn {
    #[state(built)] // constant
    p: Params,
    /// Line rate of the NIC [bit/s] -- constant.
    line: Rate,
    /// CR [bit/s].
    rate: Rate,
    /// TR [bit/s]; active increase may carry it beyond the line rate, so that CR gets there.
    target: Rate,
    /// There is a limiter.
    limited: bool,
    /// Byte cycles completed since the last cut.
    byte_stage: u32,
    /// Time cycles completed since the last cut.
    time_stage: u32,
    /// Bytes until the byte cycle is complete.
    bytes_left: u64,
    /// End of the time cycle; a wake-up for any other time is stale.
    timer_due: Time,
    /// CNMs that have arrived and not taken effect: when each does, and its feedback.
    pending: VecDeque<(Time, u8)>,
    /// State of the jitter's generator.
    random: u64,
}

impl Qcn {
    /// A flow at line rate, without a limiter. `seed` makes its jitter different from that of other
    /// flows.
    pub fn new(p: &Params, line: Rate, seed: u64) -> Self {
        Qcn {
            p: p.clone(),
            line,
            rate: line,
            target: line,
            limited: false,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: 0,
            timer_due: Time::NEVER,
            pending: VecDeque::new(),
            random: seed,
        }
    }

    /// There is a rate limiter: a CNM has come, and line rate has not been reached since.
    pub fn limited(&self) -> bool {
        self.limited
    }

    /// TR [bit/s].
    pub fn target(&self) -> Rate {
        self.target
    }

    /// A cycle of `whole`, stretched by 0.850, 0.851, ... 1.150, each equally likely.
    fn jittered(&mut self, whole: u64) -> u64 {
        if !self.p.jitter {
            return whole;
        }
        // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let permille = 850 + (((z >> 32) * 301) >> 32);
        (whole as u128 * permille as u128 / 1_000) as u64
    }

    /// A CNM takes effect (802.1Q, clause 32.13). The timer is started by the caller.
    fn cut(&mut self, feedback: u8) {
        if !self.limited {
            self.limited = true;
            self.bytes_left = self.p.byte_limit.0;
        }
        if self.byte_stage != 0 {
            self.target = self.rate;
            self.bytes_left = self.p.byte_limit.0;
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        let rate = self.rate.0 as u128;
        let left = rate - ((rate * feedback as u128) >> self.p.gd);
        let least = rate * self.p.min_dec_fac as u128 / 100;
        self.rate = Rate(left.max(least) as u64).max(self.p.min_rate.min(self.line));
    }

    fn react(&mut self, now: Time, wakes: &mut Wakes) {
        let mut cut = false;
        while let Some(&(_, feedback)) = self.pending.front().filter(|(due, _)| *due <= now) {
            self.pending.pop_front();
            self.cut(feedback);
            cut = true;
        }
        if cut {
            self.start_timer(now, self.p.timer.0, wakes);
        }
    }

    fn start_timer(&mut self, now: Time, cycle: u64, wakes: &mut Wakes) {
        self.timer_due = now + Span(cycle);
        wakes.arm(TIMER, self.timer_due);
    }

    /// Target of a counter after this many cycles: the whole, or half of it after fast recovery.
    fn cycle(&mut self, whole: u64, stage: u32) -> u64 {
        let cycle = if stage < self.p.fast_recovery { whole } else { whole / 2 };
        self.jittered(cycle).max(1)
    }

    /// A cycle of either counter is complete.
    fn increase(&mut self) {
        let f = self.p.fast_recovery;
        let (low, high) =
            (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
        if (self.byte_stage == 1 || self.time_stage == 1) && self.target.0 / 10 > self.rate.0 {
            // Extra fast recovery: from so far below, half way to TR would be too far.
            self.target = self.target / 8;
        } else if low > f {
            self.target += self.p.rate_hai * (low - f) as u64;
        } else if high > f {
            self.target += self.p.rate_ai;
        }
        self.rate = Rate((self.rate.0 + self.target.0) / 2);
        if self.rate >= self.line {
            self.limited = false;
            (self.rate, self.target) = (self.line, self.line);
            (self.byte_stage, self.time_stage) = (0, 0);
            self.timer_due = Time::NEVER;
        }
    }
}

impl RateControl for Qcn {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, len: Bytes, _wakes: &mut Wakes) {
        if !self.limited {
            return;
        }
        if self.bytes_left > len.0 {
            self.bytes_left -= len.0;
            return;
        }
        self.byte_stage += 1;
        self.bytes_left = self.cycle(self.p.byte_limit.0, self.byte_stage);
        self.increase();
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        let Feedback::Quantized(feedback @ 1..) = feedback else { return };
        let due = now + self.p.reaction;
        self.pending.push_back((due, feedback.min(FEEDBACK_MAX)));
        if due == now {
            self.react(now, wakes);
        } else {
            wakes.arm(REACTION, due);
        }
    }

    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        if which == REACTION {
            self.react(now, wakes);
        } else if now == self.timer_due {
            self.time_stage += 1;
            let cycle = self.cycle(self.p.timer.0, self.time_stage);
            self.increase();
            if self.limited {
                self.start_timer(now, cycle, wakes);
            }
        }
    }
}

#[cfg(test)]
mod tests;

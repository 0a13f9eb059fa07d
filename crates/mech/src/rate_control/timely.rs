//! TIMELY, reaction point (SIGCOMM'15, section 4 and Algorithm 1), the patch of "ECN or Delay"
//! (CoNEXT'16), the code snippet that its authors published, and the rule of the HPCC simulator.
//!
//! ```text
//!   rtt of a completion ---> difference to the last one, averaged, over D_minRTT = gradient g
//!
//!     rtt < T_low             R + delta
//!     between, g <= 0         R + delta, R + HAI after five in a row       g > 0   R (1 - beta g)
//!     rtt > T_high            R (1 - beta (1 - T_high/rtt))
//! ```
//!
//! | | paper | patched | snippet | HPCC simulator |
//! |---|---|---|---|---|
//! | completion | acknowledged end of a segment | the same | the same | first acknowledgement beyond what was sent at the last one |
//! | rtt | without the frame's own time on the wire | the same | the same | with it, in whole nanoseconds |
//! | between | as above | delta (1 - w) + R (1 - beta w (rtt - T_low)/T_low), w from 0 to 1 with g | as above | as above |
//! | increase, cut above T_high | as above | as above | times the share of D_minRTT since the last completion, at most 1 | as above |
//! | cut | to the floor | to the floor | at most by half | to the floor |
//! | HAI | fifth completion in a row with g <= 0 | none | fifth rtt in a row below the one before | after five increases of any kind |
//! | first completion | difference 0 | difference 0 | difference 0 | measured only |
//!
//! With TCD (SIGCOMM'21, section 5.2.3) a completion whose frames carry UE and not CE changes
//! nothing where it would lower the rate by its gradient.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Ack, Feedback, FlowFacts, Law, RateControl, Wakes};
use crate::detection::Mark;

/// Parameters in a file. Keys without a default take the value of the variant.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "variant",
        Kind::Choice(&["paper", "patched", "snippet", "hpcc"]),
        "paper",
        "when a rate is updated and by which rule",
        "SIGCOMM'15; CoNEXT'16; the authors' timely-code-snippet.cc; HPCC simulator 2021",
    ),
    ParamSpec::new(
        "t_low",
        Kind::Span,
        "50us",
        "round-trip time below which the rate always rises",
        "SIGCOMM'15 section 6",
    ),
    ParamSpec::optional(
        "t_high",
        Kind::Span,
        "round-trip time above which the rate always falls; 500 us, snippet 1 ms",
        "SIGCOMM'15 section 6",
    ),
    ParamSpec::optional(
        "delta",
        Kind::Rate,
        "additive step; 10 Mb/s, hpcc 100 Mb/s",
        "SIGCOMM'15 section 6; HPCC configuration at 100G",
    ),
    ParamSpec::optional(
        "hai",
        Kind::Rate,
        "step after five increases; 5 x delta",
        "SIGCOMM'15 section 4.4",
    ),
    ParamSpec::optional(
        "beta",
        Kind::Float,
        "factor of a decrease; 0.8, patched 0.008; twice that with tcd",
        "SIGCOMM'15 section 6; CoNEXT'16; TCD section 5.2.3: 1.6",
    ),
    ParamSpec::optional(
        "ewma",
        Kind::Float,
        "weight of a new difference in the average; 0.875, snippet 0.02",
        "CoNEXT'16; HPCC simulator",
    ),
    ParamSpec::new(
        "min_rtt",
        Kind::Span,
        "20us",
        "round-trip time D_minRTT by which differences are divided",
        "CoNEXT'16; HPCC simulator",
    ),
    ParamSpec::optional(
        "segment",
        Kind::Bytes,
        "payload per completion, which is its last acknowledgement; 16 KB, snippet 64 KB; not hpcc",
        "SIGCOMM'15 section 6; the snippet's 50 us for T_low belongs to messages of 64 KB",
    ),
    ParamSpec::optional(
        "bursts",
        Kind::Flag,
        "the frames of a segment leave at line rate, and the gap comes after them; false, snippet true; not hpcc",
        "SIGCOMM'15 section 5; the snippet's \"per 64KB message pacing\"",
    ),
    ParamSpec::optional(
        "min_rate",
        Kind::Rate,
        "floor of the rate; 100 Mb/s, hpcc 1 Gb/s",
        "HPCC simulator and its configurations",
    ),
    ParamSpec::optional(
        "initial_rate",
        Kind::Rate,
        "rate of a new flow; the line rate",
        "HPCC simulator",
    ),
    ParamSpec::new(
        "tcd",
        Kind::Flag,
        "false",
        "deeper cuts, and a completion with UE is no reason to cut",
        "TCD section 5.2.3",
    ),
];

/// HAI begins after this many (Algorithm 1; HPCC simulator).
const HAI_AFTER: u32 = 5;

/// Time and rule of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// SIGCOMM'15.
    Paper,
    /// "ECN or Delay", CoNEXT'16.
    Patched,
    /// The code snippet of the authors of SIGCOMM'15.
    Snippet,
    /// The HPCC simulator.
    Hpcc,
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Time and rule of an update.
    pub variant: Variant,
    /// T_low [ps].
    pub t_low: Span,
    /// T_high [ps].
    pub t_high: Span,
    /// Additive step [bit/s].
    pub delta: Rate,
    /// Step of hyperactive increase [bit/s].
    pub hai: Rate,
    /// Factor of a decrease.
    pub beta: f64,
    /// Weight of a new difference.
    pub ewma: f64,
    /// D_minRTT [ps].
    pub min_rtt: Span,
    /// Segment [bytes of payload].
    pub segment: Bytes,
    /// The frames of a segment leave at line rate.
    pub bursts: bool,
    /// Lowest rate of a flow [bit/s].
    pub min_rate: Rate,
    /// Rate of a new flow; `None`: line rate [bit/s].
    pub initial_rate: Option<Rate>,
    /// TCD's rule.
    pub tcd: bool,
}

impl Params {
    /// The published set of a variant.
    pub fn of(variant: Variant) -> Params {
        let paper = Params {
            variant,
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            delta: Rate(10_000_000),
            hai: Rate(50_000_000),
            beta: 0.8,
            ewma: 0.875,
            min_rtt: Span::from_us(20),
            segment: Bytes::from_kb(16),
            bursts: false,
            min_rate: Rate(100_000_000),
            initial_rate: None,
            tcd: false,
        };
        match variant {
            Variant::Paper => paper,
            Variant::Patched => Params { beta: 0.008, ..paper },
            Variant::Snippet => Params {
                t_high: Span::from_ms(1),
                ewma: 0.02,
                segment: Bytes::from_kb(64),
                bursts: true,
                ..paper
            },
            Variant::Hpcc => Params {
                delta: Rate(100_000_000),
                hai: Rate(500_000_000),
                min_rate: Rate(1_000_000_000),
                ..paper
            },
        }
    }

    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let set = Params::of(match v.text("variant")?.as_str() {
            "patched" => Variant::Patched,
            "snippet" => Variant::Snippet,
            "hpcc" => Variant::Hpcc,
            _ => Variant::Paper,
        });
        if set.variant == Variant::Hpcc {
            for key in ["segment", "bursts"] {
                v.without_effect(
                    key,
                    "variant = \"hpcc\" has no segments",
                    "remove the key, or choose another variant",
                );
            }
        }
        let tcd = v.flag("tcd")?;
        let bursts = if v.text_opt("bursts")?.is_some() { v.flag("bursts")? } else { set.bursts };
        let delta = v.rate_opt("delta")?.unwrap_or(set.delta);
        let p = Params {
            t_low: v.span("t_low")?,
            t_high: v.span_opt("t_high")?.unwrap_or(set.t_high),
            delta,
            hai: v.rate_opt("hai")?.unwrap_or(delta * 5),
            beta: v.float_opt("beta")?.unwrap_or(if tcd { set.beta * 2.0 } else { set.beta }),
            ewma: v.float_opt("ewma")?.unwrap_or(set.ewma),
            min_rtt: v.span("min_rtt")?,
            segment: v.bytes_opt("segment")?.unwrap_or(set.segment),
            bursts,
            min_rate: v.rate_opt("min_rate")?.unwrap_or(set.min_rate),
            initial_rate: v.rate_opt("initial_rate")?,
            tcd,
            ..set
        };
        p.validate()?;
        Ok(p)
    }

    /// Rejects parameters that cannot work.
    pub fn validate(&self) -> Result<(), ParamError> {
        if self.t_low > self.t_high {
            let what = format!("T_low {} is above T_high {}", self.t_low, self.t_high);
            return Err(ParamError::new("t_low", what, "choose t_low <= t_high"));
        }
        if self.variant == Variant::Patched && self.t_low.0 == 0 {
            return Err(ParamError::new("t_low", "T_low is 0", "the patched rule divides by it"));
        }
        if self.min_rtt.0 == 0 {
            return Err(ParamError::new(
                "min_rtt",
                "D_minRTT is 0",
                "the gradient is divided by it: expected a time above zero",
            ));
        }
        if !(0.0..=1.0).contains(&self.ewma) {
            return Err(ParamError::new(
                "ewma",
                format!("{} is not between 0 and 1", self.ewma),
                "a weight between 0 and 1",
            ));
        }
        if self.beta < 0.0 {
            return Err(ParamError::new(
                "beta",
                format!("{} is negative", self.beta),
                "expected 0 or more",
            ));
        }
        if self.segment.0 == 0 {
            return Err(ParamError::new("segment", "a segment of 0", "expected a size above zero"));
        }
        if self.min_rate.0 == 0 {
            return Err(ParamError::new(
                "min_rate",
                "a floor of 0",
                "expected a rate above 0: a flow at rate 0 never speeds up",
            ));
        }
        if self.initial_rate == Some(Rate::ZERO) {
            return Err(ParamError::new(
                "initial_rate",
                "a rate of 0",
                "expected a rate above 0: a flow at rate 0 never starts",
            ));
        }
        Ok(())
    }

    /// A time as the variant counts: whole nanoseconds in the HPCC simulator, picoseconds
    /// otherwise.
    fn ticks(&self, t: Span) -> u64 {
        match self.variant {
            Variant::Hpcc => t.as_ns(),
            _ => t.0,
        }
    }
}

impl Law for Params {
    type ReactionPoint = Timely;

    fn reaction_point(&self, flow: &FlowFacts) -> Timely {
        Timely::new(self, flow.line)
    }
    #[inline]
    fn wants_acks(&self) -> bool {
        true
    }
    fn knows_undetermined(&self) -> bool {
        self.tcd
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![
            ("t_high", self.t_high.compact()),
            ("ewma", self.ewma.to_string()),
            ("segment", self.segment.compact()),
            ("bursts", self.bursts.to_string()),
            ("delta", self.delta.compact()),
            ("hai", self.hai.compact()),
            ("beta", self.beta.to_string()),
            ("min_rate", self.min_rate.compact()),
            (
                "initial_rate",
                self.initial_rate.map_or("line rate of the host".into(), |r| r.compact()),
            ),
        ]
    }
}

/// w of "ECN or Delay": how much a gradient counts as congestion, from 0 at -1/4 to 1 at 1/4.
fn weight(gradient: f64) -> f64 {
    (2.0 * gradient + 0.5).clamp(0.0, 1.0)
}

/// Effect of a completion on the rate.
enum Step {
    Add(Rate),
    /// Multiply, then add.
    Scale(f64, Rate),
    Keep,
}

/// The reaction point of one flow.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Timely {
    #[state(built)] // constant
    p: Params,
    /// Line rate of the NIC [bit/s] -- constant.
    line: Rate,
    rate: Rate,
    /// Round-trip time of the last completion [ticks]; `None` before the first.
    last_rtt: Option<u64>,
    /// Average difference of two round-trip times [ticks].
    difference: f64,
    /// Completions in a row that count towards HAI.
    run: u32,
    /// Acknowledged bytes that the next completion needs: as many (segments), or more (HPCC
    /// simulator).
    #[state(sequence)]
    next: u64,
    /// Strongest mark since the last completion.
    mark: Mark,
    /// The last completion; only of the snippet.
    updated: Option<Time>,
    /// The burst that leaves.
    burst: Burst,
}

/// Frames that have left of a segment, where it leaves as a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Burst {
    /// Start of its first frame; `None`: none has left.
    start: Option<Time>,
    /// On the wire [bytes].
    wire: Bytes,
    /// Payload [bytes].
    payload: Bytes,
}

impl Timely {
    /// A new flow.
    pub fn new(p: &Params, line: Rate) -> Self {
        Timely {
            line,
            rate: p.initial_rate.unwrap_or(line).min(line),
            last_rtt: None,
            difference: 0.0,
            run: 0,
            next: if p.variant == Variant::Hpcc { 0 } else { p.segment.0 },
            mark: Mark::None,
            updated: None,
            burst: Burst::default(),
            p: p.clone(),
        }
    }

    /// True if a segment is complete; the next segment ends at the next multiple.
    fn on_ack_of_segment(&mut self, now: Time, ack: &Ack<'_>) {
        if ack.acked < self.next {
            return;
        }
        self.next = (ack.acked / self.p.segment.0 + 1) * self.p.segment.0;
        let rtt = ack.rtt.0.saturating_sub(self.line.time_for(ack.len).0);
        let last = *self.last_rtt.get_or_insert(rtt);
        let mut share = 1.0;
        if self.p.variant == Variant::Snippet
            && let Some(last) = self.updated.replace(now)
        {
            share = ((now - last).0 as f64 / self.p.min_rtt.0 as f64).min(1.0);
        }
        self.complete(rtt, last, share);
        self.last_rtt = Some(rtt);
    }

    /// Once per round trip: an acknowledgement beyond the bytes that had been sent when the last
    /// one counted.
    fn on_ack_of_round(&mut self, ack: &Ack<'_>) {
        if ack.acked <= self.next {
            return;
        }
        let rtt = self.p.ticks(ack.rtt);
        if self.next != 0 {
            self.complete(rtt, self.last_rtt.unwrap_or(0), 1.0);
        }
        // A flow that went back has sent less than it had; then both stay, as there.
        if ack.sent > self.next {
            self.next = ack.sent;
            self.last_rtt = Some(rtt);
        }
    }

    /// `share`: of an increase, and of a cut above T_high.
    fn complete(&mut self, rtt: u64, last: u64, share: f64) {
        let mark = std::mem::take(&mut self.mark);
        let new = rtt.wrapping_sub(last) as i64;
        self.difference = (1.0 - self.p.ewma) * self.difference + self.p.ewma * new as f64;
        let gradient = self.difference / self.p.ticks(self.p.min_rtt) as f64;
        match self.step(rtt, (gradient, new), mark, share) {
            Step::Add(step) => self.rate = (self.rate + step).min(self.line),
            Step::Scale(factor, step) => {
                // Below zero for a high gradient or round-trip time, and soon with TCD's beta: then
                // the floor.
                let least = if self.p.variant == Variant::Snippet { 0.5 } else { 0.0 };
                let rate = Rate::from_f64(self.rate.as_f64() * factor.max(least)) + step;
                self.rate = self.p.min_rate.max(rate.min(self.line));
            }
            Step::Keep => {}
        }
    }

    /// The rule, with the run of increases that leads to HAI.
    fn step(&mut self, rtt: u64, (gradient, new): (f64, i64), mark: Mark, share: f64) -> Step {
        let p = &self.p;
        let (low, high) = (p.ticks(p.t_low), p.ticks(p.t_high));
        let below = rtt < low;
        let above = rtt > high;
        let falls = !below && (above || gradient > 0.0);
        let add = match p.variant {
            // Five increases at the plain step, whatever their reason, and then the large one.
            Variant::Hpcc => {
                let step = if self.run < HAI_AFTER { p.delta } else { p.hai };
                self.run = if falls { 0 } else { self.run + 1 };
                step
            }
            // The run is one of differences.
            Variant::Snippet => {
                self.run = if new < 0 { self.run + 1 } else { 0 };
                let hyper = !below && self.run >= HAI_AFTER;
                Rate::from_f64(if hyper { p.hai } else { p.delta }.as_f64() * share)
            }
            // The run is one of gradients; the fifth already takes the large step.
            _ => {
                self.run = if gradient <= 0.0 { self.run + 1 } else { 0 };
                let hyper = p.variant == Variant::Paper && !below && self.run >= HAI_AFTER;
                if hyper { p.hai } else { p.delta }
            }
        };
        if below {
            return Step::Add(add);
        }
        if above {
            let excess = 1.0 - high as f64 / rtt as f64;
            return Step::Scale(1.0 - share * p.beta * excess, Rate::ZERO);
        }
        if p.tcd && gradient > 0.0 && mark == Mark::Ue {
            return Step::Keep;
        }
        match p.variant {
            Variant::Patched => {
                let (w, low) = (weight(gradient), low as f64);
                let error = (rtt as f64 - low) / low;
                Step::Scale(1.0 - p.beta * w * error, Rate::from_f64(p.delta.as_f64() * (1.0 - w)))
            }
            _ if falls => Step::Scale(1.0 - p.beta * gradient, Rate::ZERO),
            _ => Step::Add(add),
        }
    }
}

impl RateControl for Timely {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, _len: Bytes, _wakes: &mut Wakes) {}

    #[inline]
    fn spacing(&mut self, now: Time, len: Bytes, payload: Bytes) -> Option<Span> {
        if !self.p.bursts || self.p.variant == Variant::Hpcc {
            return None;
        }
        let b = &mut self.burst;
        let start = *b.start.get_or_insert(now);
        (b.wire, b.payload) = (b.wire + len, b.payload + payload);
        let own = self.line.time_for(len);
        if b.payload < self.p.segment {
            return Some(own);
        }
        let next = start + self.rate.time_for(std::mem::take(b).wire);
        Some(own.max(Span(next.0.saturating_sub(now.0))))
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, _wakes: &mut Wakes) {
        let Feedback::Ack(ack) = feedback else { return };
        self.mark = self.mark.max(ack.mark);
        match self.p.variant {
            Variant::Hpcc => self.on_ack_of_round(&ack),
            _ => self.on_ack_of_segment(now, &ack),
        }
    }

    fn on_wake(&mut self, _now: Time, _which: u8, _wakes: &mut Wakes) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    const C: Rate = Rate::from_gbps(10);

    fn start(variant: Variant, mbps: u64) -> Timely {
        Timely::new(
            &Params { initial_rate: Some(Rate(mbps * 1_000_000)), ..Params::of(variant) },
            C,
        )
    }

    fn ack(acked: u64, rtt_us: u64, mark: Mark) -> Ack<'static> {
        Ack {
            acked,
            sent: acked + 100_000,
            rtt: Span::from_us(rtt_us),
            len: Bytes(0),
            mark,
            hops: &[],
        }
    }

    fn feed(t: &mut Timely, ack: Ack<'_>) {
        t.on_feedback(Time::ZERO, Feedback::Ack(ack), &mut Wakes::default());
    }

    /// The next segment completes after this time.
    fn complete(t: &mut Timely, rtt_us: u64, mark: Mark) -> Rate {
        feed(t, ack(t.next, rtt_us, mark));
        t.rate()
    }

    fn near(got: Rate, bps: u64) {
        assert!(got.0.abs_diff(bps) <= 2, "{got} is not {}", Rate(bps));
    }

    /// SIGCOMM'15 Algorithm 1 from 5 Gb/s, D_minRTT 20 us, averages with weight 7/8: 40 us < T_low:
    /// +10 Mb/s. 60 us: 7/8 x 20 us = 17.5 us, gradient 0.875, x (1 - 0.8 x 0.875) = 0.3. 60 us
    /// again: 17.5/8 = 2.1875 us, gradient 0.109375, x 0.9125. 40 us: +10 Mb/s, although the
    /// gradient counts on.
    #[test]
    fn additive_increase_and_decrease_by_gradient() {
        let mut t = start(Variant::Paper, 5_000);
        near(complete(&mut t, 40, Mark::None), 5_010_000_000);
        near(complete(&mut t, 60, Mark::None), 1_503_000_000);
        near(complete(&mut t, 60, Mark::None), 1_371_487_500);
        near(complete(&mut t, 40, Mark::None), 1_381_487_500);
    }

    /// Above T_high = 500 us the gradient does not matter: 1000 us leaves 1 - 0.8 (1 - 500/1000) =
    /// 0.6 of 5 Gb/s, and 800 us, falling, 1 - 0.8 (1 - 500/800) = 0.7 of that. At T_high itself
    /// the gradient decides, and it is below zero.
    #[test]
    fn decrease_above_t_high() {
        let mut t = start(Variant::Paper, 5_000);
        near(complete(&mut t, 1_000, Mark::None), 3_000_000_000);
        near(complete(&mut t, 800, Mark::None), 2_100_000_000);
        near(complete(&mut t, 500, Mark::None), 2_110_000_000);
    }

    /// Section 4.4: 100 us that never grows is a gradient of 0; four steps of 10 Mb/s, and from the
    /// fifth on 50 Mb/s. A rise to 110 us (gradient 7/16, x 0.65) ends the run; 107 us averages
    /// -1.53 us and begins a new one.
    #[test]
    fn hyperactive_increase_after_five() {
        let mut t = start(Variant::Paper, 1_000);
        let rates: Vec<u64> =
            (0..6).map(|_| complete(&mut t, 100, Mark::None).0 / 1_000_000).collect();
        assert_eq!(rates, [1_010, 1_020, 1_030, 1_040, 1_090, 1_140]);
        near(complete(&mut t, 110, Mark::None), 741_000_000);
        near(complete(&mut t, 107, Mark::None), 751_000_000);
        // Below T_low every step is the plain one, and the line is the limit.
        let mut t = start(Variant::Paper, 1_000);
        for _ in 0..10 {
            complete(&mut t, 30, Mark::None);
        }
        near(t.rate(), 1_100_000_000);
        assert_eq!(complete(&mut start(Variant::Paper, 9_995), 30, Mark::None), C);
        assert_eq!(complete(&mut start(Variant::Patched, 10_000), 50, Mark::None), C);
    }

    /// TCD section 5.2.3, beta 1.6. 100 us, then 104 us: gradient 7/8 x 4/20 = 0.175. UE alone
    /// keeps 1 Gb/s; the difference is still averaged, so 104 us again has gradient 0.021875 and,
    /// unmarked, leaves 1 - 1.6 x 0.021875 = 0.965. A segment with UE and CE is congested.
    #[test]
    fn an_undetermined_completion_keeps_the_rate() {
        let p = Params::read(
            &mut Defaults::of(PARAMS).with("tcd", "true").with("initial_rate", "1Gbps"),
        )
        .unwrap();
        assert_eq!((p.beta, p.tcd), (1.6, true));
        let mut t = Timely::new(&p, C);
        near(complete(&mut t, 100, Mark::Ue), 1_010_000_000); // gradient 0: an increase is not held
        near(complete(&mut t, 104, Mark::Ue), 1_010_000_000);
        near(complete(&mut t, 104, Mark::None), 974_650_000);
        let mut t = Timely::new(&p, C);
        complete(&mut t, 100, Mark::None);
        feed(&mut t, ack(20_000, 104, Mark::Ce));
        near(complete(&mut t, 104, Mark::Ue), 727_200_000); // x (1 - 1.6 x 0.175) = 0.72
        // Above T_high there is no exception: 1 - 1.6 (1 - 500/1000) = 0.2.
        let mut t = Timely::new(&p, C);
        near(complete(&mut t, 1_000, Mark::Ue), 200_000_000);
        // And without the switch UE means nothing.
        let mut t = start(Variant::Paper, 1_000);
        complete(&mut t, 100, Mark::None);
        near(complete(&mut t, 104, Mark::Ue), 868_600_000); // x (1 - 0.8 x 0.175) = 0.86
    }

    /// With beta 1.6 both decreases can ask for less than nothing: 2000 us gives 1 - 1.6 x 3/4 =
    /// -0.2, and a step of 100 us a gradient of 4.375, 1 - 7. The floor is left.
    #[test]
    fn the_floor_holds() {
        let p = Params {
            beta: 1.6,
            initial_rate: Some(Rate::from_gbps(1)),
            ..Params::of(Variant::Paper)
        };
        let mut t = Timely::new(&p, C);
        assert_eq!(complete(&mut t, 2_000, Mark::None), Rate(100_000_000));
        let mut t = Timely::new(&p, C);
        complete(&mut t, 100, Mark::None);
        assert_eq!(complete(&mut t, 200, Mark::None), Rate(100_000_000));
    }

    /// A completion every 16 KB, however the acknowledgements fall; only its own round-trip time
    /// counts, without the time of its frame on the wire: 55 us - 12,500 bytes at 10 Gb/s = 45 us.
    #[test]
    fn segments_complete() {
        let mut t = start(Variant::Paper, 1_000);
        for acked in [1_000, 8_000, 15_999] {
            feed(&mut t, ack(acked, 5_000, Mark::None));
        }
        assert_eq!(t.rate(), Rate::from_gbps(1));
        feed(&mut t, Ack { len: Bytes(12_500), ..ack(17_000, 55, Mark::None) });
        near(t.rate(), 1_010_000_000);
        assert_eq!((t.next, t.last_rtt), (32_000, Some(Span::from_us(45).0)));
        feed(&mut t, ack(64_000, 45, Mark::None)); // one acknowledgement over several segments completes once
        assert_eq!((t.next, t.rate()), (80_000, Rate(1_020_000_000)));
    }

    /// "ECN or Delay": w is 0, 1/2, 1 at gradients -1/4, 0, 1/4. From 1 Gb/s at 100 us, gradient 0,
    /// error (100 - 50)/50 = 1: 1 Gb/s (1 - 0.008 x 1/2) + 10 Mb/s x 1/2 = 1.001 Gb/s. Then 105 us:
    /// gradient 7/8 x 5/20 = 0.21875, w = 0.9375, error 1.1: 1.001 Gb/s (1 - 0.00825) + 0.625 Mb/s.
    #[test]
    fn the_patched_rule() {
        assert_eq!([-0.3, -0.25, 0.0, 0.25, 0.3].map(weight), [0.0, 0.0, 0.5, 1.0, 1.0]);
        let mut t = start(Variant::Patched, 1_000);
        near(complete(&mut t, 100, Mark::None), 1_001_000_000);
        near(complete(&mut t, 105, Mark::None), 993_366_750);
        near(complete(&mut t, 40, Mark::None), 1_003_366_750);
    }

    /// The snippet, D_minRTT 20 us. 40 us < T_low: +10 Mb/s. 10 us later 60 us: 0.02 x 20 us is a
    /// gradient of 0.02, x (1 - 0.8 x 0.02). 5 us later 40 us: a quarter of 10 Mb/s. 2 ms above
    /// T_high = 1 ms: x (1 - 0.8/2); 4 ms, 5 us later: x (1 - 0.8 x 3/4 / 4). 100 ms would leave
    /// 0.208, and half is left.
    #[test]
    fn the_published_snippet() {
        let mut t = start(Variant::Snippet, 5_000);
        let mut at = |us, rtt_us| {
            let ack = ack(t.next, rtt_us, Mark::None);
            t.on_feedback(Time::from_us(us), Feedback::Ack(ack), &mut Wakes::default());
            t.rate()
        };
        near(at(100, 40), 5_010_000_000);
        near(at(110, 60), 4_929_840_000);
        near(at(115, 40), 4_932_340_000);
        near(at(1_000, 2_000), 2_959_404_000);
        near(at(1_005, 4_000), 2_515_493_400);
        near(at(2_000, 100_000), 1_257_746_700);
        assert_eq!(Params::of(Variant::Paper).segment, Bytes::from_kb(16));
        assert_eq!(t.next, 7 * 64_000);
    }

    /// The snippet in numbers with a decimal point, from the rate of each step on.
    #[test]
    fn the_snippet_step_by_step() {
        let (mut t, mut r) = (start(Variant::Snippet, 5_000), 7u64);
        let mut draw = |below: u64| {
            r = r.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (r >> 33) % below
        };
        let (mut now, mut last, mut before, mut average, mut run) = (0, None, 0.0, 0.0, 0);
        let mut kinds = [0; 5];
        for step in 0..20_000 {
            now += 1 + draw(40);
            // Stretches of slow rise and fall around both thresholds, and jumps.
            let rtt = match step / 50 % 4 {
                0 => 45 + draw(10),
                1 => 600 - 7 * (step % 50) + draw(3),
                2 => 900 + draw(200),
                _ => draw(200_000),
            };
            let rate = t.rate().as_f64();
            let ack = ack(t.next, rtt, Mark::None);
            t.on_feedback(Time::from_us(now), Feedback::Ack(ack), &mut Wakes::default());
            let rtt = rtt as f64;
            let difference = if step == 0 { 0.0 } else { rtt - before };
            run = if difference < 0.0 { run + 1 } else { 0 };
            average = 0.98 * average + 0.02 * difference;
            let share = last.map_or(1.0, |last| ((now - last) as f64 / 20.0).min(1.0));
            (before, last) = (rtt, Some(now));
            let (kind, new) = if rtt < 50.0 {
                (0, rate + 10e6 * share)
            } else if rtt > 1_000.0 {
                (1, rate * (1.0 - share * 0.8 * (1.0 - 1_000.0 / rtt)))
            } else if average > 0.0 {
                (2, rate * (1.0 - 0.8 * average / 20.0))
            } else {
                (3 + usize::from(run >= 5), rate + 10e6 * share * if run >= 5 { 5.0 } else { 1.0 })
            };
            kinds[kind] += 1;
            let new = new.max(0.5 * rate).min(C.as_f64()).max(100e6);
            assert!((t.rate().as_f64() - new).abs() <= 1.5, "{step}: {} {new}", t.rate());
        }
        assert!(kinds.iter().all(|&n| n > 50), "{kinds:?}");
    }

    /// Bursts of 64 frames of 1048 bytes at 10 Gb/s, and a rate of 1 Gb/s: burst k begins k x 64 x
    /// 8.384 us after the first one, and its frames are 0.8384 us apart. A burst that was held up
    /// is made up for by its gap, down to none.
    #[test]
    fn a_burst_is_followed_by_its_gap() {
        let mut t = start(Variant::Snippet, 1_000);
        let (len, payload) = (Bytes(1_048), Bytes(1_000));
        let mut now = Time(5);
        for frame in 0..640 {
            let (burst, nth) = (frame / 64, frame % 64);
            assert_eq!(now, Time(5 + burst * 64 * 8_384_000 + nth * 838_400));
            now += t.spacing(now, len, payload).unwrap();
        }
        for held in [100, 400, 600] {
            let mut t = start(Variant::Snippet, 1_000);
            (0..63).for_each(|_| _ = t.spacing(Time::ZERO, len, payload));
            let last = Time::from_us(held);
            let next = last + t.spacing(last, len, payload).unwrap();
            assert_eq!(next, Time((64 * 8_384_000).max(held * 1_000_000 + 838_400)));
        }
        assert_eq!(start(Variant::Paper, 1_000).spacing(Time(5), len, payload), None);
    }

    /// The HPCC simulator: the first acknowledgement is only measured, then one per round trip by
    /// sequence number. From 5 Gb/s, steps of 100 and 500 Mb/s: 30 us -> 60 us is 7/8 x 30,000 =
    /// 26,250 ns, gradient 1.3125, which with beta 0.8 asks for -0.05: the floor of 1 Gb/s.
    #[test]
    fn hpcc_updates_once_per_round() {
        let at = |acked, sent, rtt_us| Ack { sent, ..ack(acked, rtt_us, Mark::None) };
        let mut t = start(Variant::Hpcc, 5_000);
        feed(&mut t, at(1_000, 10_000, 30));
        assert_eq!((t.rate(), t.next, t.last_rtt), (Rate::from_gbps(5), 10_000, Some(30_000)));
        feed(&mut t, at(10_000, 20_000, 90)); // sent before: nothing
        assert_eq!((t.rate(), t.next), (Rate::from_gbps(5), 10_000));
        feed(&mut t, at(11_000, 21_000, 60));
        assert_eq!((t.rate(), t.difference, t.next), (Rate::from_gbps(1), 26_250.0, 21_000));
        // Five increases of 100 Mb/s, below T_low here, and then 500.
        let rates: Vec<u64> = (3..10)
            .map(|k| {
                feed(&mut t, at(k * 11_000, (k + 1) * 11_000 - 1, 40));
                t.rate().0 / 1_000_000
            })
            .collect();
        assert_eq!(rates, [1_100, 1_200, 1_300, 1_400, 1_500, 2_000, 2_500]);
    }

    /// After going back a flow may have sent less than it had: what was stored stays.
    #[test]
    fn hpcc_keeps_its_round_after_going_back() {
        let mut t = start(Variant::Hpcc, 5_000);
        feed(&mut t, Ack { sent: 10_000, ..ack(1_000, 40, Mark::None) });
        feed(&mut t, Ack { sent: 10_000, ..ack(10_001, 45, Mark::None) });
        assert_eq!((t.next, t.last_rtt, t.rate()), (10_000, Some(40_000), Rate(5_100_000_000)));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let key =
            |k: &str, v: &str| Params::read(&mut Defaults::of(PARAMS).with(k, v)).unwrap_err().key;
        assert_eq!(key("t_low", "600us"), "t_low");
        for (k, v) in [
            ("min_rtt", "0us"),
            ("ewma", "1.1"),
            ("beta", "-1"),
            ("segment", "0B"),
            ("min_rate", "0bps"),
            ("initial_rate", "0bps"),
        ] {
            assert_eq!(key(k, v), k);
        }
        let default = Params::read(&mut Defaults::of(PARAMS)).unwrap();
        assert_eq!(default, Params::of(Variant::Paper));
        let patched =
            Params::read(&mut Defaults::of(PARAMS).with("variant", "patched").with("tcd", "true"))
                .unwrap();
        assert_eq!(patched.beta, 0.016);
    }
}

//! DCQCN, reaction point (SIGCOMM'15, section 3.3), in the three public variants.
//!
//! ```text
//!   CNP ----> alpha, target R_T, rate R_C = R_C (1 - alpha/2)
//!   no CNP -> alpha decays every K; timer T and byte counter B raise R_C: fast recovery, additive, hyper increase
//! ```
//!
//! | | paper | ns3-rdma | HPCC simulator |
//! |---|---|---|---|
//! | cut | at the CNP, alpha raised after it | at the CNP, alpha raised before it | a timer looks every 4 us whether a CNP came |
//! | alpha timer | restarted by a CNP | restarted by a CNP | free running from the first CNP |
//! | target on cut | always the current rate | always | only after at least one increase stage |
//! | stages | timer and bytes | timer and bytes, extra fast recovery of QCN | timer only |
//!
//! With TCD (SIGCOMM'21, section 5.2.1) a cut is deeper, and a CNP that reports UE holds R_C and
//! R_T: timer and byte stages are frozen for one CNP interval.
//!
//! Rates are whole bit/s, cut off after every multiplication, as in both simulators.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{CnpMode, Feedback, FlowFacts, Law, RateControl, Wakes};
use crate::Unmet;

/// Parameters in a file. Keys without a default take the value of the variant.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "variant",
        Kind::Choice(&["paper", "ns3-rdma", "hpcc"]),
        "paper",
        "parameter set and order of steps",
        "SIGCOMM'15; ns3-rdma 2017; HPCC simulator 2021",
    ),
    ParamSpec::optional(
        "alpha",
        Kind::Float,
        "initial alpha; paper 1, ns3-rdma 0.5, hpcc 1; 1.2 with tcd by its first reading",
        "GFC section 7 uses 0.5; TCD section 5.2.1: 1.2",
    ),
    ParamSpec::optional("g", Kind::Float, "weight of the alpha average; 1/256", "SIGCOMM'15"),
    ParamSpec::optional(
        "cnp_interval",
        Kind::Span,
        "shortest time N between two CNPs of a flow; paper 50 us, hpcc 0 (in every ACK)",
        "SIGCOMM'15",
    ),
    ParamSpec::new(
        "cnp",
        Kind::Choice(&["at-once", "clock"]),
        "at-once",
        "a CNP leaves with the first mark, or at the ticks of a clock of cnp_interval that begins with the flow",
        "SIGCOMM'15: at once; ns3-rdma: clock",
    ),
    ParamSpec::optional(
        "alpha_timer",
        Kind::Span,
        "time K without CNP after which alpha decays; paper 55 us, hpcc 1 us",
        "SIGCOMM'15",
    ),
    ParamSpec::optional(
        "decrease_interval",
        Kind::Span,
        "hpcc only: interval between two checks for a cut; 4 us",
        "HPCC simulator",
    ),
    ParamSpec::optional(
        "increase_timer",
        Kind::Span,
        "increase timer T; paper 55 us, ns3-rdma 60 us, hpcc 300 us",
        "SIGCOMM'15",
    ),
    ParamSpec::optional(
        "byte_counter",
        Kind::Bytes,
        "increase byte counter B; paper 10 MB, ns3-rdma 300 MB",
        "SIGCOMM'15",
    ),
    ParamSpec::optional(
        "fast_recovery",
        Kind::Count,
        "stage F from which the target rises; fast recovery takes the previous F - 1; paper 5, hpcc 1",
        "SIGCOMM'15",
    ),
    ParamSpec::optional(
        "rate_ai",
        Kind::Rate,
        "additive step R_AI; 40 Mb/s, hpcc 20 Mb/s",
        "SIGCOMM'15",
    ),
    ParamSpec::optional(
        "rate_hai",
        Kind::Rate,
        "hyper step R_HAI; 200 Mb/s",
        "ns3-rdma and HPCC configurations",
    ),
    ParamSpec::optional(
        "min_rate",
        Kind::Rate,
        "floor of the rate; 100 Mb/s, hpcc 1 Gb/s",
        "ns3-rdma and HPCC configurations",
    ),
    ParamSpec::optional(
        "clamp_target",
        Kind::Flag,
        "the target follows every cut; paper and ns3-rdma true, hpcc false",
        "HPCC simulator CLAMP_TARGET_RATE",
    ),
    ParamSpec::new(
        "tcd",
        Kind::Flag,
        "false",
        "deeper cuts, and a CNP that reports UE holds the rate",
        "TCD section 5.2.1",
    ),
    ParamSpec::new(
        "tcd_cut",
        Kind::Choice(&["alpha", "factor"]),
        "alpha",
        "quantity that becomes 1.2: the initial alpha, or the factor 1/2 before alpha in a cut",
        "TCD section 5.2.1 says 'rate reduction factor alpha from default 0.5 to 1.2'",
    ),
];

/// Factor before alpha that TCD's 1.2 replaces in [`TcdCut::Factor`]: 1/2 otherwise.
const TCD_FACTOR: f64 = 1.2;
/// Initial alpha of [`TcdCut::Alpha`].
const TCD_ALPHA: f64 = 1.2;

/// Order of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// SIGCOMM'15.
    Paper,
    /// ns3-rdma.
    Ns3Rdma,
    /// The HPCC simulator.
    Hpcc,
}

/// Rule for deeper cuts with TCD: "the rate reduction factor alpha from default 0.5 to 1.2" has two
/// readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcdCut {
    /// The state alpha begins at 1.2 instead of 0.5, which is ns3-rdma's default: the first cut
    /// leaves 0.4 of the rate, and alpha falls slowly from there.
    Alpha,
    /// The factor of alpha is 1.2 instead of 1/2: a cut leaves `1 - 1.2 alpha`, which is nothing
    /// while alpha > 0.83; the floor is what remains.
    Factor,
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Order of steps.
    pub variant: Variant,
    /// TCD's rules, and which reading of its cut.
    pub tcd: Option<TcdCut>,
    /// Initial alpha.
    pub alpha: f64,
    /// Weight of the alpha average.
    pub g: f64,
    /// N; zero: the CNP rides in every acknowledgement [ps].
    pub cnp_interval: Span,
    /// CNPs leave at the ticks of a clock.
    pub cnp_clock: bool,
    /// K [ps].
    pub alpha_timer: Span,
    /// Interval between two checks for a cut (HPCC) [ps].
    pub decrease_interval: Span,
    /// T [ps].
    pub increase_timer: Span,
    /// B [bytes].
    pub byte_counter: Bytes,
    /// F: number of steps of fast recovery.
    pub fast_recovery: u32,
    /// R_AI [bit/s].
    pub rate_ai: Rate,
    /// R_HAI [bit/s].
    pub rate_hai: Rate,
    /// Lowest rate of a flow [bit/s].
    pub min_rate: Rate,
    /// The target follows every cut.
    pub clamp_target: bool,
}

impl Params {
    /// The published set of a variant.
    pub fn of(variant: Variant) -> Params {
        let paper = Params {
            variant,
            tcd: None,
            alpha: 1.0,
            g: 1.0 / 256.0,
            cnp_interval: Span::from_us(50),
            cnp_clock: false,
            alpha_timer: Span::from_us(55),
            decrease_interval: Span::from_us(4),
            increase_timer: Span::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Rate(40_000_000),
            rate_hai: Rate(200_000_000),
            min_rate: Rate(100_000_000),
            clamp_target: true,
        };
        match variant {
            Variant::Paper => paper,
            Variant::Ns3Rdma => Params {
                alpha: 0.5,
                increase_timer: Span::from_us(60),
                byte_counter: Bytes(300_000_000),
                ..paper
            },
            Variant::Hpcc => Params {
                cnp_interval: Span::ZERO,
                alpha_timer: Span::from_us(1),
                increase_timer: Span::from_us(300),
                fast_recovery: 1,
                rate_ai: Rate(20_000_000),
                min_rate: Rate(1_000_000_000),
                clamp_target: false,
                ..paper
            },
        }
    }

    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let mut p = Params::of(match v.text("variant")?.as_str() {
            "ns3-rdma" => Variant::Ns3Rdma,
            "hpcc" => Variant::Hpcc,
            _ => Variant::Paper,
        });
        let tcd = v.flag("tcd")?;
        if !tcd {
            v.without_effect(
                "tcd_cut",
                "tcd = false uses no rules of TCD",
                "remove the key, or set tcd = true",
            );
        }
        if tcd {
            p.tcd =
                Some(if v.text("tcd_cut")? == "factor" { TcdCut::Factor } else { TcdCut::Alpha });
            if p.tcd == Some(TcdCut::Alpha) {
                p.alpha = TCD_ALPHA;
            }
        }
        macro_rules! take {
            ($($field:ident = $get:ident),* $(,)?) => { $(if let Some(x) = v.$get(stringify!($field))? { p.$field = x; })* };
        }
        take!(
            alpha = float_opt,
            g = float_opt,
            cnp_interval = span_opt,
            alpha_timer = span_opt,
            decrease_interval = span_opt,
            increase_timer = span_opt,
            byte_counter = bytes_opt,
            rate_ai = rate_opt,
            rate_hai = rate_opt,
            min_rate = rate_opt
        );
        p.cnp_clock = v.text("cnp")? == "clock";
        if p.cnp_interval == Span::ZERO {
            v.without_effect(
                "cnp",
                "cnp_interval = 0 puts the CNP into every acknowledgement",
                "remove the key, or choose a cnp_interval",
            );
        }
        if let Some(f) = v.count_opt("fast_recovery")? {
            let refuse = |_| {
                ParamError::new(
                    "fast_recovery",
                    format!("{f} stages"),
                    format!("expected 0 to {}", u32::MAX),
                )
            };
            p.fast_recovery = f.try_into().map_err(refuse)?;
        }
        if v.text_opt("clamp_target")?.is_some() {
            p.clamp_target = v.flag("clamp_target")?;
        }
        p.validate()?;
        Ok(p)
    }

    /// Rejects parameters that cannot work.
    pub fn validate(&self) -> Result<(), ParamError> {
        if !(0.0..=1.0).contains(&self.g) {
            return Err(ParamError::new(
                "g",
                format!("{} is not between 0 and 1", self.g),
                "a weight between 0 and 1",
            ));
        }
        // Above 2 a cut would leave less than nothing.
        let (most, hint) = match self.tcd {
            Some(TcdCut::Alpha) => (2.0, "0 to 2"),
            _ => (1.0, "0 to 1; more only with tcd = true and tcd_cut = \"alpha\""),
        };
        if !(0.0..=most).contains(&self.alpha) {
            return Err(ParamError::new(
                "alpha",
                format!("{} is not between 0 and {most}", self.alpha),
                hint,
            ));
        }
        for (key, t) in [
            ("alpha_timer", self.alpha_timer),
            ("increase_timer", self.increase_timer),
            ("decrease_interval", self.decrease_interval),
        ] {
            if t.0 == 0 {
                return Err(ParamError::new(key, "a timer of 0", "expected a time above zero"));
            }
        }
        if self.min_rate.0 == 0 {
            return Err(ParamError::new(
                "min_rate",
                "a floor of 0",
                "expected a rate above 0: a flow at rate 0 never speeds up",
            ));
        }
        if self.byte_counter.0 == 0 {
            return Err(ParamError::new(
                "byte_counter",
                "a byte counter of 0",
                "expected a size above zero",
            ));
        }
        Ok(())
    }
}

impl Law for Params {
    type ReactionPoint = Dcqcn;

    fn reaction_point(&self, flow: &FlowFacts) -> Dcqcn {
        Dcqcn::new(self, flow.line)
    }
    #[inline]
    fn cnp_mode(&self) -> CnpMode {
        if self.cnp_interval.0 == 0 {
            CnpMode::InAck
        } else if self.cnp_clock {
            CnpMode::Clock { interval: self.cnp_interval }
        } else {
            CnpMode::Frame { interval: self.cnp_interval }
        }
    }
    #[inline]
    fn reports_undetermined(&self) -> bool {
        self.tcd.is_some()
    }
    /// Constants that undo each other.
    fn unmet(&self, slowest: Rate) -> Vec<Unmet> {
        let mut all = Vec::new();
        if self.variant != Variant::Hpcc && self.alpha_timer <= self.cnp_interval {
            let what = format!(
                "alpha_timer > cnp_interval: {} <= {}, alpha decays between two CNPs of a lasting congestion",
                self.alpha_timer, self.cnp_interval
            );
            all.push(Unmet::new(what, "SIGCOMM'15: K = 55 us, N = 50 us"));
        }
        if self.min_rate >= slowest {
            let what = format!(
                "min_rate < C: {} >= {slowest}, no cut has an effect on such a link",
                self.min_rate
            );
            all.push(Unmet::new(what, "use a lower min_rate"));
        }
        all
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![
            ("alpha", self.alpha.to_string()),
            ("g", self.g.to_string()),
            ("cnp_interval", self.cnp_interval.compact()),
            ("alpha_timer", self.alpha_timer.compact()),
            ("decrease_interval", self.decrease_interval.compact()),
            ("increase_timer", self.increase_timer.compact()),
            ("byte_counter", self.byte_counter.compact()),
            ("fast_recovery", self.fast_recovery.to_string()),
            ("rate_ai", self.rate_ai.compact()),
            ("rate_hai", self.rate_hai.compact()),
            ("min_rate", self.min_rate.compact()),
            ("clamp_target", self.clamp_target.to_string()),
        ]
    }
}

const ALPHA: u8 = 0;
const DECREASE: u8 = 1;
const INCREASE: u8 = 2;

/// The reaction point of one flow.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Dcqcn {
    #[state(built)] // constant
    p: Params,
    /// Line rate of the NIC [bit/s] -- constant.
    line: Rate,
    /// R_C [bit/s].
    rate: Rate,
    /// R_T [bit/s].
    target: Rate,
    alpha: f64,
    /// Stages are frozen before this time. [`Time::NEVER`]: no CNP yet, no timer runs, the flow is
    /// at line rate. Otherwise the end of a hold.
    idle_until: Time,
    cnp_since_alpha: bool,
    cnp_since_decrease: bool,
    time_stage: u32,
    byte_stage: u32,
    /// Bytes until the byte counter expires.
    bytes_left: u64,
    /// Due time of each timer; a wake-up for any other time is stale.
    due: [Time; 3],
}

impl Dcqcn {
    /// A flow at line rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        Dcqcn {
            p: p.clone(),
            line,
            rate: line,
            target: line,
            alpha: p.alpha,
            idle_until: Time::NEVER,
            cnp_since_alpha: false,
            cnp_since_decrease: false,
            time_stage: 0,
            byte_stage: 0,
            bytes_left: p.byte_counter.0,
            due: [Time::NEVER; 3],
        }
    }

    fn arm(&mut self, which: u8, at: Time, wakes: &mut Wakes) {
        self.due[which as usize] = at;
        wakes.arm(which, at);
    }

    fn raise_alpha(&mut self) {
        self.alpha = (1.0 - self.p.g) * self.alpha + self.p.g;
    }

    /// R_T and R_C after a CNP, with the stages and the increase timer restarted.
    fn cut(&mut self, now: Time, wakes: &mut Wakes) {
        if self.p.clamp_target || self.time_stage != 0 {
            self.target = self.rate;
        }
        let left = match self.p.tcd {
            Some(TcdCut::Factor) => 1.0 - TCD_FACTOR * self.alpha,
            _ => 1.0 - self.alpha / 2.0,
        };
        self.rate = self.p.min_rate.max(Rate::from_f64(self.rate.as_f64() * left));
        self.time_stage = 0;
        self.byte_stage = 0;
        self.bytes_left = self.p.byte_counter.0;
        self.arm(INCREASE, now + self.p.increase_timer, wakes);
    }

    /// News of undetermined ports only: the rate stays as it is for one CNP interval, neither cut
    /// nor raised. The counts of the stages are kept. Alpha keeps falling: no congestion is known.
    fn hold(&mut self, now: Time, wakes: &mut Wakes) {
        if self.idle_until == Time::NEVER {
            return; // at line rate, nothing to hold
        }
        // Where a CNP rides in every acknowledgement, the interval is that at which they are
        // examined.
        let interval =
            if self.p.cnp_interval.0 == 0 { self.p.decrease_interval } else { self.p.cnp_interval };
        let until = now + interval;
        let longer = until - self.idle_until.max(now);
        self.idle_until = until;
        if self.due[INCREASE as usize] != Time::NEVER {
            let due = self.due[INCREASE as usize] + longer;
            self.arm(INCREASE, due, wakes);
        }
    }

    /// One increase event: fast recovery, additive or hyper increase by the stages reached.
    fn increase(&mut self) {
        let f = self.p.fast_recovery;
        let (low, high) = match self.p.variant {
            Variant::Hpcc => (self.time_stage, self.time_stage),
            _ => (self.time_stage.min(self.byte_stage), self.time_stage.max(self.byte_stage)),
        };
        let step = if high < f {
            if self.p.variant == Variant::Ns3Rdma && high == 1 && self.target.0 > 10 * self.rate.0 {
                self.target = self.target / 8; // QCN's extra fast recovery
            }
            Rate::ZERO
        } else if low > f {
            match self.p.variant {
                Variant::Paper => self.p.rate_hai * (low - f) as u64,
                Variant::Ns3Rdma => self.p.rate_hai * (low - f + 1) as u64,
                Variant::Hpcc => self.p.rate_hai,
            }
        } else {
            self.p.rate_ai
        };
        self.target = (self.target + step).min(self.line);
        self.rate = (self.rate / 2 + self.target / 2).min(self.line);
    }
}

impl RateControl for Dcqcn {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_sent(&mut self, now: Time, len: Bytes, _wakes: &mut Wakes) {
        if now < self.idle_until || self.p.variant == Variant::Hpcc {
            return;
        }
        if self.bytes_left > len.0 {
            self.bytes_left -= len.0;
        } else {
            self.bytes_left = self.p.byte_counter.0;
            self.byte_stage += 1;
            self.increase();
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        match feedback {
            Feedback::Congestion => {}
            Feedback::Undetermined => return self.hold(now, wakes),
            Feedback::Quantized(_) | Feedback::Ack(_) => return,
        }
        let first = self.idle_until == Time::NEVER;
        self.idle_until = Time::ZERO; // congestion ends a hold
        match self.p.variant {
            Variant::Paper | Variant::Ns3Rdma => {
                if self.p.variant == Variant::Ns3Rdma {
                    self.raise_alpha();
                }
                self.cut(now, wakes);
                if self.p.variant == Variant::Paper {
                    self.raise_alpha(); // the cut uses the old alpha
                }
                self.arm(ALPHA, now + self.p.alpha_timer, wakes);
            }
            Variant::Hpcc => {
                self.cnp_since_alpha = true;
                self.cnp_since_decrease = true;
                if first {
                    self.alpha = if self.p.tcd == Some(TcdCut::Alpha) { self.p.alpha } else { 1.0 };
                    self.cnp_since_alpha = false;
                    self.arm(ALPHA, now + self.p.alpha_timer, wakes);
                    // One nanosecond later than the alpha timer, so that a cut sees the alpha of
                    // its instant.
                    self.arm(DECREASE, now + self.p.decrease_interval + Span::from_ns(1), wakes);
                    self.target = self.rate;
                }
            }
        }
    }

    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        if self.due[which as usize] != now {
            return;
        }
        match which {
            ALPHA => {
                self.alpha *= 1.0 - self.p.g;
                if self.p.variant == Variant::Hpcc && std::mem::take(&mut self.cnp_since_alpha) {
                    self.alpha += self.p.g;
                }
                self.arm(ALPHA, now + self.p.alpha_timer, wakes);
            }
            DECREASE => {
                self.arm(DECREASE, now + self.p.decrease_interval, wakes);
                if std::mem::take(&mut self.cnp_since_decrease) {
                    self.cut(now, wakes);
                }
            }
            _ => {
                self.arm(INCREASE, now + self.p.increase_timer, wakes);
                if self.p.variant == Variant::Hpcc {
                    self.increase();
                    self.time_stage += 1;
                } else {
                    self.time_stage += 1;
                    self.increase();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(40);

    fn wake(d: &mut Dcqcn, us: u64, which: u8) {
        d.on_wake(Time::from_us(us), which, &mut Wakes::default());
    }

    /// Hand-computed: alpha 1 halves the rate; the F - 1 = 4 stages below F close half the distance
    /// each, and stage F is additive.
    #[test]
    fn paper_cut_and_fast_recovery() {
        let mut d = Dcqcn::new(&Params::of(Variant::Paper), C);
        let mut w = Wakes::default();
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut w);
        assert_eq!((d.rate(), d.target), (Rate::from_gbps(20), C));
        assert_eq!(d.alpha, 1.0, "(1-g) 1 + g");
        assert_eq!(
            w.iter().collect::<Vec<_>>(),
            [(INCREASE, Time::from_us(55)), (ALPHA, Time::from_us(55))]
        );
        wake(&mut d, 54, INCREASE);
        assert_eq!(d.rate(), Rate::from_gbps(20), "early wake-ups are harmless");
        let mut want = 20_000_000_000;
        for stage in 1..=4u64 {
            wake(&mut d, 55 * stage, INCREASE);
            want = want / 2 + 20_000_000_000;
            assert_eq!(d.rate(), Rate(want), "stage {stage}");
        }
        wake(&mut d, 55 * 5, INCREASE); // stage 5 = F: additive, the target is at line rate already
        assert_eq!(d.rate(), Rate(want / 2 + 20_000_000_000));
    }

    #[test]
    fn ns3_rdma_raises_alpha_before_the_cut() {
        let mut d = Dcqcn::new(&Params::of(Variant::Ns3Rdma), C);
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        let alpha = (1.0 - 1.0 / 256.0) * 0.5 + 1.0 / 256.0;
        assert_eq!(d.alpha, alpha);
        assert_eq!(d.rate(), Rate::from_f64(40e9 * (1.0 - alpha / 2.0)));
    }

    /// The HPCC order: the first CNP cuts nothing; 4 us + 1 ns later the rate is halved by alpha =
    /// (1-g)^4 + g terms.
    #[test]
    fn hpcc_cuts_on_its_timer() {
        let line = Rate::from_gbps(100);
        let mut d = Dcqcn::new(&Params::of(Variant::Hpcc), line);
        let mut w = Wakes::default();
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut w);
        assert_eq!(d.rate(), line);
        assert_eq!(
            w.iter().collect::<Vec<_>>(),
            [(ALPHA, Time::from_us(1)), (DECREASE, Time(4_001_000))]
        );
        let mut alpha = 1.0;
        for us in 1..=4 {
            wake(&mut d, us, ALPHA);
            alpha *= 1.0 - 1.0 / 256.0;
        }
        assert_eq!(d.alpha, alpha);
        d.on_wake(Time(4_001_000), DECREASE, &mut Wakes::default());
        assert_eq!(d.rate(), Rate((100e9 * (1.0 - alpha / 2.0)) as u64));
        assert_eq!(d.target, line, "no stage passed, no clamp");
        let rate = d.rate();
        d.on_wake(Time(8_001_000), DECREASE, &mut Wakes::default());
        assert_eq!(d.rate(), rate, "no CNP since");
        d.on_wake(Time(304_001_000), INCREASE, &mut Wakes::default());
        assert_eq!(d.rate(), rate / 2 + line / 2);
    }

    #[test]
    fn the_byte_counter_counts_once_touched() {
        let mut d =
            Dcqcn::new(&Params { byte_counter: Bytes(3000), ..Params::of(Variant::Paper) }, C);
        let mut w = Wakes::default();
        d.on_sent(Time::ZERO, Bytes(1_000_000), &mut w);
        assert_eq!(d.byte_stage, 0);
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut w);
        d.on_sent(Time::ZERO, Bytes(1500), &mut w);
        d.on_sent(Time::ZERO, Bytes(1500), &mut w);
        assert_eq!((d.byte_stage, d.rate()), (1, Rate::from_gbps(30)));
    }

    #[test]
    fn the_floor_holds() {
        let mut d = Dcqcn::new(&Params::of(Variant::Paper), C);
        for _ in 0..100 {
            d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        }
        assert_eq!(d.rate(), Rate(100_000_000));
    }

    fn tcd(cut: TcdCut) -> Params {
        let cut = match cut {
            TcdCut::Alpha => "alpha",
            TcdCut::Factor => "factor",
        };
        Params::read(
            &mut xoff_units::params::Defaults::of(PARAMS).with("tcd", "true").with("tcd_cut", cut),
        )
        .unwrap()
    }

    fn near(got: Rate, bps: u64) {
        assert!(got.0.abs_diff(bps) <= 1, "{got} is not {}", Rate(bps));
    }

    /// TCD section 5.2.1, first reading: the first CNP leaves 1 - 1.2/2 = 0.4 of 40 Gb/s. Alpha is
    /// then 255/256 x 1.2 + 1/256 = 1.19921875, above 1 and not cut off there, and the second CNP
    /// leaves 0.400390625.
    #[test]
    fn tcd_cut_by_initial_alpha() {
        let mut d = Dcqcn::new(&tcd(TcdCut::Alpha), C);
        let mut w = Wakes::default();
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut w);
        near(d.rate(), 16_000_000_000);
        assert_eq!(d.target, C);
        d.on_feedback(Time::from_us(50), Feedback::Congestion, &mut w);
        near(d.rate(), 6_406_250_000);
        assert!((d.alpha - (255.0 / 256.0 * 1.19921875 + 1.0 / 256.0)).abs() < 1e-12);
        // Nothing but the rules changes with the switch.
        assert_eq!(
            Params { alpha: 1.0, tcd: None, ..tcd(TcdCut::Alpha) },
            Params::of(Variant::Paper)
        );
    }

    /// TCD section 5.2.1, second reading: 1 - 1.2 x 1 is below zero, the floor is left. Once alpha
    /// has fallen to 1/2, a cut leaves 0.4.
    #[test]
    fn tcd_cut_by_factor() {
        let p = tcd(TcdCut::Factor);
        let mut d = Dcqcn::new(&p, C);
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        assert_eq!(d.rate(), Rate(100_000_000));
        let mut d = Dcqcn::new(&Params { alpha: 0.5, ..p }, C);
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        near(d.rate(), 16_000_000_000);
    }

    /// CE at 0: cut to 16 Gb/s, target 40, increase timer due at 55 us. UE at 30 us holds until 80
    /// us: due at 105 us. UE at 60 us holds until 110 us, 30 us more: due at 135 us. Bytes sent
    /// before 110 us do not count. Then fast recovery goes half way: 28 Gb/s.
    #[test]
    fn an_undetermined_cnp_holds_the_rate() {
        let mut d = Dcqcn::new(&Params { byte_counter: Bytes(3000), ..tcd(TcdCut::Alpha) }, C);
        let mut w = Wakes::default();
        d.on_feedback(Time::ZERO, Feedback::Undetermined, &mut w);
        assert_eq!((d.rate(), w.iter().count()), (C, 0), "nothing to hold at line rate");
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        let (rate, target, alpha) = (d.rate, d.target, d.alpha);
        for (us, due) in [(30, 105), (60, 135)] {
            let mut w = Wakes::default();
            d.on_feedback(Time::from_us(us), Feedback::Undetermined, &mut w);
            assert_eq!(w.iter().collect::<Vec<_>>(), [(INCREASE, Time::from_us(due))]);
            assert_eq!((d.rate, d.target, d.alpha), (rate, target, alpha));
        }
        wake(&mut d, 55, INCREASE);
        wake(&mut d, 105, INCREASE);
        d.on_sent(Time::from_us(109), Bytes(3000), &mut Wakes::default());
        assert_eq!((d.rate, d.time_stage, d.byte_stage), (rate, 0, 0));
        wake(&mut d, 55, ALPHA);
        assert_eq!(d.alpha, alpha * (1.0 - 1.0 / 256.0), "alpha falls meanwhile");
        wake(&mut d, 135, INCREASE);
        near(d.rate(), 28_000_000_000);
        d.on_sent(Time::from_us(140), Bytes(3000), &mut Wakes::default());
        assert_eq!(d.byte_stage, 1);
        near(d.rate(), 34_000_000_000);
    }

    /// A CNP that reports CE ends a hold: the rate is cut, and everything restarts.
    #[test]
    fn congestion_ends_a_hold() {
        let mut d = Dcqcn::new(&tcd(TcdCut::Alpha), C);
        d.on_feedback(Time::ZERO, Feedback::Congestion, &mut Wakes::default());
        d.on_feedback(Time::from_us(10), Feedback::Undetermined, &mut Wakes::default());
        d.on_feedback(Time::from_us(50), Feedback::Congestion, &mut Wakes::default());
        near(d.rate(), 6_406_250_000);
        assert_eq!((d.due[INCREASE as usize], d.idle_until), (Time::from_us(105), Time::ZERO));
    }

    #[test]
    fn alpha_above_one_is_tcds_alone() {
        let read = |tcd, alpha| {
            Params::read(
                &mut xoff_units::params::Defaults::of(PARAMS).with("tcd", tcd).with("alpha", alpha),
            )
        };
        assert_eq!(read("false", "1.2").unwrap_err().key, "alpha");
        assert_eq!(read("true", "1.5").unwrap().alpha, 1.5);
        assert_eq!(read("true", "2.1").unwrap_err().key, "alpha");
    }
}

//! InfiniBand congestion control, channel adapter (IBA volume 1, Annex A10): an index into a table
//! of delays.
//!
//! ```text
//!   BECN or CNP --> CCTI + CCTI_Increase, at most CCTI_Limit           gap between packets = CCT[CCTI] packet times
//!   CCTI_Timer  --> CCTI - 1, at least CCTI_Min                        rate                = line / (1 + CCT[CCTI])
//! ```
//!
//! With TCD (SIGCOMM'21, section 5.2.2) the step of a BECN is 2, and a BECN of UE changes nothing:
//! the timer's next expiry does not lower the index either.

use std::sync::Arc;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{CnpMode, Feedback, FlowFacts, Law, RateControl, Wakes};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "cct",
        Kind::Texts,
        "delays of the table in packet times, each a multiplier, or a multiplier divided by 2, 4 or 8; default: entry i is i packet times",
        "IBA A10.4.3.9: 14-bit multiplier, 2-bit shift; linear: Gran et al., IPDPS 2010",
    ),
    ParamSpec::optional(
        "increase",
        Kind::Count,
        "CCTI_Increase, steps of the index per BECN; 1, with tcd 2",
        "IPDPS 2010; TCD section 5.2.2",
    ),
    ParamSpec::new("limit", Kind::Count, "127", "CCTI_Limit, highest index", "IPDPS 2010"),
    ParamSpec::new("min", Kind::Count, "0", "CCTI_Min, lowest index", "IPDPS 2010"),
    ParamSpec::new(
        "timer",
        Kind::Span,
        "153.6us",
        "CCTI_Timer, after which the index falls by one; 150 x 1.024 us",
        "IPDPS 2010",
    ),
    ParamSpec::new(
        "becn",
        Kind::Choice(&["frame", "ack"]),
        "frame",
        "carrier of the BECN: a separate frame, or the acknowledgement",
        "IBA A10.2.1",
    ),
    ParamSpec::new(
        "cnp_interval",
        Kind::Span,
        "0us",
        "shortest time between two BECN frames of a flow",
        "IBA A10: one per marked packet",
    ),
    ParamSpec::new(
        "tcd",
        Kind::Flag,
        "false",
        "larger steps, and a BECN of UE changes nothing",
        "TCD section 5.2.2",
    ),
    ParamSpec::new(
        "tcd_hold",
        Kind::Flag,
        "true",
        "a BECN of UE also postpones the fall of the index by a period",
        "own reading of TCD section 5.2.2",
    ),
];

/// Largest multiplier: 14 bits.
const MULTIPLIER_MAX: u16 = (1 << 14) - 1;
/// Delays are kept in eighths of a packet time: the largest shift is 3.
const EIGHTHS: u64 = 8;

/// The congestion control table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cct {
    /// Entry i delays by i packet times.
    Linear,
    /// Explicit delays [eighths of a packet time].
    Table(Arc<[u32]>),
}

impl Cct {
    /// A table of entries `(shift, multiplier)`: packet time >> shift x multiplier.
    pub fn of(entries: impl IntoIterator<Item = (u8, u16)>) -> Cct {
        Cct::Table(
            entries
                .into_iter()
                .map(|(shift, multiplier)| (multiplier as u32 * 8) >> shift)
                .collect(),
        )
    }

    /// Delay at an index [eighths of a packet time].
    fn delay(&self, index: u16) -> u32 {
        match self {
            Cct::Linear => index as u32 * 8,
            Cct::Table(t) => t[index as usize],
        }
    }

    /// Highest index there can be.
    fn last(&self) -> Option<u16> {
        match self {
            Cct::Linear => Some(MULTIPLIER_MAX),
            Cct::Table(t) => {
                (t.len() as u64).checked_sub(1).map(|last| last.min(u16::MAX as u64) as u16)
            }
        }
    }
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Table of delays.
    pub cct: Cct,
    /// CCTI_Increase.
    pub increase: u16,
    /// CCTI_Limit.
    pub limit: u16,
    /// CCTI_Min.
    pub min: u16,
    /// CCTI_Timer [ps].
    pub timer: Span,
    /// Shortest time between two BECN frames; `None`: BECNs ride in acknowledgements [ps].
    pub cnp_interval: Option<Span>,
    /// TCD's rules.
    pub tcd: bool,
    /// A BECN of UE postpones the fall of the index.
    pub tcd_hold: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            cct: Cct::Linear,
            increase: 1,
            limit: 127,
            min: 0,
            timer: Span::from_ns(150 * 1024),
            cnp_interval: Some(Span::ZERO),
            tcd: false,
            tcd_hold: true,
        }
    }
}

/// `"3"` is three packet times, `"3/4"` a multiplier of 3 with a shift of 2.
fn entry(text: &str) -> Option<(u8, u16)> {
    let (multiplier, over) = text.split_once('/').unwrap_or((text, "1"));
    let shift = match over.trim() {
        "1" => 0,
        "2" => 1,
        "4" => 2,
        "8" => 3,
        _ => return None,
    };
    let multiplier = multiplier.trim().parse().ok().filter(|&m| m <= MULTIPLIER_MAX)?;
    Some((shift, multiplier))
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let texts = v.texts("cct")?;
        let cct = if texts.is_empty() {
            Cct::Linear
        } else {
            let hint = "expected a multiplier of 0 to 16383, alone or over 2, 4 or 8, such as \"12\" or \"3/4\"";
            let read = |t: &String| {
                entry(t)
                    .ok_or_else(|| ParamError::new("cct", format!("'{t}' is not an entry"), hint))
            };
            Cct::of(texts.iter().map(read).collect::<Result<Vec<_>, _>>()?)
        };
        let count = |key, n: u64| {
            u16::try_from(n).map_err(|_| {
                ParamError::new(key, format!("{n} is too large"), "an index has at most 16 bits")
            })
        };
        let tcd = v.flag("tcd")?;
        if !tcd {
            v.without_effect(
                "tcd_hold",
                "tcd = false uses no rules of TCD",
                "remove the key, or set tcd = true",
            );
        }
        if v.text("becn")? == "ack" {
            v.without_effect(
                "cnp_interval",
                "becn = \"ack\" sends no CNPs",
                "remove the key, or set becn = \"cnp\"",
            );
        }
        let p = Params {
            cct,
            increase: count(
                "increase",
                v.count_opt("increase")?.unwrap_or(if tcd { 2 } else { 1 }),
            )?,
            limit: count("limit", v.count("limit")?)?,
            min: count("min", v.count("min")?)?,
            timer: v.span("timer")?,
            cnp_interval: if v.text("becn")? == "ack" {
                None
            } else {
                Some(v.span("cnp_interval")?)
            },
            tcd,
            tcd_hold: v.flag("tcd_hold")?,
        };
        p.validate()?;
        Ok(p)
    }

    /// Rejects parameters that cannot work.
    pub fn validate(&self) -> Result<(), ParamError> {
        if let Cct::Table(t) = &self.cct
            && let Some(i) = t.windows(2).position(|w| w[0] > w[1])
        {
            let what = format!("entry {} is a shorter delay than entry {i}", i + 1);
            return Err(ParamError::new("cct", what, "a higher index must not be faster"));
        }
        if self.cct.last().is_none_or(|last| self.limit > last) {
            let what = format!("the limit {} is beyond the end of the table", self.limit);
            let hint = match self.cct.last() {
                Some(last) => format!("the last entry is {last}"),
                None => "the table is empty".into(),
            };
            return Err(ParamError::new("limit", what, hint));
        }
        if self.min > self.limit {
            return Err(ParamError::new(
                "min",
                format!("CCTI_Min {} is above CCTI_Limit {}", self.min, self.limit),
                "choose min <= limit",
            ));
        }
        if self.increase == 0 {
            return Err(ParamError::new(
                "increase",
                "a step of 0",
                "expected at least 1, or a BECN never lowers a rate",
            ));
        }
        if self.timer.0 == 0 {
            return Err(ParamError::new("timer", "a timer of 0", "expected a time above zero"));
        }
        Ok(())
    }
}

impl Law for Params {
    type ReactionPoint = IbCc;

    fn reaction_point(&self, flow: &FlowFacts) -> IbCc {
        IbCc::new(self, flow.line)
    }
    #[inline]
    fn cnp_mode(&self) -> CnpMode {
        self.cnp_interval.map_or(CnpMode::InAck, |interval| CnpMode::Frame { interval })
    }
    #[inline]
    fn reports_undetermined(&self) -> bool {
        self.tcd
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        let cct = if self.cct == Cct::Linear { "entry i is i packet times" } else { "as given" };
        vec![("cct", cct.into()), ("increase", self.increase.to_string())]
    }
}

const TIMER: u8 = 0;

/// The channel adapter's state of one flow.
#[derive(Clone, Debug, PartialEq, State)]
pub struct IbCc {
    #[state(built)] // constant
    p: Params,
    /// Line rate of the NIC [bit/s] -- constant.
    line: Rate,
    /// Rate at the present index [bit/s].
    rate: Rate,
    /// Index into the table of injection delays, CCTI.
    index: u16,
    /// UE was reported since the timer last expired.
    held: bool,
    /// Due time of the timer; a wake-up for any other time is stale.
    due: Time,
}

impl IbCc {
    /// A flow at CCTI_Min.
    pub fn new(p: &Params, line: Rate) -> Self {
        let mut flow =
            IbCc { p: p.clone(), line, rate: line, index: p.min, held: false, due: Time::NEVER };
        flow.set(p.min);
        flow
    }

    /// A gap of d eighths after every packet: it takes (8 + d)/8 of its time.
    fn set(&mut self, index: u16) {
        self.index = index;
        let rate = self.line.0 as u128 * EIGHTHS as u128
            / (EIGHTHS + self.p.cct.delay(index) as u64) as u128;
        self.rate = Rate(rate.max(1) as u64);
    }

    fn arm(&mut self, at: Time, wakes: &mut Wakes) {
        self.due = at;
        wakes.arm(TIMER, at);
    }
}

impl RateControl for IbCc {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, _len: Bytes, _wakes: &mut Wakes) {}

    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        match feedback {
            Feedback::Congestion => {
                self.set(self.index.saturating_add(self.p.increase).min(self.p.limit));
                // It runs while there is something to give back, and a BECN does not restart it.
                if self.due == Time::NEVER && self.index > self.p.min {
                    self.held = false;
                    self.arm(now + self.p.timer, wakes);
                }
            }
            Feedback::Undetermined => self.held = self.p.tcd && self.p.tcd_hold,
            Feedback::Quantized(_) | Feedback::Ack(_) => {}
        }
    }

    fn on_wake(&mut self, now: Time, _which: u8, wakes: &mut Wakes) {
        if self.due != now {
            return;
        }
        if !std::mem::take(&mut self.held) {
            self.set((self.index - 1).max(self.p.min));
        }
        if self.index > self.p.min {
            self.arm(now + self.p.timer, wakes);
        } else {
            self.due = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    const C: Rate = Rate::from_gbps(40);

    fn feed(f: &mut IbCc, us: u64, feedback: Feedback<'_>) -> Rate {
        f.on_feedback(Time::from_us(us), feedback, &mut Wakes::default());
        f.rate()
    }

    /// The timer expires for the n-th time since it was started at 0.
    fn expire(f: &mut IbCc, n: u64) -> Rate {
        f.on_wake(Time(n * 153_600_000), TIMER, &mut Wakes::default());
        f.rate()
    }

    /// A10 with entry i = i packet times: after n BECNs the rate is C/(1 + n s). Step 1: C/2, C/3,
    /// C/4; TCD section 5.2.2, step 2: C/3, C/5, C/7.
    #[test]
    fn becns_lower_the_rate() {
        let read = |tcd| Params::read(&mut Defaults::of(PARAMS).with("tcd", tcd)).unwrap();
        assert_eq!(read("false"), Params::default());
        for (tcd, parts) in [("false", [2, 3, 4]), ("true", [3, 5, 7])] {
            let mut f = IbCc::new(&read(tcd), C);
            assert_eq!(f.rate(), C);
            assert_eq!(parts.map(|_| feed(&mut f, 0, Feedback::Congestion)), parts.map(|n| C / n));
        }
    }

    /// Three BECNs at 0: one index per 150 x 1.024 us, and the timer stops at CCTI_Min. A BECN in
    /// between moves no expiry.
    #[test]
    fn the_timer_raises_the_rate() {
        let mut f = IbCc::new(&Params::default(), C);
        let mut w = Wakes::default();
        (0..3).for_each(|_| f.on_feedback(Time::ZERO, Feedback::Congestion, &mut w));
        assert_eq!(w.iter().collect::<Vec<_>>(), [(TIMER, Time(153_600_000))]);
        f.on_wake(Time(153_599_999), TIMER, &mut Wakes::default());
        assert_eq!(f.rate(), C / 4, "too early means nothing");
        assert_eq!(expire(&mut f, 1), C / 3);
        assert_eq!(feed(&mut f, 200, Feedback::Congestion), C / 4);
        assert_eq!([2, 3, 4].map(|n| expire(&mut f, n)), [C / 3, C / 2, C]);
        assert_eq!(f.due, Time::NEVER);
        f.on_wake(Time(5 * 153_600_000), TIMER, &mut Wakes::default());
        assert_eq!(f.rate(), C);
    }

    #[test]
    fn the_limit_and_the_minimum_hold() {
        let mut f = IbCc::new(&Params { limit: 4, min: 1, increase: 3, ..Params::default() }, C);
        assert_eq!(f.rate(), C / 2);
        assert_eq!([(); 2].map(|()| feed(&mut f, 0, Feedback::Congestion)), [C / 5, C / 5]);
        assert_eq!([1, 2, 3, 4].map(|n| expire(&mut f, n)), [C / 4, C / 3, C / 2, C / 2]);
    }

    /// TCD section 5.2.2 with step 2: C/3, C/5. UE in the first period (twice: once is enough)
    /// leaves the rate, and the expiry at its end too. The second period has none: index 3. Without
    /// the hold every expiry counts.
    #[test]
    fn an_undetermined_becn_postpones_the_timer() {
        let p = Params { tcd: true, increase: 2, ..Params::default() };
        for (hold, rates) in [(true, [C / 5, C / 4, C / 3]), (false, [C / 4, C / 3, C / 2])] {
            let mut f = IbCc::new(&Params { tcd_hold: hold, ..p.clone() }, C);
            assert_eq!(feed(&mut f, 0, Feedback::Undetermined), C);
            assert_eq!([(); 2].map(|()| feed(&mut f, 0, Feedback::Congestion)), [C / 3, C / 5]);
            assert_eq!([50, 100].map(|us| feed(&mut f, us, Feedback::Undetermined)), [C / 5; 2]);
            assert_eq!([1, 2, 3].map(|n| expire(&mut f, n)), rates);
        }
    }

    /// Entries as multiplier and shift: 0, 3 x 1/4, 1 x 1, 3 x 1/2 packet times give C, C/1.75,
    /// C/2, C/2.5.
    #[test]
    fn a_table_of_its_own() {
        let mut v = Defaults::of(PARAMS).with("cct", "0\n3/4\n1\n3/2").with("limit", "3");
        let p = Params::read(&mut v).unwrap();
        assert_eq!(p.cct, Cct::of([(0, 0), (2, 3), (0, 1), (1, 3)]));
        let mut f = IbCc::new(&p, C);
        assert_eq!(
            [(); 3].map(|()| feed(&mut f, 0, Feedback::Congestion)),
            [Rate(22_857_142_857), C / 2, Rate::from_gbps(16)]
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let refused = |given: &[(&str, &str)]| {
            let v = given.iter().fold(Defaults::of(PARAMS), |v, (k, x)| v.with(k, x));
            Params::read(&mut { v }).unwrap_err().key
        };
        assert_eq!(refused(&[("cct", "0\n2\n1"), ("limit", "2")]), "cct", "not monotone");
        assert_eq!(refused(&[("cct", "0\n3/5"), ("limit", "1")]), "cct", "not a shift");
        assert_eq!(refused(&[("cct", "0\n16384"), ("limit", "1")]), "cct", "15 bits");
        assert_eq!(refused(&[("cct", "0\n1")]), "limit", "127 is beyond");
        assert_eq!(refused(&[("limit", "16384")]), "limit");
        assert_eq!(refused(&[("min", "128")]), "min");
        assert_eq!(refused(&[("increase", "0")]), "increase");
        assert_eq!(refused(&[("timer", "0us")]), "timer");
    }
}

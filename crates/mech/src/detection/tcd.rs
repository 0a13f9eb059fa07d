//! Ternary congestion detection (TCD, SIGCOMM'21): the states of Fig. 6, decided at every departure
//! as in Fig. 9.
//!
//! ```text
//!                    3: T_on < max(T_on)                   6: T_on < max(T_on)
//!   non-congestion --------------------> undetermined <------------------- congestion
//!     no mark      <-------------------- UE while T_on < max(T_on)  ------>  CE
//!        |    ^      4: queue <= low     no mark after that     5: grew in T, queue > threshold
//!        |    |                                                                |    ^
//!        |    +------------- 2: queue <= Kmin ---------------------------------+    |
//!        +------------------ 1: the lossy rule (RED) marks -------------------------+
//! ```
//!
//! T_on is the time since the last OFF ended. A port that flow control regulates never gets beyond
//! max(T_on); one that does has been released. Its queue still contains the backlog of the stops,
//! so its length shows nothing: whether it shrinks or grows does, and that is asked once per period
//! T until the answer is clear.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Span, Time};

use super::law::{DetectorLaw, Law, NetworkFacts, reachable};
use super::{Detector, Mark, Place, PortState, red};
use crate::Unmet;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "epsilon",
        Kind::Float,
        "0.05",
        "smallest congestion degree (R_i - R_d)/C that max(T_on) covers",
        "TCD section 4.2",
    ),
    ParamSpec::optional(
        "max_ton",
        Kind::Span,
        "longest time between two stops of a regulated port; default: derived from the flow control of the link",
        "TCD Eq. (3); section 4.4 for credits",
    ),
    ParamSpec::new(
        "adaptive",
        Kind::Float,
        "0",
        "a queue's max(T_on) is this many times its longest recent ON, at most max_ton; 0: max_ton always",
        "TCD section 6, \"another design choice\", names no rule",
    ),
    ParamSpec::new(
        "share",
        Kind::Float,
        "1",
        "part of the link that a priority or virtual lane expects, above 0 up to 1; max(T_on) uses it as the share of C in Eq. (3), or of a period of credits",
        "TCD section 4.5",
    ),
    ParamSpec::optional(
        "period",
        Kind::Span,
        "time T between two checks of the queue of a released port; default: max(T_on)",
        "TCD section 4.3",
    ),
    ParamSpec::optional(
        "threshold",
        Kind::Bytes,
        "queue above which growth means congestion; default: Kmax",
        "TCD section 4.1 names no value",
    ),
    ParamSpec::new(
        "growth",
        Kind::Bytes,
        "0B",
        "a queue that is longer by at most this has not grown",
        "not in the paper",
    ),
    ParamSpec::optional(
        "low_threshold",
        Kind::Bytes,
        "queue at or below which a released port is not congested; default: Kmin",
        "TCD section 4.1 names no value",
    ),
    red::PARAMS[0],
    red::PARAMS[1],
    red::PARAMS[2],
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Smallest congestion degree that max(T_on) covers, above 0 up to 1.
    pub epsilon: f64,
    /// max(T_on) [ps]; `None`: that of the flow control.
    pub max_ton: Option<Span>,
    /// max(T_on) over the longest recent ON; `None`: max(T_on) is a constant.
    pub adaptive: Option<f64>,
    /// Part of the link that a priority expects, above 0 up to 1.
    pub share: f64,
    /// T [ps]; `None`: max(T_on).
    pub period: Option<Span>,
    /// Queue above which growth means congestion [bytes].
    pub threshold: Bytes,
    /// Most by which a queue that has not grown may be longer [bytes].
    pub growth: Bytes,
    /// Queue at or below which a released port is not congested [bytes].
    pub low_threshold: Bytes,
    /// The rule of a port that nothing stops.
    pub red: red::Red,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let red = red::Red::read(v)?;
        let p = Params {
            epsilon: v.float("epsilon")?,
            max_ton: v.span_opt("max_ton")?,
            adaptive: Some(v.float("adaptive")?).filter(|times| *times != 0.0),
            share: v.float("share")?,
            period: v.span_opt("period")?,
            threshold: v.bytes_opt("threshold")?.unwrap_or(red.kmax),
            growth: v.bytes("growth")?,
            low_threshold: v.bytes_opt("low_threshold")?.unwrap_or(red.kmin),
            red,
        };
        if !(p.epsilon > 0.0 && p.epsilon <= 1.0) {
            return Err(ParamError::new(
                "epsilon",
                format!("{} is not a congestion degree", p.epsilon),
                "expected a number above 0, at most 1; TCD recommends 0.05",
            ));
        }
        if p.adaptive.is_some_and(|times| !times.is_finite() || times < 1.0) {
            return Err(ParamError::new(
                "adaptive",
                format!("{} is below 1", p.adaptive.unwrap_or_default()),
                "expected 0, or 1 or more: a port that is stopped as regularly as before is regulated",
            ));
        }
        if !(p.share > 0.0 && p.share <= 1.0) {
            return Err(ParamError::new(
                "share",
                format!("{} is not a share of a link", p.share),
                "expected a number above 0, at most 1",
            ));
        }
        if p.low_threshold > p.threshold {
            return Err(ParamError::new(
                "low_threshold",
                format!(
                    "the low threshold {} is above the threshold {}",
                    p.low_threshold, p.threshold
                ),
                "choose low_threshold <= threshold",
            ));
        }
        if p.period == Some(Span::ZERO) {
            return Err(ParamError::new(
                "period",
                "a period of 0",
                "expected a time above zero; TCD recommends max(T_on)",
            ));
        }
        Ok(p)
    }
}

impl Law for Params {
    fn has_states(&self) -> bool {
        true
    }
    fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
        self.red.unmet(at)
    }
    fn needs_pauses(&self) -> &'static [&'static str] {
        const KEYS: [&str; 8] = [
            "epsilon",
            "max_ton",
            "adaptive",
            "share",
            "period",
            "threshold",
            "growth",
            "low_threshold",
        ];
        &KEYS
    }
    fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
        let law = place.flow_control.max_ton_of(self.share, place.link, self.epsilon);
        if let (None, None, crate::flow_control::FlowControl::Custom(_)) =
            (self.max_ton, law, place.flow_control)
        {
            return Err(ParamError::new(
                "max_ton",
                "this flow control does not bound how long a port sends between two stops",
                "give max_ton a time",
            ));
        }
        let frame = place.link.rate.time_for(place.link.mtu);
        if let Some(t) = self.max_ton.or(law).filter(|t| *t < frame) {
            return Err(ParamError::new(
                "max_ton",
                format!(
                    "max(T_on) = {t} is shorter than the transmission of a frame of {}, {frame}",
                    place.link.mtu
                ),
                "use a longer time, or no port is ever undetermined; see `xoff plan tcd`",
            ));
        }
        reachable("kmax", self.red.kmax, memory)?;
        reachable("threshold", self.threshold, memory)
    }
    fn resolved(&self, place: &Place) -> Vec<(&'static str, String)> {
        let max_ton =
            self.max_ton.or(place.flow_control.max_ton_of(self.share, place.link, self.epsilon));
        let time = |t: Option<Span>| {
            t.map_or("none: flow control never stops this port".into(), |t| t.compact())
        };
        vec![
            ("max_ton", time(max_ton)),
            ("period", time(self.period.or(max_ton))),
            ("threshold", self.threshold.compact()),
            ("low_threshold", self.low_threshold.compact()),
        ]
    }
}

impl DetectorLaw for Params {
    /// Elsewhere: the other detectors share a cache line two by two.
    type Detector = Box<Tcd>;

    fn detector(&self, place: &Place) -> Box<Tcd> {
        Box::new(Tcd::new(self, place))
    }
}

/// The registers of one queue, with their parameters.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Tcd {
    /// Time at which T_on reaches max(T_on): the end of the last OFF plus max(T_on). Zero before
    /// the first OFF, because T_on is infinite then; never during an OFF.
    release: Time,
    /// LAST_STATE.
    last: PortState,
    /// An OFF has been reported and its end has not.
    off: bool,
    red: red::Red,
    low_threshold: Bytes,
    threshold: Bytes,
    growth: Bytes,
    /// Queue at the first departure of the running period [bytes].
    snapshot: Bytes,
    /// End of the running period; never: none has begun since the last OFF.
    period_end: Time,
    /// The bound of max(T_on), and its value where nothing is learnt.
    max_ton: Span,
    learnt: Option<Learnt>,
    period: Span,
}

/// ON stretches of a queue that adapts its max(T_on).
#[derive(Clone, Copy, Debug, PartialEq, State)]
struct Learnt {
    /// max(T_on) over `longest` -- constant.
    times: f64,
    /// Longest recent ON: a longer one counts at once, a shorter one for an eighth of the
    /// difference [ps].
    longest: Span,
    /// Start of the running ON; `None`: before the first OFF.
    on_since: Option<Time>,
}

impl Learnt {
    /// An ON has ended. One that lasted for max(T_on) was none of a regulated port.
    fn on_off(&mut self, now: Time, release: Time) {
        let Some(since) = self.on_since.filter(|_| now < release) else { return };
        let (on, longest) = ((now - since).0, self.longest.0);
        self.longest = Span(on.max(longest - longest.saturating_sub(on) / 8));
    }

    fn max_ton(&self) -> Span {
        Span((self.longest.0 as f64 * self.times) as u64)
    }
}

impl Tcd {
    /// A port that has never been stopped. A flow control that never stops one needs no max(T_on).
    pub fn new(p: &Params, place: &Place) -> Self {
        let max_ton = p
            .max_ton
            .or_else(|| place.flow_control.max_ton_of(p.share, place.link, p.epsilon))
            .unwrap_or(Span::ZERO);
        Tcd {
            release: Time::ZERO,
            last: PortState::NonCongestion,
            off: false,
            red: p.red.clone(),
            low_threshold: p.low_threshold,
            threshold: p.threshold,
            growth: p.growth,
            snapshot: Bytes::ZERO,
            period_end: Time::NEVER,
            max_ton,
            learnt: p.adaptive.map(|times| Learnt {
                times,
                longest: Span((max_ton.0 as f64 / times) as u64),
                on_since: None,
            }),
            period: p.period.unwrap_or(max_ton),
        }
    }

    /// max(T_on) in force [ps].
    pub fn max_ton(&self) -> Span {
        self.learnt.map_or(self.max_ton, |l| l.max_ton().min(self.max_ton))
    }

    /// T in force [ps].
    pub fn period(&self) -> Span {
        self.period
    }

    /// T_on counts from now.
    fn on_period_begins(&mut self, now: Time) {
        self.release = now + self.max_ton();
        if let Some(l) = &mut self.learnt {
            l.on_since = Some(now);
        }
        self.period_end = Time::NEVER;
    }

    /// Next state of a released port. Periods start when max(T_on) is reached. If several have
    /// passed since the last departure, the present queue is compared with the queue at that
    /// departure, once.
    fn judge(&mut self, now: Time, queue: Bytes) -> PortState {
        if queue <= self.low_threshold {
            return PortState::NonCongestion;
        }
        if self.period_end != Time::NEVER && now < self.period_end {
            return PortState::Undetermined;
        }
        let grew = self.period_end != Time::NEVER
            && queue > self.snapshot + self.growth
            && queue > self.threshold;
        self.snapshot = queue;
        let period = self.period.0.max(1);
        self.period_end =
            self.release + Span((now - self.release).0 / period * period) + Span(period);
        if grew { PortState::Congestion } else { PortState::Undetermined }
    }

    /// A port that nothing stops: the rule of lossy networks. A mark is the transition to
    /// congestion; the way back is a queue at which the rule never marks. Between the two a state
    /// stays, so that single draws do not move it.
    fn lossy(
        &mut self,
        now: Time,
        queue: Bytes,
        len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        let mark = self.red.on_dequeue(now, queue, len, draw);
        if mark == Mark::Ce {
            self.last = PortState::Congestion;
        } else if queue <= self.red.kmin {
            self.last = PortState::NonCongestion;
        }
        mark
    }
}

impl Detector for Tcd {
    fn on_dequeue(
        &mut self,
        now: Time,
        queue: Bytes,
        len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        if now < self.release {
            if self.release == Time::NEVER {
                // A frame leaves during an OFF: its end was not reported, or it was reported too
                // early. Either way the port is ON now; an end that is reported later counts again.
                self.on_period_begins(now);
            }
            self.last = PortState::Undetermined;
            return Mark::Ue;
        }
        if self.last != PortState::Undetermined {
            return self.lossy(now, queue, len, draw);
        }
        self.last = self.judge(now, queue);
        if self.last == PortState::Congestion { Mark::Ce } else { Mark::None }
    }

    fn on_off(&mut self, now: Time) {
        if !self.off {
            self.off = true;
            if let Some(l) = &mut self.learnt {
                l.on_off(now, self.release);
            }
            self.release = Time::NEVER;
        }
    }

    fn on_on(&mut self, now: Time, queue: Bytes) {
        if !self.off {
            return;
        }
        self.off = false;
        self.on_period_begins(now);
        // Queued frames leave now, with T_on = 0, unless another priority has the wire for longer
        // than max(T_on): then the queue that the OFF has left would be taken for congestion.
        if queue > Bytes::ZERO {
            self.last = PortState::Undetermined;
        }
    }

    fn state(&self, now: Time) -> Option<PortState> {
        Some(if now < self.release { PortState::Undetermined } else { self.last })
    }
}

#[cfg(test)]
mod tests;

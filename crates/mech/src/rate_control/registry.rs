//! The registry of rate controls, and the notification point that belongs to each.

use std::fmt::Debug;
use std::sync::Arc;

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time, prefetch_whole};

use super::{Feedback, IntFormat, RateControl, Wakes, dcqcn, hpcc, ib_cc, qcn, timely};
use crate::detection::Mark;

/// A configured rate control.
#[derive(Clone, Debug, Default)]
pub enum RateControlKind {
    /// Line rate always.
    #[default]
    None,
    /// [`dcqcn`].
    Dcqcn(dcqcn::Params),
    /// [`timely`].
    Timely(timely::Params),
    /// [`ib_cc`].
    IbCc(ib_cc::Params),
    /// [`hpcc`].
    Hpcc(hpcc::Params),
    /// [`qcn`].
    Qcn(qcn::Params),
    /// From outside.
    Custom(Arc<dyn Custom>),
}

/// What is known of a flow when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowFacts {
    /// Line rate of its NIC [bit/s].
    pub line: Rate,
    /// Window that its environment gives it [bytes].
    pub window: Option<u64>,
    /// Round-trip time of its way without load, if the environment knows it [ps].
    pub base_rtt: Option<Span>,
    /// A random number of its own, for who [`draws`](RateControlKind::tosses).
    pub seed: u64,
}

/// What an outside rate control implements.
pub trait Custom: Debug + Send + Sync {
    /// The reaction point of one new flow.
    fn reaction_point(&self, flow: &FlowFacts) -> Box<dyn RateControl + Send>;
    /// How marks come back.
    fn notification(&self) -> Notification;
    /// Marks UE are notified too.
    fn reports_undetermined(&self) -> bool {
        false
    }
    /// Every acknowledgement is feedback.
    fn wants_acks(&self) -> bool {
        false
    }
    /// Frames collect records of their way, kept like this.
    fn needs_int(&self) -> Option<IntFormat> {
        None
    }
    /// Congestion points tell it a value.
    fn wants_quantized(&self) -> bool {
        false
    }
    /// Its flows toss coins.
    fn draws(&self) -> bool {
        false
    }
}

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reader.
    pub read: fn(&mut dyn Values) -> Result<RateControlKind, ParamError>,
}

/// All rate controls.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "none", about: "line rate always", params: &[], read: |_| Ok(RateControlKind::None) },
    Entry {
        name: "dcqcn",
        about: "DCQCN, three variants, with TCD's rules on request",
        params: dcqcn::PARAMS,
        read: |v| dcqcn::Params::read(v).map(RateControlKind::Dcqcn),
    },
    Entry {
        name: "timely",
        about: "TIMELY, rate by the gradient of the round-trip time, three variants",
        params: timely::PARAMS,
        read: |v| timely::Params::read(v).map(RateControlKind::Timely),
    },
    Entry {
        name: "ib-cc",
        about: "InfiniBand congestion control, an index into a table of delays",
        params: ib_cc::PARAMS,
        read: |v| ib_cc::Params::read(v).map(RateControlKind::IbCc),
    },
    Entry {
        name: "hpcc",
        about: "HPCC, rate and window by the utilisation that frames record on their way",
        params: hpcc::PARAMS,
        read: |v| hpcc::Params::read(v).map(RateControlKind::Hpcc),
    },
    Entry {
        name: "qcn",
        about: "QCN rate limiters, cut by the value that a congestion point sends",
        params: qcn::PARAMS,
        read: |v| qcn::Params::read(v).map(RateControlKind::Qcn),
    },
];

/// How a receiver tells a sender that frames arrived marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Not at all.
    Never,
    /// A bit in the acknowledgement of every marked frame.
    InAck,
    /// A frame of its own, at once for the first mark and then at most one per interval.
    Frame {
        /// Shortest distance between two notifications of a flow [ps].
        interval: Span,
    },
}

impl RateControlKind {
    /// The reaction point of one new flow; `None` when there is nothing to control.
    pub fn reaction_point(&self, flow: &FlowFacts) -> Option<AnyRateControl> {
        match self {
            RateControlKind::None => None,
            RateControlKind::Dcqcn(p) => Some(AnyRateControl::Dcqcn(Box::new(dcqcn::Dcqcn::new(p, flow.line)))),
            RateControlKind::Timely(p) => Some(AnyRateControl::Timely(Box::new(timely::Timely::new(p, flow.line)))),
            RateControlKind::IbCc(p) => Some(AnyRateControl::IbCc(Box::new(ib_cc::IbCc::new(p, flow.line)))),
            RateControlKind::Hpcc(p) => Some(AnyRateControl::Hpcc(Box::new(hpcc::Hpcc::new(p, flow)))),
            RateControlKind::Qcn(p) => Some(AnyRateControl::Qcn(Box::new(qcn::Qcn::new(p, flow.line, flow.seed)))),
            RateControlKind::Custom(c) => Some(AnyRateControl::Custom(c.reaction_point(flow))),
        }
    }

    /// How marks come back.
    #[inline]
    pub fn notification(&self) -> Notification {
        match self {
            RateControlKind::None | RateControlKind::Timely(_) | RateControlKind::Hpcc(_) | RateControlKind::Qcn(_) => Notification::Never,
            RateControlKind::Dcqcn(p) if p.cnp_interval.0 == 0 => Notification::InAck,
            RateControlKind::Dcqcn(p) => Notification::Frame { interval: p.cnp_interval },
            RateControlKind::IbCc(p) => p.cnp_interval.map_or(Notification::InAck, |interval| Notification::Frame { interval }),
            RateControlKind::Custom(c) => c.notification(),
        }
    }

    /// Marks UE are notified too, as [`Feedback::Undetermined`].
    #[inline]
    pub fn reports_undetermined(&self) -> bool {
        match self {
            RateControlKind::None | RateControlKind::Timely(_) | RateControlKind::Hpcc(_) | RateControlKind::Qcn(_) => false,
            RateControlKind::Dcqcn(p) => p.tcd.is_some(),
            RateControlKind::IbCc(p) => p.tcd,
            RateControlKind::Custom(c) => c.reports_undetermined(),
        }
    }

    /// Every acknowledgement is feedback, as [`Feedback::Ack`]. The others are spared it.
    #[inline]
    pub fn wants_acks(&self) -> bool {
        match self {
            RateControlKind::None | RateControlKind::Dcqcn(_) | RateControlKind::IbCc(_) | RateControlKind::Qcn(_) => false,
            RateControlKind::Timely(_) | RateControlKind::Hpcc(_) => true,
            RateControlKind::Custom(c) => c.wants_acks(),
        }
    }

    /// It treats marks UE apart (TCD, section 5.2).
    pub fn knows_undetermined(&self) -> bool {
        match self {
            RateControlKind::Timely(p) => p.tcd,
            other => other.reports_undetermined(),
        }
    }

    /// Congestion points tell it a value, as [`Feedback::Quantized`].
    pub fn wants_quantized(&self) -> bool {
        match self {
            RateControlKind::Qcn(_) => true,
            RateControlKind::Custom(c) => c.wants_quantized(),
            _ => false,
        }
    }

    /// Its flows toss coins: each needs a [`seed`](FlowFacts::seed). The others are spared the toss.
    #[inline]
    pub fn draws(&self) -> bool {
        match self {
            RateControlKind::Qcn(p) => p.jitter,
            RateControlKind::Custom(c) => c.draws(),
            _ => false,
        }
    }

    /// Values of the keys without a default, as they take effect.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        match self {
            RateControlKind::None | RateControlKind::Custom(_) | RateControlKind::Qcn(_) => Vec::new(),
            RateControlKind::Dcqcn(p) => p.resolved(),
            RateControlKind::Timely(p) => p.resolved(),
            RateControlKind::IbCc(p) => p.resolved(),
            RateControlKind::Hpcc(p) => p.resolved(),
        }
    }

    /// It learns of congestion by marks.
    pub fn is_told_by_marks(&self) -> bool {
        self.notification() != Notification::Never
    }

    /// Without acknowledgements it would never change a rate.
    pub fn needs_acks(&self) -> bool {
        self.wants_acks() || self.notification() == Notification::InAck
    }

    /// Frames must collect records of their way, kept like this; `None`: no telemetry.
    #[inline]
    pub fn needs_int(&self) -> Option<IntFormat> {
        match self {
            RateControlKind::None
            | RateControlKind::Dcqcn(_)
            | RateControlKind::Timely(_)
            | RateControlKind::IbCc(_)
            | RateControlKind::Qcn(_) => None,
            RateControlKind::Hpcc(p) => Some(p.int),
            RateControlKind::Custom(c) => c.needs_int(),
        }
    }
}

/// The receiver's side of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationPoint {
    /// Earliest time of the next notification, and [`NotificationPoint::UE`]: every flow of a NIC has one of these, so it stays
    /// a single word.
    next: Time,
}

impl NotificationPoint {
    /// The last notification reported UE. The highest bit: a time reaches it after 106 days.
    const UE: u64 = 1 << 63;

    /// A frame marked CE arrived: is a notification frame due now? At most one per interval; one that reported UE does not
    /// count, because CE takes precedence over it.
    pub fn on_mark(&mut self, now: Time, interval: Span) -> bool {
        let due = now >= self.next || self.next.0 & Self::UE != 0;
        if due {
            self.next = now + interval;
        }
        due
    }

    /// A frame marked UE arrived: is a notification frame due now? At most one per interval, and none while one of any kind
    /// is that recent.
    pub fn on_undetermined(&mut self, now: Time, interval: Span) -> bool {
        let due = now.0 >= self.next.0 & !Self::UE;
        if due {
            self.next = Time((now + interval).0 | Self::UE);
        }
        due
    }

    /// A frame arrived: which notification is due now? `undetermined`: marks UE are reported too.
    #[inline]
    pub fn on_frame(&mut self, now: Time, mark: Mark, interval: Span, undetermined: bool) -> Option<Mark> {
        let due = match mark {
            Mark::None => false,
            Mark::Ue => undetermined && self.on_undetermined(now, interval),
            Mark::Ce => self.on_mark(now, interval),
        };
        due.then_some(mark)
    }
}

/// A rate control of any kind.
pub enum AnyRateControl {
    /// [`dcqcn::Dcqcn`].
    Dcqcn(Box<dcqcn::Dcqcn>),
    /// [`timely::Timely`].
    Timely(Box<timely::Timely>),
    /// [`ib_cc::IbCc`].
    IbCc(Box<ib_cc::IbCc>),
    /// [`hpcc::Hpcc`].
    Hpcc(Box<hpcc::Hpcc>),
    /// [`qcn::Qcn`].
    Qcn(Box<qcn::Qcn>),
    /// From outside.
    Custom(Box<dyn RateControl + Send>),
}

impl AnyRateControl {
    /// It will be asked soon.
    #[inline]
    pub fn prefetch(&self) {
        match self {
            AnyRateControl::Dcqcn(r) => prefetch_whole(&**r),
            AnyRateControl::Timely(r) => prefetch_whole(&**r),
            AnyRateControl::IbCc(r) => prefetch_whole(&**r),
            AnyRateControl::Hpcc(r) => prefetch_whole(&**r),
            AnyRateControl::Qcn(r) => prefetch_whole(&**r),
            AnyRateControl::Custom(_) => {}
        }
    }
}

impl RateControl for AnyRateControl {
    #[inline]
    fn rate(&self) -> Rate {
        match self {
            AnyRateControl::Dcqcn(r) => r.rate(),
            AnyRateControl::Timely(r) => r.rate(),
            AnyRateControl::IbCc(r) => r.rate(),
            AnyRateControl::Hpcc(r) => r.rate(),
            AnyRateControl::Qcn(r) => r.rate(),
            AnyRateControl::Custom(r) => r.rate(),
        }
    }
    #[inline]
    fn window(&self) -> Option<u64> {
        match self {
            AnyRateControl::Dcqcn(_) | AnyRateControl::Timely(_) | AnyRateControl::IbCc(_) | AnyRateControl::Qcn(_) => None,
            AnyRateControl::Hpcc(r) => r.window(),
            AnyRateControl::Custom(r) => r.window(),
        }
    }
    #[inline]
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Timely(r) => r.on_sent(now, len, wakes),
            AnyRateControl::IbCc(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Hpcc(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Qcn(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Custom(r) => r.on_sent(now, len, wakes),
        }
    }
    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::Timely(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::IbCc(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::Hpcc(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::Qcn(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::Custom(r) => r.on_feedback(now, feedback, wakes),
        }
    }
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_wake(now, which, wakes),
            AnyRateControl::Timely(r) => r.on_wake(now, which, wakes),
            AnyRateControl::IbCc(r) => r.on_wake(now, which, wakes),
            AnyRateControl::Hpcc(r) => r.on_wake(now, which, wakes),
            AnyRateControl::Qcn(r) => r.on_wake(now, which, wakes),
            AnyRateControl::Custom(r) => r.on_wake(now, which, wakes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SIGCOMM'15: the first mark is reported at once, then at most one CNP per N = 50 us.
    #[test]
    fn notifications_are_paced() {
        let mut np = NotificationPoint::default();
        let sent: Vec<u64> = (0..200).filter(|&us| np.on_mark(Time::from_us(us), Span::from_us(50))).collect();
        assert_eq!(sent, [0, 50, 100, 150]);
    }

    /// TCD with one CNP per N: UE at 0 is reported, CE at 10 at once although N is not over, UE at 20 and 55 not, because CE
    /// is that recent, CE at 59 not, CE at 60, UE at 110.
    #[test]
    fn ce_takes_precedence_over_ue() {
        let mut np = NotificationPoint::default();
        let marks = [(0, Mark::Ue), (10, Mark::Ce), (20, Mark::Ue), (55, Mark::Ue), (59, Mark::Ce), (60, Mark::Ce), (110, Mark::Ue)];
        let mut of = |(us, mark)| np.on_frame(Time::from_us(us), mark, Span::from_us(50), true);
        let (ue, ce) = (Some(Mark::Ue), Some(Mark::Ce));
        assert_eq!(marks.map(&mut of), [ue, ce, None, None, None, ce, ue]);
        let mut np = NotificationPoint::default();
        assert_eq!(np.on_frame(Time::ZERO, Mark::Ue, Span::from_us(50), false), None, "without TCD nobody reports UE");
        assert_eq!(size_of::<NotificationPoint>(), 8);
    }

    /// What the NIC is asked for, kind by kind: acknowledgements, telemetry, notifications, reports of UE.
    #[test]
    fn what_each_kind_needs() {
        let kind = |name: &str, given: &[(&str, &str)]| {
            let entry = REGISTRY.iter().find(|e| e.name == name).unwrap();
            let mut v = given.iter().fold(xoff_params::Defaults::of(entry.params), |v, (k, x)| v.with(k, x));
            (entry.read)(&mut v).unwrap()
        };
        let needs =
            |k: RateControlKind| (k.wants_acks(), k.needs_acks(), k.needs_int().is_some(), k.notification(), k.reports_undetermined());
        let paced = |us| Notification::Frame { interval: Span::from_us(us) };
        assert_eq!(needs(kind("none", &[])), (false, false, false, Notification::Never, false));
        assert_eq!(needs(kind("dcqcn", &[])), (false, false, false, paced(50), false));
        assert_eq!(needs(kind("dcqcn", &[("variant", "hpcc")])), (false, true, false, Notification::InAck, false));
        assert_eq!(needs(kind("dcqcn", &[("tcd", "true")])), (false, false, false, paced(50), true));
        assert_eq!(needs(kind("timely", &[("tcd", "true")])), (true, true, false, Notification::Never, false));
        assert_eq!(needs(kind("ib-cc", &[])), (false, false, false, paced(0), false));
        assert_eq!(needs(kind("ib-cc", &[("becn", "ack"), ("tcd", "true")])), (false, true, false, Notification::InAck, true));
        assert_eq!(needs(kind("hpcc", &[])), (true, true, true, Notification::Never, false));
        assert_eq!(needs(kind("qcn", &[])), (false, false, false, Notification::Never, false));
        let values = |k: RateControlKind| (k.wants_quantized(), k.draws());
        assert_eq!(values(kind("qcn", &[])), (true, true));
        assert_eq!(values(kind("qcn", &[("jitter", "false")])), (true, false));
        assert_eq!(values(kind("dcqcn", &[])), (false, false));
    }
}

//! The registry of rate controls, and the notification point that belongs to each.

use std::fmt::Debug;
use std::sync::Arc;

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time, prefetch_whole};

use super::{Feedback, IntFormat, RateControl, Wakes, dcqcn};
use crate::detection::Mark;

/// A configured rate control.
#[derive(Clone, Debug, Default)]
pub enum RateControlKind {
    /// Line rate always.
    #[default]
    None,
    /// [`dcqcn`].
    Dcqcn(dcqcn::Params),
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
    fn hears_acks(&self) -> bool {
        false
    }
    /// Frames collect records of their way, kept like this.
    fn needs_int(&self) -> Option<IntFormat> {
        None
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
            RateControlKind::Custom(c) => Some(AnyRateControl::Custom(c.reaction_point(flow))),
        }
    }

    /// How marks come back.
    #[inline]
    pub fn notification(&self) -> Notification {
        match self {
            RateControlKind::None => Notification::Never,
            RateControlKind::Dcqcn(p) if p.cnp_interval.0 == 0 => Notification::InAck,
            RateControlKind::Dcqcn(p) => Notification::Frame { interval: p.cnp_interval },
            RateControlKind::Custom(c) => c.notification(),
        }
    }

    /// Marks UE are notified too, as [`Feedback::Undetermined`].
    #[inline]
    pub fn reports_undetermined(&self) -> bool {
        match self {
            RateControlKind::None => false,
            RateControlKind::Dcqcn(p) => p.tcd.is_some(),
            RateControlKind::Custom(c) => c.reports_undetermined(),
        }
    }

    /// Every acknowledgement is feedback, as [`Feedback::Ack`]. The others are spared it.
    #[inline]
    pub fn hears_acks(&self) -> bool {
        match self {
            RateControlKind::None | RateControlKind::Dcqcn(_) => false,
            RateControlKind::Custom(c) => c.hears_acks(),
        }
    }

    /// Without acknowledgements it would never change a rate.
    pub fn needs_acks(&self) -> bool {
        self.hears_acks() || self.notification() == Notification::InAck
    }

    /// Frames must collect records of their way, kept like this; `None`: no telemetry.
    #[inline]
    pub fn needs_int(&self) -> Option<IntFormat> {
        match self {
            RateControlKind::None | RateControlKind::Dcqcn(_) => None,
            RateControlKind::Custom(c) => c.needs_int(),
        }
    }
}

/// The receiver's side of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationPoint {
    /// Earliest time of the next notification.
    next: Time,
    /// The last one reported UE: it does not delay one that reports CE.
    undetermined: bool,
}

impl NotificationPoint {
    /// A frame marked CE arrived: is a notification frame due now? At most one per interval; one that reported UE does not
    /// count, because CE takes precedence over it.
    pub fn on_mark(&mut self, now: Time, interval: Span) -> bool {
        let due = now >= self.next || self.undetermined;
        if due {
            *self = NotificationPoint { next: now + interval, undetermined: false };
        }
        due
    }

    /// A frame marked UE arrived: is a notification frame due now? At most one per interval, and none while one of any kind
    /// is that recent.
    pub fn on_undetermined(&mut self, now: Time, interval: Span) -> bool {
        let due = now >= self.next;
        if due {
            *self = NotificationPoint { next: now + interval, undetermined: true };
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
    /// From outside.
    Custom(Box<dyn RateControl + Send>),
}

impl AnyRateControl {
    /// It will be asked soon.
    #[inline]
    pub fn prefetch(&self) {
        match self {
            AnyRateControl::Dcqcn(r) => prefetch_whole(&**r),
            AnyRateControl::Custom(_) => {}
        }
    }
}

impl RateControl for AnyRateControl {
    #[inline]
    fn rate(&self) -> Rate {
        match self {
            AnyRateControl::Dcqcn(r) => r.rate(),
            AnyRateControl::Custom(r) => r.rate(),
        }
    }
    #[inline]
    fn window(&self) -> Option<u64> {
        match self {
            AnyRateControl::Dcqcn(_) => None,
            AnyRateControl::Custom(r) => r.window(),
        }
    }
    #[inline]
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Custom(r) => r.on_sent(now, len, wakes),
        }
    }
    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_feedback(now, feedback, wakes),
            AnyRateControl::Custom(r) => r.on_feedback(now, feedback, wakes),
        }
    }
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_wake(now, which, wakes),
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
    }
}

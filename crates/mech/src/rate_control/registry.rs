//! The registry of rate controls, and the notification point that belongs to each.

use std::fmt::Debug;
use std::sync::Arc;

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time, prefetch_whole};

use super::{Feedback, RateControl, Wakes, dcqcn};

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

/// What an outside rate control implements.
pub trait Custom: Debug + Send + Sync {
    /// The reaction point of one new flow.
    fn reaction_point(&self, line: Rate) -> Box<dyn RateControl + Send>;
    /// How marks come back.
    fn notification(&self) -> Notification;
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
        about: "DCQCN, three variants",
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
    pub fn reaction_point(&self, line: Rate) -> Option<AnyRateControl> {
        match self {
            RateControlKind::None => None,
            RateControlKind::Dcqcn(p) => Some(AnyRateControl::Dcqcn(Box::new(dcqcn::Dcqcn::new(p, line)))),
            RateControlKind::Custom(c) => Some(AnyRateControl::Custom(c.reaction_point(line))),
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
}

/// The receiver's side of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationPoint {
    /// Earliest time of the next notification.
    next: Time,
}

impl NotificationPoint {
    /// A marked frame arrived: is a notification frame due now?
    pub fn on_mark(&mut self, now: Time, interval: Span) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + interval;
        }
        due
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
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
        match self {
            AnyRateControl::Dcqcn(r) => r.on_sent(now, len, wakes),
            AnyRateControl::Custom(r) => r.on_sent(now, len, wakes),
        }
    }
    fn on_feedback(&mut self, now: Time, feedback: Feedback, wakes: &mut Wakes) {
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
}

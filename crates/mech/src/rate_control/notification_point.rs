//! Path of marks back to the source of a flow: the notification point of its receiver.

use xoff_units::state::{Meaning, State, Walk};
use xoff_units::{Span, Time};

use crate::detection::Mark;

/// Report of marked frames from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CnpMode {
    /// Not at all.
    Never,
    /// A bit in the acknowledgement of every marked frame.
    InAck,
    /// A frame of its own, at once for the first mark and then at most one per interval.
    Frame {
        /// Shortest distance between two CNPs of a flow [ps].
        interval: Span,
    },
}

/// The receiver's side of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(canonical)]
pub struct NotificationPoint {
    /// Earliest time of the next CNP, and [`NotificationPoint::UE`]: every flow of a NIC has one of
    /// these, so it stays a single word.
    next: Time,
}

impl NotificationPoint {
    /// The last CNP reported UE. The highest bit: a time reaches it after 106 days.
    const UE: u64 = 1 << 63;

    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        w.number(Meaning::Deadline, self.next.0 & !Self::UE)?;
        (self.next.0 & Self::UE != 0).walk(w)
    }

    /// A frame marked CE arrived: is a CNP due now? At most one per interval; one that reported UE
    /// does not count, because CE takes precedence over it.
    pub fn on_mark(&mut self, now: Time, interval: Span) -> bool {
        let due = now >= self.next || self.next.0 & Self::UE != 0;
        if due {
            self.next = now + interval;
        }
        due
    }

    /// A frame marked UE arrived: is a CNP due now? At most one per interval, and none while one of
    /// any kind is that recent.
    pub fn on_undetermined(&mut self, now: Time, interval: Span) -> bool {
        let due = now.0 >= self.next.0 & !Self::UE;
        if due {
            self.next = Time((now + interval).0 | Self::UE);
        }
        due
    }

    /// A frame arrived: which CNP is due now? `undetermined`: marks UE are reported too.
    #[inline]
    pub fn on_frame(
        &mut self,
        now: Time,
        mark: Mark,
        interval: Span,
        undetermined: bool,
    ) -> Option<Mark> {
        let due = match mark {
            Mark::None => false,
            Mark::Ue => undetermined && self.on_undetermined(now, interval),
            Mark::Ce => self.on_mark(now, interval),
        };
        due.then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SIGCOMM'15: the first mark is reported at once, then at most one CNP per N = 50 us.
    #[test]
    fn cnps_are_paced() {
        let mut np = NotificationPoint::default();
        let sent: Vec<u64> =
            (0..200).filter(|&us| np.on_mark(Time::from_us(us), Span::from_us(50))).collect();
        assert_eq!(sent, [0, 50, 100, 150]);
    }

    /// TCD with one CNP per N: UE at 0 is reported, CE at 10 at once although N is not over, UE at
    /// 20 and 55 not, because CE is that recent, CE at 59 not, CE at 60, UE at 110.
    #[test]
    fn ce_takes_precedence_over_ue() {
        let mut np = NotificationPoint::default();
        let marks = [
            (0, Mark::Ue),
            (10, Mark::Ce),
            (20, Mark::Ue),
            (55, Mark::Ue),
            (59, Mark::Ce),
            (60, Mark::Ce),
            (110, Mark::Ue),
        ];
        let mut of = |(us, mark)| np.on_frame(Time::from_us(us), mark, Span::from_us(50), true);
        let (ue, ce) = (Some(Mark::Ue), Some(Mark::Ce));
        assert_eq!(marks.map(&mut of), [ue, ce, None, None, None, ce, ue]);
        let mut np = NotificationPoint::default();
        assert_eq!(
            np.on_frame(Time::ZERO, Mark::Ue, Span::from_us(50), false),
            None,
            "without TCD no point reports UE"
        );
        assert_eq!(size_of::<NotificationPoint>(), 8);
    }
}

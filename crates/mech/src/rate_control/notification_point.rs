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
    /// A frame of its own, for the first frame of a flow at once and then at the ticks of a clock
    /// that begins with it, if a mark came since the last tick.
    Clock {
        /// From tick to tick [ps].
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

/// The receiver's side of one flow whose CNPs leave at the ticks of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct CnpClock {
    /// The next tick, as of the last frame; `None` before the first one.
    next: Option<Time>,
    /// Strongest mark since the last tick.
    mark: Mark,
}

impl CnpClock {
    /// A frame arrived. Which CNP is due now, and is there a tick to call at?
    pub fn on_frame(
        &mut self,
        now: Time,
        mark: Mark,
        interval: Span,
        undetermined: bool,
    ) -> (Option<Mark>, Option<Time>) {
        let mark = if mark == Mark::Ue && !undetermined { Mark::None } else { mark };
        let marked = mark != Mark::None;
        let Some(next) = self.next else {
            self.next = Some(now + interval);
            return (marked.then_some(mark), None);
        };
        if self.mark != Mark::None {
            // The tick is called already.
            self.mark = self.mark.max(mark);
            return (None, None);
        }
        let next = match now.0.checked_sub(next.0) {
            Some(late) => now + Span(interval.0 - late % interval.0),
            None => next,
        };
        (self.next, self.mark) = (Some(next), mark);
        (None, marked.then_some(next))
    }

    /// The tick that was called, or a call that is stale: which CNP is due now?
    pub fn on_tick(&mut self, now: Time, interval: Span) -> Option<Mark> {
        if self.next != Some(now) || self.mark == Mark::None {
            return None;
        }
        self.next = Some(now + interval);
        Some(std::mem::replace(&mut self.mark, Mark::None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ns3-rdma, N = 50 us, first frame at 7 us: ticks at 57, 107, 157, ... A mark on the first
    /// frame is reported at once. CE wins over UE at the tick and not before; a mark at a tick
    /// itself waits for the next one; a tick without a mark reports nothing.
    #[test]
    fn cnps_leave_at_the_ticks_of_a_clock() {
        let n = Span::from_us(50);
        let us = Time::from_us;
        let mut c = CnpClock::default();
        assert_eq!(c.on_frame(us(7), Mark::Ce, n, true), (Some(Mark::Ce), None));
        assert_eq!(c.on_frame(us(10), Mark::Ue, n, true), (None, Some(us(57))));
        assert_eq!(c.on_frame(us(56), Mark::Ce, n, true), (None, None));
        assert_eq!(c.on_tick(us(50), n), None);
        assert_eq!(c.on_tick(us(57), n), Some(Mark::Ce));
        assert_eq!(c.on_tick(us(57), n), None);
        assert_eq!(c.on_frame(us(107), Mark::Ue, n, true), (None, Some(us(157))));
        assert_eq!(c.on_tick(us(157), n), Some(Mark::Ue));
        assert_eq!(c.on_frame(us(1_000), Mark::None, n, true), (None, None));
        assert_eq!(c.on_frame(us(1_001), Mark::Ue, n, false), (None, None), "without TCD");
        assert_eq!(c.on_frame(us(1_001), Mark::Ce, n, false), (None, Some(us(1_007))));
    }

    /// Frames by a clock of their own, marked at random, against a loop that looks at every tick
    /// whether a mark came since the last one.
    #[test]
    fn the_clock_is_a_loop_over_ticks() {
        let (n, mut r) = (Span::from_us(50), 1u64);
        let mut draw = |below: u64| {
            r = r.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (r >> 33) % below
        };
        let mut frames = vec![];
        let mut at = 3_000_000;
        for _ in 0..20_000 {
            let mark = [Mark::None, Mark::None, Mark::Ue, Mark::Ce][draw(4) as usize];
            frames.push((Time(at), mark));
            at += 1 + if draw(50) == 0 { draw(400_000_000) } else { draw(9_000_000) };
        }
        let start = frames[0].0;
        let mut expected: Vec<(Time, Mark)> =
            frames.first().filter(|f| f.1 != Mark::None).copied().into_iter().collect();
        let mut rest = frames[1..].iter().peekable();
        let mut tick = start;
        while rest.peek().is_some() {
            tick += n;
            let mut seen = Mark::None;
            while let Some(f) = rest.next_if(|f| f.0 < tick) {
                seen = seen.max(f.1);
            }
            if seen != Mark::None {
                expected.push((tick, seen));
            }
        }
        let (mut c, mut call, mut got) = (CnpClock::default(), None::<Time>, vec![]);
        for &(now, mark) in &frames {
            if let Some(t) = call.take_if(|t| *t <= now) {
                got.extend(c.on_tick(t, n).map(|m| (t, m)));
            }
            let (due, next) = c.on_frame(now, mark, n, true);
            got.extend(due.map(|m| (now, m)));
            call = call.or(next);
        }
        got.extend(call.and_then(|t| Some((t, c.on_tick(t, n)?))));
        assert_eq!(got, expected);
    }

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

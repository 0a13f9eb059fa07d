//! The receiver of a connection: which segment is acknowledged at once, and which together with the
//! next one (RFC 5681 section 4.2).

use xoff_units::state::State;
use xoff_units::{Span, Time};

/// Data that is not acknowledged yet.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Sink {
    /// Departure of the waiting segment from its source, and the latest time of its
    /// acknowledgement.
    waits: Option<(Time, Time)>,
    /// A call is due then.
    called: Option<Time>,
}

/// Answer to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An acknowledgement that echoes this time.
    Now(Time),
    /// None yet: call at this time, if nothing comes.
    Later(Option<Time>),
}

impl Sink {
    /// A segment came that left its source at `sent`; `plain`: in order, with no gap before or
    /// behind it, and of full size. Its acknowledgement waits for at most `delay`.
    pub fn on_segment(&mut self, delay: Span, now: Time, sent: Time, plain: bool) -> Answer {
        match self.waits.take() {
            // RFC 7323 section 4.3: the earliest of those that are acknowledged together.
            Some((first, _)) => Answer::Now(first),
            None if plain => {
                let due = now + delay;
                self.waits = Some((sent, due));
                let call = self.called.is_none_or(|t| t > due || t < now).then_some(due);
                self.called = call.or(self.called);
                Answer::Later(call)
            }
            None => Answer::Now(sent),
        }
    }

    /// The time of a call has come.
    pub fn on_call(&mut self, now: Time) -> Answer {
        if self.called.is_some_and(|t| t <= now) {
            self.called = None;
        }
        match self.waits {
            Some((sent, due)) if due <= now => {
                self.waits = None;
                Answer::Now(sent)
            }
            Some((_, due)) => {
                let call = self.called.is_none_or(|t| t > due).then_some(due);
                self.called = call.or(self.called);
                Answer::Later(call)
            }
            None => Answer::Later(None),
        }
    }

    /// Nothing waits and no call is due.
    pub fn rests(&self) -> bool {
        self.waits.is_none() && self.called.is_none()
    }
}

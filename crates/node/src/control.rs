//! Delays of control messages inside a node: before they are sent, and before a received one takes
//! effect.

use std::collections::VecDeque;

use xoff_mech::flow_control::Message;
use xoff_units::state::State;
use xoff_units::{Class, Span, Time};

/// A delay, constant or with a uniform jitter on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Constant part [ps].
    pub constant: Span,
    /// Upper end of the uniform part [ps].
    pub jitter: Span,
}

impl Delay {
    /// No delay at all: the message passes without an event.
    pub fn is_zero(&self) -> bool {
        self.constant.0 == 0 && self.jitter.0 == 0
    }
}

/// Delays of a control message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlDelay {
    /// From the decision to the control queue of the port.
    pub generation: Delay,
    /// From the arrival to the effect.
    pub processing: Delay,
}

impl ControlDelay {
    /// The longest time a message spends inside nodes: the `processing` of
    /// [`LinkFacts`](xoff_mech::LinkFacts).
    pub fn longest(&self) -> Span {
        self.generation.constant
            + self.generation.jitter
            + self.processing.constant
            + self.processing.jitter
    }
}

/// Messages on their way through one delay, always in order: a stage or credit message that
/// overtakes another would leave the sender at a wrong state forever.
#[derive(Debug, Default, State)]
pub(crate) struct DelayLine {
    waiting: VecDeque<(Time, Class, Message)>,
    #[state(deadline)]
    last: Time,
}

impl DelayLine {
    /// Puts a message in and returns when it is due.
    pub fn push(
        &mut self,
        now: Time,
        delay: &Delay,
        draw: impl FnOnce() -> f64,
        class: Class,
        message: Message,
    ) -> Time {
        let jitter = if delay.jitter.0 > 0 {
            Span((delay.jitter.0 as f64 * draw()) as u64)
        } else {
            Span::ZERO
        };
        let due = (now + delay.constant + jitter).max(self.last);
        self.last = due;
        self.waiting.push_back((due, class, message));
        due
    }

    /// Takes the next message that is due.
    pub fn pop(&mut self, now: Time) -> Option<(Class, Message)> {
        match self.waiting.front() {
            Some(&(due, class, message)) if due <= now => {
                self.waiting.pop_front();
                Some((class, message))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_never_reorders() {
        let mut line = DelayLine::default();
        let delay = Delay { constant: Span::from_us(1), jitter: Span::from_us(10) };
        let first = line.push(Time::ZERO, &delay, || 0.9, Class(0), Message::Custom(2));
        let second = line.push(Time::from_us(1), &delay, || 0.0, Class(0), Message::Custom(1));
        assert_eq!((first, second), (Time::from_us(10), Time::from_us(10)));
        assert_eq!(line.pop(Time(9_999_999)), None);
        assert_eq!(line.pop(first), Some((Class(0), Message::Custom(2))));
        assert_eq!(line.pop(first), Some((Class(0), Message::Custom(1))));
    }
}

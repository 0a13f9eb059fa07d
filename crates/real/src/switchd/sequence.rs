//! Which control messages of a neighbour still count: numbers and validity.
//!
//! ```text
//!   numbers received 7   8   6   9   ...   0   1   2   3
//!                        |   |             |   |   |
//!                        |   stale         stale   a neighbour that has restarted
//!                        newest so far (RFC 1982: newer is up to half the circle ahead)
//! ```
//!
//! A message that came later than a newer one is stale: it is counted and not obeyed. A neighbour
//! that restarts counts from 0 again and sends its state again and again, so that 0, 1, 2 in a row
//! begin a new count; so does any number after a second without a newer one. A message with a
//! validity that is not followed by another in time is taken back: what holds then is what held
//! before any message.

use xoff_mech::flow_control::Message;
use xoff_units::{Span, Time};

use crate::switchd::formats::Terms;

/// After so long without a newer number any number counts: twenty repetitions have not come.
const SILENCE: Span = Span::from_ms(1000);
/// A neighbour that restarts is believed with this number.
const BEGUN: u32 = 2;

/// Received messages of one priority of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The newest number, and when it came.
    newest: Option<(u32, Time)>,
    /// The number that a neighbour that restarts would send next.
    anew: u32,
    /// Expiry of the last message, and the message that revokes it.
    expiry: Option<(Time, Message)>,
}

impl Sequence {
    /// Does a message count that comes now?
    pub fn accepts(&mut self, now: Time, message: Message, terms: &Terms) -> bool {
        if terms.sequence.is_some_and(|n| !self.is_newer(now, n)) {
            return false;
        }
        if let Some(n) = terms.sequence {
            (self.newest, self.anew) = (Some((n, now)), 0);
        }
        let stands = terms.validity > Span::ZERO;
        self.expiry = message.release().filter(|_| stands).map(|back| (now + terms.validity, back));
        true
    }

    fn is_newer(&mut self, now: Time, n: u32) -> bool {
        let Some((newest, at)) = self.newest else { return true };
        // RFC 1982: half the circle ahead and no more.
        if (n.wrapping_sub(newest) as i32) > 0 || now.since(at) >= SILENCE {
            return true;
        }
        self.anew = if n == self.anew { n + 1 } else { u32::from(n == 0) };
        self.anew > BEGUN
    }

    /// Expiry of a message.
    pub fn expires(&self) -> Option<Time> {
        self.expiry.map(|(at, _)| at)
    }

    /// Message that revokes an expired message.
    pub fn expired(&mut self, now: Time) -> Option<Message> {
        self.expiry.take_if(|(at, _)| *at <= now).map(|(_, back)| back)
    }
}

#[cfg(test)]
mod tests {
    use xoff_mech::flow_control::gfc_buffer::Stage;
    use xoff_mech::flow_control::gfc_conceptual::Level;

    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }

    fn received(h: &mut Sequence, now: Time, n: u32) -> bool {
        h.accepts(now, Message::Stage(Stage(1)), &Terms { sequence: Some(n), ..Terms::default() })
    }

    #[test]
    fn older_numbers_are_stale_and_the_circle_closes() {
        for first in [0, 1, 7, 1 << 31, u32::MAX - 1, u32::MAX] {
            let mut h = Sequence::default();
            assert!(received(&mut h, ms(0), first), "the first of all");
            for back in [0, 1, 2, 1000, (1 << 31) - 1, 1 << 31] {
                assert!(!received(&mut h, ms(1), first.wrapping_sub(back)), "{first} - {back}");
            }
            for ahead in [1u32, 2, 1000, (1 << 31) - 1] {
                let mut h = h;
                assert!(received(&mut h, ms(1), first.wrapping_add(ahead)), "{first} + {ahead}");
            }
        }
    }

    #[test]
    fn a_neighbour_that_begins_anew_is_believed_with_its_third_message() {
        let mut h = Sequence::default();
        assert!(received(&mut h, ms(0), 1000));
        assert_eq!(
            [5, 0, 6, 0, 2, 1, 0, 0, 1].map(|n| received(&mut h, ms(1), n)),
            [false; 9],
            "none of these is 0, 1, 2 in a row"
        );
        assert!(received(&mut h, ms(1), 2));
        assert!(received(&mut h, ms(1), 3) && !received(&mut h, ms(1), 3));
        // Or after silence, whatever it has.
        assert!(!received(&mut h, ms(1000), 1));
        assert!(received(&mut h, ms(1001), 1));
    }

    #[test]
    fn a_message_is_taken_back_when_its_time_is_over() {
        let mut h = Sequence::default();
        let terms = |us: u64| Terms { validity: Span::from_us(us), ..Terms::default() };
        assert!(h.accepts(ms(0), Message::Stage(Stage(12)), &terms(1000)));
        assert_eq!((h.expires(), h.expired(Time(ms(1).0 - 1))), (Some(ms(1)), None));
        assert!(h.accepts(
            Time(ms(1).0 - 1),
            Message::Level(Level(xoff_units::Bytes(9))),
            &terms(u32::MAX.into())
        ));
        assert_eq!(h.expired(ms(4_294_967)), None, "refreshed");
        assert_eq!(h.expired(ms(4_294_969)), Some(Message::Level(Level(xoff_units::Bytes(0)))));
        assert_eq!((h.expires(), h.expired(Time::NEVER)), (None, None), "once");
        assert!(
            h.accepts(ms(0), Message::Stage(Stage(12)), &terms(5))
                && h.accepts(ms(0), Message::Stage(Stage(3)), &terms(0))
        );
        assert_eq!(h.expires(), None, "until replaced");
    }
}

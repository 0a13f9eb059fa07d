//! Properties of a message, whatever mechanism it belongs to.

use xoff_units::Bytes;

use super::{Message, Signal, Totals};

impl Message {
    /// Packed into a tag and two words, for stores that keep frames small.
    pub fn to_words(self) -> (u8, u64, u64) {
        let (a, b) = signal!(self, m => m.to_words());
        (self.tag(), a, b)
    }

    /// Kind and value for tables and logs.
    pub fn describe(&self) -> (&'static str, u64) {
        signal!(*self, m => m.describe())
    }

    /// True if it pauses its sender, false if it resumes it. `None`: it does neither outright, or
    /// for some flows only.
    pub fn stops(self) -> Option<bool> {
        signal!(self, m => m.stops())
    }

    /// True if it sets a state and its receiver half sends it only once. On a real link it has to
    /// be repeated, so that a lost one heals.
    pub fn is_state(self) -> bool {
        signal!(self, m => m.is_state())
    }

    /// True for a part of the frame that the next message closes. It takes no time on the wire: the
    /// closing one has the full length.
    pub fn is_part(self) -> bool {
        signal!(self, m => m.is_part())
    }

    /// Length on the wire, if it differs from the length of all messages of its flow control
    /// [bytes].
    #[inline]
    pub fn own_len(self) -> Option<Bytes> {
        signal!(self, m => m.own_len())
    }

    /// True if it contains the total that its port has sent.
    #[inline]
    pub fn totals(self) -> Totals {
        signal!(self, m => m.totals())
    }

    /// True if it concerns single flows. A decision may then take several messages:
    /// [`Rx::more`](super::Rx::more).
    #[inline]
    pub fn is_per_flow(&self) -> bool {
        fn of<S: Signal>(_: &S) -> bool {
            S::PER_FLOW
        }
        signal!(self, m => of(m))
    }
}

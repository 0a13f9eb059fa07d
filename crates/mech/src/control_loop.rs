//! The control loop of a link: source of every derived threshold, in `xoff plan` and in `xoff run`
//! alike.
//!
//! ```text
//!   receiver decides --g--> MTU_other/C --> k m/C --> m/C --t_w--> t_p --> sender obeys; MTU/C --t_w--> last frame is in
//!                           a frame of any  control   the message          a frame that it has
//!                           class is on     frames    itself               just started
//!                           the wire        before it
//! ```
//!
//! GFC Eq. (6) has `2 MTU/C + 2 t_w + t_r` with `t_r = g + t_p`; it leaves out that the message is
//! a frame on the wire as well, that other control frames may go before it, and that the frame in
//! its way may be longer than those of its own class.

use std::cmp::Ordering;

use xoff_units::{Bytes, Rate, Span};

use crate::LinkFacts;

/// A link with its worst feedback latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLoop {
    /// Line rate C [bit/s].
    pub rate: Rate,
    /// Largest frame that flow control holds back [bytes].
    pub mtu: Bytes,
    /// Buffer B behind the link, for one ingress and one priority [bytes].
    pub buffer: Bytes,
    /// Worst feedback latency: from the decision of the receiver until the last frame that does not
    /// obey it is in [ps].
    pub tau: Span,
}

impl ControlLoop {
    /// k C tau, rounded up.
    pub fn arrivals(&self, k: u64) -> Bytes {
        bytes_ceil(self.rate, Span(self.tau.0.saturating_mul(k)))
    }
}

/// Bytes that arrive at `rate` during `span`, rounded up: for buffers, where rounding down would
/// lose a byte.
pub fn bytes_ceil(rate: Rate, span: Span) -> Bytes {
    let whole = rate.bytes_in(span);
    if rate.time_for(whole) < span { whole + Bytes(1) } else { whole }
}

impl LinkFacts {
    /// A link with frames of one size and class, whose nodes handle control messages at once.
    pub const fn plain(rate: Rate, delay: Span, mtu: Bytes, buffer: Bytes) -> LinkFacts {
        let (processing, jitter) = (Span::ZERO, Span::ZERO);
        LinkFacts {
            rate,
            delay,
            mtu,
            mtu_other: mtu,
            buffer,
            processing,
            jitter,
            control_ahead: 0,
            peer_tier: Ordering::Equal,
        }
    }

    /// Messages that other classes may send before one of this class: two each, a pause and a
    /// resume, or the other way round. A third would need 2 MTU more of that class, on the same
    /// wire.
    pub const fn messages_of_other_classes(classes: u64) -> u64 {
        2 * classes.saturating_sub(1)
    }

    /// Upper bound of the feedback latency tau as GFC Eq. (6) has it: `2 MTU/C + 2 t_w + t_r`, with
    /// messages that take no time on the wire. The longer of two frames may be one of another
    /// class.
    pub fn tau(&self) -> Span {
        self.control_loop(Bytes::ZERO).tau
    }

    /// The longest time from a control frame's turn to be sent until its last bit has left: a frame
    /// of any class, the control frames before it, and itself, `message` bytes each.
    pub fn control_wait(&self, message: Bytes) -> Span {
        self.rate.time_for(self.mtu_other.max(self.mtu))
            + self.rate.time_for(message) * (1 + self.control_ahead)
    }

    /// The control loop of a flow control with messages of this size [bytes]; 0: they take no time
    /// on the wire.
    pub fn control_loop(&self, message: Bytes) -> ControlLoop {
        let tau = self.rate.time_for(self.mtu)
            + self.control_wait(message)
            + self.delay * 2
            + self.processing;
        ControlLoop { rate: self.rate, mtu: self.mtu, buffer: self.buffer, tau }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(10);

    #[test]
    fn the_loop_counts_the_message_and_what_is_in_its_way() {
        let link = LinkFacts::plain(C, Span::from_us(1), Bytes(1_500), Bytes(300_000));
        assert_eq!(link.tau(), Span(4_400_000));
        assert_eq!(
            link.control_loop(Bytes::ZERO).tau,
            link.tau(),
            "without wire time it is Eq. (6)"
        );
        assert_eq!(link.control_loop(Bytes(64)).tau, Span(4_400_000 + 51_200));
        let jumbo = LinkFacts {
            mtu_other: Bytes(9_000),
            control_ahead: 2,
            processing: Span::from_us(3),
            ..link
        };
        assert_eq!(
            jumbo.control_loop(Bytes(64)).tau,
            Span(1_200_000 + 7_200_000 + 3 * 51_200 + 2_000_000 + 3_000_000)
        );
    }

    #[test]
    fn buffers_round_up() {
        assert_eq!(bytes_ceil(C, Span(7_400_000)), Bytes(9_250));
        assert_eq!(bytes_ceil(C, Span(7_400_001)), Bytes(9_251));
        assert_eq!(bytes_ceil(C, Span::ZERO), Bytes::ZERO);
    }

    /// C tau of 4.4 us at 10 Gb/s are 5500 B; a picosecond more is a byte more, of each loop.
    #[test]
    fn what_arrives_in_some_loops() {
        let of = |tau| ControlLoop {
            rate: C,
            mtu: Bytes(1_500),
            buffer: Bytes(300_000),
            tau: Span(tau),
        };
        assert_eq!([1, 2, 7].map(|k| of(4_400_000).arrivals(k).0), [5_500, 11_000, 38_500]);
        assert_eq!(of(4_400_001).arrivals(1), Bytes(5_501));
        assert_eq!([0, 1, 2, 8].map(LinkFacts::messages_of_other_classes), [0, 0, 2, 14]);
    }
}

//! The order of ideal messages, which reach the far end of a link without occupying it.
//!
//! ```text
//!   port p at t   frame starts ------------- wire ------------> arrives at t' : (Arrive, p, 0)
//!                 message 1, message 2 ----- delay only ------> arrive at t + delay: (Arrive, p, 1), (Arrive, p, 2)
//! ```
//!
//! Messages of one port and instant arrive together. They are numbered by port, from one: in the
//! order in which they were made, and behind a frame of the same port that happens to arrive then.
//! A count over several ports would depend on which ports share a partition of a split network
//! (decision 0001).

use xoff_units::Time;
use xoff_units::state::State;

/// Ideal messages handed over, by port: the last instant, and how many in it. Without any, empty.
#[derive(Default, State)]
pub(crate) struct HandedOver(Vec<(Time, u32)>);

impl HandedOver {
    /// The number of a message that a port, one of so many, hands over now.
    pub fn number(&mut self, port: usize, ports: usize, now: Time) -> u32 {
        if self.0.is_empty() {
            self.0 = vec![(Time::ZERO, 0); ports];
        }
        let (at, count) = &mut self.0[port];
        *count = if *at == now { *count + 1 } else { 1 };
        *at = now;
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_by_port_and_instant() {
        let mut h = HandedOver::default();
        let numbers = [(0, 0), (2, 0), (2, 0), (0, 0), (2, 5), (0, 5), (0, 6), (0, 6)]
            .map(|(port, t)| h.number(port, 3, Time(t)));
        assert_eq!(numbers, [1, 1, 2, 2, 1, 1, 1, 2]);
    }
}

//! ECMP frame by frame, where frames have entropy values of their own ([`crate::entropy`]): a frame
//! takes the next hop of the hash of its flow and its value. Without such values the environment
//! caches the path of a flow.

use xoff_units::state::State;

use super::{Arrival, Balancer, NextHops};

/// The law, which has no state.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct Ecmp {}

impl Balancer for Ecmp {
    fn pick(&mut self, _: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        hops.hashed(n as u64) as usize
    }
    fn reorders(&self) -> bool {
        false // by itself: the values of its frames make a flow overtake itself
    }
}

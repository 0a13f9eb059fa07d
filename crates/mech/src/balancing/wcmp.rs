//! Weighted ECMP (WCMP, EuroSys 2014): a flow keeps the path of its hash, and next hops have shares
//! in proportion to what the network can carry through them.
//!
//! ```text
//!   weight of a next hop = min(rate of its link, sum of the weights behind it)      share = weight / sum of weights
//! ```

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Arrival, Balancer, NextHops};

/// No parameters.
pub const PARAMS: &[ParamSpec] = &[];

/// The law, which has no state.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct Wcmp {}

impl Wcmp {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// None.
    pub fn read(_: &mut dyn Values) -> Result<Wcmp, ParamError> {
        Ok(Wcmp {})
    }
}

impl Balancer for Wcmp {
    fn pick(&mut self, _: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let sum = (0..n).map(|i| hops.capacity(i).0).sum();
        let mut at = hops.hashed(sum);
        for hop in 0..n - 1 {
            let weight = hops.capacity(hop).0;
            if at < weight {
                return hop;
            }
            at -= weight;
        }
        n - 1
    }
    fn reorders(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::super::tests::{Hops, frame};
    use super::*;

    #[test]
    fn shares_are_in_proportion_to_capacity() {
        let mut hops = Hops { capacity: vec![100, 50, 50], ..Hops::new(&[0; 3]) };
        let mut counts = [0; 3];
        for i in 0..400 {
            hops.hash = (f64::from(i) + 0.5) / 400.0;
            counts[Wcmp {}.pick(&frame(0, FlowId(0)), &mut hops)] += 1;
        }
        assert_eq!(counts, [200, 100, 100]);
    }

    #[test]
    fn a_next_hop_without_capacity_gets_nothing() {
        let mut hops = Hops { capacity: vec![0, 100], ..Hops::new(&[0; 2]) };
        assert_eq!(Wcmp {}.pick(&frame(0, FlowId(0)), &mut hops), 1);
    }
}

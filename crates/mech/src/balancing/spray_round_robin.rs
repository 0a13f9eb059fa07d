//! Spraying round robin: frames take the next hops of their set one after the other, whatever their
//! flow.

use rustc_hash::FxHashMap;
use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Arrival, Balancer, NextHops};

/// No parameters.
pub const PARAMS: &[ParamSpec] = &[];

/// The law: the latest next hop of each set.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct SprayRoundRobin {
    latest: FxHashMap<u32, u16>,
}

impl SprayRoundRobin {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// None.
    pub fn read(_: &mut dyn Values) -> Result<SprayRoundRobin, ParamError> {
        Ok(SprayRoundRobin::default())
    }
}

impl Balancer for SprayRoundRobin {
    /// The first frame takes the next hop of its hash, so that switches do not start alike.
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let hop = match self.latest.get(&frame.set) {
            Some(&latest) => (usize::from(latest) + 1) % n,
            None => hops.hashed(n as u64) as usize,
        };
        self.latest.insert(frame.set, hop as u16);
        hop
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::super::tests::{Hops, frame};
    use super::*;

    #[test]
    fn every_set_has_its_own_turn() {
        let mut law = SprayRoundRobin::default();
        let mut hops = Hops { hash: 0.9, ..Hops::new(&[0; 3]) };
        let mut at = |set| law.pick(&Arrival { set, ..frame(0, FlowId(0)) }, &mut hops);
        assert_eq!([at(1), at(1), at(2), at(1), at(1), at(2)], [2, 0, 2, 1, 2, 0]);
    }
}

//! Random spraying: every frame takes a random next hop.

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Arrival, Balancer, NextHops};

/// No parameters.
pub const PARAMS: &[ParamSpec] = &[];

/// The law, which has no state.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct SprayRandom {}

impl SprayRandom {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// None.
    pub fn read(_: &mut dyn Values) -> Result<SprayRandom, ParamError> {
        Ok(SprayRandom {})
    }
}

impl Balancer for SprayRandom {
    fn pick(&mut self, _: &Arrival, hops: &mut dyn NextHops) -> usize {
        hops.any()
    }
}

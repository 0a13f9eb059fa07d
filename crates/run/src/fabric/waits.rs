//! What waits in a fabric at a time: the run is repeated up to it.

use std::ops::ControlFlow;

use xoff_sim::scheduled::{Waits, World};
use xoff_units::Time;
use xoff_units::params::ParamError;

use super::FabricScenario;

impl FabricScenario {
    /// What waits at `at`, and for what. When `look` returns false, the answer is that of the time
    /// reached.
    ///
    /// # Errors
    /// A time after the end of the run, and a fabric that does not fit into memory.
    pub fn waits(&self, at: Time, mut look: impl FnMut(Time) -> bool) -> Result<Waits, ParamError> {
        if at > self.config.until {
            return Err(ParamError::new(
                "TIME",
                format!("{at} is after the end of the run at {}", self.config.until),
                "choose an earlier time",
            ));
        }
        self.fits()?;
        let mut world = World::new(self.config.clone()).map_err(super::execute::refused)?;
        world.advance(at, &mut |now, _| {
            if look(now) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        Ok(world.waits())
    }
}

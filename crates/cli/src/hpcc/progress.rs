//! How far a replay is.

use std::time::Instant;

use indicatif::{HumanCount, HumanDuration, ProgressBar};
use xoff_scenario::hpcc::HpccCase;
use xoff_sim::World;

/// Resolution of the bar.
const STEPS: u64 = 10_000;

/// A bar on stderr; nothing when that is no terminal.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    flows: usize,
}

impl Progress {
    /// Work goes with flows, not with simulated time: a stop time usually lies seconds after the last flow.
    pub fn new(case: &HpccCase) -> Progress {
        let bar = ProgressBar::new(STEPS);
        bar.set_style(crate::terminal::bar("{bar:12} {msg}"));
        Progress { bar, started: Instant::now(), flows: case.flows.len() }
    }

    /// Looks at the world. The time left supposes that the flows to come cost what those before did.
    pub fn update(&self, world: &World) {
        let part = world.completed() as f64 / self.flows.max(1) as f64;
        self.bar.set_position((part * STEPS as f64) as u64);
        let elapsed = self.started.elapsed();
        let left = elapsed.mul_f64(((1.0 - part) / part.max(1e-4)).clamp(0.0, 1e5));
        self.bar.set_message(format!(
            "{} of {} flows, at {:.6} s, {:.1} million events/s, {} left",
            HumanCount(world.completed() as u64),
            HumanCount(self.flows as u64),
            world.now().as_secs_f64(),
            world.events() as f64 / elapsed.as_secs_f64().max(1e-9) / 1e6,
            HumanDuration(left)
        ));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

//! How far a replay is.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use xoff_scenario::hpcc::HpccCase;
use xoff_sim::World;
use xoff_units::Time;

/// Resolution of the bar.
const STEPS: u64 = 10_000;

/// A bar on stderr; nothing when that is no terminal.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    from: Time,
    until: Time,
}

impl Progress {
    /// From the first flow to the stop time. Simulated time is not linear in work, so no time left is guessed from it.
    pub fn new(case: &HpccCase, until: Time) -> Progress {
        let bar = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{bar:12} {msg}");
        bar.set_style(style.unwrap_or(ProgressStyle::default_bar()).progress_chars("━╸ "));
        let from = Time::from_ns(case.flows.first().map_or(0, |f| f.start_ns));
        Progress { bar, started: Instant::now(), from, until }
    }

    /// Looks at the world.
    pub fn update(&self, world: &World) {
        let (now, events) = (world.now(), world.events());
        let part = now.since(self.from).as_secs_f64() / self.until.since(self.from).as_secs_f64().max(1e-12);
        self.bar.set_position((part * STEPS as f64) as u64);
        let per_second = events as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        self.bar.set_message(format!(
            "at {:.6} of {:.6} s, {:.1} million events, {:.1} million/s",
            now.as_secs_f64(),
            self.until.as_secs_f64(),
            events as f64 / 1e6,
            per_second / 1e6
        ));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

//! Progress of work: the one progress bar, on stderr; nothing where that is no terminal.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget};

use crate::caller::{self, Caller};
use crate::terminal;

/// Work that ends sooner shows no bar.
const DELAY: Duration = Duration::from_millis(300);
/// Resolution of the bar.
const STEPS: u64 = 10_000;

/// A bar, or a spinner where the amount of work is unknown. It is removed from the terminal when it
/// is dropped.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    /// The caller that is shown it instead of a terminal.
    caller: Option<Arc<Caller>>,
}

impl Bar {
    /// An empty bar, drawn as a template of `indicatif` says.
    pub fn new(template: &str) -> Bar {
        Bar::of(Some(STEPS), template)
    }

    /// A spinner, drawn as a template of `indicatif` says.
    pub fn spinner(template: &str) -> Bar {
        Bar::of(None, template)
    }

    fn of(steps: Option<u64>, template: &str) -> Bar {
        let caller = caller::present();
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden());
        bar.set_style(terminal::bar(template));
        if caller.is_none() && console::user_attended_stderr() {
            let late = bar.clone();
            thread::spawn(move || {
                thread::sleep(DELAY);
                if !late.is_finished() {
                    late.set_draw_target(ProgressDrawTarget::stderr());
                }
            });
        }
        Bar { bar, started: Instant::now(), caller }
    }

    /// A spinner turns automatically from here on.
    pub fn turn(&self) {
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// A spinner turns by one step.
    pub fn tick(&self) {
        self.bar.tick();
    }

    /// Time since the work started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left when `part` of 1 is done. The estimate supposes that the rest takes as long, for
    /// its size, as the finished part.
    pub fn left(&self, part: f64) -> HumanDuration {
        HumanDuration(self.elapsed().mul_f64(((1.0 - part) / part.max(1e-6)).clamp(0.0, 1e6)))
    }

    /// `part` of 1 is done.
    pub fn done(&self, part: f64) {
        self.step(|s| s.done = part);
        self.bar.set_position((part * STEPS as f64) as u64);
    }

    /// The text next to the bar.
    pub fn message(&self, text: String) {
        self.step(|s| s.what.clone_from(&text));
        self.bar.set_message(text);
    }

    fn step(&self, change: impl FnOnce(&mut caller::Step)) {
        if let Some(caller) = &self.caller {
            caller.at(change);
        }
    }

    /// Removes it from the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

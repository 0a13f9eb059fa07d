//! Progress of work in WebAssembly: lines on stderr that begin with a carriage return, each with the
//! part that is done and a text. The page that runs the command draws them.

use std::io::Write;
use std::time::{Duration, Instant};

/// Time between two lines.
const BETWEEN: Duration = Duration::from_millis(50);

/// A bar, or a spinner where the amount of work is unknown.
pub struct Bar {
    started: Instant,
    state: std::cell::Cell<(f64, Option<Instant>)>,
}

impl Bar {
    /// An empty bar.
    pub fn new(_: &str) -> Bar {
        Bar { started: Instant::now(), state: Default::default() }
    }

    /// A spinner.
    pub fn spinner(template: &str) -> Bar {
        Bar::new(template)
    }

    /// A spinner turns automatically from here on.
    pub fn turn(&self) {}

    /// A spinner turns by one step.
    pub fn tick(&self) {}

    /// Time since the work started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left when `part` of 1 is done. The estimate supposes that the rest takes as long, for
    /// its size, as the finished part.
    pub fn left(&self, part: f64) -> String {
        let left = self.elapsed().mul_f64(((1.0 - part) / part.max(1e-6)).clamp(0.0, 1e6));
        humantime::format_duration(Duration::from_secs(left.as_secs())).to_string()
    }

    /// `part` of 1 is done.
    pub fn done(&self, part: f64) {
        self.state.set((part, self.state.get().1));
    }

    /// The text next to the bar.
    pub fn message(&self, text: String) {
        let (part, last) = self.state.get();
        if last.is_none_or(|last| last.elapsed() >= BETWEEN) {
            self.state.set((part, Some(Instant::now())));
            let _ = writeln!(std::io::stderr(), "\r{part:.4} {text}");
        }
    }

    /// Removes it.
    pub fn clear(&self) {}
}

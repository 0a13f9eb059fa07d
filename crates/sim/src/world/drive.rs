//! Drives a world to its end: the one loop around [`World::run`].

use super::*;

/// Events between two calls of whoever may stop a run, and between two looks at rows and promises: some 10 ms of work. Never
/// changes a result.
pub(super) const SLICE: u64 = 1 << 16;

impl World {
    /// Runs until `until`, events at that very time included, or until the run has ended. `go_on` is called after every stretch of
    /// 65,536 events, to show progress and to ask whether to stop: when it returns false, the run ends as [`Ended::Interrupted`].
    pub fn drive(&mut self, until: Time, mut go_on: impl FnMut(&World) -> bool) -> Ended {
        loop {
            if let Some(ended) = self.run(until, SLICE) {
                return ended;
            }
            if !go_on(self) {
                return Ended::Interrupted;
            }
        }
    }
}

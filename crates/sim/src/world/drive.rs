//! Drives a world to its end: the one loop around [`World::run`].

use super::*;

/// Events between two calls of whoever may stop a run, and between two looks at rows and promises: some 10 ms of work. Never
/// changes a result.
pub const SLICE: u64 = 1 << 16;

impl World {
    /// Runs until `until`, events at that very time included, or until the run has ended. `go_on` is called after every stretch of
    /// 65,536 events, to show progress and to ask whether to stop: when it returns false, the run ends as [`Ended::Interrupted`].
    pub fn drive(&mut self, until: Time, mut go_on: impl FnMut(&World) -> bool) -> Ended {
        self.drive_by(until, SLICE, |world| go_on(world).then_some(SLICE))
    }

    /// [`Self::drive`] in stretches of so many events: at first `slice`, then what `next` answers; `None`: the run ends as
    /// [`Ended::Interrupted`]. Never changes a result.
    pub fn drive_by(&mut self, until: Time, mut slice: u64, mut next: impl FnMut(&World) -> Option<u64>) -> Ended {
        loop {
            if let Some(ended) = self.run(until, slice) {
                return ended;
            }
            match next(self) {
                Some(events) => slice = events,
                None => return Ended::Interrupted,
            }
        }
    }
}

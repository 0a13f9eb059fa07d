//! Drives a world to its end: the one loop around [`World::run`].

use super::*;

/// Events between two calls of whoever may stop a run, and between two looks at rows and promises:
/// some 10 ms of work. Never changes a result.
pub const SLICE: u64 = 1 << 16;
/// Factor of the work in a stretch on threads: each stretch starts new threads, and their mail
/// begins with empty memory.
const THREADS_DO: u64 = 8;

impl World {
    /// Runs until `until`, events at that very time included, or until the run has ended. `go_on`
    /// is called after every stretch of 65,536 events (eight times as many on each of several
    /// threads), to show progress and to ask whether to stop: when it returns false, the run ends
    /// as [`Ended::Interrupted`].
    pub fn drive(&mut self, until: Time, mut go_on: impl FnMut(&World) -> bool) -> Ended {
        let slice = self.slice();
        self.drive_by(until, slice, |world| go_on(world).then_some(slice))
    }

    /// [`Self::drive`] in stretches of so many events: at first `slice`, then what `next` answers;
    /// `None`: the run ends as [`Ended::Interrupted`]. Never changes a result.
    pub fn drive_by(
        &mut self,
        until: Time,
        slice: u64,
        mut next: impl FnMut(&World) -> Option<u64>,
    ) -> Ended {
        let mut slice = self.others.joined(slice, u64::min);
        loop {
            if let Some(ended) = self.run(until, slice) {
                return ended;
            }
            // One process that is to stop stops all.
            let go_on = next(self);
            match self.others.joined(go_on, |a, b| a.zip(b).map(|(a, b)| a.min(b))) {
                Some(events) => slice = events,
                None => return Ended::Interrupted,
            }
        }
    }

    /// Events of a stretch that pays, for each partition of the network.
    pub fn slice(&self) -> u64 {
        if self.partitions.len() > 1 || self.others.exist() { SLICE * THREADS_DO } else { SLICE }
    }
}

//! Partitions of a network that go from window to window in step.
//!
//! ```text
//!   partition 0   run to T + lookahead ----|==| run to T + lookahead ----|==|  ...
//!   partition 1   run to T + lookahead ----|==| run to T + lookahead ----|==|  ...
//!                                        meeting: where all stand, T: earliest next; frames change hands
//! ```
//!
//! Conservative synchronisation (Chandy, Misra, Bryant): an event of a partition at time T reaches
//! another one no sooner than T + lookahead, so up to there each may run on its own. Every
//! partition draws the same conclusions from the same published figures; which one runs when has no
//! influence on anything.
//!
//! They run one after the other on this thread ([`run_in_turn`]), on several threads
//! ([`threads`](super::threads)), or each in a process of its own
//! ([`on_processes`](super::on_processes)).

use super::*;

/// State of a partition after a window. Joined, the states are the global state.
#[derive(Clone, Copy, Debug, State)]
pub(super) struct Standing {
    /// Time of the next event before the bound, frames that are on their way to other partitions
    /// included; [`u64::MAX`]: none [ps].
    pub next: u64,
    /// Events handled.
    pub events: u64,
    /// Flows that are complete and that the world does not know of yet.
    pub completions: u64,
    /// Many rows are kept, which should be taken.
    pub full: bool,
    /// More is to come than calls that find nothing due, as far as the run looks for its end; see
    /// [`Partition::rests`].
    pub busy: bool,
    /// The time of the latest event.
    pub reached: Time,
}

impl Standing {
    /// State of no partition.
    pub const NOWHERE: Standing = Standing {
        next: u64::MAX,
        events: 0,
        completions: 0,
        full: false,
        busy: false,
        reached: Time::ZERO,
    };

    pub fn of(partition: &mut Partition, task: &Task) -> Standing {
        let bound = task.bound;
        let own = partition.peek().filter(|m| *m < bound).map_or(u64::MAX, |m| m.time.0);
        // Frames under way change hands now.
        let first_outgoing = std::mem::replace(&mut partition.core.first_outgoing, EventKey::NEVER);
        let under_way = Some(first_outgoing).filter(|at| *at < bound);
        let busy = task.looks.is_some() && (first_outgoing < EventKey::NEVER || !partition.rests());
        let core = &partition.core;
        Standing {
            next: own.min(under_way.map_or(u64::MAX, |at| at.time.0)),
            events: core.events,
            completions: core.monitor.flows.completions.len() as u64,
            full: partition.has_many_rows(),
            busy,
            reached: core.clock.now,
        }
    }

    /// Combination of two states.
    pub fn and(self, o: Standing) -> Standing {
        Standing {
            next: self.next.min(o.next),
            events: self.events + o.events,
            completions: self.completions + o.completions,
            full: self.full | o.full,
            busy: self.busy | o.busy,
            reached: self.reached.max(o.reached),
        }
    }
}

/// Meeting of one partition with the others.
pub(super) trait Meeting {
    /// Publishes where this partition stands and hands over its outgoing frames; takes in those
    /// that are for it, and returns where all stand. No frame is on its way between partitions once
    /// all have met.
    fn meet(&mut self, mine: Standing, core: &mut Core) -> Standing;
}

/// Lookahead of partitions.
#[derive(Clone, Copy)]
pub(crate) struct Lookahead {
    /// Shortest delay between two of them.
    pub delay: Span,
    /// Length of the windows in which their units have their turns; `None`: events are handled in
    /// one order.
    pub window: Option<Span>,
}

impl Lookahead {
    /// The time before which each may run on its own if the next event of all is at `next`. Windows
    /// of units are not cut: each half would be a pass over all of them.
    fn from(self, next: u64) -> Time {
        let reach = next.saturating_add(self.delay.0);
        let whole = self
            .window
            .map(|w| reach - reach % w.0.max(1))
            .filter(|&whole| whole > next && reach < u64::MAX);
        Time(whole.unwrap_or(reach))
    }
}

/// Task of a stretch.
#[derive(Clone, Copy)]
pub(super) struct Task {
    /// Everything before this time.
    pub bound: EventKey,
    /// Approximate number of events in all.
    pub events: u64,
    /// Largest number of windows.
    pub windows: u64,
    pub lookahead: Lookahead,
    /// Looks whether the flows are complete, if the run is to stop then, and how many are still to
    /// be completed.
    pub looks: Option<(DoneLooks, usize)>,
}

/// Result of a stretch.
pub(super) struct Stretch {
    /// Windows it took.
    pub windows: u64,
    pub looks: Option<DoneLooks>,
    /// Global state at its end.
    pub standing: Standing,
}

/// The course of one stretch; every partition goes through the same one.
pub(super) struct Course {
    task: Task,
    /// Events handled at which it ends; not known before the first meeting.
    stop: Option<u64>,
    windows: u64,
}

impl Course {
    pub fn new(task: Task) -> Course {
        Course { task, stop: None, windows: 0 }
    }

    /// The next window: the time before which each partition may run on its own. Or the stretch has
    /// ended.
    pub fn go_on(&mut self, s: &Standing) -> Result<EventKey, Stretch> {
        let end = |c: &Course| {
            Err(Stretch { windows: c.windows, looks: c.task.looks.map(|l| l.0), standing: *s })
        };
        let stop = *self.stop.get_or_insert(s.events.saturating_add(self.task.events));
        if s.next == u64::MAX || s.events >= stop || s.full || self.windows >= self.task.windows {
            return end(self);
        }
        let mut window =
            self.task.bound.min(EventKey { time: self.task.lookahead.from(s.next), rank: 0 });
        if let Some((looks, left)) = &mut self.task.looks {
            if looks.due(Time(s.next)) && (s.completions >= *left as u64 || !s.busy) {
                return end(self);
            }
            window = window.min(looks.move_on(Time(s.next)));
        }
        self.windows += 1;
        Ok(window)
    }
}

/// Runs a task with one partition, which meets the others after each window. All of them leave
/// after the same one.
pub(super) fn run(partition: &mut Partition, meeting: &mut impl Meeting, task: Task) -> Stretch {
    let mut course = Course::new(task);
    loop {
        let mine = Standing::of(partition, &task);
        let all = meeting.meet(mine, &mut partition.core);
        match course.go_on(&all) {
            Ok(end) => partition.run_window(end),
            Err(stretch) => return stretch,
        }
    }
}

/// Runs a task one partition after the other on this thread: for periods in which a window has too
/// little work to pay for a meeting of threads.
pub(super) fn run_in_turn(partitions: &mut [Partition], task: Task) -> Stretch {
    let mut course = Course::new(task);
    loop {
        let all = partitions
            .iter_mut()
            .map(|p| Standing::of(p, &task))
            .fold(Standing::NOWHERE, Standing::and);
        exchange(partitions);
        match course.go_on(&all) {
            Ok(end) => partitions.iter_mut().for_each(|p| p.run_window(end)),
            Err(stretch) => return stretch,
        }
    }
}

/// Hands frames over that are on their way between partitions. Whoever lets nodes act outside of a
/// window has to call it, or the next window would begin without knowing of them.
pub(super) fn exchange(partitions: &mut [Partition]) {
    for from in 0..partitions.len() {
        for to in 0..partitions.len() {
            let arrivals = std::mem::take(&mut partitions[from].core.outgoing[to]);
            arrivals.into_iter().for_each(|c| _ = partitions[to].core.enter(c));
        }
        partitions[from].core.first_outgoing = EventKey::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_meet_where_windows_end() {
        let reach = |delay, window: Option<u64>, next| {
            Lookahead { delay: Span(delay), window: window.map(Span) }.from(next).0
        };
        assert_eq!(
            [
                reach(1000, Some(1000), 0),
                reach(1000, Some(1000), 999),
                reach(1000, Some(1000), 1000)
            ],
            [1000, 1000, 2000]
        );
        // Longer cables between partitions than between units: several windows at once.
        assert_eq!(reach(5000, Some(1000), 1200), 6000);
        // Shorter ones, or none at all: the present window cannot be reached in one go, and the end
        // of time is no end of a window.
        assert_eq!([reach(300, Some(1000), 1200), reach(300, None, 1200)], [1500, 1500]);
        assert_eq!(reach(u64::MAX, Some(1000), 7), u64::MAX);
    }
}

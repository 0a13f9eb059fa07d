//! Iterations that were not simulated, because each equals the previous ones: the records of these
//! are repeated for them.
//!
//! ```text
//!   of this rank    0 1 2 3 | 4 5          iterations gone through; at | it leapt over 2 rounds of 2 iterations each
//!   of the run      0 1 2 3 2 3 2 3 4 5    the last round before | comes again, one length later each time
//! ```
//!
//! Each operation, message and iteration has a place of its own for |: behind what had ended by
//! then.

use xoff_units::paged::Items;
use xoff_units::state::State;
use xoff_units::{Span, Time};

use crate::jobs::machine::{Log, Machine, OpTimes};

/// Skipped rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Leap {
    /// Iterations that came again.
    pub round: u32,
    /// Number of rounds.
    pub times: u32,
    /// Length of each round.
    pub length: Span,
}

impl Leap {
    /// Iterations that it has skipped.
    pub fn iterations(&self) -> u32 {
        self.round * self.times
    }

    /// Total skipped time.
    pub fn skipped(&self) -> Span {
        Span(self.length.0 * self.times as u64)
    }
}

/// Position of a rank at a skip, in simulated iterations.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Stood {
    /// Iteration.
    pub iteration: u32,
    /// By operation: had it ended in this iteration?
    pub ended: Vec<bool>,
}

/// Complete sequence from the simulated items and the skipped rounds. `leaps`: each with the number
/// of items that had ended by then. `later` shifts an item by a number of rounds of that skip
/// (counted from the first).
///
/// At each leap a whole round had ended.
pub fn unfold<T>(
    gone: &[T],
    leaps: &[(usize, Leap)],
    later: impl Fn(&T, usize, u32) -> T,
    keep: impl Fn(&T, usize) -> T,
) -> Vec<T> {
    let mut all = Vec::new();
    let mut from = 0;
    for (nth, &(ended, leap)) in leaps.iter().enumerate() {
        all.extend(gone[from..ended].iter().map(|t| keep(t, nth)));
        for time in 1..=leap.times {
            all.extend(
                gone[ended - leap.round as usize..ended].iter().map(|t| later(t, nth, time)),
            );
        }
        from = ended;
    }
    all.extend(gone[from.min(gone.len())..].iter().map(|t| keep(t, leaps.len())));
    all
}

impl OpTimes {
    fn later(self, by: Span) -> OpTimes {
        let later = |t: Time| if t == Time::NEVER { t } else { t + by };
        OpTimes {
            begun: later(self.begun),
            handed: later(self.handed),
            ended: later(self.ended),
            ..self
        }
    }
}

impl Machine {
    /// Present position.
    pub fn stands(&self) -> Stood {
        let ops = self.waits.len();
        let now = self.log.ops.len().saturating_sub(ops);
        Stood {
            iteration: self.iteration,
            ended: self
                .log
                .ops
                .range(now, self.log.ops.len())
                .map(|t| t.ended != Time::NEVER)
                .collect(),
        }
    }

    /// Iterations that it may leap over: one is left to end with.
    pub fn may_leap(&self) -> u32 {
        self.job.iterations - 1 - self.skipped - self.iteration
    }

    /// Marks `iterations` iterations as over without simulating them.
    pub fn leap(&mut self, iterations: u32) {
        self.skipped += iterations;
    }

    /// Start of each simulated iteration, the latest last; with local times.
    pub fn begun(&self) -> &[(Time, Option<Time>)] {
        &self.log.iterations
    }
}

impl Log {
    /// The log of the run, from that of a rank that has leapt: its times are those without the
    /// skipped time.
    pub fn unfolded(self, leaps: &[(Stood, Leap)]) -> Log {
        if leaps.is_empty() {
            return self;
        }
        let before: Vec<Span> = std::iter::once(Span::ZERO)
            .chain(leaps.iter().scan(Span::ZERO, |sum, (_, leap)| {
                *sum += leap.skipped();
                Some(*sum)
            }))
            .collect();
        let by = |nth: usize, time: u32| before[nth] + Span(leaps[nth].1.length.0 * time as u64);
        let iterations: Vec<(usize, Leap)> =
            leaps.iter().map(|(s, leap)| (s.iteration as usize, *leap)).collect();
        let both = |i: &(Time, Option<Time>), by: Span| (i.0 + by, i.1.map(|t| t + by));
        let unfolded = unfold(
            &self.iterations,
            &iterations,
            |i, nth, time| both(i, by(nth, time)),
            |i, nth| both(i, before[nth]),
        );
        let ops = self.ops.len() / self.iterations.len().max(1);
        let mut all = vec![OpTimes::NOT_YET; unfolded.len() * ops];
        for op in 0..ops {
            let gone: Vec<OpTimes> = self.ops.range(op, self.ops.len()).step_by(ops).collect();
            let ended =
                |(s, leap): &(Stood, Leap)| (s.iteration as usize + s.ended[op] as usize, *leap);
            let leaps: Vec<(usize, Leap)> = leaps.iter().map(ended).collect();
            let run = unfold(
                &gone,
                &leaps,
                |t, nth, time| t.later(by(nth, time)),
                |t, nth| t.later(before[nth]),
            );
            run.into_iter().enumerate().for_each(|(iteration, t)| all[iteration * ops + op] = t);
        }
        Log { ops: Items::Kept(all), iterations: unfolded }
    }
}

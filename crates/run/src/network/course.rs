//! The course of a run: activity of every port between any two of a few hundred times, for the
//! report at the end of a run.
//!
//! ```text
//!   stretches of events        |----|----|----|----|          each as long as a look at all ports pays for
//!   as many polls as there may be: every other one goes, and the stretches become twice as long
//!                              |---------|---------|  ...
//! ```
//!
//! The looks read counters and buffers, between stretches of events that the loop around a run has
//! anyway. So nothing that a run records depends on them. Differences between two of them - bytes,
//! time stopped, marks - are exact at any distance.

use xoff_sim::{PortSample, SLICE, Waiter, World};
use xoff_units::state::State;
use xoff_units::{Span, Time};

/// Ports times looks that are kept at most: some 32 MB.
const CELLS_MAX: usize = 1_000_000;
/// Looks that are kept at most.
const LOOKS_MAX: usize = 600;
/// Steps into which a run is divided at most: shorter ones would show single frames.
const STEPS_MAX: u64 = 1200;
/// Doublings of the planned time of polls until it is the time of the whole run.
const HORIZONS: u32 = 20;
/// Networks in which fewer looks would fit have no course.
const LOOKS_MIN: usize = 16;
/// Events between two polls, for each port. In a network whose state a cache does not hold, a look
/// at a port costs some 400 ns, four times an event: looks then cost about 3 % of a run, and where
/// the step has doubled less.
const EVENTS_EACH: u64 = 96;
/// Events between two samples while few ports have been visited, so that a short run also has time
/// series.
const EVENTS_EACH_FIRST: u64 = 4;
/// Ports that may be visited so: 20 to 100 ms.
const VISITS_FREE: usize = 250_000;
/// Number of ports up to which the whole run is sampled like this: a poll costs little, and each
/// doubling of the step halves the cost.
const PORTS_FEW: usize = 2000;
/// Number of frames that polls of waiting ports may visit in all, plus one for every other event. A
/// frame costs a few nanoseconds.
const FRAMES_FREE: u64 = 2_000_000;
/// Parts of buffers that all these polls may keep together.
const SHARES_MAX: usize = 200_000;

/// A look at all ports.
#[derive(Clone, Debug, State)]
pub struct PortLook {
    /// Time of the run.
    pub at: Time,
    /// By number of the port.
    pub ports: Vec<PortSample>,
    /// The ports that wait, and their buffers; `None`: left out, because it would have cost too
    /// much.
    pub waiters: Option<Vec<Waiter>>,
}

/// The course of a run.
#[derive(Clone, Debug, Default, State)]
pub struct Course {
    /// In order of time, from the start of the run on.
    pub looks: Vec<PortLook>,
    /// Ports of the network.
    ports: usize,
    /// Ports that looks have visited.
    visits: usize,
    /// Events between two polls.
    step: u64,
    /// The least time between two polls.
    apart: Span,
    /// Latest end of the run.
    until: Time,
    /// The least time between two polls is that of a run that ends here: a run that is stopped
    /// early has a course too.
    horizon: Time,
    /// Frames that looks at waiting ports have visited.
    visited: u64,
    /// Parts of buffers in all polls.
    shares: usize,
    /// Marks the last poll.
    ends: bool,
}

impl Course {
    /// Time series of a world that is about to start and ends at `until` at the latest.
    pub fn new(world: &World, ports: usize, until: Time) -> Course {
        let step = share(EVENTS_EACH_FIRST, ports, world).max(64);
        // Threads are worth their start in long stretches only; a short run has no time for these.
        let step = if world.threads() > 1 { step.max(SLICE / 16) } else { step };
        let horizon = if until == Time::NEVER { until } else { Time(until.0 >> HORIZONS) };
        let mut course = Course { ports, step, until, horizon, ..Course::default() };
        course.set_apart();
        course.note(world);
        course
    }

    /// Looks that fit.
    fn looks_max(&self) -> usize {
        match CELLS_MAX / self.ports.max(1) {
            few if few < LOOKS_MIN => 0,
            many => many.min(LOOKS_MAX) & !1,
        }
    }

    /// Reason for a missing time series; `None`: there is one.
    pub fn absent_because(&self) -> Option<String> {
        (self.looks_max() == 0).then(|| {
            format!(
                "{} ports are too many for time series of all ports: the report contains totals and the recordings of \
                              [probes]",
                self.ports
            )
        })
    }

    /// Events until the next poll.
    pub(super) fn step(&self, world: &World) -> u64 {
        // Each thread handles as many.
        let shared = || (self.step / world.threads() as u64).max(1);
        if self.looks_max() == 0 { world.slice() } else { shared() }
    }

    /// Looks at every port at the end of the run, so that all that was counted is in the last step.
    pub fn end(&mut self, world: &World) {
        // No horizon, and any time since the poll before is long enough.
        (self.horizon, self.apart, self.ends) = (Time::NEVER, Span::ZERO, true);
        // The run may have ended before the last polls.
        let now = world.now();
        self.looks.retain(|l| l.at < now);
        self.shares = self.looks.iter().map(|l| shares(&l.waiters)).sum();
        self.note(world);
    }

    /// Looks at every port now, if the last poll is long enough ago.
    pub fn note(&mut self, world: &World) {
        let max = self.looks_max();
        let now = world.now();
        while max > 0 && now > self.horizon {
            self.widen();
        }
        if max == 0
            || self.looks.last().is_some_and(|l| now <= l.at || now.since(l.at) < self.apart)
        {
            return;
        }
        if self.looks.len() >= max {
            self.thin_out();
        }
        let frames = world.frames_under_way();
        let fits = self.shares < SHARES_MAX
            && self.visited + frames <= FRAMES_FREE + world.events_handled() / 2;
        let waiters = (fits || self.ends).then(|| world.waiters());
        // Where no port waits, no frame is visited.
        if waiters.as_ref().is_some_and(|w| !w.is_empty()) {
            self.visited += frames;
        }
        self.shares += shares(&waiters);
        self.visits += self.ports;
        if self.ports > PORTS_FEW && self.visits > VISITS_FREE {
            self.step = self.step.max(share(EVENTS_EACH, self.ports, world));
        }
        // Least number of polls of a run that is long enough: each stretch starts the threads once.
        if world.threads() > 1 && self.visits > VISITS_FREE / 4 && self.looks.len() >= 2 * LOOKS_MIN
        {
            self.step = self.step.max(world.slice());
        }
        self.looks.push(PortLook { at: now, ports: world.sample_ports(), waiters });
    }

    /// The least time between two polls: up to the horizon half as many as fit, and never more than
    /// that of the whole run.
    fn set_apart(&mut self) {
        let half = self.looks_max() as u64 / 2;
        let apart = (self.horizon.0 / half.max(1)).min(self.until.0 / STEPS_MAX);
        self.apart = if self.until == Time::NEVER { Span::ZERO } else { Span(apart) };
    }

    /// The horizon is twice as far away; looks that are now too near to each other go.
    fn widen(&mut self) {
        self.horizon = if self.horizon < self.until {
            Time((self.horizon.0 * 2).clamp(1, self.until.0))
        } else {
            Time::NEVER
        };
        self.set_apart();
        let (mut last, apart) = (None, self.apart);
        self.looks.retain(|l| {
            let kept = last.is_none_or(|at: Time| l.at.since(at) >= apart);
            last = if kept { Some(l.at) } else { last };
            kept
        });
        self.shares = self.looks.iter().map(|l| shares(&l.waiters)).sum();
    }

    /// Every other look goes; the first stays, where counters are zero.
    fn thin_out(&mut self) {
        let mut nth = 0;
        self.looks.retain(|_| {
            nth += 1;
            nth % 2 == 1
        });
        self.step *= 2;
        self.shares = self.looks.iter().map(|l| shares(&l.waiters)).sum();
    }
}

/// Events of a stretch for each thread, from the number per port: one thread polls as often as
/// several.
fn share(each: u64, ports: usize, world: &World) -> u64 {
    each * ports as u64 / world.threads() as u64
}

fn shares(waiters: &Option<Vec<Waiter>>) -> usize {
    waiters.iter().flatten().map(|w| w.behind.len()).sum()
}

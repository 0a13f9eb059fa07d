//! Partitions of a network on threads of their own, in step.
//!
//! ```text
//!   partition 0   take in | next ------|==| run to T + lookahead | hand over --|==|  ...
//!   partition 1   take in | next ------|==| run to T + lookahead | hand over --|==|  ...
//!                                  barrier   T: earliest next        barrier
//! ```
//!
//! Conservative synchronisation (Chandy, Misra, Bryant): what a partition does from time T on reaches another one no sooner
//! than T + lookahead, so up to there each may run on its own. Every thread draws the same conclusions from the same
//! published figures; which thread runs when has no influence on anything.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::*;
use crate::line::RemoteArrival;

/// What a partition publishes before a barrier; together they make a [`Standing`].
#[derive(Default)]
struct Posted {
    next: AtomicU64,
    events: AtomicU64,
    completions: AtomicU64,
    full: AtomicU64,
}

/// Waits by looking, then by sleeping: a window often lasts less than putting a thread to sleep and waking it up, but
/// there may be more threads than free cores.
struct Barrier {
    threads: u32,
    waiting: AtomicU32,
    round: AtomicU32,
    /// A thread will never come again.
    broken: AtomicBool,
}

/// Breaks the barrier when its thread panics, so that none waits for it.
struct Breaks<'a>(&'a Barrier);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
            self.0.open();
        }
    }
}

impl Barrier {
    /// Looks before a thread goes to sleep: some microseconds.
    const LOOKS: u32 = 300;

    fn new(threads: usize) -> Barrier {
        let zero = || AtomicU32::new(0);
        Barrier { threads: threads as u32, waiting: zero(), round: zero(), broken: AtomicBool::new(false) }
    }

    fn open(&self) {
        self.round.fetch_add(1, Ordering::Release);
        atomic_wait::wake_all(&self.round);
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.open();
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            looks += 1;
            if looks < Self::LOOKS { std::hint::spin_loop() } else { atomic_wait::wait(&self.round, round) }
        }
        assert!(!self.broken.load(Ordering::Relaxed), "another thread of this run failed");
    }
}

/// What all threads see.
struct Shared {
    posted: Vec<Posted>,
    /// Frames on their way, by sending and receiving partition.
    mail: Vec<Vec<Mutex<Vec<RemoteArrival>>>>,
    barrier: Barrier,
}

/// What a stretch is to do.
#[derive(Clone, Copy)]
pub(super) struct Task {
    /// Everything before this time.
    pub bound: EventKey,
    /// About so many events altogether.
    pub events: u64,
    /// Shortest delay between two partitions.
    pub lookahead: Span,
    /// Looks whether the flows are complete, if the run is to stop then, and how many are still to be completed.
    pub looks: Option<(DoneLooks, usize)>,
}

/// How a stretch went.
pub(super) struct Stretch {
    /// Windows it took.
    pub windows: u64,
    pub looks: Option<DoneLooks>,
}

/// The course of one stretch; every thread goes through the same one.
struct Course {
    task: Task,
    /// Events handled at which it ends.
    stop: u64,
    windows: u64,
}

/// Where things stand between two windows.
struct Standing {
    /// Time of the next event before the bound; [`u64::MAX`]: none [ps].
    next: u64,
    events: u64,
    completions: usize,
    /// Some partition keeps many rows, which should be taken.
    full: bool,
}

impl Course {
    fn new(partitions: &[Partition], task: Task) -> Course {
        let events = partitions.iter().map(|p| p.core.events).sum::<u64>();
        Course { stop: events.saturating_add(task.events), task, windows: 0 }
    }

    /// The next window: the time before which each partition may run on its own. Or the stretch has ended.
    fn go_on(&mut self, s: &Standing) -> Result<EventKey, Stretch> {
        let end = |c: &Course| Err(Stretch { windows: c.windows, looks: c.task.looks.map(|l| l.0) });
        if s.next == u64::MAX || s.events >= self.stop || s.full {
            return end(self);
        }
        let mut window = self.task.bound.min(EventKey { time: Time(s.next) + self.task.lookahead, rank: 0 });
        if let Some((looks, left)) = &mut self.task.looks {
            if looks.due(Time(s.next)) && s.completions >= *left {
                return end(self);
            }
            window = window.min(looks.move_on(Time(s.next)));
        }
        self.windows += 1;
        Ok(window)
    }
}

/// Time of the next event before `bound`; [`u64::MAX`]: none [ps].
fn next_before(partition: &mut Partition, bound: EventKey) -> u64 {
    partition.peek().filter(|m| *m < bound).map_or(u64::MAX, |m| m.time.0)
}

/// Does a task window by window, one partition after the other on this thread: for stretches in which a window holds too little
/// work to pay for two meetings.
pub(super) fn run_in_turn(partitions: &mut [Partition], task: Task) -> Stretch {
    let mut course = Course::new(partitions, task);
    loop {
        let standing = Standing {
            next: partitions.iter_mut().map(|p| next_before(p, task.bound)).min().unwrap_or(u64::MAX),
            events: partitions.iter().map(|p| p.core.events).sum(),
            completions: partitions.iter().map(|p| p.core.monitor.flows.completions.len()).sum(),
            full: partitions.iter().any(Partition::has_many_rows),
        };
        let end = match course.go_on(&standing) {
            Ok(end) => end,
            Err(stretch) => return stretch,
        };
        partitions.iter_mut().for_each(|p| p.run_window(end));
        exchange(partitions);
    }
}

/// Hands frames over that are on their way between partitions. Whoever lets nodes act outside of a window has to call it, or the
/// next window would begin without knowing of them.
pub(super) fn exchange(partitions: &mut [Partition]) {
    for from in 0..partitions.len() {
        for to in 0..partitions.len() {
            let arrivals = std::mem::take(&mut partitions[from].core.outgoing[to]);
            arrivals.into_iter().for_each(|c| _ = partitions[to].core.enter(c));
        }
    }
}

/// Does a task with every partition on its own thread.
pub(super) fn run(partitions: &mut [Partition], task: Task) -> Stretch {
    let n = partitions.len();
    let shared = Shared {
        posted: (0..n).map(|_| Posted::default()).collect(),
        mail: (0..n).map(|_| (0..n).map(|_| Mutex::default()).collect()).collect(),
        barrier: Barrier::new(n),
    };
    let courses: Vec<Course> = (0..n).map(|_| Course::new(partitions, task)).collect();
    let shared = &shared;
    std::thread::scope(|scope| {
        let mut work = partitions.iter_mut().zip(courses).enumerate();
        let here = work.next();
        let others: Vec<_> =
            work.map(|(me, (partition, course))| scope.spawn(move || run_partition(partition, me, shared, course))).collect();
        let stretch = here.map(|(me, (partition, course))| run_partition(partition, me, shared, course));
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        stretch.expect("a world has a partition")
    })
}

/// One partition, window by window. All threads leave after the same window, with no frame on its way between partitions.
fn run_partition(partition: &mut Partition, me: usize, shared: &Shared, mut course: Course) -> Stretch {
    let _breaks = Breaks(&shared.barrier);
    let posted = &shared.posted[me];
    loop {
        for from in &shared.mail {
            let arrived = std::mem::take(&mut *from[me].lock().expect("no thread panics while it holds mail"));
            arrived.into_iter().for_each(|c| _ = partition.core.enter(c));
        }
        posted.next.store(next_before(partition, course.task.bound), Ordering::Relaxed);
        posted.events.store(partition.core.events, Ordering::Relaxed);
        posted.completions.store(partition.core.monitor.flows.completions.len() as u64, Ordering::Relaxed);
        posted.full.store(partition.has_many_rows() as u64, Ordering::Relaxed);
        shared.barrier.wait();
        let all = |of: fn(&Posted) -> &AtomicU64| shared.posted.iter().map(move |n| of(n).load(Ordering::Relaxed));
        let standing = Standing {
            next: all(|n| &n.next).min().unwrap_or(u64::MAX),
            events: all(|n| &n.events).sum(),
            completions: all(|n| &n.completions).sum::<u64>() as usize,
            full: all(|n| &n.full).any(|f| f > 0),
        };
        match course.go_on(&standing) {
            Ok(end) => partition.run_window(end),
            Err(stretch) => return stretch,
        }
        for (to, frames) in partition.core.outgoing.iter_mut().enumerate() {
            if !frames.is_empty() {
                shared.mail[me][to].lock().expect("no thread panics while it holds mail").append(frames);
            }
        }
        shared.barrier.wait();
    }
}

//! Partitions of a network on several threads, which meet in memory.
//!
//! ```text
//!   thread 0   partition 0: takes mail[..][0], runs, posts | mail[0][..] --|==| sum of all posted
//!   thread 1   partition 1: takes mail[..][1], runs, posts | mail[1][..] --|==| sum of all posted
//!                                                                        barrier
//! ```
//!
//! One barrier a window is enough, because mail that is posted before the barrier is read only
//! after it: a thread that is ahead already writes for the next meeting, in the other of two sets.
//!
//! There are no more threads than cores. In each window every partition is run by the first thread
//! that is free, its own if possible: while the system runs something else on one core, the thread
//! on the other core takes over partitions that have not begun.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::meeting::{Course, Standing, Stretch, Task};
use super::*;
use crate::wire::line::RemoteArrival;

/// A [`Standing`] that others can read.
#[derive(Default)]
#[repr(align(64))] // a cache line of its own
struct Posted {
    next: AtomicU64,
    events: AtomicU64,
    completions: AtomicU64,
    full: AtomicBool,
    busy: AtomicBool,
    reached: AtomicU64,
}

impl Posted {
    fn post(&self, s: Standing) {
        self.next.store(s.next, Ordering::Relaxed);
        self.events.store(s.events, Ordering::Relaxed);
        self.completions.store(s.completions, Ordering::Relaxed);
        self.full.store(s.full, Ordering::Relaxed);
        self.busy.store(s.busy, Ordering::Relaxed);
        self.reached.store(s.reached.0, Ordering::Relaxed);
    }

    fn standing(&self) -> Standing {
        Standing {
            next: self.next.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
            completions: self.completions.load(Ordering::Relaxed),
            full: self.full.load(Ordering::Relaxed),
            busy: self.busy.load(Ordering::Relaxed),
            reached: Time(self.reached.load(Ordering::Relaxed)),
        }
    }
}

/// Waits by looking, then by sleeping: a window often lasts less than putting a thread to sleep and
/// waking it up, but its core may be needed by others.
pub(crate) struct Barrier {
    threads: u32,
    waiting: AtomicU32,
    round: AtomicU32,
    /// A thread will never come again.
    broken: AtomicBool,
}

/// Breaks the barrier when its thread panics, so that none waits for it.
pub(crate) struct Breaks<'a>(pub &'a Barrier);

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

    pub fn new(threads: usize) -> Barrier {
        let zero = || AtomicU32::new(0);
        Barrier {
            threads: threads as u32,
            waiting: zero(),
            round: zero(),
            broken: AtomicBool::new(false),
        }
    }

    fn open(&self) {
        self.round.fetch_add(1, Ordering::Release);
        #[cfg(not(target_family = "wasm"))]
        atomic_wait::wake_all(&self.round);
    }

    pub fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.open();
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            looks += 1;
            if looks < Self::LOOKS {
                std::hint::spin_loop()
            } else {
                #[cfg(not(target_family = "wasm"))]
                atomic_wait::wait(&self.round, round)
            }
        }
        assert!(!self.broken.load(Ordering::Relaxed), "another thread of this run failed");
    }
}

/// Published values and mail of one meeting.
struct Board {
    posted: Vec<Posted>,
    /// Frames on their way, by sending and receiving partition.
    mail: Vec<Vec<Mutex<Vec<RemoteArrival>>>>,
}

impl Board {
    fn new(threads: usize) -> Board {
        let mailboxes = || (0..threads).map(|_| Mutex::default()).collect();
        Board {
            posted: (0..threads).map(|_| Posted::default()).collect(),
            mail: (0..threads).map(|_| mailboxes()).collect(),
        }
    }
}

/// State that all threads see.
struct Shared<'a> {
    partitions: Vec<Mutex<&'a mut Partition>>,
    /// By partition: rounds for which a thread has taken it.
    taken: Vec<AtomicU32>,
    /// For this meeting and for the next one, alternating.
    boards: [Board; 2],
    barrier: Barrier,
    task: Task,
}

const HELD: &str = "no thread panics while it holds a partition or mail";

impl Shared<'_> {
    /// A round: `act` for each partition that no other thread has taken, `first` before others.
    fn each(&self, round: u32, first: usize, act: impl Fn(usize, &mut Partition)) {
        let n = self.partitions.len();
        for p in (0..n).map(|p| (first + p) % n) {
            let taken = &self.taken[p];
            if taken
                .compare_exchange(round, round + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                act(p, &mut self.partitions[p].lock().expect(HELD));
            }
        }
    }

    /// A partition takes the frames that others sent before a meeting.
    fn take_mail(&self, board: &Board, p: usize, core: &mut Core) {
        for from in &board.mail {
            from[p].lock().expect(HELD).drain(..).for_each(|c| _ = core.enter(c));
        }
    }

    /// Course of one thread.
    fn run(&self, first: usize) -> Stretch {
        let mut course = Course::new(self.task);
        let mut window = None;
        for round in 0.. {
            let [here, before] = [round, round + 1].map(|n| &self.boards[n as usize % 2]);
            self.each(round, first, |p, partition| {
                if let Some(end) = window {
                    self.take_mail(before, p, &mut partition.core);
                    partition.run_window(end);
                }
                here.posted[p].post(Standing::of(partition, &self.task));
                for (to, frames) in partition.core.outgoing.iter_mut().enumerate() {
                    // The box has been emptied at the meeting before last: the lists change
                    // places, no frame is copied.
                    std::mem::swap(&mut *here.mail[p][to].lock().expect(HELD), frames);
                }
            });
            self.barrier.wait();
            let all = here.posted.iter().map(Posted::standing);
            match course.go_on(&all.fold(Standing::NOWHERE, Standing::and)) {
                Ok(end) => window = Some(end),
                Err(stretch) => {
                    self.each(round + 1, first, |p, partition| {
                        self.take_mail(here, p, &mut partition.core);
                    });
                    return stretch;
                }
            }
        }
        unreachable!("a stretch ends")
    }
}

/// Runs a task with the partitions on this number of threads.
pub(super) fn run(partitions: &mut [Partition], threads: usize, task: Task) -> Stretch {
    let n = partitions.len();
    let shared = &Shared {
        partitions: partitions.iter_mut().map(Mutex::new).collect(),
        taken: (0..n).map(|_| AtomicU32::new(0)).collect(),
        boards: [Board::new(n), Board::new(n)],
        barrier: Barrier::new(threads),
        task,
    };
    let run_one = |thread: usize| {
        let _breaks = Breaks(&shared.barrier);
        shared.run(thread * n / threads)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map(|thread| scope.spawn(move || run_one(thread))).collect();
        let stretch = run_one(0);
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        stretch
    })
}

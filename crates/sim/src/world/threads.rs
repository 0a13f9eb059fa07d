//! Partitions of a network on threads of their own, which meet in memory.
//!
//! ```text
//!   thread 0   posted | mail[0][1] --|==| sum of all posted; takes mail[..][0]
//!   thread 1   posted | mail[1][0] --|==| sum of all posted; takes mail[..][1]
//!                                  barrier
//! ```
//!
//! One barrier a window is enough, because mail that is posted before the barrier is read only
//! after it: a thread that is ahead already writes for the next meeting, in the other of two sets.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::meeting::{self, Meeting, Standing, Stretch, Task};
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
/// waking it up, but there may be more threads than free cores.
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

    fn wait(&self) {
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
struct Shared {
    /// For this meeting and for the next one, alternating.
    boards: [Board; 2],
    barrier: Barrier,
}

/// One thread among others.
struct Among<'a> {
    shared: &'a Shared,
    me: usize,
    /// The board of the next meeting.
    turn: usize,
}

impl Meeting for Among<'_> {
    fn meet(&mut self, mine: Standing, core: &mut Core) -> Standing {
        const HELD: &str = "no thread panics while it holds mail";
        let board = &self.shared.boards[self.turn];
        self.turn ^= 1;
        board.posted[self.me].post(mine);
        for (to, frames) in core.outgoing.iter_mut().enumerate() {
            // The box has been emptied at the meeting before last: the lists change places, no
            // frame is copied.
            std::mem::swap(&mut *board.mail[self.me][to].lock().expect(HELD), frames);
        }
        self.shared.barrier.wait();
        for from in &board.mail {
            from[self.me].lock().expect(HELD).drain(..).for_each(|c| _ = core.enter(c));
        }
        board.posted.iter().map(Posted::standing).fold(Standing::NOWHERE, Standing::and)
    }
}

/// Runs a task with every partition on its own thread.
pub(super) fn run(partitions: &mut [Partition], task: Task) -> Stretch {
    let n = partitions.len();
    let shared = &Shared { boards: [Board::new(n), Board::new(n)], barrier: Barrier::new(n) };
    let run_one = |me: usize, partition: &mut Partition| {
        let _breaks = Breaks(&shared.barrier);
        meeting::run(partition, &mut Among { shared, me, turn: 0 }, task)
    };
    std::thread::scope(|scope| {
        let mut work = partitions.iter_mut().enumerate();
        let here = work.next();
        let others: Vec<_> =
            work.map(|(me, partition)| scope.spawn(move || run_one(me, partition))).collect();
        let stretch = here.map(|(me, partition)| run_one(me, partition));
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        stretch.expect("a world has a partition")
    })
}

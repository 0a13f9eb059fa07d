//! Parts of a network on threads of their own, in step.
//!
//! ```text
//!   part 0   take in | next ------|==| run to T + lookahead | hand over --|==|  ...
//!   part 1   take in | next ------|==| run to T + lookahead | hand over --|==|  ...
//!                             barrier   T: earliest next        barrier
//! ```
//!
//! Conservative synchronisation (Chandy, Misra, Bryant): what a part does from time T on reaches another one no sooner
//! than T + lookahead, so up to there each may run on its own. Every thread draws the same conclusions from the same
//! published figures; which thread runs when has no influence on anything.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::*;
use crate::core::Crossing;

/// What a part publishes before a barrier.
#[derive(Default)]
struct Notice {
    /// Time of its next event before the bound; [`u64::MAX`]: none [ps].
    next: AtomicU64,
    /// Events it has handled.
    events: AtomicU64,
    /// It keeps many rows, which somebody should take.
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

/// Breaks the barrier when its thread panics, so that nobody waits for it.
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
    const LOOKS: u32 = 1_000;

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
    notices: Vec<Notice>,
    /// Frames on their way, by sending and receiving part.
    mail: Vec<Vec<Mutex<Vec<Crossing>>>>,
    barrier: Barrier,
}

/// Lets all parts handle what happens before `bound`, about `events` events altogether. Returns whether nothing is left
/// before it.
pub(super) fn run(parts: &mut [Part], bound: Moment, events: u64, lookahead: Span) -> bool {
    let n = parts.len();
    let shared = Shared {
        notices: (0..n).map(|_| Notice::default()).collect(),
        mail: (0..n).map(|_| (0..n).map(|_| Mutex::default()).collect()).collect(),
        barrier: Barrier::new(n),
    };
    let stop = parts.iter().map(|p| p.core.events).sum::<u64>().saturating_add(events.saturating_mul(n as u64));
    let shared = &shared;
    std::thread::scope(|scope| {
        let mut parts = parts.iter_mut().enumerate();
        let here = parts.next();
        let others: Vec<_> = parts.map(|(me, part)| scope.spawn(move || run_part(part, me, shared, bound, stop, lookahead))).collect();
        let reached = here.is_none_or(|(me, part)| run_part(part, me, shared, bound, stop, lookahead));
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        reached
    })
}

/// One part, window by window. All threads leave after the same window, with no frame on its way between parts.
fn run_part(part: &mut Part, me: usize, shared: &Shared, bound: Moment, stop: u64, lookahead: Span) -> bool {
    let _breaks = Breaks(&shared.barrier);
    let notice = &shared.notices[me];
    loop {
        for from in &shared.mail {
            let arrived = std::mem::take(&mut *from[me].lock().expect("no thread panics while it holds mail"));
            arrived.into_iter().for_each(|c| part.core.enter(c));
        }
        let next = part.core.queue.peek().filter(|m| *m < bound);
        notice.next.store(next.map_or(u64::MAX, |m| m.time.0), Ordering::Relaxed);
        notice.events.store(part.core.events, Ordering::Relaxed);
        notice.full.store(part.has_many_rows() as u64, Ordering::Relaxed);
        shared.barrier.wait();
        let all = |of: fn(&Notice) -> &AtomicU64| shared.notices.iter().map(move |n| of(n).load(Ordering::Relaxed));
        let next = all(|n| &n.next).min().unwrap_or(u64::MAX);
        let done = next == u64::MAX;
        if done || all(|n| &n.events).sum::<u64>() >= stop || all(|n| &n.full).any(|f| f > 0) {
            return done;
        }
        part.run_window(bound.min(Moment { time: Time(next) + lookahead, rank: 0 }));
        for (to, frames) in part.core.outgoing.iter_mut().enumerate() {
            if !frames.is_empty() {
                shared.mail[me][to].lock().expect("no thread panics while it holds mail").append(frames);
            }
        }
        shared.barrier.wait();
    }
}

//! Parts of a fabric, which go from window to window in step. A thread has one or more parts, one
//! after the other: what a part needs stays in the cache for a window.
//!
//! ```text
//!   thread 0   part 0, part 1 to T + look-ahead ----|==| part 0, part 1 to T + look-ahead ----|==|  ...
//!   thread 1   part 2, part 3 to T + look-ahead ----|==| part 2, part 3 to T + look-ahead ----|==|  ...
//!                                                   mail changes hands; T: earliest next event of all
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::PROGRESS_EVERY;
use super::mail::Mail;
use super::part::Part;
use crate::world::threads::{Barrier, Breaks};

/// What the parts tell each other at a meeting.
struct Board {
    /// Time of the next event of each, its mail included [ps].
    next: Vec<AtomicU64>,
    /// Events that each has handled.
    done: Vec<AtomicU64>,
    /// By receiver. The mail of one part keeps its order; that of different parts has none.
    mail: Vec<Mutex<Vec<Mail>>>,
}

impl Board {
    fn new(parts: usize) -> Board {
        let zeros = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        Board { next: zeros(), done: zeros(), mail: (0..parts).map(|_| Mutex::default()).collect() }
    }
}

struct Shared {
    /// For this meeting and for the next one, alternating: mail that is posted before the barrier
    /// is read after it, when a thread that is ahead already writes for the next meeting.
    boards: [Board; 2],
    /// `None`: there is one thread.
    barrier: Option<Barrier>,
    /// The user has stopped the run, before the meeting after this.
    stopped: [AtomicBool; 2],
    bound: u64,
    look_ahead: u64,
}

/// Handles the events of all parts before `bound` on a number of threads; false: `shown`, which is
/// called on this thread, says so.
pub(super) fn run(
    parts: &mut [Part],
    threads: usize,
    bound: u64,
    look_ahead: u64,
    shown: &mut dyn FnMut(u64, u64) -> bool,
) -> bool {
    let n = parts.len();
    let shared = &Shared {
        boards: [Board::new(n), Board::new(n)],
        barrier: (threads > 1).then(|| Barrier::new(threads)),
        stopped: [AtomicBool::new(false), AtomicBool::new(false)],
        bound,
        look_ahead,
    };
    std::thread::scope(|scope| {
        let (here, mut rest) = parts.split_at_mut(n / threads);
        let mut others = Vec::new();
        for thread in 1..threads {
            let share = rest.len() / (threads - thread);
            let (own, left) = std::mem::take(&mut rest).split_at_mut(share);
            rest = left;
            others.push(scope.spawn(move || run_some(shared, own, &mut |_, _| true)));
        }
        let whole = run_some(shared, here, shown);
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        whole
    })
}

/// The parts of one thread.
fn run_some(shared: &Shared, parts: &mut [Part], shown: &mut dyn FnMut(u64, u64) -> bool) -> bool {
    const HELD: &str = "no thread panics while it holds mail";
    let _breaks = shared.barrier.as_ref().map(Breaks);
    let mut reported = None;
    for turn in [0, 1].into_iter().cycle() {
        let board = &shared.boards[turn];
        for part in &mut *parts {
            let me = usize::from(part.number);
            let mut next = part.events.next().unwrap_or(u64::MAX);
            for (to, mail) in part.outgoing.iter_mut().enumerate().filter(|(_, m)| !m.is_empty()) {
                next = mail.iter().map(Mail::time).fold(next, u64::min);
                board.mail[to].lock().expect(HELD).append(mail);
            }
            board.next[me].store(next, Relaxed);
            board.done[me].store(part.events.done, Relaxed);
        }
        if let Some(barrier) = &shared.barrier {
            barrier.wait();
        }
        let next = board.next.iter().map(|next| next.load(Relaxed)).min().unwrap_or(u64::MAX);
        let stopped = shared.stopped[turn].load(Relaxed);
        let end = next.saturating_add(shared.look_ahead).min(shared.bound);
        for part in &mut *parts {
            let mut mail = board.mail[usize::from(part.number)].lock().expect(HELD);
            mail.drain(..).for_each(|mail| part.receive(mail));
            if !stopped {
                part.run(end, u64::MAX);
            }
        }
        if stopped || next >= shared.bound {
            return !stopped;
        }
        let done: u64 = board.done.iter().map(|done| done.load(Relaxed)).sum();
        let due = done / PROGRESS_EVERY;
        if reported.replace(due).is_some_and(|last| last != due) && !shown(next, done) {
            shared.stopped[turn ^ 1].store(true, Relaxed);
        }
    }
    true
}

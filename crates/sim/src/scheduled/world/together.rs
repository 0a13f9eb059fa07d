//! Parts of a fabric on threads of their own, which go from window to window in step.
//!
//! ```text
//!   part 0   to T + look-ahead ----|==| to T + look-ahead ----|==|  ...
//!   part 1   to T + look-ahead ----|==| to T + look-ahead ----|==|  ...
//!                                  mail changes hands; T: earliest next event of all
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
    /// By sender, then receiver.
    mail: Vec<Vec<Mutex<Vec<Mail>>>>,
}

impl Board {
    fn new(parts: usize) -> Board {
        let zeros = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        let boxes = || (0..parts).map(|_| Mutex::default()).collect();
        Board { next: zeros(), done: zeros(), mail: (0..parts).map(|_| boxes()).collect() }
    }
}

struct Shared {
    /// For this meeting and for the next one, alternating: mail that is posted before the barrier
    /// is read after it, when a thread that is ahead already writes for the next meeting.
    boards: [Board; 2],
    barrier: Barrier,
    /// The user has stopped the run, before the meeting after this.
    stopped: [AtomicBool; 2],
    bound: u64,
    look_ahead: u64,
}

/// Handles the events of all parts before `bound`; false: `shown`, which is called on this thread,
/// says so.
pub(super) fn run(
    parts: &mut [Part],
    bound: u64,
    look_ahead: u64,
    shown: &mut dyn FnMut(u64, u64) -> bool,
) -> bool {
    let n = parts.len();
    let shared = &Shared {
        boards: [Board::new(n), Board::new(n)],
        barrier: Barrier::new(n),
        stopped: [AtomicBool::new(false), AtomicBool::new(false)],
        bound,
        look_ahead,
    };
    std::thread::scope(|scope| {
        let mut parts = parts.iter_mut();
        let here = parts.next();
        let others: Vec<_> = parts
            .map(|part| scope.spawn(move || run_one(shared, part, &mut |_, _| true)))
            .collect();
        let whole = here.is_none_or(|part| run_one(shared, part, shown));
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        whole
    })
}

fn run_one(shared: &Shared, part: &mut Part, shown: &mut dyn FnMut(u64, u64) -> bool) -> bool {
    const HELD: &str = "no thread panics while it holds mail";
    let _breaks = Breaks(&shared.barrier);
    let me = usize::from(part.number);
    let mut reported = None;
    for turn in [0, 1].into_iter().cycle() {
        let board = &shared.boards[turn];
        let mut next = part.events.next().unwrap_or(u64::MAX);
        for (to, mail) in part.outgoing.iter_mut().enumerate().filter(|(_, m)| !m.is_empty()) {
            next = mail.iter().map(Mail::time).fold(next, u64::min);
            // The box has been emptied at the meeting before last: the lists change places.
            std::mem::swap(&mut *board.mail[me][to].lock().expect(HELD), mail);
        }
        board.next[me].store(next, Relaxed);
        board.done[me].store(part.events.done, Relaxed);
        shared.barrier.wait();
        for from in &board.mail {
            from[me].lock().expect(HELD).drain(..).for_each(|mail| part.receive(mail));
        }
        let next = board.next.iter().map(|next| next.load(Relaxed)).min().unwrap_or(u64::MAX);
        if shared.stopped[turn].load(Relaxed) {
            return false;
        }
        if next >= shared.bound {
            return true;
        }
        let done: u64 = board.done.iter().map(|done| done.load(Relaxed)).sum();
        let due = done / PROGRESS_EVERY;
        if reported.replace(due).is_some_and(|last| last != due) && !shown(next, done) {
            shared.stopped[turn ^ 1].store(true, Relaxed);
        }
        part.run(next.saturating_add(shared.look_ahead).min(shared.bound), u64::MAX);
    }
    true
}

//! All cores of this machine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sweep::cell::Status;
use crate::sweep::{Plan, Store, SweepError};

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs of the plan.
    pub total: usize,
    /// Runs that were finished before.
    pub kept: usize,
    /// Runs that finished since.
    pub done: usize,
    /// Runs that failed since.
    pub failed: usize,
    /// Time left, if the rest takes as long as the finished part.
    pub left: Option<Duration>,
}

impl Progress {
    /// Part that is done, 0 to 1.
    pub fn part(&self) -> f64 {
        (self.kept + self.done + self.failed) as f64 / self.total.max(1) as f64
    }

    /// `37 of 90 runs, 2 failed, 12 kept from before`.
    pub fn words(&self) -> String {
        let count =
            |n: usize, word: &str| if n > 0 { format!(", {n} {word}") } else { String::new() };
        format!(
            "{} of {} runs{}{}",
            self.kept + self.done + self.failed,
            self.total,
            count(self.failed, "failed"),
            count(self.kept, "kept from before")
        )
    }
}

/// End of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every run was tried.
    Tried,
    /// Interrupted.
    Stopped,
}

/// Executes these runs, so many at a time; each is kept as soon as it is finished. `stop` is asked
/// now and then, `look` is called after every run.
///
/// # Errors
/// A result that cannot be stored: the disk is full. Results of earlier runs are kept.
pub fn run_local(
    plan: &Plan,
    store: &Store,
    cells: &[usize],
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    look: &(dyn Fn(Progress) + Sync),
) -> Result<Ended, SweepError> {
    let (next, broken) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let state = Mutex::new((
        Progress { total: plan.len(), kept: plan.len() - cells.len(), ..Progress::default() },
        None,
    ));
    let lock = || state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    look(lock().0);
    let ending = || broken.load(Ordering::Relaxed) || stop();
    let worker = || {
        while !ending() {
            let Some(&index) = cells.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let cell = plan.cell(index);
            let Some((shard, tables)) = plan.run(&cell, &ending, None) else { return };
            let kept = store.put(&cell, &shard, &tables);
            let mut state = lock();
            match kept {
                Ok(()) => {
                    let p = &mut state.0;
                    *(if shard.status == Status::Done { &mut p.done } else { &mut p.failed }) += 1;
                    let tried = p.done + p.failed;
                    p.left =
                        Some(begun.elapsed().mul_f64((cells.len() - tried) as f64 / tried as f64));
                    look(*p);
                }
                Err(e) => {
                    broken.store(true, Ordering::Relaxed);
                    state.1.get_or_insert(e);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, cells.len().max(1)) {
            scope.spawn(worker);
        }
        worker();
    });
    let (p, error) = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match error {
        Some(e) => Err(e),
        None if p.done + p.failed == cells.len() => Ok(Ended::Tried),
        None => Ok(Ended::Stopped),
    }
}

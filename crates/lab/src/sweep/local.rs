//! All cores of this machine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sweep::cell::Status;
use crate::sweep::{Plan, Ran, Store, SweepError, Value};

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

/// More columns of a run.
pub(crate) type Measure<'m> = &'m (dyn Fn(&Ran) -> Vec<(String, Value)> + Sync);

/// A run to execute.
pub(crate) struct Todo<'p> {
    /// Its plan.
    pub plan: &'p Plan,
    /// Its number there.
    pub index: usize,
    /// Columns that are kept with it.
    pub measure: Option<Measure<'p>>,
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
    let runs: Vec<Todo<'_>> =
        cells.iter().map(|&index| Todo { plan, index, measure: None }).collect();
    run_each(&runs, plan.len(), store, threads, stop, look)
}

/// [`run_local`] of runs of several plans, `total` with those that were finished before.
pub(crate) fn run_each(
    runs: &[Todo<'_>],
    total: usize,
    store: &Store,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    look: &(dyn Fn(Progress) + Sync),
) -> Result<Ended, SweepError> {
    let (next, broken) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let state =
        Mutex::new((Progress { total, kept: total - runs.len(), ..Progress::default() }, None));
    let lock = || state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    look(lock().0);
    let ending = || broken.load(Ordering::Relaxed) || stop();
    let worker = || {
        while !ending() {
            let Some(todo) = runs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let cell = todo.plan.cell(todo.index);
            let mut ran = None;
            let wanted = todo.measure.is_some().then_some(&mut ran);
            let Some((mut shard, tables)) = todo.plan.run(&cell, &ending, wanted) else { return };
            if let Some((measure, ran)) = todo.measure.zip(ran) {
                shard.measured.values.extend(measure(&ran));
            }
            let kept = store.put(&cell, &shard, &tables);
            let mut state = lock();
            match kept {
                Ok(()) => {
                    let p = &mut state.0;
                    *(if shard.status == Status::Done { &mut p.done } else { &mut p.failed }) += 1;
                    let tried = p.done + p.failed;
                    p.left =
                        Some(begun.elapsed().mul_f64((runs.len() - tried) as f64 / tried as f64));
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
        for _ in 1..threads.clamp(1, runs.len().max(1)) {
            scope.spawn(worker);
        }
        worker();
    });
    let (p, error) = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match error {
        Some(e) => Err(e),
        None if p.done + p.failed == runs.len() => Ok(Ended::Tried),
        None => Ok(Ended::Stopped),
    }
}

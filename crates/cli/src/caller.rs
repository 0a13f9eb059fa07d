//! A caller in the same process, such as the Python package, in the place of a terminal and its
//! Ctrl-C.
//!
//! ```text
//!   ask(args, caller) -> Given (text, JSON, exit code) | Problems
//!        +-- warnings ----------> caller.warnings()     instead of stderr
//!        +-- how far work is ---> caller.step()         instead of a bar
//!        <-- caller.stop() ------                       instead of Ctrl-C
//! ```

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xoff_scenario::Problem;

thread_local! {
    /// Caller of the subcommand that runs on this thread; `None`: a terminal.
    static PRESENT: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

/// Progress of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Part of it that is done, 0 to 1; 0 where the amount is unknown.
    pub done: f64,
    /// The present activity.
    pub what: String,
}

/// Caller of a subcommand, which waits for it on another thread.
#[derive(Debug, Default)]
pub struct Caller {
    stop: AtomicBool,
    warnings: Mutex<Vec<Problem>>,
    step: Mutex<Step>,
    scenario: Option<(String, PathBuf)>,
    output: AtomicBool,
}

impl Caller {
    /// `scenario`: of a run that has no folder, as text with the folder of the files that it names;
    /// it represents the argument RUN.
    pub fn new(scenario: Option<(String, PathBuf)>) -> Arc<Caller> {
        Arc::new(Caller { scenario, ..Caller::default() })
    }
    /// The work is to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    /// True if the work is to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// The warnings since the last call.
    pub fn warnings(&self) -> Vec<Problem> {
        std::mem::take(&mut held(&self.warnings))
    }
    /// Progress of the work.
    pub fn step(&self) -> Step {
        held(&self.step).clone()
    }
    /// Whether the command failed because results could not be written or read, not because of its
    /// arguments.
    pub fn output_failed(&self) -> bool {
        self.output.load(Ordering::Relaxed)
    }
    pub(crate) fn scenario(&self) -> Option<&(String, PathBuf)> {
        self.scenario.as_ref()
    }
    pub(crate) fn warn(&self, problem: Problem) {
        held(&self.warnings).push(problem);
    }
    pub(crate) fn at(&self, change: impl FnOnce(&mut Step)) {
        change(&mut held(&self.step));
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Caller of the subcommand that runs on this thread; `None`: a terminal.
pub(crate) fn present() -> Option<Arc<Caller>> {
    PRESENT.with_borrow(Clone::clone)
}

/// A problem of files and folders of results: a caller is to raise it as such.
pub(crate) fn of_output(problem: Problem) -> Problem {
    if let Some(caller) = present() {
        caller.output.store(true, Ordering::Relaxed);
    }
    problem
}

/// Runs `work` for a caller.
pub(crate) fn serve<T>(caller: &Arc<Caller>, work: impl FnOnce() -> T) -> T {
    /// Also where the work panics.
    struct Leave(Option<Arc<Caller>>);
    impl Drop for Leave {
        fn drop(&mut self) {
            PRESENT.set(self.0.take());
        }
    }
    let _leave = Leave(PRESENT.replace(Some(caller.clone())));
    work()
}

//! Settings of the run, for its entries.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xoff_record::output::Folder;

use crate::{Entry, Judged, ReproduceError};

/// Amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A sample: all entries together within two minutes on two cores.
    Quick,
    /// Full run, as for the tables of the documentation.
    Full,
}

impl Mode {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Quick => "quick",
            Mode::Full => "full",
        }
    }

    /// Picks one of two values by the mode.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Mode::Quick => quick,
            Mode::Full => full,
        }
    }
}

/// Receives the progress of a reproduction. Methods may be called from any thread.
pub trait Progress: Sync {
    /// An entry begins: the `nth` of `total`, from 0.
    fn started(&self, _entry: &Entry, _nth: usize, _total: usize) {}
    /// Part of the running entry that is done, 0 to 1.
    fn fraction(&self, _entry: &str, _part: f64) {}
    /// A sentence about the activity of the running claim.
    fn note(&self, _entry: &str, _text: &str) {}
    /// An entry is judged. `kept`: taken from an earlier run into the same folder.
    fn finished(&self, _judged: &Judged, _kept: bool) {}
}

/// Reports nothing.
pub struct Silent;
impl Progress for Silent {}

/// The run that an entry is part of.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Amount of work.
    pub mode: Mode,
    /// Folder of the results.
    pub out: &'a Path,
    /// Threads an entry may use; never changes a result.
    pub threads: usize,
    /// Receives its progress.
    pub progress: &'a dyn Progress,
    /// True if the user asked to stop.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Seed of every random stream.
    pub seed: u64,
    /// The entries with real frames instead of those that are simulated.
    pub testbed: bool,
    /// Use the folder although it holds something else.
    pub force: bool,
    /// The claim on the folder; set by [`run_entries`](crate::run_entries).
    pub folder: Option<&'a Folder>,
    /// The entry that runs; set by [`run_entries`](crate::run_entries).
    pub entry: &'static str,
}

impl<'a> Context<'a> {
    /// A context on one thread that reports nothing and is never interrupted.
    pub fn new(mode: Mode, out: &'a Path) -> Self {
        Context {
            mode,
            out,
            threads: 1,
            progress: &Silent,
            interrupted: &|| false,
            seed: 1,
            testbed: false,
            force: false,
            folder: None,
            entry: "",
        }
    }

    /// A folder of an entry's own work below that of the results.
    pub fn below(&self, name: &str) -> Result<PathBuf, ReproduceError> {
        match self.folder {
            Some(folder) => Ok(folder.own(&format!("{name}/"))?),
            None => Ok(self.out.join(name)),
        }
    }

    /// An error if the user asked to stop.
    pub fn go_on(&self) -> Result<(), ReproduceError> {
        if (self.interrupted)() { Err(ReproduceError::Interrupted) } else { Ok(()) }
    }

    /// Reports how much of the entry is done, 0 to 1.
    pub fn fraction(&self, part: f64) {
        self.progress.fraction(self.entry, part);
    }

    /// Runs independent jobs on the threads of the context. Answers have the order of the jobs, for any number of threads; so has the
    /// error, if there is one.
    pub fn parallel<J: Sync, T: Send>(
        &self,
        jobs: &[J],
        work: impl Fn(&J) -> Result<T, ReproduceError> + Sync,
    ) -> Result<Vec<T>, ReproduceError> {
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let answers: Vec<Mutex<Option<Result<T, ReproduceError>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
        let worker = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return };
                let answer = self.go_on().and_then(|()| work(job));
                *answers[at].lock().expect("no job panicked") = Some(answer);
                self.fraction((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / jobs.len() as f64);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(worker);
            }
            worker();
        });
        answers.into_iter().map(|a| a.into_inner().expect("no job panicked").unwrap_or(Err(ReproduceError::Interrupted))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 7] {
            let cx = Context { threads, ..Context::new(Mode::Quick, Path::new("")) };
            assert_eq!(cx.parallel(&jobs, |j| Ok(j * j)).unwrap(), jobs.iter().map(|j| j * j).collect::<Vec<_>>());
        }
    }

    #[test]
    fn who_asks_to_stop_gets_no_answer() {
        let stop = || true;
        let cx = Context { interrupted: &stop, ..Context::new(Mode::Quick, Path::new("")) };
        assert!(matches!(cx.parallel(&[1], |j| Ok(*j)), Err(ReproduceError::Interrupted)));
        assert!(Context::new(Mode::Quick, Path::new("")).parallel(&[0u8; 0], |j| Ok(*j)).unwrap().is_empty());
    }
}

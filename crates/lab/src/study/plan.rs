//! Series of runs that differ in the seed only, and the statistics of their results.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Pieces, basis};
use crate::stats::Mean;
use crate::{Context, ReproduceError};

/// One run of a study. What it serializes to is its key: it is different for every run and is kept next to the result.
pub trait Job: Serialize + Sync {
    /// Folder of the results in which finished runs are kept.
    const FOLDER: &'static str;
    /// Source of the stored result: results of an older source are not used.
    const SOURCE: &'static str;
    /// Result that is kept.
    type Run: Serialize + DeserializeOwned + Send;

    /// Runs it; `None` when `stop` returned true.
    ///
    /// # Errors
    /// Errors of the scenario or the model.
    fn run(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Self::Run>, ReproduceError>;
}

/// The runs that an entry needs, in series of one run per seed.
pub struct Plan<J> {
    jobs: Vec<J>,
}

/// Runs that differ in nothing but the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    first: usize,
    past: usize,
}

impl<J> Default for Plan<J> {
    fn default() -> Self {
        Plan { jobs: Vec::new() }
    }
}

impl<J: Job> Plan<J> {
    /// Adds a run for each of `seeds` seeds from that of the context on.
    pub fn add(&mut self, cx: &Context, seeds: u64, job: impl Fn(u64) -> J) -> Series {
        let first = self.jobs.len();
        self.jobs.extend((cx.seed..cx.seed + seeds).map(job));
        Series { first, past: self.jobs.len() }
    }

    /// Runs the cases that no earlier claim or run has done.
    ///
    /// # Errors
    /// Interrupted; a run that is rejected; a file that cannot be written.
    pub fn run(self, cx: &Context) -> Result<Results<J::Run>, ReproduceError> {
        let file = cx.below(J::FOLDER)?.join("done.jsonl");
        let mut pieces = Pieces::new(cx, &file, &basis([J::SOURCE]), None, 1)?;
        let runs = pieces.phase("runs", &self.jobs, J::run)?;
        Ok(Results { runs: runs.into_iter().collect::<Option<_>>().ok_or(ReproduceError::Interrupted)? })
    }
}

/// The results of a plan.
pub struct Results<R> {
    runs: Vec<R>,
}

impl<R> Results<R> {
    /// All of them.
    pub fn all(&self) -> &[R] {
        &self.runs
    }
    /// Results of a series, in the order of the seeds.
    pub fn of(&self, s: Series) -> &[R] {
        &self.runs[s.first..s.past]
    }
    /// A value, run by run.
    pub fn values(&self, s: Series, value: impl Fn(&R) -> f64) -> Vec<f64> {
        self.of(s).iter().map(value).collect()
    }
    /// The mean of a value over the seeds.
    pub fn mean(&self, s: Series, value: impl Fn(&R) -> f64) -> Mean {
        Mean::of(self.values(s, value))
    }
    /// Ratio of `a` to `b`, seed by seed.
    pub fn ratio(&self, a: Series, b: Series, value: impl Fn(&R) -> f64) -> Mean {
        Mean::ratio(&self.values(a, &value), &self.values(b, &value))
    }
    /// The largest of a value over the seeds.
    pub fn max(&self, s: Series, value: impl Fn(&R) -> f64) -> f64 {
        self.of(s).iter().map(value).fold(f64::NEG_INFINITY, f64::max)
    }
    /// The smallest.
    pub fn min(&self, s: Series, value: impl Fn(&R) -> f64) -> f64 {
        self.of(s).iter().map(value).fold(f64::INFINITY, f64::min)
    }
    /// A count, all runs together.
    pub fn sum(&self, value: impl Fn(&R) -> u64) -> u64 {
        self.runs.iter().map(value).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Mode;

    static RUNS: AtomicUsize = AtomicUsize::new(0);
    #[derive(Serialize)]
    struct Square(u64);
    impl Job for Square {
        const FOLDER: &'static str = "squares";
        const SOURCE: &'static str = include_str!("plan.rs");
        type Run = u64;
        fn run(&self, _: &(dyn Fn() -> bool + Sync)) -> Result<Option<u64>, ReproduceError> {
            RUNS.fetch_add(1, Ordering::Relaxed);
            Ok(Some(self.0 * self.0))
        }
    }

    /// Seeds 1 to 3 of x + seed for x = 0 and 10: 1 4 9 and 121 144 169.
    #[test]
    fn series_keep_their_order_and_finished_runs_are_not_run_again() {
        let folder = std::env::temp_dir().join(format!("xoff-study-{}", std::process::id()));
        let cx = Context { threads: 2, ..Context::new(Mode::Quick, Path::new(&folder)) };
        for ran in [6, 6] {
            let mut plan = Plan::default();
            let small = plan.add(&cx, 3, Square);
            let large = plan.add(&cx, 3, |seed| Square(10 + seed));
            let r = plan.run(&cx).unwrap();
            assert_eq!((r.of(small), r.of(large)), (&[1, 4, 9][..], &[121, 144, 169][..]));
            assert_eq!((r.min(large, |v| *v as f64), r.max(small, |v| *v as f64), r.sum(|v| *v)), (121.0, 9.0, 448));
            assert_eq!(r.mean(small, |v| *v as f64).mean, 14.0 / 3.0);
            assert_eq!(RUNS.load(Ordering::Relaxed), ran, "what is kept is not run again");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! Does the work of a study: independent pieces on several threads, finished ones kept, the rest skipped when the time
//! is up.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::kept::Kept;
use crate::context::Silent;
use crate::{Context, ReproduceError};

/// Work in phases.
pub struct Pieces<'a> {
    cx: Context<'a>,
    store: Mutex<Kept>,
    /// When no further piece begins.
    deadline: Option<Instant>,
    phase: usize,
    phases: usize,
    /// Text next to the progress.
    remark: String,
}

impl<'a> Pieces<'a> {
    /// Keeps finished work in `file`; begins none after `limit`. What is kept there is used if `basis` is the same ([`super::basis`]).
    pub fn new(cx: &Context<'a>, file: &Path, basis: &str, limit: Option<Duration>, phases: usize) -> Result<Pieces<'a>, ReproduceError> {
        let store = Kept::open(file, basis)?;
        let remark = match store.others {
            0 => String::new(),
            n => format!(" ({n} kept results are from another version of the engine and are not used)"),
        };
        Ok(Pieces { cx: *cx, store: Mutex::new(store), deadline: limit.map(|l| Instant::now() + l), phase: 0, phases, remark })
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// The results of these pieces in their order; `None`: not done, the time was up. `work` gets a question to ask now
    /// and then, and answers `None` when the answer was yes.
    pub fn phase<K, R>(
        &mut self,
        what: &str,
        keys: &[K],
        work: impl Fn(&K, &(dyn Fn() -> bool + Sync)) -> Result<Option<R>, ReproduceError> + Sync,
    ) -> Result<Vec<Option<R>>, ReproduceError>
    where
        K: Serialize + Sync,
        R: Serialize + DeserializeOwned + Send,
    {
        let mut results: Vec<Option<R>> = {
            let store = self.store.lock().expect("no work panicked");
            keys.iter().map(|k| store.get(k)).collect()
        };
        let missing: Vec<usize> = (0..keys.len()).filter(|&i| results[i].is_none()).collect();
        let kept = keys.len() - missing.len();
        let (done, begun) = (AtomicUsize::new(0), Instant::now());
        let report = |n: usize| {
            let part = (kept + n) as f64 / keys.len().max(1) as f64;
            self.cx.fraction((self.phase as f64 + part) / self.phases as f64);
            let left = (n > 0).then(|| begun.elapsed().mul_f64((missing.len() - n) as f64 / n as f64));
            let left = left.map_or(String::new(), |d| format!(", {} min {} s left", d.as_secs() / 60, d.as_secs() % 60));
            let text = format!("part {} of {}, {what}: {} of {}{}{left}", self.phase + 1, self.phases, kept + n, keys.len(), self.remark);
            self.cx.progress.note(self.cx.entry, &text);
        };
        report(0);
        let cx = Context { progress: &Silent, ..self.cx };
        let fresh = cx.parallel(&missing, |&i| {
            if self.is_late() {
                return Ok(None);
            }
            let result = work(&keys[i], &|| (cx.interrupted)() || self.is_late())?;
            cx.go_on()?;
            if let Some(result) = &result {
                self.store.lock().expect("no work panicked").put(&keys[i], result)?;
                report(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(result)
        })?;
        for (i, result) in missing.into_iter().zip(fresh) {
            results[i] = result;
        }
        self.phase += 1;
        Ok(results)
    }
}

//! Cases of a swarm on every core.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Each worker is handed the next one until none is left. Returns what the workers come to.
pub fn on_all_cores<T: Send>(
    cases: Range<u64>,
    work: impl Fn(&mut dyn Iterator<Item = u64>) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(cases.start);
    let hand_out = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|case| *case < cases.end);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..cores()).map(|_| scope.spawn(|| work(&mut std::iter::from_fn(hand_out)))).collect();
        workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

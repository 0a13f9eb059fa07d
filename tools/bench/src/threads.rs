//! Gain of more threads, and a check that they change nothing.

use crate::Failed;
use crate::results::{Stat, ThreadHash};
use crate::runs::Bench;

/// Pairs of runs. One and two threads take turns, and each is first as often as the other, so that
/// a machine that slows down slows down both.
const PAIRS: usize = 4;

/// Time on the clock with one thread over that with two.
pub fn ratio(bench: &Bench) -> Result<Stat, Failed> {
    let what = "k = 16, permutation, 2 threads against 1";
    bench.report(what);
    let wall = |threads| {
        Ok::<f64, Failed>(
            bench.once("permutation.toml", &["topology.k=16"], threads)?.answer.wall_seconds,
        )
    };
    let pair = |i: usize| match i % 2 {
        0 => Ok::<_, Failed>((wall(1)?, wall(2)?)),
        _ => wall(2).and_then(|two| Ok((wall(1)?, two))),
    };
    let ratios = (0..PAIRS)
        .map(|i| pair(i).map(|(one, two)| one / two.max(1e-9)))
        .collect::<Result<Vec<f64>, Failed>>();
    let stat = ratios
        .and_then(|r| Stat::of(r).ok_or("no run".into()))
        .inspect_err(|e| bench.done(what, e))?;
    bench.done(what, &format!("{:.2}x", stat.median));
    Ok(stat)
}

/// Speed of two processes at once over that of one alone: what two threads could come to at most
/// where they share caches and memory.
pub fn ceiling(bench: &Bench) -> Result<Stat, Failed> {
    let what = "k = 16, permutation, two processes at once against one";
    bench.report(what);
    let wall = |folder: &str| {
        Ok::<f64, Failed>(
            bench.beside("permutation.toml", &["topology.k=16"], 1, folder)?.answer.wall_seconds,
        )
    };
    let both = || {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| wall("beside"));
            let (here, there) = (wall("run")?, other.join().map_err(|_| "a measurement failed")??);
            Ok::<f64, Failed>(here.max(there))
        })
    };
    let pair = |i: usize| match i % 2 {
        0 => Ok::<_, Failed>((wall("run")?, both()?)),
        _ => both().and_then(|two| Ok((wall("run")?, two))),
    };
    let ratios = (0..PAIRS)
        .map(|i| pair(i).map(|(one, two)| 2.0 * one / two.max(1e-9)))
        .collect::<Result<Vec<f64>, Failed>>();
    let stat = ratios
        .and_then(|r| Stat::of(r).ok_or("no run".into()))
        .inspect_err(|e| bench.done(what, e))?;
    bench.done(what, &format!("{:.2}x", stat.median));
    Ok(stat)
}

/// Result hashes with one to eight threads.
pub fn hashes(bench: &Bench) -> Vec<ThreadHash> {
    let hash = |threads| {
        bench.report(&format!("result hash, {threads} threads"));
        let run = bench.once("permutation.toml", &["topology.k=16", "run.duration=30us"], threads);
        ThreadHash { threads, hash: run.map_or_else(|e| e, |r| r.answer.result_hash) }
    };
    [1, 2, 3, 4, 8].map(hash).into()
}

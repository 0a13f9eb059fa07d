//! Gain of nodes that act window by window.

use crate::Failed;
use crate::results::Stat;
use crate::runs::{Bench, stat_of};

/// Pairs of runs. The engines take turns, and each is first as often as the other, so that a
/// machine that slows down slows down both.
const PAIRS: usize = 4;

/// CPU time with all events in one order over that window by window. Runs whose results differ are
/// an error.
pub fn ratio(bench: &Bench, scenario: &str, settings: &[&str]) -> Result<Stat, Failed> {
    let what = format!("{scenario} {}, both engines", settings.join(" "));
    bench.report(&what);
    let run = |engine: &str| Ok::<_, Failed>(bench.with_engine(scenario, settings, engine)?.answer);
    let pair = |i: usize| {
        let (events, windows) = match i % 2 {
            0 => (run("events")?, run("windows")?),
            _ => {
                let windows = run("windows")?;
                (run("events")?, windows)
            }
        };
        match events.result_hash == windows.result_hash {
            true => Ok::<f64, Failed>(events.cpu_seconds / windows.cpu_seconds.max(1e-9)),
            false => Err(format!(
                "{what}: results differ, {} and {}",
                events.result_hash, windows.result_hash
            )),
        }
    };
    let ratios = (0..PAIRS)
        .map(pair)
        .collect::<Result<Vec<f64>, Failed>>()
        .inspect_err(|e| bench.done(&what, e))?;
    let stat = stat_of(ratios)?;
    bench.done(&what, &format!("{:.2}x", stat.median));
    Ok(stat)
}

//! How pauses spread: from the pause of a port to the pauses of the ports before it whose frames
//! waited for it.
//!
//! ```text
//!   pauses   S2->S3 paused from t1                      slice --+  arrow
//!   causes   S1->S2 stopped at t2; S2 holds its frames          |
//!            for S2->S3                                 slice <-+
//! ```
//!
//! Both tables are read before anything is written, because an arrow belongs to the slice where it
//! begins. What is kept is bounded.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use xoff_record::read;

use super::tracks::{PortId, Tracks};
use super::{PS_PER_NS, Summary};
use crate::export::error::ExportError;

/// Pauses that are kept for arrows; with more a trace has none [rows].
const PAUSES_MAX: usize = 4_000_000;
/// Arrows that are kept; those behind them are left out.
const ARROWS_MAX: usize = 2_000_000;

/// A pause: its port, its priority, its begin [ps].
type Pause = (PortId, u8, u64);

/// Start and end of arrows.
#[derive(Default)]
pub struct Arrows {
    /// By pause: arrows that begin there, arrows that end there.
    at: HashMap<Pause, (Vec<u64>, Vec<u64>)>,
    /// Arrows between pauses that begin in one ns, and the pause at which they end: ports that stop
    /// each other. A reader takes an arrow only where its begin comes first, so they end at an
    /// instant of their own that is written behind all pauses.
    pub tied: Vec<(Pause, u64)>,
    /// Number of arrows.
    pub count: u64,
}

/// Pauses by port and priority, each list in the order of time: begin, end [ps].
type Index = HashMap<(PortId, u8), Vec<(u64, u64)>>;

impl Arrows {
    /// From the tables of the run in `dir`; numbers of arrows begin behind `id`.
    pub fn read(
        dir: &Path,
        tracks: &mut Tracks,
        id: &mut u64,
        summary: &mut Summary,
    ) -> Result<Arrows, ExportError> {
        let mut arrows = Arrows::default();
        if !read::exists(dir, "causes") || !read::exists(dir, "pauses") {
            return Ok(arrows);
        }
        let Some(index) = index(dir, tracks)? else {
            summary
                .notes
                .push(format!("more than {PAUSES_MAX} pauses: how they spread is left out"));
            return Ok(arrows);
        };
        let (mut last, mut known) = (None, HashSet::new());
        for batch in read::stream(dir, "causes")? {
            let b = batch?;
            let (time, priority) = (read::numbers(&b, "time_ps"), read::numbers(&b, "priority"));
            let (port, next) = (read::texts(&b, "port"), read::texts(&b, "next_port"));
            for row in 0..b.num_rows() {
                let (Some(t), Some(p), Some(port), Some(next)) =
                    (time[row], priority[row], port[row], next[row])
                else {
                    continue;
                };
                let (p, port, next) = (p as u8, tracks.port(port), tracks.port(next));
                // A row a flow: those of one port and instant follow each other.
                if last.replace((t, p, port, next)) == Some((t, p, port, next)) {
                    continue;
                }
                let (Some(to), Some(from)) = (at(&index, port, p, t), at(&index, next, p, t))
                else {
                    continue;
                };
                if to == from {
                    continue;
                }
                if !known.insert((from, to)) {
                    continue;
                }
                if arrows.count as usize >= ARROWS_MAX {
                    summary
                        .notes
                        .push(format!("more than {ARROWS_MAX} arrows: those behind are left out"));
                    return Ok(arrows);
                }
                *id += 1;
                arrows.count += 1;
                arrows.at.entry(from).or_default().0.push(*id);
                match from.2 / PS_PER_NS < to.2 / PS_PER_NS {
                    true => arrows.at.entry(to).or_default().1.push(*id),
                    false => arrows.tied.push((to, *id)),
                }
            }
        }
        Ok(arrows)
    }

    /// The arrows that begin and that end at a pause.
    pub fn of(&self, port: PortId, priority: u8, start_ps: u64) -> (&[u64], &[u64]) {
        self.at.get(&(port, priority, start_ps)).map_or((&[], &[]), |(begins, ends)| (begins, ends))
    }
}

fn index(dir: &Path, tracks: &mut Tracks) -> Result<Option<Index>, ExportError> {
    let (mut index, mut rows) = (Index::new(), 0);
    for batch in read::stream(dir, "pauses")? {
        let b = batch?;
        rows += b.num_rows();
        if rows > PAUSES_MAX {
            return Ok(None);
        }
        let (from, to, priority) = (
            read::numbers(&b, "start_ps"),
            read::numbers(&b, "end_ps"),
            read::numbers(&b, "priority"),
        );
        let port = read::texts(&b, "port");
        for row in 0..b.num_rows() {
            if let (Some(from), Some(p), Some(port)) = (from[row], priority[row], port[row]) {
                index
                    .entry((tracks.port(port), p as u8))
                    .or_default()
                    .push((from, to[row].unwrap_or(u64::MAX)));
            }
        }
    }
    // Rows are in the order of ends; one port's pauses follow each other, so this is sorted already
    // but for the last.
    #[expect(clippy::iter_over_hash_type, reason = "each list is sorted on its own")]
    for pauses in index.values_mut() {
        pauses.sort_unstable();
    }
    Ok(Some(index))
}

/// The pause of a port that contains a time.
fn at(index: &Index, port: PortId, priority: u8, t: u64) -> Option<Pause> {
    let pauses = index.get(&(port, priority))?;
    let behind = pauses.partition_point(|(from, _)| *from <= t);
    let (from, to) = *pauses.get(behind.checked_sub(1)?)?;
    (t < to || from == t).then_some((port, priority, from))
}

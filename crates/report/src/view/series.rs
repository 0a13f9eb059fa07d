//! Probe rows of one port for a stretch of time. The report requests them piece by piece, so the
//! tables may have any length.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use xoff_record::{RecordBatch, RecordError, read};

/// Stretches into which the time asked for is divided; of each the smallest and the largest value
/// are kept.
const BINS: usize = 800;

/// A line of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Quantity, such as `egress queue, priority 3`.
    pub name: String,
    /// `rate` [bit/s] or `queue` [bytes].
    pub kind: &'static str,
    /// Times [ps].
    pub t: Vec<u64>,
    /// Values at these times.
    pub v: Vec<u64>,
}

/// First, smallest, largest and last value of a stretch, with their times.
#[derive(Clone, Copy)]
struct Bin {
    first: (u64, u64),
    least: (u64, u64),
    most: (u64, u64),
    last: (u64, u64),
}

impl Bin {
    fn of(at: (u64, u64)) -> Bin {
        Bin { first: at, least: at, most: at, last: at }
    }
    fn add(&mut self, at: (u64, u64)) {
        if at.1 < self.least.1 {
            self.least = at;
        }
        if at.1 > self.most.1 {
            self.most = at;
        }
        self.last = at;
    }
    fn points(&self) -> Vec<(u64, u64)> {
        let mut all = vec![self.first, self.least, self.most, self.last];
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Rows of `port` (`S1->S2`) between two times [ps], from the tables of the run in `dir`.
///
/// # Errors
/// A table that is damaged.
pub fn series(dir: &Path, port: &str, from: u64, to: u64) -> Result<Vec<Line>, RecordError> {
    let mut lines: BTreeMap<(&'static str, String), Vec<Option<Bin>>> = BTreeMap::new();
    let width = (to.saturating_sub(from) / BINS as u64).max(1);
    for (table, kind, value) in [("queues", "queue", "bytes"), ("rates", "rate", "rate_bps")] {
        if !read::exists(dir, table) {
            continue;
        }
        for batch in read::stream(dir, table)? {
            let batch = batch?;
            let (ports, times, values) = (
                read::texts(&batch, "port"),
                read::numbers(&batch, "time_ps"),
                read::numbers(&batch, value),
            );
            let name = names(&batch, table);
            for row in 0..batch.num_rows() {
                let (Some(at), Some(v)) = (times[row], values[row]) else { continue };
                if ports[row] != Some(port) || at < from || at > to {
                    continue;
                }
                let Some(name) = name(row) else { continue };
                let bins = lines.entry((kind, name)).or_insert_with(|| vec![None; BINS + 2]);
                match &mut bins[(((at - from) / width) as usize).min(BINS + 1)] {
                    Some(bin) => bin.add((at, v)),
                    empty => *empty = Some(Bin::of((at, v))),
                }
            }
        }
    }
    let line = |((kind, name), bins): ((&'static str, String), Vec<Option<Bin>>)| {
        let (t, v) = bins.iter().flatten().flat_map(Bin::points).unzip();
        Line { name, kind, t, v }
    };
    Ok(lines.into_iter().map(line).collect())
}

/// Name of a row's quantity; `None`: the row does not belong to the port as a whole.
fn names<'b>(batch: &'b RecordBatch, table: &str) -> impl Fn(usize) -> Option<String> + 'b {
    let priorities = read::numbers(batch, "priority");
    let queues = table == "queues";
    let (words, flows) =
        (read::texts(batch, if queues { "kind" } else { "source" }), read::numbers(batch, "flow"));
    move |row| {
        if flows[row].is_some() {
            return None;
        }
        let word = words[row]?.replace('_', " ");
        let priority = priorities[row].map_or(String::new(), |p| format!(", priority {p}"));
        Some(if queues {
            format!("{word} queue{priority}")
        } else {
            format!("{word} rate{priority}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_keeps_its_extremes_in_the_order_of_time() {
        let mut bin = Bin::of((10, 5));
        [(11, 9), (12, 1), (13, 4)].into_iter().for_each(|at| bin.add(at));
        assert_eq!(bin.points(), [(10, 5), (11, 9), (12, 1), (13, 4)]);
        assert_eq!(Bin::of((7, 7)).points(), [(7, 7)]);
    }
}

//! Columns of a run that a measure reads.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use xoff_record::read;

use crate::sweep::Ran;

/// A finished run.
pub(crate) struct Seen<'r>(pub &'r Ran);

/// A flow.
pub(crate) struct Flow {
    /// Number.
    pub flow: u64,
    /// Source.
    pub src: String,
    /// Start [ps].
    pub start: u64,
    /// End [ps]; `None`: unfinished.
    pub end: Option<u64>,
    /// Payload delivered [bytes].
    pub delivered: u64,
    /// Payload; 2^64 - 1: unlimited.
    pub size: u64,
    /// Completion time over that of the flow alone.
    pub slowdown: f64,
    /// Frames ahead of a gap.
    pub ahead: u64,
    /// Most bytes ahead of a gap.
    pub ahead_bytes: u64,
}

/// A port.
pub(crate) struct Port {
    /// `S1->S2`.
    pub name: String,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames marked CE.
    pub marked: u64,
    /// Pauses.
    pub pauses: u64,
    /// Time paused [ps].
    pub paused: u64,
    /// Time for which a frame was blocked [ps].
    pub blocked: u64,
}

impl Seen<'_> {
    fn batches(&self, table: &str) -> impl Iterator<Item = &RecordBatch> {
        self.0.tables.iter().filter(move |t| t.name == table).flat_map(|t| &t.batches)
    }

    /// A column of numbers.
    pub fn numbers(&self, table: &str, column: &str) -> Vec<Option<u64>> {
        self.batches(table).flat_map(|b| read::numbers(b, column)).collect()
    }

    /// A column of texts.
    pub fn texts(&self, table: &str, column: &str) -> Vec<String> {
        let owned = |b| {
            let texts = read::texts(b, column).into_iter();
            texts.map(|t| t.unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        self.batches(table).flat_map(owned).collect()
    }

    /// The flows.
    pub fn flows(&self) -> Vec<Flow> {
        let n = |column| self.numbers("flows", column);
        let slowdown: Vec<Option<f64>> =
            self.batches("flows").flat_map(|b| read::floats(b, "slowdown")).collect();
        let (flow, src, start, end) =
            (n("flow"), self.texts("flows", "src"), n("start_ps"), n("end_ps"));
        let (size, delivered) = (n("size_bytes"), n("bytes_delivered"));
        let (ahead, ahead_bytes) = (n("frames_ahead"), n("ahead_bytes_max"));
        let one = |i: usize| Flow {
            flow: flow[i].unwrap_or(0),
            src: src[i].clone(),
            start: start[i].unwrap_or(0),
            end: end[i],
            size: size[i].unwrap_or(0),
            delivered: delivered[i].unwrap_or(0),
            slowdown: slowdown[i].unwrap_or(f64::NAN),
            ahead: ahead[i].unwrap_or(0),
            ahead_bytes: ahead_bytes[i].unwrap_or(0),
        };
        (0..flow.len()).map(one).collect()
    }

    /// The ports.
    pub fn ports(&self) -> Vec<Port> {
        let n = |column| self.numbers("ports", column);
        let (name, bytes, frames) = (self.texts("ports", "port"), n("tx_bytes"), n("tx_frames"));
        let (marked, pauses) = (n("marked"), n("pauses"));
        let (paused, blocked) = (n("paused_ps"), n("blocked_ps"));
        let one = |i: usize| Port {
            name: name[i].clone(),
            tx_bytes: bytes[i].unwrap_or(0),
            tx_frames: frames[i].unwrap_or(0),
            marked: marked[i].unwrap_or(0),
            pauses: pauses[i].unwrap_or(0),
            paused: paused[i].unwrap_or(0),
            blocked: blocked[i].unwrap_or(0),
        };
        (0..name.len()).map(one).collect()
    }

    /// Bytes that each of these ports sent.
    pub fn sent(&self, ports: &[String]) -> Vec<f64> {
        let sent: BTreeMap<String, u64> =
            self.ports().into_iter().map(|p| (p.name, p.tx_bytes)).collect();
        ports.iter().map(|p| sent.get(p).copied().unwrap_or(0) as f64).collect()
    }

    /// Sampled rates of flows: time [ps], flow, rate [bit/s].
    pub fn flow_rates(&self) -> Vec<(u64, u64, f64)> {
        let n = |column| self.numbers("rates", column);
        let (time, flow, rate) = (n("time_ps"), n("flow"), n("rate_bps"));
        let source = self.texts("rates", "source");
        let one = |i: usize| Some((time[i]?, flow[i]?, rate[i]? as f64));
        (0..time.len()).filter(|&i| source[i] == MEASURED).filter_map(one).collect()
    }

    /// End of each iteration of a job, from the first [ps]: start of the job first. Iterations that
    /// did not end are left out.
    pub fn iterations(&self, job: &str) -> Vec<u64> {
        let n = |column| self.numbers("ranks", column);
        let (job_of, iteration) = (self.texts("ranks", "job"), n("iteration"));
        let (start, end) = (n("start_ps"), n("end_ps"));
        let own = || (0..job_of.len()).filter(|&i| job_of[i].ends_with(job));
        let mut ends: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        for i in own() {
            let of = ends.entry(iteration[i].unwrap_or(0)).or_insert(Some(0));
            *of = of.zip(end[i]).map(|(a, b)| a.max(b));
        }
        let begun = own().filter_map(|i| start[i]).min().unwrap_or(0);
        [begun].into_iter().chain(ends.into_values().map_while(|e| e)).collect()
    }
}

/// Source of a measured rate in the table `rates`.
const MEASURED: &str = "measured";

/// Jain's index; 1: all are equal. NaN of nothing.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    sum * sum / (values.len() as f64 * squares)
}

/// The largest over the mean.
pub(crate) fn max_to_mean(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().copied().fold(f64::NAN, f64::max) / mean
}

/// Median; NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (n, half) if n % 2 == 1 => sorted[half],
        (_, half) => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_jain() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(max_to_mean(&[1.0, 0.0, 0.0, 3.0]), 3.0);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
    }
}

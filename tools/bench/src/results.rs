//! Measured values, as plain data: the content of bench.json.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failed;
use crate::growth::Curve;
use crate::machine::Machine;
use crate::targets::{Target, Unit};

/// All figures of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Date of the measurement, as text for people.
    pub measured: String,
    /// Version of xoff.
    pub xoff_version: String,
    /// The machine that was measured.
    pub machine: Machine,
    /// The table, in its order.
    pub rows: Vec<Row>,
    /// CPU time per frame-hop as the work grows.
    pub growth: Vec<Curve>,
    /// Result hash by number of threads.
    pub hashes: Vec<ThreadHash>,
}

/// A figure next to its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Key of the row in a baseline.
    pub id: String,
    /// Work that was run.
    pub work: String,
    /// Figure that was measured.
    pub figure: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Target of the figure.
    pub target: Option<Target>,
    /// Measured value.
    pub measured: Measured,
}

/// A value, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Over several runs.
    Runs(Stat),
    /// One clause.
    Missing(String),
}

impl Measured {
    /// The values, if there are any.
    pub fn stat(&self) -> Option<&Stat> {
        match self {
            Measured::Runs(s) => Some(s),
            Measured::Missing(_) => None,
        }
    }
}

/// Several values of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Number of runs.
    pub runs: usize,
}

impl Stat {
    /// Statistic of these values; `None` without any.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Stat> {
        let mut v: Vec<f64> = values.into_iter().collect();
        v.sort_by(f64::total_cmp);
        let (min, max) = (*v.first()?, *v.last()?);
        let median = (v[(v.len() - 1) / 2] + v[v.len() / 2]) / 2.0;
        Some(Stat { median, min, max, runs: v.len() })
    }

    /// Statistic in another measure; least and greatest change places if it turns the order round.
    pub fn map(self, to: impl Fn(f64) -> f64) -> Stat {
        let (a, b) = (to(self.min), to(self.max));
        Stat { median: to(self.median), min: a.min(b), max: a.max(b), runs: self.runs }
    }
}

/// The result of one number of threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadHash {
    /// Threads asked for.
    pub threads: u32,
    /// Result hash, or why there is none.
    pub hash: String,
}

impl Report {
    /// The row of this id.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|r| r.id == id)
    }

    /// Median of the row of this id.
    pub fn median(&self, id: &str) -> Option<f64> {
        self.row(id)?.measured.stat().map(|s| s.median)
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), Failed> {
        write_json(path, self)
    }

    /// Reads it.
    pub fn read(path: &Path) -> Result<Report, Failed> {
        read_json(path)
    }
}

/// Writes JSON for people and programs, with its folder.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failed> {
    let failed = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", path.display());
    let text = serde_json::to_string_pretty(value).map_err(|e| failed(&e))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    }
    xoff_record::output::write(path, (text + "\n").as_bytes()).map_err(|e| e.what)
}

/// Reads JSON.
pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failed> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{} is unreadable: {e}", path.display()))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::targets::{HPCC_SPEED, QUEUE_SHARE};

    /// A report of two rows: one measured, one not.
    pub fn sample(speed: f64) -> Report {
        Report {
            measured: "2026-01-02T03:04:05Z".into(),
            xoff_version: "0.1.0".into(),
            machine: Machine { cpu: "A processor".into(), cores: 2, rustc: "rustc 1.2.3".into() },
            rows: vec![
                HPCC_SPEED.row(Ok(Stat { median: speed, min: speed, max: speed, runs: 3 })),
                QUEUE_SHARE.row(Err("not measured".into())),
            ],
            growth: vec![],
            hashes: vec![
                ThreadHash { threads: 1, hash: "ab".into() },
                ThreadHash { threads: 2, hash: "ab".into() },
            ],
        }
    }

    #[test]
    fn the_median_is_that_of_odd_and_even_numbers() {
        assert_eq!(
            Stat::of([3.0, 1.0, 2.0]),
            Some(Stat { median: 2.0, min: 1.0, max: 3.0, runs: 3 })
        );
        assert_eq!(Stat::of([4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert_eq!(Stat::of([]), None);
    }

    #[test]
    fn a_reciprocal_keeps_the_least_the_least() {
        let s = Stat::of([1.0, 2.0, 4.0]).unwrap().map(|v| 1.0 / v);
        assert_eq!((s.median, s.min, s.max), (0.5, 0.25, 1.0));
    }

    #[test]
    fn a_report_survives_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/bench.json");
        let report = sample(9e6);
        report.write(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), report);
        assert_eq!(report.median("hpcc-speed"), Some(9e6));
        assert_eq!(report.median("queue-share"), None);
    }
}

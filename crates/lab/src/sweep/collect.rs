//! From finished runs to the results: one table, a dataset in folders, intervals, a report.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::RecordBatch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_record::output::Folder;
use xoff_record::verdict::Conclusion;
use xoff_report::Table;

use crate::sweep::cell::{Cell, Shard, Status};
use crate::sweep::scenario::hash;
use crate::sweep::table::{Columns, parquet_bytes};
use crate::sweep::{Plan, Store, Summary, SweepError, hive, report};

/// Numbers of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "RunCounts")]
pub struct Counts {
    /// Runs of the plan.
    pub total: usize,
    /// Runs with a result.
    pub done: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Runs that did not run.
    pub missing: usize,
}

impl Counts {
    /// `90 of 90 runs done`.
    pub fn headline(&self) -> String {
        let mut text = format!("{} of {} runs done", self.done, self.total);
        for (n, word) in [(self.failed, "failed"), (self.missing, "missing")] {
            if n > 0 {
                text += &format!(", {n} {word}");
            }
        }
        text
    }

    /// Every run has a result.
    pub fn is_complete(&self) -> bool {
        self.done == self.total
    }
}

/// `manifest.json` of a sweep.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "SweepManifest")]
pub struct Manifest {
    /// Version of xoff.
    pub xoff_version: String,
    /// Title of the sweep.
    pub title: String,
    /// Progress, in words.
    pub headline: String,
    /// Progress, in numbers.
    pub runs: Counts,
    /// Combinations of values.
    pub combinations: usize,
    /// The seeds of each combination.
    pub seeds: Vec<u64>,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Columns of the figure and the table.
    pub shown: Vec<String>,
    /// Method of the intervals.
    pub intervals: String,
    /// Hash of the bytes of `runs.parquet`, which hold no clock.
    pub runs_hash: String,
    /// Time that the runs took, summed [s].
    pub run_seconds: f64,
    /// The plan.
    pub plan: String,
}

/// Result of a sweep.
pub struct Collected {
    /// The manifest.
    pub manifest: Manifest,
    /// A row for each run that ended.
    pub runs: RecordBatch,
    /// Means and shares.
    pub summary: Summary,
    /// The table of the report.
    pub table: Table,
    /// Failed runs: number, values, error.
    pub failed: Vec<(usize, String, String)>,
    /// Numbers of the missing runs.
    pub missing: Vec<usize>,
    /// Those of them that have a file that cannot be read: number, reason.
    pub unreadable: Vec<(usize, String)>,
}

/// Results of a sweep.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Sweep")]
pub struct Swept<'a> {
    #[serde(flatten)]
    manifest: &'a Manifest,
    /// `yes`: every run has a result.
    answer: Conclusion,
    /// Runs that failed.
    failed: Vec<FailedRun<'a>>,
    /// Numbers of the missing runs.
    missing: &'a [usize],
    /// Those of them whose result is in the folder and cannot be read.
    unreadable: Vec<UnreadableRun<'a>>,
    /// Folder of the results.
    out: String,
}

/// A run that failed.
#[derive(JsonSchema, Serialize)]
struct FailedRun<'a> {
    /// Number in the plan, from 0.
    run: usize,
    /// Values, as text.
    values: &'a str,
    /// Reason of the failure.
    error: &'a str,
}

/// A finished run whose result cannot be read.
#[derive(JsonSchema, Serialize)]
struct UnreadableRun<'a> {
    /// Number in the plan, from 0.
    run: usize,
    /// File, and why it cannot be read.
    error: &'a str,
}

impl Collected {
    /// Answer for programs: the manifest, with failed and missing runs.
    pub fn json(&self, out: &Path) -> Swept<'_> {
        Swept {
            manifest: &self.manifest,
            answer: Conclusion::of(false, self.manifest.runs.is_complete()),
            failed: self
                .failed
                .iter()
                .map(|(cell, values, error)| FailedRun { run: *cell, values, error })
                .collect(),
            missing: &self.missing,
            unreadable: self
                .unreadable
                .iter()
                .map(|(run, error)| UnreadableRun { run: *run, error })
                .collect(),
            out: out.display().to_string(),
        }
    }
}

impl Store {
    /// Writes the results of finished runs.
    ///
    /// # Errors
    /// A file that cannot be written; the results of before are then gone or still there, and
    /// finished runs are kept.
    pub fn collect(&self, plan: &Plan) -> Result<Collected, SweepError> {
        let folder = self.claimed().expect("who collects has claimed the folder");
        let mut unreadable = Vec::new();
        let mut found = |cell: &Cell| match self.look(cell) {
            Ok(shard) => shard,
            Err(why) => {
                unreadable.push((cell.index, why));
                None
            }
        };
        let cells: Vec<(Cell, Option<Shard>)> =
            plan.cells().map(|cell| (cell.clone(), found(&cell))).collect();
        let rows: Vec<(Cell, Shard)> =
            cells.iter().filter_map(|(c, s)| Some((c.clone(), s.clone()?))).collect();
        let failed: Vec<(usize, String, String)> = rows
            .iter()
            .filter(|(_, s)| s.status == Status::Failed)
            .map(|(c, s)| (c.index, c.words(), s.error.clone().unwrap_or_default()))
            .collect();
        let missing: Vec<usize> =
            cells.iter().filter(|(_, s)| s.is_none()).map(|(c, _)| c.index).collect();
        let counts = Counts {
            total: cells.len(),
            done: rows.len() - failed.len(),
            failed: failed.len(),
            missing: missing.len(),
        };

        let all: Vec<&(Cell, Shard)> = rows.iter().collect();
        let impossible = |e: &dyn std::fmt::Display| {
            SweepError::file("write", &self.path().join("runs.parquet"), e)
        };
        let columns = Columns::of(plan, &rows);
        let runs = columns.batch(&all, true).map_err(|e| impossible(&e))?;
        let metadata = vec![
            ("xoff_version".to_owned(), xoff_run::VERSION.to_owned()),
            ("xoff_plan".to_owned(), plan.source.text().to_owned()),
        ];
        let bytes =
            parquet_bytes(&runs.schema(), &[&runs], &metadata).map_err(|e| impossible(&e))?;
        folder.stage_bytes("runs.parquet", &bytes)?;
        let runs_hash = hash(&bytes);
        drop(bytes);
        dataset(plan, folder, &columns, &rows)
            .map_err(|e| e.unwrap_or_else(|| impossible(&"a column does not fit")))?;
        self.tables(plan, folder, &rows)?;

        let summary = Summary::of(plan, &cells, &rows);
        let manifest = Manifest {
            xoff_version: xoff_run::VERSION.into(),
            title: plan.title.clone(),
            headline: counts.headline(),
            runs: counts,
            combinations: plan.combinations(),
            seeds: plan.seeds.clone(),
            parameters: summary.parameters.clone(),
            shown: report::shown(plan, &summary).iter().map(|(_, c)| c.name.clone()).collect(),
            intervals: summary.method(),
            runs_hash: runs_hash.clone(),
            run_seconds: rows.iter().map(|(_, s)| s.wall_seconds).sum(),
            plan: plan.source.text().into(),
        };
        folder.stage_bytes("table.csv", summary.csv().as_bytes())?;
        folder.stage_bytes("figure.svg", report::figure(plan, &summary).to_svg().as_bytes())?;
        let page = report::page(plan, &summary, &counts, &failed, &runs_hash);
        folder.stage_bytes("index.html", page.to_html().as_bytes())?;
        let text =
            serde_json::to_string_pretty(&manifest).expect("a manifest is plain data") + "\n";
        folder.commit("manifest.json", text.as_bytes())?;
        let table = report::table(plan, &summary);
        Ok(Collected { manifest, runs, summary, table, failed, missing, unreadable })
    }

    /// The tables of the runs, in folders: `flows/flow_control=pfc/seed=1/flows.parquet`.
    fn tables(
        &self,
        plan: &Plan,
        folder: &Folder,
        rows: &[(Cell, Shard)],
    ) -> Result<(), SweepError> {
        for name in plan.work().tables() {
            for (cell, _) in rows {
                let Some(bytes) = self.table(cell, name) else { continue };
                let own = [name.to_owned()]
                    .into_iter()
                    .chain(hive::folders(plan, cell))
                    .chain([format!("seed={}", cell.seed)]);
                below(folder, own)?.stage_bytes(&format!("{name}.parquet"), &bytes)?;
            }
        }
        Ok(())
    }
}

fn below(folder: &Folder, names: impl IntoIterator<Item = String>) -> Result<Folder, SweepError> {
    let mut at = folder.clone();
    for name in names {
        at = at.sub(&name)?;
    }
    Ok(at)
}

/// The rows in folders, a file for each combination:
/// `runs/flow_control=pfc/switch.discipline=fifo/runs.parquet`.
fn dataset(
    plan: &Plan,
    folder: &Folder,
    columns: &Columns,
    rows: &[(Cell, Shard)],
) -> Result<(), Option<SweepError>> {
    let mut groups: BTreeMap<Vec<String>, Vec<&(Cell, Shard)>> = BTreeMap::new();
    for row in rows {
        groups.entry(hive::folders(plan, &row.0)).or_default().push(row);
    }
    for (names, own) in groups {
        let batch = columns.batch(&own, false).map_err(|_| None)?;
        let bytes = parquet_bytes(&batch.schema(), &[&batch], &[]).map_err(|_| None)?;
        let at = below(folder, ["runs".to_owned()].into_iter().chain(names)).map_err(Some)?;
        at.stage_bytes("runs.parquet", &bytes).map_err(|e| Some(e.into()))?;
    }
    Ok(())
}

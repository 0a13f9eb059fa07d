//! Runs of a scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use xoff_record::{Manifest, MemoryTable, Sink};
use xoff_report::Unit;
use xoff_run::{RunError, Scenario};
use xoff_scenario::document::Override;
use xoff_scenario::{Place, Problem, Problems, Source, read};
use xoff_units::params::suggest;
use xxhash_rust::xxh3::xxh3_128;

use crate::sweep::cell::Cell;
use crate::sweep::table::parquet_bytes;
use crate::sweep::work::{Column, Done, Input, Kind, Measured, Ran};
use crate::sweep::{Setting, Value};

/// Columns that a figure shows where the plan names none; those without a value are left out.
pub const SHOWN: [&str; 5] =
    ["deadlock", "throughput_bps", "ingress_bytes_max", "paused_ps", "slowdown_p99"];

/// The columns of a run of a scenario.
pub(crate) const COLUMNS: [Column; 23] = [
    column(
        "answer",
        Kind::Text,
        "`yes`, or `no`: a deadlock, lost frames, or a violated check",
        none,
    ),
    column("deadlock", Kind::Flag, "whether there was a deadlock; null: not checked", share),
    column("deadlock_seconds", Kind::Number, "when its cycle closed [s]", seconds),
    column("deadlock_ports", Kind::Text, "its ports, each waiting for the next", none),
    column("lost_frames", Kind::Whole, "frames that did not arrive", frames),
    column("dropped_frames", Kind::Whole, "frames dropped by nodes; among the lost ones", frames),
    column("delivered_bytes", Kind::Whole, "payload that arrived at its receivers [bytes]", bytes),
    column("throughput_bps", Kind::Number, "the same over the simulated time [bit/s]", rate),
    column(
        "ingress_bytes_max",
        Kind::Whole,
        "largest fill of an ingress buffer, any one class [bytes]",
        bytes,
    ),
    column("egress_bytes_max", Kind::Whole, "largest egress queue, any one class [bytes]", bytes),
    column("pauses", Kind::Whole, "number of pauses, summed over ports", times),
    column(
        "paused_ps",
        Kind::Whole,
        "time that ports were paused, summed over ports [ps]",
        picoseconds,
    ),
    column(
        "slowdown_mean",
        Kind::Number,
        "mean slowdown of the flows, unfinished ones with their age",
        none,
    ),
    column("slowdown_median", Kind::Number, "median of the same", none),
    column("slowdown_p99", Kind::Number, "99th percentile of the same", none),
    column(
        "slowdown_censored",
        Kind::Whole,
        "unfinished flows among them; above 0 the slowdowns are lower bounds",
        none,
    ),
    column(
        "flows_completed",
        Kind::Whole,
        "flows, or packets of a scheduled fabric, that are complete",
        none,
    ),
    column("flows_total", Kind::Whole, "those that started", none),
    column("simulated_seconds", Kind::Number, "simulated time reached [s]", seconds),
    column("events", Kind::Whole, "events handled", none),
    column("frame_hops", Kind::Whole, "frames that crossed a link, counted per link", frames),
    column("headline", Kind::Text, "what the run came to, in words", none),
    column("result_hash", Kind::Text, "hash of all results of the run", none),
];

const fn column(name: &'static str, kind: Kind, doc: &'static str, unit: fn() -> Unit) -> Column {
    Column { name, kind, doc, unit }
}
fn none() -> Unit {
    Unit::None
}
fn share() -> Unit {
    Unit::Fraction
}
fn seconds() -> Unit {
    Unit::Seconds
}
fn picoseconds() -> Unit {
    Unit::Picoseconds
}
fn bytes() -> Unit {
    Unit::Bytes
}
fn rate() -> Unit {
    Unit::BitsPerSecond
}
fn frames() -> Unit {
    Unit::Other("frames".into())
}
fn times() -> Unit {
    Unit::Other("times".into())
}

/// A scenario whose values the runs replace.
pub struct Work {
    pub(crate) source: Arc<Source>,
    /// Folder in which files that it names are looked up.
    pub(crate) folder: PathBuf,
    pub(crate) inputs: Vec<Input>,
    /// Places of the settings in the plan, by text: the key, the value.
    places: Vec<(String, Place, Place)>,
    tables: Vec<String>,
    warnings: Problems,
}

impl Work {
    /// Reads the scenario, and tries it under `samples` of the settings: a setting that is rejected
    /// in both of a pair is a mistake of the plan.
    pub(crate) fn load(
        path: &Path,
        named: &Place,
        places: Vec<(String, Place, Place)>,
        tables: Vec<(String, Place)>,
        samples: &[[Vec<(String, Setting)>; 2]],
    ) -> Result<Work, Problems> {
        let known: Vec<&str> = xoff_record::tables().map(|t| t.name).collect();
        let mut problems = Problems::default();
        for (name, place) in tables.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            let what = format!("tables: there is no table '{}'", suggest::clip(name));
            problems
                .push(Problem::new(what, suggest::hint(name, "tables", &known)).at(place.clone()));
        }
        problems.or(())?;
        // A file that is not there is a mistake of the plan.
        read::is_readable(path).map_err(|p| p.at(named.clone()))?;
        let source = Source::read_document(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let tables = tables.into_iter().map(|(name, _)| name).collect();
        let mut work = Work {
            source,
            folder,
            inputs: Vec::new(),
            places,
            tables,
            warnings: Problems::default(),
        };
        let (tried, files) = read::recorded(|| {
            let (mut problems, mut warnings) = (Problems::default(), None);
            for [first, other] in samples {
                match work.under(first, 1) {
                    Ok(scenario) => {
                        warnings.get_or_insert_with(|| {
                            let found = match scenario {
                                Scenario::Network(s) => s.warnings,
                                Scenario::Fabric(s) => s.warnings,
                            };
                            self::placed(&found, |p| work.placed(p))
                        });
                    }
                    // Another combination has a result: this one is a run that fails.
                    Err(_) if first != other && work.under(other, 1).is_ok() => {}
                    Err(found) => {
                        let new: Vec<Problem> = found
                            .iter()
                            .filter(|p| !problems.iter().any(|known| known == *p))
                            .cloned()
                            .collect();
                        new.into_iter().for_each(|p| problems.push(p));
                    }
                }
            }
            problems.or(warnings.unwrap_or_default())
        });
        work.warnings = tried?;
        for path in files {
            let bytes = std::fs::read(&path)
                .map_err(|e| Problem::new(format!("cannot read '{}': {e}", path.display()), ""))?;
            work.inputs.push(Input { hash: hash(&bytes), path });
        }
        Ok(work)
    }

    /// As another process has read and tried it.
    pub(crate) fn given(
        source: Arc<Source>,
        folder: PathBuf,
        inputs: Vec<Input>,
        places: Vec<(String, Place, Place)>,
        tables: Vec<(String, Place)>,
    ) -> Work {
        Work {
            source,
            folder,
            inputs,
            places,
            tables: tables.into_iter().map(|(name, _)| name).collect(),
            warnings: Problems::default(),
        }
    }

    /// The scenario with some settings; problems of a setting are reported at its place in the
    /// plan.
    fn under(&self, settings: &[(String, Setting)], seed: u64) -> Result<Scenario, Problems> {
        let one = |(name, s): &(String, Setting)| Override::keyword(name, &s.toml);
        let overrides: Result<Vec<Override>, Problem> = settings
            .iter()
            .map(one)
            .chain([Override::keyword("run.seed", &seed.to_string())])
            .collect();
        let loaded = overrides.map_err(Problems::from).and_then(|o| {
            Scenario::from_text(self.source.name(), self.source.text(), &o, &self.folder)
        });
        loaded.map_err(|found| placed(&found, |p| self.placed(p)))
    }

    fn placed(&self, p: &Problem) -> Problem {
        let Some(own) = p.place.as_ref().filter(|at| at.source.is_setting()) else {
            return p.clone();
        };
        let text = own.source.text();
        let Some((_, key, value)) = self.places.iter().find(|(setting, ..)| setting == text) else {
            return p.clone();
        };
        let in_key = text.find('=').is_some_and(|end| own.span.start < end);
        p.clone().at(if in_key { key } else { value }.clone())
    }

    fn settings(cell: &Cell) -> Vec<(String, Setting)> {
        cell.all().map(|(name, s)| (name.to_owned(), s.clone())).collect()
    }
}

fn placed(found: &Problems, place: impl Fn(&Problem) -> Problem) -> Problems {
    let mut problems = Problems::default();
    found.iter().for_each(|p| problems.push(place(p)));
    problems
}

/// Hash of bytes as text.
pub(crate) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

impl Work {
    /// All that results depend on, but for the version, the values and the seed.
    pub(crate) fn basis(&self) -> String {
        let inputs: Vec<&str> = self.inputs.iter().map(|i| i.hash.as_str()).collect();
        serde_json::to_string(&("scenario", self.source.text(), inputs, &self.tables))
            .expect("texts")
    }

    /// Warnings about the first run; each with its place.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// The tables that are kept of each run.
    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Runs one cell. `stop` is polled now and then; `wanted` receives the run, where the caller
    /// wants it.
    pub(crate) fn run(
        &self,
        cell: &Cell,
        stop: &(dyn Fn() -> bool + Sync),
        wanted: Option<&mut Option<Ran>>,
    ) -> Done {
        for input in &self.inputs {
            match std::fs::read(&input.path) {
                Ok(bytes) if hash(&bytes) == input.hash => {}
                Ok(_) => {
                    return Done::Failed(format!(
                        "{} is not what it was when the sweep began, or it differs on this machine",
                        input.path.display()
                    ));
                }
                Err(e) => {
                    return Done::Failed(format!(
                        "cannot read {}: {e}; files that a scenario names must be on every machine",
                        input.path.display()
                    ));
                }
            }
        }
        let scenario = match self.under(&Self::settings(cell), cell.seed) {
            Ok(scenario) => scenario,
            Err(problems) => return Done::Failed(problems.to_string()),
        };
        let sink = || {
            if self.tables.is_empty() && wanted.is_none() { Sink::Nothing } else { Sink::Memory }
        };
        let ran = match &scenario {
            Scenario::Network(s) => {
                s.start(sink(), Some(1)).and_then(|running| running.run(|_| !stop())).map(|f| {
                    let mut values = of_manifest(&f.manifest);
                    values.extend(of_network(&f));
                    (f.manifest, values, f.tables.memory)
                })
            }
            Scenario::Fabric(s) => s.run(sink(), |_| !stop()).map(|f| {
                let bytes: u64 = f.report.windows.iter().map(|w| w.cold_bytes + w.hot_bytes).sum();
                let mut values = of_manifest(&f.manifest);
                values.extend(delivered(bytes, f.manifest.simulated_seconds));
                (f.manifest, values, f.tables.memory)
            }),
        };
        match ran {
            Ok((manifest, ..)) if manifest.interrupted => Done::Stopped,
            Ok((manifest, values, tables)) => match self.kept(&tables) {
                Ok(kept) => {
                    if let Some(run) = wanted {
                        *run = Some(Ran { manifest, tables });
                    }
                    Done::Measured(Measured { values }, kept)
                }
                Err(e) => Done::Failed(e),
            },
            Err(RunError::Build(e)) => Done::Failed(e.to_string()),
            Err(e @ RunError::Record(_)) => Done::Failed(e.to_string()),
        }
    }

    /// The tables that the plan names, as Parquet.
    fn kept(&self, tables: &[MemoryTable]) -> Result<Vec<(String, Vec<u8>)>, String> {
        let wanted = tables.iter().filter(|t| self.tables.iter().any(|name| name == t.name));
        wanted
            .map(|t| {
                let batches: Vec<&RecordBatch> = t.batches.iter().collect();
                // The metadata of a run names its scenario; the plan does that here.
                let schema = Arc::new(arrow_schema::Schema::new(t.schema.fields().clone()));
                parquet_bytes(&schema, &batches, &[])
                    .map(|bytes| (t.name.to_owned(), bytes))
                    .map_err(|e| format!("table {}: {e}", t.name))
            })
            .collect()
    }
}

fn pairs<const N: usize>(values: [(&str, Value); N]) -> Vec<(String, Value)> {
    values.into_iter().map(|(name, v)| (name.to_owned(), v)).collect()
}

fn of_manifest(m: &Manifest) -> Vec<(String, Value)> {
    let slowdown = m.slowdown.as_ref();
    let verdict = m.verdict.as_ref();
    let deadlock = verdict.and_then(|v| match v.parts().deadlock {
        xoff_record::verdict::Deadlock::None => Some(false),
        xoff_record::verdict::Deadlock::Found { .. } => Some(true),
        xoff_record::verdict::Deadlock::NotChecked { .. } => None,
    });
    let answer = verdict.map(|v| match v.conclusion(&[]) {
        xoff_record::verdict::Conclusion::Yes => "yes",
        xoff_record::verdict::Conclusion::No => "no",
        xoff_record::verdict::Conclusion::Interrupted => "interrupted",
    });
    pairs([
        ("answer", answer.into()),
        ("deadlock", deadlock.into()),
        ("deadlock_ports", m.deadlock.as_ref().map(|ports| ports.join(" ")).into()),
        ("lost_frames", m.lost_frames.into()),
        ("dropped_frames", m.dropped_frames.into()),
        ("slowdown_mean", slowdown.map(|s| s.mean).into()),
        ("slowdown_median", slowdown.map(|s| s.median).into()),
        ("slowdown_p99", slowdown.map(|s| s.p99).into()),
        ("slowdown_censored", slowdown.map(|s| s.censored).into()),
        ("flows_completed", m.flows_completed.into()),
        ("flows_total", m.flows_total.into()),
        ("simulated_seconds", m.simulated_seconds.into()),
        ("events", m.events.into()),
        ("frame_hops", m.frame_hops.into()),
        ("headline", verdict.map(|v| v.headline()).into()),
        ("result_hash", m.result_hash.as_str().into()),
    ])
}

fn delivered(bytes: u64, seconds: f64) -> Vec<(String, Value)> {
    pairs([
        ("delivered_bytes", bytes.into()),
        ("throughput_bps", (bytes as f64 * 8.0 / seconds).into()),
    ])
}

fn of_network(f: &xoff_run::Finished) -> Vec<(String, Value)> {
    let ports = || f.outcome.ports.iter().flatten();
    let most = |of: fn(&xoff_sim::PortTotals) -> u64| ports().map(of).max().unwrap_or(0);
    let mut values =
        delivered(f.outcome.all_flows().map(|f| f.delivered).sum(), f.manifest.simulated_seconds);
    values.extend(pairs([
        (
            "deadlock_seconds",
            f.outcome.deadlocks.iter().map(|d| d.closed).min().map(|t| t.as_secs_f64()).into(),
        ),
        ("ingress_bytes_max", most(|p| p.ingress_bytes_max).into()),
        ("egress_bytes_max", most(|p| p.egress_bytes_max).into()),
        ("pauses", ports().map(|p| p.pauses).sum::<u64>().into()),
        ("paused_ps", ports().map(|p| p.paused_ps).sum::<u64>().into()),
    ]));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_column() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweeps.md"))
                .unwrap();
        for c in COLUMNS {
            assert!(
                page.contains(&format!("`{}`", c.name)),
                "docs/sweeps.md lacks the column {}: {}",
                c.name,
                c.doc
            );
        }
    }
}

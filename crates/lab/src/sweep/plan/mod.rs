//! The plan of a sweep, and its runs.
//!
//! ```text
//!   scenario = "ring.toml"      seeds = 10      [set] run.duration = "5ms"
//!   [[point]] ...  x  [grid] flow_control = [...], switch.discipline = [...]  x  seeds --> runs 0, 1, 2, ...; the seed changes fastest
//! ```

mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_scenario::document::{Table, parse};
use xoff_scenario::{Place, Problem, Problems, Source};
use xoff_units::params::suggest;

use self::read::Read;
use crate::sweep::scenario::{COLUMNS, Work, hash};
use crate::sweep::work::Input;
use crate::sweep::{Cell, Kind, Setting, Value};

/// Columns that every sweep has.
pub(crate) const OWN_COLUMNS: [&str; 4] = ["run", "seed", "status", "error"];
/// Sections that a scenario has, and no plan.
const SCENARIO: [&str; 2] = ["topology", "scheduled_fabric"];
/// Smallest content of a plan.
const LEAST: &str = "a plan has at least scenario = \"FILE\" and [grid] or seeds; scenarios/sweeps/ring.toml is a small one";

/// The parameter of a listed point that gives it a seed of its own.
pub(crate) const SEED: &str = "run.seed";

/// A parameter or a fixed value of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Path in the scenario, such as `switch.discipline`.
    pub name: String,
    /// Place in the plan.
    pub place: Place,
}

/// A plan that was read.
pub struct Plan {
    /// The text of the plan.
    pub source: Arc<Source>,
    /// Title of the plan.
    pub title: String,
    /// Parameters that differ between runs, except the seed.
    pub parameters: Vec<Parameter>,
    /// The seeds: each combination has all of them.
    pub seeds: Vec<u64>,
    /// Columns to show; empty: [`SHOWN`](crate::sweep::SHOWN).
    pub show: Vec<String>,
    /// Values that hold for every run.
    pub(crate) set: Arc<[(String, Setting)]>,
    /// Listed points: a value, or none, for each of the first parameters.
    points: Vec<Vec<Option<Setting>>>,
    /// The values of the parameters that follow.
    grid: Vec<Vec<Setting>>,
    work: Work,
    scenario: String,
    basis: String,
}

impl Plan {
    /// Reads a plan file.
    ///
    /// # Errors
    /// Everything wrong with the plan or with the scenario under any of its values, each with its
    /// place.
    pub fn load(path: &Path) -> Result<Plan, Problems> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Plan::read(Source::read_document(path)?, &folder, None)
    }

    /// From a text; the scenario is looked up in `folder`.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn from_text(name: &str, text: &str, folder: &Path) -> Result<Plan, Problems> {
        Plan::read(Source::file(name, text), folder, None)
    }

    /// `given`: the scenario with its folder and inputs, as another process has read and checked
    /// them.
    pub(crate) fn read(
        source: Arc<Source>,
        folder: &Path,
        given: Option<(Arc<Source>, PathBuf, Vec<Input>)>,
    ) -> Result<Plan, Problems> {
        let root = parse(&source)?;
        if let Some(problem) = scenario_as_plan(&root, &source) {
            return Err(problem.into());
        }
        if root.entries.is_empty() {
            return Err(Problem::new("the plan is empty", LEAST).at(source.place(0..0)).into());
        }
        let mut read = Read::of(&root, &source)?;
        let Some((file, place)) = read.scenario.clone() else {
            return Err(Problem::new("missing key 'scenario'", LEAST)
                .at(source.place(0..0))
                .into());
        };
        let tables = std::mem::take(&mut read.tables);
        let places = read.places();
        let work = match given {
            Some((source, folder, inputs)) => Work::given(source, folder, inputs, places, tables),
            None => Work::load(&folder.join(&file), &place, places, tables, &read.samples())?,
        };
        let columns: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        let averaged: Vec<&str> =
            COLUMNS.iter().filter(|c| c.kind != Kind::Text).map(|c| c.name).collect();
        let mut problems = Problems::default();
        for p in read.parameters.iter().filter(|p| {
            columns.contains(&p.name.as_str()) || OWN_COLUMNS.contains(&p.name.as_str())
        }) {
            problems.push(
                Problem::new(
                    format!("'{}' is the name of a column of the results", p.name),
                    "no parameter has it",
                )
                .at(p.place.clone()),
            );
        }
        for (name, place) in read.show.iter().filter(|(name, _)| !averaged.contains(&name.as_str()))
        {
            let hint = match name.as_str() {
                "pause_seconds" => "its name is now 'paused_ps', in picoseconds".to_owned(),
                _ => suggest::hint(name, "columns", &averaged),
            };
            let what =
                format!("show: there is no column '{}' of numbers or flags", suggest::clip(name));
            problems.push(Problem::new(what, hint).at(place.clone()));
        }
        problems.or(())?;
        let Read { title, parameters, seeds, set, points, grid, show, .. } = read;
        let show = show.into_iter().map(|(name, _)| name).collect();
        let set = set.into_iter().map(|(p, s)| (p.name, s)).collect();
        // Every run hashes it again; a scenario may be long.
        let basis = hash(work.basis().as_bytes());
        Ok(Plan {
            source,
            title,
            parameters,
            seeds,
            show,
            set,
            points,
            grid,
            work,
            scenario: file,
            basis,
        })
    }

    /// The scenario file as the plan names it.
    pub fn scenario_file(&self) -> &str {
        &self.scenario
    }

    /// Work of the runs.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Adds an input that decides the results, such as a measure of the caller.
    pub fn add_basis(&mut self, more: &str) {
        self.basis.push('\n');
        self.basis.push_str(more);
    }

    pub(crate) fn basis(&self) -> &str {
        &self.basis
    }

    /// Combinations of values.
    pub fn combinations(&self) -> usize {
        self.points.len() * self.grid.iter().map(Vec::len).product::<usize>()
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.combinations() * self.seeds.len()
    }

    /// Whether it has none; no plan that was read has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A run; its number is below [`Plan::len`].
    pub fn cell(&self, index: usize) -> Cell {
        let (mut rest, mut seed) = (index / self.seeds.len(), self.seeds[index % self.seeds.len()]);
        let mut own: Vec<Option<Setting>> = Vec::new();
        for values in self.grid.iter().rev() {
            own.push(Some(values[rest % values.len()].clone()));
            rest /= values.len();
        }
        let settings = self.points[rest].iter().cloned().chain(own.into_iter().rev());
        let mut settings: Vec<(String, Option<Setting>)> =
            self.parameters.iter().map(|p| p.name.clone()).zip(settings).collect();
        // The same run as one that has the seed from the plan.
        if let Some(own) =
            settings.iter_mut().find(|(name, _)| name == SEED).and_then(|(_, s)| s.take())
        {
            seed = own.seed().expect("a plan that was read");
        }
        Cell::of(self, index, settings, seed)
    }

    /// The values of a parameter, in the order of the plan.
    pub fn values(&self, parameter: &str) -> Vec<&Value> {
        let Some(at) = self.parameters.iter().position(|p| p.name == parameter) else {
            return Vec::new();
        };
        match at.checked_sub(self.points[0].len()) {
            Some(at) => self.grid[at].iter().map(|s| &s.value).collect(),
            None => self.points.iter().filter_map(|p| Some(&p[at].as_ref()?.value)).collect(),
        }
    }

    /// All runs in order.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        (0..self.len()).map(|i| self.cell(i))
    }
}

/// Whether a text is the plan of a sweep: it names a scenario, and has no network of its own.
pub fn is_plan(source: &Arc<Source>) -> bool {
    let has = |root: &Table, key: &str| root.get(key).is_some();
    parse(source)
        .is_ok_and(|root| has(&root, "scenario") && !SCENARIO.iter().any(|key| has(&root, key)))
}

/// The one error for a scenario where a plan is expected: each of its keys would be unknown.
fn scenario_as_plan(root: &Table, source: &Source) -> Option<Problem> {
    let is_scenario =
        SCENARIO.iter().any(|key| root.get(key).is_some()) && root.get("scenario").is_none();
    let name = source.name();
    let base = Path::new(name).file_name().map_or(name.into(), |n| n.to_string_lossy());
    let hint = format!(
        "to run it: xoff run {name}; to sweep it, write a sweep file with scenario = \"{base}\" and [grid] or seeds"
    );
    is_scenario.then(|| Problem::new(format!("'{name}' is a scenario, not a sweep file"), hint))
}

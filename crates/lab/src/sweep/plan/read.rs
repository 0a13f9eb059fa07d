//! Contents of a plan file: keys, values and their places.

use std::collections::HashSet;
use std::sync::Arc;

use xoff_scenario::document::{Entry, Item, Table};
use xoff_scenario::{Place, Problem, Problems, Source};
use xoff_units::params::suggest;

use super::{Parameter, SEED};
use crate::sweep::{Setting, Value};

/// Most runs of a plan: each is a file.
const CELLS_MAX: usize = 1_000_000;
/// Keys of a plan.
const KEYS: [&str; 8] = ["title", "scenario", "seeds", "show", "tables", "set", "grid", "point"];

/// Contents of a plan.
#[derive(Default)]
pub(super) struct Read {
    pub title: String,
    pub scenario: Option<(String, Place)>,
    pub parameters: Vec<Parameter>,
    pub seeds: Vec<u64>,
    pub set: Vec<(Parameter, Setting)>,
    pub points: Vec<Vec<Option<Setting>>>,
    pub grid: Vec<Vec<Setting>>,
    pub show: Vec<(String, Place)>,
    pub tables: Vec<(String, Place)>,
    /// Place of each value.
    pub stands: Vec<Stands>,
}

/// Place of a value.
pub(super) struct Stands {
    name: String,
    setting: Setting,
    key: Place,
    value: Place,
}

impl Read {
    /// Reads the document.
    pub fn of(root: &Table, source: &Arc<Source>) -> Result<Read, Problems> {
        let mut reader = Reader { problems: Problems::default() };
        let read = reader.read(root, source);
        reader.problems.sort();
        reader.problems.or(read)
    }

    /// Place of each setting, by its text.
    pub fn places(&self) -> Vec<(String, Place, Place)> {
        self.stands
            .iter()
            .map(|s| (format!("{}={}", s.name, s.setting.toml), s.key.clone(), s.value.clone()))
            .collect()
    }

    /// Settings that together have every value of a parameter, each twice: with the first and with
    /// the last values of the others. What fails in one of them only is a matter of the
    /// combination. Of long lists of numbers the first and the last.
    pub fn samples(&self) -> Vec<[Vec<(String, Setting)>; 2]> {
        let listed = self.points.first().map_or(0, Vec::len);
        let with = |point: &[Option<Setting>],
                    grid: &dyn Fn(usize) -> Setting|
         -> Vec<(String, Setting)> {
            let fixed = self.set.iter().map(|(p, s)| (p.name.clone(), s.clone()));
            let point = point
                .iter()
                .enumerate()
                .filter_map(|(i, s)| Some((self.parameters[i].name.clone(), s.clone()?)));
            let grid =
                (0..self.grid.len()).map(|i| (self.parameters[listed + i].name.clone(), grid(i)));
            fixed.chain(point).chain(grid).collect()
        };
        let first = |i: usize| self.grid[i][0].clone();
        let last = |i: usize| self.grid[i][self.grid[i].len() - 1].clone();
        let mut all: Vec<[Vec<(String, Setting)>; 2]> =
            self.points.iter().take(100).map(|p| [with(p, &first), with(p, &last)]).collect();
        let ends = [&self.points[0], &self.points[self.points.len() - 1]];
        for (at, values) in self.grid.iter().enumerate() {
            let numbers =
                values.iter().all(|v| matches!(v.value, Value::Whole(_) | Value::Number(_)));
            let ends_do = numbers || values.len() > 100;
            let tried: Vec<&Setting> = if ends_do {
                values.first().into_iter().chain(values.last()).collect()
            } else {
                values.iter().collect()
            };
            for value in tried {
                let own = |others: &dyn Fn(usize) -> Setting, i: usize| {
                    if i == at { value.clone() } else { others(i) }
                };
                all.push([with(ends[0], &|i| own(&first, i)), with(ends[1], &|i| own(&last, i))]);
            }
        }
        all
    }
}

struct Reader {
    problems: Problems,
}

impl Reader {
    fn refuse(&mut self, what: impl Into<String>, hint: impl Into<String>, place: &Place) {
        self.problems.push(Problem::new(what, hint).at(place.clone()));
    }

    fn read(&mut self, root: &Table, source: &Arc<Source>) -> Read {
        let mut read = Read::default();
        for (key, e) in root.entries.iter().filter(|(key, _)| !KEYS.contains(&key.as_str())) {
            self.refuse(
                format!("unknown key '{}' in the plan", suggest::clip(key)),
                suggest::hint(key, "known keys", &KEYS),
                &e.key,
            );
        }
        read.title = self.text(root, "title").map(|t| t.0).unwrap_or_default();
        read.scenario = self.text(root, "scenario");
        read.show = self.texts(root, "show");
        read.tables = self.texts(root, "tables");
        read.seeds = root.get("seeds").map_or_else(|| vec![1], |e| self.seeds(e));
        for (name, e) in self.section(root, "set") {
            if let Some(setting) = self.setting(&name, e) {
                read.stands.push(Stands {
                    name: name.clone(),
                    setting: setting.clone(),
                    key: e.key.clone(),
                    value: e.place.clone(),
                });
                read.set.push((Parameter { name, place: e.key.clone() }, setting));
            }
        }
        self.points(root, &mut read);
        self.grid(root, &mut read);
        let mut seen: Vec<&Parameter> = Vec::new();
        let listed = read.points.first().map_or(0, Vec::len);
        for (at, p) in read.parameters.iter().enumerate() {
            // A listed point may have a seed of its own, if the plan has none.
            match at < listed && p.name == SEED && root.get("seeds").is_none() {
                true => self.seeds_of_points(&read.points, at, &p.place),
                false => self.own_seed(p),
            }
            if seen.iter().any(|s| s.name == p.name) {
                self.refuse(
                    format!("'{}' is in [grid] and in [[point]]", p.name),
                    "keep it in one of the two",
                    &p.place,
                );
            }
            if read.set.iter().any(|(s, _)| s.name == p.name) {
                self.refuse(
                    format!("'{}' is also in [set]", p.name),
                    "a parameter differs between runs; remove it there",
                    &p.place,
                );
            }
            seen.push(p);
        }
        read.set.iter().for_each(|(p, _)| self.own_seed(p));
        let cells = read
            .grid
            .iter()
            .map(Vec::len)
            .chain([read.points.len(), read.seeds.len()])
            .try_fold(1usize, usize::checked_mul);
        if cells.is_none_or(|n| n > CELLS_MAX) {
            let what =
                cells.map_or("more runs than a number can count".into(), |n| format!("{n} runs"));
            self.refuse(
                what,
                format!("expected at most {CELLS_MAX}; split the plan"),
                &source.place(0..0),
            );
        }
        read
    }

    fn seeds_of_points(&mut self, points: &[Vec<Option<Setting>>], at: usize, place: &Place) {
        let is_seed = |p: &Vec<Option<Setting>>| p[at].as_ref().is_none_or(|s| s.seed().is_some());
        if !points.iter().all(is_seed) {
            self.refuse(format!("{SEED} of a point"), "expected a whole number, 0 or more", place);
        }
    }

    fn own_seed(&mut self, p: &Parameter) {
        if matches!(p.name.as_str(), "seed" | SEED | "seeds") {
            self.refuse(
                format!("'{}' is no parameter: every combination has the same seeds", p.name),
                "write seeds = 10 or seeds = [1, 2, 3] at the top",
                &p.place,
            );
        }
    }

    fn text(&mut self, root: &Table, key: &str) -> Option<(String, Place)> {
        let e = root.get(key)?;
        match &e.item {
            Item::Text(text) if !text.is_empty() => return Some((text.clone(), e.place.clone())),
            Item::Text(_) => {
                self.refuse(format!("{key} is empty"), "expected a text in quotes", &e.place)
            }
            _ => self.refuse(
                format!("{key}: found {}", e.describe()),
                "expected a text in quotes",
                &e.place,
            ),
        }
        None
    }

    fn texts(&mut self, root: &Table, key: &str) -> Vec<(String, Place)> {
        let Some(e) = root.get(key) else { return Vec::new() };
        let Item::List(items) = &e.item else {
            self.refuse(
                format!("{key}: found {}", e.describe()),
                "expected a list of texts, such as [\"a\", \"b\"]",
                &e.place,
            );
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in items {
            match &item.item {
                Item::Text(text) => all.push((text.clone(), item.place.clone())),
                _ => self.refuse(
                    format!("{key}: found {}", item.describe()),
                    "expected a text in quotes",
                    &item.place,
                ),
            }
        }
        all
    }

    /// `10` represents the seeds 1 to 10.
    fn seeds(&mut self, e: &Entry) -> Vec<u64> {
        const EXPECTED: &str =
            "expected their number, such as 10 for the seeds 1 to 10, or a list, such as [1, 2, 3]";
        let whole =
            |e: &Entry| if let Item::Integer(n) = &e.item { n.parse::<u64>().ok() } else { None };
        let seeds = match &e.item {
            Item::List(items) => {
                let (mut seeds, mut seen): (Vec<u64>, HashSet<u64>) = Default::default();
                for item in items {
                    match whole(item) {
                        Some(seed) if !seen.insert(seed) => self.refuse(
                            format!("the seed {seed} is listed twice"),
                            "remove one",
                            &item.place,
                        ),
                        Some(seed) => seeds.push(seed),
                        None => self.refuse(
                            format!("seeds: found {}", item.describe()),
                            "expected a whole number, 0 or more",
                            &item.place,
                        ),
                    }
                }
                seeds
            }
            _ => match whole(e) {
                Some(n) if n <= CELLS_MAX as u64 => (1..=n).collect(),
                Some(n) => {
                    self.refuse(
                        format!("seeds: {n} of them"),
                        format!("expected at most {CELLS_MAX}"),
                        &e.place,
                    );
                    return vec![1];
                }
                None => {
                    self.refuse(format!("seeds: found {}", e.describe()), EXPECTED, &e.place);
                    return vec![1];
                }
            },
        };
        if seeds.is_empty() {
            self.refuse("there are no seeds", EXPECTED, &e.place);
        }
        seeds
    }

    /// The keys of a section, those of sections in it by their path.
    fn section<'t>(&mut self, root: &'t Table, name: &str) -> Vec<(String, &'t Entry)> {
        match root.get(name) {
            None => Vec::new(),
            Some(e) => match &e.item {
                Item::Table(t) => flat(t, ""),
                _ => {
                    self.refuse(
                        format!("'{name}' is {}", e.describe()),
                        format!("expected one section, written [{name}]"),
                        &e.key,
                    );
                    Vec::new()
                }
            },
        }
    }

    fn setting(&mut self, name: &str, e: &Entry) -> Option<Setting> {
        let setting = Setting::of(e);
        if setting.is_none() {
            self.refuse(
                format!("{name}: found {}", e.describe()),
                "expected a text, a number, true, false, or a list of these",
                &e.place,
            );
        }
        setting
    }

    fn points(&mut self, root: &Table, read: &mut Read) {
        let Some(e) = root.get("point") else {
            read.points = vec![Vec::new()];
            return;
        };
        let Item::List(items) = &e.item else {
            self.refuse(
                format!("'point' is {}", e.describe()),
                "expected [[point]] in double brackets, once for each point",
                &e.key,
            );
            return;
        };
        let (mut points, mut seen): (Vec<Vec<(String, Setting)>>, HashSet<String>) =
            Default::default();
        for item in items {
            let Item::Table(t) = &item.item else {
                self.refuse(
                    format!("point: found {}", item.describe()),
                    "expected [[point]] in double brackets, once for each point",
                    &item.place,
                );
                continue;
            };
            let mut point = Vec::new();
            for (name, e) in flat(t, "") {
                let Some(setting) = self.setting(&name, e) else { continue };
                if !read.parameters.iter().any(|p| p.name == name) {
                    read.parameters.push(Parameter { name: name.clone(), place: e.key.clone() });
                }
                read.stands.push(Stands {
                    name: name.clone(),
                    setting: setting.clone(),
                    key: e.key.clone(),
                    value: e.place.clone(),
                });
                point.push((name, setting));
            }
            let mut words: Vec<String> =
                point.iter().map(|(name, s)| format!("{name}={}", s.toml)).collect();
            words.sort();
            if !seen.insert(words.join("\n")) {
                self.refuse("this point is listed twice", "remove one of the two", &item.place);
            }
            points.push(point);
        }
        if points.is_empty() {
            self.refuse("there are no points", "write [[point]], or remove the key", &e.place);
        }
        let named = |point: &Vec<(String, Setting)>, name: &str| {
            point.iter().find(|(n, _)| n == name).map(|(_, s)| s.clone())
        };
        read.points = points
            .iter()
            .map(|point| read.parameters.iter().map(|p| named(point, &p.name)).collect())
            .collect();
    }

    fn grid(&mut self, root: &Table, read: &mut Read) {
        for (name, e) in self.section(root, "grid") {
            let Item::List(items) = &e.item else {
                self.refuse(
                    format!("{name}: found {}", e.describe()),
                    "expected a list of values, such as [\"pfc\", \"cbfc\"]; put a value for all runs into [set]",
                    &e.place,
                );
                continue;
            };
            let (mut values, mut seen): (Vec<Setting>, HashSet<String>) = Default::default();
            for item in items {
                let Some(setting) = self.setting(&name, item) else { continue };
                if !seen.insert(setting.toml.clone()) {
                    self.refuse(
                        format!("{name}: {} is listed twice", suggest::clip(&setting.toml)),
                        "remove one of the two",
                        &item.place,
                    );
                }
                read.stands.push(Stands {
                    name: name.clone(),
                    setting: setting.clone(),
                    key: e.key.clone(),
                    value: item.place.clone(),
                });
                values.push(setting);
            }
            if items.is_empty() {
                self.refuse(
                    format!("{name} has no values"),
                    "give one or more, or remove the key",
                    &e.place,
                );
            }
            read.parameters.push(Parameter { name, place: e.key.clone() });
            read.grid.push(values);
        }
    }
}

/// Keys by path: `[grid] switch.discipline = [...]` and `[grid.switch] discipline = [...]` are the
/// same.
fn flat<'t>(table: &'t Table, before: &str) -> Vec<(String, &'t Entry)> {
    let mut all = Vec::new();
    for (key, e) in &table.entries {
        let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        match &e.item {
            Item::Table(t) => all.extend(flat(t, &path)),
            _ => all.push((path, e)),
        }
    }
    all
}

//! Scenario documents: TOML, checked against declared keys, every value traced to its origin.
//!
//! ```
//! use xoff_units::params::{Kind, ParamSpec, Values};
//! use xoff_scenario::document::{Document, KindSpec, Override, SectionSpec};
//!
//! const COMMON: &[ParamSpec] = &[ParamSpec::new("rate", Kind::Rate, "10Gbps", "rate of every link", "section 6.1")];
//! const RING: &[ParamSpec] = &[ParamSpec::required("switches", Kind::Count, "number of switches")];
//! let topology = SectionSpec::once("topology", "The network.", vec![COMMON])
//!     .kinds("kind", None, vec![KindSpec { name: "ring", doc: "Switches in a ring.", specs: vec![RING] }]);
//!
//! let text = "[topology]\nkind = \"ring\"\nswitches = 3\n";
//! let settings = [Override::set("topology.rate=40Gbps").unwrap()];
//! let doc = Document::from_text("ring.toml", text, &settings).unwrap();
//! let mut section = doc.open(&topology);
//! assert_eq!(section.kind(), Some("ring"));
//! let read = section.take(|s| Ok((s.count("switches")?, s.rate("rate")?)));
//! doc.finish().unwrap();
//! assert_eq!(read.unwrap().0, 3);
//! assert_eq!(doc.resolved().rows()[2].origin.to_string(), "--set topology.rate=40Gbps");
//! ```

mod resolved;
mod schema;
mod section;
mod spec;
mod tree;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

pub use resolved::{Given, Origin, Resolved, Row};
pub use schema::schema;
pub use section::Section;
pub use spec::{KindSpec, Kinds, SectionSpec};
pub use tree::{Entry, Item, Override, Table, parse};
pub use value::number;

use crate::{Place, Problem, Problems, Source, suggest};

/// A parsed document with its settings. Sections are opened from it; it collects the problems, and
/// the keys that were read.
#[derive(Debug)]
pub struct Document {
    source: Arc<Source>,
    settings: Vec<Override>,
    root: Table,
    log: RefCell<Log>,
}

/// State left by opening and reading.
#[derive(Debug, Default)]
struct Log {
    problems: Problems,
    warnings: Problems,
    rows: Vec<Row>,
    /// Opened sections, with indices.
    opened: HashSet<String>,
    /// Sections in order, and whether the document has them.
    order: Vec<(String, bool)>,
    /// Keys given with another value than their default: section, key and place.
    given: Vec<(String, &'static str, Place)>,
    /// Sections whose content cannot be judged.
    suppressed: HashSet<String>,
    /// Paths without indices that some owner knows.
    known: BTreeSet<String>,
}

/// Least contents of a scenario.
const SCENARIO: &str = "a scenario needs [topology] and a [[flow]] or [[workload]]; for an example, see scenarios/tutorial/ring.toml";

impl Document {
    /// Reads a file and lays `settings` over it.
    ///
    /// # Errors
    /// A file that cannot be read or is no TOML, and settings that do not fit it.
    pub fn load(path: &Path, settings: &[Override]) -> Result<Document, Problems> {
        Document::parse(Source::read_document(path)?, settings)
    }

    /// From a text; `name` appears in messages.
    ///
    /// # Errors
    /// A text that is no TOML, and settings that do not fit it.
    pub fn from_text(name: &str, text: &str, settings: &[Override]) -> Result<Document, Problems> {
        Document::parse(Source::file(name, text), settings)
    }

    /// From a source.
    ///
    /// # Errors
    /// A source that is no TOML, and settings that do not fit it.
    pub fn parse(source: Arc<Source>, settings: &[Override]) -> Result<Document, Problems> {
        Document::parse_as(source, settings, SCENARIO)
    }

    /// From a source of another kind than a scenario; `least`: the minimal content of such a file.
    ///
    /// # Errors
    /// A source that is no TOML, and settings that do not fit it.
    pub fn parse_as(
        source: Arc<Source>,
        settings: &[Override],
        least: &str,
    ) -> Result<Document, Problems> {
        let mut root = tree::parse(&source)?;
        if root.entries.is_empty() && settings.is_empty() {
            let what = if source.text().trim().is_empty() {
                "the file is empty"
            } else {
                "the file contains only comments"
            };
            return Err(Problem::new(what, least).at(source.place(0..0)).into());
        }
        let mut problems = Problems::default();
        let mut warnings = Problems::default();
        rename_sections(&mut root, &mut problems, &mut warnings);
        for setting in settings {
            if let Some(p) = setting.renamed() {
                warnings.push(p);
            }
            if let Err(p) = setting.apply(&mut root) {
                problems.push(p);
            }
        }
        problems.or(Document {
            source,
            settings: settings.to_vec(),
            root,
            log: RefCell::new(Log { warnings, ..Log::default() }),
        })
    }

    /// Lets a setting name a kind directly: `flow_control=pfc` for `flow_control.kind=pfc`, also
    /// where the file has no such section.
    pub fn spread_kinds(&mut self, sections: &[SectionSpec]) {
        for spec in sections {
            let Some(kinds) = &spec.kinds else { continue };
            let found = self.root.entries.iter_mut().find(|(name, _)| name == spec.path);
            let Some((_, entry)) =
                found.filter(|(_, e)| e.setting.is_some() && matches!(e.item, Item::Text(_)))
            else {
                continue;
            };
            let kind = std::mem::replace(&mut entry.item, Item::Table(Table::default()));
            let value = Entry { item: kind, ..entry.clone() };
            entry.setting = None;
            entry.item = Item::Table(Table { entries: vec![(kinds.key.to_owned(), value)] });
        }
    }

    /// Settings laid over the file.
    pub fn settings(&self) -> &[Override] {
        &self.settings
    }

    /// The text of the file.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Declares which sections exist at all, so that [`Document::finish`] can distinguish a section
    /// that is unknown from one that is known but has no effect here.
    pub fn declare(&self, sections: &[SectionSpec]) {
        self.log.borrow_mut().known.extend(sections.iter().map(|s| s.path.to_owned()));
    }

    /// True if the document has a section of this path.
    pub fn has(&self, spec: &SectionSpec) -> bool {
        !self.find(spec).is_empty() || spec.path.is_empty()
    }

    /// Opens the one section of `spec`; if the document lacks it, all values are defaults.
    pub fn open(&self, spec: &SectionSpec) -> Section<'_> {
        self.note(spec);
        if spec.path.is_empty() {
            return Section::open(self, spec, String::new(), Some(self.start()), Some(&self.root));
        }
        let found = self.find(spec);
        let Some((path, entry)) = found.first() else {
            if spec.required {
                self.push(
                    Problem::new(format!("missing section {}", spec.header()), spec.doc)
                        .at(self.start()),
                );
                // Nothing more is reported about a section that is not there.
                self.suppress(spec.path);
            }
            return Section::open(self, spec, spec.path.to_owned(), None, None);
        };
        let table = match &entry.item {
            Item::Table(t) => Some(t),
            _ => {
                let hint = format!("expected one section, written {}", spec.header());
                self.push(
                    Problem::new(format!("'{}' is {}", spec.path, entry.describe()), hint)
                        .at(entry.key.clone()),
                );
                self.suppress(path);
                None
            }
        };
        Section::open(self, spec, path.clone(), Some(entry.key.clone()), table)
    }

    /// Opens the section of `spec` if the document has it.
    pub fn open_if_present(&self, spec: &SectionSpec) -> Option<Section<'_>> {
        self.note(spec);
        self.has(spec).then(|| self.open(spec))
    }

    /// Opens all sections of a repeated `spec`, in the order of the file.
    pub fn open_all(&self, spec: &SectionSpec) -> Vec<Section<'_>> {
        self.note(spec);
        let found = self.find(spec);
        if found.is_empty() && spec.required {
            self.push(
                Problem::new(format!("missing section {}", spec.header()), spec.doc)
                    .at(self.start()),
            );
        }
        found.into_iter().flat_map(|(path, entry)| self.open_entry(spec, path, entry)).collect()
    }

    fn open_below<'d>(
        &'d self,
        spec: &SectionSpec,
        path: &str,
        table: Option<&'d Table>,
    ) -> Vec<Section<'d>> {
        self.note(spec);
        let entry = table.and_then(|t| t.get(spec.name()));
        entry
            .map(|e| self.open_entry(spec, resolved::join(path, spec.name()), e))
            .unwrap_or_default()
    }

    /// Opens the section at `path`: a list of tables, or a table if the section occurs once.
    fn open_entry<'d>(
        &'d self,
        spec: &SectionSpec,
        path: String,
        entry: &'d Entry,
    ) -> Vec<Section<'d>> {
        match (&entry.item, spec.repeat) {
            (Item::Table(t), false) => {
                vec![Section::open(self, spec, path, Some(entry.key.clone()), Some(t))]
            }
            (Item::List(items), true) if entry.is_section() || items.is_empty() => {
                let one = |(i, item): (usize, &'d Entry)| match &item.item {
                    Item::Table(t) => Some(Section::open(
                        self,
                        spec,
                        format!("{path}[{i}]"),
                        Some(item.place.clone()),
                        Some(t),
                    )),
                    _ => None,
                };
                items.iter().enumerate().filter_map(one).collect()
            }
            _ => {
                let hint = format!(
                    "expected {}",
                    if spec.repeat {
                        format!("{} in double brackets, any number of times", spec.header())
                    } else {
                        spec.header()
                    }
                );
                self.push(
                    Problem::new(format!("'{}' is {}", spec.path, entry.describe()), hint)
                        .at(entry.key.clone()),
                );
                self.suppress(&path);
                Vec::new()
            }
        }
    }

    /// All entries at the path of `spec`, with indexed paths; sections around it may be repeated.
    fn find(&self, spec: &SectionSpec) -> Vec<(String, &Entry)> {
        let mut around: Vec<(String, &Table)> = vec![(String::new(), &self.root)];
        for step in spec.parent().split('.').filter(|s| !s.is_empty()) {
            let mut next = Vec::new();
            for (path, table) in around {
                let path = resolved::join(&path, step);
                match table.get(step).map(|e| &e.item) {
                    Some(Item::Table(t)) => next.push((path, t)),
                    Some(Item::List(items)) => {
                        next.extend(items.iter().enumerate().filter_map(|(i, e)| match &e.item {
                            Item::Table(t) => Some((format!("{path}[{i}]"), t)),
                            _ => None,
                        }))
                    }
                    _ => {}
                }
            }
            around = next;
        }
        around
            .into_iter()
            .filter_map(|(path, table)| {
                table.get(spec.name()).map(|e| (resolved::join(&path, spec.name()), e))
            })
            .collect()
    }

    /// The errors so far, as a failure: a stage that needs a sound document ends with this.
    ///
    /// # Errors
    /// All problems that were found until now, each with its place.
    pub fn check(&self) -> Result<(), Problems> {
        let mut problems = self.log.borrow().problems.clone();
        problems.sort();
        problems.or(())
    }

    /// Checks that nothing in the document was left unread, then everything else as
    /// [`Document::check`] does.
    ///
    /// # Errors
    /// All problems, and every section and key that was not read, each with its place.
    pub fn finish(&self) -> Result<(), Problems> {
        let sound = self.log.borrow().problems.is_empty();
        self.check_unopened(&self.root, "", "", sound);
        if sound {
            self.warn_of_unread();
        }
        self.check()
    }

    /// Warns about given keys that no owner read. The reason, where known, comes from
    /// `Values::without_effect`.
    fn warn_of_unread(&self) {
        let mut log = self.log.borrow_mut();
        let Log { given, rows, warnings, .. } = &mut *log;
        if given.is_empty() {
            return;
        }
        let read: HashSet<(&str, &str)> =
            rows.iter().map(|r| (r.section.as_str(), r.key.as_str())).collect();
        let is_known = |place: &Place, warnings: &Problems| {
            warnings.iter().any(|w| w.place.as_ref() == Some(place))
        };
        for (section, key, place) in
            given.drain(..).filter(|(section, key, _)| !read.contains(&(section.as_str(), *key)))
        {
            if !is_known(&place, warnings) {
                let what = format!("{key} has no effect with the other values of {section}");
                warnings.push(
                    Problem::new(what, "remove the key, or see its description")
                        .at(place)
                        .warning(),
                );
            }
        }
    }

    /// `path` has indices, `plain` has none.
    fn check_unopened(&self, table: &Table, path: &str, plain: &str, sound: bool) {
        let opened = |p: &str| self.log.borrow().opened.contains(p);
        if self.is_suppressed(path) {
            return;
        }
        for (key, entry) in &table.entries {
            let (path, plain) = (resolved::join(path, key), resolved::join(plain, key));
            let children: Vec<(String, &Table)> = match &entry.item {
                Item::Table(t) => vec![(path.clone(), t)],
                Item::List(items) if entry.is_section() => items
                    .iter()
                    .enumerate()
                    .filter_map(|(i, e)| {
                        if let Item::Table(t) = &e.item {
                            Some((format!("{path}[{i}]"), t))
                        } else {
                            None
                        }
                    })
                    .collect(),
                _ => Vec::new(),
            };
            if children.is_empty() {
                if self.knows(&plain) {
                    // An empty list of sections says that there is none; a value here would go
                    // unread.
                    if !entry.is_empty_list() && !self.is_suppressed(&path) {
                        let p = Problem::new(
                            format!("'{plain}' is {}", entry.describe()),
                            "expected a section",
                        );
                        self.push(p.at(entry.key.clone()));
                    }
                    continue;
                }
                // Keys of an opened section were checked when it was opened.
                let parent =
                    path.strip_suffix(key.as_str()).map_or("", |p| p.trim_end_matches('.'));
                if !opened(parent) {
                    let p = Problem::new(
                        format!("unknown key '{}'", suggest::clip(&path)),
                        self.known_hint(&plain),
                    );
                    self.push(p.at(entry.key.clone()));
                }
                continue;
            }
            if self.is_suppressed(&path) {
                continue;
            }
            let around_known = self
                .log
                .borrow()
                .known
                .iter()
                .any(|k| k.strip_prefix(&plain).is_some_and(|rest| rest.starts_with('.')));
            if children.iter().any(|(p, _)| opened(p)) || around_known {
                children.iter().for_each(|(p, t)| self.check_unopened(t, p, &plain, sound));
            } else if !self.knows(&plain) {
                let p = Problem::new(
                    format!("unknown section '{}'", suggest::clip(&plain)),
                    self.known_hint(&plain),
                );
                self.push(p.at(entry.key.clone()));
            } else if sound {
                let p = Problem::new(
                    format!("section '{plain}' has no effect in this document"),
                    "remove the section, or choose its kind",
                );
                self.push(p.at(entry.key.clone()));
            }
        }
    }

    fn known_hint(&self, word: &str) -> String {
        if matches!(word, "ecn" | "wred" | "red" | "marking") && self.knows("detection") {
            return "switches mark frames by [detection], for instance with kind = \"ecn\"".into();
        }
        let log = self.log.borrow();
        let known: Vec<&str> =
            log.known.iter().map(String::as_str).filter(|k| !k.is_empty()).collect();
        suggest::hint(word, "known sections", &known)
    }

    /// Warnings for the user; the run continues.
    pub fn warnings(&self) -> Problems {
        self.log.borrow().warnings.clone()
    }

    /// Everything read so far, with origins.
    pub fn resolved(&self) -> Resolved {
        let log = self.log.borrow();
        Resolved::new(log.order.clone(), log.rows.clone())
    }

    /// Keeps a problem that the caller found.
    pub fn push(&self, p: Problem) {
        // A section may be opened twice; its problems are reported once.
        let mut log = self.log.borrow_mut();
        if !log.problems.iter().any(|known| *known == p) {
            log.problems.push(p);
        }
    }

    /// Keeps a warning.
    pub fn push_warning(&self, p: Problem) {
        // A section may be opened twice; its warnings are kept once.
        let mut log = self.log.borrow_mut();
        if !log.warnings.iter().any(|known| *known == p) {
            log.warnings.push(p);
        }
    }

    fn note(&self, spec: &SectionSpec) {
        self.log.borrow_mut().known.insert(spec.path.to_owned());
    }
    fn start(&self) -> Place {
        self.source.place(0..0)
    }
    fn record(&self, row: Row) {
        self.log.borrow_mut().rows.push(row);
    }
    fn given(&self, section: &str, key: &'static str, place: &Place) {
        self.log.borrow_mut().given.push((section.to_owned(), key, place.clone()));
    }
    fn opened(&self, path: &str, present: bool) {
        let mut log = self.log.borrow_mut();
        log.opened.insert(path.to_owned());
        log.order.push((path.to_owned(), present));
    }
    /// True if some owner knows a section of this path, given without indices.
    fn knows(&self, plain: &str) -> bool {
        self.log.borrow().known.contains(plain)
    }
    fn is_suppressed(&self, path: &str) -> bool {
        self.log.borrow().suppressed.contains(path)
    }
    fn suppress(&self, path: &str) {
        self.log.borrow_mut().suppressed.insert(path.to_owned());
    }
}

/// Gives sections at the top their current names.
fn rename_sections(root: &mut Table, problems: &mut Problems, warnings: &mut Problems) {
    for &(old, new) in spec::RENAMED {
        let is_given = root.get(new).is_some();
        let Some((name, entry)) = root.entries.iter_mut().find(|(name, _)| name == old) else {
            continue;
        };
        if is_given {
            let what = format!("[{old}] is the old name of [{new}], which the file also has");
            problems.push(Problem::new(what, format!("remove [{old}]")).at(entry.key.clone()));
        } else {
            warnings.push(spec::renamed_warning(old, new).at(entry.key.clone()));
            *name = new.to_owned();
        }
    }
}

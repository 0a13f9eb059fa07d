//! One section of a document, opened against the keys its owner declares.
//!
//! Opening checks the whole section at once: unknown keys, wrong types, missing units, missing
//! keys. Reading then records each value with its origin. An owner's own refusal (`XON above XOFF`)
//! is located at the key.

use xoff_units::params::{ParamError, ParamSpec, Values};

use super::resolved::{Origin, Row};
use super::spec::SectionSpec;
use super::tree::{Entry, Table};
use super::value::{expected, number, same, text_of};
use super::{Document, resolved};
use crate::{Place, Problem, suggest};

/// A section, ready to be read.
pub struct Section<'d> {
    doc: &'d Document,
    /// With indices: `flow[0]`.
    path: String,
    header: Option<Place>,
    table: Option<&'d Table>,
    /// `[section.kind]` below the section: keys of this kind, so that one file can hold several.
    own: Option<&'d Table>,
    /// Keys in the section itself that belong to the kind a setting replaced.
    set_aside: Vec<&'d str>,
    specs: Vec<&'static ParamSpec>,
    kind: Option<&'static str>,
    /// Keys that were refused when the section was opened; owners cannot read them.
    refused: Vec<&'static str>,
    /// Nothing is reported about a section whose absence has been reported.
    quiet: bool,
}

impl<'d> Section<'d> {
    /// Checks `table` against `spec`; everything wrong goes to the document's problems.
    pub(super) fn open(
        doc: &'d Document,
        spec: &SectionSpec,
        path: String,
        header: Option<Place>,
        table: Option<&'d Table>,
    ) -> Section<'d> {
        let specs = spec.specs.iter().flat_map(|s| s.iter()).collect();
        let quiet = doc.is_suppressed(&path);
        let mut section = Section {
            doc,
            path,
            header,
            table,
            own: None,
            set_aside: Vec::new(),
            specs,
            kind: None,
            refused: Vec::new(),
            quiet,
        };
        doc.opened(&section.path, table.is_some());
        let kind_known = section.choose_kind(spec);
        if kind_known {
            section.open_alternatives(spec);
            section.check_unknown(spec);
            section.check_renamed();
        } else {
            // Without a kind it is unknown which keys and sections belong here.
            doc.suppress(&section.path);
            let of_kinds = spec.kinds.iter().flat_map(|k| &k.list).flat_map(|k| &k.specs);
            section.refused.extend(of_kinds.copied().flatten().map(|s| s.key));
        }
        section.check_values(kind_known);
        section
    }

    /// Settles the kind and adds its keys; false if it cannot be settled.
    fn choose_kind(&mut self, spec: &SectionSpec) -> bool {
        let Some(kinds) = &spec.kinds else { return true };
        let (name, origin) = match self.entry(kinds.key) {
            Some(e) => match text_of(xoff_units::params::Kind::Text, e) {
                Ok(name) => (kinds.of(&name).to_owned(), origin_of(e)),
                Err((what, hint)) => {
                    self.refuse_at(e.place.clone(), kinds.key, &what, &hint);
                    return false;
                }
            },
            None => match kinds.default {
                Some(name) => (name.to_owned(), Origin::Default),
                None => {
                    let hint = format!("kinds: {}", kinds.names().join(", "));
                    self.complain(self.at_header(Problem::new(
                        format!("missing key '{}' in {}", kinds.key, self.shown()),
                        hint,
                    )));
                    return false;
                }
            },
        };
        let Some(kind) = kinds.list.iter().find(|k| k.name == name) else {
            let place = self.entry(kinds.key).map(|e| e.place.clone());
            let p = Problem::new(
                format!("unknown {} '{}'", kinds.key, suggest::clip(&name)),
                suggest::hint(&name, "known", &kinds.names()),
            );
            self.complain(match place {
                Some(place) => p.at(place),
                None => self.at_header(p),
            });
            return false;
        };
        self.kind = Some(kind.name);
        self.specs.extend(kind.specs.iter().flat_map(|s| s.iter()));
        self.record(kinds.key, xoff_units::params::Kind::Text, name, origin, "");
        true
    }

    /// Finds the keys of the chosen kind below the section, checks the names of the others', and
    /// sets aside what stands in the section for another kind.
    fn open_alternatives(&mut self, spec: &SectionSpec) {
        let (Some(kinds), Some(table)) = (&spec.kinds, self.table) else { return };
        let mut others: Vec<(&str, &'d Entry)> = Vec::new();
        for kind in &kinds.list {
            let Some((name, entry)) =
                kinds.names_of(kind.name).find_map(|name| Some((name, table.get(name)?)))
            else {
                continue;
            };
            let path = resolved::join(&self.path, name);
            let super::tree::Item::Table(keys) = &entry.item else { continue };
            // Keys below were read, or belong to a kind that was not chosen.
            self.doc.suppress(&path);
            let specs = || spec.specs.iter().chain(&kind.specs).flat_map(|s| s.iter());
            let known: Vec<&str> = specs().map(|s| s.key).collect();
            let old: Vec<&str> = specs().flat_map(|s| s.renamed_from).copied().collect();
            for (key, entry) in keys
                .entries
                .iter()
                .filter(|(key, _)| !known.contains(&key.as_str()) && !old.contains(&key.as_str()))
            {
                let what = format!("unknown key '{}' in [{path}]", suggest::clip(key));
                self.complain(
                    Problem::new(what, suggest::hint(key, "known keys", &known))
                        .at(entry.key.clone()),
                );
            }
            if self.kind == Some(kind.name) {
                self.own = Some(keys);
            } else {
                others.push((kind.name, entry));
            }
        }
        self.refuse_twice();
        let setting = table.get(kinds.key).filter(|e| e.setting.is_some());
        let before =
            setting.map(|s| s.replaced.as_deref().map(|name| kinds.of(name)).or(kinds.default));
        if before.is_none_or(|before| before == self.kind) {
            self.warn_of_others(spec, &others);
            return;
        }
        self.warn_of_settings(&others);
        // The file's keys are for the file's kind; settings are for the kind that was set.
        let names = |s: &'static ParamSpec| s.renamed_from.iter().copied().chain([s.key]);
        let common: Vec<&str> =
            spec.specs.iter().flat_map(|s| s.iter()).flat_map(names).chain([kinds.key]).collect();
        let of_file = |e: &Entry| e.setting.is_none() && !e.is_section();
        let aside =
            table.entries.iter().filter(|(k, e)| of_file(e) && !common.contains(&k.as_str()));
        self.set_aside = aside.map(|(k, _)| k.as_str()).collect();
    }

    /// A key in the section and again below it, both in the file or both set: it would be open
    /// which holds.
    fn refuse_twice(&self) {
        let (Some(table), Some(own), Some(kind)) = (self.table, self.own, self.kind) else {
            return;
        };
        for (key, below) in &own.entries {
            let Some(entry) =
                table.get(key).filter(|e| e.setting.is_some() == below.setting.is_some())
            else {
                continue;
            };
            let path = resolved::join(&self.path, kind);
            let what = format!(
                "'{key}' is defined twice: in [{path}] and in {} ({})",
                self.shown(),
                entry.key
            );
            self.complain(Problem::new(what, "keep one of the two").at(below.key.clone()));
        }
    }

    /// Settings for a kind that is not chosen.
    fn warn_of_settings(&self, others: &[(&str, &'d Entry)]) {
        let Some(kind) = self.kind.filter(|_| !self.quiet) else { return };
        for (other, entry) in others {
            let super::tree::Item::Table(keys) = &entry.item else { continue };
            for (key, e) in keys.entries.iter().filter(|(_, e)| e.setting.is_some()) {
                let what = format!(
                    "{key} belongs to kind '{other}', but the kind of {} is '{kind}': the key has no effect",
                    self.shown()
                );
                self.doc.push_warning(
                    Problem::new(what, format!("choose kind '{other}', or remove the key"))
                        .at(e.place.clone())
                        .warning(),
                );
            }
        }
    }

    /// Keys of kinds that are not chosen. A file that holds several kinds has the keys of each
    /// below its name; one that has those of its kind in the section itself is not such a file, and
    /// whoever wrote the others expects them to hold.
    fn warn_of_others(&self, spec: &SectionSpec, others: &[(&str, &'d Entry)]) {
        self.warn_of_settings(others);
        let (Some(kind), Some(table)) = (self.kind.filter(|_| !self.quiet), self.table) else {
            return;
        };
        let common: Vec<&str> = spec
            .specs
            .iter()
            .flat_map(|s| s.iter())
            .map(|s| s.key)
            .chain(spec.kinds.iter().map(|k| k.key))
            .collect();
        let is_of_kind =
            |key: &str| self.specs.iter().any(|s| s.key == key) && !common.contains(&key);
        if !table.entries.iter().any(|(key, e)| e.setting.is_none() && is_of_kind(key)) {
            return;
        }
        for (other, entry) in others.iter().filter(|(_, e)| !e.key.source.is_setting()) {
            let what = format!(
                "[{}] has no effect: {} has kind '{kind}' and its keys",
                resolved::join(&self.path, other),
                self.shown()
            );
            let hint = format!(
                "remove the section; if the file keeps several kinds, put the keys of '{kind}' into [{}]",
                resolved::join(&self.path, kind)
            );
            self.doc.push_warning(Problem::new(what, hint).at(entry.key.clone()).warning());
        }
    }

    fn check_unknown(&self, spec: &SectionSpec) {
        let mut known: Vec<&str> = spec.kinds.iter().map(|k| k.key).collect();
        known.extend(self.specs.iter().map(|s| s.key));
        for (key, entry) in self.table.iter().flat_map(|t| &t.entries) {
            if self.set_aside.contains(&key.as_str()) || self.is_alternative(spec, key) {
                continue;
            }
            // Sections below this one are opened, or missed, on their own.
            if known.contains(&key.as_str())
                || self.is_old_name(key)
                || entry.is_section()
                || self.doc.knows(&resolved::join(spec.path, key))
            {
                continue;
            }
            let of_kind = self.kind.map(|k| format!(" of kind '{k}'")).unwrap_or_default();
            let p = Problem::new(
                format!("unknown key '{}' in {}{of_kind}", suggest::clip(key), self.shown()),
                suggest::hint(key, "known keys", &known),
            );
            self.complain(p.at(entry.key.clone()));
        }
    }

    fn is_old_name(&self, key: &str) -> bool {
        self.specs.iter().any(|s| s.renamed_from.contains(&key))
    }

    /// An old name of a key is accepted with a warning; both names in one file are refused.
    fn check_renamed(&self) {
        for (spec, old) in
            self.specs.iter().flat_map(|s| s.renamed_from.iter().map(move |old| (s, *old)))
        {
            let Some(entry) = self.entry_named(old) else { continue };
            let twice = self
                .entry_named(spec.key)
                .is_some_and(|e| e.setting.is_none() == entry.setting.is_none());
            if twice {
                let what =
                    format!("'{old}' is the old name of '{}', which the file also has", spec.key);
                self.complain(Problem::new(what, format!("remove '{old}'")).at(entry.key.clone()));
            } else if !self.quiet {
                let what = format!("write '{}' instead of '{old}', its old name", spec.key);
                self.doc.push_warning(
                    Problem::new(what, "the old name still works").at(entry.key.clone()).warning(),
                );
            }
        }
    }

    fn is_alternative(&self, spec: &SectionSpec, key: &str) -> bool {
        spec.kinds.iter().any(|k| k.list.iter().any(|kind| kind.name == k.of(key)))
    }

    fn check_values(&mut self, all_known: bool) {
        for spec in self.specs.clone() {
            match self.entry(spec.key) {
                Some(entry) => {
                    if is_more_than_default(spec, entry) {
                        self.doc.given(&self.path, spec.key, &entry.place);
                    }
                    if let Err((what, hint)) = text_of(spec.kind, entry) {
                        self.refuse_at(entry.place.clone(), spec.key, &what, &hint);
                        self.refused.push(spec.key);
                        // A table in place of a value is not a section of its own.
                        self.doc.suppress(&resolved::join(&self.path, spec.key));
                    }
                }
                None if spec.default.is_none() && !spec.optional && all_known => {
                    let p = Problem::new(
                        format!("missing key '{}' in {}", spec.key, self.shown()),
                        format!(
                            "{}; expected {}",
                            spec.doc.trim_end_matches('.'),
                            expected(spec.kind)
                        ),
                    );
                    self.complain(self.at_header(p));
                    self.refused.push(spec.key);
                }
                None => {}
            }
        }
    }

    fn complain(&self, p: Problem) {
        if !self.quiet {
            self.doc.push(p);
        }
    }

    /// Value given for `key`, under its name or an old one. A setting overrides the file, under
    /// either name.
    fn entry(&self, key: &str) -> Option<&'d Entry> {
        let now = self.entry_named(key);
        let old = self
            .specs
            .iter()
            .find(|s| s.key == key)
            .and_then(|s| s.renamed_from.iter().find_map(|old| self.entry_named(old)));
        if old.is_some_and(|e| e.setting.is_some()) && now.is_none_or(|e| e.setting.is_none()) {
            old
        } else {
            now.or(old)
        }
    }

    fn entry_named(&self, key: &str) -> Option<&'d Entry> {
        if self.set_aside.contains(&key) {
            return self.own.and_then(|t| t.get(key));
        }
        // Settings override the file, in any place.
        let (here, below) =
            (self.table.and_then(|t| t.get(key)), self.own.and_then(|t| t.get(key)));
        if below.is_some_and(|e| e.setting.is_some()) && here.is_none_or(|e| e.setting.is_none()) {
            below
        } else {
            here.or(below)
        }
    }

    fn refuse_at(&self, place: Place, key: &str, what: &str, hint: &str) {
        self.complain(Problem::new(format!("{key}: {what}"), hint).at(place));
    }

    /// The section as users know it.
    fn shown(&self) -> String {
        match self.path.as_str() {
            "" => "the top of the document".into(),
            // The form that `--set` takes.
            path if path.ends_with(']') => path.into(),
            path => format!("[{path}]"),
        }
    }

    /// At the section's header, or at the start of the file if the section is absent.
    fn at_header(&self, p: Problem) -> Problem {
        p.at(self.header.clone().unwrap_or_else(|| self.doc.start()))
    }

    fn record(
        &self,
        key: &str,
        kind: xoff_units::params::Kind,
        value: String,
        origin: Origin,
        source: &str,
    ) {
        self.doc.record(Row {
            section: self.path.clone(),
            key: key.to_owned(),
            value: number(kind, value),
            origin,
            source: source.to_owned(),
            kind,
        });
    }

    /// The kind, if the section has kinds and names a known one.
    pub fn kind(&self) -> Option<&'static str> {
        self.kind
    }

    /// The text of the document.
    pub fn source(&self) -> &std::sync::Arc<crate::Source> {
        self.doc.source()
    }

    /// Path with indices, such as `topology` or `flow[0]`; empty at the top.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// True if `key` belongs to the section.
    pub fn declares(&self, key: &str) -> bool {
        self.specs.iter().any(|s| s.key == key)
    }

    /// True if the file or a setting gives `key`.
    pub fn given(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The text of `key` as it was given, or its default; without an entry in the list of keys
    /// read.
    pub fn chosen(&self, key: &str) -> Option<String> {
        let spec = self.specs.iter().find(|s| s.key == key)?;
        match self.entry(key) {
            Some(entry) => text_of(spec.kind, entry).ok(),
            None => spec.default.map(str::to_owned),
        }
    }

    /// Reads with `read`; a refusal is located at its key and kept with the document's problems.
    pub fn take<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ParamError>) -> Option<T> {
        match read(self) {
            Ok(value) => Some(value),
            Err(e) => {
                self.refuse(&e);
                None
            }
        }
    }

    /// Keeps an owner's refusal, located at its key.
    pub fn refuse(&self, e: &ParamError) {
        // Keys rejected at opening are reported already.
        if !self.refused.contains(&e.key.as_str()) {
            self.complain(self.locate(e));
        }
    }

    /// Keeps an owner's refusal of the `i`th item of the list `key`, located at that item.
    pub fn refuse_item(
        &self,
        key: &str,
        i: usize,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let item = match self.entry(key).map(|e| &e.item) {
            Some(super::tree::Item::List(items)) => items.get(i).map(|item| item.place.clone()),
            _ => None,
        };
        self.complain(
            Problem::new(format!("{key}: {}", what.into()), hint)
                .at(item.unwrap_or_else(|| self.place(key))),
        );
    }

    /// Stores the problems of a file that a key names.
    pub fn refuse_file(&self, problems: crate::Problems) {
        problems.iter().for_each(|p| self.complain(p.clone()));
    }

    /// Warns about `key`; the run continues.
    pub fn warn(&self, e: &ParamError) {
        self.doc.push_warning(self.locate(e).warning());
    }

    /// Warns that `key` has no effect, and why. One that is given with its default value says what
    /// is so all the same, and resolved scenarios give all: no warning then.
    pub fn has_no_effect(&self, key: &str, why: &str, hint: &str) {
        if self.is_given_beyond_default(key) {
            self.warn(&ParamError::new(key, format!("{why}: the key has no effect"), hint));
        }
    }

    /// Whether `key` was given, with another value than its default.
    fn is_given_beyond_default(&self, key: &str) -> bool {
        // The key of the kind is in no list: a given key is a choice.
        let spec = self.specs.iter().find(|s| s.key == key);
        self.entry(key)
            .is_some_and(|entry| spec.is_none_or(|spec| is_more_than_default(spec, entry)))
    }

    /// The place of `key`'s value, else of the section, for problems that the caller makes.
    pub fn place(&self, key: &str) -> Place {
        let entry = self.entry(key).map(|e| e.place.clone());
        entry.or_else(|| self.header.clone()).unwrap_or_else(|| self.doc.start())
    }

    fn locate(&self, e: &ParamError) -> Problem {
        let given = self.entry(&e.key).is_some();
        let default =
            self.specs.iter().find(|s| s.key == e.key).and_then(|s| s.default).filter(|_| !given);
        let note = default.map(|d| format!(" (default \"{d}\")")).unwrap_or_default();
        let name = resolved::join(if given { "" } else { &self.path }, &e.key);
        Problem::new(format!("{name}{note}: {}", e.what), e.hint.clone()).at(self.place(&e.key))
    }

    /// Opens the sections below this one that `spec` describes; its path must continue this one's.
    pub fn children(&self, spec: &SectionSpec) -> Vec<Section<'d>> {
        self.doc.open_below(spec, &self.path, self.table)
    }
}

/// Whether the value differs from the default. An empty list is an absent key.
fn is_more_than_default(spec: &ParamSpec, entry: &Entry) -> bool {
    let is = |text: &str| match spec.default {
        Some(default) => !same(spec.kind, text, default),
        None => !text.is_empty(),
    };
    text_of(spec.kind, entry).is_ok_and(|text| is(&text))
}

fn origin_of(entry: &Entry) -> Origin {
    let at = entry.place.to_string();
    if entry.place.source.is_setting() { Origin::Override(at) } else { Origin::File(at) }
}

impl Values for Section<'_> {
    fn without_effect(&mut self, key: &str, why: &str, hint: &str) {
        self.has_no_effect(key, why, hint);
    }

    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let Some(spec) = self.specs.iter().find(|s| s.key == key).copied() else {
            return Err(ParamError::new(
                key,
                "read but not declared",
                "add the key to the declaration",
            ));
        };
        if self.refused.contains(&spec.key) {
            return Err(ParamError::new(key, "refused", "see the messages about it above"));
        }
        let (value, origin, source) = match (self.entry(key), spec.default) {
            (Some(entry), _) => {
                let value = text_of(spec.kind, entry)
                    .map_err(|(what, hint)| ParamError::new(key, what, hint))?;
                (value, origin_of(entry), "")
            }
            (None, Some(default)) => (default.to_owned(), Origin::Default, spec.source),
            (None, None) => return Ok(None),
        };
        self.record(key, spec.kind, value.clone(), origin, source);
        Ok(Some(value))
    }
}

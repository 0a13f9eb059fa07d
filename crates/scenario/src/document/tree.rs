//! The document as a tree in which every key and value knows its place.
//!
//! Settings (`--set a.b=c`) are laid over the tree before anything is read, so that they pass the
//! same checks as the file, and a wrong one is reported at its own text.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use xoff_units::Bytes;

use super::spec::{renamed, renamed_warning};
use crate::{Place, Problem, Problems, Source};

/// A value.
#[derive(Clone, Debug)]
pub enum Item {
    /// A text.
    Text(String),
    /// Decimal digits, whatever the base in the file.
    Integer(String),
    /// A number with a point or an exponent, as written.
    Float(String),
    /// `true` or `false`.
    Flag(bool),
    /// A date or a time.
    Date,
    /// A list.
    List(Vec<Entry>),
    /// A section, or an inline table.
    Table(Table),
}

/// A value with its places.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Place of the key; in a list, place of the item.
    pub key: Place,
    /// Place of the value.
    pub place: Place,
    /// The value.
    pub item: Item,
    /// The text as written, if it comes from a setting: a shell eats quotes, so `--set name=5` may
    /// mean a text.
    pub setting: Option<String>,
    /// The text that a setting replaced.
    pub replaced: Option<String>,
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Each key with its entry.
    pub entries: Vec<(String, Entry)>,
}

impl Table {
    /// Entry at this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, e)| e)
    }
}

impl Entry {
    /// Description for "found ...".
    pub fn describe(&self) -> String {
        match &self.item {
            Item::Text(s) => format!("text \"{}\"", crate::suggest::clip(s)),
            Item::Integer(s) | Item::Float(s) => format!("number {}", crate::suggest::clip(s)),
            Item::Flag(b) => format!("{b}"),
            Item::Date => "a date".into(),
            Item::List(_) => "a list".into(),
            Item::Table(_) => "a section".into(),
        }
    }

    /// A list without items: no value, and no section either.
    pub fn is_empty_list(&self) -> bool {
        matches!(&self.item, Item::List(items) if items.is_empty())
    }

    /// A table, or a list of tables: something that holds keys, not a value.
    pub fn is_section(&self) -> bool {
        match &self.item {
            Item::Table(_) => true,
            Item::List(items) => {
                !items.is_empty() && items.iter().all(|i| matches!(i.item, Item::Table(_)))
            }
            _ => false,
        }
    }
}

/// Parses a whole file whose keys its reader judges itself.
///
/// # Errors
/// Whatever is no TOML, each with its place.
pub fn parse(source: &Arc<Source>) -> Result<Table, Problems> {
    let (size, max) = (Bytes(source.text().len() as u64), crate::read::DOCUMENT_MAX);
    if size > max {
        let hint = format!(
            "expected at most {max}; describe repetition by a pattern ([[workload]], a builder)"
        );
        return Err(Problem::new(format!("a document of {size}"), hint)
            .at(source.place(0..0))
            .into());
    }
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let mut problems = Problems::default();
    let definitions = LazyCell::new(|| Definitions::of(source.text()));
    for e in errors {
        // An error without a span concerns the end of the text.
        let span = e.span().unwrap_or(source.text().len()..source.text().len());
        if e.message() == "duplicate key" {
            problems.push(definitions.twice(source, span));
            continue;
        }
        // The slip most likely in a language where a number with a unit is a text deserves its own
        // words.
        let (what, hint) = match (e.message().contains("must be quoted"), span.is_empty()) {
            (true, true) => ("there is no value after '='", "expected key = value"),
            (true, false) => (
                "the text has no quotes",
                "put texts and numbers with units in quotes, such as rate = \"10Gbps\"",
            ),
            _ => (e.message().trim(), "TOML syntax; see toml.io"),
        };
        problems.push(Problem::new(what, hint).at(source.place(span)));
    }
    problems.sort();
    problems.or(()).map(|()| convert_table(table.get_ref(), source, 0))
}

/// Line of the first definition of each key and section; one pass over the text, however many
/// are defined twice.
struct Definitions<'a> {
    lines: Vec<&'a str>,
    /// Section of each line: the number of headers before it.
    sections: Vec<usize>,
    /// Section and key, or no section and the name in a header, with the index of the line.
    first: BTreeMap<(Option<usize>, &'a str), usize>,
}

impl<'a> Definitions<'a> {
    fn of(text: &'a str) -> Definitions<'a> {
        let lines: Vec<&str> = text.lines().collect();
        let (mut sections, mut first) = (Vec::with_capacity(lines.len()), BTreeMap::new());
        let mut section = 0;
        for (at, line) in lines.iter().enumerate() {
            sections.push(section);
            if is_header(line) {
                first.entry((None, header_name(line))).or_insert(at);
                section += 1;
            } else if let Some((key, _)) = line.split_once('=') {
                // The same key in another section is another key.
                first.entry((Some(section), key.trim())).or_insert(at);
            }
        }
        Definitions { lines, sections, first }
    }

    /// A key or a section that is defined twice, with the line of its first definition.
    fn twice(&self, source: &Arc<Source>, span: std::ops::Range<usize>) -> Problem {
        let name = source.text().get(span.clone()).unwrap_or_default().trim();
        let at = source.line(span.start) - 1;
        let line = self.lines.get(at).copied().unwrap_or_default();
        let (kind, key) = if is_header(line) {
            ("section", (None, header_name(line)))
        } else {
            ("key", (self.sections.get(at).copied(), name))
        };
        let what = format!("{kind} '{}' is defined twice", crate::suggest::clip(name));
        let hint = match self.first.get(&key).filter(|&&first| first < at) {
            Some(first) => format!("first defined on line {}; keep one", first + 1),
            None => "keep one of the two".into(),
        };
        Problem::new(what, hint).at(source.place(span))
    }
}

fn is_header(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

/// Name between the brackets of a header.
fn header_name(line: &str) -> &str {
    line.trim().trim_matches(['[', ']', ' ', '\t'])
}

/// `skip`: bytes that precede the text in the parser's input but not in the source.
fn convert_table(table: &DeTable<'_>, source: &Arc<Source>, skip: usize) -> Table {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(k, v)| {
            let key = place(source, k.span(), skip);
            (k.get_ref().to_string(), convert(v, source, key, skip))
        })
        .collect();
    // The parser sorts by name; problems and the resolved file follow the order of the file.
    entries.sort_by_key(|(_, e)| e.key.span.start);
    Table { entries }
}

fn place(source: &Arc<Source>, span: std::ops::Range<usize>, skip: usize) -> Place {
    source.place(span.start.saturating_sub(skip)..span.end.saturating_sub(skip))
}

fn convert(value: &Spanned<DeValue<'_>>, source: &Arc<Source>, key: Place, skip: usize) -> Entry {
    let item = match value.get_ref() {
        DeValue::String(s) => Item::Text(s.to_string()),
        DeValue::Integer(i) => Item::Integer(match i128::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) => v.to_string(),
            // Too long for any integer; the range check of the key refuses it.
            Err(_) => i.as_str().to_owned(),
        }),
        DeValue::Float(f) => Item::Float(f.as_str().to_owned()),
        DeValue::Boolean(b) => Item::Flag(*b),
        DeValue::Datetime(_) => Item::Date,
        DeValue::Array(a) => Item::List(
            a.iter().map(|v| convert(v, source, place(source, v.span(), skip), skip)).collect(),
        ),
        DeValue::Table(t) => Item::Table(convert_table(t, source, skip)),
    };
    Entry { key, place: place(source, value.span(), skip), item, setting: None, replaced: None }
}

/// Parts of a setting's path. Sections are three deep at most; every part is a call deeper.
const STEPS_MAX: usize = 16;

/// A setting laid over the file: a dotted path and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    source: Arc<Source>,
    /// Bytes of the source that are the path; the value follows the `=`.
    path_len: usize,
}

impl Override {
    /// From `path=value`, as in `--set topology.rate=40Gbps` or `--set flow[0].size=1MB`. The value
    /// is TOML, or plain text if it is not TOML.
    ///
    /// # Errors
    /// A text without `=`, or without a path before it.
    pub fn set(text: &str) -> Result<Override, Problem> {
        Override::named("--set", text)
    }

    /// From a keyword argument: `path` and `value` in text form.
    ///
    /// # Errors
    /// An empty path.
    pub fn keyword(path: &str, value: &str) -> Result<Override, Problem> {
        Override::named("keyword", &format!("{path}={value}"))
    }

    /// From an option of the command line that represents a key: `path` and `value` in text form.
    ///
    /// # Errors
    /// An empty path.
    pub fn option(option: &str, path: &str, value: &str) -> Result<Override, Problem> {
        Override::named(option, &format!("{path}={value}"))
    }

    fn named(name: &str, text: &str) -> Result<Override, Problem> {
        let source = Source::setting(name, text);
        let refuse = |what: &str, span| {
            Err(Problem::new(what, "expected path=value, such as topology.rate=40Gbps")
                .at(source.place(span)))
        };
        match text.find('=') {
            None => refuse("no '='", 0..text.len()),
            Some(0) => refuse("no path before '='", 0..1),
            Some(path_len) => Ok(Override { source, path_len }),
        }
    }

    /// Origin, such as `--set`, and the setting: [`Override::option`] makes it from these again.
    pub fn origin(&self) -> (&str, &str) {
        (self.source.name(), self.source.text())
    }

    /// The path that it sets, as it was given.
    pub fn path(&self) -> &str {
        &self.source.text()[..self.path_len]
    }

    /// From the text of [`Override::origin`].
    ///
    /// # Errors
    /// A text that is no setting.
    pub fn from_origin(name: &str, text: &str) -> Result<Override, Problem> {
        Override::named(name, text)
    }

    /// The setting as a place, for problems that concern it as a whole.
    pub fn place(&self) -> Place {
        self.source.place(0..self.source.text().len())
    }

    /// The steps of the path with their places: keys, and indices in brackets or as plain numbers.
    fn steps(&self) -> Vec<(&str, Place)> {
        let path = &self.source.text()[..self.path_len];
        let mut steps = Vec::new();
        let mut start = 0;
        for (i, c) in path.char_indices().chain([(path.len(), '.')]) {
            if matches!(c, '.' | '[' | ']') {
                let word = path[start..i].trim();
                // `a[0].b` has nothing between `]` and `.`.
                if !(word.is_empty() && path[..i].ends_with(']')) {
                    steps.push((word, self.source.place(start..i)));
                }
                start = i + 1;
            }
        }
        steps
    }

    fn entry(&self, key: Place) -> Entry {
        let text = &self.source.text()[self.path_len + 1..];
        let shift = self.path_len + 1;
        let span = self.source.place(shift..self.source.text().len());
        let plain = || Item::Text(text.trim().to_owned());
        // The parser wants a key: `v=` stands before the value instead of the path.
        let document = format!("v={text}");
        let parsed = DeTable::parse(&document).ok().filter(|t| t.get_ref().len() == 1);
        let item = match parsed.as_ref().and_then(|t| t.get_ref().iter().next()) {
            // A table gets no places of its own inside the setting; the whole value represents it.
            Some((_, v)) => convert(v, &self.source, key.clone(), 2).item,
            None => plain(),
        };
        let mut entry =
            Entry { key, place: span, item, setting: Some(text.trim().to_owned()), replaced: None };
        shift_places(&mut entry.item, shift);
        entry
    }

    /// The warning about an earlier name of a section in its path.
    pub(super) fn renamed(&self) -> Option<Problem> {
        let steps = self.steps();
        let (old, place) = steps.first()?;
        Some(renamed_warning(old, renamed(old)?).at(place.clone()))
    }

    /// Lays the setting over `root`.
    pub(super) fn apply(&self, root: &mut Table) -> Result<(), Problem> {
        let mut steps = self.steps();
        if let Some((_, place)) = steps.get(STEPS_MAX) {
            let p = Problem::new(
                format!("the path has {} parts", steps.len()),
                format!("expected at most {STEPS_MAX}, such as topology.rate"),
            );
            return Err(p.at(place.clone()));
        }
        if let Some((_, place)) = steps.iter().find(|(word, _)| word.is_empty()) {
            let p = Problem::new(
                "the path has an empty part",
                "expected dotted keys, such as topology.rate=40Gbps",
            );
            return Err(p.at(place.clone()));
        }
        if let Some(new) = steps.first().and_then(|(old, _)| renamed(old)) {
            steps[0].0 = new;
        }
        descend(root, &steps, self)
    }
}

/// Moves the places inside a setting's value behind its path.
fn shift_places(item: &mut Item, by: usize) {
    let shift = |p: &mut Place| *p = p.source.place(p.span.start + by..p.span.end + by);
    let entries: Vec<&mut Entry> = match item {
        Item::List(items) => items.iter_mut().collect(),
        Item::Table(t) => t.entries.iter_mut().map(|(_, e)| e).collect(),
        _ => return,
    };
    for e in entries {
        shift(&mut e.key);
        shift(&mut e.place);
        shift_places(&mut e.item, by);
    }
}

fn descend(table: &mut Table, steps: &[(&str, Place)], setting: &Override) -> Result<(), Problem> {
    let ((word, place), rest) = steps.split_first().expect("a path has at least one step");
    let found = table.entries.iter().position(|(k, _)| k == word);
    if rest.is_empty() {
        let mut entry = setting.entry(place.clone());
        match found {
            Some(i) if table.entries[i].1.is_section() && !entry.is_section() => {
                // `flow_control=pfc` for a section means its kind.
                if let Item::Table(t) = &mut table.entries[i].1.item {
                    return descend(t, &[("kind", place.clone())], setting);
                }
                table.entries[i].1 = entry;
            }
            Some(i) => {
                if let Item::Text(text) = &table.entries[i].1.item {
                    entry.replaced = Some(text.clone());
                }
                table.entries[i].1 = entry;
            }
            None => table.entries.push(((*word).to_owned(), entry)),
        }
        return Ok(());
    }
    let i = found.unwrap_or_else(|| {
        // `failure[0].at` where there is no such entry yet: the first of a list.
        let list = rest[0].0 == "0";
        let item = if list { Item::List(Vec::new()) } else { Item::Table(Table::default()) };
        table.entries.push((
            (*word).to_owned(),
            Entry { key: place.clone(), place: place.clone(), item, setting: None, replaced: None },
        ));
        table.entries.len() - 1
    });
    descend_entry(&mut table.entries[i].1, word, rest, setting)
}

fn descend_entry(
    entry: &mut Entry,
    name: &str,
    rest: &[(&str, Place)],
    setting: &Override,
) -> Result<(), Problem> {
    let what = entry.describe();
    match &mut entry.item {
        Item::Table(t) => descend(t, rest, setting),
        Item::List(items) => {
            let ((word, place), rest) = rest.split_first().expect("checked by the caller");
            let count = items.len();
            // The entry after the last one is a new one, where entries are sections.
            if word.parse() == Ok(count) && items.iter().all(Entry::is_section) {
                let item = Item::Table(Table::default());
                items.push(Entry {
                    key: place.clone(),
                    place: place.clone(),
                    item,
                    setting: None,
                    replaced: None,
                });
            }
            let Some(item) = word.parse::<usize>().ok().and_then(|i| items.get_mut(i)) else {
                let hint =
                    format!("'{name}' has {count} entries, numbered from 0, as in {name}[0]");
                return Err(Problem::new(format!("'{word}' is not an entry of '{name}'"), hint)
                    .at(place.clone()));
            };
            if rest.is_empty() {
                *item = setting.entry(place.clone());
                return Ok(());
            }
            descend_entry(item, name, rest, setting)
        }
        _ => {
            let place = rest[0].1.clone();
            Err(Problem::new(
                format!("'{name}' is {what}, not a section"),
                "expected a path through sections to one key",
            )
            .at(place))
        }
    }
}

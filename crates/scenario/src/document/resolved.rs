//! The values that took effect, each with its origin: stored in the manifest, and enough to
//! reproduce a run.

use std::collections::{HashMap, HashSet};
use std::fmt;

use xoff_units::params::{Kind, ParamSpec};

use super::value::{can_be_given, number, to_toml};
use crate::suggest::is_unseen;

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file, at `file:line:column`.
    File(String),
    /// Declared by the owner of the key.
    Default,
    /// A setting, as it was written.
    Override(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(place) | Origin::Override(place) => f.write_str(place),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// One value that took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Section with indices, such as `topology` or `flow[0]`; empty at the top.
    pub section: String,
    /// Name of the key.
    pub key: String,
    /// The value in text form, as used.
    pub value: String,
    /// Origin of the value.
    pub origin: Origin,
    /// The authority behind a default, or the rule behind a derived value; may be empty.
    pub source: String,
    /// Form of the value in a file.
    pub(super) kind: Kind,
}

impl Row {
    /// Dotted path of the value.
    pub fn path(&self) -> String {
        join(&self.section, &self.key)
    }
}

/// `section.key`, or `key` at the top.
pub(super) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// All values of a document that took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Sections in the order in which they were opened, and whether the document had them.
    sections: Vec<(String, bool)>,
    rows: Vec<Row>,
}

impl Resolved {
    /// Keeps the first row of each path.
    pub(super) fn new(mut sections: Vec<(String, bool)>, mut rows: Vec<Row>) -> Resolved {
        let mut seen = HashSet::new();
        rows.retain(|r| seen.insert((r.section.clone(), r.key.clone())));
        let mut seen = HashSet::new();
        sections.retain(|(path, _)| seen.insert(path.clone()));
        Resolved { sections, rows }
    }

    /// Adds the value that a key took without being given, if a file can have it.
    pub fn derive(&mut self, section: &str, spec: &ParamSpec, value: &str) {
        let path = join(section, spec.key);
        if can_be_given(spec.kind, value) && !self.rows.iter().any(|r| r.path() == path) {
            self.rows.push(Row {
                section: section.to_owned(),
                key: spec.key.to_owned(),
                value: number(spec.kind, value.to_owned()),
                origin: Origin::Default,
                source: spec.source.to_owned(),
                kind: spec.kind,
            });
        }
    }

    /// The values, in the order in which they were read.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The sections of the document with the values that it or a setting gave, in the order of
    /// reading: enough to write the same scenario with other parts.
    pub fn given(&self) -> Vec<Given> {
        let mut all: Vec<Given> = Vec::new();
        let mut index = HashMap::new();
        for (path, present) in &self.sections {
            index.insert(path.as_str(), all.len());
            all.push(Given { path: path.clone(), present: *present, values: Vec::new() });
        }
        for row in self.rows.iter().filter(|r| r.origin != Origin::Default) {
            let value = (row.key.clone(), to_toml(row.kind, &row.value));
            match index.get(row.section.as_str()) {
                Some(&i) => all[i].values.push(value),
                None => {
                    index.insert(&row.section, all.len());
                    let path = row.section.clone();
                    all.push(Given { path, present: true, values: vec![value] });
                }
            }
        }
        all.retain(|s| s.present || !s.values.is_empty());
        all
    }

    /// A scenario that says everything and reproduces the run.
    pub fn to_toml(&self) -> String {
        let mut root = Node::default();
        for (path, present) in &self.sections {
            root.at(path).present = *present;
        }
        for row in &self.rows {
            root.at(&row.section).rows.push(row);
        }
        let mut out = String::new();
        root.write("", &mut out);
        out
    }
}

/// A section with what a document gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Path with indices, such as `topology` or `flow[0]`; empty at the top.
    pub path: String,
    /// The document has its header.
    present: bool,
    /// Keys, and values as TOML writes them.
    pub values: Vec<(String, String)>,
}

impl Given {
    /// A section with no values so far.
    pub fn new(path: &str) -> Given {
        Given { path: path.to_owned(), present: true, values: Vec::new() }
    }
}

/// A section of the written file.
#[derive(Default)]
struct Node<'r> {
    /// A section without values is written if the document had it.
    present: bool,
    rows: Vec<&'r Row>,
    children: Vec<(String, Node<'r>)>,
    /// Position of each child; there may be a hundred thousand flows.
    index: HashMap<String, usize>,
}

impl<'r> Node<'r> {
    /// The node of a path, made if there is none. Steps keep their index, so that `flow[0]` and
    /// `flow[1]` are two.
    fn at(&mut self, path: &str) -> &mut Node<'r> {
        let mut node = self;
        for step in path.split('.').filter(|s| !s.is_empty()) {
            let i = *node.index.entry(step.to_owned()).or_insert_with(|| {
                node.children.push((step.to_owned(), Node::default()));
                node.children.len() - 1
            });
            node = &mut node.children[i].1;
        }
        node
    }

    fn write(&self, path: &str, out: &mut String) {
        for row in &self.rows {
            let comment = match (&row.origin, row.source.is_empty()) {
                (Origin::File(_), _) => String::new(),
                (o, true) => format!("  # {}", one_line(&o.to_string())),
                (o, false) => {
                    format!("  # {}: {}", one_line(&o.to_string()), one_line(&row.source))
                }
            };
            out.push_str(&format!("{} = {}{comment}\n", row.key, to_toml(row.kind, &row.value)));
        }
        for (step, node) in &self.children {
            let (name, repeat) =
                step.split_once('[').map_or((step.as_str(), false), |(name, _)| (name, true));
            let path = join(path, name);
            if node.present || !node.rows.is_empty() {
                let gap = if out.is_empty() { "" } else { "\n" };
                out.push_str(&if repeat {
                    format!("{gap}[[{path}]]\n")
                } else {
                    format!("{gap}[{path}]\n")
                });
            }
            node.write(&path, out);
        }
    }
}

/// A comment ends at the line end.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect()
}

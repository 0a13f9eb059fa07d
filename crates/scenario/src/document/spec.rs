//! Contents of a document: sections, their keys, and kinds with further keys.
//!
//! The same description opens a section, rejects unknown keys, and becomes the JSON Schema.

use xoff_units::params::ParamSpec;

use crate::Problem;

/// One section of a document.
#[derive(Clone, Debug)]
pub struct SectionSpec {
    /// Dotted path: `"topology"`, `"topology.node"`; empty for the keys before the first section.
    pub path: &'static str,
    /// `[[path]]`, any number of times, instead of `[path]`, once.
    pub repeat: bool,
    /// True if a document without the section is an error.
    pub required: bool,
    /// Meaning, one sentence.
    pub doc: &'static str,
    /// Keys of the section, whatever its kind.
    pub specs: Vec<&'static [ParamSpec]>,
    /// Kinds to choose from, each with keys of its own.
    pub kinds: Option<Kinds>,
}

/// The kinds of a section: one key chooses among them.
#[derive(Clone, Debug)]
pub struct Kinds {
    /// The key, for instance `kind`.
    pub key: &'static str,
    /// The kind when the key is absent; `None`: it must be given.
    pub default: Option<&'static str>,
    /// All kinds.
    pub list: Vec<KindSpec>,
    /// Further names of kinds, each with the name of its kind. They need no warning: users know a
    /// mechanism by several names.
    pub aliases: &'static [(&'static str, &'static str)],
}

/// Sections at the top that were renamed: earlier name and current name. The earlier name still
/// works, with a warning.
pub(super) const RENAMED: &[(&str, &str)] = &[("fabric", "scheduled_fabric")];

/// Warning about an earlier name of a section.
pub(super) fn renamed_warning(old: &str, new: &str) -> Problem {
    Problem::new(
        format!("write [{new}] instead of [{old}], its old name"),
        "the old name still works",
    )
    .warning()
}

/// Current name of a section at the top, if it was renamed.
pub(super) fn renamed(section: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == section).map(|(_, new)| *new)
}

/// One kind of a section.
#[derive(Clone, Debug)]
pub struct KindSpec {
    /// Name, as written in the file.
    pub name: &'static str,
    /// Meaning, one sentence.
    pub doc: &'static str,
    /// Keys of this kind, in addition to those of the section.
    pub specs: Vec<&'static [ParamSpec]>,
}

impl SectionSpec {
    /// `[path]`, at most once.
    pub fn once(
        path: &'static str,
        doc: &'static str,
        specs: Vec<&'static [ParamSpec]>,
    ) -> SectionSpec {
        SectionSpec { path, repeat: false, required: false, doc, specs, kinds: None }
    }
    /// `[[path]]`, any number of times.
    pub fn many(
        path: &'static str,
        doc: &'static str,
        specs: Vec<&'static [ParamSpec]>,
    ) -> SectionSpec {
        SectionSpec { repeat: true, ..SectionSpec::once(path, doc, specs) }
    }
    /// With a choice of kinds.
    pub fn kinds(
        mut self,
        key: &'static str,
        default: Option<&'static str>,
        list: Vec<KindSpec>,
    ) -> SectionSpec {
        self.kinds = Some(Kinds { key, default, list, aliases: &[] });
        self
    }
    /// With further names of kinds: alias and kind.
    pub fn aliases(mut self, aliases: &'static [(&'static str, &'static str)]) -> SectionSpec {
        if let Some(kinds) = &mut self.kinds {
            kinds.aliases = aliases;
        }
        self
    }
    /// Rejects a document without this section.
    pub fn required(mut self) -> SectionSpec {
        self.required = true;
        self
    }
    /// As written in a file: `[topology]`, `[[flow]]`.
    pub fn header(&self) -> String {
        match (self.path, self.repeat) {
            ("", _) => "the keys at the top".into(),
            (path, false) => format!("[{path}]"),
            (path, true) => format!("[[{path}]]"),
        }
    }
    /// Path of the section around it; empty at the top.
    pub(super) fn parent(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }
    /// Last part of the path.
    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

impl Kinds {
    /// The kind of a name, which may be an alias.
    pub(super) fn of<'n>(&self, name: &'n str) -> &'n str {
        self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, kind)| kind)
    }
    /// All names of a kind, its own first.
    pub fn names_of(&self, kind: &'static str) -> impl Iterator<Item = &'static str> + '_ {
        std::iter::once(kind)
            .chain(self.aliases.iter().filter(move |(_, of)| *of == kind).map(|(alias, _)| *alias))
    }
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.list.iter().map(|k| k.name).collect()
    }
}

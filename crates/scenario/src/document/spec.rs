//! What a document may contain: sections, their keys, and kinds that bring keys of their own.
//!
//! The same description opens a section, rejects what is not in it, and becomes the JSON Schema.

use xoff_params::ParamSpec;

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
}

/// One kind of a section.
#[derive(Clone, Debug)]
pub struct KindSpec {
    /// Name, as written in the file.
    pub name: &'static str,
    /// Meaning, one sentence.
    pub doc: &'static str,
    /// Keys of this kind, beside those of the section.
    pub specs: Vec<&'static [ParamSpec]>,
}

impl SectionSpec {
    /// `[path]`, at most once.
    pub fn once(path: &'static str, doc: &'static str, specs: Vec<&'static [ParamSpec]>) -> SectionSpec {
        SectionSpec { path, repeat: false, required: false, doc, specs, kinds: None }
    }
    /// `[[path]]`, any number of times.
    pub fn many(path: &'static str, doc: &'static str, specs: Vec<&'static [ParamSpec]>) -> SectionSpec {
        SectionSpec { repeat: true, ..SectionSpec::once(path, doc, specs) }
    }
    /// With a choice of kinds.
    pub fn kinds(mut self, key: &'static str, default: Option<&'static str>, list: Vec<KindSpec>) -> SectionSpec {
        self.kinds = Some(Kinds { key, default, list });
        self
    }
    /// A document without it is refused.
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
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.list.iter().map(|k| k.name).collect()
    }
}

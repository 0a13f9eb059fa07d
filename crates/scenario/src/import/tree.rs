//! A JSON or YAML document as one tree in which every value has its place.
//!
//! Typed access ([`Tree::object`], [`Tree::text`], ...) rejects with the place, the value found and
//! the expected form.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::{Place, Problem, Source, suggest};

/// Values that may be inside each other.
pub(crate) const DEPTH_MAX: usize = 100;

/// A value with the bytes where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub span: Range<usize>,
    pub item: Item,
    /// Whether a reader has taken the value. Values that no reader took are named.
    read: Cell<bool>,
}

/// Kind of a value.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Null,
    Flag(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    /// In the order of the file; no key occurs twice.
    Object(Vec<(Key, Tree)>),
}

/// The name of a value with the bytes where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub name: String,
    pub span: Range<usize>,
}

/// A whole document.
pub(crate) struct Document {
    pub source: Arc<Source>,
    pub root: Tree,
}

impl Document {
    /// A problem where a value stands.
    pub fn problem(&self, at: &Tree, what: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(what, hint).at(self.place(at))
    }

    /// Place of a value; for a list or an object its first bytes, so that a caret fits.
    pub fn place(&self, at: &Tree) -> Place {
        match at.item {
            Item::List(_) | Item::Object(_) => point(&self.source, at.span.start),
            _ => self.source.place(at.span.clone()),
        }
    }

    fn expected(&self, at: &Tree, what: &str, expected: &str) -> Problem {
        self.problem(at, format!("{what}: found {}", at.describe()), format!("expected {expected}"))
    }

    /// The entries of an object.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn object<'t>(&self, at: &'t Tree, what: &str) -> Result<&'t [(Key, Tree)], Problem> {
        match &at.item {
            Item::Object(entries) => Ok(entries),
            _ => Err(self.expected(at, what, "an object of keys and values")),
        }
    }

    /// The items of a list.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn list<'t>(&self, at: &'t Tree, what: &str) -> Result<&'t [Tree], Problem> {
        at.read.set(true);
        match &at.item {
            Item::List(items) => Ok(items),
            _ => Err(self.expected(at, what, "a list")),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn text<'t>(&self, at: &'t Tree, what: &str) -> Result<&'t str, Problem> {
        at.read.set(true);
        match &at.item {
            Item::Text(text) => Ok(text),
            _ => Err(self.expected(at, what, "a text")),
        }
    }

    /// A text or a number, as text.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn word<'t>(&self, at: &'t Tree, what: &str) -> Result<&'t str, Problem> {
        at.read.set(true);
        match &at.item {
            Item::Text(text) | Item::Number(text) => Ok(text),
            _ => Err(self.expected(at, what, "a text")),
        }
    }

    /// A whole number from 0 to `max`, which may stand in quotes.
    ///
    /// # Errors
    /// Anything else, with its place.
    pub fn count(&self, at: &Tree, what: &str, max: u64) -> Result<u64, Problem> {
        let text = self.word(at, what)?;
        match text.parse::<u64>() {
            Ok(n) if n <= max => Ok(n),
            Ok(n) => Err(self.problem(
                at,
                format!("{what}: {n} is out of range"),
                format!("expected 0 to {max}"),
            )),
            Err(_) => Err(self.problem(
                at,
                format!("{what}: '{}' is not a whole number", suggest::clip(text)),
                format!("expected 0 to {max}"),
            )),
        }
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// An object without this key, with its place.
    pub fn need<'t>(&self, at: &'t Tree, key: &str, what: &str) -> Result<&'t Tree, Problem> {
        self.object(at, what)?;
        at.get(key).ok_or_else(|| {
            self.problem(
                at,
                format!("{what}: \"{key}\" is missing"),
                "the format requires this key",
            )
        })
    }
}

impl Tree {
    /// A value that no reader has taken yet.
    pub fn new(span: Range<usize>, item: Item) -> Tree {
        Tree { span, item, read: Cell::new(false) }
    }

    /// Whether a reader has taken it, or something in it.
    pub fn is_read(&self) -> bool {
        self.read.get()
            || match &self.item {
                Item::List(items) => items.iter().any(Tree::is_read),
                Item::Object(entries) => entries.iter().any(|(_, value)| value.is_read()),
                _ => false,
            }
    }

    /// The value of a key; `None` where there is none, or where this is no object.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&(Key, Tree)> {
        match &self.item {
            Item::Object(entries) => entries.iter().find(|(k, _)| k.name == key),
            _ => None,
        }
    }

    /// As [`Tree::get`], where `null` is as good as nothing.
    pub fn given(&self, key: &str) -> Option<&Tree> {
        self.get(key).filter(|value| !matches!(value.item, Item::Null))
    }

    /// True for `true`.
    pub fn is_true(&self) -> bool {
        self.read.set(true);
        matches!(self.item, Item::Flag(true))
    }

    /// The text, where this is one.
    pub fn as_text(&self) -> Option<&str> {
        self.read.set(true);
        match &self.item {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Description for "found ...".
    pub fn describe(&self) -> String {
        match &self.item {
            Item::Null => "nothing (null)".into(),
            Item::Flag(flag) => flag.to_string(),
            Item::Number(n) => format!("the number {}", suggest::clip(n)),
            Item::Text(t) => format!("the text '{}'", suggest::clip(t)),
            Item::List(_) => "a list".into(),
            Item::Object(_) => "an object".into(),
        }
    }
}

/// The character at a byte.
pub(crate) fn point(source: &Arc<Source>, at: usize) -> Place {
    let len =
        source.text().get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    source.place(at..at + len)
}

/// Refuses a key that occurs twice in an object. Most readers of JSON keep the last one and say
/// nothing.
pub(crate) fn no_key_twice(source: &Arc<Source>, entries: &[(Key, Tree)]) -> Result<(), Problem> {
    let mut first = std::collections::HashMap::with_capacity(entries.len());
    for (key, _) in entries {
        if let Some(at) = first.insert(key.name.as_str(), key.span.start) {
            let hint = format!("first defined on line {}; keep one", source.position(at).0);
            return Err(Problem::new(
                format!("key '{}' is defined twice", suggest::clip(&key.name)),
                hint,
            )
            .at(source.place(key.span.clone())));
        }
    }
    Ok(())
}

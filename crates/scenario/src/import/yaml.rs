//! YAML with places: the parser's events, made into the same tree as JSON.
//!
//! Anchors, aliases and merge keys (`<<`) are resolved; a document that aliases blow up beyond
//! [`ALIASED_MAX`] values is rejected.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Problem, Source};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::import::tree::{DEPTH_MAX, Document, Item, Key, Tree, no_key_twice, point};

/// Values that aliases may repeat.
const ALIASED_MAX: usize = 200_000;

/// Parses a document.
///
/// # Errors
/// It is no YAML, a key occurs twice, or aliases blow it up; with the place.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Document, Problem> {
    let mut build = Build {
        source,
        bytes: byte_offsets(source.text()),
        open: Vec::new(),
        anchors: HashMap::new(),
        aliased: 0,
        root: None,
    };
    for event in Parser::new_from_str(source.text()) {
        let (event, span) = event.map_err(|e| {
            let at = build.byte(*e.marker());
            let templated = source.text().contains("{{");
            let hint =
                if templated { "this is a Go template; render it first" } else { "expected YAML" };
            Problem::new(format!("not YAML: {}", e.info()), hint).at(point(source, at))
        })?;
        let at = build.byte(span.start)..build.byte(span.end);
        build.take(event, at)?;
    }
    let root = build.root.ok_or_else(|| {
        Problem::new("the document is empty", "expected YAML").at(source.place(0..0))
    })?;
    Ok(Document { source: source.clone(), root })
}

/// Byte offset of every character and of the end, where the two differ; the parser counts
/// characters.
fn byte_offsets(text: &str) -> Option<Vec<usize>> {
    (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).chain([text.len()]).collect())
}

/// A list or an object whose end has not come.
struct Open {
    start: usize,
    anchor: usize,
    is_object: bool,
    items: Vec<Tree>,
}

struct Build<'s> {
    source: &'s Arc<Source>,
    bytes: Option<Vec<usize>>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Tree, usize)>,
    aliased: usize,
    root: Option<Tree>,
}

impl Build<'_> {
    fn byte(&self, mark: Marker) -> usize {
        self.bytes
            .as_ref()
            .map_or(mark.index(), |b| b[mark.index().min(b.len() - 1)])
            .min(self.source.text().len())
    }

    fn refuse(&self, at: usize, what: String, hint: &str) -> Problem {
        Problem::new(what, hint).at(point(self.source, at))
    }

    fn take(&mut self, event: Event<'_>, span: std::ops::Range<usize>) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let item = if plain { scalar(&text) } else { Item::Text(text.into_owned()) };
                self.put(Tree::new(span, item), anchor)
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if self.open.len() > DEPTH_MAX {
                    return Err(self.refuse(
                        span.start,
                        format!("values are nested more than {DEPTH_MAX} levels deep"),
                        "expected a smaller file",
                    ));
                }
                let is_object = matches!(event, Event::MappingStart(..));
                self.open.push(Open { start: span.start, anchor, is_object, items: Vec::new() });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let item =
                    if open.is_object { self.object(open.items)? } else { Item::List(open.items) };
                let span = open.start..span.end;
                let tree = Tree::new(span, item);
                self.put(tree, open.anchor)
            }
            Event::Alias(id) => match self.anchors.get(&id) {
                Some(&(ref tree, size)) => {
                    self.aliased += size;
                    if self.aliased > ALIASED_MAX {
                        let what = format!("aliases expand to more than {ALIASED_MAX} values");
                        return Err(self.refuse(span.start, what, "expected a smaller file"));
                    }
                    let tree = tree.clone();
                    self.put(tree, 0)
                }
                None => Err(self.refuse(
                    span.start,
                    "an alias refers to itself".into(),
                    "name the anchor (&name) before its alias (*name)",
                )),
            },
            Event::DocumentStart(_) if self.root.is_some() => Err(self.refuse(
                span.start,
                "a second document".into(),
                "expected one document in the file",
            )),
            _ => Ok(()),
        }
    }

    /// A complete value goes where it belongs.
    fn put(&mut self, tree: Tree, anchor: usize) -> Result<(), Problem> {
        if anchor > 0 {
            let size = count(&tree);
            self.anchors.insert(anchor, (tree.clone(), size));
        }
        match self.open.last_mut() {
            Some(open) => open.items.push(tree),
            None => self.root = Some(tree),
        }
        Ok(())
    }

    /// Keys and values alternate; `<<` lays other objects below this one.
    fn object(&self, items: Vec<Tree>) -> Result<Item, Problem> {
        let (mut entries, mut below) = (Vec::with_capacity(items.len() / 2), Vec::new());
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            let name = match key.item {
                Item::Text(text) | Item::Number(text) => text,
                Item::Flag(flag) => flag.to_string(),
                Item::Null => "null".into(),
                _ => {
                    return Err(self.refuse(
                        key.span.start,
                        "a key is not a text".into(),
                        "expected a name",
                    ));
                }
            };
            if name == "<<" {
                below.push(value);
            } else {
                entries.push((Key { name, span: key.span }, value));
            }
        }
        no_key_twice(self.source, &entries)?;
        for value in below {
            let several = match value.item {
                Item::List(items) => items,
                _ => vec![value],
            };
            for one in several {
                let Item::Object(more) = one.item else {
                    return Err(self.refuse(
                        one.span.start,
                        "the value of << is not an object".into(),
                        "expected an alias of an object",
                    ));
                };
                for (key, value) in more {
                    if !entries.iter().any(|(k, _)| k.name == key.name) {
                        entries.push((key, value));
                    }
                }
            }
        }
        Ok(Item::Object(entries))
    }
}

fn count(tree: &Tree) -> usize {
    match &tree.item {
        Item::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Item::Object(entries) => 1 + entries.iter().map(|(_, value)| count(value)).sum::<usize>(),
        _ => 1,
    }
}

/// A scalar without quotes, by the core schema of YAML 1.2.
fn scalar(text: &str) -> Item {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Item::Null,
        "true" | "True" | "TRUE" => Item::Flag(true),
        "false" | "False" | "FALSE" => Item::Flag(false),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
            && text.parse::<f64>().is_ok() =>
        {
            Item::Number(text.into())
        }
        _ => Item::Text(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Document, Problem> {
        parse(&Source::file("f.yml", text))
    }

    #[test]
    fn anchors_and_merge_keys_are_resolved() {
        let d = read(
            "base: &b {kind: linux, image: x}\nn:\n  <<: *b\n  image: y\né: [1, null, \"2\"]\n",
        )
        .unwrap();
        let n = d.root.get("n").unwrap();
        assert_eq!(
            (n.get("kind").unwrap().as_text(), n.get("image").unwrap().as_text()),
            (Some("linux"), Some("y"))
        );
        assert_eq!(d.place(d.root.get("é").unwrap()).to_string(), "f.yml:5:4");
    }

    #[test]
    fn refusals_have_place_and_hint() {
        for (text, place, what) in [
            ("a: 1\nb: 2\na: 3\n", "f.yml:3:1", "key 'a' is defined twice"),
            ("a: [1, 2\n", "f.yml:", "not YAML"),
            ("{{ if x }}\na: 1\n", "f.yml:1:", ""),
            ("a: 1\n---\nb: 2\n", "f.yml:2:1", "a second document"),
            ("", "f.yml:1:1", "empty"),
        ] {
            let e = read(text).err().unwrap_or_else(|| panic!("{text} was read")).line();
            assert!(e.starts_with(place) && e.contains(what), "{text}: {e}");
        }
    }

    #[test]
    fn a_billion_laughs_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            let list = vec![format!("*a{}", i - 1); 10].join(", ");
            text += &format!("a{i}: &a{i} [{list}]\n");
        }
        assert!(read(&text).err().unwrap().message.contains("aliases expand to more than"));
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}

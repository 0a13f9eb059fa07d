//! JSON with places: `serde_json` parses, and the address of borrowed text gives its place.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Problem, Source};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::import::tree::{DEPTH_MAX, Document, Item, Key, Tree, no_key_twice, point};

/// Parses a document.
///
/// # Errors
/// It is no JSON, or a key occurs twice; with the place.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Document, Problem> {
    let text = source.text();
    let raw: &RawValue = serde_json::from_str(text).map_err(|e| refused(source, &e))?;
    let root = tree(source, raw, 0)?;
    Ok(Document { source: source.clone(), root })
}

/// The parser's refusal, with a hint where a file is likely to be another form of the same data.
fn refused(source: &Arc<Source>, e: &serde_json::Error) -> Problem {
    let text = source.text();
    let mut start = 0;
    for _ in 1..e.line() {
        start = text[start..].find('\n').map_or(text.len(), |n| start + n + 1);
    }
    // The column counts bytes, from 1; at the end of the text it points behind it.
    let mut at = (start + e.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let what = e.to_string();
    let what = what.split(" at line ").next().unwrap_or(&what);
    let first = text.trim_start().chars().next();
    let rest = &text[at..];
    let hint = if e.is_eof() {
        "the file is truncated: a bracket or a quote is still open".to_owned()
    } else if !matches!(first, Some('{' | '[')) {
        "expected JSON, which starts with { or [; for the text form, use the JSON output of the program instead".to_owned()
    } else if rest.starts_with("NaN")
        || rest.starts_with("Infinity")
        || rest.starts_with("-Infinity")
    {
        "JSON has no NaN and Infinity, although Python writes them".to_owned()
    } else if rest.starts_with(['}', ']']) && text[..at].trim_end().ends_with(',') {
        "JSON has no comma before a closing bracket".to_owned()
    } else {
        "expected JSON".to_owned()
    };
    Problem::new(format!("not JSON: {what}"), hint).at(point(source, at))
}

/// Position of borrowed text in its source.
fn span(source: &Source, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - source.text().as_ptr() as usize;
    start..start + part.len()
}

fn tree(source: &Arc<Source>, raw: &RawValue, depth: usize) -> Result<Tree, Problem> {
    let (text, span) = (raw.get(), span(source, raw.get()));
    // What was parsed as a whole can be parsed again in parts.
    let broken = |e: serde_json::Error| {
        Problem::new(format!("not JSON: {e}"), "expected JSON").at(point(source, span.start))
    };
    if depth > DEPTH_MAX {
        return Err(Problem::new(
            format!("values are nested more than {DEPTH_MAX} levels deep"),
            "expected a file of this format",
        )
        .at(point(source, span.start)));
    }
    let item = match text.as_bytes().first() {
        Some(b'{') => {
            let Pairs(pairs) = serde_json::from_str(text).map_err(broken)?;
            let mut entries = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                let place = self::span(source, key.get());
                let name: String = serde_json::from_str(key.get()).map_err(broken)?;
                entries.push((Key { name, span: place }, tree(source, value, depth + 1)?));
            }
            no_key_twice(source, &entries)?;
            Item::Object(entries)
        }
        Some(b'[') => {
            let Items(items) = serde_json::from_str(text).map_err(broken)?;
            Item::List(
                items
                    .into_iter()
                    .map(|raw| tree(source, raw, depth + 1))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => Item::Text(serde_json::from_str(text).map_err(broken)?),
        Some(b't') => Item::Flag(true),
        Some(b'f') => Item::Flag(false),
        Some(b'n') => Item::Null,
        _ => Item::Number(text.to_owned()),
    };
    Ok(Tree::new(span, item))
}

/// The pairs of an object, in the order of the file.
struct Pairs<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Pairs<'t> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        d.deserialize_map(Visit).map(Pairs)
    }
}

/// The items of a list.
struct Items<'t>(Vec<&'t RawValue>);

impl<'de: 't, 't> Deserialize<'de> for Items<'t> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Vec<&'de RawValue>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        d.deserialize_seq(Visit).map(Items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Document, Problem> {
        parse(&Source::file("f.json", text))
    }

    #[test]
    fn every_value_and_key_knows_its_place() {
        let d = read("{\"a\": [1, \"é\"],\n \"b\": {\"x\": null}}").unwrap();
        let b = d.root.entry("b").unwrap();
        assert_eq!(d.source.place(b.0.span.clone()).to_string(), "f.json:2:2");
        let Item::List(items) = &d.root.get("a").unwrap().item else { panic!() };
        assert_eq!(d.place(&items[1]).to_string(), "f.json:1:11");
        assert_eq!(items[1].as_text(), Some("é"));
    }

    #[test]
    fn refusals_have_place_and_hint() {
        for (text, place, what) in [
            ("{\"a\": 1,\n \"a\": 2}", "f.json:2:2", "key 'a' is defined twice"),
            ("{\"a\": NaN}", "f.json:1:7", "JSON has no NaN"),
            ("{\"a\": 1,}", "f.json:1:9", "no comma before a closing bracket"),
            ("{\"a\": [1", "f.json:1:8", "truncated"),
            ("Codes: K", "f.json:1:1", "for the text form"),
            ("{} x", "f.json:1:4", "trailing characters"),
        ] {
            let e = read(text).err().unwrap_or_else(|| panic!("{text} was read")).line();
            assert!(e.starts_with(place) && e.contains(what), "{text}: {e}");
        }
        let deep = "[".repeat(120) + &"]".repeat(120);
        assert!(
            read(&deep)
                .err()
                .unwrap()
                .line()
                .contains("values are nested more than 100 levels deep")
        );
        assert!(read(&"[".repeat(1_000_000)).is_err());
    }
}

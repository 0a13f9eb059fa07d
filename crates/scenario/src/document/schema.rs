//! The JSON Schema (draft 2020-12) of a document, from the same descriptions that the reader checks
//! against.

use serde_json::{Map, Value, json};
use xoff_units::params::{Kind, ParamSpec};

use super::spec::{KindSpec, SectionSpec};

/// A decimal number before a unit, as `xoff_units` reads it.
const NUMBER: &str = r"^\s*\+?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)\s*";

/// The schema of documents made of `sections`.
pub fn schema(sections: &[SectionSpec]) -> Value {
    let top = sections.iter().find(|s| s.path.is_empty());
    let (mut properties, mut required) = keys(top.map_or(&[], |s| &s.specs));
    below("", sections, &mut properties, &mut required);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xoff scenario",
        "description": "Every number with a dimension is a text with its unit: \"10Gbps\", \"1us\", \"300KB\" (KB = 1000 bytes, KiB = 1024 bytes), \"100m\".",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Adds the sections directly below `path`.
fn below(
    path: &str,
    all: &[SectionSpec],
    properties: &mut Map<String, Value>,
    required: &mut Vec<String>,
) {
    for spec in all.iter().filter(|s| !s.path.is_empty() && s.parent() == path) {
        properties.insert(spec.name().into(), section(spec, all));
        if spec.required {
            required.push(spec.name().into());
        }
    }
    // A section may be deeper than any declared one: `[a.b]` without `[a]`.
    for name in undeclared(path, all) {
        let (mut inner, mut inner_required) = (Map::new(), Vec::new());
        below(&super::resolved::join(path, name), all, &mut inner, &mut inner_required);
        properties
            .insert(name.into(), json!({"type": "object", "properties": inner, "required": inner_required, "additionalProperties": false}));
    }
}

/// Names directly below `path` that only deeper sections mention.
fn undeclared<'s>(path: &str, all: &'s [SectionSpec]) -> Vec<&'s str> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    let mut names: Vec<&str> = all
        .iter()
        .filter_map(|s| s.path.strip_prefix(&prefix))
        .filter_map(|rest| rest.split_once('.'))
        .map(|(name, _)| name)
        .collect();
    names.dedup();
    names.retain(|n| !all.iter().any(|s| s.path.strip_prefix(&prefix) == Some(n)));
    names
}

fn section(spec: &SectionSpec, all: &[SectionSpec]) -> Value {
    let object = |kind: Option<&KindSpec>| {
        let tables: Vec<&'static [ParamSpec]> =
            spec.specs.iter().chain(kind.iter().flat_map(|k| &k.specs)).copied().collect();
        let (mut properties, mut required) = keys(&tables);
        if let (Some(kind), Some(kinds)) = (kind, &spec.kinds) {
            let names: Vec<&str> = kinds.names_of(kind.name).collect();
            let name = if let [name] = names[..] {
                json!({"const": name})
            } else {
                json!({"enum": names})
            };
            properties.insert(kinds.key.into(), name);
            properties[kinds.key]["description"] = json!(kind.doc);
            if kinds.default != Some(kind.name) {
                required.push(kinds.key.into());
            }
        }
        for other in spec.kinds.iter().flat_map(|k| &k.list) {
            // Keys of any kind may stand in a section of their own, so that one file can hold
            // several.
            let tables: Vec<&'static [ParamSpec]> =
                spec.specs.iter().chain(&other.specs).copied().collect();
            let doc = format!("Keys of the kind {}.", other.name);
            properties
                .entry(other.name)
                .or_insert(json!({"type": "object", "description": doc, "properties": keys(&tables).0, "additionalProperties": false}));
        }
        below(spec.path, all, &mut properties, &mut required);
        let doc = kind.map_or(spec.doc, |k| k.doc);
        json!({"type": "object", "description": doc, "properties": properties, "required": required, "additionalProperties": false})
    };
    let one = match &spec.kinds {
        None => object(None),
        Some(kinds) => {
            let branches: Vec<Value> = kinds.list.iter().map(|k| object(Some(k))).collect();
            json!({"description": spec.doc, "type": "object", "oneOf": branches})
        }
    };
    if spec.repeat { json!({"type": "array", "description": spec.doc, "items": one}) } else { one }
}

fn keys(tables: &[&'static [ParamSpec]]) -> (Map<String, Value>, Vec<String>) {
    let all = || tables.iter().flat_map(|t| t.iter());
    let mut properties: Map<String, Value> = all().map(|s| (s.key.to_owned(), key(s))).collect();
    for (spec, old) in all().flat_map(|s| s.renamed_from.iter().map(move |old| (s, *old))) {
        let mut v = key(spec);
        v["description"] = json!(format!("Old name of '{}'.", spec.key));
        v["deprecated"] = json!(true);
        properties.insert(old.to_owned(), v);
    }
    let required =
        all().filter(|s| s.default.is_none() && !s.optional).map(|s| s.key.to_owned()).collect();
    (properties, required)
}

fn key(spec: &ParamSpec) -> Value {
    let mut v = match spec.kind {
        Kind::Rate => quantity("([kKmMgGtT]?(bps|b/s|[bB]it(/s)?)|[kKMgGtT])"),
        Kind::Bytes => quantity("(B|[kKMGT]B|[KMGT]iB)"),
        Kind::Span => quantity("(ps|ns|us|µs|μs|ms|s)"),
        Kind::Length => quantity("(mm|cm|m|km)"),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::Float => json!({"type": "number"}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Text => json!({"type": "string"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
    };
    let source =
        if spec.source.is_empty() { String::new() } else { format!(" Source: {}.", spec.source) };
    let doc = spec.doc.trim_end_matches('.');
    v["description"] = json!(format!("{doc}.{source}"));
    if let Some(default) = spec.default {
        v["default"] = match spec.kind {
            Kind::Count | Kind::Integer | Kind::Float | Kind::Flag => {
                serde_json::from_str(&default.replace('_', "")).unwrap_or(json!(default))
            }
            Kind::Texts => json!(default.split('\n').filter(|s| !s.is_empty()).collect::<Vec<_>>()),
            _ => json!(default),
        };
    }
    v
}

fn quantity(units: &str) -> Value {
    json!({"type": "string", "pattern": format!("{NUMBER}{units}\\s*$")})
}

//! The JSON answers in Markdown, from their schema: what `xoff schema answers --markdown` prints.

use std::fmt::Write;

use serde_json::{Map, Value};

/// A row for each command, a section for each type.
pub fn page(all: &Value) -> String {
    let (defs, answers) = (&all["$defs"], &all["answers"]);
    let mut p = String::from("| command | answer |\n|---|---|\n");
    for a in super::ANSWERS {
        let answer = &answers[a.name];
        let about = name_of(answer)
            .and_then(|name| defs[name]["description"].as_str())
            .unwrap_or("Claims that can be run.");
        let _ = writeln!(p, "| {} | {}: {} |", a.command, kind(answer), cell(about));
    }
    for (name, of) in defs.as_object().into_iter().flatten() {
        section(&mut p, name, of);
    }
    p
}

/// The type that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn section(p: &mut String, name: &str, of: &Value) {
    let _ = write!(p, "\n## {name}\n\n{}\n", cell(of["description"].as_str().unwrap_or_default()));
    fields(p, of);
    let Some(variants) = of["oneOf"].as_array() else { return };
    p.push_str("\n| one of | meaning |\n|---|---|\n");
    for v in variants {
        let more: Vec<String> = entries(v)
            .filter(|(_, f)| f.get("const").is_none())
            .map(|(n, f)| format!("`{n}`: {}", kind(f)))
            .collect();
        let more =
            if more.is_empty() { String::new() } else { format!(", with {}", more.join(", ")) };
        let word = entries(v).find(|(_, f)| f.get("const").is_some());
        let word = word
            .map_or_else(|| value(&v["const"]), |(n, f)| format!("`{n}`: {}", value(&f["const"])));
        let texts: Vec<&str> = v["description"].as_str().into_iter().collect();
        let texts = texts.into_iter().map(cell).chain(
            entries(v)
                .filter_map(|(n, f)| Some(format!("`{n}`: {}", cell(f["description"].as_str()?)))),
        );
        let _ = writeln!(p, "| {word}{more} | {} |", texts.collect::<Vec<_>>().join("<br>"));
    }
}

fn entries(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of["properties"].as_object().into_iter().flat_map(Map::iter)
}

fn fields(p: &mut String, of: &Value) {
    if entries(of).next().is_none() {
        return;
    }
    p.push_str("\n| field | type | meaning |\n|---|---|---|\n");
    let required =
        |name: &str| of["required"].as_array().is_some_and(|r| r.iter().any(|r| r == name));
    for (name, field) in entries(of) {
        let absent = if required(name) { "" } else { ", or absent" };
        let _ = writeln!(
            p,
            "| `{name}` | {}{absent} | {} |",
            kind(field),
            cell(field["description"].as_str().unwrap_or_default())
        );
    }
}

/// The type of a field, for people.
fn kind(of: &Value) -> String {
    if let Some(name) = name_of(of) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(any) = of["anyOf"].as_array() {
        return any.iter().map(kind).collect::<Vec<_>>().join(", ");
    }
    match &of["type"] {
        Value::String(word) => one(word, of),
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .map(|w| one(w, of))
            .collect::<Vec<_>>()
            .join(", "),
        _ => "any".into(),
    }
}

fn one(word: &str, of: &Value) -> String {
    match word {
        "string" => "text".into(),
        "integer" => "whole number".into(),
        "boolean" => "`true`, `false`".into(),
        "array" => match of["prefixItems"].as_array() {
            Some(items) => {
                format!("list ({})", items.iter().map(kind).collect::<Vec<_>>().join("; "))
            }
            None => format!("list of {}", kind(&of["items"])),
        },
        "object" => match &of["additionalProperties"] {
            Value::Object(each) => {
                format!("object by name: {}", kind(&Value::Object(each.clone())))
            }
            _ => "object by name".into(),
        },
        other => other.into(),
    }
}

fn value(of: &Value) -> String {
    of.as_str().map_or_else(|| of.to_string(), |text| format!("`{text}`"))
}

/// In a cell: one line, and a bar would end it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

//! The keys of scenarios in Markdown, from their declarations: what `xoff schema --markdown`
//! prints.

use std::fmt::Write;

use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_units::params::{Kind, ParamSpec};

/// Tables of all sections, kinds and keys.
pub fn page(sections: &[SectionSpec]) -> String {
    let mut p = String::from("| section | contents |\n|---|---|\n");
    for s in sections {
        let _ = writeln!(p, "| [`{}`](#{}) | {} |", s.header(), anchor(&heading(s)), text(s.doc));
    }
    sections.iter().for_each(|s| section(&mut p, s));
    p
}

fn heading(s: &SectionSpec) -> String {
    if s.path.is_empty() { "At the top".into() } else { format!("`{}`", s.header()) }
}

/// Name of a heading in a link.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>();
    kept.trim().replace(' ', "-")
}

fn section(p: &mut String, s: &SectionSpec) {
    let times = if s.repeat { " Any number of times." } else { "" };
    let needed = if s.required { " Required." } else { "" };
    let _ = write!(p, "\n## {}\n\n{}{times}{needed}\n", heading(s), text(s.doc));
    keys(p, &s.specs);
    let Some(kinds) = &s.kinds else { return };
    let default = kinds.default.map_or("required".to_owned(), |d| format!("`{d}` by default"));
    let names: Vec<String> = kinds
        .list
        .iter()
        .map(|k| format!("[`{}`](#{})", k.name, anchor(&kind_heading(s, k))))
        .collect();
    let _ =
        write!(p, "\n`{}` chooses one of these ({default}): {}.\n", kinds.key, names.join(", "));
    for kind in &kinds.list {
        let _ = write!(p, "\n### {}\n\n{}", kind_heading(s, kind), sentence(kind.doc));
        let aliases: Vec<String> =
            kinds.names_of(kind.name).skip(1).map(|alias| format!("`{alias}`")).collect();
        if !aliases.is_empty() {
            let _ = write!(p, " Other names of this kind: {}.", aliases.join(", "));
        }
        if let Some(name) = mechanism(s, kind) {
            let _ = write!(p, " [How it works, state and deviations](mechanisms/{name}.md).");
        }
        p.push('\n');
        keys(p, &kind.specs);
    }
}

fn kind_heading(s: &SectionSpec, kind: &KindSpec) -> String {
    format!("{} {}", s.path, kind.name)
}

/// The page of a kind that is a mechanism.
fn mechanism<'k>(s: &SectionSpec, kind: &'k KindSpec) -> Option<&'k str> {
    (matches!(s.path, "flow_control" | "detection" | "rate_control") && kind.name != "none")
        .then_some(kind.name)
}

fn keys(p: &mut String, tables: &[&'static [ParamSpec]]) {
    if tables.iter().all(|t| t.is_empty()) {
        return;
    }
    p.push_str("\n| key | takes | default | meaning | source |\n|---|---|---|---|---|\n");
    for spec in tables.iter().flat_map(|t| t.iter()) {
        let before: Vec<String> = spec.renamed_from.iter().map(|old| format!("`{old}`")).collect();
        let before = if before.is_empty() {
            String::new()
        } else {
            format!(" Earlier name: {}.", before.join(", "))
        };
        let _ = writeln!(
            p,
            "| `{}` | {} | {} | {}{before} | {} |",
            spec.key,
            takes(spec.kind),
            default(spec),
            sentence(spec.doc),
            text(spec.source)
        );
    }
}

fn takes(kind: Kind) -> String {
    match kind {
        Kind::Rate => "rate".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Span => "time".into(),
        Kind::Length => "length".into(),
        Kind::Count => "count".into(),
        Kind::Integer => "whole number".into(),
        Kind::Float => "number".into(),
        Kind::Flag => "`true`, `false`".into(),
        Kind::Choice(words) => {
            words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Text => "text".into(),
        Kind::Texts => "list".into(),
    }
}

fn default(spec: &ParamSpec) -> String {
    match spec.default {
        Some("") => "empty".into(),
        Some(text) => format!("`{}`", text.replace('\n', ", ")),
        None if spec.optional => "optional".into(),
        None => "**required**".into(),
    }
}

/// As a sentence of its own.
fn sentence(doc: &str) -> String {
    let mut letters = doc.trim().trim_end_matches('.').chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let rest = letters.as_str();
    // A symbol or a value that opens the sentence stays as it is.
    let word: String =
        doc.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let plain = (word.len() > 1 || word == "a") && word.chars().all(|c| c.is_ascii_lowercase());
    text(&format!("{}{rest}.", if plain { first } else { doc.trim().chars().take(1).collect() }))
}

/// In a cell: a bar would end it, an angle bracket would open a tag.
fn text(doc: &str) -> String {
    let mut code = false;
    let escaped = doc.trim().chars().map(|c| {
        code ^= c == '`';
        match c {
            '|' => "\\|".to_owned(),
            '<' if !code => "&lt;".to_owned(),
            '*' | '_' if !code => format!("\\{c}"),
            c => c.to_string(),
        }
    });
    escaped.collect()
}

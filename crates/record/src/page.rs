//! The tables in Markdown, from their declarations: what `xoff schema tables --markdown` prints.

use std::fmt::Write;

use crate::export::FORMATS;
use xoff_rows::{ColumnSpec, FABRIC, Kind, NETWORK, TableSpec, Word};

/// The formats of tables, then all tables of a network and of a scheduled fabric.
pub fn page() -> String {
    let mut p = String::from("| format | what it is |\n|---|---|\n");
    for f in FORMATS {
        let _ = writeln!(p, "| `{}` | {} |", f.name, f.about);
    }
    section(&mut p, "A network", "A scenario with `[topology]`.", NETWORK);
    section(&mut p, "A scheduled fabric", "A scenario with `[scheduled_fabric]`.", FABRIC);
    p
}

fn section(p: &mut String, title: &str, about: &str, tables: &[&TableSpec]) {
    let _ = write!(p, "\n## {title}\n\n{about}\n");
    tables.iter().for_each(|t| table(p, t));
}

fn table(p: &mut String, t: &TableSpec) {
    let _ = write!(
        p,
        "\n### {}\n\n{}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
        t.name,
        t.about.trim()
    );
    for c in t.columns {
        let null = if c.nullable { ", null" } else { "" };
        let _ = writeln!(p, "| `{}` | {}{null} | {} | {} |", c.name, kind(c), c.unit, meaning(c));
    }
}

/// Type of a column, without its nulls.
pub fn kind(c: &ColumnSpec) -> &'static str {
    match c.kind {
        Kind::U8 => "u8",
        Kind::U16 => "u16",
        Kind::U32 => "u32",
        Kind::U64 => "u64",
        Kind::I64 => "i64",
        Kind::F64 => "f64",
        Kind::Node | Kind::Port | Kind::Label | Kind::Word(_) | Kind::Message => "text",
    }
}

fn meaning(c: &ColumnSpec) -> String {
    let about = c.about.trim().replace('|', "\\|");
    let Kind::Word(words) = c.kind else { return about };
    let words: Vec<String> =
        words.iter().map(|Word { word, about }| format!("`{word}`: {about}")).collect();
    format!("{about}<br>{}", words.join("<br>"))
}

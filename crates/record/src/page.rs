//! The page about the tables, `docs/tables.md`, from their declarations.

use std::fmt::Write;

use crate::export::FORMATS;
use xoff_rows::{ColumnSpec, FABRIC, Kind, NETWORK, TableSpec, Word};

/// The whole page, as it has to stand in `docs/tables.md`.
pub fn page() -> String {
    let mut p = String::from(INTRO);
    for f in FORMATS {
        let _ = writeln!(p, "| `{}` | {} |", f.name, f.about);
    }
    section(&mut p, "A network", "A scenario with `[topology]`.", NETWORK);
    section(&mut p, "A scheduled fabric", "A scenario with `[scheduled_fabric]`.", FABRIC);
    p
}

const INTRO: &str = "\
# Tables

For those who read the results of a run with Polars, pandas, DuckDB or R: its tables, column by column.

This page is generated from the declarations in `crates/rows/src`; `crates/record/tests/page.rs` compares it and renews it.

- Times are picoseconds since the start of the run (`*_ps`), sizes bytes, rates bit/s.
- A port is directed. `H1->S1` as an egress is H1's queue towards S1; as an ingress it is S1's buffer for frames from H1.
- Text columns are dictionaries (Polars: categoricals). A column with *null* in its type may have nulls.
- Every table exists after a run; a table without records has no rows.
- The metadata of each Parquet file names the table, the version of its columns, the version of xoff and the hash of the scenario.

The option `--format` of `xoff run` and `xoff.run(..., format=...)` choose the format of the files:

| format | what it is |
|---|---|
";

fn section(p: &mut String, title: &str, about: &str, tables: &[&TableSpec]) {
    let _ = write!(p, "\n## {title}\n\n{about}\n");
    tables.iter().for_each(|t| table(p, t));
}

fn table(p: &mut String, t: &TableSpec) {
    let before = t.renamed_from.map(|old| format!(" Earlier name: `{old}`.")).unwrap_or_default();
    let _ = write!(p, "\n### {}\n\n{}{before}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", t.name, t.about.trim());
    for c in t.columns {
        let _ = writeln!(p, "| `{}` | {} | {} | {} |", c.name, kind(c), c.unit, meaning(c));
    }
}

fn kind(c: &ColumnSpec) -> String {
    let name = match c.kind {
        Kind::U8 => "u8",
        Kind::U16 => "u16",
        Kind::U32 => "u32",
        Kind::U64 => "u64",
        Kind::I64 => "i64",
        Kind::F64 => "f64",
        Kind::Node | Kind::Port | Kind::Label | Kind::Word(_) | Kind::Message => "text",
    };
    if c.nullable { format!("{name}, null") } else { name.into() }
}

fn meaning(c: &ColumnSpec) -> String {
    let before = c.renamed_from.map(|old| format!(" Earlier name: `{old}`.")).unwrap_or_default();
    let about = format!("{}{before}", c.about.trim().replace('|', "\\|"));
    let Kind::Word(words) = c.kind else { return about };
    let words: Vec<String> = words.iter().map(|Word { word, about }| format!("`{word}`: {about}")).collect();
    format!("{about}<br>{}", words.join("<br>"))
}

//! A [`Table`] as GitHub Markdown, for documentation pages.

use crate::{Align, Cell, Table};

impl Table {
    /// GitHub Markdown: caption, heading, rule, rows. Pipes, line breaks and HTML in cells are
    /// escaped.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        if let Some(caption) = &self.caption {
            out.push_str(&escape(caption));
            out.push_str("\n\n");
        }
        let mut line = |cells: Vec<String>| {
            out.push_str("| ");
            out.push_str(&cells.join(" | "));
            out.push_str(" |\n");
        };
        line(self.columns.iter().map(|column| escape(&column.name)).collect());
        line(self.columns.iter().map(|column| rule(column.align).to_owned()).collect());
        for row in &self.rows {
            line(
                (0..self.columns.len()).map(|i| row.get(i).map(cell).unwrap_or_default()).collect(),
            );
        }
        out
    }
}

fn rule(align: Align) -> &'static str {
    match align {
        Align::Left => "---",
        Align::Right => "---:",
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape(text),
        Cell::Code(text) => code(text),
    }
}

/// A code span whose fence is longer than any run of backticks inside. A pipe still ends a cell
/// there, hence `\|`.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", one_line(text).replace('|', "\\|"))
}

/// Text between backticks stays code; elsewhere what Markdown or HTML would act upon is escaped.
fn escape(text: &str) -> String {
    let text = one_line(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of parts means that every backtick has its partner.
    let paired = parts.len() % 2 == 1;
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        if paired && i % 2 == 1 {
            out.push_str(&code(part));
            continue;
        }
        if !paired && i > 0 {
            out.push_str("\\`");
        }
        for c in part.chars() {
            match c {
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                '|' | '\\' | '*' | '_' | '[' | ']' | '~' => out.extend(['\\', c]),
                _ => out.push(c),
            }
        }
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

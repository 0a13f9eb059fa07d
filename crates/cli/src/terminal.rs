//! What the terminal looks like, and what goes to stderr. A closed stderr harms nobody.

use std::io::Write;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets};
use console::Term;
use xoff_scenario::{Place, Problems, Source};

/// Columns of a table when the output is no terminal.
const COLUMNS: u16 = 120;

/// A message for people.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Errors or warnings, drawn.
pub fn problems(problems: &Problems) {
    if !problems.is_empty() {
        note(problems.render(console::colors_enabled_stderr()).trim_end());
    }
}

/// The value of an option, as a place for a problem.
pub fn option(name: &str, value: &str) -> Place {
    let text = format!("{name} {value}");
    let span = name.len() + 1..text.len();
    Source::setting("command line", text).place(span)
}

/// Columns of the terminal behind stdout.
pub fn columns() -> u16 {
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    Term::stdout().size_checked().map(|(_, columns)| columns).or_else(asked).unwrap_or(COLUMNS).clamp(40, 160)
}

/// A table with a heading, as wide as the terminal allows.
pub fn table<'h>(heading: impl IntoIterator<Item = &'h str>) -> Table {
    let mut table = pairs();
    table.set_header(heading);
    for line in [TableComponent::HeaderLines, TableComponent::MiddleHeaderIntersections] {
        table.set_style(line, '─');
    }
    table
}

/// Keeps words whole: no column gets narrower than its longest word.
pub fn keep_words(table: &mut Table) {
    let longest = |text: String| text.split_whitespace().map(console::measure_text_width).max().unwrap_or(0);
    for i in 0..table.column_count() {
        let header = table.header().and_then(|h| h.cell_iter().nth(i)).map(|c| longest(c.content())).unwrap_or(0);
        let cells = table.row_iter().filter_map(|r| r.cell_iter().nth(i)).map(|c| longest(c.content())).max().unwrap_or(0);
        if let Some(column) = table.column_mut(i) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(header.max(cells) as u16 + 2)));
        }
    }
}

/// Names and values, without lines.
pub fn pairs() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(columns());
    table
}

/// Draws a table without the blanks that end its lines.
pub fn draw(table: &Table) -> String {
    table.lines().map(|l| l.trim_end().to_owned() + "\n").collect()
}

/// A paragraph, broken into lines.
pub fn wrapped(text: &str) -> String {
    let mut t = pairs();
    t.add_row([text]);
    if let Some(column) = t.column_mut(0) {
        column.set_padding((0, 0));
    }
    format!("\n{}", draw(&t))
}

/// A good answer in green.
pub fn good(text: &str) -> String {
    console::style(text).green().bold().to_string()
}

/// An answer that leaves something open, in yellow.
pub fn caution(text: &str) -> String {
    console::style(text).yellow().bold().to_string()
}

/// A bad answer in red.
pub fn bad(text: &str) -> String {
    console::style(text).red().bold().to_string()
}

/// `12,345,678`.
pub fn grouped(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

/// `1 flow`, `2 flows`; for words that take an s.
pub fn counted(n: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(n), if n == 1 { "" } else { "s" })
}

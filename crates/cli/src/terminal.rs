//! Layout of the terminal, and output to stderr. A closed stderr is no error.

use std::borrow::Cow;
use std::io::Write;

use comfy_table::{
    Cell, ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets,
};
use console::Term;
#[cfg(not(target_family = "wasm"))]
use indicatif::ProgressStyle;
use xoff_scenario::{Canvas, Place, Problem, Problems, Source};
use xoff_units::grouped;

use crate::caller;

/// Columns of a table when the output is no terminal.
const COLUMNS: u16 = 80;

/// A message for people.
pub fn note(text: &str) {
    if let Some(caller) = caller::present() {
        return caller.warn(Problem::new(text, "").warning());
    }
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(text));
}

/// Errors or warnings, drawn.
pub fn problems(problems: &Problems) {
    if let Some(caller) = caller::present() {
        return problems.iter().for_each(|p| caller.warn(p.clone()));
    }
    if !problems.is_empty() {
        let canvas = Canvas {
            color: console::colors_enabled_stderr(),
            unicode: unicode(),
            columns: columns().min(110).into(),
        };
        note(problems.render_on(canvas).trim_end());
    }
}

/// True if the locale shows more than ASCII. As everywhere in POSIX, the first of these variables
/// that is set decides, and none of them is the locale C.
pub fn unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    set.is_some_and(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// Lines and signs beyond ASCII, with the replacement for other terminals.
const SIGNS: [(char, &str); 9] = [
    ('─', "-"),
    ('━', "="),
    ('╸', ">"),
    ('│', "|"),
    ('…', "..."),
    ('µ', "u"),
    ('×', "x"),
    ('±', "+-"),
    ('→', "->"),
];

/// A text as the locale can show it. Names that a user wrote stay as they are.
pub fn shown(text: &str) -> Cow<'_, str> {
    if unicode() || text.is_ascii() {
        return text.into();
    }
    let sign = |c: char| SIGNS.iter().find(|(sign, _)| *sign == c).map(|(_, plain)| *plain);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match sign(c) {
            Some(plain) => out.push_str(plain),
            None => out.push(c),
        }
    }
    out.into()
}

#[cfg(not(target_family = "wasm"))]
/// Draws a progress bar with characters that the locale can show.
pub fn bar(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    if unicode() {
        style.progress_chars("━╸ ")
    } else {
        style.progress_chars("=> ").tick_chars("-\\|/ ")
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
    Term::stdout()
        .size_checked()
        .map(|(_, columns)| columns)
        .or_else(asked)
        .unwrap_or(COLUMNS)
        .clamp(40, 160)
}

/// A table with a heading, as wide as the terminal allows.
pub fn table<'h>(heading: impl IntoIterator<Item = &'h str>) -> Table {
    let mut table = pairs();
    table.set_header(heading);
    for line in [TableComponent::HeaderLines, TableComponent::MiddleHeaderIntersections] {
        table.set_style(line, if unicode() { '─' } else { '-' });
    }
    table
}

/// Names and values, without lines.
pub fn pairs() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns());
    table
}

/// Widest label of a table without a heading that stays on one line.
const LABEL: usize = 24;

/// No column gets narrower than its longest word: a broken name cannot be copied. If the terminal
/// is too narrow for that, lines get longer than it. Labels, the first column of a table without a
/// heading, stay whole.
fn keep_words(table: &mut Table, padding: u16) {
    let labels = table.header().is_none();
    for i in 0..table.column_count() {
        let longest = |text: String| {
            let whole = console::measure_text_width(&text);
            let words = text.split([' ', '\n']).map(console::measure_text_width).max().unwrap_or(0);
            if labels && i == 0 && whole <= LABEL { whole } else { words }
        };
        let header = table
            .header()
            .and_then(|h| h.cell_iter().nth(i))
            .map(|c| longest(c.content()))
            .unwrap_or(0);
        let cells = table
            .row_iter()
            .filter_map(|r| r.cell_iter().nth(i))
            .map(|c| longest(c.content()))
            .max()
            .unwrap_or(0);
        if let Some(column) = table.column_mut(i) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
                header.max(cells) as u16 + if i == 0 { 2 } else { padding },
            )));
        }
    }
}

/// Draws a table without the blanks that end its lines; columns move together if it is wider than
/// the terminal.
pub fn draw(table: &Table) -> String {
    let mut table = bound(table);
    let drawn = |table: &mut Table, padding| {
        keep_words(table, padding);
        table.lines().map(|l| ruled(l.trim_end()).replace(BOUND, " ") + "\n").collect::<String>()
    };
    let wide = drawn(&mut table, 2);
    if wide.lines().all(|l| console::measure_text_width(l) <= columns().into()) {
        return wide;
    }
    table.column_iter_mut().skip(1).for_each(|c| _ = c.set_padding((0, 1)));
    drawn(&mut table, 1)
}

/// A table whose columns may be too wide for the terminal: those that do not fit follow in further
/// tables, which repeat the first column.
pub fn stacked(heading: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |text: &str| console::measure_text_width(text);
    let width = |i: usize| {
        rows.iter().map(|r| cell(&r[i])).chain([cell(heading[i])]).max().unwrap_or(0) + 2
    };
    let mut parts: Vec<Vec<usize>> = vec![vec![0]];
    let mut used = width(0);
    for i in 1..heading.len() {
        if used + width(i) > columns().into() && parts[parts.len() - 1].len() > 1 {
            parts.push(vec![0]);
            used = width(0);
        }
        used += width(i);
        parts.last_mut().expect("one part at least").push(i);
    }
    let part = |shown: &Vec<usize>| {
        let mut t = table(shown.iter().map(|&i| heading[i]));
        rows.iter().for_each(|r| _ = t.add_row(shown.iter().map(|&i| &r[i])));
        draw(&t)
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

/// A line of a table; the rule below its heading ends with the terminal.
fn ruled(line: &str) -> &str {
    let end = line
        .char_indices()
        .nth(columns().into())
        .filter(|_| line.chars().all(|c| c == '─' || c == '-'));
    end.map_or(line, |(end, _)| &line[..end])
}

/// Stands for the space between a number and its unit, at which no line breaks.
const BOUND: &str = "\u{a0}";
const UNITS: [&str; 22] = [
    "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "ps", "ns", "us", "ms", "s", "min", "h", "m", "km",
    "%", "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s",
];

/// Table with each number bound to its unit.
fn bound(table: &Table) -> Table {
    let text = |cell: &Cell| {
        let (mut text, mut after_digit) = (String::new(), false);
        for part in cell.content().split_inclusive(' ') {
            if after_digit && UNITS.contains(&part.trim_end_matches([' ', ')', ',', ';', '.'])) {
                text.pop();
                text += BOUND;
            }
            text += part;
            after_digit =
                part.ends_with(' ') && part.trim_end().ends_with(|c: char| c.is_ascii_digit());
        }
        text
    };
    let mut out = table.clone();
    out.row_iter_mut().for_each(|row| *row = row.cell_iter().map(text).collect::<Vec<_>>().into());
    out
}

/// A paragraph, broken into lines.
pub fn wrapped(text: &str) -> String {
    format!("\n{}", text.lines().map(|line| hanging(line, "")).collect::<String>())
}

/// Wraps a line. Each line but the first begins with `indent`.
pub fn hanging(line: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    let start = line.len() - line.trim_start().len();
    out += &line[..start];
    for word in line.split_whitespace() {
        let wide = console::measure_text_width(word);
        if at > 0 && at + 1 + wide > usize::from(columns()) {
            out += &format!("\n{indent}{word}");
            at = indent.len() + wide;
        } else {
            if at > 0 {
                out.push(' ');
            }
            out += word;
            at = if at == 0 { start + wide } else { at + 1 + wide };
        }
    }
    out + "\n"
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

/// A word of a command, so that a shell reads it as one.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,=@%+-#".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''")).into()
    }
}

/// Commands that lead on from an answer, one a line.
pub fn next(commands: &[String]) -> String {
    commands
        .iter()
        .enumerate()
        .map(|(i, c)| format!("{} {c}\n", if i == 0 { "Next:" } else { "     " }))
        .collect()
}

/// `1 flow`, `2 flows`; for words that take an s.
pub fn counted(n: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a switch with long counters, at 80 columns: nothing is left out, and no line is
    /// longer than the terminal.
    #[test]
    fn a_wide_table_is_stacked() {
        let heading = [
            "Port",
            "Interface",
            "In",
            "Out",
            "Rate in",
            "Rate out",
            "Queue",
            "Control",
            "Dropped",
            "Refused",
            "Storms",
        ];
        let row = |port: &str| {
            let cells = [
                "x-s1-s2",
                "12,345,678",
                "12,345,679",
                "532.8 Mb/s",
                "532.9 Mb/s",
                "892.5 KB",
                "1,515 / 1,516",
                "17",
                "18",
                "19",
            ];
            [port].into_iter().chain(cells).map(str::to_owned).collect::<Vec<_>>()
        };
        let rows = [row("S1->S2"), row("S1->H1")];
        let text = stacked(&heading, &rows);
        assert!(text.lines().all(|l| console::measure_text_width(l) <= columns().into()), "{text}");
        for cell in heading.iter().copied().chain(rows[0].iter().map(String::as_str)) {
            assert!(
                text.contains(&cell.replace(' ', BOUND)) || text.contains(cell),
                "{cell}:\n{text}"
            );
        }
        assert!(text.matches("S1->H1").count() > 1, "each part repeats the port:\n{text}");
        let narrow = stacked(&heading[..3], &rows.map(|r| r[..3].to_vec()));
        assert_eq!(narrow.matches("S1->H1").count(), 1, "{narrow}");
    }

    /// Labels of pairs stay on one line; their values are wrapped.
    #[test]
    fn labels_stay_whole() {
        let mut t = pairs();
        t.add_row(["Not taken over", &"word ".repeat(60)]);
        t.add_row(["Forwarding loops", "none"]);
        let text = draw(&t);
        let on_one_line = |label: &str, value: &str| {
            text.lines().any(|l| l.trim().starts_with(label) && l.contains(value))
        };
        assert!(
            on_one_line("Not taken over ", " word word")
                && on_one_line("Forwarding loops ", " none"),
            "{text}"
        );
        assert!(text.lines().all(|l| console::measure_text_width(l) <= columns().into()), "{text}");
    }

    #[test]
    fn a_shell_reads_a_word_as_one() {
        assert_eq!(
            ["out/ring", "S1:S2#1", "a b", "S1->S2", "it's", ""].map(word),
            ["out/ring", "S1:S2#1", "'a b'", "'S1->S2'", "'it'\\''s'", "''"]
        );
    }
}

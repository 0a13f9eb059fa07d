//! The tables of docs/proof.md (docs/proof/*.csv), and the counter-examples, from verdicts.

use std::fmt::Write as _;

use xoff_units::grouped;

use crate::faults::Faults;
use crate::link::Link;
use crate::retry::{self, Hits, RetryLink};
use crate::setups::{SETUPS, Setup};
use crate::verdict::{System, Verdict};

/// A line of cells, each in quotes. No cell contains one.
fn line(cells: &[String]) -> String {
    format!("\"{}\"", cells.join("\",\""))
}

/// Heading of a table of verdicts, by the name of its properties.
pub fn headings(of: &str, properties: &[&str]) -> String {
    let cells = [&[of, "faults", "states"], properties, &["counter-examples"]].concat();
    line(&cells.into_iter().map(str::to_owned).collect::<Vec<_>>())
}

/// A row of a table: a word for each property, and a hash of the counter-examples.
fn row<S: System>(name: &str, faults: &str, every: usize, v: &Verdict) -> String {
    let word = |property| match (v.holds(property), v.complete) {
        (true, _) => "holds",
        (false, _) if v.broken.iter().any(|b| b.0 == property) => "broken",
        (false, _) => "not known",
    };
    let examples = counter_examples(name, faults, every, v);
    let hash = if examples.is_empty() {
        "-".to_owned()
    } else {
        format!("{:016x}", xoff_testing::hash(&examples))
    };
    let mut cells = vec![name.to_owned(), faults.to_owned(), grouped(v.states).to_string()];
    cells.extend(S::PROPERTIES.iter().map(|p| word(p).to_owned()));
    cells.push(hash);
    line(&cells)
}

/// The row of a flow control under some faults.
pub fn link_row(setup: &Setup, faults: Faults, v: &Verdict) -> String {
    row::<Link>(setup.name, faults.describe(), setup.bounds.every.into(), v)
}

/// The row of a link that repeats.
pub fn retry_row(setup: &retry::Setup, faults: Hits, v: &Verdict) -> String {
    row::<RetryLink>(setup.name, faults.describe(), 1, v)
}

/// The link of a setup in words.
fn link(setup: &Setup) -> String {
    let given: Vec<String> =
        setup.given.iter().map(|(key, value)| format!("`{key}={value}`")).collect();
    let derived = |key: &str| setup.given.iter().all(|(given, _)| *given != key);
    let resolved: Vec<String> = setup
        .law()
        .resolved()
        .into_iter()
        .filter(|(key, _)| derived(key))
        .map(|(key, value)| format!("`{key}={value}`"))
        .collect();
    let mut bounds: Vec<String> = Vec::new();
    let b = &setup.bounds;
    bounds.extend((b.every > 1).then(|| format!("a decision holds for {} ticks", b.every)));
    bounds.extend((setup.law().per_flow() && b.flows == 1).then(|| "one flow".into()));
    if b.greedy {
        bounds.push("the source always sends".into());
    }
    bounds.extend((b.filled > 0).then(|| format!("{} frames wait at the start", b.filled)));
    bounds.extend(b.standstill_max.map(|n| format!("the drain is blocked for at most {n} ticks")));
    bounds.push(b.ticks_max.map_or("runs of any length".into(), |n| format!("runs of {n} ticks")));
    bounds.extend(b.wraps.then(|| "counters are followed until they wrap".into()));
    let all = given.into_iter().chain(resolved).collect::<Vec<_>>().join(", ");
    line(&[
        setup.name.to_owned(),
        format!("{} frames", setup.frames),
        setup.spare.to_string(),
        all,
        bounds.join("; "),
    ])
}

/// All links with a flow control.
pub fn links() -> String {
    let heading = ["flow control", "buffer", "to spare", "parameters", "bounds"].map(str::to_owned);
    lines(std::iter::once(line(&heading)).chain(SETUPS.iter().map(link)))
}

/// All links that repeat.
pub fn retry_links() -> String {
    let row = |setup: &retry::Setup| {
        let given: Vec<String> =
            setup.given.iter().map(|(key, value)| format!("`{key}={value}`")).collect();
        line(&[setup.name.to_owned(), given.join(", ")])
    };
    let heading = ["link", "parameters"].map(str::to_owned);
    lines(std::iter::once(line(&heading)).chain(retry::SETUPS.iter().map(row)))
}

/// Rows as the text of a file.
pub fn lines(rows: impl Iterator<Item = String>) -> String {
    rows.map(|row| row + "\n").collect()
}

/// The shortest counter-example of each property that is broken; a line is `every` ticks.
pub fn counter_examples(name: &str, faults: &str, every: usize, v: &Verdict) -> String {
    let mut text = String::new();
    for (property, lines) in &v.broken {
        let _ = write!(text, "\n### {name}, {faults}: violates *{property}*\n\n```text\n");
        for (nth, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "{:>3}  {line}", nth * every);
        }
        text.push_str("```\n");
    }
    text
}

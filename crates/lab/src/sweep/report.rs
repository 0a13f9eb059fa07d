//! The report: one figure, one table, failures.

use xoff_report::{
    Align, Axis, Bar, BarGroup, Card, Cell as Shown, Figure, Mark, Panel, Report, Section, Table,
    Tone, Unit,
};

use crate::sweep::collect::Counts;
use crate::sweep::scenario::{COLUMNS, SHOWN};
use crate::sweep::summary::{Averaged, Interval, Summary};
use crate::sweep::{Plan, Value};

/// Categories next to each other in a panel; more become points.
const BARS_MAX: usize = 60;
/// Panels of the figure.
const PANELS_MAX: usize = 6;
/// Colours; more become one.
const GROUPS_MAX: usize = 8;
/// Combinations in a table of the report.
const ROWS_MAX: usize = 1000;
/// Failed runs that are listed.
const LISTED_MAX: usize = 100;

/// The columns to show: those of the plan, else those of the work that have a value which is not
/// zero everywhere.
pub(crate) fn shown<'s>(plan: &Plan, summary: &'s Summary) -> Vec<(usize, &'s Averaged)> {
    let has_value = |i: usize| summary.combinations.iter().any(|c| c.intervals[i].is_some());
    let differs = |i: usize| {
        summary.combinations.iter().any(|c| c.intervals[i].is_some_and(|v| v.value != 0.0))
    };
    let asked: Vec<&str> = plan.show.iter().map(String::as_str).collect();
    // What a caller measures itself is shown too.
    let more = summary
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .filter(|name| !COLUMNS.iter().any(|o| o.name == *name));
    let names: Vec<&str> =
        if asked.is_empty() { more.chain(SHOWN).collect() } else { asked.clone() };
    let found = names
        .iter()
        .filter_map(|name| summary.column(name))
        .filter(|&i| has_value(i) && (!asked.is_empty() || differs(i)));
    found.take(PANELS_MAX).map(|i| (i, &summary.columns[i])).collect()
}

fn words(v: &[Value]) -> String {
    let words: Vec<String> =
        v.iter().filter(|v| **v != Value::Null).map(Value::to_string).collect();
    if words.is_empty() { "all".into() } else { words.join(", ") }
}

fn bar(at: Option<Interval>) -> Bar {
    match at {
        None => Bar::new(f64::NAN),
        Some(i) if i.low == i.value && i.high == i.value => Bar::new(i.value),
        // Bars begin at zero, and so do their values.
        Some(i) => Bar::with_interval(i.value, i.low.max(0.0), i.high),
    }
}

/// A panel for each column: the first parameter in colours, the others along the axis.
pub(crate) fn figure(plan: &Plan, summary: &Summary) -> Figure {
    let mut figure = Figure::new(&plan.title).caption(format!(
        "Seeds for each combination: {}. Error bars are 95 % intervals.",
        plan.seeds.len()
    ));
    let columns = shown(plan, summary);
    let many = summary.combinations.len() > BARS_MAX;
    let groups = unique(summary.combinations.iter().map(|c| split(&c.values).0));
    let labels = if many {
        Vec::new()
    } else {
        unique(summary.combinations.iter().map(|c| split(&c.values).1))
    };
    let groups = if groups.len() > GROUPS_MAX { vec![Value::Null] } else { groups };
    let of = |group: &Value, label: &[Value]| {
        summary.combinations.iter().find(|c| split(&c.values) == (group.clone(), label.to_vec()))
    };
    let along = match summary.parameters.len() {
        0 | 1 => summary.parameters.join(""),
        _ => summary.parameters[1..].join(", "),
    };
    for (i, column) in columns {
        let axis = Axis::new(label(&column.name), column.unit.clone());
        let along = if many { "combination" } else { along.as_str() };
        let panel = Panel::new("", Axis::new(along, Unit::None), axis);
        let name = |group: &Value| {
            if *group == Value::Null { label(&column.name) } else { group.to_string() }
        };
        figure = figure.panel(if !many {
            let bars = groups.iter().map(|g| {
                let own = labels.iter().map(|l| bar(of(g, l).and_then(|c| c.intervals[i])));
                BarGroup::new(name(g), own).colour_by_kind()
            });
            panel.mark(Mark::bars(labels.iter().map(|l| words(l)), bars.collect::<Vec<_>>()))
        } else {
            panel.marks(groups.iter().map(|g| {
                let own = summary
                    .combinations
                    .iter()
                    .enumerate()
                    .filter(|(_, c)| *g == Value::Null || split(&c.values).0 == *g);
                Mark::points(
                    name(g),
                    own.filter_map(|(n, c)| Some((n as f64, c.intervals[i]?.value))),
                )
            }))
        });
    }
    figure
}

/// Distinct values, in the order in which they come.
fn unique<T: Clone + std::fmt::Debug>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    values.filter(|v| seen.insert(format!("{v:?}"))).collect()
}

/// Values shown by colour, and values on the axis.
fn split(values: &[Value]) -> (Value, Vec<Value>) {
    match values {
        [] => (Value::Null, Vec::new()),
        [one] => (Value::Null, vec![one.clone()]),
        [first, others @ ..] => (first.clone(), others.to_vec()),
    }
}

/// Name of a column without its unit, which the value has: `Throughput` of `throughput_bps`.
fn label(column: &str) -> String {
    let name = ["_bps", "_seconds", "_bytes", "_ps"]
        .iter()
        .fold(column.to_owned(), |name, unit| name.replace(unit, ""))
        .replace('_', " ");
    let first = name.chars().next().map_or(0, char::len_utf8);
    name[..first].to_uppercase() + &name[first..]
}

/// A value with its interval in words: `5.06 (5.031 to 5.088) Gb/s`.
pub(crate) fn in_words(column: &Averaged, at: Option<Interval>) -> String {
    let Some(i) = at else { return "-".into() };
    let [value, low, high] = [i.value, i.low, i.high].map(|v| column.unit.format(v));
    if i.n < 2 || (low == value && high == value) {
        return value;
    }
    let parts = [&value, &low, &high].map(|text| text.split_once(' '));
    match parts {
        [Some((v, unit)), Some((l, a)), Some((h, b))] if a == unit && b == unit => {
            format!("{v} ({l} to {h}) {unit}")
        }
        _ => format!("{value} ({low} to {high})"),
    }
}

/// The table of the columns to show.
pub(crate) fn table(plan: &Plan, summary: &Summary) -> Table {
    let columns = shown(plan, summary);
    let names = summary
        .parameters
        .iter()
        .cloned()
        .chain(["runs".into()])
        .chain(columns.iter().map(|(_, c)| label(&c.name)));
    let align = summary
        .parameters
        .iter()
        .map(|_| Align::Left)
        .chain(std::iter::repeat_n(Align::Right, columns.len() + 1));
    let mut table = Table::new(names).align(align).caption(summary.method());
    for c in &summary.combinations {
        let values = c.values.iter().map(Value::to_string).chain([c.done.to_string()]);
        table.push(
            values.chain(columns.iter().map(|&(i, column)| in_words(column, c.intervals[i]))),
        );
    }
    table
}

fn differences(plan: &Plan, summary: &Summary) -> Table {
    let columns = shown(plan, summary);
    let names =
        summary.parameters.iter().cloned().chain(columns.iter().map(|(_, c)| label(&c.name)));
    let mut table = Table::new(names).align(
        summary
            .parameters
            .iter()
            .map(|_| Align::Left)
            .chain(std::iter::repeat_n(Align::Right, columns.len())),
    );
    for c in summary.combinations.iter().skip(1) {
        table.push(
            c.values
                .iter()
                .map(Value::to_string)
                .chain(columns.iter().map(|&(i, column)| in_words(column, c.differences[i]))),
        );
    }
    table
}

fn shortened(mut table: Table) -> Table {
    table.rows.truncate(ROWS_MAX);
    table
}

/// The page.
pub(crate) fn page(
    plan: &Plan,
    summary: &Summary,
    counts: &Counts,
    failed: &[(usize, String, String)],
    hash: &str,
) -> Report {
    let tone = |bad: usize| if bad > 0 { Tone::Bad } else { Tone::Good };
    let title = if plan.title.is_empty() { "Sweep" } else { &plan.title };
    let figure = figure(plan, summary);
    let mut report = Report::new(title).lead(counts.headline()).cards([
        Card::new("Runs done", counts.done.to_string())
            .note(format!("of {}", counts.total))
            .tone(tone(counts.total - counts.done)),
        Card::new("Combinations", plan.combinations().to_string()),
        Card::new("Seeds each", plan.seeds.len().to_string()),
    ]);
    let mut results = Section::new("Results");
    if !figure.panels.is_empty() {
        results = results.figure(&figure);
    }
    let rest = summary.combinations.len().saturating_sub(ROWS_MAX);
    if rest > 0 {
        results = results
            .text(format!("The first {ROWS_MAX} combinations; {rest} more are in `table.csv`."));
    }
    report = report.section(results.table(shortened(table(plan, summary))));
    if summary.combinations.len() > 1 && plan.seeds.len() > 1 {
        let first = words(&summary.combinations[0].values);
        report = report.section(
            Section::new("Differences")
                .text(format!("To {first}, seed by seed."))
                .table(shortened(differences(plan, summary))),
        );
    }
    if !failed.is_empty() {
        let mut t = Table::new(["Run", "Values", "Error"]);
        failed
            .iter()
            .take(LISTED_MAX)
            .for_each(|(i, values, error)| t.push([i.to_string(), values.clone(), error.clone()]));
        let rest = failed.len().saturating_sub(LISTED_MAX);
        let text = if rest > 0 {
            format!("And {rest} more; all are in runs.parquet.")
        } else {
            String::new()
        };
        report = report.section(
            Section::new("Failed runs")
                .badge(Tone::Bad, failed.len().to_string())
                .table(t)
                .text(text),
        );
    }
    let plan_text = Table::new(["Plan"]).row([Shown::code(plan.source.text())]);
    report
        .details("The plan", plan_text)
        .provenance("xoff", xoff_run::VERSION)
        .provenance("runs.parquet", hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_its_unit_once() {
        let column = |unit| Averaged { name: "x".into(), is_share: false, unit };
        let words = |unit, value, low, high| {
            in_words(&column(unit), Some(Interval { value, low, high, n: 3 }))
        };
        assert_eq!(
            words(Unit::BitsPerSecond, 5.06e9, 5.031e9, 5.088e9),
            "5.06 (5.031 to 5.088) Gb/s"
        );
        assert_eq!(
            words(Unit::BitsPerSecond, 1.1e9, 0.9e9, 1.3e9),
            "1.1 Gb/s (900 Mb/s to 1.3 Gb/s)"
        );
        assert_eq!(words(Unit::Fraction, 1.0, 0.7225, 1.0), "100 (72.25 to 100) %");
        assert_eq!(words(Unit::None, 2.0, 1.0, 3.0), "2 (1 to 3)");
        assert_eq!(words(Unit::BitsPerSecond, 1.6012e9, 1.60121e9, 1.60119e9), "1.601 Gb/s");
        assert_eq!(in_words(&column(Unit::None), None), "-");
        assert_eq!(
            ["throughput_bps", "ingress_bytes_max", "paused_ps", "x"].map(label),
            ["Throughput", "Ingress max", "Paused", "X"]
        );
    }
}

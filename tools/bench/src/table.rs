//! The table next to targets and baseline, for the terminal and for the page.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::results::{Measured, Report, Row, Stat};

/// Headings of [`cells`].
pub const HEADINGS: [&str; 6] =
    ["Work", "Figure", "Target", "Measured", "Least .. greatest", "Met"];

/// A row as text.
pub fn cells(row: &Row) -> [String; 6] {
    let stat = row.measured.stat();
    let spread = |s: &Stat| match s.runs {
        0 | 1 => "1 run".to_owned(),
        n => format!("{} .. {} ({n} runs)", row.unit.show(s.min), row.unit.show(s.max)),
    };
    let met = match (row.target, stat) {
        (Some(t), Some(s)) => if t.met(s.median) { "yes" } else { "no" }.to_owned(),
        _ => "-".to_owned(),
    };
    let missing = match &row.measured {
        Measured::Missing(why) => why.clone(),
        Measured::Runs(_) => String::new(),
    };
    [
        row.work.clone(),
        row.figure.clone(),
        row.target.map_or("-".into(), |t| t.show(row.unit)),
        stat.map_or(missing, |s| row.unit.show(s.median)),
        stat.map_or("-".into(), spread),
        met,
    ]
}

/// Value divided by that of the baseline: "1.04x".
pub fn against(row: &Row, baseline: Option<&Report>) -> String {
    let before = baseline.and_then(|b| b.median(&row.id)).filter(|b| *b != 0.0);
    match row.measured.stat().zip(before) {
        Some((now, before)) => format!("{:.2}x", now.median / before),
        None => "-".into(),
    }
}

/// Columns of [`cells`] that a terminal has room for; the spread is in the JSON and on the page.
const ON_TERMINAL: [usize; 5] = [0, 1, 2, 3, 5];

/// The whole table for a terminal.
pub fn terminal(report: &Report, baseline: Option<&Report>) -> String {
    let mut t = Table::new();
    t.load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    t.set_header(ON_TERMINAL.map(|i| HEADINGS[i]).into_iter().chain(["Now / baseline"]));
    for row in &report.rows {
        let all = cells(row);
        t.add_row(ON_TERMINAL.map(|i| all[i].clone()).into_iter().chain([against(row, baseline)]));
    }
    for right in [2, 3, 5] {
        if let Some(column) = t.column_mut(right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let m = &report.machine;
    let compared = match baseline {
        Some(b) => format!("baseline of {}, {}, {}", b.measured, b.machine.cpu, b.machine.rustc),
        None => "no baseline yet: `make bench-accept` keeps these figures as one".into(),
    };
    format!(
        "{}, {} cores, {}; {compared}\n{t}\nThreads: {}\n",
        m.cpu,
        m.cores,
        m.rustc,
        hashes(report)
    )
}

/// Whether all numbers of threads gave one result.
pub fn hashes(report: &Report) -> String {
    let numbers: Vec<String> = report.hashes.iter().map(|h| h.threads.to_string()).collect();
    let numbers = numbers.join(", ");
    match report.hashes.split_first() {
        None => "not measured".into(),
        Some((first, rest)) if rest.iter().all(|h| h.hash == first.hash) => {
            format!("the same result hash {} with {numbers} threads", first.hash)
        }
        Some(_) => format!("DIFFERENT result hashes with {numbers} threads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ThreadHash;
    use crate::results::tests::sample;

    #[test]
    fn a_row_stands_beside_its_target() {
        let r = sample(16.4e6);
        assert_eq!(
            cells(&r.rows[0])[2..],
            ["at least 16.00 M/s", "16.40 M/s", "16.40 M/s .. 16.40 M/s (3 runs)", "yes"]
        );
        assert_eq!(cells(&sample(15.9e6).rows[0])[5], "no");
        assert_eq!(cells(&r.rows[1])[2..], ["at least 50 %", "not measured", "-", "-"]);
    }

    #[test]
    fn the_baseline_gives_a_ratio_where_both_have_a_value() {
        let (now, before) = (sample(9e6), sample(6e6));
        assert_eq!(against(&now.rows[0], Some(&before)), "1.50x");
        assert_eq!(against(&now.rows[1], Some(&before)), "-");
        assert_eq!(against(&now.rows[0], None), "-");
        let text = terminal(&now, Some(&before));
        assert!(
            text.contains("1.50x") && text.contains("A processor, 2 cores, rustc 1.2.3"),
            "{text}"
        );
    }

    #[test]
    fn a_hash_that_differs_is_reported() {
        let mut r = sample(1e6);
        assert_eq!(hashes(&r), "the same result hash ab with 1, 2 threads");
        r.hashes.push(ThreadHash { threads: 3, hash: "cd".into() });
        assert!(hashes(&r).starts_with("DIFFERENT"));
    }
}

//! Claim of the abstract: 3.3 times better median and 2.0 times better 99th percentile of the slowdown.

use xoff_report::{Align, Cell, Table, Unit};

use super::slowdown::{HADOOP, Pair, WEBSEARCH};
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut rows: Vec<(String, [(String, Mean); 2])> = Vec::new();
    for w in [&HADOOP, &WEBSEARCH] {
        for (name, pair) in [("DCQCN", Pair::dcqcn(cx, w)?), ("TIMELY", Pair::timely(cx, w)?)] {
            rows.push((format!("{name}, {}", w.title), [pair.best(w, 0), pair.best(w, 2)]));
        }
    }
    let best = |which: usize| rows.iter().max_by(|a, b| a.1[which].1.mean.total_cmp(&b.1[which].1.mean));
    let (mean, at) = (
        |which: usize| best(which).map_or(Mean::of([]), |r| r.1[which].1),
        |which: usize| best(which).map_or(String::new(), |r| format!("{}, {}", r.0, r.1[which].0)),
    );
    let times = |v: f64| format!("{v:.2}x");
    let assuming = "\"can improve by\" is read as the largest gain of any size group in Figs. 16 and 19 with 50 flows or more";
    let mut f = Findings::default();
    f.checks.extend([
        Check::mean("largest gain at the median", Unit::None, mean(0), 2.2, 5.0).paper(3.3).assuming(assuming),
        Check::mean("largest gain at the 99th percentile", Unit::None, mean(1), 1.4, 3.0).paper(2.0).assuming(assuming),
    ]);
    f.measured = format!(
        "The largest gain at the median is {} ({}), at the 99th percentile {} ({}).",
        mean(0).words(times),
        at(0),
        mean(1).words(times),
        at(1)
    );
    f.notes.push(format!(
        "The paper's 3.3x does not follow from the numbers it prints. Its medians give 10.8 / 3.6 = {:.2} and 4.6 / 2.5 = {:.2}; its \
         99th percentiles give 1.7x, 2x and 50.3 / 36.6 = {:.2}.",
        10.8 / 3.6,
        4.6 / 2.5,
        50.3 / 36.6
    ));
    let mut t = Table::new(["Rate control and workload", "Largest gain, median", "Sizes", "Largest gain, 99th percentile", "Sizes"])
        .align([Align::Left, Align::Right, Align::Left, Align::Right, Align::Left])
        .caption("Ratio of the slowdown without TCD to the slowdown with TCD. Largest ratio of the size groups with at least 50 flows. 95 % intervals over seeds if there are several.");
    for (name, [median, tail]) in &rows {
        let row: [Cell; 5] = [
            name.as_str().into(),
            median.1.words(times).into(),
            median.0.as_str().into(),
            tail.1.words(times).into(),
            tail.0.as_str().into(),
        ];
        t.push(row);
    }
    f.tables.push(t);
    Ok(f)
}

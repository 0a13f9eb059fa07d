//! A comparison as a page.

use xoff_report::{
    Align, Axis, Bar, BarGroup, Card, Figure, Mark, Panel, Report, Section, Table, Tone, Unit,
};

use xoff_units::measured::{short as significant, time};

use crate::compare::words::{bound, words};
use crate::compare::{Comparison, Estimate, Measure};

/// Explanation of the intervals, for a caption.
pub const INTERVALS: &str = "Means over the runs of a side, with the 95 % interval of Student's t where there are several; of shares of runs, that of Wilson.";
/// Characters of a parameter's value in a table.
const VALUE_MAX: usize = 120;
/// Rows of a table of the page that may have one for each flow or port.
const ROWS_MAX: usize = 200;

/// A value with its interval: `2.49 (2.1 to 2.88)`.
pub fn in_words(e: &Estimate, unit: &str) -> String {
    match (e.mean, e.low, e.high) {
        (None, ..) => "-".into(),
        (Some(mean), Some(low), Some(high)) => {
            format!("{} ({} to {})", words(mean, unit), words(low, unit), words(high, unit))
        }
        (Some(mean), ..) => words(mean, unit),
    }
}

/// A value of a parameter as far as a table has room for it: a list of three hundred hosts says no
/// more.
fn short(value: &str) -> String {
    match value.char_indices().nth(VALUE_MAX) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}... ({} characters)", &value[..end], value.chars().count()),
    }
}

/// Text of a value that may be a lower bound: `≥ 2.49`.
fn bounded(at_least: bool, e: &Estimate, unit: &str) -> String {
    format!("{}{}", bound(at_least && e.mean.is_some()), in_words(e, unit))
}

impl Comparison {
    /// Names of the sides.
    fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.sides.iter().map(|s| s.name.clone())
    }

    /// Parameters that differ, a column for each side.
    pub fn parameter_table(&self) -> Table {
        let mut t = Table::new(std::iter::once("parameter".to_owned()).chain(self.names()));
        for d in &self.parameters {
            t.push(
                std::iter::once(d.path.clone())
                    .chain(d.values.iter().map(|v| v.as_deref().map_or("-".into(), short))),
            );
        }
        t
    }

    /// Measures, a row for each and a column for each side; with two sides the difference too.
    pub fn measure_table(&self) -> Table {
        let two = self.sides.len() == 2;
        let head = std::iter::once("measure".to_owned())
            .chain(self.names())
            .chain(two.then(|| "difference".to_owned()));
        let mut t = Table::new(head).align(
            std::iter::once(Align::Left)
                .chain(std::iter::repeat_n(Align::Right, self.sides.len() + 1)),
        );
        for rows in self.measures.chunk_by(|a, b| a.measure == b.measure) {
            let difference = two.then(|| rows.last().and_then(|m| m.difference.as_ref())).flatten();
            let last = two.then(|| {
                let at_least = rows.last().is_some_and(|m| m.at_least);
                difference.map_or("-".into(), |d| bounded(at_least, d, &rows[0].unit))
            });
            let value = |m: &Measure| bounded(m.at_least, &m.value, &m.unit);
            t.push(
                std::iter::once(rows[0].measure.clone()).chain(rows.iter().map(value)).chain(last),
            );
        }
        t
    }

    /// Slowdown by size, a row for each bin and side.
    pub fn slowdown_table(&self) -> Table {
        let head =
            ["size", "side", "flows", "unfinished", "median", "95th percentile", "99th percentile"];
        let right = std::iter::repeat_n(Align::Right, 5);
        let mut t = Table::new(head).align([Align::Left, Align::Left].into_iter().chain(right));
        for b in &self.slowdown {
            let counts = [b.flows, b.unfinished].map(|n| n.to_string());
            let percentiles = [&b.p50, &b.p95, &b.p99].map(|p| bounded(b.unfinished > 0, p, ""));
            t.push([b.size.clone(), b.side.clone()].into_iter().chain(counts).chain(percentiles));
        }
        t
    }

    /// The flows that the last side slows down most.
    pub fn victim_table(&self, rows_max: usize) -> Table {
        let seeds = self.sides.iter().any(|s| s.seeds.len() > 1);
        let head = ["flow", "from", "to", "size"]
            .map(str::to_owned)
            .into_iter()
            .chain(self.names())
            .chain(["factor".to_owned()]);
        let head = seeds.then(|| "seed".to_owned()).into_iter().chain(head);
        let left = 3 + usize::from(seeds);
        let align = std::iter::repeat_n(Align::Left, left)
            .chain(std::iter::repeat_n(Align::Right, self.sides.len() + 2));
        let mut t = Table::new(head).align(align);
        for v in
            self.victims.iter().filter(|v| v.harm > 0.0 && v.factor != Some(1.0)).take(rows_max)
        {
            let seed = seeds.then(|| v.seed.to_string());
            let who = [
                v.flow.to_string(),
                v.src.clone(),
                v.dst.clone(),
                words(v.size_bytes as f64, "bytes"),
            ];
            let slowdowns = v.slowdowns.iter().map(|s| s.map_or("unfinished".into(), significant));
            let factor =
                v.factor.map_or_else(|| format!("at least {}", significant(v.harm)), significant);
            t.push(seed.into_iter().chain(who).chain(slowdowns).chain([factor]));
        }
        t
    }

    /// The ports where flow control changed most.
    pub fn pause_table(&self, rows_max: usize) -> Table {
        let of =
            |what: &str| self.names().map(|name| format!("{what}, {name}")).collect::<Vec<_>>();
        let head = ["port".to_owned()]
            .into_iter()
            .chain(of("pauses"))
            .chain(of("paused"))
            .chain(of("blocked"));
        let mut t = Table::new(head).align(
            std::iter::once(Align::Left)
                .chain(std::iter::repeat_n(Align::Right, 3 * self.sides.len())),
        );
        for p in self.pauses.iter().filter(|p| p.is_changed()).take(rows_max) {
            let counts = p.pauses.iter().map(|n| significant(*n));
            let times = p.paused_ps.iter().chain(&p.blocked_ps).map(|ps| time(*ps));
            t.push([p.port.clone()].into_iter().chain(counts).chain(times));
        }
        t
    }

    /// Slowdown by size: medians and 99th percentiles, side by side.
    pub fn figure(&self) -> Option<Figure> {
        let mut sizes: Vec<&str> = self.slowdown.iter().map(|b| b.size.as_str()).collect();
        sizes.dedup();
        let panel = |title: &str, of: fn(&crate::compare::SizeBin) -> &Estimate| {
            let group = |side: String| {
                let bars = sizes.iter().map(|size| {
                    // Where no flow finished, a bound says nothing.
                    let bin = self
                        .slowdown
                        .iter()
                        .find(|b| b.size == *size && b.side == side && b.unfinished < b.flows);
                    let bar = match bin.map(of).copied().unwrap_or_default() {
                        Estimate { mean: Some(mean), low: Some(low), high: Some(high) } => {
                            Bar::with_interval(mean, low.max(0.0), high)
                        }
                        Estimate { mean, .. } => Bar::new(mean.unwrap_or(f64::NAN)),
                    };
                    bar.at_least(bin.is_some_and(|b| b.unfinished > 0))
                });
                BarGroup::new(side.clone(), bars.collect::<Vec<_>>()).colour_by_kind()
            };
            let axis = Axis::new("Slowdown (completion time / ideal)", Unit::None);
            let groups: Vec<BarGroup> = self.names().map(group).collect();
            Panel::new(title, Axis::new("Size of flow", Unit::None), axis)
                .mark(Mark::bars(sizes.iter().copied(), groups))
        };
        (!sizes.is_empty()).then(|| {
            Figure::new("Slowdown by size")
                .caption("Unfinished flows count with their age (≥: a lower bound); n/a: no flow of that size finished. Error bars are 95 % intervals over the runs of a side.")
                .panel(panel("Median", |b| &b.p50))
                .panel(panel("99th percentile", |b| &b.p99))
        })
    }

    /// One page, without a script and without a request.
    pub fn to_html(&self) -> String {
        let names: Vec<String> = self.names().collect();
        let card = |s: &crate::compare::SideFacts| {
            let value = if s.seeds.len() == 1 {
                s.verdicts[0].clone()
            } else {
                format!("{} runs", s.seeds.len())
            };
            let note = if s.deadlocks > 0 {
                format!("deadlock in {} of {}", s.deadlocks, s.seeds.len())
            } else {
                "no deadlock".into()
            };
            Card::new(s.name.clone(), value).note(note).tone(if s.deadlocks > 0 {
                Tone::Bad
            } else {
                Tone::Neutral
            })
        };
        let mut page = Report::new(names.join(" against "))
            .lead(self.headline.clone())
            .cards(self.sides.iter().map(card));
        for note in &self.notes {
            page = page.lead(format!("Note: {note}."));
        }
        let mut section = |title: &str, text: &str, table: Table, figure: Option<Figure>| {
            if table.rows.is_empty() {
                return;
            }
            let mut s = Section::new(title);
            if !text.is_empty() {
                s = s.text(text);
            }
            if let Some(figure) = &figure {
                s = s.figure(figure);
            }
            page = std::mem::replace(&mut page, Report::new("")).section(s.table(table));
        };
        section("Measures", INTERVALS, self.measure_table(), None);
        section("Slowdown by size", "", self.slowdown_table(), self.figure());
        let of = format!(
            "The same flow on every side; {} flows are on all of them.",
            self.victims_total
        );
        section("Flows that the last side slows down most", &of, self.victim_table(ROWS_MAX), None);
        section(
            "Pauses by port",
            "How often flow control stopped a port, for how long, and how long frames were held.",
            self.pause_table(ROWS_MAX),
            None,
        );
        section("Parameters that differ", "", self.parameter_table(), None);
        for side in &self.sides {
            for ((folder, seed), hash) in
                side.folders.iter().zip(&side.seeds).zip(&side.result_hashes)
            {
                page = page
                    .provenance(format!("{}, seed {seed}", side.name), format!("{folder} {hash}"));
            }
        }
        page.to_html()
    }
}

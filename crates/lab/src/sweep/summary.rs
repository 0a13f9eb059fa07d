//! Summary over the seeds: a mean, or a share, with its interval, for each combination of values.
//!
//! Numbers: the mean over the seeds with Student's t interval (95 %). Flags: the share of runs with
//! Wilson's interval (95 %). Differences to the first combination are taken seed by seed, because
//! every combination has the same seeds: a traffic that is heavy for one is heavy for all, and its
//! part of the variance cancels. Seeds that all give the same result count once, without an
//! interval.

use crate::stats::{Mean, Share, are_one};
use xoff_record::cell;
use xoff_report::Unit;

use crate::sweep::cell::{Cell, Shard, Status};
use crate::sweep::scenario::COLUMNS;
use crate::sweep::table::more_columns;
use crate::sweep::{Kind, Plan, Value};

/// Method of the intervals, for reports.
pub const METHOD: &str = "Intervals are 95 %: Student's t over the seeds for means, Wilson's for shares. Differences to the first combination are taken seed by seed.";

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean or share.
    pub value: f64,
    /// Ends of the interval; the value itself where one run is all there is.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Runs that count.
    pub n: usize,
}

impl From<Mean> for Interval {
    fn from(m: Mean) -> Interval {
        Interval { value: m.mean, low: m.low, high: m.high, n: m.n }
    }
}

/// A column that can be averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct Averaged {
    /// Name.
    pub name: String,
    /// A share instead of a mean.
    pub is_share: bool,
    /// Unit.
    pub unit: Unit,
}

/// One combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Values, in the order of the parameters.
    pub values: Vec<Value>,
    /// Runs that are done.
    pub done: usize,
    /// They all have the same result: they count once.
    pub is_one: bool,
    /// Column by column; `None`: no run has a value.
    pub intervals: Vec<Option<Interval>>,
    /// Difference to the first combination, seed by seed.
    pub differences: Vec<Option<Interval>>,
}

/// All combinations.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// The columns.
    pub columns: Vec<Averaged>,
    /// The combinations, in the order of the plan.
    pub combinations: Vec<Combination>,
}

impl Summary {
    pub(crate) fn of(
        plan: &Plan,
        cells: &[(Cell, Option<Shard>)],
        rows: &[(Cell, Shard)],
    ) -> Summary {
        let mut columns: Vec<Averaged> = COLUMNS
            .iter()
            .filter(|c| c.kind != Kind::Text)
            .map(|c| Averaged {
                name: c.name.into(),
                is_share: c.kind == Kind::Flag,
                unit: (c.unit)(),
            })
            .collect();
        for name in more_columns(rows) {
            let values: Vec<&Value> =
                rows.iter().map(|(_, s)| s.value(&name)).filter(|v| **v != Value::Null).collect();
            if values.iter().all(|v| v.number().is_some()) {
                let is_share = values.iter().all(|v| matches!(v, Value::Flag(_)));
                columns.push(Averaged {
                    name,
                    is_share,
                    unit: if is_share { Unit::Fraction } else { Unit::None },
                });
            }
        }
        let runs: Vec<&[(Cell, Option<Shard>)]> = cells.chunks(plan.seeds.len()).collect();
        let value = |(_, shard): &(Cell, Option<Shard>), name: &str| -> f64 {
            let shard = shard.as_ref().filter(|s| s.status == Status::Done);
            shard.and_then(|s| s.value(name).number()).unwrap_or(f64::NAN)
        };
        let combinations = runs.iter().map(|own| {
            let values = plan.parameters.iter().map(|p| own[0].0.value(&p.name).clone()).collect();
            let (done, is_one) = done(own);
            let intervals = columns
                .iter()
                .map(|c| {
                    let values = own.iter().map(|run| value(run, &c.name));
                    interval(c.is_share, is_one, values)
                })
                .collect();
            let one_pair = is_one && self::done(runs[0]).1;
            let difference = |c: &Averaged| {
                let pairs =
                    own.iter().zip(runs[0]).map(|(a, b)| value(a, &c.name) - value(b, &c.name));
                interval(false, one_pair, pairs)
            };
            Combination {
                values,
                done,
                is_one,
                intervals,
                differences: columns.iter().map(difference).collect(),
            }
        });
        let combinations = combinations.collect();
        Summary {
            parameters: plan.parameters.iter().map(|p| p.name.clone()).collect(),
            columns,
            combinations,
        }
    }

    /// Method of the intervals of these numbers, for reports.
    pub(crate) fn method(&self) -> String {
        let all = self.combinations.len();
        match self.combinations.iter().filter(|c| c.is_one).count() {
            0 => METHOD.into(),
            n if n == all => format!(
                "{METHOD} All seeds give the same result, nothing is drawn at random: they count once, without an interval."
            ),
            n => format!(
                "{METHOD} In {n} of {all} combinations all seeds give the same result, nothing is drawn at random: they count once, without an interval."
            ),
        }
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// `table.csv`: a line for each combination and column.
    pub(crate) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = [
            "column",
            "n",
            "kind",
            "value",
            "low",
            "high",
            "difference",
            "difference_low",
            "difference_high",
        ];
        let names = self.parameters.iter().map(String::as_str).chain(head);
        let text = |v: &Value| match v {
            Value::Text(text) => cell(text).into_owned(),
            other => other.to_string(),
        };
        writer.write_record(names).expect("memory takes it");
        for c in &self.combinations {
            for (i, column) in self.columns.iter().enumerate() {
                let Some(at) = c.intervals[i] else { continue };
                let d = c.differences[i];
                let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
                let kind = if column.is_share { "share" } else { "mean" };
                // One run has a value, and no interval around it.
                let known = |of: Option<Interval>| of.filter(|i| i.n > 1);
                let (own, other) = (known(Some(at)), known(d));
                let [low, high] = [number(own.map(|i| i.low)), number(own.map(|i| i.high))];
                let own = [
                    cell(&column.name).into_owned(),
                    at.n.to_string(),
                    kind.into(),
                    at.value.to_string(),
                    low,
                    high,
                ];
                let differences = [
                    number(d.map(|d| d.value)),
                    number(other.map(|d| d.low)),
                    number(other.map(|d| d.high)),
                ];
                writer
                    .write_record(c.values.iter().map(text).chain(own).chain(differences))
                    .expect("memory takes it");
            }
        }
        String::from_utf8(writer.into_inner().expect("memory takes it")).expect("texts")
    }
}

/// Runs that are done, and whether they all have the same result.
fn done(runs: &[(Cell, Option<Shard>)]) -> (usize, bool) {
    let done = runs.iter().filter_map(|(_, s)| s.as_ref()).filter(|s| s.status == Status::Done);
    let hashes: Vec<&Value> = done.map(|s| s.value("result_hash")).collect();
    (hashes.len(), are_one(&hashes) && *hashes[0] != Value::Null)
}

/// `is_one`: the runs are one result, several times. Only what a caller measures itself, such as
/// time, may then still differ.
fn interval(is_share: bool, is_one: bool, values: impl Iterator<Item = f64>) -> Option<Interval> {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    if is_one && values.iter().all(|v| *v == values[0]) {
        values.truncate(1);
    }
    let only = *values.first()?;
    if values.len() == 1 {
        return Some(Interval { value: only, low: only, high: only, n: 1 });
    }
    if is_share {
        let share = Share { of: values.iter().filter(|v| **v != 0.0).count(), n: values.len() };
        let (low, high) = share.interval();
        return Some(Interval { value: share.value(), low, high, n: share.n });
    }
    Some(Mean::of(values).into())
}

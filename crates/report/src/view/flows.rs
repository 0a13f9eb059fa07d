//! Flows in the report: curves and percentiles of all flows, a list of the most important ones.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_net::workload::UNLIMITED;
use xoff_record::quantile;
use xoff_run::Waiter;
use xoff_sim::FlowRecord;
use xoff_units::{Span, Time};

use crate::view::network::Seen;

/// Points of a curve at most.
const POINTS_MAX: usize = 600;
/// Flows in the list at most: unfinished ones, then those with the largest slowdown.
pub const LISTED_MAX: usize = 500;
/// Groups of sizes if there are more sizes than that; about as many flows in each, more where they
/// have the same size.
const GROUPS: usize = 10;

/// A distribution function: `y` of all flows have a value of at most `x`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Values, rising.
    pub x: Vec<f64>,
    /// Shares.
    pub y: Vec<f64>,
}

/// Slowdown of the flows of about one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeGroup {
    /// Smallest and largest size [bytes].
    pub from: u64,
    /// Largest size [bytes].
    pub to: u64,
    /// Mean size [bytes].
    pub mean: f64,
    /// Count of flows.
    pub flows: usize,
    /// Unfinished flows; each counts with its age, a lower bound.
    pub unfinished: usize,
    /// Percentiles of the slowdown.
    pub p50: f64,
    /// 95th.
    pub p95: f64,
    /// 99th.
    pub p99: f64,
}

/// A row of the list: number, source, destination, size, delivered, start, completion time,
/// slowdown.
type Listed = (usize, u32, u32, Option<u64>, u64, u64, Option<u64>, Option<f64>);

/// Flows of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowsView {
    /// Flows that began, and all messages of jobs.
    pub total: usize,
    /// Flows with a size.
    pub sized: usize,
    /// Unfinished flows with a size.
    pub unfinished: usize,
    /// Completion times [ps].
    pub fct: Curve,
    /// Slowdowns.
    pub slowdown: Curve,
    /// Slowdown by size.
    pub sizes: Vec<SizeGroup>,
    /// Some of them.
    pub list: Vec<Listed>,
    /// Source and destination of the flows that others wait for.
    pub ends: BTreeMap<u32, (u32, u32)>,
}

impl FlowsView {
    /// Flows of a run.
    pub fn new(f: &Seen) -> FlowsView {
        let flows = f.flows;
        let sized = flows.iter().filter(|r| r.flow.size != UNLIMITED).count();
        let mut times: Vec<f64> = flows
            .iter()
            .filter(|r| r.flow.size != UNLIMITED)
            .filter_map(|r| Some(r.fct()?.0 as f64))
            .collect();
        times.sort_by(f64::total_cmp);
        let slowdowns = slowdowns(f);
        let mut known: Vec<f64> = slowdowns.iter().filter(|s| !s.2).map(|s| s.1).collect();
        known.sort_by(f64::total_cmp);
        FlowsView {
            total: flows.len(),
            sized,
            unfinished: sized - times.len(),
            fct: curve(&times, sized),
            slowdown: curve(&known, slowdowns.len()),
            sizes: sizes(slowdowns),
            list: list(f),
            ends: ends(f),
        }
    }
}

/// Distribution function of sorted values. `all` is their number, unknown ones included.
fn curve(sorted: &[f64], all: usize) -> Curve {
    let step = sorted.len().div_ceil(POINTS_MAX).max(1);
    // The last of each stretch, so that the largest value is there; the smallest begins it.
    let ends = (0..sorted.len()).filter(|i| (i + 1) % step == 0 || i + 1 == sorted.len());
    let places: Vec<usize> =
        (!sorted.is_empty()).then_some(0).into_iter().chain(ends.filter(|i| *i > 0)).collect();
    Curve {
        x: places.iter().map(|&i| sorted[i]).collect(),
        y: places.iter().map(|&i| (i + 1) as f64 / all as f64).collect(),
    }
}

/// Size and slowdown of every flow that has both; with `true` where it is a lower bound.
fn slowdowns(f: &Seen) -> Vec<(u64, f64, bool)> {
    let end = f.now;
    let of = |(r, ideal): (&FlowRecord, &Option<Span>)| {
        let ideal = ideal.filter(|i| i.0 > 0)?;
        let over = |time: Span| time.0 as f64 / ideal.0 as f64;
        Some(match r.fct() {
            Some(fct) => (r.flow.size, over(fct), false),
            None => (r.flow.size, over(end.since(r.flow.start)).max(1.0), true),
        })
    };
    f.flows.iter().zip(f.ideals).filter_map(of).collect()
}

fn sizes(mut all: Vec<(u64, f64, bool)>) -> Vec<SizeGroup> {
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sizes: Vec<usize> = all.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    let wanted = if sizes.len() > GROUPS { all.len().div_ceil(GROUPS) } else { 1 };
    // Flows of one size stay together: parts of them would be the fast ones and the slow ones.
    let (mut groups, mut rest, mut flows) = (Vec::new(), &all[..], 0);
    for size in sizes {
        if flows > 0 && (flows + size).abs_diff(wanted) > flows.abs_diff(wanted) {
            let (whole, others) = rest.split_at(flows);
            groups.push(group(whole));
            (rest, flows) = (others, 0);
        }
        flows += size;
    }
    if flows > 0 {
        groups.push(group(rest));
    }
    groups
}

fn group(of: &[(u64, f64, bool)]) -> SizeGroup {
    let mut values: Vec<f64> = of.iter().map(|s| s.1).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| quantile(&values, share);
    SizeGroup {
        from: of[0].0,
        to: of[of.len() - 1].0,
        mean: of.iter().map(|s| s.0 as f64).sum::<f64>() / of.len() as f64,
        flows: of.len(),
        unfinished: of.iter().filter(|s| s.2).count(),
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
    }
}

fn list(f: &Seen) -> Vec<Listed> {
    let row = |(n, (r, ideal)): (usize, (&FlowRecord, &Option<Span>))| {
        let w = &r.flow;
        let slowdown = r.fct().zip(ideal.filter(|i| i.0 > 0)).map(|(t, i)| t.0 as f64 / i.0 as f64);
        let size = (w.size != UNLIMITED).then_some(w.size);
        (n, w.src.0, w.dst.0, size, r.delivered, w.start.0, r.fct().map(|t| t.0), slowdown)
    };
    let mut all: Vec<Listed> = f
        .flows
        .iter()
        .zip(f.ideals)
        .enumerate()
        .filter(|(_, (r, _))| r.flow.start < Time::NEVER)
        .map(row)
        .collect();
    if all.len() > LISTED_MAX {
        let rank = |r: &Listed| (r.3.is_some() && r.6.is_none(), r.7.unwrap_or(0.0));
        all.sort_by(|a, b| {
            rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal).then(a.0.cmp(&b.0))
        });
        all.truncate(LISTED_MAX);
    }
    all
}

fn ends(f: &Seen) -> BTreeMap<u32, (u32, u32)> {
    let waiters =
        f.course.iter().flat_map(|c| &c.looks).filter_map(|l| l.waiters.as_ref()).flatten();
    let named = |w: &Waiter| w.behind.iter().map(|b| b.1).collect::<Vec<_>>();
    waiters
        .flat_map(named)
        .filter_map(|n| f.flows.get(n as usize).map(|r| (n, (r.flow.src.0, r.flow.dst.0))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_of_many_values_keeps_its_ends_and_its_shares() {
        let values: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let c = curve(&values, 20_000);
        assert!(c.x.len() <= POINTS_MAX + 1);
        assert_eq!((c.x[0], c.x[c.x.len() - 1], c.y[c.y.len() - 1]), (1.0, 10_000.0, 0.5));
        assert!(c.x.iter().zip(&c.y).all(|(x, y)| (x / 20_000.0 - y).abs() < 1e-12));
        assert_eq!(curve(&[], 5), Curve::default());
        assert_eq!(curve(&[3.0], 2), Curve { x: vec![3.0], y: vec![0.5] });
    }

    #[test]
    fn percentiles_count_unfinished_flows_and_name_them() {
        let all: Vec<(u64, f64, bool)> =
            (1..=100).map(|i| (1000, f64::from(i), i > 98)).chain([(5, 2.0, false)]).collect();
        let g = sizes(all);
        assert_eq!(g.len(), 2);
        assert_eq!((g[0].from, g[0].flows, g[0].p99), (5, 1, 2.0));
        assert_eq!((g[1].unfinished, g[1].p50, g[1].p95, g[1].p99), (2, 50.0, 95.0, 99.0));
        let many: Vec<(u64, f64, bool)> = (0..1000).map(|i| (i, 1.0, false)).collect();
        let g = sizes(many);
        assert_eq!((g.len(), g[0].flows, g[9].to), (10, 100, 999));
        assert!(sizes(Vec::new()).is_empty());
        assert_eq!(sizes((0..10).map(|i| (i, 1.0, false)).collect()).len(), 10);
    }

    #[test]
    fn flows_of_one_size_are_one_group() {
        // 20 sizes once each, and between them 30 flows of one size with rising slowdowns.
        let few = (0..20).map(|i| (if i < 10 { i + 1 } else { 10_000 + i }, 1.0, false));
        let all: Vec<(u64, f64, bool)> =
            few.chain((1..=30).map(|i| (500, f64::from(i), false))).collect();
        let g = sizes(all);
        let of: Vec<&SizeGroup> = g.iter().filter(|g| g.from <= 500 && g.to >= 500).collect();
        assert_eq!((of.len(), of[0].flows, of[0].p50, of[0].p99), (1, 30, 15.0, 30.0));
        assert_eq!(g.iter().map(|g| g.flows).sum::<usize>(), 50);
        assert!(g.windows(2).all(|w| w[0].to < w[1].from));
    }
}

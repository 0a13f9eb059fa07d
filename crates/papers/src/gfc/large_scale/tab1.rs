//! Table 1: how many random fat-trees deadlock under which flow control.

use xoff_report::{Align, Cell, Table, Tone, Unit};

use super::job::{Egress, NextAfter, Run, Scheme};
use super::network::{Filtered, RoutingRule};
use super::sizes::{SIZE_MAX, Sizes};
use super::stats::wilson;
use super::study::{LargeScale, Parts, Search};
use super::{FIFO, LOWEST_ID};
use crate::{Check, Context, Findings, ReproduceError};

/// Deadlock cases of PFC and of CBFC among 10,000 networks, by k.
const PAPER: [(u32, f64); 3] = [(4, 32.0), (8, 12.0), (16, 2.0)];

/// Cases of a search under a scheme.
struct Count {
    /// Networks simulated.
    simulated: u64,
    /// Deadlock cases among them.
    cases: u64,
    /// Networks in which flows stopped in a run without a deadlock.
    standstill: u64,
    /// Networks in which flows stopped permanently.
    for_good: u64,
    /// Runs that were looked at.
    runs: u64,
}

impl Search {
    fn count(&self, scheme: Scheme) -> Count {
        let done = || self.cases.iter().filter_map(|c| c.of(scheme)).filter(|r| !r.runs.is_empty());
        Count {
            simulated: done().count() as u64,
            cases: done().filter(|r| r.deadlock().is_some()).count() as u64,
            standstill: done().filter(|r| r.stands_still()).count() as u64,
            for_good: done().filter(|r| r.for_good()).count() as u64,
            runs: done().map(|r| r.runs.len() as u64).sum(),
        }
    }

    /// Networks where all repetitions of two schemes are done: both deadlock, only the first, only the second.
    fn overlap(&self, a: Scheme, b: Scheme) -> [u64; 3] {
        let mut n = [0; 3];
        for case in &self.cases {
            match (case.deadlocks(a), case.deadlocks(b)) {
                (Some(true), Some(true)) => n[0] += 1,
                (Some(true), Some(false)) => n[1] += 1,
                (Some(false), Some(true)) => n[2] += 1,
                _ => {}
            }
        }
        n
    }

    /// Cases expected among 10,000 networks, with the 95 % interval: what was simulated stands for all cyclic ones.
    fn per_10_000(&self, filtered: &Filtered, scheme: Scheme) -> (f64, f64, f64) {
        let Count { simulated, cases, .. } = self.count(scheme);
        let networks = filtered.networks as f64;
        if networks == 0.0 {
            return (f64::NAN, 0.0, 10_000.0);
        }
        if simulated == self.cyclic as u64 {
            let (low, high) = wilson(cases, filtered.networks as u64);
            return (cases as f64 / networks * 1e4, low * 1e4, high * 1e4);
        }
        let (low, high) = wilson(cases, simulated);
        let scale = self.cyclic as f64 / networks * 1e4;
        (cases as f64 / simulated as f64 * scale, low * scale, high * scale)
    }

    fn title(&self) -> String {
        let e = &self.effort;
        let loops = if e.next_after == NextAfter::Sent { ", next flow starts when sent" } else { "" };
        let mut text = format!("k = {}, {}, {}", e.k, e.rule.name(), if e.egress == Egress::Fifo { "FIFO" } else { "round robin" });
        match e.size_max {
            SIZE_MAX => {}
            0 => text += ", flows not capped",
            cap => text += &format!(", flows up to {} MB", cap / 1_000_000),
        }
        format!("{text}{loops}, {} ms", e.duration_us / 1000)
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let parts = Parts { headline: true, further: true, stuck: true, ..Parts::default() };
    Ok(findings(&LargeScale::run(cx, Sizes::of(cx.mode), parts)?))
}

/// Findings of Table 1.
pub fn findings(study: &LargeScale) -> Findings {
    let mut f = Findings::default();
    let found = |k: u32| {
        let (search, filtered) = (study.headline(k)?, study.filtered(k)?);
        let n = search.per_10_000(filtered, Scheme::Pfc);
        // No more than all that have a cycle.
        let cyclic = search.cyclic as f64 / f64::from(filtered.networks) * 1e4;
        n.0.is_finite().then_some((n, cyclic))
    };
    for &(k, paper) in &PAPER {
        let Some(((n, low, high), cyclic)) = found(k) else { continue };
        let what = format!("k = {k}, PFC: deadlock cases per 10,000 networks");
        // The order of magnitude, all of Wilson's interval.
        let check = Check::new(what, cases_unit(), n, paper / 10.0, paper * 10.0).interval(low, high).possible(0.0, cyclic);
        f.checks.push(check.beside(paper).assuming(LOWEST_ID));
    }
    for (small, large) in [(4, 8), (8, 16)] {
        // Where no network has a cycle none can deadlock: nothing to compare.
        if let (Some(((a, ..), _)), Some(((b, ..), cyclic))) = (found(small), found(large).filter(|f| f.1 > 0.0)) {
            let what = format!("PFC: cases per 10,000 at k = {large} minus those at k = {small}");
            f.checks
                .push(Check::new(what, cases_unit(), b - a, f64::NEG_INFINITY, 0.0).possible(-a, cyclic - a).claimed().assuming(LOWEST_ID));
        }
    }
    gentle(study, &mut f);
    same_networks(study, &mut f);
    f.tables = vec![table(study), filter_table(study)];
    f.measured = measured(study);
    explain(study, &mut f);
    f
}

fn cases_unit() -> Unit {
    Unit::Other("cases".into())
}

fn searches(study: &LargeScale) -> impl Iterator<Item = &Search> {
    study.headline.iter().chain(&study.further)
}

fn runs(study: &LargeScale, scheme: Scheme) -> impl Iterator<Item = &Run> {
    let cases = searches(study).flat_map(|s| &s.cases).chain(&study.stuck);
    cases.filter_map(move |c| c.of(scheme)).flat_map(|r| &r.runs)
}

fn gentle(study: &LargeScale, f: &mut Findings) {
    for scheme in Scheme::ALL.into_iter().filter(|s| s.is_gentle()) {
        // Of the paper's own searches: the others, of which the table has each, are of the same networks.
        let still = study.headline.iter().map(|s| s.count(scheme).standstill).sum();
        let what = format!("{}: networks with stopped flows, no byte in the last 5 ms", scheme.title());
        f.checks.push(Check::none(what, "networks", still).claimed());
        let for_good = study.headline.iter().map(|s| s.count(scheme).for_good).sum();
        let what = format!("{}: networks in which such flows also receive no byte until 60 ms", scheme.title());
        f.checks.push(Check::none(what, "networks", for_good).claimed());
    }
    let sum = |of: fn(&Run) -> u64| Scheme::ALL.iter().flat_map(|s| runs(study, *s)).map(of).sum::<u64>();
    f.checks.push(Check::none("frames lost in all runs", "frames", sum(|r| r.dropped)).claimed());
    f.checks.push(Check::none("violated invariants of the simulator", "times", sum(|r| r.violations)));
}

fn same_networks(study: &LargeScale, f: &mut Findings) {
    let mut all = [0; 3];
    for search in &study.headline {
        search.overlap(Scheme::Pfc, Scheme::Cbfc).iter().zip(&mut all).for_each(|(n, sum)| *sum += n);
    }
    let [both, pfc, cbfc] = all;
    let (low, high) = wilson(both, both + pfc + cbfc);
    let what = format!(
        "share of deadlock cases that PFC and CBFC have in common ({both} both, {pfc} only PFC, {cbfc} only CBFC), judged by the whole \
         interval"
    );
    let measured = both as f64 / (both + pfc + cbfc) as f64;
    f.checks.push(Check::new(what, Unit::Fraction, measured, 0.7, 1.0).interval(low, high).beside(1.0).assuming(FIFO));
}

/// Networks in which flows stopped under a scheme.
fn stands_still(cases: &[super::study::Case], scheme: Scheme) -> u64 {
    cases.iter().filter_map(|c| c.of(scheme)).filter(|r| r.runs.iter().any(|r| r.still > 0)).count() as u64
}

fn interval((n, low, high): (f64, f64, f64)) -> String {
    if n.is_nan() { "n/a".into() } else { format!("{n:.0} ({low:.0} to {high:.0})") }
}

fn table(study: &LargeScale) -> Table {
    let mut columns = vec!["Search".to_owned(), "With a cycle".into(), "Simulated".into(), "Runs each".into()];
    columns.extend(["PFC".to_owned(), "CBFC".into()]);
    columns.extend(["Per 10,000 (95 %)".to_owned(), "Paper".into()]);
    let gentle = Scheme::WITH_REPAIR.into_iter().filter(|s| s.is_gentle());
    columns.extend(gentle.clone().map(|s| format!("{} with stopped flows", s.title())));
    let right = [Align::Left].into_iter().chain([Align::Right; 10]);
    let mut t = Table::new(columns).align(right).caption(
        "PFC, CBFC: networks in which a repetition deadlocks. Per 10,000: PFC, with Wilson's 95 % interval. With stopped flows: \
         networks in which a flow had no byte in the last 5 ms of a repetition. Permanently: nor until 60 ms, when the repetition runs \
         that long. The networks of a search are the first with a cycle, which is a random sample. Runs each: the maximum for PFC and \
         CBFC, and for GFC; a deadlock, or a permanently stopped flow, ends the series.",
    );
    for s in searches(study) {
        let e = &s.effort;
        let pfc = s.count(Scheme::Pfc);
        let mut row: Vec<Cell> = vec![s.title().into(), (s.cyclic as u64).into()];
        row.push(if pfc.simulated == 0 && s.cyclic > 0 { "not done".into() } else { pfc.simulated.into() });
        row.push(format!("{} / {}", e.repetitions, e.gentle_repetitions).into());
        for scheme in [Scheme::Pfc, Scheme::Cbfc] {
            let n = s.count(scheme);
            let tone = if n.cases > 0 { Tone::Bad } else { Tone::Good };
            row.push(Cell::badge(
                tone,
                if n.simulated == 0 { "not run".to_owned() } else { format!("{} of {}, {} runs", n.cases, n.simulated, n.runs) },
            ));
        }
        row.push(study.filtered(e.k).map_or("n/a".into(), |f| interval(s.per_10_000(f, Scheme::Pfc))).into());
        let paper = PAPER.iter().find(|p| p.0 == e.k).map_or("n/a".into(), |p| format!("{} of 10,000", p.1));
        row.push(paper.into());
        for scheme in gentle.clone() {
            let n = s.count(scheme);
            row.push(match n.simulated {
                0 => "not run".into(),
                simulated => Cell::from(format!("{} of {simulated}, permanently {}, {} runs", n.standstill, n.for_good, n.runs)),
            });
        }
        t.push(row);
    }
    t
}

fn filter_table(study: &LargeScale) -> Table {
    let mut columns = vec!["k".to_owned(), "Networks".into(), "Left out: hosts disconnected".into()];
    columns.extend(RoutingRule::ALL.map(|r| format!("Cycle under {}", r.name())));
    let mut t = Table::new(columns).align([Align::Right; 6]).caption(
        "The static filter: networks whose routes have a cyclic buffer dependency. Under ecmp a route may be any of the shortest paths.",
    );
    for (k, f) in &study.filtered {
        let mut row: Vec<Cell> = [*k as u64, f.networks as u64, f.disconnected as u64].map(Cell::from).into();
        row.extend(RoutingRule::ALL.map(|r| Cell::from(f.cyclic(r).len() as u64)));
        t.push(row);
    }
    t
}

fn measured(study: &LargeScale) -> String {
    let of = |s: &Search| {
        let n = Scheme::WITH_REPAIR.map(|scheme| s.count(scheme));
        let all = study.filtered(s.effort.k).map_or(0, |f| f.networks);
        format!(
            "k = {}: {} networks, {} with a cycle, {} simulated up to {} times. Deadlock cases: PFC {}, CBFC {} of {}. Networks in which flows stop for 5 ms, and permanently: {}",
            s.effort.k,
            all,
            s.cyclic,
            n[0].simulated,
            s.effort.repetitions,
            n[0].cases,
            n[1].cases,
            n[1].simulated,
            Scheme::WITH_REPAIR
                .into_iter()
                .zip(&n)
                .filter(|(s, _)| s.is_gentle())
                .map(|(s, n)| format!("{} and {} of {} ({})", n.standstill, n.for_good, n.simulated, s.title()))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    format!("{}.", study.headline.iter().map(of).collect::<Vec<_>>().join("; "))
}

fn explain(study: &LargeScale, f: &mut Findings) {
    let stuck = &study.stuck;
    if !stuck.is_empty() {
        let still = [Scheme::GfcBuffer, Scheme::GfcTime].map(|s| stands_still(stuck, s));
        f.why.push(format!(
            "GFC never deadlocks by construction: it never pauses a port, so that no cycle of ports waits forever. Under FIFO that does \
             not mean progress. With the traffic that deadlocks PFC, flows are stopped at the end of 60 ms in {} of {} networks under \
             buffer-based GFC. Under time-based GFC they are stopped in {}, and with entry ports (see repair) in {}. The table counts \
             stopped flows separately, and they are judged.",
            still[0],
            stuck.len(),
            still[1],
            stands_still(stuck, Scheme::Repaired)
        ));
    }
    let waits = [Scheme::Pfc, Scheme::Cbfc].map(|scheme| searches(study).map(|s| s.count(scheme).standstill).sum::<u64>());
    let gentle = Scheme::WITH_REPAIR.into_iter().filter(|s| s.is_gentle());
    let good = gentle.map(|scheme| format!("{} {}", scheme.title(), searches(study).map(|s| s.count(scheme).for_good).sum::<u64>()));
    f.why.push(format!(
        "A flow without a byte for 5 ms has not necessarily stopped: a frame behind several full buffers of slow ports waits as long. \
         Under PFC and CBFC flows also wait that long, without a deadlock, in {} and {} networks of these searches. A repetition with \
         such flows therefore continues to 60 ms: flows without a byte by then have stopped permanently. Networks with any such flow: \
         {}. A limit of 1 ms would be less meaningful: Fig. 16 counts how many runs without any cycle have flows without a byte for 1 \
         ms.",
        waits[0],
        waits[1],
        good.collect::<Vec<_>>().join(", ")
    ));
    if let Some((16, filtered)) = study.filtered.iter().find(|(k, _)| *k == 16) {
        let cyclic = filtered.cyclic(RoutingRule::Ecmp).len() as u64;
        let (low, high) = wilson(cyclic, filtered.networks as u64);
        f.why.push(format!(
            "k = 16: {cyclic} of {} networks have a cycle under any choice among shortest paths, {:.1} to {:.1} of 10,000 (95 %). A \
             path must first lose all eight common aggregation switches. The paper's 2 of 10,000 are within that, or its routing takes \
             longer paths.",
            filtered.networks,
            low * 1e4,
            high * 1e4
        ));
    }
    if let Some(s) = study.headline(8).filter(|s| s.count(Scheme::Pfc).simulated > 0) {
        let n = s.count(Scheme::Pfc);
        f.why.push(format!(
            "k = 8: {} of {} simulated networks deadlock in up to {} runs of {} ms each. The cycle needs two long flows at the same \
             time between the few pairs of racks that lost their usual paths.",
            n.cases,
            n.simulated,
            s.effort.repetitions,
            s.effort.duration_us / 1000
        ));
    }
    let times = |scheme| {
        let mut t: Vec<u64> = study.headline.iter().flat_map(|s| &s.cases).filter_map(|c| c.of(scheme)?.deadlock()?.deadlock_ns).collect();
        t.sort_unstable();
        t.get(t.len() / 2).map(|ns| *ns as f64 / 1e6)
    };
    if let (Some(pfc), Some(cbfc)) = (times(Scheme::Pfc), times(Scheme::Cbfc)) {
        f.why.push(format!(
            "Cycles close at {pfc:.1} ms (PFC) and {cbfc:.1} ms (CBFC) into a run, medians over the cases. PFC pauses from 280 KB on. \
             CBFC pauses only when the whole buffer is granted, and so its cycles close later. Traffic that opens the cycle in between \
             deadlocks only PFC."
        ));
    }
    if let Some(s) = study.further.iter().find(|s| s.effort.k == 4 && s.effort.egress == Egress::RoundRobin) {
        let n = Scheme::ALL.map(|scheme| s.count(scheme));
        f.why.extend((n[0].simulated > 0).then(|| {
            format!(
                "The discipline matters: with round robin across ingresses {} of {} networks deadlock under PFC and {} under CBFC.",
                n[0].cases, n[0].simulated, n[1].cases
            )
        }));
    }
}

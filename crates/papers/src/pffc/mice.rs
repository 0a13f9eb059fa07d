//! Completion times of mice beside elephants.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::run::{PFC, PFFC, SHAPE, Scheme, TCP, broken, run};
use crate::lab::{self, Observed};
use crate::stats::{Mean, quantile};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "mice.toml");
/// Elephants have filled the buffers by then [ps].
const SETTLED: f64 = 2e9;
/// Sizes of mice [bytes].
const SIZES: [u64; 2] = [10_000, 100_000];

/// The entry `mice-udp`.
pub fn run_udp(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, "Mice beside UDP elephants", &[("UDP elephants", &[])])
}

/// The entry `mice-tcp`.
pub fn run_tcp(cx: &Context) -> Result<Findings, ReproduceError> {
    // The others are evidence: how the answer depends on what holds an elephant back.
    let small = &["host.acks=per-frame", "host.window=64KB"];
    let dcqcn = &["detection.kind=red", "rate_control.kind=dcqcn"];
    entry(cx, "Mice beside TCP elephants", &[("window 1 MB", &TCP), ("window 64 KB", small), ("DCQCN", dcqcn)])
}

/// Completion times of the mice of a run [ps], of one size or of all; what is not complete counts with its age.
fn times(run: &Observed, size: Option<u64>) -> Vec<f64> {
    let o = &run.outcome;
    let mice = o.flows.iter().filter(|f| SIZES.contains(&f.flow.size) && size.is_none_or(|s| s == f.flow.size));
    let late = mice.filter(|f| lab::ps(f.flow.start) >= SETTLED);
    let mut all: Vec<f64> = late.map(|f| f.received.unwrap_or(o.now).since(f.flow.start).0 as f64).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn entry(cx: &Context, title: &str, elephants: &[(&str, &[&str])]) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(5, 20);
    let schemes = [PFC, PFFC];
    let jobs: Vec<(usize, Scheme, u64)> =
        (0..elephants.len()).flat_map(|e| schemes.iter().flat_map(move |s| (0..seeds).map(move |n| (e, *s, n)))).collect();
    let runs = cx.parallel(&jobs, |(e, scheme, n)| {
        let seed = format!("run.seed={}", cx.seed + n);
        let settings: Vec<&str> = elephants[*e].1.iter().copied().chain([seed.as_str()]).collect();
        run(cx, SCENARIO, *scheme, &settings)
    })?;
    // A value of each seed.
    let by_seed = |e: usize, scheme: Scheme, value: &dyn Fn(&Observed) -> f64| -> Vec<f64> {
        jobs.iter().zip(&runs).filter(|(j, _)| (j.0, j.1) == (e, scheme)).map(|(_, r)| value(r)).collect()
    };
    let mean_of = |size: Option<u64>| move |r: &Observed| Mean::of(times(r, size)).mean;
    let p99_of = |size: Option<u64>| move |r: &Observed| quantile(&times(r, size), 0.99);
    let stops = |e: usize, scheme: Scheme| Mean::of(by_seed(e, scheme, &|r| r.totals("S1->S2").holds as f64)).mean;
    let ratio = |e: usize, size: Option<u64>| Mean::ratio(&by_seed(e, PFC, &mean_of(size)), &by_seed(e, PFFC, &mean_of(size)));
    let all = ratio(0, None);
    let checks = vec![
        Check::new("mean completion time, PFC over PFFC", Unit::None, all.mean, 1.5, 10.0).assuming(SHAPE),
        Check::new("the same, lower end of the 95 % interval", Unit::None, all.low, 1.0, f64::INFINITY).claimed(),
        Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()),
    ];
    let mut table = Table::new(["Elephants", "Flow control", "Mice", "Mean", "99th percentile", "PFC over PFFC", "Stops of S1->S2"])
        .align([Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let kinds: [(&str, Option<u64>); 3] = [("10 KB", Some(SIZES[0])), ("100 KB", Some(SIZES[1])), ("all", None)];
    for (e, (name, _)) in elephants.iter().enumerate() {
        for scheme in schemes {
            for (kind, size) in kinds {
                let time = |v: Vec<f64>| Mean::of(v).words(lab::time);
                let over = if scheme == PFFC { ratio(e, size).words(|v| format!("{v:.2}")) } else { String::new() };
                table.push([
                    (*name).to_owned(),
                    scheme.title.to_owned(),
                    kind.to_owned(),
                    time(by_seed(e, scheme, &mean_of(size))),
                    time(by_seed(e, scheme, &p99_of(size))),
                    over,
                    format!("{:.0}", stops(e, scheme)),
                ]);
            }
        }
    }
    let table = table.caption(format!("Means over {seeds} seeds, with 95 % intervals. Mice that start after 2 ms."));
    // Of one kind of elephants every size, of several all mice beside each.
    let drawn: Vec<(String, usize, Option<u64>)> = match elephants {
        [_] => kinds.iter().map(|(kind, size)| ((*kind).to_owned(), 0, *size)).collect(),
        all => all.iter().enumerate().map(|(e, (name, _))| ((*name).to_owned(), e, None)).collect(),
    };
    let bars = |scheme: Scheme| {
        let of = drawn.iter().map(|(_, e, size)| Bar::new(Mean::of(by_seed(*e, scheme, &mean_of(*size))).mean));
        BarGroup::new(scheme.title, of).colour(scheme.colour)
    };
    let cdf = |scheme: Scheme| {
        let all = jobs.iter().zip(&runs).filter(|(j, _)| (j.0, j.1) == (0, scheme)).flat_map(|(_, r)| times(r, None));
        Mark::cdf(scheme.title, all).colour(scheme.colour)
    };
    let figure = Figure::new(title)
        .caption("The slides: mice are done sooner under PFFC. Right: all mice of all seeds.")
        .panel(
            Panel::new("Mean completion time", Axis::new("", Unit::None), Axis::new("Completion time", Unit::Picoseconds))
                .mark(Mark::bars(drawn.iter().map(|d| d.0.clone()), schemes.map(bars))),
        )
        .panel(
            Panel::new(
                format!("Distribution, {}", elephants[0].0),
                Axis::new("Time", Unit::Picoseconds).log(),
                Axis::new("Share of mice", Unit::Fraction),
            )
            .marks(schemes.map(cdf)),
        )
        .columns(2);
    let notes = (1..elephants.len())
        .filter(|&e| ratio(e, None).mean < 1.0)
        .map(|e| {
            format!(
                "{}: elephants do not fill the buffers, so that PFC stops S1->S2 {:.0} times; PFFC stops every flow above Xoff_s all the same ({:.0} times), mice of 100 KB too, and what it resumes goes before the default queue, in which mice wait. Mice then take longer under PFFC: {} of the time under PFC.",
                elephants[e].0,
                stops(e, PFC),
                stops(e, PFFC),
                Unit::Fraction.format(1.0 / ratio(e, None).mean)
            )
        })
        .collect();
    let words: Vec<String> = elephants
        .iter()
        .enumerate()
        .map(|(e, (name, _))| {
            let time = |scheme| lab::time(Mean::of(by_seed(e, scheme, &mean_of(None))).mean);
            format!("{name}: PFC {}, PFFC {}, ratio {}", time(PFC), time(PFFC), ratio(e, None).words(|v| format!("{v:.2}")))
        })
        .collect();
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

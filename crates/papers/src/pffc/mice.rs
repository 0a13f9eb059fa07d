//! Completion times of mice next to elephants.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::run::{PFC, PFFC, SHAPE, Scheme, broken, run};
use crate::lab::{self, Observed};
use crate::stats::{Mean, quantile};
use crate::{Check, Context, Findings, ReproduceError};

pub(super) const SCENARIO: (&str, &str) = scenario!("pffc", "mice.toml");
/// Elephants have filled the buffers by then [ps].
const SETTLED: f64 = 2e9;
/// Sizes of mice [bytes].
const SIZES: [u64; 2] = [10_000, 100_000];

/// Elephants that nothing holds back but flow control.
pub(super) const UDP: [&str; 2] = ["flow[0].rate_control=false", "flow[1].rate_control=false"];
/// Elephants of TCP, and mice as them.
const TCP: [(&str, &[&str]); 3] = [
    ("CUBIC", &[]),
    ("Reno", &["transport.congestion_control=reno"]),
    ("CUBIC, delayed acknowledgements", &["transport.delayed_ack=40ms"]),
];
/// Elephants that something else holds back.
const HELD: [(&str, &[&str]); 3] = [
    ("CUBIC, receive window 256 KB", &["host.window=256KB"]),
    ("CUBIC, receive window 64 KB", &["host.window=64KB"]),
    ("DCQCN", &["transport.kind=none", "detection.kind=red", "rate_control.kind=dcqcn"]),
];

/// The entry `mice-udp`.
pub fn run_udp(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, "TCP mice next to UDP elephants", &[("UDP elephants", &UDP)], true)
}

/// The entry `mice-tcp`.
pub fn run_tcp(cx: &Context) -> Result<Findings, ReproduceError> {
    let mut found = entry(cx, "TCP mice next to TCP elephants", &TCP, true)?;
    found.notes.push(
        "Nothing is lost, so that slow start does not end and the windows of elephants grow until the buffers are full. From then on \
         flow control alone limits TCP elephants, as it limits UDP elephants, and by the same amount."
            .into(),
    );
    Ok(found)
}

/// The study `mice-held`.
pub fn run_held(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, "TCP mice next to elephants that are limited elsewhere", &HELD, false)
}

/// Completion times of the mice of a run [ps], of one size or of all; what is not complete counts with its age.
pub(super) fn times(run: &Observed, size: Option<u64>) -> Vec<f64> {
    let o = &run.outcome;
    let mice = o.flows.iter().filter(|f| SIZES.contains(&f.flow.size) && size.is_none_or(|s| s == f.flow.size));
    let late = mice.filter(|f| lab::ps(f.flow.start) >= SETTLED);
    let mut all: Vec<f64> = late.map(|f| f.received.unwrap_or(o.now).since(f.flow.start).0 as f64).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// Kinds of elephants, each with its settings.
type Elephants<'a> = [(&'a str, &'a [&'a str])];

const SCHEMES: [Scheme; 2] = [PFC, PFFC];
/// Mice by size; the last is all of them.
const KINDS: [(&str, Option<u64>); 3] = [("10 KB", Some(SIZES[0])), ("100 KB", Some(SIZES[1])), ("all", None)];

fn mean_of(size: Option<u64>) -> impl Fn(&Observed) -> f64 {
    move |r| Mean::of(times(r, size)).mean
}

fn p99_of(size: Option<u64>) -> impl Fn(&Observed) -> f64 {
    move |r| quantile(&times(r, size), 0.99)
}

/// All runs of an entry.
struct Mice {
    /// Elephants, scheme, number of the seed.
    jobs: Vec<(usize, Scheme, u64)>,
    runs: Vec<Observed>,
}

impl Mice {
    fn run(cx: &Context, elephants: &Elephants, seeds: u64) -> Result<Mice, ReproduceError> {
        let jobs: Vec<(usize, Scheme, u64)> =
            (0..elephants.len()).flat_map(|e| SCHEMES.iter().flat_map(move |s| (0..seeds).map(move |n| (e, *s, n)))).collect();
        let runs = cx.parallel(&jobs, |(e, scheme, n)| {
            let seed = format!("run.seed={}", cx.seed + n);
            let settings: Vec<&str> = elephants[*e].1.iter().copied().chain([seed.as_str()]).collect();
            run(cx, SCENARIO, *scheme, &settings)
        })?;
        Ok(Mice { jobs, runs })
    }

    /// A value of each seed.
    fn by_seed(&self, e: usize, scheme: Scheme, value: &dyn Fn(&Observed) -> f64) -> Vec<f64> {
        self.jobs.iter().zip(&self.runs).filter(|(j, _)| (j.0, j.1) == (e, scheme)).map(|(_, r)| value(r)).collect()
    }

    fn stops(&self, e: usize, scheme: Scheme) -> f64 {
        Mean::of(self.by_seed(e, scheme, &|r| r.totals("S1->S2").blocks as f64)).mean
    }

    /// PFC relative to PFFC.
    fn ratio(&self, e: usize, size: Option<u64>) -> Mean {
        Mean::ratio(&self.by_seed(e, PFC, &mean_of(size)), &self.by_seed(e, PFFC, &mean_of(size)))
    }
}

fn table(mice: &Mice, elephants: &Elephants, seeds: u64) -> Table {
    let mut table = Table::new(["Elephants", "Flow control", "Mice", "Mean", "99th percentile", "PFC relative to PFFC", "Stops of S1->S2"])
        .align([Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    for (e, (name, _)) in elephants.iter().enumerate() {
        for scheme in SCHEMES {
            for (kind, size) in KINDS {
                let time = |v: Vec<f64>| Mean::of(v).words(lab::time);
                let over = if scheme == PFFC { mice.ratio(e, size).words(|v| format!("{v:.2}")) } else { String::new() };
                table.push([
                    (*name).to_owned(),
                    scheme.title.to_owned(),
                    kind.to_owned(),
                    time(mice.by_seed(e, scheme, &mean_of(size))),
                    time(mice.by_seed(e, scheme, &p99_of(size))),
                    over,
                    format!("{:.0}", mice.stops(e, scheme)),
                ]);
            }
        }
    }
    table.caption(format!("Means over {seeds} seeds, with 95 % intervals. Mice that start after 2 ms."))
}

fn figure(mice: &Mice, elephants: &Elephants, title: &str) -> Figure {
    // Of one kind of elephants every size, of several all mice next to each.
    let drawn: Vec<(String, usize, Option<u64>)> = match elephants {
        [_] => KINDS.iter().map(|(kind, size)| ((*kind).to_owned(), 0, *size)).collect(),
        all => all
            .iter()
            .enumerate()
            .map(|(e, (name, _))| (name.replace("receive ", "").replace(" acknowledgements", " ACKs"), e, None))
            .collect(),
    };
    let bars = |scheme: Scheme| {
        let of = drawn.iter().map(|(_, e, size)| Bar::new(Mean::of(mice.by_seed(*e, scheme, &mean_of(*size))).mean));
        BarGroup::new(scheme.title, of).colour(scheme.colour)
    };
    let cdf = |scheme: Scheme| {
        let all = mice.jobs.iter().zip(&mice.runs).filter(|(j, _)| (j.0, j.1) == (0, scheme)).flat_map(|(_, r)| times(r, None));
        Mark::cdf(scheme.title, all).colour(scheme.colour)
    };
    let names = drawn.iter().map(|d| d.0.clone());
    completion_times(title, "all mice of all seeds", names, SCHEMES.map(bars), elephants[0].0, SCHEMES.map(cdf))
}

/// Mean completion times as groups of bars, and how those of all mice next to one kind of elephants are distributed.
pub(crate) fn completion_times(
    title: &str,
    right: &str,
    names: impl Iterator<Item = String>,
    means: [BarGroup; 2],
    elephants: &str,
    distributions: [Mark; 2],
) -> Figure {
    Figure::new(title)
        .caption(format!("The slides: mice complete earlier under PFFC. Right: {right}."))
        .panel(
            Panel::new("Mean completion time", Axis::new("", Unit::None), Axis::new("Completion time", Unit::Picoseconds))
                .mark(Mark::bars(names, means)),
        )
        .panel(
            Panel::new(
                format!("Distribution, {elephants}"),
                Axis::new("Time", Unit::Picoseconds).log(),
                Axis::new("Share of mice", Unit::Fraction),
            )
            .marks(distributions),
        )
        .columns(2)
}

/// `claimed`: the slides say that mice are done sooner under PFFC; else it is a finding that they are not.
fn entry(cx: &Context, title: &str, elephants: &Elephants, claimed: bool) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(5, 20);
    let mice = Mice::run(cx, elephants, seeds)?;
    let mut checks = Vec::new();
    for (e, (name, _)) in elephants.iter().enumerate() {
        let what = format!("{name}: mean completion time, PFC relative to PFFC");
        let ratio = mice.ratio(e, None);
        checks.push(match claimed {
            true => Check::mean(what, Unit::None, ratio, 1.0, f64::INFINITY).claimed().assuming(SHAPE),
            false => Check::mean(what, Unit::None, ratio, 0.0, 1.0),
        });
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", mice.runs.iter().map(broken).sum()));
    let table = table(&mice, elephants, seeds);
    let figure = figure(&mice, elephants, title);
    let why: Vec<String> = (0..elephants.len())
        .filter(|&e| mice.ratio(e, None).mean < 1.0)
        .map(|e| {
            format!(
                "{}: elephants do not fill the buffers, so that PFC stops S1->S2 {:.0} times. PFFC nevertheless stops every flow above \
                 Xoff_s ({:.0} times), including mice of 100 KB, and serves resumed flows before the default queue, in which mice wait. \
                 Mice then take longer under PFFC: {} of the time under PFC.",
                elephants[e].0,
                mice.stops(e, PFC),
                mice.stops(e, PFFC),
                Unit::Fraction.format(1.0 / mice.ratio(e, None).mean)
            )
        })
        .collect();
    let words: Vec<String> = elephants
        .iter()
        .enumerate()
        .map(|(e, (name, _))| {
            let time = |scheme| lab::time(Mean::of(mice.by_seed(e, scheme, &mean_of(None))).mean);
            format!("{name}: PFC {}, PFFC {}, ratio {}", time(PFC), time(PFFC), mice.ratio(e, None).words(|v| format!("{v:.2}")))
        })
        .collect();
    // A study asks for no reason.
    let (why, notes) = if claimed { (why, Vec::new()) } else { (Vec::new(), why) };
    Ok(Findings { measured: words.join(". ") + ".", checks, figures: vec![figure], tables: vec![table], why, notes })
}

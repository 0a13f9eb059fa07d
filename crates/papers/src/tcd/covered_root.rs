//! Time from the release of the covered root P2 until it is known to be congested.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::fig2::{self, Detection, Fabric, Load, P0, P2, Setup};
use super::fig03::FABRICS;
use super::fig12::assumption;
use super::fig13::{first_ce, max_ton};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Periods T that are tried [us].
const PERIODS: [u64; 19] = [20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95, 100, 105, 110, 120, 130, 140, 160, 200];

/// The entry.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let base = FABRICS.map(|(f, _)| Setup::new(f, Detection::Tcd, Load::Multiple));
    let mut setups = base.to_vec();
    setups.extend(PERIODS.iter().map(|t| base[0].clone().with([format!("detection.tcd.period={t}us")])));
    let mut runs = fig2::observe(cx, &setups)?;
    let sweep = runs.split_off(2);
    let mut checks = Vec::new();
    let mut sentences = Vec::new();
    for ((fabric, _), run) in FABRICS.into_iter().zip(&runs) {
        let (late, period) = (late(run), max_ton(fabric));
        let name = fabric.name();
        checks.push(
            Check::new(
                format!("{name}: periods T from the release of P2 to its first CE"),
                Unit::Other("periods".into()),
                late / period - 1.0,
                1.0,
                2.0,
            )
            .assuming(assumption(fabric)),
        );
        sentences.push(format!("{name}: {} with T = max(T_on) = {}, {:.1} periods", lab::time(late), lab::time(period), late / period));
    }
    let cee = &runs[0];
    let (off, release) = (fig2::last_off(cee, P2), fig2::last_off(cee, P2) + max_ton(Fabric::Cee));
    let (low, high) = lab::range(&cee.egress(P2), release, first_ce(cee));
    let pauses: Vec<f64> = cee.offs(P0).iter().map(|o| o.0).filter(|t| *t > release).collect();
    let swing = match &pauses[..] {
        [first, .., last] => (last - first) / (pauses.len() - 1) as f64,
        _ => f64::NAN,
    };
    let delays: Vec<f64> = sweep.iter().map(late).collect();
    let within = PERIODS.iter().zip(&delays).filter(|(t, d)| **d <= max_ton(Fabric::Cee) + lab::us(2.0 * **t as f64)).count();
    let longest = delays.iter().copied().fold(0.0, f64::max);
    let never = delays.iter().filter(|d| !d.is_finite()).count();
    let why = vec![
        format!(
            "The queue of a covered root neither grows nor shrinks: PFC limits it at P0 and P1, which offer 50 Gb/s for 40. Between the \
             release and the first CE the queue swings between {} and {} with the pauses of P0, one every {}. The phase of that swing \
             decides whether a sample of the queue is longer than the previous one. T = {} is {:.2} swings, so that the samples move \
             slowly along one slope.",
            lab::bytes(low),
            lab::bytes(high),
            lab::time(swing),
            lab::time(max_ton(Fabric::Cee)),
            max_ton(Fabric::Cee) / swing
        ),
        format!(
            "Other periods T, other settings equal: first CE within max(T_on) + 2 T for {within} of {} values from 20 to 200 us, latest \
             {} after the last OFF{}.",
            PERIODS.len(),
            lab::time(longest),
            if never > 0 { format!(", never in {never}") } else { String::new() }
        ),
        "Replacing \"increases\" by \"The queue length does not decrease\" would not help: the queue swings.".into(),
    ];
    let mut table = Table::new(["T", "First CE after the last OFF", "In periods after max(T_on)", "Within max(T_on) + 2 T"])
        .align([Align::Right, Align::Right, Align::Right, Align::Centre])
        .caption("CEE, the same run with other periods T.");
    for (t, d) in PERIODS.iter().zip(&delays) {
        let (t, rest) = (lab::us(*t as f64), d - max_ton(Fabric::Cee));
        let good = rest <= 2.0 * t;
        table.push([lab::time(t), lab::time(*d), format!("{:.1}", rest / t), if good { "yes" } else { "no" }.to_owned()].map(Cell::from));
    }
    let (from, to) = (off - lab::us(100.0), first_ce(cee) + lab::us(150.0));
    let looks = looks(cee, release, to);
    let queue = Panel::new(
        "CEE: P2's queue around its release",
        Axis::new("Time", Unit::Picoseconds).range(from, to),
        Axis::new("Queue of P2", Unit::Bytes),
    );
    let figure = Figure::new("How long does the covered root stay hidden?")
        .caption(
            "Above: samples of the queue, one per T = 100.4 us from the release on. The queue swings at its limit, and each sample \
            is shorter than the previous one, until one is not. Below: the delay for other periods T.",
        )
        .panel(
            queue
                .mark(Mark::line("queue of P2", cee.egress(P2).into_iter().filter(|p| from <= p.0 && p.0 <= to)))
                .mark(Mark::points("looks", looks))
                .mark(Mark::vline(off, "last OFF"))
                .mark(Mark::vline(first_ce(cee), "first CE")),
        )
        .panel(
            Panel::new(
                "CEE: first CE after the last OFF",
                Axis::new("Period T", Unit::Picoseconds).range(0.0, lab::us(210.0)),
                Axis::new("Delay", Unit::Picoseconds),
            )
            .mark(Mark::points("measured", PERIODS.iter().zip(&delays).map(|(t, d)| (lab::us(*t as f64), *d))))
            .mark(Mark::line(
                "max(T_on) + 2 T",
                PERIODS.iter().map(|t| (lab::us(*t as f64), max_ton(Fabric::Cee) + lab::us(2.0 * *t as f64))),
            )),
        );
    Ok(Findings { measured: sentences.join("; "), checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}

/// From the last OFF before it to the first CE of P2 [ps].
fn late(run: &Observed) -> f64 {
    first_ce(run) - fig2::last_off(run, P2)
}

/// The queue at the looks, by the samples next to them.
fn looks(run: &Observed, release: f64, until: f64) -> Vec<(f64, f64)> {
    let queue = run.egress(P2);
    let times = (0..).map(|i| release + f64::from(i) * max_ton(Fabric::Cee)).take_while(|t| *t < until);
    times.filter_map(|t| queue.iter().find(|p| p.0 >= t).map(|p| (t, p.1))).collect()
}

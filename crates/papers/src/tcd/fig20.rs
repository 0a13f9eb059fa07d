//! Fig. 20: four flows that pass the undetermined port P2, and their shares.

use xoff_mech::detection::{Mark as Marking, PortState};
use xoff_report::{Align, Axis, Cell, Colour, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;

use super::fig2::{self, P2, P3};
use super::fig12::share;
use super::second_reading;
use crate::lab::{self, Observed, Points};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("tcd", "fairness.toml");
/// Over which rates are compared: some ten periods of PFC, and enough frames to distinguish rates [ps].
const WINDOW: f64 = 5e8;
/// Additional settings of TIMELY.
const TIMELY: [&str; 2] = ["rate_control=timely", "host.acks=per-frame"];
/// The egress of ns3-rdma.
const IN_ORDER: &str = "switch.discipline=fifo";
/// Assumption behind the start.
const START: &str = "B0 to B3 start 200 us after the bursts, when P2 is already paused. From time zero on, four flows at line rate \
    would make P2 a congestion point before any pause can reach it.";
/// Assumption behind DCQCN's cuts.
const CUTS: &str = "a CNP (BECN) of UE holds DCQCN's rate, and cuts are those of DCQCN. With the deeper cuts of section 5.2.1 F1 is \
    slow before P2 is ever paused (see alpha-1.2).";
/// Colours of B0 to B3, apart from those of the states.
const COLOURS: [Colour; 4] = [Colour::Blue, Colour::Purple, Colour::Sky, Colour::Grey];
/// Part of the run over which the end is measured [ps].
const END: f64 = 4e10;

/// The entry with DCQCN.
pub fn run_dcqcn(cx: &Context) -> Result<Findings, ReproduceError> {
    let deeper = "rate_control.dcqcn.tcd=true";
    let jobs: [Job; 5] = [
        ("200 us after the bursts", vec![]),
        ("from time zero", vec!["workload[0].start=0us"]),
        ("deeper cuts, round robin", vec![deeper]),
        ("deeper cuts, FIFO", vec![deeper, IN_ORDER]),
        ("deeper cuts, one queue per ingress", vec![deeper, "switch.discipline=input-fifo"]),
    ];
    let (mut found, seen) = entry(cx, "DCQCN", &jobs, CUTS)?;
    let (in_order, _) = entry(cx, "DCQCN", &[("under FIFO", vec![IN_ORDER])], CUTS)?;
    let until = |s: &Seen| if s.released.is_finite() { format!("until {}", lab::time(s.released)) } else { "never".to_owned() };
    found.why = vec![
        from_zero(&seen[1]),
        format!(
            "With the deeper cuts of section 5.2.1, P2 is undetermined as follows: {} if the egress serves its ingresses round robin, {} under FIFO \
             and {} with one queue per ingress: F1 is slowed down before its backlog reaches P2.",
            until(&seen[2]),
            until(&seen[3]),
            until(&seen[4])
        ),
    ];
    second_reading::add(&mut found, &in_order.checks);
    Ok(found)
}

/// The entry with TIMELY.
pub fn run_timely(cx: &Context) -> Result<Findings, ReproduceError> {
    let timely = |more: &[&'static str]| [&TIMELY[..], more].concat();
    let jobs: [Job; 4] = [
        ("200 us after the bursts", timely(&[])),
        ("from time zero", timely(&["workload[0].start=0us"])),
        ("T_high 5 ms", timely(&["rate_control.timely.t_high=5ms"])),
        ("without TCD's rule", timely(&["rate_control.timely.tcd=false"])),
    ];
    let (mut found, seen) = entry(cx, "TIMELY", &jobs, START)?;
    let (in_order, _) = entry(cx, "TIMELY", &[("under FIFO", timely(&[IN_ORDER]))], START)?;
    found.why = vec![
        format!(
            "TCD keeps TIMELY's rate only if T_low < RTT < T_high and the gradient is positive. While P2 is paused, 320 KB of each flow \
             wait in L0 and leave at 2 to 3 Gb/s. The RTT is then about 1 ms, above T_high = 500 us, and TIMELY cuts regardless of the \
             mark. B0 to B3 therefore change their rates {} times before P2 is released, down to {}. With T_high = 5 ms they change {} \
             times; without TCD's rule {} times, down to {}.",
            seen[0].changes,
            lab::rate(seen[0].lowest),
            seen[2].changes,
            seen[3].changes,
            lab::rate(seen[3].lowest)
        ),
        from_zero(&seen[1]),
    ];
    second_reading::add(&mut found, &in_order.checks);
    Ok(found)
}

/// The paper's start taken literally.
fn from_zero(zero: &Seen) -> String {
    format!(
        "\"At the same time when bursts start\", taken literally, makes P2 a congestion point at once. Four flows at 40 Gb/s fill it \
         past 200 KB within 15 us, and B0 to B3 get {} CE and {} rate changes before P2 is released. Here they start when P2 is already \
         paused, like F0 and F2 in section 3.1.",
        zero.early_ce, zero.changes
    )
}

/// A run: its name and its settings.
type Job<'a> = (&'a str, Vec<&'static str>);

/// Runs the jobs; the first is the entry's, the others are for the table.
fn entry(cx: &Context, control: &str, jobs: &[Job], assumed: &str) -> Result<(Findings, Vec<Seen>), ReproduceError> {
    let runs = cx.parallel(jobs, |(_, more)| {
        let seed = format!("run.seed={}", cx.seed);
        let settings: Vec<&str> = std::iter::once(seed.as_str()).chain(more.iter().copied()).collect();
        lab::run(cx, SCENARIO.0, SCENARIO.1, &settings)
    })?;
    let seen: Vec<Seen> = runs.iter().map(Seen::of).collect();
    let (s, run) = (&seen[0], &runs[0]);
    let with = |c: Check| c.claimed().assuming(assumed);
    let mut checks = vec![
        with(Check::new("P2 is undetermined until", Unit::Picoseconds, s.released, lab::ms(0.5), lab::ms(4.0))),
        with(Check::new("share of the time before P2's release in which P2 is undetermined", Unit::Fraction, s.undetermined, 0.9, 1.0)),
        with(Check::none("CE on B0 to B3 before P2's release", "frames", s.early_ce)),
        with(Check::none("changes of the rates of B0 to B3 before P2's release", "changes", s.changes)),
        with(Check::new("smallest Jain's index of B0 to B3 in 0.5 ms before P2's release", Unit::None, s.jain_held, 0.98, 1.0)),
        with(Check::new("Jain's index of B0 to B3 over the last 40 ms", Unit::None, index(&s.last), 0.98, 1.0)),
    ];
    for (i, rate) in s.last.iter().enumerate() {
        checks.push(Check::new(format!("rate of B{i} over the last 40 ms"), Unit::BitsPerSecond, *rate, 7.2e9, 8.8e9).paper(8e9));
    }
    checks.push(Check::none("frames lost", "frames", run.lost()));
    let measured = format!(
        "P2 is undetermined until {}. Until then {} rate changes and {} CE on B0 to B3, and Jain's index at least {:.4}. Over the last \
         40 of 100 ms {}, F1 {}; Jain's index {:.4} (in any 0.5 ms at least {:.4}).",
        lab::time(s.released),
        s.changes,
        s.early_ce,
        s.jain_held,
        s.last.iter().map(|r| lab::rate(*r)).collect::<Vec<_>>().join(", "),
        lab::rate(s.f1),
        index(&s.last),
        s.jain_after
    );
    let heading = [
        control,
        "P2 undetermined until",
        "CE until then",
        "Rate changes until then",
        "Lowest rate until then",
        "Jain's index until then",
        "After it",
        "B0",
        "B1",
        "B2",
        "B3",
        "F1",
    ];
    let mut table = Table::new(heading)
        .align([Align::Left].into_iter().chain([Align::Right; 11]))
        .caption("Smallest Jain's index of B0 to B3 over 0.5 ms; rates over the last 40 of 100 ms.");
    for ((name, _), s) in jobs.iter().zip(&seen) {
        let mut row = vec![
            Cell::from(*name),
            lab::time(s.released).into(),
            s.early_ce.into(),
            s.changes.into(),
            lab::rate(s.lowest).into(),
            number(s.jain_held).into(),
            number(s.jain_after).into(),
        ];
        row.extend(s.last.iter().chain([&s.f1]).map(|r| Cell::from(lab::rate(*r))));
        table.push(row);
    }
    Ok((Findings { measured, checks, figures: vec![figure(control, run)], tables: vec![table], ..Findings::default() }, seen))
}

/// An index, if there is one.
fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:.4}") } else { "n/a".into() }
}

/// Measurements of one run.
struct Seen {
    /// P2's last UE while the bursts last: it is released then [ps].
    released: f64,
    /// Share of the time until then, from the end of the first OFF on, in which P2 is undetermined.
    undetermined: f64,
    /// CE of P2 on B0 to B3 until then.
    early_ce: u64,
    /// Changes of their rates until then, as rate control has them.
    changes: u64,
    /// Lowest rate until then [bit/s].
    lowest: f64,
    /// Smallest Jain's index until then, and after it.
    jain_held: f64,
    jain_after: f64,
    /// Rates of B0 to B3 at the end [bit/s].
    last: Vec<f64>,
    /// Rate of F1 at the end [bit/s].
    f1: f64,
}

impl Seen {
    fn of(run: &Observed) -> Seen {
        let b = flows(run);
        let end = lab::ps(run.outcome.now);
        let marks = run.marks(P2);
        let released = marks.iter().rfind(|m| m.mark == Marking::Ue && m.time < lab::ms(6.0)).map_or(f64::NAN, |m| m.time);
        let began = run.offs(P2).first().map_or(f64::NAN, |o| o.1);
        let early_ce = marks.iter().filter(|m| m.mark == Marking::Ce && m.time <= released && b.contains(&m.flow)).count() as u64;
        let before = |f: u32| run.flow_rate(f, RateSource::RateControl).into_iter().filter(|p| p.0 <= released);
        let slowest = |f: u32| before(f).map(|p| p.1).fold(f64::INFINITY, f64::min);
        let rates: Vec<Points> = b.iter().map(|f| windows(&run.flow_rate(*f, RateSource::Measured), end)).collect();
        // The first window has the start in it.
        let jain: Points = (1..rates[0].len()).map(|i| (rates[0][i].0, index(&rates.iter().map(|r| r[i].1).collect::<Vec<_>>()))).collect();
        let least = |from: f64, to: f64| jain.iter().filter(|j| from < j.0 && j.0 <= to).map(|j| j.1).fold(f64::INFINITY, f64::min);
        let mean = |f: u32| lab::mean(&run.flow_rate(f, RateSource::Measured), end - END, end);
        Seen {
            released,
            undetermined: share(run, P2, PortState::Undetermined, began, released),
            early_ce,
            changes: b.iter().map(|f| before(*f).count() as u64).sum(),
            lowest: b.iter().map(|f| slowest(*f)).fold(40e9, f64::min),
            jain_held: least(0.0, released),
            jain_after: least(released, end),
            last: b.iter().map(|f| mean(*f)).collect(),
            f1: mean(fig2::number(run, "S1")),
        }
    }
}

/// Left the first 6 ms as sampled, right the whole run in means over 0.5 ms.
fn figure(control: &str, run: &Observed) -> Figure {
    let spans = [(lab::ms(6.0), true), (lab::ps(run.outcome.now), false)];
    let mut figure = Figure::new(format!("B0 to B3 share an undetermined port, {control} (paper: Fig. 20)"))
        .caption(
            "Left: the first 6 ms. Right: all 100 ms. The paper: while P2 is undetermined, rate control keeps its rates, and \
            head-of-line blocking limits the throughput of all flows equally. Once P2 is congested, each flow has 8 Gb/s.",
        )
        .columns(2);
    for (until, sampled) in spans {
        let of = |f: u32| -> Points {
            let points = run.flow_rate(f, RateSource::Measured);
            if sampled { fig2::first(points, until).collect() } else { windows(&points, until) }
        };
        let mut panel = Panel::new(
            if sampled { "During the bursts" } else { "After them" },
            fig2::time(until),
            Axis::new("Throughput", Unit::BitsPerSecond).range(0.0, 14e9),
        );
        for (i, f) in flows(run).iter().enumerate() {
            panel = panel.mark(Mark::line(format!("B{i}"), of(*f)).colour(COLOURS[i]));
        }
        let other = Mark::line("F1", of(fig2::number(run, "S1"))).colour(Colour::Vermilion).dashed();
        figure = figure.panel(panel.mark(other).mark(Mark::hline(8e9, "paper: 8 Gb/s")));
    }
    for (until, _) in spans {
        let mut panel = Panel::new("", fig2::time(until), Axis::new("Rate of rate control", Unit::BitsPerSecond).range(0.0, 42e9));
        for (i, f) in flows(run).iter().enumerate() {
            let start = [(lab::us(200.0), 40e9)].into_iter();
            let all: Points = start.chain(fig2::first(run.flow_rate(*f, RateSource::RateControl), until)).collect();
            let end = all.last().map(|p| (until, p.1));
            panel = panel.mark(Mark::steps(format!("B{i}"), all.into_iter().chain(end)).colour(COLOURS[i]));
        }
        figure = figure.panel(panel);
    }
    for (until, _) in spans {
        let ports = [("P2", P2), ("P3", P3)];
        let lanes = Mark::lanes(ports.map(|p| p.0), fig2::state_lanes(run, &ports, until));
        figure = figure.panel(Panel::new("State of the port", fig2::time(until), Axis::new("", Unit::None)).mark(lanes));
    }
    figure
}

/// Numbers of B0 to B3's flows.
fn flows(run: &Observed) -> Vec<u32> {
    (0..4).map(|i| fig2::number(run, &format!("B{i}"))).collect()
}

/// Means over [`WINDOW`]: end of the window, mean.
fn windows(points: &[(f64, f64)], until: f64) -> Points {
    let ends = (1..).map(|i| f64::from(i) * WINDOW).take_while(|end| *end <= until);
    ends.map(|end| (end, lab::mean(points, end - WINDOW, end))).filter(|p| p.1.is_finite()).collect()
}

/// Jain's index.
fn index(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    sum * sum / (rates.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    #[test]
    fn jains_index() {
        assert_eq!(super::index(&[8e9; 4]), 1.0);
        assert_eq!(super::index(&[1.0, 0.0, 0.0, 0.0]), 0.25);
    }
}

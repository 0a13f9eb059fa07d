//! Eq. (4): how long a port is ON where credits come once per period.

use xoff_mech::flow_control::on_off::ton_by_period;
use xoff_report::{Align, Axis, Cell, Colour, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Span, Time};

use super::fig2::P2;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("tcd", "credits.toml");
/// Hosts that share P3 with what comes through P2.
const RIVALS: [u64; 4] = [1, 2, 3, 7];
/// T_c [us].
const PERIODS: [u64; 2] = [20, 40];
/// From then on the queues behind P2 are full.
const SETTLED: Time = Time::from_us(2000);
const ASSUMING: &str = "R_i is the rate at which the port sends while it is ON: the line rate, because it is always backlogged here. \
    R_d is an equal share of P3.";

/// ON periods of P2 between two stops.
struct Seen {
    rivals: u64,
    period: Span,
    /// T_on by Eq. (4) [ps].
    expected: f64,
    /// Measured [ps].
    periods: Vec<f64>,
}

impl Seen {
    fn of(rivals: u64, us: u64, run: &Observed) -> Seen {
        let offs: Vec<(f64, f64)> = run.offs(P2).into_iter().filter(|off| off.0 > lab::ps(SETTLED)).collect();
        let periods = offs.windows(2).map(|w| w[1].0 - w[0].1).collect();
        let (share, period) = (1.0 / (rivals + 1) as f64, Span::from_us(us));
        Seen { rivals, period, expected: ton_by_period(period, share, 1.0 - share).0 as f64, periods }
    }
    fn mean(&self) -> f64 {
        self.periods.iter().sum::<f64>() / self.periods.len() as f64
    }
    fn longest(&self) -> f64 {
        self.periods.iter().copied().fold(f64::NAN, f64::max)
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let cases: Vec<(u64, u64)> = PERIODS.iter().flat_map(|us| RIVALS.map(|rivals| (rivals, *us))).collect();
    let seen = cx.parallel(&cases, |(rivals, us)| {
        // Each of them sends to R1 forever, as the scenario's A0 does.
        let more = (1..*rivals).flat_map(|n| [format!("flow[{}].src=A{n}", n + 1), format!("flow[{}].dst=R1", n + 1)]);
        let settings: Vec<String> =
            [format!("topology.burst_hosts={rivals}"), format!("flow_control.period={us}us")].into_iter().chain(more).collect();
        Ok(Seen::of(*rivals, *us, &lab::run(cx, SCENARIO.0, SCENARIO.1, &settings)?))
    })?;
    let mut f = Findings::default();
    for s in &seen {
        let what = format!("T_c {}, R_d = C/{}", s.period, s.rivals + 1);
        let share = Check::near(format!("{what}: mean T_on of P2"), Unit::Picoseconds, s.mean(), s.expected, 0.05);
        f.checks.push(share.assuming(ASSUMING));
        let below = Check::new(format!("{what}: longest T_on over T_c"), Unit::None, s.longest() / s.period.0 as f64, 0.0, 1.0);
        f.checks.push(below.claimed());
    }
    let words: Vec<String> = seen.iter().map(|s| format!("{} for {}", lab::time(s.mean()), lab::time(s.expected))).collect();
    f.measured = format!("mean T_on of P2, measured for computed: {}", words.join(", "));
    f.tables.push(table(&seen));
    f.figures.push(figure(&seen));
    Ok(f)
}

fn table(seen: &[Seen]) -> Table {
    let mut t = Table::new(["T_c", "R_d", "ON periods", "T_on by Eq. (4)", "Mean T_on", "Longest T_on"]).align([Align::Right; 6]).caption(
        "ON periods of P2 between two pauses, from 2 ms on, when the queues behind it are full. Other flows share P3 with the traffic \
         through P2.",
    );
    for s in seen {
        let row: [Cell; 6] = [
            s.period.to_string().into(),
            format!("C/{}", s.rivals + 1).into(),
            s.periods.len().to_string().into(),
            lab::time(s.expected).into(),
            lab::time(s.mean()).into(),
            lab::time(s.longest()).into(),
        ];
        t.push(row);
    }
    t
}

fn figure(seen: &[Seen]) -> Figure {
    let mut panel = Panel::new("", Axis::new("R_d/C", Unit::Fraction), Axis::new("T_on", Unit::Picoseconds));
    for (us, colour) in PERIODS.into_iter().zip([Colour::Vermilion, Colour::Blue]) {
        let of = |value: fn(&Seen) -> f64| {
            let mut points: Vec<(f64, f64)> =
                seen.iter().filter(|s| s.period == Span::from_us(us)).map(|s| (1.0 / (s.rivals + 1) as f64, value(s))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        panel = panel
            .mark(Mark::line(format!("Eq. (4), T_c {us} us"), of(|s| s.expected)).colour(colour))
            .mark(Mark::points("measured", of(Seen::mean)).colour(colour));
    }
    Figure::new("T_on if credits arrive once per period (paper: Eq. (4))")
        .caption("ON periods of P2, which uses up its credits before new ones arrive: the more flows share P3, the shorter they are.")
        .panel(panel)
}

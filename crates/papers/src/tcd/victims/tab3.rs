//! Table 3: victims that are marked CE.

use xoff_report::{Align, Axis, Cell, Colour, Figure, Mark, Panel, Table, Unit};

use super::{ETHERNET, FLOW_BINS, HADOOP_MEAN, INFINIBAND, LOAD, MESSAGE_BINS, MPI_IO_MEAN, VICTIMS, gap, picks};
use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Plan, Results};
use crate::tcd::schemes::{DCQCN, DCQCN_NP_ECN, DCQCN_TCD, IB_CC, IB_CC_TCD, Scheme};
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// A detector on a network.
struct Row {
    name: &'static str,
    file: &'static str,
    scheme: Scheme,
    /// The paper's share.
    paper: Option<f64>,
    colour: Colour,
}

const ROWS: [Row; 5] = [
    Row { name: "ECN (Ethernet)", file: ETHERNET, scheme: DCQCN, paper: Some(0.266), colour: Colour::Vermilion },
    Row { name: "NP-ECN (Ethernet)", file: ETHERNET, scheme: DCQCN_NP_ECN, paper: None, colour: Colour::Orange },
    Row { name: "TCD (Ethernet)", file: ETHERNET, scheme: DCQCN_TCD, paper: Some(0.0), colour: Colour::Blue },
    Row { name: "FECN (InfiniBand)", file: INFINIBAND, scheme: IB_CC, paper: Some(0.135), colour: Colour::Purple },
    Row { name: "TCD (InfiniBand)", file: INFINIBAND, scheme: IB_CC_TCD, paper: Some(0.0), colour: Colour::Green },
];

impl Row {
    fn mean(&self) -> f64 {
        if self.file == ETHERNET { HADOOP_MEAN } else { MPI_IO_MEAN }
    }
    fn settings(&self, senders: f64, bursts: f64) -> Vec<String> {
        vec![format!("workload[0].load={senders}"), format!("workload[1].load={senders}"), gap(self.mean(), bursts)]
    }
}

/// The loads that are tried: senders, bursts.
fn loads(mode: Mode) -> (&'static [f64], &'static [f64]) {
    mode.pick((&[0.4], &[0.5, 1.0, 1.4]), (&[0.2, 0.4, 0.6], &[0.2, 0.5, 0.8, 1.0, 1.2, 1.4]))
}

/// The runs.
struct Runs {
    /// Loads that are tried.
    senders: &'static [f64],
    bursts: &'static [f64],
    /// Results by detector, load of the senders, load of the bursts.
    series: Vec<Vec<Vec<Series>>>,
    /// Results by detector, at the loads of the scenario.
    there: Vec<Series>,
    /// TCD that looks at the trend of a queue for longer.
    patient: Series,
    results: Results,
}

/// Seeds of [`Runs::there`].
const MANY: u64 = 10;

fn percent(v: f64) -> String {
    Unit::Fraction.format(v)
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx)?;
    let mut f = Findings {
        checks: runs.checks(),
        figures: vec![runs.figure()],
        tables: vec![table(&runs.results, &runs.series, runs.senders, runs.bursts)],
        ..Findings::default()
    };
    runs.write_findings(&mut f);
    if cx.mode == Mode::Quick {
        f.notes.push("Quick: three loads of the bursts and one of the senders, two seeds each.".into());
    }
    Ok(f)
}

impl Runs {
    fn measure(cx: &Context) -> Result<Runs, ReproduceError> {
        let seeds = cx.mode.pick(2, 3);
        let (senders, bursts) = loads(cx.mode);
        let mut plan = Plan::default();
        let series: Vec<Vec<Vec<Series>>> = ROWS
            .iter()
            .map(|row| {
                let groups = picks(if row.file == ETHERNET { FLOW_BINS } else { MESSAGE_BINS });
                senders
                    .iter()
                    .map(|s| bursts.iter().map(|b| plan.series(cx, seeds, row.file, &row.scheme, &row.settings(*s, *b), &groups)).collect())
                    .collect()
            })
            .collect();
        // Where the paper's number is looked for: the loads that stand in the scenario, and more seeds.
        let defaults = |row: &Row| picks(if row.file == ETHERNET { FLOW_BINS } else { MESSAGE_BINS });
        let there: Vec<Series> = ROWS.iter().map(|row| plan.series(cx, MANY, row.file, &row.scheme, &[], &defaults(row))).collect();
        // What is left of TCD's wrong marks where it looks at the trend of a queue for longer.
        let patient = plan.series(cx, MANY, ETHERNET, &DCQCN_TCD, &["detection.tcd.period=1ms".into()], &picks(FLOW_BINS));
        Ok(Runs { senders, bursts, series, there, patient, results: plan.run(cx)? })
    }

    /// Part of the victims that are marked CE.
    fn share(&self, row: usize, s: usize, b: usize) -> Mean {
        self.results.mean(self.series[row][s][b], VICTIMS, |g| g.ce_share())
    }
    /// The same at the loads that stand in the scenario.
    fn share_there(&self, row: usize) -> Mean {
        self.results.mean(self.there[row], VICTIMS, |g| g.ce_share())
    }

    fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for (row, (low, high)) in [(0, (0.10, 0.40)), (2, (0.0, 0.005)), (3, (0.05, 0.25)), (4, (0.0, 0.005))] {
            let what = format!("{}: victims marked CE", ROWS[row].name);
            let check = Check::mean(what, Unit::Fraction, self.share_there(row), low, high).paper(ROWS[row].paper.unwrap_or(f64::NAN));
            checks.push(check.assuming(LOAD));
        }
        checks.extend(self.results.soundness());
        checks
    }

    fn write_findings(&self, f: &mut Findings) {
        let words: Vec<String> =
            ROWS.iter().enumerate().map(|(r, row)| format!("{} {}", row.name, self.share_there(r).words(percent))).collect();
        f.measured = format!(
            "Victims marked CE with the senders at 40 % and bursts that offer P3 127 % (Ethernet) or 70 % (InfiniBand), mean of {MANY} seeds (95 % interval): {}.",
            words.join(", ")
        );
        f.notes.extend([0, 3].map(|row| self.where_found(row)));
        f.notes.extend([2, 4].map(|row| self.worst(row)));
        let inside = |s: Series| {
            let of = |port: usize| self.results.total(s, |t| t.marked_inside[port] as f64).mean;
            format!("{:.0} frames at P0 and {:.0} at P2 in a run", of(0), of(1))
        };
        f.notes.push(format!(
            "If S0 and S1 are both backlogged after a pause, their 2 x 20 Gb/s load P0 and P2 to exactly 40 Gb/s. The queue left by the \
         pause stays constant, plus or minus one frame, and one more frame counts as growth. TCD therefore marks {} CE (ECN {}). With a \
         period T of 1 ms instead of max(T_on) = 100.4 us it marks {}, and {} of the victims.",
            inside(self.there[2]),
            inside(self.there[0]),
            inside(self.patient),
            self.results.mean(self.patient, VICTIMS, |g| g.ce_share()).words(percent)
        ));
        f.notes.push(
            "NP-ECN has its own threshold here (any queue), and DCQCN reacts to each of its marks. The receiver of PCN, which \
            demands 95 % marked packets, is not modelled."
                .into(),
        );
    }

    /// The loads at which a detector marks what the paper says.
    fn where_found(&self, row: usize) -> String {
        let paper = ROWS[row].paper.unwrap_or(f64::NAN);
        let found: Vec<String> = (0..self.senders.len())
            .map(|s| {
                let curve: Vec<(f64, f64)> = self.bursts.iter().enumerate().map(|(b, load)| (*load, self.share(row, s, b).mean)).collect();
                let at: Vec<String> = crossings(&curve, paper).into_iter().map(percent).collect();
                let at = if at.is_empty() {
                    let (low, high) = curve.iter().fold((f64::INFINITY, 0.0f64), |(l, h), p| (l.min(p.1), h.max(p.1)));
                    format!("at none ({} to {})", percent(low), percent(high))
                } else {
                    format!("at {}", at.join(" and "))
                };
                format!("senders at {}: {at}", percent(self.senders[s]))
            })
            .collect();
        format!("The paper's {} of {} appears with bursts at these loads of P3: {}.", percent(paper), ROWS[row].name, found.join("; "))
    }

    /// The load at which a detector marks most.
    fn worst(&self, row: usize) -> String {
        let all = (0..self.senders.len()).flat_map(|s| (0..self.bursts.len()).map(move |b| (s, b)));
        let (most, s, b) = all
            .map(|(s, b)| (self.share(row, s, b).mean, self.senders[s], self.bursts[b]))
            .fold((0.0, f64::NAN, f64::NAN), |w, v| if v.0 > w.0 { v } else { w });
        if most > 0.0 {
            format!(
                "{}: the largest share at any load is {}, with senders at {} and bursts at {}.",
                ROWS[row].name,
                percent(most),
                percent(s),
                percent(b)
            )
        } else {
            format!("{}: no victim is marked CE at any of these loads.", ROWS[row].name)
        }
    }

    fn figure(&self) -> Figure {
        let interval = |row: usize| {
            let m = self.share_there(row);
            xoff_report::Bar::with_interval(m.mean, m.low.max(0.0), m.high).reference(ROWS[row].paper.unwrap_or(f64::NAN))
        };
        let bars = Mark::bars(
            ROWS.iter().map(|r| r.name),
            [xoff_report::BarGroup::new("here", (0..ROWS.len()).map(interval)).colour(Colour::Blue)],
        )
        .bar_reference("paper");
        let y = || Axis::new("Victims marked CE", Unit::Fraction);
        let mut figure = Figure::new("Victims marked CE (paper: Table 3)")
            .caption(
                "S0's flows never pass a congested port, so that every CE mark is wrong. Above: with the senders at 40 % and bursts \
            that offer P3 127 % (Ethernet) or 70 % (InfiniBand), with 95 % intervals over seeds. Below: over the load, which the paper \
            does not state.",
            )
            .panel(Panel::new("", Axis::new("", Unit::None), y()).mark(bars));
        for (s, load) in self.senders.iter().enumerate() {
            let lines = ROWS.iter().enumerate().map(|(r, row)| {
                Mark::line(row.name, self.bursts.iter().enumerate().map(|(b, load)| (*load, self.share(r, s, b).mean))).colour(row.colour)
            });
            figure = figure.panel(
                Panel::new(format!("S0 and S1 at {}", percent(*load)), Axis::new("Load of P3 by bursts", Unit::Fraction), y())
                    .marks(lines)
                    .mark(Mark::hline(0.266, "paper, ECN: 26.6 %"))
                    .mark(Mark::hline(0.135, "paper, FECN: 13.5 %")),
            );
        }
        figure
    }
}

/// Point at which a curve crosses a level, linear between its points.
pub fn crossings(curve: &[(f64, f64)], level: f64) -> Vec<f64> {
    let between = |w: &[(f64, f64)]| {
        let ((x0, y0), (x1, y1)) = (w[0], w[1]);
        ((y0 < level) != (y1 < level)).then(|| x0 + (level - y0) / (y1 - y0) * (x1 - x0))
    };
    curve.windows(2).filter_map(between).collect()
}

fn table(results: &Results, series: &[Vec<Vec<Series>>], senders: &[f64], bursts: &[f64]) -> Table {
    let columns =
        ["Detector", "Senders", "Bursts", "Victims", "Marked CE", "Marked UE", "Mean completion time of victims", "Stops of ports"];
    let mut t = Table::new(columns)
        .align([Align::Left].into_iter().chain([Align::Right; 7]))
        .caption("Victims are all flows of S0. Shares are means over seeds with 95 % intervals; stops cover all ports of the network.");
    let percent = |v: f64| Unit::Fraction.format(v);
    for (r, row) in ROWS.iter().enumerate() {
        for (s, sender) in senders.iter().enumerate() {
            for (b, burst) in bursts.iter().enumerate() {
                let one = series[r][s][b];
                let cells: [Cell; 8] = [
                    row.name.into(),
                    percent(*sender).into(),
                    percent(*burst).into(),
                    results.flows(one, VICTIMS).into(),
                    results.mean(one, VICTIMS, |g| g.ce_share()).words(percent).into(),
                    results.mean(one, VICTIMS, |g| g.ue_share()).words(percent).into(),
                    Unit::Picoseconds.format(results.mean(one, VICTIMS, |g| g.fct()).mean).into(),
                    format!("{:.0}", results.total(one, |t| t.pauses as f64).mean).into(),
                ];
                t.push(cells);
            }
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_found_between_points() {
        let found = crossings(&[(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)], 0.5);
        assert_eq!(found, [0.25, 0.75]);
        assert!(crossings(&[(0.0, 0.1), (1.0, 0.2)], 0.5).is_empty());
    }
}

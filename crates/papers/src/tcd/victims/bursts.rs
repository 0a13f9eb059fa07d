//! Figs. 15(b) and 18(b): victims of bursts of one size.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::{BURSTS, FLOW_BINS, VICTIMS, burst_load, picks};
use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Plan, Results};
use crate::tcd::schemes::{DCQCN, DCQCN_TCD, Scheme, TIMELY, TIMELY_TCD};
use crate::{Check, Context, Findings, Mode, ReproduceError};

/// Mean time between bursts: with it, 250 KB overload P3, as the paper says [us].
const GAP_US: f64 = 722.0;
const LOAD: &str = "the load is not stated in the paper. S0 and S1 use 40 % of their links, and a burst starts every 722 us on average, \
    so that 250 KB overload P3 as in the paper.";

/// The entry of Fig. 15(b).
pub fn run_fig15b(cx: &Context) -> Result<Findings, ReproduceError> {
    study(cx, "Victims of bursts of one size, DCQCN (paper: Fig. 15b)", &DCQCN, &DCQCN_TCD)
}

/// The entry of Fig. 18(b).
pub fn run_fig18b(cx: &Context) -> Result<Findings, ReproduceError> {
    study(cx, "Victims of bursts of one size, TIMELY (paper: Fig. 18b)", &TIMELY, &TIMELY_TCD)
}

/// The runs: without and with TCD, by size of the bursts.
struct Runs<'a> {
    without: &'a Scheme,
    with: &'a Scheme,
    seeds: u64,
    /// [KB]
    sizes: &'static [u64],
    series: Vec<[Series; 2]>,
    results: Results,
}

fn times(v: f64) -> String {
    format!("{v:.2}x")
}

fn percent(v: f64) -> String {
    Unit::Fraction.format(v)
}

fn study(cx: &Context, title: &str, without: &Scheme, with: &Scheme) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx, without, with)?;
    let mut f = Findings { checks: runs.checks(), figures: vec![runs.figure(title)], tables: vec![runs.table()], ..Findings::default() };
    runs.write_findings(&mut f);
    if cx.mode == Mode::Quick {
        f.notes.push(format!("Quick: {} sizes and {} seeds.", runs.sizes.len(), runs.seeds));
    }
    Ok(f)
}

impl<'a> Runs<'a> {
    fn measure(cx: &Context, without: &'a Scheme, with: &'a Scheme) -> Result<Runs<'a>, ReproduceError> {
        let seeds = cx.mode.pick(3, 5);
        let sizes: &'static [u64] = cx.mode.pick(&[16, 64, 120, 250], &[8, 16, 32, 48, 64, 80, 100, 120, 150, 200, 250]);
        let groups = picks(FLOW_BINS);
        let mut plan = Plan::default();
        let series: Vec<[Series; 2]> = sizes
            .iter()
            .map(|kb| [without, with].map(|scheme| plan.series(cx, seeds, BURSTS, scheme, &[format!("workload[2].size={kb}KB")], &groups)))
            .collect();
        Ok(Runs { without, with, seeds, sizes, series, results: plan.run(cx)? })
    }

    fn fct(&self, at: usize, which: usize) -> Mean {
        self.results.mean(self.series[at][which], VICTIMS, |g| g.fct())
    }
    fn ue(&self, at: usize) -> Mean {
        self.results.mean(self.series[at][1], VICTIMS, |g| g.ue_share())
    }
    fn ce(&self, at: usize, which: usize) -> Mean {
        self.results.mean(self.series[at][which], VICTIMS, |g| g.ce_share())
    }
    /// Ratio of the times of victims without TCD to those with it.
    fn gain(&self, at: usize) -> Mean {
        self.results.ratio(self.series[at][0], self.series[at][1], VICTIMS, |g| g.fct())
    }
    /// The size with the largest gain, and that gain.
    fn best(&self) -> (usize, f64) {
        (0..self.sizes.len()).map(|i| (i, self.gain(i).mean)).fold((0, f64::NAN), |b, v| if v.1.max(b.1) == v.1 { v } else { b })
    }

    fn checks(&self) -> Vec<Check> {
        let last = self.sizes.len() - 1;
        // A fall within the intervals is noise.
        let falls = (1..self.sizes.len()).filter(|&i| self.ue(i).high < self.ue(i - 1).low).count() as u64;
        let best = self.gain(self.best().0);
        let worst = (0..self.sizes.len()).map(|i| self.gain(i)).min_by(|a, b| a.mean.total_cmp(&b.mean)).expect("there are sizes");
        let mut checks = vec![
            Check::none("steps of the size at which the share of UE-marked victims falls", "steps", falls).claimed().assuming(LOAD),
            Check::mean(
                "share of UE-marked victims, largest minus smallest bursts",
                Unit::Fraction,
                self.ue(last).less(self.ue(0)),
                0.1,
                1.0,
            )
            .claimed()
            .assuming(LOAD),
            Check::mean("largest gain: mean completion time, ratio without to with TCD", Unit::None, best, 1.1, f64::INFINITY)
                .claimed()
                .assuming(LOAD),
            Check::mean("smallest gain over the sizes", Unit::None, worst, 0.95, f64::INFINITY).claimed().assuming(LOAD),
        ];
        checks.extend(self.results.soundness());
        checks
    }

    fn write_findings(&self, f: &mut Findings) {
        let Runs { seeds, .. } = self;
        let (last, (best, _)) = (self.sizes.len() - 1, self.best());
        f.measured = format!(
            "UE-marked victims: {} at {} KB to {} at {} KB. Victims are faster with TCD by up to {} (at {} KB), by {} at {} KB; mean of {seeds} seeds, 95 % interval.",
            self.ue(0).words(percent),
            self.sizes[0],
            self.ue(last).words(percent),
            self.sizes[last],
            self.gain(best).words(times),
            self.sizes[best],
            self.gain(last).words(times),
            self.sizes[last]
        );
        let (most, of) =
            (0..self.sizes.len()).map(|i| (self.ce(i, 1).mean, self.sizes[i])).fold((0.0, 0), |m, v| if v.0 > m.0 { v } else { m });
        f.notes.push(format!(
            "TCD marks up to {} of the victims CE (at {of} KB; {} UE). After a pause both senders at 20 Gb/s load P0 and P2 to exactly \
         their rate, and one more frame in the queue counts as growth (see Table 3).",
            percent(most),
            percent(self.sizes.iter().position(|s| *s == of).map_or(f64::NAN, |i| self.ue(i).mean))
        ));
    }

    fn figure(&self, title: &str) -> Figure {
        let x = || Axis::new("Burst of each sender", Unit::Bytes);
        let points = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            self.sizes.iter().enumerate().map(|(i, kb)| (*kb as f64 * 1e3, value(i))).collect()
        };
        Figure::new(title)
            .caption(
                "Means over seeds. The time between bursts is constant, so that larger bursts are more load. P3 is overloaded from \
                241 KB on.",
            )
            .panel(
                Panel::new("All victims", x(), Axis::new("Mean completion time", Unit::Picoseconds).log())
                    .mark(Mark::line(self.without.name, points(&|i| self.fct(i, 0).mean)).colour(self.without.colour))
                    .mark(Mark::line(self.with.name, points(&|i| self.fct(i, 1).mean)).colour(self.with.colour)),
            )
            .panel(
                Panel::new("", x(), Axis::new("Share of the victims", Unit::Fraction))
                    .mark(
                        Mark::line(format!("marked CE, {}", self.without.name), points(&|i| self.ce(i, 0).mean))
                            .colour(self.without.colour),
                    )
                    .mark(Mark::line(format!("marked UE, {}", self.with.name), points(&|i| self.ue(i).mean)).colour(self.with.colour))
                    .mark(Mark::line(format!("marked CE, {}", self.with.name), points(&|i| self.ce(i, 1).mean)).dashed()),
            )
    }

    fn table(&self) -> Table {
        let columns = [
            "Burst",
            "Load of P3",
            self.without.name,
            self.with.name,
            "Gain",
            "Marked CE without",
            "Marked CE with TCD",
            "Marked UE with TCD",
            "Paused without",
            "with TCD",
        ];
        let mut t = Table::new(columns).align([Align::Right; 10]).caption(
            "Mean completion time of victims, share of victims with a mark, and total pause time of all ports. Means over seeds, \
            with the 95 % interval in brackets.",
        );
        for (i, kb) in self.sizes.iter().enumerate() {
            let stopped =
                |which: usize| Unit::Picoseconds.format(self.results.total(self.series[i][which], |t| t.pause_ns as f64 * 1e3).mean);
            let row: [Cell; 10] = [
                format!("{kb} KB").into(),
                percent(burst_load(*kb as f64 * 1e3, GAP_US)).into(),
                Unit::Picoseconds.format(self.fct(i, 0).mean).into(),
                Unit::Picoseconds.format(self.fct(i, 1).mean).into(),
                self.gain(i).words(times).into(),
                percent(self.ce(i, 0).mean).into(),
                percent(self.ce(i, 1).mean).into(),
                self.ue(i).words(percent).into(),
                stopped(0).into(),
                stopped(1).into(),
            ];
            t.push(row);
        }
        t
    }
}

//! Delay and throughput over the load, one curve a workload (Figs. 6, 8, 11, 12).

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::Config;

use super::run::{Plan, Results};
use super::setups::{self, t_min};
use crate::Context;
use crate::stats::Mean;
use crate::study::Series;

/// Curve of a figure.
pub struct Curve {
    /// Name.
    pub name: String,
    /// Load and its runs.
    points: Vec<(f64, Series)>,
    dashed: bool,
}

/// Curves of one panel.
#[derive(Default)]
pub struct Sweep {
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Sweep {
    /// Adds a curve: a configuration for each load.
    pub fn curve(
        &mut self,
        cx: &Context,
        plan: &mut Plan,
        name: impl Into<String>,
        loads: &[f64],
        longer: u64,
        config: impl Fn(f64) -> Config,
    ) -> &mut Curve {
        let seeds = setups::seeds(cx, setups::PORTS);
        let points = loads.iter().map(|&l| (l, plan.series(cx, seeds, &setups::measured(cx, config(l), longer)))).collect();
        self.curves.push(Curve { name: name.into(), points, dashed: false });
        self.curves.last_mut().expect("just added")
    }

    /// The curve of that name.
    pub fn get(&self, name: &str) -> &Curve {
        self.curves.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no curve '{name}'"))
    }

    /// Two panels: delay (logarithmic) and throughput.
    pub fn panels(&self, title: &str, results: &Results) -> [Panel; 2] {
        let x = || Axis::new("Load of an output that is no hotspot", Unit::None).range(0.0, 1.0);
        let name = |what: &str| if title.is_empty() { what.to_owned() } else { format!("{title}: {what}") };
        let mut delay = Panel::new(name("mean delay"), x(), Axis::new("Mean delay", t_min()).log());
        let mut carried = Panel::new(name("throughput"), x(), Axis::new("Carried share of the offered load", Unit::Fraction));
        for c in &self.curves {
            let line = |value: fn(&super::run::Run) -> f64| {
                let mark = Mark::line(&c.name, c.points.iter().map(|(l, s)| (*l, results.mean(*s, value).mean)));
                if c.dashed { mark.dashed() } else { mark }
            };
            delay = delay.mark(line(|r| r.delay.mean));
            carried = carried.mark(line(|r| r.carried()));
        }
        [delay, carried]
    }

    /// All points, each with its interval.
    pub fn table(&self, results: &Results) -> Table {
        let columns =
            ["Workload", "Load", "Mean delay", "99th percentile", "Carried", "Hotspots", "Longest queue by stage", "Most grants held"];
        let mut table = Table::new(columns).align([Align::Left].into_iter().chain([Align::Right; 7])).caption(
            "Delays in t_min, mean over seeds with its 95 % interval. Carried: share of the load offered to outputs that are no \
             hotspots. Hotspots: their throughput. Queues in bytes and grants in segments: the largest of all seeds.",
        );
        for c in &self.curves {
            for (load, s) in &c.points {
                let queues: Vec<String> = (0..results.of(*s)[0].queue_max.len())
                    .map(|stage| results.max(*s, |r| f64::from(r.queue_max[stage])).to_string())
                    .collect();
                let row: [Cell; 8] = [
                    c.name.as_str().into(),
                    format!("{load:.2}").into(),
                    results.mean(*s, |r| r.delay.mean).words(|v| format!("{v:.1}")).into(),
                    format!("{:.0}", results.mean(*s, |r| r.delay.p99).mean).into(),
                    results.mean(*s, |r| r.carried()).words(|v| format!("{v:.3}")).into(),
                    format!("{:.3}", results.mean(*s, |r| r.hot).mean).into(),
                    queues.join(" / ").into(),
                    format!("{:.0}", results.max(*s, grants_max)).into(),
                ];
                table.push(row);
            }
        }
        table
    }
}

/// Most grants that an input held at the end of a stretch [segments].
pub fn grants_max(run: &super::run::Run) -> f64 {
    run.stretches.iter().map(|s| f64::from(s.grants_max)).fold(0.0, f64::max)
}

impl Curve {
    /// Draws it dashed.
    pub fn dashed(&mut self) {
        self.dashed = true;
    }
    /// Loads of the curve.
    pub fn loads(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().map(|p| p.0)
    }
    /// The runs at the load that is nearest.
    pub fn at(&self, load: f64) -> Series {
        let near = |p: &&(f64, Series)| ((p.0 - load).abs() * 1e6) as u64;
        self.points.iter().min_by_key(near).expect("a curve has points").1
    }
    /// Highest load up to `load`, with its runs.
    pub fn up_to(&self, load: f64) -> impl Iterator<Item = (f64, Series)> + '_ {
        self.points.iter().copied().filter(move |p| p.0 <= load + 1e-9)
    }
    /// Mean delay at a load [t_min].
    pub fn delay(&self, results: &Results, load: f64) -> Mean {
        results.mean(self.at(load), |r| r.delay.mean)
    }
    /// The smallest share carried up to a load: that whose interval reaches the lowest.
    pub fn carried_min(&self, results: &Results, load: f64) -> Mean {
        let all = self.up_to(load).map(|(_, s)| results.mean(s, |r| r.carried()));
        all.min_by(|a, b| a.low.total_cmp(&b.low)).unwrap_or_else(|| Mean::of([]))
    }
    /// The largest delay over that of another curve, at loads that both have, up to `load`: the ratio whose interval reaches the highest,
    /// and where.
    pub fn worst_ratio(&self, other: &Curve, results: &Results, load: f64) -> (Mean, f64) {
        let both = self.up_to(load).filter_map(|(l, s)| {
            let (_, o) = other.points.iter().find(|p| (p.0 - l).abs() < 0.015)?;
            Some((results.ratio(s, *o, |r| r.delay.mean), l))
        });
        both.max_by(|a, b| a.0.high.total_cmp(&b.0.high)).unwrap_or_else(|| (Mean::of([]), f64::NAN))
    }
}

/// A figure of panels in two columns.
pub fn figure(title: &str, caption: &str, panels: impl IntoIterator<Item = Panel>) -> Figure {
    panels.into_iter().fold(Figure::new(title).caption(caption).columns(2), Figure::panel)
}

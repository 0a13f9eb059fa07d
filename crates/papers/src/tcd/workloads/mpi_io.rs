//! Fig. 17(b): MPI and I/O messages on a fat-tree of InfiniBand switches.

use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};

use crate::stats::Mean;
use crate::study::Series;
use crate::tcd::run::{Pick, Plan, Results};
use crate::tcd::schemes::{IB_CC, IB_CC_TCD};
use crate::{Check, Context, Findings, Mode, ReproduceError};

const ASSUMING: &str = "60 % load of the I/O clients' links. MPI sizes halve in number with each doubling. Credits arrive every 40 us, \
    with at most one BECN per connection and 50 us. The messages of two hosts share one connection. An eighth of the hosts are simulated";

/// Other readings of the paper's network.
const READINGS: [(&str, &str); 3] = [
    ("one connection per message", "host.connections=per-message"),
    ("130 % load of the I/O clients", "workload[0].load=1.3"),
    ("a BECN for every marked packet", "rate_control.ib-cc.cnp_interval=0us"),
];

/// Sizes: name, first size, first size that is too large.
const BINS: [(&str, u64, u64); 6] = [
    ("all", 0, u64::MAX),
    ("MPI", 0, 100_000),
    ("I/O 512 KB", 100_000, 1_000_000),
    ("I/O 1 MB", 1_000_000, 2_000_000),
    ("I/O 2 MB", 2_000_000, 4_000_000),
    ("I/O 4 MB", 4_000_000, u64::MAX),
];

/// The runs.
struct Runs {
    k: u32,
    messages: u32,
    seeds: u64,
    results: Results,
    without: Series,
    with: Series,
    /// With TCD, but the index may fall although UE was reported.
    literal: Series,
    /// With TCD's marks, but steps of 1.
    gentle: Series,
    /// Results by [`READINGS`]: without and with TCD.
    readings: Vec<(&'static str, [Series; 2])>,
}

fn times(v: f64) -> String {
    format!("{v:.2}x")
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let runs = Runs::measure(cx)?;
    let mut f = Findings { checks: runs.checks(), figures: vec![runs.figure()], tables: vec![runs.table()], ..Findings::default() };
    runs.write_findings(&mut f);
    if cx.mode == Mode::Quick {
        f.notes.push(format!("Quick: k = {} and {} messages; in full k = 8 and 10 thousand.", runs.k, runs.messages));
    }
    Ok(f)
}

impl Runs {
    fn measure(cx: &Context) -> Result<Runs, ReproduceError> {
        let (k, messages, seeds) = cx.mode.pick((4, 3_000, 3), (8, 10_000, 3));
        let settings = vec![format!("topology.k={k}"), format!("workload[0].messages={messages}")];
        // Half of the hosts of a rack serve I/O, as in the paper; messages of two hosts share a connection.
        let servers = format!("workload[0].io_servers_per_rack={}", k / 4);
        let settings = [settings, vec![servers, "host.connections=per-pair".into()]].concat();
        let groups: Vec<Pick> = BINS.iter().map(|&(_, low, high)| Pick::new("", low, high)).collect();
        let mut plan = Plan::default();
        let without = plan.series(cx, seeds, "mpi-io.toml", &IB_CC, &settings, &groups);
        let with = plan.series(cx, seeds, "mpi-io.toml", &IB_CC_TCD, &settings, &groups);
        let literal = plan.series(
            cx,
            1,
            "mpi-io.toml",
            &IB_CC_TCD,
            &[settings.clone(), vec!["rate_control.ib-cc.tcd_hold=false".into()]].concat(),
            &groups,
        );
        let gentle = plan.series(
            cx,
            1,
            "mpi-io.toml",
            &IB_CC_TCD,
            &[settings.clone(), vec!["rate_control.ib-cc.increase=1".into()]].concat(),
            &groups,
        );
        let readings: Vec<_> = READINGS
            .iter()
            .map(|(name, setting)| {
                let settings = [settings.clone(), vec![(*setting).to_owned()]].concat();
                let seeds = if setting.contains("connections") { seeds } else { 1 };
                (*name, [&IB_CC, &IB_CC_TCD].map(|s| plan.series(cx, seeds, "mpi-io.toml", s, &settings, &groups)))
            })
            .collect();
        Ok(Runs { k, messages, seeds, results: plan.run(cx)?, without, with, literal, gentle, readings })
    }

    /// Ratio of the times of a bin of messages without TCD to those with it.
    fn gain(&self, bin: usize) -> Mean {
        self.results.ratio(self.without, self.with, bin, |g| g.fct())
    }

    fn checks(&self) -> Vec<Check> {
        let mut checks = vec![
            Check::mean("all messages: mean completion time, ratio without to with TCD", Unit::None, self.gain(0), 1.05, 1.6)
                .paper(1.22)
                .assuming(ASSUMING),
            Check::mean("I/O of 512 KB: mean completion time, ratio without to with TCD", Unit::None, self.gain(2), 1.1, 2.0)
                .paper(1.5)
                .assuming(ASSUMING),
        ];
        checks.extend(self.results.soundness());
        checks
    }

    fn write_findings(&self, f: &mut Findings) {
        let Runs { k, messages, seeds, .. } = self;
        let words: Vec<String> = BINS.iter().enumerate().map(|(b, bin)| format!("{} {}", bin.0, self.gain(b).words(times))).collect();
        f.measured = format!(
            "k = {k}, {} hosts, {messages} messages, {seeds} seeds (95 % interval). Messages are faster with TCD by: {}.",
            k * k * k / 4,
            words.join(", ")
        );
        let other = self.results.ratio(self.without, self.literal, 0, |g| g.fct());
        f.notes.push(format!(
            "If the index may fall although UE was reported (tcd_hold = false, first seed), all messages gain {}.",
            other.words(times)
        ));
        let other = self.results.ratio(self.without, self.gentle, 0, |g| g.fct());
        f.why.push(format!(
            "With TCD's marks but steps of 1 as without TCD (first seed), all messages gain {} and I/O of 512 KB {}. The I/O servers' own \
         links are congested, so that few I/O messages are victims. Steps of 2 slow down the many other messages, whose index still \
         falls by one in 153.6 us. Marked CE: {} of the I/O messages of 512 KB without TCD, {} with it; marked UE {}.",
            other.words(times),
            self.results.ratio(self.without, self.gentle, 2, |g| g.fct()).words(times),
            Unit::Fraction.format(self.results.mean(self.without, 2, |g| g.ce_share()).mean),
            Unit::Fraction.format(self.results.mean(self.with, 2, |g| g.ce_share()).mean),
            Unit::Fraction.format(self.results.mean(self.with, 2, |g| g.ue_share()).mean)
        ));
        for (name, [a, b]) in &self.readings {
            let gain = |bin: usize| self.results.ratio(*a, *b, bin, |g| g.fct()).words(times);
            f.why.push(format!("Under another reading, {name}, all messages gain {}, I/O of 512 KB {}.", gain(0), gain(2)));
        }
        f.notes.push(
            "Messages between the same two hosts share a connection. They are sent one after the other, and each starts at the rate \
             left by earlier cuts (host.connections = per-pair). The completion time of a message includes its wait for the connection."
                .into(),
        );
    }

    fn figure(&self) -> Figure {
        let bars = |series| {
            (0..BINS.len()).map(move |b| (series, b)).map(|(series, b)| {
                let m = self.results.mean(series, b, |g| g.fct());
                Bar::with_interval(m.mean, m.low.max(0.0), m.high)
            })
        };
        let ratio = (0..BINS.len()).map(|b| {
            let m = self.gain(b);
            let paper = [Some(1.22), None, Some(1.5)].get(b).copied().flatten().unwrap_or(f64::NAN);
            Bar::with_interval(m.mean, m.low, m.high).reference(paper)
        });
        let labels = || BINS.iter().map(|b| b.0);
        Figure::new("Mean completion time of MPI and I/O messages, IB CC (paper: Fig. 17b)")
            .caption("Means over seeds with their 95 % intervals. Below, how many times longer a message takes without TCD.")
            .panel(Panel::new("", Axis::new("", Unit::None), Axis::new("Completion time", Unit::Picoseconds).log()).mark(Mark::bars(
                labels(),
                [
                    BarGroup::new(IB_CC.name, bars(self.without)).colour(IB_CC.colour),
                    BarGroup::new(IB_CC_TCD.name, bars(self.with)).colour(IB_CC_TCD.colour),
                ],
            )))
            .panel(
                Panel::new("", Axis::new("", Unit::None), Axis::new("Time without TCD over with it", Unit::None))
                    .mark(Mark::bars(labels(), [BarGroup::new("here", ratio).colour(IB_CC_TCD.colour)]).bar_reference("paper"))
                    .mark(Mark::hline(1.0, "")),
            )
    }

    fn table(&self) -> Table {
        let columns = [
            "Messages",
            "Number",
            "IB CC",
            "IB CC + TCD",
            "Gain",
            "Index falls during UE",
            "Marked CE without",
            "Marked CE with TCD",
            "Marked UE with TCD",
        ];
        let mut t = Table::new(columns)
            .align([Align::Left].into_iter().chain([Align::Right; 8]))
            .caption("Mean completion time, means over seeds; share of the messages with a mark.");
        for (b, bin) in BINS.iter().enumerate() {
            let time = |s| Unit::Picoseconds.format(self.results.mean(s, b, |g| g.fct()).mean);
            let share = |s, value: fn(&crate::tcd::run::Group) -> f64| Unit::Fraction.format(self.results.mean(s, b, value).mean);
            let row: [Cell; 9] = [
                bin.0.into(),
                self.results.flows(self.without, b).into(),
                time(self.without).into(),
                time(self.with).into(),
                self.gain(b).words(times).into(),
                time(self.literal).into(),
                share(self.without, |g| g.ce_share()).into(),
                share(self.with, |g| g.ce_share()).into(),
                share(self.with, |g| g.ue_share()).into(),
            ];
            t.push(row);
        }
        t
    }
}

//! Run of a scenario, and its kept result.
//!
//! ```text
//!   Job (scenario, settings, groups of flows) --run--> Run { per group: counts, completion times, slowdowns, marks; totals }
//!       '------------------------ key ----------------> DIR/tcd/done.jsonl, so that a stopped study can continue
//! ```
//!
//! Entries share runs: whoever needs one that another entry has done finds it there.

use serde::{Deserialize, Serialize};
use xoff_mech::detection::Mark as CodePoint;
use xoff_sim::{Ended, FlowRecord, Outcome, Probes, World};

use super::schemes::Scheme;
use crate::stats::{Mean, quantile};
use crate::study::{self, Series};
use crate::{Check, Context, ReproduceError, lab};

/// A scenario file of the paper: name and text.
pub type File = (&'static str, &'static str);

/// The files a job may name.
const FILES: [File; 5] = [
    scenario!("tcd", "victims.toml"),
    scenario!("tcd", "victims-bursts.toml"),
    scenario!("tcd", "victims-ib.toml"),
    scenario!("tcd", "workloads.toml"),
    scenario!("tcd", "mpi-io.toml"),
];

/// Flows that are examined together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// First letters of the sender's name; empty: every sender.
    pub from: String,
    /// Smallest payload [bytes].
    pub low: u64,
    /// First payload that is too large [bytes].
    pub high: u64,
}

impl Pick {
    /// Flows of `from` with a payload of `low` up to, but not, `high`.
    pub fn new(from: &str, low: u64, high: u64) -> Pick {
        Pick { from: from.into(), low, high }
    }
    /// All flows of `from`.
    pub fn all(from: &str) -> Pick {
        Pick::new(from, 0, u64::MAX)
    }
    fn takes(&self, host: &str, size: u64) -> bool {
        host.starts_with(&self.from) && (self.low..self.high).contains(&size)
    }
}

/// A run: scenario, settings and what to examine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// File name of the scenario.
    pub scenario: String,
    /// Hash of the text: a run of another text is another run.
    pub text: String,
    /// Settings over the scenario.
    pub settings: Vec<String>,
    /// Flows that are examined.
    pub groups: Vec<Pick>,
}

impl Job {
    /// A run of `file` with `seed`.
    pub fn new(file: &str, scheme: &Scheme, settings: &[String], seed: u64, groups: &[Pick]) -> Job {
        let mut all: Vec<String> = scheme.settings.iter().map(|s| (*s).to_owned()).collect();
        all.extend_from_slice(settings);
        all.push(format!("run.seed={seed}"));
        Job { scenario: file.into(), text: study::fingerprint(text(file)), settings: all, groups: groups.to_vec() }
    }
}

fn text(file: &str) -> &'static str {
    FILES.iter().find(|f| f.0 == file).unwrap_or_else(|| panic!("no scenario '{file}'")).1
}

/// Results of the flows of a [`Pick`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Flows that began.
    pub flows: u64,
    /// Flows that were complete.
    pub complete: u64,
    /// Mean completion time [ps]; 0 without complete flows.
    fct_ps: f64,
    /// Mean of completion time over the shortest possible time.
    slowdown: f64,
    /// Median, 95th and 99th percentile.
    quantiles: [f64; 3],
    /// Bytes of complete flows over their completion times [bit/s].
    rate: f64,
    /// Flows of which a frame arrived marked CE.
    pub ce_flows: u64,
    /// Flows of which a frame arrived marked UE.
    pub ue_flows: u64,
    /// Frames that arrived marked CE.
    pub ce_frames: u64,
    /// Frames that arrived marked UE.
    pub ue_frames: u64,
}

impl Group {
    fn or_nan(&self, v: f64) -> f64 {
        if self.complete > 0 { v } else { f64::NAN }
    }
    /// Mean completion time [ps]; NaN without complete flows, as all that follow.
    pub fn fct(&self) -> f64 {
        self.or_nan(self.fct_ps)
    }
    /// Median, 95th or 99th percentile of the slowdown: 0, 1, 2.
    pub fn quantile(&self, which: usize) -> f64 {
        self.or_nan(self.quantiles[which])
    }
    /// Rate while a flow is under way [bit/s].
    pub fn rate(&self) -> f64 {
        self.or_nan(self.rate)
    }
    /// Share of the flows with a mark CE.
    pub fn ce_share(&self) -> f64 {
        self.ce_flows as f64 / self.flows as f64
    }
    /// Share of the flows with a mark UE.
    pub fn ue_share(&self) -> f64 {
        self.ue_flows as f64 / self.flows as f64
    }
}

/// The whole network over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Simulated time reached [ns].
    pub end_ns: u64,
    /// Flows that never were complete.
    pub incomplete: u64,
    /// Frames dropped or lost.
    pub lost: u64,
    /// Promises broken.
    pub violations: u64,
    /// Deadlocks.
    pub deadlocks: u64,
    /// Number of pauses of all ports.
    pub pauses: u64,
    /// Total pause time of all ports [ns].
    pub pause_ns: u64,
    /// Flow control messages.
    pub messages: u64,
    /// Frames marked CE, at any port.
    pub marked: u64,
    /// Frames marked UE, at any port.
    pub marked_ue: u64,
    /// Frames marked CE at P0 and at P2, where the network has them.
    pub marked_inside: [u64; 2],
    /// Link traversals of data frames.
    pub frame_hops: u64,
}

/// Kept result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Results in the order of the job's picks.
    pub groups: Vec<Group>,
    /// The whole network.
    pub totals: Totals,
}

impl study::Job for Job {
    const FOLDER: &'static str = "tcd";
    const SOURCE: &'static str = include_str!("run.rs");
    type Run = Run;

    fn run(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Run>, ReproduceError> {
        let s = lab::load(&self.scenario, text(&self.scenario), &self.settings)?;
        let mut model = s.model();
        model.probes = Probes::default();
        let mut world = World::build(&s.topology, s.flows.clone(), &model)?;
        drop(model);
        let ended = world.drive(s.until, |_| !stop());
        if ended == Ended::Interrupted {
            return Ok(None);
        }
        let (outcome, _) = world.finish(ended);
        let t = &s.topology;
        let routes = s.routing().routes(t);
        // (payload, completion time, slowdown) of a complete flow.
        let fates: Vec<Option<(f64, f64, f64)>> = outcome
            .flows
            .iter()
            .map(|f| {
                let (fct, ideal) = f.fct().zip(s.ideal_time(&routes, &f.flow))?;
                Some((f.flow.size as f64, fct.0 as f64, fct.0 as f64 / ideal.0 as f64))
            })
            .collect();
        let groups = self.groups.iter().map(|pick| group(&outcome.flows, &fates, |f| pick.takes(t.name(f.flow.src), f.flow.size)));
        let mut totals = totals(&outcome);
        totals.marked_inside = [("T0", "L0"), ("L0", "T2")].map(|(from, to)| {
            let (Some(from), Some(to)) = (t.find(from), t.find(to)) else { return 0 };
            let port = t.nodes[from as usize].ports.iter().position(|p| p.peer == to);
            port.map_or(0, |p| outcome.ports[from as usize][p].marked.of(CodePoint::Ce))
        });
        Ok(Some(Run { groups: groups.collect(), totals }))
    }
}

fn group(flows: &[FlowRecord], fates: &[Option<(f64, f64, f64)>], takes: impl Fn(&FlowRecord) -> bool) -> Group {
    let (mut g, mut slowdowns, mut bytes) = (Group::default(), Vec::new(), 0.0);
    for (f, fate) in flows.iter().zip(fates).filter(|(f, _)| takes(f)) {
        g.flows += 1;
        g.ce_flows += u64::from(f.marked.of(CodePoint::Ce) > 0);
        g.ue_flows += u64::from(f.marked.of(CodePoint::Ue) > 0);
        g.ce_frames += f.marked.of(CodePoint::Ce);
        g.ue_frames += f.marked.of(CodePoint::Ue);
        if let Some((size, fct, slowdown)) = fate {
            bytes += size;
            g.fct_ps += fct;
            slowdowns.push(*slowdown);
        }
    }
    g.complete = slowdowns.len() as u64;
    if g.complete > 0 {
        let n = g.complete as f64;
        g.rate = bytes * 8e12 / g.fct_ps;
        g.fct_ps /= n;
        g.slowdown = slowdowns.iter().sum::<f64>() / n;
        slowdowns.sort_by(f64::total_cmp);
        g.quantiles = [0.5, 0.95, 0.99].map(|share| quantile(&slowdowns, share));
    }
    g
}

fn totals(o: &Outcome) -> Totals {
    let mut all = Totals {
        end_ns: o.now.0 / 1000,
        incomplete: o.flows.iter().filter(|f| f.received.is_none()).count() as u64,
        lost: xoff_run::verdict::losses(o).total(),
        violations: o.violations_total,
        deadlocks: o.deadlocks.len() as u64,
        frame_hops: o.data_frame_hops,
        ..Totals::default()
    };
    for p in o.ports.iter().flatten() {
        all.pauses += p.pauses;
        all.pause_ns += p.paused_ps / 1000;
        all.messages += p.messages_sent;
        all.marked += p.marked.of(CodePoint::Ce);
        all.marked_ue += p.marked.of(CodePoint::Ue);
    }
    all
}

/// The runs an entry needs, in series of one run per seed.
#[derive(Default)]
pub struct Plan(study::Plan<Job>);

impl Plan {
    /// Adds a run for each of `seeds` seeds from that of the context on.
    pub fn series(&mut self, cx: &Context, seeds: u64, file: &str, scheme: &Scheme, settings: &[String], groups: &[Pick]) -> Series {
        self.0.add(cx, seeds, |seed| Job::new(file, scheme, settings, seed, groups))
    }

    /// Does what no earlier entry or run has done.
    pub fn run(self, cx: &Context) -> Result<Results, ReproduceError> {
        Ok(Results(self.0.run(cx)?))
    }
}

/// The runs of a plan, looked at by groups of flows.
pub struct Results(study::Results<Run>);

impl Results {
    /// A value's mean over the seeds, of a group.
    pub fn mean(&self, s: Series, group: usize, value: impl Fn(&Group) -> f64) -> Mean {
        self.0.mean(s, |r| value(&r.groups[group]))
    }
    /// Ratio of `a` to `b`, seed by seed.
    pub fn ratio(&self, a: Series, b: Series, group: usize, value: impl Fn(&Group) -> f64 + Copy) -> Mean {
        self.0.ratio(a, b, |r| value(&r.groups[group]))
    }
    /// Mean of a total over the seeds.
    pub fn total(&self, s: Series, value: impl Fn(&Totals) -> f64) -> Mean {
        self.0.mean(s, |r| value(&r.totals))
    }
    /// Flows of a group, all seeds together.
    pub fn flows(&self, s: Series, group: usize) -> u64 {
        self.0.of(s).iter().map(|r| r.groups[group].flows).sum()
    }
    /// Checks of every run: nothing lost, all complete, no invariant violated.
    pub fn soundness(&self) -> Vec<Check> {
        let sum = |value: fn(&Totals) -> u64| self.0.sum(|r| value(&r.totals));
        vec![
            Check::none("frames lost in all runs", "frames", sum(|t| t.lost)),
            Check::none("flows that were not complete at the end", "flows", sum(|t| t.incomplete)),
            Check::none("violated invariants (order, conservation, credits)", "violations", sum(|t| t.violations)),
        ]
    }
}

//! Skipped periods of a run, and their results from the simulated ones: rows, flows and logs of
//! ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_net::jobs::{Job, Jobs, Leap, Stood, unfold};
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, Span};

use crate::observe::flows::FlowRecord;
use crate::observe::outcome::RankLog;
use crate::world::World;

/// A leap of the jobs of a run, as its results need it.
#[derive(Clone, Debug, PartialEq, State)]
pub(crate) struct Leapt {
    /// By job; `None`: it did not move on.
    pub jobs: Vec<Option<Leap>>,
    /// By job and rank.
    pub stood: Vec<Vec<Stood>>,
    /// By job and message: iterations of it that were complete, of those gone through.
    pub complete: Vec<Vec<u32>>,
    /// Bytes that each node puts on the wire of its first port in a round.
    pub on_wire: Vec<u64>,
    /// Flows that each node begins in a round.
    pub begins: Vec<u64>,
    /// Number of skipped rounds.
    pub times: u32,
}

impl Leapt {
    /// The flow of the run for the same message, a number of rounds later.
    pub fn later(&self, jobs: &Jobs, flow: FlowId, time: u32) -> FlowId {
        let Some(job) = jobs.of_flow(flow.0) else { return flow };
        let rounds = self.jobs[job].map_or(0, |l| l.round) * time;
        flow + rounds * jobs.jobs[job].messages.len() as u32
    }

    /// Bytes that a node would have put on its wire.
    pub fn skipped_on_wire(&self, node: NodeId) -> u64 {
        self.on_wire[node.index()] * self.times as u64
    }

    /// Flows that a node would have begun.
    fn skipped_begins(&self, node: NodeId) -> u64 {
        self.begins[node.index()] * self.times as u64
    }
}

impl FlowRecord {
    /// Moves the record to a later time, after a number of further flows of its source.
    fn is_later(&mut self, by: Span, nth: u64) {
        let FlowRecord { flow, nth: before, all_sent, received, end, .. } = self;
        if flow.start != xoff_units::Time::NEVER {
            flow.start += by;
            *before += nth;
        }
        [all_sent, received, end].into_iter().flatten().for_each(|t| *t += by);
    }
}

impl World {
    /// Moves the ranks forward in time, and messages under way to a later iteration.
    pub(crate) fn move_on(&mut self, leapt: &Leapt, jobs: &Jobs) {
        for p in &mut self.partitions {
            p.leap(leapt);
            for ((job, leap), complete) in jobs.jobs.iter().zip(&leapt.jobs).zip(&leapt.complete) {
                let Some(leap) = leap else { continue };
                for (message, &complete) in (0..).zip(complete) {
                    let begins = leapt.skipped_begins(source(job, message));
                    let under_way =
                        (complete..job.iterations).map(|i| job.flow(i, message) as usize);
                    under_way.for_each(|flow| {
                        p.core.monitor.flows.records[flow].is_later(leap.skipped(), begins)
                    });
                }
            }
            p.starts
                .started
                .iter_mut()
                .for_each(|(&(_, host), count)| *count += leapt.skipped_begins(host));
        }
    }

    /// The number in the run of a flow that was gone through, as of now.
    pub(crate) fn of_run(&self, flow: FlowId) -> FlowId {
        let Some(jobs) = self.jobs.as_ref().filter(|_| !self.leaps.is_empty()) else { return flow };
        let Some(job) = jobs.of_flow(flow.0) else { return flow };
        let skipped: u32 =
            self.leaps.iter().filter_map(|l| l.jobs[job]).map(|l| l.iterations()).sum();
        flow + skipped * jobs.jobs[job].messages.len() as u32
    }
}

/// The host that a message comes from.
fn source(job: &Job, message: u32) -> NodeId {
    job.hosts[job.message(message).from as usize]
}

/// The leaps of a job.
fn of_job(leaps: &[Leapt], nth: usize) -> Vec<(&Leapt, Leap)> {
    leaps.iter().filter_map(|l| Some((l, l.jobs[nth]?))).collect()
}

/// The flows of the run, from those that were gone through.
pub(crate) fn unfold_flows(leaps: &[Leapt], jobs: &Jobs, flows: &mut [FlowRecord]) {
    for (nth, job) in jobs.jobs.iter().enumerate() {
        let leaps = of_job(leaps, nth);
        for message in (0..job.messages.len() as u32).filter(|_| !leaps.is_empty()) {
            let src = source(job, message).index();
            let complete: Vec<(usize, Leap)> = leaps
                .iter()
                .map(|(l, leap)| (l.complete[nth][message as usize] as usize, *leap))
                .collect();
            let gone: Vec<FlowRecord> =
                (0..job.iterations).map(|i| flows[job.flow(i, message) as usize].clone()).collect();
            let later = |r: &FlowRecord, leap: usize, time: u32| {
                let mut r = r.clone();
                r.is_later(
                    Span(complete[leap].1.length.0 * time as u64),
                    leaps[leap].0.begins[src] * time as u64,
                );
                r
            };
            let run = unfold(&gone, &complete, later, |r, _| r.clone());
            // Those that it did not get to are left over at the end.
            (0..job.iterations)
                .zip(run)
                .for_each(|(i, r)| flows[job.flow(i, message) as usize] = r);
        }
    }
}

/// Log of the ranks in the run, from their simulated log.
pub(crate) fn unfold_ranks(leaps: &[Leapt], jobs: &Arc<Jobs>, ranks: &mut [Vec<RankLog>]) {
    for (nth, (job, logs)) in jobs.jobs.iter().zip(ranks).enumerate() {
        let leaps = of_job(leaps, nth);
        for (rank, log) in logs.iter_mut().enumerate().filter(|_| !leaps.is_empty()) {
            let stood: Vec<(Stood, Leap)> =
                leaps.iter().map(|(l, leap)| (l.stood[nth][rank].clone(), *leap)).collect();
            log.log = std::mem::take(&mut log.log).unfolded(&stood);
            log.wire =
                unfold_wire(job, nth, job.hosts[rank], &leaps, std::mem::take(&mut log.wire));
        }
    }
}

/// Bytes of a host on the wire at the start and at the end of each message of a rank, in the run.
fn unfold_wire(
    job: &Job,
    nth: usize,
    host: NodeId,
    leaps: &[(&Leapt, Leap)],
    wire: Vec<(u32, u64, u64)>,
) -> Vec<(u32, u64, u64)> {
    // In order of their flows, so each message's are in order of its iterations.
    let mut by_message: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    wire.iter().for_each(|&(flow, begun, sent)| {
        by_message.entry(job.of_flow(flow).1).or_default().push((begun, sent))
    });
    let mut all = Vec::new();
    for (message, gone) in by_message {
        let complete: Vec<(usize, Leap)> = leaps
            .iter()
            .map(|(l, leap)| (l.complete[nth][message as usize] as usize, *leap))
            .collect();
        let later = |&(begun, sent): &(u64, u64), leap: usize, time: u32| {
            let more = leaps[leap].0.on_wire[host.index()] * time as u64;
            (begun + more, sent + more)
        };
        let run = unfold(&gone, &complete, later, |w, _| *w);
        all.extend(
            (0..job.iterations)
                .zip(run)
                .map(|(i, (begun, sent))| (job.flow(i, message), begun, sent)),
        );
    }
    all.sort_unstable();
    all
}

//! The ranks of jobs at the hosts of a partition: events of their messages are passed to them, and
//! their requests become flows and calls.
//!
//! ```text
//!   NIC: all sent, delivered --> FlowTable::ended --follow_jobs--> Machine --+-- Begin: a flow starts at this NIC
//!   queue of events: a call at its host --ranks_are_due-->                   +-- WakeAt: a call at this host
//! ```
//!
//! A rank reacts only to events at its own host, so it is part of that host's unit and partition.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_net::jobs::{Action, Input, Jobs, Machine};
use xoff_node::{Call, Env};
use xoff_units::paged::Items;
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, Time};

use crate::observe::flows::Stage;
use crate::observe::outcome::RankLog;
use crate::world::World;
use crate::world::leaps::Leapt;
use crate::world::partition::Partition;

/// The clock of a host that calls its ranks.
pub(crate) const JOB: u8 = 3;

/// A rank, and where it is.
#[derive(State)]
struct Rank {
    #[state(built)]
    job: usize,
    #[state(built)]
    host: NodeId,
    /// Position among the ranks at its host.
    #[state(built)]
    place: u32,
    machine: Machine,
    wire: FxHashMap<u32, (u64, u64)>,
    /// Data of messages that have left, for a streamed job.
    #[state(built)]
    carried: Option<Items<u64>>,
}

/// Ranks at the hosts of a partition.
#[derive(State)]
pub(crate) struct Ranks {
    #[state(built)]
    jobs: Arc<Jobs>,
    #[state(each)]
    here: Vec<Rank>,
    #[state(built)]
    at_host: FxHashMap<NodeId, Vec<u32>>,
    #[state(built)]
    by_rank: FxHashMap<(usize, u32), u32>,
    #[state(built)]
    actions: Vec<Action>,
}

/// Bits of a queue pair's number that count those of one rank.
const PAIR_BITS: u32 = 24;

impl Ranks {
    fn new(jobs: Arc<Jobs>) -> Ranks {
        Ranks {
            jobs,
            here: Vec::new(),
            at_host: FxHashMap::default(),
            by_rank: FxHashMap::default(),
            actions: Vec::new(),
        }
    }

    /// True if no operation waits for a time.
    pub fn rest(&self) -> bool {
        self.here.iter().all(|r| !r.machine.waits_for_time())
    }
}

impl Partition {
    /// Passes on the events of messages.
    #[cold]
    pub(crate) fn follow_jobs(&mut self) {
        let Some(jobs) = self.jobs.as_ref().map(|r| r.jobs.clone()) else { return };
        let mut others = Vec::new();
        while !self.core.monitor.flows.ended.is_empty() {
            for (flow, stage) in std::mem::take(&mut self.core.monitor.flows.ended) {
                let Some(of) = jobs.of_flow(flow.0) else {
                    others.push((flow, stage));
                    continue;
                };
                let job = &jobs.jobs[of];
                let (iteration, message) = job.of_flow(flow.0);
                let m = job.message(message);
                match stage {
                    Stage::Sent => {
                        let sent = self.core.on_wires(job.hosts[m.from as usize]);
                        self.rank_handles(
                            (of, m.from),
                            Input::Sent { flow: flow.0 },
                            Some((flow.0, sent)),
                        );
                    }
                    Stage::Arrived | Stage::Delivered => {
                        self.rank_handles(
                            (of, m.to),
                            Input::Arrived { iteration, from: m.from, op: m.op },
                            None,
                        );
                    }
                    Stage::Acknowledged => {}
                }
            }
        }
        self.core.monitor.flows.ended = others;
    }

    /// Ranks at a host asked to be called.
    #[cold]
    pub(crate) fn ranks_are_due(&mut self, host: NodeId) {
        self.acted = self.acted.max(self.core.clock.now);
        let Some(ranks) = &self.jobs else { return };
        let all: Vec<(usize, u32)> = ranks.at_host.get(&host).map_or(Vec::new(), |all| {
            let of = |&at: &u32| &ranks.here[at as usize];
            all.iter().map(of).map(|r| (r.job, r.machine.rank())).collect()
        });
        all.into_iter().for_each(|rank| self.rank_handles(rank, Input::Due, None));
        self.follow_jobs();
    }

    fn rank_handles(&mut self, rank: (usize, u32), input: Input, sent: Option<(u32, u64)>) {
        let Some(ranks) = &mut self.jobs else { return };
        let Some(&at) = ranks.by_rank.get(&rank) else { return };
        let mut actions = std::mem::take(&mut ranks.actions);
        let r = &mut ranks.here[at as usize];
        match (sent, &mut r.carried) {
            (Some((flow, bytes)), Some(carried)) => {
                if let Some((begun, _)) = r.wire.remove(&flow) {
                    carried.set(
                        ranks.jobs.jobs[rank.0].nth_of_rank(rank.1, flow) as usize,
                        bytes - begun,
                    );
                }
            }
            (Some((flow, bytes)), None) => {
                if let Some(wire) = r.wire.get_mut(&flow) {
                    wire.1 = bytes;
                }
            }
            (None, _) => {}
        }
        r.machine.handle(self.core.clock.now, input, &mut actions);
        actions.drain(..).for_each(|action| self.act(at, action));
        if let Some(ranks) = &mut self.jobs {
            ranks.actions = actions;
        }
    }

    fn act(&mut self, at: u32, action: Action) {
        let Some(ranks) = &mut self.jobs else { return };
        let r = &mut ranks.here[at as usize];
        let (host, job, place, rank) = (r.host, r.job, r.place, r.machine.rank());
        match action {
            Action::Begin { flow, pair } => {
                let on_wire = self.core.on_wires(host);
                r.wire.insert(flow, (on_wire, on_wire));
                let f = &mut self.core.monitor.flows.records.at(FlowId(flow)).flow;
                f.start = self.core.clock.of_run();
                let ends = (f.src, f.dst);
                let facts = self
                    .starts
                    .path_facts
                    .get(flow as usize)
                    .or_else(|| self.starts.facts_of_ends.get(&ends));
                let facts = facts.copied().unwrap_or_default();
                self.begin_in(FlowId(flow), facts, Some(place << PAIR_BITS | pair), Some(rank));
            }
            Action::WakeAt(time) => self.core.call_at(host, time, Call::Clock { which: JOB }),
            Action::Inside { to, at, iteration, op } => {
                let Some(&other) = ranks.by_rank.get(&(job, to)) else { return };
                let other = &mut ranks.here[other as usize];
                if let Some(time) = other.machine.expect(at, iteration, rank, op) {
                    self.core.call_at(other.host, time, Call::Clock { which: JOB });
                }
            }
            Action::Done => {
                self.core.monitor.flows.completions.push((self.core.clock.place(), None))
            }
        }
    }
}

impl Partition {
    /// The ranks here are that many iterations further, and their messages under way belong to
    /// these.
    pub(crate) fn leap(&mut self, leapt: &Leapt) {
        let Some(ranks) = &mut self.jobs else { return };
        for r in &mut ranks.here {
            let (job, Some(leap)) = (&ranks.jobs.jobs[r.job], leapt.jobs[r.job]) else { continue };
            r.machine.leap(leap.iterations());
            #[expect(clippy::iter_over_hash_type, reason = "each message is moved on by itself")]
            for (&flow, (begun, sent)) in &mut r.wire {
                let (iteration, message) = job.of_flow(flow);
                if iteration >= leapt.complete[r.job][message as usize] {
                    let more = leapt.skipped_on_wire(r.host);
                    (*begun, *sent) = (*begun + more, *sent + more);
                }
            }
        }
    }
}

impl World {
    /// The ranks of all jobs, in their order, each with its job.
    pub(crate) fn ranks(&self) -> Vec<(usize, &Machine)> {
        let here = self.partitions.iter().filter_map(|p| p.jobs.as_ref()).flat_map(|r| &r.here);
        let mut all: Vec<_> = here.map(|r| (r.job, &r.machine)).collect();
        all.sort_unstable_by_key(|(job, m)| (*job, m.rank()));
        all
    }

    /// Flows that a host has begun.
    pub(crate) fn started_by(&self, host: NodeId) -> u64 {
        let home = &self.partitions[self.layout.partition_of[host.index()] as usize];
        home.starts.started.get(&(u32::MAX, host)).copied().unwrap_or(0)
    }

    /// Bytes that a rank's NIC had put on its wire at the start and at the end of a message.
    pub(crate) fn wire_of(&self, job: usize, rank: u32, flow: FlowId) -> Option<(u64, u64)> {
        let of = |r: &Ranks| {
            r.by_rank
                .get(&(job, rank))
                .and_then(|&at| r.here[at as usize].wire.get(&flow.0).copied())
        };
        self.partitions.iter().filter_map(|p| p.jobs.as_deref()).find_map(of)
    }

    /// Puts the ranks of the jobs at their hosts.
    pub(crate) fn arm_jobs(&mut self, jobs: &Arc<Jobs>) {
        for partition in &mut self.partitions {
            partition.jobs = Some(Box::new(Ranks::new(jobs.clone())));
        }
        for (of, job) in jobs.jobs.iter().enumerate() {
            for (rank, &host) in (0..).zip(&job.hosts) {
                let home = &mut self.partitions[self.layout.partition_of[host.index()] as usize];
                let Some(ranks) = &mut home.jobs else { continue };
                let at = ranks.here.len() as u32;
                let mut machine = Machine::new(job.clone(), rank);
                let mut start = machine.begin();
                // A rank that computes from the very start needs no call for that.
                if start == Time::ZERO && machine.computes_first() {
                    let mut actions = Vec::new();
                    machine.handle(start, Input::Due, &mut actions);
                    start = actions
                        .iter()
                        .map(|a| if let Action::WakeAt(t) = a { *t } else { Time::ZERO })
                        .min()
                        .unwrap_or(Time::NEVER);
                }
                let here = ranks.at_host.entry(host).or_default();
                let carried = job.graph.pages().map(|pages| {
                    let mut carried = pages.list(|_| 0);
                    let sends = u64::from(job.sends[rank as usize + 1] - job.sends[rank as usize]);
                    carried.grow((sends * u64::from(job.iterations)) as usize, 0);
                    carried
                });
                ranks.here.push(Rank {
                    job: of,
                    host,
                    place: here.len() as u32,
                    machine,
                    wire: FxHashMap::default(),
                    carried,
                });
                here.push(at);
                ranks.by_rank.insert((of, rank), at);
                if start < Time::NEVER {
                    home.core.call_at(host, start, Call::Clock { which: JOB });
                }
            }
        }
    }

    /// Logs of the ranks, by job and rank.
    pub(crate) fn take_ranks(&mut self) -> Vec<Vec<RankLog>> {
        let Some(jobs) =
            self.partitions.first().and_then(|p| p.jobs.as_ref()).map(|r| r.jobs.clone())
        else {
            return Vec::new();
        };
        let mut all: Vec<Vec<RankLog>> =
            jobs.jobs.iter().map(|j| vec![RankLog::default(); j.hosts.len()]).collect();
        for ranks in self.partitions.iter_mut().filter_map(|p| p.jobs.take()) {
            for r in ranks.here {
                let mut wire: Vec<_> =
                    r.wire.into_iter().map(|(flow, (begun, sent))| (flow, begun, sent)).collect();
                wire.sort_unstable();
                let rank = r.machine.rank() as usize;
                let (log, shares) = r.machine.into_log();
                all[r.job][rank] = RankLog { wire, log, shares, carried: r.carried };
            }
        }
        all
    }
}

//! Ranks of jobs at the ports: a message enters its VOQ as packets when its rank sends it, and is
//! there when its last byte has left the line of its output.
//!
//! ```text
//!   Machine --Begin--> packets --> VOQ, fabric, line --all left the VOQ--> Sent     to the rank that sends
//!                                                    --all on the line---> Arrived  to the rank that receives
//! ```

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_net::jobs::{Action, Input, Jobs, Machine};
use xoff_units::Time;
use xoff_units::state::State;

use super::part::Part;
use crate::scheduled::event::Kind;
use crate::scheduled::flow::Tag;
use crate::scheduled::measure::RankReport;

/// A rank, and its port.
#[derive(State)]
struct Rank {
    #[state(built)]
    job: usize,
    #[state(built)]
    port: usize,
    machine: Machine,
}

/// The ranks at the ports of a part.
#[derive(State)]
pub(super) struct Ranks {
    #[state(built)]
    jobs: Arc<Jobs>,
    #[state(each)]
    here: Vec<Rank>,
    /// Place in the list, by job and rank.
    #[state(built)]
    by_rank: FxHashMap<(usize, u32), usize>,
    /// Messages from here whose packets have not all left the VOQ, and messages to here whose
    /// packets have not all come [bytes].
    unsent: FxHashMap<u32, u64>,
    missing: FxHashMap<u32, u64>,
}

impl Part {
    /// Puts the ranks at the ports of this part.
    pub(super) fn add_ranks(&mut self) {
        let Some(jobs) = self.plan.config.jobs.clone() else { return };
        let (mut here, mut by_rank) = (Vec::new(), FxHashMap::default());
        for (of, job) in jobs.jobs.iter().enumerate() {
            for (rank, host) in (0..).zip(&job.hosts) {
                let port = host.index();
                if !self.ports.numbers().contains(&port) {
                    continue;
                }
                let mut machine = Machine::new(job.clone(), rank);
                self.events.add(machine.begin().0, Kind::Rank, port, here.len() as u32);
                by_rank.insert((of, rank), here.len());
                here.push(Rank { job: of, port, machine });
            }
        }
        let (unsent, missing) = Default::default();
        self.ranks = Some(Box::new(Ranks { jobs, here, by_rank, unsent, missing }));
    }

    /// A rank is called.
    pub(super) fn rank_due(&mut self, place: u32) {
        self.rank_handles(place as usize, Input::Due);
    }

    /// The last packet of a message has left its VOQ.
    pub(super) fn message_sent(&mut self, flow: u32) {
        let Some(ranks) = &self.ranks else { return };
        let Some(of) = ranks.jobs.of_flow(flow) else { return };
        let job = &ranks.jobs.jobs[of];
        let place = ranks.by_rank[&(of, job.message(job.of_flow(flow).1).from)];
        self.rank_handles(place, Input::Sent { flow });
    }

    /// A message is there, whole.
    pub(super) fn message_arrived(&mut self, flow: u32) {
        let Some(ranks) = &self.ranks else { return };
        let Some(of) = ranks.jobs.of_flow(flow) else { return };
        let job = &ranks.jobs.jobs[of];
        let (iteration, message) = job.of_flow(flow);
        let m = job.message(message);
        let place = ranks.by_rank[&(of, m.to)];
        self.rank_handles(place, Input::Arrived { iteration, from: m.from, op: m.op });
    }

    fn rank_handles(&mut self, place: usize, input: Input) {
        let Some(ranks) = &mut self.ranks else { return };
        let mut actions = Vec::new();
        ranks.here[place].machine.handle(Time(self.now), input, &mut actions);
        let port = ranks.here[place].port;
        for action in actions {
            match action {
                Action::Begin { flow, .. } => self.begin_message(port, flow),
                Action::WakeAt(at) => self.events.add(at.0, Kind::Rank, port, place as u32),
                // Nodes of several ranks are rejected when the scenario is read.
                Action::Inside { .. } | Action::Done => {}
            }
        }
    }

    /// All packets of a message enter the VOQ: the memory of the host.
    fn begin_message(&mut self, port: usize, flow: u32) {
        let Some(ranks) = &mut self.ranks else { return };
        let Some(of) = ranks.jobs.of_flow(flow) else { return };
        let job = &ranks.jobs.jobs[of];
        let m = job.message(job.of_flow(flow).1);
        let (destination, mut left) = (job.hosts[m.to as usize].index(), m.bytes.max(1));
        ranks.unsent.insert(flow, left);
        if self.measuring() {
            self.report.offered[destination] += left;
        }
        let packet = self.plan.config.message_packet.0;
        while left > 0 {
            let len = left.min(packet);
            left -= len;
            self.accept(port, destination, len as u32, Tag { flow: Some(flow), multicast: None });
        }
    }

    /// A packet has left its VOQ. The rank hears of it after the injection.
    pub(super) fn packet_left(&mut self, port: usize, len: u32, tag: Tag) {
        let (Some(ranks), Some(flow)) = (&mut self.ranks, tag.flow) else { return };
        let Some(left) = ranks.unsent.get_mut(&flow) else { return };
        *left -= u64::from(len);
        if *left == 0 {
            ranks.unsent.remove(&flow);
            self.events.add(self.now, Kind::MessageSent, port, flow);
        }
    }

    /// A packet is on the line, whose last bit is at the host then.
    pub(super) fn packet_came(&mut self, port: usize, len: u32, tag: Tag, at: u64) {
        let (Some(ranks), Some(flow)) = (&mut self.ranks, tag.flow) else { return };
        let Some(of) = ranks.jobs.of_flow(flow) else { return };
        let job = &ranks.jobs.jobs[of];
        let whole = || job.message(job.of_flow(flow).1).bytes.max(1);
        let left = ranks.missing.entry(flow).or_insert_with(whole);
        *left -= u64::from(len);
        if *left == 0 {
            ranks.missing.remove(&flow);
            self.events.add(at, Kind::MessageArrived, port, flow);
        }
    }

    /// Courses of the ranks here.
    pub(super) fn rank_reports(&mut self) -> Vec<RankReport> {
        let all = self.ranks.take().into_iter().flat_map(|ranks| ranks.here);
        all.map(|r| RankReport {
            job: r.job,
            rank: r.machine.rank(),
            iterations: r.machine.into_log().0.iterations,
        })
        .collect()
    }
}

//! The straggler of an iteration: the message of its critical path that lost most time, and the
//! congestion on its path.

use xoff_net::jobs::Job;
use xoff_net::topology::PortNumbers;
use xoff_net::workload::UNLIMITED;
use xoff_record::{Cause, StragglerAnswer};
use xoff_sim::{FlowRecord, Outcome};
use xoff_units::Span;
use xoff_units::{FlowId, NodeId};

use super::account::{Accounts, Stretch};
use crate::network::NetworkScenario;
use crate::network::ideal::Ideals;

/// The message of a critical path that lost most time to pauses, rate control and queues; where
/// none lost any, the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Straggler {
    /// Flow of the message.
    pub flow: u32,
    /// Rank that sent it.
    pub from_rank: u32,
    /// Rank that received it.
    pub to_rank: u32,
    /// Start: its sender took it up, or the previous iteration ended, whichever was later [ps].
    pub start_ps: u64,
    /// Time of its arrival [ps].
    pub end_ps: u64,
    /// Part of that time in which ports on its path were paused [ps].
    pub pause_ps: u64,
    /// Rate control, or a window, held it back at its source [ps].
    pub rate_limit_ps: u64,
    /// Wait behind other frames [ps].
    pub queueing_ps: u64,
    /// The port of its path that was not allowed to transmit longest meanwhile, and for how long
    /// [ps]; `None`: all were, all the time.
    pub paused: Option<((NodeId, u16), u64)>,
    /// Hosts of the two ranks.
    hosts: (NodeId, NodeId),
}

/// A message on a critical path, and the time that it lost there.
#[derive(Clone, Copy)]
pub(super) struct OnPath {
    flow: u32,
    from: u64,
    to: u64,
    /// To pauses, rate control and queues [ps].
    lost: [u64; 3],
}

/// Messages of a critical path. Only the one that lost most is kept. The stretches of a message
/// follow each other on it.
#[derive(Default)]
pub(super) struct Stragglers {
    most: Option<OnPath>,
    last: Option<OnPath>,
}

impl Stragglers {
    /// The next stretch of the path.
    pub fn add(&mut self, s: &Stretch) {
        let Some(flow) = s.flow else { return };
        if self.last.is_none_or(|l| l.flow != flow) {
            self.most = self.longest();
            self.last = Some(OnPath { flow, from: s.from, to: s.to, lost: [0; 3] });
        }
        let Some(last) = &mut self.last else { return };
        (last.from, last.to) = (last.from.min(s.from), last.to.max(s.to));
        for (cause, lost) in
            [Cause::Pause, Cause::RateLimit, Cause::Queueing].into_iter().zip(&mut last.lost)
        {
            *lost += if s.cause == cause { s.to - s.from } else { 0 };
        }
    }

    /// Message that lost most; where none lost any, the last one.
    pub fn longest(&self) -> Option<OnPath> {
        self.most
            .into_iter()
            .chain(self.last)
            .max_by_key(|x| (x.lost.iter().sum::<u64>(), x.to, x.flow))
    }
}

impl Accounts<'_> {
    /// Slowest message of a critical path.
    pub fn straggler(
        &self,
        job: &Job,
        OnPath { flow, from: start_ps, to: end_ps, lost }: OnPath,
    ) -> Straggler {
        let m = job.message(job.of_flow(flow).1);
        let f = &self.outcome.flow(FlowId(flow));
        let paused = |(n, p)| {
            (
                (n, p),
                self.paused([self.ports.of(n, p)].into_iter(), f.flow.priority, start_ps, end_ps),
            )
        };
        let ports = self.ports_of(f).unwrap_or_else(|| vec![(f.flow.src, 0)]);
        // Of equal ones the first on the path.
        let paused = ports.into_iter().map(paused).filter(|p| p.1 > 0).rev().max_by_key(|p| p.1);
        Straggler {
            flow,
            from_rank: m.from,
            to_rank: m.to,
            start_ps,
            end_ps,
            pause_ps: lost[0],
            rate_limit_ps: lost[1],
            queueing_ps: lost[2],
            paused,
            hosts: (f.flow.src, f.flow.dst),
        }
    }
}

/// Command that finds the cause.
const WHY: &str = ". Why: xoff explain DIR --straggler";

impl Straggler {
    /// For the manifest.
    pub(super) fn answer(&self, s: &NetworkScenario) -> StragglerAnswer {
        let Straggler {
            flow,
            from_rank,
            to_rank,
            start_ps,
            end_ps,
            pause_ps,
            rate_limit_ps,
            queueing_ps,
            paused,
            hosts,
        } = self;
        StragglerAnswer {
            flow: u64::from(*flow),
            from_rank: *from_rank,
            to_rank: *to_rank,
            from_host: s.topology.name(hosts.0).into(),
            to_host: s.topology.name(hosts.1).into(),
            start_ps: *start_ps,
            end_ps: *end_ps,
            pause_ps: *pause_ps,
            rate_limit_ps: *rate_limit_ps,
            queueing_ps: *queueing_ps,
            paused_port: paused.map(|((n, p), _)| s.topology.port_name(n, p)),
            paused_port_ps: paused.map_or(0, |p| p.1),
        }
    }

    /// In a sentence.
    pub(super) fn words(&self, s: &NetworkScenario, o: &Outcome) -> String {
        let name = |node: NodeId| s.topology.name(node);
        let mut text = format!(
            "the message waited for longest there is flow {}, rank {} on {} to rank {} on {}, under way from {} to {}",
            self.flow,
            self.from_rank,
            name(self.hosts.0),
            self.to_rank,
            name(self.hosts.1),
            Span(self.start_ps),
            Span(self.end_ps)
        );
        let lost = [
            ("pause", self.pause_ps),
            ("rate limit", self.rate_limit_ps),
            ("queueing", self.queueing_ps),
        ];
        let lost: Vec<String> = lost
            .iter()
            .filter(|l| l.1 > 0)
            .map(|(word, ps)| format!("{word} {}", Span(*ps)))
            .collect();
        if lost.is_empty() {
            return text + "; nothing delayed it";
        }
        text += &format!(", {} of it", lost.join(", "));
        if let Some(((n, p), ps)) = self.paused {
            text += &format!(
                "; {} was not allowed to transmit for {}",
                s.topology.port_name(n, p),
                Span(ps)
            );
        }
        if let Some((port, with)) = shared(s, o, self.flow, (self.start_ps, self.end_ps)) {
            let flows = if with.len() == 1 { "flow" } else { "flows" };
            text += &format!(
                "; it shared {} with {} {flows} of other hosts",
                s.topology.port_name(port.0, port.1),
                with.len()
            );
        }
        // It repeats the run, and asks for messages that a streamed job does not keep.
        text + if s.is_streamed() { "" } else { WHY }
    }
}

/// The egress port of a flow's path through which most bytes of other hosts went at the same time,
/// and their flows, the one with most of them first; `None`: there were none, or it took no one
/// path. Of equal ports the last, where paths meet that go to one receiver.
pub fn shared(
    s: &NetworkScenario,
    o: &Outcome,
    flow: u32,
    (from, to): (u64, u64),
) -> Option<((NodeId, u16), Vec<u32>)> {
    let ideals = Ideals::new(s, o);
    let numbers = PortNumbers::new(&s.topology);
    let path = |f: &FlowRecord| ideals.ports(ideals.epoch(f.flow.start), &f.flow);
    let own = &(u64::from(flow) < o.flows_total()).then(|| o.flow(FlowId(flow)))?;
    let (ports, src) = (path(own)?, own.flow.src);
    // Flows with as much of their bytes as of their time was meanwhile.
    let mut with: Vec<Vec<(u64, u32)>> = vec![Vec::new(); ports.len()];
    let mut place = vec![None; numbers.len()];
    ports.iter().enumerate().for_each(|(at, &(n, p))| place[numbers.of(n, p) as usize] = Some(at));
    for (other, f) in (0..).zip(o.all_flows()) {
        let until = f.received.map_or(o.now.0, |r| r.0);
        // One that has not begun has no time.
        let together = until.min(to).saturating_sub(f.flow.start.0.max(from));
        if f.flow.src == src || together == 0 {
            continue;
        }
        let size = if f.flow.size == UNLIMITED { f.delivered } else { f.flow.size };
        let bytes = (u128::from(size) * u128::from(together)
            / u128::from((until - f.flow.start.0).max(1))) as u64;
        for at in path(&f)
            .unwrap_or_default()
            .iter()
            .filter_map(|&(n, p)| place[numbers.of(n, p) as usize])
        {
            with[at].push((bytes, other));
        }
    }
    let (at, mut flows) = with
        .into_iter()
        .enumerate()
        .max_by_key(|(at, w)| (w.iter().map(|x| x.0).sum::<u64>(), *at))
        .filter(|(_, w)| !w.is_empty())?;
    flows.sort_unstable_by_key(|&(bytes, other)| (std::cmp::Reverse(bytes), other));
    Some((ports[at], flows.into_iter().map(|x| x.1).collect()))
}

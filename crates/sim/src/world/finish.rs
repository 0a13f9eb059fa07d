//! Outcome of a run: the partitions put together, and counters that are also available earlier.

use xoff_units::NodeId;

use super::on_processes::Sums;
use super::*;
use crate::observe::given_up::GivenUp;
use crate::observe::outcome::{Outcome, PortTotals};

impl World {
    /// Ends the run: final look, counters, flows.
    pub fn finish(mut self, ended: Ended) -> (Outcome, Option<Box<dyn Recorder>>) {
        let (now, of_run) = (self.now, self.now());
        let fast_forwarded = self.fast_forwarded();
        self.partitions
            .iter_mut()
            .for_each(|p| p.core.clock.reach(EventKey { time: now, rank: u64::MAX }));
        if self.deadlock_interval.0 > 0 && self.deadlocks.is_empty() {
            self.look_for_deadlocks();
        }
        self.audit();
        std::mem::take(&mut self.held).into_iter().for_each(|sample| self.record(sample.row()));
        self.put_in_order(); // stops that have expired since the last event
        let mut ranks = self.take_ranks();
        let (leapt, jobs) = (std::mem::take(&mut self.leaps), self.jobs.clone());
        let mut begun = self.partitions.iter().map(|p| p.starts.begun).sum();
        let events = self.events();
        let switches = self
            .partitions
            .iter()
            .flat_map(|p| &p.nodes)
            .filter_map(|n| if let Node::Switch(s) = n { Some(s) } else { None });
        let mut flow_collisions = switches.map(|s| s.collisions()).sum();
        let mut pools = self.pool_uses();
        let (expected, delays) = (self.expected_numbers(), self.delays());
        let mut ports = self.take_port_totals();
        let mut partitions = self.partitions.into_iter().map(|p| p.core.monitor);
        let mut seen = partitions.next().expect("a world has a partition");
        let mut checks = vec![self.checks, std::mem::take(&mut seen.checks)];
        let mut storms = seen.storms.take();
        let mut given_up = seen.given_up;
        given_up.add(expected);
        let (mut counts, mut records) = (seen.counts, seen.flows.records);
        for mut other in partitions {
            counts.add(&other.counts);
            seen.cnms.extend(other.cnms);
            seen.taken.join(other.taken);
            records.add(&other.flows.records);
            checks.push(other.checks);
            storms.extend(other.storms.take());
            given_up.add(other.given_up);
        }
        let (mut flows, messages) = records.into_parts();
        if self.others.exist() {
            let (cnms, taken) = (&mut seen.cnms, &mut seen.taken);
            let all = Sums {
                ports: &mut ports,
                begun: &mut begun,
                flow_collisions: &mut flow_collisions,
                pools: &mut pools,
                counts: &mut counts,
                flows: &mut flows,
                cnms,
                taken,
            };
            all.join(&mut self.others);
            checks = self.others.at_first(checks);
            storms = self.others.at_first(storms);
            given_up = given_up.at_first(&mut self.others);
        }
        given_up.lost(
            now,
            |to| delays[to as usize],
            |to, lost| {
                counts.lost.add(&lost);
                let PortId { node, port } = self.layout.ports.place(to);
                ports[node.index()][port as usize].lost += lost.total().total();
            },
        );
        if self.outside {
            // A flow may have begun elsewhere, by another clock.
            let known = |f: &FlowRecord| f.flow.start <= of_run || f.delivered > 0;
            begun = flows.iter().rposition(known).map_or(0, |last| last + 1);
        }
        match &jobs {
            Some(jobs) if !leapt.is_empty() => {
                leaps::unfold_flows(&leapt, jobs, &mut flows);
                leaps::unfold_ranks(&leapt, jobs, &mut ranks);
            }
            Some(_) => {}
            None => {
                flows.truncate(begun);
                messages.iter().for_each(|m| m.truncate(begun as u64));
            }
        }
        storms.retain(|storm| storm.found <= of_run);
        storms.iter_mut().for_each(|s| s.over = s.over.filter(|over| *over <= of_run));
        storms.sort_by_key(Storm::order);
        let (violations, violations_total) = Checks::merged(checks);
        let outcome = Outcome {
            ended,
            now: of_run,
            events,
            fast_forwarded,
            frame_hops: counts.frame_hops,
            data_frame_hops: counts.data_frame_hops,
            dropped_frames: counts.lost.dropped().total(),
            lost_frames: counts.lost.on_links().total(),
            lost: counts.lost,
            lossless: self.layout.lossless,
            rate_changes: counts.rate_changes,
            retry: counts.retry,
            retransmission_timeouts: counts.retransmission_timeouts,
            delivered_frames: counts.delivered,
            flows,
            messages,
            uplinks: seen.taken.into_flows(),
            ranks,
            completions: self.completions,
            queue_counts: seen.histogram.map(|h| h.kept).unwrap_or_default(),
            deadlocks: self.deadlocks,
            storms,
            ports,
            pools,
            cnms: seen.cnms,
            flow_collisions,
            violations,
            violations_total,
            routes: self.routes,
        };
        (outcome, self.recorder)
    }

    /// Next expected numbers on repeating links of this process: frames given up from there on do
    /// not arrive any more.
    fn expected_numbers(&self) -> GivenUp {
        let mut open = GivenUp::default();
        if !self.over.is_empty() || self.partitions.iter().any(|p| p.core.links_act()) {
            for (at, &PortId { node, port }) in (0u32..).zip(self.layout.ports.places()) {
                let expected = match &self.home(node).nodes[node.index()] {
                    Node::Switch(s) => s.port(port).expected_number(),
                    Node::Nic(n) => n.port(port).expected_number(),
                    Node::Remote => None,
                };
                expected.into_iter().for_each(|from| open.skip(at, from..u64::MAX));
            }
        }
        open
    }

    /// Delay of the link by which frames reach each port.
    fn delays(&self) -> Vec<Span> {
        let lines = &self.partitions[0].core.lines;
        lines.iter().map(|l| l.delay).collect()
    }

    /// The most that was held up to now in the pools of each switch of this process that has any.
    pub fn pool_uses(&self) -> BTreeMap<NodeId, Vec<PoolUse>> {
        let nodes = self.partitions.iter().flat_map(|p| (0..).map(NodeId).zip(&p.nodes));
        let uses = nodes.filter_map(|(n, node)| {
            if let Node::Switch(s) = node { Some((n, s.pool_uses())) } else { None }
        });
        uses.filter(|(_, uses)| !uses.is_empty()).collect()
    }

    /// Counters by node and port up to now; each port is counted where its node is.
    pub fn port_totals(&self) -> Vec<Vec<PortTotals>> {
        (0..self.nodes()).map(|n| self.port_totals_of(NodeId(n))).collect()
    }

    /// Counters by node and port at the end. The nodes are removed one by one, so that their memory
    /// serves the counters.
    fn take_port_totals(&mut self) -> Vec<Vec<PortTotals>> {
        let nodes = self.nodes();
        let take = |n| {
            let totals = self.port_totals_of(NodeId(n));
            *self.node_mut(NodeId(n)) = Node::Remote;
            totals
        };
        (0..nodes).map(take).collect()
    }

    fn nodes(&self) -> u32 {
        self.layout.ports.first().len() as u32
    }

    fn port_totals_of(&self, node: NodeId) -> Vec<PortTotals> {
        let classes = &self.layout.classes;
        let partition = self.home(node);
        let state = &partition.nodes[node.index()];
        let of_port = |(port, at): (u16, u32)| {
            let at = at as usize;
            let mut totals = partition.core.totals_of(at);
            for class_at in at * classes.len()..(at + 1) * classes.len() {
                let (paused, held) = partition.core.monitor.open_stops(class_at, self.now);
                (totals.paused_ps, totals.blocked_ps) =
                    (totals.paused_ps + paused, totals.blocked_ps + held);
            }
            if let Node::Switch(s) = state {
                for class in classes.all() {
                    let (ingress, egress) = s.highest(port, class);
                    totals.ingress_bytes_max = totals.ingress_bytes_max.max(ingress);
                    totals.egress_bytes_max = totals.egress_bytes_max.max(egress);
                }
            }
            totals
        };
        (0..).zip(self.layout.ports.all_of(node)).map(of_port).collect()
    }
}

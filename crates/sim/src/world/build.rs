//! From a model to a world at rest.

use std::num::NonZero;

use rustc_hash::FxHashMap;
use xoff_net::topology::routing::{Order, Paths, Routes};
use xoff_units::NodeId;

use super::*;
use crate::engine::calendar::Engine;
use crate::engine::queue::EventQueue;
use crate::engine::windows::{Units, Windows};
use crate::observe::histogram::Histogram;
use crate::observe::monitor::Monitor;
use crate::observe::records::Records;
use crate::world::division::{is_here, shares, split, units};
use crate::world::hardware::{Ports, classes, nic_config, node, nodes, rates};
use crate::world::model::{PathFactsOf, path_facts};
use crate::world::split::Split;

/// Refuses frames and flows that events and frames have no room for.
fn fits(flows: &Flows, m: &Model) -> Result<(), ParamError> {
    let frame = m.nic.payload_max as u64 + m.nic.header as u64;
    if frame > LEN_MAX as u64 {
        return Err(ParamError::new(
            "frame_max",
            format!("frames of {frame} B"),
            format!("a frame has at most {LEN_MAX} B"),
        ));
    }
    let listed = flows.len();
    if listed > FLOWS_MAX as u64 {
        return Err(ParamError::new(
            "flow",
            format!("{listed} flows"),
            format!("at most {FLOWS_MAX} flows can be distinguished"),
        ));
    }
    Ok(())
}

/// Rejects clearing of flows, or of messages of jobs, if one of their frames may arrive after their
/// end.
fn clears_flows(flows: &Flows, m: &Model) -> Result<(), ParamError> {
    let f = &m.faults;
    let reasons = [
        (
            m.nic.transport.has_timer(),
            "hosts that recover from losses may send a frame again after the end of its flow",
        ),
        (!f.failures.is_empty(), "frames of a flow may come by two paths where a link fails"),
        (
            !f.errors.is_empty() || f.losses.is_some(),
            "frames that are lost go again, perhaps after the end of their flow",
        ),
        (
            !m.lossy.is_empty(),
            "frames of lossy priorities that are dropped go again, perhaps after the end of their flow",
        ),
        (
            m.probes.flow_rates,
            "a sample of the rates of flows has a value for every message, over or not",
        ),
        (m.order == EventOrder::Insertion, "another simulator's order of events is followed"),
    ];
    let (key, which) = match flows.pages {
        Some(_) => ("run.stream", "flows"),
        None => ("job.stream", "messages of a streamed job"),
    };
    match reasons.into_iter().find(|r| r.0) {
        Some((_, why)) => Err(ParamError::new(
            key,
            format!("{which} that are over leave memory, and {why}"),
            "remove the key",
        )),
        None => Ok(()),
    }
}

/// Path facts by source and destination; `None`: flows have none.
fn facts_by_ends<'m>(
    topology: &'m Topology,
    routes: &'m Routes,
    m: &'m Model,
) -> Option<PathFactsOf<'m>> {
    let given = m.path_facts.clone();
    given.or_else(|| {
        let reckons = m.nic.window.is_some() || m.measures_paths();
        reckons.then(|| -> PathFactsOf<'m> {
            Arc::new(move |src, dst| path_facts(topology, routes, m, src, dst))
        })
    })
}

/// Refuses a flow that no route leads to.
fn routed(topology: &Topology, routes: &Routes, flows: &Flows) -> Result<(), ParamError> {
    for f in flows.flows.iter().cloned().chain(flows.streamed()) {
        if f.path.is_none() && routes.candidates(f.src, f.dst).is_empty() {
            return Err(ParamError::new(
                "flow",
                format!("no route from {} to {}", topology.name(f.src), topology.name(f.dst)),
                why_unrouted(topology, f.src, f.dst),
            ));
        }
    }
    Ok(())
}

/// The leaf of each host, where the law of load balancing adds headers to frames between leaves.
fn leaves_of(topology: &Topology, m: &Model) -> Result<Vec<NodeId>, ParamError> {
    if !m.balancing.adds_headers() {
        return Ok(Vec::new());
    }
    topology.leaves().map_err(|what| {
        ParamError::new("load_balancing", what, "this law needs a network of leaves and spines")
    })
}

/// Reason for a pair without a route: the rule, links that have failed, or links that never were.
fn why_unrouted(topology: &Topology, src: NodeId, dst: NodeId) -> &'static str {
    let linked = |t: &Topology| {
        let shortest = Routes::build(t, Paths::Shortest, Order::AscendingPort);
        !shortest.candidates(src, dst).is_empty()
    };
    let mut whole = topology.clone();
    whole.links.iter_mut().for_each(|l| l.up = true);
    if linked(topology) {
        "the links connect them, but not by paths of this rule: choose another routing.kind, or state the levels of switches for up-down"
    } else if linked(&whole) {
        "failed links cut the network in two: repair one, or leave the flow out"
    } else {
        "no switches connect them: add a link"
    }
}

impl World {
    /// Builds a network at rest with its flows waiting to start. `forward` advances it.
    #[expect(
        clippy::too_many_lines,
        reason = "each of a world's fields has its line, in the order of their declaration"
    )]
    pub(crate) fn assemble(
        topology: &Topology,
        mut flows: Flows,
        m: &Model,
        forward: impl FnOnce(&Load) -> Box<dyn Advance>,
    ) -> Result<World, ParamError> {
        fits(&flows, m)?;
        let elsewhere = |here: &Vec<bool>| topology.hosts().any(|h| !here[h.index()]);
        if m.outside.as_ref().is_some_and(elsewhere) && flows.jobs.is_some() {
            let what = "its ranks send real frames to hosts that know nothing of it";
            return Err(ParamError::new("job", what, "xoff run simulates it"));
        }
        if flows.pages().is_some() {
            clears_flows(&flows, m)?;
        }
        let (classes, scheduler, acks) = classes(&flows, m)?;
        let (split, unsplit) = match m.share {
            Some(share) => (shares(topology, &flows, m, share)?, None),
            None => split(topology, &flows, m),
        };
        let engine = units(topology, &flows, m);
        let ports = Ports::new(topology, &split, m)?;
        let here: Vec<bool> = topology.node_ids().map(|n| is_here(m, &split, n)).collect();
        let (lookahead, busy) = (split.lookahead, split.partitions());
        // A share is one partition; its other nodes are absent.
        let split = if m.share.is_some() { Split::whole(topology) } else { split };
        let driven = !flows.handed_in.is_empty();
        let listens = driven && flows.calls.is_none();
        let streamed = flows.pages().is_some() || listens && clears_flows(&flows, m).is_ok();
        // Before the nodes: while routes are built, they take several times their memory.
        let routes = Arc::new(m.routing.routes(topology));
        let nic = Arc::new(nic_config(m, &classes, acks, m.reorders(topology), streamed));
        let tiers = topology.distances_to_hosts();
        let (nodes, lossless) = nodes(
            topology,
            |n| here[n.index()],
            &split,
            |n| node(topology, n, m, &scheduler, &classes, &nic, &tiers),
        )?;
        routed(topology, &routes, &flows)?;
        let initial: Vec<Flow> = flows.loops.iter().flat_map(|l| l.initial()).collect();
        if !initial.is_empty() || !flows.flows.is_sorted_by_key(|f| f.start) {
            let listed = Arc::make_mut(&mut flows.flows);
            listed.extend(initial);
            listed.sort_by_key(|f| f.start); // stable: ties keep the order given
        }
        let messages = flows.len() - flows.flows.len() as u64;
        let sends = flows.sends().count();
        let mut facts_of_ends = FxHashMap::default();
        let of = facts_by_ends(topology, &routes, m);
        if let Some(of) = &of {
            flows.streamed().for_each(|f| {
                _ = facts_of_ends.entry((f.src, f.dst)).or_insert_with(|| of(f.src, f.dst))
            });
        }
        flows.sends().for_each(|f| {
            let facts = || path_facts(topology, &routes, m, f.src, f.dst);
            facts_of_ends.entry((f.src, f.dst)).or_insert_with(facts);
        });
        let facts_of_ends = Arc::new(facts_of_ends);
        let path_facts: Vec<PathFacts> = match &of {
            Some(of) => flows.flows.iter().map(|f| of(f.src, f.dst)).collect(),
            None => Vec::new(),
        };

        let probes = Arc::new(m.probes.clone());
        let layout = Arc::new(Layout {
            ports: ports.numbers,
            partition_of: split.partition_of,
            lossy: classes.set(&m.lossy),
            classes,
            clock: m.clock,
            seed: m.seed,
            plain: m.engine != Engine::Events,
            choice: m.routing.choice,
            rates: if m.balancing.is_ecmp() { Vec::new() } else { rates(topology) },
            leaves: leaves_of(topology, m)?,
            reorders: m.reorders(topology),
            paths: std::mem::take(&mut flows.paths),
            transport: m.nic.transport,
            lossless,
            detecting: m.probes.any_on_change(),
            frees_receiver_state: m.order == EventOrder::Insertion,
            shared_connections: m.nic.shared_connections,
            loops: !flows.loops.is_empty() || driven,
            jobs: flows.jobs.is_some(),
            streamed,
            names: topology.nodes.iter().map(|n| n.name.as_str().into()).collect(),
        });
        let by_flow =
            nodes.iter().flatten().any(|n| matches!(n, Node::Nic(n) if n.is_held_by_flow()));
        let forward = forward(&Load {
            topology,
            routes: &routes,
            flows: &flows,
            path_facts: &path_facts,
            model: m,
            by_flow,
        });
        let outside = m.outside.is_some();
        // Messages of jobs are the last ones, and begin when their ranks send them.
        let planned = flows.flows.partition_point(|f| f.start < Time::NEVER) as u32;
        let (listed, path_facts) = (flows.flows, Arc::new(path_facts));
        let checks = Checks::new(m.checks);
        let partitions = nodes.len();
        let partition = |(partition, nodes): (usize, Vec<Node>)| {
            let begins = |f: &Flow| {
                layout.partition_of[f.src.index()] as usize == partition && here[f.src.index()]
            };
            let own = (0..planned).filter(|&i| begins(&listed[i as usize])).collect();
            let mut monitor = Monitor::new(layout.clone(), probes.clone(), Checks::new(m.checks));
            let jobs = flows.jobs.as_ref();
            monitor.flows.records = match &flows.pages {
                Some(pages) if layout.loops => Records::paged(&pages.file),
                Some(pages) => Records::streamed(&listed, jobs, pages),
                None if layout.loops => Records::default(),
                None => Records::new(&listed, jobs),
            };
            let queue = event_queue(topology, m, partitions);
            let pending = match &engine {
                Ok(units) => {
                    Calendar::ByWindow(Box::new(Windows::new(units, layout.ports.places(), queue)))
                }
                Err(_) => Calendar::Global(queue),
            };
            let destinations = m.share.map_or(partitions + outside as usize, |s| s.count);
            let core = Core::new(
                partition as u16,
                destinations,
                pending,
                m.order,
                routes.clone(),
                ports.lines.clone(),
                monitor,
            );
            let mut partition =
                Partition::new(nodes, core, Starts::new(listed.clone(), own, path_facts.clone()));
            partition.starts.facts_of_ends = facts_of_ends.clone();
            partition.news = listens.then(Vec::new);
            partition.stops_at_news = listens;
            partition
        };
        let partitions: Vec<_> = nodes.into_iter().enumerate().map(partition).collect();

        let mut world = World {
            threads: m.threads.clamp(1, partitions.len()),
            partitions,
            layout,
            probes,
            routes: routes.clone(),
            lookahead: Lookahead {
                delay: lookahead,
                window: engine.as_ref().ok().map(Units::window),
            },
            others: Others::default(),
            share: m.share,
            busy,
            elsewhere: 0,
            met: 0,
            cores: std::thread::available_parallelism().map_or(1, NonZero::get),
            threads_pay: true,
            unsplit,
            by_events: engine.as_ref().err().cloned(),
            global_events: BinaryHeap::new(),
            now: Time::ZERO,
            events: 0,
            looked: None,
            acted: Time::ZERO,
            complete_at: Time::ZERO,
            disturbed: 0,
            noted: None,
            skipped: Span::ZERO,
            events_skipped: 0,
            forward: Some(forward),
            paused: false,
            failures: 0,
            recorder: None,
            completions: Vec::new(),
            messages_complete: 0,
            streamed_from: match listens || flows.pages.is_some() {
                true => Some(0),
                false => streamed.then_some(listed.len() as u32),
            },
            listed: listed.len() + messages as usize + sends,
            calls: Calls::new(flows.calls.as_ref()),
            ranks_left: flows.jobs.as_ref().map_or(0, |j| j.ranks()),
            jobs: flows.jobs.clone(),
            leaps: Vec::new(),
            deadlock_interval: m.deadlock_interval,
            stop_on_deadlock: m.stop_on_deadlock,
            deadlocks: Vec::new(),
            samples: Samples::default(),
            held: Vec::new(),
            looks: (m.stop_when_done && flows.loops.is_empty()).then(DoneLooks::default),
            checks,
            overdrawn: BTreeSet::new(),
            outside,
            over: Vec::new(),
            rerouting: (driven || !m.faults.failures.is_empty())
                .then(|| Box::new((topology.clone(), m.routing))),
        };
        world.arm(topology, flows.loops, m)?;
        if let Some(jobs) = &flows.jobs {
            world.arm_jobs(jobs);
        }
        Ok(world)
    }

    /// Schedules the first events.
    fn arm(
        &mut self,
        topology: &Topology,
        loops: Vec<ClosedLoop>,
        m: &Model,
    ) -> Result<(), ParamError> {
        let first = &mut self.partitions[0];
        first.core.draws.source = m.draws.as_ref().map(|fresh| fresh());
        first.core.set_losses(m.faults.losses.as_ref().map(|fresh| fresh()));
        self.partitions
            .iter_mut()
            .for_each(|p| p.core.set_errors(&m.faults.errors, m.faults.link_retry.is_some()));
        if self.outside {
            self.over = self.partitions[0].core.take_errors();
        }
        let first = &mut self.partitions[0];
        first.starts.loops = loops;
        first.starts.round_robin = m.faults.round_robin.as_ref().map(|fresh| fresh());
        for partition in &mut self.partitions {
            for node in &mut partition.nodes {
                match node {
                    Node::Switch(s) => s.start(&mut partition.core),
                    Node::Nic(n) => n.start(&mut partition.core),
                    Node::Remote => {}
                }
            }
            partition.plan_flow_start();
        }
        if self.share.is_none() {
            meeting::exchange(&mut self.partitions);
        }
        for (nth, f) in m.faults.failures.iter().enumerate() {
            if f.link as usize >= topology.links.len() {
                return Err(ParamError::new(
                    "link_failure",
                    format!("there is no link {}", f.link),
                    "links are counted from 0",
                ));
            }
            self.plan_at(f.at, Kind::LinkFails, f.link, nth as u32);
        }
        if let Some(looks) = self.probes.histogram {
            let (ports, classes) = (self.layout.ports.len(), self.layout.classes.len());
            self.partitions[0].core.monitor.histogram =
                Some(Box::new(Histogram::new(looks, ports, classes)));
            self.partitions[0].core.monitor.records_queues = true;
            self.plan_at(looks.first, Kind::Look, 0, 0);
        }
        if self.deadlock_interval.0 > 0 {
            self.plan(self.deadlock_interval, Kind::DeadlockDetector);
        }
        let interval = self.probes.interval;
        if interval.0 > 0 {
            self.plan(interval, Kind::Sample);
        }
        Ok(())
    }
}

/// A queue for one of `partitions` partitions. Its buckets reach over one link, which is as far as
/// most events look ahead, and hold some dozens of events when the network is busy: a frame makes
/// about ten on its way.
fn event_queue(topology: &Topology, m: &Model, partitions: usize) -> EventQueue {
    const EVENTS_PER_BUCKET: u64 = 32;
    let mtu = Bytes((m.nic.payload_max + m.nic.header) as u64);
    let fastest = topology.links.iter().map(|l| l.rate).max().unwrap_or(Rate::from_gbps(10));
    let frame = fastest.time_for(mtu).0;
    let longest = topology.links.iter().map(|l| l.delay).max().unwrap_or_default();
    let partitions = m.share.map_or(partitions, |s| s.count);
    let events_per_frame_time = 10 * topology.hosts().count().max(1) as u64 / partitions as u64;
    EventQueue::new(frame * EVENTS_PER_BUCKET / events_per_frame_time.max(1), longest.0 + 2 * frame)
}

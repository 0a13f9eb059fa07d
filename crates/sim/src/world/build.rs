//! From a model to a world at rest.

use rustc_hash::FxHashMap;
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::RateControlKind;
use xoff_net::topology::routing::Routes;
use xoff_node::{DisciplineKind, StormConfig};

use crate::engine::windows::{Units, Windows};

use super::*;
use crate::engine::queue::EventQueue;
use crate::observe::histogram::Histogram;
use crate::observe::monitor::Monitor;
use crate::observe::records::Records;
use crate::wire::cut_through::head_time;
use crate::wire::fault::PauseStorm;
use crate::wire::line::Line;
use crate::world::model::{PathFactsOf, SwitchAt, path_facts};
use crate::world::split::Split;

/// A run splits only where a window between two meetings of the threads holds enough work to pay
/// for them.
const WORTH_A_WINDOW: Span = Span::from_ns(100);

/// The largest number that a frame can carry for a class.
const CLASS_MAX: u8 = 7;

/// Reason why a run has to stay on one thread, if any.
fn obstacle(m: &Model, flows: &Flows) -> Option<&'static str> {
    let f = &m.faults;
    Some(match () {
        _ if m.outside.is_some() => "its frames go through real ports",
        _ if m.order == EventOrder::Insertion => {
            "simultaneous events need one order for the whole network"
        }
        _ if !flows.loops.is_empty() => {
            "a closed loop numbers its flows in the order in which flows of the whole network end"
        }
        _ if !flows.handed_in.is_empty() => "another program adds flows during the run",
        _ if flows.jobs.as_ref().is_some_and(|j| j.jobs.iter().any(|j| j.sends_inside())) => {
            "ranks of one node exchange messages without a cable between them"
        }
        _ if m.probes.causes => "the cause of a pause is read from the next switch at once",
        _ if m.probes.histogram.is_some()
            || m.draws.is_some()
            || f.losses.is_some()
            || f.round_robin.is_some() =>
        {
            "another simulator's order of random numbers or timers is followed"
        }
        _ => return None,
    })
}

/// The shares of several processes. It is a refusal where threads would stay one: a process cannot
/// do the work of the others.
fn shares(
    topology: &Topology,
    flows: &Flows,
    m: &Model,
    share: Share,
) -> Result<Split, ParamError> {
    let refused = |why: &str| {
        let what = format!("this run cannot be spread over {} processes: {why}", share.count);
        Err(ParamError::new("processes", what, "run it in one process, with xoff run"))
    };
    if let Some(why) = obstacle(m, flows) {
        return refused(why);
    }
    if !m.probes.frames.is_none() {
        return refused("frames on wires are recorded one by one");
    }
    if flows.jobs.is_some() {
        return refused("what the ranks of a job did stays with their process");
    }
    let split = Split::new(topology, share.count);
    match split.lookahead {
        Span::ZERO => refused("a link between two of them has no delay"),
        _ => Ok(split),
    }
}

/// The partitions of a network, or why it stays whole.
fn split(topology: &Topology, flows: &Flows, m: &Model) -> (Split, Option<String>) {
    if m.threads <= 1 {
        return (Split::whole(topology), None);
    }
    let whole = |why: String| (Split::whole(topology), Some(why));
    if let Some(why) = obstacle(m, flows) {
        return whole(why.into());
    }
    let split = Split::new(topology, m.threads);
    match split.partitions() {
        1 => whole("one switch does all the work".into()),
        _ if split.lookahead < WORTH_A_WINDOW => whole(format!(
            "the shortest link between two partitions is {} long; below {WORTH_A_WINDOW} threads meet too often to gain anything",
            split.lookahead
        )),
        _ => (split, None),
    }
}

/// The nodes that act together, window by window, or why events are handled in one global order.
fn units(topology: &Topology, flows: &Flows, m: &Model) -> Result<Units, String> {
    if m.engine == Engine::Events {
        return Err("that was asked for".into());
    }
    if let Some(why) = obstacle(m, flows) {
        return Err(why.into());
    }
    let units = Units::new(topology)?;
    let frame = Bytes((m.nic.payload_max + m.nic.header) as u64);
    match units.too_sparse(topology, frame).filter(|_| m.engine == Engine::Auto) {
        Some(why) => Err(why),
        None => Ok(units),
    }
}

/// The priorities in use: those of the flows, and that of acknowledgements if they have one of
/// their own; but for the one that travels with the control frames.
pub fn classes_in_use(flows: &Flows, transport: &Transport, unpaused: Option<u8>) -> Classes {
    let own = match *transport {
        Transport::Acks { class, .. } => class,
        Transport::None => None,
    };
    let jobs = flows
        .jobs
        .iter()
        .filter(|j| j.are_streamed())
        .flat_map(|j| &j.jobs)
        .filter(|j| j.flows() > 0)
        .map(|j| j.priority);
    let listed =
        flows.flows.iter().map(|f| f.priority).chain(flows.handed_in.iter().copied()).chain(jobs);
    Classes::with_unpaused_class(
        listed.chain(flows.loops.iter().flat_map(|l| l.initial().map(|f| f.priority))).chain(own),
        unpaused,
    )
}

/// The model has priorities, nodes of classes.
fn in_classes(transport: &mut Transport, classes: &Classes) {
    if let Transport::Acks { class, paused_with, .. } = transport {
        if let Some(p) = *class {
            *class = classes.class(p);
        }
        if let PausedWith::Class(Some(p)) = *paused_with {
            *paused_with = PausedWith::Class(classes.class(p));
        }
    }
}

/// Ports in the order of their nodes.
struct Ports {
    numbers: PortNumbers,
    lines: Vec<Line>,
}

impl Ports {
    fn new(t: &Topology, split: &Split, m: &Model) -> Result<Ports, ParamError> {
        let mut all = Ports { numbers: PortNumbers::new(t), lines: Vec::new() };
        if let Some(node) = t.nodes.iter().find(|n| n.ports.len() >= NO_PORT as usize) {
            let what = format!("{} has {} ports", node.name, node.ports.len());
            return Err(ParamError::new(
                "topology",
                what,
                format!("at most {} ports of a node can be distinguished", NO_PORT - 1),
            ));
        }
        if all.numbers.len() >= PORTS_MAX {
            let what = format!("{} ports", all.numbers.len());
            return Err(ParamError::new(
                "topology",
                what,
                format!("at most {PORTS_MAX} ports can be distinguished"),
            ));
        }
        for (n, node) in t.nodes.iter().enumerate() {
            for (at, p) in node.ports.iter().enumerate() {
                let l = &t.links[p.link as usize];
                let to = all.numbers.of(p.peer, p.peer_port);
                let head = head_time(t, n as u32, at as u16, m.cut_through, m.clock);
                let partition = match (m.share, split.partition_of[p.peer as usize]) {
                    _ if m.outside.is_some() => OUTSIDE,
                    (Some(share), process) => share.local(process as usize) as u16,
                    (None, partition) => partition,
                };
                let mut line = Line::new(to, p.link, l.delay, head, partition, l.up);
                if m.probes.frames.has(PortId { node: n as u32, port: at as u16 }) {
                    line.tap();
                }
                all.lines.push(line);
            }
        }
        Ok(all)
    }
}

/// A switch or a NIC at rest, and whether its links are lossless.
fn node(
    topology: &Topology,
    n: u32,
    m: &Model,
    scheduler: &SchedulerKind,
    classes: &Classes,
    nic: &Arc<NicConfig>,
    tiers: &[u32],
) -> Result<(Node, bool), ParamError> {
    let node = &topology.nodes[n as usize];
    let mtu = Bytes((m.nic.payload_max + m.nic.header) as u64);
    let facts = |port: usize| {
        let l = topology.link_at(n, port as u16);
        let peer_tier = tiers[node.ports[port].peer as usize].cmp(&tiers[n as usize]);
        LinkFacts {
            processing: m.control_delay.longest(),
            peer_tier,
            ..LinkFacts::plain(l.rate, l.delay, mtu, m.ingress_buffer)
        }
    };
    let links: Vec<LinkFacts> = (0..node.ports.len()).map(facts).collect();
    let links_without_flow_control: Vec<bool> =
        node.ports.iter().map(|p| m.links_without_flow_control.contains(&p.link)).collect();
    let in_use = |(l, &links_without_flow_control): (&LinkFacts, &bool)| {
        if links_without_flow_control { Ok(FlowControl::None) } else { m.flow_control.at(l) }
    };
    let flow_control =
        links.iter().zip(&links_without_flow_control).map(in_use).collect::<Result<Vec<_>, _>>()?;
    if m.discipline != DisciplineKind::Fifo && flow_control.iter().any(FlowControl::per_flow) {
        return Err(ParamError::new(
            "discipline",
            "this flow control has its own egress queues, which are FIFO",
            "set discipline = \"fifo\"",
        ));
    }
    if let Some(len) = flow_control
        .iter()
        .map(|f| m.message_len.unwrap_or(f.message_len()))
        .find(|len| len.0 > LEN_MAX as u64)
    {
        return Err(ParamError::new(
            "flow_control",
            format!("control frames of {len}"),
            format!("a frame has at most {LEN_MAX} B"),
        ));
    }
    let detection = links.iter().map(|l| m.detection.at(l)).collect::<Result<Vec<_>, _>>()?;
    // CNMs travel as an unpaused class does, if need be with a number that no priority has.
    let unpaused = classes
        .unpaused()
        .or(detection.iter().any(Detection::sends_cnms).then_some(classes.len() as u8));
    if unpaused.is_some_and(|number| number > CLASS_MAX) {
        return Err(ParamError::new(
            "priority",
            "all eight priorities are in use, and CNMs to sources need a number of their own",
            "use seven priorities at most",
        ));
    }
    let lossless = !flow_control.iter().zip(&links_without_flow_control).any(
        |(f, links_without_flow_control)| {
            matches!(f, FlowControl::None) && !links_without_flow_control
        },
    );
    let mut made = match node.kind {
        NodeKind::Switch => Node::Switch(Box::new(Switch::new(
            n,
            &SwitchConfig {
                flow_control,
                detection,
                buffer: (m.buffer)(&SwitchAt { node: n, links: &links, classes, model: m }),
                links,
                to_host: node
                    .ports
                    .iter()
                    .map(|p| topology.nodes[p.peer as usize].kind == NodeKind::Host)
                    .collect(),
                telemetry: m.nic.rate_control.telemetry(),
                watchdog: m.watchdog,
                discipline: m.discipline,
                scheduler: scheduler.clone(),
                control_delay: m.control_delay,
                classes: classes.len(),
                lossy: classes.set(&m.lossy),
                message_len: m.message_len,
                unpaused,
                messages_first: m.nic.cnps_unpaused,
                balancing: m.balancing.clone(),
                compat: m.compat,
            },
        ))),
        NodeKind::Host => {
            let (Some(&link), [flow_control]) = (links.first(), &flow_control[..]) else {
                return Err(ParamError::new(
                    "topology",
                    format!("host {} has {} links", node.name, links.len()),
                    "a host has one link; use a switch to join several",
                ));
            };
            let mut nic = Nic::new(n, flow_control, &link, nic.clone());
            nic.break_by(storms_of(n, m, classes));
            if let Some(slow) = m.faults.slow_receivers.iter().find(|s| s.host == n) {
                nic.drain_by(slow.drain.clone());
            }
            Node::Nic(Box::new(nic))
        }
    };
    if !m.faults.errors.is_empty() || m.faults.link_retry.is_some() {
        over_links(topology, n, m, mtu, &mut made)?;
    }
    Ok((made, lossless))
}

/// Prepares the ports of a node for the errors of their links, and for link retry.
fn over_links(
    topology: &Topology,
    n: u32,
    m: &Model,
    mtu: Bytes,
    made: &mut Node,
) -> Result<(), ParamError> {
    match made {
        Node::Switch(s) => {
            let ports = topology.nodes[n as usize].ports.len() as u16;
            (0..ports).try_for_each(|p| over_link(topology, m, mtu, s.port_mut(p)))
        }
        Node::Nic(nic) => over_link(topology, m, mtu, nic.port_mut()),
        Node::Remote => Ok(()),
    }
}

fn over_link(
    topology: &Topology,
    m: &Model,
    mtu: Bytes,
    port: &mut xoff_node::Port,
) -> Result<(), ParamError> {
    let at = port.at();
    let far = topology.nodes[at.node as usize].ports[at.port as usize];
    let ends = [at, PortId { node: far.peer, port: far.peer_port }];
    if m.faults.errors.iter().any(|e| e.ports.iter().any(|&p| ends.contains(&p.into()))) {
        port.set_lossy();
    }
    if let Some(retry) = &m.faults.link_retry {
        let l = topology.link_at(at.node, at.port);
        port.repeat_by(retry.on(l.rate, l.delay, mtu)?);
    }
    Ok(())
}

/// Storms of a host's broken NIC. A priority that is not in use has nothing to stop.
fn storms_of<'a>(
    host: u32,
    m: &'a Model,
    classes: &'a Classes,
) -> impl Iterator<Item = StormConfig> + 'a {
    let of = move |s: &PauseStorm| {
        let class = classes.class(s.priority).filter(|&c| (c as usize) < classes.len())?;
        Some(StormConfig { class, from: s.from, until: s.until, interval: s.interval })
    };
    m.faults.storms.iter().filter(move |s| s.host == host).filter_map(of)
}

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

/// Rejects clearing of messages if one of their frames may arrive after their end.
fn clears_messages(m: &Model) -> Result<(), ParamError> {
    let f = &m.faults;
    let reasons = [
        (
            m.nic.recovery.is_some(),
            "hosts that recover from losses may send a frame of a message again once it is complete",
        ),
        (!f.failures.is_empty(), "frames of a message may come by two paths where a link fails"),
        (
            !f.errors.is_empty() || f.losses.is_some(),
            "frames that are lost go again, perhaps once their message is complete",
        ),
        (
            !m.lossy.is_empty(),
            "frames of lossy priorities that are dropped go again, perhaps once their message is complete",
        ),
        (m.probes.flow_rates, "a sample of the rates of flows has a value for every message"),
        (m.order == EventOrder::Insertion, "another simulator's order of events is followed"),
    ];
    match reasons.into_iter().find(|r| r.0) {
        Some((_, why)) => Err(ParamError::new(
            "job.stream",
            format!("messages of a streamed job are cleared, and {why}"),
            "remove the key",
        )),
        None => Ok(()),
    }
}

/// The classes of a run, and the scheduler and the transport in their numbers.
fn classes(flows: &Flows, m: &Model) -> Result<(Classes, SchedulerKind, Transport), ParamError> {
    let mut transport = m.nic.transport;
    let mut classes = classes_in_use(flows, &transport, m.unpaused);
    if !m.priorities.is_empty() {
        let own = (0..classes.len()).map(|class| classes.priority(class));
        classes = Classes::with_unpaused_class(
            own.chain(m.priorities.iter().copied()).collect::<Vec<_>>(),
            m.unpaused,
        );
    }
    in_classes(&mut transport, &classes);
    if let Some(p) = m.scheduler.passes_over(&classes) {
        return Err(ParamError::new(
            "scheduler",
            format!("priority {p} is in use and never has a turn"),
            "give its virtual lane a weight",
        ));
    }
    let scheduler = m.scheduler.in_classes(&classes);
    Ok((classes, scheduler, transport))
}

/// Common settings of all NICs.
fn nic_config(m: &Model, classes: &Classes, transport: Transport, clears_flows: bool) -> NicConfig {
    NicConfig {
        clears_flows,
        control_delay: m.control_delay,
        classes: classes.len(),
        lossy: classes.set(&m.lossy),
        clock: m.clock,
        message_len: m.message_len,
        payload_max: m.nic.payload_max,
        header: m.nic.header,
        transport,
        cnp_class: classes.unpaused().filter(|_| m.nic.cnps_unpaused),
        recovery: m.nic.recovery,
        order: m.nic.order,
        connection: m.nic.connection.map(|c| c.with_mss(m.nic.payload_max)),
        obeys_priorities: m.nic.obeys_priorities,
        rate_control: m.nic.rate_control.clone(),
        window: None,
        window_follows_rate: m.nic.window_follows_rate,
        rate_bound: m.nic.rate_bound,
        pacing: m.nic.pacing,
        compat: m.compat,
    }
}

/// True if this node is in the world. With links to the outside, or several processes, some nodes
/// are elsewhere.
fn is_here(m: &Model, split: &Split, n: u32) -> bool {
    m.outside.as_ref().is_none_or(|here| here[n as usize])
        && m.share.is_none_or(|s| split.partition_of[n as usize] as usize == s.mine)
}

/// The nodes by partition, each where it belongs, and whether all links are lossless.
fn nodes(
    topology: &Topology,
    here: impl Fn(u32) -> bool,
    of: &Split,
    node: impl Fn(u32) -> Result<(Node, bool), ParamError>,
) -> Result<(Vec<Vec<Node>>, bool), ParamError> {
    let mut nodes: Vec<Vec<Node>> =
        (0..of.partitions()).map(|_| Vec::with_capacity(topology.nodes.len())).collect();
    let mut lossless = true;
    for n in 0..topology.nodes.len() as u32 {
        let (made, keeps) = node(n)?;
        lossless &= keeps;
        nodes.iter_mut().for_each(|partition| partition.push(Node::Remote));
        if here(n) {
            nodes[of.partition_of[n as usize] as usize][n as usize] = made;
        }
    }
    Ok((nodes, lossless))
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

/// Rate of each port's link, in the order of [`PortNumbers`](xoff_net::topology::PortNumbers).
fn rates(topology: &Topology) -> Vec<Rate> {
    let ports = topology.nodes.iter().flat_map(|n| &n.ports);
    ports.map(|p| topology.links[p.link as usize].rate).collect()
}

/// Refuses a flow that no route leads to.
fn routed(topology: &Topology, routes: &Routes, flows: &Flows) -> Result<(), ParamError> {
    for f in flows.flows.iter().cloned().chain(flows.streamed()) {
        if f.path.is_none() && routes.candidates(f.src, f.dst).is_empty() {
            return Err(ParamError::new(
                "flow",
                format!("no route from {} to {}", topology.name(f.src), topology.name(f.dst)),
                "a failed link may have cut the network in two",
            ));
        }
    }
    Ok(())
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
        if m.outside.is_some() && flows.jobs.is_some() {
            let what = "the ranks of a job send real frames to hosts that know nothing of it";
            return Err(ParamError::new("job", what, "xoff run simulates it"));
        }
        if flows.jobs.as_ref().is_some_and(|j| j.are_streamed()) {
            clears_messages(m)?;
        }
        let (classes, scheduler, transport) = classes(&flows, m)?;
        let (split, unsplit) = match m.share {
            Some(share) => (shares(topology, &flows, m, share)?, None),
            None => split(topology, &flows, m),
        };
        let engine = units(topology, &flows, m);
        let ports = Ports::new(topology, &split, m)?;
        let here: Vec<bool> =
            (0..topology.nodes.len() as u32).map(|n| is_here(m, &split, n)).collect();
        let (lookahead, busy) = (split.lookahead, split.partitions());
        // A share is one partition; its other nodes are absent.
        let split = if m.share.is_some() { Split::whole(topology) } else { split };
        let streamed = flows.jobs.as_ref().is_some_and(|j| j.are_streamed());
        let nic = Arc::new(nic_config(m, &classes, transport, streamed));
        let tiers = topology.distances_to_hosts();
        let (nodes, lossless) = nodes(
            topology,
            |n| here[n as usize],
            &split,
            |n| node(topology, n, m, &scheduler, &classes, &nic, &tiers),
        )?;
        let routes = Arc::new(m.routing.routes(topology));
        routed(topology, &routes, &flows)?;
        let mut initial: Vec<Flow> = flows.loops.iter().flat_map(|l| l.initial()).collect();
        flows.flows.append(&mut initial);
        flows.flows.sort_by_key(|f| f.start); // stable: ties keep the order given
        let messages = flows.len() - flows.flows.len() as u64;
        let mut facts_of_ends = FxHashMap::default();
        let of = facts_by_ends(topology, &routes, m);
        if let Some(of) = &of {
            flows.streamed().for_each(|f| {
                _ = facts_of_ends.entry((f.src, f.dst)).or_insert_with(|| of(f.src, f.dst))
            });
        }
        let facts_of_ends = Arc::new(facts_of_ends);
        let path_facts: Vec<PathFacts> = match &of {
            Some(of) => flows.flows.iter().map(|f| of(f.src, f.dst)).collect(),
            None => Vec::new(),
        };

        let layout = Arc::new(Layout {
            ports: ports.numbers,
            partition_of: split.partition_of,
            lossy: classes.set(&m.lossy),
            classes,
            clock: m.clock,
            seed: m.seed,
            choice: m.routing.choice,
            rates: if m.balancing.is_ecmp() { Vec::new() } else { rates(topology) },
            reorders: m.balancing.reorders(),
            paths: std::mem::take(&mut flows.paths),
            acks: !matches!(transport, Transport::None),
            connections: m.nic.connection.is_some(),
            lossless,
            probes: m.probes.clone(),
            detecting: m.probes.any_on_change(),
            frees_receiver_state: m.order == EventOrder::Insertion,
            shared_connections: m.nic.shared_connections,
            sends_again: m.nic.recovery.is_some(),
            loops: !flows.loops.is_empty() || !flows.handed_in.is_empty(),
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
        let (listed, path_facts) = (Arc::new(flows.flows), Arc::new(path_facts));
        let is_driven = !flows.handed_in.is_empty();
        let checks = Checks::new(m.checks);
        let partitions = nodes.len();
        let partition = |(partition, nodes): (usize, Vec<Node>)| {
            let begins = |f: &Flow| {
                layout.partition_of[f.src as usize] as usize == partition && here[f.src as usize]
            };
            let own = (0..planned).filter(|&i| begins(&listed[i as usize])).collect();
            let mut monitor = Monitor::new(layout.clone(), Checks::new(m.checks));
            if !layout.loops {
                let records = listed.iter().map(|f| FlowRecord::new(f.clone(), 0)).collect();
                monitor.flows.records = Records::new(records, flows.jobs.as_ref());
            }
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
            partition.news = is_driven.then(Vec::new);
            partition
        };
        let partitions = nodes.into_iter().enumerate().map(partition).collect();

        let mut world = World {
            partitions,
            layout,
            lookahead: Lookahead {
                delay: lookahead,
                window: engine.as_ref().ok().map(Units::window),
            },
            others: Others::default(),
            share: m.share,
            busy,
            elsewhere: 0,
            met: 0,
            threads_pay: true,
            unsplit,
            by_events: engine.as_ref().err().cloned(),
            global_events: BinaryHeap::new(),
            now: Time::ZERO,
            events: 0,
            looked: None,
            acted: Time::ZERO,
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
            streamed_from: streamed.then_some(listed.len() as u32),
            listed: listed.len() + messages as usize,
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
            rerouting: (!m.faults.failures.is_empty())
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
        if let Some(looks) = self.layout.probes.histogram {
            let (ports, classes) = (self.layout.ports.len(), self.layout.classes.len());
            self.partitions[0].core.monitor.histogram =
                Some(Box::new(Histogram::new(looks, ports, classes)));
            self.partitions[0].core.monitor.records_queues = true;
            self.plan_at(looks.first, Kind::Look, 0, 0);
        }
        if self.deadlock_interval.0 > 0 {
            self.plan(self.deadlock_interval, Kind::DeadlockDetector);
        }
        let interval = self.layout.probes.interval;
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

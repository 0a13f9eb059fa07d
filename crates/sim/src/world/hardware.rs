//! Ports, switches and NICs at rest, as the model wants them, and the classes that they tell apart.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::detection::Detection;
use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::{NodeKind, PortNumbers, Topology};
use xoff_net::workload::Flows;
use xoff_node::{
    Acks, Classes, Delivery, DisciplineKind, LEN_MAX, NIC_PORTS_MAX, Nic, NicConfig, Port,
    SchedulerKind, StormConfig, Switch, SwitchConfig,
};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Class, NodeId, PortId, Rate};

use crate::engine::event::PORTS_MAX;
use crate::wire::cut_through::head_time;
use crate::wire::fault::PauseStorm;
use crate::wire::line::Line;
use crate::wire::routing::NO_PORT;
use crate::world::model::{Model, SwitchAt};
use crate::world::outside::OUTSIDE;
use crate::world::partition::Node;
use crate::world::split::Split;

/// The largest number that a frame can carry for a class.
const CLASS_MAX: Class = Class(7);

/// The priorities in use: those of the flows, and that of acknowledgements if they have one of
/// their own; but for the one that travels with the control frames.
pub fn classes_in_use(flows: &Flows, acks: Option<u8>, unpaused: Option<u8>) -> Classes {
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
        listed.chain(flows.loops.iter().flat_map(|l| l.initial().map(|f| f.priority))).chain(acks),
        unpaused,
    )
}

/// The classes of a run, and the scheduler and the acknowledgements in their numbers.
pub(super) fn classes(
    flows: &Flows,
    m: &Model,
) -> Result<(Classes, SchedulerKind, Acks), ParamError> {
    let mut classes = classes_in_use(flows, m.nic.acks.class, m.unpaused);
    if !m.priorities.is_empty() {
        let used = [classes.priorities(), &m.priorities].concat();
        classes = Classes::with_unpaused_class(used, m.unpaused);
    }
    if let Some(p) = m.scheduler.passes_over(&classes) {
        return Err(ParamError::new(
            "scheduler",
            format!("priority {p} is in use and never has a turn"),
            "give its virtual lane a weight",
        ));
    }
    let acks = m.nic.acks.map(|priority| classes.class(priority));
    let scheduler = m.scheduler.in_classes(&classes);
    Ok((classes, scheduler, acks))
}

/// Ports in the order of their nodes.
pub(super) struct Ports {
    pub numbers: PortNumbers,
    pub lines: Vec<Line>,
}

impl Ports {
    pub fn new(t: &Topology, split: &Split, m: &Model) -> Result<Ports, ParamError> {
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
                let head = head_time(t, NodeId(n as u32), at as u16, m.cut_through, m.clock);
                let partition = match (m.share, split.partition_of[p.peer.index()]) {
                    _ if m.outside.is_some() => OUTSIDE,
                    (Some(share), process) => share.local(process as usize) as u16,
                    (None, partition) => partition,
                };
                let mut line = Line::new(to, p.link, l.delay, head, partition, l.up);
                if m.probes.frames.has(PortId { node: NodeId(n as u32), port: at as u16 }) {
                    line.tap();
                }
                all.lines.push(line);
            }
        }
        Ok(all)
    }
}

/// A switch or a NIC at rest, and whether its links are lossless.
pub(super) fn node(
    topology: &Topology,
    n: NodeId,
    m: &Model,
    scheduler: &SchedulerKind,
    classes: &Classes,
    nic: &Arc<NicConfig>,
    tiers: &[u32],
) -> Result<(Node, bool), ParamError> {
    let node = &topology.nodes[n.index()];
    let mtu = Bytes((m.nic.payload_max + m.nic.header) as u64);
    let facts = |port: usize| {
        let l = topology.link_at(n, port as u16);
        let peer_tier = tiers[node.ports[port].peer.index()].cmp(&tiers[n.index()]);
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
    // CNMs, and replies of leaves, travel as an unpaused class does, if need be with a number that
    // no priority has.
    let sent = detection.iter().any(Detection::sends_cnms) || m.balancing.replies();
    let unpaused = classes.unpaused().or(sent.then_some(Class(classes.len() as u8)));
    if unpaused.is_some_and(|number| number > CLASS_MAX) {
        return Err(ParamError::new(
            "priority",
            "all eight priorities are in use, and CNMs or replies of leaves need a number of their own",
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
                    .map(|p| topology.nodes[p.peer.index()].kind == NodeKind::Host)
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
                entropy: m.nic.entropy.is_some(),
                compat: m.compat,
            },
        ))),
        NodeKind::Host => {
            let refused = |why: &str, hint: String| {
                let what = format!("host {} has {} links{why}", node.name, links.len());
                Err(ParamError::new("topology", what, hint))
            };
            let mut ports = flow_control.iter().zip(&links);
            let Some((flow_control, link)) = ports.next() else {
                return refused("", "connect it to a switch".into());
            };
            if links.len() > NIC_PORTS_MAX {
                return refused("", format!("a host has at most {NIC_PORTS_MAX}"));
            }
            if links.len() > 1 && m.compat.round_robin_by_place {
                let hint = "the simulator that is replayed knows one".into();
                return refused(", and its rules are another simulator's", hint);
            }
            let mut nic = Nic::new(n, flow_control, link, nic.clone());
            ports.for_each(|(flow_control, link)| nic.add_port(flow_control, link));
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
    n: NodeId,
    m: &Model,
    mtu: Bytes,
    made: &mut Node,
) -> Result<(), ParamError> {
    match made {
        Node::Switch(s) => {
            let ports = topology.nodes[n.index()].ports.len() as u16;
            (0..ports).try_for_each(|p| over_link(topology, m, mtu, s.port_mut(p)))
        }
        Node::Nic(nic) => {
            (0..nic.ports()).try_for_each(|p| over_link(topology, m, mtu, nic.port_mut(p)))
        }
        Node::Remote => Ok(()),
    }
}

fn over_link(
    topology: &Topology,
    m: &Model,
    mtu: Bytes,
    port: &mut Port,
) -> Result<(), ParamError> {
    let at = port.at();
    let far = topology.nodes[at.node.index()].ports[at.port as usize];
    let ends = [at, PortId { node: far.peer, port: far.peer_port }];
    // Real frames get lost for other reasons too.
    let hit = || m.faults.errors.iter().any(|e| e.ports.iter().any(|&p| ends.contains(&p.into())));
    if m.outside.is_some() || hit() {
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
    host: NodeId,
    m: &'a Model,
    classes: &'a Classes,
) -> impl Iterator<Item = StormConfig> + 'a {
    let of = move |s: &PauseStorm| {
        let class = classes.class(s.priority).filter(|&c| c.index() < classes.len())?;
        Some(StormConfig { class, from: s.from, until: s.until, interval: s.interval })
    };
    m.faults.storms.iter().filter(move |s| s.host == host).filter_map(of)
}

/// The nodes by partition, each where it belongs, and whether all links are lossless.
pub(super) fn nodes(
    topology: &Topology,
    here: impl Fn(NodeId) -> bool,
    of: &Split,
    node: impl Fn(NodeId) -> Result<(Node, bool), ParamError>,
) -> Result<(Vec<Vec<Node>>, bool), ParamError> {
    let mut nodes: Vec<Vec<Node>> =
        (0..of.partitions()).map(|_| Vec::with_capacity(topology.nodes.len())).collect();
    let mut lossless = true;
    for n in topology.node_ids() {
        let (made, keeps) = node(n)?;
        lossless &= keeps;
        nodes.iter_mut().for_each(|partition| partition.push(Node::Remote));
        if here(n) {
            nodes[of.partition_of[n.index()] as usize][n.index()] = made;
        }
    }
    Ok((nodes, lossless))
}

/// Common settings of all NICs.
pub(super) fn nic_config(
    m: &Model,
    classes: &Classes,
    acks: Acks,
    reorders: bool,
    clears_flows: bool,
) -> NicConfig {
    NicConfig {
        clears_flows,
        control_delay: m.control_delay,
        classes: classes.len(),
        lossy: classes.set(&m.lossy),
        clock: m.clock,
        message_len: m.message_len,
        payload_max: m.nic.payload_max,
        header: m.nic.header,
        transport: m.nic.transport,
        acks,
        cnp_class: classes.unpaused().filter(|_| m.nic.cnps_unpaused),
        order: m.nic.order,
        // None of them goes again: what is behind a lost one would be kept for ever.
        order_of_datagrams: if reorders { m.nic.order } else { Delivery::Strict },
        obeys_priorities: m.nic.obeys_priorities,
        rate_control: m.nic.rate_control.clone(),
        window: None,
        window_follows_rate: m.nic.window_follows_rate,
        rate_bound: m.nic.rate_bound,
        entropy: m.nic.entropy,
        port_choice: m.nic.port_choice,
        pacing: m.nic.pacing,
        compat: m.compat,
    }
}

/// Rate of each port's link, in the order of [`PortNumbers`](xoff_net::topology::PortNumbers).
pub(super) fn rates(topology: &Topology) -> Vec<Rate> {
    let ports = topology.nodes.iter().flat_map(|n| &n.ports);
    ports.map(|p| topology.links[p.link as usize].rate).collect()
}

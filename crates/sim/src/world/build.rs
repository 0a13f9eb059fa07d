//! From a model to a world at rest.

use super::*;

impl World {
    /// Builds a network at rest with its flows waiting to start.
    pub fn build(topology: &Topology, mut flows: Flows, m: &mut Model) -> Result<World, ParamError> {
        let mut priorities: Vec<u8> = flows.flows.iter().map(|f| f.priority).collect();
        priorities.extend(flows.loops.iter().flat_map(|l| l.initial().map(|f| f.priority)));
        let mut classes = Classes::new(priorities.iter().copied());
        // The model speaks of priorities, nodes of classes.
        let mut transport = m.nic.transport;
        if let Transport::Acks { class, paused_with, .. } = &mut transport {
            if let Some(p) = *class {
                classes = Classes::new(priorities.iter().copied().chain([p]));
                *class = classes.class(p);
            }
            if let PausedWith::Class(Some(p)) = *paused_with {
                *paused_with = PausedWith::Class(classes.class(p));
            }
        }
        let mtu = Bytes((m.nic.payload_max + m.nic.header) as u64);
        let facts = |node: u32, port: u16| {
            let l = topology.link_at(node, port);
            LinkFacts { rate: l.rate, delay: l.delay, mtu, buffer: m.ingress_buffer, processing: m.control_delay.longest() }
        };

        let mut first_port = Vec::with_capacity(topology.nodes.len());
        let mut wires = Vec::new();
        let mut nodes = Vec::with_capacity(topology.nodes.len());
        let mut lossless = true;
        for (n, node) in topology.nodes.iter().enumerate() {
            let n = n as u32;
            first_port.push(wires.len() as u32);
            wires.extend(node.ports.iter().map(|p| {
                let l = &topology.links[p.link as usize];
                Wire { peer: p.peer, peer_port: p.peer_port, delay: l.delay, link: p.link, up: l.up }
            }));
            let links: Vec<LinkFacts> = (0..node.ports.len()).map(|p| facts(n, p as u16)).collect();
            let flow_control = links.iter().map(|l| (m.flow_control)(l)).collect::<Result<Vec<_>, _>>()?;
            lossless &= !flow_control.iter().any(|f| matches!(f, xoff_mech::flow_control::FlowControl::None));
            nodes.push(match node.kind {
                NodeKind::Switch => Node::Switch(Box::new(Switch::new(
                    n,
                    &SwitchConfig {
                        flow_control,
                        detection: links.iter().map(|l| (m.detection)(l)).collect(),
                        buffer: (m.buffer)(&links),
                        links,
                        discipline: m.discipline,
                        scheduler: m.scheduler.clone(),
                        control_delay: m.control_delay,
                        classes: classes.len(),
                        clock: m.clock,
                        message_len: m.message_len,
                        express: m.express.and_then(|p| classes.class(p)),
                        failed_port_keeps_memory: m.faults.failed_port_keeps_memory,
                        turning_back_overlaps: m.faults.turning_back_overlaps,
                    },
                ))),
                NodeKind::Host => {
                    if links.len() != 1 {
                        return Err(ParamError::new(
                            "topology",
                            format!("host {} has {} links", node.name, links.len()),
                            "a host has one link; use a switch to join several",
                        ));
                    }
                    let flow_control = flow_control.into_iter().next().expect("one link, one flow control");
                    Node::Nic(Box::new(Nic::new(
                        n,
                        NicConfig {
                            flow_control,
                            link: links[0],
                            control_delay: m.control_delay,
                            classes: classes.len(),
                            clock: m.clock,
                            message_len: m.message_len,
                            payload_max: m.nic.payload_max,
                            header: m.nic.header,
                            transport,
                            rate_control: m.nic.rate_control.clone(),
                            window: None,
                            window_follows_rate: m.nic.window_follows_rate,
                            rate_bound: m.nic.rate_bound,
                            keeps_first_wake: m.nic.keeps_first_wake,
                        },
                    )))
                }
            });
        }

        let routes = m.routing.routes(topology);
        // A bucket of about one frame time of the fastest link: a few events each.
        let fastest = topology.links.iter().map(|l| l.rate).max().unwrap_or(Rate::from_gbps(10));
        let mut core =
            Core::new(EventQueue::new(fastest.time_for(mtu).0), m.order, classes, routes, m.routing.choice, first_port, wires, m.seed);
        core.acks = !matches!(m.nic.transport, Transport::None);
        core.lossless = lossless;
        core.coin_source = m.coins.take();
        core.losses = m.faults.losses.take();
        core.checks.on = m.checks;
        core.probes = m.probes.clone();
        let p = &core.probes;
        core.watching = p.flow_rates || p.causes || ![&p.queue_changes, &p.rate_changes, &p.control, &p.pauses].iter().all(|s| s.is_none());

        core.paths = std::mem::take(&mut flows.paths);
        for f in &flows.flows {
            if f.path.is_none() && core.routes.candidates(f.src, f.dst).is_empty() {
                return Err(ParamError::new(
                    "flow",
                    format!("no route from {} to {}", topology.name(f.src), topology.name(f.dst)),
                    "a failed link may have cut the network in two",
                ));
            }
        }
        let mut initial: Vec<Flow> = flows.loops.iter().flat_map(|l| l.initial()).collect();
        flows.flows.append(&mut initial);
        flows.flows.sort_by_key(|f| f.start); // stable: ties keep the order given
        let windows = match &m.window {
            Some(w) => flows.flows.iter().map(|f| w(f.src, f.dst)).collect(),
            None => Vec::new(),
        };

        let mut world = World {
            nodes,
            core,
            flows,
            next_flow: 0,
            started: BTreeMap::new(),
            windows,
            watch: m.watch,
            stop_on_deadlock: m.stop_on_deadlock,
            deadlocks: Vec::new(),
            samples: Samples::default(),
            own_events: 0,
            stop_when_done: m.stop_when_done,
            rerouting: (!m.faults.failures.is_empty()).then(|| Box::new((topology.clone(), m.routing))),
            turns: m.faults.turns.take(),
            starting: Vec::new(),
        };
        for node in &mut world.nodes {
            match node {
                Node::Switch(s) => s.start(&mut world.core),
                Node::Nic(n) => n.start(&mut world.core),
            }
        }
        world.plan_flow_start();
        for (nth, f) in m.faults.failures.iter().enumerate() {
            if f.link as usize >= topology.links.len() {
                return Err(ParamError::new("link_failure", format!("there is no link {}", f.link), "links are counted from 0"));
            }
            world.core.schedule(f.at, Kind::LinkFails, 0, 0, f.link, 0, f.link, nth as u16);
        }
        if let Some(looks) = world.core.probes.histogram {
            let (ports, classes) = (world.core.wires.len(), world.core.classes.len());
            world.core.histogram = Some(Box::new(Histogram::new(looks, ports, classes)));
            world.core.schedule(looks.first, Kind::Look, 0, 0, 0, 0, 0, 0);
        }
        if world.watch.0 > 0 {
            world.plan(world.watch, Kind::Watch);
        }
        if world.core.probes.interval.0 > 0 {
            world.plan(world.core.probes.interval, Kind::Sample);
        }
        Ok(world)
    }
}

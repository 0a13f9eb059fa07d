//! From a configuration to a fabric at rest.

use std::ops::Range;
use std::sync::Arc;

use rand_core::Rng as _;
use xoff_mech::rate_control::qcn as reaction;
use xoff_mech::scheduled::Bits;
use xoff_mech::scheduled::request_grant::Granter;
use xoff_net::workload::random;
use xoff_units::Bytes;

use super::hosts::HostSide;
use super::part::{Coming, Part, Plan};
use crate::scheduled::config::{Config, Control, ControlPath, Core, Spray};
use crate::scheduled::element::{Element, Input, Output};
use crate::scheduled::event::{Events, Kind};
use crate::scheduled::flows::Flows;
use crate::scheduled::host::{
    Buffers, CongestionPoints, Host, HostReport, HostWindow, Point, Sender,
};
use crate::scheduled::link::{Behind, Feeder, Link};
use crate::scheduled::measure::{Delay, Report, Window};
use crate::scheduled::port::{Edge, Local, Port};
use crate::scheduled::segment::Segments;
use crate::scheduled::shape::{End, Place};
use crate::scheduled::traffic::Source;

/// Purpose of a random stream; see `xoff_net::workload::random`.
const FIRST_PATH: u64 = 2_001;
const RANDOM_PATH: u64 = 2_002;
const LIMITER_JITTER: u64 = 2_003;
const SAMPLING: u64 = 2_004;
const GAPS: u64 = 2_005;
const PATH_ORDER: u64 = 2_006;

/// A port at rest.
fn port(config: &Config, at: usize, edge: u32) -> Port {
    Port {
        edge,
        eligible: Bits::new(config.ports() as usize),
        // Inputs begin at different outputs, as they would after a while.
        next: at,
        waiting: 0,
        granter: Granter::new(config.granter()),
        grant_call: u64::MAX,
        line: Default::default(),
        line_rate: config.line,
        line_busy_until: 0,
        line_call: u64::MAX,
        output_held: 0,
        output_held_max: 0,
    }
}

/// For each flow from some inputs, by input, then output: its paths in an order drawn for itself
/// (Fisher and Yates).
fn orders(inputs: Range<u32>, outputs: u32, paths: u32, seed: u64) -> Vec<u16> {
    let mut all = Vec::with_capacity(inputs.len() * outputs as usize * paths as usize);
    for input in inputs {
        let mut rng = random::stream(seed, input.into(), PATH_ORDER);
        for _ in 0..outputs {
            let first = all.len();
            all.extend((0..paths).map(|p| p as u16));
            let own = &mut all[first..];
            (1..own.len())
                .rev()
                .for_each(|last| own.swap(last, random::below(&mut rng, last as u64 + 1) as usize));
        }
    }
    all
}

/// Part of the `nth` of `all` items of one kind: each part has consecutive ones, as many as the
/// others.
fn share(nth: u32, all: u32, parts: usize) -> u16 {
    (u64::from(nth) * parts as u64 / u64::from(all)) as u16
}

/// The `part`-th share of `all` items.
fn range(part: usize, all: u32, parts: usize) -> Range<u32> {
    let first = |part: usize| (part as u64 * u64::from(all)).div_ceil(parts as u64) as u32;
    first(part)..first(part + 1)
}

/// Edges of a fabric, each with one or more ports.
fn edges(config: &Config) -> (u32, u32) {
    match config.core {
        Core::Network(_) | Core::Ideal { .. } => (config.ports(), 1),
        Core::Spine { edge_ports, edges, .. } => (edges, edge_ports),
    }
}

/// Part of an element: those of each stage are shared out.
fn part_of_element(config: &Config, place: Place, parts: usize) -> u16 {
    match (place, config.core) {
        (
            Place::Left { level, index, .. } | Place::Right { level, index, .. },
            Core::Network(s),
        ) => share(index, s.indices(level), parts),
        (Place::Middle { net }, Core::Network(s)) => share(net, s.paths(), parts),
        (Place::Middle { net }, Core::Spine { spines, .. }) => share(net, spines, parts),
        _ => 0,
    }
}

/// Most parts that a fabric can be divided into: no part is without an edge, and everything between
/// two parts takes time.
pub(super) fn parts_max(config: &Config) -> usize {
    if look_ahead(config) == 0 { 1 } else { (edges(config).0 as usize).min(u16::MAX.into()) }
}

/// From the cause of something in one part to its effect in another one, at least [ps].
pub(super) fn look_ahead(c: &Config) -> u64 {
    let mut delays = vec![c.link_delay];
    if !matches!(c.core, Core::Ideal { .. }) {
        delays.push(c.credit_delay);
    }
    if let Control::OutOfBand { delay } = c.control {
        delays.push(delay);
    }
    delays.extend(c.hosts.as_ref().map(|h| h.edge_delay));
    delays.into_iter().min().unwrap_or_default().0
}

/// A fabric at rest, in a number of parts.
pub(super) fn parts(config: Config, parts: usize) -> Vec<Part> {
    let (n, hot) = (config.ports(), config.hot_outputs());
    let (edges, edge_ports) = edges(&config);
    let places = match config.core {
        Core::Network(shape) => shape.places(),
        Core::Spine { spines, .. } => (0..spines).map(|net| Place::Middle { net }).collect(),
        Core::Ideal { .. } => Vec::new(),
    };
    let part_of = (0..n).map(|port| share(port / edge_ports, edges, parts)).collect();
    let mut hot_behind = vec![0; n as usize];
    for (port, &hot) in hot.iter().enumerate() {
        hot_behind[port - port % edge_ports as usize] += u32::from(hot);
    }
    let plan = Arc::new(Plan { config, ports: n, hot, hot_behind, part_of, places });
    let all = (0..parts).map(|number| part(&plan, number, parts)).collect();
    let mut b = Builder { parts: all, elements: Vec::new(), links: 0 };
    for &place in &plan.places {
        b.element(&plan.config, place);
    }
    match plan.config.core {
        Core::Network(shape) => {
            (0..n).for_each(|port| b.edge(&plan, port, &[shape.entry(port)]));
            for (element, &place) in plan.places.iter().enumerate() {
                let outputs = shape.size(place).1;
                (0..outputs).for_each(|o| b.wire_output(&plan, element, o, shape.next(place, o)));
            }
        }
        Core::Spine { edge_ports, edges, spines } => {
            for e in 0..edges {
                let ends: Vec<End> =
                    (0..spines).map(|element| End::Element { element, input: e }).collect();
                b.edge(&plan, e, &ends);
            }
            for spine in 0..spines as usize {
                (0..edges).for_each(|e| b.wire_output(&plan, spine, e, End::Port(e * edge_ports)));
            }
        }
        Core::Ideal { ports } => {
            (0..ports).for_each(|port| b.edge(&plan, port, &[End::Port(port)]));
        }
    }
    for part in &mut b.parts {
        part.add_hosts();
        part.add_ranks();
        (0..part.sources.len()).for_each(|source| part.announce(source));
    }
    b.parts
}

/// A part without links and elements.
fn part(plan: &Arc<Plan>, number: usize, parts: usize) -> Part {
    let (c, n) = (&plan.config, plan.ports);
    let (all_edges, edge_ports) = edges(c);
    let edges = range(number, all_edges, parts);
    let ports = edges.start * edge_ports..edges.end * edge_ports;
    let each = c.traffic.sources(n) / n;
    let sources: Vec<Source> = (0..each)
        .flat_map(|nth| ports.clone().map(move |port| nth * n + port))
        .map(|source| Source::new(&c.traffic, n, source, c.seed))
        .collect();
    let mut part = Part {
        number: number as u16,
        plan: plan.clone(),
        now: 0,
        events: Events::new(c.t_min().0 * 16),
        segments: Segments::default(),
        flows: Flows::new(ports.clone(), n),
        reassemblies: Flows::new(ports.clone(), n),
        next_paths: Vec::new(),
        next_control_paths: Vec::new(),
        ports: Local::new(ports.clone(), |at| port(c, at as usize, at / edge_ports)),
        edges: Local::new(edges, |e| Edge {
            first_port: e * edge_ports,
            uplinks: Vec::new(),
            idle: Bits::default(),
            lane: Default::default(),
            eligible: Bits::new(edge_ports as usize),
            next_port: 0,
            next_uplink: 0,
        }),
        links: Vec::new(),
        elements: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        last_links: Vec::new(),
        announced: vec![(0, 0); sources.len()],
        sources,
        orders: Vec::new(),
        spray: Local::new(ports.clone(), |i| random::stream(c.seed, i.into(), RANDOM_PATH)),
        grants_held: Local::new(ports.clone(), |_| 0),
        messages: Local::new(ports.clone(), |_| Coming::default()),
        acknowledged: Local::new(ports.clone(), |_| Coming::default()),
        report: Report {
            offered: vec![0; n as usize],
            delivered: vec![0; n as usize],
            delivered_by_input: vec![0; n as usize],
            hot_by_input: vec![0; n as usize],
            ..Report::default()
        },
        window: Window::default(),
        hosts: None,
        ranks: None,
        outgoing: (0..parts).map(|_| Vec::new()).collect(),
    };
    if let Core::Network(shape) = c.core {
        part.choose_first_paths(ports.clone(), shape.paths());
        if c.spray == Spray::Permuted {
            part.orders = orders(ports, n, shape.paths(), c.seed);
        }
    }
    part
}

impl Part {
    fn choose_first_paths(&mut self, inputs: Range<u32>, paths: u32) {
        self.next_paths.reserve_exact(inputs.len() * self.plan.ports as usize);
        for input in inputs {
            let mut rng = random::stream(self.plan.config.seed, input.into(), FIRST_PATH);
            let first = |_| random::below(&mut rng, paths.into()) as u16;
            self.next_paths.extend((0..self.plan.ports).map(first));
        }
        if self.plan.config.control_path == ControlPath::Own {
            self.next_control_paths = self.next_paths.clone();
        }
    }

    fn add_hosts(&mut self) {
        let Some(config) = self.plan.config.hosts.clone() else { return };
        let (line, seed) = (self.plan.config.line, self.plan.config.seed);
        let numbers = self.ports.numbers();
        let ports = numbers.start as u32..numbers.end as u32;
        let mut place = vec![0; config.flows.len()];
        let mut hosts = Local::new(ports.clone(), |port| Host {
            rng: random::stream(seed, port.into(), GAPS),
            senders: Vec::new(),
            next: 0,
            queue: Default::default(),
            flying: Default::default(),
            stopped: false,
            busy_until: 0,
            call: u64::MAX,
        });
        for (number, flow) in config.flows.iter().enumerate() {
            if !ports.contains(&flow.source) {
                continue;
            }
            let senders = &mut hosts[flow.source as usize].senders;
            place[number] = senders.len() as u32;
            let jitter = random::stream(seed, number as u64, LIMITER_JITTER).next_u64();
            let rate_control =
                config.qcn.as_ref().map(|(_, p)| reaction::Qcn::new(p, line, jitter));
            senders.push(Sender {
                number: number as u32,
                rate_control,
                base: flow.start.0,
                due: flow.start.0,
                stretch: 1_000,
            });
            self.events.add(flow.start.0, Kind::HostLine, flow.source as usize, 0);
        }
        let point = |wanted: fn(&CongestionPoints) -> bool, buffer| {
            config.qcn.as_ref().filter(|(p, _)| wanted(p)).map(|(p, _)| Point::new(p, line, buffer))
        };
        let output_buffer =
            Bytes(u64::from(self.plan.config.output_slots) * self.plan.config.segment_max.0);
        let buffers = Local::new(ports.clone(), |port| Buffers {
            held: 0,
            held_max: 0,
            stopping: false,
            clock: u64::MAX,
            input: point(CongestionPoints::at_inputs, config.input_buffer),
            output: point(CongestionPoints::at_outputs, output_buffer),
            rng: random::stream(seed, port.into(), SAMPLING),
        });
        for (nth, &(at, port, _)) in config.line_changes.iter().enumerate() {
            if ports.contains(&port) {
                self.events.add(at.0, Kind::LineRate, port as usize, nth as u32);
            }
        }
        let n = self.plan.ports as usize;
        let report = HostReport {
            cnms: vec![0; config.flows.len()],
            delays: vec![Delay::default(); config.flows.len()],
            stops: vec![0; n],
            stopped_ps: vec![0; n],
            ..HostReport::default()
        };
        let window = HostWindow::new(config.flows.len());
        self.hosts = Some(Box::new(HostSide {
            hosts,
            buffers,
            place,
            multicasts: Default::default(),
            held: vec![0; config.flows.len()],
            stopped_since: Local::new(ports, |_| 0),
            window,
            report,
            config,
        }));
    }
}

/// Parts while they are wired.
struct Builder {
    parts: Vec<Part>,
    /// The part of each element, and its number in it.
    elements: Vec<(u16, u32)>,
    /// Links so far.
    links: u32,
}

impl Builder {
    fn element(&mut self, c: &Config, place: Place) {
        let (inputs, outputs) = match c.core {
            Core::Network(shape) => shape.size(place),
            Core::Spine { edges, .. } => (edges, edges),
            Core::Ideal { .. } => return,
        };
        let of = part_of_element(c, place, self.parts.len());
        let part = &mut self.parts[of as usize];
        let number = part.elements.len() as u32;
        self.elements.push((of, number));
        part.elements.push(Element {
            place,
            first_input: part.inputs.len() as u32,
            first_output: part.outputs.len() as u32,
        });
        let queues = if c.element.keeps_queues_by_output() { outputs as usize } else { 1 };
        part.inputs.extend((0..inputs).map(|i| Input::new(number, i, queues, outputs as usize)));
        let size = c.element.output.0 as u32;
        part.outputs.extend((0..outputs).map(|o| Output::new(number, o, inputs as usize, size)));
    }

    fn edge(&mut self, plan: &Plan, number: u32, ends: &[End]) {
        let (_, edge_ports) = edges(&plan.config);
        let of = plan.part_of[(number * edge_ports) as usize];
        let uplinks: Vec<u32> =
            ends.iter().map(|&end| self.wire(plan, of, Feeder::Edge(number), end)).collect();
        let e = &mut self.parts[of as usize].edges[number as usize];
        e.idle = Bits::new(uplinks.len());
        (0..uplinks.len()).for_each(|u| e.idle.set(u, true));
        e.uplinks = uplinks;
    }

    fn wire_output(&mut self, plan: &Plan, element: usize, output: u32, end: End) {
        let (of, element) = self.elements[element];
        let output = self.parts[of as usize].elements[element as usize].first_output + output;
        let link = self.wire(plan, of, Feeder::Output(output), end);
        self.parts[of as usize].outputs[output as usize].link = link;
    }

    /// A link that starts in part `of`; its number there.
    fn wire(&mut self, plan: &Plan, of: u16, feeder: Feeder, end: End) -> u32 {
        let c = &plan.config;
        let number = self.parts[of as usize].links.len() as u32;
        let mut link = Link::new(feeder, c.fabric);
        link.number = self.links;
        self.links += 1;
        link.head_delay = c.link_delay.0;
        if let Feeder::Edge(edge) = feeder {
            // An edge is numbered like its port, but for those of a spine, which have several and
            // no delay of their own.
            link.head_delay += c.port_delays.get(edge as usize).map_or(0, |d| d.0);
        }
        match end {
            End::Element { element, input } => {
                let (places, bytes) = match (c.element.crosspoint, c.core) {
                    (Some(crosspoint), Core::Network(shape)) => {
                        (shape.size(plan.places[element as usize]).1, crosspoint)
                    }
                    _ => (1, c.element.input),
                };
                link.limit(places, bytes.0 as u32);
                link.element = element;
                let (part, element) = self.elements[element as usize];
                let behind = &mut self.parts[part as usize];
                let input = behind.elements[element as usize].first_input + input;
                (link.part, link.behind) = (part, Behind::Input(input));
                let i = &mut behind.inputs[input as usize];
                (i.part, i.link) = (of, number);
            }
            End::Port(port) => {
                self.parts[of as usize].last_links.push((port, number));
            }
        }
        let part = &mut self.parts[of as usize];
        part.links.push(link);
        number
    }
}

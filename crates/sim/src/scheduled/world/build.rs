//! From a configuration to a fabric at rest.

use rand_core::Rng as _;
use xoff_mech::rate_control::qcn as reaction;
use xoff_mech::scheduled::Bits;
use xoff_mech::scheduled::request_grant::Granter;
use xoff_net::workload::random;
use xoff_units::Bytes;

use super::World;
use super::hosts::HostSide;
use crate::scheduled::config::{Config, ControlPath, Core, Spray};
use crate::scheduled::element::{Element, Input, Output};
use crate::scheduled::event::{Events, Kind, PLACES_MAX};
use crate::scheduled::flows::Flows;
use crate::scheduled::host::{
    Buffers, CongestionPoints, Host, HostReport, HostWindow, Point, Sender,
};
use crate::scheduled::link::{Feeder, Link};
use crate::scheduled::measure::{Delay, Report, Window};
use crate::scheduled::port::{Edge, Port};
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

/// One per port, and where hotspots come in addition to the rest as many again for them.
fn sources(config: &Config, ports: u32) -> Vec<Source> {
    (0..config.traffic.sources(ports))
        .map(|s| Source::new(&config.traffic, ports, s, config.seed))
        .collect()
}

/// A port at rest.
fn port(config: &Config, at: usize) -> Port {
    Port {
        edge: 0,
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

/// For each flow, by input, then output: its paths in an order drawn for itself (Fisher and Yates).
fn orders(ports: u32, paths: u32, seed: u64) -> Vec<u16> {
    let mut all = Vec::with_capacity(ports as usize * ports as usize * paths as usize);
    for input in 0..ports {
        let mut rng = random::stream(seed, input.into(), PATH_ORDER);
        for _ in 0..ports {
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

pub(super) fn world(config: Config) -> World {
    let n = config.ports();
    let t_min = config.t_min().0;
    let mut w = World {
        ports_n: n,
        now: 0,
        events: Events::new(t_min * 16),
        segments: Segments::default(),
        flows: Flows::new(n),
        next_paths: Vec::new(),
        next_control_paths: Vec::new(),
        ports: Vec::new(),
        edges: Vec::new(),
        links: Vec::new(),
        elements: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        last_links: vec![Vec::new(); n as usize],
        sources: sources(&config, n),
        spray: (0..n).map(|i| random::stream(config.seed, i.into(), RANDOM_PATH)).collect(),
        orders: Vec::new(),
        announced: vec![(0, 0); config.traffic.sources(n) as usize],
        hot: config.hot_outputs(),
        grants_held: vec![0; n as usize],
        report: Report {
            offered: vec![0; n as usize],
            delivered: vec![0; n as usize],
            delivered_by_input: vec![0; n as usize],
            hot_by_input: vec![0; n as usize],
            ..Report::default()
        },
        window: Window::default(),
        hosts: None,
        config,
    };
    if let Core::Network(shape) = w.config.core {
        w.choose_first_paths(shape.paths());
        if w.config.spray == Spray::Permuted {
            w.orders = orders(n, shape.paths(), w.config.seed);
        }
    }
    w.ports = (0..n as usize).map(|at| port(&w.config, at)).collect();
    match w.config.core {
        Core::Network(shape) => {
            for place in shape.places() {
                let (inputs, outputs) = shape.size(place);
                w.element(place, inputs, outputs);
            }
            (0..n).for_each(|port| w.edge(port, 1, &[shape.entry(port)]));
            for element in 0..w.elements.len() {
                let place = w.elements[element].place;
                (0..shape.size(place).1)
                    .for_each(|o| w.wire_output(element, o, shape.next(place, o)));
            }
        }
        Core::Spine { edge_ports, edges, spines } => {
            (0..spines).for_each(|net| w.element(Place::Middle { net }, edges, edges));
            for e in 0..edges {
                let ends: Vec<End> =
                    (0..spines).map(|element| End::Element { element, input: e }).collect();
                w.edge(e * edge_ports, edge_ports, &ends);
            }
            for spine in 0..spines as usize {
                (0..edges).for_each(|e| w.wire_output(spine, e, End::Port(e * edge_ports)));
            }
        }
        Core::Ideal { ports } => (0..ports).for_each(|port| w.edge(port, 1, &[End::Port(port)])),
    }
    assert!(
        w.links.len() < PLACES_MAX && w.inputs.len() < PLACES_MAX && w.outputs.len() < PLACES_MAX,
        "too large a fabric"
    );
    w.add_hosts();
    (0..w.sources.len()).for_each(|source| w.announce(source));
    if let Some(blocked) = &w.config.blocked {
        w.events.add(blocked.from.0, Kind::Block, 0, 0);
    }
    w.events.add(w.config.window.0, Kind::Window, 0, 0);
    w
}

impl World {
    fn choose_first_paths(&mut self, paths: u32) {
        for input in 0..self.ports_n {
            let mut rng = random::stream(self.config.seed, input.into(), FIRST_PATH);
            let first = |_| random::below(&mut rng, paths.into()) as u32;
            self.next_paths.extend((0..self.ports_n).map(first));
        }
        if self.config.control_path == ControlPath::Own {
            self.next_control_paths = self.next_paths.clone();
        }
    }

    fn add_hosts(&mut self) {
        let Some(config) = self.config.hosts.clone() else { return };
        let (line, seed) = (self.config.line, self.config.seed);
        let mut place = Vec::new();
        let mut hosts: Vec<Host> = (0..self.ports_n)
            .map(|port| Host {
                rng: random::stream(seed, port.into(), GAPS),
                senders: Vec::new(),
                next: 0,
                queue: Default::default(),
                flying: Default::default(),
                stopped: false,
                busy_until: 0,
                call: u64::MAX,
            })
            .collect();
        for (number, flow) in config.flows.iter().enumerate() {
            let senders = &mut hosts[flow.source as usize].senders;
            place.push(senders.len() as u32);
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
        let output_buffer = Bytes(u64::from(self.config.output_slots) * self.config.segment_max.0);
        let buffers = (0..self.ports_n)
            .map(|port| Buffers {
                held: 0,
                held_max: 0,
                stopping: false,
                clock: u64::MAX,
                input: point(CongestionPoints::at_inputs, config.input_buffer),
                output: point(CongestionPoints::at_outputs, output_buffer),
                rng: random::stream(seed, port.into(), SAMPLING),
            })
            .collect();
        for (nth, &(at, ..)) in config.line_changes.iter().enumerate() {
            self.events.add(at.0, Kind::LineRate, 0, nth as u32);
        }
        let n = self.ports_n as usize;
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
            acknowledged: vec![Default::default(); n],
            stopped_since: vec![0; n],
            window,
            report,
            config,
        }));
    }

    fn element(&mut self, place: Place, inputs: u32, outputs: u32) {
        let number = self.elements.len() as u32;
        self.elements.push(Element {
            place,
            first_input: self.inputs.len() as u32,
            first_output: self.outputs.len() as u32,
        });
        let queues =
            if self.config.element.keeps_queues_by_output() { outputs as usize } else { 1 };
        self.inputs.extend((0..inputs).map(|_| Input::new(u32::MAX, queues, outputs as usize)));
        let size = self.config.element.output.0 as u32;
        self.outputs.extend((0..outputs).map(|o| Output::new(number, o, inputs as usize, size)));
    }

    fn edge(&mut self, first_port: u32, ports: u32, ends: &[End]) {
        let number = self.edges.len() as u32;
        let uplinks: Vec<u32> =
            ends.iter().map(|&end| self.wire(Feeder::Edge(number), end)).collect();
        (first_port..first_port + ports).for_each(|p| self.ports[p as usize].edge = number);
        let mut idle = Bits::new(uplinks.len());
        (0..uplinks.len()).for_each(|u| idle.set(u, true));
        self.edges.push(Edge {
            first_port,
            uplinks,
            idle,
            eligible: Bits::new(ports as usize),
            next_port: 0,
            next_uplink: 0,
        });
    }

    fn wire_output(&mut self, element: usize, output: u32, end: End) {
        let output = self.elements[element].first_output + output;
        let link = self.wire(Feeder::Output(output), end);
        self.outputs[output as usize].link = link;
    }

    fn wire(&mut self, feeder: Feeder, end: End) -> u32 {
        let number = self.links.len() as u32;
        let c = &self.config;
        let mut head_delay = c.link_delay.0;
        if let Feeder::Edge(edge) = feeder {
            // An edge is numbered like its port, but for those of a spine, which have several and
            // no delay of their own.
            head_delay += c.port_delays.get(edge as usize).map_or(0, |d| d.0);
        }
        let mut room = Vec::new();
        match end {
            End::Element { element, input } => {
                room = match (c.element.crosspoint, c.core) {
                    (Some(crosspoint), Core::Network(shape)) => {
                        let outputs = shape.size(self.elements[element as usize].place).1;
                        vec![crosspoint.0 as u32; outputs as usize]
                    }
                    _ => vec![c.element.input.0 as u32],
                };
                let input = self.elements[element as usize].first_input + input;
                self.inputs[input as usize].link = number;
            }
            End::Port(port) => {
                self.last_links[port as usize].push(number);
            }
        }
        self.links.push(Link::new(feeder, end, c.fabric, head_delay, c.credit_delay.0, room));
        number
    }
}

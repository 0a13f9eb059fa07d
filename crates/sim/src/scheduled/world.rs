//! A fabric in motion.

mod build;
mod crosspoints;
mod egress;
mod elements;
mod hosts;
mod ingress;

use std::ops::ControlFlow;

use crate::Pending as _;
use rand_chacha::ChaCha8Rng;
use xoff_units::{Time, prefetch, prefetch_whole};

use crate::scheduled::config::{Config, Core, Problem};
use crate::scheduled::element::{Element, Input, Output};
use crate::scheduled::event::{Events, Kind};
use crate::scheduled::flow::Flow;
use crate::scheduled::flows::Flows;
use crate::scheduled::link::{Feeder, Link};
use crate::scheduled::measure::{Partial, Report, Stuck, Window};
use crate::scheduled::port::{Edge, Port};
use crate::scheduled::segment::Segments;
use crate::scheduled::traffic::Source;

/// A fabric with everything in it.
pub struct World {
    config: Config,
    ports_n: u32,
    now: u64,
    events: Events,
    segments: Segments,
    flows: Flows,
    /// By input, then output: the path of the next segment, or its place in the flow's own order
    /// of paths; empty where a link has to be taken as it is free.
    next_paths: Vec<u32>,
    /// The same of the next control segment; empty where it takes a path of the data.
    next_control_paths: Vec<u32>,
    ports: Vec<Port>,
    edges: Vec<Edge>,
    links: Vec<Link>,
    elements: Vec<Element>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Last links before each port; an edge with several ports has one from every spine, kept at
    /// its first port.
    last_links: Vec<Vec<u32>>,
    sources: Vec<Source>,
    /// Orders of paths, by flow; empty where flows have none of their own.
    orders: Vec<u16>,
    /// Random paths, by input.
    spray: Vec<ChaCha8Rng>,
    /// The packet that each source has announced: destination, length. A source is numbered like
    /// its port, a second one of the same port comes as many later as there are ports.
    announced: Vec<(u32, u32)>,
    /// Outputs that are hotspots.
    hot: Vec<bool>,
    /// Grants held by each input [segments].
    grants_held: Vec<u32>,
    hosts: Option<Box<hosts::HostSide>>,
    report: Report,
    window: Window,
}

/// Ports from which on a fabric asks for memory ahead of its events: the second-level cache holds a
/// smaller one.
const LARGE: u32 = 256;
/// Interval between progress reports of a run [events].
const PROGRESS_EVERY: u64 = 1 << 20;

impl World {
    /// A fabric at rest.
    ///
    /// # Errors
    /// The settings that cannot work.
    pub fn new(config: Config) -> Result<World, Vec<Problem>> {
        let problems = config.problems();
        if problems.is_empty() { Ok(build::world(config)) } else { Err(problems) }
    }

    /// Runs to the end, or until `progress` (simulated time, events) breaks off.
    // Not generic over `progress`: the loop is then compiled here, with this crate's optimisation,
    // once for all callers.
    pub fn run(mut self, progress: &mut dyn FnMut(Time, u64) -> ControlFlow<()>) -> Report {
        let until = self.config.until.0;
        let large = self.ports_n > LARGE;
        while let Some(e) = self.events.take(until) {
            self.now = e.time();
            if large {
                self.prefetch();
            }
            match e.kind {
                Kind::Source => self.packet(e.at()),
                Kind::Head => self.head(e.at(), e.arg),
                Kind::Tail | Kind::Message => self.deliver(e.arg),
                Kind::Crossbar => {
                    self.outputs[e.at()].wake = u64::MAX;
                    self.cross(e.at());
                }
                Kind::InputFree => self.input_free(e.at(), e.arg as usize),
                Kind::Link => self.link_free(e.at()),
                Kind::Grant => {
                    self.ports[e.at()].grant_call = u64::MAX;
                    self.grant(e.at());
                }
                Kind::Line => self.line(e.at()),
                Kind::Block => self.block(),
                Kind::HostLine => self.host_line(e.at()),
                Kind::HostFrame => self.host_frame(e.at()),
                Kind::HostTimer => self.host_timer(e.at(), e.arg),
                Kind::Pause => self.pause(e.at(), e.arg == 1),
                Kind::Cnm => self.cnm_arrives(e.at(), e.arg),
                Kind::CnmAtEdge => self.cnm_at_edge(e.at(), e.arg),
                Kind::PointClock => self.point_clock(e.at()),
                Kind::Acknowledged => self.frame_acknowledged(e.at()),
                Kind::LineRate => self.change_line(e.arg as usize),
                Kind::Window => self.end_window(),
            }
            if self.events.done.is_multiple_of(PROGRESS_EVERY)
                && progress(Time(self.now), self.events.done).is_break()
            {
                return self.finish();
            }
        }
        // The last event may be earlier.
        self.now = until;
        self.finish()
    }

    /// Prefetches what the events after this one will touch, which the cache of a large fabric does
    /// not hold: first the place of an event, then, when that is there, what it leads to.
    #[inline(always)]
    fn prefetch(&self) {
        if let Some(e) = self.events.ahead(12) {
            match e.kind {
                Kind::Head | Kind::Tail | Kind::Message => {
                    prefetch_whole(self.segments.get(e.arg));
                    prefetch_whole(&self.links[e.at()]);
                }
                Kind::Crossbar => prefetch_whole(&self.outputs[e.at()]),
                Kind::Link => prefetch_whole(&self.links[e.at()]),
                Kind::Line | Kind::Grant => prefetch_whole(&self.ports[e.at()]),
                Kind::Source => {
                    prefetch(&self.announced[e.at()]);
                    prefetch_whole(&self.sources[e.at()]);
                }
                _ => {}
            }
        }
        if let Some(e) = self.events.ahead(6) {
            match e.kind {
                Kind::Tail | Kind::Message => {
                    let s = self.segments.get(e.arg);
                    self.flows.prefetch(s.source as usize, s.destination as usize);
                }
                Kind::Source => {
                    let (destination, _) = self.announced[e.at()];
                    let port = e.at() % self.ports_n as usize;
                    self.flows.prefetch(port, destination as usize);
                    prefetch_whole(&self.ports[port]);
                }
                Kind::Line => {
                    if let Some(&source) = self.ports[e.at()].line.front() {
                        self.flows.prefetch(source as usize, e.at());
                    }
                }
                Kind::Link => {
                    if let Feeder::Output(o) = self.links[e.at()].feeder {
                        prefetch_whole(&self.outputs[o as usize]);
                    }
                }
                _ => {}
            }
        }
        if let Some(e) = self.events.ahead(3) {
            match e.kind {
                Kind::Tail | Kind::Message => {
                    let s = self.segments.get(e.arg);
                    self.flows.prefetch_moving(s.source as usize, s.destination as usize);
                    prefetch_whole(&self.ports[s.destination as usize]);
                }
                Kind::Source => {
                    let (destination, _) = self.announced[e.at()];
                    let port = e.at() % self.ports_n as usize;
                    self.flows.prefetch_moving(port, destination as usize);
                }
                Kind::Line => {
                    if let Some(&source) = self.ports[e.at()].line.front() {
                        self.flows.prefetch_moving(source as usize, e.at());
                    }
                }
                _ => {}
            }
        }
    }

    fn flow(&mut self, input: usize, output: usize) -> &mut Flow {
        self.flows.set_moving(input, output)
    }

    fn measuring(&self) -> bool {
        self.now >= self.config.warm_up.0
    }

    fn block(&mut self) {
        if let Some(blocked) = &self.config.blocked {
            for &link in blocked.outputs.iter().flat_map(|&o| &self.last_links[o as usize]) {
                self.links[link as usize].blocked_until = blocked.until.0;
            }
        }
    }

    fn end_window(&mut self) {
        let (mut longest, mut sum, mut n) = (0, 0u64, 0u64);
        for (port, _) in self.hot.iter().enumerate().filter(|(_, hot)| **hot) {
            let first = self.edges[self.ports[port].edge as usize].first_port;
            for &link in &self.last_links[first as usize] {
                if let Feeder::Output(o) = self.links[link as usize].feeder {
                    let held = self.outputs[o as usize].held;
                    (longest, sum, n) = (held.max(longest), sum + u64::from(held), n + 1);
                }
            }
        }
        let grants: u64 = self.grants_held.iter().map(|&g| u64::from(g)).sum();
        let window = Window {
            end: Time(self.now),
            hot_queue_max: longest,
            hot_queue_mean: if n > 0 { sum as f64 / n as f64 } else { 0.0 },
            grants_max: self.grants_held.iter().copied().max().unwrap_or(0),
            grants_mean: grants as f64 / f64::from(self.ports_n),
            ..std::mem::take(&mut self.window)
        };
        if window.cold_bytes + window.hot_bytes == 0 && self.report.stuck.is_none() {
            self.report.stuck = self.find_stuck();
        }
        self.report.windows.push(window);
        self.end_host_window();
        self.events.add(self.now + self.config.window.0, Kind::Window, 0, 0);
    }

    /// An output whose buffer is held by packets that came in part, while nothing moves that could
    /// complete one of them.
    fn find_stuck(&self) -> Option<Stuck> {
        if self.segments.alive() > 0
            || self.config.blocked.as_ref().is_some_and(|b| b.until.0 >= self.now)
        {
            return None;
        }
        (0..self.ports_n).find_map(|output| {
            let port = &self.ports[output as usize];
            let partial: Vec<_> = (0..self.ports_n)
                .filter_map(|input| {
                    let flow = self.flows.moving(input as usize, output as usize)?;
                    let (granted, unsolicited, missing) = flow.partial()?;
                    let asked = port.granter.requested_by(input);
                    (flow.requester.granted() == 0).then_some(Partial {
                        input,
                        granted,
                        unsolicited,
                        missing,
                        asked,
                    })
                })
                .collect();
            let stuck = port.line.is_empty() && partial.iter().any(|p| p.asked > 0);
            stuck.then(|| Stuck { output, free: port.granter.output_free(), partial })
        })
    }

    fn finish(mut self) -> Report {
        self.report.stuck = self.report.stuck.take().or_else(|| self.find_stuck());
        let stages = match self.config.core {
            Core::Network(shape) => shape.stages() as usize,
            Core::Spine { .. } => 1,
            Core::Ideal { .. } => 0,
        };
        self.report.queue_max = vec![0; stages];
        self.report.waits = vec![0; stages + 1];
        for link in &self.links {
            let stage = match link.feeder {
                Feeder::Edge(_) => 0,
                Feeder::Output(o) => {
                    self.stage_of(self.elements[self.outputs[o as usize].element as usize].place)
                        + 1
                }
            };
            self.report.waits[stage] += link.waits;
        }
        for output in &self.outputs {
            let stage = self.stage_of(self.elements[output.element as usize].place);
            let max = &mut self.report.queue_max[stage];
            *max = output.held_max.max(*max);
        }
        self.report.reassembly_max =
            self.ports.iter().map(|p| p.output_held_max).max().unwrap_or(0);
        self.report.balance.waiting = self.ports.iter().map(|p| p.waiting).sum();
        self.report.balance.inside = self.segments.payload();
        self.report.balance.output = self.ports.iter().map(|p| p.output_held).sum();
        self.report.measured =
            self.now.max(self.config.until.0).saturating_sub(self.config.warm_up.0);
        self.report.events = self.events.done;
        self.report.now = Time(self.now);
        self.report.hosts = self.finish_hosts();
        self.report
    }

    /// Place of an element on the way of a segment, from 0.
    fn stage_of(&self, place: crate::scheduled::shape::Place) -> usize {
        use crate::scheduled::shape::Place::*;
        let Core::Network(shape) = self.config.core else { return 0 };
        match place {
            Left { level, .. } => level as usize,
            Middle { .. } => shape.levels as usize,
            Right { level, .. } => (2 * shape.levels - level) as usize,
        }
    }
}

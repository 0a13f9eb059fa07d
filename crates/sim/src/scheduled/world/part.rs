//! A part of a fabric: some edges with their ports, and some elements. Whatever happens in it at a
//! time depends on the part alone, because everything that comes from another one takes time.

use std::collections::VecDeque;
use std::sync::Arc;
use xoff_units::state::{Broken, Reader, State, Walk, may_be_gone};

use crate::Pending as _;
use rand_chacha::ChaCha8Rng;
use xoff_units::{prefetch, prefetch_whole};

use super::hosts::HostSide;
use super::jobs::Ranks;
use super::mail::Mail;
use crate::scheduled::config::Config;
use crate::scheduled::element::{Element, Input, Output};
use crate::scheduled::event::{Events, Kind};
use crate::scheduled::flow::{Flow, Reassembly, Tag};
use crate::scheduled::flows::Flows;
use crate::scheduled::link::{Feeder, Link};
use crate::scheduled::measure::{Backlog, Report, Window};
use crate::scheduled::port::{Edge, Local, Port};
use crate::scheduled::segment::{Segment, Segments};
use crate::scheduled::shape::Place;
use crate::scheduled::traffic::Source;

/// What all parts know.
pub(super) struct Plan {
    pub config: Config,
    pub ports: u32,
    /// Outputs that are hotspots.
    pub hot: Vec<bool>,
    /// Hotspots behind each edge, kept at its first port.
    pub hot_behind: Vec<u32>,
    /// Part of each port.
    pub part_of: Vec<u16>,
    /// Places of the elements.
    pub places: Vec<Place>,
}

/// A control message next to the data, or an acknowledgement of a frame, which is on its way to a
/// port: arrival, sender.
pub(super) type Coming<T> = VecDeque<(u64, u32, T)>;

/// A part of a fabric in motion.
#[derive(State)]
pub(super) struct Part {
    #[state(built)]
    pub number: u16,
    #[state(built)]
    pub plan: Arc<Plan>,
    pub now: u64,
    pub events: Events,
    pub segments: Segments,
    /// Flows at their inputs, and at their outputs.
    pub flows: Flows<Flow>,
    pub reassemblies: Flows<Reassembly>,
    /// By input, then output: the path of the next segment, or its place in the flow's own order
    /// of paths; empty where a link has to be taken as it is free.
    pub next_paths: Vec<u16>,
    /// The same of the next control segment; empty where it takes a path of the data.
    pub next_control_paths: Vec<u16>,
    pub ports: Local<Port>,
    pub edges: Local<Edge>,
    /// Links that start here.
    #[state(each)]
    pub links: Vec<Link>,
    #[state(built)]
    pub elements: Vec<Element>,
    #[state(each)]
    pub inputs: Vec<Input>,
    #[state(each)]
    pub outputs: Vec<Output>,
    /// Last links before each port; an edge with several ports has one from every spine, kept at
    /// its first port.
    #[state(built)]
    pub last_links: Vec<(u32, u32)>,
    /// One of each port, then the second ones, if there are any.
    #[state(each)]
    pub sources: Vec<Source>,
    /// The packet that each source has announced: destination, length.
    pub announced: Vec<(u32, u32)>,
    /// Orders of paths, by flow; empty where flows have none of their own.
    #[state(built)]
    pub orders: Vec<u16>,
    /// Random paths, by input.
    #[state(by = positions)]
    pub spray: Local<ChaCha8Rng>,
    /// Grants held by each input [segments].
    pub grants_held: Local<u32>,
    /// Control messages that travel next to the data, by destination.
    pub messages: Local<Coming<Segment>>,
    /// Frames that are acknowledged, by input: length and owner.
    pub acknowledged: Local<Coming<(u32, Tag)>>,
    #[state(by = may_be_gone)]
    pub hosts: Option<Box<HostSide>>,
    #[state(by = may_be_gone)]
    pub ranks: Option<Box<Ranks>>,
    pub report: Report,
    pub window: Window,
    /// For other parts; empty between two calls of [`super::World::advance`].
    #[state(built)]
    pub outgoing: Vec<Vec<Mail>>,
}

/// Random streams, by their positions.
mod positions {
    use super::{Broken, ChaCha8Rng, Local, Reader, Walk};
    use xoff_net::workload::random::position;

    pub fn walk<W: Walk>(all: &Local<ChaCha8Rng>, w: &mut W) -> Result<(), W::Stop> {
        all.iter().try_for_each(|rng| position::walk(rng, w))
    }
    pub fn restore(all: &mut Local<ChaCha8Rng>, from: &mut Reader) -> Result<(), Broken> {
        all.numbers().try_for_each(|n| position::restore(&mut all[n], from))
    }
}

/// Ports from which on a fabric asks for memory ahead of its events: the second-level cache holds a
/// smaller one.
const LARGE: u32 = 256;

impl Part {
    /// Handles the events before `bound`, at most about `most` of them. True: there are no more.
    pub fn run(&mut self, bound: u64, most: u64) -> bool {
        let stop = self.events.done.saturating_add(most);
        let large = self.plan.ports > LARGE;
        while let Some(e) = self.events.take(bound) {
            self.now = e.time();
            if large {
                self.prefetch();
            }
            let at = e.at();
            match e.kind() {
                Kind::Source => self.packet(at),
                Kind::Head => self.head(at, e.arg()),
                Kind::Tail => {
                    let segment = self.segments.take(e.arg());
                    self.deliver(segment);
                }
                Kind::Message => {
                    if let Some((_, _, segment)) = self.messages[at].pop_front() {
                        self.deliver(segment);
                    }
                }
                Kind::Crossbar => self.crossbar_free(at),
                Kind::InputFree => self.input_free(at),
                Kind::Link => self.link_free(at),
                Kind::Grant => {
                    self.ports[at].grant_call = u64::MAX;
                    self.grant(at);
                }
                Kind::Line => self.line(at),
                Kind::HostLine => self.host_line(at),
                Kind::HostFrame => self.host_frame(at),
                Kind::HostTimer => self.host_timer(at, e.arg()),
                Kind::Pause => self.pause(at, e.arg() == 1),
                Kind::Cnm => self.cnm_arrives(at, e.arg()),
                Kind::CnmAtEdge => self.cnm_at_edge(at, e.arg()),
                Kind::PointClock => self.point_clock(at),
                Kind::Acknowledged => {
                    if let Some((_, _, (len, tag))) = self.acknowledged[at].pop_front() {
                        self.free_input(at, len, tag);
                    }
                }
                Kind::LineRate => self.change_line(e.arg() as usize),
                Kind::MessageArrived => self.message_arrived(e.arg()),
                Kind::MessageSent => self.message_sent(e.arg()),
                Kind::Rank => self.rank_due(e.arg()),
            }
            if self.events.done >= stop {
                return false;
            }
        }
        true
    }

    /// Prefetches what the events after this one will touch, which the cache of a large fabric does
    /// not hold: first the place of an event, then, when that is there, what it leads to.
    #[inline(always)]
    fn prefetch(&self) {
        if let Some(e) = self.events.ahead(12) {
            let at = e.at();
            match e.kind() {
                Kind::Tail => prefetch_whole(self.segments.get(e.arg())),
                Kind::Head => {
                    prefetch_whole(self.segments.get(e.arg()));
                    prefetch_whole(&self.inputs[at]);
                }
                Kind::Crossbar => prefetch_whole(&self.outputs[at]),
                Kind::Link => prefetch_whole(&self.links[at]),
                Kind::Line | Kind::Grant => prefetch_whole(&self.ports[at]),
                Kind::Source => {
                    prefetch(&self.announced[at]);
                    prefetch_whole(&self.sources[at]);
                }
                _ => {}
            }
        }
        if let Some(e) = self.events.ahead(6) {
            let at = e.at();
            match e.kind() {
                Kind::Tail => {
                    let s = self.segments.get(e.arg());
                    self.reassemblies.prefetch(s.destination as usize, s.source as usize);
                    prefetch_whole(&self.ports[s.destination as usize]);
                }
                Kind::Source => {
                    let (destination, _) = self.announced[at];
                    let port = self.port_of_source(at);
                    self.flows.prefetch(port, destination as usize);
                    prefetch_whole(&self.ports[port]);
                }
                Kind::Line => {
                    if let Some(&source) = self.ports[at].line.front() {
                        self.reassemblies.prefetch(at, source as usize);
                    }
                }
                Kind::Link => {
                    if let Feeder::Output(o) = self.links[at].feeder {
                        prefetch_whole(&self.outputs[o as usize]);
                    }
                }
                _ => {}
            }
        }
        if let Some(e) = self.events.ahead(3) {
            let at = e.at();
            match e.kind() {
                Kind::Tail => {
                    let s = self.segments.get(e.arg());
                    self.reassemblies.prefetch_moving(s.destination as usize, s.source as usize);
                }
                Kind::Source => {
                    let (destination, _) = self.announced[at];
                    self.flows.prefetch_moving(self.port_of_source(at), destination as usize);
                }
                Kind::Line => {
                    if let Some(&source) = self.ports[at].line.front() {
                        self.reassemblies.prefetch_moving(at, source as usize);
                    }
                }
                _ => {}
            }
        }
    }

    /// The flow from a port of this part.
    #[inline]
    pub fn flow(&mut self, input: usize, output: usize) -> &mut Flow {
        self.flows.set_moving(input, output, self.now)
    }

    /// The flow to a port of this part.
    #[inline]
    pub fn reassembly(&mut self, input: usize, output: usize) -> &mut Reassembly {
        self.reassemblies.set_moving(output, input, self.now)
    }

    /// Place of a flow from a port of this part among those that have paths.
    pub fn nth(&self, input: usize, output: usize) -> usize {
        (input - self.ports.numbers().start) * self.plan.ports as usize + output
    }

    /// Port of a source, by its number in this part.
    pub fn port_of_source(&self, source: usize) -> usize {
        let ports = self.ports.numbers();
        ports.start + source % ports.len()
    }

    /// What waits at the inputs of this part, by output.
    pub fn backlog(&self) -> Vec<Backlog> {
        let mut all = vec![Backlog::default(); self.plan.ports as usize];
        for (_, output, flow) in self.flows.iter().filter(|(.., flow)| flow.unsent() > 0) {
            let granted = u32::from(flow.requester.granted() > 0);
            all[output] += Backlog { bytes: flow.unsent(), flows: 1, granted };
        }
        all
    }

    pub fn measuring(&self) -> bool {
        self.now >= self.plan.config.warm_up.0
    }
}

//! Closed loops: when the source of a flow starts the next one.

use xoff_net::workload::Flow;
use xoff_net::workload::generators::closed_loop::NextAfter;
use xoff_node::{Env, EventKey, Frame, FrameKind};
use xoff_units::{Class, FlowId, PortId, Span};

use crate::engine::event::{Event, Kind};
use crate::observe::flows::{FlowRecord, Stage};
use crate::world::core::Core;
use crate::world::model::PathFacts;
use crate::world::partition::{HOPS, Node, Partition, RECEIVES};

impl Partition {
    /// Flows of closed loops have come further: starts their successors or, where the source has no
    /// news yet, plans it.
    pub fn follow_loops(&mut self) {
        if self.jobs.is_some() {
            self.follow_jobs();
        }
        if self.news.is_some() {
            self.note_news();
        }
        while let Some((flow, stage)) = self.core.monitor.flows.ended.pop() {
            let Some(index) = self.loop_of(flow) else { continue };
            match (self.starts.loops[index].next_after(), stage) {
                (NextAfter::Sent, Stage::Sent) | (NextAfter::Delivery, Stage::Acknowledged) => {
                    self.start_successor(index, flow)
                }
                (NextAfter::Delivery, Stage::Delivered) => self.plan_news(flow),
                _ => {}
            }
        }
    }

    /// The source learns that its flow has been delivered.
    pub fn receives(&mut self, flow: FlowId) {
        if let Some(index) = self.loop_of(flow) {
            self.start_successor(index, flow);
        }
    }

    fn loop_of(&self, flow: FlowId) -> Option<usize> {
        if self.starts.loops.is_empty() {
            return None;
        }
        let label = self.core.monitor.flows.records.known(flow)?.label;
        self.starts.loops.iter().position(|l| l.label() == label)
    }

    fn start_successor(&mut self, index: usize, flow: FlowId) {
        let host = self.core.monitor.flows.records.at(flow).flow.src;
        let nth = self.starts.started.get(&(index as u32, host)).copied().unwrap_or(0);
        if let Some(next) = self.starts.loops[index].flow(host, nth, self.core.clock.now) {
            let number = self.core.monitor.flows.records.append(FlowRecord::new(next, 0));
            self.begin(number, PathFacts::default());
        }
    }

    /// The news is at the source as soon as news could be there, see
    /// [`xoff_net::workload::generators::closed_loop`].
    fn plan_news(&mut self, flow: FlowId) {
        let time = self.core.clock.now + self.propagation(flow);
        let rank = self.core.ranks.of(Kind::FlowStart, flow.0, 1, 0);
        self.core.pending.push(Event::new(
            EventKey { time, rank },
            Kind::FlowStart,
            0,
            flow.0 * HOPS + RECEIVES,
        ));
    }

    /// Delay of the links of a flow's way, as frames take it now.
    fn propagation(&mut self, flow: FlowId) -> Span {
        let core: &mut Core = &mut self.core;
        let Flow { src, dst, .. } = core.monitor.flows.records.at(flow).flow;
        let frame = Frame::new(FrameKind::Data, flow, Class(0), 1);
        let (mut node, mut delay) = (src, Span::ZERO);
        // A way has no more hops than there are nodes.
        for _ in 0..self.nodes.len() {
            let port = match self.nodes[node.index()] {
                Node::Switch(_) => core.route(node, &frame),
                _ => Some(0),
            };
            let Some(port) = port else { break };
            delay += core.lines[core.layout.port_index(PortId { node, port })].delay;
            node = core.peer(PortId { node, port }).node;
            if node == dst {
                break;
            }
        }
        delay
    }
}

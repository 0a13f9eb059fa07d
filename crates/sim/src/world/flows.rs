//! Flows begin, end, and have successors.

use super::*;

impl World {
    /// Successors of flows that ended, and memory of receivers that is no longer needed.
    pub(super) fn after_flows(&mut self) {
        while let Some(flow) = self.core.acknowledged.pop() {
            if let Some(turns) = &mut self.turns {
                turns.ended(flow);
            }
            let dst = self.core.flows[flow as usize].flow.dst;
            if let Node::Nic(n) = &mut self.nodes[dst as usize] {
                n.forget(flow);
            }
        }
        while let Some(flow) = self.core.ended.pop() {
            let (label, host) = {
                let f = &self.core.flows[flow as usize].flow;
                (f.label, f.src)
            };
            let Some(index) = self.flows.loops.iter().position(|l| l.label() == label) else { continue };
            let nth = self.started.get(&(index as u32, host)).copied().unwrap_or(0);
            if let Some(next) = self.flows.loops[index].flow(host, nth, self.core.now) {
                self.begin(next, None);
            }
        }
    }

    pub(super) fn plan_flow_start(&mut self) {
        if let Some(f) = self.flows.flows.get(self.next_flow) {
            self.core.schedule(f.start, Kind::FlowStart, 0, 0, 0, 0, 0, 0);
        }
    }

    pub(super) fn start_flows(&mut self) {
        while let Some(f) = self.flows.flows.get(self.next_flow).filter(|f| f.start <= self.core.now) {
            let f = f.clone();
            let window = self.windows.get(self.next_flow).copied().flatten();
            self.next_flow += 1;
            if self.core.order == EventOrder::Insertion {
                // ns-3 starts an application and then its flow, each in an event of its own at the same time.
                let now = self.core.now;
                self.starting.push((f, window));
                let at = self.starting.len() as u32 - 1;
                self.core.schedule(now, Kind::FlowStart, 0, 0, at, 2, 0, 0);
            } else {
                self.begin(f, window);
            }
        }
        self.plan_flow_start();
    }

    pub(super) fn start_one(&mut self, at: u32, hops: u8) {
        if hops > 1 {
            self.core.schedule(self.core.now, Kind::FlowStart, 0, 0, at, hops - 1, 0, 0);
        } else {
            let (flow, window) = self.starting[at as usize].clone();
            self.begin(flow, window);
        }
    }

    pub(super) fn begin(&mut self, f: Flow, window: Option<u64>) {
        let index = self.flows.loops.iter().position(|l| l.label() == f.label).map_or(u32::MAX, |i| i as u32);
        let counter = self.started.entry((index, f.src)).or_insert(0);
        let nth = *counter;
        *counter += 1;
        let class = self.core.classes.class(f.priority).unwrap_or(0);
        let (src, dst, size, app_rate) = (f.src, f.dst, f.size, f.rate);
        let flow = self.core.add_flow(f, nth);
        if let Some(turns) = &mut self.turns {
            turns.started(flow, &self.core.flows[flow as usize].flow);
        }
        let now = self.core.now;
        if let Node::Nic(n) = &mut self.nodes[src as usize] {
            n.start_flow(now, FlowStart { flow, dst, class, size, app_rate, window }, &mut self.core);
        }
        self.after_flows();
    }
}

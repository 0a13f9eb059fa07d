//! Samples of queues and rates.

use super::*;

impl World {
    pub(super) fn sample(&mut self) {
        let now = self.core.now;
        let span = now.since(self.samples.at);
        let probes = self.core.probes.clone();
        let classes = self.core.classes.clone();
        self.samples.tx_bytes.resize(self.core.totals.len(), 0);
        for node in 0..self.nodes.len() as u32 {
            let ports = match &self.nodes[node as usize] {
                Node::Switch(s) => s.port_count(),
                Node::Nic(_) => 1,
            };
            for port in 0..ports as u16 {
                let at = self.core.port_index(node, port);
                if probes.queues.has(node, port)
                    && let Node::Switch(s) = &self.nodes[node as usize]
                {
                    for class in 0..classes.len() as u8 {
                        let priority = classes.priority(class as usize);
                        let (ingress, egress) = (s.fill(port, class).bytes, Bytes(s.waiting(port, class)));
                        self.core.record(Row::Queue { time: now, node, port, ingress: true, priority, bytes: ingress });
                        self.core.record(Row::Queue { time: now, node, port, ingress: false, priority, bytes: egress });
                    }
                }
                if probes.rates.has(node, port) {
                    let sent = self.core.totals[at].tx_bytes - self.samples.tx_bytes[at];
                    self.core.record(Row::PortRate {
                        time: now,
                        node,
                        port,
                        priority: None,
                        rate: Rate::of(Bytes(sent), span),
                        source: RateSource::Measured,
                    });
                    for class in 0..classes.len() as u8 {
                        let rate = match &self.nodes[node as usize] {
                            Node::Switch(s) => s.port(port).allowed_rate(now, class),
                            Node::Nic(n) => n.port().allowed_rate(now, class),
                        };
                        let priority = Some(classes.priority(class as usize));
                        self.core.record(Row::PortRate { time: now, node, port, priority, rate, source: RateSource::FlowControl });
                    }
                }
                self.samples.tx_bytes[at] = self.core.totals[at].tx_bytes;
            }
        }
        if probes.flow_rates {
            self.samples.flow_bytes.resize(self.core.flows.len(), 0);
            for flow in 0..self.core.flows.len() {
                let delivered = self.core.flows[flow].delivered;
                let done = self.core.flows[flow].end.is_some_and(|e| e <= self.samples.at);
                if !done {
                    let rate = Rate::of(Bytes(delivered - self.samples.flow_bytes[flow]), span);
                    let node = self.core.flows[flow].flow.src;
                    self.core.record(Row::FlowRate { time: now, node, flow: flow as u32, rate, source: RateSource::Measured });
                }
                self.samples.flow_bytes[flow] = delivered;
            }
        }
        self.samples.at = now;
        self.plan(probes.interval, Kind::Sample);
    }
}

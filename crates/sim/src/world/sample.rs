//! Samples of queues and rates.

use xoff_rows::{Port, RateSource};

use super::*;
use crate::rows::{flow_rate, port_rate, queues};

impl World {
    pub(super) fn sample(&mut self) {
        // Rows have the time of the run, ports are asked about that of the nodes.
        let (now, of_nodes) = (self.now(), self.now);
        let span = now.since(self.samples.at);
        let layout = self.layout.clone();
        let (probes, classes) = (&layout.probes, &layout.classes);
        self.samples.tx_bytes.resize(layout.ports.len(), 0);
        let mut rows = Vec::new();
        for (at, &(node, port)) in layout.ports.places().iter().enumerate() {
            let partition = &self.partitions[layout.partition_of[node as usize] as usize];
            let tx_bytes = partition.core.lines[at].tx_bytes;
            let state = &partition.nodes[node as usize];
            let (number, feeder) = (Port(at as u32), Port(layout.ports.peer(at as u32)));
            if probes.queues.has(node, port)
                && let Node::Switch(s) = state
            {
                for class in 0..classes.len() as u8 {
                    let priority = classes.priority(class as usize);
                    let (ingress, egress) = (s.occupancy(port, class).bytes.0, s.waiting(port, class));
                    rows.extend(queues(now, (number, feeder), priority, ingress, egress));
                }
            }
            if probes.rates.has(node, port) {
                let rate = Rate::of(Bytes(tx_bytes - self.samples.tx_bytes[at]), span);
                rows.push(port_rate(now, number, None, rate, RateSource::Measured));
                for class in 0..classes.len() as u8 {
                    let rate = match state {
                        Node::Switch(s) => s.port(port).allowed_rate(of_nodes, class),
                        Node::Nic(n) => n.port().allowed_rate(of_nodes, class),
                        // Of a world that leads outside: another process has them.
                        Node::Remote => continue,
                    };
                    let priority = Some(classes.priority(class as usize));
                    rows.push(port_rate(now, number, priority, rate, RateSource::FlowControl));
                }
            }
            self.samples.tx_bytes[at] = tx_bytes;
        }
        if probes.flow_rates {
            let begun = match self.outside {
                // Others begin elsewhere.
                true => self.partitions[0].core.monitor.flows.records.iter().take_while(|f| f.flow.start <= now).count(),
                false => self.partitions.iter().map(|p| p.starts.begun).sum(),
            };
            self.samples.flow_bytes.resize(begun, 0);
            for flow in 0..begun {
                let seen = self.partitions.iter().map(|p| &p.core.monitor.flows.records[flow]);
                let delivered = seen.clone().map(|f| f.delivered).sum();
                let done = seen.clone().filter_map(|f| f.end).any(|e| e <= self.samples.at);
                if !done {
                    let rate = Rate::of(Bytes(delivered - self.samples.flow_bytes[flow]), span);
                    let port = Port(layout.ports.of(self.partitions[0].core.monitor.flows.records[flow].flow.src, 0));
                    rows.push(flow_rate(now, port, flow as u32, rate, RateSource::Measured));
                }
                self.samples.flow_bytes[flow] = delivered;
            }
        }
        rows.into_iter().for_each(|row| self.record(row));
        self.samples.at = now;
        self.plan(probes.interval, Kind::Sample);
    }
}

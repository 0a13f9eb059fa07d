//! Samples of queues and rates.

use xoff_mech::detection::Side;
use xoff_rows::{Port, QueueRow, RateRow, RateSource};

use super::*;
use crate::observe::rows::{flow_rate, port_rate, queues};

/// A row of a sample.
#[derive(Clone, Copy, State)]
pub(super) enum Sampled {
    /// Time, port, buffer and priority, bytes.
    Queue(u64, Port, (Side, u8), u64),
    /// Time, port, priority, flow and source, bits per second.
    Rate(u64, Port, (Option<u8>, Option<u64>, RateSource), u64),
}

impl Sampled {
    /// As a row of its table.
    pub fn row(self) -> Row {
        match self {
            Sampled::Queue(time_ps, port, (kind, priority), bytes) => {
                Row::Queue(QueueRow { time_ps, port, kind, priority, bytes })
            }
            Sampled::Rate(time_ps, port, (priority, flow, source), rate_bps) => {
                Row::Rate(RateRow { time_ps, port, priority, flow, rate_bps, source })
            }
        }
    }

    fn of(row: Row) -> Sampled {
        match row {
            Row::Queue(QueueRow { time_ps, port, kind, priority, bytes }) => {
                Sampled::Queue(time_ps, port, (kind, priority), bytes)
            }
            Row::Rate(RateRow { time_ps, port, priority, flow, rate_bps, source }) => {
                Sampled::Rate(time_ps, port, (priority, flow, source), rate_bps)
            }
            other => unreachable!("{other:?} is no sample"),
        }
    }
}

impl World {
    /// Takes a sample. Returns whether the run certainly reaches it. A call that finds nothing due
    /// is no reason to sample, and the number of such calls differs after fast-forward.
    pub(super) fn sample(&mut self) -> bool {
        let certain = !self.only_calls();
        // Rows have the time of the run, ports are asked about that of the nodes.
        let (now, of_nodes) = (self.now(), self.now);
        let span = now.since(self.samples.at);
        let (layout, probes) = (self.layout.clone(), self.probes.clone());
        let classes = &layout.classes;
        self.samples.tx_bytes.resize(layout.ports.len(), 0);
        let (together, is_first) = (self.others.exist(), self.others.is_first());
        let mut rows: Vec<(u32, Row)> = Vec::new();
        for (at, &PortId { node, port }) in layout.ports.places().iter().enumerate() {
            let partition = &self.partitions[layout.partition_of[node.index()] as usize];
            let tx_bytes = partition.core.lines[at].tx_bytes;
            let state = &partition.nodes[node.index()];
            if together && matches!(state, Node::Remote) {
                continue; // the process that has it samples it
            }
            let mut row = |row| rows.push((at as u32, row));
            let (number, feeder) = (Port(at as u32), Port(layout.ports.peer(at as u32)));
            if probes.queues.has(PortId { node, port })
                && let Node::Switch(s) = state
            {
                for class in classes.all() {
                    let priority = classes.priority(class);
                    let (ingress, egress) =
                        (s.occupancy(port, class).bytes.0, s.waiting(port, class));
                    queues(now, (number, feeder), priority, ingress, egress)
                        .into_iter()
                        .for_each(&mut row);
                }
            }
            if probes.rates.has(PortId { node, port }) {
                let rate = Rate::of(Bytes(tx_bytes - self.samples.tx_bytes[at]), span);
                row(port_rate(now, number, None, rate, RateSource::Measured));
                for class in classes.all() {
                    let rate = match state {
                        Node::Switch(s) => s.port(port).allowed_rate(of_nodes, class),
                        Node::Nic(n) => n.port(port).allowed_rate(of_nodes, class),
                        // Of a world that leads outside: another process has them.
                        Node::Remote => continue,
                    };
                    let priority = Some(classes.priority(class));
                    row(port_rate(now, number, priority, rate, RateSource::FlowControl));
                }
            }
            self.samples.tx_bytes[at] = tx_bytes;
        }
        if together {
            rows = self.others.at_first(rows);
            rows.sort_by_key(|r| r.0); // stable: rows of one port stay in their order
        }
        if probes.flow_rates {
            let begun = match self.outside {
                // Others begin elsewhere.
                true => self.partitions[0]
                    .core
                    .monitor
                    .flows
                    .records
                    .iter()
                    .take_while(|f| f.flow.start <= now)
                    .count(),
                false => self.partitions.iter().map(|p| p.starts.begun).sum(),
            };
            let begun = self.others.joined(begun as u64, |a, b| a + b) as usize;
            self.samples.flow_bytes.resize(begun, 0);
            let (partitions, since) = (&self.partitions, self.samples.at);
            let seen_here = |flow: usize| {
                let seen = partitions.iter().map(|p| &p.core.monitor.flows.records[flow]);
                (
                    seen.clone().map(|f| f.delivered).sum::<u64>(),
                    seen.filter_map(|f| f.end).any(|e| e <= since),
                )
            };
            let seen_by_all = together.then(|| {
                let both = |(a, b): ((u64, bool), (u64, bool))| (a.0 + b.0, a.1 | b.1);
                self.others.joined((0..begun).map(seen_here).collect(), |a: Vec<_>, b| {
                    a.into_iter().zip(b).map(both).collect()
                })
            });
            for flow in 0..begun {
                let (delivered, done) =
                    seen_by_all.as_ref().map_or_else(|| seen_here(flow), |all| all[flow]);
                if !done && is_first {
                    let rate = Rate::of(Bytes(delivered - self.samples.flow_bytes[flow]), span);
                    let port = Port(
                        layout.ports.of(partitions[0].core.monitor.flows.records[flow].flow.src, 0),
                    );
                    rows.push((
                        port.0,
                        flow_rate(now, port, FlowId(flow as u32), rate, RateSource::Measured),
                    ));
                }
                self.samples.flow_bytes[flow] = delivered;
            }
        }
        self.keep_sample(rows, certain);
        self.samples.at = now;
        self.plan(probes.interval, Kind::Sample);
        certain
    }

    /// Records the rows of a sample, or holds them until the run reaches the next event.
    fn keep_sample(&mut self, rows: Vec<(u32, Row)>, certain: bool) {
        for (_, row) in rows {
            let row = self.numbered_as_in_run(row);
            match certain {
                true => self.record(row),
                false => self.held.push(Sampled::of(row)),
            }
        }
    }
}

//! Memory that a run needs, estimated before it is built.

use xoff_net::topology::routing::Routes;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::Flow;
use xoff_node::{Frame, Nic, Switch};
use xoff_units::{Bytes, NodeId};

use crate::engine::event::Event;
use crate::observe::flows::FlowRecord;
use crate::wire::line::Line;
use crate::wire::route_cache::BYTES_PER_FLOW;
use crate::world::division::per_thread;

/// An estimate of memory, by use [bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Nodes and ports at rest.
    pub network: Bytes,
    /// Routing tables while they are built.
    pub routes: Bytes,
    /// Flows and their paths.
    pub flows: Bytes,
    /// Frames on all links at once, in both directions. Queues come on top and are not known
    /// before.
    pub frames: Bytes,
}

/// Memory that each partition keeps for every port: line, place of its counters, pause, random
/// stream.
const PER_PARTITION: u64 = (size_of::<Line>() + 4 + 16) as u64;

/// A frame that is queued or on its way [bytes]: itself and the event of its arrival.
pub const BYTES_PER_FRAME: u64 = (size_of::<Frame>() + size_of::<Event>()) as u64;

/// A port that nothing has passed yet and its place [bytes], of a switch, with one class, on one
/// thread. Laws that keep tables need more.
pub const BYTES_PER_IDLE_PORT: u64 =
    (Switch::BYTES_PER_PORT + size_of::<(NodeId, u16)>()) as u64 + PER_PARTITION;

impl Memory {
    /// Memory for a run of these flows over this network, with frames of `mtu` and the given
    /// numbers of classes and threads.
    pub fn estimate(
        t: &Topology,
        flows: usize,
        mtu: Bytes,
        classes: usize,
        threads: usize,
    ) -> Memory {
        let partitions = match threads {
            0 | 1 => 1,
            _ => threads as u64 * per_thread(2 * t.links.len()) as u64,
        };
        let classes = classes as u64;
        let (mut network, mut frames) = (0, 0);
        for node in &t.nodes {
            let own = match node.kind {
                NodeKind::Switch => size_of::<Switch>(),
                NodeKind::Host => size_of::<Nic>(),
            };
            network += own as u64
                + node.ports.len() as u64
                    * (BYTES_PER_IDLE_PORT * classes + PER_PARTITION * (partitions - 1));
            network += 16 * partitions;
        }
        for l in &t.links {
            // A delay of days at a rate of terabits fills every integer.
            let bytes = u128::from(l.rate.0) * u128::from(l.delay.0) / 8_000_000_000_000;
            let on_wire = u64::try_from(bytes).unwrap_or(u64::MAX) / mtu.0.max(1);
            frames = on_wire
                .saturating_add(1)
                .saturating_mul(2 * BYTES_PER_FRAME)
                .saturating_add(frames);
        }
        Memory {
            network: Bytes(network),
            routes: Bytes(Routes::bytes_while_built(t)),
            flows: Memory::of_flows(flows as u64, partitions),
            frames: Bytes(frames),
        }
    }

    /// Memory of flows in a run in this number of partitions: they are listed before the run
    /// starts.
    pub fn of_flows(flows: u64, partitions: u64) -> Bytes {
        let each = size_of::<Flow>() as u64
            + partitions * (size_of::<FlowRecord>() as u64 + BYTES_PER_FLOW);
        Bytes(flows.saturating_mul(each))
    }

    /// All of it.
    pub fn total(&self) -> Bytes {
        Bytes(
            [self.network, self.routes, self.flows, self.frames]
                .iter()
                .fold(0, |sum, partition| partition.0.saturating_add(sum)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_net::topology::builders;
    use xoff_units::Rate;
    use xoff_units::params::Defaults;

    /// The promises on memory: a frame in flight within a cache line, an idle port within a KiB.
    #[test]
    fn frames_and_ports_are_small() {
        assert_eq!((BYTES_PER_FRAME, BYTES_PER_IDLE_PORT), (56, 444));
    }

    #[test]
    fn an_estimate_adds_up() {
        let star = builders::find("star").unwrap();
        let given = Defaults::of(star.params)
            .with("hosts", "4")
            .with("rate", "100Gbps")
            .with("delay", "1us");
        let t = (star.build)(&mut { given }).unwrap();
        let m = Memory::estimate(&t, 10, Bytes(1000), 1, 1);
        // 12.5 frames of 1000 B per direction of a link of 100 Gb/s and 1 us, rounded up.
        assert_eq!(Rate::from_gbps(100).bytes_in(t.links[0].delay), Bytes(12_500));
        assert_eq!(m.frames, Bytes(4 * 2 * 13 * 56));
        assert_eq!(m.total(), m.network + m.routes + m.flows + m.frames);
        let two = Memory::estimate(&t, 10, Bytes(1000), 1, 2);
        assert!(two.network > m.network && two.flows > m.flows && two.frames == m.frames);
    }
}

//! Can a fabric deadlock? Its elements cannot: a queue waits only for queues of the next stage, and
//! an output takes every segment, because its slots were reserved. Packets in a reassembly buffer
//! can (section 3.4): parts of some hold the slots that the rest of each needs.

use std::collections::BTreeSet;

use xoff_mech::scheduled::request_grant::Admission;

use crate::scheduled::config::Config;
use crate::scheduled::traffic::{Pattern, Sizes};

/// Answer to the question whether packets can wait for each other forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freedom {
    /// True if no workload with packets of these sizes can deadlock.
    pub free: bool,
    /// Condition that holds, or the one that fails, with its numbers.
    pub why: String,
}

impl Config {
    /// Sizes of packets of the workload [bytes].
    fn packet_sizes(&self) -> BTreeSet<u64> {
        let t = &self.traffic;
        let hosts = self.hosts.iter().filter(|h| !h.flows.is_empty()).map(|h| h.frame.0);
        let mut sizes: BTreeSet<u64> = hosts.collect();
        // Messages of jobs end with a packet of any size.
        if self.jobs.is_some() {
            sizes.extend([1, self.message_packet.0]);
        }
        match (&t.pattern, t.sizes) {
            (Pattern::Streams(streams), _) => sizes.extend(streams.iter().map(|s| s.size.0)),
            (Pattern::Listed { packets, .. }, _) => sizes.extend(packets.iter().map(|p| p.size.0)),
            (Pattern::Uniform, _) if t.load == 0.0 => {}
            (_, Sizes::Fixed(size)) => _ = sizes.insert(size.0),
            (_, Sizes::Bimodal { small, large, .. }) => sizes.extend([small.0, large.0]),
        }
        sizes.retain(|&size| size > 0);
        sizes
    }

    /// Can packets that came in part wait for each other in a reassembly buffer (section 3.4)?
    pub fn freedom(&self) -> Freedom {
        let free = |why: String| Freedom { free: true, why };
        let sizes = self.packet_sizes();
        let segment = self.segment_max.0.max(1);
        // Slots that a packet can hold while a part of it is missing: a slot belongs to the packet
        // with the last byte of its segment, and a packed segment begins anywhere in a packet.
        let held = |size: u64| {
            if self.pack { (size - 1).div_ceil(segment) } else { size.div_ceil(segment) - 1 }
        };
        let held = sizes.iter().copied().map(held).max().unwrap_or(0);
        let (g, most) = (self.requests_max, self.grant_max.unwrap_or(u32::MAX));
        let needed = match (self.fair, self.whole_requests) {
            (true, _) => g,
            (false, true) => most.min(g),
            (false, false) => 1,
        };
        let fabric = match self.admission {
            Admission::ReserveFabricBuffers { slots } => slots,
            _ => u32::MAX,
        };
        for (key, slots) in [("output_slots", self.output_slots), ("fabric_slots", fabric)] {
            if slots < needed {
                let why = format!(
                    "a grant may need {needed} slots, and there are never so many: {key} {slots}"
                );
                return Freedom { free: false, why };
            }
        }
        if held == 0 {
            return free("no packet has more than one segment".into());
        }
        if self.whole_requests && most >= g {
            return free(
                "an output grants all that an input has requested, and a request ends with a packet"
                    .into(),
            );
        }
        let counts: BTreeSet<u64> = sizes.iter().map(|size| size.div_ceil(segment)).collect();
        if let (true, Some(&k), 1) =
            (self.whole_requests && !self.pack && !self.unsolicited, counts.first(), counts.len())
            && u64::from(most).is_multiple_of(k)
        {
            return free(format!(
                "an output grants whole packets: each has {k} segments, and a grant has at most {most}"
            ));
        }
        // Every other input holds the most that leaves its packet incomplete.
        let room = u64::from(self.ports()) * held + u64::from(needed);
        let (slots, ports) = (self.output_slots, self.ports());
        let sum = format!("{ports} inputs * {held} + {needed} = {room}");
        if u64::from(slots) >= room {
            return free(format!(
                "incomplete packets of all inputs leave room for a grant: output_slots {slots} >= {sum}"
            ));
        }
        Freedom {
            free: false,
            why: format!(
                "a grant may end within a packet, and incomplete packets can fill the reassembly buffer of an output: output_slots {slots} < {sum}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::host::{HostFlow, Hosts};
    use crate::scheduled::shape::{End, Shape};
    use crate::scheduled::traffic::{Arrival, Traffic};
    use crate::scheduled::world::World;
    use std::ops::ControlFlow;
    use xoff_units::{Bytes, Time};

    /// A packet of 6 segments from each of 8 inputs for one output, which grants segment by segment.
    fn incast(output_slots: u32) -> Config {
        let packets = (0..8).map(|input| Arrival {
            at: Time(1_000 + u64::from(input)),
            input,
            output: 7,
            size: Bytes(6 * 256),
        });
        let mut c = Config::paper(Traffic {
            pattern: Pattern::Listed { packets: packets.collect(), hot: vec![] },
            load: 0.0,
            sizes: Sizes::Fixed(Bytes(256)),
            burst_packets: 1.0,
        });
        c.core = crate::scheduled::Core::Network(Shape::benes(2, 5));
        (c.whole_requests, c.fair, c.unsolicited, c.pack) = (false, false, false, false);
        (c.grant_max, c.admission) = (Some(1), Admission::ImplicitRate);
        (c.output_slots, c.requests_max, c.warm_up) = (output_slots, 6, Time::ZERO);
        c.until = Time(4_000 * c.t_min().0);
        c
    }

    /// Each of 8 inputs can hold 5 slots: 41 are enough, whatever the order of grants, and 40 are
    /// not.
    #[test]
    fn room_for_all_incomplete_packets_is_enough_and_less_can_deadlock() {
        let stuck = |c: &Config| {
            let r = World::new(c.clone()).unwrap().run(&mut |_, _| ControlFlow::Continue(()));
            r.stuck.is_some()
        };
        for (slots, free) in [(41, true), (40, false)] {
            let c = incast(slots);
            assert_eq!((c.freedom().free, stuck(&c)), (free, !free), "{slots}");
        }
        let whole = Config { whole_requests: true, grant_max: None, ..incast(40) };
        assert!(whole.freedom().free && !stuck(&whole));
        let never = Config { requests_max: 48, ..whole };
        assert!(!never.freedom().free, "a grant may need 48 of 40 slots");
        let packets = Config { whole_requests: true, grant_max: Some(6), ..incast(40) };
        assert!(packets.freedom().free && !stuck(&packets));
        let unsolicited = Config { requests_max: 12, unsolicited: true, ..packets.clone() };
        assert!(!unsolicited.freedom().free, "six of two times five segments are no packet");
        assert!(Config { requests_max: 12, ..packets }.freedom().free, "one packet of two");
        let line = xoff_units::Rate::from_gbps(100);
        let (start, stop) = (Time::ZERO, Time::from_us(1));
        let flow = HostFlow { source: 0, destinations: vec![1], rate: line, start, stop };
        let frames = Hosts::unbiased_qcn(vec![flow], None);
        assert!(Config::unbiased_qcn_rack(128, line, frames).freedom().free);
    }

    /// Queues before links wait for each other along paths, from all inputs to all outputs over all
    /// paths, and never in a circle.
    #[test]
    fn the_queues_of_elements_have_an_order() {
        let shapes = [
            Shape::benes(4, 3),
            Shape::benes(2, 5),
            Shape { folded: true, ..Shape::benes(2, 5) },
            Shape { above: 3, ..Shape::benes(2, 3) },
        ];
        for shape in shapes {
            let places = shape.places();
            let mut waits: BTreeSet<[(u32, u32); 2]> = BTreeSet::new();
            for source in 0..shape.ports() {
                for destination in 0..shape.ports() {
                    for path in 0..shape.paths() {
                        let (mut end, mut before) = (shape.entry(source), None);
                        while let End::Element { element, .. } = end {
                            let place = places[element as usize];
                            let output = shape.output(place, destination, path);
                            waits.extend(before.map(|before| [before, (element, output)]));
                            before = Some((element, output));
                            end = shape.next(place, output);
                        }
                        assert_eq!(end, End::Port(destination));
                    }
                }
            }
            // Takes queues away that wait for none, until none is left.
            while let Some(&[_, last]) = waits.iter().find(|w| waits.iter().all(|o| o[0] != w[1])) {
                waits.retain(|w| w[1] != last);
            }
            assert!(waits.is_empty(), "{shape:?}: {waits:?}");
        }
    }
}

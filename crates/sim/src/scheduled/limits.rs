//! Largest load that a fabric can carry if its units are larger than the packets: grants, slots and
//! links count segments, even if a segment is nearly empty.
//!
//! ```text
//!   segment_max   |<---------------- 1522 B ---------------->|   time of a grant, one slot of each buffer
//!   packet        |## 256 B ##|                              |   its payload, unless segments are packed
//! ```
//!
//! Each limit is an upper bound on the rate of one output. Where one is below the load, the
//! workload never gets through, and the error names it, with the numbers.

use xoff_mech::scheduled::request_grant::Admission;
use xoff_units::{Bytes, Rate, Span};

use crate::scheduled::config::{Config, Control, Core, Problem};
use crate::scheduled::traffic::{Pattern, Sizes};

/// Packets of a workload as segments, on average.
struct Cut {
    /// Load of an output, as a share of its line.
    load: f64,
    /// Size of a packet [bytes].
    packet: f64,
    /// Number of its segments.
    segments: f64,
    /// Bytes that they take on a link [bytes].
    on_link: f64,
}

/// An upper bound on the throughput of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Key that sets it, as scenarios name it.
    pub key: &'static str,
    /// The share of the line.
    pub share: f64,
    /// Load of an output by the workload, as a share of its line.
    pub load: f64,
    /// Formula and numbers.
    pub how: String,
    /// Remedy where the bound is below the load.
    pub hint: &'static str,
}

impl Config {
    /// Links that a segment passes on the longest path.
    pub(crate) fn links(&self) -> u64 {
        match self.core {
            Core::Network(shape) => u64::from(shape.stages()) + 1,
            Core::Spine { .. } => 2,
            Core::Ideal { .. } => 1,
        }
    }

    /// From a grant to the head of its segment at the output, at least [ps].
    fn slot_time(&self) -> Span {
        let there = match self.control {
            Control::OutOfBand { delay } => delay,
            Control::InBand { alone } | Control::Lane { alone } => {
                self.link_delay * self.links() + self.fabric.time_for(alone)
            }
        };
        there + self.link_delay * self.links()
    }

    fn cut(&self, load: f64, sizes: &[(Bytes, f64)]) -> Cut {
        let mut cut = Cut { load, packet: 0.0, segments: 0.0, on_link: 0.0 };
        for &(size, share) in sizes.iter().filter(|(size, _)| size.0 > 0) {
            let (whole, rest) =
                (size.0 / self.segment_max.0.max(1), size.0 % self.segment_max.0.max(1));
            let on_link = whole * self.segment_max.0
                + if rest > 0 { rest.max(self.segment_min.0) } else { 0 };
            cut.packet += share * size.0 as f64;
            cut.segments += share * (whole + u64::from(rest > 0)) as f64;
            cut.on_link += share * on_link as f64;
        }
        cut
    }

    /// Demands of the workloads on an output: frames of hosts, and packets of the background.
    fn cuts(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        if let Some(h) = self.hosts.as_ref().filter(|h| !h.flows.is_empty()) {
            let share = h.frame.0 as f64 / (h.frame + h.overhead).0 as f64;
            let most = |o: u32| {
                h.flows
                    .iter()
                    .filter(|f| f.destinations.contains(&o))
                    .map(|f| f.rate.as_f64())
                    .sum::<f64>()
            };
            let asked = (0..self.ports()).map(most).fold(0.0, f64::max) / self.line.as_f64();
            cuts.push(self.cut(asked.min(1.0) * share, &[(h.frame, 1.0)]));
        }
        let t = &self.traffic;
        match (&t.pattern, t.sizes) {
            (Pattern::Streams(streams), _) => {
                cuts.extend(streams.iter().map(|s| self.cut(s.load, &[(s.size, 1.0)])))
            }
            (Pattern::Listed { .. }, _) => {}
            (_, Sizes::Fixed(size)) => cuts.push(self.cut(t.load, &[(size, 1.0)])),
            (_, Sizes::Bimodal { small, large, small_share }) => {
                cuts.push(self.cut(t.load, &[(small, small_share), (large, 1.0 - small_share)]));
            }
        }
        cuts.retain(|c| c.packet > 0.0 && c.load > 0.0);
        cuts
    }

    /// The limits on packets that are cut like this, each as a share of the line.
    fn limits_on(&self, cut: &Cut) -> Vec<Limit> {
        let line = self.line.as_f64();
        let (packet, segments) = (cut.packet, cut.segments);
        let grants = self.grant_rate.as_f64() * packet / (segments * self.segment_max.0 as f64);
        let uplinks = match self.core {
            Core::Spine { edge_ports, spines, .. } => f64::from(spines) / f64::from(edge_ports),
            _ => 1.0,
        };
        let mut limits = vec![
            Limit {
                key: "segment_max",
                load: cut.load,
                share: grants / line,
                how: format!(
                    "grant_rate * packet / (segments * segment_max) = {} * {packet:.0} B / ({segments:.3} * {} B): a grant takes the time of \
                     a largest segment",
                    self.grant_rate, self.segment_max.0
                ),
                hint: "use a segment_max near the size of the packets, or pack = true",
            },
            Limit {
                key: "segment_min",
                load: cut.load,
                share: self.fabric.as_f64() * uplinks * packet / cut.on_link / line,
                how: format!(
                    "links * packet / bytes on a link = {} * {packet:.0} B / {:.0} B: segments are filled up to segment_min, {} B",
                    Rate((self.fabric.as_f64() * uplinks) as u64),
                    cut.on_link,
                    self.segment_min.0
                ),
                hint: "use a smaller segment_min, faster links, or pack = true",
            },
        ];
        let mut slots = |key, slots: u32, time: Span, what: &str| {
            let rate = f64::from(slots) * packet / segments * 8e12 / time.0.max(1) as f64;
            limits.push(Limit {
                key,
                load: cut.load,
                share: rate / line,
                how: format!(
                    "{key} * packet / segments / time = {slots} * {packet:.0} B / {segments:.3} / {time}: a segment takes a slot {what}, \
                     however short it is"
                ),
                hint: "use more slots, or a segment_max near the size of the packets",
            });
        };
        // To its last bit: one of them is on a link at full length.
        let time = self.slot_time() + self.fabric.time_for(Bytes((cut.on_link / segments) as u64));
        if let Admission::ReserveFabricBuffers { slots: reserved } = self.admission {
            slots("fabric_slots", reserved, time, "from its grant to its arrival");
        }
        slots("output_slots", self.output_slots, time, "from its grant until its packet leaves");
        limits.extend(self.credits_of_a_link(cut, uplinks));
        limits
    }

    /// A link sends as much as the queue behind it has room for, and again when that room has been
    /// reported free. An ideal core has no such queues.
    fn credits_of_a_link(&self, cut: &Cut, uplinks: f64) -> Option<Limit> {
        if matches!(self.core, Core::Ideal { .. }) {
            return None;
        }
        let room = self.element.input;
        let there_and_back = self.link_delay
            + self.fabric.time_for(Bytes((cut.on_link / cut.segments) as u64))
            + self.credit_delay;
        let rate = room.0 as f64 * 8e12 / there_and_back.0.max(1) as f64;
        // Packed segments carry nothing but packets.
        let useful = if self.pack { 1.0 } else { cut.packet / cut.on_link };
        Some(Limit {
            key: "input",
            load: cut.load,
            share: rate * uplinks * useful / self.line.as_f64(),
            how: format!(
                "links * input / (link_delay + segment + credit_delay) = {uplinks} * {} B / {there_and_back}: the queue after a link is \
                 filled once per round trip",
                room.0
            ),
            hint: "use a larger input queue, or shorter delays",
        })
    }

    /// Upper bounds on the throughput of an output, for each kind of packets of the workload.
    pub fn limits(&self) -> Vec<Limit> {
        if self.segment_max.0 == 0 || self.line.0 == 0 {
            return Vec::new();
        }
        // Segments that carry several packets are full where it matters.
        let counts = |l: &Limit| !self.pack || l.key == "input";
        let mut found: Vec<Limit> = Vec::new();
        for l in self.cuts().iter().flat_map(|cut| self.limits_on(cut)).filter(counts) {
            if !found.contains(&l) {
                found.push(l);
            }
        }
        found
    }

    /// Limits below the load: the workload does not get through, whatever happens. Each as the
    /// inequality that fails.
    pub fn warnings(&self) -> Vec<Problem> {
        let below = self.limits().into_iter().filter(|l| l.share < l.load);
        let problem = |l: Limit| Problem {
            key: l.key,
            what: format!(
                "an output gets at most {:.3} of its line, but the load is {:.3}: {}",
                l.share, l.load, l.how
            ),
            hint: l.hint.into(),
        };
        below.map(problem).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::host::Hosts;
    use crate::scheduled::traffic::Traffic;
    use crate::scheduled::world::World;
    use std::ops::ControlFlow;
    use xoff_units::Time;

    const LINE: Rate = Rate::from_gbps(100);

    fn fabric(rack: bool, size: u64, load: f64) -> Config {
        let hosts = Hosts::unbiased_qcn(Vec::new(), None);
        let c = if rack {
            Config::unbiased_qcn_rack(2, LINE, hosts)
        } else {
            Config::unbiased_qcn_ideal(8, LINE, hosts)
        };
        let traffic = Traffic {
            pattern: Pattern::Uniform,
            load,
            sizes: Sizes::Fixed(Bytes(size)),
            burst_packets: 1.0,
        };
        Config {
            traffic,
            hosts: None,
            warm_up: Time::from_us(100),
            until: Time::from_us(400),
            window: Span::from_us(10),
            ..c
        }
    }

    fn carried(c: &Config) -> f64 {
        let r = World::new(c.clone()).unwrap().run(&mut |_, _| ControlFlow::Continue(()));
        let bytes: u64 = r.delivered.iter().sum();
        bytes as f64 / (f64::from(c.ports()) * LINE.bytes_in(c.until.since(c.warm_up)).0 as f64)
    }

    /// A fabric carries its load where no limit is below it, and the smallest limit where one is:
    /// the bound is one, and near.
    #[test]
    fn a_warning_comes_where_the_load_is_not_carried() {
        let reserve =
            |c: Config, slots| Config { admission: Admission::ReserveFabricBuffers { slots }, ..c };
        let with_input = |c: Config, input| Config {
            element: crate::scheduled::ElementConfig { input: Bytes(input), ..c.element },
            ..c
        };
        let cases = [
            (fabric(false, 256, 0.8), Some(("segment_max", 0.01))),
            (fabric(false, 256, 0.2), None),
            (fabric(false, 1522, 0.8), None),
            // Segments are full only once something waits: that takes a while.
            (
                Config {
                    pack: true,
                    warm_up: Time::from_us(500),
                    until: Time::from_us(900),
                    ..fabric(false, 256, 0.8)
                },
                None,
            ),
            (fabric(true, 64, 0.8), Some(("segment_max", 0.01))),
            (fabric(true, 256, 0.8), None),
            (with_input(fabric(true, 256, 0.8), 256), Some(("input", 0.2))),
            (with_input(fabric(true, 256, 0.8), 4_096), None),
            (reserve(fabric(false, 256, 0.8), 5), Some(("fabric_slots", 0.05))),
            (reserve(fabric(false, 1522, 0.8), 50), None),
            (Config { output_slots: 5, ..fabric(false, 256, 0.8) }, Some(("output_slots", 0.05))),
            (
                Config {
                    segment_min: Bytes(256),
                    segment_max: Bytes(256),
                    fabric: LINE,
                    grant_rate: Rate(LINE.0 * 8),
                    ..fabric(false, 64, 0.8)
                },
                Some(("segment_min", 0.05)),
            ),
        ];
        for (nth, (c, expected)) in cases.into_iter().enumerate() {
            let (warnings, share) = (c.warnings(), carried(&c));
            let limit = c
                .limits_on(&c.cuts()[0])
                .into_iter()
                .min_by(|a, b| a.share.total_cmp(&b.share))
                .unwrap();
            match expected {
                None => assert!(
                    warnings.is_empty() && (share - c.traffic.load).abs() < 0.03,
                    "{nth}: {share} {warnings:?}"
                ),
                Some((key, near)) => {
                    assert_eq!(limit.key, key, "{nth}: {share} {warnings:?}");
                    assert!(warnings.iter().any(|w| w.key == key), "{warnings:?}");
                    assert!(
                        share <= limit.share * 1.01 && share > limit.share * (1.0 - near),
                        "{share} of {}: {}",
                        limit.share,
                        limit.how
                    );
                }
            }
        }
    }

    /// Room of one segment, reported free after 100 ns there, 82 ns of its own and 100 ns back;
    /// with packing as well.
    #[test]
    fn room_behind_a_link_is_used_once_per_round_trip() {
        let c = fabric(true, 256, 0.8);
        let c = Config {
            element: crate::scheduled::ElementConfig { input: Bytes(256), ..c.element },
            ..c
        };
        for pack in [false, true] {
            let w = Config { pack, ..c.clone() }.warnings();
            let w = w.iter().find(|w| w.key == "input").expect("a warning");
            let how = "an output gets at most 0.465 of its line, but the load is 0.800: links * input / (link_delay + segment + credit_delay) \
                       = 6.4 * 256 B / 281.92 ns";
            assert!(w.what.starts_with(how), "{}", w.what);
        }
        assert!(
            Config {
                element: crate::scheduled::ElementConfig { input: Bytes(512), ..c.element },
                ..c
            }
            .warnings()
            .is_empty()
        );
    }

    #[test]
    fn the_warning_has_the_inequality_and_its_numbers() {
        let w = &fabric(false, 256, 0.8).warnings()[0];
        assert_eq!(
            (w.key, &w.what[..]),
            (
                "segment_max",
                "an output gets at most 0.269 of its line, but the load is 0.800: grant_rate * packet / (segments * segment_max) = \
                 160 Gb/s * 256 B / (1.000 * 1522 B): a grant takes the time of a largest segment"
            )
        );
    }
}

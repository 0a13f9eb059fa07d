//! What a fabric is made of, and which settings cannot work.

use std::sync::Arc;

use xoff_mech::scheduled::request_grant::{Admission, GranterParams, Service};
use xoff_net::jobs::Jobs;
use xoff_units::{Bytes, Rate, Span, Time};

use crate::scheduled::element::Arbitration;
use crate::scheduled::host::Hosts;
use crate::scheduled::shape::Shape;
use crate::scheduled::traffic::{Pattern, Sizes, Traffic};

/// Core between the edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Core {
    /// A network of elements; every port has an adapter with one link into it.
    Network(Shape),
    /// Edges with several ports, each wired to every spine by one link; the spines are elements.
    Spine {
        /// Ports of an edge.
        edge_ports: u32,
        /// Edges.
        edges: u32,
        /// Spines: uplinks of an edge.
        spines: u32,
    },
    /// One switch without inner contention: whatever is granted crosses it at once.
    Ideal {
        /// Ports.
        ports: u32,
    },
}

/// A switching element (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementConfig {
    /// Queue of an input, b_in [bytes].
    pub input: Bytes,
    /// Queue of an output, b [bytes].
    pub output: Bytes,
    /// Speed of the crossbar in multiples of the links, L_S / L_F.
    pub speedup: u32,
    /// Choice among inputs.
    pub arbitration: Arbitration,
    /// True if a segment that is forwarded during its arrival occupies its input and output of the
    /// crossbar until its last bit, at the rate of the link. Otherwise it takes its share of the
    /// crossbar, and others pass next to it. Only then does an output get the whole L_S (see the
    /// page of the mechanism).
    pub holds: bool,
    /// A buffered crossbar in place of the two queues: this much at each crosspoint, and room
    /// behind a link is kept by crosspoint; none: an element of two queues [bytes].
    pub crosspoint: Option<Bytes>,
}

impl ElementConfig {
    /// True if an input keeps a queue for each output.
    pub(crate) fn keeps_queues_by_output(&self) -> bool {
        self.arbitration == Arbitration::Islip || self.crosspoint.is_some()
    }
}

/// Transport of requests, grants and ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// In the headers of segments, or alone.
    InBand {
        /// Length of a stand-alone control segment [bytes].
        alone: Bytes,
    },
    /// In a lane of the links that data never blocks: each message alone, before data at each link,
    /// without credits. A blocked output takes control.
    Lane {
        /// Length of a control segment [bytes].
        alone: Bytes,
    },
    /// Out of band, without cost in bandwidth.
    OutOfBand {
        /// From adapter to adapter [ps].
        delay: Span,
    },
}

/// Over which of its paths a flow sends its next segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spray {
    /// The next one, from a random one on: each path of a flow carries the same number of segments
    /// (section 3.2).
    #[default]
    RoundRobin,
    /// Any.
    Random,
    /// The next one in an order that each flow has drawn for itself: evenly as in round robin, but
    /// no two flows are in step (sections 2.1 and 3.2).
    Permuted,
    /// Always the same, by flow. Not what the theorem asks for: to see what then happens.
    PerFlow,
}

/// Path of the next control segment that travels alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlPath {
    /// The next one of the flow that it travels with, whose next segment then takes the one after
    /// it.
    #[default]
    Shared,
    /// The next path of a separate counter: the counter of the data is unaffected.
    Own,
}

/// Outputs whose receiver takes nothing for a while (section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Numbers of the outputs.
    pub outputs: Vec<u32>,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// A fabric and its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Core between the edges.
    pub core: Core,
    /// External lines, L [bit/s].
    pub line: Rate,
    /// Links of the fabric, L_F [bit/s].
    pub fabric: Rate,
    /// From the start of a segment on a link to its head in the buffer behind it [ps].
    pub link_delay: Span,
    /// From freed room to the sender that may use it [ps].
    pub credit_delay: Span,
    /// From the last segment of a packet to its first bit on the line, if nothing is before it:
    /// what adapters take. Control messages do not take it [ps].
    pub adapter_delay: Span,
    /// In addition on the way from the adapter of each port into the fabric, so that round trips
    /// differ as in Lemma 1; ports beyond the list: none [ps].
    pub port_delays: Vec<Span>,
    /// The elements; unused by an ideal core.
    pub element: ElementConfig,
    /// Smallest and largest segment, min_s and max_s [bytes].
    pub segment_min: Bytes,
    /// Size of the largest segment [bytes].
    pub segment_max: Bytes,
    /// Header of a segment with payload, which its links and queues carry in addition [bytes].
    pub header: Bytes,
    /// Way of control messages.
    pub control: Control,
    /// True if a flow may send one segment without a request (section 2.1).
    pub unsolicited: bool,
    /// Choice of paths.
    pub spray: Spray,
    /// Choice of paths of control segments.
    pub control_path: ControlPath,
    /// Requests, grants and ACKs from a port to itself pass within its adapter, at once and without
    /// cost (section 2.1); otherwise they pass through the fabric like all others.
    pub control_within_adapter: bool,
    /// Admission of segments.
    pub admission: Admission,
    /// Peak rate of grants, L_G [bit/s].
    pub grant_rate: Rate,
    /// Requests that a flow may have pending, G [segments].
    pub requests_max: u32,
    /// Reorder and reassembly buffer, B [segments].
    pub output_slots: u32,
    /// Grants only while G slots are free.
    pub fair: bool,
    /// Requests are granted whole or not at all.
    pub whole_requests: bool,
    /// Choice among inputs.
    pub service: Service,
    /// Most segments of one grant; none: all that was requested.
    pub grant_max: Option<u32>,
    /// True if a segment may carry parts of several packets.
    pub pack: bool,
    /// The workload.
    pub traffic: Traffic,
    /// No packet of the workload comes after this.
    pub traffic_stop: Time,
    /// Jobs whose ranks are at the ports: node n is port n. Not next to hosts.
    pub jobs: Option<Arc<Jobs>>,
    /// Largest packet of a message of a job [bytes].
    pub message_packet: Bytes,
    /// Hosts in front of the ports; none: the workload comes straight into VOQs without limit.
    pub hosts: Option<Hosts>,
    /// Outputs that stop for a while.
    pub blocked: Option<Blocked>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Packets that arrive before this are not measured.
    pub warm_up: Time,
    /// End of the run.
    pub until: Time,
    /// Length of a measurement window.
    pub window: Span,
}

/// A setting that cannot work, as the inequality that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Key of the setting, as scenarios name it.
    pub key: &'static str,
    /// Failed condition, with the numbers.
    pub what: String,
    /// Remedy.
    pub hint: String,
}

impl Config {
    /// Times in the paper are in units of a smallest packet on a line, t_min = 40 B / L.
    pub const T_MIN_BYTES: Bytes = Bytes(40);

    /// The paper's evaluation (section 4): a 64 x 64 three-stage Clos network of 8 x 8 elements,
    /// segments of 40 to 256 B, input queues of 8 KiB and output queues of 60 KiB (the paper's text
    /// swaps the numbers of slots), G = 50, 4 Mbit of reassembly, a scheduling round trip of 55 and
    /// a switch-to-switch round trip of 13 t_min. The rate of the lines is free: results are in
    /// t_min. Reserving fabric-output buffers, no speed-up.
    pub fn paper(traffic: Traffic) -> Config {
        Config::paper_at(Rate::from_gbps(100), traffic)
    }

    /// [`Config::paper`] with lines of another rate.
    pub fn paper_at(line: Rate, traffic: Traffic) -> Config {
        let t_min = line.time_for(Config::T_MIN_BYTES).0;
        Config {
            core: Core::Network(Shape::benes(8, 3)),
            line,
            fabric: line,
            // Four links and half a t_min for a control segment on the last make half a scheduling
            // round trip: 27.5.
            link_delay: Span(t_min) * 27 / 4,
            credit_delay: Span(t_min) * 25 / 4,
            adapter_delay: Span(t_min) * 3 / 2,
            port_delays: Vec::new(),
            element: ElementConfig {
                input: Bytes(8 << 10),
                output: Bytes(60 << 10),
                speedup: 2,
                arbitration: Arbitration::RoundRobin,
                holds: false,
                crosspoint: None,
            },
            segment_min: Bytes(40),
            segment_max: Bytes(256),
            header: Bytes::ZERO,
            control: Control::InBand { alone: Bytes(20) },
            unsolicited: true,
            spray: Spray::RoundRobin,
            control_path: ControlPath::Shared,
            control_within_adapter: false,
            admission: Admission::ReserveFabricBuffers { slots: 240 },
            grant_rate: line * 10,
            requests_max: 50,
            output_slots: 2_048,
            fair: true,
            whole_requests: true,
            service: Service::BySegments,
            grant_max: None,
            pack: true,
            traffic,
            traffic_stop: Time::NEVER,
            jobs: None,
            message_packet: Bytes(1_500),
            hosts: None,
            blocked: None,
            seed: 1,
            warm_up: Time((Span(t_min) * 20_000).0),
            until: Time((Span(t_min) * 100_000).0),
            window: Span(t_min) * 1_000,
        }
    }

    /// The server-rack fabric of Unbiased QCN as one ideal switch: a VOQ switch with 150 KB at each
    /// output, frames granted one by one in a circle and carried at 1.6 times the line (the
    /// over-provisioning of 8:5), 0.78 us from input to output at 100 Gb/s.
    pub fn unbiased_qcn_ideal(ports: u32, line: Rate, hosts: Hosts) -> Config {
        let frame = hosts.frame;
        Config {
            core: Core::Ideal { ports },
            fabric: line * 8 / 5,
            grant_rate: line * 8 / 5,
            link_delay: Span::from_ns(400),
            adapter_delay: Span::ZERO,
            segment_min: Bytes(64),
            segment_max: frame,
            control: Control::OutOfBand { delay: Span::from_ns(150) },
            output_slots: (150_000 / frame.0) as u32,
            grant_max: Some(1),
            ..Config::unbiased_qcn_common(line, hosts)
        }
    }

    /// The server-rack fabric of Unbiased QCN as it is built: 32 spines, edges of five ports, links
    /// of a quarter of a line, segments of 256 B of one frame each, put together at the output
    /// edge. 128 edges make its 640 ports.
    pub fn unbiased_qcn_rack(edges: u32, line: Rate, hosts: Hosts) -> Config {
        let segment = Bytes(256);
        let per_frame = hosts.frame.0.div_ceil(segment.0) as u32;
        Config {
            core: Core::Spine { edge_ports: 5, edges, spines: 32 },
            fabric: Rate(line.0 / 4),
            // An edge gives a port all 32 links: 8 times a line; an output takes 1.6.
            grant_rate: line * 8 / 5,
            link_delay: Span::from_ns(100),
            credit_delay: Span::from_ns(100),
            adapter_delay: Span::from_ns(100),
            segment_min: Bytes(64),
            segment_max: segment,
            control: Control::InBand { alone: Bytes(20) },
            output_slots: (150_000 / segment.0) as u32,
            grant_max: Some(per_frame),
            ..Config::unbiased_qcn_common(line, hosts)
        }
    }

    fn unbiased_qcn_common(line: Rate, hosts: Hosts) -> Config {
        let traffic = Traffic {
            pattern: Pattern::Uniform,
            load: 0.0,
            sizes: Sizes::Fixed(hosts.frame),
            burst_packets: 1.0,
        };
        Config {
            line,
            element: ElementConfig {
                input: Bytes(8 << 10),
                output: Bytes(8 << 10),
                speedup: 2,
                arbitration: Arbitration::RoundRobin,
                holds: false,
                crosspoint: None,
            },
            unsolicited: false,
            admission: Admission::ImplicitRate,
            requests_max: 192,
            fair: false,
            service: Service::RoundRobin,
            pack: false,
            warm_up: Time::ZERO,
            until: Time(Span::from_ms(300).0),
            window: Span::from_ms(1),
            hosts: Some(hosts),
            ..Config::paper(traffic)
        }
    }

    /// t_min [ps].
    pub fn t_min(&self) -> Span {
        self.line.time_for(Config::T_MIN_BYTES)
    }

    /// Ports of the fabric.
    pub fn ports(&self) -> u32 {
        match self.core {
            Core::Network(shape) => shape.ports(),
            Core::Spine { edge_ports, edges, .. } => edge_ports * edges,
            Core::Ideal { ports } => ports,
        }
    }

    /// Outputs that the workload overloads.
    pub fn hot_outputs(&self) -> Vec<bool> {
        let hot = |p: u32| match &self.traffic.pattern {
            Pattern::Hotspots { outputs, .. } | Pattern::HotspotsBeside { outputs, .. } => {
                outputs.contains(&p)
            }
            Pattern::Incast { output, .. } => *output == p,
            Pattern::Listed { hot, .. } => hot.contains(&p),
            Pattern::Uniform | Pattern::Unbalanced { .. } | Pattern::Streams(_) => false,
        };
        (0..self.ports()).map(hot).collect()
    }

    /// From a request to the first segment that it allows, on an empty fabric [ps].
    pub fn round_trip(&self) -> Span {
        match self.control {
            Control::OutOfBand { delay } => delay * 2,
            Control::InBand { alone } | Control::Lane { alone } => {
                (self.link_delay * self.links() + self.fabric.time_for(alone)) * 2
            }
        }
    }

    pub(crate) fn granter(&self) -> GranterParams {
        GranterParams {
            inputs: self.ports(),
            admission: self.admission,
            segment_time: self.grant_rate.time_for(self.segment_max),
            output_slots: self.output_slots,
            requests_max: self.requests_max,
            fair: self.fair,
            whole_requests: self.whole_requests,
            service: self.service,
            grant_max: self.grant_max.unwrap_or(u32::MAX),
        }
    }

    /// All settings that cannot work.
    #[expect(
        clippy::too_many_lines,
        reason = "a list: one condition an item, none depends on another"
    )]
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if let Some(p) = self.too_large() {
            return vec![p]; // the rest counts ports and paths
        }
        let mut require = |holds: bool, key, what: String, hint: String| {
            if !holds {
                found.push(Problem { key, what, hint });
            }
        };
        let message = self.jobs.as_ref().map_or(Bytes::ZERO, |_| self.message_packet);
        let packet = self.traffic.packet_max().max(message).0;
        let segment = self.segment_max.0.max(1);
        let longest = self.segment_max + self.header;
        let per_packet = packet.div_ceil(segment);
        require(
            u64::from(self.requests_max) >= per_packet,
            "requests_max",
            format!(
                "requests_max >= packet / segment_max: {} < {packet} B / {segment} B = {per_packet}",
                self.requests_max
            ),
            "a packet that cannot be requested whole is never sent".into(),
        );
        if self.whole_requests
            && let Some(most) = self.grant_max
        {
            require(
                u64::from(most) >= per_packet,
                "grant_max",
                format!(
                    "grant_max >= packet / segment_max where requests are granted whole: {most} < {packet} B / {segment} B = {per_packet}"
                ),
                "a partly granted packet can fill the reassembly buffer and wait forever; to study this case, set whole_requests = false"
                    .into(),
            );
        }
        let round_trip = self.line.bytes_in(self.round_trip()).0.div_ceil(segment);
        require(
            u64::from(self.output_slots) >= per_packet + round_trip,
            "output_slots",
            format!(
                "output_slots >= largest packet + one round trip of segments: {} < {per_packet} + {round_trip}",
                self.output_slots
            ),
            format!("expected at least {}", per_packet + round_trip),
        );
        if self.fair {
            require(
                self.output_slots >= self.requests_max,
                "output_slots",
                format!(
                    "output_slots >= requests_max: {} < {}",
                    self.output_slots, self.requests_max
                ),
                "expected at least requests_max: grants wait until that many slots are free".into(),
            );
            if let Admission::ReserveFabricBuffers { slots } = self.admission {
                require(
                    slots >= self.requests_max,
                    "fabric_slots",
                    format!("fabric_slots >= requests_max: {slots} < {}", self.requests_max),
                    "expected at least requests_max: grants wait until that many slots are free"
                        .into(),
                );
            }
        }
        require(
            self.element.crosspoint.is_none() || !matches!(self.control, Control::Lane { .. }),
            "control_lane",
            "control_lane with crosspoint: a buffered crossbar has no lane for control".into(),
            "remove one of the two".into(),
        );
        if let Some(crosspoint) = self.element.crosspoint {
            require(
                matches!(self.core, Core::Network(_)) && self.spray != Spray::Random,
                "crosspoint",
                "a buffered crossbar needs a network of several stages and paths that adapters know before they send a segment".into(),
                "use a Clos network or a fat tree, without spray = random".into(),
            );
            require(
                crosspoint >= longest,
                "crosspoint",
                format!("crosspoint >= segment_max + header: {} B < {} B", crosspoint.0, longest.0),
                "expected room for at least one segment".into(),
            );
        }
        if let Admission::ReserveFabricBuffers { slots } = self.admission
            && !matches!(self.core, Core::Ideal { .. })
        {
            // Of a buffered crossbar an output has all its crosspoints.
            let room = match (self.element.crosspoint, self.core) {
                (Some(crosspoint), Core::Network(shape)) => {
                    crosspoint.0 * u64::from(shape.last_inputs())
                }
                _ => self.element.output.0,
            };
            require(
                u64::from(slots) * segment <= room,
                "fabric_slots",
                format!(
                    "fabric_slots * segment_max <= output queue: {slots} * {segment} B = {} B > {room} B",
                    u64::from(slots) * segment
                ),
                "expected no more reserved room than the queue has".into(),
            );
        }
        match self.core {
            Core::Network(s) => require(
                s.above >= s.below && s.below > 0 && s.middle > 0,
                "above",
                format!(
                    "paths up >= ports below for a network that does not block (Slepian and Duguid): {} < {}",
                    s.above, s.below
                ),
                format!("use at least {} elements above", s.below),
            ),
            Core::Spine { edge_ports, spines, .. } => require(
                u128::from(spines) * u128::from(self.fabric.0)
                    >= u128::from(edge_ports) * u128::from(self.line.0),
                "spines",
                format!(
                    "spines * fabric >= edge_ports * line for a network that does not block: {spines} * {} < {edge_ports} * {}",
                    self.fabric, self.line
                ),
                "use more spines, or faster links to them".into(),
            ),
            Core::Ideal { .. } => {}
        }
        if !matches!(self.core, Core::Ideal { .. }) {
            require(
                self.element.input >= longest && self.element.output >= longest,
                "element",
                format!(
                    "queues of an element >= segment_max + header: {} and {} B, {} B",
                    self.element.input.0, self.element.output.0, longest.0
                ),
                "expected room for at least one segment".into(),
            );
            require(
                self.element.speedup > 0,
                "speedup",
                "speedup > 0: the crossbar transfers nothing".into(),
                "expected, for example, 2 (as \
                                                                                                           in the paper)"
                    .into(),
            );
        }
        require(
            self.segment_min <= self.segment_max && self.segment_max.0 > 0,
            "segment_min",
            format!("segment_min <= segment_max: {} B > {segment} B", self.segment_min.0),
            "expected, for example, 40 and 256 B (as in the paper)".into(),
        );
        require(
            self.grant_rate.0 > 0,
            "grant_rate",
            "grant_rate > 0: nothing is ever granted".into(),
            "expected, for example, the rate \
                                                                                                        of the line"
                .into(),
        );
        require(
            self.window.0 > 0,
            "window",
            "window > 0: nothing would be measured".into(),
            "1000 t_min".into(),
        );
        require(
            self.blocked.is_none() || !matches!(self.core, Core::Spine { edge_ports: 2.., .. }),
            "blocked",
            "outputs of an edge with several ports cannot be blocked one by one: their frames share the link".into(),
            "use another core, or edges with one port".into(),
        );
        let ports = self.ports();
        let load = (0..ports).map(|i| self.traffic.input_load(ports, i)).fold(0.0, f64::max);
        require(
            load <= 1.0 + 1e-9,
            "load",
            format!("load of an input <= 1: {load:.3}"),
            "lower `load` or `factor`: hotspots add to the load of every input".into(),
        );
        if let Some(h) = &self.hosts {
            h.problems(self, &mut require);
        }
        let beyond = match &self.traffic.pattern {
            Pattern::Hotspots { outputs, .. } | Pattern::HotspotsBeside { outputs, .. } => {
                outputs.iter().find(|&&o| o >= ports)
            }
            Pattern::Streams(streams) => {
                streams.iter().flat_map(|s| [&s.input, &s.output]).find(|&&p| p >= ports)
            }
            Pattern::Incast { inputs, output } => {
                inputs.iter().chain([output]).find(|&&p| p >= ports)
            }
            Pattern::Listed { packets, hot } => {
                packets.iter().flat_map(|p| [&p.input, &p.output]).chain(hot).find(|&&p| p >= ports)
            }
            Pattern::Uniform | Pattern::Unbalanced { .. } => None,
        };
        if let Some(port) = beyond {
            require(
                false,
                "outputs",
                format!("port < ports: {port} >= {ports}"),
                format!("ports are 0 to {}", ports - 1),
            );
        }
        found
    }
}

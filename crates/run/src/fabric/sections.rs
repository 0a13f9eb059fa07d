//! The sections of a scenario of a scheduled fabric and their keys.

use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_units::params::{Kind, ParamSpec};

use crate::network::jobs::keys::{collective, job};
use crate::network::sections::run::CHECKPOINT;

const RG: &str = "Chrysos et al., request-grant report";

const RUN: &[ParamSpec] = &[
    ParamSpec::new("title", Kind::Text, "", "purpose of the run, one line", ""),
    ParamSpec::new(
        "duration",
        Kind::Span,
        "320us",
        "simulated time",
        "request-grant section 4.1: 100,000 t_min at 100 Gb/s",
    ),
    ParamSpec::new("seed", Kind::Count, "1", "seed of every random stream", ""),
    ParamSpec::new(
        "warm_up",
        Kind::Span,
        "0us",
        "packets that arrive before this time are not measured",
        "",
    ),
    ParamSpec::new(
        "window",
        Kind::Span,
        "3.2us",
        "length of an interval in the table windows",
        "1000 t_min at 100 Gb/s",
    ),
    CHECKPOINT,
];

const COMMON: &[ParamSpec] = &[
    ParamSpec::new(
        "line",
        Kind::Rate,
        "100Gbps",
        "external lines, L",
        "free in request-grant: results are in t_min = 40 B / L",
    ),
    ParamSpec::optional(
        "links",
        Kind::Rate,
        "links of the fabric, L_F; default: line, for a rack line / 4, for an ideal switch 1.6 line",
        RG,
    ),
    ParamSpec::optional(
        "link_delay",
        Kind::Span,
        "from the start of a segment on a link to its head behind it; default: by kind",
        RG,
    ),
    ParamSpec::optional(
        "credit_delay",
        Kind::Span,
        "from freed room to the sender that may use it; default: by kind",
        RG,
    ),
    ParamSpec::optional(
        "adapter_delay",
        Kind::Span,
        "additional delay into an output adapter; default: by kind",
        RG,
    ),
    ParamSpec::optional(
        "port_delays",
        Kind::Texts,
        "additional delay from the adapter of each port into the fabric, [\"0ns\", \"5ns\"]; ports beyond the list: none",
        "request-grant section 2.3: round trips differ",
    ),
    ParamSpec::optional(
        "segment_min",
        Kind::Bytes,
        "smallest segment; default: by kind",
        "request-grant section 4: 40 B",
    ),
    ParamSpec::optional(
        "segment_max",
        Kind::Bytes,
        "largest segment; default: by kind",
        "request-grant section 4: 256 B",
    ),
    ParamSpec::new(
        "header",
        Kind::Bytes,
        "0B",
        "header of a segment with payload, in addition to it on links and in queues",
        "request-grant section 3.2 lists its fields and no size",
    ),
    ParamSpec::optional(
        "pack",
        Kind::Flag,
        "segments may carry parts of several packets; default: by kind",
        "request-grant section 2.1",
    ),
    ParamSpec::optional(
        "unsolicited",
        Kind::Flag,
        "a flow may send one segment without a request; default: by kind",
        "request-grant section 2.1",
    ),
    ParamSpec::new(
        "spray",
        Kind::Choice(&["round-robin", "random", "permuted", "per-flow"]),
        "round-robin",
        "path of the next segment of a flow; permuted: each path once in a random order of the flow, then again",
        "request-grant section 3.2",
    ),
    ParamSpec::new(
        "control_path",
        Kind::Choice(&["shared", "own"]),
        "shared",
        "path of a control segment that travels alone: the next path of its flow, or the next path of a separate counter",
        "not stated in the paper",
    ),
    ParamSpec::new(
        "control_within",
        Kind::Choice(&["fabric", "adapter"]),
        "fabric",
        "way of requests, grants and ACKs from a port to itself: through the fabric, or at once within its adapter",
        "request-grant section 2.1: without having to go through the switching fabric",
    ),
    ParamSpec::optional(
        "control_delay",
        Kind::Span,
        "delay of control messages on separate wires; absent: they travel with the data",
        RG,
    ),
    ParamSpec::new(
        "control_lane",
        Kind::Flag,
        "false",
        "requests, grants and ACKs travel alone in a lane of each link that data never blocks, before data and without credits",
        "not stated in the paper",
    ),
    ParamSpec::new(
        "control_size",
        Kind::Bytes,
        "20B",
        "a control segment that travels alone",
        "request-grant section 3.2",
    ),
];

const CLOS: &[ParamSpec] = &[
    ParamSpec::new(
        "radix",
        Kind::Count,
        "8",
        "ports below an element, n",
        "request-grant section 4",
    ),
    ParamSpec::new("stages", Kind::Count, "3", "stages: an odd number", "request-grant section 4"),
    ParamSpec::optional(
        "above",
        Kind::Count,
        "elements above to which each is wired, m; default: radix",
        "",
    ),
    ParamSpec::optional("middle", Kind::Count, "ports of a middle element; default: radix", ""),
];
const RACK: &[ParamSpec] = &[
    ParamSpec::new("edges", Kind::Count, "128", "edge switches", "RZ 3880 section II-A"),
    ParamSpec::new(
        "edge_ports",
        Kind::Count,
        "5",
        "ports of an edge switch",
        "RZ 3880 section II-A",
    ),
    ParamSpec::new(
        "spines",
        Kind::Count,
        "32",
        "spines: links of an edge switch",
        "RZ 3880 section II-A",
    ),
];
const IDEAL: &[ParamSpec] =
    &[ParamSpec::new("ports", Kind::Count, "16", "ports of the switch", "")];

const ELEMENT: &[ParamSpec] = &[
    ParamSpec::new(
        "input",
        Kind::Bytes,
        "8KiB",
        "queue of an input, b_in",
        "request-grant section 4",
    ),
    ParamSpec::optional(
        "output",
        Kind::Bytes,
        "queue of an output, b; default: 60KiB, in a rack 8KiB",
        "request-grant section 4",
    ),
    ParamSpec::new(
        "speedup",
        Kind::Count,
        "2",
        "crossbar over links, L_S / L_F",
        "request-grant section 3.1",
    ),
    ParamSpec::optional(
        "crosspoint",
        Kind::Bytes,
        "a buffered crossbar in place of input and output queues: the buffer of each crosspoint, with credits of its own",
        "request-grant section 3.1",
    ),
    ParamSpec::new(
        "arbitration",
        Kind::Choice(&["round-robin", "oldest-first", "islip"]),
        "round-robin",
        "choice of an output among inputs; islip has a queue per output at each input",
        "not stated in the paper",
    ),
    ParamSpec::new(
        "holds",
        Kind::Flag,
        "false",
        "a segment that is forwarded during its arrival holds the crossbar until its last bit, at the rate of the link",
        "not stated in the paper",
    ),
];

const ADMISSION: &[ParamSpec] = &[
    ParamSpec::optional(
        "grant_rate",
        Kind::Rate,
        "peak rate of grants, L_G; default: line, with reserved buffers 10 line",
        "request-grant section 4",
    ),
    ParamSpec::optional(
        "requests_max",
        Kind::Count,
        "requests of a flow that may be pending, G, in segments; default: by kind",
        "request-grant section 4: 50",
    ),
    ParamSpec::optional(
        "output_slots",
        Kind::Count,
        "reorder and reassembly buffer, B, in segments; default: by kind",
        "request-grant section 4: 4 Mbit",
    ),
    ParamSpec::optional(
        "grant_max",
        Kind::Count,
        "most segments of one grant; default: by kind, in a Clos all that was requested",
        "",
    ),
    ParamSpec::optional(
        "fair",
        Kind::Flag,
        "grants only while requests_max slots are free; default: by kind",
        "request-grant section 3.3",
    ),
    ParamSpec::new(
        "whole_requests",
        Kind::Flag,
        "true",
        "requests are granted whole or not at all",
        "request-grant section 3.4",
    ),
    ParamSpec::optional(
        "service",
        Kind::Choice(&["round-robin", "by-segments"]),
        "choice among inputs that request; default: by kind",
        "request-grant section 3.3: WRR",
    ),
];
const RESERVE: &[ParamSpec] = &[ParamSpec::optional(
    "fabric_slots",
    Kind::Count,
    "slots of a fabric-output buffer, in segments; default: the output queue of an element",
    "request-grant section 2.4",
)];

const TRAFFIC: &[ParamSpec] = &[
    ParamSpec::new(
        "load",
        Kind::Float,
        "0.5",
        "load of an output that is no hotspot, as a share of its line",
        "",
    ),
    ParamSpec::new("size", Kind::Bytes, "1500B", "size of a packet", ""),
    ParamSpec::optional(
        "large",
        Kind::Bytes,
        "size of the other packets of a bimodal mix",
        "request-grant section 4: 40 B and 9000 B",
    ),
    ParamSpec::new(
        "large_share",
        Kind::Float,
        "0.05",
        "share of packets that are large",
        "request-grant section 4",
    ),
    ParamSpec::new(
        "burst",
        Kind::Float,
        "1",
        "mean number of packets of a burst; 1 is smooth",
        "request-grant section 4: 36",
    ),
    ParamSpec::optional(
        "stop",
        Kind::Span,
        "no packet arrives after this time; default: the run's end",
        "",
    ),
];
const HOTSPOTS: &[ParamSpec] = &[
    ParamSpec {
        key: "outputs",
        kind: Kind::Texts,
        default: None,
        optional: false,
        doc: "overloaded outputs, [\"3\", \"8-15\"]",
        source: "",
        renamed_from: &[],
    },
    ParamSpec::new(
        "factor",
        Kind::Float,
        "2.5",
        "their load, in multiples of a line",
        "request-grant section 4",
    ),
    ParamSpec::new(
        "beside",
        Kind::Flag,
        "false",
        "in addition to the rest: an input may receive more than its line carries",
        "",
    ),
];
const NETWORK: &[ParamSpec] = &[
    ParamSpec::required(
        "scenario",
        Kind::Text,
        "file of the network, in the folder of this file; its seed and duration are those of this run",
    ),
    ParamSpec::optional("settings", Kind::Texts, "settings of it, [\"workload[0].load=0.5\"]", ""),
    ParamSpec::optional(
        "outputs",
        Kind::Texts,
        "outputs that count as hotspots, [\"3\", \"8-15\"]",
        "",
    ),
];
const UNBALANCED: &[ParamSpec] = &[
    ParamSpec::required(
        "w",
        Kind::Float,
        "share of an input's load for one output, 0 to 1; the rest goes to all",
    ),
    ParamSpec::new(
        "shift",
        Kind::Count,
        "0",
        "number of that output minus the number of the input, modulo the ports; 0: an input sends to the output of its number",
        "not stated in the paper",
    ),
];
const INCAST: &[ParamSpec] = &[
    ParamSpec {
        key: "inputs",
        kind: Kind::Texts,
        default: None,
        optional: false,
        doc: "inputs that send, [\"3\", \"8-15\"]",
        source: "",
        renamed_from: &[],
    },
    ParamSpec::required("output", Kind::Count, "output that they send to"),
];

const STREAM: &[ParamSpec] = &[
    ParamSpec {
        key: "inputs",
        kind: Kind::Texts,
        default: None,
        optional: false,
        doc: "inputs that send, [\"3\", \"8-15\"]",
        source: "",
        renamed_from: &[],
    },
    ParamSpec::required("output", Kind::Count, "output that they send to"),
    ParamSpec::required("load", Kind::Float, "load of each of them, as a share of its line"),
    ParamSpec::required("size", Kind::Bytes, "size of a packet"),
];
const PACKET: &[ParamSpec] = &[
    ParamSpec::required("at", Kind::Span, "arrival of its last bit"),
    ParamSpec::required("input", Kind::Count, "number of the input"),
    ParamSpec::required("output", Kind::Count, "number of the output"),
    ParamSpec::required("size", Kind::Bytes, "its size"),
];

const BLOCKED: &[ParamSpec] = &[
    ParamSpec {
        key: "outputs",
        kind: Kind::Texts,
        default: None,
        optional: false,
        doc: "outputs that take nothing, [\"3\", \"8-15\"]",
        source: "",
        renamed_from: &[],
    },
    ParamSpec::required("start", Kind::Span, "start of the time in which they take nothing")
        .renamed_from(&["from"]),
    ParamSpec::required("stop", Kind::Span, "end of that time").renamed_from(&["until"]),
];

const HOSTS: &[ParamSpec] = &[
    ParamSpec::new("frame", Kind::Bytes, "1522B", "length of a frame", "RZ 3880 section II-A"),
    ParamSpec::new(
        "control",
        Kind::Bytes,
        "64B",
        "length of PAUSE and CNM frames",
        "RZ 3880 section II-A",
    ),
    ParamSpec::new(
        "overhead",
        Kind::Bytes,
        "20B",
        "bytes of a frame on a line beyond its length",
        "RZ 3880 section II-A",
    ),
    ParamSpec::new(
        "gap_jitter",
        Kind::Float,
        "0",
        "part by which gaps between frames of a flow are stretched or shortened at random, 0 to 1; 0: evenly paced",
        "not stated in RZ 3880",
    ),
    ParamSpec::new(
        "delay",
        Kind::Span,
        "0.5us",
        "propagation between a host and its port",
        "not stated in RZ 3880",
    ),
    ParamSpec::new(
        "input_buffer",
        Kind::Bytes,
        "150KB",
        "input buffer of a port",
        "RZ 3880 Table I",
    ),
    ParamSpec::new(
        "stop",
        Kind::Bytes,
        "110KB",
        "occupancy at which a port pauses its host, Q_high",
        "RZ 3880 Table I",
    ),
    ParamSpec::new(
        "go",
        Kind::Bytes,
        "44KB",
        "occupancy at which a port resumes its host, Q_low",
        "RZ 3880 Table I",
    ),
    ParamSpec::new(
        "reliable",
        Kind::Flag,
        "false",
        "inputs keep frames until they have left the output",
        "RZ 3880 section IV",
    ),
    ParamSpec::new(
        "edge_delay",
        Kind::Span,
        "1us",
        "a CNM of an output, or an acknowledgement, from edge to edge",
        "not stated in RZ 3880",
    ),
];
const FLOW: &[ParamSpec] = &[
    ParamSpec::required("source", Kind::Count, "port of its host"),
    ParamSpec {
        key: "destinations",
        kind: Kind::Texts,
        default: None,
        optional: false,
        doc: "outputs, [\"3\"]; several: multicast",
        source: "",
        renamed_from: &[],
    },
    ParamSpec::optional(
        "rate",
        Kind::Rate,
        "rate at which it sends if possible; default: the rate of the line",
        "",
    ),
    ParamSpec::new("start", Kind::Span, "0us", "from when", ""),
    ParamSpec::optional("stop", Kind::Span, "until when; default: the end", ""),
];
const LINE_CHANGE: &[ParamSpec] = &[
    ParamSpec::required("at", Kind::Span, "when"),
    ParamSpec::required("port", Kind::Count, "number of the port"),
    ParamSpec::required("rate", Kind::Rate, "rate of its output line from then on"),
];

fn kind(name: &'static str, doc: &'static str, specs: &'static [ParamSpec]) -> KindSpec {
    KindSpec { name, doc, specs: vec![specs] }
}

pub(super) fn run() -> SectionSpec {
    SectionSpec::once("run", "The run itself.", vec![RUN])
}
/// Section that makes a document the scenario of a fabric.
pub(crate) fn fabric() -> SectionSpec {
    SectionSpec::once("scheduled_fabric", "A scheduled switching fabric, instead of [topology].", vec![COMMON]).kinds(
        "kind",
        None,
        vec![
            kind("clos", "Clos or Benes network of any odd number of stages", CLOS),
            kind("fat-tree", "folded Clos network: traffic returns at the first stage that leads to its destination", CLOS),
            kind("rack", "edge switches with several ports, each wired to all spines", RACK),
            kind("ideal", "one switch without inner contention", IDEAL),
        ],
    )
}
pub(super) fn element() -> SectionSpec {
    SectionSpec::once("element", "All switching elements.", vec![ELEMENT])
}
pub(super) fn admission() -> SectionSpec {
    SectionSpec::once("admission", "Admission to the fabric.", vec![ADMISSION]).kinds(
        "kind",
        Some("reserve"),
        vec![
            kind("reserve", "granted segments reserve room in fabric-output buffers", RESERVE),
            kind("implicit", "grants are spaced by the rate of the output", &[]),
        ],
    )
}
pub(super) fn traffic() -> SectionSpec {
    SectionSpec::once("traffic", "Packets from outside the fabric.", vec![TRAFFIC]).kinds(
        "kind",
        Some("none"),
        vec![
            kind("none", "only the packets of [[host_flow]] and [[job]]", &[]),
            kind("uniform", "every output has the same load", &[]),
            kind("hotspots", "some outputs overloaded by all inputs", HOTSPOTS),
            kind("unbalanced", "from uniform (w = 0) to one input per output (w = 1)", UNBALANCED),
            kind("incast", "some inputs to one output", INCAST),
            kind("streams", "each input sends to one output, by [[stream]]", &[]),
            kind("packets", "the packets of [[packet]]", &[]),
            kind("network", "the flows of a network's scenario: port n is its host n, a flow becomes packets of `size`", NETWORK),
        ],
    )
}
pub(super) fn stream() -> SectionSpec {
    SectionSpec::many("stream", "Inputs that send to one output.", vec![STREAM])
}
pub(super) fn packet() -> SectionSpec {
    SectionSpec::many("packet", "A packet.", vec![PACKET])
}
pub(super) fn blocked() -> SectionSpec {
    SectionSpec::once(
        "blocked",
        "Outputs whose receiver accepts no packets for a time.",
        vec![BLOCKED],
    )
}
pub(super) fn hosts() -> SectionSpec {
    SectionSpec::once(
        "hosts",
        "Hosts in front of the ports, with PAUSE. Without hosts, packets arrive directly in the VOQs.",
        vec![HOSTS],
    )
}
pub(super) fn host_flow() -> SectionSpec {
    SectionSpec::many("host_flow", "A flow of a host.", vec![FLOW])
}
pub(super) fn line_change() -> SectionSpec {
    SectionSpec::many("line_change", "A line that changes its rate.", vec![LINE_CHANGE])
}

/// Congestion points and reaction points that a fabric knows.
pub(super) fn congestion_points() -> SectionSpec {
    use xoff_mech::detection::{af_qcn, qcn};
    SectionSpec::once(
        "congestion_points",
        "Congestion points of QCN at the ports of a fabric with hosts.",
        vec![],
    )
    .kinds(
        "kind",
        Some("none"),
        vec![
            kind("none", "PAUSE only", &[]),
            kind("qcn", "802.1Qau, at outputs, at inputs or at both", qcn::PARAMS),
            kind("af-qcn", "AF-QCN: flows above their fair share are cut more", af_qcn::PARAMS),
        ],
    )
}
pub(super) fn reaction_point() -> SectionSpec {
    SectionSpec::once(
        "reaction_point",
        "Rate limiters of hosts.",
        vec![xoff_mech::rate_control::qcn::PARAMS],
    )
}

/// Every section of a scenario of a fabric.
pub fn sections() -> Vec<SectionSpec> {
    vec![
        run(),
        fabric(),
        element(),
        admission(),
        traffic(),
        stream(),
        packet(),
        blocked(),
        hosts(),
        host_flow(),
        line_change(),
        congestion_points(),
        reaction_point(),
        job(),
        collective(),
    ]
}

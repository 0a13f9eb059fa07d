//! The sections of a scenario file and their keys.

use std::sync::LazyLock;

use xoff_net::topology::routing::Routing;
use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_sim::PortProbe;
use xoff_units::params::{Kind, ParamSpec};

pub(crate) const RUN: &[ParamSpec] = &[
    ParamSpec::new("title", Kind::Text, "", "purpose of the run, one line", ""),
    ParamSpec::new("duration", Kind::Span, "20ms", "simulated time", ""),
    ParamSpec::new("seed", Kind::Count, "1", "seed of every random stream", ""),
    ParamSpec::new("stop_when_done", Kind::Flag, "true", "end when all flows are complete", ""),
    ParamSpec::new("stop_on_deadlock", Kind::Flag, "false", "end when a deadlock is found", ""),
    ParamSpec::optional(
        "checkpoint",
        Kind::Text,
        "wall-clock time between two checkpoints, `10min`, from which a killed run can continue (docs/checkpoints.md); default: none",
        "",
    ),
    ParamSpec::new("checks", Kind::Flag, "true", "check invariants: no loss, in-order delivery, conservation of frames", ""),
    ParamSpec::new("deadlock_interval", Kind::Span, "100us", "time between two runs of the deadlock detector; 0 us: off", "")
        .renamed_from(&["watch"]),
    ParamSpec::new(
        "fast_forward",
        Kind::Choice(&["auto", "off"]),
        "auto",
        "a network whose state recurs is advanced by whole periods; never changes a result",
        "",
    ),
];

pub(crate) const ROUTING: &[ParamSpec] = &[
    ParamSpec { key: "kind", ..Routing::PARAM },
    ParamSpec::optional("seed", Kind::Count, "seed of the hashes that choose among several paths; default: that of the run", ""),
];

pub(crate) const FAILURES: &[ParamSpec] = &[
    ParamSpec::optional("links", Kind::Texts, "links that are down, `A1-C1`", ""),
    ParamSpec::new("probability", Kind::Float, "0", "probability with which each link is down, 0 to 1", "GFC section 6.2.3: 0.05"),
    ParamSpec::optional("seed", Kind::Count, "seed of these random draws; default: that of the run", ""),
    ParamSpec::new("host_links", Kind::Flag, "false", "links of hosts may fail too", "GFC section 6.2.3 does not say"),
];

pub(crate) const FAILURE: &[ParamSpec] = &[
    ParamSpec::required("link", Kind::Text, "the link, `A1-C1`"),
    ParamSpec::required(
        "at",
        Kind::Span,
        "time at which it fails, in both directions, for the rest of the run; routes are recomputed at once",
    ),
];

pub(crate) const PAUSE_STORM: &[ParamSpec] = &[
    ParamSpec::required("host", Kind::Text, "host whose NIC keeps pausing its switch, whatever it receives"),
    ParamSpec::new("priority", Kind::Count, "0", "priority that it pauses, 0 to 7", ""),
    ParamSpec::new("start", Kind::Span, "0us", "time of its first message, which is the longest pause that the flow control has", "")
        .renamed_from(&["from"]),
    ParamSpec::optional("stop", Kind::Span, "time of its release; default: the end of the run", "").renamed_from(&["until"]),
    ParamSpec::new("interval", Kind::Span, "100us", "time between two messages", "802.3 Annex 31D: a pause ends after 65,535 quanta"),
];

pub(crate) const SLOW_RECEIVER: &[ParamSpec] = &[
    ParamSpec::required("host", Kind::Text, "host that drains frames slowly"),
    ParamSpec::required("rate", Kind::Rate, "rate at which its NIC drains frames (PCIe, table misses); at most the rate of its link"),
    ParamSpec::optional(
        "buffer",
        Kind::Bytes,
        "memory of the NIC for each priority; default: switch.buffer, the value in the plan of the flow control",
        "",
    ),
    ParamSpec::optional("stalls", Kind::Texts, "times without draining, `FROM+FOR`, such as `100us+20us`", ""),
    ParamSpec::optional(
        "message_rate",
        Kind::Count,
        "largest number of messages (flows) that it completes per second; default: no limit",
        "",
    ),
];

const fn vl_table(key: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec::optional(key, Kind::Texts, doc, "IBA 7.6.9: at most 64 entries")
}

pub(crate) const SWITCH: &[ParamSpec] = &[
    ParamSpec::new(
        "memory",
        Kind::Choice(&["per-ingress", "shared", "pools"]),
        "per-ingress",
        "a fixed buffer per ingress and priority; a shared pool; or pools and profiles as SONiC has them, in [[buffer_pool]] and [[buffer_profile]]",
        "GFC section 6: input buffers",
    ),
    ParamSpec::new(
        "buffer",
        Kind::Bytes,
        "300KB",
        "per-ingress: buffer of each ingress port and priority; shared: the value in the plan of the flow control",
        "GFC section 6.2.2",
    ),
    ParamSpec::new("shared_buffer", Kind::Bytes, "16MiB", "shared: all memory of the switch", "HPCC simulator"),
    ParamSpec::new(
        "alpha_shift",
        Kind::Count,
        "3",
        "shared: an ingress may use the free pool divided by 2^this",
        "HPCC simulator: alpha = 1/8",
    ),
    ParamSpec::new("reserve", Kind::Bytes, "4KiB", "shared: guaranteed to each port before the pool is touched", "HPCC simulator"),
    ParamSpec::optional(
        "headroom",
        Kind::Bytes,
        "shared: memory of each port for frames that arrive after a pause; default: C tau + 1 MTU, as the headroom of pfc",
        "GFC section 4.2, and the frame that passes the limit; docs/mechanisms/pfc.md",
    ),
    ParamSpec::new(
        "discipline",
        Kind::Choice(&["fifo", "round-robin", "drr", "input-fifo"]),
        "fifo",
        "order across ingresses at an egress; decides whether a ring deadlocks",
        "not stated in the papers; see the page egress-disciplines",
    ),
    ParamSpec::new("quantum", Kind::Bytes, "1500B", "drr: bytes an ingress gains per round", ""),
    ParamSpec::new(
        "scheduler",
        Kind::Choice(&["strict", "round-robin", "drr", "vl-arbitration"]),
        "strict",
        "order across priorities at an egress",
        "802.1Q clause 8.6.8; vl-arbitration: IBA 7.6.9",
    ),
    ParamSpec {
        key: "weights",
        kind: Kind::Texts,
        default: None,
        optional: true,
        doc: "drr scheduler: quantum of each priority in use, lowest first, `1500B`; default: 1 MTU each",
        source: "",
        renamed_from: &[],
    },
    vl_table("vl_high", "vl-arbitration: table of high priority, `VL:WEIGHT` each, the weight in units of 64 B; default: empty"),
    vl_table("vl_low", "vl-arbitration: table of low priority, `VL:WEIGHT` each, the weight in units of 64 B; default: empty"),
    ParamSpec::new(
        "vl_high_limit",
        Kind::Count,
        "255",
        "vl-arbitration: bytes that the high table may send before the low table has an opportunity, in units of 4096 B; 0: one packet, 255: no limit",
        "IBA 7.6.9, which has no default",
    ),
    ParamSpec::optional(
        "cut_through",
        Kind::Bytes,
        "bytes of a frame that must have arrived before it is forwarded; default: all of them (store and forward)",
        "TCD section 5.2.2: virtual cut-through",
    ),
];

pub(crate) const HOST: &[ParamSpec] = &[
    ParamSpec::new("frame_max", Kind::Bytes, "1500B", "largest frame on the wire, header included", "GFC section 5.4")
        .renamed_from(&["mtu"]),
    ParamSpec::new(
        "header",
        Kind::Bytes,
        "0B",
        "header bytes of every data frame, whatever the rate control; ideal times include them",
        "",
    ),
    ParamSpec::new(
        "acks",
        Kind::Choice(&["none", "per-frame"]),
        "none",
        "whether receivers acknowledge",
        "GFC section 6: no transport named",
    ),
    ParamSpec::new("ack_len", Kind::Bytes, "64B", "length of an acknowledgement on the wire", ""),
    ParamSpec::optional(
        "ack_priority",
        Kind::Count,
        "priority of acknowledgements, and of CNPs if cnp_priority is absent; default: the priority of the data",
        "",
    ),
    ParamSpec::optional(
        "cnp_priority",
        Kind::Count,
        "priority of CNPs, which no flow may use: it is never paused, and precedes everything but messages of the flow control; acknowledgements of that priority travel in the same way; default: CNPs travel and are paused with acknowledgements, or with the data if there are none",
        "ns3-rdma, qbb-net-device.cc: CNPs share the highest queue with pause frames",
    ),
    ParamSpec::new(
        "connections",
        Kind::Choice(&["per-message", "per-pair"]),
        "per-message",
        "per-message: each message of a workload starts with a new rate control; per-pair: messages from one source to one receiver in one priority share a connection, are sent one at a time, and continue the rate control of the previous message; endless flows, flows with a rate and flows without rate control keep their own",
        "TCD section 5.2.2: multiple I/O messages are sending in one connection",
    ),
    ParamSpec::optional("window", Kind::Bytes, "bytes in flight per flow, needs acknowledgements; default: unlimited", ""),
    ParamSpec::new(
        "recovery",
        Kind::Choice(&["nack", "go-back-n", "selective"]),
        "nack",
        "loss recovery of a source: nack: go back when the receiver reports a gap, and a lost tail stays lost; go-back-n: also by a timer; selective: receivers keep frames ahead of the gap, and the source resends only the missing frames",
        "nack: HPCC simulator; selective: IRN, SIGCOMM 2018",
    ),
    ParamSpec::new("rto", Kind::Span, "320us", "go-back-n, selective: retransmission timer, from the last progress", "IRN: RTO_high"),
    ParamSpec::optional(
        "rto_low",
        Kind::Span,
        "go-back-n, selective: the timer while at most 3 frames of a flow are outstanding, because a Nack may not arrive then; default: `rto`",
        "IRN: RTO_low 100 us, N = 3",
    ),
    ParamSpec::optional(
        "order",
        Kind::Choice(&["strict", "buffer", "count"]),
        "treatment of frames ahead of a gap at the receiver: strict: discard them; buffer: keep them, and deliver them in order; count: deliver them as they arrive; default: strict or buffer, as `recovery` needs",
        "",
    ),
    ParamSpec::new(
        "nack_interval",
        Kind::Span,
        "500us",
        "nack, go-back-n: shortest time between two reports of the same gap",
        "HPCC simulator",
    ),
    ParamSpec::new(
        "obeys",
        Kind::Choice(&["flows", "priorities"]),
        "flows",
        "reaction of a host when flow control pauses single flows: pause those, or all flows of their priority, as a PFC-only NIC does",
        "PFFC slides: Intel X710",
    ),
    ParamSpec::new(
        "pacing",
        Kind::Choice(&["schedule", "gap"]),
        "schedule",
        "effect of a late frame of a flow with its own rate: schedule: the application keeps producing, and late frames are sent as soon as possible; gap: the next frame keeps its distance, so the time is lost",
        "gap: HPCC simulator, rdma-hw.cc:591-598",
    ),
];

pub(crate) const CONTROL_DELAY: &[ParamSpec] = &[
    ParamSpec::new("generation", Kind::Span, "0us", "from the decision to the control queue of the port", ""),
    ParamSpec::new("generation_jitter", Kind::Span, "0us", "uniform addition to it, 0 to this", ""),
    ParamSpec::new(
        "processing",
        Kind::Span,
        "0us",
        "from the arrival of a control frame to its effect, t_r",
        "GFC Eq. (6): up to 3 us in hardware",
    ),
    ParamSpec::new("processing_jitter", Kind::Span, "0us", "uniform addition to it, 0 to this", ""),
];

const SAMPLES: &[ParamSpec] = &[ParamSpec::new("interval", Kind::Span, "0us", "distance between samples; 0 us: none", "")];

/// A key for each probe of ports.
static PORT_PROBES: LazyLock<Vec<ParamSpec>> = LazyLock::new(|| {
    let ports = "ports by name, `H1->S1` or `H1:S1`, or [\"all\"]";
    let key = |p: &PortProbe| ParamSpec::optional(p.key, Kind::Texts, p.about, ports).renamed_from(p.renamed_from);
    xoff_sim::PORT_PROBES.iter().map(key).collect()
});

const PROBES: &[ParamSpec] = &[
    ParamSpec::new("flow_rates", Kind::Flag, "false", "sampled: rate of every flow; on change: rate control's rate", ""),
    ParamSpec::new("causes", Kind::Flag, "false", "flows that fill the buffer whenever a port is paused or slowed down", ""),
];

pub(crate) fn run() -> SectionSpec {
    SectionSpec::once("run", "The run itself.", vec![RUN])
}
pub(crate) fn routing() -> SectionSpec {
    SectionSpec::once("routing", "Routes of frames.", vec![ROUTING])
}
pub(crate) fn failures() -> SectionSpec {
    SectionSpec::once("failures", "Links that are down from the start.", vec![FAILURES])
}
pub(crate) fn failure() -> SectionSpec {
    SectionSpec::many("failure", "A link that fails during the run.", vec![FAILURE])
}
pub(crate) fn pause_storm() -> SectionSpec {
    SectionSpec::many("pause_storm", "A host with a broken NIC.", vec![PAUSE_STORM])
}
pub(crate) fn slow_receiver() -> SectionSpec {
    SectionSpec::many("slow_receiver", "A host that drains frames more slowly than they can arrive.", vec![SLOW_RECEIVER])
}
pub(crate) fn link_errors() -> SectionSpec {
    let kinds = crate::network::link_errors::kinds();
    SectionSpec::many("link_errors", "Links that corrupt frames.", vec![crate::network::link_errors::ERRORS]).kinds(
        "kind",
        Some("bit"),
        kinds,
    )
}
pub(crate) fn link_retry() -> SectionSpec {
    let kinds = xoff_mech::link_retry::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: e.params.to_vec() });
    SectionSpec::once("link_retry", "Links that resend corrupted frames.", vec![]).kinds("kind", Some("none"), kinds.collect())
}
pub(crate) fn switch() -> SectionSpec {
    SectionSpec::once("switch", "All switches.", vec![SWITCH])
}
pub(crate) fn buffer_pool() -> SectionSpec {
    crate::network::buffers::keys::pool()
}
pub(crate) fn buffer_profile() -> SectionSpec {
    crate::network::buffers::keys::profile()
}
pub(crate) fn host() -> SectionSpec {
    SectionSpec::once("host", "All hosts.", vec![HOST])
}
pub(crate) fn transport() -> SectionSpec {
    let kinds = xoff_mech::transport::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: e.params.to_vec() });
    SectionSpec::once("transport", "Transport of every flow.", vec![]).kinds("kind", Some("none"), kinds.collect())
}
pub(crate) fn control_delay() -> SectionSpec {
    SectionSpec::once("control_delay", "Delays of flow control messages inside nodes.", vec![CONTROL_DELAY])
}
pub(crate) fn probes() -> SectionSpec {
    SectionSpec::once("probes", "Recordings in addition to flows, totals and deadlocks.", vec![SAMPLES, &PORT_PROBES, PROBES])
}

/// Keys of every flow control.
const FLOW_CONTROL: &[ParamSpec] = &[ParamSpec::optional(
    "lossy",
    Kind::Texts,
    "priorities that are never paused, such as [\"0\", \"2-3\"]: a full switch drops their frames, which is not a violation; default: none",
    "",
)];

pub(crate) fn flow_control() -> SectionSpec {
    let kinds = xoff_mech::flow_control::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
    SectionSpec::once("flow_control", "Hop-by-hop flow control of every link.", vec![FLOW_CONTROL]).kinds(
        "kind",
        Some("pfc"),
        kinds.collect(),
    )
}
pub(crate) fn detection() -> SectionSpec {
    let kinds = xoff_mech::detection::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
    SectionSpec::once("detection", "Congestion detection at every switch egress.", vec![])
        .kinds("kind", Some("none"), kinds.collect())
        .aliases(&[("ecn", "red"), ("wred", "red")])
}
pub(crate) fn rate_control() -> SectionSpec {
    let kinds = xoff_mech::rate_control::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
    SectionSpec::once("rate_control", "End-to-end rate control of every flow.", vec![]).kinds("kind", Some("none"), kinds.collect())
}
pub(crate) fn watchdog() -> SectionSpec {
    let kinds = xoff_mech::watchdog::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: e.params.to_vec() });
    SectionSpec::once("watchdog", "Releases egress queues of switches that their peer pauses for too long.", vec![]).kinds(
        "kind",
        Some("none"),
        kinds.collect(),
    )
}

/// Name of the generator behind `[[flow]]`.
pub(crate) const FLOWS: &str = "flows";

pub(crate) fn flow() -> SectionSpec {
    let g = xoff_net::workload::generators::find(FLOWS).expect("the generator of single flows");
    SectionSpec::many("flow", "One flow.", vec![g.params, xoff_net::workload::repeat::PARAMS])
}
pub(crate) fn workload() -> SectionSpec {
    let kinds = xoff_net::workload::GENERATORS.iter().filter(|g| g.name != FLOWS).map(|g| KindSpec {
        name: g.name,
        doc: g.doc,
        specs: vec![g.params],
    });
    SectionSpec::many("workload", "A pattern of flows.", vec![xoff_net::workload::repeat::PARAMS]).kinds("kind", None, kinds.collect())
}

/// Every section of the scenario of a scheduled fabric.
pub fn fabric_sections() -> Vec<SectionSpec> {
    crate::fabric::sections::sections()
}

/// Every section of a scenario file: source of the JSON Schema.
pub fn sections() -> Vec<SectionSpec> {
    let mut all = vec![run()];
    all.extend(xoff_scenario::topology::sections());
    all.extend([
        failures(),
        failure(),
        pause_storm(),
        slow_receiver(),
        link_errors(),
        link_retry(),
        routing(),
        switch(),
        buffer_pool(),
        buffer_profile(),
        host(),
        transport(),
        flow_control(),
        control_delay(),
        detection(),
        rate_control(),
        watchdog(),
        flow(),
        workload(),
        crate::network::jobs::keys::job(),
        crate::network::jobs::keys::collective(),
        probes(),
    ]);
    all
}

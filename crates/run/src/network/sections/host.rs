//! `[host]`: frames, acknowledgements, recovery from losses.

use xoff_mech::balancing::Balancing;
use xoff_mech::entropy::{Entropies, EntropyKind};
use xoff_mech::rate_control::{CnpMode, RateControlKind};
use xoff_mech::transport::{Timers, Transport, roce, selective, tcp};
use xoff_net::topology::{Link, NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_node::{Acks, Delivery, LEN_MAX, Pacing, PausedWith, PortChoice};
use xoff_scenario::document::{Section, SectionSpec};
use xoff_sim::{Model, NicModel, classes_in_use};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};
use xoff_units::{Bytes, NodeId, Span};

use super::{Context, Part, Read, Sections};

const KEYS: &[ParamSpec] = &[
    ParamSpec::new(
        "frame_max",
        Kind::Bytes,
        "1500B",
        "largest frame on the wire, header included",
        "GFC section 5.4",
    )
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
    ParamSpec::optional(
        "window",
        Kind::Bytes,
        "bytes in flight per flow, needs acknowledgements; default: unlimited",
        "",
    ),
    ParamSpec::new(
        "recovery",
        Kind::Choice(&["nack", "go-back-n", "selective"]),
        "nack",
        "loss recovery of a source: nack: go back when the receiver reports a gap, and a lost tail stays lost; go-back-n: also by a timer; selective: receivers keep frames ahead of the gap, and the source resends only the missing frames",
        "nack: HPCC simulator; selective: IRN, SIGCOMM 2018",
    ),
    ParamSpec::new(
        "rto",
        Kind::Span,
        "320us",
        "go-back-n, selective: retransmission timer, from the last progress",
        "IRN: RTO_high",
    ),
    ParamSpec::optional(
        "rto_low",
        Kind::Span,
        "go-back-n, selective: the timer while at most 3 frames of a flow are outstanding, because a Nack may not arrive then; default: `rto`",
        "IRN: RTO_low 100 us, N = 3",
    ),
    ParamSpec::optional(
        "order",
        Kind::Choice(&["strict", "buffer", "count"]),
        "treatment of frames ahead of a gap at the receiver: strict: discard them; buffer: keep them, and deliver them in order; count: deliver them as they arrive; default: buffer where `recovery` is selective, flows are connections, or load_balancing, entropy or port = \"spray\" lets frames overtake each other, otherwise strict",
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
        "entropy",
        Kind::Choice(xoff_mech::entropy::NAMES),
        "flow",
        "path of each frame, by a value that ECMP in switches hashes with the flow: flow: that of the flow; oblivious: values in rotation; bitmap: the same, but a value whose frame was marked is passed over once; reps: values of acknowledged frames without a mark are used again (REPS)",
        "bitmap: Ultra Ethernet; reps: Bonato et al. 2024",
    ),
    ParamSpec::new(
        "paths",
        Kind::Count,
        "256",
        "oblivious, bitmap, reps: number of entropy values",
        "",
    ),
    ParamSpec::new(
        "port",
        Kind::Choice(&["hash", "least-loaded", "round-robin", "destination", "rail", "spray"]),
        "hash",
        "port of a host with several links by which a flow leaves, of those on a shortest path to its destination: hash: by the hash of the flow; least-loaded: fewest bytes of flows left to send; round-robin: the next port with each flow; destination: by the number of the destination host; rail: by the rank that sends in a job, otherwise by the number of the source host; spray: all of them, each frame by the port that is free first",
        "",
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

/// `[host]`.
pub(in crate::network) struct Host {
    /// The NICs; rate control is a section of its own.
    pub nic: NicModel,
    /// Priority of CNPs, which nothing pauses.
    pub cnp_priority: Option<u8>,
}

pub type Value = Host;

impl Host {
    /// True if hosts choose more than the path of a flow's hash.
    pub fn balances(&self, topology: &Topology) -> bool {
        self.nic.entropy.is_some() || self.chooses_ports(topology)
    }

    /// True if some host chooses one of its ports for a flow, other than by the hash of the flow.
    fn chooses_ports(&self, topology: &Topology) -> bool {
        self.nic.port_choice != PortChoice::Hash && topology.has_hosts_of_several_ports()
    }

    /// The longest frame on the wire: acknowledgements may be longer than data.
    pub fn longest_frame(&self) -> Bytes {
        let data = self.nic.payload_max + self.nic.header;
        let acks = if self.nic.transport.acknowledges() { self.nic.acks.len } else { 0 };
        Bytes(data.max(acks).into())
    }
}

impl Part for Host {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::once("host", "All hosts.", vec![KEYS])]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, Host> {
        let Some(&connection) = all.transport.value() else { return Read::skipped(cx) };
        let reorders = all.load_balancing.value().is_some_and(Balancing::reorders);
        let several = cx.topology.has_hosts_of_several_ports();
        Read::each(cx, |s| read(s, connection, reorders, several))
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let (Some(flows), rate_control) = (all.flows.value(), all.rate_control.value()) else {
            return;
        };
        let reorders = all.load_balancing.value().is_some_and(Balancing::reorders)
            || all.host.value().is_some_and(|h| {
                h.nic.port_choice == PortChoice::Spray || h.nic.entropy.is_some_and(|e| e.paths > 1)
            });
        let loses = all.flow_control.links().is_some_and(|(name, _)| name == "none")
            || !all.lossy().is_empty()
            || all.failure.found().next().is_some()
            || all.link_errors.found().next().is_some();
        all.host.check(|s, host| {
            cnps_are_alone(host, flows)?;
            // A chosen order has its warning where no frame overtakes another.
            if loses && (reorders || s.chosen("order").is_none()) {
                warn_of_gaps(s, host);
            }
            warn_of_timers(s, host, flows, cx.topology);
            Ok(())
        });
        let (Some(host), Some(rate_control)) = (all.host.value(), rate_control) else { return };
        name_what_no_flow_reads(
            all.host.section(),
            host,
            flows,
            &rate_control.law,
            cx.run.duration,
        );
    }

    fn set(self, model: &mut Model<'static>) {
        model.nic = self.nic;
        model.unpaused = self.cnp_priority;
    }
}

/// The host that a section names by the key `host`.
pub(super) fn find_host(s: &mut Section<'_>, topology: &Topology) -> Result<NodeId, ParamError> {
    let name = s.text("host")?;
    let found = topology.find(&name).filter(|&n| topology.nodes[n.index()].kind == NodeKind::Host);
    found.ok_or_else(|| {
        let hosts: Vec<&str> = topology.hosts().map(|h| topology.name(h)).collect();
        ParamError::new(
            "host",
            format!("there is no host '{name}'"),
            xoff_scenario::suggest::hint(&name, "hosts", &hosts),
        )
    })
}

fn read(
    s: &mut Section<'_>,
    connection: Option<tcp::Params>,
    reorders: bool,
    several_ports: bool,
) -> Result<Host, ParamError> {
    let (mtu, header) = (s.bytes("frame_max")?, s.bytes("header")?);
    if !(1..=LEN_MAX as u64).contains(&mtu.0) {
        return Err(ParamError::new(
            "frame_max",
            format!("a frame of {mtu}"),
            format!("expected 1 B to {LEN_MAX} B"),
        ));
    }
    if header >= mtu {
        return Err(ParamError::new(
            "header",
            format!("a header of {header} leaves no payload in a frame of {mtu}"),
            "expected less than the MTU",
        ));
    }
    let ack_len = s.bytes("ack_len")?;
    let mut priority = |key: &'static str| match s.count_opt(key)? {
        Some(p) if p > 7 => Err(ParamError::new(key, "there are 8 priorities", "expected 0 to 7")),
        p => Ok(p.map(|p| p as u8)),
    };
    let (ack_priority, cnp_priority) = (priority("ack_priority")?, priority("cnp_priority")?);
    let payload_max = (mtu - header).0 as u32;
    let payload_max =
        connection.and_then(|c| c.mss).map_or(payload_max, |mss| payload_max.min(mss.0 as u32));
    let acks = s.text("acks")? == "per-frame" || connection.is_some();
    if acks && !(1..=LEN_MAX as u64).contains(&ack_len.0) {
        return Err(ParamError::new(
            "ack_len",
            format!("an acknowledgement of {ack_len}"),
            format!("expected 1 B to {LEN_MAX} B"),
        ));
    }
    let window = s.bytes_opt("window")?;
    if window.is_some() && !acks {
        return Err(ParamError::new(
            "window",
            "a window needs acknowledgements, but hosts send none",
            "set acks = \"per-frame\"",
        ));
    }
    if connection.is_some() && window.is_some_and(|w| w.0 < u64::from(payload_max)) {
        return Err(ParamError::new(
            "window",
            "the window is smaller than a segment",
            format!("expected {payload_max} B or more"),
        ));
    }
    if window == Some(Bytes::ZERO) {
        return Err(ParamError::new(
            "window",
            "the window is 0: hosts can send nothing",
            "expected a size above zero",
        ));
    }
    let transport = read_transport(s, acks, connection)?;
    let port_choice = read_port_choice(s, several_ports)?;
    let entropy = read_entropy(s, acks)?;
    let reorders = reorders
        || several_ports && port_choice == PortChoice::Spray
        || entropy.is_some_and(|e| e.paths > 1);
    let order = read_order(s, &transport, reorders)?;
    name_what_is_unread(s, acks, connection.is_some(), reorders);
    let obeys_priorities = s.text("obeys")? == "priorities";
    let pacing = if s.text("pacing")? == "gap" { Pacing::Gap } else { Pacing::Schedule };
    let nic = NicModel {
        payload_max,
        header: header.0 as u32,
        transport,
        acks: Acks {
            len: ack_len.0 as u32,
            class: ack_priority.filter(|_| acks),
            paused_with: PausedWith::OwnClass,
        },
        cnps_unpaused: cnp_priority.is_some(),
        order,
        rate_control: RateControlKind::None,
        window_follows_rate: false,
        rate_bound: true,
        obeys_priorities,
        entropy,
        port_choice,
        pacing,
        shared_connections: s.text("connections")? == "per-pair",
        window: window.map(|w| w.0),
    };
    Ok(Host { nic, cnp_priority })
}

/// Keys about acknowledgements and losses that nothing reads.
fn name_what_is_unread(s: &Section<'_>, acks: bool, connections: bool, reorders: bool) {
    let unread = |keys: &[&str], why: &str, hint: &str| {
        keys.iter().for_each(|key| s.has_no_effect(key, why, hint))
    };
    let acknowledge = "remove the key, or set acks = \"per-frame\"";
    let recovery = s.chosen("recovery");
    match (recovery.as_deref(), acks, connections) {
        (_, false, _) => {
            unread(&["ack_len"], "hosts send no acknowledgements", acknowledge);
            // With that of CNPs it names their queue, which acknowledgements would share.
            if s.chosen("ack_priority") != s.chosen("cnp_priority") {
                unread(&["ack_priority"], "hosts send no acknowledgements", acknowledge);
            }
            let why = "without acknowledgements, sources cannot detect losses";
            unread(&["rto", "nack_interval"], why, acknowledge);
            if !reorders {
                let why = "no frame overtakes another, and without acknowledgements sources cannot detect losses";
                unread(&["order"], why, acknowledge);
            }
        }
        (_, _, true) => {
            let why = "connections detect losses themselves, and have their own timers";
            unread(
                &["rto", "rto_low", "nack_interval"],
                why,
                "set transport.rto_min and rto_initial instead",
            );
        }
        (Some("selective"), ..) => {
            let why = "recovery = \"selective\" reports missing frames with every acknowledgement";
            unread(&["nack_interval"], why, "remove the key, or set recovery = \"go-back-n\"");
        }
        (Some("nack"), ..) => {
            unread(
                &["rto"],
                "recovery = \"nack\" has no timer",
                "set recovery = \"go-back-n\" or \"selective\", or remove the key",
            );
        }
        _ => {}
    }
}

/// Keys that nothing reads in a run of these flows.
fn name_what_no_flow_reads(
    s: &Section<'_>,
    host: &Host,
    flows: &Flows,
    rate_control: &RateControlKind,
    duration: Span,
) {
    let timers = host.nic.transport.facts().timers;
    if let Some(timers) = timers.filter(|t| duration.0 > 0 && t.timer_of_few >= duration) {
        let why = format!(
            "no timer expires before the run ends at {duration}, {} after a loss",
            timers.timer_of_few
        );
        s.has_no_effect("rto", &why, "shorten the time, or extend run.duration");
    }
    let sends_cnps =
        matches!(rate_control.cnp_mode(), CnpMode::Frame { .. } | CnpMode::Clock { .. });
    if host.cnp_priority.is_some() && host.cnp_priority != host.nic.acks.class && !sends_cnps {
        s.has_no_effect(
            "cnp_priority",
            "this rate control sends no CNPs",
            "remove the key, or choose a rate control that sends CNPs",
        );
    }
    if let Some(window) = host.nic.window.filter(|_| !host.nic.transport.facts().connections) {
        let frame = u64::from(host.nic.payload_max);
        if window < frame {
            let what = format!(
                "window {} < {}, the payload of a frame: hosts still send one frame at a time",
                Bytes(window),
                Bytes(frame)
            );
            s.warn(&ParamError::new("window", what, "expected at least a frame"));
        }
    }
    if !flows.all_listed() {
        return; // others come during the run
    }
    if host.nic.pacing == Pacing::Gap && flows.flows.iter().all(|f| f.rate.is_none()) {
        s.has_no_effect(
            "pacing",
            "no flow has its own rate",
            "remove the key, or give flows a rate",
        );
    }
    if host.nic.shared_connections
        && !flows.flows.iter().any(|f| f.controlled && f.rate.is_none() && f.size != UNLIMITED)
    {
        let why = "endless flows, flows with a rate and flows without rate control keep their own connection, and the scenario has no \
                   other flows";
        s.has_no_effect("connections", why, "remove the key, or give the flows a size");
    }
}

/// Checks that only CNPs are unpaused: traffic that nothing pauses cannot be lossless, and CNPs are
/// few enough. Acknowledgements, which are few too, may join them.
fn cnps_are_alone(host: &Host, flows: &Flows) -> Result<(), ParamError> {
    let Some(priority) = host.cnp_priority else { return Ok(()) };
    let data = classes_in_use(flows, None, None);
    match data.class(priority) {
        None => Ok(()),
        Some(_) => Err(ParamError::new(
            "cnp_priority",
            format!("flows use priority {priority}, but CNPs need a priority that is never paused"),
            "give CNPs a priority that no flow uses",
        )),
    }
}

/// Receivers keep what is ahead of a gap, frames may be lost, and nothing sends them again.
fn warn_of_gaps(s: &Section<'_>, host: &Host) {
    let transport = &host.nic.transport;
    let keeps = host.nic.order != Delivery::Strict;
    if keeps && transport.acknowledges() && !transport.has_timer() {
        let what = "receivers keep frames ahead of a gap here and do not report it, and recovery = \"nack\" needs the report: lost frames stay lost";
        let hint = "set recovery = \"go-back-n\" or \"selective\"";
        s.warn(&ParamError::new("recovery", what, hint));
    }
}

/// Retransmission timers that expire before any acknowledgement can be in.
fn warn_of_timers(s: &Section<'_>, host: &Host, flows: &Flows, topology: &Topology) {
    let Some(timers) = host.nic.transport.facts().timers else { return };
    // Of the first frame and its acknowledgement over the links at both ends: those between them
    // add to it.
    let round_trip = |f: &Flow| {
        let frame = Bytes(f.size.min(host.nic.payload_max.into()) + u64::from(host.nic.header));
        let over = |l: &Link| {
            l.rate.time_for(frame) + l.rate.time_for(Bytes(host.nic.acks.len.into())) + l.delay * 2
        };
        let links = |host: NodeId| topology.links_at(host);
        let least = |host| links(host).map(over).min().unwrap_or_default();
        let direct = links(f.src).find(|&a| links(f.dst).any(|b| std::ptr::eq(a, b)));
        direct.map_or_else(|| least(f.src) + least(f.dst), over)
    };
    let Some((longest, f)) =
        flows.flows.iter().map(|f| (round_trip(f), f)).max_by_key(|(trip, _)| *trip)
    else {
        return;
    };
    let mut keys = vec![("rto", timers.timer)];
    keys.extend((timers.timer_of_few != timers.timer).then_some(("rto_low", timers.timer_of_few)));
    for (key, timer) in keys.into_iter().filter(|(_, timer)| *timer < longest) {
        let (src, dst) = (topology.name(f.src), topology.name(f.dst));
        let what = format!(
            "{key} {timer} is shorter than {longest}, the least round trip from {src} to {dst}: hosts repeat frames that are not lost"
        );
        s.warn(&ParamError::new(
            key,
            what,
            "expected more than a round trip with queues and pauses",
        ));
    }
}

/// `connection`: flows are connections of a section of its own.
fn read_transport(
    s: &mut Section<'_>,
    acks: bool,
    connection: Option<tcp::Params>,
) -> Result<Transport, ParamError> {
    let nack_interval = if acks { s.span("nack_interval")? } else { Span::ZERO };
    let roce =
        roce::Params { interval: 1, chunk: 1, back_to_zero: false, nack_interval, timers: None };
    let (kind, timer, low) = (s.text("recovery")?, s.span("rto")?, s.span_opt("rto_low")?);
    if connection.is_some() && kind != "nack" {
        let what = "connections already keep frames ahead of a gap and resend lost frames";
        let hint = "remove the key, or set transport.kind = \"none\"";
        return Err(ParamError::new("recovery", what, hint));
    }
    if kind == "nack" {
        return match low {
            Some(_) => Err(ParamError::new(
                "rto_low",
                "nack has no timer",
                "set recovery = \"go-back-n\" or \"selective\"",
            )),
            None => Ok(match connection {
                Some(p) => Transport::Tcp(p),
                None if acks => Transport::Roce(roce),
                None => Transport::None,
            }),
        };
    }
    if !acks {
        return Err(ParamError::new(
            "recovery",
            format!("{kind} needs acknowledgements, but hosts send none"),
            "set acks = \"per-frame\"",
        ));
    }
    if timer == Span::ZERO {
        return Err(ParamError::new(
            "rto",
            "a retransmission timer of 0",
            "expected more than a round trip with queues",
        ));
    }
    if let Some(low) = low.filter(|&low| low == Span::ZERO || low > timer) {
        let what = match low {
            Span::ZERO => "a retransmission timer of 0".to_owned(),
            _ => format!("rto_low {low} > rto {timer}"),
        };
        return Err(ParamError::new(
            "rto_low",
            what,
            "expected more than a round trip with queues, and at most rto",
        ));
    }
    let timers = Timers { timer, timer_of_few: low.unwrap_or(timer) };
    Ok(match kind.as_str() {
        "selective" => Transport::Selective(selective::Params { timers }),
        _ => Transport::Roce(roce::Params { timers: Some(timers), ..roce }),
    })
}

/// Entropy values of frames.
fn read_entropy(s: &mut Section<'_>, acks: bool) -> Result<Option<Entropies>, ParamError> {
    let (name, paths) = (s.text("entropy")?, s.count("paths")?);
    let Some(kind) = EntropyKind::of(&name) else {
        s.has_no_effect("paths", "a flow has one path", "remove the key, or set host.entropy");
        return Ok(None);
    };
    if !(1..=u64::from(u16::MAX)).contains(&paths) {
        let what = format!("{paths} entropy values");
        return Err(ParamError::new("paths", what, "expected 1 to 65535"));
    }
    if kind != EntropyKind::Oblivious && !acks {
        let what = format!("{name} learns from acknowledgements, but hosts send none");
        let hint = "set acks = \"per-frame\", or entropy = \"oblivious\"";
        return Err(ParamError::new("entropy", what, hint));
    }
    Ok(Some(Entropies { kind, paths: paths as u16 }))
}

/// Choice of the port of a flow. `several`: some hosts have several.
fn read_port_choice(s: &mut Section<'_>, several: bool) -> Result<PortChoice, ParamError> {
    let choice = match s.text("port")?.as_str() {
        "least-loaded" => PortChoice::LeastLoaded,
        "round-robin" => PortChoice::RoundRobin,
        "destination" => PortChoice::Destination,
        "rail" => PortChoice::Rail,
        "spray" => PortChoice::Spray,
        _ => PortChoice::Hash,
    };
    if !several {
        s.has_no_effect("port", "every host has one link", "remove the key");
    }
    Ok(choice)
}

/// Treatment of frames ahead of a gap. `reorders`: load balancing lets frames overtake.
fn read_order(
    s: &mut Section<'_>,
    transport: &Transport,
    reorders: bool,
) -> Result<Delivery, ParamError> {
    let order = s.text_opt("order")?.map(|order| match order.as_str() {
        "strict" => Delivery::Strict,
        "buffer" => Delivery::Buffer,
        _ => Delivery::Count,
    });
    let keeps = transport.facts().nacks_name_frames;
    match order {
        Some(Delivery::Strict) if keeps => Err(ParamError::new(
            "order",
            "order = \"strict\" conflicts with selective repeat, whose receivers keep frames ahead of a gap",
            "set recovery = \"go-back-n\", or order = \"buffer\" or \"count\"",
        )),
        _ if !transport.acknowledges() && !reorders => Ok(Delivery::Strict),
        Some(Delivery::Strict) if !transport.acknowledges() => {
            let what = "frames overtake each other, receivers discard what is ahead of a gap, and nothing sends it again: flows do not complete";
            s.warn(&ParamError::new(
                "order",
                what,
                "set order = \"buffer\" or \"count\", or acks and recovery",
            ));
            Ok(Delivery::Strict)
        }
        None if keeps || transport.facts().connections || reorders => Ok(Delivery::Buffer),
        None | Some(Delivery::Strict) => Ok(Delivery::Strict),
        Some(order) => {
            if !transport.has_timer() && !reorders {
                let what = "receivers that keep frames ahead of a gap do not report it, and recovery = \"nack\" needs the report: lost frames stay lost";
                s.warn(&ParamError::new(
                    "order",
                    what,
                    "set recovery = \"go-back-n\" or \"selective\"",
                ));
            }
            Ok(order)
        }
    }
}

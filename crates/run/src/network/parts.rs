//! The sections of a scenario, each into what the model needs of it.

use xoff_topology::names::{What, find_port};

use std::collections::BTreeMap;
use std::path::Path;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Pauses};
use xoff_node::{
    Classes, ControlDelay, DisciplineKind, LEN_MAX, Pacing, PausedWith, Recovery, SchedulerKind, Transport, VlArbitration, VlEntry,
};
use xoff_params::{ParamError, Values};
use xoff_scenario::Problem;
use xoff_scenario::document::{Document, Section};
use xoff_sim::{PORT_PROBES, Probes, Selection, classes_in_use};
use xoff_topology::{Topology, failures};
use xoff_units::{Bytes, Span, Time};
use xoff_workload::{Context, Flows, Generated, Repeat, SizeCdf, generators};

use crate::network::jobs;
use crate::{idle, sections};

/// Texts that were read, so that the same parameters can be read again for another link without a second entry in the
/// list of parameters.
#[derive(Default)]
struct Replay(BTreeMap<String, Option<String>>);

impl Values for Replay {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        Ok(self.0.get(key).cloned().flatten())
    }
}

/// Reads through to a section and keeps the texts.
struct RecordingValues<'s, 'd>(&'s mut Section<'d>, &'s mut Replay);

impl Values for RecordingValues<'_, '_> {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let value = self.0.raw(key)?;
        self.1.0.insert(key.to_owned(), value.clone());
        Ok(value)
    }
}

pub(super) fn read_topology(doc: &Document, run_seed: u64, folder: &Path) -> Option<Topology> {
    let spec = xoff_scenario::topology::sections().swap_remove(0);
    let mut section = doc.open(&spec);
    let mut topology = xoff_scenario::topology::build_in(&mut section, folder)?;
    // Before routes and flows are laid over it.
    section.take(|_| crate::network::resources::network_fits(&topology))?;
    doc.open(&sections::failures()).take(|s| {
        let names = s.texts("links")?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        failures::fail_links(&mut topology, &names).map_err(|e| ParamError::new("links", e.what, e.hint))?;
        let p = s.float("probability")?;
        if !(0.0..=1.0).contains(&p) {
            return Err(ParamError::new("probability", format!("{p} is not a probability"), "expected 0 to 1"));
        }
        let seed = s.count_opt("seed")?.unwrap_or(run_seed);
        let host_links = s.flag("host_links")?;
        if p > 0.0 {
            failures::fail_random(&mut topology, p, seed, host_links)?;
        }
        Ok(())
    })?;
    Some(topology)
}

/// `[host]`.
pub(crate) struct Host {
    pub payload_max: u32,
    pub header: u32,
    pub transport: Transport,
    /// Priority of CNPs, which nothing pauses.
    pub cnp_priority: Option<u8>,
    pub recovery: Option<Recovery>,
    pub pacing: Pacing,
    /// Messages between two hosts share a connection.
    pub shared_connections: bool,
    pub window: Option<u64>,
}

impl Host {
    /// The longest frame on the wire: acknowledgements may be longer than data.
    pub fn longest_frame(&self) -> Bytes {
        let data = self.payload_max + self.header;
        Bytes(match self.transport {
            Transport::Acks { ack_len, .. } => data.max(ack_len),
            Transport::None => data,
        } as u64)
    }
}

pub(super) fn read_host(s: &mut Section<'_>) -> Result<Host, ParamError> {
    let (mtu, header) = (s.bytes("mtu")?, s.bytes("header")?);
    if !(1..=LEN_MAX as u64).contains(&mtu.0) {
        return Err(ParamError::new("mtu", format!("a frame of {mtu}"), format!("expected 1B to {LEN_MAX}B")));
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
    let acks = s.text("acks")? == "per-frame";
    if acks && !(1..=LEN_MAX as u64).contains(&ack_len.0) {
        return Err(ParamError::new("ack_len", format!("an acknowledgement of {ack_len}"), format!("expected 1B to {LEN_MAX}B")));
    }
    let window = s.bytes_opt("window")?;
    if window.is_some() && !acks {
        return Err(ParamError::new("window", "a window without acknowledgements never opens again", "set acks = \"per-frame\""));
    }
    if window == Some(Bytes::ZERO) {
        return Err(ParamError::new("window", "a window of 0", "nothing could be sent"));
    }
    let transport = if acks {
        Transport::Acks {
            ack_len: ack_len.0 as u32,
            class: ack_priority,
            paused_with: PausedWith::OwnClass,
            interval: 1,
            chunk: 1,
            back_to_zero: false,
            nack_interval: s.span("nack_interval")?,
        }
    } else {
        Transport::None
    };
    let recovery = read_recovery(s, acks)?;
    let pacing = if s.text("pacing")? == "gap" { Pacing::Gap } else { Pacing::Schedule };
    Ok(Host {
        payload_max: (mtu - header).0 as u32,
        header: header.0 as u32,
        transport,
        cnp_priority,
        recovery,
        pacing,
        shared_connections: s.text("connections")? == "per-pair",
        window: window.map(|w| w.0),
    })
}

/// What nothing pauses cannot be lossless, and CNPs alone are few enough for that. Acknowledgements, which are few too, may join them.
pub(super) fn cnps_are_alone(host: &Host, flows: &Flows) -> Result<(), ParamError> {
    let Some(priority) = host.cnp_priority else { return Ok(()) };
    let data = classes_in_use(flows, &Transport::None, None);
    match data.class(priority) {
        None => Ok(()),
        Some(_) => Err(ParamError::new(
            "cnp_priority",
            format!("flows have priority {priority}, which flow control holds, and nothing pauses CNPs"),
            "give CNPs a priority that no flow has",
        )),
    }
}

fn read_recovery(s: &mut Section<'_>, acks: bool) -> Result<Option<Recovery>, ParamError> {
    let (kind, timer, low) = (s.text("recovery")?, s.span("rto")?, s.span_opt("rto_low")?);
    let order = s.text_opt("order")?;
    let keeps = kind == "selective";
    match (order.as_deref(), kind.as_str()) {
        (Some("strict"), "selective") => {
            let what = "order = \"strict\" with selective repeat, whose receivers keep what is ahead";
            return Err(ParamError::new("order", what, "set recovery = \"go-back-n\", or order = \"buffer\" or \"count\""));
        }
        (Some(order @ ("buffer" | "count")), "nack" | "go-back-n") => {
            let what = format!("order = \"{order}\" with {kind}, whose receivers discard what is ahead");
            return Err(ParamError::new("order", what, "set recovery = \"selective\", or order = \"strict\""));
        }
        _ => {}
    }
    if kind == "nack" {
        return match low {
            Some(_) => Err(ParamError::new("rto_low", "nack has no timer", "set recovery = \"go-back-n\" or \"selective\"")),
            None => Ok(None),
        };
    }
    if !acks {
        return Err(ParamError::new("recovery", format!("{kind} without acknowledgements"), "set acks = \"per-frame\""));
    }
    if timer == Span::ZERO {
        return Err(ParamError::new("rto", "a retransmission timer of 0", "expected more than a round trip with its queues"));
    }
    if let Some(low) = low.filter(|&low| low == Span::ZERO || low > timer) {
        let what = match low {
            Span::ZERO => "a retransmission timer of 0".to_owned(),
            _ => format!("rto_low {low} > rto {timer}"),
        };
        return Err(ParamError::new("rto_low", what, "expected more than a round trip with its queues, and at most rto"));
    }
    Ok(Some(Recovery { timer, timer_of_few: low.unwrap_or(timer), selective: keeps, any_order: order.as_deref() == Some("count") }))
}

/// How the memory of a switch is shared out.
pub(crate) enum Memory {
    PerIngress,
    Shared {
        total: Bytes,
        reserve: Bytes,
        headroom: Option<Bytes>,
        shift: u8,
    },
    /// See [`Buffers`](super::buffers::Buffers).
    Pools,
}

/// `[switch]`.
pub(crate) struct SwitchParts {
    pub memory: Memory,
    pub ingress_buffer: Bytes,
    pub discipline: DisciplineKind,
    pub scheduler: SchedulerKind,
    pub cut_through: Option<Bytes>,
}

pub(super) fn read_switch(s: &mut Section<'_>, host: &Host) -> Result<SwitchParts, ParamError> {
    let mtu = Bytes((host.payload_max + host.header) as u64);
    let buffer = s.bytes("buffer")?;
    let positive = |key: &'static str, v: Bytes| {
        if v.0 == 0 { Err(ParamError::new(key, "0 bytes", "expected a size above zero")) } else { Ok(v) }
    };
    let longest = host.longest_frame();
    if positive("buffer", buffer)? < longest {
        return Err(ParamError::new(
            "buffer",
            format!("a buffer of {buffer} holds no frame of {longest}"),
            "no frame could ever be accepted; give a larger buffer, or a smaller host.mtu",
        ));
    }
    let (total, reserve, headroom, shift) =
        (s.bytes("shared_buffer")?, s.bytes("reserve")?, s.bytes_opt("headroom")?, s.count("alpha_shift")?);
    if shift > 31 {
        return Err(ParamError::new("alpha_shift", format!("2^-{shift} of the pool"), "expected 0 to 31"));
    }
    let memory = match s.text("memory")?.as_str() {
        "shared" => Memory::Shared { total, reserve, headroom, shift: shift as u8 },
        "pools" => Memory::Pools,
        _ => Memory::PerIngress,
    };
    let quantum = positive("quantum", s.bytes("quantum")?)?.0.min(u32::MAX as u64) as u32;
    let discipline = match s.text("discipline")?.as_str() {
        "round-robin" => DisciplineKind::RoundRobin,
        "drr" => DisciplineKind::Drr { quantum },
        "input-fifo" => DisciplineKind::InputFifo,
        _ => DisciplineKind::Fifo,
    };
    let weights = s.texts("weights")?;
    let scheduler = match s.text("scheduler")?.as_str() {
        "round-robin" => SchedulerKind::RoundRobin,
        "drr" if weights.is_empty() => SchedulerKind::Drr(vec![mtu.0 as u32; 8]),
        "drr" => {
            let parse = |w: &String| -> Result<u32, ParamError> {
                let b: Bytes = w.parse().map_err(|e| ParamError::unit("weights", &e))?;
                Ok(positive("weights", b)?.0.min(u32::MAX as u64) as u32)
            };
            let mut quanta = weights.iter().map(parse).collect::<Result<Vec<u32>, _>>()?;
            let last = *quanta.last().unwrap_or(&1500);
            quanta.resize(8, last);
            SchedulerKind::Drr(quanta)
        }
        "vl-arbitration" => SchedulerKind::VlArbitration(Box::new(read_vl_arbitration(s)?)),
        _ => SchedulerKind::Strict,
    };
    let cut_through = s.bytes_opt("cut_through")?.map(|head| positive("cut_through", head)).transpose()?;
    Ok(SwitchParts { memory, ingress_buffer: buffer, discipline, scheduler, cut_through })
}

fn read_vl_arbitration(s: &mut Section<'_>) -> Result<VlArbitration, ParamError> {
    let mut table = |key: &'static str| -> Result<Vec<VlEntry>, ParamError> {
        let texts = s.texts(key)?;
        if texts.len() > VlArbitration::VL_ENTRIES_MAX {
            let what = format!("a table of {} entries", texts.len());
            return Err(ParamError::new(key, what, format!("IBA 7.6.9 has at most {}", VlArbitration::VL_ENTRIES_MAX)));
        }
        texts.iter().map(|text| read_turn(key, text)).collect()
    };
    let (high, low) = (table("vl_high")?, table("vl_low")?);
    if high.iter().chain(&low).all(|t| t.weight == 0) {
        return Err(ParamError::new(
            "vl_low",
            "no virtual lane ever has a turn",
            "for example vl_low = [\"0:64\", \"1:64\"]; weights count 64 B",
        ));
    }
    let limit = s.count("vl_high_limit")?;
    let high_limit = limit.try_into().map_err(|_| {
        ParamError::new(
            "vl_high_limit",
            format!("a limit of {limit}"),
            "expected 0 (one packet) to 254 in units of 4096 B, or 255 (no limit)",
        )
    })?;
    Ok(VlArbitration { high, low, high_limit })
}

/// An entry of a table of arbitration, `VL:WEIGHT`, in the form that subnet managers use.
fn read_turn(key: &str, text: &str) -> Result<VlEntry, ParamError> {
    let refuse = |what: String, hint: &str| Err(ParamError::new(key, what, hint));
    let parsed = text.split_once(':').map(|(vl, weight)| (vl.trim().parse::<u64>(), weight.trim().parse::<u64>()));
    let Some((Ok(vl), Ok(weight))) = parsed else {
        return refuse(format!("'{text}' is no entry of a table"), "expected VL:WEIGHT, such as \"0:64\"");
    };
    match vl {
        0..=7 => {}
        15 => return refuse("VL 15 carries management and is not arbitrated".into(), "virtual lanes are the priorities 0 to 7"),
        _ => return refuse(format!("there is no virtual lane {vl}"), "virtual lanes are the priorities 0 to 7"),
    }
    match weight.try_into() {
        Ok(weight) => Ok(VlEntry { vl: vl as u8, weight }),
        Err(_) => refuse(format!("a weight of {weight}"), "expected 0 (skipped) to 255, in units of 64 B"),
    }
}

/// Warns where cut-through changes nothing.
pub(super) fn warn_of_cut_through(section: &Section<'_>, topology: &Topology, switch: &SwitchParts, host: &Host) {
    let Some(head) = switch.cut_through else { return };
    let (whole, all) = xoff_sim::stored_and_forwarded(topology);
    let warn = |what: String, why: &str| section.warn(&ParamError::new("cut_through", what, why));
    if head >= host.longest_frame() {
        warn(format!("no frame is longer than {head}: all are stored and forwarded"), "expected less than a frame");
    } else if whole > 0 {
        warn(
            format!("{whole} of {all} link directions into switches are stored and forwarded all the same"),
            "they are slower than another link of their switch, so bits would run out in the middle of a frame",
        );
    }
}

/// A class that never has a turn would wait for ever.
pub(super) fn every_class_is_served(switch: &SwitchParts, classes: &Classes) -> Result<(), ParamError> {
    match switch.scheduler.passes_over(classes) {
        None => Ok(()),
        Some(vl) => Err(ParamError::new(
            "vl_low",
            format!("priority {vl} is in use and virtual lane {vl} never has a turn"),
            format!("give it a weight, such as \"{vl}:64\", in vl_low or vl_high"),
        )),
    }
}

/// CNMs that congestion points may send through one port at once: one of every queue of the largest switch, at both of its ends.
pub(super) fn congestion_points(topology: &Topology, classes: u64) -> u64 {
    2 * classes * topology.switches().map(|s| topology.nodes[s as usize].ports.len() as u64).max().unwrap_or(0)
}

/// The most that can ever wait for one egress of a switch [bytes]: all that its memory takes from all ingresses.
pub(super) fn most_at_an_egress(topology: &Topology, switch: &SwitchParts) -> Bytes {
    let ports = topology.switches().map(|s| topology.nodes[s as usize].ports.len()).max().unwrap_or(0);
    match switch.memory {
        Memory::Shared { total, .. } => total,
        Memory::Pools => Bytes(u64::MAX),
        Memory::PerIngress => Bytes(switch.ingress_buffer.0.saturating_mul(ports as u64)),
    }
}

/// What goes with memory in pools.
const BY_PROFILE: &str = "set kind = \"pfc\" and threshold = \"profile\", or kind = \"none\"";

pub(super) fn read_flow_control(
    section: &mut Section<'_>,
    topology: &Topology,
    (switch, switch_section): (&SwitchParts, &Section<'_>),
    host: &Host,
    delay: &ControlDelay,
    control_ahead: u64,
) -> Option<(&'static str, Vec<(LinkFacts, FlowControl)>)> {
    let kind = section.kind()?;
    let (buffer, shared) = (switch.ingress_buffer, matches!(switch.memory, Memory::Shared { .. }));
    let entry = xoff_mech::flow_control::REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    // Acknowledgements are frames of a lossless class too.
    let mtu = host.longest_frame();
    let (processing, jitter) = (delay.longest(), delay.generation.jitter + delay.processing.jitter);
    let mut all: Vec<(LinkFacts, FlowControl)> = Vec::new();
    let mut again = Replay::default();
    for link in &topology.links {
        let facts = LinkFacts { processing, jitter, control_ahead, ..LinkFacts::plain(link.rate, link.delay, mtu, buffer) };
        if all.iter().any(|(f, _)| *f == facts) {
            continue;
        }
        let read =
            if all.is_empty() { (entry.read)(&mut RecordingValues(section, &mut again), &facts) } else { (entry.read)(&mut again, &facts) };
        let read = read.and_then(|fc| fc.holds_a_frame(&facts).map(|()| fc));
        match read {
            Ok(fc) => all.push((facts, fc)),
            Err(e) => {
                // The buffer is a key of the switch.
                if e.key == "buffer" {
                    switch_section.refuse(&e)
                } else {
                    section.refuse(&e)
                }
                return None;
            }
        }
    }
    if !shared && all.iter().any(|(_, fc)| fc.pauses() == Pauses::ByFreeMemory) {
        let what = "a dynamic threshold needs a shared pool; a fixed buffer per ingress would pause only when it is full";
        section.refuse(&ParamError::new("threshold", what, "set memory = \"shared\" in [switch], or threshold = \"static\""));
        return None;
    }
    if let Some((_, fc)) = all.iter().find(|(_, fc)| (fc.pauses() == Pauses::ByProfile) != matches!(switch.memory, Memory::Pools))
        && !matches!(fc, FlowControl::None)
    {
        let (what, hint) = match fc.pauses() {
            Pauses::ByProfile => {
                ("buffer profiles are for memory in pools".to_owned(), "set memory = \"pools\" in [switch], or another threshold")
            }
            _ => (format!("{kind} has thresholds of its own, and memory in pools has those of buffer profiles"), BY_PROFILE),
        };
        let key = if section.declares("threshold") { "threshold" } else { "kind" };
        section.refuse(&ParamError::new(key, what, hint));
        return None;
    }
    if switch.discipline != DisciplineKind::Fifo && all.iter().any(|(_, fc)| fc.per_flow()) {
        let what = format!("{kind} has egress queues of its own, in arrival order");
        switch_section.refuse(&ParamError::new("discipline", what, "set discipline = \"fifo\", or leave it out"));
        return None;
    }
    Some((entry.name, all))
}

/// Refuses what does not go with a flow control whose priorities share the buffer of a port.
pub(super) fn shared_ports_fit(
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
    memory: &Memory,
    priorities: u64,
    lossy: bool,
) -> Result<(), ParamError> {
    if !links.iter().any(|(_, fc)| fc.shares_port()) {
        return Ok(());
    }
    let refuse =
        |what, hint| Err(ParamError::new("sharing", format!("{name} shares the buffer of a port among its priorities, {what}"), hint));
    if !matches!(memory, Memory::PerIngress) {
        return refuse("and switch.memory shares it among ports", "set memory = \"per-ingress\" in [switch], or sharing = \"none\"");
    }
    if lossy {
        return refuse("and what is lossy would take the room of the others", "remove flow_control.lossy, or set sharing = \"none\"");
    }
    links.iter().try_for_each(|(facts, fc)| fc.fits_priorities(facts, priorities))
}

pub(super) fn read_flows(doc: &Document, topology: &Topology, (seed, end): (u64, Time), folder: &Path, handed_in: &[u8]) -> Option<Flows> {
    let cdfs = |name: &str| -> Result<SizeCdf, ParamError> {
        let points = xoff_scenario::cdf::find(name, folder).map_err(|problems| {
            let (what, hint) = problems.iter().next().map(|p| (p.place_and_message(), p.hint.clone())).unwrap_or_default();
            ParamError::new("cdf", what, hint)
        })?;
        SizeCdf::new(points).map_err(|e| ParamError::new("cdf", e.what, "expected sizes and percentages that grow from 0 to 100"))
    };
    let (mut labels, mut parts) = (Vec::new(), Vec::new());
    let mut complete = true;
    let mut generate = |section: &mut Section<'_>, name: &str, label: String| {
        let g = generators::find(name).expect("a known generator");
        let cx = Context { topo: topology, seed, label: parts.len() as u32, cdfs: &cdfs };
        let made = section.take(|s| {
            let mut part = (g.generate)(s, &cx)?;
            part.repeat = Repeat::read(s, &part)?;
            Ok(part)
        });
        match made {
            Some(part) => {
                idle::warn_of_flows(section, &part, end);
                labels.push(label);
                parts.push(part);
            }
            None => complete = false,
        }
    };
    for mut section in doc.open_all(&sections::flow()) {
        let label = section.path().to_owned();
        generate(&mut section, sections::FLOWS, label);
    }
    for mut section in doc.open_all(&sections::workload()) {
        let kind = section.kind()?;
        let label = format!("{} {kind}", section.path());
        generate(&mut section, kind, label);
    }
    if !complete {
        return None;
    }
    let jobs = doc.has(&jobs::keys::job()) || doc.has(&jobs::keys::collective());
    if !handed_in.is_empty() {
        return driven_flows(doc, topology, labels, parts, handed_in);
    }
    if parts.is_empty() && !jobs {
        // A section that is written wrongly has been reported.
        if !doc.has(&sections::flow()) && !doc.has(&sections::workload()) {
            let place = doc.source().place(0..0);
            doc.push(Problem::new("the scenario has no flows", "add a [[flow]] or a [[workload]]").at(place));
        }
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(mut flows) => jobs::read_jobs(doc, topology, (seed, end), folder, &mut flows).map(|()| flows),
        Err(e) => {
            doc.push(Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(doc.source().place(0..0)));
            None
        }
    }
}

pub(super) fn read_probes(s: &mut Section<'_>, topology: &Topology) -> Result<Probes, ParamError> {
    let mut select = |key: &str| -> Result<Selection, ParamError> {
        let names = s.texts(key)?;
        if names.is_empty() {
            return Ok(Selection::None);
        }
        if names.iter().any(|n| n == "all") {
            return Ok(Selection::All);
        }
        names.iter().map(|n| find_port(topology, key, n, What::Port)).collect::<Result<Vec<_>, _>>().map(Selection::Some)
    };
    let mut p = Probes::default();
    for probe in PORT_PROBES {
        *(probe.of_mut)(&mut p) = select(probe.key)?;
    }
    p.interval = s.span("interval")?;
    p.flow_rates = s.flag("flow_rates")?;
    p.causes = s.flag("causes")?;
    if p.interval.0 == 0 && PORT_PROBES.iter().any(|probe| probe.sampled && !(probe.of)(&p).is_none()) {
        return Err(ParamError::new("interval", "samples are asked for without an interval", "for example interval = \"10us\""));
    }
    // A port is named by the link direction; its queue as an ingress lies at the far end.
    for probe in PORT_PROBES.iter().filter(|probe| probe.ingress_too) {
        if let Selection::Some(ports) = (probe.of_mut)(&mut p) {
            let far: Vec<(u32, u16)> = ports
                .iter()
                .map(|&(n, port)| {
                    let peer = topology.nodes[n as usize].ports[port as usize];
                    (peer.peer, peer.peer_port)
                })
                .collect();
            ports.extend(far);
            ports.sort_unstable();
            ports.dedup();
        }
    }
    Ok(p)
}

/// The flows of a scenario to which others are handed in while it runs.
fn driven_flows(doc: &Document, topology: &Topology, labels: Vec<String>, parts: Vec<Generated>, handed_in: &[u8]) -> Option<Flows> {
    let place = || doc.source().place(0..0);
    if doc.has(&jobs::keys::job()) || doc.has(&jobs::keys::collective()) || parts.iter().any(|p| p.closed_loop.is_some()) {
        let what = "the scenario has a job, a collective or a closed loop, and messages are handed in from outside";
        doc.push(Problem::new(what, "leave them out: whoever hands in messages decides what is sent when").at(place()));
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(flows) => Some(Flows { handed_in: handed_in.to_vec(), ..flows }),
        Err(e) => {
            doc.push(Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(place()));
            None
        }
    }
}

//! `[switch]`: memory and order of queued frames.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Pauses};
use xoff_net::topology::Topology;
use xoff_node::{
    BufferPolicy, Classes, DisciplineKind, PipelineConfig, SchedulerKind, SharedPool,
    VlArbitration, VlEntry,
};
use xoff_scenario::document::{Section, SectionSpec};
use xoff_sim::{Model, SwitchAt};
use xoff_units::Bytes;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use super::host::Host;
use super::{Context, Part, Read, Sections};
use crate::network::buffers::{Buffers, SwitchLinks};
use crate::network::pool;

const fn vl_table(key: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec::optional(key, Kind::Texts, doc, "IBA 7.6.9: at most 64 entries")
}

const KEYS: &[ParamSpec] = &[
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
    ParamSpec::new(
        "shared_buffer",
        Kind::Bytes,
        "16MiB",
        "shared: all memory of the switch",
        "HPCC simulator",
    ),
    ParamSpec::new(
        "alpha_shift",
        Kind::Count,
        "3",
        "shared: an ingress may use the free pool divided by 2^this",
        "HPCC simulator: alpha = 1/8",
    ),
    ParamSpec::new(
        "reserve",
        Kind::Bytes,
        "4KiB",
        "shared: guaranteed to each port before the pool is touched",
        "HPCC simulator",
    ),
    ParamSpec::optional(
        "headroom",
        Kind::Bytes,
        "shared: memory of each port for frames that arrive after a pause; default: C tau + 1 MTU, as the headroom of pfc",
        "GFC section 4.2, and the frame that passes the limit; docs/mechanisms/pfc.md",
    ),
    ParamSpec::new(
        "discipline",
        Kind::Choice(&["fifo", "round-robin", "drr", "random", "input-fifo", "pipeline"]),
        "fifo",
        "order across ingresses at an egress; decides whether a ring deadlocks",
        "not stated in the papers; see the page egress-disciplines",
    ),
    ParamSpec::new("quantum", Kind::Bytes, "1500B", "drr: bytes an ingress gains per round", ""),
    ParamSpec::new(
        "batch",
        Kind::Count,
        "1",
        "random: frames that an ingress sends before the next one is drawn, if it has them",
        "",
    ),
    ParamSpec::new(
        "arbitration",
        Kind::Span,
        "0ns",
        "input-fifo: from the end of a frame at its input until the next one of the input may go",
        "",
    ),
    ParamSpec::new(
        "burst",
        Kind::Count,
        "64",
        "pipeline: most frames that the worker takes from one input before the next",
        "DPDK test-pipeline",
    ),
    ParamSpec::new(
        "ring",
        Kind::Count,
        "128",
        "pipeline: frames that the ring of an egress has room for",
        "DPDK test-pipeline",
    ),
    ParamSpec::new(
        "full_ring",
        Kind::Choice(&["blocks", "skips"]),
        "blocks",
        "pipeline: at a full ring the worker waits, or goes on with the next input",
        "DPDK test-pipeline waits",
    ),
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
    vl_table(
        "vl_high",
        "vl-arbitration: table of high priority, `VL:WEIGHT` each, the weight in units of 64 B; default: empty",
    ),
    vl_table(
        "vl_low",
        "vl-arbitration: table of low priority, `VL:WEIGHT` each, the weight in units of 64 B; default: empty",
    ),
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

/// Division of the memory of a switch.
pub(in crate::network) enum Memory {
    PerIngress,
    Shared {
        total: Bytes,
        reserve: Bytes,
        headroom: Option<Bytes>,
        shift: u8,
    },
    /// `None`: `[[buffer_pool]]` and `[[buffer_profile]]` have errors, or are not read yet.
    Pools(Option<Arc<Buffers>>),
}

impl Memory {
    /// The memory of one switch.
    fn policy(&self, ingress_buffer: Bytes, at: &SwitchAt<'_>) -> BufferPolicy {
        let links = at.model.flow_control.kinds();
        match self {
            Memory::Pools(Some(buffers)) => {
                let links = SwitchLinks::new(
                    at.node,
                    at.links.iter().map(|l| (l.rate, l.delay)),
                    links,
                    &at.model.lossy,
                );
                let made = buffers
                    .at(&links)
                    .unwrap_or_else(|(_, e)| panic!("was checked when it was read: {e}"));
                BufferPolicy::Pools(made.in_classes(at.links.len() as u16, at.classes))
            }
            Memory::PerIngress if links.iter().any(|(_, fc)| fc.shares_port()) => {
                BufferPolicy::PerPort(ingress_buffer)
            }
            Memory::PerIngress | Memory::Pools(None) => BufferPolicy::PerIngress(ingress_buffer),
            &Memory::Shared { total, reserve, headroom, shift } => {
                let kind = |l| at.model.flow_control.kind(l);
                let headroom = |l| {
                    kind(l).map_or(Bytes::ZERO, |(facts, fc)| pool::headroom(headroom, facts, fc))
                };
                let (headroom, shift) =
                    (at.links.iter().map(headroom).collect(), vec![shift; at.links.len()]);
                BufferPolicy::Shared(SharedPool { total, reserve, headroom, shift })
            }
        }
    }
}

/// `[switch]`.
pub(in crate::network) struct Switch {
    pub memory: Memory,
    pub ingress_buffer: Bytes,
    pub discipline: DisciplineKind,
    pub scheduler: SchedulerKind,
    cut_through: Option<Bytes>,
}

pub type Value = Switch;

impl Part for Switch {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::once("switch", "All switches.", vec![KEYS])]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, Switch> {
        let Some(host) = all.host.value() else { return Read::skipped(cx) };
        Read::each(cx, |s| {
            let switch = read(s, host, cx.run.seed)?;
            warn_of_cut_through(s, cx.topology, &switch, host);
            Ok(switch)
        })
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let (classes, count, slow) =
            (all.classes(), all.class_count(), !all.slow_receiver.is_empty());
        let corrupts = match &all.link_errors {
            errors if !errors.is_empty() => Some("link_errors"),
            _ if matches!(all.link_retry.value(), Some(Some(_))) => Some("link_retry"),
            _ => None,
        };
        if let Some(classes) = &classes {
            all.switch.check(|_, switch| every_class_is_served(switch, classes));
        }
        all.switch
            .check(|_, switch| corrupts.map_or(Ok(()), |section| stores_frames(switch, section)));
        let Some((_, links)) = all.flow_control.links() else { return };
        all.switch.check(|_, switch| {
            pool::smallest(cx.topology, &switch.memory, links, count).map(|_| ())
        });
        if let (Some(classes), Some(switch)) = (&classes, all.switch.value()) {
            name_what_has_no_effect(all.switch.section(), switch, classes, links, slow);
        }
    }

    fn set(self, model: &mut Model<'static>) {
        let Switch { memory, ingress_buffer, discipline, scheduler, cut_through } = self;
        model.buffer = Arc::new(move |at| memory.policy(ingress_buffer, at));
        model.ingress_buffer = ingress_buffer;
        model.discipline = discipline;
        model.scheduler = scheduler;
        model.cut_through = cut_through;
    }
}

fn read(s: &mut Section<'_>, host: &Host, seed: u64) -> Result<Switch, ParamError> {
    let mtu = Bytes((host.nic.payload_max + host.nic.header) as u64);
    let buffer = s.bytes("buffer")?;
    let positive = |key: &'static str, v: Bytes| {
        if v.0 == 0 {
            Err(ParamError::new(key, "0 bytes", "expected a size above zero"))
        } else {
            Ok(v)
        }
    };
    let longest = host.longest_frame();
    if positive("buffer", buffer)? < longest {
        return Err(ParamError::new(
            "buffer",
            format!("a buffer of {buffer} has no room for a frame of {longest}"),
            "use a larger buffer, or a smaller host.frame_max",
        ));
    }
    let (total, reserve, headroom, shift) = (
        s.bytes("shared_buffer")?,
        s.bytes("reserve")?,
        s.bytes_opt("headroom")?,
        s.count("alpha_shift")?,
    );
    if shift > 31 {
        return Err(ParamError::new(
            "alpha_shift",
            format!("2^-{shift} of the pool"),
            "expected 0 to 31",
        ));
    }
    let memory = match s.text("memory")?.as_str() {
        "shared" => Memory::Shared { total, reserve, headroom, shift: shift as u8 },
        "pools" => Memory::Pools(None),
        _ => Memory::PerIngress,
    };
    let quantum = positive("quantum", s.bytes("quantum")?)?.0.min(u32::MAX as u64) as u32;
    let arbitration = s.span("arbitration")?;
    let blocks = s.text("full_ring")? == "blocks";
    let mut frames = |key| match s.count(key)? {
        n @ 1..=1_000_000 => Ok(n as u32),
        n => Err(ParamError::new(key, format!("{n} frames"), "expected 1 to 1000000")),
    };
    let batch = frames("batch")?;
    let pipeline = PipelineConfig { burst: frames("burst")?, ring: frames("ring")?, blocks };
    let discipline = match s.text("discipline")?.as_str() {
        "round-robin" => DisciplineKind::RoundRobin,
        "drr" => DisciplineKind::Drr { quantum },
        "random" => DisciplineKind::Random { batch, seed },
        "input-fifo" => DisciplineKind::InputFifo { arbitration },
        "pipeline" => DisciplineKind::Pipeline(pipeline),
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
    let cut_through =
        s.bytes_opt("cut_through")?.map(|head| positive("cut_through", head)).transpose()?;
    name_what_is_unread(s, &memory, discipline, &scheduler);
    Ok(Switch { memory, ingress_buffer: buffer, discipline, scheduler, cut_through })
}

/// Keys of another memory, discipline or scheduler.
fn name_what_is_unread(
    s: &Section<'_>,
    memory: &Memory,
    discipline: DisciplineKind,
    scheduler: &SchedulerKind,
) {
    let unread = |keys: &[&str], why: &str, hint: &str| {
        keys.iter().for_each(|key| s.has_no_effect(key, why, hint))
    };
    let of_shared = ["shared_buffer", "alpha_shift", "reserve", "headroom"];
    match memory {
        Memory::Shared { .. } => {}
        Memory::PerIngress => {
            let why = "memory = \"per-ingress\" is a fixed buffer for each ingress and priority";
            unread(&of_shared, why, "set buffer, or memory = \"shared\"");
        }
        Memory::Pools(_) => {
            let why =
                "with memory = \"pools\", [[buffer_pool]] and [[buffer_profile]] divide the memory";
            unread(&of_shared, why, "use their keys, or set memory = \"shared\"");
        }
    }
    if !matches!(discipline, DisciplineKind::Drr { .. }) {
        unread(
            &["quantum"],
            "only discipline = \"drr\" gives quanta to ingresses",
            "remove the key, or set discipline = \"drr\"",
        );
    }
    if !matches!(discipline, DisciplineKind::Random { .. }) {
        unread(
            &["batch"],
            "only discipline = \"random\" draws an ingress for several frames",
            "remove the key, or set discipline = \"random\"",
        );
    }
    if !matches!(discipline, DisciplineKind::InputFifo { .. }) {
        unread(
            &["arbitration"],
            "only discipline = \"input-fifo\" has a crossbar",
            "remove the key, or set discipline = \"input-fifo\"",
        );
    }
    if !matches!(discipline, DisciplineKind::Pipeline(_)) {
        unread(
            &["burst", "ring", "full_ring"],
            "only discipline = \"pipeline\" has a worker and rings",
            "remove the key, or set discipline = \"pipeline\"",
        );
    }
    if !matches!(scheduler, SchedulerKind::Drr(_)) {
        unread(
            &["weights"],
            "only scheduler = \"drr\" has weights",
            "remove the key, or set scheduler = \"drr\"",
        );
    }
    match scheduler {
        SchedulerKind::VlArbitration(v) if v.high.is_empty() => {
            unread(
                &["vl_high_limit"],
                "the table of high priority is empty",
                "remove the key, or set vl_high",
            );
        }
        SchedulerKind::VlArbitration(_) => {}
        _ => {
            let why = "only scheduler = \"vl-arbitration\" has tables of virtual lanes";
            unread(
                &["vl_high", "vl_low", "vl_high_limit"],
                why,
                "remove the key, or set scheduler = \"vl-arbitration\"",
            );
        }
    }
}

/// Weights of more priorities than there are, and a buffer with which nothing plans.
fn name_what_has_no_effect(
    s: &Section<'_>,
    switch: &Switch,
    classes: &Classes,
    links: &[(LinkFacts, FlowControl)],
    slow_receivers: bool,
) {
    if matches!(switch.scheduler, SchedulerKind::Drr(_)) {
        let given = s.chosen("weights").map_or(0, |w| w.lines().count());
        if given > classes.len() {
            let what = format!(
                "{given} weights, but {} priorities in use: the last weights have no effect",
                classes.len()
            );
            s.warn(&ParamError::new(
                "weights",
                what,
                "expected one for each priority in use, the lowest first",
            ));
        }
    }
    let plans = |fc: &FlowControl| {
        !matches!(fc, FlowControl::None)
            && !matches!(fc.pauses(), Pauses::ByFreeMemory | Pauses::ByProfile)
    };
    if !matches!(switch.memory, Memory::PerIngress)
        && !slow_receivers
        && !links.iter().any(|(_, fc)| plans(fc))
    {
        let why = match switch.memory {
            Memory::Pools(_) => "with memory = \"pools\", [[buffer_pool]] gives the size",
            _ => "shared_buffer gives the memory, and this flow control plans with its free part",
        };
        s.has_no_effect("buffer", why, "remove it");
    }
}

fn read_vl_arbitration(s: &mut Section<'_>) -> Result<VlArbitration, ParamError> {
    let mut table = |key: &'static str| -> Result<Vec<VlEntry>, ParamError> {
        let texts = s.texts(key)?;
        if texts.len() > VlArbitration::VL_ENTRIES_MAX {
            let what = format!("a table of {} entries", texts.len());
            return Err(ParamError::new(
                key,
                what,
                format!("IBA 7.6.9 has at most {}", VlArbitration::VL_ENTRIES_MAX),
            ));
        }
        texts.iter().map(|text| read_turn(key, text)).collect()
    };
    let (high, low) = (table("vl_high")?, table("vl_low")?);
    if high.iter().chain(&low).all(|t| t.weight == 0) {
        return Err(ParamError::new(
            "vl_low",
            "both tables are empty: no virtual lane may send",
            "set, for example, vl_low = [\"0:64\", \"1:64\"]; weights count 64 B",
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
    let parsed = text
        .split_once(':')
        .map(|(vl, weight)| (vl.trim().parse::<u64>(), weight.trim().parse::<u64>()));
    let Some((Ok(vl), Ok(weight))) = parsed else {
        return refuse(
            format!("'{text}' is not a table entry"),
            "expected VL:WEIGHT, such as \"0:64\"",
        );
    };
    match vl {
        0..=7 => {}
        15 => {
            return refuse(
                "VL 15 carries management and is not arbitrated".into(),
                "virtual lanes are the priorities 0 to 7",
            );
        }
        _ => {
            return refuse(
                format!("there is no virtual lane {vl}"),
                "virtual lanes are the priorities 0 to 7",
            );
        }
    }
    match weight.try_into() {
        Ok(weight) => Ok(VlEntry { vl: vl as u8, weight }),
        Err(_) => {
            refuse(format!("a weight of {weight}"), "expected 0 (skipped) to 255, in units of 64 B")
        }
    }
}

/// Warns where cut-through changes nothing.
fn warn_of_cut_through(section: &Section<'_>, topology: &Topology, switch: &Switch, host: &Host) {
    let Some(head) = switch.cut_through else { return };
    let (whole, all) = xoff_sim::stored_and_forwarded(topology);
    let warn = |what: String, why: &str| section.warn(&ParamError::new("cut_through", what, why));
    if head >= host.longest_frame() {
        warn(
            format!("no frame is longer than {head}: switches store and forward all frames"),
            "expected less than the length of a frame",
        );
    } else if whole > 0 {
        warn(
            format!(
                "switches still store and forward the frames of {whole} of {all} link directions"
            ),
            "these links are slower than another link of their switch: bits would be missing in the middle of a frame",
        );
    }
}

/// A class that never has a turn would wait forever.
fn every_class_is_served(switch: &Switch, classes: &Classes) -> Result<(), ParamError> {
    match switch.scheduler.passes_over(classes) {
        None => Ok(()),
        Some(vl) => Err(ParamError::new(
            "vl_low",
            format!("priority {vl} is in use, but virtual lane {vl} never sends"),
            format!("give it a weight, such as \"{vl}:64\", in vl_low or vl_high"),
        )),
    }
}

/// CNMs that congestion points may send through one port at once: one of every queue of the largest
/// switch, at both of its ends.
pub(super) fn congestion_points(topology: &Topology, classes: u64) -> u64 {
    2 * classes
        * topology
            .switches()
            .map(|s| topology.nodes[s.index()].ports.len() as u64)
            .max()
            .unwrap_or(0)
}

/// The most that can ever wait for one egress of a switch [bytes]: all that its memory takes from
/// all ingresses.
pub(super) fn most_at_an_egress(topology: &Topology, switch: &Switch) -> Bytes {
    let ports =
        topology.switches().map(|s| topology.nodes[s.index()].ports.len()).max().unwrap_or(0);
    match switch.memory {
        Memory::Shared { total, .. } => total,
        Memory::Pools(_) => Bytes(u64::MAX),
        Memory::PerIngress => Bytes(switch.ingress_buffer.0.saturating_mul(ports as u64)),
    }
}

/// Rejects cut-through where frames can be corrupted: their check sequence is behind the forwarded
/// part.
fn stores_frames(switch: &Switch, section: &str) -> Result<(), ParamError> {
    match switch.cut_through {
        None => Ok(()),
        Some(_) => {
            let what = format!(
                "{section} conflicts with cut-through: a switch forwards a frame before its check sequence arrives"
            );
            Err(ParamError::new(
                "cut_through",
                what,
                format!("remove switch.cut_through, or {section}"),
            ))
        }
    }
}

//! From a configuration to a model.

use std::sync::Arc;

use xoff_mech::LinkFacts;
use xoff_mech::balancing::Balancing;
use xoff_mech::detection::{Detection, red::Red};
use xoff_mech::flow_control::{FlowControl, pfc};
use xoff_mech::rate_control::{RateControlKind, RecordFormat, dcqcn, hpcc, timely};
use xoff_mech::transport::{Transport, roce};
use xoff_net::topology::routing::Routing;
use xoff_net::topology::{Link, LinkId, NodeKind, Topology};
use xoff_net::workload::{Flow, Flows};
use xoff_node::{
    Acks, BufferPolicy, Compat, ControlDelay, Delivery, DisciplineKind, Pacing, PausedWith,
    PortChoice, SchedulerKind, SharedPool,
};
use xoff_scenario::hpcc::{CcMode, HpccCase, HpccConfig};
use xoff_sim::{
    EventOrder, Faults, Fresh, LinkFailure, Looks, Losses, Model, NicModel, PathFacts, PathFactsOf,
    PerLink, Probes, Selection, StartOrder, World,
};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Rate, Span, Time, WireClock};

use crate::hpcc::losses::LinkErrors;
use crate::hpcc::random::Streams;
use crate::hpcc::round_robin::RoundRobin;
use crate::hpcc::rtt::PairTable;
use crate::hpcc::{ACK_HEADER, ACK_MIN, HEADER, PFC_FRAME};

/// A replay ready to run.
pub struct Replay {
    /// The network with its flows waiting.
    pub world: World,
    /// Graph.
    pub topology: Topology,
    /// Base round-trip times.
    pub pairs: PairTable,
    /// Payload of a full frame [bytes].
    pub payload: u32,
    /// Last instant that is simulated: an event at the stop time itself no longer runs.
    pub until: Time,
    /// A replay of conweave-ns3, whose `fct.txt` has numbers of hosts in place of addresses.
    pub conweave_ns3: bool,
}

/// Builds the replay of a case.
pub fn prepare(case: &HpccCase) -> Result<Replay, ParamError> {
    let c = &case.config;
    let topology = case.topology.graph()?;
    let mut pairs = PairTable::new(&topology, c.payload);
    let flows = flows(case);
    let paths = paths(c, &pairs);
    if c.cc_mode == CcMode::Hpcc
        && let Some(f) =
            case.flows.iter().find(|f| paths(NodeId(f.src), NodeId(f.dst)).window.is_none())
    {
        let what = format!("the window between {} and {} is 0 bytes", f.src, f.dst);
        return Err(ParamError::new(
            "HAS_WIN",
            what,
            "use longer delays: the law of CC_MODE 3 divides by the window",
        ));
    }
    let mut model = model(c, &topology);
    model.path_facts = Some(paths);
    if !c.has_win {
        model.path_facts = Some(Arc::new(|_, _| PathFacts::default()));
    }
    model.faults = faults(case, &topology);
    let with_own_errors = case.topology.links.iter().filter(|l| l.error_rate > 0.0).count() as u64;
    let first = 6 * topology.nodes.len() as u64 + 2 + 2 * with_own_errors;
    model.draws = Some(Arc::new(move || Box::new(Streams::from(first))));
    let failure = model.faults.failures.first().copied();
    let world = World::build(&topology, flows, &model)?;
    let until = Time::from_ns(c.stop_ns.saturating_sub(1));
    drop(model);
    if let Some(f) = failure {
        pairs.fail(&topology, f);
    }
    let conweave_ns3 = c.conweave_ns3;
    Ok(Replay { world, payload: c.payload, until, topology, pairs, conweave_ns3 })
}

/// Source ports count from 10000 per pair of hosts, in the order of the file.
fn flows(case: &HpccCase) -> Flows {
    let mut next_port = std::collections::HashMap::new();
    let flows: Vec<Flow> = case
        .flows
        .iter()
        .map(|f| {
            let src_port = f.sport.unwrap_or_else(|| {
                let port = next_port.entry((f.src, f.dst)).or_insert(10_000u16);
                std::mem::replace(port, port.wrapping_add(1))
            });
            Flow {
                src: NodeId(f.src),
                dst: NodeId(f.dst),
                priority: f.pg,
                size: f.size,
                start: Time::from_ns(f.start_ns),
                rate: None,
                controlled: true,
                src_port,
                dst_port: f.dport,
                path: None,
                label: 0,
            }
        })
        .collect();
    Flows { flows: flows.into(), labels: vec!["flow file".into()], ..Flows::default() }
}

/// Window and round-trip time of each pair of hosts, or with `GLOBAL_T` the largest of all for
/// everyone.
fn paths<'a>(c: &HpccConfig, pairs: &'a PairTable) -> PathFactsOf<'a> {
    let largest = (c.has_win && c.global_t).then(|| (pairs.bdp_max(), pairs.rtt_max_ns()));
    Arc::new(move |src, dst| {
        let (bdp, rtt) = largest.unwrap_or_else(|| (pairs.bdp(src, dst), pairs.rtt_ns(src, dst)));
        let window = bdp as u32 as u64; // handed over in 32 bits there
        PathFacts { window: (window > 0).then_some(window), base_rtt: Some(Span::from_ns(rtt)) }
    })
}

fn model<'a>(c: &'a HpccConfig, t: &Topology) -> Model<'a> {
    let first_host = t.hosts().next();
    let nic_rate = first_host
        .filter(|&h| !t.nodes[h.index()].ports.is_empty())
        .map_or(Rate::ZERO, |h| t.link_at(h, 0).rate);
    let telemetry = telemetry_len(c.cc_mode);
    let buffer = Bytes((c.buffer_mib.wrapping_mul(1 << 20)) as u64);
    let conweave_ns3 = c.conweave_ns3;
    Model {
        balancing: Balancing::Ecmp,
        flow_control: PerLink::All(FlowControl::Pfc(pfc::Params {
            threshold: pfc::Threshold::Dynamic {
                xon_offset: if c.conweave_ns3 { Bytes(1) } else { Bytes(3 << 10) },
            },
            quanta: None,
            repeat: Span::ZERO,
        })),
        detection: if c.ecn {
            PerLink::by(move |link| Ok(red(c, link)))
        } else {
            PerLink::All(Detection::None)
        },
        buffer: Arc::new(move |at| {
            let links = at.links;
            if conweave_ns3 {
                return BufferPolicy::Shared(broadcom(buffer, links));
            }
            BufferPolicy::Shared(SharedPool {
                total: buffer,
                reserve: Bytes(4 << 10),
                headroom: links.iter().map(headroom).collect(),
                shift: links.iter().map(|l| shift(l.rate, nic_rate)).collect(),
            })
        }),
        ingress_buffer: buffer,
        discipline: DisciplineKind::Fifo,
        scheduler: SchedulerKind::RoundRobin,
        cut_through: None,
        watchdog: None,
        control_delay: ControlDelay::default(),
        message_len: Some(Bytes(PFC_FRAME)),
        clock: WireClock::Nanoseconds,
        routing: Routing::HPCC,
        nic: NicModel {
            payload_max: c.payload,
            header: HEADER + telemetry,
            acks: Acks {
                len: (ACK_HEADER + telemetry).max(ACK_MIN),
                class: conweave_ns3.then_some(0), // in switches, too
                // Acknowledgements sit in queue 3 of the host, or with ACK_HIGH_PRIO in queue 0,
                // which nothing pauses.
                paused_with: PausedWith::Class((!c.ack_high_prio && !conweave_ns3).then_some(3)),
            },
            transport: Transport::Roce(roce::Params {
                interval: c.l2_ack_interval as u64,
                chunk: c.l2_chunk.max(1) as u64,
                back_to_zero: c.l2_back_to_zero,
                nack_interval: Span::from_us(if conweave_ns3 { 4 } else { 500 }),
                timers: None,
            }),
            cnps_unpaused: false,
            order: Delivery::Strict,
            obeys_priorities: false,
            rate_control: match c.cc_mode {
                CcMode::None => RateControlKind::None,
                CcMode::Dcqcn => RateControlKind::Dcqcn(dcqcn_params(c)),
                CcMode::Hpcc => RateControlKind::Hpcc(hpcc_params(c)),
                CcMode::Timely => RateControlKind::Timely(timely_params(c)),
            },
            window_follows_rate: c.var_win,
            rate_bound: c.rate_bound,
            entropy: None,
            port_choice: PortChoice::Hash,
            pacing: Pacing::Gap,
            shared_connections: false,
            window: None,
        },
        compat: Compat::HPCC_SIMULATOR,
        order: EventOrder::Insertion,
        threads: 1,
        share: None,
        engine: Default::default(),
        seed: 1,
        // One look when the run ends: a deadlock among sticky pauses leaves nothing to happen.
        deadlock_interval: Span::from_ms(86_400_000),
        stop_on_deadlock: false,
        stop_when_done: false,
        fast_forward: false,
        checks: false,
        probes: Probes {
            control: Selection::All,
            histogram: c.qlen_mon_file.is_some().then(|| looks(c)),
            ..Probes::default()
        },
        lossy: Vec::new(),
        unpaused: Some(0),
        draws: None,
        faults: Faults::default(),
        outside: None,
        links_without_flow_control: Vec::new(),
        priorities: Vec::new(),
        path_facts: None,
    }
}

/// Every 100 ns, in bins of 1000 bytes, written every 100 ms of simulated time.
fn looks(c: &HpccConfig) -> Looks {
    Looks {
        first: Time::from_ns(c.qlen_mon_start_ns),
        every: Span::from_ns(100),
        last: Time::from_ns(c.qlen_mon_end_ns),
        bin: Bytes(1000),
        keep_every: Span::from_us(100_000),
    }
}

/// `LINK_DOWN` counts from second 2.
fn faults(case: &HpccCase, t: &Topology) -> Faults {
    let failure = case.config.link_down.and_then(|down| {
        let joins = |l: &Link| {
            (l.a, l.b) == (NodeId(down.a), NodeId(down.b))
                || (l.b, l.a) == (NodeId(down.a), NodeId(down.b))
        };
        let link = t.links.iter().rposition(joins)? as LinkId;
        Some(LinkFailure { at: Time::from_ns(2_000_000_000) + Span::from_us(down.time_us), link })
    });
    Faults {
        failures: failure.into_iter().collect(),
        losses: LinkErrors::new(case)
            .map(|l| -> Fresh<dyn Losses> { Arc::new(move || Box::new(l.clone())) }),
        round_robin: failure
            .map(|_| -> Fresh<dyn StartOrder> { Arc::new(|| Box::<RoundRobin>::default()) }),
        ..Faults::default()
    }
}

/// rate x delay / 8 / 10^9, each cut off, and then three times that.
fn headroom(l: &LinkFacts) -> Bytes {
    Bytes((l.rate.0.wrapping_mul(l.delay.as_ns()) / 8 / 1_000_000_000 * 3) as u32 as u64)
}

/// Memory of a switch of conweave-ns3 (`switch-mmu.cc`), as near as a shared pool comes to it:
/// alpha = 1/16, two frames for each port, and a pool without eight frames for each port. There,
/// bytes of the reserve count as used in the pool.
fn broadcom(buffer: Bytes, links: &[LinkFacts]) -> SharedPool {
    let frame = 1_048;
    let headroom = |l: &LinkFacts| {
        Bytes(l.rate.0.wrapping_mul(l.delay.as_ns()) / 8 / 1_000_000_000 * 2 + 2 * frame)
    };
    SharedPool {
        total: Bytes(buffer.0.saturating_sub(6 * frame * links.len() as u64)),
        reserve: Bytes(2 * frame),
        headroom: links.iter().map(headroom).collect(),
        shift: vec![4; links.len()],
    }
}

/// alpha = 1/8 at the rate of the hosts, doubled for every doubling above it.
fn shift(mut rate: Rate, nic_rate: Rate) -> u8 {
    let mut shift = 3;
    while rate > nic_rate && shift > 0 {
        shift -= 1;
        rate = rate / 2;
    }
    shift
}

fn red(c: &HpccConfig, link: &LinkFacts) -> Detection {
    fn of<T: Copy + Default>(map: &[(Rate, T)], rate: Rate) -> T {
        map.iter().rev().find(|e| e.0 == rate).map(|e| e.1).unwrap_or_default()
    }
    // In conweave-ns3 the first 1,049 B of a queue are not in its shared part, which is compared.
    let apart = if c.conweave_ns3 { 1_049 } else { 0 };
    Detection::Red(Red {
        kmin: Bytes(of(&c.kmin, link.rate).wrapping_mul(1000) as u64 + apart),
        kmax: Bytes(of(&c.kmax, link.rate).wrapping_mul(1000) as u64 + apart),
        pmax: of(&c.pmax, link.rate),
    })
}

fn dcqcn_params(c: &HpccConfig) -> dcqcn::Params {
    dcqcn::Params {
        g: c.ewma_gain,
        alpha_timer: Span::from_us(c.alpha_resume_interval_us),
        decrease_interval: Span::from_us(c.rate_decrease_interval_us),
        increase_timer: Span::from_us(c.rp_timer_us),
        fast_recovery: c.fast_recovery_times,
        rate_ai: c.rate_ai,
        rate_hai: c.rate_hai,
        min_rate: c.min_rate,
        clamp_target: c.clamp_target_rate,
        ..dcqcn::Params::of(dcqcn::Variant::Hpcc)
    }
}

/// Bytes that the rate control adds to every data frame and to its acknowledgement: records of the
/// way (HPCC), or the time at which the frame left (TIMELY).
fn telemetry_len(mode: CcMode) -> u32 {
    match mode {
        CcMode::None | CcMode::Dcqcn => 0,
        CcMode::Hpcc => RecordFormat::HEADER,
        CcMode::Timely => 8,
    }
}

/// Window and round-trip time come with each flow ([`PathFacts`]).
fn hpcc_params(c: &HpccConfig) -> hpcc::Params {
    hpcc::Params {
        eta: c.u_target,
        max_stage: c.mi_thresh,
        rate_ai: c.rate_ai,
        base_rtt: None,
        window: None,
        window_follows_rate: c.var_win,
        min_rate: c.min_rate,
        fast_react: c.fast_react,
        multi_rate: c.multi_rate,
        sample_feedback: c.sample_feedback,
        int: RecordFormat::Packed { multi: c.int_multi },
    }
}

/// Parameters of TIMELY; without a key, the value of the variant.
fn timely_params(c: &HpccConfig) -> timely::Params {
    timely::Params {
        delta: c.rate_ai,
        hai: c.rate_hai,
        min_rate: c.min_rate,
        ..timely::Params::of(timely::Variant::Hpcc)
    }
}

impl Replay {
    /// Whether this node is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.topology.nodes[node.index()].kind == NodeKind::Switch
    }
}

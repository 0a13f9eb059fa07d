//! Rows that are known only at the end: flows, deadlocks and the counters of ports.

use xoff_mech::detection::Mark;
use xoff_net::jobs::Pages;
use xoff_net::topology::PortNumbers;
use xoff_record::{
    DeadlockRow, FlowRow, Label, Node, PoolRow, Port, PortRow, RecordError, Slowdown, StormRow,
    Tables,
};
use xoff_sim::Outcome;
use xoff_units::{NodeId, PortId, Span, Time};

use super::NetworkScenario;
use super::sorted::{Sorted, key, of_key};
use super::uplinks::{self, Balance, Samples};
use crate::network::ideal::Ideals;

/// Slowdowns of any number of flows.
struct Slowdowns {
    values: Sorted,
    censored: u64,
}

impl Slowdowns {
    fn new(pages: Option<&Pages>) -> Slowdowns {
        Slowdowns { values: Sorted::new(pages), censored: 0 }
    }

    /// Adds the slowdown of a flow, or a lower bound for a flow that has not ended.
    fn add(&mut self, slowdown: f64, is_bound: bool) {
        self.values.push(key(slowdown));
        self.censored += u64::from(is_bound);
    }

    fn sum_up(self) -> Option<Slowdown> {
        let flows = self.values.len();
        Slowdown::of_sorted(flows, self.censored, self.values.into_sorted().map(of_key))
    }
}

/// Totals of a run.
#[derive(Default)]
pub(super) struct Totals {
    /// Slowdown of the flows.
    pub slowdown: Option<Slowdown>,
    /// Ideal time of each flow that is in memory at the end.
    pub ideals: Vec<Option<Span>>,
    /// Balance of load.
    pub balance: Balance,
}

/// Flows, uplinks, deadlocks and port counters: known only at the end.
pub(super) fn write_rows(
    s: &NetworkScenario,
    o: &Outcome,
    ports: &PortNumbers,
    samples: Option<Samples>,
    tables: &mut Tables,
) -> Result<Totals, RecordError> {
    let pages = s.flows.pages();
    let (mut slowdowns, mut all) = (Slowdowns::new(pages), Vec::with_capacity(o.flows.len()));
    let ideals = Ideals::new(s, o);
    let balance = uplinks::write(s, o, (&ideals, ports), samples, tables)?;
    for (i, f) in o.all_flows().enumerate() {
        let (f, w) = (&*f, &f.flow);
        let begun = w.start < Time::NEVER;
        let ideal = if begun { ideals.of(f) } else { None };
        if i < o.flows.len() {
            all.push(ideal);
        }
        if !begun {
            continue; // a message of a job
        }
        let fct = f.fct();
        let slowdown = |time: Span| ideal.filter(|i| i.0 > 0).map(|i| time.0 as f64 / i.0 as f64);
        match fct {
            Some(fct) => slowdown(fct).into_iter().for_each(|s| slowdowns.add(s, false)),
            None => slowdown(o.now.since(w.start))
                .into_iter()
                .for_each(|bound| slowdowns.add(bound.max(1.0), true)),
        }
        tables.flows.push(FlowRow {
            flow: i as u64,
            src: Node(w.src.0),
            dst: Node(w.dst.0),
            src_port: w.src_port,
            dst_port: w.dst_port,
            priority: w.priority,
            size_bytes: w.size,
            start_ps: w.start.0,
            end_ps: f.received.map(|t| t.0),
            fct_ps: fct.map(|t| t.0),
            bytes_delivered: f.delivered,
            ce_frames: f.marked.of(Mark::Ce),
            ue_frames: f.marked.of(Mark::Ue),
            ideal_fct_ps: ideal.map(|t| t.0),
            slowdown: fct.and_then(slowdown),
            label: Label(w.label),
            cnms: f.cnms,
            acked_ps: f.acked().map(|t| t.0),
            bytes_arrived: f.arrived(),
            frames_ahead: f.ahead.frames,
            ahead_bytes_max: f.ahead.peak,
            ahead_ps_max: f.ahead.hold,
            paths: balance.paths.get(i).copied().flatten(),
            collided: balance.collided.get(i).copied().flatten().map(u8::from),
        })?;
    }
    write_deadlocks(o, ports, tables)?;
    write_storms(s, o, ports, tables)?;
    write_pools(s, o, tables)?;
    for (n, node) in o.ports.iter().enumerate() {
        for (p, t) in node.iter().enumerate() {
            let peer = s.topology.nodes[n].ports[p];
            let far = &o.ports[peer.peer.index()][peer.peer_port as usize];
            let cnms = |node: NodeId, port: u16| {
                o.cnms.get(&PortId { node, port }).copied().unwrap_or_default()
            };
            tables.ports.push(PortRow {
                port: Port(ports.of(NodeId(n as u32), p as u16)),
                tx_bytes: t.tx_bytes,
                tx_frames: t.tx_frames,
                messages: t.messages_received,
                marked: t.marked.of(Mark::Ce),
                marked_ue: t.marked.of(Mark::Ue),
                dropped: far.dropped,
                egress_bytes_max: t.egress_bytes_max,
                ingress_bytes_max: far.ingress_bytes_max,
                pauses: t.pauses,
                paused_ps: t.paused_ps,
                blocks: t.blocks,
                blocked_ps: t.blocked_ps,
                allowed_bps_min: t.allowed_min.map(|r| r.0),
                cnms_egress: cnms(NodeId(n as u32), p as u16).egress,
                cnms_ingress: cnms(peer.peer, peer.peer_port).ingress,
                tail_dropped: t.tail_dropped,
                // The hash has the frames that came.
                lost: far.lost,
                messages_sent: far.messages_sent,
            })?;
        }
    }
    Ok(Totals { slowdown: slowdowns.sum_up(), ideals: all, balance })
}

fn write_pools(s: &NetworkScenario, o: &Outcome, tables: &mut Tables) -> Result<(), RecordError> {
    let names = s.pool_names();
    for (&node, uses) in &o.pools {
        for (pool, used) in s.pools_at(node).iter().zip(uses) {
            let label = names.iter().position(|n| *n == pool.name).unwrap_or(0);
            tables.pools.push(PoolRow {
                switch: Node(node.0),
                pool: Label((s.flows.labels.len() + label) as u32),
                side: pool.side,
                size_bytes: pool.size.0,
                reserved_bytes: pool.reserves.0,
                shared_bytes: used.shared,
                shared_bytes_max: used.shared_max,
                headroom_bytes: used.headroom,
                headroom_bytes_max: used.headroom_max,
            })?;
        }
    }
    Ok(())
}

fn write_storms(
    s: &NetworkScenario,
    o: &Outcome,
    ports: &PortNumbers,
    tables: &mut Tables,
) -> Result<(), RecordError> {
    let action = s.watchdog().map(|w| w.action).unwrap_or_default();
    o.storms.iter().try_for_each(|storm| {
        tables.storms.push(StormRow {
            port: Port(ports.of(storm.node, storm.port)),
            priority: storm.priority,
            start_ps: storm.since.0,
            detected_ps: storm.found.0,
            end_ps: storm.over.map(|t| t.0),
            action,
            discarded_data: storm.discarded.data,
            discarded_control: storm.discarded.control,
        })
    })
}

fn write_deadlocks(
    o: &Outcome,
    ports: &PortNumbers,
    tables: &mut Tables,
) -> Result<(), RecordError> {
    for (cycle, d) in o.deadlocks.iter().enumerate() {
        for (position, p) in d.cycle.iter().enumerate() {
            tables.deadlocks.push(DeadlockRow {
                time_ps: d.seen.0,
                start_ps: d.closed.0,
                cycle: cycle as u32,
                position: position as u32,
                port: Port(ports.of(p.node, p.port)),
                priority: p.priority,
                frames: p.frames as u64,
                bytes: p.bytes.0,
                blocked_start_ps: p.since.0,
            })?;
        }
    }
    Ok(())
}

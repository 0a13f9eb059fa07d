//! The lines of `fct.txt`, `pfc.txt` and `qlen.txt`.

use xoff_net::topology::PortNumbers;
use xoff_net::topology::routing::hpcc_ip;
use xoff_sim::{Direction, FlowRecord, QueueCounts, Row};
use xoff_units::{NodeId, PortId, Time};

use crate::hpcc::HEADER;
use crate::hpcc::rtt::PairTable;

/// Facts of a replay for the lines of `fct.txt`.
#[derive(Clone, Copy)]
pub struct Lines<'r> {
    /// Base round-trip times.
    pub pairs: &'r PairTable,
    /// Payload of a full frame [bytes].
    pub payload: u32,
    /// Hosts by number, as in conweave-ns3, not by address.
    pub conweave_ns3: bool,
}

/// `sip dip sport dport size start_ns fct_ns standalone_ns`; `None` while the flow is not complete.
///
/// `fct_ns` ends with the last acknowledgement at the source. `standalone_ns` is that simulator's,
/// which a replay keeps: a round trip of a payload and the whole flow at the slowest link. It is no
/// lower bound, and slowdowns by it fall below 1; `ideal_time` of the sim crate is one.
pub fn fct_line(f: &FlowRecord, replay: &Lines<'_>) -> Option<String> {
    let Lines { pairs, payload, conweave_ns3 } = *replay;
    let end = f.end?;
    let w = &f.flow;
    // 32-bit bytes times a 64-bit constant: the sum wraps above 4 GiB as it does there.
    let frames = (w.size.wrapping_sub(1) / payload as u64).wrapping_add(1);
    let bytes = w.size.wrapping_add(frames.wrapping_mul(HEADER as u64)) as u32;
    let standalone = pairs.rtt_ns(w.src, w.dst)
        + (bytes as u64 * 8_000_000_000) / pairs.rate_at(w.src, w.dst, end).max(1);
    let host = |h| if conweave_ns3 { format!("{h}") } else { format!("{:08x}", hpcc_ip(h)) };
    Some(format!(
        "{} {} {} {} {} {} {} {}",
        host(w.src),
        host(w.dst),
        w.src_port,
        w.dst_port,
        w.size,
        w.start.as_ns(),
        end.since(w.start).as_ns(),
        standalone
    ))
}

/// A PFC frame that a device received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Simulated time [ns].
    pub time_ns: u64,
    /// Number of the node.
    pub node: NodeId,
    /// Whether the node is a switch.
    pub is_switch: bool,
    /// Port, counted from 1 as there.
    pub interface: u16,
    /// Pause, not resume.
    pub pause: bool,
}

impl Pfc {
    /// The content of a row, if it is that of a message that arrived.
    pub fn of(row: &Row, ports: &PortNumbers, is_switch: impl Fn(NodeId) -> bool) -> Option<Pfc> {
        let Row::Control(c) = row else { return None };
        let PortId { node, port } = ports.place(c.port.0);
        let (time_ns, interface) = (Time(c.time_ps).as_ns(), port + 1);
        (c.direction == Direction::Received).then(|| Pfc {
            time_ns,
            node,
            is_switch: is_switch(node),
            interface,
            pause: c.message.0 == "pause",
        })
    }
}

/// `time_ns node node_type if_index type`.
pub fn pfc_line(p: &Pfc) -> String {
    format!("{} {} {} {} {}", p.time_ns, p.node, p.is_switch as u8, p.interface, p.pause as u8)
}

/// One block of `qlen.txt`: `time: ns`, then for each port of a switch `node port count count ...`,
/// the counts by thousands of bytes from 0 on.
pub fn qlen_block(q: &QueueCounts, is_switch: impl Fn(NodeId) -> bool) -> String {
    let mut out = format!("time: {}\n", q.time.as_ns());
    for (node, ports) in (0u32..).zip(&q.counts).filter(|(node, _)| is_switch(NodeId(*node))) {
        for (port, counts) in (1u32..).zip(ports) {
            out += &format!("{node} {port}");
            counts.iter().for_each(|c| out += &format!(" {c}"));
            out += "\n";
        }
    }
    out
}

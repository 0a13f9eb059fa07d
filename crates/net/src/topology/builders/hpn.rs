//! A pod of Alibaba HPN (Qian et al., SIGCOMM 2024): tiers 1 and 2 of its backend network.
//!
//! ```text
//!   plane a: A0a A1a ..    plane b: A0b A1b ..    each aggregation switch is joined to every ToR of its plane
//!
//!   T0.0a T0.0b   T0.1a T0.1b       T1.0a ..      ToRs T<segment>.<rail><plane>: a pair for each rail of a segment
//!     |  X  |       |  X  |
//!   G0.0  G1.0    G0.1  G1.1                      GPUs G<server>.<gpu>; GPU g is on rail g
//! ```
//!
//! A NIC has two ports, one to each ToR of its pair (dual ToR, not stacked), and the ToRs of the
//! two sides form two planes that no link joins (dual plane). As published: 128 servers of 8 GPUs
//! in a segment, 15 segments in a pod, 60 aggregation switches in a plane, 2 x 200 Gb/s for each
//! NIC and 400 Gb/s upwards: 15,360 GPUs. Backup servers, the core and the frontend network are
//! left out.

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::scale_up::{NIC_DELAY, NVSWITCHES, SCALE_UP_DELAY, SCALE_UP_RATE, ScaleUp, add_gpus};
use super::{
    NO_RACK, PORTS_MAX, UPLINK_DELAY, Wire, count, host_limit, link_limit, port_limit, positive,
};
use crate::topology::graph::{NodeKind, Topology};

/// Description.
pub const DOC: &str = "pod of Alibaba HPN: GPUs G0.0.. with two ports each, ToRs T0.0a, T0.0b.. by segment and rail, planes of aggregation switches A0a.. and A0b..";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("segments", Kind::Count, "2", "segments of the pod; 15 as published", ""),
    ParamSpec::new(
        "servers_per_segment",
        Kind::Count,
        "4",
        "servers of each segment; 128 as published",
        "",
    ),
    ParamSpec::new("gpus", Kind::Count, "4", "GPUs of each server, and rails; 8 as published", ""),
    ParamSpec::new(
        "aggs_per_plane",
        Kind::Count,
        "4",
        "aggregation switches of each of the two planes; 60 as published",
        "",
    ),
    NVSWITCHES,
    ParamSpec::new(
        "rate",
        Kind::Rate,
        "200Gbps",
        "rate of each port of a NIC",
        "HPN: 2 x 200 Gb/s",
    ),
    ParamSpec::new(
        "uplink_rate",
        Kind::Rate,
        "400Gbps",
        "rate of the links between ToRs and aggregation switches",
        "HPN: 60 x 400 Gb/s on each ToR",
    ),
    NIC_DELAY,
    UPLINK_DELAY,
    SCALE_UP_RATE,
    SCALE_UP_DELAY,
];

/// Builds it. Ports 0 and 1 of a GPU lead to ToRs a and b of its rail, ports 2.. to the NVSwitches.
/// On a ToR the GPUs come first, by server, then the aggregation switches.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let segments = count(v, "segments", 1, PORTS_MAX)?;
    let of_segment = count(v, "servers_per_segment", 1, PORTS_MAX / 2)?;
    let gpus = count(v, "gpus", 1, 256)?;
    let aggs = count(v, "aggs_per_plane", 1, PORTS_MAX / 2)?;
    let servers = segments as u64 * of_segment as u64;
    host_limit("servers_per_segment", servers * gpus as u64)?;
    port_limit("segments", segments as u64 * gpus as u64)?;
    let tors = segments * gpus;
    link_limit("aggs_per_plane", 2 * (tors as u64 * aggs as u64 + servers * gpus as u64))?;
    let wire = Wire::read(v)?;
    let uplink = Wire {
        rate: positive("uplink_rate", v.rate("uplink_rate")?)?,
        delay: v.span_opt("uplink_delay")?.unwrap_or(wire.delay),
    };
    let scale_up = ScaleUp::read(v, servers * gpus as u64)?;
    let mut t = Topology::default();
    add_gpus(&mut t, servers as u32, gpus);
    let tor = NodeId(t.nodes.len() as u32);
    for i in 0..2 * tors {
        let name = format!("T{}.{}{}", i / 2 / gpus, i / 2 % gpus, ['a', 'b'][i as usize % 2]);
        t.add_node(name, NodeKind::Switch, 1, NO_RACK);
    }
    let agg = NodeId(t.nodes.len() as u32);
    for i in 0..2 * aggs {
        let name = format!("A{}{}", i % aggs, ['a', 'b'][(i / aggs) as usize]);
        t.add_node(name, NodeKind::Switch, 2, NO_RACK);
    }
    for gpu in 0..tor.0 {
        let pair = tor + 2 * (gpu / gpus / of_segment * gpus + gpu % gpus);
        wire.join(&mut t, NodeId(gpu), pair);
        wire.join(&mut t, NodeId(gpu), pair + 1);
    }
    for i in 0..2 * tors {
        (0..aggs).for_each(|a| uplink.join(&mut t, tor + i, agg + i % 2 * aggs + a));
    }
    scale_up.join(&mut t, servers as u32, gpus);
    Ok(t)
}

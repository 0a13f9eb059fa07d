//! Permutation: each host sends to one other host and receives from one other host.
//!
//! The hosts form a list: racks in random order, the hosts of a rack together. Let n be the number
//! of hosts in the largest rack. Each host sends to the host n places further, so no host sends to
//! itself or into its own rack. Random exchanges of two destinations then mix the assignment, and
//! keep this property. Not every assignment is equally likely.

use std::collections::BTreeMap;

use rand_core::Rng;
use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::constant_rate::late;
use crate::workload::destinations::one_rack;
use crate::workload::flow::DST_PORT;
use crate::workload::random::{Purpose, below, entity, stream};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    select::HOSTS,
    ParamSpec::new(
        "different_rack",
        Kind::Flag,
        "false",
        "Every destination is in another rack than its source.",
        "",
    ),
    select::SIZE,
    select::START,
    select::JITTER,
    select::RATE,
    select::PRIORITY,
];

/// One flow per host, in index order of the sources.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let mut out = Generated::default();
    let hosts = select::participants(v, cx.topo, &mut out.notes)?;
    let (priority, size, rate) = (select::priority(v)?, select::size(v)?, select::rate(v)?);
    let (start, jitter) = (select::start(v)?, v.span("jitter")?);
    for (src, dst) in assign(cx, &hosts, v.flag("different_rack")?)? {
        let start = start + late(cx, src, jitter);
        out.flows.push(Flow {
            src,
            dst,
            priority,
            size,
            start,
            rate,
            controlled: true,
            src_port: 0,
            dst_port: DST_PORT,
            path: None,
            label: cx.label,
        });
    }
    Ok(out)
}

/// (source, destination) for each of `hosts`, by source.
fn assign(
    cx: &Context,
    hosts: &[NodeId],
    other_rack: bool,
) -> Result<BTreeMap<NodeId, NodeId>, ParamError> {
    let group = |h: NodeId| if other_rack { cx.topo.nodes[h.index()].rack } else { h.0 };
    let mut racks: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for &h in hosts {
        racks.entry(group(h)).or_default().push(h);
    }
    let largest = racks.values().map(Vec::len).max().unwrap_or(0);
    if largest * 2 > hosts.len() {
        return Err(one_rack());
    }
    let draw = |h: NodeId| {
        stream(cx.seed, entity(cx.topo.name(h)), Purpose::Order.of(cx.label)).next_u64()
    };
    let mut racks: Vec<Vec<(u64, NodeId)>> = racks
        .into_values()
        .map(|rack| {
            let mut rack: Vec<_> = rack.into_iter().map(|h| (draw(h), h)).collect();
            rack.sort_unstable();
            rack
        })
        .collect();
    // A rack's place is that of its lowest draw.
    racks.sort_unstable();
    let src: Vec<NodeId> = racks.into_iter().flatten().map(|(_, h)| h).collect();
    let n = src.len();
    let mut dst: Vec<NodeId> = (0..n).map(|i| src[(i + largest) % n]).collect();

    // n ln n / 2 exchanges mix a permutation; 32 n are plenty up to any number of hosts that can be
    // simulated.
    let mut rng = stream(cx.seed, 0, Purpose::Exchange.of(cx.label));
    for _ in 0..32 * n {
        let (i, j) = (below(&mut rng, n as u64) as usize, below(&mut rng, n as u64) as usize);
        if group(src[i]) != group(dst[j]) && group(src[j]) != group(dst[i]) {
            dst.swap(i, j);
        }
    }
    Ok(src.into_iter().zip(dst).collect())
}

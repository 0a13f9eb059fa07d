//! Scale-up networks: the GPUs of a server or rack, joined by NVSwitches next to their NICs.
//!
//! ```text
//!   scale-out ports       |0   |0   |0   |0
//!                         G0.0 G0.1 G0.2 G0.3     each GPU has a port to each NVSwitch of its domain,
//!   scale-up ports      1.. \   \   /   /         after its scale-out ports
//!                          NV0.0 NV0.1
//! ```
//!
//! An NVSwitch has level 0, as its GPUs have: see [`Node::level`](crate::topology::Node::level).

use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{Wire, count_or_none, link_limit, positive};
use crate::topology::graph::{NodeKind, Topology};

pub(super) const NVSWITCHES: ParamSpec = ParamSpec::new(
    "nvswitches",
    Kind::Count,
    "1",
    "NVSwitches of each server, each joined to all of its GPUs; 0: no scale-up network",
    "",
);
pub(super) const SCALE_UP_RATE: ParamSpec = ParamSpec::new(
    "scale_up_rate",
    Kind::Rate,
    "3600Gbps",
    "rate of each link between a GPU and an NVSwitch",
    "NVIDIA H100: 18 NVLinks of 25 GB/s per direction",
);
pub(super) const SCALE_UP_DELAY: ParamSpec = ParamSpec::new(
    "scale_up_delay",
    Kind::Span,
    "25ns",
    "propagation delay of the links between GPUs and NVSwitches",
    "SimAI gen_Topo_Template.py: nv_latency",
);
/// Rate of a NIC's port in fabrics of GPUs.
pub(super) const NIC_RATE: ParamSpec = ParamSpec::new(
    "rate",
    Kind::Rate,
    "400Gbps",
    "rate of every link, unless another key says otherwise",
    "SimAI gen_Topo_Template.py: bandwidth",
);
/// Propagation delay in fabrics of GPUs.
pub(super) const NIC_DELAY: ParamSpec = ParamSpec::new(
    "delay",
    Kind::Span,
    "500ns",
    "propagation delay of every link, unless another key says otherwise",
    "SimAI gen_Topo_Template.py: latency",
);

/// NVSwitches of a domain, and the wires to them.
pub(super) struct ScaleUp {
    switches: u32,
    wire: Wire,
}

impl ScaleUp {
    /// The scale-up network of the keys above, for this number of GPUs.
    pub fn read(v: &mut dyn Values, gpus: u64) -> Result<ScaleUp, ParamError> {
        let switches = count_or_none(v, "nvswitches", 256)?;
        link_limit("nvswitches", gpus * u64::from(switches))?;
        let rate = positive("scale_up_rate", v.rate("scale_up_rate")?)?;
        Ok(ScaleUp { switches, wire: Wire { rate, delay: v.span("scale_up_delay")? } })
    }

    /// Joins the GPUs of each domain, which are nodes 0.. in the order of the domains.
    pub fn join(&self, t: &mut Topology, domains: u32, gpus: u32) {
        for domain in 0..domains {
            for i in 0..self.switches {
                t.add_node(format!("NV{domain}.{i}"), NodeKind::Switch, 0, domain);
            }
        }
        let first = NodeId(t.nodes.len() as u32 - domains * self.switches);
        for gpu in 0..domains * gpus {
            for i in 0..self.switches {
                self.wire.join(t, NodeId(gpu), first + gpu / gpus * self.switches + i);
            }
        }
    }
}

/// Adds the GPUs `G0.0..` of servers or racks as nodes 0.., one domain after the other.
pub(super) fn add_gpus(t: &mut Topology, domains: u32, gpus: u32) {
    for i in 0..domains * gpus {
        t.add_node(format!("G{}.{}", i / gpus, i % gpus), NodeKind::Host, 0, i / gpus);
    }
}

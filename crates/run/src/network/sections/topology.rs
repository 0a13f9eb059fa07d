//! `[topology]`: switches, hosts and links. `xoff_scenario` reads the section.

use std::path::Path;

use xoff_net::topology::Topology;
use xoff_node::NIC_PORTS_MAX;
use xoff_scenario::document::{Document, SectionSpec};
use xoff_units::NodeId;
use xoff_units::params::ParamError;

pub(super) fn specs() -> Vec<SectionSpec> {
    xoff_scenario::topology::sections()
}

pub(in crate::network) fn read(doc: &Document, folder: &Path) -> Option<Topology> {
    let mut section = doc.open(&specs().swap_remove(0));
    let topology = xoff_scenario::topology::build_in(&mut section, folder)?;
    // Before routes and flows are laid over it.
    section.take(|_| {
        hosts_have_ports(&topology)?;
        crate::network::resources::network_fits(&topology)
    })?;
    Some(topology)
}

/// Refuses hosts with more links than a NIC has ports.
fn hosts_have_ports(topology: &Topology) -> Result<(), ParamError> {
    let ports = |h: NodeId| topology.nodes[h.index()].ports.len();
    match topology.hosts().find(|&h| ports(h) > NIC_PORTS_MAX) {
        None => Ok(()),
        Some(host) => Err(ParamError::new(
            "kind",
            format!("host {} has {} links", topology.name(host), ports(host)),
            format!("a host has at most {NIC_PORTS_MAX}"),
        )),
    }
}

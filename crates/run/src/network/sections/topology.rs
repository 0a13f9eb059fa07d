//! `[topology]`: switches, hosts and links. `xoff_scenario` reads the section.

use std::path::Path;

use xoff_net::topology::Topology;
use xoff_scenario::document::{Document, SectionSpec};

pub(super) fn specs() -> Vec<SectionSpec> {
    xoff_scenario::topology::sections()
}

pub(in crate::network) fn read(doc: &Document, folder: &Path) -> Option<Topology> {
    let mut section = doc.open(&specs().swap_remove(0));
    let topology = xoff_scenario::topology::build_in(&mut section, folder)?;
    // Before routes and flows are laid over it.
    section.take(|_| crate::network::resources::network_fits(&topology))?;
    Some(topology)
}

//! What several tests of load balancing read off a run.

use xoff_run::{Finished, NetworkScenario};

/// Bytes of the uplinks of the first leaf.
pub fn uplinks(s: &NetworkScenario, f: &Finished) -> Vec<u64> {
    let leaf = s.topology.find("L1").expect("the first leaf").index();
    let ports = s.topology.nodes[leaf].ports.iter().zip(&f.outcome.ports[leaf]);
    let up = ports.filter(|(p, _)| s.topology.name(p.peer).starts_with('S'));
    up.map(|(_, t)| t.tx_bytes).collect()
}

//! The deadlock case of GFC Fig. 11: fat-tree k = 4, three failed links, four flows, the cycle
//! C1->A3->C2->A7->C1.
//!
//! The paper names the flows and the cycle; the failed links and the paths are read off a figure
//! that is not in its text. Of the 4,960 sets of three failed links between switches exactly four
//! allow shortest paths of these flows that close this cycle (a test searches them all): E1-A2 or
//! its mirror image A6-E5, with A1-C2 and A5-C1 or, exchanging C1 and C2, A1-C1 and A5-C2. We take
//! the first. The paths are not the only shortest ones: each flow has four, and one of the 256
//! combinations closes the cycle, so they must be given explicitly.
//!
//! ```text
//!   F1  H0  E1 A1 C1 A3 C2 A5 E5 H8      cut off from pod 2 at A1-C2 and C1-A5, turns up again at A3
//!   F2  H4  E3 A3 C2 A7 E7 H12
//!   F3  H9  E5 A5 C2 A7 C1 A1 E1 H1      likewise, at A7
//!   F4  H13 E7 A7 C1 A3 E3 H5
//!
//!   C1->A3: F1 F4    A3->C2: F1 F2    C2->A7: F2 F3    A7->C1: F3 F4      two flows on every link of the cycle
//! ```

use xoff_net::topology::builders::fat_tree;
use xoff_net::topology::failures::fail_links;
use xoff_net::topology::{ExplicitPaths, FlowKey, Topology};
use xoff_units::params::Defaults;

use crate::cbd::Flow;

/// The failed links.
pub const FAILED_LINKS: [&str; 3] = ["E1-A2", "A1-C2", "A5-C1"];

/// Paths of the flows F1 to F4.
pub const PATHS: [&[&str]; 4] = [
    &["H0", "E1", "A1", "C1", "A3", "C2", "A5", "E5", "H8"],
    &["H4", "E3", "A3", "C2", "A7", "E7", "H12"],
    &["H9", "E5", "A5", "C2", "A7", "C1", "A1", "E1", "H1"],
    &["H13", "E7", "A7", "C1", "A3", "E3", "H5"],
];

/// The links of the cycle, each filling the buffer that the previous one waits for.
pub const CYCLE: [&str; 4] = ["C1->A3", "A3->C2", "C2->A7", "A7->C1"];

/// Path of the victim flow F5 of Fig. 14, whose ends the paper's text has lost: from the other host
/// of F1's edge switch, over F1's first two links, to a host off the cycle. It is the only shortest
/// path of these ends.
pub const VICTIM_PATH: &[&str] = &["H1", "E1", "A1", "E2", "H2"];

/// The fat-tree with its parameters at their defaults (10 Gb/s, 1 us: GFC section 6.2.2) and the
/// three failures.
pub fn topology() -> Topology {
    let mut t =
        fat_tree::build(&mut Defaults::of(fat_tree::PARAMS)).expect("the defaults are valid");
    fail_links(&mut t, &FAILED_LINKS).expect("the links exist");
    t
}

/// The four flows on their paths.
pub fn flows(t: &Topology) -> (Vec<Flow>, ExplicitPaths) {
    let mut paths = ExplicitPaths::default();
    let flows = PATHS
        .iter()
        .map(|names| {
            let path = paths.add(t, names).expect("the path exists");
            let nodes = paths.nodes(path);
            let key = FlowKey {
                src: nodes[0],
                dst: nodes[nodes.len() - 1],
                src_port: 10_000,
                dst_port: 100,
            };
            Flow { key, path: Some(path) }
        })
        .collect();
    (flows, paths)
}

//! A scenario as a run.
//!
//! ```text
//!   scenario.toml --load--> Scenario --+-> NetworkScenario --start--> Running --run--> Finished
//!                                      |   (topology, flows, model)  (World + tables) (outcome, manifest, tables)
//!                                      +-> FabricScenario --run--> FabricFinished
//! ```
//!
//! Stages are types: a scenario with a mistake never becomes a world, and tables cannot be read
//! before they are closed. The command line, Python and the paper reproductions all go through
//! here. [`hpcc`] runs configurations of the HPCC simulator.

mod fabric;
pub mod hpcc;
pub mod keys;
mod manifest;
mod network;
mod scenario;

pub use fabric::sections::sections as fabric_sections;
pub use fabric::{FabricFinished, FabricRunning, FabricScenario};
pub use manifest::{ExtraFile, ProcessTime, Progress, RESOLVED, RunError};
pub use network::boundary::Boundary;
pub use network::checkpoint::{Fork, Saved, bytes as checkpoints};
pub use network::driven::{Driven, Happened, Interrupted, Message, Receive, What};
pub use network::explain::{
    Circle, Explanation, How, MessageExplanation, Root, Step, explain, explain_in, explain_message,
};
pub use network::resources::cores;
pub use network::sections::specs as sections;
pub use network::summary::Summary;
pub use network::tree::{Branch, Member, Role, Tree, congestion_tree};
pub use network::verdict;
pub use network::{CAUSES, Straggler, Stretch, rank_states};
pub use network::{
    Course, Finished, FrameTap, Iteration, JobSummary, NetworkScenario, Page, PortLook, RankState,
    Running,
};
pub use scenario::Scenario;

pub use xoff_sim::{
    BalancingDraws, Engine, OnWire, PortSample, Processes, Selection, Stopped, Waiter, agree,
};

/// Folder of temporary files.
fn temporary() -> std::path::PathBuf {
    // The standard library names none for WebAssembly.
    if cfg!(target_family = "wasm") { "/".into() } else { std::env::temp_dir() }
}

/// Version of this program, as in manifests and tables.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version and fingerprint of the sources that compute results. Stored results carry it, so a
/// changed mechanism does not continue with previous results.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("XOFF_ENGINE"));

/// The fingerprint alone, as in manifests.
pub const FINGERPRINT: &str = env!("XOFF_ENGINE");

#[cfg(test)]
mod tests {
    use super::*;

    /// Without one of these, a changed mechanism would reuse previous results.
    #[test]
    fn the_engine_is_all_that_decides_results() {
        let of: Vec<&str> = env!("XOFF_ENGINE_OF").split(' ').collect();
        for name in ["units", "mech", "net", "node", "sim", "rows", "scenario", "analysis"] {
            assert!(of.contains(&format!("../{name}/src").as_str()), "{name} is not in {of:?}");
        }
        assert!(of.iter().any(|f| f.ends_with("data/cdf/websearch.txt")), "{of:?}");
        assert!(of.contains(&"./src") && !of.contains(&"../report/src"), "{of:?}");
        let (version, fingerprint) = ENGINE.split_once(' ').unwrap();
        assert_eq!((version, fingerprint.len()), (VERSION, 16));
    }
}

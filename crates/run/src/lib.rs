//! A scenario as a run.
//!
//! ```text
//!   scenario.toml --load--> Scenario --start--> Running --run--> Finished
//!                (topology, flows, model)   (World + tables)   (outcome, manifest, tables)
//! ```
//!
//! Stages are types: a scenario with a mistake never becomes a world, and tables cannot be read before they are
//! closed. The command line, Python and the paper reproductions all go through here.

mod boundary;
mod conditions;
mod derived;
mod execute;
mod explain;
mod fabric;
mod ideal;
mod idle;
mod load;
mod loaded;
mod recorder;
mod resources;
mod sections;
mod standstill;
mod summary;
mod tree;
pub mod verdict;

pub use boundary::Boundary;
pub use execute::{Finished, Progress, RESOLVED, RunError, Running};
pub use explain::{Explanation, How, Root, Step, explain};
pub use fabric::{FabricFinished, FabricScenario};
pub use load::Scenario;
pub use loaded::Loaded;
pub use resources::cores;
pub use sections::{fabric_sections, sections};
pub use summary::Summary;
pub use tree::{Branch, Member, Role, Tree, congestion_tree};

/// Version of this program, as in manifests and tables.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

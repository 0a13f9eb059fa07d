//! The generators by name. A new one is a file here and a line in [`GENERATORS`].

use crate::topology::Topology;
use xoff_units::params::suggest::nearest;
use xoff_units::params::{ParamError, ParamSpec, Values};

use crate::workload::{Generated, SizeCdf};

pub mod bursts;
pub mod closed_loop;
pub mod constant_rate;
pub mod flows;
pub mod incast;
pub mod mpi_io;
pub mod permutation;
pub mod poisson;

/// Inputs of a generator besides its parameters.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The network, with failed links marked.
    pub topo: &'a Topology,
    /// Seed of the run.
    pub seed: u64,
    /// Index of this workload in the label table; workloads draw apart by it.
    pub label: u32,
    /// Finds a size distribution by built-in name or file; errors name the key `cdf`.
    pub cdfs: &'a dyn Fn(&str) -> Result<SizeCdf, ParamError>,
}

/// One kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Name in a scenario.
    pub name: &'static str,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Parameters.
    pub params: &'static [ParamSpec],
    /// Makes the flows.
    pub generate: fn(&mut dyn Values, &Context) -> Result<Generated, ParamError>,
}

/// Every generator.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "flows",
        doc: "One flow, given explicitly.",
        params: flows::PARAMS,
        generate: flows::generate,
    },
    Generator {
        name: "constant-rate",
        doc: "Hosts that send at a constant rate.",
        params: constant_rate::PARAMS,
        generate: constant_rate::generate,
    },
    Generator {
        name: "incast",
        doc: "Several senders to one receiver.",
        params: incast::PARAMS,
        generate: incast::generate,
    },
    Generator {
        name: "permutation",
        doc: "Each host sends to one other and receives from one other.",
        params: permutation::PARAMS,
        generate: permutation::generate,
    },
    Generator {
        name: "poisson",
        doc: "Random arrivals of random sizes at a given load.",
        params: poisson::PARAMS,
        generate: poisson::generate,
    },
    Generator {
        name: "bursts",
        doc: "Several senders that start at the same times, round after round.",
        params: bursts::PARAMS,
        generate: bursts::generate,
    },
    Generator {
        name: "mpi-io",
        doc: "Short messages among MPI processes, and long ones from I/O clients to I/O servers.",
        params: mpi_io::PARAMS,
        generate: mpi_io::generate,
    },
    Generator {
        name: "closed-loop",
        doc: "Each host starts its next flow when one ends.",
        params: closed_loop::PARAMS,
        generate: closed_loop::generate,
    },
];

/// The generator of this name; the error names key `kind` and the nearest name.
pub fn find(name: &str) -> Result<&'static Generator, ParamError> {
    GENERATORS.iter().find(|g| g.name == name).ok_or_else(|| {
        let hint = match nearest(name, GENERATORS.iter().map(|g| g.name)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!(
                "expected one of {}",
                GENERATORS.iter().map(|g| g.name).collect::<Vec<_>>().join(", ")
            ),
        };
        ParamError::new("kind", format!("there is no workload '{name}'"), hint)
    })
}

//! htsim: fat-tree descriptions (`.topo`) and connection matrices (`.cm`) of uet-htsim and
//! csg-htsim.
//!
//! A matrix alone is wired as htsim does without `-topo`: a 3-tier fat-tree of its hosts, 100 Gb/s
//! and 1 us a hop.

mod matrix;
mod tiers;

pub use matrix::{Connection, Trigger, TriggerKind};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Problem, Problems, Source};

use crate::import::options::StartUnit;
use crate::import::text::lines;
use crate::import::{Network, Options};

/// One line for help.
pub const DOC: &str = "htsim's fat-tree (.topo), connection matrix (.cm), or both";

/// Reads a topology, a matrix, or both.
pub(super) fn read(sources: &[Arc<Source>], options: &Options) -> Result<Network, Problems> {
    let (matrices, topologies): (Vec<_>, Vec<_>) = sources.iter().partition(|s| is_matrix(s));
    if let Some(second) = matrices.get(1).or(topologies.get(1)) {
        return Err(Problem::new("a second file of the same kind", DOC)
            .at(second.place(0..0))
            .into());
    }
    let matrix = matrices.first().map(|s| matrix::read(s, options)).transpose()?;
    let mut network = match (topologies.first(), &matrix) {
        (Some(source), _) => tiers::read(source)?,
        (None, Some(matrix)) => tiers::default_for(matrix.nodes, matrices[0])?,
        (None, None) => Network::default(),
    };
    if let Some(matrix) = matrix {
        let hosts = network.nodes.iter().filter(|n| n.name.starts_with("host")).count() as u64;
        if matrix.nodes != hosts {
            let what = format!("Nodes is {}, but the topology has {hosts} hosts", matrix.nodes);
            return Err(Problem::new(what, "give a matrix and topology with the same hosts")
                .at(matrix.nodes_at)
                .into());
        }
        network.flows = matrix.flows;
        matrix.left_out.into_iter().for_each(|what| network.leave_out(what));
        network.warnings.extend(matrix.warnings);
    }
    Ok(network)
}

/// A connection matrix with its triggers.
pub struct Connections {
    /// Hosts.
    pub nodes: u64,
    /// In the order of the file.
    pub list: Vec<Connection>,
    /// By id.
    pub triggers: BTreeMap<u64, Trigger>,
    /// Other read parts, which were ignored.
    pub left_out: Vec<String>,
}

/// Reads a matrix for who takes its triggers too.
///
/// # Errors
/// What is wrong in the file, with its line.
pub fn connections(source: &Arc<Source>, start_unit: StartUnit) -> Result<Connections, Problem> {
    let m = matrix::read(source, &Options { start_unit, ..Options::default() })?;
    let left_out = m.left_out.into_iter().filter(|what| !what.contains("trigger")).collect();
    Ok(Connections { nodes: m.nodes, list: m.connections, triggers: m.triggers, left_out })
}

/// A matrix has connections; a topology has tiers.
fn is_matrix(source: &Arc<Source>) -> bool {
    if source.name().ends_with(".topo") {
        return false;
    }
    source.name().ends_with(".cm")
        || lines(source).any(|l| l.text.starts_with("Connections") || l.text.contains("->"))
}

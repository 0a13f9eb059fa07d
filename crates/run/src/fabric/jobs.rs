//! `[[job]]` and `[[collective]]` over a scheduled fabric: their ranks are at its ports.

use std::path::Path;
use std::sync::Arc;

use xoff_net::jobs::{Job, Jobs};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::Flows;
use xoff_record::FabricJob;
use xoff_scenario::document::{Document, Section};
use xoff_sim::scheduled::{Core, Report};
use xoff_units::params::{ParamError, Values};
use xoff_units::{Rate, Span, Time};

use crate::network::jobs::{keys, read_jobs};

/// Ports of a core.
fn ports(core: &Core) -> u32 {
    match core {
        Core::Network(shape) => shape.ports(),
        Core::Spine { edge_ports, edges, .. } => edge_ports * edges,
        Core::Ideal { ports } => *ports,
    }
}

/// The jobs of a document; `None`: there are none, or something is wrong, which the document knows.
pub(super) fn read(
    doc: &Document,
    (core, line): (&Core, Rate),
    (duration, seed): (Span, u64),
    folder: &Path,
) -> Option<Arc<Jobs>> {
    if !doc.has(&keys::job()) && !doc.has(&keys::collective()) {
        return None;
    }
    // What the reader of jobs needs to know of a network: the names of its hosts.
    let mut all = Topology::default();
    let hosts: Vec<_> =
        (0..ports(core)).map(|p| all.add_node(format!("P{p}"), NodeKind::Host, 0, p)).collect();
    let fabric = all.add_node("the fabric", NodeKind::Switch, 1, 0);
    hosts.into_iter().for_each(|host| _ = all.add_link(host, fabric, line, Span::ZERO));
    let mut flows = Flows::default();
    read_jobs(doc, &all, (seed, Time(duration.0)), folder, &mut flows, suits)?;
    flows.jobs
}

/// Refuses what a scheduled fabric does not have.
fn suits(s: &mut Section<'_>, job: &Job) -> Result<(), ParamError> {
    let refused = [
        ("stream", s.given("stream") && s.flag("stream")?, "a fabric keeps its jobs in memory"),
        ("node_ranks", job.inner.is_some(), "each rank has a port of its own"),
        ("priority", job.priority != 0, "a scheduled fabric has one priority"),
    ];
    for (key, is_set, why) in refused {
        if is_set {
            return Err(ParamError::new(key, why, "remove the key, or simulate a network"));
        }
    }
    for key in ["src_port", "queue_pairs"] {
        s.has_no_effect(key, "a scheduled fabric has no ECMP and no queue pairs", "remove the key");
    }
    Ok(())
}

/// Iterations of each job.
pub(super) fn answers(jobs: Option<&Arc<Jobs>>, r: &Report) -> Vec<FabricJob> {
    let of = |(nth, job): (usize, &Arc<Job>)| {
        let ranks: Vec<_> = r.ranks.iter().filter(|rank| rank.job == nth).collect();
        let end = |i: usize| {
            let ends = ranks.iter().map(|rank| rank.iterations.get(i)?.1);
            Some(ends.collect::<Option<Vec<Time>>>()?.into_iter().max()?.0)
        };
        // The next one starts when the last rank is through, so that they add up to the job's time.
        let iteration = |i: usize| {
            let begun = ranks.iter().filter_map(|rank| Some(rank.iterations.first()?.0.0)).min();
            Some((if i == 0 { begun? } else { end(i - 1)? }, end(i)?))
        };
        FabricJob {
            name: job.name.clone(),
            ranks: job.hosts.len() as u64,
            iterations: job.iterations.into(),
            complete_ps: (0..job.iterations as usize).map_while(iteration).collect(),
        }
    };
    jobs.into_iter().flat_map(|jobs| jobs.jobs.iter().enumerate().map(of)).collect()
}

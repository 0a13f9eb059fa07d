//! Input files of the HPCC simulator (alibaba-edu/High-Precision-Congestion-Control, commit
//! 9f4be2a) and of its fork conweave-ns3 (commit 236a801), unmodified.
//!
//! ```text
//!   config.txt -> HpccConfig --+-> topology.txt -> HpccTopology -> graph
//!                              +-> flow.txt     -> HpccFlows
//!                              +-> trace.txt       (checked; packet traces are not written)
//! ```
//!
//! Formats and arithmetic were read off that simulator's source and its runs; no code of it is
//! used.

mod config;
mod flow;
mod keys;
pub mod ns3;
mod topology;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use config::{CcMode, HpccConfig, Ignored, LinkDown};
pub use flow::{HpccFlow, HpccFlows, read_trace};
pub use topology::{HpccLink, HpccTopology};

use crate::{Place, Problem, Problems, Source};

/// A configuration with the files it names.
#[derive(Clone, Debug, PartialEq)]
pub struct HpccCase {
    /// The configuration.
    pub config: HpccConfig,
    /// Topology of the case.
    pub topology: HpccTopology,
    /// Flows of the case.
    pub flows: Vec<HpccFlow>,
    /// Everything the user should know, of all files.
    pub warnings: Problems,
}

/// Reads a configuration and the files it names. Names are looked up in the configuration's folder,
/// in the working folder, and in the parent of the configuration's folder: the original's are
/// relative to its working folder.
///
/// # Errors
/// A file that is missing or unreadable, and every error in a file, with its place.
pub fn load(path: &Path) -> Result<HpccCase, Problems> {
    let mut config = HpccConfig::read(&Source::read(path)?)?;
    let mut warnings = std::mem::take(&mut config.warnings);
    let open = |name: &str, place: &Option<Place>| Source::read(&locate(path, name, place)?);

    let topology = HpccTopology::read(&open(&config.topology_file, &config.topology_place)?)?;
    let flow_file = open(&config.flow_file, &config.flow_place);
    let mut problems = check_maps(&config, &topology);
    check_link_down(&config, &topology, &mut problems);
    let read = |source| match config.conweave_ns3 {
        true => HpccFlows::read_conweave_ns3(&source, &topology.is_switch),
        false => HpccFlows::read(&source, &topology.is_switch),
    };
    let flows = match flow_file.and_then(read) {
        Ok(flows) => flows,
        Err(e) => {
            problems.extend(e);
            return Err(problems);
        }
    };
    warnings.extend(flows.warnings);
    if config.cc_mode == CcMode::Hpcc {
        check_paths(&config, &topology, &flows.flows, &mut problems);
        warn_of_rates(&topology, &mut warnings);
    }

    if let Some(name) = &config.trace_file {
        // Packet traces are not written; a missing list of traced nodes is no error.
        match locate(path, name, &None) {
            Ok(found) => match Source::read(&found)
                .and_then(|source| read_trace(&source, topology.is_switch.len()))
            {
                Ok((_, w)) => warnings.extend(w),
                Err(e) => problems.extend(e),
            },
            Err(e) => e.iter().for_each(|p| warnings.push(p.clone().warning())),
        }
    }
    problems.or(HpccCase { config, topology, flows: flows.flows, warnings })
}

/// Path of the file with this name: beside the configuration, in the working folder, or beside the
/// configuration's folder.
///
/// # Errors
/// A file that is in none of them.
pub fn locate(config: &Path, name: &str, place: &Option<Place>) -> Result<PathBuf, Problems> {
    let folder = config.parent().unwrap_or(Path::new(""));
    let mut tried = vec![folder.join(name), PathBuf::from(name)];
    tried.extend(folder.parent().map(|f| f.join(name)));
    tried.dedup();
    if let Some(found) = tried.iter().find(|p| p.is_file()) {
        return Ok(found.clone());
    }
    let tried: Vec<String> = tried.iter().map(|p| format!("'{}'", p.display())).collect();
    let p = Problem::new(
        format!("there is no file '{name}'"),
        format!("looked for {}", tried.join(", ")),
    );
    Err(match place {
        Some(place) => p.at(place.clone()),
        None => p,
    }
    .into())
}

/// With marking on, every rate of a switch port needs its thresholds; the original aborts there.
fn check_maps(config: &HpccConfig, topology: &HpccTopology) -> Problems {
    let mut problems = Problems::default();
    if !config.ecn {
        return problems;
    }
    let mut seen = Vec::new();
    for link in &topology.links {
        if !topology.is_switch[link.a as usize] && !topology.is_switch[link.b as usize]
            || seen.contains(&link.rate)
        {
            continue;
        }
        let lacks = [
            ("KMAX_MAP", config.kmax.iter().any(|e| e.0 == link.rate)),
            ("KMIN_MAP", config.kmin.iter().any(|e| e.0 == link.rate)),
            ("PMAX_MAP", config.pmax.iter().any(|e| e.0 == link.rate)),
        ];
        let lacking: Vec<&str> =
            lacks.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
        if !lacking.is_empty() {
            let what = format!("no entry for {} bit/s in {}", link.rate.0, lacking.join(", "));
            problems.push(
                Problem::new(what, "add an entry for each rate of a switch port")
                    .at(link.rate_place.clone()),
            );
            seen.push(link.rate);
        }
    }
    problems
}

/// A failure needs a link to fail.
fn check_link_down(config: &HpccConfig, topology: &HpccTopology, problems: &mut Problems) {
    let (Some(down), Some(place)) = (config.link_down, &config.link_down_place) else { return };
    let joins = |l: &HpccLink| (l.a, l.b) == (down.a, down.b) || (l.b, l.a) == (down.a, down.b);
    if !topology.links.iter().any(joins) {
        let what = format!("LINK_DOWN: there is no link between {} and {}", down.a, down.b);
        problems.push(
            Problem::new(what, "expected microseconds after second 2 and the two nodes of a link")
                .at(place.clone()),
        );
    }
}

/// Records of the way that a frame there has room for (`int-header.h`).
const HOPS_MAX: u32 = 5;

/// With HPCC no flow may pass more switches than a frame has room for records: the original writes
/// beyond them.
fn check_paths(
    config: &HpccConfig,
    topology: &HpccTopology,
    flows: &[HpccFlow],
    problems: &mut Problems,
) {
    // Before a link fails, and after.
    let networks: Vec<_> =
        std::iter::once(None).chain(config.link_down.map(|down| Some((down.a, down.b)))).collect();
    let mut paths: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
    for (nth, flow) in (1u64..).zip(flows) {
        let to = paths.entry(flow.dst).or_insert_with(|| {
            networks.iter().map(|&without| topology.distances(flow.dst, without)).collect()
        });
        let switches = to
            .iter()
            .map(|links| links[flow.src as usize])
            .filter(|&d| d != u32::MAX)
            .max()
            .unwrap_or(1)
            - 1;
        if switches > HOPS_MAX {
            let what = format!(
                "flow {nth}: its path from {} to {} passes {switches} switches",
                flow.src, flow.dst
            );
            let hint = format!(
                "expected at most {HOPS_MAX} with CC_MODE 3: a frame of the original has no room for more records"
            );
            let problem = Problem::new(what, hint);
            problems.push(match &config.cc_mode_place {
                Some(place) => problem.at(place.clone()),
                None => problem,
            });
            return; // the other flows would say the same
        }
    }
}

/// Records know five link rates; the original prints an error for every other rate and continues.
fn warn_of_rates(topology: &HpccTopology, warnings: &mut Problems) {
    let mut seen: Vec<u64> = [25, 50, 100, 200, 400].map(|gbps| gbps * 1_000_000_000).to_vec();
    for link in topology
        .links
        .iter()
        .filter(|l| topology.is_switch[l.a as usize] || topology.is_switch[l.b as usize])
    {
        if !seen.contains(&link.rate.0) {
            seen.push(link.rate.0);
            let what = format!("records of the path have no code for {} bit/s", link.rate.0);
            let hint = "as in the original, CC_MODE 3 treats such a link as 25 Gb/s";
            warnings.push(Problem::new(what, hint).at(link.rate_place.clone()).warning());
        }
    }
}

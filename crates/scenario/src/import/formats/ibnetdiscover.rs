//! InfiniBand: the topology that `ibnetdiscover` prints (or a net of ibsim), forwarding tables, and
//! service levels.
//!
//! ```text
//!   topology                Switch 8 "S-..." / Ca 1 "H-..." and lines [port] "peer"[port] # ... lid ... 4xEDR
//!   forwarding tables       dump_fts, opensm-lfts.dump ("Unicast lids ..."), opensm.fdbs ("dump_ucast_routes: ...")
//!   service levels          psl: SOURCE_GUID DLID SL; slvl: SWITCH_GUID IN OUT 0x01 ...; opensm-sl2vl.dump
//! ```
//!
//! Each kind is recognised by the content of the file.

mod levels;
mod lft;
mod topology;

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Problem, Problems, Source};

use crate::import::text::lines;
use crate::import::{Network, Options};

/// One line for help.
pub const DOC: &str = "InfiniBand: ibnetdiscover's topology, with forwarding tables (dump_fts, opensm-lfts.dump, opensm.fdbs) and service levels";

/// A fabric with the facts that the tables need.
#[derive(Default)]
pub(super) struct Fabric {
    pub network: Network,
    /// The node of a GUID, as quoted (`S-...`, `H-...`).
    pub of_guid: HashMap<u64, Vec<usize>>,
    /// Ports of a node: their number in the topology by their number on the box.
    pub ports: Vec<HashMap<u32, u16>>,
    /// Number of ports of each node.
    pub port_count: Vec<u32>,
    /// The host at a local identifier.
    pub lids: HashMap<u32, usize>,
    /// Identifiers of switches, which no data goes to.
    pub switch_lids: std::collections::HashSet<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Topology,
    Tables,
    PathLevels,
    Lanes,
}

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], _: &Options) -> Result<Network, Problems> {
    let mut of_kind: HashMap<u8, Vec<&Arc<Source>>> = HashMap::new();
    for source in sources {
        let kind = kind(source)?;
        of_kind.entry(kind as u8).or_default().push(source);
    }
    let take = |kind: Kind| of_kind.get(&(kind as u8)).map(Vec::as_slice).unwrap_or_default();
    let source = super::only_ref(
        take(Kind::Topology),
        "expected one topology, the output of ibnetdiscover",
    )?;
    let mut fabric = topology::read(source)?;
    let tables = take(Kind::Tables);
    let mut read = None;
    match tables {
        [] => {}
        [one] => {
            let (installed, findings) = lft::read(one, &fabric)?;
            (read, fabric.network.findings) = (Some(installed), findings);
        }
        [_, second, ..] => {
            return Err(Problem::new("a second file of forwarding tables", "expected one")
                .at(second.place(0..0))
                .into());
        }
    }
    let (psl, slvl) = (take(Kind::PathLevels), take(Kind::Lanes));
    if let Some(tables) = &mut read {
        match (psl, slvl) {
            ([], []) => fabric.network.warnings.push(
                Problem::new(
                    "no service levels: xoff puts all traffic on one virtual lane",
                    "for engines such as LASH and DFSSSP, also give psl and slvl files",
                )
                .warning(),
            ),
            ([], [one, ..]) => {
                let what = "the files map service levels to virtual lanes, but no path has a service level: xoff puts all traffic on one \
                     virtual lane";
                fabric.network.warnings.push(
                    Problem::new(
                        what,
                        "also give the service levels of paths: lines SOURCE_GUID DLID SL",
                    )
                    .at(one.place(0..0))
                    .warning(),
                );
            }
            (psl, slvl) => tables.lanes = Some(levels::read(psl, slvl, &fabric, tables)?),
        }
    }
    fabric.network.tables = read;
    fabric.network.has_credits = true;
    fabric.network.leave_out("cable lengths, which ibnetdiscover does not know");
    Ok(fabric.network)
}

/// Kind of a file, by its first line with content.
fn kind(source: &Arc<Source>) -> Result<Kind, Problem> {
    for line in lines(source) {
        let text = line.text.trim_start();
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first.is_empty() || first.starts_with('#') {
            continue;
        }
        if text.starts_with("Unicast lids") || text.starts_with("dump_ucast_routes") {
            return Ok(Kind::Tables);
        }
        if text.starts_with("Switch 0x") || text.starts_with("Channel Adapter 0x") {
            return Ok(Kind::Lanes);
        }
        if first.starts_with("0x") {
            return Ok(if words.clone().count() == 2 { Kind::PathLevels } else { Kind::Lanes });
        }
        let is_node = ["Switch", "Ca", "Hca", "Rt"].contains(&first);
        if is_node
            || first.contains('=')
            || first.starts_with("Chassis")
            || first.starts_with("Non-Chassis")
            || first.starts_with('[')
        {
            return Ok(Kind::Topology);
        }
        if first == "{" {
            let hint = "this is opensm-subnet.lst; give the output of ibnetdiscover";
            return Err(line.problem(first, "xoff does not read a list of links", hint));
        }
        return Err(line.problem(
            "",
            format!("unknown line '{}'", crate::suggest::clip(text)),
            DOC,
        ));
    }
    Err(Problem::new("the file is empty", DOC).at(source.place(0..0)))
}

//! Forwarding tables, in three forms that differ in their heads and in the end of a table.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};
use xoff_net::topology::NodeKind;
use xoff_net::topology::routing::{Destination, Tables};
use xoff_units::NodeId;

use super::Fabric;
use crate::import::formats::routes;
use crate::import::text::{Line, end, lines};

/// No port: frames to it are dropped.
const NONE: u64 = 255;

/// A table under way.
struct Table {
    node: usize,
    place: Place,
    /// True if a last line marks the file as complete, and it was read.
    counted: bool,
    complete: bool,
}

/// Reads the tables and follows every one of their paths.
pub(super) fn read(source: &Arc<Source>, fabric: &Fabric) -> Result<(Tables, Problems), Problems> {
    let lids: BTreeMap<u32, usize> = fabric.lids.iter().map(|(lid, node)| (*lid, *node)).collect();
    let index: HashMap<u32, u32> =
        lids.keys().enumerate().map(|(i, lid)| (*lid, i as u32)).collect();
    let to = |(lid, node): (&u32, &usize)| Destination {
        host: NodeId(*node as u32),
        address: format!("lid 0x{lid:x}"),
    };
    let mut tables = Tables::new(lids.iter().map(to).collect());
    if lids.is_empty() {
        let what = "the topology has no lids of adapters: xoff cannot follow the forwarding tables";
        return Err(Problem::new(
            what,
            "expected the output of ibnetdiscover, whose lines end in '# lid 12 lmc 0 ...'",
        )
        .at(source.place(0..0))
        .into());
    }
    // Where each entry stands, and each table's head.
    let mut entries: HashMap<(NodeId, u32), u32> = HashMap::new();
    let mut heads: HashMap<NodeId, Place> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    let mut table: Option<Table> = None;
    let all: Vec<Line<'_>> = lines(source).collect();
    for (number, line) in all.iter().enumerate() {
        let text = line.text.trim_start();
        if text.starts_with("Unicast lids") || text.starts_with("dump_ucast_routes") {
            complete(&table, &line.place())?;
            let next = head(line, fabric)?;
            if heads.insert(NodeId(next.node as u32), next.place.clone()).is_some() {
                return Err(line
                    .problem("", "this switch already has a table", "keep one of the two")
                    .into());
            }
            seen.clear();
            table = Some(next);
        } else if text.contains("lids dumped") {
            table.iter_mut().for_each(|t| t.complete = true);
        } else if text.starts_with("0x") {
            let Some(table) = &table else {
                return Err(line
                    .problem(
                        "",
                        "an entry before any table",
                        "expected 'Unicast lids ... of switch ...' above it",
                    )
                    .into());
            };
            let (lid, port) = entry(line, fabric, table.node)?;
            if !seen.insert(lid) {
                return Err(line
                    .problem(
                        "",
                        format!("lid 0x{lid:x} is in this table twice"),
                        "keep one of the two",
                    )
                    .into());
            }
            let Some(&destination) = index.get(&lid) else {
                if !fabric.switch_lids.contains(&lid) {
                    return Err(line
                        .problem(
                            "",
                            format!("lid 0x{lid:x} belongs to no port of the topology"),
                            "expected tables and topology of one fabric",
                        )
                        .into());
                }
                continue;
            };
            entries.insert((NodeId(table.node as u32), destination), number as u32);
            tables.set(NodeId(table.node as u32), destination, port.into_iter().collect());
        }
    }
    complete(&table, &end(source))?;
    let switches = (0..fabric.network.nodes.len())
        .filter(|&n| fabric.network.nodes[n].kind == NodeKind::Switch);
    for n in switches {
        if !tables.has(NodeId(n as u32)) && !heads.contains_key(&NodeId(n as u32)) {
            let node = &fabric.network.nodes[n];
            return Err(Problem::new(
                format!("switch '{}' has no table", node.name),
                "expected a table of every switch",
            )
            .at(end(source))
            .into());
        }
    }
    let place = |switch: NodeId, destination: u32| match entries.get(&(switch, destination)) {
        Some(&number) => Ok(all[number as usize].place()),
        None => Err(heads.get(&switch).cloned().unwrap_or_else(|| source.place(0..0))),
    };
    let findings = routes::follow(&fabric.network, &tables, place)?;
    Ok((tables, findings))
}

/// Refuses a table that was cut off.
fn complete(table: &Option<Table>, at: &Place) -> Result<(), Problem> {
    match table {
        Some(t) if t.counted && !t.complete => {
            let what =
                format!("the table at {} ends without its count: the file is truncated", t.place);
            Err(Problem::new(what, "expected '... lids dumped' at the end of a table")
                .at(at.clone()))
        }
        _ => Ok(()),
    }
}

/// `Unicast lids [0x0-0xf] of switch ... guid 0x0000000000200003 (ring4):` or
/// `dump_ucast_routes: Switch 0x0000000000200000`
fn head(line: &Line<'_>, fabric: &Fabric) -> Result<Table, Problem> {
    let counted = line.text.trim_start().starts_with("Unicast");
    let key = if counted { "guid 0x" } else { "Switch 0x" };
    let digits = line
        .text
        .split_once(key)
        .map(|(_, rest)| rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default());
    let guid = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
    let guid = guid.ok_or_else(|| {
        line.problem("", "the GUID of a switch is missing", format!("expected {key}..."))
    })?;
    let node = fabric
        .of_guid
        .get(&guid)
        .into_iter()
        .flatten()
        .find(|n| fabric.network.nodes[**n].kind == NodeKind::Switch);
    let node = node.ok_or_else(|| {
        let digits = digits.unwrap_or_default();
        line.problem(
            digits,
            format!("the topology has no switch with GUID 0x{digits}"),
            "expected tables and topology of one fabric",
        )
    })?;
    Ok(Table { node: *node, place: line.place(), counted, complete: false })
}

/// `0x0001 007 # ...`, `0x0001 007 : (...)`, `0x0001 : 007  : 02   : yes`; no port where frames are
/// dropped.
fn entry(line: &Line<'_>, fabric: &Fabric, node: usize) -> Result<(u32, Option<u16>), Problem> {
    let mut words = line.text.split_whitespace().filter(|w| *w != ":");
    let (lid, port) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let id = u32::from_str_radix(lid.trim_start_matches("0x"), 16);
    let id = id.map_err(|_| {
        line.problem(
            lid,
            format!("'{}' is not a lid", suggest::clip(lid)),
            "expected a form such as 0x0001",
        )
    })?;
    if port == "UNREACHABLE" {
        return Ok((id, None));
    }
    let number = line.count(port, "port", 255)?;
    let (count, name) = (fabric.port_count[node], &fabric.network.nodes[node].name);
    match number {
        // Port 0 is the switch itself.
        0 | NONE => Ok((id, None)),
        n if n > u64::from(count) => Err(line.problem(
            port,
            format!("port {n} is out of range: '{name}' has {count}"),
            "expected a port of the switch",
        )),
        n => match fabric.ports[node].get(&(n as u32)) {
            Some(&port) => Ok((id, Some(port))),
            None if fabric.lids.contains_key(&id) => Err(line.problem(
                port,
                format!("port {n} of '{name}' has no link"),
                "the switch would drop frames for this port",
            )),
            None => Ok((id, None)),
        },
    }
}

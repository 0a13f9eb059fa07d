//! Service levels of paths, and the virtual lanes that ports make of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Problem, Source};
use xoff_net::topology::routing::{Lanes, Tables};
use xoff_units::NodeId;

use super::Fabric;
use crate::import::text::{Line, lines};

/// Reads both.
pub(super) fn read(
    psl: &[&Arc<Source>],
    slvl: &[&Arc<Source>],
    fabric: &Fabric,
    tables: &Tables,
) -> Result<Lanes, Problem> {
    let mut lanes = Lanes::default();
    let mut destinations: HashMap<u32, u32> = HashMap::new();
    for (i, d) in tables.destinations.iter().enumerate() {
        let lid = d.address.rsplit("0x").next().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        destinations.extend(lid.map(|lid| (lid, i as u32)));
    }
    for source in psl {
        for line in lines(source).filter(is_content) {
            path(&line, fabric, &destinations, &mut lanes)?;
        }
    }
    for source in slvl {
        if lines(source)
            .any(|l| l.text.starts_with("Switch 0x") || l.text.starts_with("Channel Adapter 0x"))
        {
            dump(source, fabric, &mut lanes)?;
        } else {
            for line in lines(source).filter(is_content) {
                row(&line, fabric, &mut lanes)?;
            }
        }
    }
    Ok(lanes)
}

fn is_content(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    !text.is_empty() && !text.starts_with('#')
}

fn guid(line: &Line<'_>, word: &str) -> Result<u64, Problem> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits, 16)
        .map_err(|_| line.problem(word, "not a GUID", "expected a form such as 0x0000000000100000"))
}

fn nodes<'f>(line: &Line<'_>, word: &str, fabric: &'f Fabric) -> Result<&'f [usize], Problem> {
    let found = fabric.of_guid.get(&guid(line, word)?).map(Vec::as_slice).unwrap_or_default();
    match found.is_empty() {
        true => Err(line.problem(
            word,
            format!("the topology has no node with GUID {word}"),
            "expected files of one fabric",
        )),
        false => Ok(found),
    }
}

/// `0x0000000000100000 5 0`: source, destination lid, service level.
fn path(
    line: &Line<'_>,
    fabric: &Fabric,
    destinations: &HashMap<u32, u32>,
    lanes: &mut Lanes,
) -> Result<(), Problem> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [source, lid, level] = words[..] else {
        return Err(line.problem(
            "",
            format!("{} words", words.len()),
            "expected SOURCE_GUID DLID SL",
        ));
    };
    let lid = line.count(lid, "lid", 0xffff)? as u32;
    let level = line.count(level, "service level", 15)? as u8;
    for &node in nodes(line, source, fabric)? {
        if let Some(&destination) = destinations.get(&lid) {
            lanes.level.insert((NodeId(node as u32), destination), level);
        }
    }
    Ok(())
}

/// The numbers of two ports in the topology, and who owns them; `None` where one has no link.
fn ports(
    fabric: &Fabric,
    nodes: &[usize],
    ingress: u32,
    egress: u32,
) -> Option<(NodeId, u16, u16)> {
    let node = *nodes.iter().find(|n| fabric.ports[**n].contains_key(&egress))?;
    let egress = fabric.ports[node][&egress];
    let ingress = if ingress == 0 { Lanes::LOCAL } else { *fabric.ports[node].get(&ingress)? };
    Some((NodeId(node as u32), ingress, egress))
}

/// `0x0000000000200000 0 1 0x01 0x23 0x45 ...`: eight bytes of two virtual lanes each.
fn row(line: &Line<'_>, fabric: &Fabric, lanes: &mut Lanes) -> Result<(), Problem> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    if words.len() != 11 {
        return Err(line.problem(
            "",
            format!("{} words", words.len()),
            "expected SWITCH_GUID IN OUT and eight bytes 0x01",
        ));
    }
    let nodes = nodes(line, words[0], fabric)?;
    let (ingress, egress) =
        (line.count(words[1], "port", 255)? as u32, line.count(words[2], "port", 255)? as u32);
    let mut of = [0u8; 16];
    for (i, word) in words[3..].iter().enumerate() {
        let byte = word.strip_prefix("0x").and_then(|d| u8::from_str_radix(d, 16).ok());
        let byte = byte.ok_or_else(|| {
            line.problem(
                word,
                "expected a byte with two virtual lanes",
                "expected a form such as 0x01",
            )
        })?;
        (of[2 * i], of[2 * i + 1]) = (byte >> 4, byte & 15);
    }
    if let Some(key) = ports(fabric, nodes, ingress, egress) {
        lanes.lane.insert(key, of);
    }
    Ok(())
}

/// `opensm-sl2vl.dump`: a block for each node, rows `in out : 16 virtual lanes`.
fn dump(source: &Arc<Source>, fabric: &Fabric, lanes: &mut Lanes) -> Result<(), Problem> {
    let mut at: Option<&[usize]> = None;
    for line in lines(source).filter(is_content) {
        if let Some(rest) = line
            .text
            .split_once(" 0x")
            .filter(|(head, _)| head.starts_with("Switch") || head.starts_with("Channel"))
            .map(|x| x.1)
        {
            let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default();
            at = Some(nodes(&line, digits, fabric)?);
            continue;
        }
        let Some(nodes) = at else {
            return Err(line.problem(
                "",
                "a row before any switch",
                "expected 'Switch 0x..., base LID ...' above it",
            ));
        };
        let words: Vec<&str> = line.text.split_whitespace().filter(|w| *w != ":").collect();
        if words.len() != 18 {
            return Err(line.problem(
                "",
                format!("{} numbers", words.len()),
                "expected in, out and 16 virtual lanes",
            ));
        }
        let mut of = [0u8; 16];
        for (i, word) in words[2..].iter().enumerate() {
            of[i] = line.count(word, "virtual lane", 15)? as u8;
        }
        let (ingress, egress) =
            (line.count(words[0], "port", 255)? as u32, line.count(words[1], "port", 255)? as u32);
        if let Some(key) = ports(fabric, nodes, ingress, egress) {
            lanes.lane.insert(key, of);
        }
    }
    Ok(())
}

//! Nodes and links, each link listed at both of its ends.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Problem, Source, suggest};
use xoff_net::topology::NodeKind;
use xoff_units::Rate;

use super::Fabric;
use crate::import::Link;
use crate::import::network::{End, Names};
use crate::import::text::{Line, lines};

/// Nominal rate of a lane [Mbit/s]: of SDR, DDR and QDR what 8b/10b leaves is another matter, as is
/// the coding of the others.
const LANES: [(&str, u64); 9] = [
    ("SDR", 2_500),
    ("DDR", 5_000),
    ("QDR", 10_000),
    ("FDR10", 10_000),
    ("FDR", 14_000),
    ("EDR", 25_000),
    ("HDR", 50_000),
    ("NDR", 100_000),
    ("XDR", 200_000),
];
/// The part of SDR, DDR and QDR that is data: 8 of 10 bits.
const CODED: [&str; 3] = ["SDR", "DDR", "QDR"];

/// A node as printed.
struct Block<'s> {
    line: Line<'s>,
    id: &'s str,
    is_switch: bool,
    ports: u32,
    description: &'s str,
    links: Vec<Port<'s>>,
}

/// A port line.
struct Port<'s> {
    line: Line<'s>,
    number: u32,
    peer: &'s str,
    peer_port: u32,
    rate: Option<Rate>,
    /// GUID of the node itself, by which some dumps name an adapter.
    guid: Option<u64>,
    /// Own identifier and the number of its low bits that are free, of a channel adapter's port.
    lid: Option<(u32, u32)>,
}

/// Reads the file.
pub(super) fn read(source: &Arc<Source>) -> Result<Fabric, Problem> {
    let mut fabric = Fabric::default();
    let blocks = blocks(source, &mut fabric)?;
    let at: HashMap<&str, usize> = blocks.iter().enumerate().map(|(i, b)| (b.id, i)).collect();
    // Node of each (block, port): switches have one node, adapters one for each connected port.
    let names = names(&blocks);
    let mut node_of: HashMap<(usize, u32), usize> = HashMap::new();
    let mut used = Names::default();
    for (i, block) in blocks.iter().enumerate() {
        let guid = u64::from_str_radix(block.id.get(2..).unwrap_or_default(), 16).unwrap_or(0);
        let place = block.line.place();
        if block.is_switch {
            let node = fabric.network.add_node(&mut used, &names[i], NodeKind::Switch, place)?;
            fabric.of_guid.entry(guid).or_default().push(node);
            node_of.extend(block.links.iter().map(|p| ((i, p.number), node)));
            fabric.port_count.push(block.ports);
            continue;
        }
        for p in &block.links {
            let name = if block.links.len() > 1 {
                format!("{}-p{}", names[i], p.number)
            } else {
                names[i].clone()
            };
            let node = fabric.network.add_node(&mut used, &name, NodeKind::Host, p.line.place())?;
            fabric.of_guid.entry(guid).or_default().push(node);
            if let Some(own) = p.guid.filter(|own| *own != guid) {
                fabric.of_guid.entry(own).or_default().push(node);
            }
            node_of.insert((i, p.number), node);
            fabric.port_count.push(block.ports);
            let (lid, lmc) = p.lid.unwrap_or((0, 0));
            for lid in (0..1u32 << lmc).map(|k| lid + k).filter(|_| p.lid.is_some()) {
                if fabric.lids.insert(lid, node).is_some() {
                    return Err(p.line.problem(
                        "",
                        format!("lid {lid} is defined twice"),
                        "give each port its own lid",
                    ));
                }
            }
        }
        if block.links.is_empty() {
            fabric.network.leave_out(format!("adapters without a link, such as {}", names[i]));
        }
    }
    fabric.ports = vec![HashMap::new(); fabric.network.nodes.len()];
    let ends: HashMap<(usize, u32), &Port<'_>> = blocks
        .iter()
        .enumerate()
        .flat_map(|(i, b)| b.links.iter().map(move |p| ((i, p.number), p)))
        .collect();
    for (i, block) in blocks.iter().enumerate() {
        for p in &block.links {
            let Some(&peer) = at.get(p.peer) else {
                let what = format!(
                    "port {} leads to {}, which has no block",
                    p.number,
                    suggest::clip(p.peer)
                );
                return Err(p.line.problem(p.peer, what, "add a block for each node"));
            };
            let back = ends
                .get(&(peer, p.peer_port))
                .filter(|back| (back.peer, back.peer_port) == (block.id, p.number));
            let Some(back) = back else {
                let what = format!(
                    "{}[{}] leads to {}[{}], which does not lead back",
                    block.id, p.number, p.peer, p.peer_port
                );
                return Err(p.line.problem(p.peer, what, "list the link at both of its ends"));
            };
            if back.rate != p.rate {
                return Err(p.line.problem(
                    "",
                    "the two ends of this link have different rates",
                    "expected the same width and speed",
                ));
            }
            // Taken once, at the end that is listed first.
            if (i, p.number) > (peer, p.peer_port) {
                continue;
            }
            if peer == i {
                return Err(p.line.problem(
                    p.peer,
                    "the link leads from a node to itself",
                    "expected two different nodes",
                ));
            }
            let (a, b) = (node_of[&(i, p.number)], node_of[&(peer, p.peer_port)]);
            add(&mut fabric, (a, p.number), (b, p.peer_port), p);
        }
    }
    Ok(fabric)
}

fn add(fabric: &mut Fabric, a: (usize, u32), b: (usize, u32), p: &Port<'_>) {
    for (node, number) in [a, b] {
        let next = fabric.ports[node].len() as u16;
        fabric.ports[node].insert(number, next);
    }
    let end = |(node, number): (usize, u32)| End { node, port: Some(number.to_string()) };
    fabric.network.links.push(Link {
        a: end(a),
        b: end(b),
        rate: p.rate,
        wire: None,
        place: p.line.place(),
    });
}

/// The blocks of the file.
fn blocks<'s>(source: &'s Arc<Source>, fabric: &mut Fabric) -> Result<Vec<Block<'s>>, Problem> {
    let mut blocks: Vec<Block<'s>> = Vec::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut in_block = false;
    for line in lines(source) {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            in_block &= !text.is_empty();
            continue;
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        match first {
            "Switch" | "Ca" | "Hca" => {
                let block = head(line, first == "Switch")?;
                if let Some(other) = ids.insert(block.id, blocks.len()) {
                    let hint = format!("first defined at {}", blocks[other].line.place());
                    return Err(line.problem(
                        block.id,
                        format!("node {} is defined twice", block.id),
                        hint,
                    ));
                }
                if let Some(lid) = number_behind(line.text, " lid ").filter(|_| block.is_switch) {
                    fabric.switch_lids.insert(lid);
                }
                blocks.push(block);
                in_block = true;
            }
            "Rt" => {
                return Err(line.problem(
                    first,
                    "xoff does not support InfiniBand routers",
                    "expected Switch or Ca",
                ));
            }
            _ if text.starts_with('[') => {
                let Some(block) = blocks.last_mut().filter(|_| in_block) else {
                    return Err(line.problem(
                        "",
                        "a port before any node",
                        "expected Switch or Ca above it",
                    ));
                };
                let port = port(line)?;
                if !(1..=block.ports).contains(&port.number) {
                    let what = format!(
                        "port {} is out of range: {} has {}",
                        port.number, block.id, block.ports
                    );
                    return Err(line.problem("", what, "ports count from 1"));
                }
                if block.links.iter().any(|p| p.number == port.number) {
                    return Err(line.problem(
                        "",
                        format!("port {} of {} is defined twice", port.number, block.id),
                        "a port has only one link",
                    ));
                }
                block.links.push(port);
            }
            _ if ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="]
                .iter()
                .any(|k| text.starts_with(k)) => {}
            _ if text.starts_with("Chassis ") || text.starts_with("Non-Chassis") => {}
            _ => {
                return Err(line.problem(
                    "",
                    format!("unknown line '{}'", suggest::clip(text)),
                    "expected the output of ibnetdiscover",
                ));
            }
        }
    }
    Ok(blocks)
}

/// `Switch  8 "S-0000000000200003"   # "ring4" base port 0 lid 6 lmc 0`
fn head(line: Line<'_>, is_switch: bool) -> Result<Block<'_>, Problem> {
    let form = "expected a form such as Switch 36 \"S-0002c90200400001\" # \"leaf1\" ...";
    let bad = |what: &str| line.problem("", what.to_owned(), form);
    let ports = line.text.split_whitespace().nth(1).unwrap_or_default();
    let ports = line.count(ports, "number of ports", 65_000)? as u32;
    let (id, rest) =
        quoted(line.text).ok_or_else(|| bad("the name of the node in quotes is missing"))?;
    if id.is_empty() || id.contains(char::is_whitespace) {
        return Err(bad("the node's id is empty or has spaces"));
    }
    let description =
        rest.split_once('#').and_then(|(_, comment)| described(comment)).unwrap_or_default();
    Ok(Block { line, id, is_switch, ports, description, links: Vec::new() })
}

/// The first text in quotes, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

/// A description may hold quotes itself: it goes to the last one.
fn described(comment: &str) -> Option<&str> {
    let (first, last) = (comment.find('"')?, comment.rfind('"')?);
    comment.get(first + 1..last)
}

fn number_behind(text: &str, key: &str) -> Option<u32> {
    let rest = &text[text.rfind(key)? + key.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// `[7](guid)  "S-0000000000200004"[8](guid)   # ... lid 7 4xSDR`
fn port(line: Line<'_>) -> Result<Port<'_>, Problem> {
    let form = "expected a form such as [7] \"S-0002c90200400001\"[8] # ... 4xEDR";
    let (before, comment) = match line.text.find("\t\t#").or_else(|| line.text.find('#')) {
        Some(at) => line.text.split_at(at),
        None => (line.text, ""),
    };
    let bad = |what: &str| line.problem("", what.to_owned(), form);
    let (own, rest) =
        before.split_once('"').ok_or_else(|| bad("the name of the peer in quotes is missing"))?;
    let (peer, behind) = rest.split_once('"').ok_or_else(|| bad("the closing quote is missing"))?;
    let bracket = |text: &'_ str| {
        text.trim_start()
            .strip_prefix('[')
            .and_then(|t| t.split_once(']'))
            .map(|(n, _)| n.to_owned())
    };
    let number = |text: String| {
        text.parse::<u32>().map_err(|_| {
            line.problem("", format!("port '{}' is not a number", suggest::clip(&text)), form)
        })
    };
    let guid = own
        .split_once('(')
        .and_then(|(_, g)| g.split_once(')'))
        .and_then(|(g, _)| u64::from_str_radix(g, 16).ok());
    let own = number(bracket(own).ok_or_else(|| bad("the port in brackets is missing"))?)?;
    // ibsim leaves the port of an adapter out.
    let peer_port = bracket(behind).map(number).transpose()?.unwrap_or(1);
    let speed = comment
        .split_whitespace()
        .rev()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('x'));
    let rate = speed.map(|word| rate(&line, word)).transpose()?;
    let own_first = comment.trim_start_matches(['#', ' ', '\t']);
    let lid = own_first.strip_prefix("lid ").and_then(|t| {
        let lid = t.split_whitespace().next()?.parse().ok()?;
        Some((lid, number_behind(t.split('"').next().unwrap_or(t), "lmc ").unwrap_or(0).min(7)))
    });
    Ok(Port { line, number: own, peer, peer_port, rate, guid, lid: lid.filter(|l| l.0 > 0) })
}

/// `4xEDR`: width and speed of a lane.
fn rate(line: &Line<'_>, word: &str) -> Result<Rate, Problem> {
    let (width, lane) = word.split_once('x').unwrap_or_default();
    let known: Vec<&str> = LANES.iter().map(|l| l.0).collect();
    let found = LANES.iter().find(|l| l.0 == lane);
    match (width.parse::<u64>(), found) {
        (Ok(width @ (1 | 2 | 4 | 8 | 12)), Some((name, mbps))) => {
            let rate = Rate(width * mbps * 1_000_000);
            Ok(if CODED.contains(name) { Rate(rate.0 / 10 * 8) } else { rate })
        }
        (Ok(1 | 2 | 4 | 8 | 12), None) => {
            let what = format!("unknown speed '{}'", suggest::clip(lane));
            Err(line.problem(word, what, format!("expected one of {}", known.join(", "))))
        }
        _ => Err(line.problem(
            word,
            format!("unknown width in '{}'", suggest::clip(word)),
            "expected 1x, 2x, 4x, 8x or 12x",
        )),
    }
}

/// Names of the blocks: the description where it is unique, else with the end of the GUID.
fn names(blocks: &[Block<'_>]) -> Vec<String> {
    let plain = |b: &Block<'_>| {
        let words: Vec<&str> = b.description.split_whitespace().collect();
        let name: String =
            words.join("_").chars().filter(|c| !suggest::is_unseen(*c) && *c != '"').collect();
        if name.is_empty() { b.id.to_owned() } else { name }
    };
    let mut count: HashMap<String, u32> = HashMap::new();
    blocks.iter().for_each(|b| *count.entry(plain(b)).or_default() += 1);
    let name = |b: &Block<'_>| {
        let name = plain(b);
        if count[&name] > 1 && name != b.id {
            format!("{name}-{}", b.id.get(2..).unwrap_or(b.id))
        } else {
            name
        }
    };
    blocks.iter().map(name).collect()
}

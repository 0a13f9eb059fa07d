//! Follows installed tables from every switch that hosts send to. A destination that a table does
//! not list is rejected: the file is not complete. A drop entry of a table, and a loop, are
//! findings about the fabric, with their places.

use std::collections::HashSet;

use crate::{Place, Problem, Problems};
use xoff_net::topology::NodeKind;
use xoff_net::topology::routing::Tables;
use xoff_units::NodeId;

use crate::import::Network;

/// Place of a switch's entry for a destination; `Err`: the table, which does not list the
/// destination.
pub(super) type Entry = Result<Place, Place>;

/// Drops and loops of the tables; an error for a table that does not list a destination for which
/// frames arrive.
pub(super) fn follow(
    network: &Network,
    tables: &Tables,
    entry: impl Fn(NodeId, u32) -> Entry,
) -> Result<Problems, Problems> {
    let place = |s: usize, d: u32| entry(NodeId(s as u32), d).unwrap_or_else(|table| table);
    let mut findings = Problems::default();
    // Peer of each port, in the order of the links; and the switches that hosts send to.
    let mut peers: Vec<Vec<usize>> = vec![Vec::new(); network.nodes.len()];
    let is_host = |n: usize| network.nodes[n].kind == NodeKind::Host;
    let mut first = Vec::new();
    for link in &network.links {
        for (own, other) in [(link.a.node, link.b.node), (link.b.node, link.a.node)] {
            peers[own].push(other);
            if is_host(other) && !is_host(own) {
                first.push(own);
            }
        }
    }
    first.sort_unstable();
    first.dedup();
    let mut problems = Problems::default();
    let mut visited = vec![0u32; network.nodes.len()];
    for (d, destination) in tables.destinations.iter().enumerate() {
        let (d, round, to) = (d as u32, d as u32 + 1, destination.host.index());
        let name = format!("{} ({})", network.nodes[to].name, destination.address);
        let mut done: HashSet<usize> = HashSet::new();
        for &start in &first {
            if visited[start] == round {
                continue;
            }
            visited[start] = round;
            // The switches on the way, each with the next port to be looked at.
            let mut way = vec![(start, 0usize)];
            while let Some((at, next)) = way.last_mut() {
                let (at, ports) = (*at, tables.ports(NodeId(*at as u32), d));
                if *next == 0 && ports.is_empty() {
                    match entry(NodeId(at as u32), d) {
                        Err(table) => {
                            let what = format!(
                                "switch '{}' has no entry for {name}, although it receives frames for it",
                                network.nodes[at].name
                            );
                            problems.push(
                                Problem::new(what, "check that the table is complete").at(table),
                            );
                        }
                        Ok(entry) => {
                            let what = format!(
                                "switch '{}' drops frames for {name}: a black hole",
                                network.nodes[at].name
                            );
                            findings.push(
                                Problem::new(what, "its table has an entry without a port")
                                    .at(entry)
                                    .warning(),
                            );
                        }
                    }
                }
                let Some(&port) = ports.get(*next) else {
                    done.insert(at);
                    way.pop();
                    continue;
                };
                *next += 1;
                let peer = peers[at].get(port as usize).copied().unwrap_or(to);
                if is_host(peer) {
                    if peer != to {
                        let what = format!(
                            "switch '{}' sends frames for {name} to host '{}'",
                            network.nodes[at].name, network.nodes[peer].name
                        );
                        findings.push(
                            Problem::new(what, "a host does not forward")
                                .at(place(at, d))
                                .warning(),
                        );
                    }
                } else if visited[peer] != round {
                    visited[peer] = round;
                    way.push((peer, 0));
                } else if !done.contains(&peer) {
                    let from = way.iter().position(|(s, _)| *s == peer).unwrap_or(0);
                    let mut names: Vec<&str> =
                        way[from..].iter().map(|(s, _)| network.nodes[*s].name.as_str()).collect();
                    names.push(&network.nodes[peer].name);
                    let what = format!(
                        "frames for {name} are in a forwarding loop: {}",
                        names.join(" -> ")
                    );
                    findings.push(
                        Problem::new(
                            what,
                            "these frames never arrive, and fill the buffers of the loop",
                        )
                        .at(place(at, d))
                        .warning(),
                    );
                }
            }
        }
    }
    problems.or(findings)
}

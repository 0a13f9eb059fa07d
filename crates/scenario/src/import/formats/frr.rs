//! Layer-3 routes as installed: FRR's `show ip route json` (SONiC's too), or `ip -j route` of
//! Linux.
//!
//! ```text
//!   ROUTER.show-ip-route.json, ROUTER.ip-j-route.json     a table each; the router is the text before the first dot
//!   layer1_topology.json (Batfish), a .clab.yml           which interface leads where
//!   ROUTER.show-interface-brief.json                      the same from shared subnets of two addresses
//!   runtime_data.json (Batfish)                           rates
//! ```
//!
//! The check holds only where the lossless class crosses these links at layer 3 with PFC.

mod links;
mod prefix;
mod table;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source};
use xoff_net::topology::NodeKind;
use xoff_net::topology::routing::{Destination, Tables};
use xoff_units::NodeId;

use super::routes;
use crate::import::network::{End, Names};
use crate::import::tree::{Document, Item, Tree};
use crate::import::{Link, Network, Options, json};
use links::Wiring;
use prefix::{Address, Prefix};
use table::Table;

/// One line for help.
pub const DOC: &str = "FRR's 'show ip route json' (or 'ip -j route') of each router, with layer1_topology.json, a .clab.yml or interface files";

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], _: &Options) -> Result<Network, Problems> {
    let mut wiring = Wiring::default();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut briefs = Vec::new();
    let mut left_out = Vec::new();
    for source in sources {
        if source.name().ends_with(".yml") || source.name().ends_with(".yaml") {
            wiring.containerlab(source)?;
            continue;
        }
        let d = json::parse(source)?;
        let router = router(source);
        let is_interface = |v: &Tree| v.get("addresses").is_some() || v.get("vrfName").is_some();
        match &d.root.item {
            Item::Object(entries) if d.root.get("edges").is_some() || entries.is_empty() => {
                wiring.layer1(&d)?
            }
            Item::Object(_) if d.root.get("runtimeData").is_some() => wiring.rates(&d)?,
            Item::Object(entries) if entries.iter().all(|(_, v)| is_interface(v)) => {
                briefs.push((router, d))
            }
            Item::Object(_) => {
                if let Some(before) = tables.insert(router.clone(), table::frr(&d)?)
                    && before.is_frr
                {
                    return Err(Problem::new(
                        format!("a second table of '{router}'"),
                        "the name of the router is the part of the file name before the first dot",
                    )
                    .at(source.place(0..0))
                    .into());
                }
            }
            Item::List(_) => {
                let table = table::linux(&d)?;
                match tables.entry(router) {
                    Entry::Occupied(e) => left_out.push(format!(
                        "ip -j route of {}, because the table of FRR is also given",
                        e.key()
                    )),
                    Entry::Vacant(e) => {
                        e.insert(table);
                    }
                }
            }
            _ => {
                return Err(d
                    .problem(&d.root, "the file has neither a table of routes nor links", DOC)
                    .into());
            }
        }
    }
    for (router, d) in &briefs {
        wiring.addresses(router, d)?;
    }
    wiring.shared_subnets()?;
    if tables.is_empty() {
        return Err(Problem::new("the files have no table of routes", DOC).into());
    }
    let mut network = build(wiring, &tables)?;
    left_out.into_iter().for_each(|what| network.leave_out(what));
    network.leave_out("cable lengths, which routers do not know");
    Ok(network)
}

/// The router of a file: its name up to the first dot.
fn router(source: &Source) -> String {
    let path = std::path::Path::new(source.name());
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// A host with the address that represents it.
struct Host {
    node: usize,
    prefix: Prefix,
    address: Address,
}

struct Builder<'t> {
    network: Network,
    names: Names,
    tables: &'t BTreeMap<String, Table>,
    /// Port of an interface, and the node behind it.
    ports: BTreeMap<(usize, String), u16>,
    count: Vec<u16>,
}

impl Builder<'_> {
    fn node(&mut self, name: &str, place: &Place) -> Result<usize, Problem> {
        if let Some(node) = self.names.get(name) {
            return Ok(node);
        }
        let kind = if self.tables.contains_key(name) { NodeKind::Switch } else { NodeKind::Host };
        self.count.push(0);
        self.network.add_node(&mut self.names, name, kind, place.clone())
    }

    fn link(&mut self, link: Link) {
        for end in [&link.a, &link.b] {
            self.ports
                .insert((end.node, end.port.clone().unwrap_or_default()), self.count[end.node]);
            self.count[end.node] += 1;
        }
        self.network.links.push(link);
    }
}

fn build(wiring: Wiring, tables: &BTreeMap<String, Table>) -> Result<Network, Problems> {
    let mut b = Builder {
        network: Network::default(),
        names: Names::default(),
        tables,
        ports: BTreeMap::new(),
        count: Vec::new(),
    };
    for (name, table) in tables {
        b.node(name, &table.place)?;
    }
    for (a, c, place) in &wiring.edges {
        let (an, cn) = (b.node(&a.0, place)?, b.node(&c.0, place)?);
        if an == cn {
            return Err(Problem::new(
                format!("'{}' is linked to itself", a.0),
                "expected two different nodes",
            )
            .at(place.clone())
            .into());
        }
        let rate = wiring.rate_of.get(a).or(wiring.rate_of.get(c)).copied();
        let end = |node, port: &str| End { node, port: Some(port.to_owned()) };
        b.link(Link { a: end(an, &a.1), b: end(cn, &c.1), rate, wire: None, place: place.clone() });
    }
    for (i, node) in b.network.nodes.iter().enumerate() {
        if node.kind == NodeKind::Host && b.count[i] > 1 {
            let what = format!(
                "'{}' has {} links but no table: the table of a router may be missing",
                node.name, b.count[i]
            );
            return Err(Problem::new(what, format!("give {}.show-ip-route.json", node.name))
                .at(node.place.clone())
                .into());
        }
    }
    let hosts = hosts(&mut b, wiring.rate_of)?;
    if hosts.is_empty() {
        let what = "no prefix leads to a host: xoff has no route to compare";
        let place = tables.values().next().map(|t| t.place.clone());
        let problem =
            Problem::new(what, "xoff treats a connected prefix of /29 or shorter as a host");
        return Err(place.map_or(problem.clone(), |p| problem.at(p)).into());
    }
    let (installed, findings) = install(&b, &hosts)?;
    (b.network.tables, b.network.findings) = (Some(installed), findings);
    Ok(b.network)
}

/// Hosts behind the connected prefixes of the routers: those that the links name, else one for each
/// prefix.
fn hosts(
    b: &mut Builder<'_>,
    rate_of: BTreeMap<links::Interface, xoff_units::Rate>,
) -> Result<Vec<Host>, Problem> {
    let given = b.network.nodes.iter().any(|n| n.kind == NodeKind::Host);
    let mut hosts = Vec::new();
    for (name, table) in b.tables {
        let router = b.names.need(name, "table", &table.place)?;
        for route in table.routes.iter().filter(|r| r.connected) {
            let Some((interface, place)) = route.hops.first() else { continue };
            let own = b.ports.get(&(router, interface.clone())).copied();
            let peer = own.and_then(|port| peer_of(&b.network, router, port));
            let node = match peer {
                Some(peer) if b.network.nodes[peer].kind == NodeKind::Host => peer,
                Some(_) => continue,
                // An interface that leads nowhere known is a network of hosts, unless hosts are
                // given.
                None if given || !route.prefix.holds_hosts() => continue,
                None => {
                    let host = format!("{name}-{interface}");
                    let node =
                        b.network.add_node(&mut b.names, &host, NodeKind::Host, place.clone())?;
                    b.count.push(0);
                    let rate = rate_of.get(&(name.clone(), interface.clone())).copied();
                    let end = |node, port: &str| End { node, port: Some(port.to_owned()) };
                    let place = place.clone();
                    b.link(Link {
                        a: end(router, interface),
                        b: end(node, "eth0"),
                        rate,
                        wire: None,
                        place,
                    });
                    node
                }
            };
            let local =
                |a: &Address| table.routes.iter().any(|r| r.prefix.is_host() && r.prefix.holds(a));
            let Some(address) = route.prefix.candidates().into_iter().find(|a| !local(a)) else {
                continue;
            };
            hosts.push(Host { node, prefix: route.prefix, address });
        }
    }
    Ok(hosts)
}

/// The node behind a port: the port's number is its place among the links of the node.
fn peer_of(network: &Network, node: usize, port: u16) -> Option<usize> {
    let ends = network.links.iter().filter_map(|l| match (l.a.node == node, l.b.node == node) {
        (true, _) => Some(l.b.node),
        (_, true) => Some(l.a.node),
        _ => None,
    });
    ends.into_iter().nth(port.into())
}

/// The tables by destination, with every way of them followed.
fn install(b: &Builder<'_>, hosts: &[Host]) -> Result<(Tables, Problems), Problems> {
    let to = |h: &Host| Destination { host: NodeId(h.node as u32), address: h.prefix.to_string() };
    let mut tables = Tables::new(hosts.iter().map(to).collect());
    let mut places: BTreeMap<(NodeId, u32), routes::Entry> = BTreeMap::new();
    for (name, table) in b.tables {
        let router = b.names.need(name, "table", &table.place)?;
        for (i, host) in hosts.iter().enumerate() {
            let key = (NodeId(router as u32), i as u32);
            let best = table
                .routes
                .iter()
                .filter(|r| r.prefix.holds(&host.address))
                .max_by_key(|r| r.prefix.length);
            let mut ports = Vec::new();
            for (interface, place) in best.iter().flat_map(|r| &r.hops) {
                let Some(&port) = b.ports.get(&(router, interface.clone())) else {
                    let what = format!(
                        "the route of '{name}' to {} uses {interface}, whose neighbour is unknown",
                        host.prefix
                    );
                    let hint = "give the links: layer1_topology.json, a .clab.yml, or the interfaces of both routers";
                    return Err(Problem::new(what, hint).at(place.clone()).into());
                };
                ports.push(port);
            }
            places.insert(key, best.map(|r| r.place.clone()).ok_or_else(|| table.place.clone()));
            tables.set(key.0, key.1, ports);
        }
    }
    let findings = routes::follow(&b.network, &tables, |s, d| places[&(s, d)].clone())?;
    Ok((tables, findings))
}

/// The first problem of a document of an unexpected form.
fn unexpected(d: &Document, at: &Tree, what: String) -> Problem {
    d.problem(at, what, "expected the output of 'show ip route json' without 'brief'")
}

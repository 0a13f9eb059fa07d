//! Containerlab: its topology file (YAML), or `topology-data.json` of a deployed lab, where groups
//! and templates are resolved.
//!
//! The format has no rate, delay or length. Ours stand where it passes keys through:
//! `vars: {xoff: {rate, delay, length}}` of a link, or labels `xoff/rate` of the typed form;
//! `xoff/role` of a node says host or switch.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::{Problem, Problems, Source, suggest};
use xoff_net::topology::NodeKind;

use super::attributes::{self, Attribute};
use crate::import::network::Names;
use crate::import::tree::{Document, Item, Tree};
use crate::import::{End, Link, Network, Options, json, yaml};

/// One line for help.
pub const DOC: &str =
    "containerlab's topology file, or topology-data.json of a deployed lab: one file";

/// Reads either.
pub(super) fn read(sources: &[Arc<Source>], options: &Options) -> Result<Network, Problems> {
    let source = super::only(sources, DOC)?;
    if source.text().trim_start().starts_with('{') && !source.text().trim_start().starts_with("{{")
    {
        let d = json::parse(source)?;
        if d.root.get("links").is_some() && d.root.get("topology").is_none() {
            return Ok(deployed(&d)?);
        }
        return Ok(Lab::new(&d).read(options)?);
    }
    let d = yaml::parse(source)?;
    Ok(Lab::new(&d).read(options)?)
}

/// Kinds of nodes that send and receive, and do not forward.
const HOST_KINDS: [&str; 4] = ["linux", "k8s-kind", "ext-container", "host"];
/// Kinds that are bridges of the machine.
const BRIDGE_KINDS: [&str; 2] = ["bridge", "ovs-bridge"];
/// Names that represent something other than a node in an end of a link.
const SPECIAL: [&str; 3] = ["host", "mgmt-net", "macvlan"];

/// Keys of a link in the brief form.
const BRIEF: [&str; 5] = ["endpoints", "mtu", "ipv4", "ipv6", "vars"];
/// Types of links between two nodes.
const TWO_ENDED: [&str; 2] = ["veth", "veth-stitch"];
/// Types of links that leave the lab.
const ONE_ENDED: [&str; 6] = ["mgmt-net", "macvlan", "host", "vxlan", "vxlan-stitch", "dummy"];

/// Values that a node inherits.
#[derive(Clone, Copy, Default)]
struct Layers<'t> {
    /// Node, group, kind, defaults: the first that has a key decides.
    of: [Option<&'t Tree>; 4],
}

impl<'t> Layers<'t> {
    fn get(&self, key: &str) -> Option<&'t Tree> {
        self.of.iter().flatten().find_map(|t| t.given(key))
    }

    fn label(&self, key: &str) -> Option<&'t Tree> {
        self.of.iter().flatten().find_map(|t| t.given("labels")?.given(key))
    }
}

struct Lab<'d> {
    d: &'d Document,
    network: Network,
    names: Names,
    /// Kind and role of each node.
    kinds: Vec<(String, Option<NodeKind>)>,
    /// Ends in use, each with the number of its link.
    used: HashMap<(usize, String), usize>,
}

impl<'d> Lab<'d> {
    fn new(d: &'d Document) -> Lab<'d> {
        Lab {
            d,
            network: Network::default(),
            names: Names::default(),
            kinds: Vec::new(),
            used: HashMap::new(),
        }
    }

    fn read(mut self, options: &Options) -> Result<Network, Problem> {
        let d = self.d;
        let topology = d.need(&d.root, "topology", "containerlab file")?;
        self.network.title = match d.root.given("name") {
            Some(name) => d.word(name, "name")?.to_owned(),
            None => {
                return Err(d.problem(
                    &d.root,
                    "there is no \"name\"",
                    "containerlab topology files need a `name`",
                ));
            }
        };
        self.nodes(topology)?;
        if let Some(links) = topology.given("links") {
            for (i, link) in d.list(links, "links")?.iter().enumerate() {
                self.link(i + 1, link, options)?;
            }
        }
        self.settle_kinds();
        Ok(self.network)
    }

    fn nodes(&mut self, topology: &'d Tree) -> Result<(), Problem> {
        let d = self.d;
        let Some(nodes) = topology.given("nodes") else { return Ok(()) };
        for (key, node) in d.object(nodes, "nodes")? {
            let place = d.source.place(key.span.clone());
            let first = key.name.chars().next().unwrap_or(' ');
            let allowed = |c: char| c.is_alphanumeric() || "-._|".contains(c);
            if !first.is_alphanumeric() || !key.name.chars().all(allowed) {
                let hint = match key.name.contains(['$', '{']) {
                    true => {
                        "give the rendered file or topology-data.json; only containerlab can fill in variables and templates"
                    }
                    false => "expected letters, digits, - . _ |",
                };
                return Err(Problem::new(
                    format!("'{}' is not the name of a node", suggest::clip(&key.name)),
                    hint,
                )
                .at(place));
            }
            if !matches!(node.item, Item::Object(_) | Item::Null) {
                return Err(d.problem(
                    node,
                    format!("node '{}': found {}", key.name, node.describe()),
                    "expected keys, or nothing",
                ));
            }
            let layers = self.layers(topology, node)?;
            let kind = layers
                .get("kind")
                .map(|k| d.word(k, "kind"))
                .transpose()?
                .unwrap_or_default()
                .to_owned();
            let role = layers.label("xoff/role").map(|role| match d.word(role, "xoff/role")? {
                "host" => Ok(NodeKind::Host),
                "switch" => Ok(NodeKind::Switch),
                other => Err(d.problem(
                    role,
                    format!("xoff/role: unknown role '{}'", suggest::clip(other)),
                    "expected host or switch",
                )),
            });
            let role = role.transpose()?;
            self.network.add_node(
                &mut self.names,
                &key.name,
                role.unwrap_or(NodeKind::Switch),
                place,
            )?;
            self.kinds.push((kind, role));
        }
        Ok(())
    }

    fn layers(&self, topology: &'d Tree, node: &'d Tree) -> Result<Layers<'d>, Problem> {
        let d = self.d;
        let mut layers = Layers { of: [Some(node), None, None, topology.given("defaults")] };
        if let Some(group) = node.given("group") {
            let name = d.word(group, "group")?;
            layers.of[1] = topology.given("groups").and_then(|g| g.get(name));
        }
        if let Some(kind) = layers.get("kind") {
            let name = d.word(kind, "kind")?;
            layers.of[2] = topology.given("kinds").and_then(|k| k.get(name));
        }
        Ok(layers)
    }

    fn link(&mut self, number: usize, link: &Tree, options: &Options) -> Result<(), Problem> {
        let d = self.d;
        let what = format!("link {number}");
        let entries = d.object(link, &what)?;
        let kind = link.given("type").map(|t| d.word(t, "type")).transpose()?;
        match kind {
            None => {
                if let Some((key, _)) =
                    entries.iter().find(|(k, _)| !BRIEF.contains(&k.name.as_str()))
                {
                    let what =
                        format!("{what}: '{}' is not allowed here", suggest::clip(&key.name));
                    let hint = format!(
                        "keys of the brief form: {}; put your own keys into vars",
                        BRIEF.join(", ")
                    );
                    return Err(Problem::new(what, hint).at(d.source.place(key.span.clone())));
                }
            }
            Some(kind) if TWO_ENDED.contains(&kind) => {}
            Some(kind) if ONE_ENDED.contains(&kind) => {
                self.network.leave_out(format!("links of type {kind}, which leave the lab"));
                return Ok(());
            }
            Some(other) => {
                let all: Vec<&str> = TWO_ENDED.iter().chain(&ONE_ENDED).copied().collect();
                let hint = suggest::hint(other, "types", &all);
                return Err(d.problem(
                    link.get("type").unwrap_or(link),
                    format!("{what}: unknown type '{}'", suggest::clip(other)),
                    hint,
                ));
            }
        }
        let ends = d.need(link, "endpoints", &what)?;
        let list = d.list(ends, "endpoints")?;
        if list.len() != 2 {
            return Err(d.problem(
                ends,
                format!("{what}: {} endpoints", list.len()),
                "a link has two",
            ));
        }
        let mut found = Vec::new();
        for end in list {
            found.push(self.end(number, end, kind.is_none())?);
        }
        let (Some(b), Some(a)) = (found.pop().flatten(), found.pop().flatten()) else {
            self.network.leave_out("links to host, mgmt-net and macvlan, which leave the lab");
            return Ok(());
        };
        if a.node == b.node {
            let what = format!("{what}: '{}' is linked to itself", self.network.nodes[a.node].name);
            return Err(d.problem(ends, what, "expected two different nodes"));
        }
        let facts = attributes::link(&own_keys(d, link)?, options)?;
        if let Some(unknown) = facts.unknown.first() {
            let what = format!("{what}: unknown key '{}' of xoff", suggest::clip(unknown));
            return Err(d.problem(link, what, "keys: rate, delay, length"));
        }
        self.network.links.push(Link {
            a,
            b,
            rate: facts.rate,
            wire: facts.wire,
            place: d.place(link),
        });
        Ok(())
    }

    /// An end of a link; `None`: it leaves the lab.
    fn end(&mut self, number: usize, end: &Tree, brief: bool) -> Result<Option<End>, Problem> {
        let d = self.d;
        let (node, interface, at) = match &end.item {
            Item::Object(_) => {
                let (node, interface) =
                    (d.need(end, "node", "endpoint")?, d.need(end, "interface", "endpoint")?);
                (d.word(node, "node")?, d.word(interface, "interface")?, node)
            }
            _ => match d.word(end, "endpoint")?.split_once(':') {
                Some((node, interface)) => (node, interface, end),
                None => {
                    let what = format!(
                        "link {number}: '{}' has no colon",
                        suggest::clip(d.word(end, "endpoint")?)
                    );
                    return Err(d.problem(
                        end,
                        what,
                        "expected node:interface, such as leaf1:eth1",
                    ));
                }
            },
        };
        if brief
            && SPECIAL.contains(&node.to_ascii_lowercase().as_str())
            && self.names.get(node).is_none()
        {
            return Ok(None);
        }
        let id = self.names.need(node, &format!("link {number}"), &d.place(at))?;
        if interface.is_empty() || interface.contains(char::is_whitespace) {
            return Err(d.problem(
                end,
                format!("link {number}: '{}' is not an interface", suggest::clip(interface)),
                "expected a name such as eth1",
            ));
        }
        if let Some(other) = self.used.insert((id, interface.into()), number) {
            return Err(d.problem(
                end,
                format!("link {number}: {node}:{interface} is already in link {other}"),
                "an interface has one link",
            ));
        }
        Ok(Some(End { node: id, port: Some(interface.into()) }))
    }

    /// Decides which nodes are hosts.
    fn settle_kinds(&mut self) {
        let mut links = vec![0usize; self.kinds.len()];
        for link in &self.network.links {
            links[link.a.node] += 1;
            links[link.b.node] += 1;
        }
        let mut bridges: BTreeMap<String, u32> = BTreeMap::new();
        for (i, (kind, role)) in self.kinds.iter().enumerate() {
            let is_host = HOST_KINDS.contains(&kind.as_str());
            let node = &mut self.network.nodes[i];
            node.kind = role.unwrap_or(if is_host { NodeKind::Host } else { NodeKind::Switch });
            if BRIDGE_KINDS.contains(&kind.as_str()) {
                *bridges.entry(kind.clone()).or_default() += 1;
            }
            if role.is_none() && is_host && links[i] > 1 {
                let what = format!(
                    "'{}' is of kind {kind} and has {} links: xoff treats it as a host, which does not forward",
                    node.name, links[i]
                );
                let hint = "to make it a switch, add the label xoff/role: switch";
                self.network
                    .warnings
                    .push(Problem::new(what, hint).at(node.place.clone()).warning());
            }
        }
        for (kind, n) in bridges {
            self.network.leave_out(format!(
                "{n} of kind {kind} without PFC: xoff treats them as ordinary switches"
            ));
        }
        self.network.leave_out(
            "images, addresses, MTUs and everything else except nodes, links and xoff/... labels",
        );
        // A host without a link takes no part.
        let idle: Vec<usize> = (0..links.len())
            .filter(|&i| links[i] == 0 && self.network.nodes[i].kind == NodeKind::Host)
            .collect();
        if !idle.is_empty() {
            let names: Vec<&str> =
                idle.iter().map(|&i| self.network.nodes[i].name.as_str()).collect();
            let what = format!("hosts without a link: {}", names.join(", "));
            remove_nodes(&mut self.network, &idle);
            self.network.leave_out(what);
        }
    }
}

/// Removes nodes without links.
pub(super) fn remove_nodes(network: &mut Network, idle: &[usize]) {
    let mut place = Vec::with_capacity(network.nodes.len());
    let mut kept = 0;
    for i in 0..network.nodes.len() {
        place.push(kept);
        kept += usize::from(!idle.contains(&i));
    }
    let mut i = 0;
    network.nodes.retain(|_| {
        i += 1;
        !idle.contains(&(i - 1))
    });
    for link in &mut network.links {
        link.a.node = place[link.a.node];
        link.b.node = place[link.b.node];
    }
}

/// The keys of a link that are ours: `vars.xoff.*`, and labels or vars `xoff/*`.
fn own_keys<'t>(d: &Document, link: &'t Tree) -> Result<Vec<Attribute<'t>>, Problem> {
    let mut own = Vec::new();
    if let Some(vars) = link.given("vars").and_then(|v| v.given("xoff")) {
        for (key, value) in d.object(vars, "vars.xoff")? {
            own.push(Attribute {
                name: &key.name,
                item: value.item.clone(),
                place: d.place(value),
            });
        }
    }
    for table in ["labels", "vars"] {
        if let Some(Item::Object(entries)) = link.given(table).map(|t| &t.item) {
            for (key, value) in entries {
                if let Some(name) = key.name.strip_prefix("xoff/") {
                    own.push(Attribute { name, item: value.item.clone(), place: d.place(value) });
                }
            }
        }
    }
    Ok(own)
}

/// `topology-data.json`.
fn deployed(d: &Document) -> Result<Network, Problem> {
    let mut lab = Lab::new(d);
    lab.network.title = d.root.get("name").and_then(Tree::as_text).unwrap_or_default().to_owned();
    for (key, node) in d.object(d.need(&d.root, "nodes", "topology-data.json")?, "nodes")? {
        let kind = node
            .given("kind")
            .map(|k| d.word(k, "kind"))
            .transpose()?
            .unwrap_or_default()
            .to_owned();
        let role =
            match node.given("labels").and_then(|l| l.given("xoff/role")).and_then(Tree::as_text) {
                Some("host") => Some(NodeKind::Host),
                Some("switch") => Some(NodeKind::Switch),
                _ => None,
            };
        lab.network.add_node(
            &mut lab.names,
            &key.name,
            NodeKind::Switch,
            d.source.place(key.span.clone()),
        )?;
        lab.kinds.push((kind, role));
    }
    for (i, link) in
        d.list(d.need(&d.root, "links", "topology-data.json")?, "links")?.iter().enumerate()
    {
        let ends = d.need(link, "endpoints", "link")?;
        let (Some(a), Some(b)) = (ends.given("a"), ends.given("z")) else {
            lab.network.leave_out("links with one end, which leave the lab");
            continue;
        };
        let (Some(a), Some(b)) = (lab.end(i + 1, a, true)?, lab.end(i + 1, b, true)?) else {
            lab.network.leave_out("links to host, mgmt-net and macvlan, which leave the lab");
            continue;
        };
        lab.network.links.push(Link { a, b, rate: None, wire: None, place: d.place(link) });
    }
    lab.settle_kinds();
    Ok(lab.network)
}

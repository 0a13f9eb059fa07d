//! Node-link JSON, as `networkx.node_link_data` writes it and D3 reads it.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source};
use xoff_net::topology::NodeKind;

use super::attributes::{self, Attribute, LinkFacts};
use crate::import::network::Names;
use crate::import::tree::{Document, Item, Tree};
use crate::import::{End, Link, Network, Options, json};

/// One line for help.
pub const DOC: &str = "node-link JSON of networkx: one file";

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], options: &Options) -> Result<Network, Problems> {
    let source = super::only(sources, DOC)?;
    Ok(graph(&json::parse(source)?, options)?)
}

fn graph(d: &Document, options: &Options) -> Result<Network, Problem> {
    let root = &d.root;
    let nodes = d.list(d.need(root, "nodes", "node-link JSON")?, "nodes")?;
    let edges = match (root.entry("edges"), root.entry("links")) {
        (Some((_, edges)), None) | (None, Some((_, edges))) => edges,
        (Some(_), Some((key, _))) => {
            return Err(Problem::new(
                "the file has both \"links\" and \"edges\"",
                "keep one of the two",
            )
            .at(d.source.place(key.span.clone())));
        }
        (None, None) => {
            return Err(d.problem(
                root,
                "the file has neither \"edges\" nor \"links\"",
                "networkx writes \"edges\", before 3.6 \"links\"",
            ));
        }
    };
    let directed = root.get("directed").is_some_and(Tree::is_true);
    let mut g = Graph::new(directed);
    g.network.title = root
        .get("graph")
        .and_then(|g| g.get("name"))
        .and_then(Tree::as_text)
        .unwrap_or_default()
        .to_owned();
    // Keyed by the type of the id too, since 1 and "1" are two ids.
    let mut ids: HashMap<String, usize> = HashMap::new();
    for (i, node) in nodes.iter().enumerate() {
        d.object(node, "node")?;
        let (name, key, place) = match node.get("id") {
            Some(id) => (id_name(d, id)?, id_key(id), d.place(id)),
            None => (i.to_string(), i.to_string(), d.place(node)),
        };
        let list = attributes_of(d, node, &["id"])?;
        let at = g.node(&name, &list, place)?;
        ids.insert(key, at);
    }
    let edges = d.list(edges, "edges")?;
    for edge in edges {
        let end = |key: &str| -> Result<usize, Problem> {
            let id = d.need(edge, key, "edge")?;
            ids.get(&id_key(id)).copied().ok_or_else(|| unknown_end(d, key, id, nodes.len(), &ids))
        };
        let (a, b) = (end("source")?, end("target")?);
        let facts = attributes::link(&attributes_of(d, edge, &["source", "target"])?, options)?;
        g.edge(a, b, facts, d.place(edge))?;
    }
    g.finish(options)
}

fn unknown_end(
    d: &Document,
    key: &str,
    id: &Tree,
    nodes: usize,
    ids: &HashMap<String, usize>,
) -> Problem {
    let is_index =
        matches!(&id.item, Item::Number(n) if n.parse::<usize>().is_ok_and(|n| n < nodes));
    let hint = match is_index && !ids.contains_key("0") {
        true => "use ids for source and target; some D3 files use list positions instead",
        false => "add the node to \"nodes\" (networkx would add it silently)",
    };
    d.problem(id, format!("{key}: there is no node {}", shown(id)), hint)
}

fn shown(id: &Tree) -> String {
    match &id.item {
        Item::Text(t) => format!("'{}'", crate::suggest::clip(t)),
        Item::Number(n) => n.clone(),
        _ => "of this id".into(),
    }
}

/// The name of a node: a text, a number, or the parts of a Python tuple joined by `-`.
fn id_name(d: &Document, id: &Tree) -> Result<String, Problem> {
    match &id.item {
        Item::Text(t) => Ok(t.split_whitespace().collect::<Vec<_>>().join("_")),
        Item::Number(n) => Ok(n.clone()),
        Item::List(parts) => {
            Ok(parts.iter().map(|p| id_name(d, p)).collect::<Result<Vec<_>, _>>()?.join("-"))
        }
        _ => Err(d.problem(
            id,
            format!("id: found {}", id.describe()),
            "expected a text, a number, or a list of these",
        )),
    }
}

/// Key that distinguishes ids.
fn id_key(id: &Tree) -> String {
    match &id.item {
        Item::Text(t) => format!("{t:?}"),
        Item::List(parts) => {
            format!("[{}]", parts.iter().map(id_key).collect::<Vec<_>>().join(","))
        }
        Item::Number(n) => n.clone(),
        other => format!("{other:?}"),
    }
}

fn attributes_of<'t>(
    d: &Document,
    at: &'t Tree,
    not: &[&str],
) -> Result<Vec<Attribute<'t>>, Problem> {
    let entries = d.object(at, "entry")?;
    let given = entries
        .iter()
        .filter(|(k, v)| !not.contains(&k.name.as_str()) && !matches!(v.item, Item::Null));
    Ok(given
        .map(|(k, v)| Attribute { name: &k.name, item: v.item.clone(), place: d.place(v) })
        .collect())
}

/// A graph while its nodes and edges come in; shared with GraphML.
pub(super) struct Graph {
    pub network: Network,
    names: Names,
    directed: bool,
    /// True if any node states its kind.
    any_kind: bool,
    kinds: Vec<Option<NodeKind>>,
    kinds_by_type: Vec<Option<NodeKind>>,
    /// Directed: links that wait for their other direction, by their ends.
    one_way: HashMap<(usize, usize), usize>,
    unknown: BTreeSet<String>,
}

impl Graph {
    pub fn new(directed: bool) -> Graph {
        let (network, names, kinds) = (Network::default(), Names::default(), Vec::new());
        Graph {
            network,
            names,
            directed,
            any_kind: false,
            kinds,
            kinds_by_type: Vec::new(),
            one_way: HashMap::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// Adds a node and returns its number.
    ///
    /// # Errors
    /// A name that is none or occurs twice, and an attribute that is rejected.
    pub fn node(
        &mut self,
        name: &str,
        list: &[Attribute<'_>],
        place: Place,
    ) -> Result<usize, Problem> {
        let facts = attributes::node(list)?;
        let at = self.network.add_node(
            &mut self.names,
            name,
            facts.kind.unwrap_or(NodeKind::Switch),
            place,
        )?;
        self.network.nodes[at].level = facts.level;
        self.any_kind |= facts.kind.is_some();
        self.kinds.push(facts.kind);
        self.kinds_by_type.push(facts.kind_by_type);
        self.unknown.extend(facts.unknown.into_iter().map(|name| format!("node {name}")));
        Ok(at)
    }

    /// Adds an edge; in a directed graph the second of two directions adds nothing.
    ///
    /// # Errors
    /// An edge from a node to itself, and two directions that differ in rate or length.
    pub fn edge(
        &mut self,
        a: usize,
        b: usize,
        facts: LinkFacts,
        place: Place,
    ) -> Result<(), Problem> {
        if a == b {
            let what = format!("'{}' is linked to itself", self.network.nodes[a].name);
            return Err(Problem::new(what, "expected two different nodes").at(place));
        }
        self.unknown.extend(facts.unknown.into_iter().map(|name| format!("edge {name}")));
        let link = Link {
            a: End { node: a, port: facts.a_port },
            b: End { node: b, port: facts.b_port },
            rate: facts.rate,
            wire: facts.wire,
            place,
        };
        if self.directed {
            if let Some(first) = self.one_way.remove(&(b, a)) {
                let first = &self.network.links[first];
                if (first.rate, first.wire) != (link.rate, link.wire) {
                    let what = format!(
                        "the two directions of '{}'-'{}' differ",
                        self.network.nodes[b].name, self.network.nodes[a].name
                    );
                    return Err(Problem::new(
                        what,
                        "a link has one rate and one delay for both directions",
                    )
                    .at(link.place));
                }
                return Ok(());
            }
            self.one_way.insert((a, b), self.network.links.len());
        }
        self.network.links.push(link);
        Ok(())
    }

    /// Decides the kinds of nodes, adds the requested hosts, and names omissions.
    ///
    /// # Errors
    /// A directed edge without the one back, a kind that some nodes have and others lack, and hosts
    /// that cannot be added.
    pub fn finish(mut self, options: &Options) -> Result<Network, Problem> {
        if let Some((&(a, b), &i)) = self.one_way.iter().min_by_key(|(_, i)| **i) {
            let name = |n: usize| &self.network.nodes[n].name;
            let what = format!(
                "the graph is directed, but it has no edge back from '{}' to '{}'",
                name(b),
                name(a)
            );
            return Err(Problem::new(what, "list both directions, or set \"directed\": false")
                .at(self.network.links[i].place.clone()));
        }
        if !self.any_kind && self.kinds_by_type.iter().all(Option::is_some) {
            let nodes = self.network.nodes.iter_mut().zip(&self.kinds_by_type);
            nodes.for_each(|(node, kind)| node.kind = kind.unwrap_or(NodeKind::Switch));
            self.any_kind = true;
            self.kinds.clone_from(&self.kinds_by_type);
        } else if self.kinds_by_type.iter().any(Option::is_some) {
            self.unknown.insert("node type".into());
        }
        if self.any_kind {
            if let Some(i) = self.kinds.iter().position(Option::is_none) {
                let what = format!(
                    "node '{}' has no kind, although other nodes have one",
                    self.network.nodes[i].name
                );
                return Err(Problem::new(
                    what,
                    "expected kind host or switch on every node, or on none",
                )
                .at(self.network.nodes[i].place.clone()));
            }
        } else if options.hosts_per_node.is_none() && !self.network.nodes.is_empty() {
            self.network.warnings.push(
                Problem::new(
                    "no node has a role attribute: xoff treats all nodes as switches",
                    "give each node a kind, or add hosts with --hosts-per-node 1",
                )
                .at(self.network.nodes[0].place.clone())
                .warning(),
            );
        }
        if let Some(n) = options.hosts_per_node {
            self.add_hosts(n)?;
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            let what = format!("attributes that xoff does not use: {}", names.join(", "));
            self.network.leave_out(what);
        }
        Ok(self.network)
    }

    fn add_hosts(&mut self, n: u32) -> Result<(), Problem> {
        for at in 0..self.network.nodes.len() {
            if self.network.nodes[at].kind == NodeKind::Host {
                continue;
            }
            for h in 0..n {
                let place = self.network.nodes[at].place.clone();
                let name = format!("{}-h{h}", self.network.nodes[at].name);
                let host =
                    self.network.add_node(&mut self.names, &name, NodeKind::Host, place.clone())?;
                let end = |node| End { node, port: None };
                self.network.links.push(Link {
                    a: end(host),
                    b: end(at),
                    rate: None,
                    wire: None,
                    place,
                });
            }
        }
        Ok(())
    }
}

//! GraphML, as networkx, Gephi, yEd and the Topology Zoo write it. Attributes are found by
//! `attr.name`, never by the id of their key.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};
use roxmltree::{Document, Node, ParsingOptions};

use super::attributes::{self, Attribute};
use super::networkx::Graph;
use crate::import::tree::{Item, point};
use crate::import::{Network, Options};

/// One line for help.
pub const DOC: &str = "GraphML: one file";

const NAMESPACE: &str = "http://graphml.graphdrawing.org/xmlns";

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], options: &Options) -> Result<Network, Problems> {
    let source = super::only(sources, DOC)?;
    Ok(graph(source, options)?)
}

/// Definition of a `<key>`.
struct Key<'x> {
    name: &'x str,
    is_text: bool,
    default: Option<&'x str>,
    of: &'x str,
    /// Drawing data of yEd: `nodegraphics`, `edgegraphics`, ...; no attribute.
    drawn: Option<&'x str>,
    place: Place,
}

struct Reader<'x> {
    source: &'x Arc<Source>,
    keys: HashMap<&'x str, Key<'x>>,
    /// In the order of the file.
    order: Vec<&'x str>,
}

fn graph(source: &Arc<Source>, options: &Options) -> Result<Network, Problem> {
    let parsed = Document::parse_with_options(
        source.text(),
        ParsingOptions { allow_dtd: false, ..ParsingOptions::default() },
    );
    let xml = parsed.map_err(|e| refused(source, &e))?;
    let root = xml.root_element();
    let place = |n: Node<'_, '_>| point(source, n.range().start);
    if root.tag_name().name() != "graphml" {
        return Err(Problem::new(
            format!("the root is <{}>", root.tag_name().name()),
            "expected <graphml>",
        )
        .at(place(root)));
    }
    let mut reader = Reader { source, keys: HashMap::new(), order: Vec::new() };
    for n in root.children().filter(|n| n.tag_name().name() == "key") {
        reader.key(n)?;
    }
    let mut graphs = root.children().filter(|n| n.tag_name().name() == "graph");
    let Some(g) = graphs.next() else {
        return Err(Problem::new("there is no <graph>", "expected one").at(place(root)));
    };
    if let Some(second) = graphs.next() {
        return Err(
            Problem::new("a second <graph>", "expected one graph in the file").at(place(second))
        );
    }
    let directed = match g.attribute("edgedefault") {
        Some("directed") => true,
        Some("undirected") | None => false,
        Some(other) => {
            let what = format!("edgedefault: unknown value '{}'", suggest::clip(other));
            return Err(Problem::new(what, "expected directed or undirected").at(place(g)));
        }
    };
    // yEd writes every graph as directed, but draws lines.
    let is_drawn = reader.keys.values().any(|k| k.drawn.is_some());
    let mut out = Graph::new(directed && !is_drawn);
    if directed && is_drawn {
        let warning = Problem::new(
            "yEd marks all graphs as directed",
            "xoff treats each edge as a link that carries both directions",
        );
        out.network.warnings.push(warning.at(place(g)).warning());
    }
    let labels = reader.labels(g);
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for n in g.children().filter(Node::is_element) {
        match n.tag_name().name() {
            "node" => {
                reader.no_parts(n)?;
                let id = reader.need(n, "id")?;
                let name = labels
                    .get(id)
                    .map_or(id, String::as_str)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join("_");
                ids.insert(id, out.node(&name, &reader.data(n, "node")?, place(n))?);
            }
            "edge" | "data" | "desc" => {}
            other => {
                let what = format!("xoff does not know <{other}>");
                return Err(
                    Problem::new(what, "expected <node> or <edge>; xoff does not read hyperedges, ports and nested graphs").at(place(n))
                );
            }
        }
    }
    for n in g.children().filter(|n| n.tag_name().name() == "edge") {
        let end = |key: &str| {
            let id = reader.need(n, key)?;
            let unknown = || {
                Problem::new(
                    format!("{key}: there is no node '{}'", suggest::clip(id)),
                    "name a <node> at each end of an \
                                                                                                       edge",
                )
            };
            ids.get(id).copied().ok_or_else(|| unknown().at(place(n)))
        };
        let (a, b) = (end("source")?, end("target")?);
        if n.attribute("directed").is_some_and(|d| (d == "true") != directed) {
            return Err(Problem::new(
                "the edge and its graph differ in direction",
                "expected all edges directed or all undirected",
            )
            .at(place(n)));
        }
        reader.no_parts(n)?;
        let mut list = reader.data(n, "edge")?;
        list.extend(reader.drawn_rate(n));
        out.edge(a, b, attributes::link(&list, options)?, place(n))?;
    }
    if root.tag_name().namespace() != Some(NAMESPACE) {
        let warning = Problem::new(
            "the namespace of GraphML is missing: xoff reads the file anyway",
            format!("add xmlns=\"{NAMESPACE}\""),
        );
        out.network.warnings.push(warning.at(place(root)).warning());
    }
    out.network.title = reader
        .data(g, "graph")?
        .into_iter()
        .find(|a| a.name == "name")
        .map(title)
        .unwrap_or_default();
    out.finish(options)
}

fn title(a: Attribute<'_>) -> String {
    match a.item {
        Item::Text(t) => t,
        _ => String::new(),
    }
}

fn refused(source: &Arc<Source>, e: &roxmltree::Error) -> Problem {
    let pos = e.pos();
    let line = source
        .text()
        .split_inclusive('\n')
        .take(pos.row.saturating_sub(1) as usize)
        .map(str::len)
        .sum::<usize>();
    let rest = source.text().get(line..).unwrap_or_default();
    let column =
        rest.chars().take(pos.col.saturating_sub(1) as usize).map(char::len_utf8).sum::<usize>();
    let hint = match e {
        roxmltree::Error::DtdDetected => {
            "expected a file without DOCTYPE, whose entities can grow without limit"
        }
        _ => "expected XML",
    };
    Problem::new(format!("not XML: {e}"), hint).at(point(source, line + column))
}

impl<'x> Reader<'x> {
    fn place(&self, n: Node<'_, '_>) -> Place {
        point(self.source, n.range().start)
    }

    fn need<'n>(&self, n: Node<'n, '_>, key: &str) -> Result<&'n str, Problem> {
        n.attribute(key).ok_or_else(|| {
            let what = format!("<{}> has no {key}", n.tag_name().name());
            Problem::new(what, "GraphML requires this attribute").at(self.place(n))
        })
    }

    fn key(&mut self, n: Node<'x, '_>) -> Result<(), Problem> {
        let id = self.need(n, "id")?;
        let default =
            n.children().find(|c| c.tag_name().name() == "default").and_then(|c| c.text());
        let kind = n.attribute("attr.type").unwrap_or("string");
        if !["boolean", "int", "integer", "long", "float", "double", "string"].contains(&kind) {
            return Err(Problem::new(
                format!("unknown attr.type '{}'", suggest::clip(kind)),
                "expected boolean, int, long, float, double or string",
            )
            .at(self.place(n)));
        }
        let key = Key {
            name: n.attribute("attr.name").unwrap_or(id),
            is_text: kind == "string",
            default,
            of: n.attribute("for").unwrap_or("all"),
            drawn: n.attribute("yfiles.type"),
            place: self.place(n),
        };
        if self.keys.insert(id, key).is_some() {
            return Err(Problem::new(
                format!("key '{}' is defined twice", suggest::clip(id)),
                "keep one of the two",
            )
            .at(self.place(n)));
        }
        self.order.push(id);
        Ok(())
    }

    /// Rejects other elements than data inside a node or an edge.
    fn no_parts(&self, n: Node<'_, '_>) -> Result<(), Problem> {
        match n
            .children()
            .find(|c| c.is_element() && !["data", "desc"].contains(&c.tag_name().name()))
        {
            None => Ok(()),
            Some(c) => {
                let what = format!(
                    "xoff does not know <{}> inside <{}>",
                    c.tag_name().name(),
                    n.tag_name().name()
                );
                Err(Problem::new(what, "xoff does not read ports and nested graphs")
                    .at(self.place(c)))
            }
        }
    }

    /// Label that yEd writes at an element.
    fn label(&self, n: Node<'x, '_>, label: &str) -> Option<Node<'x, '_>> {
        let drawn = |d: &Node<'x, '_>| {
            d.attribute("key").and_then(|key| self.keys.get(key)).is_some_and(|k| k.drawn.is_some())
        };
        let mut data = n.children().filter(|c| c.tag_name().name() == "data").filter(drawn);
        data.find_map(|d| {
            d.descendants().find(|c| {
                c.tag_name().name() == label && c.text().is_some_and(|t| !t.trim().is_empty())
            })
        })
    }

    /// The labels that yEd shows, by id, where they distinguish all nodes.
    fn labels(&self, g: Node<'x, '_>) -> HashMap<String, String> {
        let nodes: Vec<Node<'x, '_>> =
            g.children().filter(|n| n.tag_name().name() == "node").collect();
        let label = |n: &Node<'x, '_>| {
            Some((
                n.attribute("id")?.to_owned(),
                self.label(*n, "NodeLabel")?.text()?.trim().to_owned(),
            ))
        };
        let found: HashMap<String, String> = nodes.iter().filter_map(label).collect();
        let distinct: HashSet<&String> = found.values().collect();
        if found.len() == nodes.len() && distinct.len() == nodes.len() {
            found
        } else {
            HashMap::new()
        }
    }

    /// A rate that yEd writes at an edge; other labels say nothing here.
    fn drawn_rate(&self, n: Node<'x, '_>) -> Option<Attribute<'x>> {
        let label = self.label(n, "EdgeLabel")?;
        let rate = Attribute {
            name: "rate",
            item: Item::Text(label.text()?.trim().into()),
            place: self.place(label),
        };
        rate.rate().is_ok().then_some(rate)
    }

    /// The attributes of an element, defaults included.
    fn data(&self, n: Node<'x, '_>, kind: &str) -> Result<Vec<Attribute<'x>>, Problem> {
        let mut given: HashMap<&str, (&str, Place)> = HashMap::new();
        for d in n.children().filter(|c| c.tag_name().name() == "data") {
            let id = self.need(d, "key")?;
            if !self.keys.contains_key(id) {
                let what = format!("no <key> defines the key '{}'", suggest::clip(id));
                return Err(Problem::new(what, "add a <key id=...>").at(self.place(d)));
            }
            let text = d.text().unwrap_or_default();
            if given.insert(id, (text.trim(), self.place(d))).is_some() {
                return Err(Problem::new(
                    format!("data '{}' is defined twice", suggest::clip(id)),
                    "keep one of the two",
                )
                .at(self.place(d)));
            }
        }
        let mut out = Vec::new();
        for id in &self.order {
            let key = &self.keys[id];
            let value = given.remove(id).or_else(|| {
                let fits = key.of == kind || key.of == "all";
                key.default.filter(|_| fits).map(|text| (text.trim(), key.place.clone()))
            });
            if let Some((text, place)) = value.filter(|_| key.drawn.is_none()) {
                let item =
                    if key.is_text { Item::Text(text.into()) } else { Item::Number(text.into()) };
                out.push(Attribute { name: key.name, item, place });
            }
        }
        Ok(out)
    }
}

//! Topologies from files: `[topology]` of a scenario, a file of `[[node]]` and `[[link]]`, or HPCC's format.
//!
//! ```toml
//! rate = "100Gbps"          # of links that say nothing else
//! node = [{name = "H0", kind = "host"}, {name = "S0", kind = "switch"}]
//! link = [{a = "H0", b = "S0"}]
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_topology::builders::custom::{self, LinkSpec, NodeSpec};
use xoff_topology::builders::{self, BUILDERS};
use xoff_topology::{NodeKind, Topology};
use xoff_units::{Rate, Span};

use crate::document::{Document, KindSpec, Override, Section, SectionSpec};
use crate::hpcc::HpccTopology;
use crate::{Problem, Problems, Source};

/// Name of the kind that lists its nodes and links.
pub const CUSTOM: &str = "custom";

const LINKS: &[ParamSpec] = &[
    ParamSpec::new("rate", Kind::Rate, "10Gbps", "rate of the links that do not state one", "GFC section 6"),
    ParamSpec::new("delay", Kind::Span, "1us", "propagation delay of the links that do not state one", "GFC section 6.2.2"),
];
const NODE: &[ParamSpec] = &[
    ParamSpec::required("name", Kind::Text, "unique name, without spaces"),
    ParamSpec::required("kind", Kind::Choice(&["host", "switch"]), "host or switch"),
    ParamSpec::optional("level", Kind::Count, "level for up-down routing; distance from the nearest host when absent", ""),
];
const LINK: &[ParamSpec] = &[
    ParamSpec::required("a", Kind::Text, "name of the first end"),
    ParamSpec::required("b", Kind::Text, "name of the second end"),
    ParamSpec::optional("rate", Kind::Rate, "rate of each direction; that of the topology when absent", ""),
    ParamSpec::optional("delay", Kind::Span, "propagation delay; that of the topology when absent", ""),
];

/// Name of the kind that is read from a file of its own.
pub const FILE: &str = "file";

const OWN_FILE: &[ParamSpec] = &[ParamSpec::required(
    "path",
    Kind::Text,
    "topology file, beside the scenario: [[node]] and [[link]], another scenario, or the format of the HPCC simulator",
)];

/// `[topology]` with every kind, and the lists of the custom kind.
pub fn sections() -> Vec<SectionSpec> {
    let mut kinds: Vec<KindSpec> = BUILDERS.iter().map(|b| KindSpec { name: b.name, doc: b.doc, specs: vec![b.params] }).collect();
    kinds.push(KindSpec { name: CUSTOM, doc: "Nodes and links as listed in [[topology.node]] and [[topology.link]].", specs: vec![LINKS] });
    kinds.push(KindSpec { name: FILE, doc: "Read from a file of its own.", specs: vec![OWN_FILE] });
    vec![
        SectionSpec::once("topology", "The network.", Vec::new()).kinds("kind", None, kinds).required(),
        SectionSpec::many("topology.node", "A node of a custom topology.", vec![NODE]),
        SectionSpec::many("topology.link", "A link of a custom topology; links number the ports in their order.", vec![LINK]),
    ]
}

/// A file that is nothing but a topology: the content of a custom `[topology]` without that header.
pub fn file_sections() -> Vec<SectionSpec> {
    vec![
        SectionSpec::once("", "The network.", vec![LINKS]),
        SectionSpec::many("node", "A node.", vec![NODE]).required(),
        SectionSpec::many("link", "A link; links number the ports in their order.", vec![LINK]).required(),
    ]
}

/// Builds what an open `[topology]` describes; what is wrong goes to its document. Files are looked up in `folder`.
pub fn build_in(section: &mut Section<'_>, folder: &Path) -> Option<Topology> {
    build_below(section, folder, &[])
}

/// Files that may name each other, one below the other, before somebody has lost the way.
const DEPTH_MAX: usize = 8;

/// As [`build_in`], where the files `above` led to this section.
fn build_below(section: &mut Section<'_>, folder: &Path, above: &[PathBuf]) -> Option<Topology> {
    if section.kind()? != FILE {
        return build(section);
    }
    let name = section.take(|s| s.text("path"))?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (own, path) = (real(Path::new(section.source().name())), folder.join(&name));
    let mut opened = above.to_vec();
    opened.push(own);
    if let Some(i) = opened.iter().position(|file| *file == real(&path)) {
        let what = match &opened[i + 1..] {
            [] => format!("'{name}' names itself"),
            between => {
                let names: Vec<String> = between.iter().map(|f| format!("'{}'", f.display())).collect();
                format!("'{name}' names itself, through {}", names.join(", "))
            }
        };
        section.refuse(&ParamError::new("path", what, "expected a file that lists nodes and links, or names a builder"));
        return None;
    }
    if opened.len() > DEPTH_MAX {
        let what = format!("{} files name each other, one after the other", opened.len() + 1);
        section.refuse(&ParamError::new("path", what, format!("expected at most {DEPTH_MAX}; name the file with the nodes itself")));
        return None;
    }
    match Source::read(&path).and_then(|source| read_below(source, &[], path.parent().unwrap_or(Path::new("")), &opened)) {
        Ok(topology) => Some(topology),
        Err(problems) => {
            let (what, hint) = problems.iter().next().map(|p| (p.place_and_message(), p.hint.clone())).unwrap_or_default();
            section.refuse(&ParamError::new("path", what, hint));
            None
        }
    }
}

/// As [`build_in`], with files looked up in the working folder.
pub fn build(section: &mut Section<'_>) -> Option<Topology> {
    let kind = section.kind()?;
    if kind == FILE {
        return build_in(section, Path::new(""));
    }
    if kind == CUSTOM {
        let [_, node, link] = sections().try_into().expect("three sections");
        let (nodes, links) = (section.children(&node), section.children(&link));
        return graph(section, nodes, links);
    }
    let builder = builders::find(kind)?;
    section.take(|s| (builder.build)(s))
}

/// Reads a topology for its own sake: a scenario (only its `[topology]`), a topology file, or a file in HPCC's format.
pub fn load(path: &Path, settings: &[Override]) -> Result<Topology, Problems> {
    read(Source::read(path)?, settings)
}

/// As [`load`], from a text. HPCC's format is told by its first character, a digit: no TOML file of ours starts so.
///
/// # Errors
/// Everything wrong with it, each with its place.
pub fn read(source: Arc<Source>, settings: &[Override]) -> Result<Topology, Problems> {
    let folder = Path::new(source.name()).parent().unwrap_or(Path::new("")).to_owned();
    read_below(source, settings, &folder, &[])
}

/// As [`read`], with files looked up in `folder`, where the files `above` led here.
fn read_below(source: Arc<Source>, settings: &[Override], folder: &Path, above: &[PathBuf]) -> Result<Topology, Problems> {
    if source.text().trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        if let Some(setting) = settings.first() {
            return Err(Problem::new("a setting cannot change this topology", "it is in HPCC's format").at(setting.place()).into());
        }
        let topology = HpccTopology::read(&source)?;
        return topology.graph().map_err(|e| Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(source.place(0..0)).into());
    }
    let doc = Document::parse_as(source, settings, "a topology has at least one [[node]] and one [[link]]")?;
    let specs = sections();
    let topology = if doc.has(&specs[0]) {
        let topology = build_below(&mut doc.open(&specs[0]), folder, above);
        // The other sections of a scenario are for the run.
        doc.check()?;
        topology
    } else {
        let [top, node, link] = file_sections().try_into().expect("three sections");
        doc.declare(&[top.clone(), node.clone(), link.clone()]);
        let mut top = doc.open(&top);
        let (nodes, links) = (doc.open_all(&node), doc.open_all(&link));
        let topology = graph(&mut top, nodes, links);
        doc.finish()?;
        topology
    };
    Ok(topology.expect("without problems there is a topology"))
}

/// Reads the lists and joins them; a refusal is located in the entry it concerns.
fn graph(top: &mut Section<'_>, mut nodes: Vec<Section<'_>>, mut links: Vec<Section<'_>>) -> Option<Topology> {
    let wire = top.take(|s| Ok((s.rate("rate")?, s.span("delay")?)));
    let node_specs: Vec<_> = nodes.iter_mut().map(|n| n.take(node)).collect();
    let link_specs: Vec<_> = links.iter_mut().map(|l| l.take(|s| link(s, wire))).collect();
    // With an entry missing, the others would be blamed for it.
    let node_specs: Vec<NodeSpec> = node_specs.into_iter().collect::<Option<_>>()?;
    let link_specs: Vec<LinkSpec> = link_specs.into_iter().collect::<Option<_>>()?;
    match custom::graph(&node_specs, &link_specs) {
        Ok(topology) => Some(topology),
        Err(e) => {
            match entry(&e.key) {
                Some(("node", i, key)) if i < nodes.len() => nodes[i].refuse(&ParamError::new(key, e.what, e.hint)),
                Some(("link", i, key)) if i < links.len() => links[i].refuse(&ParamError::new(key, e.what, e.hint)),
                _ => top.refuse(&e),
            }
            None
        }
    }
}

/// Splits `link[3].rate`.
fn entry(key: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = key.split_once('[')?;
    let (index, key) = rest.split_once("].")?;
    Some((list, index.parse().ok()?, key))
}

fn node(s: &mut Section<'_>) -> Result<NodeSpec, ParamError> {
    let kind = if s.text("kind")? == "host" { NodeKind::Host } else { NodeKind::Switch };
    let level = s
        .count_opt("level")?
        .map(|l| u8::try_from(l).map_err(|_| ParamError::new("level", format!("{l} is out of range"), "expected 0 to 255")));
    Ok(NodeSpec { name: s.text("name")?, kind, level: level.transpose()? })
}

fn link(s: &mut Section<'_>, wire: Option<(Rate, Span)>) -> Result<LinkSpec, ParamError> {
    // Without the topology's own, the refusal has been told; any value serves to find more of them.
    let (rate, delay) = wire.unwrap_or((Rate::from_gbps(1), Span::ZERO));
    let (a, b) = (s.text("a")?, s.text("b")?);
    Ok(LinkSpec { a, b, rate: s.rate_opt("rate")?.unwrap_or(rate), delay: s.span_opt("delay")?.unwrap_or(delay) })
}

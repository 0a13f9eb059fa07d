//! Topologies from files: `[topology]` of a scenario, a file of `[[node]]` and `[[link]]`, or
//! HPCC's format.
//!
//! ```toml
//! rate = "100Gbps"          # of links that say nothing else
//! node = [{name = "H0", kind = "host"}, {name = "S0", kind = "switch"}]
//! link = [{a = "H0", b = "S0"}]
//! ```
//!
//! or in short form, where a name that is in no list is that of a switch:
//!
//! ```toml
//! hosts = ["H0", "H1"]
//! links = ["H0 S0 100Gbps 5m", "H1 S0 100Gbps 5m"]
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_net::topology::builders::custom::{self, LinkSpec, NodeSpec};
use xoff_net::topology::builders::{self, BUILDERS};
use xoff_net::topology::{NodeKind, Topology};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Rate, Span};

use crate::document::{Document, KindSpec, Override, Section, SectionSpec};
use crate::hpcc::HpccTopology;
use crate::links::{self, Ends, ShortLink};
use crate::{Problem, Problems, Source};

/// Name of the kind that lists its nodes and links.
pub const CUSTOM: &str = "custom";

const LINKS: &[ParamSpec] = &[
    ParamSpec::new(
        "rate",
        Kind::Rate,
        "10Gbps",
        "rate of links without their own",
        "GFC section 6",
    ),
    ParamSpec::new(
        "delay",
        Kind::Span,
        "1us",
        "propagation delay of links without their own",
        "GFC section 6.2.2",
    ),
];
const SHORT: &[ParamSpec] = &[
    texts("hosts", "names of hosts, for links in short form"),
    texts(
        "switches",
        "names of switches, if their order matters; a name that occurs only in links is a switch",
    ),
    texts(
        "links",
        "links in short form: two nodes, rate, length or delay, as in \"leaf1:Ethernet8 spine1 400Gbps 300m\"; 1 m is 5 ns",
    ),
    ParamSpec::optional(
        "links_file",
        Kind::Text,
        "CSV file of links, next to the scenario: a, b, rate, length, delay, a_port, b_port",
        "",
    ),
];
const fn texts(key: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec::optional(key, Kind::Texts, doc, "")
}
const NODE: &[ParamSpec] = &[
    ParamSpec::required("name", Kind::Text, "unique name, without spaces"),
    ParamSpec::required("kind", Kind::Choice(&["host", "switch"]), "host or switch"),
    ParamSpec::optional(
        "level",
        Kind::Count,
        "level for up-down routing; 0: a scale-up switch, which its hosts take before equally near ones; distance from the nearest host when absent",
        "",
    ),
];
const LINK: &[ParamSpec] = &[
    ParamSpec::required("a", Kind::Text, "name of the first end"),
    ParamSpec::required("b", Kind::Text, "name of the second end"),
    ParamSpec::optional(
        "rate",
        Kind::Rate,
        "rate of each direction; absent: the rate of the topology",
        "",
    ),
    ParamSpec::optional(
        "delay",
        Kind::Span,
        "propagation delay; absent: the delay of the topology",
        "",
    ),
];

/// Name of the kind that is read from a file of its own.
pub const FILE: &str = "file";

const OWN_FILE: &[ParamSpec] = &[ParamSpec::required(
    "path",
    Kind::Text,
    "topology file, next to the scenario: [[node]] and [[link]], another scenario, or the format of the HPCC simulator",
)];

/// `[topology]` with every kind, and the lists of the custom kind.
pub fn sections() -> Vec<SectionSpec> {
    let mut kinds: Vec<KindSpec> = BUILDERS
        .iter()
        .map(|b| KindSpec { name: b.name, doc: b.doc, specs: vec![b.params] })
        .collect();
    kinds.push(KindSpec {
        name: CUSTOM,
        doc: "Nodes and links from [[topology.node]] and [[topology.link]], or in short form.",
        specs: vec![LINKS, SHORT],
    });
    kinds.push(KindSpec {
        name: FILE,
        doc: "Topology from a separate file.",
        specs: vec![OWN_FILE],
    });
    vec![
        SectionSpec::once("topology", "The network.", Vec::new())
            .kinds("kind", None, kinds)
            .required(),
        SectionSpec::many("topology.node", "A node of a custom topology.", vec![NODE]),
        SectionSpec::many(
            "topology.link",
            "A link of a custom topology. Ports are numbered in the order of the links.",
            vec![LINK],
        ),
    ]
}

/// A file that is nothing but a topology: the content of a custom `[topology]` without that header.
pub fn file_sections() -> Vec<SectionSpec> {
    vec![
        SectionSpec::once("", "The network.", vec![LINKS, SHORT]),
        SectionSpec::many("node", "A node.", vec![NODE]),
        SectionSpec::many(
            "link",
            "A link. Ports are numbered in the order of the links.",
            vec![LINK],
        ),
    ]
}

/// Builds the network of an open `[topology]`; problems go to its document. Files are looked up in
/// `folder`.
pub fn build_in(section: &mut Section<'_>, folder: &Path) -> Option<Topology> {
    build_below(section, folder, &[])
}

/// Longest chain of files that name each other; a longer one is rejected.
const DEPTH_MAX: usize = 8;

/// As [`build_in`], where the files `above` led to this section.
fn build_below(section: &mut Section<'_>, folder: &Path, above: &[PathBuf]) -> Option<Topology> {
    if section.kind()? != FILE {
        return build_listed(section, folder);
    }
    let name = section.take(|s| s.text("path"))?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (own, path) = (real(Path::new(section.source().name())), folder.join(&name));
    let mut opened = above.to_vec();
    opened.push(own);
    if let Some(i) = opened.iter().position(|file| *file == real(&path)) {
        let what = match &opened[i + 1..] {
            [] => format!("'{name}' refers to itself"),
            between => {
                let names: Vec<String> =
                    between.iter().map(|f| format!("'{}'", f.display())).collect();
                format!("'{name}' refers to itself through {}", names.join(", "))
            }
        };
        section.refuse(&ParamError::new(
            "path",
            what,
            "expected a file that lists nodes and links, or names a builder",
        ));
        return None;
    }
    if opened.len() > DEPTH_MAX {
        let what = format!("{} files refer to each other in a chain", opened.len() + 1);
        section.refuse(&ParamError::new(
            "path",
            what,
            format!("expected at most {DEPTH_MAX}; name the file with the nodes directly"),
        ));
        return None;
    }
    match Source::read(&path)
        .and_then(|source| read_below(source, &[], path.parent().unwrap_or(Path::new("")), &opened))
    {
        Ok(topology) => Some(topology),
        Err(problems) => {
            let (what, hint) = problems
                .iter()
                .next()
                .map(|p| (p.place_and_message(), p.hint.clone()))
                .unwrap_or_default();
            section.refuse(&ParamError::new("path", what, hint));
            None
        }
    }
}

/// Builds a topology without a separate file: from lists, or by a builder.
fn build_listed(section: &mut Section<'_>, folder: &Path) -> Option<Topology> {
    let kind = section.kind()?;
    if kind == CUSTOM {
        let [_, node, link] = sections().try_into().expect("three sections");
        let (nodes, links) = (section.children(&node), section.children(&link));
        return graph(section, nodes, links, folder, "topology.");
    }
    let builder = builders::find(kind)?;
    section.take(|s| (builder.build)(s))
}

/// Reads a topology for its own sake: a scenario (only its `[topology]`), a topology file, or a
/// file in HPCC's format. That format is recognised by its first character, a digit: no TOML file
/// of ours starts so.
///
/// # Errors
/// Everything wrong with it, each with its place.
pub fn read(source: Arc<Source>, settings: &[Override]) -> Result<Topology, Problems> {
    let folder = Path::new(source.name()).parent().unwrap_or(Path::new("")).to_owned();
    read_below(source, settings, &folder, &[])
}

/// As [`read`], with files looked up in `folder`, where the files `above` led here.
fn read_below(
    source: Arc<Source>,
    settings: &[Override],
    folder: &Path,
    above: &[PathBuf],
) -> Result<Topology, Problems> {
    if source.text().trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        if let Some(setting) = settings.first() {
            return Err(Problem::new(
                "a setting cannot change this topology",
                "the file has HPCC's format",
            )
            .at(setting.place())
            .into());
        }
        let topology = HpccTopology::read(&source)?;
        return topology.graph().map_err(|e| {
            Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(source.place(0..0)).into()
        });
    }
    let doc = Document::parse_as(
        source,
        settings,
        "a topology has at least one [[node]] and one [[link]]",
    )?;
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
        let topology = graph(&mut top, nodes, links, folder, "");
        doc.finish()?;
        topology
    };
    Ok(topology.expect("without problems there is a topology"))
}

/// Reads the lists, with `below` as the prefix of their names, and joins them; a refusal is located
/// in the entry it concerns.
fn graph(
    top: &mut Section<'_>,
    mut nodes: Vec<Section<'_>>,
    mut links: Vec<Section<'_>>,
    folder: &Path,
    below: &str,
) -> Option<Topology> {
    let wire = top.take(|s| Ok((s.rate("rate")?, s.span("delay")?)));
    let node_specs: Vec<_> = nodes.iter_mut().map(|n| n.take(node)).collect();
    let link_specs: Vec<_> = links.iter_mut().map(|l| l.take(|s| link(s, wire))).collect();
    // With an entry missing, the others would be blamed for it.
    let mut node_specs: Vec<NodeSpec> = node_specs.into_iter().collect::<Option<_>>()?;
    let mut link_specs: Vec<LinkSpec> = link_specs.into_iter().collect::<Option<_>>()?;
    let listed = top.take(|s| Ok((s.texts("hosts")?, s.texts("switches")?)))?;
    node_specs.extend(listed.0.iter().map(|name| NodeSpec::new(name, NodeKind::Host)));
    node_specs.extend(listed.1.iter().map(|name| NodeSpec::new(name, NodeKind::Switch)));
    let first = link_specs.len();
    let short = short_links(top, folder)?;
    if node_specs.is_empty() {
        let (key, what, hint) = match short.items.is_empty() {
            true => {
                let lists = format!(
                    "expected at least one [[{below}node]] and one [[{below}link]], or hosts = [...] and links = [...]"
                );
                ("node", "there is no node", lists)
            }
            false => (
                "hosts",
                "the topology has no hosts",
                "list the hosts, such as hosts = [\"h1\", \"h2\"]; all other nodes are switches"
                    .into(),
            ),
        };
        top.refuse(&ParamError::new(key, what, hint));
        return None;
    }
    let listed_nodes = node_specs.clone();
    let mut ends = Ends::of(&listed_nodes);
    for (i, (link, _)) in short.items.iter().enumerate() {
        match ends.take(link.clone(), wire?) {
            Ok(spec) => link_specs.push(spec),
            Err((what, hint)) => {
                short.refuse(top, i, &what, &hint);
                return None;
            }
        }
    }
    node_specs.append(&mut ends.further);
    match custom::graph(&node_specs, &link_specs) {
        Ok(mut topology) => {
            ends.label(&mut topology, first);
            Some(topology)
        }
        Err(e) => {
            let n = nodes.len();
            match entry(&e.key) {
                Some(("node", i, key)) if i < n => {
                    nodes[i].refuse(&ParamError::new(key, e.what, e.hint))
                }
                Some(("node", i, _)) if i < n + listed.0.len() => {
                    top.refuse_item("hosts", i - n, e.what, e.hint)
                }
                Some(("node", i, _)) if i < n + listed.0.len() + listed.1.len() => {
                    top.refuse_item("switches", i - n - listed.0.len(), e.what, e.hint);
                }
                Some(("link", i, key)) if i < first => {
                    links[i].refuse(&ParamError::new(key, e.what, e.hint))
                }
                Some(("link", i, _)) => short.refuse(top, i - first, &e.what, &e.hint),
                _ => top.refuse(&e),
            }
            None
        }
    }
}

/// Links in short form with where they stand.
struct Short {
    /// The links of the list, then those of the file with their bytes there.
    items: Vec<(ShortLink, std::ops::Range<usize>)>,
    /// Number of entries in the list.
    in_list: usize,
    file: Option<Arc<Source>>,
}

impl Short {
    /// A refusal of the `i`th link, where it stands.
    fn refuse(&self, top: &Section<'_>, i: usize, what: &str, hint: &str) {
        match &self.file {
            Some(source) if i >= self.in_list => {
                top.refuse_file(
                    Problem::new(what, hint).at(source.place(self.items[i].1.clone())).into(),
                );
            }
            _ => top.refuse_item("links", i, what, hint),
        }
    }
}

/// Reads `links` and `links_file`; everything wrong is reported.
fn short_links(top: &mut Section<'_>, folder: &Path) -> Option<Short> {
    let (lines, path) = top.take(|s| Ok((s.texts("links")?, s.text_opt("links_file")?)))?;
    let mut short = Short { items: Vec::new(), in_list: lines.len(), file: None };
    let mut complete = true;
    for (i, text) in lines.iter().enumerate() {
        match links::line(text) {
            Ok(link) => short.items.push((link, 0..0)),
            Err((what, hint)) => {
                top.refuse_item("links", i, what, hint);
                complete = false;
            }
        }
    }
    if let Some(path) = path {
        match links::file(&folder.join(path)) {
            Ok((source, items)) => {
                short.items.extend(items);
                short.file = Some(source);
            }
            Err(problems) => {
                top.refuse_file(problems);
                complete = false;
            }
        }
    }
    complete.then_some(short)
}

/// Splits `link[3].rate`.
fn entry(key: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = key.split_once('[')?;
    let (index, key) = rest.split_once("].")?;
    Some((list, index.parse().ok()?, key))
}

fn node(s: &mut Section<'_>) -> Result<NodeSpec, ParamError> {
    let kind = if s.text("kind")? == "host" { NodeKind::Host } else { NodeKind::Switch };
    let level = s.count_opt("level")?.map(|l| {
        u8::try_from(l).map_err(|_| {
            ParamError::new("level", format!("{l} is out of range"), "expected 0 to 255")
        })
    });
    Ok(NodeSpec { name: s.text("name")?, kind, level: level.transpose()? })
}

fn link(s: &mut Section<'_>, wire: Option<(Rate, Span)>) -> Result<LinkSpec, ParamError> {
    // Without the topology's own, the refusal has been reported; any value serves to find more of
    // them.
    let (rate, delay) = wire.unwrap_or((Rate::from_gbps(1), Span::ZERO));
    let (a, b) = (s.text("a")?, s.text("b")?);
    Ok(LinkSpec {
        a,
        b,
        rate: s.rate_opt("rate")?.unwrap_or(rate),
        delay: s.span_opt("delay")?.unwrap_or(delay),
    })
}

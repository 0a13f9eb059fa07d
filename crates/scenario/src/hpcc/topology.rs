//! `topology.txt`: which nodes there are and how they are linked.
//!
//! ```text
//!   node_num switch_num link_num
//!   switch ids ...                      (empty line when there are none)
//!   a b rate delay error_rate           once per link; the order numbers the ports
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use xoff_net::topology::builders::custom::{self, LinkSpec, NodeSpec};
use xoff_net::topology::{NodeKind, Topology};
use xoff_units::params::ParamError;
use xoff_units::{Rate, Span};

use super::ns3;
use crate::words::{Line, Word, Words};
use crate::{Place, Problems, Source};

/// Node ids are part of the addresses there, in 16 bits (`scratch/third.cc:155`).
const NODES_MAX: u64 = 65_536;

/// One link of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct HpccLink {
    /// First node.
    pub a: u32,
    /// Second node.
    pub b: u32,
    /// Rate of each direction [bit/s].
    pub rate: Rate,
    /// Propagation delay [whole ns].
    pub delay_ns: u64,
    /// Share of the frames that are lost on it, each direction; 0: the configuration's
    /// `ERROR_RATE_PER_LINK`.
    pub error_rate: f64,
    /// Place of the rate.
    pub rate_place: Place,
}

/// A topology file.
#[derive(Clone, Debug, PartialEq)]
pub struct HpccTopology {
    /// Per node: whether it is a switch.
    pub is_switch: Vec<bool>,
    /// The links in the order of the file.
    pub links: Vec<HpccLink>,
}

impl HpccTopology {
    /// Reads a topology file.
    ///
    /// # Errors
    /// Every invalid line, with its place.
    pub fn read(source: &Arc<Source>) -> Result<HpccTopology, Problems> {
        let mut w = Words::new(source);
        let topology = parse(&mut w);
        w.problems.or(topology).map(|t| t.expect("without problems there is a topology"))
    }

    /// As a graph: node `i` is `H<i>` or `S<i>`, and ports are numbered from 0 in the order of the
    /// file. Levels are not in the file; they are derived from the distance to the nearest host.
    ///
    /// # Errors
    /// A network that no [`Topology`] can hold; see
    /// [`xoff_net::topology::builders::custom::graph`].
    pub fn graph(&self) -> Result<Topology, ParamError> {
        let name =
            |id: u32| if self.is_switch[id as usize] { format!("S{id}") } else { format!("H{id}") };
        let kind = |&is_switch: &bool| if is_switch { NodeKind::Switch } else { NodeKind::Host };
        let nodes: Vec<NodeSpec> =
            (0..).zip(&self.is_switch).map(|(id, s)| NodeSpec::new(name(id), kind(s))).collect();
        let link = |l: &HpccLink| LinkSpec {
            a: name(l.a),
            b: name(l.b),
            rate: l.rate,
            delay: Span::from_ns(l.delay_ns),
        };
        let links: Vec<LinkSpec> = self.links.iter().map(link).collect();
        custom::graph(&nodes, &links)
    }

    /// By node: how many links the shortest way to host `to` has, without the link that joins the
    /// nodes `without`;
    /// [`u32::MAX`]: there is none. Hosts forward nothing.
    pub fn distances(&self, to: u32, without: Option<(u32, u32)>) -> Vec<u32> {
        let mut neighbours = vec![Vec::new(); self.is_switch.len()];
        for l in &self.links {
            if without != Some((l.a, l.b)) && without != Some((l.b, l.a)) {
                neighbours[l.a as usize].push(l.b);
                neighbours[l.b as usize].push(l.a);
            }
        }
        let mut distance = vec![u32::MAX; self.is_switch.len()];
        distance[to as usize] = 0;
        let mut queue = std::collections::VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for &next in &neighbours[node as usize] {
                if distance[next as usize] == u32::MAX {
                    distance[next as usize] = distance[node as usize] + 1;
                    if self.is_switch[next as usize] {
                        queue.push_back(next);
                    }
                }
            }
        }
        distance
    }
}

fn parse(w: &mut Words<'_>) -> Option<HpccTopology> {
    let mut lines = w.lines();
    let Some(header) = lines.by_ref().find(|l| !l.words.is_empty()) else {
        w.refuse(
            &(0..0),
            "the topology file is empty",
            "expected node_num switch_num link_num on the first line",
        );
        return None;
    };
    if !w.expect(&header, "first line", &["node_num", "switch_num", "link_num"]) {
        return None;
    }
    let nodes = w.count(&header.words[0], "node_num", NODES_MAX);
    let switches = w.count(&header.words[1], "switch_num", NODES_MAX);
    let links = w.count(&header.words[2], "link_num", u32::MAX.into());
    let (nodes, switches, links) = (nodes?, switches?, links?);
    let header_span = header.words[0].span.clone();
    if nodes == 0 {
        w.refuse(&header_span, "node_num: the network has no nodes", "expected at least 1");
        return None;
    }

    // Without switches their line is empty, or left out.
    let mut rest = lines.filter(|l| !l.words.is_empty()).peekable();
    let mut is_switch = vec![false; nodes as usize];
    if switches > 0 {
        let Some(ids) = rest.next() else {
            let end = w.source.text().len();
            w.refuse(
                &(end..end),
                "the line of switch ids is missing",
                format!("expected {switches} ids"),
            );
            return None;
        };
        switch_ids(w, &ids, switches, &mut is_switch);
    }

    let links = link_lines(w, &mut rest, links, &is_switch);
    check_hosts(w, &is_switch, &links, &header_span);
    Some(HpccTopology { is_switch, links })
}

fn switch_ids(w: &mut Words<'_>, line: &Line<'_>, count: u64, is_switch: &mut [bool]) {
    if line.words.len() as u64 != count {
        // A link's words are no ids: then the whole line of ids is missing.
        let at = line
            .words
            .get(count as usize)
            .unwrap_or(&line.words[line.words.len() - 1])
            .span
            .clone();
        w.refuse(
            &at,
            format!("{} switch ids on this line", line.words.len()),
            format!("the first line announces {count}"),
        );
        return;
    }
    for word in &line.words {
        let Some(id) = node(w, word, "switch id", is_switch.len()) else { continue };
        if std::mem::replace(&mut is_switch[id as usize], true) {
            w.refuse(
                &word.span,
                format!("switch id: {id} is listed twice"),
                "expected each switch once",
            );
        }
    }
}

fn node(w: &mut Words<'_>, word: &Word<'_>, what: &str, nodes: usize) -> Option<u32> {
    let id = w.count(word, what, u32::MAX.into())?;
    if id >= nodes as u64 {
        w.refuse(
            &word.span,
            format!("{what}: there is no node {id}"),
            format!("nodes are 0 to {}", nodes - 1),
        );
        return None;
    }
    Some(id as u32)
}

fn link_lines<'t>(
    w: &mut Words<'t>,
    lines: &mut impl Iterator<Item = Line<'t>>,
    count: u64,
    is_switch: &[bool],
) -> Vec<HpccLink> {
    let mut links = Vec::new();
    let mut seen = HashMap::new();
    let mut found = 0;
    for line in lines {
        found += 1;
        if found > count {
            w.refuse(
                &line.words[0].span,
                "the file continues after the last link",
                format!("the first line announces {count} links"),
            );
            return links;
        }
        let what = format!("link {found}");
        let Some(link) = link_line(w, &line, &what, is_switch) else { continue };
        // There, a table by neighbour keeps only the last of parallel links: a run would differ
        // without a word.
        if let Some(first) = seen.insert((link.a.min(link.b), link.a.max(link.b)), found) {
            let hint = format!(
                "link {first} joins the same nodes; like the original, xoff cannot use parallel links"
            );
            w.refuse(
                &line.words[0].span,
                format!("{what}: a second link between {} and {}", link.a, link.b),
                hint,
            );
        }
        links.push(link);
    }
    if found < count {
        let end = w.source.text().len();
        w.refuse(
            &(end..end),
            format!("{found} links in the file"),
            format!("the first line announces {count}"),
        );
    }
    links
}

fn link_line(
    w: &mut Words<'_>,
    line: &Line<'_>,
    what: &str,
    is_switch: &[bool],
) -> Option<HpccLink> {
    if !w.expect(line, what, &["a", "b", "rate", "delay", "error_rate"]) {
        return None;
    }
    let [a, b, rate, delay, error] = line.words.as_slice() else { return None };
    let ends = (node(w, a, what, is_switch.len()), node(w, b, what, is_switch.len()));
    match ends {
        (Some(a), Some(same)) if a == same => {
            w.refuse(
                &b.span,
                format!("{what}: node {a} is linked to itself"),
                "expected two different nodes",
            );
        }
        _ => {}
    }
    let bps = ns3::rate(rate.text)
        .map_err(|(e, hint)| w.refuse(&rate.span, format!("{what}: rate {e}"), hint))
        .ok();
    if bps == Some(0) {
        w.refuse(&rate.span, format!("{what}: a rate of 0"), "expected a rate above 0");
    }
    let delay_ns = ns3::time(delay.text)
        .map_err(|(e, hint)| w.refuse(&delay.span, format!("{what}: delay {e}"), hint))
        .ok();
    let error_rate = w.number(error, &format!("{what}: error_rate"));
    if let Some(e) = error_rate.filter(|&e| e > 1.0) {
        w.refuse(
            &error.span,
            format!("{what}: error_rate: {e} is out of range"),
            "expected 0 to 1",
        );
    }
    Some(HpccLink {
        a: ends.0?,
        b: ends.1?,
        rate: Rate(bps?),
        delay_ns: delay_ns?,
        error_rate: error_rate?,
        rate_place: w.place(&rate.span),
    })
}

/// A host there has one NIC with one port; the flows of a second one would go astray.
fn check_hosts(
    w: &mut Words<'_>,
    is_switch: &[bool],
    links: &[HpccLink],
    header: &std::ops::Range<usize>,
) {
    if !w.problems.is_empty() {
        return; // Links are missing from the list; their hosts would be blamed.
    }
    let mut count = vec![0u32; is_switch.len()];
    for link in links {
        for end in [link.a, link.b] {
            count[end as usize] += 1;
            if !is_switch[end as usize] && count[end as usize] == 2 {
                let place = link.rate_place.span.clone();
                w.refuse(
                    &place,
                    format!("host {end} has a second link"),
                    "a host has exactly one link; if the node is a switch, list \
                                                                           its id",
                );
            }
        }
    }
    if let Some(host) = (0..is_switch.len()).find(|&i| !is_switch[i] && count[i] == 0) {
        w.refuse(header, format!("host {host} has no link"), "a host has exactly one link");
    }
}

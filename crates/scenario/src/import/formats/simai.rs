//! SimAI: the topology that its `gen_Topo_Template.py` writes (Spectrum-X, AlibabaHPN, DCN+).
//!
//! ```text
//!   12 4 2 2 20 H100               nodes, GPUs of a server, NVSwitches, other switches, links, kind of GPU
//!   8 9 10 11                      the switches: first the NVSwitches; all other nodes are GPUs
//!   0 8 2880Gbps 0.000025ms 0      a link: two nodes, rate, latency, error rate
//! ```

use std::sync::Arc;

use crate::{Problem, Problems, Source, suggest};
use xoff_net::topology::NodeKind;
use xoff_units::{Rate, Span};

use crate::import::network::Names;
use crate::import::text::{Line, end, lines};
use crate::import::{End, Link, Network, Options, Wire};

/// One line for help.
pub const DOC: &str = "SimAI's topology, as gen_Topo_Template.py writes it: one file";

/// Largest number of nodes or links that is built; a larger one is a mistake.
const MAX: u64 = 1 << 22;

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], _: &Options) -> Result<Network, Problems> {
    Ok(topology(super::only(sources, DOC)?)?)
}

/// First line of the file.
struct Head {
    nodes: u64,
    nvswitches: u64,
    switches: u64,
    links: u64,
}

fn topology(source: &Arc<Source>) -> Result<Network, Problem> {
    let missing = |what: &str| {
        Problem::new(format!("{what} is missing"), "expected a topology of SimAI").at(end(source))
    };
    let mut lines = lines(source).filter(|l| !l.text.trim().is_empty());
    let first = lines.next().ok_or_else(|| missing("the line of counts"))?;
    let mut network = Network::default();
    let head = head(&first, &mut network)?;
    let kinds = kinds(&lines.next().ok_or_else(|| missing("the line of switches"))?, &head)?;
    let mut names = Names::default();
    for (number, kind) in kinds.iter().enumerate() {
        let (word, node_kind, level) = match kind {
            Kind::Gpu => ("gpu", NodeKind::Host, None),
            Kind::NvSwitch => ("nvswitch", NodeKind::Switch, Some(0)),
            Kind::Switch => ("switch", NodeKind::Switch, None),
        };
        let name = format!("{word}{number}");
        let node = network.add_node(&mut names, &name, node_kind, first.place())?;
        network.nodes[node].level = level;
    }
    let mut lossy = 0;
    for line in lines {
        let (link, loses) = link(&line, head.nodes)?;
        network.links.push(link);
        lossy += u64::from(loses);
    }
    if network.links.len() as u64 != head.links {
        let (links, expected) = (network.links.len(), head.links);
        let what = format!("the file has {links} links, its first line {expected}");
        return Err(Problem::new(what, "expected a line for each link").at(end(source)));
    }
    if lossy > 0 {
        network.leave_out(format!("error rates, of {lossy} of {} links", head.links));
    }
    Ok(network)
}

fn head(line: &Line<'_>, network: &mut Network) -> Result<Head, Problem> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [nodes, gpus, nvswitches, switches, links, gpu] = words[..] else {
        let form = "expected the numbers of nodes, GPUs of a server, NVSwitches, other switches and links, and the kind of GPU";
        return Err(line.problem("", format!("{} words instead of 6", words.len()), form));
    };
    let count = |word, what| line.count(word, what, MAX);
    let head = Head {
        nodes: count(nodes, "nodes")?,
        nvswitches: count(nvswitches, "NVSwitches")?,
        switches: count(switches, "switches")?,
        links: count(links, "links")?,
    };
    let switches = head.nvswitches + head.switches;
    if head.nodes <= switches {
        let what = format!("{} nodes, of which {switches} are switches", head.nodes);
        return Err(line.problem(nodes, what, "expected GPUs too"));
    }
    let of_server = count(gpus, "GPUs of a server")?;
    let gpu = suggest::clip(gpu);
    network.leave_out(format!("servers of {of_server} GPUs, and their kind ({gpu})"));
    Ok(head)
}

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gpu,
    NvSwitch,
    Switch,
}

/// The kind of each node, from the line of switches.
fn kinds(line: &Line<'_>, head: &Head) -> Result<Vec<Kind>, Problem> {
    let mut kinds = vec![Kind::Gpu; head.nodes as usize];
    let mut listed = 0;
    for word in line.text.split_whitespace() {
        let number = line.count(word, "switch", head.nodes - 1)?;
        let kind = &mut kinds[number as usize];
        if *kind != Kind::Gpu {
            let what = format!("switch {number} is listed twice");
            return Err(line.problem(word, what, "list each switch once"));
        }
        *kind = if listed < head.nvswitches { Kind::NvSwitch } else { Kind::Switch };
        listed += 1;
    }
    let expected = head.nvswitches + head.switches;
    if listed != expected {
        let what = format!("{listed} switches, the first line has {expected}");
        let hint = "expected the number of each NVSwitch, then of each other switch";
        return Err(line.problem("", what, hint));
    }
    Ok(kinds)
}

/// A link, and whether it loses frames.
fn link(line: &Line<'_>, nodes: u64) -> Result<(Link, bool), Problem> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [a, b, rate, latency, errors] = words[..] else {
        let form =
            "expected two nodes, rate, latency and error rate, such as 0 8 2880Gbps 0.000025ms 0";
        return Err(line.problem("", format!("{} words instead of 5", words.len()), form));
    };
    let unit = |word, e: xoff_units::UnitError| {
        line.problem(word, e.what, format!("expected {}", e.expected))
    };
    let end = |word| {
        let node = line.count(word, "node", nodes - 1)? as usize;
        Ok::<_, Problem>(End { node, port: None })
    };
    let share: Option<f64> = errors.parse().ok().filter(|e| (0.0..=1.0).contains(e));
    let share = share.ok_or_else(|| {
        let what = format!("'{}' is not an error rate", suggest::clip(errors));
        line.problem(errors, what, "expected a number from 0 to 1")
    })?;
    let link = Link {
        a: end(a)?,
        b: end(b)?,
        rate: Some(rate.parse::<Rate>().map_err(|e| unit(rate, e))?),
        wire: Some(Wire::Delay(latency.parse::<Span>().map_err(|e| unit(latency, e))?)),
        place: line.place(),
    };
    Ok((link, share > 0.0))
}

//! Flows for `--flows`.
//!
//! ```text
//!   # comment
//!   H0 H8                  a flow that the routing rule routes; -> between the names is allowed
//!   H0 E1 A1 E2 H2         a flow on this very path
//! ```
//!
//! A file whose first line is a single number is in HPCC's format (flow.txt).

use std::collections::HashMap;
use std::path::Path;

use xoff_analysis::cbd::Flow;
use xoff_net::topology::{ExplicitPaths, FlowKey, NodeKind, Topology};
use xoff_scenario::hpcc::HpccFlows;
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::NodeId;

/// The source port of a pair's first flow; HPCC counts up from it.
const SRC_PORT: u16 = 10_000;
const DST_PORT: u16 = 100;

/// The flows of a file.
pub struct Given {
    pub flows: Vec<Flow>,
    pub paths: ExplicitPaths,
}

impl Given {
    /// Flows of a scenario that flow control can hold: a frame of a lossy priority never waits for
    /// a buffer.
    pub fn of(flows: xoff_net::workload::Flows, lossy: &[u8]) -> Given {
        let key = |f: &xoff_net::workload::Flow| FlowKey {
            src: f.src,
            dst: f.dst,
            src_port: f.src_port,
            dst_port: f.dst_port,
        };
        let held = flows.flows.iter().filter(|f| !lossy.contains(&f.priority));
        let list = held.map(|f| Flow { key: key(f), path: f.path }).collect();
        Given { flows: list, paths: flows.paths }
    }

    /// Flows whose own path leads over a failed link are routed; returns how many.
    pub fn leave_failed_links(&mut self, t: &Topology) -> usize {
        let fails =
            |path| self.paths.hops(path).iter().any(|&(node, port)| !t.link_at(node, port).up);
        let lost: Vec<usize> =
            (0..self.flows.len()).filter(|&i| self.flows[i].path.is_some_and(fails)).collect();
        lost.iter().for_each(|&i| self.flows[i].path = None);
        lost.len()
    }
}

/// Reads either format.
pub fn load(path: &Path, t: &Topology) -> Result<Given, Problems> {
    let source = Source::read(path)?;
    let first = source.text().lines().map(str::trim).find(|l| !l.is_empty());
    if first.is_some_and(|l| l.bytes().all(|b| b.is_ascii_digit())) {
        let switches: Vec<bool> = t.nodes.iter().map(|n| n.kind == NodeKind::Switch).collect();
        return Ok(from_hpcc(&HpccFlows::read(&source, &switches)?));
    }
    let nodes: HashMap<&str, NodeId> = t.node_ids().map(|n| (t.name(n), n)).collect();
    let (mut given, mut problems) =
        (Given { flows: Vec::new(), paths: ExplicitPaths::default() }, Problems::default());
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let text = line.split('#').next().unwrap_or_default().replace("->", "  ");
        let names: Vec<&str> = text.split_whitespace().collect();
        if !names.is_empty() {
            let from = start + text.len() - text.trim_start().len();
            match flow(&names, &nodes, t, &mut given.paths) {
                Ok(f) => given.flows.push(f),
                Err(p) => problems.push(p.at(source.place(from..start + text.trim_end().len()))),
            }
        }
        start += line.len();
    }
    if given.flows.is_empty() && problems.is_empty() {
        problems.push(
            Problem::new("the file has no flows", "expected lines of two hosts, such as 'H0 H8'")
                .at(source.place(0..0)),
        );
    }
    problems.or(given)
}

fn flow(
    names: &[&str],
    nodes: &HashMap<&str, NodeId>,
    t: &Topology,
    paths: &mut ExplicitPaths,
) -> Result<Flow, Problem> {
    let [first, .., last] = names else {
        return Err(Problem::new(
            "a flow needs two hosts",
            "expected a line such as 'H0 H8': names separated by blanks, not commas",
        ));
    };
    let host = |name: &str| match nodes.get(name) {
        Some(&n) if t.nodes[n.index()].kind == NodeKind::Host => Ok(n),
        Some(_) => Err(Problem::new(
            format!("'{name}' is a switch"),
            "expected hosts at both ends of a flow",
        )),
        None => Err(Problem::new(
            format!("there is no node '{name}'"),
            "expected names of hosts, such as 'H0 H8'",
        )),
    };
    let (src, dst) = (host(first)?, host(last)?);
    if src == dst {
        return Err(Problem::new(
            "the source of the flow is its destination",
            "expected two different hosts",
        ));
    }
    let path = match names.len() {
        2 => None,
        _ => Some(paths.add(t, names).map_err(|e| Problem::new(e.what, e.hint))?),
    };
    Ok(Flow { key: FlowKey { src, dst, src_port: SRC_PORT, dst_port: DST_PORT }, path })
}

/// Source ports count up per pair of hosts, as in a replay.
fn from_hpcc(file: &HpccFlows) -> Given {
    crate::terminal::problems(&file.warnings);
    let mut ports: HashMap<(NodeId, NodeId), u16> = HashMap::new();
    let flow = |f: &xoff_scenario::hpcc::HpccFlow| {
        let port = ports.entry((NodeId(f.src), NodeId(f.dst))).or_insert(SRC_PORT);
        let src_port = *port;
        *port = port.wrapping_add(1);
        Flow {
            key: FlowKey { src: NodeId(f.src), dst: NodeId(f.dst), src_port, dst_port: f.dport },
            path: None,
        }
    };
    Given { flows: file.flows.iter().map(flow).collect(), paths: ExplicitPaths::default() }
}

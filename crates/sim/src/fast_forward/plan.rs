//! Known future load of a run: groups of flows, and which of them are equal.
//!
//! ```text
//!   flows by start   a b c d | e f g h | i j | k l m n | ...       |: by then all flows before could be complete
//!   kinds                0   |    0    |  -  |    0    |           groups of one kind: the same flows at the same distances on the same paths
//! ```

use std::collections::{HashMap, HashSet};

use xoff_net::topology::Topology;
use xoff_net::topology::routing::{FlowKey, PathId, trace_path};
use xoff_net::workload::Flow;
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

use crate::world::advance::Load;
use crate::world::model::PathFacts;

/// Flows that nothing precedes: all flows before them are over, if the network was quick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Number of its first flow.
    pub first: u32,
    /// Groups of one kind ask for the same; `None`: no other group does.
    pub kind: Option<u32>,
}

/// The groups of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub groups: Vec<Group>,
    /// Number of flows.
    pub flows: u32,
}

/// Properties of a flow that matter to the network.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Start {
    /// After the first flow of its group.
    after: Span,
    src: NodeId,
    dst: NodeId,
    priority: u8,
    size: u64,
    rate: Option<Rate>,
    controlled: bool,
    facts: PathFacts,
    /// There and back.
    paths: [u32; 2],
}

/// Path of a flow, or of its acknowledgments.
#[derive(PartialEq, Eq, Hash)]
enum Path {
    /// Number of an explicit path.
    Given(PathId),
    /// Egress ports by the routes; `None`: there is no route.
    Routed(Option<Vec<(NodeId, u16)>>),
}

impl Plan {
    /// The groups of flows that are sorted by start, or none where no group comes twice.
    pub fn new(load: &Load) -> Plan {
        let flows = &load.flows.flows;
        let firsts = firsts(flows, load.topology);
        let ends = |g: usize| firsts.get(g + 1).map_or(flows.len(), |&f| f as usize);
        // A look at the sizes first: random ones never come twice, and paths take time.
        let mut alike: HashMap<Vec<u64>, u32> = HashMap::new();
        let sizes = |g: usize| -> Vec<u64> {
            let group = &flows[firsts[g] as usize..ends(g)];
            group
                .iter()
                .flat_map(|f| {
                    [
                        u64::from(f.src) << 32 | u64::from(f.dst),
                        f.size,
                        f.start.since(group[0].start).0,
                    ]
                })
                .collect()
        };
        if firsts.len() < 2 {
            return Plan::default();
        }
        (0..firsts.len()).for_each(|g| *alike.entry(sizes(g)).or_default() += 1);
        let mut paths = HashMap::new();
        let mut kinds: HashMap<Vec<Start>, (u32, u32)> = HashMap::new();
        let mut number = Vec::new();
        for g in 0..firsts.len() {
            if alike[&sizes(g)] < 2 {
                number.push(None);
                continue;
            }
            let group = firsts[g] as usize..ends(g);
            let first = flows[group.start].start;
            let starts = group
                .map(|f| Start::of(&flows[f], load.path_facts.get(f), first, load, &mut paths))
                .collect();
            let next = kinds.len() as u32;
            let (kind, times) = kinds.entry(starts).or_insert((next, 0));
            *times += 1;
            number.push(Some(*kind));
        }
        let often: HashSet<u32> = kinds.values().filter(|k| k.1 > 1).map(|k| k.0).collect();
        if often.is_empty() {
            return Plan::default();
        }
        let kind = |k: Option<u32>| k.filter(|k| often.contains(k));
        let groups =
            firsts.iter().zip(number).map(|(&first, k)| Group { first, kind: kind(k) }).collect();
        Plan { groups, flows: flows.len() as u32 }
    }
}

impl Start {
    fn of(
        f: &Flow,
        facts: Option<&PathFacts>,
        first: Time,
        load: &Load,
        paths: &mut HashMap<Path, u32>,
    ) -> Start {
        let key = FlowKey { src: f.src, dst: f.dst, src_port: f.src_port, dst_port: f.dst_port };
        let choice = &load.model.routing.choice;
        let mut number = |key: &FlowKey| {
            let path = match f.path {
                Some(given) => Path::Given(given),
                None => Path::Routed(trace_path(load.topology, load.routes, choice, key)),
            };
            let next = paths.len() as u32;
            *paths.entry(path).or_insert(next)
        };
        Start {
            after: f.start.since(first),
            src: f.src,
            dst: f.dst,
            priority: f.priority,
            size: f.size,
            rate: f.rate,
            controlled: f.controlled,
            facts: facts.copied().unwrap_or_default(),
            paths: [number(&key), number(&key.reversed())],
        }
    }
}

/// The flows at whose start all flows before them could be complete: each at the full rate of the
/// fastest link, all at the same time.
fn firsts(flows: &[Flow], topology: &Topology) -> Vec<u32> {
    let fastest = topology.links.iter().map(|l| l.rate).max().unwrap_or(Rate(1));
    let mut firsts = Vec::new();
    let mut over = Time::ZERO;
    let mut last = None;
    for (i, f) in flows.iter().enumerate() {
        if f.start >= over && last != Some(f.start) {
            firsts.push(i as u32);
        }
        last = Some(f.start);
        let least = Time(f.start.0.saturating_add(fastest.time_for(Bytes(f.size)).0));
        over = over.max(least);
    }
    firsts
}

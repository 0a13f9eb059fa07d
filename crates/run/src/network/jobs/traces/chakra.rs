//! Chakra execution traces (mlcommons/chakra, `et_def.proto`): operations of each rank of a
//! training run: what it computes, sends, receives and takes part in.
//!
//! ```text
//!   PREFIX.<rank>.et, a file for each rank, perhaps in gzip:
//!     length, GlobalMetadata, length, Node, length, Node, ...
//!   Node: COMP                   computing for its recorded duration
//!         COMM_SEND, COMM_RECV   a message, matched by source and tag
//!         COMM_COLL              its place among the collectives of a process group: the n-th is the n-th of all members
//!   dependencies: after the end of
//! ```
//!
//! Recorded start times are not an order: nodes begin when their dependencies have ended. A
//! collective has no algorithm: that is a key of the job. Features of a file that are not modelled
//! are rejected or named, with their rank and node.

mod format;

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use std::path::Path;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use xoff_net::jobs::{Algorithm, Collective, Graph, Kind, NONE, Op, SPAN_MAX, Work};
use xoff_scenario::{Problem, read};
use xoff_units::paged::{Items, PageFile};
use xoff_units::{Bytes, Span, flat};

use super::labels::Stretches;
use super::lines::Whole;
use crate::network::jobs::room;

use format::{
    Bad, COLLECTIVE, COMPUTE, GlobalMetadata, MEMORY_LOAD, MEMORY_STORE, METADATA, Messages, Node,
    RECEIVE, SEND, bad, called, kind_of,
};

/// A file holds no more [bytes].
const FILE_MAX: Bytes = Bytes(4 << 30);
/// The ranks that a trace can have.
const RANKS_MAX: u32 = 1 << 20;

/// Interpretation of a trace.
pub(in crate::network::jobs) struct Options {
    /// Process groups by name: a file.
    pub groups: Option<std::path::PathBuf>,
    /// Sizes of the dimensions that `involved_dim` speaks of, innermost first; empty: none are
    /// known.
    pub dimensions: Vec<u32>,
    /// `ctrl_deps` count as well as `data_deps`.
    pub control_dependencies: bool,
    /// Algorithm of an all-reduce.
    pub all_reduce: Algorithm,
    /// The size of an all-gather is that of one rank's share, not of the whole.
    pub all_gather_of_shares: bool,
    /// Ranks of a node, for the hierarchical algorithm.
    pub node: u32,
    /// Speed of the accelerator, for nodes without a duration.
    pub roofline: Option<Roofline>,
}

/// How long an accelerator computes: until its operations are done and their tensors are moved,
/// whichever takes longer (S. Williams et al., "Roofline", CACM 52(4), 2009).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::network::jobs) struct Roofline {
    /// Operations per second; 0: computing takes no time.
    pub peak: f64,
    /// Bytes per second; infinite: memory is no limit.
    pub bandwidth: f64,
    /// Part of both that is reached.
    pub efficiency: f64,
}

impl Roofline {
    /// Time of so many operations on tensors of so many bytes [ps]; `None`: longer than a span.
    fn time(&self, operations: i128, bytes: i128) -> Option<Span> {
        if self.peak == 0.0 {
            return Some(Span::ZERO);
        }
        let longest = (operations as f64 / self.peak).max(bytes as f64 / self.bandwidth);
        let ps = (longest / self.efficiency * 1e12).round();
        (ps <= SPAN_MAX.0 as f64).then_some(Span(ps as u64))
    }
}

/// A trace, with warnings about it.
pub(in crate::network::jobs) struct Chakra {
    pub graph: Graph,
    pub warnings: Vec<(String, String)>,
}

/// Streams of the accelerator and of the processor: each does one operation at a time.
const ACCELERATOR: u16 = 0;
const PROCESSOR: u16 = 1;

/// A node in the graph: its operation, or the first and last one of its collective.
#[derive(Clone, Debug)]
struct Placed {
    id: u64,
    begin: u32,
    end: u32,
}
flat!(Placed { id: u64, begin: u32, end: u32 });

/// A rank while it is put together.
#[derive(Default)]
struct Rank {
    nodes: Items<Placed>,
    /// Nodes by their identities.
    ids: Stretches,
    /// By node, where they are in memory.
    names: Vec<Box<str>>,
    /// Dependencies: a node, and the identity of another one.
    dependencies: Items<(u32, u64)>,
    /// By operation of the graph: its node.
    owner: Items<u32>,
    /// Collectives as their nodes describe them.
    described: BTreeMap<u32, Node>,
    /// By process group: the collectives in which it takes part, as places in `nodes`.
    collectives: BTreeMap<Vec<u32>, Vec<u32>>,
}

/// Attributes of a collective that are asked for when all ranks have been read.
const DESCRIBE: [&str; 3] = ["comm_type", "comm_size", "root_rank"];

impl Rank {
    /// Name of a node; if names are not kept, its identity alone.
    fn called(&self, node: u32) -> String {
        let name = self.names.get(node as usize).map_or("", |n| n);
        called(self.nodes.get(node as usize).id, name)
    }
}

/// Reads the files `PREFIX.0.et`, `PREFIX.1.et` and so on.
pub(in crate::network::jobs) fn read(
    prefix: &Path,
    o: &Options,
    pages: Option<&PageFile>,
) -> Result<Chakra, Problem> {
    let file = |rank: u32| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(format!(".{rank}.et"));
        std::path::PathBuf::from(name)
    };
    let ranks = (0..RANKS_MAX).find(|&r| !file(r).exists()).unwrap_or(RANKS_MAX);
    if ranks == 0 {
        let what = format!("there is no file '{}'", file(0).display());
        return Err(Problem::new(
            what,
            "name the path before .0.et, .1.et and so on; each rank has a file",
        ));
    }
    let beyond = (ranks + 1..ranks + 1000).find(|&r| file(r).exists());
    if let Some(beyond) = beyond {
        let what = format!(
            "there is no file '{}', although rank {beyond} has a file",
            file(ranks).display()
        );
        return Err(Problem::new(what, "each rank needs a file, starting with 0"));
    }
    let product = o.dimensions.iter().try_fold(1u32, |p, &d| p.checked_mul(d));
    if !o.dimensions.is_empty() && product != Some(ranks) {
        let what = format!(
            "chakra_dimensions give {} ranks, but the trace has {ranks}",
            product.map_or("too many".into(), |p| p.to_string())
        );
        return Err(Problem::new(what, "their product must be the number of ranks"));
    }
    let groups = groups(o, ranks)?;
    let mut t = Trace {
        ranks: Vec::new(),
        graph: super::graph(ranks as usize, pages),
        groups,
        o,
        untimed: 0,
        memory: 0,
        alone: 0,
    };
    for rank in 0..ranks {
        let whole = Whole::open(&file(rank))?;
        let mut at = String::new();
        let read = t.read_rank(rank, whole.reader()?, &mut at);
        read.map_err(|(what, hint)| {
            Problem::new(format!("{}: {at}{what}", file(rank).display()), hint)
        })?;
        whole.is_unchanged()?;
    }
    let named = |(rank, node, (what, hint)): (u32, Option<String>, Bad)| {
        let node = node.map_or(String::new(), |n| format!("{n}: "));
        Problem::new(format!("{}: {node}{what}", file(rank).display()), hint)
    };
    t.add_collectives().map_err(named)?;
    t.add_dependencies().map_err(named)?;
    t.graph.finish();
    let called =
        |rank: u32, op: u32| t.of_op(rank, op).unwrap_or_else(|| format!("operation {op}"));
    if let Err(f) = t.graph.check(&called) {
        return Err(named((f.rank, t.of_op(f.rank, f.op), (f.what, f.hint))));
    }
    if t.untimed > 0 {
        let what =
            format!("{} nodes compute a number of operations and have no duration", t.untimed);
        let hint = "set chakra_peak_perf [10^12 operations/s] and chakra_memory_bandwidth [GB/s] of the accelerator; chakra_peak_perf = 0: they take no time";
        return Err(Problem::new(what, hint));
    }
    let mut warnings = Vec::new();
    if t.alone > 0 {
        warnings.push((
            format!("{} collectives have one rank: they take no time", t.alone),
            "if this is wrong, name their process groups (chakra_groups) or dimensions (chakra_dimensions)".to_owned(),
        ));
    }
    if t.memory > 0 {
        warnings.push((
            format!("{} nodes move memory and have no duration: they take no time", t.memory),
            "use the trace of a real run, which has durations; xoff does not model memory"
                .to_owned(),
        ));
    }
    Ok(Chakra { graph: t.graph, warnings })
}

/// Process groups by name, each once.
struct Groups(BTreeMap<String, Vec<u32>>);

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Groups, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Groups;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("process groups by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Groups, A::Error> {
                let mut all = BTreeMap::new();
                while let Some((name, ranks)) = map.next_entry::<String, Vec<u32>>()? {
                    if all.contains_key(&name) {
                        return Err(A::Error::custom(format!("group '{name}' is defined twice")));
                    }
                    all.insert(name, ranks);
                }
                Ok(Groups(all))
            }
        }
        from.deserialize_map(Each)
    }
}

/// Process groups by name.
fn groups(o: &Options, ranks: u32) -> Result<BTreeMap<String, Vec<u32>>, Problem> {
    let Some(path) = &o.groups else { return Ok(BTreeMap::new()) };
    let bytes = read::bytes(path, FILE_MAX)?;
    let groups = serde_json::from_slice::<Groups>(&bytes).map(|g| g.0).map_err(|e| {
        let what = format!("{}: {e}", path.display());
        Problem::new(
            what,
            "expected process groups by name, such as {\"1\": [0, 1], \"2\": [2, 3]}",
        )
    })?;
    for (name, members) in &groups {
        let problem = |what: String| {
            Problem::new(
                format!("{}: group '{name}' {what}", path.display()),
                "expected each rank of the trace \
                                                                                                         once",
            )
        };
        if let Some(unknown) = members.iter().find(|&&r| r >= ranks) {
            return Err(problem(format!(
                "has rank {unknown}, but the trace has the ranks 0 to {}",
                ranks - 1
            )));
        }
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if let Some(w) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(problem(format!("has rank {} twice", w[0])));
        }
    }
    Ok(groups)
}

/// A trace while it is put together.
struct Trace<'o> {
    ranks: Vec<Rank>,
    graph: Graph,
    groups: BTreeMap<String, Vec<u32>>,
    o: &'o Options,
    /// Nodes that compute a number of operations at an unknown speed.
    untimed: u64,
    /// Nodes that move memory for an unknown time.
    memory: u64,
    /// Collectives of one rank.
    alone: u64,
}

impl Trace<'_> {
    /// Name of the node of an operation.
    fn of_op(&self, rank: u32, op: u32) -> Option<String> {
        let r = self.ranks.get(rank as usize)?;
        ((op as usize) < r.owner.len()).then(|| r.called(r.owner.get(op as usize)))
    }

    /// Notes whose the newest operations of a rank are.
    fn owned(&mut self, rank: u32, node: u32) {
        let ops = self.graph.programs[rank as usize].len() as usize;
        let owner = &mut self.ranks[rank as usize].owner;
        (owner.len()..ops).for_each(|_| owner.push(node));
    }

    /// Reads a file; `at` is the place of an error in it.
    fn read_rank(&mut self, rank: u32, file: impl BufRead, at: &mut String) -> Result<(), Bad> {
        let rank_of = match self.graph.pages() {
            Some(p) => Rank {
                nodes: p.list(|_| Placed { id: 0, begin: NONE, end: NONE }),
                dependencies: p.list(|_| (0, 0)),
                owner: p.list(|_| 0),
                ..Rank::default()
            },
            None => Rank::default(),
        };
        self.ranks.push(rank_of);
        let mut messages = Messages::of(file);
        if messages.next::<GlobalMetadata>("GlobalMetadata")?.is_none() {
            return bad("the file is empty", "expected GlobalMetadata first");
        }
        loop {
            let nth = self.ranks[rank as usize].nodes.len();
            *at = format!("after {nth} nodes: ");
            let Some(node) = messages.next::<Node>("node")? else { return Ok(()) };
            *at = format!("{}: ", node.called());
            let ids = &mut self.ranks[rank as usize].ids;
            if !ids.insert(node.id, nth as u32) {
                let first = ids.get(node.id).unwrap_or(0);
                return bad(
                    format!("its id is not unique: node number {first} has the same id"),
                    "give each node its own id",
                );
            }
            self.add(rank, node)?;
        }
    }

    fn add(&mut self, rank: u32, mut node: Node) -> Result<(), Bad> {
        let ranks = self.graph.ranks();
        let nth = self.ranks[rank as usize].nodes.len() as u32;
        let on_processor = node
            .attribute("is_cpu_op")
            .is_some_and(|a| a.flag == Some(true) || a.integer().is_some_and(|n| n != 0));
        let (work, stream) = match node.kind {
            COMPUTE | MEMORY_LOAD | MEMORY_STORE => {
                let operations =
                    node.integer("num_ops")?.filter(|&n| n > 0 && node.duration_us == 0);
                let span = match (operations, self.o.roofline) {
                    (None, _) => node.duration_us.checked_mul(1_000_000).map(Span),
                    (Some(_), None) => {
                        self.untimed += 1;
                        Some(Span::ZERO)
                    }
                    (Some(operations), Some(roofline)) => {
                        roofline.time(operations, node.integer("tensor_size")?.unwrap_or(0).max(0))
                    }
                };
                let Some(span) = span.filter(|&s| s <= SPAN_MAX) else {
                    let what = match operations {
                        Some(n) => format!("it computes {n} operations"),
                        None => format!("it takes {} us", node.duration_us),
                    };
                    return bad(what, "expected at most 11.6 days");
                };
                self.memory +=
                    u64::from(span == Span::ZERO && operations.is_none() && node.kind != COMPUTE);
                let stream = if node.kind != COMPUTE {
                    Op::FREE
                } else {
                    [ACCELERATOR, PROCESSOR][on_processor as usize]
                };
                (Work::Compute(span), stream)
            }
            SEND => {
                if let Some(src) = node.integer("comm_src")?.filter(|&s| s != i128::from(rank)) {
                    return bad(
                        format!("its comm_src is {src}, but the file belongs to rank {rank}"),
                        "expected the rank of the file",
                    );
                }
                let (to, bytes) = (node.peer("comm_dst", ranks)?, node.size()?);
                (Work::Send { to, bytes, tag: node.tag()?, channel: 0 }, Op::FREE)
            }
            RECEIVE => {
                if let Some(dst) = node.integer("comm_dst")?.filter(|&d| d != i128::from(rank)) {
                    return bad(
                        format!("its comm_dst is {dst}, but the file belongs to rank {rank}"),
                        "expected the rank of the file",
                    );
                }
                let (from, bytes) = (node.peer("comm_src", ranks)?, node.size()?);
                (Work::Receive { from: Some(from), bytes, tag: Some(node.tag()?) }, Op::FREE)
            }
            COLLECTIVE => {
                let group = self.group_of(rank, &node)?;
                self.ranks[rank as usize].collectives.entry(group).or_default().push(nth);
                (Work::Compute(Span::ZERO), Op::FREE)
            }
            METADATA => (Work::Compute(Span::ZERO), Op::FREE),
            other => {
                return bad(
                    format!("there is no node of type {other}"),
                    "expected 1 to 7, as in et_def.proto",
                );
            }
        };
        let op = self.graph.add(rank, work, stream);
        let (keeps_names, control) = (self.graph.pages().is_none(), self.o.control_dependencies);
        let r = &mut self.ranks[rank as usize];
        r.nodes.push(Placed { id: node.id, begin: op, end: op });
        let waits_for = node.data.iter().chain(node.control.iter().filter(|_| control));
        waits_for.for_each(|&id| r.dependencies.push((nth, id)));
        if keeps_names {
            r.names.push(node.name.as_str().into());
        }
        if node.kind == COLLECTIVE {
            node.attributes.retain(|a| DESCRIBE.contains(&a.name.as_str()));
            let Node { id, name, kind, attributes, .. } = node;
            r.described.insert(nth, Node { id, name, kind, attributes, ..Node::default() });
        }
        self.owned(rank, nth);
        Ok(())
    }

    /// The ranks of a collective: those of its process group, or of the dimensions that it
    /// involves, or all.
    fn group_of(&self, rank: u32, node: &Node) -> Result<Vec<u32>, Bad> {
        let name = node
            .attribute("pg_name")
            .and_then(|a| a.text.clone().or(a.integer().map(|n| n.to_string())))
            .unwrap_or_default();
        if let Some(group) = self.groups.get(&name) {
            if !group.contains(&rank) {
                return bad(
                    format!("process group '{name}' does not have rank {rank}"),
                    "a rank may only take part in collectives of its own groups",
                );
            }
            return Ok(group.clone());
        }
        if !name.is_empty() && name != "0" {
            return bad(
                format!("there is no process group '{name}'"),
                "name a file of groups: chakra_groups = \"comm_group.json\"",
            );
        }
        let all = 0..self.graph.ranks();
        let involved = node
            .attribute("involved_dim")
            .and_then(|a| a.flags.as_ref())
            .map_or(&[][..], |f| &f.values);
        if involved.iter().all(|i| *i) {
            return Ok(all.collect());
        }
        if self.o.dimensions.is_empty() {
            let what = "it involves only some dimensions of the network, but xoff does not know their sizes";
            return bad(
                what,
                "set chakra_dimensions, the innermost first, such as \"8x2\"; or name process groups",
            );
        }
        // Ranks that differ in the dimensions involved only.
        let place = |rank: u32| {
            let mut left = rank;
            let of_dimension = |(nth, &size): (usize, &u32)| {
                let at = left % size;
                left /= size;
                (!involved.get(nth).copied().unwrap_or(false)).then_some((nth, at))
            };
            self.o.dimensions.iter().enumerate().filter_map(of_dimension).collect::<Vec<_>>()
        };
        Ok(all.filter(|&r| place(r) == place(rank)).collect())
    }

    /// Puts the collectives of all ranks together: the n-th of a group is that of all its members.
    fn add_collectives(&mut self) -> Result<(), (u32, Option<String>, Bad)> {
        let groups: std::collections::BTreeSet<Vec<u32>> =
            self.ranks.iter().flat_map(|r| r.collectives.keys().cloned()).collect();
        for group in groups {
            let of = |t: &Self, rank: u32| {
                t.ranks[rank as usize].collectives.get(&group).cloned().unwrap_or_default()
            };
            let all: Vec<Vec<u32>> = group.iter().map(|&r| of(self, r)).collect();
            let most = all.iter().map(Vec::len).max().unwrap_or(0);
            for nth in 0..most {
                let have = all.iter().position(|c| c.len() > nth).unwrap_or(0);
                let first = &self.ranks[group[have] as usize].described[&all[have][nth]];
                if let Some(lacks) = all.iter().position(|c| c.len() <= nth) {
                    let what = format!(
                        "rank {} has only {} collectives of this group, but this is number {}",
                        group[lacks],
                        all[lacks].len(),
                        nth + 1
                    );
                    return Err((
                        group[have],
                        Some(first.called()),
                        (what, "expected every member in every collective".into()),
                    ));
                }
                let c = self
                    .collective(&group, first)
                    .map_err(|e| (group[0], Some(first.called()), e))?;
                for (&rank, places) in group.iter().zip(&all) {
                    let node = &self.ranks[rank as usize].described[&places[nth]];
                    let other = self
                        .collective(&group, node)
                        .map_err(|e| (rank, Some(node.called()), e))?;
                    if (other.kind, other.bytes, other.root) != (c.kind, c.bytes, c.root) {
                        let what = format!(
                            "{} of {} B, where rank {} has {} of {} B ({})",
                            name_of(other.kind),
                            other.bytes,
                            group[0],
                            name_of(c.kind),
                            c.bytes,
                            first.called()
                        );
                        return Err((
                            rank,
                            Some(node.called()),
                            (what, "expected the same collective and size for all members".into()),
                        ));
                    }
                }
                room::for_more(&self.graph, c.ops_at_most(), 1)
                    .map_err(|e| (group[0], Some(first.called()), e))?;
                self.add_collective(&group, &all, nth, &c);
            }
        }
        Ok(())
    }

    fn add_collective(&mut self, group: &[u32], all: &[Vec<u32>], nth: usize, c: &Collective) {
        let before: Vec<u32> = group
            .iter()
            .zip(all)
            .map(|(&rank, places)| self.ranks[rank as usize].nodes.get(places[nth] as usize).begin)
            .collect();
        // Of one rank there is nothing to exchange.
        self.alone += u64::from(group.len() == 1);
        let ends =
            if group.len() == 1 { before.clone() } else { c.add_to(&mut self.graph, &before) };
        for ((&rank, places), end) in group.iter().zip(all).zip(ends) {
            self.ranks[rank as usize].nodes.update(places[nth] as usize, |p| p.end = end);
            self.owned(rank, places[nth]);
        }
    }

    fn collective(&self, group: &[u32], node: &Node) -> Result<Collective, Bad> {
        let Some(number) = node.integer("comm_type")? else {
            return bad(
                "the collective has no comm_type",
                "add its type: 0 all-reduce, 2 all-gather, ...",
            );
        };
        let kind = kind_of(number)?;
        let shares = if kind == Kind::AllGather && self.o.all_gather_of_shares {
            group.len() as u64
        } else {
            1
        };
        let bytes = if kind == Kind::Barrier { 0 } else { node.size()?.saturating_mul(shares) };
        let root = match node.integer("root_rank")? {
            Some(root) => group.iter().position(|&r| i128::from(r) == root).ok_or_else(|| {
                (
                    format!("its root_rank {root} is not in its group"),
                    "expected a rank of the group".to_owned(),
                )
            })?,
            None => 0,
        };
        let c = Collective {
            name: if node.name.is_empty() { name_of(kind).to_owned() } else { node.name.clone() },
            algorithm: if kind == Kind::AllReduce {
                self.o.all_reduce
            } else {
                Collective::usual(kind)
            },
            root: root as u32,
            node: self.o.node,
            ..Collective::new(kind, bytes, group.to_vec())
        };
        if group.len() > 1 {
            c.check().map_err(|(_, what, hint)| (what, hint))?;
        }
        Ok(c)
    }

    fn add_dependencies(&mut self) -> Result<(), (u32, Option<String>, Bad)> {
        for (rank, r) in (0..).zip(&self.ranks) {
            for (nth, id) in r.dependencies.iter() {
                let Some(before) = r.ids.get(id) else {
                    let what = format!("it depends on node {id}, which the file does not contain");
                    return Err((
                        rank,
                        Some(r.called(nth)),
                        (what, "name a node of the same rank".into()),
                    ));
                };
                self.graph.after(
                    rank,
                    r.nodes.get(nth as usize).begin,
                    r.nodes.get(before as usize).end,
                );
            }
        }
        Ok(())
    }
}

fn name_of(kind: Kind) -> &'static str {
    xoff_net::jobs::collectives::KINDS.iter().find(|k| k.1 == kind).map_or("", |k| k.0)
}

//! The operations of the ranks of a job, and which of them wait for which.
//!
//! ```text
//!   rank 0   compute --after end--> send to 1 --after end--> compute
//!   rank 1   receive from 0 --after end--> compute           (a receive ends when a message of that source and tag is there)
//! ```

use std::hash::Hasher;

use xoff_units::paged::{Flat, Items, PageFile, Paged};
use xoff_units::{Span, flat};

use crate::jobs::machine::OpTimes;

/// The largest message: 1 PiB [bytes].
pub const BYTES_MAX: u64 = 1 << 50;

/// Operations of all iterations of a job at most: beyond, their times alone take gigabytes.
pub const OPS_MAX: u64 = 100_000_000;

/// No operation.
pub const NONE: u32 = u32::MAX;

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Keeps its stream busy for this time.
    Compute(Span),
    /// Hands a message to the host. Ends when the first bit of the last frame is sent; within a
    /// node, when the last byte has left.
    Send {
        /// Receiving rank.
        to: u32,
        /// Payload [bytes].
        bytes: u64,
        /// Tag by which the receiver distinguishes messages.
        tag: u64,
        /// Chooses among the queue pairs of the peer.
        channel: u16,
    },
    /// Ends when a message that fits is there.
    Receive {
        /// Sending rank; `None`: any.
        from: Option<u32>,
        /// Payload [bytes].
        bytes: u64,
        /// Tag; `None`: any.
        tag: Option<u64>,
    },
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Work.
    pub work: Work,
    /// Operations of one stream do not overlap; [`Op::FREE`]: it needs none.
    pub stream: u16,
}

impl Op {
    /// An operation without a stream.
    pub const FREE: u16 = u16::MAX;
}

/// An operation in a file: kind, other rank of a message, size, tag, channel.
impl Flat for Op {
    const BYTES: usize = 25;
    fn put(&self, to: &mut [u8]) {
        let (kind, peer, size, tag, channel) = match self.work {
            Work::Compute(span) => (0u8, 0, span.0, 0, 0),
            Work::Send { to, bytes, tag, channel } => (1, to, bytes, tag, channel),
            Work::Receive { from, bytes, tag } => (
                2 | u8::from(from.is_none()) << 2 | u8::from(tag.is_none()) << 3,
                from.unwrap_or(0),
                bytes,
                tag.unwrap_or(0),
                0,
            ),
        };
        (((kind, peer), (size, tag)), (channel, self.stream)).put(to);
    }
    fn take(from: &[u8]) -> Self {
        type Flattened = (((u8, u32), (u64, u64)), (u16, u16));
        let (((kind, peer), (bytes, tag)), (channel, stream)) = Flattened::take(from);
        let work = match kind & 3 {
            0 => Work::Compute(Span(bytes)),
            1 => Work::Send { to: peer, bytes, tag, channel },
            _ => Work::Receive {
                from: (kind & 4 == 0).then_some(peer),
                bytes,
                tag: (kind & 8 == 0).then_some(tag),
            },
        };
        Op { work, stream }
    }
}

/// Relations of an operation to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Links {
    /// Position of its first successor in `edges`.
    first: u32,
    /// Number of successors.
    successors: u32,
    /// Operations that it waits for.
    waits_for: u32,
    /// The message of a send within an iteration; [`NONE`]: it is no send, or one that leaves the
    /// host by another way.
    message: u32,
}
flat!(Links { first: u32, successors: u32, waits_for: u32, message: u32 });

impl Links {
    const UNKNOWN: Links = Links { first: 0, successors: 0, waits_for: 0, message: NONE };
}

/// The operations of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// By number.
    ops: Items<Op>,
    /// By operation.
    links: Items<Links>,
    /// A successor, and whether it waits for the start only.
    edges: Items<(u32, bool)>,
}

impl Program {
    /// Number of operations.
    #[inline]
    pub fn len(&self) -> u32 {
        self.ops.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// An operation.
    #[inline]
    pub fn op(&self, op: u32) -> Op {
        self.ops.get(op as usize)
    }

    /// All operations, in the order of their numbers.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.ops.iter()
    }

    /// Changes all operations.
    pub fn change_ops(&mut self, change: impl Fn(&mut Op)) {
        (0..self.ops.len()).for_each(|op| self.ops.update(op, &change));
    }

    /// Number of operations that it waits for.
    #[inline]
    pub fn waits_for(&self, op: u32) -> u32 {
        self.links.get(op as usize).waits_for
    }

    /// For how many operations each one waits.
    pub fn all_waits_for(&self) -> impl Iterator<Item = u32> + '_ {
        self.links.iter().map(|l| l.waits_for)
    }

    /// The message of a send within an iteration; [`NONE`]: it is no send, or one that leaves the
    /// host by another way.
    #[inline]
    pub fn message(&self, op: u32) -> u32 {
        self.links.get(op as usize).message
    }

    pub(crate) fn set_message(&mut self, op: u32, message: u32) {
        self.links.update(op as usize, |l| l.message = message);
    }

    /// Calls `f` for each operation that waits for one, with whether it waits for its start only.
    #[inline]
    pub fn each_successor(&self, op: u32, mut f: impl FnMut(u32, bool)) {
        let Links { first, successors, .. } = self.links.get(op as usize);
        match &self.edges {
            Items::Kept(edges) => edges[first as usize..][..successors as usize]
                .iter()
                .for_each(|&(later, start)| f(later, start)),
            edges => edges
                .range(first as usize, (first + successors) as usize)
                .for_each(|(later, start)| f(later, start)),
        }
    }

    /// Operations that wait for an operation, and whether for its start only.
    pub fn successors(&self, op: u32) -> Vec<(u32, bool)> {
        let mut all = Vec::new();
        self.each_successor(op, |later, start| all.push((later, start)));
        all
    }
}

/// A part of the operations that has a name: a collective.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Name.
    pub name: String,
    /// Bytes that it is about, for bandwidths; 0: none [bytes].
    pub bytes: u64,
    /// Factor from algorithm bandwidth to bus bandwidth: numerator and denominator.
    pub bus: (u64, u64),
    /// By member: rank, the operation whose end begins it, the one whose end ends it.
    pub members: Vec<(u32, u32, u32)>,
}

/// A job's operations while they are put together, and then all that a run needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// By rank.
    pub programs: Vec<Program>,
    /// Named phases.
    pub phases: Vec<Phase>,
    /// By rank: before, after, start only, while they are put together.
    pending: Vec<Items<(u32, (u32, bool))>>,
    /// Storage of its lists, if not in memory.
    pages: Option<Pages>,
}

/// The temporary file of a job whose operations are not in memory, and how much of them is.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Shared by all lists of a run.
    pub file: PageFile,
    /// Items of a page.
    pub page: usize,
}

/// Two jobs with the same operations are the same, wherever these are.
impl PartialEq for Pages {
    fn eq(&self, _: &Pages) -> bool {
        true
    }
}

/// Pages of a list that are in memory.
const PAGES: usize = 8;

impl Pages {
    /// Pages in this file; the more ranks, the smaller a page of each list.
    pub fn new(file: PageFile, ranks: usize) -> Pages {
        Pages { file, page: ((1 << 17) / ranks.max(1)).clamp(64, 1024) }
    }

    /// A list of items that are `made` until they are changed.
    pub fn list<T: Flat>(&self, made: impl Fn(u64) -> T + Send + Sync + 'static) -> Items<T> {
        self.list_of(PAGES, made)
    }

    /// [`Self::list`] with `pages` pages in memory.
    pub fn list_of<T: Flat>(
        &self,
        pages: usize,
        made: impl Fn(u64) -> T + Send + Sync + 'static,
    ) -> Items<T> {
        Items::Paged(std::sync::Arc::new(Paged::new(&self.file, 0, (self.page, pages), made)))
    }
}

impl Graph {
    /// Graph of `ranks` ranks without operations.
    pub fn new(ranks: usize) -> Graph {
        Graph {
            programs: vec![Program::default(); ranks],
            phases: Vec::new(),
            pending: vec![Items::default(); ranks],
            pages: None,
        }
    }

    /// Graph with its operations in a file.
    pub fn paged(ranks: usize, pages: Pages) -> Graph {
        let program = |_| Program {
            ops: pages.list(|_| Op { work: Work::Compute(Span::ZERO), stream: Op::FREE }),
            links: pages.list(|_| Links::UNKNOWN),
            edges: pages.list(|_| (0, false)),
        };
        Graph {
            programs: (0..ranks).map(program).collect(),
            phases: Vec::new(),
            pending: (0..ranks).map(|_| pages.list(|_| (0, (0, false)))).collect(),
            pages: Some(pages),
        }
    }

    /// Storage of its operations, if not in memory.
    pub fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    /// All operations of its ranks, to compare two graphs.
    pub fn hash_into(&self, h: &mut impl Hasher) {
        for p in &self.programs {
            h.write_usize(p.ops.len());
            for o in p.ops() {
                let (kind, a, b, c) = match o.work {
                    Work::Compute(span) => (0, span.0, 0, 0),
                    Work::Send { to, bytes, tag, channel } => {
                        (1 + (u64::from(channel) << 8), u64::from(to), bytes, tag)
                    }
                    Work::Receive { from, bytes, tag } => {
                        let any = u64::from(from.is_none()) << 8 | u64::from(tag.is_none()) << 9;
                        (2 + any, u64::from(from.unwrap_or(0)), bytes, tag.unwrap_or(0))
                    }
                };
                [kind, a, b, c, u64::from(o.stream)].into_iter().for_each(|n| h.write_u64(n));
            }
            p.links.iter().for_each(|l| h.write_u32(l.first));
            h.write_u32(p.edges.len() as u32);
            p.edges
                .iter()
                .for_each(|(later, start)| h.write_u64(u64::from(later) << 1 | u64::from(start)));
        }
    }

    /// Bytes in memory, plus the bytes that a run of `iterations` iterations keeps of its
    /// operations there.
    pub fn bytes(&self, iterations: u64) -> u64 {
        let of = |p: &Program| {
            let kept = size_of::<Op>() + size_of::<Links>();
            p.ops.len() as u64 * (kept as u64 + iterations * size_of::<OpTimes>() as u64)
                + 8 * p.edges.len() as u64
        };
        if self.pages.is_some() {
            return 0;
        }
        let pending: usize = self.pending.iter().map(Items::len).sum();
        self.programs.iter().map(of).sum::<u64>() + 12 * pending as u64
    }

    /// Additional bytes for `ops` operations during construction, with two dependencies each, and
    /// for their times of `iterations` iterations.
    pub fn bytes_of(ops: u64, iterations: u64) -> u64 {
        let of_one = size_of::<Op>() + 3 * size_of::<u32>() + 2 * size_of::<(u32, u32, bool)>();
        ops.saturating_mul(of_one as u64 + iterations * size_of::<OpTimes>() as u64)
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.programs.len() as u32
    }

    /// Number of operations.
    pub fn ops(&self) -> u64 {
        self.programs.iter().map(|p| u64::from(p.len())).sum()
    }

    /// Adds an operation and returns its number.
    pub fn add(&mut self, rank: u32, work: Work, stream: u16) -> u32 {
        let ops = &mut self.programs[rank as usize].ops;
        ops.push(Op { work, stream });
        ops.len() as u32 - 1
    }

    /// Adds an operation of no duration that others can wait for.
    pub fn mark(&mut self, rank: u32) -> u32 {
        self.add(rank, Work::Compute(Span::ZERO), Op::FREE)
    }

    /// `later` begins after the end of `before`; nothing if there is none.
    pub fn after(&mut self, rank: u32, later: u32, before: u32) {
        if before != NONE {
            self.pending[rank as usize].push((before, (later, false)));
        }
    }

    /// `later` begins after the start of `before`.
    pub fn after_start(&mut self, rank: u32, later: u32, before: u32) {
        self.pending[rank as usize].push((before, (later, true)));
    }

    /// Puts the dependencies in order.
    pub fn finish(&mut self) {
        let pages = self.pages.clone();
        for (program, pending) in self.programs.iter_mut().zip(&mut self.pending) {
            let n = program.ops.len();
            program.links.grow(n, Links::UNKNOWN);
            match pending {
                Items::Kept(pending) => {
                    pending.sort_unstable();
                    pending.dedup();
                }
                Items::Paged(_) => {
                    if let Some(pages) = &pages {
                        *pending = in_order(pending, n, pages);
                    }
                }
            }
            // Behind the successors of the operation before; where it has none, of the one that
            // has.
            let (mut last, mut first) = (0, 0);
            for (nth, (before, (later, start))) in (0..).zip(pending.iter()) {
                while last < before {
                    last += 1;
                    program.links.update(last as usize, |l| l.first = nth);
                    first = nth;
                }
                program.links.update(later as usize, |l| l.waits_for += 1);
                program.links.update(before as usize, |l| {
                    (l.first, l.successors) = (first, nth - first + 1)
                });
                program.edges.push((later, start));
            }
            let end = program.edges.len() as u32;
            (last as usize + 1..n).for_each(|op| program.links.update(op, |l| l.first = end));
            *pending = Items::default();
        }
    }
}

/// Dependencies in the order of the operations that are waited for, each once: the same as sorting
/// them, where that would not fit into memory.
fn in_order(
    pending: &Items<(u32, (u32, bool))>,
    ops: usize,
    pages: &Pages,
) -> Items<(u32, (u32, bool))> {
    // Where those of an operation begin, and how many have their place.
    let mut of_op = pages.list(|_| (0u32, 0u32));
    of_op.grow(ops, (0, 0));
    pending.iter().for_each(|(before, _)| of_op.update(before as usize, |o| o.1 += 1));
    let mut first = 0;
    for op in 0..ops {
        of_op.update(op, |o| {
            let mine = o.1;
            *o = (first, 0);
            first += mine;
        });
    }
    let mut placed = pages.list(|_| (0, false));
    placed.grow(pending.len(), (0, false));
    for (before, edge) in pending.iter() {
        let at = of_op.update(before as usize, |o| {
            o.1 += 1;
            o.0 + o.1 - 1
        });
        placed.set(at as usize, edge);
    }
    let mut all = pages.list(|_| (0, (0, false)));
    for (before, (first, many)) in (0u32..).zip(of_op.iter()) {
        let mut edges: Vec<(u32, bool)> =
            placed.range(first as usize, (first + many) as usize).collect();
        edges.sort_unstable();
        edges.dedup();
        edges.into_iter().for_each(|edge| all.push((before, edge)));
    }
    all
}

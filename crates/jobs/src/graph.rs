//! The operations of the ranks of a job, and which of them wait for which.
//!
//! ```text
//!   rank 0   compute --after end--> send to 1 --after end--> compute
//!   rank 1   receive from 0 --after end--> compute           (a receive ends when a message of that source and tag is there)
//! ```

use std::hash::Hasher;

use xoff_units::Span;

use crate::machine::OpTimes;

/// The largest message: 1 PiB [bytes].
pub const BYTES_MAX: u64 = 1 << 50;

/// Operations of all iterations of a job at most: beyond, their times alone take gigabytes.
pub const OPS_MAX: u64 = 100_000_000;

/// No operation.
pub const NONE: u32 = u32::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Keeps its stream busy for so long.
    Compute(Span),
    /// Hands a message to the host; ends when its last frame goes on the wire, within a node when its last byte has left.
    Send {
        /// Receiving rank.
        to: u32,
        /// Payload [bytes].
        bytes: u64,
        /// What the receiver distinguishes messages by.
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
    /// What it does.
    pub work: Work,
    /// Operations of one stream do not overlap; [`Op::FREE`]: it needs none.
    pub stream: u16,
}

impl Op {
    /// An operation without a stream.
    pub const FREE: u16 = u16::MAX;
}

/// The operations of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// By number.
    pub ops: Vec<Op>,
    /// Who waits for an operation: its successors lie in `edges` from here to the next one's.
    first: Vec<u32>,
    /// A successor, and whether it waits for the start only.
    edges: Vec<(u32, bool)>,
    /// Operations that each one waits for.
    pub waits_for: Vec<u32>,
    /// The message of a send within an iteration; [`NONE`]: it is no send, or one that leaves the host by another way.
    pub message: Vec<u32>,
}

impl Program {
    /// Those that wait for an operation, and whether for its start only.
    pub fn successors(&self, op: u32) -> &[(u32, bool)] {
        &self.edges[self.first[op as usize] as usize..self.first[op as usize + 1] as usize]
    }
}

/// A part of the operations that has a name: a collective.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Bytes that it is about, for bandwidths; 0: none [bytes].
    pub bytes: u64,
    /// What turns algorithm bandwidth into bus bandwidth: numerator and denominator.
    pub bus: (u64, u64),
    /// By member: rank, the operation whose end begins it, the one whose end ends it.
    pub members: Vec<(u32, u32, u32)>,
}

/// A job's operations while they are put together, and then all that a run needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// By rank.
    pub programs: Vec<Program>,
    /// What has a name.
    pub phases: Vec<Phase>,
    /// By rank: (before, after, start only), while they are put together.
    pending: Vec<Vec<(u32, u32, bool)>>,
}

impl Graph {
    /// Of so many ranks without operations.
    pub fn new(ranks: usize) -> Graph {
        Graph { programs: vec![Program::default(); ranks], phases: Vec::new(), pending: vec![Vec::new(); ranks] }
    }

    /// All that its ranks do, for whoever wants to know whether it is the same.
    pub fn hash_into(&self, h: &mut impl Hasher) {
        for p in &self.programs {
            h.write_usize(p.ops.len());
            for o in &p.ops {
                let (kind, a, b, c) = match o.work {
                    Work::Compute(span) => (0, span.0, 0, 0),
                    Work::Send { to, bytes, tag, channel } => (1 + (u64::from(channel) << 8), u64::from(to), bytes, tag),
                    Work::Receive { from, bytes, tag } => {
                        let any = u64::from(from.is_none()) << 8 | u64::from(tag.is_none()) << 9;
                        (2 + any, u64::from(from.unwrap_or(0)), bytes, tag.unwrap_or(0))
                    }
                };
                [kind, a, b, c, u64::from(o.stream)].into_iter().for_each(|n| h.write_u64(n));
            }
            p.first.iter().for_each(|&n| h.write_u32(n));
            p.edges.iter().for_each(|&(later, start)| h.write_u64(u64::from(later) << 1 | u64::from(start)));
        }
    }

    /// What it keeps, and what a run of so many iterations keeps of its operations [bytes].
    pub fn bytes(&self, iterations: u64) -> u64 {
        let of = |p: &Program| {
            let kept = size_of::<Op>() + 3 * size_of::<u32>();
            p.ops.len() as u64 * (kept as u64 + iterations * size_of::<OpTimes>() as u64) + 8 * p.edges.len() as u64
        };
        let pending: usize = self.pending.iter().map(Vec::len).sum();
        self.programs.iter().map(of).sum::<u64>() + 12 * pending as u64
    }

    /// What so many operations more need while they are put together, with two dependencies each, and their times of so many iterations [bytes].
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
        self.programs.iter().map(|p| p.ops.len() as u64).sum()
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
            self.pending[rank as usize].push((before, later, false));
        }
    }

    /// `later` begins after the start of `before`.
    pub fn after_start(&mut self, rank: u32, later: u32, before: u32) {
        self.pending[rank as usize].push((before, later, true));
    }

    /// Puts the dependencies in order.
    pub fn finish(&mut self) {
        for (program, pending) in self.programs.iter_mut().zip(&mut self.pending) {
            let n = program.ops.len();
            pending.sort_unstable();
            pending.dedup();
            program.waits_for = vec![0; n];
            program.first = vec![0; n + 1];
            program.message = vec![NONE; n];
            for &(before, later, _) in pending.iter() {
                program.waits_for[later as usize] += 1;
                program.first[before as usize + 1] += 1;
            }
            for i in 0..n {
                program.first[i + 1] += program.first[i];
            }
            program.edges = pending.iter().map(|&(_, later, start)| (later, start)).collect();
            *pending = Vec::new();
        }
    }
}

//! Collectives as operations of ranks. An algorithm is a file here and a line in
//! [`Collective::add_to`].
//!
//! ```text
//!   rank   begin ---> sends and receives, piece by piece ---> end        begin, end: marks that other operations wait on
//! ```
//!
//! A collective of `S` bytes is cut into channels and each of these into chunks; every piece runs
//! the algorithm separately, so that pieces overlap. Where bytes do not divide, the first parts
//! have one more.

mod exchange;
mod halving;
mod ring;
mod tree;

use crate::jobs::graph::{BYTES_MAX, Graph, NONE, Op, Phase, Work};

/// Result of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every rank has the sum of all.
    AllReduce,
    /// Every rank has its part of the sum.
    ReduceScatter,
    /// Every rank has the parts of all.
    AllGather,
    /// Every rank has the data of the root.
    Broadcast,
    /// The root has the sum of all.
    Reduce,
    /// Every rank has a part from every other.
    AllToAll,
    /// No rank continues before all have arrived.
    Barrier,
}

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Each to the next, N - 1 steps a pass.
    Ring,
    /// Pairs at distances of powers of two; needs 2^k ranks.
    HalvingDoubling,
    /// Two binary trees, each with half of the bytes, no rank inside both.
    DoubleBinaryTree,
    /// A binomial tree.
    BinomialTree,
    /// Every rank to every other.
    Direct,
    /// Each round at twice the distance: the barrier.
    Dissemination,
    /// Reduce-scatter in the node, the inner algorithm across nodes for each place in them,
    /// all-gather in the node.
    Hierarchical,
}

/// Names of kinds.
pub const KINDS: &[(&str, Kind)] = &[
    ("all-reduce", Kind::AllReduce),
    ("reduce-scatter", Kind::ReduceScatter),
    ("all-gather", Kind::AllGather),
    ("broadcast", Kind::Broadcast),
    ("reduce", Kind::Reduce),
    ("all-to-all", Kind::AllToAll),
    ("barrier", Kind::Barrier),
];

/// Names of algorithms.
pub const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("ring", Algorithm::Ring),
    ("halving-doubling", Algorithm::HalvingDoubling),
    ("double-binary-tree", Algorithm::DoubleBinaryTree),
    ("binomial-tree", Algorithm::BinomialTree),
    ("direct", Algorithm::Direct),
    ("dissemination", Algorithm::Dissemination),
    ("hierarchical", Algorithm::Hierarchical),
];

/// A collective among some ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Name in tables.
    pub name: String,
    /// Result.
    pub kind: Kind,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Bytes: of the vector of a rank; of the gathered whole of an all-gather; of all that a rank
    /// has for others of an all-to-all, its own share included [bytes].
    pub bytes: u64,
    /// Ranks, in their order.
    pub ranks: Vec<u32>,
    /// The root, as a place in `ranks`.
    pub root: u32,
    /// Channels, each with its share of the bytes.
    pub channels: u16,
    /// A piece is no larger; 0: a channel is one piece [bytes].
    pub chunk: u64,
    /// all-to-all: messages of a rank under way at a time; 0: all.
    pub peers: u32,
    /// all-to-all: bytes from each to each, by places in `ranks`, row by row; empty: `bytes` shared
    /// out evenly.
    pub matrix: Vec<u64>,
    /// hierarchical: ranks of a node.
    pub node: u32,
}

/// Pieces that tags distinguish.
const PIECES_MAX: u64 = 1 << 16;

/// Reason for an impossible collective.
pub type Refusal = (&'static str, String, String);

/// One piece of a collective under construction.
pub(crate) struct Piece<'g> {
    pub graph: &'g mut Graph,
    pub ranks: &'g [u32],
    /// By place: operations that its first ones wait for; operations that wait for its last ones.
    pub begin: &'g [u32],
    pub end: &'g [u32],
    pub bytes: u64,
    pub channel: u16,
    /// Tags from here on.
    pub tag: u64,
}

/// The `i`-th of `n` parts of some bytes.
pub fn part(bytes: u64, n: u64, i: u64) -> u64 {
    let cut = |i: u64| (bytes as u128 * i as u128).div_ceil(n as u128) as u64;
    cut(i + 1) - cut(i)
}

impl Piece<'_> {
    pub fn n(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// A send from one place to another.
    pub fn send(&mut self, from: u32, to: u32, bytes: u64, tag: u64) -> u32 {
        let (rank, to) = (self.ranks[from as usize], self.ranks[to as usize]);
        self.graph.add(
            rank,
            Work::Send { to, bytes, tag: self.tag + tag, channel: self.channel },
            Op::FREE,
        )
    }

    /// A receive at a place from another.
    pub fn receive(&mut self, at: u32, from: u32, bytes: u64, tag: u64) -> u32 {
        let (rank, from) = (self.ranks[at as usize], self.ranks[from as usize]);
        self.graph.add(
            rank,
            Work::Receive { from: Some(from), bytes, tag: Some(self.tag + tag) },
            Op::FREE,
        )
    }

    pub fn after(&mut self, at: u32, later: u32, before: u32) {
        self.graph.after(self.ranks[at as usize], later, before);
    }

    /// An operation that waits for the beginning.
    pub fn first(&mut self, at: u32, op: u32) {
        self.after(at, op, self.begin[at as usize]);
    }

    /// A round of a rank: it sends when it has received that of the round before ([`NONE`]: there
    /// is none), and receives from the start on. Returns the receive.
    pub fn round(&mut self, at: u32, send: u32, receive: u32, before: u32) -> u32 {
        if before == NONE {
            self.first(at, send);
        } else {
            self.after(at, send, before);
        }
        self.first(at, receive);
        self.last(at, send);
        self.last(at, receive);
        receive
    }

    /// An operation that the end waits for.
    pub fn last(&mut self, at: u32, op: u32) {
        let end = self.end[at as usize];
        self.after(at, end, op);
    }
}

impl Collective {
    /// Collective of this kind, with everything else as usual.
    pub fn new(kind: Kind, bytes: u64, ranks: Vec<u32>) -> Collective {
        let algorithm = Self::usual(kind);
        Collective {
            name: String::new(),
            kind,
            algorithm,
            bytes,
            ranks,
            root: 0,
            channels: 1,
            chunk: 0,
            peers: 0,
            matrix: Vec::new(),
            node: 1,
        }
    }

    /// The algorithm of a kind that is taken unless one is named.
    pub fn usual(kind: Kind) -> Algorithm {
        match kind {
            Kind::AllReduce | Kind::ReduceScatter | Kind::AllGather => Algorithm::Ring,
            Kind::Broadcast | Kind::Reduce => Algorithm::BinomialTree,
            Kind::AllToAll => Algorithm::Direct,
            Kind::Barrier => Algorithm::Dissemination,
        }
    }

    /// Checks the collective. Reports the wrong key, the problem, and the expected value.
    ///
    /// # Errors
    /// A collective of one rank, one rank twice, an algorithm that does not do this, sizes that
    /// cannot be.
    pub fn check(&self) -> Result<(), Refusal> {
        let n = self.ranks.len();
        let refuse = |key, what: String, hint: &str| Err((key, what, hint.to_owned()));
        if n < 2 {
            return refuse(
                "ranks",
                "a collective of one rank exchanges nothing".into(),
                "name at least two ranks",
            );
        }
        let mut sorted = self.ranks.clone();
        sorted.sort_unstable();
        if let Some(w) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return refuse(
                "ranks",
                format!("rank {} is in the group twice", w[0]),
                "name each rank once",
            );
        }
        let does = match self.kind {
            Kind::AllReduce => &[
                Algorithm::Ring,
                Algorithm::HalvingDoubling,
                Algorithm::DoubleBinaryTree,
                Algorithm::Direct,
                Algorithm::Hierarchical,
            ][..],
            Kind::ReduceScatter | Kind::AllGather => {
                &[Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Direct]
            }
            Kind::Broadcast => &[Algorithm::BinomialTree, Algorithm::Ring],
            Kind::Reduce => &[Algorithm::BinomialTree],
            Kind::AllToAll => &[Algorithm::Direct],
            Kind::Barrier => &[Algorithm::Dissemination],
        };
        if !does.contains(&self.algorithm) {
            let name = |a: &Algorithm| ALGORITHMS.iter().find(|x| x.1 == *a).map_or("", |x| x.0);
            let kind = KINDS.iter().find(|x| x.1 == self.kind).map_or("", |x| x.0);
            let names = does.iter().map(name).collect::<Vec<_>>().join(", ");
            return refuse(
                "algorithm",
                format!("algorithm {} does not support {kind}", name(&self.algorithm)),
                &format!("expected one of {names}"),
            );
        }
        if self.algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
            return refuse(
                "algorithm",
                format!("halving-doubling among {n} ranks"),
                "use 2, 4, 8, ... ranks, or the algorithm ring",
            );
        }
        if self.bytes == 0 && self.kind != Kind::Barrier && self.matrix.is_empty() {
            return refuse(
                "size",
                "the size is 0: the ranks exchange nothing".into(),
                "give a size above 0",
            );
        }
        if let Some(bytes) =
            self.matrix.iter().copied().chain([self.bytes]).find(|&b| b > BYTES_MAX)
        {
            let key = if bytes == self.bytes { "size" } else { "matrix" };
            return refuse(key, format!("{bytes} B"), "expected at most 1 PiB");
        }
        if self.channels == 0 {
            return refuse("channels", "no channel".into(), "expected 1 to 64");
        }
        let chunks = if self.chunk == 0 {
            1
        } else {
            part(self.bytes, self.channels as u64, 0).div_ceil(self.chunk)
        };
        if chunks.saturating_mul(self.channels as u64) > PIECES_MAX {
            return refuse(
                "chunk",
                format!("{chunks} chunks in each of {} channels", self.channels),
                "expected at most 65536 pieces; use larger chunks",
            );
        }
        if self.root as usize >= n {
            return refuse(
                "root",
                format!("position {} is outside a group of {n}", self.root),
                "positions count from 0",
            );
        }
        if !self.matrix.is_empty() && self.matrix.len() != n * n {
            return refuse(
                "matrix",
                format!("{} numbers for {n} ranks", self.matrix.len()),
                "expected a row for each sender and a column for each receiver",
            );
        }
        if self.algorithm == Algorithm::Hierarchical {
            let g = self.node as usize;
            if g < 2 || !n.is_multiple_of(g) || n == g {
                let hint = "job.node_ranks must be 2 or more, divide the ranks, and leave at least two nodes";
                return refuse(
                    "algorithm",
                    format!("a hierarchy of {n} ranks in nodes of {g}"),
                    hint,
                );
            }
            let whole =
                self.ranks.chunks(g).all(|c| c.iter().all(|r| r / self.node == c[0] / self.node));
            if !whole {
                return refuse(
                    "ranks",
                    "the ranks of a node are not consecutive".into(),
                    "list the ranks node by node",
                );
            }
        }
        Ok(())
    }

    /// Pieces that run the algorithm separately.
    fn pieces(&self) -> u64 {
        let of = |channel| part(self.bytes, self.channels as u64, channel);
        match self.chunk {
            _ if self.kind == Kind::Barrier || !self.matrix.is_empty() => 1,
            0 => self.channels as u64,
            chunk => {
                (0..self.channels as u64).map(|channel| of(channel).div_ceil(chunk).max(1)).sum()
            }
        }
    }

    /// Operations that [`Self::add_to`] adds at most; it has passed [`Self::check`].
    pub fn ops_at_most(&self) -> u64 {
        let n = self.ranks.len() as u64;
        let rounds = n.next_power_of_two().trailing_zeros() as u64;
        let passes = if self.kind == Kind::AllReduce { 2 } else { 1 };
        let messages = match self.algorithm {
            Algorithm::Ring if self.kind == Kind::Broadcast => n - 1,
            Algorithm::Ring | Algorithm::Direct => (n - 1).saturating_mul(n) * passes,
            Algorithm::HalvingDoubling | Algorithm::Dissemination => rounds * n * passes,
            Algorithm::DoubleBinaryTree => 4 * (n - 1),
            Algorithm::BinomialTree => n - 1,
            Algorithm::Hierarchical => {
                let (inside, nodes) = (self.node as u64, n / self.node as u64);
                2 * n * (inside - 1) + (2 * (nodes - 1)).saturating_mul(n)
            }
        };
        // Marks between the parts of a piece, and those of the whole.
        self.pieces()
            .saturating_mul(messages.saturating_mul(2).saturating_add(2 * n))
            .saturating_add(2 * n)
    }

    /// Bytes for bandwidths, and the factor of the bus bandwidth as nccl-tests counts it.
    fn bandwidth(&self) -> (u64, (u64, u64)) {
        let n = self.ranks.len() as u64;
        let bytes = match self.matrix.is_empty() {
            true => self.bytes,
            false => {
                let rows = self.matrix.chunks(n as usize);
                rows.map(|row| row.iter().sum::<u64>()).max().unwrap_or(0)
            }
        };
        let bus = match self.kind {
            Kind::AllReduce => (2 * (n - 1), n),
            Kind::ReduceScatter | Kind::AllGather | Kind::AllToAll => (n - 1, n),
            Kind::Broadcast | Kind::Reduce | Kind::Barrier => (1, 1),
        };
        (if self.kind == Kind::Barrier { 0 } else { bytes }, bus)
    }

    /// Adds it to a graph: each member begins it after `before` (by place; [`NONE`]: at once).
    /// Returns the end of each.
    pub fn add_to(&self, graph: &mut Graph, before: &[u32]) -> Vec<u32> {
        let begin: Vec<u32> = self.ranks.iter().map(|&r| graph.mark(r)).collect();
        let end: Vec<u32> = self.ranks.iter().map(|&r| graph.mark(r)).collect();
        for (i, &r) in self.ranks.iter().enumerate() {
            graph.after(r, begin[i], before.get(i).copied().unwrap_or(NONE));
            graph.after(r, end[i], begin[i]);
        }
        let (bytes, bus) = self.bandwidth();
        let members =
            self.ranks.iter().zip(&begin).zip(&end).map(|((&r, &b), &e)| (r, b, e)).collect();
        // A tag names the collective, the piece and the step.
        let base = (graph.phases.len() as u64 + 1) << 40;
        graph.phases.push(Phase { name: self.name.clone(), bytes, bus, members });
        let mut nth = 0;
        for channel in 0..self.channels {
            let of_channel = part(self.bytes, self.channels as u64, channel as u64);
            let chunks = if self.chunk == 0 { 1 } else { of_channel.div_ceil(self.chunk).max(1) };
            for chunk in 0..chunks {
                let bytes = part(of_channel, chunks, chunk);
                let tag = base + (nth << 24);
                nth += 1;
                let mut piece = Piece {
                    graph,
                    ranks: &self.ranks,
                    begin: &begin,
                    end: &end,
                    bytes,
                    channel,
                    tag,
                };
                self.add_piece(&mut piece, channel == 0 && chunk == 0);
            }
        }
        end
    }

    fn add_piece(&self, p: &mut Piece, is_first: bool) {
        match (self.kind, self.algorithm) {
            (Kind::AllReduce, Algorithm::Ring) => ring::steps(p, 0, 2 * (p.n() - 1)),
            (Kind::ReduceScatter, Algorithm::Ring) => ring::steps(p, 0, p.n() - 1),
            (Kind::AllGather, Algorithm::Ring) => ring::steps(p, p.n() - 1, 2 * (p.n() - 1)),
            (Kind::AllReduce, Algorithm::HalvingDoubling) => halving::steps(p, true, true),
            (Kind::ReduceScatter, Algorithm::HalvingDoubling) => halving::steps(p, true, false),
            (Kind::AllGather, Algorithm::HalvingDoubling) => halving::steps(p, false, true),
            (Kind::AllReduce, Algorithm::Direct) => exchange::all_reduce(p),
            (Kind::ReduceScatter | Kind::AllGather, Algorithm::Direct) => {
                exchange::every_part(p, self.kind == Kind::AllGather)
            }
            (Kind::AllReduce, Algorithm::DoubleBinaryTree) => tree::double_binary(p),
            (Kind::AllReduce, Algorithm::Hierarchical) => exchange::hierarchical(p, self.node),
            (Kind::Broadcast, Algorithm::Ring) => ring::chain(p, self.root),
            (Kind::Broadcast, _) => tree::binomial_broadcast(p, self.root),
            (Kind::Reduce, _) => tree::binomial_reduce(p, self.root),
            (Kind::AllToAll, _) if self.matrix.is_empty() => {
                exchange::all_to_all(p, self.peers, None)
            }
            // A matrix is not cut: its channels would need matrices of their own.
            (Kind::AllToAll, _) if is_first => {
                exchange::all_to_all(p, self.peers, Some(&self.matrix))
            }
            (Kind::Barrier, _) if is_first => exchange::barrier(p),
            _ => {}
        }
    }
}

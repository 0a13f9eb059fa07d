//! GOAL in the binary form that LogGOPSim's `txt2bin` writes (`src/LogGOPSim/Parser.hpp` there),
//! little-endian, without padding.
//!
//! ```text
//!   file       4223 u64 | ranks u32 | cpus u8 | nics u8 | each rank: start u64, end u64 | data of the ranks
//!   rank       operations u32 | roots u32 | roots: u32 each | operations: 39 B each | successors: u32 each
//!   operation  waits u32 | kind u8 | peer u32 | size u64 | tag u32 | cpu u8 | nic u8 | later ones | later ones of its start
//!   later ones number u32, first u32 among the successors
//! ```
//!
//! Starts and ends count from behind the first number. A kind is 1 for send, 2 for receive, 3 for
//! calc, whose size is a time in ns. Roots are not needed: they wait for nothing.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::GzDecoder;
use xoff_net::jobs::{BYTES_MAX, Graph, SPAN_MAX, Work};
use xoff_scenario::{Problem, read};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use super::super::{RANKS_MAX, graph};
use crate::network::jobs::room;

const MAGIC: [u8; 8] = 4223u64.to_le_bytes();
/// `ANY_SOURCE` and `ANY_TAG`.
const ANY: u32 = u32::MAX;

/// Problem, and remedy.
type Bad = (String, &'static str);

/// Whether a file begins as this form does, or would without its gzip.
pub(in crate::network::jobs) fn is_binary(path: &Path) -> bool {
    let begins = |mut from: Box<dyn Read>| {
        let mut head = [0; 8];
        from.read_exact(&mut head).is_ok() && head == MAGIC
    };
    let regular = path.metadata().is_ok_and(|m| m.is_file());
    regular
        && (read::open(path).is_ok_and(|f| begins(Box::new(f)))
            || read::open(path).is_ok_and(|f| begins(Box::new(GzDecoder::new(f)))))
}

/// Numbers, one after the other.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (head, rest) = self.0.split_first_chunk().ok_or_else(cut)?;
        self.0 = rest;
        Ok(*head)
    }
    fn u8(&mut self) -> Result<u8, Bad> {
        self.take().map(|[b]| b)
    }
    fn u32(&mut self) -> Result<u32, Bad> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, Bad> {
        self.take().map(u64::from_le_bytes)
    }
}

fn cut() -> Bad {
    ("the data end too early".into(), "the file was cut off; write it again with txt2bin")
}

/// Reads a file, one rank at a time.
pub(in crate::network::jobs) fn read_binary(
    path: &Path,
    pages: Option<&PageFile>,
) -> Result<Graph, Problem> {
    let problem = |(what, hint): Bad| Problem::new(format!("{}: {what}", path.display()), hint);
    let unread = |e: std::io::Error| problem((format!("cannot be read: {e}"), ""));
    let mut file = read::open(path)?;
    let length = file.metadata().map_err(unread)?.len();
    let mut part = |from: u64, bytes: u64| {
        if from.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(problem(cut()));
        }
        let mut data = vec![0; bytes as usize];
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(&mut data))
            .map_err(unread)?;
        Ok(data)
    };
    let behind = MAGIC.len() as u64;
    if part(0, behind)? != MAGIC {
        let what = "a binary GOAL file in gzip, whose ranks cannot be read at their places";
        return Err(problem((what.into(), "unpack it with gunzip")));
    }
    let ranks: u64 = Bytes(&part(behind, 4)?).u32().map_err(problem)?.into();
    if !(1..=RANKS_MAX).contains(&ranks) {
        let what = format!("{ranks} ranks");
        return Err(problem((what, "expected 1 to 16,777,216")));
    }
    room::for_ranks(ranks, pages.is_some())
        .map_err(|(what, hint)| Problem::new(format!("{}: {what}", path.display()), hint))?;
    let table = part(behind + 6, 16 * ranks)?;
    let mut table = Bytes(&table);
    let mut all = graph(ranks as usize, pages);
    for rank in 0..ranks as u32 {
        let of_rank = |(what, hint): Bad| problem((format!("rank {rank}: {what}"), hint));
        let (start, end) = (table.u64().map_err(of_rank)?, table.u64().map_err(of_rank)?);
        let Some(bytes) = end.checked_sub(start).filter(|_| start < length) else {
            return Err(of_rank((format!("starts at {start} and ends at {end}"), "start <= end")));
        };
        add_rank(&mut all, rank, &part(behind + start, bytes)?).map_err(of_rank)?;
    }
    all.finish();
    let called = |rank: u32, op: u32| format!("operation {op} of rank {rank}");
    match all.check(&called) {
        Ok(()) => Ok(all),
        Err(f) => {
            let what =
                format!("{}: rank {}, operation {}: {}", path.display(), f.rank, f.op, f.what);
            Err(Problem::new(what, f.hint))
        }
    }
}

fn add_rank(all: &mut Graph, rank: u32, data: &[u8]) -> Result<(), Bad> {
    let mut head = Bytes(data);
    let (ops, roots) = (head.u32()?, head.u32()?);
    let (roots, nodes) = (4 * roots as usize, 39 * ops as usize);
    if head.0.len() < roots.saturating_add(nodes) {
        return Err(cut());
    }
    let (mut nodes, successors) = head.0[roots..].split_at(nodes);
    room::for_more(all, ops.into(), 1)
        .map_err(|(what, _)| (what, "there is not enough memory; set stream = true"))?;
    let mut waits = vec![0u32; ops as usize];
    let mut stated = Vec::with_capacity(ops as usize);
    let mut left = successors.len() / 4;
    for op in 0..ops {
        let of = |(what, hint): Bad| (format!("operation {op}: {what}"), hint);
        let (node, rest) = nodes.split_at(39);
        nodes = rest;
        let mut node = Bytes(node);
        stated.push(node.u32()?);
        let (kind, peer, size, tag) = (node.u8()?, node.u32()?, node.u64()?, node.u32()?);
        let (cpu, nic) = (node.u8()?, node.u8()?);
        let work = work(all.ranks(), rank, kind, peer, size, tag, nic).map_err(of)?;
        let added = all.add(rank, work, cpu.into());
        for of_start in [false, true] {
            let (number, first) = (node.u32()? as usize, node.u32()? as usize);
            if number == 0 {
                continue;
            }
            let later = successors.get(4 * first..4 * (first + number)).ok_or_else(|| of(cut()))?;
            // Else a small file could name more of them than there is memory.
            left = left.checked_sub(number).ok_or_else(|| {
                of(("it shares successors with another one".into(), "the file is damaged"))
            })?;
            for later in later.chunks_exact(4) {
                let later = Bytes(later).u32()?;
                let Some(count) = waits.get_mut(later as usize) else {
                    let what = format!("operation {later} waits for it, but there are {ops}");
                    return Err(of((what, "the file is damaged")));
                };
                *count += 1;
                if of_start {
                    all.after_start(rank, later, added);
                } else {
                    all.after(rank, later, added);
                }
            }
        }
    }
    match waits.iter().zip(&stated).position(|(found, stated)| found != stated) {
        None => Ok(()),
        Some(op) => {
            let (found, stated) = (waits[op], stated[op]);
            let what = format!("operation {op} waits for {stated} operations, but {found} name it");
            Err((what, "the file is damaged, or LogGOPSim changed it with --save-mem"))
        }
    }
}

fn work(
    ranks: u32,
    rank: u32,
    kind: u8,
    peer: u32,
    size: u64,
    tag: u32,
    nic: u8,
) -> Result<Work, Bad> {
    let known = || match peer {
        _ if peer == rank => {
            Err((format!("rank {rank} exchanges a message with itself"), "name another rank"))
        }
        _ if peer >= ranks => {
            Err((format!("there is no rank {peer}"), "expected a rank of the file"))
        }
        _ => Ok(peer),
    };
    if kind != 3 && size > BYTES_MAX {
        return Err((format!("a message of {size} B"), "expected at most 1 PiB"));
    }
    match kind {
        1 => Ok(Work::Send { to: known()?, bytes: size, tag: tag.into(), channel: nic.into() }),
        2 => Ok(Work::Receive {
            from: if peer == ANY { None } else { Some(known()?) },
            bytes: size,
            tag: (tag != ANY).then_some(tag.into()),
        }),
        3 if size <= SPAN_MAX.as_ns() => Ok(Work::Compute(Span::from_ns(size))),
        3 => Err((format!("{size} ns are more than xoff can count"), "expected at most 11.6 days")),
        _ => Err((format!("kind {kind}"), "expected 1 (send), 2 (receive) or 3 (calc)")),
    }
}

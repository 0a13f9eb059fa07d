//! Algorithms of MSCCL in XML: sends and receives of the thread blocks of each GPU, step by step.
//!
//! ```text
//!   <algo nchunksperloop ngpus> <gpu id> <tb id send recv chan> <step s type srcbuf srcoff dstbuf dstoff cnt depid deps>
//! ```
//!
//! The steps of a thread block follow each other; `depid`, `deps` is one step of another block of
//! the GPU that a step waits for. A chunk is the size of the message over `nchunksperloop`. What is
//! sent on a channel from one GPU to another is received in that order. Copies and sums take no
//! time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use roxmltree::{Document, Node};
use xoff_net::jobs::{BYTES_MAX, NONE, Op, Work};
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use super::Trace;
use crate::network::jobs::room;

type Bad = (Range<usize>, String, String);

fn bad<T>(node: &Node<'_, '_>, what: impl Into<String>, hint: impl Into<String>) -> Result<T, Bad> {
    Err((node.range(), what.into(), hint.into()))
}

/// A whole number in an attribute.
fn number(node: &Node<'_, '_>, name: &str) -> Result<i64, Bad> {
    let place = node.attribute_node(name).map_or(node.range(), |a| a.range());
    match node.attribute(name).map(str::parse) {
        Some(Ok(n)) => Ok(n),
        Some(Err(_)) => {
            Err((place, format!("{name} is not a number"), "expected a whole number".into()))
        }
        None => bad(
            node,
            format!("<{}> has no {name}", node.tag_name().name()),
            "expected this attribute, which MSCCL writes",
        ),
    }
}

/// Action of a step.
fn work(kind: &str) -> Option<(bool, bool)> {
    Some(match kind {
        "s" => (false, true),
        "r" | "rrc" => (true, false),
        "rcs" | "rrs" | "rrcs" => (true, true),
        "cpy" | "re" | "nop" => (false, false),
        _ => return None,
    })
}

/// A thread block: its first operation and the last one of each step.
struct Block {
    first: Vec<u32>,
    last: Vec<u32>,
}

/// Reads a file, for messages of this size [bytes].
pub(in crate::network::jobs) fn read(
    source: &Arc<Source>,
    size: u64,
    pages: Option<&PageFile>,
) -> Result<Trace, Problems> {
    let report =
        |(place, what, hint): Bad| Problems::from(Problem::new(what, hint).at(source.place(place)));
    let doc = Document::parse(source.text()).map_err(|e| {
        let pos = e.pos();
        let line: usize =
            source.text().split_inclusive('\n').take(pos.row as usize - 1).map(str::len).sum();
        report((
            line..line,
            format!("the file is not XML: {e}"),
            "expected an algorithm that msccl-tools wrote".into(),
        ))
    })?;
    algorithm(&doc, source, size, pages).map_err(report)
}

fn algorithm(
    doc: &Document<'_>,
    source: &Arc<Source>,
    size: u64,
    pages: Option<&PageFile>,
) -> Result<Trace, Bad> {
    let algo = doc.root_element();
    if algo.tag_name().name() != "algo" {
        return bad(
            &algo,
            format!("<{}> is not an algorithm", algo.tag_name().name()),
            "expected <algo>",
        );
    }
    let (gpus, chunks) = (number(&algo, "ngpus")?, number(&algo, "nchunksperloop")?);
    if !(2..=1 << 20).contains(&gpus) || !(1..=1 << 20).contains(&chunks) {
        return bad(
            &algo,
            format!("{gpus} GPUs and {chunks} chunks"),
            "expected 2 or more GPUs and 1 or more chunks",
        );
    }
    let chunk = size.div_ceil(chunks as u64);
    if let Err((what, hint)) = room::for_ranks(gpus as u64, pages.is_some()) {
        return bad(&algo, what, &hint);
    }
    let mut trace = Trace::of(gpus as usize, source.clone(), pages);
    let mut seen = vec![false; gpus as usize];
    for gpu in algo.children().filter(Node::is_element) {
        let id = number(&gpu, "id")?;
        if !(0..gpus).contains(&id) || std::mem::replace(&mut seen[id as usize], true) {
            return bad(
                &gpu,
                format!("GPU {id} is beyond ngpus, or is defined twice"),
                format!("expected each of 0 to {} once", gpus - 1),
            );
        }
        read_gpu(&mut trace, &gpu, id as u32, gpus, chunk)?;
    }
    match seen.iter().position(|s| !s) {
        Some(id) => bad(&algo, format!("GPU {id} is missing"), format!("ngpus is {gpus}")),
        None => Ok(trace),
    }
}

/// Operation that waits, thread block and step that it waits for, and place in the file.
type Wait = (u32, i64, i64, Range<usize>);

#[expect(
    clippy::too_many_lines,
    reason = "a list: one attribute of a step an item, with its conditions"
)]
fn read_gpu(
    t: &mut Trace,
    gpu: &Node<'_, '_>,
    rank: u32,
    gpus: i64,
    chunk: u64,
) -> Result<(), Bad> {
    let room = |buffer: &str| match buffer {
        "i" => Some("i_chunks"),
        "o" => Some("o_chunks"),
        "s" => Some("s_chunks"),
        _ => None,
    };
    let (mut blocks, mut waits): (Vec<Block>, Vec<Wait>) = (Vec::new(), Vec::new());
    // By peer and channel.
    let (mut sent, mut received) =
        (HashMap::<(i64, i64), u64>::new(), HashMap::<(i64, i64), u64>::new());
    for (nth, tb) in (0..).zip(gpu.children().filter(Node::is_element)) {
        if number(&tb, "id")? != nth {
            return bad(
                &tb,
                "the ids of thread blocks do not count from 0",
                format!("expected id=\"{nth}\""),
            );
        }
        let (to, from, channel) =
            (number(&tb, "send")?, number(&tb, "recv")?, number(&tb, "chan")?);
        for peer in [to, from] {
            if peer != -1 && (!(0..gpus).contains(&peer) || peer == rank as i64) {
                return bad(
                    &tb,
                    format!("there is no peer {peer}"),
                    format!("expected another one of 0 to {}, or -1 for none", gpus - 1),
                );
            }
        }
        let mut block = Block { first: Vec::new(), last: Vec::new() };
        let mut before = NONE;
        for (s, step) in (0..).zip(tb.children().filter(Node::is_element)) {
            if number(&step, "s")? != s {
                return bad(&step, "steps do not count from 0", format!("expected s=\"{s}\""));
            }
            let kind = step.attribute("type").unwrap_or_default();
            let Some((receives, sends)) = work(kind) else {
                return bad(
                    &step,
                    format!("there is no step of type '{kind}'"),
                    "expected s, r, rcs, rrc, rrs, rrcs, cpy, re or nop",
                );
            };
            let count = number(&step, "cnt")?;
            for (buffer, offset) in [("srcbuf", "srcoff"), ("dstbuf", "dstoff")] {
                let (name, at) =
                    (step.attribute(buffer).unwrap_or_default(), number(&step, offset)?);
                let Some(room) = room(name) else {
                    return bad(
                        &step,
                        format!("there is no buffer '{name}'"),
                        "expected i, o or s",
                    );
                };
                // A step receives into its own buffers, and sends from those of its peer.
                let mine = (buffer == "srcbuf" && !receives) || (buffer == "dstbuf" && !sends);
                if kind != "nop" && mine && (count < 1 || at < 0 || at + count > number(gpu, room)?)
                {
                    return bad(
                        &step,
                        format!("chunks {at} to {} of buffer {name}", at + count - 1),
                        format!("expected chunks within {room} of the GPU"),
                    );
                }
            }
            let (place, bytes) = (step.range(), chunk.saturating_mul(count.max(0) as u64));
            if bytes > BYTES_MAX {
                return bad(
                    &step,
                    format!("a message of {bytes} B"),
                    "expected at most 1 PiB: a smaller message_size or cnt",
                );
            }
            let mut first = NONE;
            let mut link = |t: &mut Trace, op: u32| {
                t.graph.after(rank, op, before);
                (before, first) = (op, if first == NONE { op } else { first });
            };
            if receives {
                if from == -1 {
                    return bad(
                        &step,
                        "it receives, but its thread block has recv=\"-1\"",
                        "name the peer in recv",
                    );
                }
                let n = received.entry((from, channel)).or_default();
                let tag = Some((channel as u64) << 32 | *n);
                *n += 1;
                let op = t.add(
                    rank,
                    Work::Receive { from: Some(from as u32), bytes, tag },
                    Op::FREE,
                    place.clone(),
                );
                link(t, op);
            }
            if sends {
                if to == -1 {
                    return bad(
                        &step,
                        "it sends, but its thread block has send=\"-1\"",
                        "name the peer in send",
                    );
                }
                let n = sent.entry((to, channel)).or_default();
                let tag = (channel as u64) << 32 | *n;
                *n += 1;
                let op = t.add(
                    rank,
                    Work::Send { to: to as u32, bytes, tag, channel: channel as u16 },
                    Op::FREE,
                    place.clone(),
                );
                link(t, op);
            }
            if !receives && !sends {
                let op = t.add(rank, Work::Compute(Span::ZERO), Op::FREE, place.clone());
                link(t, op);
            }
            let (depends, on) = (number(&step, "depid")?, number(&step, "deps")?);
            if depends != -1 {
                waits.push((first, depends, on, place));
            }
            block.first.push(first);
            block.last.push(before);
        }
        blocks.push(block);
    }
    for (op, depends, on, place) in waits {
        let last = usize::try_from(depends)
            .ok()
            .and_then(|d| blocks.get(d))
            .and_then(|b| b.last.get(usize::try_from(on).ok()?));
        let Some(&last) = last else {
            return Err((
                place,
                format!("there is no step {on} of thread block {depends}"),
                "depid and deps must name a step of this GPU".into(),
            ));
        };
        t.graph.after(rank, op, last);
    }
    Ok(())
}

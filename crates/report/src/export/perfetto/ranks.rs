//! Jobs in a trace: iterations and operations of the ranks at their hosts, an arrow from each send
//! to the end of the receive that took its message, and the critical paths.
//!
//! ```text
//!   H3
//!     train rank 3: iterations        a slice each
//!     train rank 3: operations        compute, send to 4, receive from 2, side by side where they overlap; an instant where a message is
//! there
//!   job train
//!     critical path                   a slice for each stretch, by cause
//! ```
//!
//! The tables are read a batch at a time; memory holds one iteration of one rank, sorted by time.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use xoff_record::{RecordBatch, read};

use super::encode::{Annotation, Event, EventKind, TrackKind};
use super::{PS_PER_NS, Trace, on};
use crate::export::error::ExportError;

type Done = Result<(), ExportError>;

/// An operation on its way.
struct Operation {
    begin: u64,
    end: Option<u64>,
    name: String,
    number: u64,
    bytes: Option<u64>,
    flow: Option<u64>,
    receives: bool,
}

/// The operations of a rank in an iteration, as far as they were read.
#[derive(Default)]
struct Gathered {
    of: Option<(String, u64, u64)>,
    operations: Vec<Operation>,
}

/// A critical path, as far as it was read: begin, end [ps], cause, rank, flow.
#[derive(Default)]
struct Stretches {
    of: Option<(String, u64)>,
    all: Vec<(u64, u64, String, u64, Option<u64>)>,
}

/// The host of each rank, by job.
type Hosts = HashMap<(String, u64), String>;

/// All tables of jobs.
pub fn all<W: Write>(t: &mut Trace<'_, W>, dir: &Path) -> Done {
    let mut hosts = Hosts::new();
    t.table(dir, "ranks", |t, b| iterations(t, b, &mut hosts))?;
    // An arrow has the number of its message behind those that there are.
    let (before, mut last) = (t.arrow + 1, t.arrow);
    let mut gathered = Gathered::default();
    t.table(dir, "operations", |t, b| operations(t, b, &hosts, before, &mut last, &mut gathered))?;
    rank_is_complete(t, &hosts, before, &mut gathered)?;
    t.arrow = last;
    let mut path = Stretches::default();
    t.table(dir, "critical_path", |t, b| critical_path(t, b, &mut path))?;
    path_is_complete(t, &mut path)
}

fn iterations<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch, hosts: &mut Hosts) -> Done {
    let (job, host) = (read::texts(b, "job"), read::texts(b, "host"));
    let of = |name: &str| read::numbers(b, name);
    let (rank, iteration, start, end) = (of("rank"), of("iteration"), of("start_ps"), of("end_ps"));
    let parts: Vec<_> = ["compute_ps", "comm_ps", "exposed_ps", "idle_ps", "paused_ps"]
        .iter()
        .map(|name| (*name, of(name)))
        .collect();
    for i in 0..b.num_rows() {
        let (Some(job), Some(host), Some(rank), Some(n), Some(start)) =
            (job[i], host[i], rank[i], iteration[i], start[i])
        else {
            continue;
        };
        let job = short(job);
        hosts.entry((job.to_owned(), rank)).or_insert_with(|| host.to_owned());
        if !t.window.holds(start, end[i].unwrap_or(u64::MAX)) {
            continue;
        }
        let track = t.tracks.below(
            &mut t.out,
            host,
            &format!("{job} rank {rank}: iterations"),
            TrackKind::Slices,
        )?;
        let mut annotations = vec![("start_ps", Annotation::Number(start))];
        annotations.extend(end[i].map(|e| ("end_ps", Annotation::Number(e))));
        annotations.extend(
            parts
                .iter()
                .filter(|_| end[i].is_some())
                .filter_map(|(name, v)| Some((*name, Annotation::Number(v[i]?)))),
        );
        t.slice(start, end[i], on(track, &format!("iteration {n}"), "job", &annotations))?;
    }
    Ok(())
}

/// The name of a job as a scenario has it, where the tables have its section before it:
/// `job[0] train`.
fn short(label: &str) -> &str {
    label.split_once(' ').map_or(label, |x| x.1)
}

fn operations<W: Write>(
    t: &mut Trace<'_, W>,
    b: &RecordBatch,
    hosts: &Hosts,
    before: u64,
    last: &mut u64,
    gathered: &mut Gathered,
) -> Done {
    let (job, work) = (read::texts(b, "job"), read::texts(b, "work"));
    let of = |name: &str| read::numbers(b, name);
    let (rank, iteration, number, peer) =
        (of("rank"), of("iteration"), of("operation"), of("peer"));
    let (bytes, flow, begin, end) = (of("bytes"), of("flow"), of("start_ps"), of("end_ps"));
    for i in 0..b.num_rows() {
        let (Some(job), Some(work), Some(rank), Some(n), Some(begin)) =
            (job[i], work[i], rank[i], iteration[i], begin[i])
        else {
            continue;
        };
        let same =
            gathered.of.as_ref().is_some_and(|(j, r, k)| j == short(job) && (*r, *k) == (rank, n));
        if !same {
            rank_is_complete(t, hosts, before, gathered)?;
            gathered.of = Some((short(job).to_owned(), rank, n));
        }
        *last = flow[i].map_or(*last, |f| (*last).max(before + f));
        let other =
            |word: &str| peer[i].map_or_else(|| work.to_owned(), |p| format!("{work} {word} {p}"));
        let name = match work {
            "send" => other("to"),
            "receive" => other("from"),
            _ => work.to_owned(),
        };
        gathered.operations.push(Operation {
            begin,
            end: end[i],
            name,
            number: number[i].unwrap_or_default(),
            bytes: bytes[i],
            flow: flow[i],
            receives: work == "receive",
        });
    }
    Ok(())
}

/// Writes the operations that were gathered, in the order of time.
fn rank_is_complete<W: Write>(
    t: &mut Trace<'_, W>,
    hosts: &Hosts,
    before: u64,
    gathered: &mut Gathered,
) -> Done {
    let Some((job, rank, iteration)) = gathered.of.take() else { return Ok(()) };
    gathered.operations.sort_by_key(|o| (o.begin, o.end.unwrap_or(u64::MAX)));
    let host = hosts.get(&(job.clone(), rank)).cloned().unwrap_or_default();
    let group = format!("{job} rank {rank}: operations");
    for o in gathered.operations.drain(..) {
        if !t.window.holds(o.begin, o.end.unwrap_or(u64::MAX)) {
            continue;
        }
        let (from, to) = (o.begin / PS_PER_NS, o.end.map_or(u64::MAX, |e| e / PS_PER_NS));
        let track = t.tracks.row(&mut t.out, &host, &group, from, to)?;
        let mut annotations = vec![
            ("start_ps", Annotation::Number(o.begin)),
            ("iteration", Annotation::Number(iteration)),
            ("operation", Annotation::Number(o.number)),
        ];
        annotations.extend(o.end.map(|e| ("end_ps", Annotation::Number(e))));
        annotations.extend(o.bytes.map(|n| ("bytes", Annotation::Number(n))));
        annotations.extend(o.flow.map(|n| ("flow", Annotation::Number(n))));
        let arrow: Vec<u64> = o.flow.map(|f| before + f).into_iter().collect();
        let begins: &[u64] = if o.receives { &[] } else { &arrow };
        t.summary.slices += 1;
        t.out.event(&Event {
            ns: from,
            kind: EventKind::Begin,
            begins,
            ..on(track, &o.name, "job", &annotations)
        })?;
        let Some(end) = o.end else { continue };
        t.out.event(&Event { ns: to, kind: EventKind::End, ..on(track, "", "job", &[]) })?;
        if o.receives && !arrow.is_empty() {
            // An arrow leads from the slice that begins first. A receive may be posted before its
            // message begins, so an instant at its end takes it.
            t.summary.arrows += 1;
            t.summary.instants += 1;
            let annotations = [("time_ps", Annotation::Number(end))];
            t.out.event(&Event {
                ns: to,
                ends: &arrow,
                ..on(track, "received", "job", &annotations)
            })?;
        }
    }
    Ok(())
}

fn critical_path<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch, path: &mut Stretches) -> Done {
    let (job, cause) = (read::texts(b, "job"), read::texts(b, "cause"));
    let of = |name: &str| read::numbers(b, name);
    let (iteration, rank, from, to, flow) =
        (of("iteration"), of("rank"), of("start_ps"), of("end_ps"), of("flow"));
    for i in 0..b.num_rows() {
        let (Some(job), Some(n), Some(from), Some(to), Some(cause)) =
            (job[i], iteration[i], from[i], to[i], cause[i])
        else {
            continue;
        };
        if path.of.as_ref().is_none_or(|(j, k)| j != short(job) || *k != n) {
            path_is_complete(t, path)?;
            path.of = Some((short(job).to_owned(), n));
        }
        path.all.push((from, to, cause.replace('_', " "), rank[i].unwrap_or_default(), flow[i]));
    }
    Ok(())
}

/// Writes a critical path on one track: those of iterations that overlap stand side by side.
fn path_is_complete<W: Write>(t: &mut Trace<'_, W>, path: &mut Stretches) -> Done {
    let (Some((job, iteration)), Some(first), Some(last)) =
        (path.of.take(), path.all.first(), path.all.last())
    else {
        return Ok(());
    };
    let (from, to) = (first.0 / PS_PER_NS, last.1 / PS_PER_NS);
    let track = t.tracks.row(&mut t.out, &format!("job {job}"), "critical path", from, to)?;
    for (from, to, cause, rank, flow) in std::mem::take(&mut path.all) {
        let mut annotations = vec![
            ("start_ps", Annotation::Number(from)),
            ("end_ps", Annotation::Number(to)),
            ("iteration", Annotation::Number(iteration)),
            ("rank", Annotation::Number(rank)),
        ];
        annotations.extend(flow.map(|n| ("flow", Annotation::Number(n))));
        t.slice(from, Some(to), on(track, &format!("{cause}, rank {rank}"), "job", &annotations))?;
    }
    Ok(())
}

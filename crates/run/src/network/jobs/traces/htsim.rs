//! Connection matrices of htsim with triggers: connections that begin when others are done.
//!
//! ```text
//!   0->4 id 1 start 0 size 1000000 send_done_trigger 1      a send of host 0, a receive of host 4
//!   4->0 id 3 trigger 1 size 1000000                        its send begins after an activation of trigger 1
//!   trigger id 1 barrier count 2                            after two activations; oneshot: after one; multishot: one target after each
//! ```
//!
//! A trigger of htsim reaches every host at once. Here a host reacts only to its own events: an
//! activation at another host arrives as a message of 1 B through the network. A send is done when
//! its last frame starts on the wire, not when its last acknowledgement has arrived. A file that
//! depends on the order of several activations is rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use xoff_net::jobs::{Op, SPAN_MAX, Work};
use xoff_scenario::import::StartUnit;
use xoff_scenario::import::formats::htsim::{Connections, TriggerKind, connections};
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use super::{RANKS_MAX, Trace};
use crate::network::jobs::room;

/// Tags from here on are those of activations.
const ACTIVATION: u64 = 1 << 40;

type Bad = (Range<usize>, String, &'static str);

/// An end of a connection that activates a trigger: the connection, the rank, its operation.
#[derive(Clone, Copy)]
struct Activation {
    by: usize,
    rank: u32,
    op: u32,
}

/// Reads a file; remarks about it are added to `warnings`.
pub(in crate::network::jobs) fn read(
    source: Arc<Source>,
    unit: StartUnit,
    pages: Option<&PageFile>,
    warnings: &mut Vec<(String, String)>,
) -> Result<Trace, Problems> {
    let all = connections(&source, unit).map_err(Problems::from)?;
    warnings.extend(
        all.left_out
            .iter()
            .map(|what| (format!("xoff leaves out {what}"), "xoff has no equivalent".to_owned())),
    );
    if all.nodes > RANKS_MAX {
        let what = format!("{} nodes, and each host is a rank", all.nodes);
        return Err(Problem::new(what, format!("expected at most {RANKS_MAX}"))
            .at(source.place(0..0))
            .into());
    }
    if let Err((what, hint)) = room::for_ranks(all.nodes, pages.is_some()) {
        return Err(Problem::new(what, hint).at(source.place(0..0)).into());
    }
    let mut t = Trace::of(all.nodes as usize, source.clone(), pages);
    match add(&mut t, &all, warnings) {
        Ok(()) => Ok(t),
        Err((place, what, hint)) => Err(Problem::new(what, hint).at(source.place(place)).into()),
    }
}

fn add(t: &mut Trace, all: &Connections, warnings: &mut Vec<(String, String)>) -> Result<(), Bad> {
    // By connection: its send, and the activations of each trigger.
    let mut sends = Vec::with_capacity(all.list.len());
    let mut activations: BTreeMap<u64, Vec<Activation>> = BTreeMap::new();
    for (by, c) in all.list.iter().enumerate() {
        let place = c.place.clone();
        if c.start.is_some_and(|s| s > SPAN_MAX) {
            return Err((
                place,
                "it starts later than xoff can count".into(),
                "expected at most 11.6 days",
            ));
        }
        let (src, dst, tag) = (c.src as u32, c.dst as u32, by as u64);
        let wait = c
            .start
            .filter(|s| *s > Span::ZERO)
            .map(|s| t.add(src, Work::Compute(s), Op::FREE, place.clone()));
        let channel = (by % (1 << 16)) as u16;
        let send = t.add(
            src,
            Work::Send { to: dst, bytes: c.size.0, tag, channel },
            Op::FREE,
            place.clone(),
        );
        let receive = t.add(
            dst,
            Work::Receive { from: Some(src), bytes: c.size.0, tag: Some(tag) },
            Op::FREE,
            place,
        );
        wait.into_iter().for_each(|w| t.graph.after(src, send, w));
        for (trigger, rank, op) in [(c.send_done, src, send), (c.receive_done, dst, receive)] {
            trigger.into_iter().for_each(|trigger| {
                activations.entry(trigger).or_default().push(Activation { by, rank, op })
            });
        }
        sends.push(send);
    }
    let mut signals = Signals { next: ACTIVATION, known: BTreeMap::new() };
    for (&id, trigger) in &all.triggers {
        let targets: Vec<usize> =
            (0..all.list.len()).filter(|&i| all.list[i].trigger == Some(id)).collect();
        let by = activations.remove(&id).unwrap_or_default();
        let Some(&first) = targets.first() else { continue };
        let place = || all.list[first].place.clone();
        let refuse = |what: String| {
            Err((trigger.place.clone(), what, "give each connection its own trigger"))
        };
        if by.is_empty() {
            return Err((
                place(),
                format!("it never starts: nothing activates trigger {id}"),
                "add send_done_trigger to an earlier connection",
            ));
        }
        let waits: Vec<(usize, Vec<Activation>)> = match trigger.kind {
            TriggerKind::OneShot if by.len() > 1 => {
                return refuse(format!(
                    "{} connections activate trigger {id}: their order is known only during a run",
                    by.len()
                ));
            }
            TriggerKind::OneShot => targets.iter().map(|&to| (to, by.clone())).collect(),
            TriggerKind::Barrier(count) if (by.len() as u64) < count => {
                let what = format!(
                    "{} connections activate trigger {id}, which waits for {count}: it never starts",
                    by.len()
                );
                return Err((
                    place(),
                    what,
                    "set the count of the barrier to the number of its connections",
                ));
            }
            TriggerKind::Barrier(count) if (by.len() as u64) > count => {
                return refuse(format!(
                    "{} connections activate trigger {id}: the first {count} are known only during a run",
                    by.len()
                ));
            }
            TriggerKind::Barrier(_) => targets.iter().map(|&to| (to, by.clone())).collect(),
            TriggerKind::MultiShot => match in_order(&by, &targets) {
                Some(order) => {
                    targets.iter().copied().zip(order.into_iter().map(|a| vec![a])).collect()
                }
                None => {
                    return refuse(format!(
                        "trigger {id} starts a connection at each of {} activations: their order is known only during a run",
                        by.len()
                    ));
                }
            },
        };
        if let Some(&never) = targets.get(waits.len()) {
            let what = format!(
                "it never starts: trigger {id} is activated {} times, and starts one connection each time",
                waits.len()
            );
            return Err((
                all.list[never].place.clone(),
                what,
                "expected as many activations as targets",
            ));
        }
        for (to, by) in waits {
            let c = &all.list[to];
            for a in by {
                let before = signals.at(t, a, c.src as u32, &c.place);
                t.graph.after(c.src as u32, sends[to], before);
            }
        }
    }
    if signals.next > ACTIVATION {
        let what = format!(
            "{} activations of triggers at other hosts are messages of 1 B each",
            signals.next - ACTIVATION
        );
        warnings.push((
            what,
            "htsim delivers them immediately; in xoff they travel through the network".into(),
        ));
    }
    Ok(())
}

/// Activations of a multishot trigger in the order of time, where that is certain: one of a
/// connection that the trigger does not start, then each of the connection that the previous one
/// has started.
fn in_order(by: &[Activation], targets: &[usize]) -> Option<Vec<Activation>> {
    let mut first = by.iter().filter(|a| !targets.contains(&a.by));
    let (mut order, mut seen) = (vec![*first.next()?], BTreeSet::new());
    if first.next().is_some() {
        return None;
    }
    for target in targets {
        let mut own = by.iter().filter(|a| a.by == *target);
        let Some(next) = own.next() else { break };
        if own.next().is_some() || !seen.insert(*target) {
            return None;
        }
        order.push(*next);
    }
    (order.len() == by.len()).then_some(order)
}

/// Activations that were carried to other hosts.
struct Signals {
    next: u64,
    /// By rank and operation of the activation, and the rank that it goes to: the receive there.
    known: BTreeMap<(u32, u32, u32), u32>,
}

impl Signals {
    /// The operation of `rank` whose end is the activation.
    fn at(&mut self, t: &mut Trace, a: Activation, rank: u32, place: &Range<usize>) -> u32 {
        if a.rank == rank {
            return a.op;
        }
        if let Some(&op) = self.known.get(&(a.rank, a.op, rank)) {
            return op;
        }
        let tag = self.next;
        self.next += 1;
        let send = t.add(
            a.rank,
            Work::Send { to: rank, bytes: 1, tag, channel: 0 },
            Op::FREE,
            place.clone(),
        );
        t.graph.after(a.rank, send, a.op);
        let receive = t.add(
            rank,
            Work::Receive { from: Some(a.rank), bytes: 1, tag: Some(tag) },
            Op::FREE,
            place.clone(),
        );
        self.known.insert((a.rank, a.op, rank), receive);
        receive
    }
}

//! The ideal network of LogGP: every message takes a latency, and each byte after its first a gap;
//! nothing is ever in its way.
//!
//! ```text
//!   sender     |- o -|                          o: overhead, in Overheads
//!   its NIC          | (bytes - 1) G |          the next message no sooner than g + (bytes - 1) G after this one
//!   wire             |- L + (bytes - 1) G -|
//!   receiver                               |- o -|
//! ```
//!
//! A second world for [`Machine`]: the time of a job without a network in its way, and a check
//! against LogGOPSim's published figures.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use xoff_units::{Span, Time};

use crate::jobs::job::Job;
use crate::jobs::machine::{Action, Input, Log, Machine};

/// The network's parameters; overheads are the job's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogGp {
    /// Latency, `L`.
    pub latency: Span,
    /// Between two messages of a NIC, `g`.
    pub gap: Span,
    /// For each byte after a message's first, `G`.
    pub gap_per_byte: Span,
}

/// Event of a rank: time, order, rank, subject.
type Event = (Time, u64, u32, u8, [u32; 3]);

/// Runs a job on it. Returns the log of each rank.
pub fn run(job: &Arc<Job>, net: LogGp) -> Vec<Log> {
    let ranks = job.hosts.len() as u32;
    let mut machines: Vec<Machine> = (0..ranks).map(|r| Machine::new(job.clone(), r)).collect();
    let mut free = vec![Time::ZERO; ranks as usize];
    let (mut events, mut nth) = (BinaryHeap::<Reverse<Event>>::new(), 0);
    let mut push = |events: &mut BinaryHeap<Reverse<Event>>, at, rank, what, args| {
        nth += 1;
        events.push(Reverse((at, nth, rank, what, args)));
    };
    for (rank, m) in (0..).zip(&mut machines) {
        push(&mut events, m.begin(), rank, 0, [0; 3]);
    }
    let mut out = Vec::new();
    while let Some(Reverse((now, _, rank, what, args))) = events.pop() {
        let input = match what {
            0 => Input::Due,
            1 => Input::Sent { flow: args[0] },
            _ => Input::Arrived { iteration: args[0], from: args[1], op: args[2] },
        };
        machines[rank as usize].handle(now, input, &mut out);
        for action in out.drain(..) {
            match action {
                Action::Begin { flow, .. } => {
                    let (iteration, message) = job.of_flow(flow);
                    let m = job.message(message);
                    let bytes = Span(net.gap_per_byte.0 * (m.bytes.max(1) - 1));
                    let leaves = free[rank as usize].max(now);
                    free[rank as usize] = leaves + net.gap + bytes;
                    // Handed over, it is over for its sender.
                    push(&mut events, now, rank, 1, [flow, 0, 0]);
                    push(
                        &mut events,
                        leaves + net.latency + bytes,
                        m.to,
                        2,
                        [iteration, m.from, m.op],
                    );
                }
                Action::WakeAt(at) => push(&mut events, at, rank, 0, [0; 3]),
                Action::Inside { to, at, iteration, op } => {
                    push(&mut events, at, to, 2, [iteration, rank, op])
                }
                Action::Done => {}
            }
        }
    }
    machines.into_iter().map(|m| m.into_log().0).collect()
}

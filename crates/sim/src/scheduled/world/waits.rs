//! What waits in a fabric at a time, and for what.
//!
//! ```text
//!   paused host -> input buffer -> VOQs of an output --no grant--> slots of its buffers, or its rate
//!                                                    --granted---> link of the input
//! ```

use std::collections::BTreeMap;

use xoff_mech::scheduled::request_grant::Hold;
use xoff_units::Time;

use super::World;
use crate::scheduled::measure::{Backlog, Stuck};

/// What waits at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// The time.
    pub at: Time,
    /// Outputs for which packets wait at the inputs or on their lines, most bytes first.
    pub outputs: Vec<OutputWaits>,
    /// Inputs with packets in their VOQs or input buffers, most bytes first.
    pub inputs: Vec<InputWaits>,
    /// A deadlock.
    pub stuck: Option<Stuck>,
}

/// Packets for one output, and the state of its arbiter and its buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputWaits {
    /// Number of the output.
    pub output: u32,
    /// Bytes in the VOQs, flows with such bytes, and flows of those that hold a grant.
    pub backlog: Backlog,
    /// These bytes by input, most first.
    pub inputs: Vec<(u32, u64)>,
    /// Requested and not granted [segments].
    pub requested: u64,
    /// Reason why nothing is granted.
    pub hold: Hold,
    /// Bytes in the reorder and reassembly buffer [bytes].
    pub held: u64,
    /// Complete packets in it, which wait for the line.
    pub complete: usize,
    /// The receiver takes nothing until then; none: it takes what comes.
    pub blocked_until: Option<Time>,
}

/// Packets at one input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputWaits {
    /// Number of the input.
    pub input: u32,
    /// Start of the pause of its host; none: the host may send, or there are no hosts.
    pub paused_since: Option<Time>,
    /// Bytes in its input buffer, or in its VOQs where there are no hosts [bytes].
    pub held: u64,
    /// Bytes in its VOQs by output, most first.
    pub outputs: Vec<(u32, u64)>,
}

impl World {
    /// What waits now.
    pub fn waits(&self) -> Waits {
        let (now, blocked) = (Time(self.now), self.plan.config.blocked.as_ref());
        let mut to: BTreeMap<u32, (Backlog, Vec<(u32, u64)>)> = BTreeMap::new();
        let mut from: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for part in &self.parts {
            for (input, output, flow) in part.flows.iter().filter(|(.., flow)| flow.unsent() > 0) {
                let (input, output, bytes) = (input as u32, output as u32, flow.unsent());
                let granted = u32::from(flow.requester.granted() > 0);
                let (sum, inputs) = to.entry(output).or_default();
                *sum += Backlog { bytes, flows: 1, granted };
                inputs.push((input, bytes));
                from.entry(input).or_default().push((output, bytes));
            }
        }
        let most_first = |all: &mut Vec<(u32, u64)>| all.sort_by_key(|&(_, b)| u64::MAX - b);
        let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
        for part in &self.parts {
            for number in part.ports.numbers() {
                let (port, n) = (&part.ports[number], number as u32);
                let (backlog, mut shares) = to.remove(&n).unwrap_or_default();
                if backlog.bytes > 0 || !port.line.is_empty() {
                    most_first(&mut shares);
                    outputs.push(OutputWaits {
                        output: n,
                        backlog,
                        inputs: shares,
                        requested: port.granter.requested(),
                        hold: port.granter.hold(now),
                        held: port.output_held,
                        complete: port.line.len(),
                        blocked_until: blocked
                            .filter(|b| b.outputs.contains(&n) && (b.from..b.until).contains(&now))
                            .map(|b| b.until),
                    });
                }
                let (held, paused_since) = match &part.hosts {
                    Some(side) => (
                        side.buffers[number].held,
                        side.hosts[number].stopped.then(|| Time(side.stopped_since[number])),
                    ),
                    None => (port.waiting, None),
                };
                if held > 0 {
                    let mut outputs = from.remove(&n).unwrap_or_default();
                    most_first(&mut outputs);
                    inputs.push(InputWaits { input: n, paused_since, held, outputs });
                }
            }
        }
        outputs.sort_by_key(|o| std::cmp::Reverse(o.backlog.bytes));
        inputs.sort_by_key(|i| std::cmp::Reverse(i.held));
        Waits { at: now, outputs, inputs, stuck: self.stuck.clone().or_else(|| self.find_stuck()) }
    }
}

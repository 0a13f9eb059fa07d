//! The state of a NIC in writing ([`xoff_units::state`]).

use serde::ser::{Serialize, SerializeStruct, Serializer};
use xoff_units::state::Slot;
use xoff_units::{Time, state};

use super::receiving::Receiving;
use super::sending::Sending;
use super::{Nic, Transport};

/// The receiving side of a flow as far as anything depends on it.
#[derive(serde::Serialize)]
struct Received {
    #[serde(serialize_with = "state::flow")]
    flow: u32,
    #[serde(serialize_with = "state::sequence")]
    expected: u64,
    np: xoff_mech::rate_control::NotificationPoint,
    #[serde(serialize_with = "state::deadline")]
    nack_after: Time,
    /// The gap that is known begins here.
    nacked: bool,
    /// Position of the next byte in its chunk, if acknowledgements are per chunk.
    in_chunk: Option<u64>,
}

/// The sending side of a flow.
#[derive(serde::Serialize)]
struct Live<'n> {
    place: Slot,
    flow: &'n Sending,
    /// First byte not acknowledged, where there are acknowledgements.
    acked: Option<Offset>,
}

/// A queue pair: state that its next message inherits in addition to the rate control, which is that of a flow.
#[derive(serde::Serialize)]
struct Pair {
    number: u32,
    latest: Slot,
    #[serde(serialize_with = "state::deadline")]
    available: Time,
    /// Bytes of the messages before the latest one, if the rate control counts them.
    before: Option<u64>,
}

/// A byte offset of the flow before it.
#[derive(serde::Serialize)]
struct Offset(#[serde(serialize_with = "state::sequence")] u64);

impl Received {
    fn of(flow: u32, r: &Receiving, transport: &Transport) -> Received {
        let Receiving { expected, np, nack_after, nacked } = *r;
        let in_chunk = match *transport {
            Transport::Acks { interval, chunk, back_to_zero, .. } => (back_to_zero || expected < interval).then_some(expected % chunk),
            Transport::None => None,
        };
        Received { flow, expected, np, nack_after, nacked: nacked == expected, in_chunk }
    }
}

impl Serialize for Nic {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        // The configuration does not change, and slots are where flows are.
        let Nic {
            c,
            node: _,
            per_flow: _,
            line: _,
            memory: _,
            flows,
            round_robin,
            slots: _,
            receiving,
            ahead,
            sinks,
            feedback,
            port,
            drain,
            storms,
            cancelled_wakes,
            queue_pairs,
            at_work: _,
            complete: _, // a run that clears flows is not looked at
        } = self;
        let acks = c.transport != Transport::None;
        // The latest message of a queue pair keeps its rate control for the next one.
        let lives = |f: &Sending| !f.rests(c) || f.pair.is_some() && f.rate_control.is_some();
        let acked = |f: &Sending| (acks || f.window.is_some()).then_some(Offset(f.acked));
        let live = flows.places().filter(|(_, f)| lives(f));
        let live: Vec<Live> = live.map(|(n, flow)| Live { place: Slot(n), flow, acked: acked(flow) }).collect();
        let counted = c.rate_control.wants_acks();
        let pair = |(&number, &latest): (&u32, &u32)| Pair {
            number,
            latest: Slot(latest),
            available: flows[latest as usize].available,
            before: counted.then(|| self.in_pair(latest).0),
        };
        let mut pairs: Vec<Pair> = queue_pairs.iter().map(pair).collect();
        pairs.sort_unstable_by_key(|p| p.number);
        let mut received: Vec<Received> = receiving.iter().map(|(&flow, r)| Received::of(flow, r, &c.transport)).collect();
        received.sort_unstable_by_key(|r| r.flow);
        if sinks.values().any(|s| !s.rests()) {
            return state::unwritten("acknowledgements that wait", s);
        }
        if !ahead.is_empty() {
            return state::unwritten("frames ahead of a missing one", s);
        }
        let mut out = s.serialize_struct("Nic", 9)?;
        out.serialize_field("port", port)?;
        // Without a flow there is no turn: the next one is the first, whatever came before.
        out.serialize_field("round_robin", &(!live.is_empty()).then_some(round_robin))?;
        out.serialize_field("feedback", feedback)?;
        out.serialize_field("drain", drain)?;
        out.serialize_field("storms", storms)?;
        out.serialize_field("cancelled_wakes", cancelled_wakes)?;
        out.serialize_field("live", &live)?;
        out.serialize_field("pairs", &pairs)?;
        out.serialize_field("received", &received)?;
        out.end()
    }
}

/// A flow that a NIC sends, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of the flow.
    pub flow: u32,
    /// Payload that has not been sent [bytes].
    pub bytes: u64,
}

impl Nic {
    /// The flows that have something left to send.
    pub fn left(&self) -> impl Iterator<Item = Left> {
        self.flows.iter().map(|f| Left { flow: f.start.flow, bytes: f.left() }).filter(|l| l.bytes > 0)
    }

    /// Removes bytes from the rest of a flow, as if they had been sent and delivered.
    pub fn shorten(&mut self, flow: u32, bytes: u64) {
        if let Some(&slot) = self.slots.get(&flow) {
            let start = &mut self.flows[slot as usize].start;
            // An endless one stays endless.
            if start.size != u64::MAX {
                start.size -= bytes;
            }
        }
    }

    /// True if it neither contains nor expects anything, so that only wake-ups without work are left.
    pub fn rests(&self) -> bool {
        self.flows.iter().all(|f| f.rests(&self.c))
            && self.feedback.front().is_none()
            && self.is_calm()
            && self.drain.as_ref().is_none_or(|d| d.is_empty())
            && self.port.rests()
    }

    /// Every flow that it has received is complete, as its source knows: state kept for a repetition is removed.
    pub fn drop_complete_flows(&mut self) {
        self.receiving.clear();
        self.ahead.clear();
        self.sinks.clear();
    }

    /// Flows with received bytes that are kept for a repetition.
    pub fn received(&self) -> impl Iterator<Item = u32> {
        self.receiving.keys().copied()
    }

    /// Removes the received data of flows for which `over` is true, because no repetition can arrive.
    pub fn drop_received(&mut self, over: impl Fn(u32) -> bool) {
        self.receiving.retain(|&flow, _| !over(flow));
        self.ahead.retain(|&flow, _| !over(flow));
        self.sinks.retain(|&flow, _| !over(flow));
    }

    /// True if the peer's flow control pauses single flows.
    pub fn is_held_by_flow(&self) -> bool {
        self.per_flow
    }

    /// Largest payload of a frame [bytes].
    pub fn payload_max(&self) -> u32 {
        self.c.payload_max
    }
}

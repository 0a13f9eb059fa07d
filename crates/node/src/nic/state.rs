//! State of a NIC ([`xoff_units::state`]).

use xoff_mech::transport::{Received as Data, Transport};
use xoff_units::state::{Broken, Meaning, Reader, State, Value, Walk};
use xoff_units::{FlowId, Time};

use super::nic_port::PortSet;
use super::receiving::Receiving;
use super::senders::Senders;
use super::sending::Sending;
use super::{FlowStart, Nic};

/// The receiving side of a flow as far as anything depends on it.
#[derive(State)]
struct Received {
    #[state(flow)]
    flow: FlowId,
    #[state(sequence)]
    expected: u64,
    np: xoff_mech::rate_control::NotificationPoint,
    #[state(deadline)]
    nack_after: Time,
    /// The gap that is known begins here.
    nacked: bool,
    /// Position of the next byte in its chunk, if acknowledgements are per chunk.
    in_chunk: Option<u64>,
}

/// A queue pair: state that its next message inherits in addition to the rate control, which is
/// that of a flow.
#[derive(State)]
struct Pair {
    number: u32,
    #[state(slot)]
    latest: u32,
    #[state(deadline)]
    available: Time,
    /// Bytes of the messages before the latest one, if the rate control counts them.
    before: Option<u64>,
}

impl Received {
    fn of(flow: FlowId, r: &Receiving, transport: &Transport) -> Received {
        let Receiving { data: Data { expected, nack_after, nacked }, np } = *r;
        let in_chunk = transport.facts().chunk.map(|chunk| expected % chunk);
        Received { flow, expected, np, nack_after, nacked: nacked == expected, in_chunk }
    }
}

impl Nic {
    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        // The configuration does not change, and slots are where flows are.
        let Nic {
            c,
            node: _,
            next_port,
            flows,
            ports,
            slots: _,
            receiving,
            ahead,
            sinks,
            clocked,
            queue_pairs,
            at_work: _,
            complete: _, // a run that clears flows is not looked at
        } = self;
        if sinks.values().any(|s| !s.rests()) {
            w.refuse("acknowledgements that wait")?;
        }
        if !clocked.is_empty() {
            w.refuse("clocks of CNPs")?;
        }
        if !ahead.is_empty() {
            w.refuse("frames ahead of a missing one")?;
        }
        // The latest message of a queue pair keeps its rate control for the next one.
        let lives = |f: &Sending| !f.rests(c) || f.pair.is_some() && f.rate_control.is_some();
        let live: Vec<(u32, &Sending)> = flows.places().filter(|(_, f)| lives(f)).collect();
        w.structure("Nic");
        next_port.walk(w)?;
        (!live.is_empty()).walk(w)?;
        for p in ports.iter() {
            p.port.walk(w)?;
            // Without a flow there is no turn: the next one is the first, whatever came before.
            if !live.is_empty() {
                p.round_robin.walk(w)?;
            }
            p.walk_rest(w)?;
        }
        live.len().walk(w)?;
        for (place, flow) in live {
            w.number(Meaning::Slot, u64::from(place))?;
            flow.walk(w)?;
            // First byte not acknowledged, where there are acknowledgements.
            let acked = c.transport.acknowledges() || flow.window.is_some();
            acked.walk(w)?;
            if acked {
                w.number(Meaning::Sequence, flow.acked)?;
            }
        }
        let counted = c.rate_control.wants_acks();
        let pair = |(&number, &latest): (&u32, &u32)| Pair {
            number,
            latest,
            available: flows[latest as usize].available,
            before: counted.then(|| self.in_pair(latest).0),
        };
        let mut pairs: Vec<Pair> = queue_pairs.iter().map(pair).collect();
        pairs.sort_unstable_by_key(|p| p.number);
        pairs.walk(w)?;
        let mut received: Vec<Received> =
            receiving.iter().map(|(&flow, r)| Received::of(flow, r, &c.transport)).collect();
        received.sort_unstable_by_key(|r| r.flow);
        received.walk(w)
    }
}

/// Its flows began after it was built, so each is created as at its start, then restored.
impl State for Nic {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        if W::COMPARES {
            return self.compare(w);
        }
        #[rustfmt::skip]
        let Nic {
            c: _, node: _, // constants
            next_port, flows, ports, slots, receiving, ahead, sinks, clocked, queue_pairs, at_work,
            complete,
        } = self;
        next_port.walk(w)?;
        let sending = |flow: &Sending, w: &mut W| {
            flow.start.walk(w)?;
            flow.ports.walk(w)?;
            flow.walk(w)
        };
        let Senders { from, all, others, look } = flows;
        (*from, *look, others.len()).walk(w)?;
        for (place, flow) in others {
            place.walk(w)?;
            sending(flow, w)?;
        }
        all.len().walk(w)?;
        all.iter().try_for_each(|flow| sending(flow, w))?;
        ports.iter().try_for_each(|p| p.walk(w))?;
        slots.walk(w)?;
        receiving.walk(w)?;
        ahead.walk(w)?;
        sinks.walk(w)?;
        clocked.walk(w)?;
        queue_pairs.walk(w)?;
        at_work.walk(w)?;
        complete.walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        self.next_port.restore(from)?;
        let sending = |nic: &Nic, from: &mut Reader| -> Result<Sending, Broken> {
            let (start, ports) = (FlowStart::read(from)?, PortSet::read(from)?);
            // Random draws of its rate control at its start are part of the restored state.
            let facts = nic.facts(&start, ports, 0);
            let mut flow = Sending::new(start, ports, Time::ZERO, &facts, &nic.c);
            flow.restore(from)?;
            Ok(flow)
        };
        let mut flows = Senders::default();
        let others: usize;
        (flows.from, flows.look, others) = from.take()?;
        for _ in 0..others {
            let place = from.take()?;
            flows.others.insert(place, sending(self, from)?);
        }
        for _ in 0..from.count()? {
            flows.push(sending(self, from)?);
        }
        self.flows = flows;
        #[rustfmt::skip]
        let Nic {
            ports, slots, receiving, ahead, sinks, clocked, queue_pairs, at_work, complete, ..
        } = self;
        ports.iter_mut().try_for_each(|p| p.restore(from))?;
        slots.restore(from)?;
        receiving.restore(from)?;
        ahead.restore(from)?;
        sinks.restore(from)?;
        clocked.restore(from)?;
        queue_pairs.restore(from)?;
        at_work.restore(from)?;
        complete.restore(from)
    }
}

/// A flow that a NIC sends, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of the flow.
    pub flow: FlowId,
    /// Payload that has not been sent [bytes].
    pub bytes: u64,
}

impl Nic {
    /// The flows that have something left to send.
    pub fn left(&self) -> impl Iterator<Item = Left> {
        self.flows
            .iter()
            .map(|f| Left { flow: f.start.flow, bytes: f.left() })
            .filter(|l| l.bytes > 0)
    }

    /// Removes bytes from the rest of a flow, as if they had been sent and delivered.
    pub fn shorten(&mut self, flow: FlowId, bytes: u64) {
        if let Some(&slot) = self.slots.get(&flow) {
            let start = &mut self.flows[slot as usize].start;
            // An endless one stays endless.
            if start.size != u64::MAX {
                start.size -= bytes;
            }
            self.ask_again(slot);
        }
    }

    /// True if it neither contains nor expects anything, so that only wake-ups without work are
    /// left.
    pub fn rests(&self) -> bool {
        self.flows.iter().all(|f| f.rests(&self.c))
            && self.ports.iter().all(|p| {
                p.feedback.front().is_none()
                    && p.is_calm()
                    && p.drain.as_ref().is_none_or(|d| d.is_empty())
                    && p.port.rests()
            })
    }

    /// Every flow that it has received is complete, as its source knows: state kept for a
    /// repetition is removed.
    pub fn drop_complete_flows(&mut self) {
        self.receiving.clear();
        self.ahead.clear();
        self.sinks.clear();
        self.clocked.clear();
    }

    /// Flows with received bytes that are kept for a repetition.
    pub fn received(&self) -> impl Iterator<Item = FlowId> {
        self.receiving.keys().copied()
    }

    /// Removes the received data of flows for which `over` is true, because no repetition can
    /// arrive.
    pub fn drop_received(&mut self, over: impl Fn(FlowId) -> bool) {
        self.receiving.retain(|&flow, _| !over(flow));
        self.ahead.retain(|&flow, _| !over(flow));
        self.sinks.retain(|&flow, _| !over(flow));
        self.clocked.retain(|&flow, _| !over(flow));
    }

    /// True if the peer's flow control pauses single flows.
    pub fn is_held_by_flow(&self) -> bool {
        self.ports.iter().any(|p| p.per_flow)
    }

    /// Largest payload of a frame [bytes].
    pub fn payload_max(&self) -> u32 {
        self.c.payload_max
    }
}

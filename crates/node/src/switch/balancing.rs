//! Choice among several next hops: work of a switch that balances load.
//!
//! A law may hold frames at the leaf of their destination. A held frame is in the memory of its
//! ingress, and in no egress queue before its release.

use std::collections::BTreeMap;

use xoff_mech::balancing::{
    AnyBalancer, Arrival, Balancer, Departure, Header, Landing, NextHops, Verdict,
};
use xoff_mech::flow_control::Gate;
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, NodeId, PortId, Rate, Time};

use super::Switch;
use crate::buffer::Passage;
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameList, FrameStore};
use crate::port::Port;

/// The load balancer of a switch.
#[derive(State)]
pub(super) struct Balancing {
    law: AnyBalancer,
    /// Frames between leaves have headers.
    #[state(built)]
    adds_headers: bool,
    /// Ports of the next hops of the frame at hand.
    #[state(built)]
    ports: Vec<u16>,
    /// Held frames of each flow.
    held: BTreeMap<FlowId, FrameList>,
    /// Bytes of all held frames.
    held_bytes: u64,
    /// The next release that was requested; never: none.
    #[state(saved)] // when it has to act is in the state of the law
    wake: Time,
}

impl Balancing {
    /// With this law.
    pub fn new(law: AnyBalancer, adds_headers: bool) -> Box<Balancing> {
        Box::new(Balancing {
            law,
            adds_headers,
            ports: Vec::new(),
            held: BTreeMap::new(),
            held_bytes: 0,
            wake: Time::NEVER,
        })
    }

    /// Bytes of held frames.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Held frames.
    pub fn held<'a>(&'a self, frames: &'a FrameStore) -> impl Iterator<Item = &'a Frame> {
        self.held.values().flat_map(|list| list.iter(frames))
    }
}

/// The next hops of a frame at a switch.
struct Seen<'s, E> {
    switch: &'s [Port],
    node: NodeId,
    ports: &'s [u16],
    id: FrameId,
    frame: &'s Frame,
    entropy: u16,
    now: Time,
    env: &'s mut E,
}

impl<E: Env> NextHops for Seen<'_, E> {
    fn count(&self) -> usize {
        self.ports.len()
    }
    fn waiting(&self, hop: usize) -> Bytes {
        let port = &self.switch[usize::from(self.ports[hop])];
        Bytes(port.class_state(self.frame.class()).egress.bytes())
    }
    fn is_held(&self, hop: usize) -> bool {
        let port = &self.switch[usize::from(self.ports[hop])];
        port.would_open(self.now, self.frame.class(), self.frame.len()) == Gate::Blocked
    }
    fn port(&self, hop: usize) -> u16 {
        self.ports[hop]
    }
    fn rate(&self, hop: usize) -> Rate {
        self.switch[usize::from(self.ports[hop])].rate
    }
    fn capacity(&mut self, hop: usize) -> Rate {
        self.env.capacity(PortId { node: self.node, port: self.ports[hop] }, self.frame)
    }
    fn hashed(&mut self, n: u64) -> u64 {
        self.env.hashed(self.node, self.frame, self.entropy, n)
    }
    fn draw(&mut self) -> f64 {
        self.env.draw_for_balancing(self.node)
    }
    fn header(&mut self) -> &mut Header {
        self.env.frames().header_mut(self.id)
    }
}

impl Switch {
    /// The clock of held frames.
    pub(super) const RELEASE: u8 = 1;

    /// Egress port of a frame that has come in, by the switch's load balancer, which reads its
    /// header; `None`: the switch has taken the frame.
    #[inline(never)] // most switches have none
    pub(super) fn balanced(
        &mut self,
        port: u16,
        id: FrameId,
        env: &mut impl Env,
    ) -> Option<Option<u16>> {
        let now = env.now();
        let frame = env.frames()[id];
        let kind = frame.kind();
        let ends = self.ends_of(&frame, env);
        let Some(balancing) = &mut self.balancing else {
            return Some(env.route(self.node, &frame));
        };
        let Balancing { law, ports, .. } = &mut **balancing;
        let to_leaf = match ends {
            Some(Ends { from, to }) if to == self.node => {
                if kind == FrameKind::Reply {
                    law.on_reply(now, frame.flow, from, frame.seq);
                    env.discard(id);
                    return None;
                }
                let landing = Landing {
                    now,
                    flow: frame.flow,
                    from_leaf: from,
                    is_data: kind == FrameKind::Data,
                    mark: frame.mark(),
                };
                let verdict = law.on_header(&landing, env.frames().header_mut(id));
                if let Some(out) = self.lands(port, id, verdict, env) {
                    return Some(out);
                }
                return None;
            }
            Some(Ends { from, to }) => (from == self.node).then_some(to),
            // A reply about a flow that the network has forgotten.
            None if kind == FrameKind::Reply => {
                env.discard(id);
                return None;
            }
            None => None,
        };
        if kind != FrameKind::Data {
            return Some(env.route(self.node, &frame));
        }
        let set = env.next_hops(self.node, &frame, ports);
        if ports.is_empty() || ports.len() == 1 && to_leaf.is_none() {
            return Some(ports.first().copied());
        }
        let arrival = Arrival { now, flow: frame.flow, len: frame.bytes(), set, to_leaf };
        let entropy = env.frames().entropy(id);
        let (node, switch, frame) = (self.node, &self.ports[..], &frame);
        let mut hops = Seen { switch, node, ports, id, frame, entropy, now, env };
        let several = ports.len() > 1;
        let port = ports[law.pick(&arrival, &mut hops)];
        if frame.hops() == 0 && several {
            let (flow, len) = (frame.flow, frame.len());
            env.emit(self.node, NodeEvent::Balanced { flow, port, len });
        }
        Some(Some(port))
    }

    /// Egress port of a frame at the leaf of its destination; `None`: the leaf holds the frame.
    fn lands(
        &mut self,
        port: u16,
        id: FrameId,
        verdict: Verdict,
        env: &mut impl Env,
    ) -> Option<Option<u16>> {
        let now = env.now();
        let frame = env.frames()[id];
        verdict.replies.into_iter().flatten().for_each(|content| {
            self.reply(frame.flow, content, env);
        });
        let out = env.route(self.node, &frame);
        if let (true, Some(out)) = (verdict.hold, out) {
            let at = Passage { now, port, out, class: frame.class() };
            if let Some(occupancy) = self.store(at, &frame, id, env)
                && let Some(b) = &mut self.balancing
            {
                b.held.entry(frame.flow).or_default().push(id, env.frames());
                b.held_bytes += frame.bytes().0;
                self.note_queue(port, out, frame.class(), &occupancy, env);
            }
        }
        self.plan_release(env);
        (!verdict.hold || out.is_none()).then_some(out)
    }

    /// Sends a reply to the first leaf of a flow. After a failure there may be no route.
    fn reply(&mut self, flow: FlowId, content: u64, env: &mut impl Env) {
        let Some(class) = self.unpaused else { return };
        let frame = Frame::reply(flow, class, content);
        let Some(out) = env.route(self.node, &frame) else { return };
        let id = env.frames().insert(frame);
        self.ports[usize::from(out)].send_unpaused(id, env);
        self.plan_next(out, env);
    }

    /// Requests the next release, unless an earlier one is due.
    fn plan_release(&mut self, env: &mut impl Env) {
        let Some(b) = &mut self.balancing else { return };
        let due = b.law.due();
        if due < b.wake {
            b.wake = due;
            env.call_at(self.node, due, Call::Clock { which: Self::RELEASE });
        }
    }

    /// Held frames whose time has come join their egress queues. Returns whether there were any.
    pub(super) fn release_held(&mut self, env: &mut impl Env) -> bool {
        let now = env.now();
        let mut any = false;
        while let Some(b) = &mut self.balancing
            && let Some(flow) = b.law.release(now)
        {
            let mut held = b.held.remove(&flow).unwrap_or_default();
            while let Some(id) = held.pop(env.frames()) {
                any = true;
                let frame = env.frames()[id];
                if let Some(b) = &mut self.balancing {
                    b.held_bytes -= frame.bytes().0;
                }
                self.enqueue(frame.out_port, id, env);
            }
        }
        if let Some(b) = &mut self.balancing {
            b.wake = Time::NEVER;
        }
        self.plan_release(env);
        any
    }

    /// A frame in the memory joins its egress queue.
    fn enqueue(&mut self, out: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let (in_port, class) = (env.frames()[id].in_port, env.frames()[id].class());
        let class_state = self.ports[usize::from(out)].class_state_mut(class);
        let candidate = self.queues.push_in(now, class_state, id, env.frames());
        self.note_queue(in_port, out, class, &self.occupancy(in_port, class), env);
        if candidate {
            self.try_send(out, env);
        }
    }

    /// The header of a frame that leaves through a port, if it has one.
    pub(super) fn write_header(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let frame = env.frames()[id];
        let Some(Ends { from, to }) = self.ends_of(&frame, env) else { return };
        let Some(balancing) = self.balancing.as_mut().filter(|_| to != self.node) else { return };
        let to_leaf = (from == self.node).then_some(to);
        let rate = self.ports[usize::from(port)].rate;
        let departure = Departure { now, port, rate, len: frame.bytes(), to_leaf };
        balancing.law.on_departure(&departure, env.frames().header_mut(id));
    }

    /// The leaves between which a frame has a header, or is a reply. Other unpaused frames have no
    /// header: they go before the others, and switches send some themselves.
    fn ends_of(&self, frame: &Frame, env: &mut impl Env) -> Option<Ends> {
        let has = self.balancing.as_ref().is_some_and(|b| b.adds_headers)
            && (self.unpaused != Some(frame.class()) || frame.kind() == FrameKind::Reply);
        let [from, to] = has.then(|| env.leaves(frame))??;
        (from != to).then_some(Ends { from, to })
    }
}

/// The leaves of the hosts that a frame comes from and goes to.
struct Ends {
    from: NodeId,
    to: NodeId,
}

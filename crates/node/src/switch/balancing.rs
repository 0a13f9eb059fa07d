//! Choice among several next hops: work of a switch that balances load.

use xoff_mech::balancing::{AnyBalancer, Arrival, Balancer, Departure, NextHops};
use xoff_mech::flow_control::Gate;
use xoff_units::state::State;
use xoff_units::{Bytes, NodeId, PortId, Rate, Time};

use super::Switch;
use crate::env::{Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind};
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
}

impl Balancing {
    /// With this law.
    pub fn new(law: AnyBalancer, adds_headers: bool) -> Box<Balancing> {
        Box::new(Balancing { law, adds_headers, ports: Vec::new() })
    }
}

/// The next hops of a frame at a switch.
struct Seen<'s, E> {
    switch: &'s [Port],
    node: NodeId,
    ports: &'s [u16],
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
}

impl Switch {
    /// Egress port of a frame that has come in, by the switch's load balancer, which reads its
    /// header.
    #[inline(never)] // most switches have none
    pub(super) fn balanced(&mut self, now: Time, id: FrameId, env: &mut impl Env) -> Option<u16> {
        let frame = env.frames()[id];
        let ends = self.ends_of(&frame, env);
        let Some(balancing) = &mut self.balancing else { return env.route(self.node, &frame) };
        let Balancing { law, ports, .. } = &mut **balancing;
        let to_leaf = match ends {
            Some(Ends { from, to }) if to == self.node => {
                law.on_header(now, from, env.frames().header_mut(id));
                None
            }
            Some(Ends { from, to }) => (from == self.node).then_some(to),
            None => None,
        };
        if frame.kind() != FrameKind::Data {
            return env.route(self.node, &frame);
        }
        let set = env.next_hops(self.node, &frame, ports);
        if ports.len() < 2 {
            return ports.first().copied();
        }
        let arrival = Arrival { now, flow: frame.flow, len: frame.bytes(), set, to_leaf };
        let entropy = env.frames().entropy(id);
        let mut hops =
            Seen { switch: &self.ports, node: self.node, ports, frame: &frame, entropy, now, env };
        let port = ports[law.pick(&arrival, &mut hops)];
        if frame.hops() == 0 {
            let (flow, len) = (frame.flow, frame.len());
            env.emit(self.node, now, NodeEvent::Balanced { flow, port, len });
        }
        Some(port)
    }

    /// The header of a frame that leaves through a port, if it has one.
    pub(super) fn write_header(&mut self, now: Time, port: u16, id: FrameId, env: &mut impl Env) {
        let frame = env.frames()[id];
        let Some(Ends { from, to }) = self.ends_of(&frame, env) else { return };
        let Some(balancing) = self.balancing.as_mut().filter(|_| to != self.node) else { return };
        let to_leaf = (from == self.node).then_some(to);
        let rate = self.ports[usize::from(port)].rate;
        let departure = Departure { now, port, rate, len: frame.bytes(), to_leaf };
        balancing.law.on_departure(&departure, env.frames().header_mut(id));
    }

    /// The leaves between which a frame has a header. Unpaused frames have none: they go before
    /// the others, and switches send some themselves.
    fn ends_of(&self, frame: &Frame, env: &mut impl Env) -> Option<Ends> {
        let has = self.balancing.as_ref().is_some_and(|b| b.adds_headers)
            && self.unpaused != Some(frame.class());
        let [from, to] = has.then(|| env.leaves(frame))??;
        (from != to).then_some(Ends { from, to })
    }
}

/// The leaves of the hosts that a frame comes from and goes to.
struct Ends {
    from: NodeId,
    to: NodeId,
}

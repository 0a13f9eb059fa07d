//! Choice among several next hops: work of a switch that balances load.

use xoff_mech::balancing::{AnyBalancer, Arrival, Balancer, NextHops};
use xoff_mech::flow_control::Gate;
use xoff_units::state::State;
use xoff_units::{Bytes, PortId, Rate, Time};

use super::Switch;
use crate::env::Env;
use crate::frame::{Frame, FrameKind};
use crate::port::Port;

/// The load balancer of a switch.
#[derive(State)]
pub(super) struct Balancing {
    law: AnyBalancer,
    /// Ports of the next hops of the frame at hand.
    #[state(built)]
    ports: Vec<u16>,
}

impl Balancing {
    /// With this law.
    pub fn new(law: AnyBalancer) -> Box<Balancing> {
        Box::new(Balancing { law, ports: Vec::new() })
    }
}

/// The next hops of a frame at a switch.
struct Seen<'s, E> {
    switch: &'s [Port],
    node: u32,
    ports: &'s [u16],
    frame: &'s Frame,
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
    fn capacity(&mut self, hop: usize) -> Rate {
        self.env.capacity(PortId { node: self.node, port: self.ports[hop] }, self.frame)
    }
    fn hashed(&mut self, n: u64) -> u64 {
        self.env.hashed(self.node, self.frame, n)
    }
    fn draw(&mut self) -> f64 {
        self.env.draw_for_balancing(self.node)
    }
}

impl Switch {
    /// Egress port of a frame, by the switch's load balancer.
    #[inline(never)] // most switches have none
    pub(super) fn balanced(&mut self, now: Time, frame: &Frame, env: &mut impl Env) -> Option<u16> {
        let balancing = match &mut self.balancing {
            Some(balancing) if frame.kind() == FrameKind::Data => balancing,
            _ => return env.route(self.node, frame),
        };
        let Balancing { law, ports } = &mut **balancing;
        let set = env.next_hops(self.node, frame, ports);
        if ports.len() < 2 {
            return ports.first().copied();
        }
        let arrival = Arrival { now, flow: frame.flow, len: frame.bytes(), set };
        let mut hops = Seen { switch: &self.ports, node: self.node, ports, frame, now, env };
        let hop = law.pick(&arrival, &mut hops);
        Some(ports[hop])
    }
}

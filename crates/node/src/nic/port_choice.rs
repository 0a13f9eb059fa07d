//! The ports through which a flow leaves a NIC that has several.

use xoff_units::{Class, Rate};

use super::nic_port::PortSet;
use super::sending::Sending;
use super::{FlowStart, Nic};
use crate::env::Env;
use crate::frame::{Frame, FrameKind};

/// Choice among the ports that lead to the destination of a flow. Only those on a shortest path
/// count: towards a GPU of the same rack that is the scale-up network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortChoice {
    /// One port, by the hash of the flow.
    #[default]
    Hash,
    /// One port: that with the fewest bytes of flows that are not sent yet, each port by its rate.
    LeastLoaded,
    /// One port: the next one with each flow, from that of the host's number on.
    RoundRobin,
    /// One port, by the number of the destination: all flows to a host leave by the same port.
    Destination,
    /// One port, by the rail of the source: all flows of a rank leave by the same port.
    Rail,
    /// All ports: each frame leaves by the port that is free first.
    Spray,
}

impl Nic {
    /// Ports that lead to the destination of a flow.
    fn leading_ports(&self, start: &FlowStart, env: &mut impl Env) -> Vec<u16> {
        let frame = Frame::new(FrameKind::Data, start.flow, start.class, self.c.header);
        let mut ports = Vec::new();
        env.next_hops(self.node, &frame, &mut ports);
        ports.retain(|&p| p < self.ports.len() && !self.ports[p].port.failed());
        ports
    }

    /// Ports of a flow that begins.
    pub(super) fn choose_ports(&mut self, start: &FlowStart, env: &mut impl Env) -> PortSet {
        if self.ports.is_single() {
            return PortSet::FIRST;
        }
        let ports = self.leading_ports(start, env);
        self.choose_among(&ports, start, env)
    }

    #[cold]
    fn choose_among(&mut self, ports: &[u16], start: &FlowStart, env: &mut impl Env) -> PortSet {
        let n = ports.len();
        if n <= 1 {
            return ports.first().map_or(PortSet::FIRST, |&p| PortSet::of([p]));
        }
        let at = match self.c.port_choice {
            PortChoice::Spray => return PortSet::of(ports.iter().copied()),
            PortChoice::Hash => {
                let frame = Frame::new(FrameKind::Data, start.flow, start.class, self.c.header);
                env.hashed(self.node, &frame, 0, n as u64) as usize
            }
            PortChoice::Destination => start.dst.index() % n,
            PortChoice::Rail => start.rail as usize % n,
            PortChoice::RoundRobin => {
                self.next_port = self.next_port.wrapping_add(1);
                self.node.0.wrapping_add(self.next_port).wrapping_sub(1) as usize % n
            }
            PortChoice::LeastLoaded => {
                (0..n).min_by_key(|&at| self.load(ports[at])).unwrap_or_default()
            }
        };
        PortSet::of([ports[at]])
    }

    /// Time that the port needs for the bytes of its flows that are not sent yet [ps].
    fn load(&self, port: u16) -> u128 {
        let p = &self.ports[port];
        let left = |slot: &u32| u128::from(self.flows[*slot as usize].left());
        let of_class = |class| p.round_robin.of_class(class).iter().map(left).sum::<u128>();
        let bytes: u128 = Class::up_to(self.c.classes).map(of_class).sum();
        bytes * 8_000_000_000_000 / u128::from(p.line.0.max(1))
    }

    /// Rate of all these ports together.
    pub(super) fn line_of(&self, ports: PortSet) -> Rate {
        if self.ports.is_single() {
            return self.ports[0].line;
        }
        Rate(ports.iter().map(|p| self.ports[p].line.0).sum())
    }

    /// A link of the network has failed. Flows whose ports no longer lead to their destination
    /// leave by others, if there are any.
    pub fn on_routes_changed(&mut self, env: &mut impl Env) {
        if self.ports.is_single() {
            return;
        }
        // The next message of a queue pair takes the ports of the latest one, which may be over.
        let over = |f: &Sending| f.finished(&self.c) && f.left() == 0;
        let is_latest = |f: &Sending| f.pair.as_ref().is_some_and(|p| !p.is_passed());
        let moving: Vec<(u32, FlowStart, PortSet, bool)> = self
            .flows
            .places()
            .filter(|(_, f)| !over(f) || is_latest(f))
            .map(|(slot, f)| (slot, f.start, f.ports, over(f)))
            .collect();
        for (slot, start, old, over) in moving {
            let leading = self.leading_ports(&start, env);
            let all = PortSet::of(leading.iter().copied());
            let stays = match self.c.port_choice {
                PortChoice::Spray => old == all,
                _ => old.meets(all),
            };
            if stays || leading.is_empty() {
                continue;
            }
            let new = self.choose_among(&leading, &start, env);
            let f = &mut self.flows[slot as usize];
            f.ports = new;
            if over || f.pair.as_ref().is_some_and(|p| p.waits()) {
                continue;
            }
            let slept = std::mem::take(&mut f.asleep);
            for p in old.iter() {
                let p = &mut self.ports[p];
                if slept {
                    p.wakes(start.class, slot);
                }
                p.leaves(start.class, slot, start.flow);
            }
            self.takes_turns(slot);
            self.try_send_flow(slot, env);
        }
    }
}

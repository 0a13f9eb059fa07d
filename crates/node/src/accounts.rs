//! Memory of a switch that more than single ingresses account for: pools, or a buffer of each port
//! that its classes share.

use xoff_mech::flow_control::Occupancy;
use xoff_units::state::State;
use xoff_units::{Bytes, Class};

use crate::buffer::{Ingress, Passage};
use crate::pools::{PoolUse, Pools};

/// The accounts of a switch.
#[derive(Clone, Debug, PartialEq, Eq, State)]
#[state(in_place)]
pub(crate) enum Accounts {
    /// Pools on which groups and queues draw.
    Pools(Pools),
    /// A buffer of each ingress port.
    Ports(Ports),
}

/// Fill of the ports.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub(crate) struct Ports {
    #[state(built)] // constant
    capacity: u64,
    held: Vec<u64>,
}

impl Ports {
    fn occupancy(&self, i: &Ingress) -> Occupancy {
        Occupancy {
            bytes: Bytes(i.bytes),
            shared: Bytes(i.bytes),
            headroom: Bytes::ZERO,
            limit: Bytes(self.capacity),
        }
    }
}

impl Accounts {
    /// A buffer of this size for each port.
    pub fn ports(capacity: Bytes, ports: usize) -> Accounts {
        Accounts::Ports(Ports { capacity: capacity.0, held: vec![0; ports] })
    }

    /// Stores a frame, or rejects it. Returns the receiver's view afterwards.
    pub fn admit(&mut self, i: &mut Ingress, at: &Passage, len: u64) -> Option<Occupancy> {
        match self {
            Accounts::Pools(pools) => pools.admit(i, at, len),
            Accounts::Ports(ports) => {
                let held = &mut ports.held[at.port as usize];
                if *held + len > ports.capacity {
                    return None;
                }
                *held += len;
                i.bytes += len;
                i.highest = i.highest.max(i.bytes);
                Some(ports.occupancy(i))
            }
        }
    }

    /// Removes a frame. Returns the receiver's view afterwards.
    pub fn release(&mut self, i: &mut Ingress, at: &Passage, len: u64) -> Occupancy {
        match self {
            Accounts::Pools(pools) => pools.release(i, at, len),
            Accounts::Ports(ports) => {
                ports.held[at.port as usize] -= len;
                i.bytes -= len;
                ports.occupancy(i)
            }
        }
    }

    /// True if the egress queue rejected the frame.
    pub fn queue_is_full(&self, at: &Passage, len: u64) -> bool {
        matches!(self, Accounts::Pools(pools) if pools.queue_is_full(at, len))
    }

    /// Occupancy of an ingress, as a receiver sees it.
    pub fn occupancy(&self, i: &Ingress, port: u16, class: Class) -> Occupancy {
        match self {
            Accounts::Pools(pools) => pools.occupancy(i, port, class),
            Accounts::Ports(ports) => ports.occupancy(i),
        }
    }

    /// The most that was held in each pool.
    pub fn uses(&self) -> Vec<PoolUse> {
        match self {
            Accounts::Pools(pools) => pools.uses(),
            Accounts::Ports(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, BufferPolicy};
    use xoff_units::Time;

    #[test]
    fn the_classes_of_a_port_share_its_buffer() {
        let policy = BufferPolicy::PerPort(Bytes(3000));
        let mut b = Buffer::new(&policy, 2, false);
        let mut of = [policy.ingress(0, false); 3];
        let at = |port, class| move || Passage { now: Time::ZERO, port, out: 0, class };
        assert!(
            b.admit(&mut of[0], at(0, Class(0)), 1500).is_some()
                && b.admit(&mut of[1], at(0, Class(1)), 1500).is_some()
        );
        assert!(b.admit(&mut of[0], at(0, Class(0)), 1).is_none(), "the other class has the rest");
        assert!(b.admit(&mut of[2], at(1, Class(0)), 3000).is_some(), "another port has its own");
        assert_eq!(
            (b.release(&mut of[1], at(0, Class(1)), 1500).bytes, b.held()),
            (Bytes::ZERO, Bytes(4500))
        );
        assert_eq!(b.admit(&mut of[0], at(0, Class(0)), 1500).map(|o| o.bytes), Some(Bytes(3000)));
        assert_eq!([of[0].highest(), of[1].highest()], [3000, 1500]);
    }
}

//! Places in a network: a port of a node, and a class of a port.

use crate::state::State;

/// Port of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct PortId {
    /// Number of the node.
    pub node: u32,
    /// Number of the port at its node, from 0.
    pub port: u16,
}

impl PortId {
    /// Place of a class of the port.
    #[inline]
    pub fn class(self, class: u8) -> At {
        let PortId { node, port } = self;
        At { node, port, class }
    }
}

impl From<(u32, u16)> for PortId {
    fn from((node, port): (u32, u16)) -> PortId {
        PortId { node, port }
    }
}

impl From<PortId> for (u32, u16) {
    fn from(PortId { node, port }: PortId) -> (u32, u16) {
        (node, port)
    }
}

/// Class of a port: an egress queue, or the part of an ingress buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct At {
    /// Number of the node.
    pub node: u32,
    /// Number of the port at its node, from 0.
    pub port: u16,
    /// Number of the class, from 0.
    pub class: u8,
}

impl At {
    /// Port of the class.
    #[inline]
    pub fn port_id(self) -> PortId {
        let At { node, port, .. } = self;
        PortId { node, port }
    }
}

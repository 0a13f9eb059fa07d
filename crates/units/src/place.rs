//! Names in a network: a flow; a port of a node, and a class of a port.

use std::fmt;
use std::ops::Add;

use crate::state::State;

/// Makes types for numbers of one kind, so that no other number takes their place.
macro_rules! ids {
    ($($(#[doc = $about:literal])+ $Id:ident($number:ty);)+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
        #[repr(transparent)]
        pub struct $Id(pub $number);

        impl $Id {
            /// Place in a list of all of them.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        /// The one so many numbers later.
        impl Add<$number> for $Id {
            type Output = $Id;
            #[inline]
            fn add(self, n: $number) -> $Id {
                $Id(self.0 + n)
            }
        }

        impl From<$Id> for u64 {
            #[inline]
            fn from(id: $Id) -> u64 {
                id.0.into()
            }
        }

        impl fmt::Display for $Id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// Number of a flow.
    FlowId(u32);
    /// Number of a node; hosts and switches share one numbering.
    NodeId(u32);
    /// Number of a class of a port, from 0: a priority in use. No priority of the wire; several classes
    /// stand in the order of their priorities.
    Class(u8);
}

impl Class {
    /// The first `n` classes, which are all of a network of `n`; at most 8.
    pub fn up_to(n: usize) -> impl DoubleEndedIterator<Item = Class> {
        (0..n as u8).map(Class)
    }
}

/// Port of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct PortId {
    /// Number of the node.
    pub node: NodeId,
    /// Number of the port at its node, from 0.
    pub port: u16,
}

impl PortId {
    /// Place of a class of the port.
    #[inline]
    pub fn class(self, class: Class) -> At {
        let PortId { node, port } = self;
        At { node, port, class }
    }
}

impl From<(NodeId, u16)> for PortId {
    fn from((node, port): (NodeId, u16)) -> PortId {
        PortId { node, port }
    }
}

impl From<PortId> for (NodeId, u16) {
    fn from(PortId { node, port }: PortId) -> (NodeId, u16) {
        (node, port)
    }
}

/// Class of a port: an egress queue, or the part of an ingress buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct At {
    /// Number of the node.
    pub node: NodeId,
    /// Number of the port at its node, from 0.
    pub port: u16,
    /// Number of the class, from 0.
    pub class: Class,
}

impl At {
    /// Port of the class.
    #[inline]
    pub fn port_id(self) -> PortId {
        let At { node, port, .. } = self;
        PortId { node, port }
    }
}

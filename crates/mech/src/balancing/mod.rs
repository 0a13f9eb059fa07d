//! Load balancing: which of several equal next hops a frame takes.
//!
//! ```text
//!   frame in -> next hops of its destination -> Balancer::pick -> egress queue
//!                 one: no choice               by what this switch knows: its queues, pauses, the time, earlier choices
//! ```
//!
//! A switch has one balancer. It chooses for frames of data; acknowledgements and notifications
//! keep the path of their hash, as in the simulator of ConWeave (SIGCOMM 2023). Without a balancer
//! a flow keeps the path of its hash (ECMP), which the environment caches.
//!
//! A law with knowledge of other switches learns it from a [`Header`] of frames between leaves, the
//! switches of their hosts: the first leaf writes it, each switch may change it as the frame leaves,
//! and the last leaf reads it. The last leaf may hold a frame of data and release it later, and may
//! send replies to the first leaf.

pub mod adaptive;
pub mod conga;
pub mod conweave;
pub mod drill;
pub mod ecmp;
mod flow_table;
pub mod flowlet;
#[macro_use]
mod registry;
pub mod spray_random;
pub mod spray_round_robin;
pub mod wcmp;

/// The laws, one line each; nothing else lists them.
mod laws {
    use std::sync::Arc;

    use xoff_units::params::{ParamError, Values};
    use xoff_units::state::State;
    use xoff_units::{FlowId, NodeId, Time};

    use super::{Arrival, Balancer, Custom, Departure, Header, Landing, NextHops, Verdict};

    laws! {
        Wcmp(wcmp) "wcmp": "a flow keeps the path of its hash, next hops weighted by their capacity to the destination";
        Flowlet(flowlet) "flowlet": "after a gap in a flow its frames take a random next hop (LetFlow)";
        Drill(drill) "drill": "the shortest queue of some random next hops and the best of the previous choice";
        SprayRandom(spray_random) "spray-random": "every frame takes a random next hop";
        SprayRoundRobin(spray_round_robin) "spray-round-robin": "frames take the next hops one after the other";
        Adaptive(adaptive) "adaptive": "the shortest queue, at once or with hysteresis or a gap";
        Conga(conga) "conga": "after a gap in a flow its frames take the uplink with the least congested path (CONGA)";
        ConWeave(conweave) "conweave": "a flow on a slow path takes another one, and the last leaf puts its frames in order (ConWeave)";
    }
}

pub use laws::{AnyBalancer, Balancing, Entry, REGISTRY};

use std::fmt::Debug;

use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, NodeId, Rate, Time};

use crate::detection::Mark;
use flow_table::FlowTable;

/// A frame that has several next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Arrival of its last bit.
    pub now: Time,
    /// Number of its flow.
    pub flow: FlowId,
    /// Length on the wire.
    pub len: Bytes,
    /// Number of the set of its next hops: destinations with the same next hops share it.
    pub set: u32,
    /// At the leaf of its source, where frames have headers: number of the destination's leaf.
    pub to_leaf: Option<NodeId>,
}

/// A frame that leaves for another switch, where frames have headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Departure of its first bit.
    pub now: Time,
    /// Port.
    pub port: u16,
    /// Rate of the port.
    pub rate: Rate,
    /// Length on the wire.
    pub len: Bytes,
    /// At the leaf of its source: number of the destination's leaf.
    pub to_leaf: Option<NodeId>,
}

/// A frame with a header that reaches the leaf of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Arrival of its last bit.
    pub now: Time,
    /// Number of its flow.
    pub flow: FlowId,
    /// Number of the source's leaf.
    pub from_leaf: NodeId,
    /// True for data, false for an acknowledgement or a notification.
    pub is_data: bool,
    /// Mark of the frame.
    pub mark: Mark,
}

/// Treatment of a frame at the leaf of its destination; default: the frame continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The leaf keeps the frame until [`Balancer::release`]. Data only.
    pub hold: bool,
    /// Replies to the leaf of the source, in this order, each with its content.
    pub replies: [Option<u64>; 2],
}

/// Header of a frame between leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Header {
    /// Port by which it left the first leaf.
    pub tag: u16,
    /// Congestion of its path so far.
    pub congestion: u8,
    /// Congestion of a path in the opposite direction.
    pub feedback: Option<Feedback>,
    /// Place of the frame in the paths of its flow.
    pub place: conweave::Place,
}

/// Congestion of a path, for the leaf at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Feedback {
    /// Port of that leaf.
    pub tag: u16,
    /// Congestion that arrived from there.
    pub congestion: u8,
}

/// The next hops of a frame, numbered from 0, as its switch sees them.
pub trait NextHops {
    /// Number of next hops, at least 2; at least 1 at the leaf of the source, where frames have
    /// headers.
    fn count(&self) -> usize;
    /// Bytes of the frame's class that wait there; the frame on the wire no longer does.
    fn waiting(&self, hop: usize) -> Bytes;
    /// True if the peer's flow control lets no frame of the class go there now.
    fn is_held(&self, hop: usize) -> bool;
    /// Rate at which the network can carry traffic to the destination through it, alone.
    fn capacity(&mut self, hop: usize) -> Rate;
    /// Number of its port.
    fn port(&self, hop: usize) -> u16;
    /// Rate of its link.
    fn rate(&self, hop: usize) -> Rate;
    /// The hash of the flow, and of the frame's entropy value if it has one, at this switch, scaled
    /// to 0..`n`; for all next hops that of ECMP.
    fn hashed(&mut self, n: u64) -> u64;
    /// The next random number in [0, 1) of this switch.
    fn draw(&mut self) -> f64;
    /// The header of the frame, where frames have headers. The leaf of the source writes all that
    /// its law reads elsewhere: the content of an earlier frame may still be there.
    fn header(&mut self) -> &mut Header;

    /// A next hop at random.
    fn any(&mut self) -> usize {
        let n = self.count();
        ((self.draw() * n as f64) as usize).min(n - 1)
    }
}

/// The law of one switch.
pub trait Balancer {
    /// The next hop of a frame, below [`NextHops::count`].
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize;
    /// True if frames of a flow may overtake each other.
    fn reorders(&self) -> bool {
        true
    }
    /// True if frames between leaves have headers, which the law writes and reads.
    fn adds_headers(&self) -> bool {
        false
    }
    /// A frame leaves for another switch. At the leaf of its source the header has no content yet.
    fn on_departure(&mut self, _frame: &Departure, _header: &mut Header) {}
    /// A frame from another leaf reaches the leaf of its destination.
    fn on_header(&mut self, _frame: &Landing, _header: &Header) -> Verdict {
        Verdict::default()
    }
    /// True if leaves send replies.
    fn replies(&self) -> bool {
        false
    }
    /// A reply reaches the leaf of the flow's source.
    fn on_reply(&mut self, _now: Time, _flow: FlowId, _from_leaf: NodeId, _content: u64) {}
    /// Time of the next release of held frames; never: none are held.
    fn due(&self) -> Time {
        Time::NEVER
    }
    /// The next flow whose held frames continue now, in FIFO order.
    fn release(&mut self, _now: Time) -> Option<FlowId> {
        None
    }
}

/// A law from outside this crate.
pub trait Custom: Debug + Send + Sync {
    /// The law of one switch, given its number.
    fn balancer(&self, switch: NodeId) -> Box<dyn Balancer + Send + Sync>;
    /// True if frames of a flow may overtake each other.
    fn reorders(&self) -> bool {
        true
    }
    /// True if frames between leaves have headers, which the law writes and reads.
    fn adds_headers(&self) -> bool {
        false
    }
    /// True if leaves send replies.
    fn replies(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Next hops with the given queues; its draws are those of the list, then from its start again.
    pub struct Hops {
        pub waiting: Vec<u64>,
        pub held: Vec<bool>,
        pub capacity: Vec<u64>,
        pub hash: f64,
        pub draws: Vec<f64>,
        pub drawn: usize,
        pub header: Header,
    }

    impl Hops {
        pub fn new(waiting: &[u64]) -> Hops {
            Hops {
                waiting: waiting.to_vec(),
                held: vec![false; waiting.len()],
                capacity: vec![100; waiting.len()],
                hash: 0.0,
                draws: vec![0.0],
                drawn: 0,
                header: Header::default(),
            }
        }
    }

    impl NextHops for Hops {
        fn count(&self) -> usize {
            self.waiting.len()
        }
        fn waiting(&self, hop: usize) -> Bytes {
            Bytes(self.waiting[hop])
        }
        fn is_held(&self, hop: usize) -> bool {
            self.held[hop]
        }
        fn port(&self, hop: usize) -> u16 {
            hop as u16
        }
        fn rate(&self, _: usize) -> Rate {
            Rate::from_gbps(8)
        }
        fn capacity(&mut self, hop: usize) -> Rate {
            Rate(self.capacity[hop])
        }
        fn hashed(&mut self, n: u64) -> u64 {
            (self.hash * n as f64) as u64
        }
        fn draw(&mut self) -> f64 {
            self.drawn += 1;
            self.draws[(self.drawn - 1) % self.draws.len()]
        }
        fn header(&mut self) -> &mut Header {
            &mut self.header
        }
    }

    pub fn frame(us: u64, flow: FlowId) -> Arrival {
        Arrival { now: Time(us * 1_000_000), flow, len: Bytes(1000), set: 1, to_leaf: None }
    }
}

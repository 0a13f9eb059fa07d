//! Faults during a run: links that fail, NICs that pause their peers, hosts that drain slowly,
//! frames lost on the wire.
//!
//! ```text
//!   LinkFailure at t:   both ends stop sending, waiting frames are dropped
//!                       frames on the wire are lost at the far end
//!                       new routes use the remaining links
//! ```
//!
//! A loss on a wire breaks no promise of a lossless fabric: the promise is about its memory.

use xoff_mech::link_retry;
use xoff_net::topology::LinkId;
use xoff_net::workload::Flow;
use xoff_node::DrainConfig;
use xoff_units::{FlowId, NodeId, Span, Time};

use crate::wire::draws::Fresh;
use crate::wire::errors::LinkErrors;

/// A link that fails for the rest of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// Simulated time.
    pub at: Time,
    /// Link, both directions.
    pub link: LinkId,
}

/// A host whose NIC keeps stopping its peer, whatever it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseStorm {
    /// Number of the host.
    pub host: NodeId,
    /// Priority that it stops, 0 to 7.
    pub priority: u8,
    /// Time of the first message.
    pub from: Time,
    /// Time of the release.
    pub until: Time,
    /// Time between two messages [ps].
    pub interval: Span,
}

/// A host that takes frames in more slowly than its link brings them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReceiver {
    /// Number of the host.
    pub host: NodeId,
    /// Drain settings of its NIC.
    pub drain: DrainConfig,
}

/// Frames lost on links.
pub trait Losses: Send {
    /// True if the frame that arrives over this link now is lost. Called once for every frame,
    /// control frames included, in the order of arrival.
    fn lost(&mut self, link: LinkId) -> bool;
}

/// In which order the flows of a host take turns after routes have changed; without one nothing
/// changes.
pub trait StartOrder: Send {
    /// A flow has begun.
    fn started(&mut self, flow: FlowId, facts: &Flow);
    /// A flow is acknowledged.
    fn ended(&mut self, flow: FlowId);
    /// The flows of a host that are not over, in their new order.
    fn order(&mut self, host: NodeId) -> Vec<FlowId>;
}

/// All faults of a run.
#[derive(Clone, Default)]
pub struct Faults {
    /// Links that fail.
    pub failures: Vec<LinkFailure>,
    /// NICs that keep stopping their peers.
    pub storms: Vec<PauseStorm>,
    /// Hosts that take frames in slowly.
    pub slow_receivers: Vec<SlowReceiver>,
    /// Errors of links, each in directions of its own.
    pub errors: Vec<LinkErrors>,
    /// Links repeat corrupted frames.
    pub link_retry: Option<link_retry::Config>,
    /// Frames lost.
    pub losses: Option<Fresh<dyn Losses>>,
    /// Turns after a failure.
    pub round_robin: Option<Fresh<dyn StartOrder>>,
}

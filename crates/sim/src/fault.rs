//! What breaks during a run: links that fail, frames lost on the wire.
//!
//! ```text
//!   LinkFailure at t:   both ends stop sending, what waits for them is thrown away
//!                       what is on the wire is lost at the far end
//!                       routes are found anew over the links that are left
//! ```
//!
//! A loss on a wire breaks no promise of a lossless fabric: the promise is about its memory.

use xoff_topology::LinkId;
use xoff_units::Time;
use xoff_workload::Flow;

/// A link that fails for the rest of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// Simulated time.
    pub at: Time,
    /// Which link, both directions.
    pub link: LinkId,
}

/// Frames lost on links.
pub trait Losses: Send {
    /// Is the frame lost that arrives over this link now? Asked once for every frame, control frames included, in the
    /// order of arrival.
    fn lost(&mut self, link: LinkId) -> bool;
}

/// In which order the flows of a host take turns after routes have changed; without one nothing changes.
pub trait StartOrder: Send {
    /// A flow has begun.
    fn started(&mut self, flow: u32, facts: &Flow);
    /// A flow is acknowledged.
    fn ended(&mut self, flow: u32);
    /// The flows of a host that are not over, in their new order.
    fn order(&mut self, host: u32) -> Vec<u32>;
}

/// All faults of a run.
#[derive(Default)]
pub struct Faults {
    /// Links that fail.
    pub failures: Vec<LinkFailure>,
    /// Frames lost.
    pub losses: Option<Box<dyn Losses>>,
    /// Turns after a failure.
    pub round_robin: Option<Box<dyn StartOrder>>,
}

//! Calls of a program that drove a network, in their order. A run that repeats them makes each at
//! the same place among the events of the network, and so has the same results.

use xoff_units::{Rate, Time};

use crate::topology::LinkId;
use crate::workload::Flow;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Events of the nodes that happened before it.
    pub after: u64,
    /// Time of the call.
    pub at: Time,
    /// The request.
    pub act: Act,
}

/// A request of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing happens until the time of the call.
    Wait,
    /// A message begins.
    Send {
        /// The message.
        flow: Flow,
        /// Its queue pair, counted from 0 at its source; `None`: one of its own.
        queue_pair: Option<u32>,
    },
    /// A link fails, in both directions, for the rest of the run.
    Fail(LinkId),
    /// Both directions of a link have this rate from their next frame on.
    SetRate(LinkId, Rate),
}

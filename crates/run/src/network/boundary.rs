//! A scenario among others: some of its nodes are of another process, and their frames are real.

use std::sync::Arc;

use xoff_net::topology::LinkId;
use xoff_net::workload::Flow;
use xoff_units::Time;

use crate::network::NetworkScenario;

/// Surroundings of a scenario's nodes where its frames are real. Empty in a simulation.
#[derive(Clone, Debug, Default)]
pub struct Boundary {
    /// Links to neighbours without flow control, see
    /// [`xoff_sim::Model::links_without_flow_control`].
    pub links_without_flow_control: Vec<LinkId>,
    /// Priorities that frames from outside may have, besides those of the flows.
    pub priorities: Vec<u8>,
}

impl NetworkScenario {
    /// Takes flows out, whose traffic another process makes; returns how many. Their priorities
    /// stay in use.
    pub fn leave_out(&mut self, which: impl Fn(&Flow) -> bool) -> usize {
        let before = self.flows.flows.len();
        let left = self.flows.flows.iter().filter(|f| which(f)).map(|f| f.priority);
        self.boundary.priorities.extend(left);
        Arc::make_mut(&mut self.flows.flows).retain(|f| !which(f));
        // A run that ends with its last flow would end before it begins.
        self.model.stop_when_done &= !self.flows.flows.is_empty();
        before - self.flows.flows.len()
    }

    /// The run lasts until then, even if the flows end earlier: some of them end where this process
    /// cannot see it.
    pub fn last_until(&mut self, until: Time) {
        self.until = until;
        self.model.stop_when_done = false;
    }
}

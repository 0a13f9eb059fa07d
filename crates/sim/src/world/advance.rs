//! Advancing a world without its events: fast-forward implements it, above the world.

use xoff_net::topology::Topology;
use xoff_net::topology::routing::Routes;
use xoff_net::workload::Flows;
use xoff_node::EventKey;
use xoff_units::Time;

use crate::observe::outcome::FastForwarded;
use crate::observe::probe::Row;
use crate::world::World;
use crate::world::model::{Model, PathFacts};

/// Advances a world by time whose events it knows.
pub(crate) trait Advance: Send {
    /// Between two stretches of events, `until` being the end of the run: skips time if it can.
    /// Returns the place where the next stretch has to end, and after how many events.
    fn advance(&mut self, world: &mut World, until: Time) -> Option<(EventKey, u64)>;
    /// True if it never skips anything again.
    fn is_off(&self) -> bool;
    /// Rows were recorded.
    fn note_rows(&mut self, rows: &[(EventKey, Row)]);
    /// Effect so far, or the reason for none.
    fn done(&self) -> &FastForwarded;
    /// Resumes after a state was restored in which `begun` flows have begun. Counts of skipped work
    /// are kept.
    fn go_on_from(&mut self, done: FastForwarded, begun: usize);
}

/// A run before it starts.
pub(crate) struct Load<'a> {
    pub topology: &'a Topology,
    pub routes: &'a Routes,
    /// In the order of their starts.
    pub flows: &'a Flows,
    /// By flow; empty: flows have none.
    pub path_facts: &'a [PathFacts],
    pub model: &'a Model<'a>,
    /// Flow control holds the flows of a NIC one by one.
    pub by_flow: bool,
}

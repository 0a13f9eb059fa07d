//! Static analysis of cyclic buffer dependencies: can these routes deadlock?
//!
//! ```text
//!      u ------> v ------> w       a frame in the buffer of v that link u->v fills waits for room in the buffer of w
//!        [u->v]    [v->w]          that v->w fills, when some flow goes u, v, w:   [u->v] depends on [v->w]
//! ```
//!
//! A cycle of dependencies is necessary for a deadlock under any backpressure (GFC section 2.1,
//! "circular wait"), not sufficient: it takes the right flows at the right time to fill it. Only
//! links between switches count. A host always drains, so nothing waits forever behind a link to a
//! host, and nothing depends on a link from one.

mod buffers;
mod closing_flows;
mod cycle;
mod dependencies;
mod failures;
mod forwarding;
mod incremental;
mod installed;
pub mod random_fat_trees;
mod remedy;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::failures::link_name;
use xoff_net::topology::{
    Choice, EcmpHash, ExplicitPaths, FlowKey, LinkId, Order, Paths, Topology,
};
use xoff_units::params::ParamError;

use forwarding::Forwarding;

pub use failures::{FailureSet, FailureStudy, OfSize, fail_any};
pub use incremental::is_incremental;
pub use installed::{
    Hole, HoleSet, HoleStudy, HolesOfSize, Installed, Loop, check_installed, fail_any_installed,
};
pub use remedy::{Remedy, remedies, remedies_after};

/// Choice among equal candidates for the flows of a pair of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Any of them: every possible choice of a hash.
    All,
    /// Candidate that this choice gives to the pair.
    Chosen(Choice),
}

/// A routing rule under analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Paths that count.
    pub paths: Paths,
    /// Order of candidates, on which a choice may depend.
    pub order: Order,
    /// Candidates that are used.
    pub spread: Spread,
}

impl Rule {
    /// The names that [`Rule::named`] knows.
    pub const NAMES: &'static [&'static str] =
        &["all-paths", "d-mod-k", "hashed", "lowest-id", "per-destination", "per-edge", "up-down"];

    /// The rule of this name: all equal-cost shortest paths; one per host pair by hash; the next
    /// hop of the lowest number; one next hop per node and destination host; one tree per
    /// destination edge switch; all up-down paths; one path per destination host by the digits of
    /// its number. `seed` enters the hashes.
    ///
    /// # Errors
    /// An unknown name; the hint lists the known ones.
    pub fn named(name: &str, seed: u64) -> Result<Rule, ParamError> {
        let chosen = Spread::Chosen;
        let (paths, order, spread) = match name {
            "all-paths" => (Paths::Shortest, Order::AscendingPort, Spread::All),
            "d-mod-k" => (Paths::DModK, Order::AscendingPort, chosen(Choice::First)),
            "hashed" => (
                Paths::Shortest,
                Order::AscendingPort,
                chosen(Choice::Hashed(EcmpHash::Native { seed })),
            ),
            "lowest-id" => (Paths::Shortest, Order::AscendingPeerId, chosen(Choice::First)),
            "per-destination" => {
                (Paths::Shortest, Order::AscendingPort, chosen(Choice::PerDestination { seed }))
            }
            "per-edge" => {
                (Paths::ShortestTree { seed }, Order::AscendingPort, chosen(Choice::First))
            }
            "up-down" => (Paths::UpDown, Order::AscendingPort, Spread::All),
            _ => {
                return Err(ParamError::new(
                    "routing",
                    format!("'{name}' is not a routing rule"),
                    format!("expected one of {}", Rule::NAMES.join(", ")),
                ));
            }
        };
        Ok(Rule { paths, order, spread })
    }

    /// Refuses a network for which this rule is not made; the error's key is `routing`.
    ///
    /// # Errors
    /// A network without the levels or the shape that the rule needs.
    pub fn fits(&self, topology: &Topology) -> Result<(), ParamError> {
        self.paths.fits(topology)
    }

    /// The rule under which a run would route. `balances`: its switches choose among all candidates.
    pub fn of(routing: &xoff_net::topology::Routing, balances: bool) -> Rule {
        let spread = if balances { Spread::All } else { Spread::Chosen(routing.choice) };
        Rule { paths: routing.paths, order: routing.order, spread }
    }
}

/// A flow under analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Ends and ports.
    pub key: FlowKey,
    /// Path of the flow, if it has an explicit one.
    pub path: Option<xoff_net::topology::routing::PathId>,
}

/// Flows or pairs of hosts for which routes count.
#[derive(Clone, Copy, Debug)]
pub enum Traffic<'a> {
    /// Every host may send to every other.
    AllPairs,
    /// Only these flows.
    Flows {
        /// The flows.
        flows: &'a [Flow],
        /// Explicit paths of the flows.
        paths: &'a ExplicitPaths,
    },
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Cyclic")]
pub enum Verdict {
    /// No cycle: under these routes no deadlock can form.
    CycleFree,
    /// A cycle: a deadlock can form if the right flows meet.
    Cyclic,
}

/// The result of [`check`].
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// Ingress buffers of switches behind working links from switches.
    pub buffers: usize,
    /// Dependencies among them.
    pub dependencies: usize,
    /// Sets of buffers that all depend on each other.
    pub cyclic_components: usize,
    /// Buffers in those sets.
    pub cyclic_buffers: usize,
    /// Ordered pairs of hosts (or given flows) without a route; they take no part.
    pub unrouted: u64,
    /// A shortest cycle.
    pub cycle: Option<Cycle>,
}

/// A cycle of buffers with the flows that close it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Cycle {
    /// The links that fill the buffers, `C1->A3`, in order; the last depends on the first.
    pub links: Vec<String>,
    /// For each link and the next one, a flow that uses both.
    pub closed_by: Vec<Closing>,
}

/// One dependency of a cycle, explained.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Closing {
    /// The link that fills the waiting buffer.
    pub from: String,
    /// The link that leads to this buffer.
    pub to: String,
    /// The flow, `H0->H8`.
    pub flow: String,
    /// Names of the nodes on its way.
    pub path: Vec<String>,
}

/// Searches for cyclic buffer dependencies among the routes that `rule` gives to `traffic` over the
/// links that are up.
pub fn check(topology: &Topology, rule: &Rule, traffic: Traffic<'_>) -> Report {
    let forwarding = Forwarding::new(topology, rule, traffic);
    let dependencies = forwarding.dependencies();
    let graph = dependencies.graph();
    let components = cycle::components(&graph);
    let cycle = cycle::shortest(&graph, &components)
        .map(|buffers| closing_flows::explain(&forwarding, &buffers));
    Report {
        verdict: if cycle.is_some() { Verdict::Cyclic } else { Verdict::CycleFree },
        buffers: (0..topology.links.len() as LinkId)
            .filter(|&l| {
                topology.links[l as usize].up
                    && xoff_net::topology::failures::is_fabric_link(topology, l)
            })
            .count()
            * 2,
        dependencies: graph.edge_count(),
        cyclic_components: components.len(),
        cyclic_buffers: components.iter().map(Vec::len).sum(),
        unrouted: forwarding.unrouted(),
        cycle,
    }
}

/// The verdict alone, for studies of many networks.
pub fn is_cyclic(topology: &Topology, rule: &Rule, traffic: Traffic<'_>) -> bool {
    cycle::has_cycle(&Forwarding::new(topology, rule, traffic).dependencies().graph())
}

//! Routes of frames.
//!
//! [`Routes`] has which egress ports lead from a node towards a host; [`Choice`] picks one of them
//! for a flow; the usual pairs of the two have names ([`Routing`]). [`ExplicitPaths`] fixes the
//! whole path of a flow instead. [`Tables`] are those of a real network. Nothing here changes
//! during a run: after a failure, build new routes.

mod digits;
mod explicit;
mod groups;
mod hash;
mod ranks;
mod routes;
mod search;
mod tables;
mod trace;
mod twins;
mod uplinks;

pub use explicit::{ExplicitPaths, PathId};
pub use hash::{Choice, EcmpHash, FlowKey, hpcc_ip, native_hash};
pub use ranks::up_down_ranks;
pub use routes::{Order, Paths, Routes};
pub use tables::{Destination, Lanes, Tables};
pub use trace::{Way, all_paths, fastest_path, trace_path};
pub use uplinks::{Uplinks, uplinks};

use xoff_units::params::{Kind, ParamError, ParamSpec};

/// A routing rule: which paths count, how the candidates of a node are ordered, which one a flow
/// takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Paths that count.
    pub paths: Paths,
    /// Order of the candidates.
    pub order: Order,
    /// Candidate of a flow.
    pub choice: Choice,
}

impl Routing {
    /// The names that [`Routing::named`] knows.
    pub const NAMES: &'static [&'static str] = &[
        "d-mod-k",
        "ecmp",
        "ecmp-ns3-rdma",
        "ecmp-polarised",
        "lowest-id",
        "per-destination",
        "per-edge",
        "up-down",
    ];

    /// The declaration of the key that takes one of [`Routing::NAMES`].
    pub const PARAM: ParamSpec = ParamSpec::new(
        "routing",
        Kind::Choice(Routing::NAMES),
        "ecmp",
        "ecmp: hashed over the shortest paths, by every switch in its own manner; ecmp-polarised: the same by one hash of the flow modulo the \
         number of next hops, alike at every switch; ecmp-ns3-rdma: the same by the hash of ns3-rdma; lowest-id: the shortest path through the next hop of the lowest number; \
         per-destination: one next hop per node and destination host, by hash; per-edge: one tree of shortest paths per \
         destination edge switch, by hash; up-down: hashed over paths that never turn up again; d-mod-k: on a tree of levels, \
         one path per destination host, by the digits of its number, without a hash",
        "GFC section 6.2.2 (shortest path first; the rule among equal ones is not given); TCD section 5.2.2: d-mod-k; ns3-rdma e8a27d0, ipv4-global-routing.cc: ecmp-ns3-rdma, and ecmp-polarised after it",
    );

    /// The rule of this name; `seed` enters the hashes.
    ///
    /// # Errors
    /// An unknown name; the hint lists the known ones.
    pub fn named(name: &str, seed: u64) -> Result<Routing, ParamError> {
        let hashed = Choice::Hashed(EcmpHash::Native { seed });
        let (paths, order, choice) = match name {
            "d-mod-k" => (Paths::DModK, Order::AscendingPort, Choice::First),
            "ecmp" => (Paths::Shortest, Order::AscendingPort, hashed),
            "ecmp-polarised" => (
                Paths::Shortest,
                Order::AscendingPort,
                Choice::Hashed(EcmpHash::Polarised { seed }),
            ),
            "ecmp-ns3-rdma" => {
                (Paths::Shortest, Order::AscendingPort, Choice::Hashed(EcmpHash::Ns3Rdma { seed }))
            }
            "lowest-id" => (Paths::Shortest, Order::AscendingPeerId, Choice::First),
            "per-destination" => {
                (Paths::Shortest, Order::AscendingPort, Choice::PerDestination { seed })
            }
            "per-edge" => (Paths::ShortestTree { seed }, Order::AscendingPort, Choice::First),
            "up-down" => (Paths::UpDown, Order::AscendingPort, hashed),
            _ => {
                return Err(ParamError::new(
                    "routing",
                    format!("'{name}' is not a routing rule"),
                    format!("expected one of {}", Routing::NAMES.join(", ")),
                ));
            }
        };
        Ok(Routing { paths, order, choice })
    }

    /// Refuses a network for which this rule is not made; the error's key is `routing`.
    ///
    /// # Errors
    /// A network without the levels or the shape that the rule needs.
    pub fn fits(&self, topology: &crate::topology::Topology) -> Result<(), ParamError> {
        self.paths.fits(topology)
    }

    /// The rule of the HPCC simulator: shortest paths, its order of next hops, its hash.
    pub const HPCC: Routing = Routing {
        paths: Paths::Shortest,
        order: Order::DescendingPeerId,
        choice: Choice::Hashed(EcmpHash::Hpcc),
    };

    /// The routes of this rule over the links that are up.
    pub fn routes(&self, topology: &crate::topology::Topology) -> Routes {
        Routes::build(topology, self.paths, self.order)
    }
}

//! The random networks, and the static filter.

use serde::{Deserialize, Serialize};
use xoff_analysis::cbd::{Rule, Traffic, is_cyclic};
use xoff_net::topology::builders::fat_tree;
use xoff_net::topology::failures::{fail_random, is_connected_hosts};
use xoff_net::topology::{Routing, Topology};
use xoff_units::params::{Defaults, ParamError};

/// Probability with which a link between switches is down (GFC section 6.2.3).
pub const FAILURE_PROBABILITY: f64 = 0.05;

/// A fat-tree with some links down: its size and its number among the networks of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Network {
    /// Ports per switch.
    pub k: u32,
    /// Number, from 0.
    pub number: u32,
}

impl Network {
    /// Seed of its failures, and of the hashes of its routing.
    pub fn seed(&self) -> u64 {
        self.k as u64 * 1_000_000 + self.number as u64
    }

    /// The network itself.
    pub fn build(&self) -> Result<Topology, ParamError> {
        let mut t = intact(self.k)?;
        fail_random(&mut t, FAILURE_PROBABILITY, self.seed(), false)?;
        Ok(t)
    }
}

/// The fat-tree before failures.
pub fn intact(k: u32) -> Result<Topology, ParamError> {
    fat_tree::build(&mut Defaults::of(fat_tree::PARAMS).with("k", &k.to_string()))
}

/// Choice among several shortest paths. The paper says only "shortest-path-first".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingRule {
    /// The next hop of the lowest number.
    LowestId,
    /// Tree of shortest paths per destination edge switch, by hash.
    PerEdge,
    /// Every flow by hash.
    Ecmp,
}

impl RoutingRule {
    /// All of them, the one of the headline first.
    pub const ALL: [RoutingRule; 3] = [RoutingRule::LowestId, RoutingRule::PerEdge, RoutingRule::Ecmp];

    /// Name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            RoutingRule::LowestId => "lowest-id",
            RoutingRule::PerEdge => "per-edge",
            RoutingRule::Ecmp => "ecmp",
        }
    }

    /// The rule of a run.
    pub fn routing(self, seed: u64) -> Routing {
        Routing::named(self.name(), seed).expect("a name that routing knows")
    }

    /// The rule of the static filter. Under ECMP the flows of a pair of hosts differ in their source ports, so any
    /// shortest path may be taken in the course of a closed loop.
    pub fn filter(self, seed: u64) -> Rule {
        match self {
            RoutingRule::Ecmp => Rule::named("all-paths", seed).expect("a name that the analysis knows"),
            _ => Rule::of(&self.routing(seed)),
        }
    }
}

/// Whether every two edge switches of a fat-tree still have a path of the usual length: over an aggregation switch of
/// the pod, or over a core switch between pods. Then all shortest paths go up and then down, and there is no cycle.
/// A quick look that spares the analysis of most large networks; false says nothing.
fn is_valley_free(t: &Topology, k: u32) -> bool {
    let (half, k) = (k as usize / 2, k as usize);
    // Links come in the builder's order: hosts, then edge to aggregation by pod, then aggregation to core.
    let edge_links = half * half * k;
    let core_links = edge_links + k * half * half;
    let mask = |first: usize| (0..half).fold(0u64, |m, i| m | (t.links[first + i].up as u64) << i);
    let ups: Vec<u64> = (0..k * half).map(|e| mask(edge_links + e * half)).collect();
    let cores: Vec<u64> = (0..k * half).map(|a| mask(core_links + a * half)).collect();
    (0..k).all(|p| {
        (p..k).all(|q| {
            let over = (0..half).filter(|m| p == q || cores[p * half + m] & cores[q * half + m] != 0).fold(0u64, |all, m| all | 1 << m);
            let edges = |pod: usize| ups[pod * half..(pod + 1) * half].iter();
            edges(p).all(|a| edges(q).all(|b| a & b & over != 0))
        })
    })
}

/// Findings of the filter in a block of networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtered {
    /// Networks examined.
    pub networks: u32,
    /// Networks in which some hosts cannot reach each other; they are left out.
    pub disconnected: u32,
    /// For each rule of [`RoutingRule::ALL`], the numbers of the connected networks with a cyclic buffer dependency.
    pub cyclic: [Vec<u32>; 3],
}

impl Filtered {
    /// Looks at the networks `first..past`.
    pub fn scan(k: u32, first: u32, past: u32) -> Result<Filtered, ParamError> {
        let fabric = intact(k)?;
        let mut found = Filtered::default();
        for number in first..past {
            let network = Network { k, number };
            let mut t = fabric.clone();
            fail_random(&mut t, FAILURE_PROBABILITY, network.seed(), false)?;
            found.networks += 1;
            if !is_connected_hosts(&t) {
                found.disconnected += 1;
                continue;
            }
            // Rules that use one of all shortest paths each cannot have a cycle where all paths together have none.
            if is_valley_free(&t, k) || !is_cyclic(&t, &RoutingRule::Ecmp.filter(network.seed()), Traffic::AllPairs) {
                continue;
            }
            for (rule, numbers) in RoutingRule::ALL.iter().zip(&mut found.cyclic) {
                if *rule == RoutingRule::Ecmp || is_cyclic(&t, &rule.filter(network.seed()), Traffic::AllPairs) {
                    numbers.push(number);
                }
            }
        }
        Ok(found)
    }

    /// Adds the block that follows.
    pub fn append(&mut self, next: &Filtered) {
        self.networks += next.networks;
        self.disconnected += next.disconnected;
        for (all, more) in self.cyclic.iter_mut().zip(&next.cyclic) {
            all.extend(more);
        }
    }

    /// Networks that were neither left out nor cyclic cannot deadlock under `rule`.
    pub fn cyclic(&self, rule: RoutingRule) -> &[u32] {
        &self.cyclic[rule as usize]
    }

    /// Networks whose hosts all reach each other.
    pub fn connected(&self) -> u32 {
        self.networks - self.disconnected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_never_hides_a_cycle() {
        let (mut free, mut cyclic) = (0, 0);
        for number in 0..1500 {
            let network = Network { k: 4, number };
            let t = network.build().unwrap();
            let found = is_cyclic(&t, &RoutingRule::Ecmp.filter(0), Traffic::AllPairs);
            if is_valley_free(&t, 4) {
                free += 1;
                assert!(!found, "network {number}");
            }
            cyclic += found as u32;
        }
        assert!(free > 1000 && cyclic > 50, "{free} {cyclic}");
        assert!([4, 8, 16].iter().all(|&k| is_valley_free(&intact(k).unwrap(), k)));
    }

    #[test]
    fn blocks_add_up() {
        let whole = Filtered::scan(4, 0, 300).unwrap();
        let mut parts = Filtered::scan(4, 0, 130).unwrap();
        parts.append(&Filtered::scan(4, 130, 300).unwrap());
        assert_eq!(whole, parts);
        assert_eq!(whole.connected(), 300 - whole.disconnected);
        // All paths together have every cycle that one path per pair has.
        let all = whole.cyclic(RoutingRule::Ecmp);
        assert!(whole.cyclic(RoutingRule::LowestId).iter().chain(whole.cyclic(RoutingRule::PerEdge)).all(|n| all.contains(n)));
    }
}

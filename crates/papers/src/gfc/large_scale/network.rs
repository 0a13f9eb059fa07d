//! The random networks, and the static filter.

use serde::{Deserialize, Serialize};
use xoff_analysis::cbd::random_fat_trees;
use xoff_net::topology::builders::fat_tree;
use xoff_net::topology::failures::fail_random;
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
        let seed = |number| Network { k, number }.seed();
        let found = random_fat_trees::scan(k, FAILURE_PROBABILITY, seed(first)..seed(past))?;
        let numbers = |seeds: Vec<u64>| seeds.into_iter().map(|s| (s - seed(0)) as u32).collect();
        let cyclic = [found.lowest_id, found.per_edge, found.all_paths].map(numbers);
        Ok(Filtered { networks: past - first, disconnected: found.disconnected.len() as u32, cyclic })
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

//! Readings of "average link loads to 60 %" (section 5.2.1) and of the hash that spreads the flows.
//!
//! ```text
//!                     offered, per load of a host        of those links that a flow can take
//!   hosts             1
//!   edge, aggregation share of flows to another switch   x 1
//!   core              share of flows to another pod      x 1, or x k / 2 where every switch has the same hash: the n-th aggregation
//!                                                        switch of a pod gets what hashes to n, and sends all of it to its n-th core
//! ```

/// The paper's load.
pub const LOAD: f64 = 0.6;

/// Hash of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// The same at every switch, as ns3-rdma has it.
    Polarised,
    /// Each switch has its own.
    Spread,
}

/// Links that carry 60 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Links of the hosts.
    Hosts,
    /// The three tiers of links on the average, of the links that a flow can take.
    Tiers,
    /// All links that a flow can take, on the average.
    Links,
    /// The hosts' links carry this share instead.
    Of(f64),
}

/// A reading of the paper's fabric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Hash of the switches.
    pub hash: Hash,
    /// Links that carry 60 %.
    pub load: Load,
}

impl Reading {
    /// A reading.
    pub const fn new(hash: Hash, load: Load) -> Reading {
        Reading { hash, load }
    }

    /// Offered load of hosts', edge and core links in a fat-tree of `k`, for a host load of 1.
    pub fn tiers(&self, k: u64) -> [f64; 3] {
        let (half, hosts) = (k as f64 / 2.0, (k * k * k / 4) as f64);
        let leaving = |inside: f64| (hosts - inside) / (hosts - 1.0);
        let gathered = match self.hash {
            Hash::Polarised => half,
            Hash::Spread => 1.0,
        };
        [1.0, leaving(half), leaving(half * half) * gathered]
    }

    /// The load of a host's link.
    pub fn host_load(&self, k: u64) -> f64 {
        let tiers = self.tiers(k);
        // Every tier has as many links; a same hash everywhere leaves but 2 / k of those to the core.
        let used = [1.0, 1.0, if self.hash == Hash::Polarised { 2.0 / k as f64 } else { 1.0 }];
        let exact = match self.load {
            Load::Hosts => LOAD,
            Load::Tiers => LOAD * 3.0 / tiers.iter().sum::<f64>(),
            Load::Links => LOAD * used.iter().sum::<f64>() / tiers.iter().zip(used).map(|(t, u)| t * u).sum::<f64>(),
            Load::Of(share) => share,
        };
        (exact * 1000.0).round() / 1000.0
    }

    /// Settings over the scenario.
    pub fn settings(&self, k: u64) -> [String; 2] {
        let kind = match self.hash {
            Hash::Polarised => "ecmp-polarised",
            Hash::Spread => "ecmp",
        };
        [format!("routing.kind={kind}"), format!("workload[0].load={}", self.host_load(k))]
    }

    /// Text for people.
    pub fn name(&self) -> String {
        let hash = match self.hash {
            Hash::Polarised => "one hash for all switches",
            Hash::Spread => "a different hash at each switch",
        };
        let at = |share: f64, of: &str| format!("{hash}, {:.0} % {of}", share * 100.0);
        match self.load {
            Load::Hosts => at(LOAD, "on hosts' links"),
            Load::Tiers => at(LOAD, "on average of the tiers"),
            Load::Links => at(LOAD, "on average of the links in use"),
            Load::Of(share) => at(share, "on hosts' links"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_a_fat_tree_of_250_hosts() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        let of = |hash, load| Reading::new(hash, load);
        let (p, s) = (of(Hash::Polarised, Load::Tiers), of(Hash::Spread, Load::Tiers));
        for (tier, expected) in s.tiers(10).into_iter().zip([1.0, 245.0 / 249.0, 225.0 / 249.0]) {
            near(tier, expected);
        }
        near(p.tiers(10)[2], 1125.0 / 249.0);
        // 1.8 / (1 + 245/249 + 1125/249) and 1.8 / (1 + 245/249 + 225/249).
        assert_eq!((p.host_load(10), s.host_load(10)), (0.277, 0.623));
        assert_eq!((of(Hash::Polarised, Load::Hosts).host_load(10), of(Hash::Polarised, Load::Of(0.3)).host_load(10)), (0.6, 0.3));
        // Of 2.2 x 250 links: 0.6 x 2.2 / (1 + 245/249 + 225/249).
        assert_eq!((of(Hash::Polarised, Load::Links).host_load(10), of(Hash::Spread, Load::Links).host_load(10)), (0.457, 0.623));
    }
}

//! Which fat-trees with random failures can deadlock at all (GFC section 6.2.3).

use std::ops::Range;

use xoff_net::topology::Topology;
use xoff_net::topology::builders::fat_tree;
use xoff_net::topology::failures::{fail_random, is_connected_hosts, link_name};
use xoff_units::params::{Defaults, ParamError};

use super::{Rule, Traffic, is_cyclic};

/// The rules that choose one of several shortest paths.
const CHOOSING: [&str; 2] = ["lowest-id", "per-edge"];

/// Networks of interest in a range of seeds, each by its seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Some hosts cannot reach each other; no cycle is looked for.
    pub disconnected: Vec<u64>,
    /// A cycle if each flow takes the next hop with the lowest number.
    pub lowest_id: Vec<u64>,
    /// A cycle under a tree of shortest paths per destination edge switch.
    pub per_edge: Vec<u64>,
    /// A cycle if a flow may take any of the shortest paths; a network that is in no list has none
    /// under any choice.
    pub all_paths: Vec<u64>,
}

/// Fat-trees of switches with `k` ports, searched for cycles. Each link between switches fails
/// with this probability. A seed gives the failures and the hashes of the routing.
///
/// # Errors
/// A `k` for which there is no fat-tree, or a probability outside 0 to 1.
pub fn scan(k: u32, probability: f64, seeds: Range<u64>) -> Result<Scan, ParamError> {
    let fabric = intact(k)?;
    let mut found = Scan::default();
    for seed in seeds {
        let mut t = fabric.clone();
        fail_random(&mut t, probability, seed, false)?;
        if !is_connected_hosts(&t) {
            found.disconnected.push(seed);
            continue;
        }
        // Rules that use one of all shortest paths each cannot have a cycle where all paths
        // together have none.
        if is_valley_free(&t, k)
            || !is_cyclic(&t, &Rule::named("all-paths", seed)?, Traffic::AllPairs)
        {
            continue;
        }
        found.all_paths.push(seed);
        for (name, seeds) in CHOOSING.iter().zip([&mut found.lowest_id, &mut found.per_edge]) {
            if is_cyclic(&t, &Rule::named(name, seed)?, Traffic::AllPairs) {
                seeds.push(seed);
            }
        }
    }
    Ok(found)
}

/// The links that fail in one of these networks, by name.
///
/// # Errors
/// As for [`scan`].
pub fn failed_links(k: u32, probability: f64, seed: u64) -> Result<Vec<String>, ParamError> {
    let mut t = intact(k)?;
    let failed = fail_random(&mut t, probability, seed, false)?;
    Ok(failed.into_iter().map(|link| link_name(&t, link)).collect())
}

fn intact(k: u32) -> Result<Topology, ParamError> {
    fat_tree::build(&mut Defaults::of(fat_tree::PARAMS).with("k", &k.to_string()))
}

/// Whether every two edge switches of a fat-tree still have a path of the usual length: over an
/// aggregation switch of the pod, or over a core switch between pods. Then all shortest paths go up
/// and then down, and there is no cycle. A quick look that spares the analysis of most large
/// networks; false says nothing.
fn is_valley_free(t: &Topology, k: u32) -> bool {
    let (half, k) = (k as usize / 2, k as usize);
    // Links come in the builder's order: hosts, then edge to aggregation by pod, then aggregation
    // to core.
    let edge_links = half * half * k;
    let core_links = edge_links + k * half * half;
    let mask = |first: usize| (0..half).fold(0u64, |m, i| m | (t.links[first + i].up as u64) << i);
    let ups: Vec<u64> = (0..k * half).map(|e| mask(edge_links + e * half)).collect();
    let cores: Vec<u64> = (0..k * half).map(|a| mask(core_links + a * half)).collect();
    (0..k).all(|p| {
        (p..k).all(|q| {
            let over = (0..half)
                .filter(|m| p == q || cores[p * half + m] & cores[q * half + m] != 0)
                .fold(0u64, |all, m| all | 1 << m);
            let edges = |pod: usize| ups[pod * half..(pod + 1) * half].iter();
            edges(p).all(|a| edges(q).all(|b| a & b & over != 0))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_never_hides_a_cycle() {
        let (mut free, mut cyclic) = (0, 0);
        for seed in 4_000_000..4_001_500 {
            let mut t = intact(4).unwrap();
            fail_random(&mut t, 0.05, seed, false).unwrap();
            let found = is_cyclic(&t, &Rule::named("all-paths", 0).unwrap(), Traffic::AllPairs);
            if is_valley_free(&t, 4) {
                free += 1;
                assert!(!found, "seed {seed}");
            }
            cyclic += found as u32;
        }
        assert!(free > 1000 && cyclic > 50, "{free} {cyclic}");
        assert!([4, 8, 16].iter().all(|&k| is_valley_free(&intact(k).unwrap(), k)));
    }

    #[test]
    fn failed_links_are_those_of_the_network() {
        let names = failed_links(4, 0.05, 4_009_960).unwrap();
        let mut t = intact(4).unwrap();
        fail_random(&mut t, 0.05, 4_009_960, false).unwrap();
        let down: Vec<String> = (0..t.links.len() as u32)
            .filter(|&l| !t.links[l as usize].up)
            .map(|l| link_name(&t, l))
            .collect();
        assert!(!names.is_empty() && names == down, "{names:?} {down:?}");
    }

    #[test]
    fn ranges_add_up() {
        let whole = scan(4, 0.05, 4_000_000..4_000_300).unwrap();
        let parts =
            [4_000_000..4_000_130, 4_000_130..4_000_300].map(|range| scan(4, 0.05, range).unwrap());
        let joined =
            |of: fn(&Scan) -> &Vec<u64>| parts.iter().flat_map(of).copied().collect::<Vec<_>>();
        assert_eq!(whole.disconnected, joined(|s| &s.disconnected));
        assert_eq!(whole.all_paths, joined(|s| &s.all_paths));
        // All paths together have every cycle that one path per pair has.
        assert!(!whole.lowest_id.is_empty() && !whole.per_edge.is_empty());
        assert!(whole.lowest_id.iter().chain(&whole.per_edge).all(|n| whole.all_paths.contains(n)));
        assert!(whole.disconnected.iter().all(|n| !whole.all_paths.contains(n)));
    }
}

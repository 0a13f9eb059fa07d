//! Link failures that would create a cycle.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::failures::{is_connected_hosts, is_fabric_link};

use super::incremental::{Effect, Incremental};
use super::{Cycle, LinkId, Rule, Topology, Traffic, check, is_cyclic, link_name};

/// A set of failed links that creates a cycle.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FailureSet {
    /// Names of the links.
    pub links: Vec<String>,
    /// Whether some hosts can no longer reach each other.
    pub disconnects: bool,
    /// The shortest cycle among the recomputed routes.
    pub cycle: Cycle,
}

/// Sets of one size.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct OfSize {
    /// Links that fail at once.
    pub failures: usize,
    /// Sets of that size.
    pub sets_total: u128,
    /// Sets that were examined.
    pub sets_checked: u64,
    /// Sets after which a deadlock can form.
    pub cyclic: u64,
}

/// The result of [`fail_any`].
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FailureStudy {
    /// Links between switches that could fail.
    pub links: usize,
    /// The answer by number of failures.
    pub by_size: Vec<OfSize>,
    /// Sets of 1 to N of them.
    pub sets_total: u128,
    /// Sets examined.
    pub sets_checked: u64,
    /// Whether the sets of some size were sampled instead of all being examined.
    pub sampled: bool,
    /// The caller stopped it before all of these sets were examined.
    pub interrupted: bool,
    /// Sets with a cycle among those examined.
    pub cyclic_total: u64,
    /// Cyclic sets that contain no smaller one.
    pub cyclic: Vec<FailureSet>,
    /// Sets that separate hosts and contain no smaller such set.
    pub disconnecting: Vec<Vec<String>>,
}

/// Fails every set of 1 to `n` working links between switches, reroutes, and looks for cycles. Run
/// [`check`] first: where the network has a cycle already, nearly every set has one. Every single
/// failure is examined; of each larger size at most `sets_max` sets: all, or as many drawn with
/// `seed`. Given flows keep their explicit paths only while the links of these are up; a flow that
/// loses its path is routed.
pub fn fail_any(
    topology: &Topology,
    rule: &Rule,
    traffic: Traffic<'_>,
    n: usize,
    sets_max: u64,
    seed: u64,
    go_on: &dyn Fn() -> bool,
) -> FailureStudy {
    let links: Vec<LinkId> = (0..topology.links.len() as LinkId)
        .filter(|&l| topology.links[l as usize].up && is_fabric_link(topology, l))
        .collect();
    let mut study = FailureStudy {
        links: links.len(),
        by_size: Vec::new(),
        sets_total: 0,
        sets_checked: 0,
        sampled: false,
        interrupted: false,
        cyclic_total: 0,
        cyclic: Vec::new(),
        disconnecting: Vec::new(),
    };
    let (mut cyclic, mut disconnecting): (Vec<Vec<LinkId>>, Vec<Vec<LinkId>>) = Default::default();
    let mut t = topology.clone();
    let incremental = Incremental::new(topology, rule, traffic);
    for size in 1..=n.min(links.len()) {
        let Sets { total, sampled, each: sets } = sets(&links, size, sets_max, seed);
        study.sets_total += total;
        study.sampled |= sampled;
        study.by_size.push(OfSize {
            failures: size,
            sets_total: total,
            sets_checked: 0,
            cyclic: 0,
        });
        for set in sets {
            if !go_on() {
                study.interrupted = true;
                return study;
            }
            study.sets_checked += 1;
            study.by_size[size - 1].sets_checked += 1;
            let effect = incremental.as_ref().map(|i| i.examine(&set));
            if effect == Some(Effect::Safe { disconnects: false }) {
                continue;
            }
            set.iter().for_each(|&l| t.links[l as usize].up = false);
            let kept = still_valid(&t, traffic);
            let traffic = match (&kept, traffic) {
                (Some(flows), Traffic::Flows { paths, .. }) => Traffic::Flows { flows, paths },
                _ => traffic,
            };
            let names = || -> Vec<String> { set.iter().map(|&l| link_name(topology, l)).collect() };
            let disconnects =
                matches!(effect, Some(Effect::Safe { .. })) || !is_connected_hosts(&t);
            if disconnects && !contains_one(&disconnecting, &set) {
                study.disconnecting.push(names());
                disconnecting.push(set.clone());
            }
            if !matches!(effect, Some(Effect::Safe { .. })) && is_cyclic(&t, rule, traffic) {
                study.cyclic_total += 1;
                study.by_size[size - 1].cyclic += 1;
                if !contains_one(&cyclic, &set) {
                    let cycle = check(&t, rule, traffic)
                        .cycle
                        .expect("the same question has the same answer");
                    study.cyclic.push(FailureSet { links: names(), disconnects, cycle });
                    cyclic.push(set.clone());
                }
            }
            set.iter().for_each(|&l| t.links[l as usize].up = true);
        }
    }
    study
}

/// The given flows, with explicit paths over failed links dropped.
pub(super) fn still_valid(t: &Topology, traffic: Traffic<'_>) -> Option<Vec<super::Flow>> {
    let Traffic::Flows { flows, paths } = traffic else { return None };
    let works = |path| paths.hops(path).iter().all(|&(node, port)| t.link_at(node, port).up);
    Some(
        flows
            .iter()
            .map(|f| super::Flow { key: f.key, path: f.path.filter(|&p| works(p)) })
            .collect(),
    )
}

/// True if one of the known sets is part of this one; both ascending.
fn contains_one(known: &[Vec<LinkId>], set: &[LinkId]) -> bool {
    known.iter().any(|k| k.iter().all(|l| set.contains(l)))
}

/// The sets of one size that are examined.
pub(super) struct Sets<'a> {
    /// Number of sets in all.
    pub total: u128,
    /// Only some of them are drawn.
    pub sampled: bool,
    pub each: Box<dyn Iterator<Item = Vec<LinkId>> + 'a>,
}

/// All sets of a size; from two on at most `sets_max`, drawn with `seed`.
pub(super) fn sets(links: &[LinkId], size: usize, sets_max: u64, seed: u64) -> Sets<'_> {
    let total = choose(links.len(), size);
    let sampled = size > 1 && total > sets_max as u128;
    let each: Box<dyn Iterator<Item = Vec<LinkId>>> = match sampled {
        true => Box::new(sample(links, size, sets_max, seed)),
        false => Box::new(Combinations::new(links, size)),
    };
    Sets { total, sampled, each }
}

/// Number of choices of `k` of `n`.
fn choose(n: usize, k: usize) -> u128 {
    (0..k as u128).fold(1, |c, i| c * (n as u128 - i) / (i + 1))
}

/// All sets of a size, in lexicographic order.
struct Combinations<'a> {
    of: &'a [LinkId],
    at: Vec<usize>,
    done: bool,
}

impl<'a> Combinations<'a> {
    fn new(of: &'a [LinkId], size: usize) -> Self {
        Combinations { of, at: (0..size).collect(), done: size > of.len() }
    }
}

impl Iterator for Combinations<'_> {
    type Item = Vec<LinkId>;
    fn next(&mut self) -> Option<Vec<LinkId>> {
        if self.done {
            return None;
        }
        let set = self.at.iter().map(|&i| self.of[i]).collect();
        let (size, n) = (self.at.len(), self.of.len());
        match (0..size).rev().find(|&i| self.at[i] < n - size + i) {
            None => self.done = true,
            Some(i) => {
                self.at[i] += 1;
                (i + 1..size).for_each(|j| self.at[j] = self.at[j - 1] + 1);
            }
        }
        Some(set)
    }
}

/// Different sets of a size, each equally likely.
fn sample(of: &[LinkId], size: usize, count: u64, seed: u64) -> impl Iterator<Item = Vec<LinkId>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(size as u64);
    let mut seen = BTreeSet::new();
    while (seen.len() as u64) < count {
        let mut set = BTreeSet::new();
        while set.len() < size {
            // The bias of this scaling is below 2^-40 for any number of links that fits into
            // memory.
            set.insert(of[((rng.next_u64() as u128 * of.len() as u128) >> 64) as usize]);
        }
        seen.insert(set.into_iter().collect::<Vec<_>>());
    }
    seen.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_all_and_in_order() {
        let of = [3, 5, 8, 9];
        let sets: Vec<_> = Combinations::new(&of, 2).collect();
        assert_eq!(sets, [[3, 5], [3, 8], [3, 9], [5, 8], [5, 9], [8, 9]]);
        assert_eq!(Combinations::new(&of, 4).count(), 1);
        assert_eq!((choose(4, 2), choose(32, 3), choose(2048, 2)), (6, 4960, 2_096_128));
        let drawn: Vec<_> = sample(&of, 2, 5, 1).collect();
        assert_eq!(drawn.len(), 5);
        assert!(drawn.iter().all(|s| s.len() == 2 && sets.iter().any(|x| x == s.as_slice())));
    }
}

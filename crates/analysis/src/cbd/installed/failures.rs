//! Failed links that make black holes of installed tables.
//!
//! ```text
//!   walk without failures --> by link: destinations whose paths lead over it
//!   set of links --> these destinations, walked again without the links --> pairs that had a path and lose it
//! ```
//!
//! Tables stay unchanged: a switch skips a port whose link is down, and drops frames without
//! another port. So a failure adds no cycle.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::failures::is_fabric_link;
use xoff_net::topology::routing::Tables;
use xoff_net::topology::{LinkId, Topology};

use super::super::failures::{Sets, sets};
use super::super::link_name;
use super::Hole;
use super::walk::Walk;

/// Sets that are named; the rest is counted.
const SETS_MAX: usize = 1_000;

/// A set of failed links that makes black holes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HoleSet {
    /// Names of the links.
    pub links: Vec<String>,
    /// Pairs of a source and a destination's address that lose their path.
    pub unrouted: u64,
    /// Switches and destinations without a port, the first of them.
    pub first: Option<Hole>,
}

/// Sets of one size.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HolesOfSize {
    /// Links that fail at once.
    pub failures: usize,
    /// Sets of that size.
    pub sets_total: u128,
    /// Sets that were examined.
    pub sets_checked: u64,
    /// Sets that make black holes.
    pub holes: u64,
    /// The most pairs that one of them separates.
    pub unrouted_max: u64,
}

/// The result of [`fail_any_installed`].
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HoleStudy {
    /// Links between switches that could fail.
    pub links: usize,
    /// The answer by number of failures.
    pub by_size: Vec<HolesOfSize>,
    /// Whether the sets of some size were sampled instead of all being examined.
    pub sampled: bool,
    /// The caller stopped it before all of these sets were examined.
    pub interrupted: bool,
    /// Sets that make black holes.
    pub holes_total: u64,
    /// The first of them.
    pub sets: Vec<HoleSet>,
}

/// Fails every set of 1 to `n` working links between switches and follows the tables as they are.
/// Every single failure is examined; of each larger size at most `sets_max` sets: all, or as many
/// drawn with `seed`.
pub fn fail_any_installed(
    t: &Topology,
    tables: &Tables,
    n: usize,
    sets_max: u64,
    seed: u64,
    go_on: &dyn Fn() -> bool,
) -> HoleStudy {
    let links: Vec<LinkId> = (0..t.links.len() as LinkId)
        .filter(|&l| t.links[l as usize].up && is_fabric_link(t, l))
        .collect();
    let mut walk = Walk::new(t, tables);
    walk.uses = Some(vec![Vec::new(); t.links.len()]);
    let mut lost_before = Vec::new();
    for destination in 0..tables.destinations.len() as u32 {
        let before = walk.unrouted;
        walk.destination(destination);
        lost_before.push(walk.unrouted - before);
    }
    let uses = walk.uses.take().unwrap_or_default();
    let mut study = HoleStudy {
        links: links.len(),
        by_size: Vec::new(),
        sampled: false,
        interrupted: false,
        holes_total: 0,
        sets: Vec::new(),
    };
    for size in 1..=n.min(links.len()) {
        let Sets { total, sampled, each } = sets(&links, size, sets_max, seed);
        study.sampled |= sampled;
        let mut of_size = HolesOfSize {
            failures: size,
            sets_total: total,
            sets_checked: 0,
            holes: 0,
            unrouted_max: 0,
        };
        for set in each {
            if !go_on() {
                study.interrupted = true;
                break;
            }
            of_size.sets_checked += 1;
            let mut destinations: Vec<u32> =
                set.iter().flat_map(|&l| uses[l as usize].iter().copied()).collect();
            destinations.sort_unstable();
            destinations.dedup();
            walk.fail(&set);
            let before: u64 = destinations.iter().map(|&d| lost_before[d as usize]).sum();
            destinations.iter().for_each(|&d| walk.destination(d));
            let unrouted = walk.unrouted.saturating_sub(before);
            if unrouted == 0 {
                continue;
            }
            study.holes_total += 1;
            of_size.holes += 1;
            of_size.unrouted_max = of_size.unrouted_max.max(unrouted);
            if study.sets.len() < SETS_MAX {
                let links = set.iter().map(|&l| link_name(t, l)).collect();
                study.sets.push(HoleSet { links, unrouted, first: walk.holes.first().cloned() });
            }
        }
        study.by_size.push(of_size);
        if study.interrupted {
            break;
        }
    }
    study
}

//! Clocks of links: rates that differ from the nominal one.

use xoff_units::Rate;

use crate::topology::failures::{draw, link_name};
use crate::topology::graph::{LinkId, Topology};

/// The purpose of these draws, part of the key of their streams.
const PURPOSE_CLOCK: u64 = 1001;

/// Gives each link, both directions, a rate drawn evenly within `ppm` parts per million of its
/// nominal one.
pub fn skew(t: &mut Topology, ppm: f64, seed: u64) {
    if ppm == 0.0 {
        return;
    }
    for link in 0..t.links.len() as LinkId {
        let off = ppm * (2.0 * draw(seed, PURPOSE_CLOCK, &link_name(t, link)) - 1.0);
        let rate = &mut t.links[link as usize].rate;
        *rate = Rate(rate.0.saturating_add_signed((rate.as_f64() * off * 1e-6).round() as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders::ring;
    use xoff_units::params::Defaults;

    /// All rates are within the tolerance, differ, and follow from the seed; 0 changes nothing.
    #[test]
    fn rates_are_within_the_tolerance() {
        let nominal = Rate::from_gbps(10);
        let rates = |ppm, seed| {
            let given = Defaults::of(ring::PARAMS).with("switches", "8").with("rate", "10Gbps");
            let mut t = ring::build(&mut given.with("host_rate", "10Gbps")).unwrap();
            skew(&mut t, ppm, seed);
            t.links.iter().map(|l| l.rate.0).collect::<Vec<_>>()
        };
        assert!(rates(0.0, 1).iter().all(|&r| r == nominal.0));
        let found = rates(10.0, 1);
        assert!(found.iter().all(|r| r.abs_diff(nominal.0) <= 100_000), "{found:?}");
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), found.len());
        // Of 16 even draws the largest difference is above half of the tolerance in all but 1 of 65,536.
        assert!(found.iter().any(|r| r.abs_diff(nominal.0) > 50_000));
        assert_eq!(rates(10.0, 1), found);
        assert_ne!(rates(10.0, 2), found);
    }
}

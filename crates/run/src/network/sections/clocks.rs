//! `[clocks]`: links whose rates differ from the nominal one.

use xoff_net::topology::{Topology, clocks};
use xoff_scenario::document::{Document, SectionSpec};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

const KEYS: &[ParamSpec] = &[
    ParamSpec::new(
        "ppm",
        Kind::Float,
        "0",
        "largest difference of the rate of a link from the nominal one, parts per million; drawn for each link",
        "IEEE 802.3 allows 100",
    ),
    ParamSpec::optional(
        "seed",
        Kind::Count,
        "seed of these random draws; default: that of the run",
        "",
    ),
];

pub(super) fn spec() -> SectionSpec {
    SectionSpec::once("clocks", "Clocks of links.", vec![KEYS])
}

/// Gives every link the rate of its clock.
pub(in crate::network) fn skew(
    doc: &Document,
    topology: &mut Topology,
    run_seed: u64,
) -> Option<()> {
    doc.open(&spec()).take(|s| {
        let ppm = s.float("ppm")?;
        let seed = s.count_opt("seed")?.unwrap_or(run_seed);
        if !(0.0..=1_000.0).contains(&ppm) {
            return Err(ParamError::new(
                "ppm",
                format!("{ppm} is not a tolerance of a clock"),
                "expected 0 to 1000; IEEE 802.3 allows 100",
            ));
        }
        clocks::skew(topology, ppm, seed);
        Ok(())
    })
}

//! `[failures]`: links that are down from the start.

use xoff_net::topology::{Topology, failures};
use xoff_scenario::document::{Document, SectionSpec};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

const KEYS: &[ParamSpec] = &[
    ParamSpec::optional("links", Kind::Texts, "links that are down, `A1-C1`", ""),
    ParamSpec::new(
        "probability",
        Kind::Float,
        "0",
        "probability with which each link is down, 0 to 1",
        "GFC section 6.2.3: 0.05",
    ),
    ParamSpec::optional(
        "seed",
        Kind::Count,
        "seed of these random draws; default: that of the run",
        "",
    ),
    ParamSpec::new(
        "host_links",
        Kind::Flag,
        "false",
        "links of hosts may fail too",
        "GFC section 6.2.3 does not say",
    ),
];

pub(super) fn spec() -> SectionSpec {
    SectionSpec::once("failures", "Links that are down from the start.", vec![KEYS])
}

/// Marks the failed links of a network.
pub(in crate::network) fn fail(
    doc: &Document,
    topology: &mut Topology,
    run_seed: u64,
) -> Option<()> {
    doc.open(&spec()).take(|s| {
        let names = s.texts("links")?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        failures::fail_links(topology, &names)
            .map_err(|e| ParamError::new("links", e.what, e.hint))?;
        let p = s.float("probability")?;
        if !(0.0..=1.0).contains(&p) {
            return Err(ParamError::new(
                "probability",
                format!("{p} is not a probability"),
                "expected 0 to 1",
            ));
        }
        let seed = s.count_opt("seed")?.unwrap_or(run_seed);
        let host_links = s.flag("host_links")?;
        if p > 0.0 {
            failures::fail_random(topology, p, seed, host_links)?;
        }
        Ok(())
    })
}

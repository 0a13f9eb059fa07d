//! Switches in a circle, with hosts on each: the deadlock example of GFC Fig. 1(a).
//!
//! ```text
//!        H1
//!        S1
//!       /  \
//!     S3 -- S2
//!     H3    H2
//! ```

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::{DELAY, HOST_DELAY, HOST_RATE, RATE, chain};
use crate::topology::graph::Topology;

/// Description.
pub const DOC: &str =
    "switches S1, S2, ... in a circle, hosts H1, H2, ... numbered along it (GFC Fig. 1)";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("switches", Kind::Count, "3", "number of switches, 3 or more", "GFC Fig. 1(a)"),
    ParamSpec::new("hosts_per_switch", Kind::Count, "1", "hosts on each switch", "GFC Fig. 1(a)"),
    RATE,
    HOST_RATE,
    DELAY,
    HOST_DELAY,
];

/// Builds it. The links run S1-S2, S2-S3, ..., Sn-S1 and come before those of the hosts.
///
/// # Errors
/// An invalid value: its key, and the expected form.
pub fn build(v: &mut dyn Values) -> Result<Topology, ParamError> {
    let mut row = chain::Row::read(v, 3)?;
    for (i, &switch) in row.switches.iter().enumerate() {
        row.wire.join(&mut row.topology, switch, row.switches[(i + 1) % row.switches.len()]);
    }
    Ok(row.with_hosts())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn the_three_switch_ring_of_gfc_fig_1() {
        let t = build(&mut Defaults::of(PARAMS)).unwrap();
        let names: Vec<_> =
            t.links.iter().map(|l| format!("{}-{}", t.name(l.a), t.name(l.b))).collect();
        assert_eq!(names, ["S1-S2", "S2-S3", "S3-S1", "H1-S1", "H2-S2", "H3-S3"]);
        let e = build(&mut Defaults::of(PARAMS).with("switches", "2")).unwrap_err();
        assert_eq!((e.key.as_str(), e.hint.as_str()), ("switches", "expected 3 to 65534"));
    }
}

//! Fabrics by name. Each builder declares its parameters and turns them into a [`Topology`].

pub mod chain;
pub mod custom;
pub mod dual_tor;
pub mod dumbbell;
pub mod fat_tree;
pub mod hpn;
pub mod leaf_spine;
pub mod multi_plane;
pub mod nvl;
pub mod rail;
pub mod ring;
mod scale_up;
pub mod star;
pub mod tcd_fig2;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{NodeId, Rate, Span};

use crate::topology::graph::Topology;

/// A fabric that can be built from parameters alone.
#[derive(Clone, Copy)]
pub struct Builder {
    /// Name in a scenario, `kebab-case`.
    pub name: &'static str,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Parameters.
    pub params: &'static [ParamSpec],
    /// Builds it.
    pub build: fn(&mut dyn Values) -> Result<Topology, ParamError>,
}

/// Every fabric, in alphabetical order.
pub const BUILDERS: &[Builder] = &[
    Builder { name: "chain", doc: chain::DOC, params: chain::PARAMS, build: chain::build },
    Builder {
        name: "dual-tor",
        doc: dual_tor::DOC,
        params: dual_tor::PARAMS,
        build: dual_tor::build,
    },
    Builder {
        name: "dumbbell",
        doc: dumbbell::DOC,
        params: dumbbell::PARAMS,
        build: dumbbell::build,
    },
    Builder {
        name: "fat-tree",
        doc: fat_tree::DOC,
        params: fat_tree::PARAMS,
        build: fat_tree::build,
    },
    Builder { name: "hpn", doc: hpn::DOC, params: hpn::PARAMS, build: hpn::build },
    Builder {
        name: "leaf-spine",
        doc: leaf_spine::DOC,
        params: leaf_spine::PARAMS,
        build: leaf_spine::build,
    },
    Builder {
        name: "multi-plane",
        doc: multi_plane::DOC,
        params: multi_plane::PARAMS,
        build: multi_plane::build,
    },
    Builder { name: "nvl", doc: nvl::DOC, params: nvl::PARAMS, build: nvl::build },
    Builder { name: "rail", doc: rail::DOC, params: rail::PARAMS, build: rail::build },
    Builder { name: "ring", doc: ring::DOC, params: ring::PARAMS, build: ring::build },
    Builder { name: "star", doc: star::DOC, params: star::PARAMS, build: star::build },
    Builder {
        name: "tcd-fig2",
        doc: tcd_fig2::DOC,
        params: tcd_fig2::PARAMS,
        build: tcd_fig2::build,
    },
];

/// The builder of this name.
pub fn find(name: &str) -> Option<&'static Builder> {
    BUILDERS.iter().find(|b| b.name == name)
}

/// Rack of a switch that has no host below it directly.
pub const NO_RACK: u32 = u32::MAX;

/// Ports a switch may have: port numbers are 16 bits wide, and the last one represents none.
const PORTS_MAX: u64 = u16::MAX as u64 - 1;
/// Hosts a fabric may have: enough for a 128-port fat-tree, and small enough to refuse a slip of
/// the keyboard before it fills the memory.
const HOSTS_MAX: u64 = 1 << 20;

const RATE: ParamSpec = ParamSpec::new(
    "rate",
    Kind::Rate,
    "10Gbps",
    "rate of every link, unless another key says otherwise",
    "GFC section 6",
);
const DELAY: ParamSpec = ParamSpec::new(
    "delay",
    Kind::Span,
    "1us",
    "propagation delay of every link, unless another key says otherwise",
    "GFC section 6.2.2",
);
const HOST_RATE: ParamSpec = ParamSpec::optional(
    "host_rate",
    Kind::Rate,
    "rate of the links to the hosts; `rate` when absent",
    "",
);
const HOST_DELAY: ParamSpec = ParamSpec::optional(
    "host_delay",
    Kind::Span,
    "propagation delay of the links to the hosts; `delay` when absent",
    "",
);

const UPLINK_RATE: ParamSpec = ParamSpec::optional(
    "uplink_rate",
    Kind::Rate,
    "rate of the links between leaf and spine; `rate` when absent",
    "",
);
const UPLINK_DELAY: ParamSpec = ParamSpec::optional(
    "uplink_delay",
    Kind::Span,
    "propagation delay of the links between leaf and spine; `delay` when absent",
    "",
);

/// Rate and delay of a class of links.
#[derive(Clone, Copy)]
struct Wire {
    rate: Rate,
    delay: Span,
}

impl Wire {
    /// The wire of the keys `rate` and `delay`.
    fn read(v: &mut dyn Values) -> Result<Wire, ParamError> {
        let rate = v.rate("rate")?;
        Ok(Wire { rate: positive("rate", rate)?, delay: v.span("delay")? })
    }

    /// The wire of two optional keys, which fall back to this one.
    fn or(self, v: &mut dyn Values, rate_key: &str, delay_key: &str) -> Result<Wire, ParamError> {
        let rate = match v.rate_opt(rate_key)? {
            Some(rate) => positive(rate_key, rate)?,
            None => self.rate,
        };
        Ok(Wire { rate, delay: v.span_opt(delay_key)?.unwrap_or(self.delay) })
    }

    fn join(self, topology: &mut Topology, a: NodeId, b: NodeId) {
        topology.add_link(a, b, self.rate, self.delay);
    }
}

fn positive(key: &str, rate: Rate) -> Result<Rate, ParamError> {
    if rate == Rate::ZERO {
        return Err(ParamError::new(
            key,
            "the rate of the link is 0",
            "expected a rate above 0; for a broken link, use a failure",
        ));
    }
    Ok(rate)
}

/// A count within `min..=max`.
fn count(v: &mut dyn Values, key: &str, min: u64, max: u64) -> Result<u32, ParamError> {
    let n = v.count(key)?;
    if n < min || n > max {
        return Err(ParamError::new(
            key,
            format!("{n} is out of range"),
            format!("expected {min} to {max}"),
        ));
    }
    Ok(n as u32)
}

/// A count of at most `max`, where 0 leaves a part out.
fn count_or_none(v: &mut dyn Values, key: &str, max: u64) -> Result<u32, ParamError> {
    count(v, key, 0, max)
}

/// Refuses a switch of more than [`PORTS_MAX`] ports.
fn port_limit(key: &str, ports: u64) -> Result<(), ParamError> {
    if ports > PORTS_MAX {
        return Err(ParamError::new(
            key,
            format!("gives a switch {ports} ports"),
            format!("expected at most {PORTS_MAX} ports"),
        ));
    }
    Ok(())
}

/// Refuses a fabric of more than [`HOSTS_MAX`] hosts.
fn host_limit(key: &str, hosts: u64) -> Result<(), ParamError> {
    if hosts > HOSTS_MAX {
        return Err(ParamError::new(
            key,
            format!("gives {hosts} hosts"),
            format!("expected at most {HOSTS_MAX} hosts"),
        ));
    }
    Ok(())
}

/// Memory of a link with its two ports, while their lists grow [bytes].
const BYTES_PER_LINK: u64 = (size_of::<crate::topology::graph::Link>()
    + 4 * size_of::<crate::topology::graph::Port>()) as u64;

/// Rejects a number of links whose graph alone would not fit into memory.
fn link_limit(key: &str, links: u64) -> Result<(), ParamError> {
    xoff_units::params::memory::suffices(
        key,
        &format!("{links} links"),
        xoff_units::Bytes(links.saturating_mul(BYTES_PER_LINK)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NodeKind;
    use xoff_units::params::Defaults;

    #[test]
    fn every_builder_builds_from_its_defaults_with_unique_names() {
        for b in BUILDERS {
            let t = (b.build)(&mut Defaults::of(b.params))
                .unwrap_or_else(|e| panic!("{}: {e}", b.name));
            let names: std::collections::BTreeSet<_> = t.nodes.iter().map(|n| &n.name).collect();
            assert_eq!(names.len(), t.nodes.len(), "{}", b.name);
            assert!(t.hosts().count() >= 2, "{}", b.name);
            assert!(crate::topology::failures::is_connected_hosts(&t), "{}", b.name);
            assert_eq!(find(b.name).unwrap().doc, b.doc);
            assert!(t.hosts().all(|h| t.nodes[h.index()].level == 0));
            // Frames enter and leave the network at hosts, and pass switches between.
            assert!(t.links.iter().all(|l| {
                [l.a, l.b].iter().any(|&n| t.nodes[n.index()].kind == NodeKind::Switch)
            }));
        }
        assert!(find("torus").is_none());
    }

    #[test]
    fn a_rate_of_zero_is_refused_by_name() {
        for b in BUILDERS {
            for key in b.params.iter().filter(|p| p.kind == Kind::Rate).map(|p| p.key) {
                let e = (b.build)(&mut Defaults::of(b.params).with(key, "0Gbps")).unwrap_err();
                assert_eq!(e.key, key, "{}", b.name);
                assert!(e.hint.contains("above 0"));
            }
        }
    }

    #[test]
    fn a_count_of_zero_or_too_many_is_refused_by_name() {
        let without =
            [("hpn", "nvswitches"), ("nvl", "leaves"), ("rail", "nvswitches"), ("rail", "spines")];
        for b in BUILDERS {
            for key in b.params.iter().filter(|p| p.kind == Kind::Count).map(|p| p.key) {
                let may_be_left_out = without.contains(&(b.name, key));
                for bad in ["0", "99999999999"].into_iter().skip(may_be_left_out.into()) {
                    let e = (b.build)(&mut Defaults::of(b.params).with(key, bad)).unwrap_err();
                    assert_eq!(e.key, key, "{} {bad}", b.name);
                    assert!(!e.hint.is_empty());
                }
            }
        }
    }
}

//! `[link_retry]`: links that resend corrupted frames.

use xoff_mech::link_retry::{Config, REGISTRY};
use xoff_net::topology::Topology;
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_sim::Model;
use xoff_units::params::ParamError;

use super::host::Host;
use super::{Context, Part, Read, Sections};

/// `None`: links resend nothing.
pub type Value = Option<Config>;

impl Part for Option<Config> {
    fn specs() -> Vec<SectionSpec> {
        let kinds = REGISTRY.iter().map(|e| KindSpec {
            name: e.name,
            doc: e.about,
            specs: e.params.to_vec(),
        });
        vec![SectionSpec::once("link_retry", "Links that resend corrupted frames.", vec![]).kinds(
            "kind",
            Some("none"),
            kinds.collect(),
        )]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Self> {
        Read::each(cx, |s| {
            let kind = s.kind().unwrap_or("none");
            let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
            (entry.read)(s)
        })
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let Some(host) = all.host.value() else { return };
        all.link_retry.check(|s, retry| {
            retry.as_ref().map_or(Ok(()), |retry| fits(s, retry, (cx.topology, host)))
        });
    }

    fn set(self, model: &mut Model<'static>) {
        model.faults.link_retry = self;
    }
}

/// Rejects a retry that no link could use, and warns of settings that make it slow.
fn fits(
    s: &mut Section<'_>,
    retry: &Config,
    (topology, host): (&Topology, &Host),
) -> Result<(), ParamError> {
    let mtu = host.longest_frame();
    let mut kinds: Vec<_> = topology.links.iter().map(|l| (l.rate, l.delay)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for (rate, delay) in kinds {
        retry.on(rate, delay, mtu)?;
        retry.unmet(rate, delay, mtu).iter().for_each(|e| s.warn(e));
    }
    Ok(())
}

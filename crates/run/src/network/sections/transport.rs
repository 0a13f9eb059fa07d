//! `[transport]`: flows that are connections.

use xoff_mech::transport::REGISTRY;
use xoff_mech::transport::tcp::Params;
use xoff_net::topology::Topology;
use xoff_net::workload::Flows;
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_units::Bytes;
use xoff_units::params::ParamError;

use super::host::Host;
use super::{Context, Part, Read, Sections};

/// `None`: flows are no connections.
pub type Value = Option<Params>;

impl Part for Option<Params> {
    fn specs() -> Vec<SectionSpec> {
        let kinds = REGISTRY.iter().map(|e| KindSpec {
            name: e.name,
            doc: e.about,
            specs: e.params.to_vec(),
        });
        vec![SectionSpec::once("transport", "Transport of every flow.", vec![]).kinds(
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
        let (Some(host), Some(flows), Some(rate_control)) =
            (all.host.value(), all.flows.value(), all.rate_control.value())
        else {
            return;
        };
        all.transport.check(|s, config| {
            config
                .as_ref()
                .map_or(Ok(()), |c| fits(s, c, (cx.topology, host, flows), rate_control.name))
        });
    }
}

/// Segments fit in frames, nothing else controls the flows from end to end, and no message takes
/// over the window of another one.
fn fits(
    s: &Section<'_>,
    c: &Params,
    (topology, host, flows): (&Topology, &Host, &Flows),
    rate_control: &str,
) -> Result<(), ParamError> {
    if let Some(mss) = c.mss.filter(|mss| mss.0 != u64::from(host.nic.payload_max)) {
        let what = format!(
            "segments of {mss} do not fit in frames with room for {}",
            Bytes(u64::from(host.nic.payload_max))
        );
        return Err(ParamError::new("mss", what, "expected at most host.frame_max - host.header"));
    }
    let refuse = |what: &str, hint: &str| Err(ParamError::new("kind", what, hint));
    if rate_control != "none" {
        return refuse(
            "the scenario has [transport] and [rate_control], but connections already have a congestion window",
            "remove [rate_control] or [transport]",
        );
    }
    if host.nic.shared_connections {
        return refuse(
            "[transport] gives each message its own connection, but host.connections shares connections",
            "remove host.connections or [transport]",
        );
    }
    if flows.jobs.is_some() || !flows.handed_in.is_empty() {
        let hint = "remove [transport]; such messages use [rate_control]";
        return refuse(
            "messages of jobs and of other programs use queue pairs, but [transport] gives each flow its own connection",
            hint,
        );
    }
    if flows.all_listed() && flows.flows.iter().all(|f| !f.controlled) {
        s.has_no_effect(
            "kind",
            "every flow has rate_control = false: no flow is a connection",
            "remove [transport], or rate_control = false",
        );
    }
    let longest = topology.links.iter().map(|l| l.delay).max().unwrap_or_default();
    if c.rto_min <= longest * 2 {
        let what = format!("a timeout of {} is shorter than a link with {longest}", c.rto_min);
        return Err(ParamError::new(
            "rto_min",
            what,
            "expected more than a round trip with queues",
        ));
    }
    Ok(())
}

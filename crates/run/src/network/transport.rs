//! `[transport]`: flows that are connections.

use xoff_mech::transport::{Config, REGISTRY};
use xoff_net::topology::Topology;
use xoff_net::workload::Flows;
use xoff_scenario::document::Section;
use xoff_units::Bytes;
use xoff_units::params::ParamError;

use super::host::Host;

/// Reads `[transport]`; `None` in it: flows are no connections.
pub(super) fn read_transport(s: &mut Section<'_>) -> Result<Option<Config>, ParamError> {
    let kind = s.kind().unwrap_or("none");
    let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    (entry.read)(s)
}

/// Segments fit in frames, nothing else controls the flows from end to end, and no message takes over the window of another one.
pub(super) fn transport_fits(
    s: &Section<'_>,
    (topology, host, flows): (&Topology, &Host, &Flows),
    rate_control: &str,
) -> Result<(), ParamError> {
    let Some(c) = &host.connection else { return Ok(()) };
    if let Some(mss) = c.mss.filter(|mss| mss.0 != u64::from(host.payload_max)) {
        let what = format!("segments of {mss} do not fit in frames with room for {}", Bytes(u64::from(host.payload_max)));
        return Err(ParamError::new("mss", what, "expected at most host.frame_max - host.header"));
    }
    let refuse = |what: &str, hint: &str| Err(ParamError::new("kind", what, hint));
    if rate_control != "none" {
        return refuse(
            "the scenario has [transport] and [rate_control], but connections already have a congestion window",
            "remove [rate_control] or [transport]",
        );
    }
    if host.shared_connections {
        return refuse(
            "[transport] gives each message its own connection, but host.connections shares connections",
            "remove host.connections or [transport]",
        );
    }
    if flows.jobs.is_some() || !flows.handed_in.is_empty() {
        let hint = "remove [transport]; such messages use [rate_control]";
        return refuse("messages of jobs and of other programs use queue pairs, but [transport] gives each flow its own connection", hint);
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
        return Err(ParamError::new("rto_min", what, "expected more than a round trip with queues"));
    }
    Ok(())
}

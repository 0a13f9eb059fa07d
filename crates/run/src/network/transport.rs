//! `[transport]`: flows that are connections.

use xoff_mech::transport::{Config, REGISTRY};
use xoff_params::ParamError;
use xoff_scenario::document::Section;
use xoff_topology::Topology;
use xoff_units::Bytes;
use xoff_workload::Flows;

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
        let what = format!("segments of {mss} in frames that hold {}", Bytes(u64::from(host.payload_max)));
        return Err(ParamError::new("mss", what, "expected at most host.frame_max - host.header"));
    }
    let refuse = |what: &str, hint: &str| Err(ParamError::new("kind", what, hint));
    if rate_control != "none" {
        return refuse("connections have a congestion window, and a rate control besides", "leave out [rate_control] or [transport]");
    }
    if host.shared_connections {
        return refuse(
            "each message is a connection of its own, and host.connections shares them",
            "leave out host.connections or [transport]",
        );
    }
    if flows.jobs.is_some() || !flows.handed_in.is_empty() {
        let hint = "leave out [transport]; such messages have [rate_control]";
        return refuse("messages of jobs and of other programs go by queue pairs, and each flow is a connection of its own", hint);
    }
    if flows.all_listed() && flows.flows.iter().all(|f| !f.controlled) {
        s.has_no_effect(
            "kind",
            "every flow has rate_control = false, and is no connection",
            "leave out [transport], or rate_control = false",
        );
    }
    let longest = topology.links.iter().map(|l| l.delay).max().unwrap_or_default();
    if c.rto_min <= longest * 2 {
        let what = format!("a timeout of {} where a link takes {longest}", c.rto_min);
        return Err(ParamError::new("rto_min", what, "expected more than a round trip with its queues"));
    }
    Ok(())
}

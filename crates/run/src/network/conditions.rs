//! Warnings where a published condition does not hold, or where parts do not fit together.

use std::collections::BTreeMap;

use xoff_analysis::plan::{Configured, Pool, configured};
use xoff_mech::detection::{self, Detection};
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::{self, RateControlKind, RecordFormat};
use xoff_mech::{LinkFacts, Unmet};
use xoff_net::topology::{NodeId, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_node::{DisciplineKind, Transport};
use xoff_scenario::document::Section;
use xoff_scenario::{Problem, Problems};
use xoff_units::params::{Defaults, ParamError};
use xoff_units::{Bytes, Span};

use super::host::Host;

/// The most flows of one host and priority that never end: all of them may be congested, behind its link, at once.
pub(crate) fn endless_flows(flows: &Flows) -> u64 {
    let mut by_source: BTreeMap<(u32, u8), u64> = BTreeMap::new();
    for f in flows.flows.iter().filter(|f| f.size == UNLIMITED) {
        *by_source.entry((f.src, f.priority)).or_default() += 1;
    }
    by_source.into_values().max().unwrap_or(0)
}

/// Detections that are such, for a hint: `set detection.kind = "red" or "tcd"`.
pub(crate) fn detections(which: impl Fn(&Detection) -> bool) -> String {
    let of = |e: &&detection::Entry| (e.read)(&mut Defaults::of(e.params)).is_ok_and(|d| which(&d));
    choice("detection.kind", detection::REGISTRY.iter().filter(of).map(|e| e.name))
}

/// Rate controls that are such.
fn rate_controls(which: impl Fn(&RateControlKind) -> bool) -> String {
    let of = |e: &&rate_control::Entry| (e.read)(&mut Defaults::of(e.params)).is_ok_and(|r| which(&r));
    choice("rate_control.kind", rate_control::REGISTRY.iter().filter(of).map(|e| e.name))
}

fn choice<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("\"{n}\"")).collect();
    format!("set {key} = {}", names.join(" or "))
}

/// Conditions of a flow control on a link of a host that sends this number of flows at once.
pub(crate) fn warn(name: &str, link: &LinkFacts, fc: &FlowControl, flows: u64, pool: Option<Pool>, warnings: &mut Problems) {
    for w in configured(name, fc, &Configured { link: *link, flows, pool }) {
        let (problem, fix) = w.parts();
        let fix = fix.map_or(String::new(), |fix| format!("{fix}; "));
        let hint = format!("{fix}the condition is {} ({})", w.condition, w.source);
        warnings.push(Problem::new(format!("{name} on {} links: {problem}", link.rate), hint).warning());
    }
}

/// Conditions that a mechanism itself knows not to hold.
pub(crate) fn warn_of(unmet: Vec<Unmet>, warnings: &mut Problems) {
    unmet.into_iter().for_each(|u| warnings.push(Problem::new(u.what, u.hint).warning()));
}

/// Records of the way for which frames have no room: they would travel for nothing, and the ideal times of the run would be those of
/// shorter frames than those of a run with room.
pub(crate) fn warn_of_header((name, rate_control): (&str, &RateControlKind), header: u32, warnings: &mut Problems) {
    if rate_control.telemetry().is_some() && header < RecordFormat::HEADER {
        let what = format!(
            "{name}: frames carry up to {} B of records, but host.header = \"{header}B\" is smaller: completion and ideal times \
                     are too short",
            RecordFormat::HEADER
        );
        let hint = format!("set host.header = \"{}B\", also in runs that you compare with this one", RecordFormat::HEADER);
        warnings.push(Problem::new(what, hint).warning());
    }
}

/// Entry ports, where more of them share an egress than the flow control is made for, or where a frame does not wait at its egress.
pub(crate) fn warn_of_entry_ports(name: &str, fc: &FlowControl, topology: &Topology, discipline: DisciplineKind, warnings: &mut Problems) {
    let planned = fc.entry_ports();
    if planned == 0 {
        return;
    }
    let mut warn = |what: String, hint: &str| warnings.push(Problem::new(what, hint).warning());
    if discipline == DisciplineKind::InputFifo {
        let what =
            format!("entry_ports of {name} measures egress queues; under input-fifo those queues also delay frames for other egresses");
        warn(what, "set discipline = \"fifo\", \"round-robin\" or \"drr\", or entry_ports = 0");
    }
    let tiers = topology.distances_to_hosts();
    let entries = |n: NodeId| {
        let ports = &topology.nodes[n as usize].ports;
        let entry = ports.iter().filter(|p| tiers[p.peer as usize] < tiers[n as usize]).count();
        // A switch without other ports has no transit to protect.
        if entry < ports.len() { entry as u64 } else { 0 }
    };
    if let Some((n, most)) = topology.switches().map(|n| (n, entries(n))).max_by_key(|(n, most)| (*most, std::cmp::Reverse(*n)))
        && most > planned
    {
        let what =
            format!("entry_ports = {planned}, but {} has {most} entry ports, so transit traffic may lose its share", topology.name(n));
        warn(what, "set it to the number of entry ports that can send to one egress at the same time");
    }
}

/// Retransmission timers that expire before any acknowledgement can be in.
pub(crate) fn warn_of_timers(s: &Section<'_>, host: &Host, flows: &Flows, topology: &Topology) {
    let (Some(recovery), Transport::Acks { ack_len, .. }) = (host.recovery, &host.transport) else { return };
    // Of the first frame and its acknowledgement over the links at both ends: those between them add to it.
    let round_trip = |f: &Flow| {
        let ends = [topology.link_at(f.src, 0), topology.link_at(f.dst, 0)];
        let ends = if std::ptr::eq(ends[0], ends[1]) { &ends[..1] } else { &ends[..] };
        let frame = Bytes(f.size.min(host.payload_max.into()) + u64::from(host.header));
        ends.iter()
            .map(|l| l.rate.time_for(frame) + l.rate.time_for(Bytes((*ack_len).into())) + l.delay * 2)
            .fold(Span::ZERO, |sum, s| sum + s)
    };
    let Some((longest, f)) = flows.flows.iter().map(|f| (round_trip(f), f)).max_by_key(|(trip, _)| *trip) else { return };
    let mut keys = vec![("rto", recovery.timer)];
    keys.extend((recovery.timer_of_few != recovery.timer).then_some(("rto_low", recovery.timer_of_few)));
    for (key, timer) in keys.into_iter().filter(|(_, timer)| *timer < longest) {
        let (src, dst) = (topology.name(f.src), topology.name(f.dst));
        let what = format!(
            "{key} {timer} is shorter than {longest}, the least round trip from {src} to {dst}: hosts repeat frames that are not lost"
        );
        s.warn(&ParamError::new(key, what, "expected more than a round trip with queues and pauses"));
    }
}

/// Marks that no rate control reads, and rules for marks that never come (TCD section 4.1, Table 1).
pub(crate) fn warn_of_marks(
    (detection_name, detection): (&str, &Detection),
    (name, rate_control): (&str, &RateControlKind),
    warnings: &mut Problems,
) {
    let ternary = detection.has_states();
    let mut warn = |what: String, hint: String| warnings.push(Problem::new(what, hint).warning());
    match rate_control {
        RateControlKind::None | RateControlKind::Custom(_) => {}
        _ if ternary && !rate_control.knows_undetermined() => {
            let what = format!("detection {detection_name} marks UE, which {name} treats like no mark");
            let hint = "set rate_control.tcd = true where the rate control has it; UE is code point 10, ECT(0) of RFC 3168";
            warn(what, hint.into());
        }
        _ if !ternary && rate_control.knows_undetermined() => {
            let what = format!("{name} follows TCD's rules, but no port marks UE: it cuts the rate of every flow more deeply");
            warn(what, detections(Detection::has_states));
        }
        _ if rate_control.reads_marks() && matches!(detection, Detection::None) => {
            let what = format!("rate_control {name} needs marks, but no port marks without a detection: no rate ever changes");
            warn(what, detections(|d| !matches!(d, Detection::None) && !d.sends_cnms() && !d.has_states()));
        }
        _ => {}
    }
}

/// CNMs that no sender reacts to, a rate control that no switch sends anything.
pub(crate) fn warn_of_cnms(
    (name, detection): (&str, &Detection),
    (rate_name, rate_control): (&str, &RateControlKind),
    warnings: &mut Problems,
) {
    let mut warn = |what: String, hint: String| warnings.push(Problem::new(what, hint).warning());
    let custom = matches!(rate_control, RateControlKind::Custom(_));
    if detection.sends_cnms() && !rate_control.wants_quantized() && !custom {
        warn(
            format!("detection {name} sends CNMs with a value, which rate_control {rate_name} ignores"),
            rate_controls(RateControlKind::wants_quantized),
        );
    } else if !detection.sends_cnms() && rate_control.wants_quantized() && !custom {
        warn(
            format!("rate_control {rate_name} needs CNMs with a value, which detection {name} never sends: no rate ever changes"),
            detections(Detection::sends_cnms),
        );
    }
}

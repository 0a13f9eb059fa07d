//! Warnings where a published condition does not hold, or where parts do not fit together.

use std::collections::BTreeMap;

use xoff_analysis::plan::{Configured, Pool, configured};
use xoff_mech::LinkFacts;
use xoff_mech::detection::{Detection, Side};
use xoff_mech::flow_control::{FlowControl, cbfc, pfc};
use xoff_mech::rate_control::{RateControlKind, RecordFormat, dcqcn};
use xoff_scenario::{Problem, Problems};
use xoff_units::Bytes;
use xoff_workload::{Flows, UNLIMITED};

/// The most flows of one host and priority that never end: all of them may be congested, behind its link, at once.
pub(crate) fn endless_flows(flows: &Flows) -> u64 {
    let mut by_source: BTreeMap<(u32, u8), u64> = BTreeMap::new();
    for f in flows.flows.iter().filter(|f| f.size == UNLIMITED) {
        *by_source.entry((f.src, f.priority)).or_default() += 1;
    }
    by_source.into_values().max().unwrap_or(0)
}

/// Conditions of a flow control on a link of a host that sends so many flows at once.
pub(crate) fn warn(name: &str, link: &LinkFacts, fc: &FlowControl, flows: u64, pool: Option<Pool>, warnings: &mut Problems) {
    for w in configured(name, fc, &Configured { link: *link, flows, pool }) {
        warnings.push(
            Problem::new(format!("{} on {} links: {}", w.condition, link.rate, w.text), format!("condition of {}", w.source)).warning(),
        );
    }
}

/// Credits count whole blocks: frames that leave much of their last one empty get less than the buffer promises. Only where the rate of
/// the link suffers, and the plain condition on the buffer does not say so already.
pub(crate) fn warn_of_blocks(link: &LinkFacts, fc: &FlowControl, warnings: &mut Problems) {
    let FlowControl::Cbfc(p) = fc else { return };
    let per_frame = cbfc::blocks(link.mtu).max(1);
    let frames = p.buffer_blocks / per_frame;
    let (carried, need) = (link.mtu * frames, link.rate.bytes_in(p.period + fc.control_loop(link).tau));
    if carried < need && Bytes(p.buffer_blocks * cbfc::BLOCK) >= need {
        warnings.push(
            Problem::new(
                format!(
                    "credits carry C (T + tau) on {} links: {} blocks are {frames} frames of {}, {carried}, and {need} are needed",
                    link.rate, p.buffer_blocks, link.mtu
                ),
                format!("a frame takes {per_frame} whole blocks of {} B: a larger buffer, or frames that fill them", cbfc::BLOCK),
            )
            .warning(),
        );
    }
}

/// Records of the way for which frames have no room: they would travel for nothing, and the ideal times of the run would be those of
/// shorter frames than those of a run with room.
pub(crate) fn warn_of_header((name, rate_control): (&str, &RateControlKind), header: u32, warnings: &mut Problems) {
    if rate_control.telemetry().is_some() && header < RecordFormat::HEADER {
        let what =
            format!("{name}: frames carry up to {} B of records, and host.header = \"{header}B\" counts fewer", RecordFormat::HEADER);
        let hint = format!(
            "set host.header = \"{}B\", in the runs that it is compared with as well: completion and ideal times depend on it",
            RecordFormat::HEADER
        );
        warnings.push(Problem::new(what, hint).warning());
    }
}

/// Marks that nobody understands, and rules for marks that never come (TCD section 4.1, Table 1).
pub(crate) fn warn_of_marks(detection: &Detection, (name, rate_control): (&str, &RateControlKind), warnings: &mut Problems) {
    let ternary = matches!(detection, Detection::Tcd(_));
    let mut warn = |what: String, hint: &str| warnings.push(Problem::new(what, hint).warning());
    match rate_control {
        RateControlKind::None | RateControlKind::Custom(_) => {}
        _ if ternary && !rate_control.knows_undetermined() => {
            let what = format!("detection tcd marks UE, which {name} does not tell from no mark");
            warn(what, "its code point, 10, is ECT(0) of RFC 3168; rate_control.tcd = true follows TCD's rules, where there are any");
        }
        _ if !ternary && rate_control.knows_undetermined() => {
            let what = format!("{name} follows TCD's rules, but no port marks UE");
            warn(what, "its cuts are deeper and nothing is spared them; set detection.kind = \"tcd\"");
        }
        _ if rate_control.is_told_by_marks() && matches!(detection, Detection::None) => {
            let what = format!("rate_control {name} waits for marks, and without detection no port marks: no rate will ever change");
            warn(what, "set detection.kind = \"red\"");
        }
        _ => {}
    }
}

/// Notices that no sender reacts to, a rate control that nobody tells anything, and set points that flow control keeps out of reach.
pub(crate) fn warn_of_notices(
    (name, detection): (&str, &Detection),
    (rate_name, rate_control): (&str, &RateControlKind),
    links: &[(LinkFacts, FlowControl)],
    warnings: &mut Problems,
) {
    let mut warn = |what: String, hint: String| warnings.push(Problem::new(what, hint).warning());
    let custom = matches!(rate_control, RateControlKind::Custom(_));
    if detection.notifies() && !rate_control.wants_quantized() && !custom {
        warn(
            format!("detection {name} sends CNMs with a value, which rate_control {rate_name} does not use"),
            "set rate_control.kind = \"qcn\"".into(),
        );
    } else if !detection.notifies() && rate_control.wants_quantized() && !custom {
        warn(
            format!("rate_control {rate_name} waits for values that detection {name} never sends: no rate will ever change"),
            "set detection.kind = \"qcn\"".into(),
        );
    }
    let p = match detection {
        Detection::Qcn(p) => p,
        Detection::AfQcn(p) => &p.qcn,
        _ => return,
    };
    let at = |link: &LinkFacts| format!("on {} links", link.rate);
    for (link, flow_control) in links {
        if p.sample_base < link.mtu {
            warn(
                format!("I_s >= MTU {}: {} < {}, every frame is a sample", at(link), p.sample_base, link.mtu),
                "802.1Q: cpMinSampleBase is 150 KB, and 10 KB at least".into(),
            );
        }
        let FlowControl::Pfc(pfc) = flow_control else {
            if p.keep_alive {
                let what = format!("keep_alive samples an ingress that has paused its peer, and {} no ingress pauses", at(link));
                warn(what, "RZ 3880 section IV: set flow_control.kind = \"pfc\", or leave keep_alive out".into());
            }
            continue;
        };
        let pfc::Threshold::Static { xoff, .. } = pfc.threshold else { continue };
        if p.setpoint >= xoff {
            let what = if p.placement.has(Side::Ingress) { "an ingress" } else { "a queue that one ingress fills" };
            warn(
                format!("Q_eq < XOFF {}: {} >= {xoff}, {what} is paused before it is congested", at(link), p.setpoint),
                "RZ 3880 section II-B: the set point keeps the backlog below the threshold of PAUSE".into(),
            );
        }
    }
}

/// Marks that come after the pause: behind one ingress a queue grows no further than XOFF before the sources are stopped.
pub(crate) fn warn_of_late_marks(detection: &Detection, links: &[(LinkFacts, FlowControl)], egress: Bytes, warnings: &mut Problems) {
    let (first, red) = match detection {
        Detection::Red(red) => (red.kmin, Some(red)),
        Detection::Tcd(p) => (p.red.kmin, Some(&p.red)),
        Detection::NpEcn(p) => (p.threshold, None),
        _ => return,
    };
    let name = if red.is_some() { "kmin" } else { "threshold" };
    let mut warn = |what: String| warnings.push(Problem::new(what, "lower thresholds, or a larger buffer; see `xoff plan`").warning());
    if first >= egress {
        return warn(format!("{name} < all that can wait for an egress: {first} >= {egress}, no frame is ever marked"));
    }
    for (link, flow_control) in links {
        let FlowControl::Pfc(pfc::Params { threshold: pfc::Threshold::Static { xoff, .. }, .. }) = flow_control else { continue };
        let late = "a queue that one ingress fills";
        if first >= *xoff {
            warn(format!("{name} < XOFF on {} links: {first} >= {xoff}, {late} is paused before its first frame is marked", link.rate));
        } else if let Some(red) = red.filter(|r| r.kmax >= *xoff) {
            let most = red.pmax * (xoff.0 - red.kmin.0) as f64 / (red.kmax.0 - red.kmin.0) as f64;
            warn(format!(
                "kmax < XOFF on {} links: {} >= {xoff}, {late} is paused while at most {most:.4} of its frames are marked",
                link.rate, red.kmax
            ));
        }
    }
}

/// Constants of DCQCN that undo each other.
pub(crate) fn warn_of_constants(rate_control: &RateControlKind, links: &[(LinkFacts, FlowControl)], warnings: &mut Problems) {
    let RateControlKind::Dcqcn(p) = rate_control else { return };
    let mut warn = |what: String, hint: &str| warnings.push(Problem::new(what, hint).warning());
    if p.variant != dcqcn::Variant::Hpcc && p.alpha_timer <= p.cnp_interval {
        let what = format!(
            "alpha_timer > cnp_interval: {} <= {}, alpha decays between two CNPs of a lasting congestion",
            p.alpha_timer, p.cnp_interval
        );
        warn(what, "SIGCOMM'15: K = 55 us, N = 50 us");
    }
    let slowest = links.iter().map(|(link, _)| link.rate).min();
    if let Some(rate) = slowest.filter(|rate| p.min_rate >= *rate) {
        warn(format!("min_rate < C: {} >= {rate}, no cut has an effect on such a link", p.min_rate), "a lower min_rate");
    }
}

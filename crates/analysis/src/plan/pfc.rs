//! PFC: XOFF, XON and the headroom above XOFF (IEEE 802.1Q, clause 36 and Annex N).
//!
//! ```text
//!   0 ------- XON -- 2 MTU -- XOFF ---- headroom ---- B        XOFF + headroom <= B
//! ```
//!
//! Thresholds and the headroom of the worst case are those of a run,
//! [`xoff_mech::flow_control::pfc`].

use xoff_mech::flow_control::{FlowControl, pfc};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Configured, Parameters, pause_lasts, shared};
use super::entry::{Derived, Entry, OnOff, conditions_of};
use super::evidence::{Rule, Rules, rules};
use super::headroom::Basis;
use super::input::PlanInput;
use super::link::{Link, bytes_ceil};
use super::output::{Answer, Plan, PlanRow, Warning};

pub use xoff_mech::flow_control::pfc::hysteresis;

/// PFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "pfc",
    plan,
    conditions,
    configured,
    derived,
    on_off: Some(OnOff { formula: of_range, warnings: |_, _, _| Ok(Vec::new()) }),
    ..Entry::PLAIN
};

/// B_1 - B_0 of TCD.
fn of_range(input: &PlanInput) -> (&'static str, &'static str) {
    let given = input.xoff.and(input.xon).is_some();
    (if given { "XOFF - XON" } else { "2 MTU" }, "TCD section 4.3")
}

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::Pfc(p) = fc else { return Vec::new() };
    let pfc::Threshold::Static { xoff, xon } = p.threshold else { return Vec::new() };
    vec![("XOFF", "xoff", xoff.0), ("XON", "xon", xon.0)]
}

/// Length of `quanta` pause quanta at `rate`, 512 bit times of the port each -- IEEE 802.3 Annex
/// 31B.
pub fn pause(rate: Rate, quanta: u16) -> Span {
    pfc::duration(quanta.into(), rate)
}

/// Settings of one port for one priority [bytes].
struct Sizes {
    headroom: Bytes,
    /// The smallest buffer without loss, and that without an idle link.
    lossless: Bytes,
    full_rate: Bytes,
    buffer: Bytes,
    xoff: Bytes,
    xon: Bytes,
}

impl Sizes {
    /// Refusals come before anything is derived, so that nothing can go negative.
    fn of(input: &PlanInput, link: &Link, headroom: Bytes) -> Result<Sizes, ParamError> {
        let lossless = headroom + hysteresis(link.mtu);
        let full_rate = lossless + link.c_tau(1);
        let buffer = input.buffer.unwrap_or(input.xoff.map_or(full_rate, |xoff| xoff + headroom));
        if input.xoff.is_none() && buffer < lossless {
            return Err(ParamError::new(
                "buffer",
                format!(
                    "{buffer} cannot hold the headroom of {headroom} and 2 MTU between XOFF and XON"
                ),
                format!("expected at least {} bytes, or another rule for the headroom", lossless.0),
            ));
        }
        let (xoff, xon) =
            pfc::thresholds(&link.control_loop(buffer), headroom, input.xoff, input.xon);
        if xon > xoff {
            return Err(ParamError::new(
                "xon",
                format!("XON {xon} is above XOFF {xoff}"),
                "expected XON <= XOFF",
            ));
        }
        Ok(Sizes { headroom, lossless, full_rate, buffer, xoff, xon })
    }

    fn rows(&self, input: &PlanInput) -> [PlanRow; 7] {
        let given = |yes: bool, formula: &'static str| if yes { "given" } else { formula };
        let of_port = self.headroom * input.priorities;
        [
            PlanRow::bytes(
                "smallest buffer without loss",
                "B_min",
                self.lossless,
                "H + 2 MTU",
                "GFC sections 4.1, 4.2",
            ),
            PlanRow::bytes(
                "smallest buffer without loss or idle link",
                "B_full",
                self.full_rate,
                "H + 2 MTU + C tau",
                "drain at C while a resume takes effect",
            ),
            PlanRow::bytes(
                "ingress buffer",
                "B",
                self.buffer,
                given(input.buffer.is_some(), "B_full, or XOFF + H"),
                "",
            ),
            PlanRow::bytes(
                "pause threshold",
                "XOFF",
                self.xoff,
                given(input.xoff.is_some(), "B - H"),
                "XOFF + H <= B",
            ),
            PlanRow::bytes(
                "resume threshold",
                "XON",
                self.xon,
                given(input.xon.is_some(), "XOFF - 2 MTU"),
                "GFC section 4.1",
            ),
            PlanRow::bytes(
                "headroom of one port",
                "H port",
                of_port,
                "H x priorities",
                "one headroom per lossless priority",
            ),
            PlanRow::bytes(
                "headroom of the switch",
                "H switch",
                of_port * input.ports,
                "H x priorities x ports",
                "",
            ),
        ]
    }
}

/// Plans PFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::with_messages(input);
    let rules = rules(input, &link);
    let chosen = choose(input, &link, &rules)?;
    let sizes = Sizes::of(input, &link, chosen.bytes)?;

    let mut rows = link.rows();
    rows.extend(rules.all.iter().map(|r| r.row.clone()));
    rows.push(PlanRow::bytes(
        "headroom",
        "H",
        sizes.headroom,
        chosen.row.formula,
        chosen.row.source,
    ));
    rows.extend(sizes.rows(input));
    rows.extend(pauses(link.rate));

    let mut answer = Answer::of(&rows, &["XOFF", "XON", "H", "B"]);
    let switch = input.priorities * input.ports > 1;
    answer.set.extend(rows.iter().filter(|r| switch && r.symbol == "H switch").cloned());
    answer.why = why(input, &link, &rules, chosen, &sizes);
    answer.check = check(&link, &rules, chosen);
    answer.apply = apply(&rules, chosen, &sizes);
    let parameters = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer: sizes.buffer,
        xoff: Some(sizes.xoff),
        xon: Some(sizes.xon),
        headroom: Some(sizes.headroom),
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer,
        evidence: rules.against(chosen),
        rows,
        tables: Vec::new(),
        warnings: conditions_of(conditions, &parameters),
    })
}

fn choose<'r>(input: &PlanInput, link: &Link, rules: &'r Rules) -> Result<&'r Rule, ParamError> {
    rules.choose(&input.headroom).ok_or_else(|| {
        ParamError::new(
            "headroom",
            format!("802.1Q Annex N has no published response time for {}", link.rate),
            "choose another rule, or a rate of 10, 25, 40, 50, 100, 200 or 400 Gbps",
        )
    })
}

fn pauses(rate: Rate) -> [PlanRow; 3] {
    let longest = pause(rate, u16::MAX);
    let annex = "IEEE 802.3 Annex 31B";
    [
        PlanRow::span("pause quantum", "quantum", pause(rate, 1), "512 bit times", annex),
        PlanRow::span("longest pause", "65535 quanta", longest, "65535 x 512 bit times", annex),
        PlanRow::span(
            "refresh while above XON",
            "refresh",
            longest / 2,
            "half of the longest pause",
            "keeps a pause from expiring",
        ),
    ]
}

/// Reasons for these numbers.
fn why(input: &PlanInput, link: &Link, rules: &Rules, chosen: &Rule, sizes: &Sizes) -> Vec<String> {
    let exact = rules.exact();
    let standard = rules.all.iter().find(|r| r.choice == "802.1q");
    let own = format!(
        "C tau + MTU = {} B, the exact rule for a peer that reacts within t_r = {}",
        exact.bytes.0, link.t_r
    );
    let annex = |r: &Rule| {
        let interpolated = rules.annex.is_some_and(|a| a.basis == Basis::Interpolated);
        format!(
            "802.1Q Annex N = {} B{}",
            r.bytes.0,
            if interpolated { " (interface delay interpolated)" } else { "" }
        )
    };
    let decided = match (input.headroom.as_str(), standard) {
        ("safe", Some(r)) if r.bytes > exact.bytes => format!("{}; it exceeds {own}", annex(r)),
        ("safe", Some(r)) => format!("{own}; {} is no more", annex(r)),
        ("safe", None) => format!("{own}; 802.1Q Annex N has no delays for {}", link.rate),
        (name, _) => format!("--headroom {name} gives {} B; {own}", chosen.bytes.0),
    };
    let mut why = vec![format!("headroom: {decided}")];
    let others: Vec<u64> =
        rules.all.iter().map(|r| r.bytes.0).filter(|b| *b != chosen.bytes.0).collect();
    if let Some((least, most)) = others.iter().min().zip(others.iter().max()) {
        why.push(format!("{} other rules give {least} to {most} B: see the table", others.len()));
    }
    if chosen.bytes >= exact.bytes {
        let least = sizes.lossless.0;
        why.push(format!("buffer: {least} B is enough against loss, but the link may idle before a resume takes effect"));
    }
    let (h, priorities, ports) = (sizes.headroom.0, input.priorities, input.ports);
    if priorities * ports > 1 {
        let total = (sizes.headroom * priorities * ports).0;
        why.push(format!(
            "headroom of the switch: {h} B x {} x {} = {total} B",
            counted(priorities, "priority", "priorities"),
            counted(ports, "port", "ports")
        ));
    }
    why
}

/// `1 port`, `2 ports`.
fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// Assumptions of PFC next to those of every plan.
fn check(link: &Link, rules: &Rules, chosen: &Rule) -> Vec<String> {
    let mut check = Vec::new();
    if let Some(slower) = rules.annex.and_then(|a| link.slower(a.processing(link.rate))) {
        let needed = pfc::headroom(&slower.control_loop(Bytes::ZERO));
        let option = slower.t_r.compact();
        check.push(format!(
            "peer: 802.1Q allows {}; --t-r {option} needs H = {} B",
            slower.t_r, needed.0
        ));
    }
    if let Some(r) = rules.all.iter().find(|r| r.choice == "802.1q" && r.bytes > chosen.bytes) {
        check.push(format!("headroom: {} B less than 802.1Q Annex N", r.bytes.0 - chosen.bytes.0));
    }
    check
}

/// The values as other programs call them.
fn apply(rules: &Rules, chosen: &Rule, sizes: &Sizes) -> Vec<String> {
    let mut apply = Vec::new();
    if chosen.bytes != rules.exact().bytes {
        apply.push(format!(
            "xoff run: flow_control.xoff = \"{}B\", flow_control.xon = \"{}B\"",
            sizes.xoff.0, sizes.xon.0
        ));
    }
    apply.push(format!(
        "SONiC: xoff = {} in the profile (SONiC's xoff is headroom, not the threshold)",
        sizes.headroom.0
    ));
    apply
}

/// Conditions of the thresholds, static or dynamic, and of the memory below them.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    pause_lasts(p, w);
    static_thresholds(p, w);
    match p.xoff {
        Some(xoff) => shared(p, xoff + pfc::headroom(&p.control_loop()), w),
        None => dynamic(p, w),
    }
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::Pfc(x) = fc else { return };
    let mut p = at.parameters(fc);
    p.pause = x.quanta.map(|q| pfc::duration(q.into(), at.link.rate));
    if let pfc::Threshold::Static { xoff, xon } = x.threshold {
        (p.xoff, p.xon) = (Some(xoff), Some(xon));
    }
    conditions(&p, w);
}

fn static_thresholds(p: &Parameters, w: &mut Vec<Warning>) {
    let Some(xoff) = p.xoff else { return };
    let (c_tau, worst) = (bytes_ceil(p.rate, p.tau), pfc::headroom(&p.control_loop()));
    let headroom = p.headroom.unwrap_or(worst);
    let needs = xoff.0.saturating_add(headroom.0);
    if needs > p.buffer.0 {
        let buffer = Bytes(needs);
        let todo = match p.buffer.saturating_sub(headroom) {
            Bytes::ZERO => format!(
                "set the buffer to {buffer} or more (no XOFF works in a buffer that does not exceed the headroom)"
            ),
            most => format!("set XOFF to {most} or less, or the buffer to {buffer} or more"),
        };
        w.push(Warning {
            condition: "XOFF + headroom <= buffer",
            text: format!("{todo}: XOFF {xoff} + headroom {headroom} exceeds the buffer {}, so frames may be lost", p.buffer),
            source: "C tau + MTU arrive above XOFF; docs/mechanisms/pfc.md",
        });
    }
    if headroom < worst {
        w.push(Warning {
            condition: "headroom >= C tau + MTU",
            text: format!(
                "set the headroom to {} B or more: {} B < C tau + MTU = {} B (tau = {}), so frames are lost in the worst case",
                worst.0, headroom.0, worst.0, p.tau
            ),
            source: "GFC section 4.2, and the frame that passes XOFF; docs/mechanisms/pfc.md",
        });
    }
    let Some(xon) = p.xon else { return };
    if xon > xoff {
        w.push(Warning {
            condition: "XON <= XOFF",
            text: format!("set XON to {xoff} or less: XON {xon} is above XOFF"),
            source: "IEEE 802.1Q clause 36",
        });
    } else if xoff - xon < p.mtu {
        w.push(Warning {
            condition: "XOFF - XON >= MTU",
            text: format!(
                "set XON to {} or less: XOFF - XON = {} is less than a frame of {}, so every frame may cause a pause and a resume",
                xoff.saturating_sub(hysteresis(p.mtu)),
                xoff - xon,
                p.mtu
            ),
            source: "GFC section 4.1 recommends 2 MTU",
        });
    }
    if xon < c_tau {
        w.push(Warning {
            condition: "XON >= C tau",
            text: format!(
                "set XON to {c_tau} or more: XON {xon} is less than C tau, so the queue may run empty before a resume takes effect"
            ),
            source: "drain at C while a resume takes effect",
        });
    }
}

/// With a dynamic threshold everything after a pause goes into headroom.
fn dynamic(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(pool), worst) = (p.pool, pfc::headroom(&p.control_loop())) else { return };
    if pool.headroom < worst {
        w.push(Warning {
            condition: "headroom >= C tau + MTU",
            text: format!(
                "set switch.headroom to {worst} or more: {} is less than C tau + MTU (tau = {}), so frames may be lost",
                pool.headroom, p.tau
            ),
            source: "GFC section 4.2, and the frame that passes the limit; docs/mechanisms/shared-buffer.md",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_pause() {
        // 3355 us at 10G, 838.9 us at 40G, 335.5 us at 100G.
        assert_eq!(pause(Rate::from_gbps(10), 1), Span(51_200));
        assert_eq!(pause(Rate::from_gbps(10), u16::MAX), Span(3_355_392_000));
        assert_eq!(pause(Rate::from_gbps(40), u16::MAX), Span(838_848_000));
        assert_eq!(pause(Rate::from_gbps(100), u16::MAX), Span(335_539_200));
    }
}

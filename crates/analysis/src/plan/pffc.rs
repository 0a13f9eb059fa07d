//! PFFC: thresholds and headroom of a flow, pause queues and slots for the flows that are congested
//! at once (IEEE Access 2021).
//!
//! ```text
//!   0 ------- Xon_s -------- Xoff_s ---- headroom ----      bytes of a flow at the first switch of a path
//!   each further switch may get as much again: MIGRATE leaves frames in the default queue upstream behind
//! ```
//!
//! The slides have no numbers; formulas are those of the law,
//! [`xoff_mech::flow_control::pffc::Params`].

use xoff_mech::flow_control::pffc::{QUEUES_MAX, SLOTS_MAX, headroom, thresholds};
use xoff_mech::flow_control::{FlowControl, pfc, pffc};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Configured, Parameters, pause_lasts, shared};
use super::entry::{Derived, Entry, conditions_of};
use super::input::{PlanInput, SIZE_MAX, within};
use super::link::Link;
use super::output::{Answer, Column, Plan, PlanRow, Table, Warning};

/// Keys of a plan that only PFFC has.
const KEYS: &[ParamSpec] = &[
    ParamSpec::optional(
        "xoff_s",
        Kind::Bytes,
        "PFFC pause threshold of a flow; 2 C tau if absent",
        "PFFC slides: no number",
    ),
    ParamSpec::optional(
        "xon_s",
        Kind::Bytes,
        "PFFC resume threshold of a flow; half of Xoff_s if absent",
        "PFFC slides: no number",
    ),
    ParamSpec::new(
        "flows",
        Kind::Count,
        "6",
        "PFFC: flows of a link that are congested at once",
        "as many as pause queues",
    ),
    ParamSpec::new(
        "queues",
        Kind::Count,
        "6",
        "PFFC: pause queues of a port",
        "PFFC slides: 8 queues a port, one of them the default",
    ),
    ParamSpec::new(
        "slots",
        Kind::Count,
        "4096",
        "PFFC: slots of the table in which flows are counted",
        "",
    ),
    ParamSpec::new(
        "hops",
        Kind::Count,
        "1",
        "PFFC: switches on the way of a flow up to this one",
        "",
    ),
];

/// Values of [`KEYS`].
struct Keys {
    xoff_s: Option<Bytes>,
    xon_s: Option<Bytes>,
    flows: u64,
    queues: u64,
    slots: u64,
    hops: u64,
}

impl Keys {
    fn read(input: &PlanInput) -> Result<Keys, ParamError> {
        let mut v = input.own();
        let keys = Keys {
            xoff_s: v.bytes_opt("xoff_s")?,
            xon_s: v.bytes_opt("xon_s")?,
            flows: v.count("flows")?,
            queues: v.count("queues")?,
            slots: v.count("slots")?,
            hops: v.count("hops")?,
        };
        within("flows", keys.flows, 1, 65_536)?;
        within("hops", keys.hops, 1, 64)?;
        for (key, size) in [("xoff_s", keys.xoff_s), ("xon_s", keys.xon_s)] {
            within(key, size.unwrap_or(Bytes::ZERO), Bytes::ZERO, SIZE_MAX)?;
        }
        Ok(keys)
    }
}

/// PFFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "pffc",
    keys: KEYS,
    check: |input| Keys::read(input).map(drop),
    plan,
    conditions,
    configured,
    derived,
    on_off: None,
};

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::Pffc(p) = fc else { return Vec::new() };
    vec![("Xoff_s", "xoff_s", p.xoff_s.0), ("Xon_s", "xon_s", p.xon_s.0)]
}

/// Messages of one stop of a flow: PAUSE, MIGRATE, RESUME, MIGRATE-BACK.
const MESSAGES: u64 = 4;
/// Sizes of the table that are listed.
const SLOTS: [u64; 6] = [256, 1_024, 4_096, 16_384, 32_768, 65_536];
/// Probability with which a flow is alone in its slot, where the plan states how much is enough.
const ALONE: f64 = 0.9;

/// Probability that a flow among `flows` meets another one in its place of `places`, each equally
/// likely: 1 - (1 - 1/places)^(flows - 1).
pub fn meets_another(flows: u64, places: u64) -> f64 {
    -libm::expm1(flows.saturating_sub(1) as f64 * libm::log1p(-1.0 / places.max(1) as f64))
}

/// Probability that any two among `flows` meet in one of `places`: 1 - (1 - 1/places) (1 -
/// 2/places) ... (the birthday problem).
pub fn any_meet(flows: u64, places: u64) -> f64 {
    if flows > places {
        return 1.0;
    }
    let apart: f64 = (1..flows).map(|taken| libm::log1p(-(taken as f64) / places as f64)).sum();
    -libm::expm1(apart)
}

/// Fewest places in which a flow among `flows` is alone with the given probability.
pub fn places_for(flows: u64, alone: f64) -> u64 {
    if flows < 2 {
        return 1;
    }
    // (1 - 1/m)^(n - 1) >= alone, with the last digits of a float to spare: 2 flows, 9 of 10 alone,
    // need 10 places.
    let share = -libm::expm1(libm::log(alone) / (flows - 1) as f64);
    let m = (1.0 / share) as u64;
    (m.max(2) - 1..).find(|&m| meets_another(flows, m) <= 1.0 - alone + 1e-12).unwrap_or(u64::MAX)
}

/// A product that stops at the largest number.
fn times(bytes: Bytes, k: u64) -> Bytes {
    Bytes(bytes.0.saturating_mul(k))
}

/// Plans PFFC. See [`plan`](super::plan).
#[expect(
    clippy::too_many_lines,
    reason = "a list: one row an item, in the order in which they are printed"
)]
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let keys = Keys::read(input)?;
    for (key, value, most) in
        [("queues", keys.queues, QUEUES_MAX), ("slots", keys.slots, SLOTS_MAX)]
    {
        if !(1..=most).contains(&value) {
            return Err(ParamError::new(
                key,
                format!("{value} {key}"),
                format!("expected 1 to {most}"),
            ));
        }
    }
    let link = Link::of(input);
    let (c_tau, flows) = (link.c_tau(1), keys.flows);
    let l = link.control_loop(Bytes::ZERO);
    let headroom = headroom(&l, input.message, flows);
    let (xoff, xon) = thresholds(&l, keys.xoff_s, keys.xon_s);
    if xoff == Bytes::ZERO {
        return Err(ParamError::new(
            "xoff_s",
            "Xoff_s is 0",
            format!("expected C tau = {c_tau}, with which a flow can use the whole link"),
        ));
    }
    if xon > xoff {
        let what = format!("Xon_s {xon} is above Xoff_s {xoff}");
        return Err(ParamError::new(
            "xon_s",
            what,
            "expected Xon_s <= Xoff_s: a flow is paused before it is resumed",
        ));
    }
    let one = times(xoff + headroom, keys.hops);
    let needed = times(one, flows);
    let buffer = input.buffer.unwrap_or(needed);
    if buffer < one {
        let what = format!(
            "{buffer} is not enough for one flow: {} x (Xoff_s {xoff} + headroom {headroom})",
            keys.hops
        );
        return Err(ParamError::new("buffer", what, format!("expected at least {} bytes", one.0)));
    }
    // A flow that arrives at C and leaves at C/2 rises and falls by the range and by the bytes that
    // pass in tau, at C/2 each.
    let cycle =
        Span(link.rate.time_for((xoff - xon) * 4).0.saturating_add(link.tau.0.saturating_mul(4)));
    let given = |is_given: bool, formula: &'static str| if is_given { "given" } else { formula };

    let mut rows = link.rows();
    rows.extend([
        PlanRow::count(
            "flows of the link that are congested at once",
            "n",
            flows,
            "flows",
            "given",
            "",
        ),
        PlanRow::bytes(
            "pause threshold of a flow",
            "Xoff_s",
            xoff,
            given(keys.xoff_s.is_some(), "2 C tau"),
            "PFFC slides: no number",
        ),
        PlanRow::bytes(
            "resume threshold of a flow",
            "Xon_s",
            xon,
            given(keys.xon_s.is_some(), "Xoff_s/2"),
            "PFFC slides: no number",
        ),
        PlanRow::bytes(
            "headroom of a flow",
            "H",
            headroom,
            "C tau + MTU + 4 m n",
            "GFC section 4.2; its messages wait for those of n flows",
        ),
        PlanRow::count(
            "switches on the way up to this one",
            "k",
            keys.hops,
            "switches",
            "given",
            "",
        ),
        PlanRow::bytes(
            "most that is held of a flow",
            "B flow",
            one,
            "k (Xoff_s + H)",
            "MIGRATE does not change the default queue upstream",
        ),
        PlanRow::bytes(
            "buffer without loss",
            "B_min",
            needed,
            "n k (Xoff_s + H)",
            "every flow has its own",
        ),
        PlanRow::bytes("ingress buffer", "B", buffer, given(input.buffer.is_some(), "B_min"), ""),
        PlanRow::count(
            "congested flows that fit into the buffer",
            "B flows",
            buffer.0 / one.0,
            "flows",
            "B/(k (Xoff_s + H))",
            "",
        ),
        PlanRow::span(
            "time between pauses of a flow that leaves at C/2",
            "T",
            cycle,
            "4 (Xoff_s - Xon_s)/C + 4 tau",
            "fluid, arrival at C",
        ),
        PlanRow::rate(
            "its control frames",
            "4 m/T",
            Rate::of(input.message * MESSAGES, cycle),
            "4 m/T",
            "PAUSE, MIGRATE, RESUME, MIGRATE-BACK",
        ),
        PlanRow::count(
            "pause queues",
            "q",
            keys.queues,
            "queues",
            "given",
            "PFFC slides: 8 queues a port",
        ),
        PlanRow::ratio(
            "chance that a flow shares its pause queue",
            "P queue",
            meets_another(flows, keys.queues),
            "1 - (1 - 1/q)^(n - 1)",
            "a queue is the slot modulo q",
        ),
        PlanRow::count(
            "pause queues, so that 9 of 10 flows are alone",
            "q 90 %",
            places_for(flows, ALONE),
            "queues",
            "1/(1 - 0.9^(1/(n - 1))), rounded up",
            "",
        ),
        PlanRow::count("slots of the table", "s", keys.slots, "slots", "given", ""),
        PlanRow::ratio(
            "chance that a flow shares its slot",
            "P slot",
            meets_another(flows, keys.slots),
            "1 - (1 - 1/s)^(n - 1)",
            "flows of one slot are paused together",
        ),
        PlanRow::ratio(
            "chance that any two flows share a slot",
            "P any",
            any_meet(flows, keys.slots),
            "1 - (1 - 1/s) ... (1 - (n - 1)/s)",
            "birthday problem",
        ),
    ]);
    let parameters = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer,
        xoff: Some(xoff),
        xon: Some(xon),
        headroom: Some(headroom),
        flows: Some(flows),
        hops: keys.hops,
        queues: Some(keys.queues),
        slots: Some(keys.slots),
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: "pffc".to_owned(),
        detection: None,
        answer: Answer::of(&rows, &["Xoff_s", "Xon_s", "B"]),
        evidence: Vec::new(),
        rows,
        tables: vec![sizes(flows)],
        warnings: conditions_of(conditions, &parameters),
    })
}

/// Collisions by the size of the table.
fn sizes(flows: u64) -> Table {
    let million = |p: f64| libm::round(p * 1e6) as u64;
    let column = |name, unit| Column { name, unit };
    Table {
        name: "collisions",
        columns: vec![
            column("slots", ""),
            column("one flow shares", "in a million"),
            column("any two share", "in a million"),
        ],
        rows: SLOTS
            .map(|s| vec![s, million(meets_another(flows, s)), million(any_meet(flows, s))])
            .to_vec(),
        formula: "1 - (1 - 1/s)^(n - 1); 1 - (1 - 1/s) ... (1 - (n - 1)/s)",
        source: "each slot equally likely",
    }
}

/// Conditions of the flows, of their pauses and of the memory that they share.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    by_flow(p, w);
    pause_lasts(p, w);
    shared(p, p.buffer, w);
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::Pffc(x) = fc else { return };
    let mut p = Parameters { xoff: Some(x.xoff_s), xon: Some(x.xon_s), ..at.parameters(fc) };
    p.pause = x.quanta.map(|q| pfc::duration(q.into(), at.link.rate));
    if at.flows > 0 {
        p.headroom = Some(pffc::Params::headroom(&at.link, at.flows));
        (p.flows, p.queues, p.slots) =
            (Some(at.flows), Some(x.queues.into()), Some(x.slots.into()));
    }
    conditions(&p, w);
}

/// PFFC: room for a flow, and the number of flows that fit.
fn by_flow(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(xoff), Some(xon)) = (p.xoff, p.xon) else { return };
    let c_tau = p.rate.bytes_in(p.tau);
    if xon > xoff {
        w.push(Warning {
            condition: "Xon_s <= Xoff_s",
            text: format!("set Xon_s to {xoff} or less: Xon_s {xon} is above Xoff_s"),
            source: "PFFC slides: pause above Xoff_s, resume at Xon_s",
        });
    }
    if xoff < c_tau {
        w.push(Warning {
            condition: "Xoff_s >= C tau",
            text: format!(
                "set Xoff_s to {c_tau} or more: Xoff_s {xoff} is less than C tau, the bytes of one feedback loop (tau = {}), so a single \
                 flow may not use the whole link",
                p.tau
            ),
            source: "drain at C while a resume takes effect; claim xoff of papers/pffc",
        });
    }
    let Some(flows) = p.flows else { return };
    if let Some(headroom) = p.headroom {
        let needed = u128::from(flows)
            * u128::from(p.hops.max(1))
            * (u128::from(xoff.0) + u128::from(headroom.0));
        if needed > u128::from(p.buffer.0) {
            w.push(Warning {
                condition: "flows x (Xoff_s + headroom) <= buffer",
                text: format!(
                    "set the buffer to {0} or more: {flows} congested flows may need {0}, but the buffer has {1}, so frames may be lost",
                    Bytes(needed.min(u128::from(u64::MAX)) as u64),
                    p.buffer
                ),
                source: "every flow has its own Xoff_s; claim loss of papers/pffc",
            });
        }
    }
    if let Some(queues) = p.queues.filter(|&q| flows > q) {
        w.push(Warning {
            condition: "congested flows <= pause queues",
            text: format!(
                "set queues to {flows} or more: {flows} flows share {queues} pause queues, so a flow can block others of its queue, and \
                 a buffer cycle may close"
            ),
            source: "a pause queue is resumed with its last flow; claim shared-queues of papers/pffc",
        });
    }
    if let Some(slots) = p.slots {
        let shared = meets_another(flows, slots);
        if shared > 0.1 {
            w.push(Warning {
                condition: "1 - (1 - 1/slots)^(flows - 1) <= 0.1",
                text: format!(
                    "set slots to a larger number: of {flows} flows in {slots} slots, {:.0} % share a slot and are paused together",
                    shared * 100.0
                ),
                source: "claim collisions of papers/pffc",
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 23 people, 365 days: 0.507297; 2 flows in 4 places: 1/4.
    #[test]
    fn birthdays() {
        assert!((any_meet(23, 365) - 0.507_297).abs() < 1e-6);
        assert!(
            (any_meet(2, 4) - 0.25).abs() < 1e-12 && (meets_another(2, 4) - 0.25).abs() < 1e-12
        );
        assert_eq!(
            (any_meet(5, 4), any_meet(1, 4), meets_another(1, 4), meets_another(2, 1)),
            (1.0, 0.0, 0.0, 1.0)
        );
        assert!((meets_another(3, 4) - (1.0 - 0.75 * 0.75)).abs() < 1e-12);
    }

    #[test]
    fn enough_places_are_enough_and_one_fewer_is_not() {
        for flows in [2, 3, 6, 32, 1_000] {
            let m = places_for(flows, 0.9);
            assert!(
                meets_another(flows, m) <= 0.1 + 1e-12 && meets_another(flows, m - 1) > 0.1,
                "{flows}: {m}"
            );
        }
        assert_eq!(places_for(1, 0.9), 1);
    }
}

//! Conceptual GFC: continuous feedback, linear mapping between B_0 and B_m (GFC section 4.1,
//! Theorem 4.1).

use xoff_mech::ControlLoop;
use xoff_mech::flow_control::FlowControl;
pub use xoff_mech::flow_control::gfc_conceptual::packet_slack;
use xoff_mech::flow_control::standstill::{self, Standstill};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Configured, Parameters, packets, shared, start_at_most};
use super::entry::{Derived, Entry, OnOff, conditions_of};
use super::input::PlanInput;
use super::link::Link;
use super::output::{Answer, Plan, PlanRow, Warning};
use crate::theorems::theorem_4_1::L_CRITICAL;

/// Conceptual GFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "gfc-conceptual",
    plan,
    conditions,
    configured,
    derived,
    on_off: Some(OnOff {
        formula: |_| ("both are B_0", "not in the paper"),
        warnings: |_, _, _| Ok(Vec::new()),
    }),
    ..Entry::PLAIN
};

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::GfcConceptual(p) = fc else { return Vec::new() };
    vec![("B_m", "bm", p.bm.0), ("B_0", "b0", p.b0.0)]
}

/// Sufficient B_m - B_0: 4 C tau, rounded up (Theorem 4.1), as
/// [`xoff_mech::flow_control::gfc_conceptual::range`].
pub fn range_sufficient(rate: Rate, tau: Span) -> Bytes {
    xoff_mech::flow_control::gfc_conceptual::range(&ControlLoop {
        rate,
        tau,
        mtu: Bytes::ZERO,
        buffer: Bytes::ZERO,
    })
}

/// Necessary B_m - B_0 when the drain may stop: e C tau, rounded up (see
/// [`theorem_4_1`](crate::theorems::theorem_4_1)).
pub fn range_necessary(rate: Rate, tau: Span) -> Bytes {
    Bytes((L_CRITICAL * rate.as_f64() * tau.as_secs_f64() / 8.0).ceil() as u64)
}

/// B and B_m of a GFC plan that needs `range` below B_m; `start` is the threshold B_0 or B_1, if it
/// was given.
///
/// Without a buffer, the smallest one: the start, the range, and 2 MTU above. Without a start
/// either, two frames may wait before the port is slowed down; a start of 0 would be safe, but then
/// a port that is next to idle runs at half its rate. With one, B_m = B - 2 MTU: the paper's B_m =
/// B (GFC section 5.4) has no room for whole frames and loses some. A given start replaces the
/// bound; what it violates is then a warning, not a refusal.
pub(super) fn buffer_and_b_m(
    input: &PlanInput,
    start: Option<Bytes>,
    range: Bytes,
) -> Result<(Bytes, Bytes), ParamError> {
    let (buffer, b_m) = match input.buffer {
        Some(buffer) => {
            (buffer, input.b_m.unwrap_or(buffer.saturating_sub(packet_slack(input.mtu))))
        }
        None => {
            let b_m = input.b_m.unwrap_or(start.unwrap_or(input.mtu * 2) + range);
            (b_m + packet_slack(input.mtu), b_m)
        }
    };
    if b_m > buffer {
        return Err(ParamError::new(
            "b_m",
            format!("B_m {b_m} is above the buffer {buffer}"),
            "expected B_m <= buffer",
        ));
    }
    if start.is_none() && b_m < range {
        let (key, has, needs) = match input.b_m {
            Some(_) => ("b_m", b_m, range),
            None => ("buffer", buffer, range + packet_slack(input.mtu)),
        };
        let what = format!("{has} is less than what {} needs", input.flow_control);
        return Err(ParamError::new(key, what, format!("expected at least {} bytes", needs.0)));
    }
    Ok((buffer, b_m))
}

/// The rows about B and B_m, the same in all three kinds of GFC.
pub(super) fn buffer_rows(input: &PlanInput, buffer: Bytes, b_m: Bytes) -> [PlanRow; 2] {
    let formula = match (input.b_m, input.buffer) {
        (Some(_), _) => "given",
        (None, Some(_)) => "B - 2 MTU",
        (None, None) => "start (else 2 MTU) + smallest range",
    };
    let source = "GFC section 5.4 has B_m = B for a fluid; xoff subtracts 2 MTU for whole frames";
    [
        PlanRow::bytes(
            "ingress buffer",
            "B",
            buffer,
            if input.buffer.is_some() { "given" } else { "B_m + 2 MTU" },
            "",
        ),
        PlanRow::bytes("queue at which the rate is zero", "B_m", b_m, formula, source),
    ]
}

/// A threshold that was given, or `b_m - range`; refused above B_m.
pub(super) fn threshold(
    key: &str,
    given: Option<Bytes>,
    b_m: Bytes,
    range: Bytes,
) -> Result<Bytes, ParamError> {
    let value = given.unwrap_or(b_m.saturating_sub(range));
    if value >= b_m {
        return Err(ParamError::new(
            key,
            format!("{value} is not below B_m {b_m}"),
            "expected a value below B_m",
        ));
    }
    Ok(value)
}

/// The row and the check about a blocked buffer; `lowest`: the symbol of the rate that never stops.
pub(super) fn standing(s: &Standstill, lowest: &str, buffer: Bytes) -> (PlanRow, String) {
    let longest = s.longest(buffer);
    let row = PlanRow::span(
        "longest standstill of the drain without loss",
        "T_stop",
        longest,
        "floor((B - B_m - MTU)/MTU) MTU/R, R the lowest rate above zero",
        "packet granularity, not in the paper; docs/mechanisms/gfc-buffer.md",
    );
    let second = Span::from_ms(1_000).max(longest * 2);
    let check = format!(
        "drain: blocked for at most {longest} (starved priority, egress slower than {lowest}, cycle of buffers), because GFC keeps sending \
         {}; for {second}: B_m = {} B and a buffer of {} B",
        s.lowest,
        s.b_m.0,
        (s.b_m + s.room(second)).0
    );
    (row, check)
}

/// Plans conceptual GFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::of(input);
    let range = range_sufficient(link.rate, link.tau);
    let (buffer, b_m) = buffer_and_b_m(input, input.b_0, range)?;
    let b_0 = threshold("b_0", input.b_0, b_m, range)?;
    let mut rows = link.rows();
    rows.extend([
        PlanRow::bytes(
            "sufficient range",
            "4 C tau",
            range,
            "B_m - B_0 >= 4 C tau",
            "GFC Theorem 4.1",
        ),
        PlanRow::bytes(
            "necessary range",
            "e C tau",
            range_necessary(link.rate, link.tau),
            "B_m - B_0 >= e C tau",
            "delay equation with R_d = 0",
        ),
    ]);
    rows.extend(buffer_rows(input, buffer, b_m));
    rows.extend([
        PlanRow::bytes(
            "queue from which the rate falls",
            "B_0",
            b_0,
            if input.b_0.is_some() { "given" } else { "B_m - 4 C tau" },
            "GFC Theorem 4.1",
        ),
        PlanRow::bytes(
            "steady queue at half rate",
            "B_s",
            b_0 + (b_m - b_0) / 2,
            "B_m - (R_d/C)(B_m - B_0), R_d = C/2",
            "GFC section 4.1",
        ),
    ]);
    let (row, check) = standing(
        &standstill::conceptual(b_m, input.rate_unit, link.rate, link.mtu),
        "the rate unit",
        buffer,
    );
    rows.push(row);
    let parameters = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer,
        b_m: Some(b_m),
        b_0: Some(b_0),
        ..Parameters::default()
    };
    let warnings = conditions_of(conditions, &parameters);
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer: Answer { check: vec![check], ..Answer::of(&rows, &["B_m", "B_0", "B"]) },
        evidence: Vec::new(),
        rows,
        tables: Vec::new(),
        warnings,
    })
}

/// Conditions of the range below B_m and of the memory above it.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    theorem_4_1(p, w);
    packets(p, w);
    shared(p, p.buffer, w);
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::GfcConceptual(x) = fc else { return };
    conditions(
        &Parameters {
            b_m: Some(x.bm),
            b_0: Some(x.b0),
            rate_unit: Some(x.rate_unit),
            ..at.parameters(fc)
        },
        w,
    );
}

/// Theorem 4.1.
fn theorem_4_1(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_0)) = (p.b_m, p.b_0) else { return };
    let range = b_m.saturating_sub(b_0);
    let (sufficient, necessary) = (range_sufficient(p.rate, p.tau), range_necessary(p.rate, p.tau));
    if range >= sufficient {
        return;
    }
    let verdict = if range < necessary {
        format!("below e C tau = {necessary} the queue reaches B_m when the drain stops")
    } else {
        format!("it is above e C tau = {necessary}, which is enough in the fluid model")
    };
    w.push(Warning {
        condition: "B_0 <= B_m - 4 C tau",
        text: format!(
            "{}: B_m - B_0 = {range} is less than 4 C tau = {sufficient} (tau = {}); {verdict}",
            start_at_most("B_0", b_m, sufficient, p.mtu),
            p.tau
        ),
        source: "GFC Theorem 4.1",
    });
}

//! Time-based GFC: the conceptual mapping, sampled once per period T (GFC sections 5.2 and 5.4,
//! Theorem 5.1).

use xoff_mech::ControlLoop;
use xoff_mech::flow_control::{FlowControl, standstill};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Rate, Span};

use super::cbfc::{of_period, period_bytes};
use super::conditions::{Configured, Parameters, packets, shared, start_at_most};
use super::entry::{Derived, Entry, OnOff, conditions_of};
use super::gfc_conceptual::{buffer_and_b_m, buffer_rows, standing, threshold};
use super::input::PlanInput;
use super::link::{Link, bytes_ceil};
use super::output::{Answer, Plan, PlanRow, Warning};
use crate::theorems::theorem_5_1;

/// Time-based GFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "gfc-time",
    plan,
    conditions,
    configured,
    derived,
    on_off: Some(OnOff { formula: of_period, warnings: |_, _, _| Ok(Vec::new()) }),
    ..Entry::PLAIN
};

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::GfcTime(p) = fc else { return Vec::new() };
    vec![("B_m", "bm", p.bm.0), ("B_0", "b0", p.b0.0), ("T", "period", p.credit.period.0)]
}

/// B_m - B_0 that is safe for every tau and T, as [`xoff_mech::flow_control::gfc_time::range`].
pub fn range(rate: Rate, tau: Span, period: Span) -> Bytes {
    xoff_mech::flow_control::gfc_time::range(
        &ControlLoop { rate, tau, mtu: Bytes::ZERO, buffer: Bytes::ZERO },
        period,
    )
}

/// Steady queue when "remaining" means the occupancy at the time of the message: B_m - (R/C)(B_m -
/// B_0), rounded down.
pub fn steady_by_occupancy(rate: Rate, drain: Rate, b_m: Bytes, b_0: Bytes) -> Bytes {
    let below =
        (u128::from((b_m - b_0).0) * u128::from(drain.0)).div_ceil(u128::from(rate.0).max(1));
    b_m.saturating_sub(Bytes(below as u64))
}

/// Steady queue when "remaining" means FCCL - FCTBS on arrival: bytes in flight count as occupied,
/// so the queue is lower by the drain rate times the feedback delay.
pub fn steady_by_credit(rate: Rate, drain: Rate, b_m: Bytes, b_0: Bytes, delay: Span) -> Bytes {
    steady_by_occupancy(rate, drain, b_m, b_0).saturating_sub(drain.bytes_in(delay))
}

/// Plans time-based GFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::with_messages(input);
    let period = input.credit_period.unwrap_or_else(|| period_bytes(link.rate));
    let printed = theorem_5_1::bound(link.rate, link.tau, period);
    let range = range(link.rate, link.tau, period);
    let (buffer, b_m) = buffer_and_b_m(input, input.b_0, range)?;
    let b_0 = threshold("b_0", input.b_0, b_m, range)?;
    let half = link.rate / 2;

    let mut rows = link.rows();
    rows.extend([
        PlanRow::span(
            "feedback period",
            "T",
            period,
            if input.credit_period.is_some() { "given" } else { "65535 B / C" },
            "GFC section 5.4",
        ),
        PlanRow::bytes(
            "arrivals during one period",
            "C T",
            bytes_ceil(link.rate, period),
            "C T",
            "GFC section 5.4",
        ),
        PlanRow::ratio(
            "latency over period",
            "tau/T",
            theorem_5_1::ratio(link.tau, period),
            "tau/T",
            "Theorem 5.1 needs tau <= T",
        ),
        PlanRow::bytes(
            "range by Theorem 5.1",
            "(sqrt(tau/T)+1)^2 C T",
            printed,
            "(sqrt(tau/T) + 1)^2 C T",
            "GFC Theorem 5.1, tau <= T only",
        ),
        PlanRow::bytes(
            "range for any tau and T",
            "range",
            range,
            "min over s of (f + (1-f) s)/(s^(m+1) (1-s)) C T, tau/T = m + f",
            "exact bound of the sampled recurrence",
        ),
    ]);
    rows.extend(buffer_rows(input, buffer, b_m));
    rows.extend([
        PlanRow::bytes(
            "queue from which the rate falls",
            "B_0",
            b_0,
            if input.b_0.is_some() { "given" } else { "B_m - range" },
            "GFC section 5.4",
        ),
        PlanRow::bytes(
            "steady queue at half rate, by occupancy",
            "B_s occupancy",
            steady_by_occupancy(link.rate, half, b_m, b_0),
            "(B_m + B_0)/2",
            "GFC section 6.1: 745 KB",
        ),
        PlanRow::bytes(
            "steady queue at half rate, by credit",
            "B_s credit",
            steady_by_credit(link.rate, half, b_m, b_0, link.tau),
            "(B_m + B_0)/2 - (C/2) tau",
            "remaining = FCCL - FCTBS on arrival",
        ),
        PlanRow::rate(
            "bandwidth of the messages",
            "m/T",
            Rate::of(input.message, period),
            "m/T",
            "GFC section 5.4",
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
        period: Some(period),
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer: Answer { check: vec![check], ..Answer::of(&rows, &["B_m", "B_0", "T", "B"]) },
        evidence: Vec::new(),
        rows,
        tables: Vec::new(),
        warnings: conditions_of(conditions, &parameters),
    })
}

/// Conditions of the range below B_m and of the memory above it.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    theorem(p, w);
    packets(p, w);
    shared(p, p.buffer, w);
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::GfcTime(x) = fc else { return };
    conditions(
        &Parameters {
            b_m: Some(x.bm),
            b_0: Some(x.b0),
            rate_unit: Some(x.rate_unit),
            period: Some(x.credit.period),
            ..at.parameters(fc)
        },
        w,
    );
}

/// Theorem 5.1, and the bound in its place for tau > T.
fn theorem(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_0), Some(period)) = (p.b_m, p.b_0, p.period) else { return };
    if period == Span::ZERO {
        return;
    }
    let range = b_m.saturating_sub(b_0);
    let printed = theorem_5_1::bound(p.rate, p.tau, period);
    if p.tau > period {
        let exact = theorem_5_1::bound_any(p.rate, p.tau, period);
        let verdict = if range < exact { "it is not met" } else { "it is met" };
        w.push(Warning {
            condition: "tau <= T",
            text: format!(
                "check B_0 against {exact}, not the theorem: Theorem 5.1 is false for tau = {} above the period T = {period}, and its \
                 {printed} are not enough; with B_m - B_0 = {range} {verdict}",
                p.tau
            ),
            source: "GFC Appendix B, which uses T - tau as a duration",
        });
    }
    if range < printed {
        w.push(Warning {
            condition: "B_0 <= B_m - (sqrt(tau/T) + 1)^2 C T",
            text: format!(
                "{}: B_m - B_0 = {range} is less than {printed} (tau = {}, T = {period}), so the queue may reach B_m",
                start_at_most("B_0", b_m, printed, p.mtu),
                p.tau
            ),
            source: "GFC Theorem 5.1",
        });
    }
}

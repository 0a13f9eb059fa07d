//! Conceptual GFC: continuous feedback, linear mapping between B_0 and B_m (GFC section 4.1, Theorem 4.1).

use xoff_params::ParamError;
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Parameters, conditions};
use super::input::PlanInput;
use super::link::{Link, bytes_ceil};
use super::output::{Plan, PlanRow};
use crate::theorems::theorem_4_1::L_CRITICAL;

/// Sufficient B_m - B_0: 4 C tau, rounded up (Theorem 4.1).
pub fn range_sufficient(rate: Rate, tau: Span) -> Bytes {
    bytes_ceil(rate, tau * 4)
}

/// Necessary B_m - B_0 when the drain may stop: e C tau, rounded up (see [`theorem_4_1`](crate::theorems::theorem_4_1)).
pub fn range_necessary(rate: Rate, tau: Span) -> Bytes {
    Bytes((L_CRITICAL * rate.as_f64() * tau.as_secs_f64() / 8.0).ceil() as u64)
}

/// Room to leave between B_m and the buffer for whole packets: 2 MTU. The theorems are about fluids; with packets the
/// queue was seen to pass B_m by one MTU.
pub fn packet_slack(mtu: Bytes) -> Bytes {
    mtu * 2
}

/// B and B_m of a GFC plan that needs `range` below B_m; `start` is the threshold B_0 or B_1, if it was given.
///
/// Without a buffer, the smallest one: the start, the range, and 2 MTU above. Without a start either, two frames may wait
/// before the port is slowed down; a start of 0 would be safe, but then a port that is next to idle runs at half its rate. With one, the paper's B_m = B (GFC section 5.4),
/// which draws a warning because it ignores [`packet_slack`]. A given start replaces the bound; what it violates is
/// then a warning, not a refusal.
pub(super) fn buffer_and_b_m(input: &PlanInput, start: Option<Bytes>, range: Bytes) -> Result<(Bytes, Bytes), ParamError> {
    let (buffer, b_m) = match input.buffer {
        Some(buffer) => (buffer, input.b_m.unwrap_or(buffer)),
        None => {
            let b_m = input.b_m.unwrap_or(start.unwrap_or(input.mtu * 2) + range);
            (b_m + packet_slack(input.mtu), b_m)
        }
    };
    if b_m > buffer {
        return Err(ParamError::new("b_m", format!("B_m {b_m} lies above the buffer {buffer}"), "expected B_m <= buffer"));
    }
    if start.is_none() && b_m < range {
        let key = if input.b_m.is_some() { "b_m" } else { "buffer" };
        return Err(ParamError::new(
            key,
            format!("{b_m} is less than what {} needs below B_m", input.flow_control),
            format!("expected at least {} bytes", range.0),
        ));
    }
    Ok((buffer, b_m))
}

/// The rows about B and B_m, the same in all three kinds of GFC.
pub(super) fn buffer_rows(input: &PlanInput, buffer: Bytes, b_m: Bytes) -> [PlanRow; 3] {
    let recommended = buffer.saturating_sub(packet_slack(input.mtu));
    let formula = match (input.b_m, input.buffer) {
        (Some(_), _) => "given",
        (None, Some(_)) => "B",
        (None, None) => "start (else 2 MTU) + smallest range",
    };
    [
        PlanRow::bytes("ingress buffer", "B", buffer, if input.buffer.is_some() { "given" } else { "B_m + 2 MTU" }, ""),
        PlanRow::bytes("queue at which the rate is zero", "B_m", b_m, formula, "GFC section 5.4: B_m may be set to B"),
        PlanRow::bytes(
            "recommended B_m for whole packets",
            "B_m packets",
            recommended,
            "B - 2 MTU",
            "packet granularity, not in the paper",
        ),
    ]
}

/// A threshold that was given, or `b_m - range`; refused above B_m.
pub(super) fn threshold(key: &str, given: Option<Bytes>, b_m: Bytes, range: Bytes) -> Result<Bytes, ParamError> {
    let value = given.unwrap_or(b_m.saturating_sub(range));
    if value >= b_m {
        return Err(ParamError::new(key, format!("{value} does not lie below B_m {b_m}"), "expected a value below B_m"));
    }
    Ok(value)
}

/// Plans conceptual GFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::of(input);
    let range = range_sufficient(link.rate, link.tau);
    let (buffer, b_m) = buffer_and_b_m(input, input.b_0, range)?;
    let b_0 = threshold("b_0", input.b_0, b_m, range)?;
    let mut rows = link.rows();
    rows.extend([
        PlanRow::bytes("sufficient range", "4 C tau", range, "B_m - B_0 >= 4 C tau", "GFC Theorem 4.1"),
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
        PlanRow::bytes("steady queue at half rate", "B_s", b_0 + (b_m - b_0) / 2, "B_m - (R_d/C)(B_m - B_0), R_d = C/2", "GFC section 4.1"),
    ]);
    let parameters =
        Parameters { rate: link.rate, tau: link.tau, mtu: link.mtu, buffer, b_m: Some(b_m), b_0: Some(b_0), ..Parameters::default() };
    let warnings = conditions("gfc-conceptual", &parameters);
    Ok(Plan { flow_control: input.flow_control.clone(), detection: None, rows, tables: Vec::new(), warnings })
}

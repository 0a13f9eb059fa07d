//! TCD: how long a port that flow control regulates stays ON at most, max(T_on) (SIGCOMM'21,
//! sections 4.2 to 4.4).
//!
//! ```text
//!   stops triggered by the queue:   T_on = (B_1 - B_0 + tau R_d)/(epsilon C) + tau     Eq. (2); max at R_d = C/2: Eq. (3)
//!   credits once per period T_c:    T_on = R_d T_c/(R_d + epsilon C) < T_c             Eq. (4); max(T_on) = T_c
//! ```
//!
//! The laws are those of the detector, [`xoff_mech::flow_control::on_off`], and what stops a port
//! is asked of the flow control itself, so that a plan and a run cannot differ.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::REGISTRY;
use xoff_mech::flow_control::on_off::{Stop, max_ton_by_queue};
use xoff_units::params::{Defaults, Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span};

use super::entry::{Entry, OnOff};
use super::input::{PlanInput, within};
use super::link::{Link, tau};
use super::output::{Answer, Column, Plan, PlanRow, Table, Warning};
use super::pfc::hysteresis;
use super::registry::{self, FLOW_CONTROLS, refused};

/// Keys of a plan that only TCD has.
const KEYS: &[ParamSpec] = &[ParamSpec::new(
    "epsilon",
    Kind::Float,
    "0.05",
    "congestion degree (R_i - R_d)/C that TCD covers",
    "TCD section 4.2",
)];

/// TCD in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "tcd",
    keys: KEYS,
    check: |input| epsilon(input).map(drop),
    plan,
    ..Entry::PLAIN
};

/// Smallest congestion degree that is covered.
fn epsilon(input: &PlanInput) -> Result<f64, ParamError> {
    let epsilon = input.own().float("epsilon")?;
    within("epsilon", epsilon, 1e-6, 1.0)?;
    Ok(epsilon)
}

/// Congestion degrees of the table: those of Fig. 8 and around.
pub const EPSILONS: [f64; 7] = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];
const COLUMNS: [&str; 7] = [
    "epsilon 0.01",
    "epsilon 0.02",
    "epsilon 0.03",
    "epsilon 0.05",
    "epsilon 0.1",
    "epsilon 0.2",
    "epsilon 0.5",
];

/// Plans TCD on a link with the given flow control. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let epsilon = epsilon(input)?;
    let link = Link::of(input);
    let mut rows = link.rows();
    rows.push(PlanRow::ratio(
        "congestion degree covered",
        "epsilon",
        epsilon,
        "given; 0.05 is recommended",
        "TCD section 4.2",
    ));
    let (stop, on_off) = stop(input, &link)?;
    let (formula, source) = (on_off.formula)(input);
    rows.push(match stop {
        Stop::Credits(period) => PlanRow::span("credit period", "T_c", period, formula, source),
        Stop::Queue(range) => PlanRow::bytes(
            "queue that triggers OFF above the one that triggers ON",
            "B_1 - B_0",
            range,
            formula,
            source,
        ),
    });
    let max_ton = stop.max_ton(link.rate, link.tau, epsilon);
    let (formula, source) = match stop {
        Stop::Queue(_) => ("(2 (B_1 - B_0) + tau C)/(2 epsilon C) + tau", "TCD Eq. (3): R_d = C/2"),
        Stop::Credits(_) => ("T_c", "TCD section 4.4"),
    };
    rows.push(PlanRow::span(
        "longest ON period of a regulated port",
        "max(T_on)",
        max_ton,
        formula,
        source,
    ));
    if let Stop::Credits(_) = stop {
        let ton = stop.ton(link.rate, link.tau, 0.5, epsilon);
        rows.push(PlanRow::span(
            "ON period at R_d = C/2",
            "T_on",
            ton,
            "R_d T_c/(R_d + epsilon C)",
            "TCD Eq. (4)",
        ));
    }
    let decided = Span(max_ton.0.saturating_mul(2));
    rows.extend([
        PlanRow::span(
            "period of the checks of the queue",
            "T",
            max_ton,
            "max(T_on)",
            "TCD sections 4.3, 4.4",
        ),
        PlanRow::span(
            "from the last OFF to the first CE, at least",
            "max(T_on) + T",
            decided,
            "max(T_on) + T",
            "TCD section 4.1",
        ),
    ]);
    if let Stop::Queue(_) = stop {
        let paper = |name, symbol, t_p, source| {
            PlanRow::span(name, symbol, of_the_paper(t_p), "Eq. (3), 40 Gb/s, MTU 1000 B", source)
        };
        rows.extend([
            paper(
                "the paper's example, t_p = 1 us",
                "34.4 us",
                Span::from_us(1),
                "TCD section 4.3",
            ),
            paper(
                "the paper's simulations, t_p = 4 us",
                "100.4 us",
                Span::from_us(4),
                "TCD section 3.1.1",
            ),
        ]);
    }
    let mut warnings = warnings(epsilon, &link, stop, max_ton);
    warnings.extend((on_off.warnings)(input, &link, stop)?);
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: Some("tcd".to_owned()),
        answer: Answer::of(&rows, &["max(T_on)", "T"]),
        evidence: Vec::new(),
        rows,
        tables: vec![surface(&link, stop)],
        warnings,
    })
}

/// max(T_on) with all that the paper's setting has in common: 40 Gb/s, MTU 1000 B, XOFF - XON = 2
/// MTU, epsilon 0.05.
pub fn of_the_paper(t_p: Span) -> Span {
    let (rate, mtu) = (Rate::from_gbps(40), Bytes(1_000));
    max_ton_by_queue(rate, hysteresis(mtu), tau(rate, mtu, t_p, Span::ZERO), 0.05)
}

/// A buffer for any derived threshold: the rule that stops a port does not depend on it.
const AMPLE: Bytes = Bytes(1_000_000_000_000_000);

/// Condition that stops the port, from the flow control itself: as a run reads it, with the given
/// values. Also the statements of its plan about it.
fn stop(input: &PlanInput, link: &Link) -> Result<(Stop, &'static OnOff), ParamError> {
    let Some(entry) =
        REGISTRY.iter().find(|e| e.name == input.flow_control && FLOW_CONTROLS.contains(&e.name))
    else {
        return Err(refused("flow_control", &input.flow_control, FLOW_CONTROLS));
    };
    if let (None, Some(_)) = (input.xoff, input.xon) {
        return Err(ParamError::new(
            "xon",
            "XON is given without XOFF",
            "also give xoff, or remove xon (default: 2 MTU below XOFF)",
        ));
    }
    let given = [
        ("xoff", input.xoff.map(|b| format!("{}B", b.0))),
        ("xon", input.xoff.and(input.xon).map(|b| format!("{}B", b.0))),
        ("period", input.credit_period.map(|t| format!("{}ps", t.0))),
    ];
    let mut v = Defaults::of(entry.params);
    for (key, value) in given {
        v = value.iter().fold(v, |v, value| v.with(key, value));
    }
    let stop =
        (entry.read)(&mut v, &LinkFacts::plain(link.rate, link.t_w, link.mtu, AMPLE))?.stop();
    stop.zip(registry::find(entry.name).and_then(|e| e.on_off.as_ref())).ok_or_else(|| {
        let what = format!(
            "{} pauses flows, not ports: no port has a longest ON period",
            input.flow_control
        );
        let others: Vec<&str> = registry::that_stop_ports().collect();
        ParamError::new("flow_control", what, format!("choose one of {}", others.join(", ")))
    })
}

/// Fig. 8: T_on over epsilon and R_d.
fn surface(link: &Link, stop: Stop) -> Table {
    let row = |tenths: u64| {
        let ton = |epsilon| stop.ton(link.rate, link.tau, tenths as f64 / 10.0, epsilon).0;
        let drain = (u128::from(link.rate.0) * u128::from(tenths) / 10) as u64;
        std::iter::once(drain).chain(EPSILONS.map(ton)).collect()
    };
    let (formula, source) = match stop {
        Stop::Queue(_) => ("(B_1 - B_0 + tau R_d)/(epsilon C) + tau", "TCD Eq. (2), Fig. 8"),
        Stop::Credits(_) => ("R_d T_c/(R_d + epsilon C)", "TCD Eq. (4)"),
    };
    let drain = Column { name: "R_d", unit: "bit/s" };
    Table {
        name: "ON periods",
        columns: std::iter::once(drain)
            .chain(COLUMNS.map(|name| Column { name, unit: "ps" }))
            .collect(),
        rows: (1..=5).map(row).collect(),
        formula,
        source,
    }
}

fn warnings(epsilon: f64, link: &Link, stop: Stop, max_ton: Span) -> Vec<Warning> {
    let mut w = Vec::new();
    let paper = Span::from_us(1);
    if let (Stop::Queue(_), true) = (stop, link.t_w != paper) {
        w.push(Warning {
            condition: "t_p = 1 us",
            text: format!(
                "the paper prints {}, 26.96 us and 24.48 us for 40, 100 and 200 Gb/s and a delay of 1 us, but the delay here is {}; \
                 links of 4 us, as in its simulations, need {} at 40 Gb/s",
                of_the_paper(paper),
                link.t_w,
                of_the_paper(Span::from_us(4))
            ),
            source: "TCD sections 3.1.1, 4.3",
        });
    }
    if epsilon >= 0.1 {
        w.push(Warning {
            condition: "epsilon < 0.1",
            text: format!("epsilon {}: a regulated port may stay ON for longer than max(T_on), so victims are marked CE", epsilon),
            source: "TCD section 5.1.4, Fig. 14",
        });
    }
    let frame = link.rate.time_for(link.mtu);
    if max_ton < frame {
        w.push(Warning {
            condition: "max(T_on) >= MTU/C",
            text: format!("max(T_on) = {max_ton} is shorter than the transmission of a frame, {frame}: no port is ever undetermined"),
            source: "a frame leaves as a whole",
        });
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TCD section 4.3, and the same formula with the links of section 3.1.1.
    #[test]
    fn the_two_values_of_the_paper() {
        assert_eq!(
            (of_the_paper(Span::from_us(1)), of_the_paper(Span::from_us(4))),
            (Span(34_400_000), Span(100_400_000))
        );
    }
}

//! Buffer-based GFC: a staircase of halving rates (GFC sections 4.2, 5.1 and 5.4).
//!
//! ```text
//!   rate C ------.          stage 0: rate C below B_1
//!          C/2   '----.     stage k: rate C/2^k from B_k = B_m - (B_m - B_1)/2^(k-1)
//!          C/4        '--.  Eq. (1): B_{k+1} - B_k >= R_{k-1} tau, with equality for B_m - B_1 = 2 C tau
//!               B_1  B_2 B_3 .. B_m
//! ```

use xoff_mech::ControlLoop;
use xoff_mech::flow_control::gfc_buffer::{entry_range, entry_stages};
use xoff_mech::flow_control::{FlowControl, standstill};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Configured, Parameters, packets, shared, start_at_most};
use super::entry::{Derived, Entry, OnOff, conditions_of};
use super::gfc_conceptual::{buffer_and_b_m, buffer_rows, standing, threshold};
use super::input::{PlanInput, within};
use super::link::{Link, bytes_ceil};
use super::output::{Answer, Column, Plan, PlanRow, Table, Warning};
use crate::theorems::message_rate;

/// Buffer-based GFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "gfc-buffer",
    keys: KEYS,
    check: |input| entry_ports(input).map(drop),
    plan,
    conditions,
    configured,
    derived,
    on_off: Some(OnOff {
        formula: |_| ("2 MTU, the hysteresis below B_1", "not in the paper"),
        warnings: |_, _, _| Ok(Vec::new()),
    }),
};

const KEYS: &[ParamSpec] = &[ParamSpec::new(
    "entry_ports",
    Kind::Count,
    "0",
    "entry ports that share an egress, for GFC with entry ports that slow down first; 0: all ports are equal",
    "ours; docs/theory/gfc-repair.md",
)];

fn entry_ports(input: &PlanInput) -> Result<u64, ParamError> {
    let ports = input.own().count("entry_ports")?;
    within("entry_ports", ports, 0, 1 << 10)?;
    Ok(ports)
}

/// Least B_1 with n entry ports: room for their stages, and enough below them that the egress does
/// not run empty before they are faster again.
pub fn entry_room(rate: Rate, tau: Span, ports: u64, hysteresis: Bytes) -> Bytes {
    let l = ControlLoop { rate, tau, mtu: Bytes::ZERO, buffer: Bytes::ZERO };
    entry_range(&l, ports) + bytes_ceil(rate, tau) + hysteresis
}

/// The row and, where there is no room for it, the refusal.
fn entry_rows(link: &Link, ports: u64, b_1: Bytes, mtu: Bytes) -> Result<Vec<PlanRow>, ParamError> {
    if ports == 0 {
        return Ok(Vec::new());
    }
    let need = entry_room(link.rate, link.tau, ports, mtu * 2);
    if b_1 < need {
        let what = format!("{ports} entry ports need B_1 >= {need}, but B_1 is {b_1}");
        return Err(ParamError::new(
            "entry_ports",
            what,
            format!("expected a buffer of {} more bytes, or fewer entry ports", (need - b_1).0),
        ));
    }
    let l = ControlLoop { rate: link.rate, tau: link.tau, mtu, buffer: Bytes::ZERO };
    let source = "ours; docs/theory/gfc-repair.md";
    Ok(vec![
        PlanRow::bytes(
            "start of entry ports, queue at the egress",
            "E_1",
            b_1 - entry_range(&l, ports),
            "B_1 - 2 n C tau",
            source,
        ),
        PlanRow::count(
            "stages by which entry ports are ahead",
            "s",
            entry_stages(ports).into(),
            "stages",
            "least s with 2^s >= 4 n",
            source,
        ),
        PlanRow::bytes(
            "least B_1 for them",
            "B_1 min",
            need,
            "2 n C tau + C tau + hysteresis",
            source,
        ),
    ])
}

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::GfcBuffer(p) = fc else { return Vec::new() };
    vec![("B_m", "bm", p.bm.0), ("B_1", "b1", p.b1.0)]
}

/// One stage of the staircase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Stage number k, from 1.
    pub k: u32,
    /// Queue at which it starts, B_k [bytes]; the exact value rounded down, so that no stage starts
    /// late.
    pub threshold: Bytes,
    /// Rate R_k = C/2^k, cut off to whole bit/s.
    pub rate: Rate,
}

/// Smallest B_m - B_1: 2 C tau, rounded up (GFC section 5.4), as
/// [`xoff_mech::flow_control::gfc_buffer::range`].
pub fn range(rate: Rate, tau: Span) -> Bytes {
    xoff_mech::flow_control::gfc_buffer::range(&ControlLoop {
        rate,
        tau,
        mtu: Bytes::ZERO,
        buffer: Bytes::ZERO,
    })
}

/// Number of stages N: the smallest with B_N - B_{N-1} = (B_m - B_1)/2^(N-1) <= 8 bit (GFC sections
/// 4.2, 5.4).
///
/// For 2 C tau at 10, 40 and 100 Gb/s this gives 16, 17 and 18. The paper prints 16, 18 and 20,
/// which no reading of its own formula yields.
pub fn stage_count(b_m_minus_b_1: Bytes) -> u32 {
    (1..=64).find(|n| u128::from(b_m_minus_b_1.0) <= 1 << (n - 1)).unwrap_or(65)
}

/// B_k - the distance below B_m is (B_m - B_1)/2^(k-1), rounded up to a whole byte.
fn stage(rate: Rate, b_m: Bytes, b_1: Bytes, k: u32) -> Stage {
    let distance = u128::from((b_m - b_1).0).div_ceil(1 << (k - 1)) as u64;
    let lowered = u128::from(rate.0) >> k;
    Stage { k, threshold: b_m - Bytes(distance), rate: Rate(lowered as u64) }
}

/// The stages 1 to N of section 5.4, for B_1 < B_m. The last one still has a positive rate:
/// hold-and-wait needs a rate of zero, and there is none.
pub fn stage_table(rate: Rate, b_m: Bytes, b_1: Bytes) -> Vec<Stage> {
    (1..=stage_count(b_m - b_1)).map(|k| stage(rate, b_m, b_1, k)).collect()
}

/// Rate limiters of a switch, one per queue (GFC section 5.3: 24 x 8 = 192, 24 x 3 = 72).
pub fn rate_limiters(ports: u64, priorities: u64) -> u64 {
    ports * priorities
}

/// Plans buffer-based GFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::with_messages(input);
    let range = range(link.rate, link.tau);
    let ports = entry_ports(input)?;
    let free = input.buffer.is_none() && input.b_m.is_none() && ports > 0;
    let start = input.b_1.or(free.then(|| entry_room(link.rate, link.tau, ports, input.mtu * 2)));
    let (buffer, b_m) = buffer_and_b_m(input, start, range)?;
    let b_1 = threshold("b_1", start, b_m, range)?;
    let stages = stage_table(link.rate, b_m, b_1);
    let lowest = stages.last().map_or(link.rate, |s| s.rate);

    let mut rows = link.rows();
    rows.push(PlanRow::bytes(
        "smallest range",
        "2 C tau",
        range,
        "B_m - B_1 >= 2 C tau",
        "GFC section 5.4",
    ));
    rows.extend(buffer_rows(input, buffer, b_m));
    let m = input.message;
    rows.extend([
        PlanRow::bytes(
            "start of the first stage",
            "B_1",
            b_1,
            if input.b_1.is_some() { "given" } else { "B_m - 2 C tau" },
            "GFC section 5.4",
        ),
        PlanRow::count(
            "stages",
            "N",
            stages.len() as u64,
            "stages",
            "smallest N with (B_m - B_1)/2^(N-1) <= 8 bit",
            "GFC sections 4.2, 5.4",
        ),
        PlanRow::rate("rate of the last stage", "R_N", lowest, "C/2^N", "GFC section 5.4"),
        PlanRow::rate(
            "messages, transient worst case",
            "m/tau",
            message_rate::worst(m, link.tau),
            "m/tau",
            "GFC section 4.2",
        ),
        PlanRow::rate(
            "messages, steady worst case",
            "m/(2 tau)",
            message_rate::steady_worst(m, link.tau),
            "m/(2 tau), drain midway between two stages",
            "limit cycle without hysteresis",
        ),
        PlanRow::rate(
            "messages, steady, as printed",
            "m/(8 tau)",
            message_rate::steady_as_printed(m, link.tau),
            "m/(8 tau)",
            "GFC section 4.2",
        ),
        PlanRow::count(
            "rate limiters of the switch",
            "limiters",
            rate_limiters(input.ports, input.priorities),
            "limiters",
            "ports x priorities",
            "GFC section 5.3",
        ),
    ]);
    rows.extend(entry_rows(&link, ports, b_1, input.mtu)?);
    let stops = standstill::staged((b_m, b_1), input.rate_unit, link.rate, link.mtu);
    let (row, check) =
        standing(&stops, if stops.lowest > lowest { "the rate unit" } else { "R_N" }, buffer);
    rows.push(row);
    let parameters = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer,
        b_m: Some(b_m),
        b_1: Some(b_1),
        rate_unit: Some(input.rate_unit),
        ..Parameters::default()
    };
    let warnings = conditions_of(conditions, &parameters);
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer: Answer { check: vec![check], ..Answer::of(&rows, &["B_m", "B_1", "B"]) },
        evidence: Vec::new(),
        rows,
        tables: vec![table(link.tau, link.rate, b_m, &stages)],
        warnings,
    })
}

/// The stage table, with Eq. (1) for every stage: the room up to the next threshold, and the bytes
/// that must fit in. Rounding to whole bytes may make the room one byte smaller.
fn table(tau: Span, rate: Rate, b_m: Bytes, stages: &[Stage]) -> Table {
    let column = |name, unit| Column { name, unit };
    let rows = stages.iter().enumerate().map(|(i, s)| {
        let next = stages.get(i + 1).map_or(b_m, |n| n.threshold);
        let before = if i == 0 { rate } else { stages[i - 1].rate };
        vec![
            u64::from(s.k),
            s.threshold.0,
            s.rate.0,
            (next - s.threshold).0,
            before.bytes_in(tau).0,
        ]
    });
    Table {
        name: "stages",
        columns: vec![
            column("k", ""),
            column("B_k", "bytes"),
            column("R_k", "bit/s"),
            column("B_{k+1} - B_k", "bytes"),
            column("R_{k-1} tau", "bytes"),
        ],
        rows: rows.collect(),
        formula: "B_k = B_m - (B_m - B_1)/2^(k-1), R_k = C/2^k",
        source: "GFC section 5.4; Eq. (1): B_{k+1} - B_k >= R_{k-1} tau",
    }
}

/// Smallest rate of the limiters of commodity switches -- GFC section 7.
const RATE_UNIT: Rate = Rate(8_000);

/// Conditions of the range below B_m and of the memory above it.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    stages(p, w);
    packets(p, w);
    shared(p, p.buffer, w);
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::GfcBuffer(x) = fc else { return };
    conditions(
        &Parameters {
            b_m: Some(x.bm),
            b_1: Some(x.b1),
            rate_unit: Some(x.rate_unit),
            ..at.parameters(fc)
        },
        w,
    );
}

/// Section 5.4: the first stage, and the smallest rate.
fn stages(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_1)) = (p.b_m, p.b_1) else { return };
    let (range, need) = (b_m.saturating_sub(b_1), range(p.rate, p.tau));
    if range < need {
        w.push(Warning {
            condition: "B_1 <= B_m - 2 C tau",
            text: format!(
                "{}: B_m - B_1 = {range} is less than 2 C tau = {need} (tau = {}), so the queue may pass a stage before its rate takes \
                 effect",
                start_at_most("B_1", b_m, need, p.mtu),
                p.tau
            ),
            source: "GFC section 5.4, Eq. (5)",
        });
    }
    let unit = p.rate_unit.unwrap_or(RATE_UNIT);
    let derived =
        || if b_1 < b_m { stage_table(p.rate, b_m, b_1).last().map(|s| s.rate) } else { None };
    if let Some(lowest) = p.rate_lowest.or_else(derived).filter(|r| *r < unit) {
        w.push(Warning {
            condition: "R_N >= rate unit",
            text: format!("use fewer stages, or a limiter with a smaller unit: the last stage sends at {lowest}, below the rate unit {unit}: the limiter would alternate between zero and its unit, and hold-and-wait may return"),
            source: "GFC section 7",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_count_to_the_last_byte() {
        assert_eq!(stage_count(Bytes(0)), 1);
        assert_eq!(stage_count(Bytes(1)), 1);
        assert_eq!(stage_count(Bytes(2)), 2);
        assert_eq!(stage_count(Bytes(32_768)), 16);
        assert_eq!(stage_count(Bytes(32_769)), 17);
        assert_eq!(stage_count(Bytes(u64::MAX)), 65);
    }

    /// The testbed with two hosts a switch: 2 n C tau = 450 KB, so that E_1 = 300 KB; four do not
    /// fit below B_1 = 750 KB.
    #[test]
    fn entry_ports_take_room_below_b_1() {
        let plan = |ports: &str, more: &[(&str, &str)]| {
            let mut v = xoff_units::params::Defaults::of(super::super::PARAMS)
                .with("flow_control", "gfc-buffer")
                .with("tau", "90us");
            for (k, x) in more.iter().chain(&[("entry_ports", ports)]) {
                v = v.with(k, x);
            }
            super::super::plan(&PlanInput::read(&mut v).unwrap())
        };
        let testbed = [("b_m", "1MB"), ("b_1", "750KB")];
        let row = |p: &Plan, symbol: &str| {
            p.rows.iter().find(|r| r.symbol == symbol).map(|r| match r.value_exact {
                super::super::Exact::Integer(v) => v,
                super::super::Exact::Real(_) => unreachable!(),
            })
        };
        let two = plan("2", &testbed).unwrap();
        assert_eq!((row(&two, "E_1"), row(&two, "s")), (Some(300_000), Some(3)));
        assert_eq!(plan("4", &testbed).unwrap_err().key, "entry_ports");
        let smallest = plan("4", &[]).unwrap();
        assert_eq!(
            row(&smallest, "B_1"),
            row(&smallest, "B_1 min"),
            "a buffer that fits is chosen"
        );
    }

    #[test]
    fn thresholds_rise_and_rates_fall_and_neither_reaches_the_end() {
        let stages = stage_table(Rate::from_gbps(10), Bytes(300_000), Bytes(281_500));
        assert!(
            stages.windows(2).all(|w| w[0].threshold < w[1].threshold && w[0].rate > w[1].rate)
        );
        let last = stages.last().unwrap();
        assert!(last.threshold < Bytes(300_000) && last.rate > Rate::ZERO);
    }
}

//! CBFC: InfiniBand's credits in blocks of 64 bytes, announced once per period (IBA vol. 1, section
//! 7.9).
//!
//! ```text
//!   sender may send while FCTBS + p <= FCCL      FCCL = ABR + free blocks, sent every T
//!   B >= C (T + tau), in whole frames of whole blocks: one announcement must last until the next one takes effect
//! ```

use xoff_mech::flow_control::FlowControl;
use xoff_mech::flow_control::cbfc::buffer_for_full_rate;
use xoff_mech::flow_control::on_off::Stop;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Length, Rate, Span};

use super::conditions::{Configured, Parameters, shared};
use super::entry::{Derived, Entry, OnOff, conditions_of};
use super::input::{PlanInput, choice, within};
use super::link::{Link, bytes_ceil};
use super::output::{Answer, Plan, PlanRow, Warning};

const COUNTERS: &[&str] = &["64-bit", "12-bit"];

/// Keys of a plan that only credits have.
const KEYS: &[ParamSpec] = &[
    ParamSpec::new(
        "counters",
        Kind::Choice(COUNTERS),
        "64-bit",
        "credit counters; 12-bit is the InfiniBand wire format",
        "IBA vol. 1, 7.9",
    ),
    ParamSpec::new(
        "lanes",
        Kind::Count,
        "4",
        "lanes of an InfiniBand link, for symbol times",
        "IBA vol. 1: 4X",
    ),
];

/// Values of [`KEYS`].
pub(super) struct Keys {
    /// Credit counters of 12 bits instead of 64.
    pub twelve_bit: bool,
    lanes: u64,
}

impl Keys {
    /// Reads the keys that only this plan has.
    ///
    /// # Errors
    /// An invalid value: its key, and the expected form.
    pub fn read(input: &PlanInput) -> Result<Keys, ParamError> {
        let mut v = input.own();
        let keys = Keys {
            twelve_bit: choice(&mut v, "counters", COUNTERS)? == "12-bit",
            lanes: v.count("lanes")?,
        };
        within("lanes", keys.lanes, 1, 16)?;
        Ok(keys)
    }
}

/// CBFC in the registry of plans.
pub(super) const PLAN: Entry = Entry {
    name: "cbfc",
    keys: KEYS,
    check: |input| Keys::read(input).map(drop),
    plan,
    conditions,
    configured,
    derived,
    on_off: Some(OnOff { formula: of_period, warnings: beside_a_detector }),
};

/// T_c of TCD.
pub(super) fn of_period(input: &PlanInput) -> (&'static str, &'static str) {
    let formula = if input.credit_period.is_some() { "given" } else { "65535 B / C" };
    (formula, "GFC section 5.4; TCD section 4.4")
}

/// The conditions of its buffer, where that is given.
fn beside_a_detector(
    input: &PlanInput,
    link: &Link,
    stop: Stop,
) -> Result<Vec<Warning>, ParamError> {
    let (Stop::Credits(period), Some(buffer)) = (stop, input.buffer) else { return Ok(Vec::new()) };
    let p = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer,
        period: Some(period),
        twelve_bit: Keys::read(input)?.twelve_bit,
        ..Parameters::default()
    };
    Ok(conditions_of(conditions, &p))
}

fn derived(fc: &FlowControl) -> Vec<Derived> {
    let FlowControl::Cbfc(p) = fc else { return Vec::new() };
    vec![("T", "period", p.period.0)]
}

/// Size of a credit block -- IBA vol. 1, section 7.9.
pub const BLOCK: Bytes = Bytes(64);
/// Blocks that 12-bit counters can have outstanding: half of 4096 -- IBA vol. 1, section 7.9.
pub const BLOCKS_TWELVE_BIT: u64 = 2_048;
/// A flow control packet on the wire: 6 B and 2 B of delimiters.
pub const CREDIT_MESSAGE: Bytes = Bytes(8);

/// Blocks that a packet occupies: rounded up.
pub fn blocks_of_packet(len: Bytes) -> u64 {
    len.0.div_ceil(BLOCK.0)
}

/// Blocks that a buffer can announce: rounded down.
pub fn blocks_of_buffer(buffer: Bytes) -> u64 {
    buffer.0 / BLOCK.0
}

/// The most that 12-bit counters can announce: 2048 blocks = 131,072 bytes.
pub fn twelve_bit_limit() -> Bytes {
    BLOCK * BLOCKS_TWELVE_BIT
}

/// Credit period as GFC uses it: the time to send 65535 bytes (GFC section 5.4).
pub fn period_bytes(rate: Rate) -> Span {
    rate.time_for(Bytes(65_535))
}

/// Credit period of InfiniBand (and TCD section 4.4): at most 65,536 symbol times. A symbol is 10
/// bits on **one lane** (8b/10b), so with 4 lanes this is five times [`period_bytes`].
pub fn period_symbols(rate: Rate, lanes: u64) -> Span {
    rate.time_for(Bytes(65_536 * 10 / 8 * lanes))
}

/// The longest T + tau for which 12-bit counters sustain the rate: whole frames, each in whole
/// blocks, of 2048 blocks.
pub(super) fn twelve_bit_reach(rate: Rate, mtu: Bytes) -> Span {
    Span(rate.time_for(mtu).0.saturating_mul(BLOCKS_TWELVE_BIT / blocks_of_packet(mtu).max(1)))
}

/// An upper bound that is still one when it is printed with three decimals and typed again: cut off
/// to whole nanoseconds, above 1 ms to whole microseconds.
pub(super) fn printable(most: Span) -> Span {
    let step = if most < Span::from_ms(1) { 1_000 } else { 1_000_000 };
    Span(most.0 / step * step)
}

/// A buffer that 12-bit counters cannot announce: `xoff run` refuses it as well.
fn refused(input: &PlanInput, link: &Link, period: Span, buffer: Bytes) -> ParamError {
    let limit = twelve_bit_limit().0;
    if input.buffer.is_some() {
        let what =
            format!("12-bit counters announce at most {limit} B, and the buffer is {} B", buffer.0);
        return ParamError::new(
            "buffer",
            what,
            format!("set the buffer to {limit} B or less, or --counters 64-bit"),
        );
    }
    let what = format!(
        "impossible: 12-bit counters announce at most {limit} B, and {} with T = {period} and tau = {} takes {} B",
        link.rate, link.tau, buffer.0
    );
    let reach = twelve_bit_reach(link.rate, link.mtu);
    let mut paths = Vec::new();
    if reach > link.tau {
        paths.push(format!(
            "--credit-period of {:#} or less",
            printable(Span(reach.0 - link.tau.0))
        ));
    }
    // Share of the cable in tau, unless tau was measured.
    if let Some(wire) = reach
        .0
        .checked_sub((period.0 + link.tau.0).saturating_sub(link.t_w.0 * 2))
        .filter(|_| input.tau.is_none())
    {
        paths.push(match input.t_w {
            Some(_) => format!("--t-w of {:#} or less", printable(Span(wire / 2))),
            None => {
                let length = wire / 2 / Length(1).propagation().0.max(1);
                format!(
                    "--length of {:#} or less",
                    Length(if length < 1_000_000 { length } else { length / 1_000 * 1_000 })
                )
            }
        });
    }
    paths.push("--counters 64-bit".into());
    ParamError::new("counters", what, paths.join(", or "))
}

/// Plans CBFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let keys = Keys::read(input)?;
    let link = Link::with_messages(input);
    let (by_bytes, by_symbols) = (period_bytes(link.rate), period_symbols(link.rate, keys.lanes));
    let period = input.credit_period.unwrap_or(by_bytes);
    let full_rate = buffer_for_full_rate(&link.control_loop(Bytes::ZERO), period);
    let buffer = input.buffer.unwrap_or(full_rate);
    if keys.twelve_bit && buffer > twelve_bit_limit() {
        return Err(refused(input, &link, period, buffer));
    }
    let blocks = blocks_of_buffer(buffer);
    if blocks < blocks_of_packet(link.mtu) {
        return Err(ParamError::new(
            "buffer",
            format!("{buffer} never announces credits for a whole packet of {}", link.mtu),
            format!("expected at least {} bytes", blocks_of_packet(link.mtu) * BLOCK.0),
        ));
    }
    let usable = if keys.twelve_bit { blocks.min(BLOCKS_TWELVE_BIT) } else { blocks };
    let sustained = Rate::of(BLOCK * usable, period + link.tau).min(link.rate);

    let mut rows = link.rows();
    rows.extend([
        PlanRow::bytes("credit block", "block", BLOCK, "64 B", "IBA vol. 1, section 7.9"),
        PlanRow::count(
            "largest packet",
            "MTU blocks",
            blocks_of_packet(link.mtu),
            "blocks",
            "MTU/64, rounded up",
            "IBA vol. 1, section 7.9",
        ),
        PlanRow::span(
            "credit period, by bytes",
            "T bytes",
            by_bytes,
            "65535 B / C",
            "GFC section 5.4",
        ),
        PlanRow::span(
            "credit period, by symbols",
            "T symbols",
            by_symbols,
            "65536 x 10 bit / (C/lanes)",
            "IBA vol. 1, section 7.9; TCD section 4.4",
        ),
        PlanRow::span(
            "credit period",
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
            "TCD section 4.4: B > C T_c",
        ),
        PlanRow::bytes(
            "smallest buffer for the full rate",
            "B_full",
            full_rate,
            "ceil((T + tau)/(MTU/C)) frames, each in whole blocks",
            "an announcement lasts until the next takes effect",
        ),
        PlanRow::bytes(
            "ingress buffer",
            "B",
            buffer,
            if input.buffer.is_some() { "given" } else { "B_full" },
            "",
        ),
        PlanRow::count(
            "buffer in blocks",
            "B blocks",
            blocks,
            "blocks",
            "B/64, rounded down",
            "IBA vol. 1, section 7.9",
        ),
        PlanRow::bytes(
            "most that 12-bit counters announce",
            "B 12-bit",
            twelve_bit_limit(),
            "2048 x 64 B",
            "IBA vol. 1, section 7.9",
        ),
        PlanRow::rate(
            "highest sustained rate",
            "R_max",
            sustained,
            "min(C, B/(T + tau))",
            "credits per period",
        ),
        PlanRow::rate(
            "bandwidth of the credit messages",
            "8 B/T",
            Rate::of(CREDIT_MESSAGE, period),
            "8 B / T, per virtual lane",
            "IBA vol. 1, section 7.9",
        ),
    ]);
    let parameters = Parameters {
        rate: link.rate,
        tau: link.tau,
        mtu: link.mtu,
        buffer,
        period: Some(period),
        twelve_bit: keys.twelve_bit,
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer: Answer::of(&rows, &["B", "T"]),
        evidence: Vec::new(),
        rows,
        tables: Vec::new(),
        warnings: conditions_of(conditions, &parameters),
    })
}

/// Conditions of credits and of the memory below them.
fn conditions(p: &Parameters, w: &mut Vec<Warning>) {
    credits_suffice(p, w);
    shared(p, p.buffer, w);
}

fn configured(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let FlowControl::Cbfc(x) = fc else { return };
    conditions(
        &Parameters { period: Some(x.period), twelve_bit: x.conformance, ..at.parameters(fc) },
        w,
    );
}

fn credits_suffice(p: &Parameters, w: &mut Vec<Warning>) {
    if p.twelve_bit && p.buffer > twelve_bit_limit() {
        w.push(Warning {
            condition: "buffer <= 2048 x 64 B",
            text: format!("set the buffer to 131072B or less, or counters = \"64-bit\": 12-bit counters announce at most 131,072 B, the buffer is {} B", p.buffer.0),
            source: "IBA vol. 1, section 7.9",
        });
    }
    let announced = if p.twelve_bit { p.buffer.min(twelve_bit_limit()) } else { p.buffer };
    if blocks_of_buffer(announced) < blocks_of_packet(p.mtu) {
        w.push(Warning {
            condition: "buffer >= 1 MTU in blocks",
            text: format!(
                "raise the buffer: {} blocks are not enough for a packet of {} blocks, so the port never sends",
                blocks_of_buffer(announced),
                blocks_of_packet(p.mtu)
            ),
            source: "IBA vol. 1, section 7.9",
        });
    }
    let Some(period) = p.period else { return };
    let need = buffer_for_full_rate(&p.control_loop(), period);
    if announced.0 / BLOCK.0 * BLOCK.0 < need.0 {
        let reach = twelve_bit_reach(p.rate, p.mtu);
        let todo = match reach.0.checked_sub(p.tau.0) {
            _ if !p.twelve_bit || need <= twelve_bit_limit() => {
                format!("set the buffer to {need} or more, or a shorter period")
            }
            Some(0) | None => {
                format!(
                    "set counters = \"64-bit\" and the buffer to {need} or more: 12-bit counters cannot carry tau = {}",
                    p.tau
                )
            }
            Some(most) => format!(
                "set the period to {} or less with a buffer of 131072B, or counters = \"64-bit\" and the buffer to {need} or more",
                printable(Span(most))
            ),
        };
        w.push(Warning {
            condition: "buffer >= C (T + tau)",
            text: format!(
                "{todo}: credits of {announced} per period {period} do not sustain {}",
                p.rate
            ),
            source: "TCD section 4.4 (B > C T_c), plus the latency of the message",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_rounds_up_and_a_buffer_down() {
        assert_eq!(blocks_of_packet(Bytes(1_500)), 24);
        assert_eq!(blocks_of_packet(Bytes(1_536)), 24);
        assert_eq!(blocks_of_buffer(Bytes(1_535)), 23);
    }
}

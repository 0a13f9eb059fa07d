//! CBFC: InfiniBand's credits in blocks of 64 bytes, announced once per period (IBA vol. 1, section 7.9).
//!
//! ```text
//!   sender may send while FCTBS + p <= FCCL      FCCL = ABR + free blocks, sent every T
//!   B >= C (T + tau), in whole frames of whole blocks: what one announcement must cover until the next one takes effect
//! ```

use xoff_mech::flow_control::cbfc::buffer_for_full_rate;
use xoff_params::ParamError;
use xoff_units::{Bytes, Length, Rate, Span};

use super::conditions::{Parameters, conditions};
use super::input::PlanInput;
use super::link::{Link, bytes_ceil};
use super::output::{Answer, Plan, PlanRow};

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

/// Credit period of InfiniBand (and TCD section 4.4): at most 65,536 symbol times. A symbol is 10 bits on **one lane**
/// (8b/10b), so with 4 lanes this is five times [`period_bytes`].
pub fn period_symbols(rate: Rate, lanes: u64) -> Span {
    rate.time_for(Bytes(65_536 * 10 / 8 * lanes))
}

/// The longest T + tau for which 12-bit counters sustain the rate: whole frames, each in whole blocks, of 2048 blocks.
pub(super) fn twelve_bit_reach(rate: Rate, mtu: Bytes) -> Span {
    Span(rate.time_for(mtu).0.saturating_mul(BLOCKS_TWELVE_BIT / blocks_of_packet(mtu).max(1)))
}

/// An upper bound that is still one when it is printed with three decimals and typed again: cut off to whole nanoseconds, above 1 ms to
/// whole microseconds.
pub(super) fn printable(most: Span) -> Span {
    let step = if most < Span::from_ms(1) { 1_000 } else { 1_000_000 };
    Span(most.0 / step * step)
}

/// A buffer that 12-bit counters cannot announce: `xoff run` refuses it as well.
fn refused(input: &PlanInput, link: &Link, period: Span, buffer: Bytes) -> ParamError {
    let limit = twelve_bit_limit().0;
    if input.buffer.is_some() {
        let what = format!("12-bit counters announce at most {limit} B, and the buffer is {} B", buffer.0);
        return ParamError::new("buffer", what, format!("set the buffer to {limit} B or less, or --counters 64-bit"));
    }
    let what = format!(
        "impossible: 12-bit counters announce at most {limit} B, and {} with T = {period} and tau = {} takes {} B",
        link.rate, link.tau, buffer.0
    );
    let reach = twelve_bit_reach(link.rate, link.mtu);
    let mut paths = Vec::new();
    if reach > link.tau {
        paths.push(format!("--credit-period of {} or less", printable(Span(reach.0 - link.tau.0))));
    }
    // What the cable takes of tau, unless tau was measured.
    if let Some(wire) = reach.0.checked_sub((period.0 + link.tau.0).saturating_sub(link.t_w.0 * 2)).filter(|_| input.tau.is_none()) {
        paths.push(match input.t_w {
            Some(_) => format!("--t-w of {} or less", printable(Span(wire / 2))),
            None => {
                let length = wire / 2 / Length(1).propagation().0.max(1);
                format!("--length of {} or less", Length(if length < 1_000_000 { length } else { length / 1_000 * 1_000 }))
            }
        });
    }
    paths.push("--counters 64-bit".into());
    ParamError::new("counters", what, paths.join(", or "))
}

/// Plans CBFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::with_messages(input);
    let (by_bytes, by_symbols) = (period_bytes(link.rate), period_symbols(link.rate, input.lanes));
    let period = input.credit_period.unwrap_or(by_bytes);
    let full_rate = buffer_for_full_rate(&link.control_loop(Bytes::ZERO), period);
    let buffer = input.buffer.unwrap_or(full_rate);
    if input.twelve_bit && buffer > twelve_bit_limit() {
        return Err(refused(input, &link, period, buffer));
    }
    let blocks = blocks_of_buffer(buffer);
    if blocks < blocks_of_packet(link.mtu) {
        return Err(ParamError::new(
            "buffer",
            format!("{buffer} never announces credits for one whole {} packet", link.mtu),
            format!("expected at least {} bytes", blocks_of_packet(link.mtu) * BLOCK.0),
        ));
    }
    let usable = if input.twelve_bit { blocks.min(BLOCKS_TWELVE_BIT) } else { blocks };
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
        PlanRow::span("credit period, by bytes", "T bytes", by_bytes, "65535 B / C", "GFC section 5.4"),
        PlanRow::span(
            "credit period, by symbols",
            "T symbols",
            by_symbols,
            "65536 x 10 bit / (C/lanes)",
            "IBA vol. 1, section 7.9; TCD section 4.4",
        ),
        PlanRow::span("credit period", "T", period, if input.credit_period.is_some() { "given" } else { "65535 B / C" }, "GFC section 5.4"),
        PlanRow::bytes("arrivals during one period", "C T", bytes_ceil(link.rate, period), "C T", "TCD section 4.4: B > C T_c"),
        PlanRow::bytes(
            "smallest buffer for the full rate",
            "B_full",
            full_rate,
            "ceil((T + tau)/(MTU/C)) frames, each in whole blocks",
            "an announcement lasts until the next takes effect",
        ),
        PlanRow::bytes("ingress buffer", "B", buffer, if input.buffer.is_some() { "given" } else { "B_full" }, ""),
        PlanRow::count("buffer in blocks", "B blocks", blocks, "blocks", "B/64, rounded down", "IBA vol. 1, section 7.9"),
        PlanRow::bytes("most that 12-bit counters announce", "B 12-bit", twelve_bit_limit(), "2048 x 64 B", "IBA vol. 1, section 7.9"),
        PlanRow::rate("highest sustained rate", "R_max", sustained, "min(C, B/(T + tau))", "credits per period"),
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
        twelve_bit: input.twelve_bit,
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        answer: Answer::of(&rows, &["B", "T"]),
        evidence: Vec::new(),
        rows,
        tables: Vec::new(),
        warnings: conditions("cbfc", &parameters),
    })
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

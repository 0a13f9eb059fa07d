//! PFC: XOFF, XON and the headroom above XOFF (IEEE 802.1Q, clause 36 and Annex N).
//!
//! ```text
//!   0 ------- XON -- 2 MTU -- XOFF ---- headroom ---- B        XOFF + headroom <= B
//! ```
//!
//! Thresholds and the headroom of the worst case are those of a run, [`xoff_mech::flow_control::pfc`].

use xoff_mech::flow_control::pfc;
use xoff_params::ParamError;
use xoff_units::{Bytes, Rate, Span};

use super::conditions::{Parameters, conditions};
use super::headroom::{self, AnnexN};
use super::input::PlanInput;
use super::link::Link;
use super::output::{Plan, PlanRow};

pub use xoff_mech::flow_control::pfc::hysteresis;

/// Length of `quanta` pause quanta at `rate`, 512 bit times of the port each -- IEEE 802.3 Annex 31B.
pub fn pause(rate: Rate, quanta: u16) -> Span {
    pfc::duration(quanta.into(), rate)
}

/// Plans PFC. See [`plan`](super::plan).
pub(super) fn plan(input: &PlanInput) -> Result<Plan, ParamError> {
    let link = Link::with_messages(input);
    let mut rows = link.rows();
    let (headrooms, headroom) = headrooms(input, &link)?;
    rows.extend(headrooms);
    rows.push(PlanRow::bytes("headroom chosen", "H", headroom, "the formula named by 'headroom'", ""));

    // Refusals come before anything is derived, so that nothing below can go negative.
    let lossless = headroom + hysteresis(link.mtu);
    let full_rate = lossless + link.c_tau(1);
    let buffer = input.buffer.unwrap_or(input.xoff.map_or(full_rate, |xoff| xoff + headroom));
    if input.xoff.is_none() && buffer < lossless {
        return Err(ParamError::new(
            "buffer",
            format!("{buffer} cannot hold the headroom and 2 MTU between XOFF and XON"),
            format!("expected at least {} bytes", lossless.0),
        ));
    }
    let (xoff, xon) = pfc::thresholds(&link.control_loop(buffer), headroom, input.xoff, input.xon);
    if xon > xoff {
        return Err(ParamError::new("xon", format!("XON {xon} lies above XOFF {xoff}"), "expected XON <= XOFF"));
    }

    rows.extend([
        PlanRow::bytes("smallest buffer without loss", "B_min", lossless, "H + 2 MTU", "GFC sections 4.1, 4.2"),
        PlanRow::bytes(
            "smallest buffer without loss or idle link",
            "B_full",
            full_rate,
            "H + 2 MTU + C tau",
            "drain at C while a resume takes effect",
        ),
        PlanRow::bytes("ingress buffer", "B", buffer, if input.buffer.is_some() { "given" } else { "B_full, or XOFF + H" }, ""),
        PlanRow::bytes("pause threshold", "XOFF", xoff, if input.xoff.is_some() { "given" } else { "B - H" }, "XOFF + H <= B"),
        PlanRow::bytes("resume threshold", "XON", xon, if input.xon.is_some() { "given" } else { "XOFF - 2 MTU" }, "GFC section 4.1"),
        PlanRow::bytes(
            "headroom of one port",
            "H port",
            headroom * input.priorities,
            "H x priorities",
            "one headroom per lossless priority",
        ),
        PlanRow::bytes("headroom of the switch", "H switch", headroom * input.priorities * input.ports, "H x priorities x ports", ""),
        PlanRow::span("pause quantum", "quantum", pause(link.rate, 1), "512 bit times", "IEEE 802.3 Annex 31B"),
        PlanRow::span("longest pause", "65535 quanta", pause(link.rate, u16::MAX), "65535 x 512 bit times", "IEEE 802.3 Annex 31B"),
        PlanRow::span(
            "refresh while above XON",
            "refresh",
            pause(link.rate, u16::MAX) / 2,
            "half of the longest pause",
            "keeps a pause from expiring",
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
        ..Parameters::default()
    };
    Ok(Plan {
        flow_control: input.flow_control.clone(),
        detection: None,
        rows,
        tables: Vec::new(),
        warnings: conditions("pfc", &parameters),
    })
}

/// A row per published formula, and the value of the chosen one.
fn headrooms(input: &PlanInput, link: &Link) -> Result<(Vec<PlanRow>, Bytes), ParamError> {
    let other = input.mtu_other.unwrap_or(link.mtu);
    let annex = AnnexN::of(link.rate, other, link.mtu, link.t_w);
    let worst = pfc::headroom(&link.control_loop(Bytes::ZERO));
    let gfc = headroom::gfc(link.rate, link.tau);
    let cisco = headroom::cisco(link.rate, other, link.mtu, input.length);
    let mlx5e = headroom::mlx5e(link.rate, link.mtu, input.length);
    let hpcc = headroom::hpcc(link.rate, link.t_w);
    let mut rows = vec![
        PlanRow::bytes(
            "headroom, worst case",
            "H worst",
            worst,
            "C tau + MTU",
            "the frame that passes XOFF is admitted as a whole; no frame lost in simulation, crates/run/tests/dimensioning",
        ),
        PlanRow::bytes("headroom, one feedback latency", "H gfc", gfc, "C tau, without the frame that passes XOFF", "GFC section 4.2"),
    ];
    if let Some(a) = annex {
        let formula = "MTU_other + 2 D_cable + 2 D_intf + D_pause + D_resp + MTU, in bit times";
        rows.push(PlanRow::bytes("headroom, sum of components", "H 802.1q", a.bytes(), formula, "IEEE 802.1Q Annex N"));
    }
    rows.extend([
        PlanRow::bytes(
            "headroom, shorthand",
            "H cisco",
            cisco,
            "MTU_other + MTU + 3840 B + 130 B per 100 m and Gb/s",
            "Cisco white paper c11-542809",
        ),
        PlanRow::bytes("headroom, NIC driver", "H mlx5e", mlx5e, "(301 + 2.16 m) x max(Gb/s, 40) + 2.72 MTU", "Linux mlx5e, port_buffer.c"),
        PlanRow::bytes("headroom, HPCC simulator", "H hpcc", hpcc, "3 C t_w", "HPCC simulator, third.cc"),
    ]);
    let chosen = match input.headroom.as_str() {
        "802.1q" => annex.map(|a| a.bytes()).ok_or_else(|| {
            ParamError::new(
                "headroom",
                format!("802.1Q Annex N has no published interface and response delays for {}", link.rate),
                "choose worst-case, gfc, cisco, mlx5e or hpcc, or a rate of 10, 25, 40 or 100 Gbps",
            )
        })?,
        "cisco" => cisco,
        "mlx5e" => mlx5e,
        "hpcc" => hpcc,
        "gfc" => gfc,
        _ => worst,
    };
    Ok((rows, chosen))
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

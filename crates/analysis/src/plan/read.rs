//! Reading the input of a plan, by the keys of all mechanisms.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Length, Rate, Span};

use super::input::{HEADROOMS, Own, PlanInput, SIZE_MAX, unknown, within};
use super::registry::{self, DETECTIONS, FLOW_CONTROLS, OWN_KEYS, PARAMS, PLANNED, refused};

/// Keys of every plan, and those that several mechanisms share. A mechanism declares its own keys
/// next to its plan.
pub(super) const SHARED: &[ParamSpec] = &[
    ParamSpec::optional(
        "detection",
        Kind::Choice(PLANNED),
        "detection or flow control to plan, or a network such as sonic:configs/",
        "",
    ),
    ParamSpec::new("flow_control", Kind::Choice(FLOW_CONTROLS), "pfc", "flow control to plan", ""),
    ParamSpec::new("rate", Kind::Rate, "10Gbps", "link rate C", "GFC section 6"),
    ParamSpec::new(
        "length",
        Kind::Length,
        "100m",
        "cable length; the delay is 5 ns per metre",
        "GFC section 5.4",
    ),
    ParamSpec::new(
        "mtu",
        Kind::Bytes,
        "1500B",
        "largest frame of the lossless class",
        "GFC section 5.4",
    ),
    ParamSpec::optional(
        "mtu_other",
        Kind::Bytes,
        "largest frame of any other class on the link, which can delay a message; the MTU if absent or smaller",
        "802.1Q Annex N",
    ),
    ParamSpec::optional(
        "buffer",
        Kind::Bytes,
        "ingress buffer of one port and priority, B; the smallest that works if absent",
        "",
    ),
    ParamSpec::new(
        "t_r",
        Kind::Span,
        "3us",
        "response time of the peer, from a message to its effect, interfaces included",
        "GFC section 5.4: at most 3 us",
    ),
    ParamSpec::optional(
        "t_w",
        Kind::Span,
        "delay of the wire in one direction; from the length if absent",
        "GFC section 5.4",
    ),
    ParamSpec::optional(
        "tau",
        Kind::Span,
        "measured feedback latency; if absent Eq. (6) and the wire time of the messages",
        "GFC section 6.1: 90 us",
    ),
    ParamSpec::optional(
        "credit_period",
        Kind::Span,
        "time between two credit messages, T; 65535 B / C if absent",
        "GFC section 5.4",
    ),
    ParamSpec::new(
        "priorities",
        Kind::Count,
        "1",
        "lossless priorities (or virtual lanes) per port; messages of one can delay those of the others",
        "GFC section 5.3",
    ),
    ParamSpec::new("ports", Kind::Count, "1", "ports of the switch, for totals", "GFC section 5.3"),
    ParamSpec::new(
        "headroom",
        Kind::Choice(HEADROOMS),
        "safe",
        "rule that sets the PFC headroom; safe: the largest of worst-case, which a run derives, and 802.1q",
        "worst-case: C tau + MTU, proved by simulation",
    ),
    ParamSpec::optional(
        "xoff",
        Kind::Bytes,
        "PFC pause threshold; buffer - headroom if absent",
        "",
    ),
    ParamSpec::optional(
        "xon",
        Kind::Bytes,
        "PFC resume threshold; XOFF - 2 MTU if absent",
        "GFC section 4.1",
    ),
    ParamSpec::optional(
        "b_m",
        Kind::Bytes,
        "queue at which the GFC rate is zero, B_m; buffer - 2 MTU if absent",
        "GFC section 5.4",
    ),
    ParamSpec::optional(
        "b_0",
        Kind::Bytes,
        "queue from which GFC slows down, B_0; the theorem's bound if absent",
        "GFC Theorems 4.1, 5.1",
    ),
    ParamSpec::optional(
        "b_1",
        Kind::Bytes,
        "queue at which the first GFC stage starts, B_1; B_m - 2 C tau if absent",
        "GFC section 5.4",
    ),
    ParamSpec::new(
        "message",
        Kind::Bytes,
        "64B",
        "size of a feedback message, m",
        "GFC section 4.2",
    ),
    ParamSpec::new(
        "rate_unit",
        Kind::Rate,
        "8kbps",
        "smallest rate the limiter can set",
        "GFC section 7",
    ),
];

impl PlanInput {
    /// Reads every key of [`PARAMS`].
    ///
    /// # Errors
    /// An invalid value: its key, and the expected form.
    pub fn read(v: &mut dyn Values) -> Result<Self, ParamError> {
        let (detection, flow_control) = what(v)?;
        let input = PlanInput {
            detection,
            flow_control,
            rate: v.rate("rate")?,
            length: v.length("length")?,
            mtu: v.bytes("mtu")?,
            mtu_other: v.bytes_opt("mtu_other")?,
            buffer: v.bytes_opt("buffer")?,
            t_r: v.span("t_r")?,
            t_w: v.span_opt("t_w")?,
            tau: v.span_opt("tau")?,
            credit_period: v.span_opt("credit_period")?,
            priorities: v.count("priorities")?,
            ports: v.count("ports")?,
            headroom: v.text("headroom")?,
            xoff: v.bytes_opt("xoff")?,
            xon: v.bytes_opt("xon")?,
            b_m: v.bytes_opt("b_m")?,
            b_0: v.bytes_opt("b_0")?,
            b_1: v.bytes_opt("b_1")?,
            message: v.bytes("message")?,
            rate_unit: v.rate("rate_unit")?,
            own: Own::read(v, OWN_KEYS)?,
        };
        input.validate()?;
        Ok(input)
    }

    /// Rejects values that no link has, so that later arithmetic cannot overflow.
    ///
    /// # Errors
    /// The first invalid value: its key, and the expected form.
    pub fn validate(&self) -> Result<(), ParamError> {
        within("rate", self.rate, Rate(1_000_000), Rate(100_000_000_000_000))?;
        within("mtu", self.mtu, Bytes(64), Bytes(65_536))?;
        within("message", self.message, Bytes(1), Bytes(65_536))?;
        within("rate_unit", self.rate_unit, Rate(0), self.rate)?;
        within("priorities", self.priorities, 1, 16)?;
        within("ports", self.ports, 1, 1_000_000)?;
        let second = Span::from_ms(1_000);
        within("t_r", self.t_r, Span::ZERO, second)?;
        for (key, value, least) in
            [("t_w", self.t_w, 0), ("tau", self.tau, 1), ("credit_period", self.credit_period, 1)]
        {
            if let Some(v) = value {
                within(key, v, Span(least), second)?;
            }
        }
        within("length", self.length, Length(0), Length::from_m(100_000_000))?;
        if let Some(v) = self.mtu_other {
            within("mtu_other", v, Bytes(64), Bytes(65_536))?;
        }
        let sizes = [
            ("buffer", self.buffer),
            ("xoff", self.xoff),
            ("xon", self.xon),
            ("b_m", self.b_m),
            ("b_0", self.b_0),
            ("b_1", self.b_1),
        ];
        for (key, value) in sizes {
            if let Some(v) = value {
                within(key, v, Bytes(0), SIZE_MAX)?;
            }
        }
        if !HEADROOMS.contains(&self.headroom.as_str()) {
            return Err(unknown("headroom", &self.headroom, HEADROOMS));
        }
        registry::all().try_for_each(|e| (e.check)(self))
    }
}

/// Subject of the plan: a detection on a link with a flow control, or a flow control, which either
/// key may name.
fn what(v: &mut dyn Values) -> Result<(Option<String>, String), ParamError> {
    let flow_control = v.text("flow_control")?;
    let Some(named) = v.text_opt("detection")? else { return Ok((None, flow_control)) };
    if !PLANNED.contains(&named.as_str()) {
        return Err(refused("detection", &named, PLANNED));
    }
    if DETECTIONS.contains(&named.as_str()) {
        return Ok((Some(named), flow_control));
    }
    let default = PARAMS.iter().find(|p| p.key == "flow_control").and_then(|p| p.default);
    if flow_control != named && Some(flow_control.as_str()) != default {
        let text = format!("the command names two flow controls, {named} and {flow_control}");
        return Err(ParamError::new("flow_control", text, "name only one"));
    }
    Ok((None, named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    #[test]
    fn defaults_read_and_every_key_is_declared() {
        let input = PlanInput::read(&mut Defaults::of(PARAMS)).unwrap();
        assert_eq!(
            (input.rate, input.mtu, input.t_r),
            (Rate::from_gbps(10), Bytes(1_500), Span::from_us(3))
        );
        assert_eq!((input.buffer, input.own().count("lanes").unwrap()), (None, 4));
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        for (key, value) in [
            ("rate", "0bps"),
            ("mtu", "0B"),
            ("priorities", "0"),
            ("credit_period", "0us"),
            ("tau", "2s"),
            ("headroom", "guess"),
            ("counters", "13-bit"),
            ("length", "18446744073709551615mm"),
            ("rate", "10"),
            ("epsilon", "0"),
            ("epsilon", "1.1"),
        ] {
            let e = PlanInput::read(&mut Defaults::of(PARAMS).with(key, value)).unwrap_err();
            assert_eq!(e.key, key, "{e}");
            assert!(!e.hint.is_empty(), "{e}");
        }
    }
}

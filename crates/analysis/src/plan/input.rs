//! Input of a plan.

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Length, Rate, Span};

/// Names of the headroom rules, the default first; see [`headroom`](super::headroom) and
/// [`sonic`](super::sonic).
pub const HEADROOMS: &[&str] = &[
    "safe",
    "worst-case",
    "802.1q",
    "sonic-spectrum",
    "sonic-spectrum-2",
    "sonic-spectrum-3",
    "sonic-spectrum-4",
    "sonic-spectrum-5",
    "sonic-spectrum-6",
    "mlx5e",
    "cisco",
    "gfc",
    "hpcc",
];

/// Values of the keys that single mechanisms have, as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Own(Vec<(&'static str, String)>);

impl Own {
    /// The values of these keys that are given.
    pub(super) fn read(v: &mut dyn Values, keys: &[ParamSpec]) -> Result<Own, ParamError> {
        let value = |key: &'static str| Ok(v.raw(key)?.map(|text| (key, text)));
        keys.iter()
            .map(|p| p.key)
            .map(value)
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()
            .map(Own)
    }
}

impl Values for &Own {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        Ok(self.0.iter().find(|(k, _)| *k == key).map(|(_, text)| text.clone()))
    }
}

/// Largest size that a plan takes.
pub(super) const SIZE_MAX: Bytes = Bytes(1_000_000_000_000_000);

/// One link direction and priority to be dimensioned. Every field is documented in
/// [`PARAMS`](super::PARAMS).
#[derive(Clone, Debug, PartialEq)]
pub struct PlanInput {
    /// Detection, one of [`DETECTIONS`](super::DETECTIONS); `None`: the flow control is planned.
    pub detection: Option<String>,
    /// Flow control, one of [`FLOW_CONTROLS`](super::FLOW_CONTROLS).
    pub flow_control: String,
    /// Link rate C.
    pub rate: Rate,
    /// Cable length.
    pub length: Length,
    /// Largest frame of the lossless class [bytes].
    pub mtu: Bytes,
    /// Largest frame of any other class [bytes]; `None`: the MTU.
    pub mtu_other: Option<Bytes>,
    /// Ingress buffer B [bytes]; `None`: the smallest that works.
    pub buffer: Option<Bytes>,
    /// Processing time t_r.
    pub t_r: Span,
    /// Wire delay t_w; `None`: from the length.
    pub t_w: Option<Span>,
    /// Feedback latency tau; `None`: Eq. (6).
    pub tau: Option<Span>,
    /// Credit period T; `None`: 65535 B / C.
    pub credit_period: Option<Span>,
    /// Lossless priorities per port.
    pub priorities: u64,
    /// Ports of the switch.
    pub ports: u64,
    /// Headroom formula, one of [`HEADROOMS`].
    pub headroom: String,
    /// XOFF [bytes]; `None`: derived.
    pub xoff: Option<Bytes>,
    /// XON [bytes]; `None`: derived.
    pub xon: Option<Bytes>,
    /// B_m [bytes]; `None`: derived.
    pub b_m: Option<Bytes>,
    /// B_0 [bytes]; `None`: derived.
    pub b_0: Option<Bytes>,
    /// B_1 [bytes]; `None`: derived.
    pub b_1: Option<Bytes>,
    /// Feedback message m [bytes].
    pub message: Bytes,
    /// Smallest rate of the limiter.
    pub rate_unit: Rate,
    /// Keys that single mechanisms have.
    pub(super) own: Own,
}

impl PlanInput {
    /// The values of the keys that single mechanisms have; which are theirs they know.
    pub(super) fn own(&self) -> impl Values {
        &self.own
    }
}

/// A text that must be one of `words`.
pub(super) fn choice(v: &mut dyn Values, key: &str, words: &[&str]) -> Result<String, ParamError> {
    let text = v.text(key)?;
    if words.contains(&text.as_str()) { Ok(text) } else { Err(unknown(key, &text, words)) }
}

pub(super) fn unknown(key: &str, text: &str, words: &[&str]) -> ParamError {
    ParamError::new(
        key,
        format!("unknown value '{text}'"),
        format!("expected one of {}", words.join(", ")),
    )
}

pub(super) fn within<T: PartialOrd + std::fmt::Display>(
    key: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), ParamError> {
    if value < least || value > most {
        return Err(ParamError::new(
            key,
            format!("{value} is out of range"),
            format!("expected {least} to {most}"),
        ));
    }
    Ok(())
}

//! Transports of hosts: a connection whose source limits the bytes in flight by a window, learns
//! from acknowledgements and retransmits lost segments. TCP: RFC 5681 (slow start, congestion
//! avoidance, fast retransmit), RFC 6582 (NewReno), RFC 9438 (CUBIC), RFC 6298 (timer).
//!
//! ```text
//!   Source (source.rs)                                      Sink (sink.rs)
//!     may send up to acked + min(cwnd, receive window)  -->   in order: acknowledge every second segment, or after a time
//!     grows in slow start; beyond ssthresh by a law     <--   a gap, or its end: acknowledge at once
//!     (reno.rs, cubic.rs); three duplicates: the first
//!     missing segment goes again; a timer (rto.rs)
//! ```
//!
//! Sans-IO: byte offsets and times are inputs, permissions to send are outputs. The host knows the
//! bytes sent and acknowledged, and passes them.

mod cubic;
mod reno;
mod rto;
mod sink;
mod source;
#[cfg(test)]
mod tests;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Span};

pub use sink::{Answer, Sink};
pub use source::{Acked, Source};

/// Keys of a TCP.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "congestion_control",
        Kind::Choice(&["cubic", "reno"]),
        "cubic",
        "growth of the congestion window beyond slow start, and its reduction after a loss",
        "RFC 9438, RFC 5681",
    ),
    ParamSpec::optional(
        "mss",
        Kind::Bytes,
        "largest payload of a segment; default: host.frame_max - host.header",
        "RFC 5681: SMSS",
    ),
    ParamSpec::optional(
        "initial_window",
        Kind::Count,
        "segments in flight before the first acknowledgement; default: 10, or fewer if a segment exceeds 1460 B",
        "RFC 6928",
    ),
    ParamSpec::new(
        "delayed_ack",
        Kind::Span,
        "0us",
        "a receiver acknowledges every second full segment, and a single one after this time; 0 us: every segment at once",
        "RFC 5681 section 4.2: at most 500 ms; Linux: 40 ms",
    ),
    ParamSpec::new(
        "rto_min",
        Kind::Span,
        "200ms",
        "least retransmission timeout",
        "Linux; RFC 6298: 1 s",
    ),
    ParamSpec::new(
        "rto_initial",
        Kind::Span,
        "1s",
        "retransmission timeout before the first round trip is known",
        "RFC 6298",
    ),
];

/// A transport; `None`: hosts send as `[host]` says.
pub type Entry = crate::choice::Choice<Option<Config>>;

/// All of them.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "none",
        about: "hosts send as their flows and [host] define",
        params: &[],
        read: |_| Ok(None),
    },
    Entry {
        name: "tcp",
        about: "TCP: a congestion window, acknowledgements that clock it, fast retransmit and a timer",
        params: &[PARAMS],
        read: |v| Config::read(v).map(Some),
    },
];

/// Law of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 5681 with RFC 6582.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// Settings in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    congestion_control: CongestionControl,
    /// Largest payload of a segment; `None`: the payload of a frame.
    pub mss: Option<Bytes>,
    initial_window: Option<u64>,
    delayed_ack: Span,
    /// Least retransmission timeout [ps].
    pub rto_min: Span,
    rto_initial: Span,
}

/// Values of the settings for one segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Law of the congestion window.
    pub congestion_control: CongestionControl,
    /// Largest payload of a segment [bytes].
    pub mss: u64,
    /// Congestion window of a new connection [bytes].
    pub initial_window: u64,
    /// A single segment is acknowledged after this time; zero: at once [ps].
    pub delayed_ack: Span,
    /// Least retransmission timeout [ps].
    pub rto_min: Span,
    /// Retransmission timeout before the first round trip is known [ps].
    pub rto_initial: Span,
}

impl Config {
    fn read(v: &mut dyn Values) -> Result<Config, ParamError> {
        let congestion_control = match v.text("congestion_control")?.as_str() {
            "reno" => CongestionControl::Reno,
            _ => CongestionControl::Cubic,
        };
        let mss = v.bytes_opt("mss")?;
        if mss == Some(Bytes::ZERO) {
            return Err(ParamError::new(
                "mss",
                "segments of 0 B",
                "set, for example, mss = \"1460B\"",
            ));
        }
        let initial_window = v.count_opt("initial_window")?;
        if let Some(n) = initial_window.filter(|n| !(1..=10_000).contains(n)) {
            return Err(ParamError::new(
                "initial_window",
                format!("{n} segments"),
                "expected 1 to 10000 segments; RFC 6928 has 10",
            ));
        }
        let delayed_ack = v.span("delayed_ack")?;
        if delayed_ack > Span::from_ms(500) {
            let what = format!("acknowledgements that wait {delayed_ack}");
            return Err(ParamError::new("delayed_ack", what, "expected at most 500 ms (RFC 5681)"));
        }
        let mut timeout = |key: &'static str| match v.span(key)? {
            Span::ZERO => Err(ParamError::new(
                key,
                "a timeout of 0",
                "expected more than a round trip with queues, such as 200ms",
            )),
            t if t > rto::MAX => Err(ParamError::new(
                key,
                format!("a timeout of {t}"),
                format!("expected at most {}", rto::MAX),
            )),
            t => Ok(t),
        };
        let (rto_min, rto_initial) = (timeout("rto_min")?, timeout("rto_initial")?);
        if delayed_ack >= rto_min {
            let what = format!(
                "acknowledgements that wait {delayed_ack}, and sources that wait {rto_min} for them"
            );
            return Err(ParamError::new("delayed_ack", what, "expected less than rto_min"));
        }
        Ok(Config { congestion_control, mss, initial_window, delayed_ack, rto_min, rto_initial })
    }

    /// With segments of at most `mss` bytes.
    pub fn with_mss(&self, mss: u32) -> Params {
        let mss = u64::from(mss);
        // RFC 6928, equation 1.
        let usual = (10 * mss).min((2 * mss).max(14_600));
        Params {
            congestion_control: self.congestion_control,
            mss,
            initial_window: self.initial_window.map_or(usual, |n| n * mss),
            delayed_ack: self.delayed_ack,
            rto_min: self.rto_min,
            rto_initial: self.rto_initial,
        }
    }
}

//! TCP: a connection whose source limits the bytes in flight by a window, learns from
//! acknowledgements and retransmits lost segments. RFC 5681 (slow start, congestion avoidance, fast
//! retransmit), RFC 6582 (NewReno), RFC 9438 (CUBIC), RFC 6298 (timer).
//!
//! ```text
//!   Connection (connection.rs)                              Sink (../sink.rs)
//!     may send up to acked + min(cwnd, receive window)  -->   in order: acknowledge every second segment, or after a time
//!     grows in slow start; beyond ssthresh by a law     <--   a gap, or its end: acknowledge at once
//!     (reno.rs, cubic.rs); three duplicates: the first
//!     missing segment goes again; a timer (rto.rs)
//! ```

mod connection;
mod cubic;
mod reno;
mod rto;
#[cfg(test)]
mod tests;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Span, Time};

use super::{Facts, Law, Received, Reply};

pub use connection::Connection;

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

/// Law of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 5681 with RFC 6582.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Law of the congestion window.
    pub congestion_control: CongestionControl,
    /// Largest payload of a segment; `None`: the payload of a frame.
    pub mss: Option<Bytes>,
    /// Congestion window of a new connection [segments]; `None`: that of RFC 6928.
    pub initial_window: Option<u64>,
    /// A single segment is acknowledged after this time; zero: at once [ps].
    pub delayed_ack: Span,
    /// Least retransmission timeout [ps].
    pub rto_min: Span,
    /// Retransmission timeout before the first round trip is known [ps].
    pub rto_initial: Span,
}

impl Params {
    pub(super) fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
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
        Ok(Params { congestion_control, mss, initial_window, delayed_ack, rto_min, rto_initial })
    }

    /// Congestion window of a new connection with segments of at most `mss` bytes [bytes].
    pub fn first_window(&self, mss: u64) -> u64 {
        // RFC 6928, equation 1.
        let usual = (10 * mss).min((2 * mss).max(14_600));
        self.initial_window.map_or(usual, |n| n * mss)
    }
}

impl Law for Params {
    type Source = Connection;

    fn source(&self, payload: u32) -> Option<Connection> {
        Some(Connection::new(*self, payload))
    }

    #[inline]
    fn reply(&self, _: Time, _: &mut Received, _: u64, _: u64, _: bool) -> Option<Reply> {
        Some(Reply::Ack)
    }

    #[inline(always)]
    fn facts(&self) -> Facts {
        Facts { connections: true, delayed_ack: self.delayed_ack, ..Facts::default() }
    }
}

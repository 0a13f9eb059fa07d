//! Time-based Gentle Flow Control (GFC section 5.2): the credit messages of InfiniBand, another
//! reading of them.
//!
//!   receiver: exactly that of credit-based flow control, one message per period T
//!   sender:   remaining buffer -> q = B_m - remaining -> R = C (B_m - q)/(B_m - B_0) -> limiter
//!
//! "Remaining" has two readings. FCCL - FCTBS on arrival, as the paper writes, counts what is in
//! flight as occupied: at rate R the queue settles R x feedback delay below (B_m + B_0)/2. The
//! paper's measured 745 KB needs the occupancy at the time of the message, or a very short loop.
//! Both are offered.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::cbfc::{self, BLOCK, CreditReceiver, blocks};
use super::gfc_conceptual::{b_m, mapped_rate, mapping_is_possible};
use super::law::Law;
use super::on_off::Stop;
use super::repeat::{bears_period, fills_wire};
use super::standstill::{self, Standstill};
use super::{Countdown, Gate, MESSAGE_LEN, Message, RateLimiter, Sender, rate_limiter};
use crate::{ControlLoop, LinkFacts, Unmet};

mod sampled;

pub use sampled::{bound, bound_any, bound_ratio, critical_ratio, ratio};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "bm",
        Kind::Bytes,
        "occupancy B_m at which the rate reaches zero; default: buffer - 2 MTU",
        "GFC section 5.4 has B_m = B for a fluid; 2 MTU for whole frames, measured",
    ),
    ParamSpec::optional(
        "b0",
        Kind::Bytes,
        "occupancy B_0 above which the rate falls; default: B_m - (sqrt(tau/T) + 1)^2 C T, for tau > T the exact bound",
        "GFC Theorem 5.1, which needs tau <= T; beyond it the sampled recurrence",
    ),
    ParamSpec::optional(
        "period",
        Kind::Span,
        "time T between messages; default: the time to send 65,535 bytes",
        "GFC section 5.4",
    ),
    ParamSpec::new(
        "remaining",
        Kind::Choice(&["credits", "occupancy"]),
        "credits",
        "remaining buffer: FCCL - FCTBS on arrival, or B_m minus the occupancy when the message was made",
        "GFC section 5.2; the second reading fits Fig. 10(b)",
    ),
    ParamSpec::new(
        "rate_unit",
        Kind::Rate,
        "8kbps",
        "smallest rate the limiter can hold",
        "GFC section 7",
    ),
    rate_limiter::COUNTDOWN,
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// B_m [bytes].
    pub bm: Bytes,
    /// B_0 [bytes].
    pub b0: Bytes,
    /// The credit messages it reuses.
    pub credit: cbfc::Params,
    /// Remaining buffer is taken from the occupancy at message time instead of FCCL - FCTBS.
    pub from_occupancy: bool,
    /// Smallest rate [bit/s].
    pub rate_unit: Rate,
    /// How a new rate changes the gap before the next frame.
    pub countdown: Countdown,
}

/// Smallest B_m - B_0 that is safe for every tau and T: Theorem 5.1 up to tau = T, the exact bound
/// of the sampled system beyond, where the theorem fails.
pub fn range(l: &ControlLoop, period: Span) -> Bytes {
    if l.tau <= period { bound(l.rate, l.tau, period) } else { bound_any(l.rate, l.tau, period) }
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let period = cbfc::read_period(v, link)?;
        let l = link.control_loop(MESSAGE_LEN);
        let bm = b_m(&l, v.bytes_opt("bm")?);
        let b0 = match v.bytes_opt("b0")? {
            Some(b0) => b0,
            None => {
                let need = range(&l, period);
                if need >= bm {
                    return Err(ParamError::new(
                        "b0",
                        format!("no default: B_m - B_0 must be >= {need}, but B_m is {bm}"),
                        "use a larger buffer, a shorter period, or an explicit b0",
                    ));
                }
                bm.saturating_sub(need)
            }
        };
        let p = Params {
            bm,
            b0,
            credit: cbfc::Params {
                period,
                buffer_blocks: link.buffer.0 / BLOCK,
                conformance: false,
            },
            from_occupancy: v.text("remaining")? == "occupancy",
            rate_unit: v.rate("rate_unit")?,
            countdown: Countdown::read(v)?,
        };
        mapping_is_possible(p.bm, p.b0, p.rate_unit, link)?;
        p.credit.validate(link)?;
        Ok(p)
    }
}

impl Law for Params {
    type Receiver = CreditReceiver;
    type Sender = Box<RemainingSender>;

    fn halves(&self, link: &LinkFacts) -> (CreditReceiver, Box<RemainingSender>) {
        (CreditReceiver::new(&self.credit), Box::new(RemainingSender::new(self, link.rate)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![
            ("bm", self.bm.compact()),
            ("b0", self.b0.compact()),
            ("period", self.credit.period.compact()),
        ]
    }
    fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
        self.credit.validate(link)
    }

    fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
        Vec::from_iter(fills_wire(("period", self.credit.period), MESSAGE_LEN, link))
    }
    fn messages_fit(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
        bears_period(("period", self.credit.period), (priorities, MESSAGE_LEN), link)
    }
    /// The period of the messages: T_c of TCD section 4.4.
    fn stop(&self) -> Option<Stop> {
        Some(Stop::Credits(self.credit.period))
    }
    /// Credits are read as room, never as a permission: without any the limiter still holds its
    /// unit.
    fn standstill(&self, link: &LinkFacts) -> Option<Standstill> {
        Some(standstill::conceptual(self.bm, self.rate_unit, link.rate, link.mtu))
    }
}

/// The sender half. The receiver half is [`cbfc::CreditReceiver`].
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct RemainingSender {
    #[state(built)] // constant
    p: Params,
    line: Rate,
    /// Total blocks sent.
    #[state(counter)]
    fctbs: u64,
    limiter: RateLimiter,
}

impl RemainingSender {
    /// A sender at line rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        RemainingSender {
            p: p.clone(),
            line,
            fctbs: 0,
            limiter: RateLimiter::new(line, p.rate_unit, p.countdown),
        }
    }
}

impl Sender for RemainingSender {
    fn gate(&self, now: Time, _len: Bytes) -> Gate {
        self.limiter.gate(now)
    }

    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        self.fctbs += blocks(len);
        self.limiter.on_sent(now, tx);
    }

    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Credit(m) = message {
            let occupied = if !self.is_possible(message) {
                self.p.bm
            } else if self.p.from_occupancy {
                m.occupied
            } else {
                // More sent than credited is possible (nothing stops the sender): then nothing
                // remains.
                let remaining = m.fccl.saturating_sub(self.fctbs).min(self.p.credit.buffer_blocks);
                Bytes((self.p.credit.buffer_blocks - remaining) * BLOCK)
            };
            self.limiter.set_rate(now, mapped_rate(occupied, self.p.b0, self.p.bm, self.line));
        }
    }

    /// A receiver cannot have more room than its buffer: such a message is no reason to send
    /// faster. Nothing stops this sender, so a limit below the bytes sent is possible.
    fn is_possible(&self, message: Message) -> bool {
        let Message::Credit(m) = message else { return true };
        m.fccl.saturating_sub(self.fctbs) <= self.p.credit.buffer_blocks
    }

    fn sent_total(&self) -> Option<u64> {
        Some(self.fctbs)
    }

    fn restart(&mut self, now: Time) {
        self.limiter.set_rate(now, self.line);
    }

    fn rate(&self, _now: Time) -> Rate {
        self.limiter.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_control::cbfc::CreditLimit;

    const C: Rate = Rate::from_gbps(10);

    fn params(from_occupancy: bool) -> Params {
        Params {
            bm: Bytes(1_000_000),
            b0: Bytes(492_000),
            credit: cbfc::Params {
                period: Span(52_428_000),
                buffer_blocks: 15_625,
                conformance: false,
            },
            from_occupancy,
            rate_unit: Rate(8000),
            countdown: Countdown::Scaled,
        }
    }

    /// GFC section 5.4 with the InfiniBand tau: 140.8 / 191.4 / 271 KB (reproduction table row 0.7,
    /// within 0.5 %).
    #[test]
    fn the_bound_of_theorem_5_1() {
        for (gbps, tau_ns, kb) in [(10, 11_400, 140.8), (40, 6_600, 191.4), (100, 5_640, 271.9)] {
            let c = Rate::from_gbps(gbps);
            let b = bound(c, Span::from_ns(tau_ns), c.time_for(Bytes(65_535))).0 as f64 / 1000.0;
            assert!((b / kb - 1.0).abs() < 0.005, "{gbps}G: {b}");
        }
    }

    /// The testbed's steady state: (B_m + B_0)/2 = 746 KB at 5 Gb/s.
    #[test]
    fn two_readings_of_remaining() {
        // 746 KB occupied when the message was made, 64 KB more in flight when it arrives.
        let sent_blocks = (746_000 + 64_000) / BLOCK + 1;
        let mut m = CreditLimit { fccl: 15_625, occupied: Bytes(746_000) };
        let mut s = RemainingSender::new(&params(true), C);
        s.on_message(Time::ZERO, Message::Credit(m));
        assert_eq!(s.rate(Time::ZERO), Rate::from_gbps(5));
        let mut s = RemainingSender::new(&params(false), C);
        s.fctbs = sent_blocks;
        s.on_message(Time::ZERO, Message::Credit(m));
        assert!(s.rate(Time::ZERO) < Rate(3_750_000_000), "bytes in flight count as occupied");
        m.fccl = 0;
        s.on_message(Time::ZERO, Message::Credit(m));
        assert_eq!(s.rate(Time::ZERO), Rate(8000), "never zero");
    }
}

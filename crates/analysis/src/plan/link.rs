//! Facts of a link that every flow control needs: the feedback latency tau, and the bytes that
//! arrive during tau.
//!
//! The loop itself, with a picture of its parts, is [`xoff_mech::ControlLoop`]: a run derives its
//! thresholds from the same one.

pub use xoff_mech::bytes_ceil;
use xoff_mech::{ControlLoop, LinkFacts};
use xoff_units::{Bytes, Rate, Span};

use super::input::PlanInput;
use super::output::PlanRow;

/// Worst-case feedback latency, from the receiver's decision to the change it sees: 2 MTU/C + 2
/// t_w + t_r (GFC section 5.4, Eq. (6)).
pub fn tau(rate: Rate, mtu: Bytes, t_w: Span, t_r: Span) -> Span {
    rate.time_for(mtu * 2) + t_w * 2 + t_r
}

/// The facts of the link of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Link rate C.
    pub rate: Rate,
    /// Largest lossless frame [bytes].
    pub mtu: Bytes,
    /// One-way wire delay t_w.
    pub t_w: Span,
    /// Processing time t_r.
    pub t_r: Span,
    /// Feedback latency tau.
    pub tau: Span,
    /// Formula of tau, and its source.
    tau_is: (&'static str, &'static str),
}

/// Formula of tau for a control loop.
const LOOP: (&str, &str) = (
    "MTU/C + MTU_other/C + k m/C + 2 t_w + t_r",
    "GFC section 5.4, Eq. (6), and the wire time of k messages",
);
/// Formula of tau where messages take no wire time, and in detection.
const EQ_6: (&str, &str) = ("MTU/C + MTU_other/C + 2 t_w + t_r", "GFC section 5.4, Eq. (6)");
/// Measured value of tau.
const GIVEN: (&str, &str) = ("given", "GFC section 6.1 (measured)");

impl Link {
    /// The link of `input`, with messages that take no time on the wire: GFC Eq. (6).
    pub fn of(input: &PlanInput) -> Link {
        Link::with(input, Bytes::ZERO)
    }

    /// The link of `input`, with the loop that a run derives its thresholds from.
    pub fn with_messages(input: &PlanInput) -> Link {
        Link::with(input, input.message)
    }

    fn with(input: &PlanInput, message: Bytes) -> Link {
        let facts = facts(input);
        let (tau, tau_is) = match input.tau {
            Some(tau) => (tau, GIVEN),
            None => {
                (facts.control_loop(message).tau, if message == Bytes::ZERO { EQ_6 } else { LOOP })
            }
        };
        Link { rate: input.rate, mtu: input.mtu, t_w: facts.delay, t_r: input.t_r, tau, tau_is }
    }

    /// Control loop, with this buffer behind it.
    pub fn control_loop(&self, buffer: Bytes) -> ControlLoop {
        ControlLoop { rate: self.rate, mtu: self.mtu, buffer, tau: self.tau }
    }

    /// Link with a longer processing time; `None`: tau was measured, or it is not longer.
    pub fn slower(&self, t_r: Span) -> Option<Link> {
        let longer = t_r > self.t_r && self.tau_is != GIVEN;
        longer.then(|| Link { t_r, tau: self.tau + (t_r - self.t_r), ..*self })
    }

    /// k C tau, rounded up.
    pub fn c_tau(&self, k: u64) -> Bytes {
        bytes_ceil(self.rate, self.tau * k)
    }

    /// The rows every plan starts with.
    pub fn rows(&self) -> Vec<PlanRow> {
        let (formula, source) = self.tau_is;
        vec![
            PlanRow::rate("link rate", "C", self.rate, "given", ""),
            PlanRow::bytes("largest frame", "MTU", self.mtu, "given", ""),
            PlanRow::span(
                "frame time",
                "MTU/C",
                self.rate.time_for(self.mtu),
                "MTU/C",
                "GFC section 5.4 (1)",
            ),
            PlanRow::span(
                "wire delay, one way",
                "t_w",
                self.t_w,
                "length x 5 ns/m, or given",
                "GFC section 5.4 (2): 2 x 10^8 m/s",
            ),
            PlanRow::span(
                "message processing",
                "t_r",
                self.t_r,
                "given",
                "GFC section 5.4 (3): at most 3 us",
            ),
            PlanRow::span("feedback latency", "tau", self.tau, formula, source),
            PlanRow::bytes(
                "arrivals during the feedback latency",
                "C tau",
                self.c_tau(1),
                "C tau",
                "GFC section 4.2",
            ),
        ]
    }
}

/// Assumptions of every plan about its link and its peers, which it cannot know.
pub(super) fn checks(input: &PlanInput) -> Vec<String> {
    let mut checks = Vec::new();
    match (input.tau, input.t_w) {
        (Some(tau), _) => {
            checks.push(format!("feedback latency at most tau = {tau}, as measured (--tau)"))
        }
        (None, t_w) => {
            checks.push(format!(
                "peer: reacts within t_r = {}, interfaces included (--t-r)",
                input.t_r
            ));
            checks.push(match t_w {
                Some(t_w) => format!("cable: at most t_w = {t_w} one way (--t-w)"),
                None => format!("cable: at most {} (--length)", input.length),
            });
            let (of_class, other) = (input.mtu, input.mtu_other.unwrap_or(input.mtu));
            let (longest, option) = if other > of_class {
                (other, "--mtu-other")
            } else {
                (of_class, "--mtu, --mtu-other")
            };
            checks.push(format!("frames: at most {longest} in any priority ({option})"));
            if other < of_class {
                checks
                    .push(format!("--mtu-other {other} has no effect: it is shorter than --mtu {of_class}, which can delay a message too"));
            }
        }
    }
    checks
}

/// Facts about such a link, as a run knows them.
fn facts(input: &PlanInput) -> LinkFacts {
    let t_w = input.t_w.unwrap_or_else(|| input.length.propagation());
    LinkFacts {
        mtu_other: input.mtu_other.unwrap_or(input.mtu),
        processing: input.t_r,
        control_ahead: LinkFacts::messages_of_other_classes(input.priorities),
        ..LinkFacts::plain(input.rate, t_w, input.mtu, input.buffer.unwrap_or(Bytes::ZERO))
    }
}

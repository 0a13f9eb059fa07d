//! Facts of a link that every flow control needs: the feedback latency tau and what arrives during it.
//!
//! ```text
//!   receiver decides --MTU/C--> message leaves --t_w--> sender --t_r--> acts --MTU/C--> --t_w--> receiver sees it
//! ```

use xoff_units::{Bytes, Rate, Span};

use super::input::PlanInput;
use super::output::PlanRow;

/// Worst-case feedback latency, from the receiver's decision to the change it sees: 2 MTU/C + 2 t_w + t_r
/// (GFC section 5.4, Eq. (6)).
pub fn tau(rate: Rate, mtu: Bytes, t_w: Span, t_r: Span) -> Span {
    rate.time_for(mtu * 2) + t_w * 2 + t_r
}

/// Bytes that arrive at `rate` during `span`, rounded up: for buffers, where rounding down would lose a byte.
pub fn bytes_ceil(rate: Rate, span: Span) -> Bytes {
    let whole = rate.bytes_in(span);
    if rate.time_for(whole) < span { whole + Bytes(1) } else { whole }
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
    /// Whether tau was given instead of computed.
    pub tau_given: bool,
}

impl Link {
    /// The link of `input`.
    pub fn of(input: &PlanInput) -> Link {
        let t_w = input.t_w.unwrap_or_else(|| input.length.propagation());
        let computed = tau(input.rate, input.mtu, t_w, input.t_r);
        Link { rate: input.rate, mtu: input.mtu, t_w, t_r: input.t_r, tau: input.tau.unwrap_or(computed), tau_given: input.tau.is_some() }
    }

    /// k C tau, rounded up.
    pub fn c_tau(&self, k: u64) -> Bytes {
        bytes_ceil(self.rate, self.tau * k)
    }

    /// The rows every plan starts with.
    pub fn rows(&self) -> Vec<PlanRow> {
        let (formula, source) =
            if self.tau_given { ("given", "GFC section 6.1 (measured)") } else { ("2 MTU/C + 2 t_w + t_r", "GFC section 5.4, Eq. (6)") };
        vec![
            PlanRow::rate("link rate", "C", self.rate, "given", ""),
            PlanRow::bytes("largest frame", "MTU", self.mtu, "given", ""),
            PlanRow::span("frame time", "MTU/C", self.rate.time_for(self.mtu), "MTU/C", "GFC section 5.4 (1)"),
            PlanRow::span("wire delay, one way", "t_w", self.t_w, "length x 5 ns/m, or given", "GFC section 5.4 (2): 2 x 10^8 m/s"),
            PlanRow::span("message processing", "t_r", self.t_r, "given", "GFC section 5.4 (3): at most 3 us"),
            PlanRow::span("feedback latency", "tau", self.tau, formula, source),
            PlanRow::bytes("arrivals during the feedback latency", "C tau", self.c_tau(1), "C tau", "GFC section 4.2"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_round_up() {
        assert_eq!(bytes_ceil(Rate::from_gbps(10), Span(7_400_000)), Bytes(9_250));
        assert_eq!(bytes_ceil(Rate::from_gbps(10), Span(7_400_001)), Bytes(9_251));
        assert_eq!(bytes_ceil(Rate::from_gbps(10), Span::ZERO), Bytes::ZERO);
    }
}

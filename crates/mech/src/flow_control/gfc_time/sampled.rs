//! Distance of B_0 below B_m where the rate is set once per period (GFC Theorem 5.1, and cases
//! beyond it). Derivation and proof by trajectories: `theorem_5_1` of the analysis crate.

use xoff_units::{Bytes, Rate, Span};

/// The paper's bound on B_m - B_0 [bytes], rounded up: (sqrt(tau/T) + 1)^2 C T. Valid for tau <= T
/// only.
pub fn bound(rate: Rate, tau: Span, period: Span) -> Bytes {
    bytes(rate, period, bound_ratio(ratio(tau, period)))
}

/// The bound on B_m - B_0 [bytes], rounded up, that holds for every tau and T: [`critical_ratio`]
/// times C T.
pub fn bound_any(rate: Rate, tau: Span, period: Span) -> Bytes {
    bytes(rate, period, critical_ratio(ratio(tau, period)))
}

/// tau/T [no unit].
pub fn ratio(tau: Span, period: Span) -> f64 {
    tau.0 as f64 / period.0 as f64
}

/// l times C T in whole bytes, rounded up.
fn bytes(rate: Rate, period: Span, l: f64) -> Bytes {
    let ct = rate.as_f64() * period.as_secs_f64() / 8.0;
    Bytes((l * ct).ceil() as u64)
}

/// The paper's bound on l = (B_m - B_0)/(C T) for `d` = tau/T: (sqrt(d) + 1)^2.
pub fn bound_ratio(d: f64) -> f64 {
    let root = d.sqrt() + 1.0;
    root * root
}

/// The smallest l = (B_m - B_0)/(C T) that keeps the queue below B_m for `d` = tau/T of any size.
pub fn critical_ratio(d: f64) -> f64 {
    let (m, f) = (d.floor(), d.fract());
    // Derivative of (f + (1-f) s)/(s^(m+1) (1-s)) set to zero: a s^2 + b s - c = 0.
    let a = (m + 1.0) * (1.0 - f);
    let b = 1.0 - (m + 1.0) * (1.0 - 2.0 * f);
    let c = (m + 1.0) * f;
    let s = ((b * b + 4.0 * a * c).sqrt() - b) / (2.0 * a);
    if s <= 0.0 {
        return 1.0; // tau = 0: the limit of the expression below as s goes to 0
    }
    (f + (1.0 - f) * s) / (power(s, m as u64 + 1) * (1.0 - s))
}

/// s^n by squaring: a product only, so that every machine gets the same bits.
fn power(s: f64, mut n: u64) -> f64 {
    let (mut result, mut square) = (1.0, s);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

//! Theorem 4.1 of the GFC paper: conceptual GFC never reaches B_m if B_m - B_0 >= 4 C tau.
//!
//! ```text
//!   rate   C ----------.                      dq/dt = R(q(t - tau)) - R_d
//!                       '.
//!                         '.                  R(q) = C                          q <= B_0
//!          0 ---------------'------               = C (B_m - q)/(B_m - B_0)     in between
//!                     B_0  B_m    queue           = 0                           q >= B_m
//! ```
//!
//! A delay differential equation, solved by the method of steps from the worst start: the queue has
//! just reached B_0 at full rate. Time is counted in tau and sizes in C tau, so that only l =
//! (B_m - B_0)/(C tau) and R_d/C remain. The state is the gap B_m - q, not q: it shrinks by hundreds of
//! orders of magnitude without ever becoming zero when the theorem holds, and only the gap keeps
//! its relative precision in floating point.
//!
//! With R_d = 0 the gap obeys y' = -y(t - 1)/l, whose solutions stay positive exactly when l >= e.
//! So 4 is sufficient, as the paper says, and e = 2.718 is necessary.

/// Sufficient value of l = (B_m - B_0)/(C tau) [no unit] -- Theorem 4.1.
pub const L_SUFFICIENT: f64 = 4.0;
/// Necessary and sufficient value of l when the drain may stop (R_d = 0) [no unit] -- onset of
/// oscillation of y' = -y(t - 1)/l.
pub const L_CRITICAL: f64 = std::f64::consts::E;

/// Steps per tau. Each is integrated by Simpson's rule on a cubic interpolant (error h^4); a kink
/// of the mapping inside a step costs at most h^2/8 = 5e-7 C tau, once.
const STEPS: usize = 512;
/// Length of a followed trajectory [tau]. At l = e (1 - eps) the gap crosses zero after about
/// pi/sqrt(2 eps) tau; 400 tau resolve eps = 3e-5.
const HORIZON: usize = 400;

/// One trajectory of conceptual GFC. Advance it with [`step`](Self::step).
#[derive(Clone, Debug)]
pub struct ConceptualFluid {
    /// (B_m - B_0)/(C tau) [no unit] -- constant.
    l: f64,
    /// Draining rate R_d/C [no unit, 0..1] -- constant.
    drain: f64,
    /// Gap and its slope at the last `STEPS + 1` grid points [C tau, C] -- ring, oldest at `next`.
    history: Vec<(f64, f64)>,
    /// Slot of the oldest grid point, which is exactly one tau old -- state.
    next: usize,
    /// Steps taken since the queue reached B_0 -- state.
    steps: u64,
}

impl ConceptualFluid {
    /// A trajectory that reaches B_0 at time zero after at least one tau at full rate: no other
    /// history leads to a higher first peak. `l` = (B_m - B_0)/(C tau) > 0; `drain` = R_d/C in
    /// 0..1.
    pub fn new(l: f64, drain: f64) -> Self {
        // Before time zero the queue filled at C - R_d, so the gap shrank with slope drain - 1
        // towards l.
        let slope = drain - 1.0;
        let at = |i: usize| (l - slope * (STEPS - i) as f64 / STEPS as f64, slope);
        ConceptualFluid { l, drain, history: (0..=STEPS).map(at).collect(), next: 0, steps: 0 }
    }

    /// Time since the queue reached B_0 [tau].
    pub fn time(&self) -> f64 {
        self.steps as f64 / STEPS as f64
    }
    /// B_m - q now [C tau]; negative once the queue has passed B_m.
    pub fn gap(&self) -> f64 {
        self.history[(self.next + STEPS) % (STEPS + 1)].0
    }
    /// Input rate now, R(q(t - tau))/C [no unit].
    pub fn rate(&self) -> f64 {
        self.map(self.history[self.next].0)
    }
    /// The mapping function: rate/C for a gap [C tau].
    fn map(&self, gap: f64) -> f64 {
        (gap / self.l).clamp(0.0, 1.0)
    }

    /// Advances by 1/512 tau.
    pub fn step(&mut self) {
        let h = 1.0 / STEPS as f64;
        let (y0, d0) = self.history[self.next];
        let (y1, d1) = self.history[(self.next + 1) % (STEPS + 1)];
        let middle = 0.5 * (y0 + y1) + h * 0.125 * (d0 - d1);
        let (r0, r1) = (self.map(y0), self.map(y1));
        let inflow = h * (r0 + 4.0 * self.map(middle) + r1) / 6.0;
        let gap = self.gap() - inflow + self.drain * h;
        // The oldest point has served; the new one takes its slot.
        self.history[self.next] = (gap, self.drain - r1);
        self.next = (self.next + 1) % (STEPS + 1);
        self.steps += 1;
    }
}

/// Smallest gap B_m - q over time [C tau], within 1e-6: q_max = B_m - gap. Zero or negative: B_m is
/// reached, and the theorem's conclusion fails. `l` = (B_m - B_0)/(C tau), `drain` = R_d/C.
pub fn smallest_gap(l: f64, drain: f64) -> f64 {
    let mut fluid = ConceptualFluid::new(l, drain);
    let mut smallest = fluid.gap();
    for _ in 0..HORIZON * STEPS {
        fluid.step();
        smallest = smallest.min(fluid.gap());
    }
    smallest
}

/// By how much the queue passes B_m [C tau]; zero if it never gets there.
pub fn overshoot(l: f64, drain: f64) -> f64 {
    (-smallest_gap(l, drain)).max(0.0)
}

/// The l below which the queue reaches B_m when the drain stops (R_d = 0), found by bisection on
/// the solved equation; theory has [`L_CRITICAL`].
pub fn onset() -> f64 {
    let (mut reaches, mut safe) = (1.0, L_SUFFICIENT);
    while safe - reaches > 1e-4 {
        let l = 0.5 * (reaches + safe);
        if smallest_gap(l, 0.0) <= 0.0 {
            reaches = l;
        } else {
            safe = l;
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_steps_agree_with_the_closed_form() {
        // R_d = 0: y = l - t on [0, 1], then y = l - 1 - u + u^2/(2 l) on [1, 2]; l = 1 ends 0.5 C
        // tau too high.
        let mut f = ConceptualFluid::new(2.0, 0.0);
        for _ in 0..STEPS {
            f.step();
        }
        assert!((f.gap() - 1.0).abs() < 1e-12);
        for _ in 0..STEPS {
            f.step();
        }
        assert!((f.gap() - 0.25).abs() < 1e-6, "{}", f.gap());
        assert!((overshoot(1.0, 0.0) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn with_a_drain_the_queue_settles_where_the_mapping_equals_it() {
        let mut f = ConceptualFluid::new(4.0, 0.25);
        for _ in 0..100 * STEPS {
            f.step();
        }
        assert!((f.gap() - 1.0).abs() < 1e-9 && (f.rate() - 0.25).abs() < 1e-9);
    }
}

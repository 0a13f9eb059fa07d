//! RED marking on the instantaneous egress queue, as DCQCN's congestion point uses it (SIGCOMM'15,
//! section 3.1).
//!
//!   P |        .-- 1        no mark up to Kmin, probability rising to Pmax at Kmax, always above Kmax;
//!     |      / Pmax         Kmin = Kmax is step marking and draws no random number
//!     +--Kmin--Kmax--> queue behind the departing frame

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Time};

use super::law::{DetectorLaw, Law, NetworkFacts, late_marks};
use super::{Detector, Mark, Place};
use crate::Unmet;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "kmin",
        Kind::Bytes,
        "5KB",
        "queue up to which no frame is marked",
        "DCQCN, SIGCOMM'15 (40G)",
    ),
    ParamSpec::new(
        "kmax",
        Kind::Bytes,
        "200KB",
        "queue above which every frame is marked",
        "DCQCN, SIGCOMM'15 (40G)",
    ),
    ParamSpec::new(
        "pmax",
        Kind::Float,
        "0.01",
        "marking probability at Kmax, 0 to 1",
        "DCQCN, SIGCOMM'15",
    ),
];

/// The parameters are all the state there is.
pub type Params = Red;

/// Parameters, and all the state there is.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Red {
    /// No marks at or below [bytes].
    pub kmin: Bytes,
    /// Always marks above [bytes].
    pub kmax: Bytes,
    /// Probability at Kmax.
    pub pmax: f64,
}

impl Red {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Red, ParamError> {
        let r = Red { kmin: v.bytes("kmin")?, kmax: v.bytes("kmax")?, pmax: v.float("pmax")? };
        if r.kmin > r.kmax {
            return Err(ParamError::new(
                "kmin",
                format!("Kmin {} is above Kmax {}", r.kmin, r.kmax),
                "choose Kmin <= Kmax",
            ));
        }
        if !(0.0..=1.0).contains(&r.pmax) {
            return Err(ParamError::new(
                "pmax",
                format!("{} is not a probability", r.pmax),
                "expected 0 to 1",
            ));
        }
        Ok(r)
    }
}

impl Law for Red {
    fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
        late_marks("kmin", self.kmin, Some(self), at)
    }
}

impl DetectorLaw for Red {
    type Detector = Red;

    fn detector(&self, _place: &Place) -> Red {
        self.clone()
    }
}

impl Detector for Red {
    #[inline]
    fn on_dequeue(
        &mut self,
        _now: Time,
        queue: Bytes,
        _len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        let marked = if queue > self.kmax {
            true
        } else if queue > self.kmin {
            let p = self.pmax * (queue.0 - self.kmin.0) as f64 / (self.kmax.0 - self.kmin.0) as f64;
            draw() < p
        } else {
            false
        };
        if marked { Mark::Ce } else { Mark::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(red: &mut Red, queue: u64, draw: f64) -> Mark {
        red.on_dequeue(Time::ZERO, Bytes(queue), Bytes(1000), &mut || draw)
    }

    #[test]
    fn the_curve() {
        let mut red = Red { kmin: Bytes(5_000), kmax: Bytes(205_000), pmax: 0.01 };
        assert_eq!(mark(&mut red, 5_000, 0.0), Mark::None);
        assert_eq!(mark(&mut red, 105_000, 0.0049), Mark::Ce);
        assert_eq!(mark(&mut red, 105_000, 0.0051), Mark::None);
        assert_eq!(mark(&mut red, 205_000, 0.0101), Mark::None, "Pmax at Kmax itself");
        assert_eq!(mark(&mut red, 205_001, 0.999), Mark::Ce);
    }

    #[test]
    fn step_marking_draws_nothing() {
        let mut red = Red { kmin: Bytes(40_000), kmax: Bytes(40_000), pmax: 1.0 };
        for (queue, want) in [(40_000, Mark::None), (40_001, Mark::Ce)] {
            assert_eq!(
                red.on_dequeue(Time::ZERO, Bytes(queue), Bytes(1), &mut || panic!("no draw")),
                want
            );
        }
    }
}

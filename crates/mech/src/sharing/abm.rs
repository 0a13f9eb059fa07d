//! ABM: Active Buffer Management (Addanki, Apostolaki, Ghobadi, Schmid, Vanbever, SIGCOMM 2022): a
//! dynamic threshold that also goes by how many ports are congested in the priority and by how fast
//! the queue drains.
//!
//! ```text
//!   T = alpha (B - used) (1 / n_p) (mu / b)
//!
//!   n_p    ports that are congested in priority p: sum of min(1, q / 20 KiB), at least 1
//!   mu/b   what left in the last 25 us over what the line carries in that time; 1 while q <= 20 KiB, or if no more than 2 KiB left
//! ```
//!
//! Formulas and constants: the authors' simulator, ns3-datacenter 6ddb4a4, `switch-mmu.cc`. There
//! the packets of a flow's first round trip ("unscheduled") have an alpha of their own, 1024;
//! frames here do not say which they are, so all have one alpha.

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Alpha, CONGESTED, Sharing, Supply};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = super::ALPHA;

/// Over which the drain is measured [ps].
const WINDOW: Span = Span::from_us(25);
/// Less than this says nothing about the drain [bytes].
const TOO_FEW: u64 = 2 << 10;

/// The law of a member, with the rate at which it drains.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Abm {
    /// Factor of the free bytes.
    pub alpha: Alpha,
    /// Rate of the port [bit/s].
    line: Rate,
    /// mu/b, in units of [`Alpha::ONE`].
    drain: Alpha,
    /// Start of the present window.
    began: Time,
    /// Bytes that left in the window.
    left: u64,
}

impl Abm {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// Alpha is out of range.
    pub fn read(v: &mut dyn Values) -> Result<Abm, ParamError> {
        Ok(Abm {
            alpha: Alpha::read(v)?,
            line: Rate(1),
            drain: Alpha::ONE,
            began: Time::NEVER,
            left: 0,
        })
    }

    /// At a port of this rate.
    pub(super) fn at(&self, line: Rate) -> Abm {
        Abm { line, ..self.clone() }
    }
}

impl Sharing for Abm {
    fn limit(&self, supply: &Supply) -> Bytes {
        let whole = supply.share(self.alpha, true);
        Bytes(((u128::from(whole.0) * u128::from(self.drain.0)) >> Alpha::BITS) as u64)
    }

    fn on_departure(&mut self, now: Time, left: Bytes, len: Bytes) {
        if left.0 <= CONGESTED {
            // Nothing is measured of a queue that is short: it is not held up.
            (self.drain, self.began, self.left) = (Alpha::ONE, Time::NEVER, 0);
            return;
        }
        if self.began == Time::NEVER {
            (self.began, self.left) = (now, 0);
        }
        self.left += len.0;
        let passed = now.since(self.began);
        if passed >= WINDOW {
            let carried = self.line.bytes_in(passed).0.max(1);
            let drain = (u128::from(self.left) << Alpha::BITS) / u128::from(carried);
            self.drain = if self.left > TOO_FEW {
                Alpha(drain.min(Alpha::ONE.0.into()) as u32)
            } else {
                Alpha::ONE
            };
            (self.began, self.left) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: Supply = Supply { free: Bytes(1_000_000), crowd: Bytes(0) };

    fn abm() -> Abm {
        Abm {
            alpha: Alpha(Alpha::ONE.0 / 2),
            line: Rate::from_gbps(100),
            drain: Alpha::ONE,
            began: Time::NEVER,
            left: 0,
        }
    }

    /// T = alpha (B - used) / n_p for a queue that drains at line rate: 0.5 x 1 MB over 1, 2 and 4
    /// congested ports.
    #[test]
    fn the_threshold_is_shared_by_the_congested_ports() {
        let limit =
            |ports: u64| abm().limit(&Supply { crowd: Bytes(ports * CONGESTED), ..MEGABYTE }).0;
        assert_eq!([0, 1, 2, 4].map(limit), [500_000, 500_000, 250_000, 125_000]);
    }

    /// A long queue. 78,125 B of it left in 25 us, a quarter of 312,500 B: mu/b = 1/4.
    #[test]
    fn a_queue_that_is_held_up_has_a_smaller_threshold() {
        let mut a = abm();
        a.on_departure(Time::ZERO, Bytes(100_000), Bytes(0)); // begins the window
        (1..=25).for_each(|us| a.on_departure(Time::from_us(us), Bytes(100_000), Bytes(3125)));
        assert_eq!(a.limit(&MEGABYTE), Bytes(125_000));
        a.on_departure(Time::from_us(60), Bytes(100_000), Bytes(1000));
        assert_eq!(a.limit(&MEGABYTE), Bytes(500_000), "1000 B say nothing");
        (61..=86).for_each(|us| a.on_departure(Time::from_us(us), Bytes(100_000), Bytes(3125)));
        assert!(a.limit(&MEGABYTE) < Bytes(131_000));
        a.on_departure(Time::from_us(87), Bytes(CONGESTED), Bytes(1500));
        assert_eq!(
            a.limit(&MEGABYTE),
            Bytes(500_000),
            "a short queue counts as one that drains at line rate"
        );
    }
}

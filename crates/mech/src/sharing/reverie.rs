//! Reverie (Addanki, Bai, Schmid, Apostolaki: "Reverie: Low Pass Filter-Based Switch Buffer Sharing
//! for Datacenters with RDMA and TCP Traffic", NSDI 2024): lossy and lossless traffic share one
//! pool, and a smoothed queue is compared with the threshold, so that a burst is taken in and a
//! queue that stays long while it drains is not.
//!
//! ```text
//!   T = alpha (B - used) / n_p              n_p: sum of min(1, l / 20 KiB) over the ports, at least 1
//!   l <- min(q, 0.99 l + 0.01 q)            at each departure; the frame is admitted while l <= T
//! ```
//!
//! l is renewed at departures only, there as here (the update at arrivals is commented out there).
//! A queue from which nothing leaves, because its peer is stopped, therefore keeps its old l, for
//! any gain, and is accepted until the pool is full.
//!
//! Formulas and constants: the authors' simulator, ns3-datacenter 6ddb4a4, `switch-mmu.cc`.

use xoff_units::Bytes;
use xoff_units::Time;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Alpha, Sharing, Supply};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[ParamSpec::new(
    "gain",
    Kind::Float,
    "0.01",
    "weight of the present queue in the smoothed queue, at each departure; 1: only the queue after the last departure",
    "Reverie, NSDI 2024: 0.01",
)];

/// Binary digits of the smoothed queue behind the point.
const FRACTION: u32 = 16;

/// The law of a member, with its smoothed queue.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Reverie {
    /// Factor of the free bytes.
    pub alpha: Alpha,
    /// Weight of the present queue, in units of 2^-16.
    gain: u32,
    /// l, in units of 2^-16 bytes.
    smoothed: u64,
}

impl Reverie {
    /// Reads [`PARAMS`] and alpha.
    ///
    /// # Errors
    /// Alpha or the gain is out of range.
    pub fn read(v: &mut dyn Values) -> Result<Reverie, ParamError> {
        let gain = v.float("gain")?;
        if !(1.0 / 1024.0..=1.0).contains(&gain) {
            return Err(ParamError::new(
                "gain",
                format!("a weight of {gain}"),
                "expected 1/1024 to 1",
            ));
        }
        Ok(Reverie {
            alpha: Alpha::read(v)?,
            gain: (gain * f64::from(1 << FRACTION)).round() as u32,
            smoothed: 0,
        })
    }
}

impl Sharing for Reverie {
    fn limit(&self, supply: &Supply) -> Bytes {
        supply.share(self.alpha, true)
    }

    /// Never above the bytes held.
    fn measured(&self, shared: Bytes) -> Bytes {
        Bytes((self.smoothed >> FRACTION).min(shared.0))
    }

    fn crowding(&self, held: Bytes) -> Bytes {
        self.measured(held)
    }

    fn on_departure(&mut self, _now: Time, left: Bytes, _len: Bytes) {
        let now = u128::from(left.0) << FRACTION;
        let (old, gain) = (u128::from(self.smoothed), u128::from(self.gain));
        let mixed = (old * ((1 << FRACTION) - gain) + now * gain) >> FRACTION;
        self.smoothed = mixed.min(now) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reverie() -> Reverie {
        Reverie { alpha: Alpha::ONE, gain: 655, smoothed: 0 } // 0.01
    }

    /// A burst comes in at once and counts for next to nothing; a queue that stands counts in full
    /// in the end: l = q (1 - 0.99^n).
    #[test]
    fn a_burst_is_taken_in_and_a_standing_queue_is_not() {
        let mut r = reverie();
        assert_eq!(r.measured(Bytes(500_000)), Bytes::ZERO, "nothing has left yet");
        let gain = 655.0 / 65_536.0;
        for n in 1..=1000 {
            r.on_departure(Time(n), Bytes(500_000), Bytes(1000));
            let form = 500_000.0 * (1.0 - (1.0f64 - gain).powi(n as i32));
            assert!(
                (r.measured(Bytes(500_000)).0 as f64 - form).abs() < 2.0,
                "{n}: {:?}, {form}",
                r.measured(Bytes(500_000))
            );
        }
    }

    #[test]
    fn it_is_never_above_the_queue() {
        let mut r = reverie();
        (0..2000).for_each(|n| r.on_departure(Time(n), Bytes(500_000), Bytes(1000)));
        r.on_departure(Time(2000), Bytes(10_000), Bytes(1000));
        assert_eq!(r.measured(Bytes(400_000)), Bytes(10_000));
        assert_eq!(
            r.measured(Bytes(9_000)),
            Bytes(9_000),
            "nor above what the shared part has of it"
        );
    }

    #[test]
    fn the_threshold_is_shared_by_the_congested_ports() {
        let limit =
            |crowd| reverie().limit(&Supply { free: Bytes(600_000), crowd: Bytes(crowd) }).0;
        assert_eq!([0, super::super::CONGESTED * 3].map(limit), [600_000, 200_000]);
    }
}

//! Sharing of a pool of memory: bytes that each queue, or each priority group, may hold now.
//!
//! ```text
//!   pool   |- reserves -|- headroom -|--------------- shared part ---------------|
//!                                      held by all           free
//!   member   measured() <= limit(free, crowd)    admitted     measured: what it holds of the shared part, or a smoothed form of that
//!            measured() >  limit                 lossy: dropped; lossless: into headroom, and its peer is paused
//! ```
//!
//! A member is a priority group at an ingress or a queue at an egress. A policy owns the state of
//! one member; whoever keeps the accounts gives it the free bytes and the crowding of its priority.
//! Arithmetic is in whole numbers, so that every platform has the same limits.

pub mod abm;
pub mod dynamic;
pub mod fixed;
mod registry;
pub mod reverie;

pub use registry::{AnySharing, Entry, REGISTRY};

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Time};

/// A queue counts as congested in full from here on, and in proportion below (ABM's and Reverie's
/// simulator: 20 KiB) [bytes].
pub const CONGESTED: u64 = 20 << 10;

/// State of a pool, as a policy sees it when it sets a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// Free bytes of the shared part.
    pub free: Bytes,
    /// Sum over the ports of min([`Sharing::crowding`] of the port's bytes in this priority,
    /// [`CONGESTED`]) [bytes].
    pub crowd: Bytes,
}

impl Supply {
    /// `free x alpha`, divided by the number of congested ports of the priority (at least 1) where
    /// `crowded`: `free x alpha / n_p`.
    fn share(&self, alpha: Alpha, crowded: bool) -> Bytes {
        let free = u128::from(self.free.0) * u128::from(alpha.0);
        let free = if crowded {
            free * u128::from(CONGESTED) / u128::from(self.crowd.0.max(CONGESTED))
        } else {
            free
        };
        Bytes(u64::try_from(free >> Alpha::BITS).unwrap_or(u64::MAX))
    }
}

/// The law of one member of a pool.
pub trait Sharing {
    /// The most that the member may hold of the shared part now [bytes].
    fn limit(&self, supply: &Supply) -> Bytes;
    /// Quantity to compare with the limit, if the member held `shared` of the shared part: `shared`
    /// itself, or a smoothed form [bytes].
    fn measured(&self, shared: Bytes) -> Bytes {
        shared
    }
    /// Part of `held` that counts towards congested ports [bytes].
    fn crowding(&self, held: Bytes) -> Bytes {
        held
    }
    /// A frame of `len` left; the member holds `left` now, reserve included.
    fn on_departure(&mut self, _now: Time, _left: Bytes, _len: Bytes) {}
}

/// A factor of the free memory, in units of 2^-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Alpha(pub u32);

impl Alpha {
    /// Binary digits behind the point.
    pub const BITS: u32 = 16;
    /// One.
    pub const ONE: Alpha = Alpha(1 << Alpha::BITS);

    /// Reads the key `alpha`.
    ///
    /// # Errors
    /// It is not a factor that a switch has.
    fn read(v: &mut dyn Values) -> Result<Alpha, ParamError> {
        let alpha = v.float("alpha")?;
        if !(1.0 / 256.0..=128.0).contains(&alpha) {
            let hint = "expected 2^-8 = 0.00390625 to 2^7 = 128; SONiC's dynamic_th n is 2^n, so that 0 is 1 and -3 is 0.125";
            return Err(ParamError::new("alpha", format!("a factor of {alpha}"), hint));
        }
        Ok(Alpha((alpha * f64::from(Alpha::ONE.0)).round() as u32))
    }
}

/// The key of policies that take a factor of the free memory.
const ALPHA: &[ParamSpec] = &[ParamSpec::new(
    "alpha",
    Kind::Float,
    "1",
    "factor of the free pool, 2^-8 to 2^7; SONiC's dynamic_th n is 2^n",
    "Choudhury, Hahne 1998; SONiC BUFFER_PROFILE dynamic_th",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        let supply = Supply { free: Bytes(1_000_000), crowd: Bytes::ZERO };
        let share = |n| supply.share(Alpha(1u32 << (16 + n)), false).0;
        assert_eq!(
            [-8, -3, 0, 1, 7].map(share),
            [3906, 125_000, 1_000_000, 2_000_000, 128_000_000]
        );
        let huge = Supply { free: Bytes(u64::MAX), crowd: Bytes::ZERO };
        assert_eq!(huge.share(Alpha(128 << 16), false), Bytes(u64::MAX), "it does not wrap");
    }

    /// n_p counts ports in proportion below 20 KiB, and is never below 1.
    #[test]
    fn a_crowd_divides_the_share() {
        let share = |crowd| {
            Supply { free: Bytes(1_000_000), crowd: Bytes(crowd) }.share(Alpha::ONE, true).0
        };
        assert_eq!(
            [0, 10 << 10, 20 << 10, 30 << 10, 80 << 10].map(share),
            [1_000_000, 1_000_000, 1_000_000, 666_666, 250_000]
        );
    }
}

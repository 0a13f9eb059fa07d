//! Congestion detection at an egress queue: the trait and the registry.

pub mod red;
mod registry;

pub use registry::{AnyDetector, Detection, Entry, REGISTRY};

use xoff_units::{Bytes, Time};

/// The two ECN bits of a frame as far as a detector changes them, from weak to strong: a mark only ever rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Untouched.
    #[default]
    None,
    /// Undetermined state encountered: the frame passed a port that is ON and OFF by turns (TCD, Table 1).
    Ue,
    /// Congestion experienced.
    Ce,
}

/// Watches one egress queue (port and priority).
pub trait Detector {
    /// A frame of `len` leaves; `queue` is what remains behind it. `coin` gives a number in [0, 1), drawn only when it
    /// is needed, so that a deterministic setting draws none.
    fn on_dequeue(&mut self, now: Time, queue: Bytes, len: Bytes, coin: &mut dyn FnMut() -> f64) -> Mark;
}

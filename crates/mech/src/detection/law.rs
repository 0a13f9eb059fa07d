//! What the registry asks of a detection: [`Law`] of its parameters, and [`DetectorLaw`] or [`NotifierLaw`].

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::Bytes;

use super::{Detection, Notifier, Place, Side};

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reader.
    pub read: fn(&mut dyn Values) -> Result<Detection, ParamError>,
}

/// What follows from the parameters of a detection, whose module also has `PARAMS` and `Params::read`.
pub trait Law {
    /// Refuses what cannot work at this place. `memory` is the most that can ever wait for one egress queue [bytes].
    ///
    /// # Errors
    /// The key of what cannot work.
    fn validate(&self, _place: &Place, _memory: Bytes) -> Result<(), ParamError> {
        Ok(())
    }
    /// Values of the keys without a default, as they take effect at this place.
    fn resolved(&self, _place: &Place) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// A detection that marks what leaves.
pub trait DetectorLaw: Law {
    /// Its detector; boxed if it is large, so that two share a cache line.
    type Detector;
    /// A detector for one queue.
    fn detector(&self, place: &Place) -> Self::Detector;
}

/// A detection that notifies sources.
pub trait NotifierLaw: Law {
    /// Its congestion point.
    type Notifier: Notifier;
    /// A congestion point for one buffer at the end of this link; `None`: that buffer is not watched.
    fn notifier(&self, place: &Place, side: Side) -> Option<Self::Notifier>;
}

/// "kmin lies above what can ever wait": shared by the detectors with thresholds.
pub(super) fn reachable(key: &str, threshold: Bytes, memory: Bytes) -> Result<(), ParamError> {
    if threshold <= memory {
        return Ok(());
    }
    Err(ParamError::new(
        key,
        format!("{threshold} lies above all that can wait for an egress, {memory}: it is never reached"),
        "a lower threshold or a larger buffer",
    ))
}

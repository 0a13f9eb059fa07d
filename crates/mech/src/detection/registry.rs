//! The registry of detectors.

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Time};

use super::{Detector, Mark, red};

/// A configured detection.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Detection {
    /// Nothing is ever marked.
    #[default]
    None,
    /// [`red`].
    Red(red::Red),
}

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

/// All detections.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "none", about: "no marking", params: &[], read: |_| Ok(Detection::None) },
    Entry {
        name: "red",
        about: "RED/ECN on the instantaneous egress queue",
        params: red::PARAMS,
        read: |v| red::Red::read(v).map(Detection::Red),
    },
];

impl Detection {
    /// A detector for one queue.
    pub fn detector(&self) -> AnyDetector {
        match self {
            Detection::None => AnyDetector::None,
            Detection::Red(r) => AnyDetector::Red(r.clone()),
        }
    }
}

/// A detector of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyDetector {
    /// Marks nothing.
    None,
    /// [`red::Red`].
    Red(red::Red),
}

impl Detector for AnyDetector {
    #[inline]
    fn on_dequeue(&mut self, now: Time, queue: Bytes, len: Bytes, coin: &mut dyn FnMut() -> f64) -> Mark {
        match self {
            AnyDetector::None => Mark::None,
            AnyDetector::Red(d) => d.on_dequeue(now, queue, len, coin),
        }
    }
}

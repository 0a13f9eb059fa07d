//! The registry of detectors.

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Time};

use super::{AnyNotifier, Detector, Mark, Place, PortState, Side, af_qcn, fecn, np_ecn, qcn, red, tcd};

/// A configured detection.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Detection {
    /// Nothing is ever marked.
    #[default]
    None,
    /// [`red`].
    Red(red::Red),
    /// [`tcd`].
    Tcd(tcd::Params),
    /// [`fecn`].
    Fecn(fecn::Params),
    /// [`np_ecn`].
    NpEcn(np_ecn::Params),
    /// [`qcn`].
    Qcn(qcn::Params),
    /// [`af_qcn`].
    AfQcn(af_qcn::Params),
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
    Entry {
        name: "tcd",
        about: "ternary congestion detection: congested, not congested, or undetermined behind a port that is switched off and on",
        params: tcd::PARAMS,
        read: |v| tcd::Params::read(v).map(Detection::Tcd),
    },
    Entry {
        name: "fecn",
        about: "FECN of InfiniBand congestion control: roots are marked, victims are not",
        params: fecn::PARAMS,
        read: |v| fecn::Params::read(v).map(Detection::Fecn),
    },
    Entry {
        name: "np-ecn",
        about: "Non-PAUSE ECN: packets that waited through a pause are not marked",
        params: np_ecn::PARAMS,
        read: |v| np_ecn::Params::read(v).map(Detection::NpEcn),
    },
    Entry {
        name: "qcn",
        about: "QCN congestion points at outputs or inputs, which send CNMs with a feedback value to the source of a flow",
        params: qcn::PARAMS,
        read: |v| qcn::Params::read(v).map(Detection::Qcn),
    },
    Entry {
        name: "af-qcn",
        about: "QCN congestion points whose feedback grows with what a flow takes above its fair share",
        params: af_qcn::PARAMS,
        read: |v| af_qcn::Params::read(v).map(Detection::AfQcn),
    },
];

impl Detection {
    /// Refuses what cannot work at this place. `memory` is the most that can ever wait for one egress queue [bytes].
    pub fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
        match self {
            Detection::None | Detection::Red(_) => Ok(()),
            Detection::Tcd(p) => p.validate(place, memory),
            Detection::Fecn(p) => p.validate(place, memory),
            Detection::NpEcn(p) => p.validate(memory),
            Detection::Qcn(p) => p.validate(place.link.buffer, memory),
            Detection::AfQcn(p) => p.qcn.validate(place.link.buffer, memory),
        }
    }

    /// Values of the keys without a default, as they take effect at this place.
    pub fn resolved(&self, place: &Place) -> Vec<(&'static str, String)> {
        match self {
            Detection::Tcd(p) => p.resolved(place),
            Detection::Fecn(p) => p.resolved(),
            Detection::None | Detection::Red(_) | Detection::NpEcn(_) | Detection::Qcn(_) | Detection::AfQcn(_) => Vec::new(),
        }
    }

    /// A notifier for one buffer at the end of this link; `None`: that buffer is not watched.
    pub fn notifier(&self, place: &Place, side: Side) -> Option<AnyNotifier> {
        let (rate, buffer) = (place.link.rate, place.link.buffer);
        match self {
            Detection::Qcn(p) if p.placement.has(side) => Some(AnyNotifier::Qcn(qcn::Qcn::new(p, rate, buffer))),
            Detection::AfQcn(p) if p.qcn.placement.has(side) => Some(AnyNotifier::AfQcn(af_qcn::AfQcn::new(p, rate, buffer))),
            _ => None,
        }
    }

    /// It notifies sources; otherwise it marks frames, or does nothing.
    pub fn notifies(&self) -> bool {
        matches!(self, Detection::Qcn(_) | Detection::AfQcn(_))
    }

    /// A detector for one queue.
    pub fn detector(&self, place: &Place) -> AnyDetector {
        match self {
            Detection::None | Detection::Qcn(_) | Detection::AfQcn(_) => AnyDetector::None,
            Detection::Red(r) => AnyDetector::Red(r.clone()),
            Detection::Tcd(p) => AnyDetector::Tcd(Box::new(tcd::Tcd::new(p, place))),
            Detection::Fecn(p) => AnyDetector::Fecn(fecn::Fecn::new(p, place)),
            Detection::NpEcn(p) => AnyDetector::NpEcn(np_ecn::NpEcn::new(p)),
        }
    }
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

/// A detector of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyDetector {
    /// Marks nothing.
    None,
    /// [`red::Red`].
    Red(red::Red),
    /// [`tcd::Tcd`], elsewhere: the others share a cache line two by two.
    Tcd(Box<tcd::Tcd>),
    /// [`fecn::Fecn`].
    Fecn(fecn::Fecn),
    /// [`np_ecn::NpEcn`].
    NpEcn(np_ecn::NpEcn),
}

impl AnyDetector {
    /// The detectors that most runs do not have: apart, so that the path of the others stays short.
    #[inline(never)]
    fn on_dequeue_apart(&mut self, now: Time, queue: Bytes, len: Bytes, draw: &mut dyn FnMut() -> f64) -> Mark {
        match self {
            AnyDetector::Tcd(d) => d.on_dequeue(now, queue, len, draw),
            AnyDetector::Fecn(d) => d.on_dequeue(now, queue, len, draw),
            AnyDetector::NpEcn(d) => d.on_dequeue(now, queue, len, draw),
            AnyDetector::None | AnyDetector::Red(_) => Mark::None,
        }
    }
}

impl Detector for AnyDetector {
    #[inline]
    fn on_dequeue(&mut self, now: Time, queue: Bytes, len: Bytes, draw: &mut dyn FnMut() -> f64) -> Mark {
        match self {
            AnyDetector::None => Mark::None,
            AnyDetector::Red(d) => d.on_dequeue(now, queue, len, draw),
            _ => self.on_dequeue_apart(now, queue, len, draw),
        }
    }

    #[inline]
    fn on_off(&mut self, now: Time) {
        match self {
            AnyDetector::None | AnyDetector::Red(_) => {}
            AnyDetector::Tcd(d) => d.on_off(now),
            AnyDetector::Fecn(d) => d.on_off(now),
            AnyDetector::NpEcn(d) => d.on_off(now),
        }
    }

    #[inline]
    fn on_on(&mut self, now: Time, queue: Bytes) {
        match self {
            AnyDetector::None | AnyDetector::Red(_) => {}
            AnyDetector::Tcd(d) => d.on_on(now, queue),
            AnyDetector::Fecn(d) => d.on_on(now, queue),
            AnyDetector::NpEcn(d) => d.on_on(now, queue),
        }
    }

    #[inline]
    fn state(&self, now: Time) -> Option<PortState> {
        match self {
            AnyDetector::Tcd(d) => d.state(now),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Detectors lie side by side, one per port and class: none of them may straddle two cache lines.
    #[test]
    fn a_detector_stays_small() {
        assert_eq!(size_of::<AnyDetector>(), 32);
    }
}

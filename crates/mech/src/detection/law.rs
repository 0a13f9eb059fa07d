//! Registry requirements of a detection: [`Law`] of its parameters, and [`DetectorLaw`] or
//! [`CongestionPointLaw`].

use xoff_units::Bytes;
use xoff_units::params::{ParamError, ParamSpec, Values};

use super::{CongestionPoint, Detection, Place, Side, red};
use crate::flow_control::{FlowControl, Pauses};
use crate::{LinkFacts, Unmet};

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reads the parameters.
    pub read: fn(&mut dyn Values) -> Result<Detection, ParamError>,
}

/// Facts that the queues of a network share.
#[derive(Clone, Copy, Debug)]
pub struct NetworkFacts<'a> {
    /// Kinds of links, with the flow control on each.
    pub links: &'a [(LinkFacts, FlowControl)],
    /// The most that can ever wait for one egress queue [bytes].
    pub memory: Bytes,
}

/// Properties that follow from the parameters of a detection. Its module also has `PARAMS` and
/// `Params::read`.
pub trait Law {
    /// Rejects parameters that cannot work at this place. `memory` is the most that can ever wait
    /// for one egress queue [bytes].
    ///
    /// # Errors
    /// The key that cannot work.
    fn validate(&self, _place: &Place, _memory: Bytes) -> Result<(), ParamError> {
        Ok(())
    }
    /// Conditions that do not hold in such a network.
    fn unmet(&self, _at: &NetworkFacts) -> Vec<Unmet> {
        Vec::new()
    }
    /// True if it distinguishes congested ports from ports that only wait, and marks their frames
    /// differently.
    fn has_states(&self) -> bool {
        false
    }
    /// Keys that have no effect where no port is ever paused as a whole.
    fn needs_pauses(&self) -> &'static [&'static str] {
        &[]
    }
    /// Values of the keys without a default, as they take effect at this place.
    fn resolved(&self, _place: &Place) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// A detection that marks departing frames.
pub trait DetectorLaw: Law {
    /// Detector; boxed if large, so that two share a cache line.
    type Detector;
    /// A detector for one queue.
    fn detector(&self, place: &Place) -> Self::Detector;
}

/// A detection that sends CNMs to sources.
pub trait CongestionPointLaw: Law {
    /// Congestion point.
    type CongestionPoint: CongestionPoint;
    /// A congestion point for one buffer at the end of this link; `None`: that buffer has none.
    fn congestion_point(&self, place: &Place, side: Side) -> Option<Self::CongestionPoint>;
}

/// "kmin is above the largest queue": shared by the detectors with thresholds.
pub(super) fn reachable(key: &str, threshold: Bytes, memory: Bytes) -> Result<(), ParamError> {
    if threshold <= memory {
        return Ok(());
    }
    Err(ParamError::new(
        key,
        format!(
            "{threshold} is above the memory of an egress, {memory}: the queue never reaches it"
        ),
        "use a lower threshold or a larger buffer",
    ))
}

/// Marks that come after the pause: behind one ingress a queue grows no further than XOFF before
/// the sources are stopped. `first` is the queue from which frames are marked, the value of `key`;
/// `red` has the rest of a curve that begins there.
pub(super) fn late_marks(
    key: &str,
    first: Bytes,
    red: Option<&red::Params>,
    at: &NetworkFacts,
) -> Vec<Unmet> {
    let unmet = |what: String| {
        Unmet::new(what, "use lower thresholds, or a larger buffer; see `xoff plan`")
    };
    if first >= at.memory {
        return vec![unmet(format!(
            "{key} < memory of an egress: {first} >= {}, no frame is ever marked",
            at.memory
        ))];
    }
    let of_link = |(link, flow_control): &(LinkFacts, FlowControl)| {
        let Pauses::At(xoff) = flow_control.pauses() else { return None };
        let late = "a queue that one ingress fills";
        if first >= xoff {
            return Some(unmet(format!(
                "{key} < XOFF on {} links: {first} >= {xoff}, {late} is paused before its first frame is marked",
                link.rate
            )));
        }
        red.filter(|r| r.kmax >= xoff).map(|red| {
            let most = red.pmax * (xoff.0 - red.kmin.0) as f64 / (red.kmax.0 - red.kmin.0) as f64;
            unmet(format!(
                "kmax < XOFF on {} links: {} >= {xoff}, {late} is paused while at most {most:.4} of its frames are marked",
                link.rate, red.kmax
            ))
        })
    };
    at.links.iter().filter_map(of_link).collect()
}

//! The registry: one line per detection, and nothing else lists them. `glue.rs` expands a line.

use serde::Serialize;
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Time};

use super::glue::detections;
use super::law::{CongestionPointLaw, DetectorLaw, Entry, Law, NetworkFacts};
use super::{Cnm, CongestionPoint, Detector, Mark, Place, PortState, Side};
use crate::Unmet;

detections! {
    inline {
        Red(red) "red": "RED/ECN on the instantaneous egress queue";
    }
    marks {
        Tcd(tcd) "tcd": "ternary congestion detection: congested, not congested, or undetermined if the peer turns the port off and on";
        Fecn(fecn) "fecn": "FECN of InfiniBand congestion control: roots are marked, victims are not";
        NpEcn(np_ecn) "np-ecn": "Non-PAUSE ECN: packets that waited through a pause are not marked";
    }
    sends_cnms {
        Qcn(qcn) "qcn": "QCN congestion points at outputs or inputs, which send CNMs with a feedback value to the source of a flow";
        AfQcn(af_qcn) "af-qcn": "QCN congestion points whose feedback grows with a flow's excess over its fair share";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Detectors are side by side, one per port and class: none of them may straddle two cache lines.
    #[test]
    fn a_detector_stays_small() {
        assert_eq!(size_of::<AnyDetector>(), 32);
    }
}

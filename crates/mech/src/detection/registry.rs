//! The registry: one line per detection, and nothing else lists them. `glue.rs` expands a line.

use std::ops::Deref;

use xoff_units::{Bytes, FlowId, Time};

use super::glue::detections;
use super::law::{CongestionPointLaw, DetectorLaw, Entry, Law};
use super::{Cnm, CongestionPoint, Detector, Mark, Place, PortState, Side};

detections! {
    $
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

/// No detection: the answers that most share.
struct NoLaw;

impl Law for NoLaw {}

impl AnyDetector {
    /// The detectors that most runs do not have: apart, so that the path of the others stays short.
    #[inline(never)]
    fn on_dequeue_apart(
        &mut self,
        now: Time,
        queue: Bytes,
        len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        detector!(self, _ => Mark::None, d => d.on_dequeue(now, queue, len, draw), Mark::None)
    }
}

impl Detector for AnyDetector {
    #[inline]
    fn on_dequeue(
        &mut self,
        now: Time,
        queue: Bytes,
        len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        detector!(self, d => d.on_dequeue(now, queue, len, draw), _ => self.on_dequeue_apart(now, queue, len, draw), Mark::None)
    }
    #[inline]
    fn on_off(&mut self, now: Time) {
        detector!(self, d => d.on_off(now), d => d.on_off(now), ())
    }
    #[inline]
    fn on_on(&mut self, now: Time, queue: Bytes) {
        detector!(self, d => d.on_on(now, queue), d => d.on_on(now, queue), ())
    }
    #[inline]
    fn state(&self, now: Time) -> Option<PortState> {
        detector!(self, d => d.state(now), d => d.state(now), None)
    }
}

impl CongestionPoint for AnyCongestionPoint {
    fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        congestion_point!(self, n => CongestionPoint::on_enqueue(n, now, flow, len, queue, draw))
    }
    fn on_dequeue(&mut self, now: Time, flow: FlowId, len: Bytes) {
        congestion_point!(self, n => CongestionPoint::on_dequeue(n, now, flow, len))
    }
    fn on_stop(&mut self, now: Time) {
        congestion_point!(self, n => CongestionPoint::on_stop(n, now))
    }
    fn on_release(&mut self, now: Time) {
        congestion_point!(self, n => CongestionPoint::on_release(n, now))
    }
    fn next_wake(&self) -> Option<Time> {
        congestion_point!(self, n => CongestionPoint::next_wake(n))
    }
    fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm> {
        congestion_point!(self, n => CongestionPoint::on_wake(n, now, queue, draw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Detectors are side by side, one per port and class: none of them may straddle two cache
    /// lines.
    #[test]
    fn a_detector_stays_small() {
        assert_eq!(size_of::<AnyDetector>(), 32);
    }
}

//! The registry: one line per rate control, and nothing else lists them. `glue.rs` expands a line.

use std::ops::Deref;
use std::sync::Arc;

use xoff_units::{Bytes, Rate, Span, Time, prefetch_whole};

use super::glue::rate_controls;
use super::law::{Custom, Entry, FlowFacts, Law};
use super::{CnpMode, Feedback, RateControl, RecordFormat, Wakes};
use crate::detection::Mark;

rate_controls! {
    $
    Dcqcn(dcqcn) "dcqcn": "DCQCN, three variants, with TCD's rules on request";
    Timely(timely) "timely": "TIMELY, rate by the gradient of the round-trip time, four variants";
    IbCc(ib_cc) "ib-cc": "InfiniBand congestion control, an index into a table of delays";
    Hpcc(hpcc) "hpcc": "HPCC, rate and window by the utilisation that frames record on their path";
    Qcn(qcn) "qcn": "QCN rate limiters, cut by the value that a congestion point sends";
}

/// No rate control: the answers that most share.
struct NoLaw;

impl Law for NoLaw {
    type ReactionPoint = ();
    fn reaction_point(&self, _: &FlowFacts) {}
}

/// Answers that frames and flows of a NIC need, with static dispatch.
impl RateControlKind {
    /// See [`Law::cnp_mode`].
    #[inline]
    pub fn cnp_mode(&self) -> CnpMode {
        dispatch!(RateControlKind, self, law => law.cnp_mode(), RateControlKind::None => CnpMode::Never,)
    }
    /// See [`Law::reports_undetermined`].
    #[inline]
    pub fn reports_undetermined(&self) -> bool {
        dispatch!(RateControlKind, self, law => law.reports_undetermined(), RateControlKind::None => false,)
    }
    /// See [`Law::wants_acks`].
    #[inline]
    pub fn wants_acks(&self) -> bool {
        dispatch!(RateControlKind, self, law => law.wants_acks(), RateControlKind::None => false,)
    }
    /// See [`Law::draws`].
    #[inline]
    pub fn draws(&self) -> bool {
        dispatch!(RateControlKind, self, law => law.draws(), RateControlKind::None => false,)
    }
    /// See [`Law::telemetry`].
    #[inline]
    pub fn telemetry(&self) -> Option<RecordFormat> {
        dispatch!(RateControlKind, self, law => law.telemetry(), RateControlKind::None => None,)
    }
}

impl AnyRateControl {
    /// Prefetches the state for the next call.
    #[inline]
    pub fn prefetch(&self) {
        dispatch!(AnyRateControl, self, r => prefetch_whole(&**r))
    }
}

impl RateControl for AnyRateControl {
    #[inline]
    fn rate(&self) -> Rate {
        dispatch!(AnyRateControl, self, r => r.rate())
    }
    #[inline]
    fn window(&self) -> Option<u64> {
        dispatch!(AnyRateControl, self, r => r.window())
    }
    #[inline]
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
        dispatch!(AnyRateControl, self, r => r.on_sent(now, len, wakes))
    }
    #[inline]
    fn spacing(&mut self, now: Time, len: Bytes, payload: Bytes) -> Option<Span> {
        dispatch!(AnyRateControl, self, r => r.spacing(now, len, payload))
    }
    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        dispatch!(AnyRateControl, self, r => r.on_feedback(now, feedback, wakes))
    }
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        dispatch!(AnyRateControl, self, r => r.on_wake(now, which, wakes))
    }
}

impl RateControlKind {
    /// Meaning of a mark that the receiver reports; `None`: the mark has no meaning.
    #[inline]
    pub fn feedback_of(&self, mark: Mark) -> Option<Feedback<'static>> {
        match mark {
            Mark::Ce => Some(Feedback::Congestion),
            Mark::Ue => self.reports_undetermined().then_some(Feedback::Undetermined),
            Mark::None => None,
        }
    }

    /// True if it learns of congestion by marks.
    pub fn reads_marks(&self) -> bool {
        self.cnp_mode() != CnpMode::Never
    }

    /// Without acknowledgements it would never change a rate.
    pub fn needs_acks(&self) -> bool {
        self.wants_acks() || self.cnp_mode() == CnpMode::InAck
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Span;

    use super::*;

    /// Requirements on the NIC, kind by kind: acknowledgements, telemetry, CNPs, reports of UE.
    #[derive(Debug)]
    struct FromOutside;

    impl Law for FromOutside {
        type ReactionPoint = Box<dyn RateControl + Send>;
        fn reaction_point(&self, _: &FlowFacts) -> Self::ReactionPoint {
            unreachable!("nothing is sent")
        }
    }

    /// A rate control from outside without an answer needs nothing.
    #[test]
    fn one_from_outside_needs_what_it_answers() {
        let k = RateControlKind::Custom(Arc::new(FromOutside));
        assert_eq!(
            (k.cnp_mode(), k.telemetry(), k.resolved(), k.unmet(Rate(1)).len()),
            (CnpMode::Never, None, Vec::new(), 0)
        );
        let wants = [
            k.reports_undetermined(),
            k.knows_undetermined(),
            k.wants_acks(),
            k.wants_quantized(),
            k.draws(),
            k.reads_marks(),
            k.needs_acks(),
        ];
        assert_eq!(wants, [false; 7]);
    }

    #[test]
    fn what_each_kind_needs() {
        let kind = |name: &str, given: &[(&str, &str)]| {
            let entry = REGISTRY.iter().find(|e| e.name == name).unwrap();
            let mut v = given
                .iter()
                .fold(xoff_units::params::Defaults::of(entry.params), |v, (k, x)| v.with(k, x));
            (entry.read)(&mut v).unwrap()
        };
        let needs = |k: RateControlKind| {
            (
                k.wants_acks(),
                k.needs_acks(),
                k.telemetry().is_some(),
                k.cnp_mode(),
                k.reports_undetermined(),
            )
        };
        let paced = |us| CnpMode::Frame { interval: Span::from_us(us) };
        assert_eq!(needs(kind("none", &[])), (false, false, false, CnpMode::Never, false));
        assert_eq!(needs(kind("dcqcn", &[])), (false, false, false, paced(50), false));
        assert_eq!(
            needs(kind("dcqcn", &[("variant", "hpcc")])),
            (false, true, false, CnpMode::InAck, false)
        );
        assert_eq!(
            needs(kind("dcqcn", &[("tcd", "true")])),
            (false, false, false, paced(50), true)
        );
        assert_eq!(
            needs(kind("timely", &[("tcd", "true")])),
            (true, true, false, CnpMode::Never, false)
        );
        assert_eq!(needs(kind("ib-cc", &[])), (false, false, false, paced(0), false));
        assert_eq!(
            needs(kind("ib-cc", &[("becn", "ack"), ("tcd", "true")])),
            (false, true, false, CnpMode::InAck, true)
        );
        assert_eq!(needs(kind("hpcc", &[])), (true, true, true, CnpMode::Never, false));
        assert_eq!(needs(kind("qcn", &[])), (false, false, false, CnpMode::Never, false));
        let values = |k: RateControlKind| (k.wants_quantized(), k.draws());
        assert_eq!(values(kind("qcn", &[])), (true, true));
        assert_eq!(values(kind("qcn", &[("jitter", "false")])), (true, false));
        assert_eq!(values(kind("dcqcn", &[])), (false, false));
    }
}

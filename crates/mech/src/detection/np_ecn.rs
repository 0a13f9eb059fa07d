//! Non-PAUSE ECN, the congestion point of PCN (NSDI'20): only packets that no pause has held up may
//! be marked.
//!
//! ```text
//!   resume:  [ paused | paused | paused ]                  these bytes leave unmarked
//!   later:   [ paused | new | new | new ]  -> paused       then: marked while something waits behind
//! ```
//!
//! A pause leaves a queue that no congestion of this port has built. The bytes that wait at the
//! resume are counted, and as many bytes leave without a mark; queues are first in, first out, so
//! they are the same.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Time};

use super::law::{DetectorLaw, Law, NetworkFacts, late_marks, reachable};
use super::{Detector, Mark, Place};
use crate::Unmet;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[ParamSpec::new(
    "threshold",
    Kind::Bytes,
    "0B",
    "queue above which a packet that was not paused is marked",
    "PCN, NSDI'20: non-empty",
)];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queue above which a packet that was not paused is marked [bytes].
    pub threshold: Bytes,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        Ok(Params { threshold: v.bytes("threshold")? })
    }

    /// Refuses a threshold that is never reached.
    pub fn validate(&self, memory: Bytes) -> Result<(), ParamError> {
        reachable("threshold", self.threshold, memory)
    }
}

impl Law for Params {
    fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
        late_marks("threshold", self.threshold, None, at)
    }
    fn validate(&self, _place: &Place, memory: Bytes) -> Result<(), ParamError> {
        self.validate(memory)
    }
}

impl DetectorLaw for Params {
    type Detector = NpEcn;

    fn detector(&self, _place: &Place) -> NpEcn {
        NpEcn::new(self)
    }
}

/// The registers of one queue, with its parameter.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct NpEcn {
    threshold: Bytes,
    /// Bytes at the head of the queue that a pause has held up.
    paused: Bytes,
    /// A pause has been reported and its end has not.
    off: bool,
}

impl NpEcn {
    /// A queue that has never been paused.
    pub fn new(p: &Params) -> Self {
        NpEcn { threshold: p.threshold, paused: Bytes::ZERO, off: false }
    }
}

impl Detector for NpEcn {
    fn on_dequeue(
        &mut self,
        _now: Time,
        queue: Bytes,
        len: Bytes,
        _draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        if self.paused > Bytes::ZERO {
            self.paused = self.paused.saturating_sub(len);
            Mark::None
        } else if queue > self.threshold {
            Mark::Ce
        } else {
            Mark::None
        }
    }

    fn on_off(&mut self, _now: Time) {
        self.off = true;
    }

    fn on_on(&mut self, _now: Time, queue: Bytes) {
        // A resume that ends no pause does not show who was paused.
        if std::mem::take(&mut self.off) {
            self.paused = queue;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    fn port(threshold: &str) -> NpEcn {
        NpEcn::new(&Params::read(&mut Defaults::of(PARAMS).with("threshold", threshold)).unwrap())
    }

    fn leaves(d: &mut NpEcn, queue: u64) -> Mark {
        d.on_dequeue(Time::ZERO, Bytes(queue), Bytes(1_000), &mut || panic!("no draw"))
    }

    /// PCN (NSDI'20), in the words of TCD section 7: the switch counts the paused packets; only the
    /// others are eligible.
    #[test]
    fn packets_that_were_paused_are_not_marked() {
        let mut d = port("0B");
        assert_eq!(
            [leaves(&mut d, 1_000), leaves(&mut d, 0)],
            [Mark::Ce, Mark::None],
            "marked while something waits"
        );
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes(3_000));
        // Two more arrive while the three leave.
        assert_eq!(
            [leaves(&mut d, 3_000), leaves(&mut d, 3_000), leaves(&mut d, 2_000)],
            [Mark::None; 3]
        );
        assert_eq!([leaves(&mut d, 1_000), leaves(&mut d, 0)], [Mark::Ce, Mark::None]);
    }

    /// A second pause before the paused packets have left holds up all that wait at its end, old
    /// and new.
    #[test]
    fn a_second_pause_counts_anew() {
        let mut d = port("0B");
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes(2_000));
        assert_eq!(leaves(&mut d, 3_000), Mark::None);
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes(3_000));
        assert_eq!([0; 3].map(|_| leaves(&mut d, 5_000)), [Mark::None; 3]);
        assert_eq!(leaves(&mut d, 5_000), Mark::Ce);
    }

    /// A packet counts as paused if its first byte is among those counted.
    #[test]
    fn bytes_are_counted_to_the_last() {
        let mut d = port("0B");
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes(1_001));
        assert_eq!(
            [leaves(&mut d, 9_000), leaves(&mut d, 9_000), leaves(&mut d, 9_000)],
            [Mark::None, Mark::None, Mark::Ce]
        );
    }

    #[test]
    fn a_threshold_may_replace_the_empty_queue() {
        let mut d = port("50KB");
        assert_eq!([leaves(&mut d, 50_000), leaves(&mut d, 50_001)], [Mark::None, Mark::Ce]);
        assert_eq!(Params { threshold: Bytes(2) }.validate(Bytes(1)).unwrap_err().key, "threshold");
    }

    /// Reported twice, too early, or never: a packet is excused only by a pause that has ended.
    #[test]
    fn repeated_and_early_calls_are_tolerated() {
        let mut d = port("0B");
        d.on_on(Time::ZERO, Bytes(9_000));
        assert_eq!(leaves(&mut d, 1_000), Mark::Ce, "no pause, so none ends");
        (0..3).for_each(|_| d.on_off(Time::ZERO));
        assert_eq!(leaves(&mut d, 1_000), Mark::Ce, "reported too early");
        d.on_on(Time::ZERO, Bytes(1_000));
        d.on_on(Time::ZERO, Bytes(9_000));
        assert_eq!(
            [leaves(&mut d, 1_000), leaves(&mut d, 1_000)],
            [Mark::None, Mark::Ce],
            "the first end counts"
        );
    }
}

//! Congestion detection: the traits and the registry.
//!
//! ```text
//!   egress queue --head--> Gate(Sender) --- on_dequeue(queue, len) -> Mark ---> wire          Detector: marks departures
//!                            shuts: on_off    opens: on_on(queue)
//!
//!   ingress buffer or egress queue --- on_enqueue(flow, len, queue) -> Cnm ---> source     CongestionPoint: sends CNMs
//! ```
//!
//! One detector exists per egress port and priority; one congestion point per sampled buffer: port,
//! priority and side.

pub mod af_qcn;
pub mod cnm;
mod congestion_point;
pub mod culprit;
pub mod fecn;
mod glue;
mod law;
pub mod np_ecn;
pub mod qcn;
pub mod red;
mod registry;
pub mod tcd;

pub use congestion_point::{Cnm, Congestion, CongestionPoint, Side};
pub use law::{CongestionPointLaw, DetectorLaw, Entry, Law, NetworkFacts};
pub use registry::{AnyCongestionPoint, AnyDetector, Detection, REGISTRY};

use xoff_units::state::State;
use xoff_units::{Bytes, Time};

use crate::LinkFacts;
use crate::flow_control::FlowControl;

/// The two ECN bits of a frame as far as a detector changes them, in the order of precedence. The
/// numbers are the code points of TCD Table 1; its fourth one, 00, is a transport that takes no
/// part, and none is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, State)]
#[repr(u8)]
pub enum Mark {
    /// Without a mark.
    #[default]
    None = 0b01,
    /// Undetermined encountered: it passed a port that flow control stops again and again.
    Ue = 0b10,
    /// Congestion encountered.
    Ce = 0b11,
}

impl Mark {
    /// Mark of a frame that had `self` and is given `other`: CE replaces UE, UE never replaces CE
    /// (TCD section 4.1).
    #[inline]
    pub fn merge(self, other: Mark) -> Mark {
        self.max(other)
    }

    /// The mark of two bits of a frame; 00, a transport that takes no part, is not simulated.
    #[inline]
    pub fn from_code_point(bits: u16) -> Mark {
        const MARKS: [Mark; 4] = [Mark::None, Mark::None, Mark::Ue, Mark::Ce];
        MARKS[(bits & 3) as usize]
    }
}

/// Number of frames with each mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct MarkCounts {
    ce: u64,
    ue: u64,
}

xoff_units::flat!(MarkCounts { ce: u64, ue: u64 });

impl MarkCounts {
    /// One more frame; an unmarked one does not count.
    #[inline]
    pub fn count(&mut self, mark: Mark) {
        self.ce += (mark == Mark::Ce) as u64;
        self.ue += (mark == Mark::Ue) as u64;
    }
    /// Frames with this mark; of unmarked ones zero.
    pub fn of(&self, mark: Mark) -> u64 {
        match mark {
            Mark::None => 0,
            Mark::Ue => self.ue,
            Mark::Ce => self.ce,
        }
    }
    /// Frames marked with congestion encountered.
    pub fn congestion(&self) -> u64 {
        self.of(Mark::Ce)
    }
    /// Frames with any mark.
    pub fn total(&self) -> u64 {
        self.ce + self.ue
    }
    /// Adds those of another count.
    pub fn add(&mut self, other: MarkCounts) {
        self.ce += other.ce;
        self.ue += other.ue;
    }
}

/// The states of an egress port in a lossless network (TCD section 3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub enum PortState {
    /// 0: sends whenever it has something, and nothing builds up.
    #[default]
    NonCongestion,
    /// 1: sends all the time, and a queue builds up that no OFF has caused.
    Congestion,
    /// Flow control switches it off and on: where its queue comes from cannot be known.
    Undetermined,
}

/// Place of a detector.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Facts of the link behind the egress queue.
    pub link: &'a LinkFacts,
    /// Flow control that the queue obeys.
    pub flow_control: &'a FlowControl,
    /// Whether the other end of the link is a host (InfiniBand: a channel adapter), not a switch.
    pub to_host: bool,
}

/// The state of one egress queue (port and priority).
///
/// A call of `on_off` or `on_on` may be repeated, or come before the queue obeys: no detector
/// breaks, and the marks follow its reports.
pub trait Detector {
    /// A frame of `len` leaves; `queue` is the rest behind it. `draw` gives a number in [0, 1),
    /// drawn only when it is needed, so that a deterministic setting draws none.
    fn on_dequeue(
        &mut self,
        now: Time,
        queue: Bytes,
        len: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Mark;

    /// From now on the peer's flow control keeps this queue from sending (OFF): a pause is in
    /// force, the head frame lacks credits, a rate limiter makes it wait.
    #[inline]
    fn on_off(&mut self, _now: Time) {}

    /// The queue may send again (ON); `queue` is its present length, the head frame included
    /// [bytes].
    #[inline]
    fn on_on(&mut self, _now: Time, _queue: Bytes) {}

    /// The state of the port as this detector sees it, for probes; `None`: it knows no states.
    #[inline]
    fn state(&self, _now: Time) -> Option<PortState> {
        None
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::state::Counters;

    use super::*;

    /// TCD section 4.1: CE is marked whatever the packet carries, UE only where it carries no CE.
    #[test]
    fn ue_is_never_marked_over_ce() {
        use Mark::*;
        for (had, given, carries) in [
            (None, Ue, Ue),
            (None, Ce, Ce),
            (Ue, Ce, Ce),
            (Ce, Ue, Ce),
            (Ce, None, Ce),
            (Ue, None, Ue),
        ] {
            assert_eq!(had.merge(given), carries, "{had:?} and {given:?}");
        }
        assert_eq!([None as u8, Ue as u8, Ce as u8], [0b01, 0b10, 0b11], "TCD Table 1");
    }

    /// Two bits of sixteen, whatever the others are.
    #[test]
    fn a_mark_is_in_two_bits() {
        for others in [0, 0b100, 0xfff0] {
            assert_eq!(
                [0, 1, 2, 3].map(|bits| Mark::from_code_point(others | bits)),
                [Mark::None, Mark::None, Mark::Ue, Mark::Ce]
            );
        }
    }

    #[test]
    fn frames_are_counted_by_mark() {
        let mut counts = MarkCounts::default();
        [Mark::Ce, Mark::None, Mark::Ue, Mark::Ce, Mark::Ce, Mark::Ue]
            .into_iter()
            .for_each(|m| counts.count(m));
        let seen = |c: &MarkCounts| {
            ([Mark::None, Mark::Ue, Mark::Ce].map(|m| c.of(m)), c.congestion(), c.total())
        };
        assert_eq!(seen(&counts), ([0, 2, 3], 3, 5));
        counts.add(counts);
        assert_eq!(seen(&counts), ([0, 4, 6], 6, 10));
        counts.counters(&mut |n| *n += 1);
        assert_eq!(seen(&counts), ([0, 5, 7], 7, 12));
    }
}

//! Enums that the registry generates: all detections, their detectors and their congestion points.
//!
//! ```text
//!   Red(red) "red": "...";
//!    |   |     |     +- Entry::about
//!    |   |     +- Entry::name
//!    |   +- module; its Params implement Law, and DetectorLaw or CongestionPointLaw
//!    +- Detection::Red, AnyDetector::Red or AnyCongestionPoint::Red
//! ```

/// Makes the registry. `inline`: detectors that most runs have, on the path of every frame; `marks`: the other detectors;
/// `sends_cnms`: congestion points.
macro_rules! detections {
    (
        inline {$($I:ident($i:ident) $i_name:literal: $i_about:literal;)+}
        marks {$($M:ident($m:ident) $m_name:literal: $m_about:literal;)+}
        sends_cnms {$($N:ident($n:ident) $n_name:literal: $n_about:literal;)+}
    ) => {
        /// A configured detection.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum Detection {
            /// Nothing is ever marked.
            #[default]
            None,
            $(#[doc = concat!("[`super::", stringify!($i), "`].")] $I(super::$i::Params),)+
            $(#[doc = concat!("[`super::", stringify!($m), "`].")] $M(super::$m::Params),)+
            $(#[doc = concat!("[`super::", stringify!($n), "`].")] $N(super::$n::Params),)+
        }

        /// All detections.
        pub const REGISTRY: &[Entry] = &[
            Entry { name: "none", about: "no marking", params: &[], read: |_| Ok(Detection::None) },
            $(detections!(@entry $I($i) $i_name: $i_about),)+
            $(detections!(@entry $M($m) $m_name: $m_about),)+
            $(detections!(@entry $N($n) $n_name: $n_about),)+
        ];

        impl Detection {
            /// Rejects parameters that cannot work at this place. `memory` is the most that can ever wait for one egress queue [bytes].
            ///
            /// # Errors
            /// The key that cannot work.
            pub fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
                match self {
                    Detection::None => Ok(()),
                    $(Detection::$I(p) => Law::validate(p, place, memory),)+
                    $(Detection::$M(p) => Law::validate(p, place, memory),)+
                    $(Detection::$N(p) => Law::validate(p, place, memory),)+
                }
            }

            /// Conditions that do not hold in such a network.
            pub fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
                match self {
                    Detection::None => Vec::new(),
                    $(Detection::$I(p) => Law::unmet(p, at),)+
                    $(Detection::$M(p) => Law::unmet(p, at),)+
                    $(Detection::$N(p) => Law::unmet(p, at),)+
                }
            }

            /// True if it distinguishes congested ports from ports that only wait, and marks their frames differently.
            pub fn has_states(&self) -> bool {
                match self {
                    Detection::None => false,
                    $(Detection::$I(p) => Law::has_states(p),)+
                    $(Detection::$M(p) => Law::has_states(p),)+
                    $(Detection::$N(p) => Law::has_states(p),)+
                }
            }

            /// Values of the keys without a default, as they take effect at this place.
            pub fn resolved(&self, place: &Place) -> Vec<(&'static str, String)> {
                match self {
                    Detection::None => Vec::new(),
                    $(Detection::$I(p) => Law::resolved(p, place),)+
                    $(Detection::$M(p) => Law::resolved(p, place),)+
                    $(Detection::$N(p) => Law::resolved(p, place),)+
                }
            }

            /// A congestion point for one buffer at the end of this link; `None`: that buffer has none.
            pub fn congestion_point(&self, place: &Place, side: Side) -> Option<AnyCongestionPoint> {
                match self {
                    $(Detection::$N(p) => p.congestion_point(place, side).map(AnyCongestionPoint::$N),)+
                    _ => None,
                }
            }

            /// True for a detection that sends CNMs to sources; otherwise the detection marks frames, or does nothing.
            pub fn sends_cnms(&self) -> bool {
                matches!(self, $(Detection::$N(_))|+)
            }

            /// A detector for one queue.
            pub fn detector(&self, place: &Place) -> AnyDetector {
                match self {
                    $(Detection::$I(p) => AnyDetector::$I(p.detector(place)),)+
                    $(Detection::$M(p) => AnyDetector::$M(p.detector(place)),)+
                    _ => AnyDetector::None,
                }
            }
        }

        /// A detector of any kind.
        #[derive(Clone, Debug, PartialEq, Serialize, xoff_units::save::Save)]
        pub enum AnyDetector {
            /// Marks nothing.
            None,
            $(#[doc = concat!("Of [`super::", stringify!($i), "`].")] $I(<super::$i::Params as DetectorLaw>::Detector),)+
            $(#[doc = concat!("Of [`super::", stringify!($m), "`].")] $M(<super::$m::Params as DetectorLaw>::Detector),)+
        }

        impl AnyDetector {
            /// The detectors that most runs do not have: apart, so that the path of the others stays short.
            #[inline(never)]
            fn on_dequeue_apart(&mut self, now: Time, queue: Bytes, len: Bytes, draw: &mut dyn FnMut() -> f64) -> Mark {
                match self {
                    $(AnyDetector::$M(d) => d.on_dequeue(now, queue, len, draw),)+
                    AnyDetector::None $(| AnyDetector::$I(_))+ => Mark::None,
                }
            }
        }

        impl Detector for AnyDetector {
            #[inline]
            fn on_dequeue(&mut self, now: Time, queue: Bytes, len: Bytes, draw: &mut dyn FnMut() -> f64) -> Mark {
                match self {
                    AnyDetector::None => Mark::None,
                    $(AnyDetector::$I(d) => d.on_dequeue(now, queue, len, draw),)+
                    _ => self.on_dequeue_apart(now, queue, len, draw),
                }
            }

            #[inline]
            fn on_off(&mut self, now: Time) {
                match self {
                    AnyDetector::None => {}
                    $(AnyDetector::$I(d) => d.on_off(now),)+
                    $(AnyDetector::$M(d) => d.on_off(now),)+
                }
            }

            #[inline]
            fn on_on(&mut self, now: Time, queue: Bytes) {
                match self {
                    AnyDetector::None => {}
                    $(AnyDetector::$I(d) => d.on_on(now, queue),)+
                    $(AnyDetector::$M(d) => d.on_on(now, queue),)+
                }
            }

            #[inline]
            fn state(&self, now: Time) -> Option<PortState> {
                match self {
                    AnyDetector::None => None,
                    $(AnyDetector::$I(d) => d.state(now),)+
                    $(AnyDetector::$M(d) => d.state(now),)+
                }
            }
        }

        /// A congestion point of any kind.
        #[derive(Clone, Debug, PartialEq, Serialize, xoff_units::save::Save)]
        pub enum AnyCongestionPoint {
            $(#[doc = concat!("Of [`super::", stringify!($n), "`].")] $N(<super::$n::Params as CongestionPointLaw>::CongestionPoint),)+
        }

        impl CongestionPoint for AnyCongestionPoint {
            fn on_enqueue(&mut self, now: Time, flow: u32, len: Bytes, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm> {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::on_enqueue(n, now, flow, len, queue, draw),)+
                }
            }
            fn on_dequeue(&mut self, now: Time, flow: u32, len: Bytes) {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::on_dequeue(n, now, flow, len),)+
                }
            }
            fn on_stop(&mut self, now: Time) {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::on_stop(n, now),)+
                }
            }
            fn on_release(&mut self, now: Time) {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::on_release(n, now),)+
                }
            }
            fn next_wake(&self) -> Option<Time> {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::next_wake(n),)+
                }
            }
            fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm> {
                match self {
                    $(AnyCongestionPoint::$N(n) => CongestionPoint::on_wake(n, now, queue, draw),)+
                }
            }
        }
    };
    (@entry $V:ident($m:ident) $name:literal: $about:literal) => {
        Entry {
            name: $name,
            about: $about,
            params: super::$m::PARAMS,
            read: |v| super::$m::Params::read(v).map(Detection::$V),
        }
    };
}

pub(super) use detections;

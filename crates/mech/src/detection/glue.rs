//! Enums that the registry generates: all detections, their detectors and their congestion points.
//! Their methods are plain Rust, in `registry`.
//!
//! ```text
//!   Red(red) "red": "...";
//!    |   |     |     +- Entry::about
//!    |   |     +- Entry::name
//!    |   +- module; its Params implement Law, and DetectorLaw or CongestionPointLaw
//!    +- Detection::Red, AnyDetector::Red or AnyCongestionPoint::Red
//! ```

/// Makes the registry. `inline`: detectors that most runs have, on the path of every frame;
/// `marks`: the other detectors; `sends_cnms`: congestion points. The leading `$` is for the macros
/// that it makes: `detector` and `congestion_point`.
macro_rules! detections {
    (
        $d:tt
        inline {$($I:ident($i:ident) $i_name:literal: $i_about:literal;)+}
        marks {$($M:ident($m:ident) $m_name:literal: $m_about:literal;)+}
        sends_cnms {$($N:ident($n:ident) $n_name:literal: $n_about:literal;)+}
    ) => {
        /// Match over detectors, with static dispatch: those that most runs have, the others, none.
        macro_rules! detector {
            ($d self:expr, $d usual:pat => $d of_usual:expr, $d other:pat => $d of_other:expr, $d none:expr) => {
                match $d self {
                    AnyDetector::None => $d none,
                    $(AnyDetector::$I($d usual) => $d of_usual,)+
                    $(AnyDetector::$M($d other) => $d of_other,)+
                }
            };
        }

        /// Match over congestion points, with static dispatch.
        macro_rules! congestion_point {
            ($d self:expr, $d point:ident => $d answer:expr) => {
                match $d self {
                    $(AnyCongestionPoint::$N($d point) => $d answer,)+
                }
            };
        }

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

        /// Properties that follow from its parameters.
        impl Deref for Detection {
            type Target = dyn Law;
            fn deref(&self) -> &Self::Target {
                match self {
                    Detection::None => &NoLaw,
                    $(Detection::$I(law) => law,)+
                    $(Detection::$M(law) => law,)+
                    $(Detection::$N(law) => law,)+
                }
            }
        }

        impl Detection {
            /// A congestion point for one buffer at the end of this link; `None`: that buffer has
            /// none.
            pub fn congestion_point(&self, place: &Place, side: Side) -> Option<AnyCongestionPoint> {
                match self {
                    $(Detection::$N(p) => p.congestion_point(place, side).map(AnyCongestionPoint::$N),)+
                    _ => None,
                }
            }

            /// True for a detection that sends CNMs to sources; otherwise the detection marks
            /// frames, or does nothing.
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
        #[derive(Clone, Debug, PartialEq, xoff_units::state::State)]
        #[state(in_place)]
        pub enum AnyDetector {
            /// Marks nothing.
            None,
            $(#[doc = concat!("Of [`super::", stringify!($i), "`].")] $I(<super::$i::Params as DetectorLaw>::Detector),)+
            $(#[doc = concat!("Of [`super::", stringify!($m), "`].")] $M(<super::$m::Params as DetectorLaw>::Detector),)+
        }

        /// A congestion point of any kind.
        #[derive(Clone, Debug, PartialEq, xoff_units::state::State)]
        #[state(in_place)]
        pub enum AnyCongestionPoint {
            $(#[doc = concat!("Of [`super::", stringify!($n), "`].")] $N(<super::$n::Params as CongestionPointLaw>::CongestionPoint),)+
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

//! Enums that the registry generates: all rate controls and their reaction points, with static dispatch.
//!
//! ```text
//!   Dcqcn(dcqcn) "dcqcn": "...";
//!     |     |       |       +- Entry::about
//!     |     |       +- Entry::name
//!     |     +- module; its Params implement Law
//!     +- RateControlKind::Dcqcn, AnyRateControl::Dcqcn
//! ```

/// Makes the registry.
macro_rules! rate_controls {
    ($($R:ident($r:ident) $name:literal: $about:literal;)+) => {
        /// A configured rate control.
        #[derive(Clone, Debug, Default)]
        pub enum RateControlKind {
            /// Line rate always.
            #[default]
            None,
            $(#[doc = concat!("[`super::", stringify!($r), "`].")] $R(super::$r::Params),)+
            /// From outside.
            Custom(Arc<dyn Custom>),
        }

        /// All rate controls.
        pub const REGISTRY: &[Entry] = &[
            Entry { name: "none", about: "line rate always", params: &[], read: |_| Ok(RateControlKind::None) },
            $(Entry {
                name: $name,
                about: $about,
                params: super::$r::PARAMS,
                read: |v| super::$r::Params::read(v).map(RateControlKind::$R),
            },)+
        ];

        impl RateControlKind {
            /// The reaction point of one new flow; `None` when there is nothing to control.
            pub fn reaction_point(&self, flow: &FlowFacts) -> Option<AnyRateControl> {
                match self {
                    RateControlKind::None => None,
                    $(RateControlKind::$R(p) => Some(AnyRateControl::$R(Box::new(p.reaction_point(flow)))),)+
                    RateControlKind::Custom(c) => Some(AnyRateControl::Custom(c.reaction_point(flow))),
                }
            }

            /// Return path of marks.
            #[inline]
            pub fn cnp_mode(&self) -> CnpMode {
                of_kind!(self, CnpMode::Never, p => p.cnp_mode(); $($R)+ Custom)
            }

            /// Undetermined marks are reported too, as [`Feedback::Undetermined`].
            #[inline]
            pub fn reports_undetermined(&self) -> bool {
                of_kind!(self, false, p => p.reports_undetermined(); $($R)+ Custom)
            }

            /// Every acknowledgement is feedback, as [`Feedback::Ack`]. The others are spared it.
            #[inline]
            pub fn wants_acks(&self) -> bool {
                of_kind!(self, false, p => p.wants_acks(); $($R)+ Custom)
            }

            /// True if undetermined marks are treated separately (TCD, section 5.2).
            pub fn knows_undetermined(&self) -> bool {
                match self {
                    RateControlKind::Custom(c) => c.reports_undetermined(),
                    kind => of_kind!(kind, false, p => p.knows_undetermined(); $($R)+),
                }
            }

            /// Congestion points send it a value, as [`Feedback::Quantized`].
            pub fn wants_quantized(&self) -> bool {
                of_kind!(self, false, p => p.wants_quantized(); $($R)+ Custom)
            }

            /// True if its flows draw random numbers: each then needs a [`seed`](FlowFacts::seed). Other flows skip the draw.
            #[inline]
            pub fn draws(&self) -> bool {
                of_kind!(self, false, p => p.draws(); $($R)+ Custom)
            }

            /// Conditions that do not hold in a network whose slowest link has this rate.
            pub fn unmet(&self, slowest: Rate) -> Vec<Unmet> {
                of_kind!(self, Vec::new(), p => p.unmet(slowest); $($R)+)
            }

            /// Values of the keys without a default, as they take effect.
            pub fn resolved(&self) -> Vec<(&'static str, String)> {
                of_kind!(self, Vec::new(), p => p.resolved(); $($R)+)
            }

            /// Frames must collect records of their path, kept like this; `None`: no telemetry.
            #[inline]
            pub fn telemetry(&self) -> Option<RecordFormat> {
                of_kind!(self, None, p => p.telemetry(); $($R)+ Custom)
            }
        }

        /// A rate control of any kind.
        #[derive(Serialize, xoff_units::save::Save)]
        pub enum AnyRateControl {
            $(#[doc = concat!("Of [`super::", stringify!($r), "`].")] $R(Box<<super::$r::Params as Law>::ReactionPoint>),)+
            /// From outside.
            #[serde(serialize_with = "xoff_units::state::from_outside")]
            #[save(refused)]
            Custom(Box<dyn RateControl + Send>),
        }

        impl AnyRateControl {
            /// Prefetches the state for the next call.
            #[inline]
            pub fn prefetch(&self) {
                match self {
                    $(AnyRateControl::$R(r) => prefetch_whole(&**r),)+
                    AnyRateControl::Custom(_) => {}
                }
            }
        }

        impl RateControl for AnyRateControl {
            #[inline]
            fn rate(&self) -> Rate {
                match self {
                    $(AnyRateControl::$R(r) => r.rate(),)+
                    AnyRateControl::Custom(r) => r.rate(),
                }
            }
            #[inline]
            fn window(&self) -> Option<u64> {
                match self {
                    $(AnyRateControl::$R(r) => r.window(),)+
                    AnyRateControl::Custom(r) => r.window(),
                }
            }
            #[inline]
            fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
                match self {
                    $(AnyRateControl::$R(r) => r.on_sent(now, len, wakes),)+
                    AnyRateControl::Custom(r) => r.on_sent(now, len, wakes),
                }
            }
            fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
                match self {
                    $(AnyRateControl::$R(r) => r.on_feedback(now, feedback, wakes),)+
                    AnyRateControl::Custom(r) => r.on_feedback(now, feedback, wakes),
                }
            }
            fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
                match self {
                    $(AnyRateControl::$R(r) => r.on_wake(now, which, wakes),)+
                    AnyRateControl::Custom(r) => r.on_wake(now, which, wakes),
                }
            }
        }
    };
}

/// Answer of a kind; `$without` if it has none.
macro_rules! of_kind {
    ($self:expr, $without:expr, $p:ident => $answer:expr; $($V:ident)+) => {
        match $self {
            $(RateControlKind::$V($p) => $answer,)+
            #[allow(unreachable_patterns)] // the list may or may not hold what is from outside
            _ => $without,
        }
    };
}

pub(super) use {of_kind, rate_controls};

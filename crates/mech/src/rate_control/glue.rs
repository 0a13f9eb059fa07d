//! Enums that the registry generates: all rate controls and their reaction points. Their methods
//! are plain Rust, in `registry`.
//!
//! ```text
//!   Dcqcn(dcqcn) "dcqcn": "...";
//!     |     |       |       +- Entry::about
//!     |     |       +- Entry::name
//!     |     +- module; its Params implement Law
//!     +- RateControlKind::Dcqcn, AnyRateControl::Dcqcn
//! ```

/// Makes the registry. The leading `$` is for the macro that it makes: [`dispatch`].
macro_rules! rate_controls {
    ($d:tt $($R:ident($r:ident) $name:literal: $about:literal;)+) => {
        /// Match over the variants of `RateControlKind` or `AnyRateControl`, with static dispatch.
        /// Arms of the caller come first.
        macro_rules! dispatch {
            ($d E:ident, $d self:expr, $d m:pat => $d answer:expr $d(, $d($d arms:tt)+)?) => {
                #[allow(unreachable_patterns)] // the caller may have an arm for a rate control from outside
                match $d self {
                    $d($d($d arms)+)?
                    $($d E::$R($d m) => $d answer,)+
                    $d E::Custom($d m) => $d answer,
                }
            };
        }

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

        /// Properties that follow from its parameters.
        impl Deref for RateControlKind {
            type Target = dyn Law;
            fn deref(&self) -> &Self::Target {
                match self {
                    RateControlKind::None => &NoLaw,
                    $(RateControlKind::$R(law) => law,)+
                    RateControlKind::Custom(law) => &**law,
                }
            }
        }

        impl RateControlKind {
            /// The reaction point of one new flow; `None` when there is nothing to control.
            pub fn reaction_point(&self, flow: &FlowFacts) -> Option<AnyRateControl> {
                match self {
                    RateControlKind::None => None,
                    $(RateControlKind::$R(p) => Some(AnyRateControl::$R(Box::new(p.reaction_point(flow)))),)+
                    RateControlKind::Custom(c) => Some(AnyRateControl::Custom(c.boxed_reaction_point(flow))),
                }
            }
        }

        /// A rate control of any kind.
        #[derive(xoff_units::state::State)]
        pub enum AnyRateControl {
            $(#[doc = concat!("Of [`super::", stringify!($r), "`].")] $R(Box<<super::$r::Params as Law>::ReactionPoint>),)+
            /// From outside.
            #[state(refused)]
            Custom(Box<dyn RateControl + Send>),
        }
    };
}

pub(super) use rate_controls;

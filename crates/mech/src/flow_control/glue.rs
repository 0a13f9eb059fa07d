//! Enums that the registry generates: all mechanisms, their messages and their halves. Their
//! methods are plain Rust, in `registry`.
//!
//! ```text
//!   Pfc(pfc) "pfc" sends 0 Pfc(Pause): "...";
//!     |   |    |         |  |    |            +- Entry::about
//!     |   |    |         |  |    +- its contents, a Signal of that module
//!     |   |    |         |  +- Message::Pfc                      or instead of `sends`:  like Credit, whose messages it has
//!     |   |    |         +- number of that message in a frame
//!     |   |    +- Entry::name
//!     |   +- module; its Params implement Law
//!     +- FlowControl::Pfc, Rx::Pfc, Tx::Pfc
//! ```

/// Makes the registry. `classes`: mechanisms that regulate a priority as a whole; `flows`: per-flow
/// ones. The leading `$` is for the macros that it makes: [`dispatch`] and `signal`.
macro_rules! flow_controls {
    (
        $d:tt
        classes {$(
            $C:ident($c:ident) $c_name:literal $(sends $c_tag:literal $c_message:ident($c_signal:ident))? $(like $c_like:ident)?: $c_about:literal;
        )+}
        flows {$(
            $F:ident($f:ident) $f_name:literal $(sends $f_tag:literal $f_message:ident($f_signal:ident))? $(like $f_like:ident)?: $f_about:literal;
        )+}
    ) => {
        /// Match over the variants of `FlowControl`, `Rx` or `Tx`, with static dispatch. Arms of
        /// the caller come first.
        macro_rules! dispatch {
            ($d E:ident, $d self:expr, $d class:pat => $d of_class:expr, $d flow:pat => $d of_flow:expr, $d($d arms:tt)*) => {
                #[allow(unreachable_patterns)] // the caller may have an arm for a mechanism from outside
                match $d self {
                    $d($d arms)*
                    $($d E::$C($d class) => $d of_class,)+
                    $($d E::$F($d flow) => $d of_flow,)+
                    $d E::Custom($d class) => $d of_class,
                }
            };
        }

        /// Match over the contents of a message.
        macro_rules! signal {
            ($d self:expr, $d m:ident => $d answer:expr) => {
                match $d self {
                    $($(Message::$c_message($d m) => $d answer,)?)+
                    $($(Message::$f_message($d m) => $d answer,)?)+
                    Message::Custom($d m) => $d answer,
                }
            };
        }

        /// Message from a receiver to its sender.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, xoff_units::state::State)]
        pub enum Message {
            $($(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $c_message(super::$c::$c_signal),)?)+
            $($(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $f_message(super::$f::$f_signal),)?)+
            /// Message of a mechanism from outside.
            Custom(u64),
        }

        impl Message {
            /// Number of its kind in a frame.
            fn tag(self) -> u8 {
                match self {
                    $($(Message::$c_message(_) => $c_tag,)?)+
                    $($(Message::$f_message(_) => $f_tag,)?)+
                    Message::Custom(_) => CUSTOM_TAG,
                }
            }

            /// The inverse of [`Message::to_words`].
            pub fn from_words(tag: u8, a: u64, b: u64) -> Message {
                /// Numbers of messages are distinct.
                #[deny(unreachable_patterns)]
                const fn _distinct(tag: u8) {
                    match tag {
                        $($($c_tag => (),)?)+
                        $($($f_tag => (),)?)+
                        _ => (),
                    }
                }
                match tag {
                    $($($c_tag => Message::$c_message(Signal::from_words(a, b)),)?)+
                    _ => Message::rare(tag, a, b),
                }
            }

            #[cold] // out of line: every control frame passes here
            fn rare(tag: u8, a: u64, b: u64) -> Message {
                match tag {
                    $($($f_tag => Message::$f_message(Signal::from_words(a, b)),)?)+
                    _ => Message::Custom(Signal::from_words(a, b)),
                }
            }

            /// The message that ends the state which this one sets, as if it had never been sent;
            /// `None`: it sets none that lasts.
            pub fn release(self) -> Option<Message> {
                match self {
                    $($(Message::$c_message(m) => Signal::release(m).map(Message::$c_message),)?)+
                    $($(Message::$f_message(m) => Signal::release(m).map(Message::$f_message),)?)+
                    Message::Custom(m) => Signal::release(m).map(Message::Custom),
                }
            }
        }

        /// A configured flow control, ready to make its two halves for any link.
        #[derive(Clone, Debug)]
        pub enum FlowControl {
            /// No flow control: a full buffer drops.
            None,
            $(#[doc = concat!("[`super::", stringify!($c), "`].")] $C(super::$c::Params),)+
            $(#[doc = concat!("[`super::", stringify!($f), "`].")] $F(super::$f::Params),)+
            /// A mechanism from outside this repository.
            Custom(Arc<dyn Custom>),
        }

        /// All flow controls.
        pub const REGISTRY: &[Entry] = &[
            Entry { name: "none", about: "no flow control; a full buffer drops", per_flow: false, params: &[], read: |_, _| Ok(FlowControl::None) },
            $(Entry {
                name: $c_name,
                about: $c_about,
                per_flow: false,
                params: super::$c::PARAMS,
                read: |v, l| super::$c::Params::read(v, l).map(FlowControl::$C),
            },)+
            $(Entry {
                name: $f_name,
                about: $f_about,
                per_flow: true,
                params: super::$f::PARAMS,
                read: |v, l| super::$f::Params::read(v, l).map(FlowControl::$F),
            },)+
        ];

        /// Properties that follow from its parameters.
        impl Deref for FlowControl {
            type Target = dyn Law;
            fn deref(&self) -> &Self::Target {
                match self {
                    FlowControl::None => &NoLaw,
                    $(FlowControl::$C(law) => law,)+
                    $(FlowControl::$F(law) => law,)+
                    FlowControl::Custom(law) => &**law,
                }
            }
        }

        impl FlowControl {
            /// Name in the registry; `None`: a mechanism from outside.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    FlowControl::None => Some("none"),
                    $(FlowControl::$C(_) => Some($c_name),)+
                    $(FlowControl::$F(_) => Some($f_name),)+
                    FlowControl::Custom(_) => None,
                }
            }

            /// Receiver and sender for a link.
            pub fn halves(&self, link: &LinkFacts) -> (Rx, Tx) {
                match self {
                    FlowControl::None => (Rx::None, Tx::None(link.rate)),
                    $(FlowControl::$C(p) => {
                        let (rx, tx) = Law::halves(p, link);
                        (Rx::$C(rx), Tx::$C(tx))
                    })+
                    $(FlowControl::$F(p) => {
                        let (rx, tx) = Law::halves(p, link);
                        (Rx::$F(rx), Tx::$F(tx))
                    })+
                    FlowControl::Custom(x) => {
                        let (rx, tx) = x.boxed_halves(link);
                        (Rx::Custom(rx), Tx::Custom(tx))
                    }
                }
            }

            /// True if such a message fits a port with this flow control.
            pub fn accepts(&self, message: &Message) -> bool {
                match self {
                    FlowControl::None => false,
                    $(FlowControl::$C(_) => matches!(message, $(Message::$c_message(_))? $(Message::$c_like(_))?),)+
                    $(FlowControl::$F(_) => matches!(message, $(Message::$f_message(_))? $(Message::$f_like(_))?),)+
                    FlowControl::Custom(_) => matches!(message, Message::Custom(_)),
                }
            }
        }

        /// A receiver half of any kind.
        #[derive(xoff_units::state::State)]
        #[repr(C)] // the beginning of a half stands at the beginning of this, as its order of fields expects
        pub enum Rx {
            /// Sends nothing.
            None,
            $(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $C(<super::$c::Params as Law>::Receiver),)+
            $(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $F(<super::$f::Params as Law>::Receiver),)+
            /// From outside.
            #[state(refused)]
            Custom(Box<dyn Receiver + Send + Sync>),
        }

        /// A sender half of any kind.
        #[derive(xoff_units::state::State)]
        pub enum Tx {
            /// Always open, at this line rate.
            None(Rate),
            $(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $C(<super::$c::Params as Law>::Sender),)+
            $(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $F(<super::$f::Params as Law>::Sender),)+
            /// From outside.
            #[state(refused)]
            Custom(Box<dyn Sender + Send + Sync>),
            /// A released half: it keeps obeying and counting, but its answer is ignored
            /// ([`Tx::release`]).
            Released(Box<Released>),
        }

        impl Rx {
            /// A copy, to try several continuations of one state; `None`: a half from outside.
            pub fn copy(&self) -> Option<Rx> {
                match self {
                    Rx::None => Some(Rx::None),
                    $(Rx::$C(m) => Some(Rx::$C(m.clone())),)+
                    $(Rx::$F(m) => Some(Rx::$F(m.clone())),)+
                    Rx::Custom(_) => None,
                }
            }
        }

        impl Tx {
            /// A copy, to try several continuations of one state; `None`: a half from outside, or
            /// one that is released.
            pub fn copy(&self) -> Option<Tx> {
                match self {
                    Tx::None(line) => Some(Tx::None(*line)),
                    $(Tx::$C(m) => Some(Tx::$C(m.clone())),)+
                    $(Tx::$F(m) => Some(Tx::$F(m.clone())),)+
                    Tx::Custom(_) | Tx::Released(_) => None,
                }
            }
        }
    };
}

pub(super) use flow_controls;

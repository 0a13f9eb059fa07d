//! Entropy values: the path of each frame by a number that its source puts into it.
//!
//! ```text
//!   source: Entropy::next --value--> frame --> switch: hash(flow, value) -> one of its next hops
//!      ^                                          destination
//!      +--- Entropy::on_ack(value, marked) <-- acknowledgement with the frame's value
//! ```
//!
//! Switches do nothing but ECMP. The value stands for the source port of UDP, or the entropy field
//! of Ultra Ethernet. Value 0 is the flow's own source port: with one path a flow takes the path
//! of its hash.

pub mod bitmap;
pub mod oblivious;
pub mod reps;

use xoff_units::Time;
use xoff_units::state::State;

/// Choice of the entropy value of each frame, at the source of one flow.
pub trait Entropy {
    /// The value of the next frame. `draw`: the next random number in [0, 1) of the port.
    fn next(&mut self, now: Time, draw: &mut dyn FnMut() -> f64) -> u16;
    /// A frame with this value has been acknowledged. `marked`: it met congestion.
    fn on_ack(&mut self, _now: Time, _value: u16, _marked: bool) {}
    /// The retransmission timer has expired.
    fn on_timeout(&mut self, _now: Time) {}
}

/// Entropy values of all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entropies {
    /// The law.
    pub kind: EntropyKind,
    /// Number of values, at least 1.
    pub paths: u16,
}

macro_rules! laws {
    ($($Law:ident($law:ident) $name:literal;)+) => {
        /// Names of all laws; `flow`: the path of a flow is that of its hash.
        pub const NAMES: &[&str] = &["flow", $($name),+];

        /// The law of all flows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EntropyKind {
            $(#[doc = concat!("[`", stringify!($law), "`].")] $Law,)+
        }

        /// The law of one flow.
        #[derive(Clone, Debug, PartialEq, Eq, State)]
        pub enum AnyEntropy {
            $(#[doc = concat!("[`", stringify!($law), "`].")] $Law($law::$Law),)+
        }

        impl EntropyKind {
            /// The law of this name; `None`: `flow`.
            pub fn of(name: &str) -> Option<EntropyKind> {
                match name {
                    $($name => Some(EntropyKind::$Law),)+
                    _ => None,
                }
            }
        }

        impl Entropies {
            /// The law of a flow that begins.
            pub fn of_flow(self) -> AnyEntropy {
                match self.kind {
                    $(EntropyKind::$Law => AnyEntropy::$Law($law::$Law::new(self.paths)),)+
                }
            }
        }

        impl Entropy for AnyEntropy {
            fn next(&mut self, now: Time, draw: &mut dyn FnMut() -> f64) -> u16 {
                match self { $(AnyEntropy::$Law(law) => law.next(now, draw),)+ }
            }
            fn on_ack(&mut self, now: Time, value: u16, marked: bool) {
                match self { $(AnyEntropy::$Law(law) => law.on_ack(now, value, marked),)+ }
            }
            fn on_timeout(&mut self, now: Time) {
                match self { $(AnyEntropy::$Law(law) => law.on_timeout(now),)+ }
            }
        }
    };
}

laws! {
    Oblivious(oblivious) "oblivious";
    Bitmap(bitmap) "bitmap";
    Reps(reps) "reps";
}

/// A value from 0 to `paths` - 1 at random.
fn any(paths: u16, draw: &mut dyn FnMut() -> f64) -> u16 {
    ((draw() * f64::from(paths)) as u16).min(paths - 1)
}

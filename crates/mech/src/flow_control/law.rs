//! Registry requirements of a flow control: [`Law`] of its parameters, [`Signal`] of its messages.
//!
//! Nodes, the simulator, a real port and the dimensioning ask these through [`FlowControl`] and
//! [`Message`], so that none of them matches on a mechanism. [`FlowControl`] dereferences to its
//! [`Law`]: a new method of the trait needs no other edit.

use std::fmt::Debug;

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Span};

use super::on_off::Stop;
use super::standstill::Standstill;
use super::{FlowControl, MESSAGE_LEN, Message, Receiver, Sender};
use crate::{ControlLoop, LinkFacts, Unmet};

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// True for per-flow flow control: the sender half is the egress queue, with its own order.
    pub per_flow: bool,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reads the parameters.
    pub read: fn(&mut dyn Values, &LinkFacts) -> Result<FlowControl, ParamError>,
}

/// Place where a receiver half stops a whole priority outright, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pauses {
    /// Nowhere: the half grants credits, sets rates or stops single flows.
    Never,
    /// At this occupancy of the ingress [bytes].
    At(Bytes),
    /// At an occupancy that depends on the free part of a shared memory.
    ByFreeMemory,
    /// At the limit that the buffer profile of each priority group sets.
    ByProfile,
}

/// Properties that follow from the parameters of a flow control. Its module also has `PARAMS` and
/// `Params::read`. Answers that most mechanisms share are defaults.
pub trait Law: Debug {
    /// The downstream half: a [`Receiver`] or a boxed [`FlowReceiver`](super::FlowReceiver).
    type Receiver
    where
        Self: Sized;
    /// The upstream half: a [`Sender`] or a boxed [`FlowSender`](super::FlowSender). A large one is
    /// boxed, so that a port stays small.
    type Sender
    where
        Self: Sized;

    /// Receiver and sender for one direction of a link and one priority.
    fn halves(&self, link: &LinkFacts) -> (Self::Receiver, Self::Sender)
    where
        Self: Sized;
    /// Values of the keys without a default, as they take effect on its link.
    fn resolved(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// Messages that a port sends on a real link when it starts. They end every state that its
    /// predecessor had set at the neighbour. Numbered messages are at least the first three, which
    /// announce a new count. Pauses of a priority end on their own, and credits are repeated all
    /// the time.
    fn opening(&self) -> Vec<Message> {
        Vec::new()
    }
    /// Refuses a buffer behind which the longest frame of this link never gets through, as a
    /// virtual lane without credits.
    ///
    /// # Errors
    /// The key with too small a value.
    fn holds_a_frame(&self, _link: &LinkFacts) -> Result<(), ParamError> {
        Ok(())
    }
    /// Size of a message on the wire [bytes]; 0: an ideal message, which takes no time on it. The
    /// GFC paper counts 64 B control frames (m = 64 B).
    fn message_len(&self) -> Bytes {
        MESSAGE_LEN
    }
    /// The control loop of a link under it.
    fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
        link.control_loop(self.message_len())
    }
    /// Condition that stops a regulated port; `None`: no port stops as a whole.
    fn stop(&self) -> Option<Stop> {
        None
    }
    /// max(T_on): the longest time a port sends between two stops while this flow control regulates
    /// it (TCD section 4.2; [`on_off`](super::on_off)), of a priority that expects this share of
    /// the link. `epsilon` is the smallest congestion degree (R_i - R_d)/C that counts, above 0.
    /// `None`: no port is ever stopped as a whole, or it is unknown.
    fn max_ton_of(&self, share: f64, link: &LinkFacts, epsilon: f64) -> Option<Span> {
        self.stop().map(|stop| stop.max_ton_of(share, link.rate, link.tau(), epsilon))
    }
    /// Place where a whole priority is stopped outright, if any.
    fn pauses(&self) -> Pauses {
        Pauses::Never
    }
    /// Rejects parameters without a form on a real link.
    ///
    /// # Errors
    /// The key that has another value there.
    fn on_a_wire(&self) -> Result<(), ParamError> {
        Ok(())
    }
    /// Bytes that one flow may hold behind this link, if single flows are paused; `None`:
    /// priorities are.
    fn flow_bytes(&self, _link: &LinkFacts) -> Option<Bytes> {
        None
    }
    /// Conditions of its own that do not hold on this link. Those of a published dimensioning
    /// belong to its plan.
    fn unmet(&self, _link: &LinkFacts) -> Vec<Unmet> {
        Vec::new()
    }
    /// Ports of a switch by which traffic enters and that share an egress, as many as it is made
    /// for; 0: its receiver halves do not look at egress queues ([`Receiver::wants_egress`]).
    fn entry_ports(&self) -> u64 {
        0
    }
    /// True if the priorities of a port share one buffer and the credit for it. Then the buffer of
    /// its link is that of all of them.
    fn shares_port(&self) -> bool {
        false
    }
    /// Rejects parameters that are too small for this number of priorities.
    ///
    /// # Errors
    /// The key with too small a value.
    fn fits_priorities(&self, _link: &LinkFacts, _priorities: u64) -> Result<(), ParamError> {
        Ok(())
    }
    /// Rejects periodic messages of `priorities` priorities that come faster than the wire carries
    /// them.
    ///
    /// # Errors
    /// The key that says how often they come.
    fn messages_fit(&self, _link: &LinkFacts, _priorities: u64) -> Result<(), ParamError> {
        Ok(())
    }
    /// Effect of a stopped drain on the buffer behind such a link; `None`: the sender stops as
    /// well, or there is no guarantee.
    fn standstill(&self, _link: &LinkFacts) -> Option<Standstill> {
        None
    }
}

/// Condition under which a message carries the total that its port has sent
/// ([`Sender::sent_total`]), as of its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// Never.
    Never,
    /// On links that may lose frames; elsewhere the receiver has counted the same.
    OnLossyLinks,
    /// On every link.
    Always,
}

/// Properties of a message for all carriers: nodes, frames, tables, real ports. Only its own halves
/// know its meaning.
pub trait Signal: Copy {
    /// True for a message about single flows. A decision may then need several messages
    /// ([`FlowReceiver::more`](super::FlowReceiver::more)).
    const PER_FLOW: bool = false;
    /// Packed into two words: a frame has no room for more.
    fn to_words(self) -> (u64, u64);
    /// The inverse of [`Signal::to_words`].
    fn from_words(a: u64, b: u64) -> Self;
    /// Kind and value for tables and logs.
    fn describe(self) -> (&'static str, u64);
    /// See [`Message::stops`].
    fn stops(self) -> Option<bool> {
        None
    }
    /// See [`Message::release`].
    fn release(self) -> Option<Self> {
        None
    }
    /// See [`Message::is_state`].
    fn is_state(self) -> bool {
        false
    }
    /// See [`Message::is_part`].
    fn is_part(self) -> bool {
        false
    }
    /// See [`Message::own_len`].
    fn own_len(self) -> Option<Bytes> {
        None
    }
    /// See [`Message::totals`].
    fn totals(self) -> Totals {
        Totals::Never
    }
}

/// The message of a mechanism from outside this repository.
impl Signal for u64 {
    fn to_words(self) -> (u64, u64) {
        (self, 0)
    }
    fn from_words(a: u64, _: u64) -> u64 {
        a
    }
    fn describe(self) -> (&'static str, u64) {
        ("custom", self)
    }
}

/// A mechanism from outside this repository: a [`Law`] with boxed halves.
pub trait Custom: Law + Send + Sync {
    /// See [`Law::halves`].
    fn boxed_halves(
        &self,
        link: &LinkFacts,
    ) -> (Box<dyn Receiver + Send + Sync>, Box<dyn Sender + Send + Sync>);
}

impl<L> Custom for L
where
    L: Law<Receiver = Box<dyn Receiver + Send + Sync>, Sender = Box<dyn Sender + Send + Sync>>
        + Send
        + Sync,
{
    fn boxed_halves(&self, link: &LinkFacts) -> (L::Receiver, L::Sender) {
        self.halves(link)
    }
}

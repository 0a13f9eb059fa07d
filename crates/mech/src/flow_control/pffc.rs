//! Per-hop per-flow flow control (PFFC, IEEE Access 2021): a congested flow is paused, its
//! neighbours continue.
//!
//! ```text
//!   upstream port                                           downstream ingress
//!                     +-> default queue ----------+
//!   frame of a flow --+                           +-> wire -> bytes held of the flow ----+- - - Xoff_s -> PAUSE, MIGRATE
//!                     +-> pause queue k [paused] -+                                      +- - - Xon_s --> RESUME, MIGRATE-BACK
//! ```
//!
//! The receiver ([`FlowReceiver`]) counts by flow, in a table of bounded size: flows that share a
//! slot share their fate. The sender ([`FlowSender`]) has a default queue and a few pause queues.
//! PAUSE stops one pause queue. MIGRATE sends later frames of a flow into that queue. RESUME lets
//! the queue drain before the default queue. MIGRATE-BACK returns the flow to the default queue.
//!
//! PAUSE is a PFC frame and carries a time. A receiver that keeps holding a flow repeats PAUSE and
//! MIGRATE at half life. A lost message then costs at most half a pause time, and a pause ends on
//! its own if its RESUME is lost. With `repeat` it repeats them each interval, and RESUME as well;
//! a MIGRATE-BACK that is lost is made up for by the end of the detour.
//!
//! Only slides of the paper were read; algorithm and gaps: `docs/mechanisms/pffc.md`.

mod receiver;
mod sender;

pub use receiver::PffcReceiver;
pub use sender::PffcSender;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Span};

use super::law::{Law, Signal};
use super::pfc::{self, Pause};
use super::{MESSAGE_LEN, Message, repeat};
use crate::{ControlLoop, LinkFacts};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "xoff_s",
        Kind::Bytes,
        "bytes held of one flow above which it is paused; default: 2 C tau",
        "PFFC slides: Xoff_s, without a number",
    ),
    ParamSpec::optional(
        "xon_s",
        Kind::Bytes,
        "bytes held of a flow at or below which it is resumed; default: half of Xoff_s",
        "PFFC slides: Xon_s, without a number",
    ),
    ParamSpec::new(
        "queues",
        Kind::Count,
        "6",
        "pause queues of an egress port and priority",
        "PFFC slides: 8 queues a port, one of them the default",
    ),
    ParamSpec::new(
        "slots",
        Kind::Count,
        "4096",
        "slots of the table in which flows are counted",
        "xoff's choice: the slides give none",
    ),
    ParamSpec::new(
        "pause",
        Kind::Choice(&["quanta", "sticky"]),
        "quanta",
        "timed pause, repeated with its MIGRATE at half life, or until resumed",
        "PFFC slides: PAUSE is a PFC frame; 802.3 Annex 31D",
    ),
    ParamSpec::new(
        "quanta",
        Kind::Count,
        "65535",
        "pause time in units of 512 bit times at the port's rate",
        "802.1Q: 16-bit field",
    ),
    repeat::PARAM,
];

/// Most pause queues: a word has a bit for each.
pub const QUEUES_MAX: u64 = 64;
/// Largest number of slots that the messages' 16 bits can name.
pub const SLOTS_MAX: u64 = 1 << 16;
/// Messages of a flow that may stand before those of another one: two that pause and two that
/// resume.
pub const MESSAGES_OF_A_FLOW: u64 = 4;

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes held of a flow above which it is paused.
    pub xoff_s: Bytes,
    /// Bytes held of a flow at or below which it resumes.
    pub xon_s: Bytes,
    /// Pause queues.
    pub queues: u16,
    /// Slots of the table.
    pub slots: u32,
    /// Pause time in quanta; `None`: until resumed.
    pub quanta: Option<u16>,
    /// Time after which the messages of the present state are sent again; zero: a pause and its
    /// migrations at half its life [ps].
    pub repeat: Span,
}

impl Params {
    /// Reads [`PARAMS`], deriving thresholds from the link where they are not given.
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let (xoff_s, xon_s) = thresholds(
            &link.control_loop(Bytes::ZERO),
            v.bytes_opt("xoff_s")?,
            v.bytes_opt("xon_s")?,
        );
        let mut count = |key: &'static str, most: u64| match v.count(key)? {
            n if (1..=most).contains(&n) => Ok(n),
            n => Err(ParamError::new(key, format!("{n} {key}"), format!("expected 1 to {most}"))),
        };
        let (queues, slots) =
            (count("queues", QUEUES_MAX)? as u16, count("slots", SLOTS_MAX)? as u32);
        let p = Params {
            xoff_s,
            xon_s,
            queues,
            slots,
            quanta: pfc::read_quanta(v)?,
            repeat: repeat::read(v, link)?,
        };
        p.validate(link)?;
        Ok(p)
    }

    /// Rejects parameters that cannot work even for a single flow next to its host.
    pub fn validate(&self, link: &LinkFacts) -> Result<(), ParamError> {
        if self.xon_s > self.xoff_s {
            return Err(ParamError::new(
                "xon_s",
                format!("Xon_s {} is above Xoff_s {}", self.xon_s, self.xoff_s),
                "choose Xon_s <= Xoff_s: a flow is paused before it is resumed",
            ));
        }
        if self.xoff_s.0 == 0 {
            return Err(ParamError::new(
                "xoff_s",
                "Xoff_s is 0",
                "choose at least one MTU: with 0, a flow could send nothing",
            ));
        }
        let needed = self.flow_bytes_max(link, 1, 1);
        if needed > link.buffer {
            return Err(ParamError::new(
                "xoff_s",
                format!(
                    "one flow may need {needed}: Xoff_s {} and the bytes after its pause, but the buffer has {}",
                    self.xoff_s, link.buffer
                ),
                "choose a smaller xoff_s or a larger buffer, or frames would be lost",
            ));
        }
        Ok(())
    }

    /// Bytes of a flow that arrive after its counter has exceeded Xoff_s, if none of its frames
    /// waits in the default queue upstream: C tau (GFC Eq. 6), a frame that is admitted as a whole,
    /// and C times the wait for its messages behind those of `flows` flows, four each at most: two
    /// that pause and two that resume.
    pub fn headroom(link: &LinkFacts, flows: u64) -> Bytes {
        headroom(&link.control_loop(Bytes::ZERO), MESSAGE_LEN, flows)
    }

    /// The most that is held of a flow at the `hop`-th switch of its way, `hop` from 1, where
    /// `flows` flows share a link
    /// [bytes]: `hop (Xoff_s + headroom)`. MIGRATE does not touch frames that already wait in the default queue upstream, and that
    /// may be all that the switch upstream holds of the flow. Only for flows with a slot to
    /// themselves.
    pub fn flow_bytes_max(&self, link: &LinkFacts, hop: u64, flows: u64) -> Bytes {
        (self.xoff_s + self.headroom_if_repeated(link, flows)) * hop
    }

    /// With repetition a message of the flow may be lost; a PAUSE and a MIGRATE of each other flow
    /// that are repeated may go before it.
    fn headroom_if_repeated(&self, link: &LinkFacts, flows: u64) -> Bytes {
        if self.repeat.0 == 0 {
            return Params::headroom(link, flows);
        }
        headroom(
            &repeat::with_one_lost(link.control_loop(Bytes::ZERO), self.repeat),
            MESSAGE_LEN,
            flows,
        ) + MESSAGE_LEN * 2 * flows
    }

    /// The slot of a flow.
    fn slot(&self, flow: FlowId) -> u16 {
        slot(flow, self.slots)
    }
}

impl Law for Params {
    type Receiver = Box<PffcReceiver>;
    type Sender = Box<PffcSender>;

    fn halves(&self, link: &LinkFacts) -> (Box<PffcReceiver>, Box<PffcSender>) {
        (Box::new(PffcReceiver::new(self, link.rate)), Box::new(PffcSender::new(self, link.rate)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![("xoff_s", self.xoff_s.compact()), ("xon_s", self.xon_s.compact())]
    }
    /// A RESUME for every pause queue.
    fn opening(&self) -> Vec<Message> {
        (0..self.queues.max(3)).map(|q| Message::Flow(Order::Resume(q % self.queues))).collect()
    }
    fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
        self.validate(link)
    }
    fn flow_bytes(&self, link: &LinkFacts) -> Option<Bytes> {
        Some(self.flow_bytes_max(link, 1, 1))
    }
    fn on_a_wire(&self) -> Result<(), ParamError> {
        super::pfc::timed(self.quanta)
    }
    /// Messages are counted by flow, in addition to the loop.
    fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
        link.control_loop(Bytes::ZERO)
    }
}

/// Xoff_s and Xon_s, where they are not given: 2 C tau and half of it. They decide how much of the
/// link a flow can use; what is lossless is a matter of [`headroom`].
pub fn thresholds(l: &ControlLoop, xoff_s: Option<Bytes>, xon_s: Option<Bytes>) -> (Bytes, Bytes) {
    let xoff_s = xoff_s.unwrap_or(l.rate.bytes_in(l.tau) * 2);
    (xoff_s, xon_s.unwrap_or(Bytes(xoff_s.0 / 2)))
}

/// See [`Params::headroom`]; the loop is one whose messages take no wire time, because they are
/// counted by flow here.
pub fn headroom(l: &ControlLoop, message: Bytes, flows: u64) -> Bytes {
    l.rate.bytes_in(l.tau) + l.mtu + message * MESSAGES_OF_A_FLOW * flows
}

/// The slot of a flow in a table of `slots`. The finalizer of MurmurHash3 represents the switch's
/// hash of addresses and ports: flow numbers follow each other, and two flows shall meet with
/// probability 1/slots as if they were arbitrary.
pub fn slot(flow: FlowId, slots: u32) -> u16 {
    let mut h = flow.0.wrapping_add(0x9e37_79b9); // zero would stay zero
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    ((h ^ h >> 16) % slots) as u16
}

/// Messages from a receiver to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum Order {
    /// PAUSE: this pause queue sends nothing for this time, or until it is resumed.
    Pause(u16, Pause),
    /// MIGRATE: later frames of the flows of this slot join their pause queue.
    Migrate(u16),
    /// RESUME: this pause queue sends again, before the default queue.
    Resume(u16),
    /// MIGRATE-BACK: later frames of the flows of this slot join the default queue again.
    MigrateBack(u16),
}

impl Signal for Order {
    const PER_FLOW: bool = true;

    #[cold] // out of line, as all that other flow controls pass by
    fn to_words(self) -> (u64, u64) {
        let (kind, value, quanta) = match self {
            Order::Pause(q, Pause(quanta)) => (0, q, quanta),
            Order::Migrate(s) => (1, s, 0),
            Order::Resume(q) => (2, q, 0),
            Order::MigrateBack(s) => (3, s, 0),
        };
        ((quanta as u64) << 32 | kind << 16 | value as u64, 0)
    }

    #[cold]
    fn from_words(word: u64, _: u64) -> Order {
        let value = word as u16;
        match word >> 16 & 0xffff {
            0 => Order::Pause(value, Pause((word >> 32) as u32)),
            1 => Order::Migrate(value),
            2 => Order::Resume(value),
            _ => Order::MigrateBack(value),
        }
    }

    fn describe(self) -> (&'static str, u64) {
        match self {
            Order::Pause(q, _) => ("pause", q as u64),
            Order::Migrate(s) => ("migrate", s as u64),
            Order::Resume(q) => ("resume", q as u64),
            Order::MigrateBack(s) => ("migrate-back", s as u64),
        }
    }
}

#[cfg(test)]
mod tests;

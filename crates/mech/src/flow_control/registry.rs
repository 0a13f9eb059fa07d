//! The registry: one line per mechanism in each table below, and nothing else knows their names.

use std::fmt::Debug;
use std::sync::Arc;

use xoff_params::{ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time};

use super::on_off::Stop;
use super::{
    FlowReceiver, FlowSender, Gate, MESSAGE_LEN, Occupancy, Receiver, Sender, StoppedBy, cbfc, gfc_buffer, gfc_conceptual, gfc_time, pfc,
    pffc,
};
use crate::{ControlLoop, LinkFacts};

/// What travels from a receiver to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Pause or resume.
    Pfc(pfc::Pause),
    /// Credit limit.
    Credit(cbfc::CreditLimit),
    /// Stage number of the mapping function.
    Stage(u16),
    /// Queue length.
    Level(Bytes),
    /// A mechanism from outside.
    Custom(u64),
    /// Pause or resume, or another queue, for flows.
    Flow(pffc::Order),
}

impl Message {
    /// Packed into a tag and two words, for stores that keep frames small.
    pub fn to_words(self) -> (u8, u64, u64) {
        match self {
            Message::Pfc(p) => (0, p.0 as u64, 0),
            Message::Credit(m) => (1, m.fccl, m.occupied.0),
            Message::Stage(k) => (2, k as u64, 0),
            Message::Level(q) => (3, q.0, 0),
            Message::Custom(v) => (4, v, 0),
            Message::Flow(o) => (5, o.to_word(), 0),
        }
    }

    /// The inverse of [`Message::to_words`].
    pub fn from_words(tag: u8, a: u64, b: u64) -> Message {
        match tag {
            0 => Message::Pfc(pfc::Pause(a as u32)),
            1 => Message::Credit(cbfc::CreditLimit { fccl: a, occupied: Bytes(b) }),
            2 => Message::Stage(a as u16),
            3 => Message::Level(Bytes(a)),
            _ => Message::rare(tag, a),
        }
    }

    #[cold] // out of line: every control frame passes here
    fn rare(tag: u8, a: u64) -> Message {
        if tag == 4 { Message::Custom(a) } else { Message::Flow(pffc::Order::from_word(a)) }
    }

    /// Does it stop its sender, or let it go? `None`: it does neither outright, or for some flows only.
    pub fn stops(self) -> Option<bool> {
        match self {
            Message::Pfc(p) => Some(p != pfc::Pause::RESUME),
            Message::Credit(_) | Message::Stage(_) | Message::Level(_) | Message::Flow(_) | Message::Custom(_) => None,
        }
    }

    /// The message that takes this one back, as if nothing had been said; `None`: it stands for no state.
    pub fn taken_back(self) -> Option<Message> {
        match self {
            Message::Pfc(_) => Some(Message::Pfc(pfc::Pause::RESUME)),
            Message::Stage(_) => Some(Message::Stage(0)),
            Message::Level(_) => Some(Message::Level(Bytes::ZERO)),
            Message::Credit(_) | Message::Flow(_) | Message::Custom(_) => None,
        }
    }

    /// Does it stand for a state that its receiver half says only once? On a real link it has to be repeated, so that a lost one heals.
    pub fn is_repeated_for_it(self) -> bool {
        matches!(self, Message::Stage(_) | Message::Level(_))
    }

    /// Kind and value for tables and logs.
    pub fn describe(&self) -> (&'static str, u64) {
        match self {
            Message::Pfc(pfc::Pause::RESUME) => ("resume", 0),
            Message::Pfc(pfc::Pause(q)) => ("pause", *q as u64),
            Message::Credit(m) => ("credit", m.fccl),
            Message::Stage(k) => ("stage", *k as u64),
            Message::Level(q) => ("level", q.0),
            Message::Flow(pffc::Order::Pause(q, _)) => ("pause", *q as u64),
            Message::Flow(pffc::Order::Migrate(s)) => ("migrate", *s as u64),
            Message::Flow(pffc::Order::Resume(q)) => ("resume", *q as u64),
            Message::Flow(pffc::Order::MigrateBack(s)) => ("migrate-back", *s as u64),
            Message::Custom(v) => ("custom", *v),
        }
    }
}

/// A configured flow control, ready to make its two halves for any link.
#[derive(Clone, Debug)]
pub enum FlowControl {
    /// No flow control: a full buffer drops.
    None,
    /// [`pfc`].
    Pfc(pfc::Params),
    /// [`cbfc`].
    Cbfc(cbfc::Params),
    /// [`gfc_conceptual`].
    GfcConceptual(gfc_conceptual::Params),
    /// [`gfc_buffer`].
    GfcBuffer(gfc_buffer::Params),
    /// [`gfc_time`].
    GfcTime(gfc_time::Params),
    /// [`pffc`].
    Pffc(pffc::Params),
    /// A mechanism from outside this repository.
    Custom(Arc<dyn Custom>),
}

/// What an outside mechanism implements besides its two halves.
pub trait Custom: Debug + Send + Sync {
    /// Both halves for one link direction and priority.
    fn halves(&self, link: &LinkFacts) -> (Box<dyn Receiver + Send>, Box<dyn Sender + Send>);
    /// Size of its messages on the wire [bytes]; 0: they take no bandwidth.
    fn message_len(&self) -> Bytes;
    /// See [`FlowControl::max_ton`]; `None`: nobody knows.
    fn max_ton(&self, _link: &LinkFacts, _epsilon: f64) -> Option<Span> {
        None
    }
}

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reader.
    pub read: fn(&mut dyn Values, &LinkFacts) -> Result<FlowControl, ParamError>,
}

/// All flow controls.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "none", about: "no flow control; a full buffer drops", params: &[], read: |_, _| Ok(FlowControl::None) },
    Entry {
        name: "pfc",
        about: "priority-based flow control, IEEE 802.1Q clause 36",
        params: pfc::PARAMS,
        read: |v, l| pfc::Params::read(v, l).map(FlowControl::Pfc),
    },
    Entry {
        name: "cbfc",
        about: "credit-based flow control, InfiniBand 7.9",
        params: cbfc::PARAMS,
        read: |v, l| cbfc::Params::read(v, l).map(FlowControl::Cbfc),
    },
    Entry {
        name: "gfc-conceptual",
        about: "Gentle Flow Control, continuous feedback",
        params: gfc_conceptual::PARAMS,
        read: |v, l| gfc_conceptual::Params::read(v, l).map(FlowControl::GfcConceptual),
    },
    Entry {
        name: "gfc-buffer",
        about: "Gentle Flow Control, buffer-based (CEE)",
        params: gfc_buffer::PARAMS,
        read: |v, l| gfc_buffer::Params::read(v, l).map(FlowControl::GfcBuffer),
    },
    Entry {
        name: "gfc-time",
        about: "Gentle Flow Control, time-based (InfiniBand)",
        params: gfc_time::PARAMS,
        read: |v, l| gfc_time::Params::read(v, l).map(FlowControl::GfcTime),
    },
    Entry {
        name: "pffc",
        about: "per-hop per-flow flow control, IEEE Access 2021",
        params: pffc::PARAMS,
        read: |v, l| pffc::Params::read(v, l).map(FlowControl::Pffc),
    },
];

impl FlowControl {
    /// Both halves for a link.
    pub fn halves(&self, link: &LinkFacts) -> (Rx, Tx) {
        let c = link.rate;
        match self {
            FlowControl::None => (Rx::None, Tx::None(c)),
            FlowControl::Pfc(p) => (Rx::Pfc(pfc::PfcReceiver::new(p, c)), Tx::Pfc(pfc::PfcSender::new(c))),
            FlowControl::Cbfc(p) => (Rx::Credit(cbfc::CreditReceiver::new(p)), Tx::Cbfc(cbfc::CbfcSender::new(p, c))),
            FlowControl::GfcConceptual(p) => {
                (Rx::Level(gfc_conceptual::LevelReceiver::new(p)), Tx::Level(Box::new(gfc_conceptual::LevelSender::new(p, c))))
            }
            FlowControl::GfcBuffer(p) => {
                (Rx::Stage(Box::new(gfc_buffer::StageReceiver::new(p, c))), Tx::Stage(Box::new(gfc_buffer::StageSender::new(p, c))))
            }
            FlowControl::GfcTime(p) => {
                (Rx::Credit(cbfc::CreditReceiver::new(&p.credit)), Tx::Remaining(Box::new(gfc_time::RemainingSender::new(p, c))))
            }
            FlowControl::Pffc(p) => (Rx::Flows(Box::new(pffc::PffcReceiver::new(p, c))), Tx::Flows(Box::new(pffc::PffcSender::new(p, c)))),
            FlowControl::Custom(x) => {
                let (rx, tx) = x.halves(link);
                (Rx::Custom(rx), Tx::Custom(tx))
            }
        }
    }

    /// Does a port with this flow control understand such a message?
    pub fn hears(&self, message: &Message) -> bool {
        match self {
            FlowControl::None => false,
            FlowControl::Pfc(_) => matches!(message, Message::Pfc(_)),
            FlowControl::Cbfc(_) | FlowControl::GfcTime(_) => matches!(message, Message::Credit(_)),
            FlowControl::GfcConceptual(_) => matches!(message, Message::Level(_)),
            FlowControl::GfcBuffer(_) => matches!(message, Message::Stage(_)),
            FlowControl::Pffc(_) => matches!(message, Message::Flow(_)),
            FlowControl::Custom(_) => matches!(message, Message::Custom(_)),
        }
    }

    /// Values of the keys without a default, as they take effect on its link.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        match self {
            FlowControl::None | FlowControl::Custom(_) => Vec::new(),
            FlowControl::Pfc(p) => p.resolved(),
            FlowControl::Cbfc(p) => p.resolved(),
            FlowControl::GfcConceptual(p) => p.resolved(),
            FlowControl::GfcBuffer(p) => p.resolved(),
            FlowControl::GfcTime(p) => p.resolved(),
            FlowControl::Pffc(p) => p.resolved(),
        }
    }

    /// What a port says on a real link when it begins, so that a neighbour forgets what its predecessor had said. Where messages are
    /// numbered these are the first three at least, by which a new count is known. Pauses of a priority end by themselves, and credits
    /// come all the time.
    pub fn opening(&self) -> Vec<Message> {
        match self {
            FlowControl::GfcConceptual(_) => vec![Message::Level(Bytes::ZERO); 3],
            FlowControl::GfcBuffer(_) => vec![Message::Stage(0); 3],
            FlowControl::Pffc(p) => (0..p.queues.max(3)).map(|q| Message::Flow(pffc::Order::Resume(q % p.queues))).collect(),
            _ => Vec::new(),
        }
    }

    /// Can a watchdog free a whole priority of it? One that looks at flows holds flows, and each for a time that ends.
    pub fn holds_priorities(&self) -> bool {
        !self.per_flow()
    }

    /// Does it look at single flows, so that its sender half is the egress queue?
    pub fn per_flow(&self) -> bool {
        matches!(self, FlowControl::Pffc(_))
    }

    /// Refuses a buffer whose credits never suffice for the longest frame of this link: a lane without credits.
    pub fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
        match self {
            FlowControl::Cbfc(p) => p.validate(link),
            FlowControl::GfcTime(p) => p.credit.validate(link),
            FlowControl::Pffc(p) => p.validate(link),
            _ => Ok(()),
        }
    }

    /// Size of a message on the wire [bytes]: the 64 B control frame that the GFC paper counts (m = 64 B); nothing
    /// for the conceptual design, whose messages are ideal.
    pub fn message_len(&self) -> Bytes {
        match self {
            FlowControl::GfcConceptual(_) => Bytes::ZERO,
            FlowControl::Custom(x) => x.message_len(),
            _ => MESSAGE_LEN,
        }
    }

    /// The control loop of a link under this flow control. PFFC counts its messages by flow, above the loop.
    pub fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
        match self {
            FlowControl::Pffc(_) => link.control_loop(Bytes::ZERO),
            _ => link.control_loop(self.message_len()),
        }
    }

    /// max(T_on): the longest time a port sends between two stops while this flow control regulates it (TCD section
    /// 4.2; [`on_off`]). `epsilon` is the smallest congestion degree (R_i - R_d)/C that counts, above 0.
    ///
    /// - PFC: Eq. (3) with B_1 - B_0 = XOFF - XON (dynamic thresholds: the offset of XON) and tau of the link, which is
    ///   section 4.3's 2 MTU/C + 2 t_p and the processing of messages.
    /// - CBFC and time-based GFC: the period of their messages, T_c of section 4.4.
    /// - Buffer-based GFC, not in the paper: the limiter sets in at B_1 and lets go `hysteresis` below it, so Eq. (3)
    ///   with the hysteresis. Conceptual GFC: it sets in and lets go at B_0, so Eq. (3) with 0.
    /// - No flow control never stops a port, and PFFC stops flows: `None`.
    pub fn max_ton(&self, link: &LinkFacts, epsilon: f64) -> Option<Span> {
        match self {
            FlowControl::Custom(x) => x.max_ton(link, epsilon),
            _ => self.stop().map(|stop| stop.max_ton(link.rate, link.tau(), epsilon)),
        }
    }

    /// What stops a port that it regulates; `None`: it stops no port as a whole, or does not say.
    pub fn stop(&self) -> Option<Stop> {
        Some(match self {
            FlowControl::None | FlowControl::Pffc(_) | FlowControl::Custom(_) => return None,
            FlowControl::Pfc(p) => Stop::Queue(match p.threshold {
                pfc::Threshold::Static { xoff, xon } => xoff.saturating_sub(xon),
                pfc::Threshold::Dynamic { xon_offset } => xon_offset,
            }),
            FlowControl::Cbfc(p) => Stop::Credits(p.period),
            FlowControl::GfcConceptual(_) => Stop::Queue(Bytes::ZERO),
            FlowControl::GfcBuffer(p) => Stop::Queue(p.hysteresis),
            FlowControl::GfcTime(p) => Stop::Credits(p.credit.period),
        })
    }
}

/// A receiver half of any kind.
#[repr(C)] // the beginning of a half stands at the beginning of this, as its order of fields expects
pub enum Rx {
    /// Says nothing.
    None,
    /// [`pfc::PfcReceiver`].
    Pfc(pfc::PfcReceiver),
    /// [`cbfc::CreditReceiver`].
    Credit(cbfc::CreditReceiver),
    /// [`gfc_conceptual::LevelReceiver`].
    Level(gfc_conceptual::LevelReceiver),
    /// [`gfc_buffer::StageReceiver`].
    Stage(Box<gfc_buffer::StageReceiver>),
    /// One that looks at flows.
    Flows(Box<pffc::PffcReceiver>),
    /// From outside.
    Custom(Box<dyn Receiver + Send>),
}

/// A sender half of any kind.
pub enum Tx {
    /// Always open, at this line rate.
    None(Rate),
    /// [`pfc::PfcSender`].
    Pfc(pfc::PfcSender),
    /// [`cbfc::CbfcSender`].
    Cbfc(cbfc::CbfcSender),
    /// [`gfc_conceptual::LevelSender`].
    Level(Box<gfc_conceptual::LevelSender>),
    /// [`gfc_buffer::StageSender`].
    Stage(Box<gfc_buffer::StageSender>),
    /// [`gfc_time::RemainingSender`].
    Remaining(Box<gfc_time::RemainingSender>),
    /// One that looks at flows.
    Flows(Box<pffc::PffcSender>),
    /// From outside.
    Custom(Box<dyn Sender + Send>),
    /// One that goes on listening and counting, while its answer counts for nothing: [`Tx::release`].
    Released(Box<Released>),
}

/// What [`Tx::Released`] holds.
pub struct Released {
    line: Rate,
    tx: Tx,
}

macro_rules! each_rx {
    ($self:ident, $m:ident => $e:expr, $none:expr, $flows:ident => $by_flow:expr) => {
        match $self {
            Rx::None => $none,
            Rx::Flows($flows) => $by_flow,
            Rx::Pfc($m) => $e,
            Rx::Credit($m) => $e,
            Rx::Level($m) => $e,
            Rx::Stage($m) => $e,
            Rx::Custom($m) => $e,
        }
    };
}

/// What a port asks of a receiver half; those that look at flows are told whose the frame is.
impl Rx {
    /// A frame was admitted; see [`Receiver::on_arrival`] and [`FlowReceiver::on_arrival`].
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, flow: u32, occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        each_rx!(self, m => m.on_arrival(now, occupancy, len), None, m => m.on_arrival(now, flow, len))
    }
    /// A frame left the buffer; see [`Receiver::on_departure`] and [`FlowReceiver::on_departure`]. Whose it is is looked up on demand.
    #[inline(always)]
    pub fn on_departure(&mut self, now: Time, flow: impl FnOnce() -> u32, occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        each_rx!(self, m => m.on_departure(now, occupancy, len), None, m => m.on_departure(now, flow(), len))
    }
    /// See [`FlowReceiver::more`]; the others say one message at a time.
    pub fn more(&mut self) -> Option<Message> {
        if let Rx::Flows(m) = self { m.more() } else { None }
    }
    /// See [`FlowReceiver::collisions`]; the others tell no flows apart.
    pub fn collisions(&self) -> u64 {
        if let Rx::Flows(m) = self { m.collisions() } else { 0 }
    }
    /// See [`Receiver::on_wake`] and [`FlowReceiver::on_wake`].
    pub fn on_wake(&mut self, now: Time, occupancy: &Occupancy) -> Option<Message> {
        each_rx!(self, m => m.on_wake(now, occupancy), None, m => m.on_wake(now))
    }
    /// See [`Receiver::next_wake`].
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        each_rx!(self, m => m.next_wake(), None, m => m.next_wake())
    }
    /// See [`Receiver::holds`] and [`FlowReceiver::holds`].
    pub fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool {
        each_rx!(self, m => m.holds(occupancy, stuck, len), false, m => m.holds(occupancy.bytes.saturating_sub(stuck)))
    }
    /// See [`Receiver::on_peer_total`].
    pub fn on_peer_total(&mut self, sent: u64) {
        each_rx!(self, m => m.on_peer_total(sent), (), _m => ())
    }
}

macro_rules! each_tx {
    ($self:ident, $m:ident => $e:expr, $line:ident => $none:expr, $flows:ident => $by_flow:expr, $inner:ident => $released:expr) => {
        match $self {
            Tx::None($line) => $none,
            Tx::Released($inner) => $released,
            Tx::Flows($flows) => $by_flow,
            Tx::Pfc($m) => $e,
            Tx::Cbfc($m) => $e,
            Tx::Level($m) => $e,
            Tx::Stage($m) => $e,
            Tx::Remaining($m) => $e,
            Tx::Custom($m) => $e,
        }
    };
}

impl Sender for Tx {
    #[inline(always)]
    fn gate(&self, now: Time, len: Bytes) -> Gate {
        each_tx!(self, m => m.gate(now, len), _line => Gate::Open, m => FlowSender::gate(&**m, now), _inner => Gate::Open)
    }
    #[inline(always)]
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        each_tx!(self, m => m.on_sent(now, len, tx), _line => (), _m => (), inner => inner.on_sent(now, len, tx))
    }
    fn on_message(&mut self, now: Time, message: Message) {
        each_tx!(self, m => m.on_message(now, message), _line => (), m => m.on_message(now, message), inner => inner.on_message(now, message))
    }
    #[inline]
    fn held(&self, now: Time, len: Bytes) -> bool {
        each_tx!(self, m => m.held(now, len), _line => false, m => FlowSender::gate(&**m, now) != Gate::Open, _inner => false)
    }
    #[inline]
    fn rate(&self, now: Time) -> Rate {
        each_tx!(self, m => m.rate(now), line => *line, m => m.rate(), inner => inner.line)
    }
    fn is_possible(&self, message: Message) -> bool {
        each_tx!(self, m => m.is_possible(message), _line => true, m => m.is_possible(message), inner => inner.tx.is_possible(message))
    }
    fn overdrawn(&self) -> bool {
        each_tx!(self, m => m.overdrawn(), _line => false, _m => false, _inner => false)
    }
    fn restart(&mut self, now: Time) {
        each_tx!(self, m => m.restart(now), _line => (), m => m.restart(now), inner => inner.tx.restart(now))
    }
    #[inline]
    fn stopped_by(&self) -> StoppedBy {
        each_tx!(self, m => m.stopped_by(), _line => StoppedBy::Pause, _m => StoppedBy::Flows, _inner => StoppedBy::Pause)
    }
}

impl Released {
    #[cold] // rare; and `Tx::on_sent`, always inlined, may not be inlined into itself
    #[inline(never)]
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        self.tx.on_sent(now, len, tx);
    }
    #[cold]
    fn on_message(&mut self, now: Time, message: Message) {
        self.tx.on_message(now, message);
    }
}

impl Tx {
    /// Lets everything go at line rate, whatever the peer says, until it is released no longer. The half goes on listening and counting,
    /// so that it knows then what the peer wants. One that looks at flows is the queue itself: its pauses end instead.
    pub fn release(&mut self, now: Time, line: Rate, on: bool) {
        match std::mem::replace(self, Tx::None(line)) {
            Tx::Released(r) if !on => *self = r.tx,
            Tx::Flows(mut m) => {
                m.restart(now);
                *self = Tx::Flows(m);
            }
            tx @ Tx::Released(_) => *self = tx,
            tx if on => *self = Tx::Released(Box::new(Released { line, tx })),
            tx => *self = tx,
        }
    }
    /// The half that a released one holds; itself otherwise.
    fn beneath(&self) -> &Tx {
        if let Tx::Released(r) = self { &r.tx } else { self }
    }
    /// See [`Sender::lets_go`]; of a released half, what it would do if it counted.
    pub fn would_let_go(&self, now: Time, len: Bytes, within: Span) -> bool {
        self.beneath().lets_go(now, len, within)
    }
    /// The queue of a sender that looks at flows; `None`: frames wait elsewhere, in arrival order or another.
    #[inline]
    pub fn flows(&self) -> Option<&dyn FlowSender> {
        if let Tx::Flows(m) = self { Some(&**m) } else { None }
    }
    /// The same, to put frames in and take them out.
    #[inline]
    pub fn flows_mut(&mut self) -> Option<&mut dyn FlowSender> {
        if let Tx::Flows(m) = self { Some(&mut **m) } else { None }
    }
}

//! The registry: one line per flow control, and nothing else lists them. `glue.rs` expands a line.

use std::ops::Deref;
use std::sync::Arc;

use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::glue::flow_controls;
use super::law::{Custom, Entry, Law, Signal, Totals};
use super::{
    FlowReceiver, FlowSender, Gate, Occupancy, QueueState, Receiver, Sender, StoppedBy, Waiting,
};
use crate::LinkFacts;

/// Number of the message of a mechanism from outside; those of the registry count from 0.
const CUSTOM_TAG: u8 = u8::MAX;

flow_controls! {
    $
    classes {
        Pfc(pfc) "pfc" sends 0 Pfc(Pause): "priority-based flow control, IEEE 802.1Q clause 36";
        Cbfc(cbfc) "cbfc" sends 1 Credit(CreditLimit): "credit-based flow control, InfiniBand 7.9";
        GfcConceptual(gfc_conceptual) "gfc-conceptual" sends 2 Level(Level): "Gentle Flow Control, continuous feedback";
        GfcBuffer(gfc_buffer) "gfc-buffer" sends 3 Stage(Stage): "Gentle Flow Control, buffer-based (CEE)";
        GfcTime(gfc_time) "gfc-time" like Credit: "Gentle Flow Control, time-based (InfiniBand)";
        UecCbfc(uec_cbfc) "uec-cbfc" sends 6 Cells(Update): "credit-based flow control of Ultra Ethernet, UE 1.0 section 5.2";
    }
    flows {
        Pffc(pffc) "pffc" sends 4 Flow(Order): "per-hop per-flow flow control, IEEE Access 2021";
        Bfc(bfc) "bfc" sends 5 Filter(FilterPart): "Backpressure Flow Control, NSDI 2022";
    }
}

mod halves;
mod message;

impl FlowControl {
    /// True if it is per-flow, so that its sender half is the egress queue.
    pub fn per_flow(&self) -> bool {
        dispatch!(FlowControl, self, _ => false, _ => true, FlowControl::None => false,)
    }

    /// True if a watchdog can release a whole priority of it. A per-flow one pauses flows, and each
    /// for a time that ends.
    pub fn holds_priorities(&self) -> bool {
        !self.per_flow()
    }

    /// max(T_on) of a port with one priority: [`Law::max_ton_of`].
    pub fn max_ton(&self, link: &LinkFacts, epsilon: f64) -> Option<Span> {
        self.max_ton_of(1.0, link, epsilon)
    }
}

/// No flow control: the answers that most mechanisms share.
#[derive(Debug)]
struct NoLaw;

impl Law for NoLaw {
    type Receiver = ();
    type Sender = ();
    fn halves(&self, _: &LinkFacts) -> ((), ()) {
        ((), ())
    }
}

/// Contents of [`Tx::Released`].
#[derive(State)]
#[state(in_place)]
pub struct Released {
    #[state(saved)] // constant
    line: Rate,
    tx: Tx,
}

/// A sender half in a checkpoint: a watchdog may have released it since it was built.
pub mod saved_tx {
    use super::{Released, Tx};
    use xoff_units::Rate;
    use xoff_units::state::{Broken, Reader, State, Value, Walk};

    /// Goes through it.
    ///
    /// # Errors
    /// Those of the walk.
    pub fn walk<W: Walk>(tx: &Tx, w: &mut W) -> Result<(), W::Stop> {
        if !W::COMPARES {
            matches!(tx, Tx::Released(_)).walk(w)?;
        }
        tx.walk(w)
    }

    /// Becomes the state that was written.
    ///
    /// # Errors
    /// Another kind of half was written.
    pub fn restore(tx: &mut Tx, from: &mut Reader) -> Result<(), Broken> {
        if bool::read(from)? && !matches!(tx, Tx::Released(_)) {
            let held = std::mem::replace(tx, Tx::None(Rate::ZERO));
            *tx = Tx::Released(Box::new(Released { line: Rate::ZERO, tx: held })); // its rate is written too
        }
        tx.restore(from)
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
    /// Sends everything at line rate, whatever the peer sends, until the release ends. The half
    /// keeps obeying and counting, so that it then has the state of the peer. A per-flow half is
    /// the queue itself: its pauses end instead.
    pub fn release(&mut self, now: Time, line: Rate, on: bool) {
        if let Some(flows) = self.flows_mut() {
            return flows.restart(now);
        }
        match std::mem::replace(self, Tx::None(line)) {
            Tx::Released(r) if !on => *self = r.tx,
            tx @ Tx::Released(_) => *self = tx,
            tx if on => *self = Tx::Released(Box::new(Released { line, tx })),
            tx => *self = tx,
        }
    }
    /// The half that a released one holds; itself otherwise.
    fn beneath(&self) -> &Tx {
        if let Tx::Released(r) = self { &r.tx } else { self }
    }
    /// Time until which it keeps a frame of `len` for longer than `within`, `Time::NEVER`: forever;
    /// `None`: it does not ([`Sender::lets_go`]). Of a released half, what it would do if it
    /// counted.
    pub fn stopped_until(&self, now: Time, len: Bytes, within: Span) -> Option<Time> {
        let half = self.beneath();
        if half.lets_go(now, len, within) {
            return None;
        }
        match half.gate(now, len) {
            Gate::Until(t) if half.held(now, len) => Some(t),
            _ => Some(Time::NEVER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pauses;
    use super::super::{cbfc, gfc_buffer, gfc_conceptual, pfc, pffc, uec_cbfc};
    use super::*;

    /// A line of the registry is a name, a kind of message and a number of its own; what a message
    /// is survives a frame.
    #[test]
    fn every_message_survives_its_packing_and_has_a_mechanism() {
        let messages = [
            Message::Pfc(pfc::Pause(65_535)),
            Message::Pfc(pfc::Pause::STICKY),
            Message::Credit(cbfc::CreditLimit { fccl: u64::MAX / 3, occupied: Bytes(7) }),
            Message::Level(gfc_conceptual::Level(Bytes(99))),
            Message::Stage(gfc_buffer::Stage(17)),
            Message::Flow(pffc::Order::MigrateBack(65_535)),
            Message::Flow(pffc::Order::Pause(63, pfc::Pause(65_535))),
            Message::Cells(uec_cbfc::Update::Freed(u64::MAX / 5)),
            Message::Cells(uec_cbfc::Update::Consumed),
            Message::Custom(5),
        ];
        for m in messages {
            let (tag, a, b) = m.to_words();
            assert_eq!(Message::from_words(tag, a, b), m);
            assert_eq!(
                m.release().and_then(Message::release),
                m.release(),
                "{m:?}: what releases releases itself"
            );
            assert!(
                !m.is_state() || m.release().is_some(),
                "{m:?}: state that has to be repeated can end"
            );
        }
        let mut names: Vec<&str> = REGISTRY.iter().map(|e| e.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
    }

    #[derive(Debug)]
    struct FromOutside;

    impl Law for FromOutside {
        type Receiver = Box<dyn Receiver + Send + Sync>;
        type Sender = Box<dyn Sender + Send + Sync>;
        fn halves(&self, _: &LinkFacts) -> (Self::Receiver, Self::Sender) {
            unreachable!("no link is made")
        }
        fn message_len(&self) -> Bytes {
            Bytes(99)
        }
    }

    /// A mechanism from outside without an answer promises nothing.
    #[test]
    fn one_from_outside_is_what_it_answers() {
        let f = FlowControl::Custom(Arc::new(FromOutside));
        let link =
            LinkFacts::plain(Rate::from_gbps(10), Span::from_us(1), Bytes(1_500), Bytes(9_000));
        assert_eq!(
            (f.name(), f.message_len(), f.max_ton(&link, 0.05), f.stop(), f.pauses()),
            (None, Bytes(99), None, None, Pauses::Never)
        );
        assert_eq!(
            (f.per_flow(), f.holds_priorities(), f.shares_port(), f.entry_ports()),
            (false, true, false, 0)
        );
        assert_eq!(
            (f.accepts(&Message::Custom(1)), f.accepts(&Message::Pfc(pfc::Pause(1)))),
            (true, false)
        );
        assert_eq!(f.control_loop(&link).tau, link.control_loop(Bytes(99)).tau);
        assert!(
            f.flow_bytes(&link).is_none()
                && f.standstill(&link).is_none()
                && f.unmet(&link).is_empty()
                && f.opening().is_empty()
        );
    }

    /// Carriers of messages need these four properties, and no others.
    #[test]
    fn what_each_message_is() {
        let of = |m: Message| (m.stops(), m.release().is_some(), m.is_state(), m.is_per_flow());
        assert_eq!(of(Message::Pfc(pfc::Pause(9))), (Some(true), true, false, false));
        assert_eq!(of(Message::Pfc(pfc::Pause::RESUME)), (Some(false), true, false, false));
        assert_eq!(
            of(Message::Credit(cbfc::CreditLimit { fccl: 1, occupied: Bytes(2) })),
            (None, false, false, false)
        );
        assert_eq!(of(Message::Level(gfc_conceptual::Level(Bytes(3)))), (None, true, true, false));
        assert_eq!(of(Message::Stage(gfc_buffer::Stage(3))), (None, true, true, false));
        assert_eq!(of(Message::Flow(pffc::Order::Resume(3))), (None, false, false, true));
        assert_eq!(of(Message::Cells(uec_cbfc::Update::Freed(3))), (None, false, false, false));
        assert_eq!(of(Message::Custom(3)), (None, false, false, false));
        assert_eq!(Message::Custom(3).describe(), ("custom", 3));
    }
}

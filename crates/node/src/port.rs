//! One port of a node: the wire, the control queue, and the flow control halves of each class.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{Fill, FlowControl, Gate, Message, Receiver, Rx, Sender, Tx};
use xoff_units::{Bytes, Rate, Span, Time, WireClock};

use crate::control::{ControlDelay, DelayLine};
use crate::env::{Call, Env, Note};
use crate::frame::{Frame, FrameId, FrameList};

/// An egress queue that the peer's flow control holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Port.
    pub port: u16,
    /// Class.
    pub class: u8,
    /// Length of the frame that waits at the head [bytes].
    pub len: u32,
    /// Since when.
    pub since: Time,
}

/// A port. Owned by a switch or a NIC, which decides what to send.
pub struct Port {
    /// Line rate [bit/s].
    pub rate: Rate,
    clock: WireClock,
    message_len: Bytes,
    /// Control frames waiting; they go before everything else and cannot be paused.
    control: FrameList,
    /// A frame is on the wire.
    busy: bool,
    /// The link has failed: nothing is sent any more.
    failed: bool,
    /// When the next `Wake` is due; never: none is.
    wake_at: Time,
    tx: Vec<Tx>,
    rx: Vec<Rx>,
    /// Pending look at the clock of each receiver.
    rx_wake: Vec<Time>,
    /// Since when the peer holds each class while a frame waits; never: it does not.
    held_since: Vec<Time>,
    /// Classes whose hold has begun or ended since it was last told, one bit each.
    hold_changes: u8,
    /// Received messages that have not taken effect.
    inbox: DelayLine,
    /// Messages that have not reached the control queue.
    outbox: DelayLine,
}

impl Port {
    /// A port whose halves are configured for this link.
    pub fn new(fc: &FlowControl, facts: &LinkFacts, classes: usize, clock: WireClock, message_len: Bytes) -> Self {
        let (mut rx, mut tx) = (Vec::with_capacity(classes), Vec::with_capacity(classes));
        for _ in 0..classes {
            let (r, t) = fc.halves(facts);
            rx.push(r);
            tx.push(t);
        }
        Port {
            rate: facts.rate,
            clock,
            message_len,
            control: FrameList::default(),
            busy: false,
            failed: false,
            wake_at: Time::NEVER,
            tx,
            rx,
            rx_wake: vec![Time::NEVER; classes],
            held_since: vec![Time::NEVER; classes],
            hold_changes: 0,
            inbox: DelayLine::default(),
            outbox: DelayLine::default(),
        }
    }

    /// Asks for the first wake-ups of the receivers.
    pub fn start(&mut self, node: u32, port: u16, env: &mut impl Env) {
        for class in 0..self.rx.len() as u8 {
            self.plan_receiver(node, port, class, env);
        }
    }

    /// Is a frame on the wire, or the wire gone?
    pub fn busy(&self) -> bool {
        self.busy || self.failed
    }
    /// Has the link failed?
    pub fn failed(&self) -> bool {
        self.failed
    }
    /// The link fails: nothing is sent any more. What waited among the control frames is thrown away frame by frame.
    pub fn fail(&mut self, env: &mut impl Env) -> Option<Frame> {
        self.failed = true;
        let id = self.control.pop(env.frames())?;
        Some(env.discard(id))
    }
    /// The wire is free again.
    pub fn set_free(&mut self) {
        self.busy = false;
    }
    /// The wake-up that was asked for has come.
    pub fn woken(&mut self) {
        self.wake_at = Time::NEVER;
    }
    /// Is a wake-up still to come?
    pub fn wake_pending(&self) -> bool {
        self.wake_at != Time::NEVER
    }

    /// May a frame of this class and length go? Remembers since when the peer holds it.
    pub fn gate(&mut self, now: Time, class: u8, len: u32) -> Gate {
        let tx = &self.tx[class as usize];
        let gate = tx.gate(now, Bytes(len as u64));
        let since = &mut self.held_since[class as usize];
        if gate == Gate::Open {
            if *since != Time::NEVER {
                *since = Time::NEVER;
                self.hold_changes |= 1 << class;
            }
        } else if *since == Time::NEVER && tx.held(now, Bytes(len as u64)) {
            *since = now;
            self.hold_changes |= 1 << class;
        }
        gate
    }

    /// Tells which holds have begun or ended in the gates asked since the last time.
    pub fn tell_holds(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        let mut changes = std::mem::take(&mut self.hold_changes);
        while changes != 0 {
            let class = changes.trailing_zeros() as u8;
            changes &= changes - 1;
            env.note(node, now, Note::Hold { port, class, on: self.held_since[class as usize] != Time::NEVER });
        }
    }

    /// The hold on a class whose head frame has this length, if the peer holds it now.
    pub fn hold(&self, now: Time, port: u16, class: u8, len: u32) -> Option<Hold> {
        self.tx[class as usize].held(now, Bytes(len as u64)).then(|| Hold {
            port,
            class,
            len,
            since: self.held_since[class as usize].min(now),
        })
    }

    /// If `stuck` bytes of an ingress never leave, does its peer stay unable to send a frame of `len`?
    pub fn would_hold(&self, class: u8, fill: &Fill, stuck: u64, len: u32) -> bool {
        self.rx[class as usize].holds(fill, Bytes(stuck), Bytes(len as u64))
    }

    /// The rate flow control allows a class now [bit/s].
    pub fn allowed_rate(&self, now: Time, class: u8) -> Rate {
        self.tx[class as usize].rate(now)
    }

    /// Asks for a wake-up unless an earlier one is due.
    pub fn wake_at(&mut self, node: u32, port: u16, at: Time, env: &mut impl Env) {
        if at < self.wake_at {
            self.wake_at = at;
            env.call_at(node, at, Call::Wake { port });
        }
    }

    /// Puts a frame of a class on the wire.
    pub fn start_frame(&mut self, now: Time, node: u32, port: u16, id: u32, env: &mut impl Env) -> Span {
        let f = env.frames()[id];
        let tx = self.clock.time_for(self.rate, f.bytes());
        self.busy = true;
        self.tx[f.class as usize].on_sent(now, f.bytes(), tx);
        env.transmit(node, port, id, tx);
        tx
    }

    /// Starts the next control frame if there is one and the wire is free.
    pub fn start_control(&mut self, node: u32, port: u16, env: &mut impl Env) -> bool {
        if self.busy() {
            return false;
        }
        let Some(id) = self.control.pop(env.frames()) else { return false };
        let tx = self.clock.time_for(self.rate, env.frames()[id].bytes());
        self.busy = true;
        env.transmit(node, port, id, tx);
        true
    }

    /// Queues a frame behind the control frames.
    pub fn send_express(&mut self, node: u32, port: u16, id: FrameId, env: &mut impl Env) {
        self.control.push(id, env.frames());
        self.start_control(node, port, env);
    }

    /// What the receiver of a class says when a frame was admitted.
    pub fn on_arrival(&mut self, now: Time, class: u8, fill: &Fill, len: u32) -> Option<Message> {
        self.rx[class as usize].on_arrival(now, fill, Bytes(len as u64))
    }

    /// What it says when a frame left.
    pub fn on_departure(&mut self, now: Time, class: u8, fill: &Fill, len: u32) -> Option<Message> {
        self.rx[class as usize].on_departure(now, fill, Bytes(len as u64))
    }

    /// What it says when the clock reaches `now`.
    pub fn on_receiver_wake(&mut self, now: Time, class: u8, fill: &Fill) -> Option<Message> {
        self.rx_wake[class as usize] = Time::NEVER;
        self.rx[class as usize].on_wake(now, fill)
    }

    /// Asks for the receiver's next look at the clock.
    pub fn plan_receiver(&mut self, node: u32, port: u16, class: u8, env: &mut impl Env) {
        if let Some(at) = self.rx[class as usize].next_wake()
            && at < self.rx_wake[class as usize]
        {
            self.rx_wake[class as usize] = at;
            env.call_at(node, at, Call::Receiver { port, class });
        }
    }

    /// Sends a message to the peer: through the generation delay, then the control queue and the wire.
    #[allow(clippy::too_many_arguments)] // all of them are the context of one message
    pub fn say(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, delay: &ControlDelay, env: &mut impl Env) {
        if delay.generation.is_zero() {
            self.emit(now, node, port, class, message, env);
        } else {
            let due = self.outbox.push(now, &delay.generation, || env.coin(node, port), class, message);
            env.call_at(node, due, Call::Emit { port });
        }
    }

    /// Sends what has passed the generation delay.
    pub fn emit_due(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) {
        while let Some((class, message)) = self.outbox.pop(now) {
            self.emit(now, node, port, class, message, env);
        }
    }

    fn emit(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, env: &mut impl Env) {
        env.note(node, now, Note::MessageSent { port, class, message });
        if self.failed {
            return; // nobody hears it
        }
        let id = env.frames().insert(Frame::control(message, class, self.message_len.0 as u32));
        if self.message_len.0 == 0 {
            env.hand_over(node, port, id);
        } else {
            self.control.push(id, env.frames());
            self.start_control(node, port, env);
        }
    }

    /// A control message arrived. Returns true if something may go now that could not before.
    #[allow(clippy::too_many_arguments)] // all of them are the context of one message
    pub fn hear(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, delay: &ControlDelay, env: &mut impl Env) -> bool {
        env.note(node, now, Note::MessageReceived { port, class, message });
        if delay.processing.is_zero() {
            return self.apply(now, node, port, class, message, env);
        }
        let due = self.inbox.push(now, &delay.processing, || env.coin(node, port), class, message);
        env.call_at(node, due, Call::Apply { port });
        false
    }

    /// Lets everything take effect whose processing time is over. Returns true if something may go now.
    pub fn apply_due(&mut self, now: Time, node: u32, port: u16, env: &mut impl Env) -> bool {
        let mut open = false;
        while let Some((class, message)) = self.inbox.pop(now) {
            open |= self.apply(now, node, port, class, message, env);
        }
        open
    }

    fn apply(&mut self, now: Time, node: u32, port: u16, class: u8, message: Message, env: &mut impl Env) -> bool {
        let tx = &mut self.tx[class as usize];
        tx.on_message(now, message);
        let rate = tx.rate(now);
        env.note(node, now, Note::AllowedRate { port, class, rate });
        rate.0 > 0
    }
}

//! Flow control messages of a port: from its receiver halves, and to its sender halves.

use super::*;
use xoff_units::Class;

impl Port {
    /// The peer of a class reports how much it has sent in all
    /// ([`xoff_mech::flow_control::Receiver::on_peer_total`]).
    pub fn on_peer_total(&mut self, class: Class, sent: u64) {
        self.class_state_mut(class).rx.on_peer_total(sent);
    }

    /// Transmission of a control frame begins. All earlier frames of this port are before it on the
    /// wire, and it may carry their total.
    #[inline]
    pub(super) fn add_total(&self, id: FrameId, frames: &mut FrameStore) {
        let f = &mut frames[id];
        if f.kind() == FrameKind::Control
            && f.as_link_signal().is_none()
            && self.is_in_order()
            && f.message().totals() != Totals::Never
            && let Some(total) = self
                .class_state(f.class())
                .tx
                .sent_total()
                .filter(|_| self.lossy || f.message().totals() == Totals::Always)
        {
            f.set_total(total);
        }
    }

    /// Messages of a class's receiver after the admission of a frame.
    #[inline(always)]
    pub fn on_arrival(
        &mut self,
        now: Time,
        class: Class,
        flow: FlowId,
        occupancy: &Occupancy,
        len: u32,
    ) -> Option<Message> {
        let (rx, len) = (&mut self.class_state_if_any(class)?.rx, Bytes(len as u64));
        if rx.per_flow() {
            rx.on_flow_arrival(now, flow, None, len)
        } else {
            rx.on_arrival(now, occupancy, len)
        }
    }

    /// Messages of a class's receiver after the departure of a frame.
    #[inline(always)]
    pub fn on_departure(
        &mut self,
        now: Time,
        class: Class,
        flow: FlowId,
        occupancy: &Occupancy,
        len: u32,
    ) -> Option<Message> {
        let (rx, len) = (&mut self.class_state_if_any(class)?.rx, Bytes(len as u64));
        if rx.per_flow() {
            rx.on_flow_departure(now, flow, None, len)
        } else {
            rx.on_departure(now, occupancy, len)
        }
    }

    /// Messages of a class's receiver when the clock reaches `now`. A stale call, whose place an
    /// earlier request has taken, finds no work. If it counted as the due call, each would request
    /// another one, and the calls would never become fewer.
    pub fn on_receiver_wake(
        &mut self,
        now: Time,
        class: Class,
        occupancy: &Occupancy,
    ) -> Option<Message> {
        let state = self.class_state_mut(class);
        if now < state.rx_wake {
            return None;
        }
        state.rx_wake = Time::NEVER;
        state.rx.on_wake(now, occupancy)
    }

    /// Requests the receiver's next timer.
    #[inline]
    pub fn plan_receiver(&mut self, class: Class, env: &mut impl Env) {
        if let Some(at) = self.class_state(class).rx.next_wake()
            && at < self.class_state(class).rx_wake
        {
            self.class_state_mut(class).rx_wake = at;
            env.call_at(self.node, at, Call::Receiver { port: self.number, class });
        }
    }

    /// Message that stops the peer of a class for as long as a message can
    /// ([`xoff_mech::flow_control::Receiver::hold`]).
    pub fn hold_message(&self, class: Class) -> Option<Message> {
        self.class_state(class).rx.hold()
    }

    /// Sends a message to the peer: through the generation delay, then the control queue and the
    /// wire.
    pub fn send_control(
        &mut self,
        class: Class,
        message: Message,
        delay: &ControlDelay,
        env: &mut impl Env,
    ) {
        let now = env.now();
        if delay.generation.is_zero() {
            self.emit(class, message, env);
        } else {
            let at = self.at();
            let due = self.delays.get_or_insert_default().outbox.push(
                now,
                &delay.generation,
                || env.draw(at),
                class,
                message,
            );
            env.call_at(self.node, due, Call::Emit { port: self.number });
        }
    }

    /// Sends messages that have passed the generation delay.
    pub fn emit_due(&mut self, env: &mut impl Env) {
        let now = env.now();
        while let Some((class, message)) = self.delays.as_mut().and_then(|d| d.outbox.pop(now)) {
            self.emit(class, message, env);
        }
    }

    fn emit(&mut self, class: Class, message: Message, env: &mut impl Env) {
        env.emit(self.node, NodeEvent::MessageSent { port: self.number, class, message });
        if self.failed {
            return; // there is no receiver
        }
        let len = if message.is_part() {
            0
        } else {
            message.own_len().map_or(self.message_len, |own| own.0 as u32)
        };
        let id = env.frames().insert(Frame::control(message, class, len));
        if len == 0 {
            env.hand_over(self.at(), id);
        } else {
            if self.messages_first {
                self.control.push_before(id, env.frames(), |f| f.kind() != FrameKind::Control);
            } else {
                self.control.push(id, env.frames());
            }
            self.start_control(env);
        }
    }

    /// A control frame arrived. Returns true if something may go now that could not before.
    pub fn on_control(&mut self, frame: &Frame, delay: &ControlDelay, env: &mut impl Env) -> bool {
        let now = env.now();
        let (class, message) = (frame.class(), frame.message());
        if let Some(total) = frame.total() {
            // At once: it is about earlier frames on the wire.
            self.on_peer_total(class, total);
        }
        env.emit(self.node, NodeEvent::MessageReceived { port: self.number, class, message });
        if delay.processing.is_zero() {
            return self.apply(class, message, env);
        }
        let at = self.at();
        let due = self.delays.get_or_insert_default().inbox.push(
            now,
            &delay.processing,
            || env.draw(at),
            class,
            message,
        );
        env.call_at(self.node, due, Call::Apply { port: self.number });
        false
    }

    /// Lets everything take effect whose processing time is over. Returns whether something may go
    /// now, and the classes, one bit each.
    pub fn apply_due(&mut self, env: &mut impl Env) -> (bool, u8) {
        let now = env.now();
        let (mut open, mut classes) = (false, 0);
        while let Some((class, message)) = self.delays.as_mut().and_then(|d| d.inbox.pop(now)) {
            open |= self.apply(class, message, env);
            classes |= 1 << class.0;
        }
        (open, classes)
    }

    fn apply(&mut self, class: Class, message: Message, env: &mut impl Env) -> bool {
        let now = env.now();
        self.class_state_mut(class).tx.on_message(now, message);
        if self.shares {
            self.note_shared_use();
        }
        self.note_allowed(class, env).0 > 0
    }
}

//! The way of a frame through a plain switch: one class, queues of the egresses, and none of the
//! options of `switch.rs`.
//!
//! This text repeats `switch.rs` for speed, with the same result. It calls the general text for
//! rare cases: a control frame, no route, a frame that leaves by its ingress port, full memory,
//! headroom that is in use or smaller than a frame, a message at an arrival, a paused queue. A run
//! with `--engine events` does not use it, and tests compare the others with that run
//! ([`Env::allows_plain`]).

use super::*;

impl Switch {
    /// True if there is nothing that this text leaves out.
    pub(super) fn can_be_plain(&self) -> bool {
        self.classes == 1
            && self.unpaused.is_none()
            && !self.hairpin_overlap
            && !self.annotates
            && !self.asks_more
            && self.congestion_points.is_none()
            && self.balancing.is_none()
            && self.watchdog.is_none()
            && self.queues.are_of_egresses()
            && !self.buffer.has_accounts()
    }

    /// A frame arrived at `port`.
    #[inline(always)]
    pub(super) fn on_frame_plain(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let frame = env.frames()[id];
        if frame.is_control() {
            return self.take_in(port, id, env);
        }
        let Some(out) = env.route(self.node, &frame) else { return self.take_in(port, id, env) };
        let both = self.ports.get_disjoint_mut([port as usize, out as usize]);
        let Ok([from, to]) = both else { return self.take_in(port, id, env) };
        let len = frame.len();
        let source = from.only_class();
        let Some(held) = self.buffer.admit_plain(&mut source.ingress, len) else {
            return self.take_in(port, id, env);
        };
        env.frames()[id].pass_through(port, out);
        let message = source.rx.on_arrival(now, &held, frame.bytes());
        let at = Passage { now, port, out, class: Class(0) };
        if message.is_some() {
            return self.go_on(at, id, &held, message, env);
        }
        if to.busy(env) && !to.failed() {
            self.queues.push_plain(&mut to.only_class().egress, id, len, env.frames());
            return to.call_when_free(env);
        }
        if !self.queues.is_idle_fifo(&to.only_class().egress) || !to.is_open(now, len) {
            return self.go_on(at, id, &held, None, env);
        }
        to.only_class().egress.pass(len);
        match leave(&mut self.buffer, from, to, (id, len), env) {
            None => to.start_plain(id, len, env),
            Some(message) => self.say_and_start([port, out], message, (id, len), env),
        }
    }

    /// The next frame of a port leaves, if there is one: its wire is free.
    #[inline(always)]
    pub(super) fn send_plain(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let queue = &self.ports[port as usize].only_class().egress;
        let Some(id) = self.queues.first_plain(queue, port, env.frames()) else {
            return self.try_send(port, env);
        };
        let frame = &env.frames()[id];
        let (in_port, len) = (frame.in_port, frame.len());
        let both = self.ports.get_disjoint_mut([in_port as usize, port as usize]);
        let Ok([from, to]) = both else { return self.try_send(port, env) };
        if !to.is_open(now, len) {
            return self.try_send(port, env);
        }
        self.queues.pop_plain(&mut to.only_class().egress, port, len, env.frames());
        match leave(&mut self.buffer, from, to, (id, len), env) {
            None => to.start_plain(id, len, env),
            Some(message) => self.say_and_start([in_port, port], message, (id, len), env),
        }
    }

    /// Sends the message of the receiver half, if there is one. Then the general text sends or
    /// queues the frame.
    #[inline(never)]
    fn go_on(
        &mut self,
        at: Passage,
        id: FrameId,
        held: &Occupancy,
        message: Option<Message>,
        env: &mut impl Env,
    ) {
        if let Some(message) = message {
            self.send_control(at.port, at.class, message, env);
        }
        self.leave_or_wait(at, id, held, env);
    }

    /// The receiver half of an ingress has something to say when a frame of its leaves.
    #[inline(never)]
    fn say_and_start(
        &mut self,
        [in_port, out]: [u16; 2],
        message: Message,
        (id, len): (FrameId, u32),
        env: &mut impl Env,
    ) {
        self.send_control(in_port, Class(0), message, env);
        self.ports[out as usize].start_plain(id, len, env);
    }
}

/// A frame that waits no longer leaves the memory: it is marked, and the receiver half of its
/// ingress is told.
#[inline(always)]
fn leave(
    buffer: &mut Buffer,
    from: &mut Port,
    to: &mut Port,
    (id, len): (FrameId, u32),
    env: &mut impl Env,
) -> Option<Message> {
    let (now, at, bytes) = (env.now(), to.at(), Bytes(len.into()));
    let queue = to.only_class();
    let waiting = Bytes(queue.egress.bytes());
    let mark = queue.detector.on_dequeue(now, waiting, bytes, &mut || env.draw(at));
    if mark != Mark::None {
        let frame = &mut env.frames()[id];
        frame.add_mark(mark);
        let flow = frame.flow;
        env.emit(at.node, NodeEvent::Marked { port: at.port, class: Class(0), flow, mark });
    }
    let source = from.only_class();
    let held = buffer.release_plain(&mut source.ingress, len);
    source.rx.on_departure(now, &held, bytes)
}

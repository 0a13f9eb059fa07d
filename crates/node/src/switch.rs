//! The switch: shared memory, output queues, accounting per ingress.

use xoff_mech::LinkFacts;
use xoff_mech::balancing::Balancing as Law;
use xoff_mech::detection::{Detection, Detector, Mark, Place, PortState};
use xoff_mech::flow_control::{FlowControl, Gate, Message, Occupancy, QueueState, Waiting};
use xoff_mech::rate_control::RecordFormat;
use xoff_mech::watchdog::Config as WatchdogConfig;
use xoff_units::state::State;
use xoff_units::{Bytes, Class, FlowId, Loss, NodeId, PortId, Time, prefetch};

use crate::ClassSet;
use crate::buffer::{Buffer, BufferPolicy, Full, Passage};
use crate::compat::Compat;
use crate::control::ControlDelay;
use crate::discipline::{Discipline, DisciplineKind};
use crate::env::{Call, Drop, Env, NodeEvent};
use crate::frame::{Frame, FrameId, FrameKind, FrameStore};
use crate::port::{Arrived, ClassState, Hit, Hold, Port};
use crate::scheduler::{Scheduler, SchedulerKind};

mod balancing;
mod congestion_points;
mod inspect;
mod plain;
mod watchdog;

use balancing::Balancing;
use congestion_points::CongestionPoints;
use watchdog::Watchdog;

/// Settings of a switch.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Flow control of each port, by port number.
    pub flow_control: Vec<FlowControl>,
    /// Facts of each port's link.
    pub links: Vec<LinkFacts>,
    /// True for each port with a host at the other end of its link.
    pub to_host: Vec<bool>,
    /// Detection at each egress port.
    pub detection: Vec<Detection>,
    /// Sharing of the memory.
    pub buffer: BufferPolicy,
    /// Order across ingresses; FIFO where the flow control is per-flow, whose queues are its own.
    pub discipline: DisciplineKind,
    /// Order across classes.
    pub scheduler: SchedulerKind,
    /// Delays of control messages.
    pub control_delay: ControlDelay,
    /// Number of classes.
    pub classes: usize,
    /// Classes that no flow control pauses: frames without room are lost.
    pub lossy: ClassSet,
    /// Length of control frames [bytes]; `None`: that of the flow control.
    pub message_len: Option<Bytes>,
    /// A class that travels with the control frames: first, never paused, neither counted nor
    /// marked. A detection that notifies sources needs one.
    pub unpaused: Option<Class>,
    /// Messages of the flow control go before frames of that class; off: FIFO.
    pub messages_first: bool,
    /// Data frames collect records of their way, kept like this.
    pub telemetry: Option<RecordFormat>,
    /// Frees queues that their peers hold for too long.
    pub watchdog: Option<WatchdogConfig>,
    /// Choice among several next hops.
    pub balancing: Law,
    /// Frames have entropy values.
    pub entropy: bool,
    /// Rules of a simulator that is replayed; default: none.
    pub compat: Compat,
}

/// Frames of one ingress and class that wait for one egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Egress port that they wait for.
    pub out_port: u16,
    /// Number of the flow.
    pub flow: FlowId,
    /// Number of frames.
    pub frames: u32,
    /// Number of bytes.
    pub bytes: u64,
}

/// A switch. What every frame needs stands first, in two cache lines.
#[derive(State)]
#[repr(C, align(64))]
pub struct Switch {
    node: NodeId,
    unpaused: Option<Class>,
    failed_port_keeps_memory: bool,
    hairpin_overlap: bool,
    /// Frames that leave take something along: records of the port, or a header.
    annotates: bool,
    /// Some receiver half asks for flows or for egress queues: runs without them look no further.
    asks_more: bool,
    /// It has nothing that the plain way leaves out: see `switch/plain.rs`.
    #[state(built)] // constant
    plain: bool,
    classes: usize,
    /// Buffers that notify sources of congestion; most switches have none.
    #[state(each)]
    congestion_points: Option<Box<CongestionPoints>>,
    /// Choice among several next hops; `None`: the hash of a flow decides, in the environment.
    #[state(each)]
    balancing: Option<Box<Balancing>>,
    /// The watchdog; most switches have none.
    #[state(each)]
    watchdog: Option<Box<Watchdog>>,
    #[state(each)]
    ports: Vec<Port>,
    buffer: Buffer,
    queues: Discipline,
    #[state(built)] // constant
    scheduler: SchedulerKind,
    /// By port.
    schedulers: Vec<Scheduler>,
    #[state(built)] // constant
    control_delay: ControlDelay,
}

impl Switch {
    /// Size of a port with one class [bytes], besides the state that its flow control keeps
    /// elsewhere.
    pub const BYTES_PER_PORT: usize = size_of::<Port>() + size_of::<Scheduler>();

    /// An empty switch.
    pub fn new(node: NodeId, c: &SwitchConfig) -> Self {
        let n = c.links.len();
        let port = |p: usize| {
            let place = Place {
                link: &c.links[p],
                flow_control: &c.flow_control[p],
                to_host: c.to_host[p],
            };
            let class_state = |class| {
                let lossy = c.lossy.has(class);
                let flow_control = if lossy { &FlowControl::None } else { &c.flow_control[p] };
                ClassState::new(
                    flow_control,
                    &c.links[p],
                    c.buffer.ingress(p, lossy),
                    c.detection[p].detector(&place),
                )
            };
            let message_len = c.message_len.unwrap_or(c.flow_control[p].message_len());
            let mut port = Port::new(
                PortId { node, port: p as u16 },
                &c.links[p],
                class_state,
                c.classes,
                message_len,
            );
            port.keep_telemetry(c.telemetry);
            if c.messages_first {
                port.put_messages_first();
            }
            port
        };
        let place = |p: usize| Place {
            link: &c.links[p],
            flow_control: &c.flow_control[p],
            to_host: c.to_host[p],
        };
        let places = c.detection.iter().enumerate().map(|(p, d)| (d, place(p)));
        let frame = c.links.iter().map(|l| l.mtu).max().unwrap_or_default();
        let mut switch = Switch {
            node,
            plain: false,
            classes: c.classes,
            congestion_points: c
                .unpaused
                .and_then(|class| CongestionPoints::new(places, c.classes, class)),
            ports: (0..n).map(port).collect(),
            buffer: Buffer::new(&c.buffer, n, c.compat.pool_wraps),
            queues: if c.flow_control.iter().any(FlowControl::per_flow) {
                Discipline::of_senders(n, c.classes)
            } else {
                Discipline::new(c.discipline, node.0, n, c.classes)
            },
            scheduler: c.scheduler.clone(),
            schedulers: vec![Scheduler::default(); n],
            control_delay: c.control_delay,
            unpaused: c.unpaused,
            failed_port_keeps_memory: c.compat.failed_port_keeps_memory,
            hairpin_overlap: c.compat.hairpin_overlap,
            annotates: c.telemetry.is_some() || c.balancing.adds_headers(),
            balancing: c
                .balancing
                .balancer(node, c.entropy)
                .map(|law| Balancing::new(law, c.balancing.adds_headers())),
            watchdog: c.watchdog.map(|w| Watchdog::new(w, frame, n * c.classes)),
            asks_more: c.flow_control.iter().any(|f| f.per_flow() || f.entry_ports() > 0),
        };
        switch.plain = switch.can_be_plain();
        switch
    }

    /// Arms the first timers.
    pub fn start(&mut self, env: &mut impl Env) {
        for p in 0..self.ports.len() {
            self.ports[p].start(env);
        }
        self.start_watchdog(env);
    }

    /// A frame arrived at `port`.
    #[inline(always)]
    pub fn on_frame(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        match self.plain && env.allows_plain() {
            true => self.on_frame_plain(port, id, env),
            false => self.take_in(port, id, env),
        }
    }

    fn take_in(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let frame = env.frames()[id];
        if frame.kind() == FrameKind::Control {
            env.discard(id);
            let open = self.ports[port as usize].on_control(&frame, &self.control_delay, env);
            if self.watchdog.is_some() && self.control_delay.processing.is_zero() {
                self.note_message(now, port, frame.class());
            }
            if open {
                self.try_send(port, env);
            }
            return;
        }
        let class = frame.class();
        let routed = match self.balancing.is_some() {
            false => env.route(self.node, &frame),
            true => match self.balanced(port, id, env) {
                Some(routed) => routed,
                None => return,
            },
        };
        let Some(out_port) = routed else {
            return self.drop_arrived(port, id, Loss::NoRoute.into(), env);
        };
        if self.unpaused == Some(class) {
            self.ports[out_port as usize].send_unpaused(id, env);
            return self.plan_next(out_port, env);
        }
        let at = Passage { now, port, out: out_port, class };
        let Some(occupancy) = self.store(at, &frame, id, env) else { return };
        self.leave_or_wait(at, id, &occupancy, env);
    }

    /// A frame that the memory has taken leaves at once, or waits.
    fn leave_or_wait(&mut self, at: Passage, id: FrameId, held: &Occupancy, env: &mut impl Env) {
        let Passage { now, port, out, class } = at;
        if self.passes(out, class, env.frames()[id].len(), env) {
            return self.depart(out, class, id, env);
        }
        let class_state = self.ports[out as usize].class_state_mut(class);
        let candidate = self.queues.push_in(now, class_state, id, env.frames());
        self.note_queue(port, out, class, held, env);
        if candidate {
            self.try_send(out, env);
        }
    }

    /// Puts a frame that has just come in into the memory; `None`: the frame was dropped.
    #[inline(always)]
    fn store(
        &mut self,
        at: Passage,
        frame: &Frame,
        id: FrameId,
        env: &mut impl Env,
    ) -> Option<Occupancy> {
        let Passage { now, port, out, class } = at;
        if self.watchdog.is_some()
            && let Some(why) = self.discarded(port, out, class)
        {
            self.drop_arrived(port, id, why, env);
            return None;
        }
        let class_state = self.ports[port as usize].class_state_mut(class);
        let Some(occupancy) = self.buffer.admit(&mut class_state.ingress, || at, frame.len())
        else {
            self.refuse(at, id, env);
            return None;
        };
        let message = if self.asks_more {
            self.on_arrival_with_more(at, frame, &occupancy, env)
        } else {
            class_state.rx.on_arrival(now, &occupancy, frame.bytes())
        };
        if let Some(message) = message {
            self.send_control(port, class, message, env);
        }
        env.frames()[id].pass_through(port, out);
        if self.congestion_points.is_some() {
            self.sample_stored(at, id, occupancy.bytes, env);
        }
        Some(occupancy)
    }

    /// A frame that has just come in finds no room.
    #[cold] // out of line: every frame passes there
    #[inline(never)]
    fn refuse(&mut self, at: Passage, id: FrameId, env: &mut impl Env) {
        let full = self.buffer.full(&at, env.frames()[id].len());
        let why = Drop { cause: Loss::BufferFull, queue: (full == Full::Queue).then_some(at.out) };
        self.drop_arrived(at.port, id, why, env);
    }

    /// A frame that has just come in is dropped.
    #[cold]
    #[inline(never)]
    fn drop_arrived(&mut self, port: u16, id: FrameId, why: Drop, env: &mut impl Env) {
        let frame = env.discard(id);
        let (class, len, kind) = (frame.class(), frame.len(), frame.kind());
        let state = self.ports[port as usize].class_state_if_any(class);
        let message = state.and_then(|c| c.rx.on_dropped(env.now(), frame.bytes()));
        env.emit(self.node, NodeEvent::Dropped { port, class, flow: frame.flow, len, kind, why });
        if let Some(message) = message {
            self.send_control(port, class, message, env);
        }
    }

    /// A frame arrives over the link of a port, which has done this to it.
    #[cold]
    pub fn on_link(
        &mut self,
        port: u16,
        id: FrameId,
        hit: Option<Hit>,
        env: &mut impl Env,
    ) -> Arrived {
        let arrived = self.ports[port as usize].on_link(id, hit, env);
        if arrived == Arrived::Taken {
            self.try_send(port, env);
        }
        arrived
    }

    /// The switch will be asked soon.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.buffer);
        prefetch(&self.queues);
    }

    /// A frame will leave through a port soon.
    #[inline]
    pub fn prefetch_out(&self, port: u16) {
        self.ports[port as usize].prefetch_out();
    }

    /// A frame will come in by a port soon.
    #[inline]
    pub fn prefetch_in(&self, port: u16) {
        self.ports[port as usize].prefetch_in();
    }

    /// A frame will be put into the queue of a port soon.
    #[inline]
    pub fn prefetch_last(&self, port: u16, frames: &FrameStore) {
        self.ports[port as usize].class_state(Class(0)).egress.prefetch_last(frames);
    }

    /// The frame at the head of a port will be asked for soon.
    #[inline]
    pub fn prefetch_head(&self, port: u16, frames: &FrameStore) {
        if let Some(id) = self.ports[port as usize].class_state(Class(0)).egress.fifo_head() {
            frames.prefetch(id);
        }
    }

    /// The frame at the head of a port will leave very soon: where it came in is asked too.
    #[inline]
    pub fn prefetch_source(&self, port: u16, frames: &FrameStore) {
        if let Some(id) = self.ports[port as usize].class_state(Class(0)).egress.fifo_head() {
            self.ports[frames[id].in_port as usize].prefetch_in();
        }
    }

    /// The frame that was on the wire of `port` has left.
    #[inline]
    pub fn on_wire_free(&mut self, port: u16, env: &mut impl Env) {
        self.ports[port as usize].set_free();
        match self.plain && env.allows_plain() {
            true => self.send_plain(port, env),
            false => self.try_send(port, env),
        }
    }

    /// A wake-up of a port.
    pub fn on_wake(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        if self.ports[port as usize].woken(now) {
            self.try_send(port, env);
        }
    }

    /// A timer of a receiver expires.
    pub fn on_receiver_wake(&mut self, port: u16, class: Class, env: &mut impl Env) {
        let now = env.now();
        let occupancy = self.occupancy(port, class);
        if let Some(message) = self.ports[port as usize].on_receiver_wake(now, class, &occupancy) {
            self.send_control(port, class, message, env);
        } else {
            self.ports[port as usize].plan_receiver(class, env);
        }
    }

    /// Received messages take effect.
    pub fn on_apply(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let (open, classes) = self.ports[port as usize].apply_due(env);
        if self.watchdog.is_some() {
            Class::up_to(self.classes)
                .filter(|class| classes & 1 << class.0 != 0)
                .for_each(|class| self.note_message(now, port, class));
        }
        if open {
            self.try_send(port, env);
        }
    }

    /// Messages leave their generator.
    pub fn on_emit(&mut self, port: u16, env: &mut impl Env) {
        self.ports[port as usize].emit_due(env);
        self.plan_next(port, env);
    }

    /// The link of a port fails: its queued frames are dropped.
    pub fn on_link_failed(&mut self, port: u16, env: &mut impl Env) {
        while let Some(f) = self.ports[port as usize].fail(env) {
            let dropped = NodeEvent::Dropped {
                port,
                class: f.class(),
                flow: f.flow,
                len: f.len(),
                kind: f.kind(),
                why: Loss::FailedPort.into(),
            };
            env.emit(self.node, dropped);
        }
        self.throw_all_away(port, env);
    }

    /// Frees every frame that waits for a failed port.
    fn throw_all_away(&mut self, port: u16, env: &mut impl Env) {
        Class::up_to(self.classes)
            .for_each(|class| self.throw_away(port, class, Loss::FailedPort.into(), env));
    }

    /// Frees every frame of a class that waits for a port.
    fn throw_away(&mut self, port: u16, class: Class, why: Drop, env: &mut impl Env) {
        let now = env.now();
        loop {
            let class_state = self.ports[port as usize].class_state_mut(class);
            let Some((id, exposed)) = self.queues.discard(class_state, port, class, env.frames())
            else {
                break;
            };
            let frame = env.discard(id);
            let (in_port, len) = (frame.in_port, frame.len());
            let (flow, kind) = (frame.flow, frame.kind());
            env.emit(self.node, NodeEvent::Dropped { port: in_port, class, flow, len, kind, why });
            let at = Passage { now, port: in_port, out: port, class };
            self.sample_gone(at, frame.flow, frame.bytes());
            if self.failed_port_keeps_memory {
                self.buffer.lose(len);
            } else {
                let class_state = self.ports[in_port as usize].class_state_mut(class);
                let occupancy = self.buffer.release(&mut class_state.ingress, || at, len);
                let message = self.on_departure_with_more(at, &frame, &occupancy);
                if let Some(message) = message {
                    self.send_control(in_port, class, message, env);
                }
                self.note_queue(in_port, port, class, &occupancy, env);
            }
            if let Some(other) = exposed {
                self.try_send(other, env);
            }
            self.send_exposed(env);
        }
    }

    /// A receiver half may ask for the flow of a frame, or for the egress queue that it joins.
    #[cold] // out of line: runs without such receivers do not pay
    #[inline(never)]
    fn on_arrival_with_more(
        &mut self,
        at: Passage,
        frame: &Frame,
        occupancy: &Occupancy,
        env: &mut impl Env,
    ) -> Option<Message> {
        let Passage { now, port, out, class } = at;
        let egress = Waiting { port: out, bytes: Bytes(self.waiting(out, class)) + frame.bytes() };
        let rx = &mut self.ports[port as usize].class_state_mut(class).rx;
        match () {
            _ if rx.per_flow() => self.on_flow_arrival(at, frame, env),
            _ if rx.wants_egress() => rx.on_arrival_to(now, occupancy, egress, frame.bytes()),
            _ => rx.on_arrival(now, occupancy, frame.bytes()),
        }
    }

    /// Counterpart for a frame that has left.
    #[cold]
    #[inline(never)]
    fn on_departure_with_more(
        &mut self,
        at: Passage,
        frame: &Frame,
        occupancy: &Occupancy,
    ) -> Option<Message> {
        let Passage { now, port, out, class } = at;
        let egress = Waiting { port: out, bytes: Bytes(self.waiting(out, class)) };
        let rx = &mut self.ports[port as usize].class_state_mut(class).rx;
        match () {
            _ if rx.per_flow() => self.on_flow_departure(at, frame),
            _ if rx.wants_egress() => rx.on_departure_from(now, occupancy, egress, frame.bytes()),
            _ => rx.on_departure(now, occupancy, frame.bytes()),
        }
    }

    /// A per-flow receiver is given the queue that the frame joins.
    #[cold] // out of line: runs without such receivers do not pay
    #[inline(never)]
    fn on_flow_arrival(
        &mut self,
        at: Passage,
        frame: &Frame,
        env: &mut impl Env,
    ) -> Option<Message> {
        let Passage { now, port, out, class } = at;
        let queue = self.flow_queue(now, out, class, frame.flow);
        let p = &mut self.ports[port as usize];
        let message =
            p.class_state_mut(class).rx.on_flow_arrival(now, frame.flow, queue, frame.bytes());
        if message.is_none() {
            p.plan_receiver(class, env); // it may have decided something and send that at a time of its own
        }
        message
    }

    /// Reports a departure to a per-flow receiver, with the queue that the frame has left.
    #[cold]
    #[inline(never)]
    fn on_flow_departure(&mut self, at: Passage, frame: &Frame) -> Option<Message> {
        let Passage { now, port, out, class } = at;
        let queue = self.flow_queue(now, out, class, frame.flow);
        self.ports[port as usize].class_state_mut(class).rx.on_flow_departure(
            now,
            frame.flow,
            queue,
            frame.bytes(),
        )
    }

    fn flow_queue(&self, now: Time, out: u16, class: Class, flow: FlowId) -> Option<QueueState> {
        self.ports[out as usize].flows(class)?.queue(now, flow)
    }

    fn send_control(&mut self, port: u16, class: Class, message: Message, env: &mut impl Env) {
        let p = &mut self.ports[port as usize];
        p.send_control(class, message, &self.control_delay, env);
        p.plan_receiver(class, env);
        self.plan_next(port, env);
        if self.congestion_points.is_some() {
            self.sample_message(port, class, message, env);
        }
        if message.is_per_flow() {
            self.send_more_control(port, class, env);
        }
    }

    /// A decision about a flow takes several messages.
    #[cold]
    fn send_more_control(&mut self, port: u16, class: Class, env: &mut impl Env) {
        if let Some(message) = self.ports[port as usize].class_state_mut(class).rx.more() {
            self.send_control(port, class, message, env);
        }
    }

    /// A frame may have gone on the wire of a port: requests a call when it has left, if another
    /// one waits.
    #[inline(always)]
    fn plan_next(&mut self, port: u16, env: &mut impl Env) {
        let p = &mut self.ports[port as usize];
        if p.waits() && p.busy(env) {
            p.call_when_free(env);
        }
    }

    #[inline]
    fn note_queue(
        &self,
        in_port: u16,
        out_port: u16,
        class: Class,
        occupancy: &Occupancy,
        env: &mut impl Env,
    ) {
        if !env.records_queues() {
            return;
        }
        let egress = self.waiting(out_port, class);
        env.emit(
            self.node,
            NodeEvent::Queue { in_port, out_port, class, ingress: occupancy.bytes.0, egress },
        );
    }

    /// Starts the next frame of a port, if the wire is free and some gate is open.
    fn try_send(&mut self, port: u16, env: &mut impl Env) {
        let now = env.now();
        let p = &mut self.ports[port as usize];
        if p.failed() {
            // Only with input queues: a frame for it came to the head.
            return self.throw_all_away(port, env);
        }
        if p.busy(env) {
            return p.call_when_free(env);
        }
        if p.start_control(env) {
            return self.plan_next(port, env);
        }
        let mut earliest = Time::NEVER;
        let queues = &mut self.queues;
        let picked = self.schedulers[port as usize].pick(&self.scheduler, self.classes, |class| {
            let len = queues.head_of(now, p.class_state(class), port, class, env.frames())?;
            match p.gate(now, class, len) {
                Gate::Open => Some(len),
                Gate::Until(t) => {
                    earliest = earliest.min(t);
                    None
                }
                Gate::Blocked => None,
            }
        });
        p.report_holds(env);
        match picked {
            Some(class) => self.send(port, class, env),
            None => p.wake_at(earliest, env),
        }
    }

    /// True if a frame that has just arrived may leave at once, without entering its queue. It
    /// would be pushed, chosen and popped with the same result. Where the queues are recorded, or
    /// several classes take turns, it takes the long path.
    #[inline]
    fn passes(&mut self, out: u16, class: Class, len: u32, env: &mut impl Env) -> bool {
        let now = env.now();
        let p = &mut self.ports[out as usize];
        if self.classes > 1
            || env.records_queues()
            || !self.queues.is_idle_fifo(&p.class_state(class).egress)
        {
            return false;
        }
        let free = !p.failed() && !p.busy(env) && !p.control_waits();
        if !free || p.gate(now, class, len) != Gate::Open {
            return false;
        }
        p.report_holds(env);
        p.class_state_mut(class).egress.pass(len);
        true
    }

    fn send(&mut self, port: u16, class: Class, env: &mut impl Env) {
        let now = env.now();
        if self.queues.has_inputs() && self.discards(port, class) {
            // It waited behind a frame for another port when the storm was found.
            return self.throw_away(
                port,
                class,
                Drop { cause: Loss::Watchdog, queue: Some(port) },
                env,
            );
        }
        let class_state = self.ports[port as usize].class_state_mut(class);
        let Some(id) = self.queues.pop_of(now, class_state, port, class, env.frames()) else {
            return;
        };
        if self.queues.reads_inputs() {
            self.read_input(id, env);
        }
        self.depart(port, class, id, env);
        self.send_exposed(env);
    }

    /// Frames that a worker has brought to idle egresses may leave.
    fn send_exposed(&mut self, env: &mut impl Env) {
        while let Some(port) = self.queues.next_exposed() {
            self.try_send(port, env);
        }
    }

    /// A frame begins to be read from its input, at the rate of its port: until it has been read no
    /// other one of it may go.
    #[cold]
    fn read_input(&mut self, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let (port, len) = (env.frames()[id].in_port, env.frames()[id].len());
        self.queues.set_reading(port, true);
        let takes = env.wire_time(self.ports[port as usize].rate, len);
        env.call_at(self.node, now + takes + self.queues.arbitration(), Call::InputRead { port });
    }

    /// An input has read its frame: its heads may go, those of higher classes first.
    pub fn on_input_read(&mut self, port: u16, env: &mut impl Env) {
        self.queues.set_reading(port, false);
        for class in Class::up_to(self.classes).rev() {
            if let Some(out) = self.queues.input_head(port, class, env.frames()) {
                self.try_send(out, env);
            }
        }
    }

    /// A frame that leaves now takes along a record of the port, or its header changes.
    #[cold] // out of line: most frames take nothing along
    #[inline(never)]
    fn annotate(&mut self, port: u16, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let p = &self.ports[port as usize];
        if p.records() {
            p.add_record(now, id, env.frames());
        }
        self.write_header(port, id, env);
    }

    /// A frame that waits no longer leaves through a port that is free.
    fn depart(&mut self, port: u16, class: Class, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let frame = &env.frames()[id];
        let (in_port, flow, bytes) = (frame.in_port, frame.flow, frame.bytes());
        let class_state = self.ports[port as usize].class_state_mut(class);
        let waiting = Bytes(class_state.egress.bytes());
        let mark = class_state
            .detector
            .on_dequeue(now, waiting, bytes, &mut || env.draw(PortId { node: self.node, port }));
        if env.records_states()
            && let Some(state) = class_state.detector.state(now)
        {
            env.emit(self.node, NodeEvent::State { port, class, state });
        }
        if mark != Mark::None {
            env.frames()[id].add_mark(mark);
            env.emit(self.node, NodeEvent::Marked { port, class, flow, mark });
        }
        let at = Passage { now, port: in_port, out: port, class };
        if self.congestion_points.is_some() {
            self.sample_gone(at, flow, bytes);
        }
        let class_state = self.ports[in_port as usize].class_state_mut(class);
        let occupancy = self.buffer.release(&mut class_state.ingress, || at, bytes.0 as u32);
        let message = if self.asks_more {
            let frame = env.frames()[id];
            self.on_departure_with_more(at, &frame, &occupancy)
        } else {
            class_state.rx.on_departure(now, &occupancy, bytes)
        };
        // The port counts as busy before its ingress sends a message: in a routing loop both are
        // the same port.
        let speaks_after = in_port == port && !self.hairpin_overlap;
        if let (Some(message), false) = (message, speaks_after) {
            self.send_control(in_port, class, message, env);
        }
        if self.annotates {
            self.annotate(port, id, env);
        }
        let p = &mut self.ports[port as usize];
        p.start_frame_of(class, id, env);
        if self.watchdog.is_some() {
            self.note_sent(now, port, class);
        }
        self.plan_next(port, env);
        if let (Some(message), true) = (message, speaks_after) {
            self.send_control(in_port, class, message, env);
        }
        self.note_queue(in_port, port, class, &occupancy, env);
    }
}

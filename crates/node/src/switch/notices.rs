//! Buffers that tell sources of congestion: what a switch does where its detection notifies.
//!
//! ```text
//!   frame in -> ingress buffer: Notifier --.                  notice: a frame of 64 B with a value, from here back to the source
//!            -> egress queue:   Notifier --+--> notice -----> of the flow that the notifier names, on the way that feedback of
//!   clock, while an ingress stops its peer-'                  the flow takes. It travels with the control frames.
//! ```

use xoff_mech::detection::{AnyNotifier, Detection, Notice, Notifier, Place, Side};
use xoff_mech::flow_control::Message;
use xoff_units::{Bytes, Time};

use super::Switch;
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameId};

/// Length of a notice on the wire: the smallest Ethernet frame [bytes].
const LEN: u32 = 64;

/// The two buffers of a port and class.
struct Watched {
    ingress: Option<AnyNotifier>,
    egress: Option<AnyNotifier>,
    /// The next look at the clock that was asked for; never: none.
    wake: Time,
}

/// The notifiers of a switch.
pub(super) struct Notices {
    /// Number that notices carry in place of a class: that of the express priority.
    class: u8,
    classes: usize,
    /// By port and class.
    watched: Vec<Watched>,
}

impl Notices {
    /// Of these ports; `None`: nothing is watched.
    pub fn new<'a>(ports: impl Iterator<Item = (&'a Detection, Place<'a>)>, classes: usize, class: u8) -> Option<Box<Notices>> {
        let of = |(d, place): (&Detection, Place)| {
            let make =
                move || Watched { ingress: d.notifier(&place, Side::Ingress), egress: d.notifier(&place, Side::Egress), wake: Time::NEVER };
            (0..classes).map(|_| make()).collect::<Vec<_>>()
        };
        let watched: Vec<Watched> = ports.flat_map(of).collect();
        let any = watched.iter().any(|w| w.ingress.is_some() || w.egress.is_some());
        any.then(|| Box::new(Notices { class, classes, watched }))
    }

    fn at(&mut self, port: u16, class: u8) -> &mut Watched {
        &mut self.watched[port as usize * self.classes + class as usize]
    }
}

impl Switch {
    /// A frame was admitted, and its ingress holds so much now; it is about to enter its queue.
    #[cold]
    pub(super) fn watch_stored(&mut self, now: Time, (port, out): (u16, u16), id: FrameId, held: Bytes, env: &mut impl Env) {
        let f = &env.frames()[id];
        let (class, flow, len) = (f.class(), f.flow, f.bytes());
        let waiting = Bytes(self.waiting(out, class)) + len;
        for (side, port, queue) in [(Side::Ingress, port, held), (Side::Egress, out, waiting)] {
            let Some(n) = &mut self.notices else { return };
            let watched = n.at(port, class);
            let notifier = if side == Side::Ingress { &mut watched.ingress } else { &mut watched.egress };
            let Some(notifier) = notifier else { continue };
            let notice = notifier.on_enqueue(now, flow, len, queue, &mut || env.draw(self.node, port));
            self.report(now, (port, class, side), notice, env);
        }
    }

    /// A frame has left both of its buffers.
    #[cold]
    pub(super) fn watch_gone(&mut self, now: Time, (port, out): (u16, u16), class: u8, flow: u32, len: Bytes) {
        let Some(n) = &mut self.notices else { return };
        if let Some(notifier) = &mut n.at(port, class).ingress {
            notifier.on_dequeue(now, flow, len);
        }
        if let Some(notifier) = &mut n.at(out, class).egress {
            notifier.on_dequeue(now, flow, len);
        }
    }

    /// The flow control of an ingress has spoken.
    #[cold]
    pub(super) fn watch_message(&mut self, now: Time, port: u16, class: u8, message: Message, env: &mut impl Env) {
        let Some(n) = &mut self.notices else { return };
        let Some(notifier) = &mut n.at(port, class).ingress else { return };
        match message.stops() {
            Some(true) => notifier.on_stop(now),
            Some(false) => notifier.on_release(now),
            None => return,
        }
        self.plan_notifier(port, class, env);
    }

    /// A notifier looks at the clock.
    pub fn on_notifier_wake(&mut self, now: Time, port: u16, class: u8, env: &mut impl Env) {
        let queue = self.occupancy(port, class).bytes;
        let Some(n) = &mut self.notices else { return };
        let watched = n.at(port, class);
        if watched.wake <= now {
            watched.wake = Time::NEVER;
        }
        let Some(notifier) = &mut watched.ingress else { return };
        let notice = notifier.on_wake(now, queue, &mut || env.draw(self.node, port));
        self.report(now, (port, class, Side::Ingress), notice, env);
        self.plan_notifier(port, class, env);
    }

    /// Asks for the next look at the clock, unless an earlier one is due.
    fn plan_notifier(&mut self, port: u16, class: u8, env: &mut impl Env) {
        let Some(n) = &mut self.notices else { return };
        let watched = n.at(port, class);
        let next = watched.ingress.as_ref().and_then(|n| n.next_wake());
        if let Some(at) = next.filter(|&at| at < watched.wake) {
            watched.wake = at;
            env.call_at(self.node, at, Call::Notifier { port, class });
        }
    }

    /// Sends a notice on its way.
    fn report(&mut self, now: Time, (port, class, side): (u16, u8, Side), notice: Option<Notice>, env: &mut impl Env) {
        let (Some(n), Some(Notice { flow, congestion })) = (&self.notices, notice) else { return };
        let frame = Frame::notice(flow, n.class, LEN, congestion.degree);
        // After a failure there may be no way back; nothing depends on a notice.
        let Some(out) = env.route(self.node, &frame) else { return };
        env.emit(self.node, now, NodeEvent::Notified { port, class, side, flow, congestion });
        let id = env.frames().insert(frame);
        self.ports[out as usize].send_unpaused(now, self.node, out, id, env);
        self.plan_next(out, env);
    }
}

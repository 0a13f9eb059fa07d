//! Buffers that notify sources of congestion: work of a switch whose detection notifies.
//!
//! ```text
//!   frame in -> ingress buffer: CongestionPoint --.                  CNM: a frame of 64 B with a value, from here back to the source
//!            -> egress queue:   CongestionPoint --+--> CNM -----> of the flow that the congestion point names, on the way that feedback of
//!   clock, while an ingress stops its peer-'                  the flow takes. It travels with the control frames.
//! ```

use xoff_mech::detection::{AnyCongestionPoint, Cnm, CongestionPoint, Detection, Place, Side};
use xoff_mech::flow_control::Message;
use xoff_units::state::State;
use xoff_units::{Bytes, Class, FlowId, PortId, Time};

use super::Switch;
use crate::buffer::Passage;
use crate::env::{Call, Env, NodeEvent};
use crate::frame::{Frame, FrameId};

/// Length of a CNM on the wire: the smallest Ethernet frame [bytes].
const LEN: u32 = 64;

/// The congestion points of the two buffers of a port and class.
#[derive(State)]
struct Sides {
    #[state(each)]
    ingress: Option<AnyCongestionPoint>,
    #[state(each)]
    egress: Option<AnyCongestionPoint>,
    /// The next timer that was requested; never: none.
    #[state(saved)] // when it has to act is in the state of the point
    wake: Time,
}

/// The congestion points of a switch.
#[derive(State)]
pub(super) struct CongestionPoints {
    /// Number that CNMs carry in place of a class: that of the unpaused control class.
    class: Class,
    classes: usize,
    /// By port and class.
    #[state(each)]
    sides: Vec<Sides>,
}

impl CongestionPoints {
    /// Congestion points of these ports; `None`: no buffer has one.
    pub fn new<'a>(
        ports: impl Iterator<Item = (&'a Detection, Place<'a>)>,
        classes: usize,
        class: Class,
    ) -> Option<Box<CongestionPoints>> {
        let of = |(d, place): (&Detection, Place)| {
            let make = move || Sides {
                ingress: d.congestion_point(&place, Side::Ingress),
                egress: d.congestion_point(&place, Side::Egress),
                wake: Time::NEVER,
            };
            (0..classes).map(|_| make()).collect::<Vec<_>>()
        };
        let sides: Vec<Sides> = ports.flat_map(of).collect();
        let any = sides.iter().any(|w| w.ingress.is_some() || w.egress.is_some());
        any.then(|| Box::new(CongestionPoints { class, classes, sides }))
    }

    /// True if none of them has anything due.
    pub fn rest(&self) -> bool {
        let due = |point: &Option<AnyCongestionPoint>| {
            point.as_ref().is_some_and(|p| p.next_wake().is_some())
        };
        !self.sides.iter().any(|s| due(&s.ingress) || due(&s.egress))
    }

    fn at(&mut self, port: u16, class: Class) -> &mut Sides {
        &mut self.sides[port as usize * self.classes + class.index()]
    }
}

impl Switch {
    /// A frame was admitted, with the present bytes of its ingress; it is about to enter its queue.
    #[cold]
    pub(super) fn sample_stored(
        &mut self,
        at: Passage,
        id: FrameId,
        held: Bytes,
        env: &mut impl Env,
    ) {
        let Passage { now, port, out, class } = at;
        let f = &env.frames()[id];
        let (flow, len) = (f.flow, f.bytes());
        let waiting = Bytes(self.waiting(out, class)) + len;
        for (side, port, queue) in [(Side::Ingress, port, held), (Side::Egress, out, waiting)] {
            let Some(n) = &mut self.congestion_points else { return };
            let sides = n.at(port, class);
            let point = if side == Side::Ingress { &mut sides.ingress } else { &mut sides.egress };
            let Some(point) = point else { continue };
            let cnm = point.on_enqueue(now, flow, len, queue, &mut || {
                env.draw(PortId { node: self.node, port })
            });
            self.report((port, class, side), cnm, env);
        }
    }

    /// A frame has left both of its buffers.
    #[cold]
    pub(super) fn sample_gone(
        &mut self,
        Passage { now, port, out, class }: Passage,
        flow: FlowId,
        len: Bytes,
    ) {
        let Some(n) = &mut self.congestion_points else { return };
        if let Some(point) = &mut n.at(port, class).ingress {
            point.on_dequeue(now, flow, len);
        }
        if let Some(point) = &mut n.at(out, class).egress {
            point.on_dequeue(now, flow, len);
        }
    }

    /// The flow control of an ingress has sent a message.
    #[cold]
    pub(super) fn sample_message(
        &mut self,
        port: u16,
        class: Class,
        message: Message,
        env: &mut impl Env,
    ) {
        let now = env.now();
        let Some(n) = &mut self.congestion_points else { return };
        let Some(point) = &mut n.at(port, class).ingress else { return };
        match message.stops() {
            Some(true) => point.on_stop(now),
            Some(false) => point.on_release(now),
            None => return,
        }
        self.schedule_congestion_point(port, class, env);
    }

    /// The timer of a congestion point expires.
    pub fn on_congestion_point_wake(&mut self, port: u16, class: Class, env: &mut impl Env) {
        let now = env.now();
        let queue = self.occupancy(port, class).bytes;
        let Some(n) = &mut self.congestion_points else { return };
        let sides = n.at(port, class);
        if sides.wake <= now {
            sides.wake = Time::NEVER;
        }
        let Some(point) = &mut sides.ingress else { return };
        let cnm = point.on_wake(now, queue, &mut || env.draw(PortId { node: self.node, port }));
        self.report((port, class, Side::Ingress), cnm, env);
        self.schedule_congestion_point(port, class, env);
    }

    /// Requests the next timer, unless an earlier one is due.
    fn schedule_congestion_point(&mut self, port: u16, class: Class, env: &mut impl Env) {
        let Some(n) = &mut self.congestion_points else { return };
        let sides = n.at(port, class);
        let next = sides.ingress.as_ref().and_then(|n| n.next_wake());
        if let Some(at) = next.filter(|&at| at < sides.wake) {
            sides.wake = at;
            env.call_at(self.node, at, Call::CongestionPoint { port, class });
        }
    }

    /// Sends a CNM.
    fn report(
        &mut self,
        (port, class, side): (u16, Class, Side),
        cnm: Option<Cnm>,
        env: &mut impl Env,
    ) {
        let (Some(n), Some(Cnm { flow, congestion })) = (&self.congestion_points, cnm) else {
            return;
        };
        let frame = Frame::cnm(flow, n.class, LEN, congestion.degree);
        // After a failure there may be no route back; nothing depends on a CNM.
        let Some(out) = env.route(self.node, &frame) else { return };
        env.emit(self.node, NodeEvent::CnmSent { port, class, side, flow, congestion });
        let id = env.frames().insert(frame);
        self.ports[out as usize].send_unpaused(id, env);
        self.plan_next(out, env);
    }
}

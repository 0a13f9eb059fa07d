//! A port of a NIC with everything that belongs to it alone, and sets of ports.
//!
//! ```text
//!   flow 3: ports 0    --> ring of port 0 --> port 0 --> plane 0
//!   flow 4: ports 1    --> ring of port 1 --> port 1 --> plane 1
//!   flow 5: ports 0, 1 --> both rings: the port that is free first sends its next frame
//! ```
//!
//! Acknowledgements and CNPs leave through the port by which their frame came.

use std::ops::{Index, IndexMut};

use xoff_mech::LinkFacts;
use xoff_mech::detection::AnyDetector;
use xoff_mech::flow_control::{FlowControl, Message, Occupancy};
use xoff_units::state::{Broken, Reader, State, Walk};
use xoff_units::{Bytes, Class, FlowId, PortId, Rate, Time};

use super::NicConfig;
use super::drain::Drain;
use super::per_flow::Ready;
use super::round_robin::RoundRobin;
use super::round_robin_by_place::RoundRobinByPlace;
use super::storm::Storm;
use crate::buffer::Ingress;
use crate::env::Env;
use crate::frame::FrameList;
use crate::port::{ClassState, Port};

/// Choice of the next flow, by one of two rules.
#[derive(State)]
pub(super) enum Order {
    ByStart(RoundRobin),
    /// See [`Compat::round_robin_by_place`](crate::Compat).
    ByPlace(RoundRobinByPlace),
}

impl Order {
    fn push(&mut self, class: Class, slot: u32, len: u32) {
        match self {
            Order::ByStart(t) => t.push(class, slot, len),
            Order::ByPlace(t) => t.flows.push(slot),
        }
    }
    fn remove(&mut self, class: Class, slot: u32) {
        match self {
            Order::ByStart(t) => t.remove(class, slot),
            Order::ByPlace(t) => t.flows.retain(|&s| s != slot),
        }
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Order::ByStart(t) => t.is_empty(),
            Order::ByPlace(t) => t.flows.is_empty(),
        }
    }
    /// Flows that take turns, those of a class at least, by start.
    #[inline]
    pub fn of_class(&self, class: Class) -> &[u32] {
        match self {
            Order::ByStart(t) => t.of_class(class),
            Order::ByPlace(t) => &t.flows,
        }
    }
    /// True if a flow takes turns, or may not have left yet.
    pub fn has(&self, class: Class, slot: u32) -> bool {
        match self {
            Order::ByStart(t) => t.of_class(class).binary_search(&slot).is_ok(),
            Order::ByPlace(t) => t.flows.contains(&slot),
        }
    }
    #[inline]
    pub fn likely(&self) -> Option<u32> {
        match self {
            Order::ByStart(t) => t.likely(),
            Order::ByPlace(t) => t.likely(),
        }
    }
    #[inline]
    pub fn shorter(&mut self, class: Class, len: u32) {
        if let Order::ByStart(t) = self {
            t.shorter(class, len);
        }
    }
    /// A flow of a class has nothing to send.
    fn falls_asleep(&mut self, class: Class) {
        if let Order::ByStart(t) = self {
            t.falls_asleep(class);
        }
    }
    /// A flow that was asleep has something to send.
    fn wakes(&mut self, class: Class, slot: u32) {
        if let Order::ByStart(t) = self {
            t.wakes(class, slot);
        }
    }
}

/// A port of a NIC. What every frame needs stands first.
#[repr(C)]
pub(super) struct NicPort {
    /// The peer holds single flows.
    pub per_flow: bool,
    /// Rate of its link.
    pub line: Rate,
    /// Buffer behind the link.
    memory: Bytes,
    /// The flows that take turns, by place.
    pub round_robin: Order,
    /// Acknowledgements, CNMs and CNPs that wait.
    pub feedback: FrameList,
    pub port: Port,
    /// Memory of a slow NIC; most NICs have none.
    pub drain: Option<Box<Drain>>,
    /// Flows that are asked, where the peer holds single flows.
    pub ready: Ready,
    /// Storms of a broken NIC; most NICs have none.
    pub storms: Vec<Storm>,
    /// Wake-ups that are still to come and no longer count; only where they stay
    /// ([`Compat::wakes_stay`](crate::Compat)).
    pub cancelled_wakes: Vec<Time>,
}

impl NicPort {
    pub fn new(at: PortId, flow_control: &FlowControl, link: &LinkFacts, c: &NicConfig) -> Self {
        let len = c.message_len.unwrap_or(flow_control.message_len());
        let class = |class| {
            let flow_control = if c.lossy.has(class) { &FlowControl::None } else { flow_control };
            ClassState::new(flow_control, link, Ingress::default(), AnyDetector::None)
        };
        let mut port = Port::new(at, link, class, c.classes, len);
        if c.cnp_class.is_some() {
            port.put_messages_first();
        }
        NicPort {
            per_flow: flow_control.per_flow(),
            line: link.rate,
            memory: link.buffer,
            round_robin: if c.compat.round_robin_by_place {
                Order::ByPlace(RoundRobinByPlace::default())
            } else {
                Order::ByStart(RoundRobin::new())
            },
            feedback: FrameList::default(),
            port,
            drain: None,
            ready: Ready::default(),
            storms: Vec::new(),
            cancelled_wakes: Vec::new(),
        }
    }

    /// A flow takes turns. `len`: of its next frame [bytes].
    #[inline]
    pub fn takes_turns(&mut self, class: Class, slot: u32, len: u32) {
        self.round_robin.push(class, slot, len);
        if self.per_flow {
            self.ready.insert(class, slot);
        }
    }

    /// A flow moves to another port.
    pub fn leaves(&mut self, class: Class, slot: u32, flow: FlowId) {
        self.round_robin.remove(class, slot);
        if self.per_flow {
            self.no_longer_ready(class, slot, flow);
        }
    }

    /// A flow has nothing to send.
    #[inline]
    pub fn falls_asleep(&mut self, class: Class, slot: u32, flow: FlowId) {
        self.round_robin.falls_asleep(class);
        if self.per_flow {
            self.no_longer_ready(class, slot, flow);
        }
    }

    /// A flow that was asleep has something to send.
    pub fn wakes(&mut self, class: Class, slot: u32) {
        self.round_robin.wakes(class, slot);
        if self.per_flow {
            self.ready.insert(class, slot);
        }
    }

    /// Occupancy of a class, as a receiver half sees it.
    #[inline]
    pub fn occupancy(&self, class: Class) -> Occupancy {
        self.drain.as_ref().map_or(Occupancy { limit: self.memory, ..Occupancy::default() }, |d| {
            d.occupancy(class)
        })
    }

    /// A frame may have gone on the wire: requests a call when it has left, if there is a flow to
    /// ask then. Flows that are asleep count: they leave the ring when they are asked.
    #[inline]
    pub fn plan_next(&mut self, env: &mut impl Env) {
        if self.port.busy(env) && (self.feedback.front().is_some() || !self.round_robin.is_empty())
        {
            self.port.call_when_free(env);
        }
    }

    pub fn send_control(
        &mut self,
        class: Class,
        message: Message,
        c: &NicConfig,
        env: &mut impl Env,
    ) {
        let now = env.now();
        if !self.storms.is_empty() && self.withholds(now, class, message) {
            return;
        }
        self.port.send_control(class, message, &c.control_delay, env);
        self.plan_next(env);
    }

    /// State that lives as long as the port, whether or not flows are left.
    pub fn walk_rest<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        self.feedback.walk(w)?;
        w.list(self.drain.iter())?;
        w.list(self.storms.iter())?;
        self.cancelled_wakes.walk(w)
    }

    pub fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        self.port.walk(w)?;
        self.round_robin.walk(w)?;
        self.walk_rest(w)
    }

    pub fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        use xoff_units::state::restore_each;
        self.port.restore(from)?;
        self.round_robin.restore(from)?;
        self.ready = Ready::of(&self.round_robin);
        self.feedback.restore(from)?;
        restore_each(self.drain.iter().count(), self.drain.iter_mut(), from)?;
        restore_each(self.storms.len(), self.storms.iter_mut(), from)?;
        self.cancelled_wakes.restore(from)
    }
}

/// The ports of a NIC. Most have one, which needs no second look at memory.
#[repr(C)]
pub(super) struct NicPorts {
    first: NicPort,
    more: Vec<NicPort>,
}

impl NicPorts {
    pub fn new(first: NicPort) -> NicPorts {
        NicPorts { first, more: Vec::new() }
    }

    pub fn push(&mut self, port: NicPort) {
        self.more.push(port);
    }

    pub fn len(&self) -> u16 {
        1 + self.more.len() as u16
    }

    /// True if there is only one.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.more.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &NicPort> {
        std::iter::once(&self.first).chain(&self.more)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut NicPort> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }
}

impl Index<u16> for NicPorts {
    type Output = NicPort;
    #[inline(always)]
    fn index(&self, port: u16) -> &NicPort {
        if port == 0 { &self.first } else { &self.more[port as usize - 1] }
    }
}

impl IndexMut<u16> for NicPorts {
    #[inline(always)]
    fn index_mut(&mut self, port: u16) -> &mut NicPort {
        if port == 0 { &mut self.first } else { &mut self.more[port as usize - 1] }
    }
}

/// A set of ports of a NIC, which has at most [`PORTS_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub(super) struct PortSet(u32);

/// Number of ports that a NIC may have.
pub const PORTS_MAX: usize = 32;

impl PortSet {
    /// The first port.
    pub const FIRST: PortSet = PortSet(1);

    pub fn of(ports: impl IntoIterator<Item = u16>) -> PortSet {
        PortSet(ports.into_iter().fold(0, |set, port| set | 1 << port))
    }

    /// True if both sets have a port in common.
    pub fn meets(self, other: PortSet) -> bool {
        self.0 & other.0 != 0
    }

    /// By number.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u16> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let port = (left != 0).then(|| left.trailing_zeros() as u16)?;
            left &= left - 1;
            Some(port)
        })
    }
}

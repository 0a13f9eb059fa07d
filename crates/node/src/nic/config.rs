//! Configuration of a NIC, and facts of a flow.

use xoff_mech::entropy::Entropies;
use xoff_mech::rate_control::RateControlKind;
use xoff_mech::transport::Transport;
use xoff_units::state::State;
use xoff_units::{Bytes, Class, FlowId, NodeId, Rate, Span, WireClock};

use super::port_choice::PortChoice;
use crate::ClassSet;
use crate::compat::Compat;
use crate::control::ControlDelay;

/// Acknowledgements on the wire, where the transport has them. `C` names a class; in a model it is
/// a priority, because classes are known only with the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acks<C = Class> {
    /// Length [bytes].
    pub len: u32,
    /// Their class; `None`: that of the data.
    pub class: Option<C>,
    /// Pause that holds them back at their host (in switches it is the pause of their own class).
    pub paused_with: PausedWith<C>,
}

impl<C> Acks<C> {
    /// The same with other names of classes; what has none is `None`.
    pub fn map<D>(self, name: impl Fn(C) -> Option<D>) -> Acks<D> {
        let paused_with = match self.paused_with {
            PausedWith::OwnClass => PausedWith::OwnClass,
            PausedWith::Class(class) => PausedWith::Class(class.and_then(&name)),
        };
        Acks { len: self.len, class: self.class.and_then(name), paused_with }
    }
}

/// Pause that holds back acknowledgements at their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausedWith<C = Class> {
    /// Pause of their own class.
    OwnClass,
    /// Pause of this class; `None`: no pause.
    Class(Option<C>),
}

/// Treatment of frames ahead of a gap at the receiver of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// They are discarded.
    #[default]
    Strict,
    /// They are kept, and delivered once they are in order.
    Buffer,
    /// They are delivered as they arrive, each byte once.
    Count,
}

/// Settings of all NICs of a network, whatever their links.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Flows that are over are cleared: there may be more of them than memory. Only where none of
    /// them loses frames, and none is asked for once it is over.
    pub clears_flows: bool,
    /// Delays of control messages.
    pub control_delay: ControlDelay,
    /// Number of classes.
    pub classes: usize,
    /// Classes that no flow control pauses.
    pub lossy: ClassSet,
    /// Rounding of the times by which flows are paced.
    pub clock: WireClock,
    /// Length of control frames [bytes]; `None`: that of the flow control.
    pub message_len: Option<Bytes>,
    /// Largest payload of a frame [bytes].
    pub payload_max: u32,
    /// Bytes on the wire around the payload.
    pub header: u32,
    /// Transport of every flow.
    pub transport: Transport,
    /// Acknowledgements of data, CNPs with them.
    pub acks: Acks,
    /// Class of CNPs, which nothing holds back: they wait behind messages of the flow control and
    /// go before everything else. `None`: that of acknowledgements, or of the data where there are
    /// none, with which they wait and are held.
    pub cnp_class: Option<Class>,
    /// Treatment of frames ahead of a gap.
    pub order: Delivery,
    /// The same for datagrams next to connections.
    pub order_of_datagrams: Delivery,
    /// Rate control of every flow.
    pub rate_control: RateControlKind,
    /// Bytes in flight per flow; `None`: unlimited.
    pub window: Option<u64>,
    /// The window shrinks with the rate.
    pub window_follows_rate: bool,
    /// The rate control's rate paces frames; off: only line rate does.
    pub rate_bound: bool,
    /// True if the host pauses all flows of a priority when the peer pauses single flows.
    pub obeys_priorities: bool,
    /// Entropy values of frames; `None`: a flow keeps the path of its hash.
    pub entropy: Option<Entropies>,
    /// Choice of the port of a flow, where a NIC has several.
    pub port_choice: PortChoice,
    /// Pacing of an application's rate.
    pub pacing: Pacing,
    /// Rules of a simulator that is replayed; default: none.
    pub compat: Compat,
}

/// Pacing of an application's constant rate when a frame of its flow is late, because another flow
/// is served or the peer pauses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The application keeps producing: the n-th byte is due at the start plus n times its gap.
    /// Late bytes leave as soon as they may. The NIC never sends more than has been produced.
    #[default]
    Schedule,
    /// The next frame keeps its distance from the previous one; lost time is not made up for. Rate
    /// limiters do the same.
    Gap,
}

/// A flow that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct FlowStart {
    /// Number of the flow.
    #[state(flow)]
    pub flow: FlowId,
    /// Host to which it leads.
    pub dst: NodeId,
    /// Priority class.
    pub class: Class,
    /// Payload [bytes]; `u64::MAX`: endless.
    #[state(saved)] // its rest bounds how often a state may recur
    pub size: u64,
    /// Rate at which the application produces it [bit/s]; `None`: as fast as it goes.
    pub app_rate: Option<Rate>,
    /// True if the NIC's end-to-end control applies: its rate control, or its connections.
    pub controlled: bool,
    /// Rail of its source: the number of its rank if it is a message of a job, otherwise of the
    /// host.
    pub rail: u16,
    /// Window of this flow [bytes]; overrides the NIC's.
    pub window: Option<u64>,
    /// Round-trip time of its way without queues; `None`: unknown.
    pub base_rtt: Option<Span>,
    /// Queue pair of this message, by a number of this NIC: rate control continues from the
    /// previous message. `None`: a separate flow.
    pub queue_pair: Option<u32>,
}

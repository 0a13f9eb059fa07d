//! Congestion points (802.1Qau): detection that sends a CNM to the source of a flow instead of
//! marking its frames.
//!
//! ```text
//!   frame stored  --- on_enqueue(flow, len, queue) ---> Cnm { flow, congestion }: a CNM to the source of the flow
//!   frame gone    --- on_dequeue(flow, len)
//!   flow control of this buffer stops its peer, lets it go --- on_stop, on_release;   the clock meanwhile --- on_wake
//! ```
//!
//! One exists per port, priority and monitored [`Side`]; ingress and egress of a port are two
//! buffers.

use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Time};

/// Buffer of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub enum Side {
    /// Frames that have arrived through the port and not left the switch.
    #[default]
    Ingress,
    /// Frames that wait to leave through the port.
    Egress,
}

/// Congestion of a buffer, as a CNM reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Degree in 6 bits, 1 to 63.
    pub degree: u8,
    /// Queue above its set point [bytes].
    pub above: i64,
    /// Growth of the queue since the last sample [bytes].
    pub growth: i64,
}

/// A CNM to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnm {
    /// Flow whose source receives it.
    pub flow: FlowId,
    /// Reported congestion.
    pub congestion: Congestion,
}

/// Monitors one buffer and decides when a CNM is due.
///
/// A call of `on_stop`, `on_release` or `on_wake` may be repeated, or come without need.
pub trait CongestionPoint {
    /// A frame of this flow has been stored; `queue` is the occupancy of the buffer now, the frame
    /// included. `draw` gives a number in [0, 1), drawn only when it is needed.
    fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm>;
    /// A frame of this flow is gone.
    fn on_dequeue(&mut self, now: Time, flow: FlowId, len: Bytes);
    /// The flow control of this buffer has sent XOFF to its peer.
    fn on_stop(&mut self, now: Time);
    /// The flow control of this buffer has sent XON to its peer.
    fn on_release(&mut self, now: Time);
    /// Time of the next call of [`on_wake`](CongestionPoint::on_wake).
    fn next_wake(&self) -> Option<Time>;
    /// The clock reaches `now`.
    fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm>;
}

//! Detection that speaks instead of marking: a buffer is watched, and the source of a flow in it is told.
//!
//! ```text
//!   frame stored  --- on_enqueue(flow, len, queue) ---> Notice { flow, congestion }: a frame back to the source of the flow
//!   frame gone    --- on_dequeue(flow, len)
//!   flow control of this buffer stops its peer, lets it go --- on_stop, on_release;   the clock meanwhile --- on_wake
//! ```
//!
//! One exists per port, priority and watched [`Side`]; ingress and egress of a port are two buffers.

use xoff_units::{Bytes, Time};

/// Which buffer of a port is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// What has come in by the port and not left the switch.
    #[default]
    Ingress,
    /// What waits to leave through the port.
    Egress,
}

/// What a congested buffer says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Degree in 6 bits, 1 to 63.
    pub degree: u8,
    /// Queue above its set point [bytes].
    pub above: i64,
    /// Growth of the queue since the last look [bytes].
    pub growth: i64,
}

/// Whom to tell, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Flow whose source is to be told.
    pub flow: u32,
    /// What it is told.
    pub congestion: Congestion,
}

/// Watches one buffer.
///
/// A call of `on_stop`, `on_release` or `on_wake` may be repeated, or come without need.
pub trait Notifier {
    /// A frame of this flow has been stored; `queue` is what the buffer holds now, the frame included. `draw` gives a number in
    /// [0, 1), drawn only when it is needed.
    fn on_enqueue(&mut self, now: Time, flow: u32, len: Bytes, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Notice>;
    /// A frame of this flow is gone.
    fn on_dequeue(&mut self, now: Time, flow: u32, len: Bytes);
    /// The flow control of this buffer has told its peer to stop.
    fn on_stop(&mut self, now: Time);
    /// The peer has been told that it may send again.
    fn on_release(&mut self, now: Time);
    /// When to call [`on_wake`](Notifier::on_wake) next.
    fn next_wake(&self) -> Option<Time>;
    /// The clock reaches `now`.
    fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Notice>;
}

//! Memory of frames and ports: the sizes of the engine's records, held to their targets by its
//! tests.

use crate::results::Stat;

/// Memory of a frame in a queue or on a wire [bytes].
pub fn per_frame() -> Option<Stat> {
    Stat::of([xoff_sim::BYTES_PER_FRAME as f64])
}

/// Memory of a port of a switch at which nothing happens [bytes].
pub fn per_idle_port() -> Option<Stat> {
    Stat::of([xoff_sim::BYTES_PER_IDLE_PORT as f64])
}

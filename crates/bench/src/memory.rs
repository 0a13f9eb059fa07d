//! What frames and ports cost in memory.

use crate::runs::Bench;

/// Memory of the engine [bytes].
pub struct Memory {
    /// Of a frame in a queue or on a wire.
    pub per_frame: f64,
    /// Of a port at which nothing happens.
    pub per_idle_port: f64,
}

/// Memory by part; `None`: not measured.
pub fn memory(_bench: &Bench) -> Option<Memory> {
    None
}

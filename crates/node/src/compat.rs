//! Differences between a replay of the HPCC simulator and the rules of xoff: every such setting of
//! a node, in one place.
//!
//! ```text
//!   Compat               settings for the replay only: off by default, never set by a scenario
//!   general options      Pacing::Gap, acknowledgements of interval 0, RecordFormat::Packed, WireClock::Nanoseconds, and in the simulator
//!                        EventOrder::Insertion, StartOrder, Losses, RngSource: the replay sets them, others may
//! ```
//!
//! Two rules of that simulator hold for all runs, because they cost nothing and have no effect in
//! other runs. A window that follows the rate is computed in 64 bits that wrap. The bytes in flight
//! after a late acknowledgement are, too.

/// The knobs of the replay of the HPCC simulator; all off: our own rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// Switch: when a link fails, the frames that wait for it are gone but stay charged to their
    /// ingress forever. Off: their memory is freed.
    pub failed_port_keeps_memory: bool,
    /// Switch: a frame that leaves through the port it came in by does not occupy the wire yet when
    /// its ingress sends a control frame, so that the two overlap on it. Routes lead back only
    /// after a failure. Off: one after the other.
    pub hairpin_overlap: bool,
    /// Buffer: the free part of a shared pool is computed in unsigned 32 bits, which wrap where the
    /// pool is over-committed. Off: it stops at zero.
    pub pool_wraps: bool,
    /// NIC: flows take turns in one ring for all classes, and the place in it that was served last
    /// is kept instead of the flow, so that the turn is lost when flows end while none can send.
    /// Off: by start of the flow, class by class.
    pub round_robin_by_place: bool,
    /// NIC: a pending wake-up is never replaced by an earlier one, but where a rate control moves a
    /// frame; and the next one is planned for all flows with bytes left, paused and window-bound
    /// ones included. Off: for the earliest flow that may send.
    pub wakes_stay: bool,
}

impl Compat {
    /// All of them, as the replay sets them.
    pub const HPCC_SIMULATOR: Compat = Compat {
        failed_port_keeps_memory: true,
        hairpin_overlap: true,
        pool_wraps: true,
        round_robin_by_place: true,
        wakes_stay: true,
    };
}

//! The tables of a run of a scheduled fabric.

use crate::cell::Node;
use crate::spec::{TableRow, TableSpec, table};
use crate::words::words;

/// Load that a workload puts on an output of a scheduled fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Load {
    /// More than it can carry.
    Hotspot,
    /// Not more.
    #[default]
    Normal,
}

words! {
    Load {
        Hotspot = "hotspot", "the workload offers more than the output can carry";
        Normal = "normal", "it does not";
    }
}

table! {
    /// A stretch of a run of a scheduled fabric.
    WindowRow in "windows" {
        /// End of the stretch.
        time_ps: u64 ["ps"],
        /// Bytes of packets that left through outputs that are no hotspots.
        cold_bytes: u64 ["bytes"],
        /// Bytes of packets that left through hotspots.
        hot_bytes: u64 ["bytes"],
        /// Packets that left through outputs that are no hotspots.
        cold_packets: u64,
        /// Mean delay of those, from the input adapter to the line, truncated; null: there were
        /// none.
        cold_delay_ps: Option<u64> ["ps"],
        /// Fullest fabric-output queue of a hotspot at the end.
        hot_queue_bytes_max: u32 ["bytes"],
        /// Mean fabric-output queue of the hotspots at the end.
        hot_queue_bytes_mean: f64 ["bytes"],
        /// Grants held by the input that holds most.
        grants_held_max: u32 ["segments"],
        /// Grants held by an input on average.
        grants_held_mean: f64 ["segments"],
        /// Sum of the delays behind `cold_delay_ps`.
        cold_delay_sum_ps: u64 ["ps"],
    }
}
table! {
    /// Counters of one port of a scheduled fabric, from the end of the warm-up on.
    FabricPortRow in "fabric_ports" {
        /// Port.
        port: Node,
        /// Whether the workload overloads it.
        load: Load,
        /// Bytes of packets for it that arrived at the inputs.
        offered_bytes: u64 ["bytes"],
        /// Bytes of packets that left through it.
        delivered_bytes: u64 ["bytes"],
        /// Bytes of packets that arrived through it and left through any output.
        sent_bytes: u64 ["bytes"],
        /// Number of pauses of its host, over the whole run.
        pauses: u64,
        /// Time that its host was paused, over the whole run.
        paused_ps: u64 ["ps"],
    }
}
table! {
    /// One flow of a host in one stretch of a run of a scheduled fabric.
    HostFlowRow in "host_flows" {
        /// End of the stretch.
        time_ps: u64 ["ps"],
        /// Number of the flow.
        flow: u32,
        /// Host.
        source: Node,
        /// Bytes that arrived at its input buffer, with the overhead on the line.
        rate_bps: u64 ["bit/s"],
        /// Rate of its limiter at the end; null: it has none.
        limit_bps: Option<u64> ["bit/s"],
        /// Input buffer at the end.
        input_bytes: u64 ["bytes"],
        /// The output buffer of its first destination at the end.
        output_bytes: u64 ["bytes"],
        /// Its own bytes in its input buffer at the end.
        held_bytes: u64 ["bytes"],
        /// Bytes that left its outputs, every copy counted, with the overhead on the line.
        delivered_bytes: u64 ["bytes"],
        /// CNMs that reached it.
        cnms: u64,
    }
}

/// Calls a macro with the tables of a run of a scheduled fabric. Their order is part of the result
/// hash.
#[macro_export]
macro_rules! fabric_tables {
    ($each:ident) => {
        $each! {
            windows: WindowRow,
            fabric_ports: FabricPortRow,
            host_flows: HostFlowRow
        }
    };
}

macro_rules! specs {
    ($($field:ident: $row:ident),*) => {
        &[$(&<$row as TableRow>::SPEC),*]
    };
}

/// The tables of a run of a scheduled fabric.
pub const FABRIC: &[&TableSpec] = fabric_tables!(specs);

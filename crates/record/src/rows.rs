//! The tables, one row type each. The declaration is the schema: names, order, types, nulls.
//!
//! Times are picoseconds since the start of the run, sizes bytes, rates bit/s. A port is directed: `H1->S1` as an
//! egress is H1's queue towards S1, as an ingress it is S1's buffer for what H1 sends.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, Field};

use crate::cell::{Beside, Cell, Dictionaries, Known, Label, Late, Message, Node, Port, words};

/// One row of a table.
pub trait Row: Copy {
    /// Name of the table.
    const TABLE: &'static str;
    /// One buffer per column.
    type Columns: Default + Send;
    /// The columns.
    fn fields() -> Vec<Field>;
    /// Appends the row to the buffers.
    fn push(&self, columns: &mut Self::Columns);
    /// Takes the buffers' content out, one array per column.
    fn take(columns: &mut Self::Columns, names: &Dictionaries) -> Result<Vec<ArrayRef>, ArrowError>;
    /// Appends the row's bytes for the hash.
    fn feed(&self, bytes: &mut Vec<u8>);
}

words! {
    /// Which buffer of a port.
    Side {
        /// Where frames of the upstream neighbour are accounted.
        Ingress = "ingress",
        /// Where frames wait to be sent.
        Egress = "egress",
    }
}
words! {
    /// Which way a control message went.
    Direction {
        /// Sent by the port's receiving end.
        Sent = "sent",
        /// Arrived at the port's sending end.
        Received = "received",
    }
}
words! {
    /// A congestion mark.
    Mark {
        /// Undetermined encountered.
        Ue = "ue",
        /// Congestion encountered.
        Ce = "ce",
    }
}
words! {
    /// State of an egress port (ternary congestion detection).
    State {
        /// Sends whenever it has something, and nothing builds up.
        NonCongestion = "non_congestion",
        /// Sends all the time, and a queue builds up that flow control has not caused.
        Congestion = "congestion",
        /// Flow control switches it off and on.
        Undetermined = "undetermined",
    }
}
words! {
    /// What a workload asks of an output of a scheduled fabric.
    Load {
        /// More than it can carry.
        Hotspot = "hotspot",
        /// Not more.
        Normal = "normal",
    }
}
words! {
    /// What kept a port from sending.
    PauseCause {
        /// A message of its far end, from the moment it took effect until another one lifted it or its time was over.
        Pause = "pause",
        /// A frame waited and its far end had given no credits for it.
        Credits = "credits",
        /// Frames waited, all of flows that its far end had paused.
        Flows = "flows",
    }
}

impl Default for PauseCause {
    fn default() -> Self {
        PauseCause::Pause
    }
}

words! {
    /// What a rate is.
    RateSource {
        /// Bytes that went out, over the sampling interval.
        Measured = "measured",
        /// The limit that flow control sets.
        FlowControl = "flow_control",
        /// The rate that congestion control sets.
        RateControl = "rate_control",
    }
}

macro_rules! row {
    ($(#[$doc:meta])* $name:ident in $table:literal { $($(#[$fdoc:meta])* $field:ident: $t:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $($(#[$fdoc])* pub $field: $t),* }

        const _: () = {
            /// One buffer per column.
            #[derive(Default, Debug)]
            pub struct Columns { $($field: <$t as Cell>::Buffer),* }

            impl Row for $name {
                const TABLE: &'static str = $table;
                type Columns = Columns;
                fn fields() -> Vec<Field> {
                    vec![$(Field::new(stringify!($field), <$t as Cell>::data_type(), <$t as Cell>::NULLABLE)),*]
                }
                fn push(&self, columns: &mut Columns) {
                    $(self.$field.push(&mut columns.$field);)*
                }
                fn take(columns: &mut Columns, names: &Dictionaries) -> Result<Vec<ArrayRef>, ArrowError> {
                    Ok(vec![$(<$t as Cell>::take(&mut columns.$field, names)?),*])
                }
                fn feed(&self, bytes: &mut Vec<u8>) {
                    $(self.$field.feed(bytes);)*
                }
            }
        };
    };
}

row! {
    /// One flow. Nulls: not finished.
    FlowRow in "flows" {
        /// Number of the flow.
        flow: u64,
        /// Sending host.
        src: Node,
        /// Receiving host.
        dst: Node,
        /// Source port.
        src_port: u16,
        /// Destination port.
        dst_port: u16,
        /// Priority, 0 to 7.
        priority: u8,
        /// Payload [bytes]; 2^64 - 1: unlimited.
        size_bytes: u64,
        /// Handed over by the application [ps].
        start_ps: u64,
        /// Delivered: its last byte arrived at the destination, in order [ps].
        end_ps: Option<u64>,
        /// Flow completion time, from `start_ps` to `end_ps` [ps].
        fct_ps: Option<u64>,
        /// Payload delivered: what arrived in order, without a gap from the first byte on [bytes].
        bytes_delivered: u64,
        /// Data frames that arrived marked CE (congestion encountered).
        ce_frames: u64,
        /// Data frames that arrived marked UE (undetermined encountered) and not CE.
        ue_frames: u64,
        /// Completion time of a lone flow on the same way, header and application's rate included: a lower bound; null: no end, no way,
        /// or the way changed [ps].
        ideal_fct_ps: Option<u64>,
        /// `fct_ps / ideal_fct_ps`.
        slowdown: Option<f64>,
        /// Workload it came from.
        label: Label,
        /// Notices of congested buffers that its source had while it sent.
        notices: Late,
        /// Its source knew that all had arrived: the last acknowledgement came [ps]; null: not yet, or hosts send none.
        acked_ps: Known,
        /// Payload that arrived, in any order, repetitions included [bytes].
        bytes_arrived: Beside,
    }
}
row! {
    /// Occupancy of a buffer at a time.
    QueueRow in "queues" {
        /// When [ps].
        time_ps: u64,
        /// Which port.
        port: Port,
        /// Which buffer of the port.
        kind: Side,
        /// Priority, 0 to 7.
        priority: u8,
        /// Occupancy [bytes].
        bytes: u64,
    }
}
row! {
    /// A rate from a time on, or over the interval that ends then.
    RateRow in "rates" {
        /// When [ps].
        time_ps: u64,
        /// Which port.
        port: Port,
        /// Priority, 0 to 7; null: all together.
        priority: Option<u8>,
        /// Number of the flow; null: not of one flow.
        flow: Option<u64>,
        /// The rate [bit/s].
        bits_per_second: u64,
        /// What it is.
        source: RateSource,
    }
}
row! {
    /// A flow-control message.
    ControlRow in "control" {
        /// When [ps].
        time_ps: u64,
        /// The port whose sending it governs.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Sent by the receiving end or arrived at the sending end.
        direction: Direction,
        /// What it says: `pause`, `resume`, `credit`, `stage`, ...
        message: Message,
        /// Its value: quanta, blocks, stage; the mechanism's page names the unit.
        value: u64,
    }
}
row! {
    /// One port of a deadlock's cycle.
    DeadlockRow in "deadlocks" {
        /// Found [ps].
        time_ps: u64,
        /// The cycle closed, that is, its last port blocked for good [ps].
        closed_ps: u64,
        /// Number of the cycle within the run.
        cycle: u32,
        /// Place in the cycle, from 0; each port waits for the next one.
        position: u32,
        /// The blocked port.
        port: Port,
        /// Its blocked priority.
        priority: u8,
        /// Frames that wait there.
        frames: u64,
        /// Bytes that wait there.
        bytes: u64,
        /// Blocked since [ps].
        blocked_since_ps: u64,
    }
}
row! {
    /// A stretch during which a port was not allowed to send. Under a pause by priority it begins and ends with the permission,
    /// whether a frame waits or not; under credits, and where single flows are paused, it is an OFF period: it begins when the frame at
    /// the head is refused and ends when one may go.
    PauseRow in "pauses" {
        /// The port that stopped.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// From [ps].
        from_ps: u64,
        /// To [ps]; null: still when the run ended.
        to_ps: Option<u64>,
        /// What kept it from sending.
        cause: Late<PauseCause>,
    }
}
row! {
    /// Counters of one directed port over the whole run.
    PortRow in "ports" {
        /// Which port.
        port: Port,
        /// Bytes it put on the wire, control frames not counted [bytes].
        tx_bytes: u64,
        /// Frames it put on the wire, control frames not counted.
        tx_frames: u64,
        /// Flow control messages that governed it: received by it.
        messages: u64,
        /// Frames marked CE when leaving through it.
        marked: u64,
        /// Frames marked UE when leaving through it.
        marked_ue: u64,
        /// Frames that it sent and the far end dropped.
        dropped: u64,
        /// Largest egress queue of one priority [bytes].
        egress_bytes_max: u64,
        /// Largest ingress buffer at its far end, one priority [bytes].
        ingress_bytes_max: u64,
        /// How often a message of its far end stopped it; want of credits counts under `holds`.
        pauses: u64,
        /// Time it was stopped so, any priority, open pauses included, expired ones up to their end [ps].
        pause_ps_total: u64,
        /// How often a frame at the head of its queue had to wait for its far end's word: a pause, or a lack of credits.
        holds: u64,
        /// Time that such frames waited, any priority, open holds included [ps].
        hold_ps_total: u64,
        /// Smallest rate its far end allowed [bit/s]; null: it never said.
        allowed_rate_min: Option<u64>,
        /// Notices that its egress queue sent to sources.
        notices_egress: Late,
        /// Notices that the ingress buffer at its far end sent to sources.
        notices_ingress: Late,
    }
}
row! {
    /// A notice of a congested buffer to the source of a flow.
    NotificationRow in "notices" {
        /// When it was made [ps].
        time_ps: u64,
        /// Which port.
        port: Port,
        /// Which buffer of the port.
        kind: Side,
        /// Priority, 0 to 7.
        priority: u8,
        /// Number of the flow whose source was told.
        flow: u64,
        /// Degree of congestion, 1 to 63.
        feedback: u8,
        /// Queue above its set point [bytes].
        q_off: i64,
        /// Growth of the queue since the last sample [bytes].
        q_delta: i64,
    }
}
row! {
    /// A frame that a port marked.
    MarkRow in "marks" {
        /// When it left [ps].
        time_ps: u64,
        /// Through which port.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Number of its flow.
        flow: u64,
        /// With what.
        mark: Mark,
    }
}
row! {
    /// The state of a port from a time on.
    StateRow in "states" {
        /// From [ps].
        time_ps: u64,
        /// Which port, as an egress.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Its state.
        state: State,
    }
}
row! {
    /// Who filled a buffer when it made its upstream neighbour pause: one row per flow and next port.
    CauseRow in "causes" {
        /// The pause was sent [ps].
        time_ps: u64,
        /// The port that was told to stop; the buffer is at its receiving end.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Number of the flow whose frames sat in the buffer.
        flow: u64,
        /// The port these frames waited for; if it was paused itself, the chain goes on there.
        next_port: Port,
        /// How much of the buffer they filled [bytes].
        bytes: u64,
    }
}
row! {
    /// A stretch of a run of a scheduled fabric.
    WindowRow in "windows" {
        /// Its end [ps].
        time_ps: u64,
        /// Bytes of packets that left through outputs that are no hotspots [bytes].
        cold_bytes: u64,
        /// Bytes of packets that left through hotspots [bytes].
        hot_bytes: u64,
        /// Packets that left through outputs that are no hotspots.
        cold_packets: u64,
        /// Mean delay of those, from the input adapter to the line, cut off [ps]; null: there were none.
        cold_delay_ps: Option<u64>,
        /// Fullest fabric-output queue of a hotspot at the end [bytes].
        hot_queue_bytes_max: u32,
        /// Mean fabric-output queue of the hotspots at the end [bytes].
        hot_queue_bytes_mean: f64,
        /// Grants held by the input that holds most [segments].
        grants_held_max: u32,
        /// Grants held by an input on average [segments].
        grants_held_mean: f64,
    }
}
row! {
    /// Counters of one port of a scheduled fabric, from the end of the warm-up on.
    FabricPortRow in "fabric_ports" {
        /// Which port.
        port: Node,
        /// Whether the workload overloads it.
        load: Load,
        /// Bytes of packets for it that came to the inputs [bytes].
        offered_bytes: u64,
        /// Bytes of packets that left through it [bytes].
        delivered_bytes: u64,
        /// Bytes of packets that came in through it and left somewhere [bytes].
        sent_bytes: u64,
        /// How often it stopped its host, over the whole run.
        stops: u64,
        /// Time that its host was stopped, over the whole run [ps].
        stopped_ps: u64,
    }
}
row! {
    /// One flow of a host in one stretch of a run of a scheduled fabric.
    HostFlowRow in "host_flows" {
        /// End of the stretch [ps].
        time_ps: u64,
        /// Number of the flow.
        flow: u32,
        /// Its host.
        source: Node,
        /// What came to its input buffer, with the overhead on the line [bit/s].
        bits_per_second: u64,
        /// Rate of its limiter at the end [bit/s]; null: it has none.
        limit: Option<u64>,
        /// Its input buffer at the end [bytes].
        input_bytes: u64,
        /// The output buffer of its first destination at the end [bytes].
        output_bytes: u64,
    }
}

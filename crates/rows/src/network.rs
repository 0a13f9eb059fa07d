//! The tables of a run of a network.

use xoff_mech::detection::{Mark, PortState, Side};
use xoff_mech::flow_control::StoppedBy;
use xoff_mech::watchdog::Action;
use xoff_units::state::State;

use crate::cell::{Label, Message, Node, Port};
use crate::spec::{TableRow, TableSpec, table};
use crate::words::{Cause, Direction, Operation, RateSource};

table! {
    /// One flow.
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
        /// Payload; 2^64 - 1: unlimited.
        size_bytes: u64 ["bytes"],
        /// The application handed it to the source.
        start_ps: u64 ["ps"],
        /// Delivery: its last byte arrived at the destination, in order; null: not finished.
        end_ps: Option<u64> ["ps"],
        /// Flow completion time, from `start_ps` to `end_ps`; null: not finished.
        fct_ps: Option<u64> ["ps"],
        /// Payload delivered in order, without a gap from the first byte.
        bytes_delivered: u64 ["bytes"],
        /// Data frames that arrived marked CE (congestion encountered).
        ce_frames: u64,
        /// Data frames that arrived marked UE (undetermined encountered) and not CE.
        ue_frames: u64,
        /// Completion time of the same flow alone in the network, header and application's rate
        /// included: a lower bound; null: the flow has no end or no route, or its route changed.
        ideal_fct_ps: Option<u64> ["ps"],
        /// `fct_ps / ideal_fct_ps`; null where one of them is.
        slowdown: Option<f64>,
        /// The workload it belongs to.
        label: Label,
        /// CNMs (802.1Qau) of congested buffers that arrived at its source while it transmitted.
        cnms: u64,
        /// The last acknowledgement arrived at the source; null: not yet, or hosts send none.
        acked_ps: Option<u64> ["ps"],
        /// Payload that arrived, in any order, repetitions included; frames that are kept ahead of a gap
        /// count when the gap is filled.
        bytes_arrived: u64 ["bytes"],
        /// Frames that arrived ahead of a gap and were kept, or delivered at once.
        frames_ahead: u64,
        /// Most bytes beyond the first gap: size that a reorder buffer needs.
        ahead_bytes_max: u64 ["bytes"],
        /// Longest time for which a frame was ahead of a gap that was filled.
        ahead_ps_max: u64 ["ps"],
        /// Number of paths, counted at the first switch: uplinks that its frames took there; 1: it
        /// had no choice; null: it sent nothing, its route changed, it is a message of a streamed
        /// job, or its host chose one of several ports and switches do not balance load.
        paths: Option<u32>,
        /// 1: a collision. At some time in its life another flow has the same main uplink (the one
        /// of the first switch that carries most of its bytes), while another uplink of the group
        /// is up and taken by no flow. 0: none; null: no choice at its first switch, or as `paths`.
        collided: Option<u8>,
    }
}
table! {
    /// Balance of load over a group of uplinks: ports of a switch that are alternatives of one
    /// another, that is, next hops of equal length to at least one destination, directly or through
    /// others of the group. Ports whose link failed before the end do not count. The load of a port
    /// is `tx_bytes` divided by its rate.
    UplinkRow in "uplinks" {
        /// The switch.
        switch: Node,
        /// Number of the group at the switch, from 0.
        group: u32,
        /// Ports of the group.
        ports: u32,
        /// Ports that carried a frame.
        used: u32,
        /// Bytes that they put on the wire, control frames not counted.
        tx_bytes: u64 ["bytes"],
        /// Jain's index of the loads x of the n ports over the whole run, (sum x)^2 / (n sum x^2):
        /// 1 if all are equal, 1/n if one has all; null: no load.
        jain: Option<f64>,
        /// Largest load divided by the mean load: 1 to n; null: no load.
        max_over_mean: Option<f64>,
        /// Samples of `rates` in which all its ports were recorded and one had load; 0: see
        /// `probes.rates`.
        samples: u64,
        /// Mean of Jain's index over these samples, each weighted with its load; null: none.
        jain_sampled: Option<f64>,
        /// Mean of the largest load divided by the mean load over these samples, weighted in the
        /// same way; null: none.
        max_over_mean_sampled: Option<f64>,
        /// Flows that had a choice here at the first switch of their path; null: a job is streamed.
        flows: Option<u64>,
        /// Flows among them that collided, see `collided` of `flows`; null: a job is streamed.
        collided: Option<u64>,
    }
}
table! {
    /// Occupancy of a buffer at a time.
    #[derive(State)]
    QueueRow in "queues" {
        /// Simulated time.
        time_ps: u64 ["ps"],
        /// Port.
        port: Port,
        /// Buffer of the port.
        kind: Side,
        /// Priority, 0 to 7.
        priority: u8,
        /// Bytes in the buffer.
        bytes: u64 ["bytes"],
    }
}
table! {
    /// A rate from a time on, or over the interval that ends then.
    #[derive(State)]
    RateRow in "rates" {
        /// Simulated time.
        time_ps: u64 ["ps"],
        /// Port.
        port: Port,
        /// Priority, 0 to 7; null: all together.
        priority: Option<u8>,
        /// Number of the flow; null: not of one flow.
        flow: Option<u64>,
        /// The rate.
        rate_bps: u64 ["bit/s"],
        /// Source of the rate.
        source: RateSource,
    }
}
table! {
    /// A flow-control message.
    #[derive(State)]
    ControlRow in "control" {
        /// Simulated time.
        time_ps: u64 ["ps"],
        /// The port whose sending it governs.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Sent by the receiving end or arrived at the sending end.
        direction: Direction,
        /// Kind of message: `pause`, `resume`, `credit`, `stage`, ...; a mechanism's page names its
        /// own.
        message: Message,
        /// Value: quanta, blocks, stage; the mechanism's page names the unit.
        value: u64,
    }
}
table! {
    /// One port of a deadlock's cycle.
    DeadlockRow in "deadlocks" {
        /// Time at which xoff detected the cycle.
        time_ps: u64 ["ps"],
        /// Start of the deadlock: the time at which the last port of the cycle blocked.
        start_ps: u64 ["ps"],
        /// Number of the cycle within the run.
        cycle: u32,
        /// Place in the cycle, from 0; each port waits for the next one.
        position: u32,
        /// The blocked port.
        port: Port,
        /// Blocked priority.
        priority: u8,
        /// Frames that wait there.
        frames: u64,
        /// Bytes that wait there.
        bytes: u64 ["bytes"],
        /// Time at which this port blocked.
        blocked_start_ps: u64 ["ps"],
    }
}
table! {
    /// Interval during which a port was paused. With pauses by priority, it lasts from XOFF to XON,
    /// whether a frame waits or not. With credits or pauses by flow, it is an OFF period: it starts
    /// when the frame at the head of a queue is blocked and ends when a frame may leave.
    PauseRow in "pauses" {
        /// The paused port.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Start of the pause.
        start_ps: u64 ["ps"],
        /// End of the pause; null: the port was still paused when the run ended.
        end_ps: Option<u64> ["ps"],
        /// Reason of the pause.
        cause: StoppedBy,
    }
}
table! {
    /// Counters of one directed port over the whole run.
    PortRow in "ports" {
        /// Port.
        port: Port,
        /// Bytes it put on the wire, control frames not counted.
        tx_bytes: u64 ["bytes"],
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
        /// Largest egress queue of one priority.
        egress_bytes_max: u64 ["bytes"],
        /// Largest ingress buffer at its far end, one priority.
        ingress_bytes_max: u64 ["bytes"],
        /// Number of pauses, that is messages of its far end that paused it. A lack of credits
        /// counts under `blocks`.
        pauses: u64,
        /// Time it was paused by such messages, unfinished pauses included. The times of its
        /// priorities are added, so two priorities that are paused for the same microsecond count
        /// as two.
        paused_ps: u64 ["ps"],
        /// Number of blocks: a frame at the head of a queue had to wait, for XON or for credits.
        blocks: u64,
        /// Time that such frames waited, unfinished blocks included. The times of its priorities
        /// are added.
        blocked_ps: u64 ["ps"],
        /// Smallest rate that its far end allowed; null: no message set one.
        allowed_bps_min: Option<u64> ["bit/s"],
        /// CNMs that its egress queue sent to sources.
        cnms_egress: u64,
        /// CNMs that the ingress buffer at its far end sent to sources.
        cnms_ingress: u64,
        /// Frames for it, of whatever ingress, that its egress queues had no room for; they are
        /// among the `dropped` of the ports that they came from.
        tail_dropped: u64,
        /// Frames that it sent and its link lost, control frames included: through errors, through
        /// a failure of the link, or given up by its retry.
        lost: u64,
        /// Flow control messages that its far end sent to govern it. At the end of a run some are
        /// still on the way; they are not among `messages`.
        messages_sent: u64,
    }
}
table! {
    /// A CNM: congestion notification message (802.1Qau) of a congested buffer to the source of a
    /// flow.
    #[derive(State)]
    CnmRow in "cnms" {
        /// Time of its creation.
        time_ps: u64 ["ps"],
        /// Port.
        port: Port,
        /// Buffer of the port.
        kind: Side,
        /// Priority, 0 to 7.
        priority: u8,
        /// Number of the flow whose source receives it.
        flow: u64,
        /// Degree of congestion, 1 to 63.
        feedback: u8,
        /// Queue above its set point.
        q_off: i64 ["bytes"],
        /// Growth of the queue since the last sample.
        q_delta: i64 ["bytes"],
    }
}
table! {
    /// A frame that a port marked.
    #[derive(State)]
    MarkRow in "marks" {
        /// Time of departure.
        time_ps: u64 ["ps"],
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
table! {
    /// The state of a port from a time on.
    #[derive(State)]
    StateRow in "states" {
        /// Time from which on the port has the state.
        time_ps: u64 ["ps"],
        /// Egress port.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// State.
        state: PortState,
    }
}
table! {
    /// Content of a buffer when its upstream port was paused or slowed down: one row per flow and
    /// next port.
    #[derive(State)]
    CauseRow in "causes" {
        /// Time at which the port was paused or slowed down.
        time_ps: u64 ["ps"],
        /// The port that was paused or slowed down; the buffer is at its receiving end.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Number of the flow whose frames sat in the buffer.
        flow: u64,
        /// The port these frames waited for; if it was paused itself, the chain continues there.
        next_port: Port,
        /// Bytes of the buffer that they filled.
        bytes: u64 ["bytes"],
    }
}

table! {
    /// A storm that the watchdog of a switch detected: the far end paused a queue for too long.
    StormRow in "storms" {
        /// The paused port.
        port: Port,
        /// Priority, 0 to 7.
        priority: u8,
        /// Start of the pause.
        start_ps: u64 ["ps"],
        /// Time at which the watchdog detected the storm.
        detected_ps: u64 ["ps"],
        /// End of the storm: the far end had not paused the queue for the restoration time; null:
        /// not before the run ended.
        end_ps: Option<u64> ["ps"],
        /// Effect on the queue.
        action: Action,
        /// Data frames that were discarded for it.
        discarded_data: u64,
        /// Acknowledgements, CNMs and CNPs that were.
        discarded_control: u64,
    }
}

table! {
    /// A pool of a switch's memory at one of its sides: size and highest occupancy.
    PoolRow in "pools" {
        /// The switch.
        switch: Node,
        /// Name of the pool.
        pool: Label,
        /// Whether groups at ingresses or queues at egresses draw on it; a pool of both has a row
        /// for each.
        side: Side,
        /// All of it.
        size_bytes: u64 ["bytes"],
        /// Bytes that its members reserve.
        reserved_bytes: u64 ["bytes"],
        /// Size of the shared part.
        shared_bytes: u64 ["bytes"],
        /// Highest occupancy of the shared part.
        shared_bytes_max: u64 ["bytes"],
        /// Headroom of its groups, or their shared headroom.
        headroom_bytes: u64 ["bytes"],
        /// Most of the headroom that was held.
        headroom_bytes_max: u64 ["bytes"],
    }
}

table! {
    /// An iteration of a rank of a job, with its time by cause. `compute_ps`, `exposed_ps` and
    /// `idle_ps` add up to the iteration, and so do the eight columns from `path_compute_ps` on:
    /// traced back from its end, each picosecond is attributed to the cause of the wait.
    RankRow in "ranks" {
        /// The job: its place in the scenario and its name, `job[0] train`.
        job: Label,
        /// Number of the iteration, from 0.
        iteration: u32,
        /// Number of the rank, from 0.
        rank: u32,
        /// Host.
        host: Node,
        /// The iteration begins.
        start_ps: u64 ["ps"],
        /// End of the iteration; null: not before the end of the run, and the later columns are 0.
        end_ps: Option<u64> ["ps"],
        /// Time in which it computes.
        compute_ps: u64 ["ps"],
        /// Time in which the rank has a message in flight: from the start of a send or receive to
        /// its end.
        comm_ps: u64 ["ps"],
        /// Exposed communication: the part of `comm_ps` in which the rank does not compute.
        exposed_ps: u64 ["ps"],
        /// Neither of both.
        idle_ps: u64 ["ps"],
        /// Time in which flow control did not let its host transmit, in the priority of the job.
        paused_ps: u64 ["ps"],
        /// The rank computed, and the next operation waited for it.
        path_compute_ps: u64 ["ps"],
        /// The rank was busy with the message itself: overheads.
        path_overhead_ps: u64 ["ps"],
        /// The rank waited for another rank that had not sent yet.
        path_peer_ps: u64 ["ps"],
        /// The rank waited for a message whose bytes were on the wire.
        path_serialisation_ps: u64 ["ps"],
        /// The rank waited for a message that was propagating through cables.
        path_propagation_ps: u64 ["ps"],
        /// The rank waited for a message, and a port on the path of the message was paused.
        path_pause_ps: u64 ["ps"],
        /// The rank waited for a message that rate control, or a window, delayed at its source.
        path_rate_limit_ps: u64 ["ps"],
        /// The rank waited for a message that was queued behind others.
        path_queueing_ps: u64 ["ps"],
        /// Least time of the iteration in any network: the longest of its computing, of the time
        /// that the bytes it sends take on the link of its host, and of the bytes it receives.
        ideal_ps: u64 ["ps"],
        /// Frames of messages to it that arrived ahead of a gap, see `frames_ahead` of `flows`.
        frames_ahead: u64,
        /// Largest reorder buffer of a message to it, see `ahead_bytes_max` of `flows`.
        ahead_bytes_max: u64 ["bytes"],
        /// Messages of it that collided, see `collided` of `flows`; null: the job is streamed.
        collided: Option<u64>,
    }
}
table! {
    /// A collective of an iteration.
    CollectiveRow in "collectives" {
        /// The job: its place in the scenario and its name, `job[0] train`.
        job: Label,
        /// Number of the iteration, from 0.
        iteration: u32,
        /// The collective: the name of its job and its own, `train gradients`; of several groups
        /// each has its number, `train experts[1]`.
        collective: Label,
        /// Number of ranks.
        ranks: u32,
        /// The first of them starts it.
        start_ps: u64 ["ps"],
        /// All have started it.
        all_started_ps: Option<u64> ["ps"],
        /// Time at which the last of them ended it; null: not before the end of the run.
        end_ps: Option<u64> ["ps"],
        /// Size.
        bytes: u64 ["bytes"],
        /// Algorithm bandwidth: size divided by the time from the first start to the last end,
        /// truncated; null: it has no size or no end.
        algorithm_bps: Option<u64> ["bit/s"],
        /// Bus bandwidth as nccl-tests counts it: for an all-reduce times 2 (n - 1) / n, for
        /// all-gather, reduce-scatter and all-to-all times (n - 1) / n.
        bus_bps: Option<u64> ["bit/s"],
    }
}
table! {
    /// A stretch of the critical path of an iteration. The path starts at the end of the previous
    /// iteration, or at the start of the job, and ends with the slowest rank. The stretches of all
    /// iterations together are the time of the job.
    PathRow in "critical_path" {
        /// The job: its place in the scenario and its name, `job[0] train`.
        job: Label,
        /// Number of the iteration, from 0.
        iteration: u32,
        /// Number of the stretch, in the order of time.
        position: u32,
        /// The rank that the next one waited for.
        rank: u32,
        /// Number of the operation in its rank.
        operation: u32,
        /// Start of the stretch.
        start_ps: u64 ["ps"],
        /// End of the stretch.
        end_ps: u64 ["ps"],
        /// Cause of the time.
        cause: Cause,
        /// The flow of the message that was waited for; null: none.
        flow: Option<u64>,
    }
}
table! {
    /// An operation of a rank. Computing of no duration has no row.
    OperationRow in "operations" {
        /// The job: its place in the scenario and its name, `job[0] train`.
        job: Label,
        /// Number of the iteration, from 0.
        iteration: u32,
        /// Number of the rank, from 0.
        rank: u32,
        /// Number of the operation in its rank, from 0.
        operation: u32,
        /// Work of the operation.
        work: Operation,
        /// The rank that the operation sends to or received from; null: it computes, or has
        /// received nothing yet.
        peer: Option<u32>,
        /// Bytes; null: it computes.
        bytes: Option<u64> ["bytes"],
        /// The flow of its message; null: none, or not known yet.
        flow: Option<u64>,
        /// Start of the operation; for a receive, the time at which it is posted.
        start_ps: u64 ["ps"],
        /// End of the operation: of computing; of a send, when the last frame starts on the wire
        /// (within a node: when the last byte has left); of a receive, when the message has
        /// arrived. Null: not before the run did.
        end_ps: Option<u64> ["ps"],
    }
}

/// Calls a macro with the tables of a run of a network. Their order is part of the result hash.
#[macro_export]
macro_rules! network_tables {
    ($each:ident) => {
        $each! {
            flows: FlowRow,
            queues: QueueRow,
            rates: RateRow,
            control: ControlRow,
            deadlocks: DeadlockRow,
            pauses: PauseRow,
            ports: PortRow,
            causes: CauseRow,
            states: StateRow,
            marks: MarkRow,
            cnms: CnmRow,
            storms: StormRow,
            ranks: RankRow,
            collectives: CollectiveRow,
            critical_path: PathRow,
            operations: OperationRow,
            pools: PoolRow,
            uplinks: UplinkRow
        }
    };
}

macro_rules! specs {
    ($($field:ident: $row:ident),*) => {
        &[$(&<$row as TableRow>::SPEC),*]
    };
}

/// The tables of a run of a network.
pub const NETWORK: &[&TableSpec] = network_tables!(specs);

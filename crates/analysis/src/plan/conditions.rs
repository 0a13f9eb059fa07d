//! Whether a set of parameters satisfies the assumptions of the papers. A violated condition is a
//! warning, never an error: Fig. 5 of the GFC paper violates its own Theorem 4.1, and has to run.

use xoff_mech::flow_control::FlowControl;
use xoff_mech::flow_control::gfc_conceptual::packet_slack;
use xoff_mech::{ControlLoop, LinkFacts};
use xoff_units::{Bytes, Rate, Span};

use super::output::Warning;

/// Real settings of a port, in plain numbers. Fields that a flow control does not use, or that are
/// unknown, stay at their default. A condition whose parameters are missing is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Link rate C.
    pub rate: Rate,
    /// Worst feedback latency tau of the link.
    pub tau: Span,
    /// Largest frame [bytes].
    pub mtu: Bytes,
    /// Ingress buffer of one port and priority, B [bytes].
    pub buffer: Bytes,
    /// PFC pause threshold; PFFC: Xoff_s, of a flow [bytes].
    pub xoff: Option<Bytes>,
    /// PFC resume threshold; PFFC: Xon_s, of a flow [bytes].
    pub xon: Option<Bytes>,
    /// PFC headroom above XOFF; `None`: the rest of the buffer. PFFC: of a flow above Xoff_s
    /// [bytes].
    pub headroom: Option<Bytes>,
    /// PFFC: flows of an ingress that may be congested at once.
    pub flows: Option<u64>,
    /// PFFC: switches on the way of a flow up to the one whose buffer this is; 0 counts as 1.
    pub hops: u64,
    /// PFFC: pause queues of a port.
    pub queues: Option<u64>,
    /// PFFC: slots in which flows are counted.
    pub slots: Option<u64>,
    /// Queue at which the GFC rate is zero [bytes].
    pub b_m: Option<Bytes>,
    /// Queue from which conceptual and time-based GFC slow down [bytes].
    pub b_0: Option<Bytes>,
    /// Start of the first stage of buffer-based GFC [bytes].
    pub b_1: Option<Bytes>,
    /// Period T of credit messages (CBFC, time-based GFC).
    pub period: Option<Span>,
    /// Rate of the last stage of buffer-based GFC; `None`: of the table that B_m and B_1 give.
    pub rate_lowest: Option<Rate>,
    /// Smallest rate the limiter can set; `None`: 8 kb/s (GFC section 7).
    pub rate_unit: Option<Rate>,
    /// CBFC counts in 12 bits, as on the wire.
    pub twelve_bit: bool,
    /// PFC: how long a pause lasts; `None`: until it is resumed.
    pub pause: Option<Span>,
    /// The longest time that a message waits for the wire and is on it.
    pub control_wait: Span,
    /// The part of the processing time of messages that varies.
    pub jitter: Span,
    /// The memory that the ingresses of a switch share; `None`: each has its buffer.
    pub pool: Option<Pool>,
}

/// Shared memory of a switch, as its ingresses see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// All memory [bytes].
    pub total: Bytes,
    /// Reserve of a port [bytes].
    pub reserve: Bytes,
    /// Headroom of the port [bytes].
    pub headroom: Bytes,
    /// Reserves and headrooms of all ports, once each [bytes].
    pub committed: Bytes,
    /// alpha = 2^-shift.
    pub shift: u8,
    /// Ports times priorities in use.
    pub ingresses: u64,
    /// Priorities in use.
    pub priorities: u64,
}

impl Pool {
    /// Rest that all of them share.
    fn pool(&self) -> Bytes {
        self.total.saturating_sub(self.committed)
    }
    /// Reserves and headrooms of all ports and priorities.
    fn promised(&self) -> u128 {
        u128::from(self.committed.0) * u128::from(self.priorities)
    }
    /// Whether every ingress can hold this much at once. Its share of the pool counts alone, or
    /// with its reserve and headroom. Less than a frame of each may stay unused.
    fn keeps(&self, held: Bytes, mtu: Bytes) -> bool {
        let from_pool = u128::from(held.saturating_sub(self.reserve).0);
        let (pool, n, inverse) =
            (u128::from(self.pool().0), u128::from(self.ingresses), 1u128 << self.shift);
        if pool >= (n + inverse) * from_pool {
            return true;
        }
        let share = pool.saturating_sub((n - 1) * from_pool) / (1 + inverse);
        u128::from(held.0) + 2 * u128::from(mtu.0)
            <= u128::from(self.reserve.0) + share + u128::from(self.headroom.0)
    }
    /// Memory with which every ingress can hold this amount from the pool.
    fn needed(&self, held: Bytes) -> u128 {
        u128::from(self.committed.0)
            + (u128::from(self.ingresses) + (1u128 << self.shift))
                * u128::from(held.saturating_sub(self.reserve).0)
    }
}

impl Parameters {
    pub(super) fn control_loop(&self) -> ControlLoop {
        ControlLoop { rate: self.rate, mtu: self.mtu, buffer: self.buffer, tau: self.tau }
    }
}

/// A configured flow control on a link of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Configured {
    /// The link.
    pub link: LinkFacts,
    /// Flows of one host and priority that never end: all of them may be congested at once.
    pub flows: u64,
    /// The memory that the ingresses of a switch share; `None`: each has its buffer.
    pub pool: Option<Pool>,
}

impl Configured {
    /// Settings that every flow control uses here, without its own numbers.
    pub fn parameters(&self, fc: &FlowControl) -> Parameters {
        Parameters {
            rate: self.link.rate,
            tau: fc.control_loop(&self.link).tau,
            mtu: self.link.mtu,
            buffer: self.link.buffer,
            control_wait: self.link.control_wait(fc.message_len()),
            jitter: self.link.jitter,
            pool: self.pool,
            ..Parameters::default()
        }
    }
}

/// A timed pause is repeated at half life; the repeat must take effect before the pause ends.
pub(super) fn pause_lasts(p: &Parameters, w: &mut Vec<Warning>) {
    let late = p.control_wait + p.jitter;
    let Some(pause) = p.pause.filter(|pause| late > *pause / 2) else { return };
    let quanta = (p.rate.bytes_in(late) * 2).0.div_ceil(64) + 1;
    w.push(Warning {
        condition: "half of a pause >= wait of its repeat",
        text: format!(
            "set quanta to {quanta} or more: a pause of {pause} is repeated after half of its time, the repeat may be {late} late, and \
             frames sent in between may be lost",
        ),
        source: "802.3 Annex 31D: a pause expires; docs/mechanisms/pfc.md",
    });
}

/// Static thresholds promise every ingress a fixed amount; a shared pool has to provide it while
/// all of them are full.
pub(super) fn shared(p: &Parameters, held: Bytes, w: &mut Vec<Warning>) {
    let Some(pool) = p.pool else { return };
    let promised = pool.promised();
    if promised > u128::from(pool.total.0) {
        w.push(Warning {
            condition: "ports x priorities x (reserve + headroom) <= shared_buffer",
            text: format!(
                "set shared_buffer to {promised} B or more: {} B are reserved for {} ingresses, but the switch has {}",
                promised, pool.ingresses, pool.total
            ),
            source: "one reserve and one headroom for each ingress and priority; docs/mechanisms/shared-buffer.md",
        });
    }
    if pool.keeps(held, p.mtu) {
        return;
    }
    w.push(Warning {
        condition: "pool >= (ingresses + 1/alpha) x (held - reserve)",
        text: format!(
            "set shared_buffer to {} B or more, or plan with a smaller buffer: each of {} ingresses may need {held}, but the pool of {} \
             with alpha = 1/{} gives less when all are full, so frames may be lost",
            pool.needed(held),
            pool.ingresses,
            pool.pool(),
            1u64 << pool.shift
        ),
        source: "limit = alpha x free pool; docs/mechanisms/shared-buffer.md",
    });
}

/// Largest start of a range below B_m; without room for it, B_m and the buffer have to change.
pub(super) fn start_at_most(name: &str, b_m: Bytes, range: Bytes, mtu: Bytes) -> String {
    match b_m.saturating_sub(range) {
        Bytes::ZERO => {
            let b_m = range + mtu * 2;
            format!(
                "set B_m to {b_m} or more, the buffer to {} or more, and {name} to B_m - {range} or less",
                b_m + packet_slack(mtu)
            )
        }
        most => format!("set {name} to {most} or less"),
    }
}

/// The theorems are about fluids; packets need room above B_m.
pub(super) fn packets(p: &Parameters, w: &mut Vec<Warning>) {
    let Some(b_m) = p.b_m else { return };
    let slack = packet_slack(p.mtu);
    if u128::from(b_m.0) + u128::from(slack.0) > u128::from(p.buffer.0) {
        w.push(Warning {
            condition: "B_m + 2 MTU <= buffer",
            text: format!(
                "{}: B_m {b_m} + 2 MTU exceeds the buffer {}, so frames above B_m may be lost",
                match p.buffer.saturating_sub(slack) {
                    Bytes::ZERO => format!("set the buffer to {} or more", b_m + slack),
                    most => format!("set B_m to {most} or less"),
                },
                p.buffer
            ),
            source: "packet granularity, not in the paper (GFC section 5.4 sets B_m = B)",
        });
    }
}

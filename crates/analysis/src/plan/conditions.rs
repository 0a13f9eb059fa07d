//! Does a set of parameters satisfy what the papers assume? A violated condition is a warning, never a refusal: Fig. 5
//! of the GFC paper violates its own Theorem 4.1, and has to run.

use xoff_units::{Bytes, Rate, Span};

use xoff_mech::ControlLoop;
use xoff_mech::flow_control::cbfc::buffer_for_full_rate;
use xoff_mech::flow_control::pfc::{headroom as pfc_headroom, hysteresis};

use super::cbfc::{BLOCK, blocks_of_buffer, blocks_of_packet, printable, twelve_bit_limit, twelve_bit_reach};
use super::gfc_buffer::{range as stage_range, stage_table};
use super::gfc_conceptual::{packet_slack, range_necessary, range_sufficient};
use super::link::bytes_ceil;
use super::output::Warning;
use crate::theorems::theorem_5_1;

/// What a port really uses, in plain numbers. Fields that a flow control has no use for, or that are unknown, stay at
/// their default; a condition whose parameters are missing is not checked.
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
    /// PFC headroom above XOFF; `None`: whatever the buffer leaves. PFFC: of a flow above Xoff_s [bytes].
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
    /// What is left for all of them.
    fn pool(&self) -> Bytes {
        self.total.saturating_sub(self.committed)
    }
    /// Reserves and headrooms of all ports and priorities.
    fn promised(&self) -> u128 {
        u128::from(self.committed.0) * u128::from(self.priorities)
    }
    /// Can every ingress hold so much at once? By its share of the pool alone, or with its reserve and headroom, each of which may be
    /// left unused by less than a frame.
    fn keeps(&self, held: Bytes, mtu: Bytes) -> bool {
        let from_pool = u128::from(held.saturating_sub(self.reserve).0);
        let (pool, n, inverse) = (u128::from(self.pool().0), u128::from(self.ingresses), 1u128 << self.shift);
        if pool >= (n + inverse) * from_pool {
            return true;
        }
        let share = pool.saturating_sub((n - 1) * from_pool) / (1 + inverse);
        u128::from(held.0) + 2 * u128::from(mtu.0) <= u128::from(self.reserve.0) + share + u128::from(self.headroom.0)
    }
    /// Memory with which every ingress can hold so much from the pool.
    fn needed(&self, held: Bytes) -> u128 {
        u128::from(self.committed.0)
            + (u128::from(self.ingresses) + (1u128 << self.shift)) * u128::from(held.saturating_sub(self.reserve).0)
    }
}

impl Parameters {
    fn control_loop(&self) -> ControlLoop {
        ControlLoop { rate: self.rate, mtu: self.mtu, buffer: self.buffer, tau: self.tau }
    }
}

/// Smallest rate of the limiters of commodity switches -- GFC section 7.
pub const RATE_UNIT: Rate = Rate(8_000);

/// The conditions of `flow_control` that do not hold; empty for a flow control without conditions ("none", or one
/// that this crate does not know).
pub fn conditions(flow_control: &str, p: &Parameters) -> Vec<Warning> {
    let mut w = Vec::new();
    if p.rate == Rate::ZERO {
        return w; // nothing flows, nothing can be violated
    }
    match flow_control {
        "pfc" => pfc(p, &mut w),
        "cbfc" => cbfc(p, &mut w),
        "gfc-conceptual" => {
            conceptual(p, &mut w);
            packets(p, &mut w);
        }
        "gfc-buffer" => {
            staged(p, &mut w);
            packets(p, &mut w);
        }
        "gfc-time" => {
            sampled(p, &mut w);
            packets(p, &mut w);
        }
        "pffc" => {
            by_flow(p, &mut w);
            pause_lasts(p, &mut w);
        }
        _ => return w,
    }
    match (flow_control, p.xoff) {
        ("pfc", Some(xoff)) => shared(p, xoff + pfc_headroom(&p.control_loop()), &mut w),
        ("pfc", None) => dynamic(p, &mut w),
        _ => shared(p, p.buffer, &mut w),
    }
    w
}

/// PFFC: what a flow needs, and how many flows there may be.
fn by_flow(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(xoff), Some(xon)) = (p.xoff, p.xon) else { return };
    let c_tau = p.rate.bytes_in(p.tau);
    if xon > xoff {
        w.push(Warning {
            condition: "Xon_s <= Xoff_s",
            text: format!("set Xon_s to {xoff} or less: Xon_s {xon} lies above Xoff_s"),
            source: "PFFC slides: pause above Xoff_s, resume at Xon_s",
        });
    }
    if xoff < c_tau {
        w.push(Warning {
            condition: "Xoff_s >= C tau",
            text: format!(
                "set Xoff_s to {c_tau} or more: Xoff_s {xoff} is less than what arrives in a loop, C tau (tau = {}), and a flow that is alone on its way may not use the link",
                p.tau
            ),
            source: "drain at C while a resume takes effect; entry xoff of docs/papers/pffc.md",
        });
    }
    let Some(flows) = p.flows else { return };
    if let Some(headroom) = p.headroom {
        let needed = u128::from(flows) * u128::from(p.hops.max(1)) * (u128::from(xoff.0) + u128::from(headroom.0));
        if needed > u128::from(p.buffer.0) {
            w.push(Warning {
                condition: "flows x (Xoff_s + headroom) <= buffer",
                text: format!(
                    "set the buffer to {0} or more: {flows} flows may hold {0} when all of them are congested, the buffer has {1}, and frames may be lost",
                    Bytes(needed.min(u128::from(u64::MAX)) as u64),
                    p.buffer
                ),
                source: "every flow has its own Xoff_s; entry loss of docs/papers/pffc.md",
            });
        }
    }
    if let Some(queues) = p.queues.filter(|&q| flows > q) {
        w.push(Warning {
            condition: "congested flows <= pause queues",
            text: format!(
                "set queues to {flows} or more: {flows} flows share {queues} pause queues, one waits for the others of its queue, and a cycle of buffers may close again"
            ),
            source: "a pause queue is resumed with its last flow; entry shared-queues of docs/papers/pffc.md",
        });
    }
    if let Some(slots) = p.slots {
        let shared = super::pffc::meets_another(flows, slots);
        if shared > 0.1 {
            w.push(Warning {
                condition: "1 - (1 - 1/slots)^(flows - 1) <= 0.1",
                text: format!(
                    "set slots to a larger number: of {flows} flows in {slots} slots {:.0} % share theirs with another one, and are paused with it",
                    shared * 100.0
                ),
                source: "entry collisions of docs/papers/pffc.md",
            });
        }
    }
}

fn pfc(p: &Parameters, w: &mut Vec<Warning>) {
    pause_lasts(p, w);
    let Some(xoff) = p.xoff else { return };
    let (c_tau, worst) = (bytes_ceil(p.rate, p.tau), pfc_headroom(&p.control_loop()));
    let headroom = p.headroom.unwrap_or(worst);
    let needs = xoff.0.saturating_add(headroom.0);
    if needs > p.buffer.0 {
        let buffer = Bytes(needs);
        let todo = match p.buffer.saturating_sub(headroom) {
            Bytes::ZERO => format!("set the buffer to {buffer} or more (no XOFF works in a buffer that does not exceed the headroom)"),
            most => format!("set XOFF to {most} or less, or the buffer to {buffer} or more"),
        };
        w.push(Warning {
            condition: "XOFF + headroom <= buffer",
            text: format!("{todo}: XOFF {xoff} + headroom {headroom} exceeds the buffer {}, and frames may be lost", p.buffer),
            source: "C tau + MTU arrive above XOFF; docs/mechanisms/pfc.md",
        });
    }
    if headroom < worst {
        w.push(Warning {
            condition: "headroom >= C tau + MTU",
            text: format!(
                "set the headroom to {} B or more: {} B < C tau + MTU = {} B (tau = {}), and frames are lost in the worst case",
                worst.0, headroom.0, worst.0, p.tau
            ),
            source: "GFC section 4.2, and the frame that passes XOFF; docs/mechanisms/pfc.md",
        });
    }
    let Some(xon) = p.xon else { return };
    if xon > xoff {
        w.push(Warning {
            condition: "XON <= XOFF",
            text: format!("set XON to {xoff} or less: XON {xon} lies above it"),
            source: "IEEE 802.1Q clause 36",
        });
    } else if xoff - xon < p.mtu {
        w.push(Warning {
            condition: "XOFF - XON >= MTU",
            text: format!(
                "set XON to {} or less: XOFF - XON = {} is less than a frame of {}, and every frame may cost a pause and a resume",
                xoff.saturating_sub(hysteresis(p.mtu)),
                xoff - xon,
                p.mtu
            ),
            source: "GFC section 4.1 recommends 2 MTU",
        });
    }
    if xon < c_tau {
        w.push(Warning {
            condition: "XON >= C tau",
            text: format!(
                "set XON to {c_tau} or more: XON {xon} is less than C tau, and the queue may run empty before a resume takes effect"
            ),
            source: "drain at C while a resume takes effect",
        });
    }
}

/// A timed pause is repeated at half life; the repeat must take effect before the pause ends.
fn pause_lasts(p: &Parameters, w: &mut Vec<Warning>) {
    let late = p.control_wait + p.jitter;
    let Some(pause) = p.pause.filter(|pause| late > *pause / 2) else { return };
    let quanta = (p.rate.bytes_in(late) * 2).0.div_ceil(64) + 1;
    w.push(Warning {
        condition: "half of a pause >= wait of its repeat",
        text: format!(
            "set quanta to {quanta} or more: a pause of {pause} is repeated after half of it, the repeat may be {late} late, and frames that are sent in between may be lost",
        ),
        source: "802.3 Annex 31D: a pause expires; docs/mechanisms/pfc.md",
    });
}

/// With a dynamic threshold everything after a pause goes into headroom.
fn dynamic(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(pool), worst) = (p.pool, pfc_headroom(&p.control_loop())) else { return };
    if pool.headroom < worst {
        w.push(Warning {
            condition: "headroom >= C tau + MTU",
            text: format!(
                "set switch.headroom to {worst} or more: {} is less than C tau + MTU (tau = {}), and frames may be lost",
                pool.headroom, p.tau
            ),
            source: "GFC section 4.2, and the frame that passes the limit; docs/mechanisms/shared-buffer.md",
        });
    }
}

/// Static thresholds promise every ingress so much; a shared pool has to keep that while all of them are full.
fn shared(p: &Parameters, held: Bytes, w: &mut Vec<Warning>) {
    let Some(pool) = p.pool else { return };
    let promised = pool.promised();
    if promised > u128::from(pool.total.0) {
        w.push(Warning {
            condition: "ports x priorities x (reserve + headroom) <= shared_buffer",
            text: format!(
                "set shared_buffer to {promised} B or more: {} B are promised to {} ingresses, and the switch has {}",
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
            "set shared_buffer to {} B or more, or plan with a smaller buffer: each of {} ingresses may hold {held}, of which the pool of {} with alpha = 1/{} keeps less when all are full, and frames may be lost",
            pool.needed(held), pool.ingresses, pool.pool(), 1u64 << pool.shift
        ),
        source: "limit = alpha x free pool; docs/mechanisms/shared-buffer.md",
    });
}

fn cbfc(p: &Parameters, w: &mut Vec<Warning>) {
    if p.twelve_bit && p.buffer > twelve_bit_limit() {
        w.push(Warning {
            condition: "buffer <= 2048 x 64 B",
            text: format!("set the buffer to 131072B or less, or counters = \"64-bit\": 12-bit counters announce at most 131,072 B, the buffer is {} B", p.buffer.0),
            source: "IBA vol. 1, section 7.9",
        });
    }
    let announced = if p.twelve_bit { p.buffer.min(twelve_bit_limit()) } else { p.buffer };
    if blocks_of_buffer(announced) < blocks_of_packet(p.mtu) {
        w.push(Warning {
            condition: "buffer >= 1 MTU in blocks",
            text: format!(
                "raise the buffer: {} blocks never suffice for a packet of {} blocks, and nothing is ever sent",
                blocks_of_buffer(announced),
                blocks_of_packet(p.mtu)
            ),
            source: "IBA vol. 1, section 7.9",
        });
    }
    let Some(period) = p.period else { return };
    let need = buffer_for_full_rate(&p.control_loop(), period);
    if announced.0 / BLOCK.0 * BLOCK.0 < need.0 {
        let reach = twelve_bit_reach(p.rate, p.mtu);
        let todo = match reach.0.checked_sub(p.tau.0) {
            _ if !p.twelve_bit || need <= twelve_bit_limit() => format!("set the buffer to {need} or more, or a shorter period"),
            Some(0) | None => {
                format!("set counters = \"64-bit\" and the buffer to {need} or more: 12-bit counters cannot carry tau = {}", p.tau)
            }
            Some(most) => format!(
                "set the period to {} or less with a buffer of 131072B, or counters = \"64-bit\" and the buffer to {need} or more",
                printable(Span(most))
            ),
        };
        w.push(Warning {
            condition: "buffer >= C (T + tau)",
            text: format!("{todo}: credits of {announced} per period {period} do not sustain {}", p.rate),
            source: "TCD section 4.4 (B > C T_c), plus the latency of the message",
        });
    }
}

/// Where a range below B_m has to start; without room for it, B_m and the buffer are what to change.
fn start_at_most(name: &str, b_m: Bytes, range: Bytes, mtu: Bytes) -> String {
    match b_m.saturating_sub(range) {
        Bytes::ZERO => {
            let b_m = range + mtu * 2;
            format!("set B_m to {b_m} or more, the buffer to {} or more, and {name} to B_m - {range} or less", b_m + packet_slack(mtu))
        }
        most => format!("set {name} to {most} or less"),
    }
}

/// Theorem 4.1.
fn conceptual(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_0)) = (p.b_m, p.b_0) else { return };
    let range = b_m.saturating_sub(b_0);
    let (sufficient, necessary) = (range_sufficient(p.rate, p.tau), range_necessary(p.rate, p.tau));
    if range >= sufficient {
        return;
    }
    let verdict = if range < necessary {
        format!("below e C tau = {necessary} the queue reaches B_m when the drain stops")
    } else {
        format!("it is above e C tau = {necessary}, which suffices in the fluid model")
    };
    w.push(Warning {
        condition: "B_0 <= B_m - 4 C tau",
        text: format!(
            "{}: B_m - B_0 = {range} is less than 4 C tau = {sufficient} (tau = {}); {verdict}",
            start_at_most("B_0", b_m, sufficient, p.mtu),
            p.tau
        ),
        source: "GFC Theorem 4.1",
    });
}

/// Section 5.4: the first stage, and the smallest rate.
fn staged(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_1)) = (p.b_m, p.b_1) else { return };
    let (range, need) = (b_m.saturating_sub(b_1), stage_range(p.rate, p.tau));
    if range < need {
        w.push(Warning {
            condition: "B_1 <= B_m - 2 C tau",
            text: format!(
                "{}: B_m - B_1 = {range} is less than 2 C tau = {need} (tau = {}), and a stage may be passed before its rate is in force",
                start_at_most("B_1", b_m, need, p.mtu),
                p.tau
            ),
            source: "GFC section 5.4, Eq. (5)",
        });
    }
    let unit = p.rate_unit.unwrap_or(RATE_UNIT);
    let derived = || if b_1 < b_m { stage_table(p.rate, b_m, b_1).last().map(|s| s.rate) } else { None };
    if let Some(lowest) = p.rate_lowest.or_else(derived).filter(|r| *r < unit) {
        w.push(Warning {
            condition: "R_N >= rate unit",
            text: format!("use fewer stages, or a limiter with a smaller unit: the last stage sends at {lowest}, below the rate unit {unit}: the limiter would alternate between zero and its unit, and hold-and-wait may return"),
            source: "GFC section 7",
        });
    }
}

/// Theorem 5.1, and what holds in its place for tau > T.
fn sampled(p: &Parameters, w: &mut Vec<Warning>) {
    let (Some(b_m), Some(b_0), Some(period)) = (p.b_m, p.b_0, p.period) else { return };
    if period == Span::ZERO {
        return;
    }
    let range = b_m.saturating_sub(b_0);
    let printed = theorem_5_1::bound(p.rate, p.tau, period);
    if p.tau > period {
        let exact = theorem_5_1::bound_any(p.rate, p.tau, period);
        let verdict = if range < exact { "it is not met" } else { "it is met" };
        w.push(Warning {
            condition: "tau <= T",
            text: format!(
                "check B_0 against {exact}, not the theorem: tau = {} exceeds the period T = {period}, for which Theorem 5.1 is false; its {printed} do not suffice; with B_m - B_0 = {range} {verdict}",
                p.tau
            ),
            source: "GFC Appendix B, which uses T - tau as a duration",
        });
    }
    if range < printed {
        w.push(Warning {
            condition: "B_0 <= B_m - (sqrt(tau/T) + 1)^2 C T",
            text: format!(
                "{}: B_m - B_0 = {range} is less than {printed} (tau = {}, T = {period}), and the queue may reach B_m",
                start_at_most("B_0", b_m, printed, p.mtu),
                p.tau
            ),
            source: "GFC Theorem 5.1",
        });
    }
}

/// The theorems are about fluids; packets need room above B_m.
fn packets(p: &Parameters, w: &mut Vec<Warning>) {
    let Some(b_m) = p.b_m else { return };
    let slack = packet_slack(p.mtu);
    if u128::from(b_m.0) + u128::from(slack.0) > u128::from(p.buffer.0) {
        w.push(Warning {
            condition: "B_m + 2 MTU <= buffer",
            text: format!(
                "{}: B_m {b_m} + 2 MTU exceeds the buffer {}, and whole frames may pass B_m and be lost",
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

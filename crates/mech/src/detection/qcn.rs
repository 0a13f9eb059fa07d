//! Quantized congestion notification: the congestion point (IEEE 802.1Qau, now 802.1Q clauses 30 to
//! 33; RZ 3880, "Unbiased QCN", IBM 2014, whose sign of the feedback is used here: positive is
//! congested).
//!
//! ```text
//!   every I_s bytes that arrive:       Q_off   = Q - Q_eq             where the queue is
//!                                      Q_delta = Q - Q_old            where it goes; Q_old = Q of the last sample
//!                                      Fb      = Q_off + w Q_delta    clipped at (2w + 1) Q_eq, in 6 bits: 0 to 63
//!   Fb > 0: a CNM to the source of the culprit; the next sample comes sooner, after I_s/1 ... I_s/8 bytes
//!
//!   keep-alive (RZ 3880, section IV)   arrivals ----|== PAUSE ==|---- arrivals
//!                                      samples  | | | |   |   |   | | |       while the input has paused its peer, the line
//!                                                                             counts as though it carried line rate
//! ```
//!
//! Whether the buffer is an output queue or an input buffer is its owner's affair: the law is the
//! same.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Rate, Time};

use super::Place;
pub use super::congestion_point::{Cnm, Congestion};
use super::congestion_point::{CongestionPoint, Side};
use super::culprit::{Culprits, Sampling};
use super::law::{CongestionPointLaw, Law, NetworkFacts};
use crate::Unmet;
use crate::flow_control::Pauses;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "setpoint",
        Kind::Bytes,
        "26KB",
        "target queue Q_eq",
        "802.1Q MIB, cpQueueSizeSetPoint; RZ 3880: 60 KB",
    ),
    ParamSpec::new(
        "weight",
        Kind::Count,
        "2",
        "weight w of the queue's growth Q_delta",
        "802.1Q MIB, cpFeedbackWeight: 2^1; RZ 3880",
    ),
    ParamSpec::new(
        "sample_base",
        Kind::Bytes,
        "150KB",
        "bytes I_s that arrive between two samples of a queue without congestion",
        "802.1Q MIB, cpMinSampleBase; RZ 3880",
    ),
    ParamSpec::new(
        "jitter",
        Kind::Flag,
        "true",
        "each interval is stretched by a random 0.85 to 1.15",
        "QCN pseudo-code 2.2",
    ),
    ParamSpec::new(
        "shrinking",
        Kind::Flag,
        "true",
        "the interval after a sample is I_s/(1 + feedback/8); false: always I_s",
        "QCN pseudo-code 2.2; RZ 3880 names the base only",
    ),
    ParamSpec::new(
        "placement",
        Kind::Choice(&["output", "input", "both"]),
        "output",
        "position of the congestion points: egress queues, ingress buffers, or both",
        "802.1Q 30.2.1; RZ 3880 section II-B",
    ),
    ParamSpec::new(
        "sampling",
        Kind::Choice(&["arrival", "largest", "random"]),
        "arrival",
        "flow whose source receives the CNM: the flow of the arriving frame, the flow with most bytes, or the flow of a random occupied unit of 256 B",
        "802.1Q 30.2.1; RZ 3880 section III-B",
    ),
    ParamSpec::new(
        "keep_alive",
        Kind::Flag,
        "false",
        "continue to sample an ingress that has paused its peer; needs an occupancy sampling",
        "RZ 3880 section IV",
    ),
];

/// Levels of the feedback: 6 bits.
pub const FEEDBACK_MAX: u8 = 63;

/// Positions of congestion points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At egress queues, as the standard has it.
    Output,
    /// At ingress buffers.
    Input,
    /// At both.
    Both,
}

impl Placement {
    /// True if this buffer of a port has a congestion point.
    pub fn has(self, side: Side) -> bool {
        self == Placement::Both
            || self == if side == Side::Ingress { Placement::Input } else { Placement::Output }
    }
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Q_eq [bytes].
    pub setpoint: Bytes,
    /// w.
    pub weight: u32,
    /// I_s [bytes].
    pub sample_base: Bytes,
    /// Intervals are stretched by 0.85 to 1.15.
    pub jitter: bool,
    /// Intervals follow the feedback.
    pub shrinking: bool,
    /// Positions of congestion points.
    pub placement: Placement,
    /// Choice of the flow whose source receives the CNM.
    pub sampling: Sampling,
    /// A clock samples while the ingress has paused its peer.
    pub keep_alive: bool,
}

/// Largest weight; MIB: 2^10.
const WEIGHT_MAX: u64 = 1 << 10;
/// Largest size that is taken, so that 128-bit products are never needed [bytes].
const SIZE_MAX: u64 = 1 << 40;

impl Params {
    /// Table I of RZ 3880, with its unit-less set point of 60 read as KB.
    pub fn unbiased_qcn(placement: Placement, sampling: Sampling) -> Params {
        Params {
            setpoint: Bytes::from_kb(60),
            weight: 2,
            sample_base: Bytes::from_kb(150),
            jitter: true,
            shrinking: true,
            placement,
            sampling,
            keep_alive: false,
        }
    }

    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let weight = v.count("weight")?;
        if weight > WEIGHT_MAX {
            return Err(ParamError::new(
                "weight",
                format!("{weight} is out of range"),
                format!("expected 0 to {WEIGHT_MAX}"),
            ));
        }
        let p = Params {
            setpoint: v.bytes("setpoint")?,
            weight: weight as u32,
            sample_base: v.bytes("sample_base")?,
            jitter: v.flag("jitter")?,
            shrinking: v.flag("shrinking")?,
            placement: match v.text("placement")?.as_str() {
                "input" => Placement::Input,
                "both" => Placement::Both,
                _ => Placement::Output,
            },
            sampling: match v.text("sampling")?.as_str() {
                "largest" => Sampling::Largest,
                "random" => Sampling::Random,
                _ => Sampling::Arrival,
            },
            keep_alive: v.flag("keep_alive")?,
        };
        for (key, size) in [("setpoint", p.setpoint), ("sample_base", p.sample_base)] {
            if size.0 == 0 || size.0 > SIZE_MAX {
                return Err(ParamError::new(
                    key,
                    format!("{size} is out of range"),
                    "expected a size above zero, below 1 TB",
                ));
            }
        }
        if p.keep_alive && p.placement == Placement::Output {
            return Err(ParamError::new(
                "keep_alive",
                "there is no congestion point at any input, and outputs pause no port",
                "expected placement = \"input\" or \"both\"",
            ));
        }
        if p.keep_alive && p.sampling == Sampling::Arrival {
            return Err(ParamError::new(
                "keep_alive",
                "sampling by arrival finds no culprit during a pause, when no packet arrives",
                "expected sampling = \"largest\" or \"random\"",
            ));
        }
        Ok(p)
    }

    /// Refuses a set point that a sampled buffer never reaches: `ingress` and `egress` are the most
    /// that an ingress and an egress queue can hold.
    pub fn validate(&self, ingress: Bytes, egress: Bytes) -> Result<(), ParamError> {
        for (side, most, name) in
            [(Side::Ingress, ingress, "ingress buffer"), (Side::Egress, egress, "egress queue")]
        {
            if self.placement.has(side) && self.setpoint > most {
                return Err(ParamError::new(
                    "setpoint",
                    format!(
                        "Q_eq {} is above the most that an {name} can hold, {most}: no CNM is ever sent",
                        self.setpoint
                    ),
                    "use a lower set point or a larger buffer",
                ));
            }
        }
        Ok(())
    }

    /// Saturation of the feedback: (2w + 1) Q_eq [bytes].
    pub fn feedback_range(&self) -> Bytes {
        self.setpoint * (2 * self.weight as u64 + 1)
    }

    /// Bytes until the next sample after one of this feedback, without jitter.
    pub fn interval(&self, feedback: u8) -> Bytes {
        // 150, 75, 50, 37.5, 30, 25, 21.4, 18.75 KB; the pseudo-code prints the last two as 21.5
        // and 18.5.
        if self.shrinking { self.sample_base / (1 + feedback as u64 / 8) } else { self.sample_base }
    }
}

impl Law for Params {
    /// Samples that are every frame, and set points that flow control keeps out of reach.
    fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
        let mut all = Vec::new();
        for (link, flow_control) in at.links {
            let on = format!("on {} links", link.rate);
            if self.sample_base < link.mtu {
                all.push(Unmet::new(
                    format!(
                        "I_s >= MTU {on}: {} < {}, every frame is a sample",
                        self.sample_base, link.mtu
                    ),
                    "802.1Q: cpMinSampleBase is 150 KB, and 10 KB at least",
                ));
            }
            match flow_control.pauses() {
                Pauses::Never if self.keep_alive => all.push(Unmet::new(
                    format!("keep_alive samples an ingress that has paused its peer, but {on} no ingress pauses"),
                    "set flow_control.kind = \"pfc\", or remove keep_alive (RZ 3880 section IV)",
                )),
                Pauses::At(xoff) if self.setpoint >= xoff => {
                    let what = if self.placement.has(Side::Ingress) { "an ingress" } else { "a queue that one ingress fills" };
                    all.push(Unmet::new(
                        format!("Q_eq < XOFF {on}: {} >= {xoff}, {what} is paused before it is congested", self.setpoint),
                        "RZ 3880 section II-B: the set point keeps the backlog below the threshold of PAUSE",
                    ));
                }
                _ => {}
            }
        }
        all
    }
    fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
        self.validate(place.link.buffer, memory)
    }
}

impl CongestionPointLaw for Params {
    type CongestionPoint = Qcn;

    fn congestion_point(&self, place: &Place, side: Side) -> Option<Qcn> {
        self.placement.has(side).then(|| Qcn::new(self, place.link.rate, place.link.buffer))
    }
}

/// Samples one buffer: when a sample is due, and its feedback value.
#[derive(Clone, Debug, PartialEq, State)]
pub struct Sampler {
    #[state(built)] // constant
    p: Params,
    /// Rate at which the line counts during a pause [bit/s] -- constant.
    line: Rate,
    /// Q_old [bytes].
    q_old: u64,
    /// Bytes that must arrive before the next sample; while the clock runs, as of its start.
    left: u64,
    /// Next sample of the clock; never: no pause, or no keep-alive.
    clock: Time,
}

impl Sampler {
    /// An empty buffer behind a line of this rate. The first interval is I_s without jitter.
    pub fn new(p: &Params, line: Rate) -> Self {
        Sampler { left: p.sample_base.0, p: p.clone(), line, q_old: 0, clock: Time::NEVER }
    }

    /// A frame of `len` has been stored, `queue` is the occupancy of the buffer now, the frame
    /// included [bytes]. `draw` gives a number in [0, 1); it is drawn once per sample, and only
    /// with jitter.
    #[inline]
    pub fn on_arrival(
        &mut self,
        _now: Time,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Congestion> {
        if self.clock != Time::NEVER {
            return None; // in flight when the pause began: the clock counts the line already
        }
        if self.left > len.0 {
            self.left -= len.0;
            return None;
        }
        self.sample(queue, draw)
    }

    /// From now on this buffer pauses its peer. Without keep-alive nothing follows.
    pub fn on_pause(&mut self, now: Time) {
        if self.p.keep_alive && self.clock == Time::NEVER {
            self.clock = now + self.line.time_for(Bytes(self.left));
        }
    }

    /// The peer may send again. Bytes that the clock has counted stay counted.
    pub fn on_resume(&mut self, now: Time) {
        if self.clock != Time::NEVER {
            self.left = self.line.bytes_in(self.clock.since(now)).0;
            self.clock = Time::NEVER;
        }
    }

    /// Time of the next call of [`on_clock`](Sampler::on_clock).
    pub fn next_clock(&self) -> Option<Time> {
        (self.clock != Time::NEVER).then_some(self.clock)
    }

    /// The clock of a pause may be due. An early or spurious call does nothing.
    pub fn on_clock(
        &mut self,
        now: Time,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Congestion> {
        if now < self.clock {
            return None;
        }
        let congestion = self.sample(queue, draw);
        self.clock = now + self.line.time_for(Bytes(self.left));
        congestion
    }

    fn sample(&mut self, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Congestion> {
        // The buffer of a switch is far below 2^62 bytes; a set point may be any number.
        let q_off = queue.0 as i64 - self.p.setpoint.0.min(i64::MAX as u64) as i64;
        let q_delta = queue.0 as i64 - self.q_old as i64;
        let feedback =
            quantise(q_off.saturating_add(self.p.weight as i64 * q_delta), self.p.feedback_range());
        self.q_old = queue.0;
        self.left = self.p.interval(feedback).0;
        if self.p.jitter {
            // 0.850, 0.851, ... 1.150, each equally likely.
            self.left = self.left.saturating_mul(850 + ((draw() * 301.0) as u64).min(300)) / 1_000;
        }
        self.left = self.left.max(1); // or a clock would stop
        (feedback > 0).then_some(Congestion { degree: feedback, above: q_off, growth: q_delta })
    }
}

/// Fb in 6 bits: 63 from `range` on, otherwise the whole part of 63 Fb/range; 0 for a value that is
/// not positive.
pub fn quantise(fb: i64, range: Bytes) -> u8 {
    let fb = (fb.max(0) as u64).min(range.0);
    (fb as u128 * FEEDBACK_MAX as u128 / range.0.max(1) as u128) as u8
}

/// A congestion point with the state to choose a culprit: the complete interface for the owner of a
/// buffer.
#[derive(Clone, Debug, PartialEq, State)]
#[state(in_place)]
pub struct Qcn {
    point: Sampler,
    culprits: Culprits,
}

impl Qcn {
    /// An empty buffer of this size behind a line of this rate.
    pub fn new(p: &Params, line: Rate, buffer: Bytes) -> Self {
        Qcn { point: Sampler::new(p, line), culprits: Culprits::new(p.sampling, buffer) }
    }

    /// A frame has been stored; `queue` includes it.
    #[inline]
    pub fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        self.culprits.insert(flow, len);
        let congestion = self.point.on_arrival(now, len, queue, draw)?;
        Some(Cnm { flow: self.culprits.pick(Some(flow), draw)?, congestion })
    }

    /// A frame has left the buffer.
    #[inline]
    pub fn on_dequeue(&mut self, flow: FlowId, len: Bytes) {
        self.culprits.remove(flow, len);
    }

    /// As [`Sampler::on_pause`].
    pub fn on_pause(&mut self, now: Time) {
        self.point.on_pause(now);
    }

    /// As [`Sampler::on_resume`].
    pub fn on_resume(&mut self, now: Time) {
        self.point.on_resume(now);
    }

    /// As [`Sampler::next_clock`].
    pub fn next_clock(&self) -> Option<Time> {
        self.point.next_clock()
    }

    /// As [`Sampler::on_clock`], with the culprit.
    pub fn on_clock(
        &mut self,
        now: Time,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        let congestion = self.point.on_clock(now, queue, draw)?;
        Some(Cnm { flow: self.culprits.pick(None, draw)?, congestion })
    }
}

impl CongestionPoint for Qcn {
    #[inline]
    fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        Qcn::on_enqueue(self, now, flow, len, queue, draw)
    }
    #[inline]
    fn on_dequeue(&mut self, _now: Time, flow: FlowId, len: Bytes) {
        Qcn::on_dequeue(self, flow, len);
    }
    fn on_stop(&mut self, now: Time) {
        self.on_pause(now);
    }
    fn on_release(&mut self, now: Time) {
        self.on_resume(now);
    }
    fn next_wake(&self) -> Option<Time> {
        self.next_clock()
    }
    fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm> {
        self.on_clock(now, queue, draw)
    }
}

#[cfg(test)]
mod tests;

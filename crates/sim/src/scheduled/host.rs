//! Hosts in front of the ports, and messages of the ports to them: PAUSE and CNMs.
//!
//! ```text
//!   Host: flows, a rate limiter each --line--> input buffer of the port: VOQs --> fabric --> output buffer --line--> Host
//!            ^                                   | STOP at Q_high, GO at Q_low                   |
//!            +---- PAUSE, CNM (64 B frames) -----+ congestion point            congestion point -+-- CNM, through the fabric
//! ```
//!
//! Source: Chrysos, Neeser et al., "Unbiased QCN for Scalable Server-Fabrics", IBM Research report
//! RZ 3880 (Unbiased QCN below).

use std::collections::VecDeque;
use xoff_net::workload::random;
use xoff_units::state::{State, may_be_gone};

use rand_chacha::ChaCha8Rng;
use xoff_mech::detection::af_qcn::{self, AfQcn};
use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{self, Cnm, Placement, Qcn};
use xoff_mech::rate_control::{RateControl as _, qcn as reaction};
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

use crate::scheduled::config::Config;
use crate::scheduled::measure::{Delay, add_each};

/// A flow of a host: frames at a constant rate, as far as its rate limiter and PAUSE let it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFlow {
    /// Host, by port.
    pub source: u32,
    /// Outputs; more than one for multicast.
    pub destinations: Vec<u32>,
    /// Rate that it would send at, with the overhead of a frame on the line [bit/s].
    pub rate: Rate,
    /// From when.
    pub start: Time,
    /// Until when.
    pub stop: Time,
}

/// Congestion points in use.
#[derive(Clone, Debug, PartialEq)]
pub enum CongestionPoints {
    /// Points of 802.1Qau; the parameters give their place and the addressed flow.
    Qcn(qcn::Params),
    /// Points of AF-QCN.
    AfQcn(af_qcn::Params),
}

impl CongestionPoints {
    pub(crate) fn qcn(&self) -> &qcn::Params {
        match self {
            CongestionPoints::Qcn(p) => p,
            CongestionPoints::AfQcn(p) => &p.qcn,
        }
    }
    /// At the inputs.
    pub(crate) fn at_inputs(&self) -> bool {
        self.qcn().placement != Placement::Output
    }
    /// At the outputs.
    pub(crate) fn at_outputs(&self) -> bool {
        self.qcn().placement != Placement::Input
    }
}

/// Hosts with PAUSE and, if asked for, QCN.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// Flows of the hosts.
    pub flows: Vec<HostFlow>,
    /// Length of a frame, and of PAUSE and CNM frames [bytes].
    pub frame: Bytes,
    /// PAUSE and CNM [bytes].
    pub control: Bytes,
    /// Gap, preamble and start of frame: bytes of a frame on a line beyond its length [bytes].
    pub overhead: Bytes,
    /// Gaps between frames of a flow are stretched by up to this part more or less, at random
    /// [1/1000]. 0: frames are paced evenly, as Unbiased QCN's limiters are taken to do; 1000: gaps
    /// of anything up to twice the length.
    pub gap_jitter: u32,
    /// Propagation between host and port [ps].
    pub delay: Span,
    /// Input buffer of a port [bytes].
    pub input_buffer: Bytes,
    /// Occupancy at which a port pauses its host, Q_high [bytes].
    pub stop: Bytes,
    /// Occupancy at which it lets it go again, Q_low [bytes].
    pub go: Bytes,
    /// Congestion points and reaction points; none: PAUSE only.
    pub qcn: Option<(CongestionPoints, reaction::Params)>,
    /// Edge-to-edge reliable delivery: an input keeps a frame until it is acknowledged, when it has
    /// left the output.
    pub reliable: bool,
    /// A CNM of an output, or an acknowledgement, from edge to edge [ps].
    pub edge_delay: Span,
    /// Lines whose rate changes: when, port, rate.
    pub line_changes: Vec<(Time, u32, Rate)>,
}

impl Hosts {
    /// The lengths and buffers of Unbiased QCN (Table I, section II-A).
    pub fn unbiased_qcn(
        flows: Vec<HostFlow>,
        qcn: Option<(CongestionPoints, reaction::Params)>,
    ) -> Hosts {
        Hosts {
            flows,
            frame: Bytes(1_522),
            control: Bytes(64),
            overhead: Bytes(20),
            gap_jitter: 0,
            delay: Span::from_ns(500),
            input_buffer: Bytes::from_kb(150),
            stop: Bytes::from_kb(110),
            go: Bytes::from_kb(44),
            qcn,
            reliable: false,
            edge_delay: Span::from_us(1),
            line_changes: Vec::new(),
        }
    }

    /// The settings that cannot work, to `require`: whether it holds, key, problem, remedy.
    pub(crate) fn problems(
        &self,
        c: &Config,
        require: &mut dyn FnMut(bool, &'static str, String, String),
    ) {
        require(
            self.go < self.stop && self.stop <= self.input_buffer,
            "stop",
            format!(
                "go < stop <= input_buffer: {}, {}, {} B",
                self.go.0, self.stop.0, self.input_buffer.0
            ),
            "Unbiased QCN has 44, 110 and 150 KB".into(),
        );
        // A frame that had just begun on each side, the PAUSE itself, and the bytes that the line
        // carries there and back.
        let behind = (self.frame + self.overhead) * 2
            + self.control
            + self.overhead
            + c.line.bytes_in(self.delay * 2);
        require(
            self.stop + behind <= self.input_buffer,
            "stop",
            format!(
                "stop + two frames, a PAUSE and a round trip of the line <= input_buffer: {} + {} > {} B",
                self.stop.0, behind.0, self.input_buffer.0
            ),
            format!(
                "expected a stop of at most {} B",
                self.input_buffer.0.saturating_sub(behind.0)
            ),
        );
        require(
            self.gap_jitter <= 1_000,
            "gap_jitter",
            format!("gap_jitter <= 1000: {}", self.gap_jitter),
            "a gap cannot be shorter than 0".into(),
        );
        require(
            c.traffic.load <= 0.0 || c.traffic.packet_max() <= self.frame,
            "sizes",
            format!(
                "packets of the workload <= frame: {} > {} B",
                c.traffic.packet_max().0,
                self.frame.0
            ),
            "expected packets of at most one frame, for which the room above `stop` is planned"
                .into(),
        );
        if let Some((points, reaction)) = &self.qcn {
            let p = points.qcn();
            require(
                p.sample_base.0 > 0,
                "sample_base",
                "sample_base > 0: the distance between samples is 0".into(),
                "Unbiased QCN has 150 KB".into(),
            );
            let output_buffer = Bytes(u64::from(c.output_slots) * c.segment_max.0);
            let buffers = [
                (points.at_inputs(), "input_buffer", self.input_buffer),
                (points.at_outputs(), "output buffer", output_buffer),
            ];
            for (_, name, buffer) in buffers.into_iter().filter(|b| b.0) {
                require(
                    p.setpoint.0 > 0 && p.setpoint <= buffer,
                    "setpoint",
                    format!("0 < setpoint <= {name}: {} B, {} B", p.setpoint.0, buffer.0),
                    "expected a setpoint that the queue can reach".into(),
                );
            }
            require(
                !p.keep_alive || p.sampling != Sampling::Arrival,
                "keep_alive",
                "keep_alive conflicts with sampling by arrival: no packet arrives during a pause"
                    .into(),
                "use occupancy sampling, largest or random".into(),
            );
            require(
                reaction.min_rate.0 > 0,
                "min_rate",
                "min_rate > 0: a flow at rate 0 never sends again".into(),
                "802.1Q has 5 Mb/s".into(),
            );
        }
        let ports = c.ports();
        let below = |p: &u32| *p < ports;
        if let Some(f) = self.flows.iter().find(|f| {
            f.destinations.is_empty() || !f.destinations.iter().chain([&f.source]).all(below)
        }) {
            require(
                false,
                "flows",
                format!(
                    "a flow has a source and destinations below {ports}: {} to {:?}",
                    f.source, f.destinations
                ),
                format!("ports are 0 to {}", ports - 1),
            );
        }
        if let Some(f) = self.flows.iter().find(|f| f.rate.0 == 0 || f.rate > c.line) {
            require(
                false,
                "flows",
                format!("0 < rate of a flow <= line: {}, {}", f.rate, c.line),
                "expected at most the rate of the line".into(),
            );
        }
        if let Some((_, port, rate)) =
            self.line_changes.iter().find(|(_, port, rate)| *port >= ports || rate.0 == 0)
        {
            require(
                false,
                "line_changes",
                format!("port < ports and rate > 0: port {port} of {ports}, {rate}"),
                "to stop a line, use `blocked`".into(),
            );
        }
    }
}

/// A frame on its way from a host to its port.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct HostFrame {
    /// Flow, over all hosts; `None`: one of the workload.
    pub flow: Option<u32>,
    pub destination: u32,
    pub len: u32,
}

/// One flow at its host.
#[derive(State)]
pub(crate) struct Sender {
    /// Number over all hosts.
    #[state(built)]
    pub number: u32,
    #[state(by = may_be_gone)]
    pub rate_control: Option<reaction::Qcn>,
    /// Start of the gap before the next frame [ps].
    pub base: u64,
    /// Earliest start of the next frame [ps].
    pub due: u64,
    /// Stretch of the gap before it [1/1000].
    pub stretch: u32,
}

impl Sender {
    /// Sets the earliest start of the next frame: the rate of the flow, or of its limiter, after
    /// `base`.
    pub fn pace(&mut self, rate: Rate, wire: Bytes) {
        let rate = self.rate_control.as_ref().map_or(rate, |rc| rate.min(rc.rate()));
        // In 128 bits: a frame at the slowest rate takes days.
        let gap = u128::from(rate.time_for(wire).0) * u128::from(self.stretch) / 1_000;
        self.due = self.base.saturating_add(gap.min(u128::from(u64::MAX)) as u64);
    }
}

/// A host.
#[derive(State)]
pub(crate) struct Host {
    #[state(each)]
    pub senders: Vec<Sender>,
    /// The sender after the one served last.
    pub next: usize,
    /// Packets of the workload.
    pub queue: VecDeque<HostFrame>,
    /// Frames on the line, in order.
    pub flying: VecDeque<HostFrame>,
    pub stopped: bool,
    pub busy_until: u64,
    /// Random gaps.
    #[state(by = random::position)]
    pub rng: ChaCha8Rng,
    /// Earliest pending call [ps].
    pub call: u64,
}

/// A congestion point of either kind.
#[derive(State)]
#[state(in_place)]
pub(crate) enum Point {
    Qcn(Qcn),
    AfQcn(AfQcn),
}

impl Point {
    pub fn new(p: &CongestionPoints, line: Rate, buffer: Bytes) -> Point {
        match p {
            CongestionPoints::Qcn(p) => Point::Qcn(Qcn::new(p, line, buffer)),
            CongestionPoints::AfQcn(p) => Point::AfQcn(AfQcn::new(p, line, buffer)),
        }
    }
    pub fn qcn(&mut self) -> &mut Qcn {
        match self {
            Point::Qcn(q) => q,
            Point::AfQcn(a) => a.qcn_mut(),
        }
    }
    pub fn on_enqueue(
        &mut self,
        now: Time,
        flow: u32,
        len: Bytes,
        queue: Bytes,
        rng: &mut ChaCha8Rng,
    ) -> Option<Cnm> {
        let draw = &mut || xoff_net::workload::random::uniform(rng);
        match self {
            Point::Qcn(q) => q.on_enqueue(now, FlowId(flow), len, queue, draw),
            Point::AfQcn(a) => a.on_enqueue(now, FlowId(flow), len, queue, draw),
        }
    }
    pub fn on_clock(&mut self, now: Time, queue: Bytes, rng: &mut ChaCha8Rng) -> Option<Cnm> {
        let draw = &mut || xoff_net::workload::random::uniform(rng);
        match self {
            Point::Qcn(q) => q.on_clock(now, queue, draw),
            Point::AfQcn(a) => a.on_clock(now, queue, draw),
        }
    }
}

/// The input buffer of a port that a host feeds, and the congestion points of the port.
#[derive(State)]
pub(crate) struct Buffers {
    /// Bytes of frames in the input buffer, and the most there ever were.
    pub held: u64,
    pub held_max: u64,
    /// STOP was sent last.
    pub stopping: bool,
    /// Next call of the clock of the input's congestion point [ps].
    pub clock: u64,
    #[state(by = may_be_gone)]
    pub input: Option<Point>,
    #[state(by = may_be_gone)]
    pub output: Option<Point>,
    #[state(by = random::position)]
    pub rng: ChaCha8Rng,
}

/// Frames with several destinations: how many copies of each are still in the input buffer, by
/// handle.
#[derive(Default, State)]
pub(crate) struct Multicasts {
    copies: Vec<u32>,
    free: Vec<u32>,
}

impl Multicasts {
    /// A frame of so many copies.
    pub fn add(&mut self, copies: u32) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.copies.push(0);
            self.copies.len() as u32 - 1
        });
        self.copies[id as usize] = copies;
        id
    }
    /// A copy has left the input buffer; whether it was the last.
    pub fn leave(&mut self, id: u32) -> bool {
        let copies = &mut self.copies[id as usize];
        *copies -= 1;
        let last = *copies == 0;
        if last {
            self.free.push(id);
        }
        last
    }
}

/// Observations of the hosts of a run in a window.
#[derive(Clone, Debug, Default, PartialEq, State)]
pub struct HostWindow {
    /// Bytes of each flow that came to its input buffer, with the overhead on the line [bytes].
    pub arrived: Vec<u64>,
    /// Bytes of each flow that left its output, every copy counted, with the overhead on the line
    /// [bytes].
    pub delivered: Vec<u64>,
    /// CNMs that reached each flow.
    pub cnms: Vec<u32>,
    /// Rate of the limiter of each flow at the end, if it has one.
    pub limit: Vec<Option<Rate>>,
    /// Bytes of each flow in its input buffer at the end [bytes].
    pub held: Vec<u64>,
    /// Occupancy of the input buffer of each flow at the end [bytes].
    pub input: Vec<u64>,
    /// Occupancy of the output buffer of the first destination of each flow at the end [bytes].
    pub output: Vec<u64>,
}

impl HostWindow {
    pub(crate) fn new(flows: usize) -> HostWindow {
        HostWindow {
            arrived: vec![0; flows],
            delivered: vec![0; flows],
            cnms: vec![0; flows],
            ..HostWindow::default()
        }
    }

    /// What another part of the fabric has counted.
    pub(crate) fn add(&mut self, o: &HostWindow) {
        add_each(&mut self.arrived, &o.arrived);
        add_each(&mut self.delivered, &o.delivered);
        add_each(&mut self.cnms, &o.cnms);
    }
}

/// Observations of the hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, State)]
pub struct HostReport {
    /// Stretches; their ends are those of the fabric's windows.
    pub windows: Vec<HostWindow>,
    /// CNMs that reached each flow.
    pub cnms: Vec<u64>,
    /// Delays of the frames of each flow, as those of the fabric: from the input buffer to the
    /// first bit on the output line.
    pub delays: Vec<Delay>,
    /// Delays of the workload's packets.
    pub background: Delay,
    /// STOPs that each port sent.
    pub stops: Vec<u64>,
    /// Time that each host was stopped [ps].
    pub stopped_ps: Vec<u64>,
    /// Largest occupancy of an input buffer [bytes].
    pub input_max: u64,
    /// Frames that came to a full input buffer; they are taken all the same, and counted.
    pub overflows: u64,
    /// Bytes of CNM and PAUSE frames on lines [bytes].
    pub control_bytes: u64,
}

impl HostReport {
    /// What another part of the fabric has seen. The windows are the whole fabric's.
    pub(crate) fn add(&mut self, o: &HostReport) {
        add_each(&mut self.cnms, &o.cnms);
        self.delays.resize(o.delays.len(), Delay::default());
        self.delays.iter_mut().zip(&o.delays).for_each(|(to, from)| to.merge(from));
        self.background.merge(&o.background);
        add_each(&mut self.stops, &o.stops);
        add_each(&mut self.stopped_ps, &o.stopped_ps);
        self.input_max = self.input_max.max(o.input_max);
        self.overflows += o.overflows;
        self.control_bytes += o.control_bytes;
    }
}

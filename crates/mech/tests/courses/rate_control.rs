//! Reaction points that learn of congestion, then are left alone long enough to be at line rate
//! again, and learn of it again.

use std::collections::BinaryHeap;

use xoff_mech::detection::Mark;
use xoff_mech::rate_control::{
    Ack, AnyRateControl, Feedback, FlowFacts, Hop, REGISTRY, RateControl, RateControlKind,
    RecordFormat, Wakes,
};
use xoff_units::state::{Reader, State, Writer};
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Digest, LINK, Lcg, lines};

const FLOW: FlowFacts =
    FlowFacts { line: LINK.rate, window: Some(30_000), base_rtt: Some(Span::from_us(12)), seed: 7 };

pub fn all() -> String {
    let together: &[(&str, &[&str])] = &[
        (
            "dcqcn",
            &[
                "variant=ns3-rdma clamp_target=true",
                "variant=ns3-rdma tcd=true tcd_cut=factor byte_counter=60KB",
                "variant=hpcc tcd=true",
                "variant=hpcc clamp_target=true fast_recovery=2",
                "variant=hpcc tcd=true tcd_cut=factor increase_timer=20us",
                "tcd=true cnp_interval=0us",
                "tcd=true tcd_cut=factor cnp_interval=9us",
                "byte_counter=60KB increase_timer=90us fast_recovery=1",
                "byte_counter=150KB increase_timer=500us alpha_timer=2ms",
                "byte_counter=150KB increase_timer=500us alpha_timer=2ms variant=ns3-rdma fast_recovery=3",
                "increase_timer=200us alpha_timer=900us variant=hpcc fast_recovery=3",
                "byte_counter=60KB increase_timer=30us rate_hai=500Mbps rate_ai=90Mbps",
                "variant=ns3-rdma byte_counter=60KB increase_timer=90us rate_hai=500Mbps",
                "variant=ns3-rdma byte_counter=60KB increase_timer=90us fast_recovery=2 g=0.9",
            ],
        ),
        (
            "timely",
            &[
                "variant=patched tcd=true",
                "variant=hpcc tcd=true",
                "variant=hpcc t_low=15us t_high=90us",
                "t_low=15us t_high=90us",
                "variant=patched t_low=15us t_high=90us",
                "t_low=15us t_high=90us tcd=true",
                "t_low=15us t_high=90us beta=0.3 segment=3KB tcd=true",
                "variant=patched t_low=15us t_high=90us beta=0.3 segment=3KB",
                "variant=hpcc t_low=15us t_high=90us beta=0.3 segment=3KB ewma=0.2 tcd=true",
            ],
        ),
        (
            "ib-cc",
            &[
                "tcd=true becn=ack",
                "tcd=true tcd_hold=false",
                "increase=5 limit=20 min=2",
                "timer=20us increase=9",
                "becn=ack increase=3",
            ],
        ),
        (
            "hpcc",
            &[
                "fast_react=false multi_rate=true",
                "multi_rate=true",
                "sample_feedback=true",
                "int_multi=4",
                "sample_feedback=true multi_rate=true",
                "eta=0.8 max_stage=2",
            ],
        ),
        (
            "qcn",
            &[
                "jitter=false",
                "jitter=false timer=900us byte_limit=40KB",
                "timer=300us byte_limit=60KB rate_ai=50Mbps rate_hai=300Mbps",
                "reaction=0us timer=300us byte_limit=30KB fast_recovery=2",
                "gd=6 min_dec_fac=20 timer=500us",
                "min_rate=400Mbps timer=300us byte_limit=20KB fast_recovery=1 rate_hai=40Mbps jitter=false",
            ],
        ),
    ];
    let mut t = String::new();
    for e in REGISTRY {
        let extra =
            together.iter().find(|(name, _)| *name == e.name).map_or(&[][..], |(_, extra)| extra);
        t += &lines(e.name, e.params, extra, |v| (e.read)(v).ok(), both);
    }
    t
}

/// With a window and a round trip, and without.
fn both(kind: &RateControlKind) -> String {
    let other = FlowFacts { window: None, base_rtt: None, seed: 8, ..FLOW };
    [FLOW, other]
        .iter()
        .filter_map(|flow| kind.reaction_point(flow).map(|p| Course::new(kind, flow, p).run(5_000)))
        .collect::<Vec<_>>()
        .join("; ")
}

struct Course<'k> {
    kind: &'k RateControlKind,
    flow: &'k FlowFacts,
    r: Lcg,
    d: Digest,
    now: Time,
    p: AnyRateControl,
    wakes: BinaryHeap<std::cmp::Reverse<(Time, u8)>>,
    sent: u64,
    acked: u64,
    /// For each hop: bytes that passed, and bytes that wait.
    hops: [(u64, u64); 3],
    lowest: Rate,
    at_line: u64,
    reports: u64,
    fired: u64,
    least_window: u64,
}

impl<'k> Course<'k> {
    fn new(kind: &'k RateControlKind, flow: &'k FlowFacts, p: AnyRateControl) -> Self {
        Course {
            kind,
            flow,
            r: Lcg(9),
            d: Digest::default(),
            now: Time::ZERO,
            p,
            wakes: BinaryHeap::new(),
            sent: 0,
            acked: 0,
            hops: [(0, 0); 3],
            lowest: LINK.rate,
            at_line: 0,
            reports: 0,
            fired: 0,
            least_window: u64::MAX,
        }
    }

    fn run(mut self, steps: u64) -> String {
        let (mut phase, mut until) = (0, 0);
        let mut send_at = Time::ZERO;
        for step in 0..steps {
            if step == until {
                // Congestion is short and calm is long, so that rates come back.
                phase = (phase + 1 + self.r.below(2)) % 4;
                until += if phase == 0 { 900 } else { 30 + self.r.below(90) };
            }
            if self.wakes.peek().is_some_and(|w| w.0.0 <= send_at) {
                let Some(std::cmp::Reverse((at, which))) = self.wakes.pop() else { break };
                self.now = self.now.max(at);
                self.with(|p, now, wakes| p.on_wake(now, which, wakes));
                self.fired += 1;
            } else {
                self.now = send_at;
                let len = if phase == 0 {
                    self.r.of(&[1_500, 9_000, 60_000])
                } else {
                    self.r.of(&[64, 1_500])
                };
                self.sent += len;
                self.with(|p, now, wakes| p.on_sent(now, Bytes(len), wakes));
                let rate = self.p.rate();
                send_at = self.now
                    + if rate.0 == 0 { Span::from_us(3) } else { rate.time_for(Bytes(len)) };
                // A flow that stops to send for a while.
                if self.r.once_in(300) {
                    send_at += Span::from_us(200);
                }
            }
            self.report(phase);
            if self.r.once_in(150) {
                let mut to = Writer::default();
                to.put(&self.p);
                let bytes = to.end().unwrap();
                self.p = self.kind.reaction_point(self.flow).unwrap();
                self.p.restore(&mut Reader::new(&bytes)).unwrap();
            }
            let rate = self.p.rate();
            self.lowest = self.lowest.min(rate);
            self.at_line += u64::from(rate.0 > LINK.rate.0 / 100 * 99);
            self.least_window = self.least_window.min(self.p.window().unwrap_or(u64::MAX));
            self.d.put(rate.0);
            self.d.put(self.p.window().unwrap_or(3));
        }
        let window = if self.least_window == u64::MAX {
            "none".to_owned()
        } else {
            self.least_window.to_string()
        };
        format!(
            "{:016x}, reports {}, woken {}, lowest {}, nearly at line rate {}, least window {window}",
            self.d.0, self.reports, self.fired, self.lowest, self.at_line
        )
    }

    /// A hook, and the wake-ups that it arms.
    fn with(&mut self, hook: impl FnOnce(&mut AnyRateControl, Time, &mut Wakes)) {
        let mut wakes = Wakes::default();
        hook(&mut self.p, self.now, &mut wakes);
        self.d.put(wakes.moves_next_frame().into());
        for (which, at) in wakes.iter() {
            self.d.put(at.0 + u64::from(which));
            self.wakes.push(std::cmp::Reverse((at, which)));
            // One that is stale, or early.
            if self.r.once_in(20) {
                self.wakes.push(std::cmp::Reverse((self.now.max(Time(at.0 - at.0 / 50)), which)));
            }
        }
    }

    /// In phase 0 nothing is congested, in 1 a little, in 2 much, in 3 it is undetermined.
    fn report(&mut self, phase: u64) {
        let every = [40, 6, 2, 4][phase as usize];
        if self.kind.wants_acks() {
            if self.r.once_in(2) {
                self.ack(phase);
            }
        } else if self.r.once_in(every) && (phase > 0 || self.r.once_in(60)) {
            let q = 1 + self.r.below(70) as u8;
            let undetermined = phase == 3 && self.r.below(3) > 0;
            self.reports += 1;
            let feedback = if self.kind.wants_quantized() {
                Feedback::Quantized(if phase == 1 { q / 8 } else { q })
            } else if undetermined {
                Feedback::Undetermined
            } else {
                Feedback::Congestion
            };
            self.with(|p, now, wakes| p.on_feedback(now, feedback, wakes));
        }
        // A message for another flow.
        if self.r.once_in(200) {
            let hop = [Hop::default()];
            let ack = Ack {
                acked: self.acked,
                sent: self.sent,
                rtt: Span::from_us(9),
                len: Bytes(64),
                mark: Mark::None,
                hops: &hop[..0],
            };
            let alien =
                if self.kind.wants_acks() { Feedback::Quantized(9) } else { Feedback::Ack(ack) };
            self.with(|p, now, wakes| p.on_feedback(now, alien, wakes));
        }
    }

    fn ack(&mut self, phase: u64) {
        let format = self.kind.telemetry().unwrap_or(RecordFormat::Exact);
        let gone = self.flow.base_rtt.unwrap_or(Span::from_us(12));
        let mut records = [Hop::default(); 3];
        for (n, (passed, queue)) in self.hops.iter_mut().enumerate() {
            let rate = [LINK.rate, Rate::from_gbps(25), Rate::from_gbps(25)][n];
            *passed += [3_000, 12_000, 16_000, 9_000][phase as usize]
                + self.r.below(4_000)
                + n as u64 * 500;
            *queue = (*queue + [0, 2_500, 9_000, 3_000][phase as usize])
                .saturating_sub(self.r.below(6_000))
                .min(400_000);
            records[n] =
                format.record(self.now + Span(n as u64 * 1_000), *passed, Bytes(*queue), rate);
        }
        let len = self.r.of(&[64, 1_500, 1_500]).min(self.sent - self.acked);
        self.acked += len;
        let waits = self.hops.iter().map(|(_, q)| LINK.rate.time_for(Bytes(*q)).0).sum::<u64>();
        let mark = if phase == 3 { self.r.of(&[Mark::Ue, Mark::None]) } else { Mark::None };
        let count = if self.kind.telemetry().is_none() || self.r.once_in(200) { 0 } else { 3 };
        let ack = Ack {
            acked: self.acked,
            sent: self.sent,
            rtt: gone + Span(waits / 3),
            len: Bytes(len),
            mark,
            hops: &records[..count],
        };
        self.reports += 1;
        self.with(|p, now, wakes| p.on_feedback(now, Feedback::Ack(ack), wakes));
    }
}

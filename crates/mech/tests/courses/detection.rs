//! Detectors at an egress that is stopped, resumes and drains; congestion points at a buffer that
//! fills and empties.

use std::collections::VecDeque;

use xoff_mech::detection::{
    AnyCongestionPoint, AnyDetector, Cnm, CongestionPoint, Detection, Detector, Mark, MarkCounts,
    Place, REGISTRY, Side,
};
use xoff_mech::flow_control::{self, FlowControl};
use xoff_units::params::Defaults;
use xoff_units::state::{Reader, State, Writer};
use xoff_units::{Bytes, FlowId, Span, Time};

use super::{Digest, LINK, Lcg, lines};

pub fn all() -> String {
    let together: &[(&str, &[&str])] = &[
        ("red", &["kmin=10KB kmax=40KB pmax=0.3", "kmin=20KB kmax=20KB pmax=1"]),
        (
            "tcd",
            &[
                "max_ton=60us",
                "max_ton=60us epsilon=0.1",
                "max_ton=9us period=4us threshold=20KB low_threshold=9KB",
                "share=0.5 period=30us",
            ],
        ),
        (
            "fecn",
            &[
                "weight=3 threshold=30KB",
                "threshold=20KB marking_rate=3",
                "threshold=20KB packet_size=20 victim_mask=all",
                "threshold=20KB packet_size=20 marking_rate=2 victim_mask=none",
            ],
        ),
        (
            "qcn",
            &[
                "setpoint=40KB jitter=false",
                "setpoint=40KB jitter=false shrinking=false sample_base=30KB",
                "setpoint=40KB sampling=largest sample_base=20KB placement=both",
                "setpoint=40KB sampling=random sample_base=20KB placement=both keep_alive=true",
                "setpoint=20KB sampling=arrival sample_base=20KB placement=input keep_alive=true weight=5",
            ],
        ),
        (
            "af-qcn",
            &[
                "setpoint=40KB sample_base=20KB window=60KB",
                "setpoint=30KB sample_base=20KB window=40KB alpha=0.9 sampling=random",
                "setpoint=40KB sample_base=20KB alpha=1 placement=both keep_alive=true window=90KB",
            ],
        ),
    ];
    let of = |name: &str| {
        let e = flow_control::REGISTRY.iter().find(|e| e.name == name).unwrap();
        (e.read)(&mut Defaults::of(e.params), &LINK).unwrap()
    };
    let (pfc, cbfc): (FlowControl, FlowControl) = (of("pfc"), of("cbfc"));
    let mut t = String::new();
    for e in REGISTRY {
        let extra =
            together.iter().find(|(name, _)| *name == e.name).map_or(&[][..], |(_, extra)| extra);
        t +=
            &lines(
                e.name,
                e.params,
                extra,
                |v| (e.read)(v).ok(),
                |d: &Detection| {
                    let places = [(&pfc, false), (&cbfc, true)].map(|(flow_control, to_host)| {
                        Place { link: &LINK, flow_control, to_host }
                    });
                    let marks = places.iter().map(|p| detector(d.detector(p)));
                    let sides = [Side::Ingress, Side::Egress]
                        .map(|s| d.congestion_point(&places[0], s).map(congestion_point));
                    marks.chain(sides.into_iter().flatten()).collect::<Vec<_>>().join("; ")
                },
            );
    }
    t
}

fn detector(mut det: AnyDetector) -> String {
    let (mut r, mut d, mut counts) = (Lcg(5), Digest::default(), MarkCounts::default());
    let (mut now, mut queue, mut on, mut phase) = (Time::ZERO, 0u64, true, (3, 3));
    let mut states = [0u64; 4];
    for step in 0..4_000 {
        if step % 90 == 0 {
            phase = r.of(&[(0, 5), (2, 3), (3, 3), (3, 2), (5, 1), (9, 1)]);
        }
        let jump = if r.once_in(70) { 60_000_000 } else { 2_400_000 };
        now += Span(r.below(jump));
        if r.below(6) < phase.0 {
            queue += r.of(&[64, 1_500, 1_500, 4_000]);
        }
        if r.once_in(if on { 25 } else { 9 }) {
            on = !on;
            if on { det.on_on(now, Bytes(queue)) } else { det.on_off(now) }
        }
        if on && queue > 0 && r.below(6) < phase.1 {
            let len = r.of(&[64, 1_500, 1_500]).min(queue);
            queue -= len;
            let mark = det.on_dequeue(now, Bytes(queue), Bytes(len), &mut || r.unit());
            counts.count(mark);
            d.put(mark as u64);
        }
        let state = det.state(now).map_or(3, |s| s as usize);
        states[state] += 1;
        d.put(state as u64);
        if r.once_in(100) {
            let mut to = Writer::default();
            to.put(&det);
            det.restore(&mut Reader::new(&to.end().unwrap())).unwrap();
        }
    }
    format!(
        "{:016x}, {} CE, {} UE, states {states:?}",
        d.0,
        counts.of(Mark::Ce),
        counts.of(Mark::Ue)
    )
}

fn congestion_point(mut p: AnyCongestionPoint) -> String {
    let (mut r, mut d) = (Lcg(6), Digest::default());
    let (mut now, mut bytes, mut stopped, mut phase) = (Time::ZERO, 0u64, false, (3, 3));
    let mut buffer: VecDeque<(u32, u64)> = VecDeque::new();
    let (mut cnms, mut least, mut most, mut stops) = (0u64, u8::MAX, 0, 0);
    let mut note = |d: &mut Digest, cnm: Option<Cnm>| {
        let Some(cnm) = cnm else { return d.put(0) };
        cnms += 1;
        (least, most) = (least.min(cnm.congestion.degree), most.max(cnm.congestion.degree));
        d.words([
            cnm.flow.into(),
            cnm.congestion.degree.into(),
            cnm.congestion.above as u64,
            cnm.congestion.growth as u64,
        ]);
    };
    for step in 0..5_000 {
        if step % 130 == 0 {
            phase = r.of(&[(1, 5), (2, 3), (3, 3), (4, 3), (5, 2), (6, 1), (6, 0)]);
        }
        let jump = if r.once_in(70) { 40_000_000 } else { 1_900_000 };
        now += Span(r.below(jump));
        if p.next_wake().is_some_and(|t| t <= now) || r.once_in(60) {
            let cnm = p.on_wake(now, Bytes(bytes), &mut || r.unit());
            note(&mut d, cnm);
        }
        if !stopped && r.below(6) < phase.0 && bytes < 140_000 {
            let len = r.of(&[64, 1_500, 1_500]);
            let flow = r.of(&[1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5 + (step as u32 / 900)]);
            bytes += len;
            buffer.push_back((flow, len));
            let cnm = p.on_enqueue(now, FlowId(flow), Bytes(len), Bytes(bytes), &mut || r.unit());
            note(&mut d, cnm);
        }
        if r.below(6) < phase.1
            && let Some((flow, len)) = buffer.pop_front()
        {
            bytes -= len;
            p.on_dequeue(now, FlowId(flow), Bytes(len));
        }
        if (bytes > 110_000) != stopped && r.once_in(5) {
            stopped = !stopped;
            stops += u64::from(stopped);
            if stopped { p.on_stop(now) } else { p.on_release(now) }
        }
        d.time(p.next_wake());
        if r.once_in(100) {
            let mut to = Writer::default();
            to.put(&p);
            p.restore(&mut Reader::new(&to.end().unwrap())).unwrap();
        }
    }
    format!("{:016x}, {cnms} CNMs of {least} to {most}, {stops} stops", d.0)
}

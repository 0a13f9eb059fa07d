//! Traces of the detector: departures of a port, and their marks.

use super::*;
use PortState::*;

use crate::LinkFacts;
use crate::flow_control::{Countdown, FlowControl, cbfc, gfc_buffer, gfc_conceptual, pfc};
use xoff_units::Rate;
use xoff_units::params::Defaults;

const C: Rate = Rate::from_gbps(40);
const MEMORY: Bytes = Bytes(10_000_000);
/// Longest ON period of a port that is released at `OFF_END + MAX_TON`.
const MAX_TON: u64 = 100_400;

fn link(rate: Rate, delay_us: u64) -> LinkFacts {
    LinkFacts::plain(rate, Span::from_us(delay_us), Bytes(1_000), Bytes::from_kb(400))
}

/// Thresholds of section 5.2.1.
fn pfc(xoff_kb: u64, xon_kb: u64) -> FlowControl {
    let threshold =
        pfc::Threshold::Static { xoff: Bytes::from_kb(xoff_kb), xon: Bytes::from_kb(xon_kb) };
    FlowControl::Pfc(pfc::Params { threshold, quanta: None, repeat: Span::ZERO })
}

fn read(given: &[(&str, &str)]) -> Result<Params, ParamError> {
    Params::read(&mut given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value)))
}

fn detector(given: &[(&str, &str)], link: &LinkFacts, flow_control: &FlowControl) -> Tcd {
    Tcd::new(&read(given).unwrap(), &Place { link, flow_control, to_host: false })
}

/// A port of the simulations: 40 Gb/s, 4 us, RED as a step at 200 KB unless `given` says otherwise.
fn port(given: &[(&str, &str)]) -> Tcd {
    let step = [("kmin", "200KB"), ("low_threshold", "5KB")];
    detector(&[&step[..], given].concat(), &link(C, 4), &pfc(320, 318))
}

fn at(ns: u64) -> Time {
    Time(ns * 1_000)
}

/// A frame leaves at `ns` with `kb` behind it, and nothing may be drawn.
fn leaves(d: &mut Tcd, ns: u64, kb: u64) -> Mark {
    d.on_dequeue(at(ns), Bytes::from_kb(kb), Bytes(1_000), &mut || panic!("no draw"))
}

fn off(d: &mut Tcd, from_ns: u64, to_ns: u64, kb: u64) {
    d.on_off(at(from_ns));
    assert_eq!(
        d.state(at(from_ns)),
        Some(Undetermined),
        "section 3.2.1: a port that is OFF is undetermined"
    );
    d.on_on(at(to_ns), Bytes::from_kb(kb));
}

/// Section 4.3, the law that the detector takes from the flow control: 34.4, 26.96 and 24.48 us for
/// PFC; the 100.4 us of the simulations; 870 us of the testbed (section 5.1.1).
#[test]
fn max_ton_follows_the_flow_control_of_the_link() {
    let auto = |gbps, delay, fc: &FlowControl| {
        detector(&[], &link(Rate::from_gbps(gbps), delay), fc).max_ton()
    };
    assert_eq!(auto(40, 1, &pfc(320, 318)), Span::from_ns(34_400));
    assert_eq!(auto(100, 1, &pfc(320, 318)), Span::from_ns(26_960));
    assert_eq!(auto(200, 1, &pfc(320, 318)), Span::from_ns(24_480));
    assert_eq!(auto(40, 4, &pfc(320, 318)), Span::from_ns(MAX_TON));
    // tau 20 us: two frames of 1000 B at 10 Gb/s take 1.6 us, the rest is delay and processing.
    let testbed = LinkFacts { processing: Span::from_ns(16_400), ..link(Rate::from_gbps(10), 1) };
    let d = detector(&[("epsilon", "0.04")], &testbed, &pfc(800, 770));
    assert_eq!(
        (d.max_ton(), d.period()),
        (Span::from_us(870), Span::from_us(870)),
        "T = max(T_on)"
    );
    let dynamic = pfc::Params {
        threshold: pfc::Threshold::Dynamic { xon_offset: Bytes(2_000) },
        quanta: None,
        repeat: Span::ZERO,
    };
    assert_eq!(auto(40, 1, &FlowControl::Pfc(dynamic)), Span::from_ns(34_400));
}

/// Section 4.4: max(T_on) = T_c, whatever epsilon is. GFC is not in the paper: its period, its
/// hysteresis, or nothing between B_1 and B_0.
#[test]
fn max_ton_of_credits_and_of_rates() {
    let credits = FlowControl::Cbfc(cbfc::Params {
        period: Span::from_us(60),
        buffer_blocks: 12_500,
        conformance: false,
    });
    for epsilon in ["0.01", "0.05", "1"] {
        let d = detector(&[("epsilon", epsilon)], &link(C, 4), &credits);
        assert_eq!((d.max_ton(), d.period()), (Span::from_us(60), Span::from_us(60)));
    }
    let (bm, b1, rate_unit) = (Bytes::from_kb(300), Bytes::from_kb(281), Rate(8_000));
    let (hysteresis, repeat, spacing) = (Bytes(2_000), Span::ZERO, Span::ZERO);
    let staged = FlowControl::GfcBuffer(gfc_buffer::Params {
        bm,
        b1,
        hysteresis,
        rate_unit,
        countdown: Countdown::Scaled,
        repeat,
        spacing,
        entry: None,
    });
    assert_eq!(detector(&[], &link(C, 4), &staged).max_ton(), Span::from_ns(MAX_TON));
    let ideal = FlowControl::GfcConceptual(gfc_conceptual::Params {
        bm,
        b0: b1,
        rate_unit,
        countdown: Countdown::Scaled,
    });
    assert_eq!(
        detector(&[], &link(C, 4), &ideal).max_ton(),
        Span::from_ns(92_400),
        "8.4 us / 2 / 0.05 + 8.4 us"
    );
    assert_eq!(FlowControl::None.max_ton(&link(C, 4), 0.05), None);
    let d = detector(&[("max_ton", "50us"), ("period", "7us")], &link(C, 4), &credits);
    assert_eq!(
        (d.max_ton(), d.period()),
        (Span::from_us(50), Span::from_us(7)),
        "what is given counts"
    );
}

/// Section 4.5: a priority that expects a quarter of 40 Gb/s has Eq. (3) with C = 10 Gb/s and the
/// delays of the link; of a credit period it has a quarter.
#[test]
fn a_priority_has_its_share_in_max_ton() {
    let whole = detector(&[], &link(C, 4), &pfc(320, 318)).max_ton();
    let quarter = detector(&[("share", "0.25")], &link(C, 4), &pfc(320, 318)).max_ton();
    // B_1 - B_0 takes four times as long at a quarter of the rate, all else is as before.
    let of_queue = |rate: Rate| {
        crate::flow_control::on_off::max_ton_by_queue(rate, Bytes(2_000), link(C, 4).tau(), 0.05)
    };
    assert_eq!((whole, quarter), (of_queue(C), of_queue(Rate::from_gbps(10))));
    assert!(quarter > whole);
    let credits = FlowControl::Cbfc(cbfc::Params {
        period: Span::from_us(60),
        buffer_blocks: 12_500,
        conformance: false,
    });
    assert_eq!(detector(&[("share", "0.25")], &link(C, 4), &credits).max_ton(), Span::from_us(15));
    for wrong in ["0", "1.5", "-1"] {
        assert_eq!(read(&[("share", wrong)]).unwrap_err().key, "share");
    }
}

/// The trace: with credits every 60 us and a quarter of the link a port that was stopped is
/// released 15 us after its last OFF, where it would be undetermined for 60 us with the whole of
/// it.
#[test]
fn a_share_releases_a_port_sooner() {
    let credits = FlowControl::Cbfc(cbfc::Params {
        period: Span::from_us(60),
        buffer_blocks: 12_500,
        conformance: false,
    });
    for (share, until) in [("1", 60_000), ("0.25", 15_000)] {
        let mut d = detector(
            &[("kmin", "200KB"), ("low_threshold", "5KB"), ("share", share)],
            &link(C, 4),
            &credits,
        );
        assert_eq!(leaves(&mut d, 0, 10), Mark::None);
        off(&mut d, 1_000, 1_200, 20);
        assert_eq!(
            (leaves(&mut d, 1_200, 20), leaves(&mut d, 1_200 + until - 1, 20)),
            (Mark::Ue, Mark::Ue),
            "{share}"
        );
        assert_eq!(leaves(&mut d, 1_200 + until, 20), Mark::None, "{share}: released");
    }
}

/// Fig. 6, transitions 1 and 2: before the first OFF T_on is infinite, and the port is judged as in
/// a lossy network.
#[test]
fn transitions_1_and_2_follow_the_queue() {
    let mut d = port(&[]);
    assert_eq!((leaves(&mut d, 0, 200), d.state(at(0))), (Mark::None, Some(NonCongestion)));
    assert_eq!((leaves(&mut d, 200, 201), d.state(at(200))), (Mark::Ce, Some(Congestion)));
    assert_eq!((leaves(&mut d, 400, 200), d.state(at(400))), (Mark::None, Some(NonCongestion)));
}

/// Fig. 6, transition 3: non-congestion to undetermined, after one single short pause. T_on <
/// max(T_on) decides, so the port is undetermined for 100.4 us from the end of the OFF, and not at
/// 100.4 us (section 4.1).
#[test]
fn transition_3_lasts_as_long_as_max_ton() {
    let mut d = port(&[]);
    assert_eq!(leaves(&mut d, 0, 10), Mark::None);
    off(&mut d, 1_000, 1_200, 20);
    for ns in [0, 200, 50_000, MAX_TON - 1] {
        assert_eq!(
            (leaves(&mut d, 1_200 + ns, 20), d.state(at(1_200 + ns))),
            (Mark::Ue, Some(Undetermined)),
            "{ns}"
        );
    }
    assert_eq!(leaves(&mut d, 1_200 + MAX_TON, 20), Mark::None, "released, but not judged yet");
    assert_eq!(d.state(at(1_200 + MAX_TON)), Some(Undetermined));
}

/// Fig. 6, transition 6: congestion to undetermined. The queue is above Kmax all the time and
/// marked UE only.
#[test]
fn transition_6_leaves_congestion() {
    let mut d = port(&[]);
    assert_eq!((leaves(&mut d, 0, 300), d.state(at(0))), (Mark::Ce, Some(Congestion)));
    off(&mut d, 200, 9_000, 310);
    assert_eq!((leaves(&mut d, 9_000, 309), d.state(at(9_000))), (Mark::Ue, Some(Undetermined)));
}

/// Fig. 6, transition 4: undetermined to non-congestion, as soon as the queue is down to the low
/// threshold (section 4.2), although it was above Kmax when the port was released.
#[test]
fn transition_4_waits_for_the_low_threshold() {
    let mut d = port(&[]);
    off(&mut d, 0, 10_000, 500);
    assert_eq!(leaves(&mut d, 10_000 + MAX_TON, 300), Mark::None);
    assert_eq!(
        leaves(&mut d, 10_000 + 2 * MAX_TON, 210),
        Mark::None,
        "shrunk in the period: no packets are marked"
    );
    assert_eq!(leaves(&mut d, 215_000, 6), Mark::None);
    assert_eq!(d.state(at(215_000)), Some(Undetermined));
    assert_eq!(
        (leaves(&mut d, 215_200, 5), d.state(at(215_200))),
        (Mark::None, Some(NonCongestion))
    );
    assert_eq!(
        (leaves(&mut d, 215_400, 201), d.state(at(215_400))),
        (Mark::Ce, Some(Congestion)),
        "the lossy rule again"
    );
}

/// Fig. 6, transition 5: undetermined to congestion, at the end of the first period in which the
/// queue has grown and is above the threshold (section 4.1): at 2 max(T_on) after the OFF, not a
/// nanosecond earlier.
#[test]
fn transition_5_takes_one_period_of_growth() {
    let mut d = port(&[]);
    off(&mut d, 0, 10_000, 300);
    let released = 10_000 + MAX_TON;
    assert_eq!(leaves(&mut d, released, 400), Mark::None);
    assert_eq!(leaves(&mut d, released + MAX_TON - 1, 450), Mark::None, "within the period");
    let decided = released + MAX_TON;
    assert_eq!((leaves(&mut d, decided, 401), d.state(at(decided))), (Mark::Ce, Some(Congestion)));
    assert_eq!(leaves(&mut d, decided + 200, 390), Mark::Ce, "from now on the lossy rule decides");
    assert_eq!(
        (leaves(&mut d, decided + 400, 200), d.state(at(decided + 400))),
        (Mark::None, Some(NonCongestion))
    );
}

/// Section 4.1: growth alone does not suffice, nor does a long queue. Both are strict.
#[test]
fn growth_and_threshold_are_both_needed() {
    let mut d = port(&[("threshold", "250KB")]);
    off(&mut d, 0, 0, 100);
    let look = |k: u64| MAX_TON * k;
    assert_eq!(leaves(&mut d, look(1), 100), Mark::None);
    assert_eq!(leaves(&mut d, look(2), 250), Mark::None, "grown, but only to the threshold");
    assert_eq!(leaves(&mut d, look(3), 250), Mark::None, "not grown");
    assert_eq!(leaves(&mut d, look(4), 300), Mark::Ce);
}

/// `growth`: a queue that is longer by at most that has not grown. A backlog that leaves at line rate
/// is one frame longer at one sample than at another.
#[test]
fn one_frame_more_is_no_growth_with_hysteresis() {
    let at_second_sample = |given: &[(&str, &str)], kb| {
        let mut d = port(given);
        off(&mut d, 0, 0, 300);
        assert_eq!(leaves(&mut d, MAX_TON, 300), Mark::None);
        leaves(&mut d, 2 * MAX_TON, kb)
    };
    assert_eq!(at_second_sample(&[], 301), Mark::Ce);
    assert_eq!(at_second_sample(&[("growth", "1KB")], 301), Mark::None);
    assert_eq!(at_second_sample(&[("growth", "1KB")], 302), Mark::Ce);
}

/// A period T of its own: looks at release + k T (section 4.3 recommends T = max(T_on)).
#[test]
fn periods_are_counted_from_the_release() {
    let mut d = port(&[("max_ton", "50us"), ("period", "20us")]);
    off(&mut d, 0, 1_000, 300);
    // Released at 51 us; the first departure comes 3 us later, the period still ends at 71 us.
    assert_eq!(leaves(&mut d, 54_000, 300), Mark::None);
    assert_eq!(leaves(&mut d, 70_999, 310), Mark::None);
    assert_eq!(leaves(&mut d, 71_000, 299), Mark::None, "shrunk");
    assert_eq!(leaves(&mut d, 90_999, 400), Mark::None);
    assert_eq!(leaves(&mut d, 91_000, 300), Mark::Ce, "299 KB at 71 us");
}

/// Nothing leaves for several periods (another priority has the wire): the queue of then is
/// compared with that of now, once, and the next poll is at the next multiple of T.
#[test]
fn periods_without_departures_are_skipped() {
    let mut d = port(&[("max_ton", "50us"), ("period", "20us")]);
    off(&mut d, 0, 1_000, 300);
    assert_eq!(leaves(&mut d, 51_000, 300), Mark::None);
    // 71, 91, 111, 131 us have passed.
    assert_eq!(leaves(&mut d, 137_000, 280), Mark::None, "shrunk over all of them");
    assert_eq!(leaves(&mut d, 150_999, 400), Mark::None, "the next look is at 151 us");
    assert_eq!(leaves(&mut d, 151_000, 281), Mark::Ce);
    // The same with growth; and with a first departure several periods after the release.
    let mut d = port(&[("max_ton", "50us"), ("period", "20us")]);
    off(&mut d, 0, 1_000, 300);
    assert_eq!(leaves(&mut d, 115_000, 300), Mark::None, "nothing to compare with");
    assert_eq!(leaves(&mut d, 130_999, 400), Mark::None);
    assert_eq!(leaves(&mut d, 999_000, 301), Mark::Ce);
    // Or the queue ran empty meanwhile.
    let mut d = port(&[]);
    off(&mut d, 0, 1_000, 300);
    assert_eq!(
        (leaves(&mut d, 9_000_000, 0), d.state(at(9_000_000))),
        (Mark::None, Some(NonCongestion))
    );
}

/// An OFF while the port is being judged starts all over, with no memory of the old period.
#[test]
fn a_new_off_restarts_the_period() {
    let mut d = port(&[("max_ton", "50us"), ("period", "20us")]);
    off(&mut d, 0, 0, 300);
    assert_eq!(leaves(&mut d, 50_000, 220), Mark::None);
    off(&mut d, 60_000, 61_000, 300);
    // No departure before the new release at 111 us: the snapshot of 50 us is gone.
    assert_eq!(leaves(&mut d, 111_000, 300), Mark::None);
    assert_eq!(leaves(&mut d, 130_999, 310), Mark::None);
    assert_eq!(leaves(&mut d, 131_000, 301), Mark::Ce);
}

/// Fig. 9 decides at departures: a pause during which nothing waited, and after which nothing left
/// within max(T_on), leaves no trace in LAST_STATE.
#[test]
fn a_pause_of_an_idle_port_passes() {
    let mut d = port(&[]);
    off(&mut d, 0, 1_000, 0);
    assert_eq!(d.state(at(MAX_TON)), Some(Undetermined));
    assert_eq!(d.state(at(1_000 + MAX_TON)), Some(NonCongestion));
    assert_eq!(leaves(&mut d, 1_000 + MAX_TON, 300), Mark::Ce);
}

/// Section 4.5: another priority has the wire after the ON. What waited through the OFF is judged
/// all the same.
#[test]
fn what_waited_through_an_off_is_judged_even_if_it_leaves_late() {
    let mut d = port(&[]);
    off(&mut d, 0, 1_000, 300);
    assert_eq!(
        (leaves(&mut d, 5_000_000, 299), d.state(at(5_000_000))),
        (Mark::None, Some(Undetermined))
    );
}

/// ON and OFF are reported twice, too early, or not at all.
#[test]
fn repeated_and_early_calls_are_tolerated() {
    let (mut d, mut twice) = (port(&[]), port(&[]));
    d.on_on(at(0), Bytes::ZERO);
    assert_eq!(leaves(&mut d, 0, 300), Mark::Ce, "no OFF, so none ends");
    leaves(&mut twice, 0, 300);
    for (d, times) in [(&mut d, 1), (&mut twice, 3)] {
        (0..times).for_each(|i| d.on_off(at(1_000 + 2_000 * i)));
        (0..times).for_each(|i| d.on_on(at(9_000 + 2_000 * i), Bytes::from_kb(300)));
    }
    assert_eq!(d, twice, "from the first OFF to the first ON");
    // Reported at 200 us, but a frame leaves at 200.2 us: ON until it is really stopped, whose end
    // is reported at 230 us.
    d.on_off(at(200_000));
    assert_eq!(leaves(&mut d, 200_200, 300), Mark::Ue);
    assert_eq!(d.state(at(200_200 + MAX_TON)), Some(Undetermined), "not judged yet");
    d.on_on(at(230_000), Bytes::from_kb(300));
    assert_eq!(leaves(&mut d, 230_000 + MAX_TON - 1, 300), Mark::Ue);
    assert_eq!(leaves(&mut d, 230_000 + MAX_TON, 300), Mark::None);
    // The end is never reported: the frame that leaves shows it.
    let mut d = port(&[]);
    d.on_off(at(0));
    assert_eq!(leaves(&mut d, 500_000, 300), Mark::Ue);
    assert_eq!(leaves(&mut d, 500_000 + MAX_TON, 300), Mark::None);
}

/// Sends frames back to back at 200 ns through alternating 20 us ON and 10 us OFF periods up to
/// `until_us`, with `queue_kb(us)` waiting, then without a stop to `end_us`. Counts (UE, CE), and
/// when CE came first [ns].
fn story(
    d: &mut Tcd,
    until_us: u64,
    end_us: u64,
    queue_kb: impl Fn(u64) -> u64,
) -> (u32, u32, Option<u64>) {
    let (mut ue, mut ce, mut first) = (0, 0, None);
    for ns in (0..end_us * 1_000).step_by(200) {
        let us = ns / 1_000;
        if us < until_us && us % 30 >= 20 {
            d.on_off(at(ns));
            continue;
        }
        if ns > 0 && ns % 1_000 == 0 {
            d.on_on(at(ns), Bytes::from_kb(queue_kb(us)));
        }
        match leaves(d, ns, queue_kb(us)) {
            Mark::Ue => ue += 1,
            Mark::Ce => {
                ce += 1;
                first.get_or_insert(ns);
            }
            Mark::None => {}
        }
    }
    (ue, ce, first)
}

/// Sections 3.1.2 and 5.1.2, single congestion point, port P2: ON and OFF to 1.6 ms, over 500 KB in
/// the queue, then it drains at 30 Gb/s (40 out, 10 in). RED would mark everything above 200 KB;
/// TCD marks no CE at all, UE from the first stop on, and ends in non-congestion. The queue is
/// above the threshold long after the release at 1700.4 us.
#[test]
fn single_congestion_point() {
    let queue =
        |us: u64| if us < 1_600 { us / 3 } else { 533u64.saturating_sub((us - 1_600) * 375 / 100) };
    let mut d = port(&[]);
    // The last OFF is 1580 to 1590 us. 53 ON periods of 100 frames, the first before any stop. The
    // last of the 100 frames leaves at 19.8 us of its period.
    let (ue, ce, first) = story(&mut d, 1_600, 1_800, queue);
    assert_eq!((ce, first), (0, None));
    assert_eq!(ue, 52 * 100 + 502, "ON periods 2 to 53, and 100.4 us from 1590 us on");
    assert_eq!(d.state(at(1_800_000)), Some(NonCongestion));
    assert!(queue(1_691) > 150, "a queue that RED marks");
}

/// Sections 3.1.3 and 5.1.2, multiple congestion points, port P2: the same ON and OFF, the same
/// queue up to then; after the release the queue grows at 10 Gb/s (50 in, 40 out). First CE two
/// times max(T_on) after the last OFF, and all that leaves later is marked.
#[test]
fn multiple_congestion_points() {
    let queue = |us: u64| if us < 1_600 { us / 3 } else { 533 + (us - 1_600) * 125 / 100 };
    let mut d = port(&[]);
    let (ue, ce, first) = story(&mut d, 1_600, 2_000, queue);
    assert_eq!(ue, 52 * 100 + 502, "as in the single congestion point scenario");
    assert_eq!(first, Some(1_590_000 + 2 * MAX_TON));
    assert_eq!(u64::from(ce), (2_000_000 - first.unwrap()) / 200);
    assert_eq!(d.state(at(2_000_000)), Some(Congestion));
}

/// Fig. 13, port P1: congestion spreads on from P2, so it stays undetermined and marks UE only.
#[test]
fn a_port_that_goes_on_being_stopped_stays_undetermined() {
    let mut d = port(&[]);
    let (ue, ce, _) = story(&mut d, 6_000, 6_000, |us| us / 3);
    assert_eq!((ue, ce), (199 * 100, 0));
    assert_eq!(d.state(at(5_999_000)), Some(Undetermined));
}

/// Section 5.1.4: a max(T_on) that is too short takes a regulated port for a released one. With
/// epsilon 0.5 (17.6 us) the ON periods of 20 us outlast it.
#[test]
fn too_large_an_epsilon_marks_victims() {
    let mut d = port(&[("epsilon", "0.5"), ("period", "1us")]);
    assert_eq!(d.max_ton(), Span::from_ns(17_600), "9.2 us + 8.4 us");
    let (_, ce, _) = story(&mut d, 6_000, 6_000, |us| us / 3);
    assert!(ce > 0);
}

/// Fig. 9, right branch: a port that is never stopped is a RED port, mark for mark and draw for
/// draw.
#[test]
fn without_an_off_it_is_red() {
    let mut seed = 1u64;
    let mut roll = move || {
        // xorshift64
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 11
    };
    for case in 0..200 {
        let (a, b, pmax) = (roll() % 300_000, roll() % 300_000, (roll() % 101) as f64 / 100.0);
        let red = red::Red { kmin: Bytes(a.min(b)), kmax: Bytes(a.max(b)), pmax };
        let p = Params {
            low_threshold: red.kmin,
            threshold: red.kmax,
            red: red.clone(),
            ..read(&[]).unwrap()
        };
        let mut tcd = Tcd::new(
            &p,
            &Place { link: &link(C, 4), flow_control: &pfc(320, 318), to_host: false },
        );
        let (mut red, mut now) = (red, Time::ZERO);
        for step in 0..500 {
            now += Span(roll() % 1_000_000_000);
            let (queue, len, draw) = (
                Bytes(roll() % 400_000),
                Bytes(64 + roll() % 1_437),
                (roll() % 1_000) as f64 / 1_000.0,
            );
            let (mut draws_red, mut draws_tcd) = (0, 0);
            let by_red = red.on_dequeue(now, queue, len, &mut || {
                draws_red += 1;
                draw
            });
            let by_tcd = tcd.on_dequeue(now, queue, len, &mut || {
                draws_tcd += 1;
                draw
            });
            assert_eq!((by_tcd, draws_tcd), (by_red, draws_red), "case {case} step {step}");
            assert_ne!(tcd.state(now), Some(Undetermined));
            if by_tcd == Mark::Ce {
                assert_eq!(tcd.state(now), Some(Congestion));
            } else if queue <= red.kmin {
                assert_eq!(tcd.state(now), Some(NonCongestion));
            }
        }
    }
}

/// Errors for impossible values name the key.
#[test]
fn impossible_parameters_are_refused() {
    let refused = |given: &[(&str, &str)], facts: LinkFacts, fc: &FlowControl| {
        let place = Place { link: &facts, flow_control: fc, to_host: false };
        let e = read(given).and_then(|p| p.validate(&place, MEMORY)).unwrap_err();
        assert!(!e.hint.is_empty(), "{e}");
        e.key
    };
    let (here, fc) = (link(C, 4), pfc(320, 318));
    for (key, value) in [
        ("epsilon", "0"),
        ("epsilon", "-0.05"),
        ("epsilon", "1.01"),
        ("low_threshold", "201KB"),
        ("period", "0us"),
    ] {
        assert_eq!(refused(&[(key, value)], here, &fc), key);
    }
    assert_eq!(refused(&[("kmin", "300KB")], here, &fc), "kmin");
    assert_eq!(refused(&[("pmax", "2")], here, &fc), "pmax");
    assert_eq!(refused(&[("kmax", "10001KB")], here, &fc), "kmax");
    assert_eq!(refused(&[("threshold", "10001KB")], here, &fc), "threshold");
    assert_eq!(
        refused(&[("max_ton", "199ns")], here, &fc),
        "max_ton",
        "a frame of 1000 B takes 200 ns"
    );
    let hasty = FlowControl::Cbfc(cbfc::Params {
        period: Span::from_ns(199),
        buffer_blocks: 100,
        conformance: false,
    });
    assert_eq!(refused(&[], here, &hasty), "max_ton");
    let valid = |given: &[(&str, &str)], fc| {
        let place = Place { link: &here, flow_control: fc, to_host: false };
        read(given).unwrap().validate(&place, MEMORY)
    };
    assert_eq!(
        valid(&[("max_ton", "200ns"), ("epsilon", "1"), ("threshold", "10MB")], &fc),
        Ok(())
    );
    assert_eq!(valid(&[], &FlowControl::None), Ok(()), "nothing to measure");
}

/// Section 6, "historical values": after n ON stretches of `a` the longest recent one is
/// a + (E - a)(7/8)^n, where E makes the first max(T_on) that of Eq. (3), and the queue is released
/// that many times `adaptive` after its last OFF. A longer ON counts at once, one beyond max(T_on)
/// not at all, and Eq. (3) stays the bound.
#[test]
fn max_ton_adapts_to_the_queue() {
    let mut d = port(&[("adaptive", "2")]);
    let (on, max_ton) = (20_000.0, MAX_TON as f64);
    let mut now = 0;
    for n in 0..40 {
        off(&mut d, now, now + 10_000, 300);
        // The first OFF ends no ON.
        let expected = 2.0 * on + (max_ton - 2.0 * on) * 0.875f64.powi(n);
        let is = d.max_ton().0 as f64 / 1_000.0;
        assert!((is - expected).abs() < 0.1, "{n}: {is} {expected}");
        let release = now + 10_000 + expected.ceil() as u64;
        let mut late = d.clone();
        assert_eq!(leaves(&mut late, release - 2, 300), Mark::Ue);
        assert_eq!(leaves(&mut late, release + 1, 300), Mark::None);
        now += 10_000 + on as u64;
    }
    // ON for 30 us: 60 us at once; then for 60 us, which is a release; then for 59 us.
    off(&mut d, now + 10_000, now + 10_001, 300);
    assert_eq!(d.max_ton(), Span::from_us(60));
    now += 10_001;
    off(&mut d, now + 60_000, now + 60_001, 300);
    assert_eq!(d.max_ton(), Span::from_us(60));
    off(&mut d, now + 60_001 + 59_000, now + 60_001 + 59_001, 300);
    assert_eq!(d.max_ton(), Span::from_ns(MAX_TON), "118 us, and the bound");
    assert_eq!(read(&[("adaptive", "0.9")]).unwrap_err().key, "adaptive");
}

/// It alone changes a mark: 50 us after the last OFF of a port that is stopped every 20 us.
#[test]
fn a_port_that_adapts_is_released_earlier() {
    let mark = |given: &[(&str, &str)]| {
        let mut d = port(given);
        (0..60).for_each(|n| off(&mut d, n * 30_000, n * 30_000 + 10_000, 300));
        leaves(&mut d, 59 * 30_000 + 10_000 + 50_000, 300)
    };
    assert_eq!((mark(&[]), mark(&[("adaptive", "2")])), (Mark::Ue, Mark::None));
}

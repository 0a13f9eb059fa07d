use super::*;
use xoff_units::params::Defaults;

const C: Rate = Rate::from_gbps(100);

fn link() -> LinkFacts {
    LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes(300_000))
}

fn read(given: &[(&str, &str)], link: &LinkFacts) -> Result<Params, ParamError> {
    let mut values = given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value));
    Params::read(&mut values, link)
}

fn freed(m: Option<Message>) -> u64 {
    match m {
        Some(Message::Cells(Update::Freed(n))) => n,
        other => panic!("{other:?} is no CF_Update"),
    }
}

#[test]
fn a_frame_costs_whole_credits_with_its_overhead() {
    let cost = |size, overhead, len| Cost::new(size, overhead).of(Bytes(len));
    assert_eq!(
        [cost(128, 0, 1), cost(128, 0, 128), cost(128, 0, 129), cost(128, 0, 1500)],
        [1, 1, 2, 12]
    );
    assert_eq!(
        [cost(64, -4, 68), cost(64, -4, 69), cost(64, 20, 44), cost(64, 20, 45)],
        [1, 2, 1, 2]
    );
    assert_eq!([cost(32, -16, 3), cost(2048, 127, 9000)], [1, 5], "a frame costs at least one");
    // beyond.md C.1: 65 B in cells of 64 B: 51 %.
    assert_eq!(65 * 100 / (cost(64, 0, 65) * 64), 50);
}

/// No set of frames within the derived limit has more bytes than the buffer, also where the
/// overhead is negative.
#[test]
fn the_derived_limit_never_overfills_the_buffer() {
    for (size, overhead) in [(32, -16), (64, -4), (128, 0), (256, 127), (2048, -1)] {
        let cost = Cost::new(size, overhead);
        for buffer in [9_000, 77_777, 300_000] {
            let limit = limit_of(Bytes(buffer), cost);
            for len in 1..=4_000u64 {
                let frames = limit / cost.of(Bytes(len));
                assert!(frames * len <= buffer, "{size} {overhead} {buffer} {len}");
            }
            // And is the largest such: one credit more is too much for frames that fill one credit.
            assert!((limit + 1) * cost.most() > buffer);
        }
    }
}

#[test]
fn updates_keep_their_distance_and_come_at_the_latest() {
    let p = read(
        &[("cf_min_spacing", "1250B"), ("cf_max_spacing", "12500B"), ("cc_period", "10us")],
        &link(),
    )
    .unwrap();
    assert_eq!((p.cf_min, p.cf_max), (Span::from_ns(100), Span::from_us(1)));
    let mut r = CellReceiver::new(&p);
    let (o, len, ns) = (Occupancy::default(), Bytes(1500), |n: u64| Time(n * 1000));
    (0..4).for_each(|_| assert_eq!(r.on_arrival(ns(0), &o, len), None));
    assert_eq!(freed(r.on_departure(ns(50), &o, len)), 12, "the first one at once");
    assert_eq!(r.on_departure(ns(60), &o, len), None, "too soon");
    assert_eq!(r.next_wake(), Some(ns(150)));
    assert_eq!(r.on_wake(ns(149), &o), None, "early");
    assert_eq!(freed(r.on_wake(ns(150), &o)), 24);
    assert_eq!(
        (r.on_wake(ns(250), &o), r.next_wake()),
        (None, Some(ns(1150))),
        "nothing new: the next departure may send"
    );
    assert_eq!(freed(r.on_departure(ns(400), &o, len)), 36);
    assert_eq!(
        freed(r.on_departure(ns(501), &o, len)),
        48,
        "a wake-up that is late changes nothing"
    );
    assert_eq!(r.on_wake(ns(601), &o), None);
    assert_eq!(freed(r.on_wake(ns(1501), &o)), 48, "at the latest, changed or not");
    assert_eq!(r.on_wake(ns(10_000), &o), Some(Message::Cells(Update::Consumed)));
}

#[test]
fn a_lost_frame_gives_its_credits_back_with_the_next_cc_update() {
    let p = read(&[("limit", "36")], &link()).unwrap();
    let (mut r, mut s) = (CellReceiver::new(&p), CellSender::new(&p, C));
    let (o, len) = (Occupancy::default(), Bytes(1500));
    for lost in [true, false, true] {
        assert_eq!(s.gate(Time(0), len), Gate::Open);
        s.on_sent(Time(0), len, Span(0));
        if !lost {
            r.on_arrival(Time(0), &o, len);
        }
    }
    assert_eq!((s.gate(Time(0), len), s.rate(Time(0))), (Gate::Blocked, Rate::ZERO));
    let update = r.on_departure(Time(0), &o, len).unwrap();
    s.on_message(Time(0), update);
    assert_eq!(s.in_use(), 24, "two frames leaked");
    // Total as of a CC_Update behind the three frames.
    r.on_peer_total(s.sent_total().unwrap());
    s.on_message(Time(0), Message::Cells(Update::Freed(r.freed)));
    assert_eq!((s.in_use(), r.held(), r.consumed), (0, 0, 36));
}

/// Only 20 bits of the counters are on the wire; halves that see no more agree with ones that see
/// all of them, over several wraps.
#[test]
fn counters_wrap_at_twenty_bits() {
    let p = read(&[("credit_size", "32B"), ("limit", "9000")], &link()).unwrap();
    let (mut r, mut s) = (CellReceiver::new(&p), CellSender::new(&p, C));
    let (o, len) = (Occupancy::default(), Bytes(1500));
    let mut lost = 0u64;
    for n in 0..200_000u64 {
        while s.gate(Time(n), len) == Gate::Open {
            s.on_sent(Time(n), len, Span(0));
            if n % 7 == 3 {
                lost += 47;
            } else {
                r.on_arrival(Time(n), &o, len);
                r.on_departure(Time(n), &o, len);
            }
        }
        if n % 7 == 6 {
            r.on_peer_total(s.sent_total().unwrap() & MASK);
        }
        let update = Message::Cells(Update::Freed(r.freed & MASK));
        assert!(s.is_possible(update));
        s.on_message(Time(n), update);
        assert!(s.in_use() <= 9000 && !s.overdrawn());
    }
    assert!(s.consumed > 100 << 20 && lost > 4 << 20, "{} {lost}: several wraps", s.consumed);
    r.on_peer_total(s.sent_total().unwrap() & MASK);
    assert_eq!((r.consumed, r.freed), (s.consumed, s.consumed));
}

#[test]
fn what_cannot_be_true_grants_nothing() {
    let p = read(&[], &link()).unwrap();
    let mut s = CellSender::new(&p, C);
    for _ in 0..10 {
        s.on_sent(Time(0), Bytes(1500), Span(0));
    }
    for wrong in [121, u64::MAX] {
        let m = Message::Cells(Update::Freed(wrong));
        assert!(!s.is_possible(m) || wrong == u64::MAX);
    }
    s.on_message(Time(0), Message::Cells(Update::Freed(121)));
    assert_eq!(s.gate(Time(0), Bytes(1)), Gate::Blocked, "more is freed than was used");
    s.on_message(Time(0), Message::Cells(Update::Freed(120)));
    assert_eq!(s.in_use(), 0, "the next true one repairs it");
    s.restart(Time(0));
    assert_eq!(s.gate(Time(0), Bytes(1)), Gate::Blocked);
    // As of a receiver that is broken.
    let mut s = CellSender::new(&p, C);
    s.on_message(Time(0), CellReceiver::new(&p).hold().unwrap());
    assert_eq!(s.gate(Time(0), Bytes(1)), Gate::Blocked);
    // Used by the check of credits: a port that sends although its gate is closed.
    let mut s = CellSender::new(&read(&[("limit", "12")], &link()).unwrap(), C);
    s.on_sent(Time(0), Bytes(1500), Span(0));
    assert!(!s.overdrawn());
    s.on_sent(Time(0), Bytes(1), Span(0));
    assert!(s.overdrawn());
}

#[test]
fn what_cannot_work_is_refused_with_the_inequality() {
    let refused = |given: &[(&str, &str)], key: &str, what: &str| {
        let e = read(given, &link()).unwrap_err();
        assert!(e.key == key && e.what.contains(what), "{e:?}");
    };
    refused(&[("credit_size", "100B")], "credit_size", "100 B");
    refused(&[("credit_size", "16B")], "credit_size", "16 B");
    refused(&[("credit_size", "4096B")], "credit_size", "4.096 KB");
    refused(&[("overhead", "128")], "overhead", "128");
    refused(&[("overhead", "-17")], "overhead", "-17");
    refused(&[("limit", "11")], "limit", "takes 12");
    refused(&[("limit", "524288")], "limit", "524288 credits >= 524288 = 2^19");
    refused(&[("cf_min_spacing", "0B")], "cf_min_spacing", "0 B");
    refused(&[("cf_max_spacing", "6399B")], "cf_max_spacing", "6.399 KB < cf_min_spacing 6.4 KB");
    refused(&[("cc_period", "0us")], "cc_period", "0");
    refused(&[("cc_period", "1s")], "cc_period", "1 s");
    let small = LinkFacts { buffer: Bytes(1500), ..link() };
    let e = read(&[], &small).unwrap_err();
    assert!(e.key == "buffer" && e.what.contains("11 credits"), "{e:?}");
    let large = LinkFacts { buffer: Bytes(1 << 30), ..link() };
    assert_eq!(read(&[], &large).unwrap_err().key, "buffer");
    assert!(
        read(&[("credit_size", "2048B")], &LinkFacts { buffer: Bytes(1 << 29), ..link() }).is_ok()
    );
}

#[test]
fn conditions_that_do_not_hold_are_named() {
    let unmet = |given: &[(&str, &str)]| read(given, &link()).unwrap().unmet(&link()).len();
    assert_eq!(unmet(&[]), 0);
    assert_eq!(unmet(&[("limit", "2344")]), 1, "2344 x 128 B > 300 KB");
    assert_eq!(unmet(&[("limit", "100")]), 1, "8 frames in 3 us");
}

/// Senders of a port that share its credits: the use of each is noted after every frame and
/// message.
struct PortOf(Vec<CellSender>);

impl PortOf {
    fn new(p: &Params, channels: usize) -> PortOf {
        let mut port = PortOf((0..channels).map(|_| CellSender::new(p, C)).collect());
        port.note();
        port
    }
    fn note(&mut self) {
        let of: Vec<u64> = self.0.iter().map(|s| s.shared_use().unwrap()).collect();
        let all: u64 = of.iter().sum();
        self.0.iter_mut().zip(&of).for_each(|(s, own)| s.on_shared_use(all - own, of.len() as u64));
    }
    fn may(&self, channel: usize, len: u64) -> bool {
        self.0[channel].gate(Time::ZERO, Bytes(len)) == Gate::Open
    }
    fn send(&mut self, channel: usize, len: u64) -> bool {
        let may = self.may(channel, len);
        if may {
            self.0[channel].on_sent(Time::ZERO, Bytes(len), Span(1));
            self.note();
        }
        may
    }
    /// All that want to, round robin, until none may.
    fn fill(&mut self, wanting: &[usize], len: u64) {
        while wanting.iter().filter(|&&c| self.send(c, len)).count() > 0 {}
    }
    fn in_use(&self) -> Vec<u64> {
        self.0.iter().map(CellSender::in_use).collect()
    }
}

/// n channels that want all: reserve + alpha S / (1 + n alpha) each, within a frame. Reserves of
/// other channels stay.
#[test]
fn channels_share_credits_as_queues_share_a_pool() {
    let (limit, reserved, frame) = (2000u64, 50u64, 12u64);
    for th in -3..=3i32 {
        let alpha = 2f64.powi(th);
        for n in 1..=8usize {
            let (limit, reserved, th) = (limit.to_string(), reserved.to_string(), th.to_string());
            let p = read(
                &[
                    ("sharing", "dynamic"),
                    ("limit", &limit),
                    ("reserved", &reserved),
                    ("shared_th", &th),
                ],
                &link(),
            )
            .unwrap();
            let mut port = PortOf::new(&p, 8);
            let wanting: Vec<usize> = (0..n).collect();
            port.fill(&wanting, 1500);
            let shared = 2000.0 - 8.0 * 50.0;
            let form = 50.0 + alpha * shared / (1.0 + n as f64 * alpha);
            for (channel, in_use) in port.in_use().into_iter().enumerate() {
                if channel < n {
                    assert!(
                        (in_use as f64 - form).abs() <= frame as f64,
                        "2^{th}, {n} channels: {in_use}, the closed form {form}"
                    );
                } else {
                    let frames = (0..).take_while(|_| port.send(channel, 1500)).count() as u64;
                    assert!(frames >= 50 / frame, "what is reserved is there");
                }
            }
            assert!(port.in_use().iter().sum::<u64>() <= 2000);
        }
    }
}

/// Static: up to a number each, as long as there are any; credits that one frees are available to
/// another at once.
#[test]
fn a_fixed_share_of_the_credits() {
    let p = read(
        &[("sharing", "static"), ("limit", "200"), ("reserved", "20"), ("shared_limit", "60")],
        &link(),
    )
    .unwrap();
    let mut port = PortOf::new(&p, 3);
    // 1408 B are 11 credits; 140 are shared.
    port.fill(&[0], 1408);
    assert_eq!(port.in_use(), [77, 0, 0], "20 + 60, in whole frames");
    port.fill(&[1], 1408);
    port.fill(&[2], 1408);
    assert_eq!(port.in_use(), [77, 77, 44], "140 - 57 - 57 = 26 are left of the shared part");
    assert!(!port.may(2, 1408));
    port.0[0].on_message(Time::ZERO, Message::Cells(Update::Freed(33)));
    port.note();
    assert!(port.send(2, 1408), "the first one has given credits back");
    assert_eq!(port.in_use(), [44, 77, 55]);
    // A port that was down has none until its far end grants some.
    port.0.iter_mut().for_each(|s| s.restart(Time::ZERO));
    port.note();
    assert!((0..3).all(|c| !port.may(c, 1)));
}

#[test]
fn shares_that_cannot_be_are_refused() {
    let refused = |given: &[(&str, &str)], key: &str, what: &str| {
        let e = read(given, &link()).unwrap_err();
        assert_eq!(e.key, key, "{e}");
        assert!(e.what.contains(what), "{e}");
    };
    refused(&[("sharing", "dynamic"), ("shared_th", "8")], "shared_th", "a factor of 2^8");
    refused(&[("sharing", "dynamic"), ("shared_th", "-9")], "shared_th", "a factor of 2^-9");
    refused(
        &[("sharing", "static"), ("limit", "100"), ("reserved", "101")],
        "reserved",
        "1 priorities x 101 reserved credits = 101 > 100",
    );
    refused(
        &[("sharing", "static"), ("reserved", "0"), ("shared_limit", "11")],
        "sharing",
        "at most 11 credits, but a frame takes 12",
    );
    let p = read(&[("sharing", "static"), ("limit", "100"), ("reserved", "15")], &link()).unwrap();
    assert!(p.fits_priorities(&link(), 6).is_ok());
    assert!(
        p.fits_priorities(&link(), 7)
            .unwrap_err()
            .what
            .contains("7 priorities x 15 reserved credits = 105 > 100")
    );
    assert_eq!(p.resolved(), [("limit", "100".to_owned()), ("reserved", "15".to_owned())]);
    // Without a reserve a priority may starve.
    let p = read(&[("sharing", "static"), ("reserved", "0")], &link()).unwrap();
    assert!(
        p.unmet(&link()).iter().any(|u| u.what.contains("reserved >= a frame: 0 credits")),
        "{:?}",
        p.unmet(&link())
    );
}

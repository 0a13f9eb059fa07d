use super::*;

const C: Rate = Rate::from_gbps(10);

fn occupancy(bytes: u64) -> Occupancy {
    Occupancy {
        bytes: Bytes(bytes),
        shared: Bytes(bytes),
        headroom: Bytes::ZERO,
        limit: Bytes(u64::MAX),
    }
}

fn fixed(xoff: u64, xon: u64, quanta: Option<u16>) -> Params {
    Params {
        threshold: Threshold::Static { xoff: Bytes(xoff), xon: Bytes(xon) },
        quanta,
        repeat: Span::ZERO,
    }
}

#[test]
fn pauses_strictly_above_xoff_and_resumes_at_xon() {
    let mut r = PfcReceiver::new(&fixed(80_000, 77_000, None), C);
    let len = Bytes(1500);
    assert_eq!(r.on_arrival(Time(1), &occupancy(80_000), len), None);
    assert_eq!(r.on_arrival(Time(2), &occupancy(81_500), len), Some(Message::Pfc(Pause::STICKY)));
    assert_eq!(r.on_arrival(Time(3), &occupancy(83_000), len), None, "one message per pause");
    assert_eq!(r.on_departure(Time(4), &occupancy(78_500), len), None);
    assert!(
        r.holds(&occupancy(78_500), Bytes(77_001), len)
            && !r.holds(&occupancy(78_500), Bytes(77_000), len)
    );
    assert_eq!(r.on_departure(Time(5), &occupancy(77_000), len), Some(Message::Pfc(Pause::RESUME)));
    assert_eq!(r.on_departure(Time(6), &occupancy(75_500), len), None);
}

/// Used by the deadlock detector: between XON and XOFF a peer that was not stopped may send.
#[test]
fn a_receiver_that_has_not_paused_holds_no_sender() {
    let mut r = PfcReceiver::new(&fixed(80_000, 77_000, None), C);
    let len = Bytes(1500);
    assert_eq!(r.on_arrival(Time(1), &occupancy(79_500), len), None);
    assert!(!r.holds(&occupancy(79_500), Bytes(79_500), len));
    assert!(r.on_arrival(Time(2), &occupancy(81_000), len).is_some());
    assert!(r.holds(&occupancy(81_000), Bytes(79_500), len));
}

/// 802.3 Annex 31D: 65535 quanta of 512 bit times last 3355.392 us at 10 Gb/s.
#[test]
fn a_timed_pause_expires_and_is_refreshed_at_half_life() {
    let mut r = PfcReceiver::new(&fixed(80_000, 77_000, Some(65_535)), C);
    let mut s = PfcSender::new(C);
    let m = r.on_arrival(Time::ZERO, &occupancy(81_500), Bytes(1500)).unwrap();
    s.on_message(Time::from_us(1), m);
    assert_eq!(s.gate(Time::from_us(1), Bytes(1500)), Gate::Until(Time(3_356_392_000)));
    assert!(s.held(Time::from_us(1), Bytes(1500)));
    let half = r.next_wake().unwrap();
    assert_eq!(half, Time(3_355_392_000 / 2));
    assert_eq!(
        r.on_wake(Time(half.0 - 1), &occupancy(81_500)),
        None,
        "an early wake-up is harmless"
    );
    assert_eq!(r.on_wake(half, &occupancy(81_500)), Some(Message::Pfc(Pause(65_535))));
    s.on_message(half, Message::Pfc(Pause(65_535)));
    assert_eq!(s.gate(half, Bytes(1)), Gate::Until(Time(half.0 + 3_355_392_000)));
    s.on_message(half, Message::Pfc(Pause::RESUME));
    assert_eq!(s.gate(half, Bytes(1)), Gate::Open);
}

#[test]
fn a_dynamic_threshold_follows_the_pool() {
    let p = Params {
        threshold: Threshold::Dynamic { xon_offset: Bytes(3072) },
        quanta: None,
        repeat: Span::ZERO,
    };
    let mut r = PfcReceiver::new(&p, C);
    let f = |shared, headroom, limit| Occupancy {
        bytes: Bytes(shared + headroom),
        shared: Bytes(shared),
        headroom: Bytes(headroom),
        limit: Bytes(limit),
    };
    assert_eq!(r.on_arrival(Time(1), &f(9_999, 0, 10_000), Bytes(1)), None);
    assert_eq!(
        r.on_arrival(Time(2), &f(10_000, 0, 10_000), Bytes(1)),
        Some(Message::Pfc(Pause::STICKY))
    );
    assert_eq!(r.on_departure(Time(3), &f(6_929, 0, 10_000), Bytes(1)), None);
    assert_eq!(r.on_departure(Time(4), &f(6_928, 1, 10_000), Bytes(1)), None, "headroom in use");
    assert_eq!(
        r.on_departure(Time(5), &f(6_928, 0, 10_000), Bytes(1)),
        Some(Message::Pfc(Pause::RESUME))
    );
}

#[test]
fn impossible_thresholds_are_refused() {
    let link = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes::from_kb(300));
    assert_eq!(fixed(100, 200, None).validate(&link).unwrap_err().key, "xon");
    assert_eq!(fixed(300_001, 200, None).validate(&link).unwrap_err().key, "xoff");
    assert!(fixed(280_000, 277_000, None).validate(&link).is_ok());
}

/// With repetition the last message goes again at each interval: the pause while it lasts, then the
/// resume.
#[test]
fn the_last_message_is_repeated_at_intervals() {
    for quanta in [None, Some(65_535)] {
        let every = Span::from_us(10);
        let mut r = PfcReceiver::new(&Params { repeat: every, ..fixed(10_000, 7_000, quanta) }, C);
        let (mut s, len, us) = (PfcSender::new(C), Bytes(1500), Time::from_us);
        assert_eq!(r.next_wake(), None, "nothing before the first message");
        let pause = r.on_arrival(us(1), &occupancy(10_500), len);
        assert_eq!((pause, r.next_wake()), (Some(Message::Pfc(Pause::of(quanta))), Some(us(11))));
        assert_eq!(r.on_wake(us(10), &occupancy(10_500)), None, "early");
        // The first one is lost.
        s.on_message(us(12), r.on_wake(us(11), &occupancy(10_500)).unwrap());
        assert!(s.held(us(12), len));
        assert_eq!(r.next_wake(), Some(us(21)));
        assert_eq!(
            r.on_departure(us(15), &occupancy(7_000), len),
            Some(Message::Pfc(Pause::RESUME)),
            "it is lost"
        );
        assert_eq!(r.next_wake(), Some(us(25)));
        s.on_message(us(26), r.on_wake(us(25), &occupancy(5_500)).unwrap());
        assert_eq!((s.gate(us(26), len), r.next_wake()), (Gate::Open, Some(us(35))));
    }
}

/// Short pauses are repeated at half their life, also where the interval is longer.
#[test]
fn the_shorter_of_both_times_counts() {
    let mut r = PfcReceiver::new(
        &Params { repeat: Span::from_us(10), ..fixed(10_000, 7_000, Some(100)) },
        C,
    );
    assert!(r.on_arrival(Time::ZERO, &occupancy(10_500), Bytes(1500)).is_some());
    assert_eq!(r.next_wake(), Some(Time::ZERO + duration(100, C) / 2), "half of 5.12 us");
}

/// A derived XOFF leaves room for the loss of one pause: an interval of the line more than without.
#[test]
fn the_derived_xoff_bears_a_lost_pause() {
    let link =
        LinkFacts::plain(Rate::from_gbps(100), Span::from_us(1), Bytes(1500), Bytes(300_000));
    let xoff = |repeat: &str| {
        let p = Params::read(
            &mut xoff_units::params::Defaults::of(PARAMS).with("repeat", repeat),
            &link,
        )
        .unwrap();
        assert_eq!(
            p.control_loop(&link).tau,
            repeat::with_one_lost(link.control_loop(MESSAGE_LEN), p.repeat).tau
        );
        let Threshold::Static { xoff, .. } = p.threshold else { panic!("static") };
        xoff.0
    };
    assert_eq!(xoff("0us") - xoff("2us"), 25_000 + 8 * 64);
}

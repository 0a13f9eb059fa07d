use xoff_units::params::Defaults;

use super::*;

const MS: u64 = 1_000_000_000;

fn ms(n: u64) -> Time {
    Time(n * MS)
}

fn config(detector: Detector, action: Action) -> Config {
    Config {
        detector,
        detect: Span::from_ms(400),
        restore: Span::from_ms(300),
        poll: Span::from_ms(100),
        action,
    }
}

const DURATION: Detector = Detector::Duration { empty_queues: false };

/// A queue that its peer stops from one time to another, by a message every 10 ms, each for 50 ms,
/// and releases at the end. Returns the times of the storm's detection and end.
fn storm(
    c: &Config,
    from: Time,
    until: Time,
    waiting: u64,
    end: Time,
) -> (Option<Time>, Option<Time>) {
    let (mut meter, mut queue) = (Meter::default(), Queue::default());
    let (mut found, mut over) = (None, None);
    let mut paused_until = Time::ZERO;
    for step in 0..=end.0 / (MS / 2) {
        let now = Time(step * MS / 2);
        let of = |until: Time| (now < until).then_some(until);
        if now >= from && now < until && (now.0 - from.0).is_multiple_of(10 * MS) {
            paused_until = (now + Span::from_ms(50)).min(until);
            meter.note_message(now, of(paused_until));
        }
        if now.0.is_multiple_of(c.poll.0) {
            meter.note(now, of(paused_until));
            match queue.look(meter.look(now, Bytes(waiting)), c) {
                Some(Change::Began(_)) => found = found.or(Some(now)),
                Some(Change::Ended(at)) => {
                    assert_eq!(Some(at), found);
                    over = Some(now);
                }
                None => {}
            }
        }
    }
    (found, over)
}

/// sonic-mgmt PFCWD_BASIC: a storm shorter than T_detect is never acted upon, one longer than
/// T_detect + T_poll always, wherever it begins between two polls. `duration` asks for 99 % of both
/// times.
#[test]
fn storms_on_both_sides_of_the_detection_time() {
    for detector in [DURATION, Detector::Status] {
        let c = config(detector, Action::Drop);
        for phase in 0..200 {
            let from = Time(ms(500).0 + phase * MS / 2);
            let run =
                |length: u64| storm(&c, from, Time(from.0 + length * MS / 2), 1500, ms(3000)).0;
            let short = if detector == DURATION { 2 * 395 } else { 2 * 400 - 1 };
            assert_eq!(run(short), None, "{detector:?} {phase}");
            let found = run(2 * 500 + 2).unwrap_or_else(|| panic!("{detector:?} {phase}"));
            assert!(found.since(from) <= c.latest(), "{detector:?} {phase}: {}", found.since(from));
        }
    }
    // A storm that begins 10 ms after a poll: by its duration that pair of polls does not count, by
    // the state neither.
    for detector in [DURATION, Detector::Status] {
        assert_eq!(
            storm(&config(detector, Action::Drop), ms(510), ms(1200), 1500, ms(3000)).0,
            Some(ms(1000)),
            "{detector:?}"
        );
    }
}

/// The peer must not stop the queue for the whole restoration time, counted from the first poll
/// without a stop.
#[test]
fn a_storm_is_over_after_the_restoration_time() {
    for (detector, until) in [(DURATION, 1250), (Detector::Status, 1250)] {
        let c = config(detector, Action::Forward);
        let (found, over) = storm(&c, ms(450), ms(until), 1500, ms(3000));
        assert!(found.is_some());
        // It stops between 1200 and 1300; 1400, 1500 and 1600 are quiet.
        assert_eq!(over, Some(ms(1600)), "{detector:?}");
    }
    let c = config(DURATION, Action::Drop);
    assert_eq!(storm(&c, ms(450), Time::NEVER, 1500, ms(5000)).1, None, "a lasting storm");
}

/// A storm without an end of its own shows one message, and no further message. Only the duration
/// distinguishes it from an idle peer. The storm is not over while the queue is stopped.
#[test]
fn a_single_message_that_holds_for_ever() {
    let look = |at: u64, meter: &Meter| meter.look(ms(at), Bytes(1500));
    for (detector, finds) in [(DURATION, true), (Detector::Status, false)] {
        let c = config(detector, Action::Drop);
        let (mut meter, mut queue) = (Meter::default(), Queue::default());
        meter.note_message(ms(1), Some(Time::NEVER));
        let changes: Vec<_> =
            (0..50).filter_map(|n| queue.look(look(n * 100, &meter), &c)).collect();
        assert_eq!(
            changes,
            if finds { vec![Change::Began(ms(1))] } else { vec![] },
            "{detector:?}"
        );
        assert_eq!(queue.is_stormed(), finds);
    }
}

/// A queue in which nothing waits: the script passes over it, the test plan asks for it.
#[test]
fn an_empty_queue_is_freed_only_if_that_is_asked_for() {
    let with = |empty_queues| {
        storm(
            &config(Detector::Duration { empty_queues }, Action::Drop),
            ms(500),
            ms(1500),
            0,
            ms(3000),
        )
        .0
    };
    assert_eq!((with(false), with(true)), (None, Some(ms(900))));
}

/// A frame that leaves, or one percent of the time without a pause, restarts the count.
#[test]
fn progress_begins_the_count_anew() {
    let c = config(DURATION, Action::Drop);
    let run = |sends: bool, free: u64| {
        let (mut meter, mut queue) = (Meter::default(), Queue::default());
        meter.note_message(ms(0), Some(Time::NEVER));
        (1..12).find(|&n| {
            if sends && n == 4 {
                meter.note_sent(ms(n * 100 - 50), Some(Time::NEVER));
            }
            if free > 0 && n == 4 {
                meter.note(Time(ms(n * 100 - 50).0), None);
                meter.note_message(Time(ms(n * 100 - 50).0 + free), Some(Time::NEVER));
            }
            queue.look(meter.look(ms(n * 100), Bytes(1)), &c).is_some()
        })
    };
    assert_eq!(run(false, 0), Some(5), "looks from 100 on have something to compare with");
    assert_eq!(run(true, 0), Some(8));
    assert_eq!((run(false, MS - 1), run(false, MS)), (Some(5), Some(8)), "one percent of a poll");
}

/// Alert: states the storm, and its end at the first poll without one.
#[test]
fn an_alert_ends_with_the_storm() {
    let c = config(DURATION, Action::Alert);
    assert_eq!(storm(&c, ms(500), ms(1250), 1500, ms(3000)), (Some(ms(900)), Some(ms(1300))));
}

/// As in the newest script: detect equal to poll takes two pairs of polls.
#[test]
fn one_look_alone_is_not_enough_by_status() {
    let c = Config { detect: Span::from_ms(100), ..config(Detector::Status, Action::Drop) };
    assert_eq!(storm(&c, ms(450), ms(2000), 1500, ms(3000)).0, Some(ms(700)));
    assert_eq!(c.latest(), Span::from_ms(300));
    let c = Config { detector: DURATION, ..c };
    assert_eq!(storm(&c, ms(450), ms(2000), 1500, ms(3000)).0, Some(ms(600)));
}

#[test]
fn times_that_do_not_fit_are_refused() {
    let read = |given: &[(&str, &str)]| {
        let specs: &'static [ParamSpec] = PARAMS;
        let values = given.iter().fold(Defaults::of(specs), |v, (key, value)| v.with(key, value));
        let mut values = values;
        (REGISTRY[2].read)(&mut values)
    };
    let c = read(&[]).unwrap().unwrap();
    assert_eq!(
        (c.detect, c.restore, c.poll, c.action),
        (Span::from_ms(200), Span::from_ms(400), Span::from_ms(200), Action::Drop)
    );
    let e = read(&[("detect", "100ms")]).unwrap_err();
    assert_eq!(e.key, "detect");
    assert!(e.what.contains("detect 100 ms < poll 200 ms"), "{}", e.what);
    for key in ["detect", "restore", "poll"] {
        assert_eq!(read(&[(key, "0ms")]).unwrap_err().key, key);
    }
}

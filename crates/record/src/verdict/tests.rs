use xoff_units::Meaning;

use super::*;

fn well() -> Parts {
    Parts {
        interrupted: false,
        deadlock: Deadlock::None,
        losses: Losses::default(),
        promises: Promises::Kept,
        work: Work { unit: "flows".into(), total: 4, complete: 4, incomplete: 0 },
        nothing_ran: None,
        not_kept: None,
        failures: Vec::new(),
        unfinished: Vec::new(),
    }
}

fn found() -> Deadlock {
    Deadlock::Found { what: "deadlock at 4ms".into(), ports: vec!["S1->S2".into()] }
}

fn violated(violations: u64, of_loss: u64) -> Promises {
    Promises::Violated { violations, of_loss, first: "S1 dropped 1500 B".into() }
}

fn seen(change: impl FnOnce(&mut Parts)) -> (String, u8, Tone) {
    let v = Verdict::from(well()).with(change);
    (v.headline().to_owned(), v.conclusion(&[]).exit_code(), v.tone(&[]))
}

#[test]
fn a_run_that_was_looked_at_and_is_well_is_green() {
    assert_eq!(seen(|_| ()), ("no deadlock, 0 frames lost".into(), 0, Tone::Good));
}

/// Every single part removes the green, and is named.
#[test]
fn what_was_not_looked_at_is_no_good_news() {
    let why = || String::from("run.deadlock_interval is 0us");
    for (change, headline, code, tone) in [
        (
            &(|p: &mut Parts| p.deadlock = Deadlock::NotChecked { why: why() })
                as &dyn Fn(&mut Parts),
            "deadlock not checked, 0 frames lost",
            0,
            Tone::Caution,
        ),
        (
            &|p| p.promises = Promises::NotChecked { why: why() },
            "no deadlock, 0 frames lost, invariants not checked",
            0,
            Tone::Caution,
        ),
        (
            &|p| p.work.incomplete = 3,
            "no deadlock, 0 frames lost, 3 of 4 flows incomplete",
            0,
            Tone::Caution,
        ),
        (
            &|p| p.unfinished.push("job train: 1 of 3 iterations complete".into()),
            "no deadlock, 0 frames lost, job train: 1 of 3 iterations complete",
            0,
            Tone::Caution,
        ),
        (
            &|p| p.nothing_ran = Some("no flow began".into()),
            "nothing ran: no flow began",
            0,
            Tone::Caution,
        ),
        (
            &|p| p.not_kept = Some("a page".into()),
            "a page, no deadlock, 0 frames lost",
            0,
            Tone::Caution,
        ),
        (&|p| p.deadlock = found(), "deadlock at 4ms, 0 frames lost", 1, Tone::Bad),
        (
            &|p| p.losses.add(Loss::Unsent, 2),
            "no deadlock, 2 frames lost (not sent by the kernel before the end)",
            1,
            Tone::Bad,
        ),
        (
            &|p| p.promises = violated(1, 0),
            "1 check violated, no deadlock, 0 frames lost",
            1,
            Tone::Bad,
        ),
        (
            &|p| p.failures.push("iperf3 at H1 failed".into()),
            "iperf3 at H1 failed, no deadlock, 0 frames lost",
            1,
            Tone::Bad,
        ),
        (
            &|p| p.interrupted = true,
            "interrupted; partial results kept, no deadlock, 0 frames lost",
            130,
            Tone::Bad,
        ),
    ] {
        assert_eq!(seen(change), (headline.into(), code, tone));
    }
}

/// Each counter once: no headline has "0 frames lost", no exit code is 0, and the manifest has the
/// number.
#[test]
fn no_loss_of_any_kind_is_silent() {
    for why in Loss::ALL {
        let v = Verdict::from(well()).with(|p| p.losses.add(why, 7));
        assert!(
            v.headline().contains("7 frames lost") && !v.headline().contains("0 frames"),
            "{}",
            v.headline()
        );
        let (answer, word) = if why.meaning() == Meaning::Measured {
            (Conclusion::Yes, "yes")
        } else {
            (Conclusion::No, "no")
        };
        assert_eq!(
            (v.conclusion(&[]), v.conclusion(&[Allow::Deadlock]), v.conclusion(&[Allow::Loss])),
            (answer, answer, Conclusion::Yes)
        );
        assert_eq!(v.tone(&[Allow::Loss]), Tone::Caution, "allowed, or measured, is not well");
        let json = serde_json::to_value(&v).unwrap();
        assert_eq!((&json["lost_frames"], &json["answer"]), (&7.into(), &word.into()), "{json}");
        assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), v);
    }
}

/// An interruption goes before every "no"; what is allowed allows nothing else.
#[test]
fn precedence() {
    let all = |p: &mut Parts| {
        p.deadlock = found();
        p.losses.add(Loss::OnFailedLink, 1);
        p.promises = violated(3, 2);
    };
    let v = Verdict::from(well()).with(all);
    assert_eq!(
        v.headline(),
        "3 checks violated, deadlock at 4ms, 1 frame lost (on links that failed)"
    );
    assert_eq!(
        v.conclusion(&[Allow::Deadlock, Allow::Loss]),
        Conclusion::No,
        "a check that is not about a lost frame"
    );
    let lossy = v.with(|p| p.promises = violated(3, 3));
    assert_eq!(lossy.conclusion(&[Allow::Deadlock]), Conclusion::No);
    assert_eq!(lossy.conclusion(&[Allow::Loss]), Conclusion::No);
    assert_eq!(lossy.conclusion(&[Allow::Deadlock, Allow::Loss]), Conclusion::Yes);
    assert_eq!(v.with(|p| p.interrupted = true).conclusion(&[]).exit_code(), 130);
    assert_eq!(
        (Conclusion::of(true, false), Conclusion::of(false, false), Conclusion::of(false, true)),
        (Conclusion::Interrupted, Conclusion::No, Conclusion::Yes)
    );
}

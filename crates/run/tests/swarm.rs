//! Hundreds of random small networks under the checkers: nothing is lost, nothing overtakes,
//! nothing leaks, and the same scenario gives the same hash.
//!
//! Each case is a scenario text made from its number, so that a failure is reproduced by running
//! that number alone:
//! `XOFF_TEST_SWARM_CASE=123 cargo test --release --workspace --test swarm -- --nocapture`.

use xoff_farm::draw::Drawn;
use xoff_farm::fabrics::{Came, examine};
use xoff_farm::memory::beside;
use xoff_farm::promises::{by_flow, infiniband, scenario};

/// Every tenth case runs three times.
fn check(case: u64, drawn: &Drawn) -> Result<(), String> {
    let checkers = ["promises", "end", "lossless", "ideal", "deadlock", "repeat", "observed"];
    let checkers = &checkers[..if case.is_multiple_of(10) { 7 } else { 5 }];
    drawn.load()?;
    match examine(&drawn.text(), checkers) {
        Came::Fine => Ok(()),
        other => Err(format!("case {case}: {other:?}\n{}", drawn.text())),
    }
}

fn all_keep(cases: std::ops::Range<u64>, check: impl Fn(u64) -> Result<(), String> + Sync) {
    let next = std::sync::atomic::AtomicU64::new(cases.start);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                loop {
                    let case = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if case >= cases.end {
                        break;
                    }
                    if let Err(e) = check(case) {
                        failures.lock().unwrap().push(e);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let kinds = |f: &String| f.lines().next().unwrap_or("").to_owned();
    failures.iter().take(12).for_each(|f| println!("{}", kinds(f)));
    assert!(
        failures.is_empty(),
        "{} of {} failed; the first:\n{}",
        failures.len(),
        cases.end - cases.start,
        failures[0]
    );
}

#[test]
fn five_hundred_random_scenarios_keep_every_promise() {
    if let Some(case) = std::env::var("XOFF_TEST_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        println!("{}", scenario(case).text());
        return check(case, &scenario(case)).unwrap();
    }
    all_keep(0..500, |case| check(case, &scenario(case)));
}

#[test]
fn a_hundred_and_fifty_random_scenarios_with_cut_through_keep_every_promise() {
    let with_arbitration =
        (2000..2150).filter(|&case| infiniband(case).scheduler == "vl-arbitration").count();
    assert!((30..70).contains(&with_arbitration), "{with_arbitration} of 150 with virtual lanes");
    all_keep(2000..2150, |case| check(case, &infiniband(case)));
}

#[test]
fn a_hundred_and_fifty_random_scenarios_with_flow_control_by_flow_keep_every_promise() {
    all_keep(3000..3150, |case| check(case, &by_flow(case)));
}

/// Promises are kept next to priorities that lose frames, and every engine gives the same result.
#[test]
fn a_hundred_and_fifty_random_scenarios_with_lossy_priorities_keep_every_promise() {
    let lost = std::sync::atomic::AtomicU64::new(0);
    all_keep(4000..4150, |case| {
        let drawn = beside(case);
        let s = drawn.load()?;
        let checkers =
            ["promises", "end", "ideal", "deadlock", "repeat", "engines", "fast-forward"];
        let ran = xoff_farm::checkers::run(&s, xoff_farm::checkers::PLAIN)?;
        let (lossy, others) =
            (ran.outcome.lost.lossy().total(), ran.outcome.lost.unexcused().total());
        if others > 0 {
            return Err(format!("case {case}: {:?}\n{}", ran.outcome.lost, drawn.text()));
        }
        lost.fetch_add(u64::from(lossy > 0), std::sync::atomic::Ordering::Relaxed);
        match examine(&drawn.text(), &checkers[..if case.is_multiple_of(3) { 7 } else { 5 }]) {
            Came::Fine => Ok(()),
            other => Err(format!("case {case}: {other:?}\n{}", drawn.text())),
        }
    });
    let lost = lost.into_inner();
    assert!(lost >= 25, "only {lost} of 150 dropped frames of lossy priorities");
}

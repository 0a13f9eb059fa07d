//! The study as a whole, on a small scale.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::job::{Aim, Egress, Job, NextAfter, Scheme};
use super::network::{Network, RoutingRule};
use super::*;
use crate::{Context, Mode, ReproduceError};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("large-scale-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn small() -> Sizes {
    let search = Effort {
        k: 4,
        rule: RoutingRule::LowestId,
        egress: Egress::Fifo,
        next_after: NextAfter::Delivery,
        size_max: SIZE_MAX,
        duration_us: 5000,
        networks: 3,
        repetitions: 2,
        gentle_repetitions: 1,
    };
    Sizes {
        scales: vec![(4, 300)],
        headline: vec![search],
        further: vec![],
        free: vec![(4, 1)],
        free_more: vec![],
        stuck: 1,
        messages: vec![(4, 1, 2000)],
        limit: None,
    }
}

fn study(out: &Path, threads: usize) -> LargeScale {
    LargeScale::run(&Context { threads, ..Context::new(Mode::Quick, out) }, small(), Parts::ALL).unwrap()
}

#[test]
fn neither_threads_nor_an_interruption_change_a_result() {
    let (one, three, torn) = (folder("one"), folder("three"), folder("torn"));
    let whole = study(&one, 1);
    assert!(whole.headline[0].cases.len() == 3 && whole.free.len() == 1 && whole.messages.len() == 3);
    assert!(whole == study(&three, 3), "threads change a result");

    let looks = AtomicUsize::new(0);
    let stop = || looks.fetch_add(1, Ordering::Relaxed) > 12;
    let cx = Context { interrupted: &stop, ..Context::new(Mode::Quick, &torn) };
    assert!(matches!(LargeScale::run(&cx, small(), Parts::ALL), Err(ReproduceError::Interrupted)));
    let file = torn.join("large-scale").join("done.jsonl");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.lines().count() > 1, "finished work is kept");
    assert!(whole == study(&torn, 2), "an interruption changes a result");
    let all = std::fs::read_to_string(&file).unwrap();
    assert!(all.starts_with(&kept), "and not done again");
    for path in [one, three, torn] {
        std::fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn a_limit_of_no_time_does_nothing_and_is_reported() {
    let out = folder("late");
    let cx = Context::new(Mode::Quick, &out);
    let late = LargeScale::run(&cx, Sizes { limit: Some(std::time::Duration::ZERO), ..small() }, Parts::ALL).unwrap();
    assert_eq!((late.filtered[0].1.networks, late.headline[0].cases.len(), late.messages.len()), (0, 0, 0));
    // Findings of nothing are no reproduction, and no panic.
    for f in [
        tab1::findings(&late),
        performance::throughput(&late),
        performance::slowdown(&late),
        fig18::findings(&late),
        fig19::findings(&late),
    ] {
        assert_ne!(f.verdict(), xoff_lab::Verdict::Reproduced);
    }
    std::fs::remove_dir_all(out).unwrap();
}

/// A network of Table 1 and the repetition that deadlocks it.
fn case(scheme: Scheme, egress: Egress) -> Job {
    Job {
        aim: Aim::Performance,
        network: Network { k: 4, number: 9960 },
        rule: RoutingRule::LowestId,
        egress,
        scheme,
        hysteresis: 3000,
        spacing_ns: 0,
        next_after: NextAfter::Sent,
        size_max: SIZE_MAX,
        duration_us: 20_000,
        first: 1000,
        repetitions: 1,
    }
}

#[test]
fn a_deadlock_case_is_one_under_pfc_and_cbfc_and_not_under_gfc() {
    for scheme in Scheme::ALL {
        let runs = case(scheme, Egress::Fifo).run(&|| false).unwrap().unwrap();
        assert_eq!(runs.deadlock().is_some(), !scheme.is_gentle(), "{}", scheme.name());
        let run = &runs.runs[0];
        assert_eq!((run.dropped, run.violations, run.end_us), (0, 0, 20_000));
        assert_eq!(run.measured.series_kbps.len(), 200);
        assert_eq!(run.measured.throughput.n, 190 * 16);
    }
}

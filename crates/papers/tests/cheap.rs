//! The cheap entries in quick mode, and the facts of the ring that must hold.

mod support;

use support::{Folder, holds, judge_of};
use xoff_lab::{Context, Judged, Mode, ReproduceError, Verdict};
use xoff_papers::reproduce;

fn judge(out: &Folder, items: &[&str], threads: usize) -> Vec<Judged> {
    judge_of("gfc", out, items, threads)
}

#[test]
fn the_ring_stops_under_fifo_and_gfc_holds_half_the_line_rate_under_round_robin() {
    let out = Folder::new("ring");
    let ring = judge(&out, &["ring"], 2).remove(0);
    for what in ["PFC, FIFO: deadlocks", "CBFC, FIFO: deadlocks", "frames lost in all runs"] {
        assert!(holds(&ring, what), "{what}");
    }
    for scheme in ["Buffer-based GFC", "Time-based GFC"] {
        for flow in 1..=3 {
            assert!(holds(&ring, &format!("{scheme}, round robin: rate of flow {flow}")));
        }
        for (order, moves) in [("FIFO, 1 s", false), ("round robin", true)] {
            let what = format!("{scheme}, {order}: stopped flows, no byte in the last 1 ms");
            assert_eq!(holds(&ring, &what), moves, "{what}");
        }
    }
    assert_eq!(ring.verdict, Verdict::NotReproduced);
}

#[test]
fn cheap_entries_give_their_verdicts() {
    let out = Folder::new("cheap");
    let all = judge(
        &out,
        &[
            "fig05",
            "thm4.1",
            "thm5.1",
            "sec4.2",
            "sec4.2-steady",
            "sec5.4",
            "sec5.4-stages",
            "fig09",
            "fig10",
            "fig12",
            "fig13",
            "fig14",
            "fig20",
        ],
        2,
    );
    for e in &all {
        let expected = match e.id.as_str() {
            // What the paper prints does not follow from its own formulas.
            "sec4.2-steady" | "sec5.4-stages" => Verdict::NotReproduced,
            // Under FIFO all flows stop under GFC too.
            "fig12" | "fig13" => Verdict::NotReproduced,
            "fig05" | "thm4.1" | "sec4.2" => Verdict::Reproduced,
            _ => Verdict::UnderAssumption,
        };
        assert_eq!(e.verdict, expected, "{}: {:?}", e.id, e.why);
        assert!(e.figure.as_ref().is_none_or(|f| out.0.join(f).is_file()), "{}", e.id);
        assert!(e.verdict != Verdict::NotReproduced || e.why.len() > 1, "{} says why", e.id);
    }
    for file in ["index.html", "entries.json", "gfc.md"] {
        assert!(out.0.join(file).is_file(), "{file}");
    }
}

#[test]
fn threads_change_nothing_and_a_second_run_keeps_the_first() {
    let (one, two) = (Folder::new("one"), Folder::new("two"));
    let items = ["fig10", "sec7-loop", "sec7-priorities", "sec7-granularity"];
    let first = judge(&one, &items, 1);
    assert_eq!(first, judge(&two, &items, 2));
    let text = |f: &Folder| std::fs::read_to_string(f.0.join("entries.json")).unwrap();
    assert_eq!(text(&one), text(&two));
    // A figure that is drawn again is a new file.
    let drawn = || std::fs::metadata(one.0.join("figures/fig10.svg")).unwrap().modified().unwrap();
    let before = drawn();
    assert_eq!(judge(&one, &items, 1), first);
    assert_eq!(drawn(), before);
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let out = Folder::new("stopped");
    judge(&out, &["sec4.2"], 1);
    let stop = || true;
    let cx = Context { interrupted: &stop, ..Context::new(Mode::Quick, &out.0) };
    let report = reproduce("gfc", &["sec4.2".into(), "fig05".into()], &cx).unwrap();
    assert!(report.interrupted && !report.is_reproduced());
    assert_eq!(report.entries.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["sec4.2"]);
    assert!(std::fs::read_to_string(out.0.join("index.html")).unwrap().contains("sec4.2"));
}

#[test]
fn unknown_names_are_refused_with_those_there_are() {
    let cx = Context::new(Mode::Quick, std::path::Path::new("nowhere"));
    for (paper, item) in [("gcf", "ring"), ("gfc", "fig99")] {
        match reproduce(paper, &[item.into()], &cx) {
            Err(ReproduceError::Unknown { hint, .. }) => assert!(hint.contains("gfc") || hint.contains("fig09"), "{hint}"),
            _ => panic!("{paper} {item}"),
        }
    }
}

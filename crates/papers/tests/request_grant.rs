//! The cheap entries of the request-grant paper in quick mode, and what must hold of them.

mod support;

use support::{Folder, holds, judge_of};
use xoff_lab::{Judged, Verdict};

fn judge(out: &Folder, items: &[&str], threads: usize) -> Vec<Judged> {
    judge_of("request-grant", out, items, threads)
}

#[test]
fn cheap_entries_give_their_verdicts() {
    let out = Folder::new("rg-cheap");
    for e in judge(&out, &["fig2", "lemma-1", "fig3", "lemma-1-packets", "theorem-1", "fairness", "sec4", "delays"], 2) {
        let expected = match e.id.as_str() {
            "lemma-1-packets" => Verdict::Extension,
            // Two of the printed numbers are not those of the parameters; 280 is not what the formula next to it gives.
            "sec4" | "delays" => Verdict::NotReproduced,
            _ => Verdict::Reproduced,
        };
        assert_eq!(e.verdict, expected, "{}: {:?}", e.id, e.why);
        assert!(e.figure.as_ref().is_none_or(|f| out.0.join(f).is_file()), "{}", e.id);
    }
}

/// Sections 2.3 and 2.4 in one sentence each: grants pile up without speed-up, and reserving survives hosts that stop.
#[test]
fn implicit_rates_need_speed_up_and_reserving_does_not() {
    let out = Folder::new("rg-two");
    let all = judge(&out, &["fig04", "fig15abc"], 2);
    for what in ["no speed-up: fullest fabric-output buffer", "no speed-up: most grants held by an input"] {
        assert!(holds(&all[0], what), "{what}");
    }
    for what in [
        "reserve: delay while blocked, relative to the time before",
        "implicit: throughput of the others while blocked, relative to the time before",
    ] {
        assert!(holds(&all[1], what), "{what}");
    }
    assert!(all.iter().all(|e| e.verdict == Verdict::UnderAssumption), "{:?}", all.iter().map(|e| &e.why).collect::<Vec<_>>());
}

#[test]
fn threads_change_nothing_and_runs_are_shared() {
    let (one, two) = (Folder::new("rg-one"), Folder::new("rg-both"));
    let items = ["lemma-1-packets", "fairness"];
    assert_eq!(judge(&one, &items, 1), judge(&two, &items, 2));
    for file in ["figures/fairness.svg", "entries.json"] {
        let text = |f: &Folder| std::fs::read_to_string(f.0.join(file)).unwrap();
        assert_eq!(text(&one), text(&two), "{file}");
    }
    // Judged again from the runs that are kept.
    let kept = || std::fs::read_to_string(one.0.join("request-grant/done.jsonl")).unwrap();
    let before = kept();
    std::fs::remove_dir_all(one.0.join("entries")).unwrap();
    assert_eq!(judge(&one, &items, 1), judge(&two, &items, 1));
    assert_eq!(kept(), before);
}

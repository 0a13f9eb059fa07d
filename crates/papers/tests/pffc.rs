//! PFFC in quick mode: the entries' verdicts, and the facts that must hold whatever the verdict.

mod support;

use support::{Folder, holds, judge_of};
use xoff_lab::{Judged, Verdict};

fn judge(out: &Folder, items: &[&str], threads: usize) -> Vec<Judged> {
    judge_of("pffc", out, items, threads)
}

#[test]
fn entries_give_their_verdicts() {
    let out = Folder::new("pffc");
    let all = judge(&out, &[], 2);
    assert_eq!(all.len(), 15);
    for e in &all {
        let expected = match e.id.as_str() {
            // Four messages instead of two make 2.0 of the paper's 1.35; the paper's Mbytes have lost a decimal point.
            "table3" | "table3-bytes" => Verdict::NotReproduced,
            "shared-queues" | "collisions" | "order" | "xoff" | "xon" | "mice-held" | "hosts" => Verdict::Extension,
            _ => Verdict::UnderAssumption,
        };
        assert_eq!(e.verdict, expected, "{}: {:?}", e.id, e.why);
        assert!(e.figure.as_ref().is_some_and(|f| out.0.join(f).is_file()), "{}", e.id);
        assert!(e.verdict != Verdict::NotReproduced || e.why.len() > 1, "{} says why", e.id);
    }
    let find = |id: &str| all.iter().find(|e| e.id == id).unwrap();
    for scheme in ["PFC: 156461", "PFFC: 211010"] {
        assert!(holds(find("table3"), &format!("{scheme} frames of 64 B over 2.0 s at 10 Gb/s")), "{scheme}");
    }
    assert!(!holds(find("table3"), "PFFC over PFC, the same thresholds"));
    assert!(!holds(find("table3-bytes"), "PFC: 156461 frames of 64 B"));
    for n in 2..=4 {
        assert!(holds(find("hops"), &format!("PFFC, N = {n}: times that the last switch pauses a flow at the previous one")));
    }
}

#[test]
fn threads_change_nothing() {
    let (one, two) = (Folder::new("pffc-one"), Folder::new("pffc-two"));
    let items = ["mice-udp", "shared-queues", "order"];
    assert_eq!(judge(&one, &items, 1), judge(&two, &items, 2));
    let text = |f: &Folder| std::fs::read_to_string(f.0.join("entries.json")).unwrap();
    assert_eq!(text(&one), text(&two));
}

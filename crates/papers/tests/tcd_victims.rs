//! Victim flows in quick mode: what must hold, and that finished runs are kept.

mod support;

use support::{Folder, judge_of};
use xoff_lab::{Judged, Verdict};

/// Everything below a folder, into another one.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { _ = std::fs::copy(from, to).unwrap() }
    }
}

fn judge(out: &Folder, item: &str, threads: usize) -> Judged {
    judge_of("tcd", out, &[item], threads).remove(0)
}

/// Victims are faster with TCD and DCQCN, whatever their size; nothing is lost. Threads and a restart change nothing.
#[test]
fn victims_are_faster_with_tcd() {
    let (one, two) = (Folder::new("one"), Folder::new("two"));
    let first = judge(&one, "fig15a", 2);
    assert_eq!(first.verdict, Verdict::UnderAssumption, "{:?}", first.why);
    assert!(one.0.join(first.figure.as_ref().unwrap()).is_file());
    // A study that was stopped: half of its runs are there, the last line is torn.
    let done = std::fs::read_to_string(one.0.join("tcd/done.jsonl")).unwrap();
    copy(&one.0, &two.0);
    std::fs::remove_file(two.0.join("entries/fig15a.json")).unwrap();
    std::fs::write(two.0.join("tcd/done.jsonl"), &done[..done.len() / 2]).unwrap();
    assert_eq!(judge(&two, "fig15a", 1), first);
    let mut lines: [Vec<String>; 2] =
        [&one, &two].map(|f| std::fs::read_to_string(f.0.join("tcd/done.jsonl")).unwrap().lines().map(str::to_owned).collect());
    lines.iter_mut().for_each(|l| l.sort());
    assert_eq!(lines[0], lines[1]);
}

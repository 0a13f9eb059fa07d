//! The micro figures of TCD in quick mode, and the facts of the network of Fig. 2 that must hold.

mod support;

use support::{Folder, holds, judge_of};
use xoff_lab::{Judged, Verdict};

fn judge(out: &Folder, items: &[&str], threads: usize) -> Vec<Judged> {
    judge_of("tcd", out, items, threads)
}

/// All but the sweeps over epsilon and of Fig. 11, which are many runs.
#[test]
fn micro_figures_give_their_verdicts() {
    let out = Folder::new("all");
    let items =
        ["fig03", "fig04", "same-evolution", "fig05", "fig08", "sec4.3", "fig12", "fig13", "covered-root", "alpha-1.2", "fig20a", "fig20b"];
    for e in judge(&out, &items, 2) {
        let expected = match e.id.as_str() {
            // What TIMELY does above T_high the paper does not speak of; and the two queues of Figs. 3 and 4 are as long, but do not move together.
            "fig20b" | "same-evolution" => Verdict::NotReproduced,
            "covered-root" => Verdict::Extension,
            "fig08" | "sec4.3" => Verdict::Reproduced,
            _ => Verdict::UnderAssumption,
        };
        assert_eq!(e.verdict, expected, "{}: {:?}", e.id, e.why);
        assert!(e.figure.as_ref().is_none_or(|f| out.0.join(f).is_file()), "{}", e.id);
        assert!(e.verdict != Verdict::NotReproduced || e.why.len() > 1, "{} says why", e.id);
    }
}

#[test]
#[ignore = "the sweep takes half a minute of processor time"]
fn the_sweep_of_fig_11_gives_its_verdict() {
    let out = Folder::new("sweep");
    assert_eq!(judge(&out, &["fig11"], 2)[0].verdict, Verdict::UnderAssumption);
}

/// Sections 3.1 and 5.1.2 in one sentence each.
#[test]
fn ecn_and_fecn_mark_victims_and_tcd_does_not() {
    let out = Folder::new("marks");
    let all = judge(&out, &["fig03", "fig12", "fig13"], 2);
    for fabric in ["CEE", "InfiniBand"] {
        for flow in ["F0", "F1"] {
            assert!(holds(&all[0], &format!("{fabric}: wrong marks of P2 on {flow}")));
        }
        for port in ["P0", "P1", "P2"] {
            assert!(holds(&all[1], &format!("{fabric}: CE of {port}")) && holds(&all[1], &format!("{fabric}: UE of {port}")));
        }
        for what in ["CE of P2 before its last OFF", "CE of P1", "P2 ends in another state than congestion"] {
            assert!(holds(&all[2], &format!("{fabric}: {what}")));
        }
    }
}

#[test]
fn threads_change_nothing() {
    let (one, two) = (Folder::new("one"), Folder::new("two"));
    let items = ["same-evolution", "fig05", "fig20b"];
    assert_eq!(judge(&one, &items, 1), judge(&two, &items, 2));
    for file in ["figures/fig05.svg", "figures/fig05-2.svg", "entries.json"] {
        let text = |f: &Folder| std::fs::read_to_string(f.0.join(file)).unwrap();
        assert_eq!(text(&one), text(&two), "{file}");
    }
}

//! Reasons for which a job waited: the straggler of an iteration, the port that held it, and the
//! chain from there to its root.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, MessageExplanation, NetworkScenario, Root, explain_message};
use xoff_units::{Span, Time};

fn load(more: &str) -> NetworkScenario {
    let text = format!(
        "[run]\nduration = \"20ms\"\nstop_when_done = true\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nrate = \"100Gbps\"\n\
         delay = \"1us\"\n[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"60KB\"\nxon = \"50KB\"\n{more}"
    );
    NetworkScenario::from_text("job.toml", &text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn explained(s: &NetworkScenario) -> (Finished, MessageExplanation) {
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    let x = f.jobs[0].longest().expect("an iteration").straggler.clone().expect("a message");
    let e = explain_message(s, x.flow, (Time(x.start_ps), Time(x.end_ps)), |_| true).unwrap();
    (f, e)
}

const JOB: &str = "[[job]]\nname = \"train\"\nhosts = [\"H0\", \"H3\", \"H1\", \"H4\"]\n[[collective]]\nsize = \"1600KB\"\ncompute = \"10us\"\n";

/// H3 takes in a quarter of what its link brings: its leaf is stopped, then the spine, then the
/// leaf of the sender, then the sender.
#[test]
fn a_slow_receiver_is_the_root_of_what_the_job_waits_for() {
    let s = load(&format!("{JOB}[[slow_receiver]]\nhost = \"H3\"\nrate = \"25Gbps\"\n"));
    let (f, e) = explained(&s);
    let answer = f.manifest.jobs[0].iterations[0].straggler.as_ref().unwrap();
    assert_eq!((answer.from_rank, answer.to_rank), (0, 1));
    assert_eq!((answer.from_host.as_str(), answer.to_host.as_str()), ("H0", "H3"));
    assert_eq!((e.src.as_str(), e.dst.as_str()), ("H0", "H3"));
    assert_eq!(e.path, ["H0->L1", "L1->S1", "S1->L2", "L2->H3"]);
    // Three quarters of the time that the message takes at that rate.
    assert!(answer.pause_ps > 50_000_000, "{answer:?}");
    assert!(answer.paused_port.as_ref().is_some_and(|p| e.path.contains(p)), "{answer:?}");
    let chain = e.chain.expect("a chain");
    let ports: Vec<&str> = chain.steps.iter().map(|s| s.port.as_str()).collect();
    assert!(
        ports.last() == Some(&"L2->H3") && chain.root == Root::FarEnd,
        "{ports:?} {:?}",
        chain.root
    );
    let words =
        f.summary.active.iter().find(|w| w.contains("waited for longest")).expect("a sentence");
    assert!(
        words.contains("rank 0 on H0 to rank 1 on H3") && words.contains("--straggler"),
        "{words}"
    );
}

/// Flows of two other hosts go to the host of rank 1: its link is the bottleneck, and they are
/// named.
#[test]
fn an_incast_beside_the_job_is_named() {
    let incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"H3\"\nsenders = [\"H2\", \"H5\"]\nsize = \"2MB\"\nstart = \"5us\"\n";
    let two = JOB.replace(", \"H1\", \"H4\"", "");
    let (f, e) = explained(&load(&format!("{incast}{two}")));
    assert_eq!(e.dst, "H3");
    let chain = e.chain.expect("a chain");
    assert!(
        matches!(&chain.root, Root::Bottleneck { port, .. } if port == "L2->H3"),
        "{:?}",
        chain.root
    );
    let (port, with) = e.shared.expect("others");
    let others: Vec<&str> = with.iter().map(|w| w.1.as_str()).collect();
    assert_eq!((port.as_str(), others), ("L2->H3", vec!["H2", "H5"]));
    assert!(
        f.summary.active.iter().any(|w| w.contains("it shared L2->H3 with 2 flows of other hosts")),
        "{:?}",
        f.summary.active
    );
}

/// Nothing holds a message: the rank that computes longer is named, and the last message waited
/// for.
#[test]
fn a_slow_rank_is_named_where_no_message_was_held() {
    let s = load(&JOB.replace(
        "[\"H0\", \"H3\", \"H1\", \"H4\"]",
        "[\"H0\", \"H1\", \"H2\", \"H3\"]\nslow_hosts = [\"H1\"]\nslow_by = 3",
    ));
    let (f, e) = explained(&s);
    assert_eq!((e.chain, e.restrained), (None, Span::ZERO));
    let i = f.jobs[0].longest().unwrap();
    assert_eq!(i.computed, Some((1, 30_000_000)));
    let x = i.straggler.as_ref().unwrap();
    assert_eq!(x.pause_ps + x.rate_limit_ps + x.queueing_ps, 0);
    let words: Vec<&String> =
        f.summary.active.iter().filter(|w| w.starts_with("job train")).collect();
    assert!(words.iter().any(|w| w.contains("most at rank 1 on H1")), "{words:?}");
    assert!(words.iter().any(|w| w.contains("nothing delayed it")), "{words:?}");
}

/// Credits and rates instead of pauses: what held the message is found there too.
#[test]
fn every_flow_control_has_a_chain() {
    let text = |kind: &str| format!("flow_control.kind={kind}");
    for kind in ["cbfc", "gfc-buffer", "gfc-conceptual"] {
        let set = [xoff_scenario::document::Override::set(&text(kind)).unwrap()];
        let scenario = format!(
            "[run]\nduration = \"20ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
             [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n[[workload]]\nkind = \"incast\"\nreceiver = \"H3\"\n\
             senders = [\"H2\", \"H5\"]\nsize = \"20MB\"\nstart = \"5us\"\n{JOB}"
        );
        let s = NetworkScenario::from_text("job.toml", &scenario, &set, Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let (_, e) = explained(&s);
        let chain = e.chain.unwrap_or_else(|| panic!("{kind}: no chain"));
        assert!(e.restrained > Span::ZERO && !chain.steps.is_empty(), "{kind}");
        assert!(
            matches!(&chain.root, Root::Bottleneck { port, .. } if port == "L2->H3"),
            "{kind}: {:?}",
            chain.root
        );
    }
}

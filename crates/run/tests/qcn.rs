//! QCN in whole networks: CNMs arrive, rates converge, and they are as fair as "Unbiased QCN"
//! (IBM RZ 3880) claims.

use std::path::{Path, PathBuf};

use xoff_farm::fabrics::{Came, examine};
use xoff_record::{Sink, read};
use xoff_run::{Finished, NetworkScenario};
use xoff_scenario::document::Override;
use xoff_sim::{FlowRecord, PortTotals};

fn settings(settings: &[&str]) -> Vec<Override> {
    settings.iter().map(|s| Override::set(s).unwrap()).collect()
}

fn keeps_its_promises(f: Finished) -> Finished {
    assert_eq!((f.outcome.dropped_frames, &f.outcome.violations[..]), (0, &[][..]));
    f
}

fn fan_in_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/unbiased-qcn/examples/fan-in.toml")
}

/// Five hosts and a sixth, 10 Gb/s, PAUSE at 110 and 44 KB.
fn fan_in(given: &[&str]) -> Finished {
    let s =
        NetworkScenario::load(&fan_in_file(), &settings(given)).unwrap_or_else(|e| panic!("{e}"));
    keeps_its_promises(s.run(Sink::Memory).unwrap())
}

fn sum(f: &Finished, of: fn(&PortTotals) -> u64) -> u64 {
    f.outcome.ports.iter().flatten().map(of).sum()
}

fn received(f: &Finished) -> Vec<u64> {
    f.outcome.flows.iter().map(|f| f.cnms).collect()
}

/// Only counters are of interest.
const UNPROBED: [&str; 3] = ["probes.interval=0us", "probes.queues=[]", "probes.flow_rates=false"];

fn fan_in_counted(given: &[&str]) -> Finished {
    fan_in(&[given, &UNPROBED].concat())
}

/// Mean rate of a flow between two times, from samples of a millisecond [Gb/s].
fn rate(f: &Finished, flow: u64, from_ms: u64, to_ms: u64) -> f64 {
    let table = f.tables.memory.iter().find(|t| t.name == "rates").unwrap();
    let (mut total, mut samples) = (0, 0);
    for b in &table.batches {
        let columns =
            [read::numbers(b, "time_ps"), read::numbers(b, "flow"), read::numbers(b, "rate_bps")];
        for (i, source) in read::texts(b, "source").into_iter().enumerate() {
            let at = columns[0][i].unwrap() / 1_000_000_000;
            if source == Some("measured")
                && columns[1][i] == Some(flow)
                && (from_ms + 1..=to_ms).contains(&at)
            {
                total += columns[2][i].unwrap();
                samples += 1;
            }
        }
    }
    assert_eq!(samples, to_ms - from_ms, "a sample per millisecond");
    total as f64 / samples as f64 / 1e9
}

/// RZ 3880, Fig. 2(c): four flows get 2.5 Gb/s each, and 2 Gb/s while there is a fifth one, within
/// 5 %, from 30 ms after each change on. Every CNM comes from an input, and reaches the source of a
/// flow that still sends.
#[test]
fn at_inputs_a_fan_in_is_fair() {
    let f = fan_in(&[]);
    for (from, to, flows, fair) in [(30, 100, 4, 2.5), (130, 200, 5, 2.0), (230, 300, 4, 2.5)] {
        let rates: Vec<f64> = (0..flows).map(|flow| rate(&f, flow, from, to)).collect();
        assert!(
            rates.iter().all(|r| (r / fair - 1.0).abs() < 0.05),
            "{from} to {to} ms: {rates:?}"
        );
    }
    let sent = f.outcome.cnms_total().ingress;
    assert!(sent > 300 && f.outcome.cnms_total().egress == 0);
    assert!(received(&f).iter().all(|&n| n > 20), "{:?}", received(&f));
    let underway = sent - received(&f).iter().sum::<u64>();
    assert!(
        underway <= 2,
        "{underway} came after the end of a flow, or were on their way at the end of the run"
    );
    assert!(f.outcome.rate_changes > 1_000);
}

fn unfairness(f: &Finished) -> f64 {
    let bytes = || f.outcome.flows[..4].iter().map(|f: &FlowRecord| f.delivered as f64);
    bytes().fold(0.0, f64::max) / bytes().fold(f64::MAX, f64::min)
}

/// RZ 3880, Fig. 2(b) and (d): with a congestion point at the output the shares are unequal,
/// max/min >= 1.3, in at least eight of ten runs; one at the inputs besides does not help. With
/// congestion points at the inputs alone no run is that unequal.
#[test]
fn at_an_output_a_fan_in_is_not_fair() {
    for (placement, unfair) in [("output", 8..=10), ("both", 8..=10), ("input", 0..=0)] {
        let of = |seed: u64| {
            unfairness(&fan_in_counted(&[
                &format!("detection.placement={placement}"),
                &format!("run.seed={seed}"),
            ]))
        };
        let ratios: Vec<f64> = (1..=10).map(of).collect();
        let count = ratios.iter().filter(|&&r| r >= 1.3).count();
        assert!(unfair.contains(&count), "{placement}: {ratios:.2?}");
    }
}

/// RZ 3880, section IV: sampling through the pauses leaves fewer of them; less than half here.
#[test]
fn keep_alive_shortens_the_pauses() {
    let paused = |keep_alive| {
        let f = fan_in_counted(&[
            "detection.sampling=largest",
            &format!("detection.keep_alive={keep_alive}"),
        ]);
        (sum(&f, |p| p.pauses), sum(&f, |p| p.paused_ps))
    };
    let (without, with) = (paused(false), paused(true));
    assert!(2 * with.0 < without.0 && 2 * with.1 < without.1, "{without:?} {with:?}");
}

/// AF-QCN at the output: in the mean of ten runs the shares are more equal than those of QCN
/// (max/min 1.8 instead of 2.8).
#[test]
fn af_qcn_is_fairer_than_qcn_at_an_output() {
    let mean = |kind: &str| {
        let of = |seed: u64| {
            unfairness(&fan_in_counted(&[
                &format!("detection.kind={kind}"),
                "detection.placement=output",
                &format!("run.seed={seed}"),
            ]))
        };
        (1..=10).map(of).sum::<f64>() / 10.0
    };
    let (qcn, af) = (mean("qcn"), mean("af-qcn"));
    assert!(af < qcn, "{qcn} {af}");
}

/// 802.1Qau: queues, congestion points and culprits belong to a priority. A flow of 1 Gb/s in a
/// priority without backlog gets no CNM, at inputs, at outputs, under any sampling. In the priority
/// of the congested flows it gets some.
#[test]
fn each_priority_has_its_own_congestion_points() {
    for placement in ["input", "output"] {
        for sampling in ["arrival", "random"] {
            let cnms = |priority: u8| {
                let slow = format!(
                    "[[flow]]\nsrc = \"H1\"\ndst = \"H5\"\nrate = \"1Gbps\"\npriority = {priority}\n"
                );
                let text = VICTIM.replacen("[[flow]]", &format!("{slow}[[flow]]"), 1);
                let set = settings(&[
                    &format!("detection.placement={placement}"),
                    &format!("detection.sampling={sampling}"),
                ]);
                let s = NetworkScenario::from_text("v.toml", &text, &set, Path::new("")).unwrap();
                received(&keeps_its_promises(s.run(Sink::Nothing).unwrap()))
            };
            let (apart, together) = (cnms(1), cnms(0));
            assert!(
                apart[0] == 0 && apart.iter().sum::<u64>() > 10,
                "{placement} {sampling} {apart:?}"
            );
            assert!(together[0] > 0, "{placement} {sampling} {together:?}");
        }
    }
}

/// A flow of weight 3 among four has half of the output with `alpha = 1`, and the others a sixth
/// each; without weights all have a quarter: to a hundredth of the line over 300 ms, in which shares
/// settle. Threads and a saved state change nothing.
#[test]
fn af_qcn_shares_an_output_by_weights() {
    let set = ["detection.kind=af-qcn", "detection.placement=output", "detection.alpha=1"];
    let weighted = "detection.weights=[\"1:3\"]";
    for (weights, expected) in
        [("detection.weights=[]", [3.0; 4]), (weighted, [2.0, 6.0, 2.0, 2.0])]
    {
        let f = fan_in_counted(&[&set[..], &[weights, "flow[4].size=1KB"]].concat());
        let delivered = || f.outcome.flows[..4].iter().map(|f| f.delivered as f64);
        let all: f64 = delivered().sum();
        for (bytes, twelfths) in delivered().zip(expected) {
            assert!((bytes / all - twelfths / 12.0).abs() < 0.01, "{weights} {bytes} of {all}");
        }
    }
    let short = [&set[..], &[weighted, "run.duration=20ms"], &UNPROBED].concat();
    let s = NetworkScenario::load(&fan_in_file(), &settings(&short)).unwrap();
    assert_eq!(examine(&s.resolved, &["engines", "resumed"]), Came::Fine);
}

/// The network of RZ 3880, section III: of two flows from H0 the one to H5 is blocked there, the
/// other has H6 for itself.
const VICTIM: &str = r#"
[run]
duration = "100ms"
[topology]
kind = "star"
hosts = 7
rate = "10Gbps"
delay = "1us"
[host]
frame_max = "1522B"
# The sources keep their distance also after a pause: without backlog the fast flow is the one that most frames arrive of.
pacing = "gap"
[switch]
buffer = "150KB"
discipline = "round-robin"
[flow_control]
kind = "pfc"
xoff = "110KB"
xon = "44KB"
[detection]
kind = "qcn"
setpoint = "60KB"
placement = "input"
[rate_control]
kind = "qcn"
timer = "10ms"
[[flow]]
src = "H0"
dst = "H5"
rate = "3Gbps"
[[flow]]
src = "H0"
dst = "H6"
rate = "7Gbps"
[[flow]]
src = "H1"
dst = "H5"
[[flow]]
src = "H2"
dst = "H5"
[[flow]]
src = "H3"
dst = "H5"
"#;

fn from_text(text: &str, given: &[&str]) -> NetworkScenario {
    NetworkScenario::from_text("qcn.toml", text, &settings(given), Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// RZ 3880, Fig. 4 and 5(d): sampling by arrival notifies the fast flow, which has no backlog; the
/// largest occupancy never does; a random unit does hardly ever, in less than 5 % of all CNMs.
#[test]
fn a_victim_is_spared_by_occupancy_sampling() {
    let notified = |sampling: &str| {
        let f = keeps_its_promises(
            from_text(VICTIM, &[&format!("detection.sampling={sampling}")])
                .run(Sink::Nothing)
                .unwrap(),
        );
        (received(&f), f.outcome.flows[1].delivered)
    };
    let (arrival, random, largest) = (notified("arrival"), notified("random"), notified("largest"));
    assert!(arrival.0[1] > 2 * arrival.0[0], "{arrival:?}");
    assert_eq!(largest.0[1], 0, "{largest:?}");
    assert!(20 * random.0[1] < random.0.iter().sum() && random.0[0] > 20, "{random:?}");
    assert!(
        random.1 > arrival.1 && largest.1 > arrival.1,
        "the victim is faster: {} {} {}",
        arrival.1,
        random.1,
        largest.1
    );
}

/// Two tiers, acknowledgements in a class of their own: CNMs of leaves and spines reach their
/// sources, one result for any number of threads.
#[test]
fn cnms_find_their_path_over_several_switches() {
    let text = "[run]\nduration = \"3ms\"\nwatch = \"100us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
                rate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nacks = \"per-frame\"\nack_priority = 6\n[switch]\nbuffer = \"150KB\"\n\
                [flow_control]\nkind = \"pfc\"\nxoff = \"110KB\"\nxon = \"44KB\"\n\
                [detection]\nkind = \"qcn\"\nplacement = \"both\"\nsampling = \"random\"\nkeep_alive = true\n[rate_control]\nkind = \"qcn\"\n\
                [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"2MB\"\n[probes]\nnotices = [\"all\"]\n";
    let s = from_text(text, &[]);
    let run = |threads| {
        keeps_its_promises(s.start(Sink::Memory, Some(threads)).unwrap().run(|_| true).unwrap())
    };
    let whole = run(1);
    let (at_inputs, at_outputs) =
        (whole.outcome.cnms_total().ingress, whole.outcome.cnms_total().egress);
    assert!(at_inputs > 10 && at_outputs > 10, "{at_inputs} {at_outputs}");
    let rows: u64 =
        whole.tables.rows.iter().filter(|(name, _)| *name == "cnms").map(|(_, n)| n).sum();
    assert_eq!(rows, at_inputs + at_outputs);
    let counts = received(&whole);
    assert!(
        counts.iter().filter(|&&n| n > 0).count() > 10 && counts.iter().sum::<u64>() + 20 > rows,
        "{counts:?} of {rows}"
    );
    for threads in [2, 3] {
        assert_eq!(
            run(threads).manifest.result_hash,
            whole.manifest.result_hash,
            "{threads} threads"
        );
    }
}

/// Set points out of reach are refused; halves without each other, samples at every frame and
/// pauses before congestion are warned of, with the inequality that fails.
#[test]
fn what_does_not_fit_together_is_reported() {
    let warnings = |given: &[&str]| {
        from_text(VICTIM, given).warnings.iter().map(|w| w.line()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&[]), [""; 0]);
    let one = |given: &[&str], part: &str| {
        let w = warnings(given);
        assert!(w.len() == 1 && w[0].contains(part), "{part}: {w:?}");
    };
    one(&["rate_control.kind=none"], "which rate_control none ignores");
    one(&["rate_control.kind=dcqcn"], "which rate_control dcqcn ignores");
    one(&["detection.kind=none"], "detection none never sends");
    one(&["detection.setpoint=110KB"], "Q_eq < XOFF on 10 Gb/s links: 110 KB >= 110 KB");
    one(&["detection.sample_base=1KB"], "I_s >= MTU on 10 Gb/s links: 1 KB < 1.522 KB");
    one(
        &["detection.sampling=random", "detection.keep_alive=true", "flow_control.kind=cbfc"],
        "no ingress pauses",
    );
    one(
        &["detection.setpoint=110KB", "detection.placement=output"],
        "110 KB >= 110 KB, a queue that one ingress fills is paused",
    );
    let refused = |given: &[&str], part: &str| {
        let e = NetworkScenario::from_text("qcn.toml", VICTIM, &settings(given), Path::new("."))
            .err()
            .expect("a refusal")
            .to_string();
        assert!(e.contains(part), "{part}: {e}");
    };
    refused(&["detection.sample_base=0KB"], "sample_base");
    refused(
        &["detection.setpoint=151KB"],
        "Q_eq 151 KB is above the most that an ingress buffer can hold, 150 KB",
    );
    refused(
        &["detection.setpoint=1051KB", "detection.placement=output"],
        "an egress queue can hold, 1.05 MB",
    );
    refused(&["detection.keep_alive=true", "detection.placement=output"], "keep_alive");

    let eight: String = (0..8)
        .map(|p| format!("[[flow]]\nsrc = \"H1\"\ndst = \"H5\"\nsize = \"1KB\"\npriority = {p}\n"))
        .collect();
    let e = from_text(&(VICTIM.to_owned() + &eight), &[])
        .run(Sink::Nothing)
        .err()
        .expect("a refusal")
        .to_string();
    assert!(e.contains("CNMs or replies of leaves need a number of their own"), "{e}");
}

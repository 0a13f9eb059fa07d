//! Shares of a port among priorities.

use std::path::Path;

use xoff_farm::fabrics::{Came, examine};
use xoff_record::Sink;
use xoff_run::NetworkScenario;

/// Three hosts send to a fourth with 10 Gb/s each, one priority each, without flow control.
fn three(weights: &str, sizes: [&str; 3]) -> String {
    let flow = |(n, size): (usize, &str)| {
        format!("[[flow]]\nsrc = \"H{n}\"\ndst = \"H3\"\npriority = {n}\n{size}")
    };
    format!(
        "[run]\nduration = \"12ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"100ns\"\n\
         [host]\nframe_max = \"1500B\"\n[switch]\nbuffer = \"20MB\"\n{weights}[flow_control]\nkind = \"none\"\n{}",
        sizes.into_iter().enumerate().map(flow).collect::<String>()
    )
}

/// Bytes of each flow that have arrived at 12 ms, 15 MB at most.
fn bytes(text: &str) -> Vec<u64> {
    let s = NetworkScenario::from_text("three.toml", text, &[], Path::new("")).unwrap();
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.dropped_frames, 0);
    f.outcome.flows.iter().map(|f| f.delivered).collect()
}

/// Deficit round robin: each priority with frames has its weight's share of the port, to a round of
/// 13.5 KB. One that stops leaves its share to the others by their weights. Strict priority gives
/// everything to the highest.
#[test]
fn weights_are_minimum_bandwidths() {
    let weights = "scheduler = \"drr\"\nweights = [\"1500B\", \"3000B\", \"9000B\"]\n";
    let near = |bytes: &[u64], shares: [f64; 3]| {
        let all: u64 = bytes.iter().sum();
        for (b, share) in bytes.iter().zip(shares) {
            assert!((*b as f64 - share * all as f64).abs() <= 13_500.0, "{bytes:?} {shares:?}");
        }
    };
    let endless = [""; 3];
    let all = bytes(&three(weights, endless));
    near(&all, [1.0 / 9.0, 2.0 / 9.0, 6.0 / 9.0]);
    near(&bytes(&three("", endless)), [0.0, 0.0, 1.0]);
    // A frame of the third is all: of the rest the first has a third.
    let two = bytes(&three(weights, ["", "", "size = \"1500B\"\n"]));
    near(&two, [1.0 / 3.0, 2.0 / 3.0, 0.0]);
    assert_eq!(examine(&three(weights, endless), &["engines", "resumed"]), Came::Fine);
}

//! Sections 9 and 10.1: collectives, and the completion time of a synthetic job.

use super::{Case, Kpi, Prepared, Test, Values, each_case, plain, rate, share, time};
use crate::bench::dut::{Balancer, Dut, time as span};
use crate::bench::seen::{Seen, jain, max_to_mean};
use crate::bench::text::quoted;

/// Collectives of the draft with their algorithm in xoff.
const COLLECTIVES: [(&str, &str, f64); 3] =
    [("all-reduce", "ring", 2.0), ("all-to-all", "direct", 1.0), ("all-gather", "ring", 1.0)];
/// Sizes of a message [bytes], the first two of the draft.
const SIZES: [u64; 2] = [1_000_000, 8_000_000];
/// Iterations of a job.
const ITERATIONS: u64 = 5;
/// Ranks of a job, at most: those of a ring have 2 N (N - 1) messages an iteration.
pub(super) const RANKS_MAX: usize = 64;

pub(super) static TEST: Test = Test {
    id: "jct",
    sections: "9.1, 9.2, 9.3, 9.4, 10.1",
    title: "Collectives, and job completion time",
    definition: "All hosts (at most 64) run 5 iterations: a computation of C, then a collective of S bytes. C is the time of the collective at line rate, 8 S f / B, with f = 2 (n - 1) / n for an all-reduce and (n - 1) / n for an all-to-all and an all-gather (algo_factor of the terminology), and B the rate of a host's link. JCT ratio = measured time / (5 (C + 8 S f / B)). BusBW = 8 S f / time of the collective, mean of the iterations. Headers count as overhead in both.",
    labels: &["Collective", "S", "N", "Algorithm", "Balancing"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 8] = [
    plain("jct_ratio", "JCT ratio", "measured time of the job over Roofline_seq"),
    rate("busbw_bps", "BusBW", "bus bandwidth of a rank, mean of the iterations"),
    share("efficiency", "Efficiency", "BusBW over the line rate of a host"),
    time("jct_ps", "JCT", "time of the job"),
    plain("jfi", "JFI", "Jain's index of the bytes on the links from leaves upwards"),
    plain("mmr", "MMR", "max-mean ratio of the same"),
    share("ecn", "ECN marked", "frames marked CE by a port, over all frames sent by ports"),
    plain("pauses", "Pauses", "pauses of all ports"),
];

/// Computation and collective at line rate, an iteration of each [ps].
pub(super) fn roofline(size: u64, factor: f64, ranks: usize, rate: f64) -> f64 {
    let n = ranks as f64;
    factor * (n - 1.0) / n * size as f64 * 8e12 / rate
}

fn prepare(dut: &Dut) -> Prepared {
    let balancers = dut.balancers();
    let mut cases = Vec::new();
    for collective in COLLECTIVES {
        for size in SIZES {
            cases.extend(balancers.iter().map(|by| case(dut, collective, size, by)));
        }
    }
    let mut notes = Vec::new();
    if balancers.len() == 1 {
        notes.push("Hosts of different leaves have one path: balancing is not varied.".into());
    }
    Prepared::Cases {
        cases,
        rows: each_case,
        notes,
        deviations: vec![
            "9, 10.1: S = 1 and 8 MB, N of the scenario, 5 iterations (the draft: up to 4 GB, 1,024 accelerators, 100 and 1,000 iterations); C follows S. The algorithm is the one that the scenario names.".into(),
        ],
    }
}

fn case(dut: &Dut, (kind, algorithm, factor): (&str, &str, f64), size: u64, by: &Balancer) -> Case {
    let n = dut.hosts.len().min(RANKS_MAX);
    let line = roofline(size, factor, n, dut.rate);
    let compute = (line / 1e3).ceil() as u64 * 1_000;
    let ideal = ITERATIONS as f64 * (compute as f64 + line);
    let duration = dut.slack_ps() + (ideal * 20.0) as u64;
    let megabytes = size / 1_000_000;
    let mut text = dut.text(&format!("{kind} of {megabytes} MB, {}", by.label), duration, true);
    dut.balance(&mut text, by);
    job(dut, &mut text, "bench", &ranks(dut), ITERATIONS);
    text.add(
        "collective",
        [
            ("job", quoted("bench")),
            ("kind", quoted(kind)),
            ("algorithm", quoted(algorithm)),
            ("size", format!("\"{size}B\"")),
            ("compute", span(compute)),
        ],
    );
    let uplinks = dut.uplinks.clone();
    let rate = dut.rate;
    Case {
        labels: vec![kind.into(), format!("{megabytes} MB"), n.to_string(), algorithm.into(), by.label.clone()],
        name: format!("jct-{kind}-{megabytes}mb-{}", by.file),
        text: text.write(
            "Sections 9 and 10.1 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.",
        ),
        measure: Box::new(move |seen| measure(seen, ideal, rate, &uplinks)),
    }
}

/// The hosts of the ranks: all, or as many as a job may have, evenly spread.
fn ranks(dut: &Dut) -> Vec<usize> {
    let n = dut.hosts.len().min(RANKS_MAX);
    (0..n).map(|i| i * dut.hosts.len() / n).collect()
}

/// Adds a `[[job]]`.
pub(super) fn job(
    dut: &Dut,
    text: &mut crate::bench::text::Text,
    name: &str,
    hosts: &[usize],
    iterations: u64,
) {
    text.add(
        "job",
        [
            ("name", quoted(name)),
            ("hosts", crate::bench::text::list(hosts.iter().map(|&h| dut.hosts[h].as_str()))),
            ("iterations", iterations.to_string()),
            ("priority", dut.priority.to_string()),
        ],
    );
}

fn measure(seen: &Seen<'_>, ideal: f64, rate: f64, uplinks: &[String]) -> Values {
    let ends = seen.iterations("bench");
    let whole = ends.len() == ITERATIONS as usize + 1;
    let jct = if whole { (ends[ends.len() - 1] - ends[0]) as f64 } else { f64::NAN };
    let bus: Vec<f64> =
        seen.numbers("collectives", "bus_bps").into_iter().flatten().map(|b| b as f64).collect();
    let busbw = bus.iter().sum::<f64>() / bus.len() as f64;
    let sent = seen.sent(uplinks);
    let ports = seen.ports();
    let frames: u64 = ports.iter().map(|p| p.tx_frames).sum();
    vec![
        ("jct_ratio", jct / ideal),
        ("busbw_bps", busbw),
        ("efficiency", busbw / rate),
        ("jct_ps", jct),
        ("jfi", jain(&sent)),
        ("mmr", max_to_mean(&sent)),
        ("ecn", ports.iter().map(|p| p.marked).sum::<u64>() as f64 / frames as f64),
        ("pauses", ports.iter().map(|p| p.pauses).sum::<u64>() as f64),
    ]
}

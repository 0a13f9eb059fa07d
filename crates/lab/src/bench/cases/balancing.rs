//! Section 8: ECMP, flowlets and spraying side by side.

use super::{Case, Kpi, Prepared, Test, Values, bytes, each_case, plain, rate, share};
use crate::bench::dut::{Balancer, Dut};
use crate::bench::seen::{Seen, jain, max_to_mean};
use crate::bench::text::quoted;

/// Payload of each host [bytes].
const SIZE: u64 = 4_000_000;
/// Queue pairs under ECMP, as in the draft, whose list goes to 32.
const QUEUE_PAIRS: [u64; 3] = [1, 4, 16];
/// Queue pairs under flowlets, as in the draft, and under spraying.
const OTHERS: u64 = 4;
/// Gaps of flowlets: both ends of the usual range of the terminology, and the default of xoff.
const GAPS: [&str; 3] = ["500ns", "2us", "100us"];

pub(super) static TEST: Test = Test {
    id: "balancing",
    sections: "8.1, 8.2, 8.3, 8.4",
    title: "Load balancing efficacy",
    definition: "Every host sends 4 MB to the host that half of all hosts are between, over Q queue pairs, all at once. MMR and JFI are those of the bytes on all links from leaves upwards: the largest over the mean, and (sum)^2 / (n sum of squares). JCT ratio is the time until the last byte arrived over the time of 4 MB on the link of a host, header included.",
    labels: &["Balancing", "Q"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 9] = [
    plain(
        "jct_ratio",
        "JCT ratio",
        "time until the last byte arrived over the time of the bytes on the link of a host",
    ),
    plain("mmr", "MMR", "max-mean ratio of the bytes on the links from leaves upwards"),
    plain("jfi", "JFI", "Jain's index of the same"),
    share(
        "uplinks_mean",
        "Uplinks mean",
        "mean utilisation of these links until the last byte arrived",
    ),
    share("uplinks_max", "Uplinks max", "largest utilisation of one of them"),
    rate("goodput_bps", "Goodput", "payload of all hosts until the last byte arrived"),
    share("out_of_order", "Out of order", "frames that arrived ahead of a gap, over all"),
    bytes("reorder_bytes", "Reorder buffer", "most bytes ahead of a gap in one flow"),
    plain("pauses", "Pauses", "pauses of all ports"),
];

fn prepare(dut: &Dut) -> Prepared {
    if !dut.has_paths() {
        return Prepared::NotApplicable("hosts of different leaves have one path".into());
    }
    let mut all: Vec<(Balancer, u64)> = Vec::new();
    for by in dut.balancers() {
        match by.label.split(' ').next().unwrap_or_default() {
            "ecmp" => all.extend(QUEUE_PAIRS.map(|q| (by.clone(), q))),
            "flowlet" => {
                let mut gaps = Dut::flowlets(&GAPS);
                if gaps.iter().all(|g| g.label != by.label) {
                    gaps.push(by);
                }
                all.extend(gaps.into_iter().map(|g| (g, OTHERS)));
            }
            _ => all.push((by, OTHERS)),
        }
    }
    Prepared::Cases {
        cases: all.iter().map(|(by, q)| case(dut, by, *q)).collect(),
        rows: each_case,
        notes: Vec::new(),
        deviations: vec![
            "8.1: Q = 1, 4 and 16; hashes with and without fields of the BTH are not compared; the fabric has the size of the scenario.".into(),
        ],
    }
}

fn case(dut: &Dut, by: &Balancer, q: u64) -> Case {
    let alone = dut.wire_ps(SIZE) / dut.payload_share();
    let duration = dut.slack_ps() + (alone * 40.0) as u64;
    let mut text =
        dut.text(&format!("Load balancing: {}, {q} queue pairs", by.label), duration, true);
    dut.balance(&mut text, by);
    for (src, dst) in dut.shifted() {
        for i in 0..q {
            let size = SIZE / q + u64::from(i < SIZE % q);
            text.add(
                "flow",
                [
                    ("src", quoted(&dut.hosts[src])),
                    ("dst", quoted(&dut.hosts[dst])),
                    ("size", format!("\"{size}B\"")),
                    ("priority", dut.priority.to_string()),
                ],
            );
        }
    }
    let uplinks = dut.uplinks.clone();
    let rates = dut.uplink_rates.clone();
    let total = SIZE as f64 * dut.hosts.len() as f64;
    Case {
        labels: vec![by.label.clone(), q.to_string()],
        name: format!("balancing-{}-q{q}", by.file),
        text: text.write(
            "Section 8 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.",
        ),
        measure: Box::new(move |seen| measure(seen, alone, total, (&uplinks, &rates))),
    }
}

fn measure(
    seen: &Seen<'_>,
    alone: f64,
    total: f64,
    (uplinks, rates): (&[String], &[f64]),
) -> Values {
    let flows = seen.flows();
    let end = flows.iter().map(|f| f.end).try_fold(0, |a, end| end.map(|e| a.max(e)));
    let end = end.map_or(f64::NAN, |end| end as f64);
    let sent = seen.sent(uplinks);
    let used: Vec<f64> = sent.iter().zip(rates).map(|(b, r)| b * 8e12 / r / end).collect();
    let frames = seen.0.manifest.delivered_frames as f64;
    vec![
        ("jct_ratio", end / alone),
        ("mmr", max_to_mean(&sent)),
        ("jfi", jain(&sent)),
        ("uplinks_mean", used.iter().sum::<f64>() / used.len() as f64),
        ("uplinks_max", used.iter().copied().fold(f64::NAN, f64::max)),
        ("goodput_bps", total * 8e12 / end),
        ("out_of_order", flows.iter().map(|f| f.ahead).sum::<u64>() as f64 / frames),
        ("reorder_bytes", flows.iter().map(|f| f.ahead_bytes).max().unwrap_or(0) as f64),
        ("pauses", seen.ports().iter().map(|p| p.pauses).sum::<u64>() as f64),
    ]
}

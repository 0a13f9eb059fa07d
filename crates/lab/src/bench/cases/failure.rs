//! Sections 11.2 and 11.3: a link or a switch fails under load.

use super::jct::{RANKS_MAX, job, roofline};
use super::{Case, Kpi, Measured, Prepared, Row, Test, Values, plain, share, time};
use crate::bench::dut::{self, Balancer, Dut, Failing};
use crate::bench::seen::{Seen, median};
use crate::bench::text::{Text, quoted};

/// Size of the all-reduce [bytes].
const SIZE: u64 = 4_000_000;
/// Iterations of the job.
const ITERATIONS: u64 = 12;
/// The failure is after this number of iterations at line rate.
const BEFORE: f64 = 4.5;
/// Time of endless flows before and after the failure [ps].
const HALF: u64 = 2_000_000_000;
/// Samples in that time.
const SAMPLES: u64 = 200;
/// Queue pairs of endless flows.
const QUEUE_PAIRS: usize = 2;
/// Part of the rate after a failure at which delivery has recovered.
const RECOVERED: f64 = 0.95;

pub(super) static TEST: Test = Test {
    id: "failure",
    sections: "11.2, 11.3",
    title: "Link failure convergence",
    definition: "Two runs of each case. A job of 12 all-reduces (ring) of 4 MB: a link, or all links of a switch, fails in an iteration. Overhead = time of that iteration / median of those before it - 1; zero-impact: it is not longer than the longest of those (11.3). Endless flows from every host to the one half of all further on, over 2 queue pairs: outage is the longest time without delivery of a flow after the failure; recovery is the time until all flows together have 95 % of their mean rate in the last quarter of the run. Times are in samples of 10 us.",
    labels: &["Failure", "Of", "Balancing"],
    kpis: &KPIS,
    excuses_loss: true,
    prepare,
};

static KPIS: [Kpi; 7] = [
    share(
        "overhead",
        "JCT overhead",
        "time of the iteration with the failure over the median before it, minus 1; none: the job stopped",
    ),
    share(
        "zero_impact",
        "Zero-impact",
        "share of runs whose iteration with the failure is not longer than the longest before it",
    ),
    time(
        "outage_ps",
        "Outage",
        "longest time without delivery of an endless flow after the failure",
    ),
    time(
        "recovery_ps",
        "Recovery",
        "failure until all endless flows together have 95 % of their later rate",
    ),
    share(
        "capacity",
        "Rate after",
        "rate of all endless flows in the last quarter, over that before the failure",
    ),
    plain(
        "lost_frames",
        "Lost",
        "frames of the job and of the endless flows that did not arrive, those repeated included",
    ),
    share("finished", "Job ends", "share of runs in which the job came to its end"),
];

fn prepare(dut: &Dut) -> Prepared {
    let failing = dut.failures();
    if failing.is_empty() {
        return Prepared::NotApplicable(
            "no link of a leaf, and no switch above it, can fail without cutting hosts off".into(),
        );
    }
    let mut cases = Vec::new();
    for f in &failing {
        for by in dut.balancers() {
            cases.push(of_job(dut, f, &by));
            cases.push(of_flows(dut, f, &by));
        }
    }
    let mut deviations = vec![
        "11.2: xoff routes around a failure at once; the time in which a switch detects it, and routing converges, is 0. N of the scenario, S = 4 MB.".to_owned(),
    ];
    if recovers(dut).is_some() {
        deviations.push("11.2: the hosts of the scenario do not repeat lost frames; this test adds host.acks = \"per-frame\" and host.recovery = \"go-back-n\".".into());
    }
    Prepared::Cases { cases, rows, notes: Vec::new(), deviations }
}

/// Keys that hosts lack to survive a loss; `None`: they have them.
fn recovers(dut: &Dut) -> Option<[(&'static str, &'static str); 2]> {
    let has = dut.scenario.has_connections()
        || dut.parameter("host.acks") == "per-frame" && dut.parameter("host.recovery") != "nack";
    (!has).then_some([("acks", "\"per-frame\""), ("recovery", "\"go-back-n\"")])
}

fn prepared(
    dut: &Dut,
    title: &str,
    f: &Failing,
    by: &Balancer,
    (at, duration): (u64, u64),
) -> Text {
    let done = title.starts_with("All-reduce");
    let mut text =
        dut.text(&format!("{title}: {} {} fails, {}", f.label, f.what, by.label), duration, done);
    dut.balance(&mut text, by);
    for (key, value) in recovers(dut).into_iter().flatten() {
        text.set("host", key, value.into());
    }
    for link in &f.links {
        text.add("failure", [("link", quoted(link)), ("at", dut::time(at))]);
    }
    text
}

fn named(f: &Failing, by: &Balancer, what: &str) -> String {
    format!("failure-{}-{}-{what}", f.label.replace(' ', "-"), by.file)
}

const COMMENT: &str = "Section 11.2 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.";

fn of_job(dut: &Dut, f: &Failing, by: &Balancer) -> Case {
    let n = dut.hosts.len().min(RANKS_MAX);
    let line = roofline(SIZE, 2.0, n, dut.rate);
    let at = (line * BEFORE / 1e6) as u64 * 1_000_000;
    let duration = dut.slack_ps() + (line * ITERATIONS as f64 * 20.0) as u64;
    let mut text = prepared(dut, "All-reduce", f, by, (at, duration));
    let hosts: Vec<usize> = (0..n).map(|i| i * dut.hosts.len() / n).collect();
    job(dut, &mut text, "bench", &hosts, ITERATIONS);
    text.add(
        "collective",
        [
            ("job", quoted("bench")),
            ("kind", quoted("all-reduce")),
            ("algorithm", quoted("ring")),
            ("size", format!("\"{SIZE}B\"")),
        ],
    );
    Case {
        labels: vec![f.label.into(), f.what.clone(), by.label.clone()],
        name: named(f, by, "job"),
        text: text.write(COMMENT),
        measure: Box::new(move |seen| measure_job(seen, at)),
    }
}

fn of_flows(dut: &Dut, f: &Failing, by: &Balancer) -> Case {
    let mut text = prepared(dut, "Endless flows", f, by, (HALF, 2 * HALF));
    for (src, dst) in dut.shifted() {
        for _ in 0..QUEUE_PAIRS {
            text.add(
                "flow",
                [
                    ("src", quoted(&dut.hosts[src])),
                    ("dst", quoted(&dut.hosts[dst])),
                    ("priority", dut.priority.to_string()),
                ],
            );
        }
    }
    text.set("probes", "interval", dut::time(HALF / SAMPLES));
    text.set("probes", "flow_rates", "true".into());
    Case {
        labels: vec![f.label.into(), f.what.clone(), by.label.clone()],
        name: named(f, by, "flows"),
        text: text.write(COMMENT),
        measure: Box::new(measure_flows),
    }
}

fn measure_job(seen: &Seen<'_>, at: u64) -> Values {
    let ends = seen.iterations("bench");
    let times: Vec<f64> = ends.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    // The iteration in which the failure is, and those before it.
    let hit = ends.windows(2).position(|w| w[0] <= at && at < w[1]);
    let (before, own) = match hit {
        Some(i) => (&times[..i], times[i]),
        None => (&times[..], f64::NAN),
    };
    let longest = before.iter().copied().fold(f64::NAN, f64::max);
    vec![
        ("overhead", own / median(before) - 1.0),
        ("zero_impact", if own.is_finite() { f64::from(u8::from(own <= longest)) } else { 0.0 }),
        ("finished", f64::from(u8::from(times.len() == ITERATIONS as usize))),
        ("lost", seen.0.manifest.lost_frames as f64),
    ]
}

fn measure_flows(seen: &Seen<'_>) -> Values {
    let sample = HALF / SAMPLES;
    let rates = seen.flow_rates();
    let mut silent = vec![0u64; seen.flows().len()];
    let (mut longest, mut sums) = (0u64, Vec::new());
    for at in rates.chunk_by(|a, b| a.0 == b.0) {
        sums.push((at[0].0, at.iter().map(|r| r.2).sum::<f64>()));
        for &(time, flow, rate) in at.iter().filter(|r| r.0 > HALF) {
            let Some(silent) = silent.get_mut(flow as usize) else { continue };
            *silent = if rate > 0.0 { 0 } else { (*silent + sample).min(time - HALF) };
            longest = longest.max(*silent);
        }
    }
    let mean = |from: u64, to: u64| {
        let own: Vec<f64> = sums.iter().filter(|s| s.0 > from && s.0 <= to).map(|s| s.1).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    let (before, after) = (mean(HALF / 2, HALF), mean(HALF / 2 * 3, 2 * HALF));
    let recovered = sums.iter().find(|s| s.0 > HALF && s.1 >= RECOVERED * after);
    vec![
        ("outage_ps", longest as f64),
        ("recovery_ps", recovered.map_or(f64::NAN, |s| (s.0 - HALF) as f64)),
        ("capacity", after / before),
        ("lost", seen.0.manifest.lost_frames as f64),
    ]
}

/// A row for the two runs of a case.
fn rows(kpis: &[Kpi], cases: &[Measured<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for two in cases.chunk_by(|a, b| a.case.labels == b.case.labels) {
        let sum = |name: &str| -> Vec<f64> {
            let mut sum = vec![0.0; two[0].seeds.len()];
            for m in two {
                sum.iter_mut().zip(m.values(name)).for_each(|(s, v)| *s += v);
            }
            sum
        };
        let values = |name: &str| {
            let own = two.iter().map(|m| m.values(name));
            own.into_iter().find(|v| v.iter().any(|x| x.is_finite())).unwrap_or_default()
        };
        rows.push(Row {
            labels: two[0].case.labels.clone(),
            values: kpis
                .iter()
                .map(|k| if k.name == "lost_frames" { sum("lost") } else { values(k.name) })
                .collect(),
        });
    }
    rows
}

//! Section 10.3: two jobs on one fabric.

use super::jct::{RANKS_MAX, job, roofline};
use super::{Case, Kpi, Measured, Prepared, Row, Test, Values, over, plain, share, time};
use crate::bench::dut::Dut;
use crate::bench::seen::Seen;
use crate::bench::text::quoted;

/// Size of the all-reduce of each job [bytes].
const SIZE: u64 = 8_000_000;
/// Iterations of a job.
const ITERATIONS: u64 = 5;

pub(super) static TEST: Test = Test {
    id: "tenants",
    sections: "10.3",
    title: "Multi-tenant JCT interference",
    definition: "Two jobs run 5 all-reduces (ring) of 8 MB each without computing, on hosts of their own: apart (the first and the second half of the hosts) and interleaved (every second host). JCT interference factor = JCT with the other job / JCT alone. Overlap is measured: links from leaves upwards that both jobs use alone, over those that one of them uses.",
    labels: &["Placement", "Job"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 4] = [
    plain("interference", "Interference", "JCT next to the other job over JCT alone"),
    share(
        "overlap",
        "Overlap",
        "links from leaves upwards that both jobs use, over those that any of them uses",
    ),
    time("alone_ps", "Alone", "JCT alone"),
    time("together_ps", "Together", "JCT next to the other job"),
];

fn prepare(dut: &Dut) -> Prepared {
    let n = dut.hosts.len();
    if n < 4 {
        return Prepared::NotApplicable("two jobs take four hosts".into());
    }
    // Where there is one leaf only, jobs share no link.
    if dut.uplinks.is_empty() {
        return Prepared::NotApplicable(
            "leaves have no links upwards: jobs on hosts of their own share no link".into(),
        );
    }
    let limit = |hosts: Vec<usize>| -> Vec<usize> { hosts.into_iter().take(RANKS_MAX).collect() };
    let mut cases = Vec::new();
    for (placement, name) in [("apart", "apart"), ("interleaved", "interleaved")] {
        let of = |part: usize| match name {
            "apart" => limit((part * (n / 2)..(part + 1) * (n / 2)).collect()),
            _ => limit((part..n - n % 2).step_by(2).collect()),
        };
        for (runs, parts) in [("a", 0..1), ("b", 1..2), ("ab", 0..2)] {
            let jobs: Vec<(usize, Vec<usize>)> = parts.map(|part| (part, of(part))).collect();
            cases.push(case(dut, placement, runs, &jobs));
        }
    }
    Prepared::Cases {
        cases,
        rows,
        notes: Vec::new(),
        deviations: vec![
            "10.3: two placements with the overlap that results, not overlaps of 25, 50 and 75 %."
                .into(),
        ],
    }
}

fn case(dut: &Dut, placement: &str, runs: &str, jobs: &[(usize, Vec<usize>)]) -> Case {
    let line = roofline(SIZE, 2.0, jobs[0].1.len(), dut.rate) * ITERATIONS as f64;
    let duration = dut.slack_ps() + (line * 30.0) as u64;
    let mut text = dut.text(&format!("Tenants {placement}: {runs}"), duration, true);
    for (part, hosts) in jobs {
        let name = ["a", "b"][*part];
        job(dut, &mut text, name, hosts, ITERATIONS);
        // The same hashes alone and next to the other job.
        text.add_to_last("src_port", (10_000 + 1_000 * part).to_string());
        text.add(
            "collective",
            [
                ("job", quoted(name)),
                ("kind", quoted("all-reduce")),
                ("algorithm", quoted("ring")),
                ("size", format!("\"{SIZE}B\"")),
            ],
        );
    }
    let uplinks = dut.uplinks.clone();
    Case {
        labels: vec![placement.into(), runs.into()],
        name: format!("tenants-{placement}-{runs}"),
        text: text.write(
            "Section 10.3 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.",
        ),
        measure: Box::new(move |seen| measure(seen, &uplinks)),
    }
}

/// Time of each job, and the number of uplinks that carry data.
fn measure(seen: &Seen<'_>, uplinks: &[String]) -> Values {
    let jct = |job: &str| {
        let ends = seen.iterations(job);
        match ends.len() == ITERATIONS as usize + 1 {
            true => (ends[ends.len() - 1] - ends[0]) as f64,
            false => f64::NAN,
        }
    };
    let used = seen.sent(uplinks).iter().filter(|&&bytes| bytes > 0.0).count();
    vec![("a", jct(" a")), ("b", jct(" b")), ("used", used as f64)]
}

fn rows(_: &[Kpi], cases: &[Measured<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for placement in ["apart", "interleaved"] {
        let of = |runs: &str| cases.iter().find(|m| m.case.labels == [placement, runs]);
        let (Some(a), Some(b), Some(both)) = (of("a"), of("b"), of("ab")) else { continue };
        // The union of both is what they use together.
        let [of_a, of_b, of_both] = [a, b, both].map(|m| m.values("used"));
        let overlap: Vec<f64> = (0..of_both.len())
            .map(|i| ((of_a[i] + of_b[i] - of_both[i]) / of_both[i]).max(0.0))
            .collect();
        for (job, alone) in [("a", a), ("b", b)] {
            let (alone, together) = (alone.values(job), both.values(job));
            rows.push(Row {
                labels: vec![placement.into(), job.into()],
                values: vec![over(&together, &alone), overlap.clone(), alone, together],
            });
        }
    }
    rows
}

//! Section 7.3: time until DCQCN, or another rate control, is fair.

use super::{Case, Kpi, Prepared, Test, Values, each_case, plain, share, time};
use crate::bench::dut::{self, Dut};
use crate::bench::seen::{Seen, jain};
use crate::bench::text::quoted;

/// Flows at first, and added at T0, as in the draft.
const FLOWS: [usize; 2] = [4, 16];
/// Time alone of the first flows, T0 [ps].
const ALONE: u64 = 5_000_000_000;
/// Time after T0 [ps].
const AFTER: u64 = 25_000_000_000;
/// Frames of a flow at its fair share in a sample: so many that one more is 1 %.
const FRAMES: f64 = 100.0;
/// The band around the fair share, as in the draft.
const BAND: f64 = 0.1;

pub(super) static TEST: Test = Test {
    id: "convergence",
    sections: "7.3",
    title: "DCQCN convergence time",
    definition: "M flows share the link of a receiver; at T0 = 5 ms M more begin. Convergence: from T0 to the end of the first sample in which all 2 M flows are within 10 % of the fair share, the payload rate of the link over 2 M. A sample is the time of 100 frames of each flow at that share.",
    labels: &["M"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 6] = [
    time(
        "convergence_ps",
        "Convergence",
        "T0 to the end of the first sample in which every flow is in the band",
    ),
    share(
        "in_band",
        "In band",
        "share of rates of flows within 10 % of the fair share, last quarter of the run",
    ),
    plain("jfi", "Jain", "Jain's index of the mean rates in the last quarter of the run"),
    share(
        "worst",
        "Worst flow",
        "largest distance of a mean rate from the fair share in the last quarter, over that share",
    ),
    share(
        "utilisation",
        "Utilisation",
        "payload that arrived in the last quarter over what the link carries",
    ),
    plain("pauses", "Pauses", "pauses of all ports in the whole run"),
];

fn prepare(dut: &Dut) -> Prepared {
    if dut.scenario.rate_control == "none" {
        let why = "the hosts have no rate control: add [rate_control] kind = \"dcqcn\", and a [detection]";
        return Prepared::NotApplicable(why.into());
    }
    let notes = match dut.scenario.rate_control {
        "dcqcn" => Vec::new(),
        other => vec![format!("The rate control of the scenario is {other}.")],
    };
    Prepared::Cases {
        cases: FLOWS.into_iter().map(|m| case(dut, m)).collect(),
        rows: each_case,
        notes,
        deviations: vec![
            "7.3: M = 4 and 16, not 64 and 256; a host has several of the flows if there are fewer hosts. Parameters of the rate control are not varied.".into(),
        ],
    }
}

fn case(dut: &Dut, m: usize) -> Case {
    let n = dut.hosts.len();
    let (payload, header) = dut.scenario.frame();
    let fair = dut.rate * dut.payload_share() / (2 * m) as f64;
    let sample = FRAMES * f64::from(payload + header) * 8e12 * (2 * m) as f64 / dut.rate;
    let sample = (sample / 1e6).ceil() as u64 * 1_000_000;
    let mut text = dut.text(&format!("{m} flows, then {m} more"), ALONE + AFTER, false);
    for i in 0..2 * m {
        text.add(
            "flow",
            [
                ("src", quoted(&dut.hosts[i % (n - 1)])),
                ("dst", quoted(&dut.hosts[n - 1])),
                ("start", dut::time(if i < m { 0 } else { ALONE })),
                ("priority", dut.priority.to_string()),
            ],
        );
    }
    text.set("probes", "interval", dut::time(sample));
    text.set("probes", "flow_rates", "true".into());
    Case {
        labels: vec![m.to_string()],
        name: format!("convergence-{m}"),
        text: text.write(&format!(
            "Section 7.3 of draft-calabria-bmwg-ai-fabric-training-bench-02, M = {m}: written by xoff bench-fabric."
        )),
        measure: Box::new(move |seen| measure(seen, 2 * m, fair)),
    }
}

fn measure(seen: &Seen<'_>, flows: usize, fair: f64) -> Values {
    let is_fair = |rate: f64| (rate - fair).abs() <= BAND * fair;
    let mut converged = None;
    let rates = seen.flow_rates();
    for sample in rates.chunk_by(|a, b| a.0 == b.0) {
        let time = sample[0].0;
        // The sample begins after T0.
        let whole = sample.len() == flows && sample.iter().all(|r| is_fair(r.2));
        if time > ALONE && whole {
            converged = Some(time - ALONE);
            break;
        }
    }
    let last: Vec<_> = rates.iter().filter(|r| r.0 > ALONE + AFTER / 4 * 3).collect();
    let mut means = vec![(0.0, 0.0); flows];
    for &&(_, flow, rate) in &last {
        if let Some((sum, n)) = means.get_mut(flow as usize) {
            *sum += rate;
            *n += 1.0;
        }
    }
    let means: Vec<f64> = means.iter().map(|(sum, n)| sum / n).collect();
    let inside = last.iter().filter(|r| is_fair(r.2)).count();
    let worst = means.iter().map(|m| (m - fair).abs() / fair).fold(0.0, f64::max);
    vec![
        ("convergence_ps", converged.map_or(f64::NAN, |t| t as f64)),
        ("in_band", inside as f64 / last.len() as f64),
        ("jfi", jain(&means)),
        ("worst", worst),
        ("utilisation", means.iter().sum::<f64>() / (fair * flows as f64)),
        ("pauses", seen.ports().iter().map(|p| p.pauses).sum::<u64>() as f64),
    ]
}

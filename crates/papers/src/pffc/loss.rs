//! An egress buffer that the thresholds of the ingresses oversubscribe: PFC loses, PFFC does not, until its flows do the same.

use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Tone, Unit};

use super::run::{PFC, PFFC, Scheme, hop_bytes, run};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "loss.toml");
/// Hosts that send, and what they get of the memory together [bytes].
const SENDERS: u64 = 4;
const MEMORY: u64 = 160_000;
/// Sum of the ingresses' XOFF over the memory, in tenths. At 7 the headroom of all fits next to it: 4 x (28 + 9.25 + 1.5) KB.
const RATIOS: [u64; 5] = [7, 8, 9, 20, 40];
/// Indices of 2 and 4 times, which the slides discuss.
const TWICE: usize = 3;
/// Flows of PFFC, in all.
const FLOWS: [u64; 4] = [4, 8, 16, 32];

/// Under what condition PFFC loses nothing.
pub(crate) const FIT: &str =
    "few flows: PFFC's flows x (Xoff_s + headroom) fit into the buffer; the slides claim no loss without a condition";

struct Job {
    name: String,
    scheme: Scheme,
    flows: u64,
    setting: Vec<String>,
}

fn jobs() -> Vec<Job> {
    let pfc = RATIOS.map(|tenths| {
        let xoff = (MEMORY * tenths / 10 / SENDERS).min(MEMORY);
        let setting = vec![format!("flow_control.pfc.xoff={xoff}B"), format!("flow_control.pfc.xon={}B", xoff - 3_000)];
        Job { name: format!("XOFFs {}.{} of the buffer", tenths / 10, tenths % 10), scheme: PFC, flows: SENDERS, setting }
    });
    let pffc = FLOWS.map(|flows| Job { name: format!("{flows} flows"), scheme: PFFC, flows, setting: Vec::new() });
    pfc.into_iter().chain(pffc).collect()
}

fn observe(cx: &Context, job: &Job) -> Result<Observed, ReproduceError> {
    let flows: String = (0..job.flows).map(|i| format!("[[flow]]\nsrc = \"H{}\"\ndst = \"H5\"\n\n", i % SENDERS + 1)).collect();
    let text = SCENARIO.1.replace("[probes]", &format!("{flows}[probes]"));
    run(cx, (SCENARIO.0, &text), job.scheme, &job.setting)
}

/// The entry.
pub fn run_loss(cx: &Context) -> Result<Findings, ReproduceError> {
    let jobs = jobs();
    let runs = cx.parallel(&jobs, |j| observe(cx, j))?;
    let sent = |r: &Observed| r.outcome.delivered_frames + r.lost();
    let share = |r: &Observed| r.lost() as f64 / sent(r) as f64;
    // What the paper says is about one flow of every sender.
    let checks = vec![
        Check::some("PFC, XOFFs twice the buffer: frames lost", "frames", runs[TWICE].lost()).claimed().assuming(super::run::SHAPE),
        Check::some("PFC, XOFFs four times the buffer: frames lost", "frames", runs[TWICE + 1].lost())
            .claimed()
            .assuming(super::run::SHAPE),
        Check::none("PFFC, one flow per sender, which fit in the buffer: frames lost", "frames", runs[RATIOS.len()].lost())
            .claimed()
            .assuming(FIT),
        Check::some("PFFC, eight flows, which do not fit: frames lost", "frames", runs[RATIOS.len() + 1].lost()),
        Check::none("PFC, XOFFs and headroom within the buffer: frames lost", "frames", runs[0].lost()),
        Check::new(
            "PFFC, one flow per sender: largest egress queue",
            Unit::Bytes,
            runs[RATIOS.len()].totals("S1->H5").egress_bytes_max as f64,
            0.0,
            (SENDERS * (3 * hop_bytes().0 + 1_500 + 256)) as f64,
        ),
    ];
    let mut table = Table::new(["Flow control", "", "Frames lost", "Share", "Largest egress queue", "Need at most"]).align([
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let (tau, mtu) = (hop_bytes().0, 1_500);
    let needs = |j: &Job, i: usize| match j.scheme.kind {
        "pfc" => SENDERS * (MEMORY * RATIOS[i] / 10 / SENDERS + tau + mtu),
        _ => j.flows * (2 * tau + tau + mtu + 256 * j.flows / SENDERS),
    };
    for (i, (j, r)) in jobs.iter().zip(&runs).enumerate() {
        let lost = if r.lost() == 0 { Cell::badge(Tone::Good, "none") } else { Cell::badge(Tone::Bad, r.lost().to_string()) };
        table.push([
            Cell::from(j.scheme.title),
            j.name.clone().into(),
            lost,
            Unit::Fraction.format(share(r)).into(),
            lab::bytes(r.totals("S1->H5").egress_bytes_max as f64).into(),
            lab::bytes(needs(j, i) as f64).into(),
        ]);
    }
    let table = table.caption(
        "Four ingresses get at most 160 KB. Needed: senders x (XOFF + C tau + MTU), or flows x (Xoff_s + \
        headroom).",
    );
    let panel = |scheme: Scheme, name: &str| {
        let of = || jobs.iter().zip(&runs).filter(move |(j, _)| j.scheme == scheme);
        let bars = [BarGroup::new(scheme.title, of().map(|(_, r)| Bar::new(share(r)))).colour(scheme.colour)];
        Panel::new(name, Axis::new("", Unit::None), Axis::new("Frames lost", Unit::Fraction))
            .mark(Mark::bars(of().map(|(j, _)| j.name.replace(" of the buffer", "")), bars))
    };
    let figure = Figure::new("Four senders to one output, 160 KB")
        .caption(
            "Left: PFC by the sum of its ingress thresholds over the buffer. Right: PFFC by the number of flows. The slides claim \
            loss for PFC and none for PFFC, which is true as long as the flows fit.",
        )
        .panel(panel(PFC, "PFC, one flow per sender"))
        .panel(panel(PFFC, "PFFC, Xoff_s = 18.5 KB"))
        .columns(2);
    let words = |from: usize, to: usize| {
        jobs[from..to].iter().zip(&runs[from..to]).map(|(j, r)| format!("{}: {}", j.name, r.lost())).collect::<Vec<_>>().join(", ")
    };
    let measured = format!("Frames lost. PFC, {}. PFFC, {}.", words(0, RATIOS.len()), words(RATIOS.len(), jobs.len()));
    let notes = vec![format!(
        "Neither scheme is lossless on its own. The number of flows decides which of them needs less: PFC needs senders x (XOFF + \
         headroom) and PFFC flows x (Xoff_s + headroom). PFC with thresholds that fit loses {} frames; PFFC with {} flows loses {}.",
        runs[0].lost(),
        FLOWS[FLOWS.len() - 1],
        runs[runs.len() - 1].lost()
    )];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

//! The page of a run of a scheduled fabric: throughput, delay, queues and grants over time, hosts'
//! flows, outputs.

use maud::html;
use serde::Serialize;
use xoff_run::{ExtraFile, FabricFinished, FabricScenario};
use xoff_sim::scheduled::Window;
use xoff_units::Span;

use crate::view::network::{Fact, class};
use crate::view::page::Page;
use crate::view::report::{REPORT, about, foot, head};

const SCRIPT: &str = include_str!("../../assets/fabric.js");
/// Flows of hosts that are drawn.
const FLOWS_MAX: usize = 24;
/// Most windows that are drawn; above it, neighbours are joined.
const WINDOWS_MAX: usize = 2000;

/// A stretch of the run.
#[derive(Serialize)]
struct WindowView {
    end_ps: u64,
    /// Rates of packets that left, by load of their output [bit/s].
    cold: f64,
    hot: f64,
    /// Mean delay to outputs that are no hotspots [ps].
    delay_ps: Option<f64>,
    queue_max: u32,
    queue_mean: f64,
    grants_max: u32,
    grants_mean: f64,
}

#[derive(Serialize)]
struct FlowView {
    name: String,
    /// Rate of arrivals at its input buffer, by window [bit/s].
    rate: Vec<f64>,
    /// Input buffer at the end of each window [bytes].
    input: Vec<u64>,
}

#[derive(Serialize)]
struct View {
    title: String,
    end_ps: u64,
    windows: Vec<WindowView>,
    flows: Vec<FlowView>,
    /// Output, whether it is a hotspot, bytes offered, delivered.
    outputs: Vec<(String, bool, u64, u64)>,
}

/// Bits per second of bytes in picoseconds.
fn rate(bytes: u64, span: u64) -> f64 {
    if span == 0 { 0.0 } else { bytes as f64 * 8e12 / span as f64 }
}

/// The page of a run of a scheduled fabric.
pub fn of_fabric(s: &FabricScenario, f: &FabricFinished) -> ExtraFile {
    let (r, m) = (&f.report, &f.manifest);
    let title = if s.title.is_empty() { "Run" } else { &s.title };
    let join = r.windows.len().div_ceil(WINDOWS_MAX).max(1);
    let chunks: Vec<&[Window]> = r.windows.chunks(join).collect();
    let starts: Vec<u64> =
        std::iter::once(0).chain(chunks.iter().map(|c| c[c.len() - 1].end.0)).collect();
    let window = |(c, from): (&&[Window], &u64)| {
        let last = &c[c.len() - 1];
        let sum = |of: fn(&Window) -> u64| c.iter().map(of).sum::<u64>();
        let (packets, span) = (sum(|w| w.cold_packets), last.end.0 - from);
        WindowView {
            end_ps: last.end.0,
            cold: rate(sum(|w| w.cold_bytes), span),
            hot: rate(sum(|w| w.hot_bytes), span),
            delay_ps: (packets > 0).then(|| sum(|w| w.cold_delay) as f64 / packets as f64),
            queue_max: c.iter().map(|w| w.hot_queue_max).max().unwrap_or(0),
            queue_mean: last.hot_queue_mean,
            grants_max: c.iter().map(|w| w.grants_max).max().unwrap_or(0),
            grants_mean: last.grants_mean,
        }
    };
    let mut flows = Vec::new();
    let mut all_flows = 0;
    if let (Some(hosts), Some(seen)) = (&s.config.hosts, &r.hosts) {
        all_flows = hosts.flows.len();
        for (i, flow) in hosts.flows.iter().enumerate().take(FLOWS_MAX) {
            let stretches: Vec<_> = seen.windows.chunks(join).collect();
            let spans = starts.windows(2).map(|w| w[1] - w[0]);
            let sent = |(c, span): (&&[_], u64)| {
                rate(c.iter().map(|w: &xoff_sim::scheduled::HostWindow| w.arrived[i]).sum(), span)
            };
            flows.push(FlowView {
                name: format!("flow {i}, from P{}", flow.source),
                rate: stretches.iter().zip(spans).map(sent).collect(),
                input: stretches.iter().map(|c| c[c.len() - 1].input[i]).collect(),
            });
        }
    }
    let hot = s.config.hot_outputs();
    let view = View {
        title: title.into(),
        end_ps: r.now.0,
        windows: chunks.iter().zip(&starts).map(window).collect(),
        outputs: hot
            .iter()
            .enumerate()
            .map(|(p, &h)| (format!("P{p}"), h, r.offered[p], r.delivered[p]))
            .collect(),
        flows,
    };
    let mut left_out = Vec::new();
    if join > 1 {
        left_out.push(format!(
            "{} windows are joined by {join}; the table windows has all.",
            r.windows.len()
        ));
    }
    if all_flows > FLOWS_MAX {
        left_out.push(format!(
            "{FLOWS_MAX} of {all_flows} flows of hosts are drawn; the table host_flows has all."
        ));
    }
    left_out.push("A scheduled fabric has no course by link: its elements hold no queues that flow control could pause.".into());
    let facts = [
        Fact {
            label: "Simulated time",
            value: Span(r.now.0).to_string(),
            note: m.ended_because.clone(),
            tone: "neutral",
        },
        Fact {
            label: "Packets delivered",
            value: format!("{} of {}", r.packets_out, r.packets_in),
            note: String::new(),
            tone: "neutral",
        },
        Fact {
            label: "Frames lost",
            value: m.lost_frames.to_string(),
            note: String::new(),
            tone: if m.lost_frames > 0 { "bad" } else { "good" },
        },
    ];
    let verdict = m.verdict.as_ref();
    let headline = verdict.map_or(("", "neutral"), |v| (v.headline(), class(v.tone(&[]))));
    let body = html! {
        (head(title, headline, &facts))
        main {
            section.wide { h2 { "Over time" } div.two #charts {} }
            section.wide #outputs { h2 { "Outputs" } }
            (about(m, &left_out))
        }
        (foot(m))
    };
    let page = Page::new(title)
        .body(body)
        .data(&view, None)
        .charts()
        .script(SCRIPT)
        .script("xoff.fabric();");
    ExtraFile { name: REPORT, bytes: page.to_html().into_bytes() }
}

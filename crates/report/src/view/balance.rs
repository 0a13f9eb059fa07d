//! Balance of load in the report: the measures that people compare, and the uplinks of each switch.

use maud::{Markup, html};
use xoff_record::{LoadBalance, Manifest, UplinkRow};
use xoff_run::{Finished, NetworkScenario};
use xoff_units::measured::{short, size, time};
use xoff_units::{NodeId, grouped};

/// Groups of uplinks that are listed.
const GROUPS_MAX: usize = 50;

/// A measure: name, value, definition.
type Row = (String, String, &'static str);

/// Measures of a run, in the words of `xoff compare`.
fn measures(m: &Manifest, b: &LoadBalance) -> Vec<Row> {
    let number = |v: Option<f64>| v.map_or("-".to_owned(), short);
    let of = |part: u64, all: u64| format!("{} of {}", grouped(part), grouped(all));
    let mut rows = vec![
        (
            "Uplinks, Jain's index",
            number(b.jain),
            "1: all uplinks of a switch carry the same load; 1/n: one of n carries all",
        ),
        (
            "Uplinks, largest over mean",
            number(b.max_over_mean),
            "1: all carry the same load; n: one of n carries all",
        ),
    ];
    if b.jain_sampled.is_some() {
        rows.extend([
            (
                "Uplinks over time, Jain's index",
                number(b.jain_sampled),
                "mean over the samples, weighted with their load",
            ),
            (
                "Uplinks over time, largest over mean",
                number(b.max_over_mean_sampled),
                "mean over the samples, weighted with their load",
            ),
        ]);
    }
    rows.extend([
        ("Flows that collided", of(b.collided, b.flows), "another flow had the same main uplink while an uplink was idle; of the flows with a choice"),
        ("Paths of a flow, mean", number(b.paths_mean), "uplinks of its first switch that its frames took"),
        ("Frames out of order", of(b.frames_ahead, m.delivered_frames), "frames that arrived ahead of a gap, of all frames delivered"),
        ("Largest reorder buffer", size(b.ahead_bytes_max as f64), "most bytes of a flow beyond its first gap"),
        ("Longest wait for order", time(b.ahead_ps_max as f64), "longest time for which a frame was ahead of a gap"),
    ]);
    let rows = rows.into_iter().map(|(name, value, text)| (name.to_owned(), value, text));
    let jobs = m.jobs.iter().filter_map(|j| {
        let text =
            "least time of a network: computing, or the bytes of a rank at the rate of its link";
        Some((format!("Time of job {}, over the ideal", j.name), short(j.time_over_ideal?), text))
    });
    rows.chain(jobs).collect()
}

/// The section; nothing where no switch has alternatives.
pub(super) fn section(s: &NetworkScenario, f: &Finished) -> Markup {
    let Some(b) = &f.manifest.load_balance else { return html! {} };
    let mut groups: Vec<&UplinkRow> =
        f.uplinks.iter().filter(|u| u.max_over_mean.is_some()).collect();
    // The most uneven first; equal ones in the order of the network.
    groups.sort_by(|a, b| {
        b.max_over_mean.partial_cmp(&a.max_over_mean).unwrap_or(std::cmp::Ordering::Equal)
    });
    let hidden = groups.len().saturating_sub(GROUPS_MAX);
    let count = |n: Option<u64>| n.map_or("-".to_owned(), grouped);
    let number = |v: Option<f64>| v.map_or("-".to_owned(), short);
    html! {
        section.wide #balance {
            h2 { "Load balance" }
            div.scroll { table {
                thead { tr { th { "Measure" } th.right { "Value" } th { "Meaning" } } }
                tbody { @for (name, value, text) in measures(&f.manifest, b) {
                    tr { td { (name) } td.right { (value) } td.text { (text) } }
                } }
            } }
            @if !groups.is_empty() { details {
                summary { "Uplinks of each switch, the most uneven first (" (groups.len()) ")" }
                div.scroll { table {
                    thead { tr {
                        th { "Switch" } th.right { "Uplinks" } th.right { "Used" } th.right { "Sent" }
                        th.right { "Jain's index" } th.right { "Largest / mean" }
                        th.right { "Jain's index over time" } th.right { "Flows" } th.right { "Collided" }
                    } }
                    tbody { @for u in groups.iter().take(GROUPS_MAX) { tr {
                        td { (s.topology.name(NodeId(u.switch.0))) }
                        td.right { (u.ports) } td.right { (u.used) } td.right { (size(u.tx_bytes as f64)) }
                        td.right { (number(u.jain)) } td.right { (number(u.max_over_mean)) }
                        td.right { (number(u.jain_sampled)) } td.right { (count(u.flows)) } td.right { (count(u.collided)) }
                    } } }
                } }
                @if hidden > 0 { p.note { (hidden) " more are in the table uplinks." } }
            } }
        }
    }
}

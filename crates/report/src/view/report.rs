//! The report at the end of a run.

use maud::{Markup, html};
use serde::Serialize;
use xoff_record::Manifest;
use xoff_run::{ExtraFile, Finished, NetworkScenario};

use crate::view::balance;
use crate::view::network::{Drawn, Fact, RunView, Seen, class, live_facts, title};
use crate::view::page::{Blob, PLOTLY_VERSION, Page};

/// Name of the report in a run's folder.
pub const REPORT: &str = xoff_record::PAGE;
/// Scripts of the report, in the order in which they run.
const SCRIPTS: [&str; 7] = [
    include_str!("../../assets/network.js"),
    include_str!("../../assets/jobs.js"),
    include_str!("../../assets/port.js"),
    include_str!("../../assets/trees.js"),
    include_str!("../../assets/deadlock.js"),
    include_str!("../../assets/flows.js"),
    include_str!("../../assets/run.js"),
];
const START: &str = "xoff.run().then((page) => { window.page = page; });";

/// The report of a run of a network; commands name its folder `folder`.
pub fn of_network(s: &NetworkScenario, f: &Finished, folder: &str) -> ExtraFile {
    of_run(s, f, folder, false)
}

/// The report of a run with real frames. xoff cannot repeat such a run to explain a port.
pub fn of_real_frames(s: &NetworkScenario, f: &Finished, folder: &str) -> ExtraFile {
    of_run(s, f, folder, true)
}

fn of_run(s: &NetworkScenario, f: &Finished, folder: &str, real: bool) -> ExtraFile {
    let mut blob = Blob::default();
    let mut view = RunView::new(s, f, folder, &mut blob);
    view.real = real;
    let verdict = f.manifest.verdict.as_ref();
    let headline = verdict.map_or(("", "neutral"), |v| (v.headline(), class(v.tone(&[]))));
    let body = html! {
        (head(&view.subject, headline, &view.facts))
        main {
            (sections(!f.outcome.deadlocks.is_empty(), !view.jobs.is_empty()))
            (balance::section(s, f))
            (about(&f.manifest, &view.left_out))
        }
        (foot(&f.manifest))
    };
    let page =
        with_scripts(Page::new(title(s)).body(body).data(&view, Some(blob.packed())).charts());
    ExtraFile { name: REPORT, bytes: page.to_html().into_bytes() }
}

/// The report of a live run: its script requests the data from the server, see [`live_data`].
pub fn live_page(s: &NetworkScenario, folder: &str) -> String {
    let mut blob = Blob::default();
    let none: Vec<Vec<xoff_sim::PortTotals>> =
        s.topology.nodes.iter().map(|n| vec![Default::default(); n.ports.len()]).collect();
    let nothing = Seen {
        now: xoff_units::Time::ZERO,
        ports: &none,
        flows: &[],
        ideals: &[],
        deadlocks: &[],
        course: None,
    };
    let mut view = RunView::seen(&Drawn::of(s), &nothing, folder, &mut blob);
    (view.live, view.real) = (true, true);
    let body = html! {
        (head(&view.subject, ("running", "info"), &[]))
        main { (sections(true, false)) }
    };
    with_scripts(Page::new(title(s)).body(body).data(&view, Some(blob.packed())).charts().served())
        .to_html()
}

fn with_scripts(page: Page) -> Page {
    SCRIPTS.into_iter().chain([START]).fold(page, Page::script)
}

/// Present data of a live report, see [`live_page`], and their columns.
#[derive(Serialize)]
struct Live {
    data: RunView,
    packed: String,
}

/// Present data of a live run.
pub fn live_data(s: &Drawn, seen: &Seen, folder: &str, running: bool) -> String {
    let mut blob = Blob::default();
    let mut data = RunView::seen(s, seen, folder, &mut blob);
    (data.live, data.real, data.facts) = (running, true, live_facts(seen));
    serde_json::to_string(&Live { data, packed: blob.packed() }).unwrap_or_default()
}

/// The sections that the script fills.
fn sections(deadlocks: bool, jobs: bool) -> Markup {
    html! {
        div.column {
            section #network { h2 { "Network" } }
            @if deadlocks { section #deadlocks { h2 { "Deadlock" } } }
            section #waits { h2 { "Pause trees" } }
        }
        div.column { section #port { h2 { "Port" } } }
        @if jobs { section.wide #jobs { h2 { "Ranks" } } }
        section.wide { div #overview {} }
        section.wide {
            h2 { "Flows" }
            div.two #cdfs {}
            div #sizes {}
            div #flows {}
        }
        section.wide #ports { h2 { "Ports" } }
    }
}

/// Verdict, subject of the run, numbers. A run without a verdict has its subject as heading.
pub fn head(subject: &str, (verdict, tone): (&str, &str), facts: &[Fact]) -> Markup {
    html! {
        header {
            @if verdict.is_empty() {
                h1 { (subject) }
            } @else {
                h1 class={ "verdict " (tone) } { (verdict) }
                p.subject { (subject) }
            }
        noscript { p { "Scripts draw this report, and this browser has them turned off. The tables in the same folder hold all results." } }
            div.cards {
                @for f in facts {
                    div class={ "card " (f.tone) } {
                        div.label { (f.label) }
                        div.value { (f.value) }
                        @if !f.note.is_empty() { div.note { (f.note) } }
                    }
                }
            }
        }
    }
}

/// Facts about the run besides its results.
pub fn about(m: &Manifest, left_out: &[String]) -> Markup {
    let list = |title: &str, items: &[String]| {
        html! { @if !items.is_empty() { h3 { (title) } ul.left-out { @for i in items { li { (i) } } } } }
    };
    html! {
        section.wide #about {
            h2 { "About this run" }
            div.two {
                div {
                    (list("Active", &m.active))
                    (list("Inactive", &m.inactive))
                    (list("Warnings", &m.warnings))
                }
                div { (list("What this report shows", left_out)) }
            }
            details {
                summary { "Parameters, with where each came from (" (m.parameters.len()) ")" }
                div.scroll { table {
                    thead { tr { th { "Parameter" } th { "Value" } th { "Set by" } th { "Source" } } }
                    tbody { @for p in &m.parameters {
                        tr { td { code { (p.path) } } td.text { (p.value) } td { (p.origin) } td.text { (p.source) } }
                    } }
                } }
            }
        }
    }
}

/// Version, seed, hash.
pub fn foot(m: &Manifest) -> Markup {
    let charts = format!("plotly.js {PLOTLY_VERSION} (MIT)");
    let version = if m.xoff_commit.is_empty() {
        m.xoff_version.clone()
    } else {
        format!("{} ({})", m.xoff_version, m.xoff_commit)
    };
    let rows = [
        ("xoff", version.as_str()),
        ("seed", &m.seed.to_string()),
        ("result hash", &m.result_hash),
        ("started", &m.started),
        ("charts", &charts),
    ];
    html! { footer { dl { @for (name, value) in rows { div { dt { (name) } dd { code { (value) } } } } } } }
}

//! The page that a run ends with.

use maud::{Markup, html};
use xoff_record::Manifest;
use xoff_run::{ExtraFile, Finished, NetworkScenario};

use crate::network::{Fact, RunView, class, facts, title};
use crate::page::{Blob, PLOTLY_VERSION, Page};

/// Name of the page in a run's folder.
pub const REPORT: &str = "report.html";
const NETWORK: &str = include_str!("../assets/network.js");
const RUN: &str = include_str!("../assets/run.js");
const START: &str = "xoff.run().then((page) => { window.page = page; });";

/// The page of a run of a network; `folder` is the run's, as commands would name it.
pub fn of_network(s: &NetworkScenario, f: &Finished, folder: &str) -> ExtraFile {
    let mut blob = Blob::default();
    let view = RunView::new(s, f, folder, &mut blob);
    let verdict = f.manifest.verdict.as_ref();
    let headline = verdict.map_or(("", "neutral"), |v| (v.headline(), class(v.tone(&[]))));
    let body = html! {
        (head(title(s), headline, &facts(f)))
        main {
            section #network { h2 { "Network" } }
            section #port { h2 { "Port" } }
            section.wide #overview-section { div #overview {} }
            @if !f.outcome.deadlocks.is_empty() { section #deadlocks { h2 { "Deadlock" } } }
            section.wide[f.outcome.deadlocks.is_empty()] #waits { h2 { "Pause trees" } }
            section.wide #flow-section {
                h2 { "Flows" }
                div.two #cdfs {}
                div #sizes {}
                div #flows {}
            }
            section.wide #ports { h2 { "Ports" } }
            (about(&f.manifest, &view.left_out))
        }
        (foot(&f.manifest))
    };
    let page = Page::new(title(s)).body(body).data(&view, Some(blob.packed())).charts().script(NETWORK).script(RUN).script(START);
    ExtraFile { name: REPORT, bytes: page.to_html().into_bytes() }
}

/// Title, headline, numbers.
pub fn head(title: &str, (headline, tone): (&str, &str), facts: &[Fact]) -> Markup {
    html! {
        header {
            h1 { (title) }
            p.headline { span class={ "badge " (tone) } { (headline) } }
            noscript { p { "This page draws with scripts, which are turned off here. The tables beside it hold all results." } }
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

/// What is known of the run besides its results.
pub fn about(m: &Manifest, left_out: &[String]) -> Markup {
    let list = |title: &str, items: &[String]| {
        html! { @if !items.is_empty() { h3 { (title) } ul.left-out { @for i in items { li { (i) } } } } }
    };
    html! {
        section.wide #about {
            h2 { "About this run" }
            div.two {
                div {
                    (list("Took effect", &m.took_effect))
                    (list("Never triggered", &m.never_triggered))
                    (list("Warnings", &m.warnings))
                }
                div { (list("What this page shows", left_out)) }
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
    let rows = [
        ("xoff", m.xoff_version.as_str()),
        ("seed", &m.seed.to_string()),
        ("result hash", &m.result_hash),
        ("started", &m.started),
        ("charts", &charts),
    ];
    html! { footer { dl { @for (name, value) in rows { div { dt { (name) } dd { code { (value) } } } } } } }
}

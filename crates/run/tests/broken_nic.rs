//! `docs/one-broken-nic.md`: its tables and chains are those of the scenario that it names.

use std::fmt::Write;
use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario, Root, explain};
use xoff_scenario::document::Override;
use xoff_units::{Bytes, Loss, Rate, Span, Time};

const FILE: &str = "scenarios/operation/broken-nic.toml";

/// The runs of the page: a heading, and the settings.
const RUNS: [(&str, &[&str]); 4] = [
    ("no storm", &["pause_storm[0].start=1s"]),
    ("storm", &[]),
    ("watchdog, drop", &["watchdog=duration"]),
    ("watchdog, forward", &["watchdog=duration", "watchdog.action=forward"]),
];

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn load(settings: &[&str]) -> NetworkScenario {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::load(&root().join(FILE), &settings)
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Rate that a flow delivered over the whole run.
fn rate(f: &Finished, flow: usize) -> Rate {
    Rate::of(Bytes(f.outcome.flows[flow].delivered), Span(f.outcome.now.0))
}

/// The ports that wait for each other, from that of a host on, and where the chain ends.
fn chain(s: &NetworkScenario, host: &str, at: Time) -> (String, Root) {
    let t = &s.topology;
    let port = t.port_name(t.find(host).unwrap(), 0);
    let e = explain(s, &port, at, None, |_| true).unwrap();
    (e.steps.iter().map(|step| format!("`{}`", step.port)).collect::<Vec<_>>().join(", "), e.root)
}

#[test]
fn the_page_about_one_broken_nic_is_what_its_scenario_gives() {
    let runs: Vec<(NetworkScenario, Finished)> = RUNS
        .iter()
        .map(|(_, settings)| {
            let s = load(settings);
            let f = s.run(Sink::Nothing).unwrap();
            (s, f)
        })
        .collect();
    let (calm, storm) = (&runs[0].1, &runs[1]);
    let at = Time::from_us(3_000);
    let page = root().join("docs/one-broken-nic.md");
    let mut rows = String::new();
    let t = &storm.0.topology;
    let (mut victims, mut asked) = (Vec::new(), Vec::new());
    for (n, flow) in storm.1.outcome.flows.iter().enumerate() {
        let (src, dst) = (t.name(flow.flow.src), t.name(flow.flow.dst));
        let (before, after) = (rate(calm, n), rate(&storm.1, n));
        let role = match () {
            _ if dst == "H7" => "to the broken host",
            _ if after.0 * 10 < before.0 * 9 => "**victim**",
            _ => "untouched",
        };
        if role == "**victim**" {
            victims.push(n);
            asked.push(src.to_owned());
        }
        let cells: Vec<String> =
            runs.iter().map(|(_, f)| format!("{:.2}", rate(f, n).as_f64() / 1e9)).collect();
        let _ = writeln!(rows, "| {n} {src} to {dst} | {} | {role} |", cells.join(" | "));
    }
    asked.dedup();
    xoff_testing::page_has(&page, &rows);
    let mut verdicts = String::new();
    for ((head, _), (_, f)) in RUNS.iter().zip(&runs) {
        let verdict = f.manifest.verdict.as_ref().unwrap();
        let _ = writeln!(verdicts, "- {head}: {}.", verdict.headline());
        f.summary
            .active
            .iter()
            .filter(|w| ["watchdog", "pause storm"].iter().any(|of| w.starts_with(of)))
            .for_each(|w| _ = writeln!(verdicts, "  {w}."));
    }
    xoff_testing::page_has(&page, &verdicts);
    for host in &asked {
        let (ports, end) = chain(&storm.0, host, at);
        // All of them lead to the one that is broken.
        assert!(
            matches!(end, Root::FarEnd) && ports.ends_with("->H7`"),
            "{host}: {ports}, {end:?}"
        );
        xoff_testing::page_has(&page, &format!("- {ports}, whose far end is the broken NIC.\n"));
    }
    // Statements of the page in words.
    assert!(victims.len() >= 2, "{victims:?}");
    assert_eq!(storm.1.outcome.lost.total().total(), 0, "PFC loses nothing, and nothing moves");
    for (_, f) in &runs[2..] {
        let freed: Vec<_> =
            f.outcome.storms.iter().map(|s| (t.port_name(s.node, s.port), s.over)).collect();
        assert_eq!(freed, [("L4->H7".to_owned(), None)]);
        let others =
            f.outcome.flows.iter().enumerate().filter(|(_, flow)| t.name(flow.flow.dst) != "H7");
        others.for_each(|(n, _)| {
            assert_eq!(rate(f, n), rate(calm, n), "flow {n} under the watchdog")
        });
    }
    assert!(
        runs[2].1.outcome.lost[Loss::Watchdog].data > 0
            && runs[3].1.outcome.lost.total().total() == 0
    );
}

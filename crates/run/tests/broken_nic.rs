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
    NetworkScenario::load(&root().join(FILE), &settings).unwrap_or_else(|e| panic!("{}", e.render(false)))
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
    let mut p = String::from(HEAD);
    let heads: Vec<&str> = RUNS.iter().map(|r| r.0).collect();
    let _ = writeln!(p, "\n| flow | {} | with the storm |\n|---|{}---|", heads.join(" | "), "---|".repeat(RUNS.len()));
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
        let cells: Vec<String> = runs.iter().map(|(_, f)| format!("{:.2}", rate(f, n).as_f64() / 1e9)).collect();
        let _ = writeln!(p, "| {n} {src} to {dst} | {} | {role} |", cells.join(" | "));
    }
    asked.dedup();
    let _ = writeln!(p, "\nGb/s, mean over the 4 ms.\n");
    for ((head, _), (_, f)) in RUNS.iter().zip(&runs) {
        let verdict = f.manifest.verdict.as_ref().unwrap();
        let _ = writeln!(p, "- {head}: {}.", verdict.headline());
        f.summary
            .active
            .iter()
            .filter(|w| ["watchdog", "pause storm"].iter().any(|of| w.starts_with(of)))
            .for_each(|w| _ = writeln!(p, "  {w}."));
    }
    p += WHY;
    for host in &asked {
        let (ports, end) = chain(&storm.0, host, at);
        // All of them lead to the one that is broken.
        assert!(matches!(end, Root::FarEnd) && ports.ends_with("->H7`"), "{host}: {ports}, {end:?}");
        let _ = writeln!(p, "- {ports}, whose far end is the broken NIC.");
    }
    p += FOOT;
    // Statements of the page in words.
    assert!(victims.len() >= 2, "{victims:?}");
    assert_eq!(storm.1.outcome.lost.total().total(), 0, "PFC loses nothing, and nothing moves");
    for (_, f) in &runs[2..] {
        let freed: Vec<_> = f.outcome.storms.iter().map(|s| (t.port_name(s.node, s.port), s.over)).collect();
        assert_eq!(freed, [("L4->H7".to_owned(), None)]);
        let others = f.outcome.flows.iter().enumerate().filter(|(_, flow)| t.name(flow.flow.dst) != "H7");
        others.for_each(|(n, _)| assert_eq!(rate(f, n), rate(calm, n), "flow {n} under the watchdog"));
    }
    assert!(runs[2].1.outcome.lost[Loss::Watchdog].data > 0 && runs[3].1.outcome.lost.total().total() == 0);
    xoff_testing::golden(&root().join("docs/one-broken-nic.md"), &p);
}

const HEAD: &str = "\
# One broken NIC

Who suffers when one broken host pauses its switch without end, and what does the watchdog change? The scenario is
`scenarios/operation/broken-nic.toml`: eight hosts on four leaves, PFC, seven flows. From 100 us on, H7 sends a pause of 65,535 quanta every
millisecond, whatever it receives (`[[pause_storm]]`). `crates/run/tests/broken_nic.rs` generates this page.

    xoff run scenarios/operation/broken-nic.toml --out out/storm
    xoff run scenarios/operation/broken-nic.toml --set watchdog=duration --out out/dropped --allow loss
    xoff run scenarios/operation/broken-nic.toml --set watchdog=duration --set watchdog.action=forward --out out/forwarded
    xoff run scenarios/operation/broken-nic.toml --set pause_storm[0].start=1s --out out/calm
    xoff compare out/calm out/storm out/dropped out/forwarded

The watchdog has SONiC's proportions, a thousand times as fast: it detects after 200 us and polls every 100 us.

## Who is hit
";

const WHY: &str = "
## Why

Frames for H7 fill the buffers on their path. Each full buffer pauses the port upstream, and all frames behind that port wait, whatever their
destination. The chains from the source of each victim to the root, 3 ms into the run, as `xoff explain` finds them:

";

const FOOT: &str = "
A victim shares ports with the flows to the broken host, but has another destination. This is head-of-line blocking: a pause stops a whole priority. No
frame is lost in that run and no cycle closes. The detector correctly reports no deadlock: the chain ends, at H7.

## With the watchdog

The leaf of H7 releases the queue to H7 at the third poll after the storm began. Then no frame waits for H7 any more, the chain dissolves from its
root, and every other flow delivers the same as without a storm. No other queue was paused for the whole detection time, so no other queue is
released. `drop` discards the frames for H7. `forward` sends them, here to a host that accepts everything. H7 continues to send pauses, so the queue
is never restored.

A shorter detection time releases sooner, but mistakes long pauses of a healthy network for storms: see [watchdog](mechanisms/watchdog.md).
";

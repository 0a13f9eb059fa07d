//! Golden summaries: every mechanism has a scenario under `scenarios/mechanisms/` and a summary
//! that must not change unnoticed, and the ring under every flow control and discipline is one
//! table. After a reasoned change:
//! `XOFF_TEST_BLESS=1 cargo test --release --workspace --test goldens`, and read the difference
//! before it is committed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_scenario::document::Override;
use xoff_units::{Bytes, Rate, Span};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn load(file: &str, settings: &[String]) -> NetworkScenario {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    NetworkScenario::load(&root().join(file), &settings).unwrap_or_else(|e| panic!("{e}"))
}

fn compare(name: &str, got: &str) {
    xoff_testing::golden(&root().join(name), got);
}

fn summary(f: &Finished) -> String {
    let mut t = String::new();
    writeln!(t, "result hash: {}", f.manifest.result_hash).unwrap();
    writeln!(t, "ended: {}", f.summary.ended).unwrap();
    f.summary.incomplete.iter().for_each(|s| writeln!(t, "incomplete: {s}").unwrap());
    f.summary.active.iter().for_each(|s| writeln!(t, "active: {s}").unwrap());
    f.summary.inactive.iter().for_each(|s| writeln!(t, "inactive: {s}").unwrap());
    for flow in &f.outcome.flows {
        let time = flow.fct().map_or("unfinished".to_owned(), |t| format!("in {t}"));
        writeln!(
            t,
            "flow {} to {}: {} {time}",
            flow.flow.src,
            flow.flow.dst,
            Bytes(flow.delivered)
        )
        .unwrap();
    }
    t
}

#[test]
fn every_mechanism_has_its_golden() {
    let names = xoff_mech::flow_control::REGISTRY
        .iter()
        .map(|e| e.name)
        .chain(xoff_mech::detection::REGISTRY.iter().map(|e| e.name))
        .chain(xoff_mech::rate_control::REGISTRY.iter().map(|e| e.name))
        .filter(|n| *n != "none");
    for name in names {
        let s = load(&format!("mechanisms/{name}.toml"), &[]);
        assert!(
            [s.flow_control, s.detection, s.rate_control].contains(&name),
            "mechanisms/{name}.toml does not use {name}"
        );
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0), "{name}");
        compare(&format!("mechanisms/{name}.golden.txt"), &summary(&f));
    }
}

/// A law has a scenario of its own or shares one.
#[test]
fn every_load_balancing_has_its_golden() {
    for e in xoff_mech::balancing::REGISTRY.iter().filter(|e| e.name != "ecmp") {
        let own = format!("mechanisms/{}.toml", e.name);
        let s = match root().join(&own).exists() {
            true => load(&own, &[]),
            false => {
                load("mechanisms/load-balancing.toml", &[format!("load_balancing={}", e.name)])
            }
        };
        assert!(s.balances(), "{} does not balance", e.name);
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0), "{}", e.name);
        compare(&format!("mechanisms/{}.golden.txt", e.name), &summary(&f));
    }
}

/// The transport has no flow control, detection or rate control of its name.
#[test]
fn the_transport_has_its_golden() {
    let f = load("mechanisms/tcp.toml", &[]).run(Sink::Nothing).unwrap();
    assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0));
    compare("mechanisms/tcp.golden.txt", &summary(&f));
}

/// Flow controls that deadlock in the ring of GFC Fig. 1, under every discipline.
#[test]
fn the_ring_matrix() {
    let mut t = String::from(
        "flow control    discipline   deadlock closed  flow 0      flow 1      flow 2      peak ingress  messages  lost\n",
    );
    // A flow control that holds single flows is the egress queue itself, and takes no other
    // discipline.
    let of_priorities = |name: &&str| {
        let s = load("tutorial/ring.toml", &[format!("flow_control={name}")]);
        *name != "none" && s.links().iter().all(|(_, fc)| !fc.per_flow())
    };
    for fc in xoff_mech::flow_control::REGISTRY.iter().map(|e| e.name).filter(of_priorities) {
        for discipline in ["fifo", "round-robin", "drr", "input-fifo"] {
            let mut settings = vec![
                format!("flow_control={fc}"),
                format!("switch.discipline={discipline}"),
                "run.duration=60ms".into(),
                "probes.interval=0us".into(),
            ];
            settings.extend(["queues", "rates"].map(|p| format!("probes.{p}=[]")));
            if fc.starts_with("gfc") {
                settings.push("switch.buffer=1003KB".into());
                settings.push("flow_control.bm=1MB".into());
            }
            let f = load("tutorial/ring.toml", &settings).run(Sink::Nothing).unwrap();
            let o = &f.outcome;
            assert_eq!(o.violations, [], "{fc} {discipline}");
            let closed = o.deadlocks.first().map_or("-".to_owned(), |d| d.closed.to_string());
            let rate = |i: usize| Rate::of(Bytes(o.flows[i].delivered), Span(o.now.0)).to_string();
            let peak = o.ports.iter().flatten().map(|p| p.ingress_bytes_max).max().unwrap_or(0);
            let messages: u64 = o.ports.iter().flatten().map(|p| p.messages_received).sum();
            writeln!(
                t,
                "{fc:<15} {discipline:<12} {closed:<16} {:<11} {:<11} {:<11} {:<13} {messages:<9} {}",
                rate(0),
                rate(1),
                rate(2),
                Bytes(peak).to_string(),
                o.dropped_frames
            )
            .unwrap();
        }
    }
    compare("mechanisms/ring-matrix.golden.txt", &t);
}

/// A flow of 5 GiB is legal (32-bit sizes end at 4 GiB): it starts, moves and is counted in full.
#[test]
fn a_flow_of_five_gib() {
    let text = "[run]\nduration = \"5s\"\nwatch = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"400Gbps\"\ndelay = \"1us\"\n\
                [host]\nframe_max = \"65KB\"\n[switch]\nbuffer = \"10MB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"5GiB\"\n";
    let s = NetworkScenario::from_text("big.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.flows[0].delivered, 5 << 30);
    assert!(f.outcome.flows[0].received.is_some());
}

//! `xoff run` of scheduled fabrics: tables, answers, refusals.

mod support;

use std::path::Path;

use support::{files, folder, has_every_number, xoff};

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/fabric")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn a_fabric_leaves_tables_a_manifest_and_an_answer() {
    let run = |name: &str| {
        let out = folder(name).display().to_string();
        let ran = xoff(&[
            "run",
            &scenario("hotspots.toml"),
            "--out",
            &out,
            "--set",
            "run.duration=64us",
            "--set",
            "run.warm_up=20us",
            "--json",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let want = [
            "fabric_ports.parquet",
            "host_flows.parquet",
            "manifest.json",
            "report.html",
            "resolved.toml",
            "windows.parquet",
        ];
        assert_eq!(files(Path::new(&out)), want);
        (ran.json(), out)
    };
    let (json, out) = run("fabric-hotspots");
    has_every_number(&json);
    assert!(json["deadlock"].is_null());
    // The outputs that are no hotspots get all of their traffic, next to eight with a load of 2.5
    // times their rate.
    let share = json["throughput"].as_f64().unwrap();
    assert!(
        (0.65..0.75).contains(&share) && json["hotspot_throughput"].as_f64().unwrap() > 0.9,
        "{json}"
    );
    // The resolved scenario gives the same run.
    let again = format!("{out}/resolved.toml");
    let second = folder("fabric-again").display().to_string();
    let ran = xoff(&["run", &again, "--out", &second, "--json"]).json();
    assert_eq!(ran["delay_ps"], json["delay_ps"]);
    assert_eq!(ran["result_hash"], run("fabric-hotspots-2").0["result_hash"]);
}

#[test]
fn hosts_and_their_flows_are_reported() {
    let out = folder("fabric-qcn").display().to_string();
    let ran = xoff(&[
        "run",
        &scenario("qcn-at-inputs.toml"),
        "--out",
        &out,
        "--set",
        "run.duration=60ms",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The victim, flow 5: 7 Gb/s next to four flows that share 10 Gb/s.
    let victim = ran.out.lines().find(|l| l.contains("P14")).unwrap_or_default();
    let rate = victim
        .split(" Gb/s")
        .next()
        .and_then(|t| t.split_whitespace().last()?.parse::<f64>().ok())
        .unwrap_or_default();
    assert!((rate - 7.0).abs() < 0.05, "{}", ran.out);
    let pause_only = xoff(&[
        "run",
        &scenario("qcn-at-inputs.toml"),
        "--out",
        &out,
        "--set",
        "run.duration=20ms",
        "--set",
        "congestion_points=none",
    ]);
    assert!(
        pause_only.out.contains("PAUSE:") && !pause_only.out.contains("CNMs:"),
        "{}",
        pause_only.out
    );
}

/// Request-grant section 3.4: packets that are granted in part wait for each other; the answer is
/// "no", with who holds what.
#[test]
fn a_reassembly_deadlock_is_found_and_explained() {
    let out = folder("fabric-deadlock").display().to_string();
    let partial = xoff(&["run", &scenario("reassembly-deadlock.toml"), "--out", &out]);
    assert_eq!(partial.code, 1, "{}", partial.err);
    assert!(
        partial.out.contains("reassembly deadlock at output 63")
            && partial.out.contains("has requested"),
        "{}",
        partial.out
    );
    let whole = ["--set", "admission.whole_requests=true", "--set", "admission.grant_max=36"];
    let mut args = vec!["run", "", "--out", &out];
    let file = scenario("reassembly-deadlock.toml");
    args[1] = &file;
    args.extend(whole);
    assert_eq!(xoff(&args).code, 0);
}

/// Every violated inequality of the model is reported at its key, all at once, with exit code 2.
#[test]
fn settings_that_cannot_work_are_refused_with_the_inequality() {
    let out = folder("fabric-refused").display().to_string();
    let refused = |file: &str, settings: &[&str], words: &[&str]| {
        let file = scenario(file);
        let mut args = vec!["run", &file, "--out", &out];
        settings.iter().for_each(|s| args.extend(["--set", s]));
        assert_eq!(xoff(&args).complains(words).code, 2, "{settings:?}");
    };
    let clos = |settings: &[&str], words: &[&str]| refused("hotspots.toml", settings, words);
    clos(
        &["admission.requests_max=20", "traffic.size=9000B"],
        &["requests_max >= packet / segment_max: 20 < 9000 B / 256 B = 36"],
    );
    clos(
        &["admission.output_slots=6"],
        &[
            "output_slots >= largest packet + one round trip of segments",
            "output_slots >= requests_max",
        ],
    );
    clos(
        &["traffic.size=9000B", "admission.grant_max=4"],
        &["grant_max >= packet / segment_max", "4 < 9000 B / 256 B = 36"],
    );
    clos(
        &["scheduled_fabric.above=6"],
        &["does not block", "6 < 8", "use at least 8 elements above"],
    );
    clos(&["traffic.load=0.9"], &["load of an input <= 1: 1.100"]);
    clos(&["admission.fabric_slots=300"], &["fabric_slots * segment_max <= output queue"]);
    clos(&["admission.fabric_slots=30"], &["fabric_slots >= requests_max: 30 < 50"]);
    clos(&["scheduled_fabric.stages=4"], &["4 is even"]);
    clos(&["traffic.outputs=[\"99\"]"], &["port < ports: 99 >= 64"]);
    clos(&["scheduled_fabric.stagess=3"], &["unknown key 'stagess'", "did you mean 'stages'"]);
    clos(&["run.window=0us"], &["window > 0"]);
    let hosts = |settings: &[&str], words: &[&str]| refused("qcn-at-inputs.toml", settings, words);
    hosts(&["hosts.go=120KB"], &["go < stop <= input_buffer: 120000, 110000, 150000 B"]);
    hosts(
        &["hosts.stop=149KB"],
        &["two frames, a PAUSE and a round trip of the line <= input_buffer"],
    );
    hosts(&["congestion_points.sample_base=0B"], &["sample_base"]);
    hosts(&["congestion_points.setpoint=200KB"], &["setpoint <= input_buffer"]);
    hosts(
        &["congestion_points.keep_alive=true", "congestion_points.placement=output"],
        &["keep_alive", "outputs pause no port"],
    );
    // Commands for networks report that this is none.
    let ran = xoff(&["check", &scenario("hotspots.toml")]);
    assert_eq!(ran.complains(&["fabric"]).code, 2);
}

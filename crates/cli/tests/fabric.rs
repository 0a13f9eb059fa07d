//! `xoff run` of scheduled fabrics: tables, answers, refusals.

mod support;

use std::path::Path;

use support::{Ran, files, folder, has_every_number, path, xoff};

/// Stdout in one line.
fn words(ran: &Ran) -> String {
    ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

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
    // A command for networks names those for fabrics.
    let ran = xoff(&["plan", &scenario("hotspots.toml")]);
    assert_eq!(ran.complains(&["xoff check", "xoff run"]).code, 2);
}

#[test]
fn control_has_one_way() {
    let hotspots = scenario("hotspots.toml");
    let lane = "scheduled_fabric.control_lane=true";
    xoff(&["run", &hotspots, "--set", lane, "--set", "scheduled_fabric.control_delay=1us"])
        .complains(&["control_lane conflicts with control_delay"]);
    xoff(&["run", &hotspots, "--set", lane, "--set", "element.crosspoint=60KiB"])
        .complains(&["control_lane with crosspoint"]);
}

/// Ranks at the ports of a switch: the answer has their iterations; what a fabric has no place for
/// is refused.
#[test]
fn jobs_run_over_a_fabric() {
    let dir = folder("fabric-job");
    let (file, out) = (path(&dir, "s.toml"), path(&dir, "out"));
    let text = "[run]\nduration = \"20us\"\n[scheduled_fabric]\nkind = \"ideal\"\nports = 4\n[admission]\nkind = \"implicit\"\n\
                [[job]]\nname = \"ring\"\niterations = 2\n[[collective]]\nkind = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"4000B\"\n";
    std::fs::write(&file, text).unwrap();
    let ran = xoff(&["run", &file, "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(words(&ran).contains("2 of 2 iterations complete, mean 4.98 us"), "{}", ran.out);
    let late = xoff(&["run", &file, "--out", &out, "--set", "run.duration=6us"]);
    assert!(words(&late).contains("1 of 2 iterations complete"), "{}", late.out);
    for (key, place) in [("node_ranks = 2", 14), ("priority = 3", 12), ("stream = true", 10)] {
        let with = text.replace("[[collective]]", &format!("{key}\n[[collective]]"));
        std::fs::write(&file, with).unwrap();
        xoff(&["run", &file]).complains(&[&format!("s.toml:11:{place}")]);
    }
    std::fs::write(&file, text).unwrap();
    let ports = xoff(&["run", &file, "--out", &out, "--set", "job[0].src_port=7"]);
    assert!(ports.code == 0 && ports.err.contains("no ECMP"), "{}", ports.err);
    std::fs::write(&file, format!("{text}[hosts]\n")).unwrap();
    xoff(&["run", &file]).complains(&["[hosts] and [[job]]"]);
}

/// Without a run: packets that can wait for each other, and limits with their numbers.
#[test]
fn a_fabric_is_checked() {
    let hotspots = xoff(&["check", &scenario("hotspots.toml"), "--json"]);
    let json = hotspots.json();
    assert_eq!((hotspots.code, &json["verdict"]), (0, &"deadlock-free".into()));
    // b_in / (link_delay + 40 B + credit_delay) = 8192 B / (21.6 + 3.2 + 20 ns): 14.6 lines.
    let input = &json["limits"][0];
    let share = input["share"].as_f64().unwrap();
    assert_eq!(input["key"], "input");
    assert!((share - 8192.0 * 8.0 / (21.6 + 3.2 + 20.0) / 100.0).abs() < 1e-9, "{input}");
    let stuck = xoff(&["check", &scenario("reassembly-deadlock.toml")]);
    assert_eq!(stuck.code, 1);
    // 64 inputs * 36 segments - 1 with a packed one, and one more to go on.
    assert!(words(&stuck).contains("output_slots 48 < 64 inputs * 36 + 1 = 2305"), "{}", stuck.out);
    let refused = xoff(&["check", &scenario("hotspots.toml"), "--fail-any", "1"]);
    refused.complains(&["--fail-any is about the routes of a network"]);
    xoff(&["plan", &scenario("hotspots.toml")]).complains(&["is a scenario", "xoff check"]);
}

/// At a time: outputs with the bytes that wait for them and the reason, paused hosts, a deadlock.
#[test]
fn what_waits_in_a_fabric_is_shown() {
    let hotspots = scenario("hotspots.toml");
    let tree = xoff(&["tree", &hotspots, "50us", "--json"]).json();
    let outputs = tree["outputs"].as_array().unwrap();
    let hot: Vec<_> = (8..16).map(|p| format!("P{p}")).collect();
    assert!(outputs[..8].iter().all(|o| hot.contains(&o["port"].as_str().unwrap().to_owned())));
    assert_eq!(outputs[0]["grants_wait_for"], "fabric slots");
    let shown = xoff(&["tree", &hotspots, "50us"]);
    assert!(words(&shown).contains("slots of the fabric-output buffer are free"), "{}", shown.out);
    let port = outputs[0]["port"].as_str().unwrap();
    let one = xoff(&["explain", &hotspots, port, "50us", "--json"]).json();
    assert_eq!(one["outputs"][0], outputs[0]);
    let qcn = scenario("qcn-at-inputs.toml");
    let none = path(&folder("fabric-pause"), "pause.toml");
    let points =
        "kind = \"qcn\"\nplacement = \"input\"\nsampling = \"random\"\nsetpoint = \"60KB\"";
    let text = std::fs::read_to_string(&qcn).unwrap();
    assert!(text.contains(points));
    let text = text.replace(points, "kind = \"none\"").replace("300ms", "3ms");
    std::fs::write(&none, text).unwrap();
    let tree = xoff(&["tree", &none, "2ms", "--json"]).json();
    let paused: Vec<_> = tree["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|i| !i["paused_since_ps"].is_null())
        .collect();
    // Q_low to the input buffer.
    assert!(!paused.is_empty(), "{tree}");
    for i in &paused {
        assert!((44_000..=150_000).contains(&i["held_bytes"].as_u64().unwrap()), "{i}");
        assert_eq!(i["outputs"][0]["port"], "P15", "{i}");
    }
    let port = paused[0]["port"].as_str().unwrap();
    let one = xoff(&["explain", &none, port, "2ms"]);
    assert!(words(&one).contains("its host is paused since"), "{}", one.out);
    assert!(words(&one).contains("Output P15"), "{}", one.out);
    let stuck = scenario("reassembly-deadlock.toml");
    let tree = xoff(&["tree", &stuck, "90us"]);
    assert!(words(&tree).contains("reassembly deadlock at output 63"), "{}", tree.out);
    xoff(&["explain", &hotspots, "S1:S2", "50us"]).complains(&["no port 'S1:S2'", "P0 to P63"]);
    xoff(&["tree", &hotspots, "1s"]).complains(&["is after the end of the run"]);
    xoff(&["tree", &hotspots, "1us", "--svg", "t.svg"]).complains(&["the tree of a network"]);
}

//! One rule for reports: headline, JSON, manifest and exit code agree, and none of them reports
//! unchecked good news.

mod support;

use std::path::Path;

use support::{Ran, case, folder, path, xoff};

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).display().to_string()
}

/// One flow at 5 Gb/s over links of 50 us. One link fails, and the frames on its wire are lost.
const FAILURE: &str = r#"
[run]
duration = "3ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
rate = "10Gbps"
delay = "50us"
[switch]
buffer = "4MB"
[routing]
kind = "lowest-id"
[flow_control]
kind = "pfc"
[[flow]]
src = "H0"
dst = "H1"
size = "300000B"
rate = "5Gbps"
[[failure]]
link = "L1-S1"
at = "100us"
"#;

/// A run in text and in JSON, and its manifest.
struct Outcome {
    text: Ran,
    json: serde_json::Value,
    manifest: serde_json::Value,
}

impl Outcome {
    fn headline(&self) -> &str {
        self.text.out.lines().next().unwrap_or_default()
    }

    /// The code, and that all four agree.
    fn code(&self) -> i32 {
        let (v, m) = (&self.json["verdict"], &self.manifest);
        assert_eq!(v, &m["verdict"], "JSON and manifest");
        assert_eq!(
            (&self.json["lost_frames"], &v["lost_frames"]),
            (&m["lost_frames"], &m["lost_frames"]),
            "{v:#}"
        );
        let by_cause = v["losses"]["by_cause"].as_object().unwrap();
        assert_eq!(
            by_cause.values().map(|n| n.as_u64().unwrap()).sum::<u64>(),
            m["lost_frames"].as_u64().unwrap(),
            "{v:#}"
        );
        let ran = v["headline"].as_str().unwrap();
        assert!(self.headline().contains(ran), "'{ran}' is not in '{}'", self.headline());
        assert_eq!(
            ran.contains(", 0 frames lost"),
            m["lost_frames"] == 0 && v["nothing_ran"].is_null(),
            "{ran}"
        );
        self.text.code
    }
}

fn run(name: &str, file: &str, more: &[&str]) -> Outcome {
    let out = folder(name).display().to_string();
    let args = [&["run", file, "--out", &out], more].concat();
    let text = xoff(&args);
    assert_ne!(text.code, 2, "{}", text.err);
    let json = xoff(&[&args[..], &["--json"]].concat());
    assert_eq!(json.code, text.code);
    let manifest = std::fs::read_to_string(format!("{out}/manifest.json")).unwrap();
    Outcome { text, json: json.json(), manifest: serde_json::from_str(&manifest).unwrap() }
}

fn file(name: &str, text: &str) -> String {
    let dir = folder(&format!("{name}-file"));
    std::fs::write(dir.join("s.toml"), text).unwrap();
    path(&dir, "s.toml")
}

/// Before: "no deadlock, 0 frames lost", exit code 0, and no word of them in the manifest.
#[test]
fn frames_lost_on_a_failed_link_are_reported_everywhere() {
    let file = file("lost", FAILURE);
    let outcome = run("lost", &file, &[]);
    assert_eq!(
        (outcome.code(), &outcome.manifest["lost_frames"], &outcome.manifest["dropped_frames"]),
        (1, &21.into(), &0.into())
    );
    assert_eq!(
        outcome.headline(),
        "Run: no deadlock, 21 frames lost (on links that failed), 1 of 1 flows incomplete"
    );
    assert_eq!(
        outcome.manifest["verdict"]["losses"]["by_cause"],
        serde_json::json!({"on-failed-link": 21})
    );
    let allowed = run("lost-allowed", &file, &["--allow", "loss"]);
    assert_eq!(
        (allowed.code(), &allowed.json["allowed"], &allowed.json["verdict"]["answer"]),
        (0, &serde_json::json!(["loss"]), &"no".into())
    );
    assert!(allowed.headline().ends_with("[allowed: loss]"), "{}", allowed.headline());
    assert_eq!(run("lost-deadlock", &file, &["--allow", "deadlock"]).code(), 1);
    let unknown = xoff(&[
        "run",
        &file,
        "--out",
        &folder("lost-unknown").display().to_string(),
        "--allow",
        "losses",
    ]);
    assert_eq!(unknown.complains(&["'losses'", "deadlock, loss"]).code, 2);
}

/// Frames dropped for want of memory, with the checks on and off. Before: exit code 0 without them.
#[test]
fn frames_dropped_by_a_switch_are_reported_with_and_without_checks() {
    let ring = scenario("tutorial/ring.toml");
    let late = [
        "--set",
        "flow_control.xoff=999KB",
        "--set",
        "flow_control.xon=990KB",
        "--set",
        "run.duration=3ms",
    ];
    let checked = run("dropped", &ring, &late);
    let (lost, verdict) = (&checked.manifest["lost_frames"], &checked.manifest["verdict"]);
    assert!(
        checked.code() == 1
            && lost.as_u64().unwrap() > 0
            && lost == &checked.manifest["dropped_frames"],
        "{verdict:#}"
    );
    assert_eq!(
        (&verdict["promises"]["state"], &verdict["promises"]["of_loss"]),
        (&"violated".into(), lost),
        "{verdict:#}"
    );
    assert_eq!(
        run("dropped-allowed", &ring, &[&late[..], &["--allow", "loss,deadlock"]].concat()).code(),
        0,
        "{verdict:#}"
    );

    let unchecked =
        run("dropped-unchecked", &ring, &[&late[..], &["--set", "run.checks=false"]].concat());
    assert_eq!((unchecked.code(), &unchecked.manifest["lost_frames"]), (1, lost));
    assert!(unchecked.headline().ends_with("invariants not checked"), "{}", unchecked.headline());
    assert!(unchecked.text.out.contains("Not checked"), "{}", unchecked.text.out);
}

/// Before: exit code 0 for a deadlock, and a green "no deadlock" where nothing had searched for
/// one.
#[test]
fn a_deadlock_is_a_no_and_is_denied_only_where_something_looked() {
    let ring = scenario("tutorial/ring.toml");
    let found = run("deadlock", &ring, &[]);
    assert_eq!((found.code(), found.json["deadlock"].as_array().map(Vec::len)), (1, Some(3)));
    assert!(
        found.headline().contains("deadlock at ") && found.headline().contains(", 0 frames lost"),
        "{}",
        found.headline()
    );
    assert_eq!(run("deadlock-allowed", &ring, &["--allow", "deadlock"]).code(), 0);

    let unchecked = run("unchecked", &ring, &["--set", "run.deadlock_interval=0us"]);
    assert_eq!((unchecked.code(), &unchecked.json["deadlock"]), (0, &serde_json::Value::Null));
    assert!(
        unchecked.headline().ends_with(": deadlock not checked, 0 frames lost"),
        "{}",
        unchecked.headline()
    );
    assert!(!unchecked.text.out.contains("no deadlock"), "{}", unchecked.text.out);
    assert!(unchecked.text.out.contains("run.deadlock_interval is 0us"), "{}", unchecked.text.out);
    assert_eq!(unchecked.json["verdict"]["deadlock"]["state"], "not-watched");

    // A run that ends before the first poll has its look at the end.
    let late = run("late", &ring, &["--set", "run.deadlock_interval=1s"]);
    assert_eq!((late.code(), late.json["deadlock"].as_array().map(Vec::len)), (1, Some(3)));
}

#[test]
fn a_run_without_a_flow_ran_nothing() {
    let ring = scenario("tutorial/ring.toml");
    let nothing = run("nothing", &ring, &["--set", "run.duration=0us"]);
    assert_eq!(nothing.code(), 0);
    assert!(
        nothing.headline().contains("nothing ran") && !nothing.headline().contains("no deadlock"),
        "{}",
        nothing.headline()
    );
}

/// Unfinished flows have a line of their own, and count in the percentiles.
#[test]
fn unfinished_flows_are_counted() {
    let text = r#"
[topology]
kind = "star"
hosts = 3
[run]
duration = "100us"
[[flow]]
src = "H0"
dst = "H1"
size = "1500B"
[[flow]]
src = "H2"
dst = "H1"
size = "1GB"
"#;
    let outcome = run("unfinished", &file("unfinished", text), &[]);
    assert_eq!(outcome.code(), 0, "not finished is no \"no\" by itself");
    assert!(outcome.headline().ends_with("1 of 2 flows incomplete"), "{}", outcome.headline());
    let slowdown = &outcome.manifest["slowdown"];
    assert_eq!((&slowdown["flows"], &slowdown["censored"]), (&2.into(), &1.into()));
    assert!(outcome.text.out.contains("unfinished and counted"), "{}", outcome.text.out);
}

#[test]
fn a_fabric_reports_the_same() {
    let fabric = |name: &str| scenario(&format!("fabric/{name}"));
    let short = ["--set", "run.duration=64us", "--set", "run.warm_up=20us"];
    let well = run("fabric-well", &fabric("hotspots.toml"), &short);
    assert_eq!(well.code(), 0);
    assert!(well.headline().ends_with(": no deadlock, 0 frames lost"), "{}", well.headline());
    let stuck = run("fabric-stuck", &fabric("reassembly-deadlock.toml"), &[]);
    assert_eq!(stuck.code(), 1);
    assert!(stuck.headline().contains("reassembly deadlock"), "{}", stuck.headline());
    assert_eq!(
        run("fabric-allowed", &fabric("reassembly-deadlock.toml"), &["--allow", "deadlock"]).code(),
        0
    );
}

/// 41 of 1000 frames in the mean are lost on the wire. Before: "1 of 1 flow completed, 0 frames
/// dropped" in green and exit code 0.
#[test]
fn a_replay_reports_frames_lost_on_links() {
    let dir = folder("hpcc-lost");
    let config = case(&dir, 3, "1 3 3 100 1000000 2\n", "ERROR_RATE_PER_LINK 0.02\n");
    let out = path(&dir, "out");
    let ran = xoff(&["hpcc", &config, "--out", &out]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("frames lost") && ran.out.contains("to errors on links"),
        "{}",
        ran.out
    );
    let allowed = xoff(&["hpcc", &config, "--out", &out, "--allow", "loss", "--json"]);
    let json = allowed.json();
    let manifest = std::fs::read_to_string(path(&dir, "out/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(
        (allowed.code, &json["verdict"], &json["lost_frames"]),
        (0, &manifest["verdict"], &manifest["lost_frames"])
    );
    assert!(json["lost_frames"].as_u64().unwrap() > 0, "{json:#}");
}

//! What holds for every subcommand.

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{command, xoff};

#[test]
fn help_and_version() {
    // The commit follows where this is a checkout.
    let version = xoff(&["--version"]).out;
    let build = version.trim().strip_prefix(concat!("xoff ", env!("CARGO_PKG_VERSION"))).unwrap_or_else(|| panic!("{version}"));
    let git = std::process::Command::new("git").args(["log", "-1", "--format= (%h %cs)", "--abbrev=12"]).output();
    match git.ok().filter(|o| o.status.success()) {
        Some(o) => assert_eq!(build, String::from_utf8(o.stdout).unwrap().trim_end()),
        None => assert!(build.is_empty() || build.starts_with(" ("), "{version}"),
    }
    let help = xoff(&["--help"]);
    assert_eq!(help.code, 0);
    assert!(help.out.contains("Examples:") && help.out.contains("Exit codes:"), "{}", help.out);
    let commands = help.out.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let commands = commands.filter(|l| l.starts_with("  ") && !l.starts_with("   ")); // not the rest of a long line
    let commands: Vec<&str> = commands.filter_map(|l| l.split_whitespace().next()).filter(|c| *c != "help").collect();
    assert!(["run", "check", "schema"].iter().all(|c| commands.contains(c)), "{commands:?}");
    for sub in commands {
        let ran = xoff(&[sub, "--help"]);
        assert_eq!(ran.code, 0, "{sub}");
        let usage = ran.out.lines().find(|l| l.starts_with("Usage:")).unwrap_or_default();
        assert!(usage.starts_with(&format!("Usage: xoff {sub}")), "{sub}: {usage}");
        // An example that can be copied; each is run by tests/examples.rs.
        assert!(ran.out.lines().any(|l| l.trim().starts_with(&format!("xoff {sub}"))), "{sub}: no example in\n{}", ran.out);
    }
    assert_eq!(xoff(&[]).code, 2);
    let unknown = xoff(&["chek"]);
    assert_eq!(unknown.code, 2);
    unknown.complains(&["check"]);
}

/// A result says which program computed it.
#[test]
fn the_manifest_names_the_program() {
    let dir = support::folder("program");
    let out = dir.join("ring").display().to_string();
    let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tutorial/ring.toml");
    assert_eq!(xoff(&["run", ring, "--set", "run.duration=1us", "--no-report", "--out", &out]).code, 0);
    let manifest = std::fs::read_to_string(dir.join("ring/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let (version, commit) = (manifest["xoff_version"].as_str().unwrap(), manifest["xoff_commit"].as_str().unwrap());
    let named = xoff(&["--version"]).out;
    assert!(named.starts_with(&format!("xoff {version}")) && named.contains(commit), "{named}: {version}, {commit}");
    assert_eq!(commit.is_empty(), !named.contains('('), "{named}: {commit}");
    assert!(manifest["fingerprint"].as_str().is_some_and(|f| f.len() == 16), "{}", manifest["fingerprint"]);
    assert_eq!(manifest["schema_version"], 1);
}

#[test]
fn the_schema_is_json() {
    let schema = xoff(&["schema"]).json();
    assert!(schema["properties"]["topology"].is_object());
}

#[test]
fn a_plan_has_formulas_and_sources() {
    let args = ["plan", "--flow-control", "pfc", "--rate", "100Gbps", "--length", "100m", "--mtu", "1500"];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["Formula", "Source", "Headroom", "tau"] {
        assert!(ran.out.to_lowercase().contains(&text.to_lowercase()), "'{text}' is not in:\n{}", ran.out);
    }
    // `headroom` is the same command.
    let plan = xoff(&[&["headroom"], &args[1..], &["--json"]].concat()).json();
    assert_eq!(plan["flow_control"], "pfc");
    let row = |list: &str, symbol: &str| {
        plan[list].as_array().unwrap().iter().find(|r| r["symbol"] == symbol).unwrap_or_else(|| panic!("{symbol} in {list}")).clone()
    };
    assert_eq!(row("rows", "MTU")["value_exact"], 1500);
    // Symbols of rows that scripts know stay, and the value of other rules has its distance beside it.
    for symbol in ["H gfc", "H 802.1q", "H cisco", "H mlx5e", "H hpcc", "H", "B_min", "B_full", "B", "XOFF", "XON", "H port", "H switch"] {
        assert_eq!(row("rows", symbol)["unit"], "bytes", "{symbol}");
    }
    assert!(plan["tables"].is_array() && plan["warnings"].is_array() && plan["answer"]["check"].is_array(), "{plan}");
    let (hpcc, chosen) = (row("evidence", "H hpcc"), row("rows", "H"));
    let of = |v: &serde_json::Value| v["value_exact"].as_i64().unwrap();
    assert_eq!(hpcc["difference"].as_i64(), Some(of(&hpcc) - of(&chosen)));
    for name in xoff_analysis::plan::FLOW_CONTROLS {
        let plan = xoff(&["plan", "--flow-control", name, "--json"]);
        assert_eq!(plan.code, 0, "{name}: {}", plan.err);
    }
}

/// Every mechanism can be asked for; one without a plan is refused with what it is and with those that have one.
#[test]
fn a_mechanism_without_a_plan_is_named() {
    let unplanned: Vec<_> = xoff_analysis::plan::unplanned().collect();
    assert!(unplanned.iter().any(|(name, _)| *name == "red"), "{unplanned:?}");
    for (name, _) in &unplanned {
        let ran = xoff(&["plan", name]);
        // Long lines are wrapped behind a bar.
        let text = ran.err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, 2, "{name}: {text}");
        for part in [name, "has no plan", "gfc-buffer"] {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
        // A detection and a rate control may have the same name.
        assert!(unplanned.iter().any(|(n, about)| n == name && text.contains(about)), "what {name} is, is not in: {text}");
    }
}

/// The answer comes first. Before: 21 rows in the order of their derivation, and the least of six headrooms among them.
#[test]
fn a_plan_begins_with_what_to_set() {
    let first_lines = |args: &str| {
        let ran = xoff(&[&["plan"], &args.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let flat: Vec<String> = ran.out.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        (flat.join(" "), ran.out)
    };
    for (args, set, why) in [
        (
            "--rate 10Gbps --length 100m --mtu 1500",
            ["XOFF 11064 B", "XON 8064 B", "H 10262 B", "B 21326 B"],
            "802.1Q Annex N, 10262 B decides; the exact rule, C tau + MTU = 9564 B for a peer that reacts within t_r = 3 us, is less",
        ),
        (
            "--rate 100Gbps --length 300m --mtu 9216",
            ["XOFF 111928 B", "XON 93496 B", "H 111992 B", "B 223920 B"],
            "802.1Q Annex N, 111992 B decides; the exact rule, C tau + MTU = 102712 B for a peer that reacts within t_r = 3 us, is less",
        ),
        (
            "--rate 400Gbps --length 40m --mtu 9216",
            ["XOFF 206928 B", "XON 188496 B", "H 219356 B", "B 426284 B"],
            "802.1Q Annex N, 219356 B (interface delay interpolated) decides; the exact rule, C tau + MTU = 197712 B for a peer that reacts within t_r = 3 us, is less",
        ),
    ] {
        let (flat, out) = first_lines(args);
        let mut at = 0;
        for text in [&set[..], &[why, "Check", "--t-r", "Rule for H", "worst-case", "sonic-spectrum", "Counts"]].concat() {
            at += flat[at..].find(text).unwrap_or_else(|| panic!("'{text}' is not in its place in:\n{out}"));
        }
        assert!(out.starts_with("pfc: one direction of a link, one priority\n\n Set for each lossless priority of a port"), "{out}");
        assert!(!flat.contains("Warning"), "{out}");
    }
    let (flat, out) = first_lines("--rate 100Gbps --length 300m --mtu 9216 --headroom hpcc --priorities 2 --ports 32");
    for text in
        ["headroom >= C tau + MTU does not hold", "56250 B < C tau + MTU = 102840 B", "56250 B x 2 priorities x 32 ports = 3600000 B"]
    {
        assert!(flat.contains(text), "'{text}' is not in:\n{out}");
    }
}

/// The value of TCD section 4.3, in text and as a number.
#[test]
fn a_detection_is_planned_beside_a_flow_control() {
    let args = ["plan", "tcd", "--rate", "40Gbps", "--mtu", "1000", "--t-w", "1us", "--t-r", "0us"];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["tcd beside pfc", "max(T_on)", "34.4 us", "epsilon 0.05"] {
        assert!(ran.out.contains(text), "'{text}' is not in:\n{}", ran.out);
    }
    let plan = xoff(&[&args[..], &["--flow-control", "cbfc", "--credit-period", "60us", "--json"]].concat()).json();
    let max_ton = plan["rows"].as_array().unwrap().iter().find(|r| r["symbol"] == "max(T_on)").unwrap();
    assert_eq!((&plan["detection"], &max_ton["value_exact"]), (&"tcd".into(), &60_000_000.into()));
}

/// Xoff_s, the headroom of a flow and what two flows in one slot are worth.
#[test]
fn a_flow_control_is_planned_by_its_name() {
    let args = ["plan", "pffc", "--rate", "10Gbps", "--t-w", "1us", "--flows", "32", "--slots", "4096"];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["pffc: one direction", "Xoff_s", "18.5 KB", "Table of collisions", "congested flows <= pause queues"] {
        assert!(ran.out.contains(text), "'{text}' is not in:\n{}", ran.out);
    }
    assert_eq!(xoff(&[&args[..], &["--json"]].concat()).json()["flow_control"], "pffc");
}

#[test]
fn an_impossible_plan_is_refused_at_its_option() {
    for (args, texts) in [
        (&["--rate", "100"][..], &["--rate 100", "no unit", "10Gbps"][..]),
        (&["--rate", "0bps"], &["--rate 0bps", "out of range"]),
        (&["--buffer", "1KB"], &["--buffer 1KB"]),
        (&["--buffer", "300KB", "--xoff", "100KB", "--xon", "200KB"], &["--x"]),
        (&["--flow-control", "pcf"], &["pcf", "pfc"]),
        (&["--speed", "1Gbps"], &["--speed"]),
        (&["tcdd"], &["tcdd", "tcd"]),
        (&["pffc", "--xoff-s", "10KB", "--xon-s", "12KB"], &["--xon-s 12KB", "above Xoff_s"]),
        (&["pffc", "--flow-control", "cbfc"], &["--flow-control cbfc", "once"]),
        (&["pffc", "--flows", "0"], &["--flows 0", "1 to 65536"]),
        (&["tcd", "--xoff", "1KB", "--xon", "2KB"], &["--xon 2KB"]),
    ] {
        let ran = xoff(&[&["plan"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        ran.complains(texts);
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    for args in [&["schema"][..], &["plan", "--flow-control", "gfc-buffer"], &["check", "ring:switches=2000", "--json"]] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let o = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(matches!(o.status.code(), Some(0 | 1)) && err.is_empty(), "{args:?}: {:?} {err}", o.status);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let o = command(["schema"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(o.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&o.stderr).contains("cannot write to standard output"));
}

//! Rules that hold for every subcommand.

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{command, xoff};

#[test]
fn help_and_version() {
    // The commit follows where this is a checkout.
    let version = xoff(&["--version"]).out;
    let build = version
        .trim()
        .strip_prefix(concat!("xoff ", env!("CARGO_PKG_VERSION")))
        .unwrap_or_else(|| panic!("{version}"));
    let git = std::process::Command::new("git")
        .args(["log", "-1", "--format= (%h %cs)", "--abbrev=12"])
        .output();
    match git.ok().filter(|o| o.status.success()) {
        Some(o) => assert_eq!(build, String::from_utf8(o.stdout).unwrap().trim_end()),
        None => assert!(build.is_empty() || build.starts_with(" ("), "{version}"),
    }
    let help = xoff(&["--help"]);
    assert_eq!(help.code, 0);
    assert!(help.out.contains("Examples:") && help.out.contains("Exit codes:"), "{}", help.out);
    let groups =
        help.out.lines().filter(|l| l.ends_with(':') && !l.starts_with(' ')).collect::<Vec<_>>();
    assert!(
        groups.starts_with(&["Look before you build:", "Run:", "Understand:"])
            && !groups.contains(&"More:"),
        "{groups:?}"
    );
    for sub in support::subcommands() {
        let sub = sub.as_str();
        let ran = xoff(&[sub, "--help"]);
        assert_eq!(ran.code, 0, "{sub}");
        let usage = ran.out.lines().find(|l| l.starts_with("Usage:")).unwrap_or_default();
        assert!(usage.starts_with(&format!("Usage: xoff {sub}")), "{sub}: {usage}");
        // An example that can be copied; each is run by tests/examples.rs.
        assert!(
            ran.out.lines().any(|l| l.trim().starts_with(&format!("xoff {sub}"))),
            "{sub}: no example in\n{}",
            ran.out
        );
        let short = xoff(&[sub, "-h"]).out;
        assert!(
            short.lines().count() < ran.out.lines().count() && !short.contains("Example"),
            "{sub}: -h is as long as --help:\n{short}"
        );
    }
    assert_eq!(xoff(&[]).code, 2);
}

/// Errors of the option parser look like all others: the option as it was written, and a hint.
#[test]
fn errors_of_options_look_like_all_others() {
    for (args, texts) in [
        (&["chek"][..], &["unrecognized subcommand 'chek'", "help: ", "'check'"][..]),
        (
            &["run"],
            &[
                "<SCENARIO> is missing",
                "help: ",
                "xoff new ring",
                "usage: xoff run",
                "xoff run --help",
            ],
        ),
        (
            &["run", "s.toml", "--sett", "a=b"],
            &["unexpected argument '--sett'", "help: ", "'--set'"],
        ),
        (
            &["run", "s.toml", "--engine", "fast"],
            &["command line:1:10", "--engine fast", "help: ", "windows, events"],
        ),
        (&["run", "s.toml", "--threads", "x"], &["command line:1:11", "--threads x", "help: "]),
    ] {
        let ran = xoff(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(
            !ran.err.contains("error:") && !ran.err.contains("Usage:"),
            "{args:?}:\n{}",
            ran.err
        );
        ran.complains(texts);
    }
}

/// No line of an answer is longer than 80 columns if no terminal has a width, except for commands
/// to copy.
#[test]
fn answers_fit_80_columns() {
    let dir = support::folder("general-80");
    assert_eq!(xoff(&["new", "ring", "--out", &support::path(&dir, "ring.toml")]).code, 0);
    let roce = concat!("sonic:", env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tutorial/roce");
    for args in [
        &["check", "ring.toml"][..],
        &["run", "ring.toml"],
        &["run", "ring.toml", "-v"],
        &["explain", "out/ring", "H1:S1", "15ms"],
        &["tree", "out/ring", "15ms"],
        &["check", "fat-tree:k=4", "--fail-any", "2"],
        &["plan"],
        &["plan", "--explain", "--rate", "100Gbps", "--length", "300m", "--mtu", "9216"],
        &["plan", "gfc-buffer", "--explain"],
        &["plan", "tcd", "--explain"],
        &["plan", roce, "--explain"],
        &["--help"],
        &["run", "--help"],
        &["plan", "--help"],
    ] {
        for locale in ["C", "C.UTF-8"] {
            let o = command(args).current_dir(&dir).env("LC_ALL", locale).output().unwrap();
            let out = String::from_utf8(o.stdout).unwrap();
            assert!(
                matches!(o.status.code(), Some(0 | 1)) && !out.is_empty(),
                "{args:?}: {}",
                String::from_utf8_lossy(&o.stderr)
            );
            let long: Vec<&str> =
                out.lines().filter(|l| l.chars().count() > 80 && !l.contains("xoff ")).collect();
            assert!(long.is_empty(), "{args:?}:\n{}", long.join("\n"));
        }
    }
}

/// No shipped scenario warns. Those of papers may: they have the papers' own values.
#[test]
fn no_shipped_scenario_warns() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut all = Vec::new();
    for group in std::fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| !p.ends_with("sweeps"))
    {
        let files = std::fs::read_dir(group).into_iter().flatten().map(|e| e.unwrap().path());
        all.extend(files.filter(|f| f.extension().is_some_and(|e| e == "toml")));
    }
    assert!(all.len() > 20, "{all:?}");
    for file in all.iter().filter(|f| std::fs::read_to_string(f).unwrap().contains("[topology]")) {
        let o = command(["check"]).arg(file).output().unwrap();
        assert!(
            matches!(o.status.code(), Some(0 | 1)) && o.stderr.is_empty(),
            "{}: {}",
            file.display(),
            String::from_utf8_lossy(&o.stderr)
        );
    }
}

/// A result says which program computed it.
#[test]
fn the_manifest_names_the_program() {
    let dir = support::folder("program");
    let out = dir.join("ring").display().to_string();
    let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tutorial/ring.toml");
    assert_eq!(
        xoff(&["run", ring, "--set", "run.duration=1us", "--no-report", "--out", &out]).code,
        0
    );
    let manifest = std::fs::read_to_string(dir.join("ring/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let (version, commit) =
        (manifest["xoff_version"].as_str().unwrap(), manifest["xoff_commit"].as_str().unwrap());
    let named = xoff(&["--version"]).out;
    assert!(
        named.starts_with(&format!("xoff {version}")) && named.contains(commit),
        "{named}: {version}, {commit}"
    );
    assert_eq!(commit.is_empty(), !named.contains('('), "{named}: {commit}");
    assert!(
        manifest["fingerprint"].as_str().is_some_and(|f| f.len() == 16),
        "{}",
        manifest["fingerprint"]
    );
    assert_eq!(manifest["schema_version"], 1);
}

#[test]
fn the_schema_is_json() {
    let schema = xoff(&["schema"]).json();
    assert!(schema["properties"]["topology"].is_object());
}

#[test]
fn a_plan_has_formulas_and_sources() {
    let args = [
        "plan",
        "--flow-control",
        "pfc",
        "--rate",
        "100Gbps",
        "--length",
        "100m",
        "--mtu",
        "1500",
        "--explain",
    ];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["Formula", "Source", "Headroom", "tau"] {
        assert!(
            ran.out.to_lowercase().contains(&text.to_lowercase()),
            "'{text}' is not in:\n{}",
            ran.out
        );
    }
    // `headroom` is the same command.
    let plan = xoff(&[&["headroom"], &args[1..], &["--json"]].concat()).json();
    assert_eq!(plan["flow_control"], "pfc");
    let row = |list: &str, symbol: &str| {
        plan[list]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["symbol"] == symbol)
            .unwrap_or_else(|| panic!("{symbol} in {list}"))
            .clone()
    };
    assert_eq!(row("rows", "MTU")["value_exact"], 1500);
    // Symbols of rows that scripts know stay, and the value of other rules has its distance next to
    // it.
    for symbol in [
        "H gfc", "H 802.1q", "H cisco", "H mlx5e", "H hpcc", "H", "B_min", "B_full", "B", "XOFF",
        "XON", "H port", "H switch",
    ] {
        assert_eq!(row("rows", symbol)["unit"], "bytes", "{symbol}");
    }
    assert!(
        plan["tables"].is_array()
            && plan["warnings"].is_array()
            && plan["answer"]["check"].is_array(),
        "{plan}"
    );
    let (hpcc, chosen) = (row("evidence", "H hpcc"), row("rows", "H"));
    let of = |v: &serde_json::Value| v["value_exact"].as_i64().unwrap();
    assert_eq!(hpcc["difference"].as_i64(), Some(of(&hpcc) - of(&chosen)));
    for name in xoff_analysis::plan::FLOW_CONTROLS {
        let plan = xoff(&["plan", "--flow-control", name, "--json"]);
        assert_eq!(plan.code, 0, "{name}: {}", plan.err);
    }
}

/// Every mechanism can be named; one without a plan is rejected with its description and the list
/// of mechanisms that have one.
#[test]
fn a_mechanism_without_a_plan_is_named() {
    let unplanned: Vec<_> = xoff_analysis::plan::unplanned().collect();
    assert!(unplanned.iter().any(|(name, _)| *name == "red"), "{unplanned:?}");
    for (name, _) in &unplanned {
        let ran = xoff(&["plan", name]);
        // Long lines are wrapped behind a bar.
        let text =
            ran.err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, 2, "{name}: {text}");
        for part in [name, "has no plan", "gfc-buffer"] {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
        // A detection and a rate control may have the same name.
        assert!(
            unplanned.iter().any(|(n, about)| n == name && text.contains(about)),
            "what {name} is, is not in: {text}"
        );
    }
}

/// A plan is the values to set and what to check; --explain adds the reasons and the other rules.
#[test]
fn a_plan_begins_with_what_to_set() {
    let first_lines = |args: &str| {
        let ran = xoff(&[&["plan"], &args.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let flat: Vec<String> =
            ran.out.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        (flat.join(" "), ran.out)
    };
    for (args, set, why) in [
        (
            "--rate 10Gbps --length 100m --mtu 1500",
            ["XOFF 11064 B", "XON 8064 B", "H 10262 B", "B 21326 B"],
            "802.1Q Annex N = 10262 B; it exceeds C tau + MTU = 9564 B, the exact rule for a peer that reacts within t_r = 3 us",
        ),
        (
            "--rate 100Gbps --length 300m --mtu 9216",
            ["XOFF 111928 B", "XON 93496 B", "H 111992 B", "B 223920 B"],
            "802.1Q Annex N = 111992 B; it exceeds C tau + MTU = 102712 B, the exact rule for a peer that reacts within t_r = 3 us",
        ),
        (
            "--rate 400Gbps --length 40m --mtu 9216",
            ["XOFF 206928 B", "XON 188496 B", "H 219356 B", "B 426284 B"],
            "802.1Q Annex N = 219356 B (interface delay interpolated); it exceeds C tau + MTU = 197712 B, the exact rule for a peer that reacts within t_r = 3 us",
        ),
    ] {
        let in_order = |args: &str, texts: &[&str]| {
            let (flat, out) = first_lines(args);
            let mut at = 0;
            for text in texts {
                at += flat[at..]
                    .find(text)
                    .unwrap_or_else(|| panic!("'{text}' is not in its place in:\n{out}"));
            }
            assert!(
                out.starts_with("pfc: one lossless priority, one direction of a link (")
                    && !flat.contains("Warning"),
                "{out}"
            );
            out
        };
        let short = in_order(
            args,
            &[&set[..], &["Check", "--t-r", "Use", "xoff run: ", "SONiC: ", "Next: xoff plan"]]
                .concat(),
        );
        assert!(short.lines().count() < 25 && !short.contains("sonic-spectrum"), "{short}");
        let set = set.map(|s| s.split_whitespace().next().unwrap());
        in_order(
            &format!("{args} --explain"),
            &[
                &set[..],
                &[why, "Check", "Rule for H", "worst-case", "sonic-spectrum", "Counts", "Quantity"],
            ]
            .concat(),
        );
    }
    let (flat, out) = first_lines(
        "--rate 100Gbps --length 300m --mtu 9216 --headroom hpcc --priorities 2 --ports 32 --explain",
    );
    for text in [
        "headroom >= C tau + MTU does not hold",
        "56250 B < C tau + MTU = 102840 B",
        "56250 B x 2 priorities x 32 ports = 3600000 B",
    ] {
        assert!(flat.contains(text), "'{text}' is not in:\n{out}");
    }
}

/// The value of TCD section 4.3, in text and as a number.
#[test]
fn a_detection_is_planned_beside_a_flow_control() {
    let args = [
        "plan",
        "tcd",
        "--rate",
        "40Gbps",
        "--mtu",
        "1000",
        "--t-w",
        "1us",
        "--t-r",
        "0us",
        "--explain",
    ];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["tcd with pfc", "max(T_on)", "34.4 us", "epsilon"] {
        assert!(ran.out.contains(text), "'{text}' is not in:\n{}", ran.out);
    }
    let plan = xoff(
        &[&args[..], &["--flow-control", "cbfc", "--credit-period", "60us", "--json"]].concat(),
    )
    .json();
    let max_ton =
        plan["rows"].as_array().unwrap().iter().find(|r| r["symbol"] == "max(T_on)").unwrap();
    assert_eq!((&plan["detection"], &max_ton["value_exact"]), (&"tcd".into(), &60_000_000.into()));
}

/// Xoff_s, the headroom of a flow and what two flows in one slot are worth.
#[test]
fn a_flow_control_is_planned_by_its_name() {
    let args = [
        "plan",
        "pffc",
        "--rate",
        "10Gbps",
        "--t-w",
        "1us",
        "--flows",
        "32",
        "--slots",
        "4096",
        "--explain",
    ];
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in [
        "pffc: one lossless priority",
        "Xoff_s",
        "18.5 KB",
        "Table of collisions",
        "congested flows <= pause queues",
    ] {
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
        (&["pffc", "--flow-control", "cbfc"], &["--flow-control cbfc", "name only one"]),
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
    for args in [
        &["schema"][..],
        &["plan", "--flow-control", "gfc-buffer"],
        &["check", "ring:switches=2000", "--json"],
    ] {
        let mut child =
            command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let o = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(
            matches!(o.status.code(), Some(0 | 1)) && err.is_empty(),
            "{args:?}: {:?} {err}",
            o.status
        );
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

//! Commands about runs with jobs: what a run read is what is repeated, and iterations are compared.

mod support;

use std::process::Stdio;

use support::{command, folder, path, xoff};

const TRACE: &str = "num_ranks 2\nrank 0 {\nc: calc 10000\na: send 200000b to 1\na requires c\n}\nrank 1 {\na: recv 200000b from 0\n}\n";
const SCENARIO: &str = "[run]\nduration = \"5ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\n[flow_control]\nkind = \"pfc\"\n\
    [[flow]]\nsrc = \"H2\"\ndst = \"H1\"\nsize = \"1MB\"\n[[job]]\nname = \"train\"\ngoal = \"job.goal\"\niterations = 2\n";

/// A run is repeated with the files that it read, wherever the command is called from, and is refused with others.
#[test]
fn a_run_is_repeated_with_the_files_that_it_read() {
    let dir = folder("jobs-files");
    std::fs::write(dir.join("job.goal"), TRACE).unwrap();
    std::fs::write(dir.join("job.toml"), SCENARIO).unwrap();
    let ran = command(["run", "job.toml", "--out", "out"]).current_dir(&dir).stdout(Stdio::null()).status().unwrap();
    assert!(ran.success());
    let out = path(&dir, "out");
    let first = xoff(&["explain", &out, "--straggler", "--json"]);
    assert_eq!(first.code, 0, "{}", first.err);
    // Another file of that name where the command is.
    let other = folder("jobs-elsewhere");
    let changed = TRACE.replace("10000", "20000");
    std::fs::write(other.join("job.goal"), &changed).unwrap();
    let there = command(["explain", &out, "--straggler", "--json"]).current_dir(&other).output().unwrap();
    assert_eq!(String::from_utf8(there.stdout).unwrap(), first.out);
    // Its own one is another: computing takes longer, and nothing else is different.
    std::fs::write(dir.join("job.goal"), &changed).unwrap();
    for args in [
        &["explain", &out, "--straggler"][..],
        &["explain", &out, "H0:S1", "20us"],
        &["run", "--from", &out, "--at", "5us", "--out", &path(&dir, "fork")],
    ] {
        let ran = xoff(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        ran.complains(&["are not as the run read them"]);
    }
    std::fs::remove_file(dir.join("job.goal")).unwrap();
    let ran = xoff(&["explain", &out, "--straggler"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["cannot read", "job.goal"]);
}

/// Iterations of jobs stand side by side.
#[test]
fn iterations_are_compared() {
    let dir = folder("jobs-compared");
    std::fs::write(dir.join("job.goal"), TRACE).unwrap();
    std::fs::write(dir.join("job.toml"), SCENARIO).unwrap();
    let (scenario, a, b) = (path(&dir, "job.toml"), path(&dir, "a"), path(&dir, "b"));
    assert_eq!(xoff(&["run", &scenario, "--out", &a]).code, 0);
    assert_eq!(xoff(&["run", &scenario, "--out", &b, "--set", "flow[0].size=10KB"]).code, 0);
    let json = xoff(&["compare", &a, &b, "--json"]).json();
    let of = |measure: &str| -> Vec<f64> {
        let rows = json["measures"].as_array().unwrap().iter().filter(|m| m["measure"] == measure);
        rows.map(|m| m["mean"].as_f64().unwrap()).collect()
    };
    let time = |out: &str| {
        let m: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(format!("{out}/manifest.json")).unwrap()).unwrap();
        m["jobs"][0]["time_ps"].as_u64().unwrap() as f64 / 2e6
    };
    let found = of("iteration of job train, mean");
    assert_eq!(found, [time(&a), time(&b)]);
    assert!(found[0] > found[1], "{found:?}");
    assert_eq!(of("exposed communication of job train, mean").len(), 2);
}

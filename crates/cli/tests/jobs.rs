//! Commands about runs with jobs: what a run read is what is repeated, and iterations are compared.

mod support;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Stdio;

use support::{command, folder, path, xoff};

const TRACE: &str = "num_ranks 2\nrank 0 {\nc: calc 10000\na: send 200000b to 1\na requires c\n}\nrank 1 {\na: recv 200000b from 0\n}\n";
const SCENARIO: &str = "[run]\nduration = \"5ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\n[flow_control]\nkind = \"pfc\"\n\
    [[flow]]\nsrc = \"H2\"\ndst = \"H1\"\nsize = \"1MB\"\n[[job]]\nname = \"train\"\ngoal = \"job.goal\"\niterations = 2\n";

/// A run is repeated with the files that it read, wherever the command is called from, and is
/// rejected with others.
#[test]
fn a_run_is_repeated_with_the_files_that_it_read() {
    let dir = folder("jobs-files");
    std::fs::write(dir.join("job.goal"), TRACE).unwrap();
    std::fs::write(dir.join("job.toml"), SCENARIO).unwrap();
    let ran = command(["run", "job.toml", "--out", "out"])
        .current_dir(&dir)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(ran.success());
    let out = path(&dir, "out");
    let first = xoff(&["explain", &out, "--straggler", "--json"]);
    assert_eq!(first.code, 0, "{}", first.err);
    // Another file of that name where the command is.
    let other = folder("jobs-elsewhere");
    let changed = TRACE.replace("10000", "20000");
    std::fs::write(other.join("job.goal"), &changed).unwrap();
    let there =
        command(["explain", &out, "--straggler", "--json"]).current_dir(&other).output().unwrap();
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
        ran.complains(&["have changed since the run"]);
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
        let m: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(format!("{out}/manifest.json")).unwrap())
                .unwrap();
        m["jobs"][0]["time_ps"].as_u64().unwrap() as f64 / 2e6
    };
    let found = of("iteration of job train, mean");
    assert_eq!(found, [time(&a), time(&b)]);
    assert!(found[0] > found[1], "{found:?}");
    assert_eq!(of("exposed communication of job train, mean").len(), 2);
}

/// Ranks of the trace whose memory is measured.
const RANKS: usize = 4;

/// GOAL text with so many rounds among the ranks: computing, a message, a receive, each after those
/// before it.
fn rounds(many: usize, to: &mut impl Write) -> std::io::Result<()> {
    writeln!(to, "num_ranks {RANKS}")?;
    for r in 0..RANKS {
        writeln!(to, "rank {r} {{")?;
        for k in 0..many {
            let (away, op) = (1 + k % (RANKS - 1), 3 * k);
            let (peer, from, bytes) =
                ((r + away) % RANKS, (r + RANKS - away) % RANKS, 500 + k * 131 % 3000);
            writeln!(
                to,
                "l{op}: calc {}\nl{}: send {bytes}b to {peer}\nl{}: recv {bytes}b from {from}",
                200 + k % 300,
                op + 1,
                op + 2
            )?;
            writeln!(to, "l{} requires l{op}", op + 1)?;
            if k > 0 {
                writeln!(
                    to,
                    "l{op} requires l{}\nl{op} requires l{}\nl{} requires l{}",
                    op - 1,
                    op - 2,
                    op + 2,
                    op - 1
                )?;
            }
        }
        writeln!(to, "}}")?;
    }
    to.flush()
}

/// The most memory that a run of so many rounds takes [bytes], and how many frames it sent.
fn peak(dir: &std::path::Path, many: usize, more: &str) -> (u64, u64) {
    use wait4::Wait4;
    // Line by line: the most that this process ever had counts as that of the one that it starts,
    // which begins as a copy of it.
    rounds(many, &mut BufWriter::new(File::create(dir.join("job.goal")).unwrap())).unwrap();
    let scenario = format!(
        "[run]\nduration = \"10s\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = {RANKS}\nrate = \"100Gbps\"\n[host]\nacks = \"per-frame\"\n\
         [flow_control]\nkind = \"pfc\"\n[[job]]\ngoal = \"job.goal\"\n{more}"
    );
    std::fs::write(dir.join("job.toml"), scenario).unwrap();
    let out = File::create(dir.join("out.json")).unwrap();
    let run = command(["run", "job.toml", "--json", "--out", "out", "--no-report"])
        .current_dir(dir)
        .stdout(out)
        .stderr(Stdio::null())
        .spawn();
    let used = run.unwrap().wait4().unwrap();
    assert!(used.status.success(), "{}", std::fs::read_to_string(dir.join("out.json")).unwrap());
    let answer: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("out.json")).unwrap()).unwrap();
    std::fs::remove_dir_all(dir.join("out")).unwrap();
    (used.rusage.maxrss, answer["frame_hops"].as_u64().unwrap())
}

/// Further memory that four times as many operations may take [bytes]: stretches of numbers to
/// sort, at most 2^20 of 8 B, directories of pages, and memory that the allocator keeps. A kept
/// operation takes at least 100 B: half a gigabyte for the additional ones.
const ALLOWED: u64 = 16 << 20;

/// Streamed operations leave memory, by default the engine that runs them too. The shorter run has
/// all pages full already, and in each table that grows more rows than are held before they are
/// written, 2^18.
#[test]
#[ignore = "slow: 20 s, for five million operations"]
fn memory_of_a_streamed_trace_does_not_grow_with_it() {
    const ROUNDS: usize = 83_333;
    const { assert!(ROUNDS * RANKS > 1 << 18) };
    let dir = folder("jobs-memory");
    let (short, few) = peak(&dir, ROUNDS, "stream = true\n");
    let (long, many) = peak(&dir, 4 * ROUNDS, "stream = true\n");
    let (kept, same) = peak(&dir, ROUNDS, "");
    println!(
        "{} operations: {kept} B kept, {short} B streamed; four times as many streamed: {long} B",
        3 * ROUNDS * RANKS
    );
    assert!(few == same && few < many);
    assert!(long <= short + ALLOWED, "{short} B, and {long} B with four times as many operations");
    assert!(kept > short + 2 * ALLOWED, "{kept} B kept: the bound would find nothing");
}

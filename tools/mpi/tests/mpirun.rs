//! `xoff-mpi` under `mpirun`: the result of one process, and what happens where processes fail.
//!
//! Skipped without the feature `open-mpi`, which `make test` sets on machines that have Open MPI.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use xoff_farm::networks;
use xoff_record::{Manifest, Sink};
use xoff_run::NetworkScenario;

/// Whether `xoff-mpi` is built. Records a skip if not.
fn possible() -> bool {
    let built = cfg!(feature = "open-mpi");
    if !built {
        xoff_testing::skip(
            "open-mpi",
            "xoff-mpi is not built; `make mpi` names the packages that it needs",
        );
    }
    built
}

/// Result of a command.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// `mpirun` on one machine, which may have fewer cores than processes, in a container too.
fn mpirun(arguments: &[&str]) -> Command {
    let mut c = Command::new("mpirun");
    c.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"])
        .args(arguments)
        .stdin(Stdio::null());
    // The kernel of a container may refuse to copy from one process to another.
    c.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    // Other tests run next to these: a process that waits for another leaves its core to them.
    c.env("OMPI_MCA_mpi_yield_when_idle", "1");
    c
}

/// `xoff-mpi` on so many processes.
fn on(count: usize, arguments: &[&str]) -> Command {
    let mut c = mpirun(&["-n", &count.to_string(), env!("CARGO_BIN_EXE_xoff-mpi")]);
    c.args(arguments);
    c
}

fn output(c: &mut Command) -> Ran {
    let o = c.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ran { code: o.status.code(), out: text(o.stdout), err: text(o.stderr) }
}

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).display().to_string()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The manifest of a run on so many processes, and its exit code.
fn run(count: usize, scenario: &str, arguments: &[&str]) -> (Value, Option<i32>) {
    let dir = folder();
    let out = dir.path().join("out");
    let ran = output(
        on(count, &["run", scenario, "--out", text(&out), "--json", "--no-report"]).args(arguments),
    );
    let answer = serde_json::from_str(&ran.out)
        .unwrap_or_else(|e| panic!("{scenario}: {e}: {}\n{}", ran.out, ran.err));
    assert_eq!(Manifest::read(&out).unwrap().processes as usize, count, "{scenario}");
    (answer, ran.code)
}

/// Result of a single process.
fn alone(scenario: &str) -> Manifest {
    NetworkScenario::load(Path::new(scenario), &[]).unwrap().run(Sink::Nothing).unwrap().manifest
}

#[test]
fn scenarios_of_the_repository_have_the_hash_of_one_process() {
    if !possible() {
        return;
    }
    for name in ["tutorial/ring.toml", "mechanisms/tcd.toml", "mechanisms/pffc.toml"] {
        let path = scenario(name);
        let wanted = alone(&path);
        for count in [2, 4] {
            let (answer, code) = run(count, &path, &[]);
            assert_eq!(
                answer["result_hash"],
                wanted.result_hash.as_str(),
                "{name} on {count} processes"
            );
            assert_eq!(code, Some(wanted.deadlock.is_some() as i32), "{name} on {count} processes");
        }
    }
}

/// Random scenarios of the tests of threads: every flow control, detection and rate control, links
/// that fail in a window.
fn random(cases: std::ops::Range<u64>, counts: impl Fn(u64) -> Vec<usize>) {
    let dir = folder();
    for case in cases {
        let (s, drawn) = networks::load(case);
        let path = dir.path().join(format!("{case}.toml"));
        std::fs::write(&path, drawn.text()).unwrap();
        let wanted = s.run(Sink::Nothing).unwrap().manifest.result_hash;
        for count in counts(case) {
            let (answer, _) = run(count, text(&path), &[]);
            assert_eq!(
                answer["result_hash"],
                wanted.as_str(),
                "case {case} on {count} processes\n{}",
                drawn.text()
            );
        }
    }
}

#[test]
fn random_scenarios_have_the_hash_of_one_process() {
    if !possible() {
        return;
    }
    random(0..4, |case| vec![[2, 4, 3, 1][case as usize % 4]]);
}

#[test]
#[ignore = "three hundred scenarios, each on 1, 2 and 4 processes, take a quarter of an hour"]
fn many_random_scenarios_have_the_hash_of_one_process() {
    if !possible() {
        return;
    }
    random(2000..2300, |_| vec![1, 2, 4]);
}

/// More processes than there is work for.
#[test]
fn four_hosts_on_eight_processes() {
    if !possible() {
        return;
    }
    let dir = folder();
    let path = dir.path().join("star.toml");
    std::fs::write(&path, "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"permutation\"\nsize = \"300KB\"\n").unwrap();
    let (answer, code) = run(8, text(&path), &[]);
    assert_eq!(
        (&answer["result_hash"], code),
        (&alone(text(&path)).result_hash.as_str().into(), Some(0))
    );
    let out = dir.path().join("again");
    let ran = output(&mut on(8, &["run", text(&path), "--verbose", "--out", text(&out)]));
    assert!(ran.err.contains("7 of 8 processes are idle"), "{}", ran.err);
    assert!(out.join("report.html").exists() && ran.out.contains("Processes"), "{}", ran.out);
}

/// A message without the line breaks of the terminal.
fn unbroken(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c == '│')
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A refusal is reported once, with exit code 2, and leaves no results.
#[test]
fn what_cannot_be_shared_is_refused() {
    if !possible() {
        return;
    }
    let dir = folder();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let out = dir.path().join("out");
    let star = "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"permutation\"\nsize = \"300KB\"\n";
    let (a, b) = (file("a.toml", star), file("b.toml", &star.replace("300KB", "301KB")));
    let closed = file(
        "closed.toml",
        &star.replace("permutation\"", "closed-loop\"\ndifferent_rack = false"),
    );
    let broken = file("broken.toml", &star.replace("star", "stra"));
    let fabric = file(
        "fabric.toml",
        "[scheduled_fabric]\nkind = \"ideal\"\nports = 4\nline = \"100Gbps\"\n[admission]\nkind = \"implicit\"\n",
    );
    let absent = dir.path().join("absent.toml").display().to_string();
    for (arguments, why) in [
        (vec![&closed[..]], "a closed loop numbers its flows"),
        (vec![&broken], "broken.toml:2"),
        (vec![&fabric], "a scheduled fabric needs one process"),
        (vec![&absent], "absent.toml"),
        (vec![&a, "--threads", "2"], "× each process runs on one thread"),
    ] {
        let ran = output(on(3, &["run", "--out", text(&out)]).args(&arguments));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert_eq!(unbroken(&ran.err).matches(why).count(), 1, "{arguments:?}: {}", ran.err);
        assert!(!out.join("manifest.json").exists());
    }
    // Each of two programs of one run with its own scenario: another text, or none.
    let program = env!("CARGO_BIN_EXE_xoff-mpi");
    let of = |path: &str| {
        vec![
            "-n".to_owned(),
            "1".into(),
            program.into(),
            "run".into(),
            path.into(),
            "--out".into(),
            text(&out).into(),
        ]
    };
    for (other, why) in
        [(&b, "process 1 read a different scenario from process 0"), (&absent, "process 1: ")]
    {
        let ran = output(mpirun(&[]).args(of(&a)).arg(":").args(of(other)));
        assert_eq!(
            (ran.code, unbroken(&ran.err).matches(why).count()),
            (Some(2), 1),
            "{}",
            ran.err
        );
        assert!(!out.join("manifest.json").exists());
    }
    // A folder of others.
    let full = dir.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("mine.txt"), "mine").unwrap();
    let ran = output(&mut on(2, &["run", &a, "--out", text(&full)]));
    assert!(ran.code == Some(2) && ran.err.contains("mine.txt"), "{}", ran.err);
}

/// A run that would last for minutes.
fn long(dir: &Path) -> (PathBuf, PathBuf) {
    let path = dir.join("long.toml");
    let head = "[run]\nduration = \"10s\"\nstop_when_done = false\n[topology]\nkind = \"fat-tree\"\nk = 4\n[flow_control]\nkind = \"pfc\"\n";
    std::fs::write(&path, format!("{head}[[workload]]\nkind = \"permutation\"\n[probes]\ninterval = \"10us\"\nqueues = [\"all\"]\n"))
        .unwrap();
    // No earlier run of a test is there.
    (path, dir.join("long"))
}

/// The processes of a run that continues: those that its `mpirun` has started, in the order in
/// which it did, which is theirs.
fn started(mpirun: &Child, count: usize, out: &Path) -> Vec<Pid> {
    let limit = Instant::now() + Duration::from_secs(60);
    let path = format!("/proc/{0}/task/{0}/children", mpirun.id());
    loop {
        let children = std::fs::read_to_string(&path).unwrap_or_default();
        let mut pids: Vec<i32> =
            children.split_whitespace().filter_map(|p| p.parse().ok()).collect();
        pids.sort_unstable();
        // Rows are written: the run is past its beginning.
        let runs = std::fs::read_dir(out).is_ok_and(|files| {
            files.flatten().any(|f| f.file_name().to_string_lossy().ends_with(".partial"))
        });
        if pids.len() == count && runs {
            std::thread::sleep(Duration::from_millis(500));
            return pids.into_iter().filter_map(Pid::from_raw).collect();
        }
        assert!(Instant::now() < limit, "{pids:?} after a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn spawn(c: &mut Command) -> Child {
    c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> Ran {
    let o = child.wait_with_output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ran { code: o.status.code(), out: text(o.stdout), err: text(o.stderr) }
}

/// A killed process ends the run: the others do not wait forever, and nothing passes for a result.
#[test]
fn a_process_that_is_killed_ends_the_run() {
    if !possible() {
        return;
    }
    for killed in [0, 1] {
        let dir = folder();
        let (path, out) = long(dir.path());
        let child = spawn(&mut on(3, &["run", text(&path), "--out", text(&out)]));
        let pids = started(&child, 3, &out);
        kill_process(pids[killed], Signal::KILL).unwrap();
        let at = Instant::now();
        let ran = ended(child);
        assert!(at.elapsed() < Duration::from_secs(30), "{:?}", at.elapsed());
        assert!(ran.code != Some(0) && ran.err.contains("signal 9"), "{:?}: {}", ran.code, ran.err);
        assert!(Manifest::read(&out).is_err() && !out.join("manifest.json").exists());
        // What is left of it is replaced by the next run.
        let star = "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"permutation\"\nsize = \"300KB\"\n";
        std::fs::write(&path, star).unwrap();
        assert_eq!(output(&mut on(2, &["run", text(&path), "--out", text(&out)])).code, Some(0));
    }
}

/// Ctrl-C at any of them, or at `mpirun`, which asks its processes to end and kills them after a
/// while: all stop after the same pass, with what there is until then.
#[test]
fn an_interrupted_run_is_closed_properly() {
    if !possible() {
        return;
    }
    for asked in [Some(2), None] {
        let dir = folder();
        let (path, out) = long(dir.path());
        // [s] before SIGTERM, and again before SIGKILL; it waits so long even where all have ended.
        // Enough for a machine with other work.
        let patience = ["--mca", "odls_base_sigkill_timeout", "10"];
        let mut command = mpirun(&patience);
        let child = spawn(command.args([
            "-n",
            "3",
            env!("CARGO_BIN_EXE_xoff-mpi"),
            "run",
            text(&path),
            "--out",
            text(&out),
        ]));
        let pids = started(&child, 3, &out);
        let mpirun = Pid::from_raw(child.id() as i32).unwrap();
        kill_process(asked.map_or(mpirun, |n: usize| pids[n]), Signal::INT).unwrap();
        let ran = ended(child);
        let manifest = Manifest::read(&out)
            .unwrap_or_else(|e| panic!("{asked:?}: {e}\n{}\n{}", ran.out, ran.err));
        assert!(manifest.interrupted && manifest.processes == 3, "{manifest:?}");
        assert!(ran.code != Some(0), "{asked:?}: {}", ran.err);
    }
}

/// A stopped process stops the others, which wait for it. Continued, the run has the same hash.
/// SIGTERM to `mpirun` ends all of them, stopped or not, and never leaves a run that passes for
/// complete.
#[test]
fn a_process_that_is_stopped_delays_the_run() {
    if !possible() {
        return;
    }
    let dir = folder();
    let path = dir.path().join("short.toml");
    let head = "[run]\nduration = \"20ms\"\nstop_when_done = false\n[topology]\nkind = \"fat-tree\"\nk = 4\n[flow_control]\nkind = \"pfc\"\n";
    std::fs::write(&path, format!("{head}[[workload]]\nkind = \"permutation\"\n[probes]\ninterval = \"10us\"\nqueues = [\"all\"]\n")).unwrap();
    let wanted = alone(text(&path)).result_hash;
    for stopped in [0, 2] {
        let out = dir.path().join("out");
        let arguments = ["run", text(&path), "--out", text(&out), "--json", "--no-report"];
        let mut child = spawn(&mut on(3, &arguments));
        let pids = started(&child, 3, &out);
        kill_process(pids[stopped], Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert!(child.try_wait().unwrap().is_none(), "the run ended without process {stopped}");
        kill_process(pids[stopped], Signal::CONT).unwrap();
        let ran = ended(child);
        let answer: Value = serde_json::from_str(&ran.out)
            .unwrap_or_else(|e| panic!("{stopped}: {e}: {}\n{}", ran.out, ran.err));
        assert_eq!((answer["result_hash"].as_str(), ran.code), (Some(wanted.as_str()), Some(0)));
    }
    let (path, out) = long(dir.path());
    let child = spawn(&mut on(3, &["run", text(&path), "--out", text(&out)]));
    let pids = started(&child, 3, &out);
    kill_process(pids[1], Signal::STOP).unwrap();
    let mpirun = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(mpirun, Signal::TERM).unwrap();
    let at = Instant::now();
    let ran = ended(child);
    assert!(at.elapsed() < Duration::from_secs(30), "{:?}", at.elapsed());
    assert!(ran.code != Some(0), "{}", ran.err);
    // It may have been too late for the tables.
    let closed = Manifest::read(&out).map(|m| m.interrupted);
    assert_ne!(closed.as_ref().ok(), Some(&false), "{}", ran.err);
    println!("{:?} after SIGTERM: exit code {:?}, interrupted: {closed:?}", at.elapsed(), ran.code);
}

/// A full disk, where files cannot grow, ends the run of all processes with the reason.
#[test]
fn a_full_disk_ends_the_run_of_all() {
    if !possible() {
        return;
    }
    let dir = folder();
    let (path, out) = long(dir.path());
    let script =
        format!("trap '' XFSZ; ulimit -f 400; exec \"{}\" \"$@\"", env!("CARGO_BIN_EXE_xoff-mpi"));
    let ran = output(mpirun(&["-n", "3", "sh", "-c", &script, "sh"]).args([
        "run",
        text(&path),
        "--out",
        text(&out),
    ]));
    assert!(ran.code == Some(2) && !ran.err.contains("panicked"), "{:?}: {}", ran.code, ran.err);
    assert!(ran.err.contains("queues") && !out.join("manifest.json").exists(), "{}", ran.err);
}

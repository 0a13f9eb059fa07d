//! Runs that are killed and continued, forked at a time, and explained from a checkpoint: they come
//! to what they come to without all this. `run/tests/checkpoint_states.rs` does the same for every
//! mechanism, in one process.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use xoff_real::netio::sandbox;

use support::{Ran, command, folder, limited, path, xoff};

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).display().to_string()
}

/// Scenarios that last some hundred milliseconds, and how they are run.
const RUNS: [&[&str]; 12] = [
    &[
        "tutorial/ring.toml",
        "--set",
        "run.duration=200ms",
        "--set",
        "flow_control=gfc-buffer",
        "--set",
        "run.fast_forward=off",
        "--engine",
        "events",
    ],
    &[
        "tutorial/ring.toml",
        "--set",
        "run.duration=100ms",
        "--set",
        "flow_control=cbfc",
        "--set",
        "switch.discipline=round-robin",
        "--set",
        "run.fast_forward=off",
    ],
    &[
        "operation/broken-nic.toml",
        "--set",
        "run.duration=60ms",
        "--set",
        "watchdog=duration",
        "--threads",
        "2",
    ],
    &[
        "operation/broken-nic.toml",
        "--set",
        "run.duration=60ms",
        "--set",
        "flow_control=pffc",
        "--set",
        "pause_storm=[]",
        "--set",
        "probes.pauses=[\"all\"]",
    ],
    &["training/all-reduce.toml", "--set", "run.duration=2s", "--set", "job[0].iterations=10"],
    &[
        "bench/incast.toml",
        "--set",
        "run.fast_forward=off",
        "--set",
        "link_errors=[{ports=[\"all\"], kind=\"frame\", loss=0.001}]",
        "--set",
        "host.acks=per-frame",
        "--set",
        "host.recovery=selective",
        "--set",
        "run.duration=30ms",
    ],
    &[
        "bench/websearch.toml",
        "--set",
        "run.duration=1ms",
        "--set",
        "probes.queues=[\"all\"]",
        "--set",
        "probes.interval=20us",
        "--threads",
        "2",
    ],
    &[
        "bench/websearch.toml",
        "--set",
        "run.duration=1ms",
        "--set",
        "failure=[{link=\"A1-C1\", at=\"300us\"}]",
        "--engine",
        "windows",
    ],
    &["mechanisms/tcd.toml", "--set", "run.duration=40ms", "--set", "probes.marks=[\"all\"]"],
    &[
        "tutorial/ring.toml",
        "--set",
        "run.duration=1s",
        "--set",
        "flow_control=gfc-time",
        "--set",
        "run.fast_forward=off",
    ],
    &["fabric/hotspots.toml", "--threads", "2"],
    &["fabric/qcn-at-inputs.toml"],
];

struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn part(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

fn run_args(run: &[&str], out: &Path) -> Vec<String> {
    let mut args = vec!["run".to_owned(), scenario(run[0])];
    args.extend(run[1..].iter().map(|a| (*a).to_owned()));
    args.extend(
        ["--checkpoint", "10ms", "--allow", "deadlock,loss", "--out", &out.display().to_string()]
            .map(str::to_owned),
    );
    args
}

fn ran(args: &[String]) -> Ran {
    xoff(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Every table of a run, and its hash.
fn tables(dir: &Path) -> (Vec<(String, Vec<u8>)>, String) {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "parquet"))
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&p).unwrap()))
        .collect();
    all.sort();
    (all, manifest(dir)["result_hash"].as_str().unwrap().to_owned())
}

fn manifest(dir: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(dir.join("manifest.json")).unwrap()).unwrap()
}

/// Byte for byte.
fn same(a: &Path, b: &Path, what: &str) {
    let (whole, other) = (tables(a), tables(b));
    for (x, y) in whole.0.iter().zip(&other.0) {
        assert!(x == y, "{what}: {} and {} differ", x.0, y.0);
    }
    assert_eq!(whole.0.len(), other.0.len(), "{what}");
    same_rows(a, b, what);
}

/// Tables name the scenario, in which a fork notes where its values came from: their rows are
/// compared by the hash over all of them.
fn same_rows(a: &Path, b: &Path, what: &str) {
    assert_eq!(tables(a).1, tables(b).1, "{what}");
    let rows = |dir: &Path| {
        let files = manifest(dir)["files"].as_array().unwrap().clone();
        let tables = files
            .into_iter()
            .map(|f| (f["name"].to_string(), f["rows"].clone()))
            .filter(|f| f.0.contains("parquet"));
        tables.collect::<Vec<_>>()
    };
    assert_eq!(rows(a), rows(b), "{what}");
    let figures = |dir: &Path| {
        let m = manifest(dir);
        let keys = [
            "frame_hops",
            "flows_completed",
            "ended_because",
            "active",
            "inactive",
            "verdict",
            "threads",
            "engine",
        ];
        keys.map(|k| m[k].clone())
    };
    assert_eq!(figures(a), figures(b), "{what}");
}

fn checkpoints(dir: &Path) -> Vec<PathBuf> {
    let all =
        fs::read_dir(dir.join("checkpoints")).into_iter().flatten().map(|e| e.unwrap().path());
    all.filter(|p| p.extension().is_some_and(|e| e == "checkpoint")).collect()
}

/// Starts a run and kills it after this time, and not before it has so many checkpoints, however
/// slow the machine; false: it had come to its end.
fn killed(args: &[String], dir: &Path, after: Duration, least: usize) -> bool {
    let mut child = command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none()
        && (started.elapsed() < after || checkpoints(dir).len() < least)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The manifest is the last file of a run.
    !dir.join("manifest.json").exists() && checkpoints(dir).len() >= least
}

/// 20 kills at random times; one run in two is killed again while it is resumed.
#[test]
fn runs_that_are_killed_at_random_times_come_to_the_same() {
    let dir = folder("checkpoint-kill");
    let (mut dice, mut kills) = (Dice(20_261_123), 0);
    for (nth, run) in RUNS.iter().enumerate() {
        let whole = dir.join(format!("whole-{nth}"));
        let started = Instant::now();
        let first = ran(&run_args(run, &whole));
        assert_eq!(first.code, 0, "{run:?}: {}", first.err);
        let lasts = started.elapsed();
        let mut of_this = 0;
        for attempt in 0..20 {
            if of_this == 2 {
                break;
            }
            let out = dir.join(format!("killed-{nth}-{attempt}"));
            if !killed(&run_args(run, &out), &out, lasts.mul_f64(0.1 + 0.85 * dice.part()), 1) {
                continue;
            }
            of_this += 1;
            let resume = ["run", "--resume", &out.display().to_string()].map(str::to_owned);
            if of_this == 2 {
                killed(&resume, &out, lasts.mul_f64(0.4 * dice.part()), 1);
            }
            let resumed = ran(&resume);
            if resumed.code == 2 && resumed.flat().contains("is complete") {
                continue; // the second kill came too late
            }
            assert_eq!(resumed.code, 0, "{run:?}: {}", resumed.err);
            resumed.complains(&["continues from its checkpoint at"]);
            same(&whole, &out, &format!("{run:?}, attempt {attempt}"));
        }
        kills += of_this;
    }
    assert!(
        kills >= 21,
        "only {kills} runs were killed between their first checkpoint and their end"
    );
}

/// A run with checkpoints that was killed, and the same that was not.
fn pair(name: &str) -> (PathBuf, PathBuf, PathBuf) {
    let dir = folder(name);
    let (whole, out) = (dir.join("whole"), dir.join("killed"));
    assert_eq!(ran(&run_args(RUNS[0], &whole)).code, 0);
    for _ in 0..10 {
        let _ = fs::remove_dir_all(&out);
        if killed(&run_args(RUNS[0], &out), &out, Duration::ZERO, 2) {
            return (dir, whole, out);
        }
    }
    panic!("the run was never killed between its first checkpoint and its end");
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copied(&path, &target)
        } else {
            fs::copy(&path, target).map(drop).unwrap()
        }
    }
}

/// Resumes a copy of a killed run in which something is wrong.
fn resumed(from: &Path, dir: &Path, name: &str, spoil: impl Fn(&Path)) -> (Ran, PathBuf) {
    let copy = dir.join(name);
    copied(from, &copy);
    spoil(&copy);
    (xoff(&["run", "--resume", &copy.display().to_string()]), copy)
}

#[test]
fn what_cannot_be_resumed_is_refused_with_the_reason_and_nothing_is_lost() {
    let (dir, whole, out) = pair("checkpoint-refused");
    let refused = |(ran, copy): (Ran, PathBuf), texts: &[&str]| {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        ran.complains(texts);
        assert!(!checkpoints(&copy).is_empty() || !out.join("checkpoints").exists());
    };
    let each = |spoil: fn(&mut Vec<u8>)| {
        move |copy: &Path| {
            for file in checkpoints(copy) {
                let mut bytes = fs::read(&file).unwrap();
                spoil(&mut bytes);
                fs::write(file, bytes).unwrap();
            }
        }
    };
    refused(
        resumed(&out, &dir, "cut", each(|b| b.truncate(b.len() / 2))),
        &["cannot use", "the file is truncated:"],
    );
    refused(
        resumed(&out, &dir, "short", each(|b| b.truncate(9))),
        &["cannot use", "the file is truncated:"],
    );
    refused(
        resumed(&out, &dir, "flipped", each(|b| *b.last_mut().unwrap() ^= 4)),
        &["cannot use", "the file is damaged"],
    );
    refused(
        resumed(
            &out,
            &dir,
            "state",
            each(|b| {
                let at = b.len() - 100;
                b[at] ^= 1
            }),
        ),
        &["the file is damaged"],
    );
    refused(resumed(&out, &dir, "format", each(|b| b[16] = 99)), &["the file has format 99"]);
    refused(
        resumed(&out, &dir, "other", each(|b| *b = b"something else altogether".to_vec())),
        &["the file is not a checkpoint of xoff"],
    );
    let version = |b: &mut Vec<u8>| {
        let at = b.windows(9).position(|w| w == b"\"xoff\":\"0").unwrap();
        b[at + 8] = b'9';
    };
    refused(resumed(&out, &dir, "version", each(version)), &["xoff 9.1.0 wrote the file"]);
    let build = |b: &mut Vec<u8>| {
        let at = b.windows(9).position(|w| w == b"\"build\":\"").unwrap() + 9;
        b[at] = if b[at] == b'0' { b'1' } else { b'0' };
    };
    refused(resumed(&out, &dir, "build", each(build)), &["another build of xoff"]);
    // So many bytes of rows every checkpoint needs; more may have been written since the newest.
    let needed = |file: PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        let digits = text
            .split("\"rows\":{")
            .nth(1)
            .and_then(|t| t.split("\"bytes\":").nth(1))
            .expect("a mark");
        digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<usize>().unwrap()
    };
    let needed = checkpoints(&out).into_iter().map(needed).min().unwrap();
    let rows = |copy: &Path| {
        let file = copy.join("checkpoints/rows");
        let bytes = fs::read(&file).unwrap();
        fs::write(file, &bytes[..needed - 1]).unwrap();
    };
    if needed > 0 {
        refused(resumed(&out, &dir, "rows", rows), &["cannot use", "rows"]);
    }
    // Finished, without checkpoints, nowhere.
    refused(
        (xoff(&["run", "--resume", &whole.display().to_string()]), out.clone()),
        &["is complete: there is nothing to resume", "--from"],
    );
    refused(
        (xoff(&["run", "--resume", &path(&dir, "nowhere")]), out.clone()),
        &["there is no folder"],
    );
    let plain = dir.join("plain");
    assert_eq!(
        xoff(&[
            "run",
            &scenario("tutorial/ring.toml"),
            "--allow",
            "deadlock",
            "--out",
            &plain.display().to_string()
        ])
        .code,
        0
    );
    refused(
        (xoff(&["run", "--resume", &plain.display().to_string()]), out.clone()),
        &["is complete and has no checkpoints", "run.checkpoint"],
    );
    // A new run does not take the folder of one that can go on.
    let again = run_args(RUNS[0], &out);
    refused(
        (ran(&again), out.clone()),
        &["contains a run that stopped at", "xoff run --resume", "or replace it with --force"],
    );
    // A newer one that is damaged: the previous one is used.
    let all = checkpoints(&out);
    if all.len() > 1 {
        let newest = |copy: &Path| {
            let newest = checkpoints(copy)
                .into_iter()
                .max_by_key(|p| fs::metadata(p).unwrap().modified().unwrap())
                .unwrap();
            let mut bytes = fs::read(&newest).unwrap();
            bytes.pop();
            fs::write(newest, bytes).unwrap();
        };
        let (ran, copy) = resumed(&out, &dir, "older", newest);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.complains(&["the file is truncated"]);
        same(&whole, &copy, "from an older checkpoint");
    }
    // After all this it can still go on.
    let ran = xoff(&["run", "--resume", &out.display().to_string()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    same(&whole, &out, "resumed at last");
}

#[test]
fn a_changed_scenario_is_not_resumed() {
    let ring = ["run.duration=20s", "flow_control=gfc-buffer", "run.fast_forward=off"];
    // Only a network has copies with other settings.
    for (name, sets, rate, copies) in [
        ("tutorial/ring.toml", &ring[..], "10Gbps", true),
        ("fabric/hotspots.toml", &["run.duration=1s", "run.window=1ms"], "320us", false),
    ] {
        let dir = folder(&format!("checkpoint-changed-{copies}"));
        let file = dir.join("scenario.toml");
        let text = fs::read_to_string(scenario(name)).unwrap();
        fs::write(&file, &text).unwrap();
        let out = dir.join("out");
        let (input, results) = (file.display().to_string(), out.display().to_string());
        let mut args = vec!["run", &input, "--checkpoint", "10ms", "--out", &results];
        args.extend(sets.iter().flat_map(|set| ["--set", set]));
        let args: Vec<_> = args.into_iter().map(str::to_owned).collect();
        let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while checkpoints(&out).is_empty() && started.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!checkpoints(&out).is_empty(), "no checkpoint was written");
        let changed = text.replace(rate, &format!("4{rate}"));
        assert_ne!(changed, text);
        fs::write(&file, changed).unwrap();
        let ran = xoff(&["run", "--resume", &results]);
        assert_eq!(ran.code, 2);
        ran.complains(&["has changed since the run started", "restore the file"]);
        assert_eq!(ran.err.contains("--from"), copies, "{}", ran.err);
        assert!(!checkpoints(&out).is_empty());
    }
}

#[test]
fn wrong_intervals_and_options_are_refused() {
    let dir = folder("checkpoint-options");
    let out = path(&dir, "out");
    let ring = scenario("tutorial/ring.toml");
    let refused = |args: &[&str], texts: &[&str]| {
        let ran = xoff(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        ran.complains(texts);
    };
    refused(
        &["run", &ring, "--out", &out, "--checkpoint", "soon"],
        &["'soon' is not a time", "expected a time on the clock", "--checkpoint"],
    );
    refused(&["run", &ring, "--out", &out, "--checkpoint", "1ms"], &["is shorter than 10 ms"]);
    refused(
        &["run", &scenario("fabric/hotspots.toml"), "--out", &out, "--checkpoint", "1ms"],
        &["is shorter than 10 ms"],
    );
    refused(&["run", "--resume", &out, "--seed", "3"], &["cannot be used with"]);
    refused(&["run", "--from", &out, "--out", &out], &["--at"]);
}

/// A disk on which a checkpoint does not fit: the run continues, and its manifest and answer have
/// the reason.
#[test]
fn a_checkpoint_that_cannot_be_written_costs_no_run() {
    let dir = folder("checkpoint-full");
    let (whole, out) = (dir.join("whole"), dir.join("out"));
    let mut args =
        run_args(&["bench/websearch.toml", "--set", "run.duration=300us", "--no-report"], &whole);
    assert_eq!(ran(&args).code, 0);
    assert!(!checkpoints(&whole).is_empty());
    *args.last_mut().unwrap() = out.display().to_string();
    // The tables fit, a checkpoint does not.
    let ran = limited(160, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.complains(&["could not be written: File too large"]);
    // In the headline too, and the answer stays: the results are whole.
    let headline = ran.out.lines().next().unwrap_or_default();
    assert!(headline.contains("could not be written"), "{headline}");
    let verdict = &manifest(&out)["verdict"];
    assert!(
        verdict["not_kept"].as_str().is_some_and(|n| n.contains("could not be written")),
        "{verdict}"
    );
    assert_eq!(verdict["answer"], "yes");
    assert_eq!(tables(&whole).1, tables(&out).1);
    let warnings = manifest(&out)["warnings"].to_string();
    assert!(warnings.contains("could not be written: File too large"), "{warnings}");
    assert!(
        fs::read_dir(out.join("checkpoints")).unwrap().all(|e| !e
            .unwrap()
            .path()
            .to_string_lossy()
            .contains("partial"))
    );
}

/// A disk that has room for the tables and for some checkpoints: those that are old are given up,
/// and the run comes to its end.
#[test]
fn tables_have_the_room_of_old_checkpoints() {
    if let Err(missing) = sandbox::probe() {
        return xoff_testing::skip(
            missing.capability.name(),
            format_args!("{}; {}", missing.error, missing.remedy()),
        );
    }
    let dir = folder("checkpoint-small-disk");
    let run = [
        "bench/websearch.toml",
        "--set",
        "topology.k=4",
        "--set",
        "run.duration=8ms",
        "--no-report",
        "--format",
        "csv",
    ];
    let (disk, out) = (dir.display(), dir.join("out"));
    let run = run_args(&run, &out).join(" ");
    let script = format!(
        "mount -t tmpfs -o size=700k tmpfs {disk} && {} {run}; code=$?; ls {}/checkpoints; exit $code",
        env!("CARGO_BIN_EXE_xoff"),
        out.display()
    );
    let came = sandbox::command("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let (stdout, err) =
        (String::from_utf8_lossy(&came.stdout), String::from_utf8_lossy(&came.stderr));
    assert_eq!(came.status.code(), Some(0), "{stdout}{err}");
    assert_eq!(stdout.matches(".checkpoint").count(), 1, "the newest is kept: {stdout}{err}");
}

/// A pipe among the checkpoints is ignored, one in the place of the rows is rejected: no run waits
/// for data that never comes.
#[test]
fn a_pipe_is_no_checkpoint() {
    let (dir, whole, out) = pair("checkpoint-pipe");
    let pipe = |path: &Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success())
    };
    let (ran, copy) =
        resumed(&out, &dir, "beside", |copy| pipe(&copy.join("checkpoints/50.checkpoint")));
    assert_eq!(ran.code, 0, "{}", ran.err);
    same(&whole, &copy, "with a pipe next to it");
    let (ran, _) = resumed(&out, &dir, "rows", |copy| {
        fs::remove_file(copy.join("checkpoints/rows")).unwrap();
        pipe(&copy.join("checkpoints/rows"));
    });
    assert_eq!(ran.code, 2);
    ran.complains(&["rows: not a regular file"]);
}

const WEB: [&str; 5] =
    ["bench/websearch.toml", "--set", "run.duration=2ms", "--set", "probes.pauses=[\"all\"]"];

#[test]
fn a_fork_is_a_run_that_had_the_change_from_its_start() {
    let dir = folder("checkpoint-fork");
    let base = dir.join("base");
    assert_eq!(ran(&run_args(&WEB, &base)).code, 0);
    assert!(!checkpoints(&base).is_empty());
    let changes: [&[&str]; 3] = [
        &["--set", "failure[0].link=A1-C1", "--set", "failure[0].at=1.7ms"],
        &["--set", "run.duration=2.2ms"],
        &[],
    ];
    for (nth, change) in changes.iter().enumerate() {
        let (fork, whole) = (dir.join(format!("fork-{nth}")), dir.join(format!("whole-{nth}")));
        let mut args = vec![
            "run",
            "--from",
            base.to_str().unwrap(),
            "--at",
            "1.7ms",
            "--allow",
            "loss,deadlock",
            "--out",
            fork.to_str().unwrap(),
        ];
        args.extend(*change);
        let forked = xoff(&args);
        assert_eq!(forked.code, 0, "{}", forked.err);
        forked.complains(&["continues from the checkpoint at"]);
        let whole_run = ran(&run_args(&[&WEB[..], change].concat(), &whole));
        assert_eq!(whole_run.code, 0, "{}", whole_run.err);
        same_rows(&whole, &fork, &format!("{change:?}"));
        assert_eq!(
            nth == 2,
            tables(&base).1 == tables(&fork).1,
            "{change:?}: a change is one, and none is none"
        );
    }
    // Before the first checkpoint it begins at 0, and comes to the same.
    let (fork, whole) = (dir.join("fork-early"), dir.join("whole-early"));
    let early = ["--set", "failure[0].link=A1-C1", "--set", "failure[0].at=5us"];
    let mut args = vec![
        "run",
        "--from",
        base.to_str().unwrap(),
        "--at",
        "1us",
        "--allow",
        "loss,deadlock",
        "--out",
        fork.to_str().unwrap(),
    ];
    args.extend(early);
    let forked = xoff(&args);
    forked.complains(&["there is no checkpoint before 1 us: the fork starts at 0"]);
    assert_eq!((forked.code, ran(&run_args(&[&WEB[..], &early].concat(), &whole)).code), (0, 0));
    same_rows(&whole, &fork, "from 0");
    // Settings that cannot change, and a time that was never reached.
    let refused = |more: &[&str], texts: &[&str]| {
        let none = path(&dir, "none");
        let ran =
            xoff(&[&["run", "--from", base.to_str().unwrap(), "--out", &none], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{more:?}: {}", ran.err);
        ran.complains(texts);
        assert!(!Path::new(&none).exists());
    };
    refused(
        &["--at", "1ms", "--set", "topology.rate=40Gbps"],
        &[
            "topology.rate cannot change at 1 ms",
            "a fork may change failures, flows and workloads",
            "--set",
        ],
    );
    refused(
        &["--at", "1ms", "--set", "flow_control=cbfc"],
        &["flow_control.kind cannot change at 1 ms"],
    );
    refused(&["--at", "1ms", "--seed", "9"], &["run.seed cannot change at 1 ms"]);
    // Below the name of the kind too, which went unread before; for another kind it has no effect.
    let below = ["--at", "1ms", "--set", "flow_control.pfc.quanta=100"];
    refused(
        &below,
        &["flow_control.quanta cannot change at 1 ms", "--set", "flow_control.pfc.quanta=100"],
    );
    let setting =
        ["--at", "1.7ms", "--set", "flow_control.cbfc.period=5us", "--allow", "loss,deadlock"];
    let other = xoff(
        &[
            &["run", "--from", base.to_str().unwrap(), "--out", &path(&dir, "fork-kind")][..],
            &setting,
        ]
        .concat(),
    );
    assert!(
        other.flat().contains("belongs to kind 'cbfc'")
            && other.flat().contains("the key has no effect"),
        "{}",
        other.err
    );
    refused(
        &["--at", "1ms", "--set", "failure[0].link=A1-C1", "--set", "failure[0].at=0.9ms"],
        &["the settings change a failure before 1 ms"],
    );
    refused(
        &["--at", "1ms", "--set", "flow=[{src=\"H3\", dst=\"H77\", start=\"0.5ms\"}]"],
        &["the settings change a flow that starts before 1 ms"],
    );
    refused(
        &["--at", "1ms", "--set", "flow=[{src=\"H3\", dst=\"H77\", start=\"1.5ms\", priority=5}]"],
        &["the settings change the priorities in use"],
    );
    refused(&["--at", "1ms", "--set", "run.duration=0.5ms"], &["ends the run before 1 ms"]);
    refused(&["--at", "9s"], &["never reached 9 s: it ended at"]);
    refused(&["--at", "later"], &["--at"]);
    let same_folder = xoff(&[
        "run",
        "--from",
        base.to_str().unwrap(),
        "--at",
        "1ms",
        "--out",
        base.to_str().unwrap(),
    ]);
    assert_eq!(same_folder.code, 2);
    same_folder.complains(&["this folder contains the run to be continued"]);
}

#[test]
fn a_flow_that_begins_later_can_be_added() {
    let dir = folder("checkpoint-fork-flow");
    let (base, fork, whole) = (dir.join("base"), dir.join("fork"), dir.join("whole"));
    assert_eq!(ran(&run_args(RUNS[0], &base)).code, 0);
    let settings = ["flow[3].src=H1", "flow[3].dst=H2", "flow[3].start=150ms", "flow[3].size=1MB"];
    let more: Vec<&str> = settings.iter().flat_map(|s| ["--set", s]).collect();
    let from =
        ["run", "--from", base.to_str().unwrap(), "--at", "150ms", "--out", fork.to_str().unwrap()];
    let forked = xoff(&[&from[..], &more].concat());
    assert_eq!(forked.code, 0, "{}", forked.err);
    forked.complains(&["continues from the checkpoint at"]);
    assert_eq!(ran(&run_args(&[RUNS[0], &more].concat(), &whole)).code, 0);
    same_rows(&whole, &fork, "a flow more");
    assert_ne!(tables(&base).1, tables(&fork).1);
}

/// With checkpoints and without, the answers are the same.
#[test]
fn explanations_from_checkpoints_are_those_from_the_start() {
    let dir = folder("checkpoint-explain");
    let answers = |run: &[&str], ports: &[&str], times: &[&str], name: &str| {
        let out = dir.join(name);
        assert_eq!(ran(&run_args(run, &out)).code, 0);
        assert!(!checkpoints(&out).is_empty());
        let ask = || {
            let each = ports.iter().flat_map(|port| times.iter().map(move |time| (port, time)));
            each.map(|(port, time)| xoff(&["explain", out.to_str().unwrap(), port, time]))
                .map(|r| (r.code, r.out))
                .collect::<Vec<_>>()
        };
        let with = ask();
        fs::remove_dir_all(out.join("checkpoints")).unwrap();
        assert_eq!(with, ask());
        assert!(with.iter().any(|a| !a.1.contains("was free to send")), "{with:?}");
    };
    let broken = ["operation/broken-nic.toml", "--set", "run.duration=60ms"];
    answers(&broken, &["H0:L0", "L0:S0", "S1:L3"], &["20ms", "55.3ms"], "broken");
    answers(RUNS[0], &["H1:S1", "S1:S2"], &["15ms", "120ms", "180ms"], "ring");
}

/// Ctrl-C leaves the computed results and a checkpoint, and the run resumes from there.
#[test]
fn an_interrupted_run_goes_on() {
    let dir = folder("checkpoint-interrupt");
    let (whole, out) = (dir.join("whole"), dir.join("out"));
    let run = [
        "tutorial/ring.toml",
        "--set",
        "run.duration=2s",
        "--set",
        "flow_control=gfc-buffer",
        "--set",
        "run.fast_forward=off",
    ];
    let mut args = run_args(&run, &whole);
    assert_eq!(ran(&args).code, 0);
    *args.last_mut().unwrap() = out.display().to_string();
    let at = args.iter().position(|a| a == "10ms").unwrap();
    args[at] = "1h".into(); // the only checkpoint is that of the interruption
    let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((manifest(&out)["interrupted"].as_bool(), checkpoints(&out).len()), (Some(true), 1));
    let ran = xoff(&["run", "--resume", &out.display().to_string()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(tables(&whole).1, tables(&out).1);
    assert_eq!(manifest(&out)["interrupted"].as_bool(), Some(false));
}
